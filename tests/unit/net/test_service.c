/* Services inside an event loop of the test. Clients run in another thread. */
#include "host_fixture.h"
#include "test.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>

enum { SERVICES = 2 };

/* The event loop of a host program: services, a timer, and a thread that uses the services. */
struct outer {
    int epoll, timer, done;
    struct host h[SERVICES];
    struct fumi_service *service[SERVICES]; /* NULL: it has ended */
    size_t n;
    int ticks;
    void (*on_tick)(struct outer *o);
    void *(*client)(void *outer);
    bool ok; /* set by the client */
};

static void wait_for(struct outer *o, int fd, uint32_t id)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = id};
    if (epoll_ctl(o->epoll, EPOLL_CTL_ADD, fd, &event))
        abort();
}

static void outer_open(struct outer *o, size_t n)
{
    struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    *o = (struct outer){.n = n, .epoll = epoll_create1(EPOLL_CLOEXEC)};
    o->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    o->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    timerfd_settime(o->timer, 0, &often, NULL);
    for (size_t i = 0; i < n; i++)
        host_open(&o->h[i]);
}

/* Opens the services. Returns false after printing an error. */
static bool outer_serve(struct outer *o)
{
    for (size_t i = 0; i < o->n; i++) {
        struct host *h = &o->h[i];
        o->service[i] = fumi_service_open(h->server, &h->options, &h->err);
        if (!o->service[i])
            fprintf(stderr, "%s\n", h->err.text);
        if (!o->service[i])
            return false;
        wait_for(o, fumi_service_fd(o->service[i]), (uint32_t)i);
    }
    return true;
}

static void *run_client(void *outer)
{
    struct outer *o = outer;
    const uint64_t one = 1;
    o->client(o);
    if (write(o->done, &one, sizeof(one)) != sizeof(one))
        abort();
    return NULL;
}

static void on_step(struct outer *o, size_t i)
{
    if (fumi_service_step(o->service[i]))
        return;
    epoll_ctl(o->epoll, EPOLL_CTL_DEL, fumi_service_fd(o->service[i]), NULL);
    o->h[i].result = fumi_service_close(o->service[i], &o->h[i].err);
    o->service[i] = NULL;
}

/* Runs the loop until the client has ended and, if `all`, the services too. */
static void outer_run(struct outer *o, bool all)
{
    bool done = false;
    uint64_t times;
    struct epoll_event event;
    while (!done || (all && (o->service[0] || o->service[1]))) {
        if (epoll_wait(o->epoll, &event, 1, -1) < 1)
            continue;
        if (event.data.u32 < SERVICES) {
            on_step(o, event.data.u32);
        } else if (event.data.u32 == SERVICES && read(o->timer, &times, sizeof(times)) > 0) {
            o->ticks++;
            if (o->on_tick)
                o->on_tick(o);
        } else if (event.data.u32 > SERVICES) {
            done = true;
            epoll_ctl(o->epoll, EPOLL_CTL_DEL, o->done, NULL);
        }
    }
}

static void outer_turn(struct outer *o, void *(*client)(void *outer), bool all)
{
    pthread_t thread;
    o->client = client;
    wait_for(o, o->timer, SERVICES);
    wait_for(o, o->done, SERVICES + 1);
    pthread_create(&thread, NULL, run_client, o);
    outer_run(o, all);
    pthread_join(thread, NULL);
}

static void outer_close(struct outer *o)
{
    for (size_t i = 0; i < o->n; i++) {
        if (o->service[i])
            o->h[i].result = fumi_service_close(o->service[i], NULL);
        host_close(&o->h[i]);
    }
    close(o->epoll);
    close(o->timer);
    close(o->done);
}

