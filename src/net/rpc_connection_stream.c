/* Connecting, child processes, the I/O step, and the transport with one message per line. */
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
    READ = 64 << 10,   /* bytes per read */
    KEEP = 256 << 10,  /* bytes of capacity that an empty buffer keeps */
    RETRY_DELAY = 100, /* ms before the second attempt to reconnect */
    RETRY_DELAY_MAX = 2000,
    CHILD_GRACE = 2000, /* ms for a child to exit after end of file, SIGTERM, SIGKILL */
    CHILD_EXIT = 200,   /* ms for a child that closed its output to exit */
    EOF_READS = 16,     /* reads that check whether the connection is still open */
};

static const int64_t ms_max = INT64_C(1000000000000); /* keeps sums of nanoseconds in range */

int64_t rpc_connection_deadline(int64_t ms)
{
    return fumi_ticks() + (ms < 0 ? 0 : ms < ms_max ? ms : ms_max) * 1000000;
}

int64_t rpc_connection_earlier(int64_t until, int64_t ms)
{
    int64_t then = rpc_connection_deadline(ms);
    return then < until ? then : until;
}

/* Milliseconds for poll(2), rounded up. */
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
    rpc_connection_poll(-1, 0, rpc_connection_deadline(ms));
}

/* Connecting to an unused local port can connect a socket to itself, if that port is its own. */
static bool is_self_connected(int fd)
{
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t n = sizeof(here), m = sizeof(there);
    if (getsockname(fd, (struct sockaddr *)&here, &n) ||
        getpeername(fd, (struct sockaddr *)&there, &m))
        return false;
    return here.ss_family != AF_UNIX && n == m && memcmp(&here, &there, n) == 0;
}

/* Returns 0 or an errno. poll(2) cannot wait for space in the backlog of a Unix socket. */
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
    return !number && is_self_connected(fd) ? ECONNREFUSED : number;
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

static int connect_failed(const struct fumi_rpc_connection *c, int number, struct fumi_err *e)
{
    const char *url = c->endpoint.url;
    if (number == ECONNREFUSED || number == ENOENT)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "no server listens at %s: is it running?", url);
    if (number == ETIMEDOUT)
        return fumi_err_set(e, FUMI_LIMIT, "%s cannot be reached in time: is the address right?",
                            url);
    if (number == EACCES || number == EPERM)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "no permission to connect to %s: does it belong to another user?", url);
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s cannot be reached: %s", url, strerror(number));
}

static int open_unix(struct fumi_rpc_connection *c, int64_t until, struct fumi_err *e)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t n = strlen(c->endpoint.path);
    int number;
    if (n >= sizeof(to.sun_path))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "%s: the path must have at most %zu bytes",
                            c->endpoint.url, sizeof(to.sun_path) - 1);
    memcpy(to.sun_path, c->endpoint.path, n);
    c->fd = open_socket((const struct sockaddr *)&to, sizeof(to), until, &number);
    return c->fd >= 0 ? 0 : connect_failed(c, number, e);
}

/* The addresses of a name share the time, so that an unresponsive one leaves time for the next. */
static int open_tcp(struct fumi_rpc_connection *c, int64_t until, struct fumi_err *e)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all = NULL;
    if (strchr(c->endpoint.host, ':'))
        hints.ai_flags = AI_NUMERICHOST;
    int number = 0, n = 0, rc = getaddrinfo(c->endpoint.host, c->endpoint.port, &hints, &all);
    if (rc)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: the host is unknown: %s", c->endpoint.url,
                            gai_strerror(rc));
    for (const struct addrinfo *a = all; a; a = a->ai_next)
        n++;
    for (const struct addrinfo *a = all; a && c->fd < 0; a = a->ai_next, n--)
        c->fd = open_socket(a->ai_addr, a->ai_addrlen,
                            rpc_connection_earlier(until, time_left(until) / n), &number);
    freeaddrinfo(all);
    return c->fd >= 0 ? 0 : connect_failed(c, number, e);
}

