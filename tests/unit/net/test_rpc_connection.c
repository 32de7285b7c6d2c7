#include "test.h"

#include "net/rpc_connection.h"
#include "net/rpc_connection_parts.h"
#include "rpc_connection_cases.h"
#include "rpc_connection_fixture.h"

#include <errno.h>
#include <math.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { SOON = 150 }; /* ms until a silent peer times out */

static const struct fumi_json none;

/* A scripted peer or a child, and a connection to it. */
struct side {
    struct script script;
    struct fumi_rpc_connection *l;
    struct fumi_arena a;
    struct fumi_answer answer;
    struct fumi_err e;
    struct fumi_buf notifications;
};

static void on_notification(void *arg, struct fumi_str message)
{
    struct fumi_buf *notifications = arg;
    fumi_buf_add(notifications, message.p, message.n);
    fumi_buf_put(notifications, '\n');
}

static struct fumi_rpc_connection_options options(struct side *s,
                                                  struct fumi_rpc_connection_options o)
{
    o.notified = on_notification;
    o.arg = &s->notifications;
    return o;
}

static void open_side(struct side *s, const struct step *steps, const char *scheme,
                      struct fumi_rpc_connection_options o)
{
    *s = (struct side){.script.steps = steps};
    if (strstr(scheme, "unix"))
        script_unix(&s->script, scheme);
    else
        script_tcp(&s->script, scheme);
    o = options(s, o);
    s->l = fumi_rpc_connection_open(s->script.url, &o, &s->e);
}

static void end_side(struct side *s)
{
    fumi_rpc_connection_close(s->l);
    s->l = NULL;
    if (s->script.steps)
        script_end(&s->script);
    s->script.steps = NULL;
}

static void done(struct side *s)
{
    end_side(s);
    script_done(&s->script);
    fumi_arena_done(&s->a);
    fumi_buf_done(&s->notifications);
}

static int call(struct side *s, const char *method, const char *params, int64_t ms)
{
    return fumi_rpc_connection_call(s->l, &s->a, method, (struct fumi_json){fumi_str(params)}, ms,
                                    &s->answer, &s->e);
}

/* The outcome of a call, in the syntax of the tables. */
static struct fumi_str outcome(struct side *s, int rc)
{
    if (rc)
        return fumi_fmt(&s->a, "!%s", s->e.text);
    if (s->answer.ok)
        return s->answer.result.text;
    return fumi_fmt(&s->a, "%d %s%s%.*s", s->answer.err.code, s->answer.err.text,
                    s->answer.err.data.n ? " " : "", FUMI_ARG(s->answer.err.data));
}

static bool is_like(struct fumi_str got, const char *want)
{
    if (*want != '!')
        return fumi_eq(got, fumi_str(want));
    return got.n && *got.p == '!' && memmem(got.p, got.n, want + 1, strlen(want + 1));
}

/* One call over a new connection. */
static void expect_row(const char *scheme, enum action hear_how, const struct answer_row *row,
                       enum action say)
{
    struct step steps[] = {{MEET, {0}}, {hear_how, {0}}, {say, row->in}, {row->then, {0}}, {0}};
    struct side s;
    open_side(&s, steps, scheme,
              (struct fumi_rpc_connection_options){.connect_time = 5000, .tries = -1});
    int rc = s.l ? call(&s, "m", NULL,
                        strstr(row->want, "no answer") || strstr(row->want, "came last") ? SOON
                                                                                         : 10000)
                 : -1;
    struct fumi_str got = outcome(&s, rc);
    if (!is_like(got, row->want))
        TEST_FAIL("%.*s\n   got %.*s\n  want %s", FUMI_ARG(row->in), FUMI_ARG(got), row->want);
    done(&s);
}

TEST(http_answers_come_out_as_the_table_says)
{
    for (size_t i = 0; i < FUMI_COUNT(http_answers); i++) {
        expect_row("http://", REQUEST, &http_answers[i], SAY);
        if (http_answers[i].in.n)
            expect_row("http://", REQUEST, &http_answers[i], DRIP);
    }
}

TEST(lines_come_out_as_the_table_says)
{
    for (size_t i = 0; i < FUMI_COUNT(lines); i++) {
        expect_row("unix:", LINE, &lines[i], SAY);
        expect_row("unix:", LINE, &lines[i], DRIP);
    }
}

TEST(handshakes_come_out_as_the_table_says)
{
    for (size_t i = 0; i < FUMI_COUNT(handshakes); i++) {
        const struct answer_row *row = &handshakes[i];
        struct step steps[] = {{MEET, {0}}, {REQUEST, {0}}, {SAY, row->in}, {row->then, {0}}, {0}};
        struct side s;
        open_side(&s, steps, "ws://",
                  (struct fumi_rpc_connection_options){
                      .connect_time = strstr(row->want, "does not answer the") ? SOON : 10000});
        struct fumi_str got = fumi_fmt(&s.a, "!%s", s.l ? "" : s.e.text);
        if (s.l || !is_like(got, row->want))
            TEST_FAIL("%.*s\n   got %.*s\n  want %s", FUMI_ARG(row->in), FUMI_ARG(got), row->want);
        done(&s);
    }
}

static void expect_frames(const struct frame_row *row, enum action say)
{
    struct step steps[] = {{MEET, {0}},    {REQUEST, {0}},   {SHAKE, {0}}, {FRAME, {0}},
                           {say, row->in}, {row->then, {0}}, {0}};
    struct side s;
    bool late = strstr(row->want, "no answer") || strstr(row->want, "came last");
    open_side(&s, steps, "ws://", (struct fumi_rpc_connection_options){.tries = -1});
    struct fumi_str got = outcome(&s, s.l ? call(&s, "m", NULL, late ? SOON : 10000) : -1);
    end_side(&s);
    if (!is_like(got, row->want) || !script_got(&s.script, row->kept))
        TEST_FAIL("%s:\n   got %.*s\n  kept %.*s", row->want, FUMI_ARG(got),
                  FUMI_ARG(fumi_buf_str(&s.script.got)));
    done(&s);
}

TEST(frames_come_out_as_the_table_says)
{
    for (size_t i = 0; i < FUMI_COUNT(frames); i++) {
        expect_frames(&frames[i], SAY);
        expect_frames(&frames[i], DRIP);
    }
}

