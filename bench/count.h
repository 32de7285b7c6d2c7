/* Counts memory allocations. libcount.so, preloaded into a program, counts the calls of malloc,
 * calloc, realloc and the aligned variants in the file named by the environment variable COUNT,
 * which any program can read. */
#ifndef FUMI_BENCH_COUNT_H
#define FUMI_BENCH_COUNT_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Maps the counter; NULL if COUNT is not set or the file cannot be created. */
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
