/* Saves a change of the embedder, or of one setting, by editing the configuration file. The members
 * of the embedder's section are those of config_embedder_shape that are strings or integers;
 * everything else is copied. */
#include "app/config.h"
#include "app/files.h"
#include "app/show.h"

#include <stdlib.h>
#include <unistd.h>

static struct fumi_str text_of(const struct embed_config *c, const struct fumi_field *f)
{
    return *(const struct fumi_str *)(const void *)((const char *)c + f->offset);
}

static int64_t number_of(const struct embed_config *c, const struct fumi_field *f)
{
    return *(const int64_t *)(const void *)((const char *)c + f->offset);
}

/* Keys that come from the environment are not saved. */
static bool is_variable(struct fumi_str key)
{
    static const char *const names[] = {"OPENAI_API_KEY", "FUMI_EMBEDDER_API_KEY"};
    for (size_t i = 0; i < FUMI_COUNT(names); i++) {
        const char *set = getenv(names[i]);
        if (set && key.n && fumi_eq(key, fumi_str(set)))
            return true;
    }
    return false;
}

/* Whether a string equals the loaded one. A model that is not set is the provider's default model.
 */
static bool is_same(const struct fumi_field *f, const struct embed_config *now,
                    const struct embed_config *loaded)
{
    struct fumi_str is = text_of(now, f), was = text_of(loaded, f);
    if (f->offset == offsetof(struct embed_config, model) && !was.n &&
        fumi_eq(now->provider, loaded->provider))
        was = embed_default_model(loaded->provider);
    return fumi_eq(is, was) || (!is.n && !was.n) || is_variable(is);
}

static bool is_saved(const struct fumi_field *f)
{
    return f->type == FUMI_T_STR || f->type == FUMI_T_INT;
}

static bool is_known(const struct fumi_val *key)
{
    for (size_t i = 0; i < config_embedder_shape.n; i++) {
        const struct fumi_field *f = &config_embedder_shape.fields[i];
        if (is_saved(f) && fumi_text_is(key, fumi_str(f->name)))
            return true;
    }
    return false;
}

static void copy(struct fumi_out *o, const char *name, const struct fumi_val *v)
{
    if (!v)
        return;
    fumi_put_key(o, name);
    fumi_put_val(o, v);
}

/* Copies members that are not saved here. */
static void put_unknown(struct fumi_out *o, const struct fumi_val *old)
{
    struct fumi_arena a = {0};
    for (const struct fumi_val *key = fumi_first(old); key; key = fumi_after(old, key)) {
        if (is_known(key))
            continue;
        fumi_put_key_str(o, fumi_text(&a, key));
        fumi_put_val(o, fumi_of(key));
    }
    fumi_arena_done(&a);
}

/* Writes one member. If its value equals the loaded one, the value in the file is kept. */
static void put_member(struct fumi_out *o, const struct fumi_field *f, const struct fumi_val *old,
                       const struct embed_config *now, const struct embed_config *loaded)
{
    if (f->type == FUMI_T_STR && is_same(f, now, loaded)) {
        copy(o, f->name, fumi_get(old, f->name));
    } else if (f->type == FUMI_T_STR && text_of(now, f).n) {
        fumi_put_key(o, f->name);
        fumi_put_str(o, text_of(now, f));
    } else if (f->type == FUMI_T_INT && number_of(now, f)) {
        if (number_of(now, f) == number_of(loaded, f)) {
            copy(o, f->name, fumi_get(old, f->name));
            return;
        }
        fumi_put_key(o, f->name);
        fumi_put_int(o, number_of(now, f));
    }
}

static void put_embedder(struct fumi_out *o, const struct fumi_val *old,
                         const struct embed_config *now, const struct embed_config *loaded)
{
    fumi_put_open(o, '{');
    for (size_t i = 0; i < config_embedder_shape.n; i++)
        put_member(o, &config_embedder_shape.fields[i], old, now, loaded);
    put_unknown(o, old);
    fumi_put_close(o, '}');
}

