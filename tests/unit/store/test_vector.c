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

/* Exactly as long as it says, so that a read beyond the end is seen by the sanitizer. */
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

static void dot_as_in_double(const struct vector_code *code, size_t dim)
{
    float *a = reals(dim, 1), *b = reals(dim, 2);
    double want = 0, size = 0;
    for (size_t i = 0; i < dim; i++) {
        want += (double)a[i] * b[i];
        size += fabs((double)a[i] * b[i]);
    }
    double got = code->dot(a, b, dim);
    if (!(fabs(got - want) <= size * 1e-5))
        TEST_FAIL("%s dot of %zu: got %g, want %g", code->name, dim, got, want);
    fumi_resize(a, 0);
    fumi_resize(b, 0);
}

static void small_dot_exact(const struct vector_code *code, size_t dim)
{
    int8_t *a = bytes(dim, 3), *b = bytes(dim, 4);
    a[0] = b[0] = -128;
    int64_t want = 0;
    for (size_t i = 0; i < dim; i++)
        want += a[i] * b[i];
    int32_t got = code->small_dot(a, b, dim);
    if (got != want)
        TEST_FAIL("%s small_dot of %zu: got %d, want %jd", code->name, dim, got, (intmax_t)want);
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

static void far_exact(const struct vector_code *code, size_t dim)
{
    size_t words = vector_words(dim);
    uint64_t *rows = (uint64_t *)bytes(ROWS * words * 8, 5), *q = (uint64_t *)bytes(words * 8, 6);
    uint16_t *out = room(ROWS * sizeof(*out));
    for (size_t w = 0; w < words; w++)
        rows[w] = ~q[w];
    code->far(rows, ROWS, words, q, out);
    for (size_t i = 0; i < ROWS; i++)
        if (out[i] != differing(rows + i * words, q, words))
            TEST_FAIL("%s far of %zu, row %zu: got %u", code->name, dim, i, out[i]);
    code->far(rows, 0, words, q, out);
    fumi_resize(rows, 0);
    fumi_resize(q, 0);
    fumi_resize(out, 0);
}

static void every(void (*check)(const struct vector_code *, size_t dim))
{
    const struct vector_code *const *c = vector_codes;
    do {
        for (size_t i = 0; (*c)->runs() && i < FUMI_COUNT(dims); i++)
            check(*c, dims[i]);
    } while (*c++ != &vector_plain);
}

TEST(every_code_multiplies_floats_alike)
{
    every(dot_as_in_double);
}

TEST(every_code_multiplies_bytes_exactly)
{
    every(small_dot_exact);
}

TEST(every_code_counts_bits_exactly)
{
    every(far_exact);
}

TEST(the_public_names_choose_a_code)
{
    float a[] = {1, 2, 3}, b[] = {4, 5, 6};
    int8_t x[] = {-127, 127, 1}, y[] = {127, 127, 2};
    uint64_t rows[] = {0, 7}, q = 1;
    uint16_t out[2];
    vector_far(rows, 2, 1, &q, out);
    CHECK(vector_dot(a, b, 3) == 32);
    CHECK_INT(vector_small_dot(x, y, 3), 2);
    CHECK_INT(out[0], 1);
    CHECK_INT(out[1], 2);
    CHECK(vector_dot(a, b, 0) == 0);
    CHECK_INT(vector_small_dot(x, y, 0), 0);
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

TEST(what_has_no_length_stays_as_it_is)
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

TEST(bits_are_the_signs)
{
    float x[70] = {0};
    uint64_t bits[2] = {~0ull, ~0ull};
    x[0] = 1;
    x[1] = -1;
    x[63] = FLT_MIN;
    x[64] = NAN;
    x[69] = INFINITY;
    vector_bits(x, 70, bits);
    CHECK(bits[0] == (1 | 1ull << 63));
    CHECK(bits[1] == 1ull << 5);
}

TEST(small_keeps_what_matters)
{
    for (size_t k = 0; k < FUMI_COUNT(dims); k++) {
        float *x = reals(dims[k], (uint32_t)k), scale, most = 0;
        int8_t *small = room(dims[k]);
        vector_small(x, dims[k], small, &scale);
        int top = 0;
        for (size_t i = 0; i < dims[k]; i++) {
            most = fmaxf(most, fabsf(x[i]));
            top = abs(small[i]) > top ? abs(small[i]) : top;
            if (fabsf(small[i] * scale - x[i]) > scale * 0.501f)
                TEST_FAIL("%zu: %g became %d * %g", dims[k], (double)x[i], small[i], (double)scale);
        }
        if (top != 127 || fabsf(scale * 127 - most) > most * 1e-6f)
            TEST_FAIL("%zu: the largest is %d, not 127", dims[k], top);
        fumi_resize(x, 0);
        fumi_resize(small, 0);
    }
}

TEST(small_of_what_cannot_be_scaled_is_harmless)
{
    static const float bad[][3] = {
        {0, 0, 0}, {INFINITY, 1, 2}, {-INFINITY, 1, 2}, {1e-45f, 0, 0}, {NAN, NAN, NAN}};
    for (size_t k = 0; k < FUMI_COUNT(bad); k++) {
        int8_t small[3] = {1, 1, 1};
        float scale = 1;
        vector_small(bad[k], 3, small, &scale);
        CHECK(scale == 0 && !small[0] && !small[1] && !small[2]);
    }
    int8_t small[2];
    float scale, x[] = {NAN, -0.5f};
    vector_small(x, 2, small, &scale);
    CHECK(small[0] == 0 && small[1] == -127);
}
