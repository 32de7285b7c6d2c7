/* The functions of the core that a protocol on top of it needs: notice of closed peers and
 * cancelled calls, flags that depend on the params, detailed errors, progress, and a peer for
 * several threads. */
#include "peer_fixture.h"

#include "mcp/mcp.h"

struct event_counts {
    int cancelled, eof, gone, done;
};

static void on_cancel(void *arg)
{
    ((struct event_counts *)arg)->cancelled++;
}

static void cancel(struct server_fixture *t, const char *id)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    fumi_cancel(&t->c.peer, fumi_parse(&a, fumi_str(id), &e));
    fumi_arena_done(&a);
}

TEST(on_cancel_runs_when_a_pending_call_is_cancelled)
{
    struct server_fixture t;
    struct event_counts news = {0};
    server_fixture_open(&t);
    send_text(&t.c, CALL("defer", "1"));
    send_text(&t.c, CALL("defer", "2"));
    for (size_t i = 0; i < 2; i++)
        CHECK(fumi_on_cancel(fixture_pending(&t.fixture, i), on_cancel, &news));
    cancel(&t, "3");
    CHECK_INT(news.cancelled, 0);
    cancel(&t, "2");
    CHECK_INT(news.cancelled, 1);
    cancel(&t, "2");
    CHECK_INT(news.cancelled, 1);
    CHECK(!fumi_on_cancel(fixture_pending(&t.fixture, 1), on_cancel, &news));
    fumi_peer_close(&t.c.peer);
    CHECK_INT(news.cancelled, 2);
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    fumi_finish(fixture_pending(&t.fixture, 1), FUMI_OK);
    CHECK_STR(received(&t.c), "");
    server_fixture_done(&t);
}

TEST(on_cancel_does_not_run_for_a_finished_call)
{
    struct server_fixture t;
    struct event_counts news = {0};
    server_fixture_open(&t);
    send_text(&t.c, "[" CALL("defer", "1") "," CALL("defer", "2") "]");
    CHECK(fumi_on_cancel(fixture_pending(&t.fixture, 0), on_cancel, &news));
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    fumi_peer_close(&t.c.peer);
    CHECK_INT(news.cancelled, 0);
    fumi_finish(fixture_pending(&t.fixture, 1), FUMI_OK);
    server_fixture_done(&t);
}

/* Finishes the call in the callback itself. */
static void finish_it(void *arg)
{
    fumi_finish(arg, FUMI_OK);
}

TEST(on_cancel_may_finish_the_call)
{
    struct server_fixture t;
    server_fixture_open(&t);
    for (size_t i = 0; i < 4; i++) {
        send_text(&t.c, CALL("defer", "1"));
        struct fumi_call *call = fixture_pending(&t.fixture, i);
        CHECK(fumi_on_cancel(call, finish_it, call));
    }
    fumi_peer_close(&t.c.peer);
    CHECK_INT(t.c.replies, 4);
    CHECK_STR(received(&t.c), "");
    server_fixture_done(&t);
}

static void on_eof(struct fumi_peer *peer)
{
    ((struct event_counts *)peer->session)->eof++;
}

static void on_gone(struct fumi_peer *peer)
{
    ((struct event_counts *)peer->session)->gone++;
}

static void on_done(struct fumi_peer *peer)
{
    ((struct event_counts *)peer->session)->done++;
}

TEST(session_ops_run_when_the_peer_closes)
{
    static const struct fumi_session_ops ops = {on_eof, on_gone, on_done};
    struct server_fixture t;
    struct event_counts news = {0};
    server_fixture_open(&t);
    t.c.peer.session = &news;
    t.c.peer.ops = &ops;
    CHECK_STR(reply_to(&t.c, CALL("echo", "1")), OK("null", "1"));
    CHECK_INT(news.eof + news.gone + news.done, 0);
    fumi_peer_eof(&t.c.peer);
    CHECK_INT(news.eof, 1);
    fumi_peer_close(&t.c.peer);
    CHECK_INT(news.gone, 1);
    CHECK_INT(news.done, 0);
    server_fixture_done(&t);
    CHECK_INT(news.done, 1);
}

TEST(session_ops_may_be_null)
{
    static const struct fumi_session_ops ops = {NULL, NULL, NULL};
    struct server_fixture t;
    struct event_counts news = {0};
    server_fixture_open(&t);
    CHECK(fumi_peer_attach(&t.c.peer, &news, &ops));
    fumi_peer_eof(&t.c.peer);
    fumi_peer_close(&t.c.peer);
    server_fixture_done(&t);
}

static void *call_often(void *arg)
{
    for (int i = 0; i < 200; i++)
        send_text(arg, CALL("read", "1"));
    return NULL;
}

