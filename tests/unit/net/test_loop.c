#include "net/loop.h"

#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MANY = 2000, THREADS = 4 };

/* The loop of a test and its events. Only the loop's thread uses it, which TSan checks. */
struct scene {
    struct loop *loop;
    struct fumi_err e;
    struct watch watch, other;
    struct timer early, late, never;
    int fds[2];
    int count, goal, signal;
    unsigned events;
    char seen[16];
    size_t n;
    bool wrong;
};

static struct scene scene_new(void)
{
    struct scene s = {.fds = {-1, -1}};
    s.loop = loop_new(&s.e);
    return s;
}

static void scene_done(struct scene *s)
{
    loop_free(s->loop);
    for (int i = 0; i < 2; i++)
        if (s->fds[i] >= 0)
            close(s->fds[i]);
}

struct job {
    struct fumi_task task;
    struct scene *scene;
    int thread, number;
    int *last; /* number of the previous task of the same thread */
};

static void count(struct fumi_task *task)
{
    struct job *j = FUMI_OWNER(task, struct job, task);
    struct scene *s = j->scene;
    if (j->last && *j->last + 1 != j->number)
        s->wrong = true;
    if (j->last)
        *j->last = j->number;
    if (++s->count == s->goal)
        loop_stop(s->loop);
}

static void *post_many(void *arg)
{
    struct job *jobs = arg;
    for (int i = 0; i < MANY; i++)
        loop_post(jobs[i].scene->loop, &jobs[i].task);
    return NULL;
}

TEST(tasks_from_several_threads_run_each_once_and_in_order)
{
    static struct job jobs[THREADS][MANY];
    struct scene s = scene_new();
    pthread_t threads[THREADS];
    int last[THREADS];
    s.goal = THREADS * MANY;
    for (int t = 0; t < THREADS; t++) {
        last[t] = -1;
        for (int i = 0; i < MANY; i++)
            jobs[t][i] = (struct job){{count, NULL}, &s, t, i, &last[t]};
        pthread_create(&threads[t], NULL, post_many, jobs[t]);
    }
    loop_run(s.loop);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    scene_done(&s);
    CHECK_INT(s.count, s.goal);
    CHECK(!s.wrong);
}

/* Each descriptor limit fails at another step. libuv leaks some descriptors then. */
TEST(a_loop_that_cannot_be_made_is_an_error)
{
    struct fumi_err e = {0};
    struct rlimit before, few;
    int failed = 0;
    getrlimit(RLIMIT_NOFILE, &before);
    few = before;
    for (few.rlim_cur = 3; few.rlim_cur < 20; few.rlim_cur++) {
        setrlimit(RLIMIT_NOFILE, &few);
        struct loop *l = loop_new(&e);
        if (l)
            loop_free(l);
        else
            failed++;
    }
    setrlimit(RLIMIT_NOFILE, &before);
    CHECK(failed > 2);
    CHECK_STR(fumi_str(e.text), "event loop: Too many open files");
}

TEST(free_runs_posted_tasks)
{
    struct scene s = scene_new();
    struct job j = {{count, NULL}, &s, 0, 0, NULL};
    loop_post(s.loop, &j.task);
    scene_done(&s);
    CHECK_INT(s.count, 1);
}

static void *stop(void *arg)
{
    loop_stop(arg);
    return NULL;
}

TEST(stop_before_run_ends_one_run)
{
    struct scene s = scene_new();
    pthread_t thread;
    loop_stop(s.loop);
    loop_run(s.loop);
    pthread_create(&thread, NULL, stop, s.loop);
    loop_run(s.loop);
    pthread_join(thread, NULL);
    scene_done(&s);
    CHECK_INT(s.count, 0);
}

static void take(struct watch *w, unsigned events)
{
    struct scene *s = FUMI_OWNER(w, struct scene, watch);
    ssize_t n = read(w->fd, s->seen + s->n, sizeof(s->seen) - s->n);
    s->events |= events;
    s->count++;
    if (n > 0) {
        s->n += (size_t)n;
        return;
    }
    loop_watch(s->loop, w, 0, &s->e);
    close(w->fd);
    loop_stop(s->loop);
}

