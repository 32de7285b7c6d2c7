/* Worker threads for work that may wait. */
#ifndef FUMI_NET_POOL_H
#define FUMI_NET_POOL_H

#include "base/log.h"
#include "base/task.h"

struct pool;

/* At most so many threads, each started when it is needed. When not even one can be, what is
 * submitted runs there and then, and the log says so: better slowly than never. */
struct pool *pool_new(int threads, const struct fumi_log *log);
void pool_submit(void *pool, struct fumi_task *task); /* any thread */
void pool_free(struct pool *p);                       /* finishes what was submitted first */

#endif
