#include "peer_fixture.h"
#include "rpc/processors.h"

/* A server with metrics. */
struct clerk {
    struct server_fixture t;
    struct fumi_metrics *metrics;
    struct fumi_buf text;
};

static enum fumi_ret run_fail(struct fumi_call *call, const void *params, void *result)
{
    (void)result;
    return fumi_fail(call, (int)((const struct count *)params)->n, "failed");
}

static const struct fumi_method failing[] = {{"fail", "", &n_shape, NULL, run_fail, 0}};

static void clerk_open(struct clerk *c, int threads)
{
    struct fumi_err e;
    *c = (struct clerk){0};
    if (threads)
        server_fixture_open_pool(&c->t, threads);
    else
        server_fixture_open(&c->t);
    if (fumi_server_add(c->t.server, "my", failing, 1, NULL, &e))
        abort();
    c->metrics = fumi_metrics_new(c->t.server);
    struct fumi_processor p = fumi_count_calls(c->metrics);
    if (fumi_server_use(c->t.server, &p, &e))
        abort();
}

static void clerk_done(struct clerk *c)
{
    server_fixture_done(&c->t);
    fumi_metrics_free(c->metrics);
    fumi_buf_done(&c->text);
}

/* The current metrics. */
static const char *written(struct clerk *c)
{
    fumi_buf_reset(&c->text, 1 << 20);
    fumi_metrics_put(c->metrics, &c->text);
    fumi_buf_put(&c->text, 0);
    return c->text.p;
}

/* The value of a metric with its labels; -1: there is no such line. */
static int64_t number_of(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = text; (p = strstr(p, name)); p++) {
        if ((p == text || p[-1] == '\n') && p[n] == ' ')
            return strtoll(p + n, NULL, 10);
    }
    return -1;
}

TEST(calls_are_counted_by_method_and_code)
{
    struct clerk c;
    clerk_open(&c, 0);
    reply_to(&c.t.c,
             "[" CALL("echo", "1") "," NOTIFICATION("echo") "," CALL_WITH(
                 "my.fail", "[7]",
                 "1") "," CALL_WITH("my.fail", "[7]",
                                    "1") "," CALL("my.fail", "1") "," CALL("now", "1") ",1]");
    reply_to(&c.t.c, "[" CALL("none", "1") "," CALL("a\\\"b\\n", "2") "," CALL("", "3") "]");
    const char *text = written(&c);
    static const struct {
        const char *name;
        int64_t n;
    } rows[] = {
        {"fumi_calls_total{method=\"echo\",code=\"0\"}", 2},
        {"fumi_calls_total{method=\"now\",code=\"0\"}", 1},
        {"fumi_calls_total{method=\"count\",code=\"0\"}", 0},
        {"fumi_calls_total{method=\"my.fail\",code=\"0\"}", 0},
        {"fumi_calls_total{method=\"my.fail\",code=\"7\"}", 2},
        {"fumi_calls_total{method=\"my.fail\",code=\"-32602\"}", 1},
        {"fumi_calls_total{method=\"my.fail\",code=\"other\"}", -1},
        {"fumi_calls_total{method=\"fail\",code=\"7\"}", -1},
        {"fumi_calls_total{method=\"rpc.discover\",code=\"0\"}", 0},
        {"fumi_calls_total{method=\"\",code=\"-32601\"}", 2},
        {"fumi_calls_total{method=\"\",code=\"0\"}", -1},
        {"fumi_method_seconds_count{method=\"echo\"}", 2},
        {"fumi_method_seconds_count{method=\"my.fail\"}", 3},
        {"fumi_method_seconds_count{method=\"\"}", 2},
        {"fumi_method_seconds_count{method=\"count\"}", -1},
        {"fumi_call_seconds_count", 8},
        {"fumi_call_seconds_bucket{le=\"+Inf\"}", 8},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        if (number_of(text, rows[i].name) != rows[i].n)
            TEST_FAIL("%s is not %d:\n%s", rows[i].name, (int)rows[i].n, text);
    }
    clerk_done(&c);
}

