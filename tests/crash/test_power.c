/* Power cuts. The writes and syncs of a driver are recorded. Then, for cuts after many events, the
 * directory is created as a disk may have left it, and everything that was acknowledged before the
 * cut must be in it. Data that was not synced may be on the disk completely, in parts or not at
 * all.
 *
 * CRASH_STEPS: steps of the driver. CRASH_STRIDE: one of so many events is followed by a cut, in
 * addition to those around syncs and acknowledgements. */
#include "crash.h"
#include "disk.h"
#include "test.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 2, FAULTS_SHOWN = 6, SEEN = 1 << 16, COPIES = 16 };

/* The results of all workers, in shared memory. */
struct tally {
    size_t cuts, same, faults, events, acknowledged;
};

struct replay {
    struct disk disk;
    struct ledger ledger;
    struct {
        unsigned number;
        struct ledger ledger;
    } copies[COPIES];
    size_t copies_n;
    struct fumi_buf vec; /* the vector cache after the last event */
    char dir[64];
    const char *name; /* of the database in it */
    unsigned worker, stride, look;
    struct tally *tally;
    uint64_t seen[SEEN]; /* sums of directories that were checked */
};

/* Tried before each sync and after each acknowledgement. */
static const struct disk_cut cuts[] = {
    {DISK_NONE, DISK_NONE, 0},          {DISK_ALL, DISK_ALL, 0},  {DISK_SOME_512, DISK_ALL, 0},
    {DISK_SOME_4096, DISK_SOME_512, 0}, {DISK_TORN, DISK_ALL, 0}, {DISK_ZERO, DISK_ALL, 0},
    {DISK_NONE, DISK_SOME_512, 0},      {DISK_ALL, DISK_NONE, 0}, {DISK_SOME_512, DISK_NONE, 0},
};

static void path_in(char out[128], const char *dir, const char *name, const char *ending)
{
    snprintf(out, 128, "%s/%s%s", dir, name, ending);
}

/* Writes caches of a later event, complete or torn, which must have no effect. */
static void put_caches(struct replay *r, uint64_t random)
{
    char path[128];
    size_t n = random % 3 ? r->vec.n : r->vec.n ? random / 8 % r->vec.n : 0;
    if (random & 4 || access(r->dir, F_OK))
        return;
    struct fumi_buf torn = {0};
    fumi_buf_add(&torn, r->vec.p, n);
    for (int i = 0; n && i < (int)(random % 5); i++)
        torn.p[crash_mix(random + (uint64_t)i) % n] ^= (char)(1 << i);
    path_in(path, r->dir, r->name, ".vec");
    crash_write(path, torn.p, torn.n);
    path_in(path, r->dir, r->name, "-shm");
    if (random & 8)
        crash_write(path, torn.p, torn.n);
    fumi_buf_done(&torn);
}

/* Whether an equal directory was already checked with the same number of acknowledgements. */
static bool seen(struct replay *r, uint64_t sum)
{
    sum = crash_mix(sum ^ crash_mix(r->ledger.acknowledged + 1)) | 1;
    uint64_t *slot = &r->seen[sum % SEEN];
    bool was = *slot == sum;
    *slot = sum;
    return was;
}

/* Every copy that was acknowledged must exist with its content. */
static int check_copies(struct replay *r, struct fumi_buf *output)
{
    char path[128], ending[32];
    int faults = 0;
    for (size_t i = 0; i < r->copies_n; i++) {
        snprintf(ending, sizeof(ending), ".copy%u", r->copies[i].number);
        path_in(path, r->dir, r->name, ending);
        bool there = access(path, F_OK) == 0;
        if (there)
            faults += crash_check_file(path, &r->copies[i].ledger, LOOK_DOCTOR, output);
        else
            fumi_buf_add(output, "a copy is lost\n", 15);
        faults += !there;
    }
    return faults;
}

static void report(struct replay *r, struct disk_cut cut, int faults, const struct fumi_buf *output)
{
    r->tally->faults += (size_t)faults;
    if (__atomic_fetch_add(&r->tally->events, 1, __ATOMIC_RELAXED) >= FAULTS_SHOWN || r->look == 0)
        return;
    fprintf(stderr, "cut after event %zu (parts %d, names %d, seed %llu): %d faults\n%.*s",
            r->disk.at, (int)cut.parts, (int)cut.names, (unsigned long long)cut.seed, faults,
            output->n > 600 ? 600 : (int)output->n, output->n ? output->p : "");
    if (getenv("CRASH_KEEP")) {
        fprintf(stderr, "kept: %s\n", r->dir);
        _exit(9);
    }
}

