/* Contexts that filters attach to requests: calls see them, and they are freed after the last
 * answer, whatever happens to request, call and connection. */
#include "test.h"
#include "who_fixture.h"

#define CALL(m, id)  "{\"jsonrpc\":\"2.0\",\"method\":\"" m "\",\"id\":" id "}"
#define OK(name, id) "{\"jsonrpc\":\"2.0\",\"result\":\"" name "\",\"id\":" id "}"
#define USER(name)   "X-User: " name "\r\n"

static bool post(struct wire *w, const struct who *s, const char *message, const char *more)
{
    return wire_post(w, &s->live, fumi_str(message), more);
}

/* Two users, and one without a name, in one write on one connection. */
TEST(pipelined_requests_of_two_users_do_not_mix)
{
    struct who s;
    struct wire w;
    struct fumi_buf all = {0};
    who_start(&s);
    wire_tcp(&w, &s.live);
    for (int i = 0; i < 20; i++) {
        post_put(&all, &s.live, FUMI_STR(CALL("whoami", "1")), USER("alice"));
        post_put(&all, &s.live, FUMI_STR(CALL("soon", "2")), USER("bob"));
        post_put(&all, &s.live, FUMI_STR("[" CALL("soon", "3") "," CALL("whoami", "4") "]"), "");
    }
    CHECK(wire_put(&w, fumi_buf_str(&all)));
    for (int i = 0; i < 20; i++) {
        CHECK_STR(wire_reply(&w, false).body, OK("alice", "1"));
        CHECK_STR(wire_reply(&w, false).body, OK("bob", "2"));
        CHECK_STR(wire_reply(&w, false).body, "[" OK("nobody", "3") "," OK("nobody", "4") "]");
    }
    CHECK(reaches(&s.counts->freed, 40)); /* though the connection is still open */
    wire_close(&w);
    fumi_buf_done(&all);
    CHECK_INT(who_stop(&s), 0);
}

TEST(a_pending_call_keeps_its_context)
{
    struct who s;
    struct wire w;
    who_start(&s);
    wire_tcp(&w, &s.live);
    CHECK(post(&w, &s, CALL("later", "1"), USER("alice")));
    CHECK(reaches(&s.counts->parked, 1));
    CHECK_INT(s.counts->freed, 0);
    sem_post(&s.counts->go);
    CHECK_STR(wire_reply(&w, false).body, OK("alice", "1"));
    CHECK(reaches(&s.counts->freed, 1));
    wire_close(&w);
    CHECK_INT(who_stop(&s), 0);
}

/* The client disconnects: the call is cancelled and finished without an answer. */
TEST(a_client_that_leaves_ends_its_context)
{
    struct who s;
    struct wire w;
    who_start(&s);
    wire_tcp(&w, &s.live);
    CHECK(post(&w, &s, CALL("later", "1"), USER("alice")));
    CHECK(reaches(&s.counts->parked, 1));
    wire_reset(&w);
    CHECK(reaches(&s.counts->freed, 1));
    CHECK_INT(who_stop(&s), 0);
}

/* The answers of alice and bob arrive on the same connection while her method still runs. */
TEST(a_late_call_keeps_its_context)
{
    struct who s;
    struct wire w;
    who_start(&s);
    wire_tcp(&w, &s.live);
    CHECK(post(&w, &s, CALL("slow", "1"), USER("alice")));
    CHECK(has(wire_reply(&w, false).body, "timeout"));
    CHECK(reaches(&s.counts->parked, 1));
    CHECK(post(&w, &s, CALL("whoami", "2"), USER("bob")));
    CHECK_STR(wire_reply(&w, false).body, OK("bob", "2"));
    CHECK(reaches(&s.counts->freed, 1)); /* bob's */
    sem_post(&s.counts->go);
    CHECK(reaches(&s.counts->late, 1));
    CHECK(reaches(&s.counts->freed, 2));
    /* The connection is closed before the method ends. */
    CHECK(post(&w, &s, CALL("slow", "3"), USER("carol")));
    CHECK(has(wire_reply(&w, false).body, "timeout"));
    wire_close(&w);
    CHECK(reaches(&s.counts->parked, 2));
    CHECK_INT(s.counts->freed, 2);
    sem_post(&s.counts->go);
    CHECK(reaches(&s.counts->freed, 3));
    CHECK_INT(s.counts->late, 2);
    CHECK_INT(who_stop(&s), 0);
}

