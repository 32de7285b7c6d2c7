/* The front matter of a Markdown file: the part of YAML that Obsidian and static site generators
 * write there, which is "key: value", "key: [a, b]" and "key:" before lines "- value". Other lines
 * are reported and left out. */
#include "app/import_formats.h"
#include "base/chars.h"
#include "base/uuid.h"

#include <strings.h>

static bool is_end(struct fumi_str line)
{
    struct fumi_str t = note_trimmed(line);
    return fumi_eq(t, FUMI_STR("---")) || fumi_eq(t, FUMI_STR("..."));
}

static bool is_quoted(struct fumi_str s)
{
    return s.n >= 2 && strchr("\"'", s.p[0]) && s.p[s.n - 1] == s.p[0];
}

/* A text in double quotes has the escapes of JSON; in single quotes, '' is a quote. */
static struct fumi_str unquoted(struct fumi_arena *a, struct fumi_str s)
{
    struct fumi_err ignored;
    s = note_trimmed(s);
    if (!is_quoted(s))
        return s;
    const struct fumi_val *v = s.p[0] == '"' ? fumi_parse(a, s, &ignored) : NULL;
    struct fumi_str in = {s.p + 1, s.n - 2};
    if (v)
        return fumi_text(a, v);
    if (s.p[0] == '"' || !memmem(in.p, in.n, "''", 2))
        return in;
    char *to = fumi_alloc(a, in.n);
    size_t n = 0;
    for (size_t i = 0; i < in.n; i++) {
        to[n++] = in.p[i];
        i += in.p[i] == '\'' && i + 1 < in.n && in.p[i + 1] == '\'';
    }
    return (struct fumi_str){to, n};
}

/* The end of the quoted text that begins at `from`; `from` if it is not quoted or not closed. */
static size_t quoted_end(struct fumi_str s, size_t from)
{
    char quote = s.p[from];
    if (!strchr("\"'", quote))
        return from;
    for (size_t i = from + 1; i < s.n; i++) {
        if (s.p[i] == '\\' && quote == '"')
            i++;
        else if (s.p[i] == quote)
            return i;
    }
    return from;
}

void import_split(struct fumi_arena *a, struct fumi_str s, const char *separators,
                  struct fumi_strs *out)
{
    size_t from = 0;
    bool begins = true; /* only blanks since the last separator */
    for (size_t i = 0; i <= s.n; i++) {
        if (i < s.n && !strchr(separators, s.p[i])) {
            i = begins ? quoted_end(s, i) : i;
            begins &= s.p[i] == ' ';
            continue;
        }
        struct fumi_str part = note_trimmed((struct fumi_str){s.p + from, i - from});
        if (part.n)
            import_append(a, out, unquoted(a, part));
        from = i + 1;
        begins = true;
    }
}

static void set_value(struct fumi_arena *a, struct import_entry *at)
{
    struct fumi_str value = at->raw;
    at->list = value.n >= 2 && value.p[0] == '[' && value.p[value.n - 1] == ']';
    at->nested = value.n && value.p[0] == '{';
    if (at->list)
        import_split(a, (struct fumi_str){value.p + 1, value.n - 2}, ",", &at->values);
    else if (value.n && !at->nested && !at->block)
        import_append(a, &at->values, unquoted(a, value));
}

static bool is_indented(const struct import_lines *l)
{
    return l->line.n && strchr(" \t", l->line.p[0]);
}

/* A block scalar: ">" joins the indented lines that follow with blanks, "|" keeps their ends. */
static char block_of(struct fumi_str value)
{
    bool is = value.n && value.n <= 2 && strchr("|>", value.p[0]) &&
              (value.n == 1 || strchr("+-", value.p[1]));
    return is ? value.p[0] : 0;
}

static void add_to_block(struct fumi_arena *a, struct import_entry *at, struct fumi_str line)
{
    if (!at->values.n)
        import_append(a, &at->values, FUMI_STR(""));
    struct fumi_str *text = &at->values.items[0];
    const char *between = !text->n ? "" : at->block == '|' ? "\n" : " ";
    if (line.n || at->block == '|')
        *text = fumi_fmt(a, "%.*s%s%.*s", FUMI_ARG(*text), between, FUMI_ARG(line));
}

/* A member of the object that the last key without a value begins. */
static bool add_nested(struct fumi_arena *a, struct import_entries *x, struct import_entry entry)
{
    size_t i = x->n;
    while (i && (x->items[i - 1].inner || !x->items[i - 1].key.p))
        i--;
    const struct import_entry *outer = i ? &x->items[i - 1] : NULL;
    if (!outer || outer->raw.n || outer->list)
        return false;
    if (!fumi_eq(outer->key, FUMI_STR("metadata")))
        entry.key = fumi_fmt(a, "%.*s.%.*s", FUMI_ARG(outer->key), FUMI_ARG(entry.key));
    entry.inner = true;
    set_value(a, &entry);
    x->items[x->n++] = entry;
    return true;
}

