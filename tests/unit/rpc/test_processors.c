#include "base/clock.h"
#include "peer_fixture.h"
#include "rpc/processors.h"

#include <fcntl.h>
#include <unistd.h>

#define LATE(data, id)                                                                             \
    BAD("\"code\":-32000,\"message\":\"timeout\",\"data\":\"the call did not " data "\"", id)
#define TIMEOUT(ms, id)                                                                            \
    LATE("end in " ms " ms; its outcome is unknown, check it before you try again", id)
#define NOT_RUN(ms, id) LATE("begin in " ms " ms and was not run", id)

static void use(struct fumi_server *s, struct fumi_processor p)
{
    struct fumi_err e;
    if (fumi_server_use(s, &p, &e))
        abort();
}

/* A log that the test reads. */
struct ink {
    struct fumi_log log;
    int pipes[2];
    char text[4000];
};

static void ink_open(struct ink *i)
{
    if (pipe2(i->pipes, O_NONBLOCK))
        abort();
    i->log = (struct fumi_log){.level = FUMI_INFO, .fd = i->pipes[1]};
}

static void ink_done(struct ink *i)
{
    close(i->pipes[0]);
    close(i->pipes[1]);
}

/* The line written since the last call, without its time; "": none. */
static const char *ink_read(struct ink *i)
{
    ssize_t n = read(i->pipes[0], i->text, sizeof(i->text) - 1);
    i->text[n > 0 ? n : 0] = 0;
    char *space = strchr(i->text, ' ');
    return space ? space + 1 : "";
}

/* Whether a line is that text followed by a number of microseconds. */
static bool is_line(const char *line, const char *start)
{
    size_t n = strlen(start);
    if (strncmp(line, start, n) != 0)
        return false;
    size_t digits = strspn(line + n, "0123456789");
    return digits && strcmp(line + n + digits, "\n") == 0;
}

#define CHECK_LINE(ink, start)                                                                     \
    do {                                                                                           \
        const char *line_ = ink_read(ink);                                                         \
        if (!is_line(line_, start)) {                                                              \
            TEST_FAIL("   got %s\n  want %s...", line_, start);                                    \
            return;                                                                                \
        }                                                                                          \
    } while (0)

static enum fumi_ret run_fail(struct fumi_call *call, const void *params, void *result)
{
    (void)result;
    return fumi_fail(call, (int)((const struct count *)params)->n, "failed");
}

static const struct fumi_method failing[] = {{"fail", "", &n_shape, NULL, run_fail, 0}};

TEST(every_call_is_logged)
{
    struct server_fixture t;
    struct ink i;
    struct fumi_err e;
    ink_open(&i);
    server_fixture_open(&t);
    use(t.server, fumi_log_calls(&i.log));
    CHECK_INT(fumi_server_add(t.server, NULL, failing, 1, NULL, &e), 0);
    reply_to(&t.c, CALL_WITH("echo", "[\"basil\"]", "1"));
    CHECK_LINE(&i, "info rpc.call method=echo transport=test code=0 us=");
    reply_to(&t.c, NOTIFICATION("echo"));
    CHECK_LINE(&i, "info rpc.call method=echo transport=test code=0 us=");
    reply_to(&t.c, CALL_WITH("fail", "[7]", "1"));
    CHECK_LINE(&i, "info rpc.call method=fail transport=test code=7 us=");
    reply_to(&t.c, CALL_WITH("fail", "[-32603]", "1"));
    CHECK_LINE(&i, "error rpc.call method=fail transport=test code=-32603 us=");
    reply_to(&t.c, CALL("fail", "1"));
    CHECK_LINE(&i, "info rpc.call method=fail transport=test code=-32602 us=");
    reply_to(&t.c, CALL_WITH("now", "[1]", "1"));
    CHECK_LINE(&i, "info rpc.call method=now transport=test code=0 us=");
    reply_to(&t.c, "1");
    CHECK_STR(fumi_str(ink_read(&i)), "");
    server_fixture_done(&t);
    ink_done(&i);
}

