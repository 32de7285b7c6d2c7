/* Searches in a small store, with a provider whose vectors have no calibration: the relevance then
 * follows from the words. */
#include "fake_provider.h"
#include "memory/memory.h"
#include "store/sqlite.h"
#include "test.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/file.h>
#include <unistd.h>

enum { EMBED_MS = 10000, DAY = 86400000 };

static const struct fumi_log quiet = {.level = FUMI_SILENT};

struct fixture {
    struct fumi_arena a;
    char dir[64];
    struct fake *fake;
    struct memory *m;
    struct fumi_err e;
};

/* patience: of searches for the vector cache, in milliseconds; 0: the default */
static bool begin_with(struct fixture *t, int64_t patience)
{
    *t = (struct fixture){.dir = "/tmp/test-search-XXXXXX"};
    t->fake = fake_start(0);
    if (!t->fake || !mkdtemp(t->dir))
        return false;
    struct fumi_str path = fumi_fmt(&t->a, "%s/memory.db", t->dir);
    struct memory_options o = {
        .store = store_sqlite_open(
            &(struct store_sqlite_options){
                .path = path.p, .nosync = true, .patience = patience, .log = &quiet},
            &t->e),
        .embed = {.provider = FUMI_STR("openai"),
                  .model = FUMI_STR("m"),
                  .base_url = fumi_fmt(&t->a, "http://127.0.0.1:%d/v1", t->fake->port),
                  .api_key = FUMI_STR("sk-test-key")},
        .log = &quiet,
    };
    t->m = o.store ? memory_open(&o, &t->e) : NULL;
    return t->m;
}

static bool begin(struct fixture *t)
{
    return begin_with(t, 0);
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
    fumi_arena_done(&t->a);
}

static int add(struct fixture *t, const char *project, const char *session, int64_t created,
               const char *text)
{
    struct written w = {.pending = false};
    struct note n = {.project = fumi_str(project),
                     .group = FUMI_STR("g"),
                     .text = fumi_str(text),
                     .created = {created, true}};
    if (session)
        n.session = fumi_str(session);
    return memory_add(t->m, &t->a, &n, EMBED_MS, &w, &t->e);
}

static struct search asking(const char *query)
{
    return (struct search){
        .filter = {.project = FUMI_STR("p"), .since = INT64_MIN, .until = INT64_MAX},
        .query = fumi_str(query),
        .top = 5,
        .ms = EMBED_MS};
}

static const struct result *find(const struct found *f, const char *beginning)
{
    for (size_t i = 0; i < f->results.n; i++)
        if (fumi_starts(f->results.items[i].note.text, fumi_str(beginning)))
            return &f->results.items[i];
    return NULL;
}

/* Three notes on software, the first two of one session. */
static bool add_notes(struct fixture *t)
{
    return !add(t, "p", "s", 1000, "The deploy to staging failed again") &&
           !add(t, "p", "s", 2000, "because the disk was full") &&
           !add(t, "p", NULL, 3000, "Tabs are preferred over spaces in every file");
}

static bool add_three(struct fixture *t)
{
    return begin(t) && add_notes(t);
}

TEST(a_note_scores_more_beside_a_good_one)
{
    struct fixture t;
    struct found with, without;
    struct search s = asking("deploy staging failed");
    CHECK(add_three(&t));
    CHECK_INT(memory_search(t.m, &t.a, &s, &with, &t.e), 0);
    s.off = SEARCH_NO_NEIGHBOURS;
    CHECK_INT(memory_search(t.m, &t.a, &s, &without, &t.e), 0);
    const struct result *cause = find(&with, "because"), *alone = find(&without, "because");
    CHECK(cause && alone);
    CHECK(cause->neighbours > 0 && alone->neighbours == 0);
    CHECK(find(&with, "Tabs")->neighbours == 0);
    CHECK(with.results.items[0].score <= 1);
    CHECK_INT(with.results.items[0].note.created.ms, 1000);
    end(&t);
}