/* Methods choose their codes, so the number of counted codes is limited. */
TEST(a_method_with_many_codes_does_not_grow)
{
    struct clerk c;
    char message[120], name[80];
    int64_t sum = 0;
    clerk_open(&c, 0);
    for (int i = 0; i < 100; i++) {
        snprintf(message, sizeof(message), CALL_WITH("my.fail", "[%d]", "1"), 1 + i % 50);
        reply_to(&c.t.c, message);
    }
    const char *text = written(&c);
    for (int i = 1; i <= 8; i++) {
        snprintf(name, sizeof(name), "fumi_calls_total{method=\"my.fail\",code=\"%d\"}", i);
        CHECK_INT(number_of(text, name), 2);
        sum += 2;
    }
    CHECK_INT(number_of(text, "fumi_calls_total{method=\"my.fail\",code=\"9\"}"), -1);
    sum += number_of(text, "fumi_calls_total{method=\"my.fail\",code=\"other\"}");
    CHECK_INT(sum, 100);
    clerk_done(&c);
}

/* Sets the duration of calls. */
static void make_last(void *self, struct fumi_call *call)
{
    call->began = 1000;
    call->ended = 1000 + *(int64_t *)self;
}

static void clerk_make_last(struct clerk *c, int64_t *time)
{
    struct fumi_err e;
    struct fumi_processor p = {.name = "last", .after = make_last, .self = time};
    if (fumi_server_use(c->t.server, &p, &e))
        abort();
}

TEST(times_fall_into_their_buckets)
{
    static const struct {
        int64_t time;
        const char *le;
    } rows[] = {
        {0, "0.0001"},         {100000, "0.0001"},      {100001, "0.00025"}, {1000000, "0.001"},
        {1000001, "0.0025"},   {999999999, "1"},        {2000000000, "2.5"}, {10000000000, "10"},
        {10000000001, "+Inf"}, {INT64_MAX / 2, "+Inf"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct clerk c;
        char name[80];
        int64_t time = rows[i].time;
        clerk_open(&c, 0);
        clerk_make_last(&c, &time);
        reply_to(&c.t.c, CALL("echo", "1"));
        const char *text = written(&c), *at = strstr(text, "_bucket");
        snprintf(name, sizeof(name), "fumi_call_seconds_bucket{le=\"%s\"}", rows[i].le);
        bool first = number_of(text, name) == 1 &&
                     strncmp(strstr(at, "} 1") - strlen(rows[i].le) - 1, rows[i].le,
                             strlen(rows[i].le)) == 0;
        if (!first || number_of(text, "fumi_call_seconds_count") != 1)
            TEST_FAIL("%" PRId64 " is not in %s:\n%s", rows[i].time, rows[i].le, text);
        clerk_done(&c);
    }
}

TEST(times_are_added_up)
{
    struct clerk c;
    int64_t time = 1500000000;
    clerk_open(&c, 0);
    clerk_make_last(&c, &time);
    reply_to(&c.t.c, CALL("echo", "1"));
    time = 7;
    reply_to(&c.t.c, CALL("echo", "1"));
    time = 20000000000;
    reply_to(&c.t.c, CALL("none", "1"));
    const char *text = written(&c);
    CHECK(strstr(text, "\nfumi_call_seconds_sum 21.500000007\n"));
    CHECK(strstr(text, "\nfumi_method_seconds_sum{method=\"echo\"} 1.500000007\n"));
    CHECK(strstr(text, "\nfumi_method_seconds_sum{method=\"\"} 20.000000000\n"));
    clerk_done(&c);
}

static bool is_name(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyz_", p[i]))
            return false;
    }
    return n > 0;
}

/* name{label="value",...} number, as in the text format 0.0.4. */
static bool is_sample(const char *p, const char *end)
{
    size_t n = strcspn(p, "{ ");
    if (!is_name(p, n))
        return false;
    p += n;
    while (*p == '{' || *p == ',') {
        n = strcspn(++p, "=");
        if (!is_name(p, n) || p[n + 1] != '"')
            return false;
        p += n + 2;
        p += strcspn(p, "\"\n\\");
        if (*p++ != '"')
            return false;
    }
    p += *p == '}';
    if (*p++ != ' ')
        return false;
    return p < end && p + strspn(p, "0123456789.") == end;
}

