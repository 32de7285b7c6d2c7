#include "base/buf.h"

#include "base/arena.h"

#include <assert.h>

enum { FIRST_SIZE = 256 };

char *fumi_buf_room(struct fumi_buf *b, size_t more)
{
    size_t limit = b->limit ? b->limit : SIZE_MAX / 2;
    if (b->full || b->n > limit || more > limit - b->n) {
        b->full = true;
        return NULL;
    }
    size_t need = b->n + more;
    if (need > b->cap) {
        size_t cap = b->cap ? b->cap * 2 : FIRST_SIZE;
        if (cap < need)
            cap = need;
        if (cap > limit)
            cap = limit; /* fumi_buf_reserve compares with cap only */
        b->p = fumi_resize(b->p, cap);
        b->cap = cap;
    }
    return b->p + b->n;
}

void fumi_buf_done(struct fumi_buf *b)
{
    if (b->p)
        fumi_resize(b->p, 0);
    *b = (struct fumi_buf){.limit = b->limit};
}

void fumi_buf_reset(struct fumi_buf *b, size_t keep)
{
    if (b->cap > keep)
        fumi_buf_done(b);
    b->n = 0;
    b->full = false;
}

void fumi_buf_move(struct fumi_buf *to, struct fumi_buf *from)
{
    assert(to->n == 0 && to != from);
    fumi_resize(to->p, 0);
    to->p = from->p;
    to->n = from->n;
    to->cap = from->cap;
    if (to->limit && to->cap > to->limit)
        to->cap = to->limit > to->n ? to->limit : to->n;
    to->full = false;
    *from = (struct fumi_buf){.limit = from->limit};
}

struct fumi_str fumi_buf_keep(struct fumi_buf *b, struct fumi_arena *a)
{
    struct fumi_str kept = fumi_dup(a, fumi_buf_str(b));
    fumi_buf_done(b);
    return kept;
}
