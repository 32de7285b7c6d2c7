/* The source of a message: its context, which identifies the caller, and its trace.
 *
 * A peer is a connection, and one connection may carry the requests of several users. So each
 * message has its own source, which the transport passes in fumi_sink.source. */
#ifndef FUMI_RPC_SOURCE_H
#define FUMI_RPC_SOURCE_H

#include "../rpc/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reference-counted: the transport holds a reference, and so does every call that missed its
 * deadline and still runs. */
struct fumi_source;

/* Attaches a context, which becomes call->context. `done`, unless NULL, is called with it once, by
 * the thread that releases the last reference. Creates a source if *s is NULL. Returns -1, and does
 * not take the context, if *s has one already. Only before a message of the source is handled. */
int fumi_source_attach(struct fumi_source **s, void *context, void (*done)(void *context));

/* Sets the trace of the request, and copies its state. Creates a source if *s is NULL. Only before
 * a message of the source is handled. */
void fumi_source_set_trace(struct fumi_source **s, const struct fumi_trace *trace);

/* Return the context and the trace; NULL: none. s may be NULL. From any thread that holds a
 * reference. */
void *fumi_source_context(const struct fumi_source *s);
const struct fumi_trace *fumi_source_trace(const struct fumi_source *s);

/* Releases the reference of the transport, after the reply to the last message of the source. s may
 * be NULL. From any thread. */
void fumi_source_release(struct fumi_source *s);

#ifdef __cplusplus
}
#endif

#endif
