/* Notes as Markdown, and names as segments of URIs.
 *
 * The content of a note cannot be mistaken for another note or for text of Fumi: titles, tags,
 * sources and projects are JSON strings in one line, and every line of a note's text is indented.
 * So every line that is not indented is written by Fumi, except for what is in quotes. */
#include "agent/agent_parts.h"

#include "base/chars.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <assert.h>

enum {
    DAY = 10,     /* bytes of "2026-11-16" */
    ID_MOST = 64, /* bytes of an id to show; a UUID has 36 */
};

static const struct fumi_str more = FUMI_STR("…");

void render_add(struct fumi_buf *b, struct fumi_str s)
{
    fumi_buf_add(b, s.p, s.n);
}

static struct fumi_str day_of(struct fumi_arena *a, int64_t ms)
{
    char whole[FUMI_TIME_SIZE];
    fumi_time_write(ms, whole);
    return fumi_dup(a, (struct fumi_str){whole, DAY});
}

struct fumi_str render_cut(struct fumi_arena *a, struct fumi_str s, size_t most)
{
    if (s.n <= most)
        return s;
    s = fumi_utf8_cut(s, most > more.n ? most - more.n : 0);
    return fumi_fmt(a, "%.*s%.*s", FUMI_ARG(s), FUMI_ARG(more));
}

/* The line has no control characters, so the JSON string escapes only " and backslash, each by one
 * more byte, and replaces invalid UTF-8 by U+FFFD. */
struct fumi_str render_quoted(struct fumi_arena *a, struct fumi_str s, size_t most)
{
    struct fumi_str line = note_line(a, s), begin = {line.p, 0};
    struct fumi_buf b = {0};
    size_t used = 2, n;
    for (size_t i = 0; i < line.n; i += n) {
        uint32_t c = fumi_char_at(line.p + i, line.p + line.n, &n);
        used += (c == 0xFFFD ? 3 : n) + (c == '"' || c == '\\');
        if (used + more.n <= most)
            begin.n = i + n;
    }
    fumi_put_str(&(struct fumi_out){.buf = &b}, used <= most ? line : begin);
    if (used > most)
        render_add(&b, more);
    return fumi_buf_keep(&b, a);
}

/* An id or a group: unquoted if it has the form of a group key. */
static struct fumi_str name(struct fumi_arena *a, struct fumi_str s, size_t most)
{
    return s.n && s.n <= most && !note_group_fault(s) ? s : render_quoted(a, s, most);
}

struct fumi_str render_group(struct fumi_arena *a, struct fumi_str group)
{
    return name(a, group, GROUP_MAX);
}

/* The text in one line: a run of line breaks, control characters and blanks becomes one blank.
 * Stops at the first character that reaches `most` bytes. */
static struct fumi_str flat(struct fumi_arena *a, struct fumi_str s, size_t most)
{
    size_t limit = s.n < most ? s.n : most, to = 0, n;
    char *out = fumi_alloc(a, limit + 4);
    for (const char *p = s.p, *end = fumi_end(s); p < end && to < limit; p += n) {
        uint32_t c = fumi_char_at(p, end, &n);
        enum fumi_char kind = fumi_char_kind(c);
        bool blank = c == ' ' || kind == FUMI_CHAR_BREAK || kind == FUMI_CHAR_CONTROL;
        if (blank && to && out[to - 1] != ' ')
            out[to++] = ' ';
        if (blank || kind == FUMI_CHAR_HIDDEN)
            continue;
        memcpy(out + to, p, n);
        to += n;
    }
    to -= to && out[to - 1] == ' ';
    return (struct fumi_str){out, to};
}

/* Indents every line, whichever character ends it. Control characters except TAB, and invalid
 * UTF-8, become U+FFFD; hidden characters are left out. */
static void add_text(struct fumi_buf *b, struct fumi_str s)
{
    static const struct fumi_str indent = FUMI_STR("    "), odd = FUMI_STR("\uFFFD");
    size_t n;
    render_add(b, indent);
    for (const char *p = s.p, *end = fumi_end(s); p < end; p += n) {
        uint32_t c = fumi_char_at(p, end, &n);
        enum fumi_char kind = fumi_char_kind(c);
        if (kind == FUMI_CHAR_BREAK) {
            n += c == '\r' && end - p > 1 && p[1] == '\n';
            fumi_buf_put(b, '\n');
            render_add(b, indent);
        } else if (c == '\t' || (kind == FUMI_CHAR_PLAIN && c != 0xFFFD)) {
            fumi_buf_add(b, p, n);
        } else if (kind != FUMI_CHAR_HIDDEN) {
            render_add(b, odd);
        }
    }
    fumi_buf_put(b, '\n');
}

