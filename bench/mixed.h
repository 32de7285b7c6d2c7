/* The mixed traffic of the benchmarks: messages from a seeded random generator. Methods, params,
 * ids, order of keys, white space and length vary; some requests are notifications, a few are
 * faulty. The same seed gives the same messages on every machine. */
#ifndef FUMI_BENCH_MIXED_H
#define FUMI_BENCH_MIXED_H

#include <stddef.h>
#include <stdint.h>

struct fumi_server;

/* No message contains a newline. Only a single notification ends with a space, so that a server
 * that does not parse JSON knows which messages have no answer. */
struct mixed_message {
    char *text; /* n bytes, without a terminator */
    size_t n;
    size_t calls, results, errors; /* number of requests, of results and of errors in the answers */
    size_t id, id_n; /* offset and length of the id of a single request; id_n 0: none */
};

struct mixed {
    uint64_t seed;
    struct mixed_message *all;
    size_t n;
};

/* batch 1: single messages; otherwise batches of batch/2 to 3*batch/2 calls. */
void mixed_make(struct mixed *m, uint64_t seed, size_t batch);
void mixed_free(struct mixed *m);
uint64_t mixed_seed(void); /* the environment variable SEED, or the default */

/* methods.c: adds the methods that the messages call. Ends the program on failure. */
void mixed_methods(struct fumi_server *s);

#endif
