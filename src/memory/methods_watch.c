/* memory.watch: a call that stays open and is notified of changes of the store.
 *
 * A thread, which the first call starts, reads the change number of the store every 250 ms while
 * there are calls. The number rises with every write of any process. A call that has not been
 * notified of the current number gets a notification; the first one tells the number at which the
 * subscription began, so that no change is missed.
 *
 * The thread that removes a watcher from the list finishes its call, without the lock, because
 * fumi_finish may wait for on_cancel, which takes it. */
#include "memory/memory_parts.h"
#include "memory/methods_parts.h"

#include <assert.h>
#include <time.h>

enum {
    CHECK_MS = 250,
    WATCHERS_MAX = 256,    /* of all clients */
    PEER_WATCHERS_MAX = 4, /* of one connection */
    CLIENT_MAX = 128,      /* characters */
};

struct watcher {
    struct watcher *next;
    struct fumi_call *call;
    int64_t told;           /* the number of its last notification; -1: none */
    struct fumi_str client; /* the name of the connection; empty: none was given */
};

struct watch_params {
    struct fumi_str client;
};

static const struct fumi_field watch_fields[] = {
    FUMI_FIELD(struct watch_params, client, "client",
               "Name of the client: memory.history has it for the changes that this connection "
               "makes while the call is open.",
               .flags = FUMI_NULLABLE, .max = CLIENT_MAX, .check = note_title_fault),
};
static const struct fumi_shape watch_shape = FUMI_SHAPE(struct watch_params, watch_fields);

struct changed {
    int64_t change;
};

static const struct fumi_field changed_fields[] = {
    FUMI_FIELD(struct changed, change, "change",
               "A number that rises with each change of the store by any process."),
};
static const struct fumi_shape changed_shape = FUMI_SHAPE(struct changed, changed_fields);

/* Waits until the next check: CHECK_MS, or until a call begins. Returns false if the thread must
 * end. */
static bool next_check(struct watch *w)
{
    struct timespec until;
    bool late = false;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += CHECK_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L)
        until.tv_sec++, until.tv_nsec -= 1000000000L;
    pthread_mutex_lock(&w->lock);
    while (!w->stop && !w->began && !(w->all && late))
        if (w->all)
            late = pthread_cond_timedwait(&w->wake, &w->lock, &until) != 0;
        else
            pthread_cond_wait(&w->wake, &w->lock);
    w->began = false;
    bool stop = w->stop;
    pthread_mutex_unlock(&w->lock);
    return !stop;
}

static void *watch(void *arg)
{
    struct memory *m = arg;
    struct watch *w = &m->watch;
    struct fumi_err ignored;
    struct changed now;
    while (next_check(w)) {
        if (store_change_number(memory_store(m), &now.change, &ignored))
            continue;
        pthread_mutex_lock(&w->lock);
        for (struct watcher *i = w->all; i; i = i->next) {
            if (i->told != now.change)
                fumi_notify(i->call, "memory.changed", &changed_shape, &now);
            i->told = now.change;
        }
        pthread_mutex_unlock(&w->lock);
    }
    return NULL;
}

void watch_init(struct watch *w)
{
    pthread_condattr_t attr;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
}

void watch_done(struct watch *w)
{
    assert(!w->all);
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    if (w->started)
        pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
}

/* Finishes the calls that were cancelled, or all. */
static void finish(struct watch *w, bool all)
{
    struct watcher *taken = NULL, *next;
    pthread_mutex_lock(&w->lock);
    w->ended |= all;
    for (struct watcher **at = &w->all; *at;) {
        struct watcher *i = *at;
        if (!all && !fumi_cancelled(i->call)) {
            at = &i->next;
            continue;
        }
        *at = i->next;
        i->next = taken;
        taken = i;
    }
    pthread_mutex_unlock(&w->lock);
    for (struct watcher *i = taken; i; i = next) {
        next = i->next; /* fumi_finish frees the arena of i */
        fumi_finish(i->call, FUMI_OK);
    }
}

static void on_cancel(void *watch)
{
    finish(watch, false);
}

void memory_end_watches(struct memory *m)
{
    finish(&m->watch, true);
}

static int start(struct memory *m, struct fumi_err *e)
{
    if (m->watch.started)
        return 0;
    if (pthread_create(&m->watch.thread, NULL, watch, m))
        return fumi_err_set(e, FUMI_LIMIT,
                            "the thread that watches for changes cannot be started; try again "
                            "later");
    m->watch.started = true;
    return 0;
}

static int check_limits(const struct watch *w, const struct fumi_call *call, struct fumi_err *e)
{
    size_t n = 0, own = 0;
    for (const struct watcher *i = w->all; i; i = i->next) {
        n++;
        own += i->call->peer == call->peer;
    }
    if (own >= PEER_WATCHERS_MAX)
        return fumi_err_set(e, FUMI_LIMIT,
                            "a connection may have %d open calls of memory.watch; cancel one first",
                            PEER_WATCHERS_MAX);
    if (n >= WATCHERS_MAX)
        return fumi_err_set(e, FUMI_LIMIT,
                            "all clients together may have %d open calls of memory.watch; try "
                            "again later",
                            WATCHERS_MAX);
    return 0;
}

/* Once the lock is released, another thread may finish the call: it must not be used any more. */
static enum fumi_ret add(struct memory *m, struct watcher *new)
{
    struct watch *w = &m->watch;
    struct fumi_call *call = new->call;
    enum fumi_ret ret = FUMI_PENDING;
    pthread_mutex_lock(&w->lock);
    if (check_limits(w, call, &call->err) || start(m, &call->err))
        ret = FUMI_FAIL;
    else if (w->ended || !fumi_on_cancel(call, on_cancel, w))
        ret = FUMI_OK;
    if (ret == FUMI_PENDING) {
        new->next = w->all;
        w->all = new;
        w->began = true;
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    return ret;
}

struct fumi_str watch_client(struct watch *w, const struct fumi_call *call)
{
    struct fumi_str name = {0};
    pthread_mutex_lock(&w->lock);
    for (const struct watcher *i = w->all; i && !name.p; i = i->next)
        if (i->call->peer == call->peer && i->client.n)
            name = fumi_dup(call->arena, i->client);
    pthread_mutex_unlock(&w->lock);
    return name;
}

static enum fumi_ret watch_changes(struct fumi_call *call, const void *params, void *result)
{
    const struct watch_params *p = params;
    (void)result;
    if (!call->id || !fumi_can_notify(call))
        return fumi_fail(call, FUMI_INVALID_REQUEST,
                         "memory.watch needs an id, and a connection that can receive "
                         "notifications: WebSocket, stdio, a Unix socket, or HTTP with Accept: "
                         "text/event-stream");
    struct watcher *new = fumi_alloc(call->arena, sizeof(*new));
    *new = (struct watcher){.call = call, .told = -1, .client = fumi_dup(call->arena, p->client)};
    call->deadline = 0; /* no time limit */
    return add(call->self, new);
}

const struct fumi_method watch_methods[] = {
    {"watch",
     "Sends the notification memory.changed with the member change, a number, when it begins and "
     "after each change of the store by any process. The call stays open until the client cancels "
     "it with rpc.cancel or disconnects; its result is null.",
     &watch_shape, NULL, watch_changes,
     FUMI_DETAILED_ERRORS | FUMI_READ_ONLY | FUMI_ASYNC | FUMI_SUBSCRIPTION | FUMI_UNORDERED},
};
const size_t watch_methods_n = FUMI_COUNT(watch_methods);
