/* What git's own files say of a directory: which repository contains it, and where that was cloned
 * from. Only files are read: git is never run, GIT_DIR and other variables of git are ignored. */
#ifndef FUMI_APP_GIT_FILES_H
#define FUMI_APP_GIT_FILES_H

#include "base/arena.h"
#include "base/str.h"

/* All strings end with NUL. */
struct git_place {
    /* The checkout: the nearest directory, from the given one upwards, that contains .git; of a
     * bare repository the repository. Null: there is no repository, or .git cannot be used. */
    struct fumi_str root;
    /* The directory that is the same for all worktrees of the repository: that of the main
     * checkout; of a bare repository the repository. Null if `root` is null. */
    struct fumi_str main;
    struct fumi_str common;  /* the git directory that all worktrees share; null if `root` is */
    struct fumi_str warning; /* a sentence: why .git is ignored; null: it is not */
};

/* Finds the repository that contains the directory, an absolute path without symbolic links. The
 * directory need not exist. */
struct git_place git_find(struct fumi_arena *a, struct fumi_str dir);

/* The normalised URL (git_url) of the remote "origin", or else of the first remote, in the
 * configuration of a git directory. Null: there is none, or it cannot be read. */
struct fumi_str git_remote(struct fumi_arena *a, struct fumi_str common);

/* Reduces the URL of a remote to "host/path", or "/path" on this machine, so that the URLs of one
 * repository are equal: without scheme, user, password, the default port, ".git" and slashes at the
 * end; git@host:path equals ssh://git@host/path and https://host/path. Returns null if the URL is
 * relative, uses a remote helper, or has no host or path. */
struct fumi_str git_url(struct fumi_arena *a, struct fumi_str url);

/* The settings that are used here; null: not set. */
struct git_config {
    struct fumi_str worktree;      /* core.worktree */
    struct fumi_str origin, first; /* remote.origin.url, and the URL of the first remote */
};

/* Reads the text of a configuration file of git. Includes are not followed; the rest of a line that
 * is not valid is skipped. */
struct git_config git_config_read(struct fumi_arena *a, struct fumi_str text);

#endif
