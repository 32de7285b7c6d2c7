#include "peer_fixture.h"

TEST(a_deferred_call_is_answered_when_it_is_finished)
{
    struct server_fixture t;
    server_fixture_open(&t);
    send_text(&t.c, CALL_WITH("defer", "[\"a\"]", "1"));
    CHECK_INT(replies(&t.c), 0);
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK_INT(replies(&t.c), 1);
    CHECK_STR(received(&t.c), OK("[\"a\"]", "1"));
    server_fixture_done(&t);
}

TEST(a_deferred_call_may_end_before_its_handler_returns)
{
    struct server_fixture t;
    server_fixture_open(&t);
    for (int i = 0; i < 3; i++) {
        CHECK_STR(reply_to(&t.c, CALL_WITH("now", "[1]", "1")), OK("[1]", "1"));
        CHECK_STR(reply_to(&t.c, NOTIFICATION("now")), "");
        CHECK_STR(
            reply_to(&t.c, "[" CALL_WITH("now", "[1]", "1") "," CALL_WITH("now", "[2]", "2") "]"),
            "[" OK("[1]", "1") "," OK("[2]", "2") "]");
    }
    server_fixture_done(&t);
}

TEST(a_method_that_may_defer_need_not)
{
    struct server_fixture t;
    server_fixture_open(&t);
    CHECK_STR(reply_to(&t.c, CALL_WITH("may_defer", "[1]", "1")), OK("[1]", "1"));
    CHECK_STR(reply_to(&t.c, "[" CALL_WITH("may_defer", "[1]", "1") "]"), "[" OK("[1]", "1") "]");
    server_fixture_done(&t);
}

TEST(a_deferred_call_may_end_in_another_thread)
{
    struct server_fixture t;
    server_fixture_open(&t);
    send_text(&t.c, CALL_WITH("defer", "[1]", "\"日\""));
    finish_elsewhere(&t.fixture, 0, 1);
    wait_replies(&t.c, 1);
    CHECK_STR(received(&t.c), OK("[1]", "\"日\""));
    server_fixture_done(&t);
}

TEST(a_deferred_call_may_fail)
{
    static const struct {
        enum fumi_ret ret;
        int code;
        const char *answer;
    } rows[] = {
        {FUMI_FAIL, 5, BAD("\"code\":5,\"message\":\"said later\"", "1")},
        {FUMI_FAIL, FUMI_INTERNAL_ERROR, INTERNAL("1")},
        {FUMI_FAIL, 0, INTERNAL("1")},
        {FUMI_OK, 0, OK("null", "1")},
    };
    struct server_fixture t;
    server_fixture_open(&t);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct finisher f = {&t.fixture, i, 1, rows[i].ret, rows[i].code, 0};
        clear_received(&t.c);
        send_text(&t.c, CALL("defer", "1"));
        finisher_start(&f);
        finisher_join(&f);
        wait_replies(&t.c, 1);
        CHECK_STR(received(&t.c), rows[i].answer);
        CHECK_INT(t.c.code, rows[i].ret == FUMI_OK ? 0 : rows[i].code ? rows[i].code : -32603);
    }
    server_fixture_done(&t);
}

TEST(several_may_be_open_and_end_in_any_order)
{
    struct server_fixture t;
    server_fixture_open(&t);
    for (int i = 0; i < 5; i++) {
        char message[100];
        snprintf(message, sizeof(message), CALL_WITH("defer", "[%d]", "%d"), i, i);
        send_text(&t.c, message);
    }
    CHECK_STR(reply_to(&t.c, CALL("echo", "9")), OK("null", "9"));
    clear_received(&t.c);
    for (int i = 4; i >= 0; i--)
        finish_elsewhere(&t.fixture, (size_t)i, 1);
    wait_replies(&t.c, 5);
    CHECK_STR(received(&t.c), OK("[4]", "4") "\n" OK("[3]", "3") "\n" OK("[2]", "2") "\n" OK(
                                  "[1]", "1") "\n" OK("[0]", "0"));
    server_fixture_done(&t);
}

