/* Measures the quality of search on published data sets. DIRECTORY contains, for each set,
 * NAME.docs.jsonl and NAME.queries.jsonl, and NAME.sts.jsonl for pairs of sentences.
 *
 * Usage: eval DIRECTORY [QUERIES]      QUERIES limits the number of queries per set
 *
 * Recall@k (R@k) is the share of the relevant documents among the first k results. MRR is the
 * mean of 1 / rank of the first relevant result. Both are averaged over all queries. STS is
 * Spearman's rank correlation of cosine and human judgement. All figures are in percent. Targets
 * are printed as met or MISSED. */
#include "base/clock.h"
#include "embed/model.h"
#include "memory/memory.h"
#include "store/sqlite.h"
#include "json/json.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TOP = 10, RELEVANT_MAX = 64 };

static const struct fumi_log quiet = {.level = FUMI_SILENT};

/* Target figures of a set; 0: none. */
struct figures {
    double r5, r10, mrr;
};

static const struct eval_set {
    const char *name;
    struct figures words, hybrid;
} sets[] = {
    {"cran", {30.5, 40.1, 52.3}, {32.8, 45.3, 56.1}},
    {"jsquad", {0, 0, 0}, {0, 0, 0}},
};

static const char *const modes[] = {
    [SEARCH_HYBRID] = "hybrid", [SEARCH_MEANING] = "meaning", [SEARCH_WORDS] = "words"};

static void die(const char *what, const struct fumi_err *e)
{
    fprintf(stderr, "eval: %s: %s\n", what, e ? e->text : "failed");
    exit(1);
}

/* Calls `each` for every line of a file, parsed as JSON into an arena that is reset after the
 * call. */
static size_t each_line(const char *dir, const char *name, const char *kind, size_t most,
                        void (*each)(void *arg, struct fumi_arena *a, const struct fumi_val *row),
                        void *arg)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    char path[4096], *line = NULL;
    size_t capacity = 0, n = 0;
    ssize_t got;
    snprintf(path, sizeof(path), "%s/%s.%s.jsonl", dir, name, kind);
    FILE *f = fopen(path, "r");
    if (!f) {
        fprintf(stderr, "eval: cannot open %s\n", path);
        exit(1);
    }
    while (n < most && (got = getline(&line, &capacity, f)) > 0) {
        const struct fumi_val *row = fumi_parse(&a, (struct fumi_str){line, (size_t)got}, &e);
        if (!row)
            die(path, &e);
        each(arg, &a, row);
        n++;
        fumi_arena_reset(&a, 1 << 20);
    }
    free(line);
    fclose(f);
    fumi_arena_done(&a);
    return n;
}

static struct memory *open_memory(const char *dir, const char *name)
{
    struct fumi_err e = {0};
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.db", dir, name);
    struct memory_options o = {
        .store = store_sqlite_open(
            &(struct store_sqlite_options){.path = path, .nosync = true, .log = &quiet}, &e),
        .embed = {.provider = FUMI_STR("local")},
        .log = &quiet,
    };
    struct memory *m = o.store ? memory_open(&o, &e) : NULL;
    if (!m)
        die(path, &e);
    return m;
}

static void add(void *arg, struct fumi_arena *a, const struct fumi_val *row)
{
    struct fumi_err e = {0};
    struct written w;
    struct note n = {.id = fumi_text(a, fumi_get(row, "id")),
                     .project = FUMI_STR("eval"),
                     .group = FUMI_STR("g"),
                     .text = fumi_text(a, fumi_get(row, "text"))};
    if (!n.text.n)
        return; /* Cranfield contains two empty abstracts */
    if (memory_add(arg, a, &n, 60000, &w, &e) || w.pending)
        die("add", &e);
}

struct query_run {
    struct memory *m;
    enum search_mode mode;
    size_t n;
    struct figures sum;
    int64_t ticks;
};

static bool is_relevant(const struct fumi_val *rel, struct fumi_str id)
{
    for (const struct fumi_val *r = fumi_first(rel); r; r = fumi_after(rel, r))
        if (fumi_text_is(r, id))
            return true;
    return false;
}

static void run_query(void *arg, struct fumi_arena *a, const struct fumi_val *row)
{
    struct query_run *q = arg;
    struct fumi_err e = {0};
    const struct fumi_val *rel = fumi_get(row, "rel");
    struct search s = {
        .filter = {.project = FUMI_STR("eval"), .since = INT64_MIN, .until = INT64_MAX},
        .query = fumi_text(a, fumi_get(row, "text")),
        .top = TOP,
        .mode = q->mode,
        .ms = 60000};
    struct found f;
    double hits = 0, first = 0;
    int64_t began = fumi_ticks();
    if (memory_search(q->m, a, &s, &f, &e))
        die("search", &e);
    q->ticks += fumi_ticks() - began;
    for (size_t i = 0; i < f.results.n; i++) {
        bool good = is_relevant(rel, f.results.items[i].note.id);
        hits += good;
        if (good && first == 0)
            first = 1.0 / (double)(i + 1);
        if (i == 4)
            q->sum.r5 += hits / (double)fumi_size(rel);
    }
    if (f.results.n < 5)
        q->sum.r5 += hits / (double)fumi_size(rel);
    q->sum.r10 += hits / (double)fumi_size(rel);
    q->sum.mrr += first;
    q->n++;
}

static const char *verdict(struct figures got, struct figures want)
{
    if (want.r5 == 0)
        return "";
    const double half = 0.05; /* the targets are rounded */
    bool met = got.r5 >= want.r5 - half && got.r10 >= want.r10 - half && got.mrr >= want.mrr - half;
    return met ? "  met" : "  MISSED";
}

