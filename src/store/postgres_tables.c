/* The tables in PostgreSQL. Their names and columns are those of SQLite, from which all statements
 * are made, so that the tables of a store are described once (sqlite_schema.c). The schema `fumi`
 * also has these:
 *
 *   store       one row: version, epoch, the number and token of the last change, and the highest
 *               numbers that were ever given to rows. Every writer locks it, so changes are
 *               committed in the order of their numbers, and a reader that has seen a change has
 *               seen all earlier ones. A sequence would not promise that.
 *   commits     the numbers and tokens of changes, and the tables that they concern, as bits
 *   tombstones  the keys of deleted rows */
#include "store/postgres_parts.h"

#include "base/uuid.h"

#include <inttypes.h>
#include <stdio.h>

/* In the order in which they are copied. The counts of groups follow the notes, because adding the
 * words of a note to the keyword index counts them. */
static const char *const names[PG_TABLES] = {
    "origins", "spaces",  "tag_sets", "tag_set_tags", "notes",   "project_groups",
    "vectors", "groups",  "globals",  "meta",         "journal", "injections",
    "uses",    "reviews", "projects", "changes"};

static const char own[] =
    "CREATE TABLE fumi.store(one boolean PRIMARY KEY DEFAULT true CHECK(one), schema bigint NOT "
    "NULL, epoch text NOT NULL, change bigint NOT NULL, token bigint NOT NULL, sequences text NOT "
    "NULL);"
    "CREATE TABLE fumi.commits(change bigint PRIMARY KEY, token bigint NOT NULL, tables bigint NOT "
    "NULL, at timestamptz NOT NULL DEFAULT now());"
    "CREATE TABLE fumi.tombstones(changed_in bigint NOT NULL, tbl text NOT NULL, id bigint, name "
    "text);"
    "CREATE INDEX ON fumi.tombstones(changed_in);";

/* Rows of the meta table that describe the file, not the store. */
bool pg_is_local(struct fumi_str name)
{
    return fumi_eq(name, FUMI_STR("erase")) || fumi_eq(name, FUMI_STR("replica")) ||
           fumi_starts(name, FUMI_STR("root.")) || fumi_starts(name, FUMI_STR("backup:"));
}

static void add(struct fumi_buf *b, const char *text)
{
    fumi_buf_add(b, text, strlen(text));
}

static const char *keep(struct fumi_buf *b, struct fumi_arena *a)
{
    fumi_buf_put(b, 0);
    return fumi_buf_keep(b, a).p;
}

/* What to write of each column. */
enum part { NAME, NUMBER, NAME_IS_NUMBER, DEFINITION };

static void add_number(struct fumi_buf *b, char mark, size_t n)
{
    char text[16];
    snprintf(text, sizeof(text), "%c%zu", mark, n);
    add(b, text);
}

static void add_column(struct fumi_buf *b, const struct pg_column *c, enum part part, char mark,
                       size_t number)
{
    static const struct {
        char type;
        const char *name;
    } types[] = {{'i', " bigint"}, {'s', " text"}, {'b', " bytea"}};
    if (part != NUMBER) {
        add(b, "\"");
        add(b, c->name);
        add(b, "\"");
    }
    if (part == NAME_IS_NUMBER)
        add(b, "=");
    if (part == NUMBER || part == NAME_IS_NUMBER)
        add_number(b, mark, number);
    for (size_t i = 0; part == DEFINITION && i < FUMI_COUNT(types); i++)
        if (types[i].type == c->type)
            add(b, types[i].name);
}

/* Adds the columns, or those of the key, with a separator. */
static size_t add_columns(struct fumi_buf *b, const struct pg_table *t, bool key, enum part part,
                          const char *between, char mark)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (key && !t->columns[i].key)
            continue;
        if (n++)
            add(b, between);
        add_column(b, &t->columns[i], part, mark, n);
    }
    return n;
}

/* A B-tree has no room for a project of 4 KiB, so texts are found by their hashes. That keys are
 * unique is checked by SQLite, where every row was first. */
