/* Repositories are made by the real git. Every path of a row is relative to a temporary directory.
 */
#include "app/git_files.h"
#include "test.h"

#include "base/arena.h"

#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fumi_arena arena;
static char top[PATH_MAX]; /* real path of the temporary directory */

static void run(const char *script)
{
    static const char start[] =
        "set -eu; cd '%s'; unset GIT_DIR; export HOME=$PWD GIT_CONFIG_NOSYSTEM=1\n"
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a\n"
        "commit() { git -C \"$1\" commit -q --allow-empty -m x; }\n"
        "%s";
    if (system(fumi_fmt(&arena, start, top, script).p))
        TEST_FAIL("%s", script);
}

static void begin(void)
{
    char name[] = "/tmp/fumi-git-XXXXXX";
    if (!mkdtemp(name) || !realpath(name, top))
        abort();
}

static void finish(void)
{
    run("chmod -R u+rwx .; rm -rf -- \"$PWD\"");
    fumi_arena_done(&arena);
}

static struct git_place find(const char *path)
{
    char real[PATH_MAX];
    struct fumi_str whole = fumi_fmt(&arena, "%s/%s", top, path);
    return git_find(&arena, realpath(whole.p, real) ? fumi_str(real) : whole);
}

/* The path below the temporary directory; "." for a path that is not there. */
static struct fumi_str below(struct fumi_str path)
{
    size_t n = strlen(top);
    if (!path.p)
        return path;
    return fumi_starts(path, fumi_str(top)) && path.n > n ? fumi_str(path.p + n + 1)
                                                          : FUMI_STR(".");
}

struct row {
    const char *path, *root, *main; /* root NULL: no repository */
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct git_place p = find(rows[i].path);
        struct fumi_str root = below(p.root), main = below(p.main);
        bool same = fumi_eq(root, fumi_str(rows[i].root)) && fumi_eq(main, fumi_str(rows[i].main));
        if (!same || !root.p != !rows[i].root)
            TEST_FAIL("%s: root %.*s, main %.*s, warning: %.*s", rows[i].path, FUMI_ARG(root),
                      FUMI_ARG(main), FUMI_ARG(p.warning));
    }
}

TEST(worktrees_and_subdirectories_are_one_project)
{
    static const struct row rows[] = {
        {"main", "main", "main"},
        {"main/src/deep", "main", "main"},
        {"main/not/there", "main", "main"},
        {"main/.git", "main", "main"},
        {"main/.git/worktrees/one", "main", "main"},
        {"one", "one", "main"},
        {"one/sub", "one", "main"},
        {"two", "two", "main"},
        {"link/src", "main", "main"},
        {"main/inner", "main/inner", "main"}, /* a worktree inside of the main checkout */
        {"main/nested/x", "main/nested", "main/nested"},
        {"outside", NULL, NULL},
    };
    begin();
    run("git init -q main; commit main; mkdir -p main/src/deep outside; ln -s main link\n"
        "git -C main worktree add -q ../one; git -C main worktree add -q ../two; mkdir one/sub\n"
        "git -C main worktree add -q inner; git init -q main/nested; mkdir main/nested/x");
    setenv("GIT_DIR", "/nonexistent", 1);
    check(rows, FUMI_COUNT(rows));
    unsetenv("GIT_DIR");
    CHECK(!find("outside").warning.p);
    finish();
}

TEST(a_moved_repository_needs_repair)
{
    static const struct row before[] = {{"moved", "moved", "moved"}, {"one", NULL, NULL}};
    static const struct row after[] = {{"moved/x", "moved", "moved"}, {"one", "one", "moved"}};
    static const struct row worktree[] = {{"uno", NULL, NULL}};
    static const struct row repaired[] = {{"uno", "uno", "moved"}};
    begin();
    run("git init -q main; commit main; git -C main worktree add -q ../one; mv main moved");
    check(before, FUMI_COUNT(before));
    CHECK(find("one").warning.p != NULL);
    run("git -C moved worktree repair ../one 2>/dev/null; mkdir moved/x");
    check(after, FUMI_COUNT(after));
    run("mv one uno");
    check(worktree, FUMI_COUNT(worktree));
    CHECK(strstr(find("uno").warning.p, "git worktree repair") != NULL);
    run("cd uno; git worktree repair 2>/dev/null");
    check(repaired, FUMI_COUNT(repaired));
    finish();
}

