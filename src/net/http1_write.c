/* Writing responses. The space for a head is reserved once. */
#include "net/http1_bytes.h"

#include <assert.h>

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {204, "No Content"},
    {100, "Continue"},
    {101, "Switching Protocols"},
    {202, "Accepted"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

const char *http_reason(int status)
{
    for (size_t i = 0; i < FUMI_COUNT(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "";
}

static bool is_text(struct fumi_str s)
{
    return s.n == 0 || skip_text(s.p, s.p + s.n) == s.p + s.n;
}

bool http_field_is_valid(const struct http_field *field)
{
    return is_token(field->name) && is_text(field->value);
}

/* Upper bound for everything but fields and reason: fixed lines and numbers. */
enum { FIXED = 128 };

static char *put(char *to, struct fumi_str text)
{
    if (text.n)
        memcpy(to, text.p, text.n);
    return to + text.n;
}

#define PUT(to, literal) put(to, FUMI_STR(literal))

static char *put_number(char *to, uint64_t number, unsigned base)
{
    char digits[20], *p = digits + sizeof(digits);
    do {
        *--p = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    return put(to, (struct fumi_str){p, (size_t)(digits + sizeof(digits) - p)});
}

static bool ends_with_head(int status)
{
    return status < 200 || status == 204 || status == 304;
}

/* Framing and Connection fields, where they differ from the default of the HTTP version. */
static char *put_framing(char *to, const struct http_response_head *a)
{
    switch (a->framing) {
    case HTTP_NO_BODY:
        break;
    case HTTP_LENGTH:
        to = PUT(to, "Content-Length: ");
        to = put_number(to, a->length, 10);
        to = PUT(to, "\r\n");
        break;
    case HTTP_CHUNKED:
        to = PUT(to, "Transfer-Encoding: chunked\r\n");
        break;
    }
    if (a->status == 101 || (a->status == 426 && a->keep_alive))
        return PUT(to, "Connection: Upgrade\r\n");
    if (a->status == 426)
        return PUT(to, "Connection: Upgrade, close\r\n");
    if (!a->keep_alive)
        return PUT(to, "Connection: close\r\n");
    return a->minor == 0 ? PUT(to, "Connection: keep-alive\r\n") : to;
}

static char *put_fields(char *to, const struct http_response_head *a)
{
    for (size_t i = 0; i < a->n; i++) {
        assert(http_field_is_valid(&a->fields[i]));
        to = put(to, a->fields[i].name);
        to = PUT(to, ": ");
        to = put(to, a->fields[i].value);
        to = PUT(to, "\r\n");
    }
    return put(to, a->lines);
}

void http_put_response_head(struct fumi_buf *to, const struct http_response_head *a)
{
    struct fumi_str reason = fumi_str(http_reason(a->status));
    size_t most = FIXED + reason.n + a->lines.n;
    assert(a->status >= 100 && a->status <= 999);
    assert(a->framing != HTTP_CHUNKED || a->minor == 1);
    assert(a->framing == HTTP_NO_BODY || (a->status >= 200 && a->status != 204));
    assert(a->framing != HTTP_NO_BODY || ends_with_head(a->status) || !a->keep_alive);
    for (size_t i = 0; i < a->n; i++)
        most += a->fields[i].name.n + a->fields[i].value.n + 4;
    char *p = fumi_buf_reserve(to, most);
    if (!p)
        return;
    char *end = put_number(PUT(p, "HTTP/1.1 "), (uint64_t)a->status, 10);
    end = put(PUT(end, " "), reason);
    end = put_framing(put_fields(PUT(end, "\r\n"), a), a);
    end = PUT(end, "\r\n");
    assert((size_t)(end - p) <= most);
    to->n += (size_t)(end - p);
}

void http_continue(struct fumi_buf *to)
{
    struct fumi_str head = FUMI_STR("HTTP/1.1 100 Continue\r\n\r\n");
    fumi_buf_add(to, head.p, head.n);
}

void http_chunk(struct fumi_buf *to, struct fumi_str text)
{
    char *p = text.n ? fumi_buf_reserve(to, text.n + 20) : NULL;
    if (!p)
        return;
    char *end = put(PUT(put_number(p, text.n, 16), "\r\n"), text);
    to->n += (size_t)(PUT(end, "\r\n") - p);
}

void http_chunk_end(struct fumi_buf *to)
{
    fumi_buf_add(to, "0\r\n\r\n", 5);
}
