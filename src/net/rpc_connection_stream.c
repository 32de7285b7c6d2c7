/* How bytes travel: connecting, child processes, the turn that writes and reads; and messages as
 * lines. */
#include "net/rpc_connection_parts.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    READ = 64 << 10,  /* bytes that are read at once */
    KEEP = 256 << 10, /* memory that an empty buffer keeps */
    PAUSE = 100,      /* milliseconds before the second try to connect again */
    PAUSE_MOST = 2000,
    PATIENCE = 2000, /* with a child that is asked to end, before each next means */
    REAP = 200,      /* until a child that hung up has its status */
    STALE = 16,      /* reads that look whether a connection still stands */
};

static const int64_t ms_max = INT64_C(1000000000000); /* so that sums of nanoseconds fit */

int64_t rpc_connection_until(int64_t ms)
{
    return fumi_ticks() + (ms < 0 ? 0 : ms < ms_max ? ms : ms_max) * 1000000;
}

int64_t rpc_connection_sooner(int64_t until, int64_t ms)
{
    int64_t then = rpc_connection_until(ms);
    return then < until ? then : until;
}

/* For poll(2), rounded up. */
static int time_left(int64_t until)
{
    int64_t left = until - fumi_ticks();
    if (left <= 0)
        return 0;
    left = (left + 999999) / 1000000;
    return left < INT_MAX ? (int)left : INT_MAX;
}

int rpc_connection_poll(int fd, short events, int64_t until)
{
    bool woken;
    return rpc_connection_poll_two(fd, events, -1, &woken, until);
}

int rpc_connection_poll_two(int fd, short events, int other, bool *woken, int64_t until)
{
    *woken = false;
    for (;;) {
        struct pollfd p[] = {{fd, events, 0}, {other, POLLIN, 0}};
        int left = time_left(until), n = poll(p, 2, left);
        *woken = n > 0 && p[1].revents;
        if (n > 0)
            return p[0].revents;
        if (n == 0 && left < INT_MAX)
            return 0;
        if (n < 0 && errno != EINTR)
            return POLLERR;
    }
}

void rpc_connection_pause(int64_t ms)
{
    rpc_connection_poll(-1, 0, rpc_connection_until(ms));
}

/* A connection to a port of this machine that nobody listens on may be given that very port. */
static bool is_itself(int fd)
{
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t n = sizeof(here), m = sizeof(there);
    if (getsockname(fd, (struct sockaddr *)&here, &n) ||
        getpeername(fd, (struct sockaddr *)&there, &m))
        return false;
    return here.ss_family != AF_UNIX && n == m && memcmp(&here, &there, n) == 0;
}

/* 0 or the number of the error. The queue of a Unix socket that is full cannot be waited for. */
static int try_address(int fd, const struct sockaddr *to, socklen_t n, int64_t until)
{
    int number = connect(fd, to, n) ? errno : 0;
    while (number == EAGAIN && time_left(until)) {
        rpc_connection_pause(10);
        number = connect(fd, to, n) ? errno : 0;
    }
    if (number == EAGAIN)
        return ETIMEDOUT;
    if (number == EINPROGRESS || number == EINTR) {
        socklen_t size = sizeof(number);
        if (!rpc_connection_poll(fd, POLLOUT, until))
            return ETIMEDOUT;
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &size))
            return errno;
    }
    return !number && is_itself(fd) ? ECONNREFUSED : number;
}

static int open_socket(const struct sockaddr *to, socklen_t n, int64_t until, int *number)
{
    const int on = 1;
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *number = fd < 0 ? errno : try_address(fd, to, n, until);
    if (fd >= 0 && *number) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0 && to->sa_family != AF_UNIX)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

static int no_connection(const struct fumi_rpc_connection *l, int number, struct fumi_err *e)
{
    const char *url = l->at.url;
    if (number == ECONNREFUSED || number == ENOENT)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "nobody listens at %s: is the server running?",
                            url);
    if (number == ETIMEDOUT)
        return fumi_err_set(e, FUMI_LIMIT, "%s cannot be reached in time: is the address right?",
                            url);
    if (number == EACCES || number == EPERM)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s must not be opened: whose is it?", url);
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s cannot be reached: %s", url, strerror(number));
}

