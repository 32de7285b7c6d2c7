#include "peer_fixture.h"

/* Cancels the call with that id, which is given as JSON. */
static bool cancel(struct caller *c, const char *id)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    bool found = fumi_cancel(&c->peer, fumi_parse(&a, fumi_str(id), &e));
    fumi_arena_done(&a);
    return found;
}

TEST(a_running_call_is_cancelled)
{
    struct server_fixture t;
    server_fixture_open_pool(&t, 1);
    send_text(&t.c, CALL("wait", "5"));
    wait_began(&t.fixture, 1);
    CHECK(cancel(&t.c, "5"));
    let_in(&t.fixture, 1);
    wait_replies(&t.c, 1);
    CHECK_STR(received(&t.c), "");
    CHECK_INT(t.c.code, 0);
    CHECK(t.fixture.saw_cancel);
    CHECK(!cancel(&t.c, "5"));
    server_fixture_done(&t);
}

TEST(is_cancelled_is_false_for_other_calls)
{
    struct server_fixture t;
    server_fixture_open_pool(&t, 1);
    send_text(&t.c, CALL("wait", "5"));
    wait_began(&t.fixture, 1);
    let_in(&t.fixture, 1);
    wait_replies(&t.c, 1);
    CHECK(!t.fixture.saw_cancel);
    CHECK_STR(received(&t.c), OK("null", "5"));
    server_fixture_done(&t);
}

TEST(only_an_open_call_of_that_peer_and_id_is_cancelled)
{
    static const char *const others[] = {"6",  "50", "\"5\"", "null", "true", "[5]",
                                         "{}", "-5", "5.5",   "\"\"", "0",    "[]"};
    struct server_fixture t;
    struct caller other;
    server_fixture_open(&t);
    caller_open(&other, t.server);
    CHECK(!cancel(&t.c, "5"));
    send_text(&t.c, CALL("defer", "5"));
    for (size_t i = 0; i < FUMI_COUNT(others); i++)
        if (cancel(&t.c, others[i]))
            TEST_FAIL("%s cancels 5", others[i]);
    CHECK(!fumi_cancel(&t.c.peer, NULL));
    CHECK(!cancel(&other, "5"));
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK_STR(received(&t.c), OK("null", "5"));
    CHECK(!cancel(&t.c, "5"));
    caller_done(&other);
    server_fixture_done(&t);
}

TEST(ids_are_compared_by_what_they_spell)
{
    static const struct {
        const char *call, *id;
    } rows[] = {
        {CALL("defer", "\"a\""), "\"a\""},
        {CALL("defer", "\"a\""), "\"\\u0061\""},
        {CALL("defer", "\"\\u0061\""), "\"a\""},
        {CALL("defer", "\"日\""), "\"\\u65e5\""},
        {CALL("defer", "\"\""), "\"\""},
        {CALL("defer", "9007199254740993"), "9007199254740993"},
        {CALL("defer", "-1.50"), "-1.50"},
        {CALL("defer", "0"), "0"},
        {CALL("defer", "\"5\""), "\"5\""},
    };
    struct server_fixture t;
    server_fixture_open(&t);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        send_text(&t.c, rows[i].call);
        if (!cancel(&t.c, rows[i].id))
            TEST_FAIL("%s is not cancelled by %s", rows[i].call, rows[i].id);
        fumi_finish(fixture_pending(&t.fixture, i), FUMI_OK);
    }
    CHECK_STR(received(&t.c), "");
    CHECK_INT(replies(&t.c), FUMI_COUNT(rows));
    server_fixture_done(&t);
}

TEST(a_notification_cannot_be_cancelled)
{
    struct server_fixture t;
    server_fixture_open(&t);
    send_text(&t.c, NOTIFICATION("defer"));
    CHECK(!cancel(&t.c, "null"));
    CHECK(!fumi_cancel(&t.c.peer, NULL));
    CHECK(!fumi_cancelled(fixture_pending(&t.fixture, 0)));
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK_INT(replies(&t.c), 1);
    server_fixture_done(&t);
}

