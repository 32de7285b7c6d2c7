/* A search: collects candidates by keywords and by vectors, merges them into one ranking (fuse.c),
 * loads the best notes, and fits them into the token budget of the caller (budget.c). */
#include "base/clock.h"
#include "base/utf8.h"
#include "memory/budget.h"
#include "memory/fuse.h"
#include "memory/memory_parts.h"
#include "memory/neighbours.h"
#include "memory/query_names.h"
#include "memory/relevance.h"
#include "memory/results.h"
#include "memory/spans.h"
#include "memory/succession.h"
#include "store/words.h"

#include <stdlib.h>

enum { CANDIDATES = 200, WIDEN = 4, TIES = 32, MISSES = 3, MISSES_STRICT = 2, MISS_BYTES = 120 };

/* The weight of the vector search in hybrid mode. KNOWN: the embedder supports the language of
 * the query. FOREIGN: it does not; fuse() then counts the cosine of each keyword result as 1, so
 * that keyword results score at least FOREIGN and all other notes at most FOREIGN. */
static const double KNOWN = 0.5, FOREIGN = 0.2;

struct searching {
    struct memory *m;
    struct fumi_arena *a;
    const struct search *s;
    struct filter user; /* the same filter for the project PROJECT_USER; unless it is null */
    struct space *sp;
    size_t wide; /* candidates per search */
    struct found *out;
    struct keyword_hits words;
    float *x;        /* the vector of the query; NULL: none */
    bool strict;     /* search.strict applies: there is no confidence */
    bool no_vectors; /* notes pass the filter, but none has a vector in the serving space */
    bool behind;     /* the vector cache is being built: only the keyword search finds notes */
};

static int by_score_of_hit(const void *x, const void *y)
{
    const struct hit *a = x, *b = y;
    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return (a->seq < b->seq) - (a->seq > b->seq);
}

static const struct hit *find(const struct hits *h, int64_t seq)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->items[i].seq == seq)
            return &h->items[i];
    return NULL;
}

/* Adds the hits of a second search, best first. */
static void add_hits(struct searching *q, struct hits *to, const struct hits *more)
{
    struct hit *all = fumi_alloc(q->a, (to->n + more->n + 1) * sizeof(*all));
    if (to->n)
        memcpy(all, to->items, to->n * sizeof(*all));
    if (more->n)
        memcpy(all + to->n, more->items, more->n * sizeof(*all));
    *to = (struct hits){all, to->n + more->n, to->behind || more->behind};
    qsort(all, to->n, sizeof(*all), by_score_of_hit);
}

/* Adds the cosines of the notes that only the keyword search found, so that every candidate that
 * has vectors is scored by both searches. */
static int add_cosines(struct searching *q, struct hits *near, struct fumi_err *e)
{
    struct store *store = q->m->view;
    const struct hits *words = &q->words.hits;
    struct hits more = {0};
    size_t dim = atomic_load(&q->sp->embedder->dim);
    int64_t *seqs = fumi_alloc(q->a, (words->n + 1) * sizeof(*seqs));
    size_t n = 0;
    for (size_t i = 0; i < words->n; i++)
        if (!find(near, words->items[i].seq))
            seqs[n++] = words->items[i].seq;
    if (store_score_vectors(store, q->a, space_name(q->sp, q->a), q->x, dim, seqs, n, &more, e))
        return -1;
    near->behind = false;
    add_hits(q, near, &more);
    return 0;
}

/* Vector search. Returns 1 if the query could not be embedded: the caller then uses keywords only.
 */