static void try_cut(struct replay *r, struct disk_cut cut)
{
    char path[128];
    struct fumi_buf output = {0};
    uint64_t sum;
    cut.seed = crash_mix(r->disk.at * 16 + (uint64_t)cut.parts);
    crash_dir_empty(r->dir);
    int faults = disk_cut(&r->disk, r->dir, cut, &sum) ? 1 : 0;
    if (!faults && seen(r, sum)) {
        __atomic_fetch_add(&r->tally->same, 1, __ATOMIC_RELAXED);
        return;
    }
    put_caches(r, crash_mix(cut.seed));
    path_in(path, r->dir, r->name, "");
    unsigned look = r->disk.at % 4 ? LOOK_DOCTOR : LOOK_ALL;
    faults += crash_check_file(path, &r->ledger, look & (r->look | LOOK_DOCTOR), &output);
    faults += check_copies(r, &output);
    __atomic_fetch_add(&r->tally->cuts, 1, __ATOMIC_RELAXED);
    if (faults)
        report(r, cut, faults, &output);
    fumi_buf_done(&output);
}

static bool starts(struct fumi_str s, const char *with)
{
    return fumi_starts(s, fumi_str(with));
}

static void take_line(struct replay *r, struct fumi_str line)
{
    if (starts(line, "D copy ") && r->copies_n < COPIES) {
        char text[16] = "";
        memcpy(text, line.p + 7, line.n - 7 < 15 ? line.n - 7 : 15);
        r->copies[r->copies_n].number = (unsigned)strtoul(text, NULL, 10);
        ledger_copy(&r->copies[r->copies_n++].ledger, &r->ledger);
        return;
    }
    ledger_line(&r->ledger, (struct fumi_str){line.p, line.n ? line.n - 1 : 0});
}

/* Tries cuts after an event: a quarter of all kinds, or all with stride 1, after an acknowledgement
 * and before a sync; elsewhere sometimes one. */
static void try_here(struct replay *r, const struct disk_event *e)
{
    const struct disk *d = &r->disk;
    bool before_sync = d->at < d->n && d->events[d->at].r.kind == RECORD_SYNC;
    bool done = e->r.kind == RECORD_OUTPUT && starts(e->bytes, "D ");
    uint64_t random = crash_mix(d->at);
    if (done || before_sync)
        for (size_t i = 0; i < FUMI_COUNT(cuts); i++)
            if (r->stride == 1 || (random + i) % 4 == 0)
                try_cut(r, cuts[i]);
    if (!done && !before_sync && random % r->stride == 0)
        try_cut(r, cuts[random / 64 % FUMI_COUNT(cuts)]);
}

static void replay_done(struct replay *r)
{
    for (size_t i = 0; i < r->copies_n; i++)
        ledger_done(&r->copies[i].ledger);
    ledger_done(&r->ledger);
    disk_done(&r->disk);
    fumi_buf_done(&r->vec);
    crash_dir_remove(r->dir);
}

/* Replays all events of the log and tries the cuts of this worker. */
static int replay(struct replay *r, const char *log)
{
    const struct disk_event *e;
    if (disk_load(&r->disk, log))
        return -1;
    crash_dir(r->dir, sizeof(r->dir), true);
    while ((e = disk_step(&r->disk))) {
        if (e->r.kind == RECORD_OUTPUT)
            take_line(r, e->bytes);
        if (r->disk.at / 8 % WORKERS == r->worker)
            try_here(r, e);
    }
    if (r->disk.fault)
        fprintf(stderr, "event %zu: %s\n", r->disk.at, r->disk.fault);
    r->tally->acknowledged = r->ledger.acknowledged;
    int rc = r->disk.fault || r->disk.n == 0 ? -1 : 0;
    replay_done(r);
    return rc;
}

struct run {
    const char *name, *steps, *threads;
    unsigned look;       /* 0: faults are expected and not shown */
    const char *more[3]; /* environment */
    enum disk_ignored ignored;
};

static void replay_child(unsigned worker, const char *dir, const struct run *run,
                         struct tally *tally)
{
    char log[128], vec[128];
    static struct replay r;
    r.worker = worker;
    r.stride = crash_setting("CRASH_STRIDE", 12);
    r.look = run->look;
    r.name = run->name;
    r.disk.ignored = run->ignored;
    r.tally = tally;
    snprintf(log, sizeof(log), "%s/log", dir);
    snprintf(vec, sizeof(vec), "%s/d/%s.vec", dir, run->name);
    crash_read(vec, &r.vec);
    exit(replay(&r, log) ? 1 : 0);
}