TEST(wrong_urls_and_options_are_refused_with_a_remedy)
{
    static const struct {
        const char *url, *want;
    } rows[] = {
        {"", "must begin with https://, http://"},
        {"127.0.0.1:80", "must begin with https://, http://"},
        {"ftp://a/", "must begin with https://, http://"},
        {"https:a/", "must begin with https://"},
        {"https://:443/", "the host must be"},
        {"wss://a:0/", "the port must be"},
        {"http://", "the host must be"},
        {"http:///rpc", "the host must be"},
        {"http://:80/", "the host must be"},
        {"http://a b/", "the host must be"},
        {"http://user:secret@a/", "the"},
        {"http://[::1/", "the host must be"},
        {"http://[::1]x:80/", "the host must be"},
        {"http://[]:80/", "the host must be"},
        {"http://a:0/", "the port must be"},
        {"http://a:65536/", "the port must be"},
        {"http://a:/", "the port must be"},
        {"http://a:8x/", "the port must be"},
        {"http://a:123456/", "the port must be"},
        {"http://a/b c", "the path must begin"},
        {"http://a/\r\nX: y", "the path must begin"},
        {"http://a/b#c", "the path must begin"},
        {"http://a?b", "the path must begin"},
        {"ws://a#b", "the path must begin"},
        {"unix:", "the path is missing"},
        {"http+unix:", "the path is missing"},
        {"http://[::g]:1/", "the host is unknown"},
        {"unix:/dev/null/x", "cannot be reached: Not a directory"},
        {"unix:/tmp/0123456789012345678901234567890123456789012345678901234567890123456789"
         "012345678901234567890123456789012345",
         "at most 107 bytes"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_err e = {0};
        struct fumi_rpc_connection *l = fumi_rpc_connection_open(rows[i].url, NULL, &e);
        if (l || !strstr(e.text, rows[i].want))
            TEST_FAIL("%s: %s", rows[i].url, e.text);
        fumi_rpc_connection_close(l);
    }
    struct fumi_rpc_connection_options bad[] = {
        {.token = "a\r\nX: y"}, {.origin = "\n"}, {.protocol = "\x01"}};
    for (size_t i = 0; i < FUMI_COUNT(bad); i++) {
        struct fumi_err e = {0};
        CHECK(!fumi_rpc_connection_open("http://127.0.0.1:1/", &bad[i], &e));
        CHECK(strstr(e.text, "must not contain control characters"));
    }
    static const char *const tokens[] = {"", "Bearer t0ken", "t0ken ", "t\xC3\xB6ken"};
    for (size_t i = 0; i < FUMI_COUNT(tokens); i++) {
        struct fumi_err e = {0};
        struct fumi_rpc_connection_options o = {.token = tokens[i]};
        CHECK(!fumi_rpc_connection_open("http://127.0.0.1:1/", &o, &e));
        CHECK(strstr(e.text, "the token must consist of visible ASCII"));
    }
    fumi_rpc_connection_close(NULL);
}

/* A port that is bound but not listening refuses connections. */
TEST(connecting_where_no_server_listens_fails)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(bind(fd, (struct sockaddr *)&at, n), 0);
    CHECK_INT(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    static const char *const forms[] = {"http://127.0.0.1:%d/rpc", "ws://localhost:%d",
                                        "unix:/tmp/fumi-nobody-%d", "http+unix:/tmp/fumi-nobody-%d",
                                        "ws+unix:/tmp/fumi-nobody-%d"};
    for (size_t i = 0; i < FUMI_COUNT(forms); i++) {
        char url[100];
        struct fumi_err e = {0};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(url, sizeof(url), forms[i], ntohs(at.sin_port));
#pragma GCC diagnostic pop
        CHECK(!fumi_rpc_connection_open(url, NULL, &e));
        CHECK_INT(e.code, FUMI_INTERNAL_ERROR);
        CHECK(strstr(e.text, "no server listens at") && strstr(e.text, url));
    }
    close(fd);
}

/* Sockets in the backlog, until it is full. */
static void fill(const struct sockaddr *at, socklen_t n, int fds[16])
{
    for (int i = 0; i < 16; i++) {
        fds[i] = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct pollfd p = {fds[i], POLLOUT, 0};
        if (connect(fds[i], at, n) && (errno == EAGAIN || poll(&p, 1, SOON) == 0))
            return;
    }
}

static void expect_silence(int listener, const struct sockaddr *at, socklen_t n, const char *url)
{
    int fds[16] = {0};
    struct fumi_err e = {0};
    struct fumi_rpc_connection_options o = {.connect_time = SOON};
    if (listen(listener, 0))
        abort();
    fill(at, n, fds);
    struct fumi_rpc_connection *l = fumi_rpc_connection_open(url, &o, &e);
    if (l || !strstr(e.text, "cannot be reached in time") || e.code != FUMI_LIMIT)
        TEST_FAIL("%s: %s", url, e.text);
    fumi_rpc_connection_close(l);
    for (int i = 0; i < 16 && fds[i]; i++)
        close(fds[i]);
    close(listener);
}

TEST(a_server_that_does_not_accept_times_out)
{
    struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    socklen_t n = sizeof(tcp);
    char url[120], dir[] = "/tmp/fumi-link-XXXXXX";
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(bind(fd, (struct sockaddr *)&tcp, n), 0);
    CHECK_INT(getsockname(fd, (struct sockaddr *)&tcp, &n), 0);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(tcp.sin_port));
    expect_silence(fd, (struct sockaddr *)&tcp, n, url);

    CHECK(mkdtemp(dir));
    snprintf(local.sun_path, sizeof(local.sun_path), "%s/s", dir);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(bind(fd, (struct sockaddr *)&local, sizeof(local)), 0);
    snprintf(url, sizeof(url), "unix:%s", local.sun_path);
    expect_silence(fd, (struct sockaddr *)&local, sizeof(local), url);
    unlink(local.sun_path);
    rmdir(dir);
}

TEST(a_request_has_the_fields_that_it_should)
{
    static const struct step steps[] = {
        {MEET, {0}}, {REQUEST, {0}}, {SAY, SAYS(HEAD "\r\n" FIVE)}, {HOLD, {0}}, {0}};
    struct side s;
    open_side(&s, steps, "http://",
              (struct fumi_rpc_connection_options){.token = "t0ken", .origin = "http://o"});
    CHECK(s.l);
    CHECK_STR(outcome(&s, call(&s, "m", "[1,2]", 0)), "5");
    end_side(&s);
    const char *host = strstr(s.script.url, "127");
    char want[500];
    snprintf(want, sizeof(want),
             "POST /rpc HTTP/1.1\r\nHost: %s\r\nOrigin: http://o\r\nAuthorization: Bearer t0ken\r\n"
             "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
             "Content-Length: 52\r\n\r\n"
             "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[1,2],\"id\":1}\n",
             host);
    CHECK_STR(fumi_buf_str(&s.script.got), want);
    done(&s);
}

static const struct fumi_rpc_connection_header own[] = {{"X-Api-Version", "2; beta"},
                                                        {"X-Empty", ""}};

TEST(additional_headers_go_with_requests_and_handshakes)
{
    static const struct step asked[] = {
        {MEET, {0}}, {REQUEST, {0}}, {SAY, SAYS(HEAD "\r\n" FIVE)}, {HOLD, {0}}, {0}};
    static const struct step shaken[] = {{MEET, {0}},  {REQUEST, {0}},     {SHAKE, {0}},
                                         {FRAME, {0}}, {TEXT, SAYS(FIVE)}, {FRAME, {0}},
                                         {0}};
    static const char *const schemes[] = {"http://", "ws+unix:"};
    for (size_t i = 0; i < FUMI_COUNT(schemes); i++) {
        struct fumi_rpc_connection_header headers[] = {
            own[0], own[1], {"Authorization", "Basic eDp5"}};
        struct side s;
        open_side(&s, i ? shaken : asked, schemes[i],
                  (struct fumi_rpc_connection_options){.headers = headers, .headers_n = 3});
        memset(headers, 0, sizeof(headers)); /* the strings were copied */
        CHECK(s.l);
        CHECK_STR(outcome(&s, call(&s, "m", NULL, 0)), "5");
        end_side(&s);
        CHECK(script_got(&s.script, "\r\nX-Api-Version: 2; beta\r\nX-Empty: \r\n"
                                    "Authorization: Basic eDp5\r\n"));
        done(&s);
    }
}

TEST(headers_that_would_break_a_request_are_refused)
{
    static const struct {
        struct fumi_rpc_connection_header header;
        const char *want;
    } rows[] = {
        {{"X", "a\r\nY: b"}, "the header X must not contain control characters"},
        {{"X", "a\n"}, "the header X must not contain control characters"},
        {{"X", "\x7f"}, "the header X must not contain control characters"},
        {{"X", NULL}, "the header X must not contain control characters"},
        {{"X:", "a"}, "a header name must consist"},
        {{"X Y", "a"}, "a header name must consist"},
        {{"X\r\nY", "a"}, "a header name must consist"},
        {{"", "a"}, "a header name must consist"},
        {{NULL, "a"}, "a header name must consist"},
        {{"Host", "a"}, "is set by the connection itself"},
        {{"hOST", "a"}, "is set by the connection itself"},
        {{"Content-Length", "0"}, "is set by the connection itself"},
        {{"Content-Type", "text/plain"}, "is set by the connection itself"},
        {{"Transfer-Encoding", "chunked"}, "is set by the connection itself"},
        {{"Connection", "close"}, "is set by the connection itself"},
        {{"Upgrade", "h2c"}, "is set by the connection itself"},
        {{"Expect", "100-continue"}, "is set by the connection itself"},
        {{"Accept-Encoding", "gzip"}, "is set by the connection itself"},
        {{"Sec-WebSocket-Key", "x"}, "is set by the connection itself"},
        {{"sec-websocket-extensions", "x"}, "is set by the connection itself"},
        {{"Authorization", "Basic eDp5"}, "is set by the connection itself"}, /* there is a token */
        {{"Origin", "http://o"}, "is set by the connection itself"},          /* and an origin */
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_err e = {0};
        struct fumi_rpc_connection_header both[] = {own[0], rows[i].header};
        struct fumi_rpc_connection_options o = {
            .headers = both, .headers_n = 2, .token = "t", .origin = "http://o"};
        struct fumi_rpc_connection *l = fumi_rpc_connection_open("http://127.0.0.1:1", &o, &e);
        if (l || e.code != FUMI_INVALID_PARAMS || !strstr(e.text, rows[i].want))
            TEST_FAIL("%s: %s", rows[i].header.name, e.text);
        fumi_rpc_connection_close(l);
    }
}

