/* Where a message comes from, beside its peer: who asks, and which trace the request belongs to.
 *
 * A peer is a connection, and one connection may carry the requests of several users. So a message
 * has a source of its own, which a transport names in its sink (fumi_sink.source). */
#ifndef FUMI_RPC_SOURCE_H
#define FUMI_RPC_SOURCE_H

#include "../rpc/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counted: the transport holds a reference, and so does a call that missed its deadline and still
 * runs. NULL: nothing is known. */
struct fumi_source;

/* Attaches a context, which calls see as call->context. `done`, unless NULL, is called with it
 * once, by the thread that releases the last reference. Makes a source if *s is NULL. Returns -1,
 * and takes nothing, if *s has a context already. Only before a message of that source is handled.
 */
int fumi_source_attach(struct fumi_source **s, void *context, void (*done)(void *context));

/* Notes the trace of the request, and copies its state. Makes a source if *s is NULL. Only before a
 * message of that source is handled. */
void fumi_source_set_trace(struct fumi_source **s, const struct fumi_trace *trace);

/* What was attached and noted. NULL: nothing. s may be NULL. From any thread, as long as the caller
 * knows that the source is there. */
void *fumi_source_context(const struct fumi_source *s);
const struct fumi_trace *fumi_source_trace(const struct fumi_source *s);

/* Releases the reference of the transport: after the reply to its last message. s may be NULL. From
 * any thread. */
void fumi_source_release(struct fumi_source *s);

#ifdef __cplusplus
}
#endif

#endif
