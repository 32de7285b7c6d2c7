#include "app/show.h"

#include "app/terminal.h"
#include "base/chars.h"

#include <stdlib.h>

struct width_range {
    uint32_t first, last;
};

/* Characters of East Asian width W and F, and emoji. Ranges are joined where the characters between
 * them are unassigned or wide as well. */
static const struct width_range wide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
    {0x23F0, 0x23F0},   {0x23F3, 0x23F3},   {0x25FD, 0x25FE},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x267F, 0x267F},   {0x2693, 0x2693},   {0x26A1, 0x26A1},
    {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},   {0x26CE, 0x26CE},
    {0x26D4, 0x26D4},   {0x26EA, 0x26EA},   {0x26F2, 0x26F3},   {0x26F5, 0x26F5},
    {0x26FA, 0x26FA},   {0x26FD, 0x26FD},   {0x2705, 0x2705},   {0x270A, 0x270B},
    {0x2728, 0x2728},   {0x274C, 0x274C},   {0x274E, 0x274E},   {0x2753, 0x2755},
    {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27B0, 0x27B0},   {0x27BF, 0x27BF},
    {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2B55, 0x2B55},   {0x2E80, 0x303E},
    {0x3041, 0x3247},   {0x3250, 0x4DBF},   {0x4E00, 0xA4CF},   {0xA960, 0xA97F},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},
    {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18AFF}, {0x1B000, 0x1B2FF},
    {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A},
    {0x1F200, 0x1F320}, {0x1F32D, 0x1F335}, {0x1F337, 0x1F37C}, {0x1F37E, 0x1F393},
    {0x1F3A0, 0x1F3CA}, {0x1F3CF, 0x1F3D3}, {0x1F3E0, 0x1F3F0}, {0x1F3F4, 0x1F3F4},
    {0x1F3F8, 0x1F43E}, {0x1F440, 0x1F440}, {0x1F442, 0x1F4FC}, {0x1F4FF, 0x1F53D},
    {0x1F54B, 0x1F567}, {0x1F57A, 0x1F57A}, {0x1F595, 0x1F596}, {0x1F5A4, 0x1F5A4},
    {0x1F5FB, 0x1F64F}, {0x1F680, 0x1F6C5}, {0x1F6CC, 0x1F6FC}, {0x1F7E0, 0x1F7F0},
    {0x1F90C, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

/* Combining marks and invisible characters, which take no column. */
static const struct width_range none[] = {
    {0x00AD, 0x00AD},   {0x0300, 0x036F},   {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x05BF, 0x05BF},
    {0x05C1, 0x05C2},   {0x05C4, 0x05C5},   {0x05C7, 0x05C7}, {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x0670, 0x0670},   {0x06D6, 0x06DC},   {0x06DF, 0x06E4}, {0x06E7, 0x06E8}, {0x06EA, 0x06ED},
    {0x0900, 0x0902},   {0x093A, 0x093A},   {0x093C, 0x093C}, {0x0941, 0x0948}, {0x094D, 0x094D},
    {0x0E31, 0x0E31},   {0x0E34, 0x0E3A},   {0x0E47, 0x0E4E}, {0x1160, 0x11FF}, {0x1AB0, 0x1AFF},
    {0x1DC0, 0x1DFF},   {0x200B, 0x200F},   {0x202A, 0x202E}, {0x2060, 0x206F}, {0x20D0, 0x20FF},
    {0x3099, 0x309A},   {0xFE00, 0xFE0F},   {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0x1F3FB, 0x1F3FF},
    {0xE0001, 0xE007F}, {0xE0100, 0xE01EF},
};

static bool is_in(const struct width_range *table, size_t n, uint32_t c)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = (low + n) / 2;
        if (c > table[middle].last)
            low = middle + 1;
        else if (c < table[middle].first)
            n = middle;
        else
            return true;
    }
    return false;
}

static size_t columns_of(uint32_t c)
{
    if (c < 0x300)
        return c == 0xAD ? 0 : 1;
    if (is_in(none, FUMI_COUNT(none), c))
        return 0;
    return is_in(wide, FUMI_COUNT(wide), c) ? 2 : 1;
}

size_t show_width(struct fumi_str s)
{
    size_t width = 0, n;
    for (const char *p = s.p, *end = fumi_end(s); p < end; p += n)
        width += columns_of(fumi_char_at(p, end, &n));
    return width;
}

struct fumi_str show_cut(struct fumi_str s, size_t columns)
{
    size_t width = 0, n;
    for (const char *p = s.p, *end = fumi_end(s); p < end; p += n) {
        width += columns_of(fumi_char_at(p, end, &n));
        if (width > columns)
            return (struct fumi_str){s.p, (size_t)(p - s.p)};
    }
    return s;
}

