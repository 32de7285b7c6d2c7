/* Each operation checks its arguments and then calls the same operation of the inner store. An
 * operation that takes only an id first looks up the project of that id. */
#include "store/scoped_parts.h"

#include <assert.h>

int scope_writes(const struct scope *s, struct fumi_err *e)
{
    if (!s->read_only)
        return 0;
    return fumi_err_set(e, FUMI_LIMIT,
                        "this server is read-only (started with --read-only): nothing can be "
                        "stored, changed or removed here");
}

bool scoped_is_ours(const struct scope *s, struct fumi_str project)
{
    return !s->project.p || fumi_eq(project, s->project);
}

int scope_admits(const struct scope *s, struct fumi_str project, struct fumi_err *e)
{
    if (scoped_is_ours(s, project))
        return 0;
    return fumi_err_set(e, FUMI_INVALID_PARAMS,
                        "projectId names another project: this server was started with --project "
                        "and serves only %.*s",
                        FUMI_ARG(s->project));
}

int scoped_may_write(const struct scoped *s, struct fumi_str project, struct fumi_err *e)
{
    return scope_writes(&s->scope, e) || scope_admits(&s->scope, project, e) ? -1 : 0;
}

int scoped_may_all(const struct scoped *s, bool writes, struct fumi_err *e)
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

/* Which project an id belongs to; UNKNOWN: the store failed. */
enum owner { OURS, ANOTHERS, NOT_FOUND, UNKNOWN };

/* `rc`, `project` and *e are the result of a lookup by id. The project is null if the lookup
 * failed, but not if the row is damaged. */
static enum owner owner_of(const struct scoped *s, int rc, struct fumi_str project,
                           const struct fumi_err *e)
{
    if (rc && !project.p)
        return e->code == ERR_NOT_FOUND ? NOT_FOUND : UNKNOWN;
    return scoped_is_ours(&s->scope, project) ? OURS : ANOTHERS;
}

static int scoped_add_note(struct store *base, struct fumi_arena *a, struct note *n,
                           struct note_change *change, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_write(s, n->project, e) ? -1 : store_add_note(s->in, a, n, change, e);
}

/* Sets the error for a missing id too, so that it equals the error for an id of another project. */
static int scoped_get_note(struct store *base, struct fumi_arena *a, struct fumi_str id,
                           struct note *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    *out = (struct note){0};
    int rc = store_get_note(s->in, a, id, out, e);
    enum owner w = owner_of(s, rc, out->project, e);
    if (w == OURS || w == UNKNOWN)
        return rc;
    *out = (struct note){0};
    return fumi_err_set(e, ERR_NOT_FOUND, "Note not found");
}

