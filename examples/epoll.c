/* epoll: a server inside the program's own event loop, which also has a timer.
 *
 *   epoll [ADDRESS]... &          such as stdio, tcp:127.0.0.1:8765, unix:/tmp/epoll.socket
 *   curl -H 'Content-Type: application/json' \
 *       -d '{"jsonrpc":"2.0","method":"ticks","id":1}' 127.0.0.1:8765/rpc
 *
 * All of it runs on one thread, so the method reads the count of the timer without a lock. */
#define _POSIX_C_SOURCE 200809L
#include <fumi/fumi.h>

#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct count {
    int64_t ticks;
};

static const struct fumi_field count_field[] = {
    FUMI_VALUE(struct count, ticks, "How often the timer of the program has expired."),
};
static const struct fumi_shape count_shape = FUMI_SHAPE(struct count, count_field);

static enum fumi_ret ticks(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    *(struct count *)result = *(const struct count *)call->self;
    return FUMI_OK;
}

static const struct fumi_method methods[] = {
    {"ticks", "Returns the count of ticks.", NULL, &count_shape, ticks, FUMI_READ_ONLY},
};

static void listening(void *arg, struct fumi_str address)
{
    (void)arg;
    fprintf(stderr, "epoll: listening on %.*s\n", FUMI_ARG(address));
}

static int wait_for(int loop, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event);
}

/* The event loop of the program. Returns when the service has ended. */
static void run(int loop, int timer, struct count *count, struct fumi_service *service)
{
    struct epoll_event ready[8];
    for (;;) {
        int n = epoll_wait(loop, ready, FUMI_COUNT(ready), -1);
        for (int i = 0; i < n; i++) {
            uint64_t times;
            if (ready[i].data.fd == fumi_service_fd(service) && !fumi_service_step(service))
                return;
            if (ready[i].data.fd == timer && read(timer, &times, sizeof(times)) > 0)
                count->ticks += (int64_t)times;
        }
    }
}

/* Returns the result of fumi_service_close. */
static int serve(struct fumi_server *server, const struct fumi_serve_options *options,
                 struct count *count, struct fumi_err *e)
{
    const struct itimerspec often = {{0, 10 * 1000 * 1000}, {0, 10 * 1000 * 1000}};
    struct fumi_service *service = fumi_service_open(server, options, e);
    if (!service)
        return FUMI_SERVED_ERROR;
    int loop = epoll_create1(EPOLL_CLOEXEC);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    timerfd_settime(timer, 0, &often, NULL);
    if (wait_for(loop, timer) || wait_for(loop, fumi_service_fd(service)))
        perror("epoll");
    else
        run(loop, timer, count, service);
    close(timer);
    close(loop);
    return fumi_service_close(service, e);
}

int main(int argc, char **argv)
{
    struct fumi_err e = {0};
    struct count count = {0};
    struct fumi_str listen[16] = {FUMI_STR("tcp:127.0.0.1:8765")};
    size_t n = argc > 1 ? 0 : 1;
    for (; argv[n + 1] && n < FUMI_COUNT(listen); n++)
        listen[n] = fumi_str(argv[n + 1]);
    struct fumi_serve_options options = {.set.listen = {listen, n}, .listening = listening};
    struct fumi_server *server = fumi_server_new("epoll", "1.0");
    int rc = fumi_server_add(server, NULL, methods, FUMI_COUNT(methods), &count, &e)
                 ? FUMI_SERVED_ERROR
                 : serve(server, &options, &count, &e);
    if (rc < 0)
        fprintf(stderr, "epoll: %s\n", e.text);
    fumi_server_free(server);
    return rc < 0;
}
