/* Notes on the command line: builds the params of methods and prints their results. */
#ifndef FUMI_APP_CLI_NOTES_H
#define FUMI_APP_CLI_NOTES_H

#include "app/marks.h"
#include "json/json.h"
#include "json/shape.h"

/* Writes a string member; writes nothing if the value is null. */
void notes_put(struct fumi_out *o, const char *name, struct fumi_str value);
/* Writes the members of `given`, which come from flags, into the open object. Each string of an
 * array is split at its commas; the parts are trimmed. Empty parts and empty strings are omitted.
 */
void notes_put_given(struct fumi_arena *a, struct fumi_out *o, const struct fumi_val *given);

/* Write such an array: the parts of a string, and those of an array of strings. */
void notes_put_list(struct fumi_out *o, struct fumi_str list);
void notes_put_lists(struct fumi_arena *a, struct fumi_out *o, const struct fumi_val *lists);

/* "2026-11-15T21:48:58.123Z" -> "2026-11-15 21:48"; empty if there is no time. */
struct fumi_str notes_minute(struct fumi_arena *a, const struct fumi_val *time);
/* The same in a pipe; in a terminal "3 days ago". */
struct fumi_str notes_time(struct fumi_arena *a, const struct fumi_val *time);
/* Prints who made a change, after two blanks: "claude-code? (stdio)". The question mark says that
 * this is what the client calls itself. */
void notes_print_author(struct fumi_arena *a, const struct fumi_val *by);
/* Prints id, time and group of a note, its key, its successor and when it expires, without a line
 * break. */
void notes_print_facts(struct fumi_arena *a, const struct fumi_val *note);
/* Prints the beginning of the text of a note and its tags, as below its title in a list. In a
 * terminal, the text has its whole width, and the words of `m` are marked; NULL: none. */
void notes_print_compact(struct fumi_arena *a, const struct fumi_val *note, const struct marks *m);
/* Prints a whole note. */
void notes_print(struct fumi_arena *a, const struct fumi_val *note);
/* Prints a result as indented JSON. */
void notes_print_result(const struct fumi_val *result);
/* Prints a struct as indented JSON. */
void notes_print_struct(struct fumi_arena *a, const struct fumi_shape *s, const void *from);
/* Prints JSON text with indentation, and frees the buffer. */
void notes_print_json(struct fumi_arena *a, struct fumi_buf *text);
/* Prints the member "warning" of a result, if it has one, to stderr. */
void notes_warn(struct fumi_arena *a, const struct fumi_val *result);

#endif
