/* A store of which callers see one project only, or which they cannot change. */
#ifndef FUMI_STORE_SCOPED_H
#define FUMI_STORE_SCOPED_H

#include "store/store.h"

struct scope {
    struct fumi_str project; /* in its canonical form; null: all projects */
    bool read_only;
};

/* 0, or -1 with *e set: the scope is read-only; the project is another than the scope's. The
 * sentences name the flags of fumi serve. */
int scope_writes(const struct scope *s, struct fumi_err *e);
int scope_admits(const struct scope *s, struct fumi_str project, struct fumi_err *e);

/* `in`, seen through the scope. Uses nothing but the operations of `in`.
 *
 * Read-only: every operation that writes fails as scope_writes does.
 * One project: an operation that names another project fails as scope_admits does, but `names`,
 * which finds none there. An id of another project is answered exactly as one that does not exist.
 * Lists and counts without a project are of the scope's. Operations on the whole store (embedding,
 * facts, backup, doctor) are refused: they are the program's own, which has `in` for them. heads
 * and score take numbers of notes that near and match found.
 *
 * The project is copied. `in` is borrowed: close frees no more than what was made here. */
struct store *scoped_new(struct store *in, const struct scope *s);

#endif
