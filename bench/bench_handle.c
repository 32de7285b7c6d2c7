/* Measures fumi_handle on the mixed messages, without a transport: the time of one message, and of
 * one call in a batch. Takes the best of many passes over all messages, in processor time of this
 * thread.
 *
 * Usage: bench_handle [BATCH [PASSES]]
 *
 * Prints one line in the format of the load tool. With libcount.so preloaded (see count.h) it
 * also prints the number of allocations in the passes after the first. */
#include "count.h"
#include "fumi.h"
#include "mixed.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct handle_bench {
    struct fumi_server *server;
    struct fumi_peer peer;
    size_t bytes, errors; /* of the responses */
};

static void reply(void *arg, struct fumi_buf *answer, int code)
{
    struct handle_bench *b = arg;
    b->bytes += answer->n;
    b->errors += code != 0;
}

/* Not inlined, so that `valgrind --tool=callgrind --toggle-collect=run_all` finds it. */
__attribute__((noinline)) static void run_all(struct handle_bench *b, const struct mixed *m)
{
    struct fumi_sink sink = {.reply = reply, .arg = b};
    b->bytes = b->errors = 0;
    for (size_t i = 0; i < m->n; i++)
        fumi_handle(b->server, &b->peer, (struct fumi_str){m->all[i].text, m->all[i].n}, sink);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double best_of(struct handle_bench *b, const struct mixed *m, int passes)
{
    double best = 0;
    for (int i = 0; i < passes; i++) {
        double began = now();
        run_all(b, m);
        double took = now() - began;
        best = took < best || !best ? took : best;
    }
    return best;
}

static void check(const struct handle_bench *b, size_t errors, size_t batch)
{
    if (batch > 1 ? b->errors == 0 : b->errors == errors)
        return;
    fprintf(stderr, "bench_handle: %zu errors instead of %zu\n", b->errors, errors);
    exit(1);
}

int main(int argc, char **argv)
{
    size_t batch = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, calls = 0, bytes = 0, errors = 0;
    int passes = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 100;
    struct handle_bench b = {.server = fumi_server_new("bench", "1"),
                             .peer = {.transport = "bench"}};
    struct mixed m;
    mixed_make(&m, mixed_seed(), batch);
    for (size_t i = 0; i < m.n; i++) {
        calls += m.all[i].calls;
        errors += m.all[i].errors;
        bytes += m.all[i].n;
    }
    mixed_methods(b.server);
    run_all(&b, &m);
    check(&b, errors, batch);
    const atomic_long *count = count_map();
    long before = count ? *count : 0;
    double best = best_of(&b, &m, passes);
    long allocs = count ? *count - before : 0;
    printf("rate=%.0f ns=%.1f calls=%zu asked=%.0f answered=%.0f", (double)calls * 1e9 / best,
           best / (double)calls, calls * (size_t)passes, (double)bytes / (double)calls,
           (double)b.bytes / (double)calls);
    if (count)
        printf(" allocs=%ld", allocs);
    putchar('\n');
    fumi_peer_close(&b.peer);
    fumi_peer_done(&b.peer);
    fumi_server_free(b.server);
    mixed_free(&m);
    return 0;
}
