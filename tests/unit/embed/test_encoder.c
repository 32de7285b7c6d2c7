#include "test.h"

#include "encoder_fixture.h"

#include <pthread.h>

/* A model with random weights, and its dense layers for a reference implementation. */
struct random_model {
    struct fumi_arena arena;
    struct dice dice;
    struct encoder_weights w;
    struct test_dense (*dense)[6]; /* in the order of struct encoder_layer */
};

static struct test_dense any_dense(struct random_model *m, size_t in, size_t out)
{
    int8_t *w = fumi_alloc(&m->arena, in * out);
    for (size_t i = 0; i < in * out; i++) {
        float v = 20 * normal(&m->dice);
        w[i] = (int8_t)(v > 127 ? 127 : v < -128 ? -128 : v);
    }
    return dense_of(&m->arena, &m->dice, w, in, out);
}

static struct encoder_table any_table(struct random_model *m, size_t rows, size_t columns)
{
    uint8_t *q = fumi_alloc(&m->arena, rows * columns);
    for (size_t i = 0; i < rows * columns; i++)
        q[i] = (uint8_t)roll(&m->dice);
    return (struct encoder_table){rows, columns, q,
                                  normals(&m->arena, &m->dice, rows, 0.01f, 0.001f),
                                  normals(&m->arena, &m->dice, rows, -1.28f, 0.1f)};
}

static struct encoder_norm any_norm(struct random_model *m, size_t n)
{
    return (struct encoder_norm){normals(&m->arena, &m->dice, n, 1, 0.2f),
                                 normals(&m->arena, &m->dice, n, 0, 0.2f)};
}

static struct encoder_layer any_layer(struct random_model *m, struct test_dense dense[6])
{
    size_t hidden = m->w.hidden, inner = m->w.inner;
    for (size_t i = 0; i < 4; i++)
        dense[i] = any_dense(m, hidden, hidden);
    dense[4] = any_dense(m, hidden, inner);
    dense[5] = any_dense(m, inner, hidden);
    return (struct encoder_layer){dense[0].dense,      dense[1].dense,     dense[2].dense,
                                  dense[3].dense,      dense[4].dense,     dense[5].dense,
                                  any_norm(m, hidden), any_norm(m, hidden)};
}

static struct random_model *random_model_new(size_t layers, size_t hidden, size_t heads,
                                             size_t inner)
{
    struct random_model *m = fumi_resize(NULL, sizeof *m);
    *m = (struct random_model){
        .dice = {hidden * 31 + inner},
        .w = {layers, hidden, heads, inner, .positions = 512, .epsilon = 1e-12f}};
    struct encoder_layer *l = fumi_alloc(&m->arena, layers * sizeof *l);
    m->dense = fumi_alloc(&m->arena, layers * sizeof *m->dense);
    for (size_t i = 0; i < layers; i++)
        l[i] = any_layer(m, m->dense[i]);
    m->w.layer = l;
    m->w.word_table = any_table(m, 100, hidden);
    m->w.position_table = any_table(m, 512, hidden);
    m->w.type_table = any_table(m, 2, hidden);
    m->w.embedding_norm = any_norm(m, hidden);
    return m;
}

static void random_model_free(struct random_model *m)
{
    fumi_arena_done(&m->arena);
    fumi_resize(m, 0);
}

static struct encoder_text any_text(struct random_model *m, size_t n)
{
    int32_t *t = fumi_alloc(&m->arena, n * sizeof *t);
    for (size_t i = 0; i < n; i++)
        t[i] = (int32_t)(roll(&m->dice) % 100);
    return (struct encoder_text){t, n};
}

/* The reference implementation: the definition of a BERT encoder, in double. */
static void plain_dense(const struct test_dense *t, const double *x, size_t rows, double *y)
{
    size_t in = t->dense.in, out = t->dense.out;
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < out; j++)
            y[i * out + j] = t->dense.bias[j];
        for (size_t k = 0; k < in; k++)
            for (size_t j = 0; j < out; j++)
                y[i * out + j] += x[i * in + k] * weight_at(t, k, j);
    }
}

static void plain_norm(double *x, const double *more, const struct encoder_norm *w, size_t rows,
                       size_t n)
{
    for (size_t r = 0; r < rows; r++, x += n) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < n; i++)
            mean += (x[i] += more ? more[r * n + i] : 0) / (double)n;
        for (size_t i = 0; i < n; i++)
            squares += (x[i] - mean) * (x[i] - mean) / (double)n;
        for (size_t i = 0; i < n; i++)
            x[i] = (x[i] - mean) / sqrt(squares + 1e-12) * w->gain[i] + w->shift[i];
    }
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Attention of one row in one head. k and v have rows of `wide` numbers. */
static void plain_attention(const double *q, const double *k, const double *v, size_t n,
                            size_t wide, size_t head, double *out)
{
    double sum = 0;
    memset(out, 0, head * sizeof *out);
    for (size_t j = 0; j < n; j++) {
        double e = exp(dot(q, k + j * wide, head) / sqrt((double)head));
        sum += e;
        for (size_t d = 0; d < head; d++)
            out[d] += e * v[j * wide + d];
    }
    for (size_t d = 0; d < head; d++)
        out[d] /= sum;
}

