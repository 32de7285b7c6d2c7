#include "base/buf.h"

#include "base/arena.h"
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

TEST(an_empty_buffer)
{
    struct fumi_buf b = {0};
    CHECK_STR(fumi_buf_str(&b), "");
    fumi_buf_add(&b, "", 0);
    fumi_buf_add(&b, NULL, 0);
    CHECK_STR(fumi_buf_str(&b), "");
    CHECK(!b.full);
    fumi_buf_reset(&b, 0);
    fumi_buf_done(&b);
    fumi_buf_done(&b);
}

TEST(bytes_stand_one_after_the_other)
{
    struct fumi_buf b = {0};
    fumi_buf_add(&b, "ab", 2);
    fumi_buf_put(&b, 'c');
    fumi_buf_put(&b, '\0');
    fumi_buf_add(&b, "def", 3);
    bool same = fumi_eq(fumi_buf_str(&b), FUMI_STR("abc\0def"));
    fumi_buf_done(&b);
    CHECK(same);
    CHECK(!b.p && !b.n && !b.cap);
}

TEST(it_grows)
{
    struct fumi_buf b = {0};
    for (int i = 0; i < 100000; i++)
        fumi_buf_put(&b, (char)('a' + i % 26));
    CHECK_INT(b.n, 100000);
    CHECK(b.cap >= b.n && b.cap <= 2 * b.n);
    for (size_t i = 0; i < b.n; i++)
        CHECK(b.p[i] == (char)('a' + i % 26));
    fumi_buf_done(&b);
}

TEST(pieces_of_every_size)
{
    struct fumi_buf b = {0};
    char piece[1500];
    size_t total = 0;
    for (size_t n = 0; n < sizeof(piece); n += 7) {
        memset(piece, 'a' + (int)(n % 26), n);
        fumi_buf_add(&b, piece, n);
        total += n;
        CHECK_INT(b.n, total);
        CHECK(!n || b.p[b.n - 1] == piece[n - 1]);
    }
    fumi_buf_done(&b);
}

/* The caller reserves space, writes to it, and adds to n. */
TEST(room_is_where_the_bytes_end)
{
    struct fumi_buf b = {0};
    fumi_buf_add(&b, "ab", 2);
    char *to = fumi_buf_reserve(&b, 5000);
    CHECK(to == b.p + 2 && b.cap >= 5002);
    memset(to, 'x', 5000);
    CHECK_INT(b.n, 2);
    b.n += 5000;
    CHECK(b.p[1] == 'b' && b.p[5001] == 'x');
    CHECK(fumi_buf_room(&b, 0) == b.p + b.n);
    fumi_buf_done(&b);
}

/* The length may reach the limit but not exceed it, whatever the capacity is. */
TEST(the_limit_holds_at_every_size)
{
    for (size_t limit = 1; limit < 1100; limit++) {
        struct fumi_buf b = {.limit = limit};
        for (size_t i = 0; i < limit; i++)
            fumi_buf_put(&b, 'x');
        bool early = b.full;
        size_t reached = b.n;
        fumi_buf_put(&b, 'y');
        bool late = b.full;
        size_t n = b.n;
        fumi_buf_done(&b);
        CHECK(!early && reached == limit);
        CHECK(late && n == limit);
    }
}

TEST(the_limit_holds_for_pieces)
{
    static const struct {
        size_t limit, first, second;
        bool full;
    } rows[] = {
        {10, 8, 2, false},     {10, 8, 3, true},         {10, 0, 10, false},
        {10, 0, 11, true},     {10, 10, 1, true},        {300, 256, 44, false},
        {300, 256, 45, true},  {300, 290, 100, true},    {5000, 1, 4999, false},
        {5000, 1, 5000, true}, {5000, 4000, 999, false},
    };
    char bytes[6000] = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_buf b = {.limit = rows[i].limit};
        fumi_buf_add(&b, bytes, rows[i].first);
        fumi_buf_add(&b, bytes, rows[i].second);
        size_t first = rows[i].first > rows[i].limit ? 0 : rows[i].first;
        if (b.full != rows[i].full || b.n != first + (rows[i].full ? 0 : rows[i].second))
            TEST_FAIL("row %zu: full %d, %zu bytes", i, b.full, b.n);
        fumi_buf_done(&b);
    }
}

TEST(after_the_limit_nothing_is_added_any_more)
{
    struct fumi_buf b = {.limit = 10};
    fumi_buf_add(&b, "1234567", 7);
    fumi_buf_add(&b, "too much", 8);
    bool full = b.full;
    fumi_buf_put(&b, 'x'); /* would fit, but a gap would precede it */
    bool same = fumi_eq(fumi_buf_str(&b), FUMI_STR("1234567"));
    char *room = fumi_buf_room(&b, 1), *reserve = fumi_buf_reserve(&b, 1);
    fumi_buf_done(&b);
    CHECK(full && same);
    CHECK(!room && !reserve);
}

