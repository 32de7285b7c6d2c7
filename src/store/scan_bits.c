/* A bit says little about a vector whose length lies in few of its dimensions, as some models make
 * them: the signs of all the weak ones are noise. So a vector is turned first, always the same way:
 * signs are flipped at random and everything is mixed with everything (Walsh-Hadamard), a few times
 * over. That changes no angle, and afterwards every bit tells as much as a random one would,
 * whatever the model; the bound of scan_rank.c rests on it. */
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

/* By their sign bits: a choice between two numbers would be guessed wrong half of the time. */
static void flip(float *x, size_t dim, uint64_t round)
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

static inline void add_and_take(float *x, float *y)
{
    four a, b, sum, difference;
    memcpy(&a, x, sizeof(a));
    memcpy(&b, y, sizeof(b));
    sum = a + b;
    difference = a - b;
    memcpy(x, &sum, sizeof(sum));
    memcpy(y, &difference, sizeof(difference));
}

static void mix_near(float *x, size_t n, size_t half)
{
    for (size_t i = 0; i < n; i += 2 * half)
        for (size_t k = i; k < i + half; k++) {
            float a = x[k], b = x[k + half];
            x[k] = a + b;
            x[k + half] = a - b;
        }
}

/* n is a power of two; lengths grow by its root. */
static void mix(float *x, size_t n)
{
    for (size_t half = 1; half < n && half < 4; half *= 2)
        mix_near(x, n, half);
    for (size_t half = 4; half < n; half *= 2)
        for (size_t i = 0; i < n; i += 2 * half)
            for (size_t k = i; k < i + half; k += 4)
                add_and_take(x + k, x + k + half);
}

/* A length that is no power of two is mixed at its beginning and at its end in turn. */
static void turn(float *x, size_t dim)
{
    size_t part = 1;
    while (part * 2 <= dim)
        part *= 2;
    const float back = 1 / sqrtf((float)part);
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t begin = round % 2 ? dim - part : 0;
        flip(x, dim, round);
        mix(x + begin, part);
        for (size_t i = 0; i < part; i++)
            x[begin + i] *= back;
    }
}

void scan_bits(const float *x, size_t dim, uint64_t *bits)
{
    float turned[VECTOR_DIM_MAX] __attribute__((uninitialized));
    memcpy(turned, x, dim * sizeof(*x));
    turn(turned, dim);
    vector_bits(turned, dim, bits);
}