static void *use_all(void *outer)
{
    struct outer *o = outer;
    struct host *h = &o->h[0];
    static const char *const schemes[] = {"", "http+", "ws+"};
    char url[300];
    bool ok = true;
    for (size_t i = 0; i < FUMI_COUNT(schemes); i++) {
        snprintf(url, sizeof(url), "%s%s", schemes[i], h->path);
        ok &= host_answers(h, url, "twice") && host_answers(h, url, "work");
    }
    host_hear(h);
    host_hear(h);
    for (int i = 0; i < 2; i++) {
        snprintf(url, sizeof(url), "%s://%s", i ? "ws" : "http", h->address + 4);
        ok &= host_answers(h, url, "twice") && host_answers(h, url, "work");
    }
    o->ok = ok;
    fumi_stop(h->server);
    return NULL;
}

TEST(every_transport_inside_another_loop)
{
    struct outer o;
    outer_open(&o, 1);
    host_listen(&o.h[0], FUMI_STR("tcp:127.0.0.1:0"));
    o.h[0].options.no_signals = true;
    bool opened = outer_serve(&o);
    if (opened)
        outer_turn(&o, use_all, true);
    int result = o.h[0].result;
    outer_close(&o);
    CHECK(opened && o.ok);
    CHECK_INT(result, FUMI_SERVED_STOP);
}

static void *use_both(void *outer)
{
    struct outer *o = outer;
    bool ok = true;
    for (int i = 0; i < 20; i++)
        ok &= host_answers(&o->h[i % 2], NULL, i % 3 ? "twice" : "work");
    fumi_stop(o->h[0].server);
    o->ok = ok && host_answers(&o->h[1], NULL, "twice");
    fumi_stop(o->h[1].server);
    return NULL;
}

TEST(two_services_in_one_loop)
{
    struct outer o;
    outer_open(&o, 2);
    bool opened = outer_serve(&o);
    if (opened)
        outer_turn(&o, use_both, true);
    int result[] = {o.h[0].result, o.h[1].result};
    outer_close(&o);
    CHECK(opened && o.ok);
    CHECK_INT(result[0], FUMI_SERVED_STOP);
    CHECK_INT(result[1], FUMI_SERVED_STOP);
}

static int stdio_pair[2];

static void *use_stdio(void *outer)
{
    static const char call[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"work\",\"params\":[21],\"id\":1}\n";
    static const char want[] = "{\"jsonrpc\":\"2.0\",\"result\":{\"value\":42},\"id\":1}\n";
    struct outer *o = outer;
    char got[sizeof(want)] = "";
    o->ok = write(stdio_pair[0], call, sizeof(call) - 1) > 0 &&
            recv(stdio_pair[0], got, sizeof(want) - 1, MSG_WAITALL) == sizeof(want) - 1 &&
            !strcmp(got, want);
    shutdown(stdio_pair[0], SHUT_WR);
    return NULL;
}

TEST(stdio_inside_another_loop_ends_with_its_input)
{
    struct outer o;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, stdio_pair) == 0);
    outer_open(&o, 1);
    o.h[0].listen[0] = FUMI_STR("stdio");
    o.h[0].options.in = o.h[0].options.out = stdio_pair[1];
    bool opened = outer_serve(&o);
    if (opened)
        outer_turn(&o, use_stdio, true);
    int result = o.h[0].result;
    outer_close(&o);
    close(stdio_pair[0]);
    close(stdio_pair[1]);
    CHECK(opened && o.ok);
    CHECK_INT(result, FUMI_SERVED_END);
}

/* Only the idle timeout of connections wakes the loop. */
static void *idle(void *outer)
{
    struct outer *o = outer;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    char got[1024];
    ssize_t n;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", o->h[0].path + strlen("unix:"));
    o->ok = connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
            write(fd, request, sizeof(request) - 1) > 0 && read(fd, got, sizeof(got)) > 0;
    while ((n = read(fd, got, sizeof(got))) > 0) {}
    o->ok &= n == 0;
    close(fd);
    return NULL;
}

