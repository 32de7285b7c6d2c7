#include "test.h"

#include "encoder_fixture.h"

/* Kinds of weights: some fit into long chains, some never do; SPIKES are columns far from 0 with
 * one weight at the other end. */
enum sort { SMALL, EVEN, EXTREME, POSITIVE, SPIKES, SORTS };

static int8_t weight_of(struct dice *d, enum sort sort, size_t k)
{
    switch (sort) {
    case SMALL:
        return (int8_t)(roll(d) % 21) - 10;
    case EVEN:
        return (int8_t)(roll(d) % 256 - 128);
    case EXTREME:
        return roll(d) % 2 ? 127 : -128;
    case POSITIVE:
        return 127;
    case SPIKES:
        return k == 2 ? 127 : (int8_t)(-100 - (int)(roll(d) % 5));
    case SORTS:
        break;
    }
    return 0;
}

static const int8_t *weights(struct fumi_arena *a, struct dice *d, enum sort sort, size_t in,
                             size_t out)
{
    int8_t *w = fumi_alloc(a, in * out);
    for (size_t i = 0; i < in * out; i++)
        w[i] = weight_of(d, sort, i / out);
    return w;
}

static struct quantized quantized_room(struct fumi_arena *a, size_t rows, size_t in)
{
    return quantized_at(aligned_room(a, quantized_size(rows, in)), rows, in);
}

/* The integer that number k of a row was quantized to. */
static int64_t integer_at(const struct quantized *c, size_t row, size_t k)
{
    size_t g = k / GROUP, slot = quantized_slot(row, c->groups, g);
    int64_t low = c->low[quantized_slot(row, (c->groups + 1) / 2, g / 2) * 2 + g % 2];
    return low + (int64_t)(c->factor[slot] & 0xffff) * c->codes[slot * GROUP + k % GROUP];
}

/* Random rows with a stride of a multiple of 16; some numbers are outliers. */
static float *rows_of(struct fumi_arena *a, struct dice *d, size_t n, size_t in)
{
    size_t stride = round_up(in, 16);
    float *x = aligned_room(a, n * stride * sizeof *x);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < in; k++)
            x[i * stride + k] = normal(d) * (roll(d) % 50 ? 1 : 8) * (i == 1 ? 1e-6f : 1);
    return x;
}

TEST(quantization_is_as_fine_as_the_group_allows)
{
    struct fumi_arena a = {0};
    struct dice d = {1};
    for (size_t which = 0; backend_at(which); which++) {
        const struct encoder_backend *backend = backend_at(which);
        size_t in = 16 * 21, n = 5;
        float *x = rows_of(&a, &d, n, in), left[16 * 21];
        struct quantized c = quantized_room(&a, n, in);
        memset(x + 2 * in, 0, in * sizeof *x);
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            backend->lanes->quantize(x + i * in, &c, i, left);
            for (size_t k = 0; k < in; k++) {
                int factor = c.factor[quantized_slot(i, c.groups, k / GROUP)] & 0xffff;
                double got = c.step[i] * (double)integer_at(&c, i, k), off = got - x[i * in + k];
                sum += got;
                if (fabs(off) > 0.501 * c.step[i] * factor ||
                    fabs(off + left[k]) > 1e-6 * fabs(x[i * in + k]) + 1e-9)
                    TEST_FAIL("%s row %zu: %g is %g", backend->name, i, x[i * in + k], got);
                if (c.codes[quantized_slot(i, c.groups, k / GROUP) * GROUP + k % GROUP] > CODE_MAX)
                    TEST_FAIL("%s row %zu: a code above 127", backend->name, i);
            }
            if (fabs(sum - c.sum[i]) > 1e-3 * c.step[i] * CODE_MAX * c.max_factor)
                TEST_FAIL("%s row %zu: sum %g, not %g", backend->name, i, c.sum[i], sum);
        }
    }
    fumi_arena_done(&a);
}

/* Sums of products are exact, whatever the centres of columns and the chains of groups. */
static void check_sums(const struct test_dense *t, const struct quantized *c, size_t rows,
                       const float *y)
{
    const struct encoder_dense *d = &t->dense;
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < d->out; j++) {
            double want = d->bias[j], size = fabs(want);
            for (size_t k = 0; k < d->in; k++) {
                double part = c->step[i] * (double)integer_at(c, i, k) * weight_at(t, k, j);
                want += part;
                size += fabs(part);
            }
            double off = fabs(want - y[i * round_up(d->out, 16) + j]);
            if (off > 2e-6 * size)
                TEST_FAIL("%zux%zu row %zu column %zu: %g off of %g", d->in, d->out, i, j, off,
                          want);
        }
        for (size_t j = d->out; j < round_up(d->out, 16); j++)
            if (y[i * round_up(d->out, 16) + j] != 0)
                TEST_FAIL("surplus column %zu is not 0", j);
    }
}