static int scoped_update_note(struct store *base, struct fumi_arena *a, struct fumi_str id,
                              const struct note *to, unsigned set, struct note_change *change,
                              struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct fumi_arena own = {0};
    struct note n;
    int rc = scope_writes(&s->scope, e) || scoped_get_note(base, &own, id, &n, e) ||
             (set & NOTE_PROJECT && scope_admits(&s->scope, to->project, e));
    fumi_arena_done(&own);
    return rc ? -1 : store_update_note(s->in, a, id, to, set, change, e);
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

/* Whether store_delete of the inner store would delete a row of this project. It prefers notes to
 * globals: if a note of another project has the id of a global of ours, the call must fail. */
static int may_delete(const struct scoped *s, struct fumi_arena *a, struct fumi_str id,
                      struct fumi_err *e)
{
    struct note n = {0};
    int rc = store_get_note(s->in, a, id, &n, e);
    enum owner w = owner_of(s, rc, n.project, e);
    bool found = w == OURS;
    if (w == UNKNOWN || (w == NOT_FOUND && has_global(s, a, id, &found, e)))
        return -1;
    return found ? 0 : fumi_err_set(e, ERR_NOT_FOUND, "Not found");
}

static int scoped_delete(struct store *base, struct fumi_arena *a, struct fumi_str id,
                         struct note_change *change, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct fumi_arena own = {0};
    if (scope_writes(&s->scope, e))
        return -1;
    int rc = s->scope.project.p ? may_delete(s, &own, id, e) : 0;
    fumi_arena_done(&own);
    return rc ? -1 : store_delete(s->in, a, id, change, e);
}

/* Restricts the filter *f to our project. The new filter is written to *own. */
static int narrow(const struct scoped *s, const struct filter **f, struct filter *own,
                  struct fumi_err *e)
{
    if (!s->scope.project.p)
        return 0;
    *own = *f ? **f : (struct filter){.since = INT64_MIN, .until = INT64_MAX, .superseded = true};
    if (own->project.p && scope_admits(&s->scope, own->project, e))
        return -1;
    own->project = s->scope.project;
    *f = own;
    return 0;
}

static int scoped_list_recent(struct store *base, const struct loading *to, const struct filter *f,
                              struct cursor after, size_t limit, struct notes *out,
                              struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct filter own;
    return narrow(s, &f, &own, e) ? -1 : store_list_recent(s->in, to, f, after, limit, out, e);
}

static int scoped_list_by_seq(struct store *base, struct fumi_arena *a, const struct filter *f,
                              int64_t after, size_t limit, struct notes *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct filter own;
    return narrow(s, &f, &own, e) ? -1 : store_list_by_seq(s->in, a, f, after, limit, out, e);
}

struct own_notes {
    const struct scoped *s;
    const struct loading *to;
};

static int each_own(void *arg, void *row, size_t bytes, struct fumi_err *e)
{
    const struct own_notes *v = arg;
    const struct note *n = row;
    return scoped_is_ours(&v->s->scope, n->project) ? loading_each(v->to, row, bytes, e) : ROW_SKIP;
}

static int scoped_load_notes(struct store *base, const struct loading *to, const int64_t *seqs,
                             size_t n, struct notes *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct own_notes v = {s, to};
    const struct loading own = {to->arena, each_own, &v};
    return store_load_notes(s->in, &own, seqs, n, out, e);
}

static int scoped_load_heads(struct store *base, struct fumi_arena *a, const int64_t *seqs,
                             size_t n, struct notes *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return store_load_heads(s->in, a, seqs, n, out, e);
}

/* The list of projects contains at most ours. The inner store matches naming.part. */
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
        if (scoped_is_ours(&s->scope, found.items[i].text))
            *out = (struct names){&found.items[i], 1};
    return 0;
}

static int scoped_list_names(struct store *base, struct fumi_arena *a, const struct naming *what,
                             struct names *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct naming own = *what;
    if (!s->scope.project.p)
        return store_list_names(s->in, a, what, out, e);
    if (what->kind == NAME_PROJECT)
        return project_name(s, a, what, out, e);
    *out = (struct names){0};
    if (what->project.p && !scoped_is_ours(&s->scope, what->project))
        return 0;
    own.project = s->scope.project;
    return store_list_names(s->in, a, &own, out, e);
}

static int scoped_find_ids(struct store *base, struct fumi_arena *a, const struct id_prefix *what,
                           struct fumi_strs *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct id_prefix own = *what;
    *out = (struct fumi_strs){0};
    if (s->scope.project.p && own.project.p && !scoped_is_ours(&s->scope, own.project))
        return 0;
    if (s->scope.project.p)
        own.project = s->scope.project;
    return store_find_ids(s->in, a, &own, out, e);
}

static int scoped_nearest(struct store *base, struct fumi_arena *a, const struct filter *f,
                          struct fumi_str space, const float *query, size_t dim, size_t limit,
                          struct hits *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct filter own;
    return narrow(s, &f, &own, e) ? -1
                                  : store_nearest(s->in, a, f, space, query, dim, limit, out, e);
}

static int scoped_prepare_nearest(struct store *base, struct fumi_str space, size_t dim,
                                  struct fumi_err *e)
{
    return store_prepare_nearest(scoped_of(base)->in, space, dim, e);
}

static int scoped_score_vectors(struct store *base, struct fumi_arena *a, struct fumi_str space,
                                const float *query, size_t dim, const int64_t *seqs, size_t n,
                                struct hits *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return store_score_vectors(s->in, a, space, query, dim, seqs, n, out, e);
}

static int scoped_match_keywords(struct store *base, struct fumi_arena *a, const struct filter *f,
                                 const struct keyword_query *q, struct keyword_hits *out,
                                 struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct filter own;
    return narrow(s, &f, &own, e) ? -1 : store_match_keywords(s->in, a, f, q, out, e);
}

