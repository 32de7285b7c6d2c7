/* A server with a time limit answers a call that misses it before the method ends. */
#include "frames.h"
#include "test.h"

#define CALL(method, params, id)                                                                   \
    "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params ",\"id\":" id "}"
#define LATE(why, id)                                                                              \
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":\"timeout\",\"data\":\"the call " \
    "did not end in 300 ms" why "\"},\"id\":" id "}"
#define UNKNOWN "; its outcome is unknown, check it before you try again"

/* A request over HTTP, or as a line over the Unix socket. */
static struct fumi_str call(struct wire *w, const struct live *s, bool http, const char *message)
{
    if (http) {
        wire_post(w, s, fumi_str(message), "");
        return wire_reply(w, false).body;
    }
    wire_put(w, fumi_str(message));
    wire_put(w, FUMI_STR("\n"));
    struct fumi_str line = wire_until(w, "\n");
    return (struct fumi_str){line.p, line.n ? line.n - 1 : 0};
}

static void open_wire(struct wire *w, const struct live *s, bool http)
{
    if (http)
        wire_tcp(w, s);
    else
        wire_unix(w, s);
}

TEST(late_calls_are_answered_before_their_methods_end)
{
    for (int http = 0; http < 2; http++) {
        struct live s;
        struct wire w;
        CHECK_INT(live_start(&s, SPEC_SERVER, "--time-limit 300"), 0);
        open_wire(&w, &s, http);
        CHECK_STR(call(&w, &s, http, CALL("sleep", "[5000]", "1")), LATE("", "1"));
        CHECK_STR(call(&w, &s, http, CALL("asleep", "[]", "2")),
                  "{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":2}");
        CHECK_STR(call(&w, &s, http, CALL("forget", "[]", "3")), LATE(UNKNOWN, "3"));
        CHECK_STR(call(&w, &s, http, CALL("echo", "[4]", "4")),
                  "{\"jsonrpc\":\"2.0\",\"result\":[4],\"id\":4}");
        wire_close(&w);
        kill(s.pid, SIGKILL); /* it would wait for the sleeping call */
        live_end(&s);
    }
}

/* The client disconnects while its call, already answered, still runs; the connection is kept for
 * the call. */
TEST(a_late_call_outlives_its_connection)
{
    struct live s;
    struct wire w;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--time-limit 300"), 0);
    for (int i = 0; i < 20; i++) {
        open_wire(&w, &s, i % 2);
        CHECK_STR(call(&w, &s, i % 2, CALL("sleep", "[320]", "1")), LATE("", "1"));
        wire_close(&w);
    }
    CHECK_INT(live_stop(&s), 0);
}

/* Otherwise each would take memory, and their number would be unlimited. */
TEST(late_calls_that_still_run_count_as_under_way)
{
    struct live s;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--time-limit 300 --workers 1 --queue 3"), 0);
    int status[4] = {0};
    for (int i = 0; i < 4; i++) {
        struct wire w;
        wire_tcp(&w, &s);
        wire_post(&w, &s, FUMI_STR(CALL("sleep", "[60000]", "1")), "");
        status[i] = wire_reply(&w, false).status;
        wire_close(&w);
    }
    kill(s.pid, SIGKILL);
    live_end(&s);
    CHECK_INT(status[0], 200);
    CHECK_INT(status[2], 200);
    CHECK_INT(status[3], 503);
}
