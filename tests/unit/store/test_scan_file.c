#include "scan_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

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

/* Returns the number of log lines that opening the file writes. */
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
    struct scan_layout layout = scan_layout_of(48);
    const size_t block = SCAN_HEADER, row = 777;
    const struct {
        const char *what;
        size_t at;
    } rows[] = {
        {"mark of a deleted row",
         block + layout.deleted +
             150 * 4}, /* first, because no row is deleted once the file was rebuilt */
        {"magic", 3},
        {"version", offsetof(struct scan_header, version)},
        {"block", offsetof(struct scan_header, block)},
        {"dim", offsetof(struct scan_header, dim)},
        {"length of the space", offsetof(struct scan_header, space_n)},
        {"space", offsetof(struct scan_header, space) + 2},
        {"rest of the space", offsetof(struct scan_header, space) + 500},
        {"checksum of the space", offsetof(struct scan_header, space_checksum)},
        {"checksum of the header", offsetof(struct scan_header, checksum) + 7},
        {"bits", block + row * 8},
        {"note", block + layout.note + row * 8 + 7},
        {"vector", block + layout.vector + row * 8},
        {"created", block + layout.created + row * 8 + 3},
        {"tag set", block + layout.tag_set + row * 4},
        {"scale", block + layout.code_info + row * 8 + 1},
        {"checksum", block + layout.checksum + row * 4},
        {"checksum of the code", block + layout.code_info + row * 8 + 4},
        {"a row of the second block", block + layout.block + layout.note},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        int before = s.table.all;
        flip(s.path, (off_t)rows[i].at, i % 2 ? 0x80 : 0xff);
        int lines = lines_of_opening(&s);
        CHECK(s.scan);
        if (lines != 1 || s.table.all != before + 1)
            TEST_FAIL("%s: %d lines", rows[i].what, lines);
        check_same(rows[i].what, table_wrong(&s.table, s.scan, NULL, 1000, 1000));
        CHECK_INT(lines_of_opening(&s), 0);
    }
    for (size_t i = 0; i < 4; i++) /* a live row becomes deleted since generation 1 */
        flip(s.path, (off_t)(block + layout.deleted + row * 4 + i), i ? 0xff : 0xfe);
    CHECK_INT(lines_of_opening(&s), 1);
    check_same("marked", table_wrong(&s.table, s.scan, NULL, 2000, 2000));
    tear_down(&s);
}

TEST(one_damaged_slot_is_ignored_and_two_cause_a_rebuild)
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
        check_same("one", table_wrong(&s.table, s.scan, NULL, 100, 100));
        CHECK_INT(s.table.all, 1);
        step(&s.table); /* this and the next step write both slots again */
        CHECK_INT(refresh(&s), 0);
        step(&s.table);
        CHECK_INT(refresh(&s), 0);
    }
    flip(s.path, slots[0], 1);
    flip(s.path, slots[1], 1);
    CHECK(reopen(&s));
    CHECK_INT(s.table.all, 2);
    check_same("two", table_wrong(&s.table, s.scan, NULL, 100, 100));
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

/* The number of rows of the note that still hold part of a vector. */
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
                !(is_zero(b.bits + i * m->layout.words, m->layout.words * 8) &&
                  is_zero(b.code + i * m->layout.stride, m->layout.stride) && !b.vector[i] &&
                  !b.created[i] && is_zero(&b.code_info[i], sizeof(b.code_info[i])));
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

/* The rows of a deleted note are zeros. If only the text of a note changed, its old row stays
 * until the note is deleted, for searches that use an older generation. */
TEST(rows_of_deleted_notes_are_wiped)
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
            CHECK(reopen(&s)); /* it wipes the rows that are deleted in the meantime */
        else
            CHECK_INT(refresh(&s), 0);
        CHECK_INT(rows_of(&s, note), 0);
        CHECK_INT(rows_of(&s, note + 1), 1);
    }
    check_same("wiped", table_wrong(&s.table, s.scan, NULL, 1000, 1000));
    CHECK(reopen(&s));
    check_same("wiped and opened", table_wrong(&s.table, s.scan, NULL, 1000, 1000));
    CHECK_INT(s.table.all, 1);
    tear_down(&s);
}

