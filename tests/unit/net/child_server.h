/* A server in a child process, on a Unix socket, and a way to reach it. */
#ifndef FUMI_CHILD_SERVER_H
#define FUMI_CHILD_SERVER_H

#include "fumi.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void child_say_ready(void *arg, struct fumi_str address)
{
    (void)address;
    dprintf(*(int *)arg, ".");
}

static inline int child_serve(const char *address, const struct fumi_method *methods, size_t n,
                              int reports)
{
    struct fumi_err e;
    struct fumi_log log = {.level = FUMI_SILENT};
    struct fumi_server *s = fumi_server_new("test", "1.0");
    struct fumi_str listen = fumi_str(address);
    struct fumi_serve_options o = {.set = {.listen = {&listen, 1}}, .log = &log};
    o.listening = child_say_ready;
    o.arg = &reports;
    fumi_server_add(s, NULL, methods, n, NULL, &e);
    int rc = fumi_serve(s, &o, &e);
    fumi_server_free(s);
    return rc < 0;
}

/* Returns once the server listens. The server exits after two minutes at the latest. */
static inline pid_t child_start(const char *path, const struct fumi_method *methods, size_t n)
{
    char address[160], dot;
    int pipes[2];
    snprintf(address, sizeof(address), "unix:%s", path);
    pid_t pid = pipe(pipes) ? -1 : fork();
    if (pid == 0) {
        alarm(120);
        exit(child_serve(address, methods, n, pipes[1]));
    }
    if (pid < 0 || read(pipes[0], &dot, 1) != 1)
        abort();
    close(pipes[0]);
    close(pipes[1]);
    return pid;
}

static inline int child_reach(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = 20};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
        abort();
    return fd;
}

#endif