static int by_meaning(struct searching *q, struct hits *near, struct fumi_err *e)
{
    struct store *store = q->m->view;
    struct fumi_err why = {0};
    struct fumi_str text = q->s->off & SEARCH_NO_NAMES
                               ? q->s->query
                               : query_without_names(q->a, q->s->query, &q->words);
    if (space_query(q->sp, q->a, text, q->s->ms, &q->x, &why)) {
        q->x = NULL;
        if (q->s->mode == SEARCH_HYBRID && why.code == ERR_PROVIDER) {
            q->out->warning = fumi_fmt(q->a, "searched by keyword only: %s", why.text);
            return 1;
        }
        *e = why;
        return -1;
    }
    size_t dim = atomic_load(&q->sp->embedder->dim);
    struct fumi_str space = space_name(q->sp, q->a);
    struct hits more = {0};
    if (store_nearest(store, q->a, &q->s->filter, space, q->x, dim, q->wide, near, e) ||
        (q->user.project.p &&
         store_nearest(store, q->a, &q->user, space, q->x, dim, q->wide, &more, e)))
        return -1;
    if (more.n)
        add_hits(q, near, &more);
    q->behind = near->behind;
    q->no_vectors = !near->n && !q->behind && q->out->filtered.left > 0;
    bool both = q->s->mode == SEARCH_HYBRID || q->behind;
    return both && q->words.hits.n ? add_cosines(q, near, e) : 0;
}

/* Whether the embedder does not support the language of the query. */
static bool is_foreign(const struct searching *q)
{
    struct embedder *em = q->sp->embedder;
    return words_mostly_non_latin(q->s->query) && !em->ops->supports(em, q->s->query);
}

static void weigh(const struct searching *q, struct fuse_input *in)
{
    in->words_first = q->out->mode == SEARCH_HYBRID && is_foreign(q);
    if (q->out->mode != SEARCH_HYBRID)
        in->weight = q->out->mode == SEARCH_MEANING;
    else
        in->weight = in->words_first ? FOREIGN : KNOWN;
}

/* In a search by vectors alone the score is the cosine, mapped to 0..1. */
static void plain_scores(struct results *r)
{
    for (size_t i = 0; i < r->n; i++)
        r->items[i].score = (1 + r->items[i].meaning) / 2;
}

static int raise_scores(struct searching *q, const struct fuse_input *in, struct results *all,
                        struct fumi_err *e)
{
    struct neighbour_search s = {q->m->view, &q->s->filter, in, {0}, q->x, 0};
    struct found *out = q->out;
    if (out->times_n && spans_raise(s.store, q->a, out->times, out->times_n, all, e))
        return -1;
    results_sort(all);
    if (q->x) {
        s.space = space_name(q->sp, q->a);
        s.dim = atomic_load(&q->sp->embedder->dim);
    }
    if (!(q->s->off & SEARCH_NO_NEIGHBOURS) && neighbours_raise(&s, q->a, all, e))
        return -1;
    results_scale(all);
    results_sort(all);
    return 0;
}

/* The words alone decide where the cosine means nothing. */
static void set_relevance(const struct searching *q, struct results *all)
{
    const struct embed_calibration *c = is_foreign(q) ? NULL : q->sp->embedder->calibration;
    for (size_t i = 0; i < all->n; i++) {
        struct result *r = &all->items[i];
        const struct hit *h = r->words_rank ? NULL : find(&q->words.hits, r->note.seq);
        r->share = h ? h->share : r->share;
        r->relevance = relevance_of(r->meaning_rank ? c : NULL, r->meaning, r->share);
    }
}

/* A search by meaning uses the shares of the keyword search, but not its order. */
static int by_words(struct searching *q, struct fumi_err *e)
{
    const struct keyword_query words = {
        .text = q->s->query, .limit = q->wide, .plain_length = q->s->off & SEARCH_NO_PIVOT};
    struct keyword_hits more = {0};
    if (store_match_keywords(q->m->view, q->a, &q->s->filter, &words, &q->words, e) ||
        (q->user.project.p && store_match_keywords(q->m->view, q->a, &q->user, &words, &more, e)))
        return -1;
    if (more.hits.n)
        add_hits(q, &q->words.hits, &more.hits);
    return 0;
}

