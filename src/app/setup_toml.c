/* The table [mcp_servers.fumi] of a TOML file. The text is split into table headers and assignments
 * (TOML 1.0); only those of our table are interpreted. */
#include "app/setup.h"
#include "app/setup_json.h"

#include <ctype.h>

enum { KEYS = 12 };

/* A header or an assignment. */
struct toml_item {
    struct toml_item *next;
    bool header, many; /* many: [[...]] */
    size_t begin, end; /* of its text, without the rest of the line */
    size_t value;      /* the offset of the value of an assignment */
    struct fumi_str keys[KEYS];
    size_t n;
};

struct toml_scanner {
    struct fumi_arena *a;
    const struct setup_text *t;
    struct fumi_str s;
    size_t at;
    struct fumi_err *e;
};

static int fault(struct toml_scanner *k, const char *what)
{
    return setup_fail_at(k->e, k->t, k->at, "%s; nothing was changed: correct the file first",
                         what);
}

static char peek(const struct toml_scanner *k)
{
    return k->at < k->s.n ? k->s.p[k->at] : '\0';
}

static void blanks(struct toml_scanner *k)
{
    while (peek(k) == ' ' || peek(k) == '\t')
        k->at++;
}

/* Skips a comment. */
static void comment(struct toml_scanner *k)
{
    if (peek(k) != '#')
        return;
    while (k->at < k->s.n && peek(k) != '\n')
        k->at++;
}

static bool at_line_end(const struct toml_scanner *k)
{
    return k->at >= k->s.n || peek(k) == '\n' ||
           (peek(k) == '\r' && k->at + 1 < k->s.n && k->s.p[k->at + 1] == '\n');
}

/* Skips the rest of the line, which may contain only a comment. */
static int end_line(struct toml_scanner *k)
{
    blanks(k);
    comment(k);
    if (!at_line_end(k))
        return fault(k, "unexpected text at the end of the line");
    while (k->at < k->s.n && peek(k) != '\n')
        k->at++;
    k->at += k->at < k->s.n;
    return 0;
}

static bool starts(const struct toml_scanner *k, const char *mark)
{
    return fumi_starts((struct fumi_str){k->s.p + k->at, k->s.n - k->at}, fumi_str(mark));
}

/* A multi-line string. Up to two quotes before the closing three belong to the string. */
static int long_string(struct toml_scanner *k, char quote)
{
    const char end[] = {quote, quote, quote, '\0'};
    for (k->at += 3; !starts(k, end); k->at++) {
        if (k->at >= k->s.n)
            return fault(k, "a multi-line string has no end");
        k->at += quote == '"' && peek(k) == '\\';
    }
    k->at += 3;
    for (int i = 0; i < 2 && peek(k) == quote; i++)
        k->at++;
    return 0;
}

static int string(struct toml_scanner *k)
{
    char quote = peek(k);
    const char triple[] = {quote, quote, quote, '\0'};
    if (starts(k, triple))
        return long_string(k, quote);
    for (k->at++; peek(k) != quote; k->at++) {
        k->at += quote == '"' && peek(k) == '\\';
        if (at_line_end(k))
            return fault(k, "a string has no closing quote");
    }
    k->at++;
    return 0;
}

/* Booleans, numbers and dates. */
static int bare(struct toml_scanner *k)
{
    size_t begin = k->at;
    while (isalnum((unsigned char)peek(k)) || (peek(k) && strchr("+-_.:", peek(k))))
        k->at++;
    return k->at > begin ? 0 : fault(k, "a value is missing");
}

/* A value. Arrays and inline tables, which may span lines, are skipped by counting brackets. */
static int value(struct toml_scanner *k)
{
    size_t depth = 0;
    do {
        char c = peek(k);
        if (c == '[' || c == '{') {
            depth++;
            k->at++;
        } else if (depth && (c == ']' || c == '}')) {
            depth--;
            k->at++;
        } else if (c == '"' || c == '\'') {
            if (string(k))
                return -1;
        } else if (depth && c && strchr(" \t\r\n,=", c)) {
            k->at++;
        } else if (depth && c == '#') {
            comment(k);
        } else if (bare(k)) {
            return -1;
        }
    } while (depth);
    return 0;
}

