/* memory.project_*: what they do can be put back. */
#include "agent_fixture.h"

#include "base/clock.h"

static bool begin(struct fixture *t)
{
    if (!fixture_begin(t, AGENT_ALL))
        return false;
    for (int i = 0; i < 600; i++) /* more than one call of the store moves */
        if (!fixture_note(t, fumi_fmt(&t->a, "note-%03d", i).p, "a", "g", "x"))
            return false;
    ASK(t, "memory.group_create", "{\"projectId\":\"a\",\"groupKey\":\"g\",\"title\":\"of a\"}");
    ASK(t, "memory.upsert_global", "{\"projectId\":\"a\",\"key\":\"global.k\",\"value\":\"a\"}");
    ASK(t, "memory.upsert_global", "{\"projectId\":\"a\",\"key\":\"global.own\",\"value\":1}");
    return fixture_note(t, "note-b", "b", "g", NULL) &&
           ASK(t, "memory.upsert_global",
               "{\"projectId\":\"b\",\"key\":\"global.k\",\"value\":\"b\"}");
}

static int64_t number(const struct fumi_val *v, const char *member)
{
    int64_t n = -1;
    fumi_int(fumi_get(v, member), &n);
    return n;
}

static int by_id(const void *x, const void *y)
{
    const struct note *a = x, *b = y;
    return memcmp(a->id.p, b->id.p, a->id.n < b->id.n ? a->id.n : b->id.n);
}

/* Everything that a project has, but no times; the notes by id. */
static struct fumi_str dump(struct fixture *t, const char *project)
{
    const struct filter f = {
        .project = fumi_str(project), .since = INT64_MIN, .until = INT64_MAX, .superseded = true};
    struct fumi_buf b = {0};
    struct notes notes = {0};
    const struct loading to = {.arena = &t->a};
    struct groups groups = {0};
    struct globals globals = {0};
    struct store *s = memory_store(t->m);
    if (store_list_by_seq(s, &t->a, &f, 0, 1000, &notes, &t->e) ||
        store_list_groups(s, &to, f.project, &groups, &t->e) ||
        store_list_globals(s, &to, f.project, FUMI_STR(""), &globals, &t->e))
        return (struct fumi_str){0};
    qsort(notes.items, notes.n, sizeof(*notes.items), by_id);
    for (size_t i = 0; i < notes.n; i++)
        fumi_buf_add(&b, notes.items[i].id.p, notes.items[i].id.n);
    for (size_t i = 0; i < groups.n; i++)
        fumi_buf_add(&b, groups.items[i].title.p, groups.items[i].title.n);
    for (size_t i = 0; i < globals.n; i++)
        fumi_buf_add(&b, globals.items[i].value.p, globals.items[i].value.n);
    return fumi_buf_keep(&b, &t->a);
}

static bool undo(struct fixture *t, struct undo_query q)
{
    struct undone out;
    return !store_undo(memory_store(t->m), &t->a, &q, NULL, &out, &t->e) && !out.conflicts_n;
}

TEST(a_merge_moves_everything_and_can_be_undone)
{
    struct fixture t;
    CHECK(begin(&t));
    struct fumi_str a = dump(&t, "a"), b = dump(&t, "b");
    const struct fumi_val *r = ASK(&t, "memory.project_merge",
                                   "{\"projectId\":\"a\",\"into\":\"b\"}");
    CHECK_INT(number(r, "notes"), 600);
    CHECK(fumi_is(fumi_get(r, "more"), FUMI_FALSE));
    CHECK_STR(dump(&t, "a"), "");
    struct fumi_str both = dump(&t, "b");
    CHECK(holds(both, "note-599") && holds(both, "note-b") && holds(both, "of a"));
    CHECK(holds(both, "\"b\"") && !holds(both, "\"a\"")); /* the global of b stays */
    CHECK(undo(&t, (struct undo_query){.change = number(r, "change")}));
    CHECK(fumi_eq(dump(&t, "a"), a) && fumi_eq(dump(&t, "b"), b));
    fixture_end(&t);
}

