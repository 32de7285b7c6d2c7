/* The encoder's way from tokens to a vector. Texts are taken in chunks: the rows (tokens) of all
 * texts of a chunk lie behind each other, without padding. Dense layers see blocks of rows,
 * whatever text they belong to; attention sees one text at a time. A row's numbers never depend on
 * its neighbours, so a text gets the same vector in every company. */
#include "base/arena.h"
#include "embed/encoder_parts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    CHUNK = 128,  /* rows, unless one text is longer */
    BLOCK = 128,  /* rows of a dense layer, so that its inputs and outputs stay in the cache */
    QUERIES = 32, /* rows of attention at once */
    ALIGN = 64,
};

/* Everything that one call works with. Rows have a multiple of 16 numbers, the surplus being 0. */
struct run {
    const struct encoder_weights *w;
    const struct encoder_code *code;
    size_t wide, deep, head, head_wide;     /* numbers in a row: hidden, inner, of a head */
    float *x, *query, *key, *value, *mixed; /* a row for each token */
    float *inner;                           /* of a block */
    float *turned;                          /* keys of a head, a column for each token */
    float *values, *scores, *answers;       /* of a head */
    float *left;                            /* of a row that was coded */
    struct coded coded, rest;               /* of a block */
    bool fine;                              /* the chunk is one of short texts */
    void *memory;
};

/* Memory that is being divided; with none, it is only counted. */
struct memory {
    char *at;
    size_t used;
};

static void *take(struct memory *m, size_t size)
{
    char *p = m->at ? m->at + m->used : NULL;
    m->used += round_up(size, ALIGN);
    return p;
}

static float *take_floats(struct memory *m, size_t n)
{
    return take(m, n * sizeof(float));
}

