/* A growing byte buffer with a ceiling. */
#ifndef FUMI_BASE_BUF_H
#define FUMI_BASE_BUF_H

#include "../base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* Empties it, keeping its memory when that is at most `keep` bytes. */
void fumi_buf_reset(struct fumi_buf *b, size_t keep);

struct fumi_arena;
/* Its bytes as a text of the arena; it is empty and holds no memory afterwards. */
struct fumi_str fumi_buf_keep(struct fumi_buf *b, struct fumi_arena *a);

/* Hands the bytes of `from` over to the empty buffer `to`; `from` is empty afterwards. */
void fumi_buf_move(struct fumi_buf *to, struct fumi_buf *from);

static inline struct fumi_str fumi_buf_str(const struct fumi_buf *b)
{
    struct fumi_str s = {b->p ? b->p : "", b->n};
    return s;
}

#ifdef __cplusplus
}
#endif

#endif
