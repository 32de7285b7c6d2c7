/* The portable backend: plain C with vectors of 16 bytes, which the compiler translates to what the
 * processor has. */
#include "embed/encoder_parts.h"

#include <string.h>

#define LANES        4
#define LANES_TARGET __attribute__((unused))
#define LANES_NAME   lanes_portable
#include "embed/encoder_lanes.h"

LANES_FN vec pick(ivec mask, vec a, vec b)
{
    return (vec)(((ivec)a & mask) | ((ivec)b & ~mask));
}

LANES_FN vec larger(vec a, vec b)
{
    return pick(a > b, a, b);
}

LANES_FN vec smaller(vec a, vec b)
{
    return pick(a < b, a, b);
}

LANES_FN void peaks(vec a, vec b, float *of_a, float *of_b)
{
    *of_a = a[0];
    *of_b = b[0];
    for (int i = 1; i < LANES; i++) {
        *of_a = a[i] > *of_a ? a[i] : *of_a;
        *of_b = b[i] > *of_b ? b[i] : *of_b;
    }
}

LANES_FN void put_group(uint8_t *to, const ivec v[GROUP / LANES])
{
    for (size_t i = 0; i < GROUP; i++)
        to[i] = (uint8_t)v[i / LANES][i % LANES];
}

enum { PARTS = COLUMNS / 4 }; /* vectors of four columns */

/* Sums are unsigned, because those of a damaged file may overflow. */
typedef int16_t i16_vec __attribute__((vector_size(16)));
typedef uint16_t u16_vec __attribute__((vector_size(16)));
typedef uint32_t u32_vec __attribute__((vector_size(16)));

/* Bytes widened to 16 bits: of each two adjacent bytes one is in `a`, the other in `b`. Which one
 * does not matter, because weights and codes are split alike. */
struct widened {
    u16_vec a, b;
};

static inline struct widened widen(u16_vec bytes)
{
    return (struct widened){(u16_vec)((i16_vec)(bytes << 8) >> 8), (u16_vec)((i16_vec)bytes >> 8)};
}

static inline struct widened weights_of(const int8_t *at)
{
    u16_vec bytes;
    memcpy(&bytes, at, sizeof bytes);
    return widen(bytes);
}

static inline struct widened digits_of(const uint8_t *at)
{
    uint32_t quad;
    memcpy(&quad, at, sizeof quad);
    return widen((u16_vec)(quad + (u32_vec){0}));
}

/* The upper and the lower 16 bits of each lane, sign-extended. */
static inline u32_vec upper(u32_vec v)
{
    return (u32_vec)((ivec)v >> 16);
}

static inline u32_vec lower(u32_vec v)
{
    return upper(v << 16);
}

/* The sums of a tile: for each row vectors of four columns. */
struct portable_sums {
    u32_vec v[TILE][PARTS];
};

/* Adds `quads` quads of a group, whose sums fit into 16 bits. The loops are short, so they are
 * unrolled. */
LANES_FN void add_quads(const int8_t *w, const uint8_t *x, const int32_t *factor,
                        struct portable_sums *s, const size_t rows, const size_t quads)
{
    struct widened d[GROUP / QUAD][TILE];
    _Pragma("GCC unroll 16") for (size_t i = 0; i < quads * rows; i++)
        d[i / rows][i % rows] = digits_of(x + i % rows * GROUP + i / rows * QUAD);
    for (size_t i = 0; i < PARTS; i++, w += 16) {
        u16_vec chain[TILE] = {0};
        _Pragma("GCC unroll 4") for (size_t q = 0; q < quads; q++)
        {
            struct widened v = weights_of(w + q * QUAD * COLUMNS);
            _Pragma("GCC unroll 4") for (size_t r = 0; r < rows; r++)
                chain[r] += v.a * d[q][r].a + v.b * d[q][r].b;
        }
        _Pragma("GCC unroll 4") for (size_t r = 0; r < rows; r++)
        {
            u32_vec two = (u32_vec)chain[r];
            s->v[r][i] += (lower(two) + upper(two)) * ((uint32_t)factor[r] & 0xffff);
        }
    }
}

/* Adds the groups whose chains have `quads` quads. */
LANES_FN void add_groups(const struct panel *p, const struct quantized *x, size_t row,
                         struct portable_sums *s, const size_t rows, const size_t quads)
{
    size_t from = quads == 4 ? 0 : quads == 2 ? p->whole : p->half;
    size_t to = quads == 4 ? p->whole : quads == 2 ? p->half : p->groups;
    for (size_t i = from; i < to; i++) {
        const int8_t *w = p->weights + p->order[i] * (size_t)GROUP * COLUMNS;
        size_t slot = quantized_slot(row, x->groups, p->order[i]);
        const uint8_t *codes = x->codes + slot * GROUP;
        for (size_t q = 0; q < GROUP / QUAD; q += quads)
            add_quads(w + q * QUAD * COLUMNS, codes + q * QUAD, x->factor + slot, s, rows, quads);
    }
}

/* The lows of two groups are adjacent, and so are the sums of their weights. */
static void add_lows(const struct panel *p, const struct quantized *x, size_t row,
                     u32_vec sum[PARTS])
{
    for (size_t pair = 0; pair < quantized_pairs(x); pair++) {
        uint32_t two;
        memcpy(&two, x->low + quantized_slot(row, quantized_pairs(x), pair) * 2, sizeof two);
        u32_vec low = two + (u32_vec){0};
        for (size_t i = 0; i < PARTS; i++) {
            u32_vec s;
            memcpy(&s, p->sums + (pair * COLUMNS + i * 4) * 2, sizeof s);
            sum[i] += lower(s) * lower(low) + upper(s) * upper(low);
        }
    }
}

LANES_FN void tile_of(const struct panel *p, const struct quantized *x, size_t row, int32_t *out,
                      const size_t rows)
{
    struct portable_sums s = {0};
    for (size_t r = 0; r < rows; r++)
        add_lows(p, x, row + r, s.v[r]);
    add_groups(p, x, row, &s, rows, 4);
    add_groups(p, x, row, &s, rows, 2);
    add_groups(p, x, row, &s, rows, 1);
    memcpy(out, s.v, rows * sizeof *s.v);
}

static void tile(const struct panel *p, const struct quantized *x, const struct tile *t)
{
    int32_t sums[TILE * COLUMNS];
    if (t->n == TILE)
        tile_of(p, x, t->row, sums, TILE);
    for (size_t r = 0; r < t->n && t->n != TILE; r++)
        tile_of(p, x, t->row + r, sums + r * COLUMNS, 1);
    finish(p, x, t, sums);
}

static bool is_supported(void)
{
    return true;
}

const struct encoder_backend encoder_portable = {"portable", is_supported, tile, &lanes_portable};