TEST(a_project_gets_another_name)
{
    struct fixture t;
    CHECK(begin(&t));
    struct fumi_str a = dump(&t, "a");
    CHECK_INT(
        number(ASK(&t, "memory.project_rename", "{\"projectId\":\"a\",\"to\":\"b\"}"), "code"),
        ERR_CONFLICT);
    const struct fumi_val *r = ASK(&t, "memory.project_rename",
                                   "{\"projectId\":\"a\",\"to\":\"/x/../c\"}");
    CHECK_STR(fixture_text(&t, r, "projectId"), "/c");
    CHECK(fumi_eq(dump(&t, "/c"), a));
    r = ASK(&t, "memory.project_rename", "{\"projectId\":\"a\",\"to\":\"d\"}");
    CHECK_INT(number(r, "code"), ERR_NOT_FOUND);
    r = ASK(&t, "memory.project_merge", "{\"projectId\":\"/c\",\"into\":\"/c/.\"}");
    CHECK_INT(number(r, "code"), FUMI_INVALID_PARAMS);
    r = ASK(&t, "memory.project_merge", "{\"projectId\":\"/c\",\"into\":\"*\"}");
    CHECK_INT(number(r, "code"), FUMI_INVALID_PARAMS);
    fixture_end(&t);
}

TEST(a_deleted_project_can_be_put_back)
{
    struct fixture t;
    struct projects left;
    CHECK(begin(&t));
    struct fumi_str a = dump(&t, "a"), b = dump(&t, "b");
    CHECK_INT(store_set_project_remote(memory_store(t.m), FUMI_STR("a"), FUMI_STR("h/p"), 1, &t.e),
              0);
    const struct fumi_val *r = ASK(&t, "memory.project_delete", "{\"projectId\":\"a\"}");
    CHECK_INT(number(r, "notes"), 600);
    CHECK_INT(number(r, "groups"), 1);
    CHECK_INT(number(r, "globals"), 2);
    CHECK_STR(dump(&t, "a"), "");
    CHECK(fumi_eq(dump(&t, "b"), b));
    CHECK_INT(store_find_projects(memory_store(t.m), &t.a, (struct fumi_str){0}, &left, &t.e), 0);
    CHECK(left.n == 1 && fumi_eq(left.items[0].name, FUMI_STR("b")));
    CHECK(undo(&t, (struct undo_query){.change = number(r, "change")}));
    CHECK(fumi_eq(dump(&t, "a"), a));
    fixture_end(&t);
}

/* What others wrote in the project after it was deleted is no part of that change. */
TEST(putting_a_project_back_keeps_what_came_later)
{
    struct fixture t;
    CHECK(begin(&t));
    const struct fumi_val *r = ASK(&t, "memory.project_delete", "{\"projectId\":\"a\"}");
    const struct fumi_val *later = ASK(
        &t, "memory.add_note",
        "{\"projectId\":\"a\",\"groupId\":\"global\",\"text\":\"Written later.\"}");
    CHECK(undo(&t, (struct undo_query){.change = number(r, "change")}));
    struct fumi_str a = dump(&t, "a");
    CHECK(holds(a, "note-599"));
    CHECK(holds(a, fumi_fmt(&t.a, "%.*s", FUMI_ARG(fixture_text(&t, later, "id"))).p));
    fixture_end(&t);
}

TEST(the_list_has_the_remote_of_a_repository)
{
    struct fixture t;
    CHECK(begin(&t));
    CHECK_INT(
        store_set_project_remote(memory_store(t.m), FUMI_STR("b"), FUMI_STR("host/path"), 1, &t.e),
        0);
    const struct fumi_val *all = fumi_get(ASK(&t, "memory.project_list", "{}"), "projects");
    const struct fumi_val *first = fumi_first(all), *second = fumi_after(all, first);
    CHECK_STR(fixture_text(&t, first, "projectId"), "a");
    CHECK_INT(number(first, "notes"), 600);
    CHECK_STR(fixture_text(&t, second, "remote"), "host/path");
    fixture_end(&t);
}
