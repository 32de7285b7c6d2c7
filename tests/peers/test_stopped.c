/* A process is stopped (SIGSTOP) while it holds the write lock: readers are not affected, and
 * writers fail after less than ten seconds with one error that names the process. The time limits
 * are generous, because test machines may be slow. */
#include "store_fixture.h"
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { PATIENCE = 25, WRITES = 12 }; /* seconds for one command, and for all writes of a server */

/* Holds the lock until it is killed; reports on the pipe that it has the lock. */
static void hold(const char *path, int to)
{
    sqlite3 *h = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sqlite3_open(path, &h) || sqlite3_exec(h, "BEGIN IMMEDIATE", NULL, NULL, NULL) ||
        write(to, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static pid_t stopped_holder(const char *path)
{
    int ends[2], status = 0;
    char c;
    if (pipe(ends))
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        hold(path, ends[1]);
    close(ends[1]);
    bool holds = read(ends[0], &c, 1) == 1;
    close(ends[0]);
    if (!holds || kill(pid, SIGSTOP) || waitpid(pid, &status, WUNTRACED) != pid ||
        !WIFSTOPPED(status))
        return -1;
    return pid;
}

static void end_holder(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* A command of fumi, with its output in the file. */
static pid_t run(struct fixture *t, const char *out, const char *const *words, const char *in)
{
    const char *argv[12] = {FUMI};
    char dir[80];
    int n = 1;
    snprintf(dir, sizeof(dir), "%s/data", t->top);
    while (words[n - 1] && n < 9)
        argv[n] = words[n - 1], n++;
    argv[n++] = "--data-dir";
    argv[n++] = dir;
    pid_t pid = fork();
    if (pid)
        return pid;
    alarm(PATIENCE);
    int from = open(in ? in : "/dev/null", O_RDONLY);
    int to = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (from < 0 || to < 0 || dup2(from, 0) < 0 || dup2(to, 1) < 0 || dup2(to, 2) < 0)
        _exit(126);
    execv(FUMI, (char *const *)(uintptr_t)argv);
    _exit(127);
}

static struct fumi_str content(struct fixture *t, const char *path)
{
    char *text = fumi_alloc(&t->a, 1 << 16);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? 0 : read(fd, text, 1 << 16);
    if (fd >= 0)
        close(fd);
    return (struct fumi_str){text, n > 0 ? (size_t)n : 0};
}

static int count(struct fumi_str in, const char *what)
{
    int n = 0;
    const char *p = in.p;
    while (p && (p = memmem(p, (size_t)(in.p + in.n - p), what, strlen(what))))
        n++, p++;
    return n;
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    CHECK(f && fputs(text, f) >= 0);
    if (f)
        fclose(f);
}

TEST(commands_that_write_have_one_error_and_readers_none)
{
    static const struct {
        const char *words[8];
        int status;
    } all[] = {
        {{"search", "-p", "p", "--mode", "words", "bird"}, 0},
        {{"list", "-p", "p"}, 0},
        {{"get", "n1"}, 0},
        {{"export", "-p", "p"}, 0},
        {{"add", "-p", "p", "text"}, 1},
        {{"delete", "n1"}, 1},
        {{"import"}, 1},
        {{"call", "memory.upsert_global", "{\"projectId\":\"p\",\"key\":\"global.a\",\"value\":1}"},
         1},
    };
    struct fixture t = {0};
    pid_t pids[FUMI_COUNT(all)];
    char in[96], out[96], name[32];
    CHECK(fixture_open(&t));
    struct note n = fixture_note("n1", "a blue bird");
    CHECK_INT(store_add_note(t.s, &t.a, &n,
                             &(struct note_change){.vectors = &(struct vectors){.n = 0},
                                                   .allow_duplicate = true},
                             &t.e),
              0);
    fixture_shut(&t);
    snprintf(in, sizeof(in), "%s/in", t.top);
    write_file(in, "{\"projectId\":\"p\",\"groupId\":\"g\",\"text\":\"one\"}\n"
                   "{\"projectId\":\"p\",\"groupId\":\"g\",\"text\":\"two\"}\n"
                   "{\"projectId\":\"p\",\"groupId\":\"g\",\"text\":\"three\"}\n");
    pid_t holder = stopped_holder(t.path);
    CHECK(holder > 0);
    snprintf(name, sizeof(name), "Process %d has locked", (int)holder);
    for (size_t i = 0; i < FUMI_COUNT(all); i++) {
        snprintf(out, sizeof(out), "%s/out%zu", t.top, i);
        pids[i] = run(&t, out, all[i].words, in);
    }
    for (size_t i = 0; i < FUMI_COUNT(all); i++) {
        int status = -1;
        snprintf(out, sizeof(out), "%s/out%zu", t.top, i);
        waitpid(pids[i], &status, 0);
        struct fumi_str said = content(&t, out);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != all[i].status ||
            count(said, name) != (all[i].status != 0))
            TEST_FAIL("%s: status %x: %.*s", all[i].words[0], (unsigned)status, FUMI_ARG(said));
    }
    end_holder(holder);
    CHECK(fixture_open(&t));
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

struct writer {
    struct fixture *t;
    int failed;
};

static void *write_some(void *arg)
{
    struct writer *w = arg;
    struct fumi_arena a = {0};
    char id[24];
    for (int i = 0; i < WRITES; i++) {
        struct fumi_err e = {0};
        snprintf(id, sizeof(id), "%p-%d", arg, i);
        struct note n = fixture_note(id, "text");
        w->failed += store_add_note(w->t->s, &a, &n, &(struct note_change){.allow_duplicate = true},
                                    &e) != 0;
    }
    fumi_arena_done(&a);
    return NULL;
}

/* Only the first of several writes of a process waits; when the other process continues, all writes
 * succeed. */
TEST(a_server_waits_once)
{
    struct fixture t = {0};
    struct writer writers[4];
    pthread_t threads[4];
    CHECK(fixture_open(&t));
    pid_t holder = stopped_holder(t.path);
    CHECK(holder > 0);
    alarm(2 * PATIENCE);
    for (int i = 0; i < 4; i++) {
        writers[i] = (struct writer){&t, 0};
        CHECK_INT(pthread_create(&threads[i], NULL, write_some, &writers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK_INT(writers[i].failed, WRITES);
    }
    alarm(0);
    end_holder(holder);
    struct note n = fixture_note("after", "text");
    CHECK_INT(store_add_note(t.s, &t.a, &n,
                             &(struct note_change){.vectors = &(struct vectors){.n = 0},
                                                   .allow_duplicate = true},
                             &t.e),
              0);
    fixture_end(&t);
}
