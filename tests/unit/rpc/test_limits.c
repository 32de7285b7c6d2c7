#include "exchange_fixture.h"

#include <stdatomic.h>

/* The allocator of the library, so that tests can count allocations. */
static atomic_size_t allocations, live;

struct head {
    _Alignas(max_align_t) size_t size;
};

void *fumi_resize(void *old, size_t size)
{
    struct head *h = old ? (struct head *)old - 1 : NULL;
    allocations++;
    live += size - (h ? h->size : 0);
    if (!size) {
        free(h);
        return NULL;
    }
    if (!(h = realloc(h, sizeof(*h) + size)))
        abort();
    h->size = size;
    return h + 1;
}

/* The length of a message counts as it arrives, white space included. */
TEST(a_message_has_a_limit)
{
    struct exchange_fixture s;
    struct fumi_buf b = {0};
    exchange_fixture_open(&s);
    fumi_server_limits(s.server, (struct fumi_limits){.message = 200});
    putf(&b, CALL("nothing", "1"));
    while (b.n < 200)
        fumi_buf_put(&b, ' ');
    CHECK_STR(reply_to_str(&s.c, fumi_buf_str(&b)), OK("null", "1"));
    fumi_buf_put(&b, ' ');
    CHECK_LIKE(reply_to_str(&s.c, fumi_buf_str(&b)), INVALID("\"*200*\"", "null"));
    CHECK_INT(s.c.code, FUMI_INVALID_REQUEST);
    fumi_buf_reset(&b, 1000);
    put_times(&b, "{", 201);
    CHECK_LIKE(reply_to_str(&s.c, fumi_buf_str(&b)), INVALID("\"*200*\"", "null"));
    CHECK_STR(reply_to(&s.c, CALL("nothing", "2")), OK("null", "2"));
    fumi_buf_done(&b);
    exchange_fixture_done(&s);
}

TEST(a_message_may_have_a_mebibyte)
{
    struct exchange_fixture s;
    struct fumi_buf b = {0};
    exchange_fixture_open(&s);
    putf(&b, HEAD "\"nothing\",\"id\":1,\"more\":\"");
    while (b.n < (1 << 20) - 2)
        fumi_buf_put(&b, 'a');
    putf(&b, "\"}");
    CHECK_STR(reply_to_str(&s.c, fumi_buf_str(&b)), OK("null", "1"));
    fumi_buf_put(&b, '\n');
    CHECK_LIKE(reply_to_str(&s.c, fumi_buf_str(&b)), INVALID("\"*\"", "null"));
    fumi_buf_done(&b);
    exchange_fixture_done(&s);
}

/* The envelope counts, and so does the bracket of a batch. */
static void nested(struct fumi_buf *b, bool batch, size_t depth)
{
    fumi_buf_reset(b, 1 << 16);
    putf(b, "%s" HEAD "\"echo\",\"id\":1,\"params\":", batch ? "[" : "");
    put_times(b, "[", depth - 1 - batch);
    put_times(b, "]", depth - 1 - batch);
    putf(b, "}%s", batch ? "]" : "");
}

static void go_deep(struct exchange_fixture *s, size_t limit)
{
    struct fumi_buf b = {0};
    for (int batch = 0; batch < 2; batch++) {
        nested(&b, batch, limit);
        CHECK_LIKE(reply_to_str(&s->c, fumi_buf_str(&b)),
                   batch ? "[" OK("[*]", "1") "]" : OK("[*]", "1"));
        nested(&b, batch, limit + 1);
        CHECK_LIKE(reply_to_str(&s->c, fumi_buf_str(&b)), PARSE("null"));
        CHECK_INT(s->c.code, FUMI_PARSE_ERROR);
    }
    fumi_buf_done(&b);
}

TEST(nesting_has_a_limit)
{
    static const size_t depths[] = {64, 4, 200};
    for (size_t i = 0; i < FUMI_COUNT(depths); i++) {
        struct exchange_fixture s;
        exchange_fixture_open(&s);
        if (i)
            fumi_server_limits(s.server, (struct fumi_limits){.depth = depths[i]});
        go_deep(&s, depths[i]);
        exchange_fixture_done(&s);
    }
}

#define TOO_LARGE(id) BAD("\"code\":-32000,\"message\":\"*\"*", id)

