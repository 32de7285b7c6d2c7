#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "load.h"

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t))
        die("the processor time of the server");
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t now(void)
{
    return nanoseconds(CLOCK_MONOTONIC);
}

uint64_t cpu_of(pid_t pid)
{
    clockid_t clock;
    if (!pid)
        return 0;
    errno = clock_getcpuclockid(pid, &clock);
    if (errno)
        die("the processor time of the server");
    return nanoseconds(clock);
}

size_t dirty_of(pid_t pid)
{
    char path[64], line[256];
    size_t kib = 0;
    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    FILE *f = pid ? fopen(path, "re") : NULL;
    if (!f)
        return 0;
    while (fgets(line, sizeof(line), f))
        if (strncmp(line, "Private_Dirty:", 14) == 0)
            kib = strtoul(line + 14, NULL, 10);
    fclose(f);
    return kib * 1024;
}

size_t files_raise(size_t wanted)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files))
        die("the limit of open files");
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files))
        die("the limit of open files");
    return files.rlim_cur < wanted ? (size_t)files.rlim_cur : wanted;
}

/* Below STEPS every value has its own bin; above, the bits behind the highest one say which. */
static size_t bin_of(uint64_t ns)
{
    if (ns < STEPS)
        return (size_t)ns;
    unsigned shift = 63u - (unsigned)__builtin_clzll(ns) - 6u;
    size_t bin = (size_t)(shift + 1) * STEPS + (size_t)(ns >> shift) % STEPS;
    return bin < BINS ? bin : BINS - 1;
}

static double middle_of(size_t bin)
{
    if (bin < STEPS)
        return (double)bin;
    size_t shift = bin / STEPS - 1;
    uint64_t low = (uint64_t)(STEPS + bin % STEPS) << shift;
    return (double)low + (double)((uint64_t)1 << shift) / 2;
}

void times_add(struct times *t, uint64_t ns)
{
    t->bins[bin_of(ns)]++;
    t->n++;
}

double times_part(const struct times *t, double part)
{
    uint64_t below = 0, wanted = (uint64_t)((double)t->n * part);
    for (size_t i = 0; i < BINS; i++) {
        below += t->bins[i];
        if (below > wanted)
            return middle_of(i);
    }
    return 0;
}
