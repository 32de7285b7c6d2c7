/* Backups while other processes write, and backups that are killed. CRASH_CYCLES: number of kills.
 */
#include "base/uuid.h"
#include "crash.h"
#include "store/sqlite.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

enum { WRITERS = 4, BEFORE = 30, COPIES = 3, CYCLES = 15 };

struct scene {
    char dir[64], path[96], copy[128];
    struct store *s;
    struct crash_child writers[WRITERS];
    struct ledger ledger;
};

static void start(struct scene *c)
{
    char writer[16];
    for (unsigned i = 0; i < WRITERS; i++) {
        snprintf(writer, sizeof(writer), "%u", 2 * i);
        const char *words[] = {CRASH_DRIVER, "add", c->path, "100000", writer, "2", NULL};
        if (crash_start(&c->writers[i], words, NULL))
            TEST_FAIL("cannot start a driver");
    }
}

/* Reads all output that the writers have produced so far. */
static void read_writers(struct scene *c)
{
    for (unsigned i = 0; i < WRITERS; i++) {
        size_t before;
        do {
            before = c->writers[i].output.n;
            if (!crash_read_output(&c->writers[i], 0)) {
                TEST_FAIL("writer %u ended", i);
                return;
            }
        } while (c->writers[i].output.n > before);
        ledger_lines(&c->ledger, &c->writers[i].output);
    }
}

static void wait_until(struct scene *c, size_t acknowledged)
{
    while (c->ledger.acknowledged < acknowledged && !test_failed)
        for (unsigned i = 0; i < WRITERS && !test_failed; i++) {
            if (!crash_read_output(&c->writers[i], 10))
                TEST_FAIL("writer %u ended", i);
            ledger_lines(&c->ledger, &c->writers[i].output);
        }
}

/* Notes that were acknowledged before the copy must be in it; later notes may be. */
static void loosen(struct ledger *later, const struct ledger *before)
{
    for (size_t w = 0; w < later->writers; w++)
        for (size_t i = 0; i < later->rows[CRASH_NOTE][w].n; i++) {
            struct crash_row *r = &later->rows[CRASH_NOTE][w].items[i];
            bool had = w < before->writers && i < before->rows[CRASH_NOTE][w].n &&
                       before->rows[CRASH_NOTE][w].items[i].done;
            if (!had && (r->done || r->open))
                *r = (struct crash_row){.done = 0, .begun = 1, .open = true};
        }
}

static void look(const char *path, const struct ledger *l)
{
    struct fumi_buf output = {0};
    int faults = crash_check_file(path, l, LOOK_ALL, &output);
    if (faults)
        TEST_FAIL("%s: %d faults\n%.*s", path, faults, (int)output.n, output.n ? output.p : "");
    fumi_buf_done(&output);
}

static void copy_once(struct scene *c, unsigned number)
{
    struct fumi_err e = {0};
    struct ledger before, later;
    read_writers(c);
    ledger_copy(&before, &c->ledger);
    snprintf(c->copy, sizeof(c->copy), "%s/copy%u.db", c->dir, number);
    if (store_backup(c->s, fumi_str(c->copy), &e))
        TEST_FAIL("backup: %s", e.text);
    read_writers(c);
    ledger_copy(&later, &c->ledger);
    loosen(&later, &before);
    look(c->copy, &later);
    printf("a copy of at least %zu notes, %zu were added meanwhile\n", before.acknowledged,
           c->ledger.acknowledged - before.acknowledged);
    ledger_done(&before);
    ledger_done(&later);
}

static bool scene(struct scene *c)
{
    struct fumi_err e = {0};
    *c = (struct scene){0};
    crash_dir(c->dir, sizeof(c->dir), false);
    snprintf(c->path, sizeof(c->path), "%s/x.db", c->dir);
    c->s = store_sqlite_open(&(struct store_sqlite_options){.path = c->path}, &e);
    if (!c->s)
        TEST_FAIL("%s", e.text);
    return c->s;
}

static void leave(struct scene *c)
{
    store_close(c->s);
    ledger_done(&c->ledger);
    crash_dir_remove(c->dir);
}

TEST(a_copy_while_four_write)
{
    struct scene c;
    CHECK(scene(&c));
    start(&c);
    for (unsigned i = 0; i < COPIES && !test_failed; i++) {
        wait_until(&c, (i + 1) * WRITERS * BEFORE);
        copy_once(&c, i);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        crash_stop(&c.writers[i]);
        ledger_lines(&c.ledger, &c.writers[i].output);
        crash_free(&c.writers[i]);
    }
    look(c.path, &c.ledger);
    leave(&c);
}

static void fill(struct scene *c, unsigned notes)
{
    struct fumi_err e = {0};
    for (unsigned i = 0; i < notes && !test_failed; i++) {
        struct crash_thing t = {CRASH_NOTE, 1, i, 1};
        if (crash_do(c->s, t, &e))
            TEST_FAIL("%s", e.text);
        ledger_set(&c->ledger, 'D', t);
    }
}

