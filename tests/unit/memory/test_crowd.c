/* Searches in a project while many other notes are added, to another project or to the same one.
 * The notes are generated; their vectors are those of the provider. */
#include "fake_provider.h"
#include "memory/memory.h"
#include "store/sqlite.h"
#include "store/vector.h"
#include "test.h"

#include <ftw.h>

enum {
    EMBED_MS = 10000,
    CACHE_MS = 600000, /* searches wait until the vector cache has all notes */
    DIM = 64,
    VOCABULARY = 600,
    NOTES = 300,
    OTHERS = 20000,
    QUERIES = 40,
    TOP = 10,
    TOPICS = 40,
    CROWD = 4000,
};

static const struct fumi_log quiet = {.level = FUMI_SILENT};

struct fixture {
    struct fumi_arena a, note; /* the second one is reset with each note */
    char dir[64];
    struct fake *fake;
    struct memory *m;
    struct fumi_str space;
    uint64_t dice;
    struct fumi_err e;
};

static uint32_t roll(struct fixture *t, uint32_t below)
{
    t->dice = t->dice * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(t->dice >> 33) % below;
}

/* Words from a vocabulary, some common and most rare. */
static struct fumi_str words(struct fixture *t, struct fumi_arena *a, size_t n)
{
    struct fumi_buf b = {0};
    for (size_t i = 0; i < n; i++) {
        char word[16];
        uint32_t x = roll(t, VOCABULARY), y = roll(t, VOCABULARY);
        snprintf(word, sizeof(word), "w%u ", x * y / VOCABULARY);
        fumi_buf_add(&b, word, strlen(word));
    }
    return fumi_buf_keep(&b, a);
}

static bool store_note(struct fixture *t, const char *project, struct fumi_str id,
                       struct fumi_str text)
{
    float x[DIM];
    fake_vector(text, x, DIM);
    vector_normalise(x, DIM);
    struct passage p = {0, (uint32_t)text.n, x};
    struct vectors v = {t->space, DIM, &p, 1};
    struct note n = {.id = id,
                     .project = fumi_str(project),
                     .group = FUMI_STR("g"),
                     .text = text,
                     .created = {1, true}};
    return !store_add_note(memory_store(t->m), &t->a, &n,
                           &(struct note_change){.vectors = &v, .allow_duplicate = true}, &t->e);
}

/* Notes of 3 to `longest` words. */
static bool store_notes(struct fixture *t, const char *project, size_t n, uint32_t longest)
{
    bool stored = true;
    for (size_t i = 0; i < n && stored; i++) {
        struct fumi_str id = fumi_fmt(&t->note, "%s-%zu", project, i);
        stored = store_note(t, project, id, words(t, &t->note, 3 + roll(t, longest - 2)));
        fumi_arena_reset(&t->note, 1 << 16);
    }
    return stored;
}

