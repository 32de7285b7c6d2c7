/* Neighbours: the notes before and after a note in its session, or of its writer. */
#include "store/scoped.h"
#include "store_fixture.h"
#include "test.h"

struct added {
    const char *id, *project, *group, *session;
    int64_t created;
    uint64_t writer;
};

static int64_t add(struct fixture *t, struct added g)
{
    struct note n = fixture_note(g.id, "text");
    n.project = fumi_str(g.project ? g.project : "p");
    n.group = fumi_str(g.group ? g.group : "global");
    n.session = g.session ? fumi_str(g.session) : (struct fumi_str){0};
    n.created.ms = g.created;
    n.writer = g.writer;
    return fixture_put(t, &n, NAN) ? 0 : n.seq;
}

/* The ids of the neighbours, "-" for none. */
static struct fumi_str ids_of(struct fixture *t, const struct neighbours *n)
{
    struct fumi_str out = FUMI_STR("");
    for (size_t i = 0; i < 4; i++) {
        struct notes heads = {0};
        if (n->seq[i] && store_load_heads(t->s, &t->a, &n->seq[i], 1, &heads, &t->e))
            return FUMI_STR("failed");
        out = fumi_fmt(&t->a, "%.*s%s%.*s", FUMI_ARG(out), i ? " " : "",
                       FUMI_ARG(heads.n ? heads.items[0].id : FUMI_STR("-")));
    }
    return out;
}

static struct fumi_str around(struct fixture *t, int64_t seq)
{
    struct neighbours n;
    if (store_neighbours(t->s, &t->a, &seq, 1, &n, &t->e))
        return FUMI_STR("failed");
    return ids_of(t, &n);
}

TEST(by_time_then_by_seq)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    static const struct {
        const char *id;
        int64_t created;
        const char *want;
    } rows[] = {
        {"c", 3000, "a b d e"}, {"a", 1000, "- - b c"}, {"b", 2000, "- a c d"},
        {"d", 3000, "b c e f"}, {"e", 3000, "c d f -"}, {"f", 9000, "d e - -"},
    };
    struct neighbours all[FUMI_COUNT(rows)];
    int64_t seqs[FUMI_COUNT(rows)];
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        seqs[i] = add(&t, (struct added){rows[i].id, .session = "s", .created = rows[i].created});
        CHECK(seqs[i] > 0);
        add(&t, (struct added){fumi_fmt(&t.a, "other%zu", i).p, .created = rows[i].created});
    }
    CHECK_INT(store_neighbours(t.s, &t.a, seqs, FUMI_COUNT(rows), all, &t.e), 0);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK_STR(ids_of(&t, &all[i]), rows[i].want);
    CHECK_STR(around(&t, 99), "- - - -");
    CHECK_INT(store_delete(t.s, &t.a, FUMI_STR("d"), NULL, &t.e), 0);
    CHECK_STR(around(&t, seqs[0]), "a b e f");
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(a_session_belongs_to_a_project_and_a_group)
{
    static const struct added rows[] = {
        {"1", NULL, NULL, "s", 1000, 0},   {"2", "q", NULL, "s", 2000, 0},
        {"3", NULL, "g", "s", 3000, 0},    {"4", NULL, NULL, "t", 4000, 0},
        {"5", NULL, NULL, NULL, 5000, 0},  {"6", NULL, NULL, NULL, 6000, 7},
        {"7", NULL, NULL, NULL, 7000, 8},  {"8", NULL, NULL, NULL, 8000, 0},
        {"9", NULL, NULL, "s", 9000, 7},   {"10", NULL, NULL, NULL, 10000, 7},
        {"11", NULL, NULL, "t", 11000, 0},
    };
    static const char *const want[] = {"- - 9 -", "- - - -",  "- - - -", "- - 11 -",
                                       "- - - -", "- - 10 -", "- - - -", "- - - -",
                                       "- 1 - -", "- 6 - -",  "- 4 - -"};
    struct fixture t = {0};
    int64_t seqs[FUMI_COUNT(rows)];
    CHECK(fixture_open(&t));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK((seqs[i] = add(&t, rows[i])) > 0);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK_STR(around(&t, seqs[i]), want[i]);
    fixture_end(&t);
}

