#include "exchange_fixture.h"
#include "json_fixture.h"

#define NO_OBJECT  INVALID("\"a request must be an object\"", "null")
#define NO_MESSAGE INVALID("\"a message must be an object or an array\"", "null")
#define NO_REQUEST                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"Invalid "                       \
    "Request\"},\"id\":null}"
#define VERSION(i) INVALID("\"jsonrpc must be 2.0\"", i)
#define ID_TYPE    INVALID("\"id must be a string, a number or null\"", "null")

TEST(requests_are_answered)
{
    PLAY(
        {CALL_WITH("echo", "[1,\"a\"]", "1"), OK("[1,\"a\"]", "1"), 0},
        {CALL_WITH("subtract", "[42,23]", "\"x\""), OK("19", "\"x\""), 0},
        {CALL_WITH("subtract", "{\"subtrahend\":23,\"minuend\":42}", "null"), OK("19", "null"), 0},
        {CALL("nothing", "1"), OK("null", "1"), 0},
        {CALL_WITH("nothing", "null", "1"), OK("null", "1"), 0},
        {CALL_WITH("nothing", "{}", "1"), OK("null", "1"), 0},
        {"{\"id\":1,\"method\":\"nothing\",\"jsonrpc\":\"2.0\",\"more\":[]}", OK("null", "1"), 0},
        {"\t\r\n {\"jsonrpc\" : \"2.0\" , \"method\":\"nothing\",\"id\":1 }\n", OK("null", "1"), 0},
        {"\xef\xbb\xbf" CALL("nothing", "1"), OK("null", "1"), 0},
        {"\xef\xbb\xbf [" CALL("nothing", "1") "]", "[" OK("null", "1") "]", 0},
        {CALL("other.whose", "1"), OK("\"mine\"", "1"), 0},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"\\u006eothing\",\"id\":1}", OK("null", "1"), 0});
}

TEST(invalid_json_is_a_parse_error)
{
    PLAY({"", PARSE("null"), -32700}, {" \n", PARSE("null"), -32700}, {"{", PARSE("null"), -32700},
         {"}", PARSE("null"), -32700}, {"nul", PARSE("null"), -32700},
         {"{'a':1}", PARSE("null"), -32700}, {"\xef\xbb\xbf", PARSE("null"), -32700},
         {"\xef\xbb\xbf\xef\xbb\xbf{}", PARSE("null"), -32700},
         {CALL("nothing", "1") CALL("nothing", "2"), PARSE("null"), -32700},
         {CALL("nothing", "01"), PARSE("null"), -32700},
         {CALL("nothing", "\"\xff\""), PARSE("null"), -32700},
         {CALL("nothing", "\"\\ud800\""), PARSE("null"), -32700},
         {"[" CALL("nothing", "1") ",]", PARSE("null"), -32700},
         {"[" CALL("nothing", "1"), PARSE("null"), -32700});
}

TEST(a_message_that_is_not_a_request_is_invalid)
{
    PLAY({"1", NO_MESSAGE, -32600}, {"null", NO_MESSAGE, -32600}, {"\"x\"", NO_MESSAGE, -32600},
         {"true", NO_MESSAGE, -32600}, {"{}", NO_REQUEST, -32600},
         {"{\"method\":\"nothing\",\"id\":1}", VERSION("1"), -32600},
         {"{\"jsonrpc\":\"1.0\",\"method\":\"nothing\",\"id\":7}", VERSION("7"), -32600},
         {"{\"jsonrpc\":2.0,\"method\":\"nothing\",\"id\":7}", VERSION("7"), -32600},
         {"{\"jsonrpc\":\"1.0\",\"method\":\"nothing\"}", VERSION("null"), -32600},
         {HEAD "1,\"id\":1}", INVALID("\"method must be a string\"", "1"), -32600},
         {HEAD "null,\"id\":1}", INVALID("\"method must be a string\"", "1"), -32600},
         {HEAD "\"\",\"id\":1}", INVALID("\"method is required\"", "1"), -32600},
         {HEAD "\"\"}", INVALID("\"method is required\"", "null"), -32600},
         {"{\"jsonrpc\":\"2.0\",\"id\":\"q\"}", INVALID("\"method is required\"", "\"q\""), -32600},
         {CALL("nothing", "{}"), ID_TYPE, -32600}, {CALL("nothing", "[1]"), ID_TYPE, -32600},
         {CALL("nothing", "true"), ID_TYPE, -32600}, {CALL("nothing", "false"), ID_TYPE, -32600},
         {CALL("nothing", "1,\"id\":2"), INVALID("\"id is given twice\"", "null"), -32600},
         {CALL("nothing", "1,\"method\":\"echo\""), INVALID("\"method is given twice\"", "1"),
          -32600},
         {CALL_WITH("echo", "[],\"params\":[]", "1"), INVALID("\"params is given twice\"", "1"),
          -32600});
}

