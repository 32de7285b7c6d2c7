/* The portable implementation, and the choice between implementations. Each call chooses again,
 * which only reads flags that the compiler's runtime set when the program started; so there is no
 * state to initialise. */
#include "store/vector_parts.h"

#include <math.h>
#include <string.h>

/* Four independent sums, so that additions do not wait for each other. */
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

static int32_t dot_int8(const int8_t *a, const int8_t *b, size_t dim)
{
    int32_t sum = 0;
    for (size_t i = 0; i < dim; i++)
        sum += a[i] * b[i];
    return sum;
}

static void hamming(const uint64_t *rows, size_t n, size_t words, const uint64_t *query,
                    uint16_t *out)
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

const struct vector_impl vector_portable = {"portable", always, dot, dot_int8, hamming};

const struct vector_impl *const vector_impls[] = {
#if defined(__x86_64__)
    &vector_avx512,
    &vector_avx2,
#endif
#if defined(__aarch64__)
    &vector_neon,
#endif
    &vector_portable,
};

const struct vector_impl *vector_best(void)
{
    const struct vector_impl *const *c = vector_impls;
    while (!(*c)->is_supported())
        c++;
    return *c;
}

float vector_dot(const float *a, const float *b, size_t dim)
{
    return vector_best()->dot(a, b, dim);
}

/* In double, because the square of a large float overflows a float. */
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

void vector_sign_bits(const float *x, size_t dim, uint64_t *bits)
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

/* Rounds half to even: adding a number this large shifts the fraction out of the mantissa. */
static int8_t rounded(float x)
{
    const float shift = 12582912; /* 1.5 * 2^23 */
    return (int8_t)(x + shift - shift);
}

void vector_quantize(const float *x, size_t dim, int8_t *code, float *scale)
{
    float most = largest(x, dim);
    bool usable = most > 0 && isfinite(most) && isfinite(127 / most);
    *scale = usable ? most / 127 : 0;
    float by = usable ? 127 / most : 0;
    for (size_t i = 0; i < dim; i++)
        code[i] = isfinite(x[i]) ? rounded(x[i] * by) : 0;
}
