/* Weighted linear fusion: the keyword score and the cosine of each candidate are normalised to 0..1
 * within this query, and their weighted mean is the score. */
#include "memory/fuse.h"

#include "memory/results.h"

#include <stdlib.h>

/* If even the best keyword result contains less than this share of the query, only function words
 * match ("how long does a ..."), and all keyword scores count less. */
static const double SHARE_LEAST = 0.1;

static int by_seq(const void *x, const void *y)
{
    int64_t a = ((const struct result *)x)->note.seq, b = ((const struct result *)y)->note.seq;
    return (a > b) - (a < b);
}

/* Both lists in one, sorted by note; a note that is in both lists occurs twice. */
static struct results gather(struct fumi_arena *a, const struct fuse_input *in)
{
    size_t n = in->words.n + in->meaning.n;
    struct results all = {fumi_alloc(a, (n + 1) * sizeof(struct result)), 0};
    for (size_t i = 0; i < in->words.n; i++)
        all.items[all.n++] = (struct result){.note.seq = in->words.items[i].seq,
                                             .words = in->words.items[i].score,
                                             .share = in->words.items[i].share,
                                             .words_rank = i + 1};
    for (size_t i = 0; i < in->meaning.n; i++) {
        const struct hit *h = &in->meaning.items[i];
        all.items[all.n++] = (struct result){.note.seq = h->seq,
                                             .meaning = h->score,
                                             .meaning_rank = i + 1,
                                             .begin = h->begin,
                                             .end = h->end};
    }
    qsort(all.items, all.n, sizeof(*all.items), by_seq);
    return all;
}

static void join(struct result *to, const struct result *r)
{
    if (r->words_rank)
        to->words = r->words, to->words_rank = r->words_rank, to->share = r->share;
    if (r->meaning_rank) {
        to->meaning = r->meaning, to->meaning_rank = r->meaning_rank;
        to->begin = r->begin, to->end = r->end;
    }
}

static void merge(struct results *all)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        if (n && all->items[n - 1].note.seq == all->items[i].note.seq)
            join(&all->items[n - 1], &all->items[i]);
        else
            all->items[n++] = all->items[i];
    }
    all->n = n;
}

/* Min-max normalisation of a cosine. If all cosines are equal (or there is only one), the cosine
 * itself is the result. */
static double between(double x, double least, double best)
{
    if (best - least < 1e-9)
        return x > 0 ? x : 0;
    return (x - least) / (best - least);
}

/* The BM25 score that counts as 1. A share of 0 says nothing: the note contains other forms of the
 * words. */
static double words_scale(const struct fuse_input *in)
{
    bool both = in->weight > 0 && in->weight < 1 && in->meaning.n && !in->words_first;
    double top = in->words.n ? in->words.items[0].score : 0;
    double share = in->words.n ? in->words.items[0].share : 0;
    return both && share > 0 && share < SHARE_LEAST ? top * SHARE_LEAST / share : top;
}

double fuse_score(const struct fuse_input *in, const struct result *r)
{
    double top = words_scale(in);
    double best = in->meaning.n ? in->meaning.items[0].score : 0;
    double least = in->meaning.n ? in->meaning.items[in->meaning.n - 1].score : 0;
    double words = top > 0 ? r->words / top : 0;
    double meaning = r->meaning_rank ? between(r->meaning, least, best) : 0;
    if (in->words_first && r->words_rank)
        meaning = 1;
    /* If other candidates have vectors, a note without one is scored by keywords alone. If none
     * has, the weight stays, and the best score is 1 - weight. */
    double weight = r->meaning_rank || !in->meaning.n || in->words_first ? in->weight : 0;
    double score = weight * meaning + (1 - weight) * words;
    return score < 0 ? 0 : score > 1 ? 1 : score;
}

struct results fuse(struct fumi_arena *a, const struct fuse_input *in)
{
    struct results all = gather(a, in);
    merge(&all);
    for (size_t i = 0; i < all.n; i++)
        all.items[i].score = fuse_score(in, &all.items[i]);
    results_sort(&all);
    return all;
}
