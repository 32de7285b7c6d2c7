/* How often a program asks for memory. libcount.so, preloaded into it, counts the calls of malloc,
 * calloc, realloc and their relatives in the file that the environment variable COUNT names; that
 * program or another one reads the count. */
#ifndef FUMI_BENCH_COUNT_H
#define FUMI_BENCH_COUNT_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The count, shared with the file; NULL: there is no COUNT, or no such file. */
static inline atomic_long *count_map(void)
{
    const char *path = getenv("COUNT");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return NULL;
    int rc = ftruncate(fd, sizeof(atomic_long));
    void *p = mmap(NULL, sizeof(atomic_long), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return rc || p == MAP_FAILED ? NULL : p;
}

#endif
