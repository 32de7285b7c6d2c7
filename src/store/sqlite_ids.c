/* Ids by their beginnings: a range of the index on the ids of each table. */
#include "store/sqlite_journal.h"
#include "store/sqlite_ops.h"

#include "base/arena.h"

/* ?1 the prefix, ?2 the end of the range, ?3 project, ?4 limit. The sign + keeps SQLite from
 * reading an index on the project instead. */
#define SELECT_FROM(table)                                                                         \
    "SELECT id FROM " table " WHERE id>=?1 AND id<?2 AND (?3 IS NULL OR +project=?3) "             \
    "ORDER BY id LIMIT ?4"

static const struct {
    enum id_kind kind;
    const char *sql;
} tables[] = {
    {ID_OF_NOTE, SELECT_FROM("notes")},
    {ID_OF_GROUP, SELECT_FROM("groups")},
    {ID_OF_GLOBAL, SELECT_FROM("globals")},
    {ID_OF_CHANGE, "SELECT DISTINCT id FROM journal WHERE " JOURNAL_INDEXED
                   " AND id>=?1 AND id<?2 AND (?3 IS NULL OR +project=?3) ORDER BY id LIMIT ?4"},
};

struct find_ids_args {
    struct fumi_arena *arena;
    const struct id_prefix *what;
    struct fumi_strs *out; /* room for `limit` ids of each table */
};

static void add(struct fumi_strs *out, struct fumi_str id)
{
    for (size_t i = 0; i < out->n; i++)
        if (fumi_eq(out->items[i], id))
            return;
    out->items[out->n++] = id;
}

/* No UTF-8 text has the byte FF, so all ids that begin with the prefix sort before this. The prefix
 * may contain NUL. */
static struct fumi_str end_of_range(struct fumi_arena *a, struct fumi_str prefix)
{
    char *end = fumi_alloc(a, prefix.n + 1);
    memcpy(end, prefix.p, prefix.n);
    end[prefix.n] = '\xFF';
    return (struct fumi_str){end, prefix.n + 1};
}

static int find_in(struct db *d, const struct find_ids_args *f, const char *sql, struct fumi_err *e)
{
    const struct id_prefix *w = f->what;
    struct fumi_str end = end_of_range(f->arena, w->text);
    sqlite3_stmt *q = store_sqlite_query(d, e, sql, "sssi", w->text, end, w->project,
                                         (int64_t)w->limit);
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0)
        add(f->out, store_sqlite_keep(q, 0, f->arena));
    return more;
}

static int find(struct db *d, void *arg, struct fumi_err *e)
{
    struct find_ids_args *f = arg;
    f->out->n = 0;
    for (size_t i = 0; i < FUMI_COUNT(tables); i++)
        if (f->what->kinds & tables[i].kind && find_in(d, f, tables[i].sql, e))
            return -1;
    return 0;
}

int store_sqlite_find_ids(struct store *s, struct fumi_arena *a, const struct id_prefix *what,
                          struct fumi_strs *out, struct fumi_err *e)
{
    struct find_ids_args f = {a, what, out};
    out->items = fumi_alloc(a, FUMI_COUNT(tables) * what->limit * sizeof(*out->items));
    return store_sqlite_read(s, find, &f, e);
}
