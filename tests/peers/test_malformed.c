/* Sends each row of malformed_rows.h to a running server, whole and byte by byte, on a new
 * connection. The result is the statuses and what happens to the connection: "kept" if a further
 * request is answered and the last response did not announce a close, "close" if the response
 * announced it and the server closed. */
#include "malformed_rows.h"
#include "test.h"
#include "wire.h"

_Static_assert(sizeof(CALL) - 1 == 40, "LENGTH says so");

static void unfold(struct fumi_buf *to, const struct row *row)
{
    for (size_t i = 0; i < row->bytes.n; i++) {
        char byte = row->bytes.p[i];
        if (byte != '$' || !row->times)
            fumi_buf_put(to, byte);
        for (int n = byte == '$' ? row->times : 0; n > 0; n--)
            fumi_buf_add(to, row->unit, strlen(row->unit));
    }
}

static struct reply next_reply(struct wire *w, bool only_head)
{
    struct reply r = wire_reply(w, only_head);
    return r.status == 100 ? wire_reply(w, only_head) : r;
}

struct outcome {
    char text[128];
    bool closes; /* the last response announced a close */
    bool contains;
};

static void record(struct outcome *o, const struct reply *r, const char *contains)
{
    size_t n = strlen(o->text);
    snprintf(o->text + n, sizeof(o->text) - n, "%d ", r->status);
    o->closes = reply_closes(r);
    o->contains = !contains || has(r->head, contains) || has(r->body, contains);
}

/* Waits for the expected responses; then a further request shows what follows and whether the
 * connection is open. */
static void read_outcome(struct wire *w, const struct live *s, const struct row *row,
                         struct outcome *o)
{
    bool only_head = fumi_starts(row->bytes, FUMI_STR("HEAD ")), kept = false;
    struct reply r = {0};
    for (const char *p = row->want; *p >= '0' && *p <= '9'; p += 4) {
        r = next_reply(w, only_head);
        record(o, &r, row->contains);
    }
    wire_post(w, s, FUMI_STR(PROBE), "");
    wire_half_close(w);
    while ((r = next_reply(w, false)).status && !(kept = has(r.body, "probe")))
        record(o, &r, row->contains);
    const char *end = kept == o->closes ? "inconsistent" : kept ? "kept" : "close";
    size_t n = strlen(o->text);
    snprintf(o->text + n, sizeof(o->text) - n, "%s", wire_ends(w) ? end : "and more");
}

static void try_row(const struct live *s, const struct row *row, bool slowly)
{
    struct fumi_buf bytes = {0};
    struct outcome o = {0};
    struct wire w;
    unfold(&bytes, row);
    wire_tcp(&w, s);
    (slowly ? wire_put_slowly : wire_put)(&w, fumi_buf_str(&bytes));
    read_outcome(&w, s, row, &o);
    wire_close(&w);
    fumi_buf_done(&bytes);
    const char *way = slowly ? "byte by byte" : "whole";
    if (strcmp(o.text, row->want) != 0)
        TEST_FAIL("%s: got %s, want %s:\n%.*s", way, o.text, row->want, FUMI_ARG(row->bytes));
    else if (!o.contains)
        TEST_FAIL("%s: no \"%s\" in the answer to:\n%.*s", way, row->contains,
                  FUMI_ARG(row->bytes));
    if (!live_serves(s))
        TEST_FAIL("%s: no other client is served after:\n%.*s", way, FUMI_ARG(row->bytes));
}

static void try_rows(const struct row *rows, size_t n)
{
    struct live s;
    /* Byte by byte, a row may take long on a busy machine. */
    CHECK_INT(
        live_start(
            &s, SPEC_SERVER,
            "--hosts h --auth none --origins http://page --head-time 600000 --body-time 600000"),
        0);
    int before = live_descriptors(&s);
    for (size_t i = 0; i < n; i++) {
        try_row(&s, &rows[i], false);
        try_row(&s, &rows[i], true);
    }
    if (!live_settles(&s, before))
        TEST_FAIL("%d descriptors more than before", live_descriptors(&s) - before);
    CHECK_INT(live_stop(&s), 0);
}

TEST(lengths)
{
    try_rows(length_rows, FUMI_COUNT(length_rows));
}

TEST(codings_and_chunks)
{
    try_rows(coding_rows, FUMI_COUNT(coding_rows));
}

TEST(lines_and_fields)
{
    try_rows(line_rows, FUMI_COUNT(line_rows));
}

TEST(request_lines)
{
    try_rows(start_rows, FUMI_COUNT(start_rows));
}

TEST(paths_methods_and_fields)
{
    try_rows(routing_rows, FUMI_COUNT(routing_rows));
}

