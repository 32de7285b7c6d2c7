/* Consecutive requests, as they arrive on a connection. The result is independent of the pieces;
 * slices point into the input; and an accepted head is unambiguous: all lines end in CR LF, and
 * writing it again from the result gives an equal head. */
#include "fuzz.h"

#include "../unit/net/http1_feed.h"

enum { LONGEST = 1 << 15 };

static const struct http_limits small = {60, 250, 8, 200};

static struct fumi_buf feed(struct fumi_str in, uint64_t cuts, struct http_limits limits)
{
    struct feed f = {.limits = limits};
    for (size_t at = 0, n; at < in.n; at += n) {
        n = in.n - at;
        if (cuts) {
            cuts = cuts * 6364136223846793005u + 1442695040888963407u;
            size_t most = cuts >> 60 ? 1 + (cuts >> 32) % 20 : 1 + (cuts >> 32) % 2000;
            n = most < n ? most : n;
        }
        feed_give(&f, (struct fumi_str){in.p + at, n});
    }
    MUST(!f.wrong);
    return feed_end(&f);
}

/* A simple reference for heads: lines of text that end in CR LF; only the last is empty. */
static bool is_plain(struct fumi_str head)
{
    size_t i = fumi_starts(head, FUMI_STR("\r\n")) ? 2 : 0, begin = i;
    for (; i < head.n; i++) {
        unsigned char c = (unsigned char)head.p[i];
        if (c == '\r') {
            bool empty = i == begin;
            if (i + 1 == head.n || head.p[i + 1] != '\n')
                return false;
            begin = i + 2;
            i++;
            if (empty)
                return begin == head.n;
        } else if ((c < ' ' && c != '\t') || c == 0x7F) {
            return false;
        }
    }
    return false;
}

static void add(struct fumi_buf *b, struct fumi_str s)
{
    fumi_buf_add(b, s.p, s.n);
}

static struct fumi_buf rewritten(const struct http_head *h)
{
    struct fumi_buf b = {0};
    add(&b, h->method);
    add(&b, FUMI_STR(" "));
    add(&b, h->path);
    add(&b, h->query.p ? FUMI_STR("?") : FUMI_STR(""));
    add(&b, h->query);
    add(&b, h->minor ? FUMI_STR(" HTTP/1.1\r\n") : FUMI_STR(" HTTP/1.0\r\n"));
    for (size_t i = 0; i < h->n; i++) {
        add(&b, h->fields[i].name);
        add(&b, FUMI_STR(":"));
        add(&b, h->fields[i].value);
        add(&b, FUMI_STR("\r\n"));
    }
    add(&b, FUMI_STR("\r\n"));
    return b;
}

static void compare(const struct http_head *x, const struct http_head *y)
{
    MUST(fumi_eq(x->method, y->method) && fumi_eq(x->path, y->path));
    MUST(fumi_eq(x->query, y->query) && fumi_eq(x->upgrade, y->upgrade));
    MUST(!y->host.p || http_same(x->host, y->host));
    MUST(x->minor == y->minor && x->framing == y->framing && x->length == y->length);
    MUST(x->keep_alive == y->keep_alive && x->expects_continue == y->expects_continue);
    MUST(x->n == y->n);
    for (size_t i = 0; i < x->n; i++)
        MUST(fumi_eq(x->fields[i].name, y->fields[i].name) &&
             fumi_eq(x->fields[i].value, y->fields[i].value));
}

/* Invariants of the framing, checked against all fields. */
static void check_framing(const struct http_head *h)
{
    size_t lengths = http_count(h, "content-length"), codings = http_count(h, "transfer-encoding");
    MUST(lengths + codings <= 1 && http_count(h, "host") <= 1);
    MUST(h->framing == (lengths ? HTTP_LENGTH : codings ? HTTP_CHUNKED : HTTP_NO_BODY));
    MUST(!codings || http_same(http_field(h, "transfer-encoding"), FUMI_STR("chunked")));
    MUST(h->framing == HTTP_LENGTH || h->length == 0);
}

static void check_head(struct fumi_str in, struct http_limits limits)
{
    static struct http_head h, again;
    struct http_fault f = {0};
    size_t seen = 0;
    ssize_t n = http_read_head(&h, in, &seen, &limits, &f);
    if (n <= 0)
        return;
    MUST((size_t)n <= limits.head && is_plain((struct fumi_str){in.p, (size_t)n}));
    check_framing(&h);
    struct fumi_buf b = rewritten(&h);
    struct fumi_str text = exact_copy(b.p, b.n);
    limits.line++; /* a missing path is written as / */
    limits.head++;
    seen = 0;
    MUST(http_read_head(&again, text, &seen, &limits, &f) == (ssize_t)text.n);
    compare(&h, &again);
    exact_free(text);
    fumi_buf_done(&b);
}

/* Any bytes survive writing and reading as chunks. */
static void check_chunks(struct fumi_str in, uint64_t cuts)
{
    struct fumi_buf wire = {0}, body = {0};
    struct http_limits limits = HTTP_LIMITS;
    struct http_chunks c = {0};
    struct http_fault f = {0};
    for (size_t at = 0, n; at < in.n; at += n) {
        cuts = cuts * 6364136223846793005u + 1442695040888963407u;
        n = 1 + (cuts >> 32) % 300;
        n = n < in.n - at ? n : in.n - at;
        http_chunk(&wire, (struct fumi_str){in.p + at, n});
    }
    http_chunk_end(&wire);
    MUST(http_read_chunks(&c, fumi_buf_str(&wire), &body, &limits, &f) == (ssize_t)wire.n);
    MUST(c.done && fumi_eq(fumi_buf_str(&body), in));
    fumi_buf_done(&wire);
    fumi_buf_done(&body);
}

static uint64_t hash(struct fumi_str in)
{
    uint64_t sum = 1469598103934665603u;
    for (size_t i = 0; i < in.n; i++)
        sum = (sum ^ (unsigned char)in.p[i]) * 1099511628211u;
    return sum | 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > LONGEST)
        return 0;
    struct fumi_str in = exact_copy(data, n);
    uint64_t cuts = hash(in);
    struct http_limits limits[] = {HTTP_LIMITS, small};
    for (size_t i = 0; i < FUMI_COUNT(limits); i++) {
        struct fumi_buf whole = feed(in, 0, limits[i]), pieces = feed(in, cuts, limits[i]);
        MUST(fumi_eq(fumi_buf_str(&whole), fumi_buf_str(&pieces)));
        fumi_buf_done(&whole);
        fumi_buf_done(&pieces);
        check_head(in, limits[i]);
    }
    check_chunks(in, cuts);
    exact_free(in);
    return 0;
}