TEST(a_cancelled_call_is_silent_however_it_ends)
{
    static const struct {
        enum fumi_ret ret;
        int code;
    } rows[] = {{FUMI_OK, 0}, {FUMI_FAIL, 0}, {FUMI_FAIL, 5}, {FUMI_FAIL, FUMI_INTERNAL_ERROR}};
    struct server_fixture t;
    server_fixture_open(&t);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct finisher f = {&t.fixture, i, 1, rows[i].ret, rows[i].code, 0};
        send_text(&t.c, CALL("defer", "1"));
        CHECK(cancel(&t.c, "1"));
        CHECK(fumi_cancelled(fixture_pending(&t.fixture, i)));
        finisher_start(&f);
        finisher_join(&f);
        wait_replies(&t.c, i + 1);
        CHECK_STR(received(&t.c), "");
        CHECK_INT(t.c.code, 0);
    }
    server_fixture_done(&t);
}

TEST(a_cancelled_call_sends_no_notifications)
{
    struct server_fixture t;
    server_fixture_open(&t);
    send_text(&t.c, CALL("defer", "1"));
    fumi_notify(fixture_pending(&t.fixture, 0), "before", NULL, NULL);
    CHECK(cancel(&t.c, "1"));
    fumi_notify(fixture_pending(&t.fixture, 0), "after", NULL, NULL);
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK_STR(received(&t.c), "{\"jsonrpc\":\"2.0\",\"method\":\"before\"}");
    CHECK_INT(replies(&t.c), 1);
    server_fixture_done(&t);
}

TEST(a_call_cancelled_before_it_starts_is_not_run)
{
    struct server_fixture t;
    server_fixture_open_manual(&t);
    send_text(&t.c, CALL("write", "1"));
    send_text(&t.c, CALL("write", "2"));
    send_text(&t.c, CALL("write", "3"));
    CHECK(cancel(&t.c, "1")); /* submitted, not started */
    CHECK(cancel(&t.c, "2")); /* waits for an earlier call */
    while (t.manual_executor.n)
        manual_run(&t.manual_executor);
    CHECK_INT(replies(&t.c), 3);
    CHECK_STR(received(&t.c), OK("null", "3"));
    CHECK_INT(t.fixture.runs, 1);
    server_fixture_done(&t);
}

/* Each call of a batch is cancelled separately, before or while it runs. */
TEST(a_member_of_a_batch_is_cancelled)
{
    static const struct {
        const char *id, *answer;
        int runs;
    } rows[] = {
        {"1", "[" OK("null", "2") "," OK("null", "3") "]", 2},
        {"2", "[" OK("null", "1") "," OK("null", "3") "]", 2},
        {"3", "[" OK("null", "1") "," OK("null", "2") "]", 2},
        {"4", "[" OK("null", "1") "," OK("null", "2") "," OK("null", "3") "]", 3},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct server_fixture t;
        server_fixture_open_manual(&t);
        send_text(&t.c, "[" CALL("read", "1") "," NOTIFICATION("echo") "," CALL(
                            "read", "2") "," CALL("read", "3") "]");
        CHECK_INT(cancel(&t.c, rows[i].id), i < 3);
        manual_run(&t.manual_executor);
        CHECK_STR(received(&t.c), rows[i].answer);
        CHECK_INT(t.fixture.runs, rows[i].runs);
        server_fixture_done(&t);
    }
}

TEST(a_running_member_of_a_batch_is_cancelled)
{
    struct server_fixture t;
    server_fixture_open(&t);
    send_text(&t.c, "[" CALL("echo", "1") "," CALL("defer", "2") "," CALL("echo", "3") "]");
    CHECK(cancel(&t.c, "2"));
    CHECK(fumi_cancelled(fixture_pending(&t.fixture, 0)));
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK_STR(received(&t.c), "[" OK("null", "1") "," OK("null", "3") "]");
    clear_received(&t.c);
    send_text(&t.c, "[" CALL("defer", "1") "," CALL("count", "2") "," CALL("defer", "3") "]");
    CHECK(cancel(&t.c, "3"));
    CHECK(!fumi_cancelled(fixture_pending(&t.fixture, 1)));
    CHECK(cancel(&t.c, "1"));
    CHECK(fumi_cancelled(fixture_pending(&t.fixture, 1)));
    fumi_finish(fixture_pending(&t.fixture, 1), FUMI_OK);
    CHECK_STR(received(&t.c), "[" OK("null", "2") "]");
    CHECK_INT(t.fixture.pending_n, 2);
    server_fixture_done(&t);
}

