/* Undoing changes. The rows of the journal that are to be undone are read first and then put back,
 * newest first, in one transaction; what this does is written to the journal, like any change.
 *
 * A row cannot be put back if a later row, which is not undone as well, concerns the same members.
 * A later undo and the change that it put back cancel each other, unless that undo concerns a
 * change from before the row. */
#include "store/sqlite_changes.h"
#include "store/sqlite_ops.h"

#include "base/arena.h"

enum { ALL_MEMBERS = ~0U >> 1 };

struct undo {
    struct fumi_arena *arena;
    const struct undo_query *query;
    const struct author *by;
    struct undone *out;
    struct store_sqlite_change change;
    struct changes rows; /* newest first */
    size_t cap;
    struct fumi_str left, entered; /* the projects of the last row that changed its project */
};

/* What is known about the rows of an op. */
static const struct op_info {
    const struct journal_kind *kind; /* NULL: the row cannot be put back */
    bool whole;                      /* the row is there only before or only after the change */
} ops[CHANGE_OPS] = {
    [CHANGE_ADD] = {&journal_note, true},
    [CHANGE_UPDATE] = {&journal_note, false},
    [CHANGE_DELETE] = {&journal_note, true},
    [CHANGE_EXPIRE] = {&journal_note, true},
    [CHANGE_FORGET] = {NULL, true},
    [CHANGE_GROUP_ADD] = {&journal_group, true},
    [CHANGE_GROUP_UPDATE] = {&journal_group, false},
    [CHANGE_GROUP_DELETE] = {&journal_group, true},
    [CHANGE_GLOBAL_ADD] = {&journal_global, true},
    [CHANGE_GLOBAL_UPDATE] = {&journal_global, false},
    [CHANGE_GLOBAL_DELETE] = {&journal_global, true},
};

#define OF_PROJECT "AND (?2 IS NULL OR j.project=?2) ORDER BY j.n DESC"

static int read_rows(struct db *d, struct undo *u, struct fumi_err *e)
{
    static const char of_change[] = JOURNAL_COLUMNS
        "WHERE j.n>=?1 AND (j.n=?1 OR j.change=?1) " OF_PROJECT;
    static const char of_session[] = JOURNAL_COLUMNS "WHERE o.session=?1 " OF_PROJECT;
    static const char since[] = JOURNAL_COLUMNS "WHERE j.at>=?1 " OF_PROJECT;
    const struct undo_query *w = u->query;
    sqlite3_stmt *q = w->change ? store_sqlite_query(d, e, of_change, "is", w->change, w->project)
                      : w->session.p
                          ? store_sqlite_query(d, e, of_session, "ss", w->session, w->project)
                          : store_sqlite_query(d, e, since, "is", w->since, w->project);
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        u->rows.items = store_sqlite_room(u->arena, u->rows.items, u->rows.n, &u->cap,
                                          sizeof(*u->rows.items));
        struct change *row = &u->rows.items[u->rows.n];
        if (store_sqlite_change_row(q, u->arena, row))
            u->rows.n++;
        else
            store_sqlite_log_damage(d->store, "a row of the journal", row->id);
    }
    return more;
}

static bool is_undone(const struct undo *u, int64_t n)
{
    size_t low = 0, high = u->rows.n; /* descending */
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (u->rows.items[mid].n == n)
            return true;
        if (u->rows.items[mid].n > n)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}

/* The members that a row concerns; all of them if the row is there only before or after it. */
static unsigned members_of(struct fumi_arena *a, const struct change *row)
{
    union {
        struct note note;
        struct group group;
        struct global global;
    } ignored = {.note = {0}};
    struct fumi_err e;
    unsigned set = 0;
    int64_t chain = 0;
    const struct op_info *op = &ops[row->op];
    if (op->whole || store_sqlite_before_read(a, op->kind, row->before, &ignored, &set, &chain, &e))
        return ALL_MEMBERS;
    return set;
}

/* What later rows mean for a row. */
enum later { NOTHING, PUT_BACK, CHANGED_AGAIN };

struct looking {
    const struct undo *u;
    const struct change *row;
    unsigned members;   /* of the row */
    int64_t *cancelled; /* changes that a later undo has put back */
    size_t n, cap;
    enum later is;
    int64_t change; /* CHANGED_AGAIN: the last one */
};

