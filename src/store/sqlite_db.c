/* A connection: its settings, its cache of prepared statements, and the error texts for SQLite's
 * result codes. */
#include "store/sqlite_parts.h"

#include "base/arena.h"
#include "base/uuid.h"
#include "store/sqlite_busy.h"
#include "store/sqlite_erase.h"
#include "store/sqlite_words.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

enum {
    LENGTH_MAX = 16 << 20, /* of any value */
    SQL_MAX = 100000,
};

/* Error texts for SQLite's primary result codes; the path is appended. */
static const struct {
    int code;
    const char *text;
} faults[] = {
    {SQLITE_FULL, "The disk is full: free some space and try again; nothing was stored"},
    {SQLITE_IOERR, "The disk failed: check the system log, then try again"},
    {SQLITE_READONLY, "The database cannot be written: make the file and its directory writable"},
    {SQLITE_PERM, "The database may not be used: make the file and its directory writable"},
    {SQLITE_AUTH, "The database may not be used: make the file and its directory writable"},
    {SQLITE_CANTOPEN, "The database cannot be opened: check that the file exists and that it and "
                      "its directory are writable"},
    {SQLITE_CORRUPT, "The database is damaged: run fumi doctor, or restore a backup"},
    {SQLITE_NOTADB, "This file is not a database: restore a backup, or choose another file"},
    {SQLITE_LOCKED, "Another call has held the database for too long: try again"},
    {SQLITE_TOOBIG, "A value is larger than 16 MiB: store it in parts"},
    {SQLITE_NOMEM, "Out of memory: end other programs and try again"},
    {SQLITE_NOLFS, "The file system does not support such a large file: move the database"},
};

static int last_errno(struct db *d, int which)
{
    sqlite3_file *f = NULL;
    int system = 0;
    if (sqlite3_file_control(d->h, "main", which, &f) == 0 && f && f->pMethods)
        f->pMethods->xFileControl(f, SQLITE_FCNTL_LAST_ERRNO, &system);
    return system;
}

/* An exceeded quota or file size limit is reported as a full disk. */
static bool is_full(struct db *d)
{
    const int all[] = {sqlite3_system_errno(d->h), last_errno(d, SQLITE_FCNTL_FILE_POINTER),
                       last_errno(d, SQLITE_FCNTL_JOURNAL_POINTER)};
    for (size_t i = 0; i < FUMI_COUNT(all); i++)
        if (all[i] == ENOSPC || all[i] == EDQUOT || all[i] == EFBIG)
            return true;
    return false;
}

static int plain_code(struct db *d, int code)
{
    return (code & 0xFF) == SQLITE_IOERR && d->h && is_full(d) ? SQLITE_FULL : code & 0xFF;
}

static bool lacks_descriptors(struct db *d, int plain)
{
    int system = d->h ? sqlite3_system_errno(d->h) : 0;
    return (plain == SQLITE_CANTOPEN || plain == SQLITE_IOERR) &&
           (system == EMFILE || system == ENFILE);
}

bool store_sqlite_moved(struct db *d)
{
    int moved = 0;
    sqlite3_file_control(d->h, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved;
}

/* FUMI_LIMIT, because the user can fix the cause: the client sees the text. */
static int set_limit(struct db *d, int code, const char *text, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_LIMIT, "%s (code %d, %s)", text, code, d->store->path);
}

