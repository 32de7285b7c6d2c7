/* A client that answers requests from its peer with a server, and the callback `reconnected`. */
#include "test.h"

#include "net/rpc_connection.h"
#include "net/rpc_connection_parts.h"
#include "rpc_connection_cases.h"
#include "rpc_connection_fixture.h"

#include <semaphore.h>

#define ASKS(id, method) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\"}"
#define NOTIFIES(method) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\"}"

/* Test state, and what callbacks and methods recorded. */
struct side {
    struct script script;
    struct fumi_server *server;
    struct fumi_rpc_connection *l;
    struct fumi_arena a;
    struct fumi_answer answer;
    struct fumi_err e;
    struct fumi_buf record;
    int reconnects;
    /* a deferred call */
    pthread_t thread;
    sem_t may_finish;
    struct fumi_call *call;
    void *result;
    bool cancelled;
};

static void on_notification(void *arg, struct fumi_str message)
{
    struct side *s = arg;
    fumi_buf_add(&s->record, message.p, message.n);
    fumi_buf_put(&s->record, '\n');
    sem_post(&s->may_finish);
}

static enum fumi_ret five(struct fumi_call *call, const void *params, void *result)
{
    (void)call, (void)params;
    ((struct fixture_number *)result)->value = 5;
    return FUMI_OK;
}

static enum fumi_ret noted(struct fumi_call *call, const void *params, void *result)
{
    struct side *s = call->self;
    (void)params, (void)result;
    fumi_buf_add(&s->record, "noted\n", 6);
    return FUMI_OK;
}

/* Uses the connection, which is not allowed in a method. */
static enum fumi_ret uses_link(struct fumi_call *call, const void *params, void *result)
{
    struct side *s = call->self;
    const struct fumi_json none = {0};
    struct fumi_answer answer;
    struct fumi_str text;
    struct fumi_err e[6] = {0};
    (void)params, (void)result;
    int rc = fumi_rpc_connection_call(s->l, call->arena, "m", none, 0, &answer, &e[0]) +
             fumi_rpc_connection_notify(s->l, "m", none, &e[1]) +
             fumi_rpc_connection_send(s->l, false, &e[2]) +
             fumi_rpc_connection_await(s->l, call->arena, 1, 0, &answer, &e[3]) +
             fumi_rpc_connection_cancel(s->l, 1, &e[4]) +
             fumi_rpc_connection_text(s->l, call->arena, FUMI_STR("{}"), 0, &text, &e[5]);
    bool fine = rc == -6 && !fumi_rpc_connection_listen(s->l, 60000);
    for (int i = 0; i < 6; i++)
        fine = fine && strstr(e[i].text, "must not use that connection");
    return fine ? FUMI_OK : fumi_fail(call, 1, "the connection could be used");
}

static enum fumi_ret asks_back(struct fumi_call *call, const void *params, void *result)
{
    struct fumi_json answer;
    (void)params, (void)result;
    return fumi_request(call, "x", (struct fumi_json){0}, &answer);
}

static void *finish(void *arg)
{
    struct side *s = arg;
    sem_wait(&s->may_finish);
    ((struct fixture_number *)s->result)->value = 6;
    fumi_finish(s->call, FUMI_OK);
    return NULL;
}

static void on_cancel(void *arg)
{
    struct side *s = arg;
    s->cancelled = true;
    sem_post(&s->may_finish);
}

/* Answers from another thread, once the semaphore is posted. */
static enum fumi_ret later(struct fumi_call *call, const void *params, void *result)
{
    struct side *s = call->self;
    (void)params;
    s->call = call;
    s->result = result;
    if (!fumi_on_cancel(call, on_cancel, s) || pthread_create(&s->thread, NULL, finish, s))
        abort();
    return FUMI_PENDING;
}

static const struct fumi_method methods[] = {
    {"five", "", NULL, &fixture_number, five, FUMI_READ_ONLY},
    {"question", "", NULL, &fixture_number, five, FUMI_READ_ONLY},
    {"noted", "", NULL, NULL, noted, 0},
    {"uses_link", "", NULL, NULL, uses_link, 0},
    {"asks_back", "", NULL, NULL, asks_back, FUMI_BLOCKING},
    {"later", "", NULL, &fixture_number, later, FUMI_ASYNC},
};

