/* The migration of a store of an older schema version: killed at any moment, cut off by a power
 * failure, and started by several processes at once. Afterwards all data of the store and the copy
 * of the old file exist.
 *
 * CRASH_CYCLES: how often a process is killed. CRASH_STRIDE: one of so many events is followed by a
 * power cut. */
#include "base/clock.h"
#include "base/uuid.h"
#include "crash.h"
#include "disk.h"
#include "old_version_fixture.h"
#include "store/sqlite.h"
#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEPS = 60, CYCLES = 15, STRIDE = 12, PROCESSES = 4 };

struct old {
    int version;
    char dir[64], db[96], file[96]; /* file: of that version, never opened by a store */
    struct ledger ledger;
    uint64_t seed;
};

static int fill(struct store *s, struct ledger *l, struct fumi_err *e)
{
    struct crash_thing t;
    for (unsigned i = 0; i < STEPS; i++)
        for (unsigned part = 0; crash_plan(0, i, part, true, &t); part++) {
            if (crash_do(s, t, e))
                return -1;
            ledger_set(l, 'D', t);
        }
    return 0;
}

static bool begin(struct old *o, int version)
{
    struct fumi_err e = {0};
    char today[96];
    *o = (struct old){.version = version, .seed = crash_setting("CRASH_SEED", 0)};
    crash_dir(o->dir, sizeof(o->dir), true);
    snprintf(o->db, sizeof(o->db), "%s/d/x.db", o->dir);
    snprintf(o->file, sizeof(o->file), "%s/old.db", o->dir);
    snprintf(today, sizeof(today), "%s/today.db", o->dir);
    if (!o->seed)
        fumi_random(&o->seed, sizeof(o->seed));
    printf("CRASH_SEED=%u\n", (unsigned)(o->seed &= 0xFFFFFFFF));
    struct store *s = store_sqlite_open(
        &(struct store_sqlite_options){.path = today, .nosync = true}, &e);
    int rc = s ? fill(s, &o->ledger, &e) : -1;
    if (s)
        store_close(s);
    if (rc)
        fprintf(stderr, "%s\n", e.text);
    return !rc && old_version_make(version, today, o->file) == 0;
}

static void end(struct old *o)
{
    ledger_done(&o->ledger);
    crash_dir_remove(o->dir);
}

/* The old file alone in its directory. */
static int put_old(struct old *o)
{
    char dir[80];
    struct fumi_buf bytes = {0};
    snprintf(dir, sizeof(dir), "%s/d", o->dir);
    mkdir(dir, 0700);
    crash_dir_empty(dir);
    int rc = crash_read(o->file, &bytes) || crash_write(o->db, bytes.p, bytes.n);
    fumi_buf_done(&bytes);
    return rc;
}

/* Opens the store, which migrates it if that is still to be done, and compares everything in it and
 * in the copy. */
static int check(const struct old *o, const char *path, const char *when)
{
    struct fumi_buf output = {0};
    char bak[160];
    snprintf(bak, sizeof(bak), "%s.v%d.bak", path, o->version);
    int faults = crash_check_file(path, &o->ledger, LOOK_ALL, &output);
    if (access(bak, F_OK) == 0) {
        faults += crash_check_file(bak, &o->ledger, LOOK_DOCTOR, &output);
    } else {
        fumi_buf_add(&output, "no copy exists\n", 15);
        faults++;
    }
    if (faults)
        TEST_FAIL("version %d, %s: %d faults\n%.*s", o->version, when, faults, (int)output.n,
                  output.n ? output.p : "");
    fumi_buf_done(&output);
    return faults;
}

static int start(struct old *o, struct crash_child *c)
{
    const char *words[] = {CRASH_DRIVER, "open", o->db, NULL};
    return crash_start(c, words, NULL);
}

/* How long opening takes, in microseconds. */
static unsigned duration(struct old *o)
{
    struct crash_child c;
    if (put_old(o) || start(o, &c))
        return 0;
    while (c.output.n < 2 && crash_read_output(&c, -1)) {}
    int64_t from = fumi_ticks();
    while (c.output.n < 9 && crash_read_output(&c, -1)) {}
    int64_t took = fumi_ticks() - from;
    int status = crash_end(&c);
    crash_free(&c);
    return status ? 0 : (unsigned)(took / 1000) + 1;
}

/* The version in the header of the file, without the log. */
static int version_of(const char *path)
{
    struct fumi_buf b = {0};
    int v = crash_read(path, &b) == 0 && b.n > 100 ? b.p[63] : -1;
    fumi_buf_done(&b);
    return v;
}

