/* Search by meaning, by keyword and by filter, and embedding later. */
#include "store_fixture.h"
#include "test.h"

#include <pthread.h>

TEST(near_gives_the_nearest_first)
{
    struct fixture t = {0};
    struct hits h;
    struct filter f = fixture_filter("p");
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "far", "far", 1.5), 0);
    CHECK_INT(fixture_add(&t, "near", "near", 0.1), 0);
    CHECK_INT(fixture_add(&t, "middle", "middle", 0.5), 0);
    CHECK_INT(fixture_add(&t, "none", "none", NAN), 0);
    CHECK_INT(fixture_near(&t, &f, 0, 10, &h), 0);
    CHECK_STR(fixture_ids(&t, &h), "near middle far");
    CHECK(fabs(h.items[0].score - cos(0.1)) < 1e-6);
    CHECK_INT(h.items[0].begin, 0);
    CHECK_INT(h.items[0].end, 4);
    CHECK_INT(fixture_near(&t, &f, 1.5, 1, &h), 0);
    CHECK_STR(fixture_ids(&t, &h), "far");
    CHECK_INT(fixture_near(&t, &f, 0, 0, &h), 0);
    CHECK_INT(h.n, 0);
    fixture_end(&t);
}

TEST(near_keeps_to_the_filter)
{
    static const struct {
        const char *project, *group, *tag, *more;
        int64_t since, until;
        const char *want;
    } rows[] = {
        {"p", NULL, NULL, NULL, INT64_MIN, INT64_MAX, "1 2 3 4"},
        {"q", NULL, NULL, NULL, INT64_MIN, INT64_MAX, "5"},
        {"none", NULL, NULL, NULL, INT64_MIN, INT64_MAX, ""},
        {"p", "g", NULL, NULL, INT64_MIN, INT64_MAX, "2 4"},
        {"p", NULL, "a", NULL, INT64_MIN, INT64_MAX, "3 4"},
        {"p", NULL, "a", "b", INT64_MIN, INT64_MAX, "4"},
        {"p", NULL, "b", "a", INT64_MIN, INT64_MAX, "4"},
        {"p", NULL, "A", NULL, INT64_MIN, INT64_MAX, ""},
        {"p", "g", "a", NULL, INT64_MIN, INT64_MAX, "4"},
        {"q", NULL, "a", NULL, INT64_MIN, INT64_MAX, "5"},
        {"p", NULL, NULL, NULL, 2, 4, "2 3"},
        {"p", "g", NULL, NULL, 3, INT64_MAX, "4"},
        {"p", NULL, NULL, NULL, 2, 2, ""},
    };
    struct fumi_str a_b[] = {FUMI_STR("b"), FUMI_STR("a"), FUMI_STR("c")};
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    for (int i = 1; i <= 5; i++) {
        struct note n = fixture_note(fumi_fmt(&t.a, "%d", i).p, "word");
        n.project = i == 5 ? FUMI_STR("q") : n.project;
        n.group = i == 2 || i == 4 ? FUMI_STR("g") : n.group;
        n.tags = i == 4 ? (struct fumi_strs){a_b, 3}
                        : (struct fumi_strs){a_b + 1, i == 3 || i == 5};
        n.created = (struct fumi_time){i, true};
        CHECK_INT(fixture_put(&t, &n, i * 0.1), 0);
    }
    for (size_t turn = 0; turn < 2 * FUMI_COUNT(rows); turn++) {
        size_t i = turn % FUMI_COUNT(rows);
        struct fumi_str tags[] = {fumi_str(rows[i].tag), fumi_str(rows[i].more)};
        struct filter f = {.project = fumi_str(rows[i].project),
                           .group = fumi_str(rows[i].group),
                           .tags = {tags, (size_t)(rows[i].tag != NULL) + (rows[i].more != NULL)},
                           .since = rows[i].since,
                           .until = rows[i].until};
        struct hits near, match;
        CHECK_INT(fixture_near(&t, &f, 0, 10, &near), 0);
        CHECK_INT(fixture_match(&t, &f, FUMI_STR("word"), 10, &match), 0);
        struct fumi_str ids = fixture_ids(&t, &near);
        if (!fumi_eq(ids, fumi_str(rows[i].want)) || match.n != near.n)
            TEST_FAIL("row %zu: near %.*s, %zu by words", i, FUMI_ARG(ids), match.n);
    }
    fixture_end(&t);
}