static int key(struct toml_scanner *k, struct fumi_str *out)
{
    size_t begin = k->at;
    if (peek(k) == '"' || peek(k) == '\'') {
        if (string(k))
            return -1;
        *out = (struct fumi_str){k->s.p + begin + 1, k->at - begin - 2};
        return 0;
    }
    while (isalnum((unsigned char)peek(k)) || peek(k) == '_' || peek(k) == '-')
        k->at++;
    *out = (struct fumi_str){k->s.p + begin, k->at - begin};
    return out->n ? 0 : fault(k, "a name is missing");
}

/* A dotted key. Only the first KEYS names are kept; we need the first two. */
static int keys(struct toml_scanner *k, struct toml_item *i)
{
    struct fumi_str one;
    for (;;) {
        blanks(k);
        if (key(k, &one))
            return -1;
        if (i->n < KEYS)
            i->keys[i->n++] = one;
        blanks(k);
        if (peek(k) != '.')
            return 0;
        k->at++;
    }
}

static int header(struct toml_scanner *k, struct toml_item *i)
{
    i->header = true;
    i->many = starts(k, "[[");
    k->at += i->many ? 2 : 1;
    if (keys(k, i))
        return -1;
    if (!starts(k, i->many ? "]]" : "]"))
        return fault(k, "the name of a table has no closing bracket");
    k->at += i->many ? 2 : 1;
    return 0;
}

static int assignment(struct toml_scanner *k, struct toml_item *i)
{
    if (keys(k, i))
        return -1;
    if (peek(k) != '=')
        return fault(k, "a name without =");
    k->at++;
    blanks(k);
    i->value = k->at;
    return value(k);
}

static int scan(struct fumi_arena *a, const struct setup_text *t, struct toml_item **items,
                struct fumi_err *e)
{
    struct toml_scanner k = {a, t, t->text, 0, e};
    struct toml_item **to = items;
    *items = NULL;
    if (starts(&k, "\xEF\xBB\xBF"))
        k.at = 3;
    while (k.at < k.s.n) {
        blanks(&k);
        if (at_line_end(&k) || peek(&k) == '#') {
            if (end_line(&k))
                return -1;
            continue;
        }
        struct toml_item *i = fumi_alloc(a, sizeof(*i));
        i->begin = k.at;
        if (peek(&k) == '[' ? header(&k, i) : assignment(&k, i))
            return -1;
        i->end = k.at;
        if (end_line(&k))
            return -1;
        *to = i;
        to = &i->next;
    }
    return 0;
}

static bool is_named(const struct toml_item *i, size_t at, const char *name)
{
    return at < i->n && fumi_eq(i->keys[at], fumi_str(name));
}

/* Whether this is the header of our table or of one of its subtables. */
static bool is_table(const struct toml_item *i)
{
    return i->header && is_named(i, 0, "mcp_servers") && is_named(i, 1, "fumi");
}

/* Whether our table, or the table of all servers, is written in a form that we cannot edit. */
static bool is_odd(const struct toml_item *under, const struct toml_item *i)
{
    if (i->header)
        return i->many && is_named(i, 0, "mcp_servers") && i->n <= 2;
    if (!under)
        return is_named(i, 0, "mcp_servers") && (i->n == 1 || is_named(i, 1, "fumi"));
    return under->n == 1 && is_named(under, 0, "mcp_servers") && is_named(i, 0, "fumi");
}

