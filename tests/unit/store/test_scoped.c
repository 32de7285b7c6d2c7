/* A store seen through a scope, also where no method reaches it; test_scope.c has the methods. */
#include "store/scoped.h"
#include "store/store_ops.h"
#include "store_fixture.h"
#include "test.h"

#include <sqlite3.h>

static const struct scope of_project = {.project = {"p", 1}};
static const struct scope of_reader = {.read_only = true};

/* Adds the notes "ours" to project p and "other" to project q. Sets t->s to the scoped store and
 * *in to the store behind it. */
static bool begin(struct fixture *t, const struct scope *s, struct store **in)
{
    *t = (struct fixture){.sync = false};
    if (!fixture_open(t) || fixture_add(t, "ours", "One of ours.", 0))
        return false;
    struct note n = fixture_note("other", "One of others.");
    n.project = FUMI_STR("q");
    if (fixture_put(t, &n, NAN))
        return false;
    *in = t->s;
    t->s = scoped_new(t->s, s);
    return true;
}

static void end(struct fixture *t, struct store *in)
{
    store_close(t->s);
    t->s = in;
    fixture_end(t);
}

/* An operation that was added to struct store_ops but not to the scoped store is NULL. */
TEST(every_operation_is_there)
{
    struct fixture t;
    struct store *in;
    void *ops[sizeof(struct store_ops) / sizeof(void *)];
    CHECK(begin(&t, &of_project, &in));
    memcpy(ops, t.s->ops, sizeof(ops));
    for (size_t i = 0; i < FUMI_COUNT(ops); i++)
        CHECK(ops[i]);
    end(&t, in);
}

static bool refuses(const struct fixture *t, int rc, int code)
{
    return rc && t->e.code == code && (code != FUMI_LIMIT || strstr(t->e.text, "started with --"));
}

