/* Markdown files. A file with several headings of level 2 gives a note for each of them, and one
 * for the text before them; another file is one note. The texts keep their headings: notes with
 * the same text are stored once, and the same words below two headings say two things.
 *
 * Files with rules for agents give a note for each item of a list at the top level, and one for the
 * other text of each section. */
#include "app/import_formats.h"
#include "base/chars.h"

enum { SECTION = 2 };

static bool is_blank(struct fumi_str s)
{
    return !note_trimmed(s).n;
}

/* Opens or closes a code fence. */
static void follow_fence(struct import_lines *l)
{
    struct fumi_str t = note_trimmed(l->line);
    size_t n = 0;
    l->code = l->fence != 0;
    while (n < t.n && t.p[n] == t.p[0])
        n++;
    if (n < 3 || !strchr("`~", t.p[0]))
        return;
    l->code = true;
    if (!l->fence)
        l->fence = t.p[0], l->ticks = n;
    else if (l->fence == t.p[0] && n >= l->ticks && n == t.n)
        l->fence = 0;
}

bool import_next_line(struct import_lines *l)
{
    if (l->p == l->end)
        return false;
    const char *stop = memchr(l->p, '\n', (size_t)(l->end - l->p));
    l->line = (struct fumi_str){l->p, (size_t)((stop ? stop : l->end) - l->p)};
    l->p = stop ? stop + 1 : l->end;
    if (l->line.n && l->line.p[l->line.n - 1] == '\r')
        l->line.n--;
    l->number++;
    follow_fence(l);
    return true;
}

size_t import_heading(const struct import_lines *l, struct fumi_str *text)
{
    struct fumi_str s = l->line;
    size_t n = 0;
    while (n < s.n && s.p[n] == '#')
        n++;
    if (l->code || !n || n > 6 || (n < s.n && !strchr(" \t", s.p[n])))
        return 0;
    *text = note_trimmed((struct fumi_str){s.p + n, s.n - n});
    return n;
}

/* Whether a character may be part of a tag. */
static bool in_tag(uint32_t c)
{
    if (c < 0x80)
        return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' ||
               c == '-' || c == '/';
    return c >= 0xA0 && !(c >= 0x2000 && c <= 0x206F) && !(c >= 0x3000 && c <= 0x3004) &&
           !(c >= 0x3008 && c <= 0x303F) && !(c >= 0xFF00 && c <= 0xFF0F);
}

/* The tag after '#' at s.p[0], as Obsidian reads it: not only digits. Empty: none. */
static struct fumi_str tag_at(struct fumi_str s)
{
    const char *p = s.p + 1, *end = s.p + s.n;
    bool word = false;
    size_t n;
    while (p < end) {
        uint32_t c = fumi_char_at(p, end, &n);
        if (!in_tag(c))
            break;
        word |= c < '0' || c > '9';
        p += n;
    }
    return (struct fumi_str){s.p + 1, word ? (size_t)(p - s.p - 1) : 0};
}

static void add_tags_of_line(struct fumi_arena *a, struct fumi_str s, struct fumi_strs *tags)
{
    bool code = false;
    for (size_t i = 0; i < s.n; i++) {
        code ^= s.p[i] == '`';
        if (s.p[i] == '#' && !code && (!i || strchr(" \t", s.p[i - 1])))
            import_tag(a, tags, tag_at((struct fumi_str){s.p + i, s.n - i}));
    }
}

/* Passes on a note with the members of the front matter and the tags of its text. */
static int put(struct import_file *f, const struct import_front *front, size_t line,
               struct fumi_str title, struct fumi_str text, struct fumi_err *e)
{
    struct import_lines l = {.p = text.p, .end = fumi_end(text)};
    struct note n = front->note;
    n.title = title;
    n.text = note_trimmed(text);
    n.tags = (struct fumi_strs){0};
    if (f->rules)
        import_tag(f->a, &n.tags, FUMI_STR("rule"));
    for (size_t i = 0; i < front->note.tags.n; i++)
        import_tag(f->a, &n.tags, front->note.tags.items[i]);
    while (import_next_line(&l))
        if (!l.code)
            add_tags_of_line(f->a, l.line, &n.tags);
    return import_note(f, line, &n, e);
}

static struct fumi_str under(struct fumi_arena *a, struct fumi_str title, struct fumi_str heading)
{
    return fumi_fmt(a, "%.*s: %.*s", FUMI_ARG(title), FUMI_ARG(heading));
}

/* What the headings say about the body. */
struct outline {
    struct fumi_str title; /* of the first heading of level 1 */
    size_t sections;
};

static struct outline outline_of(struct import_lines l)
{
    struct outline o = {0};
    struct fumi_str text;
    while (import_next_line(&l)) {
        size_t level = import_heading(&l, &text);
        o.sections += level == SECTION;
        if (level == 1 && !o.title.n)
            o.title = text;
    }
    return o;
}

static struct fumi_str title_of(struct import_file *f, const struct import_front *front,
                                const struct outline *o)
{
    struct fumi_str name = import_base_name(f->shown);
    const char *dot = memrchr(name.p, '.', name.n);
    if (front->note.title.n)
        return front->note.title;
    if (o->title.n)
        return o->title;
    return dot ? (struct fumi_str){name.p, (size_t)(dot - name.p)} : name;
}

