/* Memory that is freed all at once. One arena serves one message; nobody frees single pieces. */
#ifndef FUMI_BASE_ARENA_H
#define FUMI_BASE_ARENA_H

#include "../base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_chunk;

/* {0} is ready to use. Not for two threads at once. */
struct fumi_arena {
    struct fumi_chunk *chunks; /* newest first */
    char *free;                /* the unused tail of the newest chunk */
    size_t left;
};

/* The one function through which all memory of libfumi comes. size 0 frees. It never returns
 * NULL for another size: when memory is finished the process ends there, status 70, with one
 * line on stderr. The symbol is weak: a host program may define its own, also with the shared
 * library. */
void *fumi_resize(void *old, size_t size);

/* Zeroed, aligned for any type, never NULL. Lives until the arena is reset or done. */
void *fumi_alloc(struct fumi_arena *a, size_t size);
struct fumi_str fumi_dup(struct fumi_arena *a, struct fumi_str s);
struct fumi_str fumi_fmt(struct fumi_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* For what grows while it is written: fumi_tail shows at least `least` unused bytes (as many as
 * there are, in *room), not zeroed; fumi_take makes the first `used` of them the caller's. Nothing
 * else may use the arena in between. */
char *fumi_tail(struct fumi_arena *a, size_t least, size_t *room);
void fumi_take(struct fumi_arena *a, size_t used);

/* Forgets everything that was allocated and keeps at most `keep` bytes for the next use. */
void fumi_arena_reset(struct fumi_arena *a, size_t keep);
void fumi_arena_done(struct fumi_arena *a);

#ifdef __cplusplus
}
#endif

#endif
