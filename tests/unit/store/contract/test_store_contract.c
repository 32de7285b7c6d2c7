/* What every engine promises and the other programs of this directory do not show: texts of any
 * script, the order of equal results, thousands of notes, many writers, and what is left of all
 * that after the store was closed and opened again. */
#include "store_fixture.h"
#include "test.h"

#include <pthread.h>

static bool reopen(struct fixture *t)
{
    fixture_shut(t);
    return fixture_open(t);
}

/* Texts that an engine may confuse, reorder, normalise or cut; in byte order. */
static const struct fumi_str scripts[] = {
    FUMI_STR("\1superseded"),
    FUMI_STR("%_\\'\"$1;--"),
    FUMI_STR("B"),
    FUMI_STR("a"),
    FUMI_STR("a\0b"),
    FUMI_STR("e\xCC\x81t\xC3\xA9"), /* decomposed */
    FUMI_STR("\xC3\xA9t\xC3\xA9"),  /* composed */
    FUMI_STR("\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D"),
    FUMI_STR("\xE2\x80\x8F\xE2\x80\x8D"), /* without width */
    FUMI_STR("\xE6\x97\xA5\xE6\x9C\xAC"),
    FUMI_STR("\xEF\xBF\xBD"),
    FUMI_STR("\xEF\xBF\xBE"),                                 /* no character */
    FUMI_STR("\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xAC"), /* two characters, one sign */
    FUMI_STR("\xF4\x8F\xBF\xBE"),
    FUMI_STR("\xF4\x8F\xBF\xBF"), /* the last code point */
    FUMI_STR("\xF4\x8F\xBF\xBF"
             "0"),
};
enum { SCRIPTS = FUMI_COUNT(scripts) };

static int add_scripts(struct fixture *t)
{
    for (size_t i = 0; i < SCRIPTS; i++) {
        struct fumi_str tag = scripts[i];
        struct note n = {.id = fumi_fmt(&t->a, "%zu %.*s", i, FUMI_ARG(scripts[i])),
                         .project = scripts[i],
                         .group = FUMI_STR("g"),
                         .title = scripts[i],
                         .text = scripts[i],
                         .source = scripts[i],
                         .tags = {i ? &tag : NULL, i ? 1 : 0},
                         .created = {1000 + (int64_t)i, true}};
        struct global g = {.id = fumi_fmt(&t->a, "v%zu", i),
                           .project = scripts[i],
                           .key = FUMI_STR("global.k"),
                           .value = scripts[i],
                           .updated = 1};
        if (fixture_put(t, &n, 0.01 * (double)i) || store_set_global(t->s, &t->a, &g, NULL, &t->e))
            return -1;
    }
    return 0;
}

static void check_script(struct fixture *t, size_t i)
{
    struct fumi_str tag = scripts[i], want = scripts[i];
    struct filter f = {.project = want, .since = INT64_MIN, .until = INT64_MAX};
    struct notes found = {0};
    struct global g;
    f.tags = (struct fumi_strs){&tag, i ? 1 : 0};
    CHECK_INT(store_list_recent(t->s, ALL_IN(&t->a), &f, (struct cursor){0}, 10, &found, &t->e), 0);
    CHECK_INT(found.n, 1);
    const struct note *n = &found.items[0];
    CHECK(fumi_eq(n->text, want) && fumi_eq(n->title, want) && fumi_eq(n->source, want));
    CHECK(fumi_eq(n->project, want) && (!i || fumi_eq(n->tags.items[0], want)));
    CHECK_INT(store_get_global(t->s, &t->a, want, FUMI_STR("global.k"), &g, &t->e), 0);
    CHECK(fumi_eq(g.value, want));
}

TEST(texts_of_any_script_come_back_byte_for_byte)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    CHECK_INT(add_scripts(&t), 0);
    for (int turn = 0; turn < 2; turn++) {
        struct names names;
        struct naming what = {.kind = NAME_PROJECT, .limit = 100};
        for (size_t i = 0; i < SCRIPTS; i++)
            check_script(&t, i);
        CHECK_INT(store_list_names(t.s, &t.a, &what, &names, &t.e), 0);
        CHECK_INT(names.n, SCRIPTS);
        for (size_t i = 0; i < SCRIPTS; i++)
            CHECK(fumi_eq(names.items[i].text, scripts[i]));
        CHECK(reopen(&t));
    }
    fixture_end(&t);
}