static void kill_it(int version)
{
    struct old o;
    unsigned cycles = crash_setting("CRASH_CYCLES", CYCLES), late = 0, old = 0;
    CHECK(begin(&o, version));
    unsigned most = duration(&o);
    CHECK(most > 0);
    for (unsigned i = 0; i < cycles && !test_failed; i++) {
        struct crash_child c, other = {0};
        bool beside = i % 4 == 3;
        CHECK_INT(put_old(&o), 0);
        CHECK_INT(start(&o, &c), 0);
        if (beside)
            CHECK_INT(start(&o, &other), 0);
        while (c.output.n < 2 && crash_read_output(&c, -1)) {}
        usleep((unsigned)((o.seed = crash_mix(o.seed)) % most));
        crash_stop(&c);
        late += c.output.n > 2;
        crash_free(&c);
        old += version_of(o.db) == version;
        if (beside) {
            CHECK_INT(crash_end(&other), 0);
            crash_free(&other);
        }
        check(&o, o.db, "killed");
    }
    printf("%u kills in up to %u us, %u after the end, %u with a header of version %d\n", cycles,
           most, late, old, version);
    end(&o);
}

TEST(a_killed_migration_loses_nothing)
{
    for (int i = 1; i < OLD_VERSIONS; i++)
        kill_it(i);
}

static void migrate_at_once(int version)
{
    struct old o;
    CHECK(begin(&o, version));
    for (int i = 0; i < 5; i++) {
        struct crash_child all[PROCESSES];
        CHECK_INT(put_old(&o), 0);
        for (int k = 0; k < PROCESSES; k++)
            CHECK_INT(start(&o, &all[k]), 0);
        for (int k = 0; k < PROCESSES; k++) {
            CHECK_INT(crash_end(&all[k]), 0);
            crash_free(&all[k]);
        }
        check(&o, o.db, "at once");
    }
    end(&o);
}

TEST(several_processes_migrate_it_at_once)
{
    for (int i = 1; i < OLD_VERSIONS; i++)
        migrate_at_once(i);
}

static bool record(struct old *o, const char *log)
{
    static char where[160], to[160], preload[512], asan[256];
    char dir[80];
    const char *set = getenv("ASAN_OPTIONS");
    snprintf(dir, sizeof(dir), "%s/d", o->dir);
    mkdir(dir, 0700);
    snprintf(where, sizeof(where), "CRASH_RECORD_DIR=%s", dir);
    snprintf(to, sizeof(to), "CRASH_RECORD_LOG=%s", log);
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", CRASH_RECORD);
    snprintf(asan, sizeof(asan), "ASAN_OPTIONS=%s%sverify_asan_link_order=0", set ? set : "",
             set ? ":" : "");
    const char *words[] = {CRASH_DRIVER, "open", o->db, o->file, NULL};
    const char *env[] = {where, to, preload, asan, NULL};
    struct crash_child c;
    if (crash_start(&c, words, env))
        return false;
    int status = crash_end(&c);
    crash_free(&c);
    return status == 0;
}

static const struct disk_cut cuts[] = {
    {DISK_NONE, DISK_NONE, 0},          {DISK_ALL, DISK_ALL, 0},  {DISK_SOME_512, DISK_ALL, 0},
    {DISK_SOME_4096, DISK_SOME_512, 0}, {DISK_TORN, DISK_ALL, 0}, {DISK_ZERO, DISK_ALL, 0},
    {DISK_NONE, DISK_SOME_512, 0},      {DISK_ALL, DISK_NONE, 0}, {DISK_SOME_512, DISK_NONE, 0},
};

/* Simulates a power cut after this event, with each choice of unsynced data. */
static unsigned cut_here(struct old *o, struct disk *d, const char *dir)
{
    char path[128];
    unsigned n = 0;
    for (; n < FUMI_COUNT(cuts) && !test_failed; n++) {
        struct disk_cut cut = cuts[n];
        uint64_t sum;
        cut.seed = crash_mix(o->seed + d->at * 16 + n);
        crash_dir_empty(dir);
        if (disk_cut(d, dir, cut, &sum))
            TEST_FAIL("cut %u cannot be made", n);
        snprintf(path, sizeof(path), "%s/x.db", dir);
        if (check(o, path, "power cut"))
            TEST_FAIL("after event %zu of %zu, cut %u", d->at, d->n, n);
    }
    return n;
}

static void cut_power(int version)
{
    struct old o;
    struct disk d = {0};
    const struct disk_event *e;
    char log[96], dir[64];
    unsigned stride = crash_setting("CRASH_STRIDE", STRIDE), n = 0, events = 0;
    bool begun = false;
    CHECK(begin(&o, version));
    snprintf(log, sizeof(log), "%s/log", o.dir);
    crash_dir(dir, sizeof(dir), true);
    CHECK(record(&o, log));
    CHECK_INT(disk_load(&d, log), 0);
    while ((e = disk_step(&d)) && !test_failed) {
        begun |= e->r.kind == RECORD_OUTPUT;
        bool sync = d.at < d.n && d.events[d.at].r.kind == RECORD_SYNC;
        events += begun;
        if (begun && (sync || d.at % stride == 0))
            n += cut_here(&o, &d, dir);
    }
    if (d.fault)
        TEST_FAIL("event %zu: %s", d.at, d.fault);
    printf("%u events, %u power cuts\n", events, n);
    CHECK(n > 50);
    disk_done(&d);
    crash_dir_remove(dir);
    end(&o);
}

TEST(a_power_cut_in_a_migration_loses_nothing)
{
    for (int i = 1; i < OLD_VERSIONS; i++)
        cut_power(i);
}
