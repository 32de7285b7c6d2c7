#include "rpc/client.h"

#include "rpc_fixture.h"
#include "test.h"

#define RESULT(r, id) "{\"jsonrpc\":\"2.0\",\"result\":" r ",\"id\":" id "}"
#define ERROR(e, id)  "{\"jsonrpc\":\"2.0\",\"error\":" e ",\"id\":" id "}"

static struct fumi_json json(const char *text)
{
    return (struct fumi_json){fumi_str(text)};
}

/* A client, what it has written, and what it has read. */
struct desk {
    struct fumi_client *client;
    struct fumi_buf out;
    struct fumi_arena arena;
    struct fumi_answers got;
    struct fumi_err err;
};

static void desk_open(struct desk *d)
{
    *d = (struct desk){.client = fumi_client_new()};
}

static void desk_done(struct desk *d)
{
    fumi_client_free(d->client);
    fumi_buf_done(&d->out);
    fumi_arena_done(&d->arena);
}

/* What was written since the last call. */
static const struct fumi_val *written(struct desk *d)
{
    struct fumi_str copy = fumi_dup(&d->arena, fumi_buf_str(&d->out));
    fumi_buf_reset(&d->out, 1 << 16);
    return fumi_parse(&d->arena, copy, &d->err);
}

/* Passes a message in a block that is freed afterwards: the answers must live in the arena. */
static int take(struct desk *d, const char *message)
{
    size_t n = strlen(message);
    char *copy = malloc(n ? n : 1);
    memcpy(copy, message, n);
    d->got = (struct fumi_answers){0};
    d->err = (struct fumi_err){0};
    int rc = fumi_client_take(d->client, &d->arena, (struct fumi_str){copy, n}, &d->got, &d->err);
    free(copy);
    return rc;
}

static int64_t request(struct desk *d, void *user)
{
    int64_t id = fumi_client_request(d->client, &d->out, "m", (struct fumi_json){{0}}, user);
    fumi_buf_reset(&d->out, 1 << 16);
    return id;
}

static bool is_request(const struct fumi_val *v, const char *method, const char *params, int64_t id)
{
    int64_t seen;
    const struct fumi_val *p = fumi_get(v, "params"), *i = fumi_get(v, "id");
    if (!fumi_text_is(fumi_get(v, "jsonrpc"), FUMI_STR("2.0")) ||
        !fumi_text_is(fumi_get(v, "method"), fumi_str(method)))
        return false;
    if (params ? !p || !fumi_eq(fumi_raw(p), fumi_str(params)) : p != NULL)
        return false;
    if (id ? !fumi_int(i, &seen) || seen != id : i != NULL)
        return false;
    return fumi_size(v) == 2u + (params != NULL) + (id != 0);
}

TEST(requests_are_written)
{
    static const struct {
        const char *method, *params;
    } rows[] = {{"add", "[1,2]"}, {"a.b", "{\"x\":\"日\"}"},    {"none", NULL}, {"empty", "[]"},
                {"none", "{}"},   {"a\"b\\\n", "[\"\\u0000\"]"}};
    struct desk d;
    int64_t last = 0;
    desk_open(&d);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_json params = json(rows[i].params);
        int64_t id = fumi_client_request(d.client, &d.out, rows[i].method, params, NULL);
        CHECK(id >= 1 && id != last);
        CHECK(is_request(written(&d), rows[i].method, rows[i].params, id));
        CHECK_INT(fumi_client_notify(d.client, &d.out, rows[i].method, params), 0);
        CHECK(is_request(written(&d), rows[i].method, rows[i].params, 0));
        last = id;
    }
    CHECK_INT(fumi_client_open(d.client), FUMI_COUNT(rows));
    desk_done(&d);
}

TEST(params_must_be_an_array_or_an_object)
{
    static const char *const wrong[] = {"5", "\"x\"", "true", "null", "-1"};
    struct desk d;
    desk_open(&d);
    for (size_t i = 0; i < FUMI_COUNT(wrong); i++) {
        CHECK_INT(fumi_client_request(d.client, &d.out, "m", json(wrong[i]), NULL), -1);
        CHECK_INT(fumi_client_notify(d.client, &d.out, "m", json(wrong[i])), -1);
        CHECK_INT(d.out.n, 0);
    }
    CHECK_INT(fumi_client_open(d.client), 0);
    desk_done(&d);
}

