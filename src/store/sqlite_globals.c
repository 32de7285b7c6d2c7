/* Globals: JSON values by project and key. Also the meta table, the change number and statistics.
 */
#include "store/sqlite_changes.h"
#include "store/sqlite_index.h"
#include "store/sqlite_merge.h"
#include "store/sqlite_ops.h"

#include "base/arena.h"

static int64_t sum_of(const struct global *g)
{
    const struct fumi_str all[] = {g->id, g->project, g->key, g->value};
    uint64_t sum = store_sqlite_sum_number(0, g->updated);
    for (size_t i = 0; i < FUMI_COUNT(all); i++)
        sum = store_sqlite_sum_str(sum, all[i]);
    return (int64_t)sum;
}

#define COLUMNS "SELECT id, project, key, value, updated, checksum FROM globals "

/* The strings belong to SQLite and are valid until the statement is stepped or ended. Returns false
 * if the row is damaged. */
static bool view_row(sqlite3_stmt *q, struct global *out)
{
    *out = (struct global){.id = store_sqlite_text(q, 0),
                           .project = store_sqlite_text(q, 1),
                           .key = store_sqlite_text(q, 2),
                           .value = store_sqlite_text(q, 3),
                           .updated = sqlite3_column_int64(q, 4)};
    return sqlite3_column_int64(q, 5) == sum_of(out);
}

static void keep_strings(struct global *g, struct fumi_arena *a)
{
    struct fumi_str *all[] = {&g->id, &g->project, &g->key, &g->value};
    for (size_t i = 0; i < FUMI_COUNT(all); i++)
        *all[i] = fumi_dup(a, *all[i]);
}

/* Returns 1 if the global exists, with *valid set to whether it matches its checksum; 0 if not; -1
 * with *e set. */
static int find(struct db *d, struct fumi_arena *a, const struct global *like, struct global *out,
                bool *valid, struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(d, e, COLUMNS "WHERE project=?1 AND key=?2", "ss",
                                         like->project, like->key);
    int found = q ? store_sqlite_row(d, q, e) : -1;
    if (found <= 0)
        return found;
    *valid = view_row(q, out);
    keep_strings(out, a);
    store_sqlite_end(q);
    return 1;
}

int store_sqlite_global_find(struct db *d, struct fumi_arena *a, struct fumi_str id,
                             struct global *out, bool *valid, struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(d, e, COLUMNS "WHERE id=?1", "s", id);
    int found = q ? store_sqlite_row(d, q, e) : -1;
    if (found <= 0)
        return found;
    *valid = view_row(q, out);
    keep_strings(out, a);
    store_sqlite_end(q);
    return 1;
}

static unsigned differing(const struct global *old, const struct global *now)
{
    const struct fumi_str was[] = {old->id, old->project, old->key, old->value},
                          is[] = {now->id, now->project, now->key, now->value};
    unsigned set = 1u << (journal_global.n - 1); /* the time of the update */
    for (size_t i = 0; i < FUMI_COUNT(was); i++)
        set |= fumi_eq(was[i], is[i]) ? 0 : 1u << i;
    return set;
}

int store_sqlite_global_write(struct db *d, struct store_sqlite_change *c, const struct global *old,
                              const struct global *now, struct fumi_err *e)
{
    struct fumi_str before = {0};
    if (old)
        before = store_sqlite_before(c->arena, &journal_global, old, differing(old, now), 0);
    const struct journal_row row = {old ? CHANGE_GLOBAL_UPDATE : CHANGE_GLOBAL_ADD,
                                    old ? old->project : now->project, now->id, before};
    if (store_sqlite_run(d, e, "REPLACE INTO globals VALUES(?1, ?2, ?3, ?4, ?5, ?6)", "ssssii",
                         now->id, now->project, now->key, now->value, now->updated, sum_of(now)) ||
        store_sqlite_journal(d, c, &row, e))
        return -1;
    return store_sqlite_note_changed(d, CHANGED_ELSE, e);
}

int store_sqlite_global_drop(struct db *d, struct store_sqlite_change *c, const struct global *old,
                             bool valid, struct fumi_err *e)
{
    struct fumi_str before = {0};
    if (valid)
        before = store_sqlite_before(c->arena, &journal_global, old, (1u << journal_global.n) - 1,
                                     0);
    const struct journal_row row = {CHANGE_GLOBAL_DELETE, old->project, old->id, before};
    if (store_sqlite_journal(d, c, &row, e) ||
        store_sqlite_run(d, e, "DELETE FROM globals WHERE id=?1", "s", old->id))
        return -1;
    return store_sqlite_note_changed(d, CHANGED_ELSE, e);
}

