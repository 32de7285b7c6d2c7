/* Faults of the environment: a full disk, files and directories that cannot be written, no
 * descriptors left, files of other programs. In each case the error text gives a remedy, nothing is
 * lost, and the store works again as soon as the cause is removed. Each case runs in its own child
 * process. */
#include "base/arena.h"
#include "crash.h"
#include "store/sqlite.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FEW = 20, MANY = 600, NOBODY = 65534, PATIENCE = 120, SKIPPED = 77, NO_FDS = 64 };

struct site {
    char dir[64], path[96];
    struct store *s;
    struct ledger ledger;
    unsigned next; /* number of the next note */
};

static const struct fumi_log silent = {.level = FUMI_SILENT};

static struct store *open_at(const char *path, struct fumi_err *e)
{
    *e = (struct fumi_err){0};
    return store_sqlite_open(&(struct store_sqlite_options){.path = path, .log = &silent}, e);
}

/* Whether the error is one of ours, with a text that is long enough to contain a remedy. */
static bool has_text(const struct fumi_err *e)
{
    return (e->code == FUMI_INTERNAL_ERROR || e->code == FUMI_LIMIT || e->code == ERR_NEWER) &&
           strlen(e->text) > 20;
}

static int add(struct site *p, struct fumi_err *e)
{
    struct crash_thing t = {CRASH_NOTE, 1, p->next++, 1};
    *e = (struct fumi_err){0};
    if (crash_do(p->s, t, e))
        return -1;
    ledger_set(&p->ledger, 'D', t);
    return 0;
}

static void add_some(struct site *p, unsigned n)
{
    struct fumi_err e;
    for (unsigned i = 0; i < n; i++)
        if (add(p, &e)) {
            TEST_FAIL("%s", e.text);
            return;
        }
}

static void begin(struct site *p)
{
    struct fumi_err e;
    p->s = open_at(p->path, &e);
    if (!p->s)
        TEST_FAIL("%s", e.text);
    else
        add_some(p, FEW);
}

static void look(struct site *p)
{
    struct fumi_buf output = {0};
    int faults = crash_check(p->s, &p->ledger, LOOK_ALL, &output);
    if (faults)
        TEST_FAIL("%d faults\n%.*s", faults, (int)output.n, output.n ? output.p : "");
    fumi_buf_done(&output);
}

/* After the fault, the store must work in this process and when it is opened again. */
static void end(struct site *p)
{
    struct fumi_buf output = {0};
    add_some(p, FEW);
    look(p);
    store_close(p->s);
    int faults = crash_check_file(p->path, &p->ledger, LOOK_ALL, &output);
    if (faults)
        TEST_FAIL("opened again: %d faults\n%.*s", faults, (int)output.n, output.n ? output.p : "");
    fumi_buf_done(&output);
}

/* Reading and searching may fail now, but must not crash or return a wrong text. Returns the number
 * of notes that were read. */
static unsigned read_all(struct site *p)
{
    struct fumi_arena a = {0};
    struct filter f = {.project = CRASH_PROJECT, .since = INT64_MIN, .until = INT64_MAX};
    unsigned right = 0;
    for (unsigned i = 0; i < FEW; i++) {
        struct fumi_err e = {0};
        struct note n;
        struct hits h;
        float x[CRASH_DIM];
        struct crash_thing t = {CRASH_NOTE, 1, i, 1};
        crash_vector(t, 0, x);
        int rc = store_get_note(p->s, &a, crash_id(&a, t), &n, &e);
        if (rc ? !has_text(&e) : !crash_note_is(&n, t))
            TEST_FAIL("note %u: %s", i, rc ? e.text : "wrong");
        right += !rc;
        if (store_nearest(p->s, &a, &f, CRASH_SPACE, x, CRASH_DIM, 3, &h, &e) && !has_text(&e))
            TEST_FAIL("near: %s", e.text);
        const struct keyword_query word = {.text = crash_word(&a, t), .limit = 3};
        struct keyword_hits found = {0};
        if (store_match_keywords(p->s, &a, &f, &word, &found, &e) && !has_text(&e))
            TEST_FAIL("match: %s", e.text);
        fumi_arena_reset(&a, 1 << 16);
    }
    fumi_arena_done(&a);
    return right;
}

/* Adds notes until the disk is full, and then tries a few more times. */
static void add_until_full(struct site *p)
{
    struct fumi_err e = {0};
    unsigned refused = 0;
    for (unsigned i = 0; i < MANY && refused < 5; i++)
        if (add(p, &e)) {
            refused++;
            if (!has_text(&e))
                TEST_FAIL("%d %s", e.code, e.text);
        }
    printf("%zu acknowledged, then: %s\n", p->ledger.acknowledged, e.text);
    if (!refused)
        TEST_FAIL("the disk did not become full");
}