#define HEAD "POST /rpc HTTP/1.1\r\nHost: localhost\r\n" USER("alice")

/* Requests that never become calls. */
TEST(refused_requests_end_their_context)
{
    static const struct {
        const char *bytes;
        int status; /* 0: the client leaves instead */
    } rows[] = {
        {HEAD "X-Refuse: 1\r\nContent-Length: 0\r\n\r\n", 403},
        {HEAD "X-Later: 1\r\nContent-Length: 0\r\n\r\n", 403},
        {HEAD "\r\n", 411},
        {HEAD "Content-Type: text/html\r\nContent-Length: 2\r\n\r\n{}", 415},
        {HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
        {HEAD "Transfer-Encoding: chunked\r\n\r\nfffffff\r\n", 413},
        {HEAD "Content-Length: 5\r\n\r\nnope!", 200},
        {"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n" USER("alice") "\r\n", 404},
        {"PUT /rpc HTTP/1.1\r\nHost: localhost\r\n" USER("alice") "\r\n", 405},
        {"OPTIONS /rpc HTTP/1.1\r\nHost: localhost\r\n" USER("alice") "\r\n", 200},
        {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" USER("alice") "\r\n", 200},
        {"GET /ws HTTP/1.1\r\nHost: localhost\r\n" USER("alice") "\r\n", 426},
        {"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: "
         "upgrade\r\n" USER("alice") "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n",
         400},
        {HEAD "Content-Length: 5\r\n\r\nno", 0},
        {HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nno", 0},
    };
    struct who s;
    who_start(&s);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct wire w;
        wire_unix(&w, &s.live);
        wire_put(&w, fumi_str(rows[i].bytes));
        if (rows[i].status && wire_reply(&w, false).status != rows[i].status)
            TEST_FAIL("%s: not %d", rows[i].bytes, rows[i].status);
        if (!rows[i].status)
            reaches(&s.counts->made, (int)i + 1);
        wire_close(&w);
        if (!reaches(&s.counts->freed, (int)i + 1))
            TEST_FAIL("%s: the context stays", rows[i].bytes);
    }
    CHECK_INT(who_stop(&s), 0);
}

TEST(a_request_has_one_context)
{
    struct who s;
    struct wire w;
    who_start(&s);
    wire_tcp(&w, &s.live);
    CHECK(post(&w, &s, CALL("whoami", "1"), USER("alice") "X-Twice: 1\r\n"));
    CHECK_STR(wire_reply(&w, false).body, OK("alice", "1"));
    CHECK_INT(s.counts->twice, 1);
    wire_close(&w);
    CHECK_INT(who_stop(&s), 0);
}

static void send_text(struct wire *w, const char *message)
{
    wire_frame(w, FIN | TEXT, fumi_str(message));
}

TEST(the_context_of_an_upgrade_belongs_to_its_connection)
{
    struct who s;
    struct wire w;
    who_start(&s);
    wire_tcp(&w, &s.live);
    CHECK_INT(wire_upgrade(&w, &s.live, USER("alice")).status, 101);
    for (int i = 0; i < 3; i++) {
        send_text(&w, CALL("whoami", "1"));
        CHECK_STR(wire_read_frame(&w).payload, OK("alice", "1"));
        send_text(&w, "[" CALL("soon", "2") "," CALL("whoami", "3") "]");
        CHECK_STR(wire_read_frame(&w).payload, "[" OK("alice", "2") "," OK("alice", "3") "]");
    }
    send_text(&w, CALL("slow", "4"));
    CHECK(has(wire_read_frame(&w).payload, "timeout"));
    send_text(&w, CALL("later", "5"));
    CHECK(reaches(&s.counts->parked, 2));
    CHECK_INT(s.counts->freed, 0);
    wire_reset(&w); /* `later` is cancelled; `slow` does not check */
    CHECK_INT(s.counts->freed, 0);
    sem_post(&s.counts->go);
    sem_post(&s.counts->go); /* in case `later` took the first one before it was cancelled */
    CHECK(reaches(&s.counts->freed, 1));
    CHECK_INT(s.counts->late, 1);
    CHECK_INT(who_stop(&s), 0);
}

TEST(lines_have_no_context)
{
    struct who s;
    struct wire w;
    who_start(&s);
    wire_unix(&w, &s.live);
    CHECK(wire_put(&w, FUMI_STR(CALL("whoami", "1") "\n")));
    CHECK_STR(wire_until(&w, "\n"), OK("nobody", "1") "\n");
    wire_close(&w);
    CHECK_INT(who_stop(&s), 0);
}

TEST(a_route_sees_the_context_until_it_answers)
{
    struct who s;
    struct wire w, gone;
    who_start(&s);
    wire_unix(&w, &s.live);
    const struct fumi_str get = FUMI_STR(
        "GET /mine HTTP/1.1\r\nHost: localhost\r\n" USER("alice") "\r\n");
    CHECK(wire_put(&w, get));
    wire_unix(&gone, &s.live);
    CHECK(wire_put(&gone, get));
    CHECK(reaches(&s.counts->parked, 2));
    wire_reset(&gone);
    CHECK_INT(s.counts->freed, 0);
    sem_post(&s.counts->go);
    sem_post(&s.counts->go);
    CHECK_STR(wire_reply(&w, false).body, "alice");
    CHECK(reaches(&s.counts->freed, 2));
    wire_close(&w);
    CHECK_INT(who_stop(&s), 0);
}

#define ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define META                                                                                       \
    "\"_meta\":{\"traceparent\":\"00-" ID                                                          \
    "-00f067aa0ba902b7-01\",\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","           \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MCP(version)                                                                               \
    "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: " version "\r\n"
#define TOOL(meta)                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"whoami\""      \
    ",\"arguments\":{}" meta "}}"

static struct reply post_mcp(struct wire *w, const char *body, const char *more)
{
    char head[1024];
    int n = snprintf(head, sizeof(head),
                     "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n%s\r\n%s",
                     strlen(body), more, body);
    wire_put(w, (struct fumi_str){head, (size_t)n});
    return wire_reply(w, false);
}

TEST(tools_see_the_context_of_their_request)
{
    struct who s;
    struct wire w;
    char fields[256];
    who_start(&s);
    wire_unix(&w, &s.live);
    const char *modern = MCP("2026-07-28") "Mcp-Method: tools/call\r\nMcp-Name: whoami\r\n";
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "bob" : "alice";
        snprintf(fields, sizeof(fields), "%sX-User: %s\r\n", modern, name);
        struct fumi_str answer = post_mcp(&w, TOOL("," META), fields).body;
        CHECK(has(answer, name));
        CHECK(has(answer, ID));
    }
    struct reply r = post_mcp(&w,
                              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                              "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                              "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
                              MCP("2025-06-18") USER("alice"));
    CHECK_INT(r.status, 200);
    struct fumi_str id = reply_field(&r, "Mcp-Session-Id");
    char session[64];
    CHECK(id.p);
    snprintf(session, sizeof(session), "%.*s", FUMI_ARG(id));
    /* Two users of one session: each request has its own context. */
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "bob" : "alice";
        snprintf(fields, sizeof(fields), MCP("2025-06-18") "Mcp-Session-Id: %s\r\nX-User: %s\r\n",
                 session, name);
        CHECK(has(post_mcp(&w, TOOL(""), fields).body, name));
    }
    CHECK(reaches(&s.counts->freed, 5));
    wire_close(&w);
    CHECK_INT(who_stop(&s), 0);
}

