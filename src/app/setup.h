/* Edits the configuration files of agents for `fumi setup`. The formats work on texts in memory;
 * only setup_file.c reads and writes files. Returned texts live in the arena. */
#ifndef FUMI_APP_SETUP_H
#define FUMI_APP_SETUP_H

#include "app/files.h"
#include "json/json.h"

#include <stdio.h>

/* The text of a file, and its name for error messages. */
struct setup_text {
    struct fumi_str name, text;
};

/* The location of our entry in a file. */
struct setup_spot {
    const struct setup_format *format;
    const char *const *path; /* JSON: the names of the members that lead to it; NULL at the end */
    bool strict;             /* JSON: the agent accepts no comments and no trailing commas */
    const char *command;     /* setup_hook: a hook whose command contains this text is ours */
};

/* A file format. An entry is a JSON object; that of setup_block is its text. The functions return
 * -1 if the text cannot be parsed: *e names the file, the line and the remedy. */
struct setup_format {
    /* Finds our entry; *found is null if there is none. */
    int (*find)(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                struct fumi_str *found, struct fumi_err *e);
    /* Adds or updates the entry; *out equals the text if the entry is already there. */
    int (*put)(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
               struct fumi_str entry, struct fumi_str *out, struct fumi_err *e);
    /* Removes the entry, and the containers that are empty without it. */
    int (*drop)(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                struct fumi_str *out, struct fumi_err *e);
};

extern const struct setup_format setup_member; /* a member of a JSON object */
extern const struct setup_format
    setup_hook; /* an element of a JSON array, recognized by our command */
extern const struct setup_format setup_toml;  /* the table [mcp_servers.fumi] */
extern const struct setup_format setup_block; /* Markdown between two marker comments */

/* Sets the error "FILE: line 3: MESSAGE" for the byte `at` of the text. Returns -1. */
int setup_fail_at(struct fumi_err *e, const struct setup_text *t, size_t at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The line break of a text, by its first line: "\r\n" or "\n". */
const char *setup_eol(struct fumi_str text);

/* The text with the n bytes at `at` replaced. */
struct fumi_str setup_splice(struct fumi_arena *a, struct fumi_str text, size_t at, size_t n,
                             struct fumi_str by);

enum { SETUP_FILE_MAX = 64 << 20 };

/* Reads a file; a symbolic link is followed. out->text is null if the file does not exist. */
int setup_read(struct fumi_arena *a, struct fumi_str path, struct file_text *out,
               struct fumi_err *e);

/* Replaces the file from which `old` was read by `text`, atomically and with the same mode. First
 * copies the old file to a backup in the same directory; *backup is its path, or null if there was
 * no file. Fails if another program has changed the file since it was read. */
struct setup_write {
    struct fumi_str path;
    struct file_text old;
    struct fumi_str text;
    bool shared; /* a new file and its new directories are readable by everyone */
    bool remove; /* delete the file, unless it is a symbolic link */
};
int setup_write(struct fumi_arena *a, const struct setup_write *w, struct fumi_str *backup,
                struct fumi_err *e);

/* The texts of the backups of a file, newest first. */
int setup_backups(struct fumi_arena *a, struct fumi_str path, struct fumi_strs *texts,
                  struct fumi_err *e);

/* Prints the difference of two texts as a unified diff. A null text is a missing file. */
void setup_diff(struct fumi_str name, struct fumi_str old, struct fumi_str new, FILE *to);

#endif