/* The data is there and the other end is closed: one iteration reads, the next sees end of file. */
static void read_all(struct scene *s)
{
    s->watch = (struct watch){.fd = s->fds[0], .ready = take};
    s->fds[0] = -1;
    if (!loop_watch(s->loop, &s->watch, LOOP_READ, &s->e))
        loop_run(s->loop);
}

TEST(a_pipe_can_be_unwatched_within_ready)
{
    struct scene s = scene_new();
    CHECK(pipe(s.fds) == 0 && write(s.fds[1], "abc", 3) == 3);
    close(s.fds[1]);
    s.fds[1] = -1;
    read_all(&s);
    scene_done(&s);
    CHECK_STR(((struct fumi_str){s.seen, s.n}), "abc");
    CHECK_INT(s.events, LOOP_READ);
    CHECK_INT(s.count, 2);
    CHECK(!s.watch.handle);
}

TEST(a_plain_file_is_always_ready)
{
    struct scene s = scene_new();
    FILE *f = tmpfile();
    CHECK(f && fputs("xyz", f) >= 0 && fflush(f) == 0);
    s.fds[0] = dup(fileno(f));
    fclose(f);
    lseek(s.fds[0], 0, SEEK_SET);
    read_all(&s);
    scene_done(&s);
    CHECK_STR(((struct fumi_str){s.seen, s.n}), "xyz");
}

TEST(the_null_device_is_always_ready)
{
    struct scene s = scene_new();
    s.fds[0] = open("/dev/null", O_RDWR);
    read_all(&s);
    scene_done(&s);
    CHECK_INT(s.count, 1);
}

static void stop_at_three(struct watch *w, unsigned events)
{
    struct scene *s = FUMI_OWNER(w, struct scene, watch);
    s->events |= events;
    if (++s->count == 3)
        loop_stop(s->loop);
}

/* libuv reports an error and stops; the owner must be notified until it reacts. */
TEST(a_pipe_without_reader_counts_as_ready_to_write)
{
    struct scene s = scene_new();
    CHECK(pipe(s.fds) == 0);
    close(s.fds[0]);
    s.fds[0] = -1;
    s.watch = (struct watch){.fd = s.fds[1], .ready = stop_at_three};
    CHECK_INT(loop_watch(s.loop, &s.watch, LOOP_WRITE, &s.e), 0);
    loop_run(s.loop);
    scene_done(&s);
    CHECK(s.count >= 3);
    CHECK_INT(s.events, LOOP_WRITE);
}

static void turn_round(struct watch *w, unsigned events)
{
    struct scene *s = FUMI_OWNER(w, struct scene, watch);
    char byte;
    s->seen[s->n++] = events & LOOP_WRITE ? 'w' : 'r';
    if (events & LOOP_WRITE) {
        loop_watch(s->loop, w, LOOP_READ, &s->e);
        s->wrong = write(s->fds[1], "1", 1) != 1;
    } else {
        s->wrong = s->wrong || read(w->fd, &byte, 1) != 1;
        loop_stop(s->loop);
    }
}

TEST(events_can_be_changed)
{
    struct scene s = scene_new();
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s.fds) == 0);
    s.watch = (struct watch){.fd = s.fds[0], .ready = turn_round};
    CHECK_INT(loop_watch(s.loop, &s.watch, LOOP_READ | LOOP_WRITE, &s.e), 0);
    CHECK_INT(loop_watch(s.loop, &s.watch, LOOP_READ | LOOP_WRITE, &s.e), 0);
    loop_run(s.loop);
    scene_done(&s);
    CHECK_STR(((struct fumi_str){s.seen, s.n}), "wr");
    CHECK(!s.wrong);
}

TEST(a_watched_descriptor_stays_blocking)
{
    struct scene s = scene_new();
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s.fds) == 0);
    s.watch = (struct watch){.fd = s.fds[0], .ready = take};
    CHECK_INT(loop_watch(s.loop, &s.watch, LOOP_READ, &s.e), 0);
    int while_watched = fcntl(s.fds[0], F_GETFL);
    loop_watch(s.loop, &s.watch, 0, &s.e);
    fcntl(s.fds[0], F_SETFL, O_RDWR | O_NONBLOCK);
    CHECK_INT(loop_watch(s.loop, &s.watch, LOOP_READ, &s.e), 0);
    int set_by_others = fcntl(s.fds[0], F_GETFL);
    scene_done(&s);
    CHECK(!(while_watched & O_NONBLOCK));
    CHECK(set_by_others & O_NONBLOCK);
}