static void add_tags(struct fumi_buf *b, struct fumi_arena *a, struct fumi_strs tags)
{
    for (size_t i = 0; i < tags.n; i++) {
        render_add(b, i ? FUMI_STR(", ") : FUMI_STR(" · tags "));
        render_add(b, render_quoted(a, tags.items[i], SIZE_MAX));
    }
}

void render_note(struct fumi_buf *b, struct fumi_arena *a, const struct note *n, size_t most)
{
    struct fumi_str cut = n->text.n > most ? fumi_utf8_cut(n->text, most) : n->text;
    struct fumi_str id = name(a, n->id, ID_MOST);
    struct fumi_str title = n->title.n ? render_quoted(a, n->title, SIZE_MAX) : FUMI_STR("Note");
    render_add(b, fumi_fmt(a, "## %.*s\n", FUMI_ARG(title)));
    render_add(b,
               fumi_fmt(a, "id %.*s · group %.*s · %.*s", FUMI_ARG(id),
                        FUMI_ARG(render_group(a, n->group)), FUMI_ARG(day_of(a, n->created.ms))));
    add_tags(b, a, n->tags);
    if (n->source.n)
        render_add(b, fumi_fmt(a, " · from %.*s", FUMI_ARG(render_quoted(a, n->source, SIZE_MAX))));
    if (n->superseded_by.p)
        render_add(b, fumi_fmt(a, " · superseded by id %.*s",
                               FUMI_ARG(name(a, n->superseded_by, ID_MOST))));
    render_add(b, FUMI_STR("\n\n"));
    add_text(b, cut);
    if (cut.n < n->text.n)
        render_add(b, fumi_fmt(a, "\n(%zu bytes more: memory_get)\n", n->text.n - cut.n));
    fumi_buf_put(b, '\n');
}

/* Id, day and tags, which precede title and text of a list item. Day and tags are left out if they
 * would exceed `most` bytes. */
static void add_facts(struct fumi_buf *b, struct fumi_arena *a, const struct note *n, size_t most)
{
    render_add(b, fumi_fmt(a, "- id %.*s", FUMI_ARG(name(a, n->id, ID_MOST))));
    size_t id = b->n;
    render_add(b, fumi_fmt(a, " · %.*s", FUMI_ARG(day_of(a, n->created.ms))));
    add_tags(b, a, n->tags);
    if (b->n > most)
        b->n = id;
}

struct fumi_str render_line(struct fumi_arena *a, const struct note *n, size_t most)
{
    assert(most >= 120);
    struct fumi_buf b = {0};
    add_facts(&b, a, n, most / 2);
    if (n->title.n)
        render_add(&b,
                   fumi_fmt(a, " · %.*s", FUMI_ARG(render_quoted(a, n->title, (most - b.n) / 2))));
    size_t left = most - b.n - sizeof(": \n") + 1;
    struct fumi_str text = flat(a, n->text, left);
    render_add(&b, fumi_fmt(a, ": %.*s\n", FUMI_ARG(render_quoted(a, text, left))));
    return fumi_buf_keep(&b, a);
}

static bool is_plain(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

struct fumi_str uri_encode(struct fumi_arena *a, struct fumi_str s)
{
    static const char digits[] = "0123456789ABCDEF";
    char *out = fumi_alloc(a, s.n * 3 + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (is_plain(s.p[i])) {
            out[n++] = s.p[i];
            continue;
        }
        out[n++] = '%';
        out[n++] = digits[c >> 4];
        out[n++] = digits[c & 15];
    }
    return (struct fumi_str){out, n};
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool uri_decode(struct fumi_arena *a, struct fumi_str s, struct fumi_str *out)
{
    char *to = fumi_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        to[n++] = s.p[i];
        if (s.p[i] != '%')
            continue;
        int high = i + 2 < s.n ? digit(s.p[i + 1]) : -1, low = high < 0 ? -1 : digit(s.p[i + 2]);
        if (low < 0)
            return false;
        to[n - 1] = (char)(high << 4 | low);
        i += 2;
    }
    *out = (struct fumi_str){to, n};
    return fumi_utf8_valid(*out);
}
