/* W3C Trace Context: what is valid, and the trace of a call. */
#include "peer_fixture.h"

#include "rpc/trace.h"

#define ID   "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"
#define GOOD "00-" ID "-" SPAN "-01"

TEST(a_traceparent_is_read_strictly)
{
    static const struct {
        const char *text;
        bool valid;
    } rows[] = {
        {GOOD, true},
        {"00-" ID "-" SPAN "-00", true},
        {"00-" ID "-" SPAN "-ff", true},
        /* lengths */
        {"", false},
        {"00", false},
        {"00-" ID "-" SPAN, false},
        {"00-" ID "-" SPAN "-", false},
        {"00-" ID "-" SPAN "-1", false},
        {"00-" ID "-" SPAN "-001", false},
        {GOOD "-", false},
        {GOOD "-more", false},
        {GOOD " ", false},
        {" " GOOD, false},
        {"0-" ID "-" SPAN "-01", false},
        {"000-" ID "-" SPAN "-01", false},
        {"00-" ID "0-" SPAN "-01", false},
        {"00-4bf92f3577b34da6a3ce929d0e0e473-" SPAN "-01", false},
        {"00-4bf92f3577b34da6a3ce929d0e0e473-0" SPAN "-01", false},
        {"00-" ID "-00f067aa0ba902b-01", false},
        {"00_" ID "-" SPAN "-01", false},
        {"00-" ID "_" SPAN "-01", false},
        {"00-" ID "-" SPAN "_01", false},
        /* digits */
        {"00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01", false},
        {"00-4bf92f3577b34da6a3ce929d0e0e473g-" SPAN "-01", false},
        {"00-" ID "-00F067AA0BA902B7-01", false},
        {"00-" ID "-00f067aa0ba902b.-01", false},
        {"00-" ID "-" SPAN "-0A", false},
        {"00-" ID "-" SPAN "-x1", false},
        {"0G-" ID "-" SPAN "-01", false},
        {"CC-" ID "-" SPAN "-01", false},
        /* ids of zeros */
        {"00-00000000000000000000000000000000-" SPAN "-01", false},
        {"00-" ID "-0000000000000000-01", false},
        /* later versions */
        {"01-" ID "-" SPAN "-01", true},
        {"cc-" ID "-" SPAN "-01-what-the-future-holds", true},
        {"cc-" ID "-" SPAN "-01-", true},
        {"cc-" ID "-" SPAN "-01.what", false},
        {"cc-" ID "-" SPAN "-011", false},
        {"ff-" ID "-" SPAN "-01", false},
        {"ff-" ID "-" SPAN "-01-more", false},
    };
    struct fumi_trace t;
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        if (fumi_trace_read(fumi_str(rows[i].text), (struct fumi_str){0}, &t) != rows[i].valid)
            TEST_FAIL("%s is %s", rows[i].text, rows[i].valid ? "refused" : "taken");
    CHECK(!fumi_trace_read((struct fumi_str){0}, (struct fumi_str){0}, &t));
    CHECK(fumi_trace_read(FUMI_STR("00-" ID "-" SPAN "-a3"), (struct fumi_str){0}, &t));
    CHECK_STR(fumi_str(t.id), ID);
    CHECK_STR(fumi_str(t.span), SPAN);
    CHECK_INT(t.flags, 0xa3);
    CHECK(!t.state.p);
}

static struct fumi_str state_of(struct fumi_str text)
{
    struct fumi_trace t;
    if (!fumi_trace_read(FUMI_STR(GOOD), text, &t))
        abort();
    return t.state;
}

#define Z16  "zzzzzzzzzzzzzzzz"
#define Z64  Z16 Z16 Z16 Z16
#define Z240 Z64 Z64 Z64 Z16 Z16 Z16