/* Equal scores: the newest note is first, in every search and after a restart. */
TEST(equal_results_have_an_order)
{
    struct fixture t = {0};
    struct filter f = fixture_filter("p");
    CHECK(fixture_open(&t));
    for (int i = 0; i < 6; i++) {
        struct note n = fixture_note(fumi_fmt(&t.a, "%d", i).p, "the same words");
        n.created.ms = 1000 + i / 2; /* two of each time */
        CHECK_INT(fixture_put(&t, &n, 0.5), 0);
    }
    struct hits near;
    CHECK_INT(fixture_near(&t, &f, 0.5, 10, &near), 0);
    struct fumi_str order = fixture_ids(&t, &near);
    CHECK_INT(near.n, 6);
    for (int turn = 0; turn < 2; turn++) {
        struct hits h;
        struct notes recent = {0};
        CHECK_INT(fixture_match(&t, &f, FUMI_STR("same words"), 10, &h), 0);
        CHECK_STR(fixture_ids(&t, &h), "5 4 3 2 1 0");
        CHECK_INT(fixture_match(&t, &f, FUMI_STR("same words"), 3, &h), 0);
        CHECK_STR(fixture_ids(&t, &h), "5 4 3");
        CHECK_INT(fixture_near(&t, &f, 0.5, 10, &h), 0);
        CHECK_STR(fixture_ids(&t, &h), order.p);
        CHECK_INT(store_list_recent(t.s, ALL_IN(&t.a), &f, (struct cursor){0}, 4, &recent, &t.e),
                  0);
        CHECK_STR(fixture_note_ids(&t, &recent), "5 4 3 2");
        CHECK(reopen(&t));
    }
    fixture_end(&t);
}

/* A write that is refused leaves nothing: no row in the journal, and the same change number. */
TEST(what_is_refused_leaves_no_trace)
{
    struct fixture t = {0};
    struct changes before, after;
    const struct history_query all = {.since = INT64_MIN, .until = INT64_MAX, .limit = 100};
    int64_t was, is;
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "text", 0.1), 0);
    CHECK_INT(store_change_number(t.s, &was, &t.e), 0);
    CHECK_INT(store_history(t.s, &t.a, &all, &before, &t.e), 0);
    struct fumi_str unknown = FUMI_STR("unknown");
    struct note n = fixture_note("2", "other"), to = {.text = FUMI_STR("changed")};
    CHECK_INT(fixture_add(&t, "1", "other", 0.2), -1);
    CHECK_INT(t.e.code, ERR_CONFLICT);
    CHECK_INT(
        store_add_note(t.s, &t.a, &n, &(struct note_change){.supersedes = {&unknown, 1}}, &t.e),
        -1);
    CHECK_INT(t.e.code, ERR_NOT_FOUND);
    CHECK_INT(store_update_note(t.s, &t.a, unknown, &to, NOTE_TEXT, NULL, &t.e), -1);
    CHECK_INT(t.e.code, ERR_NOT_FOUND);
    CHECK_INT(store_delete(t.s, &t.a, unknown, NULL, &t.e), -1);
    CHECK_INT(t.e.code, ERR_NOT_FOUND);
    CHECK_INT(store_change_number(t.s, &is, &t.e), 0);
    CHECK_INT(is, was);
    CHECK_INT(store_history(t.s, &t.a, &all, &after, &t.e), 0);
    CHECK_INT(after.n, before.n);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* Thousands of notes. */

enum { MANY = 3000, PIECE = 250, GROUPS = 7 };

static int merge_many(struct fixture *t)
{
    struct merge_row *rows = fumi_alloc(&t->a, PIECE * sizeof(*rows));
    for (int i = 0; i < MANY; i++) {
        struct merge_row *r = &rows[i % PIECE];
        *r = (struct merge_row){.kind = MERGE_NOTE};
        r->note = fixture_note(fumi_fmt(&t->a, "%d", i).p,
                               fumi_fmt(&t->a, "number %d of many%s", i, i % 10 ? "" : " rare").p);
        r->note.group = fumi_fmt(&t->a, "g%d", i % GROUPS);
        r->note.created.ms = 1000 + i / 3; /* three of each time */
        if (i % PIECE == PIECE - 1)
            store_merge(t->s, &t->a, rows, PIECE, NULL);
        if (i % PIECE == PIECE - 1 && (rows[0].e.code || rows[PIECE - 1].e.code))
            return -1;
    }
    return 0;
}

/* Follows the pages of a list to its end; each note has to appear once, newest first. */
static int64_t count_pages(struct fixture *t, const struct filter *f)
{
    struct cursor at = {0};
    for (int64_t n = 0;; n++) {
        struct fumi_arena a = {0};
        struct notes page = {0};
        int rc = store_list_recent(t->s, ALL_IN(&a), f, at, 97, &page, &t->e);
        for (size_t i = 0; !rc && i < page.n; i++, n++) {
            struct cursor here = {page.items[i].created.ms, page.items[i].seq};
            rc = at.seq &&
                 (here.created > at.created || (here.created == at.created && here.seq >= at.seq));
            at = here;
        }
        bool end = !page.n;
        fumi_arena_done(&a);
        if (rc || end)
            return rc ? -1 : n;
        n--;
    }
}

