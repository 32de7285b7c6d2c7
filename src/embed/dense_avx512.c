/* The AVX-512 VNNI backend: one instruction adds four products in each of 16 columns, in 32 bits.
 * Float operations are those of AVX2. */
#ifdef __x86_64__

#include "embed/encoder_parts.h"

#include <immintrin.h>
#include <string.h>

#define VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

/* The four bytes at `at` in every lane. */
VNNI static inline __m512i spread4(const void *at)
{
    int32_t v;
    memcpy(&v, at, sizeof v);
    return _mm512_set1_epi32(v);
}

VNNI static inline __m512i lows(const struct panel *p, const struct quantized *x, size_t row)
{
    __m512i sum = _mm512_setzero_si512();
    for (size_t pair = 0; pair < quantized_pairs(x); pair++) {
        __m512i w = _mm512_load_si512(p->sums + pair * COLUMNS * 2);
        __m512i low = spread4(x->low + quantized_slot(row, quantized_pairs(x), pair) * 2);
        sum = _mm512_add_epi32(sum, _mm512_madd_epi16(low, w));
    }
    return sum;
}

VNNI static inline __m512i group(const int8_t *w, const uint8_t *codes)
{
    __m512i sum = _mm512_setzero_si512();
    _Pragma("GCC unroll 4") for (size_t q = 0; q < GROUP / QUAD; q++)
        sum = _mm512_dpbusd_epi32(sum, spread4(codes + q * QUAD), _mm512_load_si512(w + q * 64));
    return sum;
}

/* Always computes TILE rows. Those beyond n repeat the last row; their sums are not used. */
VNNI static void tile(const struct panel *p, const struct quantized *x, const struct tile *t)
{
    int32_t sums[TILE * COLUMNS];
    __m512i sum[TILE];
    size_t at[TILE];
    _Pragma("GCC unroll 4") for (size_t r = 0; r < TILE; r++)
    {
        size_t row = t->row + (r < t->n ? r : t->n - 1);
        at[r] = quantized_slot(row, x->groups, 0);
        sum[r] = lows(p, x, row);
    }
    for (size_t g = 0; g < p->groups; g++) {
        const int8_t *w = p->weights + g * GROUP * COLUMNS;
        _Pragma("GCC unroll 4") for (size_t r = 0; r < TILE; r++)
        {
            size_t slot = at[r] + g * TILE;
            __m512i f = _mm512_set1_epi32(x->factor[slot] & 0xffff);
            __m512i s = group(w, x->codes + slot * GROUP);
            sum[r] = _mm512_add_epi32(sum[r], _mm512_mullo_epi32(s, f));
        }
    }
    for (size_t r = 0; r < TILE; r++)
        _mm512_storeu_si512(sums + r * COLUMNS, sum[r]);
    lanes_avx2.finish(p, x, t, sums);
}

static bool is_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
}

const struct encoder_backend encoder_avx512 = {"avx512vnni", is_supported, tile, &lanes_avx2};

#endif
