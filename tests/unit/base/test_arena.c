#include "base/arena.h"

#include "test.h"

#include <stdalign.h>

/* Replaces the weak function of the library; counts allocations and the memory in use. */
static struct {
    size_t calls, blocks, bytes, most;
} held;

struct block {
    size_t size;
    _Alignas(16) char bytes[];
};

void *fumi_resize(void *old, size_t size)
{
    struct block *b = old ? (struct block *)((char *)old - sizeof(struct block)) : NULL;
    held.calls++;
    held.blocks += (size != 0) - (size_t)(b != NULL);
    held.bytes += size - (b ? b->size : 0);
    held.most = size > held.most ? size : held.most;
    if (!size) {
        free(b);
        return NULL;
    }
    b = realloc(b, sizeof(*b) + size);
    if (!b)
        abort();
    b->size = size;
    return b->bytes;
}

static bool all_zero(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static bool aligned(const void *p)
{
    return (uintptr_t)p % alignof(max_align_t) == 0;
}

TEST(an_unused_arena_holds_nothing)
{
    struct fumi_arena a = {0};
    size_t calls = held.calls;
    fumi_arena_reset(&a, 1000);
    fumi_arena_done(&a);
    fumi_arena_done(&a);
    CHECK_INT(held.calls, calls);
    CHECK_INT(held.blocks, 0);
}

TEST(pieces_are_aligned_zeroed_and_apart)
{
    struct fumi_arena a = {0};
    char *pieces[600];
    for (size_t n = 0; n < FUMI_COUNT(pieces); n++) {
        pieces[n] = fumi_alloc(&a, n);
        CHECK(pieces[n] && aligned(pieces[n]));
        CHECK(all_zero(pieces[n], n));
        memset(pieces[n], (int)(n % 255) + 1, n);
    }
    for (size_t n = 0; n < FUMI_COUNT(pieces); n++)
        for (size_t i = 0; i < n; i++)
            CHECK_INT((unsigned char)pieces[n][i], n % 255 + 1);
    fumi_arena_done(&a);
    CHECK_INT(held.blocks, 0);
    CHECK_INT(held.bytes, 0);
}

TEST(pieces_of_no_size_are_pieces)
{
    struct fumi_arena a = {0};
    char *one = fumi_alloc(&a, 0), *two = fumi_alloc(&a, 0);
    CHECK(one && two && one != two);
    fumi_arena_done(&a);
}

TEST(large_pieces_among_small_ones)
{
    struct fumi_arena a = {0};
    static const size_t sizes[] = {1, 100000, 3, 4080, 4081, 4096, 1 << 22, 17, 1 << 20};
    char *pieces[FUMI_COUNT(sizes)];
    for (size_t i = 0; i < FUMI_COUNT(sizes); i++) {
        pieces[i] = fumi_alloc(&a, sizes[i]);
        CHECK(aligned(pieces[i]) && all_zero(pieces[i], sizes[i]));
        memset(pieces[i], 'a' + (int)i, sizes[i]);
    }
    for (size_t i = 0; i < FUMI_COUNT(sizes); i++)
        CHECK(pieces[i][0] == 'a' + (int)i && pieces[i][sizes[i] - 1] == 'a' + (int)i);
    fumi_arena_done(&a);
    CHECK_INT(held.blocks, 0);
}

TEST(memory_is_zeroed_again_after_a_reset)
{
    struct fumi_arena a = {0};
    for (int round = 0; round < 5; round++) {
        for (size_t n = 1; n < 700; n += 13) {
            char *p = fumi_alloc(&a, n);
            CHECK(all_zero(p, n));
            memset(p, 0xAA, n);
        }
        fumi_arena_reset(&a, 1 << 20);
    }
    fumi_arena_done(&a);
    CHECK_INT(held.blocks, 0);
}

/* One message: allocations of all kinds, in several chunks. */
static void use(struct fumi_arena *a, size_t scale)
{
    size_t room;
    for (size_t n = 1; n < 40; n++) {
        fumi_alloc(a, n * scale);
        fumi_dup(a, FUMI_STR("a string of some length"));
        fumi_fmt(a, "%zu and %s", n, "more");
        memset(fumi_tail(a, 10 * scale, &room), 'x', 10 * scale);
        fumi_take(a, 7 * scale);
    }
}

TEST(after_a_warm_up_nothing_is_allocated)
{
    for (size_t scale = 1; scale < 300; scale *= 3) {
        struct fumi_arena a = {0};
        use(&a, scale);
        fumi_arena_reset(&a, 1 << 24);
        size_t calls = held.calls;
        CHECK_INT(held.blocks, 1);
        for (int i = 0; i < 10; i++) {
            use(&a, scale);
            fumi_arena_reset(&a, 1 << 24);
        }
        CHECK_INT(held.calls, calls);
        fumi_arena_done(&a);
        CHECK_INT(held.blocks, 0);
    }
}

TEST(the_number_of_chunks_stays_small)
{
    struct fumi_arena a = {0};
    size_t calls = held.calls;
    for (int i = 0; i < 100000; i++)
        fumi_alloc(&a, 48);
    CHECK(held.calls - calls <= 12);
    CHECK(held.bytes <= 3 * 4800000);
    fumi_arena_done(&a);
}

TEST(a_reset_keeps_no_more_than_it_may)
{
    static const size_t keeps[] = {0, 1, 100, 4095, 4096, 10000, 65536, 1 << 20};
    for (size_t i = 0; i < FUMI_COUNT(keeps); i++)
        for (size_t n = 1; n < 1 << 19; n *= 7) {
            struct fumi_arena a = {0};
            for (size_t used = 0; used < n; used += 100)
                fumi_alloc(&a, 100);
            fumi_arena_reset(&a, keeps[i]);
            CHECK(held.blocks <= 1);
            CHECK(held.bytes <= keeps[i] + 64); /* plus the header of the chunk */
            char *p = fumi_alloc(&a, n);
            CHECK(all_zero(p, n));
            fumi_arena_done(&a);
            CHECK_INT(held.bytes, 0);
        }
}

TEST(one_large_message_does_not_stay)
{
    struct fumi_arena a = {0};
    fumi_alloc(&a, 1 << 20);
    fumi_arena_reset(&a, 1 << 16);
    CHECK_INT(held.bytes, 0);
    fumi_alloc(&a, 100);
    fumi_arena_reset(&a, 1 << 16);
    CHECK(held.bytes > 0 && held.bytes < 1 << 16);
    fumi_arena_done(&a);
}

TEST(a_tail_shows_room_and_take_keeps_what_was_used)
{
    struct fumi_arena a = {0};
    size_t room;
    char *tail = fumi_tail(&a, 10, &room);
    CHECK(tail && room >= 10);
    memcpy(tail, "0123456789", 10);
    fumi_take(&a, 10);
    char *next = fumi_alloc(&a, 16);
    CHECK(next >= tail + 10 && aligned(next) && all_zero(next, 16));
    CHECK(memcmp(tail, "0123456789", 10) == 0);
    fumi_arena_done(&a);
}

TEST(a_tail_that_is_not_taken_is_shown_again)
{
    struct fumi_arena a = {0};
    size_t room, again;
    fumi_alloc(&a, 5);
    char *tail = fumi_tail(&a, 100, &room);
    memset(tail, 'x', room);
    CHECK(fumi_tail(&a, 100, &again) == tail && again == room);
    fumi_take(&a, 0);
    CHECK(fumi_tail(&a, 1, &again) == tail && again == room);
    char *p = fumi_alloc(&a, 200);
    CHECK(all_zero(p, 200)); /* although the tail was written to */
    fumi_arena_done(&a);
}

/* Grows as a writer does: requests more than is left, copies, and continues. */
TEST(a_tail_that_grows)
{
    struct fumi_arena a = {0};
    size_t room = 0, n = 0, moves = 0;
    char *p = fumi_tail(&a, 1, &room);
    for (int i = 0; i < 300000; i++) {
        if (n == room) {
            char *more = fumi_tail(&a, n * 2, &room);
            memcpy(more, p, n);
            p = more;
            moves++;
        }
        p[n++] = (char)('a' + i % 26);
    }
    fumi_take(&a, n);
    for (size_t i = 0; i < n; i++)
        CHECK(p[i] == (char)('a' + i % 26));
    CHECK(moves < 12);
    fumi_arena_done(&a);
}

TEST(all_of_a_tail_may_be_taken)
{
    struct fumi_arena a = {0};
    size_t room, left;
    char *tail = fumi_tail(&a, 3, &room);
    memset(tail, 'x', room);
    fumi_take(&a, room);
    fumi_tail(&a, 0, &left);
    CHECK_INT(left, 0);
    char *p = fumi_alloc(&a, 1);
    CHECK(p && *p == 0);
    for (size_t i = 0; i < room; i++)
        CHECK(tail[i] == 'x');
    fumi_arena_done(&a);
}

TEST(a_tail_of_every_size)
{
    for (size_t least = 0; least < 9000; least += 37) {
        struct fumi_arena a = {0};
        size_t room = 0;
        char *tail = fumi_tail(&a, least, &room);
        CHECK(room >= least);
        if (least)
            memset(tail, 'x', least);
        fumi_take(&a, least);
        CHECK(aligned(fumi_alloc(&a, 1)));
        fumi_arena_done(&a);
    }
}

TEST(dup_copies)
{
    struct fumi_arena a = {0};
    char text[] = "日本\0語";
    struct fumi_str got = fumi_dup(&a, (struct fumi_str){text, sizeof(text) - 1});
    CHECK(got.p != text);
    memset(text, 0, sizeof(text));
    CHECK(fumi_eq(got, FUMI_STR("日本\0語")));
    fumi_arena_done(&a);
}

TEST(dup_of_no_string_is_no_string_and_of_an_empty_one_is_empty)
{
    struct fumi_arena a = {0};
    size_t calls = held.calls;
    struct fumi_str none = fumi_dup(&a, (struct fumi_str){0});
    CHECK(!none.p && !none.n);
    CHECK_INT(held.calls, calls);
    struct fumi_str empty = fumi_dup(&a, FUMI_STR(""));
    CHECK(empty.p && !empty.n);
    fumi_arena_done(&a);
}

TEST(fmt_writes_what_printf_would)
{
    struct fumi_arena a = {0};
    CHECK_STR(fumi_fmt(&a, "%d %s %c", 42, "words", 'x'), "42 words x");
    CHECK_STR(fumi_fmt(&a, "%s", ""), "");
    struct fumi_str s = fumi_fmt(&a, "%0*d", 10000, 7);
    CHECK_INT(s.n, 10000);
    CHECK(s.p[9999] == '7' && s.p[9998] == '0' && s.p[0] == '0');
    CHECK(s.p[10000] == '\0'); /* terminated, as printf does */
    CHECK_STR(fumi_fmt(&a, "%.*s", FUMI_ARG(FUMI_STR("slice"))), "slice");
    fumi_arena_done(&a);
    CHECK_INT(held.blocks, 0);
}

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#define UNDER_ASAN __has_feature(address_sanitizer)
#else
#define UNDER_ASAN 0
#endif

#if UNDER_ASAN
#include <sanitizer/asan_interface.h>

/* Under ASan, access to memory that is not allocated is detected. */
TEST(unused_memory_is_hidden_from_the_program)
{
    struct fumi_arena a = {0};
    size_t room;
    char *p = fumi_alloc(&a, 13);
    CHECK(!__asan_address_is_poisoned(p + 12));
    CHECK(__asan_address_is_poisoned(p + 13));
    CHECK(__asan_address_is_poisoned(p + 16));
    char *tail = fumi_tail(&a, 100, &room);
    CHECK(!__asan_address_is_poisoned(tail + room - 1));
    fumi_take(&a, 32);
    CHECK(!__asan_address_is_poisoned(tail + 31));
    CHECK(__asan_address_is_poisoned(tail + 32));
    fumi_arena_reset(&a, 1 << 20);
    CHECK(__asan_address_is_poisoned(p));
    fumi_arena_done(&a);
}
#endif
