/* What is said once, corrected, traced, undone and forgotten. */
#include "base/clock.h"
#include "store_fixture.h"
#include "test.h"

static const struct author somebody = {.client = {"client", 6},
                                       .version = {"1.0", 3},
                                       .session = {"s1", 2},
                                       .transport = {"stdio", 5},
                                       .user = {"me", 2}};

static int say(struct fixture *t, struct note *n, struct note_change *how)
{
    how->by = &somebody;
    return store_add_note(t->s, &t->a, n, how, &t->e);
}

static int say_text(struct fixture *t, const char *id, const char *text, struct note_change *how)
{
    struct note n = fixture_note(id, text);
    return say(t, &n, how);
}

static struct note got(struct fixture *t, const char *id)
{
    struct note n = {.seq = 0};
    return store_get_note(t->s, &t->a, fumi_str(id), &n, &t->e) ? (struct note){.seq = 0} : n;
}

/* The ids of the current notes that have a word, best first; of all notes if `old`. */
static const char *found(struct fixture *t, const char *word, bool old)
{
    struct filter f = fixture_filter("p");
    struct hits h = {0};
    f.superseded = old;
    return fixture_match(t, &f, fumi_str(word), 10, &h) ? "failed" : fixture_ids(t, &h).p;
}

static struct changes history(struct fixture *t, const char *id)
{
    struct changes out = {0};
    struct history_query q = {.id = id ? fumi_str(id) : (struct fumi_str){0},
                              .since = INT64_MIN,
                              .until = INT64_MAX,
                              .limit = 100};
    if (store_history(t->s, &t->a, &q, &out, &t->e))
        TEST_FAIL("history: %s", t->e.text);
    return out;
}

static struct undone undo(struct fixture *t, int64_t change)
{
    struct undone out = {0};
    struct undo_query q = {.change = change};
    if (store_undo(t->s, &t->a, &q, &somebody, &out, &t->e))
        TEST_FAIL("undo: %s", t->e.text);
    return out;
}

