/* Each operation checks what it was given, and then calls the same operation of the store inside.
 * An operation that has only an id looks up the project of what has that id first. */
#include "store/scoped.h"

#include "store/store_ops.h"

struct scoped {
    struct store base;
    struct store *in;
    struct scope scope;
    char project[];
};

static const struct scoped *of(const struct store *s)
{
    return (const struct scoped *)(const void *)s;
}

int scope_writes(const struct scope *s, struct fumi_err *e)
{
    if (!s->read_only)
        return 0;
    return fumi_err_set(e, FUMI_LIMIT,
                        "this server is read-only (started with --read-only): nothing can be "
                        "stored, changed or removed here");
}

static bool is_ours(const struct scope *s, struct fumi_str project)
{
    return !s->project.p || fumi_eq(project, s->project);
}

int scope_admits(const struct scope *s, struct fumi_str project, struct fumi_err *e)
{
    if (is_ours(s, project))
        return 0;
    return fumi_err_set(e, FUMI_INVALID_PARAMS,
                        "projectId names another project: this server was started with --project "
                        "and serves only %.*s",
                        FUMI_ARG(s->project));
}

static int may_write(const struct scoped *s, struct fumi_str project, struct fumi_err *e)
{
    return scope_writes(&s->scope, e) || scope_admits(&s->scope, project, e) ? -1 : 0;
}

/* For operations on all projects. */
static int may_all(const struct scoped *s, bool writes, struct fumi_err *e)
{
    if (writes && scope_writes(&s->scope, e))
        return -1;
    if (!s->scope.project.p)
        return 0;
    return fumi_err_set(e, FUMI_LIMIT,
                        "this concerns all projects: this server was started with --project and "
                        "serves only %.*s",
                        FUMI_ARG(s->scope.project));
}

/* --- Notes. --- */

/* What is found under an id. A failure of the store leaves `project` null; damage does not. */
enum whose { OURS, ANOTHERS, NOBODYS, UNKNOWN };

static enum whose whose(const struct scoped *s, int rc, struct fumi_str project,
                        const struct fumi_err *e)
{
    if (rc && !project.p)
        return e->code == ERR_NOT_FOUND ? NOBODYS : UNKNOWN;
    return is_ours(&s->scope, project) ? OURS : ANOTHERS;
}

static int add_note(struct store *base, struct note *n, const struct vectors *v, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_write(s, n->project, e) ? -1 : store_add_note(s->in, n, v, e);
}

/* The sentence is set here for an id that does not exist, too, so that both are the same. */
static int get_note(struct store *base, struct fumi_arena *a, struct fumi_str id, struct note *out,
                    struct fumi_err *e)
{
    const struct scoped *s = of(base);
    *out = (struct note){0};
    int rc = store_get_note(s->in, a, id, out, e);
    enum whose w = whose(s, rc, out->project, e);
    if (w == OURS || w == UNKNOWN)
        return rc;
    *out = (struct note){0};
    return fumi_err_set(e, ERR_NOT_FOUND, "Note not found");
}

static int update_note(struct store *base, struct fumi_str id, const struct note *to, unsigned set,
                       const struct vectors *v, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    struct fumi_arena a = {0};
    struct note n;
    int rc = scope_writes(&s->scope, e) || get_note(base, &a, id, &n, e);
    fumi_arena_done(&a);
    return rc ? -1 : store_update_note(s->in, id, to, set, v, e);
}

struct sought {
    struct fumi_str id;
    bool found;
};

static int seek_global(void *arg, void *row, size_t bytes, struct fumi_err *e)
{
    (void)bytes, (void)e;
    struct sought *t = arg;
    const struct global *g = row;
    t->found = fumi_eq(g->id, t->id);
    return t->found ? ROW_END : ROW_SKIP;
}

static int has_global(const struct scoped *s, struct fumi_arena *a, struct fumi_str id, bool *found,
                      struct fumi_err *e)
{
    struct sought t = {id, false};
    const struct loading to = {a, seek_global, &t};
    struct globals none;
    int rc = store_list_globals(s->in, &to, s->scope.project, FUMI_STR(""), &none, e);
    *found = t.found;
    return rc;
}

