#include "scan_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Damage */

static void flip(const char *path, off_t at, unsigned char bits)
{
    unsigned char byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || pread(fd, &byte, 1, at) != 1)
        abort();
    byte ^= bits;
    if (pwrite(fd, &byte, 1, at) != 1)
        abort();
    close(fd);
}

/* The log lines that an opening writes. */
static int lines_of_opening(struct fixture *s)
{
    char text[4096];
    int ends[2], lines = 0;
    scan_close(s->scan);
    if (pipe2(ends, O_CLOEXEC))
        abort();
    struct fumi_log log = {.level = FUMI_INFO, .fd = ends[1]};
    s->scan = table_scan(&s->table, s->path, &log);
    close(ends[1]);
    ssize_t n = read(ends[0], text, sizeof(text));
    for (ssize_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    close(ends[0]);
    return lines;
}

TEST(damage_is_found_and_repaired)
{
    struct fixture s;
    CHECK(set_up(&s, 48, 1500));
    for (int64_t note = 100; note < 200; note++)
        table_drop(&s.table, note);
    table_commit(&s.table);
    CHECK_INT(refresh(&s), 0);
    struct scan_shape shape = scan_shape_of(48);
    const size_t block = SCAN_HEAD, row = 777;
    const struct {
        const char *what;
        size_t at;
    } rows[] = {
        {"mark of a row that is gone", block + shape.gone + 150 * 4}, /* none is, once repaired */
        {"magic", 3},
        {"version", offsetof(struct scan_head, version)},
        {"block", offsetof(struct scan_head, block)},
        {"dim", offsetof(struct scan_head, dim)},
        {"length of the space", offsetof(struct scan_head, space_n)},
        {"space", offsetof(struct scan_head, space) + 2},
        {"rest of the space", offsetof(struct scan_head, space) + 500},
        {"sum of the space", offsetof(struct scan_head, space_sum)},
        {"sum of the header", offsetof(struct scan_head, sum) + 7},
        {"bits", block + row * 8},
        {"note", block + shape.note + row * 8 + 7},
        {"vector", block + shape.vector + row * 8},
        {"created", block + shape.created + row * 8 + 3},
        {"place", block + shape.place + row * 4},
        {"scale", block + shape.about + row * 8 + 1},
        {"sum", block + shape.sum + row * 4},
        {"sum of the small row", block + shape.about + row * 8 + 4},
        {"a row of the second block", block + shape.block + shape.note},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        int before = s.table.all;
        flip(s.path, (off_t)rows[i].at, i % 2 ? 0x80 : 0xff);
        int lines = lines_of_opening(&s);
        CHECK(s.scan);
        if (lines != 1 || s.table.all != before + 1)
            TEST_FAIL("%s: %d lines", rows[i].what, lines);
        see(rows[i].what, table_wrong(&s.table, s.scan, NULL, 1000, 1000));
        CHECK_INT(lines_of_opening(&s), 0);
    }
    for (size_t i = 0; i < 4; i++) /* a row that is here gets the mark of the first generation */
        flip(s.path, (off_t)(block + shape.gone + row * 4 + i), i ? 0xff : 0xfe);
    CHECK_INT(lines_of_opening(&s), 1);
    see("marked", table_wrong(&s.table, s.scan, NULL, 2000, 2000));
    tear_down(&s);
}

TEST(one_bad_slot_is_no_harm_and_two_are_repaired)
{
    struct fixture s;
    CHECK(set_up(&s, 8, 50));
    for (int i = 0; i < 3; i++) {
        table_grow(&s.table, 5);
        CHECK_INT(refresh(&s), 0);
    }
    const off_t slots[2] = {SCAN_SLOTS, SCAN_SLOTS + sizeof(struct scan_state)};
    for (size_t field = 0; field < sizeof(struct scan_state); field++) {
        flip(s.path, slots[field % 2] + (off_t)field, 0x10);
        CHECK(reopen(&s));
        see("one", table_wrong(&s.table, s.scan, NULL, 100, 100));
        CHECK_INT(s.table.all, 1);
        step(&s.table); /* writes the slot again, and then the other */
        CHECK_INT(refresh(&s), 0);
        step(&s.table);
        CHECK_INT(refresh(&s), 0);
    }
    flip(s.path, slots[0], 1);
    flip(s.path, slots[1], 1);
    CHECK(reopen(&s));
    CHECK_INT(s.table.all, 2);
    see("two", table_wrong(&s.table, s.scan, NULL, 100, 100));
    tear_down(&s);
}

static bool is_zero(const void *p, size_t n)
{
    const unsigned char *bytes = p;
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            return false;
    return true;
}

/* The rows of a note that hold something of a vector. */
static int rows_of(const struct fixture *s, int64_t note)
{
    struct scan_map *m;
    struct scan_state state;
    int fd = open(s->path, O_RDWR | O_CLOEXEC), rows = 0;
    const char *why = scan_map_open(fd, FUMI_STR("test:space"), s->table.dim, &m, &state);
    for (uint64_t row = 0; !why && row < state.rows; row++) {
        struct scan_block b = scan_block(m, (size_t)(row / SCAN_BLOCK));
        size_t i = row % SCAN_BLOCK;
        rows += b.note[i] == note &&
                !(is_zero(b.bits + i * m->shape.words, m->shape.words * 8) &&
                  is_zero(b.small + i * m->shape.stride, m->shape.stride) && !b.vector[i] &&
                  !b.created[i] && is_zero(&b.about[i], sizeof(b.about[i])));
    }
    if (!why)
        scan_map_free(m);
    close(fd);
    return why ? -1 : rows;
}

static void change(struct fixture *s, int64_t note, bool stays)
{
    table_drop(&s->table, note);
    if (stays)
        table_add(&s->table, note, 3);
    table_commit(&s->table);
}

/* A note that was removed leaves only zeros; one that got another text has the old row too, for
 * searches that began before, until it is removed. */
TEST(removed_rows_are_zeros)
{
    struct fixture s;
    CHECK(set_up(&s, 64, 3000));
    for (int64_t note = 1; note < 3000; note += 500) {
        CHECK_INT(rows_of(&s, note), 1);
        change(&s, note, true);
        CHECK_INT(refresh(&s), 0);
        CHECK_INT(rows_of(&s, note), 2);
        change(&s, note, false);
        CHECK_INT(rows_of(&s, note), 2);
        if (note % 1000 == 1)
            CHECK(reopen(&s)); /* it finds rows of before */
        else
            CHECK_INT(refresh(&s), 0);
        CHECK_INT(rows_of(&s, note), 0);
        CHECK_INT(rows_of(&s, note + 1), 1);
    }
    see("wiped", table_wrong(&s.table, s.scan, NULL, 1000, 1000));
    CHECK(reopen(&s));
    see("wiped and opened", table_wrong(&s.table, s.scan, NULL, 1000, 1000));
    CHECK_INT(s.table.all, 1);
    tear_down(&s);
}

TEST(damage_of_a_small_row_is_found_in_use)
{
    struct fixture s;
    CHECK(set_up(&s, 64, 500));
    struct scan_shape shape = scan_shape_of(64);
    for (size_t i = 0; i < 64; i++) {
        int before = s.table.all;
        size_t row = i * 7;
        flip(s.path, (off_t)(SCAN_HEAD + shape.small + row * shape.stride + i), 0x01);
        if (i % 2)
            CHECK(reopen(&s));
        CHECK_INT(s.table.all, before);
        struct scan_hit hit;
        CHECK_INT(scan_nearest(s.scan, NULL, s.table.items[row].x, 1, &hit), 1);
        CHECK_INT(hit.vector, (int64_t)row + 1); /* from its bits, nearly */
        CHECK_INT(refresh(&s), 0);
        CHECK_INT(s.table.all, before + 1);
        see("repaired", table_wrong(&s.table, s.scan, NULL, 500, 500));
    }
    tear_down(&s);
}

TEST(random_damage)
{
    struct fixture s;
    CHECK(set_up(&s, 33, 1200));
    uint64_t size = (uint64_t)file_size(s.path);
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 1 + i % 20; k++) {
            uint64_t r = table_random(&s.table);
            off_t at = (off_t)(r >> 8) % (off_t)(i % 3 ? size : SCAN_HEAD);
            flip(s.path, at, (unsigned char)(r | 1));
        }
        CHECK(reopen(&s));
        struct scan_hit hits[5];
        scan_nearest(s.scan, NULL, s.table.items[0].x, 5, hits);
        if (i % 4 == 0)
            step(&s.table);
        CHECK_INT(refresh(&s), 0);
        see("repaired", table_wrong(&s.table, s.scan, NULL, 1200, 1200));
    }
    tear_down(&s);
}

