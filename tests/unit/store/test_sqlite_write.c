#include "test.h"

#include "store/sqlite_parts.h"
#include "store_fixture.h"

#include "base/uuid.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int64_t count(struct fixture *t)
{
    struct store_stats st = {.notes = -1};
    store_stats(t->s, &st, &t->e);
    return st.notes;
}

static int mode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) ? -1 : (int)(st.st_mode & 07777);
}

static int64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) ? -1 : (int64_t)st.st_size;
}

static int write_file(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "w");
    size_t done = f ? fwrite(bytes, 1, n, f) : 0;
    return f && fclose(f) == 0 && done == n ? 0 : -1;
}

/* The content of the file, in the arena. */
static struct fumi_str read_file(struct fumi_arena *a, const char *path)
{
    int64_t n = size_of(path);
    FILE *f = n >= 0 ? fopen(path, "r") : NULL;
    char *p = fumi_alloc(a, (size_t)(n > 0 ? n : 1));
    size_t got = f ? fread(p, 1, (size_t)n, f) : 0;
    if (f)
        fclose(f);
    return (struct fumi_str){p, got};
}

static int sql(const char *path, const char *text)
{
    sqlite3 *h = NULL;
    int rc = sqlite3_open(path, &h);
    if (!rc)
        rc = sqlite3_exec(h, text, NULL, NULL, NULL);
    if (rc)
        fprintf(stderr, "%s: %s\n", text, sqlite3_errmsg(h));
    sqlite3_close(h);
    return rc;
}

/* Files. */

TEST(files_are_the_users_alone)
{
    struct fixture t = {0};
    mode_t before = umask(0);
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "x", NAN), 0);
    umask(before);
    char path[160], dir[160];
    CHECK_INT(mode_of(t.path), 0600);
    snprintf(path, sizeof(path), "%s-wal", t.path);
    CHECK_INT(mode_of(path), 0600);
    snprintf(path, sizeof(path), "%s-shm", t.path);
    CHECK_INT(mode_of(path), 0600);
    snprintf(dir, sizeof(dir), "%s/data", t.top);
    CHECK_INT(mode_of(dir), 0700);
    fixture_end(&t);
}

TEST(directories_are_made)
{
    struct fixture t = {0};
    CHECK(fixture_begin(&t));
    snprintf(t.path, sizeof(t.path), "%s/a/b/c/d.db", t.top);
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "x", NAN), 0);
    fixture_end(&t);
}

TEST(a_path_that_cannot_be_is_an_error)
{
    struct fixture t = {0};
    CHECK(fixture_begin(&t));
    char file[160];
    snprintf(file, sizeof(file), "%s/file", t.top);
    CHECK_INT(write_file(file, "x", 1), 0);
    snprintf(t.path, sizeof(t.path), "%s/file/memory.db", t.top);
    CHECK(!fixture_store(&t, t.path));
    CHECK_INT(t.e.code, FUMI_INTERNAL_ERROR);
    CHECK(!fixture_store(&t, t.top)); /* a directory */
    CHECK_INT(t.e.code, FUMI_LIMIT);
    fixture_end(&t);
}

/* Files that are not stores of this version are refused and not changed. */

static bool is_refused(struct fixture *t, const char *sentence)
{
    struct fumi_str before = read_file(&t->a, t->path);
    struct store *s = fixture_store(t, t->path);
    if (s) {
        store_close(s);
        TEST_FAIL("it was opened");
        return false;
    }
    if (!strstr(t->e.text, sentence))
        TEST_FAIL("the sentence: %s", t->e.text);
    struct fumi_str after = read_file(&t->a, t->path);
    return fumi_eq(before, after) && strstr(t->e.text, sentence);
}

TEST(other_files_are_refused_and_left_alone)
{
    struct fixture t = {0};
    CHECK(fixture_begin(&t));
    snprintf(t.path, sizeof(t.path), "%s/some.db", t.top);
    CHECK_INT(write_file(t.path, "hello, this is no database", 26), 0);
    CHECK(is_refused(&t, "not a fumi database"));
    char junk[5000];
    memset(junk, 'x', sizeof(junk));
    CHECK_INT(write_file(t.path, junk, sizeof(junk)), 0);
    CHECK(is_refused(&t, "not a fumi database"));
    unlink(t.path);
    CHECK_INT(sql(t.path, "CREATE TABLE notes(x)"), 0);
    CHECK(is_refused(&t, "not a fumi database"));
    CHECK_INT(sql(t.path, "PRAGMA journal_mode=WAL; PRAGMA application_id=7"), 0);
    CHECK(is_refused(&t, "not a fumi database"));
    CHECK_INT(sql(t.path, "PRAGMA application_id=1182100841; PRAGMA user_version=1"), 0);
    CHECK(is_refused(&t, "not those that fumi created"));
    fixture_end(&t);
}

