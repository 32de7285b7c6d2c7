/* The AVX2 backend. Products of bytes are added in 16-bit lanes (vpmaddubsw, vpaddw); each such
 * chain is then widened and multiplied by the factor of its group in one step (vpmaddwd). */
#ifdef __x86_64__

#include <immintrin.h>

#define LANES        8
#define LANES_TARGET __attribute__((target("avx2,fma")))
#define LANES_NAME   lanes_avx2
#include "embed/encoder_lanes.h"

LANES_FN vec larger(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

LANES_FN vec smaller(vec a, vec b)
{
    return _mm256_min_ps(a, b);
}

LANES_FN void peaks(vec a, vec b, float *of_a, float *of_b)
{
    vec m = _mm256_max_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
    m = _mm256_max_ps(m, _mm256_permute_ps(m, 0x4e));
    m = _mm256_max_ps(m, _mm256_permute_ps(m, 0xb1));
    *of_a = m[0];
    *of_b = m[4];
}

LANES_FN void put_group(uint8_t *to, const ivec v[GROUP / LANES])
{
    __m256i words = _mm256_packs_epi32((__m256i)v[0], (__m256i)v[1]);
    __m256i bytes = _mm256_packus_epi16(words, words);
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5));
    _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(bytes));
}

/* The four bytes at `at` in every lane. */
LANES_FN __m256i spread4(const void *at)
{
    int32_t v;
    memcpy(&v, at, sizeof v);
    return _mm256_set1_epi32(v);
}

LANES_FN __m256i aligned(const void *at)
{
    return _mm256_load_si256(at);
}

/* The sums of a tile: for each row two vectors of eight columns. */
struct avx2_sums {
    __m256i v[TILE][2];
};

/* Keeps the compiler from adding up a chain in an order that needs more registers than there are:
 * as far as the compiler knows, this assembler statement may change the value. */
LANES_FN void hold(__m256i *v)
{
    __asm__("" : "+x"(*v));
}

/* Adds `quads` quads of a group as one chain. */
LANES_FN void add_chain(const int8_t *w, const uint8_t *x, const int32_t *factor,
                        struct avx2_sums *s, const size_t rows, const size_t quads)
{
    __m256i chain[TILE][2];
    _Pragma("GCC unroll 4") for (size_t q = 0; q < quads; q++)
    {
        __m256i left = aligned(w + q * 64), right = aligned(w + q * 64 + 32);
        _Pragma("GCC unroll 4") for (size_t r = 0; r < rows; r++)
        {
            __m256i d = spread4(x + r * GROUP + q * QUAD);
            __m256i a = _mm256_maddubs_epi16(d, left), b = _mm256_maddubs_epi16(d, right);
            chain[r][0] = q ? _mm256_add_epi16(chain[r][0], a) : a;
            chain[r][1] = q ? _mm256_add_epi16(chain[r][1], b) : b;
            hold(&chain[r][0]);
            hold(&chain[r][1]);
        }
    }
    _Pragma("GCC unroll 4") for (size_t r = 0; r < rows; r++)
    {
        __m256i f = spread4(factor + r);
        s->v[r][0] = _mm256_add_epi32(s->v[r][0], _mm256_madd_epi16(chain[r][0], f));
        s->v[r][1] = _mm256_add_epi32(s->v[r][1], _mm256_madd_epi16(chain[r][1], f));
    }
}

/* Adds the groups whose chains have `quads` quads. */
LANES_FN void add_groups(const struct panel *p, const struct quantized *x, size_t row,
                         struct avx2_sums *s, const size_t rows, const size_t quads)
{
    size_t from = quads == 4 ? 0 : quads == 2 ? p->whole : p->half;
    size_t to = quads == 4 ? p->whole : quads == 2 ? p->half : p->groups;
    for (size_t i = from; i < to; i++) {
        const int8_t *w = p->weights + p->order[i] * (size_t)GROUP * COLUMNS;
        size_t slot = quantized_slot(row, x->groups, p->order[i]);
        const uint8_t *codes = x->codes + slot * GROUP;
        for (size_t q = 0; q < GROUP / QUAD; q += quads)
            add_chain(w + q * QUAD * COLUMNS, codes + q * QUAD, x->factor + slot, s, rows, quads);
    }
}

LANES_FN void add_lows(const struct panel *p, const struct quantized *x, size_t row,
                       struct avx2_sums *s, const size_t rows)
{
    for (size_t pair = 0; pair < quantized_pairs(x); pair++) {
        const int16_t *w = p->sums + pair * COLUMNS * 2;
        const int16_t *low = x->low + quantized_slot(row, quantized_pairs(x), pair) * 2;
        __m256i left = aligned(w), right = aligned(w + COLUMNS);
        _Pragma("GCC unroll 4") for (size_t r = 0; r < rows; r++)
        {
            __m256i d = spread4(low + r * 2);
            s->v[r][0] = _mm256_add_epi32(s->v[r][0], _mm256_madd_epi16(d, left));
            s->v[r][1] = _mm256_add_epi32(s->v[r][1], _mm256_madd_epi16(d, right));
        }
    }
}

LANES_FN void tile_of(const struct panel *p, const struct quantized *x, const struct tile *t,
                      const size_t rows)
{
    struct avx2_sums s = {0};
    add_lows(p, x, t->row, &s, rows);
    add_groups(p, x, t->row, &s, rows, 4);
    add_groups(p, x, t->row, &s, rows, 2);
    add_groups(p, x, t->row, &s, rows, 1);
    _Pragma("GCC unroll 4") for (size_t r = 0; r < rows; r++)
    {
        finish_at(p, x, t, r, 0, (ivec)s.v[r][0]);
        finish_at(p, x, t, r, LANES, (ivec)s.v[r][1]);
    }
}

LANES_TARGET static void tile(const struct panel *p, const struct quantized *x,
                              const struct tile *t)
{
    if (t->n == 4)
        tile_of(p, x, t, 4);
    else if (t->n == 2)
        tile_of(p, x, t, 2);
    else
        tile_of(p, x, t, 1);
}

static bool is_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

const struct encoder_backend encoder_avx2 = {"avx2", is_supported, tile, &lanes_avx2};

#endif