TEST(a_damaged_code_is_found_by_a_search)
{
    struct fixture s;
    CHECK(set_up(&s, 64, 500));
    struct scan_layout layout = scan_layout_of(64);
    for (size_t i = 0; i < 64; i++) {
        int before = s.table.all;
        size_t row = i * 7;
        flip(s.path, (off_t)(SCAN_HEADER + layout.code + row * layout.stride + i), 0x01);
        if (i % 2)
            CHECK(reopen(&s));
        CHECK_INT(s.table.all, before);
        struct scan_hit hit;
        CHECK_INT(scan_nearest(s.scan, NULL, s.table.items[row].x, 1, &hit), 1);
        CHECK_INT(hit.vector, (int64_t)row + 1); /* estimated from its sign bits */
        CHECK_INT(refresh(&s), 0);
        CHECK_INT(s.table.all, before + 1);
        check_same("repaired", table_wrong(&s.table, s.scan, NULL, 500, 500));
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
            off_t at = (off_t)(r >> 8) % (off_t)(i % 3 ? size : SCAN_HEADER);
            flip(s.path, at, (unsigned char)(r | 1));
        }
        CHECK(reopen(&s));
        struct scan_hit hits[5];
        scan_nearest(s.scan, NULL, s.table.items[0].x, 5, hits);
        if (i % 4 == 0)
            step(&s.table);
        CHECK_INT(refresh(&s), 0);
        check_same("repaired", table_wrong(&s.table, s.scan, NULL, 1200, 1200));
    }
    tear_down(&s);
}

TEST(truncated_and_extended_files)
{
    struct fixture s;
    CHECK(set_up(&s, 16, 2000));
    off_t size = file_size(s.path);
    const off_t sizes[] = {
        0,        1,        100,      SCAN_HEADER - 1, SCAN_HEADER, SCAN_HEADER + 1,
        size / 2, size - 1, size + 1, size * 3};
    for (size_t i = 0; i < FUMI_COUNT(sizes); i++) {
        CHECK(truncate(s.path, sizes[i]) == 0);
        CHECK(reopen(&s));
        check_same("reopened", table_wrong(&s.table, s.scan, NULL, 100, 100));
    }
    CHECK_INT(s.table.all, 9);
    /* A file that is cut while it is open: found before a row is read. */
    for (size_t i = 0; i < 8; i++) {
        CHECK(truncate(s.path, sizes[i]) == 0);
        step(&s.table);
        CHECK_INT(refresh(&s), 0);
        check_same("refreshed", table_wrong(&s.table, s.scan, NULL, 100, 100));
    }
    tear_down(&s);
}

TEST(a_file_that_is_deleted_or_replaced)
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
        check_same("refreshed", table_wrong(&s.table, s.scan, NULL, 100, 100));
        CHECK_INT(s.table.all, 2 + i);
        CHECK(reopen(&s));
        CHECK_INT(s.table.all, 2 + i);
    }
    tear_down(&s);
}

TEST(rows_are_kept_in_memory_if_the_path_is_unusable)
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
        check_same("opened", table_wrong(&s.table, other, NULL, 50, 50));
        for (int k = 0; k < 5; k++)
            step(&s.table);
        CHECK_INT(table_refresh(&s.table, other, &e), 0);
        check_same("refreshed", table_wrong(&s.table, other, NULL, 50, 50));
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

/* Runs as "nobody", because file modes do not restrict root. */
static int read_only(struct fixture *s)
{
    if (getuid() == 0 && setuid(65534))
        return 1;
    struct scan *other = table_scan(&s->table, s->path, &silent);
    int bad = !other || table_wrong(&s->table, other, NULL, 50, 50);
    scan_close(other);
    return bad ? 2 : 0;
}

