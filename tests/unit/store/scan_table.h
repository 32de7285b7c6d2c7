/* The caller's side of store/scan.h: a table of vectors in memory that remembers what changed when,
 * and the slow, sure way to search in it. A row is there from the change `born` to the change
 * `died`. How far the changes have happened can be a number that processes share: then they all
 * have the same database. */
#ifndef FUMI_SCAN_TABLE_H
#define FUMI_SCAN_TABLE_H

#include "base/arena.h"
#include "store/scan_parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct item {
    int64_t note, vector, created, born, died;
    uint32_t place;
    float *x;
};

struct table {
    pthread_mutex_t lock;
    size_t dim;
    struct item *items;
    size_t n, cap;
    int64_t change, oldest; /* changes up to `oldest` are forgotten */
    _Atomic int64_t own, *now;
    int64_t vectors;
    int all, changed; /* calls */
    bool broken;
    bool steep; /* the first dimensions tell all; the rest is weak noise */
    uint64_t seed;
};

static inline uint64_t table_random(struct table *t)
{
    uint64_t x = t->seed += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline void table_init(struct table *t, size_t dim)
{
    *t = (struct table){.lock = PTHREAD_MUTEX_INITIALIZER, .dim = dim, .change = 1, .seed = dim};
    t->own = 1;
    t->now = &t->own;
}

static inline void table_done(struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        fumi_resize(t->items[i].x, 0);
    fumi_resize(t->items, 0);
    pthread_mutex_destroy(&t->lock);
}

static inline float table_real(struct table *t)
{
    return (float)((double)table_random(t) / 1.8e19 - 0.5);
}

/* Around one of a few centres, as texts lie around topics. */
static inline void table_vector(struct table *t, float *x)
{
    struct table centre = {.seed = table_random(t) % 50 * 1000};
    do
        for (size_t i = 0; i < t->dim; i++) {
            bool weak = t->steep && i >= t->dim / 8;
            x[i] = weak ? table_real(t) * 0.05f : table_real(&centre) + table_real(t) * 0.8f;
        }
    while (!vector_normalise(x, t->dim));
}

/* A passage of the note, with the coming change. */
static inline struct item *table_add(struct table *t, int64_t note, uint32_t place)
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
                       place,
                       fumi_resize(NULL, t->dim * sizeof(float))};
    table_vector(t, i->x);
    return i;
}

static inline void table_drop(struct table *t, int64_t note)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->items[i].note == note && t->items[i].died == INT64_MAX)
            t->items[i].died = t->change + 1;
}

static inline void table_commit(struct table *t)
{
    t->own = ++t->change;
}

static inline int64_t table_now(const struct table *t)
{
    return *t->now;
}

static inline bool table_here(const struct item *i, int64_t now)
{
    return i->born <= now && now < i->died;
}

static inline void table_grow(struct table *t, size_t notes)
{
    int64_t first = t->n ? t->items[t->n - 1].note + 1 : 1;
    for (size_t i = 0; i < notes; i++)
        table_add(t, first + (int64_t)i, (uint32_t)(table_random(t) % 100));
    table_commit(t);
}

static inline int table_put(const struct item *i, scan_put_fn *put, void *to, struct fumi_err *e)
{
    struct scan_row row = {i->note, i->vector, i->created, i->place, i->x};
    return put(to, &row, e);
}

static inline int table_all(void *arg, scan_put_fn *put, void *to, int64_t *change,
                            struct fumi_err *e)
{
    struct table *t = arg;
    int r = 0;
    pthread_mutex_lock(&t->lock);
    t->all++;
    *change = table_now(t);
    for (size_t i = 0; !r && i < t->n; i++)
        if (table_here(&t->items[i], *change))
            r = table_put(&t->items[i], put, to, e);
    if (t->broken)
        r = fumi_err_set(e, FUMI_INTERNAL_ERROR, "the table is broken");
    pthread_mutex_unlock(&t->lock);
    return r;
}

static inline bool table_between(int64_t since, int64_t change, int64_t until)
{
    return since < change && change <= until;
}

