/* kill -9 at random moments: no acknowledged operation is lost, the file is not damaged, and other
 * processes that use it are not affected. CRASH_CYCLES: number of kills. */
#include "base/clock.h"
#include "base/uuid.h"
#include "crash.h"
#include "store/sqlite.h"
#include "test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, CYCLES_A_FILE = 5, CYCLES = 15, STEPS = 100000 };

/* A way to kill a driver: after a random number of its lines (at most `lines`) and a random time
 * (less than `later` microseconds). */
struct way {
    const char *name, *mode;
    unsigned threads, lines, later;
    bool fresh;   /* the file does not exist before */
    bool witness; /* another process uses the file meanwhile and must end normally */
};

static const struct way ways[] = {
    {"while the file is created", "add", 1, 1, 8000, true, false},
    {"while notes are added", "add", 1, 60, 1500, false, false},
    {"while several threads write", "mixed", THREADS, 400, 1500, false, false},
    {"while the file is opened", "mixed", 1, 1, 3000, false, false},
    {"beside another process", "mixed", 2, 100, 1500, false, true},
    {"while the file is created, with threads", "mixed", THREADS, 2, 6000, true, false},
};

struct cycle {
    char path[96];
    struct ledger ledger;
    unsigned writer; /* number of the next writer */
    uint64_t seed;
    int64_t slowest; /* start after a kill, nanoseconds */
};

static uint64_t dice(struct cycle *c)
{
    return c->seed = crash_mix(c->seed);
}

static size_t lines_in(const struct fumi_buf *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += b->p[i] == '\n';
    return n;
}

static int start(struct cycle *c, struct crash_child *child, const char *mode, unsigned steps,
                 unsigned threads)
{
    char texts[3][16];
    snprintf(texts[0], sizeof(texts[0]), "%u", steps);
    snprintf(texts[1], sizeof(texts[1]), "%u", c->writer);
    snprintf(texts[2], sizeof(texts[2]), "%u", threads);
    c->writer += threads;
    const char *words[] = {CRASH_DRIVER, mode, c->path, texts[0], texts[1], texts[2], NULL};
    return crash_start(child, words, NULL);
}

/* Reads the lines of the driver before and after its end: lines in the pipe were acknowledged. */
static int kill_one(struct cycle *c, const struct way *w)
{
    struct crash_child child;
    size_t lines = 1 + dice(c) % w->lines;
    if (start(c, &child, w->mode, STEPS, w->threads))
        return -1;
    bool alive = true;
    while (alive && lines_in(&child.output) < lines)
        alive = crash_read_output(&child, -1);
    usleep((unsigned)(dice(c) % w->later));
    crash_stop(&child);
    ledger_lines(&c->ledger, &child.output);
    crash_free(&child);
    return alive ? 0 : -1;
}

static int witnessed(struct cycle *c, const struct way *w)
{
    struct crash_child other;
    if (!w->witness)
        return kill_one(c, w);
    if (start(c, &other, "mixed", 60, 1))
        return -1;
    int rc = kill_one(c, w);
    int status = crash_end(&other);
    ledger_lines(&c->ledger, &other.output);
    crash_free(&other);
    if (status)
        TEST_FAIL("the other process ended with %d", status);
    return rc;
}

static void next_file(struct cycle *c, const char *dir, unsigned i)
{
    ledger_done(&c->ledger);
    snprintf(c->path, sizeof(c->path), "%s/%u/x.db", dir, i);
}

static int look(struct cycle *c, const struct way *w)
{
    struct fumi_buf output = {0};
    int64_t begin = fumi_ticks();
    struct fumi_err e = {0};
    struct store_sqlite_options o = {.path = c->path};
    struct store *s = store_sqlite_open(&o, &e);
    int64_t took = fumi_ticks() - begin;
    c->slowest = took > c->slowest ? took : c->slowest;
    int faults = s ? crash_check(s, &c->ledger, LOOK_ALL, &output) : 1;
    if (faults)
        TEST_FAIL("killed %s: %d faults\n%s\n%.*s", w->name, faults, e.text, (int)output.n,
                  output.n ? output.p : "");
    if (s)
        store_close(s);
    fumi_buf_done(&output);
    return faults ? -1 : 0;
}

TEST(nothing_is_lost_by_kill_9)
{
    struct cycle c = {0};
    char dir[64];
    unsigned cycles = crash_setting("CRASH_CYCLES", CYCLES);
    size_t lines = 0;
    crash_dir(dir, sizeof(dir), false);
    c.seed = crash_setting("CRASH_SEED", 0);
    if (!c.seed)
        fumi_random(&c.seed, sizeof(c.seed));
    printf("CRASH_SEED=%u\n", (unsigned)(c.seed &= 0xFFFFFFFF));
    for (unsigned i = 0; i < cycles && !test_failed; i++) {
        const struct way *w = &ways[i % FUMI_COUNT(ways)];
        if (w->fresh || i % CYCLES_A_FILE == 0)
            next_file(&c, dir, i);
        if (witnessed(&c, w))
            TEST_FAIL("killed %s: the driver ended by itself", w->name);
        lines += c.ledger.acknowledged;
        look(&c, w);
    }
    printf("%u kills, %zu acknowledgements checked, slowest start %.1f ms\n", cycles, lines,
           (double)c.slowest / 1e6);
    ledger_done(&c.ledger);
    crash_dir_remove(dir);
}