TEST(a_long_name_is_cut_in_the_log)
{
    struct server_fixture t;
    struct ink i;
    struct fumi_buf b = {0}, want = {0};
    ink_open(&i);
    server_fixture_open(&t);
    use(t.server, fumi_log_calls(&i.log));
    putf(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x");
    put_times(&b, "日", 30);
    putf(&b, "\"}");
    putf(&want, "info rpc.call method=x");
    put_times(&want, "日", 21);
    putf(&want, " transport=test code=-32601 us=%c", 0);
    reply_to_str(&t.c, fumi_buf_str(&b));
    CHECK_LINE(&i, want.p);
    reply_to(&t.c, CALL("one\\ntwo\\u001b", "1"));
    CHECK_LINE(&i, "info rpc.call method=\"one\\ntwo\\x1b\" transport=test code=-32601 us=");
    fumi_buf_done(&b);
    fumi_buf_done(&want);
    server_fixture_done(&t);
    ink_done(&i);
}

TEST(a_log_of_a_higher_level_holds_only_what_failed_inside)
{
    struct server_fixture t;
    struct ink i;
    struct fumi_err e;
    ink_open(&i);
    i.log.level = FUMI_WARN;
    server_fixture_open(&t);
    CHECK_INT(fumi_server_add(t.server, NULL, failing, 1, NULL, &e), 0);
    use(t.server, fumi_log_calls(&i.log));
    reply_to(&t.c, CALL("echo", "1"));
    CHECK_STR(fumi_str(ink_read(&i)), "");
    reply_to(&t.c, CALL_WITH("fail", "[-32603]", "1"));
    CHECK_LINE(&i, "error rpc.call method=fail transport=test code=-32603 us=");
    server_fixture_done(&t);
    ink_done(&i);
}

TEST(the_line_of_a_call_names_its_trace)
{
    static const char end[] = " trace=4bf92f3577b34da6a3ce929d0e0e4736\n";
    struct server_fixture t;
    struct ink i;
    ink_open(&i);
    server_fixture_open(&t);
    use(t.server, fumi_log_calls(&i.log));
    reply_to(&t.c, CALL_WITH("echo",
                             "{\"_meta\":{\"traceparent\":"
                             "\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\"}}",
                             "1"));
    const char *line = ink_read(&i);
    CHECK(strstr(line, "info rpc.call method=echo transport=test code=0 us="));
    CHECK(strlen(line) > strlen(end));
    CHECK_STR(fumi_str(line + strlen(line) - strlen(end)), end);
    server_fixture_done(&t);
    ink_done(&i);
}

/* Time limits: SHORT expires soon, LONG not while a test runs. */
enum { SHORT = 100, LONG = 3600000 };

static void wait_over(int64_t ticks)
{
    while (fumi_ticks() < ticks)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void theatre_limit(struct server_fixture *t, const struct fumi_time_limit *limit)
{
    use(t->server, fumi_limit_time(limit));
}

TEST(a_call_in_time_is_answered)
{
    static const int64_t rows[] = {LONG, 0, -1, INT64_MAX, INT64_MAX / 1000000};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct server_fixture t;
        struct fumi_time_limit limit = {rows[i]};
        server_fixture_open(&t);
        theatre_limit(&t, &limit);
        CHECK_STR(reply_to(&t.c, CALL_WITH("echo", "[1]", "1")), OK("[1]", "1"));
        CHECK_STR(reply_to(&t.c, CALL_WITH("now", "[1]", "1")), OK("[1]", "1"));
        send_text(&t.c, CALL_WITH("defer", "[1]", "1"));
        struct fumi_call *call = fixture_pending(&t.fixture, 0);
        bool limited = rows[i] == LONG;
        CHECK_INT(call->deadline, limited ? call->began + rows[i] * 1000000 : 0);
        CHECK_INT(fumi_time_left(call) == INT64_MAX, !limited);
        CHECK(fumi_time_left(call) > 0 && !fumi_cancelled(call));
        clear_received(&t.c);
        fumi_finish(call, FUMI_OK);
        CHECK_STR(received(&t.c), OK("[1]", "1"));
        server_fixture_done(&t);
    }
}

/* Every outcome becomes a timeout, except for an internal error. */
TEST(a_call_that_ends_too_late_is_refused)
{
    static const struct {
        enum fumi_ret ret;
        int code;
        const char *answer;
    } rows[] = {
        {FUMI_OK, 0, TIMEOUT("100", "1")},
        {FUMI_FAIL, 0, TIMEOUT("100", "1")},
        {FUMI_FAIL, 5, TIMEOUT("100", "1")},
        {FUMI_OK, FUMI_INTERNAL_ERROR, TIMEOUT("100", "1")},
        {FUMI_FAIL, FUMI_INTERNAL_ERROR, TIMEOUT("100", "1")}, /* the timer was first */
    };
    static const struct fumi_time_limit limit = {SHORT};
    struct server_fixture t;
    server_fixture_open(&t);
    theatre_limit(&t, &limit);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        clear_received(&t.c);
        send_text(&t.c, CALL_WITH("defer", "[1]", "1"));
        struct fumi_call *call = fixture_pending(&t.fixture, i);
        wait_replies(&t.c, 1);
        CHECK_INT(fumi_time_left(call), 0);
        CHECK(fumi_cancelled(call));
        if (rows[i].code)
            fumi_fail(call, rows[i].code, "said late");
        fumi_finish(call, rows[i].ret);
        CHECK_STR(received(&t.c), rows[i].answer);
    }
    server_fixture_done(&t);
}

