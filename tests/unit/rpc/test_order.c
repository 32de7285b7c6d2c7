#include "peer_fixture.h"

/* The thread that a method ran on. */
static enum fumi_ret run_here(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    ((struct count *)result)->n = !pthread_equal(pthread_self(), *(pthread_t *)call->self);
    return FUMI_OK;
}

static const struct fumi_method where[] = {
    {"here", "", NULL, &count_shape, run_here, FUMI_READ_ONLY},
    {"away", "", NULL, &count_shape, run_here, FUMI_BLOCKING | FUMI_READ_ONLY},
    {"away_write", "", NULL, &count_shape, run_here, FUMI_BLOCKING},
};

TEST(blocking_methods_run_on_the_executor)
{
    pthread_t me = pthread_self();
    struct pool *pool = pool_new(2, NULL);
    struct fumi_server *s = server_of(where, FUMI_COUNT(where), &me);
    struct caller c;
    fumi_server_executor(s, pool_submit, pool);
    caller_open(&c, s);
    CHECK_STR(reply_to(&c, CALL("here", "1")), OK("0", "1"));
    CHECK_STR(reply_to(&c, CALL("away", "1")), OK("1", "1"));
    CHECK_STR(reply_to(&c, CALL("away_write", "1")), OK("1", "1"));
    CHECK_STR(reply_to(&c, NOTIFICATION("away")), "");
    CHECK_STR(reply_to(&c, "[" CALL("here", "1") "," CALL("here", "2") "]"),
              "[" OK("0", "1") "," OK("0", "2") "]");
    CHECK_STR(reply_to(&c, "[" CALL("here", "1") "," CALL("away", "2") "," CALL("here", "3") "]"),
              "[" OK("0", "1") "," OK("1", "2") "," OK("1", "3") "]");
    pool_free(pool);
    caller_done(&c);
    fumi_server_free(s);
}

TEST(without_an_executor_they_run_where_they_are_called)
{
    pthread_t me = pthread_self();
    struct fumi_server *s = server_of(where, FUMI_COUNT(where), &me);
    struct caller c;
    caller_open(&c, s);
    CHECK_STR(reply_to(&c, CALL("away", "1")), OK("0", "1"));
    CHECK_STR(reply_to(&c, "[" CALL("away", "1") "," CALL("away_write", "2") "]"),
              "[" OK("0", "1") "," OK("0", "2") "]");
    caller_done(&c);
    fumi_server_free(s);
}

/* Calls that need no worker are answered before fumi_handle returns, although all workers are busy.
 */
TEST(short_methods_do_not_wait_for_workers)
{
    struct server_fixture t;
    server_fixture_open_pool(&t, 2);
    send_text(&t.c, CALL("wait", "1"));
    send_text(&t.c, CALL("wait", "2"));
    send_text(&t.c, CALL("wait", "3"));
    wait_began(&t.fixture, 2);
    CHECK_INT(replies(&t.c), 0);
    send_text(&t.c, CALL("echo", "4"));
    CHECK_INT(replies(&t.c), 1);
    send_text(&t.c, CALL("missing", "5"));
    CHECK_INT(replies(&t.c), 2);
    send_text(&t.c, "{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":1}");
    send_text(&t.c, "{");
    CHECK_INT(replies(&t.c), 4);
    let_in(&t.fixture, 3);
    wait_replies(&t.c, 7);
    server_fixture_done(&t);
}

/* All three are inside at once, which is possible only if they run in parallel. */
TEST(readers_overlap)
{
    struct server_fixture t;
    server_fixture_open_pool(&t, 3);
    send_text(&t.c, CALL("wait", "1"));
    send_text(&t.c, CALL("wait", "2"));
    send_text(&t.c, "[" CALL("wait", "3") "," CALL("echo", "4") "]");
    wait_began(&t.fixture, 3);
    pthread_mutex_lock(&t.fixture.lock);
    int inside = t.fixture.inside;
    pthread_mutex_unlock(&t.fixture.lock);
    CHECK_INT(inside, 3);
    let_in(&t.fixture, 3);
    wait_replies(&t.c, 3);
    server_fixture_done(&t);
}

/* With the manual executor the test sees which calls are submitted and which wait. */
static void script(struct server_fixture *t, const char *messages)
{
    for (; *messages; messages++)
        send_text(&t->c, *messages == 'r' ? CALL("read", "1") : CALL("write", "2"));
}