TEST(the_same_is_stored_once)
{
    struct fixture t = {0};
    struct note_change how = {.by = NULL};
    struct fumi_str tags[] = {FUMI_STR("a"), FUMI_STR("b")};
    CHECK(fixture_open(&t));
    struct note n = fixture_note("1", "The port is 80.");
    n.title = FUMI_STR("Port");
    n.tags = (struct fumi_strs){tags, 1};
    CHECK_INT(say(&t, &n, &how), 0);
    CHECK(!how.duplicate && how.change == 1);
    struct note same = fixture_note("2", " The port is 80.\n");
    same.tags = (struct fumi_strs){tags, 2};
    CHECK_INT(say(&t, &same, &how), 0);
    CHECK(how.duplicate && how.change == 2);
    CHECK_STR(same.id, "1");
    CHECK_INT(same.seq, n.seq);
    CHECK_INT(got(&t, "1").tags.n, 2);
    struct note again = fixture_note("3", "The port is 80.");
    CHECK_INT(say(&t, &again, &how), 0);
    CHECK(how.duplicate && how.change == 0);
    const struct {
        struct note note;
        bool same;
    } others[] = {
        {{.title = FUMI_STR("Port")}, true}, {{.title = FUMI_STR("Ports")}, false},
        {{.source = FUMI_STR("x")}, false},  {{.metadata = {FUMI_STR("{}")}}, false},
        {{.group = FUMI_STR("g")}, false},   {{.project = FUMI_STR("q")}, false},
    };
    for (size_t i = 0; i < FUMI_COUNT(others); i++) {
        struct note o = others[i].note;
        o.id = fumi_fmt(&t.a, "o%zu", i);
        o.text = n.text;
        o.created = n.created;
        o.group = o.group.p ? o.group : n.group;
        o.project = o.project.p ? o.project : n.project;
        CHECK_INT(say(&t, &o, &how), 0);
        CHECK_INT(how.duplicate, others[i].same);
    }
    how.allow_duplicate = true;
    CHECK_INT(say_text(&t, "4", "The port is 80.", &how), 0);
    CHECK(!how.duplicate && got(&t, "4").id.p);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(a_superseded_note_is_left_out)
{
    struct fixture t = {0};
    struct note_change how = {.by = NULL};
    struct fumi_str old = FUMI_STR("1"), none = FUMI_STR("none");
    struct filtered counts;
    struct filter f = fixture_filter("p");
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "The database is Oracle.", 0.1), 0);
    CHECK_INT(fixture_add(&t, "x", "Another database.", 0.2), 0);
    how.supersedes = (struct fumi_strs){&none, 1};
    CHECK_INT(say_text(&t, "2", "The database is Postgres.", &how), -1);
    CHECK(t.e.code == ERR_NOT_FOUND && strstr(t.e.text, "none"));
    how.supersedes = (struct fumi_strs){&old, 1};
    CHECK_INT(say_text(&t, "2", "The database is Postgres.", &how), 0);
    CHECK_INT(how.superseded.n, 1);
    CHECK_STR(got(&t, "1").superseded_by, "2");
    CHECK_STR(fumi_str(found(&t, "oracle", false)), "");
    CHECK_STR(fumi_str(found(&t, "oracle", true)), "1");
    CHECK_INT(store_count_notes(t.s, &f, &counts, &t.e), 0);
    CHECK_INT(counts.superseded, 1);
    CHECK_INT(counts.left, 2);
    struct names tags;
    struct naming w = {.kind = NAME_TAG, .project = FUMI_STR("p"), .limit = 9};
    CHECK(!store_list_names(t.s, &t.a, &w, &tags, &t.e) && tags.n == 0);
    w.project = (struct fumi_str){0};
    CHECK(!store_list_names(t.s, &t.a, &w, &tags, &t.e) && tags.n == 0);
    struct hits near;
    CHECK_INT(fixture_near(&t, &f, 0.1, 5, &near), 0);
    CHECK_STR(fixture_ids(&t, &near), "x");
    struct filter any = {.since = INT64_MIN, .until = INT64_MAX};
    CHECK_INT(fixture_near(&t, &any, 0.1, 5, &near), 0);
    CHECK_STR(fixture_ids(&t, &near), "x");
    struct note to = {.title = FUMI_STR("T")};
    how.supersedes = (struct fumi_strs){&(struct fumi_str){"2", 1}, 1};
    CHECK_INT(store_update_note(t.s, &t.a, old, &to, NOTE_TITLE, &how, &t.e), -1);
    CHECK(strstr(t.e.text, "supersede itself"));
    CHECK(fixture_sound(&t));
    CHECK_INT(store_delete(t.s, &t.a, FUMI_STR("2"), NULL, &t.e), 0);
    CHECK(!got(&t, "1").superseded_by.p);
    CHECK_STR(fumi_str(found(&t, "oracle", false)), "1");
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(a_note_is_superseded_once)
{
    struct fixture t = {0};
    struct note_change how = {.by = NULL};
    struct fumi_str twice[] = {FUMI_STR("1"), FUMI_STR("1")};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "The database is Oracle.", 0.1), 0);
    how.supersedes = (struct fumi_strs){twice, 2};
    CHECK_INT(say_text(&t, "2", "The database is Postgres.", &how), 0);
    CHECK_INT(how.superseded.n, 1);
    CHECK_INT(history(&t, "1").n, 2);
    CHECK_STR(fumi_str(found(&t, "database", false)), "2");
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* Makes the note `to` the successor of the note `from`. Returns the number of the change. */
static int64_t succeed(struct fixture *t, const char *from, const char *to)
{
    struct fumi_str id = fumi_str(from);
    struct note_change how = {.by = &somebody, .supersedes = {&id, 1}};
    return store_update_note(t->s, &t->a, fumi_str(to), NULL, 0, &how, &t->e) ? -1 : how.change;
}