TEST(thousands_of_notes)
{
    struct fixture t = {0};
    struct filter all = fixture_filter("p"), one = all;
    struct filtered n;
    struct store_stats st;
    one.group = FUMI_STR("g3");
    CHECK(fixture_open(&t));
    CHECK_INT(merge_many(&t), 0);
    for (int i = 0; i < MANY; i += 3)
        CHECK_INT(store_delete(t.s, &t.a, fumi_fmt(&t.a, "%d", i), NULL, &t.e), 0);
    for (int turn = 0; turn < 2; turn++) {
        struct hits h;
        CHECK_INT(count_pages(&t, &all), MANY / 3 * 2);
        CHECK_INT(store_count_notes(t.s, &one, &n, &t.e), 0);
        CHECK_INT(n.project, MANY / 3 * 2);
        CHECK_INT(n.left, count_pages(&t, &one));
        CHECK_INT(store_stats(t.s, &st, &t.e), 0);
        CHECK_INT(st.notes, MANY / 3 * 2);
        CHECK_INT(fixture_match(&t, &all, FUMI_STR("rare"), 1000, &h), 0);
        CHECK_INT(h.n, MANY / 10 / 3 * 2);
        CHECK(reopen(&t));
    }
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* Many writers. */

enum { WRITERS = 6, EACH = 30 };

struct writer {
    struct fixture *t;
    int number, failed;
};

/* Adds notes, changes every second one, and deletes every third one. */
static void *write_some(void *arg)
{
    struct writer *w = arg;
    struct fixture mine = {.s = w->t->s};
    const struct author by = {.session = fumi_fmt(&mine.a, "s%d", w->number)};
    for (int i = 0; i < EACH; i++) {
        struct note n = fixture_note(fumi_fmt(&mine.a, "%d-%d", w->number, i).p, "words");
        struct note to = {.title = FUMI_STR("changed")};
        struct note_change add = {.by = &by, .allow_duplicate = true}, other = {.by = &by};
        w->failed += store_add_note(mine.s, &mine.a, &n, &add, &mine.e) != 0;
        if (i % 2 == 0)
            w->failed += store_update_note(mine.s, &mine.a, n.id, &to, NOTE_TITLE, &other,
                                           &mine.e) != 0;
        if (i % 3 == 0)
            w->failed += store_delete(mine.s, &mine.a, n.id, &other, &mine.e) != 0;
    }
    fumi_arena_done(&mine.a);
    return NULL;
}

/* The journal of a writer: its calls in their order, with numbers that rise. */
static void check_journal(struct fixture *t, int number)
{
    const struct history_query q = {.session = fumi_fmt(&t->a, "s%d", number),
                                    .since = INT64_MIN,
                                    .until = INT64_MAX,
                                    .limit = 1000};
    struct changes all;
    CHECK_INT(store_history(t->s, &t->a, &q, &all, &t->e), 0);
    CHECK_INT(all.n, EACH + EACH / 2 + EACH / 3);
    size_t at = all.n;
    for (int i = 0; i < EACH; i++) {
        const enum change_op ops[] = {CHANGE_ADD, CHANGE_UPDATE, CHANGE_DELETE};
        const bool has[] = {true, i % 2 == 0, i % 3 == 0};
        for (size_t k = 0; k < FUMI_COUNT(ops); k++) {
            if (!has[k])
                continue;
            const struct change *c = &all.items[--at];
            CHECK_INT(c->op, ops[k]);
            CHECK_STR(c->id, fumi_fmt(&t->a, "%d-%d", number, i).p);
            CHECK(at == all.n - 1 || c->change > all.items[at + 1].change);
        }
    }
}

TEST(many_writers)
{
    struct fixture t = {0};
    struct writer w[WRITERS];
    pthread_t threads[WRITERS];
    struct filter f = fixture_filter("p");
    CHECK(fixture_open(&t));
    for (int i = 0; i < WRITERS; i++) {
        w[i] = (struct writer){&t, i, 0};
        CHECK_INT(pthread_create(&threads[i], NULL, write_some, &w[i]), 0);
    }
    int failed = 0;
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
        failed += w[i].failed;
    }
    CHECK_INT(failed, 0);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < WRITERS; i++)
            check_journal(&t, i);
        CHECK_INT(count_pages(&t, &f), WRITERS * (EACH - EACH / 3));
        CHECK(reopen(&t));
    }
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* A restart. */

