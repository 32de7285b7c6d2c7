/* The processors of the library, for fumi_server_use. Their arguments are borrowed and must outlive
 * the server. */
#ifndef FUMI_RPC_PROCESSORS_H
#define FUMI_RPC_PROCESSORS_H

#include "../rpc/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Logs one line per call: method (truncated to 64 bytes), transport, code, duration in microseconds
 * and, if it has a trace, the trace id. Internal errors are logged at FUMI_ERROR, all other calls
 * at FUMI_INFO. Params are never logged. */
struct fumi_processor fumi_log_calls(const struct fumi_log *log);

/* Sets the deadline of each call: see fumi_call.deadline. The time that a call waits for the
 * executor counts. Methods with FUMI_SUBSCRIPTION have no limit. */
struct fumi_time_limit {
    int64_t ms; /* 0: no limit */
};
struct fumi_processor fumi_limit_time(const struct fumi_time_limit *limit);

/* Counts calls by method and code, and measures their duration. Create the metrics after all
 * methods were added: methods added later, and unknown ones, are counted as method="". Free them
 * after the server has handled its last message. */
struct fumi_metrics;
struct fumi_metrics *fumi_metrics_new(const struct fumi_server *s);
void fumi_metrics_free(struct fumi_metrics *m);
struct fumi_processor fumi_count_calls(struct fumi_metrics *m);
/* Appends the metrics in the Prometheus text format 0.0.4. From any thread, until the server is
 * freed. */
void fumi_metrics_put(struct fumi_metrics *m, struct fumi_buf *out);

#ifdef __cplusplus
}
#endif

#endif