static int open_unix(struct fumi_rpc_connection *l, int64_t until, struct fumi_err *e)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t n = strlen(l->at.path);
    int number;
    if (n >= sizeof(to.sun_path))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "%s: the path must have at most %zu bytes",
                            l->at.url, sizeof(to.sun_path) - 1);
    memcpy(to.sun_path, l->at.path, n);
    l->fd = open_socket((const struct sockaddr *)&to, sizeof(to), until, &number);
    return l->fd >= 0 ? 0 : no_connection(l, number, e);
}

/* The addresses of a name share the time, so that one that is silent leaves some to the next. */
static int open_tcp(struct fumi_rpc_connection *l, int64_t until, struct fumi_err *e)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all = NULL;
    if (strchr(l->at.host, ':'))
        hints.ai_flags = AI_NUMERICHOST;
    int number = 0, n = 0, rc = getaddrinfo(l->at.host, l->at.port, &hints, &all);
    if (rc)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: the host is not known: %s", l->at.url,
                            gai_strerror(rc));
    for (const struct addrinfo *a = all; a; a = a->ai_next)
        n++;
    for (const struct addrinfo *a = all; a && l->fd < 0; a = a->ai_next, n--)
        l->fd = open_socket(a->ai_addr, a->ai_addrlen,
                            rpc_connection_sooner(until, time_left(until) / n), &number);
    freeaddrinfo(all);
    return l->fd >= 0 ? 0 : no_connection(l, number, e);
}

int rpc_connection_connect(struct fumi_rpc_connection *l, int64_t until, struct fumi_err *e)
{
    int64_t then = rpc_connection_sooner(until, l->o.connect_time);
    l->deaf = l->hung_up = l->skipping = false;
    l->seen = l->skip = 0;
    if (l->at.host ? open_tcp(l, then, e) : open_unix(l, then, e))
        return -1;
    if (!rpc_connection_check_owner(l, then, e) &&
        (!l->at.tls || rpc_connection_tls_open(l, then, e) == 0) &&
        (!l->way->greet || l->way->greet(l, then, e) == 0))
        return 0;
    rpc_connection_hang_up(l);
    return -1;
}

/* Whether the peer hung up since the last call shows only when one looks. */
static void look(struct fumi_rpc_connection *l)
{
    for (int i = 0; i < STALE && l->fd >= 0 && rpc_connection_turn(l, 0); i++) {}
}

/* A refusal is final; that nobody is there, or not in time, may pass. */
static bool may_pass(const struct fumi_err *e)
{
    return e->code == FUMI_INTERNAL_ERROR || e->code == FUMI_LIMIT;
}

/* The owner of the link may make calls on the new connection ahead of any other, and may lose it.
 */
static int greet_again(struct fumi_rpc_connection *l, struct fumi_err *e)
{
    if (!l->o.reconnected)
        return 0;
    l->reconnecting = true;
    l->o.reconnected(l->o.arg, l);
    l->reconnecting = false;
    *e = l->lost;
    return l->fd >= 0 ? 0 : -1;
}

int rpc_connection_ready(struct fumi_rpc_connection *l, int64_t until, struct fumi_err *e)
{
    int64_t pause = PAUSE;
    look(l);
    if (l->fd >= 0)
        return 0;
    *e = l->lost;
    /* A program is not started again; and what `reconnected` itself loses is left to us. */
    if ((!l->at.path && !l->at.host) || l->reconnecting)
        return -1;
    for (int i = 0; i < l->o.tries; i++) {
        if (i) {
            rpc_connection_pause(pause < time_left(until) ? pause : time_left(until));
            pause = pause * 2 < PAUSE_MOST ? pause * 2 : PAUSE_MOST;
        }
        if (rpc_connection_connect(l, until, e) == 0 && greet_again(l, e) == 0)
            return 0;
        if (!may_pass(e) || !time_left(until))
            return -1;
    }
    return -1;
}

static int spawn(char *const argv[], int fd, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, fd, STDOUT_FILENO);
    int number = posix_spawnp(pid, argv[0], &files, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return number;
}

/* One socket is both its input and its output: writing to it raises no signal, and its input can be
 * ended alone. */
