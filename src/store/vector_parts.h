/* The implementations behind vector.h, one table of functions per instruction set. For vector*.c,
 * their test, and loops that choose an implementation once instead of on each call. */
#ifndef FUMI_STORE_VECTOR_PARTS_H
#define FUMI_STORE_VECTOR_PARTS_H

#include "store/vector.h"

struct vector_impl {
    const char *name;
    bool (*is_supported)(void); /* by this processor */
    float (*dot)(const float *a, const float *b, size_t dim);
    int32_t (*dot_int8)(const int8_t *a, const int8_t *b, size_t dim);
    /* out[i] = Hamming distance (number of differing bits) between row i and the query. Each of the
     * n rows, and the query, has `words` words. */
    void (*hamming)(const uint64_t *rows, size_t n, size_t words, const uint64_t *query,
                    uint16_t *out);
};

/* All implementations in the program, fastest first. The last one, vector_portable, runs
 * everywhere. */
extern const struct vector_impl *const vector_impls[];

/* The first implementation that this processor supports. */
const struct vector_impl *vector_best(void);

extern const struct vector_impl vector_portable;
#if defined(__x86_64__)
extern const struct vector_impl vector_avx2, vector_avx512;
#endif
#if defined(__aarch64__)
extern const struct vector_impl vector_neon;
#endif

#endif
