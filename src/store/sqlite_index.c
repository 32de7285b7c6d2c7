/* The vector cache: opens the scan of the space in use and reads its rows from the database. The
 * scan has locks of its own; scan_lock only keeps it open while a thread uses it. */
#include "store/sqlite_erase.h"
#include "store/sqlite_parts.h"

#include "base/arena.h"

#include <assert.h>
#include <unistd.h>

enum { DAMAGED_MAX = 64 }; /* damaged vectors that one pass reports */

struct rows {
    struct store_sqlite *store;
    scan_put_fn *put;
    int (*note)(void *to, int64_t seq);
    void *to;
    int64_t since, *change;
    float *x;
    int64_t damaged[DAMAGED_MAX];
    size_t damaged_n;
    bool too_old;
};

/* Columns: vector, note, created, tag_set, x. */
static int put_rows(struct db *d, sqlite3_stmt *q, struct rows *r, struct fumi_err *e)
{
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        struct scan_row row = {.vector = sqlite3_column_int64(q, 0),
                               .note = sqlite3_column_int64(q, 1),
                               .created = sqlite3_column_int64(q, 2),
                               .tag_set = (uint32_t)sqlite3_column_int64(q, 3),
                               .x = r->x};
        if (store_sqlite_vector_read(store_sqlite_text(q, 4), r->store->scan_dim, r->x)) {
            more = r->put(r->to, &row, e) ? -1 : 1;
        } else if (r->damaged_n < DAMAGED_MAX) {
            r->damaged[r->damaged_n++] = row.vector;
        }
    }
    store_sqlite_end(q);
    return more;
}

static int change_now(struct db *d, int64_t *out, struct fumi_err *e)
{
    return store_sqlite_number(d, e, out, "SELECT coalesce(max(n), 0) FROM changes", "") < 0 ? -1
                                                                                             : 0;
}

/* In the order of the table, which is the fastest to read. */
static int read_all(struct db *d, void *arg, struct fumi_err *e)
{
    struct rows *r = arg;
    if (change_now(d, r->change, e))
        return -1;
    sqlite3_stmt *q = store_sqlite_query(d, e,
                                         "SELECT vector, note, created, tag_set, x FROM vectors "
                                         "NOT INDEXED CROSS JOIN notes ON seq=note WHERE space=?1",
                                         "i", r->store->scan_space);
    return put_rows(d, q, r, e);
}

/* *known: the history contains the change `since`, and no later change of all notes. */
static int is_known(struct db *d, int64_t since, bool *known, struct fumi_err *e)
{
    int64_t is = 0;
    int there = since
                    ? store_sqlite_number(d, e, &is, "SELECT 1 FROM changes WHERE n=?1", "i", since)
                    : 0;
    int all = store_sqlite_number(d, e, &is, "SELECT 1 FROM changes WHERE n>?1 AND note=0 LIMIT 1",
                                  "i", since);
    *known = there > 0 && !all;
    return there < 0 || all < 0 ? -1 : 0;
}

static int report_notes(struct db *d, struct rows *r, struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(
        d, e, "SELECT DISTINCT note FROM changes WHERE n>?1 AND note>0", "i", r->since);
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0)
        if (r->note(r->to, sqlite3_column_int64(q, 0))) {
            store_sqlite_end(q);
            return fumi_err_set(e, FUMI_INTERNAL_ERROR, "The vector cache cannot be refreshed");
        }
    return more;
}

static int read_changed(struct db *d, void *arg, struct fumi_err *e)
{
    struct rows *r = arg;
    bool known = false;
    if (change_now(d, r->change, e) || is_known(d, r->since, &known, e))
        return -1;
    r->too_old = !known;
    if (r->too_old)
        return 0;
    if (report_notes(d, r, e))
        return -1;
    sqlite3_stmt *q = store_sqlite_query(
        d, e,
        "SELECT vector, v.note, created, tag_set, x FROM (SELECT DISTINCT "
        "note FROM changes WHERE n>?1) c CROSS JOIN vectors v "
        "ON v.note=c.note AND space=?2 CROSS JOIN notes ON seq=v.note",
        "ii", r->since, r->store->scan_space);
    return put_rows(d, q, r, e);
}

static int read_rows(struct rows *r, store_sqlite_fn *run, struct fumi_err *e)
{
    r->x = fumi_resize(NULL, r->store->scan_dim * sizeof(*r->x));
    int rc = store_sqlite_read(&r->store->base, run, r, e);
    fumi_resize(r->x, 0);
    for (size_t i = 0; i < r->damaged_n; i++)
        store_sqlite_vector_damaged(r->store, r->damaged[i]);
    return rc ? -1 : r->too_old;
}

static int all(void *arg, scan_put_fn *put, void *to, int64_t *change, struct fumi_err *e)
{
    struct rows r = {.store = arg, .put = put, .to = to, .change = change};
    return read_rows(&r, read_all, e);
}

static int changed(void *arg, int64_t since, int (*note)(void *to, int64_t seq), scan_put_fn *put,
                   void *to, int64_t *change, struct fumi_err *e)
{
    struct rows r = {
        .store = arg, .put = put, .note = note, .to = to, .since = since, .change = change};
    return read_rows(&r, read_changed, e);
}

void store_sqlite_index_init(struct store_sqlite *s)
{
    s->source = (struct scan_source){.all = all, .changed = changed, .arg = s};
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
int store_sqlite_index_catch_up(struct store_sqlite *s, struct fumi_err *e)
{
    char name[SCAN_SPACE];
    struct current c = {.name = {name, 0}};
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
    int rc = scan_refresh(s->scan, c.change, e);
    store_sqlite_index_done(s);
    return rc;
}