TEST(cut_and_lengthened_files)
{
    struct fixture s;
    CHECK(set_up(&s, 16, 2000));
    off_t size = file_size(s.path);
    const off_t sizes[] = {0,        1,        100,      SCAN_HEAD - 1, SCAN_HEAD, SCAN_HEAD + 1,
                           size / 2, size - 1, size + 1, size * 3};
    for (size_t i = 0; i < FUMI_COUNT(sizes); i++) {
        CHECK(truncate(s.path, sizes[i]) == 0);
        CHECK(reopen(&s));
        see("reopened", table_wrong(&s.table, s.scan, NULL, 100, 100));
    }
    CHECK_INT(s.table.all, 9);
    /* Under an open one: found before a row is touched. */
    for (size_t i = 0; i < 8; i++) {
        CHECK(truncate(s.path, sizes[i]) == 0);
        step(&s.table);
        CHECK_INT(refresh(&s), 0);
        see("refreshed", table_wrong(&s.table, s.scan, NULL, 100, 100));
    }
    tear_down(&s);
}

TEST(a_file_that_vanishes_or_is_replaced)
{
    struct fixture s;
    CHECK(set_up(&s, 16, 200));
    for (int i = 0; i < 4; i++) {
        CHECK(unlink(s.path) == 0);
        if (i % 2) {
            int fd = open(s.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
            CHECK(fd >= 0 && write(fd, "no such file", 12) == 12);
            close(fd);
        }
        step(&s.table);
        CHECK_INT(refresh(&s), 0);
        see("refreshed", table_wrong(&s.table, s.scan, NULL, 100, 100));
        CHECK_INT(s.table.all, 2 + i);
        CHECK(reopen(&s));
        CHECK_INT(s.table.all, 2 + i);
    }
    tear_down(&s);
}

/* No file */

TEST(memory_where_no_file_can_be)
{
    struct fixture s;
    CHECK(set_up(&s, 16, 200));
    char missing[160], link[160];
    snprintf(missing, sizeof(missing), "%s/no/such/directory", s.dir);
    snprintf(link, sizeof(link), "%s/link", s.dir);
    CHECK(symlink(s.path, link) == 0);
    const char *const paths[] = {NULL, missing, link, s.dir, "/dev/null", "", "/proc/x"};
    for (size_t i = 0; i < FUMI_COUNT(paths); i++) {
        struct fumi_err e = {0};
        struct scan *other = table_scan(&s.table, paths[i], &silent);
        CHECK(other);
        see("opened", table_wrong(&s.table, other, NULL, 50, 50));
        for (int k = 0; k < 5; k++)
            step(&s.table);
        CHECK_INT(scan_refresh(other, s.table.change, &e), 0);
        see("refreshed", table_wrong(&s.table, other, NULL, 50, 50));
        scan_close(other);
    }
    CHECK(unlink(link) == 0);
    tear_down(&s);
}

static int in_child(int (*run)(struct fixture *), struct fixture *s)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(run(s));
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                           : -1;
}

