/* The baseline of the network benchmark: an epoll server that does nothing. It has one thread and
 * one read buffer, level-triggered. Each complete request of a read is answered with status 200 and
 * its own body; all answers of a read are sent in one write. With --ws each connection begins with
 * the WebSocket handshake, and each text frame is unmasked and sent back. A message that ends with
 * a space is a notification of mixed.h: status 204, or no answer over WebSocket. The server parses
 * no JSON, does not validate requests, and blocks while a client does not read.
 *
 * Usage: floor_net [--ws]      listens on a free port of 127.0.0.1 and prints it on stderr */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_SIZE = 65536, WRITE_SIZE = 2 * READ_SIZE, EVENTS = 256 };

struct floor_conn {
    int fd;
    bool upgraded;
    size_t held; /* bytes of an incomplete request */
    char *rest;
};

struct floor {
    int epoll, listener;
    bool ws;
    size_t used; /* bytes of out */
    char in[READ_SIZE];
    char out[WRITE_SIZE];
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void flush(struct floor *f, int fd)
{
    size_t sent = 0;
    while (sent < f->used) {
        ssize_t n = send(fd, f->out + sent, f->used - sent, MSG_NOSIGNAL);
        struct pollfd writable = {.fd = fd, .events = POLLOUT};
        if (n > 0)
            sent += (size_t)n;
        else if (errno != EAGAIN || poll(&writable, 1, 5000) != 1)
            break;
    }
    f->used = 0;
}

static char *reserve(struct floor *f, int fd, size_t n)
{
    if (WRITE_SIZE - f->used < n)
        flush(f, fd);
    return f->out + f->used;
}

static void put(struct floor *f, int fd, const char *p, size_t n)
{
    memcpy(reserve(f, fd, n), p, n);
    f->used += n;
}

/* Returns the size of the request at p, or 0 if it is incomplete. *head: the size of its header. */
static size_t request_size(const char *p, size_t n, size_t *head)
{
    static const char name[] = "Content-Length:";
    const char *end = memmem(p, n, "\r\n\r\n", 4);
    if (!end)
        return 0;
    *head = (size_t)(end - p) + 4;
    const char *length = memmem(p, *head, name, sizeof(name) - 1);
    size_t size = *head + (length ? strtoul(length + sizeof(name) - 1, NULL, 10) : 0);
    return size <= n ? size : 0;
}

/* Digits overwrite the zeros from the right; leading zeros may remain. */
static const char answer_head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                  "Content-Length: 00000\r\n\r\n";

static const char no_content[] = "HTTP/1.1 204 No Content\r\n\r\n";

static size_t answer(struct floor *f, struct floor_conn *c, const char *p, size_t n)
{
    size_t head, size = request_size(p, n, &head);
    if (!size)
        return 0;
    if (p[size - 1] == ' ') {
        put(f, c->fd, no_content, sizeof(no_content) - 1);
        return size;
    }
    size_t body = size - head, fixed = sizeof(answer_head) - 1;
    char *out = reserve(f, c->fd, fixed + body);
    memcpy(out, answer_head, fixed);
    char *digit = out + fixed - 4;
    for (size_t left = body; left; left /= 10)
        *--digit = (char)('0' + left % 10);
    memcpy(out + fixed, p + head, body);
    f->used += fixed + body;
    return size;
}

/* The load tool always sends the example key of RFC 6455, section 1.3; this is the answer to it. */
static const char switching[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                "Connection: Upgrade\r\n"
                                "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

static size_t upgrade(struct floor *f, struct floor_conn *c, const char *p, size_t n)
{
    size_t head, size = request_size(p, n, &head);
    if (!size)
        return 0;
    put(f, c->fd, switching, sizeof(switching) - 1);
    c->upgraded = true;
    return size;
}

static void unmask(char *out, const char *p, size_t n, const char *key)
{
    uint64_t mask, word;
    char twice[8];
    memcpy(twice, key, 4);
    memcpy(twice + 4, key, 4);
    memcpy(&mask, twice, 8);
    for (; n >= 8; n -= 8, p += 8, out += 8) {
        memcpy(&word, p, 8);
        word ^= mask;
        memcpy(out, &word, 8);
    }
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(p[i] ^ key[i % 4]);
}

static size_t echo(struct floor *f, struct floor_conn *c, const char *p, size_t n)
{
    const unsigned char *b = (const unsigned char *)p;
    if (n < 2)
        return 0;
    size_t head = 2, size = b[1] & 127u;
    if (size == 126) {
        if (n < 4)
            return 0;
        size = (size_t)b[2] << 8 | b[3];
        head = 4;
    }
    if (n < head + 4 + size)
        return 0;
    char *out = reserve(f, c->fd, head + size);
    memcpy(out, p, head);
    out[1] &= 127;
    unmask(out + head, p + head + 4, size, p + head);
    f->used += size && out[head + size - 1] == ' ' ? 0 : head + size;
    return head + 4 + size;
}

static size_t take(struct floor *f, struct floor_conn *c, const char *p, size_t n)
{
    if (!f->ws)
        return answer(f, c, p, n);
    return c->upgraded ? echo(f, c, p, n) : upgrade(f, c, p, n);
}

static void hang_up(struct floor_conn *c)
{
    close(c->fd);
    free(c->rest);
    free(c);
}

static void keep(struct floor_conn *c, const char *p, size_t n)
{
    if (n && !c->rest && !(c->rest = malloc(READ_SIZE)))
        die("malloc");
    if (n)
        memcpy(c->rest, p, n);
    c->held = n;
}

static void serve(struct floor *f, struct floor_conn *c)
{
    if (c->held)
        memcpy(f->in, c->rest, c->held);
    ssize_t got = read(c->fd, f->in + c->held, READ_SIZE - c->held);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        hang_up(c);
        return;
    }
    const char *p = f->in, *end = p + c->held + got;
    for (size_t n = 1; p < end && n; p += n)
        n = take(f, c, p, (size_t)(end - p));
    keep(c, p, (size_t)(end - p));
    flush(f, c->fd);
}

static void accept_all(struct floor *f)
{
    int fd, yes = 1;
    while ((fd = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct floor_conn *c = calloc(1, sizeof(*c));
        if (!c)
            die("calloc");
        c->fd = fd;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, &e))
            die("epoll_ctl");
    }
}

static void listen_on_free_port(struct floor *f)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (f->listener < 0 || bind(f->listener, (struct sockaddr *)&at, size) ||
        listen(f->listener, SOMAXCONN) || getsockname(f->listener, (struct sockaddr *)&at, &size))
        die("listen");
    f->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (f->epoll < 0 || epoll_ctl(f->epoll, EPOLL_CTL_ADD, f->listener, &e))
        die("epoll");
    fprintf(stderr, "listening on tcp:127.0.0.1:%d\n", ntohs(at.sin_port));
}

int main(int argc, char **argv)
{
    static struct floor f;
    struct epoll_event events[EVENTS];
    if (argc > 2 || (argc == 2 && strcmp(argv[1], "--ws") != 0)) {
        fprintf(stderr, "usage: %s [--ws]\n", argv[0]);
        return 2;
    }
    f.ws = argc == 2;
    listen_on_free_port(&f);
    for (;;) {
        int n = epoll_wait(f.epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr)
                serve(&f, events[i].data.ptr);
            else
                accept_all(&f);
        }
    }
}
