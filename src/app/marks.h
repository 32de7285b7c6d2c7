/* The words of a query in a text, for people who read what a search found. */
#ifndef FUMI_APP_MARKS_H
#define FUMI_APP_MARKS_H

#include "base/arena.h"

struct marks;

/* The words of a query, in the arena: also their stems, but no stop words if it has others. */
struct marks *marks_new(struct fumi_arena *a, struct fumi_str query);

/* Prints one line to stdout, cut to that many columns, in which the words of the query are bold. It
 * begins near the first of them. NULL: nothing is marked. */
void marks_print(struct fumi_arena *a, const struct marks *m, struct fumi_str line, size_t columns);

#endif
