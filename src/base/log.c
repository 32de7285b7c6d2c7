/* A line is built on the stack and written with one write(2) of at most PIPE_BUF bytes, so lines of
 * several threads do not mix. Pairs that do not fit are left out. */
#include "base/log.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum {
    LINE_SIZE = 4096,
    TAIL_SIZE = 2, /* reserved for "}\n" */
    VALUE_SIZE = 256,
    WRITE_TIMEOUT = 20, /* milliseconds, if the reader of a pipe does not read */
};

struct log_line {
    bool json, full;
    size_t n;
    char bytes[LINE_SIZE];
};

static const struct fumi_str level_names[] = {
    [FUMI_DEBUG] = FUMI_STR("debug"),   [FUMI_INFO] = FUMI_STR("info"),
    [FUMI_WARN] = FUMI_STR("warn"),     [FUMI_ERROR] = FUMI_STR("error"),
    [FUMI_SILENT] = FUMI_STR("silent"),
};

bool fumi_level_of(struct fumi_str name, enum fumi_level *out)
{
    for (size_t i = 0; i < FUMI_COUNT(level_names); i++)
        if (fumi_eq(name, level_names[i])) {
            *out = (enum fumi_level)i;
            return true;
        }
    return false;
}

static void add(struct log_line *l, const char *p, size_t n)
{
    if (l->full || n > LINE_SIZE - TAIL_SIZE - l->n) {
        l->full = true;
        return;
    }
    memcpy(l->bytes + l->n, p, n);
    l->n += n;
}

static void add_str(struct log_line *l, struct fumi_str s)
{
    add(l, s.p, s.n);
}

static void add_char(struct log_line *l, char c)
{
    add(l, &c, 1);
}

/* Whether the character of n bytes needs no escape; n == 0: an invalid byte. */
static bool plain(const char *p, size_t n)
{
    unsigned char c = (unsigned char)p[0];
    if (n == 1)
        return c >= 0x20 && c != '"' && c != '\\' && c != 0x7F;
    bool control = n == 2 && c == 0xC2 && (unsigned char)p[1] < 0xA0; /* U+0080 to U+009F */
    return n && !control;
}

static char short_escape(char c)
{
    switch (c) {
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    case '"':
    case '\\':
        return c;
    default:
        return 0;
    }
}

/* JSON has no escape for an invalid byte: it is written as U+FFFD. */
static void add_number_escape(struct log_line *l, const char *p, size_t n)
{
    char text[16];
    unsigned c = n ? (unsigned char)p[n - 1] : 0xFFFD; /* the last byte of U+0080 to U+009F is also
                                                          the code point */
    if (l->json)
        add(l, text, (size_t)snprintf(text, sizeof(text), "\\u%04x", c));
    for (size_t i = 0; !l->json && i < n + !n; i++)
        add(l, text, (size_t)snprintf(text, sizeof(text), "\\x%02x", (unsigned char)p[i]));
}

static void add_escape(struct log_line *l, const char *p, size_t n)
{
    char c = n == 1 ? short_escape(*p) : 0;
    if (c)
        add(l, (char[]){'\\', c}, 2);
    else
        add_number_escape(l, p, n);
}

static void add_quoted(struct log_line *l, struct fumi_str s)
{
    add_char(l, '"');
    for (const char *p = s.p, *end = s.p + s.n; p < end;) {
        size_t n = fumi_utf8_step(p, end);
        if (plain(p, n))
            add(l, p, n);
        else
            add_escape(l, p, n);
        p += n ? n : 1;
    }
    add_char(l, '"');
}

static bool bare(struct fumi_str s)
{
    for (const char *p = s.p, *end = s.p + s.n; p < end;) {
        size_t n = fumi_utf8_step(p, end);
        if (*p == ' ' || !plain(p, n))
            return false;
        p += n;
    }
    return s.n > 0;
}

static void add_text(struct log_line *l, struct fumi_str s)
{
    if (s.n > VALUE_SIZE)
        s = fumi_utf8_cut(s, VALUE_SIZE);
    if (!l->json && bare(s))
        add_str(l, s);
    else
        add_quoted(l, s);
}

static void add_number(struct log_line *l, int64_t number)
{
    char text[24];
    add(l, text, (size_t)snprintf(text, sizeof(text), "%" PRId64, number));
}

static void add_pair(struct log_line *l, const struct fumi_pair *pair)
{
    add_char(l, l->json ? ',' : ' ');
    add_text(l, fumi_str(pair->key));
    add_char(l, l->json ? ':' : '=');
    if (pair->text.p)
        add_text(l, pair->text);
    else
        add_number(l, pair->number);
}

static void add_head(struct log_line *l, enum fumi_level level, const char *event)
{
    char time[FUMI_TIME_SIZE];
    fumi_time_write(fumi_now(), time);
    add_str(l, l->json ? FUMI_STR("{\"time\":\"") : FUMI_STR(""));
    add(l, time, sizeof(time));
    add_str(l, l->json ? FUMI_STR("\",\"level\":\"") : FUMI_STR(" "));
    add_str(l, level_names[level]);
    add_str(l, l->json ? FUMI_STR("\",\"event\":") : FUMI_STR(" "));
    add_text(l, fumi_str(event));
}

static void add_pairs(struct log_line *l, const struct fumi_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t before = l->n;
        add_pair(l, &pairs[i]);
        if (l->full) {
            l->n = before;
            return;
        }
    }
}

static void end_line(struct log_line *l)
{
    assert(l->n + TAIL_SIZE <= LINE_SIZE);
    if (l->json)
        l->bytes[l->n++] = '}';
    l->bytes[l->n++] = '\n';
}

/* Waits until the descriptor is writable, at most until the deadline. A pipe that is writable takes
 * PIPE_BUF bytes, so write(2) does not block then, even on a blocking descriptor. */
static bool is_writable(int fd, int64_t deadline)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int ready;
    do {
        int64_t left = (deadline - fumi_ticks()) / 1000000;
        ready = poll(&p, 1, left > 0 ? (int)left : 0);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* If the log cannot be written, the line is dropped: the failure cannot be reported. */
static void send_line(int fd, const char *p, size_t n)
{
    int64_t deadline = fumi_ticks() + (int64_t)WRITE_TIMEOUT * 1000000;
    while (n && is_writable(fd, deadline)) {
        ssize_t sent = write(fd, p, n);
        if (sent == 0 || (sent < 0 && errno != EINTR && errno != EAGAIN))
            return;
        if (sent > 0) {
            p += sent;
            n -= (size_t)sent;
        }
    }
}

void fumi_log_pairs(const struct fumi_log *log, enum fumi_level level, const char *event,
                    const struct fumi_pair *pairs, size_t n)
{
    if (!log || level < log->level || level >= FUMI_SILENT)
        return;
    int before = errno;
    struct log_line l;
    l.json = log->json;
    l.full = false;
    l.n = 0;
    add_head(&l, level, event);
    add_pairs(&l, pairs, n);
    end_line(&l);
    send_line(log->fd ? log->fd : STDERR_FILENO, l.bytes, l.n);
    errno = before;
}
