/* The order of superseded notes in the results of a search. */
#ifndef FUMI_MEMORY_SUCCESSION_H
#define FUMI_MEMORY_SUCCESSION_H

#include "memory/results.h"

/* Moves each successor before the notes that it supersedes, with at least their score. */
int succession_order(struct store *store, struct fumi_arena *a, struct results *all,
                     struct fumi_err *e);

#endif
