/* One search.
 *
 * The filter selects rows. If few rows pass, the 8-bit cosine of each is computed. Otherwise a
 * rough pass over the sign bits decides which rows get one.
 *
 * The bits are those of randomly rotated vectors (scan_bits.c): between two vectors at the angle
 * a, each bit differs with probability a / pi. The Hamming distance of a row is therefore
 * binomial with a known mean and standard deviation. After scoring the rows with the smallest
 * distances, the angle of the worst result that must be exact gives a bound: the mean distance
 * at that angle plus bound_sigmas standard deviations. All rows up to the bound are scored. If
 * the vectors are well separated, these are few. If no row is near the query, nearly all rows would
 * be within the bound; then only about MOST rows are scored, those with the smallest distances. */
#include "store/scan_parts.h"

#include <math.h>

enum {
    FEW = 4000,    /* up to this many rows, all are scored */
    MOST = 32768,  /* rows scored after the rough pass, about */
    SAMPLE = 4096, /* rows sampled for the first bound, at least */
    BATCH = 32,    /* rows prefetched at a time */
    EXACT = 10,    /* of the results: this many must be exact, or one in SHARE if that is more */
    SHARE = 10,
    DENSE = 4, /* if one row in DENSE of a block passes, compare all its rows */
};
static const double bound_sigmas = 2.75;

struct scan_best {
    float cosine;
    uint32_t row;
};

/* The best rows so far, as a heap with the worst of them at the root. */
struct top {
    struct scan_best *heap;
    size_t n, limit;
};

struct ranking {
    struct scan_job *job;
    const struct scan_map *map;
    const uint32_t *list; /* the rows that pass, ascending; NULL: all */
    size_t n;             /* number of rows that pass */
    float scale;          /* of the query */
    struct top top;
    uint32_t batch[BATCH];
    size_t batch_n;
};

static void *reserve(void *old, size_t *cap, size_t n, size_t each)
{
    if (*cap >= n)
        return old;
    fumi_resize(old, 0);
    *cap = n + n / 8 + 1024;
    return fumi_resize(NULL, *cap * each);
}

void scan_scratch_done(struct scan_scratch *x)
{
    fumi_resize(x->distances, 0);
    fumi_resize(x->list, 0);
    fumi_resize(x->best, 0);
}

/* The older of two equal rows is better, so that results do not depend on the order of scoring. */
static inline bool worse(struct scan_best a, struct scan_best b)
{
    return a.cosine < b.cosine || (a.cosine == b.cosine && a.row > b.row);
}

static void sink(struct scan_best *heap, size_t n, size_t i)
{
    struct scan_best x = heap[i];
    for (size_t k = 2 * i + 1; k < n; k = 2 * i + 1) {
        if (k + 1 < n && worse(heap[k + 1], heap[k]))
            k++;
        if (!worse(heap[k], x))
            break;
        heap[i] = heap[k];
        i = k;
    }
    heap[i] = x;
}

static void lift(struct scan_best *heap, size_t i)
{
    struct scan_best x = heap[i];
    while (i && worse(x, heap[(i - 1) / 2])) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = x;
}

static inline void offer(struct top *t, struct scan_best x)
{
    if (t->n < t->limit) {
        t->heap[t->n] = x;
        lift(t->heap, t->n++);
    } else if (worse(t->heap[0], x)) {
        t->heap[0] = x;
        sink(t->heap, t->n, 0);
    }
}

/* Turns the heap into an array, best first. */
static void sort_top(struct top *t)
{
    for (size_t n = t->n; n > 1; n--) {
        struct scan_best x = t->heap[n - 1];
        t->heap[n - 1] = t->heap[0];
        t->heap[0] = x;
        sink(t->heap, n - 1, 0);
    }
}

/* Turns a sorted array back into a heap. */
static void reverse(struct top *t)
{
    for (size_t i = 0; i < t->n / 2; i++) {
        struct scan_best x = t->heap[i];
        t->heap[i] = t->heap[t->n - 1 - i];
        t->heap[t->n - 1 - i] = x;
    }
}

static void match_tag_sets(const struct scan_filter *f, const uint32_t *tag_set, size_t n,
                           uint8_t *pass)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t p = tag_set[i];
        pass[i] &= p < f->tag_sets_n ? f->tag_sets[p / 64] >> p % 64 & 1 : 0;
    }
}

static void match_times(const struct scan_filter *f, const int64_t *created, size_t n,
                        uint8_t *pass)
{
    for (size_t i = 0; i < n; i++)
        pass[i] &= (created[i] >= f->since) & (created[i] <= f->until);
}

static void match_live(const struct scan_block *b, uint32_t generation, size_t n, uint8_t *pass)
{
    for (size_t i = 0; i < n; i++)
        pass[i] &= !scan_is_deleted(b, i, generation);
}

static bool any_time(const struct scan_filter *f)
{
    return !f || (f->since == INT64_MIN && f->until == INT64_MAX);
}

static bool all_pass(const struct scan_job *j)
{
    return !j->state->deleted && any_time(j->filter) && (!j->filter || !j->filter->tag_sets);
}