TEST(unknown_methods_and_wrong_params)
{
    PLAY({CALL("missing", "1"), MISSING("\"missing\"", "1"), -32601},
         {CALL_WITH("missing", "7", "1"), BAD("*", "1"), -32601},
         {CALL("rpc.missing", "1"), MISSING("\"rpc.missing\"", "1"), -32601},
         {CALL("a\\n\\\"b", "1"), MISSING("\"a\\n\\\"b\"", "1"), -32601},
         {CALL_WITH("subtract", "[1]", "1"), PARAMS("\"subtrahend is required\"", "1"), -32602},
         {CALL("subtract", "1"), PARAMS("\"minuend is required\"", "1"), -32602},
         {CALL_WITH("subtract", "[\"1\",2]", "1"), PARAMS("\"minuend *\"", "1"), -32602},
         {CALL_WITH("subtract", "[1,2,3]", "1"), PARAMS("\"*\"", "1"), -32602},
         {CALL_WITH("subtract", "{\"minuend\":1,\"subtrahend\":2,\"x\":3}", "1"),
          PARAMS("\"*\"", "1"), -32602},
         {CALL_WITH("nothing", "[1]", "1"), PARAMS("\"this method takes no parameters\"", "1"),
          -32602},
         {CALL_WITH("nothing", "7", "1"), PARAMS("\"*\"", "1"), -32602},
         {CALL_WITH("echo", "7", "1"), PARAMS("\"params must be an array or an object\"", "1"),
          -32602});
}

TEST(ids_come_back_byte_for_byte)
{
    static const char *const ids[] = {
        "0",
        "-0",
        "-1.50",
        "1E2",
        "1e400",
        "9007199254740993",
        "123456789012345678901234567890",
        "\"\"",
        "\"1\"",
        "\"null\"",
        "\"日本\"",
        "\"\\u65e5\"",
        "\"\\\"\\\\\\/\"",
        "\"\\u0000\"",
        "\"\\ud83d\\uDE00\"",
        "null",
    };
    struct exchange_fixture s;
    char in[200], out[200];
    exchange_fixture_open(&s);
    for (size_t i = 0; i < FUMI_COUNT(ids); i++) {
        snprintf(in, sizeof(in), CALL("nothing", "%s"), ids[i]);
        snprintf(out, sizeof(out), OK("null", "%s"), ids[i]);
        CHECK_STR(reply_to(&s.c, in), out);
        snprintf(in, sizeof(in), CALL("missing", "%s"), ids[i]);
        snprintf(out, sizeof(out), MISSING("\"missing\"", "%s"), ids[i]);
        CHECK_STR(reply_to(&s.c, in), out);
        snprintf(in, sizeof(in), "[" CALL("nothing", " %s ") "]", ids[i]);
        snprintf(out, sizeof(out), "[" OK("null", "%s") "]", ids[i]);
        CHECK_STR(reply_to(&s.c, in), out);
    }
    exchange_fixture_done(&s);
}

