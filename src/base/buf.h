/* A growing byte buffer with a ceiling. */
#ifndef FUMI_BASE_BUF_H
#define FUMI_BASE_BUF_H

#include "base/str.h"

/* {0}: empty, no limit. Past the limit nothing is added any more and `full` is set, so that a
 * writer tests once, at its end. */
struct fumi_buf {
    char *p;
    size_t n, cap, limit;
    bool full;
};

/* Room for `more` bytes behind p + n, or NULL when that would pass the limit (full is set). */
char *fumi_buf_room(struct fumi_buf *b, size_t more);
void fumi_buf_done(struct fumi_buf *b);

static inline char *fumi_buf_reserve(struct fumi_buf *b, size_t more)
{
    if (FUMI_MOSTLY(b->cap - b->n >= more && !b->full))
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

/* Copies a few bytes without a call: up to sixteen, as two words that may overlap. */
static inline __attribute__((always_inline)) void fumi_copy(char *to, const char *from, size_t n)
{
    if (FUMI_RARELY(n > 16)) {
        memcpy(to, from, n);
    } else if (n >= 8) {
        uint64_t w[2];
        memcpy(&w[0], from, 8);
        memcpy(&w[1], from + n - 8, 8);
        memcpy(to, &w[0], 8);
        memcpy(to + n - 8, &w[1], 8);
    } else if (n >= 4) {
        uint32_t h[2];
        memcpy(&h[0], from, 4);
        memcpy(&h[1], from + n - 4, 4);
        memcpy(to, &h[0], 4);
        memcpy(to + n - 4, &h[1], 4);
    } else if (n) {
        char first = from[0], middle = from[n / 2], last = from[n - 1];
        to[0] = first;
        to[n / 2] = middle;
        to[n - 1] = last;
    }
}

static inline void fumi_buf_put(struct fumi_buf *b, char byte)
{
    fumi_buf_add(b, &byte, 1);
}

/* Empties it, keeping its memory when that is at most `keep` bytes. */
void fumi_buf_reset(struct fumi_buf *b, size_t keep);

struct fumi_arena;
/* Its bytes as a text of the arena; it is empty and holds no memory afterwards. */
struct fumi_str fumi_buf_keep(struct fumi_buf *b, struct fumi_arena *a);

/* Hands the bytes of `from` over to the empty buffer `to`; `from` is empty afterwards. */
void fumi_buf_move(struct fumi_buf *to, struct fumi_buf *from);

static inline struct fumi_str fumi_buf_str(const struct fumi_buf *b)
{
    return (struct fumi_str){b->p ? b->p : "", b->n};
}

#endif
