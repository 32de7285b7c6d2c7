/* fumi mirror: a folder with a Markdown file for each current note, and the way back.
 *
 * A file begins with front matter that has the members of the note and its version, which is a hash
 * of what the store had when the file was written. So three contents can be told apart: that of the
 * store, that of the file, and the one from which both come.
 *
 *   file = version, store = version   nothing to do
 *   file = version, store differs     the file is written again
 *   file differs, store = version     the user has edited the file: --take updates the note
 *   both differ                       a conflict, unless file and store are equal */
#ifndef FUMI_APP_MIRROR_H
#define FUMI_APP_MIRROR_H

#include "app/progress.h"
#include "app/session.h"
#include "model/note.h"

#include <sys/types.h>

/* --- mirror_note.c: a note as a file. --- */

enum { MIRROR_VERSION_SIZE = 16, MIRROR_FILE_MAX = 1 << 28 };

struct mirror_note {
    struct note note;        /* id null: the file has none */
    struct fumi_str version; /* null: the file has none */
    unsigned given;          /* the members that the front matter names, as enum note_bit */
};

/* Appends the file of a note. */
void mirror_write_note(struct fumi_buf *out, const struct note *n);
/* Returns -1 with *e set if the front matter is not understood. Unknown keys become members of the
 * metadata. */
int mirror_read_note(struct fumi_arena *a, struct fumi_str text, struct mirror_note *out,
                     struct fumi_err *e);
/* The hash of the members and the trimmed text, in hexadecimal digits. */
struct fumi_str mirror_version(struct fumi_arena *a, const struct note *n);
/* The folder of a project, and the path of a note within the mirror. They consist of visible
 * characters without '/', and do not begin with a dot. `whole`: the name has the whole id. */
struct fumi_str mirror_folder(struct fumi_arena *a, struct fumi_str project);
struct fumi_str mirror_dir(struct fumi_arena *a, const struct note *n);
struct fumi_str mirror_name(struct fumi_arena *a, const struct note *n, bool whole);

/* --- mirror_tree.c: the files, without following symbolic links below the folder. --- */

struct mirror_tree {
    int fd; /* of the folder, locked until it is closed */
};

/* Creates the folder unless it exists. */
int mirror_open(struct mirror_tree *t, struct fumi_str path, bool create, struct fumi_err *e);
void mirror_close(struct mirror_tree *t);
/* Calls `each` with the path of each Markdown file, and removes temporary files. Hidden folders are
 * skipped. *unread: number of folders that could not be read. */
int mirror_scan(const struct mirror_tree *t, struct fumi_arena *a,
                void (*each)(void *arg, struct fumi_str path), void *arg, size_t *unread,
                struct fumi_err *e);
/* Reads a regular file. text->p is NULL if there is none. */
int mirror_read(const struct mirror_tree *t, struct fumi_arena *a, struct fumi_str path,
                struct fumi_str *text, struct fumi_err *e);
/* Replaces a file atomically if its content is still `was`; null: if there is none. Returns 1 if it
 * is not, and changes nothing then. mirror_remove is the same without a new content; it removes
 * the folder too if it is empty then. */
int mirror_replace(const struct mirror_tree *t, struct fumi_str path, struct fumi_str was,
                   struct fumi_str text, struct fumi_err *e);
int mirror_remove(const struct mirror_tree *t, struct fumi_str path, struct fumi_str was,
                  struct fumi_err *e);
/* Whether nothing has this path. A path through a symbolic link is not free. */
bool mirror_is_free(const struct mirror_tree *t, struct fumi_str path);
/* Returns 1 if there is a file of that name, or if the file system cannot exclude it. */
int mirror_move(const struct mirror_tree *t, struct fumi_str from, struct fumi_str to,
                struct fumi_err *e);
/* Makes all changes durable. */
int mirror_sync(const struct mirror_tree *t, struct fumi_err *e);

