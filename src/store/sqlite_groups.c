/* Groups: rows of the table, and groups that exist only as names in notes. */
#include "store/sqlite_changes.h"
#include "store/sqlite_merge.h"
#include "store/sqlite_ops.h"

#include "base/arena.h"

static int64_t sum_of(const struct group *g)
{
    const struct fumi_str all[] = {g->id, g->project, g->key, g->title, g->description};
    uint64_t sum = store_sqlite_sum_number(store_sqlite_sum_number(0, g->created), g->updated);
    for (size_t i = 0; i < FUMI_COUNT(all); i++)
        sum = store_sqlite_sum_str(sum, all[i]);
    return (int64_t)sum;
}

#define COLUMNS                                                                                    \
    "SELECT g.id, g.project, g.key, g.title, g.description, g.created, g.updated, g.checksum, "    \
    "coalesce(r.notes, 0) FROM groups g LEFT JOIN project_groups r ON r.project=g.project AND "    \
    "r.group_key=g.key "

/* The strings belong to SQLite and are valid until the statement is stepped or ended. Returns false
 * if the row is damaged. */
static bool view_row(sqlite3_stmt *q, struct group *out)
{
    *out = (struct group){.id = store_sqlite_text(q, 0),
                          .project = store_sqlite_text(q, 1),
                          .key = store_sqlite_text(q, 2),
                          .title = store_sqlite_text(q, 3),
                          .description = store_sqlite_text(q, 4),
                          .created = sqlite3_column_int64(q, 5),
                          .updated = sqlite3_column_int64(q, 6),
                          .notes = sqlite3_column_int64(q, 8)};
    return sqlite3_column_int64(q, 7) == sum_of(out);
}

static void keep_strings(struct group *g, struct fumi_arena *a)
{
    struct fumi_str *all[] = {&g->id, &g->project, &g->key, &g->title, &g->description};
    for (size_t i = 0; i < FUMI_COUNT(all); i++)
        *all[i] = fumi_dup(a, *all[i]);
}

static int insert_row(struct db *d, const struct group *g, struct fumi_err *e)
{
    return store_sqlite_run(d, e, "REPLACE INTO groups VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                            "sssssiii", g->id, g->project, g->key, g->title, g->description,
                            g->created, g->updated, sum_of(g));
}

static unsigned changed(const struct group *old, const struct group *now)
{
    const struct fumi_str was[] = {old->id, old->project, old->key, old->title, old->description},
                          is[] = {now->id, now->project, now->key, now->title, now->description};
    unsigned set = 0;
    for (size_t i = 0; i < FUMI_COUNT(was); i++)
        set |= !was[i].p == !is[i].p && fumi_eq(was[i], is[i]) ? 0 : 1u << i;
    return set ? set | 1u << (journal_group.n - 1) : 0; /* and the time of the update */
}

int store_sqlite_group_write(struct db *d, struct store_sqlite_change *c, const struct group *old,
                             const struct group *now, struct fumi_err *e)
{
    unsigned set = old ? changed(old, now) : 0;
    struct fumi_str before = {0};
    if (old)
        before = store_sqlite_before(c->arena, &journal_group, old, set, 0);
    const struct journal_row row = {old ? CHANGE_GROUP_UPDATE : CHANGE_GROUP_ADD,
                                    old ? old->project : now->project, now->id, before};
    if (insert_row(d, now, e) || ((set || !old) && store_sqlite_journal(d, c, &row, e)))
        return -1;
    return store_sqlite_note_changed(d, CHANGED_ELSE, e);
}

int store_sqlite_group_drop(struct db *d, struct store_sqlite_change *c, const struct group *old,
                            bool valid, struct fumi_err *e)
{
    struct fumi_str before = {0};
    if (valid)
        before = store_sqlite_before(c->arena, &journal_group, old, (1u << journal_group.n) - 1, 0);
    const struct journal_row row = {CHANGE_GROUP_DELETE, old->project, old->id, before};
    if (store_sqlite_journal(d, c, &row, e) ||
        store_sqlite_run(d, e, "DELETE FROM groups WHERE id=?1", "s", old->id))
        return -1;
    return store_sqlite_note_changed(d, CHANGED_ELSE, e);
}

struct add_group_args {
    const struct group *group;
    const struct author *by;
    struct fumi_arena arena;
};

