/* A JSON array of notes, or an object with such an array, as other programs export them; among
 * them the results of getAll of mem0. A note is a string, or an object whose members have the names
 * in the table. Other members become metadata. */
#include "app/import_formats.h"
#include "base/uuid.h"

enum member {
    MEMBER_ID,
    MEMBER_TEXT,
    MEMBER_TITLE,
    MEMBER_SOURCE,
    MEMBER_GROUP,
    MEMBER_SESSION,
    MEMBER_CREATED,
    MEMBER_TAGS,
    MEMBER_METADATA,
    MEMBER_OTHER
};

static const struct {
    const char *name;
    enum member member;
} names[] = {
    {"id", MEMBER_ID},
    {"text", MEMBER_TEXT},
    {"memory", MEMBER_TEXT},
    {"content", MEMBER_TEXT},
    {"title", MEMBER_TITLE},
    {"source", MEMBER_SOURCE},
    {"groupId", MEMBER_GROUP},
    {"session", MEMBER_SESSION},
    {"createdAt", MEMBER_CREATED},
    {"created_at", MEMBER_CREATED},
    {"created", MEMBER_CREATED},
    {"tags", MEMBER_TAGS},
    {"categories", MEMBER_TAGS},
    {"metadata", MEMBER_METADATA},
};

static enum member member_of(const struct fumi_val *key)
{
    for (size_t i = 0; i < FUMI_COUNT(names); i++)
        if (fumi_text_is(key, fumi_str(names[i].name)))
            return names[i].member;
    return MEMBER_OTHER;
}

/* Returns false if the value is neither an array of strings nor a string. */
static bool take_tags(struct fumi_arena *a, const struct fumi_val *v, struct fumi_strs *tags)
{
    struct fumi_str s = fumi_text(a, v);
    if (s.p)
        import_tag(a, tags, s);
    for (const struct fumi_val *i = fumi_first(v); i; i = fumi_after(v, i)) {
        if (!fumi_is(i, FUMI_STRING))
            return false;
        import_tag(a, tags, fumi_text(a, i));
    }
    return s.p || fumi_is(v, FUMI_ARRAY);
}

static struct fumi_str *string_at(struct note *n, enum member m)
{
    switch (m) {
    case MEMBER_TEXT:
        return &n->text;
    case MEMBER_TITLE:
        return &n->title;
    case MEMBER_SOURCE:
        return &n->source;
    case MEMBER_GROUP:
        return &n->group;
    case MEMBER_SESSION:
        return &n->session;
    case MEMBER_ID:
    case MEMBER_CREATED:
    case MEMBER_TAGS:
    case MEMBER_METADATA:
    case MEMBER_OTHER:
        break;
    }
    return NULL;
}

/* Sets the member of the note. Returns false if it has another type, or is set already: it is then
 * part of the metadata. */
static bool set_member(struct fumi_arena *a, struct note *n, enum member m,
                       const struct fumi_val *v)
{
    struct fumi_str s = fumi_text(a, v), *at = string_at(n, m);
    if (m == MEMBER_TAGS)
        return take_tags(a, v, &n->tags);
    if (m == MEMBER_CREATED)
        return s.p && !n->created.set && import_time(a, s, &n->created);
    if (m == MEMBER_ID && fumi_is_uuid(s))
        return n->id = s, true;
    if (!at || !s.p || at->p)
        return false;
    *at = s;
    return true;
}

static void put_members(struct fumi_arena *a, struct fumi_out *o, const struct fumi_val *object)
{
    for (const struct fumi_val *k = fumi_first(object); k; k = fumi_after(object, k)) {
        fumi_put_key_str(o, fumi_text(a, k));
        fumi_put_val(o, fumi_of(k));
    }
}

static void take_members(struct import_file *f, const struct fumi_val *v, struct note *n)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    for (const struct fumi_val *k = fumi_first(v); k; k = fumi_after(v, k)) {
        const struct fumi_val *value = fumi_of(k);
        enum member m = member_of(k);
        if (fumi_is(value, FUMI_NULL) || set_member(f->a, n, m, value))
            continue;
        if (m == MEMBER_METADATA && fumi_is(value, FUMI_OBJECT)) {
            put_members(f->a, &o, value);
            continue;
        }
        fumi_put_key_str(&o, fumi_text(f->a, k));
        fumi_put_val(&o, value);
    }
    fumi_put_close(&o, '}');
    if (b.n > 2)
        n->metadata.text = fumi_buf_keep(&b, f->a);
    fumi_buf_done(&b);
}

static int read_item(struct import_file *f, size_t line, const struct fumi_val *v,
                     struct fumi_err *e)
{
    struct note n = {.text = fumi_text(f->a, v)};
    if (fumi_is(v, FUMI_OBJECT))
        take_members(f, v, &n);
    else if (!n.text.p)
        return import_bad(f, line, "a note must be an object or a string", e);
    if (!n.text.p)
        return import_bad(f, line, "a note needs a string \"text\", \"memory\" or \"content\"", e);
    return import_note(f, line, &n, e);
}

static const struct fumi_val *list_of(const struct fumi_val *root)
{
    static const char *const lists[] = {"notes", "memories", "results"};
    if (fumi_is(root, FUMI_ARRAY))
        return root;
    for (size_t i = 0; i < FUMI_COUNT(lists); i++)
        if (fumi_is(fumi_get(root, lists[i]), FUMI_ARRAY))
            return fumi_get(root, lists[i]);
    return NULL;
}

int import_read_json(struct import_file *f, struct fumi_err *e)
{
    struct fumi_err bad = {0};
    const struct fumi_val *root = fumi_parse(f->a, f->text, &bad), *list = list_of(root);
    const char *at = f->text.p;
    size_t line = 1;
    if (!root)
        return import_bad(f, 1, bad.text, e);
    if (!list)
        return import_bad(f, 1,
                          "the file must contain an array of notes, or an object with such an "
                          "array as \"notes\", \"memories\" or \"results\"",
                          e);
    for (const struct fumi_val *i = fumi_first(list); i; i = fumi_after(list, i)) {
        for (; at < i->p; at++)
            line += *at == '\n';
        if (read_item(f, line, i, e))
            return -1;
    }
    return 0;
}
