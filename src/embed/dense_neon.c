/* The backend for ARM processors with dot product instructions (most since 2018). Float operations
 * are portable C, which the compiler translates to NEON. */
#ifdef __aarch64__

#include "embed/encoder_parts.h"

#include <arm_neon.h>
#include <string.h>
#include <sys/auxv.h>

#define DOT __attribute__((target("arch=armv8.2-a+dotprod")))

enum { PARTS = COLUMNS / 4 }; /* vectors of four columns */

DOT static inline void add_lows(const struct panel *p, const struct quantized *x, size_t row,
                                int32x4_t sum[PARTS])
{
    for (size_t pair = 0; pair < quantized_pairs(x); pair++) {
        const int16_t *low = x->low + quantized_slot(row, quantized_pairs(x), pair) * 2;
        for (size_t i = 0; i < PARTS; i++) {
            int16x4x2_t w = vld2_s16(p->sums + (pair * COLUMNS + i * 4) * 2);
            sum[i] = vmlal_n_s16(sum[i], w.val[0], low[0]);
            sum[i] = vmlal_n_s16(sum[i], w.val[1], low[1]);
        }
    }
}

/* A group of one row. Codes are at most 127, so they may be read as signed numbers. */
DOT static inline int32x4_t group(const int8_t *w, int8x16_t codes)
{
    int32x4_t s = vdupq_n_s32(0);
    s = vdotq_laneq_s32(s, vld1q_s8(w), codes, 0);
    s = vdotq_laneq_s32(s, vld1q_s8(w + QUAD * COLUMNS), codes, 1);
    s = vdotq_laneq_s32(s, vld1q_s8(w + 2 * QUAD * COLUMNS), codes, 2);
    return vdotq_laneq_s32(s, vld1q_s8(w + 3 * QUAD * COLUMNS), codes, 3);
}

DOT static inline void add_group(const struct panel *p, const struct quantized *x, size_t row,
                                 size_t g, int32x4_t sum[PARTS])
{
    const int8_t *w = p->weights + g * GROUP * COLUMNS;
    size_t slot = quantized_slot(row, x->groups, g);
    int8x16_t codes = vreinterpretq_s8_u8(vld1q_u8(x->codes + slot * GROUP));
    int32_t factor = x->factor[slot] & 0xffff;
    _Pragma("GCC unroll 4") for (size_t i = 0; i < PARTS; i++)
        sum[i] = vmlaq_n_s32(sum[i], group(w + i * 16, codes), factor);
}

DOT static void tile(const struct panel *p, const struct quantized *x, const struct tile *t)
{
    int32_t sums[TILE * COLUMNS];
    for (size_t r = 0; r < t->n; r++) {
        int32x4_t sum[PARTS] = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
        add_lows(p, x, t->row + r, sum);
        for (size_t g = 0; g < p->groups; g++)
            add_group(p, x, t->row + r, g, sum);
        memcpy(sums + r * COLUMNS, sum, sizeof sum);
    }
    lanes_portable.finish(p, x, t, sums);
}

static bool is_supported(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
}

const struct encoder_backend encoder_neon = {"neon", is_supported, tile, &lanes_portable};

#endif
