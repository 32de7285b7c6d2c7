/* The vector cache: opens the scan of the space in use and reads its rows from the database. The
 * scan has locks of its own; scan_lock only keeps it open while a thread uses it. */
#include "store/sqlite_index.h"

#include "base/arena.h"

#include <assert.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads one piece. */
struct rows {
    struct store_sqlite *store;
    struct scan_piece *piece;
    scan_put_fn *put;
    scan_note_fn *note;
    void *to;
    float *x;
};

/* Damaged vectors are reported later (report_damage), because the report is a write, which the
 * keeper must not wait for. */
static void record_damage(struct store_sqlite *s, int64_t vector)
{
    pthread_mutex_lock(&s->damaged_lock);
    if (s->damaged_n < STORE_DAMAGED)
        s->damaged[s->damaged_n++] = vector;
    pthread_mutex_unlock(&s->damaged_lock);
}

static void report_damage(struct store_sqlite *s)
{
    int64_t damaged[STORE_DAMAGED];
    pthread_mutex_lock(&s->damaged_lock);
    size_t n = s->damaged_n;
    memcpy(damaged, s->damaged, n * sizeof(*damaged));
    s->damaged_n = 0;
    pthread_mutex_unlock(&s->damaged_lock);
    for (size_t i = 0; i < n; i++)
        store_sqlite_vector_damaged(s, damaged[i]);
}

/* Columns: vector, note, created, tag_set, x. */
static int put_row(struct rows *r, sqlite3_stmt *q, struct fumi_err *e)
{
    struct scan_row row = {.vector = sqlite3_column_int64(q, 0),
                           .note = sqlite3_column_int64(q, 1),
                           .created = sqlite3_column_int64(q, 2),
                           .tag_set = (uint32_t)sqlite3_column_int64(q, 3),
                           .x = r->x};
    if (store_sqlite_vector_read(store_sqlite_text(q, 4), r->store->scan_dim, r->x))
        return r->put(r->to, &row, e);
    record_damage(r->store, row.vector);
    return 0;
}

static int change_now(struct db *d, int64_t *out, struct fumi_err *e)
{
    return store_sqlite_number(d, e, out, "SELECT coalesce(max(n), 0) FROM changes", "") < 0 ? -1
                                                                                             : 0;
}

/* *known: the history contains the change `since`, and no later change of all notes. */
static int is_known(struct db *d, int64_t since, bool *known, struct fumi_err *e)
{
    int64_t is = 0;
    int there = store_sqlite_number(d, e, &is, "SELECT 1 FROM changes WHERE n=?1", "i", since);
    if (!since) /* there were no changes yet */
        there = !store_sqlite_number(d, e, &is, "SELECT 1 FROM changes LIMIT 1", "");
    int all = store_sqlite_number(d, e, &is, "SELECT 1 FROM changes WHERE n>?1 AND note=0 LIMIT 1",
                                  "i", since);
    *known = there > 0 && !all;
    return there < 0 || all < 0 ? -1 : 0;
}

/* Reports the notes of the next changes; sets piece->change and more. */
static int report_notes(struct db *d, struct rows *r, struct fumi_err *e)
{
    struct scan_piece *p = r->piece;
    size_t n = 0;
    int64_t last = p->since;
    sqlite3_stmt *q = store_sqlite_query(
        d, e, "SELECT n, note FROM changes WHERE n>?1 ORDER BY n LIMIT ?2", "ii", p->since,
        (int64_t)p->changes);
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        last = sqlite3_column_int64(q, 0);
        int64_t note = sqlite3_column_int64(q, 1);
        if (note > 0)
            r->note(r->to, note);
        n++;
    }
    p->more = n == p->changes;
    p->change = last;
    return more;
}

static int put_rows(struct db *d, sqlite3_stmt *q, struct rows *r, struct fumi_err *e)
{
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0)
        if (put_row(r, q, e))
            more = -1;
    store_sqlite_end(q);
    return more;
}

static int read_changed(struct db *d, struct rows *r, struct fumi_err *e)
{
    struct scan_piece *p = r->piece;
    if (report_notes(d, r, e))
        return -1;
    sqlite3_stmt *q = store_sqlite_query(
        d, e,
        "SELECT vector, v.note, created, tag_set, x FROM (SELECT DISTINCT note FROM changes WHERE "
        "n>?1 AND n<=?2) c CROSS JOIN vectors v ON v.note=c.note AND space=?3 AND vector<=?4 "
        "CROSS JOIN notes ON seq=v.note",
        "iiii", p->since, p->change, r->store->scan_space, p->upto);
    return put_rows(d, q, r, e);
}

/* In the order of the table, which is the fastest to read. Counts the rows of all spaces, so that
 * the time of a piece is bounded. */
