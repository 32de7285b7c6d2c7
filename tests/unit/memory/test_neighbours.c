/* On a store with two sessions: notes 1 to 6 in one, 7 and 8 in the other, 9 in none. */
#include "memory/neighbours.h"
#include "memory/results.h"
#include "store_fixture.h"
#include "test.h"

static bool begin(struct fixture *t)
{
    *t = (struct fixture){0};
    if (!fixture_open(t))
        return false;
    for (int i = 1; i <= 9; i++) {
        char id[16];
        struct fumi_str even = FUMI_STR("even");
        snprintf(id, sizeof(id), "n%d", i);
        struct note n = fixture_note(id, "text");
        n.created.ms = 1000 * i;
        n.tags = (struct fumi_strs){&even, i % 2 == 0};
        if (i < 9)
            n.session = i < 7 ? FUMI_STR("one") : FUMI_STR("two");
        if (fixture_put(t, &n, i == 4 ? NAN : 0.1 * i) || n.seq != i)
            return false;
    }
    return true;
}

static const struct result *find(const struct results *r, int64_t seq)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->items[i].note.seq == seq)
            return &r->items[i];
    return NULL;
}

/* Raises the scores of notes that were found by meaning only, best first. */
static int raise_found(struct fixture *t, const struct filter *f, struct hits near,
                       struct results *out)
{
    float x[DIM];
    fixture_vector(0, x);
    const struct fuse_input in = {.meaning = near, .weight = 0.5};
    const struct neighbour_search s = {t->s, f, &in, SPACE, x, DIM};
    *out = fuse(&t->a, &in);
    return neighbours_raise(&s, &t->a, out, &t->e);
}

TEST(notes_raise_their_neighbours)
{
    struct fixture t;
    struct results r;
    struct filter f = fixture_filter("p");
    struct hit near[] = {
        {.seq = 3, .score = 0.9}, {.seq = 9, .score = 0.5}, {.seq = 2, .score = 0}};
    CHECK(begin(&t));
    CHECK_INT(raise_found(&t, &f, (struct hits){.items = near, .n = 3}, &r), 0);
    CHECK_INT(r.n, 6);                                       /* 1, 4 and 5 come in */
    CHECK(fabs(find(&r, 2)->neighbours - 0.3 * 0.5) < 1e-9); /* 3 has the score 0.5 */
    CHECK(fabs(find(&r, 2)->score - 0.3 * 0.5) < 1e-9);
    CHECK(fabs(find(&r, 4)->neighbours - 0.3 * 0.5) < 1e-9);
    CHECK(fabs(find(&r, 1)->neighbours - 0.7 * 0.3 * 0.5) < 1e-9);
    CHECK(fabs(find(&r, 5)->neighbours - 0.7 * 0.3 * 0.5) < 1e-9);
    CHECK(find(&r, 3)->neighbours == 0); /* its neighbours have no scores */
    CHECK(find(&r, 9)->neighbours == 0); /* no session */
    fixture_end(&t);
}

TEST(a_note_that_comes_in_has_its_own_cosine)
{
    struct fixture t;
    struct results r;
    struct filter f = fixture_filter("p");
    struct hit near[] = {{.seq = 3, .score = 0.999}, {.seq = 9, .score = 0.1}};
    CHECK(begin(&t));
    CHECK_INT(raise_found(&t, &f, (struct hits){.items = near, .n = 2}, &r), 0);
    const struct result *one = find(&r, 1), *four = find(&r, 4);
    CHECK(one && four);
    CHECK(fabs(one->meaning - cos(0.1)) < 1e-5);
    CHECK_INT(one->meaning_rank, 2);
    CHECK_INT(one->end, 4);
    CHECK(one->score > four->score);
    CHECK_INT(four->meaning_rank, 0); /* no vector */
    CHECK(four->meaning == 0);
    fixture_end(&t);
}

TEST(neighbours_pass_the_filter)
{
    struct fixture t;
    struct results r;
    struct filter f = fixture_filter("p");
    struct fumi_str even = FUMI_STR("even");
    struct hit near[] = {{.seq = 4, .score = 0.9}};
    CHECK(begin(&t));
    f.tags = (struct fumi_strs){&even, 1};
    CHECK_INT(raise_found(&t, &f, (struct hits){.items = near, .n = 1}, &r), 0);
    CHECK_INT(r.n, 3); /* 4, and 2 and 6 two notes away */
    CHECK(find(&r, 2) && find(&r, 6));
    f.until = 5000;
    CHECK_INT(raise_found(&t, &f, (struct hits){.items = near, .n = 1}, &r), 0);
    CHECK_INT(r.n, 2);
    CHECK(find(&r, 2));
    f.any_tags = f.tags;
    f.tags.n = 0;
    CHECK_INT(raise_found(&t, &f, (struct hits){.items = near, .n = 1}, &r), 0);
    CHECK_INT(r.n, 2);
    fixture_end(&t);
}

TEST(nothing_found_has_no_neighbours)
{
    struct fixture t;
    struct results r;
    struct filter f = fixture_filter("p");
    CHECK(begin(&t));
    CHECK_INT(raise_found(&t, &f, (struct hits){0}, &r), 0);
    CHECK_INT(r.n, 0);
    fixture_end(&t);
}

TEST(scores_and_their_parts_are_scaled_together)
{
    struct result items[] = {{.score = 1.2, .neighbours = 0.3, .time = 0.1}, {.score = 0.6}};
    struct results r = {items, 2};
    results_scale(&r);
    CHECK(fabs(items[0].score - 1) < 1e-9 && fabs(items[1].score - 0.5) < 1e-9);
    CHECK(fabs(items[0].neighbours - 0.25) < 1e-9);
    CHECK(fabs(items[0].time - 0.1 / 1.2) < 1e-9);
    results_scale(&r);
    CHECK(fabs(items[1].score - 0.5) < 1e-9);
}
