/* Random numbers and dense layers for tests of the encoder, and the backends to test. */
#ifndef FUMI_ENCODER_FIXTURE_H
#define FUMI_ENCODER_FIXTURE_H

#include "base/arena.h"
#include "embed/encoder_parts.h"

#include <math.h>
#include <string.h>

/* The i-th backend that this processor supports, encoder_portable first; NULL past the last. */
static inline const struct encoder_backend *backend_at(size_t i)
{
    size_t n = 0;
    while (encoder_backends[n] != &encoder_portable)
        n++;
    for (n++; n--;)
        if (encoder_backends[n]->is_supported() && !i--)
            return encoder_backends[n];
    return NULL;
}

struct dice {
    uint64_t state;
};

static inline uint32_t roll(struct dice *d)
{
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(d->state >> 33);
}

/* Approximately normal, with a standard deviation of 1. */
static inline float normal(struct dice *d)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += roll(d) / 2147483648.0;
    return (float)(sum - 6);
}

/* From the arena, aligned to 64 bytes. */
static inline void *aligned_room(struct fumi_arena *a, size_t size)
{
    char *p = fumi_alloc(a, size + 64);
    return p + (64 - (uintptr_t)p % 64);
}

static inline float *normals(struct fumi_arena *a, struct dice *d, size_t n, float mean, float size)
{
    float *p = aligned_room(a, n * sizeof *p);
    for (size_t i = 0; i < n; i++)
        p[i] = mean + size * normal(d);
    return p;
}

/* A dense layer, and the integers that it was made of. */
struct test_dense {
    struct encoder_dense dense;
    const int8_t *w;
};

static inline struct test_dense dense_of(struct fumi_arena *a, struct dice *d, const int8_t *w,
                                         size_t in, size_t out)
{
    int8_t *panels = aligned_room(a, dense_panels_size(in, out));
    int32_t *sums = fumi_alloc(a, out * sizeof *sums);
    float *scale = normals(a, d, out, 0.01f, 0.001f), *offset = normals(a, d, out, 0, 0.01f);
    dense_pack(w, in, out, panels, sums);
    return (struct test_dense){{in, out, panels, sums, scale, offset, normals(a, d, out, 0, 0.1f)},
                               w};
}

/* The value of W[k][j]. */
static inline double weight_at(const struct test_dense *t, size_t k, size_t j)
{
    const struct encoder_dense *d = &t->dense;
    return (double)d->scale[j] * t->w[k * d->out + j] + d->offset[j];
}

#endif