enum { BATCH = 5 };

/* A batch in which the calls whose bit is set are pending, and the expected answer. gaps: every
 * third call is a notification. */
static size_t mixed(struct fumi_buf *in, struct fumi_buf *out, unsigned mask, const char *method,
                    bool gaps)
{
    size_t deferred = 0;
    const char *comma = "";
    fumi_buf_reset(in, 1 << 16);
    fumi_buf_reset(out, 1 << 16);
    putf(in, "[");
    for (int i = 0; i < BATCH; i++) {
        bool later = mask >> i & 1, silent = gaps && i % 3 == 1;
        putf(in, "%s{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":[%d]", i ? "," : "",
             later ? method : "echo", i);
        if (!silent)
            putf(in, ",\"id\":%d", i);
        putf(in, "}");
        deferred += later;
        if (silent)
            continue;
        putf(out, "%s" OK("[%d]", "%d"), comma, i, i);
        comma = ",";
    }
    putf(in, "]");
    return deferred;
}

static struct fumi_str inside(struct fumi_str batch)
{
    if (batch.n < 2 || batch.p[0] != '[' || batch.p[batch.n - 1] != ']')
        return batch;
    return (struct fumi_str){batch.p + 1, batch.n - 2};
}

TEST(calls_of_a_batch_may_defer_at_every_place)
{
    struct server_fixture t;
    struct fumi_buf in = {0}, out = {0};
    server_fixture_open(&t);
    for (unsigned mask = 0; mask < 2u << BATCH; mask++) {
        size_t n = mixed(&in, &out, mask, "defer", mask >> BATCH & 1);
        fumi_buf_put(&out, 0);
        t.fixture.pending_n = 0;
        struct finisher f = {&t.fixture, 0, n, FUMI_OK, 0, 0};
        finisher_start(&f);
        struct fumi_str got = reply_to_str(&t.c, fumi_buf_str(&in));
        finisher_join(&f);
        CHECK_STR(inside(got), out.p);
        CHECK_INT(t.fixture.pending_n, n);
        mixed(&in, &out, mask, "now", mask >> BATCH & 1);
        fumi_buf_put(&out, 0);
        CHECK_STR(inside(reply_to_str(&t.c, fumi_buf_str(&in))), out.p);
    }
    fumi_buf_done(&in);
    fumi_buf_done(&out);
    server_fixture_done(&t);
}

/* A call starts when the one before it has ended. */
TEST(calls_of_a_batch_run_one_after_the_other)
{
    struct server_fixture t;
    server_fixture_open(&t);
    send_text(&t.c, "[" CALL("defer", "1") "," CALL("count", "2") "," CALL("defer", "3") "]");
    CHECK_INT(t.fixture.pending_n, 1);
    CHECK_INT(fixture_runs(&t.fixture), 0);
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK_INT(t.fixture.pending_n, 2);
    CHECK_INT(fixture_runs(&t.fixture), 1);
    CHECK_INT(replies(&t.c), 0);
    fumi_finish(fixture_pending(&t.fixture, 1), FUMI_OK);
    CHECK_STR(received(&t.c), "[" OK("null", "1") "," OK("null", "2") "," OK("null", "3") "]");
    server_fixture_done(&t);
}

TEST(a_deferred_notification_is_not_answered)
{
    struct server_fixture t;
    server_fixture_open(&t);
    send_text(&t.c, NOTIFICATION("defer"));
    send_text(&t.c, "[" NOTIFICATION("defer") "," NOTIFICATION("defer") "]");
    finish_elsewhere(&t.fixture, 0, 3);
    wait_replies(&t.c, 2);
    CHECK_STR(received(&t.c), "");
    server_fixture_done(&t);
}

