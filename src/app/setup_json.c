/* Comments are replaced by blanks in a copy, which the parser then reads, so every value has the
 * same offset as in the text. Edits replace bytes of the text itself. */
#include "app/setup_json.h"

#include <stdlib.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The end of the string that starts at p. */
static size_t string_end(struct fumi_str s, size_t p)
{
    for (p++; p < s.n && s.p[p] != '"' && s.p[p] != '\n'; p++)
        p += s.p[p] == '\\' && p + 1 < s.n;
    return p < s.n ? p + 1 : s.n;
}

/* The end of the comment that starts at p; p itself if there is none. */
static size_t comment_end(struct fumi_str s, size_t p)
{
    if (p + 1 >= s.n || s.p[p] != '/')
        return p;
    if (s.p[p + 1] == '/') {
        while (p < s.n && s.p[p] != '\n')
            p++;
        return p;
    }
    if (s.p[p + 1] != '*')
        return p;
    const char *end = memmem(s.p + p + 2, s.n - p - 2, "*/", 2);
    return end ? (size_t)(end - s.p) + 2 : p;
}

/* The offset after blanks and comments. */
static size_t skip(struct fumi_str s, size_t p)
{
    for (;;) {
        size_t to = p;
        while (to < s.n && is_blank(s.p[to]))
            to++;
        to = comment_end(s, to);
        if (to == p)
            return p;
        p = to;
    }
}

static void blank_out(char *plain, size_t from, size_t to)
{
    for (; from < to; from++) {
        if (plain[from] != '\n' && plain[from] != '\r')
            plain[from] = ' ';
    }
}

/* Whether there is a trailing comma at p: after a value and before a closing bracket. */
static bool is_trailing_comma(struct fumi_str s, size_t p, char before)
{
    size_t next = s.p[p] == ',' && !strchr("{[,:", before) ? skip(s, p + 1) : s.n;
    return next < s.n && (s.p[next] == '}' || s.p[next] == ']');
}

static void blank_comments(struct fumi_str s, char *plain)
{
    char before = ','; /* the last character that was neither blank nor comment */
    for (size_t p = 0; p < s.n;) {
        size_t end = comment_end(s, p);
        if (end > p) {
            blank_out(plain, p, end);
            p = end;
            continue;
        }
        if (is_trailing_comma(s, p, before))
            plain[p] = ' ';
        if (!is_blank(s.p[p]))
            before = s.p[p];
        p = s.p[p] == '"' ? string_end(s, p) : p + 1;
    }
}

static char *blanked(struct fumi_arena *a, struct fumi_str s, bool strict)
{
    char *plain = fumi_alloc(a, s.n + 1);
    if (s.n)
        memcpy(plain, s.p, s.n);
    if (s.n >= 3 && memcmp(s.p, "\xEF\xBB\xBF", 3) == 0)
        blank_out(plain, 0, 3);
    if (!strict)
        blank_comments(s, plain);
    return plain;
}

/* Replaces the byte offset in an error of the parser ("at byte 17: why") by the line. */
static int fail_parse(const struct setup_text *t, struct fumi_err *e)
{
    char copy[sizeof(e->text)], *why = copy;
    size_t at = 0;
    memcpy(copy, e->text, sizeof(copy));
    if (fumi_starts(fumi_str(copy), FUMI_STR("at byte ")))
        at = strtoul(copy + 8, &why, 10);
    return setup_fail_at(e, t, at, "%.60s; nothing was changed: correct the file first",
                         *why == ':' ? why + 2 : why);
}

int setup_json_read(struct fumi_arena *a, const struct setup_text *t, bool strict,
                    struct setup_json *out, struct fumi_err *e)
{
    struct fumi_str all = {blanked(a, t->text, strict), t->text.n};
    *out = (struct setup_json){t, all.p, NULL};
    while (all.n && is_blank(all.p[all.n - 1]))
        all.n--;
    if (!all.n)
        return 0;
    out->root = fumi_parse_deep(a, all, FUMI_DEPTH_MAX, e);
    if (!out->root)
        return fail_parse(t, e);
    if (!fumi_is(out->root, FUMI_OBJECT))
        return setup_fail_at(e, t, 0,
                             "the file must contain an object; nothing was changed: correct the "
                             "file first");
    return 0;
}