TEST(notifications_are_run_and_not_answered)
{
    static const char *const silent[] = {
        NOTIFICATION("nothing"),
        NOTIFICATION("missing"),
        NOTIFICATION("subtract"),
        NOTIFICATION("fail_silent"),
        NOTIFICATION("infinite"),
        HEAD "\"echo\",\"params\":7}",
        "[" NOTIFICATION("nothing") "]",
        "[" NOTIFICATION("nothing") "," NOTIFICATION("missing") "," NOTIFICATION("subtract") "]",
        "{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"x\"},\"id\":\"y\"}",
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"x\"},\"id\":null}",
        "[{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":1}]",
    };
    struct exchange_fixture s;
    exchange_fixture_open(&s);
    for (size_t i = 0; i < FUMI_COUNT(silent); i++) {
        struct fumi_str got = reply_to(&s.c, silent[i]);
        if (got.n || s.c.replies != 1 || s.c.code)
            TEST_FAIL("%s: %.*s, code %d", silent[i], FUMI_ARG(got), s.c.code);
    }
    exchange_fixture_done(&s);
}

TEST(a_notification_does_its_work)
{
    int64_t counter = 0;
    static const struct fumi_method up[] = {{"up", "", NULL, &count_shape, count_up, 0}};
    struct fumi_server *s = server_of(up, 1, &counter);
    struct caller c;
    caller_open(&c, s);
    CHECK_STR(reply_to(&c, NOTIFICATION("up")), "");
    CHECK_STR(reply_to(&c, "[" NOTIFICATION("up") "," NOTIFICATION("up") "]"), "");
    CHECK_STR(reply_to(&c, CALL("up", "1")), OK("4", "1"));
    CHECK_STR(reply_to(&c, "[" CALL("up", "1") "," NOTIFICATION("up") "," CALL("up", "2") "]"),
              "[" OK("5", "1") "," OK("7", "2") "]");
    caller_done(&c);
    fumi_server_free(s);
}

/* `result` and `error` make a response only if there is no method. */
TEST(a_method_makes_a_request_whatever_else_is_there)
{
    PLAY({CALL("nothing", "1,\"result\":7"), OK("null", "1"), 0},
         {CALL("nothing", "1,\"error\":{}"), OK("null", "1"), 0});
}

TEST(batches_are_answered_in_order)
{
    PLAY({"[" CALL("nothing", "1") "]", "[" OK("null", "1") "]", 0},
         {" [ " CALL_WITH("echo", "[3]", "3") " , " NOTIFICATION("nothing") " , " CALL_WITH(
              "echo", "[1]", "1") " ] ",
          "[" OK("[3]", "3") "," OK("[1]", "1") "]", 0},
         {"[" CALL_WITH("echo", "[1]", "1") "," CALL_WITH("echo", "[2]", "1") "]",
          "[" OK("[1]", "1") "," OK("[2]", "1") "]", 0},
         {"[]", INVALID("\"batch is empty\"", "null"), -32600},
         {"[ ]", INVALID("\"batch is empty\"", "null"), -32600}, {"[1]", "[" NO_OBJECT "]", 0},
         {"[[]]", "[" NO_OBJECT "]", 0},
         {"[1,null,\"x\"]", "[" NO_OBJECT "," NO_OBJECT "," NO_OBJECT "]", 0},
         {"[" CALL("nothing", "1") "," NOTIFICATION("nothing") ",1]",
          "[" OK("null", "1") "," NO_OBJECT "]", 0},
         {"[" CALL("missing", "1") "]", "[" MISSING("\"missing\"", "1") "]", 0},
         {"[" CALL("missing", "1") "," CALL("subtract", "2") "," CALL(
              "fail_silent", "3") ",{}," CALL("nothing", "[]") "," CALL("infinite",
                                                                        "6") "," CALL("nothing",
                                                                                      "7") "]",
          "[" MISSING("\"missing\"", "1") "," PARAMS("\"minuend is required\"", "2") "," INTERNAL(
              "3") "," NO_REQUEST "," ID_TYPE "," INTERNAL("6") "," OK("null", "7") "]",
          0},
         {"[{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":9}," CALL("nothing", "1") "]",
          "[" OK("null", "1") "]", 0});
}

