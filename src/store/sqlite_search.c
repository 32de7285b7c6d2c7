/* Search. By meaning: the scan returns the best rows by 8-bit cosine, which are then scored exactly
 * from the float vectors in the database. By keyword: sqlite_words.c. Both consider only notes that
 * pass the filter. */
#include "store/sqlite_ops.h"

#include "base/arena.h"
#include "store/sqlite_counts.h"
#include "store/sqlite_index.h"
#include "store/sqlite_words.h"
#include "store/vector.h"

#include <stdlib.h>

enum {
    TRIES = 6,        /* attempts, if notes change during the search */
    DAMAGED_MAX = 16, /* damaged vectors that one search reports */
};

static const double COSINE_MAX = 1.1; /* a vector with a larger cosine is damaged */

struct nearest_search {
    struct store_sqlite *store;
    struct fumi_arena *arena;
    const struct filter *filter;
    struct fumi_str name;
    const float *query;
    size_t dim, limit;
    int64_t patience; /* milliseconds to wait for the vector cache */
    struct hits *out;

    int64_t space, change;
    size_t wide; /* rows to request from the scan */
    bool again;  /* repeat: the rows were too few or out of date */
    int64_t damaged[DAMAGED_MAX];
    size_t damaged_n;
};

static int by_note(const void *x, const void *y)
{
    const struct hit *a = x, *b = y;
    if (a->seq != b->seq)
        return a->seq < b->seq ? -1 : 1;
    return (a->score < b->score) - (a->score > b->score);
}

static int by_score(const void *x, const void *y)
{
    const struct hit *a = x, *b = y;
    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return (a->seq < b->seq) - (a->seq > b->seq);
}

/* Reduces the hits to the best passage of each note, best first, at most `limit`. */
static void keep_best_passages(struct hits *h, size_t limit)
{
    size_t n = 0;
    if (h->n)
        qsort(h->items, h->n, sizeof(*h->items), by_note);
    for (size_t i = 0; i < h->n; i++)
        if (!n || h->items[n - 1].seq != h->items[i].seq)
            h->items[n++] = h->items[i];
    if (n)
        qsort(h->items, n, sizeof(*h->items), by_score);
    h->n = n < limit ? n : limit;
}

static void record_damage(struct nearest_search *n, int64_t vector)
{
    if (n->damaged_n < DAMAGED_MAX)
        n->damaged[n->damaged_n++] = vector;
}

/* Columns: vector, first, last, x. Returns false if the vector is damaged: it cannot be decoded, or
 * is far from unit length. */
static bool score_row(struct nearest_search *n, sqlite3_stmt *q, float *x, struct hit *out)
{
    bool valid = store_sqlite_vector_read(store_sqlite_text(q, 3), n->dim, x);
    out->score = valid ? (double)vector_dot(n->query, x, n->dim) : 0;
    if (!valid || out->score > COSINE_MAX || out->score < -COSINE_MAX) {
        record_damage(n, sqlite3_column_int64(q, 0));
        return false;
    }
    out->begin = (uint32_t)sqlite3_column_int64(q, 1);
    out->end = (uint32_t)sqlite3_column_int64(q, 2);
    return true;
}

/* `until` is exclusive here but inclusive in the scan, so it is compared again. Returns 1 or 0, or
 * -1 with *e set. */
static int in_time(struct db *d, const struct nearest_search *n, int64_t seq, struct fumi_err *e)
{
    int64_t created = 0;
    if (!n->filter || n->filter->until == INT64_MAX)
        return 1;
    int found = store_sqlite_number(d, e, &created, "SELECT created FROM notes WHERE seq=?1", "i",
                                    seq);
    return found > 0 ? created < n->filter->until : found;
}

/* Appends the exact score of a row of the scan. If the vector does not exist, its note changed
 * after the scan was refreshed, and the search is repeated. */
