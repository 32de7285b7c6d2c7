/* A server in a child process and the library's client in this process. Hooks count in shared
 * memory. */
#include "fumi.h"
#include "net/listen.h"
#include "test.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct counts {
    atomic_int filtered, refused, answered, admitted, entered, left, run;
    atomic_int ended; /* requests whose filter hook `after` was called */
};

struct child {
    pid_t pid;
    int reports; /* addresses, one per line, as they are opened */
    struct counts *counts;
    char address[256]; /* the last one */
};

struct number {
    int64_t value;
};
static const struct fumi_field number_fields[] = {
    FUMI_FIELD(struct number, value, "value", "A number.", .flags = FUMI_REQUIRED),
};
static const struct fumi_shape number = FUMI_SHAPE(struct number, number_fields);

static enum fumi_ret twice(struct fumi_call *call, const void *params, void *result)
{
    struct counts *counts = call->self;
    atomic_fetch_add(&counts->run, 1);
    ((struct number *)result)->value = 2 * ((const struct number *)params)->value;
    return FUMI_OK;
}

static bool closed_stdin;      /* the initial state of the child */
static struct fumi_call *held; /* used in the child, which has one thread */

/* Returns when it is cancelled, which it records in shared memory. */
static enum fumi_ret wait_long(struct fumi_call *call, const void *params, void *result)
{
    struct counts *counts = call->self;
    (void)params, (void)result;
    atomic_fetch_add(&counts->run, 1);
    while (!fumi_cancelled(call))
        poll(NULL, 0, 5);
    atomic_fetch_add(&counts->left, 1000);
    return FUMI_OK;
}

/* Sends more notifications than may be unsent. */
static enum fumi_ret flood(struct fumi_call *call, const void *params, void *result)
{
    struct fumi_json text = {fumi_fmt(call->arena, "\"%0*d\"", 1 << 20, 7)};
    (void)params, (void)result;
    static const struct fumi_field rows[] = {
        {.name = "text", .name_n = 4, .offset = 0, .type = FUMI_T_JSON, .help = "Much."}};
    static const struct fumi_shape shape = {rows,      1,         sizeof(struct fumi_json),
                                            FUMI_NONE, FUMI_NONE, false};
    for (int i = 0; i < 20; i++)
        fumi_notify(call, "much", &shape, &text);
    return FUMI_OK;
}

static enum fumi_ret hint(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    fumi_notify(call, "hint", NULL, NULL);
    return FUMI_OK;
}

static enum fumi_ret hold(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    held = call;
    return FUMI_PENDING;
}

static enum fumi_ret release(struct fumi_call *call, const void *params, void *result)
{
    (void)call, (void)params, (void)result;
    fumi_finish(held, FUMI_OK);
    return FUMI_OK;
}

static const struct fumi_method methods[] = {
    {"flood", "Tells much.", NULL, NULL, flood, 0},
    {"hint", "Tells a little.", NULL, NULL, hint, 0},
    {"hold", "Waits for release.", NULL, NULL, hold, FUMI_ASYNC},
    {"release", "Ends hold.", NULL, NULL, release, 0},
    {"twice", "Doubles.", &number, &number, twice, FUMI_READ_ONLY},
    {"wait", "Waits to be cancelled.", NULL, NULL, wait_long, FUMI_BLOCKING | FUMI_READ_ONLY},
};

static int filter(void *self, const struct fumi_http_request *r, struct fumi_refusal *out)
{
    struct counts *counts = self;
    atomic_fetch_add(&counts->filtered, 1);
    if (!fumi_http_field(r, "x-refuse").p && !fumi_starts(r->query, FUMI_STR("refuse")))
        return 0;
    atomic_fetch_add(&counts->refused, 1);
    *out = (struct fumi_refusal){.status = 418, .reason = "no", .field = {"X-Why", "asked"}};
    if (fumi_eq(r->query, FUMI_STR("refuse-without-reason")))
        out->reason = NULL;
    return -1;
}

static void filter_after(void *self, const struct fumi_http_request *r, int status, size_t bytes)
{
    struct counts *counts = self;
    (void)r, (void)bytes;
    atomic_fetch_add(&counts->answered, status);
    atomic_fetch_add(&counts->ended, 1);
}

