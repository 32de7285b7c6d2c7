/* The server of the fumi_handle tests: its methods, its messages, and tables of messages with their
 * answers. */
#ifndef FUMI_EXCHANGE_FIXTURE_H
#define FUMI_EXCHANGE_FIXTURE_H

#include "rpc_fixture.h"
#include "test.h"

#include <math.h>

#define OK(result, id)      "{\"jsonrpc\":\"2.0\",\"result\":" result ",\"id\":" id "}"
#define BAD(error, id)      "{\"jsonrpc\":\"2.0\",\"error\":{" error "},\"id\":" id "}"
#define PARSE(id)           BAD("\"code\":-32700,\"message\":\"Parse error\",\"data\":\"*\"", id)
#define INVALID(why, i)     BAD("\"code\":-32600,\"message\":\"Invalid Request\",\"data\":" why, i)
#define MISSING(m, id)      BAD("\"code\":-32601,\"message\":\"Method not found\",\"data\":" m, id)
#define PARAMS(why, id)     BAD("\"code\":-32602,\"message\":\"Invalid params\",\"data\":" why, id)
#define INTERNAL(id)        BAD("\"code\":-32603,\"message\":\"Internal error\"", id)
#define HEAD                "{\"jsonrpc\":\"2.0\",\"method\":"
#define CALL_WITH(m, p, id) HEAD "\"" m "\",\"params\":" p ",\"id\":" id "}"
#define CALL(m, id)         HEAD "\"" m "\",\"id\":" id "}"
#define NOTIFICATION(m)     HEAD "\"" m "\"}"