static int rescore_one(struct db *d, struct nearest_search *n, const struct scan_hit *from,
                       float *x, struct fumi_err *e)
{
    static const char sql[] = "SELECT vector, first, last, x FROM vectors WHERE vector=?1 AND "
                              "space=?2 AND note=?3";
    struct hit *to = &n->out->items[n->out->n];
    int in = in_time(d, n, from->note, e);
    if (in <= 0)
        return in;
    sqlite3_stmt *q = store_sqlite_query(d, e, sql, "iii", from->vector, n->space, from->note);
    int found = q ? store_sqlite_row(d, q, e) : -1;
    if (found <= 0) {
        n->again |= !found;
        return found;
    }
    to->seq = from->note;
    n->out->n += score_row(n, q, x, to);
    store_sqlite_end(q);
    return 0;
}

static int rescore(struct db *d, struct nearest_search *n, const struct scan_hit *from,
                   size_t count, struct fumi_err *e)
{
    float *x = fumi_alloc(n->arena, n->dim * sizeof(*x));
    n->out->items = fumi_alloc(n->arena, count * sizeof(*n->out->items));
    n->out->n = 0;
    for (size_t i = 0; i < count; i++)
        if (rescore_one(d, n, &from[i], x, e))
            return -1;
    return 0;
}

static int search(struct db *d, void *arg, struct fumi_err *e)
{
    struct nearest_search *n = arg;
    struct scan_filter f;
    if (store_sqlite_filter(d, n->arena, n->filter, &f, e))
        return -1;
    struct scan_hit *hits = fumi_alloc(n->arena, n->wide * sizeof(*hits));
    size_t count = scan_nearest(n->store->scan, &f, n->query, n->wide, hits);
    n->again |= !scan_is_whole(n->store->scan); /* the cache was damaged, and is built again */
    if (rescore(d, n, hits, count, e))
        return -1;
    keep_best_passages(n->out, n->limit);
    if (n->out->n < n->limit && count == n->wide) {
        n->again = true; /* several rows belong to the same notes */
        n->wide *= 4;
    }
    return 0;
}

static int look_up(struct db *d, void *arg, struct fumi_err *e)
{
    struct nearest_search *n = arg;
    if (store_sqlite_space(d, n->name, n->dim, false, &n->space, e))
        return -1;
    return store_sqlite_number(d, e, &n->change, "SELECT coalesce(max(n), 0) FROM changes", "") < 0
               ? -1
               : 0;
}

static int search_scan(struct nearest_search *n, struct fumi_err *e)
{
    if (store_sqlite_index_use(n->store, n->name, n->dim, n->space, e))
        return -1;
    int rc = scan_refresh(n->store->scan, n->change, n->patience, e);
    n->out->behind = rc > 0;
    if (rc == 0)
        rc = store_sqlite_read(&n->store->base, search, n, e);
    store_sqlite_index_done(n->store);
    return rc < 0 ? -1 : 0;
}

static int try_nearest(struct nearest_search *n, struct fumi_err *e)
{
    n->again = false;
    *n->out = (struct hits){0};
    if (store_sqlite_read(&n->store->base, look_up, n, e))
        return -1;
    return n->space ? search_scan(n, e) : 0;
}

int store_sqlite_nearest(struct store *s, struct fumi_arena *a, const struct filter *f,
                         struct fumi_str space, const float *query, size_t dim, size_t limit,
                         struct hits *out, struct fumi_err *e)
{
    struct nearest_search n = {.store = (struct store_sqlite *)s,
                               .arena = a,
                               .filter = f,
                               .name = space,
                               .query = query,
                               .dim = dim,
                               .limit = limit,
                               .patience = ((struct store_sqlite *)s)->patience,
                               .out = out,
                               .wide = limit + limit / 8 + 30,
                               .again = true};
    int rc = 0;
    *out = (struct hits){0};
    for (int i = 0; limit && i < TRIES && n.again && !rc; i++)
        rc = try_nearest(&n, e);
    for (size_t i = 0; i < n.damaged_n; i++)
        store_sqlite_vector_damaged(n.store, n.damaged[i]);
    return rc;
}

