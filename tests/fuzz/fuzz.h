/* Shared by the fuzz targets. */
#ifndef FUMI_FUZZ_H
#define FUMI_FUZZ_H

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Aborts if an invariant is violated. */
#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: MUST(%s)\n", __FILE__, __LINE__, #cond);                       \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* A copy on the heap that ends where its block ends; the caller frees it. */
static inline struct fumi_str exact_copy(const void *bytes, size_t n)
{
    char *p = malloc(n ? n : 1);
    MUST(p);
    if (n)
        memcpy(p, bytes, n);
    return (struct fumi_str){n ? p : p + 1, n};
}

static inline void exact_free(struct fumi_str s)
{
    free(s.n ? (char *)s.p : (char *)s.p - 1);
}

#endif
