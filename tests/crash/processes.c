/* Child processes, directories and files of the crash tests. */
#include "crash.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(int in, int out, const char *const *words, const char *const *env)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
        _exit(126);
    for (; env && *env; env++)
        putenv((char *)(uintptr_t)*env);
    execv(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

int crash_start(struct crash_child *c, const char *const *words, const char *const *env)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC))
        return -1;
    if (pipe2(out, O_CLOEXEC)) {
        close(in[0]);
        close(in[1]);
        return -1;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(in[0], out[1], words, env);
    close(in[0]);
    close(out[1]);
    *c = (struct crash_child){.pid = pid, .in = in[1], .out = out[0]};
    return pid < 0 ? -1 : 0;
}

/* Reads output of the child. Returns false at its end. */
static bool take(struct crash_child *c)
{
    char *to = fumi_buf_reserve(&c->output, 1 << 16);
    ssize_t n = read(c->out, to, 1 << 16);
    c->output.n += n > 0 ? (size_t)n : 0;
    return n > 0 || (n < 0 && errno == EINTR);
}

bool crash_read_output(struct crash_child *c, int ms)
{
    struct pollfd fd = {c->out, POLLIN, 0};
    int ready = poll(&fd, 1, ms);
    return ready <= 0 ? ready == 0 || errno == EINTR : take(c);
}

int crash_end(struct crash_child *c)
{
    int status = -1;
    while (take(c)) {}
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) {}
    c->pid = 0;
    return status;
}

void crash_stop(struct crash_child *c)
{
    kill(c->pid, SIGKILL);
    crash_end(c);
}

void crash_free(struct crash_child *c)
{
    if (c->pid > 0)
        crash_stop(c);
    close(c->in);
    close(c->out);
    fumi_buf_done(&c->output);
}

void crash_dir(char *out, size_t size, bool fast)
{
    const char *base = getenv("TMPDIR");
    base = base && *base ? base : "/tmp";
    if (fast && access("/dev/shm", W_OK) == 0)
        base = "/dev/shm";
    snprintf(out, size, "%s/fumi-crash-XXXXXX", base);
    if (!mkdtemp(out))
        out[0] = 0;
}

static int gone(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

static int inner_gone(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    return where->level ? gone(path, st, kind, where) : 0;
}

void crash_dir_remove(const char *path)
{
    if (path[0])
        nftw(path, gone, 16, FTW_DEPTH | FTW_PHYS);
}

void crash_dir_empty(const char *path)
{
    if (path[0])
        nftw(path, inner_gone, 16, FTW_DEPTH | FTW_PHYS);
}

unsigned crash_setting(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text && *text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

int crash_read(const char *path, struct fumi_buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 0;
    while (fd >= 0 && (n = read(fd, fumi_buf_reserve(out, 1 << 16), 1 << 16)) > 0)
        out->n += (size_t)n;
    if (fd >= 0)
        close(fd);
    return n < 0 ? -1 : 0;
}

int crash_write(const char *path, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    const char *p = bytes;
    ssize_t put = 0;
    for (; n && (put = write(fd, p, n)) > 0; n -= (size_t)put)
        p += put;
    close(fd);
    return n ? -1 : 0;
}