/* Returns whether the line was understood. */
static bool add_line(struct fumi_arena *a, struct import_entries *x)
{
    const struct import_lines *l = &x->body;
    struct fumi_str line = note_trimmed(l->line);
    struct import_entry *last = x->n ? &x->items[x->n - 1] : NULL;
    const char *colon = memchr(line.p, ':', line.n);
    if (last && last->block && (is_indented(l) || !line.n)) {
        add_to_block(a, last, line);
        return true;
    }
    if (!line.n || line.p[0] == '#')
        return true;
    if (last && last->key.p && (last->list || !last->raw.n) && fumi_starts(line, FUMI_STR("- "))) {
        last->list = true;
        import_append(a, &last->values, unquoted(a, (struct fumi_str){line.p + 2, line.n - 2}));
        return true;
    }
    if (!colon || line.p[0] == '-')
        return false;
    size_t n = (size_t)(colon - line.p);
    struct fumi_str value = note_trimmed((struct fumi_str){colon + 1, line.n - n - 1});
    struct import_entry at = {.key = note_trimmed((struct fumi_str){line.p, n}),
                              .raw = value,
                              .block = block_of(value),
                              .line = l->number};
    if (value.n && strchr("|>&*!", value.p[0]) && !at.block)
        return false;
    if (is_indented(l))
        return add_nested(a, x, at);
    set_value(a, &at);
    x->items[x->n++] = at;
    return true;
}

/* The number of lines before the one that ends the front matter; 0: there is none. */
static size_t lines_of(struct import_lines l)
{
    if (!import_next_line(&l) || !fumi_eq(note_trimmed(l.line), FUMI_STR("---")))
        return 0;
    while (import_next_line(&l))
        if (is_end(l.line))
            return l.number - 1;
    return 0;
}

void import_entries_read(struct fumi_arena *a, struct fumi_str text, struct import_entries *out)
{
    struct fumi_str bom = FUMI_STR("\xEF\xBB\xBF");
    size_t skip = fumi_starts(text, bom) ? bom.n : 0;
    *out = (struct import_entries){.body = {.p = text.p + skip, .end = fumi_end(text)}};
    size_t n = lines_of(out->body);
    if (!n)
        return;
    out->items = fumi_alloc(a, (n + 1) * sizeof(*out->items));
    import_next_line(&out->body);
    while (import_next_line(&out->body) && out->body.number <= n)
        if (!add_line(a, out))
            out->items[out->n++] = (struct import_entry){.line = out->body.number};
    out->body.fence = 0;
}

void import_put_entry(struct fumi_out *o, const struct import_entry *at)
{
    fumi_put_key_str(o, at->key);
    if (at->list)
        fumi_put_open(o, '[');
    for (size_t i = 0; i < at->values.n; i++)
        fumi_put_str(o, at->values.items[i]);
    if (at->list)
        fumi_put_close(o, ']');
}

struct front {
    struct import_file *f;
    struct note *n;
};

bool import_is_key(const struct import_entry *at, const char *const *names)
{
    for (; *names; names++)
        if (at->key.n == strlen(*names) && strncasecmp(at->key.p, *names, at->key.n) == 0)
            return true;
    return false;
}

static void put_tags(struct front *x, const struct import_entry *at)
{
    struct fumi_strs tags = at->values;
    if (!at->list) {
        tags = (struct fumi_strs){0};
        import_split(x->f->a, at->values.items[0], ", ", &tags);
    }
    for (size_t i = 0; i < tags.n; i++)
        import_tag(x->f->a, &x->n->tags, tags.items[i]);
}

/* Sets the member of the note that the entry names. Returns false if the entry names none: it is
 * then part of the metadata. */
static bool set_member(struct front *x, const struct import_entry *at)
{
    static const char *const titles[] = {"title", NULL}, *const ids[] = {"id", NULL},
                             *const tags[] = {"tags", "tag", "keywords", NULL},
                             *const times[] = {"created", "createdAt", "created_at", "date", NULL};
    struct fumi_str first = at->values.items[0];
    struct note *n = x->n;
    if (at->inner)
        return false;
    if (import_is_key(at, tags))
        return put_tags(x, at), true;
    if (at->list)
        return false;
    if (import_is_key(at, titles) && !n->title.p)
        return n->title = first, true;
    if (import_is_key(at, ids) && !n->id.p && fumi_is_uuid(first))
        return n->id = first, true;
    return import_is_key(at, times) && !n->created.set && import_time(x->f->a, first, &n->created);
}

static void set_members(struct front *x, const struct import_entries *all)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].values.n && !set_member(x, &all->items[i]))
            import_put_entry(&o, &all->items[i]);
    fumi_put_close(&o, '}');
    if (b.n > 2)
        x->n->metadata.text = fumi_buf_keep(&b, x->f->a);
    fumi_buf_done(&b);
}

int import_front_read(struct import_file *f, struct import_front *out, struct fumi_err *e)
{
    struct import_entries all;
    import_entries_read(f->a, f->text, &all);
    *out = (struct import_front){.body = all.body};
    for (size_t i = 0; i < all.n; i++)
        if ((!all.items[i].key.p || all.items[i].nested) &&
            import_bad(f, all.items[i].line,
                       "this line of the front matter was left out: only \"key: value\" and "
                       "lists are read",
                       e))
            return -1;
    set_members(&(struct front){f, &out->note}, &all);
    return 0;
}