TEST(messages_are_appended)
{
    struct desk d;
    desk_open(&d);
    fumi_buf_add(&d.out, "before ", 7);
    fumi_client_notify(d.client, &d.out, "m", json("[1]"));
    CHECK(fumi_starts(fumi_buf_str(&d.out), FUMI_STR("before {")));
    desk_done(&d);
}

TEST(a_batch_is_written)
{
    struct desk d;
    desk_open(&d);
    for (int i = 0; i < 2; i++) {
        fumi_client_batch_open(d.client, &d.out);
        int64_t one = fumi_client_request(d.client, &d.out, "one", json("[1]"), NULL);
        CHECK_INT(fumi_client_request(d.client, &d.out, "bad", json("7"), NULL), -1);
        CHECK_INT(fumi_client_notify(d.client, &d.out, "two", json("{}")), 0);
        int64_t three = fumi_client_request(d.client, &d.out, "three", json(NULL), NULL);
        fumi_client_batch_close(d.client, &d.out);
        const struct fumi_val *all = written(&d), *v = fumi_first(all);
        CHECK_INT(fumi_size(all), 3);
        CHECK(is_request(v, "one", "[1]", one));
        CHECK(is_request(v = fumi_after(all, v), "two", "{}", 0));
        CHECK(is_request(fumi_after(all, v), "three", NULL, three));
        fumi_client_notify(d.client, &d.out, "single", json(NULL));
        CHECK(is_request(written(&d), "single", NULL, 0));
    }
    CHECK_INT(fumi_client_open(d.client), 4);
    desk_done(&d);
}

TEST(an_answer_is_taken)
{
    struct desk d;
    int mine;
    char message[200];
    desk_open(&d);
    int64_t id = request(&d, &mine);
    CHECK_INT(fumi_client_open(d.client), 1);
    snprintf(message, sizeof(message), RESULT("{\"a\": [1.50, \"\\u65e5\"]}", "%" PRId64), id);
    CHECK_INT(take(&d, message), 0);
    CHECK_INT(d.got.n, 1);
    CHECK_INT(d.got.requests, 0);
    CHECK_INT(d.got.items[0].id, id);
    CHECK(d.got.items[0].ok && d.got.items[0].user == &mine);
    CHECK_STR(d.got.items[0].result.text, "{\"a\":[1.50,\"\\u65e5\"]}");
    CHECK_INT(fumi_client_open(d.client), 0);
    desk_done(&d);
}

/* The i-th request of this client has the id i if the client has written nothing else. */
static void expect_result(const char *result)
{
    struct desk d;
    char message[200];
    desk_open(&d);
    snprintf(message, sizeof(message), RESULT("%s", "%" PRId64), result, request(&d, NULL));
    CHECK_INT(take(&d, message), 0);
    CHECK(d.got.n == 1 && d.got.items[0].ok);
    struct fumi_str text = d.got.items[0].result.text;
    CHECK_STR(text.p ? text : FUMI_STR("null"), result);
    desk_done(&d);
}

TEST(any_value_is_a_result)
{
    static const char *const results[] = {
        "null", "true", "0",          "-1.50",   "\"\"",
        "[]",   "{}",   "\"a\\\"b\"", "[[[1]]]", "9007199254740993"};
    for (size_t i = 0; i < FUMI_COUNT(results); i++)
        expect_result(results[i]);
}

TEST(an_error_is_taken)
{
    static const struct {
        const char *error;
        int code;
        const char *text, *data;
    } rows[] = {
        {"{\"code\":-32601,\"message\":\"Method not found\",\"data\":\"x\"}", -32601,
         "Method not found", "\"x\""},
        {"{\"code\":5,\"message\":\"a \\u65e5 \\\"b\\\"\",\"data\":{\"k\": [1]}}", 5, "a 日 \"b\"",
         "{\"k\":[1]}"},
        {"{\"message\":\"\",\"code\":-1}", -1, "", ""},
    };
    struct desk d;
    char message[300];
    int mine;
    desk_open(&d);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        int64_t id = request(&d, &mine);
        snprintf(message, sizeof(message), ERROR("%s", "%" PRId64), rows[i].error, id);
        CHECK_INT(take(&d, message), 0);
        CHECK_INT(d.got.n, 1);
        const struct fumi_answer *a = &d.got.items[0];
        CHECK(!a->ok && a->id == id && a->user == &mine);
        CHECK_INT(a->err.code, rows[i].code);
        CHECK_STR(fumi_str(a->err.text), rows[i].text);
        CHECK(fumi_eq(a->err.data, fumi_str(rows[i].data)));
        CHECK_INT(fumi_client_open(d.client), 0);
    }
    desk_done(&d);
}

