/* Overviews: notes per day, and a sample of notes with their vectors. */
#include "store/sqlite_ops.h"

#include "base/arena.h"

#include <assert.h>

enum { DAY_MS = 86400000 };

struct days_args {
    struct fumi_arena *arena;
    const struct filter *filter;
    int64_t offset;
    struct days *out;
    size_t cap;
};

static struct day *next_day(struct days_args *l)
{
    struct days *out = l->out;
    if (out->n == l->cap) {
        size_t more = l->cap ? l->cap * 2 : 64;
        struct day *items = fumi_alloc(l->arena, more * sizeof(*items));
        if (out->n)
            memcpy(items, out->items, out->n * sizeof(*items));
        out->items = items;
        l->cap = more;
    }
    return &out->items[out->n++];
}

static int64_t day_of(int64_t ms)
{
    return ms / DAY_MS - (ms % DAY_MS < 0);
}

/* Whole days are counted here rather than by SQL, whose division rounds towards zero. */
static int days(struct db *d, void *arg, struct fumi_err *e)
{
    struct days_args *l = arg;
    struct scan_filter passing;
    struct day *day = NULL;
    if (store_sqlite_filter(d, l->arena, l->filter, &passing, e))
        return -1;
    sqlite3_stmt *q = store_sqlite_query(d, e,
                                         "SELECT created FROM notes INDEXED BY notes_time "
                                         "WHERE created>=?1 AND created<?2 "
                                         "AND within(?3, tag_set, created) ORDER BY created",
                                         "iif", passing.since, passing.until, &passing);
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        int64_t number = day_of(sqlite3_column_int64(q, 0) + l->offset);
        if (!day || day->number != number) {
            day = next_day(l);
            *day = (struct day){number, 0};
        }
        day->notes++;
    }
    return more;
}

int store_sqlite_count_days(struct store *s, struct fumi_arena *a, const struct filter *f,
                            int64_t offset, struct days *out, struct fumi_err *e)
{
    struct days_args l = {.arena = a, .filter = f, .offset = offset, .out = out};
    *out = (struct days){0};
    return store_sqlite_read(s, days, &l, e);
}

struct sample_args {
    const struct loading *to;
    const struct filter *filter;
    struct fumi_str space;
    size_t limit;
    struct sample *out;
    int64_t number; /* of the space */
    int64_t *seqs;
    size_t n;
};

/* Of the notes that pass, chooses `limit` at equal distances. */
static int choose(struct db *d, struct sample_args *l, struct fumi_err *e)
{
    struct scan_filter passing;
    struct sample *out = l->out;
    int64_t want = (int64_t)l->limit, k = 0;
    if (store_sqlite_filter(d, l->to->arena, l->filter, &passing, e) ||
        store_sqlite_number(d, e, &out->total,
                            "SELECT count(*) FROM notes WHERE within(?1, tag_set, created)", "f",
                            &passing) < 0)
        return -1;
    want = want < out->total ? want : out->total;
    l->seqs = fumi_alloc(l->to->arena, (size_t)want * sizeof(*l->seqs));
    sqlite3_stmt *q = store_sqlite_query(
        d, e, "SELECT seq FROM notes WHERE within(?1, tag_set, created) ORDER BY seq", "f",
        &passing);
    int more = q ? 1 : -1;
    for (; more > 0 && (more = store_sqlite_row(d, q, e)) > 0; k++)
        if (k * want / out->total != (k + 1) * want / out->total)
            l->seqs[l->n++] = sqlite3_column_int64(q, 0);
    assert(more || l->n == (size_t)want);
    return more;
}

/* Reads the first vector of a note. Returns 1; 0 if it has none or a damaged one; -1 with *e set.
 */
static int read_vector(struct db *d, const struct sample_args *l, int64_t seq, float *to,
                       struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(
        d, e, "SELECT x FROM vectors WHERE note=?1 AND space=?2 ORDER BY vector LIMIT 1", "ii", seq,
        l->number);
    int found = q ? store_sqlite_row(d, q, e) : -1;
    if (found <= 0)
        return found;
    struct fumi_str x = {sqlite3_column_blob(q, 0), (size_t)sqlite3_column_bytes(q, 0)};
    bool read = store_sqlite_vector_read(x, l->out->dim, to);
    store_sqlite_end(q);
    return read;
}

static int load_sample(struct db *d, struct sample_args *l, struct fumi_err *e)
{
    struct sample *out = l->out;
    size_t shown = 0;
    out->notes.items = fumi_alloc(l->to->arena, l->n * sizeof(*out->notes.items));
    out->x = fumi_alloc(l->to->arena, l->n * out->dim * sizeof(*out->x));
    for (size_t i = 0; i < l->n; i++) {
        int found = read_vector(d, l, l->seqs[i], out->x + out->notes.n * out->dim, e);
        out->without += !found;
        if (found < 0 ||
            (found && store_sqlite_note_load(d, l->to, l->seqs[i], &out->notes, &shown, e) < 0))
            return -1;
    }
    return 0;
}

static int sample(struct db *d, void *arg, struct fumi_err *e)
{
    struct sample_args *l = arg;
    int64_t dim = 0;
    if (choose(d, l, e) ||
        store_sqlite_number(d, e, &l->number, "SELECT space FROM spaces WHERE name=?1", "s",
                            l->space) < 0 ||
        store_sqlite_number(d, e, &dim, "SELECT dim FROM spaces WHERE name=?1", "s", l->space) < 0)
        return -1;
    l->out->dim = (size_t)dim;
    l->out->without = dim ? 0 : (int64_t)l->n;
    return dim ? load_sample(d, l, e) : 0;
}

int store_sqlite_sample_vectors(struct store *s, const struct loading *to, const struct filter *f,
                                struct fumi_str space, size_t limit, struct sample *out,
                                struct fumi_err *e)
{
    struct sample_args l = {.to = to, .filter = f, .space = space, .limit = limit, .out = out};
    *out = (struct sample){0};
    return limit ? store_sqlite_read(s, sample, &l, e) : 0;
}
