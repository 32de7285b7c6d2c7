/* A running server that refuses clients: too many, too fast, or not allowed. Clients that are
 * already connected are not affected. */
#include "frames.h"
#include "test.h"

#define ECHO  "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"id\":1}"
#define WAITS "{\"jsonrpc\":\"2.0\",\"method\":\"wait_cancel\",\"id\":1}"
#define TOKEN "0123456789abcdefghij"

enum { LIMIT = 4, SURPLUS = 64 }; /* this many more are refused with a reason */

static bool is_refused(struct wire *w, int status, bool closed)
{
    struct reply r = wire_reply(w, false);
    if (r.status == status && fumi_eq(reply_field(&r, "Retry-After"), FUMI_STR("1")) &&
        reply_closes(&r) == closed)
        return true;
    fprintf(stderr, "status %d\n%.*s\n", r.status, FUMI_ARG(r.head));
    return false;
}

/* Clients that connect when the server is full get an error, on every transport. */
static void connect_when_full(const struct live *s)
{
    struct wire http, socket, lines;
    wire_tcp(&http, s);
    wire_tcp(&socket, s);
    wire_unix(&lines, s);
    wire_post(&http, s, FUMI_STR(ECHO), "");
    CHECK(is_refused(&http, 503, true));
    CHECK(wire_ends(&http));
    CHECK_INT(wire_upgrade(&socket, s, "").status, 503);
    wire_put(&lines, FUMI_STR(ECHO "\n"));
    CHECK(has(wire_until(&lines, "\n"), "too many connections"));
    CHECK(wire_ends(&lines));
    wire_close(&http);
    wire_close(&socket);
    wire_close(&lines);
}

TEST(connections)
{
    struct live s;
    struct wire in[LIMIT], over[SURPLUS], last;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--connections 4"), 0);
    int before = live_descriptors(&s);
    for (int i = 0; i < LIMIT; i++) {
        wire_tcp(&in[i], &s);
        CHECK(wire_lives(&in[i], &s));
    }
    connect_when_full(&s);
    CHECK(live_settles(&s, before + LIMIT));
    for (int i = 0; i < SURPLUS; i++)
        wire_tcp(&over[i], &s);
    wire_tcp(&last, &s); /* this one is closed without a response */
    CHECK(wire_ends(&last));
    for (int i = 0; i < LIMIT; i++)
        CHECK(wire_lives(&in[i], &s));
    for (int i = 0; i < SURPLUS; i++)
        wire_close(&over[i]);
    wire_close(&last);
    wire_close(&in[0]);
    CHECK(live_settles(&s, before + LIMIT - 1));
    CHECK(live_serves(&s));
    for (int i = 1; i < LIMIT; i++)
        wire_close(&in[i]);
    CHECK(live_settles(&s, before));
    CHECK_INT(live_stop(&s), 0);
}

/* Retries until it succeeds, because the server may notice a closed connection later. */
static bool becomes(struct wire *w, const struct live *s, int status)
{
    for (int i = 0; i < 3000; i++) {
        wire_post(w, s, FUMI_STR(ECHO), "");
        struct reply r = wire_reply(w, false);
        if (r.status == status)
            return status != 503 || fumi_eq(reply_field(&r, "Retry-After"), FUMI_STR("1"));
        if (r.status != 200 && r.status != 503)
            return false;
        poll(NULL, 0, 10);
    }
    return false;
}

/* When the maximum number of calls is open, the next is refused and its connection kept. */
TEST(calls_under_way)
{
    struct live s;
    struct wire waits[2], other;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--queue 2"), 0);
    int before = live_descriptors(&s);
    wire_tcp(&other, &s);
    CHECK(wire_lives(&other, &s));
    for (int i = 0; i < 2; i++) {
        wire_tcp(&waits[i], &s);
        wire_post(&waits[i], &s, FUMI_STR(WAITS), "");
    }
    CHECK(becomes(&other, &s, 503));
    for (int i = 0; i < 2; i++)
        wire_reset(&waits[i]);
    CHECK(becomes(&other, &s, 200));
    wire_close(&other);
    CHECK(live_settles(&s, before));
    CHECK_INT(live_stop(&s), 0);
}

/* One per second with a burst of two: of forty at once, the first is served, and not all are. */
TEST(rate)
{
    struct live s;
    struct wire w;
    int served = 0, refused = 0;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--rate 1"), 0);
    wire_tcp(&w, &s);
    for (int i = 0; i < 40; i++)
        wire_post(&w, &s, FUMI_STR(ECHO), "");
    for (int i = 0; i < 40; i++) {
        struct reply r = wire_reply(&w, false);
        served += r.status == 200;
        if (r.status == 429 && fumi_eq(reply_field(&r, "Retry-After"), FUMI_STR("1")))
            refused++;
        CHECK(i > 0 || served);
        CHECK(!reply_closes(&r));
    }
    CHECK_INT(served + refused, 40);
    CHECK(refused > 0);
    wire_close(&w);
    CHECK_INT(live_stop(&s), 0);
}

