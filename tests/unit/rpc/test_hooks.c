#include "exchange_fixture.h"

#include <fcntl.h>
#include <unistd.h>

/* What the hooks of a test recorded, in order. */
struct journal {
    char text[4000];
    size_t n;
};

static void note(struct journal *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct journal *j, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(j->text + j->n, sizeof(j->text) - j->n, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(j->text) - j->n)
        abort();
    j->n += (size_t)n;
}

struct hook {
    const char *name;
    struct journal *j;
    bool closed;         /* admit refuses */
    const char *against; /* the method that `before` refuses */
    int code;            /* of the refusal; 0: sets no error */
};

static enum fumi_ret admit(void *self, const struct fumi_arrival *a, struct fumi_err *e)
{
    struct hook *h = self;
    note(h->j, "%s? ", h->name);
    if (!h->closed || !a->peer)
        return FUMI_OK;
    if (h->code)
        fumi_err_set(e, h->code, "%s is closed", h->name);
    return FUMI_FAIL;
}

static enum fumi_ret before(void *self, struct fumi_call *call)
{
    struct hook *h = self;
    note(h->j, "%s<%.*s ", h->name, FUMI_ARG(call->name));
    if (!h->against || !fumi_eq(call->name, fumi_str(h->against)))
        return FUMI_OK;
    return h->code ? fumi_fail(call, h->code, "%s is against it", h->name) : FUMI_FAIL;
}

static void after(void *self, struct fumi_call *call)
{
    struct hook *h = self;
    note(h->j, "%s>%d,%d ", h->name, call->ret, call->err.code);
}

enum { HOOKS = 3 };

/* A server with three processors, a, b and c. */
struct hall {
    struct exchange_fixture exchange_fixture;
    struct journal j;
    struct hook hooks[HOOKS];
    struct fumi_processor rows[HOOKS];
};

static void hall_open(struct hall *h)
{
    static const char *const names[] = {"a", "b", "c"};
    struct fumi_err e;
    *h = (struct hall){0};
    exchange_fixture_open(&h->exchange_fixture);
    for (size_t i = 0; i < HOOKS; i++) {
        h->hooks[i] = (struct hook){.name = names[i], .j = &h->j};
        h->rows[i] = (struct fumi_processor){names[i], admit, before, after, &h->hooks[i]};
        if (fumi_server_use(h->exchange_fixture.server, &h->rows[i], &e))
            abort();
    }
}

/* Sends a message and returns what the hooks recorded. */
static struct fumi_str wrote(struct hall *h, const char *message)
{
    h->j.n = 0;
    h->j.text[0] = 0;
    reply_to(&h->exchange_fixture.c, message);
    return fumi_str(h->j.text);
}

#define ALL_IN "a? b? c? "

TEST(hooks_go_in_by_order_and_out_in_reverse)
{
    struct hall h;
    hall_open(&h);
    CHECK_STR(wrote(&h, CALL("nothing", "1")),
              ALL_IN "a<nothing b<nothing c<nothing c>0,0 b>0,0 a>0,0 ");
    CHECK_STR(received(&h.exchange_fixture.c), OK("null", "1"));
    CHECK_STR(wrote(&h, NOTIFICATION("nothing")),
              ALL_IN "a<nothing b<nothing c<nothing c>0,0 b>0,0 a>0,0 ");
    CHECK_STR(received(&h.exchange_fixture.c), "");
    exchange_fixture_done(&h.exchange_fixture);
}

TEST(hooks_see_every_call_and_its_outcome)
{
    struct hall h;
    hall_open(&h);
    CHECK_STR(wrote(&h, CALL("missing", "1")), ALL_IN "a<missing b<missing c<missing "
                                                      "c>1,-32601 b>1,-32601 a>1,-32601 ");
    CHECK_STR(wrote(&h, CALL("subtract", "1")), ALL_IN "a<subtract b<subtract c<subtract "
                                                       "c>1,-32602 b>1,-32602 a>1,-32602 ");
    CHECK_STR(wrote(&h, NOTIFICATION("missing")), ALL_IN "a<missing b<missing c<missing "
                                                         "c>1,-32601 b>1,-32601 a>1,-32601 ");
    CHECK_STR(wrote(&h, CALL_WITH("fail", "[9]", "1")),
              ALL_IN "a<fail b<fail c<fail c>1,9 b>1,9 a>1,9 ");
    CHECK_STR(wrote(&h, CALL("fail_silent", "1")),
              ALL_IN "a<fail_silent b<fail_silent c<fail_silent "
                     "c>1,-32603 b>1,-32603 a>1,-32603 ");
    CHECK_STR(wrote(&h, CALL("defer", "1")), ALL_IN "a<defer b<defer c<defer c>0,0 b>0,0 a>0,0 ");
    exchange_fixture_done(&h.exchange_fixture);
}

