/* Writing. Threads that want to write line up; the first becomes the leader, runs what all of them
 * want in one transaction, and wakes them when it is on disk: a wait for the disk serves many.
 *
 * One that fails before it wrote anything does no harm to the others. When one fails later, all is
 * undone and each is run in a transaction of its own. */
#include "store/sqlite_erase.h"
#include "store/sqlite_parts.h"
#include "store/sqlite_readonly.h"

enum { TOGETHER = 256 }; /* at most in one transaction */

struct store_sqlite_write {
    store_sqlite_fn *run;
    void *arg;
    struct fumi_err *e;
    int result;
    bool alone; /* not in a transaction, and with no other */
    bool done;
    pthread_cond_t turn; /* it is done, or its thread leads */
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

/* A connection that is not inside a transaction that could not be ended. ROLLBACK is prepared while
 * there is memory for it. */
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

/* Whether it can stay in the transaction: it did what it should, or nothing. */
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

/* A file that was removed or replaced under us takes notes that nobody would ever see again. The
 * next attempt opens what is there by then. */
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

/* Those who lined up meanwhile would wait for the same process again, one after the other. */
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

/* True: each has its result. False: all was undone, because one of several failed. */
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
    struct store_sqlite_write *first = s->first, *last = first;
    for (int i = 1; i < TOGETHER && last->next && !first->alone && !last->next->alone; i++)
        last = last->next;
    s->first = last->next;
    if (!s->first)
        s->last = NULL;
    last->next = NULL;
    return first;
}

/* The thread of a write that is done may go on at once, and with it the write. */
static void wake(struct store_sqlite *s, struct store_sqlite_write *first)
{
    for (struct store_sqlite_write *w = first, *next; w; w = next) {
        next = w->next;
        w->done = true;
        pthread_cond_signal(&w->turn);
    }
    s->leading = false;
    if (s->first)
        pthread_cond_signal(&s->first->turn);
}

static void line_up(struct store_sqlite *s, struct store_sqlite_write *w)
{
    if (s->last)
        s->last->next = w;
    else
        s->first = w;
    s->last = w;
}

/* Whoever stands first leads for the others, then leaves the lead to the next. */
static int enqueue(struct store_sqlite *s, struct store_sqlite_write *w)
{
    if (s->uri)
        return store_sqlite_readonly_fault(s, w->e);
    pthread_mutex_lock(&s->write_lock);
    line_up(s, w);
    while (!w->done && (s->leading || s->first != w))
        pthread_cond_wait(&w->turn, &s->write_lock);
    if (!w->done) {
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
