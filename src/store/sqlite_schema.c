/* The tables, and how they are created, checked and migrated.
 *
 * A file is checked before it is changed: first the bytes of its header, then, in one transaction,
 * its version and the SQL text of its schema. If several processes open a new file at the same
 * time, the first one creates the tables. */
#include "store/sqlite_bytes.h"
#include "store/sqlite_file.h"
#include "store/sqlite_journal.h"
#include "store/sqlite_parts.h"

#include "base/arena.h"
#include "base/clock.h"
#include "store/sqlite_words.h"

#include <stdio.h>
#include <time.h>

enum {
    HEADER = 100,
    VERSION_AT = 60,     /* offset of user_version in the header */
    APPLICATION_AT = 68, /* offset of application_id */
    OBJECTS = 27,        /* rows of the schema table without `added`; with internal tables */
    SMALL = 1 << 20,     /* bytes: smaller files are checked when they are opened */
    WAL_SECONDS = 8,     /* to wait for other processes when switching to WAL mode */
};

/* One object each, with the exact SQL that SQLite stores of it. Names of tables are quoted where
 * ALTER TABLE RENAME has quoted them in migrated files. The largest column of a table is the last
 * one, so that the others are read without it.
 *
 * The whole list must fit into the first page of the file, and the order of the objects must not
 * change: the schema table of any store can then be replaced by that of a new store, because the
 * root pages are the same (sqlite_salvage_schema.c). */
static const char *const tables[] = {
    /* The combinations of project, group and tags that occur. tag_sets has a number for each of
     * them, which is never used again; notes counts the notes. All three tables can be derived from
     * the notes. */
    "CREATE TABLE \"project_groups\"(project_group INTEGER PRIMARY KEY, project TEXT NOT NULL, "
    "group_key TEXT NOT NULL, notes INTEGER NOT NULL, words INTEGER NOT NULL DEFAULT 0, "
    "UNIQUE(project, group_key)) STRICT",
    "CREATE TABLE \"tag_sets\"(tag_set INTEGER PRIMARY KEY AUTOINCREMENT, "
    "project_group INTEGER NOT NULL, tags TEXT NOT NULL, notes INTEGER NOT NULL, "
    "UNIQUE(project_group, tags)) STRICT",
    "CREATE TABLE \"tag_set_tags\"(tag TEXT NOT NULL, tag_set INTEGER NOT NULL, "
    "PRIMARY KEY(tag, tag_set)) STRICT, WITHOUT ROWID",
    "CREATE TABLE notes(seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "
    "tag_set INTEGER NOT NULL, created INTEGER NOT NULL, version INTEGER NOT NULL, "
    "checksum INTEGER NOT NULL, project TEXT NOT NULL, group_key TEXT NOT NULL, "
    "tags TEXT NOT NULL, title TEXT, source TEXT, metadata TEXT, text TEXT NOT NULL, "
    "chain INTEGER, session TEXT, said INTEGER, key TEXT, superseded_by TEXT, expires INTEGER) "
    "STRICT",
    "CREATE INDEX notes_tag_set ON notes(tag_set, created)",
    "CREATE INDEX notes_time ON notes(created, seq, tag_set)",
    /* Vectors, one for each passage. spaces.notes: how many notes have vectors in the space. */
    "CREATE TABLE spaces(space INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, "
    "dim INTEGER NOT NULL, notes INTEGER NOT NULL) STRICT",
    "CREATE TABLE vectors(vector INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL, "
    "note INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, x BLOB NOT NULL) STRICT",
    "CREATE INDEX vectors_note ON vectors(note, space)",
    /* Which notes changed, by ascending numbers with random gaps: two files that were copied from
     * one file do not have later numbers in common by chance. Note 0: all notes. */
    "CREATE TABLE changes(n INTEGER PRIMARY KEY, note INTEGER NOT NULL) STRICT",
    "CREATE TABLE groups(id TEXT NOT NULL PRIMARY KEY, project TEXT NOT NULL, key TEXT NOT NULL, "
    "title TEXT NOT NULL, description TEXT, created INTEGER NOT NULL, updated INTEGER NOT NULL, "
    "checksum INTEGER NOT NULL, UNIQUE(project, key)) STRICT",
    "CREATE TABLE globals(id TEXT NOT NULL PRIMARY KEY, project TEXT NOT NULL, key TEXT NOT NULL, "
    "value TEXT NOT NULL, updated INTEGER NOT NULL, checksum INTEGER NOT NULL, "
    "UNIQUE(project, key)) STRICT",
    "CREATE TABLE \"meta\"(name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT "
    "ROWID",
    store_sqlite_words_schema,
};

