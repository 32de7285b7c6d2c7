/* fumi_stop, and the return value of fumi_serve. */
#include "host_fixture.h"
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

TEST(a_stop_from_another_thread)
{
    struct host h;
    host_open(&h);
    host_start(&h);
    bool works = host_answers(&h, NULL, "work");
    fumi_stop(h.server);
    int result = host_join(&h);
    host_close(&h);
    CHECK(works);
    CHECK_INT(result, FUMI_SERVED_STOP);
}

TEST(a_stop_ends_all_threads_of_a_server)
{
    struct host h;
    host_open(&h);
    host_listen(&h, FUMI_STR("tcp:127.0.0.1:0"));
    h.options.set.threads = 3;
    host_start(&h);
    fumi_stop(h.server);
    int result = host_join(&h);
    host_close(&h);
    CHECK_INT(result, FUMI_SERVED_STOP);
}

TEST(a_stop_before_serving_opens_nothing_and_is_used_up)
{
    struct host h;
    host_open(&h);
    fumi_stop(h.server);
    fumi_stop(h.server);
    int first = host_serve(&h);
    struct pollfd reports = {h.reports[0], POLLIN, 0};
    bool silent = poll(&reports, 1, 0) == 0;
    host_start(&h);
    bool works = host_answers(&h, NULL, "twice");
    fumi_stop(h.server);
    int second = host_join(&h);
    host_close(&h);
    CHECK_INT(first, FUMI_SERVED_STOP);
    CHECK(silent);
    CHECK(works);
    CHECK_INT(second, FUMI_SERVED_STOP);
}

static struct host *interrupted;

static void on_signal(int number)
{
    (void)number;
    fumi_stop(interrupted->server);
}

/* Once on the serving thread, once on another. */
TEST(a_stop_in_a_signal_handler)
{
    struct sigaction before, stops = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &stops, &before);
    for (int i = 0; i < 2; i++) {
        struct host h;
        host_open(&h);
        interrupted = &h;
        host_start(&h);
        pthread_kill(i ? pthread_self() : h.thread, SIGUSR1);
        int result = host_join(&h);
        host_close(&h);
        CHECK_INT(result, FUMI_SERVED_STOP);
    }
    sigaction(SIGUSR1, &before, NULL);
}

/* Sends a call of `hold` and waits until it is running. */
static struct fumi_rpc_connection *held(struct host *h, int64_t *id)
{
    struct fumi_err e;
    struct fumi_rpc_connection *l = host_link(h, NULL);
    *id = fumi_rpc_connection_begin(l, "hold", (struct fumi_json){{0}}, &e);
    fumi_rpc_connection_send(l, false, &e);
    host_hear(h);
    return l;
}

static bool is_answered(struct fumi_rpc_connection *l, int64_t id)
{
    struct fumi_arena a = {0};
    struct fumi_answer answer = {0};
    struct fumi_err e;
    bool ok = fumi_rpc_connection_await(l, &a, id, 0, &answer, &e) == 0 && answer.ok;
    fumi_arena_done(&a);
    fumi_rpc_connection_close(l);
    return ok;
}

TEST(a_stop_lets_open_calls_finish_and_a_second_one_changes_nothing)
{
    struct host h;
    int64_t id;
    host_open(&h);
    h.options.set.drain = 60000;
    host_start(&h);
    struct fumi_rpc_connection *l = held(&h, &id);
    fumi_stop(h.server);
    bool ending = fumi_eq(host_hear(&h), FUMI_STR("ending"));
    fumi_stop(h.server);
    fumi_finish(h.held, FUMI_OK);
    bool answered = is_answered(l, id);
    int result = host_join(&h);
    bool cancelled = atomic_load(&h.cancelled);
    host_close(&h);
    CHECK(ending && answered);
    CHECK(!cancelled);
    CHECK_INT(result, FUMI_SERVED_STOP);
}

TEST(a_stop_cancels_open_calls_after_the_drain)
{
    struct host h;
    int64_t id;
    host_open(&h);
    h.options.set.drain = 1;
    host_start(&h);
    struct fumi_rpc_connection *l = held(&h, &id);
    fumi_stop(h.server);
    int result = host_join(&h);
    bool cancelled = atomic_load(&h.cancelled);
    fumi_rpc_connection_close(l);
    host_close(&h);
    CHECK(cancelled);
    CHECK_INT(result, FUMI_SERVED_STOP);
}

static enum fumi_ret stay(struct fumi_call *call, const void *params, void *result)
{
    struct host *h = call->self;
    (void)params, (void)result;
    dprintf(h->reports[1], "stays\n");
    for (;;)
        pause();
    return FUMI_OK;
}

static int serve_stuck(void)
{
    static const struct fumi_method stuck[] = {
        {"stay", "Never returns.", NULL, NULL, stay, FUMI_BLOCKING}};
    struct host h;
    struct fumi_err e;
    host_open(&h);
    h.options.set.drain = 1;
    fumi_server_add(h.server, NULL, stuck, 1, &h, &e);
    host_start(&h);
    struct fumi_rpc_connection *l = host_link(&h, NULL);
    fumi_rpc_connection_begin(l, "stay", (struct fumi_json){{0}}, &e);
    fumi_rpc_connection_send(l, false, &e);
    host_hear(&h);
    fumi_stop(h.server);
    int result = host_join(&h);
    rmdir(h.dir);
    return result;
}