/* --- mirror_state.c: what the mirror has written, in the file .fumi-mirror. --- */

struct mirror_row {
    struct fumi_str id, version, path;
};
struct mirror_state {
    struct fumi_str text;  /* of the file; p NULL: there is none */
    struct fumi_str store; /* the memory that the folder belongs to */
    struct mirror_row *rows;
    size_t n;
};
int mirror_state_read(const struct mirror_tree *t, struct fumi_arena *a, struct mirror_state *out,
                      struct fumi_err *e);
/* Writes the file if it differs. */
int mirror_state_write(const struct mirror_tree *t, const struct mirror_state *s,
                       struct fumi_err *e);
/* The name of a memory: an id that is made once and kept in the store. */
int mirror_store_name(struct store *s, struct fumi_arena *a, struct fumi_str *out,
                      struct fumi_err *e);

/* --- mirror.c: one pass. --- */

struct mirror_file {
    struct fumi_str path, id, version; /* version: of the content; id null: the file has none */
    struct fumi_str base;              /* the version from which it comes; null: not known */
    struct fumi_str project;           /* of the note in the file; null: the file names none */
    struct fumi_str fault;             /* why it cannot be read; null: it can */
};

/* A current note of the store. */
struct mirror_item {
    struct fumi_str id, version, project, group, session;
    struct fumi_time created;
    struct mirror_file *file;     /* NULL: there is none */
    const struct mirror_row *row; /* NULL: the state has none */
    bool blocked;                 /* its file cannot be read or has lost its id */
    bool emptied;                 /* its file is empty: it will be written again */
};

struct mirror_counts {
    size_t written, removed, same, edited, faults;
    size_t updated, added, deleted, conflicts; /* by --take */
};

struct mirror {
    struct session *session;
    struct store *store;
    struct fumi_str dir, project; /* project null: all */
    bool take, take_deleted, dry_run;
    bool quiet; /* only the counts are printed */
    struct mirror_tree tree;
    struct fumi_arena *a; /* of the pass */
    struct mirror_state state;
    struct mirror_item *items; /* by id */
    size_t items_n;
    struct mirror_file *files; /* in the order of their paths */
    size_t files_n;
    size_t unread;          /* folders */
    bool unclear;           /* a file whose note is not known cannot be read */
    struct fumi_str warned; /* the last warning */
    bool again;             /* faults have been reported */
    bool writing;           /* the bar is shown */
    struct progress bar;
    struct mirror_counts counts;
};

/* Brings the folder up to date, after mirror_take if m->take is set. */
int mirror_pass(struct mirror *m, struct fumi_err *e);
/* Returns NULL if no current note of the mirror has this id. */
struct mirror_item *mirror_item(const struct mirror *m, struct fumi_str id);
/* Reports what is wrong with one file on stderr, and counts it. */
void mirror_fault(struct mirror *m, struct fumi_str path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints what is done with a file. */
void mirror_tell(struct mirror *m, const char *what, struct fumi_str path);
/* Whether the file is that of a note, but without its id. */
bool mirror_is_blocked(const struct mirror *m, struct fumi_str path);
/* Whether the content of the file is not what the mirror wrote. */
bool mirror_is_edited(const struct mirror_file *f);
/* Reads a file. Members that must not be missing are taken from the stored note. */
int mirror_load(const struct mirror *m, struct fumi_arena *a, struct fumi_str path,
                struct fumi_str *text, struct mirror_note *out, struct fumi_err *e);
/* Writes a note into its file, whose content was `was`, in the folder of the note if the file is in
 * the folder `from`. Returns 1 if the file has changed meanwhile. */
int mirror_put(struct mirror *m, struct mirror_file *f, struct fumi_str was, struct fumi_str from,
               const struct note *n, struct fumi_err *e);

/* --- mirror_take.c --- */

/* Updates, adds and deletes notes as the files have been edited. */
int mirror_take(struct mirror *m, struct fumi_err *e);

#endif
