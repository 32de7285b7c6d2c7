/* One search. First the filter, then:
 *
 * Few rows pass: the 8-bit product of each. Otherwise the bits decide which rows get one. Between
 * two vectors at the angle a, each of `dim` random bits differs with the chance a / pi; so what is
 * as near as the best found can lie behind by some standard deviations of that count, and all rows
 * up to there are looked at. Where the vectors lie well apart these are few; where they do not, the
 * search gets slower instead of wrong. */
#include "store/scan_parts.h"

#include <math.h>

enum {
    FEW = 4000,    /* rows of which each gets a product */
    SAMPLE = 4096, /* rows from which the first bound is guessed, at least */
    BATCH = 32,    /* rows that are fetched ahead */
    SURE = 10,     /* of the best that must be right, at least; of more, one in SHARE */
    SHARE = 10,
    DENSE = 4, /* one row in so many passes: count all of the block */
};
static const double spread = 2.75; /* standard deviations */

struct scan_best {
    float cosine;
    uint32_t row;
};

/* The best rows so far; the worst of them is the first of a heap. */
struct top {
    struct scan_best *heap;
    size_t n, limit;
};

struct rank {
    struct scan_job *job;
    const struct scan_map *map;
    const uint32_t *list; /* the rows that pass, ascending; NULL: all */
    size_t n;             /* how many they are */
    float scale;          /* of the query */
    struct top top;
    uint32_t batch[BATCH];
    uint16_t batch_far[BATCH];
    size_t batch_n;
};

static void *at_least(void *old, size_t *cap, size_t n, size_t each)
{
    if (*cap >= n)
        return old;
    fumi_resize(old, 0);
    *cap = n + n / 8 + 1024;
    return fumi_resize(NULL, *cap * each);
}

void scan_scratch_done(struct scan_scratch *x)
{
    fumi_resize(x->far, 0);
    fumi_resize(x->list, 0);
    fumi_resize(x->best, 0);
}

/* The best */

/* Of two equal ones the older row is better, so that answers do not depend on the way. */
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

/* Best first. */
static void sort(struct top *t)
{
    for (size_t n = t->n; n > 1; n--) {
        struct scan_best x = t->heap[n - 1];
        t->heap[n - 1] = t->heap[0];
        t->heap[0] = x;
        sink(t->heap, n - 1, 0);
    }
}

/* Worst first is a heap again. */
static void turn(struct top *t)
{
    for (size_t i = 0; i < t->n / 2; i++) {
        struct scan_best x = t->heap[i];
        t->heap[i] = t->heap[t->n - 1 - i];
        t->heap[t->n - 1 - i] = x;
    }
}

/* The filter */

static void mark_places(const struct scan_filter *f, const uint32_t *place, size_t n, uint8_t *pass)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t p = place[i];
        pass[i] &= p < f->places_n ? f->places[p / 64] >> p % 64 & 1 : 0;
    }
}

static void mark_times(const struct scan_filter *f, const int64_t *created, size_t n, uint8_t *pass)
{
    for (size_t i = 0; i < n; i++)
        pass[i] &= (created[i] >= f->since) & (created[i] <= f->until);
}

static void mark_gone(const struct scan_block *b, uint32_t generation, size_t n, uint8_t *pass)
{
    for (size_t i = 0; i < n; i++)
        pass[i] &= !scan_is_gone(b, i, generation);
}

static bool any_time(const struct scan_filter *f)
{
    return !f || (f->since == INT64_MIN && f->until == INT64_MAX);
}

static bool all_pass(const struct scan_job *j)
{
    return !j->state->gone && any_time(j->filter) && (!j->filter || !j->filter->places);
}

/* The rows of a block that pass, into the list. Most groups of eight have none. */
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
    if (f && f->places)
        mark_places(f, b.place, n, pass);
    if (!any_time(f))
        mark_times(f, b.created, n, pass);
    if (j->state->gone)
        mark_gone(&b, j->state->generation, n, pass);
    return gather(pass, n, (uint32_t)first, list);
}

