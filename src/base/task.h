/* A unit of work for another thread. It is embedded in the object that it works on, so submitting
 * it needs no allocation. */
#ifndef FUMI_BASE_TASK_H
#define FUMI_BASE_TASK_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_task {
    void (*run)(struct fumi_task *task);
    struct fumi_task *next;
};

/* A FIFO queue; {0} is empty. Not thread-safe: its owner locks it. A task is in one queue at most.
 */
struct fumi_tasks {
    struct fumi_task *first, *last;
};

/* The T whose member `member` is at ptr. */
#define FUMI_OWNER(ptr, T, member) ((T *)((char *)(ptr)-offsetof(T, member)))

static inline void fumi_tasks_add(struct fumi_tasks *q, struct fumi_task *t)
{
    t->next = NULL;
    if (q->last)
        q->last->next = t;
    else
        q->first = t;
    q->last = t;
}

/* Removes and returns the oldest task; NULL: the queue is empty. */
static inline struct fumi_task *fumi_tasks_take(struct fumi_tasks *q)
{
    struct fumi_task *t = q->first;
    if (t && !(q->first = t->next))
        q->last = NULL;
    return t;
}

#ifdef __cplusplus
}
#endif

#endif
