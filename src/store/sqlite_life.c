/* Operations that are not implemented yet. */
#include "store/sqlite_ops.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

int store_sqlite_expire(struct store *s, size_t limit, bool *more, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "expire is not implemented yet");
}

int store_sqlite_history(struct store *s, struct fumi_arena *a, const struct history_query *q,
                         struct changes *out, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "history is not implemented yet");
}

int store_sqlite_undo(struct store *s, struct fumi_arena *a, const struct undo_query *q,
                      const struct author *by, struct undone *out, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "undo is not implemented yet");
}

int store_sqlite_forget(struct store *s, struct fumi_arena *a, const struct forget_query *q,
                        const struct author *by, struct forgotten *out, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "forget is not implemented yet");
}

int store_sqlite_remove_copies(struct store *s, struct fumi_arena *a, struct fumi_strs *out,
                               struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "remove_copies is not implemented yet");
}

int store_sqlite_prune_history(struct store *s, int64_t older_than, int64_t max_bytes, bool *more,
                               struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "prune_history is not implemented yet");
}

int store_sqlite_add_injection(struct store *s, const struct injection *i, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "add_injection is not implemented yet");
}

int store_sqlite_list_injections(struct store *s, struct fumi_arena *a,
                                 const struct injection_query *q, struct injections *out,
                                 struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "list_injections is not implemented yet");
}

int store_sqlite_add_uses(struct store *s, const struct note_use *items, size_t n,
                          struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "add_uses is not implemented yet");
}

int store_sqlite_list_unused(struct store *s, struct fumi_arena *a, struct fumi_str project,
                             int64_t since, size_t limit, struct note_uses *out, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "list_unused is not implemented yet");
}

int store_sqlite_add_review(struct store *s, const struct review *r, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "add_review is not implemented yet");
}

int store_sqlite_list_reviews(struct store *s, struct fumi_arena *a, struct fumi_str project,
                              size_t limit, struct reviews *out, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "list_reviews is not implemented yet");
}

int store_sqlite_get_review(struct store *s, struct fumi_arena *a, struct fumi_str id,
                            struct review *out, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "get_review is not implemented yet");
}

int store_sqlite_drop_review(struct store *s, struct fumi_str id, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "drop_review is not implemented yet");
}

int store_sqlite_set_project_remote(struct store *s, struct fumi_str project,
                                    struct fumi_str remote, int64_t now, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "set_project_remote is not implemented yet");
}

int store_sqlite_find_projects(struct store *s, struct fumi_arena *a, struct fumi_str remote,
                               struct projects *out, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "find_projects is not implemented yet");
}

int store_sqlite_move_notes(struct store *s, struct moving *m, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "move_notes is not implemented yet");
}
