/* A growing byte buffer with an optional size limit. */
#ifndef FUMI_BASE_BUF_H
#define FUMI_BASE_BUF_H

#include "../base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

/* {0} is an empty buffer without limit. The first write that would exceed the limit sets `full`,
 * and from then on nothing is added: a writer needs to test `full` only once, at its end. Not
 * thread-safe. */
struct fumi_buf {
    char *p;
    size_t n, cap;
    size_t limit; /* maximum of n; 0: none */
    bool full;
};

/* Grows the buffer for `more` bytes and returns where they go (p + n), or NULL with `full` set if
 * they would exceed the limit. The caller adds what it wrote to n. fumi_buf_reserve is the same,
 * and faster if the buffer has the capacity already. */
char *fumi_buf_room(struct fumi_buf *b, size_t more);

/* Frees the memory. The buffer is empty afterwards and keeps its limit. */
void fumi_buf_done(struct fumi_buf *b);

static inline char *fumi_buf_reserve(struct fumi_buf *b, size_t more)
{
    if (b->cap - b->n >= more && !b->full)
        return b->p + b->n;
    return fumi_buf_room(b, more);
}

static inline void fumi_buf_add(struct fumi_buf *b, const void *bytes, size_t n)
{
    char *to = n ? fumi_buf_reserve(b, n) : NULL;
    if (to) {
        memcpy(to, bytes, n);
        b->n += n;
    }
}

static inline void fumi_buf_put(struct fumi_buf *b, char byte)
{
    fumi_buf_add(b, &byte, 1);
}

/* Empties the buffer. Its memory is kept for reuse if it has at most `keep` bytes. */
void fumi_buf_reset(struct fumi_buf *b, size_t keep);

struct fumi_arena;
/* Copies the contents into the arena, frees the buffer, and returns the copy. */
struct fumi_str fumi_buf_keep(struct fumi_buf *b, struct fumi_arena *a);

/* Moves the contents, without a copy, to `to`, which must be empty. `from` is empty afterwards.
 * Each buffer keeps its own limit. */
void fumi_buf_move(struct fumi_buf *to, struct fumi_buf *from);

/* The contents, borrowed until the buffer changes; p is never NULL. */
static inline struct fumi_str fumi_buf_str(const struct fumi_buf *b)
{
    struct fumi_str s = {b->p ? b->p : "", b->n};
    return s;
}

#ifdef __cplusplus
}
#endif

#endif