TEST(a_writer_waits_for_all_before_it_and_holds_back_all_after_it)
{
    struct server_fixture t;
    server_fixture_open_manual(&t);
    script(&t, "rrwrrwwr");
    CHECK_INT(t.manual_executor.n, 2); /* the first two readers */
    manual_run(&t.manual_executor);
    CHECK_INT(t.manual_executor.n, 1);
    manual_run(&t.manual_executor);
    CHECK_INT(t.manual_executor.n, 1); /* the first writer */
    manual_run(&t.manual_executor);
    CHECK_INT(t.manual_executor.n, 2); /* two readers */
    manual_run(&t.manual_executor);
    manual_run(&t.manual_executor);
    CHECK_INT(t.manual_executor.n, 1); /* a writer */
    manual_run(&t.manual_executor);
    CHECK_INT(t.manual_executor.n, 1); /* the next writer */
    manual_run(&t.manual_executor);
    CHECK_INT(t.manual_executor.n, 1); /* the last reader */
    manual_run(&t.manual_executor);
    CHECK_INT(t.manual_executor.n, 0);
    CHECK_INT(t.fixture.runs, 8);
    CHECK_INT(replies(&t.c), 8);
    server_fixture_done(&t);
}

TEST(a_reader_that_comes_while_readers_run_joins_them)
{
    struct server_fixture t;
    server_fixture_open_manual(&t);
    script(&t, "r");
    CHECK_INT(t.manual_executor.n, 1);
    script(&t, "r");
    CHECK_INT(t.manual_executor.n, 2);
    script(&t, "w");
    CHECK_INT(t.manual_executor.n, 2);
    script(&t, "r");
    CHECK_INT(t.manual_executor.n,
              2); /* behind a writer that waits, so that the writer does not starve */
    while (t.manual_executor.n)
        manual_run(&t.manual_executor);
    CHECK_INT(replies(&t.c), 4);
    server_fixture_done(&t);
}

/* A batch writes if one of its methods does; notifications count too. */
TEST(batches_and_notifications_keep_the_order)
{
    struct server_fixture t;
    server_fixture_open_manual(&t);
    send_text(&t.c, "[" CALL("read", "1") "," CALL("echo", "2") "]");
    send_text(&t.c, "[" NOTIFICATION("read") "," NOTIFICATION("read") "]");
    CHECK_INT(t.manual_executor.n, 2);
    send_text(&t.c, "[" CALL("read", "3") "," CALL("write", "4") "]");
    send_text(&t.c, CALL("read", "5"));
    CHECK_INT(t.manual_executor.n, 2);
    manual_run(&t.manual_executor);
    manual_run(&t.manual_executor);
    CHECK_INT(t.manual_executor.n, 1);
    manual_run(&t.manual_executor);
    CHECK_INT(t.manual_executor.n, 1);
    send_text(&t.c, NOTIFICATION("write"));
    send_text(&t.c, NOTIFICATION("read"));
    CHECK_INT(t.manual_executor.n, 1);
    while (t.manual_executor.n)
        manual_run(&t.manual_executor);
    CHECK_INT(replies(&t.c), 6);
    server_fixture_done(&t);
}

/* The answers of the others wait for the oldest call: only that call continues. */
TEST(of_a_peer_that_is_held_the_oldest_call_may_go_on)
{
    struct server_fixture t;
    server_fixture_open_manual(&t);
    for (int i = 0; i < 3; i++)
        send_text(&t.c, CALL("read", "1"));
    CHECK_INT(t.manual_executor.n, 3);
    struct fumi_task *oldest = fumi_tasks_take(&t.manual_executor.tasks);
    fumi_peer_hold(&t.c.peer, FUMI_HOLD_LATER);
    for (t.manual_executor.n--; t.manual_executor.n;)
        manual_run(&t.manual_executor); /* they wait again */
    CHECK_INT(fixture_runs(&t.fixture), 0);
    oldest->run(oldest);
    CHECK_INT(replies(&t.c), 1);
    CHECK_INT(t.manual_executor.n, 1); /* the next one is the oldest now */
    fumi_peer_hold(&t.c.peer, FUMI_HOLD_ALL);
    manual_run(&t.manual_executor);
    CHECK_INT(replies(&t.c), 1);
    fumi_peer_hold(&t.c.peer, FUMI_HOLD_LATER);
    CHECK_INT(t.manual_executor.n, 1);
    fumi_peer_hold(&t.c.peer, FUMI_HOLD_NONE);
    CHECK_INT(t.manual_executor.n, 2);
    while (t.manual_executor.n)
        manual_run(&t.manual_executor);
    CHECK_INT(replies(&t.c), 3);
    server_fixture_done(&t);
}

