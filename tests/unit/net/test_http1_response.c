#include "test.h"

#include "net/http1_response.h"

/* A minimal connection: receives bytes in pieces, reads consecutive responses and logs what it
 * found. */
struct feed {
    struct http_limits limits;
    char *bytes; /* unprocessed bytes, in a block of exactly their size */
    size_t n;
    bool in_body, failed;
    struct http_response reply;
    struct http_response_body body;
    struct fumi_buf text, log;
};

static void note(struct feed *f, const char *text)
{
    fumi_buf_add(&f->log, text, strlen(text));
}

static void replace(struct feed *f, size_t drop, struct fumi_str more)
{
    size_t rest = f->n - drop;
    char *block = malloc(rest + more.n ? rest + more.n : 1);
    if (rest)
        memcpy(block, f->bytes + drop, rest);
    if (more.n)
        memcpy(block + rest, more.p, more.n);
    free(f->bytes);
    f->bytes = block;
    f->n = rest + more.n;
}

static bool fail(struct feed *f, const struct http_fault *fault)
{
    char text[120];
    snprintf(text, sizeof(text), "!%d %s\n", fault->status, fault->reason);
    note(f, text);
    f->failed = true;
    return false;
}

static bool inside(const struct feed *f, struct fumi_str s)
{
    return !s.p || (s.p >= f->bytes && s.p + s.n <= f->bytes + f->n);
}

/* "200 OK 1.1 keep upgrade=x". */
static void note_head(struct feed *f)
{
    const struct http_response *h = &f->reply;
    char text[120];
    snprintf(text, sizeof(text), "%d %.*s 1.%d %s", h->status, FUMI_ARG(h->reason), h->minor,
             h->keep_alive ? "keep" : "close");
    note(f, text);
    if (h->upgrade.p) {
        note(f, " upgrade=");
        fumi_buf_add(&f->log, h->upgrade.p, h->upgrade.n);
    }
    for (size_t i = 0; i < h->n; i++)
        if (!inside(f, h->fields[i].name) || !inside(f, h->fields[i].value))
            note(f, "OUTSIDE");
}

static bool read_head(struct feed *f)
{
    struct http_fault fault = {0};
    ssize_t n = http_read_response(&f->reply, (struct fumi_str){f->bytes, f->n}, &f->limits,
                                   &fault);
    if (n < 0)
        return fail(f, &fault);
    if (n == 0)
        return false;
    note_head(f);
    replace(f, (size_t)n, (struct fumi_str){0});
    http_response_begin(&f->body, &f->reply);
    f->in_body = true;
    return true;
}

static void end_body(struct feed *f)
{
    if (f->body.framing != HTTP_NO_BODY || f->body.to_end) {
        note(f, " {");
        fumi_buf_add(&f->log, f->text.p, f->text.n);
        note(f, "}");
    }
    note(f, "\n");
    fumi_buf_reset(&f->text, 0);
    f->in_body = false;
}

static bool read_body(struct feed *f)
{
    struct http_fault fault = {0};
    ssize_t n = http_response_read(&f->body, (struct fumi_str){f->bytes, f->n}, &f->text,
                                   &f->limits, &fault);
    if (n < 0)
        return fail(f, &fault);
    if (!f->body.done && (size_t)n != f->n)
        note(f, "LEFT");
    replace(f, (size_t)n, (struct fumi_str){0});
    if (f->body.done)
        end_body(f);
    return f->body.done;
}

static void give(struct feed *f, struct fumi_str piece)
{
    replace(f, 0, piece);
    for (bool more = !f->failed; more;)
        more = f->in_body ? read_body(f) : read_head(f);
}

/* Ends the connection and returns the log, which ends in "..." if a head is incomplete. */
static struct fumi_buf end(struct feed *f)
{
    struct http_fault fault = {0};
    if (!f->failed && f->in_body) {
        if (http_response_end(&f->body, &fault))
            fail(f, &fault);
        else
            end_body(f);
    } else if (!f->failed && f->n)
        note(f, "...");
    free(f->bytes);
    fumi_buf_done(&f->text);
    return f->log;
}

