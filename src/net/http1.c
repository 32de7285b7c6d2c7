/* The head is read in one pass, line by line; slices point into the bytes.
 *
 * A line is validated only once its line feed has arrived, and only within a window: the bytes that
 * a line or a head may have. So the fault found depends only on the first bytes of a request, not
 * on the pieces in which they arrive. A head that arrives in pieces is read again from its
 * beginning, but only when a line was completed or a window filled, which is rare. */
#include "net/http1.h"

#include "net/http1_bytes.h"

/* Properties of header fields that are not stored in the head. */
enum { HAS_CLOSE = 1, HAS_KEEP = 2, HAS_UPGRADE = 4, HAS_LENGTH = 8, HAS_CHUNKED = 16 };

struct request_parser {
    struct http_head *h;
    struct http_fault *f;
    const struct http_limits *limits;
    const char *start, *p; /* p: beginning of the current line */
    const char *end;       /* end of the window */
    size_t given;          /* bytes available from start on, even beyond the window */
    unsigned flags;
    struct fumi_str authority; /* authority of an absolute target */
};

/* The line is malformed or incomplete. */
static __attribute__((cold)) enum step broken(struct request_parser *r, const char *reason)
{
    if (!memchr(r->p, '\n', (size_t)(r->end - r->p)))
        return MORE;
    return fault(r->f, 400, reason);
}

/* Text must be followed by a line end. */
static inline enum step line_end(struct request_parser *r, const char *at)
{
    if (r->end - at >= 2 && at[0] == '\r' && at[1] == '\n')
        return FINE;
    if (at == r->end)
        return MORE;
    return broken(r, *at == '\r'   ? "bare carriage return"
                     : *at == '\n' ? "bare line feed"
                                   : "control character");
}

#define BLANKS UINT64_C(0x2020202020202020)

static inline uint64_t eight(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return word;
}

static inline uint32_t four(const char *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof(word));
    return word;
}

/* Whether n text bytes equal `lower`, ignoring case. `lower` consists of lower-case letters, digits
 * and '-', so setting bit 0x20 of a text byte yields one of its characters only for that character
 * or its upper case. The words that are compared may overlap. */
static inline bool equals_lower(const char *p, const char *lower, size_t n)
{
    uint64_t differ = 0;
    if (n >= 8) {
        for (size_t i = 0; i + 8 < n; i += 8)
            differ |= (eight(p + i) | BLANKS) ^ eight(lower + i);
        differ |= (eight(p + n - 8) | BLANKS) ^ eight(lower + n - 8);
    } else if (n >= 4) {
        differ = ((four(p) | (uint32_t)BLANKS) ^ four(lower)) |
                 ((four(p + n - 4) | (uint32_t)BLANKS) ^ four(lower + n - 4));
    } else {
        for (size_t i = 0; i < n; i++)
            differ |= (uint64_t)((p[i] | 0x20) ^ lower[i]);
    }
    return !differ;
}

static inline bool str_equals_lower(struct fumi_str s, const char *lower)
{
    return s.n == strlen(lower) && equals_lower(s.p, lower, s.n);
}

/* Removes and returns the first element of a non-empty comma-separated list. */
static struct fumi_str element(struct fumi_str *list)
{
    const char *end = list->p + list->n, *comma = memchr(list->p, ',', list->n);
    struct fumi_str first = trimmed(list->p, comma ? comma : end);
    list->p = comma ? comma + 1 : end;
    list->n = (size_t)(end - list->p);
    return first;
}

bool http_has_token(struct fumi_str list, const char *token)
{
    while (list.n)
        if (str_equals_lower(element(&list), token))
            return true;
    return false;
}

static bool is_host(struct fumi_str s)
{
    return s.n && skip(s.p, s.p + s.n, HOST) == s.p + s.n;
}

static enum step take_host(struct request_parser *r, struct fumi_str value)
{
    if (r->h->host.p)
        return fault(r->f, 400, "repeated Host");
    if (!is_host(value))
        return fault(r->f, 400, "malformed Host");
    r->h->host = value;
    return FINE;
}

