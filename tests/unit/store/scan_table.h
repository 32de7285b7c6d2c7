/* A database for the tests of store/scan.h: a table of vectors in memory with the history of its
 * changes, and a search that compares all vectors. A row is live from change `born` up to, but
 * not including, change `died`. The current change number can be shared between processes, which
 * then use the same database. */
#ifndef FUMI_SCAN_TABLE_H
#define FUMI_SCAN_TABLE_H

#include "base/arena.h"
#include "store/scan_parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct item {
    int64_t note, vector, created, born, died;
    uint32_t tag_set;
    float *x;
};

struct scan_table {
    pthread_mutex_t lock;
    size_t dim;
    struct item *items;
    size_t n, cap;
    int64_t change, oldest; /* changes up to `oldest` are not known any more */
    _Atomic int64_t own, *now;
    int64_t vectors;
    int all, changed; /* reads without earlier rows; reads of changes after all rows */
    int pieces;       /* reads in all */
    size_t piece;     /* rows of a read, at most; 0: as many as requested */
    size_t hangs;     /* rows until a read waits forever, to be killed; 0: no read does */
    bool broken;
    bool steep; /* the first dimensions carry the length; the others are weak noise */
    uint64_t seed;
};

static inline uint64_t table_random(struct scan_table *t)
{
    uint64_t x = t->seed += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline void table_init(struct scan_table *t, size_t dim)
{
    *t = (struct scan_table){
        .lock = PTHREAD_MUTEX_INITIALIZER, .dim = dim, .change = 1, .seed = dim};
    t->own = 1;
    t->now = &t->own;
}

static inline void table_done(struct scan_table *t)
{
    for (size_t i = 0; i < t->n; i++)
        fumi_resize(t->items[i].x, 0);
    fumi_resize(t->items, 0);
    pthread_mutex_destroy(&t->lock);
}

static inline float table_real(struct scan_table *t)
{
    return (float)((double)table_random(t) / 1.8e19 - 0.5);
}

/* A random vector near one of 50 centres, as texts cluster around topics. */
static inline void table_vector(struct scan_table *t, float *x)
{
    struct scan_table centre = {.seed = table_random(t) % 50 * 1000};
    do
        for (size_t i = 0; i < t->dim; i++) {
            bool weak = t->steep && i >= t->dim / 8;
            x[i] = weak ? table_real(t) * 0.05f : table_real(&centre) + table_real(t) * 0.8f;
        }
    while (!vector_normalise(x, t->dim));
}

/* Adds a passage of the note. Takes effect with the next table_commit. */
static inline struct item *table_add(struct scan_table *t, int64_t note, uint32_t tag_set)
{
    if (t->n == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 64;
        t->items = fumi_resize(t->items, t->cap * sizeof(*t->items));
    }
    struct item *i = &t->items[t->n++];
    *i = (struct item){note,
                       ++t->vectors,
                       note * 10,
                       t->change + 1,
                       INT64_MAX,
                       tag_set,
                       fumi_resize(NULL, t->dim * sizeof(float))};
    table_vector(t, i->x);
    return i;
}

static inline void table_drop(struct scan_table *t, int64_t note)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->items[i].note == note && t->items[i].died == INT64_MAX)
            t->items[i].died = t->change + 1;
}

static inline void table_commit(struct scan_table *t)
{
    t->own = ++t->change;
}

static inline int64_t table_now(const struct scan_table *t)
{
    return *t->now;
}

static inline bool table_here(const struct item *i, int64_t now)
{
    return i->born <= now && now < i->died;
}

static inline void table_grow(struct scan_table *t, size_t notes)
{
    int64_t first = t->n ? t->items[t->n - 1].note + 1 : 1;
    for (size_t i = 0; i < notes; i++)
        table_add(t, first + (int64_t)i, (uint32_t)(table_random(t) % 100));
    table_commit(t);
}

