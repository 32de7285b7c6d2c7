/* Memory that is freed all at once. One arena serves one message; single allocations are never
 * freed. */
#ifndef FUMI_BASE_ARENA_H
#define FUMI_BASE_ARENA_H

#include "../base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_chunk;

/* {0} is an empty arena. Not thread-safe. */
struct fumi_arena {
    struct fumi_chunk *chunks; /* newest first */
    char *free;                /* the unused tail of the newest chunk */
    size_t left;
};

/* The allocator: libfumi allocates, grows and frees all of its memory with this function. old ==
 * NULL allocates; size 0 frees `old`, which may be NULL, and returns NULL. Otherwise never returns
 * NULL: if memory is exhausted, it writes one line to stderr and exits with status 70. The symbol
 * is weak: a program may define its own, with the static and with the shared library. */
void *fumi_resize(void *old, size_t size);

/* Returns zeroed memory, aligned for any type; never NULL. It is valid until fumi_arena_reset or
 * fumi_arena_done. */
void *fumi_alloc(struct fumi_arena *a, size_t size);

/* Returns a copy of s in the arena, not terminated. If s.p is NULL, returns s. */
struct fumi_str fumi_dup(struct fumi_arena *a, struct fumi_str s);

/* Formats like printf into the arena. The text is terminated; n does not count the NUL. */
struct fumi_str fumi_fmt(struct fumi_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* For data whose size is not known in advance. fumi_tail returns unused memory, not zeroed: at
 * least `least` bytes, and their actual number in *size. fumi_take then allocates the first `used`
 * of these bytes. The arena must not be used between the two calls. */
char *fumi_tail(struct fumi_arena *a, size_t least, size_t *size);
void fumi_take(struct fumi_arena *a, size_t used);

/* Frees all allocations. fumi_arena_reset keeps up to `keep` bytes of memory for reuse;
 * fumi_arena_done keeps none. The arena is empty afterwards and can be used again. */
void fumi_arena_reset(struct fumi_arena *a, size_t keep);
void fumi_arena_done(struct fumi_arena *a);

#ifdef __cplusplus
}
#endif

#endif
