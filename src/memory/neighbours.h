/* Notes that were written one after the other explain each other: a note scores more if a note
 * before or after it scores well. */
#ifndef FUMI_MEMORY_NEIGHBOURS_H
#define FUMI_MEMORY_NEIGHBOURS_H

#include "memory/fuse.h"

struct neighbour_search {
    struct store *store;
    const struct filter *filter;
    const struct fuse_input *in; /* that all was fused from */
    struct fumi_str space;       /* of the vectors; null: no search by vectors */
    const float *query;
    size_t dim;
};

/* Raises the scores of the best results and of their neighbours, and adds neighbours that pass the
 * filter and were no candidates. Scores stay within 0 and 1. The results may be moved; they are not
 * sorted any more. */
int neighbours_raise(const struct neighbour_search *s, struct fumi_arena *a, struct results *all,
                     struct fumi_err *e);

#endif
