/* What `fumi setup` writes into files of agents: text in, text out. Nothing here touches a file but
 * setup_file.c. */
#ifndef FUMI_APP_SETUP_H
#define FUMI_APP_SETUP_H

#include "app/files.h"
#include "json/json.h"

#include <stdio.h>

/* Text of a file, with its name for errors. An empty text is a file that has nothing in it. */
struct setup_text {
    struct fumi_str name, text;
};

/* Where our entry stands in it. */
struct setup_spot {
    const struct setup_format *format;
    const char *const *path; /* JSON: names of members down to it; NULL at the end */
    bool strict; /* JSON: no comments, no comma behind the last; the agent wants it so */
};

/* One way to write an entry. Entries are JSON objects, but that of a block, which is its text.
 * -1: the text cannot be understood; *e names file, line and remedy. */
struct setup_format {
    /* Null: there is none. */
    int (*find)(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                struct fumi_str *found, struct fumi_err *e);
    /* The text with the entry in it; the very same when it is there. */
    int (*put)(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
               struct fumi_str entry, struct fumi_str *out, struct fumi_err *e);
    /* The text without it, and without what only held it. */
    int (*drop)(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                struct fumi_str *out, struct fumi_err *e);
};

extern const struct setup_format setup_member; /* a member of a JSON object */
extern const struct setup_format setup_hook;   /* an element of a JSON array, with our command */
extern const struct setup_format setup_toml;   /* the table [mcp_servers.fumi] */
extern const struct setup_format setup_block;  /* Markdown between two marks */

/* A hook whose command has this in it is ours. */
#define SETUP_HOOK "hook session-start --format json"

/* "FILE: line 3: what is wrong", for the byte `at` of the text; returns -1. */
int setup_blame(struct fumi_err *e, const struct setup_text *t, size_t at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* What ends the lines of a text: "\r\n" or "\n". */
const char *setup_eol(struct fumi_str text);

/* The text with n bytes at `at` replaced. */
struct fumi_str setup_splice(struct fumi_arena *a, struct fumi_str text, size_t at, size_t n,
                             struct fumi_str by);

/* --- setup_file.c --- */

enum { SETUP_FILE_MAX = 64 << 20 };

/* A link is followed; a file that is not there has no text (p is NULL). */
int setup_read(struct fumi_arena *a, struct fumi_str path, struct file_text *out,
               struct fumi_err *e);

/* Puts `text` where `old` was read, whole or not at all, with the same mode. What was there is kept
 * beside it first; *backup gets that name, or null. Refuses when another program has changed it
 * meanwhile. */
struct setup_write {
    struct fumi_str path;
    struct file_text old;
    struct fumi_str text;
    bool shared; /* a new file, and the directories that it needs, are for all to read */
    bool remove; /* the file itself goes, unless it is a link */
};
int setup_write(struct fumi_arena *a, const struct setup_write *w, struct fumi_str *backup,
                struct fumi_err *e);

/* Texts that were kept beside the file, newest first. */
int setup_backups(struct fumi_arena *a, struct fumi_str path, struct fumi_strs *texts,
                  struct fumi_err *e);

/* What changes between two texts, as lines with - and +. */
void setup_diff(struct fumi_str name, struct fumi_str old, struct fumi_str new, FILE *to);

#endif
