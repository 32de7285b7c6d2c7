#include "test.h"

#include "http1_cases.h"
#include "http1_feed.h"

static const struct http_limits small = {20, 60, 3, 10};

/* Feeds `in` in pieces that end at `cut` and then at each multiple of `step`. */
static struct fumi_buf feed(struct fumi_str in, size_t cut, size_t step, struct http_limits limits)
{
    struct feed f = {.limits = limits};
    size_t n = cut < in.n ? cut : in.n;
    feed_give(&f, (struct fumi_str){in.p, n});
    for (size_t at = n; at < in.n; at += n) {
        n = step < in.n - at ? step : in.n - at;
        feed_give(&f, (struct fumi_str){in.p + at, n});
    }
    return feed_end(&f);
}

static void expect(struct fumi_str in, size_t cut, size_t step, struct http_limits limits,
                   const char *want)
{
    struct fumi_buf log = feed(in, cut, step, limits);
    if (!fumi_eq(fumi_buf_str(&log), fumi_str(want)))
        TEST_FAIL("%.*s\ncut at %zu, then each %zu\n   got %.*s\n  want %s", FUMI_ARG(in), cut,
                  step, FUMI_ARG(fumi_buf_str(&log)), want);
    fumi_buf_done(&log);
}

/* In one piece, byte by byte, in pieces of seven, and cut in two at every position. */
static void expect_all(struct fumi_str in, struct http_limits limits, const char *want)
{
    expect(in, 1, 1, limits, want);
    expect(in, 7, 7, limits, want);
    for (size_t cut = 0; cut <= in.n; cut++)
        expect(in, cut, in.n, limits, want);
}

/* A complete request is also read with another request after it. */
static void expect_next(const struct http_case *c, struct http_limits limits)
{
    size_t n = strlen(c->want);
    if (n == 0 || c->want[n - 1] != '\n' || strchr(c->want, '!'))
        return;
    struct fumi_str next = FUMI_STR("P /2 HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\n\r\nhi");
    struct fumi_buf both = {0}, want = {0};
    fumi_buf_add(&both, c->in.p, c->in.n);
    fumi_buf_add(&both, next.p, next.n);
    fumi_buf_add(&want, c->want, n);
    fumi_buf_add(&want, "P /2 1.1 keep {hi}\n", 20);
    expect_all(fumi_buf_str(&both), limits, want.p);
    fumi_buf_done(&both);
    fumi_buf_done(&want);
}

static void expect_table(const struct http_case *cases, size_t n, struct http_limits limits)
{
    for (size_t i = 0; i < n; i++) {
        expect_all(cases[i].in, limits, cases[i].want);
        expect_next(&cases[i], limits);
    }
}

TEST(request_lines_are_read_as_the_table_says)
{
    expect_table(request_lines, FUMI_COUNT(request_lines), HTTP_LIMITS);
}

TEST(fields_are_read_as_the_table_says)
{
    expect_table(field_lines, FUMI_COUNT(field_lines), HTTP_LIMITS);
}

TEST(bodies_are_framed_as_the_table_says)
{
    expect_table(framings, FUMI_COUNT(framings), HTTP_LIMITS);
}

TEST(chunks_are_read_as_the_table_says)
{
    expect_table(chunk_cases, FUMI_COUNT(chunk_cases), HTTP_LIMITS);
}

TEST(limits_hold_to_the_byte)
{
    expect_table(limit_cases, FUMI_COUNT(limit_cases), small);
    expect_table(chunk_limit_cases, FUMI_COUNT(chunk_limit_cases), small);
}

/* A request with these sizes: the path, one value, and the number of additional fields. */
static struct fumi_buf request(size_t path, size_t value, size_t fields)
{
    struct fumi_buf b = {0};
    fumi_buf_add(&b, "GET /", 5);
    for (size_t i = 1; i < path; i++)
        fumi_buf_put(&b, 'p');
    fumi_buf_add(&b, " HTTP/1.1\r\nHost: a\r\nV: ", 23);
    for (size_t i = 0; i < value; i++)
        fumi_buf_put(&b, 'v');
    for (size_t i = 0; i < fields; i++)
        fumi_buf_add(&b, "\r\nF: f", 6);
    fumi_buf_add(&b, "\r\n\r\n", 4);
    return b;
}