TEST(a_tracestate_is_kept_whole_or_not_at_all)
{
    static const struct {
        const char *text, *kept;
    } rows[] = {
        {"", NULL},
        {"congo=t61rcWkgMzE", "congo=t61rcWkgMzE"},
        {"rojo=00f067aa0ba902b7,congo=t61", "rojo=00f067aa0ba902b7,congo=t61"},
        {"a=1 , \tb=2 ", "a=1 , \tb=2"},
        {"a=1,,b=2,", "a=1,,b=2"},
        {",", NULL},
        {"fw529a3039@dt=FfAAB,3x@y=1", "fw529a3039@dt=FfAAB,3x@y=1"},
        {"a_b-c*d/e0=f g!~", "a_b-c*d/e0=f g!~"},
        {"foo", NULL},
        {"foo=", NULL},
        {"=1", NULL},
        {"foo=1=2", NULL},
        {"foo =1", NULL},
        {"FOO=1", NULL},
        {"0foo=1", NULL},
        {"foo.bar=1", NULL},
        {"foo@=1", NULL},
        {"@foo=1", NULL},
        {"foo@@bar=1", NULL},
        {"foo@bar@baz=1", NULL},
        {"foo@0bar=1", NULL},
        {"foo@abcdefghijklmn=1", "foo@abcdefghijklmn=1"},
        {"foo@abcdefghijklmno=1", NULL},
        {"foo=b\x01r", NULL},
        {"foo=b\xc3\xa4r", NULL},
        {"ok=1,foo", NULL},
        {Z240 Z16 "=1", Z240 Z16 "=1"},
        {Z240 Z16 "z=1", NULL},
        {Z240 "z@v=1", Z240 "z@v=1"},
        {Z240 "zz@v=1", NULL},
        {"a=" Z240 Z16, "a=" Z240 Z16},
        {"a=" Z240 Z16 "z", NULL},
        /* more than 512 bytes: members at the end are left out */
        {"a=" Z240 ",b=" Z240 ",c=" Z16 "zzzzzzzz,d=1", "a=" Z240 ",b=" Z240 ",c=" Z16 "zzzzzzzz"},
        {"a=" Z240 ",b=" Z240 ",c=" Z16 "zzzzzzzzz,d=1", "a=" Z240 ",b=" Z240},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_str got = state_of(fumi_str(rows[i].text)), want = fumi_str(rows[i].kept);
        if (!fumi_eq(got, want) || !got.p != !want.p)
            TEST_FAIL("%s: got %.*s", rows[i].text, FUMI_ARG(got));
    }
}

TEST(a_tracestate_has_32_members_at_most)
{
    struct fumi_buf b = {0};
    for (int i = 0; i < 32; i++)
        putf(&b, "%sk%d=v", i ? "," : "", i);
    CHECK_INT(state_of(fumi_buf_str(&b)).n, b.n);
    putf(&b, ",more=v");
    CHECK(!state_of(fumi_buf_str(&b)).p);
    fumi_buf_done(&b);
}

TEST(the_next_traceparent_has_a_span_of_its_own)
{
    char next[FUMI_TRACEPARENT], other[FUMI_TRACEPARENT];
    struct fumi_trace t, got;
    CHECK(fumi_trace_read(FUMI_STR("cc-" ID "-" SPAN "-fd-more"), (struct fumi_str){0}, &t));
    fumi_trace_next(&t, next);
    CHECK(fumi_trace_read(fumi_str(next), (struct fumi_str){0}, &got));
    CHECK_INT(strlen(next), FUMI_TRACEPARENT - 1);
    CHECK(strncmp(next, "00-", 3) == 0);
    CHECK_STR(fumi_str(got.id), ID);
    CHECK(strcmp(got.span, SPAN) != 0);
    CHECK_INT(got.flags, 1);
    fumi_trace_next(&t, other);
    CHECK(strcmp(next, other) != 0);
    fumi_trace_next(NULL, next);
    CHECK(fumi_trace_read(fumi_str(next), (struct fumi_str){0}, &got));
    CHECK(strcmp(got.id, ID) != 0);
    CHECK_INT(got.flags, 2);
}

static void put_trace(struct fumi_call *call, struct fumi_out *o)
{
    struct fumi_trace t;
    if (!fumi_call_trace(call, &t)) {
        fumi_put_str(o, FUMI_STR("none"));
        return;
    }
    fumi_put_str(o, fumi_fmt(call->arena, "%s %s %d %.*s", t.id, t.span, t.flags,
                             FUMI_ARG(t.state.p ? t.state : FUMI_STR("-"))));
}

