/* Calls that miss their deadline are answered by a timer, whatever their methods do. */
#include "peer_fixture.h"

#include "rpc/processors.h"

#include <stdatomic.h>

enum { SHORT = 200 };

#define LATE(why, id)                                                                              \
    BAD("\"code\":-32000,\"message\":\"timeout\",\"data\":\"the call did not " why "\"", id)
#define UNKNOWN "end in 200 ms; its outcome is unknown, check it before you try again"
#define READ    "end in 200 ms"
#define NOT_RUN "begin in 200 ms and was not run"

static const struct fumi_time_limit short_limit = {SHORT};

static void use(struct server_fixture *t, struct fumi_processor p)
{
    struct fumi_err e;
    if (fumi_server_use(t->server, &p, &e))
        abort();
}

static void open_pool(struct server_fixture *t, int threads)
{
    server_fixture_open_pool(t, threads);
    use(t, fumi_limit_time(&short_limit));
}

TEST(a_deferred_call_that_never_ends_is_answered)
{
    struct server_fixture t;
    server_fixture_open(&t);
    use(&t, fumi_limit_time(&short_limit));
    CHECK_STR(reply_to(&t.c, CALL("defer", "1")), LATE(UNKNOWN, "1"));
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK_INT(replies(&t.c), 1);
    server_fixture_done(&t);
}

TEST(a_blocking_call_is_answered_before_its_method_returns)
{
    struct server_fixture t;
    open_pool(&t, 2);
    CHECK_STR(reply_to(&t.c, CALL("wait", "1")), LATE(READ, "1"));
    CHECK_STR(reply_to(&t.c, CALL("wait_write", "2")), LATE(UNKNOWN, "2"));
    CHECK_INT(t.fixture.ended, 0);
    let_in(&t.fixture, 2);
    server_fixture_done(&t);
}

/* Later calls do not wait for a writer that the timer has answered. */
TEST(the_peer_goes_on_behind_a_late_writer)
{
    struct server_fixture t;
    open_pool(&t, 2);
    CHECK_STR(reply_to(&t.c, CALL("wait_write", "1")), LATE(UNKNOWN, "1"));
    CHECK_STR(reply_to(&t.c, CALL("write", "2")), OK("null", "2"));
    CHECK_STR(reply_to(&t.c, CALL("echo", "3")), OK("null", "3"));
    let_in(&t.fixture, 1);
    server_fixture_done(&t);
}

TEST(the_rest_of_a_batch_is_run)
{
    struct server_fixture t;
    open_pool(&t, 2);
    CHECK_STR(
        reply_to(&t.c, "[" CALL("read", "1") "," CALL("wait", "2") "," CALL("read", "3") "," CALL(
                           "wait_write", "4") "]"),
        "[" OK("null", "1") "," LATE(READ, "2") "," OK("null", "3") "," LATE(UNKNOWN, "4") "]");
    CHECK_INT(fixture_runs(&t.fixture), 2);
    let_in(&t.fixture, 2);
    server_fixture_done(&t);
}

/* All workers are busy: queued calls are answered by the timer too, and never run. */
TEST(a_call_in_the_queue_is_answered)
{
    struct server_fixture t;
    open_pool(&t, 1);
    send_text(&t.c, CALL("wait", "1"));
    send_text(&t.c, CALL("read", "2"));
    send_text(&t.c, CALL("write", "3"));
    send_text(&t.c, CALL("echo", "4"));
    wait_replies(&t.c, 4);
    CHECK_STR(received(&t.c), LATE(READ, "1") "\n" LATE(NOT_RUN, "2") "\n" LATE(
                                  NOT_RUN, "3") "\n" LATE(NOT_RUN, "4"));
    let_in(&t.fixture, 1);
    CHECK_STR(reply_to(&t.c, CALL("read", "5")), OK("null", "5"));
    CHECK_INT(fixture_runs(&t.fixture), 1);
    server_fixture_done(&t);
}

/* The second call of a batch has a deadline too, although no worker has started it. */
TEST(a_batch_in_the_queue_is_answered)
{
    struct server_fixture t;
    open_pool(&t, 1);
    send_text(&t.c, CALL("wait", "1"));
    wait_began(&t.fixture, 1);
    send_text(&t.c, "[" CALL("read", "2") ",7," CALL("echo", "3") "]");
    wait_replies(&t.c, 2);
    CHECK_STR(received(&t.c),
              LATE(READ, "1") "\n[" LATE(NOT_RUN, "2") "," BAD(
                  "\"code\":-32600,\"message\":\"Invalid Request\",\"data\":\"a request must be an "
                  "object\"",
                  "null") "," LATE(NOT_RUN, "3") "]");
    let_in(&t.fixture, 1);
    server_fixture_done(&t);
}