/* Called for the later rows of the same id, newest first. */
static void look_at(struct looking *l, struct fumi_arena *a, const struct change *one)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->cancelled[i] == one->change)
            return;
    if (one->undoes == l->row->change) {
        l->is = PUT_BACK;
        return;
    }
    if (one->undoes > l->row->change) {
        l->cancelled = store_sqlite_room(a, l->cancelled, l->n, &l->cap, sizeof(*l->cancelled));
        l->cancelled[l->n++] = one->undoes;
        return;
    }
    if (l->is != NOTHING || !(members_of(a, one) & l->members))
        return;
    l->is = CHANGED_AGAIN;
    l->change = one->change;
}

/* Rows that this undo has written itself have the number u->change.change or a larger one. */
static int look_later(struct db *d, struct looking *l, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    const int64_t own = l->u->change.change;
    sqlite3_stmt *q = store_sqlite_query(d, e,
                                         JOURNAL_COLUMNS "WHERE j.id=?1 AND " JOURNAL_INDEXED
                                                         " AND j.n>?2 AND j.n<?3 ORDER BY j.n DESC",
                                         "sii", l->row->id, l->row->n, own ? own : INT64_MAX);
    int more = q ? 1 : -1;
    l->members = members_of(&a, l->row);
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        struct change one;
        if (!store_sqlite_change_row(q, &a, &one))
            continue;
        if (one.op == CHANGE_FORGET)
            l->is = PUT_BACK; /* nothing is left */
        else if (!is_undone(l->u, one.n))
            look_at(l, &a, &one);
    }
    fumi_arena_done(&a);
    return more;
}

/* The functions below put a row back. They return 1; 0 if that is not possible, because what the
 * row concerns is missing, or exists again, or has left the project; -1 with *e set. */

static bool is_ours(const struct undo *u, struct fumi_str project)
{
    return !u->query->project.p || fumi_eq(u->query->project, project);
}

static int find_note(struct db *d, struct undo *u, struct fumi_str id, struct stored *out,
                     struct fumi_err *e)
{
    int found = store_sqlite_find(d, u->arena, id, 0, out, e);
    return found > 0 ? !out->damaged && is_ours(u, out->note.project) : found;
}

/* Notes that wait for review left their project together with its rows. They return to the project
 * for which they were written. */
static int return_reviews(struct db *d, struct undo *u, struct fumi_str from, struct fumi_str to,
                          struct fumi_err *e)
{
    if (fumi_eq(from, to) || (u->left.p && fumi_eq(u->left, from) && fumi_eq(u->entered, to)))
        return 0;
    u->left = from;
    u->entered = to;
    return store_sqlite_run(
        d, e,
        "UPDATE reviews SET project=?2 WHERE project=?1 AND op=?3 AND CASE WHEN "
        "json_valid(body) THEN json_extract(body, '$.projectId') END=?2",
        "ssi", from, to, (int64_t)CHANGE_ADD);
}

static int undo_add(struct db *d, struct undo *u, const struct change *row, struct fumi_err *e)
{
    struct stored is;
    int found = find_note(d, u, row->id, &is, e);
    if (found <= 0)
        return found;
    return store_sqlite_change_remove(d, &u->change, &is, CHANGE_DELETE, e) ? -1 : 1;
}

static int undo_update(struct db *d, struct undo *u, const struct change *row, struct fumi_err *e)
{
    struct stored is;
    unsigned set = 0;
    int found = find_note(d, u, row->id, &is, e);
    if (found <= 0)
        return found;
    struct note to = is.note;
    if (store_sqlite_before_read(u->arena, &journal_note, row->before, &to, &set, &to.chain, e))
        return -1;
    return store_sqlite_change_note(d, &u->change, &is, &to, set, NULL, e) ||
                   return_reviews(d, u, is.note.project, to.project, e)
               ? -1
               : 1;
}

