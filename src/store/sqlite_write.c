/* Group commit. Threads that write enter a queue. The first one becomes the leader: it runs the
 * writes of all queued threads in one transaction and wakes them when the transaction is on disk,
 * so that one sync serves many writes. Before it starts, it waits a little for the threads that the
 * last transaction has woken: if they write again at once, all of them share a transaction, instead
 * of half of them writing while the other half waits.
 *
 * A write that fails before it has changed anything does not affect the others. If a write fails
 * later, the transaction is rolled back and each write runs in a transaction of its own. */
#include "store/sqlite_erase.h"
#include "store/sqlite_parts.h"
#include "store/sqlite_readonly.h"

#include "base/clock.h"

#include <assert.h>

enum {
    TOGETHER = 256, /* writes in one transaction, at most */
    GATHER_PART =
        8, /* a leader waits for others at most this part of the last transaction's time */
    GATHER_MOST = 2000000, /* and at most so many nanoseconds */
};

/* The writes of one thread, on its stack. */
struct store_sqlite_write {
    struct store_sqlite_job *jobs;
    size_t n;
    bool alone; /* outside of a transaction, without other writes; one job */
    bool done;
    pthread_cond_t turn; /* signalled when it is done, first in the queue, or gather can end */
    struct store_sqlite_write *next;
};

static void roll_back(struct db *d)
{
    struct fumi_err ignored;
    d->origin = 0;
    if (!sqlite3_get_autocommit(d->h) && store_sqlite_run(d, &ignored, "ROLLBACK", ""))
        d->bad = true;
}

static void drop_writer(struct store_sqlite *s)
{
    store_sqlite_disconnect(s->writer);
    s->writer = NULL;
}

/* Returns the writer outside of any transaction; reconnects if a transaction could not be ended.
 * NULL: *e is set. ROLLBACK is prepared in advance, in case there is no memory later. Only the
 * leader calls this function. */
static struct db *ready(struct store_sqlite *s, struct fumi_err *e)
{
    if (s->writer && !sqlite3_get_autocommit(s->writer->h))
        roll_back(s->writer);
    if (s->writer && (s->writer->bad || !sqlite3_get_autocommit(s->writer->h)))
        drop_writer(s);
    if (!s->writer)
        s->writer = store_sqlite_connect(s, true, e);
    if (s->writer && !store_sqlite_query(s->writer, e, "ROLLBACK", ""))
        drop_writer(s);
    return s->writer;
}

static void fail(struct store_sqlite_job *jobs, size_t n, const struct fumi_err *e)
{
    for (size_t i = 0; i < n; i++) {
        jobs[i].result = -1;
        *jobs[i].e = *e;
    }
}

static void fail_all(struct store_sqlite_write *first, const struct fumi_err *e)
{
    for (struct store_sqlite_write *w = first; w; w = w->next)
        fail(w->jobs, w->n, e);
}

/* Returns whether the transaction can continue: the job succeeded, or failed without a change. */
static bool run_one(struct db *d, struct store_sqlite_job *j)
{
    sqlite3_int64 before = sqlite3_total_changes64(d->h);
    j->result = j->run(d, j->arg, j->e);
    return j->result == 0 ||
           (!d->bad && !sqlite3_get_autocommit(d->h) && sqlite3_total_changes64(d->h) == before);
}

static bool run_each(struct db *d, struct store_sqlite_write *first)
{
    for (struct store_sqlite_write *w = first; w; w = w->next)
        for (size_t i = 0; i < w->n; i++)
            if (!run_one(d, &w->jobs[i]))
                return false;
    return true;
}

/* Writes to a file that was deleted or replaced would be lost. Closes all connections, so that the
 * next write opens the file that exists then. */
static int still_there(struct store_sqlite *s, struct db *d, struct fumi_err *e)
{
    if (!store_sqlite_moved(d))
        return 0;
    roll_back(d);
    d->bad = true;
    store_sqlite_idle(s);
    return fumi_err_set(e, FUMI_LIMIT,
                        "The database was removed or replaced while it was in use, and nothing was "
                        "stored: put it back or start fumi again (%s)",
                        s->path);
}

