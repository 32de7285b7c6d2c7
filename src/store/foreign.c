/* The database may come from anywhere: functions and virtual tables that its schema names are not
 * trusted, and it is opened for reading only. */
#include "store/foreign.h"

#include "base/buf.h"
#include "store/sqlite_file.h"

#include <sqlite3.h>
#include <sys/stat.h>

enum { BUSY_MS = 5000 };

struct foreign {
    sqlite3 *db;
    struct fumi_arena a;
};

bool foreign_is_database(struct fumi_str start)
{
    static const char magic[16] = "SQLite format 3";
    return fumi_starts(start, (struct fumi_str){magic, sizeof(magic)});
}

static int fail(struct foreign *f, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INVALID_PARAMS, "the database cannot be read: %s",
                        sqlite3_errmsg(f->db));
}

static bool is_beside(struct foreign *f, struct fumi_str path, const char *ending)
{
    struct stat st;
    return stat(fumi_fmt(&f->a, "%.*s%s", FUMI_ARG(path), ending).p, &st) == 0;
}

static int run(struct foreign *f, const char *sql, struct fumi_err *e)
{
    return sqlite3_exec(f->db, sql, NULL, NULL, NULL) ? fail(f, e) : 0;
}

static int open_database(struct foreign *f, struct fumi_str path, struct fumi_err *e)
{
    bool alone = !is_beside(f, path, "-wal") && !is_beside(f, path, "-shm") &&
                 !is_beside(f, path, "-journal");
    char *uri = store_sqlite_uri(fumi_fmt(&f->a, "%.*s", FUMI_ARG(path)).p, alone);
    int rc = sqlite3_open_v2(uri, &f->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    fumi_resize(uri, 0);
    if (rc)
        return fail(f, e);
    sqlite3_busy_timeout(f->db, BUSY_MS);
    sqlite3_db_config(f->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(f->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    return run(f,
               "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
               "BEGIN; SELECT 1 FROM sqlite_master",
               e);
}

struct foreign *foreign_open(struct fumi_str path, struct fumi_err *e)
{
    struct foreign *f = fumi_resize(NULL, sizeof(*f));
    *f = (struct foreign){.db = NULL};
    if (!open_database(f, path, e))
        return f;
    foreign_close(f);
    return NULL;
}

void foreign_close(struct foreign *f)
{
    if (!f)
        return;
    sqlite3_close(f->db);
    fumi_arena_done(&f->a);
    fumi_resize(f, 0);
}

bool foreign_has(struct foreign *f, const char *table, const char *column)
{
    static const char sql[] = "SELECT 1 FROM sqlite_master m, pragma_table_info(m.name) c "
                              "WHERE m.type='table' AND m.name=?1 AND c.name=?2";
    sqlite3_stmt *q = NULL;
    bool has = sqlite3_prepare_v2(f->db, sql, -1, &q, NULL) == SQLITE_OK &&
               sqlite3_bind_text(q, 1, table, -1, SQLITE_STATIC) == SQLITE_OK &&
               sqlite3_bind_text(q, 2, column, -1, SQLITE_STATIC) == SQLITE_OK &&
               sqlite3_step(q) == SQLITE_ROW;
    sqlite3_finalize(q);
    return has;
}

static struct fumi_str column_of(sqlite3_stmt *q, int i)
{
    if (sqlite3_column_type(q, i) == SQLITE_NULL)
        return (struct fumi_str){0};
    const void *p = sqlite3_column_text(q, i);
    return (struct fumi_str){p ? p : "", (size_t)sqlite3_column_bytes(q, i)};
}

int foreign_rows(struct foreign *f, const char *sql,
                 int (*each)(void *arg, const struct fumi_str *columns, struct fumi_err *e),
                 void *arg, struct fumi_err *e)
{
    struct fumi_str columns[FOREIGN_COLUMNS];
    sqlite3_stmt *q = NULL;
    int step = SQLITE_DONE, rc = 0;
    if (sqlite3_prepare_v2(f->db, sql, -1, &q, NULL))
        return fail(f, e);
    int n = sqlite3_column_count(q);
    while (!rc && (step = sqlite3_step(q)) == SQLITE_ROW) {
        for (int i = 0; i < n && i < FOREIGN_COLUMNS; i++)
            columns[i] = column_of(q, i);
        rc = each(arg, columns, e);
    }
    if (!rc && step != SQLITE_DONE)
        rc = fail(f, e);
    sqlite3_finalize(q);
    return rc;
}
