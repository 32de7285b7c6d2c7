/* Erases traces: fills the unused space of pages with zeros when they are written, merges the
 * segments of the keyword index, and truncates the write-ahead log. While a caller waits, the work
 * is bounded. */
#include "store/sqlite_erase.h"
#include "store/sqlite_ops.h"

#include "base/clock.h"
#include "store/sqlite_bytes.h"
#include "store/sqlite_index.h"
#include "store/sqlite_words.h"

#include <assert.h>

enum {
    PAGE = 4096,     /* bytes; SQLite's usual size, which every store has */
    STEP = 250,      /* pages of the keyword index that one transaction merges */
    INTERVAL = 1000, /* milliseconds between two attempts while callers wait */
};

struct effort {
    bool always;      /* merge even if the mark does not say "words" */
    int steps;        /* transactions, at most */
    int64_t patience; /* milliseconds to wait for readers of the log */
};
/* While a caller waits; when the store is closed; for doctor. */
static const struct effort in_passing = {false, 1, 10}, at_close = {false, 100, 10},
                           complete = {true, 1000, 2000};
#define MILLISECOND    INT64_C(1000000)
#define FILE_MAX_BYTES (INT64_C(64) << 30)

/* Fills the space between the cell pointers and the cells, and the free blocks, with zeros. The
 * page header is at `head`. A page whose header makes no sense is left unchanged. */
static void clear_unused(unsigned char *page, uint32_t head)
{
    bool leaf = page[head] > 5;
    uint32_t begin = head + (leaf ? 8 : 12) + 2 * be(page + head + 3, 2);
    uint32_t rows = be(page + head + 5, 2), free = be(page + head + 1, 2);
    if (begin > rows || rows > PAGE)
        return;
    memset(page + begin, 0, rows - begin);
    while (free >= rows && free + 4 <= PAGE) {
        uint32_t next = be(page + free, 2), size = be(page + free + 2, 2);
        if (size < 4 || free + size > PAGE)
            return;
        memset(page + free + 4, 0, size - 4);
        free = next > free ? next : 0;
    }
}

/* Whether it is a B-tree page. Other pages begin with a page number or 0; to be mistaken for a
 * B-tree page, the number would have to be above 2^25, which FILE_MAX_BYTES excludes. */
static bool has_rows(const unsigned char *page, uint32_t head)
{
    return page[head] == 2 || page[head] == 5 || page[head] == 10 || page[head] == 13;
}

/* The I/O methods of database files, and a copy with our own xWrite. Set once, guarded by the lock.
 */
static const sqlite3_io_methods *plain;
static sqlite3_io_methods clearing;
static pthread_mutex_t methods_lock = PTHREAD_MUTEX_INITIALIZER;

static int write_cleared(sqlite3_file *f, const void *bytes, int n, sqlite3_int64 at)
{
    unsigned char page[PAGE];
    const uint32_t head = at == 0 ? 100 : 0;
    sqlite3_int64 size = 0;
    if (n != PAGE || at % PAGE || !has_rows(bytes, head) || plain->xFileSize(f, &size) ||
        size > FILE_MAX_BYTES)
        return plain->xWrite(f, bytes, n, at);
    memcpy(page, bytes, PAGE);
    clear_unused(page, head);
    return plain->xWrite(f, page, n, at);
}

/* When SQLite moves rows to another page, their old bytes stay in the unused space of the first
 * page, even with secure_delete. SQLite never reads that space, so it can be cleared on writing. */
void store_sqlite_erase_unused(sqlite3 *h)
{
    sqlite3_file *f = NULL;
    if (sqlite3_file_control(h, "main", SQLITE_FCNTL_FILE_POINTER, &f) || !f || !f->pMethods)
        return;
    pthread_mutex_lock(&methods_lock);
    if (!plain) {
        plain = f->pMethods;
        clearing = *plain;
        clearing.xWrite = write_cleared;
    }
    pthread_mutex_unlock(&methods_lock);
    if (f->pMethods == plain)
        f->pMethods = &clearing;
}

