/* Measures the local encoder on one core: notes (of about 160 characters) per second of processor
 * time, in calls of 1, 8 and 32 notes, and the time of a short query. Runs each implementation that
 * this processor supports, and for comparison the same encoder as plain float loops on weights
 * converted to floats. The implementations run in turn; the best round of each is printed.
 *
 * Usage: bench_embed [MODEL] */
#include "embed/encoder_parts.h"
#include "embed/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 15, NOTES = 32 };

static const char *const notes[] = {
    "The deploy script fails when the staging database is in maintenance mode; run the migration "
    "check first and wait until the health endpoint reports ready again.",
    "User prefers tabs over spaces in Makefiles, four spaces in Python, and asked twice that "
    "commit "
    "messages begin with the name of the module that was changed.",
    "We decided in ADR-016 to keep the vector index as a side file, since the database is the only "
    "source of truth and every cache must be allowed to vanish.",
    "Parsing of dates without a zone was changed in release 2.1.3: they are now taken as UTC, and "
    "the importer prints a warning with the number of the line it met.",
};
static const char query[] = "why does the deploy fail?";

/* The columns of the table: notes per call. */
static const size_t batches[] = {1, 8, 32};
enum { BATCHES = sizeof batches / sizeof *batches };

/* The encoder as plain float loops. */
struct plain_layer {
    float *dense[6];
};

struct embed_bench {
    const struct encoder_weights *w;
    struct encoder_text notes[NOTES], query;
    struct plain_layer *plain;
    size_t tokens; /* average per note */
    float *out;
};

struct embed_row {
    const char *name;            /* of a backend, or of the float loops */
    int rounds;                  /* fewer if it is slow */
    double note[BATCHES], query; /* seconds of processor time, the best */
};