/* The database is locked or cannot be reached: fails all queued writes, which would otherwise wait
 * for the same one after the other. */
static void fail_queue(struct store_sqlite *s, const struct fumi_err *e)
{
    struct store_sqlite_queue *q = &s->writes;
    pthread_mutex_lock(&q->lock);
    fail_all(q->first, e);
    for (struct store_sqlite_write *w = q->first; w; w = w->next) {
        w->done = true;
        pthread_cond_signal(&w->turn);
    }
    q->first = q->last = NULL;
    q->n = 0;
    pthread_mutex_unlock(&q->lock);
}

enum outcome {
    DONE,    /* each job has its result */
    FAILED,  /* nothing was stored; all jobs have the error */
    CHANGED, /* a job failed after a change: nothing was stored, and only that job has its error */
};

static enum outcome transact(struct store_sqlite *s, struct store_sqlite_write *first)
{
    struct fumi_err e = {0};
    struct db *d = ready(s, &e);
    int begun = d ? store_sqlite_run(d, &e, "BEGIN IMMEDIATE", "") : -1;
    if (begun && d && sqlite3_errcode(d->h) == SQLITE_BUSY)
        fail_queue(s, &e);
    if (begun || still_there(s, d, &e)) {
        fail_all(first, &e);
        return FAILED;
    }
    assert(!sqlite3_get_autocommit(d->h));
    __atomic_store_n(&s->blocked, false, __ATOMIC_RELAXED);
    if (s->writes.truth && s->writes.truth->begin(s->writes.truth, d, &e)) {
        roll_back(d);
        fail_queue(s, &e);
        fail_all(first, &e);
        return FAILED;
    }
    if (!run_each(d, first)) {
        if (s->writes.truth)
            s->writes.truth->end(s->writes.truth);
        roll_back(d);
        return CHANGED;
    }
    if (s->writes.truth ? s->writes.truth->commit(s->writes.truth, d, &e)
                        : store_sqlite_run(d, &e, "COMMIT", "")) {
        roll_back(d);
        fail_all(first, &e);
        return FAILED;
    }
    return DONE;
}

static void run_alone(struct store_sqlite *s, struct store_sqlite_job *j)
{
    struct db *d = ready(s, j->e);
    j->result = d ? j->run(d, j->arg, j->e) : -1;
}

/* Runs each job in a transaction of its own, up to the first one that fails after a change. */
static void run_separately(struct store_sqlite *s, struct store_sqlite_write *w)
{
    for (size_t i = 0; i < w->n; i++) {
        struct store_sqlite_write one = {.jobs = &w->jobs[i], .n = 1};
        if (transact(s, &one) != DONE) {
            fail(one.jobs + 1, w->n - i - 1, one.jobs->e);
            return;
        }
    }
}

static void work(struct store_sqlite *s, struct store_sqlite_write *first)
{
    if (first->alone) {
        run_alone(s, first->jobs);
        return;
    }
    if (transact(s, first) != CHANGED || (!first->next && first->n == 1))
        return;
    for (struct store_sqlite_write *w = first; w; w = w->next)
        run_separately(s, w);
}

/* Takes the first writes, at most TOGETHER jobs, but at least one write. */
static struct store_sqlite_write *take(struct store_sqlite_queue *q)
{
    assert(q->first && q->last && !q->last->next);
    struct store_sqlite_write *first = q->first, *last = first;
    size_t jobs = first->n;
    q->together = 1;
    while (last->next && !first->alone && !last->next->alone &&
           (jobs += last->next->n) <= TOGETHER) {
        last = last->next;
        q->together++;
    }
    q->n -= q->together;
    q->first = last->next;
    if (!q->first)
        q->last = NULL;
    last->next = NULL;
    return first;
}

