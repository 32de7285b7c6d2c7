/* The parser: one pass over the text, without recursion and without copying. It allocates only the
 * row of values.
 *
 * It does not test for the end of the text between tokens. Instead the last byte is a sentinel:
 * trailing white space is removed first, and then a container must end with a closing bracket,
 * which no token can pass. So only the code that reads a closing bracket tests for the end. Any
 * other text is copied, and a NUL after the copy serves as the sentinel. Strings may contain
 * brackets, so they test for the end themselves.
 *
 * While a container is open, its `n` holds the index of the enclosing container, so the row also
 * serves as the stack. */
#include "base/utf8.h"
#include "json/json.h"
#include "json/text_scan.h"

#include <assert.h>

enum { NO_PARENT = UINT32_MAX, ONE = 1 << FUMI_SPAN_SHIFT, FIRST_ROW = 64 };

enum { WINDOW = 64 };

/* A window of the text whose bytes are already classified. The end of a string or number inside it
 * is found with bit operations only, so the processor can overlap the work on several tokens. */
struct window {
    const char *base;
    struct text_scan_masks masks;
};

struct parser {
    struct fumi_arena *a;
    const char *start, *end;
    struct window w;
    struct fumi_val *row, *full; /* in the tail of the arena, until complete() takes it */
    uint32_t open;               /* index of the innermost open container, or NO_PARENT */
    uint32_t depth, deepest;
    const char *fault, *at;
};

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *skip_space(const char *p)
{
    if ((unsigned char)*p > ' ') /* the common case */
        return p;
    while (is_space(*p))
        p++;
    return p;
}

static inline const char *skip_digits(const char *p)
{
    while ((unsigned char)(*p - '0') <= 9)
        p++;
    return p;
}

/* Returns the end of the number at p, or NULL if it is invalid. */
static inline const char *read_number(const char *p)
{
    const char *whole = p + (*p == '-'), *q = skip_digits(whole);
    if (q == whole || (*whole == '0' && q > whole + 1))
        return NULL;
    if (*q == '.') {
        const char *part = q + 1;
        if ((q = skip_digits(part)) == part)
            return NULL;
    }
    if ((*q | 0x20) == 'e') {
        const char *power = q + 1 + (q[1] == '+' || q[1] == '-');
        if ((q = skip_digits(power)) == power)
            return NULL;
    }
    return q;
}

static __attribute__((cold)) const char *fail(struct parser *s, const char *at, const char *fault)
{
    s->fault = fault;
    s->at = at;
    return NULL;
}

/* Grows the row, so that at least two more values fit: a key and its value. */
static struct fumi_val *grow(struct parser *s, struct fumi_val *next)
{
    size_t n = (size_t)(next - s->row), size;
    size_t least = (n ? n * 2 : FIRST_ROW) * sizeof(*next);
    struct fumi_val *old = s->row;
    s->row = (struct fumi_val *)(void *)fumi_tail(s->a, least, &size);
    s->full = s->row + size / sizeof(*next) - 1;
    if (n)
        memcpy(s->row, old, n * sizeof(*next));
    return s->row + n;
}

static bool hex4(const char *p, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t c = (unsigned char)p[i], letter = (c | 0x20) - 'a';
        if (c - '0' > 9 && letter > 5)
            return false;
        *out = *out << 4 | (letter <= 5 ? letter + 10 : c - '0');
    }
    return true;
}

/* p points to the backslash of \uXXXX. Returns the end of the escape, or of the pair. */
static const char *unicode_escape(struct parser *s, const char *p)
{
    uint32_t c, low;
    if (s->end - p < 6 || !hex4(p + 2, &c))
        return fail(s, p, "\\u needs four hexadecimal digits");
    if (c < 0xD800 || c > 0xDFFF)
        return p + 6;
    if (c > 0xDBFF || s->end - p < 12 || p[6] != '\\' || p[7] != 'u' || !hex4(p + 8, &low) ||
        low < 0xDC00 || low > 0xDFFF)
        return fail(s, p, "a surrogate is not part of a pair");
    return p + 12;
}

static const char *escape(struct parser *s, const char *p)
{
    static const bool simple[256] = {
        ['"'] = true, ['\\'] = true, ['/'] = true, ['b'] = true,
        ['f'] = true, ['n'] = true,  ['r'] = true, ['t'] = true,
    };
    if (s->end - p < 2)
        return fail(s, p, "a string is not closed");
    if (simple[(unsigned char)p[1]])
        return p + 2;
    return p[1] == 'u' ? unicode_escape(s, p) : fail(s, p, "this escape does not exist");
}

/* Reads the rest of a string whose content begins at `p` and is plain up to `odd`. Stores the value
 * and returns the byte after the closing quote. */
