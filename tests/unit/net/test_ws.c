/* Streams are fed whole, byte by byte and cut in two at every position, from both sides. */
#include "base/utf8.h"
#include "base/uuid.h"
#include "ws_fixture.h"

enum { ALL = 1 << 12 }; /* cut streams of this size everywhere */

#define BYTES(text)                                                                                \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

TEST(accept_value_of_a_key)
{
    char out[WS_ACCEPT];
    CHECK_INT(ws_accept(FUMI_STR("dGhlIHNhbXBsZSBub25jZQ=="), out), 0); /* RFC 6455, 1.3 */
    CHECK_STR(((struct fumi_str){out, sizeof(out)}), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    CHECK_INT(ws_accept(FUMI_STR("+/+/+/+/+/+/+/+/+/+/+w=="), out), 0);
    CHECK_INT(ws_accept(FUMI_STR("AAAAAAAAAAAAAAAAAAAAA/=="), out), 0);
}

TEST(invalid_keys)
{
    static const struct fumi_str keys[] = {
        {NULL, 0},
        {"", 0},
        {"dGhlIHNhbXBsZSBub25jZQ=", 23},
        {"dGhlIHNhbXBsZSBub25jZQ===", 25},
        {"dGhlIHNhbXBsZSBub25jZQAA", 24}, /* 18 bytes */
        {"dGhlIHNhbXBsZSBub25jZQA=", 24}, /* 17 bytes */
        {"dGhlIHNhbXBsZSBub25jZ===", 24},
        {"=GhlIHNhbXBsZSBub25jZQ==", 24},
        {"dGhlIHNhbXBs SBub25jZQ==", 24},
        {"dGhlIHNhbXBs-_Bub25jZQ==", 24},
        {"dGhlIHNhbXBs\0SBub25jZQ==", 24},
        {"dGhlIHNhbXBs\xE9SBub25jZQ==", 24},
    };
    char out[WS_ACCEPT];
    for (size_t i = 0; i < FUMI_COUNT(keys); i++)
        if (ws_accept(keys[i], out) != -1)
            TEST_FAIL("row %zu: accepted", i);
}

TEST(generated_keys)
{
    char key[WS_KEY], other[WS_KEY], out[WS_ACCEPT];
    ws_key(key);
    ws_key(other);
    CHECK_INT(ws_accept((struct fumi_str){key, WS_KEY}, out), 0);
    CHECK(memcmp(key, other, WS_KEY) != 0);
}

/* Unmasked, as the RFC shows them in section 5.7. */
TEST(examples_of_the_rfc)
{
    static const struct {
        struct fumi_str frames;
        const char *want;
    } rows[] = {
        {BYTES("\x81\x05Hello"), "TEXT Hello\n"},
        {BYTES("\x01\x03Hel\x80\x02lo"), "TEXT Hello\n"},
        {BYTES("\x89\x05Hello"), "PING Hello\n"},
        {BYTES("\x8A\x05Hello"), "PONG Hello\n"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        if (!both_read(0, rows[i].frames, fumi_str(rows[i].want), ALL))
            TEST_FAIL("row %zu", i);
}

TEST(masked_examples_of_the_rfc)
{
    const struct ws_reader r = {.server = true};
    CHECK(reads(r, FUMI_STR("\x81\x85\x37\xFA\x21\x3D\x7F\x9F\x4D\x51\x58"),
                FUMI_STR("TEXT Hello\n"), ALL));
    CHECK(reads(r, FUMI_STR("\x8A\x85\x37\xFA\x21\x3D\x7F\x9F\x4D\x51\x58"),
                FUMI_STR("PONG Hello\n"), ALL));
}

TEST(long_headers_of_the_rfc)
{
    static const char payload[65536];
    struct fumi_buf b = {0};
    ws_write(&b, WS_BINARY, (struct fumi_str){payload, 256});
    CHECK(b.n == 4 + 256 && memcmp(b.p, "\x82\x7E\x01\x00", 4) == 0);
    b.n = 0;
    ws_write(&b, WS_BINARY, (struct fumi_str){payload, 65536});
    CHECK_INT(b.n, 10 + 65536);
    CHECK(memcmp(b.p, "\x82\x7F\x00\x00\x00\x00\x00\x01\x00\x00", 10) == 0);
    fumi_buf_done(&b);
}

TEST(streams)
{
    static const struct {
        struct fumi_str frames, want;
    } rows[] = {
        {BYTES(""), BYTES("")},
        {BYTES("\x81"), BYTES("")},
        {BYTES("\x81\x05Hell"), BYTES("")},
        {BYTES("\x81\x7E"), BYTES("")},
        {BYTES("\x01\x05Hello"), BYTES("")},
        {BYTES("\x81\x00"), BYTES("TEXT\n")},
        {BYTES("\x82\x03\xFF\x00\xFE"), BYTES("BINARY \xFF\0\xFE\n")},
        {BYTES("\x89\x00\x8A\x00\x88\x00"), BYTES("PING\nPONG\nCLOSE 1005\n")},
        {BYTES("\x01\x00\x00\x00\x80\x00"), BYTES("TEXT\n")},
        {BYTES("\x01\x00\x80\x01y"), BYTES("TEXT y\n")},
        {BYTES("\x02\x01x\x80\x00"), BYTES("BINARY x\n")},
        {BYTES("\x01\x01x\x89\x02hi\x00\x01y\x8A\x00\x80\x01z"),
         BYTES("PING hi\nPONG\nTEXT xyz\n")},
        {BYTES("\x01\x01x\x88\x05\x03\xE8yes\x80\x01y"), BYTES("CLOSE 1000 yes\n")},
        {BYTES("\x81\x01x\x81\x01y\x02\x01z\x80\x01!\x89\x00"),
         BYTES("TEXT x\nTEXT y\nBINARY z!\nPING\n")},
        {BYTES("\x88\x02\x0B\xB8\xFF\xFF\x89\x00"), BYTES("CLOSE 3000\n")},
        {BYTES("\x88\x05\x0F\xA0\xE2\x82\xAC\x81\x00"), BYTES("CLOSE 4000 \xE2\x82\xAC\n")},
        {BYTES("\x83\x00\x81\x01x"), BYTES("FAULT 1002\n")},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        if (!both_read(0, rows[i].frames, rows[i].want, ALL))
            TEST_FAIL("row %zu", i);
    CHECK_INT(held, 0);
}

#define ROW(title, number, bytes, ...)                                                             \
    {                                                                                              \
        .name = title, .code = number, .frames = BYTES(bytes), __VA_ARGS__                         \
    }

/* A stream with its fault at the end. */
static const struct fault_row {
    const char *name;
    int code;
    struct fumi_str frames;
    size_t zeros;       /* number of payload bytes that follow */
    const char *before; /* events before the fault */
} fault_rows[] = {
    ROW("reserved bit 1", 1002, "\xC1\x00"),
    ROW("reserved bit 2", 1002, "\xA1\x00"),
    ROW("reserved bit 3", 1002, "\x91\x00"),
    ROW("reserved bit in a control frame", 1002, "\xC9\x00"),
    ROW("reserved bit in a continuation", 1002, "\x01\x01x\xC0\x00"),
    ROW("opcode 3", 1002, "\x83\x00"),
    ROW("opcode 4", 1002, "\x84\x00"),
    ROW("opcode 5", 1002, "\x85\x00"),
    ROW("opcode 6", 1002, "\x86\x00"),
    ROW("opcode 7", 1002, "\x87\x00"),
    ROW("opcode 11", 1002, "\x8B\x00"),
    ROW("opcode 12", 1002, "\x8C\x00"),
    ROW("opcode 13", 1002, "\x8D\x00"),
    ROW("opcode 14", 1002, "\x8E\x00"),
    ROW("opcode 15", 1002, "\x8F\x00"),
    ROW("unknown opcode inside a message", 1002, "\x01\x01x\x83\x00"),
    ROW("fragmented ping", 1002, "\x09\x00"),
    ROW("fragmented pong", 1002, "\x0A\x01x"),
    ROW("fragmented close", 1002, "\x08\x00"),
    ROW("ping of 126 bytes", 1002, "\x89\x7E\x00\x7E", .zeros = 126),
    ROW("pong of 126 bytes", 1002, "\x8A\x7E\x00\x7E", .zeros = 126),
    ROW("close of 126 bytes", 1002, "\x88\x7E\x00\x7E", .zeros = 126),
    ROW("ping with a length of eight bytes", 1002, "\x89\x7F\0\0\0\0\0\0\0\x01x"),
    ROW("ping of 5 bytes in the long form", 1002, "\x89\x7E\x00\x05Hello"),
    ROW("continuation without a start", 1002, "\x80\x01x"),
    ROW("continuation without a start, not final", 1002, "\x00\x01x"),
    ROW("continuation after a whole message", 1002, "\x01\x01x\x80\x01y\x80\x01z",
        .before = "TEXT xy\n"),
    ROW("text inside a message", 1002, "\x01\x01x\x81\x01y"),
    ROW("text inside a message, not final", 1002, "\x01\x01x\x01\x01y"),
    ROW("binary inside a text", 1002, "\x01\x01x\x82\x01y"),
    ROW("text inside a message that is empty so far", 1002, "\x01\x00\x81\x01y"),
    ROW("length 0 in two bytes", 1002, "\x81\x7E\x00\x00"),
    ROW("length 125 in two bytes", 1002, "\x82\x7E\x00\x7D", .zeros = 125),
    ROW("length 0 in eight bytes", 1002, "\x81\x7F\0\0\0\0\0\0\0\0"),
    ROW("length 126 in eight bytes", 1002, "\x82\x7F\0\0\0\0\0\0\0\x7E", .zeros = 126),
    ROW("length 65535 in eight bytes", 1002, "\x82\x7F\0\0\0\0\0\0\xFF\xFF"),
    ROW("length 2^63", 1002, "\x82\x7F\x80\0\0\0\0\0\0\0"),
    ROW("length 2^64-1", 1002, "\x82\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
    ROW("close of one byte", 1002, "\x88\x01\x03"),
    ROW("text: a byte that never stands in UTF-8", 1007, "\x81\x03x\xFFy"),
    ROW("text: overlong", 1007, "\x81\x02\xC0\xAF"),
    ROW("text: a surrogate", 1007, "\x81\x03\xED\xA0\x80"),
    ROW("text: above U+10FFFF", 1007, "\x81\x04\xF4\x90\x80\x80"),
    ROW("text: cut in a character", 1007, "\x81\x02\xE2\x82"),
    ROW("text: cut in a character, in pieces", 1007, "\x01\x01\xE2\x80\x01\x82"),
    ROW("text: bad in the first piece", 1007, "\x01\x01\xFF\x80\x01x"),
    ROW("text: bad in the last piece", 1007, "\x01\x01x\x00\x01y\x80\x01\x80"),
    ROW("text: bad, with a ping between", 1007, "\x01\x01\xC3\x89\x00\x80\x01\x28",
        .before = "PING\n"),
    ROW("close: reason not UTF-8", 1007, "\x88\x03\x03\xE8\xFF"),
    ROW("close: reason cut in a character", 1007, "\x88\x04\x03\xE8\xE2\x82"),
    ROW("longer than the limit", 1009, "\x82\x7E\x00\x97"),
    ROW("length 2^63-1", 1009, "\x82\x7F\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
    ROW("the first piece is too long", 1009, "\x02\x7E\x00\x97"),
    ROW("the sum is too long", 1009, "\x02\x02xy\x80\x7E\x00\x95"),
    ROW("the sum is too long, not final", 1009, "\x02\x02xy\x00\x7E\x00\x95"),
};

TEST(faults)
{
    static const char zeros[128];
    char want[32];
    for (size_t i = 0; i < FUMI_COUNT(fault_rows); i++) {
        const struct fault_row *row = &fault_rows[i];
        struct fumi_buf b = {0};
        fumi_buf_add(&b, row->frames.p, row->frames.n);
        fumi_buf_add(&b, zeros, row->zeros);
        fumi_buf_add(&b, "\x89\x00", 2); /* what follows a fault is ignored */
        snprintf(want, sizeof(want), "%sFAULT %d\n", row->before ? row->before : "", row->code);
        if (!both_read(150, fumi_buf_str(&b), fumi_str(want), ALL))
            TEST_FAIL("%s", row->name);
        fumi_buf_done(&b);
    }
    CHECK_INT(held, 0);
}

TEST(masks_on_the_wrong_side)
{
    static const struct fumi_str bare[] = {{"\x81\x05Hello", 7}, {"\x81\x00", 2}, {"\x89\x00", 2}};
    for (size_t i = 0; i < FUMI_COUNT(bare); i++) {
        struct fumi_buf b = {0};
        put_masked(&b, bare[i]);
        CHECK(reads((struct ws_reader){.server = true}, bare[i], FUMI_STR("FAULT 1002\n"), ALL));
        CHECK(reads((struct ws_reader){0}, fumi_buf_str(&b), FUMI_STR("FAULT 1002\n"), ALL));
        fumi_buf_done(&b);
    }
}

/* An invalid header is refused before its payload arrives. */
TEST(faults_need_no_payload)
{
    static const struct {
        int code;
        struct fumi_str head;
    } rows[] = {
        {1002, {"\xC1\x80", 2}},
        {1002, {"\x89\xFE", 2}},
        {1009, {"\x82\xFF\0\0\0\0\0\x10\0\x01mask", 14}},
        {1009, {"\x01\xFF\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFFmask", 14}},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct ws_reader r = {.server = true};
        struct ws_event e;
        char bytes[WS_HEADER_MAX], *p = bytes;
        memcpy(bytes, rows[i].head.p, rows[i].head.n);
        CHECK_INT(ws_read(&r, &p, bytes + rows[i].head.n, &e), WS_FAULT);
        CHECK_INT(e.code, rows[i].code);
        CHECK(e.payload.n && e.payload.n <= WS_CONTROL - 2 && fumi_utf8_valid(e.payload));
        CHECK(!r.partial && p == bytes + rows[i].head.n);
    }
}

static bool may_be_sent(unsigned code)
{
    static const unsigned never[][2] = {{0, 999},     {1004, 1004}, {1005, 1005}, {1006, 1006},
                                        {1015, 1015}, {1016, 2999}, {5000, 65535}};
    for (size_t i = 0; i < FUMI_COUNT(never); i++)
        if (code >= never[i][0] && code <= never[i][1])
            return false;
    return true;
}

TEST(every_close_code)
{
    for (unsigned code = 0; code <= UINT16_MAX; code++) {
        char bytes[] = {(char)0x88, 3, (char)(code >> 8), (char)code, '!'}, *p = bytes;
        struct ws_reader r = {0};
        struct ws_event e;
        enum ws_kind kind = ws_read(&r, &p, bytes + sizeof(bytes), &e);
        if (kind != (may_be_sent(code) ? WS_CLOSE : WS_FAULT) ||
            e.code != (may_be_sent(code) ? (int)code : WS_PROTOCOL_ERROR))
            TEST_FAIL("code %u: event %d, code %d", code, kind, e.code);
    }
}

static void fill(struct fumi_buf *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fumi_buf_put(b, (char)('a' + i % 23));
}

/* A message of n bytes under `limit`, in one frame and in two, from both sides. */
static bool length_reads(size_t limit, size_t n, const char *fault)
{
    bool good = true;
    for (int way = 0; way < 4; way++) {
        struct fumi_buf text = {0}, stream = {0}, want = {0};
        size_t first = way & 1 ? n / 3 : n;
        bool server = way & 2;
        fill(&text, n);
        struct fumi_str s = fumi_buf_str(&text);
        put_frame(&stream, way & 1 ? 0x01 : 0x81, (struct fumi_str){s.p, first}, server);
        if (way & 1)
            put_frame(&stream, 0x80, (struct fumi_str){s.p + first, n - first}, server);
        if (fault)
            fumi_buf_add(&want, fault, strlen(fault));
        else
            put_line(&want, WS_TEXT, 0, fumi_buf_str(&text));
        good = good && reads((struct ws_reader){.limit = limit, .server = server},
                             fumi_buf_str(&stream), fumi_buf_str(&want), n < 1000 ? ALL : 20);
        fumi_buf_done(&text);
        fumi_buf_done(&stream);
        fumi_buf_done(&want);
    }
    return good;
}

TEST(lengths)
{
    static const size_t sizes[] = {0, 1, 7, 8, 9, 125, 126, 127, 128, 65535, 65536, 65537};
    for (size_t i = 0; i < FUMI_COUNT(sizes); i++)
        if (!length_reads(0, sizes[i], NULL))
            TEST_FAIL("length %zu", sizes[i]);
}

TEST(lengths_at_the_limit)
{
    static const size_t limits[] = {1, 3, 10, 125, 126, 300, 65535, 65536, WS_LIMIT};
    for (size_t i = 0; i < FUMI_COUNT(limits); i++) {
        size_t limit = limits[i];
        if (!length_reads(limit, limit - 1, NULL) || !length_reads(limit, limit, NULL) ||
            !length_reads(limit, limit + 1, "FAULT 1009\n"))
            TEST_FAIL("limit %zu", limit);
    }
    CHECK(length_reads(0, WS_LIMIT + 1, "FAULT 1009\n"));
}

/* The limit is for messages: control frames are not counted. */
TEST(control_frames_and_the_limit)
{
    CHECK(both_read(2, FUMI_STR("\x89\x05Hello\x01\x01x\x89\x05Hello\x80\x01y\x81\x02zz"),
                    FUMI_STR("PING Hello\nPING Hello\nTEXT xy\nTEXT zz\n"), ALL));
}

TEST(largest_control_frames)
{
    static const int firsts[] = {0x89, 0x8A, 0x88};
    for (size_t i = 0; i < FUMI_COUNT(firsts); i++) {
        struct fumi_buf stream = {0}, payload = {0}, want = {0};
        bool close = firsts[i] == 0x88;
        if (close)
            fumi_buf_add(&payload, "\x03\xE8", 2);
        fill(&payload, WS_CONTROL - payload.n);
        struct fumi_str all = fumi_buf_str(&payload), reason = {all.p + 2, all.n - 2};
        put_line(&want, firsts[i] & 15, close ? 1000 : 0, close ? reason : all);
        put_frame(&stream, 0x01, FUMI_STR("a"), false);
        put_frame(&stream, (unsigned)firsts[i], all, false);
        CHECK(both_read(0, fumi_buf_str(&stream), fumi_buf_str(&want), ALL));
        fumi_buf_done(&stream);
        fumi_buf_done(&payload);
        fumi_buf_done(&want);
    }
}

/* Fragments end at every pair of positions, so inside every character too. */
TEST(characters_split_over_fragments)
{
    static const struct fumi_str good = {"a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z", 11};
    static const struct fumi_str bad = {"a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x7Fz", 11};
    struct fumi_buf b = {0}, want = {0};
    put_line(&want, WS_TEXT, 0, good);
    for (size_t i = 0; i <= good.n; i++)
        for (size_t j = i; j <= good.n; j++)
            for (int right = 0; right < 2; right++) {
                struct fumi_str s = right ? good : bad;
                b.n = 0;
                put_frame(&b, 0x01, (struct fumi_str){s.p, i}, false);
                put_frame(&b, 0x00, (struct fumi_str){s.p + i, j - i}, false);
                put_frame(&b, 0x80, (struct fumi_str){s.p + j, s.n - j}, false);
                CHECK(both_read(0, fumi_buf_str(&b),
                                right ? fumi_buf_str(&want) : FUMI_STR("FAULT 1007\n"), ALL));
            }
    fumi_buf_done(&b);
    fumi_buf_done(&want);
}

/* At every position, whether the bytes are processed in blocks or one by one. */
TEST(one_bad_byte)
{
    char text[80];
    struct fumi_buf b = {0};
    for (size_t n = 1; n <= sizeof(text); n++)
        for (size_t i = 0; i < n; i++) {
            struct ws_reader r = {.server = true};
            struct ws_event e;
            memset(text, 'x', n);
            text[i] = (char)0x80;
            b.n = 0;
            ws_write_masked(&b, WS_TEXT, (struct fumi_str){text, n}, mask);
            char *p = b.p;
            CHECK_INT(ws_read(&r, &p, b.p + b.n, &e), WS_FAULT);
            CHECK_INT(e.code, WS_BAD_TEXT);
        }
    fumi_buf_done(&b);
}

TEST(a_whole_message_is_not_copied)
{
    char bytes[] = "\x81\x85\x37\xFA\x21\x3D\x7F\x9F\x4D\x51\x58\x89\x80mask", *p = bytes;
    char *end = bytes + sizeof(bytes) - 1;
    struct ws_reader r = {.server = true};
    struct ws_event e;
    CHECK_INT(ws_read(&r, &p, end, &e), WS_TEXT);
    CHECK(e.payload.p == bytes + 6 && p == bytes + 11 && !r.partial);
    CHECK_INT(ws_read(&r, &p, end, &e), WS_PING);
    CHECK(p == end);
    CHECK_INT(ws_read(&r, &p, end, &e), WS_MORE);
    CHECK_INT(held, 0);
}

/* Also if a read ended directly after the header, or within it. */
TEST(a_payload_in_one_piece_is_not_copied)
{
    for (size_t cut = 1; cut <= 6; cut++) {
        char bytes[] = "\x81\x85\x37\xFA\x21\x3D\x7F\x9F\x4D\x51\x58", *p = bytes;
        struct ws_reader r = {.server = true};
        struct ws_event e;
        CHECK_INT(ws_read(&r, &p, bytes + cut, &e), WS_MORE);
        CHECK(p == bytes + cut && r.partial);
        CHECK_INT(ws_read(&r, &p, bytes + 11, &e), WS_TEXT);
        CHECK(e.payload.p == bytes + 6);
        CHECK_INT(ws_read(&r, &p, bytes + 11, &e), WS_MORE);
        CHECK(!r.partial && !held);
    }
}

TEST(an_idle_reader_holds_nothing)
{
    static const struct fumi_str streams[] = {
        {"\x01\x03Hel\x80\x02lo", 9}, {"\x01\x01x\x89\x02hi\x80\x01y", 10},
        {"\x89\x05Hello", 7},         {"\x88\x05\x03\xE8yes", 7},
        {"\x01\x05Hello\x83\x00", 9}, {"\x01\x05Hello\x88\x02\x03\xE8", 11},
    };
    struct fumi_buf log = {0};
    fumi_buf_room(&log, 4096);
    size_t before = held;
    for (size_t i = 0; i < FUMI_COUNT(streams); i++) {
        struct ws_reader r = {0};
        for (size_t j = 0; j < streams[i].n; j++)
            feed(&r, (struct fumi_str){streams[i].p + j, 1}, &log);
        CHECK(!r.partial);
        CHECK_INT(held, before);
    }
    CHECK(sizeof(struct ws_reader) < 64);
    fumi_buf_done(&log);
}

TEST(a_fault_frees_at_once)
{
    char bytes[] = "\x01\x05Hello\x83\x00", *p = bytes;
    struct ws_reader r = {0};
    struct ws_event e;
    CHECK_INT(ws_read(&r, &p, bytes + 7, &e), WS_MORE);
    CHECK(held);
    CHECK_INT(ws_read(&r, &p, bytes + 9, &e), WS_FAULT);
    CHECK(!held);
}

TEST(memory_grows_with_what_arrives)
{
    enum { LIMIT = 100000, PART = 512, STEP = 1000 };
    struct ws_reader r = {.limit = LIMIT};
    struct ws_event e;
    char head[] = "\x81\x7F\x00\x00\x00\x00\x00\x01\x86\xA0", bytes[STEP] = {0}, *p = head;
    CHECK_INT(ws_read(&r, &p, head + sizeof(head) - 1, &e), WS_MORE);
    CHECK(held < PART);
    for (size_t sent = STEP; sent < LIMIT; sent += STEP) {
        p = bytes;
        CHECK_INT(ws_read(&r, &p, bytes + STEP, &e), WS_MORE);
        CHECK(held <= 2 * sent + PART && held <= LIMIT + PART);
    }
    p = bytes;
    CHECK_INT(ws_read(&r, &p, bytes + STEP, &e), WS_TEXT);
    CHECK_INT(e.payload.n, LIMIT);
    CHECK_INT(ws_read(&r, &p, p, &e), WS_MORE);
    CHECK_INT(held, 0);
}

TEST(written_close_frames)
{
    struct fumi_buf b = {0};
    ws_write_close(&b, WS_TOO_LONG, FUMI_STR("too long"));
    ws_write_close(&b, WS_NORMAL, (struct fumi_str){0});
    ws_write_close(&b, WS_NO_CODE, (struct fumi_str){0});
    CHECK(fumi_eq(fumi_buf_str(&b), FUMI_STR("\x88\x0A\x03\xF1too long\x88\x02\x03\xE8\x88\x00")));
    fumi_buf_done(&b);
}

/* A reason is truncated between characters. */
TEST(long_reasons)
{
    struct fumi_buf reason = {0};
    char out[WS_CONTROL];
    fill(&reason, 124);
    CHECK_INT(ws_close_payload(out, WS_GOING_AWAY, fumi_buf_str(&reason)).n, WS_CONTROL);
    reason.n = 0;
    for (int i = 0; i < 100; i++)
        fumi_buf_add(&reason, "\xF0\x9F\x98\x80", 4);
    for (size_t n = 0; n <= reason.n; n += 4) {
        struct fumi_str s = ws_close_payload(out, WS_GOING_AWAY, (struct fumi_str){reason.p, n});
        CHECK(s.p == out && s.n == 2 + (n < 120 ? n : 120));
        CHECK(memcmp(out + 2, reason.p, s.n - 2) == 0);
    }
    fumi_buf_done(&reason);
}

TEST(a_full_buffer_takes_whole_frames_only)
{
    struct fumi_buf b = {.limit = 10};
    ws_write(&b, WS_TEXT, FUMI_STR("Hello"));
    ws_write(&b, WS_TEXT, FUMI_STR("xy"));
    CHECK(b.full && b.n == 7);
    fumi_buf_reset(&b, 0);
    ws_write_masked(&b, WS_TEXT, FUMI_STR("Hello"), mask);
    CHECK(b.full && b.n == 0);
    fumi_buf_done(&b);
}

static uint64_t seed = 0x9E3779B97F4A7C15;

static size_t pick(size_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed >> 11) % below;
}

/* Valid UTF-8 of about n bytes with characters of every size. */
static void random_text(struct fumi_buf *b, size_t n)
{
    static const uint32_t top[] = {0x80, 0x80, 0x80, 0x800, 0xD800, 0x110000};
    while (b->n < n) {
        char c[4];
        uint32_t point = (uint32_t)pick(top[pick(FUMI_COUNT(top))]);
        bool surrogate = point >= 0xD800 && point < 0xE000;
        fumi_buf_add(b, c, fumi_utf8_write(surrogate ? 'x' : point, c));
    }
}

static void random_frame(struct fumi_buf *stream, unsigned first, struct fumi_str s, bool server)
{
    char own[4];
    size_t at = stream->n;
    memcpy(own, &seed, sizeof(own));
    if (server)
        ws_write_masked(stream, WS_TEXT, s, own);
    else
        ws_write(stream, WS_TEXT, s);
    stream->p[at] = (char)first;
}

/* One message in up to five fragments with control frames between them, and the expected events. */
static void random_message(struct fumi_buf *stream, struct fumi_buf *want, bool server)
{
    static const size_t sizes[] = {2, 20, 130, 400, 70000};
    struct fumi_buf text = {0};
    enum ws_kind kind = pick(2) ? WS_TEXT : WS_BINARY, opcode = kind;
    random_text(&text, pick(sizes[pick(FUMI_COUNT(sizes))]));
    struct fumi_str rest = fumi_buf_str(&text);
    for (size_t pieces = pick(5); pieces; pieces--) {
        size_t n = pick(rest.n + 1);
        random_frame(stream, opcode, (struct fumi_str){rest.p, n}, server);
        rest = (struct fumi_str){rest.p + n, rest.n - n};
        opcode = 0;
        if (pick(3))
            continue;
        random_frame(stream, 0x80 | WS_PING, FUMI_STR("between"), server);
        put_line(want, WS_PING, 0, FUMI_STR("between"));
    }
    random_frame(stream, 0x80 | opcode, rest, server);
    put_line(want, kind, 0, fumi_buf_str(&text));
    fumi_buf_done(&text);
}

static void random_cuts(struct ws_reader *r, struct fumi_str s, struct fumi_buf *log)
{
    static const size_t sizes[] = {2, 10, 100, 5000, 100000};
    for (size_t i = 0, n; i < s.n; i += n) {
        n = pick(sizes[pick(FUMI_COUNT(sizes))]) + 1;
        n = n < s.n - i ? n : s.n - i;
        feed(r, (struct fumi_str){s.p + i, n}, log);
    }
}

TEST(random_round_trips)
{
    for (int round = 0; round < 2000; round++) {
        struct ws_reader r = {.server = round & 1};
        struct fumi_buf stream = {0}, want = {0}, log = {0};
        for (size_t messages = pick(6); messages; messages--)
            random_message(&stream, &want, r.server);
        random_cuts(&r, fumi_buf_str(&stream), &log);
        bool same = fumi_eq(fumi_buf_str(&log), fumi_buf_str(&want));
        if (!same || r.partial)
            TEST_FAIL("round %d", round);
        fumi_buf_done(&stream);
        fumi_buf_done(&want);
        fumi_buf_done(&log);
    }
    CHECK_INT(held, 0);
}
