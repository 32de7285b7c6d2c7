#include "model/note.h"
#include "test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fumi_str canonical(struct fumi_arena *a, const char *given)
{
    struct fumi_str out = {0};
    struct fumi_err e = {0};
    if (project_canonical(a, fumi_str(given), &out, &e))
        return fumi_dup(a, fumi_str(e.text));
    return out;
}

TEST(names_that_are_not_paths_are_kept)
{
    static const char *const rows[] = {"my-project", "a b",   "プロジェクト",
                                       "C:\\x",      "~user", "a.b"};
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK_STR(canonical(&a, rows[i]), rows[i]);
    fumi_arena_done(&a);
}

TEST(paths_are_made_absolute_and_clean)
{
    static const struct {
        const char *given, *want;
    } rows[] = {
        {"/", "/"},
        {"//", "/"},
        {"/no/such/place", "/no/such/place"},
        {"/no/such/place/", "/no/such/place"},
        {"/no//such/./place", "/no/such/place"},
        {"/no/such/../place", "/no/place"},
        {"/../../no", "/no"},
        {"/no/such/place/..", "/no/such"},
        {"~", "/no-such-home"},
        {"~/", "/no-such-home"},
        {"~/p", "/no-such-home/p"},
        {"~/../p", "/p"},
        {"/日本/語", "/日本/語"},
    };
    struct fumi_arena a = {0};
    setenv("HOME", "/no-such-home", 1);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK_STR(canonical(&a, rows[i].given), rows[i].want);
    fumi_arena_done(&a);
}

TEST(relative_paths_are_relative_to_the_working_directory)
{
    struct fumi_arena a = {0};
    char here[PATH_MAX], want[PATH_MAX + 16];
    CHECK(getcwd(here, sizeof(here)) != NULL);
    CHECK_STR(canonical(&a, "."), here);
    snprintf(want, sizeof(want), "%s/no/such", here);
    CHECK_STR(canonical(&a, "./no/such"), want);
    CHECK_STR(canonical(&a, "no/such"), want);
    fumi_arena_done(&a);
}

TEST(links_are_resolved_where_they_exist)
{
    struct fumi_arena a = {0};
    char dir[] = "/tmp/test-project-XXXXXX", real[PATH_MAX];
    CHECK(mkdtemp(dir) != NULL);
    CHECK(realpath(dir, real) != NULL);
    struct fumi_str target = fumi_fmt(&a, "%s/target", real), link = fumi_fmt(&a, "%s/link", dir);
    CHECK(mkdir(target.p, 0700) == 0);
    CHECK(symlink("target", link.p) == 0);
    CHECK_STR(canonical(&a, link.p), target.p);
    CHECK_STR(canonical(&a, fumi_fmt(&a, "%s/", link.p).p), target.p);
    CHECK_STR(canonical(&a, fumi_fmt(&a, "%s/target/..", real).p), real);
    CHECK_STR(canonical(&a, fumi_fmt(&a, "%s/target/../link", real).p), target.p);
    unlink(link.p);
    rmdir(target.p);
    rmdir(dir);
    fumi_arena_done(&a);
}

TEST(invalid_project_names_are_refused)
{
    struct fumi_arena a = {0};
    struct fumi_str out, nul = {"a\0b", 3};
    struct fumi_err e = {0};
    char *longest = fumi_alloc(&a, PROJECT_MAX + 2);
    memset(longest, 'x', PROJECT_MAX + 1);
    CHECK_INT(project_canonical(&a, nul, &out, &e), -1);
    CHECK_INT(e.code, FUMI_INVALID_PARAMS);
    CHECK_INT(project_canonical(&a, (struct fumi_str){longest, PROJECT_MAX + 1}, &out, &e), -1);
    CHECK_INT(project_canonical(&a, (struct fumi_str){longest, PROJECT_MAX}, &out, &e), 0);
    longest[0] = '/';
    CHECK_INT(project_canonical(&a, (struct fumi_str){longest, PROJECT_MAX}, &out, &e), 0);
    CHECK_INT(out.n, PROJECT_MAX);
    fumi_arena_done(&a);
}
