/* The journal and the notes always agree: after kill -9 and after a power cut while notes are
 * superseded, undone, deleted and forgotten. Processes that say the same at once store one note.
 *
 * CRASH_CYCLES: number of kills. CRASH_STEPS: steps whose power cuts are tried. CRASH_STRIDE: one
 * of so many events is followed by a power cut, in addition to those before syncs. */
#include "base/uuid.h"
#include "crash.h"
#include "disk.h"
#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CYCLES = 12, LINES = 40, LATER = 2000, STEPS = 12, STRIDE = 16, PROCESSES = 16 };

static void look(const char *path, const char *when)
{
    struct fumi_buf output = {0};
    int faults = crash_life_check(path, &output);
    if (faults)
        TEST_FAIL("%s: %d faults\n%.*s", when, faults, (int)output.n, output.n ? output.p : "");
    fumi_buf_done(&output);
}

static size_t lines_in(const struct fumi_buf *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += b->p[i] == '\n';
    return n;
}

TEST(the_journal_agrees_after_kill_9)
{
    char dir[64], path[96];
    unsigned cycles = crash_setting("CRASH_CYCLES", CYCLES);
    uint64_t seed = crash_setting("CRASH_SEED", 0);
    crash_dir(dir, sizeof(dir), true);
    if (!seed)
        fumi_random(&seed, sizeof(seed));
    printf("CRASH_SEED=%u\n", (unsigned)(seed &= 0xFFFFFFFF));
    for (unsigned i = 0; i < cycles && !test_failed; i++) {
        struct crash_child c;
        snprintf(path, sizeof(path), "%s/%u/x.db", dir, i);
        const char *words[] = {CRASH_DRIVER, "life", path, "100000", "1", NULL};
        size_t lines = 1 + (seed = crash_mix(seed)) % LINES;
        CHECK_INT(crash_start(&c, words, NULL), 0);
        while (lines_in(&c.output) < lines && crash_read_output(&c, -1)) {}
        CHECK(lines_in(&c.output) >= lines); /* it did not end by itself */
        usleep((unsigned)((seed = crash_mix(seed)) % LATER));
        crash_stop(&c);
        crash_free(&c);
        look(path, "killed");
    }
    crash_dir_remove(dir);
}

static bool record(const char *dir, const char *log, const char *steps)
{
    static char where[160], to[160], preload[512], asan[256], path[160];
    const char *set = getenv("ASAN_OPTIONS");
    snprintf(path, sizeof(path), "%s/x.db", dir);
    mkdir(dir, 0700);
    snprintf(where, sizeof(where), "CRASH_RECORD_DIR=%s", dir);
    snprintf(to, sizeof(to), "CRASH_RECORD_LOG=%s", log);
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", CRASH_RECORD);
    snprintf(asan, sizeof(asan), "ASAN_OPTIONS=%s%sverify_asan_link_order=0", set ? set : "",
             set ? ":" : "");
    const char *words[] = {CRASH_DRIVER, "life", path, steps, "1", NULL};
    const char *env[] = {where, to, preload, asan, NULL};
    struct crash_child c;
    if (crash_start(&c, words, env))
        return false;
    int status = crash_end(&c);
    crash_free(&c);
    return status == 0;
}

static const struct disk_cut cuts[] = {
    {DISK_NONE, DISK_NONE, 0}, {DISK_ALL, DISK_ALL, 0},       {DISK_SOME_512, DISK_ALL, 0},
    {DISK_TORN, DISK_ALL, 0},  {DISK_SOME_4096, DISK_ALL, 0},
};

static unsigned cut_here(struct disk *d, const char *dir)
{
    char path[128];
    unsigned n = (unsigned)crash_mix(d->at) % FUMI_COUNT(cuts);
    struct disk_cut cut = cuts[n];
    uint64_t sum;
    cut.seed = crash_mix(d->at * 16 + n);
    crash_dir_empty(dir);
    if (disk_cut(d, dir, cut, &sum))
        TEST_FAIL("cut %u cannot be made", n);
    snprintf(path, sizeof(path), "%s/x.db", dir);
    look(path, "power cut");
    if (test_failed)
        fprintf(stderr, "after event %zu of %zu, cut %u\n", d->at, d->n, n);
    return 1;
}

TEST(the_journal_agrees_after_a_power_cut)
{
    struct disk d = {0};
    const struct disk_event *e;
    char top[64], dir[64], from[96], log[96], steps[16];
    unsigned stride = crash_setting("CRASH_STRIDE", STRIDE), n = 0;
    crash_dir(top, sizeof(top), true);
    crash_dir(dir, sizeof(dir), true);
    snprintf(from, sizeof(from), "%s/d", top);
    snprintf(log, sizeof(log), "%s/log", top);
    snprintf(steps, sizeof(steps), "%u", crash_setting("CRASH_STEPS", STEPS));
    CHECK(record(from, log, steps));
    CHECK_INT(disk_load(&d, log), 0);
    while ((e = disk_step(&d)) && !test_failed) {
        bool sync = d.at < d.n && d.events[d.at].r.kind == RECORD_SYNC;
        if (sync || d.at % stride == 0)
            n += cut_here(&d, dir);
    }
    if (d.fault)
        TEST_FAIL("event %zu: %s", d.at, d.fault);
    printf("%u power cuts\n", n);
    CHECK(n > 50);
    disk_done(&d);
    crash_dir_remove(dir);
    crash_dir_remove(top);
}

TEST(processes_that_say_the_same_store_one_note)
{
    char dir[64], path[96];
    struct crash_child all[PROCESSES];
    crash_dir(dir, sizeof(dir), true);
    snprintf(path, sizeof(path), "%s/x.db", dir);
    for (int i = 0; i < PROCESSES; i++) {
        const char *words[] = {CRASH_DRIVER, "same", path, "The port is 5432.", NULL};
        CHECK_INT(crash_start(&all[i], words, NULL), 0);
    }
    for (int i = 0; i < PROCESSES; i++)
        CHECK(write(all[i].in, "g", 1) == 1);
    for (int i = 0; i < PROCESSES; i++)
        CHECK_INT(crash_end(&all[i]), 0);
    for (int i = 0; i < PROCESSES; i++) {
        CHECK(all[i].output.n > 1 && all[i].output.n == all[0].output.n &&
              memcmp(all[i].output.p, all[0].output.p, all[0].output.n) == 0);
        if (i)
            crash_free(&all[i]);
    }
    crash_free(&all[0]);
    crash_dir_remove(dir);
}