static enum step take_connection(struct request_parser *r, struct fumi_str value)
{
    while (value.n) {
        struct fumi_str one = element(&value);
        if (str_equals_lower(one, "close"))
            r->flags |= HAS_CLOSE;
        else if (str_equals_lower(one, "keep-alive"))
            r->flags |= HAS_KEEP;
        else if (str_equals_lower(one, "upgrade"))
            r->flags |= HAS_UPGRADE;
    }
    return FINE;
}

/* HTTP/1.0 must ignore the field (RFC 9110); finish() clears the flag then. */
static enum step take_expect(struct request_parser *r, struct fumi_str value)
{
    if (!str_equals_lower(value, "100-continue"))
        return fault(r->f, 417, "unknown expectation");
    r->h->expects_continue = true;
    return FINE;
}

static enum step take_upgrade(struct request_parser *r, struct fumi_str value)
{
    if (!r->h->upgrade.p)
        r->h->upgrade = value;
    return FINE;
}

enum { LENGTH_DIGITS = 19 }; /* any number with so many digits fits into 64 bits */

static enum step take_length(struct request_parser *r, struct fumi_str value)
{
    uint64_t length = 0;
    if (r->flags & HAS_LENGTH)
        return fault(r->f, 400, "repeated Content-Length");
    if (value.n == 0 || value.n > LENGTH_DIGITS)
        return fault(r->f, 400, "malformed Content-Length");
    for (size_t i = 0; i < value.n; i++) {
        unsigned digit = (unsigned)(unsigned char)value.p[i] - '0';
        if (digit > 9)
            return fault(r->f, 400, "malformed Content-Length");
        length = length * 10 + digit;
    }
    r->flags |= HAS_LENGTH;
    r->h->length = length;
    return FINE;
}

/* Whether the list ends in chunked, after other codings only. Otherwise the end of the body is
 * unknown, which is worse than an unsupported coding. */
static bool ends_chunked(struct fumi_str list)
{
    while (list.n) {
        struct fumi_str coding = element(&list);
        if (str_equals_lower(coding, "chunked"))
            return list.n == 0 && list.p[-1] != ',';
        if (!is_token(coding) || str_equals_lower(coding, "identity"))
            return false;
    }
    return false;
}

static enum step take_coding(struct request_parser *r, struct fumi_str value)
{
    if (r->h->minor == 0)
        return fault(r->f, 400, "Transfer-Encoding in HTTP/1.0");
    if (r->flags & HAS_CHUNKED)
        return fault(r->f, 400, "repeated Transfer-Encoding");
    if (!ends_chunked(value))
        return fault(r->f, 400, "malformed Transfer-Encoding");
    if (!str_equals_lower(value, "chunked"))
        return fault(r->f, 501, "only chunked is supported as Transfer-Encoding");
    r->flags |= HAS_CHUNKED;
    return FINE;
}

/* Fields that affect the message itself. No two names have the same length. */
static const struct {
    const char *name;
    enum step (*take)(struct request_parser *r, struct fumi_str value);
} special[] = {
    [4] = {"host", take_host},
    [6] = {"expect", take_expect},
    [7] = {"upgrade", take_upgrade},
    [10] = {"connection", take_connection},
    [14] = {"content-length", take_length},
    [17] = {"transfer-encoding", take_coding},
};

static __attribute__((cold)) enum step bad_name(struct request_parser *r, const char *at)
{
    if (at == r->end)
        return MORE;
    if (at == r->p && is_blank(*at))
        return broken(r, "folded field line");
    if (is_blank(*at))
        return broken(r, "blank in or after a field name");
    if (*at == '\r' || *at == '\n')
        return broken(r, "field line without a colon");
    return broken(r, *at == ':' ? "empty field name" : "malformed field name");
}

/* Reads the field at r->p and sets *next to the following line. The line end is searched from the
 * beginning of the line, not from the colon, so that both searches can run in parallel in the
 * processor. */