TEST(a_call_that_is_pending_holds_back_nothing)
{
    struct server_fixture t;
    server_fixture_open_manual(&t);
    send_text(&t.c, CALL("write_defer", "1"));
    send_text(&t.c, CALL("read", "2"));
    send_text(&t.c, CALL("echo", "3"));
    CHECK_INT(t.manual_executor.n, 1);
    manual_run(&t.manual_executor);
    CHECK_INT(replies(&t.c), 0);
    CHECK_INT(t.manual_executor.n, 2);
    manual_run(&t.manual_executor);
    manual_run(&t.manual_executor);
    CHECK_INT(replies(&t.c), 2);
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK_INT(replies(&t.c), 3);
    server_fixture_done(&t);
}

/* A method that does not block waits for earlier writers, and for nothing else. */
TEST(inline_calls_wait_for_writers_of_their_peer)
{
    struct server_fixture t;
    struct caller other;
    server_fixture_open_manual(&t);
    caller_open(&other, t.server);
    send_text(&t.c, CALL("read", "1"));
    send_text(&t.c, CALL("echo", "2"));
    CHECK_STR(received(&t.c), OK("null", "2"));
    send_text(&t.c, CALL("write", "3"));
    clear_received(&t.c);
    send_text(&t.c, CALL("echo", "4"));
    send_text(&t.c, "[" CALL("echo", "5") "," CALL("missing", "6") "]");
    CHECK_INT(replies(&t.c), 0);
    CHECK_STR(reply_to(&other, CALL("echo", "7")), OK("null", "7"));
    while (t.manual_executor.n)
        manual_run(&t.manual_executor);
    CHECK_STR(received(&t.c),
              OK("null", "1") "\n" OK("null", "3") "\n" OK("null", "4") "\n[" OK(
                  "null", "5") "," BAD("\"code\":-32601,\"message\":\"Method not found\",\"data\":"
                                       "\"missing\"",
                                       "6") "]");
    CHECK_STR(reply_to(&t.c, CALL("echo", "8")), OK("null", "8"));
    caller_done(&other);
    server_fixture_done(&t);
}

TEST(cancel_and_async_calls_do_not_wait)
{
    struct server_fixture t;
    server_fixture_open_manual(&t);
    send_text(&t.c, CALL("write", "1"));
    CHECK_STR(reply_to(&t.c, CALL_WITH("rpc.cancel", "[1]", "2")), OK("true", "2"));
    clear_received(&t.c);
    send_text(&t.c, CALL("now", "3"));
    CHECK_STR(received(&t.c), OK("null", "3"));
    manual_run(&t.manual_executor);
    CHECK_INT(fixture_runs(&t.fixture), 0);
    server_fixture_done(&t);
}

/* For example a piped set_config and get_config: the second sees the value of the first. */
TEST(an_inline_call_sees_what_was_written_before_it)
{
    static const struct fumi_method rows[] = {
        {"set", "", NULL, &count_shape, run_add, WRITES},
        {"see", "", NULL, &count_shape, run_get, FUMI_READ_ONLY},
    };
    struct server_fixture t;
    struct fumi_err e;
    server_fixture_open_pool(&t, 3);
    CHECK_INT(fumi_server_add(t.server, NULL, rows, FUMI_COUNT(rows), &t.fixture, &e), 0);
    for (int i = 1; i <= 500; i++) {
        char want[64];
        snprintf(want, sizeof(want), "\"result\":%d,\"id\":2}", i);
        clear_received(&t.c);
        send_text(&t.c, CALL("set", "1"));
        send_text(&t.c, CALL("see", "2"));
        wait_replies(&t.c, 2);
        if (!strstr(received(&t.c).p, want))
            TEST_FAIL("round %d: %.*s", i, FUMI_ARG(received(&t.c)));
    }
    server_fixture_done(&t);
}

