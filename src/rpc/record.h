/* A handler that writes down what passes through another, as a .talk transcript. */
#ifndef FUMI_RPC_RECORD_H
#define FUMI_RPC_RECORD_H

#include "../rpc/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_record;

/* Each message is appended to `fd` as "--> text" ("~~> text" with \xHH for line breaks), each
 * answer and each thing told as "<-- text", a line each, in the order in which they pass. The
 * descriptor stays the caller's. */
struct fumi_record *fumi_record_new(fumi_handle_fn *inner, void *self, int fd);
void fumi_record_free(struct fumi_record *r); /* after the last answer */

fumi_handle_fn fumi_record_handle; /* self: a struct fumi_record */

#ifdef __cplusplus
}
#endif

#endif