static struct fumi_rpc_connection_options begin(struct side *s)
{
    *s = (struct side){.server = fumi_server_new("client", "1")};
    sem_init(&s->may_finish, 0, 0);
    if (fumi_server_add(s->server, NULL, methods, FUMI_COUNT(methods), s, &s->e))
        abort();
    return (struct fumi_rpc_connection_options){
        .server = s->server, .notified = on_notification, .arg = s};
}

static void open_script(struct side *s, const struct step *steps, const char *scheme,
                        const struct fumi_rpc_connection_options *o)
{
    s->script.steps = steps;
    if (strstr(scheme, "unix"))
        script_unix(&s->script, scheme);
    else
        script_tcp(&s->script, scheme);
    s->l = fumi_rpc_connection_open(s->script.url, o, &s->e);
}

static void end_script(struct side *s)
{
    fumi_rpc_connection_close(s->l);
    s->l = NULL;
    script_end(&s->script);
}

static void done(struct side *s)
{
    fumi_rpc_connection_close(s->l);
    if (fumi_server_busy(s->server))
        TEST_FAIL("a call is still open");
    fumi_server_free(s->server);
    script_done(&s->script);
    fumi_arena_done(&s->a);
    fumi_buf_done(&s->record);
    sem_destroy(&s->may_finish);
}

static struct fumi_str call(struct side *s, const char *method)
{
    struct fumi_json none = {0};
    if (!s->l || fumi_rpc_connection_call(s->l, &s->a, method, none, 0, &s->answer, &s->e))
        return fumi_fmt(&s->a, "!%s", s->e.text);
    return s->answer.ok ? s->answer.result.text : fumi_fmt(&s->a, "%d", s->answer.err.code);
}

/* What the peer sends before the answer, what it gets back, and what the client records. */
TEST(requests_from_the_peer_are_answered_during_a_call)
{
#define ANSWERED(id, what) "{\"jsonrpc\":\"2.0\"," what ",\"id\":" id "}"
    static const struct {
        struct fumi_str sends;
        const char *want, *record;
    } rows[] = {
        {SAYS(ASKS("\"q\"", "five") "\n"), ANSWERED("\"q\"", "\"result\":5"), ""},
        {SAYS(ASKS("1", "five") "\n"), ANSWERED("1", "\"result\":5"),
         ""}, /* the same id as our call */
        {SAYS(ASKS("2", "absent") "\n"), "\"code\":-32601", ""},
        {SAYS(ASKS("2", "uses_link") "\n"), ANSWERED("2", "\"result\":null"), ""},
        {SAYS(ASKS("2", "asks_back") "\n"), "\"code\":-32000", ""},
        {SAYS("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":5}\n"), "\"code\":-32600", ""},
        {SAYS("[" ASKS("1", "five") "," NOTIFIES("noted") "," ASKS("2", "five") "]\n"),
         "[" ANSWERED("1", "\"result\":5") "," ANSWERED("2", "\"result\":5") "]",
         NOTIFIES("noted") "\nnoted\n"},
        {SAYS("[{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":1}," ASKS("3", "five") "]\n"),
         ANSWERED("3", "\"result\":5"), ""},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        const struct step steps[] = {
            {MEET, {0}}, {LINE, {0}}, {SAY, rows[i].sends}, {LINE, {0}}, {SAY, SAYS(FIVE "\n")},
            {HOLD, {0}}, {0}};
        struct side s;
        struct fumi_rpc_connection_options o = begin(&s);
        open_script(&s, steps, "unix:", &o);
        struct fumi_str got = call(&s, "m");
        end_script(&s);
        if (!fumi_eq(got, FUMI_STR("5")) || !script_got(&s.script, rows[i].want) ||
            !fumi_eq(fumi_buf_str(&s.record), fumi_str(rows[i].record)))
            TEST_FAIL("%zu: %.*s\n  received %.*s\n  record %.*s", i, FUMI_ARG(got),
                      FUMI_ARG(fumi_buf_str(&s.script.got)), FUMI_ARG(fumi_buf_str(&s.record)));
        done(&s);
    }
}

