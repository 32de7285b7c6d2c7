/* Merges the results of keyword search and of vector search into one ranking. */
#ifndef FUMI_MEMORY_FUSE_H
#define FUMI_MEMORY_FUSE_H

#include "memory/memory.h"

struct fuse_input {
    struct hits words;   /* keyword search, best first */
    struct hits meaning; /* vector search: cosines of all candidates with vectors, best first */
    double weight;       /* of the vector search, 0 to 1 */
    /* Keyword results come first and keep their order; vector search only adds notes after them.
     * For queries in a script that the embedding model does not know. */
    bool words_first;
};

/* The score of a result from its words and its cosine, 0 to 1. */
double fuse_score(const struct fuse_input *in, const struct result *r);

/* Returns all candidates of both lists, best first, allocated in the arena. Of each note only seq
 * is set. Scores are 0 to 1. */
struct results fuse(struct fumi_arena *a, const struct fuse_input *in);

#endif
