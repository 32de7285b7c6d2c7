/* Each thing that is waited for is an entry: a libuv handle on the heap, closed when it is no
 * longer wanted and freed by libuv's close callback, so that a callback in progress may close its
 * own. */
#include "net/loop.h"

#include "base/arena.h"
#include "net/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

static const int ending[] = {SIGINT, SIGTERM};

struct entry {
    union {
        uv_handle_t any;
        uv_poll_t poll;
        uv_idle_t idle;
        uv_timer_t timer;
        uv_signal_t signal;
    } uv;
    void *owner; /* the watch, timer or loop; NULL once it is closed */
};

struct loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_prepare_t turn;
    void (*on_turn)(void *arg);
    void *turn_arg;
    pthread_mutex_t lock;     /* for the next three */
    struct fumi_tasks posted; /* not yet taken by the loop */
    bool woken;               /* the loop will look at `posted` without being woken once more */
    bool stopped;
    void (*on_signal)(void *arg, int signal);
    void *signal_arg;
    struct entry *signals[FUMI_COUNT(ending)];
    /* Inside another loop: an epoll of libuv's descriptor and of a timer, because libuv's does not
     * tell of timers. -1: it is not. */
    int outer, clock;
    int64_t clock_at; /* loop_now() at which the timer expires; -1: it is not set */
    bool busy;        /* something was called in this turn */
};

static int fault(struct fumi_err *e, const char *what, int number, int rc)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s %d: %s", what, number, uv_strerror(rc));
}

static void note_busy(uv_loop_t *uv)
{
    FUMI_OWNER(uv, struct loop, uv)->busy = true;
}

static struct entry *entry_new(void *owner)
{
    struct entry *en = fumi_resize(NULL, sizeof(*en));
    *en = (struct entry){.owner = owner};
    return en;
}

static void release(uv_handle_t *h)
{
    fumi_resize(h, 0);
}

static void forget(struct entry *en)
{
    en->owner = NULL;
    uv_close(&en->uv.any, release);
}

/* Posting holds the lock while it wakes the loop: whoever runs the task has then seen the lock free
 * again and may free the loop. */
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

/* A task may be gone once it has run. */
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

/* The second round is for what the first one posted: it costs no wake-up. A third is left to the
 * next turn of the loop, so that tasks which post tasks do not starve the descriptors. */
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

/* libuv ends the process when it runs out of descriptors in the middle of its set-up. */
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
        uv_prepare_init(&l->uv, &l->turn); /* never fails */
        return l;
    }
    fumi_resize(l, 0);
    fumi_err_set(e, FUMI_INTERNAL_ERROR, "event loop: %s", uv_strerror(rc));
    return NULL;
}

static void close_any(uv_handle_t *h, void *arg)
{
    struct loop *l = arg;
    if (h == (uv_handle_t *)&l->wake || h == (uv_handle_t *)&l->turn)
        uv_close(h, NULL);
    else if (!uv_is_closing(h))
        forget((struct entry *)h);
}

/* What was posted is run even now, because whoever posted it counts on it. */
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

/* In so many milliseconds; 0: now; negative: never. */
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

/* What descriptors were ready for is sent and watched in the turn that follows. A third turn waits
 * for the next step, so that the loop outside gets its own. */
bool loop_step(struct loop *l)
{
    bool stopped = is_stopped(l);
    for (int turn = 0; turn < 2 && !stopped && (!turn || l->busy); turn++) {
        l->busy = false;
        uv_run(&l->uv, UV_RUN_NOWAIT);
        stopped = is_stopped(l);
    }
    set_clock(l, l->busy || stopped ? 0 : uv_backend_timeout(&l->uv));
    return !stopped;
}

static void on_poll(uv_poll_t *handle, int status, int events);

static int poll_again(struct entry *en)
{
    const struct watch *w = en->owner;
    int events = (w->events & LOOP_READ ? UV_READABLE : 0) |
                 (w->events & LOOP_WRITE ? UV_WRITABLE : 0);
    return uv_poll_start(&en->uv.poll, events, on_poll);
}

/* libuv stops a handle whose descriptor is in an error state and does not say which. Reading or
 * writing it does, so it is shown as ready. */
static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct entry *en = (struct entry *)handle;
    struct watch *w = en->owner;
    note_busy(handle->loop);
    unsigned ready = (events & UV_READABLE ? LOOP_READ : 0) |
                     (events & UV_WRITABLE ? LOOP_WRITE : 0);
    w->ready(w, status < 0 ? w->events : ready);
    if (status < 0 && en->owner)
        poll_again(en);
}

static void on_idle(uv_idle_t *handle)
{
    struct entry *en = (struct entry *)handle;
    struct watch *w = en->owner;
    note_busy(handle->loop);
    w->ready(w, w->events);
}