TEST(a_late_notification_and_a_late_cancelled_call_stay_silent)
{
    static const struct fumi_time_limit limit = {SHORT};
    struct server_fixture t;
    server_fixture_open(&t);
    theatre_limit(&t, &limit);
    send_text(&t.c, NOTIFICATION("defer"));
    send_text(&t.c, CALL("defer", "1"));
    send_text(&t.c, "{\"jsonrpc\":\"2.0\",\"method\":\"rpc.cancel\",\"params\":{\"id\":1}}");
    for (size_t i = 0; i < 2; i++) {
        wait_over(fixture_pending(&t.fixture, i)->deadline);
        fumi_finish(fixture_pending(&t.fixture, i), FUMI_OK);
    }
    wait_replies(&t.c, 3);
    CHECK_STR(received(&t.c), "");
    server_fixture_done(&t);
}

TEST(a_call_that_waited_too_long_is_not_run)
{
    static const struct fumi_time_limit limit = {SHORT};
    struct server_fixture t;
    server_fixture_open_manual(&t);
    theatre_limit(&t, &limit);
    send_text(&t.c, CALL("read", "1"));
    wait_replies(&t.c, 1);
    manual_run(&t.manual_executor);
    CHECK_STR(received(&t.c), NOT_RUN("100", "1"));
    CHECK_INT(t.fixture.runs, 0);
    server_fixture_done(&t);
}

/* A call of a batch begins when the one before it has ended. */
TEST(calls_of_a_batch_have_their_own_time)
{
    static const struct fumi_time_limit limit = {LONG};
    struct server_fixture t;
    server_fixture_open_manual(&t);
    theatre_limit(&t, &limit);
    send_text(&t.c, "[" CALL("read_defer", "1") "," CALL("read_defer", "2") "]");
    int64_t before = fumi_ticks();
    manual_run(&t.manual_executor);
    CHECK(fixture_pending(&t.fixture, 0)->began <= before);
    wait_over(fumi_ticks() + 1);
    before = fumi_ticks();
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK(fixture_pending(&t.fixture, 1)->began >= before);
    fumi_finish(fixture_pending(&t.fixture, 1), FUMI_OK);
    CHECK_STR(received(&t.c), "[" OK("null", "1") "," OK("null", "2") "]");
    server_fixture_done(&t);
}

/* The time that an exchange waited does not count for the next message that reuses its memory. */
TEST(the_next_message_has_its_own_time)
{
    static const struct fumi_time_limit limit = {LONG};
    struct server_fixture t;
    server_fixture_open_manual(&t);
    theatre_limit(&t, &limit);
    send_text(&t.c, CALL("read", "1"));
    fumi_cancel(&t.c.peer, &(struct fumi_val){"1", 1, FUMI_NUMBER});
    manual_run(&t.manual_executor);
    int64_t before = fumi_ticks();
    send_text(&t.c, CALL("defer", "2"));
    CHECK(fixture_pending(&t.fixture, 0)->began >= before);
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    server_fixture_done(&t);
}

TEST(of_two_limits_the_shorter_holds)
{
    static const struct fumi_time_limit limits[] = {{SHORT}, {LONG}};
    for (int turned = 0; turned < 2; turned++) {
        struct server_fixture t;
        server_fixture_open(&t);
        theatre_limit(&t, &limits[turned]);
        theatre_limit(&t, &limits[!turned]);
        send_text(&t.c, CALL("defer", "1"));
        struct fumi_call *call = fixture_pending(&t.fixture, 0);
        CHECK_INT(call->deadline - call->began, SHORT * 1000000);
        wait_replies(&t.c, 1);
        fumi_finish(call, FUMI_OK);
        CHECK_STR(received(&t.c), TIMEOUT("100", "1"));
        server_fixture_done(&t);
    }
}