static inline int table_put(const struct item *i, scan_put_fn *put, void *to, struct fumi_err *e)
{
    struct scan_row row = {i->note, i->vector, i->created, i->tag_set, i->x};
    return put(to, &row, e);
}

static inline bool table_between(int64_t since, int64_t change, int64_t until)
{
    return since < change && change <= until;
}

/* Reports the notes of the next changes, at most p->changes; a change may be in parts. */
static inline bool *table_touched(struct scan_table *t, struct scan_piece *p, scan_note_fn *note,
                                  void *to)
{
    bool *touched = memset(fumi_resize(NULL, t->n + 2), 0, t->n + 2); /* by note seq: 1, 2, ... */
    p->change = table_now(t);
    if (p->change > p->since + (int64_t)p->changes)
        p->change = p->since + (int64_t)p->changes;
    p->more = p->change < table_now(t);
    for (size_t i = 0; i < t->n; i++)
        if (table_between(p->since, t->items[i].born, p->change) ||
            table_between(p->since, t->items[i].died, p->change)) {
            touched[t->items[i].note] = true;
            note(to, t->items[i].note);
        }
    return touched;
}

static inline int table_next(struct scan_table *t, struct scan_piece *p, scan_put_fn *put, void *to,
                             struct fumi_err *e)
{
    size_t most = t->piece && t->piece < p->rows ? t->piece : p->rows, n = 0;
    int r = 0;
    for (size_t i = 0; !r && i < t->n && n < most; i++) {
        if (t->items[i].vector <= p->upto || t->items[i].born > table_now(t))
            continue;
        p->last = t->items[i].vector;
        n++;
        if (t->hangs && --t->hangs == 0)
            for (;;)
                pause();
        if (table_here(&t->items[i], table_now(t)))
            r = table_put(&t->items[i], put, to, e);
    }
    if (n < most)
        p->last = INT64_MAX;
    return r;
}

static inline int table_piece(struct scan_table *t, struct scan_piece *p, scan_note_fn *note,
                              scan_put_fn *put, void *to, struct fumi_err *e)
{
    bool empty = !p->since && !p->upto;
    int r = 0;
    t->pieces++;
    t->all += empty;
    t->changed += p->upto == INT64_MAX;
    p->last = p->upto;
    p->change = table_now(t);
    p->too_old = !empty && (p->since < t->oldest || p->since > table_now(t));
    if (t->broken)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "the table is broken");
    if (p->too_old)
        return 0;
    if (!empty) {
        bool *touched = table_touched(t, p, note, to);
        for (size_t i = 0; !r && i < t->n; i++)
            if (table_here(&t->items[i], table_now(t)) && touched[t->items[i].note] &&
                t->items[i].vector <= p->upto)
                r = table_put(&t->items[i], put, to, e);
        fumi_resize(touched, 0);
    }
    return r || p->more || p->upto == INT64_MAX ? r : table_next(t, p, put, to, e);
}

static inline int table_read(void *arg, struct scan_piece *p, scan_note_fn *note, scan_put_fn *put,
                             void *to, struct fumi_err *e)
{
    struct scan_table *t = arg;
    pthread_mutex_lock(&t->lock);
    int r = table_piece(t, p, note, put, to, e);
    pthread_mutex_unlock(&t->lock);
    return r;
}

/* Waits long enough for the slowest machine, also for a build that scan_refresh waits for only
 * once. */
static inline int table_refresh(struct scan_table *t, struct scan *s, struct fumi_err *e)
{
    int r = scan_refresh(s, table_now(t), 60000, e);
    for (int i = 0; r == 1 && i < 60000; i++) {
        usleep(1000);
        r = scan_refresh(s, table_now(t), 60000, e);
    }
    return r;
}

static inline struct scan *table_scan(struct scan_table *t, const char *path,
                                      const struct fumi_log *log)
{
    struct fumi_err e = {0};
    struct scan_source source = {table_read, t};
    struct scan *s = scan_open(path, FUMI_STR("test:space"), t->dim, &source, log, &e);
    if (s && table_refresh(t, s, &e) == 0)
        return s;
    fprintf(stderr, "%s\n", e.text);
    scan_close(s);
    return NULL;
}

