/* The client with Content-Length headers: against scripts, and against a server that is started. */
#include "test.h"

#include "net/rpc_connection.h"
#include "net/stdio.h"
#include "rpc_connection_peer.h"

enum { LIMIT = 60 };

#define HEAD(n)  "Content-Length: " #n "\r\n\r\n"
#define ANSWER   "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":7}" /* 35 bytes */
#define FRAMED   HEAD(35) ANSWER
#define ADDITION "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"

static const struct {
    struct fumi_str in;
    const char *want; /* the result, or a part of the error text */
} answers[] = {
    {FUMI_STR(FRAMED), "7"},
    {FUMI_STR(ADDITION FRAMED), "7"},
    {FUMI_STR("content-length:\t35\r\n\r\n" ANSWER), "7"},
    {FUMI_STR(HEAD(36) "\n" ANSWER), "7"},
    {FUMI_STR(HEAD(0) FRAMED), "7"},
    {FUMI_STR("Content-Type: x\r\n\r\n"), "the header has no Content-Length"},
    {FUMI_STR("Content-Length: 1\r\n" FRAMED), "two Content-Length fields"},
    {FUMI_STR("Content-Length: -35\r\n\r\n" ANSWER), "must be a number"},
    {FUMI_STR(ANSWER "\r\n"), "a header line must be"},
    {FUMI_STR(HEAD(999999999999999)), "has more than 60 bytes"},
    {FUMI_STR(HEAD(35) "{"), "has closed the connection"},
    {FUMI_STR(HEAD(35)), "has closed the connection"},
    {FUMI_STR("Content-Len"), "has closed the connection"},
};

static void expect_answer(size_t row, enum action how)
{
    struct step steps[] = {{MEET, {0}}, {REQUEST, {0}}, {how, answers[row].in}, {BREAK, {0}}, {0}};
    struct script script = {.steps = steps};
    struct fumi_rpc_connection_options o = {
        .framing = FUMI_FRAMING_HEADERS, .limit = LIMIT, .tries = -1};
    struct fumi_arena a = {0};
    struct fumi_answer got = {0};
    struct fumi_err e = {0};
    script_unix(&script, "unix:");
    struct fumi_rpc_connection *l = fumi_rpc_connection_open(script.url, &o, &e);
    int rc = l ? fumi_rpc_connection_call(l, &a, "m", (struct fumi_json){{0}}, 10000, &got, &e)
               : -1;
    bool fine = rc ? strstr(e.text, answers[row].want) != NULL
                   : fumi_eq(got.result.text, fumi_str(answers[row].want));
    if (!fine)
        TEST_FAIL("row %zu: %.*s%s", row, FUMI_ARG(got.result.text), rc ? e.text : "");
    fumi_rpc_connection_close(l);
    script_end(&script);
    if (!script.got.n || !memmem(script.got.p, script.got.n, HEAD(37) "{", 23))
        TEST_FAIL("sent: %.*s", FUMI_ARG(fumi_buf_str(&script.got)));
    script_done(&script);
    fumi_arena_done(&a);
}

TEST(framed_answers_come_out_as_the_table_says)
{
    for (size_t i = 0; i < FUMI_COUNT(answers); i++) {
        expect_answer(i, SAY);
        expect_answer(i, DRIP);
    }
}

/* A message that is too long is skipped, and the connection continues after it. */
TEST(a_long_message_is_skipped)
{
    static const char tens[] = "0123456789012345678901234567890123456789012345678901234567890";
    struct fumi_buf text = {0};
    fumi_buf_add(&text, HEAD(61), strlen(HEAD(61)));
    fumi_buf_add(&text, tens, 61);
    fumi_buf_add(&text, FRAMED, strlen(FRAMED));
    char *id = memmem(text.p, text.n, "\"id\":1", 6);
    id[5] = '2';
    struct step steps[] = {{MEET, {0}},
                           {REQUEST, {0}},
                           {SAY, {text.p, 70}},
                           {REQUEST, {0}},
                           {SAY, {text.p + 70, text.n - 70}},
                           {HOLD, {0}},
                           {0}};
    struct script script = {.steps = steps};
    struct fumi_rpc_connection_options o = {
        .framing = FUMI_FRAMING_HEADERS, .limit = LIMIT, .tries = -1};
    struct fumi_arena a = {0};
    struct fumi_answer got = {0};
    struct fumi_err e = {0};
    script_unix(&script, "unix:");
    struct fumi_rpc_connection *l = fumi_rpc_connection_open(script.url, &o, &e);
    int first = fumi_rpc_connection_call(l, &a, "m", (struct fumi_json){{0}}, 10000, &got, &e);
    int second = fumi_rpc_connection_call(l, &a, "m", (struct fumi_json){{0}}, 10000, &got, &e);
    fumi_rpc_connection_close(l);
    script_end(&script);
    script_done(&script);
    fumi_buf_done(&text);
    CHECK_INT(first, -1);
    CHECK_INT(second, 0);
    CHECK_STR(got.result.text, "7");
    fumi_arena_done(&a);
}

/* The test program as the server, started with FRAMED_CHILD in its environment. */

static enum fumi_ret ask(struct fumi_call *call, const void *params, void *result)
{
    struct fumi_json answer;
    (void)params, (void)result;
    fumi_notify(call, "asking", NULL, NULL);
    if (fumi_request(call, "what", (struct fumi_json){{0}}, &answer) != FUMI_OK)
        return FUMI_FAIL;
    fumi_put_json(fumi_result(call), answer);
    return FUMI_OK;
}

static enum fumi_ret say_what(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    fumi_put_str(fumi_result(call), FUMI_STR("this"));
    return FUMI_OK;
}

static const struct fumi_method asks = {"ask", "Asks.", NULL, NULL, ask, FUMI_BLOCKING};
static const struct fumi_method what = {"what", "Says what.", NULL, NULL, say_what, 0};

__attribute__((constructor)) static void be_child(void)
{
    struct fumi_stdio_options o = {.framing = FUMI_FRAMING_HEADERS};
    struct fumi_err e;
    if (!getenv("FRAMED_CHILD"))
        return;
    struct fumi_server *s = fumi_server_new("child", "1");
    int rc = fumi_server_add(s, NULL, &asks, 1, NULL, &e) || fumi_serve_stdio(s, &o, &e) < 0;
    fumi_server_free(s);
    _exit(rc);
}

static void count(void *arg, struct fumi_str message)
{
    (void)message;
    ++*(int *)arg;
}

TEST(a_spawned_server_sends_requests_back)
{
    char self[] = "/proc/self/exe", *argv[] = {self, NULL};
    struct fumi_arena a = {0};
    struct fumi_answer got = {0};
    struct fumi_err e = {0};
    int told = 0, rc;
    struct fumi_server *s = fumi_server_new("client", "1");
    fumi_server_add(s, NULL, &what, 1, NULL, &e);
    struct fumi_rpc_connection_options o = {
        .framing = FUMI_FRAMING_HEADERS, .server = s, .notified = count, .arg = &told};
    setenv("FRAMED_CHILD", "1", 1);
    struct fumi_rpc_connection *l = fumi_rpc_connection_spawn(argv, &o, &e);
    unsetenv("FRAMED_CHILD");
    CHECK(l);
    rc = fumi_rpc_connection_call(l, &a, "ask", (struct fumi_json){{0}}, 20000, &got, &e);
    fumi_rpc_connection_close(l);
    fumi_server_free(s);
    if (rc)
        TEST_FAIL("%s", e.text);
    CHECK_STR(got.result.text, "\"this\"");
    CHECK_INT(told, 1);
    fumi_arena_done(&a);
}