/* Whether a text matches a pattern, in which an asterisk matches anything. */
static inline bool like(struct fumi_str s, const char *pattern)
{
    size_t i = 0, back = 0;
    const char *star = NULL;
    while (i < s.n) {
        if (*pattern == '*') {
            star = ++pattern;
            back = i;
        } else if (*pattern == s.p[i]) {
            pattern++;
            i++;
        } else if (star) {
            pattern = star;
            i = ++back;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == 0;
}

#define CHECK_LIKE(got, want)                                                                      \
    do {                                                                                           \
        struct fumi_str like_ = (got);                                                             \
        if (!like(like_, want)) {                                                                  \
            TEST_FAIL("%s:\n   got %.*s\n  want %s", #got, FUMI_ARG(like_), want);                 \
            return;                                                                                \
        }                                                                                          \
    } while (0)

/* Methods. */
struct failure {
    int64_t code;
    struct fumi_str text;
    struct fumi_json data;
};
static const struct fumi_field failure_fields[] = {
    FUMI_FIELD(struct failure, code, "code", "Which.", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct failure, text, "text", "Why."),
    FUMI_FIELD(struct failure, data, "data", "What else."),
};
static const struct fumi_shape failure_shape = FUMI_SHAPE(struct failure, failure_fields);

static inline enum fumi_ret fail(struct fumi_call *call, const void *params, void *result)
{
    const struct failure *f = params;
    (void)result;
    if (fumi_fail(call, (int)f->code, "%.*s", FUMI_ARG(f->text)) != FUMI_FAIL)
        abort();
    if (f->data.text.p && !fumi_eq(f->data.text, FUMI_STR("null")))
        call->err.data = f->data.text;
    return FUMI_FAIL;
}

static inline enum fumi_ret fail_by_hand(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    fumi_err_set(&call->err, 7, "seven");
    return FUMI_FAIL;
}

static inline enum fumi_ret fail_with_a_code(struct fumi_call *call, const void *params,
                                             void *result)
{
    (void)params, (void)result;
    call->err.code = 8;
    return FUMI_FAIL;
}

static inline enum fumi_ret fail_silent(struct fumi_call *call, const void *params, void *result)
{
    (void)call, (void)params, (void)result;
    return FUMI_FAIL;
}

static inline enum fumi_ret infinite(struct fumi_call *call, const void *params, void *result)
{
    (void)call, (void)params;
    ((struct number *)result)->value = INFINITY;
    return FUMI_OK;
}

struct row {
    double value;
};
struct rows {
    struct fumi_list rows;
};
static const struct fumi_field row_fields[] = {FUMI_FIELD(struct row, value, "value", "A number.")};
static const struct fumi_shape row_shape = FUMI_SHAPE(struct row, row_fields);
static const struct fumi_field rows_fields[] = {
    FUMI_FIELD(struct rows, rows, "rows", "Rows.", .shape = &row_shape)};
static const struct fumi_shape rows_shape = FUMI_SHAPE(struct rows, rows_fields);

static inline enum fumi_ret nan_deep_inside(struct fumi_call *call, const void *params,
                                            void *result)
{
    struct row *r = fumi_alloc(call->arena, 2 * sizeof(*r));
    (void)params;
    r[1].value = NAN;
    ((struct rows *)result)->rows = (struct fumi_list){r, 2};
    return FUMI_OK;
}

static inline enum fumi_ret big(struct fumi_call *call, const void *params, void *result)
{
    size_t n = (size_t)((const struct count *)params)->n;
    char *bytes = fumi_alloc(call->arena, n + 1);
    memset(bytes, 'x', n);
    ((struct word *)result)->value = (struct fumi_str){bytes, n};
    return FUMI_OK;
}

static inline enum fumi_ret notifies(struct fumi_call *call, const void *params, void *result)
{
    const struct count *in = params;
    for (int64_t i = 1; i <= in->n; i++)
        fumi_notify(call, "step", &n_shape, &(struct count){i});
    if (in->n == 0)
        fumi_notify(call, "none", NULL, NULL);
    *(struct count *)result = *in;
    return FUMI_OK;
}

struct other {
    struct fumi_str name;
    const struct fumi_val *args;
};
static const struct fumi_field other_fields[] = {
    FUMI_FIELD(struct other, name, "name", "Which method.", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct other, args, "args", "With what."),
};
static const struct fumi_shape other_shape = FUMI_SHAPE(struct other, other_fields);

static inline enum fumi_ret invoke(struct fumi_call *call, const void *params, void *result)
{
    const struct other *o = params;
    struct fumi_str name = call->name;
    void *self = call->self;
    (void)result;
    enum fumi_ret ret = fumi_invoke(call, o->name, o->args, false, fumi_result(call), NULL);
    if (!fumi_eq(call->name, name) || call->self != self)
        abort();
    return ret;
}

/* Writes the result of the other method twice into an array, after a first result that is
 * discarded. */
static inline enum fumi_ret invoke_twice(struct fumi_call *call, const void *params, void *result)
{
    const struct other *o = params;
    (void)result;
    fumi_put_str(fumi_result(call), FUMI_STR("dropped"));
    struct fumi_out *out = fumi_result(call);
    fumi_put_open(out, '[');
    if (fumi_invoke(call, o->name, o->args, false, out, NULL) ||
        fumi_invoke(call, o->name, o->args, false, out, NULL))
        return FUMI_FAIL;
    fumi_put_close(out, ']');
    return FUMI_OK;
}

/* Returns the code of the error of the other method, which must have written nothing. */
static inline enum fumi_ret invoke_and_go_on(struct fumi_call *call, const void *params,
                                             void *result)
{
    const struct other *o = params;
    struct fumi_buf b = {0};
    enum fumi_ret ret = fumi_invoke(call, o->name, o->args, false, &(struct fumi_out){.buf = &b},
                                    NULL);
    ((struct count *)result)->n = ret == FUMI_FAIL ? call->err.code : 0;
    if (ret == FUMI_FAIL && b.n)
        abort();
    fumi_buf_done(&b);
    return FUMI_OK;
}

static inline enum fumi_ret whose(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    ((struct word *)result)->value = fumi_str(call->self);
    return FUMI_OK;
}

static inline enum fumi_ret defer(struct fumi_call *call, const void *params, void *result)
{
    *(struct whole *)result = *(const struct whole *)params;
    fumi_finish(call, FUMI_OK);
    return FUMI_PENDING;
}

static inline enum fumi_ret count_up(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    ((struct count *)result)->n = ++*(int64_t *)call->self;
    return FUMI_OK;
}

static const struct fumi_method methods[] = {
    {"echo", "", &whole_shape, &whole_shape, run_echo, FUMI_READ_ONLY},
    {"subtract", "", &pair_shape, &number_shape, run_subtract, FUMI_READ_ONLY},
    {"nothing", "", NULL, NULL, run_nothing, 0},
    {"fail", "", &failure_shape, NULL, fail, 0},
    {"fail_by_hand", "", NULL, NULL, fail_by_hand, 0},
    {"fail_with_a_code", "", NULL, NULL, fail_with_a_code, 0},
    {"fail_silent", "", NULL, NULL, fail_silent, 0},
    {"infinite", "", NULL, &number_shape, infinite, 0},
    {"nan_deep_inside", "", NULL, &rows_shape, nan_deep_inside, 0},
    {"big", "", &n_shape, &word_shape, big, 0},
    {"notifies", "", &n_shape, &count_shape, notifies, 0},
    {"invoke", "", &other_shape, NULL, invoke, 0},
    {"invoke_twice", "", &other_shape, NULL, invoke_twice, 0},
    {"invoke_and_go_on", "", &other_shape, &count_shape, invoke_and_go_on, 0},
    {"defer", "", &whole_shape, &whole_shape, defer, FUMI_ASYNC},
    {"block", "", &whole_shape, &whole_shape, run_echo, FUMI_BLOCKING},
};

static const struct fumi_method others[] = {
    {"whose", "", NULL, &word_shape, whose, 0},
};

/* A server with all these methods, and a caller. */
struct exchange_fixture {
    struct fumi_server *server;
    struct caller c;
};

static inline void exchange_fixture_open(struct exchange_fixture *s)
{
    static char mine[] = "mine";
    struct fumi_err e;
    s->server = server_of(methods, FUMI_COUNT(methods), NULL);
    if (fumi_server_add(s->server, "other", others, 1, mine, &e))
        abort();
    caller_open(&s->c, s->server);
}

static inline void exchange_fixture_done(struct exchange_fixture *s)
{
    caller_done(&s->c);
    fumi_server_free(s->server);
}

struct talk {
    const char *in, *out;
    int code;
};

static inline void play(struct caller *c, const struct talk *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct fumi_str got = reply_to(c, rows[i].in);
        if (!like(got, rows[i].out) || c->code != rows[i].code || c->replies != 1)
            TEST_FAIL("row %zu: %s\n   got %.*s, code %d, %zu replies\n  want %s, code %d", i,
                      rows[i].in, FUMI_ARG(got), c->code, c->replies, rows[i].out, rows[i].code);
    }
}

#define PLAY(...)                                                                                  \
    do {                                                                                           \
        static const struct talk rows_[] = {__VA_ARGS__};                                          \
        struct exchange_fixture s_;                                                                \
        exchange_fixture_open(&s_);                                                                \
        play(&s_.c, rows_, FUMI_COUNT(rows_));                                                     \
        exchange_fixture_done(&s_);                                                                \
    } while (0)

#endif
