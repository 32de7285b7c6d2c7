/* Notes, groups and globals: the data of the memory, and the rules that a shape cannot express. */
#ifndef FUMI_MODEL_NOTE_H
#define FUMI_MODEL_NOTE_H

#include "base/arena.h"
#include "base/err.h"
#include "model/codes.h"
#include "model/limits.h"
#include "model/note_columns.h"
#include "json/shape.h"

/* A string with p == NULL is null. `tags` has the order, duplicates and empty tags of the caller.
 * `created` is not set if the caller gave no time; memory_add then sets the current time. A note
 * with `superseded_by` is superseded by that note; one whose time `expires` has come is expired. */
struct note {
    int64_t seq;     /* number of the note in the store, never reused; 0: not stored yet */
    uint64_t writer; /* of a note that is added: see note_chain */
    int64_t chain;   /* of a note in the store: see note_chain */
#define NOTE_MEMBER(T, at, NAME, member, type, ...) type member;
    NOTE_COLUMNS(NOTE_MEMBER, , )
#undef NOTE_MEMBER
};

struct notes {
    struct note *items;
    size_t n;
};

/* The columns by number, and as bits: which members of a note a change sets. */
enum note_index {
#define NOTE_INDEX(T, at, NAME, ...) NOTE_INDEX_##NAME,
    NOTE_COLUMNS(NOTE_INDEX, , )
#undef NOTE_INDEX
        NOTE_INDEX_N
};
enum note_bit {
#define NOTE_BIT(T, at, NAME, ...) NOTE_##NAME = 1 << NOTE_INDEX_##NAME,
    NOTE_COLUMNS(NOTE_BIT, , )
#undef NOTE_BIT
};

enum {
    NOTE_FREE_TEXT = 1, /* written by users or agents: searched for secrets, counted as text */
    NOTE_UPDATABLE = 2, /* part of the patch */
};

struct note_column {
    const char *name;    /* on the wire */
    size_t offset;       /* in struct note */
    enum fumi_type type; /* FUMI_T_STR, FUMI_T_STRS, FUMI_T_JSON or FUMI_T_TIME */
    unsigned flags;
};
extern const struct note_column note_columns[NOTE_INDEX_N];

/* The text of a member of type FUMI_T_STR or FUMI_T_JSON; NULL for other types. */
struct fumi_str *note_text_at(struct note *n, size_t column);
/* The same text by value; null for other types. */
struct fumi_str note_text_of(const struct note *n, size_t column);
/* A member of type FUMI_T_TIME; NULL for other types. */
struct fumi_time *note_time_at(struct note *n, size_t column);
/* The same time by value; not set for other types. */
struct fumi_time note_time_of(const struct note *n, size_t column);
/* Sets the members named by `set` (enum note_bit) to those of `from`. */
void note_assign(struct note *n, const struct note *from, unsigned set);
/* Whether all members are equal. A `given` without a time equals a note of any time, and a current
 * one a superseded one. */
bool note_same(const struct note *given, const struct note *stored);
bool note_same_member(const struct note *one, const struct note *other, size_t column);
/* Bytes of the free text: title, text, tags, source, metadata, session. */
size_t note_bytes(const struct note *n);

/* Times of groups and globals are milliseconds since 1970, UTC. */
struct group {
    struct fumi_str id, project, key, title, description; /* id null: only notes name the group */
    int64_t created, updated;
    int64_t notes; /* number of notes in the group */
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

/* A condition for notes: a note passes if it passes every member. */
struct filter {
    struct fumi_str project;
    struct fumi_str group;     /* null: any */
    struct fumi_strs tags;     /* the note must have each of these tags, with the same case */
    int64_t since, until;      /* since <= created < until; INT64_MIN and INT64_MAX: any */
    bool superseded;           /* superseded notes pass too */
    struct fumi_strs any_tags; /* the note must have at least one of these; none: any note */
};

/* Whether the filter depends on tags, and whether a note with these tags passes that part. */
bool filter_has_tags(const struct filter *f);
bool filter_passes_tags(const struct filter *f, struct fumi_strs tags);

/* Checks, as struct fumi_field uses them. Return NULL if the value is valid, otherwise an error
 * text that follows the name of the field ("must ..."). */
const char *note_text_fault(struct fumi_str text);         /* empty, blank or too long */
const char *note_group_fault(struct fumi_str group);       /* letters, digits, '_' and '-' */
const char *note_given_group_fault(struct fumi_str group); /* the same, and not empty */
const char *note_key_fault(struct fumi_str key);           /* the same, and not "global" */
const char *note_title_fault(struct fumi_str title);       /* too long, or not one visible line */
const char *note_source_fault(struct fumi_str source);
const char *note_tag_fault(struct fumi_str tag);
const char *note_session_fault(struct fumi_str session); /* empty, too long, or not one line */
const char *note_subject_fault(struct fumi_str key);     /* letters, digits and "._-/:" */

/* The number of the chain of a note: the notes of one session in one project and group, whose order
 * by time of creation makes them neighbours. Notes without a session form a chain if they have the
 * same `writer`, a random number. Returns 0 for a note that is in no chain. */
int64_t note_chain(const struct note *n);

/* The text without white space at its ends, as texts are compared with each other. */
struct fumi_str note_trimmed(struct fumi_str text);
/* A hash of the project, the group and the trimmed text: the same for notes that say the same. */
int64_t note_said(struct fumi_str project, struct fumi_str group, struct fumi_str text);

/* Titles, tags, sources and names of projects are one line of visible text: every character is
 * FUMI_CHAR_PLAIN. Returns NULL or an error text, as above. */
const char *note_line_fault(struct fumi_str s);

/* Converts a text that an older version stored to such a line: a run of line breaks and control
 * characters becomes one blank, or nothing at the beginning and the end; hidden characters are
 * removed. Returns s itself if it is already such a line. */
struct fumi_str note_line(struct fumi_arena *a, struct fumi_str s);

/* Checks the key of a global: "global." and one or more letters, digits, '.', '_', '-'. Returns 0,
 * or -1 with ERR_KEY_PREFIX. */
int global_key_check(struct fumi_str key, struct fumi_err *e);

/* PROJECT_USER holds what is true in every project, and is searched with each of them. PROJECT_ALL
 * is not a project: a search for it searches all. */
#define PROJECT_USER FUMI_STR("user")
#define PROJECT_ALL  FUMI_STR("*")

/* Sets *out to the canonical name of a project, so that different names of one project are equal.
 * For a path (it begins with '/', '~' or '.', or contains a '/'), "~" is replaced by the home
 * directory, the path is made absolute, "." and ".." are removed, and, if the path exists, symbolic
 * links are resolved. Any other name is returned unchanged. Opens no file. Returns 0, or -1 with *e
 * set if the name is too long or contains a NUL byte, or if there is no home directory or no
 * working directory for it. */
int project_canonical(struct fumi_arena *a, struct fumi_str given, struct fumi_str *out,
                      struct fumi_err *e);

/* The same for a project that is written to: returns -1 also if note_line_fault finds a fault in
 * the name, or if it is PROJECT_ALL. Projects of older versions with such names can still be read.
 */
int project_writable(struct fumi_arena *a, struct fumi_str given, struct fumi_str *out,
                     struct fumi_err *e);

#endif
