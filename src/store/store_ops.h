/* For authors of a storage engine: the table of operations behind the functions of store.h.
 *
 * STORE_OPS(OP) expands OP(name) for each operation; the operation has the type and the contract of
 * the function store_NAME. */
#ifndef FUMI_STORE_STORE_OPS_H
#define FUMI_STORE_STORE_OPS_H

#include "store/store.h"

#define STORE_OPS(OP)                                                                              \
    OP(add_note)                                                                                   \
    OP(get_note)                                                                                   \
    OP(update_note)                                                                                \
    OP(delete)                                                                                     \
    OP(expire)                                                                                     \
    OP(list_recent)                                                                                \
    OP(list_by_seq)                                                                                \
    OP(load_notes)                                                                                 \
    OP(load_heads)                                                                                 \
    OP(list_names)                                                                                 \
    OP(find_ids)                                                                                   \
    OP(nearest)                                                                                    \
    OP(prepare_nearest)                                                                            \
    OP(score_vectors)                                                                              \
    OP(match_keywords)                                                                             \
    OP(neighbours)                                                                                 \
    OP(count_notes)                                                                                \
    OP(count_days)                                                                                 \
    OP(sample_vectors)                                                                             \
    OP(add_group)                                                                                  \
    OP(get_group)                                                                                  \
    OP(update_group)                                                                               \
    OP(delete_group)                                                                               \
    OP(list_groups)                                                                                \
    OP(set_global)                                                                                 \
    OP(get_global)                                                                                 \
    OP(list_globals)                                                                               \
    OP(merge)                                                                                      \
    OP(history)                                                                                    \
    OP(undo)                                                                                       \
    OP(forget)                                                                                     \
    OP(remove_copies)                                                                              \
    OP(prune_history)                                                                              \
    OP(add_injection)                                                                              \
    OP(list_injections)                                                                            \
    OP(add_uses)                                                                                   \
    OP(list_unused)                                                                                \
    OP(add_review)                                                                                 \
    OP(list_reviews)                                                                               \
    OP(get_review)                                                                                 \
    OP(drop_review)                                                                                \
    OP(set_project_remote)                                                                         \
    OP(find_projects)                                                                              \
    OP(move_notes)                                                                                 \
    OP(list_unembedded)                                                                            \
    OP(load_unembedded)                                                                            \
    OP(add_vectors)                                                                                \
    OP(embedding_progress)                                                                         \
    OP(count_unembedded)                                                                           \
    OP(delete_spaces)                                                                              \
    OP(get_meta)                                                                                   \
    OP(set_meta)                                                                                   \
    OP(change_number)                                                                              \
    OP(stats)                                                                                      \
    OP(project_stats)                                                                              \
    OP(backup)                                                                                     \
    OP(check)                                                                                      \
    OP(erase_step)                                                                                 \
    OP(close)

#define STORE_OP_MEMBER(name) __typeof__(store_##name) *name;
struct store_ops {
    const char *name;
    STORE_OPS(STORE_OP_MEMBER)
};
#undef STORE_OP_MEMBER

/* The first member of the struct of every engine. */
struct store {
    const struct store_ops *ops;
};

#endif
