/* The fixture for calls that end later: methods that wait, are pending and are cancelled, an
 * executor that the test runs by hand, and one with threads. */
#ifndef FUMI_PEER_FIXTURE_H
#define FUMI_PEER_FIXTURE_H

#include "net/pool.h"
#include "rpc_fixture.h"
#include "test.h"

#define OK(result, id) "{\"jsonrpc\":\"2.0\",\"result\":" result ",\"id\":" id "}"
#define BAD(error, id) "{\"jsonrpc\":\"2.0\",\"error\":{" error "},\"id\":" id "}"
#define INTERNAL(id)   BAD("\"code\":-32603,\"message\":\"Internal error\"", id)
#define CALL_WITH(m, params, id)                                                                   \
    "{\"jsonrpc\":\"2.0\",\"method\":\"" m "\",\"params\":" params ",\"id\":" id "}"
#define CALL(m, id)     "{\"jsonrpc\":\"2.0\",\"method\":\"" m "\",\"id\":" id "}"
#define NOTIFICATION(m) "{\"jsonrpc\":\"2.0\",\"method\":\"" m "\"}"

enum { PENDING_MAX = 128 };

/* State that methods and tests share. */
struct fixture {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fumi_call *pending[PENDING_MAX]; /* pending calls, in order of arrival */
    size_t pending_n;
    int began, ended, inside, let_in; /* of the method `wait` */
    bool saw_cancel;                  /* whether the last `wait` was cancelled when it continued */
    int runs;                         /* of any method that counts its calls */
    int64_t value;                    /* without a lock: only the order of calls protects it */
};

