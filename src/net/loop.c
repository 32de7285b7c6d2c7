/* Everything the loop waits for has a loop_handle: a libuv handle on the heap, closed when it is no
 * longer needed and freed by libuv's close callback, so that a running callback may close its own
 * handle. */
#include "net/loop.h"

#include "base/arena.h"
#include "net/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

static const int stop_signals[] = {SIGINT, SIGTERM};

struct loop_handle {
    union {
        uv_handle_t any;
        uv_poll_t poll;
        uv_idle_t idle;
        uv_timer_t timer;
        uv_signal_t signal;
    } uv;
    void *owner; /* the watch, timer or loop; NULL once closed */
};

struct loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_prepare_t prepare;
    void (*before_wait)(void *arg);
    void *before_wait_arg;
    pthread_mutex_t lock;     /* protects the next three members */
    struct fumi_tasks posted; /* not taken by the loop yet */
    bool woken;               /* a wake-up is pending */
    bool stopped;
    void (*on_signal)(void *arg, int signal);
    void *signal_arg;
    struct loop_handle *signals[FUMI_COUNT(stop_signals)];
    /* Embedded in another loop: an epoll of libuv's descriptor and of a timerfd, because libuv's
     * descriptor does not report timers. -1: not embedded. */
    int outer, clock;
    int64_t clock_at; /* loop_now() at which the timerfd expires; -1: not set */
    bool busy;        /* a callback ran in this iteration */
};

static int fault(struct fumi_err *e, const char *what, int number, int rc)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s %d: %s", what, number, uv_strerror(rc));
}

static void mark_busy(uv_loop_t *uv)
{
    FUMI_OWNER(uv, struct loop, uv)->busy = true;
}

static struct loop_handle *handle_new(void *owner)
{
    struct loop_handle *h = fumi_resize(NULL, sizeof(*h));
    *h = (struct loop_handle){.owner = owner};
    return h;
}

static void release(uv_handle_t *h)
{
    fumi_resize(h, 0);
}

static void close_handle(struct loop_handle *h)
{
    assert(h->owner); /* closed only once */
    h->owner = NULL;
    uv_close(&h->uv.any, release);
}

/* Posting holds the lock during the wake-up: a task that runs has seen the lock released, so it may
 * free the loop. */
static void wake(struct loop *l)
{
    if (!l->woken)
        uv_async_send(&l->wake);
    l->woken = true;
}

void loop_post(struct loop *l, struct fumi_task *task)
{
    pthread_mutex_lock(&l->lock);
    fumi_tasks_add(&l->posted, task);
    wake(l);
    pthread_mutex_unlock(&l->lock);
}

void loop_stop(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    l->stopped = true;
    wake(l);
    pthread_mutex_unlock(&l->lock);
}

/* A task may be freed by running. */
static bool run_posted(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    struct fumi_task *t = l->posted.first;
    l->posted = (struct fumi_tasks){0};
    pthread_mutex_unlock(&l->lock);
    bool any = t != NULL;
    while (t) {
        struct fumi_task *next = t->next;
        t->run(t);
        t = next;
    }
    return any;
}

/* The second round runs tasks posted by the first one, without a wake-up. A third round is left to
 * the next iteration, so that tasks which post tasks do not starve the descriptors. */
static void on_wake(uv_async_t *handle)
{
    struct loop *l = handle->data;
    l->busy = true;
    if (run_posted(l))
        run_posted(l);
    pthread_mutex_lock(&l->lock);
    l->woken = l->posted.first != NULL;
    if (l->woken)
        uv_async_send(&l->wake);
    if (l->stopped)
        uv_stop(&l->uv);
    pthread_mutex_unlock(&l->lock);
}

