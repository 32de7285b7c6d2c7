#include "test.h"

#include "net/discovery.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A directory for each test, which contains the one that discovery creates. */
struct fixture {
    char top[64], directory[96];
    struct fumi_err e;
};

static bool fixture_open(struct fixture *s)
{
    *s = (struct fixture){.top = "/tmp/fumi-discovery-XXXXXX"};
    if (!mkdtemp(s->top))
        return false;
    snprintf(s->directory, sizeof(s->directory), "%s/fumi", s->top);
    return true;
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void fixture_close(struct fixture *s)
{
    nftw(s->top, drop, 8, FTW_DEPTH | FTW_PHYS);
}

/* A path in the directory; valid until the second next call. */
static const char *in(const struct fixture *s, const char *name)
{
    static char paths[2][256];
    static size_t turn;
    char *path = paths[turn++ % 2];
    snprintf(path, sizeof(paths[0]), "%s/%s", s->directory, name);
    return path;
}

static int mode_of(const char *path)
{
    struct stat st;
    return lstat(path, &st) ? -1 : (int)(st.st_mode & 07777);
}

static bool is_there(const char *path)
{
    return mode_of(path) >= 0;
}

static void put_file(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, mode))
        abort();
    close(fd);
}

static size_t get_file(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

TEST(directory_is_private)
{
    struct fixture s;
    CHECK(fixture_open(&s));
    mode_t before = umask(0);
    int rc = discovery_directory(s.directory, &s.e);
    umask(before);
    CHECK_INT(rc, 0);
    CHECK_INT(mode_of(s.directory), 0700);
    CHECK_INT(discovery_directory(s.directory, &s.e), 0);
    fixture_close(&s);
}

TEST(directory_mode_is_restricted)
{
    static const mode_t modes[] = {0777, 0755, 0750, 0701};
    for (size_t i = 0; i < FUMI_COUNT(modes); i++) {
        struct fixture s;
        CHECK(fixture_open(&s));
        CHECK_INT(mkdir(s.directory, 0700), 0);
        CHECK_INT(chmod(s.directory, modes[i]), 0);
        CHECK_INT(discovery_directory(s.directory, &s.e), 0);
        CHECK_INT(mode_of(s.directory), 0700);
        fixture_close(&s);
    }
}

static void make_file(const struct fixture *s)
{
    put_file(s->directory, "", 0600);
}

static void make_link(const struct fixture *s)
{
    char target[96];
    snprintf(target, sizeof(target), "%s/target", s->top);
    if (mkdir(target, 0755) || symlink("target", s->directory))
        abort();
}

static void make_public(const struct fixture *s)
{
    if (mkdir(s->directory, 0700) || chmod(s->directory, 01777))
        abort();
}

TEST(unsuitable_directories_are_refused)
{
    static const struct {
        void (*make)(const struct fixture *s);
        const char *end, *part;
    } rows[] = {
        {make_file, "", "must be a directory"},      {make_link, "", "must be a directory"},
        {make_link, "/", "must be a directory"},     {make_link, "//", "must be a directory"},
        {make_public, "", "is shared by all users"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fixture s;
        char path[128];
        CHECK(fixture_open(&s));
        rows[i].make(&s);
        snprintf(path, sizeof(path), "%s%s", s.directory, rows[i].end);
        int mode = mode_of(s.directory);
        if (discovery_directory(path, &s.e) != -1 || !strstr(s.e.text, rows[i].part) ||
            mode_of(s.directory) != mode)
            TEST_FAIL("row %zu: %s", i, s.e.text);
        snprintf(path, sizeof(path), "%s/target", s.top);
        if (rows[i].make == make_link && mode_of(path) != 0755)
            TEST_FAIL("row %zu: the target was changed", i);
        fixture_close(&s);
    }
}

TEST(directory_without_parent_is_a_fault)
{
    struct fixture s;
    char token[DISCOVERY_TOKEN + 1];
    CHECK(fixture_open(&s));
    CHECK_INT(discovery_directory(in(&s, "deeper"), &s.e), -1);
    CHECK(strstr(s.e.text, "No such file"));
    CHECK_INT(discovery_token(in(&s, "deeper"), token, &s.e), -1);
    CHECK_INT(discovery_directory("", &s.e), -1);
    fixture_close(&s);
}

/* Only root can change the owner of a file. */
TEST(directory_and_token_of_others_are_refused)
{
    struct fixture s;
    char token[DISCOVERY_TOKEN + 1];
    if (geteuid() != 0) {
        printf("skipped: what belongs to others: needs root\n");
        return;
    }
    CHECK(fixture_open(&s));
    CHECK_INT(discovery_token(s.directory, token, &s.e), 0);
    CHECK_INT(chown(in(&s, "token"), 12345, (gid_t)-1), 0);
    CHECK_INT(discovery_token(s.directory, token, &s.e), -1);
    CHECK(strstr(s.e.text, "/token belongs to another user; remove it"));
    CHECK_STR(fumi_str(token), "");
    CHECK_INT(chown(s.directory, 12345, (gid_t)-1), 0);
    CHECK_INT(discovery_directory(s.directory, &s.e), -1);
    CHECK(strstr(s.e.text, "/fumi belongs to another user; choose"));
    fixture_close(&s);
}

static bool is_token(const char *s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    return strlen(s) == DISCOVERY_TOKEN && strspn(s, digits) == DISCOVERY_TOKEN;
}

TEST(token_is_created_once)
{
    struct fixture s;
    char first[DISCOVERY_TOKEN + 1], second[DISCOVERY_TOKEN + 1], text[100];
    CHECK(fixture_open(&s));
    mode_t before = umask(0);
    int rc = discovery_token(s.directory, first, &s.e);
    umask(before);
    CHECK_INT(rc, 0);
    CHECK(is_token(first));
    CHECK_INT(mode_of(in(&s, "token")), 0600);
    CHECK_INT(get_file(in(&s, "token"), text, sizeof(text)), DISCOVERY_TOKEN + 1);
    CHECK(memcmp(text, first, DISCOVERY_TOKEN) == 0 && text[DISCOVERY_TOKEN] == '\n');
    CHECK_INT(discovery_token(s.directory, second, &s.e), 0);
    CHECK_STR(fumi_str(second), first);
    CHECK_INT(unlink(in(&s, "token")), 0);
    CHECK_INT(discovery_token(s.directory, second, &s.e), 0);
    CHECK(is_token(second) && strcmp(first, second) != 0);
    CHECK_INT(unlink(in(&s, "token")), 0);
    CHECK_INT(rmdir(s.directory), 0); /* no other file is left */
    fixture_close(&s);
}

/* Each of the 256 bits varies: every position of the text takes several values, the last one only
 * by its four upper bits. */
TEST(token_uses_all_its_digits)
{
    enum { TIMES = 60 };
    char seen[DISCOVERY_TOKEN][128] = {0};
    struct fixture s;
    for (int i = 0; i < TIMES; i++) {
        char token[DISCOVERY_TOKEN + 1];
        CHECK(fixture_open(&s));
        CHECK_INT(discovery_token(s.directory, token, &s.e), 0);
        for (size_t k = 0; k < DISCOVERY_TOKEN; k++)
            seen[k][(unsigned char)token[k]] = 1;
        fixture_close(&s);
    }
    for (size_t k = 0; k < DISCOVERY_TOKEN; k++) {
        int different = 0;
        for (size_t c = 0; c < 128; c++)
            different += seen[k][c];
        if (different < (k == DISCOVERY_TOKEN - 1 ? 8 : 20))
            TEST_FAIL("place %zu: only %d digits in %d tokens", k, different, TIMES);
        if (k == DISCOVERY_TOKEN - 1 && different > 16)
            TEST_FAIL("the last digit has more than four bits");
    }
}

#define GOOD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN-_9"

TEST(tokens_are_read)
{
    static const struct {
        const char *text;
        mode_t mode;
        const char *fault; /* NULL: none */
    } rows[] = {
        {GOOD, 0600, NULL},
        {GOOD "\n", 0600, NULL},
        {GOOD "\n", 0400, NULL},
        {GOOD "\n", 0640, "can be read by other users; remove it"},
        {GOOD "\n", 0604, "can be read by other users; remove it"},
        {GOOD "\n", 0602, "can be read by other users; remove it"},
        {"", 0600, "contains no valid token; remove it"},
        {"\n", 0600, "contains no valid token"},
        {"short\n", 0600, "contains no valid token"},
        {GOOD "x\n", 0600, "contains no valid token"},
        {GOOD "\n\n", 0600, "contains no valid token"},
        {GOOD "\r\n", 0600, "contains no valid token"},
        {"+bcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN-_9", 0600, "contains no valid token"},
        {"abcdefghijklmnopqrstuv xyzABCDEFGHIJKLMN-_9", 0600, "contains no valid token"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fixture s;
        char token[DISCOVERY_TOKEN + 1];
        CHECK(fixture_open(&s));
        CHECK_INT(discovery_directory(s.directory, &s.e), 0);
        put_file(in(&s, "token"), rows[i].text, rows[i].mode);
        int rc = discovery_token(s.directory, token, &s.e);
        if (!rows[i].fault && (rc || strcmp(token, GOOD) != 0))
            TEST_FAIL("row %zu: %s", i, s.e.text);
        if (rows[i].fault && (rc != -1 || !strstr(s.e.text, rows[i].fault)))
            TEST_FAIL("row %zu: %d %s", i, rc, s.e.text);
        fixture_close(&s);
    }
}

TEST(token_that_is_not_a_file_is_refused)
{
    struct fixture s;
    char token[DISCOVERY_TOKEN + 1];
    CHECK(fixture_open(&s));
    CHECK_INT(discovery_directory(s.directory, &s.e), 0);
    put_file(in(&s, "real"), GOOD, 0600);
    CHECK_INT(symlink("real", in(&s, "token")), 0);
    CHECK_INT(discovery_token(s.directory, token, &s.e), -1);
    CHECK(strstr(s.e.text, "is a symbolic link; remove it"));
    CHECK_INT(unlink(in(&s, "token")), 0);
    CHECK_INT(mkfifo(in(&s, "token"), 0600), 0);
    CHECK_INT(discovery_token(s.directory, token, &s.e), -1);
    CHECK(strstr(s.e.text, "is not a regular file"));
    CHECK_INT(unlink(in(&s, "token")), 0);
    CHECK_INT(mkdir(in(&s, "token"), 0700), 0);
    CHECK_INT(discovery_token(s.directory, token, &s.e), -1);
    fixture_close(&s);
}

/* A token chosen by the user, in a file that the user names. */
TEST(token_files_are_read)
{
    static const struct {
        const char *text;
        mode_t mode;
        const char *fault; /* NULL: none */
    } rows[] = {
        {"0123456789abcde+", 0600, NULL},
        {"0123456789abcde+\n", 0400, NULL},
        {"0123456789abcde+\r\n", 0600, NULL},
        {"0123456789abcde+\n", 0640, "can be read by other users; use chmod 600"},
        {"0123456789abcde+\n", 0604, "can be read by other users; use chmod 600"},
        {"", 0600, "contains no valid token"},
        {"0123456789abcde\n", 0600, "16 to 512 visible ASCII characters"},
        {"0123456789abcde+ 1\n", 0600, "contains no valid token"},
        {"0123456789abcde+\n\n", 0600, "contains no valid token"},
        {"0123456789abcde\303\251\n", 0600, "contains no valid token"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fixture s;
        char token[DISCOVERY_TOKEN_MAX + 1];
        CHECK(fixture_open(&s));
        CHECK_INT(discovery_directory(s.directory, &s.e), 0);
        put_file(in(&s, "mine"), rows[i].text, rows[i].mode);
        int rc = discovery_token_file(in(&s, "mine"), token, &s.e);
        if (!rows[i].fault && (rc || strcmp(token, "0123456789abcde+") != 0))
            TEST_FAIL("row %zu: %s", i, s.e.text);
        if (rows[i].fault &&
            (rc != -1 || !strstr(s.e.text, rows[i].fault) || !strstr(s.e.text, "mine")))
            TEST_FAIL("row %zu: %d %s", i, rc, s.e.text);
        fixture_close(&s);
    }
}

TEST(token_file_of_the_longest_token)
{
    struct fixture s;
    char token[DISCOVERY_TOKEN_MAX + 1], text[DISCOVERY_TOKEN_MAX + 3];
    memset(text, 'x', sizeof(text));
    CHECK(fixture_open(&s));
    CHECK_INT(discovery_directory(s.directory, &s.e), 0);
    text[DISCOVERY_TOKEN_MAX] = '\n';
    text[DISCOVERY_TOKEN_MAX + 1] = '\0';
    put_file(in(&s, "mine"), text, 0600);
    CHECK_INT(discovery_token_file(in(&s, "mine"), token, &s.e), 0);
    CHECK_INT(strlen(token), DISCOVERY_TOKEN_MAX);
    text[DISCOVERY_TOKEN_MAX] = 'x';
    put_file(in(&s, "mine"), text, 0600);
    CHECK_INT(discovery_token_file(in(&s, "mine"), token, &s.e), -1);
    fixture_close(&s);
}

TEST(token_file_that_is_not_a_file_or_of_another_user)
{
    struct fixture s;
    char token[DISCOVERY_TOKEN_MAX + 1];
    CHECK(fixture_open(&s));
    CHECK_INT(discovery_directory(s.directory, &s.e), 0);
    CHECK_INT(discovery_token_file(in(&s, "mine"), token, &s.e), 1);
    CHECK_INT(mkfifo(in(&s, "mine"), 0600), 0);
    CHECK_INT(discovery_token_file(in(&s, "mine"), token, &s.e), -1);
    CHECK(strstr(s.e.text, "is not a regular file"));
    put_file(in(&s, "real"), "0123456789abcde+", 0600);
    CHECK_INT(symlink("real", in(&s, "link")), 0);
    CHECK_INT(discovery_token_file(in(&s, "link"), token, &s.e), 0); /* as secrets are mounted */
    if (geteuid() == 0) {
        CHECK_INT(chown(in(&s, "real"), 65534, 65534), 0);
        CHECK_INT(discovery_token_file(in(&s, "real"), token, &s.e), -1);
        CHECK(strstr(s.e.text, "belongs to another user"));
    }
    fixture_close(&s);
}

static void await_end(int fd)
{
    char byte;
    while (read(fd, &byte, 1) < 0 && errno == EINTR) {}
}

enum { MANY = 8, ROUNDS = 10 };

/* Starts children that wait until `go` is closed. Returns whether all of them succeeded. */
static bool run_many(void (*part)(const struct fixture *s, int number, int out),
                     const struct fixture *s, int out)
{
    int go[2], ok = 0, status;
    pid_t pids[MANY];
    if (pipe2(go, O_CLOEXEC))
        return false;
    fflush(NULL);
    for (int i = 0; i < MANY; i++) {
        if ((pids[i] = fork()) == 0) {
            close(go[1]);
            await_end(go[0]);
            part(s, i, out);
            _exit(test_failed);
        }
    }
    close(go[0]);
    close(go[1]);
    for (int i = 0; i < MANY; i++)
        ok += waitpid(pids[i], &status, 0) == pids[i] && status == 0;
    return ok == MANY;
}

static void tell_token(const struct fixture *s, int number, int out)
{
    char token[DISCOVERY_TOKEN + 1];
    struct fumi_err e;
    (void)number;
    CHECK_INT(discovery_token(s->directory, token, &e), 0);
    CHECK_INT(write(out, token, DISCOVERY_TOKEN), DISCOVERY_TOKEN);
}

TEST(concurrent_starts_get_the_same_token)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct fixture s;
        int pipes[2];
        char tokens[MANY * DISCOVERY_TOKEN];
        CHECK(fixture_open(&s));
        CHECK_INT(pipe2(pipes, O_CLOEXEC), 0);
        CHECK(run_many(tell_token, &s, pipes[1]));
        CHECK_INT(read(pipes[0], tokens, sizeof(tokens)), (int)sizeof(tokens));
        for (size_t i = 1; i < MANY; i++)
            CHECK(memcmp(tokens, tokens + i * DISCOVERY_TOKEN, DISCOVERY_TOKEN) == 0);
        close(pipes[0]);
        close(pipes[1]);
        CHECK_INT(unlink(in(&s, "token")), 0);
        CHECK_INT(rmdir(s.directory), 0);
        fixture_close(&s);
    }
}

/* The content of the lock file of a port. */
static const struct fumi_val *read_lock(struct fumi_arena *a, const char *path)
{
    char text[8192];
    struct fumi_err e;
    size_t n = get_file(path, text, sizeof(text));
    return fumi_parse(a, fumi_dup(a, (struct fumi_str){text, n}), &e);
}

TEST(server_is_announced_and_withdrawn)
{
    struct fixture s;
    struct lock_file l;
    struct fumi_arena a = {0};
    char here[PATH_MAX];
    int64_t pid = 0;
    CHECK(fixture_open(&s));
    mode_t before = umask(0);
    int rc = discovery_announce(&l, s.directory, FUMI_STR("http://127.0.0.1:8765"), 8765, GOOD,
                                "1.2.3", &s.e);
    umask(before);
    CHECK_INT(rc, 0);
    CHECK_STR(fumi_str(l.path), in(&s, "lock/8765.lock"));
    CHECK_INT(mode_of(in(&s, "lock")), 0700);
    CHECK_INT(mode_of(l.path), 0600);
    const struct fumi_val *v = read_lock(&a, l.path);
    CHECK_INT(fumi_size(v), 7);
    CHECK(fumi_int(fumi_get(v, "pid"), &pid) && pid == getpid());
    CHECK_STR(fumi_text(&a, fumi_get(v, "ideName")), "Fumi");
    CHECK_STR(fumi_text(&a, fumi_get(v, "transport")), "ws");
    CHECK_STR(fumi_text(&a, fumi_get(v, "authToken")), GOOD);
    CHECK_STR(fumi_text(&a, fumi_get(v, "url")), "http://127.0.0.1:8765");
    CHECK_STR(fumi_text(&a, fumi_get(v, "version")), "1.2.3");
    const struct fumi_val *folders = fumi_get(v, "workspaceFolders");
    CHECK_INT(fumi_size(folders), 1);
    CHECK_STR(fumi_text(&a, fumi_first(folders)), getcwd(here, sizeof(here)));
    fumi_arena_done(&a);
    discovery_withdraw(&l);
    CHECK_INT(rmdir(in(&s, "lock")), 0); /* it is empty */
    CHECK_STR(fumi_str(l.path), "");
    discovery_withdraw(&l);
    fixture_close(&s);
}

TEST(no_token_is_null)
{
    struct fixture s;
    struct lock_file l;
    struct fumi_arena a = {0};
    CHECK(fixture_open(&s));
    CHECK_INT(discovery_announce(&l, s.directory, FUMI_STR("u"), 1, NULL, "v", &s.e), 0);
    CHECK(fumi_is(fumi_get(read_lock(&a, l.path), "authToken"), FUMI_NULL));
    fumi_arena_done(&a);
    discovery_withdraw(&l);
    fixture_close(&s);
}

/* A server may change its working directory after it was announced. */
static void withdraw_elsewhere(const struct fixture *s, int number, int out)
{
    struct lock_file l;
    struct fumi_err e;
    char name[16];
    (void)out;
    snprintf(name, sizeof(name), "d%d", number);
    CHECK_INT(chdir(s->top), 0);
    CHECK_INT(discovery_announce(&l, name, FUMI_STR("u"), 7, "t", "v", &e), 0);
    CHECK_INT(chdir("/"), 0);
    CHECK(is_there(l.path));
    char path[sizeof(l.path)];
    memcpy(path, l.path, sizeof(path));
    discovery_withdraw(&l);
    CHECK(!is_there(path));
}

TEST(relative_directory_is_found_again)
{
    struct fixture s;
    CHECK(fixture_open(&s));
    CHECK(run_many(withdraw_elsewhere, &s, -1));
    fixture_close(&s);
}

/* The pid of a process that has ended. */
static long gone(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}

TEST(stale_files_are_removed)
{
    static const struct {
        const char *name, *text;
        bool stays;
    } rows[] = {
        {"1.lock", "{\"pid\":GONE}", false},
        {"2.lock", "{\"pid\":HERE}", true},
        {"3.lock", "{\"pid\":1}", true}, /* exists, whether or not we may signal it */
        {"4.lock", "", false},
        {"5.lock", "{\"pid\":", false},
        {"6.lock", "{}", false},
        {"7.lock", "{\"pid\":\"1\"}", false},
        {"8.lock", "{\"pid\":0}", false},
        {"9.lock", "{\"pid\":-1}", false},
        {"10.lock", "{\"pid\":99999999999}", false},
        {"11.lock", "[1]", false},
        {"12.lock", "\377", false},
        {"editor.lock", "{\"pid\":GONE}", false},
        {".lock", "{\"pid\":GONE}", true},
        {"lock", "{\"pid\":GONE}", true},
        {"1.lock.tmp", "{\"pid\":GONE}", true},
        {"1.lockx", "{\"pid\":GONE}", true},
        {"notes.txt", "", true},
    };
    struct fixture s;
    struct lock_file l;
    struct fumi_arena a = {0};
    CHECK(fixture_open(&s));
    CHECK(mkdir(s.directory, 0700) == 0 && mkdir(in(&s, "lock"), 0700) == 0);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        const char *text = rows[i].text;
        if (strstr(text, "GONE"))
            text = fumi_fmt(&a, "{\"pid\":%ld}", gone()).p;
        if (strstr(text, "HERE"))
            text = fumi_fmt(&a, "{\"pid\":%ld}", (long)getpid()).p;
        put_file(in(&s, fumi_fmt(&a, "lock/%s", rows[i].name).p), text, 0600);
    }
    CHECK_INT(mkdir(in(&s, "lock/d.lock"), 0700), 0);
    CHECK_INT(symlink("nowhere", in(&s, "lock/l.lock")), 0);
    CHECK_INT(mkfifo(in(&s, "lock/f.lock"), 0600), 0);
    CHECK_INT(discovery_announce(&l, s.directory, FUMI_STR("u"), 80, "t", "v", &s.e), 0);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        if (is_there(in(&s, fumi_fmt(&a, "lock/%s", rows[i].name).p)) != rows[i].stays)
            TEST_FAIL("%s %s", rows[i].name, rows[i].stays ? "was removed" : "stayed");
    CHECK(is_there(in(&s, "lock/d.lock")) && is_there(in(&s, "lock/l.lock")));
    CHECK(is_there(in(&s, "lock/f.lock")));
    fumi_arena_done(&a);
    discovery_withdraw(&l);
    fixture_close(&s);
}

/* The lock file of a dead server on the same port, and the temporary file of a dead process with
 * our pid. */
TEST(file_of_a_predecessor_is_replaced)
{
    struct fixture s;
    struct lock_file l;
    char name[64], text[200];
    CHECK(fixture_open(&s));
    CHECK(mkdir(s.directory, 0700) == 0 && mkdir(in(&s, "lock"), 0700) == 0);
    snprintf(name, sizeof(name), "lock/80.lock.%ld.tmp", (long)getpid());
    put_file(in(&s, name), "half", 0644);
    put_file(in(&s, "precious"), "keep", 0600);
    CHECK_INT(symlink("../precious", in(&s, "lock/80.lock")), 0);
    CHECK_INT(discovery_announce(&l, s.directory, FUMI_STR("u"), 80, "t", "v", &s.e), 0);
    CHECK_INT(mode_of(in(&s, "lock/80.lock")), 0600);
    CHECK(!is_there(in(&s, name)));
    get_file(in(&s, "precious"), text, sizeof(text));
    CHECK_STR(fumi_str(text), "keep");
    discovery_withdraw(&l);
    fixture_close(&s);
}

TEST(file_of_a_successor_stays)
{
    struct fixture s;
    struct lock_file l;
    CHECK(fixture_open(&s));
    CHECK_INT(discovery_announce(&l, s.directory, FUMI_STR("u"), 80, "t", "v", &s.e), 0);
    put_file(in(&s, "lock/80.lock"), "{\"pid\":1}", 0600);
    discovery_withdraw(&l);
    CHECK(is_there(in(&s, "lock/80.lock")));
    fixture_close(&s);
}

TEST(lock_directory_must_be_one)
{
    struct fixture s;
    struct lock_file l;
    CHECK(fixture_open(&s));
    CHECK(mkdir(s.directory, 0700) == 0 && symlink("..", in(&s, "lock")) == 0);
    CHECK_INT(discovery_announce(&l, s.directory, FUMI_STR("u"), 80, "t", "v", &s.e), -1);
    CHECK(strstr(s.e.text, "/lock is a symbolic link or a file; it must be a directory"));
    CHECK_STR(fumi_str(l.path), "");
    discovery_withdraw(&l);
    fixture_close(&s);
}

/* The test directory becomes the root, so that the real one is not at risk. */
static void refuse_root(const struct fixture *s, int number, int out)
{
    static const char *const names[] = {"/", "///", "/.", "/..", "/fumi/.."};
    struct fumi_err e = {0};
    (void)number, (void)out;
    CHECK(chroot(s->top) == 0 && chdir("/") == 0);
    for (size_t i = 0; i < FUMI_COUNT(names); i++)
        if (discovery_directory(names[i], &e) != -1 || !strstr(e.text, "is shared by all users"))
            TEST_FAIL("%s: %s", names[i], e.text);
    CHECK_INT(mode_of("/"), 0755);
}

TEST(root_is_refused)
{
    struct fixture s;
    if (geteuid() != 0) {
        printf("skipped: the root directory: needs root\n");
        return;
    }
    CHECK(fixture_open(&s));
    CHECK(mkdir(s.directory, 0700) == 0 && chmod(s.top, 0755) == 0);
    CHECK(run_many(refuse_root, &s, -1));
    fixture_close(&s);
}

static void announce_one(const struct fixture *s, int number, int out)
{
    struct lock_file l;
    struct fumi_err e;
    char name[32];
    (void)out;
    snprintf(name, sizeof(name), "lock/%d.lock", 100 + number);
    for (int i = 0; i < 50; i++) {
        uint16_t port = (uint16_t)(100 + number);
        put_file(in(s, name), "{}", 0600);
        CHECK_INT(discovery_announce(&l, s->directory, FUMI_STR("u"), port, "t", "v", &e), 0);
        CHECK(is_there(l.path));
        discovery_withdraw(&l);
    }
}

/* Each process finds its own file, which was stale, and subject to removal by others, just before.
 */
TEST(announcements_do_not_remove_each_other)
{
    struct fixture s;
    CHECK(fixture_open(&s));
    CHECK(mkdir(s.directory, 0700) == 0 && mkdir(in(&s, "lock"), 0700) == 0);
    CHECK(run_many(announce_one, &s, -1));
    CHECK_INT(rmdir(in(&s, "lock")), 0);
    fixture_close(&s);
}

/* Whether a byte arrives in time; also used to check that none does. */
static bool comes(int fd, int ms)
{
    return poll(&(struct pollfd){fd, POLLIN, 0}, 1, ms) == 1;
}

static _Noreturn void announce_and_report(const struct fixture *s, int out)
{
    struct lock_file l;
    struct fumi_err e;
    bool good = discovery_announce(&l, s->directory, FUMI_STR("u"), 80, "t", "v", &e) == 0;
    _exit(write(out, good ? "y" : "n", 1) != 1);
}

TEST(announcement_waits_for_the_lock)
{
    struct fixture s;
    int reports[2];
    char byte = 0;
    CHECK(fixture_open(&s));
    CHECK(mkdir(s.directory, 0700) == 0 && mkdir(in(&s, "lock"), 0700) == 0);
    CHECK_INT(pipe2(reports, O_CLOEXEC), 0);
    int turn = open(in(&s, "lock"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_INT(flock(turn, LOCK_EX), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(turn); /* the parent holds the lock as long as it has the descriptor open */
        announce_and_report(&s, reports[1]);
    }
    bool early = comes(reports[0], 200);
    flock(turn, LOCK_UN);
    ssize_t got = read(reports[0], &byte, 1);
    waitpid(pid, NULL, 0);
    close(turn);
    close(reports[0]);
    close(reports[1]);
    CHECK(!early && got == 1 && byte == 'y');
    fixture_close(&s);
}
