/* Worker threads for work that may wait. */
#ifndef FUMI_NET_POOL_H
#define FUMI_NET_POOL_H

#include "base/task.h"

struct pool;

struct pool *pool_new(int threads);                   /* at most so many, each when it is needed */
void pool_submit(void *pool, struct fumi_task *task); /* any thread */
void pool_free(struct pool *p);                       /* finishes what was submitted first */

#endif
