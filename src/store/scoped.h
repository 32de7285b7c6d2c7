/* A view of a store that is restricted to one project, or to reading, or both. */
#ifndef FUMI_STORE_SCOPED_H
#define FUMI_STORE_SCOPED_H

#include "store/store.h"

struct scope {
    struct fumi_str project; /* in its canonical form; null: all projects */
    bool read_only;
};

/* Return 0, or -1 with *e set: scope_writes if the scope is read-only, scope_admits if the project
 * is not that of the scope. The error texts name the flags of fumi serve. */
int scope_writes(const struct scope *s, struct fumi_err *e);
int scope_admits(const struct scope *s, struct fumi_str project, struct fumi_err *e);

/* Returns a view of `in`. The caller closes it with store_close; `in` is borrowed and stays open.
 * The project is copied.
 *
 * Read-only: every operation that writes fails as scope_writes does.
 * One project: an operation that names another project fails as scope_admits does, except
 * list_names and find_ids, which return an empty list. An id of another project gives the same
 * error as an id that does not exist, and find_ids does not find it. Lists and counts without a
 * project are restricted to that of the scope. Operations on the whole store (list_unembedded,
 * add_vectors, delete_spaces, meta, backup, check, erase_step, expire, prune_history,
 * remove_copies, move_notes) fail; the program uses `in` for them. load_heads and score_vectors do
 * not check the project: pass only notes that a search of the same view has found. */
struct store *scoped_new(struct store *in, const struct scope *s);

#endif
