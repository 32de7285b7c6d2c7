/* Counts how often each cell asks for memory, once it is warm, and prints one number a line in the
 * order of the grid, for bench_json. It is a program of its own so that counting slows nobody
 * down where time is taken. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { WARM = 3, RUNS = 10 };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static long allocations;

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    allocations++;
    return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    allocations++;
    return __libc_realloc(old, size);
}

static double counted(struct cell *c)
{
    for (int i = 0; i < WARM; i++)
        cell_run(c);
    long before = allocations;
    for (int i = 0; i < RUNS; i++)
        cell_run(c);
    return (double)(allocations - before) / RUNS;
}

int main(void)
{
    struct grid g;
    if (grid_make(&g))
        return 1;
    for (int i = 0; i < INPUTS; i++)
        for (int j = 0; j < COLUMNS; j++)
            printf("%.1f\n", g.cells[i][j].doc ? counted(&g.cells[i][j]) : -1);
    grid_free(&g);
    return 0;
}