/* Indexes and tables of later versions. Their root pages differ between stores, so they are not
 * among the objects whose root pages a schema table can be replaced with. Indexes are created
 * again; the root pages of tables are in rows "root.NAME" of the meta table.
 *
 * The schema table of an older version is replaced by that of this version, too. Then the keyword
 * index still has the tokens of the older version, and what `fill` computes is missing. Therefore
 * both are made in the transaction that creates the missing objects. */
static const char *const added[] = {
    "CREATE INDEX notes_chain ON notes(chain, created, seq) WHERE chain IS NOT NULL",
    "CREATE INDEX notes_said ON notes(said)",
    "CREATE INDEX notes_key ON notes(project, key) WHERE key IS NOT NULL",
    "CREATE INDEX notes_superseded ON notes(superseded_by) WHERE superseded_by IS NOT NULL",
    "CREATE INDEX notes_expires ON notes(expires) WHERE expires IS NOT NULL",
    /* Who made changes. Unknown: the empty string. */
    "CREATE TABLE origins(origin INTEGER PRIMARY KEY, session TEXT NOT NULL, client TEXT NOT NULL, "
    "version TEXT NOT NULL, transport TEXT NOT NULL, user TEXT NOT NULL) STRICT",
    "CREATE UNIQUE INDEX origins_all ON origins(session, client, version, transport, user)",
    /* What each change did (sqlite_journal.c). */
    "CREATE TABLE journal(n INTEGER PRIMARY KEY AUTOINCREMENT, change INTEGER, "
    "at INTEGER NOT NULL, origin INTEGER NOT NULL, op INTEGER NOT NULL, undoes INTEGER, "
    "checksum INTEGER NOT NULL, project TEXT NOT NULL, id TEXT NOT NULL, before TEXT) STRICT",
    "CREATE INDEX journal_id ON journal(id, n) WHERE op<>0 OR undoes IS NOT NULL",
    "CREATE TABLE injections(n INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, "
    "origin INTEGER NOT NULL, project TEXT NOT NULL, kind TEXT NOT NULL, ids TEXT NOT NULL) STRICT",
    "CREATE TABLE uses(note INTEGER PRIMARY KEY, n INTEGER NOT NULL, last INTEGER NOT NULL) STRICT",
    "CREATE TABLE reviews(id TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL, "
    "origin INTEGER NOT NULL, op INTEGER NOT NULL, checksum INTEGER NOT NULL, "
    "project TEXT NOT NULL, note TEXT, body TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE projects(project TEXT NOT NULL PRIMARY KEY, remote TEXT, seen INTEGER NOT NULL) "
    "STRICT, WITHOUT ROWID",
};

static const char keep_roots[] = STORE_KEEP_ROOTS;

static const char fill[] =
    "UPDATE notes SET said=said_of(project, group_key, text) WHERE said IS NULL";

/* Tables that SQLite and FTS5 create themselves. */
static const char *const internal[] = {"sqlite_sequence", "sqlite_stat1", "sqlite_stat4",
                                       "words_data",      "words_idx",    "words_content",
                                       "words_docsize",   "words_config"};

/* Version 1 had other names. SQLite cannot rename an index: its row in sqlite_schema is edited,
 * which neither reads the notes nor moves the root page. */
