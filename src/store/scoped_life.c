/* History, reviews, uses and projects of a scope. Queries that take a project get that of the
 * scope, so that the inner store does not look at the rows of other projects. */
#include "store/scoped_parts.h"

int scoped_expire(struct store *base, size_t limit, bool *more, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_all(s, true, e) ? -1 : store_expire(s->in, limit, more, e);
}

int scoped_history(struct store *base, struct fumi_arena *a, const struct history_query *q,
                   struct changes *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct history_query own = *q;
    return scoped_narrow(s, &own.project, e) ? -1 : store_history(s->in, a, &own, out, e);
}

int scoped_undo(struct store *base, struct fumi_arena *a, const struct undo_query *q,
                const struct author *by, struct undone *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct undo_query own = *q;
    if ((!q->dry_run && scope_writes(&s->scope, e)) || scoped_narrow(s, &own.project, e))
        return -1;
    return store_undo(s->in, a, &own, by, out, e);
}

int scoped_forget(struct store *base, struct fumi_arena *a, const struct forget_query *q,
                  const struct author *by, struct forgotten *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct forget_query own = *q;
    if (scope_writes(&s->scope, e) || scoped_narrow(s, &own.project, e))
        return -1;
    return store_forget(s->in, a, &own, by, out, e);
}

int scoped_remove_copies(struct store *base, struct fumi_arena *a, struct fumi_strs *out,
                         struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_all(s, true, e) ? -1 : store_remove_copies(s->in, a, out, e);
}

int scoped_prune_history(struct store *base, int64_t older_than, int64_t max_bytes, bool *more,
                         struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_all(s, true, e) ? -1
                                      : store_prune_history(s->in, older_than, max_bytes, more, e);
}

int scoped_add_injection(struct store *base, const struct injection *i, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_write(s, i->project, e) ? -1 : store_add_injection(s->in, i, e);
}

int scoped_list_injections(struct store *base, struct fumi_arena *a,
                           const struct injection_query *q, struct injections *out,
                           struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct injection_query own = *q;
    return scoped_narrow(s, &own.project, e) ? -1 : store_list_injections(s->in, a, &own, out, e);
}

/* The caller has the numbers from results of the same view. */
int scoped_add_uses(struct store *base, const struct note_use *items, size_t n, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scope_writes(&s->scope, e) ? -1 : store_add_uses(s->in, items, n, e);
}

int scoped_list_unused(struct store *base, struct fumi_arena *a, struct fumi_str project,
                       int64_t since, size_t limit, struct note_uses *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_narrow(s, &project, e)
               ? -1
               : store_list_unused(s->in, a, project, since, limit, out, e);
}

int scoped_add_review(struct store *base, const struct review *r, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_write(s, r->project, e) ? -1 : store_add_review(s->in, r, e);
}

int scoped_list_reviews(struct store *base, struct fumi_arena *a, struct fumi_str project,
                        size_t limit, struct reviews *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_narrow(s, &project, e) ? -1
                                         : store_list_reviews(s->in, a, project, limit, out, e);
}

int scoped_get_review(struct store *base, struct fumi_arena *a, struct fumi_str id,
                      struct review *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    if (store_get_review(s->in, a, id, out, e))
        return -1;
    if (scoped_is_ours(&s->scope, out->project))
        return 0;
    *out = (struct review){0};
    return fumi_err_set(e, ERR_NOT_FOUND, "Review not found");
}

int scoped_drop_review(struct store *base, struct fumi_str id, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    struct fumi_arena a = {0};
    struct review r;
    int rc = scope_writes(&s->scope, e) || scoped_get_review(base, &a, id, &r, e);
    fumi_arena_done(&a);
    return rc ? -1 : store_drop_review(s->in, id, e);
}

int scoped_set_project_remote(struct store *base, struct fumi_str project, struct fumi_str remote,
                              int64_t now, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    return scoped_may_write(s, project, e)
               ? -1
               : store_set_project_remote(s->in, project, remote, now, e);
}

int scoped_find_projects(struct store *base, struct fumi_arena *a, struct fumi_str remote,
                         struct projects *out, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    size_t n = 0;
    if (store_find_projects(s->in, a, remote, out, e))
        return -1;
    for (size_t i = 0; i < out->n; i++)
        if (scoped_is_ours(&s->scope, out->items[i].name))
            out->items[n++] = out->items[i];
    out->n = n;
    return 0;
}

int scoped_move_notes(struct store *base, struct moving *m, struct fumi_err *e)
{
    const struct scoped *s = scoped_of(base);
    int refused = m->to.p ? scoped_may_all(s, true, e) : scoped_may_write(s, m->from, e);
    return refused ? -1 : store_move_notes(s->in, m, e);
}