TEST(a_shared_peer_can_be_used_by_several_threads)
{
    struct server_fixture t;
    pthread_t threads[3];
    server_fixture_open_pool(&t, 3);
    fumi_peer_share(&t.c.peer);
    for (size_t i = 0; i < FUMI_COUNT(threads); i++)
        CHECK_INT(pthread_create(&threads[i], NULL, call_often, &t.c), 0);
    for (size_t i = 0; i < FUMI_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    wait_replies(&t.c, 600);
    CHECK_INT(fixture_runs(&t.fixture), 600);
    server_fixture_done(&t);
}

TEST(id_none_omits_an_id_of_null)
{
    struct server_fixture t;
    server_fixture_open(&t);
    fumi_peer_set_lost_id(&t.c.peer, FUMI_ID_NONE);
    CHECK_STR(reply_to(&t.c, "7"),
              "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":"
              "\"Invalid Request\",\"data\":\"a message must be an object or an "
              "array\"}}");
    CHECK_STR(reply_to(&t.c, CALL("none", "null")),
              "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32601,\"message\":\"Method not found\","
              "\"data\":\"none\"}}");
    CHECK_STR(reply_to(&t.c, CALL("none", "0")),
              BAD("\"code\":-32601,\"message\":\"Method not found\",\"data\":\"none\"", "0"));
    server_fixture_done(&t);
}

TEST(id_none_recovers_the_id_of_invalid_json)
{
    static const struct {
        const char *message, *id;
    } rows[] = {
        {"{\"jsonrpc\":\"2.0\",\"params\":{\"text\":\"\\ud800\"},\"id\":7}", "7"},
        {"{\"id\" : \"a b\" ,\"params\":{\"id\":1,\"x\":\"\\udead \\\" }\"}}", "\"a b\""},
        {"{\"id\":-1,", "-1"},
        {"{\"id\":\"\\u0061\",", NULL},
        {"{\"id\":-,", NULL},
        {"{\"id\":1,\"id\":2,", NULL},
        {"{\"params\":{\"id\":1},", NULL},
        {"[{\"id\":1,", NULL},
        {"{\"id\":\"a", NULL},
        {"{\"id\"", NULL},
        {"", NULL},
    };
    struct server_fixture t;
    server_fixture_open(&t);
    fumi_peer_set_lost_id(&t.c.peer, FUMI_ID_NONE);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_arena a = {0};
        struct fumi_str got = reply_to(&t.c, rows[i].message);
        const struct fumi_val *id = fumi_get(fumi_parse(&a, got, &(struct fumi_err){0}), "id");
        bool same = rows[i].id ? id && fumi_eq(fumi_raw(id), fumi_str(rows[i].id)) : !id;
        if (!same)
            TEST_FAIL("row %zu: %.*s", i, FUMI_ARG(got));
        fumi_arena_done(&a);
    }
    fumi_peer_set_lost_id(&t.c.peer, FUMI_ID_NULL);
    CHECK(memmem(reply_to(&t.c, "{\"id\":1,").p, 200, "\"id\":null", 9));
    server_fixture_done(&t);
}

struct varying {
    struct fumi_dynamic_flags varying;
    struct manual_executor manual_executor;
    size_t n; /* of the executor's tasks when the method ran */
};

static unsigned flags_for(void *self, const struct fumi_method *m, const struct fumi_val *params)
{
    (void)self;
    return !strcmp(m->name, "varies") && fumi_get(params, "slow") ? FUMI_BLOCKING : 0;
}

static enum fumi_ret run_fail(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    (void)result;
    fumi_progress(call, 1, 2, FUMI_STR("half"));
    if (fumi_wants_progress(call))
        return fumi_fail(call, FUMI_INTERNAL_ERROR, "secret");
    return fumi_fail(call, FUMI_INVALID_PARAMS, "x is not %d", 1);
}

static const struct fumi_method varying_methods[] = {
    {"varies", "", &whole_shape, &whole_shape, run_echo, FUMI_DYNAMIC_FLAGS},
    {"frank", "", &whole_shape, &whole_shape, run_fail, FUMI_PLAIN_ERRORS},
    {"plain", "", &whole_shape, &whole_shape, run_fail, 0},
};

TEST(flags_may_depend_on_the_params)
{
    struct varying v = {.varying = {flags_for}};
    struct fumi_server *s = server_of(varying_methods, FUMI_COUNT(varying_methods), &v);
    struct caller c;
    caller_open(&c, s);
    fumi_server_executor(s, manual_submit, &v.manual_executor);
    CHECK_STR(reply_to(&c, CALL_WITH("varies", "{}", "1")), OK("{}", "1"));
    CHECK_INT(v.manual_executor.n, 0);
    clear_received(&c);
    send_text(&c, CALL_WITH("varies", "{\"slow\":1}", "2"));
    CHECK_INT(v.manual_executor.n, 1);
    CHECK_STR(received(&c), "");
    manual_run(&v.manual_executor);
    CHECK_STR(received(&c), OK("{\"slow\":1}", "2"));
    clear_received(&c);
    send_text(&c, "[" CALL("varies", "3") "," CALL_WITH("varies", "{\"slow\":1}", "4") "]");
    CHECK_INT(v.manual_executor.n, 1);
    manual_run(&v.manual_executor);
    CHECK_STR(received(&c), "[" OK("null", "3") "," OK("{\"slow\":1}", "4") "]");
    caller_done(&c);
    fumi_server_free(s);
}

