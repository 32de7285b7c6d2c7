/* A load generator on one thread: connections that each keep a number of requests in flight. The
 * answers of one read set off the next requests, which leave in one write; every answer is checked.
 * With --idle it measures twice, without the idle connections and beside them.
 *
 * Usage: load http|ws PORT [--connections N] [--in-flight N] [--batch N] [--idle N] [--seconds S]
 *                          [--pid SERVER] [--path PATH] [--echo]
 *
 * One line for each measurement: calls a second, round trip of a message (microseconds), processor
 * time of the server a call (microseconds) and its share of the time that passed; then the idle
 * connections and the bytes of private memory that each made the server write to. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

enum {
    READ_SIZE = 1 << 18,
    EVENTS = 256,
    SPARE_FILES = 32,
    PER_ADDRESS = 5000, /* connections from one address of ours, well under the number of ports */
    OPENING = 256,      /* connections that are not welcomed yet, below any backlog */
    PATIENCE = 10000,   /* milliseconds */
};

struct conn {
    int fd;
    bool ws, upgrading;
    size_t waiting; /* requests without an answer */
    size_t next;    /* of sent: the oldest of them */
    uint64_t *sent; /* when; in_flight places */
    size_t held;    /* bytes of an unfinished answer */
    char *rest;
};

struct load {
    const struct plan *plan;
    struct wire wire;
    int epoll;
    struct conn *conns;
    size_t n;       /* of conns: first the busy ones, then the idle */
    size_t opening; /* connections that wait for their welcome */
    size_t waiting; /* requests without an answer, all in all */
    bool asking;    /* answers set off new requests */
    uint64_t messages;
    struct times times;
    char in[READ_SIZE];
};

void die(const char *what)
{
    if (errno)
        fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    else
        fprintf(stderr, "load: %s\n", what);
    exit(1);
}

static void write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t wrote = send(fd, p, n, MSG_NOSIGNAL);
        struct pollfd writable = {.fd = fd, .events = POLLOUT};
        if (wrote < 0 && (errno != EAGAIN || poll(&writable, 1, PATIENCE) != 1))
            die("write to the server");
        p += wrote < 0 ? 0 : wrote;
        n -= wrote < 0 ? 0 : (size_t)wrote;
    }
}

static void ask(struct load *l, struct conn *c, size_t n, uint64_t at)
{
    for (size_t i = 0; i < n; i++)
        c->sent[(c->next + c->waiting++) % l->plan->in_flight] = at;
    l->waiting += n;
    write_all(c->fd, l->wire.request, n * l->wire.request_size);
}

static size_t pong(struct conn *c, const char *p, size_t n)
{
    size_t payload, size = wire_ping(p, n, &payload);
    char frame[6 + 127] = {(char)0x8a};
    if (!size)
        return 0;
    frame[1] = (char)(0x80 | payload);
    memcpy(frame + 6, p + 2, payload); /* the mask is four zeros */
    write_all(c->fd, frame, 6 + payload);
    return size;
}

/* One thing that arrived: 0 unless it is complete. */
static size_t take(struct load *l, struct conn *c, const char *p, size_t n, uint64_t at)
{
    size_t size;
    if (c->upgrading) {
        size = wire_welcome(p, n);
        c->upgrading = size == 0;
        l->opening -= size != 0;
        return size;
    }
    if (c->ws && (size = pong(c, p, n)))
        return size;
    errno = 0;
    if (!c->waiting)
        die("the server sent something unasked");
    size = wire_answer(&l->wire, p, n);
    if (!size)
        return 0;
    times_add(&l->times, at - c->sent[c->next]);
    c->next = (c->next + 1) % l->plan->in_flight;
    c->waiting--;
    l->waiting--;
    l->messages++;
    return size;
}

static void keep(struct conn *c, const char *p, size_t n)
{
    if (n && !c->rest && !(c->rest = malloc(READ_SIZE)))
        die("out of memory");
    if (n)
        memcpy(c->rest, p, n);
    c->held = n;
}

static void listen_to(struct load *l, struct conn *c)
{
    if (c->held)
        memcpy(l->in, c->rest, c->held);
    errno = 0;
    ssize_t got = read(c->fd, l->in + c->held, READ_SIZE - c->held);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0)
        die("the server closed a connection");
    uint64_t at = now();
    const char *p = l->in, *end = p + c->held + got;
    size_t before = c->waiting;
    for (size_t n = 1; p < end && n; p += n)
        n = take(l, c, p, (size_t)(end - p), at);
    keep(c, p, (size_t)(end - p));
    if (l->asking && before > c->waiting)
        ask(l, c, before - c->waiting, at);
}

static void step(struct load *l)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(l->epoll, events, EVENTS, PATIENCE);
    if (n < 0)
        die("epoll_wait");
    errno = 0;
    if (n == 0)
        die("the server has been silent for ten seconds");
    for (int i = 0; i < n; i++)
        listen_to(l, events[i].data.ptr);
}

static int dial(const struct plan *p, size_t i)
{
    struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
    struct linger at_once = {.l_onoff = 1};
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (in_addr_t)(i / PER_ADDRESS));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(p->port);
    if (fd < 0)
        die("socket");
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes));
    if (bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
        connect(fd, (struct sockaddr *)&to, sizeof(to)))
        die("connect to the server");
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    /* No port waits for stragglers after thousands of connections were closed. */
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    return fd;
}