/* Appends the rows of a block that pass to the list. Most groups of eight rows have none. */
static size_t gather(const uint8_t *pass, size_t n, uint32_t first, uint32_t *list)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t group;
        memcpy(&group, pass + i, sizeof(group));
        for (; group; group &= group - 1)
            list[k++] = first + (uint32_t)i + (uint32_t)__builtin_ctzll(group) / 8;
    }
    return k;
}

static size_t rows_at(const struct scan_job *j, size_t first)
{
    uint64_t left = j->state->rows - first;
    return left < SCAN_BLOCK ? (size_t)left : SCAN_BLOCK;
}

static size_t pass_block(const struct scan_job *j, size_t first, uint32_t *list)
{
    const struct scan_filter *f = j->filter;
    struct scan_block b = scan_block(j->map, first / SCAN_BLOCK);
    uint8_t pass[SCAN_BLOCK] = {0};
    size_t n = rows_at(j, first);
    memset(pass, 1, n);
    if (f && f->tag_sets)
        match_tag_sets(f, b.tag_set, n, pass);
    if (!any_time(f))
        match_times(f, b.created, n, pass);
    if (j->state->deleted)
        match_live(&b, j->state->generation, n, pass);
    return gather(pass, n, (uint32_t)first, list);
}

static void apply_filter(struct ranking *r)
{
    const struct scan_job *j = r->job;
    struct scan_scratch *x = j->scratch;
    r->n = (size_t)j->state->rows;
    if (all_pass(j))
        return;
    x->list = reserve(x->list, &x->list_cap, r->n, sizeof(*x->list));
    r->list = x->list;
    r->n = 0;
    for (size_t first = 0; first < j->state->rows; first += SCAN_BLOCK)
        r->n += pass_block(j, first, x->list + r->n);
}

static inline uint32_t row_of(const struct ranking *r, size_t k)
{
    return r->list ? r->list[k] : (uint32_t)k;
}

static const uint64_t *bits_of(const struct scan_map *m, uint32_t row)
{
    return scan_block(m, row / SCAN_BLOCK).bits + row % SCAN_BLOCK * m->layout.words;
}

/* The distances of the listed rows k to end, which are all in one block. */
static void measure_listed(const struct ranking *r, size_t k, size_t end, size_t rows,
                           uint16_t *distances)
{
    const uint64_t *query = r->job->scratch->bits;
    const size_t words = r->map->layout.words;
    uint16_t all[SCAN_BLOCK];
    if ((end - k) * DENSE < rows) {
        for (; k < end; k++)
            r->map->impl->hamming(bits_of(r->map, r->list[k]), 1, words, query, distances + k);
        return;
    }
    r->map->impl->hamming(bits_of(r->map, r->list[k] - r->list[k] % SCAN_BLOCK), rows, words, query,
                          all);
    for (; k < end; k++)
        distances[k] = all[r->list[k] % SCAN_BLOCK];
}

static size_t block_end(const struct ranking *r, size_t k)
{
    size_t block = r->list[k] / SCAN_BLOCK;
    while (k < r->n && r->list[k] / SCAN_BLOCK == block)
        k++;
    return k;
}

static void measure(const struct ranking *r, uint16_t *distances)
{
    if (!r->list) {
        for (size_t at = 0; at < r->n; at += SCAN_BLOCK)
            r->map->impl->hamming(bits_of(r->map, (uint32_t)at), rows_at(r->job, at),
                                  r->map->layout.words, r->job->scratch->bits, distances + at);
        return;
    }
    for (size_t k = 0, end; k < r->n; k = end) {
        end = block_end(r, k);
        size_t first = r->list[k] - r->list[k] % SCAN_BLOCK;
        measure_listed(r, k, end, rows_at(r->job, first), distances);
    }
}

static float cosine_of(struct ranking *r, uint32_t row)
{
    const size_t stride = r->map->layout.stride;
    struct scan_block b = scan_block(r->map, row / SCAN_BLOCK);
    size_t i = row % SCAN_BLOCK;
    const int8_t *code = b.code + i * stride;
    if (scan_code_checksum(r->map, code) == b.code_info[i].checksum)
        return (float)r->map->impl->dot_int8(code, r->job->scratch->code, stride) *
               b.code_info[i].scale * r->scale;
    uint16_t distance;
    r->job->damaged |= __atomic_load_n(&b.deleted[i], __ATOMIC_RELAXED) ==
                       SCAN_LIVE; /* otherwise it was wiped */
    r->map->impl->hamming(bits_of(r->map, row), 1, r->map->layout.words, r->job->scratch->bits,
                          &distance);
    return (float)cos(M_PI * distance / (double)r->map->layout.dim);
}

static void score_batch(struct ranking *r)
{
    for (size_t i = 0; i < r->batch_n; i++)
        offer(&r->top, (struct scan_best){cosine_of(r, r->batch[i]), r->batch[i]});
    r->batch_n = 0;
}