TEST(wrong_params_are_found_before_it_defers)
{
    struct server_fixture t;
    server_fixture_open(&t);
    CHECK_STR(reply_to(&t.c, CALL_WITH("defer", "7", "1")),
              BAD("\"code\":-32602,\"message\":\"Invalid params\",\"data\":\"params must be an "
                  "array or an object\"",
                  "1"));
    CHECK_INT(t.fixture.pending_n, 0);
    server_fixture_done(&t);
}

/* The stack does not grow with the length of a batch: each method has the same stack depth as the
 * first. */
struct plumb {
    uintptr_t highest, lowest;
};

static enum fumi_ret run_plumb(struct fumi_call *call, const void *params, void *result)
{
    struct plumb *p = call->self;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    (void)params, (void)result;
    p->highest = here > p->highest ? here : p->highest;
    p->lowest = !p->lowest || here < p->lowest ? here : p->lowest;
    fumi_finish(call, FUMI_OK);
    return FUMI_PENDING;
}

TEST(a_long_batch_that_defers_needs_no_stack)
{
    enum { MANY = 1000 };
    static const struct fumi_method rows[] = {{"plumb", "", NULL, NULL, run_plumb, FUMI_ASYNC}};
    struct plumb p = {0};
    struct fumi_server *s = server_of(rows, 1, &p);
    struct caller c;
    struct fumi_buf b = {0};
    fumi_server_limits(s, (struct fumi_limits){.batch = MANY});
    putf(&b, "[" CALL("plumb", "0"));
    for (int i = 1; i < MANY; i++)
        putf(&b, "," NOTIFICATION("plumb"));
    putf(&b, "]");
    caller_open(&c, s);
    CHECK_STR(reply_to_str(&c, fumi_buf_str(&b)), "[" OK("null", "0") "]");
    fumi_buf_done(&b);
    caller_done(&c);
    fumi_server_free(s);
    CHECK(p.highest - p.lowest < 16 * 1024);
}

struct seen {
    int before, after;
    enum fumi_ret ret;
    int code;
};

static enum fumi_ret see_before(void *self, struct fumi_call *call)
{
    (void)call;
    ((struct seen *)self)->before++;
    return FUMI_OK;
}

static void see_after(void *self, struct fumi_call *call)
{
    struct seen *s = self;
    s->after++;
    s->ret = call->ret;
    s->code = call->err.code;
}

TEST(hooks_are_left_when_a_deferred_call_ends)
{
    struct server_fixture t;
    struct seen seen = {0};
    struct fumi_processor p = {"seen", NULL, see_before, see_after, &seen};
    struct fumi_err e;
    server_fixture_open(&t);
    CHECK_INT(fumi_server_use(t.server, &p, &e), 0);
    send_text(&t.c, CALL("defer", "1"));
    CHECK(seen.before == 1 && seen.after == 0);
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK(seen.before == 1 && seen.after == 1 && seen.ret == FUMI_OK && seen.code == 0);
    send_text(&t.c, CALL("defer", "2"));
    struct finisher f = {&t.fixture, 1, 1, FUMI_FAIL, 6, 0};
    finisher_start(&f);
    finisher_join(&f);
    CHECK(seen.before == 2 && seen.after == 2 && seen.ret == FUMI_FAIL && seen.code == 6);
    server_fixture_done(&t);
}

/* The threads of a pool finish calls while new ones arrive. */
static enum fumi_ret run_pooled(struct fumi_call *call, const void *params, void *result);

struct job {
    struct fumi_task task;
    struct fumi_call *call;
};

static void job_run(struct fumi_task *task)
{
    fumi_finish(FUMI_OWNER(task, struct job, task)->call, FUMI_OK);
}

static enum fumi_ret run_pooled(struct fumi_call *call, const void *params, void *result)
{
    struct job *j = fumi_alloc(call->arena, sizeof(*j));
    *(struct whole *)result = *(const struct whole *)params;
    *j = (struct job){{job_run, NULL}, call};
    pool_submit(call->self, &j->task);
    return FUMI_PENDING;
}