static const struct {
    size_t in, out, rows;
} shapes[] = {{1, 1, 1},    {3, 5, 2},    {16, 16, 3},   {17, 33, 5},  {40, 16, 7},
              {100, 20, 9}, {384, 48, 4}, {1536, 32, 6}, {2048, 17, 2}};

static void try_shape(struct fumi_arena *a, struct dice *d, const struct encoder_backend *backend,
                      enum sort sort, size_t shape)
{
    size_t in = shapes[shape].in, out = shapes[shape].out, rows = shapes[shape].rows;
    struct test_dense t = dense_of(a, d, weights(a, d, sort, in, out), in, out);
    float *x = rows_of(a, d, rows, in), left[2048];
    struct quantized c = quantized_room(a, rows, in);
    float *y = aligned_room(a, rows * round_up(out, 16) * sizeof *y);
    for (size_t i = 0; i < rows; i++)
        backend->lanes->quantize(x + i * round_up(in, 16), &c, i, left);
    dense_run(backend, &t.dense, &c, NULL, rows, y, round_up(out, 16));
    check_sums(&t, &c, rows, y);
}

TEST(every_backend_adds_exactly)
{
    struct dice d = {2};
    for (size_t which = 0; backend_at(which); which++) {
        const struct encoder_backend *backend = backend_at(which);
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            struct fumi_arena a = {0};
            for (int sort = 0; sort < SORTS; sort++)
                try_shape(&a, &d, backend, (enum sort)sort, i);
            fumi_arena_done(&a);
        }
    }
}

/* With the rest, the result is that of numbers that are not quantized. */
TEST(with_the_rest_results_are_exact)
{
    struct fumi_arena a = {0};
    struct dice d = {4};
    enum { IN = 384, OUT = 20, ROWS = 3 };
    struct test_dense t = dense_of(&a, &d, weights(&a, &d, EVEN, IN, OUT), IN, OUT);
    struct quantized c = quantized_room(&a, ROWS, IN), rest = quantized_room(&a, ROWS, IN);
    float *x = rows_of(&a, &d, ROWS, IN), y[ROWS * 32];
    for (size_t i = 0; i < ROWS; i++) {
        float left[IN];
        lanes_portable.quantize(x + i * IN, &c, i, left);
        lanes_portable.quantize(left, &rest, i, left);
    }
    dense_run(&encoder_portable, &t.dense, &c, &rest, ROWS, y, 32);
    for (size_t i = 0; i < ROWS * OUT; i++) {
        double want = t.dense.bias[i % OUT], size = 0;
        for (size_t k = 0; k < IN; k++) {
            double part = x[i / OUT * IN + k] * weight_at(&t, k, i % OUT);
            want += part;
            size += part * part;
        }
        CHECK(fabs(want - y[i / OUT * 32 + i % OUT]) < 2e-4 * sqrt(size) + 1e-6);
    }
    fumi_arena_done(&a);
}

TEST(pack_sums_the_columns)
{
    int8_t w[] = {1, -2, 3, 4, 5, -128, 127, 0, 9}, *panels;
    int32_t sums[3];
    struct fumi_arena a = {0};
    panels = aligned_room(&a, dense_panels_size(3, 3));
    dense_pack(w, 3, 3, panels, sums);
    CHECK_INT(sums[0], 1 + 4 + 127);
    CHECK_INT(sums[1], -2 + 5 + 0);
    CHECK_INT(sums[2], 3 - 128 + 9);
    CHECK_INT(dense_panels_size(384, 384) % 64, 0);
    fumi_arena_done(&a);
}

/* Damaged panels give wrong results, but nothing outside of them is read (checked by the address
 * sanitizer). */
TEST(damaged_panels_are_not_read_out_of_bounds)
{
    struct dice d = {5};
    for (size_t which = 0; backend_at(which); which++) {
        const struct encoder_backend *backend = backend_at(which);
        struct fumi_arena a = {0};
        struct test_dense t = dense_of(&a, &d, weights(&a, &d, EVEN, 100, 40), 100, 40);
        size_t size = dense_panels_size(100, 40);
        uint8_t *panels = fumi_resize(NULL, size + 64),
                *at = panels + (64 - (uintptr_t)panels % 64);
        struct quantized c = quantized_room(&a, 3, 100);
        float *x = rows_of(&a, &d, 3, 100), left[112], y[3 * 48];
        for (size_t i = 0; i < size; i++)
            at[i] = (uint8_t)(which % 2 ? 0xff : roll(&d));
        t.dense.panels = (int8_t *)at;
        for (size_t i = 0; i < 3; i++)
            backend->lanes->quantize(x + i * 112, &c, i, left);
        dense_run(backend, &t.dense, &c, NULL, 3, y, 48);
        fumi_resize(panels, 0);
        fumi_arena_done(&a);
    }
}

