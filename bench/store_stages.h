/* Measures the CPU time of the operations of a store that a search calls. */
#ifndef FUMI_BENCH_STORE_STAGES_H
#define FUMI_BENCH_STORE_STAGES_H

#include "store/store.h"

/* Replaces the table of operations of the store, which is returned. For one store per program. A
 * generated vector is near none that the model makes of a query, which is the slowest case for the
 * scan; therefore `make` makes the vector to look for. */
struct store *stages_watch(struct store *s, void (*make)(float *x));
/* Begins to measure. */
void stages_begin(void);
/* Prints the mean CPU time of each operation per search, after n searches by this thread that took
 * `ms` each; sorts ms. */
void stages_print(double *ms, size_t n);

#endif