/* The memory that a thread keeps is not used by calls that end on other threads. */
static void end_many_in_threads(struct fumi_spare *spare)
{
    enum { MANY = 2000 };
    static const struct fumi_method rows[] = {
        {"pooled", "", &whole_shape, &whole_shape, run_pooled, FUMI_ASYNC},
        {"echo", "", &whole_shape, &whole_shape, run_echo, 0}};
    static const char *const messages[] = {
        CALL_WITH("pooled", "[7]", "1"), CALL("echo", "2"),
        "[" CALL_WITH("pooled", "[7]", "1") "," NOTIFICATION("pooled") "," CALL("pooled", "2") "]"};
    struct pool *pool = pool_new(4, NULL);
    struct fumi_server *s = server_of(rows, FUMI_COUNT(rows), pool);
    struct caller c;
    caller_open(&c, s);
    c.peer.spare = spare;
    for (size_t i = 0; i < MANY; i++)
        send_text(&c, messages[i % FUMI_COUNT(messages)]);
    wait_replies(&c, MANY);
    CHECK_INT(c.lines, MANY);
    pool_free(pool);
    caller_done(&c);
    if (spare)
        fumi_spare_done(spare);
    fumi_server_free(s);
}

static enum fumi_ret pend_secretly(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    (void)result;
    *(struct fumi_call **)call->self = call;
    return FUMI_PENDING;
}

static enum fumi_ret finish_and_return(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    (void)result;
    fumi_finish(call, FUMI_OK);
    return FUMI_OK;
}

static enum fumi_ret finish_twice(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    (void)result;
    fumi_finish(call, FUMI_OK);
    fumi_finish(call, FUMI_OK);
    return FUMI_PENDING;
}

/* A method that violates its contract affects at most its own answer. */
TEST(methods_that_pend_or_finish_as_they_may_not)
{
    static const struct fumi_method rows[] = {
        {"secret", "", NULL, NULL, pend_secretly, 0},
        {"return", "", NULL, NULL, finish_and_return, FUMI_ASYNC},
        {"twice", "", NULL, NULL, finish_twice, FUMI_ASYNC}};
    static const struct fumi_log silent = {.level = FUMI_SILENT};
    struct fumi_call *secret = NULL;
    struct fumi_server *s = server_of(rows, FUMI_COUNT(rows), &secret);
    struct caller c;
    fumi_server_log(s, &silent);
    caller_open(&c, s);
    CHECK_STR(reply_to(&c, CALL("secret", "1")), INTERNAL("1"));
    fumi_finish(secret, FUMI_OK);
    CHECK_STR(reply_to(&c, CALL("return", "2")), OK("null", "2"));
    CHECK_STR(reply_to(&c, "[" CALL("twice", "3") "," CALL("return", "4") "]"),
              "[" OK("null", "3") "," OK("null", "4") "]");
    fumi_finish(secret, FUMI_FAIL);
    CHECK_INT(replies(&c), 1); /* to the last message */
    caller_done(&c);
    fumi_server_free(s);
}

struct last_word {
    pthread_mutex_t lock;
    pthread_cond_t said;
    bool done;
};

static void say_last(void *arg, struct fumi_buf *answer, int code)
{
    struct last_word *w = arg;
    (void)answer;
    (void)code;
    pthread_mutex_lock(&w->lock);
    w->done = true;
    pthread_cond_signal(&w->said);
    pthread_mutex_unlock(&w->lock);
}