TEST(the_text_is_in_the_format)
{
    struct clerk c;
    clerk_open(&c, 0);
    reply_to(&c.t.c,
             "[" CALL("echo", "1") "," CALL("none", "1") "," CALL_WITH("my.fail", "[-1]", "2") "]");
    const char *text = written(&c);
    size_t help = 0, type = 0;
    for (const char *p = text, *end; *p; p = end + 1) {
        end = strchr(p, '\n');
        if (!end) {
            TEST_FAIL("the last line does not end: %s", p);
            break;
        }
        help += strncmp(p, "# HELP fumi_", 12) == 0;
        type += strncmp(p, "# TYPE fumi_", 12) == 0;
        if (*p != '#' && !is_sample(p, end))
            TEST_FAIL("no sample: %.*s", (int)(end - p), p);
    }
    CHECK_INT(help, 3);
    CHECK_INT(type, 3);
    clerk_done(&c);
}

TEST(the_buffer_keeps_its_previous_contents)
{
    struct clerk c;
    clerk_open(&c, 0);
    fumi_buf_add(&c.text, "before\n", 7);
    fumi_metrics_put(c.metrics, &c.text);
    CHECK(fumi_starts(fumi_buf_str(&c.text), FUMI_STR("before\n# HELP fumi_calls_total ")));
    clerk_done(&c);
}

TEST(methods_that_come_later_count_as_none)
{
    struct clerk c;
    struct fumi_err e;
    clerk_open(&c, 0);
    CHECK_INT(fumi_server_add(c.t.server, "late", failing, 1, NULL, &e), 0);
    CHECK_INT(fumi_server_add(c.t.server, "late", fixture_methods, 1, NULL, &e), 0);
    reply_to(&c.t.c, "[" CALL_WITH("late.fail", "[3]", "1") "," CALL("late.echo", "1") "]");
    CHECK_INT(number_of(written(&c), "fumi_calls_total{method=\"\",code=\"3\"}"), 1);
    CHECK_INT(number_of(written(&c), "fumi_calls_total{method=\"\",code=\"0\"}"), 1);
    clerk_done(&c);
}

struct crowd {
    struct clerk *clerk;
    pthread_t thread;
};

static void *send_silent(void *arg)
{
    struct crowd *w = arg;
    struct caller c;
    caller_open(&c, w->clerk->t.server);
    for (int i = 0; i < 500; i++) {
        reply_to(&c, CALL("echo", "1"));
        reply_to(&c, i % 2 ? CALL_WITH("my.fail", "[11]", "1") : CALL_WITH("my.fail", "[12]", "1"));
        reply_to(&c, CALL("read", "1"));
    }
    caller_done(&c);
    return NULL;
}

/* With several callers, workers and a reader no count is lost, and none decreases. */
TEST(calls_are_counted_from_many_threads)
{
    enum { THREADS = 4 };
    struct clerk c;
    struct crowd crowd[THREADS];
    int64_t n = 0;
    clerk_open(&c, 2);
    for (size_t i = 0; i < THREADS; i++) {
        crowd[i].clerk = &c;
        CHECK_INT(pthread_create(&crowd[i].thread, NULL, send_silent, &crowd[i]), 0);
    }
    for (int i = 0; i < 100; i++) {
        int64_t now = number_of(written(&c), "fumi_call_seconds_count");
        CHECK(now >= n);
        n = now;
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(crowd[i].thread, NULL);
    const char *text = written(&c);
    CHECK_INT(number_of(text, "fumi_calls_total{method=\"echo\",code=\"0\"}"), 500 * THREADS);
    CHECK_INT(number_of(text, "fumi_calls_total{method=\"read\",code=\"0\"}"), 500 * THREADS);
    CHECK_INT(number_of(text, "fumi_calls_total{method=\"my.fail\",code=\"11\"}"), 250 * THREADS);
    CHECK_INT(number_of(text, "fumi_calls_total{method=\"my.fail\",code=\"12\"}"), 250 * THREADS);
    CHECK_INT(number_of(text, "fumi_call_seconds_count"), 1500 * THREADS);
    clerk_done(&c);
}