TEST(gelu_is_right)
{
    for (size_t which = 0; backend_at(which); which++) {
        const struct encoder_backend *backend = backend_at(which);
        float x[32], y[32];
        for (int i = -300; i < 300; i++) {
            for (int k = 0; k < 32; k++)
                y[k] = x[k] = (float)(i * 32 + k) / 800;
            backend->lanes->gelu(y, 32);
            for (int k = 0; k < 32; k++) {
                double want = 0.5 * x[k] * (1 + erf(x[k] * M_SQRT1_2)), size = fmax(1, fabs(x[k]));
                if (fabs(y[k] - want) > 1e-6 * size)
                    TEST_FAIL("%s: gelu(%g) = %g, want %g", backend->name, x[k], y[k], want);
            }
        }
        memset(y, 0, sizeof y);
        backend->lanes->gelu(y, 16);
        CHECK(y[0] == 0 && y[15] == 0);
    }
}

TEST(softmax_is_right)
{
    struct dice d = {6};
    for (size_t which = 0; backend_at(which); which++) {
        const struct encoder_backend *backend = backend_at(which);
        float x[48], y[48];
        double sum = 0;
        for (int i = 0; i < 48; i++) {
            y[i] = x[i] = i < 40 ? 5 * normal(&d) + 30 : -1e30f;
            sum += exp(0.7 * (x[i] - 30));
        }
        backend->lanes->softmax(y, 48, 0.7f);
        for (int i = 0; i < 48; i++)
            if (fabs(y[i] - exp(0.7 * (x[i] - 30)) / sum) > 1e-6)
                TEST_FAIL("%s: %d: %g", backend->name, i, y[i]);
    }
}

TEST(norm_is_right_for_every_length)
{
    struct dice d = {7};
    for (size_t which = 0; backend_at(which); which++) {
        const struct encoder_backend *backend = backend_at(which);
        struct fumi_arena a = {0};
        for (size_t n = 2; n < 40; n++) {
            float *x = normals(&a, &d, n, 5, 2), *more = normals(&a, &d, n, 0, 1), y[40];
            struct encoder_norm w = {normals(&a, &d, n, 1, 0.1f), normals(&a, &d, n, 0, 1)};
            double mean = 0, squares = 0;
            for (size_t i = 0; i < n; i++)
                mean += ((double)x[i] + more[i]) / (double)n;
            for (size_t i = 0; i < n; i++)
                squares += pow(x[i] + more[i] - mean, 2) / (double)n;
            memcpy(y, x, n * sizeof *x);
            backend->lanes->norm(y, more, &w, n, 1e-12f);
            for (size_t i = 0; i < n; i++) {
                double want = (x[i] + more[i] - mean) / sqrt(squares) * w.gain[i] + w.shift[i];
                if (fabs(y[i] - want) > 1e-5)
                    TEST_FAIL("%s: of %zu, %zu: %g, want %g", backend->name, n, i, y[i], want);
            }
        }
        fumi_arena_done(&a);
    }
}

TEST(product_is_right)
{
    struct dice d = {8};
    for (size_t which = 0; backend_at(which); which++) {
        const struct encoder_backend *backend = backend_at(which);
        struct fumi_arena a = {0};
        for (size_t rows = 1; rows < 10; rows++) {
            size_t inner = rows * 3, columns = 16 * (1 + rows % 3);
            struct product p = {normals(&a, &d, rows * 40, 0, 1),
                                normals(&a, &d, inner * 50, 0, 1),
                                fumi_alloc(&a, rows * 60 * sizeof(float)),
                                40,
                                50,
                                60,
                                rows,
                                inner,
                                columns};
            backend->lanes->product(&p);
            for (size_t i = 0; i < rows * columns; i++) {
                double want = 0;
                for (size_t k = 0; k < inner; k++)
                    want += p.a[i / columns * 40 + k] * p.b[k * 50 + i % columns];
                if (fabs(p.c[i / columns * 60 + i % columns] - want) > 1e-5)
                    TEST_FAIL("%s: %zu rows, %zu", backend->name, rows, i);
            }
        }
        fumi_arena_done(&a);
    }
}