static void plain_layer(const struct random_model *m, size_t layer, double *x, size_t n,
                        double *room)
{
    const struct encoder_weights *w = &m->w;
    const struct encoder_layer *l = &w->layer[layer];
    size_t size = n * w->hidden, head = w->hidden / w->heads;
    double *q = room, *k = q + size, *v = k + size, *mixed = v + size, *inner = mixed + size;
    for (size_t i = 0; i < 3; i++)
        plain_dense(&m->dense[layer][i], x, n, q + i * size);
    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < w->hidden; h += head)
            plain_attention(q + i * w->hidden + h, k + h, v + h, n, w->hidden, head,
                            mixed + i * w->hidden + h);
    plain_dense(&m->dense[layer][3], mixed, n, q);
    plain_norm(x, q, &l->attention_norm, n, w->hidden);
    plain_dense(&m->dense[layer][4], x, n, inner);
    for (size_t i = 0; i < n * w->inner; i++)
        inner[i] *= 0.5 * (1 + erf(inner[i] * M_SQRT1_2));
    plain_dense(&m->dense[layer][5], inner, n, q);
    plain_norm(x, q, &l->output_norm, n, w->hidden);
}

static double table_at(const struct encoder_table *t, size_t row, size_t i)
{
    return t->q[row * t->columns + i] * (double)t->scale[row] + t->offset[row];
}

static void plain_run(const struct random_model *m, const struct encoder_text *t, double *out)
{
    size_t wide = m->w.hidden, n = t->n;
    double *x = fumi_resize(NULL, n * (5 * wide + m->w.inner) * sizeof *x), squares = 0;
    for (size_t i = 0; i < n * wide; i++)
        x[i] = table_at(&m->w.word_table, (size_t)t->tokens[i / wide], i % wide) +
               table_at(&m->w.position_table, i / wide, i % wide) +
               table_at(&m->w.type_table, 0, i % wide);
    plain_norm(x, NULL, &m->w.embedding_norm, n, wide);
    for (size_t layer = 0; layer < m->w.layers; layer++)
        plain_layer(m, layer, x, n, x + n * wide);
    memset(out, 0, wide * sizeof *out);
    for (size_t i = 0; i < (m->w.pooling == ENCODER_CLS ? wide : n * wide); i++)
        out[i % wide] += x[i];
    squares = sqrt(dot(out, out, wide));
    for (size_t i = 0; i < wide; i++)
        out[i] /= squares;
    fumi_resize(x, 0);
}

static double cosine(const float *a, const double *b, size_t n)
{
    double ab = 0, aa = 0;
    for (size_t i = 0; i < n; i++) {
        ab += a[i] * b[i];
        aa += (double)a[i] * a[i];
    }
    return fabs(aa - 1) < 1e-5 ? ab / sqrt(aa) : 0; /* a vector that is not of unit length fails */
}

/* Compares every backend with the reference. */
static void check_text(struct random_model *m, size_t n, double least)
{
    struct encoder_text t = any_text(m, n);
    double want[100];
    float got[100];
    plain_run(m, &t, want);
    for (size_t which = 0; backend_at(which); which++) {
        const struct encoder_backend *backend = backend_at(which);
        encoder_run_with(backend, &m->w, &t, 1, got);
        double c = cosine(got, want, m->w.hidden);
        if (!(c >= least))
            TEST_FAIL("%s, %zu tokens of %zu: cosine %.6f", backend->name, n, m->w.hidden, c);
    }
}

TEST(backends_match_the_reference)
{
    struct random_model *m = random_model_new(3, 64, 4, 128);
    for (size_t n = 1; n < 24; n++)
        check_text(m, n, 0.99999);
    for (size_t n = 24; n < 100; n += 7)
        check_text(m, n, 0.999);
    random_model_free(m);
}

/* The vector of the first token alone, of unit length. */
TEST(backends_match_the_reference_with_cls_pooling)
{
    struct random_model *m = random_model_new(3, 64, 4, 128);
    m->w.pooling = ENCODER_CLS;
    for (size_t n = 1; n < 24; n++)
        check_text(m, n, 0.99999);
    for (size_t n = 24; n < 100; n += 7)
        check_text(m, n, 0.999);
    random_model_free(m);
}