TEST(a_long_message_is_cut_at_a_character)
{
    struct desk d;
    struct fumi_buf b = {0};
    desk_open(&d);
    putf(&b, "{\"jsonrpc\":\"2.0\",\"id\":%" PRId64 ",\"error\":{\"code\":1,\"message\":\"a",
         request(&d, NULL));
    put_times(&b, "日", 500);
    putf(&b, "\"}}");
    fumi_buf_put(&b, 0);
    CHECK_INT(take(&d, b.p), 0);
    CHECK_INT(d.got.n, 1);
    const char *text = d.got.items[0].err.text;
    CHECK(strlen(text) > 100 && strlen(text) % 3 == 1);
    fumi_buf_done(&b);
    desk_done(&d);
}

TEST(an_error_without_a_name_is_given)
{
    struct desk d;
    int mine;
    desk_open(&d);
    request(&d, &mine);
    CHECK_INT(take(&d, ERROR("{\"code\":-32700,\"message\":\"Parse error\"}", "null")), 0);
    CHECK_INT(d.got.n, 1);
    CHECK(d.got.items[0].id == 0 && !d.got.items[0].ok && !d.got.items[0].user);
    CHECK_INT(d.got.items[0].err.code, -32700);
    CHECK_INT(fumi_client_open(d.client), 1);
    desk_done(&d);
}

/* With one open request, whose id is 1. */
TEST(invalid_answers_are_refused)
{
    static const char *const wrong[] = {
        "",
        "{",
        "7",
        "null",
        "[]",
        "{}",
        RESULT("1", "99"),
        RESULT("1", "\"1\""),
        RESULT("1", "1.5"),
        RESULT("1", "null"),
        RESULT("1", "true"),
        RESULT("1", "-1"),
        RESULT("1", "0"),
        RESULT("1", "[1]"),
        RESULT("1", "18446744073709551617"),
        "{\"jsonrpc\":\"2.0\",\"result\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"1.0\",\"result\":1,\"id\":1}",
        "{\"result\":1,\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"result\":1,\"error\":{\"code\":1,\"message\":\"x\"},\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"result\":1,\"result\":2,\"id\":1}",
        ERROR("{\"message\":\"x\"}", "1"),
        ERROR("{\"code\":\"1\",\"message\":\"x\"}", "1"),
        ERROR("{\"code\":1.5,\"message\":\"x\"}", "1"),
        ERROR("{\"code\":4294967297,\"message\":\"x\"}", "1"),
        ERROR("{\"code\":1,\"message\":7}", "1"),
        ERROR("7", "1"),
        ERROR("null", "1"),
        ERROR("[1,\"x\"]", "1"),
        ERROR("{\"code\":1,\"message\":\"x\"}", "99"),
    };
    for (size_t i = 0; i < FUMI_COUNT(wrong); i++) {
        struct desk d;
        desk_open(&d);
        int64_t id = request(&d, NULL);
        if (id != 1)
            TEST_FAIL("the first id is %" PRId64, id);
        if (take(&d, wrong[i]) != -1)
            TEST_FAIL("%s: taken", wrong[i]);
        if (!d.err.code || !d.err.text[0])
            TEST_FAIL("%s: no sentence", wrong[i]);
        if (d.got.n || d.got.requests)
            TEST_FAIL("%s: gave %zu, requests %zu", wrong[i], d.got.n, d.got.requests);
        desk_done(&d);
    }
}

/* No valid answer can follow, so the request has ended. */
TEST(an_answer_that_is_none_ends_its_request)
{
    struct desk d;
    desk_open(&d);
    request(&d, NULL);
    CHECK_INT(take(&d, ERROR("7", "1")), -1);
    CHECK_INT(fumi_client_open(d.client), 0);
    desk_done(&d);
}

TEST(an_answer_is_taken_once)
{
    struct desk d;
    desk_open(&d);
    request(&d, NULL);
    request(&d, NULL);
    CHECK_INT(take(&d, RESULT("1", "1")), 0);
    CHECK_INT(take(&d, RESULT("1", "1")), -1);
    CHECK_INT(d.got.n, 0);
    CHECK_INT(take(&d, "[" RESULT("1", "2") "," RESULT("2", "2") "]"), -1);
    CHECK_INT(d.got.n, 1);
    CHECK_STR(d.got.items[0].result.text, "1");
    CHECK_INT(fumi_client_open(d.client), 0);
    desk_done(&d);
}

