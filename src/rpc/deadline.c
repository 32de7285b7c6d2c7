/* The deadlines of calls that may outlive fumi_handle: a list sorted by time, and one thread, which
 * is started with the first deadline. */
#include "rpc/exchange.h"

#include "base/clock.h"

#include <assert.h>
#include <signal.h>
#include <time.h>

static void unlink_run(struct deadlines *d, struct fumi_run *r)
{
    assert(r->timed);
    *(r->sooner ? &r->sooner->later : &d->first) = r->later;
    *(r->later ? &r->later->sooner : &d->last) = r->sooner;
    r->timed = false;
}

/* Claims the call unless its method has. Waits for a notification that is being sent, because
 * nothing may follow the answer. */
static bool claim(struct fumi_run *r)
{
    int is = UNCLAIMED;
    atomic_store(&r->refs, 2);
    pthread_mutex_lock(&r->notify_lock);
    bool claimed = atomic_compare_exchange_strong(&r->claim, &is, BY_DEADLINE);
    pthread_mutex_unlock(&r->notify_lock);
    return claimed;
}

static void wait_until(struct deadlines *d, int64_t ticks)
{
    struct timespec at = {ticks / 1000000000, ticks % 1000000000};
    pthread_cond_timedwait(&d->changed, &d->lock, &at);
}

static void *watch(void *arg)
{
    struct deadlines *d = arg;
    pthread_mutex_lock(&d->lock);
    while (!d->ended) {
        struct fumi_run *r = d->first;
        if (!r) {
            pthread_cond_wait(&d->changed, &d->lock);
        } else if (fumi_ticks() < r->call.deadline) {
            wait_until(d, r->call.deadline);
        } else {
            unlink_run(d, r);
            if (!claim(r))
                continue;
            pthread_mutex_unlock(&d->lock);
            run_late(r);
            pthread_mutex_lock(&d->lock);
        }
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* Called with the lock held. If the thread cannot be started, deadlines are only checked when a
 * call ends. */
static void start(struct fumi_server *s)
{
    struct deadlines *d = &s->deadlines;
    sigset_t all, before;
    if (d->running || d->ended)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&d->thread, NULL, watch, d);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    d->running = rc == 0;
    if (rc)
        fumi_log(s->log, FUMI_ERROR, "rpc.deadlines", {"thread", fumi_str(strerror(rc)), 0});
}

/* The search starts at the end of the list, because most calls have the same time limit. */
void deadline_set(struct fumi_run *r)
{
    struct deadlines *d = &r->server->deadlines;
    pthread_mutex_lock(&d->lock);
    start(r->server);
    r->sooner = d->last;
    while (r->sooner && r->sooner->call.deadline > r->call.deadline)
        r->sooner = r->sooner->sooner;
    r->later = r->sooner ? r->sooner->later : d->first;
    *(r->sooner ? &r->sooner->later : &d->first) = r;
    *(r->later ? &r->later->sooner : &d->last) = r;
    r->timed = true;
    if (d->first == r)
        pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

void deadline_clear(struct fumi_run *r)
{
    struct deadlines *d = &r->server->deadlines;
    if (!r->call.deadline)
        return;
    pthread_mutex_lock(&d->lock);
    if (r->timed)
        unlink_run(d, r);
    pthread_mutex_unlock(&d->lock);
}

void deadlines_init(struct deadlines *d)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&d->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&d->lock, NULL);
}

void deadlines_stop(struct deadlines *d)
{
    pthread_mutex_lock(&d->lock);
    d->ended = true;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
    if (d->running && !pthread_equal(d->thread, pthread_self()))
        pthread_join(d->thread, NULL);
    d->running = false;
}

void deadlines_done(struct deadlines *d)
{
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
}
