/* Dense layers in integer arithmetic: packs matrices into panels, and divides the work into tiles,
 * which the backends compute (see encoder_parts.h). */
#include "embed/encoder_parts.h"

#include <assert.h>
#include <string.h>

enum { ALIGN = 64 };

/* The largest sum of weights whose products with codes fit into a 16-bit lane. */
enum { CHAIN_LIMIT = INT16_MAX / CODE_MAX };

/* The parts of a panel for a matrix with `in` rows. */
struct panel_layout {
    size_t groups;
    size_t order, sums, weights; /* offsets in bytes */
    size_t size;
};

static struct panel_layout layout_of(size_t in)
{
    struct panel_layout l = {.groups = round_up(in, GROUP) / GROUP,
                             .order = sizeof(struct panel_head)};
    l.sums = l.order + round_up(l.groups * sizeof(uint16_t), ALIGN);
    l.weights = l.sums + round_up(l.groups, 2) * COLUMNS * sizeof(int16_t);
    l.size = l.weights + l.groups * GROUP * COLUMNS;
    return l;
}

size_t dense_panels_size(size_t in, size_t out)
{
    return round_up(out, COLUMNS) / COLUMNS * layout_of(in).size;
}

/* The panel of a matrix that is being packed. */
struct panel_builder {
    const int8_t *w;
    size_t in, out;
    size_t first; /* column of the matrix */
    int8_t centre[COLUMNS];
};

/* The mean of a column, or the nearest number for which every w - centre fits into 8 bits. */
static int centre(const struct panel_builder *p, size_t column)
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

/* Outside of the matrix all weights are 0. */
static int weight(const struct panel_builder *p, size_t k, size_t column)
{
    if (k >= p->in || p->first + column >= p->out)
        return 0;
    return p->w[k * p->out + p->first + column] - p->centre[column];
}

/* Whether, for all lanes, the sum of the products of `quads` quads from k on fits into 16 bits,
 * with any codes. */
static bool fits(const struct panel_builder *p, size_t k, size_t quads)
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

/* How many quads of a group can be added in 16 bits. */
static size_t chain_length(const struct panel_builder *p, size_t group)
{
    size_t k = group * GROUP;
    if (fits(p, k, 4))
        return 4;
    return fits(p, k, 2) && fits(p, k + 2 * QUAD, 2) ? 2 : 1;
}

static void put_order(const struct panel_builder *p, size_t groups, struct panel_head *head,
                      uint16_t *order)
{
    size_t n = 0;
    for (size_t length = 4; length; length /= 2) {
        for (size_t g = 0; g < groups; g++)
            if (chain_length(p, g) == length)
                order[n++] = (uint16_t)g;
        if (length == 4)
            head->whole = (uint16_t)n;
        if (length == 2)
            head->half = (uint16_t)n;
    }
}

static void put_weights(const struct panel_builder *p, size_t groups, int16_t *sums,
                        int8_t *weights)
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

static void put_panel(struct panel_builder *p, const struct panel_layout *l, char *at)
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
    struct panel_layout l = layout_of(in);
    struct panel_builder p = {.w = w, .in = in, .out = out};
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

static void set_columns(const struct encoder_dense *d, size_t first, const int8_t *centres,
                        struct panel *p)
{
    memset(p->scale, 0, sizeof p->scale);
    memset(p->base, 0, sizeof p->base);
    memset(p->bias, 0, sizeof p->bias);
    for (size_t c = 0; c < COLUMNS && first + c < d->out; c++) {
        p->scale[c] = d->scale[first + c];
        p->base[c] = d->scale[first + c] * (float)centres[c] + d->offset[first + c];
        p->bias[c] = d->bias[first + c];
    }
}

/* Copies the order, limited to existing groups. Both arrays are padded to whole vectors. */
static void set_order(const uint16_t *order, size_t groups, uint16_t *out)
{
    enum { STEP = ALIGN / sizeof *order };
    uint16_t last = (uint16_t)(groups - 1);
    for (size_t i = 0; i < groups; i += STEP)
        for (size_t j = i; j < i + STEP; j++)
            out[j] = order[j] < last ? order[j] : last;
}

