/* The file of the MCP reference server @modelcontextprotocol/server-memory: one JSON object per
 * line, an entity with its observations or a relation. Each observation and each relation becomes
 * a note. Its text names the entity, because equal observations of two entities are two facts. */
#include "app/import_formats.h"

struct item {
    size_t line;
    const struct fumi_val *v;
};

/* Returns whether all the members are strings; *bad is the first that is not. */
static bool texts(struct import_file *f, const struct fumi_val *v, const char *const names[3],
                  struct fumi_str out[3], const char **bad)
{
    for (size_t i = 0; i < 3 && names[i]; i++) {
        out[i] = fumi_text(f->a, fumi_get(v, names[i]));
        *bad = names[i];
        if (!out[i].p)
            return false;
    }
    return true;
}

static int is_missing(struct import_file *f, size_t line, const char *name, struct fumi_err *e)
{
    struct fumi_str text = fumi_fmt(f->a, "%s must be a string", name);
    return import_bad(f, line, text.p, e);
}

static struct fumi_json metadata(struct import_file *f, const char *const names[3],
                                 const struct fumi_str values[3])
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    for (size_t i = 0; i < 3 && names[i]; i++) {
        fumi_put_key(&o, names[i]);
        fumi_put_str(&o, values[i]);
    }
    fumi_put_close(&o, '}');
    return (struct fumi_json){fumi_buf_keep(&b, f->a)};
}

static int read_entity(struct import_file *f, struct item it, struct fumi_err *e)
{
    static const char *const names[3] = {"name", "entityType"};
    struct fumi_str is[3] = {{0}};
    const char *bad;
    const struct fumi_val *list = fumi_get(it.v, "observations");
    int rc = 0;
    if (!texts(f, it.v, names, is, &bad))
        return is_missing(f, it.line, bad, e);
    if (!fumi_is(list, FUMI_ARRAY))
        return import_bad(f, it.line, "observations must be an array of strings", e);
    struct note n = {.title = is[0], .metadata = metadata(f, names, is)};
    import_tag(f->a, &n.tags, is[1]);
    if (!fumi_size(list)) {
        n.text = fumi_fmt(f->a, "%.*s (%.*s)", FUMI_ARG(is[0]), FUMI_ARG(is[1]));
        return import_note(f, it.line, &n, e);
    }
    for (const struct fumi_val *i = fumi_first(list); i && !rc; i = fumi_after(list, i)) {
        struct fumi_str said = fumi_text(f->a, i);
        struct note one = n;
        one.text = fumi_fmt(f->a, "%.*s: %.*s", FUMI_ARG(is[0]), FUMI_ARG(said));
        rc = said.p ? import_note(f, it.line, &one, e)
                    : import_bad(f, it.line, "an observation is not a string", e);
    }
    return rc;
}

static int read_relation(struct import_file *f, struct item it, struct fumi_err *e)
{
    static const char *const names[3] = {"from", "relationType", "to"};
    struct fumi_str is[3] = {{0}};
    const char *bad;
    if (!texts(f, it.v, names, is, &bad))
        return is_missing(f, it.line, bad, e);
    struct note n = {.title = is[0], .metadata = metadata(f, names, is)};
    n.text = fumi_fmt(f->a, "%.*s %.*s %.*s", FUMI_ARG(is[0]), FUMI_ARG(is[1]), FUMI_ARG(is[2]));
    import_tag(f->a, &n.tags, FUMI_STR("relation"));
    return import_note(f, it.line, &n, e);
}

static int read_line(struct import_file *f, size_t number, struct fumi_str line, struct fumi_err *e)
{
    struct fumi_err bad = {0};
    struct item it = {number, fumi_parse(f->a, line, &bad)};
    const struct fumi_val *type = fumi_get(it.v, "type");
    if (!it.v)
        return import_bad(f, number, bad.text, e);
    if (fumi_text_is(type, FUMI_STR("entity")))
        return read_entity(f, it, e);
    if (fumi_text_is(type, FUMI_STR("relation")))
        return read_relation(f, it, e);
    return import_bad(f, number, "type must be \"entity\" or \"relation\"", e);
}

int import_read_server_memory(struct import_file *f, struct fumi_err *e)
{
    const char *p = f->text.p, *end = p + f->text.n;
    int rc = 0;
    for (size_t number = 1; p < end && !rc; number++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        struct fumi_str line = {p, (size_t)((stop ? stop : end) - p)};
        p = stop ? stop + 1 : end;
        if (note_trimmed(line).n)
            rc = read_line(f, number, line, e);
    }
    return rc;
}