static void choose(struct rank *r)
{
    const struct scan_job *j = r->job;
    struct scan_scratch *x = j->scratch;
    r->n = (size_t)j->state->rows;
    if (all_pass(j))
        return;
    x->list = at_least(x->list, &x->list_cap, r->n, sizeof(*x->list));
    r->list = x->list;
    r->n = 0;
    for (size_t first = 0; first < j->state->rows; first += SCAN_BLOCK)
        r->n += pass_block(j, first, x->list + r->n);
}

static inline uint32_t row_of(const struct rank *r, size_t k)
{
    return r->list ? r->list[k] : (uint32_t)k;
}

/* The bits */

static const uint64_t *bits_of(const struct scan_map *m, uint32_t row)
{
    return scan_block(m, row / SCAN_BLOCK).bits + row % SCAN_BLOCK * m->shape.words;
}

/* The listed rows of one block, k up to end. */
static void far_listed(const struct rank *r, size_t k, size_t end, size_t rows, uint16_t *far)
{
    const uint64_t *query = r->job->scratch->bits;
    const size_t words = r->map->shape.words;
    uint16_t all[SCAN_BLOCK];
    if ((end - k) * DENSE < rows) {
        for (; k < end; k++)
            r->map->code->far(bits_of(r->map, r->list[k]), 1, words, query, far + k);
        return;
    }
    r->map->code->far(bits_of(r->map, r->list[k] - r->list[k] % SCAN_BLOCK), rows, words, query,
                      all);
    for (; k < end; k++)
        far[k] = all[r->list[k] % SCAN_BLOCK];
}

static size_t block_end(const struct rank *r, size_t k)
{
    size_t block = r->list[k] / SCAN_BLOCK;
    while (k < r->n && r->list[k] / SCAN_BLOCK == block)
        k++;
    return k;
}

static void count(const struct rank *r, uint16_t *far)
{
    if (!r->list) {
        for (size_t at = 0; at < r->n; at += SCAN_BLOCK)
            r->map->code->far(bits_of(r->map, (uint32_t)at), rows_at(r->job, at),
                              r->map->shape.words, r->job->scratch->bits, far + at);
        return;
    }
    for (size_t k = 0, end; k < r->n; k = end) {
        end = block_end(r, k);
        size_t first = r->list[k] - r->list[k] % SCAN_BLOCK;
        far_listed(r, k, end, rows_at(r->job, first), far);
    }
}

/* The 8-bit product */

static float cosine_of(struct rank *r, uint32_t row)
{
    const size_t stride = r->map->shape.stride;
    struct scan_block b = scan_block(r->map, row / SCAN_BLOCK);
    size_t i = row % SCAN_BLOCK;
    const int8_t *small = b.small + i * stride;
    if (scan_small_sum(r->map, small) == b.about[i].sum)
        return (float)r->map->code->small_dot(small, r->job->scratch->small, stride) *
               b.about[i].scale * r->scale;
    uint16_t far;
    r->job->odd |= __atomic_load_n(&b.gone[i], __ATOMIC_RELAXED) == SCAN_HERE; /* else wiped */
    r->map->code->far(bits_of(r->map, row), 1, r->map->shape.words, r->job->scratch->bits, &far);
    return (float)cos(M_PI * far / (double)r->map->shape.dim);
}

static void flush(struct rank *r)
{
    for (size_t i = 0; i < r->batch_n; i++)
        offer(&r->top, (struct scan_best){cosine_of(r, r->batch[i]), r->batch[i]});
    r->batch_n = 0;
}

/* Fetched while others are worked on: rows lie apart, and memory is far. */
static inline void weigh(struct rank *r, uint32_t row)
{
    const size_t stride = r->map->shape.stride;
    struct scan_block b = scan_block(r->map, row / SCAN_BLOCK);
    const int8_t *small = b.small + row % SCAN_BLOCK * stride;
    __builtin_prefetch(&b.about[row % SCAN_BLOCK]);
    for (size_t i = 0; i < stride && i < 512; i += 64)
        __builtin_prefetch(small + i);
    r->batch[r->batch_n++] = row;
    if (r->batch_n == BATCH)
        flush(r);
}

