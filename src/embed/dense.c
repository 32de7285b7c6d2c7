/* Dense layers on whole numbers: how matrices are packed, and what runs on every processor. */
#include "embed/encoder_parts.h"

#include <assert.h>
#include <string.h>

enum { ALIGN = 64 };

/* What a 16-bit lane can hold of digits times weights. */
enum { CHAIN_LIMIT = INT16_MAX / TOP_DIGIT };

struct layout {
    size_t groups, order, sums, weights, size; /* offsets in bytes */
};

static struct layout lay(size_t in)
{
    struct layout l = {.groups = round_up(in, GROUP) / GROUP, .order = sizeof(struct panel_head)};
    l.sums = l.order + round_up(l.groups * sizeof(uint16_t), ALIGN);
    l.weights = l.sums + round_up(l.groups, 2) * COLUMNS * sizeof(int16_t);
    l.size = l.weights + l.groups * GROUP * COLUMNS;
    return l;
}

size_t dense_panels_size(size_t in, size_t out)
{
    return round_up(out, COLUMNS) / COLUMNS * lay(in).size;
}

/* A matrix that is being packed, and the panel of it. */
struct packing {
    const int8_t *w;
    size_t in, out, first; /* first: column of the panel */
    int8_t centre[COLUMNS];
};

/* The mean of a column, or what is nearest to it with every w - centre within 8 bits. */
static int centre(const struct packing *p, size_t column)
{
    int64_t sum = 0;
    int least = INT8_MAX, most = INT8_MIN;
    for (size_t k = 0; k < p->in; k++) {
        int w = p->w[k * p->out + column];
        sum += w;
        least = w < least ? w : least;
        most = w > most ? w : most;
    }
    int n = (int)p->in, mean = (int)((sum + (sum < 0 ? -n / 2 : n / 2)) / n);
    if (mean < most - INT8_MAX)
        return most - INT8_MAX;
    return mean > least - INT8_MIN ? least - INT8_MIN : mean;
}

/* Outside of the matrix all weights are nothing. */
static int weight(const struct packing *p, size_t k, size_t column)
{
    if (k >= p->in || p->first + column >= p->out)
        return 0;
    return p->w[k * p->out + p->first + column] - p->centre[column];
}

/* Do the products of `quads` quads from k on always fit into one 16-bit lane, for all lanes? */
static bool fits(const struct packing *p, size_t k, size_t quads)
{
    for (size_t lane = 0; lane < COLUMNS * 2; lane++) {
        int above = 0, below = 0;
        for (size_t i = 0; i < quads * 2; i++) {
            int w = weight(p, k + i / 2 * QUAD + lane % 2 * 2 + i % 2, lane / 2);
            *(w > 0 ? &above : &below) += w;
        }
        if (above > CHAIN_LIMIT || below < -CHAIN_LIMIT)
            return false;
    }
    return true;
}

/* How many quads of a group may be chained. */
static size_t chain(const struct packing *p, size_t group)
{
    size_t k = group * GROUP;
    if (fits(p, k, 4))
        return 4;
    return fits(p, k, 2) && fits(p, k + 2 * QUAD, 2) ? 2 : 1;
}

static void put_order(const struct packing *p, size_t groups, struct panel_head *head,
                      uint16_t *order)
{
    size_t n = 0;
    for (size_t length = 4; length; length /= 2) {
        for (size_t g = 0; g < groups; g++)
            if (chain(p, g) == length)
                order[n++] = (uint16_t)g;
        if (length == 4)
            head->whole = (uint16_t)n;
        if (length == 2)
            head->half = (uint16_t)n;
    }
}

static void put_weights(const struct packing *p, size_t groups, int16_t *sums, int8_t *weights)
{
    for (size_t k = 0; k < groups * GROUP; k++) {
        for (size_t c = 0; c < COLUMNS; c++) {
            int w = weight(p, k, c);
            size_t g = k / GROUP;
            weights[k / QUAD * QUAD * COLUMNS + c * QUAD + k % QUAD] = (int8_t)w;
            sums[(g / 2 * COLUMNS + c) * 2 + g % 2] += (int16_t)w;
        }
    }
}

static void put_panel(struct packing *p, const struct layout *l, char *at)
{
    struct panel_head *head = (struct panel_head *)at;
    memset(at, 0, l->size);
    memset(p->centre, 0, sizeof p->centre);
    for (size_t c = 0; c < COLUMNS && p->first + c < p->out; c++)
        p->centre[c] = (int8_t)centre(p, p->first + c);
    memcpy(head->centre, p->centre, sizeof p->centre);
    put_order(p, l->groups, head, (uint16_t *)(at + l->order));
    put_weights(p, l->groups, (int16_t *)(at + l->sums), (int8_t *)at + l->weights);
}