static enum fumi_ret admit(void *self, const struct fumi_arrival *a, struct fumi_err *e)
{
    (void)a, (void)e;
    atomic_fetch_add(&((struct counts *)self)->admitted, 1);
    return FUMI_OK;
}

static enum fumi_ret enter(void *self, struct fumi_call *call)
{
    (void)call;
    atomic_fetch_add(&((struct counts *)self)->entered, 1);
    return FUMI_OK;
}

static void leave(void *self, struct fumi_call *call)
{
    (void)call;
    atomic_fetch_add(&((struct counts *)self)->left, 1);
}

static void say(void *arg, struct fumi_str address)
{
    dprintf(*(int *)arg, "%.*s\n", FUMI_ARG(address));
}

/* In the child. Exit status: 0; 9 if fumi_serve returned 1; 1 after an error was written. */
static int serve(struct fumi_settings set, struct counts *counts, int reports)
{
    struct fumi_err e;
    struct fumi_server *s = fumi_server_new("test", "7.0");
    struct fumi_filter f = {"count", filter, filter_after, counts};
    struct fumi_processor p = {"count", admit, enter, leave, counts};
    struct fumi_log log = {.level = FUMI_SILENT};
    struct fumi_serve_options o = {.set = set, .filters = &f, .log = &log};
    o.filters_n = 1;
    o.listening = say;
    o.arg = &reports;
    fumi_server_add(s, NULL, methods, FUMI_COUNT(methods), counts, &e);
    fumi_server_use(s, &p, &e);
    int rc = fumi_serve(s, &o, &e);
    if (rc < 0)
        dprintf(reports, "error: %s\n", e.text);
    if (rc != FUMI_SERVED_ABANDONED)
        fumi_server_free(s);
    return rc == FUMI_SERVED_ABANDONED ? 9 : rc < 0;
}

static bool read_address(struct child *c)
{
    size_t n = 0;
    while (n + 1 < sizeof(c->address) && read(c->reports, c->address + n, 1) == 1) {
        if (c->address[n] == '\n') {
            c->address[n] = '\0';
            return true;
        }
        n++;
    }
    c->address[n] = '\0';
    return false;
}

/* Waits until this many addresses are open. */
static struct child start(struct fumi_settings set, size_t addresses)
{
    struct child c = {0};
    int pipes[2];
    c.counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pipe(pipes) || (c.pid = fork()) < 0)
        abort();
    if (c.pid == 0) {
        close(pipes[0]);
        alarm(60);
        if (closed_stdin)
            close(STDIN_FILENO);
        exit(serve(set, c.counts, pipes[1]));
    }
    close(pipes[1]);
    c.reports = pipes[0];
    while (addresses-- && read_address(&c)) {}
    return c;
}

static int finish(struct child *c, int signal)
{
    int status;
    if (signal)
        kill(c->pid, signal);
    waitpid(c->pid, &status, 0);
    close(c->reports);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void forget(struct child *c)
{
    munmap(c->counts, 4096);
}

static struct fumi_rpc_connection *reach(const char *scheme, const struct child *c,
                                         const struct fumi_rpc_connection_options *o)
{
    char url[512];
    struct fumi_err e;
    const char *rest = strchr(c->address, ':');
    bool tcp = !strncmp(c->address, "tcp:", 4);
    snprintf(url, sizeof(url), "%s%s%s", scheme, tcp ? "//" : "", rest + 1);
    struct fumi_rpc_connection *l = fumi_rpc_connection_open(url, o, &e);
    if (!l)
        fprintf(stderr, "%s: %s\n", url, e.text);
    return l;
}

/* The result of doubling 21 over this connection, or the error text. */
static struct fumi_str double_of(struct fumi_rpc_connection *l, struct fumi_arena *a)
{
    struct fumi_answer answer;
    struct fumi_err e;
    struct fumi_json params = {FUMI_STR("[21]")};
    if (!l)
        return FUMI_STR("no link");
    if (fumi_rpc_connection_call(l, a, "twice", params, 0, &answer, &e))
        return fumi_fmt(a, "%s", e.text);
    return answer.ok ? answer.result.text : fumi_fmt(a, "%s", answer.err.text);
}

static const char right[] = "{\"value\":42}";

static void check_call(const char *scheme, const struct child *c,
                       const struct fumi_rpc_connection_options *o, const char *want)
{
    struct fumi_arena a = {0};
    struct fumi_rpc_connection *l = reach(scheme, c, o);
    struct fumi_str got = double_of(l, &a);
    if (!fumi_starts(got, fumi_str(want)))
        TEST_FAIL("%s %s: got %.*s, want %s", scheme, c->address, FUMI_ARG(got), want);
    if (l)
        fumi_rpc_connection_close(l);
    fumi_arena_done(&a);
}

static char *folder(void)
{
    static char path[64];
    snprintf(path, sizeof(path), "/tmp/fumi-serve-XXXXXX");
    return mkdtemp(path);
}

static void remove_folder(const char *path)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", path);
    if (system(command))
        TEST_FAIL("%s stays", path);
}

