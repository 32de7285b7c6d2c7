#include "store/store_ops.h"

int store_add_note(struct store *s, struct fumi_arena *a, struct note *n,
                   struct note_change *change, struct fumi_err *e)
{
    return s->ops->add_note(s, a, n, change, e);
}

int store_get_note(struct store *s, struct fumi_arena *a, struct fumi_str id, struct note *out,
                   struct fumi_err *e)
{
    return s->ops->get_note(s, a, id, out, e);
}

int store_update_note(struct store *s, struct fumi_arena *a, struct fumi_str id,
                      const struct note *to, unsigned set, struct note_change *change,
                      struct fumi_err *e)
{
    return s->ops->update_note(s, a, id, to, set, change, e);
}

int store_delete(struct store *s, struct fumi_arena *a, struct fumi_str id,
                 struct note_change *change, struct fumi_err *e)
{
    return s->ops->delete (s, a, id, change, e);
}

int store_expire(struct store *s, size_t limit, bool *more, struct fumi_err *e)
{
    return s->ops->expire(s, limit, more, e);
}

int store_list_recent(struct store *s, const struct loading *to, const struct filter *f,
                      struct cursor after, size_t limit, struct notes *out, struct fumi_err *e)
{
    return s->ops->list_recent(s, to, f, after, limit, out, e);
}

int store_list_by_seq(struct store *s, struct fumi_arena *a, const struct filter *f, int64_t after,
                      size_t limit, struct notes *out, struct fumi_err *e)
{
    return s->ops->list_by_seq(s, a, f, after, limit, out, e);
}

int store_load_notes(struct store *s, const struct loading *to, const int64_t *seqs, size_t n,
                     struct notes *out, struct fumi_err *e)
{
    return s->ops->load_notes(s, to, seqs, n, out, e);
}

int store_load_heads(struct store *s, struct fumi_arena *a, const int64_t *seqs, size_t n,
                     struct notes *out, struct fumi_err *e)
{
    return s->ops->load_heads(s, a, seqs, n, out, e);
}

int store_list_names(struct store *s, struct fumi_arena *a, const struct naming *what,
                     struct names *out, struct fumi_err *e)
{
    return s->ops->list_names(s, a, what, out, e);
}

int store_find_ids(struct store *s, struct fumi_arena *a, const struct id_prefix *what,
                   struct fumi_strs *out, struct fumi_err *e)
{
    return s->ops->find_ids(s, a, what, out, e);
}

int store_nearest(struct store *s, struct fumi_arena *a, const struct filter *f,
                  struct fumi_str space, const float *query, size_t dim, size_t limit,
                  struct hits *out, struct fumi_err *e)
{
    return s->ops->nearest(s, a, f, space, query, dim, limit, out, e);
}

int store_prepare_nearest(struct store *s, struct fumi_str space, size_t dim, struct fumi_err *e)
{
    return s->ops->prepare_nearest(s, space, dim, e);
}

int store_score_vectors(struct store *s, struct fumi_arena *a, struct fumi_str space,
                        const float *query, size_t dim, const int64_t *seqs, size_t n,
                        struct hits *out, struct fumi_err *e)
{
    return s->ops->score_vectors(s, a, space, query, dim, seqs, n, out, e);
}

int store_match_keywords(struct store *s, struct fumi_arena *a, const struct filter *f,
                         const struct keyword_query *q, struct keyword_hits *out,
                         struct fumi_err *e)
{
    return s->ops->match_keywords(s, a, f, q, out, e);
}

int store_neighbours(struct store *s, struct fumi_arena *a, const int64_t *seqs, size_t n,
                     struct neighbours *out, struct fumi_err *e)
{
    return s->ops->neighbours(s, a, seqs, n, out, e);
}

int store_count_notes(struct store *s, const struct filter *f, struct filtered *out,
                      struct fumi_err *e)
{
    return s->ops->count_notes(s, f, out, e);
}

int store_count_days(struct store *s, struct fumi_arena *a, const struct filter *f, int64_t offset,
                     struct days *out, struct fumi_err *e)
{
    return s->ops->count_days(s, a, f, offset, out, e);
}

