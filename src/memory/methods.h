/* The methods "memory.*" of a memory. */
#ifndef FUMI_MEMORY_METHODS_H
#define FUMI_MEMORY_METHODS_H

#include "memory/memory.h"
#include "rpc/rpc.h"

/* Adds them all to the server; the memory is borrowed until the server is freed. */
int memory_methods(struct fumi_server *s, struct memory *m, struct fumi_err *e);

#endif