static void limit_size(rlim_t most)
{
    struct rlimit now;
    getrlimit(RLIMIT_FSIZE, &now);
    now.rlim_cur = most;
    if (setrlimit(RLIMIT_FSIZE, &now))
        TEST_FAIL("cannot set a limit");
}

static void small_files(struct site *p)
{
    struct stat wal;
    char path[128];
    signal(SIGXFSZ, SIG_IGN);
    begin(p);
    read_all(p);
    snprintf(path, sizeof(path), "%s-wal", p->path);
    CHECK_INT(stat(path, &wal), 0);
    limit_size((rlim_t)wal.st_size + 100000);
    add_until_full(p);
    CHECK_INT(read_all(p), FEW);
    limit_size(RLIM_INFINITY);
    end(p);
}

/* Opens the store while nothing can be written, and again when writing is possible. */
static void open_on_full(struct site *p)
{
    struct fumi_err e;
    signal(SIGXFSZ, SIG_IGN);
    limit_size(0);
    p->s = open_at(p->path, &e);
    CHECK(!p->s);
    CHECK(has_text(&e));
    printf("%s\n", e.text);
    limit_size(RLIM_INFINITY);
    begin(p);
    CHECK(p->s);
    end(p);
}

/* Mounts a file system that only this child process sees. */
static void mounted(const char *dir, const char *options)
{
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("fumi-crash", dir, "tmpfs", 0, options)) {
        printf("skipped: cannot mount (%s)\n", strerror(errno));
        fflush(stdout);
        _exit(SKIPPED);
    }
}