TEST(an_undo_makes_no_cycle_of_successors)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "The first text.", 0.1), 0);
    CHECK_INT(fixture_add(&t, "2", "The second text.", 0.2), 0);
    CHECK_INT(fixture_add(&t, "3", "The third text.", 0.3), 0);
    struct undone back = undo(&t, succeed(&t, "1", "2"));
    CHECK(succeed(&t, "2", "1") > 0);
    CHECK(undo(&t, back.change).change > 0);
    CHECK(!got(&t, "1").superseded_by.p);
    CHECK_STR(got(&t, "2").superseded_by, "1");
    CHECK(succeed(&t, "3", "1") > 0);
    CHECK(succeed(&t, "1", "3") == -1 && strstr(t.e.text, "supersede itself"));
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* Otherwise neither note would be found in the project that the successor has left. */
TEST(a_successor_that_is_moved_supersedes_no_longer)
{
    struct fixture t = {0};
    struct note to = {.project = FUMI_STR("q")};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "The first text.", 0.1), 0);
    CHECK_INT(fixture_add(&t, "2", "The second text.", 0.2), 0);
    CHECK(succeed(&t, "1", "2") > 0);
    struct note_change how = {.by = &somebody};
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("2"), &to, NOTE_PROJECT, &how, &t.e), 0);
    CHECK(!got(&t, "1").superseded_by.p);
    CHECK_STR(fumi_str(found(&t, "text", false)), "1");
    CHECK_INT(undo(&t, how.change).rows_n, 2);
    CHECK_STR(got(&t, "1").superseded_by, "2");
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("1"), &to, NOTE_PROJECT, NULL, &t.e), 0);
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("2"), &to, NOTE_PROJECT, NULL, &t.e), 0);
    CHECK_STR(got(&t, "1").superseded_by, "2");
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(a_key_has_one_current_note)
{
    struct fixture t = {0};
    struct note_change how = {.by = NULL};
    CHECK(fixture_open(&t));
    for (int i = 0; i < 3; i++) {
        struct note n = fixture_note(fumi_fmt(&t.a, "%d", i).p, fumi_fmt(&t.a, "It is %d.", i).p);
        n.key = FUMI_STR("billing.database");
        CHECK_INT(say(&t, &n, &how), 0);
        CHECK_INT(how.superseded.n, i > 0);
    }
    CHECK_STR(got(&t, "0").superseded_by, "1");
    CHECK_STR(got(&t, "1").superseded_by, "2");
    CHECK_STR(fumi_str(found(&t, "it", false)), "2");
    struct note other = fixture_note("other", "Elsewhere.");
    other.project = FUMI_STR("q");
    other.key = FUMI_STR("billing.database");
    CHECK_INT(say(&t, &other, &how), 0);
    CHECK_INT(how.superseded.n, 0);
    CHECK_INT(say_text(&t, "late", "No key yet.", &how), 0);
    struct note to = {.key = FUMI_STR("billing.database")};
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("late"), &to, NOTE_KEY, &how, &t.e), 0);
    CHECK_STR(got(&t, "2").superseded_by, "late");
    CHECK_INT(undo(&t, how.change).rows_n, 2);
    CHECK(!got(&t, "2").superseded_by.p && !got(&t, "late").key.p);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* A note that is current again, because its successor was deleted, does not replace a later one
 * with its key. */
TEST(a_key_has_one_current_note_after_a_deletion)
{
    struct fixture t = {0};
    struct note_change how = {.by = NULL};
    struct fumi_str old = FUMI_STR("1");
    CHECK(fixture_open(&t));
    struct note n = fixture_note("1", "It is A."), last = fixture_note("3", "It is C.");
    n.key = last.key = FUMI_STR("k");
    last.created.ms = 2000;
    CHECK_INT(say(&t, &n, &how), 0);
    how.supersedes = (struct fumi_strs){&old, 1};
    CHECK_INT(say_text(&t, "2", "It is B.", &how), 0);
    how.supersedes = (struct fumi_strs){0};
    CHECK_INT(say(&t, &last, &how), 0);
    CHECK_INT(store_delete(t.s, &t.a, FUMI_STR("2"), &how, &t.e), 0);
    CHECK_STR(got(&t, "1").superseded_by, "3");
    CHECK(undo(&t, how.change).rows_n && !got(&t, "3").superseded_by.p);
    CHECK_STR(got(&t, "1").superseded_by, "2");
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* A note that is imported does not replace a later one. */
TEST(an_old_import_does_not_supersede)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    struct note now = fixture_note("now", "It is new."), old = fixture_note("old", "It was old.");
    now.key = old.key = FUMI_STR("k");
    old.created.ms = 500;
    CHECK_INT(fixture_put(&t, &now, NAN), 0);
    struct merge_row row = {.note = old};
    store_merge(t.s, &t.a, &row, 1, &somebody);
    CHECK_INT(row.e.code, 0);
    CHECK_STR(got(&t, "old").superseded_by, "now");
    CHECK(!got(&t, "now").superseded_by.p);
    fixture_end(&t);
}

