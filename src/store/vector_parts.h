/* The codes behind vector.h: one table for each kind of processor. For vector*.c and their test,
 * and for loops in which the choice at each call would cost. */
#ifndef FUMI_STORE_VECTOR_PARTS_H
#define FUMI_STORE_VECTOR_PARTS_H

#include "store/vector.h"

struct vector_code {
    const char *name;
    bool (*runs)(void); /* on this processor */
    float (*dot)(const float *a, const float *b, size_t dim);
    int32_t (*small_dot)(const int8_t *a, const int8_t *b, size_t dim);
    void (*far)(const uint64_t *rows, size_t n, size_t words, const uint64_t *query, uint16_t *out);
};

/* All that were compiled in, best first; the last one runs everywhere and ends the list. */
extern const struct vector_code *const vector_codes[];

/* The first of them that runs here. */
const struct vector_code *vector_best(void);

extern const struct vector_code vector_plain;
#if defined(__x86_64__)
extern const struct vector_code vector_avx2, vector_avx512;
#endif
#if defined(__aarch64__)
extern const struct vector_code vector_neon;
#endif

#endif
