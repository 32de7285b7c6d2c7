#include "net/frame.h"

#include <assert.h>
#include <stdio.h>

enum { DIGITS_MAX = 15 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool same_name(struct fumi_str s, struct fumi_str lower_case)
{
    if (s.n != lower_case.n)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (lower(s.p[i]) != lower_case.p[i])
            return false;
    return true;
}

/* A character of a field name (token in RFC 9110). */
static bool is_token(char c)
{
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static struct fumi_str trimmed(struct fumi_str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s.p++, s.n--;
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

static int read_length(struct fumi_str value, size_t *length, struct fumi_err *e)
{
    size_t sum = 0;
    for (size_t i = 0; i < value.n && i < DIGITS_MAX; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            value.n = 0;
        else
            sum = sum * 10 + (size_t)(value.p[i] - '0');
    }
    *length = sum;
    if (value.n >= 1 && value.n <= DIGITS_MAX)
        return 0;
    return fumi_err_set(e, FUMI_INVALID_REQUEST,
                        "Content-Length must be a number of 1 to %d digits", DIGITS_MAX);
}

/* "...; charset=utf-8"; old clients write "utf8". The default is UTF-8. */
static int check_type(struct fumi_str value, struct fumi_err *e)
{
    static const struct fumi_str key = {"charset=", 8};
    for (size_t i = 0; i + key.n <= value.n; i++) {
        struct fumi_str at = {value.p + i, key.n}, set = {value.p + i + key.n, 0};
        if (!same_name(at, key))
            continue;
        while (set.p + set.n < value.p + value.n && set.p[set.n] != ';' && set.p[set.n] != ' ')
            set.n++;
        if (set.n > 1 && set.p[0] == '"' && set.p[set.n - 1] == '"')
            set.p++, set.n -= 2;
        if (!same_name(set, FUMI_STR("utf-8")) && !same_name(set, FUMI_STR("utf8")))
            return fumi_err_set(e, FUMI_INVALID_REQUEST,
                                "Content-Type must have the charset utf-8");
    }
    return 0;
}

static int no_field(struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INVALID_REQUEST,
                        "a header line must be \"Name: value\" followed by CR LF");
}

static int read_field(struct fumi_str line, size_t *length, bool *found, struct fumi_err *e)
{
    struct fumi_str name = {line.p, 0};
    while (name.n < line.n && is_token(line.p[name.n]))
        name.n++;
    if (!name.n || name.n == line.n || line.p[name.n] != ':' || memchr(line.p, 0, line.n) ||
        memchr(line.p, '\r', line.n) || memchr(line.p, '\n', line.n))
        return no_field(e);
    struct fumi_str value = trimmed((struct fumi_str){line.p + name.n + 1, line.n - name.n - 1});
    if (same_name(name, FUMI_STR("content-type")))
        return check_type(value, e);
    if (!same_name(name, FUMI_STR("content-length")))
        return 0;
    if (*found)
        return fumi_err_set(e, FUMI_INVALID_REQUEST, "the header has two Content-Length fields");
    *found = true;
    return read_length(value, length, e);
}

int frame_read(struct fumi_str bytes, size_t *used, size_t *length, struct fumi_err *e)
{
    bool found = false;
    size_t at = 0, most = bytes.n < FRAME_HEAD_MAX ? bytes.n : FRAME_HEAD_MAX;
    for (;;) {
        const char *end = memmem(bytes.p + at, most - at, "\r\n", 2);
        if (!end)
            break;
        struct fumi_str line = {bytes.p + at, (size_t)(end - bytes.p) - at};
        at += line.n + 2;
        if (line.n) {
            if (read_field(line, length, &found, e))
                return -1;
            continue;
        }
        *used = at;
        return found ? 1
                     : fumi_err_set(e, FUMI_INVALID_REQUEST, "the header has no Content-Length");
    }
    if (memchr(bytes.p + at, '\n', most - at)) /* a line feed without CR */
        return no_field(e);
    if (bytes.n < FRAME_HEAD_MAX)
        return 0;
    return fumi_err_set(e, FUMI_INVALID_REQUEST, "the header is longer than %d bytes",
                        FRAME_HEAD_MAX);
}

int frame_detect(struct fumi_str bytes)
{
    static const char begins[] = "content-";
    for (size_t i = 0; begins[i]; i++) {
        if (i == bytes.n)
            return 0;
        if (lower(bytes.p[i]) != begins[i])
            return -1;
    }
    return 1;
}

void frame_put(struct fumi_buf *out, struct fumi_str message)
{
    char head[64];
    int n = snprintf(head, sizeof(head), "Content-Length: %zu\r\n\r\n", message.n);
    char *to = fumi_buf_reserve(out, (size_t)n + message.n);
    assert(to);
    memcpy(to, head, (size_t)n);
    memcpy(to + n, message.p, message.n);
    out->n += (size_t)n + message.n;
}