static int candidates(struct searching *q, struct results *all, struct fumi_err *e)
{
    struct fuse_input in = {.weight = 0};
    q->out->mode = q->s->mode;
    q->out->times_n = 0;
    q->x = NULL;
    if (q->s->mode == SEARCH_HYBRID && !(q->s->off & SEARCH_NO_DATES))
        q->out->times_n = dates_read(q->s->query, q->s->now ? q->s->now : fumi_now(), q->out->times,
                                     SEARCH_TIMES);
    if (by_words(q, e))
        return -1;
    if (q->s->mode != SEARCH_WORDS) {
        int rc = by_meaning(q, &in.meaning, e);
        if (rc < 0)
            return -1;
        if (rc)
            q->out->mode = SEARCH_WORDS;
    }
    if (q->s->mode != SEARCH_MEANING)
        in.words = q->words.hits;
    weigh(q, &in);
    *all = fuse(q->a, &in);
    if (q->out->mode == SEARCH_MEANING)
        plain_scores(all);
    if (q->s->mode == SEARCH_HYBRID && raise_scores(q, &in, all, e))
        return -1;
    set_relevance(q, all);
    return 0;
}

static int by_score(const void *x, const void *y)
{
    const struct result *a = x, *b = y;
    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    if (a->note.created.ms != b->note.created.ms)
        return a->note.created.ms < b->note.created.ms ? 1 : -1;
    size_t n = a->note.id.n < b->note.id.n ? a->note.id.n : b->note.id.n;
    return memcmp(a->note.id.p, b->note.id.p, n);
}

/* Sorts the best candidates: TIES more than requested, so that equal scores are ordered by time and
 * id. Notes that were deleted in the meantime are left out. */
static int rank(struct searching *q, struct results *all, struct fumi_err *e)
{
    struct store *store = q->m->view;
    size_t want = q->s->top + TIES < all->n ? q->s->top + TIES : all->n, k = 0;
    int64_t *seqs = fumi_alloc(q->a, (want + 1) * sizeof(*seqs));
    struct notes heads;
    for (size_t i = 0; i < want; i++)
        seqs[i] = all->items[i].note.seq;
    if (store_load_heads(store, q->a, seqs, want, &heads, e))
        return -1;
    for (size_t i = 0; i < want && k < heads.n; i++)
        if (all->items[i].note.seq == heads.items[k].seq) {
            all->items[k] = all->items[i];
            all->items[k].note = heads.items[k];
            k++;
        }
    all->n = k;
    qsort(all->items, all->n, sizeof(*all->items), by_score);
    return 0;
}

/* The notes of the candidates while they are loaded, in the order of the candidates. */
struct loaded {
    const struct searching *q;
    const struct result *next; /* the first candidate whose note is not loaded yet */
    struct budget budget;
};

static struct result next_result(struct loaded *l, const struct note *n)
{
    while (l->next->note.seq != n->seq)
        l->next++; /* its note was deleted or is damaged */
    struct result r = *l->next++;
    r.note = *n;
    if (l->q->s->short_ids && r.short_id.p)
        r.note.id = r.short_id;
    if (l->q->s->short_ids && n->superseded_by.p)
        r.note.superseded_by = memory_short_id(l->q->m, l->q->a, ID_OF_NOTE | ID_OF_GLOBAL,
                                               n->superseded_by);
    return r;
}

/* Copies only the part of a note that is returned. */
static int take_result(void *arg, void *row, size_t bytes, struct fumi_err *e)
{
    struct loaded *l = arg;
    struct note *n = row;
    const struct search *s = l->q->s;
    struct found *out = l->q->out;
    if (out->results.n + out->omitted == s->top)
        return ROW_END;
    struct result r = next_result(l, n);
    bool fits = budget_take(&l->budget, &r, s->query);
    if (!fits && !l->budget.any)
        return budget_refuse(&l->budget, s->max_tokens, e);
    if (!fits) {
        out->omitted++;
        return ROW_SKIP;
    }
    bytes -= n->text.n - r.note.text.n;
    *n = r.note;
    int verdict = s->each ? s->each(s->arg, n, bytes, e) : ROW_KEEP;
    if (verdict == ROW_KEEP)
        out->results.items[out->results.n++] = r;
    return verdict;
}