static const char names_of_version_2[] =
    "PRAGMA writable_schema=ON;"
    "UPDATE sqlite_schema SET name='notes_tag_set', sql='CREATE INDEX notes_tag_set ON "
    "notes(place, created)' WHERE type='index' AND name='notes_place';"
    "PRAGMA writable_schema=RESET;"
    "ALTER TABLE rooms RENAME TO project_groups;"
    "ALTER TABLE project_groups RENAME COLUMN room TO project_group;"
    "ALTER TABLE project_groups RENAME COLUMN grp TO group_key;"
    "ALTER TABLE places RENAME TO tag_sets;"
    "ALTER TABLE tag_sets RENAME COLUMN place TO tag_set;"
    "ALTER TABLE tag_sets RENAME COLUMN room TO project_group;"
    "ALTER TABLE place_tags RENAME TO tag_set_tags;"
    "ALTER TABLE tag_set_tags RENAME COLUMN place TO tag_set;"
    "ALTER TABLE notes RENAME COLUMN place TO tag_set;"
    "ALTER TABLE notes RENAME COLUMN grp TO group_key;"
    "ALTER TABLE facts RENAME TO meta;";

/* The tokenizer has a new name, so that a program of an earlier version that still has the file
 * open fails instead of writing tokens without the ending of the project. */
static const char columns_of_version_3[] =
    "PRAGMA writable_schema=ON;"
    "UPDATE sqlite_schema SET sql=replace(sql, 'tokenize=''fumi''', 'tokenize=''fumi3''') "
    "WHERE name='words';"
    "PRAGMA writable_schema=RESET;"
    "ALTER TABLE project_groups ADD COLUMN words INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE notes ADD COLUMN chain INTEGER;"
    "ALTER TABLE notes ADD COLUMN session TEXT;";

/* A new name again: a program of version 3 would write notes without a row in the journal. */
static const char columns_of_version_4[] =
    "PRAGMA writable_schema=ON;"
    "UPDATE sqlite_schema SET sql=replace(sql, 'tokenize=''fumi3''', 'tokenize=''fumi4''') "
    "WHERE name='words';"
    "PRAGMA writable_schema=RESET;"
    "ALTER TABLE notes ADD COLUMN said INTEGER;"
    "ALTER TABLE notes ADD COLUMN key TEXT;"
    "ALTER TABLE notes ADD COLUMN superseded_by TEXT;"
    "ALTER TABLE notes ADD COLUMN expires INTEGER;";
static store_sqlite_fn complete_version_4;

static const struct store_sqlite_step step_items[] = {
    {1, names_of_version_2, NULL},
    {2, columns_of_version_3, NULL},
    {3, columns_of_version_4, complete_version_4},
};
static const struct store_sqlite_steps steps = {step_items, FUMI_COUNT(step_items)};

static int refuse(struct db *d, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                        "This file is not a fumi database and was not changed: choose another "
                        "name for the database (%s)",
                        d->store->path);
}

static int refuse_newer(struct db *d, int64_t version, struct fumi_err *e)
{
    return fumi_err_set(e, ERR_NEWER,
                        "This database was written by a newer fumi (schema %d, this one supports "
                        "%d) and was not changed: install the newer fumi (%s)",
                        (int)version, STORE_SCHEMA, d->store->path);
}

static int refuse_old(struct db *d, int64_t version, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_LIMIT,
                        "This database has schema %d and must be migrated to schema %d, but cannot "
                        "be written: make the file and its directory writable for this user, or "
                        "use a copy with --db (%s)",
                        (int)version, STORE_SCHEMA, d->store->path);
}

static int refuse_tables(struct db *d, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                        "The tables of this database are not those that fumi created: restore a "
                        "backup, or choose another name for the database (%s)",
                        d->store->path);
}

static bool is_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

/* Reads the header from the file before SQLite reads a journal or log, which may contain a newer
 * header. Therefore this function only refuses files; version_of accepts them. */
int store_sqlite_schema_look(struct db *d, struct fumi_err *e)
{
    sqlite3_file *f = NULL;
    unsigned char head[HEADER] = {0};
    sqlite3_int64 size = 0;
    int rc = sqlite3_file_control(d->h, "main", SQLITE_FCNTL_FILE_POINTER, &f);
    if (!rc && f && f->pMethods)
        rc = f->pMethods->xFileSize(f, &size);
    if (!rc && size)
        rc = f->pMethods->xRead(f, head, size < HEADER ? (int)size : HEADER, 0);
    if (rc)
        return store_sqlite_fault(d, rc, e);
    if (is_zero(head, HEADER))
        return 0;
    uint32_t application = be(head + APPLICATION_AT, 4);
    if (memcmp(head, "SQLite format 3", 16) != 0 ||
        (application && application != STORE_APPLICATION))
        return refuse(d, e);
    uint32_t version = be(head + VERSION_AT, 4);
    if (version > INT32_MAX)
        return refuse(d, e);
    return application && version > STORE_SCHEMA ? refuse_newer(d, version, e) : 0;
}