static bool has_text_key(const struct pg_table *t)
{
    return t->columns[0].key && t->columns[0].type == 's' && !t->columns[1].key;
}

static const char *create_sql(const struct pg_table *t, struct fumi_arena *a)
{
    struct fumi_buf b = {0};
    bool text = has_text_key(t);
    add(&b, fumi_fmt(a, "CREATE TABLE fumi.\"%s\"(", t->name).p);
    add_columns(&b, t, false, DEFINITION, ", ", 0);
    add(&b, ", changed_in bigint NOT NULL");
    if (!text) {
        add(&b, ", PRIMARY KEY(");
        add_columns(&b, t, true, NAME, ", ", 0);
        add(&b, ")");
    }
    add(&b, fumi_fmt(a, "); CREATE INDEX ON fumi.\"%s\"(changed_in);", t->name).p);
    if (text)
        add(&b, fumi_fmt(a, "CREATE INDEX ON fumi.\"%s\" USING hash(\"%s\");", t->name,
                         t->columns[0].name)
                    .p);
    return keep(&b, a);
}

static const char *insert_sql(const struct pg_table *t, struct fumi_arena *a)
{
    struct fumi_buf b = {0};
    add(&b, fumi_fmt(a, "INSERT INTO fumi.\"%s\"(", t->name).p);
    size_t n = add_columns(&b, t, false, NAME, ", ", 0);
    add(&b, ", changed_in) VALUES(");
    add_columns(&b, t, false, NUMBER, ", ", '$');
    add(&b, ", ");
    add_number(&b, '$', n + 1);
    add(&b, ")");
    return keep(&b, a);
}

/* Ordered by the first column: the keyword index is built fastest in the order of its rows. */
static const char *select_sql(const struct pg_table *t, const char *from, const char *where,
                              struct fumi_arena *a)
{
    struct fumi_buf b = {0};
    add(&b, "SELECT ");
    add_columns(&b, t, false, NAME, ", ", 0);
    add(&b, fumi_fmt(a, " FROM %s\"%s\" WHERE %s", from, t->name, where).p);
    return keep(&b, a);
}

static const char *by_key(const struct pg_table *t, char mark, struct fumi_arena *a)
{
    struct fumi_buf b = {0};
    add_columns(&b, t, true, NAME_IS_NUMBER, " AND ", mark);
    return keep(&b, a);
}

static const char *put_sql(const struct pg_table *t, struct fumi_arena *a)
{
    struct fumi_buf b = {0};
    add(&b, fumi_fmt(a, "REPLACE INTO \"%s\" VALUES(", t->name).p);
    add_columns(&b, t, false, NUMBER, ", ", '?');
    add(&b, ")");
    return keep(&b, a);
}

static void make_statements(struct pg_table *t, struct fumi_arena *a)
{
    const char *here = by_key(t, '?', a);
    t->create = create_sql(t, a);
    t->insert = insert_sql(t, a);
    t->remove = fumi_fmt(a, "DELETE FROM fumi.\"%s\" WHERE %s", t->name, by_key(t, '$', a)).p;
    t->select = select_sql(t, "fumi.", "changed_in>$1 ORDER BY 1", a);
    t->get = select_sql(t, "", here, a);
    t->put = put_sql(t, a);
    t->drop = fumi_fmt(a, "DELETE FROM \"%s\" WHERE %s", t->name, here).p;
}

static int read_columns(struct db *d, struct pg_table *t, struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(
        d, e, "SELECT name, lower(substr(type, 1, 1)), pk FROM pragma_table_info(?1) ORDER BY cid",
        "s", fumi_str(t->name));
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0 && t->n < PG_COLUMNS) {
        struct pg_column *c = &t->columns[t->n++];
        const char *type = (const char *)sqlite3_column_text(q, 1);
        snprintf(c->name, sizeof(c->name), "%s", (const char *)sqlite3_column_text(q, 0));
        c->type = type[0] == 't' ? 's' : type[0];
        c->key = sqlite3_column_int(q, 2) > 0;
    }
    return more;
}