TEST(peers_do_not_wait_for_each_other)
{
    struct server_fixture t;
    struct caller other;
    server_fixture_open_manual(&t);
    caller_open(&other, t.server);
    send_text(&t.c, CALL("write", "1"));
    send_text(&t.c, CALL("write", "2"));
    CHECK_INT(t.manual_executor.n, 1);
    send_text(&other, CALL("write", "1"));
    CHECK_INT(t.manual_executor.n, 2);
    send_text(&other, CALL("read", "2"));
    CHECK_INT(t.manual_executor.n, 2);
    while (t.manual_executor.n)
        manual_run(&t.manual_executor);
    CHECK_INT(replies(&t.c) + replies(&other), 4);
    caller_done(&other);
    server_fixture_done(&t);
}

/* With threads: a reader returns exactly the number of writers before it. The value has no lock, so
 * that ThreadSanitizer finds two calls that overlap. */
static size_t fill(struct fumi_buf *b, unsigned dice, int64_t *value, char *want, size_t room)
{
    fumi_buf_reset(b, 1 << 16);
    if (dice % 7 == 0) {
        putf(b, "[" CALL("get", "1") "," CALL("add", "2") "," NOTIFICATION("add") "," CALL(
                    "get", "3") "]");
        *value += 2;
        return (size_t)snprintf(
            want, room, "[" OK("%" PRId64, "1") "," OK("%" PRId64, "2") "," OK("%" PRId64, "3") "]",
            *value - 2, *value - 1, *value);
    }
    if (dice % 3 == 0)
        ++*value;
    putf(b, "%s", dice % 3 == 0 ? CALL("add", "1") : CALL("get", "1"));
    return (size_t)snprintf(want, room, OK("%" PRId64, "1"), *value);
}

TEST(messages_behave_as_if_one_ran_after_the_other)
{
    enum { MANY = 500 };
    struct server_fixture t;
    static struct caller callers[MANY];
    static char want[MANY][200];
    struct fumi_buf b = {0};
    int64_t value = 0;
    unsigned dice = 1;
    server_fixture_open_pool(&t, 4);
    for (int i = 0; i < MANY; i++) {
        dice = dice * 1103515245 + 12345;
        fill(&b, dice >> 16, &value, want[i], sizeof(want[i]));
        caller_open(&callers[i], t.server);
        struct sent_message *l = malloc(sizeof(*l));
        *l = (struct sent_message){&callers[i]};
        fumi_handle(t.server, &t.c.peer, fumi_buf_str(&b),
                    (struct fumi_sink){.notify = sent_notify, .reply = sent_reply, .arg = l});
    }
    for (int i = 0; i < MANY; i++) {
        wait_replies(&callers[i], 1);
        CHECK_STR(received(&callers[i]), want[i]);
        caller_done(&callers[i]);
    }
    CHECK_INT(t.fixture.value, value);
    fumi_buf_done(&b);
    server_fixture_done(&t);
}

/* Many peers on few threads; each has its own order. */
TEST(many_peers_share_the_workers)
{
    enum { PEERS = 50, EACH = 20 };
    static struct caller callers[PEERS];
    struct server_fixture t;
    struct fumi_spare spare = {0};
    server_fixture_open_pool(&t, 3);
    for (size_t i = 0; i < PEERS; i++) {
        caller_open(&callers[i], t.server);
        callers[i].peer.spare = i % 2 ? &spare : NULL;
    }
    for (size_t n = 0; n < EACH; n++)
        for (size_t i = 0; i < PEERS; i++)
            send_text(&callers[i], n % 4 ? CALL("read", "1") : CALL("write", "1"));
    for (size_t i = 0; i < PEERS; i++) {
        wait_replies(&callers[i], EACH);
        CHECK_INT(callers[i].lines, EACH);
        caller_done(&callers[i]);
    }
    CHECK_INT(fixture_runs(&t.fixture), PEERS * EACH);
    fumi_spare_done(&spare);
    server_fixture_done(&t);
}

/* An executor may run a task before submit returns. */
static void run_at_once(void *arg, struct fumi_task *task)
{
    ++*(int *)arg;
    task->run(task);
}

TEST(an_executor_may_be_this_very_thread)
{
    struct server_fixture t;
    int ran = 0;
    server_fixture_open(&t);
    fumi_server_executor(t.server, run_at_once, &ran);
    for (int i = 0; i < 3; i++) {
        CHECK_STR(reply_to(&t.c, CALL("write", "1")), OK("null", "1"));
        CHECK_STR(reply_to(&t.c, "[" CALL("read", "1") "," CALL("write", "2") "]"),
                  "[" OK("null", "1") "," OK("null", "2") "]");
    }
    CHECK_INT(ran, 6);
    server_fixture_done(&t);
}