TEST(a_newer_schema_is_refused_and_left_alone)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "x", NAN), 0);
    fixture_shut(&t);
    CHECK_INT(sql(t.path, "PRAGMA user_version=5"), 0);
    CHECK(is_refused(&t, "written by a newer fumi"));
    CHECK_INT(sql(t.path, "PRAGMA user_version=4"), 0);
    CHECK(fixture_open(&t));
    CHECK_INT(count(&t), 1);
    fixture_end(&t);
}

TEST(a_schema_with_more_or_less_is_refused)
{
    static const char *const changes[] = {
        "CREATE TABLE more(x)",
        "CREATE TRIGGER t AFTER INSERT ON notes BEGIN SELECT 1; END",
        "CREATE VIEW v AS SELECT * FROM notes",
        "CREATE INDEX more ON notes(text)",
        "DROP INDEX notes_time",
        "DROP TABLE globals",
        "ALTER TABLE notes ADD COLUMN more TEXT",
    };
    for (size_t i = 0; i < FUMI_COUNT(changes); i++) {
        struct fixture t = {0};
        CHECK(fixture_open(&t));
        fixture_shut(&t);
        CHECK_INT(sql(t.path, changes[i]), 0);
        CHECK(is_refused(&t, "not those that fumi created"));
        fixture_end(&t);
    }
}

TEST(an_empty_file_becomes_a_database)
{
    struct fixture t = {0};
    CHECK(fixture_begin(&t));
    snprintf(t.path, sizeof(t.path), "%s/empty.db", t.top);
    CHECK_INT(write_file(t.path, "", 0), 0);
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "x", NAN), 0);
    fixture_end(&t);
}

/* Migration to schema versions that do not exist. */

TEST(a_migration_keeps_a_copy)
{
    static const struct store_sqlite_step steps[] = {{0, "not for us", NULL},
                                                     {4, "CREATE TABLE five(x)", NULL},
                                                     {5, "CREATE TABLE six(x)", NULL}};
    static const struct store_sqlite_steps list = {steps, FUMI_COUNT(steps)};
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "kept", NAN), 0);
    struct store_sqlite *s = (struct store_sqlite *)t.s;
    CHECK_INT(store_sqlite_schema_migrate(s->writer, &list, 6, &t.e), 0);
    CHECK_INT(store_sqlite_schema_migrate(s->writer, &list, 6, &t.e),
              0); /* as if another process had migrated it */
    struct note got;
    CHECK_INT(store_get_note(t.s, &t.a, FUMI_STR("1"), &got, &t.e), 0);
    fixture_shut(&t);
    CHECK_INT(sql(t.path, "INSERT INTO five VALUES(1); INSERT INTO six VALUES(1)"), 0);
    CHECK(is_refused(&t, "written by a newer fumi"));
    char copy[160];
    snprintf(copy, sizeof(copy), "%s.v4.bak", t.path);
    CHECK_INT(mode_of(copy), 0600);
    snprintf(t.path, sizeof(t.path), "%s/data/memory.db.v4.bak", t.top);
    CHECK(fixture_open(&t));
    CHECK_INT(count(&t), 1);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

TEST(a_migration_that_fails_changes_nothing)
{
    static const struct store_sqlite_step steps[] = {{4, "CREATE TABLE five(x)", NULL},
                                                     {5, "no SQL at all", NULL}};
    static const struct store_sqlite_steps list = {steps, FUMI_COUNT(steps)};
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "kept", NAN), 0);
    struct store_sqlite *s = (struct store_sqlite *)t.s;
    CHECK_INT(store_sqlite_schema_migrate(s->writer, &list, 6, &t.e), -1);
    fixture_shut(&t);
    CHECK(fixture_open(&t));
    CHECK_INT(count(&t), 1);
    fixture_end(&t);
}

/* Writers of one process. */

struct crowd {
    struct fixture *t;
    int base, n, failed, conflicts;
};