static int status_of(struct fumi_buf b, size_t step)
{
    struct feed f = {.limits = HTTP_LIMITS};
    for (size_t at = 0; at < b.n; at += step)
        feed_give(&f, (struct fumi_str){b.p + at, step < b.n - at ? step : b.n - at});
    int status = f.wrong ? -1 : f.fault.status;
    struct fumi_buf log = feed_end(&f);
    fumi_buf_done(&log);
    fumi_buf_done(&b);
    return status;
}

TEST(the_usual_limits_are_those_promised)
{
    enum { LINE = 8192 - 13, HEAD = 16384 - 32 }; /* without the surrounding text */
    static const size_t steps[] = {1, 1000, 1 << 20};
    for (size_t i = 0; i < FUMI_COUNT(steps); i++) {
        CHECK_INT(status_of(request(LINE, 0, 0), steps[i]), 0);
        CHECK_INT(status_of(request(LINE + 1, 0, 0), steps[i]), 414);
        CHECK_INT(status_of(request(1, HEAD, 0), steps[i]), 0);
        CHECK_INT(status_of(request(1, HEAD + 1, 0), steps[i]), 431);
        CHECK_INT(status_of(request(1, 1, 98), steps[i]), 0);
        CHECK_INT(status_of(request(1, 1, 99), steps[i]), 431);
    }
}

TEST(no_limit_lets_more_fields_in_than_there_is_room_for)
{
    struct http_limits limits = {8 << 10, 16 << 10, HTTP_FIELDS + 50, 1 << 20};
    struct fumi_buf b = request(1, 1, HTTP_FIELDS - 1);
    expect(fumi_buf_str(&b), b.n, b.n, limits, "!431 too many fields\n");
    fumi_buf_done(&b);
}

/* Reads a valid head from a block of exactly its size; the caller frees the result. */
static char *head_of(struct http_head *h, const char *text)
{
    size_t n = strlen(text), seen = 0;
    char *block = malloc(n);
    struct http_limits limits = HTTP_LIMITS;
    struct http_fault fault = {0};
    memcpy(block, text, n);
    if (http_read_head(h, (struct fumi_str){block, n}, &seen, &limits, &fault) != (ssize_t)n)
        TEST_FAIL("%s is not read: %d %s", text, fault.status, fault.reason);
    return block;
}

TEST(fields_are_found_in_any_case)
{
    struct http_head h;
    char *block = head_of(&h, GET "CONTENT-Type: \ttext/plain; a=b \r\nx: 1\r\nX: 2\r\nE:\r\n\r\n");
    struct fumi_str type = http_field(&h, "content-type"), empty = http_field(&h, "e");
    CHECK_STR(type, "text/plain; a=b");
    CHECK_STR(http_field(&h, "x"), "1");
    CHECK_STR(empty, "");
    CHECK_STR(h.host, "a");
    CHECK(!http_field(&h, "content-typ").p && !http_field(&h, "content-typf").p);
    CHECK_INT(h.n, 5);
    CHECK_STR(h.fields[1].name, "CONTENT-Type");
    CHECK_INT(http_count(&h, "x"), 2);
    CHECK_INT(http_count(&h, "host"), 1);
    CHECK_INT(http_count(&h, "y"), 0);
    free(block);
}

TEST(the_host_of_an_absolute_target_is_the_host)
{
    struct http_head h;
    char *block = head_of(&h, "GET http://Example:80/x HTTP/1.0\r\n\r\n");
    CHECK_STR(h.host, "Example:80");
    CHECK_STR(h.path, "/x");
    CHECK(!http_has_body(&h) && !h.query.p);
    free(block);
    block = head_of(&h, "GET / HTTP/1.0\r\n\r\n");
    CHECK(!h.host.p);
    free(block);
}

