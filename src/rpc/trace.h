/* W3C Trace Context: the trace that a call belongs to. Thread-safe. */
#ifndef FUMI_RPC_TRACE_H
#define FUMI_RPC_TRACE_H

#include "../base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FUMI_STATE_MOST = 512 }; /* bytes of a tracestate that are passed on */

/* The contents of a traceparent and its tracestate. */
struct fumi_trace {
    char id[33];           /* trace id: 32 hexadecimal digits in lower case */
    char span[17];         /* span id of the caller: 16 hexadecimal digits in lower case */
    unsigned char flags;   /* bit 0: sampled */
    struct fumi_str state; /* tracestate, borrowed; p is NULL: none */
};

/* Reads a traceparent strictly: version 00 as defined, later versions by the part that they share
 * with it; version ff, ids of zeros and digits in upper case are invalid. Returns false if it is
 * invalid; *out is unspecified then. out->state is the part of `state` that can be passed on: none
 * if `state` is invalid, otherwise as many of its members as fit into FUMI_STATE_MOST bytes. */
bool fumi_trace_read(struct fumi_str parent, struct fumi_str state, struct fumi_trace *out);

/* Writes a traceparent of version 00 for a call to another service: the same trace and flags, and a
 * new random span. from == NULL starts a new trace, which is not sampled. */
enum { FUMI_TRACEPARENT = 56 }; /* bytes, including the NUL */
void fumi_trace_next(const struct fumi_trace *from, char out[FUMI_TRACEPARENT]);

#ifdef __cplusplus
}
#endif

#endif
