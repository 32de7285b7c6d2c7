#include "count.h"

#include <errno.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_long early; /* used until the file is mapped */
static atomic_long *count = &early;

__attribute__((constructor)) static void begin(void)
{
    atomic_long *shared = count_map();
    if (shared)
        count = shared;
}

static void add(void)
{
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

void *malloc(size_t size)
{
    add();
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    add();
    return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    add();
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    add();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    add();
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
