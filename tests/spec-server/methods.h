/* The methods that the talks use: those of the examples in the JSON-RPC 2.0 specification, and
 * methods that fail, wait, send notifications and send requests, so that a client can reach every
 * path through the library. */
#ifndef SPEC_METHODS_H
#define SPEC_METHODS_H

#include "rpc/rpc.h"

struct spec;

/* Adds the methods to the server. Returns NULL with *e set on failure. */
struct spec *spec_open(struct fumi_server *s, struct fumi_err *e);

/* Waits for threads that are finishing calls, and frees spec. After the last reply and before
 * fumi_server_free. */
void spec_close(struct spec *spec);

#endif