/* After the last reply the peer and the server are not used any more. */
TEST(the_server_may_be_freed_after_the_last_reply)
{
    static const struct fumi_method rows[] = {
        {"pooled", "", &whole_shape, &whole_shape, run_pooled, FUMI_ASYNC}};
    struct pool *pool = pool_new(1, NULL);
    for (int i = 0; i < 300; i++) {
        struct last_word w = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
        struct fumi_server *s = server_of(rows, FUMI_COUNT(rows), pool);
        struct fumi_peer *peer = calloc(1, sizeof(*peer));
        fumi_handle(s, peer, FUMI_STR(CALL_WITH("pooled", "[7]", "1")),
                    (struct fumi_sink){.reply = say_last, .arg = &w});
        pthread_mutex_lock(&w.lock);
        while (!w.done)
            pthread_cond_wait(&w.said, &w.lock);
        pthread_mutex_unlock(&w.lock);
        fumi_peer_done(peer);
        free(peer);
        fumi_server_free(s);
    }
    pool_free(pool);
}

TEST(many_calls_end_in_threads_while_others_begin)
{
    struct fumi_spare spare = {0};
    end_many_in_threads(NULL);
    end_many_in_threads(&spare);
    end_many_in_threads(&spare);
}

/* Peers on several threads, each thread with its own spare memory, or all without. */
struct talker {
    struct server_fixture *t;
    bool keeps;
    pthread_t thread;
    int wrong;
};

static void *talk_much(void *arg)
{
    struct talker *me = arg;
    struct fumi_spare spare = {0};
    struct caller c;
    char in[100], out[100];
    caller_open(&c, me->t->server);
    if (me->keeps)
        c.peer.spare = &spare;
    for (int i = 0; i < 2000; i++) {
        snprintf(in, sizeof(in), CALL_WITH("%s", "[%d]", "%d"), i % 5 ? "echo" : "now", i, i);
        snprintf(out, sizeof(out), OK("[%d]", "%d"), i, i);
        me->wrong += !fumi_eq(reply_to(&c, in), fumi_str(out));
    }
    caller_done(&c);
    fumi_spare_done(&spare);
    return NULL;
}

TEST(peers_in_several_threads_do_not_meet)
{
    struct server_fixture t;
    struct talker talkers[4];
    server_fixture_open(&t);
    for (size_t i = 0; i < FUMI_COUNT(talkers); i++) {
        talkers[i] = (struct talker){.t = &t, .keeps = i % 2};
        CHECK_INT(pthread_create(&talkers[i].thread, NULL, talk_much, &talkers[i]), 0);
    }
    for (size_t i = 0; i < FUMI_COUNT(talkers); i++) {
        pthread_join(talkers[i].thread, NULL);
        CHECK_INT(talkers[i].wrong, 0);
    }
    server_fixture_done(&t);
}

/* Several peers of one thread, with calls that are open at the same time. */
TEST(peers_of_one_thread_share_what_it_keeps)
{
    struct server_fixture t;
    struct fumi_spare spare = {0};
    struct caller other;
    server_fixture_open(&t);
    caller_open(&other, t.server);
    t.c.peer.spare = other.peer.spare = &spare;
    for (size_t i = 0; i < 5; i++) {
        send_text(&t.c, CALL_WITH("defer", "[1]", "1"));
        send_text(&other, CALL_WITH("defer", "[2]", "2"));
        CHECK_INT(replies(&t.c) + replies(&other), 0);
        CHECK_STR(reply_to(&t.c, CALL("echo", "3")), OK("null", "3"));
        CHECK_STR(reply_to(&other, CALL("now", "3")), OK("null", "3"));
        clear_received(&t.c);
        clear_received(&other);
        fumi_finish(fixture_pending(&t.fixture, 2 * i + 1), FUMI_OK);
        finish_elsewhere(&t.fixture, 2 * i, 1);
        CHECK_STR(received(&t.c), OK("[1]", "1"));
        CHECK_STR(received(&other), OK("[2]", "2"));
        clear_received(&t.c);
        clear_received(&other);
    }
    caller_done(&other);
    fumi_spare_done(&spare);
    server_fixture_done(&t);
}