/* As nobody, to whom the directory's mode means something. */
static int read_only(struct fixture *s)
{
    if (getuid() == 0 && setuid(65534))
        return 1;
    struct scan *other = table_scan(&s->table, s->path, &silent);
    int bad = !other || table_wrong(&s->table, other, NULL, 50, 50);
    scan_close(other);
    return bad ? 2 : 0;
}

TEST(memory_in_a_read_only_directory)
{
    struct fixture s;
    CHECK(set_up(&s, 16, 200));
    CHECK(chmod(s.path, 0400) == 0 && chmod(s.dir, 0555) == 0);
    CHECK_INT(in_child(read_only, &s), 0);
    CHECK(chmod(s.dir, 0755) == 0 && unlink(s.path) == 0 && chmod(s.dir, 0555) == 0);
    CHECK_INT(in_child(read_only, &s), 0);
    CHECK(chmod(s.dir, 0755) == 0);
    tear_down(&s);
}

/* A limit for files stands for a full disk. */
static int full(struct fixture *s)
{
    struct rlimit limit = {(rlim_t)file_size(s->path), RLIM_INFINITY};
    struct fumi_err e = {0};
    signal(SIGXFSZ, SIG_IGN);
    struct scan *other = table_scan(&s->table, s->path, &silent);
    if (!other || setrlimit(RLIMIT_FSIZE, &limit))
        return 1;
    table_grow(&s->table, 3000);
    if (scan_refresh(other, s->table.change, &e) == 0 || !e.code)
        return 2; /* the limit counts for memory too */
    if (scan_size(other) != 200)
        return 3;
    limit.rlim_cur = RLIM_INFINITY;
    if (setrlimit(RLIMIT_FSIZE, &limit) || scan_refresh(other, s->table.change, &e))
        return 4;
    int bad = table_wrong(&s->table, other, NULL, 50, 50) != NULL;
    scan_close(other);
    return bad ? 5 : 0;
}

