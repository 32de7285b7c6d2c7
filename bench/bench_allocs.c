/* Counts how often each cell asks for memory, once it is warm, and prints one number a line in the
 * order of the grid, for bench_json. It is a program of its own, run with libcount.so preloaded, so
 * that counting slows nobody down where time is taken. */
#include <stdio.h>

#include "bench.h"
#include "count.h"

enum { WARM = 3, RUNS = 10 };

static double counted(struct cell *c, const atomic_long *count)
{
    for (int i = 0; i < WARM; i++)
        cell_run(c);
    long before = *count;
    for (int i = 0; i < RUNS; i++)
        cell_run(c);
    return (double)(*count - before) / RUNS;
}

int main(void)
{
    struct grid g;
    const atomic_long *count = count_map();
    if (!count) {
        fprintf(stderr, "bench_allocs: COUNT must name a file, and libcount.so be preloaded\n");
        return 2;
    }
    if (grid_make(&g))
        return 1;
    for (int i = 0; i < INPUTS; i++)
        for (int j = 0; j < COLUMNS; j++)
            printf("%.1f\n", counted(&g.cells[i][j], count));
    grid_free(&g);
    return 0;
}