/* Whether `drop` of the store inside would drop something of ours. It takes a note first: a global
 * of ours with the id of another's note must not be dropped by that id. */
static int may_drop(const struct scoped *s, struct fumi_arena *a, struct fumi_str id,
                    struct fumi_err *e)
{
    struct note n = {0};
    int rc = store_get_note(s->in, a, id, &n, e);
    enum whose w = whose(s, rc, n.project, e);
    bool found = w == OURS;
    if (w == UNKNOWN || (w == NOBODYS && has_global(s, a, id, &found, e)))
        return -1;
    return found ? 0 : fumi_err_set(e, ERR_NOT_FOUND, "Not found");
}

static int delete_any(struct store *base, struct fumi_str id, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    struct fumi_arena a = {0};
    if (scope_writes(&s->scope, e))
        return -1;
    int rc = s->scope.project.p ? may_drop(s, &a, id, e) : 0;
    fumi_arena_done(&a);
    return rc ? -1 : store_delete(s->in, id, e);
}

/* --- Lists and search. --- */

/* Lets *f be a filter of our project; `room` is where it is kept. */
static int narrow(const struct scoped *s, const struct filter **f, struct filter *room,
                  struct fumi_err *e)
{
    if (!s->scope.project.p)
        return 0;
    *room = *f ? **f : (struct filter){.since = INT64_MIN, .until = INT64_MAX};
    if (room->project.p && scope_admits(&s->scope, room->project, e))
        return -1;
    room->project = s->scope.project;
    *f = room;
    return 0;
}

static int list_recent(struct store *base, const struct loading *to, const struct filter *f,
                       struct cursor after, size_t limit, struct notes *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    struct filter own;
    return narrow(s, &f, &own, e) ? -1 : store_list_recent(s->in, to, f, after, limit, out, e);
}

static int list_by_seq(struct store *base, struct fumi_arena *a, const struct filter *f,
                       int64_t after, size_t limit, struct notes *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    struct filter own;
    return narrow(s, &f, &own, e) ? -1 : store_list_by_seq(s->in, a, f, after, limit, out, e);
}

struct sieve {
    const struct scoped *s;
    const struct loading *to;
};

static int sift(void *arg, void *row, size_t bytes, struct fumi_err *e)
{
    const struct sieve *v = arg;
    const struct note *n = row;
    return is_ours(&v->s->scope, n->project) ? loading_ask(v->to, row, bytes, e) : ROW_SKIP;
}

static int load_notes(struct store *base, const struct loading *to, const int64_t *seqs, size_t n,
                      struct notes *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    struct sieve v = {s, to};
    const struct loading own = {to->arena, sift, &v};
    return store_load_notes(s->in, &own, seqs, n, out, e);
}

static int load_heads(struct store *base, struct fumi_arena *a, const int64_t *seqs, size_t n,
                      struct notes *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return store_load_heads(s->in, a, seqs, n, out, e);
}

/* Of all projects only ours. The store inside compares the parts of names. */
static int project_name(const struct scoped *s, struct fumi_arena *a, const struct naming *what,
                        struct names *out, struct fumi_err *e)
{
    struct naming all = *what;
    struct names found;
    all.limit = SIZE_MAX >> 1;
    *out = (struct names){0};
    if (!what->limit)
        return 0;
    if (store_list_names(s->in, a, &all, &found, e))
        return -1;
    for (size_t i = 0; i < found.n && !out->n; i++)
        if (is_ours(&s->scope, found.items[i].text))
            *out = (struct names){&found.items[i], 1};
    return 0;
}

static int list_names(struct store *base, struct fumi_arena *a, const struct naming *what,
                      struct names *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    struct naming own = *what;
    if (!s->scope.project.p)
        return store_list_names(s->in, a, what, out, e);
    if (what->kind == NAME_PROJECT)
        return project_name(s, a, what, out, e);
    *out = (struct names){0};
    if (what->project.p && !is_ours(&s->scope, what->project))
        return 0;
    own.project = s->scope.project;
    return store_list_names(s->in, a, &own, out, e);
}

static int nearest(struct store *base, struct fumi_arena *a, const struct filter *f,
                   struct fumi_str space, const float *query, size_t dim, size_t limit,
                   struct hits *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    struct filter own;
    return narrow(s, &f, &own, e) ? -1
                                  : store_nearest(s->in, a, f, space, query, dim, limit, out, e);
}