static int exec(struct db *d, const char *sql, struct fumi_err *e)
{
    int rc = sqlite3_exec(d->h, sql, NULL, NULL, NULL);
    return rc ? store_sqlite_fault(d, rc, e) : 0;
}

static int exec_number(struct db *d, const char *pragma, int64_t n, struct fumi_err *e)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "PRAGMA %s=%lld", pragma, (long long)n);
    return exec(d, sql, e);
}

static bool is_among(struct fumi_str s, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fumi_eq(s, fumi_str(list[i])))
            return true;
    return false;
}

/* Whether an object belongs to a store; counts those of `tables`. */
static bool is_expected(sqlite3_stmt *q, size_t *ours)
{
    struct fumi_str type = store_sqlite_text(q, 0), name = store_sqlite_text(q, 1),
                    sql = store_sqlite_text(q, 2);
    if (!sql.p)
        return fumi_eq(type, FUMI_STR("index")); /* of UNIQUE or PRIMARY KEY */
    if (is_among(name, internal, FUMI_COUNT(internal)))
        return fumi_eq(type, FUMI_STR("table"));
    bool is = is_among(sql, tables, FUMI_COUNT(tables));
    *ours += is;
    return is || is_among(sql, added, FUMI_COUNT(added));
}

/* If one object of the right number differs, some bytes of the schema table are damaged. Anything
 * else was done by another program. */
int store_sqlite_schema_check(struct db *d, struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(d, e, "SELECT type, name, sql FROM sqlite_schema", "");
    size_t ours = 0, all = 0, strange = 0;
    int more = q ? 1 : -1;
    for (; more > 0 && (more = store_sqlite_row(d, q, e)) > 0; all++)
        strange += !is_expected(q, &ours);
    if (more < 0)
        return -1;
    if (ours == FUMI_COUNT(tables) && !strange)
        return 0;
    if (all >= OBJECTS && all <= OBJECTS + FUMI_COUNT(added) && strange <= 1)
        __atomic_store_n(&d->store->corrupt, true, __ATOMIC_RELAXED);
    return refuse_tables(d, e);
}

/* Returns the version of the file; 0 if it is empty; -1 with *e set. */
static int64_t version_of(struct db *d, struct fumi_err *e)
{
    int64_t application = 0, version = 0, objects = 0;
    if (store_sqlite_number(d, e, &application, "PRAGMA application_id", "") < 0 ||
        store_sqlite_number(d, e, &version, "PRAGMA user_version", "") < 0 ||
        store_sqlite_number(d, e, &objects, "SELECT count(*) FROM sqlite_schema", "") < 0)
        return -1;
    if (application == 0 && objects == 0)
        return 0;
    if (application != STORE_APPLICATION || version < 1)
        return refuse(d, e);
    return version > STORE_SCHEMA ? refuse_newer(d, version, e) : version;
}

/* The next missing object whose SQL begins with `kind`. */
static int find_missing(struct db *d, const char *kind, const char **sql, struct fumi_err *e)
{
    for (size_t i = 0; i < FUMI_COUNT(added); i++) {
        int64_t there;
        if (!fumi_starts(fumi_str(added[i]), fumi_str(kind)))
            continue;
        int found = store_sqlite_number(d, e, &there, "SELECT 1 FROM sqlite_schema WHERE sql=?1",
                                        "s", fumi_str(added[i]));
        *sql = added[i];
        if (found <= 0)
            return found < 0 ? -1 : 1;
    }
    return 0;
}

int store_sqlite_schema_missing(struct db *d, const char **sql, struct fumi_err *e)
{
    return find_missing(d, "", sql, e);
}

/* The name of a table in its SQL. */
static struct fumi_str table_name(const char *sql)
{
    const char *name = sql + strlen("CREATE TABLE ");
    return (struct fumi_str){name, strcspn(name, "(")};
}

