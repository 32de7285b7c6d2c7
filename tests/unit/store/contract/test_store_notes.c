#include "test.h"

#include "store_fixture.h"

#include <limits.h>

/* Notes. */

static bool same(struct fumi_str a, struct fumi_str b)
{
    return fumi_eq(a, b) && !a.p == !b.p;
}

static bool same_note(const struct note *a, const struct note *b)
{
    bool all = same(a->id, b->id) && same(a->project, b->project) && same(a->group, b->group) &&
               same(a->title, b->title) && same(a->text, b->text) && same(a->source, b->source) &&
               same(a->metadata.text, b->metadata.text) && a->created.ms == b->created.ms &&
               a->tags.n == b->tags.n;
    for (size_t i = 0; all && i < a->tags.n; i++)
        all = same(a->tags.items[i], b->tags.items[i]);
    return all;
}

TEST(a_note_reads_back_as_it_was)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    struct fumi_str tags[] = {
        FUMI_STR("b"),   FUMI_STR("a"), FUMI_STR("b"), FUMI_STR(""), FUMI_STR("\"quoted\"\n"),
        FUMI_STR("日本")};
    struct note rows[] = {
        {.id = FUMI_STR("1"),
         .project = FUMI_STR("/home/x"),
         .group = FUMI_STR("g"),
         .title = FUMI_STR("T"),
         .text = FUMI_STR("text"),
         .source = FUMI_STR("s"),
         .tags = {tags, FUMI_COUNT(tags)},
         .metadata = {FUMI_STR("{\"a\":1.50}")},
         .created = {123, true}},
        {.id = FUMI_STR("2"),
         .project = FUMI_STR("p"),
         .group = FUMI_STR("global"),
         .text = FUMI_STR(" "),
         .created = {-62167219200000, true}},
        {.id = FUMI_STR("3"),
         .project = FUMI_STR("p"),
         .group = FUMI_STR("global"),
         .title = FUMI_STR(""),
         .source = FUMI_STR(""),
         .text = FUMI_STR("a\0b"),
         .created = {253402300799999, true}},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct note got;
        CHECK_INT(fixture_put(&t, &rows[i], NAN), 0);
        CHECK(rows[i].seq > 0);
        CHECK_INT(store_get_note(t.s, &t.a, rows[i].id, &got, &t.e), 0);
        if (!same_note(&got, &rows[i]) || got.seq != rows[i].seq)
            TEST_FAIL("row %zu", i);
    }
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(a_note_survives_closing)
{
    struct fixture t = {0};
    struct note got;
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "kept", 0.5), 0);
    fixture_shut(&t);
    CHECK(fixture_open(&t));
    CHECK_INT(store_get_note(t.s, &t.a, FUMI_STR("1"), &got, &t.e), 0);
    CHECK_STR(got.text, "kept");
    fixture_end(&t);
}

TEST(an_id_is_taken_once)
{
    struct fixture t = {0};
    struct note got;
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "first", NAN), 0);
    CHECK_INT(fixture_add(&t, "1", "second", NAN), -1);
    CHECK_INT(t.e.code, ERR_CONFLICT);
    CHECK_INT(store_get_note(t.s, &t.a, FUMI_STR("1"), &got, &t.e), 0);
    CHECK_STR(got.text, "first");
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(what_is_not_there_is_not_found)
{
    struct fixture t = {0};
    struct note n = {0};
    struct group g;
    struct global v;
    CHECK(fixture_open(&t));
    const struct fumi_str x = FUMI_STR("x"), none = {0};
    CHECK_INT(store_get_note(t.s, &t.a, x, &n, &t.e), -1);
    CHECK_INT(t.e.code, ERR_NOT_FOUND);
    CHECK_INT(store_get_note(t.s, &t.a, none, &n, &t.e), -1);
    CHECK_INT(t.e.code, ERR_NOT_FOUND);
    CHECK_INT(store_update_note(t.s, &t.a, x, &n, NOTE_TITLE, NULL, &t.e), -1);
    CHECK_INT(t.e.code, ERR_NOT_FOUND);
    CHECK_INT(store_delete(t.s, &t.a, x, NULL, &t.e), -1);
    CHECK_INT(t.e.code, ERR_NOT_FOUND);
    CHECK_INT(store_get_group(t.s, &t.a, x, &g, &t.e), -1);
    CHECK_INT(t.e.code, ERR_NOT_FOUND);
    CHECK_INT(store_update_group(t.s, x, x, x, 1, NULL, &t.e), -1);
    CHECK_INT(t.e.code, ERR_NOT_FOUND);
    CHECK_INT(store_delete_group(t.s, x, NULL, &t.e), -1);
    CHECK_INT(t.e.code, ERR_NOT_FOUND);
    CHECK_INT(store_get_global(t.s, &t.a, x, x, &v, &t.e), -1);
    CHECK_INT(t.e.code, ERR_NOT_FOUND);
    fixture_end(&t);
}