TEST(a_full_disk)
{
    struct fixture s;
    CHECK(set_up(&s, 16, 200));
    CHECK_INT(in_child(full, &s), 0);
    table_grow(&s.table, 10);
    CHECK_INT(refresh(&s), 0);
    see("after", table_wrong(&s.table, s.scan, NULL, 50, 50));
    tear_down(&s);
}

/* The source */

TEST(a_source_that_fails)
{
    struct fixture s;
    struct fumi_err e = {0};
    struct scan_source source = {table_all, table_changed, &s.table};
    CHECK(set_up(&s, 16, 200));
    step(&s.table);
    s.table.broken = true;
    CHECK_INT(refresh(&s), -1);
    CHECK_INT(scan_size(s.scan), 200);
    CHECK(unlink(s.path) == 0);
    CHECK_INT(refresh(&s), -1);
    CHECK(!scan_open(s.path, FUMI_STR("x"), 16, &source, &silent, &e));
    CHECK_STR(fumi_str(e.text), "the table is broken");
    CHECK(!scan_open(NULL, FUMI_STR("x"), 16, &source, &silent, &e));
    s.table.broken = false;
    CHECK_INT(refresh(&s), 0);
    see("well again", table_wrong(&s.table, s.scan, NULL, 50, 50));
    tear_down(&s);
}

TEST(a_history_that_is_forgotten)
{
    struct fixture s;
    CHECK(set_up(&s, 16, 200));
    step(&s.table);
    s.table.oldest = s.table.change;
    CHECK_INT(refresh(&s), 0);
    CHECK_INT(s.table.all, 2);
    see("all", table_wrong(&s.table, s.scan, NULL, 50, 50));
    struct scan *memory = table_scan(&s.table, NULL, &silent);
    CHECK(memory);
    step(&s.table);
    s.table.oldest = s.table.change;
    struct fumi_err e = {0};
    CHECK_INT(scan_refresh(memory, s.table.change, &e), 0);
    CHECK_INT(s.table.all, 4);
    see("in memory", table_wrong(&s.table, memory, NULL, 50, 50));
    scan_close(memory);
    /* A table that went back, as from a copy. */
    s.table.change = s.table.oldest = 2;
    s.table.own = 2;
    CHECK_INT(refresh(&s), 0);
    CHECK_INT(s.table.all, 5);
    see("back", table_wrong(&s.table, s.scan, NULL, 50, 50));
    tear_down(&s);
}