static void open_one(struct load *l, bool idle)
{
    struct conn *c = &l->conns[l->n];
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    *c = (struct conn){.fd = dial(l->plan, l->n), .ws = idle || l->plan->ws};
    l->n++;
    if (!idle && !(c->sent = calloc(l->plan->in_flight, sizeof(*c->sent))))
        die("out of memory");
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &e))
        die("epoll_ctl");
    if (!c->ws)
        return;
    c->upgrading = true;
    l->opening++;
    write_all(c->fd, l->wire.handshake, l->wire.handshake_size);
}

static void open_more(struct load *l, size_t n, bool idle)
{
    for (size_t i = 0; i < n; i++) {
        open_one(l, idle);
        while (l->opening >= OPENING)
            step(l);
    }
    while (l->opening)
        step(l);
}

/* Asks for so long, and returns how long it was. */
static double run(struct load *l, double seconds)
{
    uint64_t began = now(), end = began + (uint64_t)(seconds * 1e9), at = began;
    l->messages = 0;
    memset(&l->times, 0, sizeof(l->times));
    for (; at < end; at = now())
        step(l);
    return (double)(at - began);
}

static void begin(struct load *l)
{
    l->asking = true;
    for (size_t i = 0; i < l->plan->connections; i++)
        ask(l, &l->conns[i], l->plan->in_flight, now());
    run(l, l->plan->seconds / 5);
}

static void settle(struct load *l)
{
    l->asking = false;
    while (l->waiting)
        step(l);
}

static void measure(struct load *l)
{
    const struct plan *p = l->plan;
    begin(l);
    uint64_t cpu = cpu_of(p->pid);
    double passed = run(l, p->seconds), calls = (double)(l->messages * p->batch);
    double used = (double)(cpu_of(p->pid) - cpu);
    printf("rate=%.0f p50=%.1f p99=%.1f", calls * 1e9 / passed, times_part(&l->times, 0.5) / 1e3,
           times_part(&l->times, 0.99) / 1e3);
    if (p->pid)
        printf(" cpu=%.3f busy=%.2f", used / 1e3 / (calls > 0 ? calls : 1), used / passed);
    settle(l);
}

/* Those that can be had, when not all can. */
static size_t idle_count(const struct plan *p)
{
    size_t busy = p->connections + SPARE_FILES;
    size_t files = files_raise(p->idle + busy);
    if (files < p->idle + busy)
        fprintf(stderr, "load: only %zu idle connections: the limit of open files allows no more\n",
                files > busy ? files - busy : 0);
    return files > busy ? files - busy : 0;
}

static void measure_beside(struct load *l, size_t idle)
{
    size_t before = dirty_of(l->plan->pid);
    open_more(l, idle, true);
    double memory = (double)dirty_of(l->plan->pid) - (double)before;
    putchar('\n');
    measure(l);
    printf(" idle=%zu memory=%.0f", idle, memory / (double)idle);
}

static void finish(struct load *l)
{
    for (size_t i = 0; i < l->n; i++) {
        close(l->conns[i].fd);
        free(l->conns[i].rest);
        free(l->conns[i].sent);
    }
    close(l->epoll);
    free(l->conns);
    wire_free(&l->wire);
}

static void work(const struct plan *p)
{
    static struct load l;
    size_t idle = idle_count(p);
    l.plan = p;
    l.conns = calloc(p->connections + idle, sizeof(*l.conns));
    l.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!l.conns || l.epoll < 0)
        die("begin");
    wire_make(&l.wire, p);
    open_more(&l, p->connections, false);
    measure(&l);
    if (idle)
        measure_beside(&l, idle);
    putchar('\n');
    finish(&l);
}

static size_t number(const char *text, size_t least, size_t most)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    errno = 0;
    if (*end || end == text || n < least || n > most)
        die("a number is out of range or none");
    return n;
}

static void set(struct plan *p, int flag, const char *value)
{
    switch (flag) {
    case 'c':
        p->connections = number(value, 1, 60000);
        break;
    case 'f':
        p->in_flight = number(value, 1, 1024);
        break;
    case 'b':
        p->batch = number(value, 1, 1000);
        break;
    case 'i':
        p->idle = number(value, 0, 1000000);
        break;
    case 's':
        p->seconds = strtod(value, NULL);
        break;
    case 'p':
        p->pid = (pid_t)number(value, 1, INT_MAX);
        break;
    case 'u':
        p->path = value;
        break;
    case 'e':
        p->echo = true;
        break;
    default:
        exit(2);
    }
}

static const struct option flags[] = {
    {"connections", required_argument, NULL, 'c'},
    {"in-flight", required_argument, NULL, 'f'},
    {"batch", required_argument, NULL, 'b'},
    {"idle", required_argument, NULL, 'i'},
    {"seconds", required_argument, NULL, 's'},
    {"pid", required_argument, NULL, 'p'},
    {"path", required_argument, NULL, 'u'},
    {"echo", no_argument, NULL, 'e'},
    {0},
};

int main(int argc, char **argv)
{
    struct plan p = {.connections = 1, .in_flight = 1, .batch = 1, .seconds = 1};
    char host[32];
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;)
        set(&p, flag, optarg);
    const char *kind = argc - optind == 2 ? argv[optind] : "";
    if (strcmp(kind, "http") != 0 && strcmp(kind, "ws") != 0) {
        fprintf(stderr, "usage: %s http|ws PORT [FLAG...]\n", argv[0]);
        return 2;
    }
    p.ws = kind[0] == 'w';
    p.port = (uint16_t)number(argv[optind + 1], 1, 65535);
    snprintf(host, sizeof(host), "127.0.0.1:%d", p.port);
    p.host = host;
    work(&p);
    return 0;
}
