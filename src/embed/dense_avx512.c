/* Sums of products on AVX-512 VNNI: one instruction for four products in each of sixteen columns,
 * in 32 bits. The rest is that of AVX2. */
#ifdef __x86_64__

#include "embed/encoder_parts.h"

#include <immintrin.h>
#include <string.h>

#define VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

/* Four bytes in every lane. */
VNNI static inline __m512i spread4(const void *at)
{
    int32_t v;
    memcpy(&v, at, sizeof v);
    return _mm512_set1_epi32(v);
}

VNNI static inline __m512i lows(const struct panel *p, const struct coded *x, size_t row)
{
    __m512i sum = _mm512_setzero_si512();
    for (size_t pair = 0; pair < coded_pairs(x); pair++) {
        __m512i w = _mm512_load_si512(p->sums + pair * COLUMNS * 2);
        __m512i low = spread4(x->low + coded_place(row, coded_pairs(x), pair) * 2);
        sum = _mm512_add_epi32(sum, _mm512_madd_epi16(low, w));
    }
    return sum;
}

VNNI static inline __m512i group(const int8_t *w, const uint8_t *digits)
{
    __m512i sum = _mm512_setzero_si512();
    _Pragma("GCC unroll 4") for (size_t q = 0; q < GROUP / QUAD; q++)
        sum = _mm512_dpbusd_epi32(sum, spread4(digits + q * QUAD), _mm512_load_si512(w + q * 64));
    return sum;
}

/* Rows beyond n are those of the last: they cost nothing, and their sums are not kept. */
VNNI static void tile(const struct panel *p, const struct coded *x, const struct tile *t)
{
    int32_t sums[TILE * COLUMNS];
    __m512i sum[TILE];
    size_t at[TILE];
    _Pragma("GCC unroll 4") for (size_t r = 0; r < TILE; r++)
    {
        size_t row = t->row + (r < t->n ? r : t->n - 1);
        at[r] = coded_place(row, x->groups, 0);
        sum[r] = lows(p, x, row);
    }
    for (size_t g = 0; g < p->groups; g++) {
        const int8_t *w = p->weights + g * GROUP * COLUMNS;
        _Pragma("GCC unroll 4") for (size_t r = 0; r < TILE; r++)
        {
            size_t place = at[r] + g * TILE;
            __m512i f = _mm512_set1_epi32(x->factor[place] & 0xffff);
            __m512i s = group(w, x->digits + place * GROUP);
            sum[r] = _mm512_add_epi32(sum[r], _mm512_mullo_epi32(s, f));
        }
    }
    for (size_t r = 0; r < TILE; r++)
        _mm512_storeu_si512(sums + r * COLUMNS, sum[r]);
    lanes_avx2.finish(p, x, t, sums);
}

static bool here(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
}

const struct encoder_code encoder_avx512 = {"avx512vnni", here, tile, &lanes_avx2};

#endif
