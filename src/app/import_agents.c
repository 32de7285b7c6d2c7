/* The memories that coding agents write in Markdown: the auto memory of Claude Code, with a file
 * for each memory and an index MEMORY.md, and MEMORY.md of Codex. */
#include "app/import_formats.h"
#include "base/chars.h"

/* Whether a line of the front matter is "KEY: VALUE", indented or not. */
static bool has_line(struct fumi_str start, const char *key, const char *value)
{
    struct import_lines l = {.p = start.p, .end = fumi_end(start)};
    struct fumi_str name = fumi_str(key);
    while (import_next_line(&l)) {
        struct fumi_str line = note_trimmed(l.line);
        if (l.number == 1 ? !fumi_eq(line, FUMI_STR("---")) : fumi_eq(line, FUMI_STR("---")))
            return false;
        if (!fumi_starts(line, name) || line.n == name.n || line.p[name.n] != ':')
            continue;
        struct fumi_str is = note_trimmed(
            (struct fumi_str){line.p + name.n + 1, line.n - name.n - 1});
        if (!value || fumi_eq(is, fumi_str(value)))
            return true;
    }
    return false;
}

static bool is_named(struct fumi_str path, const char *name)
{
    return fumi_eq(import_base_name(path), fumi_str(name));
}

/* --- Claude Code --- */

bool import_is_claude_code(struct fumi_str path, struct fumi_str start)
{
    static const char *const types[] = {"user", "feedback", "project", "reference"};
    if (!import_is_markdown(path))
        return false;
    if (is_named(path, "MEMORY.md"))
        return true;
    for (size_t i = 0; i < FUMI_COUNT(types); i++)
        if (has_line(start, "type", types[i]))
            return has_line(start, "name", NULL) && has_line(start, "description", NULL);
    return false;
}

/* An entry of the index: "- [Title](file.md)" and a hint. */
static bool is_index_entry(struct fumi_str line)
{
    static const char ends[] = ".md)";
    line = note_trimmed(line);
    return line.n > 3 && strchr("-*", line.p[0]) && memcmp(line.p + 1, " [", 2) == 0 &&
           memmem(line.p, line.n, ends, strlen(ends));
}

/* What the index says besides its entries is read as Markdown. The lines keep their numbers. */
static int read_index(struct import_file *f, struct fumi_err *e)
{
    struct import_lines l = {.p = f->text.p, .end = fumi_end(f->text)};
    struct fumi_buf b = {0};
    struct fumi_str heading;
    bool says = false;
    while (import_next_line(&l)) {
        bool entry = !l.code && is_index_entry(l.line);
        says |= !entry && note_trimmed(l.line).n && !import_heading(&l, &heading);
        fumi_buf_add(&b, l.line.p, entry ? 0 : l.line.n);
        fumi_buf_put(&b, '\n');
    }
    f->text = fumi_buf_keep(&b, f->a);
    return says ? import_read_markdown(f, e) : 0;
}

struct memory_file {
    struct note note;
    struct fumi_str description;
    struct fumi_buf metadata;
    struct fumi_out out;
};

static void take_entry(struct import_file *f, struct memory_file *m, const struct import_entry *at)
{
    static const char *const titles[] = {"name", "title", NULL}, *const types[] = {"type", NULL},
                             *const about[] = {"description", NULL},
                             *const sessions[] = {"originSessionId", NULL};
    struct fumi_str first = at->values.items[0];
    if (import_is_key(at, titles) && !m->note.title.p)
        m->note.title = first;
    else if (import_is_key(at, types))
        import_tag(f->a, &m->note.tags, first);
    else if (import_is_key(at, about) && !m->description.p)
        m->description = note_trimmed(first);
    else if (import_is_key(at, sessions) && !note_session_fault(first))
        m->note.session = first;
    else
        import_put_entry(&m->out, at);
}

static int read_memory(struct import_file *f, const struct import_entries *all, struct fumi_err *e)
{
    struct memory_file m = {.out = {.buf = &m.metadata}};
    struct fumi_str body = {all->body.p, (size_t)(all->body.end - all->body.p)};
    body = note_trimmed(body);
    fumi_put_open(&m.out, '{');
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].key.p && all->items[i].values.n)
            take_entry(f, &m, &all->items[i]);
    fumi_put_close(&m.out, '}');
    struct fumi_str metadata = fumi_buf_keep(&m.metadata, f->a), about = m.description;
    m.note.metadata.text = metadata.n > 2 ? metadata : (struct fumi_str){0};
    bool said = !about.n || (body.n && memmem(body.p, body.n, about.p, about.n));
    m.note.text = said ? body
                       : fumi_fmt(f->a, "%.*s%s%.*s", FUMI_ARG(about), body.n ? "\n\n" : "",
                                  FUMI_ARG(body));
    return import_note(f, all->body.number + 1, &m.note, e);
}

int import_read_claude_code(struct import_file *f, struct fumi_err *e)
{
    struct import_entries all;
    import_entries_read(f->a, f->text, &all);
    if (!all.n)
        return read_index(f, e);
    for (size_t i = 0; i < all.n; i++)
        if ((!all.items[i].key.p || all.items[i].nested) &&
            import_bad(f, all.items[i].line, "this line of the front matter was left out", e))
            return -1;
    return read_memory(f, &all, e);
}