struct set_global_args {
    struct fumi_arena *arena;
    struct global *given, now;
    const struct author *by;
};

static int put(struct db *d, void *arg, struct fumi_err *e)
{
    struct set_global_args *p = arg;
    struct store_sqlite_change c = store_sqlite_change_begin(p->by, p->arena);
    struct global old;
    int64_t other;
    bool valid = false;
    p->now = *p->given;
    int found = find(d, p->arena, &p->now, &old, &valid, e);
    if (found < 0)
        return -1;
    if (found)
        p->now.id = old.id;
    else if ((found = store_sqlite_number(d, e, &other, "SELECT 1 FROM globals WHERE id=?1", "s",
                                          p->now.id)))
        return found < 0 ? -1 : fumi_err_set(e, ERR_CONFLICT, "Another global has this id");
    return store_sqlite_global_write(d, &c, valid ? &old : NULL, &p->now, e);
}

int store_sqlite_set_global(struct store *s, struct fumi_arena *a, struct global *g,
                            const struct author *by, struct fumi_err *e)
{
    struct set_global_args p = {.arena = a, .given = g, .by = by};
    int rc = store_sqlite_write(s, put, &p, e);
    if (!rc)
        g->id = p.now.id;
    return rc;
}

/* A damaged value is always replaced. An equal value gets the newer time; otherwise a later import
 * of a value from between the two times would replace it. */
int store_sqlite_merge_global(struct db *d, void *arg, struct fumi_err *e)
{
    struct store_sqlite_merging *m = arg;
    struct global *now = &m->now.global, is;
    bool valid = false;
    store_sqlite_merge_begin(m);
    int found = find(d, m->arena, now, &is, &valid, e);
    if (found < 0 ||
        (!found && store_sqlite_id_free(d, m->arena, now->project, &now->id, &m->now.outcome, e)))
        return -1;
    if (found) {
        bool newer = !valid || now->updated > is.updated;
        now->id = is.id;
        m->now.outcome = newer ? MERGED_ADDED : MERGED_OLDER;
        if (valid && fumi_eq(is.value, now->value))
            m->now.outcome = MERGED_SAME;
        if (!newer)
            return 0;
    }
    return store_sqlite_global_write(d, m->change, valid ? &is : NULL, now, e);
}

struct get_global_args {
    struct fumi_arena *arena;
    struct global like, *out;
};

static int get(struct db *d, void *arg, struct fumi_err *e)
{
    struct get_global_args *g = arg;
    bool valid;
    int found = find(d, g->arena, &g->like, g->out, &valid, e);
    if (found <= 0)
        return found < 0 ? -1 : fumi_err_set(e, ERR_NOT_FOUND, "Not found");
    const struct fumi_str key = g->like.key;
    return valid ? 0
                 : fumi_err_set(e, FUMI_LIMIT,
                                "The value of %.*s is damaged in the database file: set it again, "
                                "or restore a backup",
                                (int)(key.n < 64 ? key.n : 64), key.p);
}

int store_sqlite_get_global(struct store *s, struct fumi_arena *a, struct fumi_str project,
                            struct fumi_str key, struct global *out, struct fumi_err *e)
{
    struct get_global_args g = {a, {.project = project, .key = key}, out};
    return store_sqlite_read(s, get, &g, e);
}

struct list_globals_args {
    const struct loading *to;
    struct fumi_str project, prefix;
    struct globals *out;
    size_t cap;
};

static void add(struct list_globals_args *l, struct global *g)
{
    struct globals *out = l->out;
    if (out->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 16;
        struct global *items = fumi_alloc(l->to->arena, l->cap * sizeof(*items));
        if (out->n)
            memcpy(items, out->items, out->n * sizeof(*items));
        out->items = items;
    }
    keep_strings(g, l->to->arena);
    out->items[out->n++] = *g;
}

/* Returns 1 to continue the list; 0 to end it; -1 with *e set. */
static int show(struct db *d, struct list_globals_args *l, sqlite3_stmt *q, struct fumi_err *e)
{
    struct global g;
    bool valid = view_row(q, &g);
    if (!fumi_starts(g.key, l->prefix))
        return 0;
    if (!valid) {
        store_sqlite_log_damage(d->store, "a global", g.id);
        return 1;
    }
    int verdict = loading_each(l->to, &g, g.key.n + g.value.n, e);
    if (verdict == ROW_KEEP)
        add(l, &g);
    return verdict < 0 ? -1 : verdict != ROW_END;
}

