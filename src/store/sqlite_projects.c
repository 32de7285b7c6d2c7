/* Projects: what git says of them, and moving all that one has to another one, or deleting it. Both
 * are changes in the journal, like any other; what needs several calls continues the change of the
 * first. */
#include "store/sqlite_changes.h"
#include "store/sqlite_ops.h"

#include "base/arena.h"

struct remote_args {
    struct fumi_str project, remote;
    int64_t now;
};

static int set_remote(struct db *d, void *arg, struct fumi_err *e)
{
    const struct remote_args *r = arg;
    return store_sqlite_run(d, e, "REPLACE INTO projects VALUES(?1, ?2, ?3)", "ssi", r->project,
                            r->remote, r->now);
}

int store_sqlite_set_project_remote(struct store *s, struct fumi_str project,
                                    struct fumi_str remote, int64_t now, struct fumi_err *e)
{
    struct remote_args r = {project, remote, now};
    return store_sqlite_write(s, set_remote, &r, e);
}

struct find_args {
    struct fumi_arena *arena;
    struct fumi_str remote;
    struct projects *out;
    size_t cap;
};

static void add(struct find_args *f, const struct project *p)
{
    struct projects *out = f->out;
    out->items = store_sqlite_room(f->arena, out->items, out->n, &f->cap, sizeof(*out->items));
    out->items[out->n++] = *p;
}

static int find(struct db *d, void *arg, struct fumi_err *e)
{
    static const char sql[] =
        "SELECT a.project, p.remote, sum(a.notes), coalesce(p.seen, 0), coalesce(j.at, (SELECT "
        "max((SELECT max(created) FROM notes n WHERE n.tag_set=s.tag_set)) FROM project_groups r "
        "CROSS "
        "JOIN tag_sets s USING(project_group) WHERE r.project=a.project), 0) FROM "
        "(SELECT project, notes FROM project_groups UNION ALL SELECT project, 0 FROM groups UNION "
        "ALL SELECT project, 0 FROM globals UNION ALL SELECT project, 0 FROM projects) a LEFT JOIN "
        "projects p USING(project) LEFT JOIN (SELECT project, max(at) AS at FROM journal GROUP BY "
        "project) j USING(project) WHERE ?1 IS NULL OR p.remote=?1 GROUP BY a.project ORDER BY "
        "a.project";
    struct find_args *f = arg;
    sqlite3_stmt *q = store_sqlite_query(d, e, sql, "s", f->remote);
    int more = q ? 1 : -1;
    *f->out = (struct projects){0};
    f->cap = 0;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0)
        add(f, &(struct project){.name = store_sqlite_keep(q, 0, f->arena),
                                 .remote = store_sqlite_keep(q, 1, f->arena),
                                 .notes = sqlite3_column_int64(q, 2),
                                 .seen = sqlite3_column_int64(q, 3),
                                 .changed = sqlite3_column_int64(q, 4)});
    return more;
}

int store_sqlite_find_projects(struct store *s, struct fumi_arena *a, struct fumi_str remote,
                               struct projects *out, struct fumi_err *e)
{
    struct find_args f = {.arena = a, .remote = remote, .out = out};
    return store_sqlite_read(s, find, &f, e);
}

struct move_args {
    const struct moving *m;
    struct fumi_arena arena;
    struct store_sqlite_change change;
    struct moved_rows moved; /* damaged notes stay in their project, unless they are deleted */
    bool more;
};

/* The ids or numbers of the first column. Rows are changed only after all were read. */
static int read_first(struct db *d, struct fumi_arena *a, sqlite3_stmt *q, struct fumi_strs *out,
                      struct fumi_err *e)
{
    size_t cap = 0;
    int more = q ? 1 : -1;
    *out = (struct fumi_strs){0};
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        out->items = store_sqlite_room(a, out->items, out->n, &cap, sizeof(*out->items));
        out->items[out->n++] = store_sqlite_keep(q, 0, a);
    }
    return more;
}

static int move_note(struct db *d, struct move_args *v, struct fumi_str id, struct fumi_err *e)
{
    struct stored is;
    int found = store_sqlite_find(d, &v->arena, id, 0, &is, e);
    if (found <= 0 || (is.damaged && v->m->to.p))
        return found < 0 ? -1 : 0;
    v->moved.notes++;
    if (!v->m->to.p)
        return store_sqlite_change_remove(d, &v->change, &is, CHANGE_DELETE, e);
    struct note to = is.note;
    to.project = v->m->to;
    return store_sqlite_change_note(d, &v->change, &is, &to, NOTE_PROJECT, NULL, e) ||
                   store_sqlite_change_settle(d, &v->change, id, false, e)
               ? -1
               : 0;
}