TEST(an_answer_has_a_limit)
{
    struct exchange_fixture s;
    exchange_fixture_open(&s);
    fumi_server_limits(s.server,
                       (struct fumi_limits){.answer = sizeof(OK("\"xxxxxxxxxx\"", "1")) - 1});
    CHECK_STR(reply_to(&s.c, CALL_WITH("big", "[10]", "1")), OK("\"xxxxxxxxxx\"", "1"));
    CHECK_LIKE(reply_to(&s.c, CALL_WITH("big", "[11]", "1")), TOO_LARGE("1"));
    CHECK_INT(s.c.code, FUMI_LIMIT);
    CHECK_LIKE(reply_to(&s.c, CALL_WITH("big", "[100000]", "\"日\"")), TOO_LARGE("\"日\""));
    CHECK_LIKE(reply_to(&s.c, CALL_WITH("big", "[9]", "\"a long id counts\"")),
               TOO_LARGE("\"a long id counts\""));
    CHECK_STR(reply_to(&s.c, HEAD "\"big\",\"params\":[1000]}"), "");
    CHECK_STR(reply_to(&s.c, CALL_WITH("big", "[1]", "1")), OK("\"x\"", "1"));
    exchange_fixture_done(&s);
}

/* Each call of a batch is answered, whatever the outcome of the others. */
TEST(the_rest_of_a_batch_is_answered)
{
    struct exchange_fixture s;
    exchange_fixture_open(&s);
    fumi_server_limits(s.server, (struct fumi_limits){.answer = 200});
    CHECK_LIKE(reply_to(&s.c, "[" CALL_WITH("big", "[1000]", "1") "," CALL("nothing", "2") "]"),
               "[" TOO_LARGE("1") "," OK("null", "2") "]");
    CHECK_INT(s.c.code, 0);
    CHECK_LIKE(reply_to(&s.c, "[" CALL("nothing", "1") "," CALL_WITH("big", "[1000]", "2") "]"),
               "[" OK("null", "1") "," TOO_LARGE("2") "]");
    CHECK_LIKE(reply_to(&s.c, "[" CALL("nothing", "1") "," HEAD "\"big\",\"params\":[1000]}," CALL(
                                  "nothing", "2") "]"),
               "[" OK("null", "1") "," OK("null", "2") "]");
    CHECK_LIKE(
        reply_to(&s.c,
                 "[" CALL_WITH("big", "[100]", "1") "," CALL_WITH("big", "[100]", "2") "," CALL(
                     "missing", "3") "," CALL_WITH("big", "[100]", "4") "]"),
        "[" OK("\"x*\"", "1") "," TOO_LARGE("2") "," MISSING("\"missing\"",
                                                             "3") "," TOO_LARGE("4") "]");
    exchange_fixture_done(&s);
}

/* A result that is both too long and not expressible leaves nothing behind that affects the other
 * answers. The capacity of the buffer depends on its history, so each length starts with a new one.
 */
TEST(an_unwritable_result_near_the_limit_is_only_an_error)
{
    for (size_t n = 50; n < 350; n++) {
        struct exchange_fixture s;
        struct fumi_buf b = {0};
        exchange_fixture_open(&s);
        fumi_server_limits(s.server, (struct fumi_limits){.answer = 4096});
        fumi_buf_put(&b, '[');
        for (int i = 0; i < 95; i++)
            putf(&b, CALL("nothing", "1") ",");
        putf(&b, HEAD "\"nothing\",\"id\":\"");
        put_times(&b, "i", n);
        putf(&b, "\"}," CALL("infinite", "2") "," CALL("missing", "3") "]");
        CHECK_LIKE(reply_to_str(&s.c, fumi_buf_str(&b)),
                   "[*i\"}," INTERNAL("2") "," MISSING("\"missing\"", "3") "]");
        fumi_buf_done(&b);
        exchange_fixture_done(&s);
    }
}

/* A number is refused only if it does not fit, not if there is no space for the longest number. */
TEST(a_number_may_end_at_the_limit)
{
    enum { CALLS = 30 };
    const size_t each = sizeof(OK("1", "1")) - 1;
    for (size_t limit = each; limit < (CALLS + 1) * (each + 1); limit++) {
        struct exchange_fixture s;
        struct fumi_buf b = {0};
        exchange_fixture_open(&s);
        fumi_server_limits(s.server, (struct fumi_limits){.answer = limit});
        for (int i = 0; i < CALLS; i++)
            putf(&b, "%s%s", i ? "," : "[", CALL_WITH("subtract", "[2,1]", "1"));
        fumi_buf_put(&b, ']');
        struct fumi_str got = reply_to_str(&s.c, fumi_buf_str(&b));
        size_t right = 0, want = limit / (each + 1); /* each has a bracket or a comma before it */
        for (const char *p = got.p, *end = p + got.n;
             (p = memmem(p, (size_t)(end - p), "result", 6)); p++)
            right++;
        CHECK_INT(right, want < CALLS ? want : CALLS);
        fumi_buf_done(&b);
        exchange_fixture_done(&s);
    }
}