static int add_one_of_each(struct fixture *t)
{
    const struct author by = {.client = FUMI_STR("client"), .session = FUMI_STR("s")};
    struct fumi_str ids[] = {FUMI_STR("1")};
    struct group g = {.id = FUMI_STR("g1"),
                      .project = FUMI_STR("p"),
                      .key = FUMI_STR("k"),
                      .title = FUMI_STR("title")};
    struct global v = {.id = FUMI_STR("v1"),
                       .project = FUMI_STR("p"),
                       .key = FUMI_STR("global.a"),
                       .value = FUMI_STR("1"),
                       .updated = 5};
    struct review r = {.id = FUMI_STR("r1"),
                       .at = 7,
                       .project = FUMI_STR("p"),
                       .by = by,
                       .op = CHANGE_ADD,
                       .body = FUMI_STR("{}")};
    struct injection i = {
        .at = 8, .project = FUMI_STR("p"), .by = by, .kind = FUMI_STR("hook"), .ids = {ids, 1}};
    return fixture_add(t, "1", "apple", 0.1) || store_add_group(t->s, &g, &by, &t->e) ||
           store_set_global(t->s, &t->a, &v, &by, &t->e) || store_add_review(t->s, &r, &t->e) ||
           store_add_injection(t->s, &i, &t->e) ||
           store_add_uses(t->s, &(struct note_use){.seq = 1, .n = 2, .last = 9}, 1, &t->e) ||
           store_set_project_remote(t->s, g.project, FUMI_STR("example.org/r"), 3, &t->e) ||
           store_set_meta(t->s, "test", FUMI_STR("value"), &t->e);
}

static void check_one_of_each(struct fixture *t)
{
    struct hits h;
    struct filter f = fixture_filter("p");
    struct group g;
    struct global v;
    struct review r;
    struct injections given;
    struct projects projects;
    struct note_uses unused;
    struct fumi_str meta;
    const struct injection_query q = {.project = FUMI_STR("p"), .limit = 10};
    CHECK_INT(fixture_near(t, &f, 0.1, 10, &h), 0);
    CHECK_STR(fixture_ids(t, &h), "1");
    CHECK_INT(fixture_match(t, &f, FUMI_STR("apple"), 10, &h), 0);
    CHECK_STR(fixture_ids(t, &h), "1");
    CHECK_INT(store_get_group(t->s, &t->a, FUMI_STR("g1"), &g, &t->e), 0);
    CHECK_STR(g.title, "title");
    CHECK_INT(store_get_global(t->s, &t->a, g.project, FUMI_STR("global.a"), &v, &t->e), 0);
    CHECK_STR(v.value, "1");
    CHECK_INT(store_get_review(t->s, &t->a, FUMI_STR("r1"), &r, &t->e), 0);
    CHECK_STR(r.by.client, "client");
    CHECK_INT(store_list_injections(t->s, &t->a, &q, &given, &t->e), 0);
    CHECK_INT(given.n, 1);
    CHECK_STR(given.items[0].ids.items[0], "1");
    CHECK_INT(store_find_projects(t->s, &t->a, FUMI_STR("example.org/r"), &projects, &t->e), 0);
    CHECK_INT(projects.n, 1);
    CHECK_INT(store_list_unused(t->s, &t->a, g.project, INT64_MAX, 10, &unused, &t->e), 0);
    CHECK_INT(unused.n, 1);
    CHECK_INT(unused.items[0].n, 2);
    CHECK_INT(store_get_meta(t->s, &t->a, "test", &meta, &t->e), 0);
    CHECK_STR(meta, "value");
}

TEST(a_restart_loses_nothing)
{
    struct fixture t = {0};
    const struct undo_query undo = {.session = FUMI_STR("s")};
    struct undone out;
    struct global v;
    int64_t before, after;
    CHECK(fixture_open(&t));
    CHECK_INT(add_one_of_each(&t), 0);
    check_one_of_each(&t);
    CHECK_INT(store_change_number(t.s, &before, &t.e), 0);
    CHECK(reopen(&t));
    check_one_of_each(&t);
    CHECK_INT(store_change_number(t.s, &after, &t.e), 0);
    CHECK_INT(after, before);
    CHECK_INT(store_undo(t.s, &t.a, &undo, NULL, &out, &t.e), 0); /* the group and the global */
    CHECK_INT(out.rows_n, 2);
    CHECK(reopen(&t));
    CHECK_INT(store_get_global(t.s, &t.a, FUMI_STR("p"), FUMI_STR("global.a"), &v, &t.e), -1);
    CHECK_INT(t.e.code, ERR_NOT_FOUND);
    CHECK_INT(fixture_add(&t, "2", "pear", 0.2), 0);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}
