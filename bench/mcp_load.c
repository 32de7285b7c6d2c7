/* Calls a tool of MCP servers over stdio and measures the round trips.
 *
 *   mcp_load [--clients N] [--warm N] [--calls N] [--gap MS] [--seconds S] [--limit S] [--complete]
 *            FILE COMMAND...
 *
 * Starts a server (COMMAND) for each client, with a thread of its own. Each line of FILE holds the
 * params of a tools/call request; client k of N sends the lines k, k + N, ... in turn, one call at
 * a time, starting again at the end of the file. The clients start to call together.
 *
 *   --warm      calls that are made first and not measured
 *   --calls     each client stops after so many calls ...
 *   --seconds   ... but not before so many seconds
 *   --limit     stops all clients after so many seconds
 *   --gap       time from the start of a call to the start of the next
 *   --complete  stops after the first answer without "pending"
 *
 * All clients stop at the end of the standard input. Output, a line each:
 *   start US KB        from the start of a server to its first answer; its memory (VmRSS) at the
 * end call AT US STATE   when it began and how long it took; STATE: ok, pending (an answer of a
 * search by words alone), error. Warm calls are "warm US STATE". */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 64, ANSWER_MS = 150000, END_MS = 15000, KILL_MS = 2000 };

struct options {
    int64_t clients, warm, calls, gap, seconds, limit;
    bool complete;
};

struct client {
    pthread_t thread;
    pid_t pid;
    int in, out; /* of the server */
    size_t at;   /* next line */
    int64_t id, forked, started, kb;
    char *answer;
    size_t n, size;
};

static struct options set = {.clients = 1, .calls = 1, .limit = 600};
static char **line;
static size_t lines;
static struct client client[CLIENTS];
static atomic_bool stop;
static pthread_barrier_t together;
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

static const struct {
    const char *name;
    int64_t *value;
} numbers[] = {{"--clients", &set.clients}, {"--warm", &set.warm},       {"--calls", &set.calls},
               {"--gap", &set.gap},         {"--seconds", &set.seconds}, {"--limit", &set.limit}};

static _Noreturn void fail(const char *what, const char *text)
{
    fprintf(stderr, "mcp_load: %s: %s\n", what, text);
    exit(1);
}

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void wait_until(int64_t us)
{
    const struct timespec t = {us / 1000000, us % 1000000 * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static void read_lines(const char *path)
{
    FILE *f = fopen(path, "r");
    char *s = NULL;
    size_t size = 0, room = 0;
    if (!f)
        fail(path, strerror(errno));
    while (getline(&s, &size, f) > 0) {
        s[strcspn(s, "\n")] = 0;
        if (lines == room && !(line = realloc(line, (room = 2 * room + 64) * sizeof(*line))))
            abort();
        line[lines++] = strdup(s);
    }
    free(s);
    fclose(f);
    if (!lines)
        fail(path, "no lines");
}

/* The server is killed when this program ends, in whatever way. */
static void start(struct client *c, char **command)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        fail("pipe", strerror(errno));
    c->forked = now_us();
    c->pid = fork();
    if (c->pid < 0)
        fail("fork", strerror(errno));
    if (c->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], 0);
        dup2(out[1], 1);
        execvp(command[0], command);
        fail(command[0], strerror(errno));
    }
    close(in[0]);
    close(out[1]);
    c->in = in[1];
    c->out = out[0];
}

static bool send_text(struct client *c, const char *s, size_t n)
{
    for (ssize_t k; n > 0; s += k, n -= (size_t)k)
        if ((k = write(c->in, s, n)) < 0)
            return false;
    return true;
}

/* Reads a line. Returns false at the end of the output or after ANSWER_MS. */
static bool read_line(struct client *c)
{
    struct pollfd p = {c->out, POLLIN, 0};
    for (c->n = 0;;) {
        if (c->size - c->n < 65536 &&
            !(c->answer = realloc(c->answer, c->size = 2 * c->size + 131072)))
            abort();
        if (poll(&p, 1, ANSWER_MS) <= 0)
            return false;
        ssize_t k = read(c->out, c->answer + c->n, c->size - c->n - 1);
        if (k <= 0)
            return false;
        c->n += (size_t)k;
        c->answer[c->n] = 0;
        if (c->answer[c->n - 1] == '\n')
            return true;
    }
}

/* Sends a request and waits for its answer; notifications in between are skipped. Strings inside a
 * note cannot imitate these members, because their quotation marks are escaped. */
static const char *ask(struct client *c, const char *method, const char *params)
{
    char head[160], mine[32];
    int n = snprintf(head, sizeof(head),
                     "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"%s\",\"params\":",
                     (long long)++c->id, method);
    size_t k = strlen(params);
    char *all = malloc((size_t)n + k + 3);
    if (!all)
        abort();
    memcpy(all, head, (size_t)n);
    memcpy(all + n, params, k);
    memcpy(all + n + k, "}\n", 3);
    bool sent = send_text(c, all, (size_t)n + k + 2);
    free(all);
    snprintf(mine, sizeof(mine), "\"id\":%lld", (long long)c->id);
    do {
        if (!sent || !read_line(c))
            return NULL;
    } while (!strstr(c->answer, mine));
    if (strstr(c->answer, "\"error\":{") || strstr(c->answer, "\"isError\":true"))
        return "error";
    return strstr(c->answer, "\"pending\":") ? "pending" : "ok";
}