static inline bool table_passes(const struct scan_table *t, const struct item *i,
                                const struct scan_filter *f)
{
    if (!f || !table_here(i, table_now(t)))
        return table_here(i, table_now(t));
    return i->created >= f->since && i->created <= f->until &&
           (!f->tag_sets ||
            (i->tag_set < f->tag_sets_n && f->tag_sets[i->tag_set / 64] >> i->tag_set % 64 & 1));
}

/* The 8-bit cosine that the scan must return for a row. */
static inline float table_cosine(const struct scan_table *t, const float *query, const float *x)
{
    int8_t *a = fumi_resize(NULL, t->dim), *b = fumi_resize(NULL, t->dim);
    float scale, other;
    vector_quantize(query, t->dim, a, &scale);
    vector_quantize(x, t->dim, b, &other);
    int32_t sum = 0;
    for (size_t i = 0; i < t->dim; i++)
        sum += a[i] * b[i];
    fumi_resize(a, 0);
    fumi_resize(b, 0);
    return (float)sum * other * scale;
}

static inline int table_down(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* The cosines of all rows that pass, best first. The caller frees the result. */
static inline float *table_cosines(const struct scan_table *t, const struct scan_filter *f,
                                   const float *query, size_t *n)
{
    float *all = fumi_resize(NULL, (t->n + 1) * sizeof(*all));
    *n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (table_passes(t, &t->items[i], f))
            all[(*n)++] = table_cosine(t, query, t->items[i].x);
    qsort(all, *n, sizeof(*all), table_down);
    return all;
}

static inline const struct item *table_item(const struct scan_table *t, int64_t vector)
{
    return vector >= 1 && (size_t)vector <= t->n ? &t->items[vector - 1] : NULL;
}

/* Checks that each hit is a row that passes, with its own numbers and the expected cosine,
 * without duplicates, best first. */
static inline const char *table_wrong_hit(const struct scan_table *t, const struct scan_filter *f,
                                          const float *query, const struct scan_hit *hits, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const struct item *i = table_item(t, hits[k].vector);
        if (!i || i->note != hits[k].note || !table_passes(t, i, f))
            return "a row that does not exist or does not pass";
        if (hits[k].cosine != table_cosine(t, query, i->x))
            return "wrong cosine";
        if (k && hits[k].cosine > hits[k - 1].cosine)
            return "wrong order";
        for (size_t other = 0; other < k; other++)
            if (hits[other].vector == hits[k].vector)
                return "a duplicate row";
    }
    return NULL;
}

/* Runs one search and compares it with the table. Returns NULL, or what is wrong. The first
 * `exact` hits must be exactly the best rows. */
static inline const char *table_wrong(const struct scan_table *t, struct scan *s,
                                      const struct scan_filter *f, size_t limit, size_t exact)
{
    struct scan_table other = {
        .seed = (uint64_t)table_now(t) * 77, .dim = t->dim, .steep = t->steep};
    float *query = fumi_resize(NULL, t->dim * sizeof(*query));
    table_vector(&other, query);
    struct scan_hit *hits = fumi_resize(NULL, (limit + 1) * sizeof(*hits));
    size_t n = scan_nearest(s, f, query, limit, hits), want;
    float *all = table_cosines(t, f, query, &want);
    const char *why = n == (want < limit ? want : limit) ? NULL : "wrong number of rows";
    if (!why)
        why = table_wrong_hit(t, f, query, hits, n);
    for (size_t k = 0; !why && k < n && k < exact; k++)
        if (hits[k].cosine != all[k])
            why = "a better row is missing";
    fumi_resize(query, 0);
    fumi_resize(hits, 0);
    fumi_resize(all, 0);
    return why;
}

#endif
