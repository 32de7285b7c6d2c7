/* Texts are encoded in chunks. The rows (tokens) of all texts of a chunk are stored one after the
 * other, without padding. Dense layers process blocks of rows, whatever text they belong to;
 * attention processes one text at a time. So the vector of a text does not depend on the other
 * texts of the call. */
#include "base/arena.h"
#include "embed/encoder_parts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    CHUNK = 128,  /* rows, unless a single text has more */
    BLOCK = 128,  /* rows per dense layer, so that its inputs and outputs stay in the cache */
    QUERIES = 32, /* rows of attention computed together */
    ALIGN = 64,
};

/* The working memory of one call. The length of rows is padded with zeros to a multiple of 16. */
struct encoder_call {
    const struct encoder_weights *w;
    const struct encoder_backend *backend;
    size_t wide, deep, head_wide;           /* padded lengths: hidden, inner, of a head */
    size_t head;                            /* the length of a head */
    float *x, *query, *key, *value, *mixed; /* a row per token */
    float *inner;                           /* of a block */
    float *keys;                            /* of a head, transposed: a column per token */
    float *values, *scores, *answers;       /* of a head */
    float *left;                            /* what quantizing a row left over */
    struct quantized quantized, rest;       /* of a block */
    bool fine;                              /* `rest` is used: the texts are short */
    void *memory;
};

/* Memory that is divided into parts. With `at` NULL their sizes are only added up. */
struct scratch {
    char *at;
    size_t used;
};

static void *take(struct scratch *m, size_t size)
{
    char *p = m->at ? m->at + m->used : NULL;
    m->used += round_up(size, ALIGN);
    return p;
}

static float *take_floats(struct scratch *m, size_t n)
{
    return take(m, n * sizeof(float));
}

