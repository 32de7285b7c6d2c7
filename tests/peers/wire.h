/* A raw client of a running server: sends bytes, reads lines and HTTP responses. It blocks for what
 * must arrive, and shares no code with the code under test. */
#ifndef PEERS_WIRE_H
#define PEERS_WIRE_H

#include "live.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>

struct wire {
    int fd;
    struct fumi_buf in; /* received; processed up to `at` */
    size_t at;
    enum { WIRE_OPEN, WIRE_ENDED, WIRE_RESET, WIRE_SILENT } state;
    struct fumi_buf body; /* of the last response */
};

static inline void wire_begin(struct wire *w, int fd)
{
    struct timeval patience = {.tv_sec = LIVE_PATIENCE};
    *w = (struct wire){.fd = fd};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

/* Both end the test program if the server cannot be reached. */
static inline void wire_tcp(struct wire *w, const struct live *s)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to))) {
        perror("connect");
        exit(1);
    }
    wire_begin(w, fd);
}

static inline void wire_unix(struct wire *w, const struct live *s)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", s->path);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to))) {
        perror("connect");
        exit(1);
    }
    wire_begin(w, fd);
}

static inline void wire_close(struct wire *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
    fumi_buf_done(&w->in);
    fumi_buf_done(&w->body);
}

/* Closes with a reset: unread and unsent data is lost. */
static inline void wire_reset(struct wire *w)
{
    struct linger none = {.l_onoff = 1};
    setsockopt(w->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    wire_close(w);
}

/* Returns whether all of it was accepted. */
static inline bool wire_put(struct wire *w, struct fumi_str bytes)
{
    while (bytes.n) {
        ssize_t n = send(w->fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        n = n < 0 ? 0 : n;
        bytes = (struct fumi_str){bytes.p + n, bytes.n - (size_t)n};
    }
    return true;
}

/* Byte by byte; long data in larger pieces, so that the server does not time out. */
static inline bool wire_put_slowly(struct wire *w, struct fumi_str bytes)
{
    size_t n;
    for (size_t i = 0; i < bytes.n; i += n) {
        n = i < 1000 ? 1 : 97;
        n = n < bytes.n - i ? n : bytes.n - i;
        if (!wire_put(w, (struct fumi_str){bytes.p + i, n}))
            return false;
        sched_yield();
    }
    return true;
}

static inline void wire_half_close(struct wire *w)
{
    shutdown(w->fd, SHUT_WR);
}

static inline struct fumi_str wire_unread(const struct wire *w)
{
    struct fumi_str all = fumi_buf_str(&w->in);
    return (struct fumi_str){all.p + w->at, all.n - w->at};
}

/* Receives more data. Returns false at the end; w->state has the reason. */
static inline bool wire_more(struct wire *w)
{
    ssize_t n = -1;
    if (w->state != WIRE_OPEN)
        return false;
    do
        n = recv(w->fd, fumi_buf_reserve(&w->in, 65536), 65536, 0);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        w->in.n += (size_t)n;
    else
        w->state = n == 0 ? WIRE_ENDED : errno == EAGAIN ? WIRE_SILENT : WIRE_RESET;
    return n > 0;
}

static inline bool wire_need(struct wire *w, size_t n)
{
    while (wire_unread(w).n < n)
        if (!wire_more(w))
            return false;
    return true;
}

/* The bytes up to and including a mark; a NULL string if the connection ended before it. Valid
 * until more is received. */
static inline struct fumi_str wire_until(struct wire *w, const char *mark)
{
    const char *at;
    for (;;) {
        struct fumi_str s = wire_unread(w);
        at = s.n ? memmem(s.p, s.n, mark, strlen(mark)) : NULL;
        if (at) {
            s.n = (size_t)(at - s.p) + strlen(mark);
            w->at += s.n;
            return s;
        }
        if (!wire_more(w))
            return (struct fumi_str){0};
    }
}

/* Reads to the end. Returns whether the connection ended without further data. */
static inline bool wire_ends(struct wire *w)
{
    while (wire_more(w))
        ;
    return w->state == WIRE_ENDED && wire_unread(w).n == 0;
}

struct reply {
    int status; /* 0: no response */
    struct fumi_str
        head; /* including its empty line; both are valid until the next response is read */
    struct fumi_str body;
};

/* The value of a header field, whose name is spelled as the server writes it; a NULL string if it
 * is missing. */
static inline struct fumi_str reply_field(const struct reply *r, const char *name)
{
    char start[64];
    int n = snprintf(start, sizeof(start), "\r\n%s: ", name);
    const char *at = r->head.n ? memmem(r->head.p, r->head.n, start, (size_t)n) : NULL;
    if (!at)
        return (struct fumi_str){0};
    at += n;
    return (struct fumi_str){at, (size_t)((const char *)memchr(at, '\r', r->head.n) - at)};
}

static inline bool reply_closes(const struct reply *r)
{
    struct fumi_str field = reply_field(r, "Connection");
    return field.n >= 5 && fumi_eq((struct fumi_str){field.p + field.n - 5, 5}, FUMI_STR("close"));
}

static inline bool wire_chunks(struct wire *w)
{
    for (;;) {
        struct fumi_str line = wire_until(w, "\r\n");
        size_t n = line.p ? strtoul(line.p, NULL, 16) : 0;
        if (!line.p || !wire_need(w, n + 2))
            return false;
        fumi_buf_add(&w->body, wire_unread(w).p, n);
        w->at += n + 2;
        if (n == 0)
            return true;
    }
}

static inline bool wire_length(struct wire *w, struct fumi_str length)
{
    size_t n = strtoul(length.p, NULL, 10);
    if (!wire_need(w, n))
        return false;
    fumi_buf_add(&w->body, wire_unread(w).p, n);
    w->at += n;
    return true;
}

static inline bool wire_rest(struct wire *w)
{
    while (wire_more(w))
        ;
    fumi_buf_add(&w->body, wire_unread(w).p, wire_unread(w).n);
    w->at = w->in.n;
    return w->state == WIRE_ENDED;
}

static inline bool wire_body(struct wire *w, const struct reply *r, bool only_head)
{
    if (only_head || r->status < 200 || r->status == 204)
        return true;
    if (reply_field(r, "Transfer-Encoding").p)
        return wire_chunks(w);
    if (reply_field(r, "Content-Length").p)
        return wire_length(w, reply_field(r, "Content-Length"));
    return wire_rest(w);
}

/* Reads one response, also an interim one; status 0: none was complete. */
static inline struct reply wire_reply(struct wire *w, bool only_head)
{
    struct reply r = {0};
    fumi_buf_done(&w->body);
    struct fumi_str head = wire_until(w, "\r\n\r\n");
    size_t from = w->at - head.n;
    if (!head.p || !fumi_starts(head, FUMI_STR("HTTP/1.1 ")))
        return r;
    r.status = (int)strtol(head.p + 9, NULL, 10);
    r.head = head;
    if (!wire_body(w, &r, only_head))
        r.status = 0;
    r.head.p = w->in.p + from; /* the buffer may have moved */
    r.body = fumi_buf_str(&w->body);
    return r;
}

/* An ordinary POST of one message. `more` are further header fields. */
static inline void post_put(struct fumi_buf *to, const struct live *s, struct fumi_str message,
                            const char *more)
{
    char head[512];
    int n = snprintf(head, sizeof(head),
                     "POST /rpc HTTP/1.1\r\nHost: localhost:%u\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n%s\r\n",
                     s->port, message.n, more);
    fumi_buf_add(to, head, (size_t)n);
    fumi_buf_add(to, message.p, message.n);
}

static inline bool wire_post(struct wire *w, const struct live *s, struct fumi_str message,
                             const char *more)
{
    struct fumi_buf post = {0};
    post_put(&post, s, message, more);
    bool sent = wire_put(w, fumi_buf_str(&post));
    fumi_buf_done(&post);
    return sent;
}

static inline bool has(struct fumi_str s, const char *what)
{
    return s.n && memmem(s.p, s.n, what, strlen(what));
}

#define PROBE "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":[\"probe\"],\"id\":2}"

/* Whether this connection is served. */
static inline bool wire_lives(struct wire *w, const struct live *s)
{
    if (!wire_post(w, s, FUMI_STR(PROBE), ""))
        return false;
    struct reply r = wire_reply(w, false);
    return r.status == 200 && has(r.body, "probe");
}

/* Whether a new connection is served. */
static inline bool live_serves(const struct live *s)
{
    struct wire w;
    wire_tcp(&w, s);
    bool good = wire_lives(&w, s);
    wire_close(&w);
    return good;
}

#endif
