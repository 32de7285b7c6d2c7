/* For the best notes the store returns two notes before and two after. Each note gets a share of
 * the best score among its neighbours, before any score is raised. Of a note that is not among the
 * best, only those neighbours are known that are. */
#include "memory/neighbours.h"

#include "memory/results.h"

#include <stdlib.h>

enum { BEST = 20, SIDES = 4 };

static const double WEIGHT = 0.3;
/* of the two notes before and the two after */
static const double closeness[SIDES] = {0.7, 1, 1, 0.7};

struct raising {
    const struct neighbour_search *s;
    struct fumi_arena *a;
    struct results *all; /* sorted by seq, then neighbours that were no candidates */
    size_t known;        /* candidates */
};

static int by_seq(const void *x, const void *y)
{
    int64_t a = ((const struct result *)x)->note.seq, b = ((const struct result *)y)->note.seq;
    return (a > b) - (a < b);
}

static struct result *find(const struct raising *r, int64_t seq)
{
    struct result key = {.note.seq = seq}, *items = r->all->items;
    struct result *found = bsearch(&key, items, r->known, sizeof(key), by_seq);
    for (size_t i = r->known; !found && i < r->all->n; i++)
        if (items[i].note.seq == seq)
            found = &items[i];
    return found;
}

static void lend(struct result *to, double score, double close)
{
    double amount = WEIGHT * close * score;
    if (amount > to->neighbours)
        to->neighbours = amount;
}

/* Lets a note and its neighbours raise each other. */
static void exchange(struct raising *r, int64_t seq, const struct neighbours *near)
{
    struct result *note = find(r, seq);
    for (size_t i = 0; i < SIDES; i++) {
        if (!near->seq[i])
            continue;
        struct result *other = find(r, near->seq[i]);
        if (!other) {
            other = &r->all->items[r->all->n++];
            *other = (struct result){.note.seq = near->seq[i]};
        }
        lend(note, other->score, closeness[i]);
        lend(other, note->score, closeness[i]);
    }
}

/* Neighbours are of the same project and group, so only tags and time are left to check. */
static int keep_passing(void *arg, void *row, size_t bytes, struct fumi_err *e)
{
    (void)bytes, (void)e;
    const struct filter *f = arg;
    struct note *n = row;
    if (n->created.ms < f->since || n->created.ms >= f->until)
        return ROW_SKIP;
    if (!filter_passes_tags(f, n->tags))
        return ROW_SKIP;
    *n = (struct note){.seq = n->seq};
    return ROW_KEEP;
}

/* Drops the new notes that do not pass the filter. */
static int apply_filter(struct raising *r, struct fumi_err *e)
{
    const struct filter *f = r->s->filter;
    const struct loading to = {r->a, keep_passing, (void *)(uintptr_t)f};
    struct result *fresh = r->all->items + r->known;
    size_t n = r->all->n - r->known, k = 0;
    struct notes passing;
    if (!n || (!filter_has_tags(f) && f->since == INT64_MIN && f->until == INT64_MAX))
        return 0;
    if (store_load_notes(r->s->store, &to, results_seqs(r->a, fresh, n), n, &passing, e))
        return -1;
    for (size_t i = 0; i < n && k < passing.n; i++)
        if (fresh[i].note.seq == passing.items[k].seq)
            fresh[k++] = fresh[i];
    r->all->n = r->known + k;
    return 0;
}

static size_t rank_of(const struct hits *near, double cosine)
{
    size_t rank = 1;
    while (rank <= near->n && near->items[rank - 1].score >= cosine)
        rank++;
    return rank;
}

/* Sets the cosines and scores of the new notes. */
static int score(struct raising *r, struct fumi_err *e)
{
    const struct neighbour_search *s = r->s;
    struct result *fresh = r->all->items + r->known;
    size_t n = r->all->n - r->known;
    struct hits hits = {0};
    if (n && s->space.p &&
        store_score_vectors(s->store, r->a, s->space, s->query, s->dim,
                            results_seqs(r->a, fresh, n), n, &hits, e))
        return -1;
    for (size_t i = 0, k = 0; i < n && k < hits.n; i++) {
        const struct hit *h = &hits.items[k];
        if (fresh[i].note.seq != h->seq)
            continue;
        fresh[i].meaning = h->score;
        fresh[i].meaning_rank = rank_of(&s->in->meaning, h->score);
        fresh[i].begin = h->begin, fresh[i].end = h->end;
        fresh[i].score = fuse_score(s->in, &fresh[i]);
        k++;
    }
    return 0;
}

int neighbours_raise(const struct neighbour_search *s, struct fumi_arena *a, struct results *all,
                     struct fumi_err *e)
{
    size_t n = all->n < BEST ? all->n : BEST;
    const int64_t *seqs = results_seqs(a, all->items, n);
    struct neighbours *near = fumi_alloc(a, (n + 1) * sizeof(*near));
    struct raising r = {s, a, all, all->n};
    if (n == 0)
        return 0;
    if (store_neighbours(s->store, a, seqs, n, near, e))
        return -1;
    struct result *items = fumi_alloc(a, (all->n + n * SIDES) * sizeof(*items));
    memcpy(items, all->items, all->n * sizeof(*items));
    all->items = items;
    qsort(items, all->n, sizeof(*items), by_seq);
    for (size_t i = 0; i < n; i++)
        exchange(&r, seqs[i], &near[i]);
    if (apply_filter(&r, e) || score(&r, e))
        return -1;
    for (size_t i = 0; i < all->n; i++)
        items[i].score += items[i].neighbours;
    return 0;
}