TEST(a_head_that_was_read_leaves_nothing_to_the_next)
{
    struct http_head h;
    free(head_of(&h, POST "Expect: 100-continue\r\nConnection: upgrade, close\r\nUpgrade: x\r\n"
                          "Content-Length: 7\r\n\r\n"));
    CHECK(h.length == 7 && h.expects_continue && h.upgrade.p && !h.keep_alive);
    free(head_of(&h, "GET /?a HTTP/1.1\r\nHost: a\r\n\r\n"));
    CHECK(h.query.p);
    char *block = head_of(&h, "GET / HTTP/1.0\r\n\r\n");
    CHECK(!h.length && !h.expects_continue && !h.upgrade.p && !h.query.p && !h.host.p && !h.n);
    CHECK(h.framing == HTTP_NO_BODY && h.minor == 0 && !h.keep_alive);
    free(block);
}

TEST(tokens_are_found_in_lists)
{
    CHECK(http_has_token(FUMI_STR("websocket"), "websocket"));
    CHECK(http_has_token(FUMI_STR("h2c ,\tWebSocket\t, x"), "websocket"));
    CHECK(http_has_token(FUMI_STR(",,a,"), "a"));
    CHECK(!http_has_token(FUMI_STR("websockets, web socket, websocket/13"), "websocket"));
    CHECK(!http_has_token(FUMI_STR(""), "a"));
    CHECK(!http_has_token((struct fumi_str){0}, "a"));
    CHECK(!http_has_token(FUMI_STR(" , ,"), "a"));
}

TEST(a_text_is_the_same_in_any_case)
{
    CHECK(http_same(FUMI_STR("LocalHost:1AZ"), FUMI_STR("localhosT:1az")));
    CHECK(!http_same(FUMI_STR("a@"), FUMI_STR("a`")));
    CHECK(!http_same(FUMI_STR("a"), FUMI_STR("aa")));
    CHECK(!http_same(FUMI_STR("[a"), FUMI_STR("{a")));
}

/* A buffer that is smaller than the limit: also a fault, no data is lost silently. */
TEST(a_full_buffer_is_a_body_too_large)
{
    struct http_chunks c = {0};
    struct fumi_buf body = {.limit = 4};
    struct http_limits limits = HTTP_LIMITS;
    struct http_fault fault = {0};
    CHECK_INT(http_read_chunks(&c, FUMI_STR("4\r\nabcd\r\n1\r\n"), &body, &limits, &fault), 12);
    CHECK_INT(http_read_chunks(&c, FUMI_STR("e"), &body, &limits, &fault), -1);
    CHECK_INT(fault.status, 413);
    fumi_buf_done(&body);
}

static const struct http_field type = {{"Content-Type", 12}, {"application/json", 16}};