static void expect(struct fumi_str in, size_t cut, size_t step, struct http_limits limits,
                   const char *want)
{
    struct feed f = {.limits = limits};
    size_t n = cut < in.n ? cut : in.n;
    give(&f, (struct fumi_str){in.p, n});
    for (size_t at = n; at < in.n; at += n) {
        n = step < in.n - at ? step : in.n - at;
        give(&f, (struct fumi_str){in.p + at, n});
    }
    struct fumi_buf log = end(&f);
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

struct row {
    struct fumi_str in;
    const char *want;
};

#define IN(text) FUMI_STR(text)
#define OK       "HTTP/1.1 200 OK\r\n"

static const struct row plain[] = {
    {IN(OK "Content-Length: 2\r\n\r\nhi"), "200 OK 1.1 keep {hi}\n"},
    {IN(OK "Content-Length: 0\r\n\r\n"), "200 OK 1.1 keep {}\n"},
    /* Two consecutive responses. */
    {IN(OK "Content-Length: 2\r\n\r\nhi" OK "content-length:3\r\n\r\nyou"),
     "200 OK 1.1 keep {hi}\n200 OK 1.1 keep {you}\n"},
    /* The body ends with the connection, which cannot be reused, whatever the fields say. */
    {IN(OK "Connection: keep-alive\r\n\r\nhi"), "200 OK 1.1 close {hi}\n"},
    {IN(OK "\r\n"), "200 OK 1.1 close {}\n"},
    {IN(OK "Connection: close\r\nContent-Length: 2\r\n\r\nhi"), "200 OK 1.1 close {hi}\n"},
    {IN(OK "Connection: a, CLOSE ,b\r\nContent-Length: 0\r\n\r\n"), "200 OK 1.1 close {}\n"},
    {IN("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi"), "200 OK 1.0 close {hi}\n"},
    {IN("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi"),
     "200 OK 1.0 keep {hi}\n"},
    /* No reason, with and without the blank before it. */
    {IN("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"), "200  1.1 keep {}\n"},
    {IN("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"), "200  1.1 keep {}\n"},
    {IN("HTTP/1.1 404 Nicht da\xC3\x9F\r\nContent-Length: 0\r\n\r\n"),
     "404 Nicht da\xC3\x9F 1.1 keep {}\n"},
    {IN("HTTP/1.1 599 x\r\nContent-Length: 0\r\n\r\n"), "599 x 1.1 keep {}\n"},
    {IN("HTTP/1.1 204 No Content\r\n\r\n"), "204 No Content 1.1 keep\n"},
    {IN("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"), "204 No Content 1.1 keep\n"},
    /* Content-Length of a body that is not sent. */
    {IN("HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n" OK "Content-Length: 0\r\n\r\n"),
     "304 x 1.1 keep\n200 OK 1.1 keep {}\n"},
    {IN(OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3;x=y\r\nyou\r\n0\r\nA: b\r\n\r\n"),
     "200 OK 1.1 keep {hiyou}\n"},
    {IN(OK "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n"), "200 OK 1.1 keep {}\n"},
    /* Interim responses are skipped with their fields. */
    {IN("HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 1\r\n\r\nx"), "200 OK 1.1 keep {x}\n"},
    {IN("HTTP/1.1 103 Early\r\nLink: a\r\nConnection: close\r\n\r\nHTTP/1.1 102 P\r\n\r\n" OK
        "Content-Length: 1\r\n\r\nx"),
     "200 OK 1.1 keep {x}\n"},
    /* 101 is not an interim response. */
    {IN("HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
     "101 S 1.1 keep upgrade=websocket\n"},
    {IN("HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n"), "101 S 1.1 keep\n"},
    /* White space around a value, none in it, obs-text. */
    {IN(OK "A: \t x \xFF y\t \r\nB:\r\nContent-Length:   1  \r\n\r\nz"), "200 OK 1.1 keep {z}\n"},
};

static const struct row broken[] = {
    /* Not HTTP, recognized at the first byte: SSH, TLS, JSON, an empty line. */
    {IN("SSH-2.0-x\r\n"), "!400 malformed status line\n"},
    {IN("\x15\x03\x01"), "!400 malformed status line\n"},
    {IN("{}\n"), "!400 malformed status line\n"},
    {IN("\r\n" OK "\r\n"), "!400 malformed status line\n"},
    /* A request is not a response. */
    {IN("HEAD / HTTP/1.1\r\n\r\n"), "!400 malformed status line\n"},
    {IN("HTTP/1.1\r\n\r\n"), "!400 malformed status line\n"},
    {IN("HTTP/1.1 \r\n\r\n"), "!400 malformed status line\n"},
    {IN("HTTP/1.1  200 OK\r\n\r\n"), "!400 malformed status line\n"},
    {IN("HTTP/1.1\t200 OK\r\n\r\n"), "!400 malformed status line\n"},
    {IN("HTTP/1.1 20 OK\r\n\r\n"), "!400 malformed status line\n"},
    {IN("HTTP/1.1 2000 OK\r\n\r\n"), "!400 malformed status line\n"},
    {IN("HTTP/1.1 +20 OK\r\n\r\n"), "!400 malformed status line\n"},
    {IN("HTTP/1.1 20x OK\r\n\r\n"), "!400 malformed status line\n"},
    {IN("HTTP/1.1 200OK\r\n\r\n"), "!400 malformed status line\n"},
    {IN("HTTP/1.1 099 x\r\n\r\n"), "!400 the status is not between 100 and 599\n"},
    {IN("HTTP/1.1 600 x\r\n\r\n"), "!400 the status is not between 100 and 599\n"},
    {IN("HTTP/11.1 200 OK\r\n\r\n"), "!400 malformed status line\n"},
    {IN("HTTP/1,1 200 OK\r\n\r\n"), "!400 malformed status line\n"},
    {IN("HTTP/x.1 200 OK\r\n\r\n"), "!400 malformed status line\n"},
    {IN("HTTP/1.x 200 OK\r\n\r\n"), "!400 malformed status line\n"},
    {IN("Http/1.1 200 OK\r\n\r\n"), "!400 malformed status line\n"},
    {IN("HTTP/2.0 200 OK\r\n\r\n"), "!505 only HTTP/1.1 and HTTP/1.0 are supported\n"},
    {IN("HTTP/1.2 200 OK\r\n\r\n"), "!505 only HTTP/1.1 and HTTP/1.0 are supported\n"},
    {IN("HTTP/0.9 200 OK\r\n\r\n"), "!505 only HTTP/1.1 and HTTP/1.0 are supported\n"},
    /* Line ends that other readers interpret differently. */
    {IN("HTTP/1.1 200 OK\n\r\n"), "!400 bare line feed\n"},
    {IN(OK "A: b\nContent-Length: 0\r\n\r\n"), "!400 bare line feed\n"},
    {IN(OK "A: b\rc\r\n\r\n"), "!400 bare carriage return\n"},
    {IN(OK "A: b\r\r\n\r\n"), "!400 bare carriage return\n"},
    {IN(OK "A: b\0c\r\n\r\n"), "!400 control character\n"},
    {IN("HTTP/1.1 200 O\x7FK\r\n\r\n"), "!400 control character\n"},
    /* Fields. */
    {IN(OK " A: b\r\n\r\n"), "!400 folded field line\n"},
    {IN(OK "A: b\r\n\tc\r\n\r\n"), "!400 folded field line\n"},
    {IN(OK "A : b\r\n\r\n"), "!400 malformed field name\n"},
    {IN(OK ": b\r\n\r\n"), "!400 malformed field name\n"},
    {IN(OK "A\r\n\r\n"), "!400 malformed field name\n"},
    {IN(OK "A(: b\r\n\r\n"), "!400 malformed field name\n"},
    /* The framing must be given once and unambiguously. */
    {IN(OK "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx"), "!400 repeated Content-Length\n"},
    {IN(OK "Content-Length: 1, 1\r\n\r\nx"), "!400 malformed Content-Length\n"},
    {IN(OK "Content-Length: \r\n\r\n"), "!400 malformed Content-Length\n"},
    {IN(OK "Content-Length: -1\r\n\r\n"), "!400 malformed Content-Length\n"},
    {IN(OK "Content-Length: +1\r\n\r\nx"), "!400 malformed Content-Length\n"},
    {IN(OK "Content-Length: 0x1\r\n\r\nx"), "!400 malformed Content-Length\n"},
    {IN(OK "Content-Length: 1 1\r\n\r\nx"), "!400 malformed Content-Length\n"},
    {IN(OK "Content-Length: 18446744073709551617\r\n\r\nx"), "!400 malformed Content-Length\n"},
    {IN(OK "Content-Length: 9999999999999999999\r\n\r\nx"), "!413 the body is too large\n"},
    {IN(OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
     "!400 both Content-Length and Transfer-Encoding\n"},
    {IN(OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
     "!400 repeated Transfer-Encoding\n"},
    {IN(OK "Transfer-Encoding: gzip, chunked\r\n\r\n"),
     "!501 only chunked is supported as Transfer-Encoding\n"},
    {IN(OK "Transfer-Encoding: chunked, identity\r\n\r\n"),
     "!501 only chunked is supported as Transfer-Encoding\n"},
    {IN(OK "Transfer-Encoding:\r\n\r\n"), "!501 only chunked is supported as Transfer-Encoding\n"},
    {IN("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
     "!400 Transfer-Encoding in HTTP/1.0\n"},
    {IN("HTTP/1.1 204 x\r\nContent-Length: 2\r\n\r\nhi"),
     "!400 a response with this status must not have a body\n"},
    {IN("HTTP/1.1 204 x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
     "!400 a response with this status must not have a body\n"},
    {IN("HTTP/1.1 100 x\r\nContent-Length: 2\r\n\r\nhi" OK "\r\n"),
     "!400 a response with this status must not have a body\n"},
    /* Chunks. */
    {IN(OK "Transfer-Encoding: chunked\r\n\r\nx\r\n"),
     "200 OK 1.1 keep!400 malformed chunk size\n"},
    {IN(OK "Transfer-Encoding: chunked\r\n\r\n0x2\r\nhi\r\n"),
     "200 OK 1.1 keep!400 malformed chunk size\n"},
    {IN(OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi!\r\n"),
     "200 OK 1.1 keep!400 malformed line end in a chunked body\n"},
    {IN(OK "Transfer-Encoding: chunked\r\n\r\n2\nhi\r\n"),
     "200 OK 1.1 keep!400 malformed chunk size\n"},
    /* Closed too early: in the status, in the fields, in the body, in a chunk, before the last. */
    {IN("HTTP/1.1 20"), "..."},
    {IN(OK "Content-Le"), "..."},
    {IN("HTTP/1.1 100 Continue\r\n\r\n"), "..."},
    {IN(OK "Content-Length: 3\r\n\r\nhi"), "200 OK 1.1 keep!400 the body is cut short\n"},
    {IN(OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhi"),
     "200 OK 1.1 keep!400 the body is cut short\n"},
    {IN(OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"),
     "200 OK 1.1 keep!400 the body is cut short\n"},
};

/* A line of 20 bytes, heads of 60, 3 fields, a body of 10. */
static const struct http_limits small = {20, 60, 3, 10};

static const struct row limited[] = {
    {IN("HTTP/1.1 200 7890123\r\nContent-Length: 0\r\n\r\n"), "200 7890123 1.1 keep {}\n"},
    {IN("HTTP/1.1 200 78901234\r\nContent-Length: 0\r\n\r\n"),
     "!431 the status line is too long\n"},
    {IN("HTTP/1.1 200 789012345678901234567890"), "!431 the status line is too long\n"},
    /* The limit of the status line also applies after an interim response. */
    {IN("HTTP/1.1 100 x\r\n\r\nHTTP/1.1 200 78901234567890"), "!431 the status line is too long\n"},
    {IN("HTTP/1.1 200 x\r\nA: 9012345678901234567890123456789012345\r\n\r\n"),
     "200 x 1.1 close {}\n"},
    {IN("HTTP/1.1 200 x\r\nA: 90123456789012345678901234567890123456\r\n\r\n"),
     "!431 the head is too large\n"},
    /* Endless interim responses exceed the limit of the head. */
    {IN("HTTP/1.1 100 x\r\n\r\nHTTP/1.1 100 x\r\n\r\nHTTP/1.1 100 x\r\n\r\nHTTP/1.1 100 x\r\n\r\n"),
     "!431 the head is too large\n"},
    {IN("HTTP/1.1 200 x\r\nA:\r\nB:\r\nC:\r\n\r\n"), "200 x 1.1 close {}\n"},
    {IN("HTTP/1.1 200 x\r\nA:\r\nB:\r\nC:\r\nD:\r\n\r\n"), "!431 too many fields\n"},
    {IN("HTTP/1.1 200 x\r\nContent-Length: 10\r\n\r\n1234567890"), "200 x 1.1 keep {1234567890}\n"},
    /* From the announced length alone. */
    {IN("HTTP/1.1 200 x\r\nContent-Length: 11\r\n\r\n"), "!413 the body is too large\n"},
    {IN("HTTP/1.1 200 x\r\n\r\n1234567890"), "200 x 1.1 close {1234567890}\n"},
    {IN("HTTP/1.1 200 x\r\n\r\n12345678901"), "200 x 1.1 close!413 the body is too large\n"},
    {IN("HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n6\r\n"),
     "200 x 1.1 keep!413 the body is too large\n"},
};

static void expect_table(const struct row *rows, size_t n, struct http_limits limits)
{
    for (size_t i = 0; i < n; i++)
        expect_all(rows[i].in, limits, rows[i].want);
}

TEST(answers_are_read_as_the_table_says)
{
    expect_table(plain, FUMI_COUNT(plain), HTTP_LIMITS);
}

TEST(malformed_answers_are_refused_as_the_table_says)
{
    expect_table(broken, FUMI_COUNT(broken), HTTP_LIMITS);
}

TEST(limits_hold_to_the_byte)
{
    expect_table(limited, FUMI_COUNT(limited), small);
}

TEST(fields_are_found_whatever_their_case)
{
    struct http_response h;
    struct http_fault f;
    struct http_limits limits = HTTP_LIMITS;
    struct fumi_str in = FUMI_STR(OK "ab: 1\r\nAB: 2\r\nContent-TYPE: x/y\r\n\r\n");
    CHECK_INT(http_read_response(&h, in, &limits, &f), in.n);
    CHECK_STR(http_response_field(&h, "content-type"), "x/y");
    CHECK_STR(http_response_field(&h, "ab"), "1");
    CHECK(!http_response_field(&h, "abc").p);
    CHECK_INT(http_response_count(&h, "ab"), 2);
    CHECK_INT(http_response_count(&h, "abc"), 0);
}

TEST(a_buffer_that_is_full_is_a_fault)
{
    struct http_response_body b = {.framing = HTTP_LENGTH, .left = 5};
    struct http_fault f;
    struct http_limits limits = HTTP_LIMITS;
    struct fumi_buf to = {.limit = 3};
    CHECK_INT(http_response_read(&b, FUMI_STR("12345"), &to, &limits, &f), -1);
    CHECK_INT(f.status, 413);
    fumi_buf_done(&to);
}

TEST(no_limit_lets_more_fields_in_than_there_is_room_for)
{
    struct http_limits limits = {8 << 10, 16 << 10, HTTP_FIELDS + 50, 1 << 20};
    struct fumi_buf b = {0};
    fumi_buf_add(&b, OK, strlen(OK));
    for (size_t i = 0; i <= HTTP_FIELDS; i++)
        fumi_buf_add(&b, "F: f\r\n", 6);
    fumi_buf_add(&b, "\r\n", 2);
    expect(fumi_buf_str(&b), b.n, b.n, limits, "!431 too many fields\n");
    fumi_buf_done(&b);
}
