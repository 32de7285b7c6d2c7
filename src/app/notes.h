/* Notes on the command line: parameters that go in, and what is printed of results. */
#ifndef FUMI_APP_NOTES_H
#define FUMI_APP_NOTES_H

#include "json/json.h"

/* A member, unless it is null. */
void notes_put(struct fumi_out *o, const char *name, struct fumi_str value);
/* "tags" out of lists with commas: trimmed, empty ones dropped. */
void notes_put_tags(struct fumi_out *o, struct fumi_strs lists);

/* The second and third line of a note in a list: its text, cut, and its tags. */
void notes_print_compact(struct fumi_arena *a, const struct fumi_val *note);
/* A whole note. */
void notes_print(struct fumi_arena *a, const struct fumi_val *note);
/* Compact JSON in lines; frees it. */
void notes_print_json(struct fumi_arena *a, struct fumi_buf *text);
/* "warning" of a result, if there is one, on stderr. */
void notes_warn(struct fumi_arena *a, const struct fumi_val *result);

#endif