/* Prefetches the row; it is scored with its batch. The rows are scattered in memory. */
static inline void score_row(struct ranking *r, uint32_t row)
{
    const size_t stride = r->map->layout.stride;
    struct scan_block b = scan_block(r->map, row / SCAN_BLOCK);
    const int8_t *code = b.code + row % SCAN_BLOCK * stride;
    __builtin_prefetch(&b.code_info[row % SCAN_BLOCK]);
    for (size_t i = 0; i < stride && i < 512; i += 64)
        __builtin_prefetch(code + i);
    r->batch[r->batch_n++] = row;
    if (r->batch_n == BATCH)
        score_batch(r);
}

/* Scores the rows with above < distance <= most. Compares four distances at a time: all are
 * below 0x8000, so the high bit of the difference tells whether a distance is small enough. */
static void score_within(struct ranking *r, const uint16_t *distances, int above, int most)
{
    const uint64_t high = 0x8000800080008000u, ones = 0x0001000100010001u;
    const uint64_t bound = high + ones * (uint64_t)most;
    for (size_t k = 0; k < r->n; k += 4) {
        uint64_t four;
        memcpy(&four, distances + k, sizeof(four));
        if (!((bound - four) & high))
            continue;
        for (size_t i = k; i < k + 4 && i < r->n; i++)
            if (distances[i] > above && distances[i] <= most)
                score_row(r, row_of(r, i));
    }
    score_batch(r);
}

/* Estimates, from a sample, the distance below which about `want` rows are. */
static int guess_bound(const struct ranking *r, const uint16_t *distances, size_t want)
{
    uint32_t seen[VECTOR_DIM_MAX + 1] = {0};
    size_t step = r->n / SAMPLE + 1, sum = 0;
    for (size_t k = 0; k < r->n; k += step)
        seen[distances[k]]++;
    for (size_t d = 0; d <= r->map->layout.dim; d++) {
        sum += seen[d];
        if (sum * step >= want)
            return (int)d;
    }
    return (int)r->map->layout.dim;
}

/* The largest Hamming distance that a row as near as the last exact result may have. */
static int bound_of(struct ranking *r)
{
    const double dim = (double)r->map->layout.dim;
    size_t exact = r->top.limit / SHARE > EXACT ? r->top.limit / SHARE : EXACT;
    if (r->top.n < exact)
        exact = r->top.n;
    sort_top(&r->top);
    double cosine = fmax(-1, fmin(1, r->top.heap[exact - 1].cosine));
    reverse(&r->top);
    double chance = acos(cosine) / M_PI;
    double bound = dim * chance + bound_sigmas * sqrt(dim * chance * (1 - chance)) + 1;
    return (int)fmin(bound, dim);
}

static void by_bits(struct ranking *r)
{
    struct scan_scratch *x = r->job->scratch;
    const int dim = (int)r->map->layout.dim;
    x->distances = reserve(x->distances, &x->distances_cap, r->n + 4, sizeof(*x->distances));
    measure(r, x->distances);
    memset(x->distances + r->n, 0x7f, 4 * sizeof(*x->distances));
    int first = guess_bound(r, x->distances, r->top.limit * 2);
    score_within(r, x->distances, -1, first);
    if (r->top.n < r->top.limit) { /* the estimate was too low */
        score_within(r, x->distances, first, dim);
        return;
    }
    int bound = bound_of(r), most = guess_bound(r, x->distances, MOST + r->top.limit * 2);
    bound = bound < most ? bound : most;
    if (bound > first)
        score_within(r, x->distances, first, bound);
}

static size_t report(struct ranking *r, struct scan_hit *out)
{
    sort_top(&r->top);
    for (size_t k = 0; k < r->top.n; k++) {
        uint32_t row = r->top.heap[k].row;
        struct scan_block b = scan_block(r->map, row / SCAN_BLOCK);
        out[k] = (struct scan_hit){b.note[row % SCAN_BLOCK], b.vector[row % SCAN_BLOCK],
                                   r->top.heap[k].cosine};
    }
    return r->top.n;
}

size_t scan_rank(struct scan_job *j, const float *query, size_t limit, struct scan_hit *out)
{
    const struct scan_layout *s = &j->map->layout;
    struct scan_scratch *x = j->scratch;
    struct ranking r = {.job = j, .map = j->map};
    apply_filter(&r);
    r.top.limit = limit < r.n ? limit : r.n;
    if (!r.top.limit)
        return 0;
    x->best = reserve(x->best, &x->best_cap, r.top.limit, sizeof(*x->best));
    r.top.heap = x->best;
    assert(s->stride <= sizeof(x->code) && s->words <= FUMI_COUNT(x->bits));
    vector_quantize(query, s->dim, x->code, &r.scale);
    memset(x->code + s->dim, 0, s->stride - s->dim);
    scan_bits(query, s->dim, x->bits);
    if (r.n > FEW && r.top.limit < r.n / 2) {
        by_bits(&r);
    } else {
        for (size_t k = 0; k < r.n; k++)
            score_row(&r, row_of(&r, k));
        score_batch(&r);
    }
    return report(&r, out);
}