/* A note that moves to another group leaves the chain of its writer, but not its session. Other
 * changes keep both. */
TEST(an_update_keeps_the_session)
{
    struct fixture t = {0};
    struct note to = {.group = FUMI_STR("g"), .title = FUMI_STR("T")}, got;
    int64_t seqs[6];
    CHECK(fixture_open(&t));
    for (int i = 0; i < 6; i++)
        seqs[i] = add(&t, (struct added){fumi_fmt(&t.a, "%d", i).p, .session = i < 3 ? "s" : NULL,
                                         .writer = 5, .created = 1000 + i});
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("1"), &to, NOTE_TITLE, NULL, &t.e), 0);
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("4"), &to, NOTE_TITLE, NULL, &t.e), 0);
    CHECK_STR(around(&t, seqs[0]), "- - 1 2");
    CHECK_STR(around(&t, seqs[3]), "- - 4 5");
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("1"), &to, NOTE_GROUP, NULL, &t.e), 0);
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("2"), &to, NOTE_GROUP, NULL, &t.e), 0);
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("4"), &to, NOTE_GROUP, NULL, &t.e), 0);
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("5"), &to, NOTE_GROUP, NULL, &t.e), 0);
    CHECK_STR(around(&t, seqs[0]), "- - - -");
    CHECK_STR(around(&t, seqs[1]), "- - 2 -");
    CHECK_STR(around(&t, seqs[3]), "- - - -");
    CHECK_STR(around(&t, seqs[4]), "- - - -");
    CHECK_INT(store_get_note(t.s, &t.a, FUMI_STR("2"), &got, &t.e), 0);
    CHECK_STR(got.session, "s");
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(imported_notes_have_only_sessions)
{
    struct fixture t = {0};
    int64_t seqs[4];
    CHECK(fixture_open(&t));
    for (int i = 0; i < 4; i++) {
        struct note n = fixture_note(fumi_fmt(&t.a, "%d", i).p, fumi_fmt(&t.a, "text %d", i).p);
        n.session = i < 2 ? FUMI_STR("s") : (struct fumi_str){0};
        struct merge_row rows[3] = {{.note = n}, {.note = n}, {.note = n}};
        rows[2].note.session = FUMI_STR("other");
        store_merge(t.s, &t.a, rows, FUMI_COUNT(rows), NULL);
        CHECK(!rows[0].e.code && rows[0].outcome == MERGED_ADDED);
        CHECK(!rows[1].e.code && rows[1].outcome == MERGED_SAME);
        CHECK_INT(rows[2].e.code, ERR_CONFLICT);
        seqs[i] = rows[0].note.seq;
    }
    CHECK_STR(around(&t, seqs[0]), "- - 1 -");
    CHECK_STR(around(&t, seqs[2]), "- - - -");
    fixture_end(&t);
}

TEST(a_scope_shows_no_neighbours_of_other_projects)
{
    static const struct scope of_p = {.project = {"p", 1}};
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    int64_t seqs[] = {add(&t, (struct added){"1", .session = "s"}), 77,
                      add(&t, (struct added){"2", "q", .session = "s"}),
                      add(&t, (struct added){"3", .session = "s"}),
                      add(&t, (struct added){"4", "q", .session = "s"})};
    struct neighbours all[FUMI_COUNT(seqs)];
    struct store *in = t.s;
    t.s = scoped_new(in, &of_p);
    CHECK_INT(store_neighbours(t.s, &t.a, seqs, FUMI_COUNT(seqs), all, &t.e), 0);
    CHECK_STR(ids_of(&t, &all[0]), "- - 3 -");
    CHECK_STR(ids_of(&t, &all[1]), "- - - -");
    CHECK_STR(ids_of(&t, &all[2]), "- - - -");
    CHECK_STR(ids_of(&t, &all[3]), "- 1 - -");
    CHECK_STR(ids_of(&t, &all[4]), "- - - -");
    store_close(t.s);
    t.s = in;
    fixture_end(&t);
}
