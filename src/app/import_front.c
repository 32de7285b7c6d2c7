/* The front matter of a Markdown file: the part of YAML that Obsidian and static site generators
 * write there, which is "key: value", "key: [a, b]" and "key:" before lines "- value". Other lines
 * are reported and left out. */
#include "app/import_formats.h"
#include "base/chars.h"
#include "base/uuid.h"

#include <strings.h>

struct entry {
    struct fumi_str key;
    struct fumi_strs values;
    bool list;
    size_t line;
};

struct front {
    struct import_file *f;
    struct note *n;
    struct entry *entries;
    size_t count;
};

static bool is_end(struct fumi_str line)
{
    struct fumi_str t = note_trimmed(line);
    return fumi_eq(t, FUMI_STR("---")) || fumi_eq(t, FUMI_STR("..."));
}

static struct fumi_str unquoted(struct fumi_str s)
{
    s = note_trimmed(s);
    bool quoted = s.n >= 2 && strchr("\"'", s.p[0]) && s.p[s.n - 1] == s.p[0];
    return quoted ? (struct fumi_str){s.p + 1, s.n - 2} : s;
}

/* Appends the parts between the separators. */
static void split(struct fumi_arena *a, struct fumi_str s, const char *separators,
                  struct fumi_strs *out)
{
    size_t from = 0;
    for (size_t i = 0; i <= s.n; i++) {
        if (i < s.n && !strchr(separators, s.p[i]))
            continue;
        struct fumi_str part = unquoted((struct fumi_str){s.p + from, i - from});
        if (part.n)
            import_append(a, out, part);
        from = i + 1;
    }
}

static void set_value(struct fumi_arena *a, struct entry *at, struct fumi_str value)
{
    bool list = value.n >= 2 && value.p[0] == '[' && value.p[value.n - 1] == ']';
    at->list = list;
    if (list)
        split(a, (struct fumi_str){value.p + 1, value.n - 2}, ",", &at->values);
    else if (value.n)
        import_append(a, &at->values, unquoted(value));
}

/* Returns whether the line was understood. */
static bool add_line(struct front *x, const struct import_lines *l)
{
    struct fumi_str line = note_trimmed(l->line);
    struct entry *last = x->count ? &x->entries[x->count - 1] : NULL;
    const char *colon = memchr(line.p, ':', line.n);
    if (!line.n || line.p[0] == '#')
        return true;
    if (last && (last->list || !last->values.n) && fumi_starts(line, FUMI_STR("- "))) {
        last->list = true;
        import_append(x->f->a, &last->values, unquoted((struct fumi_str){line.p + 2, line.n - 2}));
        return true;
    }
    if (!colon || strchr(" \t-", l->line.p[0]))
        return false;
    size_t n = (size_t)(colon - line.p);
    struct fumi_str value = note_trimmed((struct fumi_str){colon + 1, line.n - n - 1});
    if (value.n && strchr("|>{&*!", value.p[0]))
        return false;
    struct entry *at = &x->entries[x->count++];
    *at = (struct entry){.key = note_trimmed((struct fumi_str){line.p, n}), .line = l->number};
    set_value(x->f->a, at, value);
    return true;
}

static bool is_key(const struct entry *at, const char *const *names)
{
    for (; *names; names++)
        if (at->key.n == strlen(*names) && strncasecmp(at->key.p, *names, at->key.n) == 0)
            return true;
    return false;
}

static void put_tags(struct front *x, const struct entry *at)
{
    struct fumi_strs tags = at->values;
    if (!at->list) {
        tags = (struct fumi_strs){0};
        split(x->f->a, at->values.items[0], ", ", &tags);
    }
    for (size_t i = 0; i < tags.n; i++)
        import_tag(x->f->a, &x->n->tags, tags.items[i]);
}

/* Sets the member of the note that the entry names. Returns false if the entry names none: it is
 * then part of the metadata. */
static bool set_member(struct front *x, const struct entry *at)
{
    static const char *const titles[] = {"title", NULL}, *const ids[] = {"id", NULL},
                             *const tags[] = {"tags", "tag", "keywords", NULL},
                             *const times[] = {"created", "createdAt", "created_at", "date", NULL};
    struct fumi_str first = at->values.items[0];
    struct note *n = x->n;
    if (is_key(at, tags))
        return put_tags(x, at), true;
    if (at->list)
        return false;
    if (is_key(at, titles) && !n->title.p)
        return n->title = first, true;
    if (is_key(at, ids) && !n->id.p && fumi_is_uuid(first))
        return n->id = first, true;
    return is_key(at, times) && !n->created.set && import_time(x->f->a, first, &n->created);
}

static void put_metadata(struct fumi_out *o, const struct entry *at)
{
    fumi_put_key_str(o, at->key);
    if (at->list)
        fumi_put_open(o, '[');
    for (size_t i = 0; i < at->values.n; i++)
        fumi_put_str(o, at->values.items[i]);
    if (at->list)
        fumi_put_close(o, ']');
}

static void set_members(struct front *x)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    for (struct entry *at = x->entries; at < x->entries + x->count; at++)
        if (at->values.n && !set_member(x, at))
            put_metadata(&o, at);
    fumi_put_close(&o, '}');
    if (b.n > 2)
        x->n->metadata.text = fumi_buf_keep(&b, x->f->a);
    fumi_buf_done(&b);
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

int import_front_read(struct import_file *f, struct import_front *out, struct fumi_err *e)
{
    struct fumi_str bom = FUMI_STR("\xEF\xBB\xBF");
    size_t skip = fumi_starts(f->text, bom) ? bom.n : 0;
    *out = (struct import_front){.body = {.p = f->text.p + skip, .end = fumi_end(f->text)}};
    size_t n = lines_of(out->body);
    struct front x = {f, &out->note, fumi_alloc(f->a, (n + 1) * sizeof(*x.entries)), 0};
    if (!n)
        return 0;
    import_next_line(&out->body);
    while (import_next_line(&out->body) && out->body.number <= n)
        if (!add_line(&x, &out->body) &&
            import_bad(f, out->body.number,
                       "this line of the front matter was left out: only \"key: value\" and "
                       "lists are read",
                       e))
            return -1;
    out->body.fence = 0;
    set_members(&x);
    return 0;
}
