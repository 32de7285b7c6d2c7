/* Names of files, and files that are read and written whole. Names that come out are terminated. */
#ifndef FUMI_APP_FILES_H
#define FUMI_APP_FILES_H

#include "base/arena.h"
#include "base/err.h"

/* "~" and "~/x" get the home directory; what is not absolute is taken from `base`, or from the
 * working directory when that is none. */
int files_expand(struct fumi_arena *a, struct fumi_str given, struct fumi_str base,
                 struct fumi_str *out, struct fumi_err *e);

/* "fumi" in the directory that the variable names ("XDG_DATA_HOME"), else in that one of the home
 * directory (".local/share"). */
int files_xdg(struct fumi_arena *a, const char *variable, const char *otherwise,
              struct fumi_str *out, struct fumi_err *e);

struct fumi_str files_dir(struct fumi_arena *a, struct fumi_str path); /* without its last part */
struct fumi_str files_join(struct fumi_arena *a, struct fumi_str dir, const char *name);
const char *files_name(struct fumi_arena *a, struct fumi_str path); /* terminated */

/* The end of a long name, for a sentence. */
struct fumi_str files_shown(struct fumi_str path);

struct file_text {
    struct fumi_str text; /* p is NULL: there is no such file */
    unsigned mode;        /* permissions */
};

/* At most `limit` bytes, else it is refused, as is what is not a regular file (a pipe would be
 * waited for); /dev/null reads as an empty file. A file that is not there is no error. */
int files_read(struct fumi_arena *a, struct fumi_str path, size_t limit, struct file_text *out,
               struct fumi_err *e);

/* Whole or not at all, and it survives a power cut; mode 0600. A link is followed. */
int files_write(struct fumi_str path, struct fumi_str text, struct fumi_err *e);

int files_make_dir(struct fumi_str path, struct fumi_err *e); /* and those above it; mode 0700 */

/* The nearest directory, from the working directory upwards, that holds ".git"; else that one. */
int files_project(struct fumi_arena *a, struct fumi_str *out, struct fumi_err *e);

#endif