/* Whether the text before the sections has more than a heading. */
static bool says_something(const char *from, const char *to)
{
    struct import_lines l = {.p = from, .end = to};
    struct fumi_str text;
    while (import_next_line(&l))
        if (!is_blank(l.line) && !import_heading(&l, &text))
            return true;
    return false;
}

static int read_sections(struct import_file *f, const struct import_front *front,
                         struct fumi_str title, struct fumi_err *e)
{
    struct import_lines l = front->body;
    const char *from = l.p;
    struct fumi_str name = {0}, heading = {0};
    size_t line = l.number + 1;
    for (bool more = true; more;) {
        const char *at = l.p;
        more = import_next_line(&l);
        if (more && import_heading(&l, &heading) != SECTION)
            continue;
        struct fumi_str text = {from, (size_t)(at - from)};
        if (name.p ? put(f, front, line, under(f->a, title, name), text, e)
                   : says_something(from, at) && put(f, front, line, title, text, e))
            return -1;
        from = at, line = l.number, name = heading;
    }
    return 0;
}

int import_read_markdown(struct import_file *f, struct fumi_err *e)
{
    struct import_front front;
    if (import_front_read(f, &front, e))
        return -1;
    struct outline o = outline_of(front.body);
    struct fumi_str title = title_of(f, &front, &o);
    struct fumi_str text = {front.body.p, (size_t)(front.body.end - front.body.p)};
    if (is_blank(text))
        return import_bad(f, front.body.number + 1, "the file has no text", e);
    if (o.sections < 2)
        return put(f, &front, front.body.number + 1, title, text, e);
    front.note.id = (struct fumi_str){0}; /* one id, several notes */
    return read_sections(f, &front, title, e);
}

struct rules {
    struct import_file *f;
    struct import_front front;
    struct fumi_str heading;
    struct fumi_str item; /* p NULL: none is open */
    size_t item_line, prose_line;
    struct fumi_buf prose; /* the text of the section outside of lists */
    bool after_blank;
};

/* The length of the marker of a list item at the top level; 0: none. */
static size_t marker_of(struct fumi_str s)
{
    size_t n = 0;
    if (s.n >= 2 && strchr("-*+", s.p[0]))
        return strchr(" \t", s.p[1]) ? 2 : 0;
    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    return n && n + 1 < s.n && strchr(".)", s.p[n]) && s.p[n + 1] == ' ' ? n + 2 : 0;
}

static int put_rule(struct rules *r, size_t line, struct fumi_str text, const char *between,
                    struct fumi_err *e)
{
    struct import_file *f = r->f;
    text = note_trimmed(text);
    if (!text.n)
        return 0;
    if (r->heading.n)
        text = fumi_fmt(f->a, "%.*s%s%.*s", FUMI_ARG(r->heading), between, FUMI_ARG(text));
    return put(f, &r->front, line, r->heading, text, e);
}

static int end_item(struct rules *r, struct fumi_err *e)
{
    struct fumi_str item = r->item;
    r->item = (struct fumi_str){0};
    return item.p ? put_rule(r, r->item_line, item, ": ", e) : 0;
}

static int end_section(struct rules *r, struct fumi_err *e)
{
    struct fumi_str prose = fumi_dup(r->f->a, fumi_buf_str(&r->prose));
    r->prose.n = 0;
    return end_item(r, e) || put_rule(r, r->prose_line, prose, "\n\n", e) ? -1 : 0;
}

static void add_prose(struct rules *r, const struct import_lines *l)
{
    if (!r->prose.n)
        r->prose_line = l->number;
    fumi_buf_add(&r->prose, l->line.p, l->line.n);
    fumi_buf_put(&r->prose, '\n');
}

static int take_rule_line(struct rules *r, const struct import_lines *l, struct fumi_err *e)
{
    struct fumi_str s = l->line, heading;
    size_t marker = l->code ? 0 : marker_of(s);
    bool blank = is_blank(s), indented = s.n && strchr(" \t", s.p[0]);
    if (import_heading(l, &heading)) {
        int rc = end_section(r, e);
        r->heading = heading;
        return rc;
    }
    if (marker) {
        int rc = end_item(r, e);
        r->item = (struct fumi_str){s.p + marker, s.n - marker};
        r->item_line = l->number;
        r->after_blank = false;
        return rc;
    }
    if (r->item.p && (blank || indented || !r->after_blank)) {
        r->item.n = (size_t)(s.p + s.n - r->item.p);
        r->after_blank = blank;
        return 0;
    }
    if (end_item(r, e))
        return -1;
    if (!blank || r->prose.n)
        add_prose(r, l);
    return 0;
}

int import_read_rules(struct import_file *f, struct fumi_err *e)
{
    struct rules r = {.f = f};
    f->rules = true;
    int rc = import_front_read(f, &r.front, e);
    r.front.note.id = (struct fumi_str){0};
    struct import_lines l = r.front.body;
    while (!rc && import_next_line(&l))
        rc = take_rule_line(&r, &l, e);
    rc = rc || end_section(&r, e) ? -1 : 0;
    fumi_buf_done(&r.prose);
    return rc;
}
