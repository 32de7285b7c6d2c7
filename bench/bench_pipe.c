/* A server on two pipes beside the floor, a bare line echo: lines a second with 32 in flight, and
 * the round trip with one. The client gives every request an id of its own, finds that id in the
 * answer and takes the time between. Answers that came together set off the next requests, which
 * leave in one write; in a second measurement each leaves in a write of its own. Servers are
 * started anew for each measurement and take turns; what is printed is each one's best round.
 *
 * Usage: bench_pipe FLOOR SERVER [ARGUMENT...] */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

enum { ROUNDS = 9, WARM = 2000, WINDOW = 32, IDS = 100, LINES = 200000, BUFFER = 65536 };

enum mode { TOGETHER, APART, ALONE, MODES };
static const struct {
    const char *name;
    size_t window, lines;
    bool apart; /* each request in a write of its own */
} modes[MODES] = {
    [TOGETHER] = {"32 in flight", WINDOW, LINES, false},
    [APART] = {"32, own writes", WINDOW, LINES, true},
    [ALONE] = {"one in flight", 1, LINES / 10, false},
};

struct child {
    pid_t pid;
    int to, from;
    size_t asked, answered;
    double sent[IDS];   /* when, by id */
    double *trips;      /* nanoseconds each, by answer */
    size_t answer_size; /* of the first answer: all are alike but for the id */
    size_t held;        /* bytes of an unfinished answer in `in` */
    char in[BUFFER];
    char out[BUFFER];
};

struct result {
    double rate; /* lines a second */
    double trip; /* nanoseconds from request to answer, median */
    double cpu;  /* the child's nanoseconds a line */
};

static void die(const char *what)
{
    fprintf(stderr, "bench_pipe: %s: %s\n", what, errno ? strerror(errno) : "not as expected");
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void become(char **argv, int in, int out)
{
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
        execv(argv[0], argv);
    perror(argv[0]);
    _exit(127);
}

static void start(struct child *c, char **argv)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        die("pipe");
    c->pid = fork();
    if (c->pid < 0)
        die("fork");
    if (c->pid == 0)
        become(argv, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    c->to = in[1];
    c->from = out[0];
    c->asked = c->answered = c->held = c->answer_size = 0;
}

/* The child's processor time, in nanoseconds. */
static double finish(struct child *c)
{
    struct rusage used;
    int status;
    close(c->to);
    if (wait4(c->pid, &status, 0, &used) < 0)
        die("wait4");
    close(c->from);
    errno = 0;
    if (status)
        die("exit status of the child");
    return ((double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec) * 1e9 +
           ((double)used.ru_utime.tv_usec + (double)used.ru_stime.tv_usec) * 1e3;
}

static void write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t wrote = write(fd, p, n);
        if (wrote < 0)
            die("write to the child");
        p += wrote;
        n -= (size_t)wrote;
    }
}

/* The two digits before the closing quote and brace are the id. */
static void put_id(char *line_end, size_t id)
{
    line_end[-4] = (char)('0' + id / 10);
    line_end[-3] = (char)('0' + id % 10);
}

static void ask(struct child *c, size_t lines, bool apart)
{
    size_t n = strlen(input_request), used = 0;
    for (size_t i = 0; i < lines; i++) {
        char *line = c->out + used;
        memcpy(line, input_request, n);
        put_id(line + n, c->asked % IDS);
        line[n] = '\n';
        c->sent[c->asked++ % IDS] = now();
        used += n + 1;
        if (apart || i + 1 == lines) {
            write_all(c->to, c->out, used);
            used = 0;
        }
    }
}

/* Answers come in order, the id is what they end with. */
static void take(struct child *c, const char *line, size_t n)
{
    char wanted[] = "\"id\":\"request-00\"}";
    size_t end = sizeof(wanted) - 1;
    put_id(wanted + end, c->answered % IDS);
    if (!c->answer_size)
        c->answer_size = n;
    errno = 0;
    if (n != c->answer_size || n < end || memcmp(line + n - end, wanted, end) != 0)
        die("answer");
    c->trips[c->answered] = now() - c->sent[c->answered % IDS];
    c->answered++;
}

