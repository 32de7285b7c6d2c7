/* For 64-bit ARM, which always has NEON. */
#include "store/vector_parts.h"

#if defined(__aarch64__)
#include <arm_neon.h>

static bool is_supported(void)
{
    return true;
}

static float dot(const float *a, const float *b, size_t dim)
{
    float32x4_t s0 = vdupq_n_f32(0), s1 = s0;
    size_t i = 0;
    for (; i + 8 <= dim; i += 8) {
        s0 = vfmaq_f32(s0, vld1q_f32(a + i), vld1q_f32(b + i));
        s1 = vfmaq_f32(s1, vld1q_f32(a + i + 4), vld1q_f32(b + i + 4));
    }
    float sum = vaddvq_f32(vaddq_f32(s0, s1));
    for (; i < dim; i++)
        sum += a[i] * b[i];
    return sum;
}

static int32_t dot_int8(const int8_t *a, const int8_t *b, size_t dim)
{
    int32x4_t s = vdupq_n_s32(0);
    size_t i = 0;
    for (; i + 16 <= dim; i += 16) {
        int8x16_t x = vld1q_s8(a + i), y = vld1q_s8(b + i);
        s = vpadalq_s16(s, vmull_s8(vget_low_s8(x), vget_low_s8(y)));
        s = vpadalq_s16(s, vmull_s8(vget_high_s8(x), vget_high_s8(y)));
    }
    int32_t sum = vaddvq_s32(s);
    for (; i < dim; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The count of a byte is at most 8, so the sum over 16 bytes fits into a byte. */
static uint16_t differ(const uint64_t *row, size_t words, const uint64_t *query)
{
    uint16_t sum = 0;
    size_t w = 0;
    for (; w + 2 <= words; w += 2) {
        uint64x2_t x = veorq_u64(vld1q_u64(row + w), vld1q_u64(query + w));
        sum = (uint16_t)(sum + vaddvq_u8(vcntq_u8(vreinterpretq_u8_u64(x))));
    }
    for (; w < words; w++)
        sum = (uint16_t)(sum + __builtin_popcountll(row[w] ^ query[w]));
    return sum;
}

static void hamming(const uint64_t *rows, size_t n, size_t words, const uint64_t *query,
                    uint16_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = differ(rows + i * words, words, query);
}

const struct vector_impl vector_neon = {"NEON", is_supported, dot, dot_int8, hamming};
#endif