TEST(unusual_dimensions)
{
    static const struct {
        size_t layers, hidden, heads, inner;
    } shapes[] = {{1, 6, 3, 5}, {2, 20, 1, 33}, {1, 100, 4, 48}, {2, 51, 17, 16}, {0, 16, 2, 16}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct random_model *m = random_model_new(shapes[i].layers, shapes[i].hidden,
                                                  shapes[i].heads, shapes[i].inner);
        check_text(m, 1, 0.9999);
        check_text(m, 17, 0.9999);
        check_text(m, 70, 0.999);
        random_model_free(m);
    }
}

TEST(longest_texts)
{
    struct random_model *m = random_model_new(1, 32, 2, 64);
    check_text(m, 512, 0.999);
    check_text(m, 511, 0.999);
    check_text(m, 129, 0.999);
    random_model_free(m);
}

/* Lengths of texts in one call: short and long, in an order that gives all kinds of chunks. */
static const size_t lengths[] = {5, 7, 40, 2, 1, 130, 24, 23, 100, 28, 1, 3, 3, 60, 60, 60, 200, 9};
enum { TEXTS = sizeof lengths / sizeof *lengths };

TEST(a_text_does_not_depend_on_the_others)
{
    struct random_model *m = random_model_new(2, 48, 3, 64);
    struct encoder_text t[TEXTS];
    for (size_t i = 0; i < TEXTS; i++)
        t[i] = any_text(m, lengths[i]);
    for (size_t which = 0; backend_at(which); which++) {
        const struct encoder_backend *backend = backend_at(which);
        float all[TEXTS * 48], alone[48];
        encoder_run_with(backend, &m->w, t, TEXTS, all);
        for (size_t i = 0; i < TEXTS; i++) {
            encoder_run_with(backend, &m->w, &t[i], 1, alone);
            if (memcmp(alone, all + i * 48, sizeof alone) != 0)
                TEST_FAIL("%s: text %zu of %zu tokens differs", backend->name, i, lengths[i]);
        }
    }
    random_model_free(m);
}

TEST(backends_agree)
{
    struct random_model *m = random_model_new(3, 64, 2, 96);
    for (size_t i = 0; i < TEXTS; i++) {
        struct encoder_text t = any_text(m, lengths[i]);
        float first[64], got[64];
        double base[64];
        encoder_run_with(&encoder_portable, &m->w, &t, 1, first);
        for (size_t d = 0; d < 64; d++)
            base[d] = first[d];
        for (size_t which = 1; backend_at(which); which++) {
            const struct encoder_backend *backend = backend_at(which);
            encoder_run_with(backend, &m->w, &t, 1, got);
            if (!(cosine(got, base, 64) > 0.9999))
                TEST_FAIL("%s: text %zu: %.6f", backend->name, i, cosine(got, base, 64));
        }
    }
    random_model_free(m);
}

TEST(no_texts)
{
    struct random_model *m = random_model_new(1, 16, 1, 16);
    float out = 7;
    encoder_run(&m->w, NULL, 0, &out);
    CHECK(out == 7);
    random_model_free(m);
}

TEST(the_fastest_backend_is_used)
{
    struct random_model *m = random_model_new(1, 64, 2, 96);
    struct encoder_text t = any_text(m, 30);
    const struct encoder_backend *fastest = NULL;
    float want[64], got[64];
    for (size_t i = 0; backend_at(i); i++)
        fastest = backend_at(i);
    encoder_run_with(fastest, &m->w, &t, 1, want);
    encoder_run(&m->w, &t, 1, got);
    CHECK(memcmp(want, got, sizeof got) == 0);
    random_model_free(m);
}

struct worker {
    pthread_t thread;
    const struct random_model *m;
    const struct encoder_text *t;
    float out[2 * 48];
};

static void *work(void *arg)
{
    struct worker *w = arg;
    for (int i = 0; i < 5; i++)
        encoder_run(&w->m->w, w->t, 2, w->out);
    return NULL;
}

TEST(threads_share_the_weights)
{
    struct random_model *m = random_model_new(2, 48, 4, 64);
    struct encoder_text t[2] = {any_text(m, 12), any_text(m, 50)};
    struct worker w[4];
    for (size_t i = 0; i < 4; i++) {
        w[i] = (struct worker){.m = m, .t = t};
        CHECK_INT(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
    for (size_t i = 0; i < 4; i++)
        pthread_join(w[i].thread, NULL);
    for (size_t i = 1; i < 4; i++)
        CHECK(memcmp(w[0].out, w[i].out, sizeof w[0].out) == 0);
    random_model_free(m);
}
