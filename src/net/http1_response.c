/* A head is read line by line, each time from its beginning: most responses arrive in one piece,
 * and heads are small. A line is validated only once its line feed has arrived, and only within
 * a window. */
#include "net/http1_response.h"

#include "net/http1_bytes.h"

/* Properties of header fields that are not stored in the response. */
enum { HAS_CLOSE = 1, HAS_KEEP = 2, HAS_UPGRADE = 4, HAS_LENGTH = 8, HAS_CHUNKED = 16 };

enum { LENGTH_DIGITS = 19 }; /* any number with so many digits fits into 64 bits */

struct response_parser {
    struct http_response *h;
    struct http_fault *f;
    const struct http_limits *limits;
    const char *p, *end; /* the window: bytes that may belong to heads */
    bool full;           /* the window is filled */
    unsigned flags;
};

static enum step malformed(struct response_parser *r, const char *reason)
{
    return fault(r->f, 400, reason);
}

/* Reads the next line, without its end. */
static enum step next_line(struct response_parser *r, struct fumi_str *out)
{
    const char *feed = memchr(r->p, '\n', (size_t)(r->end - r->p));
    if (!feed)
        return r->full ? fault(r->f, 431, "the head is too large") : MORE;
    const char *eol = skip_text(r->p, feed);
    if (eol == feed)
        return malformed(r, "bare line feed");
    if (eol + 1 != feed || *eol != '\r')
        return malformed(r, *eol == '\r' ? "bare carriage return" : "control character");
    *out = (struct fumi_str){r->p, (size_t)(eol - r->p)};
    r->p = feed + 1;
    return FINE;
}

enum {
    STATUS = 9,
    BARE = 12
}; /* offset of the status in "HTTP/1.1 200", and length of that text */

static bool is_status_line(struct fumi_str s)
{
    if (s.n < BARE || memcmp(s.p, "HTTP/", 5) != 0 || s.p[6] != '.' || s.p[8] != ' ')
        return false;
    if (!is_digit(s.p[5]) || !is_digit(s.p[7]))
        return false;
    for (size_t i = STATUS; i < BARE; i++)
        if (!is_digit(s.p[i]))
            return false;
    return s.n == BARE || s.p[BARE] == ' ';
}

/* Some servers omit the blank after the status if no reason follows. */
static enum step status_line(struct response_parser *r)
{
    struct http_response *h = r->h;
    struct fumi_str s;
    const char *start = r->p;
    size_t have = (size_t)(r->end - start), most = r->limits->line + 2;
    if (have >= most && !memchr(start, '\n', most))
        return fault(r->f, 431, "the status line is too long");
    enum step got = next_line(r, &s);
    if (got != FINE)
        return got;
    if (!is_status_line(s))
        return malformed(r, "malformed status line");
    if (s.p[5] != '1' || s.p[7] > '1')
        return fault(r->f, 505, "only HTTP/1.1 and HTTP/1.0 are supported");
    h->minor = s.p[7] - '0';
    h->status = (s.p[STATUS] - '0') * 100 + (s.p[STATUS + 1] - '0') * 10 + s.p[STATUS + 2] - '0';
    h->reason = s.n > BARE ? trimmed(s.p + BARE, s.p + s.n) : (struct fumi_str){s.p + BARE, 0};
    return h->status >= 100 && h->status <= 599
               ? FINE
               : malformed(r, "the status is not between 100 and 599");
}

static enum step take_connection(struct response_parser *r, struct fumi_str value)
{
    r->flags |= http_has_token(value, "close") ? HAS_CLOSE : 0;
    r->flags |= http_has_token(value, "keep-alive") ? HAS_KEEP : 0;
    r->flags |= http_has_token(value, "upgrade") ? HAS_UPGRADE : 0;
    return FINE;
}

static enum step take_upgrade(struct response_parser *r, struct fumi_str value)
{
    if (!r->h->upgrade.p)
        r->h->upgrade = value;
    return FINE;
}

static enum step take_length(struct response_parser *r, struct fumi_str value)
{
    uint64_t length = 0;
    if (r->flags & HAS_LENGTH)
        return malformed(r, "repeated Content-Length");
    bool fine = value.n && value.n <= LENGTH_DIGITS;
    for (size_t i = 0; fine && i < value.n; i++) {
        fine = is_digit(value.p[i]);
        length = length * 10 + (unsigned)(value.p[i] - '0');
    }
    r->flags |= HAS_LENGTH;
    r->h->length = length;
    return fine ? FINE : malformed(r, "malformed Content-Length");
}

static enum step take_coding(struct response_parser *r, struct fumi_str value)
{
    if (r->h->minor == 0)
        return malformed(r, "Transfer-Encoding in HTTP/1.0");
    if (r->flags & HAS_CHUNKED)
        return malformed(r, "repeated Transfer-Encoding");
    if (!http_same(value, FUMI_STR("chunked")))
        return fault(r->f, 501, "only chunked is supported as Transfer-Encoding");
    r->flags |= HAS_CHUNKED;
    return FINE;
}

/* Fields that affect the message itself. */
static const struct {
    struct fumi_str name;
    enum step (*take)(struct response_parser *r, struct fumi_str value);
} special[] = {
    {{"connection", 10}, take_connection},
    {{"content-length", 14}, take_length},
    {{"transfer-encoding", 17}, take_coding},
    {{"upgrade", 7}, take_upgrade},
};

