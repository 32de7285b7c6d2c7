/* Shared by scoped.c, which restricts the operations on notes, groups and globals, and
 * scoped_life.c, which restricts history, reviews and projects. */
#ifndef FUMI_STORE_SCOPED_PARTS_H
#define FUMI_STORE_SCOPED_PARTS_H

#include "store/scoped.h"
#include "store/store_ops.h"

struct scoped {
    struct store base;
    struct store *in;
    struct scope scope;
    char project[];
};

static inline const struct scoped *scoped_of(const struct store *s)
{
    return (const struct scoped *)(const void *)s;
}

bool scoped_is_ours(const struct scope *s, struct fumi_str project);
/* Return 0, or -1 with *e set. may_all: for operations on the whole store. narrow: sets the project
 * of a list to ours if the caller names none. */
int scoped_may_write(const struct scoped *s, struct fumi_str project, struct fumi_err *e);
int scoped_may_all(const struct scoped *s, bool writes, struct fumi_err *e);
int scoped_narrow(const struct scoped *s, struct fumi_str *project, struct fumi_err *e);

/* The operations of scoped_life.c, with the contracts of store.h. */
__typeof__(store_expire) scoped_expire;
__typeof__(store_history) scoped_history;
__typeof__(store_undo) scoped_undo;
__typeof__(store_forget) scoped_forget;
__typeof__(store_remove_copies) scoped_remove_copies;
__typeof__(store_prune_history) scoped_prune_history;
__typeof__(store_add_injection) scoped_add_injection;
__typeof__(store_list_injections) scoped_list_injections;
__typeof__(store_add_uses) scoped_add_uses;
__typeof__(store_list_unused) scoped_list_unused;
__typeof__(store_add_review) scoped_add_review;
__typeof__(store_list_reviews) scoped_list_reviews;
__typeof__(store_get_review) scoped_get_review;
__typeof__(store_drop_review) scoped_drop_review;
__typeof__(store_set_project_remote) scoped_set_project_remote;
__typeof__(store_find_projects) scoped_find_projects;
__typeof__(store_move_notes) scoped_move_notes;

#endif
