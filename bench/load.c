/* A load generator with one thread: each connection keeps a number of messages of the mixed traffic
 * in flight. The answers of one read trigger the next messages, which are sent in one write.
 * Answers must arrive in the order of the messages, and each is checked.
 *
 * Usage: load [FLAG...] http|ws PORT, or: load [FLAG...] lines SERVER [ARGUMENT...]
 *
 * Flags: --connections N, --in-flight N, --batch N, --seconds S, --pid SERVER, --echo
 *
 * Prints calls per second, the round-trip time of a message (microseconds) and the processor
 * time of the server per call (microseconds). If the environment variable COUNT names the file
 * of the allocation counter (count.h), it also prints the allocations of the server. */
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
#include <time.h>
#include <unistd.h>

#include "count.h"
#include "load.h"

enum {
    BUFFER = 1 << 18,
    EVENTS = 256,
    TIMEOUT = 10000, /* milliseconds */
};

/* Round-trip times; if there are more than TIMES, the last ones. */
enum { TIMES = 1 << 18 };
struct times {
    size_t n;
    uint32_t each[TIMES]; /* nanoseconds */
};

struct pending_message {
    uint64_t sent; /* time */
    struct packet *packet;
};

struct load_conn {
    int in, out; /* the same descriptor, except for pipes */
    bool upgrading;
    size_t at;                       /* index of the next message */
    size_t waiting;                  /* unanswered messages */
    size_t next;                     /* index in `pending` of the oldest unanswered message */
    struct pending_message *pending; /* in_flight entries */
    size_t held;                     /* bytes of an incomplete answer */
    char *rest;
};

struct load_run {
    const struct plan *plan;
    struct wire wire;
    int epoll;
    struct load_conn *conns;
    size_t n;
    size_t waiting; /* unanswered requests of all connections */
    bool sending;   /* answers trigger new requests */
    uint64_t calls;
    pid_t child;              /* LINES: the server process */
    const atomic_long *count; /* NULL: allocations are not counted */
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

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t))
        die("the processor time of the server");
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now(void)
{
    return nanoseconds(CLOCK_MONOTONIC);
}

static uint64_t cpu_of(pid_t pid)
{
    clockid_t clock;
    if (!pid)
        return 0;
    errno = clock_getcpuclockid(pid, &clock);
    if (errno)
        die("the processor time of the server");
    return nanoseconds(clock);
}

static int by_size(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void times_add(struct times *t, uint64_t ns)
{
    t->each[t->n++ % TIMES] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static double times_part(struct times *t, double part)
{
    size_t n = t->n < TIMES ? t->n : TIMES;
    qsort(t->each, n, sizeof(*t->each), by_size);
    return n ? t->each[(size_t)((double)n * part)] : 0;
}

static void write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t wrote = write(fd, p, n);
        struct pollfd writable = {.fd = fd, .events = POLLOUT};
        if (wrote < 0 && (errno != EAGAIN || poll(&writable, 1, TIMEOUT) != 1))
            die("write to the server");
        p += wrote < 0 ? 0 : wrote;
        n -= wrote < 0 ? 0 : (size_t)wrote;
    }
}

/* Sends, in one write, until n more messages expect an answer. */
static void send_messages(struct load_run *l, struct load_conn *c, size_t n, uint64_t at)
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
            c->pending[(c->next + c->waiting++) % l->plan->in_flight] = (struct pending_message){at,
                                                                                                 p};
            n--;
        } else {
            l->calls++;
        }
    }
    write_all(c->out, l->out, used);
}

/* Reads one answer or handshake. Returns its size, or 0 if it is incomplete. */
static size_t take(struct load_run *l, struct load_conn *c, const char *p, size_t n, uint64_t at)
{
    size_t size;
    if (c->upgrading) {
        size = wire_handshake(p, n);
        c->upgrading = size == 0;
        return size;
    }
    errno = 0;
    if (!c->waiting)
        die("the server sent an unexpected message");
    struct pending_message *q = &c->pending[c->next];
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

static void keep(struct load_conn *c, const char *p, size_t n)
{
    if (n && !c->rest && !(c->rest = malloc(BUFFER)))
        die("out of memory");
    if (n)
        memcpy(c->rest, p, n);
    c->held = n;
}

static void read_answers(struct load_run *l, struct load_conn *c)
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
    if (l->sending && before > c->waiting)
        send_messages(l, c, before - c->waiting, at);
}

static void step(struct load_run *l)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(l->epoll, events, EVENTS, TIMEOUT);
    if (n < 0)
        die("epoll_wait");
    errno = 0;
    if (n == 0)
        die("no answer for ten seconds");
    for (int i = 0; i < n; i++)
        read_answers(l, events[i].data.ptr);
}

static int dial(const struct plan *p)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(p->port)};
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
        die("connect to the server");
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    return fd;
}

/* Each connection begins at a different message. */
static void open_one(struct load_run *l, int in, int out)
{
    struct load_conn *c = &l->conns[l->n];
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    *c = (struct load_conn){.in = in, .out = out, .at = l->n++ * 997 % l->wire.mixed.n};
    c->pending = calloc(l->plan->in_flight, sizeof(*c->pending));
    if (!c->pending || epoll_ctl(l->epoll, EPOLL_CTL_ADD, in, &e))
        die("open a connection");
    if (l->plan->kind != WS)
        return;
    c->upgrading = true;
    write_all(out, l->wire.handshake, l->wire.handshake_size);
    while (c->upgrading)
        step(l);
}

static void start(struct load_run *l)
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
    open_one(l, from[0], to[1]);
}

/* Sends requests for the given time. Returns the actual duration in nanoseconds. */
static double run(struct load_run *l, double seconds)
{
    uint64_t began = now(), end = began + (uint64_t)(seconds * 1e9), at = began;
    l->calls = 0;
    memset(&l->times, 0, sizeof(l->times));
    for (; at < end; at = now())
        step(l);
    return (double)(at - began);
}

static void begin(struct load_run *l)
{
    l->sending = true;
    for (size_t i = 0; i < l->plan->connections; i++)
        send_messages(l, &l->conns[i], l->plan->in_flight, now());
    run(l, l->plan->seconds / 5);
}

static void drain(struct load_run *l)
{
    l->sending = false;
    while (l->waiting)
        step(l);
}

static void measure(struct load_run *l)
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
    drain(l);
}

static void finish(struct load_run *l)
{
    for (size_t i = 0; i < l->n; i++) {
        close(l->conns[i].out);
        if (l->conns[i].in != l->conns[i].out)
            close(l->conns[i].in);
        free(l->conns[i].rest);
        free(l->conns[i].pending);
    }
    int status = 0;
    if (l->child && (waitpid(l->child, &status, 0) < 0 || status))
        die("the server exited with an error");
    close(l->epoll);
    free(l->conns);
    wire_free(&l->wire);
}

static void work(const struct plan *p)
{
    static struct load_run l;
    l.plan = p;
    l.conns = calloc(p->connections, sizeof(*l.conns));
    l.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!l.conns || l.epoll < 0)
        die("set up");
    wire_make(&l.wire, p);
    l.count = count_map();
    if (p->command)
        start(&l);
    for (int fd; l.n < p->connections; open_one(&l, fd, fd))
        fd = dial(p);
    measure(&l);
    putchar('\n');
    finish(&l);
}

static size_t number(const char *text, size_t least, size_t most)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    errno = 0;
    if (*end || end == text || n < least || n > most)
        die("invalid number");
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