static struct figures measure(struct memory *m, const char *dir, const struct eval_set *set,
                              enum search_mode mode, size_t most)
{
    struct query_run q = {.m = m, .mode = mode};
    each_line(dir, set->name, "queries", most, run_query, &q);
    double n = (double)q.n / 100;
    struct figures f = {q.sum.r5 / n, q.sum.r10 / n, q.sum.mrr / n};
    struct figures none = {0, 0, 0};
    printf("%-8s %-8s %7.1f %7.1f %7.1f %8.2f%s\n", set->name, modes[mode], f.r5, f.r10, f.mrr,
           (double)q.ticks / 1e6 / (double)q.n,
           verdict(f, mode == SEARCH_WORDS    ? set->words
                      : mode == SEARCH_HYBRID ? set->hybrid
                                              : none));
    fflush(stdout);
    return f;
}

static void measure_set(const char *dir, const char *work, const struct eval_set *set, size_t most)
{
    struct memory *m = open_memory(work, set->name);
    int64_t began = fumi_ticks();
    size_t n = each_line(dir, set->name, "docs", SIZE_MAX, add, m);
    fprintf(stderr, "%s: %zu documents in %.1f s\n", set->name, n,
            (double)(fumi_ticks() - began) / 1e9);
    struct figures w = measure(m, dir, set, SEARCH_WORDS, most);
    struct figures v = measure(m, dir, set, SEARCH_MEANING, most);
    struct figures h = measure(m, dir, set, SEARCH_HYBRID, most);
    bool best = h.r10 >= w.r10 && h.r10 >= v.r10 && h.mrr >= w.mrr && h.mrr >= v.mrr &&
                h.r5 >= w.r5 && h.r5 >= v.r5;
    printf("%-8s hybrid at least as good as either part: %s\n", set->name, best ? "met" : "MISSED");
    memory_close(m);
}

struct eval_pair {
    double cosine, human;
};

struct eval_pairs {
    struct embedder *embedder;
    struct eval_pair *items;
    size_t n, capacity;
};

static void judge(void *arg, struct fumi_arena *a, const struct fumi_val *row)
{
    struct eval_pairs *p = arg;
    struct fumi_err e = {0};
    struct fumi_str two[] = {fumi_text(a, fumi_get(row, "a")), fumi_text(a, fumi_get(row, "b"))};
    float *x;
    double human = 0, dot = 0;
    if (p->embedder->ops->embed(p->embedder, a, two, 2, 60000, &x, &e))
        die("embed", &e);
    fumi_real(fumi_get(row, "score"), &human);
    for (size_t i = 0; i < p->embedder->dim; i++)
        dot += (double)x[i] * (double)x[p->embedder->dim + i];
    if (p->n == p->capacity)
        p->items = fumi_resize(p->items,
                               (p->capacity = p->capacity * 2 + 256) * sizeof(struct eval_pair));
    p->items[p->n++] = (struct eval_pair){dot, human};
}

/* Ranks of one member; equal values get their mean rank. */
static const struct eval_pair *sorting;
static size_t sorting_member;

static double member(size_t i)
{
    return sorting_member ? sorting[i].human : sorting[i].cosine;
}

static int by_member(const void *x, const void *y)
{
    double a = member(*(const size_t *)x), b = member(*(const size_t *)y);
    return (a > b) - (a < b);
}

static double *ranks(const struct eval_pairs *p, size_t which)
{
    size_t *order = malloc(p->n * sizeof(*order));
    double *rank = malloc(p->n * sizeof(*rank));
    sorting = p->items, sorting_member = which;
    for (size_t i = 0; i < p->n; i++)
        order[i] = i;
    qsort(order, p->n, sizeof(*order), by_member);
    for (size_t i = 0, j; i < p->n; i = j) {
        for (j = i; j < p->n && member(order[j]) == member(order[i]); j++) {}
        for (size_t k = i; k < j; k++)
            rank[order[k]] = (double)(i + j - 1) / 2;
    }
    free(order);
    return rank;
}

static double spearman(const struct eval_pairs *p)
{
    double *x = ranks(p, 0), *y = ranks(p, 1), mean = (double)(p->n - 1) / 2;
    double xy = 0, xx = 0, yy = 0;
    for (size_t i = 0; i < p->n; i++) {
        xy += (x[i] - mean) * (y[i] - mean);
        xx += (x[i] - mean) * (x[i] - mean);
        yy += (y[i] - mean) * (y[i] - mean);
    }
    free(x);
    free(y);
    return 100 * xy / sqrt(xx * yy);
}

static void measure_pairs(const char *dir, const char *name)
{
    struct fumi_err e = {0};
    struct eval_pairs p = {
        .embedder = embed_open(&(struct embed_config){.provider = FUMI_STR("local")}, &quiet, &e)};
    if (!p.embedder)
        die("embedder", &e);
    each_line(dir, name, "sts", SIZE_MAX, judge, &p);
    printf("%-8s STS %.1f (%zu pairs)\n", name, spearman(&p), p.n);
    p.embedder->ops->free(p.embedder);
    fumi_resize(p.items, 0);
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

int main(int argc, char **argv)
{
    char work[] = "/tmp/fumi-eval-XXXXXX";
    size_t most = argc > 2 ? strtoul(argv[2], NULL, 10) : SIZE_MAX;
    if (argc < 2 || !mkdtemp(work)) {
        fprintf(stderr, "usage: eval DIRECTORY [QUERIES]\n");
        return 2;
    }
    printf("set      mode         R@5    R@10     MRR ms/query\n");
    for (size_t i = 0; i < FUMI_COUNT(sets); i++)
        measure_set(argv[1], work, &sets[i], most);
    measure_pairs(argv[1], "stsb-en");
    measure_pairs(argv[1], "jsts");
    nftw(work, drop, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}
