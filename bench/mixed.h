/* The mixed traffic of the benchmarks: messages drawn from a seeded generator. Method, params, id,
 * order of keys, white space and length vary; some requests are notifications, a few are faulty.
 * The same seed gives the same messages on every machine. */
#ifndef FUMI_BENCH_MIXED_H
#define FUMI_BENCH_MIXED_H

#include <stddef.h>
#include <stdint.h>

struct fumi_server;

/* No message contains a newline. A single notification ends with a space and nothing else does, so
 * that a server that reads no JSON can tell which messages get no answer. */
struct message {
    char *text; /* n bytes, without a terminator */
    size_t n;
    size_t calls, results, errors; /* requests, and how the answers to them end */
    size_t id, id_n;               /* where the id of a single request stands; id_n 0: none */
};

struct mixed {
    uint64_t seed;
    struct message *all;
    size_t n;
};

/* batch 1: single messages; else batches of batch/2 to 3*batch/2 calls. */
void mixed_make(struct mixed *m, uint64_t seed, size_t batch);
void mixed_free(struct mixed *m);
uint64_t mixed_seed(void); /* the environment variable SEED, or the default */

/* methods.c: the methods that the messages ask for. Ends the program if they cannot be added. */
void mixed_methods(struct fumi_server *s);

#endif