static void batch_of(struct fumi_buf *b, size_t n, const char *element)
{
    fumi_buf_reset(b, 1 << 20);
    fumi_buf_put(b, '[');
    for (size_t i = 0; i < n; i++)
        putf(b, "%s%s", i ? "," : "", element);
    fumi_buf_put(b, ']');
}

TEST(a_batch_has_a_limit)
{
    struct exchange_fixture s;
    struct fumi_buf b = {0};
    exchange_fixture_open(&s);
    fumi_server_limits(s.server, (struct fumi_limits){.batch = 3});
    batch_of(&b, 3, CALL("nothing", "1"));
    CHECK_STR(reply_to_str(&s.c, fumi_buf_str(&b)),
              "[" OK("null", "1") "," OK("null", "1") "," OK("null", "1") "]");
    batch_of(&b, 4, CALL("nothing", "1"));
    CHECK_LIKE(reply_to_str(&s.c, fumi_buf_str(&b)), INVALID("\"*3\"", "null"));
    CHECK_INT(s.c.code, FUMI_INVALID_REQUEST);
    batch_of(&b, 4, NOTIFICATION("nothing"));
    CHECK_LIKE(reply_to_str(&s.c, fumi_buf_str(&b)), INVALID("\"*3\"", "null"));
    batch_of(&b, 4, "1");
    CHECK_LIKE(reply_to_str(&s.c, fumi_buf_str(&b)), INVALID("\"*3\"", "null"));
    fumi_buf_done(&b);
    exchange_fixture_done(&s);
}

TEST(nothing_of_a_refused_batch_is_run)
{
    int64_t counter = 0;
    static const struct fumi_method up[] = {{"up", "", NULL, &count_shape, count_up, 0}};
    struct fumi_server *s = server_of(up, 1, &counter);
    struct caller c;
    struct fumi_buf b = {0};
    caller_open(&c, s);
    batch_of(&b, 101, CALL("up", "1"));
    CHECK_LIKE(reply_to_str(&c, fumi_buf_str(&b)), INVALID("\"*100\"", "null"));
    CHECK_INT(counter, 0);
    batch_of(&b, 100, CALL("up", "1"));
    reply_to_str(&c, fumi_buf_str(&b));
    CHECK_INT(counter, 100);
    reply_to(&c, "[" CALL("up", "1") ",");
    CHECK_INT(counter, 100);
    fumi_buf_done(&b);
    caller_done(&c);
    fumi_server_free(s);
}

TEST(errors_of_handlers)
{
    PLAY({CALL_WITH("fail", "[-32050,\"it is so\"]", "1"),
          BAD("\"code\":-32050,\"message\":\"it is so\"", "1"), -32050},
         {CALL_WITH("fail", "[5,\"a \\\"b\\\" \\n\",{\"x\":[1]}]", "1"),
          BAD("\"code\":5,\"message\":\"a \\\"b\\\" \\n\",\"data\":{\"x\":[1]}", "1"), 5},
         {CALL_WITH("fail", "[-32000,\"busy\"]", "1"),
          BAD("\"code\":-32000,\"message\":\"busy\"", "1"), -32000},
         {CALL_WITH("fail", "[-32602,\"n must be even\"]", "1"), PARAMS("\"n must be even\"", "1"),
          -32602},
         {CALL_WITH("fail", "[2147483647,\"\"]", "1"),
          BAD("\"code\":2147483647,\"message\":\"\"", "1"), 2147483647},
         {CALL("fail_by_hand", "1"), BAD("\"code\":7,\"message\":\"seven\"", "1"), 7},
         {CALL("fail_silent", "1"), INTERNAL("1"), -32603},
         {CALL_WITH("fail", "[0,\"zero is no code\"]", "1"), INTERNAL("1"), -32603},
         {CALL_WITH("fail", "[-32603,\"the secret is basil\",[\"basil\"]]", "1"), INTERNAL("1"),
          -32603},
         {CALL("infinite", "1"), INTERNAL("1"), -32603},
         {CALL("nan_deep_inside", "1"), INTERNAL("1"), -32603});
}