TEST(sizes_near_the_largest_number_are_refused)
{
    struct fumi_buf b = {.limit = 1000}, other = {0};
    fumi_buf_add(&b, "abc", 3);
    CHECK(!fumi_buf_room(&b, SIZE_MAX) && b.full);
    CHECK(!fumi_buf_room(&other, SIZE_MAX - 1) && other.full);
    fumi_buf_done(&b);
}

TEST(reset_keeps_memory_up_to_what_is_said)
{
    struct fumi_buf b = {.limit = 1000};
    for (int i = 0; i < 700; i++)
        fumi_buf_put(&b, 'x');
    size_t cap = b.cap;
    char *p = b.p;
    fumi_buf_reset(&b, cap);
    CHECK(b.p == p && b.cap == cap && b.n == 0 && b.limit == 1000);
    fumi_buf_put(&b, 'y');
    CHECK(b.p == p && b.n == 1 && b.p[0] == 'y');
    fumi_buf_reset(&b, cap - 1);
    CHECK(!b.p && b.cap == 0 && b.n == 0 && b.limit == 1000);
    fumi_buf_add(&b, "again", 5);
    CHECK_STR(fumi_buf_str(&b), "again");
    fumi_buf_done(&b);
}

TEST(reset_ends_fullness)
{
    for (size_t keep = 0; keep <= 4096; keep += 4096) {
        struct fumi_buf b = {.limit = 4};
        fumi_buf_add(&b, "abcd", 4);
        fumi_buf_put(&b, 'e');
        CHECK(b.full);
        fumi_buf_reset(&b, keep);
        CHECK(!b.full && !b.n);
        fumi_buf_add(&b, "wxyz", 4);
        CHECK_STR(fumi_buf_str(&b), "wxyz");
        fumi_buf_put(&b, 'e');
        CHECK(b.full && b.n == 4);
        fumi_buf_done(&b);
    }
}

TEST(move_hands_the_bytes_over)
{
    struct fumi_buf from = {.limit = 100}, to = {.limit = 50};
    fumi_buf_add(&from, "bytes", 5);
    const char *p = from.p;
    fumi_buf_move(&to, &from);
    CHECK(to.p == p); /* the memory was moved, not copied */
    CHECK_STR(fumi_buf_str(&to), "bytes");
    CHECK(!from.p && !from.n && !from.cap && !from.full);
    CHECK(from.limit == 100 && to.limit == 50);
    fumi_buf_add(&from, "new", 3);
    CHECK_STR(fumi_buf_str(&from), "new");
    CHECK_STR(fumi_buf_str(&to), "bytes");
    fumi_buf_done(&from);
    fumi_buf_done(&to);
}

TEST(move_into_a_buffer_that_was_used_before)
{
    struct fumi_buf from = {0}, to = {0};
    fumi_buf_add(&to, "old", 3);
    fumi_buf_reset(&to, 4096);
    fumi_buf_add(&from, "bytes", 5);
    fumi_buf_move(&to, &from);
    CHECK_STR(fumi_buf_str(&to), "bytes");
    fumi_buf_move(&from, &to);
    fumi_buf_move(&to, &from);
    CHECK_STR(fumi_buf_str(&to), "bytes");
    fumi_buf_done(&to);
}

/* The limit of the destination applies from then on, even if the contents exceed it already. */
TEST(the_limit_holds_after_a_move)
{
    for (size_t limit = 1; limit < 20; limit++) {
        struct fumi_buf from = {0}, to = {.limit = limit};
        fumi_buf_add(&from, "0123456789", 10);
        fumi_buf_move(&to, &from);
        for (int i = 0; i < 20; i++)
            fumi_buf_put(&to, 'x');
        bool full = to.full;
        size_t n = to.n;
        fumi_buf_done(&to);
        CHECK(full);
        CHECK_INT(n, limit > 10 ? limit : 10);
    }
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

#if !SANITIZED
/* The fumi_resize of the library; the allocator of a sanitizer would end the process differently.
 */
TEST(the_process_ends_when_memory_is_finished)
{
    int ends[2], status = 0;
    CHECK(!pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        size_t size = SIZE_MAX / 2;
        fumi_resize(NULL, size - (size_t)getpid());
        _exit(0);
    }
    close(ends[1]);
    char line[100];
    ssize_t n = read(ends[0], line, sizeof(line));
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 70);
    CHECK(n > 0 && memchr(line, '\n', (size_t)n) == line + n - 1);
}
#endif