/* uv_poll_init makes the descriptor non-blocking, and with it those of all other processes that
 * share its open file: that is undone at once. */
static int poll_init(struct loop *l, struct entry *en, int fd)
{
    int flags = fcntl(fd, F_GETFL);
    int rc = uv_poll_init(&l->uv, &en->uv.poll, fd);
    if (rc == 0 && flags >= 0 && !(flags & O_NONBLOCK))
        fcntl(fd, F_SETFL, flags);
    return rc;
}

/* Plain files and some devices cannot be polled (EPERM): the loop then turns without waiting. */
static int begin(struct loop *l, struct watch *w, struct fumi_err *e)
{
    struct entry *en = entry_new(w);
    int rc = poll_init(l, en, w->fd);
    if (rc == UV_EPERM)
        rc = uv_idle_init(&l->uv, &en->uv.idle);
    if (rc == 0) {
        w->handle = en;
        return 0;
    }
    fumi_resize(en, 0);
    return fault(e, "descriptor", w->fd, rc);
}

int loop_watch(struct loop *l, struct watch *w, unsigned events, struct fumi_err *e)
{
    struct entry *en = w->handle;
    if (!events) {
        if (en)
            forget(en);
        w->handle = NULL;
        w->events = 0;
        return 0;
    }
    if (!en && begin(l, w, e))
        return -1;
    if (w->events == events)
        return 0;
    en = w->handle;
    w->events = events;
    int rc = en->uv.any.type == UV_IDLE ? uv_idle_start(&en->uv.idle, on_idle) : poll_again(en);
    return rc ? fault(e, "descriptor", w->fd, rc) : 0;
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct loop *l = ((struct entry *)handle)->owner;
    l->busy = true;
    if (l->on_signal)
        l->on_signal(l->signal_arg, signum);
}

struct catching {
    struct entry *entry;
    int signal;
};

static int start_signal(void *arg)
{
    struct catching *c = arg;
    return uv_signal_start(&c->entry->uv.signal, on_signal, c->signal);
}

static void stop_signal(void *entry)
{
    forget(entry);
}

static int catch_signal(struct loop *l, size_t i, struct fumi_err *e)
{
    struct entry *en = entry_new(l);
    struct catching c = {en, ending[i]};
    uv_signal_init(&l->uv, &en->uv.signal);
    int rc = process_catch(ending[i], start_signal, &c);
    if (rc == 0) {
        l->signals[i] = en;
        return 0;
    }
    forget(en);
    return fault(e, "signal", ending[i], rc);
}

static void let_signal(struct loop *l, size_t i)
{
    if (!l->signals[i])
        return;
    process_let(ending[i], stop_signal, l->signals[i]);
    l->signals[i] = NULL;
}

/* With no function to call, the signals mean again what they meant before. */
int loop_signals(struct loop *l, void (*on)(void *arg, int signal), void *arg, struct fumi_err *e)
{
    l->on_signal = on;
    l->signal_arg = arg;
    for (size_t i = 0; i < FUMI_COUNT(ending); i++) {
        if (!on)
            let_signal(l, i);
        else if (!l->signals[i] && catch_signal(l, i, e))
            return -1;
    }
    return 0;
}

static void on_timer(uv_timer_t *handle)
{
    struct timer *t = ((struct entry *)handle)->owner;
    note_busy(handle->loop);
    t->on(t);
}

/* A timer keeps its handle until it is given up, so to set it again allocates nothing. */
int loop_timer(struct loop *l, struct timer *t, int64_t ms, struct fumi_err *e)
{
    struct entry *en = t->handle;
    if (ms < 0) {
        if (en)
            forget(en);
        t->handle = NULL;
        return 0;
    }
    if (!en) {
        en = t->handle = entry_new(t);
        uv_timer_init(&l->uv, &en->uv.timer);
    }
    uv_update_time(&l->uv);
    int rc = uv_timer_start(&en->uv.timer, on_timer, (uint64_t)ms, 0);
    return rc ? fumi_err_set(e, FUMI_INTERNAL_ERROR, "timer: %s", uv_strerror(rc)) : 0;
}

int64_t loop_now(const struct loop *l)
{
    return (int64_t)uv_now(&l->uv);
}

static void on_turn(uv_prepare_t *handle)
{
    struct loop *l = FUMI_OWNER(handle, struct loop, turn);
    l->on_turn(l->turn_arg);
}

void loop_turn(struct loop *l, void (*on)(void *arg), void *arg)
{
    l->on_turn = on;
    l->turn_arg = arg;
    uv_prepare_start(&l->turn, on_turn); /* never fails */
}