TEST(a_batch_with_every_member_cancelled_is_answered_with_nothing)
{
    struct server_fixture t;
    server_fixture_open_manual(&t);
    send_text(&t.c, "[" CALL("read", "1") "," NOTIFICATION("read") "," CALL("read", "\"x\"") "]");
    CHECK(cancel(&t.c, "\"x\""));
    CHECK(cancel(&t.c, "1"));
    manual_run(&t.manual_executor);
    CHECK_INT(replies(&t.c), 1);
    CHECK_STR(received(&t.c), "");
    CHECK_INT(t.fixture.runs, 1);
    server_fixture_done(&t);
}

/* The result of cancelling a call of a batch that may have ended agrees with the answer. */
TEST(a_member_that_has_ended_is_no_longer_open)
{
    struct server_fixture t;
    server_fixture_open(&t);
    send_text(&t.c, "[" CALL("echo", "1") "," CALL("defer", "2") "]");
    CHECK(!cancel(&t.c, "1"));
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK_STR(received(&t.c), "[" OK("null", "1") "," OK("null", "2") "]");
    server_fixture_done(&t);
}

TEST(a_cancelled_writer_lets_others_pass)
{
    struct server_fixture t;
    server_fixture_open_manual(&t);
    send_text(&t.c, CALL("write_defer", "1"));
    send_text(&t.c, CALL("read", "2"));
    manual_run(&t.manual_executor);
    CHECK(cancel(&t.c, "1"));
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK_INT(t.manual_executor.n, 1);
    manual_run(&t.manual_executor);
    CHECK_STR(received(&t.c), OK("null", "2"));
    CHECK_INT(replies(&t.c), 2);
    server_fixture_done(&t);
}

#define CANCEL(id) "{\"jsonrpc\":\"2.0\",\"method\":\"rpc.cancel\",\"params\":" id "}"

TEST(a_client_cancels_by_message)
{
    struct server_fixture t;
    server_fixture_open_pool(&t, 1);
    send_text(&t.c, CALL("wait_write", "5"));
    wait_began(&t.fixture, 1);
    send_text(&t.c, CANCEL("{\"id\":6}"));
    CHECK_INT(replies(&t.c), 1); /* at once, although the only worker is busy */
    send_text(&t.c, CANCEL("{\"id\":5}"));
    CHECK_INT(replies(&t.c), 2);
    CHECK_STR(received(&t.c), "");
    let_in(&t.fixture, 1);
    wait_replies(&t.c, 3);
    CHECK_STR(received(&t.c), "");
    CHECK(t.fixture.saw_cancel);
    server_fixture_done(&t);
}

TEST(rpc_cancel_returns_whether_a_call_was_cancelled)
{
    struct server_fixture t;
    server_fixture_open(&t);
    send_text(&t.c, CALL("defer", "\"x\""));
    CHECK_STR(reply_to(&t.c, CALL_WITH("rpc.cancel", "{\"id\":\"y\"}", "1")), OK("false", "1"));
    CHECK_STR(reply_to(&t.c, CALL_WITH("rpc.cancel", "[\"x\"]", "2")), OK("true", "2"));
    clear_received(&t.c);
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK_STR(received(&t.c), "");
    CHECK_INT(replies(&t.c), 1);
    CHECK_STR(reply_to(&t.c, CALL_WITH("rpc.cancel", "[\"x\"]", "3")), OK("false", "3"));
    server_fixture_done(&t);
}

TEST(a_cancel_needs_an_id)
{
    static const char *const wrong[] = {CALL("rpc.cancel", "1"), CALL_WITH("rpc.cancel", "{}", "1"),
                                        CALL_WITH("rpc.cancel", "[]", "1"),
                                        CALL_WITH("rpc.cancel", "[1,2]", "1"),
                                        CALL_WITH("rpc.cancel", "{\"ID\":1}", "1")};
    struct server_fixture t;
    server_fixture_open(&t);
    for (size_t i = 0; i < FUMI_COUNT(wrong); i++) {
        reply_to(&t.c, wrong[i]);
        CHECK_INT(t.c.code, FUMI_INVALID_PARAMS);
    }
    server_fixture_done(&t);
}

