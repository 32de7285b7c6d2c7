/* Compares the vector scan with sqlite-vec and hnswlib on the same vectors of 384 dimensions, in
 * one run.
 *
 * Each engine builds its file in one process. A second process opens the file, runs a first query
 * ("start" is the time until its result) and then all queries: without a filter, and with filters
 * that 10 % and 1 % of the vectors pass. Recall is measured against the exact result. An engine
 * that trades time for recall runs with the least effort that reaches the goal, or with its
 * greatest.
 *
 * Usage: bench_vectors VEC0 [--all] [ROWS...]
 *
 * VEC0 is the path of the sqlite-vec extension; "-" omits sqlite-vec. --all also builds the
 * hnswlib graph of a million rows, which takes many minutes. The files are created in TMPDIR. */
#include "store/vector.h"
#include "vectors.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { QUERIES = 200, FILTERS = 3, ENGINES = 3, MANY = 300000, BUDGET_MS = 20000 };
static const double goal = 0.999;

static const struct {
    const char *name;
    uint32_t below;
} filters[FILTERS] = {{"none", TAG_SETS}, {"10 %", TAG_SETS / 10}, {"1 %", TAG_SETS / 100}};
static const struct engine *const engines[ENGINES] = {&engine_fumi, &engine_sqlite_vec,
                                                      &engine_hnsw};

enum set_kind { CLUSTERED, NOISY, KINDS };
static const char *const kinds[KINDS] = {
    [CLUSTERED] = "clustered: the ten best are close to the query",
    [NOISY] = "noisy: a query lies among the vectors of its topic, as texts do",
};

const char *vec0_path;

struct truth {
    float last[QUERIES][FILTERS]; /* the dot product of the tenth best vector */
};

struct measure {
    double p50[FILTERS], recall[FILTERS]; /* milliseconds */
    double start;                         /* milliseconds */
    double memory, file;                  /* MB */
};