static const char *long_string(struct parser *s, const char *p, const char *odd,
                               struct fumi_val *to)
{
    uint32_t bits = FUMI_STRING | ONE;
    while (odd < s->end && *odd != '"') {
        const char *at = odd;
        if (*odd == '\\') {
            bits |= FUMI_ESCAPED;
            if (!(odd = escape(s, odd)))
                return NULL;
        } else if ((unsigned char)*odd >= 0x80) {
            if (!(odd = fumi_utf8_run(odd, s->end)))
                return fail(s, at, "a string is not valid UTF-8");
        } else if ((unsigned char)*odd < 0x20) {
            return fail(s, at, "a control character in a string must be escaped");
        } else {
            odd = text_scan_plain(odd, s->end);
        }
    }
    if (odd == s->end)
        return fail(s, odd, "a string is not closed");
    *to = (struct fumi_val){p, (uint32_t)(odd - p), bits};
    return odd + 1;
}

static inline void sort_block(struct window *w, size_t i)
{
    struct text_scan_masks m = text_scan_block(w->base + i);
    w->masks.odd |= m.odd << i;
    w->masks.other |= m.other << i;
}

/* Moves the window so that it contains the byte at p. Near the end of the text the window begins
 * before p; in a text that is shorter than the window it begins at the start. */
static void look(struct parser *s, const char *p)
{
    size_t n = (size_t)(s->end - s->start);
    struct window w = {.base = s->start};
    if (n >= WINDOW)
        w.base = s->end - p < WINDOW ? s->end - WINDOW : p;
    if (n < WINDOW) {
        for (size_t i = TEXT_SCAN_BLOCK; i <= n; i += TEXT_SCAN_BLOCK)
            sort_block(&w, i - TEXT_SCAN_BLOCK);
        if (n > TEXT_SCAN_BLOCK)
            sort_block(&w, n - TEXT_SCAN_BLOCK);
    } else if (text_scan_wide_works()) {
        w.masks = text_scan_wide(w.base);
    } else {
        for (size_t i = 0; i < WINDOW; i += TEXT_SCAN_BLOCK)
            sort_block(&w, i);
    }
    s->w = w;
}

/* The bits of `mask` from p on; 0 if p is outside the window. */
static inline uint64_t from(const struct parser *s, uint64_t mask, const char *p)
{
    size_t i = (size_t)(p - s->w.base);
    return i < WINDOW ? mask >> i : 0;
}

/* Reads the string whose content begins at p. Returns the byte after the closing quote. */
static inline const char *string(struct parser *s, const char *p, struct fumi_val *to)
{
    uint64_t odd = from(s, s->w.masks.odd, p);
    if (!odd) {
        look(s, p);
        odd = from(s, s->w.masks.odd, p);
    }
    const char *close = p + (odd ? __builtin_ctzll(odd) : 0);
    if (!odd || *close != '"')
        return long_string(s, p, close, to);
    *to = (struct fumi_val){p, (uint32_t)(close - p), FUMI_STRING | ONE};
    return close + 1;
}

/* Returns the end of the number at p, or NULL. Numbers without an exponent are found in the window;
 * read_number handles all others. */
static inline const char *number(struct parser *s, const char *p)
{
    const char *whole = p + (*p == '-');
    uint64_t other = from(s, s->w.masks.other, whole);
    if (!other) {
        look(s, whole);
        other = from(s, s->w.masks.other, whole);
    }
    if (!other)
        return read_number(p);
    int i = __builtin_ctzll(other), n = i;
    if (whole[i] == '.') {
        other &= other - 1;
        n = other ? __builtin_ctzll(other) : 0;
        if (n <= i + 1)
            return read_number(p);
    }
    if (i == 0 || (*whole == '0' && i > 1) || (whole[n] | 0x20) == 'e')
        return read_number(p);
    return whole + n;
}

static const char *literal(struct parser *s, const char *p, struct fumi_val *to)
{
    static const struct {
        struct fumi_str word;
        enum fumi_kind kind;
    } words[] = {{{"true", 4}, FUMI_TRUE}, {{"false", 5}, FUMI_FALSE}, {{"null", 4}, FUMI_NULL}};
    size_t i = *p == 't' ? 0 : *p == 'f' ? 1 : 2, n = words[i].word.n;
    if ((size_t)(s->end - p) < n || !fumi_same(p, words[i].word.p, n))
        return fail(s, p, "a value is expected");
    *to = (struct fumi_val){p, (uint32_t)n, words[i].kind | ONE};
    return p + n;
}

/* Reads a number or a literal. Returns the byte after it. */
static inline const char *scalar(struct parser *s, const char *p, struct fumi_val *to)
{
    /* One test for a minus and the digits; number() refuses the characters between them. */
    if ((unsigned char)(*p - '-') > '9' - '-')
        return literal(s, p, to);
    const char *q = number(s, p);
    if (!q)
        return fail(s, p, "this is not a number");
    *to = (struct fumi_val){p, (uint32_t)(q - p), FUMI_NUMBER | ONE};
    return q;
}

/* Reads the key at p and its colon. Returns the start of its value. */
static inline const char *key(struct parser *s, const char *p, struct fumi_val *to)
{
    if (*p != '"')
        return fail(s, p, "a key in double quotes is expected");
    if (!(p = string(s, p + 1, to)))
        return NULL;
    p = skip_space(p);
    return *p == ':' ? skip_space(p + 1) : fail(s, p, "a colon is expected after a key");
}