static void put_previous(struct fumi_out *o, const struct embed_config *previous)
{
    static const struct embed_config nothing;
    if (!previous->provider.n)
        return;
    fumi_put_key(o, "previousEmbedder");
    put_embedder(o, NULL, previous, &nothing);
}

/* Whether a section of the file stays as it is. From the file of local-mcp-memory only the sections
 * that were used are copied into ours. */
static bool is_kept(const struct config *c, const struct fumi_val *key)
{
    struct config_section sections[CONFIG_SECTIONS];
    if (fumi_text_is(key, FUMI_STR("embedder")) || fumi_text_is(key, FUMI_STR("previousEmbedder")))
        return false;
    config_sections(sections);
    for (size_t i = 0; c->foreign && i < CONFIG_SECTIONS; i++) {
        if (fumi_text_is(key, fumi_str(sections[i].name)))
            return sections[i].foreign;
    }
    return !c->foreign;
}

static void put_all(struct fumi_out *o, const struct config *c, const struct fumi_val *root,
                    const struct embed_config *now, const struct embed_config *previous)
{
    struct embed_config loaded = config_embed(c, &c->embedder);
    fumi_put_open(o, '{');
    for (const struct fumi_val *key = fumi_first(root); key; key = fumi_after(root, key)) {
        if (!is_kept(c, key))
            continue;
        struct fumi_arena a = {0};
        fumi_put_key_str(o, fumi_text(&a, key));
        fumi_put_val(o, fumi_of(key));
        fumi_arena_done(&a);
    }
    fumi_put_key(o, "embedder");
    put_embedder(o, fumi_get(root, "embedder"), now, &loaded);
    put_previous(o, previous);
    fumi_put_close(o, '}');
}

static void wipe(struct fumi_buf *b)
{
    if (b->p)
        explicit_bzero(b->p, b->n);
}

static int write_edited(struct fumi_arena *a, const struct config *c,
                        const struct embed_config *now, const struct embed_config *previous,
                        struct fumi_err *e)
{
    struct fumi_buf compact = {0}, text = {0};
    struct fumi_str old = c->source_text.p ? c->source_text : FUMI_STR("{}");
    const struct fumi_val *root = fumi_parse(a, old, e);
    if (!root)
        return -1;
    put_all(&(struct fumi_out){.buf = &compact}, c, root, now, previous);
    const struct fumi_val *edited = fumi_parse(a, fumi_buf_str(&compact), e);
    if (edited)
        show_json(&text, edited);
    int rc = edited ? files_write(c->paths.config_path, fumi_buf_str(&text), e) : -1;
    wipe(&compact); /* both contain the key */
    wipe(&text);
    fumi_buf_done(&compact);
    fumi_buf_done(&text);
    return rc;
}

static int save(struct fumi_arena *a, const struct config_overrides *o,
                const struct embed_config *now, const struct embed_config *previous,
                struct fumi_err *e)
{
    struct config c;
    if (config_load(&c, a, o, e))
        return -1;
    return write_edited(a, &c, now, previous, e);
}

/* No other process saves between our reading and our writing. */
static int lock(struct fumi_arena *a, const struct config_overrides *o, struct fumi_err *e)
{
    struct config c;
    return config_load(&c, a, o, e) ? -1 : files_lock(a, c.paths.config_path, e);
}

int config_save(const struct config_overrides *o, const struct embed_config *now,
                const struct embed_config *previous, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    int fd = lock(&a, o, e);
    int rc = fd < 0 ? -1 : save(&a, o, now, previous, e);
    if (fd >= 0)
        close(fd);
    fumi_arena_done(&a);
    return rc;
}

struct setting {
    const struct config_section *section;
    const struct fumi_field *field;
    const struct fumi_val *value; /* NULL: removed */
};

