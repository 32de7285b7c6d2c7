/* How the encoder is made: dense layers on whole numbers (dense*.c), the rest on floats
 * (encoder_lanes.h), put together in encoder.c. Only these files include it.
 *
 * A row of activations is coded in groups of 16 numbers: x = step * (factor * digit + low), with
 * one step for the row, a factor and a low for each group, and digits of 0 to 127. So a group's
 * resolution follows its own range, and all products are whole numbers: every kind of processor
 * comes to the same sums, bit for bit.
 *
 * A matrix is cut into panels of 16 columns. The mean of each column (`centre`) is taken off the
 * weights, so that most products are small: then the products of a whole group fit into 16 bits
 * (two products of each of four quads are added), which is what AVX2 is fast at. dense_pack finds
 * out for which groups that holds for whatever activations; the others are added in shorter chains.
 */
#ifndef FUMI_EMBED_ENCODER_PARTS_H
#define FUMI_EMBED_ENCODER_PARTS_H

#include "embed/encoder.h"

enum {
    GROUP = 16,   /* rows of a matrix (k) that share a factor */
    QUAD = 4,     /* k values of one column that lie beside each other */
    COLUMNS = 16, /* of a panel */
    TOP_DIGIT = 127,
    TILE = 4,      /* rows of activations that a tile takes at most */
    GROUPS = 4096, /* in a panel at most */
};

static inline size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* A panel in memory, each part aligned to 64 bytes: the head; `order`, groups of uint16_t; `sums`,
 * for each two groups and each column the sums of its weights in both, int16_t; `weights`, for each
 * group and quad and column four int8_t. */
struct panel_head {
    int8_t centre[COLUMNS];
    /* The first `whole` groups of the order may be chained over four quads, those up to `half` over
     * two. */
    uint16_t whole, half;
    uint8_t unused[64 - COLUMNS - 4];
};

/* A panel made ready. Nothing in it can lead outside of the panel, whatever the file held. */
struct panel {
    size_t groups, whole, half;
    const int16_t *sums;
    const int8_t *weights;
    /* y = scale * step * sum of products + base * sum of x + bias, for each column. */
    float scale[COLUMNS], base[COLUMNS], bias[COLUMNS];
    uint16_t order[GROUPS];
};

/* Coded rows. Rows are taken four at a time, so what four rows have of a group lies together: see
 * coded_place. */
struct coded {
    size_t groups;
    float top;           /* the largest factor: no sum of products leaves 32 bits */
    uint8_t *digits;     /* GROUP for each place */
    int32_t *factor;     /* one for each place, the number twice, in the lower and upper 16 bits */
    int16_t *low;        /* two for each place among coded_pairs */
    float *step, *sum;   /* one a row; sum: of the coded numbers */
    float *least, *most; /* of each group, room for the row that is being coded */
};

/* Where a row's part of group `g` is when a row has `groups` of them. */
static inline size_t coded_place(size_t row, size_t groups, size_t g)
{
    return (row / TILE * groups + g) * TILE + row % TILE;
}

/* Lows are in pairs of groups. */
static inline size_t coded_pairs(const struct coded *c)
{
    return (c->groups + 1) / 2;
}

/* c = a b, with `columns` of b and c a multiple of 16. */
struct product {
    const float *a, *b;
    float *c;
    size_t a_stride, b_stride, c_stride;
    size_t rows, inner, columns;
};

/* Rows `row` to `row + n` (n: 4, 2 or 1) times a panel. */
struct tile {
    size_t row, n;
    float *y; /* of the first row and column */
    size_t stride;
    bool more; /* y is added to, and has its bias already */
};

typedef void tile_fn(const struct panel *p, const struct coded *x, const struct tile *t);

/* The float part. Lengths are multiples of 16 unless said otherwise. */
struct lanes {
    /* rest: what is left of x, as digits are no finer. It may be x. */
    void (*code)(const float *x, struct coded *out, size_t row, float *rest);
    /* From the sums of a tile's products, COLUMNS a row, to y. */
    void (*finish)(const struct panel *p, const struct coded *x, const struct tile *t,
                   const int32_t *sums);
    void (*gelu)(float *x, size_t n);
    /* x = e^(scale * (x - most)) / sum of these. */
    void (*soften)(float *x, size_t n, float scale);
    /* x = LayerNorm(x + more), of any length. */
    void (*norm)(float *x, const float *more, const struct encoder_norm *w, size_t n,
                 float epsilon);
    void (*product)(const struct product *p);
};

struct encoder_code {
    const char *name;
    bool (*here)(void); /* does this processor have it? */
    tile_fn *tile;
    const struct lanes *lanes;
};

extern const struct encoder_code encoder_avx512, encoder_avx2, encoder_neon, encoder_portable;
extern const struct lanes lanes_avx2, lanes_portable;

/* The code that runs now. */
const struct encoder_code *encoder_code(void);

/* y = x W + bias for `rows` coded rows, with x + rest for x when there is a rest (or NULL); columns
 * of y up to the next multiple of COLUMNS are zeroed. */
void dense_run(const struct encoder_code *code, const struct encoder_dense *d,
               const struct coded *x, const struct coded *rest, size_t rows, float *y,
               size_t stride);

/* Room for `rows` rows of `in` numbers; the size in bytes, and its parts laid out from `at` on. */
size_t coded_size(size_t rows, size_t in);
struct coded coded_at(char *at, size_t rows, size_t in);
void coded_shape(struct coded *c, size_t in); /* for fewer numbers than there is room for */

#endif
