/* Worker threads for tasks that may block. */
#ifndef FUMI_NET_POOL_H
#define FUMI_NET_POOL_H

#include "base/log.h"
#include "base/task.h"

struct pool;

/* Creates a pool of at most `threads` threads (at least 1), which are started on demand. If no
 * thread can be started, tasks run on the submitting thread, and the log reports it once. `log`
 * must outlive the pool. Never returns NULL. */
struct pool *pool_new(int threads, const struct fumi_log *log);
/* From any thread. The task is borrowed until it has run. */
void pool_submit(void *pool, struct fumi_task *task);
/* Runs all submitted tasks first. Only tasks themselves may still submit others. */
void pool_free(struct pool *p);

#endif