/* How many bytes it took. */
static size_t divide(struct run *r, char *at, size_t rows, size_t longest)
{
    struct memory m = {.at = at};
    size_t block = rows < BLOCK ? rows : BLOCK, widest = r->wide > r->deep ? r->wide : r->deep;
    float **all[] = {&r->x, &r->query, &r->key, &r->value, &r->mixed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = take_floats(&m, rows * r->wide);
    r->inner = take_floats(&m, block * r->deep);
    r->turned = take_floats(&m, r->head * round_up(longest, 16));
    r->values = take_floats(&m, longest * r->head_wide);
    r->scores = take_floats(&m, QUERIES * round_up(longest, 16));
    r->answers = take_floats(&m, QUERIES * r->head_wide);
    r->left = take_floats(&m, widest);
    char *coded = take(&m, coded_size(block, widest)), *rest = take(&m, coded_size(block, widest));
    if (rest) {
        r->coded = coded_at(coded, block, widest);
        r->rest = coded_at(rest, block, widest);
    }
    return m.used;
}

static void start(struct run *r, const struct encoder_weights *w, size_t rows, size_t longest)
{
    *r = (struct run){.w = w, .code = encoder_code(), .head = w->hidden / w->heads};
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

/* The first rows of a text, which begin at row `first`. */
static void look_up(struct run *r, const struct encoder_text *t, size_t first)
{
    const struct encoder_weights *w = r->w;
    for (size_t i = 0; i < t->n; i++) {
        float *x = r->x + (first + i) * r->wide, *place = r->mixed + (first + i) * r->wide;
        memset(x, 0, r->wide * sizeof *x);
        memset(place, 0, r->wide * sizeof *place);
        add_row(&w->words, (size_t)t->tokens[i], x);
        add_row(&w->places, i, place);
        add_row(&w->kinds, 0, place);
        r->code->lanes->norm(x, place, &w->first, w->hidden, w->epsilon);
    }
}

static void code_row(struct run *r, const float *x, size_t i)
{
    const struct lanes *lanes = r->code->lanes;
    lanes->code(x, &r->coded, i, r->left);
    if (r->fine)
        lanes->code(r->left, &r->rest, i, r->left);
}

static void code_shape(struct run *r, size_t in)
{
    coded_shape(&r->coded, in);
    coded_shape(&r->rest, in);
}

/* x is coded row by row, with what was done to the row just before still in the cache. */
static void code_rows(struct run *r, const float *x, size_t n)
{
    code_shape(r, r->wide);
    for (size_t i = 0; i < n; i++)
        code_row(r, x + i * r->wide, i);
}

static void gelu_rows(struct run *r, size_t n)
{
    code_shape(r, r->deep);
    for (size_t i = 0; i < n; i++) {
        r->code->lanes->gelu(r->inner + i * r->deep, r->deep);
        code_row(r, r->inner + i * r->deep, i);
    }
}

static void run_dense(struct run *r, const struct encoder_dense *d, size_t n, float *y,
                      size_t stride)
{
    dense_run(r->code, d, &r->coded, r->fine ? &r->rest : NULL, n, y, stride);
}

/* Queries, keys and values of a block of n rows. */
static void ask(struct run *r, const struct encoder_layer *l, size_t first, size_t n)
{
    size_t at = first * r->wide;
    code_rows(r, r->x + at, n);
    run_dense(r, &l->query, n, r->query + at, r->wide);
    run_dense(r, &l->key, n, r->key + at, r->wide);
    run_dense(r, &l->value, n, r->value + at, r->wide);
}

/* Keys and values of a head as the products want them: a key in a column, and 0 in the surplus. */
static void lay_out(struct run *r, const float *key, const float *value, size_t n)
{
    size_t columns = round_up(n, 16), surplus = r->head_wide - r->head;
    for (size_t d = 0; d < r->head; d++) {
        float *to = r->turned + d * columns;
        for (size_t i = 0; i < n; i++)
            to[i] = key[i * r->wide + d];
        memset(to + n, 0, (columns - n) * sizeof *to);
    }
    for (size_t i = 0; i < n; i++) {
        float *to = r->values + i * r->head_wide;
        memcpy(to, value + i * r->wide, r->head * sizeof *to);
        memset(to + r->head, 0, surplus * sizeof *to);
    }
}

/* What the scores in the surplus columns are set to: e^ of it is nothing beside e^0. */
#define NO_SCORE (-1e30f)

/* `rows` queries of a head against its n keys. */
static void answer(struct run *r, const float *query, float *mixed, size_t rows, size_t n)
{
    const struct lanes *lanes = r->code->lanes;
    size_t columns = round_up(n, 16);
    lanes->product(&(struct product){query, r->turned, r->scores, r->wide, columns, columns, rows,
                                     r->head, columns});
    for (size_t i = 0; i < rows; i++) {
        float *s = r->scores + i * columns;
        for (size_t j = n; j < columns; j++)
            s[j] = NO_SCORE;
        lanes->soften(s, columns, 1 / sqrtf((float)r->head));
    }
    lanes->product(&(struct product){r->scores, r->values, r->answers, columns, r->head_wide,
                                     r->head_wide, rows, n, r->head_wide});
    for (size_t i = 0; i < rows; i++)
        memcpy(mixed + i * r->wide, r->answers + i * r->head_wide, r->head * sizeof(float));
}

/* Attention inside a text of n rows. */
static void attend(struct run *r, size_t first, size_t n)
{
    for (size_t h = 0; h < r->w->heads; h++) {
        size_t at = first * r->wide + h * r->head;
        lay_out(r, r->key + at, r->value + at, n);
        for (size_t i = 0; i < n; i += QUERIES) {
            size_t rows = n - i < QUERIES ? n - i : QUERIES, to = at + i * r->wide;
            answer(r, r->query + to, r->mixed + to, rows, n);
        }
    }
}

/* x = LayerNorm(x + query), and coded. */
static void norm_rows(struct run *r, const struct encoder_norm *norm, size_t first, size_t n)
{
    code_shape(r, r->wide);
    for (size_t i = 0; i < n; i++) {
        float *x = r->x + (first + i) * r->wide, *more = r->query + (first + i) * r->wide;
        r->code->lanes->norm(x, more, norm, r->w->hidden, r->w->epsilon);
        code_row(r, x, i);
    }
}

/* What follows attention, for a block of n rows. The queries have done their work: their place is
 * taken by what is added to x. */
static void feed(struct run *r, const struct encoder_layer *l, size_t first, size_t n)
{
    size_t at = first * r->wide;
    code_rows(r, r->mixed + at, n);
    run_dense(r, &l->mix, n, r->query + at, r->wide);
    norm_rows(r, &l->after_mix, first, n);
    run_dense(r, &l->grow, n, r->inner, r->deep);
    gelu_rows(r, n);
    run_dense(r, &l->shrink, n, r->query + at, r->wide);
    norm_rows(r, &l->after_shrink, first, n);
}

typedef void block_fn(struct run *r, const struct encoder_layer *l, size_t first, size_t n);

static void by_blocks(struct run *r, const struct encoder_layer *l, size_t rows, block_fn *work)
{
    for (size_t i = 0; i < rows; i += BLOCK)
        work(r, l, i, rows - i < BLOCK ? rows - i : BLOCK);
}

/* The mean of n rows, of unit length: their sum, made as long. */
static void mean(const struct run *r, size_t first, size_t n, float *out)
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

/* The errors of coding average out over the tokens of a text. Some short texts of common words show
 * them (a cosine of 0.9989 to the vector without any), so of short texts what coding leaves
 * over is coded too; from 24 tokens on none was seen below 0.9996. */
static bool is_short(const struct encoder_text *t)
{
    return t->n < 24;
}

/* A chunk: all rows of n texts. */
static void encode(struct run *r, const struct encoder_text *t, size_t n, float *out)
{
    size_t rows = 0, first = 0;
    r->fine = is_short(t);
    for (size_t i = 0; i < n; rows += t[i++].n)
        look_up(r, &t[i], rows);
    for (size_t layer = 0; layer < r->w->layers; layer++) {
        const struct encoder_layer *l = &r->w->layer[layer];
        by_blocks(r, l, rows, ask);
        first = 0;
        for (size_t i = 0; i < n; first += t[i++].n)
            attend(r, first, t[i].n);
        by_blocks(r, l, rows, feed);
    }
    first = 0;
    for (size_t i = 0; i < n; first += t[i++].n)
        mean(r, first, t[i].n, out + i * r->w->hidden);
}

/* How many of n texts make the next chunk: one at least, all short or all not. *rows: theirs
 * together. */
static size_t next(const struct encoder_text *t, size_t n, size_t *rows)
{
    size_t taken = 1;
    *rows = t->n;
    while (taken < n && is_short(&t[taken]) == is_short(t) && *rows + t[taken].n <= CHUNK)
        *rows += t[taken++].n;
    return taken;
}

void encoder_run(const struct encoder_weights *w, const struct encoder_text *texts, size_t n,
                 float *out)
{
    struct run r;
    size_t most = 0, longest = 0, rows;
    for (size_t i = 0; i < n; i++) {
        assert(texts[i].n && texts[i].n <= w->positions);
        longest = texts[i].n > longest ? texts[i].n : longest;
    }
    for (size_t i = 0; i<n; most = rows> most ? rows : most)
        i += next(texts + i, n - i, &rows);
    start(&r, w, most, longest);
    for (size_t i = 0, taken; i < n; i += taken) {
        taken = next(texts + i, n - i, &rows);
        encode(&r, texts + i, taken, out + i * w->hidden);
    }
    fumi_resize(r.memory, 0);
}
