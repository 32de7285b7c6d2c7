#include "store_stages.h"

#include "base/arena.h"
#include "store/store_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STAGES(STAGE)                                                                              \
    STAGE(count_notes)                                                                             \
    STAGE(match_keywords)                                                                          \
    STAGE(nearest)                                                                                 \
    STAGE(score_vectors)                                                                           \
    STAGE(neighbours)                                                                              \
    STAGE(embedding_progress)                                                                      \
    STAGE(load_heads)                                                                              \
    STAGE(load_notes)

#define STAGE_NUMBER(name) AT_##name,
#define STAGE_NAME(name)   #name,
enum { STAGES(STAGE_NUMBER) N_STAGES };
static const char *const names[] = {STAGES(STAGE_NAME)};

static const struct store_ops *plain;
static struct store_ops watched;
static void (*near_some)(float *x);
static double sums[N_STAGES], before; /* milliseconds */

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int add(int stage, double began, int rc)
{
    sums[stage] += cpu() - began;
    return rc;
}

#define WATCHED(name, ...)                                                                         \
    double began = cpu();                                                                          \
    return add(AT_##name, began, plain->name(__VA_ARGS__))

static int count_notes(struct store *s, const struct filter *f, struct filtered *out,
                       struct fumi_err *e)
{
    WATCHED(count_notes, s, f, out, e);
}

static int match_keywords(struct store *s, struct fumi_arena *a, const struct filter *f,
                          const struct keyword_query *q, struct keyword_hits *out,
                          struct fumi_err *e)
{
    WATCHED(match_keywords, s, a, f, q, out, e);
}

static int nearest(struct store *s, struct fumi_arena *a, const struct filter *f,
                   struct fumi_str space, const float *query, size_t dim, size_t limit,
                   struct hits *out, struct fumi_err *e)
{
    float *x = fumi_alloc(a, dim * sizeof(*x));
    (void)query;
    near_some(x);
    WATCHED(nearest, s, a, f, space, x, dim, limit, out, e);
}

static int score_vectors(struct store *s, struct fumi_arena *a, struct fumi_str space,
                         const float *query, size_t dim, const int64_t *seqs, size_t n,
                         struct hits *out, struct fumi_err *e)
{
    WATCHED(score_vectors, s, a, space, query, dim, seqs, n, out, e);
}

static int neighbours(struct store *s, struct fumi_arena *a, const int64_t *seqs, size_t n,
                      struct neighbours *out, struct fumi_err *e)
{
    WATCHED(neighbours, s, a, seqs, n, out, e);
}

static int embedding_progress(struct store *s, struct fumi_str space, int64_t *have, int64_t *all,
                              struct fumi_err *e)
{
    WATCHED(embedding_progress, s, space, have, all, e);
}

static int load_heads(struct store *s, struct fumi_arena *a, const int64_t *seqs, size_t n,
                      struct notes *out, struct fumi_err *e)
{
    WATCHED(load_heads, s, a, seqs, n, out, e);
}

static int load_notes(struct store *s, const struct loading *to, const int64_t *seqs, size_t n,
                      struct notes *out, struct fumi_err *e)
{
    WATCHED(load_notes, s, to, seqs, n, out, e);
}

struct store *stages_watch(struct store *s, void (*make)(float *x))
{
#define WATCH(name) watched.name = name;
    near_some = make;
    plain = s->ops;
    watched = *plain;
    STAGES(WATCH)
    s->ops = &watched;
    return s;
}

void stages_begin(void)
{
    for (int i = 0; i < N_STAGES; i++)
        sums[i] = 0;
    before = cpu();
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

void stages_print(double *ms, size_t n)
{
    double all = (cpu() - before) / (double)n, rest = all;
    qsort(ms, n, sizeof(*ms), by_value);
    printf("hybrid search: p50 %.2f, p99 %.2f; milliseconds of CPU per search: %.2f, of which\n",
           ms[n / 2], ms[n * 99 / 100], all);
    for (int i = 0; i < N_STAGES; i++) {
        rest -= sums[i] / (double)n;
        printf("  %-42s %8.2f\n", names[i], sums[i] / (double)n);
    }
    printf("  %-42s %8.2f\n", "query embedded, and the rest", rest);
}