/* The tag sets that pass a filter are cached; new tag sets must be found too. */
TEST(a_cached_filter_finds_new_tag_sets)
{
    struct fixture t = {0};
    struct fumi_str tag = FUMI_STR("t");
    struct filter f = fixture_filter("p"), g = f, h = f;
    g.group = FUMI_STR("g0");
    h.tags = (struct fumi_strs){&tag, 1};
    CHECK(fixture_open(&t));
    for (int i = 0; i < 150; i++) {
        struct fumi_str tags[] = {tag, fumi_fmt(&t.a, "%d", i)};
        struct note n = fixture_note(fumi_fmt(&t.a, "%d", i).p, "x");
        n.group = fumi_fmt(&t.a, "g%d", i % 3);
        n.tags = (struct fumi_strs){tags, 2};
        CHECK_INT(fixture_put(&t, &n, 1), 0);
        struct hits all, some, tagged;
        CHECK_INT(fixture_near(&t, &f, 1, 1000, &all), 0);
        CHECK_INT(fixture_near(&t, &g, 1, 1000, &some), 0);
        CHECK_INT(fixture_near(&t, &h, 1, 1000, &tagged), 0);
        CHECK_INT(all.n, i + 1);
        CHECK_INT(some.n, i / 3 + 1);
        CHECK_INT(tagged.n, i + 1);
    }
    fixture_end(&t);
}

TEST(near_follows_each_change)
{
    struct fixture t = {0};
    struct hits h;
    struct filter f = fixture_filter("p"), g = f;
    g.group = FUMI_STR("g");
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "one", 0.1), 0);
    CHECK_INT(fixture_near(&t, &f, 0, 10, &h), 0);
    CHECK_STR(fixture_ids(&t, &h), "1");
    CHECK_INT(fixture_add(&t, "2", "two", 0), 0);
    CHECK_INT(fixture_near(&t, &f, 0, 10, &h), 0);
    CHECK_STR(fixture_ids(&t, &h), "2 1");

    struct note to = {.group = FUMI_STR("g"), .title = FUMI_STR("t")};
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("1"), &to, NOTE_GROUP | NOTE_TITLE, NULL, &t.e),
              0);
    CHECK_INT(fixture_near(&t, &g, 0, 10, &h), 0);
    CHECK_STR(fixture_ids(&t, &h), "1");
    CHECK(fabs(h.items[0].score - cos(0.1)) < 1e-6); /* the vector was kept */

    float x[DIM];
    struct passage p = {1, 2, x};
    struct vectors v = {.space = SPACE, .dim = DIM, .items = &p, .n = 1};
    fixture_vector(1, x);
    to.text = FUMI_STR("new");
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("2"), &to, NOTE_TEXT,
                                &(struct note_change){.vectors = &v, .allow_duplicate = true},
                                &t.e),
              0);
    CHECK_INT(fixture_near(&t, &f, 1, 10, &h), 0);
    CHECK_STR(fixture_ids(&t, &h), "2 1");
    CHECK(fabs(h.items[0].score - 1) < 1e-6);
    CHECK_INT(h.items[0].begin, 1);

    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("2"), &to, NOTE_TEXT, NULL, &t.e), 0);
    CHECK_INT(fixture_near(&t, &f, 1, 10, &h), 0);
    CHECK_STR(fixture_ids(&t, &h), "1"); /* pending */
    CHECK_INT(store_delete(t.s, &t.a, FUMI_STR("1"), NULL, &t.e), 0);
    CHECK_INT(fixture_near(&t, &f, 1, 10, &h), 0);
    CHECK_INT(h.n, 0);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(another_store_sees_the_change)
{
    struct fixture t = {0};
    struct hits h;
    struct filter f = fixture_filter("p");
    CHECK(fixture_open(&t));
    struct store *here = t.s, *there = fixture_store(&t, t.path);
    CHECK(there != NULL);
    for (int i = 0; i < 5; i++) {
        t.s = i % 2 ? here : there;
        CHECK_INT(fixture_add(&t, fumi_fmt(&t.a, "%d", i).p, "x", i * 0.1), 0);
        t.s = i % 2 ? there : here;
        CHECK_INT(fixture_near(&t, &f, 0, 10, &h), 0);
        CHECK_INT(h.n, i + 1);
    }
    store_close(there);
    t.s = here;
    fixture_end(&t);
}