static void fill_disk(const char *path)
{
    static char block[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    size_t step = sizeof(block);
    memset(block, 'x', sizeof(block));
    while (fd >= 0 && step)
        if (write(fd, block, step) != (ssize_t)step)
            step /= 2;
    close(fd);
}

static void full_disk(struct site *p)
{
    char ballast[128];
    mounted(p->dir, "size=16m");
    snprintf(ballast, sizeof(ballast), "%s/ballast", p->dir);
    begin(p);
    read_all(p);
    fill_disk(ballast);
    add_until_full(p);
    /* The vector cache must not be written through the mapping if the disk has no page for it. */
    CHECK_INT(read_all(p), FEW);
    CHECK_INT(unlink(ballast), 0);
    end(p);
}

/* The disk has no space for the vector cache, which the first search creates. */
static void full_before_search(struct site *p)
{
    char ballast[128];
    mounted(p->dir, "size=16m");
    snprintf(ballast, sizeof(ballast), "%s/ballast", p->dir);
    begin(p);
    add_some(p, FEW);
    fill_disk(ballast);
    CHECK_INT(read_all(p), FEW);
    CHECK_INT(unlink(ballast), 0);
    end(p);
}

static void full_from_the_start(struct site *p)
{
    char ballast[128];
    struct fumi_err e;
    mounted(p->dir, "size=16m");
    snprintf(ballast, sizeof(ballast), "%s/ballast", p->dir);
    fill_disk(ballast);
    CHECK(!open_at(p->path, &e));
    CHECK(has_text(&e));
    printf("%s\n", e.text);
    CHECK_INT(unlink(ballast), 0);
    begin(p);
    CHECK(p->s);
    look(p);
    store_close(p->s);
}

static void read_only_disk(struct site *p)
{
    struct fumi_err e;
    char other[128];
    mounted(p->dir, "size=16m");
    begin(p);
    store_close(p->s);
    CHECK_INT(mount(NULL, p->dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    p->s = open_at(p->path, &e);
    if (p->s) {
        CHECK(add(p, &e) == -1);
        store_close(p->s);
    }
    CHECK(has_text(&e));
    printf("%s\n", e.text);
    snprintf(other, sizeof(other), "%s/new/other.db", p->dir);
    CHECK(!open_at(other, &e));
    CHECK(has_text(&e));
    CHECK_INT(mount(NULL, p->dir, NULL, MS_REMOUNT, NULL), 0);
    p->s = open_at(p->path, &e);
    CHECK(p->s);
    end(p);
}

/* Permissions do not apply to root, so the process changes its user. */
static void be_ordinary(const char *dir)
{
    if (getuid() != 0)
        return;
    if (chown(dir, NOBODY, NOBODY) || syscall(SYS_setgroups, 0, NULL) || setgid(NOBODY) ||
        setuid(NOBODY)) {
        printf("skipped: cannot change the user (%s)\n", strerror(errno));
        fflush(stdout);
        _exit(SKIPPED);
    }
}

static void refused_with(const char *path, const char *changed, mode_t mode, mode_t back)
{
    struct fumi_err e;
    CHECK_INT(chmod(changed, mode), 0);
    struct store *s = open_at(path, &e);
    CHECK_INT(chmod(changed, back), 0);
    if (s)
        store_close(s);
    CHECK(!s);
    CHECK(has_text(&e));
    printf("%03o: %s\n", mode, e.text);
}

/* The store can be read, and writing fails with an error text. */
static void read_with(struct site *p, const char *changed, mode_t mode, mode_t back)
{
    struct fumi_err e;
    CHECK_INT(chmod(changed, mode), 0);
    p->s = open_at(p->path, &e);
    CHECK(p->s);
    if (p->s) {
        read_all(p);
        CHECK(add(p, &e) && has_text(&e));
        printf("%03o: %s\n", mode, e.text);
        p->next--;
        store_close(p->s);
    }
    CHECK_INT(chmod(changed, back), 0);
}

static void no_rights(struct site *p)
{
    char missing[128];
    struct fumi_err e;
    be_ordinary(p->dir);
    snprintf(missing, sizeof(missing), "%s/missing.db", p->dir);
    begin(p);
    CHECK(p->s);
    store_close(p->s);
    read_with(p, p->path, 0400, 0600);
    refused_with(p->path, p->path, 0000, 0600);
    read_with(p, p->dir, 0500, 0700);
    refused_with(p->path, p->dir, 0000, 0700);
    refused_with(missing, p->dir, 0500, 0700);
    CHECK(access(missing, F_OK));
    p->s = open_at(p->path, &e);
    CHECK(p->s);
    end(p);
}

static void no_descriptors(struct site *p)
{
    int fds[NO_FDS], n = 0;
    struct rlimit few = {NO_FDS, NO_FDS};
    struct fumi_err e;
    char other[128];
    snprintf(other, sizeof(other), "%s/other.db", p->dir);
    begin(p);
    CHECK(p->s);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (n < NO_FDS && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    CHECK(n > 0);
    read_all(p);
    for (unsigned i = 0; i < 5; i++)
        CHECK(add(p, &e) == 0 || has_text(&e));
    CHECK(!open_at(other, &e));
    CHECK(has_text(&e));
    printf("%s\n", e.text);
    while (n)
        close(fds[--n]);
    end(p);
}

static void new_files_are_private(struct site *p)
{
    static const char *const names[] = {"", "-wal", "-shm", ".vec"};
    char path[160];
    struct stat st;
    umask(0);
    snprintf(p->path, sizeof(p->path), "%s/a/b/x.db", p->dir);
    begin(p);
    CHECK(p->s);
    read_all(p);
    for (size_t i = 0; i < FUMI_COUNT(names); i++) {
        snprintf(path, sizeof(path), "%s%s", p->path, names[i]);
        CHECK_INT(stat(path, &st), 0);
        CHECK_INT(st.st_mode & 0777, 0600);
    }
    snprintf(path, sizeof(path), "%s/a/b", p->dir);
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0700);
    end(p);
}

static void empty_file(struct site *p)
{
    CHECK_INT(crash_write(p->path, "", 0), 0);
    begin(p);
    CHECK(p->s);
    end(p);
}

/* Files of other programs are not changed, and no files are created beside them. */

/* SQLite may create -wal and -shm to read a database; the next writer removes them. */
static bool is_beside(const char *name)
{
    size_t n = strlen(name);
    return name[0] == '.' ||
           (n > 4 && (strcmp(name + n - 4, "-wal") == 0 || strcmp(name + n - 4, "-shm") == 0));
}

static size_t count_files(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        n += !is_beside(e->d_name);
    if (d)
        closedir(d);
    return n;
}

static void untouched(struct site *p, const char *what)
{
    struct fumi_err e;
    struct fumi_buf before = {0}, after = {0};
    size_t files = count_files(p->dir);
    crash_read(p->path, &before);
    struct store *s = open_at(p->path, &e);
    if (s || !has_text(&e))
        TEST_FAIL("%s: %s", what, s ? "was opened" : e.text);
    if (s)
        store_close(s);
    crash_read(p->path, &after);
    if (!fumi_eq(fumi_buf_str(&before), fumi_buf_str(&after)))
        TEST_FAIL("%s: the file was changed", what);
    if (count_files(p->dir) != files)
        TEST_FAIL("%s: %zu files now, %zu before", what, count_files(p->dir), files);
    printf("%s: %s\n", what, e.text);
    fumi_buf_done(&before);
    fumi_buf_done(&after);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *h = NULL;
    int rc = sqlite3_open(path, &h);
    if (rc || (rc = sqlite3_exec(h, sql, NULL, NULL, NULL)))
        TEST_FAIL("%s: %s", sql, sqlite3_errmsg(h));
    sqlite3_close(h);
}

static void foreign_bytes(struct site *p)
{
    static const struct {
        const char *what;
        struct fumi_str bytes;
        size_t size;
    } rows[] = {
        {"a text", FUMI_STR("Dear diary, today nothing happened.\n"), 0},
        {"a long text", FUMI_STR("Dear diary"), 100000},
        {"a head alone", FUMI_STR("SQLite format 3\0"), 0},
        {"a head and nonsense", FUMI_STR("SQLite format 3\0\x10\0"), 8192},
        {"two bytes", FUMI_STR("xy"), 0},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_buf b = {0};
        fumi_buf_add(&b, rows[i].bytes.p, rows[i].bytes.n);
        while (b.n < rows[i].size)
            fumi_buf_put(&b, (char)crash_mix(b.n));
        CHECK_INT(crash_write(p->path, b.p, b.n), 0);
        untouched(p, rows[i].what);
        fumi_buf_done(&b);
    }
}

static void foreign_databases(struct site *p)
{
    static const struct {
        const char *what, *sql;
    } rows[] = {
        {"a database of another program", "PRAGMA application_id=77; CREATE TABLE t(x)"},
        {"a database without an application id", "CREATE TABLE t(x); INSERT INTO t VALUES(1)"},
        {"a table with the name of ours", "CREATE TABLE notes(x); PRAGMA user_version=1"},
        {"another program's database in WAL mode",
         "PRAGMA journal_mode=WAL; PRAGMA application_id=77; CREATE TABLE t(x)"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        crash_dir_empty(p->dir);
        run_sql(p->path, rows[i].sql);
        untouched(p, rows[i].what);
    }
}

static void changed_database(struct site *p)
{
    static const struct {
        const char *what, *sql;
    } rows[] = {
        {"a newer version", "PRAGMA user_version=999"},
        {"a negative version", "PRAGMA user_version=-1"},
        {"another application", "PRAGMA application_id=5"},
        {"an additional table", "CREATE TABLE extra(x)"},
        {"a missing table", "DROP TABLE meta"},
        {"a trigger", "CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM notes; END"},
        {"a view", "CREATE VIEW v AS SELECT 1"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        crash_dir_empty(p->dir);
        ledger_done(&p->ledger);
        p->next = 0;
        begin(p);
        CHECK(p->s);
        store_close(p->s);
        run_sql(p->path, rows[i].sql);
        untouched(p, rows[i].what);
    }
}

static void not_a_file(struct site *p)
{
    char below[160];
    struct fumi_err e;
    CHECK_INT(mkdir(p->path, 0700), 0);
    CHECK(!open_at(p->path, &e));
    CHECK(has_text(&e));
    printf("%s\n", e.text);
    CHECK_INT(rmdir(p->path), 0);
    CHECK_INT(crash_write(p->path, "x", 1), 0);
    snprintf(below, sizeof(below), "%s/below.db", p->path);
    CHECK(!open_at(below, &e));
    CHECK(has_text(&e));
    printf("%s\n", e.text);
}

/* Running the cases */

static int in_child(void (*run)(struct site *))
{
    int status = -1;
    struct site p = {0};
    crash_dir(p.dir, sizeof(p.dir), false);
    snprintf(p.path, sizeof(p.path), "%s/x.db", p.dir);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(PATIENCE);
        run(&p);
        ledger_done(&p.ledger);
        exit(test_failed);
    }
    waitpid(pid, &status, 0);
    crash_dir_remove(p.dir);
    return WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED ? 0 : status;
}

#define CASE(name)                                                                                 \
    TEST(name##_)                                                                                  \
    {                                                                                              \
        CHECK_INT(in_child(name), 0);                                                              \
    }

CASE(small_files)
CASE(open_on_full)
CASE(full_disk)
CASE(full_before_search)
CASE(full_from_the_start)
CASE(read_only_disk)
CASE(no_rights)
CASE(no_descriptors)
CASE(new_files_are_private)
CASE(empty_file)
CASE(foreign_bytes)
CASE(foreign_databases)
CASE(changed_database)
CASE(not_a_file)