/* Neighbours belong to the project of their note, so only the notes are looked up. */
static int scoped_neighbours(struct store *base, struct fumi_arena *a, const int64_t *seqs,
                             size_t n, struct neighbours *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct notes heads = {0};
    if (store_neighbours(s->in, a, seqs, n, out, e))
        return -1;
    if (!s->scope.project.p)
        return 0;
    if (store_load_heads(s->in, a, seqs, n, &heads, e))
        return -1;
    for (size_t i = 0, k = 0; i < n; i++) {
        bool there = k < heads.n && heads.items[k].seq == seqs[i];
        if (!there || !scoped_is_ours(&s->scope, heads.items[k].project))
            out[i] = (struct neighbours){0};
        k += there;
    }
    return 0;
}

static int scoped_count_notes(struct store *base, const struct filter *f, struct filtered *out,
                              struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct filter own;
    return narrow(s, &f, &own, e) ? -1 : store_count_notes(s->in, f, out, e);
}

static int scoped_count_days(struct store *base, struct fumi_arena *a, const struct filter *f,
                             int64_t offset, struct days *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct filter own;
    return narrow(s, &f, &own, e) ? -1 : store_count_days(s->in, a, f, offset, out, e);
}

static int scoped_sample_vectors(struct store *base, const struct loading *to,
                                 const struct filter *f, struct fumi_str space, size_t limit,
                                 struct sample *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct filter own;
    return narrow(s, &f, &own, e) ? -1 : store_sample_vectors(s->in, to, f, space, limit, out, e);
}

static int scoped_add_group(struct store *base, const struct group *g, const struct author *by,
                            struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_write(s, g->project, e) ? -1 : store_add_group(s->in, g, by, e);
}

static int scoped_get_group(struct store *base, struct fumi_arena *a, struct fumi_str id,
                            struct group *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    *out = (struct group){0};
    int rc = store_get_group(s->in, a, id, out, e);
    enum owner w = owner_of(s, rc, out->project, e);
    if (w == OURS || w == UNKNOWN)
        return rc;
    *out = (struct group){0};
    return fumi_err_set(e, ERR_NOT_FOUND, "Group not found");
}

/* Whether the group may be changed. damaged: true accepts a damaged group, which may be deleted. */
static int may_change(struct store *base, struct fumi_str id, bool damaged, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct fumi_arena a = {0};
    struct group g;
    if (scope_writes(&s->scope, e))
        return -1;
    int rc = scoped_get_group(base, &a, id, &g, e);
    rc = damaged && g.project.p ? 0 : rc;
    fumi_arena_done(&a);
    return rc;
}

static int scoped_update_group(struct store *base, struct fumi_str id, struct fumi_str title,
                               struct fumi_str description, int64_t now, const struct author *by,
                               struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return may_change(base, id, false, e)
               ? -1
               : store_update_group(s->in, id, title, description, now, by, e);
}

static int scoped_delete_group(struct store *base, struct fumi_str id, const struct author *by,
                               struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return may_change(base, id, true, e) ? -1 : store_delete_group(s->in, id, by, e);
}

int scoped_narrow(const struct scoped *s, struct fumi_str *project, struct fumi_err *e)
{
    if (project->p)
        return scope_admits(&s->scope, *project, e);
    *project = s->scope.project;
    return 0;
}

static int scoped_list_groups(struct store *base, const struct loading *to, struct fumi_str project,
                              struct groups *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_narrow(s, &project, e) ? -1 : store_list_groups(s->in, to, project, out, e);
}

static int scoped_set_global(struct store *base, struct fumi_arena *a, struct global *g,
                             const struct author *by, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_write(s, g->project, e) ? -1 : store_set_global(s->in, a, g, by, e);
}

static int scoped_get_global(struct store *base, struct fumi_arena *a, struct fumi_str project,
                             struct fumi_str key, struct global *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scope_admits(&s->scope, project, e) ? -1
                                               : store_get_global(s->in, a, project, key, out, e);
}

static int scoped_list_globals(struct store *base, const struct loading *to,
                               struct fumi_str project, struct fumi_str prefix, struct globals *out,
                               struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_narrow(s, &project, e) ? -1
                                         : store_list_globals(s->in, to, project, prefix, out, e);
}

static struct fumi_str project_of(const struct merge_row *r)
{
    switch (r->kind) {
    case MERGE_NOTE:
        return r->note.project;
    case MERGE_GROUP:
        return r->group.project;
    case MERGE_GLOBAL:
        return r->global.project;
    }
    return (struct fumi_str){0};
}