/* The answer to a batch of errors is at most a small multiple of the batch. */
TEST(a_batch_of_long_ids_is_bounded)
{
    struct exchange_fixture s;
    struct fumi_buf b = {0};
    exchange_fixture_open(&s);
    fumi_server_limits(s.server, (struct fumi_limits){.answer = 1000});
    fumi_buf_put(&b, '[');
    for (int i = 0; i < 100; i++) {
        putf(&b, "%s" HEAD "\"big\",\"params\":[%d],\"id\":\"", i ? "," : "", i);
        put_times(&b, "i", 1000);
        putf(&b, "\"}");
    }
    fumi_buf_put(&b, ']');
    struct fumi_str got = reply_to_str(&s.c, fumi_buf_str(&b));
    CHECK(got.n < 4 * b.n);
    struct fumi_arena a = {0};
    CHECK_INT(fumi_size(fumi_parse(&a, got, NULL)), 100);
    fumi_arena_done(&a);
    fumi_buf_done(&b);
    exchange_fixture_done(&s);
}

/* The result of an invoked method is limited too. */
TEST(an_invoked_answer_has_the_limit)
{
    struct exchange_fixture s;
    exchange_fixture_open(&s);
    fumi_server_limits(s.server, (struct fumi_limits){.answer = 300});
    CHECK_LIKE(reply_to(&s.c, CALL_WITH("invoke", "[\"big\",[100]]", "1")), OK("\"x*\"", "1"));
    CHECK_LIKE(reply_to(&s.c, CALL_WITH("invoke", "[\"big\",[1000]]", "1")), TOO_LARGE("1"));
    exchange_fixture_done(&s);
}

/* A caller that keeps nothing, so that only the library allocates. */
static void deaf_tell(void *arg, struct fumi_buf *message)
{
    (void)message;
    ++*(size_t *)arg;
}

static void deaf_reply(void *arg, struct fumi_buf *answer, int code)
{
    (void)answer, (void)code;
    ++*(size_t *)arg;
}

struct deaf {
    struct fumi_peer peer;
    size_t received;
};

static void send_silent(struct deaf *d, struct fumi_server *s, const char *message)
{
    fumi_handle(s, &d->peer, fumi_str(message),
                (struct fumi_sink){.notify = deaf_tell, .reply = deaf_reply, .arg = &d->received});
}

static const char *const steady[] = {
    CALL_WITH("subtract", "[42,23]", "1"),
    CALL_WITH("subtract", "{\"minuend\":42,\"subtrahend\":23}", "\"a\""),
    CALL_WITH("echo", "{\"text\":\"a \\\"quoted\\\" one\",\"list\":[1,2,3,{\"x\":null}]}", "1"),
    NOTIFICATION("nothing"),
    CALL("missing", "1"),
    CALL_WITH("subtract", "[\"x\"]", "1"),
    CALL_WITH("fail", "[-32050,\"it is so\",{\"a\":[1,2]}]", "1"),
    CALL_WITH("fail", "[-32603,\"inside\"]", "1"),
    CALL_WITH("big", "[10000]", "1"),
    CALL_WITH("block", "[1]", "1"),
    CALL("nothing", "true"),
    "{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":1}",
    "{",
    "[]",
    "[" CALL_WITH("subtract", "[42,23]", "1") "," NOTIFICATION("nothing") "," CALL(
        "missing", "1") ",1," CALL_WITH("echo", "[\"\\u0061\"]", "2") "]",
};

/* With the memory that the thread keeps, and with that of the server. */
static void stay_steady(struct fumi_spare *spare)
{
    for (size_t i = 0; i < FUMI_COUNT(steady); i++) {
        struct fumi_server *s = server_of(methods, FUMI_COUNT(methods), NULL);
        struct deaf d = {.peer = {.transport = "deaf", .spare = spare}};
        for (int n = 0; n < 100; n++)
            send_silent(&d, s, steady[i]);
        size_t before = allocations;
        for (int n = 0; n < 1000; n++)
            send_silent(&d, s, steady[i]);
        if (allocations != before)
            TEST_FAIL("%s: %zu times in 1000 calls", steady[i], allocations - before);
        fumi_peer_done(&d.peer);
        if (spare)
            fumi_spare_done(spare);
        fumi_server_free(s);
    }
}