int store_sqlite_fault(struct db *d, int code, struct fumi_err *e)
{
    int plain = plain_code(d, code);
    d->bad |= plain != SQLITE_CONSTRAINT && plain != SQLITE_TOOBIG && plain != SQLITE_BUSY;
    if (plain == SQLITE_CORRUPT || plain == SQLITE_NOTADB)
        __atomic_store_n(&d->store->corrupt, true, __ATOMIC_RELAXED);
    if (lacks_descriptors(d, plain))
        return fumi_err_set(e, FUMI_LIMIT,
                            "Too many files are open: close some, or raise the limit (ulimit -n) "
                            "(code %d, %s)",
                            code, d->store->path);
    if (plain == SQLITE_BUSY || plain == SQLITE_PROTOCOL)
        return store_sqlite_busy_fault(d, code, e);
    for (size_t i = 0; i < FUMI_COUNT(faults); i++)
        if (faults[i].code == plain)
            return set_limit(d, code, faults[i].text, e);
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "The database failed: %s (code %d, %s)",
                        d->h ? sqlite3_errmsg(d->h) : sqlite3_errstr(code), code, d->store->path);
}

/* The SQL function within(filter, tag_set, created): whether a note passes the filter. */
static void within(sqlite3_context *c, int n, sqlite3_value **args)
{
    (void)n;
    const struct scan_filter *f = sqlite3_value_pointer(args[0], "fumi");
    int64_t tag_set = sqlite3_value_int64(args[1]), created = sqlite3_value_int64(args[2]);
    bool in = f && tag_set >= 0;
    if (in && f->tag_sets)
        in = (uint64_t)tag_set < f->tag_sets_n && f->tag_sets[tag_set / 64] >> (tag_set % 64) & 1;
    sqlite3_result_int(c,
                       in && created >= f->since && (created < f->until || f->until == INT64_MAX));
}

static const struct {
    int what, value;
} configs[] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},   {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_DQS_DML, 0},     {SQLITE_DBCONFIG_DQS_DDL, 0},
    {SQLITE_DBCONFIG_ENABLE_VIEW, 0}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
};

static const struct {
    int what, value;
} limits[] = {
    {SQLITE_LIMIT_LENGTH, LENGTH_MAX},
    {SQLITE_LIMIT_SQL_LENGTH, SQL_MAX},
    {SQLITE_LIMIT_ATTACHED, 0},
};

static const char pragmas[] = "PRAGMA temp_store=MEMORY; PRAGMA secure_delete=ON;"
                              "PRAGMA mmap_size=2147418112; PRAGMA journal_size_limit=16777216;";

/* SQLite checks the cells of a page whenever it visits a page of a mapped file, which took half of
 * the time of a search. The check keeps damage from spreading, which readers cannot cause. */
static const char of_writers[] = "PRAGMA cell_size_check=ON", of_readers[] = "PRAGMA query_only=ON";

static int run_text(struct db *d, const char *sql, struct fumi_err *e)
{
    int rc = sqlite3_exec(d->h, sql, NULL, NULL, NULL);
    return rc ? store_sqlite_fault(d, rc, e) : 0;
}

int store_sqlite_sync_mode(struct db *d, const char *mode, struct fumi_err *e)
{
    char sql[64];
    if (d->store->replica)
        mode = "NORMAL"; /* the file stays sound, and what it lacks is copied again */
    snprintf(sql, sizeof(sql), "PRAGMA synchronous=%s", d->store->nosync ? "OFF" : mode);
    return run_text(d, sql, e);
}

/* said_of(project, group_key, text): see note_said. */
static void said_of(sqlite3_context *out, int n, sqlite3_value **values)
{
    struct fumi_str s[3];
    for (int i = 0; i < n; i++)
        s[i] = (struct fumi_str){(const char *)sqlite3_value_text(values[i]),
                                 (size_t)sqlite3_value_bytes(values[i])};
    sqlite3_result_int64(out, note_said(s[0], s[1], s[2]));
}

