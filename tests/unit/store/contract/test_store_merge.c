#include "test.h"

#include "store/sqlite_merge.h"
#include "store_fixture.h"

#include "base/clock.h"
#include "base/uuid.h"

#define ID   "11111111-2222-4333-8444-555555555555"
#define KEY  FUMI_STR("global.k")
#define NONE ((struct fumi_str){0})

static struct global global(const char *id, const char *project, const char *value, int64_t updated)
{
    return (struct global){.id = fumi_str(id),
                           .project = fumi_str(project),
                           .key = KEY,
                           .value = fumi_str(value),
                           .updated = updated};
}

static struct group group(const char *id, const char *project, const char *title)
{
    return (struct group){.id = fumi_str(id),
                          .project = fumi_str(project),
                          .key = FUMI_STR("k"),
                          .title = fumi_str(title),
                          .description = FUMI_STR("")};
}

/* Returns the outcome (enum merged), or -1 with t->e set. */
static int merge(struct fixture *t, struct merge_row *r)
{
    store_merge(t->s, &t->a, r, 1, NULL);
    t->e = r->e;
    return r->e.code ? -1 : (int)r->outcome;
}

static int merge_note(struct fixture *t, struct note *n)
{
    struct merge_row r = {.kind = MERGE_NOTE, .note = *n};
    int out = merge(t, &r);
    *n = r.note;
    return out;
}

static int merge_group(struct fixture *t, struct group *g)
{
    struct merge_row r = {.kind = MERGE_GROUP, .group = *g};
    int out = merge(t, &r);
    *g = r.group;
    return out;
}

static int merge_global(struct fixture *t, struct global *g)
{
    struct merge_row r = {.kind = MERGE_GLOBAL, .global = *g};
    int out = merge(t, &r);
    *g = r.global;
    return out;
}

static struct global get(struct fixture *t, const char *project)
{
    struct global g = {.updated = -1};
    store_get_global(t->s, &t->a, fumi_str(project), KEY, &g, &t->e);
    return g;
}

static int64_t notes_of(struct fixture *t)
{
    struct store_stats st = {.notes = -1};
    store_stats(t->s, &st, &t->e);
    return st.notes;
}

TEST(put_global_takes_no_id_from_another)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    struct global a = global("1", "p", "1", 1), b = global("1", "q", "2", 2);
    CHECK_INT(store_set_global(t.s, &t.a, &a, NULL, &t.e), 0);
    CHECK_INT(store_set_global(t.s, &t.a, &b, NULL, &t.e), -1);
    CHECK_INT(t.e.code, ERR_CONFLICT);
    CHECK_STR(get(&t, "p").value, "1");
    CHECK_INT(get(&t, "q").updated, -1);
    fixture_end(&t);
}

/* The store contains "a" of time 10. Each row: the imported value and its time, the outcome, and
 * the stored value and time afterwards. */
TEST(the_newer_global_stays)
{
    static const struct {
        const char *value;
        int64_t updated;
        enum merged out;
        const char *then;
        int64_t at;
    } rows[] = {
        {"\"a\"", 10, MERGED_SAME, "\"a\"", 10},  {"\"a\"", 9, MERGED_SAME, "\"a\"", 10},
        {"\"a\"", 30, MERGED_SAME, "\"a\"", 30},  {"\"b\"", 9, MERGED_OLDER, "\"a\"", 10},
        {"\"b\"", 10, MERGED_OLDER, "\"a\"", 10}, {"\"b\"", 11, MERGED_ADDED, "\"b\"", 11},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fixture t = {0};
        CHECK(fixture_open(&t));
        struct global is = global("1", "p", "\"a\"", 10),
                      g = global("2", "p", rows[i].value, rows[i].updated);
        CHECK_INT(merge_global(&t, &is), MERGED_ADDED);
        CHECK_INT(merge_global(&t, &g), rows[i].out);
        CHECK_STR(g.id, "1");
        is = get(&t, "p");
        CHECK_STR(is.id, "1");
        CHECK_STR(is.value, rows[i].then);
        CHECK_INT(is.updated, rows[i].at);
        CHECK(fixture_sound(&t));
        fixture_end(&t);
    }
}

/* A note, a group and a global in each of two projects, all with the same id. */
TEST(an_id_of_something_else_is_issued_anew)
{
    static const char *const projects[] = {"p", "q"};
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < FUMI_COUNT(projects); i++) {
            struct note n = fixture_note(ID, "text");
            struct group g = group(ID, projects[i], "T");
            struct global v = global(ID, projects[i], "1", 10);
            n.project = fumi_str(projects[i]);
            int first = i ? MERGED_RENAMED : MERGED_ADDED;
            CHECK_INT(merge_note(&t, &n), again ? MERGED_SAME : first);
            CHECK_INT(merge_group(&t, &g), again ? MERGED_SAME : MERGED_RENAMED);
            CHECK_INT(merge_global(&t, &v), again ? MERGED_SAME : MERGED_RENAMED);
            CHECK(fumi_is_uuid(n.id) && fumi_is_uuid(g.id) && fumi_is_uuid(v.id));
            CHECK(!fumi_eq(n.id, g.id) && !fumi_eq(g.id, v.id) && !fumi_eq(n.id, v.id));
            CHECK(fumi_eq(n.id, FUMI_STR(ID)) == !i);
        }
    }
    struct store_stats st;
    CHECK_INT(store_stats(t.s, &st, &t.e), 0);
    CHECK_INT(st.notes, 2);
    CHECK_INT(st.groups, 2);
    CHECK_INT(st.globals, 2);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* The first object keeps the id, whatever its kind; the two others get new ids. */
