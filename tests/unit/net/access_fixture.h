/* Real connections on this machine, and other users, for the tests of access. */
#ifndef FUMI_ACCESS_FIXTURE_H
#define FUMI_ACCESS_FIXTURE_H

#include "net/access.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Both ends of one connection; -1: closed or never opened. */
struct line {
    int client, server;
};

union line_name {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un un;
};

static inline socklen_t line_name(union line_name *n, const char *host, uint16_t port)
{
    *n = (union line_name){0};
    if (!strchr(host, ':')) {
        n->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
        return inet_pton(AF_INET, host, &n->v4.sin_addr) == 1 ? sizeof(n->v4) : 0;
    }
    n->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
    return inet_pton(AF_INET6, host, &n->v6.sin6_addr) == 1 ? sizeof(n->v6) : 0;
}

static inline int line_bound(const char *host)
{
    union line_name n;
    socklen_t size = line_name(&n, host, 0);
    int fd = socket(n.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;
    if (fd >= 0 && n.any.sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (fd >= 0 && bind(fd, &n.any, size) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Listens on an address. Returns -1 if this machine does not have the address. */
static inline int line_listen(const char *host)
{
    int fd = line_bound(host);
    if (fd >= 0 && listen(fd, 16) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static inline uint16_t line_port(int fd)
{
    union line_name n = {0};
    socklen_t size = sizeof(n);
    getsockname(fd, &n.any, &size);
    return ntohs(n.any.sa_family == AF_INET6 ? n.v6.sin6_port : n.v4.sin_port);
}

static inline int line_connect(const char *from, const char *to, uint16_t port)
{
    union line_name n;
    socklen_t size = line_name(&n, to, port);
    int fd = line_bound(from);
    if (fd >= 0 && connect(fd, &n.any, size) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static inline void line_close(struct line *l)
{
    if (l->client >= 0)
        close(l->client);
    if (l->server >= 0)
        close(l->server);
    *l = (struct line){-1, -1};
}

/* Connects from an address to another one, while a socket listens on a third. */
static inline bool line_open(struct line *l, const char *at, const char *from, const char *to)
{
    int listener = line_listen(at);
    *l = (struct line){-1, -1};
    if (listener < 0)
        return false;
    l->client = line_connect(from, to, line_port(listener));
    if (l->client >= 0)
        l->server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    close(listener);
    if (l->server >= 0)
        return true;
    line_close(l);
    return false;
}

static inline bool line_open_v4(struct line *l)
{
    return line_open(l, "127.0.0.1", "127.0.0.1", "127.0.0.1");
}

/* Over a Unix socket, as a server has it. */
static inline bool line_open_unix(struct line *l)
{
    char dir[] = "/tmp/fumi-access-XXXXXX";
    union line_name n = {.un = {.sun_family = AF_UNIX}};
    *l = (struct line){-1, -1};
    if (!mkdtemp(dir))
        return false;
    snprintf(n.un.sun_path, sizeof(n.un.sun_path), "%s/s", dir);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    l->client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, &n.any, sizeof(n.un)) == 0 && listen(listener, 1) == 0 &&
        connect(l->client, &n.any, sizeof(n.un)) == 0)
        l->server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    close(listener);
    unlink(n.un.sun_path);
    rmdir(dir);
    return l->server >= 0;
}

/* Whether the system reports the owner of a TCP socket. */
static inline bool line_has_owners(void)
{
    enum { SOCK_DIAG = 4 };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, SOCK_DIAG);
    if (fd < 0)
        printf("skipped: this system does not tell the owners of sockets\n");
    else
        close(fd);
    return fd >= 0;
}

/* Runs the function in a child process of another user, which requires root. Returns its result (0
 * to 99), or -1. */
static inline int line_as_user(uid_t uid, int (*run)(void *arg), void *arg)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(setuid(uid) == 0 ? run(arg) : 100);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status) < 100 ? WEXITSTATUS(status) : -1;
}

#endif