/* Long notes have many passages, which must not crowd out others. */
TEST(the_best_passage_counts_for_a_note)
{
    enum { PASSAGES = 200 };
    struct fixture t = {0};
    struct hits h;
    struct filter f = fixture_filter("p");
    static float x[PASSAGES][DIM];
    struct passage p[PASSAGES];
    struct vectors v = {.space = SPACE, .dim = DIM, .items = p, .n = PASSAGES};
    CHECK(fixture_open(&t));
    for (unsigned i = 0; i < PASSAGES; i++) {
        fixture_vector(0.001 * (PASSAGES - i), x[i]);
        p[i] = (struct passage){i, i + 1, x[i]};
    }
    struct note n = fixture_note("long", "x");
    CHECK_INT(store_add_note(t.s, &t.a, &n,
                             &(struct note_change){.vectors = &v, .allow_duplicate = true}, &t.e),
              0);
    for (int i = 0; i < 3; i++)
        CHECK_INT(fixture_add(&t, fumi_fmt(&t.a, "%d", i).p, "x", 1 + i * 0.1), 0);
    CHECK_INT(fixture_near(&t, &f, 0, 3, &h), 0);
    CHECK_STR(fixture_ids(&t, &h), "long 0 1");
    CHECK_INT(h.items[0].begin, PASSAGES - 1);

    int64_t seqs[] = {n.seq, 999, 2};
    float q[DIM];
    fixture_vector(0.001 * 100, q);
    CHECK_INT(store_score_vectors(t.s, &t.a, SPACE, q, DIM, seqs, 3, &h, &t.e), 0);
    CHECK_INT(h.n, 2);
    CHECK_INT(h.items[0].seq, n.seq);
    CHECK_INT(h.items[0].begin, PASSAGES - 100);
    CHECK_INT(h.items[1].seq, 2);
    fixture_end(&t);
}

TEST(a_space_of_its_own)
{
    struct fixture t = {0};
    struct hits h;
    struct filter f = fixture_filter("p");
    float x[8] = {1};
    struct passage p = {0, 1, x};
    struct vectors v = {.space = FUMI_STR("other:8"), .dim = 8, .items = &p, .n = 1};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "x", 0), 0);
    struct note n = fixture_note("2", "x");
    CHECK_INT(store_add_note(t.s, &t.a, &n,
                             &(struct note_change){.vectors = &v, .allow_duplicate = true}, &t.e),
              0);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(fixture_near(&t, &f, 0, 10, &h), 0);
        CHECK_STR(fixture_ids(&t, &h), "1");
        CHECK_INT(store_nearest(t.s, &t.a, &f, v.space, x, 8, 10, &h, &t.e), 0);
        CHECK_STR(fixture_ids(&t, &h), "2");
    }
    CHECK_INT(store_nearest(t.s, &t.a, &f, FUMI_STR("unknown"), x, 8, 10, &h, &t.e), 0);
    CHECK_INT(h.n, 0);
    CHECK_INT(store_nearest(t.s, &t.a, &f, v.space, x, 4, 10, &h, &t.e), -1);
    CHECK_INT(t.e.code, FUMI_INTERNAL_ERROR);
    v.dim = 4;
    n = fixture_note("3", "x");
    CHECK_INT(store_add_note(t.s, &t.a, &n,
                             &(struct note_change){.vectors = &v, .allow_duplicate = true}, &t.e),
              -1);
    CHECK_INT(n.seq, 0);
    CHECK_INT(store_get_note(t.s, &t.a, FUMI_STR("3"), &n, &t.e), -1);
    CHECK_INT(t.e.code, ERR_NOT_FOUND);
    fixture_end(&t);
}