TEST(a_handshake_has_the_fields_that_it_should)
{
    static const struct step steps[] = {{MEET, {0}},
                                        {REQUEST, {0}},
                                        {SHAKE, SAYS("Sec-WebSocket-Protocol: mcp\r\n")},
                                        {FRAME, {0}},
                                        {0}};
    struct side s;
    open_side(&s, steps, "ws+unix:",
              (struct fumi_rpc_connection_options){
                  .token = "t0ken", .origin = "http://o", .protocol = "mcp"});
    CHECK(s.l);
    end_side(&s);
    CHECK(script_got(&s.script, "GET /ws HTTP/1.1\r\nHost: localhost\r\nOrigin: http://o\r\n"
                                "Authorization: Bearer t0ken\r\nUpgrade: websocket\r\n"
                                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                "Sec-WebSocket-Key: "));
    CHECK(script_got(&s.script, "\r\nSec-WebSocket-Protocol: mcp\r\n\r\n"));
    CHECK(script_got(&s.script, "8:1000 "));
    CHECK(!s.script.failed);
    done(&s);
}

TEST(extensions_and_protocols_that_were_not_offered_are_refused)
{
    static const struct {
        struct fumi_str fields;
        const char *protocol, *want;
    } rows[] = {
        {SAYS("Sec-WebSocket-Extensions: permessage-deflate\r\n"), NULL, "an extension"},
        {SAYS("Sec-WebSocket-Protocol: mcp\r\n"), NULL, "a protocol that was not offered"},
        {SAYS("Sec-WebSocket-Protocol: mcq\r\n"), "mcp", "a protocol that was not offered"},
        {SAYS("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), NULL, "Accept is wrong"},
        {SAYS("X: y\r\n"), "mcp", NULL},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct step steps[] = {
            {MEET, {0}}, {REQUEST, {0}}, {SHAKE, rows[i].fields}, {HOLD, {0}}, {0}};
        struct side s;
        open_side(&s, steps, "ws://",
                  (struct fumi_rpc_connection_options){.protocol = rows[i].protocol});
        if (!s.l != !!rows[i].want || (!s.l && !strstr(s.e.text, rows[i].want)))
            TEST_FAIL("%zu: %s", i, s.e.text);
        done(&s);
    }
}

#define SECOND "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":6}"
#define LONE   "HTTP/1.1 204 No Content\r\n\r\n"

TEST(a_connection_is_kept_for_the_next_call)
{
    static const struct step steps[] = {{MEET, {0}},
                                        {REQUEST, {0}},
                                        {SAY, SAYS(HEAD "\r\n" FIVE)},
                                        {REQUEST, {0}},
                                        {SAY, SAYS(LONE)},
                                        {REQUEST, {0}},
                                        {SAY, SAYS(HEAD "\r\n" SECOND)},
                                        {HOLD, {0}},
                                        {0}};
    struct side s;
    open_side(&s, steps, "http://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK_STR(outcome(&s, call(&s, "m", NULL, 0)), "5");
    CHECK_INT(fumi_rpc_connection_notify(s.l, "n", none, &s.e), 0);
    CHECK_STR(outcome(&s, call(&s, "m", "{}", 0)), "6");
    end_side(&s);
    CHECK(!s.script.failed);
    CHECK(script_got(&s.script, "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n"));
    done(&s);
}

/* The server closes a kept-alive connection, which is noticed before it is reused. */
TEST(a_kept_connection_that_has_ended_is_replaced)
{
    static const struct step seen[] = {
        {MEET, {0}}, {REQUEST, {0}}, {SAY, SAYS(HEAD "\r\n" FIVE)},   {BREAK, {0}},
        {MEET, {0}}, {REQUEST, {0}}, {SAY, SAYS(HEAD "\r\n" SECOND)}, {HOLD, {0}},
        {0}};
    struct side s;
    open_side(&s, seen, "http+unix:", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK_STR(outcome(&s, call(&s, "m", NULL, 0)), "5");
    struct pollfd end = {.fd = s.l->fd, .events = POLLIN};
    CHECK_INT(poll(&end, 1, 20000), 1);
    CHECK_STR(outcome(&s, call(&s, "m", NULL, 0)), "6");
    end_side(&s);
    CHECK(!s.script.failed);
    done(&s);
}

/* The response had begun, or the request was sent: the call may have run. */
TEST(a_request_is_not_sent_again_once_it_may_have_run)
{
    static const struct step begun[] = {{MEET, {0}},
                                        {REQUEST, {0}},
                                        {SAY, SAYS(HEAD "\r\n" FIVE)},
                                        {REQUEST, {0}},
                                        {SAY, SAYS("HTTP/1.1 ")},
                                        {BREAK, {0}},
                                        {0}};
    struct side s;
    open_side(&s, begun, "http://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK_STR(outcome(&s, call(&s, "m", NULL, 0)), "5");
    CHECK_INT(call(&s, "m", NULL, 0), -1);
    CHECK(strstr(s.e.text,
                 "closed the connection before it answered; the message may have been processed"));
    done(&s);

    static const struct step unseen[] = {
        {MEET, {0}},    {REQUEST, {0}}, {SAY, SAYS(HEAD "\r\n" FIVE)},
        {REQUEST, {0}}, {BREAK, {0}},   {0}};
    open_side(&s, unseen, "http://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK_STR(outcome(&s, call(&s, "m", NULL, 0)), "5");
    CHECK_INT(call(&s, "m", NULL, 0), -1);
    end_side(&s);
    CHECK(!s.script.failed);
    done(&s);
}

/* A refused call keeps the connection; a call that times out closes it. */
TEST(a_late_call_ends_its_connection_and_the_next_has_another)
{
    static const struct step steps[] = {{MEET, {0}},    {REQUEST, {0}},
                                        {HOLD, {0}},    {MEET, {0}},
                                        {REQUEST, {0}}, {SAY, SAYS(HEAD "\r\n" SECOND)},
                                        {HOLD, {0}},    {0}};
    struct side s;
    open_side(&s, steps, "http://", (struct fumi_rpc_connection_options){.call_time = SOON});
    CHECK(s.l);
    CHECK_INT(call(&s, "m", NULL, 0), -1);
    CHECK_INT(s.e.code, FUMI_LIMIT);
    CHECK_STR(outcome(&s, call(&s, "m", NULL, 10000)), "6");
    end_side(&s);
    CHECK(!s.script.failed);
    done(&s);
}

TEST(events_before_the_answer_are_delivered)
{
    static const struct step steps[] = {
        {MEET, {0}},
        {REQUEST, {0}},
        {DRIP, SAYS(EVENTS "Transfer-Encoding: chunked\r\n\r\n"
                           "31\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":[1]}\r\n"
                           "2\r\n\n\n\r\n"
                           "26\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n\n\r\n"
                           "2b\r\ndata: " FIVE "\n\n\r\n")},
        {REQUEST, {0}},
        {0}};
    struct side s;
    open_side(&s, steps, "http://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK_STR(outcome(&s, call(&s, "m", NULL, 0)), "5");
    CHECK_STR(fumi_buf_str(&s.notifications),
              "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":[1]}\n{"
              "\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n");
    done(&s);
}

/* The event stream has its answer but does not end: the next call does not wait for it. */
TEST(an_endless_event_stream_is_abandoned)
{
    static const struct step steps[] = {{MEET, {0}},
                                        {REQUEST, {0}},
                                        {SAY, SAYS(EVENTS "\r\ndata: " FIVE "\n\n")},
                                        {HOLD, {0}},
                                        {MEET, {0}},
                                        {REQUEST, {0}},
                                        {SAY, SAYS(HEAD "\r\n" SECOND)},
                                        {HOLD, {0}},
                                        {0}};
    struct side s;
    open_side(&s, steps, "http://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK_STR(outcome(&s, call(&s, "m", NULL, 0)), "5");
    CHECK_STR(outcome(&s, call(&s, "m", NULL, 0)), "6");
    end_side(&s);
    CHECK(!s.script.failed);
    done(&s);
}

TEST(an_event_has_its_limit)
{
    static const struct step steps[] = {
        {MEET, {0}},
        {REQUEST, {0}},
        {SAY, SAYS(EVENTS "\r\ndata: 0123456789012345678901234567890123456789")},
        {HOLD, {0}},
        {0}};
    struct side s;
    open_side(&s, steps, "http://", (struct fumi_rpc_connection_options){.limit = 40});
    CHECK(s.l);
    CHECK_INT(call(&s, "m", NULL, 0), -1);
    CHECK(strstr(s.e.text, "an event is too large"));
    CHECK_INT(s.e.code, FUMI_LIMIT);
    done(&s);
}

/* Waiting for the end of the stream would be a deadlock. */
TEST(a_request_in_an_event_stream_is_refused_on_another_connection)
{
    static const struct step steps[] = {
        {MEET, {0}},
        {REQUEST, {0}},
        {SAY, SAYS(EVENTS "\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ask\"}\n\n")},
        {ASIDE, SAYS(LONE)},
        {SAY, SAYS("data: " FIVE "\n\n")},
        {0}};
    struct side s;
    open_side(&s, steps, "http://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK_STR(outcome(&s, call(&s, "m", NULL, 0)), "5");
    end_side(&s);
    CHECK(!s.script.failed);
    CHECK(script_got(&s.script, "\"error\":{\"code\":-32601,"));
    CHECK(script_got(&s.script, "\"id\":\"q\"}\n"));
    CHECK_INT(s.notifications.n, 0);
    done(&s);
}

TEST(a_request_is_refused_and_a_notification_delivered)
{
    static const struct step steps[] = {
        {MEET, {0}},
        {LINE, {0}},
        {SAY, SAYS("{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ask\"}\n")},
        {LINE, {0}},
        {SAY, SAYS("[{\"jsonrpc\":\"2.0\",\"method\":\"a\"}, "
                   "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"b\"}]\n")},
        {LINE, {0}},
        {SAY, SAYS(FIVE "\n")},
        {HOLD, {0}},
        {0}};
    struct side s;
    open_side(&s, steps, "unix:", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK_STR(outcome(&s, call(&s, "m", NULL, 0)), "5");
    end_side(&s);
    CHECK(!s.script.failed);
    CHECK(script_got(&s.script, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32601,\"message\":"));
    CHECK(script_got(&s.script, "\"id\":\"q\"}\n"));
    CHECK(script_got(&s.script, "\"id\":null}\n"));
    CHECK_STR(fumi_buf_str(&s.notifications), "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n");
    done(&s);
}

TEST(a_connection_listens_without_a_call)
{
    static const struct step steps[] = {{MEET, {0}},
                                        {REQUEST, {0}},
                                        {SHAKE, {0}},
                                        {TEXT, SAYS("{\"jsonrpc\":\"2.0\",\"method\":\"a\"}")},
                                        {PIECES, SAYS("{\"jsonrpc\":\"2.0\",\"method\":\"bc\"}")},
                                        {FRAME, {0}},
                                        {0}};
    struct side s;
    open_side(&s, steps, "ws://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    const char *want =
        "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"bc\"}\n";
    for (int i = 0; i < 2 && s.notifications.n < strlen(want); i++)
        CHECK(fumi_rpc_connection_listen(s.l, 10000));
    CHECK_STR(fumi_buf_str(&s.notifications), want);
    for (int i = 0; i < 100 && fumi_rpc_connection_listen(s.l, 0); i++) {}
    CHECK(!fumi_rpc_connection_listen(s.l, 1));
    end_side(&s);
    CHECK(script_got(&s.script, "10:still there?\n"));
    done(&s);
}

/* Over HTTP no message can arrive between calls. */
TEST(listening_returns_at_once_when_nothing_can_arrive)
{
    static const struct step http[] = {{MEET, {0}}, {HOLD, {0}}, {0}};
    static const struct step gone[] = {{MEET, {0}}, {0}};
    struct side s;
    open_side(&s, http, "http://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK(!fumi_rpc_connection_listen(s.l, 1000000));
    done(&s);
    open_side(&s, gone, "unix:", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK(!fumi_rpc_connection_listen(s.l, 1000000));
    CHECK(!fumi_rpc_connection_listen(s.l, 1000000));
    done(&s);
}

TEST(answers_may_come_in_any_order_and_a_batch_comes_together)
{
    static const struct step steps[] = {
        {MEET, {0}},
        {LINE, {0}},
        {SAY, SAYS("[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"c\"}," SAYS_NOT
                   ",{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"b\"}]\n")},
        {LINE, {0}},
        {LINE, {0}},
        {SAY, SAYS("{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":\"e\"}\n"
                   "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":\"d\"}\n")},
        {HOLD, {0}},
        {0}};
    struct side s;
    open_side(&s, steps, "unix:", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    static const char *const wants[] = {"7 no [1]", "\"b\"", "\"c\"", "\"d\"", "\"e\""};
    for (int round = 0; round < 2; round++) {
        int64_t first = round ? 4 : 1, last = round ? 5 : 3;
        for (int64_t id = first; id <= last; id++)
            CHECK_INT(fumi_rpc_connection_begin(s.l, "m", none, &s.e), id);
        CHECK_INT(fumi_rpc_connection_await(s.l, &s.a, first, 0, &s.answer, &s.e), -1);
        CHECK(strstr(s.e.text, "m was not sent"));
        CHECK_INT(fumi_rpc_connection_send(s.l, !round, &s.e), 0);
        for (int64_t id = first; id <= last; id++)
            CHECK_STR(outcome(&s, fumi_rpc_connection_await(s.l, &s.a, id, 0, &s.answer, &s.e)),
                      wants[id - 1]);
        CHECK_INT(fumi_rpc_connection_await(s.l, &s.a, first, 0, &s.answer, &s.e), -1);
        CHECK(strstr(s.e.text, "no call with the id"));
    }
    CHECK_INT(fumi_rpc_connection_send(s.l, true, &s.e), 0); /* nothing */
    end_side(&s);
    CHECK(!s.script.failed);
    CHECK(script_got(
        &s.script,
        "[{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1},{\"jsonrpc\":\"2.0\","
        "\"method\":\"m\",\"id\":2},{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":3}]\n"));
    done(&s);
}

TEST(a_batch_that_is_refused_as_a_whole_is_answered_for_each)
{
    static const struct step steps[] = {
        {MEET, {0}}, {LINE, {0}}, {SAY, SAYS(REFUSED "\n")}, {HOLD, {0}}, {0}};
    struct side s;
    open_side(&s, steps, "unix:", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    for (int64_t id = 1; id <= 2; id++)
        CHECK_INT(fumi_rpc_connection_begin(s.l, "m", none, &s.e), id);
    CHECK_INT(fumi_rpc_connection_send(s.l, true, &s.e), 0);
    for (int64_t id = 1; id <= 2; id++)
        CHECK_STR(outcome(&s, fumi_rpc_connection_await(s.l, &s.a, id, 0, &s.answer, &s.e)),
                  "-32600 no");
    done(&s);
}

/* With two messages open it could belong to either. */
TEST(an_error_without_id_is_ignored_when_ambiguous)
{
    static const struct step steps[] = {
        {MEET, {0}}, {LINE, {0}}, {LINE, {0}}, {SAY, SAYS(REFUSED "\n" SECOND "\n" FIVE "\n")},
        {HOLD, {0}}, {0}};
    struct side s;
    open_side(&s, steps, "unix:", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    for (int64_t id = 1; id <= 2; id++)
        CHECK_INT(fumi_rpc_connection_begin(s.l, "m", none, &s.e), id);
    CHECK_INT(fumi_rpc_connection_send(s.l, false, &s.e), 0);
    CHECK_STR(outcome(&s, fumi_rpc_connection_await(s.l, &s.a, 1, 0, &s.answer, &s.e)), "5");
    CHECK_STR(outcome(&s, fumi_rpc_connection_await(s.l, &s.a, 2, 0, &s.answer, &s.e)), "6");
    done(&s);
}

TEST(over_http_a_request_waits_for_the_answer_before_it)
{
    static const struct step steps[] = {
        {MEET, {0}},
        {REQUEST, {0}},
        {SAY, SAYS("HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n")},
        {REQUEST, {0}},
        {SAY, SAYS(HEAD "Connection: close\r\n\r\n" SECOND)},
        {BREAK, {0}},
        {MEET, {0}},
        {REQUEST, {0}},
        {SAY, SAYS(OK "Content-Length: 74\r\n\r\n[{\"jsonrpc\":\"2.0\","
                      "\"id\":4,\"result\":4},{\"jsonrpc\":\"2.0\","
                      "\"id\":99,\"result\":9}]")},
        {HOLD, {0}},
        {0}};
    struct side s;
    open_side(&s, steps, "http://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    for (int64_t id = 1; id <= 2; id++)
        CHECK_INT(fumi_rpc_connection_begin(s.l, "m", none, &s.e), id);
    CHECK_INT(fumi_rpc_connection_send(s.l, false, &s.e), 0);
    for (int64_t id = 3; id <= 4; id++)
        CHECK_INT(fumi_rpc_connection_begin(s.l, "m", none, &s.e), id);
    CHECK_INT(fumi_rpc_connection_send(s.l, true, &s.e), 0);
    CHECK_STR(outcome(&s, fumi_rpc_connection_await(s.l, &s.a, 4, 0, &s.answer, &s.e)), "4");
    CHECK(is_like(outcome(&s, fumi_rpc_connection_await(s.l, &s.a, 1, 0, &s.answer, &s.e)),
                  "!HTTP 500"));
    CHECK_STR(outcome(&s, fumi_rpc_connection_await(s.l, &s.a, 2, 0, &s.answer, &s.e)), "6");
    CHECK(is_like(outcome(&s, fumi_rpc_connection_await(s.l, &s.a, 3, 0, &s.answer, &s.e)),
                  "!id is not that of an open request"));
    end_side(&s);
    CHECK(!s.script.failed);
    done(&s);
}

TEST(a_cancelled_call_is_reported_to_the_peer)
{
    static const struct step steps[] = {
        {MEET, {0}},
        {LINE, {0}},
        {LINE, {0}},
        {LINE, {0}},
        {SAY, SAYS(FIVE "\n{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":7}\n")},
        {HOLD, {0}},
        {0}};
    struct side s;
    open_side(&s, steps, "unix:", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK_INT(fumi_rpc_connection_begin(s.l, "m", none, &s.e), 1);
    CHECK_INT(fumi_rpc_connection_send(s.l, false, &s.e), 0);
    CHECK_INT(fumi_rpc_connection_cancel(s.l, 1, &s.e), 0);
    CHECK_INT(fumi_rpc_connection_cancel(s.l, 1, &s.e), -1);
    CHECK_INT(fumi_rpc_connection_begin(s.l, "m", none, &s.e),
              2); /* never sent, so not cancelled either */
    CHECK_INT(fumi_rpc_connection_cancel(s.l, 2, &s.e), 0);
    CHECK_STR(outcome(&s, call(&s, "m", NULL, 0)),
              "7"); /* the answer to the cancelled call is ignored */
    end_side(&s);
    CHECK(!s.script.failed);
    CHECK(script_got(&s.script,
                     "{\"jsonrpc\":\"2.0\",\"method\":\"rpc.cancel\",\"params\":{\"id\":1}}\n"));
    CHECK(!script_got(&s.script, "\"id\":2"));
    done(&s);
}

/* The remaining call needs the connection. */
TEST(over_http_cancelling_one_of_a_batch_spares_the_others)
{
    static const struct step steps[] = {
        {MEET, {0}}, {REQUEST, {0}}, {SAY, SAYS(HEAD "\r\n" SECOND)}, {HOLD, {0}}, {0}};
    struct side s;
    open_side(&s, steps, "http://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    for (int64_t id = 1; id <= 3; id++)
        CHECK_INT(fumi_rpc_connection_begin(s.l, "m", none, &s.e), id);
    CHECK_INT(fumi_rpc_connection_cancel(s.l, 3, &s.e), 0);
    CHECK_INT(fumi_rpc_connection_send(s.l, true, &s.e), 0);
    CHECK_INT(fumi_rpc_connection_cancel(s.l, 1, &s.e), 0);
    CHECK_STR(outcome(&s, fumi_rpc_connection_await(s.l, &s.a, 2, 0, &s.answer, &s.e)), "6");
    end_side(&s);
    CHECK(!s.script.failed);
    done(&s);
}

/* The server is gone, and queued messages were never sent when the connection is closed. */
TEST(over_http_each_request_that_cannot_be_sent_fails)
{
    static const struct step steps[] = {{MEET, {0}}, {0}};
    struct side s;
    open_side(&s, steps, "http://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    script_end(&s.script);
    s.script.steps = NULL;
    for (int64_t id = 1; id <= 3; id++)
        CHECK_INT(fumi_rpc_connection_begin(s.l, "m", none, &s.e), id);
    CHECK_INT(fumi_rpc_connection_send(s.l, false, &s.e), -1);
    for (int64_t id = 1; id <= 3; id++)
        CHECK_INT(fumi_rpc_connection_await(s.l, &s.a, id, 0, &s.answer, &s.e), -1);
    CHECK(strstr(s.e.text, "no server listens at"));
    CHECK_INT(fumi_rpc_connection_notify(s.l, "m", none, &s.e), -1);
    CHECK(strstr(s.e.text, "no server listens at"));
    done(&s);
}

TEST(over_http_queued_calls_can_be_cancelled_or_left)
{
    static const struct step steps[] = {{MEET, {0}},    {REQUEST, {0}}, {HOLD, {0}}, {MEET, {0}},
                                        {REQUEST, {0}}, {HOLD, {0}},    {0}};
    struct side s;
    open_side(&s, steps, "http://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    for (int64_t id = 1; id <= 5; id++)
        CHECK_INT(fumi_rpc_connection_begin(s.l, "m", none, &s.e), id);
    CHECK_INT(fumi_rpc_connection_send(s.l, false, &s.e), 0);
    CHECK_INT(fumi_rpc_connection_cancel(s.l, 3, &s.e), 0);
    CHECK_INT(fumi_rpc_connection_cancel(s.l, 2, &s.e), 0);
    CHECK_INT(fumi_rpc_connection_cancel(s.l, 1, &s.e), 0);
    CHECK_INT(fumi_rpc_connection_await(s.l, &s.a, 4, SOON, &s.answer, &s.e), -1);
    end_side(&s);
    CHECK(!s.script.failed);
    CHECK(script_got(&s.script, "\"id\":1}") && script_got(&s.script, "\"id\":4}"));
    CHECK(!script_got(&s.script, "\"id\":2}") && !script_got(&s.script, "\"id\":5}"));
    done(&s);
}

TEST(over_http_notifications_and_texts_time_out_too)
{
    static const struct step steps[] = {{MEET, {0}},    {REQUEST, {0}}, {HOLD, {0}}, {MEET, {0}},
                                        {REQUEST, {0}}, {HOLD, {0}},    {0}};
    struct side s;
    struct fumi_str answer;
    open_side(&s, steps, "http://", (struct fumi_rpc_connection_options){.call_time = SOON});
    CHECK(s.l);
    CHECK_INT(fumi_rpc_connection_notify(s.l, "n", none, &s.e), -1);
    CHECK(strstr(s.e.text, "no answer to n from"));
    CHECK_INT(fumi_rpc_connection_text(s.l, &s.a, FUMI_STR("{}"), 0, &answer, &s.e), -1);
    CHECK(strstr(s.e.text, "no answer to the message from"));
    end_side(&s);
    CHECK(!s.script.failed);
    done(&s);
}

TEST(params_must_be_an_array_or_an_object)
{
    static const struct step steps[] = {{MEET, {0}}, {HOLD, {0}}, {0}};
    struct side s;
    open_side(&s, steps, "unix:", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK_INT(call(&s, "m", "5", 0), -1);
    CHECK_STR(fumi_str(s.e.text), "params of m must be an array or an object");
    CHECK_INT(fumi_rpc_connection_notify(s.l, "m", (struct fumi_json){FUMI_STR("5")}, &s.e), -1);
    CHECK_INT(s.e.code, FUMI_INVALID_PARAMS);
    end_side(&s);
    CHECK_INT(s.script.got.n, 0);
    done(&s);
}

/* A peer that closes the connection while calls are open, and comes back. */
TEST(a_lost_unix_connection_fails_its_calls_and_reconnects)
{
    static const struct step steps[] = {
        {MEET, {0}},
        {LINE, {0}},
        {LINE, {0}},
        {BREAK, {0}},
        {MEET, {0}},
        {LINE, {0}},
        {SAY, SAYS("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":7}\n")},
        {BREAK, {0}},
        {MEET, {0}},
        {LINE, {0}},
        {HOLD, {0}},
        {0}};
    struct side s;
    open_side(&s, steps, "unix:", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    for (int64_t id = 1; id <= 2; id++)
        CHECK_INT(fumi_rpc_connection_begin(s.l, "m", none, &s.e), id);
    CHECK_INT(fumi_rpc_connection_send(s.l, false, &s.e), 0);
    for (int64_t id = 1; id <= 2; id++)
        CHECK(is_like(outcome(&s, fumi_rpc_connection_await(s.l, &s.a, id, 0, &s.answer, &s.e)),
                      "!has closed the connection; calls that were open may have run"));
    CHECK_STR(outcome(&s, call(&s, "m", NULL, 0)), "7");
    CHECK(!fumi_rpc_connection_listen(s.l, 10000)); /* returns when the connection is lost */
    CHECK_INT(fumi_rpc_connection_notify(s.l, "n", none, &s.e), 0);
    end_side(&s);
    CHECK(!s.script.failed);
    done(&s);
}

/* The first attempts fail; a later one succeeds. */
TEST(a_lost_websocket_reconnects_with_delays)
{
    static const struct step steps[] = {{MEET, {0}},    {REQUEST, {0}},
                                        {SHAKE, {0}},   {BREAK, {0}},
                                        {MEET, {0}},    {REQUEST, {0}},
                                        {BREAK, {0}},   {MEET, {0}},
                                        {REQUEST, {0}}, {SAY, SAYS("HTTP/1.1 503 x\r\n\r\n")},
                                        {HOLD, {0}},    {MEET, {0}},
                                        {REQUEST, {0}}, {SHAKE, {0}},
                                        {FRAME, {0}},   {TEXT, SAYS(FIVE)},
                                        {FRAME, {0}},   {0}};
    struct side s;
    open_side(&s, steps, "ws://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK(!fumi_rpc_connection_listen(s.l, 10000)); /* returns when the connection is lost */
    CHECK_STR(outcome(&s, call(&s, "m", NULL, 0)), "5");
    end_side(&s);
    CHECK(!s.script.failed);
    CHECK(script_got(&s.script, "1:" M "8:1000 "));
    done(&s);
}

TEST(a_refusal_is_final_and_tries_come_to_an_end)
{
    static const struct step refused[] = {{MEET, {0}},
                                          {REQUEST, {0}},
                                          {SHAKE, {0}},
                                          {BREAK, {0}},
                                          {MEET, {0}},
                                          {REQUEST, {0}},
                                          {SAY, SAYS("HTTP/1.1 401 x\r\n\r\n")},
                                          {HOLD, {0}},
                                          {0}};
    static const struct step gone[] = {{MEET, {0}},  {REQUEST, {0}}, {SHAKE, {0}},
                                       {BREAK, {0}}, {MEET, {0}},    {BREAK, {0}},
                                       {MEET, {0}},  {BREAK, {0}},   {0}};
    struct side s;
    open_side(&s, refused, "ws://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK(!fumi_rpc_connection_listen(s.l, 10000));
    CHECK(is_like(outcome(&s, call(&s, "m", NULL, 0)), "!HTTP 401"));
    end_side(&s);
    CHECK(!s.script.failed);
    done(&s);
    open_side(&s, gone, "ws+unix:", (struct fumi_rpc_connection_options){.tries = 2});
    CHECK(s.l);
    CHECK(!fumi_rpc_connection_listen(s.l, 10000));
    for (int64_t id = 1; id <= 2; id++)
        CHECK_INT(fumi_rpc_connection_begin(s.l, "m", none, &s.e), id);
    CHECK_INT(fumi_rpc_connection_send(s.l, false, &s.e), -1);
    for (int64_t id = 1; id <= 2; id++)
        CHECK_INT(fumi_rpc_connection_await(s.l, &s.a, id, 0, &s.answer, &s.e), -1);
    CHECK(strstr(s.e.text, "the connection"));
    end_side(&s);
    CHECK(!s.script.failed);
    done(&s);
}

TEST(without_tries_a_lost_connection_stays_lost)
{
    static const struct step steps[] = {{MEET, {0}}, {BREAK, {0}}, {0}};
    struct side s;
    open_side(&s, steps, "unix:", (struct fumi_rpc_connection_options){.tries = -1});
    CHECK(s.l);
    CHECK(!fumi_rpc_connection_listen(s.l, 10000));
    for (int i = 0; i < 2; i++)
        CHECK(is_like(outcome(&s, call(&s, "m", NULL, 0)), "!has closed the connection"));
    CHECK_INT(fumi_rpc_connection_notify(s.l, "m", none, &s.e), -1);
    done(&s);
}

/* ["xxx"] of n bytes. */
static struct fumi_str filler(struct fumi_arena *a, size_t n)
{
    char *text = fumi_alloc(a, n);
    memset(text, 'x', n);
    memcpy(text, "[\"", 2);
    memcpy(text + n - 2, "\"]", 2);
    return (struct fumi_str){text, n};
}

/* SIGPIPE would kill this program. */
TEST(a_peer_that_resets_is_an_error_and_no_signal)
{
    static const struct step steps[] = {{MEET, {0}},  {REQUEST, {0}}, {SHAKE, {0}},
                                        {FRAME, {0}}, {RESET, {0}},   {0}};
    struct side s;
    signal(SIGPIPE, SIG_DFL);
    open_side(&s, steps, "ws://", (struct fumi_rpc_connection_options){.tries = -1});
    CHECK(s.l);
    struct fumi_json big = {filler(&s.a, 256 << 10)};
    CHECK_INT(fumi_rpc_connection_notify(s.l, "n", none, &s.e), 0);
    int rc = 0;
    for (int i = 0; i < 1000 && !rc; i++)
        rc = fumi_rpc_connection_notify(s.l, "n", big, &s.e);
    CHECK_INT(rc, -1);
    CHECK(strstr(s.e.text, "the connection"));
    CHECK_INT(call(&s, "m", NULL, 0), -1);
    done(&s);
}

/* More than the socket's buffers hold, to a peer that does not read. */
TEST(a_peer_that_does_not_read_times_out)
{
    static const struct step steps[] = {{MEET, {0}}, {ASIDE, {0}}, {0}};
    static const char *const schemes[] = {"unix:", "http://", "ws://"};
    static const struct step shaken[] = {
        {MEET, {0}}, {REQUEST, {0}}, {SHAKE, {0}}, {ASIDE, {0}}, {0}};
    for (size_t i = 0; i < FUMI_COUNT(schemes); i++) {
        struct side s;
        struct fumi_err e;
        open_side(&s, i == 2 ? shaken : steps, schemes[i], (struct fumi_rpc_connection_options){0});
        CHECK(s.l);
        struct fumi_str big = filler(&s.a, 32 << 20);
        CHECK_INT(fumi_rpc_connection_call(s.l, &s.a, "m", (struct fumi_json){big}, SOON, &s.answer,
                                           &s.e),
                  -1);
        CHECK(strstr(s.e.text, "does not read the data that is sent to it"));
        /* Lets the script end. */
        struct fumi_rpc_connection_options short_time = {.connect_time = SOON};
        fumi_rpc_connection_close(fumi_rpc_connection_open(s.script.url, &short_time, &e));
        done(&s);
    }
}

TEST(a_line_that_is_too_long_fails_what_is_open_and_no_more)
{
    static const struct step steps[] = {
        {MEET, {0}},
        {LINE, {0}},
        {SAY, SAYS("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"0123456789")},
        {LINE, {0}},
        {SAY, SAYS("0123456789")},
        {SAY, SAYS("0123456789\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":7}\n")},
        {LINE, {0}},
        {SAY, SAYS("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"01234567890123456789\"}\n")},
        {LINE, {0}},
        {SAY, SAYS("{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":8}\r\n")},
        {HOLD, {0}},
        {0}};
    static const char *const wants[] = {"!has more than 35 bytes: raise the limit", "7",
                                        "!has more than 35 bytes: raise the limit", "8"};
    struct side s;
    open_side(&s, steps, "unix:", (struct fumi_rpc_connection_options){.limit = 35});
    CHECK(s.l);
    for (size_t i = 0; i < FUMI_COUNT(wants); i++)
        CHECK(is_like(outcome(&s, call(&s, "m", NULL, 0)), wants[i]));
    done(&s);
}

struct note {
    struct fumi_str title, body;
    int64_t size;
};
static const struct fumi_field note_fields[] = {
    FUMI_FIELD(struct note, title, "title", "", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct note, body, "body", ""),
    FUMI_FIELD(struct note, size, "size", ""),
};
static const struct fumi_shape note_shape = FUMI_SHAPE(struct note, note_fields);
static const struct fumi_method note_method = {
    .name = "note.store", .params = &note_shape, .result = &note_shape};

static int call_as(struct side *s, const struct fumi_method *m, const struct note *in,
                   struct note *out)
{
    s->e = (struct fumi_err){0};
    return fumi_rpc_connection_call_as(s->l, &s->a, m, in, out, 0, &s->e);
}

TEST(structs_go_out_and_come_back)
{
#define NOTE(id, result) "{\"jsonrpc\":\"2.0\",\"id\":" #id "," result "}\n"
    static const struct step steps[] = {
        {MEET, {0}},
        {LINE, {0}},
        {SAY, SAYS(NOTE(1, "\"result\":{\"title\":\"\\u00e9t\\u00e9\",\"body\":null,\"size\":3}"))},
        {LINE, {0}},
        {SAY, SAYS(NOTE(2, "\"error\":{\"code\":7,\"message\":\"no\",\"data\":{\"why\":1}}"))},
        {LINE, {0}},
        {SAY, SAYS(NOTE(3, "\"result\":{\"title\":\"x\",\"size\":\"3\"}"))},
        {LINE, {0}},
        {SAY, SAYS(NOTE(4, "\"result\":null"))},
        {LINE, {0}},
        {SAY, SAYS(NOTE(5, "\"result\":[1,2]"))},
        {LINE, {0}},
        {BREAK, {0}},
        {0}};
    static const struct fumi_method bare = {.name = "ping"};
    const struct note in = {.title = FUMI_STR("a \"b\""), .size = 2};
    struct note out = {.size = 99};
    struct side s;
    open_side(&s, steps, "unix:", (struct fumi_rpc_connection_options){.tries = -1});
    CHECK(s.l);
    CHECK_INT(call_as(&s, &note_method, &in, &out), 0);
    CHECK_STR(out.title, "\xC3\xA9t\xC3\xA9");
    CHECK(!out.body.p);
    CHECK_INT(out.size, 3);
    CHECK_INT(call_as(&s, &note_method, &in, &out), 1);
    CHECK_INT(s.e.code, 7);
    CHECK_STR(s.e.data, "{\"why\":1}");
    CHECK_INT(call_as(&s, &note_method, &in, &out), -1);
    CHECK_STR(fumi_str(s.e.text),
              "the result of note.store is not as expected: size must be an integer");
    CHECK_INT(s.e.code, FUMI_INTERNAL_ERROR);
    CHECK_INT(call_as(&s, &note_method, &in, &out), -1);
    CHECK(strstr(s.e.text, "result must be an object, not null"));
    CHECK_INT(call_as(&s, &bare, NULL, NULL), 0); /* the result is ignored */
    CHECK_INT(call_as(&s, &bare, NULL, NULL), -1);
    CHECK(strstr(s.e.text, "closed the connection"));
    end_side(&s);
    CHECK(script_got(&s.script,
                     "{\"jsonrpc\":\"2.0\",\"method\":\"note.store\",\"params\":{\"title\":"
                     "\"a \\\"b\\\"\",\"size\":2},\"id\":1}\n"));
    CHECK(script_got(&s.script, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":5}\n"));
    done(&s);
#undef NOTE
}

/* Nothing is sent for these calls. */
TEST(structs_json_cannot_express_and_wrong_tables_are_refused)
{
    static const struct fumi_field wrong[] = {FUMI_FIELD(struct side, a, "a", "")};
    static const struct fumi_shape wrong_shape = FUMI_SHAPE(struct side, wrong);
    static const struct fumi_field real[] = {FUMI_FIELD(
        struct { double d; }, d, "d", "")};
    static const struct fumi_shape real_shape = FUMI_SHAPE(
        struct { double d; }, real);
    static const struct fumi_method methods[] = {{.name = "n", .params = &wrong_shape},
                                                 {.name = "n", .result = &wrong_shape},
                                                 {.name = "n", .params = &real_shape}};
    static const struct step steps[] = {{MEET, {0}}, {HOLD, {0}}, {0}};
    const double infinite[] = {INFINITY};
    struct side s;
    open_side(&s, steps, "unix:", (struct fumi_rpc_connection_options){.tries = -1});
    CHECK(s.l);
    for (size_t i = 0; i < FUMI_COUNT(methods); i++) {
        CHECK_INT(fumi_rpc_connection_call_as(s.l, &s.a, &methods[i], infinite, NULL, 0, &s.e), -1);
        CHECK(strstr(s.e.text, i < 2 ? "shape" : "params of n cannot be written as JSON"));
    }
    end_side(&s);
    CHECK_INT(s.script.got.n, 0);
    done(&s);
}

TEST(the_text_of_a_message_goes_out_and_that_of_the_answer_comes_back)
{
    static const struct step lined[] = {
        {MEET, {0}},
        {LINE, {0}},
        {SAY, SAYS("{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n" REFUSED "\n")},
        {LINE, {0}},
        {HOLD, {0}},
        {0}};
    static const struct step http[] = {
        {MEET, {0}},
        {REQUEST, {0}},
        {SAY, SAYS(OK "Content-Length: 3\r\n\r\n{x}")},
        {REQUEST, {0}},
        {SAY, SAYS(LONE)},
        {REQUEST, {0}},
        {SAY, SAYS("HTTP/1.1 415 x\r\nContent-Length: 2\r\n" JSON "\r\n{}")},
        {REQUEST, {0}},
        {SAY,
         SAYS(EVENTS "\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\ndata: " FIVE "\n\n")},
        {BREAK, {0}},
        {0}};
    struct side s;
    struct fumi_str answer;
    open_side(&s, lined, "unix:", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK_INT(fumi_rpc_connection_text(s.l, &s.a, FUMI_STR("{]"), 0, &answer, &s.e), 0);
    CHECK_STR(answer, REFUSED);
    CHECK_STR(fumi_buf_str(&s.notifications), "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n");
    CHECK_INT(fumi_rpc_connection_text(s.l, &s.a, FUMI_STR("{}"), SOON, &answer, &s.e), 0);
    CHECK_STR(answer, "");
    CHECK_INT(fumi_rpc_connection_text(s.l, &s.a, FUMI_STR("{\n}"), 0, &answer, &s.e), -1);
    CHECK(strstr(s.e.text, "must not contain line feeds"));
    end_side(&s);
    CHECK_STR(fumi_buf_str(&s.script.got), "{]\n{}\n");
    done(&s);
    open_side(&s, http, "http://", (struct fumi_rpc_connection_options){0});
    CHECK(s.l);
    CHECK_INT(fumi_rpc_connection_text(s.l, &s.a, FUMI_STR("{\n]"), 0, &answer, &s.e), 0);
    CHECK_STR(answer, "{x}");
    CHECK_INT(fumi_rpc_connection_text(s.l, &s.a, FUMI_STR("{}"), 0, &answer, &s.e), 0);
    CHECK_STR(answer, "");
    CHECK_INT(fumi_rpc_connection_text(s.l, &s.a, FUMI_STR("{}"), 0, &answer, &s.e), -1);
    CHECK(strstr(s.e.text, "HTTP 415"));
    CHECK_INT(fumi_rpc_connection_text(s.l, &s.a, FUMI_STR("{}"), 0, &answer, &s.e), 0);
    CHECK_STR(answer, FIVE);
    CHECK_STR(fumi_buf_str(&s.notifications), "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n");
    end_side(&s);
    CHECK(!s.script.failed);
    CHECK(script_got(&s.script, "\r\n\r\n{\n]\n"));
    done(&s);
}

static void on_tick(int signal)
{
    (void)signal;
}

/* A timer interrupts every system call. */
TEST(signals_interrupt_nothing)
{
    static const struct step steps[] = {
        {MEET, {0}}, {REQUEST, {0}}, {DRIP, SAYS(HEAD "\r\n" FIVE)}, {HOLD, {0}}, {0}};
    const struct sigaction tick = {.sa_handler = on_tick};
    struct sigaction before;
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {0};
    struct side s;
    sigaction(SIGALRM, &tick, &before);
    setitimer(ITIMER_REAL, &often, NULL);
    open_side(&s, steps, "http://", (struct fumi_rpc_connection_options){0});
    struct fumi_str got = outcome(&s, s.l ? call(&s, "m", NULL, 0) : -1);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    CHECK_STR(got, "5");
    done(&s);
}

static void open_child(struct side *s, const char *what)
{
    char *const argv[] = {(char *)"/proc/self/exe", NULL};
    struct fumi_rpc_connection_options o = options(s, (struct fumi_rpc_connection_options){0});
    *s = (struct side){0};
    setenv("RPC_CONNECTION_CHILD", what, 1);
    s->l = fumi_rpc_connection_spawn(argv, &o, &s->e);
    unsetenv("RPC_CONNECTION_CHILD");
}

/* Exchanges every kind of message over one transport of the server. */
static void converse(struct side *s, bool asks)
{
    CHECK_STR(outcome(s, call(s, "subtract", "[42,23]", 0)), "19");
    CHECK_STR(outcome(s, call(s, "subtract", "{\"a\":1,\"b\":2}", 0)), "-1");
    CHECK_INT(call(s, "absent", NULL, 0), 0);
    CHECK_INT(s->answer.err.code, FUMI_METHOD_NOT_FOUND);
    CHECK_INT(fumi_rpc_connection_notify(s->l, "subtract", none, &s->e), 0);
    s->notifications.n = 0;
    CHECK_STR(outcome(s, call(s, "count", "[2]", 0)), "2");
    CHECK_STR(fumi_buf_str(&s->notifications),
              "{\"jsonrpc\":\"2.0\",\"method\":\"step\",\"params\":{\"step\":1}}\n"
              "{\"jsonrpc\":\"2.0\",\"method\":\"step\",\"params\":{\"step\":2}}\n");
    int64_t ids[3];
    for (int batch = 0; batch < 2; batch++) {
        static const char *const params[] = {"[3]", "[4,1]", "[]"};
        for (int i = 0; i < 3; i++)
            ids[i] = fumi_rpc_connection_begin(s->l, "subtract",
                                               (struct fumi_json){fumi_str(params[i])}, &s->e);
        CHECK_INT(fumi_rpc_connection_send(s->l, batch, &s->e), 0);
        CHECK_INT(fumi_rpc_connection_await(s->l, &s->a, ids[2], 0, &s->answer, &s->e), 0);
        CHECK_INT(s->answer.err.code, FUMI_INVALID_PARAMS);
        for (int i = 0; i < 2; i++)
            CHECK_STR(
                outcome(s, fumi_rpc_connection_await(s->l, &s->a, ids[i], 0, &s->answer, &s->e)),
                "3");
    }
    CHECK(is_like(outcome(s, call(s, "wait", NULL, SOON)), "!no answer to wait"));
    if (asks)
        CHECK_STR(outcome(s, call(s, "ask", NULL, 0)), "\"-32601\"");
    struct fumi_str answer;
    CHECK_INT(fumi_rpc_connection_text(s->l, &s->a, FUMI_STR("{]"), 0, &answer, &s->e), 0);
    CHECK(answer.n && memmem(answer.p, answer.n, "-32700", 6));
    CHECK_STR(outcome(s, call(s, "subtract", "[1,1]", 0)), "0");
}

TEST(a_child_answers_and_exits)
{
    struct side s;
    open_child(&s, "serve:");
    CHECK(s.l);
    converse(&s, true);
    done(&s);
}

TEST(a_program_that_is_not_there_or_ends_is_reported)
{
    struct fumi_err e = {0};
    char *const absent[] = {(char *)"/nonexistent/fumi", NULL};
    char *const nothing[] = {NULL};
    CHECK(!fumi_rpc_connection_spawn(absent, NULL, &e));
    CHECK(strstr(e.text, "/nonexistent/fumi cannot be started: "));
    CHECK(!fumi_rpc_connection_spawn(nothing, NULL, &e));
    CHECK(strstr(e.text, "is missing"));

    static const struct {
        const char *script, *want;
    } rows[] = {
        {"exit 3", "has ended with status 3"},
        {"read x; exit 4", "has ended with status 4"},
        {"kill -9 $$", "was ended by signal 9"},
        {"exec >/dev/null; exec <&-; exec sleep 60", "has closed its output"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        char *const argv[] = {(char *)"sh", (char *)"-c", (char *)rows[i].script, NULL};
        struct side s = {.l = fumi_rpc_connection_spawn(argv, NULL, &e)};
        CHECK(s.l);
        for (int again = 0; again < 2; again++) {
            struct fumi_str got = outcome(&s, call(&s, "m", NULL, 0));
            if (!strstr(got.p, rows[i].want))
                TEST_FAIL("%s: %.*s", rows[i].script, FUMI_ARG(got));
        }
        done(&s);
    }
}

/* Neither end of file nor SIGTERM ends it. */
TEST(a_stubborn_child_is_killed)
{
    struct side s;
    open_child(&s, "stubborn");
    CHECK(s.l);
    CHECK(fumi_rpc_connection_listen(s.l, 30000));
    done(&s);
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_INT(errno, ECHILD);
}

/* Both directions fill up: cat continues only when its output is read. */
TEST(large_messages_flow_in_both_directions)
{
    char *const argv[] = {(char *)"cat", NULL};
    struct fumi_err e = {0};
    struct side s = {.l = fumi_rpc_connection_spawn(argv, NULL, &e)};
    struct fumi_str answer;
    CHECK(s.l);
    struct fumi_str big = filler(&s.a, 8 << 20);
    CHECK_INT(fumi_rpc_connection_text(s.l, &s.a, big, 0, &answer, &s.e), 0);
    CHECK(fumi_eq(answer, big));
    done(&s);
}

/* URLs of the addresses that a child listens on. */
static void open_server(struct side *s, char *dir, char url[5][120])
{
    char what[100];
    if (!mkdtemp(dir))
        abort();
    snprintf(what, sizeof(what), "serve:%s/s", dir);
    open_child(s, what);
    if (!s->l || call(s, "where", NULL, 0))
        return;
    struct fumi_str places = s->answer.result.text;
    const char *tcp = memmem(places.p, places.n, "127.0.0.1:", 10);
    int port = tcp ? (int)strtol(tcp + 10, NULL, 10) : 0;
    snprintf(url[0], 120, "http://127.0.0.1:%d/rpc", port);
    snprintf(url[1], 120, "ws://127.0.0.1:%d/ws", port);
    snprintf(url[2], 120, "unix:%s/s", dir);
    snprintf(url[3], 120, "http+unix:%s/s", dir);
    snprintf(url[4], 120, "ws+unix:%s/s", dir);
}

TEST(the_server_answers_over_all_transports)
{
    struct side server, s;
    char dir[] = "/tmp/fumi-link-XXXXXX", url[5][120] = {{0}};
    open_server(&server, dir, url);
    if (!server.l || !url[0][0])
        TEST_FAIL("the server does not say where it is: %s", server.e.text);
    for (size_t i = 0; url[0][0] && i < FUMI_COUNT(url); i++) {
        s = (struct side){0};
        struct fumi_rpc_connection_options o = options(&s, (struct fumi_rpc_connection_options){0});
        s.l = fumi_rpc_connection_open(url[i], &o, &s.e);
        if (s.l)
            converse(&s, !strstr(url[i], "http"));
        if (!s.l || test_failed)
            TEST_FAIL("%s: %s", url[i], s.e.text);
        done(&s);
    }
    done(&server);
    rmdir(dir);
}