/* A method that sets only the code does not inherit the text of an earlier error, in the same
 * message or in an older one. */
TEST(no_error_is_left_over_from_another_call)
{
    PLAY({CALL("fail_with_a_code", "1"), BAD("\"code\":8,\"message\":\"\"", "1"), 8},
         {"[" CALL_WITH("fail", "[9,\"private\",[\"data\"]]", "1") "," CALL("fail_with_a_code",
                                                                            "2") "]",
          "[" BAD("\"code\":9,\"message\":\"private\",\"data\":[\"data\"]",
                  "1") "," BAD("\"code\":8,\"message\":\"\"", "2") "]",
          0},
         {CALL_WITH("fail", "[9,\"private\",[\"data\"]]", "1"), BAD("*", "1"), 9},
         {CALL("fail_with_a_code", "1"), BAD("\"code\":8,\"message\":\"\"", "1"), 8},
         {CALL_WITH("fail", "[-32603,\"secret\"]", "1"), INTERNAL("1"), -32603},
         {CALL("fail_with_a_code", "1"), BAD("\"code\":8,\"message\":\"\"", "1"), 8});
}

TEST(a_long_sentence_is_cut_at_a_character)
{
    struct exchange_fixture s;
    struct fumi_buf b = {0};
    exchange_fixture_open(&s);
    for (size_t lead = 0; lead < 4; lead++) {
        fumi_buf_reset(&b, 1 << 16);
        putf(&b, HEAD "\"fail\",\"id\":1,\"params\":[9,\"");
        put_times(&b, "a", lead);
        put_times(&b, "日", 300);
        putf(&b, "\"]}");
        CHECK_LIKE(reply_to_str(&s.c, fumi_buf_str(&b)),
                   BAD("\"code\":9,\"message\":\"*日\"", "1"));
    }
    fumi_buf_done(&b);
    exchange_fixture_done(&s);
}

#define INVOKE(how, name, args) CALL_WITH(how, "[\"" name "\"," args "]", "1")