/* 100 Continue is sent if the body has not arrived yet, and only once. */
TEST(continues)
{
    struct live s;
    struct wire w;
    CHECK_INT(live_start(&s, SPEC_SERVER, NULL), 0);
    wire_tcp(&w, &s);
    wire_post(&w, &s, FUMI_STR(""), "");
    CHECK_INT(wire_reply(&w, false).status, 200);
    char head[256];
    int n = snprintf(head, sizeof(head),
                     "POST /rpc HTTP/1.1\r\nHost: localhost:%u\r\nExpect: 100-continue\r\n" LENGTH
                     "\r\n",
                     s.port);
    wire_put(&w, (struct fumi_str){head, (size_t)n});
    CHECK_INT(wire_reply(&w, false).status, 100);
    wire_put_slowly(&w, FUMI_STR(CALL));
    CHECK_INT(wire_reply(&w, false).status, 200);
    wire_half_close(&w);
    CHECK(wire_ends(&w));
    wire_close(&w);
    CHECK_INT(live_stop(&s), 0);
}

/* Requests after a slow call are answered after it. */
TEST(order)
{
    struct live s;
    struct wire w;
    CHECK_INT(live_start(&s, SPEC_SERVER, NULL), 0);
    wire_tcp(&w, &s);
    for (int i = 0; i < 50; i++) {
        char call[128];
        int n = snprintf(call, sizeof(call),
                         "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":[%d],\"id\":%d}",
                         i % 3 == 0   ? "later"
                         : i % 3 == 1 ? "slow_echo"
                                      : "echo",
                         i, i);
        wire_post(&w, &s, (struct fumi_str){call, (size_t)n}, "");
    }
    for (int i = 0; i < 50; i++) {
        char want[64];
        snprintf(want, sizeof(want), "{\"jsonrpc\":\"2.0\",\"result\":[%d],\"id\":%d}", i, i);
        struct reply r = wire_reply(&w, false);
        CHECK_INT(r.status, 200);
        CHECK_STR(r.body, want);
    }
    wire_close(&w);
    CHECK_INT(live_stop(&s), 0);
}

/* Requests of several kinds, with the response that each gets alone. The heads of the first three
 * are cached. */
static const struct {
    const char *target, *rest; /* the fields before and after Host */
    int status;
    const char *contains;
} kinds[] = {
    {"POST /rpc", LENGTH "\r\n" CALL, 200, "null"},
    {"POST /rpc", "X: y\r\n" LENGTH "\r\n" CALL, 200, "null"},
    {"POST /rpc", "Accept: text/event-stream\r\n" LENGTH "\r\n" CALL, 200, "null"},
    {"POST /rpc",
     "Transfer-Encoding: chunked\r\n\r\n"
     "28\r\n" CALL "\r\n0\r\n\r\n",
     200, "null"},
    {"POST /rpc", "Content-Type: text/plain\r\n" LENGTH "\r\n" CALL, 415, "Content-Type"},
    {"POST /none", LENGTH "\r\n" CALL, 404, "not found"},
    {"PUT /rpc", LENGTH "\r\n" CALL, 405, "not allowed"},
    {"GET /healthz", "\r\n", 200, ""},
    {"OPTIONS /rpc", "\r\n", 200, ""},
};

static void try_kind(struct wire *w, const struct live *s, size_t kind, bool slowly)
{
    char text[512];
    int n = snprintf(text, sizeof(text), "%s HTTP/1.1\r\nHost: localhost:%u\r\n%s",
                     kinds[kind].target, s->port, kinds[kind].rest);
    struct fumi_str bytes = {text, (size_t)n};
    if (!(slowly ? wire_put_slowly(w, bytes) : wire_put(w, bytes)))
        TEST_FAIL("kind %zu was not accepted", kind);
    struct reply r = wire_reply(w, false);
    bool right = !*kinds[kind].contains || has(r.body, kinds[kind].contains);
    if (r.status != kinds[kind].status || !right || reply_closes(&r))
        TEST_FAIL("kind %zu: %d %.*s", kind, r.status, FUMI_ARG(r.body));
}

/* The cached head of one request does not affect the next, on any connection; connections open and
 * close in any order. */
TEST(one_kind_after_the_other)
{
    struct live s;
    struct wire w[4];
    uint32_t dice = 1;
    CHECK_INT(live_start(&s, SPEC_SERVER, NULL), 0);
    for (size_t i = 0; i < FUMI_COUNT(w); i++)
        wire_tcp(&w[i], &s);
    for (int i = 0; i < 1500; i++) {
        dice = dice * 1664525 + 1013904223;
        struct wire *one = &w[dice >> 30];
        try_kind(one, &s, (dice >> 16 & 255) % FUMI_COUNT(kinds), (dice >> 8 & 63) == 0);
        if ((dice >> 24 & 15) == 0) {
            wire_close(one);
            wire_tcp(one, &s);
        }
    }
    for (size_t i = 0; i < FUMI_COUNT(w); i++)
        wire_close(&w[i]);
    CHECK_INT(live_stop(&s), 0);
}
