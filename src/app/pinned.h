/* The file of memory tests: a question per line, with the notes that a search for it must find.
 *
 * {"question":"which database?","notes":[{"id":"0f3c...","rank":1,"text":"We use SQLite"}]}
 *
 * The text is the title or the beginning of the note, so that people can read the file; only `fumi
 * test add` and `fumi test --update` write it. A line also has "project" if the project is not that
 * of the working directory, whose path differs between machines. */
#ifndef FUMI_APP_PINNED_H
#define FUMI_APP_PINNED_H

#include "json/shape.h"

enum { PINNED_NOTES_MAX = 100 }; /* of one question */

struct pinned_note {
    struct fumi_str id;
    int64_t rank; /* when it was pinned; 0: it was not found */
    struct fumi_str text;
};

struct pinned_question {
    struct fumi_str text, project; /* project is null if it is that of the working directory */
    struct fumi_list notes;        /* struct pinned_note */
    struct fumi_str line;          /* as in the file; null if it must be written anew */
};

struct pinned_file {
    struct fumi_str path;
    struct fumi_list questions; /* struct pinned_question */
    unsigned mode;              /* permissions; 0 if the file does not exist */
};

/* Returns NULL if a question is valid, otherwise what is wrong: "must ...". */
const char *pinned_fault(struct fumi_str question);

/* Reads the file at `path`; one that does not exist has no questions. All strings live in the
 * arena. Prints each invalid line with its number and reason to stderr, and then returns -1 with *e
 * set. */
int pinned_read(struct fumi_arena *a, struct fumi_str path, struct pinned_file *out,
                struct fumi_err *e);

/* Replaces the file, if a question has changed. Lines of the others stay as they are. */
int pinned_write(struct fumi_arena *a, const struct pinned_file *file, struct fumi_err *e);

/* The question with this text and project; NULL if there is none. */
struct pinned_question *pinned_find(const struct pinned_file *file, struct fumi_str text,
                                    struct fumi_str project);

/* The note with this id; NULL if the question has none. */
struct pinned_note *pinned_find_note(const struct pinned_question *q, struct fumi_str id);

/* Adds a question, or notes to the question that is in the file already; a note that it has already
 * gets the new rank and text. Fails if the question would have more than PINNED_NOTES_MAX notes. */
int pinned_add(struct fumi_arena *a, struct pinned_file *file, const struct pinned_question *q,
               struct fumi_err *e);

#endif
