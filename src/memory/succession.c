/* The order of superseded notes in a search that includes them: each comes after its successor. The
 * successor takes the place of the older note if that one ranks higher. */
#include "memory/succession.h"

struct succession {
    struct results *all;
    struct fumi_arena *a;
    struct fumi_str *successors; /* of all->items[i]; null: it is current */
    struct result *out;
    bool *placed;
    size_t n;
};

/* For struct loading: remembers the successor; the note itself is not kept. */
static int look(void *arg, void *row, size_t bytes, struct fumi_err *e)
{
    (void)bytes, (void)e;
    struct succession *s = arg;
    const struct note *n = row;
    for (size_t i = 0; i < s->all->n; i++)
        if (s->all->items[i].note.seq == n->seq)
            s->successors[i] = fumi_dup(s->a, n->superseded_by);
    return ROW_SKIP;
}

static size_t successor_of(const struct succession *s, size_t i)
{
    for (size_t k = 0; s->successors[i].p && k < s->all->n; k++)
        if (fumi_eq(s->all->items[k].note.id, s->successors[i]))
            return k;
    return s->all->n;
}

/* Places the note behind its successors. A cycle, which the store does not permit, would end. */
static void place(struct succession *s, size_t i)
{
    double score = s->all->items[i].score;
    size_t chain[16], n = 0;
    for (size_t k = i; k < s->all->n && !s->placed[k] && n < FUMI_COUNT(chain);
         k = successor_of(s, k)) {
        s->placed[k] = true;
        chain[n++] = k;
    }
    while (n) {
        struct result r = s->all->items[chain[--n]];
        r.score = r.score > score ? r.score : score;
        s->out[s->n++] = r;
    }
}

int succession_order(struct store *store, struct fumi_arena *a, struct results *all,
                     struct fumi_err *e)
{
    struct succession s = {.all = all,
                           .a = a,
                           .successors = fumi_alloc(a, (all->n + 1) * sizeof(*s.successors)),
                           .out = fumi_alloc(a, (all->n + 1) * sizeof(*s.out)),
                           .placed = fumi_alloc(a, all->n + 1)};
    const struct loading to = {a, look, &s};
    struct notes none;
    memset(s.placed, 0, all->n + 1);
    if (all->n &&
        store_load_notes(store, &to, results_seqs(a, all->items, all->n), all->n, &none, e))
        return -1;
    for (size_t i = 0; i < all->n; i++)
        place(&s, i);
    if (s.n)
        memcpy(all->items, s.out, s.n * sizeof(*s.out));
    return 0;
}
