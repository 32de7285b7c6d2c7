/* Private to rpc/: writes answers, requests and notifications as text. */
#ifndef FUMI_RPC_ANSWER_H
#define FUMI_RPC_ANSWER_H

#include "rpc/rpc.h"

/* Appends an error answer. id == NULL: null, or no id with ANSWER_NO_ID. Errors are short, so no
 * size limit applies. See FUMI_ID_NONE, FUMI_PLAIN_ERRORS and FUMI_DETAILED_ERRORS. */
enum { ANSWER_NO_ID = 1, ANSWER_PLAIN = 2, ANSWER_DETAILED = 4 };
void answer_error(struct fumi_buf *b, const struct fumi_err *e, const struct fumi_val *id,
                  unsigned how);

/* Appends the answer to a call that succeeded. Returns -1 with *e set if JSON cannot express the
 * result or the buffer would exceed the size limit of answers. The caller then truncates the buffer
 * to its former length. */
int answer_result(struct fumi_buf *b, const struct fumi_call *c, struct fumi_err *e);

/* The parts of such an answer: what precedes the result, the result, and what follows it. They obey
 * the limit of the buffer; answer_value and answer_end fail as answer_result does. */
void answer_begin(struct fumi_buf *b);
int answer_value(struct fumi_out *o, const struct fumi_call *c, bool compact, struct fumi_err *e);
int answer_end(struct fumi_buf *b, const struct fumi_call *c, struct fumi_err *e);

/* Append a request: first its method, then its params, if any, and its id. id == 0: a notification.
 */
struct fumi_out request_open(struct fumi_buf *b, const char *method);
void request_close(struct fumi_out *o, struct fumi_json params, int64_t id);

/* Appends a notification. s == NULL: without params. */
void request_notify(struct fumi_buf *b, const char *method, const struct fumi_shape *s,
                    const void *params);

#endif
