/* Where lists that are part of an answer end. */
#include "memory/methods.h"
#include "net/pool.h"
#include "rpc_fixture.h"
#include "test.h"

enum { ANSWER = 1000, ROW = 10, ROWS = 200 };

static size_t kept; /* rows of the last list */

/* Lists up to ROWS rows of ROW bytes. The params give the number of rows after which it is
 * cancelled. */
static enum fumi_ret run_list(struct fumi_call *call, const void *params, void *result)
{
    const struct count *p = params;
    struct listing l = {.call = call};
    (void)result;
    for (kept = 0; kept < ROWS; kept++) {
        if (p->n && kept == (size_t)p->n)
            fumi_cancel(call->peer, call->id);
        int verdict = listing_row(&l, NULL, ROW, &call->err);
        if (verdict != ROW_KEEP)
            return verdict == -1 ? FUMI_FAIL : FUMI_OK;
    }
    return FUMI_OK;
}

static const struct fumi_method methods[] = {
    {"list", "Lists.", &n_shape, NULL, run_list, FUMI_BLOCKING | FUMI_READ_ONLY},
    {"echo", "Echoes.", &whole_shape, &whole_shape, run_echo, 0},
};

struct scene {
    struct fumi_server *server;
    struct pool *pool;
    struct caller c;
};

static void begin(struct scene *s)
{
    s->server = server_of(methods, FUMI_COUNT(methods), NULL);
    s->pool = pool_new(1, NULL);
    fumi_server_executor(s->server, pool_submit, s->pool);
    fumi_server_limits(s->server, (struct fumi_limits){.answer = ANSWER});
    caller_open(&s->c, s->server);
}

static void end(struct scene *s)
{
    pool_free(s->pool);
    caller_done(&s->c);
    fumi_server_free(s->server);
}

#define LIST(params) "{\"jsonrpc\":\"2.0\",\"method\":\"list\",\"params\":[" params "],\"id\":2}"
#define TOO_LARGE                                                                                  \
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":"                                 \
    "\"The answer is larger than 1000 bytes; ask for less\"},\"id\":2}"

TEST(a_list_ends_when_the_answer_would_be_too_large)
{
    struct scene s;
    begin(&s);
    send_text(&s.c, LIST("0"));
    wait_replies(&s.c, 1);
    CHECK_STR(received(&s.c), TOO_LARGE);
    CHECK_INT(kept, ANSWER / ROW);
    end(&s);
}

TEST(earlier_answers_of_a_batch_count_towards_the_limit)
{
    struct scene s;
    struct fumi_buf b = {0};
    begin(&s);
    putf(&b, "[{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":[\"");
    put_times(&b, "x", 500);
    putf(&b, "\"],\"id\":1},%s]", LIST("0"));
    caller_send(&s.c, fumi_buf_str(&b));
    wait_replies(&s.c, 1);
    struct fumi_str all = received(&s.c);
    size_t tail = sizeof("," TOO_LARGE "]") - 1;
    CHECK(all.n > tail);
    CHECK_STR(((struct fumi_str){all.p + all.n - tail, tail}), "," TOO_LARGE "]");
    CHECK_INT(kept, (ANSWER - (all.n - tail)) / ROW);
    fumi_buf_done(&b);
    end(&s);
}

TEST(a_list_ends_when_its_call_is_cancelled)
{
    struct scene s;
    begin(&s);
    send_text(&s.c, LIST("7"));
    wait_replies(&s.c, 1);
    CHECK_STR(received(&s.c), "");
    CHECK_INT(kept, 7);
    end(&s);
}
