/* For x86 processors with AVX-512 VPOPCNTDQ (Ice Lake, Zen 4 and later). The rest of a row is
 * loaded under a mask, which reads nothing past its end. */
#include "store/vector_parts.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vpopcntdq")))

static bool is_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq");
}

AVX512 static float dot(const float *a, const float *b, size_t dim)
{
    __m512 s0 = _mm512_setzero_ps(), s1 = s0;
    size_t i = 0;
    for (; i + 32 <= dim; i += 32) {
        s0 = _mm512_fmadd_ps(_mm512_loadu_ps(a + i), _mm512_loadu_ps(b + i), s0);
        s1 = _mm512_fmadd_ps(_mm512_loadu_ps(a + i + 16), _mm512_loadu_ps(b + i + 16), s1);
    }
    for (; i < dim; i += 16) {
        __mmask16 in = (__mmask16)(dim - i >= 16 ? 0xffff : (1u << (dim - i)) - 1);
        s0 = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(in, a + i), _mm512_maskz_loadu_ps(in, b + i),
                             s0);
    }
    return _mm512_reduce_add_ps(_mm512_add_ps(s0, s1));
}

AVX512 static inline __m512i widened(__mmask32 in, const int8_t *p)
{
    return _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(in, p));
}

AVX512 static int32_t dot_int8(const int8_t *a, const int8_t *b, size_t dim)
{
    __m512i sum = _mm512_setzero_si512();
    for (size_t i = 0; i < dim; i += 32) {
        __mmask32 in = dim - i >= 32 ? ~(__mmask32)0 : ((__mmask32)1 << (dim - i)) - 1;
        sum = _mm512_add_epi32(sum, _mm512_madd_epi16(widened(in, a + i), widened(in, b + i)));
    }
    return _mm512_reduce_add_epi32(sum);
}

AVX512 static inline uint16_t differ(const uint64_t *row, size_t words, const uint64_t *query)
{
    __m512i sum = _mm512_setzero_si512();
    for (size_t w = 0; w < words; w += 8) {
        __mmask8 in = (__mmask8)(words - w >= 8 ? 0xff : (1u << (words - w)) - 1);
        __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi64(in, row + w),
                                     _mm512_maskz_loadu_epi64(in, query + w));
        sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(x));
    }
    return (uint16_t)_mm512_reduce_add_epi64(sum);
}

AVX512 static void hamming(const uint64_t *rows, size_t n, size_t words, const uint64_t *query,
                           uint16_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = differ(rows + i * words, words, query);
}

const struct vector_impl vector_avx512 = {"AVX-512", is_supported, dot, dot_int8, hamming};
#endif