TEST(a_copy_does_not_replace_an_existing_file)
{
    struct scene c;
    struct fumi_err e = {0};
    struct fumi_buf after = {0};
    CHECK(scene(&c));
    fill(&c, 3);
    snprintf(c.copy, sizeof(c.copy), "%s/there", c.dir);
    CHECK_INT(crash_write(c.copy, "mine", 4), 0);
    CHECK_INT(store_backup(c.s, fumi_str(c.copy), &e), -1);
    CHECK_INT(e.code, ERR_CONFLICT);
    CHECK_INT(crash_read(c.copy, &after), 0);
    CHECK_STR(fumi_buf_str(&after), "mine");
    CHECK_INT(store_backup(c.s, fumi_str(c.path), &e), -1);
    CHECK_INT(e.code, ERR_CONFLICT);
    look(c.path, &c.ledger);
    snprintf(c.copy, sizeof(c.copy), "%s/missing/there", c.dir);
    CHECK_INT(store_backup(c.s, fumi_str(c.copy), &e), -1);
    CHECK_INT(e.code, FUMI_INTERNAL_ERROR);
    fumi_buf_done(&after);
    leave(&c);
}

/* Kills a backup so many microseconds after it began. Returns whether the copy exists. */
static bool killed_copy(struct scene *c, unsigned later)
{
    struct crash_child child;
    const char *words[] = {CRASH_DRIVER, "backup", c->path, c->copy, NULL};
    if (crash_start(&child, words, NULL))
        TEST_FAIL("cannot start a driver");
    while (!child.output.n && crash_read_output(&child, -1)) {}
    usleep(later);
    crash_stop(&child);
    bool done = memmem(child.output.p, child.output.n, "D backup", 8);
    crash_free(&child);
    bool there = access(c->copy, F_OK) == 0;
    if (done && !there)
        TEST_FAIL("a copy that was acknowledged does not exist");
    return there;
}

static int count_named(const char *dir, const char *part)
{
    DIR *d = opendir(dir);
    struct dirent *one;
    int n = 0;
    while (d && (one = readdir(d)))
        n += strstr(one->d_name, part) != NULL;
    if (d)
        closedir(d);
    return n;
}

static int make_named(const char *dir, const char *name, const char *text, size_t n)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return crash_write(path, text, n);
}

/* The temporary files of killed processes, one that a running process is writing, and files of
 * other programs. */
TEST(only_files_of_dead_processes_are_removed)
{
    static const char zeros[4096];
    struct scene c;
    struct fumi_err e = {0};
    char used[160];
    CHECK(scene(&c));
    CHECK_INT(make_named(c.dir, "a.db.part-00000001", zeros, sizeof(zeros)), 0);
    CHECK_INT(make_named(c.dir, "b.db.part-00000002", "", 0), 0);
    CHECK_INT(make_named(c.dir, "memory.db.mend-00000003", zeros, sizeof(zeros)), 0);
    CHECK_INT(make_named(c.dir, "memory.db.vec.new", "fumiscan", 8), 0);
    CHECK_INT(make_named(c.dir, "c.db.part-00000004", zeros, sizeof(zeros)), 0);
    CHECK_INT(make_named(c.dir, "film.part-00000005", "a film", 6), 0);
    CHECK_INT(make_named(c.dir, "d.part-000006", zeros, sizeof(zeros)), 0);
    snprintf(used, sizeof(used), "%s/c.db.part-00000004", c.dir);
    int fd = open(used, O_RDWR | O_CLOEXEC);
    CHECK_INT(flock(fd, LOCK_EX), 0);
    snprintf(c.copy, sizeof(c.copy), "%s/copy.db", c.dir);
    CHECK_INT(store_backup(c.s, fumi_str(c.copy), &e), 0);
    CHECK_INT(count_named(c.dir, ".part-"), 3);
    CHECK_INT(count_named(c.dir, ".mend-") + count_named(c.dir, ".vec.new"), 0);
    close(fd);
    struct store *again = store_sqlite_open(&(struct store_sqlite_options){.path = c.path}, &e);
    CHECK(again);
    CHECK_INT(count_named(c.dir, "c.db.part-"), 0);
    CHECK_INT(count_named(c.dir, ".part-"), 2);
    if (again)
        store_close(again);
    leave(&c);
}

TEST(a_killed_copy_leaves_no_incomplete_file)
{
    struct scene c;
    struct fumi_err e = {0};
    unsigned cycles = crash_setting("CRASH_CYCLES", CYCLES), whole = 0;
    uint64_t seed;
    CHECK(scene(&c));
    fill(&c, 300);
    fumi_random(&seed, sizeof(seed));
    for (unsigned i = 0; i < cycles && !test_failed; i++) {
        snprintf(c.copy, sizeof(c.copy), "%s/copy%u.db", c.dir, i);
        seed = crash_mix(seed);
        if (killed_copy(&c, (unsigned)(seed % 20000))) {
            look(c.copy, &c.ledger);
            whole++;
        } else if (store_backup(c.s, fumi_str(c.copy), &e)) {
            TEST_FAIL("after a kill: %s", e.text);
        }
        unlink(c.copy);
    }
    printf("%u kills, %u copies complete, the others do not exist\n", cycles, whole);
    snprintf(c.copy, sizeof(c.copy), "%s/last.db", c.dir);
    CHECK_INT(store_backup(c.s, fumi_str(c.copy), &e), 0);
    CHECK_INT(count_named(c.dir, ".part-"), 0);
    look(c.path, &c.ledger);
    leave(&c);
}