/* Any processor may set a deadline. */
static enum fumi_ret too_late(void *self, struct fumi_call *call)
{
    (void)self;
    call->deadline = call->began;
    return FUMI_OK;
}

struct outcome {
    enum fumi_ret ret;
    int code;
    bool ordered;
};

static void keep_outcome(void *self, struct fumi_call *call)
{
    struct outcome *o = self;
    *o = (struct outcome){call->ret, call->err.code, call->began <= call->ended};
}

TEST(a_deadline_that_is_over_refuses_the_call)
{
    struct server_fixture t;
    struct outcome seen = {0};
    server_fixture_open(&t);
    use(t.server, (struct fumi_processor){.name = "see", .after = keep_outcome, .self = &seen});
    CHECK_STR(reply_to(&t.c, CALL_WITH("count", "[1]", "1")), OK("[1]", "1"));
    CHECK_INT(seen.ret, FUMI_OK);
    server_fixture_done(&t);
    server_fixture_open(&t);
    use(t.server, (struct fumi_processor){.name = "see", .after = keep_outcome, .self = &seen});
    use(t.server, (struct fumi_processor){.name = "late", .before = too_late});
    CHECK_STR(reply_to(&t.c, "[" CALL("count", "1") "," CALL("missing", "2") "]"),
              "[" NOT_RUN("0", "1") "," NOT_RUN("0", "2") "]");
    CHECK_INT(t.fixture.runs, 0);
    CHECK_INT(seen.ret, FUMI_FAIL);
    CHECK_INT(seen.code, FUMI_LIMIT);
    CHECK(seen.ordered);
    server_fixture_done(&t);
}

/* An invoked method shares the deadline of its call. */
static enum fumi_ret see_left(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    ((struct count *)result)->n = call->deadline ? fumi_time_left(call) > 0 : -1;
    return FUMI_OK;
}

static enum fumi_ret invoke_left(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    return fumi_invoke(call, FUMI_STR("left"), NULL, false, fumi_result(call), NULL);
}

TEST(an_invoked_method_has_the_deadline_of_its_caller)
{
    static const struct fumi_method rows[] = {
        {"left", "", NULL, &count_shape, see_left, 0},
        {"invoke", "", NULL, NULL, invoke_left, 0},
    };
    static const struct fumi_time_limit limit = {LONG};
    struct fumi_server *s = server_of(rows, FUMI_COUNT(rows), NULL);
    struct caller c;
    use(s, fumi_limit_time(&limit));
    caller_open(&c, s);
    CHECK_STR(reply_to(&c, CALL("left", "1")), OK("1", "1"));
    CHECK_STR(reply_to(&c, CALL("invoke", "1")), OK("1", "1"));
    caller_done(&c);
    fumi_server_free(s);
}

TEST(without_hooks_there_is_no_deadline)
{
    struct server_fixture t;
    server_fixture_open(&t);
    send_text(&t.c, CALL("defer", "1"));
    struct fumi_call *call = fixture_pending(&t.fixture, 0);
    CHECK_INT(call->deadline, 0);
    CHECK(fumi_time_left(call) == INT64_MAX);
    CHECK(!fumi_cancelled(call));
    fumi_finish(call, FUMI_OK);
    server_fixture_done(&t);
}

/* Many calls on few threads; some miss their deadline. */
TEST(limits_hold_on_the_executor)
{
    static const struct fumi_time_limit limit = {SHORT};
    struct server_fixture t;
    server_fixture_open_pool(&t, 3);
    theatre_limit(&t, &limit);
    for (int i = 0; i < 300; i++)
        send_text(&t.c, i % 7 ? CALL("read", "1") : CALL("write", "1"));
    wait_replies(&t.c, 300);
    size_t good = 0, late = 0;
    for (const char *p = received(&t.c).p, *end = p + received(&t.c).n; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        struct fumi_str line = {p, (size_t)((stop ? stop : end) - p)};
        good += fumi_eq(line, fumi_str(OK("null", "1")));
        late += fumi_eq(line, fumi_str(TIMEOUT("100", "1"))) ||
                fumi_eq(line, fumi_str(LATE("end in 100 ms", "1"))) ||
                fumi_eq(line, fumi_str(NOT_RUN("100", "1")));
        p += line.n + 1;
    }
    CHECK_INT(good + late, 300);
    server_fixture_done(&t);
}