TEST(neighbours_count_in_hybrid_searches_only)
{
    struct fixture t;
    struct found f;
    struct search s = asking("deploy staging failed");
    CHECK(add_three(&t));
    s.mode = SEARCH_WORDS;
    CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
    CHECK(find(&f, "The deploy") && !find(&f, "because"));
    s.mode = SEARCH_MEANING;
    CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
    CHECK_INT(f.results.n, 3);
    for (size_t i = 0; i < f.results.n; i++) {
        const struct result *r = &f.results.items[i];
        CHECK(r->neighbours == 0 && r->score == (1 + r->meaning) / 2);
    }
    CHECK(find(&f, "The deploy")->share > 0.9);
    end(&t);
}

TEST(a_question_without_an_answer_has_no_confidence)
{
    struct fixture t;
    struct found f;
    struct search s = asking("zebra migration in Kenya");
    CHECK(add_three(&t));
    CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
    CHECK_INT(f.confidence, CONFIDENCE_NONE);
    CHECK_INT(f.results.n, 3);
    s.strict = true;
    CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
    CHECK_INT(f.results.n, 0);
    CHECK_INT(f.misses.n, 2);
    CHECK(f.misses.items[0].note.text.n > 0);
    s.query = FUMI_STR("staging deploy");
    CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
    CHECK_INT(f.confidence, CONFIDENCE_HIGH);
    CHECK_INT(f.results.n, 3);
    end(&t);
}

TEST(a_minimum_of_relevance_leaves_the_rest_out)
{
    struct fixture t;
    struct found f;
    struct search s = asking("staging deploy");
    CHECK(add_three(&t));
    s.min_relevance = 0.5;
    CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
    CHECK_INT(f.results.n, 1);
    CHECK(f.results.items[0].relevance >= 0.5);
    CHECK_INT(f.below, 2);
    CHECK_INT(f.misses.n, 2);
    CHECK(f.misses.items[0].score >= f.misses.items[1].score);
    s.min_relevance = 1;
    CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
    CHECK_INT(f.results.n, 0);
    CHECK_INT(f.misses.n, 3);
    end(&t);
}

TEST(notes_without_vectors_are_counted)
{
    struct fixture t;
    struct found f;
    struct search s = asking("deploy");
    CHECK(add_three(&t));
    CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
    CHECK_INT(f.pending, 0);
    atomic_store(&t.fake->mode, FAKE_500);
    CHECK_INT(add(&t, "q", NULL, 1000, "waits for its vector"), 0);
    atomic_store(&t.fake->mode, FAKE_WELL);
    CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
    CHECK_INT(f.pending, 0); /* it is in another project */
    s.filter.project = FUMI_STR("q");
    CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
    CHECK_INT(f.pending, 1);
    s.mode = SEARCH_WORDS;
    CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
    CHECK_INT(f.pending, 0); /* they do not matter */
    end(&t);
}

TEST(notes_of_the_time_in_question_score_more)
{
    struct fixture t;
    struct found f;
    struct search s = asking("what happened in September 2022");
    const int64_t september = 1663000000000;
    CHECK(begin(&t));
    CHECK_INT(add(&t, "p", NULL, september, "The disk was full"), 0);
    CHECK_INT(add(&t, "p", NULL, september + 400 * (int64_t)DAY, "The disc was full"), 0);
    s.now = september + 500 * (int64_t)DAY;
    CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
    CHECK_INT(f.times_n, 1);
    CHECK(f.times[0].since <= september && september < f.times[0].until);
    CHECK_INT(f.results.items[0].note.created.ms, september);
    CHECK(f.results.items[0].time > 0);
    CHECK(f.results.items[1].time == 0);
    s.off = SEARCH_NO_DATES;
    CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
    CHECK_INT(f.times_n, 0);
    CHECK(f.results.items[0].time == 0);
    end(&t);
}