TEST(no_memory_is_asked_for_in_the_steady_state)
{
    struct fumi_spare spare = {0};
    stay_steady(NULL);
    stay_steady(&spare);
}

/* The answer of a call that may end on another thread is moved out with its buffer. */
TEST(a_call_that_defers_asks_for_its_answer_only)
{
    struct fumi_server *s = server_of(methods, FUMI_COUNT(methods), NULL);
    struct deaf d = {.peer = {.transport = "deaf"}};
    send_silent(&d, s, CALL_WITH("defer", "[1]", "1"));
    size_t before = allocations;
    for (int n = 0; n < 1000; n++)
        send_silent(&d, s, CALL_WITH("defer", "[1]", "1"));
    CHECK(allocations - before <= 3000);
    fumi_peer_done(&d.peer);
    fumi_server_free(s);
}

TEST(no_memory_is_asked_for_when_all_kinds_mix)
{
    struct fumi_server *s = server_of(methods, FUMI_COUNT(methods), NULL);
    struct deaf d = {.peer = {.transport = "deaf"}};
    for (size_t n = 0; n < 50 * FUMI_COUNT(steady); n++)
        send_silent(&d, s, steady[n % FUMI_COUNT(steady)]);
    size_t before = allocations;
    for (size_t n = 0; n < 50 * FUMI_COUNT(steady); n++)
        send_silent(&d, s, steady[n % FUMI_COUNT(steady)]);
    CHECK_INT(allocations - before, 0);
    fumi_peer_done(&d.peer);
    fumi_server_free(s);
}

/* One buffer is allocated and freed each time, and none is kept. */
TEST(notifying_and_invoking_allocate_one_buffer)
{
    static const struct {
        const char *message;
        size_t buffers;
    } rows[] = {{CALL_WITH("notifies", "[3]", "1"), 3},
                {CALL_WITH("invoke", "[\"subtract\",[5,3]]", "1"), 1}};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_server *s = server_of(methods, FUMI_COUNT(methods), NULL);
        struct deaf d = {.peer = {.transport = "deaf"}};
        for (int n = 0; n < 100; n++)
            send_silent(&d, s, rows[i].message);
        size_t before = allocations, held = live;
        for (int n = 0; n < 1000; n++)
            send_silent(&d, s, rows[i].message);
        CHECK(allocations - before <= 2000 * rows[i].buffers);
        CHECK_INT(live, held);
        fumi_peer_done(&d.peer);
        fumi_server_free(s);
    }
}

TEST(a_hundred_thousand_messages_leave_nothing_behind)
{
    size_t nothing = live;
    struct fumi_server *s = server_of(methods, FUMI_COUNT(methods), NULL);
    struct fumi_spare spare = {0};
    struct deaf d = {.peer = {.transport = "deaf"}};
    enum { MANY = 100000, WARM = 1000 };
    size_t warm = 0;
    for (size_t n = 0; n < MANY; n++) {
        send_silent(&d, s, steady[(n * 7919 + n / 18) % FUMI_COUNT(steady)]);
        if (n % 10 == 0)
            send_silent(&d, s, CALL_WITH("notifies", "[2]", "1"));
        d.peer.spare = n % 3 ? &spare : NULL;
        if (n == WARM)
            warm = live;
    }
    CHECK(d.received >= MANY);
    CHECK_INT(live, warm);
    fumi_peer_done(&d.peer);
    fumi_spare_done(&spare);
    fumi_server_free(s);
    CHECK_INT(live, nothing);
}

/* The memory of a large message and of a large answer is freed afterwards. */
TEST(memory_comes_back_after_a_large_one)
{
    struct fumi_server *s = server_of(methods, FUMI_COUNT(methods), NULL);
    struct deaf d = {.peer = {.transport = "deaf"}};
    struct fumi_buf b = {0};
    send_silent(&d, s, steady[0]);
    size_t small = live;
    putf(&b, HEAD "\"echo\",\"id\":1,\"params\":[0");
    put_times(&b, ",[]", 300000);
    putf(&b, "]}");
    size_t message = b.cap;
    fumi_handle(s, &d.peer, fumi_buf_str(&b),
                (struct fumi_sink){.notify = deaf_tell, .reply = deaf_reply, .arg = &d.received});
    CHECK(live < small + message + (1 << 18));
    send_silent(&d, s, CALL_WITH("big", "[8000000]", "1"));
    send_silent(&d, s, CALL_WITH("big", "[50000000]", "1"));
    CHECK(live < small + message + (1 << 18));
    fumi_buf_done(&b);
    fumi_peer_done(&d.peer);
    fumi_server_free(s);
}
