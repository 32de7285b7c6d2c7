/* Group commit. Threads that write enter a queue. The first one becomes the leader: it runs the
 * writes of all queued threads in one transaction and wakes them when the transaction is on disk,
 * so that one sync serves many writes.
 *
 * A write that fails before it has changed anything does not affect the others. If a write fails
 * later, the transaction is rolled back and each write runs in a transaction of its own. */
#include "store/sqlite_erase.h"
#include "store/sqlite_parts.h"
#include "store/sqlite_readonly.h"

#include <assert.h>

enum { TOGETHER = 256 }; /* writes in one transaction, at most */

/* One queued write, on the stack of its thread. */
struct store_sqlite_write {
    store_sqlite_fn *run;
    void *arg;
    struct fumi_err *e;
    int result;
    bool alone; /* outside of a transaction, without other writes */
    bool done;
    pthread_cond_t turn; /* signalled when it is done, or first in the queue */
    struct store_sqlite_write *next;
};

static void roll_back(struct db *d)
{
    struct fumi_err ignored;
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

static void fail_all(struct store_sqlite_write *first, const struct fumi_err *e)
{
    for (struct store_sqlite_write *w = first; w; w = w->next) {
        w->result = -1;
        *w->e = *e;
    }
}

/* Returns whether the transaction can continue: the write succeeded, or failed without a change. */
static bool run_one(struct db *d, struct store_sqlite_write *w)
{
    sqlite3_int64 before = sqlite3_total_changes64(d->h);
    w->result = w->run(d, w->arg, w->e);
    return w->result == 0 ||
           (!d->bad && !sqlite3_get_autocommit(d->h) && sqlite3_total_changes64(d->h) == before);
}

static bool run_each(struct db *d, struct store_sqlite_write *first)
{
    for (struct store_sqlite_write *w = first; w; w = w->next)
        if (!run_one(d, w))
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

/* The database is locked: fails all queued writes, which would otherwise wait for the same lock one
 * after the other. */
static void fail_queue(struct store_sqlite *s, const struct fumi_err *e)
{
    pthread_mutex_lock(&s->write_lock);
    fail_all(s->first, e);
    for (struct store_sqlite_write *w = s->first; w; w = w->next) {
        w->done = true;
        pthread_cond_signal(&w->turn);
    }
    s->first = s->last = NULL;
    pthread_mutex_unlock(&s->write_lock);
}

/* Returns true if each write has its result; false if the transaction was rolled back because one
 * of several writes failed. */
static bool transact(struct store_sqlite *s, struct store_sqlite_write *first)
{
    struct fumi_err e = {0};
    struct db *d = ready(s, &e);
    int begun = d ? store_sqlite_run(d, &e, "BEGIN IMMEDIATE", "") : -1;
    if (begun && d && sqlite3_errcode(d->h) == SQLITE_BUSY)
        fail_queue(s, &e);
    if (begun || still_there(s, d, &e)) {
        fail_all(first, &e);
        return true;
    }
    assert(!sqlite3_get_autocommit(d->h));
    __atomic_store_n(&s->blocked, false, __ATOMIC_RELAXED);
    if (!run_each(d, first)) {
        roll_back(d);
        return !first->next;
    }
    if (store_sqlite_run(d, &e, "COMMIT", "")) {
        roll_back(d);
        fail_all(first, &e);
    }
    return true;
}

static void run_alone(struct store_sqlite *s, struct store_sqlite_write *w)
{
    struct db *d = ready(s, w->e);
    w->result = d ? w->run(d, w->arg, w->e) : -1;
}

static void work(struct store_sqlite *s, struct store_sqlite_write *first)
{
    if (first->alone) {
        run_alone(s, first);
        return;
    }
    if (transact(s, first))
        return;
    for (struct store_sqlite_write *w = first, *next; w; w = next) {
        next = w->next;
        w->next = NULL;
        transact(s, w);
        w->next = next;
    }
}

static struct store_sqlite_write *take(struct store_sqlite *s)
{
    assert(s->first && s->last && !s->last->next);
    struct store_sqlite_write *first = s->first, *last = first;
    for (int i = 1; i < TOGETHER && last->next && !first->alone && !last->next->alone; i++)
        last = last->next;
    s->first = last->next;
    if (!s->first)
        s->last = NULL;
    last->next = NULL;
    return first;
}

/* Reads `next` before setting `done`: the thread may then return at once, which frees the write. */
static void wake(struct store_sqlite *s, struct store_sqlite_write *first)
{
    for (struct store_sqlite_write *w = first, *next; w; w = next) {
        next = w->next;
        w->done = true;
        pthread_cond_signal(&w->turn);
    }
    assert(s->leading);
    s->leading = false;
    if (s->first)
        pthread_cond_signal(&s->first->turn);
}

static void append(struct store_sqlite *s, struct store_sqlite_write *w)
{
    if (s->last)
        s->last->next = w;
    else
        s->first = w;
    s->last = w;
}

/* Waits until another leader has done the write, or leads if it is first in the queue. */
static int enqueue(struct store_sqlite *s, struct store_sqlite_write *w)
{
    if (s->uri)
        return store_sqlite_readonly_fault(s, w->e);
    pthread_mutex_lock(&s->write_lock);
    append(s, w);
    while (!w->done && (s->leading || s->first != w))
        pthread_cond_wait(&w->turn, &s->write_lock);
    if (!w->done) {
        assert(!s->leading && s->first == w);
        s->leading = true;
        struct store_sqlite_write *first = take(s);
        pthread_mutex_unlock(&s->write_lock);
        work(s, first);
        pthread_mutex_lock(&s->write_lock);
        wake(s, first);
    }
    pthread_mutex_unlock(&s->write_lock);
    pthread_cond_destroy(&w->turn);
    return w->result;
}

int store_sqlite_write(struct store *base, store_sqlite_fn *run, void *arg, struct fumi_err *e)
{
    struct store_sqlite_write w = {
        .run = run, .arg = arg, .e = e, .turn = PTHREAD_COND_INITIALIZER};
    return enqueue((struct store_sqlite *)base, &w);
}

int store_sqlite_write_alone(struct store *base, store_sqlite_fn *run, void *arg,
                             struct fumi_err *e)
{
    struct store_sqlite_write w = {
        .run = run, .arg = arg, .e = e, .alone = true, .turn = PTHREAD_COND_INITIALIZER};
    return enqueue((struct store_sqlite *)base, &w);
}
