/* The project of a place on this machine: of the working directory, or of a path that the user gave
 * on the command line or in the configuration. All worktrees and subdirectories of a repository are
 * one project (git_files.h). Also of a path that a client gave over stdio, if it belongs to the
 * same project as the working directory; a path that came over a socket names a project as it is.
 */
#ifndef FUMI_APP_PLACE_H
#define FUMI_APP_PLACE_H

#include "base/arena.h"
#include "base/err.h"

struct place {
    struct fumi_str project; /* canonical */
    struct fumi_str path;    /* that was given, canonical; null: a name that is no path */
    struct fumi_str root;    /* the checkout that contains the path; null: no repository */
    struct fumi_str common;  /* the git directory of the repository; null: no repository */
    struct fumi_str warning; /* a sentence: why .git was ignored; null: it was not */
};

/* `given` null or empty: the working directory. per_worktree: each worktree is a project of its
 * own. Returns 0, or -1 with *e set if the name is invalid or there is no working directory. */
int place_find(struct fumi_arena *a, struct fumi_str given, bool per_worktree, struct place *out,
               struct fumi_err *e);

#endif