static inline int table_changed(void *arg, int64_t since, int (*note)(void *, int64_t),
                                scan_put_fn *put, void *to, int64_t *change, struct fumi_err *e)
{
    struct table *t = arg;
    int r = 0;
    pthread_mutex_lock(&t->lock);
    t->changed++;
    bool *touched = memset(fumi_resize(NULL, t->n + 2), 0, t->n + 2); /* by note: 1, 2, ... */
    *change = table_now(t);
    for (size_t i = 0; i < t->n; i++)
        if (table_between(since, t->items[i].born, *change) ||
            table_between(since, t->items[i].died, *change)) {
            touched[t->items[i].note] = true;
            note(to, t->items[i].note);
        }
    for (size_t i = 0; !r && i < t->n; i++)
        if (table_here(&t->items[i], *change) && touched[t->items[i].note])
            r = table_put(&t->items[i], put, to, e);
    fumi_resize(touched, 0);
    if (since < t->oldest || since > *change)
        r = 1;
    if (t->broken)
        r = fumi_err_set(e, FUMI_INTERNAL_ERROR, "the table is broken");
    pthread_mutex_unlock(&t->lock);
    return r;
}

static inline struct scan *table_scan(struct table *t, const char *path, const struct fumi_log *log)
{
    struct fumi_err e = {0};
    struct scan_source source = {table_all, table_changed, t};
    struct scan *s = scan_open(path, FUMI_STR("test:space"), t->dim, &source, log, &e);
    if (s && scan_refresh(s, table_now(t), &e) == 0)
        return s;
    fprintf(stderr, "%s\n", e.text);
    scan_close(s);
    return NULL;
}

static inline bool table_passes(const struct table *t, const struct item *i,
                                const struct scan_filter *f)
{
    if (!f || !table_here(i, table_now(t)))
        return table_here(i, table_now(t));
    return i->created >= f->since && i->created <= f->until &&
           (!f->places ||
            (i->place < f->places_n && f->places[i->place / 64] >> i->place % 64 & 1));
}

/* The 8-bit cosine that a row must have. */
static inline float table_cosine(const struct table *t, const float *query, const float *x)
{
    int8_t *a = fumi_resize(NULL, t->dim), *b = fumi_resize(NULL, t->dim);
    float scale, other;
    vector_small(query, t->dim, a, &scale);
    vector_small(x, t->dim, b, &other);
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

/* The cosines of all that pass, best first; the caller frees. */
static inline float *table_cosines(const struct table *t, const struct scan_filter *f,
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

static inline const struct item *table_item(const struct table *t, int64_t vector)
{
    return vector >= 1 && (size_t)vector <= t->n ? &t->items[vector - 1] : NULL;
}

/* Each hit is a row that passes, under its own numbers, with the cosine it must have; none twice,
 * best first. */
static inline const char *table_wrong_hit(const struct table *t, const struct scan_filter *f,
                                          const float *query, const struct scan_hit *hits, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const struct item *i = table_item(t, hits[k].vector);
        if (!i || i->note != hits[k].note || !table_passes(t, i, f))
            return "a row that is not there";
        if (hits[k].cosine != table_cosine(t, query, i->x))
            return "a wrong cosine";
        if (k && hits[k].cosine > hits[k - 1].cosine)
            return "a wrong order";
        for (size_t other = 0; other < k; other++)
            if (hits[other].vector == hits[k].vector)
                return "a row twice";
    }
    return NULL;
}

/* NULL, or what is wrong with the answer. The first `sure` must be exactly the best there are. */
static inline const char *table_wrong(const struct table *t, struct scan *s,
                                      const struct scan_filter *f, size_t limit, size_t sure)
{
    struct table other = {.seed = (uint64_t)table_now(t) * 77, .dim = t->dim, .steep = t->steep};
    float *query = fumi_resize(NULL, t->dim * sizeof(*query));
    table_vector(&other, query);
    struct scan_hit *hits = fumi_resize(NULL, (limit + 1) * sizeof(*hits));
    size_t n = scan_nearest(s, f, query, limit, hits), want;
    float *all = table_cosines(t, f, query, &want);
    const char *why = n == (want < limit ? want : limit) ? NULL : "a wrong number of rows";
    if (!why)
        why = table_wrong_hit(t, f, query, hits, n);
    for (size_t k = 0; !why && k < n && k < sure; k++)
        if (hits[k].cosine != all[k])
            why = "not the best";
    fumi_resize(query, 0);
    fumi_resize(hits, 0);
    fumi_resize(all, 0);
    return why;
}

#endif