static void *add_some(void *arg)
{
    struct crowd *c = arg;
    struct fixture mine = {.s = c->t->s};
    for (int i = 0; i < c->n; i++) {
        char id[32], text[64];
        struct note n;
        snprintf(id, sizeof(id), "%d", c->base + i);
        snprintf(text, sizeof(text), "note number %d", c->base + i);
        n = fixture_note(id, text);
        c->failed += fixture_put(&mine, &n, 0.5) != 0;
        int rc = fixture_add(&mine, "taken", "x", 0.5); /* only the first one succeeds */
        c->conflicts += rc && mine.e.code == ERR_CONFLICT;
        c->failed += rc && mine.e.code != ERR_CONFLICT;
        if (i % 3 == 0)
            c->failed += store_delete(mine.s, &mine.a, n.id, NULL, &mine.e) != 0;
    }
    fumi_arena_done(&mine.a);
    return NULL;
}

TEST(threads_write_together)
{
    enum { THREADS = 16, EACH = 30 };
    struct fixture t = {0};
    struct crowd crowd[THREADS];
    pthread_t threads[THREADS];
    int failed = 0, conflicts = 0;
    CHECK(fixture_open(&t));
    for (int i = 0; i < THREADS; i++) {
        crowd[i] = (struct crowd){.t = &t, .base = i * 1000, .n = EACH};
        CHECK_INT(pthread_create(&threads[i], NULL, add_some, &crowd[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        failed += crowd[i].failed;
        conflicts += crowd[i].conflicts;
    }
    CHECK_INT(failed, 0);
    CHECK_INT(conflicts, THREADS * EACH - 1);
    CHECK_INT(count(&t), THREADS * EACH - THREADS * EACH / 3 + 1);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* A write that fails after it has changed something is undone and does not affect other writes. */

struct fail_late {
    struct fixture *t;
    int failed;
};

static void *add_bad(void *arg)
{
    struct fail_late *f = arg;
    struct fixture mine = {.s = f->t->s};
    float bad[DIM] = {NAN};
    struct passage p = {0, 1, bad};
    struct vectors v = {.space = SPACE, .dim = DIM, .items = &p, .n = 1};
    for (int i = 0; i < 20; i++) {
        struct note n = fixture_note("bad", "bad");
        f->failed += store_add_note(mine.s, &mine.a, &n,
                                    &(struct note_change){.vectors = &v, .allow_duplicate = true},
                                    &mine.e) == 0;
    }
    fumi_arena_done(&mine.a);
    return NULL;
}

TEST(a_late_failure_harms_nobody)
{
    enum { THREADS = 4, EACH = 30 };
    struct fixture t = {0};
    struct crowd crowd[THREADS];
    struct fail_late bad = {&t, 0};
    pthread_t threads[THREADS], other;
    int failed = 0;
    CHECK(fixture_open(&t));
    CHECK_INT(pthread_create(&other, NULL, add_bad, &bad), 0);
    for (int i = 0; i < THREADS; i++) {
        crowd[i] = (struct crowd){.t = &t, .base = i * 1000, .n = EACH};
        CHECK_INT(pthread_create(&threads[i], NULL, add_some, &crowd[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        failed += crowd[i].failed;
    }
    pthread_join(other, NULL);
    CHECK_INT(failed, 0);
    CHECK_INT(bad.failed, 0);
    CHECK_INT(count(&t), THREADS * EACH - THREADS * EACH / 3 + 1);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* Several writes of one thread share a transaction. */

/* The number of transactions in the write-ahead log: their last frames name the size of the
 * database in their headers (https://sqlite.org/fileformat2.html#walformat). */
static int commits(struct fixture *t)
{
    enum { HEADER = 32, FRAME = 24 + 4096, SIZE_AT = 4 };
    struct fumi_str log = read_file(&t->a, fumi_fmt(&t->a, "%s-wal", t->path).p);
    int n = 0;
    for (size_t at = HEADER; at + FRAME <= log.n; at += FRAME)
        n += memcmp(log.p + at + SIZE_AT, "\0\0\0", 4) != 0;
    return n;
}

static int insert(struct db *d, void *arg, struct fumi_err *e)
{
    return store_sqlite_run(d, e, "INSERT INTO meta VALUES(?1, 'x')", "s", fumi_str(arg));
}

static int refuse(struct db *d, void *arg, struct fumi_err *e)
{
    (void)d, (void)arg;
    return fumi_err_set(e, ERR_CONFLICT, "refused");
}

static int insert_and_fail(struct db *d, void *arg, struct fumi_err *e)
{
    return insert(d, arg, e) ? -1 : fumi_err_set(e, FUMI_INTERNAL_ERROR, "failed");
}

static bool has(struct fixture *t, const char *name)
{
    struct fumi_str value;
    return store_get_meta(t->s, &t->a, name, &value, &t->e) == 0 && value.p;
}

TEST(writes_of_a_thread_share_a_transaction)
{
    struct fixture t = {0};
    struct fumi_err e[3] = {{0}};
    char a[] = "a", b[] = "b";
    struct store_sqlite_job jobs[] = {
        {insert, a, &e[0], 1}, {refuse, NULL, &e[1], 1}, {insert, b, &e[2], 1}};
    CHECK(fixture_open(&t));
    int before = commits(&t);
    store_sqlite_write_all(t.s, jobs, FUMI_COUNT(jobs));
    CHECK_INT(commits(&t), before + 1);
    CHECK(jobs[0].result == 0 && jobs[1].result == -1 && jobs[2].result == 0);
    CHECK_INT(e[1].code, ERR_CONFLICT);
    CHECK(has(&t, "a") && has(&t, "b"));
    fixture_end(&t);
}

TEST(a_late_failure_ends_the_writes_of_its_thread)
{
    struct fixture t = {0};
    struct fumi_err e[4] = {{0}};
    char a[] = "a", b[] = "b", c[] = "c";
    struct store_sqlite_job jobs[] = {{insert, a, &e[0], 1},
                                      {refuse, NULL, &e[1], 1},
                                      {insert_and_fail, b, &e[2], 1},
                                      {insert, c, &e[3], 1}};
    CHECK(fixture_open(&t));
    store_sqlite_write_all(t.s, jobs, FUMI_COUNT(jobs));
    CHECK(jobs[0].result == 0 && jobs[1].result == -1 && jobs[2].result == -1);
    CHECK_INT(jobs[3].result, -1);
    CHECK_INT(e[1].code, ERR_CONFLICT);
    CHECK(strcmp(e[2].text, "failed") == 0 && strcmp(e[3].text, "failed") == 0);
    CHECK(has(&t, "a") && !has(&t, "b") && !has(&t, "c"));
    store_sqlite_write_all(t.s, jobs, 0);
    fixture_end(&t);
}

/* Processes. */

/* Waits until the pipe is closed, then adds. */
static int child_adds(const char *path, int gate, int base, int n)
{
    char byte;
    struct fixture t = {.top = "-"};
    if (read(gate, &byte, 1) != 0)
        return 1;
    snprintf(t.path, sizeof(t.path), "%s", path);
    if (!fixture_open(&t))
        return 2;
    for (int i = 0; i < n; i++)
        if (fixture_add(&t, fumi_fmt(&t.a, "%d", base + i).p, "x", 0.3)) {
            fprintf(stderr, "%s\n", t.e.text);
            return 3;
        }
    fixture_shut(&t);
    fumi_arena_done(&t.a);
    return 0;
}

TEST(processes_begin_together_on_a_missing_file)
{
    enum { PROCESSES = 16, EACH = 50 };
    struct fixture t = {0};
    pid_t pids[PROCESSES];
    int gate[2], failed = 0;
    CHECK(fixture_begin(&t));
    CHECK_INT(pipe(gate), 0);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            close(gate[1]);
            _exit(child_adds(t.path, gate[0], i * 1000, EACH));
        }
    }
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        waitpid(pids[i], &status, 0);
        failed += status != 0;
    }
    CHECK_INT(failed, 0);
    CHECK(fixture_open(&t));
    CHECK_INT(count(&t), PROCESSES * EACH);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* A child adds notes and reports each acknowledged number; it is killed at a random moment. */

static void child_until_killed(const char *path, int to, int base)
{
    struct fixture t = {.top = "-", .sync = true};
    snprintf(t.path, sizeof(t.path), "%s", path);
    if (!fixture_open(&t))
        _exit(2);
    for (int i = base;; i++) {
        char id[32];
        snprintf(id, sizeof(id), "%d", i);
        struct note n = fixture_note(id, id);
        if (fixture_put(&t, &n, 0.1) || write(to, &i, sizeof(i)) != sizeof(i))
            _exit(3);
        struct note patch = {.text = FUMI_STR("patched")};
        if (i % 5 == 0 && store_update_note(t.s, &t.a, n.id, &patch, NOTE_TEXT, NULL, &t.e))
            _exit(4);
    }
}

/* Kills the child after `n` acknowledged notes. Returns the last acknowledged number; -1 on
 * failure. */
static int kill_after(const char *path, int base, int n)
{
    int ends[2], last = base - 1, i;
    if (pipe(ends))
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        child_until_killed(path, ends[1], base);
    }
    close(ends[1]);
    while (last < base + n && read(ends[0], &i, sizeof(i)) == sizeof(i))
        last = i;
    usleep((useconds_t)(base * 37 % 1000)); /* a random moment during the next add */
    kill(pid, SIGKILL);
    while (read(ends[0], &i, sizeof(i)) == sizeof(i))
        last = i;
    int status;
    waitpid(pid, &status, 0);
    close(ends[0]);
    return WIFSIGNALED(status) ? last : -1;
}

TEST(a_killed_writer_loses_nothing)
{
    struct fixture t = {0};
    CHECK(fixture_begin(&t));
    int base = 0;
    for (int i = 0; i < 20; i++) {
        int last = kill_after(t.path, base, 3 + i % 5);
        CHECK(last >= base);
        CHECK(fixture_open(&t));
        for (int k = base; k <= last; k++) {
            struct note got;
            if (store_get_note(t.s, &t.a, fumi_fmt(&t.a, "%d", k), &got, &t.e))
                TEST_FAIL("cycle %d: note %d: %s", i, k, t.e.text);
        }
        CHECK(fixture_sound(&t));
        fixture_shut(&t);
        base = last + 2; /* the add that was interrupted may have been stored */
    }
    fixture_end(&t);
}

/* A limit of the file size simulates a full disk: writes fail, and succeed once there is space. */

static int child_full(const char *path)
{
    struct fixture t = {.top = "-"};
    struct rlimit limit;
    struct note got;
    signal(SIGXFSZ, SIG_IGN);
    snprintf(t.path, sizeof(t.path), "%s", path);
    t.s = fixture_store(&t, path);
    if (!t.s || fixture_add(&t, "before", "x", 0.1))
        return 1;
    getrlimit(RLIMIT_FSIZE, &limit);
    rlim_t all = limit.rlim_cur;
    limit.rlim_cur = 512 << 10;
    if (setrlimit(RLIMIT_FSIZE, &limit))
        return 2;
    char *text = memset(fumi_alloc(&t.a, 60000), 'x', 59999);
    int added = 0;
    while (added < 100 && !fixture_add(&t, fumi_fmt(&t.a, "%d", added).p, text, 0.1))
        added++;
    if (added == 100 || t.e.code != FUMI_LIMIT || !strstr(t.e.text, "disk is full"))
        return fprintf(stderr, "%d added, %s\n", added, t.e.text), 3;
    if (store_get_note(t.s, &t.a, FUMI_STR("before"), &got, &t.e))
        return 4;
    limit.rlim_cur = all;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (fixture_add(&t, "after", text, 0.1))
        return 5;
    if (count(&t) != added + 2 || !fixture_sound(&t))
        return 6;
    fixture_shut(&t);
    fumi_arena_done(&t.a);
    return 0;
}

TEST(a_full_disk_is_an_error_and_passes)
{
    struct fixture t = {0};
    int status = -1;
    CHECK(fixture_begin(&t));
    pid_t pid = fork();
    if (pid == 0)
        _exit(child_full(t.path));
    waitpid(pid, &status, 0);
    CHECK_INT(WEXITSTATUS(status), 0);
    CHECK_INT(status, 0);
    fixture_end(&t);
}

/* A file without write permission. Root can write any file, so the child changes to another user.
 */

static int child_read_only(const char *path)
{
    struct fixture t = {.top = "-"};
    if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
        return 77;
    t.s = fixture_store(&t, path);
    struct note n;
    if (!t.s || store_get_note(t.s, &t.a, FUMI_STR("1"), &n, &t.e))
        return 1;
    int rc = store_delete(t.s, &t.a, FUMI_STR("1"), NULL, &t.e) && strstr(t.e.text, "writable") ? 0
                                                                                                : 2;
    fumi_arena_done(&t.a);
    fixture_shut(&t);
    return rc;
}

TEST(a_file_that_cannot_be_written_is_only_read)
{
    struct fixture t = {0};
    int status = -1;
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "x", NAN), 0);
    fixture_shut(&t);
    char dir[160];
    snprintf(dir, sizeof(dir), "%s/data", t.top);
    CHECK_INT(chmod(t.top, 0755) | chmod(dir, 0555) | chmod(t.path, 0444), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(child_read_only(t.path));
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
    CHECK_INT(chmod(dir, 0700) | chmod(t.path, 0600), 0);
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "2", "x", NAN), 0);
    fixture_end(&t);
}

/* Another process holds the lock for a while: writers wait, readers do not. */
TEST(a_writer_waits_for_a_lock)
{
    struct fixture t = {0};
    int ends[2];
    char byte = 0;
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "x", NAN), 0);
    CHECK_INT(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        sqlite3 *h = NULL;
        int rc = sqlite3_open(t.path, &h) || sqlite3_exec(h, "BEGIN IMMEDIATE", NULL, NULL, NULL);
        if (write(ends[1], &byte, 1) != 1)
            _exit(1);
        usleep(300000);
        _exit(rc || sqlite3_exec(h, "COMMIT", NULL, NULL, NULL));
    }
    CHECK_INT(read(ends[0], &byte, 1), 1);
    CHECK_INT(count(&t), 1);
    CHECK_INT(fixture_add(&t, "2", "x", NAN), 0);
    int status = -1;
    waitpid(pid, &status, 0);
    close(ends[0]);
    close(ends[1]);
    CHECK_INT(status, 0);
    CHECK_INT(count(&t), 2);
    fixture_end(&t);
}