static enum step field(struct response_parser *r, struct fumi_str s)
{
    struct http_response *h = r->h;
    const char *end = s.p + s.n, *colon = skip_token(s.p, end);
    if (is_blank(*s.p))
        return malformed(r, "folded field line");
    if (colon == end || colon == s.p || *colon != ':')
        return malformed(r, "malformed field name");
    if (h->n >= r->limits->fields || h->n >= HTTP_FIELDS)
        return fault(r->f, 431, "too many fields");
    struct http_field *to = &h->fields[h->n++];
    *to = (struct http_field){{s.p, (size_t)(colon - s.p)}, trimmed(colon + 1, end)};
    for (size_t i = 0; i < FUMI_COUNT(special); i++)
        if (http_same(to->name, special[i].name))
            return special[i].take(r, to->value);
    return FINE;
}

static bool ends_with_head(int status)
{
    return status < 200 || status == 204 || status == 304;
}

/* With 204 and 1xx a body would be read as the next response, so its length must be 0. With 304
 * Content-Length describes another response. */
static enum step no_body(struct response_parser *r)
{
    struct http_response *h = r->h;
    if (r->flags & HAS_CHUNKED || (h->status != 304 && h->length))
        return malformed(r, "a response with this status must not have a body");
    h->length = 0;
    return FINE;
}

static enum step framing(struct response_parser *r)
{
    struct http_response *h = r->h;
    unsigned found = r->flags & (HAS_LENGTH | HAS_CHUNKED);
    if (found == (HAS_LENGTH | HAS_CHUNKED))
        return malformed(r, "both Content-Length and Transfer-Encoding");
    if (ends_with_head(h->status))
        return no_body(r);
    h->framing = found == HAS_CHUNKED  ? HTTP_CHUNKED
                 : found == HAS_LENGTH ? HTTP_LENGTH
                                       : HTTP_NO_BODY;
    h->to_end = !found;
    if (h->length > r->limits->body)
        return fault(r->f, 413, "the body is too large");
    return FINE;
}

static enum step finish(struct response_parser *r)
{
    struct http_response *h = r->h;
    if (framing(r) != FINE)
        return FAULT;
    h->keep_alive = !(r->flags & HAS_CLOSE) && (h->minor == 1 || r->flags & HAS_KEEP) && !h->to_end;
    if (h->minor == 0 || !(r->flags & HAS_UPGRADE))
        h->upgrade = (struct fumi_str){0};
    return FINE;
}

static enum step head(struct response_parser *r)
{
    struct http_response *h = r->h;
    struct fumi_str s = {0};
    h->framing = HTTP_NO_BODY;
    h->to_end = false;
    h->length = 0;
    h->upgrade = (struct fumi_str){0};
    h->n = 0;
    r->flags = 0;
    enum step got = status_line(r);
    while (got == FINE && (got = next_line(r, &s)) == FINE && s.n)
        got = field(r, s);
    return got == FINE ? finish(r) : got;
}

static bool is_interim(const struct http_response *h)
{
    return h->status < 200 && h->status != 101;
}

ssize_t http_read_response(struct http_response *h, struct fumi_str bytes,
                           const struct http_limits *limits, struct http_fault *f)
{
    bool full = bytes.n >= limits->head;
    if (bytes.n == 0)
        return 0;
    /* Report another protocol at its first byte: its peer may send no more until we answer. */
    if (*bytes.p != 'H')
        return fault(f, 400, "malformed status line");
    struct response_parser r = {.h = h,
                                .f = f,
                                .limits = limits,
                                .p = bytes.p,
                                .end = bytes.p + (full ? limits->head : bytes.n),
                                .full = full};
    enum step got = FINE;
    do
        got = head(&r);
    while (got == FINE && is_interim(h));
    return got == FINE ? r.p - bytes.p : (ssize_t)got;
}

static bool is_named(const struct http_field *field, const char *name)
{
    return http_same(field->name, fumi_str(name));
}

struct fumi_str http_response_field(const struct http_response *h, const char *name)
{
    for (size_t i = 0; i < h->n; i++)
        if (is_named(&h->fields[i], name))
            return h->fields[i].value;
    return (struct fumi_str){0};
}

size_t http_response_count(const struct http_response *h, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < h->n; i++)
        count += is_named(&h->fields[i], name);
    return count;
}

void http_response_begin(struct http_response_body *b, const struct http_response *h)
{
    *b = (struct http_response_body){.framing = h->framing, .to_end = h->to_end, .left = h->length};
    b->done = !h->to_end && h->framing != HTTP_CHUNKED && h->length == 0;
}

static ssize_t read_to_end(struct http_response_body *b, struct fumi_str bytes, struct fumi_buf *to,
                           const struct http_limits *limits, struct http_fault *f)
{
    if (bytes.n > limits->body - b->left)
        return fault(f, 413, "the body is too large");
    b->left += bytes.n;
    fumi_buf_add(to, bytes.p, bytes.n);
    return (ssize_t)bytes.n;
}

static ssize_t read_length(struct http_response_body *b, struct fumi_str bytes, struct fumi_buf *to)
{
    size_t n = b->left < bytes.n ? (size_t)b->left : bytes.n;
    fumi_buf_add(to, bytes.p, n);
    b->left -= n;
    b->done = b->left == 0;
    return (ssize_t)n;
}

ssize_t http_response_read(struct http_response_body *b, struct fumi_str bytes, struct fumi_buf *to,
                           const struct http_limits *limits, struct http_fault *f)
{
    ssize_t n = 0;
    if (b->done)
        return 0;
    if (b->framing == HTTP_CHUNKED) {
        n = http_read_chunks(&b->chunks, bytes, to, limits, f);
        b->done = b->chunks.done;
        return n;
    }
    n = b->to_end ? read_to_end(b, bytes, to, limits, f) : read_length(b, bytes, to);
    return to->full ? fault(f, 413, "the body is too large") : n;
}

int http_response_end(struct http_response_body *b, struct http_fault *f)
{
    b->done |= b->to_end;
    return b->done ? 0 : fault(f, 400, "the body is cut short");
}
