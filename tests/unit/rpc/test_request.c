#include "base/clock.h"
#include "peer_fixture.h"
#include "rpc/processors.h"

/* The outcome of a fumi_request. */
struct outcome {
    enum fumi_ret ret;
    int code;
    char text[200], data[200];
};

struct request_fixture {
    struct fumi_server *server;
    struct pool *pool;
    struct caller c;
    pthread_mutex_t lock;
    struct outcome last;
};

static void keep_outcome(struct request_fixture *b, const struct fumi_call *call, enum fumi_ret ret)
{
    struct outcome o = {.ret = ret, .code = call->err.code};
    memcpy(o.text, call->err.text, sizeof(o.text));
    snprintf(o.data, sizeof(o.data), "%.*s", FUMI_ARG(call->err.data));
    pthread_mutex_lock(&b->lock);
    b->last = o;
    pthread_mutex_unlock(&b->lock);
}

static enum fumi_ret send_request(struct fumi_call *call, const void *params, void *result)
{
    const struct fumi_val *given = ((const struct whole *)params)->value;
    struct fumi_json question = {{0}};
    if (given)
        question = fumi_compact(call->arena, given);
    enum fumi_ret ret = fumi_request(call, "question", question, &((struct text *)result)->value);
    keep_outcome(call->self, call, ret);
    return ret;
}

static enum fumi_ret send_two_requests(struct fumi_call *call, const void *params, void *result)
{
    struct fumi_json one, two;
    (void)params;
    if (fumi_request(call, "first", (struct fumi_json){{0}}, &one) ||
        fumi_request(call, "second", (struct fumi_json){{0}}, &two))
        return FUMI_FAIL;
    ((struct text *)result)->value.text = fumi_fmt(call->arena, "[%.*s,%.*s]", FUMI_ARG(one.text),
                                                   FUMI_ARG(two.text));
    return FUMI_OK;
}

static enum fumi_ret invoke_request(struct fumi_call *call, const void *params, void *result)
{
    const struct whole *in = params;
    (void)result;
    return fumi_invoke(call, FUMI_STR("request"), in->value, false, fumi_result(call), NULL);
}

/* The request fails, but the call does not. */
static enum fumi_ret request_anyway(struct fumi_call *call, const void *params, void *result)
{
    struct fumi_json unused;
    (void)params;
    ((struct count *)result)->n = fumi_request(call, "x", (struct fumi_json){{0}}, &unused);
    return FUMI_OK;
}

/* Sends the request after its deadline, as if a processor had set that deadline. */
static enum fumi_ret request_late(struct fumi_call *call, const void *params, void *result)
{
    call->deadline = fumi_ticks();
    return send_request(call, params, result);
}

static const struct fumi_method methods[] = {
    {"request", "", &whole_shape, &text_shape, send_request, FUMI_BLOCKING},
    {"request_read", "", &whole_shape, &text_shape, send_request, FUMI_BLOCKING | FUMI_READ_ONLY},
    {"request_late", "", &whole_shape, &text_shape, request_late, FUMI_BLOCKING},
    {"request_two", "", NULL, &text_shape, send_two_requests, FUMI_BLOCKING},
    {"request_short", "", &whole_shape, &text_shape, send_request, 0},
    {"request_anyway", "", NULL, &count_shape, request_anyway, FUMI_BLOCKING},
    {"invoke_request", "", &whole_shape, NULL, invoke_request, FUMI_BLOCKING},
    {"echo", "", &whole_shape, &whole_shape, run_echo, FUMI_READ_ONLY},
    {"read", "", &whole_shape, &whole_shape, run_echo, FUMI_BLOCKING | FUMI_READ_ONLY},
};

/* Limits of fumi_request: with these a request without an answer cannot hang a test. */
enum { PATIENT = 50000, SHORT = 20 };

static void request_fixture_open(struct request_fixture *b, int threads, int64_t ms)
{
    *b = (struct request_fixture){.lock = PTHREAD_MUTEX_INITIALIZER};
    b->server = server_of(methods, FUMI_COUNT(methods), b);
    fumi_server_limits(b->server, (struct fumi_limits){.request = ms});
    caller_open(&b->c, b->server);
    if (threads)
        b->pool = pool_new(threads, NULL);
    if (b->pool)
        fumi_server_executor(b->server, pool_submit, b->pool);
}

