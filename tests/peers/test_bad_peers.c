/* Clients that are slow, disconnected, broken or too many, against a running server that must close
 * them while it serves others. Timeouts are short, so that they expire; durations are not checked.
 */
#include "frames.h"
#include "test.h"

#define CALL(method) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"id\":1}"
#define HEAD         "POST /rpc HTTP/1.1\r\nHost: h\r\n"
#define GOOD         HEAD "Content-Length: 40\r\n\r\n" CALL("echo")
#define LATER        HEAD "Content-Length: 41\r\n\r\n" CALL("later")
#define SLOW         HEAD "Content-Length: 45\r\n\r\n" CALL("slow_echo")
#define WAITS        HEAD "Content-Length: 47\r\n\r\n" CALL("wait_cancel")
#define CHUNKED      HEAD "Transfer-Encoding: chunked\r\n\r\n"
#define BIG          "{\"jsonrpc\":\"2.0\",\"method\":\"too_big\",\"params\":[8000000],\"id\":1}"

/* The end of every test: no resources of the clients remain, others are served, and the server
 * exits cleanly. */
static bool ends_cleanly(struct live *s, int descriptors)
{
    bool settled = live_settles(s, descriptors), serves = live_serves(s);
    int status = live_stop(s);
    if (!settled || !serves || status)
        fprintf(stderr, "settled %d, serves %d, status %#x\n", settled, serves, (unsigned)status);
    return settled && serves && status == 0;
}

/* Sends the start, then one byte after the other until the server responds. */
static struct reply drip(struct wire *w, const struct live *s, const char *start, const char *more)
{
    struct pollfd fd = {w->fd, POLLIN, 0};
    wire_put(w, fumi_str(start));
    for (int i = 0; i < 3000 && poll(&fd, 1, 10) == 0; i++) {
        wire_put(w, fumi_str(more));
        if (i % 16 == 0 && !live_serves(s))
            break;
    }
    return wire_reply(w, false);
}

TEST(slow_requests)
{
    static const struct {
        const char *start, *drip;
        int status; /* 0: closed without a response */
    } rows[] = {
        {"", "", 0},
        {"P", "P", 408},
        {"POST /rpc?", "x", 408},
        {HEAD "x: ", "y", 408},
        {HEAD, "x: 1\r\n", 408},
        {HEAD "Content-Length: 100000\r\n\r\n", " ", 408},
        {HEAD "Content-Length: 100000\r\n\r\n[", "", 408},
        {CHUNKED "186a0\r\n", " ", 408},
        {CHUNKED "1;", "x", 408},
        {CHUNKED, "1\r\n \r\n", 408},
        {CHUNKED "0\r\nx:", " ", 408},
    };
    struct live s;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--hosts h --auth none --head-time 300 --body-time 300"),
              0);
    int before = live_descriptors(&s);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct wire w;
        wire_tcp(&w, &s);
        struct reply r = drip(&w, &s, rows[i].start, rows[i].drip);
        if (r.status != rows[i].status || (r.status && !reply_closes(&r)) || !wire_ends(&w))
            TEST_FAIL("row %zu: status %d, state %d", i, r.status, (int)w.state);
        wire_close(&w);
    }
    CHECK(ends_cleanly(&s, before));
}

/* Idle connections are closed: new ones, after a request, and on the Unix socket. */
TEST(silent_peers)
{
    struct live s;
    struct wire new, idle, local;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--head-time 300 --idle-time 300"), 0);
    int before = live_descriptors(&s);
    wire_tcp(&new, &s);
    wire_tcp(&idle, &s);
    wire_unix(&local, &s);
    CHECK(wire_lives(&idle, &s));
    CHECK(wire_ends(&new));
    CHECK(wire_ends(&idle));
    CHECK(wire_ends(&local));
    wire_close(&new);
    wire_close(&idle);
    wire_close(&local);
    CHECK(ends_cleanly(&s, before));
}

/* A client that shuts down its sending side gets the answers of calls that return at once. During a
 * call this means that the client has left, unless the call ends first. An incomplete request gets
 * no answer. */
