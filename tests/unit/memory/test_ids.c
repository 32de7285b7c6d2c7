/* Short ids, in a store and in a scope. */
#include "memory/memory.h"
#include "store/sqlite.h"
#include "test.h"

#include <ftw.h>

struct fixture {
    struct fumi_arena a;
    char dir[64];
    struct memory *m;
    struct fumi_err e;
};

static const struct fumi_log quiet = {.level = FUMI_SILENT};

static bool reopen(struct fixture *t, const char *project)
{
    struct fumi_str path = fumi_fmt(&t->a, "%s/memory.db", t->dir);
    struct memory_options o = {
        .store = store_sqlite_open(
            &(struct store_sqlite_options){.path = path.p, .nosync = true, .log = &quiet}, &t->e),
        .embed = {.provider = FUMI_STR("ollama"), .model = FUMI_STR("m")},
        .log = &quiet,
        .scope = {.project = fumi_str(project)},
    };
    memory_close(t->m);
    t->m = o.store ? memory_open(&o, &t->e) : NULL;
    return t->m;
}

static bool begin(struct fixture *t)
{
    *t = (struct fixture){.dir = "/tmp/test-ids-XXXXXX"};
    return mkdtemp(t->dir) && reopen(t, NULL);
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void end(struct fixture *t)
{
    memory_close(t->m);
    nftw(t->dir, drop, 8, FTW_DEPTH | FTW_PHYS);
    fumi_arena_done(&t->a);
}

static bool add(struct fixture *t, const char *id, const char *project)
{
    static const struct vectors none = {.n = 0};
    struct note n = {.id = fumi_str(id),
                     .project = fumi_str(project),
                     .group = FUMI_STR("g"),
                     .text = FUMI_STR("text")};
    return store_add_note(memory_store(t->m), &t->a, &n,
                          &(struct note_change){.vectors = &none, .allow_duplicate = true},
                          &t->e) == 0;
}

static struct fumi_str found(struct fixture *t, unsigned kinds, const char *given)
{
    struct fumi_str id = {0};
    t->e = (struct fumi_err){0};
    return memory_find_id(t->m, &t->a, kinds, fumi_str(given), &id, &t->e) ? (struct fumi_str){0}
                                                                           : id;
}

#define SHORT(t, id) memory_short_id((t)->m, &(t)->a, ID_OF_NOTE, FUMI_STR(id))

TEST(a_short_id_is_as_long_as_necessary)
{
    struct fixture t;
    CHECK(begin(&t));
    CHECK(add(&t, "aaaaaaaa-1111-4000-8000-000000000001", "p"));
    CHECK_STR(SHORT(&t, "aaaaaaaa-1111-4000-8000-000000000001"), "aaaaaaaa");
    CHECK(add(&t, "aaaaaaaa-1122-4000-8000-000000000002", "p"));
    CHECK_STR(SHORT(&t, "aaaaaaaa-1111-4000-8000-000000000001"), "aaaaaaaa-111");
    CHECK_STR(SHORT(&t, "aaaaaaaa-1122-4000-8000-000000000002"), "aaaaaaaa-112");
    CHECK(add(&t, "short", "p") && add(&t, "an imported id", "p") && add(&t, "an imported", "p"));
    CHECK_STR(SHORT(&t, "short"), "short");
    CHECK_STR(SHORT(&t, "an imported id"), "an imported ");
    CHECK_STR(SHORT(&t, "an imported"), "an imported");
    CHECK(add(&t, "識別子の一", "p") && add(&t, "識別子の二", "p"));
    CHECK_STR(SHORT(&t, "識別子の一"), "識別子の一");
    end(&t);
}

/* More ids than are compared at once begin alike. */
TEST(many_ids_may_begin_alike)
{
    struct fixture t;
    CHECK(begin(&t));
    for (int i = 0; i < 100; i++)
        CHECK(add(&t, fumi_fmt(&t.a, "00000000-0000-4000-8000-0000000000%02d", i).p, "p"));
    for (int i = 0; i < 100; i += 7) {
        struct fumi_str id = fumi_fmt(&t.a, "00000000-0000-4000-8000-0000000000%02d", i);
        struct fumi_str is = memory_short_id(t.m, &t.a, ID_OF_NOTE, id);
        CHECK_INT(is.n, 36);
    }
    CHECK(!found(&t, ID_OF_NOTE, "00000000-0000-4000-8000-00000000005").p);
    CHECK_STR(fumi_str(t.e.text), "id 00000000-0000-4000-8000-00000000005 is ambiguous: give more "
                                  "of it: 00000000-0000-4000-8000-000000000050, "
                                  "00000000-0000-4000-8000-000000000051 ...");
    end(&t);
}

TEST(a_beginning_finds_the_id)
{
    struct fixture t;
    CHECK(begin(&t));
    CHECK(add(&t, "aaaaaaaa-1111-4000-8000-000000000001", "p"));
    CHECK(add(&t, "bbbbbbbb-1111-4000-8000-000000000001", "p"));
    CHECK(add(&t, "bbbbbbbb", "p"));
    CHECK_STR(found(&t, ID_OF_NOTE, "aaaaaaaa"), "aaaaaaaa-1111-4000-8000-000000000001");
    CHECK_STR(found(&t, ID_OF_NOTE, "aaaaaaaa-1111-4000-8000-00000000000"),
              "aaaaaaaa-1111-4000-8000-000000000001");
    CHECK_STR(found(&t, ID_OF_NOTE, "aaaaaaa"), "aaaaaaa");   /* too short */
    CHECK_STR(found(&t, ID_OF_NOTE, "bbbbbbbb"), "bbbbbbbb"); /* an id itself */
    CHECK_STR(found(&t, ID_OF_NOTE, "bbbbbbbb-"), "bbbbbbbb-1111-4000-8000-000000000001");
    CHECK_STR(found(&t, ID_OF_NOTE, "cccccccc"), "cccccccc");
    CHECK_STR(found(&t, ID_OF_NOTE, "AAAAAAAA"), "AAAAAAAA"); /* case counts */
    CHECK_STR(found(&t, ID_OF_NOTE, "aaaaaaa%"), "aaaaaaa%");
    CHECK_STR(found(&t, ID_OF_GROUP, "aaaaaaaa"), "aaaaaaaa");
    struct fumi_str id, nul = FUMI_STR("aaaaaaaa\0x");
    CHECK(!memory_find_id(t.m, &t.a, ID_OF_NOTE, nul, &id, &t.e) && fumi_eq(id, nul));
    end(&t);
}

TEST(an_ambiguous_beginning_names_the_candidates)
{
    struct fixture t;
    CHECK(begin(&t));
    for (char c = 'a'; c < 'e'; c++)
        CHECK(add(&t, fumi_fmt(&t.a, "12345678-%c000-4000-8000-000000000000", c).p, "p"));
    CHECK(!found(&t, ID_OF_NOTE, "12345678").p);
    CHECK_INT(t.e.code, FUMI_INVALID_PARAMS);
    CHECK_STR(fumi_str(t.e.text), "id 12345678 is ambiguous: give more of it: 12345678-a, "
                                  "12345678-b, 12345678-c, 12345678-d");
    end(&t);
}

/* A note and a global: memory.delete takes the ids of both. */
TEST(kinds_are_told_apart)
{
    struct fixture t;
    CHECK(begin(&t));
    struct global g = {.id = FUMI_STR("12345678-0000-4000-8000-000000000000"),
                       .project = FUMI_STR("p"),
                       .key = FUMI_STR("global.x"),
                       .value = FUMI_STR("1")};
    CHECK_INT(store_set_global(memory_store(t.m), &t.a, &g, NULL, &t.e), 0);
    CHECK(add(&t, "12345678-1000-4000-8000-000000000000", "p"));
    CHECK_STR(found(&t, ID_OF_NOTE, "12345678"), "12345678-1000-4000-8000-000000000000");
    CHECK_STR(found(&t, ID_OF_GLOBAL, "12345678"), "12345678-0000-4000-8000-000000000000");
    CHECK(!found(&t, ID_OF_NOTE | ID_OF_GLOBAL, "12345678").p);
    CHECK_INT(t.e.code, FUMI_INVALID_PARAMS);
    CHECK_STR(SHORT(&t, "12345678-1000-4000-8000-000000000000"), "12345678");
    CHECK_STR(memory_short_id(t.m, &t.a, ID_OF_NOTE | ID_OF_GLOBAL,
                              FUMI_STR("12345678-1000-4000-8000-000000000000")),
              "12345678-1");
    end(&t);
}

TEST(a_scope_hides_the_ids_of_other_projects)
{
    struct fixture t;
    CHECK(begin(&t));
    CHECK(add(&t, "aaaaaaaa-1111-4000-8000-000000000001", "p"));
    CHECK(add(&t, "aaaaaaaa-2222-4000-8000-000000000002", "q"));
    CHECK(add(&t, "bbbbbbbb-2222-4000-8000-000000000002", "q"));
    CHECK(!found(&t, ID_OF_NOTE, "aaaaaaaa").p);
    CHECK(reopen(&t, "p"));
    CHECK_STR(found(&t, ID_OF_NOTE, "aaaaaaaa"), "aaaaaaaa-1111-4000-8000-000000000001");
    CHECK_STR(SHORT(&t, "aaaaaaaa-1111-4000-8000-000000000001"), "aaaaaaaa");
    CHECK_STR(found(&t, ID_OF_NOTE, "aaaaaaaa-2222"), "aaaaaaaa-2222");
    CHECK_STR(found(&t, ID_OF_NOTE, "bbbbbbbb"), "bbbbbbbb");
    end(&t);
}