size_t setup_json_begin(const struct setup_json *j, const struct fumi_val *v)
{
    return (size_t)(fumi_raw(v).p - j->plain);
}

static size_t end_of(const struct setup_json *j, const struct fumi_val *v)
{
    return setup_json_begin(j, v) + fumi_raw(v).n;
}

const struct fumi_val *setup_json_key(const struct fumi_val *object, const char *name)
{
    const struct fumi_val *found = NULL;
    if (!fumi_is(object, FUMI_OBJECT))
        return NULL;
    for (const struct fumi_val *key = fumi_first(object); key; key = fumi_after(object, key)) {
        if (fumi_text_is(key, fumi_str(name)))
            found = key;
    }
    return found;
}

const struct fumi_val *setup_json_walk(const struct setup_json *j, const char *const *path, int *n,
                                       struct fumi_err *e)
{
    const struct fumi_val *at = j->root;
    for (*n = 0; path[*n]; (*n)++) {
        if (at && !fumi_is(at, FUMI_OBJECT)) {
            setup_fail_at(e, j->t, setup_json_begin(j, at),
                          "\"%s\" must be an object; nothing was changed: correct the file first",
                          path[*n - 1]);
            *n = -1;
            return NULL;
        }
        const struct fumi_val *key = setup_json_key(at, path[*n]);
        if (!key)
            return at;
        at = fumi_of(key);
    }
    return at;
}

/* How a text is laid out. */
struct json_layout {
    const char *eol;
    struct fumi_str unit; /* of indentation, per level */
    bool line;            /* the whole text is one line */
};

/* The indentation of the line that contains the byte `at`. */
static struct fumi_str indent_of(struct fumi_str s, size_t at)
{
    size_t begin = at, end;
    while (begin && s.p[begin - 1] != '\n')
        begin--;
    for (end = begin; end < at && (s.p[end] == ' ' || s.p[end] == '\t');)
        end++;
    return (struct fumi_str){s.p + begin, end - begin};
}

static bool has_line(struct fumi_str s, size_t from, size_t to)
{
    return from < to && memchr(s.p + from, '\n', to - from);
}

static struct json_layout layout_of(const struct setup_json *j)
{
    struct fumi_str s = j->t->text;
    struct json_layout k = {setup_eol(s), FUMI_STR("  "), false};
    const struct fumi_val *first = fumi_first(j->root);
    if (!first)
        return k;
    size_t open = setup_json_begin(j, j->root), at = setup_json_begin(j, first);
    k.line = !has_line(s, open, end_of(j, j->root));
    struct fumi_str outer = indent_of(s, open), inner = indent_of(s, at);
    if (has_line(s, open, at) && inner.n > outer.n)
        k.unit = (struct fumi_str){inner.p + outer.n, inner.n - outer.n};
    return k;
}

static void add_str(struct fumi_buf *b, struct fumi_str s)
{
    fumi_buf_add(b, s.p, s.n);
}

static void new_line(struct fumi_buf *b, const struct json_layout *k, struct fumi_str indent,
                     size_t level)
{
    add_str(b, fumi_str(k->eol));
    add_str(b, indent);
    for (size_t i = 0; i < level; i++)
        add_str(b, k->unit);
}

static bool is_flat(const struct fumi_val *v)
{
    for (const struct fumi_val *i = fumi_first(v); i; i = fumi_after(v, i)) {
        if (fumi_is(i, FUMI_ARRAY) || fumi_is(i, FUMI_OBJECT))
            return false;
    }
    return fumi_is(v, FUMI_ARRAY);
}