static int status_with(const struct live *s, const char *head, struct reply *r, struct wire *w)
{
    wire_tcp(w, s);
    wire_put(w, fumi_str(head));
    *r = wire_reply(w, false);
    return r->status;
}

#define POST    "POST /rpc HTTP/1.1\r\n"
#define WS      "GET /ws HTTP/1.1\r\n"
#define BODY    "Content-Length: 40\r\n\r\n" ECHO
#define UPGRADE "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define NUMBER  "Sec-WebSocket-Version: 13\r\n"
#define BEARER  "Authorization: Bearer " TOKEN "\r\n"

/* Which clients are allowed, over HTTP and for WebSocket upgrades. */
static const struct {
    const char *head;
    int status;
} access_rows[] = {
    {POST "Host: h\r\n" BODY, 401},
    {POST "Host: h\r\nAuthorization: Bearer 0123456789abcdefghik\r\n" BODY, 401},
    {POST "Host: h\r\nAuthorization: Basic " TOKEN "\r\n" BODY, 401},
    {POST "Host: h\r\nAuthorization: Bearer\r\n" BODY, 401},
    {POST "Host: h\r\nx-claude-code-ide-authorization: x\r\n" BODY, 401},
    {"POST /rpc?token=" TOKEN " HTTP/1.1\r\nHost: h\r\n" BODY, 401},
    {"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n", 401},
    {WS "Host: h\r\n" UPGRADE NUMBER WIRE_KEY "\r\n", 401},
    {"GET /rpc HTTP/1.1\r\nHost: h\r\n" UPGRADE NUMBER WIRE_KEY "\r\n", 401},
    {POST "Host: other\r\n" BEARER BODY, 403},
    {POST "Host: h\r\nOrigin: http://h.other\r\n" BEARER BODY, 403},
    {POST "Host: h\r\nOrigin: null\r\n" BEARER BODY, 403},
    {"GET /healthz HTTP/1.1\r\nHost: other\r\n\r\n", 403},
    {WS "Host: other\r\n" BEARER UPGRADE NUMBER WIRE_KEY "\r\n", 403},
    {WS "Host: h\r\nOrigin: http://other\r\n" BEARER UPGRADE NUMBER WIRE_KEY "\r\n", 403},
    {"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", 200},
    {POST "Host: h\r\n" BEARER BODY, 200},
    {POST "Host: h\r\nx-claude-code-ide-authorization: " TOKEN "\r\n" BODY, 200},
    {POST "Host: h\r\nOrigin: https://page\r\n" BEARER BODY, 200},
    {WS "Host: h\r\n" BEARER UPGRADE NUMBER WIRE_KEY "\r\n", 101},
    {WS "Host: h\r\nOrigin: https://page\r\n" BEARER UPGRADE NUMBER WIRE_KEY "\r\n", 101},
};

/* A WebSocket client may send frames before the response, so a connection whose upgrade is refused
 * is closed. Checks that. */
static bool is_final(struct wire *w, const struct reply *r, const char *head)
{
    return r->status == 101 || !strstr(head, UPGRADE) || (reply_closes(r) && wire_ends(w));
}

/* Only calls of allowed clients reached the server. */
static void check_calls(const struct live *s, int calls)
{
    struct wire w;
    struct reply r;
    char want[64];
    CHECK_INT(status_with(s, "GET /metrics HTTP/1.1\r\nHost: h\r\n" BEARER "\r\n", &r, &w), 200);
    snprintf(want, sizeof(want), "fumi_calls_total{method=\"echo\",code=\"0\"} %d\n", calls);
    if (!has(r.body, want))
        TEST_FAIL("no %s in\n%.*s", want, FUMI_ARG(r.body));
    wire_close(&w);
}