/* Returns the number of bytes used. */
static size_t divide(struct encoder_call *r, char *at, size_t rows, size_t longest)
{
    struct scratch m = {.at = at};
    size_t block = rows < BLOCK ? rows : BLOCK, widest = r->wide > r->deep ? r->wide : r->deep;
    float **all[] = {&r->x, &r->query, &r->key, &r->value, &r->mixed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = take_floats(&m, rows * r->wide);
    r->inner = take_floats(&m, block * r->deep);
    r->keys = take_floats(&m, r->head * round_up(longest, 16));
    r->values = take_floats(&m, longest * r->head_wide);
    r->scores = take_floats(&m, QUERIES * round_up(longest, 16));
    r->answers = take_floats(&m, QUERIES * r->head_wide);
    r->left = take_floats(&m, widest);
    char *quantized = take(&m, quantized_size(block, widest));
    char *rest = take(&m, quantized_size(block, widest));
    if (rest) {
        r->quantized = quantized_at(quantized, block, widest);
        r->rest = quantized_at(rest, block, widest);
    }
    return m.used;
}

static void start(struct encoder_call *r, const struct encoder_backend *backend,
                  const struct encoder_weights *w, size_t rows, size_t longest)
{
    *r = (struct encoder_call){.w = w, .backend = backend, .head = w->hidden / w->heads};
    r->wide = round_up(w->hidden, 16);
    r->deep = round_up(w->inner, 16);
    r->head_wide = round_up(r->head, 16);
    char *p = fumi_resize(NULL, divide(r, NULL, rows, longest) + ALIGN);
    r->memory = p;
    divide(r, p + (ALIGN - (uintptr_t)p % ALIGN), rows, longest);
}

static void add_row(const struct encoder_table *t, size_t row, float *x)
{
    const uint8_t *q = t->q + row * t->columns;
    float scale = t->scale[row], offset = t->offset[row];
    for (size_t i = 0; i < t->columns; i++)
        x[i] += (float)q[i] * scale + offset;
}

/* Computes the embeddings of the tokens of a text, whose rows begin at `first`. */
static void embed(struct encoder_call *r, const struct encoder_text *t, size_t first)
{
    const struct encoder_weights *w = r->w;
    for (size_t i = 0; i < t->n; i++) {
        float *x = r->x + (first + i) * r->wide, *position = r->mixed + (first + i) * r->wide;
        memset(x, 0, r->wide * sizeof *x);
        memset(position, 0, r->wide * sizeof *position);
        assert((size_t)t->tokens[i] < w->word_table.rows);
        add_row(&w->word_table, (size_t)t->tokens[i], x);
        add_row(&w->position_table, i, position);
        add_row(&w->type_table, 0, position);
        r->backend->lanes->norm(x, position, &w->embedding_norm, w->hidden, w->epsilon);
    }
}

static void quantize_row(struct encoder_call *r, const float *x, size_t i)
{
    const struct lanes *lanes = r->backend->lanes;
    lanes->quantize(x, &r->quantized, i, r->left);
    if (r->fine)
        lanes->quantize(r->left, &r->rest, i, r->left);
}

static void set_shape(struct encoder_call *r, size_t in)
{
    quantized_shape(&r->quantized, in);
    quantized_shape(&r->rest, in);
}

static void quantize_rows(struct encoder_call *r, const float *x, size_t n)
{
    set_shape(r, r->wide);
    for (size_t i = 0; i < n; i++)
        quantize_row(r, x + i * r->wide, i);
}

/* Row by row, so that a row is still in the cache when it is quantized. */
static void gelu_rows(struct encoder_call *r, size_t n)
{
    set_shape(r, r->deep);
    for (size_t i = 0; i < n; i++) {
        r->backend->lanes->gelu(r->inner + i * r->deep, r->deep);
        quantize_row(r, r->inner + i * r->deep, i);
    }
}

static void run_dense(struct encoder_call *r, const struct encoder_dense *d, size_t n, float *y,
                      size_t stride)
{
    dense_run(r->backend, d, &r->quantized, r->fine ? &r->rest : NULL, n, y, stride);
}

/* Computes the queries, keys and values of a block of n rows. */
static void project(struct encoder_call *r, const struct encoder_layer *l, size_t first, size_t n)
{
    size_t at = first * r->wide;
    quantize_rows(r, r->x + at, n);
    run_dense(r, &l->query, n, r->query + at, r->wide);
    run_dense(r, &l->key, n, r->key + at, r->wide);
    run_dense(r, &l->value, n, r->value + at, r->wide);
}

/* Copies the keys (transposed) and values of a head for the products, padded with zeros. */
static void copy_head(struct encoder_call *r, const float *key, const float *value, size_t n)
{
    size_t columns = round_up(n, 16), padding = r->head_wide - r->head;
    for (size_t d = 0; d < r->head; d++) {
        float *to = r->keys + d * columns;
        for (size_t i = 0; i < n; i++)
            to[i] = key[i * r->wide + d];
        memset(to + n, 0, (columns - n) * sizeof *to);
    }
    for (size_t i = 0; i < n; i++) {
        float *to = r->values + i * r->head_wide;
        memcpy(to, value + i * r->wide, r->head * sizeof *to);
        memset(to + r->head, 0, padding * sizeof *to);
    }
}

/* The score of padding columns: the softmax makes it 0. */
#define NO_SCORE (-1e30f)

/* Attention of `rows` queries of a head over its n keys. */
static void attend_rows(struct encoder_call *r, const float *query, float *mixed, size_t rows,
                        size_t n)
{
    const struct lanes *lanes = r->backend->lanes;
    size_t columns = round_up(n, 16);
    lanes->product(&(struct product){query, r->keys, r->scores, r->wide, columns, columns, rows,
                                     r->head, columns});
    for (size_t i = 0; i < rows; i++) {
        float *s = r->scores + i * columns;
        for (size_t j = n; j < columns; j++)
            s[j] = NO_SCORE;
        lanes->softmax(s, columns, 1 / sqrtf((float)r->head));
    }
    lanes->product(&(struct product){r->scores, r->values, r->answers, columns, r->head_wide,
                                     r->head_wide, rows, n, r->head_wide});
    for (size_t i = 0; i < rows; i++)
        memcpy(mixed + i * r->wide, r->answers + i * r->head_wide, r->head * sizeof(float));
}

/* Attention inside a text of n rows. */
static void attend(struct encoder_call *r, size_t first, size_t n)
{
    for (size_t h = 0; h < r->w->heads; h++) {
        size_t at = first * r->wide + h * r->head;
        copy_head(r, r->key + at, r->value + at, n);
        for (size_t i = 0; i < n; i += QUERIES) {
            size_t rows = n - i < QUERIES ? n - i : QUERIES, to = at + i * r->wide;
            attend_rows(r, r->query + to, r->mixed + to, rows, n);
        }
    }
}

/* x = LayerNorm(x + query), quantized. */
static void norm_rows(struct encoder_call *r, const struct encoder_norm *norm, size_t first,
                      size_t n)
{
    set_shape(r, r->wide);
    for (size_t i = 0; i < n; i++) {
        float *x = r->x + (first + i) * r->wide, *more = r->query + (first + i) * r->wide;
        r->backend->lanes->norm(x, more, norm, r->w->hidden, r->w->epsilon);
        quantize_row(r, x, i);
    }
}

/* The rest of a layer after attention, for a block of n rows. The memory of the queries, which are
 * no longer needed, is used for what is added to x. */
static void feed_forward(struct encoder_call *r, const struct encoder_layer *l, size_t first,
                         size_t n)
{
    size_t at = first * r->wide;
    quantize_rows(r, r->mixed + at, n);
    run_dense(r, &l->attention_out, n, r->query + at, r->wide);
    norm_rows(r, &l->attention_norm, first, n);
    run_dense(r, &l->expand, n, r->inner, r->deep);
    gelu_rows(r, n);
    run_dense(r, &l->contract, n, r->query + at, r->wide);
    norm_rows(r, &l->output_norm, first, n);
}

typedef void block_fn(struct encoder_call *r, const struct encoder_layer *l, size_t first,
                      size_t n);

static void by_blocks(struct encoder_call *r, const struct encoder_layer *l, size_t rows,
                      block_fn *work)
{
    for (size_t i = 0; i < rows; i += BLOCK)
        work(r, l, i, rows - i < BLOCK ? rows - i : BLOCK);
}

/* The mean of n rows, of unit length: it has the direction of their sum. */
static void mean(const struct encoder_call *r, size_t first, size_t n, float *out)
{
    size_t hidden = r->w->hidden;
    double squares = 0;
    memset(out, 0, hidden * sizeof *out);
    for (size_t i = first; i < first + n; i++)
        for (size_t d = 0; d < hidden; d++)
            out[d] += r->x[i * r->wide + d];
    for (size_t d = 0; d < hidden; d++)
        squares += (double)out[d] * out[d];
    float unit = squares > 0 ? (float)(1 / sqrt(squares)) : 0;
    for (size_t d = 0; d < hidden; d++)
        out[d] *= unit;
}

/* Quantization errors average out over the tokens of a text, but not in some short texts of common
 * words (measured: a cosine of 0.9989 to the exact vector). So for short texts the remainder of
 * quantization is quantized as well. From 24 tokens on no cosine below 0.9996 was measured. */
static bool is_short(const struct encoder_text *t)
{
    return t->n < 24;
}

/* Encodes the n texts of a chunk. */
static void encode(struct encoder_call *r, const struct encoder_text *t, size_t n, float *out)
{
    size_t rows = 0, first = 0;
    r->fine = is_short(t);
    for (size_t i = 0; i < n; rows += t[i++].n)
        embed(r, &t[i], rows);
    for (size_t layer = 0; layer < r->w->layers; layer++) {
        const struct encoder_layer *l = &r->w->layer[layer];
        by_blocks(r, l, rows, project);
        first = 0;
        for (size_t i = 0; i < n; first += t[i++].n)
            attend(r, first, t[i].n);
        by_blocks(r, l, rows, feed_forward);
    }
    first = 0;
    for (size_t i = 0; i < n; first += t[i++].n)
        mean(r, first, r->w->pooling == ENCODER_CLS ? 1 : t[i].n, out + i * r->w->hidden);
}

/* Returns how many of n texts form the next chunk: at least one, and either all short or none.
 * *rows is set to the number of their rows. */
static size_t next_chunk(const struct encoder_text *t, size_t n, size_t *rows)
{
    size_t taken = 1;
    *rows = t->n;
    while (taken < n && is_short(&t[taken]) == is_short(t) && *rows + t[taken].n <= CHUNK)
        *rows += t[taken++].n;
    return taken;
}

void encoder_run_with(const struct encoder_backend *backend, const struct encoder_weights *w,
                      const struct encoder_text *texts, size_t n, float *out)
{
    struct encoder_call r;
    size_t most = 0, longest = 0, rows;
    for (size_t i = 0; i < n; i++) {
        assert(texts[i].n && texts[i].n <= w->positions);
        longest = texts[i].n > longest ? texts[i].n : longest;
    }
    for (size_t i = 0; i<n; most = rows> most ? rows : most)
        i += next_chunk(texts + i, n - i, &rows);
    start(&r, backend, w, most, longest);
    for (size_t i = 0, taken; i < n; i += taken) {
        taken = next_chunk(texts + i, n - i, &rows);
        encode(&r, texts + i, taken, out + i * w->hidden);
    }
    fumi_resize(r.memory, 0);
}

void encoder_run(const struct encoder_weights *w, const struct encoder_text *texts, size_t n,
                 float *out)
{
    const struct encoder_backend *const *backend = encoder_backends;
    while (!(*backend)->is_supported())
        backend++;
    encoder_run_with(*backend, w, texts, n, out);
}