TEST(an_import_skips_what_is_said)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "Said.", NAN), 0);
    struct merge_row rows[] = {{.note = fixture_note("2", "Said. ")},
                               {.note = fixture_note("3", "Not yet.")},
                               {.note = fixture_note("4", "Not yet.")}};
    store_merge(t.s, &t.a, rows, FUMI_COUNT(rows), &somebody);
    CHECK(!rows[0].e.code && rows[0].outcome == MERGED_EQUAL);
    CHECK_STR(rows[0].note.id, "1");
    CHECK_INT(rows[1].outcome, MERGED_ADDED);
    CHECK_INT(rows[2].outcome, MERGED_EQUAL);
    struct changes h = history(&t, NULL);
    CHECK(h.n == 2 && h.items[0].op == CHANGE_ADD);
    CHECK_STR(h.items[0].by.session, "s1");
    fixture_end(&t);
}

TEST(an_expired_note_is_not_found)
{
    struct fixture t = {0};
    struct note_change how = {.by = NULL};
    bool more = true;
    CHECK(fixture_open(&t));
    struct note n = fixture_note("1", "For a while."), later = fixture_note("2", "For long.");
    n.expires = (struct fumi_time){fumi_now() - 1, true};
    later.expires = (struct fumi_time){fumi_now() + 1000000, true};
    CHECK(!say(&t, &n, &how) && !say(&t, &later, &how));
    CHECK(!got(&t, "1").id.p && got(&t, "2").expires.ms == later.expires.ms);
    CHECK_STR(fumi_str(found(&t, "for", false)), "2");
    struct note again = fixture_note("3", "For a while.");
    CHECK(!say(&t, &again, &how) && !how.duplicate);
    CHECK_INT(store_expire(t.s, 10, &more, &t.e), 0);
    struct changes h = history(&t, "1");
    CHECK(!more && h.n == 2 && h.items[0].op == CHANGE_EXPIRE);
    CHECK_INT(undo(&t, h.items[0].change).rows_n, 1);
    CHECK_STR(got(&t, "1").text, "For a while.");
    CHECK(!got(&t, "1").expires.set);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(each_change_is_traced)
{
    struct fixture t = {0};
    struct note_change how = {.by = NULL};
    struct note to = {.text = FUMI_STR("after"), .title = FUMI_STR("T")};
    CHECK(fixture_open(&t));
    CHECK_INT(say_text(&t, "1", "before", &how), 0);
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("1"), &to, NOTE_TEXT | NOTE_TITLE, &how, &t.e),
              0);
    how.by = NULL;
    CHECK_INT(store_delete(t.s, &t.a, FUMI_STR("1"), &how, &t.e), 0);
    struct changes h = history(&t, "1");
    CHECK_INT(h.n, 3);
    const enum change_op ops[] = {CHANGE_DELETE, CHANGE_UPDATE, CHANGE_ADD};
    for (size_t i = 0; i < h.n; i++) {
        CHECK_INT(h.items[i].op, ops[i]);
        CHECK_STR(h.items[i].id, "1");
        CHECK_STR(h.items[i].project, "p");
        CHECK_INT(h.items[i].change, (int64_t)(3 - i));
    }
    CHECK_STR(h.items[1].before, "{\"title\":null,\"text\":\"before\"}");
    CHECK(!h.items[2].before.p && !h.items[0].by.client.p);
    CHECK_STR(h.items[2].by.client, "client");
    CHECK_STR(h.items[2].by.version, "1.0");
    CHECK_STR(h.items[2].by.session, "s1");
    CHECK_STR(h.items[2].by.transport, "stdio");
    CHECK_STR(h.items[2].by.user, "me");
    struct history_query q = {.session = FUMI_STR("s1"),
                              .project = FUMI_STR("p"),
                              .client = FUMI_STR("client"),
                              .since = INT64_MIN,
                              .until = INT64_MAX,
                              .limit = 1};
    CHECK_INT(store_history(t.s, &t.a, &q, &h, &t.e), 0);
    CHECK(h.n == 1 && h.items[0].n == 2);
    q.before_n = 2;
    CHECK_INT(store_history(t.s, &t.a, &q, &h, &t.e), 0);
    CHECK(h.n == 1 && h.items[0].n == 1);
    q.project = FUMI_STR("q");
    CHECK(!store_history(t.s, &t.a, &q, &h, &t.e) && h.n == 0);
    fixture_end(&t);
}