int rpc_connection_connect(struct fumi_rpc_connection *c, int64_t until, struct fumi_err *e)
{
    int64_t then = rpc_connection_earlier(until, c->options.connect_time);
    c->write_failed = c->skipping = false;
    c->scanned = c->skip = 0;
    if (c->endpoint.host ? open_tcp(c, then, e) : open_unix(c, then, e))
        return -1;
    if (!rpc_connection_check_owner(c, then, e) &&
        (!c->endpoint.tls || rpc_connection_tls_open(c, then, e) == 0) &&
        (!c->transport->handshake || c->transport->handshake(c, then, e) == 0))
        return 0;
    rpc_connection_close_socket(c);
    return -1;
}

/* Only reading shows whether the peer has closed the connection since the last call. */
static void detect_eof(struct fumi_rpc_connection *c)
{
    for (int i = 0; i < EOF_READS && c->fd >= 0 && rpc_connection_step(c, 0); i++) {}
}

/* A refusal is final; a server that is down or slow may come back. */
static bool is_transient(const struct fumi_err *e)
{
    return e->code == FUMI_INTERNAL_ERROR || e->code == FUMI_LIMIT;
}

/* Lets the caller make calls on the new connection first. Returns -1 with *e set if the connection
 * is lost during the callback. */
static int call_reconnected(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    if (!c->options.reconnected)
        return 0;
    c->reconnecting = true;
    c->options.reconnected(c->options.arg, c);
    c->reconnecting = false;
    *e = c->lost_reason;
    return c->fd >= 0 ? 0 : -1;
}

