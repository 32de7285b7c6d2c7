#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#if defined(__SANITIZE_ADDRESS__)
#define FUMI_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FUMI_ASAN 1
#endif
#endif

/* Under ASan the unused part of a chunk is poisoned, so that overruns are detected. */
#ifdef FUMI_ASAN
#include <sanitizer/asan_interface.h>
#define HIDE(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define SHOW(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define HIDE(p, n) ((void)0)
#define SHOW(p, n) ((void)0)
#endif

enum { FIRST_CHUNK = 4096, ALIGN = 16, SMALL = 64 };

struct fumi_chunk {
    struct fumi_chunk *older;
    size_t size; /* of bytes[] */
    _Alignas(ALIGN) char bytes[];
};

static size_t rounded(size_t size)
{
    assert(size <= SIZE_MAX / 2);
    return (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

/* Chunk sizes double, so an arena has few chunks. */
static void add_chunk(struct fumi_arena *a, size_t least)
{
    size_t size = a->chunks ? a->chunks->size * 2 : FIRST_CHUNK - sizeof(struct fumi_chunk);
    if (size < least)
        size = rounded(least);
    struct fumi_chunk *c = fumi_resize(NULL, sizeof(*c) + size);
    c->older = a->chunks;
    c->size = size;
    a->chunks = c;
    a->free = c->bytes;
    a->left = size;
    HIDE(c->bytes, size);
}

char *fumi_tail(struct fumi_arena *a, size_t least, size_t *size)
{
    if (a->left < least || !a->chunks)
        add_chunk(a, least);
    *size = a->left;
    SHOW(a->free, a->left);
    return a->free;
}

void fumi_take(struct fumi_arena *a, size_t used)
{
    assert(used <= a->left);
    size_t n = rounded(used) < a->left ? rounded(used) : a->left;
    a->free += n;
    a->left -= n;
    HIDE(a->free, a->left);
}

static char *take_raw(struct fumi_arena *a, size_t size)
{
    size_t n = rounded(size ? size : 1);
    if (a->left < n)
        add_chunk(a, n);
    char *p = a->free;
    a->free += n;
    a->left -= n;
    SHOW(p, size);
    return p;
}

void *fumi_alloc(struct fumi_arena *a, size_t size)
{
    char *p = take_raw(a, size);
    if (size > SMALL || size % ALIGN)
        return memset(p, 0, size);
    for (size_t i = 0; i < size; i += ALIGN) /* inlined by the compiler */
        memset(p + i, 0, ALIGN);
    return p;
}

struct fumi_str fumi_dup(struct fumi_arena *a, struct fumi_str s)
{
    if (!s.p)
        return s;
    char *p = take_raw(a, s.n);
    memcpy(p, s.p, s.n);
    return (struct fumi_str){p, s.n};
}

struct fumi_str fumi_fmt(struct fumi_arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0)
        return (struct fumi_str){"", 0};
    char *p = take_raw(a, (size_t)n + 1);
    va_start(args, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, args);
    va_end(args);
    return (struct fumi_str){p, (size_t)n};
}

/* Several chunks are replaced by a single one of the same total size, so that the next message of
 * that size needs no allocation. */
void fumi_arena_reset(struct fumi_arena *a, size_t keep)
{
    struct fumi_chunk *newest = a->chunks;
    if (!newest)
        return;
    if (newest->older || newest->size > keep) {
        size_t total = 0;
        for (struct fumi_chunk *c = newest; c; c = c->older)
            total += c->size;
        fumi_arena_done(a);
        if (total <= keep)
            add_chunk(a, total);
        return;
    }
    a->free = newest->bytes;
    a->left = newest->size;
    HIDE(newest->bytes, newest->size);
}

void fumi_arena_done(struct fumi_arena *a)
{
    while (a->chunks) {
        struct fumi_chunk *c = a->chunks;
        a->chunks = c->older;
        SHOW(c->bytes, c->size);
        fumi_resize(c, 0);
    }
    *a = (struct fumi_arena){0};
}