TEST(kept_memory_can_be_freed_at_any_time)
{
    struct server_fixture t;
    struct fumi_spare spare = {0};
    server_fixture_open(&t);
    fumi_spare_done(&spare);
    t.c.peer.spare = &spare;
    for (int i = 0; i < 3; i++) {
        CHECK_STR(reply_to(&t.c, CALL("echo", "1")), OK("null", "1"));
        fumi_spare_done(&spare);
        CHECK_STR(reply_to(&t.c, CALL("now", "1")), OK("null", "1"));
    }
    fumi_spare_done(&spare);
    fumi_spare_done(&spare);
    server_fixture_done(&t);
}

static const struct fumi_field mark_fields[] = {
    FUMI_FIELD(struct count, n, "n", "Which.", .flags = FUMI_REQUIRED)};
static const struct fumi_shape mark = FUMI_SHAPE(struct count, mark_fields);

static void keep_pushed(struct fumi_peer *peer, struct fumi_buf *message)
{
    caller_receive(FUMI_OWNER(peer, struct caller, peer), message);
}

TEST(a_peer_is_pushed_to_if_it_can_be)
{
    struct server_fixture t;
    server_fixture_open(&t);
    CHECK(!fumi_push(&t.c.peer, "news", &mark, &(struct count){1}));
    t.c.peer.push = keep_pushed;
    CHECK(fumi_push(&t.c.peer, "news", &mark, &(struct count){2}));
    CHECK_STR(received(&t.c), "{\"jsonrpc\":\"2.0\",\"method\":\"news\",\"params\":{\"n\":2}}");
    clear_received(&t.c);
    t.c.takes = true;
    CHECK(fumi_push(&t.c.peer, "a\"b", NULL, NULL));
    CHECK_STR(received(&t.c), "{\"jsonrpc\":\"2.0\",\"method\":\"a\\\"b\"}");
    server_fixture_done(&t);
}

static void *push_some(void *arg)
{
    struct caller *c = arg;
    for (int64_t i = 0; i < 500; i++)
        fumi_push(&c->peer, "news", &mark, &(struct count){i});
    return NULL;
}

