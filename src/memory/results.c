#include "memory/results.h"

#include <stdlib.h>

int64_t *results_seqs(struct fumi_arena *a, const struct result *items, size_t n)
{
    int64_t *seqs = fumi_alloc(a, (n + 1) * sizeof(*seqs));
    for (size_t i = 0; i < n; i++)
        seqs[i] = items[i].note.seq;
    return seqs;
}

void results_scale(struct results *r)
{
    double best = 1;
    for (size_t i = 0; i < r->n; i++)
        best = r->items[i].score > best ? r->items[i].score : best;
    for (size_t i = 0; i < r->n; i++) {
        struct result *one = &r->items[i];
        one->score /= best;
        one->neighbours /= best;
        one->time /= best;
    }
}

static int by_score(const void *x, const void *y)
{
    const struct result *a = x, *b = y;
    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return (a->note.seq < b->note.seq) - (a->note.seq > b->note.seq);
}

void results_sort(struct results *r)
{
    qsort(r->items, r->n, sizeof(*r->items), by_score);
}