/* Keys with the prefix are adjacent, because the list is sorted by key. */
static int list(struct db *d, void *arg, struct fumi_err *e)
{
    struct list_globals_args *l = arg;
    sqlite3_stmt *q = store_sqlite_query(
        d, e, COLUMNS "WHERE (?1 IS NULL OR project=?1) AND key>=?2 ORDER BY key, project", "ss",
        l->project, l->prefix);
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        int on = show(d, l, q, e);
        if (on > 0)
            continue;
        store_sqlite_end(q);
        return on;
    }
    return more;
}

int store_sqlite_globals_check(struct db *d, store_sqlite_bad_fn *bad, void *arg,
                               struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(d, e, COLUMNS, "");
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        struct global one;
        if (!view_row(q, &one))
            bad(arg, "global", one.id);
    }
    return more;
}

int store_sqlite_list_globals(struct store *s, const struct loading *to, struct fumi_str project,
                              struct fumi_str prefix, struct globals *out, struct fumi_err *e)
{
    struct list_globals_args l = {
        .to = to, .project = project, .prefix = prefix.p ? prefix : FUMI_STR(""), .out = out};
    *out = (struct globals){0};
    return store_sqlite_read(s, list, &l, e);
}

struct meta_args {
    struct fumi_arena *arena;
    struct fumi_str name, *out, value;
};

static int get_value(struct db *d, void *arg, struct fumi_err *e)
{
    struct meta_args *f = arg;
    sqlite3_stmt *q = store_sqlite_query(d, e, "SELECT value FROM meta WHERE name=?1", "s",
                                         f->name);
    int found = q ? store_sqlite_row(d, q, e) : -1;
    if (found > 0) {
        *f->out = store_sqlite_keep(q, 0, f->arena);
        store_sqlite_end(q);
    }
    return found < 0 ? -1 : 0;
}

int store_sqlite_get_meta(struct store *s, struct fumi_arena *a, const char *name,
                          struct fumi_str *out, struct fumi_err *e)
{
    struct meta_args f = {.arena = a, .name = fumi_str(name), .out = out};
    *out = (struct fumi_str){0};
    return store_sqlite_read(s, get_value, &f, e);
}

/* A null value deletes the row. */
static int set_value(struct db *d, void *arg, struct fumi_err *e)
{
    struct meta_args *f = arg;
    if (!f->value.p)
        return store_sqlite_run(d, e, "DELETE FROM meta WHERE name=?1", "s", f->name);
    return store_sqlite_run(d, e, "REPLACE INTO meta VALUES(?1, ?2)", "ss", f->name, f->value);
}

int store_sqlite_set_meta(struct store *s, const char *name, struct fumi_str value,
                          struct fumi_err *e)
{
    struct meta_args f = {.name = fumi_str(name), .value = value};
    return store_sqlite_write(s, set_value, &f, e);
}

static int changed(struct db *d, void *arg, struct fumi_err *e)
{
    static const char sql[] = "SELECT coalesce(max(n), 0) FROM changes";
    return store_sqlite_number(d, e, arg, sql, "") < 0 ? -1 : 0;
}

int store_sqlite_change_number(struct store *s, int64_t *out, struct fumi_err *e)
{
    return store_sqlite_read(s, changed, out, e);
}

static int stats(struct db *d, void *arg, struct fumi_err *e)
{
    struct store_stats *out = arg;
    int rc = store_sqlite_number(d, e, &out->notes,
                                 "SELECT coalesce(sum(notes), 0) FROM project_groups", "") < 0 ||
             store_sqlite_number(
                 d, e, &out->projects,
                 "SELECT count(*) FROM (SELECT project FROM project_groups UNION SELECT project "
                 "FROM groups UNION SELECT project FROM globals)",
                 "") < 0 ||
             store_sqlite_number(d, e, &out->groups, "SELECT count(*) FROM groups", "") < 0 ||
             store_sqlite_number(d, e, &out->globals, "SELECT count(*) FROM globals", "") < 0 ||
             store_sqlite_number(d, e, &out->vectors, "SELECT count(*) FROM vectors", "") < 0 ||
             store_sqlite_number(
                 d, e, &out->bytes,
                 "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
                 "") < 0 ||
             store_sqlite_number(d, e, &out->backup,
                                 "SELECT coalesce(max(CAST(value AS INTEGER)), 0) FROM meta WHERE "
                                 "name>='backup:' AND name<'backup;'",
                                 "") < 0;
    out->schema = STORE_FORMAT;
    return rc ? -1 : 0;
}

int store_sqlite_stats(struct store *s, struct store_stats *out, struct fumi_err *e)
{
    *out = (struct store_stats){0};
    store_sqlite_index_stats((struct store_sqlite *)s, &out->cache, &out->building);
    return store_sqlite_read(s, stats, out, e);
}