/* Another process holds the lock of the vector cache, as while it writes a piece. */
TEST(searches_use_words_while_the_vector_cache_is_built)
{
    struct fixture t;
    struct found f;
    CHECK(begin_with(&t, 50));
    int cache = open(fumi_fmt(&t.a, "%s/memory.db.vec", t.dir).p, O_RDWR | O_CREAT, 0600);
    CHECK(cache >= 0 && flock(cache, LOCK_EX) == 0);
    CHECK(add_notes(&t));
    CHECK_INT(add(&t, "other", NULL, 1000, "a note of another project"), 0);
    static const enum search_mode modes[] = {SEARCH_HYBRID, SEARCH_MEANING};
    for (size_t i = 0; i < FUMI_COUNT(modes); i++) {
        struct search s = asking("deploy");
        s.mode = modes[i];
        CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
        CHECK(f.behind && f.results.n >= 1);
        CHECK_INT(f.pending, 3);
        CHECK(f.results.items[0].meaning_rank); /* compared by its vector all the same */
    }
    CHECK_INT(close(cache), 0);
    for (int i = 0; f.behind && i < 1000; i++) {
        struct search s = asking("deploy");
        CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
    }
    CHECK(!f.behind);
    CHECK_INT(f.pending, 0);
    end(&t);
}

TEST(notes_of_the_user_are_searched_with_every_project)
{
    static const enum search_mode modes[] = {SEARCH_HYBRID, SEARCH_MEANING, SEARCH_WORDS};
    struct fixture t;
    struct found f;
    CHECK(add_three(&t));
    CHECK_INT(add(&t, "user", NULL, 4000, "Tabs are what the user likes"), 0);
    CHECK_INT(add(&t, "q", NULL, 5000, "Tabs of another project"), 0);
    for (size_t i = 0; i < FUMI_COUNT(modes); i++) {
        struct search s = asking("tabs");
        s.mode = modes[i];
        CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
        CHECK(find(&f, "Tabs are what") && find(&f, "Tabs are preferred") && !find(&f, "Tabs of"));
        CHECK_INT(f.filtered.project, 3);
    }
    struct search other = asking("tabs");
    other.filter.group = FUMI_STR("elsewhere");
    CHECK_INT(memory_search(t.m, &t.a, &other, &f, &t.e), 0);
    CHECK_INT(f.results.n, 0);
    struct search own = asking("tabs");
    own.filter.project = FUMI_STR("user");
    CHECK_INT(memory_search(t.m, &t.a, &own, &f, &t.e), 0);
    CHECK_INT(f.results.n, 1);
    end(&t);
}

TEST(an_asterisk_searches_all_projects)
{
    static const enum search_mode modes[] = {SEARCH_HYBRID, SEARCH_MEANING, SEARCH_WORDS};
    struct fixture t;
    struct found f;
    CHECK(add_three(&t));
    CHECK_INT(add(&t, "q", NULL, 5000, "Tabs of another project"), 0);
    for (size_t i = 0; i < FUMI_COUNT(modes); i++) {
        struct search s = asking("tabs");
        s.filter.project = FUMI_STR("*");
        s.mode = modes[i];
        CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
        CHECK(find(&f, "Tabs are preferred") && find(&f, "Tabs of another"));
        CHECK(!f.unknown);
        CHECK_INT(f.filtered.project, 4);
    }
    CHECK_INT(add(&t, "*", NULL, 6000, "A note of no project"), -1);
    CHECK(strstr(t.e.text, "name one project") != NULL);
    end(&t);
}

TEST(an_unknown_project_is_reported_with_the_nearest_name)
{
    static const struct {
        const char *given, *near;
    } rows[] = {
        {"billnig", "billing"},
        {"/new/place/web-shop", "/srv/web-shop"},
        {"/srv/webshop", "/srv/web-shop"},
        {"something-else", NULL},
    };
    struct fixture t;
    struct found f;
    CHECK(begin(&t));
    CHECK_INT(add(&t, "billing", NULL, 1000, "The bill is due"), 0);
    CHECK_INT(add(&t, "/srv/web-shop", NULL, 1000, "The shop is open"), 0);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct search s = asking("shop");
        s.filter.project = fumi_str(rows[i].given);
        CHECK_INT(memory_search(t.m, &t.a, &s, &f, &t.e), 0);
        CHECK(f.unknown);
        CHECK_STR(f.near, rows[i].near);
    }
    struct search known = asking("nothing that it has");
    known.filter.project = FUMI_STR("billing");
    CHECK_INT(memory_search(t.m, &t.a, &known, &f, &t.e), 0);
    CHECK(!f.unknown && !f.near.p);
    end(&t);
}