TEST(access_checks)
{
    struct live s;
    struct wire in, w, lines;
    struct reply r;
    CHECK_INT(live_start(&s, SPEC_SERVER,
                         "--hosts h --auth token --token " TOKEN
                         " --origins https://page --metrics"),
              0);
    int before = live_descriptors(&s);
    wire_tcp(&in, &s);
    CHECK_INT(wire_upgrade(&in, &s, BEARER).status, 101);
    for (size_t i = 0; i < FUMI_COUNT(access_rows); i++) {
        int status = status_with(&s, access_rows[i].head, &r, &w);
        bool asked = reply_field(&r, "WWW-Authenticate").p;
        if (status != access_rows[i].status || asked != (status == 401))
            TEST_FAIL("row %zu: status %d, want %d", i, status, access_rows[i].status);
        if (!is_final(&w, &r, access_rows[i].head))
            TEST_FAIL("row %zu: the connection is still open", i);
        wire_close(&w);
    }
    wire_unix(&lines, &s);
    wire_put(&lines, FUMI_STR(ECHO "\n"));
    CHECK(has(wire_until(&lines, "\n"), "token"));
    CHECK(wire_ends(&lines));
    wire_close(&lines);
    check_calls(&s, 3);
    wire_frame(&in, FIN | TEXT, FUMI_STR(ECHO));
    CHECK(has(wire_read_frame(&in).payload, "\"result\":null"));
    wire_close(&in);
    CHECK(live_settles(&s, before));
    CHECK_INT(live_stop(&s), 0);
}

/* A request without an upgrade leaves the connection in HTTP. */
TEST(upgrades)
{
    static const struct {
        const char *head;
        int status;
        const char *contains;
    } rows[] = {
        {WS "Host: h\r\n" UPGRADE NUMBER WIRE_KEY "\r\n", 101, "Upgrade: websocket\r\n"},
        {"GET /rpc HTTP/1.1\r\nHost: h\r\n" UPGRADE NUMBER WIRE_KEY "\r\n", 101, "Accept: s3pPL"},
        {WS
         "Host: h\r\nUpgrade: foo, WebSocket\r\nConnection: keep-alive, upgrade\r\n" NUMBER WIRE_KEY
         "\r\n",
         101, "Connection: Upgrade\r\n"},
        {WS "Host: h\r\nSec-WebSocket-Protocol: mcp, x\r\n" UPGRADE NUMBER WIRE_KEY "\r\n", 101,
         "Sec-WebSocket-Protocol: mcp\r\n"},
        {WS "Host: h\r\nUpgrade: websocket\r\n" NUMBER WIRE_KEY "\r\n", 426, "Upgrade: websocket"},
        {WS "Host: h\r\nConnection: Upgrade\r\n" NUMBER WIRE_KEY "\r\n", 426, "Upgrade: websocket"},
        {WS "Host: h\r\nConnection: Upgrade\r\nUpgrade: websockets\r\n" NUMBER WIRE_KEY "\r\n", 426,
         "Upgrade: websocket\r\n"},
        {WS "Host: h\r\n" UPGRADE WIRE_KEY "\r\n", 426, "Sec-WebSocket-Version: 13\r\n"},
        {WS "Host: h\r\n" UPGRADE "Sec-WebSocket-Version: 8\r\n" WIRE_KEY "\r\n", 426,
         "Sec-WebSocket-Version: 13\r\n"},
        {WS "Host: h\r\n" UPGRADE NUMBER NUMBER WIRE_KEY "\r\n", 426,
         "Sec-WebSocket-Version: 13\r\n"},
        {WS "Host: h\r\n" UPGRADE NUMBER "\r\n", 400, "Sec-WebSocket-Key"},
        {WS "Host: h\r\n" UPGRADE NUMBER WIRE_KEY WIRE_KEY "\r\n", 400, "Sec-WebSocket-Key"},
        {WS "Host: h\r\n" UPGRADE NUMBER "Sec-WebSocket-Key: AAAA\r\n\r\n", 400,
         "Sec-WebSocket-Key"},
        {WS "Host: h\r\n" UPGRADE NUMBER "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=*\r\n\r\n", 400,
         "Sec-WebSocket-Key"},
        {"POST /ws HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n" UPGRADE NUMBER WIRE_KEY "\r\n",
         400, "GET"},
        {WS "Host: h\r\nContent-Length: 1\r\n" UPGRADE NUMBER WIRE_KEY "\r\n ", 400, "GET"},
        {"GET /ws HTTP/1.0\r\nHost: h\r\n" UPGRADE NUMBER WIRE_KEY "\r\n", 426,
         "Upgrade: websocket"},
    };
    struct live s;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--hosts h --auth none"), 0);
    int before = live_descriptors(&s);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct wire w;
        struct reply r;
        int status = status_with(&s, rows[i].head, &r, &w);
        if (status != rows[i].status ||
            !(has(r.head, rows[i].contains) || has(r.body, rows[i].contains)))
            TEST_FAIL("row %zu: status %d, want %d with %s", i, status, rows[i].status,
                      rows[i].contains);
        bool kept = status != 101 && !reply_closes(&r);
        if (!is_final(&w, &r, rows[i].head))
            TEST_FAIL("row %zu: the connection is still open", i);
        else if (kept && !wire_lives(&w, &s))
            TEST_FAIL("row %zu: it is no longer HTTP", i);
        wire_close(&w);
    }
    CHECK(live_settles(&s, before));
    CHECK_INT(live_stop(&s), 0);
}
