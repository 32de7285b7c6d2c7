#include "test.h"

#include "base/arena.h"
#include "store/vector_parts.h"

#include <float.h>
#include <math.h>

enum { ROWS = 9 };
static const size_t dims[] = {1,   2,   3,   7,   8,   15,   16,   17,   31,   32,
                              33,  63,  64,  65,  100, 127,  128,  129,  383,  384,
                              385, 511, 512, 513, 768, 1000, 1024, 1536, 3072, VECTOR_DIM_MAX};

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static float real(uint32_t *seed)
{
    return (float)next(seed) / (1 << 23) - 1;
}

/* Exactly n bytes, so that the sanitizer reports a read past the end. */
static void *room(size_t n)
{
    return fumi_resize(NULL, n);
}

static float *reals(size_t n, uint32_t seed)
{
    float *x = room(n * sizeof(*x));
    for (size_t i = 0; i < n; i++)
        x[i] = real(&seed);
    return x;
}

static int8_t *bytes(size_t n, uint32_t seed)
{
    int8_t *x = room(n);
    for (size_t i = 0; i < n; i++)
        x[i] = (int8_t)next(&seed);
    return x;
}

static void dot_as_in_double(const struct vector_impl *impl, size_t dim)
{
    float *a = reals(dim, 1), *b = reals(dim, 2);
    double want = 0, size = 0;
    for (size_t i = 0; i < dim; i++) {
        want += (double)a[i] * b[i];
        size += fabs((double)a[i] * b[i]);
    }
    double got = impl->dot(a, b, dim);
    if (!(fabs(got - want) <= size * 1e-5))
        TEST_FAIL("%s dot of %zu: got %g, want %g", impl->name, dim, got, want);
    fumi_resize(a, 0);
    fumi_resize(b, 0);
}

static void dot_int8_exact(const struct vector_impl *impl, size_t dim)
{
    int8_t *a = bytes(dim, 3), *b = bytes(dim, 4);
    a[0] = b[0] = -128;
    int64_t want = 0;
    for (size_t i = 0; i < dim; i++)
        want += a[i] * b[i];
    int32_t got = impl->dot_int8(a, b, dim);
    if (got != want)
        TEST_FAIL("%s dot_int8 of %zu: got %d, want %jd", impl->name, dim, got, (intmax_t)want);
    fumi_resize(a, 0);
    fumi_resize(b, 0);
}

static unsigned differing(const uint64_t *a, const uint64_t *b, size_t words)
{
    unsigned sum = 0;
    for (size_t i = 0; i < words * 64; i++)
        sum += (a[i / 64] ^ b[i / 64]) >> i % 64 & 1;
    return sum;
}

static void hamming_exact(const struct vector_impl *impl, size_t dim)
{
    size_t words = vector_words(dim);
    uint64_t *rows = (uint64_t *)bytes(ROWS * words * 8, 5), *q = (uint64_t *)bytes(words * 8, 6);
    uint16_t *out = room(ROWS * sizeof(*out));
    for (size_t w = 0; w < words; w++)
        rows[w] = ~q[w];
    impl->hamming(rows, ROWS, words, q, out);
    for (size_t i = 0; i < ROWS; i++)
        if (out[i] != differing(rows + i * words, q, words))
            TEST_FAIL("%s hamming of %zu, row %zu: got %u", impl->name, dim, i, out[i]);
    impl->hamming(rows, 0, words, q, out);
    fumi_resize(rows, 0);
    fumi_resize(q, 0);
    fumi_resize(out, 0);
}

static void every(void (*check)(const struct vector_impl *, size_t dim))
{
    const struct vector_impl *const *c = vector_impls;
    do {
        for (size_t i = 0; (*c)->is_supported() && i < FUMI_COUNT(dims); i++)
            check(*c, dims[i]);
    } while (*c++ != &vector_portable);
}

TEST(every_implementation_computes_the_float_dot_product)
{
    every(dot_as_in_double);
}