/* Passes on the rows between those that are refused. */
static void scoped_merge(struct store *base, struct fumi_arena *a, struct merge_row *rows, size_t n,
                         const struct author *by)
{
    const struct scoped *s = scoped_of(base);
    for (size_t begin = 0, end; begin < n; begin = end + 1) {
        for (end = begin; end < n && !scoped_may_write(s, project_of(&rows[end]), &rows[end].e);
             end++)
            ;
        store_merge(s->in, a, rows + begin, end - begin, by);
    }
}

static int scoped_list_unembedded(struct store *base, struct fumi_arena *a, struct fumi_str space,
                                  int64_t after, size_t limit, struct unembeddeds *out,
                                  struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_all(s, false, e)
               ? -1
               : store_list_unembedded(s->in, a, space, after, limit, out, e);
}

static int scoped_load_unembedded(struct store *base, struct fumi_arena *a, struct fumi_str space,
                                  const int64_t *seqs, size_t n, struct unembeddeds *out,
                                  struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_all(s, false, e) ? -1
                                       : store_load_unembedded(s->in, a, space, seqs, n, out, e);
}

static int scoped_add_vectors(struct store *base, const struct unembedded *notes,
                              const struct vectors *v, size_t n, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_all(s, true, e) ? -1 : store_add_vectors(s->in, notes, v, n, e);
}

static int scoped_embedding_progress(struct store *base, struct fumi_str space, int64_t *have,
                                     int64_t *all, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct store_stats own;
    if (!s->scope.project.p)
        return store_embedding_progress(s->in, space, have, all, e);
    if (store_project_stats(s->in, s->scope.project, space, &own, have, e))
        return -1;
    *all = own.notes;
    return 0;
}

static int scoped_count_unembedded(struct store *base, struct fumi_str project,
                                   struct fumi_str space, int64_t *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    if (project.p && scope_admits(&s->scope, project, e))
        return -1;
    return store_count_unembedded(s->in, s->scope.project.p ? s->scope.project : project, space,
                                  out, e);
}

static int scoped_delete_spaces(struct store *base, struct fumi_str keep, struct fumi_str also,
                                struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_all(s, true, e) ? -1 : store_delete_spaces(s->in, keep, also, e);
}

static int scoped_get_meta(struct store *base, struct fumi_arena *a, const char *name,
                           struct fumi_str *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_all(s, false, e) ? -1 : store_get_meta(s->in, a, name, out, e);
}

static int scoped_set_meta(struct store *base, const char *name, struct fumi_str value,
                           struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_all(s, true, e) ? -1 : store_set_meta(s->in, name, value, e);
}

static int scoped_change_number(struct store *base, int64_t *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return store_change_number(s->in, out, e);
}

static int scoped_project_stats(struct store *base, struct fumi_str project, struct fumi_str space,
                                struct store_stats *out, int64_t *have, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scope_admits(&s->scope, project, e)
               ? -1
               : store_project_stats(s->in, project, space, out, have, e);
}

static int scoped_stats(struct store *base, struct store_stats *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    int64_t have;
    if (!s->scope.project.p)
        return store_stats(s->in, out, e);
    return store_project_stats(s->in, s->scope.project, FUMI_STR(""), out, &have, e);
}

static int scoped_backup(struct store *base, struct fumi_str path, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_all(s, false, e) ? -1 : store_backup(s->in, path, e);
}

static int scoped_check(struct store *base, bool repair,
                        void (*print)(void *arg, const char *sentence), void *arg,
                        struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_all(s, repair, e) ? -1 : store_check(s->in, repair, print, arg, e);
}

static int scoped_erase_step(struct store *base, bool *more, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_all(s, true, e) ? -1 : store_erase_step(s->in, more, e);
}

static void scoped_close(struct store *base)
{
    fumi_resize(base, 0);
}

#define OP(op) .op = scoped_##op,
static const struct store_ops ops = {.name = "scoped", STORE_OPS(OP)};
#undef OP

struct store *scoped_new(struct store *in, const struct scope *s)
{
    assert(in && in->ops);
    struct scoped *own = fumi_resize(NULL, sizeof(*own) + s->project.n);
    *own = (struct scoped){.base = {&ops}, .in = in, .scope = *s};
    if (s->project.p) {
        memcpy(own->project, s->project.p, s->project.n);
        own->scope.project.p = own->project;
    }
    return &own->base;
}