static void request_fixture_done(struct request_fixture *b)
{
    if (b->pool)
        pool_free(b->pool);
    fumi_server_free(b->server); /* first, because its timer may still use the peer */
    caller_done(&b->c);
    pthread_mutex_destroy(&b->lock);
}

static struct outcome outcome_of(struct request_fixture *b)
{
    pthread_mutex_lock(&b->lock);
    struct outcome o = b->last;
    pthread_mutex_unlock(&b->lock);
    return o;
}

/* A member of the request in line n, as it is written; empty: there is none. */
static void member_of(struct caller *c, size_t n, const char *member, char *out, size_t room)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    out[0] = 0;
    pthread_mutex_lock(&c->lock);
    while (c->lines <= n)
        await(&c->came, &c->lock);
    const char *p = c->text, *end = c->text + c->n;
    for (; n; n--)
        p = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    const struct fumi_val *v = fumi_parse(&a, (struct fumi_str){p, (size_t)(stop - p)}, &e);
    if (fumi_get(v, "method") && fumi_get(v, member))
        snprintf(out, room, "%.*s", FUMI_ARG(fumi_raw(fumi_get(v, member))));
    pthread_mutex_unlock(&c->lock);
    fumi_arena_done(&a);
}

static void request_id(struct caller *c, size_t n, char *out, size_t room)
{
    member_of(c, n, "id", out, room);
}

/* Sends a message in which $ is replaced by the id. */
static void send_with_id(struct caller *c, const char *message, const char *id)
{
    struct fumi_buf b = {0};
    for (; *message; message++)
        if (*message == '$')
            putf(&b, "%s", id);
        else
            fumi_buf_put(&b, *message);
    caller_send(c, fumi_buf_str(&b));
    fumi_buf_done(&b);
}

#define RESULT(r) "{\"jsonrpc\":\"2.0\",\"result\":" r ",\"id\":$}"
#define ERROR(e)  "{\"jsonrpc\":\"2.0\",\"error\":" e ",\"id\":$}"

/* Sends a call, answers the request that the call sends with `answer`, and returns the answer to
 * the call. */
static struct fumi_str call_and_answer(struct request_fixture *b, const char *call,
                                       const char *answer)
{
    char id[100];
    clear_received(&b->c);
    send_text(&b->c, call);
    request_id(&b->c, 0, id, sizeof(id));
    send_with_id(&b->c, answer, id);
    wait_replies(&b->c, 2);
    struct fumi_str all = received(&b->c);
    const char *line = memchr(all.p, '\n', all.n);
    if (!line)
        return (struct fumi_str){"", 0};
    return (struct fumi_str){line + 1, all.n - (size_t)(line + 1 - all.p)};
}

static bool came(struct caller *c, const char *line)
{
    struct fumi_str all = received(c);
    return memmem(all.p, all.n, line, strlen(line)) != NULL;
}

TEST(a_request_to_the_peer_is_answered)
{
    struct request_fixture b;
    request_fixture_open(&b, 1, PATIENT);
    CHECK_STR(
        call_and_answer(&b, CALL_WITH("request", "[1]", "7"), RESULT("{\"a\":[1.50,\"\\u65e5\"]}")),
        OK("{\"a\":[1.50,\"\\u65e5\"]}", "7"));
    CHECK_STR(call_and_answer(&b, CALL_WITH("request", "[1]", "8"), RESULT("null")),
              OK("null", "8"));
    CHECK_STR(call_and_answer(&b, CALL_WITH("request_read", "[1]", "9"), RESULT("\"x\"")),
              OK("\"x\"", "9"));
    CHECK_INT(outcome_of(&b).ret, FUMI_OK);
    CHECK_STR(call_and_answer(&b, CALL_WITH("invoke_request", "[1]", "9"), RESULT("5")),
              OK("5", "9"));
    request_fixture_done(&b);
}