TEST(every_implementation_computes_the_8_bit_dot_product_exactly)
{
    every(dot_int8_exact);
}

TEST(every_implementation_counts_differing_bits_exactly)
{
    every(hamming_exact);
}

TEST(vector_dot_uses_a_supported_implementation)
{
    float a[] = {1, 2, 3}, b[] = {4, 5, 6};
    CHECK(vector_best()->is_supported());
    CHECK(vector_dot(a, b, 3) == 32);
    CHECK(vector_dot(a, b, 0) == 0);
}

TEST(normalised_to_unit_length)
{
    static const float sizes[] = {1, 1e-30f, 1e30f, FLT_MAX, FLT_MIN};
    for (size_t k = 0; k < FUMI_COUNT(sizes); k++) {
        float x[] = {sizes[k], -sizes[k], 0, sizes[k]};
        CHECK(vector_normalise(x, 4));
        CHECK(fabsf(vector_dot(x, x, 4) - 1) < 1e-6f);
        CHECK(x[1] < 0 && x[2] == 0);
    }
}

TEST(vectors_without_a_finite_length_are_left_unchanged)
{
    float bad[][2] = {{0, 0}, {-0.0f, 0}, {1, NAN}, {INFINITY, 1}, {-INFINITY, INFINITY}};
    for (size_t k = 0; k < FUMI_COUNT(bad); k++) {
        float before[2];
        memcpy(before, bad[k], sizeof(before));
        CHECK(!vector_normalise(bad[k], 2));
        CHECK(memcmp(before, bad[k], sizeof(before)) == 0);
    }
    float none = 1;
    CHECK(!vector_normalise(&none, 0));
}

TEST(sign_bits_are_set_for_positive_elements)
{
    float x[70] = {0};
    uint64_t bits[2] = {~0ull, ~0ull};
    x[0] = 1;
    x[1] = -1;
    x[63] = FLT_MIN;
    x[64] = NAN;
    x[69] = INFINITY;
    vector_sign_bits(x, 70, bits);
    CHECK(bits[0] == (1 | 1ull << 63));
    CHECK(bits[1] == 1ull << 5);
}

TEST(quantization_error_is_at_most_half_a_step)
{
    for (size_t k = 0; k < FUMI_COUNT(dims); k++) {
        float *x = reals(dims[k], (uint32_t)k), scale, most = 0;
        int8_t *code = room(dims[k]);
        vector_quantize(x, dims[k], code, &scale);
        int top = 0;
        for (size_t i = 0; i < dims[k]; i++) {
            most = fmaxf(most, fabsf(x[i]));
            top = abs(code[i]) > top ? abs(code[i]) : top;
            if (fabsf(code[i] * scale - x[i]) > scale * 0.501f)
                TEST_FAIL("%zu: %g became %d * %g", dims[k], (double)x[i], code[i], (double)scale);
        }
        if (top != 127 || fabsf(scale * 127 - most) > most * 1e-6f)
            TEST_FAIL("%zu: the largest is %d, not 127", dims[k], top);
        fumi_resize(x, 0);
        fumi_resize(code, 0);
    }
}

TEST(vectors_without_a_scale_are_quantized_to_0)
{
    static const float bad[][3] = {
        {0, 0, 0}, {INFINITY, 1, 2}, {-INFINITY, 1, 2}, {1e-45f, 0, 0}, {NAN, NAN, NAN}};
    for (size_t k = 0; k < FUMI_COUNT(bad); k++) {
        int8_t code[3] = {1, 1, 1};
        float scale = 1;
        vector_quantize(bad[k], 3, code, &scale);
        CHECK(scale == 0 && !code[0] && !code[1] && !code[2]);
    }
    int8_t code[2];
    float scale, x[] = {NAN, -0.5f};
    vector_quantize(x, 2, code, &scale);
    CHECK(code[0] == 0 && code[1] == -127);
}
