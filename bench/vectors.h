/* Shared by bench_vectors.c and the engines that it compares. Also included from C++. */
#ifndef FUMI_BENCH_VECTORS_H
#define FUMI_BENCH_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DIM = 384, ANSWERS = 10, TAG_SETS = 100 };

/* Unit vectors, numbered from 0. Each has a tag set number below TAG_SETS. */
struct vector_set {
    size_t n, queries;
    const float *x, *query;
    const uint32_t *tag_set;
};

/* `search` finds the nearest vectors whose tag set is below a bound (TAG_SETS: all), writes at
 * most ANSWERS of their numbers and returns how many. `build` writes a file that `open` opens in
 * another process. On failure the functions end the program. An engine that trades time for
 * recall has several levels of effort: 0 (least) to efforts - 1. */
struct engine {
    const char *name;
    size_t efforts;
    void (*build)(const struct vector_set *s, const char *file);
    void *(*open)(const struct vector_set *s, const char *file);
    size_t (*search)(void *h, const float *query, uint32_t below, size_t effort, int64_t *out);
    void (*close)(void *h);
};
extern const struct engine engine_fumi, engine_sqlite_vec, engine_hnsw;
extern const char *vec0_path; /* path of the sqlite-vec extension, or "-" */

#ifdef __cplusplus
}
#endif

#endif