TEST(operations_on_all_projects_are_refused)
{
    struct fixture t;
    struct store *in;
    struct unembeddeds lack;
    struct fumi_str fact;
    bool more;
    CHECK(begin(&t, &of_project, &in));
    CHECK(refuses(&t, store_list_unembedded(t.s, &t.a, SPACE, 0, 10, &lack, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_load_unembedded(t.s, &t.a, SPACE, NULL, 0, &lack, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_add_vectors(t.s, NULL, NULL, 0, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_get_meta(t.s, &t.a, "space", &fact, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_set_meta(t.s, "space", FUMI_STR("x"), &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_backup(t.s, FUMI_STR("/tmp/never"), &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_check(t.s, false, NULL, NULL, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_erase_step(t.s, &more, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_delete_spaces(t.s, SPACE, SPACE, &t.e), FUMI_LIMIT));
    end(&t, in);
}

TEST(lists_and_counts_are_of_the_project)
{
    struct fixture t;
    struct store *in;
    struct notes notes;
    struct store_stats stats;
    struct filtered left;
    const int64_t seqs[] = {2, 1};
    const struct filter any = {.since = INT64_MIN, .until = INT64_MAX};
    const struct filter other = fixture_filter("q");
    int64_t have, all;
    CHECK(begin(&t, &of_project, &in));
    CHECK_INT(store_load_notes(t.s, ALL_IN(&t.a), seqs, 2, &notes, &t.e), 0);
    CHECK_STR(fixture_note_ids(&t, &notes), "ours");
    CHECK_INT(store_list_by_seq(t.s, &t.a, NULL, 0, 10, &notes, &t.e), 0);
    CHECK_STR(fixture_note_ids(&t, &notes), "ours");
    CHECK_INT(store_list_recent(t.s, ALL_IN(&t.a), &any, (struct cursor){0, 0}, 9, &notes, &t.e),
              0);
    CHECK_STR(fixture_note_ids(&t, &notes), "ours");
    CHECK_INT(store_count_notes(t.s, &any, &left, &t.e), 0);
    CHECK_INT(left.left, 1);
    CHECK(refuses(&t, store_count_notes(t.s, &other, &left, &t.e), FUMI_INVALID_PARAMS));
    CHECK_INT(store_stats(t.s, &stats, &t.e), 0);
    CHECK(stats.notes == 1 && stats.projects == 1 && stats.vectors == 1 && stats.bytes == 0);
    CHECK_INT(store_embedding_progress(t.s, SPACE, &have, &all, &t.e), 0);
    CHECK(have == 1 && all == 1);
    end(&t, in);
}

/* The space has a vector of the other project's note, but none of ours. */
TEST(progress_counts_our_notes)
{
    struct fixture t;
    struct store *in;
    int64_t have, all;
    const struct scope of_q = {.project = FUMI_STR("q")};
    CHECK(begin(&t, &of_q, &in));
    CHECK_INT(store_embedding_progress(t.s, SPACE, &have, &all, &t.e), 0);
    CHECK(have == 0 && all == 1);
    CHECK_INT(store_embedding_progress(t.s, FUMI_STR("none"), &have, &all, &t.e), 0);
    CHECK(have == 0 && all == 1);
    end(&t, in);
}

TEST(merging_is_for_the_project)
{
    struct fixture t;
    struct store *in;
    CHECK(begin(&t, &of_project, &in));
    struct note n = fixture_note("n", "New.");
    struct group g = {.id = FUMI_STR("g"),
                      .project = FUMI_STR("p"),
                      .key = FUMI_STR("k"),
                      .title = FUMI_STR("T")};
    struct global x = {.id = FUMI_STR("x"),
                       .project = FUMI_STR("p"),
                       .key = FUMI_STR("global.x"),
                       .value = FUMI_STR("1")};
    struct note theirs = n;
    theirs.project = FUMI_STR("q");
    struct merge_row rows[] = {
        {.kind = MERGE_NOTE, .note = n},   {.kind = MERGE_NOTE, .note = theirs},
        {.kind = MERGE_GROUP, .group = g}, {.kind = MERGE_GLOBAL, .global = x},
        {.kind = MERGE_GROUP, .group = g}, {.kind = MERGE_GLOBAL, .global = x}};
    rows[4].group.project = rows[5].global.project = theirs.project;
    store_merge(t.s, &t.a, rows, FUMI_COUNT(rows), NULL);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK_INT(rows[i].e.code, i == 1 || i >= 4 ? FUMI_INVALID_PARAMS : 0);
    CHECK_INT(store_get_note(in, &t.a, n.id, &n, &t.e), 0);
    end(&t, in);
}

/* Our global has the same id as a note of another project: deleting by that id must not delete the
 * note. */
TEST(delete_takes_no_note_for_a_global)
{
    struct fixture t;
    struct store *in;
    struct note n;
    CHECK(begin(&t, &of_project, &in));
    struct global g = {.id = FUMI_STR("other"),
                       .project = FUMI_STR("p"),
                       .key = FUMI_STR("global.same"),
                       .value = FUMI_STR("1")};
    CHECK_INT(store_set_global(in, &t.a, &g, NULL, &t.e), 0);
    CHECK(refuses(&t, store_delete(t.s, &t.a, FUMI_STR("other"), NULL, &t.e), ERR_NOT_FOUND));
    CHECK_INT(store_get_note(in, &t.a, FUMI_STR("other"), &n, &t.e), 0);
    end(&t, in);
}

static bool damage(const struct fixture *t)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open(t->path, &db);
    rc = rc ? rc : sqlite3_exec(db, "UPDATE notes SET checksum=checksum+1", NULL, NULL, NULL);
    sqlite3_close(db);
    return !rc;
}

/* Damage of a note of another project is reported as "not found"; a damaged note of ours can be
 * deleted. */
TEST(damage_is_reported_for_our_notes_only)
{
    struct fixture t;
    struct store *in;
    struct note n;
    CHECK(begin(&t, &of_project, &in));
    CHECK(damage(&t));
    CHECK(refuses(&t, store_get_note(t.s, &t.a, FUMI_STR("other"), &n, &t.e), ERR_NOT_FOUND));
    CHECK(refuses(&t, store_delete(t.s, &t.a, FUMI_STR("other"), NULL, &t.e), ERR_NOT_FOUND));
    CHECK(store_get_note(t.s, &t.a, FUMI_STR("ours"), &n, &t.e) && t.e.code == FUMI_LIMIT);
    CHECK_INT(store_delete(t.s, &t.a, FUMI_STR("ours"), NULL, &t.e), 0);
    end(&t, in);
}

TEST(a_reader_writes_nothing)
{
    struct fixture t;
    struct store *in;
    struct note n = fixture_note("n", "New.");
    struct group g = {.project = FUMI_STR("p")};
    struct global x = {.project = FUMI_STR("p")};
    struct fumi_str id = FUMI_STR("ours"), none = {0};
    struct merge_row rows[] = {{.kind = MERGE_NOTE, .note = n},
                               {.kind = MERGE_GROUP, .group = g},
                               {.kind = MERGE_GLOBAL, .global = x}};
    bool more;
    CHECK(begin(&t, &of_reader, &in));
    CHECK(refuses(
        &t, store_add_note(t.s, &t.a, &n, &(struct note_change){.allow_duplicate = true}, &t.e),
        FUMI_LIMIT));
    CHECK(refuses(&t, store_update_note(t.s, &t.a, id, &n, NOTE_TITLE, NULL, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_delete(t.s, &t.a, id, NULL, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_add_group(t.s, &g, NULL, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_update_group(t.s, id, none, none, 1, NULL, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_delete_group(t.s, id, NULL, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_set_global(t.s, &t.a, &x, NULL, &t.e), FUMI_LIMIT));
    store_merge(t.s, &t.a, rows, FUMI_COUNT(rows), NULL);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK(rows[i].e.code == FUMI_LIMIT && strstr(rows[i].e.text, "started with --"));
    CHECK(refuses(&t, store_add_vectors(t.s, NULL, NULL, 0, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_delete_spaces(t.s, none, none, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_set_meta(t.s, "space", none, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_check(t.s, true, NULL, NULL, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_erase_step(t.s, &more, &t.e), FUMI_LIMIT));
    CHECK_INT(store_get_note(t.s, &t.a, FUMI_STR("other"), &n, &t.e), 0);
    end(&t, in);
}

/* History, undo, reviews and injections do not cross the border of the project. */
TEST(the_life_of_other_notes_is_not_seen)
{
    struct fixture t;
    struct store *in;
    struct fumi_str other = FUMI_STR("other"), q = FUMI_STR("q");
    struct note note;
    struct changes changes;
    struct undone undone;
    struct forgotten forgotten;
    struct injections injections;
    struct reviews reviews;
    struct note_uses uses;
    struct projects projects;
    struct review r = {.id = FUMI_STR("r"), .project = q, .body = FUMI_STR("{}")};
    CHECK(begin(&t, &of_project, &in));
    CHECK_INT(store_add_review(in, &r, &t.e), 0);
    CHECK_INT(store_add_injection(in, &(struct injection){.project = q, .kind = other}, &t.e), 0);
    struct history_query history = {.since = INT64_MIN, .until = INT64_MAX, .limit = 9};
    CHECK(!store_history(t.s, &t.a, &history, &changes, &t.e) && changes.n == 1);
    CHECK_STR(changes.items[0].id, "ours");
    history.id = other;
    CHECK(!store_history(t.s, &t.a, &history, &changes, &t.e) && changes.n == 0);
    history.project = q;
    CHECK(refuses(&t, store_history(t.s, &t.a, &history, &changes, &t.e), FUMI_INVALID_PARAMS));
    struct undo_query undo = {.change = 2}; /* the one that added "other" */
    CHECK(!store_undo(t.s, &t.a, &undo, NULL, &undone, &t.e) && !undone.rows_n && !undone.change);
    struct forget_query forget = {.ids = {&other, 1}};
    CHECK(refuses(&t, store_forget(t.s, &t.a, &forget, NULL, &forgotten, &t.e), ERR_NOT_FOUND));
    CHECK_INT(store_get_note(in, &t.a, other, &note, &t.e), 0);
    struct note_change how = {.supersedes = {&other, 1}};
    struct note to = {.project = q}, new = fixture_note("new", "New.");
    CHECK(refuses(&t, store_add_note(t.s, &t.a, &new, &how, &t.e), ERR_NOT_FOUND));
    CHECK(refuses(&t, store_update_note(t.s, &t.a, FUMI_STR("ours"), &to, NOTE_PROJECT, NULL, &t.e),
                  FUMI_INVALID_PARAMS));
    struct injection_query injected = {.limit = 9};
    CHECK(!store_list_injections(t.s, &t.a, &injected, &injections, &t.e) && !injections.n);
    CHECK(!store_list_reviews(t.s, &t.a, (struct fumi_str){0}, 9, &reviews, &t.e) && !reviews.n);
    CHECK(refuses(&t, store_get_review(t.s, &t.a, r.id, &r, &t.e), ERR_NOT_FOUND));
    CHECK(refuses(&t, store_drop_review(t.s, FUMI_STR("r"), &t.e), ERR_NOT_FOUND));
    CHECK(!store_list_unused(t.s, &t.a, (struct fumi_str){0}, INT64_MAX, 9, &uses, &t.e) &&
          uses.n == 1);
    CHECK(!store_find_projects(t.s, &t.a, (struct fumi_str){0}, &projects, &t.e) &&
          projects.n == 1);
    CHECK(refuses(&t, store_set_project_remote(t.s, q, other, 1, &t.e), FUMI_INVALID_PARAMS));
    end(&t, in);
}

static void lets_nothing_change(const struct scope *scope, bool reader)
{
    struct fixture t;
    struct store *in;
    struct fumi_str ours = FUMI_STR("ours");
    struct fumi_strs copies;
    struct undone undone;
    struct forgotten forgotten;
    struct moving m = {.from = FUMI_STR("p"), .to = FUMI_STR("q"), .limit = 1};
    struct forget_query forget = {.ids = {&ours, 1}};
    struct review r = {.id = ours, .project = m.from, .body = ours};
    bool more;
    CHECK(begin(&t, scope, &in));
    CHECK(refuses(&t, store_expire(t.s, 1, &more, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_prune_history(t.s, 0, 0, &more, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_remove_copies(t.s, &t.a, &copies, &t.e), FUMI_LIMIT));
    CHECK(refuses(&t, store_move_notes(t.s, &m, &t.e), FUMI_LIMIT));
    m.to = (struct fumi_str){0}; /* deletes */
    m.from = FUMI_STR("other");
    CHECK(refuses(&t, store_move_notes(t.s, &m, &t.e), reader ? FUMI_LIMIT : FUMI_INVALID_PARAMS));
    m.from = FUMI_STR("p");
    if (reader) {
        struct undo_query undo = {.change = 1};
        struct injection i = {.project = m.from, .kind = ours};
        CHECK(refuses(&t, store_undo(t.s, &t.a, &undo, NULL, &undone, &t.e), FUMI_LIMIT));
        CHECK(refuses(&t, store_forget(t.s, &t.a, &forget, NULL, &forgotten, &t.e), FUMI_LIMIT));
        CHECK(refuses(&t, store_add_injection(t.s, &i, &t.e), FUMI_LIMIT));
        CHECK(refuses(&t, store_add_uses(t.s, NULL, 0, &t.e), FUMI_LIMIT));
        CHECK(refuses(&t, store_add_review(t.s, &r, &t.e), FUMI_LIMIT));
        CHECK(refuses(&t, store_drop_review(t.s, ours, &t.e), FUMI_LIMIT));
        CHECK(refuses(&t, store_set_project_remote(t.s, m.from, ours, 1, &t.e), FUMI_LIMIT));
    }
    end(&t, in);
}

TEST(the_life_of_notes_is_not_changed)
{
    lets_nothing_change(&of_project, false);
    lets_nothing_change(&of_reader, true);
}
