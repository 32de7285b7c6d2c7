#include "memory/spans.h"

#include "memory/results.h"

static const double WEIGHT = 0.3;

static double fit(const struct date_span *s, int64_t created)
{
    double length = (double)s->until - (double)s->since, distance = 0;
    if (created < s->since)
        distance = (double)s->since - (double)created;
    else if (created >= s->until)
        distance = (double)created - (double)s->until;
    return distance < length ? 1 - distance / length : 0;
}

double spans_fit(const struct date_span *spans, size_t n, int64_t created)
{
    double best = 0;
    for (size_t i = 0; i < n; i++) {
        double one = fit(&spans[i], created);
        best = one > best ? one : best;
    }
    return best;
}

int spans_raise(struct store *s, struct fumi_arena *a, const struct date_span *spans, size_t n,
                struct results *all, struct fumi_err *e)
{
    struct notes heads;
    if (store_load_heads(s, a, results_seqs(a, all->items, all->n), all->n, &heads, e))
        return -1;
    for (size_t i = 0, k = 0; i < all->n && k < heads.n; i++) {
        struct result *r = &all->items[i];
        if (r->note.seq != heads.items[k].seq)
            continue;
        double fit = spans_fit(spans, n, heads.items[k].created.ms);
        r->time = WEIGHT * fit;
        r->in_time = fit == 1;
        r->score += r->time;
        k++;
    }
    return 0;
}
