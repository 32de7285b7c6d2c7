/* The child process of test_stdio: the transport with the handler of stdio_handler.h or with a real
 * server. It checks that all resources are released. */
#ifndef FUMI_STDIO_FIXTURE_H
#define FUMI_STDIO_FIXTURE_H

#include "net/loop.h"
#include "stdio_handler.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BAD_EXIT = 1, BAD_AFTERMATH = 3, BAD_MEMORY = 4 };

/* What must be the same before and after. */
struct aftermath {
    int flags[2], fds;
    ino_t inode;
    void (*pipe)(int), (*term)(int);
};

static struct aftermath look(void)
{
    struct aftermath a = {.fds = 0};
    struct sigaction sa;
    struct stat st = {0};
    for (int fd = 0; fd < 2; fd++)
        a.flags[fd] = fcntl(fd, F_GETFL);
    fstat(STDOUT_FILENO, &st);
    a.inode = st.st_ino;
    sigaction(SIGPIPE, NULL, &sa);
    a.pipe = sa.sa_handler;
    sigaction(SIGTERM, NULL, &sa);
    a.term = sa.sa_handler;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        a.fds++;
    if (dir)
        closedir(dir);
    return a;
}

static bool is_same(struct aftermath a, struct aftermath b)
{
    return a.flags[0] == b.flags[0] && a.flags[1] == b.flags[1] && a.fds == b.fds &&
           a.inode == b.inode && a.pipe == b.pipe && a.term == b.term;
}

/* A real server: `work` waits on a worker until it is cancelled, `ask` sends a request to the
 * client, and `where` returns the thread it runs in. */
struct word_of {
    struct fumi_str text;
};
static const struct fumi_field word_fields[] = {
    FUMI_VALUE(struct word_of, text, "What there is to say.", .flags = 0)};
static const struct fumi_shape word_shape = FUMI_SHAPE(struct word_of, word_fields);

static enum fumi_ret where(struct fumi_call *call, const void *params, void *result)
{
    char name[16] = "";
    (void)params;
    pthread_getname_np(pthread_self(), name, sizeof(name));
    ((struct word_of *)result)->text = fumi_dup(call->arena, fumi_str(name));
    return FUMI_OK;
}

static enum fumi_ret ask(struct fumi_call *call, const void *params, void *result)
{
    struct fumi_json answer;
    (void)params;
    if (fumi_request(call, "what", (struct fumi_json){{0}}, &answer) != FUMI_OK)
        return FUMI_FAIL;
    ((struct word_of *)result)->text = answer.text;
    return FUMI_OK;
}

static enum fumi_ret work(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    fumi_notify(call, "working", NULL, NULL);
    while (!fumi_cancelled(call))
        usleep(1000);
    ((struct word_of *)result)->text = FUMI_STR("done");
    return FUMI_OK;
}

static const struct fumi_method methods[] = {
    {"where", "Says where.", NULL, &word_shape, where, FUMI_BLOCKING},
    {"ask", "Asks what.", NULL, &word_shape, ask, FUMI_BLOCKING},
    {"work", "Works on.", NULL, &word_shape, work, FUMI_BLOCKING | FUMI_READ_ONLY},
};

struct setup {
    int in, out, err; /* -1: closed; 0: a pipe; the test holds the other end */
    size_t line;      /* limits; 0: default */
    int framing;      /* enum fumi_framing */
    size_t memory;    /* upper bound of libfumi's allocations */
    bool abandons;    /* calls are open at the end, so resources remain */
    bool real;        /* fumi_handle and the methods above instead of the actions */
    bool hurried;     /* short drain after a signal */
    bool nobody;      /* runs as a user who may not reopen the pipes */
    rlim_t files;     /* limit of descriptors; 0: enough */
};

static void be_nobody(bool yes)
{
    if (geteuid() != 0 && yes)
        return;
    if (seteuid(yes ? 65534 : 0) == 0 && !yes)
        prctl(PR_SET_DUMPABLE, 1);
}

/* 0: the maximum. */
static void allow_files(rlim_t n)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = n ? n : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int serve(const struct setup *s, struct fixture *fixture)
{
    struct fumi_log log = {.level = FUMI_WARN};
    struct fumi_stdio_options o = {.line = s->line, .framing = s->framing, .log = &log};
    struct fumi_server *server = s->real ? fumi_server_new("test", "1") : NULL;
    struct fumi_err e;
    o.drain = s->hurried || s->abandons ? 50 : 0;
    o.handle = s->real ? NULL : act;
    o.handler = fixture;
    int rc = server ? fumi_server_add(server, NULL, methods, FUMI_COUNT(methods), NULL, &e) : 0;
    if (!rc)
        rc = fumi_serve_stdio(server, &o, &e);
    if (rc < 0)
        dprintf(STDERR_FILENO, "error: %s\n", e.text);
    if (server && rc != FUMI_SERVED_ABANDONED)
        fumi_server_free(server);
    return rc;
}

/* libuv opens two descriptors for signals once per process; they must not be any of the first
 * three. */
static void warm_up(void)
{
    struct fumi_err e;
    struct loop *l = loop_new(&e);
    loop_free(l);
}

static void child(const struct setup *s, int gate)
{
    struct fixture fixture = {.pool = pool_new(4, NULL), .gate = gate};
    struct aftermath before = look();
    size_t base = atomic_load(&memory);
    atomic_store(&memory_peak, base);
    if (s->nobody)
        be_nobody(true);
    if (s->files)
        allow_files(s->files);
    int rc = serve(s, &fixture);
    if (s->nobody)
        be_nobody(false);
    allow_files(0);
    if (s->abandons) {
        const char *program = rc == FUMI_SERVED_ABANDONED
                                  ? "true"
                                  : "false"; /* these exit without a check for leaks */
        execlp(program, program, (char *)NULL);
    }
    pool_free(fixture.pool);
    struct aftermath after = look();
    if (s->files)
        after.fds = before.fds; /* libuv leaks some descriptors if it cannot get all of them */
    if (!is_same(before, after))
        exit(BAD_AFTERMATH);
    if (s->memory && atomic_load(&memory_peak) > base + s->memory)
        exit(BAD_MEMORY);
    exit(rc < 0 ? BAD_EXIT : 0);
}

#endif