TEST(descriptors_that_cannot_be_watched_are_refused)
{
    struct scene s = scene_new();
    CHECK(pipe(s.fds) == 0);
    s.watch = (struct watch){.fd = s.fds[0], .ready = take};
    s.other = (struct watch){.fd = s.fds[0], .ready = take};
    int first = loop_watch(s.loop, &s.watch, LOOP_READ, &s.e);
    int twice = loop_watch(s.loop, &s.other, LOOP_READ, &s.e);
    struct fumi_err e = {0};
    s.other.fd = 987;
    int closed = loop_watch(s.loop, &s.other, LOOP_READ, &e);
    scene_done(&s);
    CHECK_INT(first, 0);
    CHECK_INT(twice, -1);
    CHECK_INT(closed, -1);
    CHECK_INT(e.code, FUMI_INTERNAL_ERROR);
    CHECK_STR(fumi_str(e.text), "descriptor 987: bad file descriptor");
}

static void post_again(struct fumi_task *task)
{
    struct job *j = FUMI_OWNER(task, struct job, task);
    if (j->scene->n == 0)
        loop_post(j->scene->loop, task);
}

/* Ends only if the pipe is served although there is always a task. */
TEST(tasks_that_post_tasks_do_not_starve_descriptors)
{
    struct scene s = scene_new();
    struct job j = {{post_again, NULL}, &s, 0, 0, NULL};
    CHECK(pipe(s.fds) == 0 && write(s.fds[1], "abc", 3) == 3);
    close(s.fds[1]);
    s.fds[1] = -1;
    loop_post(s.loop, &j.task);
    read_all(&s);
    scene_done(&s);
    CHECK_INT(s.n, 3);
}

static void on_early(struct timer *t)
{
    struct scene *s = FUMI_OWNER(t, struct scene, early);
    s->seen[s->n++] = 'e';
}

static void on_late(struct timer *t)
{
    struct scene *s = FUMI_OWNER(t, struct scene, late);
    s->seen[s->n++] = 'l';
    if (s->n == 3)
        loop_stop(s->loop);
    else
        loop_timer(s->loop, t, 0, &s->e);
}

static void on_never(struct timer *t)
{
    FUMI_OWNER(t, struct scene, never)->wrong = true;
}

TEST(timers_fire_in_order_and_can_be_reset_or_stopped)
{
    struct scene s = scene_new();
    s.early.on = on_early;
    s.late.on = on_late;
    s.never.on = on_never;
    CHECK_INT(loop_timer(s.loop, &s.never, 0, &s.e), 0);
    CHECK_INT(loop_timer(s.loop, &s.late, 5, &s.e), 0);
    CHECK_INT(loop_timer(s.loop, &s.early, 3600 * 1000, &s.e), 0);
    CHECK_INT(loop_timer(s.loop, &s.early, 1, &s.e), 0);
    CHECK_INT(loop_timer(s.loop, &s.never, -1, &s.e), 0);
    CHECK_INT(loop_timer(s.loop, &s.never, -1, &s.e), 0);
    loop_run(s.loop);
    scene_done(&s);
    CHECK_STR(((struct fumi_str){s.seen, s.n}), "ell");
    CHECK(!s.wrong);
}

static void on_turn(void *arg)
{
    struct scene *s = arg;
    if (s->n && s->seen[s->n - 1] == 't')
        return;
    s->seen[s->n++] = 't';
    if (s->n > 1 && s->seen[s->n - 2] == 'e')
        loop_stop(s->loop);
}

static void note(struct fumi_task *task)
{
    struct scene *s = FUMI_OWNER(task, struct job, task)->scene;
    s->seen[s->n++] = 'p';
}

