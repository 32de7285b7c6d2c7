/* Private to the encoder: dense layers in integer arithmetic (dense*.c), the rest in floats
 * (encoder_lanes.h), combined in encoder.c.
 *
 * A row of activations is quantized in groups of 16 numbers: x = step * (factor * code + low), with
 * one step per row, a factor and a low per group, and codes from 0 to 127. So the resolution of a
 * group follows its own range. All products are integers, so every backend gets the same sums, bit
 * for bit.
 *
 * A matrix is divided into panels of 16 columns. The mean of each column (`centre`) is subtracted
 * from its weights, so that most products are small and the sum of the products of a group (two
 * products from each of four quads) fits into 16 bits, which is what AVX2 is fast at. dense_pack
 * determines for which groups this holds with any activations; the others are added in shorter
 * chains. */
#ifndef FUMI_EMBED_ENCODER_PARTS_H
#define FUMI_EMBED_ENCODER_PARTS_H

#include "embed/encoder.h"

enum {
    GROUP = 16,   /* rows of a matrix (k) that share a factor */
    QUAD = 4,     /* adjacent k values of one column */
    COLUMNS = 16, /* in a panel */
    CODE_MAX = 127,
    TILE = 4,      /* rows of activations in a tile, at most */
    GROUPS = 4096, /* in a panel, at most */
};

static inline size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* The header of a panel in memory. It is followed by, each aligned to 64 bytes: `order`, a uint16_t
 * per group; `sums`, for each two groups and each column the sum of its weights in either group,
 * int16_t; `weights`, for each group, quad and column four int8_t. */
struct panel_head {
    int8_t centre[COLUMNS];
    /* The first `whole` groups of the order may be added in chains of four quads, those from
     * `whole` to `half` in chains of two. */
    uint16_t whole, half;
    uint8_t unused[64 - COLUMNS - 4];
};

/* A panel ready for use. Its numbers are checked: they never lead outside of the panel, even if the
 * file is damaged. */
struct panel {
    size_t groups, whole, half;
    const int16_t *sums;
    const int8_t *weights;
    /* For each column: y = scale * step * sum of products + base * sum of x + bias. */
    float scale[COLUMNS], base[COLUMNS], bias[COLUMNS];
    uint16_t order[GROUPS];
};

/* Quantized rows. Rows are processed four at a time, so the parts of four rows that belong to one
 * group are adjacent: see quantized_slot. */
struct quantized {
    size_t groups;
    float max_factor;    /* so small that no sum of products exceeds 32 bits */
    uint8_t *codes;      /* GROUP per slot */
    int32_t *factor;     /* one per slot: the factor in the lower and again in the upper 16 bits */
    int16_t *low;        /* two per slot, with quantized_pairs as the number of groups */
    float *step, *sum;   /* one per row; sum: of the quantized numbers */
    float *least, *most; /* scratch space for the row being quantized, one per group */
};

/* The index of a row's part of group `g`, for rows of `groups` groups. */
static inline size_t quantized_slot(size_t row, size_t groups, size_t g)
{
    return (row / TILE * groups + g) * TILE + row % TILE;
}

/* Lows are stored for two groups together. */
static inline size_t quantized_pairs(const struct quantized *q)
{
    return (q->groups + 1) / 2;
}

/* c = a b. The number of columns of b and c is a multiple of 16. */
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
    bool more; /* add to y, which already has the bias */
};

typedef void tile_fn(const struct panel *p, const struct quantized *x, const struct tile *t);

/* The float operations. Lengths are multiples of 16 unless stated otherwise. */
struct lanes {
    /* Quantizes x into a row of *out. rest = x - quantized x; it may be x itself. */
    void (*quantize)(const float *x, struct quantized *out, size_t row, float *rest);
    /* Computes y of a tile from the sums of its products, COLUMNS per row. */
    void (*finish)(const struct panel *p, const struct quantized *x, const struct tile *t,
                   const int32_t *sums);
    void (*gelu)(float *x, size_t n);
    /* The softmax of scale * x. */
    void (*softmax)(float *x, size_t n, float scale);
    /* x = LayerNorm(x + more), of any length. */
    void (*norm)(float *x, const float *more, const struct encoder_norm *w, size_t n,
                 float epsilon);
    void (*product)(const struct product *p);
};

/* The code for one kind of processor. */
struct encoder_backend {
    const char *name;
    bool (*is_supported)(void); /* by this processor */
    tile_fn *tile;
    const struct lanes *lanes;
};

extern const struct encoder_backend encoder_avx512, encoder_avx2, encoder_neon, encoder_portable;
extern const struct lanes lanes_avx2, lanes_portable;

/* The backends of this build, the fastest first. The last is encoder_portable, which every
 * processor supports. */
extern const struct encoder_backend *const encoder_backends[];

/* encoder_run with a given backend, which the processor must support. */
void encoder_run_with(const struct encoder_backend *backend, const struct encoder_weights *w,
                      const struct encoder_text *texts, size_t n, float *out);

/* y = x W + bias for `rows` quantized rows, or (x + rest) W + bias if rest is not NULL. Columns of
 * y up to the next multiple of COLUMNS are set to 0. */
void dense_run(const struct encoder_backend *backend, const struct encoder_dense *d,
               const struct quantized *x, const struct quantized *rest, size_t rows, float *y,
               size_t stride);

/* The bytes that `rows` quantized rows of `in` numbers take, and their parts laid out from `at` on
 * (aligned to 64 bytes). quantized_shape changes the length of rows to at most that. */
size_t quantized_size(size_t rows, size_t in);
struct quantized quantized_at(char *at, size_t rows, size_t in);
void quantized_shape(struct quantized *q, size_t in);

#endif