/* The peer is held: its calls wait, but not beyond their deadlines, and run in order once it is
 * released. */
TEST(calls_of_a_held_peer_are_answered)
{
    struct server_fixture t;
    open_pool(&t, 2);
    fumi_peer_hold(&t.c.peer, FUMI_HOLD_ALL);
    send_text(&t.c, "[" CALL("write", "1") "," CALL("read", "2") "]");
    CHECK_STR(reply_to(&t.c, CALL("read", "3")), LATE(NOT_RUN, "3"));
    wait_replies(&t.c, 2);
    CHECK_INT(fixture_runs(&t.fixture), 0);
    fumi_peer_hold(&t.c.peer, FUMI_HOLD_NONE);
    CHECK_STR(reply_to(&t.c, CALL("read", "4")), OK("null", "4"));
    server_fixture_done(&t);
}

static enum fumi_ret run_subscription(struct fumi_call *call, const void *params, void *result)
{
    return run_defer(call, params, result);
}

TEST(a_subscription_has_no_deadline)
{
    static const struct fumi_method rows[] = {{"listen", "", &whole_shape, &whole_shape,
                                               run_subscription, FUMI_ASYNC | FUMI_SUBSCRIPTION}};
    struct server_fixture t;
    struct fumi_err e;
    server_fixture_open(&t);
    CHECK_INT(fumi_server_add(t.server, NULL, rows, 1, &t.fixture, &e), 0);
    use(&t, fumi_limit_time(&short_limit));
    send_text(&t.c, CALL("listen", "1"));
    CHECK_INT(fixture_pending(&t.fixture, 0)->deadline, 0);
    fumi_finish(fixture_pending(&t.fixture, 0), FUMI_OK);
    CHECK_STR(received(&t.c), OK("null", "1"));
    server_fixture_done(&t);
}

struct hook {
    struct fixture fixture; /* first: run_defer expects it there */
    struct fumi_call *call;
    int entered, left; /* how often the callback was entered and left */
    bool open;         /* the callback may return */
    bool finished;     /* fumi_finish has returned */
    bool ran_after;    /* the callback ran after fumi_finish had returned */
    bool finishes;     /* the callback itself finishes the call */
};

static void on_cancel(void *arg)
{
    struct hook *h = arg;
    pthread_mutex_lock(&h->fixture.lock);
    h->entered++;
    h->ran_after |= h->finished;
    pthread_cond_broadcast(&h->fixture.changed);
    while (!h->open)
        await(&h->fixture.changed, &h->fixture.lock);
    struct fumi_call *call = h->call;
    h->ran_after |= h->finished;
    h->left++;
    pthread_mutex_unlock(&h->fixture.lock);
    if (h->finishes)
        fumi_finish(call, FUMI_OK);
}

static enum fumi_ret run_hooked(struct fumi_call *call, const void *params, void *result)
{
    struct hook *h = call->self;
    h->call = call;
    if (!fumi_on_cancel(call, on_cancel, h))
        abort();
    return run_defer(call, params, result);
}

static void hook_open(struct hook *h, struct server_fixture *t, bool limited)
{
    static const struct fumi_method rows[] = {
        {"hooked", "", &whole_shape, &whole_shape, run_hooked, FUMI_ASYNC}};
    struct fumi_err e;
    *h = (struct hook){0};
    fixture_open(&h->fixture);
    server_fixture_open(t);
    if (fumi_server_add(t->server, NULL, rows, 1, h, &e))
        abort();
    if (limited)
        use(t, fumi_limit_time(&short_limit));
}

static void *finish_it(void *arg)
{
    struct hook *h = arg;
    fumi_finish(fixture_pending(&h->fixture, 0), FUMI_OK);
    pthread_mutex_lock(&h->fixture.lock);
    h->finished = true;
    pthread_cond_broadcast(&h->fixture.changed);
    pthread_mutex_unlock(&h->fixture.lock);
    return NULL;
}

static void wait_entered(struct hook *h)
{
    pthread_mutex_lock(&h->fixture.lock);
    while (!h->entered)
        await(&h->fixture.changed, &h->fixture.lock);
    pthread_mutex_unlock(&h->fixture.lock);
}

static void let_leave(struct hook *h)
{
    pthread_mutex_lock(&h->fixture.lock);
    h->open = true;
    pthread_cond_broadcast(&h->fixture.changed);
    pthread_mutex_unlock(&h->fixture.lock);
}

