#include "net/accept.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    TURN = 64,   /* connections taken in one turn of the loop */
    AGAIN = 100, /* milliseconds until it is tried again */
};

union any_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

/* Whoever is at the other end of a Unix socket, by its number. */
static void name_user(struct conn *c)
{
    struct ucred cred;
    socklen_t size = sizeof(cred);
    if (getsockopt(c->in.fd, SOL_SOCKET, SO_PEERCRED, &cred, &size))
        return;
    int n = snprintf(c->user, sizeof(c->user), "%u", (unsigned)cred.uid);
    c->peer.user = (struct fumi_str){c->user, (size_t)n};
}

static void name_peer(struct conn *c, const union any_address *from)
{
    char host[INET6_ADDRSTRLEN] = "";
    int n = 0;
    if (from->any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &from->v4.sin_addr, host, sizeof(host));
        n = snprintf(c->address, sizeof(c->address), "%s:%u", host, ntohs(from->v4.sin_port));
    } else if (from->any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &from->v6.sin6_addr, host, sizeof(host));
        n = snprintf(c->address, sizeof(c->address), "[%s]:%u", host, ntohs(from->v6.sin6_port));
    } else {
        n = snprintf(c->address, sizeof(c->address), "unix:");
        name_user(c);
    }
    c->peer.address = (struct fumi_str){c->address, (size_t)n};
}

static void greet(struct acceptor *a, int fd, const union any_address *from)
{
    struct site *site = a->hub->site;
    size_t there = atomic_load_explicit(&site->conns, memory_order_relaxed);
    size_t most = (size_t)site->set.connections;
    bool local = a->listener.at.kind == ADDRESS_UNIX;
    int on = 1;
    if (there >= most + site->surplus) {
        close(fd);
        return;
    }
    if (!local)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    struct conn *c = conn_new(a->hub, fd, local ? &unix_proto : &http_proto);
    if (there >= most)
        c->state = CONN_SURPLUS;
    name_peer(c, from);
    conn_soon(c);
}

/* 0: one was taken; else why not. */
static int take_one(struct acceptor *a)
{
    union any_address from = {0};
    socklen_t n = sizeof(from);
    int fd = accept4(a->listener.fd, &from.any, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return errno;
    greet(a, fd, &from);
    return 0;
}

/* Whoever waits at the door stays there while there are no descriptors. */
static void pause_for(struct acceptor *a, int number)
{
    struct fumi_err e;
    fumi_log(a->hub->site->log, FUMI_WARN, "accept.failed", {"why", fumi_str(strerror(number)), 0});
    loop_watch(a->hub->loop, &a->watch, 0, &e);
    loop_timer(a->hub->loop, &a->again, AGAIN, &e);
}

static void take_all(struct acceptor *a, int most)
{
    int number = 0;
    for (int i = 0; i < most; i++) {
        number = take_one(a);
        if (number && number != EINTR && number != ECONNABORTED && number != EPROTO)
            break;
    }
    if (number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM)
        pause_for(a, number);
}

static void on_ready(struct watch *w, unsigned events)
{
    (void)events;
    take_all(FUMI_OWNER(w, struct acceptor, watch), TURN);
}

static void on_again(struct timer *t)
{
    struct fumi_err e;
    struct acceptor *a = FUMI_OWNER(t, struct acceptor, again);
    if (acceptor_start(a, &e))
        loop_timer(a->hub->loop, &a->again, AGAIN, &e);
}

struct acceptor *acceptor_new(struct hub *h, const struct listener *l)
{
    struct acceptor *a = fumi_resize(NULL, sizeof(*a));
    *a = (struct acceptor){.listener = *l, .hub = h};
    a->watch = (struct watch){.fd = l->fd, .ready = on_ready};
    a->again.on = on_again;
    return a;
}

int acceptor_start(struct acceptor *a, struct fumi_err *e)
{
    return loop_watch(a->hub->loop, &a->watch, LOOP_READ, e);
}

void acceptor_stop(struct acceptor *a)
{
    struct fumi_err ignored;
    if (a->listener.fd < 0)
        return;
    take_all(a, 1 << 16);
    loop_watch(a->hub->loop, &a->watch, 0, &ignored);
    loop_timer(a->hub->loop, &a->again, -1, &ignored);
    listener_close(&a->listener);
    a->listener.fd = -1;
}

void acceptor_free(struct acceptor *a)
{
    if (a->listener.fd >= 0)
        listener_close(&a->listener);
    fumi_resize(a, 0);
}
