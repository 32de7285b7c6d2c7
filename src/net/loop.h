/* The event loop: descriptors, signals, timers, and tasks posted from other threads. Based on
 * libuv, which only loop.c uses. All functions except loop_post and loop_stop must be called on the
 * thread that runs the loop. */
#ifndef FUMI_NET_LOOP_H
#define FUMI_NET_LOOP_H

#include "base/err.h"
#include "base/task.h"

struct loop;

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

/* A watched descriptor. Embed it in its owner and zero-initialize it. A descriptor that cannot be
 * polled (a regular file) counts as always ready. */
struct watch {
    int fd;
    void (*ready)(struct watch *w, unsigned events);
    unsigned events; /* LOOP_READ, LOOP_WRITE that are watched */
    void *handle;    /* private to loop.c */
};

struct loop *loop_new(struct fumi_err *e);
/* After loop_run has returned. Runs the tasks that are still posted. */
void loop_free(struct loop *l);

/* Watches the descriptor for these events from now on. 0 stops watching; the descriptor may then be
 * closed. May be called from `ready`. Returns -1 with *e set on failure. */
int loop_watch(struct loop *l, struct watch *w, unsigned events, struct fumi_err *e);

/* Calls `on` on the loop for every SIGINT and SIGTERM. NULL restores the previous signal handling,
 * unless another loop still handles the signals. */
int loop_signals(struct loop *l, void (*on)(void *arg, int signal), void *arg, struct fumi_err *e);

/* A timer, zero-initialized but for `on`. loop_timer calls `on` once after ms milliseconds; setting
 * it again replaces the earlier time, a negative time stops and releases the timer. */
struct timer {
    void (*on)(struct timer *t);
    void *handle; /* private to loop.c */
};
int loop_timer(struct loop *l, struct timer *t, int64_t ms, struct fumi_err *e);

/* Calls `on` each time before the loop waits for events, that is at the end of each iteration but
 * the last. */
void loop_before_wait(struct loop *l, void (*on)(void *arg), void *arg);

/* Monotonic time in ms, as of the beginning of the iteration or the last call of loop_timer. */
int64_t loop_now(const struct loop *l);

/* From any thread. The task is borrowed until it has run. */
void loop_post(struct loop *l, struct fumi_task *task);
void loop_run(struct loop *l);  /* returns after loop_stop */
void loop_stop(struct loop *l); /* from any thread at any time, even before loop_run */

/* To embed the loop into another event loop, instead of loop_run. loop_fd returns a descriptor,
 * owned by the loop, that is readable whenever loop_step has something to do; -1 with *e set on
 * failure. loop_step does what is possible without waiting, and returns false after loop_stop. */
int loop_fd(struct loop *l, struct fumi_err *e);
bool loop_step(struct loop *l);

#endif