/* Each field is set alone, and cleared if it may be empty. */
TEST(a_patch_sets_what_it_names)
{
    static const struct {
        unsigned set;
        bool null;
    } rows[] = {
        {NOTE_TITLE, false},
        {NOTE_TITLE, true},
        {NOTE_TEXT, false},
        {NOTE_TAGS, false},
        {NOTE_TAGS, true},
        {NOTE_SOURCE, false},
        {NOTE_SOURCE, true},
        {NOTE_GROUP, false},
        {NOTE_METADATA, false},
        {NOTE_METADATA, true},
        {0, false},
        {NOTE_TITLE | NOTE_TEXT | NOTE_TAGS | NOTE_SOURCE | NOTE_GROUP | NOTE_METADATA, false}};
    struct fumi_str tag = FUMI_STR("new");
    struct note to = {.title = FUMI_STR("new"),
                      .text = FUMI_STR("new"),
                      .tags = {&tag, 1},
                      .source = FUMI_STR("new"),
                      .group = FUMI_STR("new"),
                      .metadata = {FUMI_STR("{\"new\":1}")}};
    struct note nothing = {0};
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_str old_tag = FUMI_STR("old");
        struct note want = fixture_note(fumi_fmt(&t.a, "%zu", i).p, "old"), got;
        want.title = want.source = FUMI_STR("old");
        want.tags = (struct fumi_strs){&old_tag, 1};
        CHECK_INT(fixture_put(&t, &want, 1), 0);
        const struct note *p = rows[i].null ? &nothing : &to;
        want.title = rows[i].set & NOTE_TITLE ? p->title : want.title;
        want.text = rows[i].set & NOTE_TEXT ? p->text : want.text;
        want.tags = rows[i].set & NOTE_TAGS ? p->tags : want.tags;
        want.source = rows[i].set & NOTE_SOURCE ? p->source : want.source;
        want.group = rows[i].set & NOTE_GROUP ? p->group : want.group;
        want.metadata = rows[i].set & NOTE_METADATA ? p->metadata : want.metadata;
        CHECK_INT(store_update_note(t.s, &t.a, want.id, p, rows[i].set, NULL, &t.e), 0);
        CHECK_INT(store_get_note(t.s, &t.a, want.id, &got, &t.e), 0);
        if (!same_note(&got, &want))
            TEST_FAIL("row %zu", i);
    }
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(words_follow_a_patch)
{
    struct fixture t = {0};
    struct hits h;
    struct filter f = fixture_filter("p");
    struct fumi_str tag = FUMI_STR("purple");
    struct note to = {.text = FUMI_STR("elephant"), .tags = {&tag, 1}, .title = FUMI_STR("zebra")};
    static const char *const found[] = {"elephant", "purple", "zebra", "origin"};
    CHECK(fixture_open(&t));
    struct note n = fixture_note("1", "giraffe");
    n.source = FUMI_STR("origin");
    CHECK_INT(fixture_put(&t, &n, NAN), 0);
    CHECK_INT(
        store_update_note(t.s, &t.a, n.id, &to, NOTE_TEXT | NOTE_TAGS | NOTE_TITLE, NULL, &t.e), 0);
    CHECK_INT(fixture_match(&t, &f, FUMI_STR("giraffe"), 5, &h), 0);
    CHECK_INT(h.n, 0);
    for (size_t i = 0; i < FUMI_COUNT(found); i++) {
        CHECK_INT(fixture_match(&t, &f, fumi_str(found[i]), 5, &h), 0);
        if (h.n != 1)
            TEST_FAIL("%s: %zu", found[i], h.n);
    }
    CHECK_INT(store_delete(t.s, &t.a, n.id, NULL, &t.e), 0);
    CHECK_INT(fixture_match(&t, &f, FUMI_STR("elephant"), 5, &h), 0);
    CHECK_INT(h.n, 0);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(drop_takes_a_note_or_else_a_global)
{
    struct fixture t = {0};
    struct note n;
    struct global g = {.id = FUMI_STR("g"),
                       .project = FUMI_STR("p"),
                       .key = FUMI_STR("global.a"),
                       .value = FUMI_STR("1")};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "n", "text", 1), 0);
    CHECK_INT(store_set_global(t.s, &t.a, &g, NULL, &t.e), 0);
    CHECK_INT(store_delete(t.s, &t.a, FUMI_STR("n"), NULL, &t.e), 0);
    CHECK_INT(store_get_note(t.s, &t.a, FUMI_STR("n"), &n, &t.e), -1);
    CHECK_INT(store_delete(t.s, &t.a, FUMI_STR("g"), NULL, &t.e), 0);
    CHECK_INT(store_get_global(t.s, &t.a, g.project, g.key, &g, &t.e), -1);
    struct store_stats st;
    CHECK_INT(store_stats(t.s, &st, &t.e), 0);
    CHECK_INT(st.notes + st.projects + st.globals + st.vectors, 0);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(a_number_is_never_used_again)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    struct note a = fixture_note("a", "x"), b = fixture_note("b", "x");
    CHECK_INT(fixture_put(&t, &a, NAN), 0);
    CHECK_INT(store_delete(t.s, &t.a, a.id, NULL, &t.e), 0);
    CHECK_INT(fixture_put(&t, &b, NAN), 0);
    CHECK(b.seq > a.seq);
    fixture_end(&t);
}

