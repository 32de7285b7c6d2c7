/* Private to sqlite*.c: the big-endian numbers of SQLite's file format. */
#ifndef FUMI_STORE_SQLITE_BYTES_H
#define FUMI_STORE_SQLITE_BYTES_H

#include <stdint.h>

/* The number in the n bytes at `at`; n is 1 to 4. */
static inline uint32_t be(const void *at, int n)
{
    const unsigned char *p = at;
    uint32_t v = 0;
    for (int i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

#endif
