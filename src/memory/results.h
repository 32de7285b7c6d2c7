/* Helpers for lists of results. */
#ifndef FUMI_MEMORY_RESULTS_H
#define FUMI_MEMORY_RESULTS_H

#include "memory/memory.h"

/* The seqs of n results, in the arena. */
int64_t *results_seqs(struct fumi_arena *a, const struct result *items, size_t n);
/* If a score is above 1, divides all scores, and what they consist of, by the best one. */
void results_scale(struct results *r);
/* Best first; among equal scores, the highest seq. */
void results_sort(struct results *r);

#endif