static void put_section(struct fumi_out *o, const struct setting *set, const struct fumi_val *old)
{
    struct fumi_arena a = {0};
    fumi_put_key(o, set->section->name);
    fumi_put_open(o, '{');
    for (const struct fumi_val *key = fumi_first(old); key; key = fumi_after(old, key)) {
        if (fumi_text_is(key, fumi_str(set->field->name)))
            continue;
        fumi_put_key_str(o, fumi_text(&a, key));
        fumi_put_val(o, fumi_of(key));
    }
    copy(o, set->field->name, set->value);
    fumi_put_close(o, '}');
    fumi_arena_done(&a);
}

/* From the file of local-mcp-memory, only the sections that were used are copied into ours. */
static bool is_copied(const struct config *c, const struct fumi_val *key)
{
    return fumi_text_is(key, FUMI_STR("embedder")) ? true : is_kept(c, key);
}

static void put_file(struct fumi_out *o, const struct config *c, const struct fumi_val *root,
                     const struct setting *set)
{
    struct fumi_arena a = {0};
    fumi_put_open(o, '{');
    for (const struct fumi_val *key = fumi_first(root); key; key = fumi_after(root, key)) {
        bool other = !fumi_text_is(key, fumi_str(set->section->name));
        bool previous = !c->foreign && fumi_text_is(key, FUMI_STR("previousEmbedder"));
        if (!other || !(previous || is_copied(c, key)))
            continue;
        fumi_put_key_str(o, fumi_text(&a, key));
        fumi_put_val(o, fumi_of(key));
    }
    put_section(o, set, fumi_get(root, set->section->name));
    fumi_put_close(o, '}');
    fumi_arena_done(&a);
}

/* Whether the text can be loaded: it is written beside the file, because paths are relative to its
 * directory. */
static int try_file(struct fumi_arena *a, const struct config *c, struct fumi_str text,
                    const struct config_overrides *o, struct fumi_err *e)
{
    struct config ignored;
    struct config_overrides with = *o;
    with.config = fumi_fmt(a, "%.*s.new", FUMI_ARG(c->paths.config_path));
    if (files_write(with.config, text, e))
        return -1;
    int rc = config_load(&ignored, a, &with, e);
    unlink(with.config.p);
    const char *line = rc ? strstr(e->text, ": line ") : NULL;
    const char *why = line ? strstr(line + 2, ": ") : NULL;
    if (why) /* the line is one of a file that is gone */
        memmove(e->text, why + 2, strlen(why + 2) + 1);
    return rc;
}

static int put_setting(struct fumi_arena *a, const struct config_overrides *o,
                       const struct setting *set, struct fumi_err *e)
{
    struct config c;
    struct fumi_buf compact = {0}, text = {0};
    if (config_load(&c, a, o, e))
        return -1;
    const struct fumi_val *root = fumi_parse(a, c.source_text.p ? c.source_text : FUMI_STR("{}"),
                                             e);
    if (!root)
        return -1;
    put_file(&(struct fumi_out){.buf = &compact}, &c, root, set);
    const struct fumi_val *edited = fumi_parse(a, fumi_buf_str(&compact), e);
    if (edited)
        show_json(&text, edited);
    int rc = !edited || try_file(a, &c, fumi_buf_str(&text), o, e) ||
             files_write(c.paths.config_path, fumi_buf_str(&text), e);
    wipe(&compact);
    wipe(&text);
    fumi_buf_done(&compact);
    fumi_buf_done(&text);
    return rc ? -1 : 0;
}

int config_put(const struct config_overrides *o, const struct config_section *s,
               const struct fumi_field *f, const struct fumi_val *value, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    const struct setting set = {s, f, value};
    int fd = lock(&a, o, e);
    int rc = fd < 0 ? -1 : put_setting(&a, o, &set, e);
    if (fd >= 0)
        close(fd);
    fumi_arena_done(&a);
    return rc;
}
