/* The counts of projects, which the store caches, while two programs write the same file. */
#include "store_fixture.h"
#include "test.h"

enum { PROJECTS = 3, GROUPS = 4, STEPS = 400, IDS = 60, OTHERS = 12 };

struct stored {
    bool there;
    int project, group;
};

struct counting {
    struct fixture t;
    struct store *other; /* another program */
    struct stored notes[IDS];
    uint32_t random;
};

static uint32_t roll(struct counting *c, uint32_t sides)
{
    c->random = c->random * 1103515245 + 12345;
    return (c->random >> 16) % sides;
}

static struct fumi_str name(struct counting *c, char letter, int n)
{
    return fumi_fmt(&c->t.a, "%c%d", letter, n);
}

static struct fumi_str text_of(struct counting *c)
{
    struct fumi_str s = FUMI_STR("apple");
    for (uint32_t n = roll(c, 150); n; n--)
        s = fumi_fmt(&c->t.a, "%.*s word%u", FUMI_ARG(s), (unsigned)roll(c, 30));
    return s;
}

/* Adds, deletes or changes a note, in one of the two programs. */
static void write_one(struct counting *c)
{
    struct store *s = roll(c, 2) ? c->t.s : c->other;
    int i = (int)roll(c, IDS);
    struct stored *n = &c->notes[i];
    struct note to = {.id = name(c, 'n', i), .text = text_of(c), .created = {1000 + i, true}};
    if (n->there && roll(c, 2)) {
        CHECK_INT(store_update_note(s, &c->t.a, to.id, &to, NOTE_TEXT, NULL, &c->t.e), 0);
        return;
    }
    if (n->there) {
        CHECK_INT(store_delete(s, &c->t.a, to.id, NULL, &c->t.e), 0);
        n->there = false;
        return;
    }
    *n = (struct stored){true, (int)roll(c, PROJECTS), (int)roll(c, GROUPS)};
    to.project = name(c, 'p', n->project);
    to.group = name(c, 'g', n->group);
    CHECK_INT(
        store_add_note(s, &c->t.a, &to, &(struct note_change){.allow_duplicate = true}, &c->t.e),
        0);
}

/* project, group -1: any */
static int64_t expected(const struct counting *c, int project, int group)
{
    int64_t n = 0;
    for (int i = 0; i < IDS; i++)
        n += c->notes[i].there && (project < 0 || c->notes[i].project == project) &&
             (group < 0 || c->notes[i].group == group);
    return n;
}

static void compare_counts(struct counting *c, struct store *s)
{
    for (int project = -1; project < PROJECTS; project++) {
        for (int group = -1; group < GROUPS; group++) {
            struct filter f = {.since = INT64_MIN, .until = INT64_MAX};
            struct filtered n;
            if (project >= 0)
                f.project = name(c, 'p', project);
            if (group >= 0)
                f.group = name(c, 'g', group);
            CHECK_INT(store_count_notes(s, &f, &n, &c->t.e), 0);
            CHECK_INT(n.project, expected(c, project, -1));
            CHECK_INT(n.left, expected(c, project, group));
        }
    }
}

static void keywords(struct counting *c, struct store *s, struct keyword_hits *out)
{
    struct filter f = fixture_filter("p1");
    const struct keyword_query q = {.text = FUMI_STR("apple word7 word8"), .limit = IDS};
    CHECK_INT(store_match_keywords(s, &c->t.a, &f, &q, out, &c->t.e), 0);
}

/* A store that was just opened has nothing cached. */
static void compare_scores(struct counting *c, struct store *s)
{
    struct keyword_hits cached, fresh;
    struct store *third = fixture_store(&c->t, c->t.path);
    keywords(c, s, &cached);
    keywords(c, third, &fresh);
    CHECK(cached.notes == fresh.notes);
    CHECK_INT(cached.hits.n, fresh.hits.n);
    for (size_t i = 0; i < cached.hits.n && i < fresh.hits.n; i++) {
        CHECK_INT(cached.hits.items[i].seq, fresh.hits.items[i].seq);
        CHECK(cached.hits.items[i].score == fresh.hits.items[i].score);
    }
    store_close(third);
}

TEST(counts_follow_the_writes_of_two_programs)
{
    struct counting c = {.random = 7};
    CHECK(fixture_open(&c.t));
    c.other = fixture_store(&c.t, c.t.path);
    for (int i = 0; i < STEPS; i++) {
        write_one(&c);
        compare_counts(&c, roll(&c, 2) ? c.t.s : c.other);
        if (i % 20 == 0)
            compare_scores(&c, c.t.s);
    }
    store_close(c.other);
    fixture_end(&c.t);
}

/* There are more projects than entries in the cache. */
TEST(counts_of_many_projects)
{
    struct counting c = {0};
    struct filtered n;
    CHECK(fixture_open(&c.t));
    for (int i = 0; i < OTHERS * OTHERS; i++) {
        struct note to = {.id = name(&c, 'n', i),
                          .project = name(&c, 'p', i % OTHERS),
                          .group = FUMI_STR("g"),
                          .text = FUMI_STR("apple")};
        if (i % OTHERS <= i / OTHERS)
            CHECK_INT(store_add_note(c.t.s, &c.t.a, &to,
                                     &(struct note_change){.allow_duplicate = true}, &c.t.e),
                      0);
    }
    for (int i = 0; i < 3 * OTHERS; i++) {
        struct filter f = {.project = name(&c, 'p', i % OTHERS), .until = INT64_MAX};
        CHECK_INT(store_count_notes(c.t.s, &f, &n, &c.t.e), 0);
        CHECK_INT(n.project, OTHERS - i % OTHERS);
    }
    fixture_end(&c.t);
}