TEST_OF_FORKS(rows_are_kept_in_memory_if_the_directory_is_read_only)
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

/* A limit on the file size simulates a full disk. */
static int full(struct fixture *s)
{
    struct rlimit limit = {(rlim_t)file_size(s->path), RLIM_INFINITY};
    struct fumi_err e = {0};
    signal(SIGXFSZ, SIG_IGN);
    struct scan *other = table_scan(&s->table, s->path, &silent);
    if (!other || setrlimit(RLIMIT_FSIZE, &limit))
        return 1;
    table_grow(&s->table, 3000);
    if (table_refresh(&s->table, other, &e) == 0 || !e.code)
        return 2; /* the limit also applies to files in memory */
    if (scan_is_whole(other))
        return 3;
    limit.rlim_cur = RLIM_INFINITY;
    if (setrlimit(RLIMIT_FSIZE, &limit) || table_refresh(&s->table, other, &e))
        return 4;
    int bad = table_wrong(&s->table, other, NULL, 50, 50) != NULL;
    scan_close(other);
    return bad ? 5 : 0;
}

TEST_OF_FORKS(a_full_disk)
{
    struct fixture s;
    CHECK(set_up(&s, 16, 200));
    CHECK_INT(in_child(full, &s), 0);
    table_grow(&s.table, 10);
    CHECK_INT(refresh(&s), 0);
    check_same("after", table_wrong(&s.table, s.scan, NULL, 50, 50));
    tear_down(&s);
}

TEST(a_source_that_fails)
{
    struct fixture s;
    struct fumi_err e = {0};
    struct scan_source source = {table_read, &s.table};
    CHECK(set_up(&s, 16, 200));
    step(&s.table);
    s.table.broken = true;
    CHECK_INT(refresh(&s), -1);
    CHECK_INT(count_rows(s.scan, 200), 200);
    CHECK(unlink(s.path) == 0);
    CHECK_INT(refresh(&s), -1);
    const char *const paths[] = {s.path, NULL};
    for (size_t i = 0; i < FUMI_COUNT(paths); i++) {
        struct scan *other = scan_open(paths[i], FUMI_STR("x"), 16, &source, &silent, &e);
        CHECK(other && table_refresh(&s.table, other, &e) == -1);
        CHECK_STR(fumi_str(e.text), "the table is broken");
        scan_close(other);
    }
    s.table.broken = false;
    CHECK_INT(refresh(&s), 0);
    check_same("repaired", table_wrong(&s.table, s.scan, NULL, 50, 50));
    tear_down(&s);
}

TEST(all_rows_are_read_if_the_history_is_unknown)
{
    struct fixture s;
    CHECK(set_up(&s, 16, 200));
    step(&s.table);
    s.table.oldest = s.table.change;
    CHECK_INT(refresh(&s), 0);
    CHECK_INT(s.table.all, 2);
    check_same("all", table_wrong(&s.table, s.scan, NULL, 50, 50));
    struct scan *memory = table_scan(&s.table, NULL, &silent);
    CHECK(memory);
    step(&s.table);
    s.table.oldest = s.table.change;
    struct fumi_err e = {0};
    CHECK_INT(table_refresh(&s.table, memory, &e), 0);
    CHECK_INT(s.table.all, 4);
    check_same("in memory", table_wrong(&s.table, memory, NULL, 50, 50));
    scan_close(memory);
    /* The database went back to an older change number, as after restoring a backup. */
    s.table.change = s.table.oldest = 2;
    s.table.own = 2;
    CHECK_INT(refresh(&s), 0);
    CHECK_INT(s.table.all, 5);
    check_same("back", table_wrong(&s.table, s.scan, NULL, 50, 50));
    tear_down(&s);
}
