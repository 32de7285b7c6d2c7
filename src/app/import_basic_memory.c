/* Markdown of Basic Memory. A list item "[category] text #tag (context)" is an observation, and an
 * item "relation [[Target]] (context)" a relation; each becomes a note whose text names the entity.
 * The other text of the file is one note. */
#include "app/import_formats.h"
#include "base/chars.h"

struct item {
    struct fumi_str kind, what, context; /* of a relation: type, target */
};

bool import_is_basic_memory(struct fumi_str path, struct fumi_str start)
{
    struct fumi_arena a = {0};
    struct import_entries all;
    static const char *const links[] = {"permalink", NULL}, *const types[] = {"type", NULL};
    bool link = false, type = false;
    if (!import_is_markdown(path))
        return false;
    import_entries_read(&a, start, &all);
    for (size_t i = 0; i < all.n; i++) {
        link |= all.items[i].key.p && import_is_key(&all.items[i], links);
        type |= all.items[i].key.p && import_is_key(&all.items[i], types);
    }
    fumi_arena_done(&a);
    return link && type;
}

static struct fumi_str part(const char *from, const char *to)
{
    return note_trimmed((struct fumi_str){from, (size_t)(to - from)});
}

/* Whether the text in brackets is the mark of a task, or a time in a transcript. */
static bool is_mark(struct fumi_str s)
{
    bool digits = true;
    for (size_t i = 0; i < s.n; i++)
        digits &= strchr("0123456789:., -", s.p[i]) != NULL;
    bool letter = s.n == 1 && ((s.p[0] >= 'a' && s.p[0] <= 'z') ||
                               (s.p[0] >= 'A' && s.p[0] <= 'Z') || (unsigned char)s.p[0] >= 0x80);
    return !s.n || (digits && memchr(s.p, ':', s.n)) || (s.n == 1 && (!letter && !digits)) ||
           (s.n == 1 && (s.p[0] | 0x20) == 'x');
}

/* Cuts "(context)" off the end of a text. */
static void cut_context(struct fumi_str *s, struct fumi_str *context)
{
    const char *open = s->n && s->p[s->n - 1] == ')' ? memrchr(s->p, '(', s->n) : NULL;
    if (!open)
        return;
    *context = part(open + 1, s->p + s->n - 1);
    *s = part(s->p, open);
}

static bool read_observation(struct fumi_str s, struct item *out)
{
    const char *end = fumi_end(s), *close = memchr(s.p, ']', s.n);
    *out = (struct item){.kind = {0}};
    if (s.p[0] != '[' || !close || close + 1 == end || !strchr(" \t", close[1]))
        return false;
    out->kind = part(s.p + 1, close);
    out->what = part(close + 1, end);
    if (is_mark(out->kind) || !out->what.n || memchr(out->kind.p, '[', out->kind.n) ||
        memchr(out->kind.p, '(', out->kind.n))
        return false;
    cut_context(&out->what, &out->context);
    return out->what.n > 0;
}

/* The type is one word, or a text in quotes. Only a context may follow the target. */
static bool read_relation(struct fumi_str s, struct item *out)
{
    const char *end = fumi_end(s), *open = memmem(s.p, s.n, "[[", 2);
    const char *close = open ? memmem(open, (size_t)(end - open), "]]", 2) : NULL;
    *out = (struct item){.kind = {0}};
    if (!close || open == s.p)
        return false;
    struct fumi_str kind = part(s.p, open), rest = part(close + 2, end);
    bool quoted = kind.n > 2 && strchr("\"'", kind.p[0]) && kind.p[kind.n - 1] == kind.p[0];
    if (!kind.n || (!quoted && (memchr(kind.p, ' ', kind.n) || memchr(kind.p, '\t', kind.n))))
        return false;
    cut_context(&rest, &out->context);
    out->kind = quoted ? (struct fumi_str){kind.p + 1, kind.n - 2} : kind;
    out->what = part(open + 2, close);
    return !rest.n && out->what.n;
}

struct reader {
    struct import_file *f;
    struct import_front front;
    struct fumi_str title;
    struct fumi_buf prose;
    size_t prose_line;
    bool says; /* the prose has more than headings */
};

