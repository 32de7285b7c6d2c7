/* Work for another thread: embedded in what it works on, so handing it over allocates nothing. */
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

/* First in, first out; {0} is empty. The owner locks it. */
struct fumi_tasks {
    struct fumi_task *first, *last;
};

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
