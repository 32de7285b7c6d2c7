/* Long texts are embedded a few passages at a time, so that a text that takes minutes does not
 * delay the shutdown of the background thread, the renewal of its lease, or the vectors of other
 * notes. */
#include "memory/memory_parts.h"

#include <assert.h>

enum { SLICE = 16 }; /* passages: a few seconds for the local model on a slow machine */

static void begin(struct slices *s, struct space *sp, struct fumi_str text)
{
    s->spans = sp->embedder->ops->split(sp->embedder, &s->arena, text);
    s->v = (struct vectors){.items = fumi_alloc(&s->arena, s->spans.n * sizeof(*s->v.items))};
}

/* Appends n vectors. If the provider's dimension has changed, all passages are embedded again. */
static void keep(struct slices *s, struct space *sp, const float *x, size_t n)
{
    size_t dim = atomic_load(&sp->embedder->dim);
    if (dim != s->v.dim) {
        n = s->v.n ? 0 : n;
        s->v.n = 0;
    }
    s->v.dim = dim;
    float *to = fumi_alloc(&s->arena, n * dim * sizeof(*to));
    if (n)
        memcpy(to, x, n * dim * sizeof(*to));
    assert(n <= s->spans.n - s->v.n);
    for (size_t i = 0; i < n; i++, to += dim) {
        struct text_range span = s->spans.items[s->v.n];
        s->v.items[s->v.n++] = (struct passage){span.begin, span.end, to};
    }
}

int slices_next(struct slices *s, struct space *sp, struct fumi_arena *a, struct fumi_str text,
                int64_t ms, struct fumi_err *e)
{
    struct fumi_str texts[SLICE];
    size_t n = 0;
    float *x;
    if (!s->spans.n)
        begin(s, sp, text);
    for (size_t i = s->v.n; i < s->spans.n && n < SLICE; i++) {
        struct text_range span = s->spans.items[i];
        texts[n++] = (struct fumi_str){text.p + span.begin, span.end - span.begin};
    }
    if (sp->embedder->ops->embed(sp->embedder, a, texts, n, ms, &x, e))
        return -1;
    keep(s, sp, x, n);
    s->v.space = space_name(sp, &s->arena);
    return s->v.n == s->spans.n;
}

void slices_done(struct slices *s)
{
    fumi_arena_done(&s->arena);
    *s = (struct slices){0};
}