TEST(a_method_may_invoke_another)
{
    PLAY({INVOKE("invoke", "subtract", "[5,3]"), OK("2", "1"), 0},
         {INVOKE("invoke", "subtract", "{\"minuend\":5,\"subtrahend\":1}"), OK("4", "1"), 0},
         {INVOKE("invoke", "other.whose", "null"), OK("\"mine\"", "1"), 0},
         {CALL_WITH("invoke", "[\"nothing\"]", "1"), OK("null", "1"), 0},
         {INVOKE("invoke_twice", "echo", "[1,{\"a\":\"日\"}]"),
          OK("[[1,{\"a\":\"日\"}],[1,{\"a\":\"日\"}]]", "1"), 0},
         {INVOKE("invoke", "invoke", "[\"invoke\",[\"subtract\",[9,1]]]"), OK("8", "1"), 0},
         {INVOKE("invoke", "block", "[1]"), OK("[1]", "1"), 0},
         {INVOKE("invoke_twice", "rpc.discover", "null"),
          OK("[{\"openrpc\":*},{\"openrpc\":*}]", "1"), 0},
         {INVOKE("invoke", "missing", "[]"), MISSING("\"missing\"", "1"), -32601},
         {INVOKE("invoke", "subtract", "[1]"), PARAMS("\"subtrahend is required\"", "1"), -32602},
         {INVOKE("invoke", "subtract", "7"), PARAMS("\"*\"", "1"), -32602},
         {INVOKE("invoke", "fail", "[12,\"twelve\",[12]]"),
          BAD("\"code\":12,\"message\":\"twelve\",\"data\":[12]", "1"), 12},
         {INVOKE("invoke", "fail", "[-32603,\"basil\"]"), INTERNAL("1"), -32603},
         {INVOKE("invoke", "fail_silent", "[]"), INTERNAL("1"), -32603},
         {INVOKE("invoke", "infinite", "[]"), INTERNAL("1"), -32603},
         {INVOKE("invoke", "nan_deep_inside", "[]"), INTERNAL("1"), -32603},
         {INVOKE("invoke_and_go_on", "missing", "[]"), OK("-32601", "1"), 0},
         {INVOKE("invoke_and_go_on", "subtract", "[]"), OK("-32602", "1"), 0},
         {INVOKE("invoke_and_go_on", "fail", "[12]"), OK("12", "1"), 0},
         {INVOKE("invoke_and_go_on", "fail_silent", "[]"), OK("-32603", "1"), 0},
         {INVOKE("invoke", "notifies", "[1]"),
          "{\"jsonrpc\":\"2.0\",\"method\":\"step\",\"params\":{\"n\":1}}\n" OK("1", "1"), 0});
}

/* fumi_invoke cannot wait for a pending method: it fails, and the next call is not affected. */
TEST(an_async_method_cannot_be_invoked)
{
    PLAY({INVOKE("invoke", "defer", "[1]"), BAD("*", "1"), -32603},
         {CALL_WITH("defer", "[1]", "1"), OK("[1]", "1"), 0});
}

TEST(notifications_precede_the_answer_in_order)
{
#define STEP(n) "{\"jsonrpc\":\"2.0\",\"method\":\"step\",\"params\":{\"n\":" n "}}\n"
    PLAY({CALL_WITH("notifies", "[3]", "1"), STEP("1") STEP("2") STEP("3") OK("3", "1"), 0},
         {CALL_WITH("notifies", "[0]", "1"),
          "{\"jsonrpc\":\"2.0\",\"method\":\"none\"}\n" OK("0", "1"), 0},
         {"[" CALL_WITH("notifies", "[1]", "1") "," CALL_WITH("notifies", "[2]", "2") "]",
          STEP("1") STEP("1") STEP("2") "[" OK("1", "1") "," OK("2", "2") "]", 0});
}

static void keep_code(void *arg, struct fumi_buf *answer, int code)
{
    *(int *)arg = answer->n ? code : -1;
}

TEST(a_caller_without_notify_is_answered)
{
    struct exchange_fixture s;
    int code = -2;
    exchange_fixture_open(&s);
    fumi_handle(s.server, &s.c.peer, FUMI_STR(CALL_WITH("notifies", "[3]", "1")),
                (struct fumi_sink){.reply = keep_code, .arg = &code});
    CHECK_INT(code, 0);
    exchange_fixture_done(&s);
}

TEST(the_sink_may_move_the_bytes)
{
    struct exchange_fixture s;
    exchange_fixture_open(&s);
    s.c.takes = true;
    for (size_t i = 0; i < 10; i++) {
        CHECK_STR(reply_to(&s.c, CALL_WITH("notifies", "[2]", "1")),
                  STEP("1") STEP("2") OK("2", "1"));
        CHECK_STR(reply_to(&s.c, "[" CALL_WITH("echo", "[1]", "1") "," CALL_WITH("notifies", "[1]",
                                                                                 "2") "]"),
                  STEP("1") "[" OK("[1]", "1") "," OK("1", "2") "]");
        CHECK_STR(reply_to(&s.c, CALL("missing", "1")), MISSING("\"missing\"", "1"));
    }
    exchange_fixture_done(&s);
}