#define LISTEN(...)                                                                                \
    {                                                                                              \
        .items = (struct fumi_str[]){__VA_ARGS__},                                                 \
        .n = sizeof((struct fumi_str[]){__VA_ARGS__}) / sizeof(struct fumi_str)                    \
    }

TEST(every_transport_at_once)
{
    char path[128];
    char *dir = folder();
    snprintf(path, sizeof(path), "unix:%s/socket", dir);
    struct fumi_settings set = {.listen = LISTEN(fumi_str(path), FUMI_STR("tcp:127.0.0.1:0"))};
    struct child c = start(set, 1);
    struct stat s;
    CHECK(stat(path + 5, &s) == 0 && (s.st_mode & 0777) == 0600);
    check_call("unix:", &c, NULL, right);
    check_call("http+unix:", &c, NULL, right);
    check_call("ws+unix:", &c, NULL, right);
    CHECK(read_address(&c));
    check_call("http:", &c, NULL, right);
    check_call("ws:", &c, NULL, right);
    int run = atomic_load(&c.counts->run);
    CHECK_INT(finish(&c, SIGTERM), 0);
    CHECK_INT(run, 5);
    CHECK(access(path + 5, F_OK) != 0);
    forget(&c);
    remove_folder(dir);
}

TEST(several_threads_share_a_port)
{
    struct fumi_settings set = {.listen = LISTEN(FUMI_STR("tcp:127.0.0.1:0")), .threads = 3};
    struct child c = start(set, 1);
    for (int i = 0; i < 20; i++)
        check_call(i % 2 ? "ws:" : "http:", &c, NULL, right);
    CHECK_INT(atomic_load(&c.counts->run), 20);
    CHECK_INT(finish(&c, SIGINT), 0);
    forget(&c);
}

/* A filter is called once per request, a processor once per call of its batch. */
TEST(a_batch_is_one_request_and_many_calls)
{
    struct fumi_settings set = {.listen = LISTEN(FUMI_STR("tcp:127.0.0.1:0"))};
    struct child c = start(set, 1);
    struct fumi_arena a = {0};
    struct fumi_err e;
    struct fumi_answer answer;
    struct fumi_rpc_connection *l = reach("http:", &c, NULL);
    int64_t ids[5];
    CHECK(l);
    for (int i = 0; i < 5; i++)
        ids[i] = fumi_rpc_connection_begin(l, "twice", (struct fumi_json){FUMI_STR("[21]")}, &e);
    CHECK_INT(fumi_rpc_connection_send(l, true, &e), 0);
    for (int i = 4; i >= 0; i--) {
        CHECK_INT(fumi_rpc_connection_await(l, &a, ids[i], 0, &answer, &e), 0);
        CHECK_STR(answer.result.text, right);
    }
    fumi_rpc_connection_close(l);
    fumi_arena_done(&a);
    CHECK_INT(finish(&c, SIGTERM), 0);
    CHECK_INT(c.counts->filtered, 1);
    CHECK_INT(c.counts->answered, 200);
    CHECK_INT(c.counts->admitted, 1);
    CHECK_INT(c.counts->entered, 5);
    CHECK_INT(c.counts->left, 5);
    forget(&c);
}

static bool is_refused(const struct child *c, const char *query)
{
    char url[300];
    struct fumi_err e;
    struct fumi_arena a = {0};
    snprintf(url, sizeof(url), "http://%s/rpc?%s", c->address + 4, query);
    struct fumi_rpc_connection *l = fumi_rpc_connection_open(url, NULL, &e);
    if (!l)
        return false;
    struct fumi_str got = double_of(l, &a);
    bool refused = memmem(got.p, got.n, "418", 3);
    fumi_rpc_connection_close(l);
    fumi_arena_done(&a);
    return refused;
}