TEST(a_batch_of_answers_in_any_order)
{
    struct desk d;
    int users[3];
    desk_open(&d);
    for (int i = 0; i < 3; i++)
        request(&d, &users[i]);
    CHECK_INT(take(&d, "[" RESULT("\"c\"", "3") "," ERROR("{\"code\":9,\"message\":\"x\"}",
                                                          "1") "," RESULT("\"b\"", "2") "]"),
              0);
    CHECK_INT(d.got.n, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct fumi_answer *a = &d.got.items[i];
        CHECK(a->user == &users[a->id - 1]);
        CHECK_INT(a->ok, a->id != 1);
    }
    CHECK_INT(fumi_client_open(d.client), 0);
    desk_done(&d);
}

TEST(a_batch_that_is_partly_wrong_gives_the_rest)
{
    static const char *const wrong[] = {
        "7", "{}", RESULT("1", "99"), ERROR("{}", "1"), "[]", "{\"jsonrpc\":\"2.0\",\"id\":1}"};
    char message[400];
    for (size_t i = 0; i < FUMI_COUNT(wrong); i++)
        for (int place = 0; place < 3; place++) {
            struct desk d;
            desk_open(&d);
            for (int n = 0; n < 3; n++)
                request(&d, NULL);
            snprintf(message, sizeof(message),
                     "[%s%s" RESULT("2", "2") ",%s%s" RESULT("3", "3") "%s%s]",
                     place == 0 ? wrong[i] : "", place == 0 ? "," : "", place == 1 ? wrong[i] : "",
                     place == 1 ? "," : "", place == 2 ? "," : "", place == 2 ? wrong[i] : "");
            if (take(&d, message) != -1 || !d.err.code || d.got.n != 2)
                TEST_FAIL("%s: %zu", message, d.got.n);
            desk_done(&d);
        }
}

#define PEER_ASKS  "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[1],\"id\":1}"
#define PEER_TELLS "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}"

TEST(requests_of_the_peer_are_counted)
{
    struct desk d;
    desk_open(&d);
    request(&d, NULL);
    CHECK_INT(take(&d, PEER_ASKS), 0);
    CHECK(d.got.requests == 1 && d.got.n == 0);
    CHECK_INT(take(&d, PEER_TELLS), 0);
    CHECK(d.got.requests == 1 && d.got.n == 0);
    CHECK_INT(fumi_client_open(d.client), 1);
    CHECK_INT(take(&d, "[" PEER_TELLS "," RESULT("1", "1") "," PEER_ASKS "]"), 0);
    CHECK(d.got.requests == 2 && d.got.n == 1);
    desk_done(&d);
}

TEST(a_cancelled_request_is_answered_no_more)
{
    struct desk d;
    desk_open(&d);
    int64_t id = request(&d, NULL);
    request(&d, NULL);
    fumi_client_cancel(d.client, &d.out, id);
    CHECK(is_request(written(&d), "rpc.cancel", "{\"id\":1}", 0));
    CHECK_INT(fumi_client_open(d.client), 1);
    CHECK_INT(take(&d, RESULT("1", "1")), -1);
    CHECK_INT(d.got.n, 0);
    CHECK_INT(take(&d, RESULT("1", "2")), 0);
    CHECK(request(&d, NULL) == 3);
    desk_done(&d);
}

TEST(cancelling_a_finished_request_does_nothing)
{
    struct desk d;
    desk_open(&d);
    request(&d, NULL);
    CHECK_INT(take(&d, RESULT("1", "1")), 0);
    fumi_client_cancel(d.client, &d.out, 1);
    fumi_client_cancel(d.client, &d.out, 99);
    fumi_client_cancel(d.client, &d.out, 0);
    CHECK_INT(d.out.n, 0);
    desk_done(&d);
}

TEST(a_cancel_may_stand_in_a_batch)
{
    struct desk d;
    desk_open(&d);
    int64_t id = request(&d, NULL);
    fumi_client_batch_open(d.client, &d.out);
    fumi_client_request(d.client, &d.out, "a", json(NULL), NULL);
    fumi_client_cancel(d.client, &d.out, id);
    fumi_client_batch_close(d.client, &d.out);
    const struct fumi_val *all = written(&d);
    CHECK_INT(fumi_size(all), 2);
    CHECK(is_request(fumi_after(all, fumi_first(all)), "rpc.cancel", "{\"id\":1}", 0));
    desk_done(&d);
}