/* Waits until something arrives and returns how many answers it completed. */
static size_t answers(struct child *c)
{
    errno = 0;
    ssize_t got = read(c->from, c->in + c->held, BUFFER - c->held);
    if (got <= 0)
        die("read from the child");
    const char *p = c->in, *end = c->in + c->held + got, *newline;
    size_t before = c->answered;
    for (; (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1)
        take(c, p, (size_t)(newline - p));
    c->held = (size_t)(end - p);
    memmove(c->in, p, c->held);
    return c->answered - before;
}

/* Keeps the mode's window of lines in flight until `total` more were answered. */
static void stream(struct child *c, enum mode mode, size_t total)
{
    size_t last = c->asked + total;
    ask(c, modes[mode].window, modes[mode].apart);
    while (c->answered < last) {
        size_t n = answers(c);
        ask(c, n < last - c->asked ? n : last - c->asked, modes[mode].apart);
    }
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void measure(char **argv, enum mode mode, struct result *best)
{
    static struct child c;
    static double trips[WARM + LINES];
    size_t lines = modes[mode].lines;
    c.trips = trips;
    start(&c, argv);
    stream(&c, mode, WARM);
    double began = now();
    stream(&c, mode, lines);
    double rate = (double)lines * 1e9 / (now() - began);
    double cpu = finish(&c) / (double)(WARM + lines);
    qsort(trips + WARM, lines, sizeof(*trips), by_size);
    double trip = trips[WARM + lines / 2];
    best->rate = rate > best->rate ? rate : best->rate;
    best->trip = trip < best->trip || !best->trip ? trip : best->trip;
    best->cpu = cpu < best->cpu || !best->cpu ? cpu : best->cpu;
}

static void put_row(enum mode mode, const struct result *floor, const struct result *server)
{
    printf("%-14s %12.0f %12.0f %8.2f", modes[mode].name, floor->rate, server->rate,
           server->rate / floor->rate);
    printf(" %9.2f us %9.2f us %8.2f", floor->trip / 1e3, server->trip / 1e3,
           server->trip / floor->trip);
    printf(" %9.2f us %9.2f us\n", floor->cpu / 1e3, server->cpu / 1e3);
}

static void put_target(bool met, const char *what, double is)
{
    printf("%-6s  %s: %.2f\n", met ? "met" : "MISSED", what, is);
}

static void put_all(const char *server, const struct result floor[MODES],
                    const struct result ours[MODES])
{
    const char *slash = strrchr(server, '/');
    const char *name = slash ? slash + 1 : server;
    double rate = ours[TOGETHER].rate / floor[TOGETHER].rate;
    double trip = ours[ALONE].trip / floor[ALONE].trip;
    printf("%-14s %34s %34s %25s\n", "over two pipes", "lines a second", "round trip, median",
           "its cpu a line");
    printf("%-14s %12s %12s %8s %12s %12s %8s %12s %12s\n", "", "floor", name, "x floor", "floor",
           name, "x floor", "floor", name);
    for (int i = 0; i < MODES; i++)
        put_row(i, &floor[i], &ours[i]);
    printf("\nRequests of 95 bytes; floor: a bare line echo. 32 in flight: requests that are due "
           "together leave in\none write; own writes: each in its own. Best of %d rounds.\n\n",
           ROUNDS);
    put_target(rate >= 0.75, "32 in flight, at least 0.75 x the floor's lines a second", rate);
    put_target(trip <= 1.25, "one in flight, at most 1.25 x the floor's round trip", trip);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s FLOOR SERVER [ARGUMENT...]\n", argv[0]);
        return 2;
    }
    char *floor_argv[] = {argv[1], NULL};
    struct result floor[MODES] = {0}, ours[MODES] = {0};
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < ROUNDS * MODES; i++) {
        measure(floor_argv, i % MODES, &floor[i % MODES]);
        measure(argv + 2, i % MODES, &ours[i % MODES]);
    }
    put_all(argv[2], floor, ours);
    return 0;
}