TEST(a_filter_refuses_in_http_terms)
{
    struct fumi_settings set = {.listen = LISTEN(FUMI_STR("tcp:127.0.0.1:0"))};
    struct child c = start(set, 1);
    CHECK(is_refused(&c, "refuse"));
    CHECK(is_refused(&c, "refuse-without-reason"));
    check_call("http:", &c, NULL, right);
    CHECK_INT(finish(&c, SIGTERM), 0);
    CHECK_INT(c.counts->run, 1);
    CHECK_INT(c.counts->refused, 2);
    CHECK_INT(c.counts->answered, 200);
    forget(&c);
}

TEST(the_token_is_asked_for_and_found_in_the_directory)
{
    char *dir = folder();
    char token[64] = "", name[128];
    struct fumi_settings set = {.listen = LISTEN(FUMI_STR("tcp:127.0.0.1:0")),
                                .auth = FUMI_AUTH_TOKEN,
                                .directory = fumi_str(dir)};
    struct child c = start(set, 1);
    snprintf(name, sizeof(name), "%s/token", dir);
    int fd = open(name, O_RDONLY);
    ssize_t n = read(fd, token, sizeof(token) - 1);
    close(fd);
    CHECK(n >= 43);
    token[43] = '\0';
    check_call("http:", &c, &(struct fumi_rpc_connection_options){.token = token}, right);
    check_call("ws:", &c, &(struct fumi_rpc_connection_options){.token = token}, right);
    CHECK_INT(c.counts->run, 2);
    struct fumi_arena a = {0};
    struct fumi_rpc_connection *l = reach("http:", &c, NULL);
    struct fumi_str got = double_of(l, &a);
    bool refused = memmem(got.p, got.n, "401", 3);
    fumi_rpc_connection_close(l);
    fumi_arena_done(&a);
    CHECK(refused);
    snprintf(name, sizeof(name), "%s/lock/%s.lock", dir, strrchr(c.address, ':') + 1);
    CHECK(access(name, F_OK) == 0);
    CHECK_INT(finish(&c, SIGTERM), 0);
    CHECK(access(name, F_OK) != 0);
    CHECK_INT(c.counts->run, 2);
    forget(&c);
    remove_folder(dir);
}

static void wait_for(atomic_int *what, int least)
{
    for (int i = 0; i < 4000 && atomic_load(what) < least; i++)
        poll(NULL, 0, 5);
}

/* The call is cancelled; the caller gets an error that the server ended. */
TEST(shutdown_cancels_calls_that_do_not_end)
{
    struct fumi_settings set = {.listen = LISTEN(FUMI_STR("tcp:127.0.0.1:0")), .drain = 200};
    struct child c = start(set, 1);
    struct fumi_arena a = {0};
    struct fumi_answer answer;
    struct fumi_err e = {0};
    struct fumi_rpc_connection *l = reach("http:", &c, NULL);
    CHECK(l);
    pid_t killer = fork();
    if (killer == 0) {
        wait_for(&c.counts->run, 1);
        kill(c.pid, SIGTERM);
        _exit(0);
    }
    int rc = fumi_rpc_connection_call(l, &a, "wait", (struct fumi_json){{0}}, 20000, &answer, &e);
    bool busy = strstr(e.text, "503");
    waitpid(killer, NULL, 0);
    fumi_rpc_connection_close(l);
    fumi_arena_done(&a);
    CHECK_INT(rc, -1);
    CHECK(busy);
    CHECK_INT(finish(&c, 0), 0);
    CHECK(c.counts->left >= 1000);
    forget(&c);
}

