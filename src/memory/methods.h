/* The methods "memory.*" of a memory. */
#ifndef FUMI_MEMORY_METHODS_H
#define FUMI_MEMORY_METHODS_H

#include "memory/memory.h"
#include "rpc/rpc.h"

/* Adds them all to the server; the memory is borrowed until the server is freed. */
int memory_methods(struct fumi_server *s, struct memory *m, struct fumi_err *e);

/* The method of that name ("memory.search"), to look at its shapes. NULL: there is none. */
const struct fumi_method *memory_method(const char *name);

/* For lists whose rows become part of the answer to a call. listing_row is an `each` of struct
 * loading with a struct listing: it keeps every row until the texts are longer than the answer may
 * be, and then fails as the answer would; or until nobody waits for the answer any more. */
struct listing {
    struct fumi_call *call;
    size_t bytes; /* of the texts so far */
};
int listing_row(void *listing, void *row, size_t bytes, struct fumi_err *e);

#endif