void dense_pack(const int8_t *w, size_t in, size_t out, int8_t *panels, int32_t *sums)
{
    assert(in && in <= (size_t)GROUPS * GROUP);
    struct layout l = lay(in);
    struct packing p = {.w = w, .in = in, .out = out};
    for (char *at = (char *)panels; p.first < out; p.first += COLUMNS, at += l.size)
        put_panel(&p, &l, at);
    memset(sums, 0, out * sizeof *sums);
    for (size_t i = 0; i < in * out; i++)
        sums[i % out] += w[i];
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void open_columns(const struct encoder_dense *d, size_t first, const int8_t *centre_of,
                         struct panel *p)
{
    memset(p->scale, 0, sizeof p->scale);
    memset(p->base, 0, sizeof p->base);
    memset(p->bias, 0, sizeof p->bias);
    for (size_t c = 0; c < COLUMNS && first + c < d->out; c++) {
        p->scale[c] = d->scale[first + c];
        p->base[c] = d->scale[first + c] * (float)centre_of[c] + d->offset[first + c];
        p->bias[c] = d->bias[first + c];
    }
}

/* In the file as here, the order has room for whole vectors. */
static void open_order(const uint16_t *order, size_t groups, uint16_t *out)
{
    enum { STEP = ALIGN / sizeof *order };
    uint16_t last = (uint16_t)(groups - 1);
    for (size_t i = 0; i < groups; i += STEP)
        for (size_t j = i; j < i + STEP; j++)
            out[j] = order[j] < last ? order[j] : last;
}

static void open_panel(const struct encoder_dense *d, const struct layout *l, size_t first,
                       struct panel *p)
{
    const char *at = (const char *)d->panels + first / COLUMNS * l->size;
    const struct panel_head *head = (const struct panel_head *)at;
    const uint16_t *order = (const uint16_t *)(at + l->order);
    p->groups = l->groups;
    p->half = least(head->half, l->groups);
    p->whole = least(head->whole, p->half);
    p->sums = (const int16_t *)(at + l->sums);
    p->weights = (const int8_t *)at + l->weights;
    open_order(order, l->groups, p->order);
    open_columns(d, first, head->centre, p);
}

/* Tiles take 4, 2 or 1 rows: the numbers that have code of their own. */
static size_t tile_rows(size_t left)
{
    return left >= TILE ? TILE : left >= 2 ? 2 : 1;
}

/* A part of the panel behind this one, on its way into the cache while a tile is computed. */
struct ahead {
    const char *at, *end;
    size_t slice;
};

static struct ahead look_ahead(const struct encoder_dense *d, const struct layout *l, size_t first,
                               size_t rows)
{
    const char *at = (const char *)d->panels + (first / COLUMNS + 1) * l->size;
    size_t tiles = (rows + TILE - 1) / TILE;
    bool last = first + COLUMNS >= d->out;
    return (struct ahead){at, last ? at : at + l->size, round_up(l->size / tiles, ALIGN)};
}

static void fetch(struct ahead *a)
{
    for (size_t i = 0; i < a->slice && a->at < a->end; i += ALIGN, a->at += ALIGN)
        __builtin_prefetch(a->at, 0, 2);
}

void dense_run(const struct encoder_code *code, const struct encoder_dense *d,
               const struct coded *x, const struct coded *rest, size_t rows, float *y,
               size_t stride)
{
    struct layout l = lay(d->in);
    struct panel p;
    struct tile t = {.stride = stride};
    assert(l.groups == x->groups);
    for (size_t first = 0; first < d->out; first += COLUMNS) {
        struct ahead ahead = look_ahead(d, &l, first, rows);
        open_panel(d, &l, first, &p);
        for (t.row = 0; t.row < rows; t.row += t.n) {
            fetch(&ahead);
            t.n = tile_rows(rows - t.row);
            t.y = y + t.row * stride + first;
            t.more = false;
            code->tile(&p, x, &t);
            t.more = true;
            if (rest)
                code->tile(&p, rest, &t);
        }
    }
}

/* Groups of a row for which there is room: whole vectors of them, and an even number. */
static size_t room(size_t in)
{
    return round_up(in, (size_t)GROUP * COLUMNS) / GROUP;
}

size_t coded_size(size_t rows, size_t in)
{
    size_t n = room(in);
    size_t row = n * GROUP + n * sizeof(int32_t) + n * sizeof(int16_t) + 2 * sizeof(float);
    return round_up(rows, COLUMNS) * row + 2 * n * sizeof(float);
}

struct coded coded_at(char *at, size_t rows, size_t in)
{
    size_t n = room(in), all = round_up(rows, COLUMNS);
    struct coded c = {.digits = (uint8_t *)at};
    c.factor = (int32_t *)(at += all * n * GROUP);
    c.low = (int16_t *)(at += all * n * sizeof *c.factor);
    c.step = (float *)(at += all * n * sizeof *c.low);
    c.sum = c.step + all;
    c.least = c.sum + all;
    c.most = c.least + n;
    coded_shape(&c, in);
    return c;
}

/* With the worst weights and the worst row the digits' part of a sum stays below 2^30, and so does
 * the lows' part: in * 127 * factor * 128. */
void coded_shape(struct coded *c, size_t in)
{
    c->groups = round_up(in, GROUP) / GROUP;
    size_t top = ((size_t)1 << 30) / (c->groups * GROUP * TOP_DIGIT * 128);
    c->top = top > 256 ? 255.0f : (float)(top > 2 ? top - 1 : 1);
}

/* The only mutable variable: what encoder_use picked, or what was found best on the first call.
 * It never changes what comes out by more than rounding, only how fast. */
static _Atomic(const struct encoder_code *) chosen;

/* The best first. */
static const struct encoder_code *const codes[] = {
#ifdef __x86_64__
    &encoder_avx512,
    &encoder_avx2,
#endif
#ifdef __aarch64__
    &encoder_neon,
#endif
    &encoder_portable,
};

const struct encoder_code *encoder_code(void)
{
    const struct encoder_code *c = chosen;
    for (size_t i = 0; !c; i++)
        if (codes[i]->here())
            chosen = c = codes[i];
    return c;
}

const char *encoder_kind(void)
{
    return encoder_code()->name;
}

bool encoder_use(const char *kind)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (strcmp(codes[i]->name, kind) != 0 || !codes[i]->here())
            continue;
        chosen = codes[i];
        return true;
    }
    return false;
}