/* Puts a table that the file still has into the schema table, by its root page. Defensive mode
 * forbids that. */
static int adopt(struct db *d, const char *sql, int64_t root, struct fumi_err *e)
{
    struct fumi_str name = table_name(sql);
    char *put = sqlite3_mprintf(
        "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES('table', "
        "'%.*s', '%.*s', %lld, %Q); PRAGMA writable_schema=RESET",
        FUMI_ARG(name), FUMI_ARG(name), (long long)root, sql);
    sqlite3_db_config(d->h, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    int rc = put ? exec(d, put, e) : store_sqlite_fault(d, SQLITE_NOMEM, e);
    sqlite3_db_config(d->h, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_free(put);
    return rc;
}

/* Creates a missing object; a table whose root page is known is still there. */
static int create_one(struct db *d, const char *sql, struct fumi_err *e)
{
    static const char known[] =
        "SELECT CAST(value AS INTEGER) FROM meta, pragma_page_count WHERE name='root.' || ?1 AND "
        "CAST(value AS INTEGER) BETWEEN 2 AND page_count AND NOT EXISTS (SELECT 1 FROM "
        "sqlite_schema WHERE rootpage=CAST(value AS INTEGER))";
    int64_t root = 0;
    bool table = fumi_starts(fumi_str(sql), FUMI_STR("CREATE TABLE "));
    int found = table ? store_sqlite_number(d, e, &root, known, "s", table_name(sql)) : 0;
    if (found < 0)
        return -1;
    return found ? adopt(d, sql, root, e) : exec(d, sql, e);
}

static int create_tables(struct db *d, struct fumi_err *e)
{
    const char *sql;
    int missing;
    while ((missing = find_missing(d, "CREATE TABLE", &sql, e)) > 0)
        if (create_one(d, sql, e))
            return -1;
    return missing ? missing : exec(d, keep_roots, e);
}

static int create_added(struct db *d, struct fumi_err *e)
{
    const char *sql;
    int missing;
    while ((missing = store_sqlite_schema_missing(d, &sql, e)) > 0)
        if (create_one(d, sql, e))
            return -1;
    return missing ? missing : exec(d, keep_roots, e) || exec(d, fill, e) ? -1 : 0;
}

int store_sqlite_schema_complete(struct db *d, void *arg, struct fumi_err *e)
{
    const char *sql;
    int missing = store_sqlite_schema_missing(d, &sql, e);
    if (missing <= 0)
        return missing;
    return create_added(d, e) || store_sqlite_words_rebuild(d, arg, e) ? -1 : 0;
}

/* Without the first object, the keyword index has the tokens of version 2. */
static int complete_version_4(struct db *d, void *arg, struct fumi_err *e)
{
    const char *sql;
    int missing = store_sqlite_schema_missing(d, &sql, e);
    if (missing < 0)
        return -1;
    return sql == added[0] ? store_sqlite_schema_complete(d, arg, e) : create_added(d, e);
}

static int create(struct db *d, struct fumi_err *e)
{
    for (size_t i = 0; i < FUMI_COUNT(tables); i++)
        if (exec(d, tables[i], e))
            return -1;
    if (!d->store->bare && create_added(d, e))
        return -1;
    return exec_number(d, "application_id", STORE_APPLICATION, e) ||
                   exec_number(d, "user_version", STORE_SCHEMA, e)
               ? -1
               : 0;
}

static int sync_dir(struct db *d, struct fumi_err *e)
{
    return d->store->nosync ? 0 : store_sqlite_file_sync_dir(d->store->path, e);
}

static int roll_back(struct db *d)
{
    sqlite3_exec(d->h, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

static int create_locked(struct db *d, struct fumi_err *e)
{
    int64_t version = version_of(d, e);
    return version ? version < 0 ? -1 : 0 : create(d, e);
}

static int create_once(struct db *d, struct fumi_err *e)
{
    if (exec(d, "BEGIN IMMEDIATE", e))
        return -1;
    return create_locked(d, e) || exec(d, "COMMIT", e) ? roll_back(d) : 0;
}

static const struct store_sqlite_step *step_from(const struct store_sqlite_steps *s,
                                                 int64_t version)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].from == version)
            return &s->items[i];
    return NULL;
}

static int copy_old(struct db *d, int64_t version, struct fumi_err *e)
{
    char ending[32];
    snprintf(ending, sizeof(ending), ".v%d.bak", (int)version);
    char *copy = store_sqlite_path(d->store->path, ending);
    int rc = store_sqlite_copy(d->store, copy, COPY_BEFORE_MIGRATION, e);
    fumi_resize(copy, 0);
    return rc;
}

static int run_step(struct db *d, const struct store_sqlite_step *step, struct fumi_err *e)
{
    int rc = sqlite3_exec(d->h, step->sql, NULL, NULL, NULL);
    if (rc == SQLITE_ERROR) /* a table or column is missing, or is there already */
        return refuse_tables(d, e);
    if (rc)
        return store_sqlite_fault(d, rc, e);
    return step->then ? step->then(d, NULL, e) : 0;
}

static int run_steps(struct db *d, const struct store_sqlite_steps *list, int64_t from, int64_t to,
                     struct fumi_err *e)
{
    for (; from < to; from++) {
        const struct store_sqlite_step *step = step_from(list, from);
        if (step ? run_step(d, step, e) : refuse(d, e))
            return -1;
    }
    return to == STORE_SCHEMA ? store_sqlite_schema_check(d, e) : 0;
}

/* Does nothing if another process has migrated the file first. The copy is made last: it is read
 * through another connection, which sees the old tables until this transaction is committed. */
static int upgrade(struct db *d, const struct store_sqlite_steps *list, int64_t to,
                   struct fumi_err *e)
{
    int64_t from = 0;
    if (store_sqlite_number(d, e, &from, "PRAGMA user_version", "") < 0)
        return -1;
    if (from >= to)
        return 0;
    if (run_steps(d, list, from, to, e) || exec_number(d, "user_version", to, e))
        return -1;
    return copy_old(d, from, e);
}

/* Steps may edit sqlite_schema, which defensive mode forbids. */
static int upgrade_locked(struct db *d, const struct store_sqlite_steps *list, int64_t to,
                          struct fumi_err *e)
{
    sqlite3_db_config(d->h, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    int rc = upgrade(d, list, to, e) || exec(d, "COMMIT", e) ? roll_back(d) : 0;
    sqlite3_exec(d->h, "PRAGMA writable_schema=RESET", NULL, NULL, NULL);
    sqlite3_db_config(d->h, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    return rc;
}

int store_sqlite_schema_migrate(struct db *d, const struct store_sqlite_steps *list, int64_t to,
                                struct fumi_err *e)
{
    if (store_sqlite_sync_mode(d, "EXTRA", e) || exec(d, "BEGIN IMMEDIATE", e) ||
        upgrade_locked(d, list, to, e))
        return -1;
    return sync_dir(d, e) ? -1 : store_sqlite_sync_mode(d, "FULL", e);
}

/* SQLite may return SQLITE_BUSY without calling the busy handler, so this function waits itself. */
static int switch_to_wal(struct db *d, struct fumi_err *e)
{
    const int64_t end = fumi_ticks() + WAL_SECONDS * INT64_C(1000000000);
    int rc = SQLITE_BUSY;
    d->patience = 1000000;
    while (fumi_ticks() < end) {
        rc = sqlite3_exec(d->h, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
        if ((rc & 0xFF) != SQLITE_BUSY && (rc & 0xFF) != SQLITE_LOCKED)
            break;
        struct timespec t = {0, 500000 + (long)(fumi_ticks() % 1500000)};
        nanosleep(&t, NULL);
    }
    d->patience = 0;
    if (rc)
        return store_sqlite_fault(d, rc, e);
    sqlite3_stmt *q = store_sqlite_query(d, e, "PRAGMA journal_mode", "");
    if (!q || store_sqlite_row(d, q, e) <= 0)
        return -1;
    bool is = fumi_eq(store_sqlite_text(q, 0), FUMI_STR("wal"));
    store_sqlite_end(q);
    return is ? 0
              : fumi_err_set(e, FUMI_INTERNAL_ERROR,
                             "The file system cannot share the database between processes: move it "
                             "to a local disk (%s)",
                             d->store->path);
}

/* After a power cut the file system may restore the deleted journal of the first transaction, which
 * would undo the switch to WAL. So the directory is synced after the journal is deleted. */
static int create_synced(struct db *d, struct fumi_err *e)
{
    if (store_sqlite_sync_mode(d, "EXTRA", e) || create_once(d, e) || switch_to_wal(d, e) ||
        sync_dir(d, e))
        return -1;
    return store_sqlite_sync_mode(d, "FULL", e);
}

static int check_small(struct db *d, struct fumi_err *e)
{
    int64_t bytes = 0;
    if (store_sqlite_number(d, e, &bytes,
                            "SELECT page_count * page_size FROM pragma_page_count, "
                            "pragma_page_size",
                            "") < 0)
        return -1;
    if (bytes > SMALL || d->store->lenient)
        return 0;
    sqlite3_stmt *q = store_sqlite_query(d, e, "PRAGMA quick_check(1)", "");
    if (!q || store_sqlite_row(d, q, e) <= 0)
        return -1;
    bool valid = fumi_eq(store_sqlite_text(q, 0), FUMI_STR("ok"));
    store_sqlite_end(q);
    return valid ? 0 : store_sqlite_fault(d, SQLITE_CORRUPT, e);
}

static int check(struct db *d, struct fumi_err *e)
{
    return store_sqlite_schema_check(d, e) || check_small(d, e) ? -1 : 0;
}

static int check_once(struct db *d, struct fumi_err *e)
{
    if (exec(d, "BEGIN", e))
        return -1;
    return check(d, e) || exec(d, "COMMIT", e) ? roll_back(d) : 0;
}

/* Doctor replaces a damaged file while it holds the lock. A process that opened the old file and
 * waited for the lock finds out here. */
static int still_there(struct db *d, struct fumi_err *e)
{
    return store_sqlite_moved(d)
               ? fumi_err_set(e, FUMI_INTERNAL_ERROR,
                              "The database was replaced while it was opened: try again (%s)",
                              d->store->path)
               : 0;
}

/* In one transaction, because another process may create the tables between the queries. */
static int64_t version_once(struct db *d, struct fumi_err *e)
{
    if (exec(d, "BEGIN", e))
        return -1;
    int64_t version = version_of(d, e);
    if (version < 0 || still_there(d, e) || exec(d, "COMMIT", e))
        return roll_back(d);
    return version;
}

/* Every write needs the tables. If they cannot be created, store_check finds the reason. */
static int create_missing_tables(struct db *d)
{
    struct fumi_err ignored;
    const char *sql;
    if (find_missing(d, "CREATE TABLE", &sql, &ignored) > 0 &&
        !exec(d, "BEGIN IMMEDIATE", &ignored) &&
        (create_tables(d, &ignored) || exec(d, "COMMIT", &ignored)))
        roll_back(d);
    return 0;
}

/* Completes a repair that was killed after it replaced the schema table. The indexes of a lenient
 * store are left to store_check. */
static int complete_once(struct db *d, struct fumi_err *e)
{
    const char *sql;
    if (d->store->lenient)
        return create_missing_tables(d);
    int missing = d->store->bare ? 0 : store_sqlite_schema_missing(d, &sql, e);
    if (missing <= 0)
        return missing;
    if (exec(d, "BEGIN IMMEDIATE", e))
        return -1;
    if (still_there(d, e) || store_sqlite_schema_complete(d, NULL, e) || exec(d, "COMMIT", e))
        return roll_back(d);
    fumi_log(d->store->log, FUMI_WARN, "store.repaired",
             {"what", FUMI_STR("the keyword index"), 0});
    return 0;
}

int store_sqlite_schema_open(struct db *d, struct fumi_err *e)
{
    int64_t version = version_once(d, e);
    if (version >= 0 && d->store->uri)
        return version < STORE_SCHEMA ? refuse_old(d, version, e) : check_once(d, e);
    if (version < 0 || (version == 0 && create_synced(d, e)))
        return -1;
    if (version > 0 && version < STORE_SCHEMA &&
        (switch_to_wal(d, e) || store_sqlite_schema_migrate(d, &steps, STORE_SCHEMA, e)))
        return -1;
    return check_once(d, e) || switch_to_wal(d, e) ? -1 : complete_once(d, e);
}
