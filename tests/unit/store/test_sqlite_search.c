#include "test.h"

#include "store/sqlite_parts.h"
#include "store/vector.h"
#include "store_fixture.h"

#include <pthread.h>
#include <sys/wait.h>

/* Runs a statement on the file of the store, with a connection of its own. */
static int sql(struct fixture *t, const char *text)
{
    sqlite3 *h = NULL;
    int rc = sqlite3_open(t->path, &h);
    sqlite3_busy_timeout(h, 5000);
    if (!rc)
        rc = sqlite3_exec(h, text, NULL, NULL, NULL);
    if (rc)
        fprintf(stderr, "%s: %s\n", text, sqlite3_errmsg(h));
    sqlite3_close(h);
    return rc;
}

/* A new space with the name of a deleted one: the cached vectors of the old space are not used. */
TEST(a_space_that_comes_back_begins_empty)
{
    struct fixture t = {0};
    struct hits h;
    struct filter f = fixture_filter("p");
    struct fumi_str none = {0};
    struct scan_hit rows[2];
    const float x[DIM] = {1};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "x", 0), 0);
    CHECK_INT(fixture_near(&t, &f, 0, 10, &h), 0);
    CHECK_INT(store_delete_spaces(t.s, none, none, &t.e), 0);
    CHECK_INT(fixture_add(&t, "2", "x", 1), 0);
    CHECK_INT(fixture_near(&t, &f, 0, 10, &h), 0);
    CHECK_STR(fixture_ids(&t, &h), "2");
    CHECK_INT(scan_nearest(((struct store_sqlite *)t.s)->scan, NULL, x, 2, rows), 1);
    fixture_end(&t);
}

/* The cache. */

TEST(the_cache_may_be_missing_or_damaged)
{
    struct fixture t = {0};
    struct hits h;
    struct filter f = fixture_filter("p");
    char side[160];
    CHECK(fixture_open(&t));
    snprintf(side, sizeof(side), "%s.vec", t.path);
    for (int i = 0; i < 20; i++)
        CHECK_INT(fixture_add(&t, fumi_fmt(&t.a, "%d", i).p, "x", i * 0.05), 0);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(fixture_near(&t, &f, 0, 3, &h), 0);
        CHECK_STR(fixture_ids(&t, &h), "0 1 2");
        struct stat st;
        CHECK_INT(stat(side, &st), 0);
        CHECK_INT(st.st_mode & 0777, 0600);
        fixture_shut(&t);
        if (i == 0)
            CHECK_INT(unlink(side), 0);
        if (i == 1)
            CHECK_INT(truncate(side, 10), 0);
        if (i == 2)
            CHECK_INT(truncate(side, 0), 0);
        CHECK(fixture_open(&t));
    }
    fixture_end(&t);
}

/* A backup replaces the database, whose vector cache stays: the cache must not be used for the
 * backup. The database has 1 + `changes` changes after the backup, the backup has one: without
 * random gaps, change numbers of both files could be equal. */
static void replace_by_backup(int changes)
{
    struct fixture t = {0};
    struct hits h;
    struct filter f = fixture_filter("p");
    struct note to = {.text = FUMI_STR("new")};
    float x[DIM];
    struct passage p = {0, 1, x};
    struct vectors v = {.space = SPACE, .dim = DIM, .items = &p, .n = 1};
    CHECK(fixture_open(&t));
    struct fumi_str copy = fumi_fmt(&t.a, "%s/copy.db", t.top);
    CHECK_INT(fixture_add(&t, "1", "x", 0.5), 0);
    CHECK_INT(store_backup(t.s, copy, &t.e), 0);
    for (int i = 0; i <= changes; i++)
        CHECK_INT(fixture_add(&t, fumi_fmt(&t.a, "here%d", i).p, "x", 0), 0);
    CHECK_INT(fixture_near(&t, &f, 0, 10, &h), 0);
    fixture_shut(&t);
    CHECK_INT(rename(copy.p, t.path), 0);
    CHECK(fixture_open(&t));
    fixture_vector(1, x);
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("1"), &to, NOTE_TEXT,
                                &(struct note_change){.vectors = &v, .allow_duplicate = true},
                                &t.e),
              0);
    CHECK_INT(fixture_near(&t, &f, 1, 10, &h), 0);
    CHECK_STR(fixture_ids(&t, &h), "1");
    CHECK(fabs(h.items[0].score - 1) < 1e-6);
    fixture_end(&t);
}

TEST(the_cache_of_another_history_is_not_used)
{
    replace_by_backup(0);
    replace_by_backup(30);
}

/* Damaged vectors. */

