/* Copies of the database, made while other processes write. A copy is read in one snapshot into a
 * file under a temporary name, checked, and then renamed. It needs no write-ahead log. */
#include "store/sqlite_changes.h"
#include "store/sqlite_erase.h"
#include "store/sqlite_file.h"
#include "store/sqlite_ops.h"

#include "base/arena.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 1000, PAGES = 4096 };

static int fail(struct db *from, int rc, const char *to, struct fumi_err *e)
{
    if (rc == SQLITE_INTERRUPT)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "The copy was interrupted (%s)", to);
    if ((rc & 0xFF) == SQLITE_CORRUPT || (rc & 0xFF) == SQLITE_BUSY)
        return store_sqlite_fault(from, rc, e);
    return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                        "The copy cannot be written: %s; check the free disk space (%s)",
                        sqlite3_errstr(rc), to);
}

bool store_sqlite_tell(const struct store_sqlite *s, int64_t done, int64_t total)
{
    return !s->progress.run || s->progress.run(s->progress.arg, done, total);
}

/* Copies some pages, again while another process prevents it. */
static int copy_some(sqlite3_backup *b)
{
    int rc = SQLITE_BUSY;
    for (int i = 0; i < TRIES && (rc == SQLITE_BUSY || rc == SQLITE_LOCKED); i++) {
        if (i)
            nanosleep(&(struct timespec){0, 10000000}, NULL);
        rc = sqlite3_backup_step(b, PAGES);
    }
    return rc;
}

/* One transaction of `from`, so that all steps copy the same snapshot. */
static int copy_pages(sqlite3 *to, struct db *from)
{
    int rc = sqlite3_exec(from->h, "BEGIN; SELECT 1 FROM sqlite_master LIMIT 1", NULL, NULL, NULL);
    sqlite3_backup *b = rc ? NULL : sqlite3_backup_init(to, "main", from->h, "main");
    if (!b)
        return rc ? rc : sqlite3_extended_errcode(to);
    do {
        int64_t total = sqlite3_backup_pagecount(b), left = sqlite3_backup_remaining(b);
        rc = store_sqlite_tell(from->store, total - left, total) ? copy_some(b) : SQLITE_INTERRUPT;
    } while (rc == SQLITE_OK);
    int end = sqlite3_backup_finish(b);
    sqlite3_exec(from->h, "ROLLBACK", NULL, NULL, NULL);
    return rc == SQLITE_DONE ? end : rc;
}

/* Returns 0 if the database has no damage, otherwise a result code of SQLite. */
static int check_pages(sqlite3 *h)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(h, "PRAGMA quick_check(1)", -1, &q, NULL);
    if (!rc && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(q, 0);
        rc = text && strcmp(text, "ok") == 0 ? 0 : SQLITE_CORRUPT;
    }
    sqlite3_finalize(q);
    return rc;
}

/* No other process uses the file yet: it needs no journal, and is synced once, at the end. */
static int fill(struct db *from, sqlite3 *to, bool accept_damage)
{
    int rc = sqlite3_exec(to, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF", NULL, NULL,
                          NULL);
    if (!rc)
        rc = copy_pages(to, from);
    if (!rc)
        rc = sqlite3_exec(to, "PRAGMA journal_mode=DELETE; PRAGMA journal_mode=MEMORY", NULL, NULL,
                          NULL);
    if (!rc && from->store->replica) /* the copy is a store of its own */
        rc = sqlite3_exec(to, "DELETE FROM meta WHERE name='replica'", NULL, NULL, NULL);
    if (!rc)
        rc = store_sqlite_erase_copy(to);
    if (!rc)
        rc = check_pages(to);
    return accept_damage && (rc & 0xFF) == SQLITE_CORRUPT ? 0 : rc;
}

static int copy_to(struct db *from, const char *to, bool accept_damage, struct fumi_err *e)
{
    sqlite3 *h = NULL;
    int rc = sqlite3_open_v2(to, &h, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (!rc) {
        store_sqlite_erase_unused(h);
        rc = fill(from, h, accept_damage);
    }
    int end = sqlite3_close(h);
    rc = rc ? rc : end;
    return rc ? fail(from, rc, to, e) : store_sqlite_file_sync(to, e);
}

static int copy_from(struct store_sqlite *s, const char *to, bool accept_damage, struct fumi_err *e)
{
    struct db *from = store_sqlite_connect(s, false, e);
    if (!from)
        return -1;
    int rc = copy_to(from, to, accept_damage, e);
    store_sqlite_disconnect(from);
    return rc;
}

int store_sqlite_copy(struct store_sqlite *s, const char *to, enum store_sqlite_copy_kind kind,
                      struct fumi_err *e)
{
    bool migrates = kind == COPY_BEFORE_MIGRATION;
    store_sqlite_file_sweep(to);
    char *part = store_sqlite_path_new(to, ".part");
    int fd = store_sqlite_file_fresh(part);
    int rc = fd < 0
                 ? fumi_err_set(e, FUMI_INTERNAL_ERROR,
                                "Cannot create the copy: %s; check the path, its permissions and "
                                "the free disk space (%s)",
                                strerror(errno), to)
                 : 0;
    if (!rc) {
        rc = copy_from(s, part, migrates && s->lenient, e) ||
                     store_sqlite_file_name(part, to, migrates, e)
                 ? -1
                 : 0;
        if (rc)
            store_sqlite_file_remove(part);
        close(fd); /* last: another process deletes a temporary file without a lock */
    }
    fumi_resize(part, 0);
    return rc;
}

int store_sqlite_backup(struct store *s, struct fumi_str path, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    const char *to = fumi_fmt(&a, "%.*s", FUMI_ARG(path)).p;
    int rc = store_sqlite_file_exists(to)
                 ? fumi_err_set(e, ERR_CONFLICT, "This file exists; choose another name (%s)", to)
                 : store_sqlite_copy((struct store_sqlite *)s, to, COPY_BACKUP, e);
    if (!rc)
        store_sqlite_backup_made((struct store_sqlite *)s, to);
    fumi_arena_done(&a);
    return rc;
}