TEST(half_closed_http)
{
    static const struct {
        const char *bytes;
        int least, most; /* answers */
    } rows[] = {
        {"", 0, 0},
        {"POST", 0, 0},
        {HEAD, 0, 0},
        {HEAD "Content-Length: 40\r\n\r\n{", 0, 0},
        {GOOD, 1, 1},
        {GOOD GOOD GOOD, 3, 3},
        {LATER, 0, 1},
        {SLOW, 0, 1},
        {GOOD LATER SLOW GOOD LATER, 1, 5},
        {GOOD HEAD, 1, 1},
        {SLOW GOOD HEAD "x", 0, 2},
        {CHUNKED "28\r\n" CALL("echo") "\r\n0\r\n\r\n", 1, 1},
        {CHUNKED "28\r\n" CALL("echo") "\r\n", 0, 0},
    };
    struct live s;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--hosts h --auth none"), 0);
    int before = live_descriptors(&s);
    for (size_t i = 0; i < 2 * FUMI_COUNT(rows); i++) {
        struct wire w;
        int n = 0;
        (i % 2 ? wire_unix : wire_tcp)(&w, &s);
        wire_put(&w, fumi_str(rows[i / 2].bytes));
        wire_half_close(&w);
        while (wire_reply(&w, false).status == 200)
            n++;
        if (n < rows[i / 2].least || n > rows[i / 2].most || !wire_ends(&w))
            TEST_FAIL("row %zu: %d answers, state %d", i / 2, n, (int)w.state);
        wire_close(&w);
    }
    CHECK(ends_cleanly(&s, before));
}

TEST(half_closed_lines)
{
    static const struct {
        const char *bytes;
        int answers;
    } rows[] = {
        {"\n", 0},
        {"{", 1},
        {CALL("echo"), 1},
        {CALL("later") "\n" CALL("slow_echo") "\n" CALL("echo") "\n", 3},
        {CALL("slow_echo") "\n" CALL("slow_echo") "\r\n\n" CALL("later"), 3},
    };
    struct live s;
    CHECK_INT(live_start(&s, SPEC_SERVER, NULL), 0);
    int before = live_descriptors(&s);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct wire w;
        int n = 0;
        wire_unix(&w, &s);
        wire_put(&w, fumi_str(rows[i].bytes));
        wire_half_close(&w);
        while (wire_until(&w, "\n").p)
            n++;
        if (n != rows[i].answers || !wire_ends(&w))
            TEST_FAIL("row %zu: %d answers, state %d", i, n, (int)w.state);
        wire_close(&w);
    }
    CHECK(ends_cleanly(&s, before));
}