struct fumi_str show_line(struct fumi_arena *a, struct fumi_str s)
{
    char *out = fumi_alloc(a, s.n + 1), *to = out;
    size_t n;
    for (const char *p = s.p, *end = fumi_end(s); p < end; p += n) {
        uint32_t c = fumi_char_at(p, end, &n);
        enum fumi_char kind = fumi_char_kind(c);
        if (c != ' ' && kind == FUMI_CHAR_PLAIN) {
            memcpy(to, p, n);
            to += n;
        } else if (kind != FUMI_CHAR_HIDDEN && to > out && to[-1] != ' ') {
            *to++ = ' ';
        }
    }
    to -= to > out && to[-1] == ' ';
    return (struct fumi_str){out, (size_t)(to - out)};
}

struct fumi_str show_lines(struct fumi_arena *a, struct fumi_str s)
{
    char *out = fumi_alloc(a, s.n + 1), *to = out;
    size_t n;
    for (const char *p = s.p, *end = fumi_end(s); p < end; p += n) {
        uint32_t c = fumi_char_at(p, end, &n);
        enum fumi_char kind = fumi_char_kind(c);
        if (kind == FUMI_CHAR_BREAK) {
            n += c == '\r' && end - p > 1 && p[1] == '\n';
            *to++ = '\n';
        } else if (kind == FUMI_CHAR_PLAIN || c == '\t') {
            memcpy(to, p, n);
            to += n;
        }
    }
    return (struct fumi_str){out, (size_t)(to - out)};
}

/* In JSON, characters below U+0020 occur only as whitespace between values, or escaped. */
static bool must_escape(uint32_t c)
{
    return c >= 0x20 && fumi_char_kind(c) != FUMI_CHAR_PLAIN;
}

static void put_escaped(struct fumi_buf *out, struct fumi_str json)
{
    size_t n;
    for (const char *p = json.p, *end = p + json.n; p < end; p += n) {
        uint32_t c = fumi_char_at(p, end, &n);
        char text[16];
        if (!must_escape(c))
            fumi_buf_add(out, p, n);
        else if (c < 0x10000)
            fumi_buf_add(out, text, (size_t)snprintf(text, sizeof(text), "\\u%04x", (unsigned)c));
        else
            fumi_buf_add(out, text,
                         (size_t)snprintf(text, sizeof(text), "\\u%04x\\u%04x",
                                          (unsigned)(0xD7C0 + (c >> 10)),
                                          (unsigned)(0xDC00 + (c & 0x3FF))));
    }
}

struct fumi_str show_escaped(struct fumi_arena *a, struct fumi_str json)
{
    struct fumi_buf out = {0};
    size_t n;
    for (const char *p = json.p, *end = p + json.n; p < end; p += n)
        if (must_escape(fumi_char_at(p, end, &n))) {
            put_escaped(&out, json);
            return fumi_buf_keep(&out, a);
        }
    return json;
}

static void indent(struct fumi_buf *out, size_t depth)
{
    fumi_buf_put(out, '\n');
    for (size_t i = 0; i < depth; i++)
        fumi_buf_add(out, "  ", 2);
}

static void put_raw(struct fumi_buf *out, const struct fumi_val *v)
{
    put_escaped(out, fumi_raw(v));
}

/* The recursion is bounded: the parser limits the nesting. */
static void put_nested(struct fumi_buf *out, const struct fumi_val *v, size_t depth)
{
    bool object = fumi_is(v, FUMI_OBJECT);
    const struct fumi_val *first = fumi_first(v);
    if (!object && !fumi_is(v, FUMI_ARRAY)) {
        put_raw(out, v);
        return;
    }
    fumi_buf_put(out, object ? '{' : '[');
    for (const struct fumi_val *i = first; i; i = fumi_after(v, i)) {
        if (i != first)
            fumi_buf_put(out, ',');
        indent(out, depth + 1);
        if (object) {
            put_raw(out, i);
            fumi_buf_add(out, ": ", 2);
        }
        put_nested(out, object ? fumi_of(i) : i, depth + 1);
    }
    if (first)
        indent(out, depth);
    fumi_buf_put(out, object ? '}' : ']');
}

void show_json(struct fumi_buf *out, const struct fumi_val *v)
{
    put_nested(out, v, 0);
    fumi_buf_put(out, '\n');
}

const char *show_style(FILE *to, enum show_style style)
{
    static const char *const codes[] = {"\033[0m", "\033[1m", "\033[2m"};
    const char *never = getenv("NO_COLOR"), *terminal = getenv("TERM");
    bool dumb = !terminal || strcmp(terminal, "dumb") == 0;
    return terminal_columns(to) && !dumb && !(never && never[0]) ? codes[style] : "";
}

void show_word(struct fumi_buf *b, struct fumi_str word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+:@%,=";
    size_t n = 0;
    while (n < word.n && strchr(plain, word.p[n]))
        n++;
    if (n == word.n && n) {
        fumi_buf_add(b, word.p, word.n);
        return;
    }
    fumi_buf_put(b, '\'');
    for (n = 0; n < word.n; n++) {
        if (word.p[n] == '\'')
            fumi_buf_add(b, "'\\''", 4);
        else
            fumi_buf_put(b, word.p[n]);
    }
    fumi_buf_put(b, '\'');
}

void show_import_hint(void)
{
    fputs("search finds the imported notes by keyword; to find them by meaning, run fumi reembed "
          "or a server, which computes their vectors\n",
          stderr);
}