static int read_items(struct fumi_arena *a, const struct setup_text *t, struct toml_item **items,
                      struct fumi_err *e)
{
    const struct toml_item *under = NULL, *table = NULL;
    if (scan(a, t, items, e))
        return -1;
    for (const struct toml_item *i = *items; i; i = i->next) {
        if (is_odd(under, i))
            return setup_fail_at(e, t, i->begin,
                                 "the server is not written as a table [mcp_servers.fumi]; nothing "
                                 "was changed: edit the file by hand");
        if (is_table(i) && i->n == 2 && table)
            return setup_fail_at(e, t, i->begin,
                                 "the table [mcp_servers.fumi] occurs twice; "
                                 "nothing was changed: remove one");
        if (is_table(i) && i->n == 2)
            table = i;
        if (i->header)
            under = i;
    }
    return 0;
}

static const struct toml_item *table_of(const struct toml_item *i)
{
    while (i && !(is_table(i) && i->n == 2))
        i = i->next;
    return i;
}

/* The assignment of that name in the table. Returns NULL if there is none. */
static const struct toml_item *member_of(const struct toml_item *table, struct fumi_str name)
{
    for (const struct toml_item *i = table ? table->next : NULL; i && !i->header; i = i->next) {
        if (i->n == 1 && fumi_eq(i->keys[0], name))
            return i;
    }
    return NULL;
}

static struct fumi_str value_of(const struct setup_text *t, const struct toml_item *i)
{
    return (struct fumi_str){t->text.p + i->value, i->end - i->value};
}

/* Most strings, arrays and numbers are also JSON. Returns NULL if the value is not. */
static const struct fumi_val *as_json(struct fumi_arena *a, struct fumi_str value)
{
    struct fumi_err ignored;
    struct setup_text t = {FUMI_STR(""), fumi_fmt(a, "{\"v\":%.*s}", FUMI_ARG(value))};
    struct setup_json j;
    return setup_json_read(a, &t, false, &j, &ignored) == 0 ? fumi_get(j.root, "v") : NULL;
}

static int find_table(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                      struct fumi_str *found, struct fumi_err *e)
{
    struct toml_item *items;
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    (void)s;
    *found = (struct fumi_str){0};
    if (read_items(a, t, &items, e))
        return -1;
    const struct toml_item *table = table_of(items);
    if (!table)
        return 0;
    fumi_put_open(&o, '{');
    for (const struct toml_item *i = table->next; i && !i->header; i = i->next) {
        const struct fumi_val *v = as_json(a, value_of(t, i));
        if (i->n != 1 || !v)
            continue;
        fumi_put_key_str(&o, i->keys[0]);
        fumi_put_val(&o, v);
    }
    fumi_put_close(&o, '}');
    *found = fumi_buf_keep(&b, a);
    return 0;
}

/* Strings and arrays of JSON are valid TOML. */
static struct fumi_str shown(struct fumi_arena *a, const struct fumi_val *v)
{
    if (!fumi_is(v, FUMI_ARRAY))
        return fumi_raw(v);
    struct fumi_buf b = {0};
    fumi_buf_put(&b, '[');
    for (const struct fumi_val *i = fumi_first(v); i; i = fumi_after(v, i)) {
        if (i != fumi_first(v))
            fumi_buf_add(&b, ", ", 2);
        fumi_buf_add(&b, fumi_raw(i).p, fumi_raw(i).n);
    }
    fumi_buf_put(&b, ']');
    return fumi_buf_keep(&b, a);
}

static struct fumi_str line_of(struct fumi_arena *a, const struct fumi_val *key)
{
    return fumi_fmt(a, "%.*s = %.*s", FUMI_ARG(fumi_text(a, key)),
                    FUMI_ARG(shown(a, fumi_of(key))));
}

