#include "scan_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static const struct scan_filter open_filter = {.since = INT64_MIN, .until = INT64_MAX};

TEST(results_are_exact_if_few_rows_pass)
{
    static const size_t dims[] = {1, 2, 7, 31, 64, 65, 384, 1536, 3072};
    for (size_t i = 0; i < FUMI_COUNT(dims); i++) {
        struct fixture s;
        CHECK(set_up(&s, dims[i], 300));
        CHECK_INT(count_rows(s.scan, 300), 300);
        check_same("limit 20", table_wrong(&s.table, s.scan, &open_filter, 20, 20));
        check_same("no filter", table_wrong(&s.table, s.scan, NULL, 1, 1));
        check_same("all", table_wrong(&s.table, s.scan, NULL, 300, 300));
        check_same("more than there are", table_wrong(&s.table, s.scan, NULL, 1000, 1000));
        check_same("none", table_wrong(&s.table, s.scan, NULL, 0, 0));
        tear_down(&s);
    }
}

TEST(the_best_rows_are_found_after_the_rough_pass)
{
    static const size_t dims[] = {7, 100, 384};
    for (size_t i = 0; i < FUMI_COUNT(dims); i++) {
        struct fixture s;
        CHECK(set_up(&s, dims[i], 6000));
        for (int k = 0; k < 5; k++) {
            table_commit(&s.table); /* another query */
            check_same("wide", table_wrong(&s.table, s.scan, NULL, 100, 10));
            check_same("narrow", table_wrong(&s.table, s.scan, NULL, 10, 10));
        }
        check_same("nearly all", table_wrong(&s.table, s.scan, NULL, 5500, 5500));
        tear_down(&s);
    }
}

/* Some models produce such vectors; the sign bits of most dimensions are then noise. */
TEST(vectors_with_most_length_in_few_dimensions)
{
    struct scan_table t;
    table_init(&t, 384);
    t.steep = true;
    table_grow(&t, 6000);
    struct scan *s = table_scan(&t, NULL, &silent);
    CHECK(s);
    for (int i = 0; i < 5; i++) {
        table_commit(&t);
        check_same("steep", table_wrong(&t, s, NULL, 20, 10));
    }
    scan_close(s);
    table_done(&t);
}

