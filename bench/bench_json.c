/* Compares the JSON parser with jansson, cJSON and simdjson on the same documents, in one run. The
 * libraries run in turn within each round, so that a disturbance of the machine affects all of
 * them. The best round of each is printed, in processor time of this thread.
 *
 * Usage: bench_json [COUNTS]
 *
 * With libcount.so preloaded (see count.h) it only counts the allocations of each cell in the
 * steady state and prints one number per line. COUNTS is a file with these numbers: they come
 * from a separate run because counting slows the program down. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "count.h"

enum { ROUNDS = 11, WARM = 3, RUNS = 10 };

static const double SLICE = 20e6; /* nanoseconds per measurement */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double measured(struct cell *c)
{
    double began = now();
    for (size_t i = 0; i < c->reps; i++)
        cell_run(c);
    return now() - began;
}

static void calibrate(struct cell *c)
{
    double took = measured(c);
    for (; took < SLICE / 4; took = measured(c))
        c->reps *= 2;
    double reps = (double)c->reps * SLICE / took;
    c->reps = reps < 1 ? 1 : (size_t)reps;
    c->best = took;
}

static void measure(struct cell *c)
{
    double one = measured(c) / (double)c->reps;
    if (one < c->best)
        c->best = one;
}

static void each_cell(struct grid *g, void (*work)(struct cell *c))
{
    for (int i = 0; i < INPUTS; i++)
        for (int j = 0; j < COLUMNS; j++)
            work(&g->cells[i][j]);
}

static void put_counts(struct grid *g, const atomic_long *count)
{
    for (struct cell *c = g->cells[0]; c < g->cells[INPUTS]; c++) {
        for (int i = 0; i < WARM; i++)
            cell_run(c);
        long before = *count;
        for (int i = 0; i < RUNS; i++)
            cell_run(c);
        printf("%.1f\n", (double)(*count - before) / RUNS);
    }
}

static int read_allocs(struct grid *g, const char *path)
{
    FILE *f = fopen(path, "r");
    int missing = f ? INPUTS * COLUMNS : -1;
    if (!f)
        return missing;
    for (int i = 0; i < INPUTS; i++)
        for (int j = 0; j < COLUMNS; j++)
            missing -= fscanf(f, "%lf", &g->cells[i][j].allocs);
    fclose(f);
    return missing;
}

static void put_time(double ns)
{
    static const struct {
        double below, unit;
        int digits;
        const char *name;
    } scales[] = {
        {999.5, 1, 0, "ns"},
        {99.95e3, 1e3, 2, "us"},
        {999.5e3, 1e3, 1, "us"},
        {1e18, 1e6, 2, "ms"},
    };
    int i = 0;
    while (ns >= scales[i].below)
        i++;
    printf(" %7.*f %s", scales[i].digits, ns / scales[i].unit, scales[i].name);
}

static void put_allocs(const struct cell *libs)
{
    printf("   ");
    for (int i = 0; i < LIBS; i++)
        if (libs[i].allocs < 0)
            printf("%s-", i ? " / " : "");
        else
            printf("%s%.*f", i ? " / " : "", libs[i].allocs < 10 && libs[i].allocs > 0,
                   libs[i].allocs);
}

static void put_ratio(double r)
{
    printf(" %10.*f", r < 9.995 ? 2 : 1, r);
}

static void put_row(const struct input *in, const struct cell row[COLUMNS], enum column first)
{
    printf("%-18s", in->name);
    for (int i = 0; i < LIBS; i++)
        put_time(row[first + i].best);
    for (int i = 1; i < LIBS; i++)
        put_ratio(row[first + i].best / row[first].best);
    put_allocs(row + first);
    printf("\n");
}

static void put_block(const struct grid *g, const char *title, enum column first)
{
    const struct cell *head = g->cells[0] + first;
    printf("%-18s", title);
    for (int i = 0; i < LIBS; i++)
        printf("%11s", head[i].lib->name);
    for (int i = 1; i < LIBS; i++)
        printf("%*s%s", 11 - (int)strlen(head[i].lib->name), "x ", head[i].lib->name);
    printf("   allocations\n");
    for (int i = 0; i < INPUTS; i++)
        put_row(&g->inputs[i], g->cells[i], first);
}

/* No target includes the Japanese note. */
static bool counts(int input)
{
    return input != INPUT_JAPANESE_NOTE;
}

static void put_target(bool met, const char *what)
{
    printf("%-6s  %s", met ? "met" : "MISSED", what);
}

static void put_parse_target(const struct grid *g, int lib, double wanted)
{
    int worst = 0;
    double least = 1e9;
    for (int i = 0; i < INPUTS; i++) {
        double ratio = g->cells[i][PARSE + lib].best / g->cells[i][PARSE].best;
        if (!counts(i) || ratio >= least)
            continue;
        least = ratio;
        worst = i;
    }
    put_target(least >= wanted, "parse at least ");
    printf("%g x %s on every input: least %.2f, on %s\n", wanted,
           g->cells[0][PARSE + lib].lib->name, least, g->inputs[worst].name);
}

static void put_allocs_target(const struct grid *g)
{
    double most = -1;
    for (int i = 0; i < INPUTS; i++) {
        most = fmax(most, g->cells[i][PARSE].allocs);
        most = fmax(most, g->cells[i][USE].allocs);
    }
    put_target(most == 0, "fumi allocates nothing in the steady state: ");
    if (most < 0)
        printf("not counted\n");
    else
        printf("at most %g per parse or use\n", most);
}

static void put_all(const struct grid *g)
{
    put_block(g, "parse", PARSE);
    put_block(g, "use", USE);
    printf("\nuse: parse, check jsonrpc, read method, id and every param.\n"
           "allocations: per run in the steady state, ");
    for (int i = 0; i < LIBS; i++)
        printf("%s%s", g->cells[0][PARSE + i].lib->name, i + 1 < LIBS ? " / " : ".\n");
    printf("Best of %d rounds, processor time.\n\n", ROUNDS);
    put_parse_target(g, 1, 20);
    put_parse_target(g, 2, 7);
    put_parse_target(g, 3, 1.3);
    put_allocs_target(g);
}

int main(int argc, char **argv)
{
    struct grid g;
    if (grid_make(&g))
        return 1;
    const atomic_long *count = count_map();
    if (count) {
        put_counts(&g, count);
        return 0;
    }
    if (argc > 1 && read_allocs(&g, argv[1])) {
        fprintf(stderr, "bench: %s does not contain the counts\n", argv[1]);
        return 1;
    }
    each_cell(&g, calibrate);
    for (int i = 0; i < ROUNDS; i++)
        each_cell(&g, measure);
    put_all(&g);
    grid_free(&g);
    return 0;
}
