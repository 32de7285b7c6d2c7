/* Threads are started on demand. A server that never submits a task stays single-threaded, which
 * lets the kernel and the C library skip locking: about 0.3 us per call. */
#include "net/pool.h"

#include "base/arena.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t more; /* a task was added, or the pool is closing */
    struct fumi_tasks tasks;
    size_t waiting; /* tasks not taken by a thread yet */
    size_t idle;    /* threads without a task */
    bool closing;
    bool warned;    /* the log has reported that no thread could be started */
    size_t n, most; /* threads running, and their maximum */
    const struct fumi_log *log;
    pthread_t threads[];
};

static struct fumi_task *next(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->idle++;
    while (!p->tasks.first && !p->closing)
        pthread_cond_wait(&p->more, &p->lock);
    struct fumi_task *t = fumi_tasks_take(&p->tasks);
    p->idle--;
    p->waiting -= t != NULL;
    pthread_mutex_unlock(&p->lock);
    return t;
}

static void *work(void *arg)
{
    struct fumi_task *t;
    pthread_setname_np(pthread_self(), "fumi-worker");
    while ((t = next(arg)))
        t->run(t);
    return NULL;
}

/* The thread blocks all signals: they are handled by the thread of the event loop. */
static void start_one(struct pool *p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    p->n += pthread_create(&p->threads[p->n], NULL, work, p) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct pool *pool_new(int threads, const struct fumi_log *log)
{
    size_t n = threads > 0 ? (size_t)threads : 1;
    struct pool *p = fumi_resize(NULL, sizeof(*p) + n * sizeof(p->threads[0]));
    *p = (struct pool){
        .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .most = n, .log = log};
    return p;
}

void pool_submit(void *pool, struct fumi_task *task)
{
    struct pool *p = pool;
    pthread_mutex_lock(&p->lock);
    if (p->waiting >= p->idle && p->n < p->most && !p->closing)
        start_one(p);
    bool here = !p->n, warn = here && !p->warned;
    p->warned |= here;
    if (!here) {
        fumi_tasks_add(&p->tasks, task);
        p->waiting++;
        pthread_cond_signal(&p->more);
    }
    pthread_mutex_unlock(&p->lock);
    if (warn)
        fumi_log(p->log, FUMI_ERROR, "pool.thread",
                 {"why", FUMI_STR("no thread could be started: calls run one after the other"), 0});
    if (here)
        task->run(task);
}

void pool_free(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->closing = true;
    pthread_cond_broadcast(&p->more);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->n; i++)
        pthread_join(p->threads[i], NULL);
    assert(!p->tasks.first);
    pthread_cond_destroy(&p->more);
    pthread_mutex_destroy(&p->lock);
    fumi_resize(p, 0);
}