static int score_vectors(struct store *base, struct fumi_arena *a, struct fumi_str space,
                         const float *query, size_t dim, const int64_t *seqs, size_t n,
                         struct hits *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return store_score_vectors(s->in, a, space, query, dim, seqs, n, out, e);
}

static int match_keywords(struct store *base, struct fumi_arena *a, const struct filter *f,
                          struct fumi_str query, size_t limit, struct hits *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    struct filter own;
    return narrow(s, &f, &own, e) ? -1 : store_match_keywords(s->in, a, f, query, limit, out, e);
}

static int count_notes(struct store *base, const struct filter *f, struct filtered *out,
                       struct fumi_err *e)
{
    const struct scoped *s = of(base);
    struct filter own;
    return narrow(s, &f, &own, e) ? -1 : store_count_notes(s->in, f, out, e);
}

/* --- Groups and globals. --- */

static int add_group(struct store *base, const struct group *g, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_write(s, g->project, e) ? -1 : store_add_group(s->in, g, e);
}

static int get_group(struct store *base, struct fumi_arena *a, struct fumi_str id,
                     struct group *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    *out = (struct group){0};
    int rc = store_get_group(s->in, a, id, out, e);
    enum whose w = whose(s, rc, out->project, e);
    if (w == OURS || w == UNKNOWN)
        return rc;
    *out = (struct group){0};
    return fumi_err_set(e, ERR_NOT_FOUND, "Group not found");
}

/* Whether the group may be changed; a damaged one may be dropped. */
static int may_change(struct store *base, struct fumi_str id, bool damaged, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    struct fumi_arena a = {0};
    struct group g;
    if (scope_writes(&s->scope, e))
        return -1;
    int rc = get_group(base, &a, id, &g, e);
    rc = damaged && g.project.p ? 0 : rc;
    fumi_arena_done(&a);
    return rc;
}

static int update_group(struct store *base, struct fumi_str id, struct fumi_str title,
                        struct fumi_str description, int64_t now, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_change(base, id, false, e)
               ? -1
               : store_update_group(s->in, id, title, description, now, e);
}

static int delete_group(struct store *base, struct fumi_str id, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_change(base, id, true, e) ? -1 : store_delete_group(s->in, id, e);
}

/* The project of a list: ours, if none is named. */
static int narrow_list(const struct scoped *s, struct fumi_str *project, struct fumi_err *e)
{
    if (project->p)
        return scope_admits(&s->scope, *project, e);
    *project = s->scope.project;
    return 0;
}

static int list_groups(struct store *base, const struct loading *to, struct fumi_str project,
                       struct groups *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return narrow_list(s, &project, e) ? -1 : store_list_groups(s->in, to, project, out, e);
}

static int set_global(struct store *base, struct fumi_arena *a, struct global *g,
                      struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_write(s, g->project, e) ? -1 : store_set_global(s->in, a, g, e);
}

static int get_global(struct store *base, struct fumi_arena *a, struct fumi_str project,
                      struct fumi_str key, struct global *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return scope_admits(&s->scope, project, e) ? -1
                                               : store_get_global(s->in, a, project, key, out, e);
}

static int list_globals(struct store *base, const struct loading *to, struct fumi_str project,
                        struct fumi_str prefix, struct globals *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return narrow_list(s, &project, e) ? -1
                                       : store_list_globals(s->in, to, project, prefix, out, e);
}

static int merge_note(struct store *base, struct fumi_arena *a, struct note *n, enum merged *out,
                      struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_write(s, n->project, e) ? -1 : store_merge_note(s->in, a, n, out, e);
}

static int merge_group(struct store *base, struct fumi_arena *a, struct group *g, enum merged *out,
                       struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_write(s, g->project, e) ? -1 : store_merge_group(s->in, a, g, out, e);
}

static int merge_global(struct store *base, struct fumi_arena *a, struct global *g,
                        enum merged *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_write(s, g->project, e) ? -1 : store_merge_global(s->in, a, g, out, e);
}

/* --- The store as a whole. --- */