/* Returns whether every worker ended normally. */
static bool replay_all(const char *dir, const struct run *run, struct tally *out)
{
    pid_t pids[WORKERS];
    bool well = true;
    struct tally *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fflush(NULL);
    for (unsigned i = 0; i < WORKERS; i++)
        if ((pids[i] = fork()) == 0)
            replay_child(i, dir, run, shared);
    for (unsigned i = 0; i < WORKERS; i++) {
        int status = -1;
        waitpid(pids[i], &status, 0);
        well = well && status == 0;
    }
    *out = *shared;
    munmap(shared, sizeof(*shared));
    return well;
}

/* Runs a driver and records all of its writes. */
static bool record(const char *dir, const struct run *run)
{
    static char where[160], log[160], preload[512], asan[256];
    char root[80], path[128];
    const char *old = getenv("ASAN_OPTIONS");
    snprintf(where, sizeof(where), "CRASH_RECORD_DIR=%s/d", dir);
    snprintf(log, sizeof(log), "CRASH_RECORD_LOG=%s/log", dir);
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", CRASH_RECORD);
    /* The sanitizer expects to be the first library; this turns its check off. */
    snprintf(asan, sizeof(asan), "ASAN_OPTIONS=%s%sverify_asan_link_order=0", old ? old : "",
             old ? ":" : "");
    snprintf(root, sizeof(root), "%s/d", dir);
    mkdir(root, 0700);
    path_in(path, root, run->name, "");
    const char *words[] = {CRASH_DRIVER, "mixed", path, run->steps, "1", run->threads, NULL};
    const char *env[] = {where, log, preload, asan, run->more[0], run->more[1], run->more[2], NULL};
    struct crash_child c;
    if (crash_start(&c, words, env))
        return false;
    int status = crash_end(&c);
    struct ledger l = {0};
    struct fumi_buf output = {0};
    ledger_lines(&l, &c.output);
    crash_free(&c);
    /* This also creates the vector cache. */
    int faults = crash_check_file(path, &l, LOOK_ALL, &output);
    if (status || faults || !l.acknowledged)
        fprintf(stderr, "status %d, %d faults\n%.*s", status, faults, (int)output.n,
                output.n ? output.p : "");
    ledger_done(&l);
    fumi_buf_done(&output);
    return !status && !faults;
}

static bool cut_run(const struct run *run, struct tally *tally)
{
    char dir[64];
    crash_dir(dir, sizeof(dir), true);
    bool well = dir[0] && record(dir, run) && replay_all(dir, run, tally);
    printf("%zu acknowledged, %zu cuts tried, %zu duplicates skipped, %zu with faults\n",
           tally->acknowledged, tally->cuts, tally->same, tally->events);
    crash_dir_remove(dir);
    return well;
}

static const char *steps(void)
{
    const char *text = getenv("CRASH_STEPS");
    return text ? text : "30";
}

TEST(what_was_acknowledged_survives_a_power_cut)
{
    struct tally t = {0};
    struct run run = {"x.db", steps(), "1", LOOK_ALL, {"CRASH_SESSION=13"}, DISK_IGNORES_NONE};
    CHECK(cut_run(&run, &t));
    CHECK(t.cuts > 100);
    CHECK_INT(t.faults, 0);
}

TEST(writes_of_threads_and_copies_survive_a_power_cut)
{
    struct tally t = {0};
    char few[32];
    snprintf(few, sizeof(few), "%lu", strtoul(steps(), NULL, 10) / 4 + 1);
    struct run run = {"x.db",           few, "4", LOOK_ALL, {"CRASH_COPY=1", "CRASH_SESSION=5"},
                      DISK_IGNORES_NONE};
    CHECK(cut_run(&run, &t));
    CHECK(t.cuts > 100);
    CHECK_INT(t.faults, 0);
}

/* The name of a new directory must be on disk, too. */
TEST(a_store_in_a_new_directory_survives_a_power_cut)
{
    struct tally t = {0};
    struct run run = {"sub/deep/x.db", "3", "1", LOOK_ALL, {NULL}, DISK_IGNORES_NONE};
    CHECK(cut_run(&run, &t));
    CHECK(t.cuts > 20);
    CHECK_INT(t.faults, 0);
}

/* The same without syncs: shows that the checks above detect losses. */
TEST(without_syncs_losses_are_found)
{
    static const struct run runs[] = {
        {"x.db", "20", "1", 0, {"CRASH_NOSYNC=1"}, DISK_IGNORES_NONE},
        {"x.db", "6", "1", 0, {NULL}, DISK_IGNORES_DIRECTORIES},
        {"x.db", "6", "1", 0, {NULL}, DISK_IGNORES_WAL},
    };
    for (size_t i = 0; i < FUMI_COUNT(runs); i++) {
        struct tally t = {0};
        CHECK(cut_run(&runs[i], &t));
        CHECK(t.faults > 0);
    }
}
