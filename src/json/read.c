#include "base/utf8.h"
#include "json/json.h"

#include <assert.h>

/* Most items have the same span as the item before them. The inner loop assumes that, so the
 * processor need not load the span of an item before it can load the next one. */
static size_t items_in(const struct fumi_val *v)
{
    size_t n = 0;
    for (const struct fumi_val *i = v + 1, *end = fumi_next(v); i != end;) {
        size_t span = fumi_span(i);
        do {
            i += span;
            n++;
        } while (i != end && fumi_span(i) == span);
    }
    return n;
}

size_t fumi_size(const struct fumi_val *v)
{
    size_t n = 0;
    if (fumi_is(v, FUMI_ARRAY))
        return items_in(v);
    for (const struct fumi_val *i = fumi_first(v); i; i = fumi_after(v, i))
        n++;
    return n;
}

const struct fumi_val *fumi_get(const struct fumi_val *object, const char *name)
{
    if (!fumi_is(object, FUMI_OBJECT))
        return NULL;
    struct fumi_str wanted = fumi_str(name);
    for (const struct fumi_val *k = fumi_first(object); k; k = fumi_after(object, k)) {
        if (fumi_text_is(k, wanted))
            return fumi_of(k);
    }
    return NULL;
}

struct fumi_str fumi_raw(const struct fumi_val *v)
{
    if (!v)
        return (struct fumi_str){0};
    bool quoted = fumi_is(v, FUMI_STRING);
    return (struct fumi_str){v->p - quoted, v->n + 2 * (size_t)quoted};
}

static uint32_t hex4(const char *p)
{
    uint32_t c = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t digit = (unsigned char)p[i];
        c = c << 4 | (digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    return c;
}

/* Decodes the escape at *p, which the parser has validated, and advances *p past it. Returns the
 * length of the decoded character. */
static size_t unescape(const char **p, char out[4])
{
    static const char meaning[256] = {
        ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
        ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
    };
    const char *at = *p;
    if (at[1] != 'u') {
        *out = meaning[(unsigned char)at[1]];
        *p += 2;
        return 1;
    }
    uint32_t c = hex4(at + 2);
    *p += 6;
    if (c >= 0xD800 && c <= 0xDBFF) {
        c = 0x10000 + ((c - 0xD800) << 10) + (hex4(at + 8) - 0xDC00);
        *p += 6;
    }
    return fumi_utf8_write(c, out);
}

/* The number of bytes before the next escape. */
static size_t plain(const char *p, const char *end)
{
    const char *escape = memchr(p, '\\', (size_t)(end - p));
    return (size_t)((escape ? escape : end) - p);
}

struct fumi_str fumi_text(struct fumi_arena *a, const struct fumi_val *v)
{
    if (!fumi_is(v, FUMI_STRING))
        return (struct fumi_str){0};
    if (!(v->bits & FUMI_ESCAPED))
        return (struct fumi_str){v->p, v->n};
    size_t size;
    char *text = fumi_tail(a, v->n, &size), *to = text;
    for (const char *p = v->p, *end = v->p + v->n; p < end;) {
        size_t n = plain(p, end);
        memcpy(to, p, n);
        to += n;
        p += n;
        if (p < end)
            to += unescape(&p, to);
    }
    fumi_take(a, (size_t)(to - text));
    return (struct fumi_str){text, (size_t)(to - text)};
}

bool fumi_text_is_escaped(const struct fumi_val *v, struct fumi_str s)
{
    assert(v->bits & FUMI_ESCAPED);
    char piece[4];
    size_t at = 0;
    for (const char *p = v->p, *end = v->p + v->n; p < end;) {
        const char *from = p;
        size_t n = plain(p, end);
        p += n;
        if (n == 0) {
            n = unescape(&p, piece);
            from = piece;
        }
        if (n > s.n - at || memcmp(from, s.p + at, n) != 0)
            return false;
        at += n;
    }
    return at == s.n;
}