/* In a child process, because memory of abandoned calls is never freed. */
TEST(a_stop_abandons_calls_that_do_not_end)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(serve_stuck());
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), FUMI_SERVED_ABANDONED);
}

TEST(each_server_is_stopped_by_itself)
{
    struct host a, b;
    host_open(&a);
    host_open(&b);
    host_start(&a);
    host_start(&b);
    fumi_stop(a.server);
    int first = host_join(&a);
    bool lives = host_answers(&b, NULL, "work");
    fumi_stop(b.server);
    int second = host_join(&b);
    host_close(&a);
    host_close(&b);
    CHECK(lives);
    CHECK_INT(first, FUMI_SERVED_STOP);
    CHECK_INT(second, FUMI_SERVED_STOP);
}

TEST(a_server_is_served_once_at_a_time)
{
    struct host h;
    struct fumi_err e;
    host_open(&h);
    host_start(&h);
    int second = fumi_serve(h.server, &h.options, &e);
    bool lives = host_answers(&h, NULL, "work");
    fumi_stop(h.server);
    int first = host_join(&h);
    host_close(&h);
    CHECK_INT(second, FUMI_SERVED_ERROR);
    CHECK_STR(fumi_str(e.text), "the server is being served already; add the address to its list");
    CHECK(lives);
    CHECK_INT(first, FUMI_SERVED_STOP);
}

TEST(a_server_that_cannot_begin_can_be_served_later)
{
    struct host h;
    host_open(&h);
    h.listen[0] = FUMI_STR("nowhere");
    int first = host_serve(&h);
    h.listen[0] = fumi_str(h.path);
    host_start(&h);
    fumi_stop(h.server);
    int second = host_join(&h);
    host_close(&h);
    CHECK_INT(first, FUMI_SERVED_ERROR);
    CHECK_INT(second, FUMI_SERVED_STOP);
}

/* In a child process, whose stdout is captured. */
static int serve_stdio(int in)
{
    struct fumi_err e;
    struct fumi_log log = {.level = FUMI_SILENT};
    struct fumi_stdio_options o = {.log = &log};
    struct fumi_server *s = fumi_server_new("host", "1.0");
    fumi_server_add(s, NULL, host_methods, 1, NULL, &e);
    dup2(in, STDIN_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    int rc = fumi_serve_stdio(s, &o, &e);
    fumi_server_free(s);
    return rc;
}

TEST(the_end_of_input_is_the_end)
{
    int in[2], status;
    CHECK(pipe(in) == 0);
    close(in[1]);
    pid_t pid = fork();
    if (pid == 0)
        _exit(serve_stdio(in[0]));
    close(in[0]);
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), FUMI_SERVED_END);
}

static void *term(void *arg)
{
    (void)arg;
    kill(getpid(), SIGTERM);
    return NULL;
}

static int serve_until_signal(void)
{
    struct host h;
    pthread_t thread;
    host_open(&h);
    host_start(&h);
    pthread_create(&thread, NULL, term, NULL);
    pthread_join(thread, NULL);
    int result = host_join(&h);
    host_close(&h);
    return result;
}

TEST(a_signal_is_a_signal)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(serve_until_signal());
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), FUMI_SERVED_SIGNAL);
}

static void *stop_now(void *server)
{
    fumi_stop(server);
    return NULL;
}

static void stop_here(void *host, struct fumi_str address)
{
    (void)address;
    fumi_stop(((struct host *)host)->server);
}

/* The stop comes before or during the start of the server, from another thread or from a hook, or
 * after a call. */
static bool cycle(struct host *h, int i)
{
    pthread_t thread;
    bool works = true;
    h->options.set.threads = 1 + i / 3 % 2;
    h->options.ending = NULL;
    h->options.listening = i % 3 == 1 ? stop_here : host_listening;
    if (i % 3 == 2) {
        host_start(h);
        works = host_answers(h, NULL, "work");
        fumi_stop(h->server);
        host_join(h);
    } else {
        pthread_create(&thread, NULL, i % 3 ? host_run : stop_now, i % 3 ? (void *)h : h->server);
        if (i % 3 == 0)
            host_serve(h);
        pthread_join(thread, NULL);
    }
    return works && h->result == FUMI_SERVED_STOP;
}

TEST(many_starts_and_stops_leave_nothing_behind)
{
    enum {
        CYCLES = 200,
        WARM = 6
    }; /* after a few runs, everything that is opened once per process is open */
    struct host h;
    int fds = 0, threads = 0, wrong = 0;
    host_open(&h);
    for (int i = 0; i < CYCLES + WARM; i++) {
        if (i == WARM) {
            fds = host_count("/proc/self/fd");
            threads = host_count("/proc/self/task");
        }
        wrong += !cycle(&h, i);
        fcntl(h.reports[0], F_SETFL, O_NONBLOCK);
        while (read(h.reports[0], h.address, sizeof(h.address)) > 0) {}
        fcntl(h.reports[0], F_SETFL, 0);
    }
    int fds_after = host_count("/proc/self/fd"), threads_after = host_count("/proc/self/task");
    host_close(&h);
    CHECK_INT(wrong, 0);
    CHECK_INT(fds_after, fds);
    CHECK_INT(threads_after, threads);
}