static int put(struct db *d, void *arg, struct fumi_err *e)
{
    struct add_group_args *p = arg;
    const struct group *g = p->group;
    struct store_sqlite_change c = store_sqlite_change_begin(p->by, &p->arena);
    int64_t there;
    int found = store_sqlite_number(d, e, &there,
                                    "SELECT 1 FROM groups WHERE (project=?1 AND key=?2) OR id=?3",
                                    "sss", g->project, g->key, g->id);
    if (found)
        return found < 0 ? -1
                         : fumi_err_set(e, ERR_CONFLICT, "groupKey already exists in this project");
    return store_sqlite_group_write(d, &c, NULL, g, e);
}

int store_sqlite_add_group(struct store *s, const struct group *g, const struct author *by,
                           struct fumi_err *e)
{
    struct add_group_args p = {.group = g, .by = by};
    int rc = store_sqlite_write(s, put, &p, e);
    fumi_arena_done(&p.arena);
    return rc;
}

/* Returns 1 if the project has the key with the same title and description; 0 if it does not have
 * the key; -1 with *e set, also if they differ. */
static int find_same(struct db *d, struct fumi_arena *a, struct group *now, struct fumi_err *e)
{
    struct group is;
    sqlite3_stmt *q = store_sqlite_query(d, e, COLUMNS "WHERE g.project=?1 AND g.key=?2", "ss",
                                         now->project, now->key);
    int found = q ? store_sqlite_row(d, q, e) : -1;
    if (found <= 0)
        return found;
    bool same = view_row(q, &is) && fumi_eq(is.title, now->title) &&
                fumi_eq(is.description, now->description);
    now->id = fumi_dup(a, is.id);
    store_sqlite_end(q);
    return same ? 1
                : fumi_err_set(e, ERR_CONFLICT, "the group %.*s exists and differs",
                               FUMI_ARG(now->key));
}

int store_sqlite_merge_group(struct db *d, void *arg, struct fumi_err *e)
{
    struct store_sqlite_merging *m = arg;
    struct group *now = &m->now.group;
    store_sqlite_merge_begin(m);
    int found = find_same(d, m->arena, now, e);
    m->now.outcome = MERGED_SAME;
    if (found)
        return found < 0 ? -1 : 0;
    if (store_sqlite_id_free(d, m->arena, now->project, &now->id, &m->now.outcome, e))
        return -1;
    return store_sqlite_group_write(d, m->change, NULL, now, e);
}

struct get_group_args {
    struct fumi_arena *arena;
    struct fumi_str id;
    struct group *out;
};

int store_sqlite_group_find(struct db *d, struct fumi_arena *a, struct fumi_str id,
                            struct group *out, bool *valid, struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(d, e, COLUMNS "WHERE g.id=?1", "s", id);
    int found = q ? store_sqlite_row(d, q, e) : -1;
    if (found <= 0)
        return found;
    *valid = view_row(q, out);
    keep_strings(out, a);
    store_sqlite_end(q);
    return 1;
}

static int get(struct db *d, void *arg, struct fumi_err *e)
{
    struct get_group_args *g = arg;
    bool valid;
    int found = store_sqlite_group_find(d, g->arena, g->id, g->out, &valid, e);
    if (found <= 0)
        return found < 0 ? -1 : fumi_err_set(e, ERR_NOT_FOUND, "Group not found");
    return valid ? 0
                 : fumi_err_set(e, FUMI_LIMIT,
                                "Group %.*s is damaged in the database file: restore it from a "
                                "backup, or delete it",
                                (int)(g->id.n < 64 ? g->id.n : 64), g->id.p);
}

int store_sqlite_get_group(struct store *s, struct fumi_arena *a, struct fumi_str id,
                           struct group *out, struct fumi_err *e)
{
    struct get_group_args g = {a, id.p ? id : FUMI_STR(""), out};
    return store_sqlite_read(s, get, &g, e);
}

struct update_group_args {
    struct fumi_str id, title, description;
    int64_t now;
    const struct author *by;
    struct fumi_arena arena;
};

static int patch(struct db *d, void *arg, struct fumi_err *e)
{
    struct update_group_args *p = arg;
    struct store_sqlite_change c = store_sqlite_change_begin(p->by, &p->arena);
    struct group g, old;
    struct get_group_args find = {&p->arena, p->id, &old};
    if (get(d, &find, e))
        return -1;
    g = old;
    g.title = p->title.p ? p->title : g.title;
    g.description = p->description.p ? p->description : g.description;
    g.updated = p->now;
    return store_sqlite_group_write(d, &c, &old, &g, e);
}

int store_sqlite_update_group(struct store *s, struct fumi_str id, struct fumi_str title,
                              struct fumi_str description, int64_t now, const struct author *by,
                              struct fumi_err *e)
{
    struct update_group_args p = {.id = id.p ? id : FUMI_STR(""),
                                  .title = title,
                                  .description = description,
                                  .now = now,
                                  .by = by};
    int rc = store_sqlite_write(s, patch, &p, e);
    fumi_arena_done(&p.arena);
    return rc;
}

