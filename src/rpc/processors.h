/* Processors that come with the library. Each is given to fumi_server_use. */
#ifndef FUMI_RPC_PROCESSORS_H
#define FUMI_RPC_PROCESSORS_H

#include "../rpc/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A line for each call: method (cut at 64 bytes), transport, code, microseconds and, where it has
 * one, the id of its trace. Calls that fail internally as errors, others at FUMI_INFO. Never
 * params. `log` is borrowed. */
struct fumi_processor fumi_log_calls(const struct fumi_log *log);

/* Each call must end in that many milliseconds: see fumi_call.deadline. The time in which it waits
 * for the executor counts. A subscription (FUMI_SUBSCRIPTION) has no limit. 0: nothing has. */
struct fumi_time_limit {
    int64_t ms;
};
struct fumi_processor fumi_limit_time(const struct fumi_time_limit *limit); /* borrowed */

/* Counts calls by method and code, and how long they took, as Prometheus text (0.0.4). Made after
 * the methods were added: those of later ones count under method="", as do those of none. Any
 * thread may write it out while calls run, and while the server is there. */
struct fumi_metrics;
struct fumi_metrics *fumi_metrics_new(const struct fumi_server *s);
void fumi_metrics_free(struct fumi_metrics *m);
struct fumi_processor fumi_count_calls(struct fumi_metrics *m);
void fumi_metrics_put(struct fumi_metrics *m, struct fumi_buf *out);

#ifdef __cplusplus
}
#endif

#endif
