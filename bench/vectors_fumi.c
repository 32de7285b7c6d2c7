/* The vector scan, with the best 40 rows rescored from the float vectors, as the store does. */
#include "base/arena.h"
#include "store/scan.h"
#include "store/vector.h"
#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>

enum { WIDE = 100, RESCORED = 40, CHANGE = 1 };

struct scan_engine {
    const struct vector_set *set;
    struct scan *scan;
};

static int read_all(void *arg, struct scan_piece *p, scan_note_fn *note, scan_put_fn *put, void *to,
                    struct fumi_err *e)
{
    const struct vector_set *s = arg;
    (void)note;
    p->change = CHANGE;
    p->last = INT64_MAX;
    for (size_t i = 0; p->upto != INT64_MAX && i < s->n; i++) {
        struct scan_row row = {.note = (int64_t)i,
                               .vector = (int64_t)i + 1,
                               .created = (int64_t)i,
                               .tag_set = s->tag_set[i],
                               .x = s->x + i * DIM};
        if (put(to, &row, e))
            return -1;
    }
    return 0;
}

static void *open_scan(const struct vector_set *s, const char *file)
{
    struct fumi_err e = {0};
    struct scan_source source = {read_all, (void *)s};
    struct fumi_log log = {.level = FUMI_WARN};
    struct scan_engine *o = fumi_resize(NULL, sizeof(*o));
    *o = (struct scan_engine){s, scan_open(file, FUMI_STR("bench"), DIM, &source, &log, &e)};
    if (!o->scan || scan_refresh(o->scan, CHANGE, INT64_C(600000), &e)) {
        fprintf(stderr, "bench_vectors: %s\n", e.text);
        exit(1);
    }
    return o;
}

static void close_scan(void *h)
{
    struct scan_engine *o = h;
    scan_close(o->scan);
    fumi_resize(o, 0);
}

static void build(const struct vector_set *s, const char *file)
{
    close_scan(open_scan(s, file));
}

static int by_cosine(const void *a, const void *b)
{
    float x = ((const struct scan_hit *)a)->cosine, y = ((const struct scan_hit *)b)->cosine;
    return (x < y) - (x > y);
}

static size_t search(void *h, const float *query, uint32_t below, size_t effort, int64_t *out)
{
    (void)effort;
    struct scan_engine *o = h;
    struct scan_hit hits[WIDE];
    uint64_t tag_sets[(TAG_SETS + 63) / 64] = {0};
    for (uint32_t p = 0; p < below; p++)
        tag_sets[p / 64] |= (uint64_t)1 << p % 64;
    struct scan_filter f = {.tag_sets = below < TAG_SETS ? tag_sets : NULL,
                            .tag_sets_n = TAG_SETS,
                            .since = INT64_MIN,
                            .until = INT64_MAX};
    size_t n = scan_nearest(o->scan, &f, query, WIDE, hits);
    n = n < RESCORED ? n : RESCORED;
    for (size_t i = 0; i < n; i++)
        hits[i].cosine = vector_dot(query, o->set->x + (size_t)(hits[i].vector - 1) * DIM, DIM);
    qsort(hits, n, sizeof(hits[0]), by_cosine);
    n = n < ANSWERS ? n : ANSWERS;
    for (size_t i = 0; i < n; i++)
        out[i] = hits[i].vector - 1;
    return n;
}

const struct engine engine_fumi = {"fumi", 1, build, open_scan, search, close_scan};