static int set_up(struct db *d, bool writes, struct fumi_err *e)
{
    sqlite3_busy_handler(d->h, store_sqlite_busy_wait, d);
    for (size_t i = 0; i < FUMI_COUNT(configs); i++)
        sqlite3_db_config(d->h, configs[i].what, configs[i].value, NULL);
    sqlite3_db_config(d->h, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !d->store->ours, NULL);
    for (size_t i = 0; i < FUMI_COUNT(limits); i++)
        sqlite3_limit(d->h, limits[i].what, limits[i].value);
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    int rc = sqlite3_create_function_v2(d->h, "within", 3, flags, NULL, within, NULL, NULL, NULL);
    if (!rc)
        rc = sqlite3_create_function_v2(d->h, "said_of", 3, flags, NULL, said_of, NULL, NULL, NULL);
    if (rc)
        return store_sqlite_fault(d, rc, e);
    if (!d->store->uri && sqlite3_db_readonly(d->h, "main") == 1)
        return store_sqlite_fault(d, SQLITE_READONLY,
                                  e); /* before SQLite creates files with the same permissions */
    if (!d->store->ours && store_sqlite_schema_look(d, e))
        return -1;
    if (run_text(d, pragmas, e) || store_sqlite_sync_mode(d, "FULL", e) ||
        run_text(d, writes ? of_writers : of_readers, e))
        return -1;
    store_sqlite_erase_unused(d->h);
    return store_sqlite_words_register(d->h, &d->ending, e);
}

/* Without statistics, SQLite allocates memory without a lock of the whole process. If the host
 * program has used SQLite before, its configuration stays. */
static void configure(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

struct db *store_sqlite_connect(struct store_sqlite *s, bool writes, struct fumi_err *e)
{
    static pthread_once_t configured = PTHREAD_ONCE_INIT;
    struct db *d = fumi_resize(NULL, sizeof(*d));
    pthread_once(&configured, configure);
    memset(d, 0, sizeof(*d));
    d->store = s;
    fumi_random(&d->random, sizeof(d->random));
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                SQLITE_OPEN_EXRESCODE;
    if (s->uri)
        flags ^= SQLITE_OPEN_READWRITE | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    int rc = sqlite3_open_v2(s->uri ? s->uri : s->path, &d->h, flags, NULL);
    if (rc ? store_sqlite_fault(d, rc, e) : set_up(d, writes, e)) {
        store_sqlite_disconnect(d);
        return NULL;
    }
    return d;
}

void store_sqlite_disconnect(struct db *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < STORE_STATEMENTS; i++)
        sqlite3_finalize(d->cache[i].q);
    sqlite3_close_v2(d->h);
    fumi_resize((void *)(uintptr_t)d->origin_key.p, 0);
    fumi_resize(d, 0);
}

/* Open addressing. The cache has more slots than the code has SQL literals, so it never fills up.
 */
static sqlite3_stmt *prepared(struct db *d, const char *sql, struct fumi_err *e)
{
    size_t i = (size_t)(((uintptr_t)sql * 0x9E3779B97F4A7C15u) >> 40) % STORE_STATEMENTS;
    for (size_t n = 0; d->cache[i].sql && d->cache[i].sql != sql; n++) {
        assert(n < STORE_STATEMENTS);
        i = (i + 1) % STORE_STATEMENTS;
    }
    if (d->cache[i].q) {
        assert(!sqlite3_stmt_busy(d->cache[i].q)); /* its last user has ended it */
        return d->cache[i].q;
    }
    int rc = sqlite3_prepare_v3(d->h, sql, -1, SQLITE_PREPARE_PERSISTENT, &d->cache[i].q, NULL);
    if (rc) {
        store_sqlite_fault(d, rc, e);
        return NULL;
    }
    d->cache[i].sql = sql;
    return d->cache[i].q;
}

static int bind_str(sqlite3_stmt *q, int i, struct fumi_str s, bool blob)
{
    if (!s.p)
        return sqlite3_bind_null(q, i);
    if (blob)
        return sqlite3_bind_blob64(q, i, s.p, s.n, SQLITE_STATIC);
    return sqlite3_bind_text64(q, i, s.p, s.n, SQLITE_STATIC, SQLITE_UTF8);
}

static int bind_time(sqlite3_stmt *q, int i, struct fumi_time t)
{
    return t.set ? sqlite3_bind_int64(q, i, t.ms) : sqlite3_bind_null(q, i);
}