/* A backup is not in WAL mode: the switch to WAL waits until another process has finished reading.
 */
TEST(opening_waits_for_a_reader)
{
    struct fixture t = {0};
    int ends[2], status = -1;
    char byte = 0;
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "x", NAN), 0);
    CHECK_INT(store_backup(t.s, fumi_fmt(&t.a, "%s/copy.db", t.top), &t.e), 0);
    fixture_shut(&t);
    snprintf(t.path, sizeof(t.path), "%s/copy.db", t.top);
    CHECK_INT(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        sqlite3 *h = NULL;
        int rc = sqlite3_open(t.path, &h) ||
                 sqlite3_exec(h, "BEGIN; SELECT count(*) FROM notes", NULL, NULL, NULL);
        if (write(ends[1], &byte, 1) != 1)
            _exit(1);
        usleep(300000);
        _exit(rc || sqlite3_exec(h, "COMMIT", NULL, NULL, NULL));
    }
    CHECK_INT(read(ends[0], &byte, 1), 1);
    CHECK(fixture_open(&t));
    waitpid(pid, &status, 0);
    close(ends[0]);
    close(ends[1]);
    CHECK_INT(status, 0);
    CHECK_INT(fixture_add(&t, "2", "x", NAN), 0);
    CHECK_INT(count(&t), 2);
    fixture_end(&t);
}

