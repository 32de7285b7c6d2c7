/* Paths, and files that are read and written as a whole. Paths that are returned end with NUL. */
#ifndef FUMI_APP_FILES_H
#define FUMI_APP_FILES_H

#include "base/arena.h"
#include "base/err.h"

/* Makes a path absolute: "~" and "~/x" are replaced by the home directory; a relative path starts
 * at `base`, or at the working directory if `base` is null. */
int files_expand(struct fumi_arena *a, struct fumi_str given, struct fumi_str base,
                 struct fumi_str *out, struct fumi_err *e);

/* The directory "fumi" in the directory that the variable names ("XDG_DATA_HOME"), or else in
 * `otherwise` (".local/share") under the home directory. */
int files_xdg(struct fumi_arena *a, const char *variable, const char *otherwise,
              struct fumi_str *out, struct fumi_err *e);

/* The directory part of a path; "." if it has none. */
struct fumi_str files_dir(struct fumi_arena *a, struct fumi_str path);
struct fumi_str files_join(struct fumi_arena *a, struct fumi_str dir, const char *name);
/* A copy that ends with NUL. */
const char *files_name(struct fumi_arena *a, struct fumi_str path);

/* At most the last 100 bytes of a path, for error messages. Borrowed from `path`. */
struct fumi_str files_shown(struct fumi_str path);

struct file_text {
    struct fumi_str text; /* p is NULL if the file does not exist */
    unsigned mode;        /* permissions */
};

/* Reads a file. A missing file is no error. Fails if the file has more than `limit` bytes or is not
 * a regular file; a pipe would block. /dev/null reads as an empty file. */
int files_read(struct fumi_arena *a, struct fumi_str path, size_t limit, struct file_text *out,
               struct fumi_err *e);

/* Replaces a file atomically and durably (fsync); mode 0600. A symbolic link is followed. */
int files_write(struct fumi_str path, struct fumi_str text, struct fumi_err *e);

/* Locks the directory of a file, which is created if necessary, so that no other process changes
 * the file between our reading and our writing. Waits up to 9 s. Returns a descriptor; closing it
 * releases the lock. */
int files_lock(struct fumi_arena *a, struct fumi_str path, struct fumi_err *e);

/* Creates a directory and its parents; mode 0700. An existing directory is no error. */
int files_make_dir(struct fumi_str path, struct fumi_err *e);

#endif