int rpc_connection_start(struct fumi_rpc_connection *l, char *const argv[], struct fumi_err *e)
{
    int pair[2];
    struct fumi_str name = fumi_str(argv[0]);
    if (!name.n)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the program to start is missing");
    l->at.url = fumi_fmt(&l->memory, "%s", argv[0]).p;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: %s", argv[0], strerror(errno));
    int number = spawn(argv, pair[1], &l->pid);
    close(pair[1]);
    if (!number) {
        l->fd = pair[0];
        return 0;
    }
    l->pid = 0;
    close(pair[0]);
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s cannot be started: %s", argv[0],
                        strerror(number));
}

/* Waits for the child, whose output is dropped meanwhile so that it does not wait for us. */
static bool reap(struct fumi_rpc_connection *l, int64_t ms, int *status)
{
    int64_t until = rpc_connection_until(ms);
    char dropped[4096];
    int fd = l->fd;
    for (int64_t pause = 1;; pause = pause < 16 ? pause * 2 : pause) {
        pid_t got = waitpid(l->pid, status, WNOHANG);
        if (got == l->pid || (got < 0 && errno != EINTR)) {
            l->pid = 0;
            return true;
        }
        if (!time_left(until))
            return false;
        if (rpc_connection_poll(fd, POLLIN, rpc_connection_sooner(until, pause)) &&
            recv(fd, dropped, sizeof(dropped), MSG_DONTWAIT) == 0)
            fd = -1;
    }
}

void rpc_connection_end_child(struct fumi_rpc_connection *l)
{
    static const int means[] = {0, SIGTERM, SIGKILL};
    int status;
    if (l->pid && l->fd >= 0)
        shutdown(l->fd, SHUT_WR);
    for (size_t i = 0; l->pid && i < FUMI_COUNT(means); i++) {
        if (means[i])
            kill(l->pid, means[i]);
        reap(l, PATIENCE, &status);
    }
}

void rpc_connection_hang_up(struct fumi_rpc_connection *l)
{
    rpc_connection_answer_end(l);
    rpc_connection_tls_close(l);
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    l->sent = 0;
    fumi_buf_reset(&l->in, KEEP);
    fumi_buf_reset(&l->out, KEEP);
}

void rpc_connection_drop(struct fumi_rpc_connection *l, const struct fumi_err *why)
{
    l->lost = *why;
    rpc_connection_hang_up(l);
    l->way->dropped(l, &l->lost);
}

void rpc_connection_eat(struct fumi_rpc_connection *l, size_t n)
{
    if (n == 0)
        return;
    l->in.n -= n;
    memmove(l->in.p, l->in.p + n, l->in.n);
    if (!l->in.n)
        fumi_buf_reset(&l->in, KEEP);
}

static ssize_t send_some(struct fumi_rpc_connection *l, const char *bytes, size_t n)
{
    if (l->at.tls)
        return rpc_connection_tls_write(l, bytes, n);
    return send(l->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static ssize_t receive_some(struct fumi_rpc_connection *l, char *to, size_t n)
{
    if (l->at.tls)
        return rpc_connection_tls_read(l, to, n);
    return recv(l->fd, to, n, MSG_DONTWAIT);
}

bool rpc_connection_is_stale(struct fumi_rpc_connection *l)
{
    return rpc_connection_poll(l->fd, POLLIN, 0) && !(l->at.tls && rpc_connection_tls_is_idle(l));
}

/* What the peer said before it stopped to listen is still read. */
void rpc_connection_write(struct fumi_rpc_connection *l)
{
    ssize_t n = send_some(l, l->out.p + l->sent, l->out.n - l->sent);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    l->deaf |= n < 0;
    l->sent += n > 0 ? (size_t)n : 0;
    if (n >= 0 && l->sent < l->out.n)
        return;
    l->sent = 0;
    fumi_buf_reset(&l->out, KEEP);
}

void rpc_connection_read(struct fumi_rpc_connection *l)
{
    struct fumi_err why = {0};
    ssize_t n = receive_some(l, fumi_buf_reserve(&l->in, READ), READ);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        l->in.n += (size_t)n;
        if (l->way->feed(l, &why))
            rpc_connection_drop(l, &why);
        return;
    }
    l->hung_up = true;
    if (n < 0 && !l->pid)
        fumi_err_set(&why, FUMI_INTERNAL_ERROR, "the connection to %s was lost: %s", l->at.url,
                     l->at.tls ? rpc_connection_tls_fault(l) : strerror(errno));
    else
        l->way->end(l, &why);
    rpc_connection_drop(l, &why);
}

bool rpc_connection_turn(struct fumi_rpc_connection *l, int64_t until)
{
    if (l->way->exchanges ? !rpc_connection_http_next(l, until) : l->fd < 0) {
        rpc_connection_fail(l, 0, &l->lost);
        return true;
    }
    if (l->fd < 0)
        return true;
    bool blocked = rpc_connection_tls_wants_write(l), woken;
    int got = rpc_connection_poll_two(
        l->fd, (short)(POLLIN | (rpc_connection_unsent(l) || blocked ? POLLOUT : 0)),
        rpc_connection_answer_fd(l), &woken, until);
    if (!got && !woken)
        return false;
    if (woken)
        rpc_connection_answer_send(l);
    if (got & POLLOUT && rpc_connection_unsent(l))
        rpc_connection_write(l);
    if (got & ~POLLOUT || (got && blocked))
        rpc_connection_read(l);
    if (rpc_connection_unsent(l)) /* answers, for which nobody may be waiting here */
        rpc_connection_write(l);
    return true;
}

void rpc_connection_fail_all(struct fumi_rpc_connection *l, const struct fumi_err *why)
{
    rpc_connection_fail(l, 0, why);
}

static void end_of_child(struct fumi_rpc_connection *l, struct fumi_err *e)
{
    int status = 0;
    if (!reap(l, REAP, &status))
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "the program %s has closed its output", l->at.url);
    else if (WIFSIGNALED(status))
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "the program %s was ended by signal %d", l->at.url,
                     WTERMSIG(status));
    else
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "the program %s has ended with status %d", l->at.url,
                     WEXITSTATUS(status));
}