/* An answer to our call and a request in one batch. */
TEST(a_batch_may_hold_an_answer_and_a_request)
{
    static const struct step steps[] = {
        {MEET, {0}}, {LINE, {0}}, {SAY, SAYS("[" FIVE "," ASKS("9", "five") "]\n")},
        {LINE, {0}}, {HOLD, {0}}, {0}};
    struct side s;
    struct fumi_rpc_connection_options o = begin(&s);
    open_script(&s, steps, "unix:", &o);
    CHECK_STR(call(&s, "m"), "5");
    end_script(&s);
    CHECK(script_got(&s.script, "\n" ANSWERED("9", "\"result\":5") "\n"));
    done(&s);
}

/* The script continues only once its request is answered, without another call. */
TEST(requests_from_the_peer_are_answered_while_listening)
{
    static const struct step steps[] = {{MEET, {0}},  {REQUEST, {0}},
                                        {SHAKE, {0}}, {TEXT, SAYS(ASKS("1", "five"))},
                                        {FRAME, {0}}, {TEXT, SAYS(NOTIFIES("noted"))},
                                        {FRAME, {0}}, {0}};
    struct side s;
    struct fumi_rpc_connection_options o = begin(&s);
    open_script(&s, steps, "ws://", &o);
    CHECK(s.l);
    while (!s.record.n)
        CHECK(fumi_rpc_connection_listen(s.l, 20000));
    end_script(&s);
    CHECK(!s.script.failed);
    CHECK(script_got(&s.script, "1:" ANSWERED("1", "\"result\":5") "\n"));
    CHECK_STR(fumi_buf_str(&s.record), NOTIFIES("noted") "\nnoted\n");
    done(&s);
}

TEST(requests_in_an_event_stream_are_answered_on_another_connection)
{
    static const struct step steps[] = {
        {MEET, {0}},
        {REQUEST, {0}},
        {SAY, SAYS(EVENTS "\r\ndata: " ASKS("\"q\"", "five") "\n\n")},
        {ASIDE, SAYS("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")},
        {SAY, SAYS("data: " FIVE "\n\n")},
        {0}};
    struct side s;
    struct fumi_rpc_connection_options o = begin(&s);
    open_script(&s, steps, "http://", &o);
    CHECK_STR(call(&s, "m"), "5");
    end_script(&s);
    CHECK(!s.script.failed);
    CHECK(script_got(&s.script, "\r\n\r\n" ANSWERED("\"q\"", "\"result\":5") "\n"));
    done(&s);
}

/* The method ends on another thread, after `notified` has released it. */
TEST(an_answer_may_come_later_from_another_thread)
{
    static const struct step steps[] = {
        {MEET, {0}}, {SAY, SAYS(ASKS("1", "later") "\n" NOTIFIES("go") "\n")},
        {LINE, {0}}, {SAY, SAYS(NOTIFIES("thanks") "\n")},
        {HOLD, {0}}, {0}};
    struct side s;
    struct fumi_rpc_connection_options o = begin(&s);
    open_script(&s, steps, "unix:", &o);
    CHECK(s.l);
    while (!s.record.n || !memmem(s.record.p, s.record.n, "thanks", 6))
        CHECK(fumi_rpc_connection_listen(s.l, 20000));
    pthread_join(s.thread, NULL);
    end_script(&s);
    CHECK(!s.script.failed);
    CHECK(script_got(&s.script, ANSWERED("1", "\"result\":6") "\n"));
    CHECK(!s.cancelled);
    done(&s);
}

/* The connection is lost or closed while a method is pending. */
TEST(pending_answers_are_cancelled_with_the_connection)
{
    static const struct step lost[] = {
        {MEET, {0}}, {SAY, SAYS(ASKS("1", "later") "\n")}, {BREAK, {0}}, {0}};
    static const struct step closed[] = {
        {MEET, {0}}, {SAY, SAYS(ASKS("1", "later") "\n")}, {HOLD, {0}}, {0}};
    for (int i = 0; i < 2; i++) {
        struct side s;
        struct fumi_rpc_connection_options o = begin(&s);
        open_script(&s, i ? closed : lost, "unix:", &o);
        CHECK(s.l);
        CHECK(fumi_rpc_connection_listen(s.l, 20000));
        if (!i)
            CHECK(!fumi_rpc_connection_listen(s.l, 20000));
        end_script(&s);
        pthread_join(s.thread, NULL);
        CHECK(s.cancelled);
        CHECK_INT(s.script.got.n, 0);
        done(&s);
    }
}

