#include "net/pool.h"

#include "test.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MANY = 1000, THREADS = 4 };

struct job {
    struct fumi_task task;
    int number;
    struct board *board;
};

/* What the tasks of a test record. */
struct board {
    pthread_mutex_t lock;
    int order[MANY];
    int done;
    pthread_barrier_t together;
    struct pool *pool;
    char name[16];
    sigset_t blocked;
};

static void note(struct fumi_task *task)
{
    struct job *j = FUMI_OWNER(task, struct job, task);
    pthread_mutex_lock(&j->board->lock);
    j->board->order[j->board->done++] = j->number;
    pthread_mutex_unlock(&j->board->lock);
}

static struct board run_many(int threads)
{
    static struct job jobs[MANY];
    struct board b = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct pool *p = pool_new(threads, NULL);
    for (int i = 0; i < MANY; i++) {
        jobs[i] = (struct job){{note, NULL}, i, &b};
        pool_submit(p, &jobs[i].task);
    }
    pool_free(p);
    return b;
}

TEST(one_thread_works_in_order)
{
    struct board b = run_many(1);
    CHECK_INT(b.done, MANY);
    for (int i = 0; i < MANY; i++)
        CHECK_INT(b.order[i], i);
}

TEST(every_task_is_done_before_free_returns)
{
    struct board b = run_many(THREADS);
    char seen[MANY] = {0};
    CHECK_INT(b.done, MANY);
    for (int i = 0; i < MANY; i++)
        seen[b.order[i]]++;
    for (int i = 0; i < MANY; i++)
        CHECK_INT(seen[i], 1);
}

TEST(no_threads_asked_for_gives_one)
{
    CHECK_INT(run_many(0).done, MANY);
    CHECK_INT(run_many(-3).done, MANY);
}

static void meet(struct fumi_task *task)
{
    struct job *j = FUMI_OWNER(task, struct job, task);
    pthread_barrier_wait(&j->board->together);
    note(task);
}

/* Each task waits for all others, so they end only if they run concurrently. */
TEST(threads_work_side_by_side)
{
    struct board b = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct job jobs[THREADS];
    struct pool *p = pool_new(THREADS, NULL);
    pthread_barrier_init(&b.together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){{meet, NULL}, i, &b};
        pool_submit(p, &jobs[i].task);
    }
    pool_free(p);
    pthread_barrier_destroy(&b.together);
    CHECK_INT(b.done, THREADS);
}

static void again(struct fumi_task *task)
{
    struct job *j = FUMI_OWNER(task, struct job, task);
    note(task);
    if (++j->number < MANY)
        pool_submit(j->board->pool, task);
}

TEST(a_task_may_submit_another)
{
    struct board b = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct job j = {{again, NULL}, 0, &b};
    b.pool = pool_new(2, NULL);
    pool_submit(b.pool, &j.task);
    pool_free(b.pool);
    CHECK_INT(b.done, MANY);
}

static void look_round(struct fumi_task *task)
{
    struct job *j = FUMI_OWNER(task, struct job, task);
    pthread_getname_np(pthread_self(), j->board->name, sizeof(j->board->name));
    pthread_sigmask(SIG_SETMASK, NULL, &j->board->blocked);
}

TEST(workers_have_a_name_and_leave_signals_to_others)
{
    struct board b = {.done = 0};
    struct job j = {{look_round, NULL}, 0, &b};
    sigset_t mine;
    struct pool *p = pool_new(1, NULL);
    pool_submit(p, &j.task);
    pool_free(p);
    CHECK_STR(fumi_str(b.name), "fumi-worker");
    CHECK(sigismember(&b.blocked, SIGTERM) && sigismember(&b.blocked, SIGINT));
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    CHECK(!sigismember(&mine, SIGTERM));
}

static size_t threads_of_this_process(void)
{
    size_t n = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *f; d && (f = readdir(d));)
        n += f->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

TEST(threads_start_on_demand)
{
    struct board b = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct job j = {{note, NULL}, 0, &b};
    size_t before = threads_of_this_process();
    struct pool *p = pool_new(THREADS, NULL);
    CHECK_INT(threads_of_this_process(), before);
    pool_submit(p, &j.task);
    CHECK_INT(threads_of_this_process(), before + 1);
    pool_free(p);
    CHECK_INT(b.done, 1);
}

TEST(without_threads_a_task_runs_on_the_submitter)
{
    struct board b = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct job j = {{note, NULL}, 0, &b};
    pthread_attr_t usual, huge;
    pthread_getattr_default_np(&usual);
    pthread_getattr_default_np(&huge);
    pthread_attr_setstacksize(&huge, (size_t)1 << 50);
    int pipe_ends[2];
    char logged[400] = "";
    CHECK(!pipe(pipe_ends));
    struct fumi_log log = {.level = FUMI_ERROR, .fd = pipe_ends[1]};
    struct pool *p = pool_new(2, &log);
    pthread_setattr_default_np(&huge);
    pool_submit(p, &j.task);
    pool_submit(p, &j.task);
    pthread_setattr_default_np(&usual);
    CHECK_INT(b.done, 2);
    pool_free(p);
    close(pipe_ends[1]);
    CHECK(read(pipe_ends[0], logged, sizeof(logged) - 1) > 0);
    const char *line = strstr(logged, "pool.thread");
    CHECK(line && !strstr(line + 1, "pool.thread"));
    close(pipe_ends[0]);
}