int pg_tables_read(struct db *d, struct fumi_arena *a, struct pg_table tables[PG_TABLES],
                   struct fumi_err *e)
{
    for (size_t i = 0; i < PG_TABLES; i++) {
        tables[i] = (struct pg_table){.name = names[i], .index = i};
        if (read_columns(d, &tables[i], e))
            return -1;
        make_statements(&tables[i], a);
    }
    return 0;
}

struct fumi_str pg_schema_epoch(struct fumi_arena *a)
{
    uint64_t random[2];
    fumi_random(random, sizeof(random));
    return fumi_fmt(a, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

static int create(struct pg *p, const struct pg_table tables[PG_TABLES], struct fumi_str epoch,
                  struct fumi_err *e)
{
    char row[200];
    uint64_t token;
    fumi_random(&token, sizeof(token));
    token >>= 1;
    snprintf(row, sizeof(row),
             "INSERT INTO fumi.store VALUES(true, %d, '%.*s', 0, %" PRIu64
             ", ''); INSERT INTO fumi.commits VALUES(0, %" PRIu64 ", 0)",
             PG_SCHEMA, FUMI_ARG(epoch), token, token);
    if (pg_exec(p, own, NULL, e))
        return -1;
    for (size_t i = 0; i < PG_TABLES; i++)
        if (pg_exec(p, tables[i].create, NULL, e))
            return -1;
    return pg_exec(p, row, NULL, e);
}

/* Whether the schema and the store exist. Reads the tables of the catalog, because to_regclass may
 * answer from a cache of the session what was true before another server created them. */
static int exists(struct pg *p, bool *schema, bool *store, struct fumi_err *e)
{
    PGresult *r;
    if (pg_exec(p,
                "SELECT count(*), count(*) FILTER (WHERE EXISTS (SELECT 1 FROM pg_class WHERE "
                "relnamespace=n.oid AND relname='store')) FROM pg_namespace n WHERE nspname='fumi'",
                &r, e))
        return -1;
    *schema = r && p->q->getvalue(r, 0, 0)[0] == '1';
    *store = r && p->q->getvalue(r, 0, 1)[0] == '1';
    p->q->clear(r);
    return 0;
}

/* Servers that start together on a new database take turns: the first one creates the tables. */
int pg_schema_create(struct pg *p, const struct pg_table tables[PG_TABLES], struct fumi_str epoch,
                     struct fumi_err *e)
{
    bool schema, store;
    if (pg_exec(p, "BEGIN; SET LOCAL lock_timeout='60s'; SELECT pg_advisory_xact_lock(1182100841)",
                NULL, e) ||
        exists(p, &schema, &store, e) || (!schema && pg_exec(p, "CREATE SCHEMA fumi", NULL, e)) ||
        (!store && create(p, tables, epoch, e)))
        return -1;
    return pg_exec(p, "COMMIT", NULL, e);
}

int pg_schema_check(int64_t schema, struct fumi_err *e)
{
    if (schema == PG_SCHEMA)
        return 0;
    return fumi_err_set(e, schema > PG_SCHEMA ? ERR_NEWER : FUMI_INTERNAL_ERROR,
                        "The store in PostgreSQL has schema %d, and this fumi supports %d: install "
                        "the fumi that wrote it",
                        (int)schema, PG_SCHEMA);
}

int pg_schema_look(struct pg *p, struct fumi_arena *a, struct fumi_str *epoch, struct fumi_err *e)
{
    PGresult *r;
    bool schema, store;
    *epoch = (struct fumi_str){0};
    if (exists(p, &schema, &store, e))
        return -1;
    if (!store)
        return 0;
    if (pg_exec(p, "SELECT schema, epoch FROM fumi.store", &r, e))
        return -1;
    int64_t version = p->q->ntuples(r) ? pg_number(p, r, 0) : 0;
    *epoch = fumi_dup(a, fumi_str(version ? p->q->getvalue(r, 0, 1) : ""));
    p->q->clear(r);
    return pg_schema_check(version, e);
}
