/* WebSocket clients that violate RFC 6455 or use all of it, against a running server. The mask is
 * zero, so that the bytes of the tables stay readable. */
#include "frames.h"
#include "test.h"

#define NO_MASK "\0\0\0\0"
#define ECHO    "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"id\":1}" /* 40 bytes: \x28 */
#define DONE    "{\"jsonrpc\":\"2.0\",\"result\":null,\"id\":1}"

static const struct {
    struct fumi_str bytes;
    int code; /* the close code of the server; 1005: none */
} rows[] = {
    /* A client must mask (5.1). */
    {FUMI_STR("\x81\x02{}"), 1002},
    {FUMI_STR("\x89\x00"), 1002},
    /* No extension was negotiated, so no reserved bit may be set (5.2). */
    {FUMI_STR("\xC1\x82" NO_MASK "{}"), 1002},
    {FUMI_STR("\xA1\x82" NO_MASK "{}"), 1002},
    {FUMI_STR("\x91\x82" NO_MASK "{}"), 1002},
    /* Opcodes that do not exist (5.2). */
    {FUMI_STR("\x83\x80" NO_MASK), 1002},
    {FUMI_STR("\x87\x80" NO_MASK), 1002},
    {FUMI_STR("\x8B\x80" NO_MASK), 1002},
    {FUMI_STR("\x8F\x80" NO_MASK), 1002},
    /* Control frames are not fragmented and carry at most 125 bytes (5.5). */
    {FUMI_STR("\x09\x80" NO_MASK), 1002},
    {FUMI_STR("\x08\x80" NO_MASK), 1002},
    {FUMI_STR("\x0A\x80" NO_MASK), 1002},
    {FUMI_STR("\x89\xFE\x00\x7E" NO_MASK), 1002},
    {FUMI_STR("\x88\xFE\x00\x7E" NO_MASK), 1002},
    /* A continuation without a first frame, and a new message inside a fragmented one (5.4). */
    {FUMI_STR("\x80\x80" NO_MASK), 1002},
    {FUMI_STR("\x00\x81" NO_MASK "["), 1002},
    {FUMI_STR("\x01\x81" NO_MASK "[\x81\x81" NO_MASK "]"), 1002},
    {FUMI_STR("\x01\x81" NO_MASK "[\x82\x81" NO_MASK "]"), 1002},
    /* A length uses as few bytes as possible, and is not negative (5.2). */
    {FUMI_STR("\x81\xFE\x00\x02" NO_MASK "{}"), 1002},
    {FUMI_STR("\x81\xFF\0\0\0\0\0\0\xFF\xFF" NO_MASK), 1002},
    {FUMI_STR("\x81\xFF\x80\0\0\0\0\0\0\0" NO_MASK), 1002},
    /* One byte more than a message may have, in the header alone; and the largest possible length
     * (7.4.1). */
    {FUMI_STR("\x81\xFF\0\0\0\0\0\x10\0\x01" NO_MASK), 1009},
    {FUMI_STR("\x81\xFF\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF" NO_MASK), 1009},
    {FUMI_STR("\x01\x81" NO_MASK "[\x80\xFF\0\0\0\0\0\x10\0\0" NO_MASK), 1009},
    /* JSON is text (7.4.1). */
    {FUMI_STR("\x82\x82" NO_MASK "{}"), 1003},
    {FUMI_STR("\x82\x80" NO_MASK), 1003},
    /* Text is UTF-8 (8.1): no stray bytes, overlong forms, surrogates, code points that are too
     * large or truncated characters. */
    {FUMI_STR("\x81\x81" NO_MASK "\xFF"), 1007},
    {FUMI_STR("\x81\x82" NO_MASK "\xC0\x80"), 1007},
    {FUMI_STR("\x81\x83" NO_MASK "\xED\xA0\x80"), 1007},
    {FUMI_STR("\x81\x84" NO_MASK "\xF4\x90\x80\x80"), 1007},
    {FUMI_STR("\x81\x81" NO_MASK "\xC3"), 1007},
    {FUMI_STR("\x01\x81" NO_MASK "\xC3\x80\x81" NO_MASK " "), 1007},
    /* A close frame is answered with its own code (5.5.1), or without one. */
    {FUMI_STR("\x88\x80" NO_MASK), 1005},
    {FUMI_STR("\x88\x82" NO_MASK "\x03\xE8"), 1000},
    {FUMI_STR("\x88\x85" NO_MASK "\x03\xE9"
              "bye"),
     1001},
    {FUMI_STR("\x88\x82" NO_MASK "\x0B\xB8"), 3000},
    {FUMI_STR("\x88\x82" NO_MASK "\x13\x87"), 4999},
    /* Codes that must not be sent (7.4), half a code, and a reason that is not UTF-8. */
    {FUMI_STR("\x88\x81" NO_MASK "\x03"), 1002},
    {FUMI_STR("\x88\x82" NO_MASK "\x00\x00"), 1002},
    {FUMI_STR("\x88\x82" NO_MASK "\x03\xE7"), 1002},
    {FUMI_STR("\x88\x82" NO_MASK "\x03\xEC"), 1002},
    {FUMI_STR("\x88\x82" NO_MASK "\x03\xED"), 1002},
    {FUMI_STR("\x88\x82" NO_MASK "\x03\xEE"), 1002},
    {FUMI_STR("\x88\x82" NO_MASK "\x03\xF7"), 1002},
    {FUMI_STR("\x88\x82" NO_MASK "\x0B\xB7"), 1002},
    {FUMI_STR("\x88\x82" NO_MASK "\x13\x88"), 1002},
    {FUMI_STR("\x88\x83" NO_MASK "\x03\xE8\xFF"), 1007},
    /* Data after a fault or a close frame is ignored. */
    {FUMI_STR("\x88\x82" NO_MASK "\x03\xE8\x81\xA8" NO_MASK ECHO), 1000},
    {FUMI_STR("\x83\x80" NO_MASK "\x81\xA8" NO_MASK ECHO "\x88\x80" NO_MASK), 1002},
};