static struct fumi_str append(struct fumi_arena *a, struct fumi_str text,
                              const struct fumi_val *entry)
{
    const char *eol = setup_eol(text);
    bool ends = !text.n || text.p[text.n - 1] == '\n';
    struct fumi_str out = fumi_fmt(a, "%s%s[mcp_servers.fumi]%s", ends ? "" : eol,
                                   text.n ? eol : "", eol);
    for (const struct fumi_val *k = fumi_first(entry); k; k = fumi_after(entry, k))
        out = fumi_fmt(a, "%.*s%.*s%s", FUMI_ARG(out), FUMI_ARG(line_of(a, k)), eol);
    return setup_splice(a, text, text.n, 0, out);
}

/* Sets one value in the existing table. */
static int set_value(struct fumi_arena *a, struct setup_text *t, const struct fumi_val *key,
                     struct fumi_err *e)
{
    struct toml_item *items;
    if (read_items(a, t, &items, e))
        return -1;
    const struct toml_item *table = table_of(items);
    const struct toml_item *old = member_of(table, fumi_text(a, key));
    if (!old) {
        struct fumi_str line = fumi_fmt(a, "%s%.*s", setup_eol(t->text), FUMI_ARG(line_of(a, key)));
        const char *end = memchr(t->text.p + table->end, '\n', t->text.n - table->end);
        size_t at = end ? (size_t)(end - t->text.p) : t->text.n;
        at -= at > table->end && t->text.p[at - 1] == '\r';
        t->text = setup_splice(a, t->text, at, 0, line);
        return 0;
    }
    const struct fumi_val *is = as_json(a, value_of(t, old));
    if (!is || !fumi_eq(fumi_compact(a, is).text, fumi_compact(a, fumi_of(key)).text))
        t->text = setup_splice(a, t->text, old->value, old->end - old->value,
                               shown(a, fumi_of(key)));
    return 0;
}

/* The start of the line after the one that contains `at`. */
static size_t next_line(struct fumi_str s, size_t at)
{
    const char *end = memchr(s.p + at, '\n', s.n - at);
    return end ? (size_t)(end - s.p) + 1 : s.n;
}

static size_t line_begin(struct fumi_str s, size_t at)
{
    while (at && s.p[at - 1] != '\n')
        at--;
    return at;
}

/* Removes a header with its assignments, and one blank line before it. */
static struct fumi_str cut(struct fumi_arena *a, struct fumi_str s, const struct toml_item *table)
{
    const struct toml_item *last = table;
    while (last->next && !last->next->header)
        last = last->next;
    size_t begin = line_begin(s, table->begin), end = next_line(s, last->end);
    size_t above = begin ? line_begin(s, begin - 1) : 0;
    if (begin && begin - above <= 2 && (s.p[above] == '\n' || s.p[above] == '\r'))
        begin = above;
    return setup_splice(a, s, begin, end - begin, FUMI_STR(""));
}

static int drop_table(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                      struct fumi_str *out, struct fumi_err *e)
{
    struct setup_text now = *t;
    struct toml_item *i;
    (void)s;
    for (;;) {
        if (read_items(a, &now, &i, e))
            return -1;
        while (i && !is_table(i))
            i = i->next;
        if (!i)
            break;
        now.text = cut(a, now.text, i);
    }
    *out = now.text;
    return 0;
}

static int put_table(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                     struct fumi_str entry, struct fumi_str *out, struct fumi_err *e)
{
    struct setup_text now = *t;
    struct toml_item *items;
    const struct fumi_val *new = fumi_parse(a, entry, e);
    if (!new || read_items(a, t, &items, e))
        return -1;
    const struct toml_item *table = table_of(items);
    const char *kind = fumi_get(new, "command") ? "command" : "url";
    if (!table || !member_of(table, fumi_str(kind))) {
        if (drop_table(a, s, t, &now.text, e))
            return -1;
        *out = append(a, now.text, new);
        return 0;
    }
    for (const struct fumi_val *k = fumi_first(new); k; k = fumi_after(new, k)) {
        if (set_value(a, &now, k, e))
            return -1;
    }
    *out = now.text;
    return 0;
}

const struct setup_format setup_toml = {find_table, put_table, drop_table};