/* The value of the mark is "words" (the keyword index and the log have to be erased), "log" (only
 * the log), or the random ticket of the last attempt to truncate the log. */
int store_sqlite_erase_mark(struct db *d, bool words, struct fumi_err *e)
{
    __atomic_store_n(&d->store->unerased, true, __ATOMIC_RELAXED);
    return words ? store_sqlite_run(d, e, "REPLACE INTO meta VALUES('erase', 'words')", "")
                 : store_sqlite_run(d, e,
                                    "INSERT INTO meta VALUES('erase', 'log') ON CONFLICT(name) DO "
                                    "UPDATE SET value='log' WHERE value<>'words'",
                                    "");
}

static int read_mark(struct db *d, void *arg, struct fumi_err *e)
{
    bool *marked = arg;
    int64_t is;
    int found = store_sqlite_number(d, e, &is, "SELECT 1 FROM meta WHERE name='erase'", "");
    *marked = found > 0;
    return found < 0 ? -1 : 0;
}

/* A negative number of pages makes FTS5 merge all segments into one, step by step; this removes the
 * entries of deleted notes. When the merge is complete, FTS5 changes less than two rows. */
static int merge_pages(struct db *d, int64_t pages, bool *ended, struct fumi_err *e)
{
    sqlite3_int64 before = sqlite3_total_changes64(d->h);
    if (store_sqlite_run(d, e, "INSERT INTO words(words, rank) VALUES('merge', ?1)", "i", -pages))
        return -1;
    *ended = sqlite3_total_changes64(d->h) - before < 2;
    return 0;
}

struct merging {
    bool always;
    bool ended;
    int64_t ticket; /* new value of the mark when the merge has ended */
};

static int merge(struct db *d, void *arg, struct fumi_err *e)
{
    struct merging *m = arg;
    int64_t is;
    int found = store_sqlite_number(d, e, &is,
                                    "SELECT 1 FROM meta WHERE name='erase' AND value='words'", "");
    m->ended = !found && !m->always;
    if (found < 0 || (!m->ended && merge_pages(d, STEP, &m->ended, e)) ||
        (!m->ended && merge_pages(d, 1, &m->ended, e)))
        return -1;
    return m->ended ? store_sqlite_run(d, e, "REPLACE INTO meta VALUES('erase', CAST(?1 AS TEXT))",
                                       "i", m->ticket)
                    : 0;
}

struct truncation {
    int64_t patience; /* milliseconds to wait for readers */
    bool done;
};