/* The server ends while calls are pending, over HTTP and WebSocket. */
TEST(shutdown_frees_all_contexts)
{
    struct who s;
    struct wire w, ws, idle;
    who_start_as(&s, (struct fumi_settings){.threads = 2, .drain = 200});
    wire_tcp(&w, &s.live);
    wire_tcp(&ws, &s.live);
    wire_tcp(&idle, &s.live);
    CHECK(post(&w, &s, CALL("later", "1"), USER("alice")));
    CHECK_INT(wire_upgrade(&ws, &s.live, USER("bob")).status, 101);
    CHECK_INT(wire_upgrade(&idle, &s.live, USER("carol")).status, 101);
    CHECK(reaches(&s.counts->made, 3));
    send_text(&ws, CALL("later", "2"));
    CHECK(reaches(&s.counts->parked, 2));
    CHECK_INT(who_stop(&s), 0);
    wire_close(&w);
    wire_close(&ws);
    wire_close(&idle);
}

/* Connections are closed while other threads finish their calls. */
static void *storm(void *arg)
{
    const struct who *s = arg;
    for (int i = 0; i < 60; i++) {
        struct wire w;
        struct fumi_buf all = {0};
        wire_tcp(&w, &s->live);
        if (i % 3 == 0) {
            wire_upgrade(&w, &s->live, USER("carol"));
            for (int j = 0; j < 8; j++)
                frame_put(&all, FIN | TEXT, FUMI_STR(CALL("soon", "1")));
        } else {
            post_put(&all, &s->live, FUMI_STR(CALL("soon", "1")), USER("alice"));
            post_put(&all, &s->live, FUMI_STR("[" CALL("soon", "2") "," CALL("soon", "3") "]"),
                     USER("bob"));
        }
        wire_put(&w, fumi_buf_str(&all));
        if (i % 2)
            wire_more(&w); /* data has arrived */
        fumi_buf_done(&all);
        wire_reset(&w);
    }
    return NULL;
}