/* Binds the columns of a note, beginning with parameter i. */
static int bind_note(sqlite3_stmt *q, int i, const struct note *n, struct fumi_str tags_json)
{
    int rc = SQLITE_OK;
    for (size_t column = 0; !rc && column < NOTE_INDEX_N; column++, i++) {
        if (column == NOTE_INDEX_CREATED)
            rc = sqlite3_bind_int64(q, i, n->created.ms);
        else if (note_columns[column].type == FUMI_T_TIME)
            rc = bind_time(q, i, note_time_of(n, column));
        else
            rc = bind_str(q, i, column == NOTE_INDEX_TAGS ? tags_json : note_text_of(n, column),
                          false);
    }
    return rc;
}

static int bind_one(sqlite3_stmt *q, int i, char type, va_list *args)
{
    switch (type) {
    case 'i':
        return sqlite3_bind_int64(q, i, va_arg(*args, int64_t));
    case 's':
    case 'b':
        return bind_str(q, i, va_arg(*args, struct fumi_str), type == 'b');
    case 'f':
        return sqlite3_bind_pointer(q, i, va_arg(*args, void *), "fumi", NULL);
    case 'n': {
        const struct note *n = va_arg(*args, const struct note *);
        return bind_note(q, i, n, va_arg(*args, struct fumi_str));
    }
    default:
        return SQLITE_MISUSE;
    }
}

static sqlite3_stmt *query(struct db *d, struct fumi_err *e, const char *sql, const char *types,
                           va_list *args)
{
    sqlite3_stmt *q = prepared(d, sql, e);
    int rc = 0;
    for (int i = 0; q && types[i] && !rc; i++)
        rc = bind_one(q, i + 1, types[i], args);
    if (!rc)
        return q;
    store_sqlite_end(q);
    store_sqlite_fault(d, rc, e);
    return NULL;
}

sqlite3_stmt *store_sqlite_query(struct db *d, struct fumi_err *e, const char *sql,
                                 const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *q = query(d, e, sql, types, &args);
    va_end(args);
    return q;
}

void store_sqlite_end(sqlite3_stmt *q)
{
    if (!q)
        return;
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
}

int store_sqlite_row(struct db *d, sqlite3_stmt *q, struct fumi_err *e)
{
    assert(sqlite3_db_handle(q) == d->h);
    int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        return 1;
    store_sqlite_end(q);
    return rc == SQLITE_DONE ? 0 : store_sqlite_fault(d, rc, e);
}

int store_sqlite_run(struct db *d, struct fumi_err *e, const char *sql, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *q = query(d, e, sql, types, &args);
    va_end(args);
    int more = q ? 1 : -1;
    while (more > 0)
        more = store_sqlite_row(d, q, e);
    return more;
}

int store_sqlite_number(struct db *d, struct fumi_err *e, int64_t *out, const char *sql,
                        const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *q = query(d, e, sql, types, &args);
    va_end(args);
    int found = q ? store_sqlite_row(d, q, e) : -1;
    if (found > 0) {
        *out = sqlite3_column_int64(q, 0);
        store_sqlite_end(q);
    }
    return found;
}

/* Read as a blob, because SQLite then neither converts nor copies and cannot fail. For an empty
 * text SQLite may return NULL, but an empty text is not null. */
struct fumi_str store_sqlite_text(sqlite3_stmt *q, int i)
{
    if (sqlite3_column_type(q, i) == SQLITE_NULL)
        return (struct fumi_str){0};
    const void *p = sqlite3_column_blob(q, i);
    return (struct fumi_str){p ? p : "", p ? (size_t)sqlite3_column_bytes(q, i) : 0};
}

struct fumi_str store_sqlite_keep(sqlite3_stmt *q, int i, struct fumi_arena *a)
{
    return fumi_dup(a, store_sqlite_text(q, i));
}