int rpc_connection_ensure(struct fumi_rpc_connection *c, int64_t until, struct fumi_err *e)
{
    int64_t pause = RETRY_DELAY;
    detect_eof(c);
    if (c->fd >= 0)
        return 0;
    *e = c->lost_reason;
    /* A program is not restarted. If the connection is lost during `reconnected`, our caller
     * retries. */
    if ((!c->endpoint.path && !c->endpoint.host) || c->reconnecting)
        return -1;
    for (int i = 0; i < c->options.tries; i++) {
        if (i) {
            rpc_connection_pause(pause < time_left(until) ? pause : time_left(until));
            pause = pause * 2 < RETRY_DELAY_MAX ? pause * 2 : RETRY_DELAY_MAX;
        }
        if (rpc_connection_connect(c, until, e) == 0 && call_reconnected(c, e) == 0)
            return 0;
        if (!is_transient(e) || !time_left(until))
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

/* One socket is both input and output of the child: writing to it raises no SIGPIPE, and its input
 * can be closed separately. */
int rpc_connection_start_child(struct fumi_rpc_connection *c, char *const argv[],
                               struct fumi_err *e)
{
    int pair[2];
    struct fumi_str name = fumi_str(argv[0]);
    if (!name.n)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the program to start is missing");
    c->endpoint.url = fumi_fmt(&c->memory, "%s", argv[0]).p;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: %s", argv[0], strerror(errno));
    int number = spawn(argv, pair[1], &c->pid);
    close(pair[1]);
    if (!number) {
        c->fd = pair[0];
        return 0;
    }
    c->pid = 0;
    close(pair[0]);
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s cannot be started: %s", argv[0],
                        strerror(number));
}

/* Waits for the child to exit. Its output is discarded, so that it does not block on writing. */
static bool reap(struct fumi_rpc_connection *c, int64_t ms, int *status)
{
    int64_t until = rpc_connection_deadline(ms);
    char discarded[4096];
    int fd = c->fd;
    for (int64_t pause = 1;; pause = pause < 16 ? pause * 2 : pause) {
        pid_t got = waitpid(c->pid, status, WNOHANG);
        if (got == c->pid || (got < 0 && errno != EINTR)) {
            c->pid = 0;
            return true;
        }
        if (!time_left(until))
            return false;
        if (rpc_connection_poll(fd, POLLIN, rpc_connection_earlier(until, pause)) &&
            recv(fd, discarded, sizeof(discarded), MSG_DONTWAIT) == 0)
            fd = -1;
    }
}

void rpc_connection_end_child(struct fumi_rpc_connection *c)
{
    static const int signals[] = {0, SIGTERM, SIGKILL};
    int status;
    if (c->pid && c->fd >= 0)
        shutdown(c->fd, SHUT_WR);
    for (size_t i = 0; c->pid && i < FUMI_COUNT(signals); i++) {
        if (signals[i])
            kill(c->pid, signals[i]);
        reap(c, CHILD_GRACE, &status);
    }
}

void rpc_connection_close_socket(struct fumi_rpc_connection *c)
{
    rpc_connection_answer_close(c);
    rpc_connection_tls_close(c);
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->sent = 0;
    fumi_buf_reset(&c->in, KEEP);
    fumi_buf_reset(&c->out, KEEP);
}

void rpc_connection_disconnect(struct fumi_rpc_connection *c, const struct fumi_err *why)
{
    c->lost_reason = *why;
    rpc_connection_close_socket(c);
    c->transport->disconnected(c, &c->lost_reason);
}

void rpc_connection_consume(struct fumi_rpc_connection *c, size_t n)
{
    if (n == 0)
        return;
    c->in.n -= n;
    memmove(c->in.p, c->in.p + n, c->in.n);
    if (!c->in.n)
        fumi_buf_reset(&c->in, KEEP);
}

static ssize_t send_some(struct fumi_rpc_connection *c, const char *bytes, size_t n)
{
    if (c->endpoint.tls)
        return rpc_connection_tls_write(c, bytes, n);
    return send(c->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static ssize_t receive_some(struct fumi_rpc_connection *c, char *to, size_t n)
{
    if (c->endpoint.tls)
        return rpc_connection_tls_read(c, to, n);
    return recv(c->fd, to, n, MSG_DONTWAIT);
}

bool rpc_connection_is_stale(struct fumi_rpc_connection *c)
{
    return rpc_connection_poll(c->fd, POLLIN, 0) &&
           !(c->endpoint.tls && rpc_connection_tls_is_idle(c));
}

/* After a write error, data that the peer sent before can still be read. */
void rpc_connection_write(struct fumi_rpc_connection *c)
{
    ssize_t n = send_some(c, c->out.p + c->sent, c->out.n - c->sent);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    c->write_failed |= n < 0;
    c->sent += n > 0 ? (size_t)n : 0;
    if (n >= 0 && c->sent < c->out.n)
        return;
    c->sent = 0;
    fumi_buf_reset(&c->out, KEEP);
}

void rpc_connection_read(struct fumi_rpc_connection *c)
{
    struct fumi_err why = {0};
    ssize_t n = receive_some(c, fumi_buf_reserve(&c->in, READ), READ);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        c->in.n += (size_t)n;
        if (c->transport->parse(c, &why))
            rpc_connection_disconnect(c, &why);
        return;
    }
    if (n < 0 && !c->pid)
        fumi_err_set(&why, FUMI_INTERNAL_ERROR, "the connection to %s was lost: %s",
                     c->endpoint.url,
                     c->endpoint.tls ? rpc_connection_tls_fault(c) : strerror(errno));
    else
        c->transport->eof(c, &why);
    rpc_connection_disconnect(c, &why);
}

bool rpc_connection_step(struct fumi_rpc_connection *c, int64_t until)
{
    if (c->transport->exchanges ? !rpc_connection_http_next(c, until) : c->fd < 0) {
        rpc_connection_fail(c, 0, &c->lost_reason);
        return true;
    }
    if (c->fd < 0)
        return true;
    bool blocked = rpc_connection_tls_wants_write(c), woken;
    int got = rpc_connection_poll_two(
        c->fd, (short)(POLLIN | (rpc_connection_has_unsent(c) || blocked ? POLLOUT : 0)),
        rpc_connection_answer_fd(c), &woken, until);
    if (!got && !woken)
        return false;
    if (woken)
        rpc_connection_answer_flush(c);
    if (got & POLLOUT && rpc_connection_has_unsent(c))
        rpc_connection_write(c);
    if (got & ~POLLOUT || (got && blocked))
        rpc_connection_read(c);
    if (rpc_connection_has_unsent(c)) /* answers to the peer, which no operation waits for */
        rpc_connection_write(c);
    return true;
}

void rpc_connection_fail_all(struct fumi_rpc_connection *c, const struct fumi_err *why)
{
    rpc_connection_fail(c, 0, why);
}

static void child_eof(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    int status = 0;
    if (!reap(c, CHILD_EXIT, &status))
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "the program %s has closed its output",
                     c->endpoint.url);
    else if (WIFSIGNALED(status))
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "the program %s was ended by signal %d",
                     c->endpoint.url, WTERMSIG(status));
    else
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "the program %s has ended with status %d",
                     c->endpoint.url, WEXITSTATUS(status));
}

