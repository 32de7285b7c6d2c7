/* A running spec-server for tests: on a free port and on a Unix socket in a new directory. It ends
 * with the test, however the test ends. */
#ifndef PEERS_LIVE_H
#define PEERS_LIVE_H

#include "base/buf.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIVE_PATIENCE = 30, LIVE_WORDS = 32 }; /* seconds until it is considered stuck */

struct live {
    pid_t pid;
    int err;                /* its stderr */
    struct fumi_buf output; /* read from err */
    unsigned port;
    char dir[32], path[40];
};

/* The quarantine of a sanitizer would falsify measurements of memory. */
static inline void live_env(void)
{
    const char *old = getenv("ASAN_OPTIONS");
    char text[512];
    if (old && strstr(old, "quarantine_size_mb"))
        return;
    snprintf(text, sizeof(text), "%s%squarantine_size_mb=1:thread_local_quarantine_size_kb=64",
             old ? old : "", old ? ":" : "");
    setenv("ASAN_OPTIONS", text, 1);
}

static inline void live_exec(int err, char *const *words)
{
    int null = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(err, 2) < 0)
        _exit(126);
    execv(words[0], words);
    _exit(127);
}

/* Waits for the next output. Returns false on timeout or at the end. */
static inline bool live_read(struct live *s)
{
    struct pollfd fd = {s->err, POLLIN, 0};
    if (poll(&fd, 1, LIVE_PATIENCE * 1000) <= 0)
        return false;
    ssize_t n = read(s->err, fumi_buf_reserve(&s->output, 4096), 4096);
    s->output.n += n > 0 ? (size_t)n : 0;
    return n > 0;
}

static inline const char *live_find(const struct live *s, const char *what)
{
    return s->output.n ? memmem(s->output.p, s->output.n, what, strlen(what)) : NULL;
}

/* Ready when the second address is open. Earlier output is dropped. */
static inline int live_ready(struct live *s)
{
    static const char tcp[] = "listening on tcp:127.0.0.1:";
    const char *unix_line;
    while (!(unix_line = live_find(s, "listening on unix:")) ||
           !memchr(unix_line, '\n', (size_t)(s->output.p + s->output.n - unix_line)))
        if (!live_read(s))
            return -1;
    const char *at = live_find(s, tcp);
    if (!at)
        return -1;
    s->port = (unsigned)strtoul(at + sizeof(tcp) - 1, NULL, 10);
    s->output.n = 0;
    return 0;
}

static inline int live_status(struct live *s)
{
    int status = -1;
    while (live_read(s))
        ;
    for (int i = 0; i < LIVE_PATIENCE * 100; i++) {
        if (waitpid(s->pid, &status, WNOHANG) == s->pid)
            return status;
        poll(NULL, 0, 10);
    }
    fprintf(stderr, "the server does not exit\n");
    kill(s->pid, SIGKILL);
    waitpid(s->pid, &status, 0);
    return status;
}

/* Waits until the server exits, and prints its output. Returns its wait status, or 0 if all is
 * well. The server must have removed its socket. */
static inline int live_end(struct live *s)
{
    int status = live_status(s);
    if (s->output.n)
        fprintf(stderr, "output of the server:\n%.*s\n", FUMI_ARG(fumi_buf_str(&s->output)));
    if (unlink(s->path) == 0 && status == 0) {
        fprintf(stderr, "the server left its socket behind\n");
        status = -1;
    }
    rmdir(s->dir);
    close(s->err);
    fumi_buf_done(&s->output);
    return status;
}

static inline int live_stop(struct live *s)
{
    kill(s->pid, SIGTERM);
    return live_end(s);
}

/* `command`: the first argument, or NULL. `flags`: further arguments separated by spaces, or NULL.
 */
static inline int live_start_as(struct live *s, const char *program, const char *command,
                                const char *flags)
{
    char unix_address[64], text[512], *words[LIVE_WORDS] = {(char *)program, (char *)command};
    size_t n = command ? 2 : 1;
    int ends[2];
    *s = (struct live){.dir = "/tmp/fumi-live-XXXXXX"};
    if (!mkdtemp(s->dir) || pipe2(ends, O_CLOEXEC))
        return -1;
    snprintf(s->path, sizeof(s->path), "%s/s", s->dir);
    snprintf(unix_address, sizeof(unix_address), "unix:%s", s->path);
    snprintf(text, sizeof(text), "--listen tcp:127.0.0.1:0 --listen %s %s", unix_address,
             flags ? flags : "");
    for (char *w = text; *w && n < LIVE_WORDS - 1;) {
        words[n++] = w;
        w = strchrnul(w, ' ');
        if (*w)
            *w++ = '\0';
    }
    live_env();
    s->pid = fork();
    if (s->pid == 0)
        live_exec(ends[1], words);
    close(ends[1]);
    s->err = ends[0];
    if (s->pid > 0 && live_ready(s) == 0)
        return 0;
    live_stop(s);
    return -1;
}

static inline int live_start(struct live *s, const char *program, const char *flags)
{
    return live_start_as(s, program, NULL, flags);
}

static inline int live_descriptors(const struct live *s)
{
    char path[64];
    int n = 0;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)s->pid);
    DIR *d = opendir(path);
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* Waits until the server has at most this many descriptors. */
static inline bool live_settles(const struct live *s, int descriptors)
{
    for (int i = 0; i < LIVE_PATIENCE * 100; i++) {
        if (live_descriptors(s) <= descriptors)
            return true;
        poll(NULL, 0, 10);
    }
    return false;
}

/* A number in /proc/PID/status, such as "VmHWM:", the peak memory in kilobytes. */
static inline long live_status_of(const struct live *s, const char *name)
{
    char path[64], line[256];
    long n = -1;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)s->pid);
    FILE *f = fopen(path, "r");
    while (f && n < 0 && fgets(line, sizeof(line), f))
        if (strncmp(line, name, strlen(name)) == 0)
            n = strtol(line + strlen(name), NULL, 10);
    if (f)
        fclose(f);
    return n;
}

/* Kilobytes of resident memory. */
static inline long live_memory(const struct live *s)
{
    return live_status_of(s, "VmRSS:");
}

#endif
