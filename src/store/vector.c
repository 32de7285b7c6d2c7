/* The portable code, and the choice. The choice is made again at each call: it reads a few words
 * that the compiler's library filled at start, so nothing of ours has to be set up. */
#include "store/vector_parts.h"

#include <math.h>
#include <string.h>

/* Four sums at once, so that an addition need not wait for the one before it. */
static float dot(const float *a, const float *b, size_t dim)
{
    float sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= dim; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += a[i + k] * b[i + k];
    for (; i < dim; i++)
        sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static int32_t small_dot(const int8_t *a, const int8_t *b, size_t dim)
{
    int32_t sum = 0;
    for (size_t i = 0; i < dim; i++)
        sum += a[i] * b[i];
    return sum;
}

static void far(const uint64_t *rows, size_t n, size_t words, const uint64_t *query, uint16_t *out)
{
    for (size_t i = 0; i < n; i++, rows += words) {
        unsigned count = 0;
        for (size_t w = 0; w < words; w++)
            count += (unsigned)__builtin_popcountll(rows[w] ^ query[w]);
        out[i] = (uint16_t)count;
    }
}

static bool always(void)
{
    return true;
}

const struct vector_code vector_plain = {"portable", always, dot, small_dot, far};

const struct vector_code *const vector_codes[] = {
#if defined(__x86_64__)
    &vector_avx512,
    &vector_avx2,
#endif
#if defined(__aarch64__)
    &vector_neon,
#endif
    &vector_plain,
};

const struct vector_code *vector_best(void)
{
    const struct vector_code *const *c = vector_codes;
    while (!(*c)->runs())
        c++;
    return *c;
}

float vector_dot(const float *a, const float *b, size_t dim)
{
    return vector_best()->dot(a, b, dim);
}

int32_t vector_small_dot(const int8_t *a, const int8_t *b, size_t dim)
{
    return vector_best()->small_dot(a, b, dim);
}

void vector_far(const uint64_t *rows, size_t n, size_t words, const uint64_t *query, uint16_t *out)
{
    vector_best()->far(rows, n, words, query, out);
}

/* In double: the square of a large float is no float any more. */
bool vector_normalise(float *x, size_t dim)
{
    double sum = 0;
    for (size_t i = 0; i < dim; i++)
        sum += (double)x[i] * x[i];
    if (!isfinite(sum) || sum <= 0)
        return false;
    double by = 1 / sqrt(sum);
    for (size_t i = 0; i < dim; i++)
        x[i] = (float)(x[i] * by);
    return true;
}

void vector_bits(const float *x, size_t dim, uint64_t *bits)
{
    memset(bits, 0, vector_words(dim) * sizeof(*bits));
    for (size_t i = 0; i < dim; i++)
        bits[i / 64] |= (uint64_t)(x[i] > 0) << i % 64;
}

static float largest(const float *x, size_t dim)
{
    float most = 0;
    for (size_t i = 0; i < dim; i++) {
        float size = fabsf(x[i]);
        most = size > most ? size : most;
    }
    return most;
}

/* Rounds to even as the processor does, by adding what pushes the fraction out of a float. */
static int8_t rounded(float x)
{
    const float push = 12582912; /* 1.5 * 2^23 */
    return (int8_t)(x + push - push);
}

void vector_small(const float *x, size_t dim, int8_t *small, float *scale)
{
    float most = largest(x, dim);
    bool usable = most > 0 && isfinite(most) && isfinite(127 / most);
    *scale = usable ? most / 127 : 0;
    float by = usable ? 127 / most : 0;
    for (size_t i = 0; i < dim; i++)
        small[i] = isfinite(x[i]) ? rounded(x[i] * by) : 0;
}
