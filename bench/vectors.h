/* Shared by bench_vectors.c and the engines that it compares. Also included from C++. */
#ifndef FUMI_BENCH_VECTORS_H
#define FUMI_BENCH_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DIM = 384, ANSWERS = 10, TAG_SETS = 100 };

/* Unit vectors with numbers from 0; each has a tag_set below TAG_SETS. */
struct vector_set {
    size_t n, queries;
    const float *x, *query;
    const uint32_t *tag_set;
};

/* Searches among the vectors whose tag_set is below a bound (TAG_SETS: all). `build` leaves a file
 * behind, which another process opens. Calls that fail end the program. Some engines trade time for
 * recall: `effort` 0 is the least, and `efforts` says how many there are. */
struct engine {
    const char *name;
    size_t efforts;
    void (*build)(const struct vector_set *s, const char *file);
    void *(*open)(const struct vector_set *s, const char *file);
    size_t (*search)(void *h, const float *query, uint32_t below, size_t effort, int64_t *out);
    void (*close)(void *h);
};
extern const struct engine engine_fumi, engine_sqlite_vec, engine_hnsw;
extern const char *vec0_path; /* of the extension for SQLite */

#ifdef __cplusplus
}
#endif

#endif