static void *cancel_it(void *arg)
{
    struct server_fixture *t = arg;
    fumi_cancel(&t->c.peer, &(struct fumi_val){"1", 1, FUMI_NUMBER | 1 << FUMI_SPAN_SHIFT});
    return NULL;
}

/* fumi_finish waits for a slow callback. When it has returned, no callback runs, so the caller may
 * free what the callback uses. */
static void race(bool limited)
{
    struct hook *h = malloc(sizeof(*h));
    struct server_fixture t;
    pthread_t canceller, finisher;
    if (!h)
        abort();
    hook_open(h, &t, limited);
    send_text(&t.c, CALL("hooked", "1"));
    if (!limited)
        pthread_create(&canceller, NULL, cancel_it, &t);
    wait_entered(h);
    pthread_create(&finisher, NULL, finish_it, h);
    let_leave(h);
    pthread_join(finisher, NULL);
    CHECK(h->finished && !h->ran_after && h->entered == 1 && h->left == 1);
    free(h); /* a callback that still runs would use freed memory */
    if (!limited)
        pthread_join(canceller, NULL);
    wait_replies(&t.c, 1);
    CHECK_STR(received(&t.c), limited ? LATE(UNKNOWN, "1") : "");
    server_fixture_done(&t);
}

TEST(after_finish_no_callback_of_a_cancel_runs)
{
    for (int i = 0; i < 20; i++)
        race(false);
}

TEST(after_finish_no_callback_of_a_deadline_runs)
{
    for (int i = 0; i < 5; i++)
        race(true);
}

TEST(a_callback_may_finish_the_call)
{
    for (int limited = 0; limited < 2; limited++) {
        struct hook h;
        struct server_fixture t;
        hook_open(&h, &t, limited);
        h.open = h.finishes = true;
        send_text(&t.c, CALL("hooked", "1"));
        if (!limited)
            cancel_it(&t);
        wait_replies(&t.c, 1);
        wait_entered(&h);
        CHECK_STR(received(&t.c), limited ? LATE(UNKNOWN, "1") : "");
        server_fixture_done(&t);
    }
}

TEST(a_call_that_was_finished_is_not_called_back)
{
    struct hook h;
    struct server_fixture t;
    hook_open(&h, &t, false);
    h.open = true;
    send_text(&t.c, CALL("hooked", "1"));
    fumi_finish(fixture_pending(&h.fixture, 0), FUMI_OK);
    cancel_it(&t);
    fumi_peer_close(&t.c.peer);
    CHECK_INT(h.entered, 0);
    server_fixture_done(&t);
}

static atomic_int kept, keeps;

static void keep(struct fumi_peer *peer, bool keep)
{
    (void)peer;
    atomic_fetch_add(&kept, keep ? 1 : -1);
    atomic_fetch_add(&keeps, keep);
}

TEST(the_peer_is_kept_until_the_method_returns)
{
    struct server_fixture t;
    open_pool(&t, 1);
    t.c.peer.keep = keep;
    atomic_store(&kept, 0);
    CHECK_STR(reply_to(&t.c, CALL("wait", "1")), LATE(READ, "1"));
    CHECK_INT(atomic_load(&kept), 1);
    let_in(&t.fixture, 1);
    pool_free(t.pool);
    t.pool = NULL;
    fumi_server_free(t.server); /* also ends the timer */
    CHECK_INT(atomic_load(&kept), 0);
    CHECK_INT(atomic_load(&keeps), 1);
    caller_done(&t.c);
}

static enum fumi_ret run_late_words(struct fumi_call *call, const void *params, void *result)
{
    struct fumi_out *o = fumi_result(call);
    fumi_put_open(o, '[');
    run_wait(call, params, result);
    fumi_notify(call, "late", NULL, NULL);
    fumi_put_val(o, ((const struct whole *)params)->value);
    fumi_put_close(o, ']');
    return FUMI_OK;
}

/* Nothing follows the answer, and the params and result of the late call are still valid. */
TEST(a_late_call_sends_no_notifications)
{
    static const struct fumi_method rows[] = {
        {"words", "", &whole_shape, &whole_shape, run_late_words, READS}};
    struct server_fixture t;
    struct fumi_err e;
    open_pool(&t, 1);
    CHECK_INT(fumi_server_add(t.server, NULL, rows, 1, &t.fixture, &e), 0);
    CHECK_STR(reply_to(&t.c, CALL_WITH("words", "[\"some text\"]", "1")), LATE(READ, "1"));
    let_in(&t.fixture, 1);
    pool_free(t.pool);
    t.pool = NULL;
    CHECK_INT(t.c.notifications, 0);
    server_fixture_done(&t);
}