/* The method "ask" of the fixture fails with -32050 once its request has been answered. */
TEST(requests_from_a_real_server_are_answered)
{
    char *const argv[] = {(char *)"/proc/self/exe", NULL};
    char dir[] = "/tmp/fumi-link-XXXXXX", what[100], url[120];
    static const char *const schemes[] = {"unix:", "ws+unix:"};
    struct side s;
    struct fumi_rpc_connection_options o = begin(&s);
    CHECK(mkdtemp(dir));
    snprintf(what, sizeof(what), "serve:%s/s", dir);
    setenv("RPC_CONNECTION_CHILD", what, 1);
    s.l = fumi_rpc_connection_spawn(argv, &o, &s.e);
    unsetenv("RPC_CONNECTION_CHILD");
    CHECK_STR(call(&s, "ask"), "-32050");
    struct fumi_rpc_connection *child = s.l;
    for (size_t i = 0; i < FUMI_COUNT(schemes); i++) {
        snprintf(url, sizeof(url), "%s%s/s", schemes[i], dir);
        s.l = fumi_rpc_connection_open(url, &o, &s.e);
        CHECK_STR(call(&s, "ask"), "-32050");
        fumi_rpc_connection_close(s.l);
    }
    s.l = child;
    done(&s);
    rmdir(dir);
}

static void reconnected(void *arg, struct fumi_rpc_connection *l)
{
    struct side *s = arg;
    struct fumi_answer answer;
    struct fumi_err e = {0};
    s->reconnects++;
    int rc = fumi_rpc_connection_call(l, &s->a, "subscribe", (struct fumi_json){0}, 0, &answer, &e);
    fumi_buf_add(&s->record, rc ? "lost\n" : "again\n", rc ? 5 : 6);
}

#define RESULT(id) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":" #id "}"

/* Waits until the peer has closed the connection, which the client has not noticed yet. */
static bool is_lost(const struct side *s)
{
    struct pollfd end = {.fd = s->l ? s->l->fd : -1, .events = POLLIN};
    return poll(&end, 1, 20000) == 1;
}

TEST(reconnected_makes_calls_before_the_call_that_connects)
{
    static const struct step steps[] = {{MEET, {0}},
                                        {BREAK, {0}},
                                        {MEET, {0}},
                                        {LINE, {0}},
                                        {SAY, SAYS(RESULT(2) "\n")},
                                        {LINE, {0}},
                                        {SAY, SAYS(RESULT(1) "\n")},
                                        {HOLD, {0}},
                                        {0}};
    struct side s;
    struct fumi_rpc_connection_options o = begin(&s);
    o.reconnected = reconnected;
    open_script(&s, steps, "unix:", &o);
    CHECK(is_lost(&s));
    CHECK_STR(call(&s, "m"), "1");
    end_script(&s);
    CHECK(!s.script.failed);
    CHECK_INT(s.reconnects, 1);
    CHECK_STR(fumi_buf_str(&s.script.got),
              "{\"jsonrpc\":\"2.0\",\"method\":\"subscribe\",\"id\":2}\n"
              "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1}\n");
    done(&s);
}

/* The connection is lost during the callback, which is called again after the next attempt; without
 * attempts it is not. */
