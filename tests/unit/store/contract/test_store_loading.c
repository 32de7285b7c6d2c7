/* Lists that are loaded row by row: which rows `each` of struct loading receives, and the effect of
 * its return value. */
#include "store_fixture.h"
#include "test.h"

enum { NOTES = 6 };

/* Keeps the first `stop` rows, then returns `verdict`. */
struct rows {
    size_t shown, stop, bytes;
    int verdict;
    bool cut; /* cuts each text to two bytes */
};

static int each(void *arg, void *row, size_t bytes, struct fumi_err *e)
{
    struct rows *r = arg;
    struct note *n = row;
    r->bytes += bytes;
    if (r->cut)
        n->text.n = 2;
    if (r->shown++ < r->stop)
        return ROW_KEEP;
    return r->verdict < 0 ? fumi_err_set(e, FUMI_LIMIT, "enough") : r->verdict;
}

static bool begin(struct fixture *t)
{
    bool ok = fixture_open(t);
    for (int i = 0; i < NOTES && ok; i++) {
        struct fumi_str name = fumi_fmt(&t->a, "%d", i);
        struct note n = fixture_note(name.p, "text");
        struct group g = {
            .id = name, .project = FUMI_STR("p"), .key = name, .title = name, .created = i};
        struct global v = {.id = name,
                           .project = FUMI_STR("p"),
                           .key = fumi_fmt(&t->a, "global.%d", i),
                           .value = FUMI_STR("[1]")};
        n.title = FUMI_STR("tt"), n.created = (struct fumi_time){i, true};
        ok = !fixture_put(t, &n, NAN) && !store_add_group(t->s, &g, NULL, &t->e) &&
             !store_set_global(t->s, &t->a, &v, NULL, &t->e);
    }
    return ok;
}

static const struct {
    size_t stop;
    int verdict;
    size_t shown, kept;
} cases[] = {
    {NOTES, ROW_KEEP, NOTES, NOTES},
    {2, ROW_SKIP, NOTES, 2},
    {2, ROW_END, 3, 2},
    {2, -1, 3, 2},
    {0, ROW_END, 1, 0},
};

/* Loads one of the lists; sets *n to its number of rows. */
typedef int list_fn(struct fixture *t, const struct loading *to, size_t *n);

static int recent(struct fixture *t, const struct loading *to, size_t *n)
{
    struct filter f = fixture_filter("p");
    struct notes out;
    int rc = store_list_recent(t->s, to, &f, (struct cursor){0, 0}, 100, &out, &t->e);
    *n = out.n;
    return rc;
}

static int load(struct fixture *t, const struct loading *to, size_t *n)
{
    struct notes out;
    int rc = store_load_notes(t->s, to, (int64_t[]){6, 5, 4, 3, 99, 2, 1}, 7, &out, &t->e);
    *n = out.n;
    return rc;
}

static int groups(struct fixture *t, const struct loading *to, size_t *n)
{
    struct groups out;
    int rc = store_list_groups(t->s, to, FUMI_STR("p"), &out, &t->e);
    *n = out.n;
    return rc;
}

static int globals(struct fixture *t, const struct loading *to, size_t *n)
{
    struct globals out;
    int rc = store_list_globals(t->s, to, FUMI_STR("p"), FUMI_STR("global."), &out, &t->e);
    *n = out.n;
    return rc;
}

TEST(a_verdict_keeps_skips_or_ends)
{
    static list_fn *const lists[] = {recent, load, groups, globals};
    struct fixture t = {0};
    CHECK(begin(&t));
    for (size_t i = 0; i < FUMI_COUNT(lists) * FUMI_COUNT(cases); i++) {
        size_t k = i % FUMI_COUNT(cases), n = 99;
        struct rows r = {.stop = cases[k].stop, .verdict = cases[k].verdict};
        const struct loading to = {&t.a, each, &r};
        int rc = lists[i / FUMI_COUNT(cases)](&t, &to, &n);
        size_t shown = cases[k].shown;
        if (lists[i / FUMI_COUNT(cases)] == groups && shown == NOTES)
            shown++; /* the group "global", which only notes name, is the last */
        if (rc != (cases[k].verdict < 0 ? -1 : 0) || r.shown != shown ||
            n != cases[k].kept + (cases[k].verdict == ROW_KEEP ? shown - NOTES : 0))
            TEST_FAIL("list %zu, case %zu: %d, %zu shown, %zu kept", i / FUMI_COUNT(cases), k, rc,
                      r.shown, n);
        if (rc)
            CHECK_STR(fumi_str(t.e.text), "enough");
    }
    fixture_end(&t);
}

TEST(rows_that_are_left_out_count_for_the_limit)
{
    struct fixture t = {0};
    struct filter f = fixture_filter("p");
    struct rows r = {.stop = 0, .verdict = ROW_SKIP};
    const struct loading to = {&t.a, each, &r};
    struct notes out;
    CHECK(begin(&t));
    CHECK_INT(store_list_recent(t.s, &to, &f, (struct cursor){0, 0}, 2, &out, &t.e), 0);
    CHECK_INT(out.n, 0);
    CHECK_INT(r.shown, 2);
    CHECK_INT(r.bytes, 2 * (sizeof("text") - 1 + sizeof("tt") - 1));
    fixture_end(&t);
}

TEST(what_is_cut_is_not_copied)
{
    struct fixture t = {0};
    struct rows r = {.stop = 9, .cut = true};
    const struct loading to = {&t.a, each, &r};
    struct notes out;
    CHECK(begin(&t));
    CHECK_INT(store_load_notes(t.s, &to, (int64_t[]){2, 1}, 2, &out, &t.e), 0);
    CHECK_INT(out.n, 2);
    CHECK_STR(out.items[1].text, "te");
    CHECK_STR(out.items[1].title, "tt");
    CHECK_INT(store_load_heads(t.s, &t.a, (int64_t[]){3, 99, 1}, 3, &out, &t.e), 0);
    CHECK_INT(out.n, 2);
    CHECK_STR(out.items[0].id, "2");
    CHECK_INT(out.items[0].created.ms, 2);
    CHECK_INT(out.items[1].seq, 1);
    CHECK(!out.items[0].text.p);
    fixture_end(&t);
}