/* libuv aborts the process if it runs out of descriptors during its initialization. */
static int check_descriptors(struct fumi_err *e)
{
    int fds[8], n = 0;
    while (n < (int)FUMI_COUNT(fds) && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    int rc = n == (int)FUMI_COUNT(fds) ? 0 : errno;
    while (n > 0)
        close(fds[--n]);
    return rc ? fumi_err_set(e, FUMI_INTERNAL_ERROR, "event loop: %s", strerror(rc)) : 0;
}

struct loop *loop_new(struct fumi_err *e)
{
    if (check_descriptors(e))
        return NULL;
    struct loop *l = fumi_resize(NULL, sizeof(*l));
    *l = (struct loop){.lock = PTHREAD_MUTEX_INITIALIZER, .outer = -1, .clock = -1};
    int rc = uv_loop_init(&l->uv);
    if (rc == 0 && (rc = uv_async_init(&l->uv, &l->wake, on_wake)) != 0)
        uv_loop_close(&l->uv);
    l->wake.data = l;
    if (rc == 0) {
        uv_prepare_init(&l->uv, &l->prepare); /* never fails */
        return l;
    }
    fumi_resize(l, 0);
    fumi_err_set(e, FUMI_INTERNAL_ERROR, "event loop: %s", uv_strerror(rc));
    return NULL;
}

static void close_any(uv_handle_t *h, void *arg)
{
    struct loop *l = arg;
    if (h == (uv_handle_t *)&l->wake || h == (uv_handle_t *)&l->prepare)
        uv_close(h, NULL);
    else if (!uv_is_closing(h))
        close_handle((struct loop_handle *)h);
}

/* Posted tasks are run, because their owners rely on it. */
void loop_free(struct loop *l)
{
    while (run_posted(l))
        continue;
    loop_signals(l, NULL, NULL, NULL);
    uv_walk(&l->uv, close_any, l);
    uv_run(&l->uv, UV_RUN_DEFAULT);
    uv_loop_close(&l->uv);
    if (l->clock >= 0)
        close(l->clock);
    if (l->outer >= 0)
        close(l->outer);
    pthread_mutex_destroy(&l->lock);
    fumi_resize(l, 0);
}

static bool is_stopped(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    bool stopped = l->stopped;
    pthread_mutex_unlock(&l->lock);
    return stopped;
}

void loop_run(struct loop *l)
{
    if (!is_stopped(l))
        uv_run(&l->uv, UV_RUN_DEFAULT);
    pthread_mutex_lock(&l->lock);
    l->stopped = false;
    pthread_mutex_unlock(&l->lock);
}

/* Sets the timerfd to ms from now; 0: now; negative: never. */
static void set_clock(struct loop *l, int ms)
{
    int64_t at = ms < 0 ? -1 : loop_now(l) + ms;
    struct itimerspec time = {.it_value = {ms / 1000, ms % 1000 * 1000000L}};
    if (at == l->clock_at && ms)
        return;
    if (ms <= 0)
        time.it_value = (struct timespec){0, ms == 0};
    timerfd_settime(l->clock, 0, &time, NULL);
    l->clock_at = at;
}

static int add_to(int outer, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return fd < 0 ? -1 : epoll_ctl(outer, EPOLL_CTL_ADD, fd, &event);
}

int loop_fd(struct loop *l, struct fumi_err *e)
{
    if (l->outer >= 0)
        return l->outer;
    l->clock = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    l->outer = epoll_create1(EPOLL_CLOEXEC);
    if (l->outer < 0 || add_to(l->outer, l->clock) || add_to(l->outer, uv_backend_fd(&l->uv)))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "event loop: %s", strerror(errno));
    set_clock(l, 0);
    return l->outer;
}

/* Callbacks of the first iteration may watch descriptors and post tasks, which the second one
 * handles. A third is left to the next step, so that the outer loop can run. */
bool loop_step(struct loop *l)
{
    bool stopped = is_stopped(l);
    for (int i = 0; i < 2 && !stopped && (!i || l->busy); i++) {
        l->busy = false;
        uv_run(&l->uv, UV_RUN_NOWAIT);
        stopped = is_stopped(l);
    }
    set_clock(l, l->busy || stopped ? 0 : uv_backend_timeout(&l->uv));
    return !stopped;
}

static void on_poll(uv_poll_t *handle, int status, int events);

static int poll_again(struct loop_handle *h)
{
    const struct watch *w = h->owner;
    int events = (w->events & LOOP_READ ? UV_READABLE : 0) |
                 (w->events & LOOP_WRITE ? UV_WRITABLE : 0);
    return uv_poll_start(&h->uv.poll, events, on_poll);
}

/* libuv stops a handle whose descriptor has an error, without reporting the error. Reading or
 * writing reports it, so the descriptor is presented as ready. */
static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct loop_handle *h = (struct loop_handle *)handle;
    struct watch *w = h->owner;
    mark_busy(handle->loop);
    unsigned ready = (events & UV_READABLE ? LOOP_READ : 0) |
                     (events & UV_WRITABLE ? LOOP_WRITE : 0);
    w->ready(w, status < 0 ? w->events : ready);
    if (status < 0 && h->owner)
        poll_again(h);
}

static void on_idle(uv_idle_t *handle)
{
    struct loop_handle *h = (struct loop_handle *)handle;
    struct watch *w = h->owner;
    mark_busy(handle->loop);
    w->ready(w, w->events);
}

/* uv_poll_init makes the descriptor non-blocking, and with it every descriptor of other processes
 * that shares the open file. That is undone at once. */