static int list_unembedded(struct store *base, struct fumi_arena *a, struct fumi_str space,
                           int64_t after, size_t limit, struct unembeddeds *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_all(s, false, e) ? -1 : store_list_unembedded(s->in, a, space, after, limit, out, e);
}

static int add_vectors(struct store *base, const struct unembedded *notes, const struct vectors *v,
                       size_t n, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_all(s, true, e) ? -1 : store_add_vectors(s->in, notes, v, n, e);
}

static int embedding_progress(struct store *base, struct fumi_str space, int64_t *have,
                              int64_t *all, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    struct store_stats own;
    if (!s->scope.project.p)
        return store_embedding_progress(s->in, space, have, all, e);
    if (store_project_stats(s->in, s->scope.project, space, &own, have, e))
        return -1;
    *all = own.notes;
    return 0;
}

static int delete_spaces(struct store *base, struct fumi_str keep, struct fumi_str also,
                         struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_all(s, true, e) ? -1 : store_delete_spaces(s->in, keep, also, e);
}

static int get_meta(struct store *base, struct fumi_arena *a, const char *name,
                    struct fumi_str *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_all(s, false, e) ? -1 : store_get_meta(s->in, a, name, out, e);
}

static int set_meta(struct store *base, const char *name, struct fumi_str value, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_all(s, true, e) ? -1 : store_set_meta(s->in, name, value, e);
}

static int change_number(struct store *base, int64_t *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return store_change_number(s->in, out, e);
}

static int project_stats(struct store *base, struct fumi_str project, struct fumi_str space,
                         struct store_stats *out, int64_t *have, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return scope_admits(&s->scope, project, e)
               ? -1
               : store_project_stats(s->in, project, space, out, have, e);
}

static int stats(struct store *base, struct store_stats *out, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    int64_t have;
    if (!s->scope.project.p)
        return store_stats(s->in, out, e);
    return store_project_stats(s->in, s->scope.project, FUMI_STR(""), out, &have, e);
}

static int backup(struct store *base, struct fumi_str path, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_all(s, false, e) ? -1 : store_backup(s->in, path, e);
}

static int check(struct store *base, bool repair, void (*say)(void *arg, const char *sentence),
                 void *arg, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_all(s, repair, e) ? -1 : store_check(s->in, repair, say, arg, e);
}

static int erase_step(struct store *base, bool *more, struct fumi_err *e)
{
    const struct scoped *s = of(base);
    return may_all(s, true, e) ? -1 : store_erase_step(s->in, more, e);
}

static void close_scoped(struct store *base)
{
    fumi_resize(base, 0);
}

static const struct store_ops ops = {
    .name = "scoped",
    .add_note = add_note,
    .get_note = get_note,
    .update_note = update_note,
    .delete = delete_any,
    .list_recent = list_recent,
    .list_by_seq = list_by_seq,
    .load_notes = load_notes,
    .load_heads = load_heads,
    .list_names = list_names,
    .nearest = nearest,
    .score_vectors = score_vectors,
    .match_keywords = match_keywords,
    .count_notes = count_notes,
    .add_group = add_group,
    .get_group = get_group,
    .update_group = update_group,
    .delete_group = delete_group,
    .list_groups = list_groups,
    .set_global = set_global,
    .get_global = get_global,
    .list_globals = list_globals,
    .merge_note = merge_note,
    .merge_group = merge_group,
    .merge_global = merge_global,
    .list_unembedded = list_unembedded,
    .add_vectors = add_vectors,
    .embedding_progress = embedding_progress,
    .delete_spaces = delete_spaces,
    .get_meta = get_meta,
    .set_meta = set_meta,
    .change_number = change_number,
    .stats = stats,
    .project_stats = project_stats,
    .backup = backup,
    .check = check,
    .erase_step = erase_step,
    .close = close_scoped,
};

struct store *scoped_new(struct store *in, const struct scope *s)
{
    struct scoped *own = fumi_resize(NULL, sizeof(*own) + s->project.n);
    *own = (struct scoped){.base = {&ops}, .in = in, .scope = *s};
    if (s->project.p) {
        memcpy(own->project, s->project.p, s->project.n);
        own->scope.project.p = own->project;
    }
    return &own->base;
}