/* Opens the container at p. Returns the first token after its bracket. */
static inline const char *begin(struct parser *s, const char *p, struct fumi_val **next)
{
    enum fumi_kind kind = *p == '{' ? FUMI_OBJECT : FUMI_ARRAY;
    if (++s->depth > s->deepest)
        return fail(s, p, "values are nested too deep");
    **next = (struct fumi_val){p, s->open, kind};
    s->open = (uint32_t)((*next)++ - s->row);
    return skip_space(p + 1);
}

/* p is the byte after a value and not a comma: closes all containers that end here, up to a comma
 * or to the end of the document, where s->open is NO_PARENT. */
static inline const char *closings(struct parser *s, const char *p, struct fumi_val *next)
{
    while (s->open != NO_PARENT && *p != ',') {
        struct fumi_val *c = s->row + s->open;
        bool object = c->bits == FUMI_OBJECT;
        if (*p != (object ? '}' : ']'))
            return fail(s, p, object ? "a comma or } is expected" : "a comma or ] is expected");
        p++;
        s->open = c->n;
        c->n = (uint32_t)(p - c->p);
        c->bits |= (uint32_t)(next - c) << FUMI_SPAN_SHIFT;
        s->depth--;
        if (p == s->end)
            break;
        p = skip_space(p);
    }
    return p;
}

/* p is the byte after the root value, or the end of the text. */
static const char *complete(struct parser *s, const char *p, const struct fumi_val *next)
{
    if (s->open != NO_PARENT)
        return fail(s, p, "an array or object is not closed");
    assert(fumi_next(s->row) == next); /* the span of the root is the whole row */
    fumi_take(s->a, (size_t)((const char *)next - (const char *)s->row));
    return p;
}

/* Reads values from p on until the root value is complete. Returns the byte after it, or NULL. */
static const char *document(struct parser *s, const char *p, struct fumi_val *next)
{
    for (;;) {
        bool inside = false; /* a container was opened that is not empty */
        if (next >= s->full)
            next = grow(s, next);
        if (*p == '"') {
            p = string(s, p + 1, next++);
        } else if (*p == '{' || *p == '[') {
            char close = *p == '{' ? '}' : ']';
            p = begin(s, p, &next);
            inside = p && *p != close;
        } else {
            p = scalar(s, p, next++);
        }
        if (!p)
            return NULL;
        if (!inside) {
            p = skip_space(p);
            if (*p != ',' && !(p = closings(s, p, next)))
                return NULL;
            if (s->open == NO_PARENT || p == s->end)
                return complete(s, p, next);
            p = skip_space(p + 1);
        }
        if (s->row[s->open].bits == FUMI_OBJECT && !(p = key(s, p, next++)))
            return NULL;
    }
}

static struct fumi_str trimmed(struct fumi_str text)
{
    while (text.n && is_space(text.p[text.n - 1]))
        text.n--;
    return text;
}

/* Returns the text itself if its last byte can be the sentinel, otherwise a copy that a NUL
 * follows.
 */
static const char *with_sentinel(struct fumi_arena *a, struct fumi_str text)
{
    char last = text.p[text.n - 1];
    if (last == '}' || last == ']')
        return text.p;
    char *copy = fumi_alloc(a, text.n + 1);
    memcpy(copy, text.p, text.n);
    return copy;
}

const struct fumi_val *fumi_parse_deep(struct fumi_arena *a, struct fumi_str text, size_t depth,
                                       struct fumi_err *e)
{
    struct parser s = {.a = a,
                       .open = NO_PARENT,
                       .deepest = depth < FUMI_DEPTH_MAX ? (uint32_t)depth : FUMI_DEPTH_MAX};
    struct fumi_str cut = trimmed(text);
    if (cut.n == 0) {
        fumi_err_set(e, FUMI_PARSE_ERROR, "at byte 0: the text is empty");
        return NULL;
    }
    if (text.n >= FUMI_JSON_MAX) {
        fumi_err_set(e, FUMI_PARSE_ERROR, "the text has %zu bytes, more than %d", text.n,
                     FUMI_JSON_MAX - 1);
        return NULL;
    }
    const char *p = s.w.base = s.start = with_sentinel(a, cut);
    s.end = p + cut.n;
    look(&s, p);
    const char *last = document(&s, skip_space(p), grow(&s, NULL));
    if (last && last != s.end)
        last = fail(&s, last, "more text follows the value");
    if (!last) {
        fumi_err_set(e, FUMI_PARSE_ERROR, "at byte %zu: %s", (size_t)(s.at - p), s.fault);
        return NULL;
    }
    return s.row;
}

const struct fumi_val *fumi_parse(struct fumi_arena *a, struct fumi_str text, struct fumi_err *e)
{
    return fumi_parse_deep(a, text, FUMI_DEPTH, e);
}
