/* One ranking out of two. */
#ifndef FUMI_MEMORY_FUSE_H
#define FUMI_MEMORY_FUSE_H

#include "memory/memory.h"

struct fuse_input {
    struct hits words;   /* best first */
    struct hits meaning; /* of all candidates that have vectors, best first */
    double weight;       /* of meaning, 0 to 1 */
    /* What words found keeps its order and stands first: meaning knows this script too little to
     * judge it, and only adds what has no word in common. */
    bool words_first;
};

/* All candidates of both sides, best first; notes but for note.seq are not filled. */
struct results fuse(struct fumi_arena *a, const struct fuse_input *in);

#endif
