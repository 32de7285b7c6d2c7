/* Threads are started as they are needed. A server that never hands anything over stays a process
 * of one thread, for which the kernel and the C library do without locks: some 0.3 us of a call. */
#include "net/pool.h"

#include "base/arena.h"

#include <pthread.h>
#include <signal.h>

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t more; /* a task came, or it is closing */
    struct fumi_tasks tasks;
    size_t waiting; /* tasks that nobody has taken yet */
    size_t idle;    /* threads without one */
    bool closing;
    bool warned;    /* that there is no thread */
    size_t n, most; /* threads that there are, and may be */
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

/* The thread begins with all signals blocked: those belong to the loop's thread. */
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
                 {"why", FUMI_STR("no thread could be started: calls hold up all others"), 0});
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
    pthread_cond_destroy(&p->more);
    pthread_mutex_destroy(&p->lock);
    fumi_resize(p, 0);
}
