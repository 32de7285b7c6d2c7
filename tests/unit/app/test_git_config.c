#include "app/git_files.h"
#include "test.h"

#include "base/arena.h"

static struct git_config read_text(struct fumi_arena *a, const char *text)
{
    return git_config_read(a, fumi_str(text));
}

TEST(the_url_of_origin_is_found)
{
    static const char *const rows[] = {
        "[remote \"origin\"]\n\turl = u\n",
        "[remote \"origin\"]\r\n\turl = u\r\n",
        "[REMOTE \"origin\"]\nURL=u",
        "\xEF\xBB\xBF[remote \"origin\"] url = u",
        "[remote.origin]\nurl = u",
        "# [remote \"origin\"]\n[remote \"origin\"] ; x\n url = u # not this\n",
        "[remote \"up\"]\nurl = x\n[remote \"origin\"]\nfetch = +a:b\nurl = u\nurl = second\n",
        "[remote \"origin\"]\nurl = \"u\"\n",
        "[remote \"origin\"]\nurl = \\\n  u\n",
        "[remote \"orig\\in\"]\nurl = u\n",
        "[core]\nbare\nurl = x\n[remote]\nurl = y\n[remote \"origin\"]\nurl = u",
        "[broken\nurl = x\n[remote \"origin\"]\nurl = u",
        "= x\n[remote \"origin\"]\npushurl = x\nurl\nurl = \nurl = u",
    };
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_str got = read_text(&a, rows[i]).origin;
        if (!fumi_eq(got, FUMI_STR("u")))
            TEST_FAIL("row %zu: %.*s", i, FUMI_ARG(got));
    }
    fumi_arena_done(&a);
}

TEST(values_are_unquoted)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"[core] worktree = a b  ", "a b"},
        {"[core] worktree = \"a b  \"", "a b  "},
        {"[core] worktree = a\" # \"b;c", "a # b"},
        {"[core] worktree = a\\\\b\\\"c\\td", "a\\b\"c\td"},
        {"[core] worktree = a\\\nb", "ab"},
        {"[core] worktree =", ""},
        {"[core] worktree = x\n[core]\nworktree = y", "y"},
        {"[core \"sub\"] worktree = x", NULL},
        {"[core] worktree", NULL},
        {"", NULL},
        {"[", NULL},
        {"[core \"", NULL},
        {"[core] worktree = \\", ""},
    };
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK_STR(read_text(&a, rows[i].text).worktree, rows[i].want);
    fumi_arena_done(&a);
}

TEST(without_origin_the_first_remote_counts)
{
    struct fumi_arena a = {0};
    struct git_config c = read_text(&a, "[remote \"b\"]\nurl = x\n[remote \"a\"]\nurl = y\n");
    CHECK(!c.origin.p);
    CHECK_STR(c.first, "x");
    fumi_arena_done(&a);
}