TEST(timers_of_the_service_make_its_descriptor_readable)
{
    struct outer o;
    outer_open(&o, 1);
    o.h[0].options.set.idle_time = 20;
    close(o.timer);
    o.timer = eventfd(0, EFD_CLOEXEC); /* never readable */
    bool opened = outer_serve(&o);
    if (opened)
        outer_turn(&o, idle, false);
    outer_close(&o);
    CHECK(opened && o.ok);
    CHECK_INT(o.h[0].result, FUMI_SERVED_STOP);
}

/* On the thread of the service, but outside of a step. */
static void finish_held(struct outer *o)
{
    struct fumi_call *held = o->h[0].held;
    o->h[0].held = NULL;
    if (held)
        fumi_finish(held, FUMI_OK);
}

static void *hold(void *outer)
{
    struct outer *o = outer;
    struct fumi_rpc_connection *l = host_link(&o->h[0], NULL);
    struct fumi_arena a = {0};
    struct fumi_answer answer = {0};
    struct fumi_err e;
    o->ok = true;
    for (int i = 0; i < 5; i++)
        o->ok &= fumi_rpc_connection_call(l, &a, "hold", (struct fumi_json){{0}}, 0, &answer, &e) ==
                     0 &&
                 answer.ok;
    fumi_arena_done(&a);
    fumi_rpc_connection_close(l);
    return NULL;
}

TEST(a_call_that_the_host_finishes_between_steps_is_answered)
{
    struct outer o;
    outer_open(&o, 1);
    o.on_tick = finish_held;
    bool opened = outer_serve(&o);
    if (opened)
        outer_turn(&o, hold, false);
    outer_close(&o);
    CHECK(opened && o.ok);
}

TEST(a_stop_before_the_service_is_opened_ends_it_in_its_first_steps)
{
    struct host h;
    host_open(&h);
    fumi_stop(h.server);
    struct fumi_service *s = fumi_service_open(h.server, &h.options, &h.err);
    CHECK(s);
    struct pollfd fd = {fumi_service_fd(s), POLLIN, 0};
    while (fumi_service_step(s))
        poll(&fd, 1, -1);
    CHECK(!fumi_service_step(s));
    int result = fumi_service_close(s, &h.err);
    host_close(&h);
    CHECK_INT(result, FUMI_SERVED_STOP);
}

TEST(a_service_has_one_thread)
{
    struct host h;
    host_open(&h);
    h.options.set.threads = 2;
    struct fumi_service *s = fumi_service_open(h.server, &h.options, &h.err);
    host_close(&h);
    CHECK(!s);
    CHECK_STR(fumi_str(h.err.text),
              "threads: a service inside another event loop must have 1 thread");
}

TEST(a_service_that_cannot_open_leaves_nothing)
{
    struct host h;
    host_open(&h);
    host_listen(&h, FUMI_STR("tcp:127.0.0.1:0"));
    host_listen(&h, FUMI_STR("nowhere"));
    int fds = 0;
    for (int i = 0; i < 3; i++) {
        CHECK(!fumi_service_open(h.server, &h.options, &h.err));
        fds = i ? fds : host_count("/proc/self/fd");
    }
    int after = host_count("/proc/self/fd");
    host_close(&h);
    CHECK_INT(after, fds);
}

/* Some are closed before their first step, some after several. */
TEST(many_services_leave_nothing_behind)
{
    enum { CYCLES = 200 };
    struct host h;
    int fds = 0, wrong = 0;
    host_open(&h);
    host_listen(&h, FUMI_STR("tcp:127.0.0.1:0"));
    h.options.listening = NULL;
    h.options.ending = NULL;
    for (int i = 0; i <= CYCLES; i++) {
        struct fumi_service *s = fumi_service_open(h.server, &h.options, &h.err);
        for (int step = 0; s && step < i % 4; step++)
            fumi_service_step(s);
        wrong += !s || fumi_service_close(s, NULL) != FUMI_SERVED_STOP;
        fds = i ? fds : host_count("/proc/self/fd");
    }
    int after = host_count("/proc/self/fd");
    host_close(&h);
    CHECK_INT(wrong, 0);
    CHECK_INT(after, fds);
}