/* A note that has expired meanwhile would be deleted again, so it becomes one that never does. */
static int undo_delete(struct db *d, struct undo *u, const struct change *row, struct fumi_err *e)
{
    struct note n = {.seq = 0};
    unsigned set = 0;
    int64_t there;
    int taken = store_sqlite_number(d, e, &there, "SELECT 1 FROM notes WHERE id=?1", "s", row->id);
    if (taken || !row->before.p)
        return taken < 0 ? -1 : 0;
    if (store_sqlite_before_read(u->arena, &journal_note, row->before, &n, &set, &n.chain, e))
        return -1;
    if (store_sqlite_note_expired(&n))
        n.expires = (struct fumi_time){0};
    return store_sqlite_change_add(d, &u->change, &n, NULL, e) ? -1 : 1;
}

static int undo_group_add(struct db *d, struct undo *u, const struct change *row,
                          struct fumi_err *e)
{
    struct group is;
    bool valid;
    int found = store_sqlite_group_find(d, u->arena, row->id, &is, &valid, e);
    if (found <= 0 || !is_ours(u, is.project))
        return found < 0 ? -1 : 0;
    return store_sqlite_group_drop(d, &u->change, &is, valid, e) ? -1 : 1;
}

static int undo_global_add(struct db *d, struct undo *u, const struct change *row,
                           struct fumi_err *e)
{
    struct global is;
    bool valid;
    int found = store_sqlite_global_find(d, u->arena, row->id, &is, &valid, e);
    if (found <= 0 || !is_ours(u, is.project))
        return found < 0 ? -1 : 0;
    return store_sqlite_global_drop(d, &u->change, &is, valid, e) ? -1 : 1;
}

/* Gives a group its members of before, or adds it again. */
static int undo_group(struct db *d, struct undo *u, const struct change *row, struct fumi_err *e)
{
    static const char sql[] = "SELECT 1 FROM groups WHERE project=?1 AND key=?2 AND id<>?3";
    bool deleted = row->op == CHANGE_GROUP_DELETE, valid = true;
    struct group is = {.created = 0};
    unsigned set = 0;
    int64_t there, chain;
    int found = store_sqlite_group_find(d, u->arena, row->id, &is, &valid, e);
    if (found < 0 || found == deleted || !valid || !row->before.p || !is_ours(u, row->project) ||
        (found && !is_ours(u, is.project)))
        return found < 0 ? -1 : 0;
    struct group to = is;
    if (store_sqlite_before_read(u->arena, &journal_group, row->before, &to, &set, &chain, e))
        return -1;
    int taken = store_sqlite_number(d, e, &there, sql, "sss", to.project, to.key, to.id);
    if (taken)
        return taken < 0 ? -1 : 0;
    return store_sqlite_group_write(d, &u->change, deleted ? NULL : &is, &to, e) ||
                   (!deleted && return_reviews(d, u, is.project, to.project, e))
               ? -1
               : 1;
}

static int undo_global(struct db *d, struct undo *u, const struct change *row, struct fumi_err *e)
{
    static const char sql[] = "SELECT 1 FROM globals WHERE project=?1 AND key=?2 AND id<>?3";
    bool deleted = row->op == CHANGE_GLOBAL_DELETE, valid = true;
    struct global is = {.updated = 0};
    unsigned set = 0;
    int64_t there, chain;
    int found = store_sqlite_global_find(d, u->arena, row->id, &is, &valid, e);
    if (found < 0 || found == deleted || !valid || !row->before.p || !is_ours(u, row->project) ||
        (found && !is_ours(u, is.project)))
        return found < 0 ? -1 : 0;
    struct global to = is;
    if (store_sqlite_before_read(u->arena, &journal_global, row->before, &to, &set, &chain, e))
        return -1;
    int taken = store_sqlite_number(d, e, &there, sql, "sss", to.project, to.key, to.id);
    if (taken)
        return taken < 0 ? -1 : 0;
    return store_sqlite_global_write(d, &u->change, deleted ? NULL : &is, &to, e) ||
                   (!deleted && return_reviews(d, u, is.project, to.project, e))
               ? -1
               : 1;
}

typedef int put_back_fn(struct db *d, struct undo *u, const struct change *row, struct fumi_err *e);
static put_back_fn *const functions[CHANGE_OPS] = {
    [CHANGE_ADD] = undo_add,
    [CHANGE_UPDATE] = undo_update,
    [CHANGE_DELETE] = undo_delete,
    [CHANGE_EXPIRE] = undo_delete,
    [CHANGE_GROUP_ADD] = undo_group_add,
    [CHANGE_GROUP_UPDATE] = undo_group,
    [CHANGE_GROUP_DELETE] = undo_group,
    [CHANGE_GLOBAL_ADD] = undo_global_add,
    [CHANGE_GLOBAL_UPDATE] = undo_global,
    [CHANGE_GLOBAL_DELETE] = undo_global,
};

