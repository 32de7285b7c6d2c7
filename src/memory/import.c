/* Writing many notes: they are stored without vectors, with one sync, and embedded afterwards by
 * the background thread. */
#include "base/clock.h"
#include "base/uuid.h"
#include "memory/memory_parts.h"

/* Fails if the embedder lacks its key. */
static int check_key(struct memory *m, struct fumi_arena *a, struct fumi_err *e)
{
    struct fumi_err ignored;
    struct space *sp = space_take(m, &m->now);
    int rc = space_ready(sp, a, &ignored, e);
    space_put(sp);
    return rc;
}

static struct merge_row row_of(struct fumi_arena *a, const struct note *n, struct fumi_str project)
{
    struct merge_row r = {.kind = MERGE_NOTE, .note = *n};
    char *id = fumi_alloc(a, FUMI_UUID_SIZE);
    fumi_uuid(id);
    r.note.id = (struct fumi_str){id, FUMI_UUID_SIZE};
    r.note.project = project;
    if (!r.note.created.set)
        r.note.created = (struct fumi_time){fumi_now(), true};
    return r;
}

int memory_add_many(struct memory *m, struct fumi_arena *a, struct note *notes, size_t n,
                    struct many_written *out, struct fumi_err *e)
{
    const struct scope *scope = &m->o.scope;
    struct merge_row *rows = fumi_alloc(a, n * sizeof(*rows));
    struct fumi_str project;
    out->stored = out->skipped = 0;
    if (!n)
        return 0;
    if (project_writable(a, notes[0].project, &project, e) || scope_writes(scope, e) ||
        scope_admits(scope, project, e) || check_key(m, a, e))
        return -1;
    for (size_t i = 0; i < n; i++)
        rows[i] = row_of(a, &notes[i], project);
    store_merge(m->view, a, rows, n, out->by);
    for (; out->stored < n && !rows[out->stored].e.code; out->stored++) {
        notes[out->stored] = rows[out->stored].note;
        out->skipped += rows[out->stored].outcome >= MERGED_SAME;
    }
    if (out->stored)
        memory_wake(m);
    if (out->stored == n)
        return 0;
    *e = rows[out->stored].e;
    return -1;
}