TEST(a_peer_that_is_gone_cancels_its_calls)
{
    struct fumi_settings set = {.listen = LISTEN(FUMI_STR("tcp:127.0.0.1:0"))};
    struct child c = start(set, 1);
    struct fumi_err e;
    struct fumi_rpc_connection *l = reach("ws:", &c, NULL);
    CHECK(l);
    CHECK(fumi_rpc_connection_begin(l, "wait", (struct fumi_json){{0}}, &e) > 0);
    CHECK_INT(fumi_rpc_connection_send(l, false, &e), 0);
    wait_for(&c.counts->run, 1);
    fumi_rpc_connection_close(l);
    wait_for(&c.counts->left, 1000);
    check_call("http:", &c, NULL, right);
    CHECK_INT(finish(&c, SIGTERM), 0);
    CHECK(c.counts->left >= 1000);
    forget(&c);
}

static void check_error(struct fumi_settings set, const char *part)
{
    struct child c = start(set, 0);
    bool more = true;
    while (more && strncmp(c.address, "error: ", 7))
        more = read_address(&c);
    int status = finish(&c, 0);
    if (status != 1 || !strstr(c.address, part))
        TEST_FAIL("status %d, \"%s\", want %s", status, c.address, part);
    forget(&c);
}

TEST(a_failed_start_is_explained)
{
    check_error((struct fumi_settings){0}, "no address");
    check_error((struct fumi_settings){.listen = LISTEN(FUMI_STR("udp:1"))}, "udp:1");
    check_error((struct fumi_settings){.listen = LISTEN(FUMI_STR("tcp:0.0.0.0:0"))}, "emote");
    check_error((struct fumi_settings){.listen = LISTEN(FUMI_STR("stdio"), FUMI_STR("stdio"))},
                "twice");
    struct fumi_settings set = {.listen = LISTEN(FUMI_STR("tcp:127.0.0.1:0"))};
    struct child c = start(set, 1);
    check_error((struct fumi_settings){.listen = LISTEN(fumi_str(c.address))}, "127.0.0.1");
    check_error((struct fumi_settings){.listen = LISTEN(fumi_str(c.address)), .threads = 4},
                "127.0.0.1");
    CHECK_INT(finish(&c, SIGTERM), 0);
    forget(&c);
}

/* Socket activation as by systemd: the socket is descriptor 3, and readiness is reported by a
 * datagram. */
static pid_t activate(int listening, const char *notify, struct counts *counts)
{
    pid_t pid = fork();
    char text[32];
    if (pid)
        return pid;
    alarm(60);
    dup2(listening, 3);
    snprintf(text, sizeof(text), "%d", (int)getpid());
    setenv("LISTEN_PID", text, 1);
    setenv("LISTEN_FDS", "1", 1);
    setenv("NOTIFY_SOCKET", notify, 1);
    exit(serve((struct fumi_settings){0}, counts, 2));
}

TEST(systemd_passes_the_socket_and_is_notified_when_ready)
{
    char *dir = folder(), got[64] = "";
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct child c = {0};
    struct listener l;
    struct address a;
    struct fumi_err e;
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/notify", dir);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
    CHECK_INT(address_parse(&a, FUMI_STR("tcp:127.0.0.1:0"), &e), 0);
    CHECK_INT(listener_open(&l, &a, false, &e), 0);
    c.counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    c.pid = activate(l.fd, at.sun_path, c.counts);
    CHECK(recv(fd, got, sizeof(got) - 1, 0) > 0);
    CHECK_STR(fumi_str(got), "READY=1");
    snprintf(c.address, sizeof(c.address), "tcp:127.0.0.1:%u", l.at.port);
    check_call("http:", &c, NULL, right);
    c.reports = open("/dev/null", O_RDONLY);
    CHECK_INT(finish(&c, SIGTERM), 0);
    close(fd);
    listener_close(&l);
    forget(&c);
    remove_folder(dir);
}

static int raw(const struct child *c)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = 20};
    snprintf(at.sun_path, sizeof(at.sun_path), "%.100s", c->address + 5);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)))
        TEST_FAIL("%s cannot be reached", at.sun_path);
    return fd;
}

static int raw_tcp(const struct child *c)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons((uint16_t)strtoul(strrchr(c->address, ':') + 1, NULL, 10));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)))
        TEST_FAIL("%s cannot be reached", c->address);
    return fd;
}

static struct child start_unix(const char *dir)
{
    char path[128];
    snprintf(path, sizeof(path), "unix:%s/socket", dir);
    struct fumi_settings set = {.listen = LISTEN(fumi_str(path)), .queue = 8};
    return start(set, 1);
}