TEST(a_request_to_the_peer_is_a_request_of_ours)
{
    static const struct {
        const char *call, *params;
    } rows[] = {{CALL_WITH("request", "{\"k\": [1, \"\\u0061\"]}", "1"), "{\"k\":[1,\"\\u0061\"]}"},
                {CALL_WITH("request", "[]", "1"), "[]"},
                {CALL("request", "1"), NULL}};
    struct request_fixture b;
    struct fumi_err e;
    request_fixture_open(&b, 1, PATIENT);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_arena a = {0};
        call_and_answer(&b, rows[i].call, RESULT("1"));
        struct fumi_str all = received(&b.c);
        struct fumi_str line = {all.p, (size_t)((char *)memchr(all.p, '\n', all.n) - all.p)};
        const struct fumi_val *v = fumi_parse(&a, line, &e);
        CHECK(fumi_text_is(fumi_get(v, "jsonrpc"), FUMI_STR("2.0")));
        CHECK(fumi_text_is(fumi_get(v, "method"), FUMI_STR("question")));
        CHECK(fumi_is(fumi_get(v, "id"), FUMI_STRING) || fumi_is(fumi_get(v, "id"), FUMI_NUMBER));
        CHECK_INT(fumi_size(v), rows[i].params ? 4 : 3);
        if (rows[i].params)
            CHECK_STR(fumi_compact(&a, fumi_get(v, "params")).text, rows[i].params);
        fumi_arena_done(&a);
    }
    request_fixture_done(&b);
}

TEST(a_request_to_the_peer_is_refused)
{
    struct request_fixture b;
    request_fixture_open(&b, 1, PATIENT);
    CHECK_STR(call_and_answer(
                  &b, CALL("request", "1"),
                  ERROR("{\"code\":42,\"message\":\"no \\\"way\\\"\",\"data\":{\"a\": [1]}}")),
              BAD("\"code\":42,\"message\":\"no \\\"way\\\"\",\"data\":{\"a\":[1]}", "1"));
    struct outcome o = outcome_of(&b);
    CHECK_INT(o.ret, FUMI_FAIL);
    CHECK_INT(o.code, 42);
    CHECK_STR(fumi_str(o.text), "no \"way\"");
    CHECK_STR(fumi_str(o.data), "{\"a\":[1]}");
    CHECK_STR(call_and_answer(&b, CALL("request", "1"), ERROR("{\"code\":-1,\"message\":\"\"}")),
              BAD("\"code\":-1,\"message\":\"\"", "1"));
    CHECK_STR(
        call_and_answer(&b, CALL("request_anyway", "1"), ERROR("{\"code\":1,\"message\":\"x\"}")),
        OK("1", "1"));
    request_fixture_done(&b);
}

/* An invalid response is not taken for a valid one. */
TEST(a_request_to_the_peer_with_a_broken_answer_fails)
{
    static const char *const broken[] = {
        ERROR("7"),
        ERROR("null"),
        ERROR("{}"),
        ERROR("{\"code\":\"x\"}"),
        ERROR("{\"code\":1.5}"),
        ERROR("{\"code\":99999999999,\"message\":\"large\"}"),
        ERROR("{\"code\":4294967296,\"message\":\"0 in 32 bits\"}"),
        "{\"result\":1,\"id\":$}",
        "{\"jsonrpc\":\"2.0\",\"result\":1,\"result\":2,\"id\":$}",
        "{\"jsonrpc\":\"2.0\",\"result\":1,\"error\":{\"code\":1,\"message\":\"x\"},\"id\":$}",
    };
    struct request_fixture b;
    request_fixture_open(&b, 1, 200);
    for (size_t i = 0; i < FUMI_COUNT(broken); i++) {
        struct fumi_str got = call_and_answer(&b, CALL("request", "1"), broken[i]);
        struct outcome o = outcome_of(&b);
        if (o.ret != FUMI_FAIL || o.code == 0)
            TEST_FAIL("%s: %.*s", broken[i], FUMI_ARG(got));
    }
    request_fixture_done(&b);
}

