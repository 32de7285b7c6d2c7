/* Calls of a batch do not affect each other: a method that misbehaves is answered once, and the
 * other calls are not affected by it. */
#include "peer_fixture.h"

#define FOUR(method)                                                                               \
    "[" CALL_WITH(method, "[1,0]", "1") "," CALL_WITH(method, "[2,0]", "2") "," CALL_WITH(         \
        method, "[3,0]", "3") "," CALL_WITH(method, "[4,0]", "4") "]"
#define ODD_FIRST(method)                                                                          \
    "[" CALL_WITH(method, "[2,0]", "2") "," CALL_WITH(method, "[3,0]",                             \
                                                      "3") "," CALL_WITH(method, "[4,0]", "4") "]"

static enum fumi_ret run_first(struct fumi_call *call, const void *params, void *result)
{
    (void)call;
    ((struct number *)result)->value = ((const struct pair *)params)->minuend;
    return FUMI_OK;
}

/* The call whose minuend is 2 misbehaves. */
static bool misbehaves(const void *params)
{
    return ((const struct pair *)params)->minuend == 2;
}

static enum fumi_ret run_hasty(struct fumi_call *call, const void *params, void *result)
{
    run_first(call, params, result);
    if (misbehaves(params))
        fumi_finish(call, FUMI_OK);
    return FUMI_OK;
}

static enum fumi_ret run_pends(struct fumi_call *call, const void *params, void *result)
{
    run_first(call, params, result);
    return misbehaves(params) ? FUMI_PENDING : FUMI_OK;
}

static enum fumi_ret run_fails(struct fumi_call *call, const void *params, void *result)
{
    run_first(call, params, result);
    return misbehaves(params) ? fumi_fail(call, 7, "no") : FUMI_OK;
}

static enum fumi_ret run_infinite(struct fumi_call *call, const void *params, void *result)
{
    run_first(call, params, result);
    ((struct number *)result)->value /= misbehaves(params) ? 0 : 1;
    return FUMI_OK;
}

static void on_progress(struct fumi_call *call, double done, double total, struct fumi_str message)
{
    (void)call, (void)done, (void)total, (void)message;
}

/* Leaves traces wherever it can. Returns 0 if it finds traces of an earlier call. */
static enum fumi_ret run_untidy(struct fumi_call *call, const void *params, void *result)
{
    struct number *n = result;
    bool clean = !call->err.code && !call->err.text[0] && !call->err.data.p && !call->progress &&
                 !call->deadline && n->value == 0;
    fumi_fail(call, 7, "no");
    call->err.data = FUMI_STR("1");
    call->progress = on_progress;
    call->deadline = 1;
    n->value = clean ? ((const struct pair *)params)->minuend : 0;
    return FUMI_OK;
}

static const struct fumi_method odd_methods[] = {
    {"first", "", &pair_shape, &number_shape, run_first, 0},
    {"hasty", "", &pair_shape, &number_shape, run_hasty, 0},
    {"pends", "", &pair_shape, &number_shape, run_pends, 0},
    {"fails", "", &pair_shape, &number_shape, run_fails, 0},
    {"infinite", "", &pair_shape, &number_shape, run_infinite, 0},
    {"untidy", "", &pair_shape, &number_shape, run_untidy, 0},
};

static void open_odd(struct fumi_server **s, struct caller *c)
{
    *s = server_of(odd_methods, FUMI_COUNT(odd_methods), NULL);
    caller_open(c, *s);
}

static void close_odd(struct fumi_server *s, struct caller *c)
{
    caller_done(c);
    fumi_server_free(s);
}

TEST(an_odd_one_is_answered_once_and_the_others_too)
{
    static const struct {
        const char *batch, *odd_first, *odd;
    } rows[] = {
        {FOUR("first"), ODD_FIRST("first"), OK("2", "2")},
        {FOUR("hasty"), ODD_FIRST("hasty"), OK("2", "2")},
        {FOUR("pends"), ODD_FIRST("pends"), INTERNAL("2")},
        {FOUR("fails"), ODD_FIRST("fails"), BAD("\"code\":7,\"message\":\"no\"", "2")},
        {FOUR("infinite"), ODD_FIRST("infinite"), INTERNAL("2")},
        {FOUR("untidy"), ODD_FIRST("untidy"), OK("2", "2")},
    };
    struct fumi_server *s;
    struct caller c;
    struct fumi_buf want = {0};
    open_odd(&s, &c);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        fumi_buf_reset(&want, SIZE_MAX);
        putf(&want, "[" OK("1", "1") ",%s," OK("3", "3") "," OK("4", "4") "]", rows[i].odd);
        struct fumi_str got = reply_to(&c, rows[i].batch);
        if (!fumi_eq(got, fumi_buf_str(&want)))
            TEST_FAIL("%s\n   got %.*s\n  want %.*s", rows[i].batch, FUMI_ARG(got),
                      FUMI_ARG(fumi_buf_str(&want)));
        fumi_buf_reset(&want, SIZE_MAX);
        putf(&want, "[%s," OK("3", "3") "," OK("4", "4") "]", rows[i].odd);
        got = reply_to(&c, rows[i].odd_first);
        if (!fumi_eq(got, fumi_buf_str(&want)))
            TEST_FAIL("%s\n   got %.*s\n  want %.*s", rows[i].odd_first, FUMI_ARG(got),
                      FUMI_ARG(fumi_buf_str(&want)));
    }
    fumi_buf_done(&want);
    close_odd(s, &c);
}

