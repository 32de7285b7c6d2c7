/* Measures durable adds by one thread and by 16 threads, and searches in a store of many notes: of
 * the store, and of the memory with and without the parts of the ranking that can be switched off.
 *
 * Usage: bench_store [NOTES [DIRECTORY [zipf]]]
 * NOTES is the number of notes; default: 100,000. With a DIRECTORY, the store is made there if it
 * is not there yet, adds are not measured, and a table shows what each function of the store costs
 * in a search of the memory. With "zipf", words are as frequent as in English, function words
 * included.
 *
 * The baseline of an add is a write of 4 KiB and an fdatasync, which every durable store needs. */
#include "base/clock.h"
#include "base/uuid.h"
#include "memory/memory_parts.h"
#include "store/sqlite.h"
#include "store/vector.h"
#include "store_stages.h"

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DIM = 384, WORDS = 24, VOCABULARY = 20000, CENTRES = 500, QUERIES = 200, ADDS = 1600 };
enum { SESSION_NOTES = 20, TOP = 10, EMBED_MS = 60000 };
enum {
    ALL_OFF = SEARCH_NO_PIVOT | SEARCH_NO_NAMES | SEARCH_NO_NEIGHBOURS | SEARCH_NO_DATES,
};

/* A search with all parts of the ranking may take this much longer. */
static const double SLOWER = 1.25;

static const struct fumi_log quiet = {.level = FUMI_SILENT};
static const struct embed_config local = {.provider = FUMI_STR("local")};
static const struct filter all = {
    .project = {"bench", 5}, .group = {NULL, 0}, .since = INT64_MIN, .until = INT64_MAX};

struct bench {
    struct store *store;
    struct fumi_str space; /* of the local model, so that a memory finds the vectors */
};

static bool zipf; /* set by the third argument */

/* The most frequent words of English; they are the first ones of the vocabulary with "zipf". */
static const char *const function_words[] = {
    "the",  "of",   "and",   "to",  "a",  "in",   "is",   "it",  "that", "was",  "for",  "on",
    "with", "as",   "be",    "at",  "by", "this", "have", "are", "not",  "but",  "from", "or",
    "an",   "they", "which", "you", "we", "had",  "has",  "his", "were", "will", "been", "their",
};

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

/* The word with number n, from 0, has the frequency 1 / (n + 1) with "zipf". */
static struct fumi_str word(struct dice *d, struct fumi_arena *a)
{
    double u = (double)(roll(d) % 100000 + 1) / 100000;
    size_t n = zipf ? (size_t)pow(5 * VOCABULARY, u) - 1 : (size_t)(VOCABULARY * u * u * u);
    if (zipf && n < FUMI_COUNT(function_words))
        return fumi_str(function_words[n]);
    return fumi_fmt(a, "w%zu", n);
}

/* Random words, of which some are common and most are rare, as in natural language. */
static struct fumi_str text(struct dice *d, struct fumi_arena *a, size_t words)
{
    struct fumi_str s = FUMI_STR("");
    for (size_t i = 0; i < words; i++) {
        struct fumi_str w = word(d, a);
        s = fumi_fmt(a, "%.*s %.*s", FUMI_ARG(s), FUMI_ARG(w));
    }
    return s;
}

static void add(const struct bench *b, struct dice *d, struct fumi_arena *a, const char *session)
{
    struct fumi_err e = {0};
    float *x = fumi_alloc(a, DIM * sizeof(*x));
    char id[FUMI_UUID_SIZE];
    fumi_uuid(id);
    struct note n = {.id = {id, sizeof(id)},
                     .project = FUMI_STR("bench"),
                     .group = FUMI_STR("g"),
                     .text = text(d, a, WORDS),
                     .session = fumi_str(session),
                     .created = {fumi_now(), true}};
    vector(d, x);
    struct passage p = {0, (uint32_t)n.text.n, x};
    struct vectors v = {b->space, DIM, &p, 1};
    if (store_add_note(b->store, a, &n, &(struct note_change){.vectors = &v}, &e)) {
        fprintf(stderr, "bench_store: %s\n", e.text);
        exit(1);
    }
    fumi_arena_reset(a, 1 << 16);
}

struct adder {
    pthread_t thread;
    const struct bench *bench;
    size_t n;
    uint64_t seed;
};

static void *adder(void *arg)
{
    struct adder *w = arg;
    struct fumi_arena a = {0};
    struct dice d = {w->seed};
    for (size_t i = 0; i < w->n; i++) {
        char session[64];
        snprintf(session, sizeof(session), "%" PRIu64 "-%zu", w->seed, i / SESSION_NOTES);
        add(w->bench, &d, &a, session);
    }
    fumi_arena_done(&a);
    return NULL;
}