/* Groups and globals. */

TEST(groups)
{
    struct fixture t = {0};
    struct group a = {.id = FUMI_STR("1"),
                      .project = FUMI_STR("p"),
                      .key = FUMI_STR("later"),
                      .title = FUMI_STR("A"),
                      .description = FUMI_STR(""),
                      .created = 20,
                      .updated = 20},
                 b = a, got;
    b.id = FUMI_STR("2"), b.key = FUMI_STR("earlier"), b.created = 10;
    b.description = (struct fumi_str){0};
    CHECK(fixture_open(&t));
    CHECK_INT(store_add_group(t.s, &a, NULL, &t.e), 0);
    CHECK_INT(store_add_group(t.s, &b, NULL, &t.e), 0);
    CHECK_INT(store_add_group(t.s, &a, NULL, &t.e), -1);
    CHECK_INT(t.e.code, ERR_CONFLICT);
    CHECK_STR(fumi_str(t.e.text), "groupKey already exists in this project");

    struct note n = fixture_note("n", "x");
    n.group = FUMI_STR("later");
    CHECK_INT(fixture_put(&t, &n, NAN), 0);
    n.id = FUMI_STR("m"), n.group = FUMI_STR("zoo");
    CHECK_INT(fixture_put(&t, &n, NAN), 0);
    n.id = FUMI_STR("o"), n.group = FUMI_STR("ape");
    CHECK_INT(fixture_put(&t, &n, NAN), 0);

    struct groups all;
    CHECK_INT(store_list_groups(t.s, ALL_IN(&t.a), FUMI_STR("p"), &all, &t.e), 0);
    CHECK_INT(all.n, 4);
    CHECK_STR(all.items[0].key, "earlier");
    CHECK(!all.items[0].description.p);
    CHECK_STR(all.items[1].key, "later");
    CHECK_STR(all.items[1].description, "");
    CHECK_INT(all.items[1].notes, 1);
    CHECK_STR(all.items[2].key, "ape");
    CHECK(!all.items[2].id.p);
    CHECK_STR(all.items[3].key, "zoo");

    struct fumi_str none = {0};
    CHECK_INT(store_update_group(t.s, a.id, FUMI_STR("new"), none, 30, NULL, &t.e), 0);
    CHECK_INT(store_get_group(t.s, &t.a, a.id, &got, &t.e), 0);
    CHECK_STR(got.title, "new");
    CHECK_STR(got.description, "");
    CHECK_INT(got.created, 20);
    CHECK_INT(got.updated, 30);
    CHECK_INT(got.notes, 1);
    CHECK_INT(store_delete_group(t.s, a.id, NULL, &t.e), 0);
    CHECK_INT(store_list_groups(t.s, ALL_IN(&t.a), FUMI_STR("p"), &all, &t.e), 0);
    CHECK_INT(all.n, 4);
    CHECK_STR(all.items[2].key, "later"); /* a note still refers to it */
    CHECK_INT(store_list_groups(t.s, ALL_IN(&t.a), FUMI_STR("other"), &all, &t.e), 0);
    CHECK_INT(all.n, 0);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(globals)
{
    struct fixture t = {0};
    struct global g = {.id = FUMI_STR("1"),
                       .project = FUMI_STR("p"),
                       .key = FUMI_STR("global.a.b"),
                       .value = FUMI_STR("null"),
                       .updated = 5};
    struct global again = g, other = g, got;
    CHECK(fixture_open(&t));
    CHECK_INT(store_set_global(t.s, &t.a, &g, NULL, &t.e), 0);
    again.id = FUMI_STR("2"), again.value = FUMI_STR("[1,2]"), again.updated = 6;
    CHECK_INT(store_set_global(t.s, &t.a, &again, NULL, &t.e), 0);
    CHECK_STR(again.id, "1");
    CHECK_INT(store_get_global(t.s, &t.a, g.project, g.key, &got, &t.e), 0);
    CHECK_STR(got.value, "[1,2]");
    CHECK_STR(got.id, "1");
    CHECK_INT(got.updated, 6);
    static const char *const keys[] = {"global.a", "global.a%", "global.b", "global.a_x"};
    for (size_t i = 0; i < FUMI_COUNT(keys); i++) {
        other.id = fumi_fmt(&t.a, "o%zu", i), other.key = fumi_str(keys[i]);
        CHECK_INT(store_set_global(t.s, &t.a, &other, NULL, &t.e), 0);
    }
    static const struct {
        const char *prefix;
        size_t n;
    } rows[] = {{NULL, 5},        {"", 5},         {"global.a", 4}, {"global.a%", 1},
                {"global.a_", 1}, {"global.c", 0}, {"global.a.", 1}};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct globals all;
        CHECK_INT(
            store_list_globals(t.s, ALL_IN(&t.a), g.project, fumi_str(rows[i].prefix), &all, &t.e),
            0);
        if (all.n != rows[i].n)
            TEST_FAIL("%s: %zu", rows[i].prefix, all.n);
    }
    fixture_end(&t);
}