int store_sqlite_prepare_nearest(struct store *s, struct fumi_str space, size_t dim,
                                 struct fumi_err *e)
{
    struct hits ignored;
    struct nearest_search n = {
        .store = (struct store_sqlite *)s, .name = space, .dim = dim, .out = &ignored};
    if (n.store->uri || store_sqlite_read(s, look_up, &n, e))
        return n.store->uri ? 0 : -1;
    if (!n.space)
        return 0;
    if (store_sqlite_index_use(n.store, space, dim, n.space, e))
        return -1;
    int rc = scan_refresh(n.store->scan, n.change, 0, e);
    store_sqlite_index_done(n.store);
    return rc < 0 ? -1 : 0;
}

struct score_vectors_args {
    struct nearest_search near;
    const int64_t *seqs;
    size_t n;
};

static int score_note(struct db *d, struct score_vectors_args *s, int64_t seq, float *x,
                      struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(
        d, e,
        "SELECT vector, first, last, x FROM vectors WHERE note=?1 AND "
        "space=?2",
        "ii", seq, s->near.space);
    struct hits *h = s->near.out;
    struct hit best = {0}, one = {.seq = seq};
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0)
        if (score_row(&s->near, q, x, &one) && (!best.seq || one.score > best.score))
            best = one;
    if (best.seq)
        h->items[h->n++] = best;
    return more;
}

static int score(struct db *d, void *arg, struct fumi_err *e)
{
    struct score_vectors_args *s = arg;
    struct nearest_search *n = &s->near;
    if (store_sqlite_space(d, n->name, n->dim, false, &n->space, e))
        return -1;
    if (!n->space)
        return 0;
    float *x = fumi_alloc(n->arena, n->dim * sizeof(*x));
    n->out->items = fumi_alloc(n->arena, s->n * sizeof(*n->out->items));
    for (size_t i = 0; i < s->n; i++)
        if (score_note(d, s, s->seqs[i], x, e))
            return -1;
    return 0;
}

int store_sqlite_score_vectors(struct store *s, struct fumi_arena *a, struct fumi_str space,
                               const float *query, size_t dim, const int64_t *seqs, size_t n,
                               struct hits *out, struct fumi_err *e)
{
    struct score_vectors_args all = {
        .near = {.arena = a, .name = space, .query = query, .dim = dim, .out = out},
        .seqs = seqs,
        .n = n};
    *out = (struct hits){0};
    int rc = store_sqlite_read(s, score, &all, e);
    for (size_t i = 0; i < all.near.damaged_n; i++)
        store_sqlite_vector_damaged((struct store_sqlite *)s, all.near.damaged[i]);
    return rc;
}

struct match_keywords_args {
    struct fumi_arena *arena;
    const struct filter *filter; /* may be NULL */
    const struct keyword_query *query;
    struct keyword_hits *out;
};

static int match(struct db *d, void *arg, struct fumi_err *e)
{
    struct match_keywords_args *m = arg;
    static const struct filter any = {.since = INT64_MIN, .until = INT64_MAX};
    const struct filter *f = m->filter ? m->filter : &any;
    struct scan_filter scan;
    struct words_search what = {.project = f->project,
                                .filter = &scan,
                                .narrow = f->group.p || filter_has_tags(f) ||
                                          f->since > INT64_MIN || f->until < INT64_MAX,
                                .query = m->query};
    struct project_counts counts;
    if (store_sqlite_filter(d, m->arena, m->filter, &scan, e) ||
        store_sqlite_count_project(d, what.project, &counts, e))
        return -1;
    what.notes = counts.notes;
    what.words = counts.words;
    return store_sqlite_words_match(d->h, m->arena, &what, m->out, e);
}

int store_sqlite_match_keywords(struct store *s, struct fumi_arena *a, const struct filter *f,
                                const struct keyword_query *q, struct keyword_hits *out,
                                struct fumi_err *e)
{
    struct match_keywords_args m = {a, f, q, out};
    return store_sqlite_read(s, match, &m, e);
}