/* --- Codex --- */

#define TASK_GROUP FUMI_STR("# Task Group:")

/* These repeat what MEMORY.md has. */
static bool repeats(struct fumi_str path, struct fumi_str start)
{
    return (is_named(path, "memory_summary.md") && fumi_starts(start, FUMI_STR("v1\n"))) ||
           (is_named(path, "raw_memories.md") && fumi_starts(start, FUMI_STR("# Raw Memories\n")));
}

bool import_is_codex(struct fumi_str path, struct fumi_str start)
{
    return repeats(path, start) ||
           (is_named(path, "MEMORY.md") && fumi_starts(note_trimmed(start), TASK_GROUP));
}

struct codex {
    struct import_file *f;
    struct fumi_str group, scope, applies;
    struct fumi_str section, part; /* headings of level 2 and 3 */
    struct fumi_buf item;          /* of a list */
    size_t line;                   /* of the item */
};

/* The rest of a line after a prefix; null if it begins otherwise. */
static struct fumi_str after(struct fumi_str line, const char *prefix)
{
    struct fumi_str is = fumi_str(prefix);
    if (!fumi_starts(line, is))
        return (struct fumi_str){0};
    return note_trimmed((struct fumi_str){line.p + is.n, line.n - is.n});
}

static struct fumi_str codex_metadata(struct codex *c)
{
    const struct fumi_str values[] = {c->group, c->scope, c->applies};
    static const char *const names[] = {"taskGroup", "scope", "appliesTo"};
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    for (size_t i = 0; i < FUMI_COUNT(names); i++) {
        if (!values[i].n)
            continue;
        fumi_put_key(&o, names[i]);
        fumi_put_str(&o, values[i]);
    }
    fumi_put_close(&o, '}');
    return fumi_buf_keep(&b, c->f->a);
}

static const char *tag_of(struct fumi_str section)
{
    static const struct {
        const char *section, *tag;
    } tags[] = {{"User preferences", "preference"},
                {"Reusable knowledge", "knowledge"},
                {"Failures and how to do differently", "failure"},
                {"Task", "task"}};
    for (size_t i = 0; i < FUMI_COUNT(tags); i++)
        if (fumi_starts(section, fumi_str(tags[i].section)))
            return tags[i].tag;
    return NULL;
}

/* Items of a task are its keywords, which give one note with its description, and the names of
 * files, which give none. */
static int end_item(struct codex *c, struct fumi_err *e)
{
    struct fumi_str item = note_trimmed(fumi_buf_keep(&c->item, c->f->a));
    const char *tag = tag_of(c->section);
    bool keywords = fumi_eq(c->part, FUMI_STR("keywords"));
    struct note n = {.title = c->group, .metadata.text = codex_metadata(c)};
    if (!item.n || fumi_eq(c->part, FUMI_STR("rollout_summary_files")))
        return 0;
    n.text = keywords
                 ? fumi_fmt(c->f->a, "%.*s\n\nKeywords: %.*s", FUMI_ARG(c->section), FUMI_ARG(item))
                 : fumi_fmt(c->f->a, "%.*s: %.*s", FUMI_ARG(c->group), FUMI_ARG(item));
    if (tag)
        import_tag(c->f->a, &n.tags, fumi_str(tag));
    return import_note(c->f, c->line, &n, e);
}

static void take_heading(struct codex *c, size_t level, struct fumi_str text)
{
    struct fumi_str group = after(text, "Task Group:");
    if (level == 1)
        c->group = group.n ? group : text, c->scope = c->applies = (struct fumi_str){0};
    if (level <= 2)
        c->section = level == 2 ? text : (struct fumi_str){0};
    c->part = level == 3 ? text : (struct fumi_str){0};
}

static int take_codex_line(struct codex *c, const struct import_lines *l, struct fumi_err *e)
{
    struct fumi_str line = l->line, heading, scope = after(line, "scope:");
    struct fumi_str applies = after(line, "applies_to:");
    size_t level = import_heading(l, &heading);
    bool item = !l->code && fumi_starts(line, FUMI_STR("- "));
    if ((level || item || scope.p || applies.p) && end_item(c, e))
        return -1;
    if (level)
        take_heading(c, level, heading);
    else if (scope.p)
        c->scope = scope;
    else if (applies.p)
        c->applies = applies;
    else if (item || c->item.n) {
        c->line = item ? l->number : c->line;
        fumi_buf_add(&c->item, line.p + (item ? 2 : 0), line.n - (item ? 2 : 0));
        fumi_buf_put(&c->item, '\n');
    }
    return 0;
}

int import_read_codex(struct import_file *f, struct fumi_err *e)
{
    struct codex c = {.f = f};
    struct import_lines l = {.p = f->text.p, .end = fumi_end(f->text)};
    int rc = 0;
    if (repeats(f->path, f->text))
        return 0;
    while (!rc && import_next_line(&l))
        rc = take_codex_line(&c, &l, e);
    rc = rc || end_item(&c, e) ? -1 : 0;
    fumi_buf_done(&c.item);
    return rc;
}
