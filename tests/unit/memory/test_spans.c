#include "memory/results.h"
#include "memory/spans.h"
#include "store_fixture.h"
#include "test.h"

enum { DAY = 86400000 };

TEST(a_span_fits_inside_and_less_around)
{
    const struct date_span s = {10 * DAY, 12 * (int64_t)DAY, 0, 0};
    static const struct {
        int64_t created;
        double fit;
    } rows[] = {
        {10 * (int64_t)DAY, 1}, {12 * (int64_t)DAY - 1, 1},
        {12 * (int64_t)DAY, 1}, {13 * (int64_t)DAY, 0.5},
        {14 * (int64_t)DAY, 0}, {9 * (int64_t)DAY, 0.5},
        {8 * (int64_t)DAY, 0},  {0, 0},
        {INT64_MIN, 0},         {INT64_MAX, 0},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        double got = spans_fit(&s, 1, rows[i].created);
        if (fabs(got - rows[i].fit) > 1e-6)
            TEST_FAIL("%" PRId64 ": got %f", rows[i].created, got);
    }
}

TEST(the_best_of_several_spans_counts)
{
    const struct date_span s[] = {{0, DAY, 0, 0}, {9 * (int64_t)DAY, 10 * (int64_t)DAY, 0, 0}};
    CHECK(spans_fit(s, 2, 9 * (int64_t)DAY) == 1);
    CHECK(spans_fit(s, 2, 0) == 1);
    CHECK(spans_fit(s, 2, 5 * (int64_t)DAY) == 0);
    CHECK(spans_fit(s, 0, 0) == 0);
}

TEST(notes_of_the_time_score_more)
{
    struct fixture t = {0};
    struct result items[] = {{.note.seq = 2, .score = 0.5},
                             {.note.seq = 77, .score = 0.4}, /* deleted */
                             {.note.seq = 1, .score = 0.3}};
    struct results all = {items, 3};
    const struct date_span s = {2 * (int64_t)DAY, 3 * (int64_t)DAY, 0, 0};
    CHECK(fixture_open(&t));
    for (int i = 1; i <= 2; i++) {
        struct note n = fixture_note(i == 1 ? "a" : "b", "text");
        n.created.ms = (i == 1 ? 2 : 8) * (int64_t)DAY;
        CHECK_INT(fixture_put(&t, &n, NAN), 0);
    }
    CHECK_INT(spans_raise(t.s, &t.a, &s, 1, &all, &t.e), 0);
    CHECK(items[0].score == 0.5 && items[0].time == 0);
    CHECK(items[1].score == 0.4);
    CHECK(items[2].time > 0 && fabs(items[2].score - 0.3 - items[2].time) < 1e-9);
    fixture_end(&t);
}