TEST(facts)
{
    struct fixture t = {0};
    struct fumi_str out;
    CHECK(fixture_open(&t));
    CHECK_INT(store_get_meta(t.s, &t.a, "space", &out, &t.e), 0);
    CHECK(!out.p);
    CHECK_INT(store_set_meta(t.s, "space", FUMI_STR("one"), &t.e), 0);
    CHECK_INT(store_set_meta(t.s, "space", FUMI_STR("two"), &t.e), 0);
    CHECK_INT(store_get_meta(t.s, &t.a, "space", &out, &t.e), 0);
    CHECK_STR(out, "two");
    CHECK_INT(store_set_meta(t.s, "space", (struct fumi_str){0}, &t.e), 0);
    CHECK_INT(store_get_meta(t.s, &t.a, "space", &out, &t.e), 0);
    CHECK(!out.p);
    fixture_end(&t);
}

TEST(stats_count)
{
    struct fixture t = {0};
    struct store_stats st;
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "a", 1), 0);
    CHECK_INT(fixture_add(&t, "2", "b", NAN), 0);
    struct note n = fixture_note("3", "c");
    n.project = FUMI_STR("q");
    CHECK_INT(fixture_put(&t, &n, 1), 0);
    CHECK_INT(store_stats(t.s, &st, &t.e), 0);
    CHECK_INT(st.notes, 3);
    CHECK_INT(st.projects, 2);
    CHECK_INT(st.vectors, 2);
    CHECK_INT(st.schema, 1);
    CHECK(st.bytes > 4096);
    fixture_end(&t);
}

/* One change of each kind. The order matters: later changes apply to rows that earlier ones made.
 */
static int change(struct fixture *t, int i)
{
    const struct note to = {.title = FUMI_STR("t")};
    const struct group g = {.id = FUMI_STR("g"),
                            .project = FUMI_STR("p"),
                            .key = FUMI_STR("k"),
                            .title = FUMI_STR("T")};
    struct global v = {.id = FUMI_STR("v"),
                       .project = FUMI_STR("p"),
                       .key = FUMI_STR("global.x"),
                       .value = FUMI_STR("1")};
    switch (i) {
    case 0:
        return fixture_add(t, "1", "a", 1);
    case 1:
        return store_update_note(t->s, &t->a, FUMI_STR("1"), &to, NOTE_TITLE, NULL, &t->e);
    case 2:
        return store_delete(t->s, &t->a, FUMI_STR("1"), NULL, &t->e);
    case 3:
        return store_add_group(t->s, &g, NULL, &t->e);
    case 4:
        return store_update_group(t->s, g.id, FUMI_STR("U"), (struct fumi_str){0}, 5, NULL, &t->e);
    case 5:
        return store_delete_group(t->s, g.id, NULL, &t->e);
    case 6:
        return store_set_global(t->s, &t->a, &v, NULL, &t->e);
    case 7:
        return store_set_global(t->s, &t->a, &v, NULL, &t->e);
    default:
        return store_delete(t->s, &t->a, v.id, NULL, &t->e);
    }
}