void rpc_connection_stream_eof(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    if (c->pid)
        child_eof(c, e);
    else
        fumi_err_set(e, FUMI_INTERNAL_ERROR,
                     "%s has closed the connection; calls that were open may have run",
                     c->endpoint.url);
}

static void queue_line(struct fumi_rpc_connection *c, uint64_t number, struct fumi_str message)
{
    (void)number;
    fumi_buf_add(&c->out, message.p, message.n);
    fumi_buf_put(&c->out, '\n');
}

/* A peer that sends requests but reads no answers must not fill our memory. */
bool rpc_connection_is_congested(const struct fumi_rpc_connection *c)
{
    return c->out.n - c->sent > c->options.limit;
}

static void answer_line(struct fumi_rpc_connection *c, struct fumi_str answer)
{
    if (!rpc_connection_is_congested(c))
        queue_line(c, 0, answer);
}

/* Which call the discarded answer belongs to is unknown, so all open calls fail. */
void rpc_connection_fail_too_long(struct fumi_rpc_connection *c)
{
    struct fumi_err why;
    fumi_err_set(&why, FUMI_LIMIT, "an answer of %s has more than %zu bytes: raise the limit",
                 c->endpoint.url, c->options.limit);
    rpc_connection_fail(c, 0, &why);
}

static void take_line(struct fumi_rpc_connection *c, struct fumi_str s)
{
    struct fumi_err e;
    bool skipped = c->skipping;
    c->skipping = false;
    if (skipped)
        return;
    if (s.n && s.p[s.n - 1] == '\r')
        s.n--;
    if (s.n > c->options.limit)
        rpc_connection_fail_too_long(c);
    else if (s.n && rpc_connection_receive(c, s, 0, &e))
        c->rejected = e;
}

static int parse_lines(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    size_t start = 0;
    char *feed;
    (void)e;
    while ((feed = memchr(c->in.p + start + c->scanned, '\n', c->in.n - start - c->scanned))) {
        size_t end = (size_t)(feed - c->in.p);
        c->scanned = 0;
        take_line(c, (struct fumi_str){c->in.p + start, end - start});
        start = end + 1;
    }
    rpc_connection_consume(c, start);
    if (!c->skipping && c->in.n > c->options.limit + 1) {
        rpc_connection_fail_too_long(c);
        c->skipping = true;
    }
    if (c->skipping)
        rpc_connection_consume(c, c->in.n);
    c->scanned = c->in.n;
    return 0;
}

const struct rpc_connection_transport rpc_connection_ndjson = {
    .queue = queue_line,
    .answer = answer_line,
    .parse = parse_lines,
    .eof = rpc_connection_stream_eof,
    .disconnected = rpc_connection_fail_all,
};
