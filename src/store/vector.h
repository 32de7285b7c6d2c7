/* Arithmetic on vectors: exact, 8-bit and 1-bit. Picks the best code for the processor at run time;
 * all give the same integers, and the same floats up to rounding. */
#ifndef FUMI_STORE_VECTOR_H
#define FUMI_STORE_VECTOR_H

#include "model/dim.h"

#include <stddef.h>

float vector_dot(const float *a, const float *b, size_t dim);
/* To unit length. False: not finite, or no length: nothing is changed. */
bool vector_normalise(float *x, size_t dim);

/* The cheap forms. bits: one for each dimension, set when it is above 0, in words of 64, the rest
 * 0. small: round(x / scale), scale such that the largest is 127. */
static inline size_t vector_words(size_t dim)
{
    return (dim + 63) / 64;
}
void vector_bits(const float *x, size_t dim, uint64_t *bits);
void vector_small(const float *x, size_t dim, int8_t *small, float *scale);
int32_t vector_small_dot(const int8_t *a, const int8_t *b, size_t dim);

/* out[i] = number of bits in which row i differs from the query. */
void vector_far(const uint64_t *rows, size_t n, size_t words, const uint64_t *query, uint16_t *out);

#endif