static int move_group(struct db *d, struct move_args *v, struct fumi_str id, struct fumi_err *e)
{
    struct group is;
    bool valid;
    int64_t there;
    int found = store_sqlite_group_find(d, &v->arena, id, &is, &valid, e);
    int taken = found > 0 ? store_sqlite_number(d, e, &there,
                                                "SELECT 1 FROM groups WHERE project=?1 AND key=?2",
                                                "ss", v->m->to, is.key)
                          : 0;
    if (found <= 0 || taken < 0)
        return found < 0 || taken < 0 ? -1 : 0;
    v->moved.groups++;
    if (taken || !valid || !v->m->to.p)
        return store_sqlite_group_drop(d, &v->change, &is, valid, e);
    struct group to = is;
    to.project = v->m->to;
    return store_sqlite_group_write(d, &v->change, &is, &to, e);
}

static int move_global(struct db *d, struct move_args *v, struct fumi_str id, struct fumi_err *e)
{
    struct global is;
    bool valid;
    int64_t there;
    int found = store_sqlite_global_find(d, &v->arena, id, &is, &valid, e);
    int taken = found > 0 ? store_sqlite_number(d, e, &there,
                                                "SELECT 1 FROM globals WHERE project=?1 AND key=?2",
                                                "ss", v->m->to, is.key)
                          : 0;
    if (found <= 0 || taken < 0)
        return found < 0 || taken < 0 ? -1 : 0;
    v->moved.globals++;
    if (taken || !valid || !v->m->to.p)
        return store_sqlite_global_drop(d, &v->change, &is, valid, e);
    struct global to = is;
    to.project = v->m->to;
    return store_sqlite_global_write(d, &v->change, &is, &to, e);
}

/* In this order; the next kind follows when nothing is left of the one before. */
static const struct {
    const char *sql;
    int (*move)(struct db *d, struct move_args *v, struct fumi_str id, struct fumi_err *e);
} kinds[] = {
    {"SELECT id FROM project_groups r CROSS JOIN tag_sets USING(project_group) CROSS JOIN notes "
     "USING(tag_set) WHERE r.project=?1 LIMIT ?2",
     move_note},
    {"SELECT id FROM groups WHERE project=?1 LIMIT ?2", move_group},
    {"SELECT id FROM globals WHERE project=?1 LIMIT ?2", move_global},
};

static int move(struct db *d, void *arg, struct fumi_err *e)
{
    struct move_args *v = arg;
    const struct moving *m = v->m;
    size_t left = m->limit;
    v->change = store_sqlite_change_begin(m->by, &v->arena);
    v->change.change = m->change;
    v->moved = (struct moved_rows){.notes = 0};
    for (size_t k = 0; k < FUMI_COUNT(kinds) && left; k++) {
        struct fumi_strs ids;
        if (read_first(d, &v->arena,
                       store_sqlite_query(d, e, kinds[k].sql, "si", m->from, (int64_t)left), &ids,
                       e))
            return -1;
        for (size_t i = 0; i < ids.n; i++)
            if (kinds[k].move(d, v, ids.items[i], e))
                return -1;
        left -= ids.n;
    }
    v->more = !left && (v->moved.notes || v->moved.groups || v->moved.globals);
    if (v->more)
        return 0;
    return (m->to.p && store_sqlite_run(d, e, "UPDATE reviews SET project=?2 WHERE project=?1",
                                        "ss", m->from, m->to)) ||
                   store_sqlite_run(d, e, "DELETE FROM projects WHERE project=?1", "s", m->from)
               ? -1
               : 0;
}

int store_sqlite_move_notes(struct store *s, struct moving *m, struct fumi_err *e)
{
    struct move_args v = {.m = m};
    m->more = false;
    if (m->to.p && fumi_eq(m->from, m->to))
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "the notes are in this project already: name another one");
    int rc = m->limit ? store_sqlite_write(s, move, &v, e) : 0;
    fumi_arena_done(&v.arena);
    if (rc)
        return -1;
    m->change = v.change.change;
    m->moved.notes += v.moved.notes;
    m->moved.groups += v.moved.groups;
    m->moved.globals += v.moved.globals;
    m->more = v.more;
    return 0;
}