static inline void fixture_open(struct fixture *s)
{
    *s = (struct fixture){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
}

static inline struct fumi_call *fixture_pending(struct fixture *s, size_t i)
{
    pthread_mutex_lock(&s->lock);
    while (s->pending_n <= i)
        await(&s->changed, &s->lock);
    struct fumi_call *call = s->pending[i];
    pthread_mutex_unlock(&s->lock);
    return call;
}

/* Waits until n calls of `wait` have started; let_in allows n more to continue. */
static inline void wait_began(struct fixture *s, int n)
{
    pthread_mutex_lock(&s->lock);
    while (s->began < n)
        await(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static inline void let_in(struct fixture *s, int n)
{
    pthread_mutex_lock(&s->lock);
    s->let_in += n;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static inline int fixture_runs(struct fixture *s)
{
    pthread_mutex_lock(&s->lock);
    int n = s->runs;
    pthread_mutex_unlock(&s->lock);
    return n;
}

static inline void count_run(struct fixture *s)
{
    pthread_mutex_lock(&s->lock);
    s->runs++;
    pthread_mutex_unlock(&s->lock);
}

/* Returns its params; another thread finishes it. */
static inline enum fumi_ret run_defer(struct fumi_call *call, const void *params, void *result)
{
    struct fixture *s = call->self;
    *(struct whole *)result = *(const struct whole *)params;
    pthread_mutex_lock(&s->lock);
    if (s->pending_n == PENDING_MAX)
        abort();
    s->pending[s->pending_n++] = call;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return FUMI_PENDING;
}

/* Returns its params; finishes the call before it returns. */
static inline enum fumi_ret run_now(struct fumi_call *call, const void *params, void *result)
{
    *(struct whole *)result = *(const struct whole *)params;
    fumi_finish(call, FUMI_OK);
    return FUMI_PENDING;
}

/* Returns its params once the test lets it continue. */
static inline enum fumi_ret run_wait(struct fumi_call *call, const void *params, void *result)
{
    struct fixture *s = call->self;
    *(struct whole *)result = *(const struct whole *)params;
    pthread_mutex_lock(&s->lock);
    s->began++;
    s->inside++;
    pthread_cond_broadcast(&s->changed);
    while (s->let_in <= s->ended)
        await(&s->changed, &s->lock);
    s->ended++;
    s->inside--;
    s->saw_cancel = fumi_cancelled(call);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return FUMI_OK;
}

static inline enum fumi_ret run_count(struct fumi_call *call, const void *params, void *result)
{
    count_run(call->self);
    *(struct whole *)result = *(const struct whole *)params;
    return FUMI_OK;
}

static inline enum fumi_ret run_add(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    ((struct count *)result)->n = ++((struct fixture *)call->self)->value;
    return FUMI_OK;
}

static inline enum fumi_ret run_get(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    ((struct count *)result)->n = ((struct fixture *)call->self)->value;
    return FUMI_OK;
}

enum { READS = FUMI_BLOCKING | FUMI_READ_ONLY, WRITES = FUMI_BLOCKING };

static const struct fumi_method fixture_methods[] = {
    {"echo", "", &whole_shape, &whole_shape, run_echo, FUMI_READ_ONLY},
    {"count", "", &whole_shape, &whole_shape, run_count, 0},
    {"defer", "", &whole_shape, &whole_shape, run_defer, FUMI_ASYNC},
    {"now", "", &whole_shape, &whole_shape, run_now, FUMI_ASYNC},
    {"may_defer", "", &whole_shape, &whole_shape, run_echo, FUMI_ASYNC},
    {"wait", "", &whole_shape, &whole_shape, run_wait, READS},
    {"wait_write", "", &whole_shape, &whole_shape, run_wait, WRITES},
    {"read", "", &whole_shape, &whole_shape, run_count, READS},
    {"write", "", &whole_shape, &whole_shape, run_count, WRITES},
    {"write_defer", "", &whole_shape, &whole_shape, run_defer, WRITES | FUMI_ASYNC},
    {"read_defer", "", &whole_shape, &whole_shape, run_defer, READS | FUMI_ASYNC},
    {"get", "", NULL, &count_shape, run_get, READS},
    {"add", "", NULL, &count_shape, run_add, WRITES},
};

/* An executor that runs tasks when the test calls manual_run. For one thread only. */
struct manual_executor {
    struct fumi_tasks tasks;
    size_t n;
};

static inline void manual_submit(void *arg, struct fumi_task *task)
{
    struct manual_executor *t = arg;
    fumi_tasks_add(&t->tasks, task);
    t->n++;
}

static inline void manual_run(struct manual_executor *t)
{
    struct fumi_task *task = fumi_tasks_take(&t->tasks);
    if (!task)
        abort();
    t->n--;
    task->run(task);
}

/* State, a server, a caller, and one of the two executors or none. */
struct server_fixture {
    struct fixture fixture;
    struct fumi_server *server;
    struct caller c;
    struct manual_executor manual_executor;
    struct pool *pool;
};

static inline void server_fixture_open(struct server_fixture *t)
{
    *t = (struct server_fixture){0};
    fixture_open(&t->fixture);
    t->server = server_of(fixture_methods, FUMI_COUNT(fixture_methods), &t->fixture);
    caller_open(&t->c, t->server);
}

static inline void server_fixture_open_manual(struct server_fixture *t)
{
    server_fixture_open(t);
    fumi_server_executor(t->server, manual_submit, &t->manual_executor);
}

static inline void server_fixture_open_pool(struct server_fixture *t, int threads)
{
    server_fixture_open(t);
    t->pool = pool_new(threads, NULL);
    fumi_server_executor(t->server, pool_submit, t->pool);
}

static inline void server_fixture_done(struct server_fixture *t)
{
    if (t->pool)
        pool_free(t->pool);
    fumi_server_free(t->server); /* first, because its timer may still use the peer */
    caller_done(&t->c);
    pthread_cond_destroy(&t->fixture.changed);
    pthread_mutex_destroy(&t->fixture.lock);
}

/* A thread that finishes calls in the order in which they became pending. */
struct finisher {
    struct fixture *fixture;
    size_t from, n;
    enum fumi_ret ret;
    int code; /* 0: sets no error */
    pthread_t thread;
};

static inline void *finisher_run(void *arg)
{
    struct finisher *f = arg;
    for (size_t i = 0; i < f->n; i++) {
        struct fumi_call *call = fixture_pending(f->fixture, f->from + i);
        if (f->code)
            fumi_fail(call, f->code, "said later");
        fumi_finish(call, f->ret);
    }
    return NULL;
}

static inline void finisher_start(struct finisher *f)
{
    if (pthread_create(&f->thread, NULL, finisher_run, f))
        abort();
}

static inline void finisher_join(struct finisher *f)
{
    pthread_join(f->thread, NULL);
}

/* Finishes n calls, starting with call i, on another thread, and waits for it. */
static inline void finish_elsewhere(struct fixture *s, size_t i, size_t n)
{
    struct finisher f = {.fixture = s, .from = i, .n = n, .ret = FUMI_OK};
    finisher_start(&f);
    finisher_join(&f);
}

#endif
