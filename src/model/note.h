/* Notes, groups and globals: what the memory holds, and the rules that a table cannot say. */
#ifndef FUMI_MODEL_NOTE_H
#define FUMI_MODEL_NOTE_H

#include "base/arena.h"
#include "base/err.h"
#include "model/codes.h"

/* Times are milliseconds since 1970, UTC. A string without text (p == NULL) is null. */
struct note {
    int64_t seq; /* the store's own number, never reused; 0: not stored yet */
    struct fumi_str id, project, group, title, text, source;
    struct fumi_strs tags;    /* as given: order, repeats and empty ones are kept */
    struct fumi_str metadata; /* the text of a JSON object, or null */
    int64_t created;
};

#define NOTE_NOW INT64_MIN /* created: the moment in which it is stored */

struct notes {
    struct note *items;
    size_t n;
};

/* Which of a note's fields a change sets. */
enum note_field {
    NOTE_TITLE = 1,
    NOTE_TEXT = 2,
    NOTE_TAGS = 4,
    NOTE_SOURCE = 8,
    NOTE_GROUP = 16,
    NOTE_METADATA = 32,
};

struct group {
    struct fumi_str id, project, key, title, description; /* id null: only notes name it */
    int64_t created, updated;
    int64_t notes; /* how many are in it */
};

struct groups {
    struct group *items;
    size_t n;
};

struct global {
    struct fumi_str id, project, key;
    struct fumi_str value; /* the text of any JSON value */
    int64_t updated;
};

struct globals {
    struct global *items;
    size_t n;
};

/* Which notes are meant: all of these must hold. */
struct filter {
    struct fumi_str project;
    struct fumi_str group; /* null: any */
    struct fumi_strs tags; /* each must be there, exactly */
    int64_t since, until;  /* since <= created < until; INT64_MIN and INT64_MAX: any */
};

/* Limits of what is kept, in bytes. Over a wire the limit of a message, which is 1 MiB unless it is
 * set higher, ends a note's text earlier. */
enum {
    NOTE_TEXT_MAX = 8 << 20,
    NOTE_JSON_MAX = 6 * NOTE_TEXT_MAX + (1 << 20), /* a note as JSON, every byte escaped */
    VALUE_MAX = 256 << 10,                         /* of a global; and a group's description */
    NOTE_TITLE_MAX = 4 << 10,
    NOTE_SOURCE_MAX = 4 << 10,
    NOTE_TAGS_MAX = 64,
    NOTE_TAG_MAX = 128,
    NOTE_METADATA_MAX = 64 << 10,
    PROJECT_MAX = 4 << 10,
    GROUP_MAX = 128,
    QUERY_MAX = 8 << 10,
};

/* NULL, or what is wrong with it, as a shape's check says it ("must ..."). */
const char *note_text_fault(struct fumi_str text);   /* empty, blank or too long */
const char *note_group_fault(struct fumi_str group); /* letters, digits, '_' and '-' */
const char *note_key_fault(struct fumi_str key);     /* the same, and not "global" */

/* Titles, tags, sources and names of projects are one line of visible text: every character is
 * FUMI_CHAR_PLAIN. Returns NULL, or what is wrong as above. */
const char *note_line_fault(struct fumi_str s);

/* The text as such a line, for what older versions stored: line breaks and control characters in a
 * row become one blank, or nothing at the beginning and the end; hidden characters are left out.
 * Returns s itself if it has no fault. */
struct fumi_str note_line(struct fumi_arena *a, struct fumi_str s);

/* A global's key: "global." and one or more letters, digits, '.', '_', '-'. -1: ERR_KEY_PREFIX. */
int global_key_check(struct fumi_str key, struct fumi_err *e);

/* One identity for one project, however it is named. A path (it begins with '/', '~' or '.', or
 * has a '/') gets the home directory for '~', becomes absolute and clean, and has its symbolic
 * links resolved where it exists; anything else is kept as it is. Never opens a file. -1: too long,
 * a NUL byte in it, or no home directory. */
int project_canonical(struct fumi_arena *a, struct fumi_str given, struct fumi_str *out,
                      struct fumi_err *e);

/* The same for a project that something is stored in: -1 also if note_line_fault finds a fault in
 * its name. Projects of older versions that have one can still be read. */
int project_writable(struct fumi_arena *a, struct fumi_str given, struct fumi_str *out,
                     struct fumi_err *e);

#endif