int store_sample_vectors(struct store *s, const struct loading *to, const struct filter *f,
                         struct fumi_str space, size_t limit, struct sample *out,
                         struct fumi_err *e)
{
    return s->ops->sample_vectors(s, to, f, space, limit, out, e);
}

int store_add_group(struct store *s, const struct group *g, const struct author *by,
                    struct fumi_err *e)
{
    return s->ops->add_group(s, g, by, e);
}

int store_get_group(struct store *s, struct fumi_arena *a, struct fumi_str id, struct group *out,
                    struct fumi_err *e)
{
    return s->ops->get_group(s, a, id, out, e);
}

int store_update_group(struct store *s, struct fumi_str id, struct fumi_str title,
                       struct fumi_str description, int64_t now, const struct author *by,
                       struct fumi_err *e)
{
    return s->ops->update_group(s, id, title, description, now, by, e);
}

int store_delete_group(struct store *s, struct fumi_str id, const struct author *by,
                       struct fumi_err *e)
{
    return s->ops->delete_group(s, id, by, e);
}

int store_list_groups(struct store *s, const struct loading *to, struct fumi_str project,
                      struct groups *out, struct fumi_err *e)
{
    return s->ops->list_groups(s, to, project, out, e);
}

int store_set_global(struct store *s, struct fumi_arena *a, struct global *g,
                     const struct author *by, struct fumi_err *e)
{
    return s->ops->set_global(s, a, g, by, e);
}

int store_get_global(struct store *s, struct fumi_arena *a, struct fumi_str project,
                     struct fumi_str key, struct global *out, struct fumi_err *e)
{
    return s->ops->get_global(s, a, project, key, out, e);
}

int store_list_globals(struct store *s, const struct loading *to, struct fumi_str project,
                       struct fumi_str prefix, struct globals *out, struct fumi_err *e)
{
    return s->ops->list_globals(s, to, project, prefix, out, e);
}

void store_merge(struct store *s, struct fumi_arena *a, struct merge_row *rows, size_t n,
                 const struct author *by)
{
    s->ops->merge(s, a, rows, n, by);
}

int store_history(struct store *s, struct fumi_arena *a, const struct history_query *q,
                  struct changes *out, struct fumi_err *e)
{
    return s->ops->history(s, a, q, out, e);
}

int store_undo(struct store *s, struct fumi_arena *a, const struct undo_query *q,
               const struct author *by, struct undone *out, struct fumi_err *e)
{
    return s->ops->undo(s, a, q, by, out, e);
}

int store_forget(struct store *s, struct fumi_arena *a, const struct forget_query *q,
                 const struct author *by, struct forgotten *out, struct fumi_err *e)
{
    return s->ops->forget(s, a, q, by, out, e);
}

int store_remove_copies(struct store *s, struct fumi_arena *a, struct fumi_strs *out,
                        struct fumi_err *e)
{
    return s->ops->remove_copies(s, a, out, e);
}

int store_prune_history(struct store *s, int64_t older_than, int64_t max_bytes, bool *more,
                        struct fumi_err *e)
{
    return s->ops->prune_history(s, older_than, max_bytes, more, e);
}

int store_add_injection(struct store *s, const struct injection *i, struct fumi_err *e)
{
    return s->ops->add_injection(s, i, e);
}

int store_list_injections(struct store *s, struct fumi_arena *a, const struct injection_query *q,
                          struct injections *out, struct fumi_err *e)
{
    return s->ops->list_injections(s, a, q, out, e);
}

int store_add_uses(struct store *s, const struct note_use *items, size_t n, struct fumi_err *e)
{
    return s->ops->add_uses(s, items, n, e);
}

int store_list_unused(struct store *s, struct fumi_arena *a, struct fumi_str project, int64_t since,
                      size_t limit, struct note_uses *out, struct fumi_err *e)
{
    return s->ops->list_unused(s, a, project, since, limit, out, e);
}