TEST(an_id_belongs_to_the_first_of_any_kind)
{
    for (int first = 0; first < 3; first++) {
        struct fixture t = {0};
        CHECK(fixture_open(&t));
        for (int i = 0; i < 3; i++) {
            struct note n = fixture_note(ID, "text");
            struct group g = group(ID, "p", "T");
            struct global v = global(ID, "p", "1", 10);
            int kind = (first + i) % 3;
            int out = kind == 0   ? merge_note(&t, &n)
                      : kind == 1 ? merge_group(&t, &g)
                                  : merge_global(&t, &v);
            CHECK_INT(out, i ? MERGED_RENAMED : MERGED_ADDED);
        }
        CHECK(fixture_sound(&t));
        fixture_end(&t);
    }
}

TEST(notes_that_have_no_id_left)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    struct note n = fixture_note(ID, "text");
    for (int i = 0; i < MERGE_IDS; i++) {
        n.text = fumi_fmt(&t.a, "text %d", i);
        CHECK_INT(merge_note(&t, &n), MERGED_ADDED);
        n.id = store_sqlite_id_next(&t.a, n.id, FUMI_STR("q"));
    }
    n = fixture_note(ID, "text");
    n.project = FUMI_STR("q");
    struct group g = group(ID, "q", "T");
    struct global v = global(ID, "q", "1", 10);
    CHECK_INT(merge_note(&t, &n), -1);
    CHECK_INT(t.e.code, ERR_CONFLICT);
    CHECK_INT(merge_group(&t, &g), -1);
    CHECK_INT(t.e.code, ERR_CONFLICT);
    CHECK_INT(merge_global(&t, &v), -1);
    CHECK_INT(t.e.code, ERR_CONFLICT);
    CHECK_INT(notes_of(&t), MERGE_IDS);
    fixture_end(&t);
}

/* Each row differs from the stored note in one member. */
TEST(a_note_that_differs_is_refused)
{
    struct fumi_str tag = FUMI_STR("tag");
    struct note is = fixture_note(ID, "text");
    is.metadata.text = FUMI_STR("{}"), is.tags = (struct fumi_strs){&tag, 1};
    struct note rows[] = {is, is, is, is, is, is, is};
    rows[0].text = FUMI_STR("other"), rows[1].title = FUMI_STR(""), rows[2].source = FUMI_STR("s");
    rows[3].metadata.text = NONE, rows[4].tags.n = 0, rows[5].created.ms++,
    rows[6].group = FUMI_STR("g");
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    struct note n = is;
    CHECK_INT(merge_note(&t, &n), MERGED_ADDED);
    n = is;
    CHECK_INT(merge_note(&t, &n), MERGED_SAME);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        CHECK_INT(merge_note(&t, &rows[i]), -1);
        CHECK_INT(t.e.code, ERR_CONFLICT);
    }
    n = is, n.created.set = false;
    CHECK_INT(merge_note(&t, &n), MERGED_SAME);
    CHECK_INT(notes_of(&t), 1);
    fixture_end(&t);
}

TEST(a_note_without_a_time_gets_the_present)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    struct note n = fixture_note(ID, "text"), got;
    int64_t before = fumi_now();
    n.created.set = false;
    CHECK_INT(merge_note(&t, &n), MERGED_ADDED);
    CHECK_INT(store_get_note(t.s, &t.a, n.id, &got, &t.e), 0);
    CHECK(got.created.ms >= before && got.created.ms <= fumi_now());
    fixture_end(&t);
}

TEST(a_group_that_differs_is_refused)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    struct group a = group("1", "p", "T"), b = group("2", "p", "U"), c = group("2", "p", "T");
    CHECK_INT(merge_group(&t, &a), MERGED_ADDED);
    CHECK_INT(merge_group(&t, &b), -1);
    CHECK_INT(t.e.code, ERR_CONFLICT);
    CHECK_INT(merge_group(&t, &c), MERGED_SAME);
    CHECK_STR(c.id, "1");
    fixture_end(&t);
}

/* Each row has its own result, as if the rows had been merged one after the other. */
TEST(rows_of_all_kinds_are_merged_in_order)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    struct note n = fixture_note(ID, "One."), differs = n, other = n;
    differs.text = FUMI_STR("Two.");
    other.project = FUMI_STR("q");
    struct merge_row rows[] = {
        {.kind = MERGE_NOTE, .note = n},
        {.kind = MERGE_NOTE, .note = differs},
        {.kind = MERGE_NOTE, .note = n},
        {.kind = MERGE_NOTE, .note = other},
        {.kind = MERGE_GROUP, .group = group("g", "p", "T")},
        {.kind = MERGE_GROUP, .group = group("h", "p", "U")},
        {.kind = MERGE_GLOBAL, .global = global("x", "p", "2", 2)},
        {.kind = MERGE_GLOBAL, .global = global("y", "p", "1", 1)},
    };
    const int expected[] = {MERGED_ADDED, -1, MERGED_SAME,  MERGED_RENAMED,
                            MERGED_ADDED, -1, MERGED_ADDED, MERGED_OLDER};
    store_merge(t.s, &t.a, rows, FUMI_COUNT(rows), NULL);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        CHECK_INT(rows[i].e.code, expected[i] < 0 ? ERR_CONFLICT : 0);
        CHECK(expected[i] < 0 || (int)rows[i].outcome == expected[i]);
    }
    CHECK(rows[0].note.seq > 0 && !fumi_eq(rows[3].note.id, n.id));
    CHECK_STR(rows[7].global.id, "x");
    CHECK_INT(notes_of(&t), 2);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}