/* A note with all members, as text. */
static struct fumi_str whole(struct fixture *t, const char *id)
{
    struct note n = got(t, id);
    struct fumi_str out = FUMI_STR("");
    for (size_t i = 0; i < NOTE_INDEX_N; i++)
        out = fumi_fmt(&t->a, "%.*s|%.*s", FUMI_ARG(out), FUMI_ARG(note_text_of(&n, i)));
    for (size_t i = 0; i < n.tags.n; i++)
        out = fumi_fmt(&t->a, "%.*s+%.*s", FUMI_ARG(out), FUMI_ARG(n.tags.items[i]));
    return fumi_fmt(&t->a, "%.*s %lld %lld %lld", FUMI_ARG(out), (long long)n.created.ms,
                    (long long)n.expires.ms, (long long)n.chain);
}

/* An agent overwrites ten notes and deletes five: one undo puts all of them back, and an undo of
 * that undo makes the changes again. */
TEST(a_session_is_undone)
{
    enum { NOTES = 15 };
    struct fixture t = {0};
    struct fumi_str before[NOTES], after[NOTES], tag = FUMI_STR("t\"ag");
    CHECK(fixture_open(&t));
    for (int i = 0; i < NOTES; i++) {
        struct note n = fixture_note(fumi_fmt(&t.a, "%d", i).p, fumi_fmt(&t.a, "was \x01%d", i).p);
        n.writer = 7;
        n.title = FUMI_STR("Title");
        n.tags = (struct fumi_strs){&tag, 1};
        n.metadata.text = FUMI_STR("{\"a\": [1.50, \"\\u00e9\"]}");
        n.expires = (struct fumi_time){INT64_C(4102444800123), true};
        CHECK_INT(fixture_put(&t, &n, 0.1 * i), 0);
        before[i] = whole(&t, n.id.p);
    }
    for (int i = 0; i < NOTES; i++) {
        struct note_change how = {.by = &somebody};
        struct fumi_str id = fumi_fmt(&t.a, "%d", i);
        struct note to = {.text = FUMI_STR("overwritten"), .group = FUMI_STR("other")};
        int rc = i < 10 ? store_update_note(t.s, &t.a, id, &to,
                                            0xFFFF & (NOTE_TEXT | NOTE_GROUP | NOTE_TAGS |
                                                      NOTE_METADATA | NOTE_EXPIRES),
                                            &how, &t.e)
                        : store_delete(t.s, &t.a, id, &how, &t.e);
        CHECK_INT(rc, 0);
        after[i] = whole(&t, id.p);
        CHECK(!fumi_eq(before[i], after[i]));
    }
    struct undone out;
    struct undo_query q = {.session = FUMI_STR("s1"), .dry_run = true};
    CHECK_INT(store_undo(t.s, &t.a, &q, NULL, &out, &t.e), 0);
    CHECK(out.rows_n == NOTES && !out.conflicts_n && !out.change);
    CHECK_STR(whole(&t, "3"), after[3].p);
    q.dry_run = false;
    CHECK_INT(store_undo(t.s, &t.a, &q, NULL, &out, &t.e), 0);
    CHECK(out.rows_n == NOTES && !out.conflicts_n && out.change);
    for (int i = 0; i < NOTES; i++)
        CHECK_STR(whole(&t, fumi_fmt(&t.a, "%d", i).p), before[i].p);
    CHECK(fixture_sound(&t));
    out = undo(&t, out.change);
    CHECK(out.rows_n == NOTES && !out.conflicts_n);
    for (int i = 0; i < NOTES; i++)
        CHECK_STR(whole(&t, fumi_fmt(&t.a, "%d", i).p), after[i].p);
    CHECK(fixture_sound(&t));
    out = undo(&t, out.change);
    CHECK_INT(out.rows_n, NOTES);
    CHECK_STR(whole(&t, "3"), before[3].p);
    CHECK_STR(whole(&t, "12"), before[12].p);
    fixture_end(&t);
}