/* The overflow is reported to the loop after the connection was closed. */
TEST(a_peer_that_leaves_in_a_flood)
{
    static const char call[] = "{\"jsonrpc\":\"2.0\",\"method\":\"flood\",\"id\":1}\n";
    char *dir = folder();
    struct child c = start_unix(dir);
    for (int i = 0; i < 5; i++) {
        int fd = raw(&c);
        CHECK(write(fd, call, sizeof(call) - 1) > 0);
        close(fd);
    }
    check_call("unix:", &c, NULL, right);
    CHECK_INT(finish(&c, SIGTERM), 0);
    forget(&c);
    remove_folder(dir);
}

/* The number of open calls returns to 0, so no call is refused. */
TEST(a_call_may_finish_another_of_its_connection)
{
    char *dir = folder();
    struct child c = start_unix(dir);
    struct fumi_arena a = {0};
    struct fumi_answer answer;
    struct fumi_err e;
    struct fumi_rpc_connection *l = reach("unix:", &c, NULL);
    CHECK(l);
    for (int i = 0; i < 20; i++) {
        int64_t waits = fumi_rpc_connection_begin(l, "hold", (struct fumi_json){{0}}, &e);
        CHECK_INT(fumi_rpc_connection_send(l, false, &e), 0);
        CHECK_INT(
            fumi_rpc_connection_call(l, &a, "release", (struct fumi_json){{0}}, 0, &answer, &e), 0);
        CHECK_INT(fumi_rpc_connection_await(l, &a, waits, 0, &answer, &e), 0);
    }
    fumi_rpc_connection_close(l);
    fumi_arena_done(&a);
    check_call("http+unix:", &c, NULL, right);
    CHECK_INT(finish(&c, SIGTERM), 0);
    forget(&c);
    remove_folder(dir);
}

/* Reads until the text has been seen `n` times. */
static bool receives(int fd, const char *text, int n)
{
    static char got[1 << 16];
    size_t have = 0;
    while (have + 1 < sizeof(got)) {
        ssize_t more = read(fd, got + have, sizeof(got) - 1 - have);
        if (more <= 0)
            return false;
        have += (size_t)more;
        got[have] = '\0';
        int seen = 0;
        for (char *p = got; (p = strstr(p, text)); p++)
            seen++;
        if (seen >= n)
            return true;
    }
    return false;
}

/* The hook of a filter is called for every request, even if its client has disconnected. */
TEST(filter_hooks_run_for_disconnected_clients)
{
    static const char half[] = "POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{";
    char *dir = folder();
    struct child c = start_unix(dir);
    int fd = raw(&c);
    CHECK(write(fd, half, sizeof(half) - 1) > 0);
    wait_for(&c.counts->filtered, 1);
    close(fd);
    check_call("http+unix:", &c, NULL, right);
    CHECK_INT(finish(&c, SIGTERM), 0);
    CHECK_INT(c.counts->filtered, 2);
    CHECK_INT(c.counts->ended, 2);
    forget(&c);
    remove_folder(dir);
}

static int refuse_none(void *self, const struct fumi_http_request *r, struct fumi_refusal *out)
{
    (void)self, (void)r, (void)out;
    return 0;
}

/* With "auth: filter" the program must have a filter. */
TEST(filters_that_decide_must_be_there)
{
    struct fumi_filter f = {"idle", NULL, NULL, NULL};
    struct fumi_settings set = {.listen = LISTEN(FUMI_STR("tcp:no-such-address")),
                                .auth = FUMI_AUTH_FILTER};
    struct fumi_serve_options o = {.set = set};
    struct fumi_server *s = fumi_server_new("test", "1.0");
    struct fumi_err e = {0};
    CHECK_INT(fumi_serve(s, &o, &e), -1);
    CHECK_STR(fumi_str(e.text), "auth: FUMI_AUTH_FILTER needs a filter with `before`");
    o.filters = &f, o.filters_n = 1;
    CHECK_INT(fumi_serve(s, &o, &e), -1);
    CHECK_STR(fumi_str(e.text), "auth: FUMI_AUTH_FILTER needs a filter with `before`");
    f.before = refuse_none;
    CHECK_INT(fumi_serve(s, &o, &e), -1);
    CHECK(strstr(e.text, "no-such-address"));
    fumi_server_free(s);
}

