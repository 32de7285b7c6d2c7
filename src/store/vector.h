/* Vector arithmetic in three precisions: float, 8-bit codes and sign bits.
 *
 * Each function uses the fastest implementation that this processor supports (vector_parts.h). All
 * implementations give the same integers, and the same floats up to rounding. All functions are
 * thread-safe. */
#ifndef FUMI_STORE_VECTOR_H
#define FUMI_STORE_VECTOR_H

#include "model/dim.h"

#include <stddef.h>

/* The dot product; 0 if dim is 0. */
float vector_dot(const float *a, const float *b, size_t dim);

/* Scales x to unit length. Returns false, with x unchanged, if its length is 0 or not finite. */
bool vector_normalise(float *x, size_t dim);

/* The number of 64-bit words that hold one bit per dimension. */
static inline size_t vector_words(size_t dim)
{
    return (dim + 63) / 64;
}

/* Binary quantization: bit i is set if x[i] > 0. Writes vector_words(dim) words; unused bits are
 * 0. */
void vector_sign_bits(const float *x, size_t dim, uint64_t *bits);

/* 8-bit scalar quantization: code[i] = round(x[i] / *scale), where *scale maps the largest
 * magnitude to 127. An element that is not finite becomes 0; if no scale exists (all elements are
 * 0, or one is infinite), *scale and all codes are 0. */
void vector_quantize(const float *x, size_t dim, int8_t *code, float *scale);

#endif
