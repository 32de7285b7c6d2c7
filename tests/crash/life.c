/* A life of notes: each step says a fact under a key, overwrites it, supersedes it by the next one,
 * and undoes, deletes or forgets some of them. The check undoes everything that the journal has:
 * only if the journal agrees with the notes, groups and globals, nothing is left. */
#include "crash.h"

#include "base/arena.h"
#include "store/sqlite.h"

#include <stdio.h>
#include <unistd.h>

enum { FORGET_EVERY = 5, UNDO_EVERY = 3, DELETE_EVERY = 4 };

static const struct author author = {
    .client = {"crash", 5}, .session = {"life", 4}, .transport = {"test", 4}};

static struct fumi_str name(struct fumi_arena *a, unsigned writer, unsigned step)
{
    return fumi_fmt(a, "%u-%u", writer, step);
}

static struct fumi_str text(struct fumi_arena *a, unsigned writer, unsigned step, const char *what)
{
    return fumi_fmt(a, "Fact %u of %u is %s. qz%uk%ux", step, writer, what, writer, step);
}

static int say(struct store *s, struct fumi_arena *a, unsigned writer, unsigned step,
               struct fumi_err *e)
{
    struct note_change how = {.by = &author};
    struct fumi_str before = step ? name(a, writer, step - 1) : (struct fumi_str){0};
    struct note n = {.id = name(a, writer, step),
                     .project = CRASH_PROJECT,
                     .group = FUMI_STR("g"),
                     .text = text(a, writer, step, "new"),
                     .created = {1000 + step, true}};
    if (step % 2)
        n.key = fumi_fmt(a, "key.%u", writer);
    else if (step && step % FORGET_EVERY != 1)
        how.supersedes = (struct fumi_strs){&before, 1};
    int rc = store_add_note(s, a, &n, &how, e);
    return rc && e->code == ERR_NOT_FOUND ? 0 : rc; /* the note before was undone */
}

static int correct(struct store *s, struct fumi_arena *a, unsigned writer, unsigned step,
                   struct fumi_err *e)
{
    struct note_change how = {.by = &author};
    struct undone undone;
    struct note to = {.text = text(a, writer, step, "overwritten"), .title = FUMI_STR("T")};
    struct fumi_str id = name(a, writer, step);
    if (store_update_note(s, a, id, &to, NOTE_TEXT | NOTE_TITLE, &how, e))
        return e->code == ERR_NOT_FOUND ? 0 : -1;
    if (step % DELETE_EVERY == 1 && store_delete(s, a, id, &how, e))
        return -1;
    return step % UNDO_EVERY
               ? 0
               : store_undo(s, a, &(struct undo_query){.change = how.change}, &author, &undone, e);
}

static int forget(struct store *s, struct fumi_arena *a, unsigned writer, unsigned step,
                  struct fumi_err *e)
{
    struct fumi_str id = name(a, writer, step - 1);
    struct forgotten out;
    if (step % FORGET_EVERY != 1)
        return 0;
    int rc = store_forget(s, a, &(struct forget_query){.ids = {&id, 1}}, &author, &out, e);
    return rc && e->code == ERR_NOT_FOUND ? 0 : rc;
}

int crash_live(struct store *s, unsigned writer, unsigned step, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    int rc = say(s, &a, writer, step, e) || correct(s, &a, writer, step, e) ||
                     forget(s, &a, writer, step, e)
                 ? -1
                 : 0;
    fumi_arena_done(&a);
    return rc;
}

/* A key has at most one current note. */
static int check_keys(struct store *s, struct fumi_arena *a, struct fumi_err *e)
{
    struct filter f = {.project = CRASH_PROJECT, .since = INT64_MIN, .until = INT64_MAX};
    struct notes all;
    int faults = 0;
    const struct loading to = {.arena = a};
    if (store_list_recent(s, &to, &f, (struct cursor){0}, 100000, &all, e))
        return 1;
    for (size_t i = 0; i < all.n; i++)
        for (size_t k = 0; k < i && all.items[i].key.p; k++)
            faults += all.items[k].key.p && fumi_eq(all.items[i].key, all.items[k].key);
    return faults;
}

static void find_fault(void *arg, const char *sentence)
{
    struct fumi_buf *out = arg;
    fumi_buf_add(out, sentence, strlen(sentence));
    fumi_buf_put(out, '\n');
}

static int check_open(struct store *s, struct fumi_arena *a, struct fumi_buf *out,
                      struct fumi_err *e)
{
    struct undone undone = {0};
    struct store_stats left = {0};
    struct fumi_buf findings = {0};
    int faults = check_keys(s, a, e);
    if (store_check(s, false, find_fault, &findings, e)) {
        fumi_buf_add(out, findings.p, findings.n);
        faults++;
    }
    fumi_buf_done(&findings);
    if (store_undo(s, a, &(struct undo_query){.since = 0}, NULL, &undone, e) ||
        store_stats(s, &left, e))
        return faults + 1;
    struct fumi_str line = fumi_fmt(a, "%zu undone, %zu conflicts, %lld notes left\n",
                                    undone.rows_n, undone.conflicts_n, (long long)left.notes);
    fumi_buf_add(out, line.p, line.n);
    faults += store_check(s, false, NULL, NULL, e) != 0;
    return faults + (int)undone.conflicts_n + (left.notes != 0);
}

int crash_life_check(const char *path, struct fumi_buf *out)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct store_sqlite_options o = {.path = path, .nosync = true};
    struct store *s = store_sqlite_open(&o, &e);
    int faults = s ? check_open(s, &a, out, &e) : 1;
    if (s)
        store_close(s);
    fumi_buf_add(out, e.text, strlen(e.text));
    fumi_arena_done(&a);
    return faults;
}