TEST(a_damaged_vector_is_ignored_and_computed_again)
{
    static const char *const damages[] = {
        "UPDATE vectors SET x=x'00' WHERE note=1",
        "UPDATE vectors SET x=zeroblob(20) WHERE note=1",
        "UPDATE vectors SET x=x'0000C07F000000000000000000000000' WHERE note=1", /* NaN */
        "UPDATE vectors SET x=x'0000807F000000000000000000000000' WHERE note=1", /* infinite */
        "UPDATE vectors SET x=x'0000FA44000000000000000000000000' WHERE note=1", /* 2000 */
    };
    for (size_t i = 0; i < 2 * FUMI_COUNT(damages); i++) {
        struct fixture t = {0};
        struct hits h;
        struct unembeddeds u;
        struct filter f = fixture_filter("p");
        int64_t seqs[] = {1, 2};
        float x[DIM];
        fixture_vector(0, x);
        CHECK(fixture_open(&t));
        CHECK_INT(fixture_add(&t, "1", "x", 0), 0);
        CHECK_INT(fixture_add(&t, "2", "y", 0.5), 0);
        if (i % 2) /* the cache contains the vector before it is damaged */
            CHECK_INT(fixture_near(&t, &f, 0, 10, &h), 0);
        CHECK_INT(sql(&t, damages[i / 2]), 0);
        CHECK_INT(fixture_near(&t, &f, 0, 10, &h), 0);
        CHECK_STR(fixture_ids(&t, &h), "2");
        CHECK_INT(store_score_vectors(t.s, &t.a, SPACE, x, DIM, seqs, 2, &h, &t.e), 0);
        CHECK_INT(h.n, 1);
        CHECK_INT(store_list_unembedded(t.s, &t.a, SPACE, 0, 10, &u, &t.e), 0);
        if (u.n != 1 || u.items[0].seq != 1)
            TEST_FAIL("row %zu: %zu", i, u.n);
        CHECK(fixture_sound(&t));
        fixture_end(&t);
    }
}

/* The best ten results equal those of a search that compares all vectors exactly. */

enum { LARGE = 384, ROWS = 3000 };

static uint32_t next(uint32_t *state)
{
    return *state = *state * 1664525 + 1013904223;
}

static void scatter(uint32_t *state, float *x)
{
    for (size_t i = 0; i < LARGE; i++)
        x[i] = (float)(next(state) >> 8) / (1 << 24) - 0.5f;
    vector_normalise(x, LARGE);
}

static int by_cosine(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

TEST(the_best_are_exact)
{
    static float x[ROWS][LARGE], q[LARGE];
    static struct hit want[ROWS];
    struct fixture t = {0};
    uint32_t state = 1;
    CHECK(fixture_open(&t));
    struct unembedded *u = fumi_alloc(&t.a, ROWS * sizeof(*u));
    struct vectors *v = fumi_alloc(&t.a, ROWS * sizeof(*v));
    struct passage *p = fumi_alloc(&t.a, ROWS * sizeof(*p));
    for (size_t i = 0; i < ROWS; i++) {
        scatter(&state, x[i]);
        p[i] = (struct passage){0, 1, x[i]};
        v[i] = (struct vectors){FUMI_STR("large"), LARGE, &p[i], 1};
        u[i] = (struct unembedded){.seq = (int64_t)i + 1, .version = 1};
        if (i < 30)
            CHECK_INT(fixture_add(&t, fumi_fmt(&t.a, "%zu", i).p, "x", NAN), 0);
    }
    fixture_shut(&t);
    CHECK_INT(
        sql(&t,
            "WITH RECURSIVE k(i) AS (SELECT 31 UNION ALL SELECT i+1 FROM k WHERE i<3000) "
            "INSERT INTO notes(id, tag_set, created, version, checksum, project, group_key, tags, "
            "text) SELECT i, 1, 0, 1, 0, 'p', '', '[]', 'x' FROM k; UPDATE project_groups SET "
            "notes=3000; UPDATE tag_sets SET "
            "notes=3000"),
        0);
    CHECK(fixture_open(&t));
    CHECK_INT(store_add_vectors(t.s, u, v, ROWS, &t.e), 0);
    struct filter f = fixture_filter("p");
    for (int turn = 0; turn < 10; turn++) {
        struct hits h;
        scatter(&state, q);
        for (size_t i = 0; i < ROWS; i++)
            want[i] = (struct hit){.seq = (int64_t)i + 1,
                                   .score = (double)vector_dot(q, x[i], LARGE)};
        qsort(want, ROWS, sizeof(*want), by_cosine);
        CHECK_INT(store_nearest(t.s, &t.a, &f, FUMI_STR("large"), q, LARGE, 10, &h, &t.e), 0);
        CHECK_INT(h.n, 10);
        for (size_t i = 0; i < 10; i++)
            CHECK_INT(h.items[i].seq, want[i].seq);
    }
    fixture_end(&t);
}