/* A call cannot cancel itself, nor be cancelled after its end. */
TEST(a_cancel_of_itself_ends_well)
{
    struct server_fixture t;
    server_fixture_open_pool(&t, 1);
    reply_to(&t.c, CALL_WITH("rpc.cancel", "[9]", "9"));
    CHECK_INT(replies(&t.c), 1);
    reply_to(&t.c, "[" CALL_WITH("rpc.cancel", "[9]", "9") "," CALL("read", "10") "]");
    CHECK_INT(replies(&t.c), 1);
    CHECK_STR(reply_to(&t.c, CALL("echo", "9")), OK("null", "9"));
    server_fixture_done(&t);
}

static enum fumi_ret enter(void *self, struct fumi_call *call)
{
    (void)call;
    ++*(int *)self;
    return FUMI_OK;
}

static void leave(void *self, struct fumi_call *call)
{
    (void)call;
    --*(int *)self;
}

TEST(a_cancelled_call_leaves_its_hooks)
{
    struct server_fixture t;
    int inside = 0;
    struct fumi_processor p = {"inside", NULL, enter, leave, &inside};
    struct fumi_err e;
    server_fixture_open_manual(&t);
    CHECK_INT(fumi_server_use(t.server, &p, &e), 0);
    send_text(&t.c, CALL("read_defer", "1"));
    manual_run(&t.manual_executor);
    CHECK_INT(inside, 1);
    CHECK(cancel(&t.c, "1"));
    CHECK_INT(inside, 1);
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK_INT(inside, 0);
    send_text(&t.c, CALL("read", "2"));
    CHECK(cancel(&t.c, "2"));
    manual_run(&t.manual_executor);
    CHECK_INT(inside, 0);
    CHECK_INT(replies(&t.c), 2);
    server_fixture_done(&t);
}

/* A call ends on one thread while another cancels it: it is answered if and only if the
 * cancellation was not reported as successful. */
TEST(cancel_and_end_agree)
{
    enum { ROUNDS = 1500 };
    struct server_fixture t;
    int cancelled = 0;
    server_fixture_open(&t);
    for (int i = 0; i < ROUNDS; i++) {
        struct finisher f = {&t.fixture, 0, 1, FUMI_OK, 0, 0};
        t.fixture.pending_n = 0;
        clear_received(&t.c);
        send_text(&t.c,
                  i % 2 ? CALL("defer", "1") : "[" CALL("defer", "1") "," NOTIFICATION("echo") "]");
        finisher_start(&f);
        for (int spin = i % 97 * 40; spin; spin--)
            __asm__ volatile("");
        bool gone = cancel(&t.c, "1");
        finisher_join(&f);
        CHECK_INT(replies(&t.c), 1);
        CHECK_INT(received(&t.c).n == 0, gone);
        cancelled += gone;
    }
    CHECK(cancelled <= ROUNDS);
    server_fixture_done(&t);
}

TEST(a_peer_that_is_gone_gets_no_answers)
{
    struct server_fixture t;
    server_fixture_open_manual(&t);
    send_text(&t.c, CALL("read_defer", "1"));
    manual_run(&t.manual_executor);
    send_text(&t.c, CALL("read", "2"));
    send_text(&t.c, "[" CALL("write", "3") "," CALL("write", "4") "," NOTIFICATION("write") "]");
    send_text(&t.c, NOTIFICATION("write"));
    send_text(&t.c, CALL("defer", "5"));
    fumi_peer_close(&t.c.peer);
    CHECK(fumi_cancelled(fixture_pending(&t.fixture, 0)));
    CHECK(fumi_cancelled(fixture_pending(&t.fixture, 1)));
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    fumi_finish(fixture_pending(&t.fixture, 1), FUMI_OK);
    while (t.manual_executor.n)
        manual_run(&t.manual_executor);
    CHECK_INT(replies(&t.c), 5);
    CHECK_STR(received(&t.c), "");
    server_fixture_done(&t);
}

TEST(a_peer_that_is_gone_does_not_disturb_others)
{
    struct server_fixture t;
    struct caller other;
    server_fixture_open_manual(&t);
    caller_open(&other, t.server);
    send_text(&t.c, CALL("read", "1"));
    send_text(&other, CALL("read", "1"));
    fumi_peer_close(&t.c.peer);
    manual_run(&t.manual_executor);
    manual_run(&t.manual_executor);
    CHECK_STR(received(&t.c), "");
    CHECK_STR(received(&other), OK("null", "1"));
    caller_done(&other);
    server_fixture_done(&t);
}

