/* Notes as Markdown, and names as parts of URIs. */
#include "agent/agent_parts.h"

#include "base/clock.h"
#include "base/utf8.h"

enum { DAY = 10 }; /* bytes of "2026-11-16" */

void render_add(struct fumi_buf *b, struct fumi_str s)
{
    fumi_buf_add(b, s.p, s.n);
}

struct fumi_str render_day(struct fumi_arena *a, int64_t ms)
{
    char whole[FUMI_TIME_SIZE];
    fumi_time_write(ms, whole);
    return fumi_dup(a, (struct fumi_str){whole, DAY});
}

struct fumi_str render_cut(struct fumi_arena *a, struct fumi_str s, size_t most)
{
    static const struct fumi_str more = {"…", sizeof("…") - 1};
    if (s.n <= most)
        return s;
    s = fumi_utf8_cut(s, most > more.n ? most - more.n : 0);
    return fumi_fmt(a, "%.*s%s", FUMI_ARG(s), more.p);
}

/* Blanks and line breaks become one blank. Ends behind `most` bytes, wherever that is. */
static struct fumi_str flat(struct fumi_arena *a, struct fumi_str s, size_t most)
{
    size_t room = s.n < most ? s.n : most, n = 0;
    char *out = fumi_alloc(a, room + 1);
    for (size_t i = 0; i < s.n && n < room; i++) {
        bool blank = s.p[i] == ' ' || s.p[i] == '\n' || s.p[i] == '\r' || s.p[i] == '\t';
        if (!blank || (n && out[n - 1] != ' '))
            out[n++] = blank ? ' ' : s.p[i];
    }
    return (struct fumi_str){out, n};
}

static void add_tags(struct fumi_buf *b, struct fumi_strs tags)
{
    for (size_t i = 0; i < tags.n; i++) {
        render_add(b, i ? FUMI_STR(", ") : FUMI_STR(" · tags "));
        render_add(b, tags.items[i]);
    }
}

void render_note(struct fumi_buf *b, struct fumi_arena *a, const struct note *n, size_t most)
{
    struct fumi_str cut = n->text.n > most ? fumi_utf8_cut(n->text, most) : n->text;
    render_add(
        b, fumi_fmt(a, "## %.*s\n", FUMI_ARG(n->title.n ? flat(a, n->title, SIZE_MAX) : n->id)));
    render_add(b, fumi_fmt(a, "id %.*s · group %.*s · %.*s", FUMI_ARG(n->id), FUMI_ARG(n->group),
                           FUMI_ARG(render_day(a, n->created))));
    add_tags(b, n->tags);
    if (n->source.n)
        render_add(b, fumi_fmt(a, " · from %.*s", FUMI_ARG(n->source)));
    render_add(b, FUMI_STR("\n\n"));
    render_add(b, cut);
    if (cut.n < n->text.n)
        render_add(b, fumi_fmt(a, "… (%zu bytes more: memory_get)", n->text.n - cut.n));
    render_add(b, FUMI_STR("\n\n"));
}

/* What stands behind the text of a line; without the tags where these would take most of it. */
static struct fumi_str about(struct fumi_arena *a, const struct note *n, size_t most)
{
    struct fumi_buf b = {0};
    render_add(&b, fumi_fmt(a, " (%.*s", FUMI_ARG(render_day(a, n->created))));
    add_tags(&b, n->tags);
    render_add(&b, fumi_fmt(a, " · id %.*s)", FUMI_ARG(n->id)));
    struct fumi_str all = fumi_buf_keep(&b, a);
    return all.n <= most ? all : fumi_fmt(a, " (id %.*s)", FUMI_ARG(n->id));
}

struct fumi_str render_line(struct fumi_arena *a, const struct note *n, size_t most)
{
    struct fumi_str behind = about(a, n, most / 2), title = flat(a, n->title, most), line;
    line = fumi_fmt(a, "- %s%.*s%s%.*s", title.n ? "**" : "", FUMI_ARG(title), title.n ? "** " : "",
                    FUMI_ARG(flat(a, n->text, most)));
    line = render_cut(a, line, most > behind.n + 1 ? most - behind.n - 1 : 0);
    line = fumi_fmt(a, "%.*s%.*s", FUMI_ARG(line), FUMI_ARG(behind));
    return fumi_fmt(a, "%.*s\n", FUMI_ARG(render_cut(a, line, most - 1)));
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