static void *zeroed(size_t size)
{
    void *p = aligned_alloc(64, round_up(size, 64));
    if (!p)
        exit(1);
    memset(p, 0, size);
    return p;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Converts a matrix to floats: multiplies it by each unit vector and subtracts the bias. */
static float *floats_of(const struct encoder_dense *d)
{
    size_t stride = round_up(d->out, COLUMNS), size = round_up(d->in, GROUP);
    float *w = zeroed(d->in * d->out * sizeof *w), *y = zeroed(stride * sizeof *y);
    float *x = zeroed(size * sizeof *x), *left = zeroed(size * sizeof *left);
    struct quantized c = quantized_at(zeroed(quantized_size(1, d->in)), 1, d->in);
    struct quantized rest = quantized_at(zeroed(quantized_size(1, d->in)), 1, d->in);
    const struct encoder_backend *backend = &encoder_portable;
    for (size_t k = 0; k < d->in; k++) {
        x[k] = 1;
        backend->lanes->quantize(x, &c, 0, left);
        backend->lanes->quantize(left, &rest, 0, left);
        dense_run(backend, d, &c, &rest, 1, y, stride);
        for (size_t j = 0; j < d->out; j++)
            w[k * d->out + j] = y[j] - d->bias[j];
        x[k] = 0;
    }
    free(x), free(y), free(left), free(c.codes), free(rest.codes);
    return w;
}

static void plain_dense(const struct encoder_dense *d, const float *w, const float *x, size_t n,
                        float *y)
{
    for (size_t i = 0; i < n; i++, x += d->in, y += d->out) {
        memcpy(y, d->bias, d->out * sizeof *y);
        for (size_t k = 0; k < d->in; k++)
            for (size_t j = 0; j < d->out; j++)
                y[j] += x[k] * w[k * d->out + j];
    }
}

static void plain_norm(float *x, const float *more, const struct encoder_norm *w, size_t rows,
                       size_t n)
{
    for (size_t r = 0; r < rows; r++, x += n, more += n) {
        float mean = 0, squares = 0;
        for (size_t i = 0; i < n; i++)
            mean += (x[i] += more[i]) / (float)n;
        for (size_t i = 0; i < n; i++)
            squares += (x[i] - mean) * (x[i] - mean) / (float)n;
        for (size_t i = 0; i < n; i++)
            x[i] = (x[i] - mean) / sqrtf(squares + 1e-12f) * w->gain[i] + w->shift[i];
    }
}

static float score(const float *q, const float *k, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += q[i] * k[i];
    return expf(sum / sqrtf((float)n));
}

static void plain_attend(const struct encoder_weights *w, const float *q, size_t n, float *mixed)
{
    size_t wide = w->hidden, head = wide / w->heads;
    const float *k = q + n * wide, *v = k + n * wide;
    memset(mixed, 0, n * wide * sizeof *mixed);
    for (size_t at = 0; at < n * wide; at += head) {
        float sum = 0;
        for (size_t j = 0; j < n; j++) {
            float e = score(q + at, k + j * wide + at % wide, head);
            sum += e;
            for (size_t d = 0; d < head; d++)
                mixed[at + d] += e * v[j * wide + at % wide + d];
        }
        for (size_t d = 0; d < head; d++)
            mixed[at + d] /= sum;
    }
}

static void plain_layer(const struct embed_bench *b, size_t layer, float *x, size_t n, float *space)
{
    const struct encoder_layer *l = &b->w->layer[layer];
    float *const *w = b->plain[layer].dense;
    size_t size = n * b->w->hidden;
    float *q = space, *mixed = q + 3 * size, *inner = mixed + size;
    plain_dense(&l->query, w[0], x, n, q);
    plain_dense(&l->key, w[1], x, n, q + size);
    plain_dense(&l->value, w[2], x, n, q + 2 * size);
    plain_attend(b->w, q, n, mixed);
    plain_dense(&l->attention_out, w[3], mixed, n, q);
    plain_norm(x, q, &l->attention_norm, n, b->w->hidden);
    plain_dense(&l->expand, w[4], x, n, inner);
    for (size_t i = 0; i < n * b->w->inner; i++)
        inner[i] *= 0.5f * (1 + erff(inner[i] * (float)M_SQRT1_2));
    plain_dense(&l->contract, w[5], inner, n, q);
    plain_norm(x, q, &l->output_norm, n, b->w->hidden);
}

static float from_table(const struct encoder_table *t, size_t row, size_t i)
{
    return (float)t->q[row * t->columns + i] * t->scale[row] + t->offset[row];
}

static void plain_text(const struct embed_bench *b, const struct encoder_text *t, float *out)
{
    const struct encoder_weights *w = b->w;
    size_t wide = w->hidden, size = t->n * wide;
    float *x = zeroed(size * sizeof *x), *space = zeroed((4 * size + t->n * w->inner) * sizeof *x);
    for (size_t i = 0; i < size; i++)
        x[i] = from_table(&w->word_table, (size_t)t->tokens[i / wide], i % wide) +
               from_table(&w->position_table, i / wide, i % wide) +
               from_table(&w->type_table, 0, i % wide);
    plain_norm(x, space, &w->embedding_norm, t->n, wide);
    for (size_t layer = 0; layer < w->layers; layer++)
        plain_layer(b, layer, x, t->n, space);
    float squares = 0;
    memset(out, 0, wide * sizeof *out);
    for (size_t i = 0; i < size; i++)
        out[i % wide] += x[i];
    for (size_t i = 0; i < wide; i++)
        squares += out[i] * out[i];
    for (size_t i = 0; i < wide; i++)
        out[i] /= sqrtf(squares);
    free(x), free(space);
}

static void run_plain(const struct embed_bench *b, const struct encoder_text *t, size_t n,
                      float *out)
{
    for (size_t i = 0; i < n; i++)
        plain_text(b, &t[i], out + i * b->w->hidden);
}

#define PLAIN "float loops"
static struct embed_row rows[] = {{"avx512vnni", ROUNDS, {0}, 0},
                                  {"avx2", ROUNDS, {0}, 0},
                                  {"neon", ROUNDS, {0}, 0},
                                  {"portable", 3, {0}, 0},
                                  {PLAIN, 2, {0}, 0}};
enum { ROWS = sizeof rows / sizeof *rows };

/* The backend of a row; NULL if this build does not have it or the processor does not support it.
 */
static const struct encoder_backend *backend_of(const struct embed_row *r)
{
    for (size_t i = 0;; i++) {
        const struct encoder_backend *b = encoder_backends[i];
        if (strcmp(b->name, r->name) == 0)
            return b->is_supported() ? b : NULL;
        if (b == &encoder_portable)
            return NULL;
    }
}

static bool is_plain(const struct embed_row *r)
{
    return strcmp(r->name, PLAIN) == 0;
}

static bool is_available(const struct embed_row *r)
{
    return is_plain(r) || backend_of(r);
}

static void run(const struct embed_bench *b, const struct embed_row *r,
                const struct encoder_text *t, size_t n)
{
    if (is_plain(r))
        run_plain(b, t, n, b->out);
    else
        encoder_run_with(backend_of(r), b->w, t, n, b->out);
}

static double best(double so_far, double now_took)
{
    return so_far > 0 && so_far < now_took ? so_far : now_took;
}

static void measure(const struct embed_bench *b, struct embed_row *r)
{
    for (size_t i = 0; i < BATCHES; i++) {
        double begin = now();
        run(b, r, b->notes, batches[i]);
        r->note[i] = best(r->note[i], (now() - begin) / (double)batches[i]);
    }
    for (int i = 0; i < 5; i++) {
        double begin = now();
        run(b, r, &b->query, 1);
        r->query = best(r->query, now() - begin);
    }
}

/* The smallest cosine between the vector of a note and that of the float loops. */
static double likeness(const struct embed_bench *b, const struct embed_row *r)
{
    size_t n = b->w->hidden, texts = sizeof notes / sizeof *notes;
    float *want = zeroed(texts * n * sizeof *want);
    double least = 1;
    run_plain(b, b->notes, texts, want);
    run(b, r, b->notes, texts);
    for (size_t i = 0; i < texts; i++) {
        double sum = 0;
        for (size_t d = 0; d < n; d++)
            sum += (double)want[i * n + d] * b->out[i * n + d];
        least = sum < least ? sum : least;
    }
    free(want);
    return least;
}

static struct encoder_text text_of(const struct model *m, struct fumi_arena *a, const char *s)
{
    struct encoder_text t;
    t.tokens = model_tokens(m, a, fumi_str(s), 256, &t.n);
    return t;
}

static void prepare(struct embed_bench *b, const struct model *m, struct fumi_arena *a)
{
    b->w = model_weights(m);
    b->query = text_of(m, a, query);
    for (size_t i = 0; i < NOTES; i++) {
        b->notes[i] = text_of(m, a, notes[i % (sizeof notes / sizeof *notes)]);
        b->tokens += b->notes[i].n;
    }
    b->out = zeroed(NOTES * b->w->hidden * sizeof *b->out);
    b->plain = zeroed(b->w->layers * sizeof *b->plain);
    for (size_t i = 0; i < b->w->layers; i++) {
        const struct encoder_layer *l = &b->w->layer[i];
        const struct encoder_dense *all[] = {&l->query,         &l->key,    &l->value,
                                             &l->attention_out, &l->expand, &l->contract};
        for (size_t k = 0; k < 6; k++)
            b->plain[i].dense[k] = floats_of(all[k]);
    }
}

static void print(const struct embed_bench *b)
{
    printf("local encoder, one core: notes (%.1f tokens each) per second, by notes per call; time "
           "of a "
           "query of %zu tokens\n%-12s %8s %8s %8s %9s %10s\n",
           (double)b->tokens / NOTES, b->query.n, "", "1", "8", "32", "query ms", "cosine");
    for (size_t i = 0; i < ROWS; i++)
        if (is_available(&rows[i]))
            printf("%-12s %8.0f %8.0f %8.0f %9.2f %10.6f\n", rows[i].name, 1 / rows[i].note[0],
                   1 / rows[i].note[1], 1 / rows[i].note[2], rows[i].query * 1e3,
                   likeness(b, &rows[i]));
}

int main(int argc, char **argv)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct embed_bench b = {0};
    struct fumi_str path = argc > 1 ? fumi_str(argv[1]) : model_find(&a, &e);
    struct model *m = path.p ? model_open(path.p, &e) : NULL;
    if (!m) {
        fprintf(stderr, "bench_embed: no model found; usage: bench_embed [MODEL]\n");
        return 1;
    }
    prepare(&b, m, &a);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < ROWS; i++)
            if (round < rows[i].rounds && is_available(&rows[i]))
                measure(&b, &rows[i]);
    print(&b);
    model_close(m);
    fumi_arena_done(&a);
    return 0;
}