/* Keeps only the head of a note below a minimum and the beginning of its text. */
static int take_miss(void *arg, void *row, size_t bytes, struct fumi_err *e)
{
    (void)bytes;
    (void)e;
    struct loaded *l = arg;
    struct note *n = row;
    struct results *misses = &l->q->out->misses;
    struct result r = next_result(l, n);
    struct fumi_str text = fumi_utf8_cut(n->text, n->text.n < MISS_BYTES ? n->text.n : MISS_BYTES);
    *n = (struct note){
        .seq = n->seq, .id = r.note.id, .title = n->title, .created = n->created, .text = text};
    misses->items[misses->n++] = r;
    return ROW_KEEP;
}

/* Loads the notes of n candidates into `out`, which may share memory with the candidates. */
static int load(struct loaded *l, size_t n, int (*each)(void *, void *, size_t, struct fumi_err *),
                struct results *out, struct fumi_err *e)
{
    struct store *store = l->q->m->view;
    const struct loading to = {l->q->a, each, l};
    int64_t *seqs = fumi_alloc(l->q->a, (n + 1) * sizeof(*seqs));
    struct notes notes;
    for (size_t i = 0; i < n; i++)
        seqs[i] = l->next[i].note.seq;
    if (n == 0)
        return 0;
    if (store_load_notes(store, &to, seqs, n, &notes, e))
        return -1;
    for (size_t i = 0; i < out->n; i++)
        out->items[i].note = notes.items[i];
    return 0;
}

static void shorten(struct searching *q, struct result *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        r[i].short_id = memory_short_id(q->m, q->a, ID_OF_NOTE | ID_OF_GLOBAL, r[i].note.id);
}

/* `n`: how many of all results reach the minimum score and relevance; they come first. */
static int fill(struct searching *q, const struct results *all, size_t n, struct fumi_err *e)
{
    struct found *out = q->out;
    const struct search *s = q->s;
    size_t bad = q->strict ? MISSES_STRICT : MISSES;
    bad = all->n - n < bad ? all->n - n : bad;
    struct loaded good = {.q = q, .next = all->items}, misses = {.q = q, .next = all->items + n};
    out->results = (struct results){all->items, 0};
    out->misses = (struct results){all->items + n, 0};
    if (s->short_ids || s->max_tokens)
        shorten(q, all->items, n < s->top ? n : s->top);
    if (s->short_ids)
        shorten(q, all->items + n, bad);
    if (load(&misses, bad, take_miss, &out->misses, e))
        return -1;
    out->omitted = out->tokens = s->top; /* the most digits */
    good.budget = budget_begin(s->size, s->max_tokens, out, n > 0);
    out->omitted = 0;
    if (load(&good, n, take_result, &out->results, e))
        return -1;
    out->tokens = (s->max_tokens ? s->max_tokens : SIZE_MAX) - good.budget.left;
    return 0;
}

/* Moves the results below a minimum to the end, in the same order. Returns how many are not. */
static size_t apply_minimum(const struct searching *q, const struct results *all)
{
    struct result *low = fumi_alloc(q->a, (all->n + 1) * sizeof(*low));
    size_t n = 0, n_low = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct result *r = &all->items[i];
        if (r->score >= q->s->floor && r->relevance >= q->s->min_relevance)
            all->items[n++] = *r;
        else
            low[n_low++] = *r;
    }
    memcpy(all->items + n, low, n_low * sizeof(*low));
    return n;
}

/* Of the first n results. A note of the time that the query names is never without relevance: "what
 * was done yesterday". */