static double adds_per_second(const struct bench *b, size_t threads, size_t n)
{
    struct adder w[16];
    int64_t began = fumi_ticks();
    for (size_t i = 0; i < threads; i++) {
        w[i] = (struct adder){.bench = b, .n = n / threads, .seed = fumi_ticks() + (int64_t)i};
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

static double middle(double ms[QUERIES])
{
    qsort(ms, QUERIES, sizeof(*ms), by_value);
    return ms[QUERIES / 2];
}

static double once(const struct bench *b, struct dice *d, struct fumi_arena *a, bool by_vector)
{
    struct fumi_err e = {0};
    struct hits h;
    float x[DIM];
    vector(d, x);
    const struct keyword_query words = {.text = text(d, a, 5), .limit = 100};
    struct keyword_hits k;
    int64_t began = fumi_ticks();
    if (by_vector ? store_nearest(b->store, a, &all, b->space, x, DIM, 10, &h, &e)
                  : store_match_keywords(b->store, a, &all, &words, &k, &e))
        exit(1);
    double ms = (double)(fumi_ticks() - began) / 1e6;
    fumi_arena_reset(a, 1 << 20);
    return ms;
}

static double median(const struct bench *b, bool by_vector)
{
    struct fumi_arena a = {0};
    struct dice d = {77};
    double ms[QUERIES];
    for (size_t i = 0; i < QUERIES; i++)
        ms[i] = once(b, &d, &a, by_vector);
    fumi_arena_done(&a);
    return middle(ms);
}

static double first_result(const char *dir, struct fumi_str space)
{
    struct fumi_arena a = {0};
    struct dice d = {5};
    int64_t began = fumi_ticks();
    struct bench b = {open_store(dir, false), space};
    once(&b, &d, &a, true);
    once(&b, &d, &a, false);
    double ms = (double)(fumi_ticks() - began) / 1e6;
    store_close(b.store);
    fumi_arena_done(&a);
    return ms;
}

/* A search of the memory. Returns the time in milliseconds; *used receives the mode. */
static double search_once(struct memory *m, struct fumi_str query, enum search_mode mode,
                          unsigned off, enum search_mode *used)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct search s = {
        .filter = all, .query = query, .top = TOP, .mode = mode, .off = off, .ms = EMBED_MS};
    struct found f;
    int64_t began = fumi_ticks();
    if (memory_search(m, &a, &s, &f, &e)) {
        fprintf(stderr, "bench_store: %s\n", e.text);
        exit(1);
    }
    double ms = (double)(fumi_ticks() - began) / 1e6;
    *used = f.mode;
    fumi_arena_done(&a);
    return ms;
}

/* The queries have a name that many notes contain, four words and a date. */
static void measure_searches(struct memory *m, enum search_mode mode, const char *name, bool judged)
{
    struct fumi_arena a = {0};
    struct dice d = {99};
    double off[QUERIES], on[QUERIES];
    enum search_mode used = mode;
    for (size_t i = 0; i < QUERIES; i++) {
        struct fumi_str q = fumi_fmt(&a, "W0 %.*s last week", FUMI_ARG(text(&d, &a, 4)));
        for (size_t k = i; k < i + 2; k++) /* in turn, because the second search is faster */
            *(k % 2 ? &off[i] : &on[i]) = search_once(m, q, mode, k % 2 ? ALL_OFF : 0, &used);
    }
    fumi_arena_done(&a);
    if (used != mode) {
        printf("%-44s skipped: no model\n", name);
        return;
    }
    double before = middle(off), after = middle(on), ratio = after / before;
    printf("%-44s %8.2f\n%-44s %8.2f  x %.2f %s\n", name, before,
           "  with pivot, names, neighbours and dates", after, ratio,
           !judged           ? ""
           : ratio <= SLOWER ? "met"
                             : "MISSED (x 1.25)");
}

/* What memory.add_note does to name similar notes. */
static void measure_similar(struct memory *m, bool judged)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct dice d = {55};
    double ms[QUERIES];
    for (size_t i = 0; i < QUERIES; i++) {
        struct note n = {
            .id = FUMI_STR("x"), .project = FUMI_STR("bench"), .text = text(&d, &a, WORDS)};
        struct similar_notes found;
        int64_t began = fumi_ticks();
        if (memory_similar(m, &a, &n, &found, &e))
            exit(1);
        ms[i] = (double)(fumi_ticks() - began) / 1e6;
    }
    fumi_arena_done(&a);
    double is = middle(ms);
    printf("%-44s %8.2f  %s\n", "notes similar to a new one", is,
           !judged     ? ""
           : is <= 0.3 ? "met (0.3)"
                       : "MISSED (0.3)");
}

