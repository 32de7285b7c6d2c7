/* The configuration file of git: [section "subsection"], then lines of key = value. Values may be
 * quoted, contain escapes, and continue after a backslash at the end of the line. Names of sections
 * and keys are compared without case; subsections with case. */
#include "app/git_files.h"

#include "base/buf.h"

#include <strings.h>

struct config_reader {
    struct fumi_arena *a;
    const char *p, *end;
    struct fumi_str section, subsection; /* subsection null: none */
    struct git_config found;
};

static int peek(const struct config_reader *r)
{
    return r->p < r->end ? (unsigned char)*r->p : -1;
}

static bool is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_name(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

static bool is(struct fumi_str s, const char *name)
{
    return s.n == strlen(name) && strncasecmp(s.p, name, s.n) == 0;
}

static void skip_blanks(struct config_reader *r)
{
    while (is_blank(peek(r)))
        r->p++;
}

static void skip_line(struct config_reader *r)
{
    const char *at = memchr(r->p, '\n', (size_t)(r->end - r->p));
    r->p = at ? at + 1 : r->end;
}

static struct fumi_str read_name(struct config_reader *r)
{
    const char *begin = r->p;
    while (is_name(peek(r)))
        r->p++;
    return (struct fumi_str){begin, (size_t)(r->p - begin)};
}

/* Reads a subsection after its opening quote. A backslash makes the next character literal. */
static struct fumi_str read_quoted(struct config_reader *r)
{
    struct fumi_buf b = {0};
    int c;
    while ((c = peek(r)) >= 0 && c != '"' && c != '\n') {
        r->p += c == '\\' && r->p + 1 < r->end && r->p[1] != '\n';
        fumi_buf_put(&b, *r->p++);
    }
    r->p += c == '"';
    return fumi_buf_keep(&b, r->a);
}

/* Reads a header after its opening bracket: [name], [name "subsection"], or the older
 * [name.subsection]. */
static void read_header(struct config_reader *r)
{
    r->section = read_name(r);
    r->subsection = (struct fumi_str){0};
    skip_blanks(r);
    if (peek(r) == '.') {
        r->p++;
        r->subsection = read_name(r);
    } else if (peek(r) == '"') {
        r->p++;
        r->subsection = read_quoted(r);
    }
    if (peek(r) == ']')
        r->p++;
    else
        r->section = (struct fumi_str){0};
}

/* Reads the character after a backslash. Returns false if it is a line break, which is dropped. */
static bool read_escape(struct config_reader *r, char *out)
{
    static const char from[] = "ntb", to[] = "\n\t\b";
    int c = peek(r);
    if (c == '\r' && r->p + 1 < r->end && r->p[1] == '\n')
        c = *++r->p;
    if (c < 0)
        return false;
    r->p++;
    const char *at = strchr(from, c);
    *out = at && *at ? to[at - from] : (char)c;
    return c != '\n';
}

/* Reads a value up to the end of its line. Blanks at its ends count only within quotes. */
static struct fumi_str read_value(struct config_reader *r)
{
    struct fumi_buf b = {0};
    bool quoted = false;
    size_t keep = 0;
    for (int c; (c = peek(r)) >= 0 && c != '\n';) {
        char one = (char)c;
        if (!quoted && (c == '#' || c == ';'))
            break;
        r->p++;
        quoted ^= c == '"';
        if (c == '"' || (!b.n && !quoted && is_blank(c)) || (c == '\\' && !read_escape(r, &one)))
            continue;
        fumi_buf_put(&b, one);
        if (quoted || c == '\\' || !is_blank(c))
            keep = b.n;
    }
    struct fumi_str whole = fumi_buf_keep(&b, r->a);
    return (struct fumi_str){whole.p ? whole.p : "", keep};
}

static void take(struct config_reader *r, struct fumi_str key, struct fumi_str value)
{
    struct git_config *f = &r->found;
    if (is(r->section, "core") && !r->subsection.p && is(key, "worktree"))
        f->worktree = value;
    if (!is(r->section, "remote") || !r->subsection.p || !is(key, "url") || !value.n)
        return;
    if (!f->first.p)
        f->first = value;
    if (!f->origin.p && fumi_eq(r->subsection, FUMI_STR("origin")))
        f->origin = value;
}

/* Reads a key and its value. A key without a value is true, which no setting used here can be. */
static void read_setting(struct config_reader *r)
{
    struct fumi_str key = read_name(r);
    skip_blanks(r);
    if (key.n && peek(r) == '=') {
        r->p++;
        take(r, key, read_value(r));
    }
    skip_line(r);
}

struct git_config git_config_read(struct fumi_arena *a, struct fumi_str text)
{
    static const struct fumi_str mark = {"\xEF\xBB\xBF", 3};
    struct config_reader r = {.a = a, .p = text.p, .end = text.p + text.n};
    if (fumi_starts(text, mark))
        r.p += mark.n;
    while (r.p < r.end) {
        skip_blanks(&r);
        if (peek(&r) == '[') {
            r.p++;
            read_header(&r);
        } else {
            read_setting(&r);
        }
    }
    return r.found;
}