static enum confidence confidence_of(const struct searching *q, const struct results *all, size_t n)
{
    enum confidence best = CONFIDENCE_NONE;
    for (size_t i = 0; i < n && i < q->s->top; i++) {
        const struct result *r = &all->items[i];
        enum confidence one = relevance_confidence(r->relevance);
        if (one == CONFIDENCE_NONE && r->in_time)
            one = CONFIDENCE_LOW;
        best = one > best ? one : best;
    }
    return best;
}

/* Counts the notes of the project that are not found by meaning. */
static int count_pending(const struct searching *q, struct fumi_err *e)
{
    struct found *out = q->out;
    if (q->s->mode == SEARCH_WORDS)
        return 0;
    out->behind = q->behind;
    out->pending = out->filtered.project;
    return q->behind ? 0
                     : store_count_unembedded(q->m->view, q->s->filter.project,
                                              space_name(q->sp, q->a), &out->pending, e);
}

static int run(struct searching *q, struct fumi_err *e)
{
    struct results all;
    q->out->warning = (struct fumi_str){0};
    if (candidates(q, &all, e) || count_pending(q, e))
        return -1;
    if (q->no_vectors && !q->out->warning.p)
        q->out->warning = FUMI_STR("searched by keyword only: no note is embedded yet");
    size_t good = apply_minimum(q, &all);
    q->out->below = all.n - good;
    if (rank(q, &all, e) ||
        (q->s->filter.superseded && succession_order(q->m->view, q->a, &all, e)))
        return -1;
    good = apply_minimum(q, &all);
    q->out->confidence = confidence_of(q, &all, good);
    q->strict = q->s->strict && q->out->confidence == CONFIDENCE_NONE;
    return fill(q, &all, q->strict ? 0 : good, e);
}

/* Whether the notes of the user are searched, too: the caller may read them, and there are some. */
static int add_user(struct searching *q, struct fumi_err *e)
{
    const struct filter *f = &q->s->filter;
    struct filtered n;
    if (memory_scope(q->m)->project.p || !f->project.p || fumi_eq(f->project, PROJECT_USER))
        return 0;
    q->user = *f;
    q->user.project = PROJECT_USER;
    if (store_count_notes(q->m->view, &q->user, &n, e))
        return -1;
    if (!n.left)
        q->user.project = (struct fumi_str){0};
    else if (q->s->mode != SEARCH_WORDS)
        owed_wait(q->m, PROJECT_USER, q->m->o.patience);
    return 0;
}

int memory_search(struct memory *m, struct fumi_arena *a, struct search *s, struct found *out,
                  struct fumi_err *e)
{
    size_t wide = s->top * WIDEN > CANDIDATES ? s->top * WIDEN : CANDIDATES;
    *out = (struct found){.space = memory_space(m, a)};
    bool all = fumi_eq(s->filter.project, PROJECT_ALL);
    if (all)
        s->filter.project = (struct fumi_str){0};
    if (!all && project_canonical(a, s->filter.project, &s->filter.project, e))
        return -1;
    if (s->mode != SEARCH_WORDS && all)
        owed_wait_all(m, m->o.patience);
    else if (s->mode != SEARCH_WORDS)
        owed_wait(m, s->filter.project, m->o.patience);
    if (store_count_notes(m->view, &s->filter, &out->filtered, e))
        return -1;
    out->unknown = s->filter.project.p && !out->filtered.project;
    if (out->unknown && memory_near_project(m, a, s->filter.project, &out->near, e))
        return -1;
    struct searching q = {
        .m = m, .a = a, .s = s, .sp = space_take(m, &m->serving), .wide = wide, .out = out};
    int rc = add_user(&q, e) || run(&q, e) ? -1 : 0;
    if (!rc && q.no_vectors && memory_follow(m, a, e)) {
        space_put(q.sp);
        q.sp = space_take(m, &m->serving);
        rc = run(&q, e);
    }
    space_put(q.sp);
    return rc;
}