/* clang-format off */
static const struct {
    struct http_response_head answer;
    const char *want;
} answers[] = {
    /* The usual one. */
    {{.status = 200, .minor = 1, .framing = HTTP_LENGTH, .length = 39, .keep_alive = true, .fields = &type, .n = 1},
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 39\r\n\r\n"},
    /* No body: no length either (RFC 9110, 8.6). */
    {{.status = 204, .minor = 1, .keep_alive = true}, "HTTP/1.1 204 No Content\r\n\r\n"},
    /* An empty body has a length. */
    {{.status = 404, .minor = 1, .framing = HTTP_LENGTH, .keep_alive = true},
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"},
    /* After a fault. */
    {{.status = 431, .minor = 1, .framing = HTTP_LENGTH, .length = 7},
        "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 7\r\nConnection: close\r\n\r\n"},
    /* For an HTTP/1.0 client the header must state that the connection stays open. */
    {{.status = 200, .minor = 0, .framing = HTTP_LENGTH, .length = UINT64_MAX, .keep_alive = true},
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\nConnection: keep-alive\r\n\r\n"},
    /* A stream of events. */
    {{.status = 200, .minor = 1, .framing = HTTP_CHUNKED, .keep_alive = true, .fields = &type, .n = 1},
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"},
    /* The same for an HTTP/1.0 client ends with the connection. */
    {{.status = 200, .minor = 0}, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"},
    /* Switches to another protocol. */
    {{.status = 101, .minor = 1, .keep_alive = true}, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n"},
    /* A status without a phrase keeps its blank (RFC 9112, 4). */
    {{.status = 299, .minor = 1, .framing = HTTP_LENGTH, .keep_alive = true}, "HTTP/1.1 299 \r\nContent-Length: 0\r\n\r\n"},
};
/* clang-format on */

TEST(answers_are_written_as_the_table_says)
{
    for (size_t i = 0; i < FUMI_COUNT(answers); i++) {
        struct fumi_buf b = {0};
        fumi_buf_put(&b, '>'); /* existing content is preserved */
        http_put_response_head(&b, &answers[i].answer);
        if (!fumi_eq((struct fumi_str){b.p + 1, b.n - 1}, fumi_str(answers[i].want)))
            TEST_FAIL("got %.*s\nwant %s", FUMI_ARG(fumi_buf_str(&b)), answers[i].want);
        fumi_buf_done(&b);
    }
}

TEST(an_answer_that_does_not_fit_is_not_begun)
{
    struct fumi_buf b = {.limit = 100};
    http_put_response_head(&b, &answers[0].answer);
    CHECK(b.full && b.n == 0);
    fumi_buf_done(&b);
}

TEST(fields_that_break_out_do_not_fit)
{
    CHECK(http_field_is_valid(&type));
    CHECK(http_field_is_valid(&(struct http_field){FUMI_STR("a"), FUMI_STR("")}));
    CHECK(http_field_is_valid(&(struct http_field){FUMI_STR("a"), {0}}));
    CHECK(!http_field_is_valid(&(struct http_field){FUMI_STR("a"), FUMI_STR("b\r\nc: d")}));
    CHECK(!http_field_is_valid(&(struct http_field){FUMI_STR("a"), FUMI_STR(SIXTY "\n")}));
    CHECK(!http_field_is_valid(&(struct http_field){FUMI_STR("a"), FUMI_STR("b\0")}));
    CHECK(!http_field_is_valid(&(struct http_field){FUMI_STR(""), FUMI_STR("b")}));
    CHECK(!http_field_is_valid(&(struct http_field){FUMI_STR("a:"), FUMI_STR("b")}));
}

TEST(written_chunks_are_read_back)
{
    struct fumi_buf wire = {0}, body = {0};
    struct http_chunks c = {0};
    struct http_limits limits = HTTP_LIMITS;
    struct http_fault fault = {0};
    char text[300];
    memset(text, 'x', sizeof(text));
    http_chunk(&wire, FUMI_STR("data: 1\n\n"));
    http_chunk(&wire, FUMI_STR(""));
    http_chunk(&wire, (struct fumi_str){text, sizeof(text)});
    CHECK(fumi_starts(fumi_buf_str(&wire), FUMI_STR("9\r\ndata: 1\n\n\r\n12c\r\nxxx")));
    http_chunk_end(&wire);
    CHECK_INT(http_read_chunks(&c, fumi_buf_str(&wire), &body, &limits, &fault), wire.n);
    CHECK(c.done && body.n == 9 + sizeof(text));
    CHECK(memcmp(body.p + 9, text, sizeof(text)) == 0);
    fumi_buf_done(&wire);
    fumi_buf_done(&body);
}

TEST(a_body_is_asked_for)
{
    struct fumi_buf b = {0};
    http_continue(&b);
    CHECK_STR(fumi_buf_str(&b), "HTTP/1.1 100 Continue\r\n\r\n");
    fumi_buf_done(&b);
}