/* A later change of the same members is kept, one of others is not in the way. */
TEST(an_undo_keeps_later_changes)
{
    struct fixture t = {0};
    struct note_change one = {.by = &somebody}, two = {.by = NULL};
    struct note to = {.title = FUMI_STR("first"), .source = FUMI_STR("src")};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "text", NAN), 0);
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("1"), &to, NOTE_TITLE, &one, &t.e), 0);
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("1"), &to, NOTE_SOURCE, &two, &t.e), 0);
    struct undone out = undo(&t, one.change);
    CHECK(out.rows_n == 1 && !out.conflicts_n);
    CHECK(!got(&t, "1").title.p && got(&t, "1").source.p);
    out = undo(&t, one.change);
    CHECK(!out.rows_n && !out.conflicts_n && !out.change);
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("1"), &to, NOTE_TITLE, &one, &t.e), 0);
    to.title = FUMI_STR("second");
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("1"), &to, NOTE_TITLE, &two, &t.e), 0);
    out = undo(&t, one.change);
    CHECK(!out.rows_n && out.conflicts_n == 1 && out.conflicts[0].change == two.change);
    CHECK_STR(got(&t, "1").title, "second");
    out = undo(&t, two.change);
    CHECK_INT(out.rows_n, 1);
    out = undo(&t, one.change);
    CHECK(out.rows_n == 1 && !got(&t, "1").title.p);
    fixture_end(&t);
}