static bool gets_frame(struct wire *w, int opcode, const char *payload)
{
    struct frame f = wire_read_frame(w);
    if (f.first == (FIN | opcode) && fumi_eq(f.payload, fumi_str(payload)))
        return true;
    fprintf(stderr, "got %#x %.*s\n", (unsigned)f.first, FUMI_ARG(f.payload));
    return false;
}

TEST(faults_and_closes)
{
    struct live s;
    struct wire other;
    CHECK_INT(live_start(&s, SPEC_SERVER, NULL), 0);
    int before = live_descriptors(&s);
    wire_tcp(&other, &s);
    CHECK_INT(wire_upgrade(&other, &s, "").status, 101);
    for (size_t i = 0; i < 2 * FUMI_COUNT(rows); i++) {
        struct wire w;
        wire_tcp(&w, &s);
        CHECK_INT(wire_upgrade(&w, &s, "").status, 101);
        (i % 2 ? wire_put_slowly : wire_put)(&w, rows[i / 2].bytes);
        struct frame f = wire_read_frame(&w);
        if (f.first != (FIN | CLOSE) || f.code != rows[i / 2].code || !wire_ends(&w))
            TEST_FAIL("row %zu: got %#x with %d, want %d", i / 2, (unsigned)f.first, f.code,
                      rows[i / 2].code);
        wire_close(&w);
        wire_frame(&other, FIN | TEXT, FUMI_STR(ECHO));
        CHECK(gets_frame(&other, TEXT, DONE));
    }
    wire_close(&other);
    CHECK(live_settles(&s, before));
    CHECK_INT(live_stop(&s), 0);
}

/* Everything that is allowed, in one conversation. */
TEST(fine_frames)
{
    struct live s;
    struct wire w;
    char long_ping[126];
    CHECK_INT(live_start(&s, SPEC_SERVER, NULL), 0);
    wire_tcp(&w, &s);
    CHECK_INT(wire_upgrade(&w, &s, "").status, 101);
    wire_frame(&w, FIN | PING, FUMI_STR(""));
    CHECK(gets_frame(&w, PONG, ""));
    memset(long_ping, 'p', 125);
    long_ping[125] = '\0';
    wire_frame(&w, FIN | PING, fumi_str(long_ping));
    CHECK(gets_frame(&w, PONG, long_ping));
    wire_frame(&w, FIN | PONG, FUMI_STR("unsolicited"));
    /* In fragments, some of them empty, with a ping between them. */
    wire_frame(&w, TEXT, FUMI_STR("{\"jsonrpc\":\"2.0\",\"method\":\"ec"));
    wire_frame(&w, CONTINUED, FUMI_STR(""));
    wire_frame(&w, FIN | PING, FUMI_STR("!"));
    wire_frame(&w, CONTINUED, FUMI_STR("ho\",\"id\":"));
    wire_frame(&w, FIN | CONTINUED, FUMI_STR("1}"));
    CHECK(gets_frame(&w, PONG, "!"));
    CHECK(gets_frame(&w, TEXT, DONE));
    /* A character that is split between two frames. */
    wire_frame(&w, TEXT,
               FUMI_STR("{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":[\"\xE6\x97"));
    wire_frame(&w, FIN | CONTINUED, FUMI_STR("\xA5\"],\"id\":2}"));
    CHECK(gets_frame(&w, TEXT, "{\"jsonrpc\":\"2.0\",\"result\":[\"日\"],\"id\":2}"));
    /* Many frames in one write, one of which has no answer. */
    wire_put_slowly(&w, FUMI_STR("\x81\xA8" NO_MASK ECHO "\x89\x80" NO_MASK));
    wire_put(&w, FUMI_STR("\x81\xA8" NO_MASK ECHO "\x81\x82" NO_MASK "[]\x81\xA8" NO_MASK ECHO));
    CHECK(gets_frame(&w, TEXT, DONE));
    CHECK(gets_frame(&w, PONG, ""));
    CHECK(gets_frame(&w, TEXT, DONE));
    CHECK(has(wire_read_frame(&w).payload, "batch is empty"));
    CHECK(gets_frame(&w, TEXT, DONE));
    wire_close(&w);
    CHECK_INT(live_stop(&s), 0);
}

/* A client that answers pings stays connected; one that does not is pinged once and closed. */
TEST(pings)
{
    struct live s;
    struct wire awake, asleep;
    struct frame f;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--ping-time 300"), 0);
    int before = live_descriptors(&s);
    wire_tcp(&awake, &s);
    CHECK_INT(wire_upgrade(&awake, &s, "").status, 101);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(wire_read_frame(&awake).first, FIN | PING);
        wire_frame(&awake, FIN | PONG, FUMI_STR(""));
    }
    wire_frame(&awake, FIN | TEXT, FUMI_STR(ECHO));
    do
        f = wire_read_frame(&awake);
    while (f.first == (FIN | PING));
    CHECK_STR(f.payload, DONE);
    wire_tcp(&asleep, &s);
    CHECK_INT(wire_upgrade(&asleep, &s, "").status, 101);
    CHECK_INT(wire_read_frame(&asleep).first, FIN | PING);
    f = wire_read_frame(&asleep);
    CHECK_INT(f.first, FIN | CLOSE);
    CHECK_INT(f.code, 1001);
    CHECK(wire_ends(&asleep));
    wire_close(&awake);
    wire_close(&asleep);
    CHECK(live_settles(&s, before));
    CHECK_INT(live_stop(&s), 0);
}
