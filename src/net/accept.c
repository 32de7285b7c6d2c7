/* Other users of this machine get at most a quarter of the connections. If the limit of connections
 * is reached and the server's own user connects, a connection of another user is closed. */
#include "net/accept.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    BATCH = 64,  /* connections accepted in one iteration of the event loop */
    AGAIN = 100, /* milliseconds until the next attempt without free descriptors */
};

union any_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

/* Stores the uid of the peer of a Unix socket. */
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

static void on_other_user_closed(struct conn *c)
{
    assert(atomic_load(&c->io->other_users) > 0);
    atomic_fetch_sub(&c->io->other_users, 1);
    atomic_fetch_sub(&c->io->shared->other_users, 1);
}

/* The oldest connection of another user on this I/O thread, preferably one without an open message;
 * NULL: none. New connections are at the front of the list. */
static struct conn *find_other_user(const struct io_thread *io)
{
    struct conn *oldest = NULL, *idle = NULL;
    for (struct conn *c = io->conns; c; c = c->next) {
        if (c->on_close != on_other_user_closed)
            continue;
        oldest = c;
        idle = c->open ? idle : c;
    }
    return idle ? idle : oldest;
}

static bool evict_here(struct io_thread *io)
{
    struct conn *c = find_other_user(io);
    if (!c)
        return false;
    fumi_log(io->shared->log, FUMI_INFO, "conn.evicted", {"peer", c->peer.address, 0});
    conn_close(c);
    return true;
}

static void on_evict(struct fumi_task *task)
{
    struct io_thread *io = FUMI_OWNER(task, struct io_thread, evict);
    size_t n = atomic_exchange(&io->evict_n, 0);
    while (n-- && evict_here(io)) {}
}

/* Closes a connection of another user: at once on this I/O thread, or soon on another one. Returns
 * false if there is none. */
static bool evict(struct io_thread *io)
{
    const struct server_shared *shared = io->shared;
    if (evict_here(io))
        return true;
    for (size_t i = 0; i < shared->io_threads_n; i++) {
        struct io_thread *other = shared->io_threads[i];
        if (atomic_load(&other->other_users) <= atomic_load(&other->evict_n))
            continue;
        if (atomic_fetch_add(&other->evict_n, 1) == 0)
            loop_post(other->loop, &other->evict);
        return true;
    }
    return false;
}

enum admission {
    ADMIT,         /* within the limit */
    ADMIT_SURPLUS, /* beyond the limit: the first request is refused */
    ADMIT_NOT,     /* close at once */
};

/* Other users also get at most a quarter of the surplus connections. */
static enum admission admit_other_user(struct io_thread *io, size_t conns)
{
    struct server_shared *shared = io->shared;
    size_t most = (size_t)shared->set.connections, quarter = most < 8 ? 1 : most / 4;
    size_t before = atomic_fetch_add(&shared->other_users, 1);
    if (conns >= most + shared->surplus || before > quarter + shared->surplus / 4) {
        atomic_fetch_sub(&shared->other_users, 1);
        return ADMIT_NOT;
    }
    atomic_fetch_add(&io->other_users, 1);
    return conns >= most || before >= quarter ? ADMIT_SURPLUS : ADMIT;
}

static enum admission admit(struct io_thread *io, enum access_user user, size_t conns)
{
    const struct server_shared *shared = io->shared;
    size_t most = (size_t)shared->set.connections;
    if (user == ACCESS_USER_OTHER)
        return admit_other_user(io, conns);
    if (conns < most || (user == ACCESS_USER_SAME && evict(io)))
        return ADMIT;
    return conns < most + shared->surplus ? ADMIT_SURPLUS : ADMIT_NOT;
}

static void begin(struct acceptor *a, int fd, const union any_address *from)
{
    size_t conns = atomic_load_explicit(&a->io->shared->conns, memory_order_relaxed);
    bool local = a->listener.at.kind == ADDRESS_UNIX;
    int on = 1;
    struct conn *c = conn_new(a->io, fd, local ? &unix_proto : &http_proto);
    enum admission admission = admit(a->io, access_client_identify(&c->client), conns);
    if (admission == ADMIT_NOT) {
        conn_close(c);
        return;
    }
    if (!local)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (admission == ADMIT_SURPLUS)
        c->state = CONN_SURPLUS;
    if (c->client.user == ACCESS_USER_OTHER)
        c->on_close = on_other_user_closed;
    name_peer(c, from);
    if (admission == ADMIT)
        conn_announce(c);
    conn_schedule(c);
}

/* Returns 0, or the errno of accept4. */
static int accept_one(struct acceptor *a)
{
    union any_address from = {0};
    socklen_t n = sizeof(from);
    int fd = accept4(a->listener.fd, &from.any, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return errno;
    begin(a, fd, &from);
    return 0;
}

/* Without free descriptors, new connections wait in the backlog. */
static void pause_for(struct acceptor *a, int number)
{
    struct fumi_err e;
    fumi_log(a->io->shared->log, FUMI_WARN, "accept.failed",
             {"why", fumi_str(strerror(number)), 0});
    loop_watch(a->io->loop, &a->watch, 0, &e);
    loop_timer(a->io->loop, &a->again, AGAIN, &e);
}

static void accept_all(struct acceptor *a, int most)
{
    int number = 0;
    for (int i = 0; i < most; i++) {
        number = accept_one(a);
        if (number && number != EINTR && number != ECONNABORTED && number != EPROTO)
            break;
    }
    if (number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM)
        pause_for(a, number);
}

static void on_ready(struct watch *w, unsigned events)
{
    (void)events;
    accept_all(FUMI_OWNER(w, struct acceptor, watch), BATCH);
}

static void on_again(struct timer *t)
{
    struct fumi_err e;
    struct acceptor *a = FUMI_OWNER(t, struct acceptor, again);
    if (acceptor_start(a, &e))
        loop_timer(a->io->loop, &a->again, AGAIN, &e);
}

struct acceptor *acceptor_new(struct io_thread *io, const struct listener *l)
{
    struct acceptor *a = fumi_resize(NULL, sizeof(*a));
    *a = (struct acceptor){.listener = *l, .io = io};
    a->watch = (struct watch){.fd = l->fd, .ready = on_ready};
    a->again.on = on_again;
    io->evict.run = on_evict;
    return a;
}

int acceptor_start(struct acceptor *a, struct fumi_err *e)
{
    return loop_watch(a->io->loop, &a->watch, LOOP_READ, e);
}

void acceptor_stop(struct acceptor *a)
{
    struct fumi_err ignored;
    if (a->listener.fd < 0)
        return;
    accept_all(a, 1 << 16);
    loop_watch(a->io->loop, &a->watch, 0, &ignored);
    loop_timer(a->io->loop, &a->again, -1, &ignored);
    listener_close(&a->listener);
    a->listener.fd = -1;
}

void acceptor_free(struct acceptor *a)
{
    if (a->listener.fd >= 0)
        listener_close(&a->listener);
    fumi_resize(a, 0);
}
