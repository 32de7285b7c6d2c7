/* Overviews of a store: notes per day, and samples with vectors. */
#include "store/scoped.h"
#include "store_fixture.h"
#include "test.h"

enum { HOUR = 3600000, DAY = 24 * HOUR };

static bool add_at(struct fixture *t, const char *id, int64_t created, double angle)
{
    struct note n = fixture_note(id, "text");
    n.created.ms = created;
    return fixture_put(t, &n, angle) == 0;
}

TEST(days_are_counted_in_local_time)
{
    struct fixture t = {0};
    struct filter f = fixture_filter("p");
    struct days days;
    CHECK(fixture_open(&t));
    CHECK(add_at(&t, "a", 10 * (int64_t)DAY + HOUR, NAN));
    CHECK(add_at(&t, "b", 10 * (int64_t)DAY + 23 * HOUR, NAN));
    CHECK(add_at(&t, "c", 12 * (int64_t)DAY, NAN));
    CHECK(add_at(&t, "d", -1, NAN)); /* before 1970 */
    CHECK_INT(store_count_days(t.s, &t.a, &f, 0, &days, &t.e), 0);
    CHECK_INT(days.n, 3);
    CHECK_INT(days.items[0].number, -1);
    CHECK_INT(days.items[1].number, 10);
    CHECK_INT(days.items[1].notes, 2);
    CHECK_INT(days.items[2].number, 12);
    CHECK_INT(store_count_days(t.s, &t.a, &f, 9 * HOUR, &days, &t.e), 0);
    CHECK_INT(days.n, 4); /* the 23rd hour is on the next day in Tokyo */
    CHECK_INT(days.items[2].number, 11);
    CHECK_INT(days.items[2].notes, 1);
    f.since = 11 * (int64_t)DAY;
    CHECK_INT(store_count_days(t.s, &t.a, &f, 0, &days, &t.e), 0);
    CHECK_INT(days.n, 1);
    fixture_end(&t);
}

TEST(many_days_are_counted)
{
    struct fixture t = {0};
    struct filter f = fixture_filter("p");
    struct days days;
    char id[16];
    CHECK(fixture_open(&t));
    for (int i = 0; i < 200; i++) {
        snprintf(id, sizeof(id), "n%d", i);
        CHECK(add_at(&t, id, (int64_t)i * DAY, NAN));
    }
    CHECK_INT(store_count_days(t.s, &t.a, &f, 0, &days, &t.e), 0);
    CHECK_INT(days.n, 200);
    CHECK_INT(days.items[199].number, 199);
    fixture_end(&t);
}

static int take_sample(struct fixture *t, struct store *s, const struct filter *f, size_t limit,
                       struct sample *out)
{
    return store_sample_vectors(s, ALL_IN(&t->a), f, SPACE, limit, out, &t->e);
}

TEST(a_sample_has_the_vectors_of_its_notes)
{
    struct fixture t = {0};
    struct filter f = fixture_filter("p");
    struct sample s;
    float x[DIM];
    CHECK(fixture_open(&t));
    CHECK(add_at(&t, "a", 1000, 0.5));
    CHECK(add_at(&t, "b", 1000, NAN));
    CHECK(add_at(&t, "c", 1000, 2.5));
    CHECK_INT(take_sample(&t, t.s, &f, 10, &s), 0);
    CHECK_STR(fixture_note_ids(&t, &s.notes), "a c");
    CHECK_INT(s.total, 3);
    CHECK_INT(s.without, 1);
    CHECK_INT(s.dim, DIM);
    fixture_vector(2.5, x);
    CHECK(memcmp(s.x + DIM, x, sizeof(x)) == 0);
    fixture_end(&t);
}

TEST(a_sample_of_many_notes_is_evenly_spaced)
{
    struct fixture t = {0};
    struct filter f = fixture_filter("p");
    struct sample s;
    char id[16];
    CHECK(fixture_open(&t));
    for (int i = 0; i < 10; i++) {
        snprintf(id, sizeof(id), "n%d", i);
        CHECK(add_at(&t, id, 1000, i * 0.1));
    }
    CHECK_INT(take_sample(&t, t.s, &f, 5, &s), 0);
    CHECK_STR(fixture_note_ids(&t, &s.notes), "n1 n3 n5 n7 n9");
    CHECK_INT(s.total, 10);
    CHECK_INT(take_sample(&t, t.s, &f, 3, &s), 0);
    CHECK_INT(s.notes.n, 3);
    CHECK_INT(take_sample(&t, t.s, &f, 10, &s), 0);
    CHECK_INT(s.notes.n, 10);
    fixture_end(&t);
}

TEST(a_sample_of_an_unknown_space_or_an_empty_project_is_empty)
{
    struct fixture t = {0};
    struct filter f = fixture_filter("p"), none = fixture_filter("q");
    struct sample s;
    CHECK(fixture_open(&t));
    CHECK(add_at(&t, "a", 1000, NAN));
    CHECK_INT(take_sample(&t, t.s, &f, 5, &s), 0);
    CHECK_INT(s.notes.n, 0);
    CHECK_INT(s.without, 1);
    CHECK_INT(take_sample(&t, t.s, &none, 5, &s), 0);
    CHECK_INT(s.total, 0);
    fixture_end(&t);
}

TEST(overviews_stay_in_their_scope)
{
    struct fixture t = {0};
    const struct scope scope = {.project = FUMI_STR("p")};
    struct filter all = {.since = INT64_MIN, .until = INT64_MAX}, other = fixture_filter("q");
    struct sample s;
    struct days days;
    CHECK(fixture_open(&t));
    CHECK(add_at(&t, "a", 1000, 0.5));
    struct note n = fixture_note("b", "text");
    n.project = FUMI_STR("q");
    CHECK_INT(fixture_put(&t, &n, 1), 0);
    struct store *own = scoped_new(t.s, &scope);
    CHECK_INT(take_sample(&t, own, &all, 5, &s), 0);
    CHECK_STR(fixture_note_ids(&t, &s.notes), "a");
    CHECK_INT(store_count_days(own, &t.a, &all, 0, &days, &t.e), 0);
    CHECK_INT(days.items[0].notes, 1);
    CHECK_INT(take_sample(&t, own, &other, 5, &s), -1);
    CHECK_INT(store_count_days(own, &t.a, &other, 0, &days, &t.e), -1);
    store_close(own);
    fixture_end(&t);
}