static inline enum step field(struct request_parser *r, const char **next)
{
    struct http_head *h = r->h;
    const char *start = r->p, *eol = skip_text(start, r->end);
    const char *colon = skip_token(start, r->end);
    if (colon == r->end || *colon != ':' || colon == start)
        return bad_name(r, colon);
    enum step got = line_end(r, eol);
    if (got != FINE)
        return got;
    if (h->n >= r->limits->fields || h->n >= HTTP_FIELDS)
        return fault(r->f, 431, "too many fields");
    *next = eol + 2;
    size_t n = (size_t)(colon - start);
    struct fumi_str value = trimmed(colon + 1, eol);
    h->fields[h->n++] = (struct http_field){{start, n}, value};
    if (n < FUMI_COUNT(special) && special[n].name && equals_lower(start, special[n].name, n))
        return special[n].take(r, value);
    return FINE;
}

/* http://host/path; the path may be missing. */
static enum step absolute_target(struct request_parser *r, struct fumi_str *target)
{
    const char *host = target->p + 7, *end = target->p + target->n;
    if (target->n < 8 || !equals_lower(target->p, "http", 4) ||
        memcmp(target->p + 4, "://", 3) != 0)
        return fault(r->f, 400, "malformed target");
    const char *rest = skip(host, end, HOST);
    r->authority = (struct fumi_str){host, (size_t)(rest - host)};
    if (rest == host || (rest < end && *rest != '/' && *rest != '?'))
        return fault(r->f, 400, "malformed target");
    *target = (struct fumi_str){rest, (size_t)(end - rest)};
    return FINE;
}

static enum step take_target(struct request_parser *r, struct fumi_str target)
{
    struct http_head *h = r->h;
    bool all = target.n == 1 && *target.p == '*' && fumi_eq(h->method, FUMI_STR("OPTIONS"));
    if (*target.p != '/' && !all && absolute_target(r, &target) != FINE)
        return FAULT;
    const char *mark = target.n ? memchr(target.p, '?', target.n) : NULL;
    h->path = target;
    if (mark) {
        h->path.n = (size_t)(mark - target.p);
        h->query = (struct fumi_str){mark + 1, target.n - h->path.n - 1};
    }
    if (h->path.n == 0)
        h->path = FUMI_STR("/");
    return FINE;
}

enum { VERSION = 8 }; /* bytes of "HTTP/1.1" */

static enum step take_version(struct request_parser *r, const char *p)
{
    if (r->end - p < VERSION || memcmp(p, "HTTP/", 5) != 0 || !is_digit(p[5]) || p[6] != '.' ||
        !is_digit(p[7]))
        return broken(r, "malformed version");
    if (r->end - p > VERSION && is(p[VERSION], TEXT))
        return broken(r, "malformed version");
    enum step got = line_end(r, p + VERSION);
    if (got != FINE)
        return got;
    if (p[5] != '1' || p[7] > '1')
        return fault(r->f, 505, "only HTTP/1.1 and HTTP/1.0 are supported");
    r->h->minor = p[7] - '0';
    return FINE;
}

static enum step request_line(struct request_parser *r)
{
    const char *method_end = skip_token(r->p, r->end), *target = method_end + 1;
    if (method_end == r->end)
        return MORE;
    if (method_end == r->p || *method_end != ' ')
        return broken(r, "malformed method");
    const char *target_end = skip(target, r->end, TARGET);
    if (target_end == r->end)
        return MORE;
    if (target_end == target || *target_end != ' ')
        return broken(r, "malformed target");
    enum step got = take_version(r, target_end + 1);
    if (got != FINE)
        return got;
    r->h->method = (struct fumi_str){r->p, (size_t)(method_end - r->p)};
    r->p = target_end + 1 + VERSION + 2;
    return take_target(r, (struct fumi_str){target, (size_t)(target_end - target)});
}

static enum step framing(struct request_parser *r)
{
    struct http_head *h = r->h;
    switch (r->flags & (HAS_LENGTH | HAS_CHUNKED)) {
    case HAS_LENGTH | HAS_CHUNKED:
        return fault(r->f, 400, "both Content-Length and Transfer-Encoding");
    case HAS_CHUNKED:
        h->framing = HTTP_CHUNKED;
        return FINE;
    case HAS_LENGTH:
        h->framing = HTTP_LENGTH;
        if (h->length > r->limits->body)
            return fault(r->f, 413, "the body is too large");
    }
    return FINE;
}

