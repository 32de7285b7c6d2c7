/* A load generator on one thread: connections that each keep a number of messages of the mixed
 * traffic in flight. The answers of one read set off the next messages, which leave in one write;
 * answers come in the order of the messages, and each is checked. With --idle it measures twice,
 * without the idle connections and beside them.
 *
 * Usage: load [FLAG...] http|ws PORT
 *        load [FLAG...] lines SERVER [ARGUMENT...]
 *        flags: --connections N, --in-flight N, --batch N, --idle N, --seconds S, --pid SERVER,
 * --echo
 *
 * One line for each measurement: calls a second, round trip of a message (microseconds), processor
 * time of the server a call (microseconds); how often the server asked for memory meanwhile, if
 * COUNT names the file where that is counted; then the idle connections and the bytes of private
 * memory that each made the server write to. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count.h"
#include "load.h"

enum {
    BUFFER = 1 << 18,
    EVENTS = 256,
    SPARE_FILES = 32,
    PER_ADDRESS = 5000, /* connections from one address of ours, well under the number of ports */
    OPENING = 256,      /* connections that are not welcomed yet, below any backlog */
    PATIENCE = 10000,   /* milliseconds */
};

struct question {
    uint64_t sent; /* when */
    struct packet *packet;
};

struct conn {
    int in, out; /* the same descriptor, but for pipes */
    bool ws, upgrading;
    size_t at;              /* the next message */
    size_t waiting;         /* messages without an answer */
    size_t next;            /* of asked: the oldest of them */
    struct question *asked; /* in_flight places */
    size_t held;            /* bytes of an unfinished answer */
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
    uint64_t calls;
    pid_t child;              /* LINES: the server */
    const atomic_long *count; /* NULL: nobody counts */
    struct times times;
    char in[BUFFER], out[BUFFER];
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
        ssize_t wrote = write(fd, p, n);
        struct pollfd writable = {.fd = fd, .events = POLLOUT};
        if (wrote < 0 && (errno != EAGAIN || poll(&writable, 1, PATIENCE) != 1))
            die("write to the server");
        p += wrote < 0 ? 0 : wrote;
        n -= wrote < 0 ? 0 : (size_t)wrote;
    }
}

/* Sends messages until n of them wait for an answer, in one write. */
static void ask(struct load *l, struct conn *c, size_t n, uint64_t at)
{
    size_t used = 0;
    l->waiting += n;
    while (n) {
        struct packet *p = &l->wire.packets[c->at];
        c->at = (c->at + 1) % l->wire.mixed.n;
        if (used + p->n > BUFFER) {
            write_all(c->out, l->out, used);
            used = 0;
        }
        memcpy(l->out + used, p->p, p->n);
        used += p->n;
        if (p->answered) {
            c->asked[(c->next + c->waiting++) % l->plan->in_flight] = (struct question){at, p};
            n--;
        } else {
            l->calls++;
        }
    }
    write_all(c->out, l->out, used);
}

static size_t pong(struct conn *c, const char *p, size_t n)
{
    size_t payload, size = wire_ping(p, n, &payload);
    char frame[6 + 127] = {(char)0x8a};
    if (!size)
        return 0;
    frame[1] = (char)(0x80 | payload);
    memcpy(frame + 6, p + 2, payload); /* the mask is four zeros */
    write_all(c->out, frame, 6 + payload);
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
    struct question *q = &c->asked[c->next];
    size = wire_answer(&l->wire, q->packet, p, n);
    if (!size)
        return 0;
    times_add(&l->times, at - q->sent);
    l->calls += q->packet->message->calls;
    c->next = (c->next + 1) % l->plan->in_flight;
    c->waiting--;
    l->waiting--;
    return size;
}

static void keep(struct conn *c, const char *p, size_t n)
{
    if (n && !c->rest && !(c->rest = malloc(BUFFER)))
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
    ssize_t got = read(c->in, l->in + c->held, BUFFER - c->held);
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

/* Every connection begins at another place of the messages. */
static void add_conn(struct load *l, struct conn as, bool idle)
{
    struct conn *c = &l->conns[l->n];
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    *c = as;
    c->at = l->n++ * 997 % l->wire.mixed.n;
    if (!idle && !(c->asked = calloc(l->plan->in_flight, sizeof(*c->asked))))
        die("out of memory");
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->in, &e))
        die("epoll_ctl");
    if (!c->ws)
        return;
    c->upgrading = true;
    l->opening++;
    write_all(c->out, l->wire.handshake, l->wire.handshake_size);
}

static void open_one(struct load *l, bool idle)
{
    int fd = dial(l->plan, l->n);
    add_conn(l, (struct conn){.in = fd, .out = fd, .ws = idle || l->plan->kind == WS}, idle);
}

static void start(struct load *l)
{
    char **argv = l->plan->command;
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC) || (l->child = fork()) < 0)
        die("start the server");
    if (l->child == 0) {
        if (dup2(to[0], STDIN_FILENO) >= 0 && dup2(from[1], STDOUT_FILENO) >= 0)
            execvp(argv[0], argv);
        perror(argv[0]);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    add_conn(l, (struct conn){.in = from[0], .out = to[1]}, false);
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
    l->calls = 0;
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
    pid_t pid = l->child ? l->child : p->pid;
    begin(l);
    uint64_t cpu = cpu_of(pid);
    long before = l->count ? *l->count : 0;
    double passed = run(l, p->seconds), calls = l->calls ? (double)l->calls : 1;
    long allocs = l->count ? *l->count - before : 0;
    printf("rate=%.0f p50=%.1f p99=%.1f cpu=%.3f calls=%.0f", calls * 1e9 / passed,
           times_part(&l->times, 0.5) / 1e3, times_part(&l->times, 0.99) / 1e3,
           (double)(cpu_of(pid) - cpu) / 1e3 / calls, calls);
    if (l->count)
        printf(" allocs=%ld", allocs);
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
        close(l->conns[i].out);
        if (l->conns[i].in != l->conns[i].out)
            close(l->conns[i].in);
        free(l->conns[i].rest);
        free(l->conns[i].asked);
    }
    int status = 0;
    if (l->child && (waitpid(l->child, &status, 0) < 0 || status))
        die("the server did not end well");
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
    l.count = count_map();
    if (p->command)
        start(&l);
    else
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
    {"echo", no_argument, NULL, 'e'},
    {0},
};

int main(int argc, char **argv)
{
    static const char *const kinds[] = {[LINES] = "lines", [HTTP] = "http", [WS] = "ws"};
    struct plan p = {.connections = 1, .in_flight = 1, .batch = 1, .seconds = 1};
    char host[32];
    for (int flag; (flag = getopt_long(argc, argv, "+", flags, NULL)) != -1;)
        set(&p, flag, optarg);
    while (p.kind <= WS && argc - optind >= 2 && strcmp(argv[optind], kinds[p.kind]) != 0)
        p.kind++;
    if (argc - optind < 2 || p.kind > WS || (p.kind && argc - optind > 2)) {
        fprintf(stderr, "usage: %s [FLAG...] http|ws PORT | lines SERVER...\n", argv[0]);
        return 2;
    }
    if (p.kind == LINES)
        p.command = argv + optind + 1;
    else
        p.port = (uint16_t)number(argv[optind + 1], 1, 65535);
    snprintf(host, sizeof(host), "127.0.0.1:%d", p.port);
    p.host = host;
    signal(SIGPIPE, SIG_IGN);
    work(&p);
    return 0;
}