/* A result that cannot be written is an outcome too. */
TEST(hooks_see_an_answer_that_fails)
{
    struct hall h;
    hall_open(&h);
    fumi_server_limits(h.exchange_fixture.server, (struct fumi_limits){.answer = 1000});
    CHECK_STR(wrote(&h, CALL("infinite", "1")), ALL_IN "a<infinite b<infinite c<infinite "
                                                       "c>1,-32603 b>1,-32603 a>1,-32603 ");
    CHECK_STR(wrote(&h, CALL_WITH("big", "[5000]", "1")),
              ALL_IN "a<big b<big c<big c>1,-32000 b>1,-32000 a>1,-32000 ");
    exchange_fixture_done(&h.exchange_fixture);
}

TEST(a_batch_is_admitted_once_and_its_calls_one_by_one)
{
    struct hall h;
    hall_open(&h);
    CHECK_STR(
        wrote(&h, "[" CALL("nothing", "1") "," NOTIFICATION("missing") ",1," CALL("echo", "2") "]"),
        ALL_IN "a<nothing b<nothing c<nothing c>0,0 b>0,0 a>0,0 "
               "a<missing b<missing c<missing c>1,-32601 b>1,-32601 a>1,-32601 "
               "a<echo b<echo c<echo c>0,0 b>0,0 a>0,0 ");
    exchange_fixture_done(&h.exchange_fixture);
}