TEST(a_request_to_the_peer_without_an_answer_ends)
{
    struct request_fixture b;
    char id[100];
    request_fixture_open(&b, 1, SHORT);
    send_text(&b.c, CALL("request", "1"));
    wait_replies(&b.c, 1);
    struct outcome o = outcome_of(&b);
    CHECK_INT(o.ret, FUMI_FAIL);
    CHECK_INT(o.code, FUMI_LIMIT);
    CHECK(o.text[0]);
    CHECK_INT(b.c.code, FUMI_LIMIT);
    request_id(&b.c, 0, id, sizeof(id));
    clear_received(&b.c);
    send_with_id(&b.c, RESULT("\"late\""), id);
    CHECK_INT(replies(&b.c), 1);
    CHECK_STR(received(&b.c), "");
    CHECK_STR(reply_to(&b.c, CALL("read", "2")), OK("null", "2"));
    request_fixture_done(&b);
}

TEST(a_request_to_the_peer_outside_the_executor_fails_at_once)
{
    struct request_fixture b;
    request_fixture_open(&b, 0, PATIENT);
    reply_to(&b.c, CALL("request", "1"));
    CHECK_INT(b.c.notifications, 0);
    CHECK_INT(b.c.lines, 1);
    CHECK(b.c.code != 0);
    CHECK_INT(outcome_of(&b).ret, FUMI_FAIL);
    CHECK_STR(reply_to(&b.c, CALL("request_anyway", "1")), OK("1", "1"));
    request_fixture_done(&b);
    request_fixture_open(&b, 1, PATIENT);
    reply_to(&b.c, CALL("request_short", "1"));
    CHECK_INT(b.c.notifications, 0);
    CHECK(b.c.code != 0);
    request_fixture_done(&b);
}

TEST(unknown_answers_change_nothing)
{
    static const char *const strange[] = {
        "{\"jsonrpc\":\"2.0\",\"result\":\"no\",\"id\":\"nobody's\"}",
        "{\"jsonrpc\":\"2.0\",\"result\":\"no\",\"id\":999999}",
        "{\"jsonrpc\":\"2.0\",\"result\":\"no\",\"id\":null}",
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"x\"},\"id\":null}",
        "{\"jsonrpc\":\"2.0\",\"result\":\"no\",\"id\":1.5}",
        "{\"jsonrpc\":\"2.0\",\"result\":\"no\"}",
        "{\"jsonrpc\":\"2.0\",\"result\":\"no\",\"id\":[1]}",
        "{\"jsonrpc\":\"1.0\",\"result\":\"no\",\"id\":7}",
    };
    struct request_fixture b;
    struct caller other;
    char id[100];
    request_fixture_open(&b, 1, PATIENT);
    caller_open(&other, b.server);
    send_text(&b.c, CALL("request", "1"));
    request_id(&b.c, 0, id, sizeof(id));
    for (size_t i = 0; i < FUMI_COUNT(strange); i++)
        send_text(&b.c, strange[i]);
    send_with_id(&other, RESULT("\"somebody else\""), id);
    send_with_id(&b.c, RESULT("\"yes\""), id);
    send_with_id(&b.c, RESULT("\"again\""), id);
    wait_replies(&b.c, FUMI_COUNT(strange) + 3);
    CHECK(came(&b.c, OK("\"yes\"", "1")));
    CHECK_INT(outcome_of(&b).ret, FUMI_OK);
    caller_done(&other);
    request_fixture_done(&b);
}

TEST(two_requests_one_after_the_other)
{
    struct request_fixture b;
    char one[100], two[100];
    request_fixture_open(&b, 1, PATIENT);
    send_text(&b.c, CALL("request_two", "1"));
    request_id(&b.c, 0, one, sizeof(one));
    send_with_id(&b.c, RESULT("\"a\""), one);
    request_id(&b.c, 1, two, sizeof(two));
    CHECK(strcmp(one, two));
    send_with_id(&b.c, RESULT("\"wrong\""), one);
    send_with_id(&b.c, RESULT("\"b\""), two);
    wait_replies(&b.c, 4);
    CHECK(came(&b.c, OK("[\"a\",\"b\"]", "1")));
    request_fixture_done(&b);
}