static int put_back(struct db *d, struct undo *u, const struct change *row, struct fumi_err *e)
{
    struct looking l = {.u = u, .row = row};
    struct undone *out = u->out;
    if (row->op == CHANGE_FORGET)
        return 0;
    if (look_later(d, &l, e))
        return -1;
    if (l.is == PUT_BACK)
        return 0;
    u->change.undoes = row->change;
    int done = l.is == NOTHING ? functions[row->op](d, u, row, e) : 0;
    if (done < 0)
        return -1;
    if (done)
        out->rows[out->rows_n++] = (struct undone_row){row->op, row->id};
    else
        out->conflicts[out->conflicts_n++] = (struct undo_conflict){row->id, l.change};
    return 0;
}

/* A note whose successor does not exist, or which is among the successors of its successor, becomes
 * current; one key has one current note. */
static int settle(struct db *d, struct undo *u, struct fumi_str id, struct fumi_err *e)
{
    struct stored is;
    int64_t there;
    int found = store_sqlite_find(d, u->arena, id, 0, &is, e), cycle;
    if (found <= 0 || is.damaged)
        return found < 0 ? -1 : 0;
    if (!is.note.superseded_by.p)
        return store_sqlite_change_settle(d, &u->change, id, false, e);
    cycle = store_sqlite_is_successor(d, u->arena, is.note.superseded_by, id, e);
    found = store_sqlite_number(d, e, &there, "SELECT 1 FROM notes WHERE id=?1", "s",
                                is.note.superseded_by);
    if (found < 0 || cycle < 0 || (found && !cycle))
        return found < 0 || cycle < 0 ? -1 : 0;
    struct note to = is.note;
    to.superseded_by = (struct fumi_str){0};
    return store_sqlite_change_note(d, &u->change, &is, &to, NOTE_SUPERSEDED_BY, NULL, e) ||
                   store_sqlite_change_settle(d, &u->change, id, false, e)
               ? -1
               : 0;
}

static int undo_all(struct db *d, struct undo *u, struct fumi_err *e)
{
    for (size_t i = 0; i < u->rows.n; i++)
        if (put_back(d, u, &u->rows.items[i], e))
            return -1;
    u->change.undoes = 0;
    for (size_t i = 0; i < u->out->rows_n; i++)
        if (ops[u->out->rows[i].op].kind == &journal_note && settle(d, u, u->out->rows[i].id, e))
            return -1;
    return 0;
}

static int undo(struct db *d, void *arg, struct fumi_err *e)
{
    struct undo *u = arg;
    u->change = store_sqlite_change_begin(u->by, u->arena);
    u->rows.n = 0;
    u->left = u->entered = (struct fumi_str){0};
    if (read_rows(d, u, e))
        return -1;
    *u->out = (struct undone){
        .rows = fumi_alloc(u->arena, u->rows.n * sizeof(*u->out->rows)),
        .conflicts = fumi_alloc(u->arena, u->rows.n * sizeof(*u->out->conflicts))};
    if (u->query->dry_run && store_sqlite_run(d, e, "SAVEPOINT dry", ""))
        return -1;
    if (undo_all(d, u, e))
        return -1;
    u->out->change = u->query->dry_run ? 0 : u->change.change;
    d->origin = u->query->dry_run ? 0 : d->origin;
    return u->query->dry_run && (store_sqlite_run(d, e, "ROLLBACK TO dry", "") ||
                                 store_sqlite_run(d, e, "RELEASE dry", ""))
               ? -1
               : 0;
}

int store_sqlite_undo(struct store *s, struct fumi_arena *a, const struct undo_query *q,
                      const struct author *by, struct undone *out, struct fumi_err *e)
{
    struct undo u = {.arena = a, .query = q, .by = by, .out = out};
    *out = (struct undone){0};
    return store_sqlite_write(s, undo, &u, e);
}