/* If a transaction is left open, the next write ends it. */
TEST(an_open_transaction_is_ended)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    struct store_sqlite *s = (struct store_sqlite *)t.s;
    CHECK_INT(store_sqlite_run(s->writer, &t.e, "BEGIN IMMEDIATE", ""), 0);
    CHECK_INT(fixture_add(&t, "1", "x", NAN), 0);
    s->writer->bad = true;
    CHECK_INT(fixture_add(&t, "2", "x", NAN), 0);
    CHECK_INT(count(&t), 2);
    fixture_end(&t);
}

/* The file is removed, and then replaced by another: a write to the removed file is not
 * acknowledged.
 */
TEST(a_file_that_was_removed_or_replaced_takes_no_note)
{
    struct fixture t = {0}, other = {0};
    CHECK(fixture_open(&t) && fixture_open(&other));
    CHECK_INT(fixture_add(&t, "1", "x", NAN), 0);
    CHECK_INT(fixture_add(&other, "2", "x", NAN), 0);
    CHECK_INT(fixture_add(&other, "3", "x", NAN), 0);
    store_close(other.s);
    CHECK_INT(unlink(t.path), 0);
    unlink(fumi_fmt(&t.a, "%s-wal", t.path).p); /* otherwise SQLite would use it for the new file */
    unlink(fumi_fmt(&t.a, "%s-shm", t.path).p);
    CHECK_INT(fixture_add(&t, "4", "x", NAN), -1);
    CHECK_INT(t.e.code, FUMI_LIMIT);
    CHECK(strstr(t.e.text, "removed or replaced"));
    CHECK_INT(fixture_add(&t, "4", "x", NAN), -1); /* the file is still missing */
    CHECK_INT(rename(other.path, t.path), 0);
    CHECK_INT(fixture_add(&t, "4", "x", NAN), 0);
    CHECK_INT(count(&t), 3);
    other.s = fixture_store(&other, other.path);
    fixture_end(&other);
    fixture_end(&t);
}