TEST(filters)
{
    struct fixture s;
    CHECK(set_up(&s, 64, 9000));
    uint64_t some[2] = {0x00ff00ff00ff00ffu, 0xfu}, none[2] = {0}, most[2] = {~0ull, ~0ull};
    const struct {
        const char *name;
        struct scan_filter f;
    } rows[] = {
        {"some tag sets", {some, 100, INT64_MIN, INT64_MAX}},
        {"most tag sets", {most, 90, INT64_MIN, INT64_MAX}},
        {"one word of tag sets", {most, 64, INT64_MIN, INT64_MAX}},
        {"no tag set", {none, 100, INT64_MIN, INT64_MAX}},
        {"no known tag set", {most, 0, INT64_MIN, INT64_MAX}},
        {"since", {NULL, 0, 50000, INT64_MAX}},
        {"until", {NULL, 0, INT64_MIN, 60000}},
        {"a span", {NULL, 0, 1000, 2000}},
        {"a moment", {NULL, 0, 1000, 1000}},
        {"an empty span", {NULL, 0, 2000, 1000}},
        {"both", {some, 100, 20000, 70000}},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        check_same(rows[i].name, table_wrong(&s.table, s.scan, &rows[i].f, 50, 10));
    for (int64_t note = 1; note < 4000; note += 3)
        table_drop(&s.table, note);
    table_commit(&s.table);
    CHECK_INT(refresh(&s), 0);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        check_same(rows[i].name, table_wrong(&s.table, s.scan, &rows[i].f, 50, 10));
    tear_down(&s);
}

TEST(an_empty_table)
{
    struct fixture s;
    struct scan_hit hit;
    float query[8] = {1};
    CHECK(set_up(&s, 8, 0));
    CHECK_INT(count_rows(s.scan, 0), 0);
    CHECK_INT(scan_nearest(s.scan, NULL, query, 1, &hit), 0);
    CHECK(reopen(&s));
    CHECK_INT(s.table.all, 1);
    table_grow(&s.table, 1);
    CHECK_INT(refresh(&s), 0);
    CHECK_INT(scan_nearest(s.scan, NULL, query, 1, &hit), 1);
    tear_down(&s);
}

TEST(refresh_applies_changes)
{
    struct fixture s;
    CHECK(set_up(&s, 24, 500));
    for (int i = 0; i < 400; i++) {
        for (int k = i % 7; k >= 0; k--)
            step(&s.table);
        CHECK_INT(refresh(&s), 0);
        check_same("a step", table_wrong(&s.table, s.scan, NULL, 30, 30));
        if (i % 50 == 0)
            CHECK(reopen(&s));
    }
    CHECK_INT(s.table.all, 1);
    tear_down(&s);
}

TEST(an_existing_file_is_reused)
{
    struct fixture s;
    struct stat st;
    CHECK(set_up(&s, 384, 3000));
    CHECK_INT(s.table.all, 1);
    CHECK_INT(s.table.changed, 0);
    CHECK(stat(s.path, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(chmod(s.path, 0644) == 0);
    CHECK(reopen(&s));
    CHECK(stat(s.path, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK_INT(refresh(&s), 0);
    CHECK_INT(s.table.all, 1);
    CHECK_INT(s.table.changed, 0);
    check_same("again", table_wrong(&s.table, s.scan, NULL, 50, 50));
    CHECK(access(s.temp_path, F_OK) && errno == ENOENT);
    tear_down(&s);
}

TEST(a_file_for_another_space_or_dimension_is_rebuilt)
{
    struct fixture s;
    struct fumi_err e = {0};
    CHECK(set_up(&s, 40, 100));
    static const char *const spaces[] = {"test:other", "test:spac", "test:space2", ""};
    struct scan_source source = {table_read, &s.table};
    for (size_t i = 0; i < FUMI_COUNT(spaces); i++) {
        struct scan *other = scan_open(s.path, fumi_str(spaces[i]), 40, &source, &silent, &e);
        CHECK(other);
        CHECK_INT(table_refresh(&s.table, other, &e), 0);
        CHECK_INT(s.table.all, 2 + (int)i);
        check_same(spaces[i], table_wrong(&s.table, other, NULL, 10, 10));
        scan_close(other);
    }
    /* A scan that had the file open before still returns results, and can be refreshed. */
    check_same("before", table_wrong(&s.table, s.scan, NULL, 10, 10));
    table_grow(&s.table, 10);
    CHECK_INT(refresh(&s), 0);
    check_same("after", table_wrong(&s.table, s.scan, NULL, 10, 10));
    struct scan_table wide;
    table_init(&wide, 41);
    table_grow(&wide, 10);
    struct scan *other = table_scan(&wide, s.path, &silent);
    CHECK(other);
    check_same("41 dimensions", table_wrong(&wide, other, NULL, 10, 10));
    scan_close(other);
    table_done(&wide);
    tear_down(&s);
}

TEST(long_space_names_are_distinguished)
{
    struct fixture s;
    struct fumi_err e = {0};
    char name[2000];
    memset(name, 'n', sizeof(name));
    CHECK(set_up(&s, 8, 10));
    struct scan_source source = {table_read, &s.table};
    for (int i = 0; i < 4; i++) {
        name[1999] = "aabb"[i];
        struct fumi_str space = {name, sizeof(name)};
        struct scan *other = scan_open(s.path, space, 8, &source, &silent, &e);
        CHECK(other);
        CHECK_INT(table_refresh(&s.table, other, &e), 0);
        CHECK_INT(s.table.all, i < 2 ? 2 : 3);
        scan_close(other);
    }
    tear_down(&s);
}

TEST(invalid_dimensions_are_refused)
{
    struct scan_table t;
    struct fumi_err e = {0};
    table_init(&t, 1);
    struct scan_source source = {table_read, &t};
    CHECK(!scan_open(NULL, FUMI_STR("x"), 0, &source, &silent, &e) && e.code);
    CHECK(!scan_open(NULL, FUMI_STR("x"), VECTOR_DIM_MAX + 1, &source, &silent, &e) && e.code);
    table_done(&t);
}

TEST(two_scans_share_one_file)
{
    struct fixture s;
    CHECK(set_up(&s, 16, 100));
    struct scan *other = table_scan(&s.table, s.path, &silent);
    CHECK(other);
    struct fumi_err e = {0};
    for (int i = 0; i < 40; i++) {
        struct scan *first = i % 2 ? s.scan : other, *second = i % 2 ? other : s.scan;
        if (i % 10 == 5)
            table_grow(&s.table, 4000); /* more than is mapped */
        step(&s.table);
        int before = s.table.changed;
        CHECK_INT(table_refresh(&s.table, first, &e), 0);
        CHECK_INT(s.table.changed, before + 1);
        CHECK_INT(table_refresh(&s.table, second, &e), 0);
        CHECK_INT(s.table.changed, before + 1); /* the second reads the rows that the first wrote */
        check_same("first", table_wrong(&s.table, first, NULL, 5, 5));
        check_same("second", table_wrong(&s.table, second, NULL, 5, 5));
    }
    CHECK_INT(s.table.all, 1);
    scan_close(other);
    tear_down(&s);
}

/* A search sees the rows that were live when it began: a note whose text is replaced again and
 * again is found exactly once by every search, with its old or its new row. */
enum { REWRITES = 300, SEEKERS = 2, WATCHED = 40 };
struct race {
    struct fixture fixture;
    struct scan *other;
    float query[32];
    atomic_bool done;
    atomic_int lost, searches;
};

static void *seek(void *arg)
{
    struct race *r = arg;
    struct scan_hit hits[400];
    while (!atomic_load(&r->done)) {
        int seen[WATCHED + 1] = {0};
        size_t n = scan_nearest(r->fixture.scan, NULL, r->query, 400, hits);
        for (size_t i = 0; i < n; i++)
            if (hits[i].note <= WATCHED)
                seen[hits[i].note]++;
        for (int i = 1; i <= WATCHED; i++)
            if (seen[i] != 1)
                atomic_fetch_add(&r->lost, 1);
        atomic_fetch_add(&r->searches, 1);
    }
    return NULL;
}

static void rewrite(struct scan_table *t, int64_t note)
{
    pthread_mutex_lock(&t->lock);
    table_drop(t, note);
    table_add(t, note, 0);
    table_commit(t);
    pthread_mutex_unlock(&t->lock);
}

static int both(struct race *r, int i)
{
    struct fumi_err e = {0};
    rewrite(&r->fixture.table, 1 + i % WATCHED);
    return table_refresh(&r->fixture.table, i % 2 ? r->fixture.scan : r->other, &e);
}

TEST(a_search_sees_one_generation)
{
    struct race r = {.query = {1, 1, 1}};
    pthread_t threads[SEEKERS];
    CHECK(set_up(&r.fixture, 32, 300));
    r.other = table_scan(&r.fixture.table, r.fixture.path, &silent);
    CHECK(r.other);
    for (size_t i = 0; i < SEEKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, seek, &r) == 0);
    int failed = 0;
    for (int i = 0; i < REWRITES * WATCHED / 10; i++)
        failed += both(&r, i) != 0;
    for (int i = 0; i < 1000000 && atomic_load(&r.searches) < 20; i++)
        failed += refresh(&r.fixture) != 0;
    atomic_store(&r.done, true);
    for (size_t i = 0; i < SEEKERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(failed, 0);
    CHECK_INT(atomic_load(&r.lost), 0);
    CHECK(atomic_load(&r.searches) >= 20);
    scan_close(r.other);
    tear_down(&r.fixture);
}

TEST(the_file_grows_during_searches)
{
    struct race r = {.query = {1}};
    pthread_t threads[SEEKERS];
    CHECK(set_up(&r.fixture, 8, 300));
    for (size_t i = 0; i < SEEKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, seek, &r) == 0);
    int failed = 0;
    for (int i = 0; i < 12; i++) {
        pthread_mutex_lock(&r.fixture.table.lock);
        table_grow(&r.fixture.table, 3000);
        pthread_mutex_unlock(&r.fixture.table.lock);
        failed += refresh(&r.fixture) != 0;
    }
    atomic_store(&r.done, true);
    for (size_t i = 0; i < SEEKERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(failed, 0);
    check_same("grown", table_wrong(&r.fixture.table, r.fixture.scan, NULL, 10, 10));
    CHECK_INT(count_rows(r.fixture.scan, 36300), 36300);
    tear_down(&r.fixture);
}

TEST(deleted_rows_are_compacted)
{
    struct fixture s;
    CHECK(set_up(&s, 16, 100));
    struct scan *other = table_scan(&s.table, s.path, &silent);
    CHECK(other);
    off_t most = 0;
    for (int i = 0; i < 200; i++) {
        for (int64_t note = 1; note <= 100; note++) {
            table_drop(&s.table, note);
            table_add(&s.table, note, 3);
        }
        table_commit(&s.table);
        CHECK_INT(refresh(&s), 0);
        CHECK_INT(count_rows(s.scan, 100), 100);
        most = file_size(s.path) > most ? file_size(s.path) : most;
    }
    struct fumi_err e = {0};
    CHECK(most < (off_t)(SCAN_HEADER + 4 * scan_layout_of(16).block));
    CHECK_INT(s.table.all, 1);
    check_same("compacted", table_wrong(&s.table, s.scan, NULL, 30, 30));
    CHECK_INT(table_refresh(&s.table, other, &e), 0);
    check_same("the other", table_wrong(&s.table, other, NULL, 30, 30));
    CHECK_INT(s.table.all, 1);
    scan_close(other);
    tear_down(&s);
}

/* Several processes share one database: all changes are made in advance, and the processes
 * advance the shared change number. */

struct shared {
    struct fixture fixture;
    _Atomic int64_t *now;
    int64_t last;
};

static bool share(struct shared *s, size_t notes, int steps)
{
    s->now = mmap(NULL, sizeof(*s->now), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->now == MAP_FAILED || !set_up(&s->fixture, 16, notes))
        return false;
    *s->now = s->fixture.table.change;
    s->fixture.table.now = s->now;
    for (int i = 0; i < steps; i++)
        step(&s->fixture.table);
    s->last = s->fixture.table.change;
    return true;
}

static void unshare_fixture(struct shared *s)
{
    tear_down(&s->fixture);
    munmap(s->now, sizeof(*s->now));
}

/* Advances the change number up to `steps` times and refreshes; writes a byte to `to` after
 * each. */
static int follow(struct shared *s, int steps, int to)
{
    struct fumi_err e = {0};
    struct scan *own = table_scan(&s->fixture.table, s->fixture.path, &silent);
    if (!own)
        return 1;
    for (int i = 0; i < steps && *s->now < s->last; i++) {
        int64_t now = ++*s->now;
        if (scan_refresh(own, now, 60000, &e) || (to >= 0 && write(to, "", 1) != 1))
            return 2;
    }
    scan_close(own);
    return 0;
}

static pid_t start_follower(struct shared *s, int steps, int to)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(follow(s, steps, to));
    return pid;
}

static int exit_status(pid_t pid)
{
    int status;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                           : -1;
}

TEST_OF_FORKS(refresh_reads_rows_of_other_processes)
{
    struct shared s;
    CHECK(share(&s, 200, 500));
    for (int round = 0; round < 5; round++) {
        CHECK_INT(exit_status(start_follower(&s, 100, -1)), 0);
        CHECK_INT(refresh(&s.fixture), 0);
        CHECK_INT(s.fixture.table.changed, 0);
        check_same("the parent", table_wrong(&s.fixture.table, s.fixture.scan, NULL, 50, 50));
    }
    CHECK_INT(s.fixture.table.all, 1);
    unshare_fixture(&s);
}

TEST_OF_FORKS(many_processes_create_a_missing_file)
{
    struct shared s;
    pid_t pids[6];
    CHECK(share(&s, 2000, 600));
    CHECK(unlink(s.fixture.path) == 0);
    for (size_t i = 0; i < FUMI_COUNT(pids); i++)
        pids[i] = start_follower(&s, 100, -1);
    for (size_t i = 0; i < FUMI_COUNT(pids); i++)
        CHECK_INT(exit_status(pids[i]), 0);
    CHECK_INT(*s.now, s.last);
    CHECK_INT(refresh(&s.fixture), 0);
    check_same("the parent", table_wrong(&s.fixture.table, s.fixture.scan, NULL, 50, 50));
    CHECK_INT(s.fixture.table.all, 1);
    unshare_fixture(&s);
}

static bool killed(struct shared *s, int after)
{
    int ends[2], status;
    char byte;
    if (pipe2(ends, O_CLOEXEC))
        return false;
    pid_t pid = start_follower(s, 100000, ends[1]);
    close(ends[1]);
    for (int i = 0; i < after && read(ends[0], &byte, 1) == 1; i++)
        continue;
    bool good = pid > 0 && kill(pid, SIGKILL) == 0;
    close(ends[0]);
    return good && waitpid(pid, &status, 0) == pid;
}

TEST(killed_at_any_moment)
{
    struct shared s;
    CHECK(share(&s, 300, 12000));
    for (int round = 0; round < 60 && *s.now + 10 < s.last; round++) {
        if (round % 10 == 3)
            CHECK(unlink(s.fixture.path) == 0); /* killed while it writes a new file */
        CHECK(killed(&s, round % 10 == 3 ? 0 : round % 7));
        CHECK_INT(refresh(&s.fixture), 0);
        check_same("still open", table_wrong(&s.fixture.table, s.fixture.scan, NULL, 50, 50));
        CHECK(reopen(&s.fixture));
        check_same("reopened", table_wrong(&s.fixture.table, s.fixture.scan, NULL, 50, 50));
    }
    unshare_fixture(&s);
}

/* --- A build in pieces. --- */

enum { PIECE = 64 };

/* Waits until the file has at least this many rows. */
static bool has_rows(const struct fixture *s, uint64_t rows)
{
    for (int i = 0; i < 60000; i++) {
        struct scan_map *m = NULL;
        struct scan_state state = {0};
        int fd = open(s->path, O_RDWR | O_CLOEXEC);
        const char *why = fd >= 0
                              ? scan_map_open(fd, FUMI_STR("test:space"), s->table.dim, &m, &state)
                              : "missing";
        scan_map_free(why ? NULL : m);
        if (fd >= 0)
            close(fd);
        if (!why && state.rows >= rows)
            return true;
        usleep(1000);
    }
    return false;
}

TEST(a_search_does_not_wait_for_a_build)
{
    struct fixture s;
    struct fumi_err e = {0};
    CHECK(set_up(&s, 16, 100));
    scan_close(s.scan);
    CHECK(unlink(s.path) == 0);
    table_grow(&s.table, 5000);
    s.table.piece = PIECE;
    struct scan_source source = {table_read, &s.table};
    s.scan = scan_open(s.path, FUMI_STR("test:space"), 16, &source, &silent, &e);
    pthread_mutex_lock(&s.table.lock); /* the first piece cannot be read */
    CHECK(!scan_is_whole(s.scan));
    CHECK_INT(scan_refresh(s.scan, table_now(&s.table), 0, &e), 1);
    CHECK_INT(scan_refresh(s.scan, table_now(&s.table), 20, &e), 1);
    pthread_mutex_unlock(&s.table.lock);
    CHECK(has_rows(&s, 5100)); /* without a further request */
    CHECK_INT(refresh(&s), 0);
    CHECK(scan_is_whole(s.scan));
    CHECK(s.table.pieces > 5100 / PIECE);
    check_same("whole", table_wrong(&s.table, s.scan, NULL, 50, 50));
    tear_down(&s);
}

/* Changes to rows that were read already, and to rows that were not. */
TEST(notes_change_during_a_build)
{
    struct fixture s;
    struct fumi_err e = {0};
    CHECK(set_up(&s, 16, 3000));
    for (int round = 0; round < 20; round++) {
        scan_close(s.scan);
        CHECK(unlink(s.path) == 0);
        s.table.piece = PIECE;
        struct scan_source source = {table_read, &s.table};
        s.scan = scan_open(s.path, FUMI_STR("test:space"), 16, &source, &silent, &e);
        for (int i = 0; i < 40; i++) {
            CHECK(scan_refresh(s.scan, table_now(&s.table), i % 3, &e) >= 0);
            step(&s.table);
        }
        CHECK_INT(refresh(&s), 0);
        check_same("after", table_wrong(&s.table, s.scan, NULL, 4000, 4000));
        CHECK(reopen(&s));
        check_same("reopened", table_wrong(&s.table, s.scan, NULL, 4000, 4000));
    }
    tear_down(&s);
}

static int build(struct fixture *s)
{
    struct fumi_err e = {0};
    struct scan *own = table_scan(&s->table, s->path, &silent);
    scan_close(own);
    return own ? 0 : e.code;
}

/* A kill undoes at most one piece: the rows in the file never get fewer. Each build waits in the
 * middle of a piece, so that it is not complete before the kill. */
TEST_OF_FORKS(a_build_that_is_killed_continues)
{
    struct fixture s;
    struct scan_map *m;
    struct scan_state state;
    int status;
    uint64_t rows = 0;
    CHECK(set_up(&s, 16, 8000));
    scan_close(s.scan);
    CHECK(unlink(s.path) == 0);
    s.table.piece = 16;
    for (size_t round = 0; round < 10; round++) {
        s.table.hangs = 200 + 37 * round;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0)
            _exit(build(&s));
        CHECK(has_rows(&s, rows + 100));
        CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
        int fd = open(s.path, O_RDWR | O_CLOEXEC);
        CHECK(!scan_map_open(fd, FUMI_STR("test:space"), 16, &m, &state));
        scan_map_free(m);
        close(fd);
        CHECK(state.rows >= rows + 100);
        rows = state.rows;
    }
    CHECK(rows < 8000);
    s.table.hangs = 0;
    s.scan = table_scan(&s.table, s.path, &silent);
    CHECK(s.scan);
    CHECK_INT(s.table.all, 1); /* by set_up: this process only continued */
    check_same("whole", table_wrong(&s.table, s.scan, NULL, 8000, 8000));
    tear_down(&s);
}

/* More changes than one piece reads. */
TEST(many_changes_are_read_in_pieces)
{
    struct fixture s;
    CHECK(set_up(&s, 8, 300));
    for (int i = 0; i < 9000; i++)
        step(&s.table);
    int before = s.table.pieces;
    CHECK_INT(refresh(&s), 0);
    CHECK(s.table.pieces >= before + 3);
    CHECK_INT(s.table.all, 1);
    check_same("after", table_wrong(&s.table, s.scan, NULL, 300, 300));
    tear_down(&s);
}