TEST(vectors_that_are_no_vectors_are_refused)
{
    struct fixture t = {0};
    float rows[][DIM] = {{NAN}, {INFINITY}, {0}, {-INFINITY, 1}};
    CHECK(fixture_open(&t));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct passage p = {0, 1, rows[i]};
        struct vectors v = {.space = SPACE, .dim = DIM, .items = &p, .n = 1};
        struct note n = fixture_note("1", "x");
        if (!store_add_note(t.s, &t.a, &n,
                            &(struct note_change){.vectors = &v, .allow_duplicate = true}, &t.e))
            TEST_FAIL("row %zu", i);
    }
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(lacking_and_fill)
{
    struct fixture t = {0};
    struct unembeddeds u;
    struct hits h;
    struct filter f = fixture_filter("p");
    int64_t have, all;
    CHECK(fixture_open(&t));
    CHECK_INT(store_list_unembedded(t.s, &t.a, SPACE, 0, 10, &u, &t.e), 0);
    CHECK_INT(u.n, 0);
    CHECK_INT(fixture_add(&t, "1", "one", NAN), 0);
    CHECK_INT(fixture_add(&t, "2", "two", 0.2), 0);
    CHECK_INT(fixture_add(&t, "3", "three", NAN), 0);
    CHECK_INT(store_embedding_progress(t.s, SPACE, &have, &all, &t.e), 0);
    CHECK_INT(have, 1);
    CHECK_INT(all, 3);
    CHECK_INT(store_list_unembedded(t.s, &t.a, SPACE, 0, 10, &u, &t.e), 0);
    CHECK_INT(u.n, 2);
    CHECK_STR(u.items[0].text, "one");
    CHECK_STR(u.items[1].text, "three");
    struct unembeddeds rest;
    CHECK_INT(store_list_unembedded(t.s, &t.a, SPACE, u.items[0].seq, 10, &rest, &t.e), 0);
    CHECK_INT(rest.n, 1);
    CHECK_INT(store_list_unembedded(t.s, &t.a, SPACE, 0, 1, &rest, &t.e), 0);
    CHECK_INT(rest.n, 1);
    CHECK_INT(store_list_unembedded(t.s, &t.a, FUMI_STR("other"), 0, 10, &rest, &t.e), 0);
    CHECK_INT(rest.n, 3);
    const int64_t seqs[] = {3, 2, 77, 1}; /* no note 77 */
    CHECK_INT(store_load_unembedded(t.s, &t.a, SPACE, seqs, FUMI_COUNT(seqs), &rest, &t.e), 0);
    CHECK_INT(rest.n, 2);
    CHECK_STR(rest.items[0].text, "three");
    CHECK_STR(rest.items[1].text, "one");
    CHECK_INT(rest.items[1].version, u.items[0].version);
    CHECK_INT(store_load_unembedded(t.s, &t.a, FUMI_STR("other"), seqs, 2, &rest, &t.e), 0);
    CHECK_INT(rest.n, 2);

    struct note to = {.text = FUMI_STR("changed")};
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("3"), &to, NOTE_TEXT, NULL, &t.e), 0);
    float x[DIM];
    fixture_vector(0, x);
    struct passage p = {0, 3, x};
    struct vectors v[] = {{SPACE, DIM, &p, 1}, {SPACE, DIM, &p, 1}};
    CHECK_INT(store_add_vectors(t.s, u.items, v, 2, &t.e), 0);
    CHECK_INT(store_add_vectors(t.s, u.items, v, 2, &t.e), 0); /* no effect the second time */
    CHECK_INT(fixture_near(&t, &f, 0, 10, &h), 0);
    CHECK_STR(fixture_ids(&t, &h), "1 2");
    CHECK_INT(store_list_unembedded(t.s, &t.a, SPACE, 0, 10, &u, &t.e), 0);
    CHECK_INT(u.n, 1);
    CHECK_STR(u.items[0].text, "changed");
    CHECK_INT(store_add_vectors(t.s, u.items, v, 1, &t.e), 0);
    CHECK_INT(store_embedding_progress(t.s, SPACE, &have, &all, &t.e), 0);
    CHECK_INT(have, 3);
    CHECK_INT(store_list_unembedded(t.s, &t.a, SPACE, 0, 10, &u, &t.e), 0);
    CHECK_INT(u.n, 0);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(dropped_spaces_are_gone)
{
    struct fixture t = {0};
    struct hits h;
    struct filter f = fixture_filter("p");
    struct store_stats st;
    float x[DIM];
    fixture_vector(0, x);
    struct passage p = {0, 1, x};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "x", 0), 0);
    CHECK_INT(fixture_near(&t, &f, 0, 10, &h), 0);
    CHECK_INT(h.n, 1);
    struct unembeddeds u;
    static const char *const names[] = {"a", "b"};
    for (size_t i = 0; i < 2; i++) {
        struct vectors v = {fumi_str(names[i]), DIM, &p, 1};
        CHECK_INT(store_list_unembedded(t.s, &t.a, v.space, 0, 10, &u, &t.e), 0);
        CHECK_INT(store_add_vectors(t.s, u.items, &v, 1, &t.e), 0);
    }
    CHECK_INT(store_delete_spaces(t.s, FUMI_STR("a"), (struct fumi_str){0}, &t.e), 0);
    CHECK_INT(store_stats(t.s, &st, &t.e), 0);
    CHECK_INT(st.vectors, 1);
    CHECK_INT(fixture_near(&t, &f, 0, 10, &h), 0);
    CHECK_INT(h.n, 0);
    CHECK_INT(store_nearest(t.s, &t.a, &f, FUMI_STR("a"), x, DIM, 10, &h, &t.e), 0);
    CHECK_INT(h.n, 1);
    CHECK_INT(fixture_add(&t, "2", "x", 1), 0);
    CHECK_INT(fixture_near(&t, &f, 0, 10, &h), 0);
    CHECK_STR(fixture_ids(&t, &h), "2");
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* Searching while others write. */