/* Every second client resets its connection. The calls end only by cancellation, including the
 * queued ones: there are twice as many calls as workers. */
TEST(clients_that_leave_cancel_their_posts)
{
    static const char post[] = "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40\r\n\r\n"
                               "{\"jsonrpc\":\"2.0\",\"method\":\"wait\",\"id\":1}";
    enum { MANY = 16 };
    struct fumi_settings set = {.listen = LISTEN(FUMI_STR("tcp:127.0.0.1:0")), .workers = MANY / 2};
    set.hosts = (struct fumi_strs)LISTEN(FUMI_STR("localhost"));
    set.auth = FUMI_AUTH_NONE;
    struct child c = start(set, 1);
    int fds[MANY];
    for (int i = 0; i < MANY; i++) {
        fds[i] = raw_tcp(&c);
        CHECK(write(fds[i], post, sizeof(post) - 1) > 0);
    }
    wait_for(&c.counts->filtered, MANY); /* data that is overtaken by a reset is never read */
    wait_for(&c.counts->run, MANY / 2);
    for (int i = 0; i < MANY; i++) {
        struct linger none = {.l_onoff = i % 2};
        setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &none, sizeof(none));
        close(fds[i]);
    }
    wait_for(&c.counts->left, MANY / 2 * 1000);
    wait_for(&c.counts->ended, MANY);
    int left = atomic_load(&c.counts->left), ended = atomic_load(&c.counts->ended);
    check_call("http:", &c, NULL, right);
    CHECK_INT(finish(&c, SIGTERM), 0);
    CHECK(left >= MANY / 2 * 1000);
    CHECK_INT(ended, MANY);
    forget(&c);
}

/* Whether a response may be an event stream depends on each request, not on the connection. */
TEST(each_request_says_whether_it_wants_events)
{
    static const char plain[] = "POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n"
                                "{\"jsonrpc\":\"2.0\",\"method\":\"hint\",\"id\":1}";
    static const char events[] = "POST /rpc HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"
                                 "Transfer-Encoding: chunked\r\n\r\n28\r\n"
                                 "{\"jsonrpc\":\"2.0\",\"method\":\"hint\",\"id\":1}\r\n0\r\n\r\n";
    char path[128], *dir = folder();
    snprintf(path, sizeof(path), "unix:%s/socket", dir);
    struct fumi_settings set = {.listen = LISTEN(fumi_str(path)), .access_log = true};
    struct child c = start(set, 1);
    int fd = raw(&c);
    CHECK(write(fd, plain, sizeof(plain) - 1) > 0);
    CHECK(receives(fd, "Content-Type: application/json", 1));
    CHECK(write(fd, events, sizeof(events) - 1) > 0);
    CHECK(receives(fd, "\r\n0\r\n\r\n", 1));
    CHECK(write(fd, plain, sizeof(plain) - 1) > 0);
    CHECK(receives(fd, "Content-Type: application/json", 1));
    close(fd);
    CHECK_INT(finish(&c, SIGTERM), 0);
    forget(&c);
    remove_folder(dir);
}

/* No descriptor of the loop takes the number of a standard one. */
TEST(a_closed_stdin_does_no_harm)
{
    struct fumi_settings set = {.listen = LISTEN(FUMI_STR("tcp:127.0.0.1:0"))};
    closed_stdin = true;
    struct child c = start(set, 1);
    closed_stdin = false;
    check_call("http:", &c, NULL, right);
    CHECK_INT(finish(&c, SIGTERM), 0);
    forget(&c);
}

/* 64 MiB of bodies, and one more. */
TEST(bodies_on_their_way_are_bounded_in_all)
{
    static const char head[] = "POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n";
    enum { MANY = 66 };
    int fds[MANY];
    char *dir = folder();
    struct child c = start_unix(dir);
    for (int i = 0; i < MANY; i++) {
        fds[i] = raw(&c);
        CHECK(write(fds[i], head, sizeof(head) - 1) > 0);
        wait_for(&c.counts->filtered, i + 1);
    }
    CHECK(receives(fds[MANY - 1], "HTTP/1.1 503", 1));
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
    check_call("http+unix:", &c, NULL, right);
    CHECK_INT(finish(&c, SIGTERM), 0);
    forget(&c);
    remove_folder(dir);
}