TEST(thousands_may_be_open)
{
    enum { MANY = 20000 };
    struct desk d;
    static int users[MANY];
    char message[100];
    desk_open(&d);
    for (int i = 0; i < MANY; i++)
        CHECK_INT(request(&d, &users[i]), i + 1);
    CHECK_INT(fumi_client_open(d.client), MANY);
    for (int n = 0; n < MANY; n++) {
        int i = (int)((n * 7919L + 5) % MANY);
        snprintf(message, sizeof(message), RESULT("%d", "%d"), i, i + 1);
        CHECK_INT(take(&d, message), 0);
        CHECK(d.got.n == 1 && d.got.items[0].user == &users[i] && d.got.items[0].id == i + 1);
        fumi_arena_reset(&d.arena, 1 << 16);
    }
    CHECK_INT(fumi_client_open(d.client), 0);
    desk_done(&d);
}

TEST(open_requests_are_forgotten_with_the_client)
{
    struct desk d;
    desk_open(&d);
    for (int i = 0; i < 100; i++)
        request(&d, NULL);
    desk_done(&d);
}

static const struct fumi_method methods[] = {
    {"subtract", "", &pair_shape, &number_shape, run_subtract, 0},
    {"echo", "", &whole_shape, &whole_shape, run_echo, 0},
};

TEST(a_client_and_a_server_understand_each_other)
{
    struct fumi_server *s = server_of(methods, FUMI_COUNT(methods), NULL);
    struct caller c;
    struct desk d;
    int users[4];
    desk_open(&d);
    caller_open(&c, s);
    fumi_client_batch_open(d.client, &d.out);
    fumi_client_request(d.client, &d.out, "subtract", json("[5,3]"), &users[0]);
    fumi_client_request(d.client, &d.out, "missing", json(NULL), &users[1]);
    fumi_client_notify(d.client, &d.out, "echo", json("[1]"));
    fumi_client_request(d.client, &d.out, "subtract", json("{\"minuend\":1}"), &users[2]);
    fumi_client_request(d.client, &d.out, "echo", json("{\"a\":[1.50,\"日\"]}"), &users[3]);
    fumi_client_batch_close(d.client, &d.out);
    reply_to_str(&c, fumi_buf_str(&d.out));
    CHECK_INT(fumi_client_take(d.client, &d.arena, received(&c), &d.got, &d.err), 0);
    CHECK_INT(d.got.n, 4);
    for (size_t i = 0; i < 4; i++)
        CHECK(d.got.items[i].user == &users[i]);
    CHECK_STR(d.got.items[0].result.text, "2");
    CHECK_INT(d.got.items[1].err.code, FUMI_METHOD_NOT_FOUND);
    CHECK_INT(d.got.items[2].err.code, FUMI_INVALID_PARAMS);
    CHECK_STR(d.got.items[2].err.data, "\"subtrahend is required\"");
    CHECK_STR(d.got.items[3].result.text, "{\"a\":[1.50,\"日\"]}");
    CHECK_INT(fumi_client_open(d.client), 0);
    caller_done(&c);
    fumi_server_free(s);
    desk_done(&d);
}

/* The error of a message that the server refuses as a whole names no request. */
TEST(a_refused_batch_leaves_its_requests_open)
{
    struct fumi_server *s = server_of(methods, FUMI_COUNT(methods), NULL);
    struct caller c;
    struct desk d;
    desk_open(&d);
    caller_open(&c, s);
    fumi_server_limits(s, (struct fumi_limits){.batch = 1});
    fumi_client_batch_open(d.client, &d.out);
    fumi_client_request(d.client, &d.out, "echo", json(NULL), NULL);
    fumi_client_request(d.client, &d.out, "echo", json(NULL), NULL);
    fumi_client_batch_close(d.client, &d.out);
    reply_to_str(&c, fumi_buf_str(&d.out));
    CHECK_INT(fumi_client_take(d.client, &d.arena, received(&c), &d.got, &d.err), 0);
    CHECK_INT(d.got.n, 1);
    CHECK(d.got.items[0].id == 0 && d.got.items[0].err.code == FUMI_INVALID_REQUEST);
    CHECK_INT(fumi_client_open(d.client), 2);
    caller_done(&c);
    fumi_server_free(s);
    desk_done(&d);
}