static enum fumi_ret run_trace(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    put_trace(call, fumi_result(call));
    return FUMI_OK;
}

/* Calls `trace` as tools/call of MCP does: with its own params. */
static enum fumi_ret run_through(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    return fumi_invoke(call, FUMI_STR("trace"), NULL, false, fumi_result(call), NULL);
}

static enum fumi_ret note_arrival(void *self, const struct fumi_arrival *a, struct fumi_err *e)
{
    (void)e;
    snprintf(self, 33, "%s", a->trace ? a->trace->id : "none");
    return FUMI_OK;
}

static void open_fixture(struct server_fixture *t, char *arrival)
{
    static const struct fumi_method rows[] = {
        {"trace", "", &whole_shape, NULL, run_trace, FUMI_READ_ONLY},
        {"through", "", &whole_shape, NULL, run_through, FUMI_READ_ONLY},
    };
    struct fumi_err e;
    struct fumi_processor p = {.name = "arrival", .admit = note_arrival, .self = arrival};
    server_fixture_open(t);
    if (fumi_server_add(t->server, NULL, rows, FUMI_COUNT(rows), NULL, &e) ||
        fumi_server_use(t->server, &p, &e))
        abort();
}

#define META(members) "{\"_meta\":{" members "},\"x\":1}"
#define OTHER         "0af7651916cd43dd8448eb211c80319c"

TEST(the_trace_of_a_call_is_in_its_meta_or_its_source)
{
    struct server_fixture t;
    struct fumi_trace source;
    char arrival[33];
    open_fixture(&t, arrival);
    CHECK_STR(reply_to(&t.c, CALL("trace", "1")), OK("\"none\"", "1"));
    CHECK_STR(reply_to(&t.c, CALL_WITH("trace", META("\"traceparent\":\"" GOOD "\""), "2")),
              OK("\"" ID " " SPAN " 1 -\"", "2"));
    CHECK_STR(fumi_str(arrival), "none");
    CHECK(fumi_trace_read(FUMI_STR("00-" OTHER "-" SPAN "-00"), FUMI_STR("a=1"), &source));
    fumi_source_set_trace(&t.c.source, &source);
    CHECK_STR(reply_to(&t.c, CALL("trace", "3")), OK("\"" OTHER " " SPAN " 0 a=1\"", "3"));
    CHECK_STR(fumi_str(arrival), OTHER);
    /* The trace in the params takes precedence over that of the request, and each call may have its
     * own. */
    CHECK_STR(
        reply_to(&t.c,
                 "[" CALL_WITH("trace",
                               META("\"traceparent\":\"" GOOD "\",\"tracestate\":\"b=\\u0032\""),
                               "4") "," CALL_WITH("trace", "[]", "5") "]"),
        "[" OK("\"" ID " " SPAN " 1 b=2\"", "4") "," OK("\"" OTHER " " SPAN " 0 a=1\"", "5") "]");
    CHECK_STR(reply_to(&t.c, CALL_WITH("through", META("\"traceparent\":\"" GOOD "\""), "6")),
              OK("\"" ID " " SPAN " 1 -\"", "6"));
    /* An invalid trace is treated as absent. */
    CHECK_STR(reply_to(&t.c, CALL_WITH("trace",
                                       META("\"traceparent\":\"" GOOD "-\",\"tracestate\":\"b=2\""),
                                       "7")),
              OK("\"" OTHER " " SPAN " 0 a=1\"", "7"));
    CHECK_STR(reply_to(&t.c, CALL_WITH("trace", META("\"traceparent\":7"), "8")),
              OK("\"" OTHER " " SPAN " 0 a=1\"", "8"));
    CHECK_STR(reply_to(&t.c, CALL_WITH("trace", "{\"_meta\":[]}", "9")),
              OK("\"" OTHER " " SPAN " 0 a=1\"", "9"));
    fumi_source_release(t.c.source);
    server_fixture_done(&t);
}