static void open_panel(const struct encoder_dense *d, const struct panel_layout *l, size_t first,
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
    set_order(order, l->groups, p->order);
    set_columns(d, first, head->centre, p);
}

/* The backends have code for tiles of 4, 2 and 1 rows. */
static size_t tile_rows(size_t left)
{
    return left >= TILE ? TILE : left >= 2 ? 2 : 1;
}

/* The next panel, which is prefetched slice by slice while the tiles of this one are computed. */
struct prefetch {
    const char *at, *end;
    size_t slice;
};

static struct prefetch next_panel(const struct encoder_dense *d, const struct panel_layout *l,
                                  size_t first, size_t rows)
{
    const char *at = (const char *)d->panels + (first / COLUMNS + 1) * l->size;
    size_t tiles = (rows + TILE - 1) / TILE;
    bool last = first + COLUMNS >= d->out;
    return (struct prefetch){at, last ? at : at + l->size, round_up(l->size / tiles, ALIGN)};
}

static void prefetch(struct prefetch *p)
{
    for (size_t i = 0; i < p->slice && p->at < p->end; i += ALIGN, p->at += ALIGN)
        __builtin_prefetch(p->at, 0, 2);
}

void dense_run(const struct encoder_backend *backend, const struct encoder_dense *d,
               const struct quantized *x, const struct quantized *rest, size_t rows, float *y,
               size_t stride)
{
    struct panel_layout l = layout_of(d->in);
    struct panel p;
    struct tile t = {.stride = stride};
    assert(l.groups == x->groups);
    for (size_t first = 0; first < d->out; first += COLUMNS) {
        struct prefetch next = next_panel(d, &l, first, rows);
        open_panel(d, &l, first, &p);
        for (t.row = 0; t.row < rows; t.row += t.n) {
            prefetch(&next);
            t.n = tile_rows(rows - t.row);
            t.y = y + t.row * stride + first;
            t.more = false;
            backend->tile(&p, x, &t);
            t.more = true;
            if (rest)
                backend->tile(&p, rest, &t);
        }
    }
}

/* The number of groups that a row is padded to: an even number that fills whole vectors. */
static size_t padded_groups(size_t in)
{
    return round_up(in, (size_t)GROUP * COLUMNS) / GROUP;
}

size_t quantized_size(size_t rows, size_t in)
{
    size_t n = padded_groups(in);
    size_t row = n * GROUP + n * sizeof(int32_t) + n * sizeof(int16_t) + 2 * sizeof(float);
    return round_up(rows, COLUMNS) * row + 2 * n * sizeof(float);
}

struct quantized quantized_at(char *at, size_t rows, size_t in)
{
    size_t n = padded_groups(in), all = round_up(rows, COLUMNS);
    struct quantized c = {.codes = (uint8_t *)at};
    c.factor = (int32_t *)(at += all * n * GROUP);
    c.low = (int16_t *)(at += all * n * sizeof *c.factor);
    c.step = (float *)(at += all * n * sizeof *c.low);
    c.sum = c.step + all;
    c.least = c.sum + all;
    c.most = c.least + n;
    quantized_shape(&c, in);
    return c;
}

/* Limits factors so that with any weights and any row the codes' part of a sum stays below 2^30,
 * and so does the lows' part: in * 127 * factor * 128. */
void quantized_shape(struct quantized *c, size_t in)
{
    c->groups = round_up(in, GROUP) / GROUP;
    size_t top = ((size_t)1 << 30) / (c->groups * GROUP * CODE_MAX * 128);
    c->max_factor = top > 256 ? 255.0f : (float)(top > 2 ? top - 1 : 1);
}

const struct encoder_backend *const encoder_backends[] = {
#ifdef __x86_64__
    &encoder_avx512,
    &encoder_avx2,
#endif
#ifdef __aarch64__
    &encoder_neon,
#endif
    &encoder_portable,
};