/* The callback runs after every event, before the loop waits again. */
TEST(before_wait_runs_before_the_loop_waits)
{
    struct scene s = scene_new();
    struct job j = {.task = {note, NULL}, .scene = &s};
    s.early.on = on_early;
    loop_before_wait(s.loop, on_turn, &s);
    CHECK_INT(loop_timer(s.loop, &s.early, 30, &s.e), 0);
    loop_post(s.loop, &j.task);
    loop_run(s.loop);
    scene_done(&s);
    CHECK_STR(((struct fumi_str){s.seen, s.n}), "tptet");
}

static void count_turn(void *arg)
{
    struct scene *s = arg;
    s->count++;
}

static void drain(struct watch *w, unsigned events)
{
    char byte;
    (void)events;
    CHECK_INT(read(w->fd, &byte, 1), 1);
}

static void stop_it(struct timer *t)
{
    loop_stop(FUMI_OWNER(t, struct scene, early)->loop);
}

/* Counts the iterations in 100 ms with `events` ready descriptors. */
static void count_turns(int events, int *count)
{
    enum { MOST = 8 };
    struct scene s = scene_new();
    struct watch w[MOST];
    int fds[MOST][2];
    s.early.on = stop_it;
    loop_before_wait(s.loop, count_turn, &s);
    for (int i = 0; i < events; i++) {
        CHECK_INT(pipe(fds[i]), 0);
        w[i] = (struct watch){.fd = fds[i][0], .ready = drain};
        CHECK_INT(loop_watch(s.loop, &w[i], LOOP_READ, &s.e), 0);
        CHECK_INT(write(fds[i][1], "x", 1), 1);
    }
    CHECK_INT(loop_timer(s.loop, &s.early, 100, &s.e), 0);
    loop_run(s.loop);
    for (int i = 0; i < events; i++) {
        loop_watch(s.loop, &w[i], 0, &s.e);
        close(fds[i][0]);
        close(fds[i][1]);
    }
    scene_done(&s);
    *count = s.count;
}

/* A busy loop would make some ten thousand iterations before the timer fires. */
TEST(a_loop_without_events_sleeps)
{
    int few = 0, many = 0;
    count_turns(1, &few);
    count_turns(8, &many);
    CHECK(few <= 4);
    CHECK(many <= 11);
}

static void on_signal(void *arg, int number)
{
    struct scene *s = arg;
    s->signal = number;
    loop_stop(s->loop);
}

static void own_handler(int number)
{
    (void)number;
}

TEST(signals_arrive_and_handling_is_restored)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction own = {.sa_handler = own_handler}, after;
    for (size_t i = 0; i < FUMI_COUNT(numbers); i++) {
        struct scene s = scene_new();
        sigaction(numbers[i], &own, NULL);
        CHECK_INT(loop_signals(s.loop, on_signal, &s, &s.e), 0);
        raise(numbers[i]);
        loop_run(s.loop);
        scene_done(&s);
        CHECK_INT(s.signal, numbers[i]);
        sigaction(numbers[i], NULL, &after);
        CHECK(after.sa_handler == own_handler);
        signal(numbers[i], SIG_DFL);
    }
}

TEST(signal_handling_can_be_restored_early)
{
    struct scene s = scene_new();
    struct sigaction after;
    CHECK_INT(loop_signals(s.loop, on_signal, &s, &s.e), 0);
    loop_signals(s.loop, NULL, NULL, &s.e);
    sigaction(SIGTERM, NULL, &after);
    scene_done(&s);
    CHECK(after.sa_handler == SIG_DFL);
}

/* The leak checker reports what loop_free forgets. */
TEST(free_closes_all_handles)
{
    struct scene s = scene_new();
    CHECK(pipe(s.fds) == 0);
    int null = open("/dev/null", O_RDWR);
    s.watch = (struct watch){.fd = s.fds[0], .ready = take};
    s.other = (struct watch){.fd = null, .ready = take};
    s.late.on = on_late;
    CHECK_INT(loop_watch(s.loop, &s.watch, LOOP_READ, &s.e), 0);
    CHECK_INT(loop_watch(s.loop, &s.other, LOOP_READ, &s.e), 0);
    CHECK_INT(loop_timer(s.loop, &s.late, 1000, &s.e), 0);
    CHECK_INT(loop_signals(s.loop, on_signal, &s, &s.e), 0);
    scene_done(&s);
    close(null);
    CHECK_INT(s.count, 0);
}