/* Rows with `above` < far <= `most`. Four counts at a time: they are below 0x8000, so a subtraction
 * tells of each whether it is small enough. */
static void weigh_near(struct rank *r, const uint16_t *far, int above, int most)
{
    const uint64_t high = 0x8000800080008000u, ones = 0x0001000100010001u;
    const uint64_t bound = high + ones * (uint64_t)most;
    for (size_t k = 0; k < r->n; k += 4) {
        uint64_t four;
        memcpy(&four, far + k, sizeof(four));
        if (!((bound - four) & high))
            continue;
        for (size_t i = k; i < k + 4 && i < r->n; i++)
            if (far[i] > above && far[i] <= most)
                weigh(r, row_of(r, i));
    }
    flush(r);
}

/* A bound below which about `want` rows lie, from some of them. */
static int guess(const struct rank *r, const uint16_t *far, size_t want)
{
    uint32_t seen[VECTOR_DIM_MAX + 1] = {0};
    size_t step = r->n / SAMPLE + 1, sum = 0;
    for (size_t k = 0; k < r->n; k += step)
        seen[far[k]]++;
    for (size_t d = 0; d <= r->map->shape.dim; d++) {
        sum += seen[d];
        if (sum * step >= want)
            return (int)d;
    }
    return (int)r->map->shape.dim;
}

/* How far in bits a row may lie that is as near as the last of the best that must be right. */
static int bound_of(struct rank *r)
{
    const double dim = (double)r->map->shape.dim;
    size_t sure = r->top.limit / SHARE > SURE ? r->top.limit / SHARE : SURE;
    if (r->top.n < sure)
        sure = r->top.n;
    sort(&r->top);
    double cosine = fmax(-1, fmin(1, r->top.heap[sure - 1].cosine));
    turn(&r->top);
    double chance = acos(cosine) / M_PI;
    double bound = dim * chance + spread * sqrt(dim * chance * (1 - chance)) + 1;
    return (int)fmin(bound, dim);
}

static void by_bits(struct rank *r)
{
    struct scan_scratch *x = r->job->scratch;
    const int dim = (int)r->map->shape.dim;
    x->far = at_least(x->far, &x->far_cap, r->n + 4, sizeof(*x->far));
    count(r, x->far);
    memset(x->far + r->n, 0x7f, 4 * sizeof(*x->far));
    int first = guess(r, x->far, r->top.limit * 2);
    weigh_near(r, x->far, -1, first);
    if (r->top.n < r->top.limit) { /* the guess was wrong */
        weigh_near(r, x->far, first, dim);
        return;
    }
    int bound = bound_of(r);
    if (bound > first)
        weigh_near(r, x->far, first, bound);
}

static size_t report(struct rank *r, struct scan_hit *out)
{
    sort(&r->top);
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
    const struct scan_shape *s = &j->map->shape;
    struct scan_scratch *x = j->scratch;
    struct rank r = {.job = j, .map = j->map};
    choose(&r);
    r.top.limit = limit < r.n ? limit : r.n;
    if (!r.top.limit)
        return 0;
    x->best = at_least(x->best, &x->best_cap, r.top.limit, sizeof(*x->best));
    r.top.heap = x->best;
    vector_small(query, s->dim, x->small, &r.scale);
    memset(x->small + s->dim, 0, s->stride - s->dim);
    scan_bits(query, s->dim, x->bits);
    if (r.n > FEW && r.top.limit < r.n / 2) {
        by_bits(&r);
    } else {
        for (size_t k = 0; k < r.n; k++)
            weigh(&r, row_of(&r, k));
        flush(&r);
    }
    return report(&r, out);
}