/* The length of the first id shifts all answers, so that some end exactly at the end of the buffer.
 */
TEST(answers_may_fill_their_buffer)
{
    enum { SHIFTS = 80, CALLS = 99 };
    for (int shift = 0; shift < SHIFTS; shift++) {
        struct fumi_server *s;
        struct caller c;
        struct fumi_buf message = {0}, want = {0};
        open_odd(&s, &c);
        putf(&message, "[" CALL_WITH("first", "[0,0]", "\"%*s\""), shift, "");
        putf(&want, "[" OK("0", "\"%*s\""), shift, "");
        for (int i = 0; i < CALLS; i++) {
            putf(&message, "," CALL_WITH("first", "[-90071992547409%02d,0]", "%d"), i % 92, i % 10);
            putf(&want, "," OK("-90071992547409%02d", "%d"), i % 92, i % 10);
        }
        fumi_buf_put(&message, ']');
        fumi_buf_put(&want, ']');
        struct fumi_str got = reply_to_str(&c, fumi_buf_str(&message));
        if (!fumi_eq(got, fumi_buf_str(&want)))
            TEST_FAIL("%d: %.*s", shift, FUMI_ARG(got));
        fumi_buf_done(&message);
        fumi_buf_done(&want);
        close_odd(s, &c);
    }
}

/* Notifications are not answered; a request with the id null is. */
TEST(those_without_an_id_are_not_answered)
{
    struct server_fixture t;
    server_fixture_open(&t);
    CHECK_STR(reply_to(&t.c, "[" NOTIFICATION("count") "," NOTIFICATION("count") "," NOTIFICATION(
                                 "count") "]"),
              "");
    CHECK_STR(reply_to(&t.c, "[" CALL("count", "null") "," CALL("count", "null") "]"),
              "[" OK("null", "null") "," OK("null", "null") "]");
    CHECK_INT(fixture_runs(&t.fixture), 5);
    server_fixture_done(&t);
}

struct ears {
    int before, after;
};

static enum fumi_ret hear_before(void *self, struct fumi_call *call)
{
    ((struct ears *)self)->before++;
    return fumi_is(call->id, FUMI_NUMBER) && *call->id->p == '3' ? fumi_fail(call, 7, "not three")
                                                                 : FUMI_OK;
}

static void hear_after(void *self, struct fumi_call *call)
{
    (void)call;
    ((struct ears *)self)->after++;
}

TEST(processors_are_called_for_each)
{
    struct fumi_server *s;
    struct caller c;
    struct fumi_err e;
    struct ears ears = {0};
    open_odd(&s, &c);
    struct fumi_processor p = {"ears", NULL, hear_before, hear_after, &ears};
    CHECK_INT(fumi_server_use(s, &p, &e), 0);
    CHECK_STR(reply_to(&c, FOUR("first")),
              "[" OK("1", "1") "," OK("2", "2") "," BAD("\"code\":7,\"message\":\"not three\"",
                                                        "3") "," OK("4", "4") "]");
    CHECK_INT(ears.before, 4);
    CHECK_INT(ears.after, 4);
    close_odd(s, &c);
}

TEST(one_that_is_cancelled_before_its_turn_is_not_run)
{
    struct server_fixture t;
    struct fumi_arena a = {0};
    struct fumi_err e;
    server_fixture_open(&t);
    send_text(&t.c,
              "[{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"defer\",\"params\":[1]}," CALL_WITH(
                  "count", "[2]", "2") "," CALL_WITH("count", "[3]",
                                                     "3") "," CALL_WITH("count", "[4]", "4") "]");
    CHECK(fumi_cancel(&t.c.peer, fumi_parse(&a, FUMI_STR("3"), &e)));
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    wait_replies(&t.c, 1);
    CHECK_STR(received(&t.c), "[" OK("[1]", "1") "," OK("[2]", "2") "," OK("[4]", "4") "]");
    CHECK_INT(fixture_runs(&t.fixture), 2);
    fumi_arena_done(&a);
    server_fixture_done(&t);
}
