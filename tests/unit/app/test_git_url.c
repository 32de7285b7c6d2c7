#include "app/git_files.h"
#include "test.h"

#include "base/arena.h"

TEST(the_urls_of_one_repository_are_equal)
{
    static const char *const rows[] = {
        "https://github.com/owner/name",
        "https://github.com/owner/name.git",
        "https://github.com/owner/name.git/",
        "https://github.com/owner/name/",
        "https://github.com:443/owner/name",
        "https://user@github.com/owner/name.git",
        "https://user:p%40ss@GitHub.com/owner/name.git",
        "HTTPS://github.com/owner/name",
        "http://github.com:80//owner/name",
        "ssh://git@github.com/owner/name.git",
        "ssh://git@github.com:22/owner/name.git",
        "git+ssh://git@github.com/owner/name",
        "git://github.com:9418/owner/name",
        "git@github.com:owner/name.git",
        "git@github.com:/owner/name",
        "github.com:owner/name",
        "https://github.com:/owner/name",
    };
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK_STR(git_url(&a, fumi_str(rows[i])), "github.com/owner/name");
    fumi_arena_done(&a);
}

TEST(what_tells_repositories_apart_is_kept)
{
    static const struct {
        const char *url, *want;
    } rows[] = {
        {"https://example.org:8443/a/b.git", "example.org:8443/a/b"},
        {"ssh://git@example.org:443/a/b", "example.org:443/a/b"},
        {"https://example.org/A/B", "example.org/A/B"},
        {"https://example.org/a/b.github", "example.org/a/b.github"},
        {"git@[::1]:a/b", "[::1]/a/b"},
        {"ssh://git@[::1]:22/a/b", "[::1]/a/b"},
        {"ssh://git@[::1]/a/b", "[::1]/a/b"},
        {"user@host:~other/b.git", "host/~other/b"},
        {"file:///srv/git/a.git", "/srv/git/a"},
        {"file://host/srv/a.git", "/srv/a"},
        {"/srv/git/a.git/", "/srv/git/a"},
    };
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK_STR(git_url(&a, fumi_str(rows[i].url)), rows[i].want);
    fumi_arena_done(&a);
}

TEST(what_names_no_repository_elsewhere_is_null)
{
    static const char *const rows[] = {
        "",        " ",         "../a",          "./a:b",          "a/b:c",       "name",
        ":a",      "host:",     "https://",      "https://host",   "https://h//", "https:///a",
        "ext::sh", "host::a/b", "https://h/a b", "https://h/a\nb", "\xff:a",      "git@host:.git/",
    };
    struct fumi_arena a = {0};
    for (size_t i = 0; i + 1 < FUMI_COUNT(rows); i++)
        if (git_url(&a, fumi_str(rows[i])).p)
            TEST_FAIL("row %zu is not null", i);
    CHECK_STR(git_url(&a, fumi_str(rows[FUMI_COUNT(rows) - 1])), "host/.git");
    fumi_arena_done(&a);
}
