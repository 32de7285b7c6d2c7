/* The file has a line "fumi-mirror 1 MEMORY" and a line "ID VERSION PATH" for each file of the
 * mirror. It tells which files the user has deleted. */
#include "app/import_formats.h"
#include "app/mirror.h"
#include "base/uuid.h"

#include <stdlib.h>

#define STATE_NAME FUMI_STR(".fumi-mirror")
#define STATE_HEAD FUMI_STR("fumi-mirror 1 ")

enum { ROW_MIN = FUMI_UUID_SIZE + MIRROR_VERSION_SIZE + 3 };

static int by_id(const void *a, const void *b)
{
    const struct mirror_row *x = a, *y = b;
    return memcmp(x->id.p, y->id.p, FUMI_UUID_SIZE);
}

static size_t count_lines(struct fumi_str s)
{
    size_t n = 1;
    for (const char *p = s.p; p && (p = memchr(p, '\n', (size_t)(s.p + s.n - p))); p++)
        n++;
    return n;
}

/* Lines of another form are ignored: the mirror then treats the files as new. */
static void read_row(struct mirror_state *s, struct fumi_str line)
{
    const size_t version = FUMI_UUID_SIZE + 1, path = version + MIRROR_VERSION_SIZE + 1;
    struct fumi_str id = {line.p, FUMI_UUID_SIZE};
    if (line.n < ROW_MIN || !fumi_is_uuid(id))
        return;
    s->rows[s->n++] = (struct mirror_row){.id = id,
                                          .version = {line.p + version, MIRROR_VERSION_SIZE},
                                          .path = {line.p + path, line.n - path}};
}

int mirror_state_read(const struct mirror_tree *t, struct fumi_arena *a, struct mirror_state *out,
                      struct fumi_err *e)
{
    *out = (struct mirror_state){.n = 0};
    if (mirror_read(t, a, STATE_NAME, &out->text, e))
        return -1;
    if (!out->text.n)
        return 0;
    struct import_lines l = {.p = out->text.p, .end = out->text.p + out->text.n};
    if (!import_next_line(&l) || !fumi_starts(l.line, STATE_HEAD))
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "the file .fumi-mirror was not written by this version of fumi: "
                            "delete it if the folder is a mirror");
    out->store = (struct fumi_str){l.line.p + STATE_HEAD.n, l.line.n - STATE_HEAD.n};
    out->rows = fumi_alloc(a, count_lines(out->text) * sizeof(*out->rows));
    while (import_next_line(&l))
        read_row(out, l.line);
    if (out->n)
        qsort(out->rows, out->n, sizeof(*out->rows), by_id);
    return 0;
}

int mirror_state_write(const struct mirror_tree *t, const struct mirror_state *s,
                       struct fumi_err *e)
{
    struct fumi_buf b = {0};
    int rc = 0;
    fumi_buf_add(&b, STATE_HEAD.p, STATE_HEAD.n);
    fumi_buf_add(&b, s->store.p, s->store.n);
    fumi_buf_put(&b, '\n');
    if (s->n)
        qsort(s->rows, s->n, sizeof(*s->rows), by_id);
    for (size_t i = 0; i < s->n; i++) {
        const struct fumi_str part[] = {s->rows[i].id, s->rows[i].version, s->rows[i].path};
        for (size_t k = 0; k < FUMI_COUNT(part); k++) {
            fumi_buf_add(&b, part[k].p, part[k].n);
            fumi_buf_put(&b, k + 1 < FUMI_COUNT(part) ? ' ' : '\n');
        }
    }
    if (!fumi_eq(fumi_buf_str(&b), s->text))
        rc = mirror_replace(t, STATE_NAME, s->text, fumi_buf_str(&b), e);
    fumi_buf_done(&b);
    return rc > 0 ? fumi_err_set(e, FUMI_INTERNAL_ERROR, "the file .fumi-mirror has changed") : rc;
}

int mirror_store_name(struct store *s, struct fumi_arena *a, struct fumi_str *out,
                      struct fumi_err *e)
{
    char id[FUMI_UUID_SIZE];
    if (store_get_meta(s, a, "name", out, e))
        return -1;
    if (out->p)
        return 0;
    fumi_uuid(id);
    *out = fumi_dup(a, (struct fumi_str){id, sizeof(id)});
    return store_set_meta(s, "name", *out, e);
}