/* Reads `next` before setting `done`: the thread may then return at once, which frees the write. */
static void wake(struct store_sqlite_queue *q, struct store_sqlite_write *first)
{
    for (struct store_sqlite_write *w = first, *next; w; w = next) {
        next = w->next;
        w->done = true;
        pthread_cond_signal(&w->turn);
    }
    assert(q->leading);
    q->leading = false;
    if (q->first)
        pthread_cond_signal(&q->first->turn);
}

static void append(struct store_sqlite_queue *q, struct store_sqlite_write *w)
{
    if (q->last)
        q->last->next = w;
    else
        q->first = w;
    q->last = w;
    if (++q->n == q->awaited)
        pthread_cond_signal(&q->first->turn);
}

/* Called by the leader. A leader that had to wait expects the threads of the last transaction in
 * addition to the queue; one that found no queue is probably one of them. A thread that is alone
 * waits for nobody. */
static void gather(struct store_sqlite_queue *q, struct store_sqlite_write *w, bool waited)
{
    int64_t most = q->took / GATHER_PART;
    int64_t until = fumi_ticks() + (most < GATHER_MOST ? most : GATHER_MOST);
    const struct timespec end = {until / 1000000000, until % 1000000000};
    q->awaited = q->together + (waited ? q->n : 0);
    for (int rc = 0; !rc && !w->alone && q->n < q->awaited;)
        rc = pthread_cond_clockwait(&w->turn, &q->lock, CLOCK_MONOTONIC, &end);
    q->awaited = 0;
}

/* Needs the lock, and releases it while the writes run. */
static void lead(struct store_sqlite *s, struct store_sqlite_write *w, bool waited)
{
    struct store_sqlite_queue *q = &s->writes;
    assert(!q->leading && q->first == w);
    q->leading = true;
    gather(q, w, waited);
    struct store_sqlite_write *first = take(q);
    pthread_mutex_unlock(&q->lock);
    int64_t began = fumi_ticks();
    work(s, first);
    pthread_mutex_lock(&q->lock);
    q->took = fumi_ticks() - began;
    wake(q, first);
}

/* Waits until another leader has done the write, or leads if it is first in the queue. */
static void enqueue(struct store_sqlite *s, struct store_sqlite_write *w)
{
    struct store_sqlite_queue *q = &s->writes;
    pthread_mutex_lock(&q->lock);
    append(q, w);
    bool waited = q->leading || q->first != w;
    while (!w->done && (q->leading || q->first != w))
        pthread_cond_wait(&w->turn, &q->lock);
    if (!w->done)
        lead(s, w, waited);
    pthread_mutex_unlock(&q->lock);
    pthread_cond_destroy(&w->turn);
}

static void write_jobs(struct store_sqlite *s, struct store_sqlite_job *jobs, size_t n, bool alone)
{
    struct store_sqlite_write w = {
        .jobs = jobs, .n = n, .alone = alone, .turn = PTHREAD_COND_INITIALIZER};
    struct fumi_err e = {0};
    if (s->uri && store_sqlite_readonly_fault(s, &e))
        fail(jobs, n, &e);
    else if (n)
        enqueue(s, &w);
}

void store_sqlite_write_all(struct store *base, struct store_sqlite_job *jobs, size_t n)
{
    write_jobs((struct store_sqlite *)base, jobs, n, false);
}

int store_sqlite_write(struct store *base, store_sqlite_fn *run, void *arg, struct fumi_err *e)
{
    struct store_sqlite_job j = {.run = run, .arg = arg, .e = e};
    write_jobs((struct store_sqlite *)base, &j, 1, false);
    return j.result;
}

int store_sqlite_write_alone(struct store *base, store_sqlite_fn *run, void *arg,
                             struct fumi_err *e)
{
    struct store_sqlite_job j = {.run = run, .arg = arg, .e = e};
    write_jobs((struct store_sqlite *)base, &j, 1, true);
    return j.result;
}