void rpc_connection_stream_end(struct fumi_rpc_connection *l, struct fumi_err *e)
{
    if (l->pid)
        end_of_child(l, e);
    else
        fumi_err_set(e, FUMI_INTERNAL_ERROR,
                     "%s has closed the connection; calls that were open may have run", l->at.url);
}

static void put_line(struct fumi_rpc_connection *l, uint64_t number, struct fumi_str message)
{
    (void)number;
    fumi_buf_add(&l->out, message.p, message.n);
    fumi_buf_put(&l->out, '\n');
}

/* A peer that asks much and reads nothing must not fill our memory with answers. */
bool rpc_connection_is_crowded(const struct fumi_rpc_connection *l)
{
    return l->out.n - l->sent > l->o.limit;
}

static void answer_line(struct fumi_rpc_connection *l, struct fumi_str answer)
{
    if (!rpc_connection_is_crowded(l))
        put_line(l, 0, answer);
}

/* Whose answer it would have been is not known. */
void rpc_connection_too_long(struct fumi_rpc_connection *l)
{
    struct fumi_err why;
    fumi_err_set(&why, FUMI_LIMIT, "an answer of %s has more than %zu bytes: raise the limit",
                 l->at.url, l->o.limit);
    rpc_connection_fail(l, 0, &why);
}

static void take_line(struct fumi_rpc_connection *l, struct fumi_str s)
{
    struct fumi_err e;
    bool skipped = l->skipping;
    l->skipping = false;
    if (skipped)
        return;
    if (s.n && s.p[s.n - 1] == '\r')
        s.n--;
    if (s.n > l->o.limit)
        rpc_connection_too_long(l);
    else if (s.n && rpc_connection_take(l, s, 0, &e))
        l->odd = e;
}

static int feed_lines(struct fumi_rpc_connection *l, struct fumi_err *e)
{
    size_t start = 0;
    char *feed;
    (void)e;
    while ((feed = memchr(l->in.p + start + l->seen, '\n', l->in.n - start - l->seen))) {
        size_t end = (size_t)(feed - l->in.p);
        l->seen = 0;
        take_line(l, (struct fumi_str){l->in.p + start, end - start});
        start = end + 1;
    }
    rpc_connection_eat(l, start);
    if (!l->skipping && l->in.n > l->o.limit + 1) {
        rpc_connection_too_long(l);
        l->skipping = true;
    }
    if (l->skipping)
        rpc_connection_eat(l, l->in.n);
    l->seen = l->in.n;
    return 0;
}

const struct rpc_connection_way rpc_connection_lines = {
    .put = put_line,
    .answer = answer_line,
    .feed = feed_lines,
    .end = rpc_connection_stream_end,
    .dropped = rpc_connection_fail_all,
};
