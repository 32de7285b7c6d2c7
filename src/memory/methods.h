/* The methods "memory.*" of a memory. */
#ifndef FUMI_MEMORY_METHODS_H
#define FUMI_MEMORY_METHODS_H

#include "memory/memory.h"
#include "rpc/rpc.h"

/* Adds all methods to the server; the memory is borrowed until the server is freed. */
int memory_methods(struct fumi_server *s, struct memory *m, struct fumi_err *e);

/* Returns the method with this name ("memory.search"), for access to its shapes, or NULL. */
const struct fumi_method *memory_method(const char *name);

/* Who makes the changes of a call, in its arena. What the client says of itself, as a client of MCP
 * or in memory.watch, is cut and made one visible line. */
struct author memory_author_of(struct memory *m, const struct fumi_call *call);

/* For lists whose rows become part of the response to a call. listing_row is the `each` of a struct
 * loading, with a struct listing as its argument. It keeps every row. It fails if the call was
 * cancelled, and, with the same error as the response would, if the texts exceed the size limit of
 * the response. */
struct listing {
    struct fumi_call *call;
    size_t bytes; /* of the texts so far */
};
int listing_row(void *listing, void *row, size_t bytes, struct fumi_err *e);

#endif