static struct fumi_str metadata(struct reader *r, const char *const names[3],
                                const struct fumi_str values[3])
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    struct fumi_str own = r->front.note.metadata.text;
    struct fumi_err ignored;
    const struct fumi_val *v = own.n ? fumi_parse(r->f->a, own, &ignored) : NULL;
    fumi_put_open(&o, '{');
    for (const struct fumi_val *k = fumi_first(v); k; k = fumi_after(v, k)) {
        fumi_put_key_str(&o, fumi_text(r->f->a, k));
        fumi_put_val(&o, fumi_of(k));
    }
    for (size_t i = 0; i < 3; i++) {
        if (!values[i].n || fumi_get(v, names[i]))
            continue;
        fumi_put_key(&o, names[i]);
        fumi_put_str(&o, values[i]);
    }
    fumi_put_close(&o, '}');
    return fumi_buf_keep(&b, r->f->a);
}

static struct note note_of(struct reader *r)
{
    struct note n = r->front.note;
    n.id = (struct fumi_str){0}; /* one id, several notes */
    n.title = r->title;
    n.tags = (struct fumi_strs){0};
    for (size_t i = 0; i < r->front.note.tags.n; i++)
        import_tag(r->f->a, &n.tags, r->front.note.tags.items[i]);
    return n;
}

static void add_hash_tags(struct fumi_arena *a, struct fumi_str s, struct fumi_strs *tags)
{
    struct fumi_strs words = {0};
    import_split(a, s, " \t", &words);
    for (size_t i = 0; i < words.n; i++)
        if (words.items[i].n > 1 && words.items[i].p[0] == '#')
            import_tag(a, tags, words.items[i]);
}

static int put_observation(struct reader *r, size_t line, const struct item *it, struct fumi_err *e)
{
    static const char *const names[3] = {"category", "context", ""};
    struct note n = note_of(r);
    n.text = fumi_fmt(r->f->a, "%.*s: %.*s%s%.*s%s", FUMI_ARG(r->title), FUMI_ARG(it->what),
                      it->context.n ? " (" : "", FUMI_ARG(it->context), it->context.n ? ")" : "");
    import_tag(r->f->a, &n.tags, it->kind);
    add_hash_tags(r->f->a, it->what, &n.tags);
    n.metadata.text = metadata(r, names, (struct fumi_str[3]){it->kind, it->context});
    return import_note(r->f, line, &n, e);
}

static int put_relation(struct reader *r, size_t line, const struct item *it, struct fumi_err *e)
{
    static const char *const names[3] = {"relationType", "to", "context"};
    struct note n = note_of(r);
    n.text = fumi_fmt(r->f->a, "%.*s %.*s %.*s%s%.*s%s", FUMI_ARG(r->title), FUMI_ARG(it->kind),
                      FUMI_ARG(it->what), it->context.n ? " (" : "", FUMI_ARG(it->context),
                      it->context.n ? ")" : "");
    import_tag(r->f->a, &n.tags, FUMI_STR("relation"));
    n.metadata.text = metadata(r, names, (struct fumi_str[3]){it->kind, it->what, it->context});
    return import_note(r->f, line, &n, e);
}

static int take_line(struct reader *r, const struct import_lines *l, struct fumi_err *e)
{
    struct fumi_str line = note_trimmed(l->line), heading;
    struct item it;
    bool is_item = !l->code && line.n > 2 && strchr("-*+", line.p[0]) && line.p[1] == ' ';
    struct fumi_str item = is_item ? part(line.p + 2, fumi_end(line)) : FUMI_STR("");
    if (item.n && read_observation(item, &it))
        return put_observation(r, l->number, &it, e);
    if (item.n && read_relation(item, &it))
        return put_relation(r, l->number, &it, e);
    size_t level = import_heading(l, &heading);
    if (level &&
        (fumi_eq(heading, FUMI_STR("Observations")) || fumi_eq(heading, FUMI_STR("Relations"))))
        return 0;
    if (line.n && !level && !r->says)
        r->says = true, r->prose_line = l->number;
    fumi_buf_add(&r->prose, l->line.p, l->line.n);
    fumi_buf_put(&r->prose, '\n');
    return 0;
}

static struct fumi_str name_of(struct fumi_str path)
{
    struct fumi_str name = import_base_name(path);
    const char *dot = memrchr(name.p, '.', name.n);
    return dot ? (struct fumi_str){name.p, (size_t)(dot - name.p)} : name;
}

int import_read_basic_memory(struct import_file *f, struct fumi_err *e)
{
    struct reader r = {.f = f};
    int rc = import_front_read(f, &r.front, e);
    struct import_lines l = r.front.body;
    r.title = r.front.note.title.n ? r.front.note.title : name_of(f->shown);
    while (!rc && import_next_line(&l))
        rc = take_line(&r, &l, e);
    struct note n = note_of(&r);
    n.text = note_trimmed(fumi_buf_keep(&r.prose, f->a));
    return rc || (r.says && import_note(f, r.prose_line, &n, e)) ? -1 : 0;
}