TEST(plain_errors_have_the_sentence_as_message)
{
    struct varying v = {.varying = {flags_for}};
    struct fumi_server *s = server_of(varying_methods, FUMI_COUNT(varying_methods), &v);
    struct caller c;
    caller_open(&c, s);
    CHECK_STR(reply_to(&c, CALL("frank", "1")),
              BAD("\"code\":-32602,\"message\":\"x is not 1\"", "1"));
    CHECK_STR(reply_to(&c, CALL("plain", "1")),
              BAD("\"code\":-32602,\"message\":\"Invalid params\",\"data\":\"x is not 1\"", "1"));
    CHECK_STR(reply_to(&c, "[" CALL("frank", "1") "," CALL("none", "2") ",3]"),
              "[" BAD("\"code\":-32602,\"message\":\"x is not 1\"", "1") "," BAD(
                  "\"code\":-32601,\"message\":\"Method not found\",\"data\":\"none\"",
                  "2") "," BAD("\"code\":-32600,\"message\":\"Invalid Request\",\"data\":"
                               "\"a request must be an object\"",
                               "null") "]");
    caller_done(&c);
    fumi_server_free(s);
}

struct seen_progress {
    double done, total;
    char message[16];
};

static void on_progress(struct fumi_call *call, double done, double total, struct fumi_str message)
{
    struct seen_progress *h = call->progress_arg;
    h->done = done;
    h->total = total;
    snprintf(h->message, sizeof(h->message), "%.*s", FUMI_ARG(message));
}

static enum fumi_ret want_progress(void *self, struct fumi_call *call)
{
    call->progress = on_progress;
    call->progress_arg = self;
    return FUMI_OK;
}

TEST(progress_is_passed_to_the_callback)
{
    struct varying v = {.varying = {flags_for}};
    struct seen_progress h = {0};
    struct fumi_server *s = server_of(varying_methods, FUMI_COUNT(varying_methods), &v);
    struct fumi_processor p = {.name = "wants", .before = want_progress, .self = &h};
    static const struct fumi_log quiet = {.level = FUMI_SILENT};
    struct caller c;
    struct fumi_err e;
    fumi_server_log(s, &quiet);
    CHECK_INT(fumi_server_use(s, &p, &e), 0);
    caller_open(&c, s);
    CHECK_STR(reply_to(&c, CALL("frank", "1")), INTERNAL("1"));
    CHECK(h.done == 1 && h.total == 2);
    CHECK_STR(fumi_str(h.message), "half");
    caller_done(&c);
    fumi_server_free(s);
}

static void ignore_push(struct fumi_peer *peer, struct fumi_buf *message)
{
    (void)peer, (void)message;
}

#define INITIALIZE(id)                                                                             \
    CALL_WITH("initialize",                                                                        \
              "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"roots\":{}}}", id)
#define SUBSCRIBE(how, id) CALL_WITH("resources/" how, "{\"uri\":\"a:b\"}", id)
#define LEVEL(id)          CALL_WITH("logging/setLevel", "{\"level\":\"info\"}", id)

TEST(changes_of_a_session_do_not_overlap)
{
    static const struct fumi_resources none = {0};
    static const char *const messages[] = {
        INITIALIZE("1"),
        INITIALIZE("2"),
        NOTIFICATION("notifications/initialized"),
        SUBSCRIBE("subscribe", "3"),
        SUBSCRIBE("unsubscribe", "4"),
        LEVEL("5"),
    };
    struct fumi_mcp_options o = {.name = "test", .version = "1", .resources = &none};
    struct fumi_err e;
    struct server_fixture t;
    server_fixture_open_manual(&t);
    t.c.peer.push = ignore_push;
    struct fumi_mcp *mcp = fumi_mcp_new(t.server, &o, &e);
    CHECK(mcp);
    send_text(&t.c, CALL("write", "0"));
    for (size_t i = 0; i < FUMI_COUNT(messages); i++)
        send_text(&t.c, messages[i]);
    for (size_t i = 0; i < 1 + FUMI_COUNT(messages); i++) {
        CHECK_INT(t.manual_executor.n, 1);
        manual_run(&t.manual_executor);
    }
    CHECK_INT(replies(&t.c), 1 + FUMI_COUNT(messages));
    CHECK(strstr(t.c.text, "initialized already"));
    fumi_peer_close(&t.c.peer);
    server_fixture_done(&t);
    fumi_mcp_free(mcp);
}