TEST(each_change_raises_the_number)
{
    struct fixture t = {0};
    int64_t before = 0, now, there;
    CHECK(fixture_open(&t));
    struct store *other = fixture_store(&t, t.path);
    CHECK(other);
    CHECK_INT(store_change_number(t.s, &before, &t.e), 0);
    for (int i = 0; i < 9; i++) {
        CHECK_INT(change(&t, i), 0);
        CHECK_INT(store_change_number(t.s, &now, &t.e), 0);
        CHECK_INT(store_change_number(other, &there, &t.e), 0);
        CHECK(now > before && there == now);
        before = now;
    }
    CHECK(store_delete_group(t.s, FUMI_STR("none"), NULL, &t.e) < 0);
    CHECK_INT(store_change_number(t.s, &now, &t.e), 0);
    CHECK_INT(now, before);
    store_close(other);
    fixture_end(&t);
}

/* Changes of groups and globals do not invalidate the vector cache. */
TEST(other_changes_leave_the_vectors_alone)
{
    struct fixture t = {0};
    struct hits h;
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "n", "a", 1), 0);
    struct filter f = fixture_filter("p");
    for (int i = 3; i < 9; i++) {
        CHECK_INT(change(&t, i), 0);
        CHECK_INT(fixture_near(&t, &f, 1, 5, &h), 0);
        CHECK_STR(fixture_ids(&t, &h), "n");
    }
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* Names. */

static int put_in(struct fixture *t, const char *id, const char *project, const char *group,
                  struct fumi_strs tags)
{
    struct note n = fixture_note(id, "x");
    n.project = fumi_str(project);
    n.group = fumi_str(group);
    n.tags = tags;
    return fixture_put(t, &n, NAN);
}

static bool put_named(struct fixture *t)
{
    struct fumi_str two[] = {FUMI_STR("rule"), FUMI_STR("Important"), FUMI_STR("rule"),
                             FUMI_STR("")},
                    one[] = {FUMI_STR("overrule")}, quoted[] = {FUMI_STR("a\"b")};
    const struct group g = {.id = FUMI_STR("g"),
                            .project = FUMI_STR("/only/a/group"),
                            .key = FUMI_STR("made"),
                            .title = FUMI_STR("T")};
    struct global v = {.id = FUMI_STR("v"),
                       .project = FUMI_STR("/only/a/global"),
                       .key = FUMI_STR("global.x"),
                       .value = FUMI_STR("1")};
    return !put_in(t, "1", "/p", "global", (struct fumi_strs){two, 4}) &&
           !put_in(t, "2", "/p", "global", (struct fumi_strs){two, 4}) &&
           !put_in(t, "3", "/p", "task-1", (struct fumi_strs){one, 1}) &&
           !put_in(t, "4", "q", "task-2", (struct fumi_strs){quoted, 1}) &&
           !store_add_group(t->s, &g, NULL, &t->e) &&
           !store_set_global(t->s, &t->a, &v, NULL, &t->e);
}

