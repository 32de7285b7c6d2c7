/* A handler that records all messages of another handler as a .talk transcript. */
#ifndef FUMI_RPC_RECORD_H
#define FUMI_RPC_RECORD_H

#include "../rpc/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_record;

/* Returns a recorder for the handler `inner` with its `self`. It appends one line to fd for each
 * message in the order of arrival: "--> text" for a message of the peer ("~~> text", with \xHH
 * escapes, if it has line breaks), "<-- text" for an answer and for a notification. Errors of fd
 * are ignored. The caller owns fd and must keep it open until fumi_record_free. */
struct fumi_record *fumi_record_new(fumi_handle_fn *inner, void *self, int fd);
void fumi_record_free(struct fumi_record *r); /* after the last reply; r may be NULL */

fumi_handle_fn fumi_record_handle; /* self: a struct fumi_record */

#ifdef __cplusplus
}
#endif

#endif