static int drop(struct db *d, void *arg, struct fumi_err *e)
{
    struct update_group_args *p = arg;
    struct store_sqlite_change c = store_sqlite_change_begin(p->by, &p->arena);
    struct group old;
    bool valid;
    int found = store_sqlite_group_find(d, &p->arena, p->id, &old, &valid, e);
    if (found <= 0)
        return found < 0 ? -1 : fumi_err_set(e, ERR_NOT_FOUND, "Group not found");
    return store_sqlite_group_drop(d, &c, &old, valid, e);
}

int store_sqlite_delete_group(struct store *s, struct fumi_str id, const struct author *by,
                              struct fumi_err *e)
{
    struct update_group_args p = {.id = id.p ? id : FUMI_STR(""), .by = by};
    int rc = store_sqlite_write(s, drop, &p, e);
    fumi_arena_done(&p.arena);
    return rc;
}

struct list_groups_args {
    const struct loading *to;
    struct fumi_str project;
    struct groups *out;
    size_t cap;
};

static void add(struct list_groups_args *l, struct group *g)
{
    struct groups *out = l->out;
    if (out->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 16;
        struct group *items = fumi_alloc(l->to->arena, l->cap * sizeof(*items));
        if (out->n)
            memcpy(items, out->items, out->n * sizeof(*items));
        out->items = items;
    }
    keep_strings(g, l->to->arena);
    out->items[out->n++] = *g;
}

/* Returns 1 to continue the list; 0 to end it; -1 with *e set. */
static int show(struct list_groups_args *l, struct group *g, struct fumi_err *e)
{
    int verdict = loading_each(l->to, g, g->key.n + g->title.n + g->description.n, e);
    if (verdict == ROW_KEEP)
        add(l, g);
    return verdict < 0 ? -1 : verdict != ROW_END;
}

static int show_made(struct db *d, struct list_groups_args *l, sqlite3_stmt *q, struct fumi_err *e)
{
    struct group g;
    if (view_row(q, &g))
        return show(l, &g, e);
    store_sqlite_log_damage(d->store, "a group", g.id);
    return 1;
}

static int show_named(struct db *d, struct list_groups_args *l, sqlite3_stmt *q, struct fumi_err *e)
{
    (void)d;
    struct group g = {
        .project = l->project, .key = store_sqlite_text(q, 0), .notes = sqlite3_column_int64(q, 1)};
    return show(l, &g, e);
}

/* All rows of a statement. Returns 1 to continue the list; 0 to end it; -1 with *e set. */
static int show_all(struct db *d, struct list_groups_args *l, sqlite3_stmt *q,
                    int (*one)(struct db *, struct list_groups_args *, sqlite3_stmt *,
                               struct fumi_err *),
                    struct fumi_err *e)
{
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        int on = one(d, l, q, e);
        if (on > 0)
            continue;
        store_sqlite_end(q);
        return on;
    }
    return more < 0 ? -1 : 1;
}

static int list(struct db *d, void *arg, struct fumi_err *e)
{
    struct list_groups_args *l = arg;
    sqlite3_stmt *made = store_sqlite_query(
        d, e, COLUMNS "WHERE ?1 IS NULL OR g.project=?1 ORDER BY g.created, g.key", "s",
        l->project);
    int more = show_all(d, l, made, show_made, e);
    if (more <= 0)
        return more;
    sqlite3_stmt *named = store_sqlite_query(
        d, e,
        "SELECT group_key, notes FROM project_groups WHERE project=?1 AND notes>0 AND NOT EXISTS "
        "(SELECT 1 FROM "
        "groups g WHERE g.project=?1 AND g.key=group_key) ORDER BY group_key",
        "s", l->project);
    return show_all(d, l, named, show_named, e) < 0 ? -1 : 0;
}

int store_sqlite_groups_check(struct db *d, store_sqlite_bad_fn *bad, void *arg, struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(d, e, COLUMNS, "");
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        struct group one;
        if (!view_row(q, &one))
            bad(arg, "group", one.id);
    }
    return more;
}

int store_sqlite_list_groups(struct store *s, const struct loading *to, struct fumi_str project,
                             struct groups *out, struct fumi_err *e)
{
    struct list_groups_args l = {.to = to, .project = project, .out = out};
    *out = (struct groups){0};
    return store_sqlite_read(s, list, &l, e);
}