/* Four workers send requests at the same time; each receives its own answer. */
TEST(requests_to_the_peer_may_be_open_side_by_side)
{
    enum { N = 4 };
    struct request_fixture b;
    char ids[N][100], params[N][100], message[200];
    request_fixture_open(&b, N, PATIENT);
    for (int i = 0; i < N; i++) {
        snprintf(message, sizeof(message), CALL_WITH("request_read", "[%d]", "%d"), i, i);
        send_text(&b.c, message);
    }
    for (size_t i = 0; i < N; i++) {
        member_of(&b.c, i, "id", ids[i], sizeof(ids[i]));
        member_of(&b.c, i, "params", params[i], sizeof(params[i]));
    }
    for (size_t i = N; i-- > 0;) {
        snprintf(message, sizeof(message), RESULT("%s"), params[i]);
        send_with_id(&b.c, message, ids[i]);
    }
    wait_replies(&b.c, 2 * N);
    for (int i = 0; i < N; i++) {
        snprintf(message, sizeof(message), OK("[%d]", "%d"), i, i);
        CHECK(came(&b.c, message));
    }
    request_fixture_done(&b);
}

/* The call continues on its worker while the rest of the batch is answered: either may be first. */
TEST(an_answer_may_come_in_a_batch)
{
    struct request_fixture b;
    request_fixture_open(&b, 1, PATIENT);
    CHECK_STR(call_and_answer(&b, CALL("request", "1"), "[" RESULT("1") "]"), OK("1", "1"));
    call_and_answer(&b, CALL("request", "1"), "[" ERROR("{\"code\":3,\"message\":\"x\"}") ",7]");
    CHECK_INT(b.c.lines, 3);
    CHECK(came(&b.c, "[" BAD("\"code\":-32600,\"message\":\"Invalid Request\",\"data\":"
                             "\"a request must be an object\"",
                             "null") "]"));
    CHECK(came(&b.c, BAD("\"code\":3,\"message\":\"x\"", "1")));
    request_fixture_done(&b);
}

/* Later calls wait for the worker that waits for an answer, but the answer itself does not. */
TEST(an_answer_beside_a_request_is_not_held_back)
{
    struct request_fixture b;
    request_fixture_open(&b, 1, 20000);
    call_and_answer(&b, CALL("request", "1"), "[" CALL("read", "2") "," RESULT("\"yes\"") "]");
    CHECK_INT(outcome_of(&b).ret, FUMI_OK);
    request_fixture_done(&b);
}

TEST(a_request_to_the_peer_in_a_batch)
{
    struct request_fixture b;
    request_fixture_open(&b, 1, PATIENT);
    CHECK_STR(call_and_answer(
                  &b, "[" CALL("echo", "1") "," CALL("request", "2") "," CALL("echo", "3") "]",
                  RESULT("\"!\"")),
              "[" OK("null", "1") "," OK("\"!\"", "2") "," OK("null", "3") "]");
    request_fixture_done(&b);
}

TEST(a_request_to_the_peer_ends_when_the_peer_has_said_all)
{
    struct request_fixture b;
    request_fixture_open(&b, 1, PATIENT);
    send_text(&b.c, CALL("request", "1"));
    wait_notifications(&b.c, 1);
    fumi_peer_eof(&b.c.peer);
    wait_replies(&b.c, 1);
    CHECK_INT(outcome_of(&b).ret, FUMI_FAIL);
    CHECK(outcome_of(&b).code != 0);
    CHECK(b.c.code != 0); /* the call itself is answered */
    request_fixture_done(&b);
}

TEST(a_request_to_the_peer_after_the_peer_has_said_all_fails)
{
    struct request_fixture b;
    request_fixture_open(&b, 1, PATIENT);
    send_text(&b.c, CALL("request", "1"));
    send_text(&b.c, CALL("request", "2"));
    wait_notifications(&b.c, 1);
    fumi_peer_eof(&b.c.peer);
    wait_replies(&b.c, 2);
    CHECK_INT(outcome_of(&b).ret, FUMI_FAIL);
    request_fixture_done(&b);
}