/* After the end of input open calls are still answered. */
TEST(a_peer_that_has_said_all_gets_its_answers)
{
    struct server_fixture t;
    server_fixture_open_manual(&t);
    send_text(&t.c, CALL("write", "1"));
    send_text(&t.c, CALL("defer", "2"));
    send_text(&t.c, CALL("write", "3"));
    fumi_peer_eof(&t.c.peer);
    CHECK(!fumi_cancelled(fixture_pending(&t.fixture, 0)));
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    while (t.manual_executor.n)
        manual_run(&t.manual_executor);
    CHECK_STR(received(&t.c), OK("null", "2") "\n" OK("null", "1") "\n" OK("null", "3"));
    server_fixture_done(&t);
}

TEST(a_peer_may_go_while_its_calls_end)
{
    enum { ROUNDS = 300, EACH = 8 };
    for (int i = 0; i < ROUNDS; i++) {
        struct server_fixture t;
        server_fixture_open_pool(&t, 3);
        for (int n = 0; n < EACH; n++)
            send_text(&t.c, n % 4 == 3 ? CALL("write", "1") : CALL("read", "2"));
        send_text(&t.c, CALL("defer", "3"));
        struct finisher f = {&t.fixture, 0, 1, FUMI_OK, 0, 0};
        finisher_start(&f);
        if (i % 2)
            fumi_peer_eof(&t.c.peer);
        fumi_peer_close(&t.c.peer);
        finisher_join(&f);
        wait_replies(&t.c, EACH + 1);
        server_fixture_done(&t);
    }
}

/* A call that has started and may have changed something is still answered; it sees that it is
 * cancelled. */
TEST(shutdown_answers_calls_that_write)
{
    struct server_fixture t;
    struct fumi_buf names = {0};
    server_fixture_open_pool(&t, 2);
    send_text(&t.c, CALL("wait_write", "1"));
    send_text(&t.c, CALL("write", "2")); /* waits for the first call, so it has not started */
    wait_began(&t.fixture, 1);
    CHECK_INT(fumi_peer_calls(&t.c.peer, false, &names), 2);
    CHECK_STR(fumi_buf_str(&names), "wait_write write");
    CHECK_INT(fumi_peer_calls(&t.c.peer, true, NULL), 1);
    fumi_peer_end(&t.c.peer);
    CHECK_INT(fumi_peer_calls(&t.c.peer, true, NULL), 1);
    let_in(&t.fixture, 1);
    wait_replies(&t.c, 2);
    CHECK(t.fixture.saw_cancel);
    CHECK_STR(received(&t.c), OK("null", "1"));
    CHECK_INT(fumi_peer_calls(&t.c.peer, false, NULL), 0);
    fumi_buf_done(&names);
    server_fixture_done(&t);
}

TEST(shutdown_cancels_calls_that_read)
{
    struct server_fixture t;
    server_fixture_open_pool(&t, 2);
    send_text(&t.c, CALL("wait", "1"));
    wait_began(&t.fixture, 1);
    CHECK_INT(fumi_peer_calls(&t.c.peer, true, NULL), 0);
    fumi_peer_end(&t.c.peer);
    let_in(&t.fixture, 1);
    wait_replies(&t.c, 1);
    CHECK_STR(received(&t.c), "");
    server_fixture_done(&t);
}

/* The rest of a batch is not started. A peer that disconnects then receives no answer. */
TEST(the_rest_of_a_batch_is_not_run_behind_a_call_that_writes)
{
    for (int gone = 0; gone < 2; gone++) {
        struct server_fixture t;
        server_fixture_open_pool(&t, 2);
        send_text(&t.c, "[" CALL("wait_write", "1") "," CALL("write", "2") "]");
        wait_began(&t.fixture, 1);
        fumi_peer_end(&t.c.peer);
        if (gone)
            fumi_peer_close(&t.c.peer);
        let_in(&t.fixture, 1);
        wait_replies(&t.c, 1);
        CHECK_STR(received(&t.c),
                  gone ? ""
                       : "[" OK("null", "1") "," BAD(
                             "\"code\":-32000,\"message\":\"cancelled before it began\"", "2") "]");
        server_fixture_done(&t);
    }
}