/* Checks the fields in combination. */
static enum step finish(struct request_parser *r)
{
    struct http_head *h = r->h;
    if (h->minor == 1 && !h->host.p)
        return fault(r->f, 400, "Host is missing");
    if (r->authority.p && h->host.p && !http_same(r->authority, h->host))
        return fault(r->f, 400, "Host differs from the target");
    if (r->authority.p)
        h->host = r->authority;
    if (framing(r) != FINE)
        return FAULT;
    h->keep_alive = !(r->flags & HAS_CLOSE) && (h->minor == 1 || r->flags & HAS_KEEP);
    if (h->minor == 0 || !(r->flags & HAS_UPGRADE))
        h->upgrade = (struct fumi_str){0};
    h->expects_continue = h->expects_continue && h->minor == 1 && http_has_body(h);
    return FINE;
}

/* Sets the window to `size` bytes from the start. Returns whether so many bytes are available. */
static bool set_window(struct request_parser *r, size_t size)
{
    bool full = r->given >= size;
    r->end = r->start + (full ? size : r->given);
    return full;
}

static enum step fields(struct request_parser *r)
{
    bool full = set_window(r, r->limits->head);
    const char *next = r->p;
    enum step got = FINE;
    while (got == FINE) {
        r->p = next;
        if (r->end - next >= 2 && next[0] == '\r' && next[1] == '\n') {
            r->p += 2;
            return finish(r);
        }
        got = field(r, &next);
    }
    return got == MORE && full ? fault(r->f, 431, "the head is too large") : got;
}

/* Skips one empty line before the request (RFC 9112, 2.2). */
static enum step first_line(struct request_parser *r)
{
    size_t skipped = r->given >= 2 && memcmp(r->start, "\r\n", 2) == 0 ? 2 : 0;
    size_t size = skipped + r->limits->line + 2;
    bool full = set_window(r, size < r->limits->head ? size : r->limits->head);
    r->p += skipped;
    enum step got = r->p < r->end ? request_line(r) : MORE;
    return got == MORE && full ? fault(r->f, 414, "the request line is too long") : got;
}

/* Whether the new bytes may complete a line or fill a window. */
static bool may_advance(struct fumi_str bytes, size_t seen, const struct http_limits *limits)
{
    return memchr(bytes.p + seen, '\n', bytes.n - seen) || bytes.n >= limits->head ||
           (seen < limits->line + 4 && bytes.n >= limits->line + 2);
}

/* Member by member: compilers turn clearing the whole struct into a slow loop. */
static inline void clear(struct http_head *h)
{
    h->query = h->host = h->upgrade = (struct fumi_str){0};
    h->framing = HTTP_NO_BODY;
    h->length = 0;
    h->expects_continue = false;
    h->n = 0;
}

ssize_t http_read_head(struct http_head *h, struct fumi_str bytes, size_t *seen,
                       const struct http_limits *limits, struct http_fault *f)
{
    size_t before = *seen;
    *seen = bytes.n;
    if (bytes.n == 0 || (before && !may_advance(bytes, before, limits)))
        return 0;
    /* Report the fault at the first byte: a TLS client sends no line feed and waits for us. */
    if (!is(*bytes.p, TOKEN) && *bytes.p != '\r')
        return fault(f, 400, "malformed method");
    struct request_parser r = {
        .h = h, .f = f, .limits = limits, .start = bytes.p, .p = bytes.p, .given = bytes.n};
    clear(h);
    enum step got = first_line(&r);
    if (got == FINE)
        got = fields(&r);
    if (got != FINE)
        return got;
    *seen = 0;
    return r.p - r.start;
}

struct fumi_str http_field(const struct http_head *h, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < h->n; i++)
        if (h->fields[i].name.n == n && equals_lower(h->fields[i].name.p, name, n))
            return h->fields[i].value;
    return (struct fumi_str){0};
}

size_t http_count(const struct http_head *h, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < h->n; i++)
        count += str_equals_lower(h->fields[i].name, name);
    return count;
}

static unsigned lower(char byte)
{
    return (unsigned char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
}

bool http_same(struct fumi_str a, struct fumi_str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}