static void measure_memory(const char *dir, size_t n)
{
    struct fumi_err e = {0};
    struct memory_options o = {.store = open_store(dir, false), .embed = local, .log = &quiet};
    struct memory *m = memory_open(&o, &e);
    if (!m) {
        fprintf(stderr, "bench_store: %s\n", e.text);
        exit(1);
    }
    measure_searches(m, SEARCH_WORDS, "search by keywords", n <= 100000);
    measure_searches(m, SEARCH_HYBRID, "hybrid search, query embedded", n <= 100000);
    measure_similar(m, n <= 10000);
    memory_close(m);
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void measure_adds(const char *dir, struct fumi_str space)
{
    struct bench b = {open_store(dir, false), space};
    printf("store: durable adds per second, with keywords and a vector of %d numbers\n", DIM);
    printf("%-44s %8.0f\n", "4 KiB and fdatasync (baseline)", syncs_per_second(dir));
    printf("%-44s %8.0f\n", "add, one thread", adds_per_second(&b, 1, ADDS));
    printf("%-44s %8.0f\n", "add, 16 threads", adds_per_second(&b, 16, 4 * ADDS));
    store_close(b.store);
}

static void fill(const char *dir, struct fumi_str space, size_t threads, size_t n)
{
    struct bench b = {open_store(dir, true), space};
    adds_per_second(&b, threads, n);
    once(&b, &(struct dice){1}, &(struct fumi_arena){0}, true); /* creates the vector cache */
    store_close(b.store);
}

static void measure_store(const char *dir, struct fumi_str space, size_t n)
{
    printf("store of %zu notes: milliseconds\n", n);
    double first = first_result(dir, space);
    printf("%-44s %8.1f  %s\n", "open to first result by vector and keyword", first,
           n > 100000 || first < 30 ? "met" : "MISSED (30)");
    struct bench b = {open_store(dir, false), space};
    once(&b, &(struct dice){1}, &(struct fumi_arena){0}, true);
    printf("%-44s %8.2f\n", "10 nearest vectors, rescored exactly", median(&b, true));
    printf("%-44s %8.2f\n", "100 best by 5 keywords", median(&b, false));
    store_close(b.store);
}

static void query_vector(float *x)
{
    static struct dice d = {78};
    vector(&d, x);
}

static void measure_stages(const char *dir)
{
    struct fumi_err e = {0};
    struct memory_options o = {
        .store = stages_watch(open_store(dir, false), query_vector), .embed = local, .log = &quiet};
    struct memory *m = memory_open(&o, &e);
    struct fumi_arena a = {0};
    struct dice d = {99};
    enum search_mode used;
    double ms[QUERIES];
    if (!m)
        fprintf(stderr, "bench_store: %s\n", e.text), exit(1);
    search_once(m, FUMI_STR("w0"), SEARCH_HYBRID, 0, &used); /* opens the vector cache */
    stages_begin();
    for (size_t i = 0; i < QUERIES; i++) {
        struct fumi_str q = fumi_fmt(&a, "W0 %.*s last week", FUMI_ARG(text(&d, &a, 4)));
        ms[i] = search_once(m, q, SEARCH_HYBRID, 0, &used);
    }
    stages_print(ms, QUERIES);
    fumi_arena_done(&a);
    memory_close(m);
}

static void measure_kept(const char *dir, struct fumi_str space, size_t n)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/memory.db", dir);
    if (access(path, F_OK) != 0)
        fill(dir, space, 16, n);
    measure_store(dir, space, n);
    measure_stages(dir);
}

static void measure_new(struct fumi_str space, size_t n)
{
    char dir[] = "/var/tmp/bench-store-XXXXXX";
    if (!mkdtemp(dir))
        exit(1);
    measure_adds(dir, space);
    fill(dir, space, 1, n > 5 * ADDS ? n - 5 * ADDS : 1);
    measure_store(dir, space, n);
    measure_memory(dir, n);
    nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct space *sp = space_new(&local, &quiet, &e);
    zipf = argc > 3 && strcmp(argv[3], "zipf") == 0;
    if (!sp)
        return 1;
    if (argc > 2)
        measure_kept(argv[2], space_name(sp, &a), n);
    else
        measure_new(space_name(sp, &a), n);
    space_put(sp);
    fumi_arena_done(&a);
    return 0;
}
