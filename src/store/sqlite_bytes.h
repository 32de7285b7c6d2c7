/* Private to sqlite*.c: numbers as they stand in a database file. */
#ifndef FUMI_STORE_SQLITE_BYTES_H
#define FUMI_STORE_SQLITE_BYTES_H

#include <stdint.h>

static inline uint32_t be(const void *at, int n)
{
    const unsigned char *p = at;
    uint32_t v = 0;
    for (int i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

#endif
