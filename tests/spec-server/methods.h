/* The methods that the talks use: those of the JSON-RPC 2.0 specification's examples, and some
 * that fail, wait, tell and ask, so that every way through the library can be seen from outside. */
#ifndef SPEC_METHODS_H
#define SPEC_METHODS_H

#include "rpc/rpc.h"

struct spec;

/* Adds them to the server; NULL with *e set when that fails. */
struct spec *spec_open(struct fumi_server *s, struct fumi_err *e);

/* Waits for threads that still finish a call. After the last answer, before fumi_server_free. */
void spec_close(struct spec *spec);

#endif