static void set_narrow(struct wire *w)
{
    int least = 4096;
    setsockopt(w->fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
}

/* Sends the same data until no more is accepted. Returns false if all of it was accepted. */
static bool fill_socket(struct wire *w, struct fumi_str bytes, size_t most)
{
    size_t sent = 0;
    while (sent < most) {
        ssize_t n = send(w->fd, bytes.p, bytes.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd fd = {w->fd, POLLOUT, 0};
            if (poll(&fd, 1, 200) == 0)
                return true;
        }
        if (n < 0 && errno != EAGAIN)
            return true;
        sent += n > 0 ? (size_t)n : 0;
    }
    return false;
}

/* A client that does not read its answer is closed, on each transport, and does not delay others.
 */
TEST(never_reads)
{
    struct live s;
    struct wire http, lines, socket;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--write-time 300"), 0);
    int before = live_descriptors(&s);
    wire_tcp(&http, &s);
    wire_unix(&lines, &s);
    wire_tcp(&socket, &s);
    set_narrow(&http);
    set_narrow(&lines);
    set_narrow(&socket);
    CHECK_INT(wire_upgrade(&socket, &s, "").status, 101);
    wire_post(&http, &s, FUMI_STR(BIG), "");
    wire_put(&lines, FUMI_STR(BIG "\n"));
    wire_frame(&socket, FIN | TEXT, FUMI_STR(BIG));
    for (int i = 0; i < 20; i++)
        CHECK(live_serves(&s));
    CHECK(live_settles(&s, before));
    wire_close(&http);
    wire_close(&lines);
    wire_close(&socket);
    CHECK(ends_cleanly(&s, before));
}

/* A client that does not read its answer is closed even if it keeps sending. The answer is larger
 * than the socket buffers and short enough that the client is still read. */
TEST(keeps_sending_and_never_reads_a_large_answer)
{
    static const char call[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"too_big\",\"params\":[600000],\"id\":1}";
    struct live s;
    struct wire w;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--write-time 300"), 0);
    int before = live_descriptors(&s);
    wire_unix(&w, &s);
    CHECK_INT(wire_upgrade(&w, &s, "").status, 101);
    wire_frame(&w, FIN | TEXT, fumi_str(call));
    for (int i = 0; i < LIVE_PATIENCE * 100 && live_descriptors(&s) > before; i++) {
        wire_frame(&w, FIN | PONG, FUMI_STR(""));
        poll(NULL, 0, 10);
    }
    bool ended = live_descriptors(&s) <= before;
    wire_close(&w);
    CHECK(ended);
    CHECK(ends_cleanly(&s, before));
}

/* The server stops reading from a client that sends without reading, so unread data is not kept in
 * memory. */
TEST(sends_and_never_reads)
{
    struct live s;
    struct wire http, lines;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--hosts h --auth none"), 0);
    int before = live_descriptors(&s);
    CHECK(live_serves(&s));
    long memory = live_memory(&s);
    wire_tcp(&http, &s);
    wire_unix(&lines, &s);
    set_narrow(&http);
    CHECK(fill_socket(&http, FUMI_STR(GOOD), 256 << 20));
    CHECK(fill_socket(&lines, FUMI_STR(CALL("echo") "\n"), 256 << 20));
    long grown = live_memory(&s) - memory;
    if (grown > 32 << 10)
        TEST_FAIL("%ld KiB more than before", grown);
    CHECK(live_serves(&s));
    wire_close(&http);
    wire_close(&lines);
    CHECK(ends_cleanly(&s, before));
}

/* Unsent notifications are limited; a client that exceeds the limit is closed. */
TEST(never_reads_notifications)
{
    static const char call[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"progress\",\"params\":[1000],\"id\":1}";
    struct live s;
    struct wire w;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--unsent 65536 --write-time 600000"), 0);
    int before = live_descriptors(&s);
    wire_tcp(&w, &s);
    set_narrow(&w);
    CHECK_INT(wire_upgrade(&w, &s, "").status, 101);
    for (int i = 0; i < 200; i++)
        wire_frame(&w, FIN | TEXT, fumi_str(call));
    CHECK(live_settles(&s, before));
    wire_close(&w);
    CHECK(ends_cleanly(&s, before));
}

/* The client disconnects during a request, during open calls, or during the answer. */
TEST(resets_http)
{
    static const char *const rows[] = {
        "",
        "POST /rp",
        HEAD,
        HEAD "Content-Length: 40\r\n\r\n{\"json",
        CHUNKED "28\r\n{\"json",
        GOOD,
        LATER,
        SLOW,
        WAITS,
        LATER SLOW GOOD LATER WAITS GOOD,
        HEAD "Content-Length: 62\r\n\r\n" BIG,
        HEAD "Accept: text/event-stream\r\nContent-Length: 60\r\n\r\n"
             "{\"jsonrpc\":\"2.0\",\"method\":\"progress\",\"params\":[1000],\"id\":1}",
    };
    struct live s;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--hosts h --auth none --threads 2"), 0);
    int before = live_descriptors(&s);
    for (size_t i = 0; i < 20 * FUMI_COUNT(rows); i++) {
        const char *row = rows[i / 20];
        struct wire w;
        (i % 5 == 0 ? wire_unix : wire_tcp)(&w, &s);
        wire_put(&w, fumi_str(row));
        if (i % 2)
            poll(&(struct pollfd){w.fd, POLLIN, 0}, 1, 5);
        wire_reset(&w);
    }
    CHECK(ends_cleanly(&s, before));
}

/* The calls had started: the message after them was answered. */
TEST(resets_of_calls)
{
    static const char *const calls[] = {CALL("later"), CALL("slow_echo"), CALL("wait_cancel"),
                                        CALL("ask_back")};
    struct live s;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--threads 2"), 0);
    int before = live_descriptors(&s);
    for (size_t i = 0; i < 80; i++) {
        struct wire w;
        wire_tcp(&w, &s);
        CHECK_INT(wire_upgrade(&w, &s, "").status, 101);
        for (size_t k = 0; k < FUMI_COUNT(calls); k++)
            wire_frame(&w, FIN | TEXT, fumi_str(calls[(i + k) % FUMI_COUNT(calls)]));
        wire_frame(&w, FIN | PING, FUMI_STR("?"));
        struct frame f;
        do
            f = wire_read_frame(&w);
        while (f.first == (FIN | TEXT));
        CHECK_INT(f.first, FIN | PONG);
        wire_put(&w, FUMI_STR("\x81\xFE\x10")); /* and a frame was started */
        wire_reset(&w);
    }
    CHECK(ends_cleanly(&s, before));
}

TEST(resets_of_lines)
{
    static const char lines[] = CALL("later") "\n" CALL("wait_cancel") "\n" CALL("slow_echo") "\n{";
    struct live s;
    CHECK_INT(live_start(&s, SPEC_SERVER, NULL), 0);
    int before = live_descriptors(&s);
    for (int i = 0; i < 80; i++) {
        struct wire w;
        wire_unix(&w, &s);
        wire_put(&w, fumi_str(lines));
        if (i % 2)
            CHECK(wire_until(&w, "\n").p);
        wire_reset(&w);
    }
    CHECK(ends_cleanly(&s, before));
}

/* A fixed sequence of pseudo-random numbers. */
static unsigned next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (unsigned)(*seed >> 32);
}

static struct fumi_str noise(char *bytes, size_t most, uint64_t *seed)
{
    size_t n = 1 + next(seed) % most;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)next(seed);
    return (struct fumi_str){bytes, n};
}

static struct fumi_str damaged(char *bytes, const char *good, uint64_t *seed)
{
    size_t n = strlen(good);
    memcpy(bytes, good, n);
    for (unsigned i = 1 + next(seed) % 8; i > 0; i--)
        bytes[next(seed) % n] = (char)next(seed);
    return (struct fumi_str){bytes, n};
}

/* One connection that sends one kind of garbage. */
static void send_garbage(struct wire *w, const struct live *s, unsigned way, uint64_t *seed)
{
    char bytes[1024];
    bool local = way % 2, upgraded = way % 10 > 7;
    (local ? wire_unix : wire_tcp)(w, s);
    if (upgraded)
        wire_upgrade(w, s, "");
    if (way % 10 < 3)
        wire_put(w, noise(bytes, sizeof(bytes), seed));
    else if (way % 10 < 5)
        wire_put(w, damaged(bytes, GOOD LATER, seed));
    else if (way % 10 < 6)
        wire_put(w, damaged(bytes, CALL("echo") "\n" CALL("later") "\n", seed));
    else if (way % 10 < 8)
        wire_post(w, s, noise(bytes, sizeof(bytes), seed), "");
    else if (way % 10 < 9)
        wire_put(w, noise(bytes, sizeof(bytes), seed));
    else
        wire_frame(w, (int)(next(seed) & 0xFF), noise(bytes, sizeof(bytes), seed));
}

enum { AT_ONCE = 50 };

/* Each must end, in any way. */
static bool send_garbage_on_all(const struct live *s, unsigned n, uint64_t seed)
{
    struct wire all[AT_ONCE];
    bool ended = true;
    for (unsigned done = 0; done < n; done += AT_ONCE) {
        for (unsigned i = 0; i < AT_ONCE; i++)
            send_garbage(&all[i], s, i, &seed);
        for (unsigned i = 0; i < AT_ONCE; i++) {
            wire_half_close(&all[i]);
            wire_rest(&all[i]);
            ended &= all[i].state != WIRE_SILENT;
            wire_close(&all[i]);
        }
    }
    return ended;
}

/* 1,000 connections that send garbage leak nothing: no descriptors, and no memory beyond that of
 * the first 200. */
TEST(garbage)
{
    struct live s;
    struct wire other;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--hosts h --auth none"), 0);
    int before = live_descriptors(&s);
    CHECK(send_garbage_on_all(&s, 200, 1));
    CHECK(live_settles(&s, before));
    long memory = live_memory(&s);
    wire_tcp(&other, &s);
    CHECK_INT(wire_upgrade(&other, &s, "").status, 101);
    CHECK(send_garbage_on_all(&s, 1000, 0x9E3779B97F4A7C15));
    wire_frame(&other, FIN | TEXT, FUMI_STR(PROBE));
    CHECK(has(wire_read_frame(&other).payload, "probe"));
    wire_close(&other);
    CHECK(live_settles(&s, before));
    long grown = live_memory(&s) - memory;
    if (grown > 4 << 10)
        TEST_FAIL("%ld KiB more than before", grown);
    CHECK(ends_cleanly(&s, before));
}

/* A line that is too long is answered and skipped, repeatedly; so are a body and a message. */
TEST(oversize)
{
    struct live s;
    struct wire lines, http;
    char *much = malloc(3 << 20);
    memset(much, '[', 3 << 20);
    CHECK_INT(live_start(&s, SPEC_SERVER, "--hosts h --auth none --line-limit 1000"), 0);
    int before = live_descriptors(&s);
    wire_unix(&lines, &s);
    for (int i = 0; i < 3; i++) {
        wire_put(&lines, (struct fumi_str){much, 3 << 20});
        wire_put(&lines, FUMI_STR("\n" CALL("echo") "\n"));
        CHECK(has(wire_until(&lines, "\n"), "longer than the limit of 1000 bytes"));
        CHECK(has(wire_until(&lines, "\n"), "\"result\":null"));
    }
    for (int i = 0; i < 3; i++) {
        wire_tcp(&http, &s);
        wire_post(&http, &s, (struct fumi_str){much, 1001}, "");
        CHECK_INT(wire_reply(&http, false).status, 413);
        CHECK(wire_ends(&http));
        wire_close(&http);
    }
    wire_close(&lines);
    free(much);
    CHECK(ends_cleanly(&s, before));
}
