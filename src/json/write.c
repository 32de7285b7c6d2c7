#include "base/utf8.h"
#include "json/json.h"
#include "json/text_scan.h"

#include <assert.h>

static void comma(struct fumi_out *o)
{
    if (o->comma)
        fumi_buf_put(o->buf, ',');
    o->comma = true;
}

void fumi_put_open(struct fumi_out *o, char bracket)
{
    comma(o);
    fumi_buf_put(o->buf, bracket);
    o->comma = false;
}

void fumi_put_close(struct fumi_out *o, char bracket)
{
    struct fumi_buf *b = o->buf;
    assert(b->full || (b->n && b->p[b->n - 1] != ':' && b->p[b->n - 1] != ','));
    fumi_buf_put(b, bracket);
    o->comma = true;
}

/* Writes a byte that must be escaped in a string. */
static void put_escape(struct fumi_buf *b, unsigned char c)
{
    static const char letter[256] = {['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                     ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};
    static const char hex[] = "0123456789abcdef";
    char text[6] = {'\\', letter[c]};
    size_t n = 2;
    if (!letter[c]) {
        memcpy(text, "\\u00", 4);
        text[4] = hex[c >> 4];
        text[5] = hex[c & 15];
        n = 6;
    }
    fumi_buf_add(b, text, n);
}

/* Writes the character at p, which is not plain. Returns the byte after it. */
static const char *put_odd(struct fumi_buf *b, const char *p, const char *end)
{
    if ((unsigned char)*p < 0x80) {
        put_escape(b, (unsigned char)*p);
        return p + 1;
    }
    size_t n = fumi_utf8_step(p, end);
    if (n)
        fumi_buf_add(b, p, n);
    else
        fumi_buf_add(b, "\xEF\xBF\xBD", 3);
    return p + (n ? n : 1);
}

static void put_quoted(struct fumi_buf *b, struct fumi_str s)
{
    const char *p = s.p, *end = s.p + s.n;
    fumi_buf_reserve(b, s.n + 2);
    fumi_buf_put(b, '"');
    while (p < end && !b->full) {
        const char *odd = text_scan_plain(p, end);
        fumi_buf_add(b, p, (size_t)(odd - p));
        p = odd < end ? put_odd(b, odd, end) : end;
    }
    fumi_buf_put(b, '"');
}

void fumi_put_key_str(struct fumi_out *o, struct fumi_str name)
{
    comma(o);
    put_quoted(o->buf, name);
    fumi_buf_put(o->buf, ':');
    o->comma = false;
}

void fumi_put_key(struct fumi_out *o, const char *name)
{
    fumi_put_key_str(o, fumi_str(name));
}

static void put_word(struct fumi_out *o, const char *word, size_t n)
{
    comma(o);
    fumi_buf_add(o->buf, word, n);
}

void fumi_put_null(struct fumi_out *o)
{
    put_word(o, "null", 4);
}

void fumi_put_bool(struct fumi_out *o, bool b)
{
    put_word(o, b ? "true" : "false", b ? 4 : 5);
}

void fumi_put_str(struct fumi_out *o, struct fumi_str s)
{
    if (!s.p) {
        fumi_put_null(o);
        return;
    }
    comma(o);
    put_quoted(o->buf, s);
}

/* The source is in the buffer itself, which may move when it grows: so each step reserves its space
 * first and then uses pointers into the buffer. */
void fumi_put_again(struct fumi_out *o, size_t at, size_t n)
{
    struct fumi_buf *b = o->buf;
    assert(at <= b->n && n <= b->n - at);
    comma(o);
    fumi_buf_put(b, '"');
    for (size_t end = at + n, plain; at < end && !b->full; at += plain) {
        plain = (size_t)(text_scan_plain(b->p + at, b->p + end) - (b->p + at));
        if (!fumi_buf_reserve(b, plain + 6)) /* 6: the longest escape */
            return;
        fumi_buf_add(b, b->p + at, plain);
        if (at + plain < end)
            plain = (size_t)(put_odd(b, b->p + at + plain, b->p + end) - (b->p + at));
    }
    fumi_buf_put(b, '"');
}

/* Replaces line breaks by blanks, so that the output is one line. In valid JSON line breaks occur
 * only between tokens. */
void fumi_put_json(struct fumi_out *o, struct fumi_json j)
{
    if (!j.text.n) {
        fumi_put_null(o);
        return;
    }
    size_t at = o->buf->n + o->comma;
    put_word(o, j.text.p, j.text.n);
    bool lines = memchr(j.text.p, '\n', j.text.n) || memchr(j.text.p, '\r', j.text.n);
    for (; lines && at < o->buf->n; at++) {
        if (o->buf->p[at] == '\n' || o->buf->p[at] == '\r')
            o->buf->p[at] = ' ';
    }
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Copies the brackets, commas and colons between two values without white space. */
static const char *put_between(struct fumi_buf *b, const char *p, const char *end)
{
    for (; p < end; p++) {
        if (!is_space(*p))
            fumi_buf_put(b, *p);
    }
    return p;
}

/* Copies scalars and keys unchanged, and the text between them without white space. */
void fumi_put_val(struct fumi_out *o, const struct fumi_val *v)
{
    if (!v) {
        fumi_put_null(o);
        return;
    }
    struct fumi_str whole = fumi_raw(v);
    const char *p = whole.p;
    comma(o);
    for (const struct fumi_val *i = v, *last = fumi_next(v); i < last; i++) {
        if ((i->bits & 7) >= FUMI_ARRAY)
            continue;
        struct fumi_str raw = fumi_raw(i);
        put_between(o->buf, p, raw.p);
        fumi_buf_add(o->buf, raw.p, raw.n);
        p = raw.p + raw.n;
    }
    put_between(o->buf, p, whole.p + whole.n);
}

/* Compact text is never longer than the source text, so the tail of the arena serves as buffer. */
struct fumi_json fumi_compact(struct fumi_arena *a, const struct fumi_val *v)
{
    size_t size, most = v ? fumi_raw(v).n : sizeof("null");
    struct fumi_buf b = {.p = fumi_tail(a, most, &size), .cap = most, .limit = most};
    fumi_put_val(&(struct fumi_out){.buf = &b}, v);
    fumi_take(a, b.n);
    return (struct fumi_json){{b.p, b.n}};
}
