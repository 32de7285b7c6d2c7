/* Measures durable adds by one thread and by 16 threads, and searches in a store of many notes.
 *
 * Usage: bench_store [NOTES]      NOTES is the number of notes; default: 100,000
 *
 * The baseline of an add is a write of 4 KiB and an fdatasync, which every durable store needs. */
#include "base/clock.h"
#include "base/uuid.h"
#include "store/sqlite.h"
#include "store/vector.h"

#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DIM = 384, WORDS = 24, VOCABULARY = 20000, CENTRES = 500, QUERIES = 200, ADDS = 1600 };

static const struct fumi_log quiet = {.level = FUMI_SILENT};
static const struct filter all = {
    .project = {"bench", 5}, .group = {NULL, 0}, .since = INT64_MIN, .until = INT64_MAX};

struct dice {
    uint64_t state;
};

static uint32_t roll(struct dice *d)
{
    d->state = d->state * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(d->state >> 33);
}

/* A unit vector near one of CENTRES random centres, like the vectors of texts on the same topic. */
static void vector(struct dice *d, float *x)
{
    struct dice centre = {1000 + roll(d) % CENTRES};
    for (size_t i = 0; i < DIM; i++)
        x[i] = (float)(roll(&centre) % 2001) - 1000 + 0.7F * ((float)(roll(d) % 2001) - 1000);
    vector_normalise(x, DIM);
}

/* Random words, of which some are common and most are rare, as in natural language. */
static struct fumi_str text(struct dice *d, struct fumi_arena *a, size_t words)
{
    struct fumi_str s = FUMI_STR("");
    for (size_t i = 0; i < words; i++) {
        double u = (double)(roll(d) % 100000 + 1) / 100000;
        s = fumi_fmt(a, "%.*s w%d", FUMI_ARG(s), (int)(VOCABULARY * u * u * u));
    }
    return s;
}

static void add(struct store *s, struct dice *d, struct fumi_arena *a)
{
    struct fumi_err e = {0};
    float *x = fumi_alloc(a, DIM * sizeof(*x));
    char id[FUMI_UUID_SIZE];
    fumi_uuid(id);
    struct note n = {.id = {id, sizeof(id)},
                     .project = FUMI_STR("bench"),
                     .group = FUMI_STR("g"),
                     .text = text(d, a, WORDS),
                     .created = {fumi_now(), true}};
    vector(d, x);
    struct passage p = {0, (uint32_t)n.text.n, x};
    struct vectors v = {FUMI_STR("bench:b:384"), DIM, &p, 1};
    if (store_add_note(s, &n, &v, &e)) {
        fprintf(stderr, "bench_store: %s\n", e.text);
        exit(1);
    }
    fumi_arena_reset(a, 1 << 16);
}

struct adder {
    pthread_t thread;
    struct store *store;
    size_t n;
    uint64_t seed;
};

static void *adder(void *arg)
{
    struct adder *w = arg;
    struct fumi_arena a = {0};
    struct dice d = {w->seed};
    for (size_t i = 0; i < w->n; i++)
        add(w->store, &d, &a);
    fumi_arena_done(&a);
    return NULL;
}

static double adds_per_second(struct store *s, size_t threads, size_t n)
{
    struct adder w[16];
    int64_t began = fumi_ticks();
    for (size_t i = 0; i < threads; i++) {
        w[i] = (struct adder){.store = s, .n = n / threads, .seed = fumi_ticks() + (int64_t)i};
        pthread_create(&w[i].thread, NULL, adder, &w[i]);
    }
    for (size_t i = 0; i < threads; i++)
        pthread_join(w[i].thread, NULL);
    return (double)n * 1e9 / (double)(fumi_ticks() - began);
}

static double syncs_per_second(const char *dir)
{
    char path[4096], page[4096] = "";
    snprintf(path, sizeof(path), "%s/sync", dir);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    int64_t began = fumi_ticks();
    for (int i = 0; i < 500; i++)
        if (pwrite(fd, page, sizeof(page), i * 4096L) < 0 || fdatasync(fd))
            exit(1);
    close(fd);
    return 500 * 1e9 / (double)(fumi_ticks() - began);
}

static struct store *open_store(const char *dir, bool nosync)
{
    struct fumi_err e = {0};
    char path[4096];
    snprintf(path, sizeof(path), "%s/memory.db", dir);
    struct store *s = store_sqlite_open(
        &(struct store_sqlite_options){.path = path, .nosync = nosync, .log = &quiet}, &e);
    if (!s)
        fprintf(stderr, "bench_store: %s\n", e.text), exit(1);
    return s;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double once(struct store *s, struct dice *d, struct fumi_arena *a, bool by_vector)
{
    struct fumi_err e = {0};
    struct hits h;
    float x[DIM];
    vector(d, x);
    const struct keyword_query words = {.text = text(d, a, 5), .limit = 100};
    struct keyword_hits k;
    int64_t began = fumi_ticks();
    if (by_vector ? store_nearest(s, a, &all, FUMI_STR("bench:b:384"), x, DIM, 10, &h, &e)
                  : store_match_keywords(s, a, &all, &words, &k, &e))
        exit(1);
    double ms = (double)(fumi_ticks() - began) / 1e6;
    fumi_arena_reset(a, 1 << 20);
    return ms;
}

static double median(struct store *s, bool by_vector)
{
    struct fumi_arena a = {0};
    struct dice d = {77};
    double ms[QUERIES];
    for (size_t i = 0; i < QUERIES; i++)
        ms[i] = once(s, &d, &a, by_vector);
    qsort(ms, QUERIES, sizeof(*ms), by_value);
    fumi_arena_done(&a);
    return ms[QUERIES / 2];
}

static double first_result(const char *dir)
{
    struct fumi_arena a = {0};
    struct dice d = {5};
    int64_t began = fumi_ticks();
    struct store *s = open_store(dir, false);
    once(s, &d, &a, true);
    once(s, &d, &a, false);
    double ms = (double)(fumi_ticks() - began) / 1e6;
    store_close(s);
    fumi_arena_done(&a);
    return ms;
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

int main(int argc, char **argv)
{
    char dir[] = "/var/tmp/bench-store-XXXXXX";
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    if (!mkdtemp(dir))
        return 1;
    struct store *s = open_store(dir, false);
    printf("store: durable adds per second, with keywords and a vector of %d numbers\n", DIM);
    printf("%-44s %8.0f\n", "4 KiB and fdatasync (baseline)", syncs_per_second(dir));
    printf("%-44s %8.0f\n", "add, one thread", adds_per_second(s, 1, ADDS));
    printf("%-44s %8.0f\n", "add, 16 threads", adds_per_second(s, 16, 4 * ADDS));
    store_close(s);
    s = open_store(dir, true);
    adds_per_second(s, 1, n > 5 * ADDS ? n - 5 * ADDS : 1);
    once(s, &(struct dice){1}, &(struct fumi_arena){0}, true); /* creates the vector cache */
    store_close(s);
    printf("store of %zu notes: milliseconds\n", n);
    double first = first_result(dir);
    printf("%-44s %8.1f  %s\n", "open to first result by vector and keyword", first,
           n > 100000 || first < 30 ? "met" : "MISSED (30)");
    s = open_store(dir, false);
    once(s, &(struct dice){1}, &(struct fumi_arena){0}, true);
    printf("%-44s %8.2f\n", "10 nearest vectors, rescored exactly", median(s, true));
    printf("%-44s %8.2f\n", "100 best by 5 keywords", median(s, false));
    store_close(s);
    nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}