TEST(names_that_occur)
{
    static const struct {
        struct naming what;
        const char *want;
    } rows[] = {
        {{.kind = NAME_PROJECT, .limit = 9}, "/only/a/global:0 /only/a/group:0 /p:3 q:1"},
        {{.kind = NAME_PROJECT, .limit = 2}, "/only/a/global:0 /only/a/group:0"},
        {{.kind = NAME_PROJECT, .after = {"/only/a/group", 13}, .limit = 2}, "/p:3 q:1"},
        {{.kind = NAME_PROJECT, .part = {"P", 1}, .limit = 9}, "/only/a/group:0 /p:3"},
        {{.kind = NAME_PROJECT, .part = {"/P", 2}, .limit = 9}, "/p:3"},
        {{.kind = NAME_PROJECT, .limit = 0}, ""},
        {{.kind = NAME_GROUP, .limit = 9}, "global:2 made:0 task-1:1 task-2:1"},
        {{.kind = NAME_GROUP, .project = {"/p", 2}, .limit = 9}, "global:2 task-1:1"},
        {{.kind = NAME_GROUP, .part = {"a", 1}, .limit = 9}, "global:2 made:0 task-1:1 task-2:1"},
        {{.kind = NAME_GROUP, .project = {"none", 4}, .limit = 9}, ""},
        {{.kind = NAME_TAG, .limit = 9}, "Important:2 a\"b:1 overrule:1 rule:2"},
        {{.kind = NAME_TAG, .part = {"rule", 4}, .limit = 9}, "rule:2 overrule:1"},
        {{.kind = NAME_TAG, .project = {"/p", 2}, .part = {"O", 1}, .limit = 9},
         "overrule:1 Important:2"},
        {{.kind = NAME_TAG, .part = {"im", 2}, .limit = 9}, "Important:2"},
        {{.kind = NAME_TAG, .part = {"%", 1}, .limit = 9}, ""},
    };
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    CHECK(put_named(&t));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct names got;
        struct fumi_str text = FUMI_STR("");
        CHECK_INT(store_list_names(t.s, &t.a, &rows[i].what, &got, &t.e), 0);
        for (size_t j = 0; j < got.n; j++)
            text = fumi_fmt(&t.a, "%.*s%s%.*s:%d", FUMI_ARG(text), j ? " " : "",
                            FUMI_ARG(got.items[j].text), (int)got.items[j].notes);
        if (!fumi_eq(text, fumi_str(rows[i].want)))
            TEST_FAIL("row %zu: got %.*s, want %s", i, FUMI_ARG(text), rows[i].want);
    }
    fixture_end(&t);
}

TEST(names_go_with_their_last_note)
{
    struct fixture t = {0};
    struct names got;
    CHECK(fixture_open(&t));
    CHECK(put_named(&t));
    CHECK_INT(store_delete(t.s, &t.a, FUMI_STR("4"), NULL, &t.e), 0);
    for (int kind = NAME_PROJECT; kind <= NAME_TAG; kind++) {
        static const char *const gone[] = {"q", "task-2", "a\"b"};
        struct naming what = {
            .kind = (enum name_kind)kind, .part = fumi_str(gone[kind]), .limit = 9};
        CHECK_INT(store_list_names(t.s, &t.a, &what, &got, &t.e), 0);
        CHECK_INT(got.n, 0);
    }
    fixture_end(&t);
}

/* Lists. */

static int put_at(struct fixture *t, const char *id, const char *group, const char *tag,
                  int64_t created)
{
    struct fumi_str one = fumi_str(tag);
    struct note n = fixture_note(id, "x");
    n.group = fumi_str(group);
    n.tags = (struct fumi_strs){&one, tag != NULL};
    n.created = (struct fumi_time){created, true};
    return fixture_put(t, &n, NAN);
}

static bool put_many(struct fixture *t)
{
    return !put_at(t, "a", "g", "x", 10) && !put_at(t, "b", "g", "y", 30) &&
           !put_at(t, "c", "h", "x", 20) && !put_at(t, "d", "h", NULL, 30) &&
           !put_at(t, "e", "g", "x", -5);
}

/* Tags whose names are the characters of `names`. */
static struct fumi_strs tags_named(struct fixture *t, const char *names)
{
    struct fumi_strs out = {fumi_alloc(&t->a, 8 * sizeof(struct fumi_str)), 0};
    for (; *names; names++)
        out.items[out.n++] = (struct fumi_str){names, 1};
    return out;
}

static int put_tagged(struct fixture *t, const char *project, const char *id, const char *tags)
{
    struct note n = fixture_note(id, id);
    n.project = fumi_str(project);
    n.tags = tags_named(t, tags);
    return fixture_put(t, &n, NAN);
}

/* The ids of the notes with all of `all` and one of `any`, in the order of their ids. */
static struct fumi_str ids_tagged(struct fixture *t, const char *all, const char *any)
{
    struct filter f = fixture_filter("p");
    struct filtered n;
    struct notes out;
    f.tags = tags_named(t, all);
    f.any_tags = tags_named(t, any);
    if (store_list_recent(t->s, ALL_IN(&t->a), &f, (struct cursor){0, 0}, 10, &out, &t->e) ||
        store_count_notes(t->s, &f, &n, &t->e))
        return FUMI_STR("failed");
    struct fumi_str ids = fixture_note_ids(t, &out);
    return n.left == (int64_t)out.n ? ids : FUMI_STR("counted wrongly");
}