static bool begin(struct fixture *t)
{
    struct written w = {.pending = false};
    *t = (struct fixture){.dir = "/tmp/test-crowd-XXXXXX", .dice = 1};
    t->fake = fake_start(0);
    if (!t->fake || !mkdtemp(t->dir))
        return false;
    atomic_store(&t->fake->dim, DIM);
    struct fumi_str path = fumi_fmt(&t->a, "%s/memory.db", t->dir);
    struct memory_options o = {
        .store = store_sqlite_open(
            &(struct store_sqlite_options){
                .path = path.p, .nosync = true, .log = &quiet, .patience = CACHE_MS},
            &t->e),
        .embed = {.provider = FUMI_STR("openai"),
                  .model = FUMI_STR("m"),
                  .base_url = fumi_fmt(&t->a, "http://127.0.0.1:%d/v1", t->fake->port),
                  .api_key = FUMI_STR("sk-test-key")},
        .log = &quiet,
    };
    t->m = o.store ? memory_open(&o, &t->e) : NULL;
    struct note first = {
        .project = FUMI_STR("first"), .group = FUMI_STR("g"), .text = FUMI_STR("first")};
    if (!t->m || memory_add(t->m, &t->a, &first, EMBED_MS, &w, &t->e) || w.pending)
        return false;
    t->space = memory_space(t->m, &t->a);
    return true;
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void end(struct fixture *t)
{
    memory_close(t->m);
    fake_stop(t->fake);
    nftw(t->dir, drop, 8, FTW_DEPTH | FTW_PHYS);
    fumi_arena_done(&t->note);
    fumi_arena_done(&t->a);
}

static bool look(struct fixture *t, struct fumi_str query, enum search_mode mode, unsigned off,
                 struct found *f)
{
    struct search s = {.filter = {.project = FUMI_STR("p"), .since = INT64_MIN, .until = INT64_MAX},
                       .query = query,
                       .top = TOP,
                       .mode = mode,
                       .off = off,
                       .ms = EMBED_MS};
    return !memory_search(t->m, &t->a, &s, f, &t->e);
}

static bool same(const struct found *x, const struct found *y)
{
    if (x->results.n != y->results.n || x->confidence != y->confidence)
        return false;
    for (size_t i = 0; i < x->results.n; i++) {
        const struct result *a = &x->results.items[i], *b = &y->results.items[i];
        if (!fumi_eq(a->note.id, b->note.id) || a->score != b->score || a->words != b->words ||
            a->meaning != b->meaning || a->relevance != b->relevance)
            return false;
    }
    return true;
}

static void check_other_project(struct fixture *t, enum search_mode mode)
{
    struct found before[QUERIES], after;
    struct fumi_str queries[QUERIES];
    size_t results = 0;
    for (size_t i = 0; i < QUERIES; i++) {
        queries[i] = words(t, &t->a, 4);
        CHECK(look(t, queries[i], mode, 0, &before[i]));
        results += before[i].results.n;
    }
    CHECK(results > QUERIES * TOP / 2);
    CHECK(store_notes(t, "other", OTHERS, 12));
    for (size_t i = 0; i < QUERIES; i++) {
        CHECK(look(t, queries[i], mode, 0, &after));
        CHECK(same(&before[i], &after));
    }
}

TEST(other_projects_change_no_keyword_search)
{
    struct fixture t;
    CHECK(begin(&t) && store_notes(&t, "p", NOTES, 40));
    check_other_project(&t, SEARCH_WORDS);
    end(&t);
}

TEST(other_projects_change_no_hybrid_search)
{
    struct fixture t;
    CHECK(begin(&t) && store_notes(&t, "p", NOTES, 40));
    check_other_project(&t, SEARCH_HYBRID);
    end(&t);
}

/* A long note on each topic, which contains the four words of the topic. */
static bool store_topics(struct fixture *t)
{
    bool stored = true;
    for (size_t i = 0; i < TOPICS && stored; i++) {
        struct fumi_str some = words(t, &t->a, 60), more = words(t, &t->a, 60);
        struct fumi_str text = fumi_fmt(&t->a, "%.*s a%zu b%zu %.*s c%zu d%zu", FUMI_ARG(some), i,
                                        i, FUMI_ARG(more), i, i);
        stored = store_note(t, "p", fumi_fmt(&t->a, "topic-%zu", i), text);
    }
    return stored;
}

/* Short notes, each with two words of a topic. */
static bool store_crowd(struct fixture *t)
{
    bool stored = true;
    for (size_t i = 0; i < CROWD && stored; i++) {
        struct fumi_str some = words(t, &t->note, 4);
        uint32_t topic = roll(t, TOPICS), half = roll(t, 2) * 2;
        struct fumi_str text = fumi_fmt(&t->note, "%.*s %c%u %c%u", FUMI_ARG(some), 'a' + half,
                                        topic, 'b' + half, topic);
        stored = store_note(t, "p", fumi_fmt(&t->note, "crowd-%zu", i), text);
        fumi_arena_reset(&t->note, 1 << 16);
    }
    return stored;
}

/* The share of topics whose long note is among the first ten results, in percent. */
static double recall(struct fixture *t, unsigned off)
{
    double hits = 0;
    for (size_t i = 0; i < TOPICS; i++) {
        struct found f;
        struct fumi_str id = fumi_fmt(&t->a, "topic-%zu", i);
        if (!look(t, fumi_fmt(&t->a, "a%zu b%zu c%zu d%zu", i, i, i, i), SEARCH_WORDS, off, &f))
            return -1;
        for (size_t k = 0; k < f.results.n; k++)
            hits += fumi_eq(f.results.items[k].note.id, id);
    }
    return 100 * hits / TOPICS;
}

/* Only by keywords: the vectors of the provider are made of words, so that a short note is nearer.
 */
TEST(short_notes_do_not_displace_long_ones)
{
    struct fixture t;
    CHECK(begin(&t) && store_topics(&t));
    double alone = recall(&t, 0);
    CHECK(alone == 100);
    CHECK(store_crowd(&t));
    CHECK(recall(&t, 0) >= alone - 5);
    CHECK(recall(&t, SEARCH_NO_PIVOT) < alone - 5);
    end(&t);
}
