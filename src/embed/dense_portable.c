/* The encoder in plain C, for processors that have no code of their own: vectors of 16 bytes, which
 * the compiler turns into whatever there is. */
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

/* Sums are taken without a sign, so that they may wrap (as only those of a damaged file do). */
typedef int16_t pairs __attribute__((vector_size(16)));
typedef uint16_t open_pairs __attribute__((vector_size(16)));
typedef uint32_t open_ivec __attribute__((vector_size(16)));

/* Bytes as 16-bit numbers in the lanes of two vectors: one of each two, and the other. Which is
 * which is the machine's affair, as weights and digits are taken apart alike. */
struct apart {
    open_pairs one, other;
};

static inline struct apart apart(open_pairs bytes)
{
    return (struct apart){(open_pairs)((pairs)(bytes << 8) >> 8), (open_pairs)((pairs)bytes >> 8)};
}

static inline struct apart weights_of(const int8_t *at)
{
    open_pairs bytes;
    memcpy(&bytes, at, sizeof bytes);
    return apart(bytes);
}

static inline struct apart digits_of(const uint8_t *at)
{
    uint32_t quad;
    memcpy(&quad, at, sizeof quad);
    return apart((open_pairs)(quad + (open_ivec){0}));
}

/* The upper 16 bits of each lane, and the lower, with their signs. */
static inline open_ivec upper(open_ivec v)
{
    return (open_ivec)((ivec)v >> 16);
}

static inline open_ivec lower(open_ivec v)
{
    return upper(v << 16);
}

/* Sums of the rows of a tile, in vectors of four columns. */
struct sums {
    open_ivec v[TILE][PARTS];
};

/* `quads` quads of a group, with no sum that leaves 16 bits. The loops are so short that they are
 * better not loops. */
LANES_FN void add_quads(const int8_t *w, const uint8_t *x, const int32_t *factor, struct sums *s,
                        const size_t rows, const size_t quads)
{
    struct apart d[GROUP / QUAD][TILE];
    _Pragma("GCC unroll 16") for (size_t i = 0; i < quads * rows; i++)
        d[i / rows][i % rows] = digits_of(x + i % rows * GROUP + i / rows * QUAD);
    for (size_t i = 0; i < PARTS; i++, w += 16) {
        open_pairs chain[TILE] = {0};
        _Pragma("GCC unroll 4") for (size_t q = 0; q < quads; q++)
        {
            struct apart v = weights_of(w + q * QUAD * COLUMNS);
            _Pragma("GCC unroll 4") for (size_t r = 0; r < rows; r++)
                chain[r] += v.one * d[q][r].one + v.other * d[q][r].other;
        }
        _Pragma("GCC unroll 4") for (size_t r = 0; r < rows; r++)
        {
            open_ivec two = (open_ivec)chain[r];
            s->v[r][i] += (lower(two) + upper(two)) * ((uint32_t)factor[r] & 0xffff);
        }
    }
}

/* The groups that are added in chains of `quads` quads. */
LANES_FN void add_groups(const struct panel *p, const struct coded *x, size_t row, struct sums *s,
                         const size_t rows, const size_t quads)
{
    size_t from = quads == 4 ? 0 : quads == 2 ? p->whole : p->half;
    size_t to = quads == 4 ? p->whole : quads == 2 ? p->half : p->groups;
    for (size_t i = from; i < to; i++) {
        const int8_t *w = p->weights + p->order[i] * (size_t)GROUP * COLUMNS;
        size_t place = coded_place(row, x->groups, p->order[i]);
        const uint8_t *digits = x->digits + place * GROUP;
        for (size_t q = 0; q < GROUP / QUAD; q += quads)
            add_quads(w + q * QUAD * COLUMNS, digits + q * QUAD, x->factor + place, s, rows, quads);
    }
}

/* Lows of two groups lie beside each other, as the sums of the weights in both do. */
static void add_lows(const struct panel *p, const struct coded *x, size_t row, open_ivec sum[PARTS])
{
    for (size_t pair = 0; pair < coded_pairs(x); pair++) {
        uint32_t two;
        memcpy(&two, x->low + coded_place(row, coded_pairs(x), pair) * 2, sizeof two);
        open_ivec low = two + (open_ivec){0};
        for (size_t i = 0; i < PARTS; i++) {
            open_ivec s;
            memcpy(&s, p->sums + (pair * COLUMNS + i * 4) * 2, sizeof s);
            sum[i] += lower(s) * lower(low) + upper(s) * upper(low);
        }
    }
}

LANES_FN void tile_of(const struct panel *p, const struct coded *x, size_t row, int32_t *out,
                      const size_t rows)
{
    struct sums s = {0};
    for (size_t r = 0; r < rows; r++)
        add_lows(p, x, row + r, s.v[r]);
    add_groups(p, x, row, &s, rows, 4);
    add_groups(p, x, row, &s, rows, 2);
    add_groups(p, x, row, &s, rows, 1);
    memcpy(out, s.v, rows * sizeof *s.v);
}

static void tile(const struct panel *p, const struct coded *x, const struct tile *t)
{
    int32_t sums[TILE * COLUMNS];
    if (t->n == TILE)
        tile_of(p, x, t->row, sums, TILE);
    for (size_t r = 0; r < t->n && t->n != TILE; r++)
        tile_of(p, x, t->row + r, sums + r * COLUMNS, 1);
    finish(p, x, t, sums);
}

static bool here(void)
{
    return true;
}

const struct encoder_code encoder_portable = {"portable", here, tile, &lanes_portable};