static int poll_init(struct loop *l, struct loop_handle *h, int fd)
{
    int flags = fcntl(fd, F_GETFL);
    int rc = uv_poll_init(&l->uv, &h->uv.poll, fd);
    if (rc == 0 && flags >= 0 && !(flags & O_NONBLOCK))
        fcntl(fd, F_SETFL, flags);
    return rc;
}

/* Regular files and some devices cannot be polled (EPERM): the loop then runs without waiting. */
static int begin(struct loop *l, struct watch *w, struct fumi_err *e)
{
    struct loop_handle *h = handle_new(w);
    int rc = poll_init(l, h, w->fd);
    if (rc == UV_EPERM)
        rc = uv_idle_init(&l->uv, &h->uv.idle);
    if (rc == 0) {
        w->handle = h;
        return 0;
    }
    fumi_resize(h, 0);
    return fault(e, "descriptor", w->fd, rc);
}

int loop_watch(struct loop *l, struct watch *w, unsigned events, struct fumi_err *e)
{
    struct loop_handle *h = w->handle;
    if (!events) {
        if (h)
            close_handle(h);
        w->handle = NULL;
        w->events = 0;
        return 0;
    }
    if (!h && begin(l, w, e))
        return -1;
    if (w->events == events)
        return 0;
    h = w->handle;
    w->events = events;
    int rc = h->uv.any.type == UV_IDLE ? uv_idle_start(&h->uv.idle, on_idle) : poll_again(h);
    return rc ? fault(e, "descriptor", w->fd, rc) : 0;
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct loop *l = ((struct loop_handle *)handle)->owner;
    l->busy = true;
    if (l->on_signal)
        l->on_signal(l->signal_arg, signum);
}

struct signal_start {
    struct loop_handle *handle;
    int signal;
};

static int start_signal(void *arg)
{
    struct signal_start *c = arg;
    return uv_signal_start(&c->handle->uv.signal, on_signal, c->signal);
}

static void stop_signal(void *handle)
{
    close_handle(handle);
}

static int catch_signal(struct loop *l, size_t i, struct fumi_err *e)
{
    struct loop_handle *h = handle_new(l);
    struct signal_start c = {h, stop_signals[i]};
    uv_signal_init(&l->uv, &h->uv.signal);
    int rc = process_catch(stop_signals[i], start_signal, &c);
    if (rc == 0) {
        l->signals[i] = h;
        return 0;
    }
    close_handle(h);
    return fault(e, "signal", stop_signals[i], rc);
}

static void release_signal(struct loop *l, size_t i)
{
    if (!l->signals[i])
        return;
    process_uncatch(stop_signals[i], stop_signal, l->signals[i]);
    l->signals[i] = NULL;
}

int loop_signals(struct loop *l, void (*on)(void *arg, int signal), void *arg, struct fumi_err *e)
{
    l->on_signal = on;
    l->signal_arg = arg;
    for (size_t i = 0; i < FUMI_COUNT(stop_signals); i++) {
        if (!on)
            release_signal(l, i);
        else if (!l->signals[i] && catch_signal(l, i, e))
            return -1;
    }
    return 0;
}

static void on_timer(uv_timer_t *handle)
{
    struct timer *t = ((struct loop_handle *)handle)->owner;
    mark_busy(handle->loop);
    t->on(t);
}

/* A timer keeps its handle until it is stopped, so setting it again does not allocate. */
int loop_timer(struct loop *l, struct timer *t, int64_t ms, struct fumi_err *e)
{
    struct loop_handle *h = t->handle;
    if (ms < 0) {
        if (h)
            close_handle(h);
        t->handle = NULL;
        return 0;
    }
    if (!h) {
        h = t->handle = handle_new(t);
        uv_timer_init(&l->uv, &h->uv.timer);
    }
    uv_update_time(&l->uv);
    int rc = uv_timer_start(&h->uv.timer, on_timer, (uint64_t)ms, 0);
    return rc ? fumi_err_set(e, FUMI_INTERNAL_ERROR, "timer: %s", uv_strerror(rc)) : 0;
}

int64_t loop_now(const struct loop *l)
{
    return (int64_t)uv_now(&l->uv);
}

static void before_wait(uv_prepare_t *handle)
{
    struct loop *l = FUMI_OWNER(handle, struct loop, prepare);
    l->before_wait(l->before_wait_arg);
}

void loop_before_wait(struct loop *l, void (*on)(void *arg), void *arg)
{
    l->before_wait = on;
    l->before_wait_arg = arg;
    uv_prepare_start(&l->prepare, before_wait); /* never fails */
}
