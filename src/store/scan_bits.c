/* Sign bits of a rotated vector.
 *
 * The vectors of some models have most of their length in few dimensions; the signs of all other
 * dimensions are then noise. Therefore each vector is first multiplied by a fixed pseudo-random
 * rotation: a few rounds of random sign flips and Walsh-Hadamard transforms. Angles stay the
 * same, and afterwards every bit carries the same information, whatever the model. The bound in
 * scan_rank.c relies on this. */
#include "store/scan_parts.h"

#include <math.h>

enum { ROUNDS = 4 };

static uint64_t random_word(uint64_t seed)
{
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Flips the sign bits by XOR: a branch would be mispredicted half of the time. */
static void flip_signs(float *x, size_t dim, uint64_t round)
{
    for (size_t i = 0; i < dim; i += 64) {
        uint64_t signs = random_word(round * VECTOR_DIM_MAX + i);
        size_t n = dim - i < 64 ? dim - i : 64;
        for (size_t k = 0; k < n; k++) {
            uint32_t bits;
            memcpy(&bits, &x[i + k], sizeof(bits));
            bits ^= (uint32_t)(signs >> k) << 31;
            memcpy(&x[i + k], &bits, sizeof(bits));
        }
    }
}

typedef float four __attribute__((vector_size(16)));

static inline void butterfly(float *x, float *y)
{
    four a, b, sum, difference;
    memcpy(&a, x, sizeof(a));
    memcpy(&b, y, sizeof(b));
    sum = a + b;
    difference = a - b;
    memcpy(x, &sum, sizeof(sum));
    memcpy(y, &difference, sizeof(difference));
}

static void hadamard_step(float *x, size_t n, size_t half)
{
    for (size_t i = 0; i < n; i += 2 * half)
        for (size_t k = i; k < i + half; k++) {
            float a = x[k], b = x[k + half];
            x[k] = a + b;
            x[k + half] = a - b;
        }
}

/* The Walsh-Hadamard transform; n is a power of two. Multiplies the length by sqrt(n). */
static void hadamard(float *x, size_t n)
{
    for (size_t half = 1; half < n && half < 4; half *= 2)
        hadamard_step(x, n, half);
    for (size_t half = 4; half < n; half *= 2)
        for (size_t i = 0; i < n; i += 2 * half)
            for (size_t k = i; k < i + half; k += 4)
                butterfly(x + k, x + k + half);
}

/* If dim is not a power of two, the rounds transform the beginning and the end in turn. */
static void rotate(float *x, size_t dim)
{
    size_t part = 1;
    while (part * 2 <= dim)
        part *= 2;
    const float back = 1 / sqrtf((float)part);
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t begin = round % 2 ? dim - part : 0;
        flip_signs(x, dim, round);
        hadamard(x + begin, part);
        for (size_t i = 0; i < part; i++)
            x[begin + i] *= back;
    }
}

void scan_bits(const float *x, size_t dim, uint64_t *bits)
{
    float rotated[VECTOR_DIM_MAX] __attribute__((uninitialized));
    memcpy(rotated, x, dim * sizeof(*x));
    rotate(rotated, dim);
    vector_sign_bits(rotated, dim, bits);
}
