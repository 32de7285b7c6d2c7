/* Notes on the command line: parameters that go in, and what is printed of results. */
#ifndef FUMI_APP_CLI_NOTES_H
#define FUMI_APP_CLI_NOTES_H

#include "json/json.h"

/* A member, unless it is null. */
void notes_put(struct fumi_out *o, const char *name, struct fumi_str value);
/* The members of `given`, which flags have given, into the open object. Each text of a list is a
 * list with commas: its items are trimmed, and empty ones dropped. Empty texts are left out. */
void notes_put_given(struct fumi_arena *a, struct fumi_out *o, const struct fumi_val *given);
/* The same, and the project of the working directory if none is given. -1: *e is set. */
int notes_put_params(struct fumi_arena *a, struct fumi_out *o, const struct fumi_val *given,
                     struct fumi_err *e);

/* The second and third line of a note in a list: its text, cut, and its tags. */
void notes_print_compact(struct fumi_arena *a, const struct fumi_val *note);
/* A whole note. */
void notes_print(struct fumi_arena *a, const struct fumi_val *note);
/* A result as JSON. */
void notes_print_result(const struct fumi_val *result);
/* Compact JSON in lines; frees it. */
void notes_print_json(struct fumi_arena *a, struct fumi_buf *text);
/* "warning" of a result, if there is one, on stderr. */
void notes_warn(struct fumi_arena *a, const struct fumi_val *result);

#endif