TEST(a_request_to_the_peer_ends_when_the_peer_goes)
{
    struct request_fixture b;
    request_fixture_open(&b, 2, PATIENT);
    send_text(&b.c, CALL("request_read", "1"));
    send_text(&b.c, CALL("request_read", "2"));
    send_text(&b.c, CALL("request", "3"));
    wait_notifications(&b.c, 2);
    size_t lines = 2;
    fumi_peer_close(&b.c.peer);
    wait_replies(&b.c, 3);
    CHECK_INT(b.c.lines, lines);
    CHECK_INT(outcome_of(&b).ret, FUMI_FAIL);
    request_fixture_done(&b);
}

TEST(a_request_to_the_peer_ends_when_its_call_is_cancelled)
{
    struct request_fixture b;
    request_fixture_open(&b, 1, PATIENT);
    send_text(&b.c, CALL("request", "1"));
    wait_notifications(&b.c, 1);
    send_text(&b.c, "{\"jsonrpc\":\"2.0\",\"method\":\"rpc.cancel\",\"params\":[1]}");
    wait_replies(&b.c, 2);
    CHECK_INT(b.c.lines, 1);
    CHECK_INT(outcome_of(&b).ret, FUMI_FAIL);
    CHECK_STR(reply_to(&b.c, CALL("read", "2")), OK("null", "2"));
    request_fixture_done(&b);
}

/* Answers, timeouts and disconnection at the same time. */
TEST(requests_to_the_peer_end_once_whatever_happens)
{
    for (int i = 0; i < 200; i++) {
        struct request_fixture b;
        char id[100];
        request_fixture_open(&b, 2, i % 3 ? PATIENT : 1);
        send_text(&b.c, CALL("request_read", "1"));
        send_text(&b.c, CALL("request_read", "2"));
        request_id(&b.c, 0, id, sizeof(id));
        send_with_id(&b.c, RESULT("1"), id);
        if (i % 2)
            fumi_peer_close(&b.c.peer);
        else
            fumi_peer_eof(&b.c.peer);
        wait_replies(&b.c, 3);
        request_fixture_done(&b);
    }
}

TEST(a_peer_that_takes_no_requests_gets_none)
{
    struct request_fixture b;
    request_fixture_open(&b, 1, PATIENT);
    b.c.peer.no_requests = true;
    CHECK_STR(reply_to(&b.c, CALL("request", "1")),
              BAD("\"code\":-32000,\"message\":\"Over test, the peer cannot answer the request "
                  "question\"",
                  "1"));
    CHECK_INT(outcome_of(&b).ret, FUMI_FAIL);
    CHECK_STR(reply_to(&b.c, CALL("request_anyway", "1")), OK("1", "1"));
    CHECK_INT(b.c.notifications, 0);
    request_fixture_done(&b);
}

/* The request waits at most until the deadline of the call, which is long before its own limit. */
TEST(a_request_to_the_peer_ends_with_the_time_of_its_call)
{
    static const struct fumi_time_limit limit = {SHORT};
    struct request_fixture b;
    struct fumi_err e;
    struct fumi_processor p = fumi_limit_time(&limit);
    request_fixture_open(&b, 1, 3600000);
    CHECK_INT(fumi_server_use(b.server, &p, &e), 0);
    reply_to(&b.c, CALL("request", "1"));
    CHECK(
        came(&b.c, BAD("\"code\":-32000,\"message\":\"timeout\",\"data\":\"the call did not end in "
                       "20 ms; its outcome is unknown, check it before you try again\"",
                       "1")));
    request_fixture_done(&b);
}

TEST(a_request_to_the_peer_is_not_put_when_there_is_no_time_left)
{
    struct request_fixture b;
    request_fixture_open(&b, 1, PATIENT);
    CHECK_STR(
        reply_to(&b.c, CALL("request_late", "2")),
        BAD("\"code\":-32000,\"message\":\"There is no time left to send the request question\"",
            "2"));
    CHECK_INT(b.c.notifications, 0);
    request_fixture_done(&b);
}