TEST(contexts_are_freed_under_load)
{
    struct who s;
    pthread_t threads[3];
    who_start(&s);
    for (size_t i = 0; i < FUMI_COUNT(threads); i++)
        if (pthread_create(&threads[i], NULL, storm, &s))
            abort();
    for (size_t i = 0; i < FUMI_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    CHECK(s.counts->made > 0);
    CHECK_INT(who_stop(&s), 0);
}

#define TRACE(more) "traceparent: 00-" ID "-00f067aa0ba902b7-01\r\n" more

TEST(the_trace_of_a_request_is_in_its_head)
{
    static const struct {
        const char *fields, *want;
    } rows[] = {
        {"", OK("none", "1")},
        {TRACE(""), OK(ID " -", "1")},
        {"TraceParent:  00-" ID "-00f067aa0ba902b7-01 \r\n", OK(ID " -", "1")},
        {TRACE("tracestate: a=1\r\n"), OK(ID " a=1", "1")},
        {TRACE("tracestate: a=1\r\nAccept: */*\r\nTracestate: b=2\r\ntracestate:\r\n"),
         OK(ID " a=1,b=2", "1")},
        {TRACE("tracestate: a\r\n"), OK(ID " -", "1")},
        {TRACE(TRACE("")), OK("none", "1")},
        {"tracestate: a=1\r\n", OK("none", "1")},
        {"traceparent: 00-" ID "-0000000000000000-01\r\n", OK("none", "1")},
        {TRACE("X-User: alice\r\n"), OK(ID " -", "1")},
    };
    struct who s;
    struct wire w;
    who_start(&s);
    wire_tcp(&w, &s.live);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        post(&w, &s, CALL("trace", "1"), rows[i].fields);
        struct fumi_str got = wire_reply(&w, false).body;
        if (!fumi_eq(got, fumi_str(rows[i].want)))
            TEST_FAIL("%s:   got %.*s\n  want %s", rows[i].fields, FUMI_ARG(got), rows[i].want);
    }
    CHECK_INT(wire_upgrade(&w, &s.live, TRACE("")).status, 101); /* on the same connection */
    for (int i = 0; i < 2; i++) {
        send_text(&w, CALL("trace", "1"));
        CHECK_STR(wire_read_frame(&w).payload, OK(ID " -", "1"));
    }
    wire_close(&w);
    CHECK_INT(who_stop(&s), 0);
}