static void die(const char *what)
{
    fprintf(stderr, "bench_vectors: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static uint64_t next(uint64_t *seed)
{
    uint64_t x = *seed += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Approximately normal: the popcount of a random word, plus a uniform fraction. */
static float normal(uint64_t *seed)
{
    uint64_t r = next(seed);
    float sum = (float)__builtin_popcountll(r) - 32 + (float)(next(seed) >> 40) / (1 << 24) - 0.5f;
    return sum / 4;
}

/* Adds a random vector of about the given length. In the noisy set later dimensions are weaker,
 * as in learned vectors. */
static void add(float *x, enum set_kind kind, float length, uint64_t seed)
{
    for (size_t i = 0; i < DIM; i++) {
        float weight = kind == NOISY ? 1.6f / (1 + (float)i / 128) : 1;
        x[i] += normal(&seed) * weight * length / sqrtf(DIM);
    }
}

static const struct {
    float common, topic,
        own;     /* lengths of the part common to all, of the topic, of the vector itself */
    size_t each; /* vectors per topic */
} mixes[KINDS] = {
    [CLUSTERED] = {0, 1, 0.6f, 100},
    [NOISY] = {0.3f, 0.8f, 1, 300},
};

static void make(float *x, enum set_kind kind, uint64_t topic, uint64_t own)
{
    memset(x, 0, DIM * sizeof(*x));
    add(x, kind, mixes[kind].common, 1);
    add(x, kind, mixes[kind].topic, topic * 2654435761u + 7);
    add(x, kind, mixes[kind].own, own * 11400714819323198485u + 13);
    vector_normalise(x, DIM);
}

static void *shared(const char *file, size_t size)
{
    int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size))
        die(file);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        die("mmap");
    close(fd);
    return p;
}

static size_t set_size(size_t n)
{
    return (n + QUERIES) * DIM * sizeof(float) + n * sizeof(uint32_t);
}

static struct vector_set set_make(const char *file, size_t n, enum set_kind kind)
{
    float *x = shared(file, set_size(n)), *query = x + n * DIM;
    uint32_t *tag_set = (uint32_t *)(query + QUERIES * DIM);
    uint64_t seed = 42, topics = n / mixes[kind].each + 1;
    for (size_t i = 0; i < n; i++) {
        make(x + i * DIM, kind, next(&seed) % topics, i);
        tag_set[i] = (uint32_t)(next(&seed) % TAG_SETS);
    }
    for (size_t i = 0; i < QUERIES; i++)
        make(query + i * DIM, kind, next(&seed) % topics, n + i);
    return (struct vector_set){n, QUERIES, x, query, tag_set};
}

static void keep_best(float *best, float product)
{
    if (product <= best[ANSWERS - 1])
        return;
    size_t i = ANSWERS - 1;
    for (; i && best[i - 1] < product; i--)
        best[i] = best[i - 1];
    best[i] = product;
}

static void find_truth(const struct vector_set *s, size_t q, struct truth *t)
{
    float best[FILTERS][ANSWERS];
    for (size_t f = 0; f < FILTERS; f++)
        for (size_t i = 0; i < ANSWERS; i++)
            best[f][i] = -2;
    for (size_t i = 0; i < s->n; i++) {
        float product = vector_dot(s->query + q * DIM, s->x + i * DIM, DIM);
        for (size_t f = 0; f < FILTERS; f++)
            if (s->tag_set[i] < filters[f].below)
                keep_best(best[f], product);
    }
    for (size_t f = 0; f < FILTERS; f++)
        t->last[q][f] = best[f][ANSWERS - 1];
}

static size_t count_correct(const struct vector_set *s, const struct truth *t, size_t q, size_t f,
                            const int64_t *ids, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        float product = vector_dot(s->query + q * DIM, s->x + (size_t)ids[i] * DIM, DIM);
        sum += s->tag_set[ids[i]] < filters[f].below && product >= t->last[q][f] - 1e-6f;
    }
    return sum;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct engine_run {
    const struct engine *engine;
    const struct vector_set *set;
    const struct truth *truth;
    void *handle;
};

/* Runs all queries once, or as many as fit into the time budget. */
static void run_queries(const struct engine_run *r, size_t f, size_t effort, struct measure *m)
{
    static double times[QUERIES];
    double begin = now();
    size_t good = 0, q = 0;
    for (; q < QUERIES && (q < 5 || now() - begin < BUDGET_MS); q++) {
        int64_t ids[ANSWERS];
        double then = now();
        size_t n = r->engine->search(r->handle, r->set->query + q * DIM, filters[f].below, effort,
                                     ids);
        times[q] = now() - then;
        good += count_correct(r->set, r->truth, q, f, ids, n);
    }
    qsort(times, q, sizeof(times[0]), by_size);
    m->p50[f] = times[q / 2];
    m->recall[f] = (double)good / (double)(q * ANSWERS);
}

static double resident(void)
{
    unsigned long all = 0, here = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%lu %lu", &all, &here) != 2)
        die("statm");
    fclose(f);
    return (double)here * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static void measure(struct engine_run *r, const char *file, struct measure *m)
{
    int64_t ids[ANSWERS];
    double before = resident(), begin = now();
    r->handle = r->engine->open(r->set, file);
    r->engine->search(r->handle, r->set->query, TAG_SETS, 0, ids);
    m->start = now() - begin;
    for (size_t f = 0; f < FILTERS; f++) {
        size_t effort = 0;
        do
            run_queries(r, f, effort, m);
        while (m->recall[f] < goal && ++effort < r->engine->efforts);
    }
    /* The float vectors do not count: a store would read them from its database. */
    madvise((void *)r->set->x, set_size(r->set->n), MADV_DONTNEED);
    m->memory = resident() - before;
    r->engine->close(r->handle);
}

/* Runs in a process of its own, so that caches and memory of one engine do not affect the next. */
static void in_child(struct engine_run *r, const char *file, struct measure *m)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        if (m)
            measure(r, file, m);
        else
            r->engine->build(r->set, file);
        _exit(0);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid || status)
        die(r->engine->name);
}

static double file_size(const char *file)
{
    FILE *f = fopen(file, "r");
    if (!f || fseek(f, 0, SEEK_END))
        die(file);
    double size = (double)ftell(f) / 1e6;
    fclose(f);
    return size;
}