TEST(a_peer_is_pushed_to_from_any_thread)
{
    struct server_fixture t;
    pthread_t threads[3];
    server_fixture_open(&t);
    t.c.peer.push = keep_pushed;
    for (size_t i = 0; i < FUMI_COUNT(threads); i++)
        CHECK_INT(pthread_create(&threads[i], NULL, push_some, &t.c), 0);
    for (int i = 0; i < 100; i++)
        send_text(&t.c, CALL("echo", "1"));
    for (size_t i = 0; i < FUMI_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(t.c.notifications, 500 * FUMI_COUNT(threads));
    CHECK_INT(t.c.replies, 100);
    server_fixture_done(&t);
}

TEST(a_peer_may_be_closed_unused)
{
    struct fumi_peer peer = {.transport = "none"};
    fumi_peer_eof(&peer);
    fumi_peer_close(&peer);
    fumi_peer_done(&peer);
}

/* The text of a message is still valid when its call ends, although the sender has overwritten and
 * freed it: see caller_send. */
#define ODD_ID     "\"\\u65e5\\n\\\"\""
#define ODD_PARAMS "{\"a\\tb\":[\"x\\\\y\",-1.50e3,true,null,\"\"],\"\\u65e5\":{}}"

static const char *const outlived[][2] = {
    {CALL_WITH("%s", ODD_PARAMS, ODD_ID), OK(ODD_PARAMS, ODD_ID)},
    {" \n\t" CALL_WITH("%s", "[1]", "-0.0") " \n", OK("[1]", "-0.0")},
    {"\xEF\xBB\xBF" CALL_WITH("%s", "[\"bom\"]", "\"b\""), OK("[\"bom\"]", "\"b\"")},
    {"[" CALL_WITH("%s", ODD_PARAMS, "1") "]", "[" OK(ODD_PARAMS, "1") "]"},
    {"{\"id\":7,\"\\u006dethod\":\"%s\",\"jsonrpc\":\"\\u0032.0\",\"params\":[[],{}]}",
     OK("[[],{}]", "7")},
};

static void outlive(struct server_fixture *t, const char *method, bool manual_executor)
{
    for (size_t i = 0; i < FUMI_COUNT(outlived); i++) {
        struct fumi_buf b = {0};
        const char *from = outlived[i][0], *gap = strstr(from, "%s");
        fumi_buf_add(&b, from, (size_t)(gap - from));
        fumi_buf_add(&b, method, strlen(method));
        fumi_buf_add(&b, gap + 2, strlen(gap + 2));
        clear_received(&t->c);
        caller_send(&t->c, fumi_buf_str(&b));
        if (manual_executor)
            manual_run(&t->manual_executor);
        else
            fumi_finish(fixture_pending(&t->fixture, i), FUMI_OK);
        if (replies(&t->c) != 1 || !fumi_eq(received(&t->c), fumi_str(outlived[i][1])))
            TEST_FAIL("%s, row %zu: %.*s", method, i, FUMI_ARG(received(&t->c)));
        fumi_buf_done(&b);
    }
}

TEST(a_pending_call_outlives_the_text_of_its_message)
{
    struct server_fixture t;
    server_fixture_open(&t);
    outlive(&t, "defer", false);
    server_fixture_done(&t);
}

TEST(a_call_on_the_executor_outlives_the_text_of_its_message)
{
    struct server_fixture t;
    server_fixture_open_manual(&t);
    outlive(&t, "read", true);
    server_fixture_done(&t);
}

/* Also for the calls after the pending one, with invalid and cancelled ones among them. */
TEST(a_batch_outlives_the_text_of_its_message)
{
    struct server_fixture t;
    server_fixture_open(&t);
    send_text(&t.c,
              "[" CALL_WITH("defer", "[\"\\n\"]", "\"\\u0061\"") "," CALL_WITH(
                  "echo", ODD_PARAMS,
                  ODD_ID) ",7," CALL("m\\u0069ssing", "2") "," CALL_WITH("defer", "[3]", "3") "]");
    CHECK_STR(reply_to(&t.c, CALL_WITH("rpc.cancel", "{\"id\":3}", "4")), OK("true", "4"));
    clear_received(&t.c);
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK_STR(received(&t.c),
              "[" OK("[\"\\n\"]", "\"\\u0061\"") "," OK(ODD_PARAMS, ODD_ID) "," BAD(
                  "\"code\":-32600,\"message\":\"Invalid Request\",\"data\":\"a request must be "
                  "an object\"",
                  "null") "," BAD("\"code\":-32601,\"message\":\"Method not found\",\"data\":"
                                  "\"missing\"",
                                  "2") "]");
    server_fixture_done(&t);
}

/* A streak ends when nothing happened for longer than the gap, however long it has lasted. */
TEST(a_streak_ends_after_a_gap)
{
    struct fumi_peer peer = {.transport = "test"}, other = {.transport = "test"};
    uint64_t number = fumi_peer_number(&peer), first = fumi_peer_streak(&peer, 1000, 15);
    CHECK(number && first && number != first);
    CHECK(fumi_peer_number(&other) != number && fumi_peer_streak(&other, 1000, 15) != first);
    for (int64_t now = 1001; now < 2000; now += 15)
        CHECK(fumi_peer_streak(&peer, now, 15) == first);
    CHECK(fumi_peer_streak(&peer, 1900, 15) == first); /* the clock was set back */
    CHECK(fumi_peer_streak(&peer, 1915, 15) == first);
    uint64_t second = fumi_peer_streak(&peer, 1931, 15);
    CHECK(second && second != first);
    CHECK(fumi_peer_streak(&peer, 1931, 15) == second);
    CHECK(fumi_peer_number(&peer) == number);
    fumi_peer_done(&peer);
    fumi_peer_done(&other);
}