static bool initialize(struct client *c)
{
    static const char hello[] = "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                                "\"clientInfo\":{\"name\":\"mcp_load\",\"version\":\"1\"}}";
    static const char done[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    const char *state = ask(c, "initialize", hello);
    c->started = now_us() - c->forked;
    return state && !strcmp(state, "ok") && send_text(c, done, sizeof(done) - 1);
}

static int64_t memory_kb(pid_t pid)
{
    char path[64], text[200];
    long long kb = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(text, sizeof(text), f) && sscanf(text, "VmRSS: %lld", &kb) != 1)
        ;
    if (f)
        fclose(f);
    return kb;
}

/* One call. Returns false if the client cannot continue. */
static bool call(struct client *c, bool warm)
{
    int64_t began = now_us();
    const char *state = ask(c, "tools/call", line[c->at % lines]);
    int64_t us = now_us() - began;
    c->at += (size_t)set.clients;
    pthread_mutex_lock(&printing);
    if (warm)
        printf("warm %lld %s\n", (long long)us, state ? state : "error");
    else
        printf("call %lld %lld %s\n", (long long)began, (long long)us, state ? state : "error");
    if (!state || !strcmp(state, "error"))
        fprintf(stderr, "mcp_load: %.300s\n", state ? c->answer : "no answer");
    pthread_mutex_unlock(&printing);
    if (set.complete && state && !strcmp(state, "ok"))
        stop = true;
    return state;
}

static void *work(void *arg)
{
    struct client *c = arg;
    bool good = initialize(c);
    if (!good)
        fprintf(stderr, "mcp_load: the server does not start\n");
    for (int64_t i = 0; good && i < set.warm && !stop; i++)
        good = call(c, true);
    pthread_barrier_wait(&together);
    int64_t began = now_us(), next = began;
    for (int64_t i = 0; good && !stop; i++) {
        int64_t t = now_us();
        if (t - began >= set.limit * 1000000 ||
            (i >= set.calls && t - began >= set.seconds * 1000000))
            break;
        good = call(c, false);
        next += set.gap * 1000;
        if (next > now_us())
            wait_until(next);
        else
            next = now_us();
    }
    c->kb = memory_kb(c->pid);
    close(c->in);
    if (!good)
        stop = true;
    return good ? NULL : c;
}

static void *watch_input(void *arg)
{
    char unused[256];
    while (read(0, unused, sizeof(unused)) > 0)
        ;
    stop = true;
    return arg;
}

/* Waits for the server to end; if it does not, ends it. */
static void end(struct client *c)
{
    for (int64_t ms = 0; waitpid(c->pid, NULL, WNOHANG) == 0; ms += 5) {
        if (ms == END_MS)
            kill(c->pid, SIGTERM);
        if (ms == END_MS + KILL_MS)
            kill(c->pid, SIGKILL);
        usleep(5000);
    }
}

/* Returns the index of the first argument that is not an option. */
static int read_options(int argc, char **argv)
{
    int i = 1;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        size_t k = 0, n = sizeof(numbers) / sizeof(*numbers);
        while (k < n && strcmp(argv[i], numbers[k].name) != 0)
            k++;
        if (k < n && i + 1 < argc)
            *numbers[k].value = strtoll(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--complete"))
            set.complete = true;
        else
            fail(argv[i], "unknown option");
    }
    if (argc - i < 2 || set.clients < 1 || set.clients > CLIENTS)
        fail("usage", "mcp_load [OPTION...] FILE COMMAND...");
    return i;
}

int main(int argc, char **argv)
{
    int first = read_options(argc, argv), failed = 0;
    pthread_t watch;
    signal(SIGPIPE, SIG_IGN);
    read_lines(argv[first]);
    pthread_barrier_init(&together, NULL, (unsigned)set.clients);
    for (int64_t i = 0; i < set.clients; i++) {
        client[i].at = (size_t)i;
        start(&client[i], argv + first + 1);
    }
    if (pthread_create(&watch, NULL, watch_input, NULL))
        fail("thread", "cannot start");
    for (int64_t i = 0; i < set.clients; i++)
        if (pthread_create(&client[i].thread, NULL, work, &client[i]))
            fail("thread", "cannot start");
    for (int64_t i = 0; i < set.clients; i++) {
        void *bad;
        pthread_join(client[i].thread, &bad);
        failed |= bad != NULL;
    }
    for (int64_t i = 0; i < set.clients; i++) {
        end(&client[i]);
        printf("start %lld %lld\n", (long long)client[i].started, (long long)client[i].kb);
    }
    return failed;
}