static void print_row(const char *name, const struct measure *m, double build)
{
    printf("  %-11s %8.1f s %8.1f MB %8.1f MB %8.1f ms  ", name, build / 1e3, m->file, m->memory,
           m->start);
    for (size_t f = 0; f < FILTERS; f++)
        printf("  %8.3f ms %.4f", m->p50[f], m->recall[f]);
    printf("\n");
}

static const char *why_omitted(const struct engine *engine, size_t n, bool all)
{
    if (engine == &engine_hnsw && n >= MANY && !all)
        return "its graph takes long to build; use --all";
    return engine == &engine_sqlite_vec && strcmp(vec0_path, "-") == 0 ? "not installed" : NULL;
}

static void compare(const struct vector_set *s, const struct truth *t, const char *dir, bool all,
                    struct measure *out)
{
    for (size_t i = 0; i < ENGINES; i++) {
        char file[4200];
        struct engine_run r = {engines[i], s, t, NULL};
        const char *why = why_omitted(engines[i], s->n, all);
        out[i].start = -1;
        if (why) {
            printf("  %-11s omitted: %s\n", engines[i]->name, why);
            continue;
        }
        snprintf(file, sizeof(file), "%s/%s", dir, engines[i]->name);
        double begin = now();
        in_child(&r, file, NULL);
        double built = now() - begin;
        out[i].file = file_size(file);
        in_child(&r, file, &out[i]);
        print_row(engines[i]->name, &out[i], built);
        unlink(file);
    }
}

static void target(const char *what, double got, double want, bool less)
{
    bool met = less ? got <= want : got >= want;
    printf("  %s: %.4g, goal %s %.4g: %s\n", what, got, less ? "at most" : "at least", want,
           met ? "met" : "MISSED");
}

static void targets(const struct measure *m, size_t n)
{
    for (size_t f = 0; f < FILTERS; f++)
        target("fumi, recall@10", m[0].recall[f], goal, false);
    if (n != 100000)
        return;
    target("fumi, ms per query", m[0].p50[0], 1, true);
    target("fumi, ms from start to first result", m[0].start, 10, true);
    if (m[1].start >= 0)
        target("speed relative to sqlite-vec", m[1].p50[0] / m[0].p50[0], 10, false);
    target("speed relative to hnswlib, 1 % filter", m[2].p50[2] / m[0].p50[2], 5, false);
}

static void table(const char *dir, size_t n, enum set_kind kind, bool all)
{
    char file[4200];
    snprintf(file, sizeof(file), "%s/set", dir);
    struct vector_set s = set_make(file, n, kind);
    struct truth *t = malloc(sizeof(*t));
    struct measure *m = mmap(NULL, ENGINES * sizeof(*m), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!t || m == MAP_FAILED)
        die("memory");
    for (size_t q = 0; q < QUERIES; q++)
        find_truth(&s, q, t);
    printf("\n%zu vectors, %s\n  %-11s %10s %11s %11s %11s  ", n, kinds[kind], "", "build", "file",
           "memory", "start");
    for (size_t f = 0; f < FILTERS; f++)
        printf("  filter %-4s recall", filters[f].name);
    printf("\n");
    compare(&s, t, dir, all, m);
    targets(m, n);
    munmap(m, ENGINES * sizeof(*m));
    munmap((void *)s.x, set_size(n));
    unlink(file);
    free(t);
}

int main(int argc, char **argv)
{
    static const char *const default_sizes[] = {"10000", "100000", "1000000"};
    char dir[4096];
    bool all = argc > 2 && strcmp(argv[2], "--all") == 0;
    int first = all ? 3 : 2;
    if (argc < 2) {
        fprintf(stderr, "usage: bench_vectors VEC0 [--all] [ROWS...]\n");
        return 2;
    }
    vec0_path = argv[1];
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof(dir), "%s/bench_vectors.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        die(dir);
    const char *const *sizes = argc > first ? (const char *const *)argv + first : default_sizes;
    size_t n = argc > first ? (size_t)(argc - first)
                            : sizeof(default_sizes) / sizeof(default_sizes[0]);
    for (size_t i = 0; i < n; i++)
        for (enum set_kind k = 0; k < KINDS; k++)
            table(dir, strtoul(sizes[i], NULL, 10), k, all);
    rmdir(dir);
    return 0;
}