static void put_value(struct fumi_buf *b, const struct json_layout *k, struct fumi_str indent,
                      size_t level, const struct fumi_val *v)
{
    bool object = fumi_is(v, FUMI_OBJECT), flat = is_flat(v);
    if (!fumi_first(v)) {
        add_str(b, fumi_raw(v));
        return;
    }
    fumi_buf_put(b, object ? '{' : '[');
    for (const struct fumi_val *i = fumi_first(v); i; i = fumi_after(v, i)) {
        if (i != fumi_first(v))
            add_str(b, flat ? FUMI_STR(", ") : FUMI_STR(","));
        if (!flat)
            new_line(b, k, indent, level + 1);
        if (object) {
            add_str(b, fumi_raw(i));
            add_str(b, FUMI_STR(": "));
        }
        put_value(b, k, indent, level + 1, object ? fumi_of(i) : i);
    }
    if (!flat)
        new_line(b, k, indent, level);
    fumi_buf_put(b, object ? '}' : ']');
}

static void put_text(struct fumi_buf *b, const struct json_layout *k, struct fumi_str indent,
                     struct fumi_str value)
{
    struct fumi_arena a = {0};
    struct fumi_err ignored;
    const struct fumi_val *v = k->line ? NULL : fumi_parse(&a, value, &ignored);
    if (v)
        put_value(b, k, indent, 0, v);
    else
        add_str(b, value);
    fumi_arena_done(&a);
}

static void put_item(struct fumi_buf *b, const struct json_layout *k, struct fumi_str indent,
                     const char *name, struct fumi_str value)
{
    if (name) {
        struct fumi_out o = {.buf = b};
        fumi_put_str(&o, fumi_str(name));
        add_str(b, k->line ? FUMI_STR(":") : FUMI_STR(": "));
    }
    put_text(b, k, indent, value);
}

/* The last value of a container. Returns NULL if it is empty. */
static const struct fumi_val *last_of(const struct fumi_val *c)
{
    const struct fumi_val *last = NULL;
    for (const struct fumi_val *i = fumi_first(c); i; i = fumi_after(c, i))
        last = fumi_is(c, FUMI_OBJECT) ? fumi_of(i) : i;
    return last;
}

/* The offset after the last value or comment before the closing bracket. */
static size_t tail_of(const struct setup_json *j, const struct fumi_val *c)
{
    size_t at = end_of(j, c) - 1;
    while (is_blank(j->t->text.p[at - 1]))
        at--;
    return at;
}

/* Adds to a container that contains nothing or only comments. */
static struct fumi_str add_first(struct fumi_arena *a, const struct setup_json *j,
                                 const struct fumi_val *c, const char *name, struct fumi_str value)
{
    struct json_layout k = layout_of(j);
    struct fumi_str s = j->t->text, outer = indent_of(s, setup_json_begin(j, c));
    struct fumi_str inner = fumi_fmt(a, "%.*s%.*s", FUMI_ARG(outer), FUMI_ARG(k.unit));
    struct fumi_buf b = {0};
    size_t at = tail_of(j, c), end = end_of(j, c) - 1;
    if (!k.line)
        new_line(&b, &k, inner, 0);
    put_item(&b, &k, inner, name, value);
    if (!k.line)
        new_line(&b, &k, outer, 0);
    return setup_splice(a, s, at, end - at, fumi_buf_keep(&b, a));
}

/* Adds to a container whose items are in one line. */
static struct fumi_str add_inline(struct fumi_arena *a, const struct setup_json *j,
                                  const struct fumi_val *c, const char *name, struct fumi_str value)
{
    struct json_layout k = {"\n", FUMI_STR("  "), true};
    struct fumi_str s = j->t->text;
    size_t end = end_of(j, last_of(c)), comma = skip(s, end);
    bool trails = s.p[comma] == ',', loose = is_blank(s.p[setup_json_begin(j, c) + 1]);
    struct fumi_buf b = {0};
    if (!trails)
        fumi_buf_put(&b, ',');
    if (loose)
        fumi_buf_put(&b, ' ');
    put_item(&b, &k, FUMI_STR(""), name, value);
    if (trails)
        fumi_buf_put(&b, ',');
    return setup_splice(a, s, trails ? comma + 1 : end, 0, fumi_buf_keep(&b, a));
}