static int truncate_log(struct db *d, void *arg, struct fumi_err *e)
{
    struct truncation *t = arg;
    assert(sqlite3_get_autocommit(d->h)); /* a checkpoint fails inside a transaction */
    d->patience = t->patience * MILLISECOND;
    int rc = sqlite3_wal_checkpoint_v2(d->h, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    d->patience = 0;
    t->done = rc == SQLITE_OK;
    return rc && (rc & 0xFF) != SQLITE_BUSY && (rc & 0xFF) != SQLITE_LOCKED
               ? store_sqlite_fault(d, rc, e)
               : 0;
}

/* The value differs if another process has since deleted a text or begun an attempt of its own; the
 * mark then stays. */
static int remove_mark(struct db *d, void *arg, struct fumi_err *e)
{
    const int64_t *ticket = arg;
    return store_sqlite_run(d, e, "DELETE FROM meta WHERE name='erase' AND value=CAST(?1 AS TEXT)",
                            "i", *ticket);
}

/* The mark is removed only after the log is empty, so that another process continues if this one is
 * killed. */
static int finish(struct store_sqlite *s, int64_t patience, int64_t ticket, bool *done,
                  struct fumi_err *e)
{
    struct truncation t = {.patience = patience};
    bool cached = false;
    if (store_sqlite_index_catch_up(s, patience, &cached, e) ||
        store_sqlite_write_alone(&s->base, truncate_log, &t, e))
        return -1;
    *done = t.done && cached;
    return *done ? store_sqlite_write(&s->base, remove_mark, &ticket, e) : 0;
}

/* *done: nothing remains to be erased. */
static int erase(struct store_sqlite *s, const struct effort *f, bool *done, struct fumi_err *e)
{
    struct merging m = {.always = f->always};
    int rc = 0;
    *done = false;
    sqlite3_randomness(sizeof(m.ticket), &m.ticket);
    __atomic_store_n(&s->unerased, false, __ATOMIC_RELAXED);
    for (int i = 0; i < f->steps && !m.ended && !rc; i++)
        rc = store_sqlite_write(&s->base, merge, &m, e);
    if (m.ended && !rc)
        rc = finish(s, f->patience, m.ticket, done, e);
    if (rc || !*done)
        __atomic_store_n(&s->unerased, true, __ATOMIC_RELAXED);
    return rc;
}

static int erase_marked(struct store_sqlite *s, const struct effort *f, bool *more,
                        struct fumi_err *e)
{
    bool marked = false, done = true;
    *more = false;
    if (s->uri)
        return 0; /* read-only */
    if (store_sqlite_read(&s->base, read_mark, &marked, e) || (marked && erase(s, f, &done, e)))
        return -1;
    *more = !done;
    return 0;
}

int store_sqlite_erase_step(struct store *base, bool *more, struct fumi_err *e)
{
    return erase_marked((struct store_sqlite *)base, &in_passing, more, e);
}

static void attempt(struct store_sqlite *s, const struct effort *f)
{
    struct fumi_err e = {0};
    bool more;
    if (erase_marked(s, f, &more, &e))
        fumi_log(s->log, FUMI_WARN, "store.unerased", {.key = "why", .text = fumi_str(e.text)},
                 {.key = "remedy", .text = FUMI_STR("fumi doctor erases what is left")});
}

void store_sqlite_erase_soon(struct store_sqlite *s)
{
    int64_t now = fumi_ticks(), next = __atomic_load_n(&s->erase_next, __ATOMIC_RELAXED);
    if (now >= next &&
        __atomic_compare_exchange_n(&s->erase_next, &next, now + INTERVAL * MILLISECOND, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        attempt(s, &in_passing);
}

void store_sqlite_erase_last(struct store_sqlite *s)
{
    if (__atomic_load_n(&s->unerased, __ATOMIC_RELAXED))
        attempt(s, &at_close);
}

int store_sqlite_erase_all(struct store_sqlite *s, bool *done, struct fumi_err *e)
{
    return erase(s, &complete, done, e);
}

/* By schema version: a copy made before a migration has the tables of version 1. */
static const struct {
    const char *select, *clean;
} copies[] = {
    {"SELECT 1 FROM meta WHERE name='erase'",
     "PRAGMA secure_delete=ON; INSERT INTO words(words) VALUES('optimize'); "
     "DELETE FROM meta WHERE name='erase'"},
    {"SELECT 1 FROM facts WHERE name='erase'",
     "PRAGMA secure_delete=ON; INSERT INTO words(words) VALUES('optimize'); "
     "DELETE FROM facts WHERE name='erase'"},
};

/* *old: whether the copy has schema version 1. */
static int is_old(sqlite3 *copy, bool *old)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(copy, "PRAGMA user_version", -1, &q, NULL);
    *old = !rc && sqlite3_step(q) == SQLITE_ROW && sqlite3_column_int(q, 0) == 1;
    int end = sqlite3_finalize(q);
    return rc ? rc : end;
}

static int is_marked(sqlite3 *copy, const char *select, bool *marked)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(copy, select, -1, &q, NULL);
    *marked = !rc && sqlite3_step(q) == SQLITE_ROW;
    int end = sqlite3_finalize(q);
    return rc ? rc : end;
}

int store_sqlite_erase_copy(sqlite3 *copy)
{
    static const struct words_ending none; /* no text is tokenized */
    struct fumi_err ignored;
    bool old = false, marked = false;
    int rc = is_old(copy, &old);
    if (!rc)
        rc = is_marked(copy, copies[old].select, &marked);
    if (rc || !marked)
        return rc;
    if (store_sqlite_words_register(copy, &none, &ignored))
        return SQLITE_ERROR;
    return sqlite3_exec(copy, copies[old].clean, NULL, NULL, NULL);
}