/* Asked twice: the second answer comes from the cached filter, and has the notes added since. */
TEST(tags_are_all_of_or_any_of)
{
    static const struct {
        const char *all, *any, *want, *then;
    } rows[] = {
        {"", "", "d c b a", "e d c b a"},
        {"xy", "", "c", "e c"},
        {"", "xy", "c b a", "e c b a"},
        {"", "x", "c a", "e c a"},
        {"x", "yz", "c", "e c"},
        {"", "zy", "c b", "e c b"},
        {"z", "x", "", "e"},
        {"", "w", "", ""},
        {"", "XY", "", ""},
    };
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    CHECK(!put_tagged(&t, "p", "a", "x") && !put_tagged(&t, "p", "b", "y") &&
          !put_tagged(&t, "p", "c", "xy") && !put_tagged(&t, "p", "d", "") &&
          !put_tagged(&t, "q", "o", "xyz"));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK_STR(ids_tagged(&t, rows[i].all, rows[i].any), rows[i].want);
    CHECK(!put_tagged(&t, "q", "n", "zxy") && !put_tagged(&t, "p", "e", "zxy"));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK_STR(ids_tagged(&t, rows[i].all, rows[i].any), rows[i].then);
    fixture_end(&t);
}

TEST(recent_is_filtered_and_newest_first)
{
    static const struct {
        const char *group, *tag;
        int64_t since, until;
        size_t limit;
        const char *want;
    } rows[] = {
        {NULL, NULL, INT64_MIN, INT64_MAX, 10, "d b c a e"},
        {NULL, NULL, INT64_MIN, INT64_MAX, 2, "d b"},
        {NULL, NULL, INT64_MIN, INT64_MAX, 0, ""},
        {"g", NULL, INT64_MIN, INT64_MAX, 10, "b a e"},
        {NULL, "x", INT64_MIN, INT64_MAX, 10, "c a e"},
        {"g", "x", INT64_MIN, INT64_MAX, 10, "a e"},
        {NULL, "X", INT64_MIN, INT64_MAX, 10, ""},
        {"none", NULL, INT64_MIN, INT64_MAX, 10, ""},
        {NULL, NULL, 10, 30, 10, "c a"},
        {NULL, NULL, 30, 30, 10, ""},
        {NULL, NULL, 30, 31, 10, "d b"},
        {NULL, NULL, INT64_MIN, 0, 10, "e"},
    };
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    CHECK(put_many(&t));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_str tag = fumi_str(rows[i].tag);
        struct filter f = {.project = FUMI_STR("p"),
                           .group = fumi_str(rows[i].group),
                           .tags = {&tag, rows[i].tag != NULL},
                           .since = rows[i].since,
                           .until = rows[i].until};
        struct notes out;
        struct cursor from = {0, 0};
        CHECK_INT(store_list_recent(t.s, ALL_IN(&t.a), &f, from, rows[i].limit, &out, &t.e), 0);
        struct fumi_str ids = fixture_note_ids(&t, &out);
        if (!fumi_eq(ids, fumi_str(rows[i].want)))
            TEST_FAIL("row %zu: %.*s", i, FUMI_ARG(ids));
    }
    fixture_end(&t);
}

TEST(recent_goes_on_behind_a_cursor)
{
    struct fixture t = {0};
    struct filter f = fixture_filter("p");
    struct cursor at = {0, 0};
    struct fumi_str all = FUMI_STR("");
    struct notes out;
    CHECK(fixture_open(&t));
    CHECK(put_many(&t));
    for (int i = 0; i < 10; i++) {
        CHECK_INT(store_list_recent(t.s, ALL_IN(&t.a), &f, at, 1, &out, &t.e), 0);
        if (!out.n)
            break;
        at = (struct cursor){out.items[0].created.ms, out.items[0].seq};
        all = fumi_fmt(&t.a, "%.*s%.*s", FUMI_ARG(all), FUMI_ARG(out.items[0].id));
    }
    CHECK_STR(all, "dbcae");
    f.until = 20; /* the cursor is later than the time range */
    CHECK_INT(store_list_recent(t.s, ALL_IN(&t.a), &f, (struct cursor){30, 9}, 10, &out, &t.e), 0);
    CHECK_STR(fixture_note_ids(&t, &out), "a e");
    f.group = FUMI_STR("g");
    CHECK_INT(store_list_recent(t.s, ALL_IN(&t.a), &f, (struct cursor){30, 9}, 10, &out, &t.e), 0);
    CHECK_STR(fixture_note_ids(&t, &out), "a e");
    fixture_end(&t);
}