/* The peer would take an error for the answer to a request of its own. */
TEST(an_answer_of_the_peer_is_never_refused)
{
    struct hall h;
    hall_open(&h);
    h.hooks[0].closed = true;
    CHECK_STR(wrote(&h, "{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":1}"), "");
    CHECK_STR(received(&h.exchange_fixture.c), "");
    exchange_fixture_done(&h.exchange_fixture);
}

/* Elements that are not calls are not passed to the hooks of calls. */
TEST(hooks_of_calls_do_not_see_invalid_requests)
{
    static const char *const none[] = {"1",
                                       "{}",
                                       "[1,{}]",
                                       CALL("nothing", "[]"),
                                       "[]",
                                       "{",
                                       "{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":1}"};
    struct hall h;
    hall_open(&h);
    for (size_t i = 0; i < FUMI_COUNT(none); i++) {
        struct fumi_str got = wrote(&h, none[i]);
        if (memchr(got.p, '<', got.n) || memchr(got.p, '>', got.n))
            TEST_FAIL("%s: %s", none[i], h.j.text);
    }
    exchange_fixture_done(&h.exchange_fixture);
}

/* `after` is called for each processor whose `before` was called, including the one that refused.
 */
TEST(a_hook_that_refuses_ends_the_call)
{
    struct hall h;
    hall_open(&h);
    h.hooks[1].against = "nothing";
    h.hooks[1].code = -32010;
    CHECK_STR(wrote(&h, CALL("nothing", "1")), ALL_IN "a<nothing b<nothing b>1,-32010 a>1,-32010 ");
    CHECK_STR(received(&h.exchange_fixture.c),
              BAD("\"code\":-32010,\"message\":\"b is against it\"", "1"));
    CHECK_INT(h.exchange_fixture.c.code, -32010);
    CHECK_STR(wrote(&h, NOTIFICATION("nothing")),
              ALL_IN "a<nothing b<nothing b>1,-32010 a>1,-32010 ");
    CHECK_STR(received(&h.exchange_fixture.c), "");
    h.hooks[1].against = "subtract";
    CHECK_STR(wrote(&h, CALL("subtract", "1")),
              ALL_IN "a<subtract b<subtract b>1,-32010 a>1,-32010 ");
    CHECK_STR(received(&h.exchange_fixture.c),
              BAD("\"code\":-32010,\"message\":\"b is against it\"", "1"));
    h.hooks[1].against = "missing";
    wrote(&h, CALL("missing", "1"));
    CHECK_STR(received(&h.exchange_fixture.c),
              BAD("\"code\":-32010,\"message\":\"b is against it\"", "1"));
    h.hooks[1].code = 0;
    CHECK_STR(wrote(&h, CALL("missing", "1")), ALL_IN "a<missing b<missing b>1,-32603 a>1,-32603 ");
    CHECK_STR(received(&h.exchange_fixture.c), INTERNAL("1"));
    exchange_fixture_done(&h.exchange_fixture);
}

TEST(a_refused_call_is_not_run_and_the_rest_of_its_batch_is)
{
    struct hall h;
    hall_open(&h);
    h.hooks[0].against = "notifies";
    h.hooks[0].code = 3;
    CHECK_STR(wrote(&h, "[" CALL("nothing", "1") "," CALL_WITH("notifies", "[1]",
                                                               "2") "," CALL("nothing", "3") "]"),
              ALL_IN "a<nothing b<nothing c<nothing c>0,0 b>0,0 a>0,0 a<notifies a>1,3 "
                     "a<nothing b<nothing c<nothing c>0,0 b>0,0 a>0,0 ");
    CHECK_STR(received(&h.exchange_fixture.c),
              "[" OK("null", "1") "," BAD("\"code\":3,\"message\":\"a is against it\"",
                                          "2") "," OK("null", "3") "]");
    exchange_fixture_done(&h.exchange_fixture);
}

TEST(a_message_that_is_not_admitted_is_refused_whole)
{
    struct hall h;
    hall_open(&h);
    h.hooks[1].closed = true;
    h.hooks[1].code = -32011;
    CHECK_STR(wrote(&h, CALL("nothing", "7")), "a? b? ");
    CHECK_STR(received(&h.exchange_fixture.c),
              BAD("\"code\":-32011,\"message\":\"b is closed\"", "7"));
    CHECK_INT(h.exchange_fixture.c.code, -32011);
    CHECK_STR(wrote(&h, "[" CALL("nothing", "1") "," CALL("nothing", "2") "]"), "a? b? ");
    CHECK_STR(received(&h.exchange_fixture.c),
              BAD("\"code\":-32011,\"message\":\"b is closed\"", "null"));
    CHECK_INT(h.exchange_fixture.c.code, -32011);
    CHECK_STR(wrote(&h, NOTIFICATION("nothing")), "a? b? ");
    CHECK_STR(received(&h.exchange_fixture.c), "");
    CHECK_INT(h.exchange_fixture.c.replies, 1);
    h.hooks[1].code = 0;
    CHECK_STR(wrote(&h, CALL("nothing", "7")), "a? b? ");
    CHECK_STR(received(&h.exchange_fixture.c), INTERNAL("7"));
    h.hooks[1].closed = false;
    wrote(&h, CALL("nothing", "7"));
    CHECK_STR(received(&h.exchange_fixture.c), OK("null", "7"));
    exchange_fixture_done(&h.exchange_fixture);
}

TEST(hooks_may_be_left_out)
{
    struct hall h;
    hall_open(&h);
    static const struct fumi_processor nothing = {.name = "nothing"};
    struct fumi_processor only[] = {{"x", NULL, NULL, after, &h.hooks[0]},
                                    {"y", NULL, before, NULL, &h.hooks[1]},
                                    {"z", admit, NULL, NULL, &h.hooks[2]}};
    struct fumi_server *s = server_of(methods, FUMI_COUNT(methods), NULL);
    struct fumi_err e = {0};
    struct caller c;
    CHECK_INT(fumi_server_use(s, &nothing, &e), 0);
    for (size_t i = 0; i < FUMI_COUNT(only); i++)
        CHECK_INT(fumi_server_use(s, &only[i], &e), 0);
    caller_open(&c, s);
    CHECK_STR(reply_to(&c, CALL("nothing", "1")), OK("null", "1"));
    CHECK_STR(fumi_str(h.j.text), "c? b<nothing a>0,0 ");
    caller_done(&c);
    fumi_server_free(s);
    exchange_fixture_done(&h.exchange_fixture);
}

TEST(invoked_methods_bypass_the_hooks)
{
    struct hall h;
    hall_open(&h);
    h.hooks[2].against = "subtract";
    CHECK_STR(wrote(&h, CALL_WITH("invoke", "[\"subtract\",[3,1]]", "1")),
              ALL_IN "a<invoke b<invoke c<invoke c>0,0 b>0,0 a>0,0 ");
    CHECK_STR(received(&h.exchange_fixture.c), OK("2", "1"));
    exchange_fixture_done(&h.exchange_fixture);
}

/* The error of one call does not affect the next. */
TEST(each_call_begins_without_an_error)
{
    struct hall h;
    hall_open(&h);
    CHECK_STR(wrote(&h, "[" CALL_WITH("fail", "[9,\"x\",[1]]", "1") "," CALL(
                            "nothing", "2") "," CALL("fail_silent", "3") "]"),
              ALL_IN "a<fail b<fail c<fail c>1,9 b>1,9 a>1,9 "
                     "a<nothing b<nothing c<nothing c>0,0 b>0,0 a>0,0 "
                     "a<fail_silent b<fail_silent c<fail_silent "
                     "c>1,-32603 b>1,-32603 a>1,-32603 ");
    CHECK_STR(received(&h.exchange_fixture.c),
              "[" BAD("\"code\":9,\"message\":\"x\",\"data\":[1]",
                      "1") "," OK("null", "2") "," INTERNAL("3") "]");
    exchange_fixture_done(&h.exchange_fixture);
}

static void keep_began(void *self, struct fumi_call *call)
{
    *(int64_t *)self = call->began;
}

TEST(a_call_with_hooks_has_a_beginning)
{
    int64_t began = 0;
    struct fumi_processor clock = {"clock", NULL, NULL, keep_began, &began};
    struct exchange_fixture s;
    struct fumi_err e;
    exchange_fixture_open(&s);
    CHECK_INT(fumi_server_use(s.server, &clock, &e), 0);
    reply_to(&s.c, CALL("nothing", "1"));
    CHECK(began > 0);
    exchange_fixture_done(&s);
}

/* A log that the test can read. */
static size_t read_log(int fd, char *out, size_t room)
{
    ssize_t n = read(fd, out, room - 1);
    out[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

static const char *const logged[] = {
    CALL_WITH("fail", "[-32603,\"basil\"]", "1"),
    HEAD "\"fail\",\"params\":[-32603,\"basil\"]}",
    "[" CALL_WITH("fail", "[-32603,\"basil\"]", "1") "]",
};

TEST(an_internal_error_is_logged_and_not_sent)
{
    struct exchange_fixture s;
    int pipes[2];
    char log[2000];
    CHECK_INT(pipe2(pipes, O_NONBLOCK), 0);
    struct fumi_log to = {.level = FUMI_ERROR, .fd = pipes[1]};
    exchange_fixture_open(&s);
    fumi_server_log(s.server, &to);
    for (size_t i = 0; i < FUMI_COUNT(logged); i++) {
        struct fumi_str got = reply_to(&s.c, logged[i]);
        CHECK(!memmem(got.p, got.n, "basil", 5));
        size_t n = read_log(pipes[0], log, sizeof(log));
        if (!n || !strstr(log, "basil") || !strstr(log, "fail") || strchr(log, '\n') != log + n - 1)
            TEST_FAIL("log of %s: %s", logged[i], log);
    }
    reply_to(&s.c, CALL("fail_silent", "1"));
    CHECK(read_log(pipes[0], log, sizeof(log)) && strstr(log, "fail_silent"));
    reply_to(&s.c, CALL("infinite", "1"));
    CHECK(read_log(pipes[0], log, sizeof(log)) && strstr(log, "infinite"));
    reply_to(&s.c, CALL_WITH("fail", "[-32050,\"no fault of ours\"]", "1"));
    reply_to(&s.c, CALL("missing", "1"));
    reply_to(&s.c, CALL("subtract", "1"));
    reply_to(&s.c, "{");
    CHECK_INT(read_log(pipes[0], log, sizeof(log)), 0);
    exchange_fixture_done(&s);
    close(pipes[0]);
    close(pipes[1]);
}

TEST(a_peer_cannot_write_lines_into_the_log)
{
    struct exchange_fixture s;
    int pipes[2];
    char log[2000];
    CHECK_INT(pipe2(pipes, O_NONBLOCK), 0);
    struct fumi_log to = {.fd = pipes[1]};
    exchange_fixture_open(&s);
    fumi_server_log(s.server, &to);
    reply_to(&s.c, CALL_WITH("fail", "[-32603,\"one\\ntwo\\u001b[31m\"]", "1"));
    size_t n = read_log(pipes[0], log, sizeof(log));
    CHECK(n && strchr(log, '\n') == log + n - 1 && !strchr(log, 27));
    exchange_fixture_done(&s);
    close(pipes[0]);
    close(pipes[1]);
}