struct crowd {
    struct fixture *t;
    int base, failed;
};

enum { EACH = 40, WRITERS = 3 };

static void *add_some(void *arg)
{
    struct crowd *c = arg;
    struct fixture mine = {.s = c->t->s};
    for (int i = 0; i < EACH; i++) {
        char id[32];
        snprintf(id, sizeof(id), "%d", c->base + i);
        struct note n = fixture_note(id, "some words");
        c->failed += fixture_put(&mine, &n, i * 0.01) != 0;
        struct note to = {.group = FUMI_STR("moved")};
        if (i % 4 == 0)
            c->failed += store_update_note(mine.s, &mine.a, n.id, &to, NOTE_GROUP, NULL, &mine.e) !=
                         0;
    }
    fumi_arena_done(&mine.a);
    return NULL;
}

static void *search_some(void *arg)
{
    struct crowd *c = arg;
    struct fixture mine = {.s = c->t->s};
    struct filter f = fixture_filter("p");
    size_t before = 0;
    for (int i = 0; i < EACH; i++) {
        struct hits h, m;
        c->failed += fixture_near(&mine, &f, 0, 1000, &h) != 0;
        c->failed += h.n < before;
        before = h.n;
        c->failed += fixture_match(&mine, &f, FUMI_STR("words"), 10, &m) != 0;
    }
    fumi_arena_done(&mine.a);
    return NULL;
}

TEST(searching_while_others_write)
{
    struct fixture t = {0};
    struct crowd crowd[WRITERS + 2];
    pthread_t threads[WRITERS + 2];
    CHECK(fixture_open(&t));
    for (int i = 0; i < WRITERS + 2; i++) {
        crowd[i] = (struct crowd){&t, i * 1000, 0};
        CHECK_INT(
            pthread_create(&threads[i], NULL, i < WRITERS ? add_some : search_some, &crowd[i]), 0);
    }
    int failed = 0;
    for (int i = 0; i < WRITERS + 2; i++) {
        pthread_join(threads[i], NULL);
        failed += crowd[i].failed;
    }
    CHECK_INT(failed, 0);
    struct hits h;
    struct filter f = fixture_filter("p");
    CHECK_INT(fixture_near(&t, &f, 0, 1000, &h), 0);
    CHECK_INT(h.n, WRITERS * EACH);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}