static struct fumi_str add_line(struct fumi_arena *a, const struct setup_json *j,
                                const struct fumi_val *c, const char *name, struct fumi_str value)
{
    struct json_layout k = layout_of(j);
    struct fumi_str s = j->t->text, indent = indent_of(s, setup_json_begin(j, fumi_first(c)));
    size_t end = end_of(j, last_of(c)), tail = tail_of(j, c);
    bool trails = s.p[skip(s, end)] == ',';
    struct fumi_buf b = {0};
    new_line(&b, &k, indent, 0);
    put_item(&b, &k, indent, name, value);
    if (trails)
        fumi_buf_put(&b, ',');
    struct fumi_str out = setup_splice(a, s, tail, 0, fumi_buf_keep(&b, a));
    return trails ? out : setup_splice(a, out, end, 0, FUMI_STR(","));
}

struct fumi_str setup_json_add(struct fumi_arena *a, const struct setup_json *j,
                               const struct fumi_val *container, const char *name,
                               struct fumi_str value)
{
    const struct fumi_val *first = fumi_first(container);
    if (!first)
        return add_first(a, j, container, name, value);
    if (has_line(j->t->text, setup_json_begin(j, container), setup_json_begin(j, first)))
        return add_line(a, j, container, name, value);
    return add_inline(a, j, container, name, value);
}

struct fumi_str setup_json_replace(struct fumi_arena *a, const struct setup_json *j,
                                   const struct fumi_val *old, struct fumi_str value)
{
    struct json_layout k = layout_of(j);
    struct fumi_str s = j->t->text;
    size_t at = setup_json_begin(j, old), end = end_of(j, old);
    struct fumi_buf b = {0};
    put_text(&b, &k, indent_of(s, at), value);
    return setup_splice(a, s, at, end - at, fumi_buf_keep(&b, a));
}

/* The start of the blanks before `at`. The line break that ends a comment is not among them, unless
 * another line break follows `end`. */
static size_t blanks_before(const struct setup_json *j, size_t at, size_t end)
{
    struct fumi_str s = j->t->text;
    size_t begin = at;
    while (begin && is_blank(s.p[begin - 1]))
        begin--;
    while (end < s.n && (s.p[end] == ' ' || s.p[end] == '\t'))
        end++;
    bool breaks = end >= s.n || s.p[end] == '\n' || s.p[end] == '\r';
    bool comment = begin && s.p[begin - 1] != j->plain[begin - 1];
    if (breaks || !comment || !has_line(s, begin, at))
        return begin;
    while (s.p[begin] != '\n')
        begin++;
    return begin + 1;
}

/* Removes the blanks in an empty container. */
static struct fumi_str close_empty(struct fumi_arena *a, struct fumi_str s, size_t open)
{
    size_t end = open + 1;
    while (end < s.n && is_blank(s.p[end]))
        end++;
    bool empty = end < s.n && (s.p[end] == '}' || s.p[end] == ']');
    return empty ? setup_splice(a, s, open + 1, end - open - 1, FUMI_STR("")) : s;
}

struct fumi_str setup_json_remove(struct fumi_arena *a, const struct setup_json *j,
                                  const struct fumi_val *container, const struct fumi_val *item)
{
    struct fumi_str s = j->t->text;
    const struct fumi_val *value = fumi_is(container, FUMI_OBJECT) ? fumi_of(item) : item;
    const struct fumi_val *before = NULL;
    for (const struct fumi_val *i = fumi_first(container); i && i != item;
         i = fumi_after(container, i))
        before = fumi_is(container, FUMI_OBJECT) ? fumi_of(i) : i;
    size_t at = setup_json_begin(j, item), end = end_of(j, value), comma = skip(s, end);
    if (s.p[comma] == ',')
        end = comma + 1;
    bool last = s.p[comma] != ',';
    size_t begin = blanks_before(j, at, end);
    struct fumi_str out = setup_splice(a, s, begin, end - begin, FUMI_STR(""));
    if (last && before)
        out = setup_splice(a, out, skip(s, end_of(j, before)), 1, FUMI_STR(""));
    return before ? out : close_empty(a, out, setup_json_begin(j, container));
}
