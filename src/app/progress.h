/* A bar on standard error for what takes more than a second: how much is done, how fast, and how
 * long the rest will take. Only in a terminal. A thread draws it, so that it also moves while a
 * step takes long. */
#ifndef FUMI_APP_PROGRESS_H
#define FUMI_APP_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what, *unit; /* "importing", "notes" */
    bool drawn;              /* the thread runs */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    /* Under the lock: */
    int64_t began; /* fumi_ticks */
    int64_t first, done, total;
    bool shown, end;
};

/* `done` of `total` before the work begins; total 0: not known. The strings are borrowed. */
void progress_begin(struct progress *p, const char *what, const char *unit, int64_t done,
                    int64_t total);
void progress_at(struct progress *p, int64_t done, int64_t total);
/* The same for a struct progress of any type. Returns false if the user wants to stop
 * (interrupt.h).
 */
bool progress_tell(void *progress, int64_t done, int64_t total);
/* Removes the bar, so that something else can be printed; it is drawn again soon. */
void progress_hide(struct progress *p);
/* Removes the bar and ends the thread. A {0} is allowed. */
void progress_end(struct progress *p);

#endif