/* The members of a call that a method sees. */
struct look {
    struct fumi_peer *peer;
    int seen;
};

static enum fumi_ret look_round(struct fumi_call *call, const void *params, void *result)
{
    struct look *l = call->self;
    (void)params, (void)result;
    if (call->peer != l->peer || !call->arena || !fumi_eq(call->name, FUMI_STR("look")))
        return fumi_fail(call, 1, "peer, arena or name is wrong");
    if (!call->method || strcmp(call->method->name, "look") || call->err.code)
        return fumi_fail(call, 2, "method or err is wrong");
    if (!fumi_eq(call->params ? fumi_raw(call->params) : FUMI_STR("none"),
                 l->seen ? FUMI_STR("none") : FUMI_STR("[1, 2]")))
        return fumi_fail(call, 3, "params are wrong");
    if (l->seen ? call->id != NULL : !fumi_is(call->id, FUMI_STRING))
        return fumi_fail(call, 4, "id is wrong");
    l->seen++;
    return FUMI_OK;
}

TEST(a_handler_sees_the_peer_and_the_request)
{
    static const struct fumi_method look[] = {{"look", "", &whole_shape, NULL, look_round, 0}};
    struct look l = {0};
    struct fumi_server *s = server_of(look, 1, &l);
    struct caller c;
    caller_open(&c, s);
    l.peer = &c.peer;
    CHECK_STR(reply_to(&c, CALL_WITH("look", "[1, 2]", "\"x\"")), OK("null", "\"x\""));
    CHECK_STR(reply_to(&c, NOTIFICATION("look")), "");
    CHECK_INT(l.seen, 2);
    caller_done(&c);
    fumi_server_free(s);
}

struct wide {
    int64_t a, b[1];
    struct fumi_str s;
};
static const struct fumi_field wide_fields[] = {
    FUMI_FIELD(struct wide, a, "a", "A number."),
    FUMI_FIELD(struct wide, s, "s", "A string."),
};
static const struct fumi_shape wide_shape = FUMI_SHAPE(struct wide, wide_fields);

/* Fills the result only if the params are not empty. */
static enum fumi_ret fill_or_not(struct fumi_call *call, const void *params, void *result)
{
    const struct wide *in = params;
    struct wide *out = result;
    if (out->a || out->b[0] || out->s.p)
        return fumi_fail(call, 1, "the result is not zeroed");
    if (in->a)
        *out = (struct wide){in->a, {7}, FUMI_STR("full")};
    return FUMI_OK;
}

TEST(params_and_results_begin_zeroed)
{
    static const struct fumi_method rows[] = {
        {"fill", "", &wide_shape, &wide_shape, fill_or_not, 0}};
    struct fumi_server *s = server_of(rows, 1, NULL);
    struct caller c;
    caller_open(&c, s);
    for (int i = 0; i < 3; i++) {
        CHECK_STR(reply_to(&c, "[" CALL_WITH("fill", "[1,\"x\"]", "1") "," CALL_WITH(
                                   "fill", "[]", "2") "," CALL("fill", "3") "]"),
                  "[" OK("{\"a\":1,\"s\":\"full\"}", "1") "," OK(
                      "{\"a\":0,\"s\":null}", "2") "," OK("{\"a\":0,\"s\":null}", "3") "]");
        CHECK_STR(reply_to(&c, CALL("fill", "4")), OK("{\"a\":0,\"s\":null}", "4"));
    }
    caller_done(&c);
    fumi_server_free(s);
}

/* A transport may pass the next message from within the reply to the last. */
struct chain {
    struct fumi_server *server;
    struct fumi_peer peer;
    int left, wrong;
};

static void next_link(void *arg, struct fumi_buf *answer, int code)
{
    struct chain *ch = arg;
    if (!fumi_eq(fumi_buf_str(answer), FUMI_STR(OK("[1]", "1"))) || code)
        ch->wrong++;
    if (ch->left-- > 0)
        fumi_handle(ch->server, &ch->peer, FUMI_STR(CALL_WITH("echo", "[1]", "1")),
                    (struct fumi_sink){.reply = next_link, .arg = ch});
}