TEST(a_connection_lost_in_reconnected_is_a_failed_attempt)
{
    static const struct step twice[] = {{MEET, {0}},  {BREAK, {0}},
                                        {MEET, {0}},  {LINE, {0}},
                                        {BREAK, {0}}, {MEET, {0}},
                                        {LINE, {0}},  {SAY, SAYS(RESULT(3) "\n")},
                                        {LINE, {0}},  {SAY, SAYS(RESULT(1) "\n")},
                                        {HOLD, {0}},  {0}};
    static const struct step once[] = {{MEET, {0}}, {BREAK, {0}}, {MEET, {0}},
                                       {LINE, {0}}, {BREAK, {0}}, {0}};
    struct side s;
    struct fumi_rpc_connection_options o = begin(&s);
    o.reconnected = reconnected;
    open_script(&s, twice, "unix:", &o);
    CHECK(is_lost(&s));
    CHECK_STR(call(&s, "m"), "1");
    end_script(&s);
    CHECK(!s.script.failed);
    CHECK_STR(fumi_buf_str(&s.record), "lost\nagain\n");
    done(&s);

    o = begin(&s);
    o.reconnected = reconnected;
    o.tries = 1;
    open_script(&s, once, "unix:", &o);
    CHECK(is_lost(&s));
    struct fumi_str got = call(&s, "m");
    CHECK(got.n && strstr(got.p, "has closed the connection"));
    end_script(&s);
    CHECK_STR(fumi_buf_str(&s.record), "lost\n");
    done(&s);
}

TEST(with_reconnected_listening_reconnects)
{
    static const struct step steps[] = {{MEET, {0}},
                                        {REQUEST, {0}},
                                        {SHAKE, {0}},
                                        {BREAK, {0}},
                                        {MEET, {0}},
                                        {REQUEST, {0}},
                                        {SHAKE, {0}},
                                        {FRAME, {0}},
                                        {TEXT, SAYS(RESULT(1))},
                                        {TEXT, SAYS(NOTIFIES("news"))},
                                        {FRAME, {0}},
                                        {0}};
    struct side s;
    struct fumi_rpc_connection_options o = begin(&s);
    o.reconnected = reconnected;
    open_script(&s, steps, "ws://", &o);
    CHECK(s.l);
    CHECK(fumi_rpc_connection_listen(s.l, 20000));
    end_script(&s);
    CHECK(!s.script.failed);
    CHECK_STR(fumi_buf_str(&s.record), "again\n" NOTIFIES("news") "\n");
    done(&s);
}

/* A batch inside the callback, while the caller's batch waits for its connection. */
static void subscribe_twice(void *arg, struct fumi_rpc_connection *l)
{
    struct side *s = arg;
    struct fumi_answer answer;
    struct fumi_err e = {0};
    int64_t ids[2];
    for (int i = 0; i < 2; i++)
        ids[i] = fumi_rpc_connection_begin(l, "subscribe", (struct fumi_json){0}, &e);
    int rc = fumi_rpc_connection_send(l, true, &e);
    for (int i = 0; i < 2; i++)
        rc |= fumi_rpc_connection_await(l, &s->a, ids[i], 0, &answer, &e);
    /* The caller's calls cannot be used here. */
    rc |= !fumi_rpc_connection_await(l, &s->a, 1, 0, &answer, &e) ||
          !fumi_rpc_connection_cancel(l, 1, &e);
    fumi_buf_add(&s->record, rc ? "no" : "yes", rc ? 2 : 3);
}

TEST(a_batch_in_reconnected_does_not_send_that_of_the_caller)
{
    static const struct step steps[] = {{MEET, {0}},
                                        {BREAK, {0}},
                                        {MEET, {0}},
                                        {LINE, {0}},
                                        {SAY, SAYS("[" RESULT(3) "," RESULT(4) "]\n")},
                                        {LINE, {0}},
                                        {SAY, SAYS("[" RESULT(2) "," RESULT(1) "]\n")},
                                        {HOLD, {0}},
                                        {0}};
    struct side s;
    struct fumi_rpc_connection_options o = begin(&s);
    o.reconnected = subscribe_twice;
    open_script(&s, steps, "unix:", &o);
    CHECK(is_lost(&s));
    for (int64_t id = 1; id <= 2; id++)
        CHECK_INT(fumi_rpc_connection_begin(s.l, "m", (struct fumi_json){0}, &s.e), id);
    CHECK_INT(fumi_rpc_connection_send(s.l, true, &s.e), 0);
    for (int64_t id = 1; id <= 2; id++)
        CHECK_INT(fumi_rpc_connection_await(s.l, &s.a, id, 0, &s.answer, &s.e), 0);
    end_script(&s);
    CHECK(!s.script.failed);
    CHECK_STR(fumi_buf_str(&s.record), "yes");
    done(&s);
}