static struct fumi_rpc_connection *reach(const struct who *s, const char *scheme)
{
    char url[64];
    struct fumi_err e;
    snprintf(url, sizeof(url), "%s://127.0.0.1:%u", scheme, s->live.port);
    struct fumi_rpc_connection *l = fumi_rpc_connection_open(url, NULL, &e);
    if (!l) {
        fprintf(stderr, "%s: %s\n", url, e.text);
        abort();
    }
    return l;
}

static struct fumi_str traced(struct fumi_rpc_connection *l, struct fumi_arena *a)
{
    struct fumi_answer answer;
    struct fumi_err e;
    if (fumi_rpc_connection_call(l, a, "trace", (struct fumi_json){{0}}, 0, &answer, &e))
        return fumi_fmt(a, "%s", e.text);
    return answer.result.text;
}

#define OTHER  "0af7651916cd43dd8448eb211c80319c"
#define PARENT "00-" ID "-00f067aa0ba902b7-01"

TEST(the_client_passes_a_trace_on)
{
    struct who s;
    struct fumi_arena a = {0};
    struct fumi_err e;
    struct fumi_answer first, second;
    who_start(&s);
    struct fumi_rpc_connection *l = reach(&s, "http");
    CHECK_STR(traced(l, &a), "\"none\"");
    CHECK_INT(fumi_rpc_connection_trace(l, PARENT, "a=1,b=2", &e), 0);
    CHECK_STR(traced(l, &a), "\"" ID " a=1,b=2\"");
    CHECK_STR(traced(l, &a), "\"" ID " a=1,b=2\"");
    /* A message keeps the trace that it was sent with while it waits for the message before it. */
    struct fumi_json none = {{0}};
    int64_t one = fumi_rpc_connection_begin(l, "trace", none, &e);
    CHECK_INT(fumi_rpc_connection_send(l, false, &e), 0);
    CHECK_INT(fumi_rpc_connection_trace(l, "00-" OTHER "-00f067aa0ba902b7-00", NULL, &e), 0);
    int64_t two = fumi_rpc_connection_begin(l, "trace", none, &e);
    CHECK_INT(fumi_rpc_connection_send(l, false, &e), 0);
    CHECK_INT(fumi_rpc_connection_await(l, &a, two, 0, &second, &e), 0);
    CHECK_INT(fumi_rpc_connection_await(l, &a, one, 0, &first, &e), 0);
    CHECK_STR(first.result.text, "\"" ID " a=1,b=2\"");
    CHECK_STR(second.result.text, "\"" OTHER " -\"");
    /* Invalid values are ignored. */
    CHECK_INT(fumi_rpc_connection_trace(l, PARENT "-", NULL, &e), -1);
    CHECK_STR(fumi_str(e.text), "\"" PARENT "-\" is not a valid traceparent");
    CHECK_INT(fumi_rpc_connection_trace(l, "cc-" ID "-00f067aa0ba902b7-01-\r\nX: y", NULL, &e), -1);
    CHECK_INT(fumi_rpc_connection_trace(l, PARENT, "a=1\r\nX: y", &e), -1);
    CHECK_STR(traced(l, &a), "\"" OTHER " -\"");
    CHECK_INT(fumi_rpc_connection_trace(l, NULL, NULL, &e), 0);
    CHECK_STR(traced(l, &a), "\"none\"");
    fumi_rpc_connection_close(l);
    l = reach(
        &s,
        "ws"); /* all messages share one upgrade request, so none can have its own header field */
    CHECK_INT(fumi_rpc_connection_trace(l, PARENT, NULL, &e), 0);
    CHECK_STR(traced(l, &a), "\"none\"");
    fumi_rpc_connection_close(l);
    fumi_arena_done(&a);
    CHECK_INT(who_stop(&s), 0);
}
