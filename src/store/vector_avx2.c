/* For x86 processors with AVX2 and FMA: nearly all since 2013. */
#include "store/vector_parts.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma,popcnt")))

static bool is_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("popcnt");
}

AVX2 static float sum_floats(__m256 x)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

AVX2 static float dot(const float *a, const float *b, size_t dim)
{
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    size_t i = 0;
    for (; i + 32 <= dim; i += 32) {
        s0 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), s0);
        s1 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + 8), _mm256_loadu_ps(b + i + 8), s1);
        s2 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + 16), _mm256_loadu_ps(b + i + 16), s2);
        s3 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + 24), _mm256_loadu_ps(b + i + 24), s3);
    }
    for (; i + 8 <= dim; i += 8)
        s0 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), s0);
    float sum = sum_floats(_mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3)));
    for (; i < dim; i++)
        sum += a[i] * b[i];
    return sum;
}

AVX2 static int32_t sum_ints(__m256i x)
{
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

AVX2 static inline __m256i widened(const int8_t *p)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)p));
}

AVX2 static int32_t dot_int8(const int8_t *a, const int8_t *b, size_t dim)
{
    __m256i s0 = _mm256_setzero_si256(), s1 = s0;
    size_t i = 0;
    for (; i + 32 <= dim; i += 32) {
        s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(widened(a + i), widened(b + i)));
        s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(widened(a + i + 16), widened(b + i + 16)));
    }
    int32_t sum = sum_ints(_mm256_add_epi32(s0, s1));
    for (; i < dim; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Scalar popcount is limited by the loads; for rows this short it is as fast as counting with
 * vector shuffles. */
AVX2 static inline void count(const uint64_t *rows, size_t n, size_t words, const uint64_t *query,
                              uint16_t *out)
{
    for (size_t i = 0; i < n; i++, rows += words) {
        uint64_t sum = 0;
        for (size_t w = 0; w < words; w++)
            sum += (uint64_t)__builtin_popcountll(rows[w] ^ query[w]);
        out[i] = (uint16_t)sum;
    }
}

/* Unrolled for 384 dimensions, the dimension of the local model. */
AVX2 static void count_six(const uint64_t *row, size_t n, const uint64_t *query, uint16_t *out)
{
    const uint64_t a = query[0], b = query[1], c = query[2], d = query[3], e = query[4],
                   f = query[5];
    for (size_t i = 0; i < n; i++, row += 6)
        out[i] = (uint16_t)(__builtin_popcountll(row[0] ^ a) + __builtin_popcountll(row[1] ^ b) +
                            __builtin_popcountll(row[2] ^ c) + __builtin_popcountll(row[3] ^ d) +
                            __builtin_popcountll(row[4] ^ e) + __builtin_popcountll(row[5] ^ f));
}

AVX2 static void hamming(const uint64_t *rows, size_t n, size_t words, const uint64_t *query,
                         uint16_t *out)
{
    if (words == 6)
        count_six(rows, n, query, out);
    else
        count(rows, n, words, query, out);
}

const struct vector_impl vector_avx2 = {"AVX2", is_supported, dot, dot_int8, hamming};
#endif