TEST(a_reply_may_bring_the_next_message)
{
    struct fumi_spare spare = {0};
    struct chain ch = {
        server_of(methods, FUMI_COUNT(methods), NULL), {.transport = "t", .spare = &spare}, 50, 0};
    fumi_handle(ch.server, &ch.peer, FUMI_STR(CALL_WITH("echo", "[1]", "1")),
                (struct fumi_sink){.reply = next_link, .arg = &ch});
    CHECK_INT(ch.left, -1);
    CHECK_INT(ch.wrong, 0);
    fumi_peer_done(&ch.peer);
    fumi_spare_done(&spare);
    fumi_server_free(ch.server);
}

/* A method may itself call a server, even its own, as another peer. */
static enum fumi_ret talk_to_self(struct fumi_call *call, const void *params, void *result)
{
    struct caller c;
    (void)params;
    caller_open(&c, call->self);
    struct fumi_str got = reply_to(&c, CALL_WITH("echo", "[1,2]", "9"));
    ((struct text *)result)->value.text = fumi_dup(call->arena, got);
    caller_done(&c);
    return FUMI_OK;
}

TEST(a_handler_may_talk_to_its_own_server)
{
    static const struct fumi_method rows[] = {{"talk", "", NULL, &text_shape, talk_to_self, 0}};
    struct fumi_server *s = server_of(methods, FUMI_COUNT(methods), NULL);
    struct fumi_err e = {0};
    struct caller c;
    CHECK_INT(fumi_server_add(s, NULL, rows, 1, s, &e), 0);
    caller_open(&c, s);
    CHECK_STR(reply_to(&c, "[" CALL("talk", "1") "," CALL("talk", "2") "]"),
              "[" OK(OK("[1,2]", "9"), "1") "," OK(OK("[1,2]", "9"), "2") "]");
    caller_done(&c);
    fumi_server_free(s);
}

/* Messages with a few bytes changed: there is exactly one reply, which is JSON or empty. */
TEST(damaged_messages_are_answered_in_json)
{
    static const char *const whole[] = {
        CALL_WITH("subtract", "{\"minuend\":42,\"subtrahend\":23}", "\"a\""),
        CALL_WITH("echo", "[1,\"日\",{\"x\":[null,true]}]", "-1.50"),
        "[" CALL("nothing", "1") "," NOTIFICATION("notifies") "," CALL_WITH(
            "invoke", "[\"echo\",[1]]", "2") "]",
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"x\"},\"id\":\"y\"}",
        CALL_WITH("rpc.cancel", "{\"id\":1}", "3"),
        CALL("rpc.discover", "4")};
    struct exchange_fixture s;
    struct dice d = {7};
    struct fumi_buf b = {0};
    struct fumi_arena a = {0};
    struct fumi_err e;
    exchange_fixture_open(&s);
    for (int i = 0; i < 20000; i++) {
        const char *from = whole[below(&d, FUMI_COUNT(whole))];
        fumi_buf_reset(&b, 1 << 16);
        fumi_buf_add(&b, from, strlen(from));
        mutate(&d, &b);
        struct fumi_str got = reply_to_str(&s.c, fumi_buf_str(&b));
        if (s.c.replies != 1 || (got.n && s.c.lines == 1 && !fumi_parse(&a, got, &e)))
            TEST_FAIL("%.*s\n   gives %.*s", FUMI_ARG(fumi_buf_str(&b)), FUMI_ARG(got));
        fumi_arena_reset(&a, 1 << 16);
    }
    CHECK_STR(reply_to(&s.c, CALL("nothing", "1")), OK("null", "1"));
    fumi_arena_done(&a);
    fumi_buf_done(&b);
    exchange_fixture_done(&s);
}
