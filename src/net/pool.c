#include "net/pool.h"

#include "base/arena.h"

#include <pthread.h>
#include <signal.h>

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t more; /* a task came, or it is closing */
    struct fumi_tasks tasks;
    bool closing;
    size_t n;
    pthread_t threads[];
};

static struct fumi_task *next(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    while (!p->tasks.first && !p->closing)
        pthread_cond_wait(&p->more, &p->lock);
    struct fumi_task *t = fumi_tasks_take(&p->tasks);
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

/* The threads begin with all signals blocked: those belong to the loop's thread. */
static void start(struct pool *p, size_t threads)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (p->n < threads && pthread_create(&p->threads[p->n], NULL, work, p) == 0)
        p->n++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct pool *pool_new(int threads, struct fumi_err *e)
{
    size_t n = threads > 0 ? (size_t)threads : 1;
    struct pool *p = fumi_resize(NULL, sizeof(*p) + n * sizeof(p->threads[0]));
    *p = (struct pool){.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};
    start(p, n);
    if (p->n)
        return p;
    pool_free(p);
    fumi_err_set(e, FUMI_INTERNAL_ERROR, "no worker thread could be started");
    return NULL;
}

void pool_submit(void *pool, struct fumi_task *task)
{
    struct pool *p = pool;
    pthread_mutex_lock(&p->lock);
    fumi_tasks_add(&p->tasks, task);
    pthread_cond_signal(&p->more);
    pthread_mutex_unlock(&p->lock);
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