static int read_next(struct db *d, struct rows *r, struct fumi_err *e)
{
    struct scan_piece *p = r->piece;
    size_t n = 0;
    sqlite3_stmt *q = store_sqlite_query(
        d, e,
        "SELECT vector, note, created, tag_set, x, space=?2 AND seq IS NOT NULL FROM vectors NOT "
        "INDEXED LEFT JOIN notes ON seq=note WHERE vector>?1 ORDER BY vector LIMIT ?3",
        "iii", p->upto, r->store->scan_space, (int64_t)p->rows);
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        p->last = sqlite3_column_int64(q, 0);
        n++;
        if (sqlite3_column_int(q, 5) && put_row(r, q, e))
            more = -1;
    }
    store_sqlite_end(q);
    if (n < p->rows)
        p->last = INT64_MAX;
    return more;
}

static int read_piece(struct db *d, void *arg, struct fumi_err *e)
{
    struct rows *r = arg;
    struct scan_piece *p = r->piece;
    bool known = true, empty = !p->since && !p->upto;
    p->last = p->upto;
    if (!empty && is_known(d, p->since, &known, e))
        return -1;
    p->too_old = !known;
    if (p->too_old)
        return 0;
    if (empty ? change_now(d, &p->change, e) : read_changed(d, r, e))
        return -1;
    return p->more || p->upto == INT64_MAX ? 0 : read_next(d, r, e);
}

static int read_rows(void *arg, struct scan_piece *p, scan_note_fn *note, scan_put_fn *put,
                     void *to, struct fumi_err *e)
{
    struct store_sqlite *s = arg;
    struct rows r = {.store = s, .piece = p, .put = put, .note = note, .to = to};
    r.x = fumi_resize(NULL, s->scan_dim * sizeof(*r.x));
    int rc = store_sqlite_read(&s->base, read_piece, &r, e);
    fumi_resize(r.x, 0);
    return rc ? -1 : 0;
}

void store_sqlite_index_init(struct store_sqlite *s)
{
    s->source = (struct scan_source){.read = read_rows, .arg = s};
}

void store_sqlite_index_close(struct store_sqlite *s)
{
    pthread_rwlock_wrlock(&s->scan_lock);
    if (s->scan)
        scan_close(s->scan);
    s->scan = NULL;
    s->scan_space = 0;
    pthread_rwlock_unlock(&s->scan_lock);
}

static int open_scan(struct store_sqlite *s, struct fumi_str name, size_t dim, int64_t space,
                     struct fumi_err *e)
{
    if (s->scan && s->scan_space == space)
        return 0;
    if (s->scan)
        scan_close(s->scan);
    s->scan_space = space;
    s->scan_dim = dim;
    s->scan = scan_open(s->uri ? NULL : s->side, name, dim, &s->source, s->log, e);
    return s->scan ? 0 : -1;
}

int store_sqlite_index_use(struct store_sqlite *s, struct fumi_str name, size_t dim, int64_t space,
                           struct fumi_err *e)
{
    report_damage(s);
    pthread_rwlock_rdlock(&s->scan_lock);
    while (!s->scan || s->scan_space != space) {
        pthread_rwlock_unlock(&s->scan_lock);
        pthread_rwlock_wrlock(&s->scan_lock);
        int rc = open_scan(s, name, dim, space, e);
        pthread_rwlock_unlock(&s->scan_lock);
        if (rc)
            return -1;
        pthread_rwlock_rdlock(&s->scan_lock);
    }
    return 0;
}

void store_sqlite_index_done(struct store_sqlite *s)
{
    assert(s->scan);
    pthread_rwlock_unlock(&s->scan_lock);
    report_damage(s);
}

void store_sqlite_index_stats(struct store_sqlite *s, int64_t *bytes, bool *building)
{
    struct stat st;
    *bytes = stat(s->side, &st) ? 0 : st.st_size;
    pthread_rwlock_rdlock(&s->scan_lock);
    *building = s->scan && !scan_is_whole(s->scan);
    pthread_rwlock_unlock(&s->scan_lock);
}

struct current {
    struct fumi_str name;
    size_t dim;
    int64_t space, change;
};

static int read_current(struct db *d, void *arg, struct fumi_err *e)
{
    struct current *c = arg;
    if (change_now(d, &c->change, e))
        return -1;
    return store_sqlite_number(d, e, &c->space, "SELECT space FROM spaces WHERE name=?1 AND dim=?2",
                               "si", c->name, (int64_t)c->dim) < 0
               ? -1
               : 0;
}

/* The space is read from the file, because another process may have created the file for another
 * space than the one that is open here. If that space was deleted, the file is deleted too. */
int store_sqlite_index_catch_up(struct store_sqlite *s, int64_t ms, bool *done, struct fumi_err *e)
{
    char name[SCAN_SPACE];
    struct current c = {.name = {name, 0}};
    *done = true;
    c.dim = scan_peek(s->side, name, &c.name.n);
    if (!c.dim)
        return 0;
    if (store_sqlite_read(&s->base, read_current, &c, e))
        return -1;
    if (!c.space) {
        unlink(s->side);
        return 0;
    }
    if (store_sqlite_index_use(s, c.name, c.dim, c.space, e))
        return -1;
    int rc = scan_refresh_deleted(s->scan, c.change, ms, e);
    store_sqlite_index_done(s);
    *done = rc == 0;
    return rc < 0 ? -1 : 0;
}