/* Enough notes and tag sets that both query plans of store_list_recent are used. */
TEST(recent_finds_the_same_in_many_tag_sets)
{
    enum { NOTES = 600, PROJECTS = 3 };
    struct fixture t = {.top = ""};
    CHECK(fixture_open(&t));
    for (int i = 0; i < NOTES; i++) {
        struct fumi_str tag = fumi_fmt(&t.a, "t%d", i);
        struct note n = fixture_note(fumi_fmt(&t.a, "%d", i).p, "x");
        n.project = fumi_fmt(&t.a, "p%d", i % PROJECTS);
        n.tags = (struct fumi_strs){&tag, i % 2};
        n.created = (struct fumi_time){i * 7919 % 1000, true};
        CHECK_INT(fixture_put(&t, &n, NAN), 0);
    }
    for (size_t limit = 1; limit < NOTES; limit *= 3) {
        struct filter f = fixture_filter("p1");
        struct notes out;
        CHECK_INT(
            store_list_recent(t.s, ALL_IN(&t.a), &f, (struct cursor){0, 0}, limit, &out, &t.e), 0);
        CHECK_INT(out.n, limit < NOTES / PROJECTS ? limit : NOTES / PROJECTS);
        for (size_t i = 0; i + 1 < out.n; i++) {
            const struct note *a = &out.items[i], *b = a + 1;
            CHECK(a->created.ms > b->created.ms ||
                  (a->created.ms == b->created.ms && a->seq > b->seq));
            CHECK_STR(a->project, "p1");
        }
    }
    fixture_end(&t);
}

TEST(page_goes_by_number)
{
    struct fixture t = {0};
    struct notes out;
    struct filter f = fixture_filter("p");
    int64_t after = 0;
    size_t n = 0;
    CHECK(fixture_open(&t));
    CHECK(put_many(&t));
    struct note other = fixture_note("q", "x");
    other.project = FUMI_STR("q");
    CHECK_INT(fixture_put(&t, &other, NAN), 0);
    for (int i = 0; i < 10; i++) {
        CHECK_INT(store_list_by_seq(t.s, &t.a, NULL, after, 4, &out, &t.e), 0);
        if (!out.n)
            break;
        after = out.items[out.n - 1].seq;
        n += out.n;
    }
    CHECK_INT(n, 6);
    CHECK_INT(store_list_by_seq(t.s, &t.a, &f, 0, 100, &out, &t.e), 0);
    CHECK_STR(fixture_note_ids(&t, &out), "a b c d e");
    f.group = FUMI_STR("h");
    CHECK_INT(store_list_by_seq(t.s, &t.a, &f, 0, 100, &out, &t.e), 0);
    CHECK_STR(fixture_note_ids(&t, &out), "c d");
    fixture_end(&t);
}

TEST(load_keeps_the_order_and_leaves_out_what_is_gone)
{
    struct fixture t = {0};
    struct notes out;
    CHECK(fixture_open(&t));
    CHECK(put_many(&t));
    CHECK_INT(store_delete(t.s, &t.a, FUMI_STR("b"), NULL, &t.e), 0);
    int64_t seqs[] = {4, 2, 1, 99, 0, 1};
    CHECK_INT(store_load_notes(t.s, ALL_IN(&t.a), seqs, FUMI_COUNT(seqs), &out, &t.e), 0);
    CHECK_STR(fixture_note_ids(&t, &out), "d a a");
    CHECK_INT(store_load_notes(t.s, ALL_IN(&t.a), NULL, 0, &out, &t.e), 0);
    CHECK_INT(out.n, 0);
    fixture_end(&t);
}

TEST(count_says_what_each_part_takes)
{
    struct fixture t = {0};
    struct fumi_str tag = FUMI_STR("x");
    struct filter f = {.project = FUMI_STR("p"),
                       .group = FUMI_STR("g"),
                       .tags = {&tag, 1},
                       .since = 0,
                       .until = INT64_MAX};
    struct filtered n;
    CHECK(fixture_open(&t));
    CHECK(put_many(&t));
    CHECK_INT(store_count_notes(t.s, &f, &n, &t.e), 0);
    CHECK_INT(n.project, 5);
    CHECK_INT(n.group, 2);
    CHECK_INT(n.tags, 1);
    CHECK_INT(n.time, 1);
    CHECK_INT(n.left, 1);
    f = fixture_filter("none");
    CHECK_INT(store_count_notes(t.s, &f, &n, &t.e), 0);
    CHECK_INT(n.project + n.left, 0);
    fixture_end(&t);
}