int store_add_review(struct store *s, const struct review *r, struct fumi_err *e)
{
    return s->ops->add_review(s, r, e);
}

int store_list_reviews(struct store *s, struct fumi_arena *a, struct fumi_str project, size_t limit,
                       struct reviews *out, struct fumi_err *e)
{
    return s->ops->list_reviews(s, a, project, limit, out, e);
}

int store_get_review(struct store *s, struct fumi_arena *a, struct fumi_str id, struct review *out,
                     struct fumi_err *e)
{
    return s->ops->get_review(s, a, id, out, e);
}

int store_drop_review(struct store *s, struct fumi_str id, struct fumi_err *e)
{
    return s->ops->drop_review(s, id, e);
}

int store_set_project_remote(struct store *s, struct fumi_str project, struct fumi_str remote,
                             int64_t now, struct fumi_err *e)
{
    return s->ops->set_project_remote(s, project, remote, now, e);
}

int store_find_projects(struct store *s, struct fumi_arena *a, struct fumi_str remote,
                        struct projects *out, struct fumi_err *e)
{
    return s->ops->find_projects(s, a, remote, out, e);
}

int store_move_notes(struct store *s, struct moving *m, struct fumi_err *e)
{
    return s->ops->move_notes(s, m, e);
}

int store_list_unembedded(struct store *s, struct fumi_arena *a, struct fumi_str space,
                          int64_t after, size_t limit, struct unembeddeds *out, struct fumi_err *e)
{
    return s->ops->list_unembedded(s, a, space, after, limit, out, e);
}

int store_load_unembedded(struct store *s, struct fumi_arena *a, struct fumi_str space,
                          const int64_t *seqs, size_t n, struct unembeddeds *out,
                          struct fumi_err *e)
{
    return s->ops->load_unembedded(s, a, space, seqs, n, out, e);
}

int store_add_vectors(struct store *s, const struct unembedded *notes, const struct vectors *v,
                      size_t n, struct fumi_err *e)
{
    return s->ops->add_vectors(s, notes, v, n, e);
}

int store_embedding_progress(struct store *s, struct fumi_str space, int64_t *have, int64_t *all,
                             struct fumi_err *e)
{
    return s->ops->embedding_progress(s, space, have, all, e);
}

int store_count_unembedded(struct store *s, struct fumi_str project, struct fumi_str space,
                           int64_t *out, struct fumi_err *e)
{
    return s->ops->count_unembedded(s, project, space, out, e);
}

int store_delete_spaces(struct store *s, struct fumi_str keep, struct fumi_str also,
                        struct fumi_err *e)
{
    return s->ops->delete_spaces(s, keep, also, e);
}

int store_get_meta(struct store *s, struct fumi_arena *a, const char *name, struct fumi_str *out,
                   struct fumi_err *e)
{
    return s->ops->get_meta(s, a, name, out, e);
}

int store_set_meta(struct store *s, const char *name, struct fumi_str value, struct fumi_err *e)
{
    return s->ops->set_meta(s, name, value, e);
}

int store_change_number(struct store *s, int64_t *out, struct fumi_err *e)
{
    return s->ops->change_number(s, out, e);
}

int store_stats(struct store *s, struct store_stats *out, struct fumi_err *e)
{
    return s->ops->stats(s, out, e);
}

int store_project_stats(struct store *s, struct fumi_str project, struct fumi_str space,
                        struct store_stats *out, int64_t *have, struct fumi_err *e)
{
    return s->ops->project_stats(s, project, space, out, have, e);
}

int store_backup(struct store *s, struct fumi_str path, struct fumi_err *e)
{
    return s->ops->backup(s, path, e);
}

int store_check(struct store *s, bool repair, void (*print)(void *arg, const char *sentence),
                void *arg, struct fumi_err *e)
{
    return s->ops->check(s, repair, print, arg, e);
}

int store_erase_step(struct store *s, bool *more, struct fumi_err *e)
{
    return s->ops->erase_step(s, more, e);
}

void store_close(struct store *s)
{
    s->ops->close(s);
}
