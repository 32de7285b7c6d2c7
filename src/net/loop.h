/* The event loop: descriptors, signals, timers and tasks posted from other threads. On libuv, which
 * nobody outside loop.c sees. Everything but loop_post and loop_stop belongs to the thread that
 * runs the loop. */
#ifndef FUMI_NET_LOOP_H
#define FUMI_NET_LOOP_H

#include "base/err.h"
#include "base/task.h"

struct loop;

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

/* A descriptor that is waited for; embedded in its connection, {0} before first use. A descriptor
 * that cannot be waited for (a plain file) counts as always ready. */
struct watch {
    int fd;
    void (*ready)(struct watch *w, unsigned events);
    unsigned events; /* that are waited for */
    void *handle;    /* private to loop.c */
};

struct loop *loop_new(struct fumi_err *e);
void loop_free(struct loop *l); /* after loop_run has returned; runs what is still posted */

/* Waits for these events from now on; 0: for none, and forgets the descriptor, which may then be
 * closed. May be called from within ready. */
int loop_watch(struct loop *l, struct watch *w, unsigned events, struct fumi_err *e);

/* Calls `on` in the loop for each of SIGINT and SIGTERM; NULL: not any more, and unless another
 * loop waits for them, they do again what they did before. */
int loop_signals(struct loop *l, void (*on)(void *arg, int signal), void *arg, struct fumi_err *e);

/* Calls `on` once in that many milliseconds, unless set again before; negative: not any more. */
struct timer {
    void (*on)(struct timer *t);
    void *handle; /* private to loop.c */
};
int loop_timer(struct loop *l, struct timer *t, int64_t ms, struct fumi_err *e);

/* `on` is called whenever the loop is about to wait: at the end of every turn but the last. */
void loop_turn(struct loop *l, void (*on)(void *arg), void *arg);

/* Milliseconds, as of the beginning of this turn or the last call of loop_timer. */
int64_t loop_now(const struct loop *l);

void loop_post(struct loop *l, struct fumi_task *task); /* any thread */
void loop_run(struct loop *l);                          /* until loop_stop */
void loop_stop(struct loop *l);                         /* any thread, any time, also before run */

/* For a loop inside another one, instead of loop_run. loop_fd returns a descriptor, which stays the
 * loop's, that is readable whenever loop_step has something to do; -1 with *e set. loop_step does
 * what can be done without waiting, and returns false after loop_stop. */
int loop_fd(struct loop *l, struct fumi_err *e);
bool loop_step(struct loop *l);

#endif