TEST(a_bare_repository_is_its_own_project)
{
    static const struct row rows[] = {
        {"bare.git", "bare.git", "bare.git"},
        {"bare.git/hooks", "bare.git", "bare.git"},
        {"wt", "wt", "bare.git"},
        {"wt/x", "wt", "bare.git"},
        {"around", "around", "around"},
        {"around/a", "around/a", "around"},
        {"around/.bare", "around", "around"},
    };
    begin();
    run("git init -q main; commit main; git clone -q --bare main bare.git\n"
        "git -C bare.git worktree add -q ../wt; mkdir wt/x bare.git/hooks -p\n"
        "mkdir around; git clone -q --bare main around/.bare; echo 'gitdir: ./.bare' >around/.git\n"
        "git -C around worktree add -q a");
    check(rows, FUMI_COUNT(rows));
    finish();
}

TEST(a_submodule_is_its_own_project)
{
    static const struct row rows[] = {
        {"super", "super", "super"},
        {"super/deps/sub", "super/deps/sub", "super/deps/sub"},
        {"super/deps/sub/x", "super/deps/sub", "super/deps/sub"},
        {"super/deps", "super", "super"},
        {"wt", "wt", "super/deps/sub"}, /* a worktree of the submodule */
        {"apart", "apart", "apart"},    /* its git directory is elsewhere */
    };
    begin();
    run("git init -q sub; commit sub; git init -q super\n"
        "git -C super -c protocol.file.allow=always submodule --quiet add ../sub deps/sub\n"
        "mkdir super/deps/sub/x; git -C super/deps/sub worktree add -q \"$PWD/wt\"\n"
        "git init -q --separate-git-dir=elsewhere apart");
    check(rows, FUMI_COUNT(rows));
    finish();
}

TEST(the_home_directory_may_be_a_repository)
{
    static const struct row rows[] = {{"x/y", ".", "."}, {"own/x", "own", "own"}};
    begin();
    run("git init -q .; mkdir -p x/y; git init -q own; mkdir own/x");
    check(rows, FUMI_COUNT(rows));
    finish();
}

TEST(a_broken_git_file_is_no_repository)
{
    static const char *const texts[] = {
        "",
        "gitdir: ",
        "gitdir: ../nowhere",
        "gitdir: ../empty",
        "gitdir:../main/.git",
        "junk",
        "gitdir: ../main/.git/worktrees/one", /* it belongs to another checkout */
        "gitdir: .",
        "gitdir: /dev/null",
    };
    begin();
    run("git init -q main; commit main; git -C main worktree add -q ../one; mkdir -p empty bad/x");
    for (size_t i = 0; i < FUMI_COUNT(texts); i++) {
        run(fumi_fmt(&arena, "echo '%s' >bad/.git", texts[i]).p);
        struct git_place p = find("bad/x");
        if (p.root.p || p.main.p || !p.warning.p)
            TEST_FAIL("%s: %.*s", texts[i], FUMI_ARG(p.main));
    }
    run("head -c 100000 /dev/zero >bad/.git");
    CHECK(find("bad").warning.p != NULL);
    run("rm bad/.git; mkfifo bad/.git");
    CHECK(find("bad").warning.p != NULL);
    run("rm bad/.git; ln -s .git bad/.git");
    CHECK(strstr(find("bad").warning.p, "symbolic links") != NULL);
    finish();
}

/* Whether a directory that must not be read gives a warning. In a process without the rights of
 * root. */
static int denied(void)
{
    if (getuid() == 0 && (setgid(65534) || setuid(65534)))
        return 2;
    struct git_place closed = find("closed/x"), file = find("file/x");
    return closed.warning.p && strstr(closed.warning.p, "Permission denied") && file.warning.p &&
                   !closed.root.p && !file.root.p
               ? 0
               : 1;
}

TEST(what_must_not_be_read_is_no_repository)
{
    int status = -1;
    begin();
    run("mkdir -p closed/x file/x; git init -q main; echo 'gitdir: ../main/.git' >file/.git\n"
        "chmod 755 .; chmod 0 closed file/.git");
    pid_t pid = fork();
    if (pid == 0)
        _exit(denied());
    CHECK_INT(waitpid(pid, &status, 0), pid);
    run("chmod 700 closed");
    finish();
    CHECK_INT(status, 0);
}

TEST(the_remote_is_that_of_the_repository)
{
    static const struct {
        const char *path, *want;
    } rows[] = {{"clone", "example.org/o/n"},
                {"one", "example.org/o/n"},
                {"plain", NULL},
                {"other", "example.org/first"}};
    begin();
    run("git init -q clone; commit clone; git -C clone remote add up https://example.org/up\n"
        "git -C clone remote add origin git@Example.org:o/n.git\n"
        "git -C clone worktree add -q ../one; git init -q plain; git init -q other\n"
        "git -C other remote add first https://u:p@example.org/first");
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct git_place p = find(rows[i].path);
        CHECK(p.common.p != NULL);
        CHECK_STR(git_remote(&arena, p.common), rows[i].want);
    }
    finish();
}
