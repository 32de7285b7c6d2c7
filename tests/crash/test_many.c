/* Many processes open a file that does not exist at the same time and add notes to it: none gets an
 * error, and in the end each sees all notes. CRASH_PROCESSES, CRASH_NOTES: number of each.
 * CRASH_FAIR: minimum speed of the slowest process, in percent of the fastest. CRASH_STARTS: how
 * often many processes create a file together. */
#include "crash.h"
#include "test.h"

#include <signal.h>
#include <unistd.h>

enum { PROCESSES = 8, PROCESSES_MAX = 64, NOTES = 40, STARTS = 12 };

struct crowd {
    struct crash_child children[PROCESSES_MAX];
    unsigned n;
    long long took[PROCESSES_MAX], longest[PROCESSES_MAX];
    struct ledger ledger;
};

static int start(struct crowd *c, const char *path, const char *notes, const char *writers)
{
    char writer[16];
    for (unsigned i = 0; i < c->n; i++) {
        snprintf(writer, sizeof(writer), "%u", i);
        const char *words[] = {CRASH_DRIVER, "many", path, notes, writer, writers, NULL};
        if (crash_start(&c->children[i], words, NULL))
            return -1;
    }
    return 0;
}

static void go(struct crowd *c)
{
    for (unsigned i = 0; i < c->n; i++)
        if (write(c->children[i].in, "g", 1) != 1)
            TEST_FAIL("process %u has ended", i);
}

/* Reads the output of process i until its line with the time it took. */
static void wait_for(struct crowd *c, unsigned i)
{
    const char *time = NULL;
    struct fumi_buf *output = &c->children[i].output;
    while (!(time = output->n ? memmem(output->p, output->n, "\nT ", 3) : NULL) ||
           !memchr(time + 1, '\n', (size_t)(output->p + output->n - time - 1)))
        if (!crash_read_output(&c->children[i], -1)) {
            TEST_FAIL("process %u ended early", i);
            return;
        }
    if (sscanf(time + 1, "T %lld %lld", &c->took[i], &c->longest[i]) != 2)
        TEST_FAIL("process %u printed an invalid line", i);
    ledger_lines(&c->ledger, output);
}

static double spread(const struct crowd *c)
{
    long long least = c->took[0], most = c->took[0], longest = 0;
    for (unsigned i = 0; i < c->n; i++) {
        least = c->took[i] < least ? c->took[i] : least;
        most = c->took[i] > most ? c->took[i] : most;
        longest = c->longest[i] > longest ? c->longest[i] : longest;
    }
    double part = most ? (double)least / (double)most * 100 : 0;
    printf("fastest %.2f s, slowest %.2f s: %.0f %% of the speed of the fastest; slowest add %.0f "
           "ms\n",
           (double)least / 1e9, (double)most / 1e9, part, (double)longest / 1e6);
    return part;
}

static void finish(struct crowd *c)
{
    for (unsigned i = 0; i < c->n; i++) {
        int status = test_failed ? 0 : crash_end(&c->children[i]);
        if (status)
            TEST_FAIL("process %u ended with %d", i, status);
        crash_free(&c->children[i]);
    }
}

static void look(const struct crowd *c, const char *path, unsigned notes)
{
    struct fumi_buf output = {0};
    int faults = crash_check_file(path, &c->ledger, LOOK_ALL, &output);
    if (faults)
        TEST_FAIL("%d faults\n%.*s", faults, (int)output.n, output.n ? output.p : "");
    if (c->ledger.acknowledged != (size_t)c->n * notes)
        TEST_FAIL("%zu acknowledged", c->ledger.acknowledged);
    fumi_buf_done(&output);
}

/* Runs all processes, beginning without a file. Returns the speed of the slowest process in percent
 * of the fastest. */
static double run(unsigned processes, unsigned notes, bool fast, bool show)
{
    struct crowd c = {.n = processes};
    char dir[64], path[96], texts[2][16];
    crash_dir(dir, sizeof(dir), fast);
    snprintf(path, sizeof(path), "%s/sub/x.db", dir);
    snprintf(texts[0], sizeof(texts[0]), "%u", notes);
    snprintf(texts[1], sizeof(texts[1]), "%u", c.n);
    if (start(&c, path, texts[0], texts[1]))
        TEST_FAIL("cannot start the drivers");
    go(&c);
    for (unsigned i = 0; i < c.n && !test_failed; i++)
        wait_for(&c, i);
    double part = show ? spread(&c) : 100;
    if (!test_failed)
        go(&c);
    finish(&c);
    if (!test_failed)
        look(&c, path, notes);
    ledger_done(&c.ledger);
    crash_dir_remove(dir);
    return part;
}

TEST(many_processes_on_one_file)
{
    unsigned n = crash_setting("CRASH_PROCESSES", PROCESSES), fair = crash_setting("CRASH_FAIR", 0);
    CHECK(n > 0 && n <= PROCESSES_MAX);
    signal(SIGPIPE, SIG_IGN);
    double part = run(n, crash_setting("CRASH_NOTES", NOTES), false, true);
    CHECK(part >= fair);
}

/* A process that opens the file while another one creates it waits until it is complete. */
TEST(many_start_together_on_a_missing_file)
{
    unsigned starts = crash_setting("CRASH_STARTS", STARTS);
    signal(SIGPIPE, SIG_IGN);
    for (unsigned i = 0; i < starts && !test_failed; i++)
        run(6, 1, true, false);
}