TEST(groups_and_globals_are_undone)
{
    struct fixture t = {0};
    struct group g = {.id = FUMI_STR("g"),
                      .project = FUMI_STR("p"),
                      .key = FUMI_STR("k"),
                      .title = FUMI_STR("T"),
                      .created = 1,
                      .updated = 1};
    struct global v = {.id = FUMI_STR("v"),
                       .project = FUMI_STR("p"),
                       .key = FUMI_STR("global.x"),
                       .value = FUMI_STR("[1, 2.50]"),
                       .updated = 1};
    CHECK(fixture_open(&t));
    CHECK_INT(store_add_group(t.s, &g, NULL, &t.e), 0);
    CHECK_INT(store_set_global(t.s, &t.a, &v, NULL, &t.e), 0);
    int64_t since = fumi_now();
    while (fumi_now() == since) {}
    since = fumi_now();
    CHECK_INT(store_update_group(t.s, g.id, FUMI_STR("U"), FUMI_STR("D"), 9, NULL, &t.e), 0);
    struct global w = v;
    w.value = FUMI_STR("null");
    w.updated = 9;
    CHECK_INT(store_set_global(t.s, &t.a, &w, NULL, &t.e), 0);
    CHECK_INT(store_delete_group(t.s, g.id, NULL, &t.e), 0);
    CHECK_INT(store_delete(t.s, &t.a, v.id, NULL, &t.e), 0);
    struct undone out;
    struct undo_query q = {.since = since, .project = FUMI_STR("p")};
    CHECK_INT(store_undo(t.s, &t.a, &q, NULL, &out, &t.e), 0);
    CHECK(out.rows_n == 4 && !out.conflicts_n);
    struct group h;
    struct global x;
    CHECK_INT(store_get_group(t.s, &t.a, g.id, &h, &t.e), 0);
    CHECK_STR(h.title, "T");
    CHECK(!h.description.p && h.created == 1 && h.updated == 1);
    CHECK_INT(store_get_global(t.s, &t.a, v.project, v.key, &x, &t.e), 0);
    CHECK_STR(x.value, "[1, 2.50]");
    CHECK_INT(x.updated, 1);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(a_project_is_moved_and_moved_back)
{
    struct fixture t = {0};
    struct moving m = {.from = FUMI_STR("p"), .to = FUMI_STR("q"), .limit = 3, .more = true};
    struct group g = {.id = FUMI_STR("g"),
                      .project = FUMI_STR("p"),
                      .key = FUMI_STR("k"),
                      .title = FUMI_STR("T")};
    struct projects projects;
    CHECK(fixture_open(&t));
    for (int i = 0; i < 10; i++)
        CHECK_INT(fixture_add(&t, fumi_fmt(&t.a, "%d", i).p, "word text", NAN), 0);
    CHECK_INT(store_add_group(t.s, &g, NULL, &t.e), 0);
    CHECK_INT(store_set_project_remote(t.s, m.from, FUMI_STR("host/repo"), 5, &t.e), 0);
    CHECK_INT(store_find_projects(t.s, &t.a, FUMI_STR("host/repo"), &projects, &t.e), 0);
    CHECK(projects.n == 1 && projects.items[0].notes == 10 && projects.items[0].seen == 5);
    for (int i = 0; i < 10 && m.more; i++)
        CHECK_INT(store_move_notes(t.s, &m, &t.e), 0);
    CHECK(!m.more && m.change);
    CHECK_INT(store_find_projects(t.s, &t.a, (struct fumi_str){0}, &projects, &t.e), 0);
    CHECK(projects.n == 1 && projects.items[0].notes == 10 && projects.items[0].changed);
    CHECK_STR(projects.items[0].name, "q");
    struct filter f = fixture_filter("q");
    struct hits h;
    CHECK(!fixture_match(&t, &f, FUMI_STR("word"), 20, &h) && h.n == 10);
    CHECK_INT(undo(&t, m.change).rows_n, 11);
    f = fixture_filter("p");
    CHECK(!fixture_match(&t, &f, FUMI_STR("word"), 20, &h) && h.n == 10);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(injections_uses_and_reviews)
{
    struct fixture t = {0};
    struct fumi_str ids[] = {FUMI_STR("1"), FUMI_STR("2")};
    struct injections all;
    CHECK(fixture_open(&t));
    CHECK(!fixture_add(&t, "1", "one", NAN) && !fixture_add(&t, "2", "two", NAN));
    for (int i = 1; i < 3; i++)
        CHECK_INT(store_add_injection(t.s,
                                      &(struct injection){.at = i,
                                                          .project = FUMI_STR("p"),
                                                          .by = somebody,
                                                          .kind = FUMI_STR("hook"),
                                                          .ids = {ids, (size_t)i}},
                                      &t.e),
                  0);
    struct injection_query q = {.project = FUMI_STR("p"), .session = FUMI_STR("s1"), .limit = 9};
    CHECK_INT(store_list_injections(t.s, &t.a, &q, &all, &t.e), 0);
    CHECK(all.n == 2 && all.items[0].at == 2 && all.items[0].ids.n == 2);
    q.id = ids[1];
    CHECK(!store_list_injections(t.s, &t.a, &q, &all, &t.e) && all.n == 1);
    struct note_uses unused;
    CHECK_INT(store_add_uses(
                  t.s, (struct note_use[]){{.seq = 1, .n = 2, .last = 5000}, {.seq = 99}}, 2, &t.e),
              0);
    CHECK_INT(store_list_unused(t.s, &t.a, FUMI_STR("p"), 4000, 9, &unused, &t.e), 0);
    CHECK(unused.n == 1 && unused.items[0].seq == 2);
    CHECK_INT(store_list_unused(t.s, &t.a, FUMI_STR("p"), 6000, 9, &unused, &t.e), 0);
    CHECK(unused.n == 2 && unused.items[1].n == 2 && unused.items[1].last == 5000);
    struct review r = {.id = FUMI_STR("r"),
                       .at = 3,
                       .project = FUMI_STR("p"),
                       .by = somebody,
                       .op = CHANGE_UPDATE,
                       .note = ids[0],
                       .body = FUMI_STR("{}")},
                  is;
    struct reviews list;
    CHECK_INT(store_add_review(t.s, &r, &t.e), 0);
    CHECK_INT(store_add_review(t.s, &r, &t.e), -1);
    CHECK(!store_list_reviews(t.s, &t.a, FUMI_STR("p"), 9, &list, &t.e) && list.n == 1);
    CHECK_INT(store_get_review(t.s, &t.a, r.id, &is, &t.e), 0);
    CHECK(is.op == CHANGE_UPDATE && fumi_eq(is.note, r.note) && fumi_eq(is.by.user, r.by.user));
    CHECK_INT(store_drop_review(t.s, r.id, &t.e), 0);
    CHECK_INT(store_get_review(t.s, &t.a, r.id, &is, &t.e), -1);
    CHECK_INT(store_drop_review(t.s, r.id, &t.e), -1);
    fixture_end(&t);
}

TEST(reviews_of_one_moment_are_listed_in_their_order)
{
    struct fixture t = {0};
    struct reviews list;
    CHECK(fixture_open(&t));
    const char *const in_order[] = {"z", "y", "a"};
    for (size_t i = 0; i < FUMI_COUNT(in_order); i++) {
        struct review r = {
            .id = fumi_str(in_order[i]), .at = 3, .project = FUMI_STR("p"), .body = FUMI_STR("{}")};
        CHECK_INT(store_add_review(t.s, &r, &t.e), 0);
    }
    CHECK(!store_list_reviews(t.s, &t.a, FUMI_STR("p"), 9, &list, &t.e) && list.n == 3);
    for (size_t i = 0; i < list.n; i++)
        CHECK(fumi_eq(list.items[i].id, fumi_str(in_order[i])));
    fixture_end(&t);
}

/* grep runs in another process: closing a file in this one would release SQLite's locks on it. */
static bool files_have(struct fixture *t, const char *word)
{
    return system(fumi_fmt(&t->a, "grep -rqa %s %s/data", word, t->top).p) == 0;
}

TEST(a_decided_review_leaves_no_text)
{
    struct fixture t = {0};
    const struct review r = {.id = FUMI_STR("r"),
                             .project = FUMI_STR("p"),
                             .body = FUMI_STR("{\"text\":\"floccinaucinihil\"}")};
    bool more = true;
    CHECK(fixture_open(&t));
    CHECK_INT(store_add_review(t.s, &r, &t.e), 0);
    CHECK(files_have(&t, "floccinaucinihil"));
    CHECK_INT(store_drop_review(t.s, r.id, &t.e), 0);
    while (more)
        CHECK_INT(store_erase_step(t.s, &more, &t.e), 0);
    CHECK(!files_have(&t, "floccinaucinihil"));
    fixture_end(&t);
}

TEST(a_forgotten_note_leaves_no_text)
{
    struct fixture t = {0};
    struct fumi_str ids[] = {FUMI_STR("1"), FUMI_STR("2")};
    struct forget_query q = {.ids = {ids, 2}, .project = FUMI_STR("q")};
    struct forgotten out;
    CHECK(fixture_open(&t));
    CHECK(!fixture_add(&t, "1", "one", NAN) && !fixture_add(&t, "2", "two", NAN));
    CHECK_INT(store_delete(t.s, &t.a, ids[1], NULL, &t.e), 0);
    CHECK_INT(store_backup(t.s, fumi_fmt(&t.a, "%s/copy.db", t.top), &t.e), 0);
    CHECK_INT(store_forget(t.s, &t.a, &q, NULL, &out, &t.e), -1);
    CHECK(t.e.code == ERR_NOT_FOUND && got(&t, "1").id.p);
    q.project = FUMI_STR("p");
    CHECK_INT(store_forget(t.s, &t.a, &q, NULL, &out, &t.e), 0);
    CHECK(out.notes == 1 && out.copies.n == 1 && strstr(out.copies.items[0].p, "/copy.db"));
    struct changes h = history(&t, NULL);
    CHECK(h.n == 4 && h.items[0].op == CHANGE_FORGET && h.items[3].op == CHANGE_ADD);
    CHECK(!undo(&t, h.items[0].change).rows_n && !got(&t, "1").id.p);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(history_is_pruned)
{
    struct fixture t = {0};
    bool more = true;
    CHECK(fixture_open(&t));
    for (int i = 0; i < 20; i++)
        CHECK_INT(fixture_add(&t, fumi_fmt(&t.a, "%d", i).p, "text", NAN), 0);
    CHECK_INT(store_prune_history(t.s, 0, 0, &more, &t.e), 0);
    CHECK(!more && history(&t, NULL).n == 20);
    CHECK_INT(store_prune_history(t.s, 0, 1300, &more, &t.e), 0);
    CHECK(history(&t, NULL).n > 5 && history(&t, NULL).n < 15);
    CHECK_INT(store_prune_history(t.s, INT64_MAX, 0, &more, &t.e), 0);
    CHECK(!more && history(&t, NULL).n == 0);
    CHECK_INT(store_delete(t.s, &t.a, FUMI_STR("1"), NULL, &t.e), 0);
    CHECK(history(&t, NULL).items[0].n > 20);
    fixture_end(&t);
}
