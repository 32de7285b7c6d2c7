/* Each source (file, environment, flags) is read into a layer: a struct config that holds only what
 * that source sets. The layers are copied over the defaults one after the other. A layer that sets
 * the data directory discards the store.path of earlier layers, so that --data-dir overrides a
 * store.path in the file. */
#include "app/config.h"

#include "app/files.h"
#include "app/flags.h"
#include "store/postgres.h"

#include "base/closest_name.h"
#include "embed/provider_url.h"
#include "model/dim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILE_MAX = 1 << 20, WARNINGS = 16, SHOWN = 40 };

struct config_loader {
    struct fumi_arena *a;
    struct config *c;
    const struct config_overrides *flags;
    struct config_section sections[CONFIG_SECTIONS];
    struct fumi_str dir; /* of the file: its relative paths begin there */
    unsigned mode;
    bool default_file; /* neither a flag nor a variable names the file or its directory */
    struct fumi_err *e;
};

static const char *variable(const char *name)
{
    const char *set = getenv(name);
    return set && set[0] ? set : NULL;
}

static int put_defaults(struct config_loader *l)
{
    for (size_t i = 0; i < CONFIG_SECTIONS; i++) {
        struct fumi_shape whole = l->sections[i].shape;
        whole.given = FUMI_NONE;
        if (fumi_bind(l->a, &whole, NULL, (char *)l->c + l->sections[i].offset, l->e))
            return -1;
    }
    l->c->previous = (struct config_embedder){0};
    return 0;
}

/* Finds the path of the file: flags come before the environment, and in both the file before the
 * directory. */
static int locate(struct config_loader *l)
{
    struct fumi_str file = l->flags->config, dir = l->flags->data_dir, none = {0};
    if (!file.p && !dir.p) {
        file = fumi_str(variable("FUMI_CONFIG"));
        dir = fumi_str(variable("FUMI_DATA_DIR"));
    }
    if (file.p)
        return files_expand(l->a, file, none, &l->c->paths.config_path, l->e);
    l->default_file = !dir.p;
    if (dir.p ? files_expand(l->a, dir, none, &dir, l->e)
              : files_xdg(l->a, "XDG_CONFIG_HOME", ".config", &dir, l->e))
        return -1;
    l->c->paths.config_path = files_join(l->a, dir, "config.json");
    return 0;
}

static size_t line_of(const struct config *c, const char *at)
{
    const char *end = c->source_text.p + c->source_text.n;
    size_t line = 1;
    if (at > end)
        return line; /* the parser copies a document that is a single scalar */
    for (const char *p = c->source_text.p; p < at; p++)
        line += *p == '\n';
    return line;
}

/* Sets an error for the line of the byte `at` in the file. */
static int fail_at(struct config_loader *l, const char *at, const char *section,
                   const char *sentence)
{
    char copy[sizeof(l->e->text)]; /* the sentence may be l->e->text */
    struct fumi_str file = files_shown(l->c->source);
    snprintf(copy, sizeof(copy), "%s", sentence);
    return fumi_err_set(l->e, FUMI_INVALID_PARAMS, "%.*s: line %zu: %s%s%s", FUMI_ARG(file),
                        line_of(l->c, at), section, section[0] ? "." : "", copy);
}

/* Replaces the byte offset in an error of the parser ("at byte 17: why") by the line. */
static int fail_parse(struct config_loader *l)
{
    char *end = l->e->text;
    size_t at = 0;
    if (fumi_starts(fumi_str(l->e->text), FUMI_STR("at byte ")))
        at = strtoul(l->e->text + 8, &end, 10);
    at = at < l->c->source_text.n ? at : l->c->source_text.n;
    return fail_at(l, l->c->source_text.p + at, "", *end == ':' ? end + 2 : end);
}

/* The position of the member whose name starts the error message, or of the section. */
static const char *position_of(const struct config_loader *l, const struct fumi_val *section)
{
    char name[SHOWN];
    size_t n = strcspn(l->e->text, " [.");
    snprintf(name, sizeof(name), "%.*s", (int)n, l->e->text);
    const struct fumi_val *v = fumi_get(section, name);
    return v ? v->p : section->p;
}

__attribute__((format(printf, 2, 3))) static void warn(struct config_loader *l, const char *fmt,
                                                       ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    struct fumi_strs *w = &l->c->warnings;
    if (!w->items)
        w->items = fumi_alloc(l->a, WARNINGS * sizeof(*w->items));
    if (w->n < WARNINGS)
        w->items[w->n++] = fumi_fmt(l->a, "%.*s: %s", FUMI_ARG(files_shown(l->c->source)), text);
}

static void warn_unknown(struct config_loader *l, const struct fumi_val *key, const char *section,
                         const char *near)
{
    struct fumi_str name = fumi_text(l->a, key);
    if (name.n > SHOWN)
        name.n = SHOWN;
    warn(l, "line %zu: the unknown key %s%s%.*s is ignored%s%s%s", line_of(l->c, key->p), section,
         section[0] ? "." : "", FUMI_ARG(name), near ? "; did you mean " : "", near ? near : "",
         near ? "?" : "");
}

/* Warns if the section has no such setting. */
static void check_key(struct config_loader *l, const struct config_section *s,
                      const struct fumi_val *key)
{
    struct closest_name near = closest_name_start(fumi_text(l->a, key));
    const char *best = NULL;
    for (size_t i = 0; i < s->shape.n; i++) {
        const struct fumi_field *f = &s->shape.fields[i];
        if (fumi_text_is(key, fumi_str(f->name)))
            return;
        if (closest_name_improves(&near, fumi_str(f->name)))
            best = f->name;
    }
    warn_unknown(l, key, s->name, best);
}

static const struct config_section *section_of(struct config_loader *l, const struct fumi_val *key)
{
    struct closest_name near = closest_name_start(fumi_text(l->a, key));
    const char *best = NULL;
    for (size_t i = 0; i < CONFIG_SECTIONS; i++) {
        const struct config_section *s = &l->sections[i];
        if (fumi_text_is(key, fumi_str(s->name)))
            return s;
        if (closest_name_improves(&near, fumi_str(s->name)))
            best = s->name;
    }
    warn_unknown(l, key, "", best);
    return NULL;
}

/* From the file of local-mcp-memory only the embedder and the transport are used: its database has
 * another schema and must never be opened. */
static bool is_used(const struct config_loader *l, const struct config_section *s)
{
    return s && (s->foreign || !l->c->foreign);
}

static int bind_section(struct config_loader *l, const struct config_section *s,
                        const struct fumi_val *v, struct config *layer)
{
    if (fumi_is(v, FUMI_NULL))
        return 0;
    if (!fumi_is(v, FUMI_OBJECT))
        return fail_at(l, v->p, "", fumi_fmt(l->a, "%s must be an object", s->name).p);
    for (const struct fumi_val *key = fumi_first(v); key; key = fumi_after(v, key))
        check_key(l, s, key);
    if (fumi_bind(l->a, &s->shape, v, (char *)layer + s->offset, l->e))
        return fail_at(l, position_of(l, v), s->name, l->e->text);
    return 0;
}

static int bind_file(struct config_loader *l, const struct fumi_val *root, struct config *layer)
{
    for (const struct fumi_val *key = fumi_first(root); key; key = fumi_after(root, key)) {
        const struct config_section *s = section_of(l, key);
        if (is_used(l, s) && bind_section(l, s, fumi_of(key), layer))
            return -1;
    }
    return 0;
}

static bool is_blank(struct fumi_str s)
{
    size_t i = 0;
    while (i < s.n && strchr(" \t\r\n", s.p[i]))
        i++;
    return i == s.n;
}

static int parse_file(struct config_loader *l, struct config *layer)
{
    if (is_blank(l->c->source_text))
        l->c->source_text = FUMI_STR("{}");
    const struct fumi_val *root = fumi_parse(l->a, l->c->source_text, l->e);
    if (!root)
        return fail_parse(l);
    if (!fumi_is(root, FUMI_OBJECT))
        return fail_at(l, root->p, "", "the file must contain an object");
    return bind_file(l, root, layer);
}

static int check_mode(struct config_loader *l, const struct config *layer)
{
    bool secret = layer->embedder.set.api_key.n || layer->previous.set.api_key.n ||
                  layer->http.set.token.n || store_postgres_secret(layer->store.url);
    if (!secret || !(l->mode & 077))
        return 0;
    struct fumi_str file = files_shown(l->c->source);
    return fumi_err_set(
        l->e, FUMI_INVALID_PARAMS,
        "%.*s contains a key, and other users can read it (mode %03o): run chmod 600",
        FUMI_ARG(file), l->mode);
}

/* Makes the paths of a layer absolute; relative ones start at `base`. */
static int expand_all(struct config_loader *l, struct config *layer, struct fumi_str base)
{
    for (size_t i = 0; i < CONFIG_PATHS; i++) {
        struct fumi_str *path = (struct fumi_str *)((char *)layer + config_path_offsets[i]);
        if (path->n && files_expand(l->a, *path, base, path, l->e))
            return -1;
    }
    return 0;
}

/* Copies what the layer sets over the configuration. */
static int apply_layer(struct config_loader *l, struct config *layer, struct fumi_str base)
{
    if (expand_all(l, layer, base))
        return -1;
    if (layer->paths.data_dir.n)
        l->c->store.path = (struct fumi_str){0};
    layer->paths.config_path = (struct fumi_str){0};
    for (size_t i = 0; i < CONFIG_SECTIONS; i++) {
        const struct config_section *s = &l->sections[i];
        config_overlay(&s->shape, (char *)l->c + s->offset, (char *)layer + s->offset);
    }
    return 0;
}

static bool is_bad_dim(int64_t dim)
{
    return dim && !vector_dim_fits(dim);
}

/* Earlier versions saved any dimension that a provider returned. The program must start with such a
 * file all the same: the dimension is treated as unknown. */
static void ignore_bad_dim(struct config_loader *l, const char *section, struct embed_config *m)
{
    if (!is_bad_dim(m->dim))
        return;
    warn(l,
         "%s.dim %" PRId64 " is ignored: a vector has " VECTOR_DIM_RANGE " numbers; remove it, "
         "and choose a model that fits",
         section, m->dim);
    m->dim = 0;
}

static int take_file(struct config_loader *l)
{
    struct config *layer = fumi_alloc(l->a, sizeof(*layer));
    if (parse_file(l, layer) || check_mode(l, layer))
        return -1;
    ignore_bad_dim(l, "embedder", &layer->embedder.set);
    ignore_bad_dim(l, "previousEmbedder", &layer->previous.set);
    return apply_layer(l, layer, files_dir(l->a, l->c->source));
}

static int open_file(struct config_loader *l, struct fumi_str path)
{
    struct file_text file;
    if (files_read(l->a, path, FILE_MAX, &file, l->e))
        return -1;
    if (!file.text.p)
        return 0;
    l->c->source = path;
    l->c->source_text = file.text;
    l->mode = file.mode;
    return 0;
}

static int read_file(struct config_loader *l)
{
    struct fumi_str theirs, none = {0};
    if (open_file(l, l->c->paths.config_path))
        return -1;
    if (!l->c->source.p && l->default_file) {
        if (files_expand(l->a, FUMI_STR("~/.local-mcp-memory/config.json"), none, &theirs, l->e) ||
            open_file(l, theirs))
            return -1;
        l->c->foreign = l->c->source.p;
    }
    return l->c->source.p ? take_file(l) : 0;
}

/* In a variable a list is separated by commas, and a bool may be 0 or 1. */
static void put_variable(struct config_loader *l, struct fumi_out *o, const struct fumi_field *f,
                         const char *text)
{
    if (f->type == FUMI_T_BOOL && (strcmp(text, "0") == 0 || strcmp(text, "1") == 0)) {
        fumi_put_bool(o, text[0] == '1');
        return;
    }
    if (f->type != FUMI_T_STRS) {
        flags_put_value(l->a, o, f, fumi_str(text));
        return;
    }
    fumi_put_open(o, '[');
    for (size_t n; *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        if (n)
            fumi_put_str(o, (struct fumi_str){text, n});
    }
    fumi_put_close(o, ']');
}

/* Returns the shape of the section with variables as names, so that errors name the variable, and
 * writes a JSON object of the variables that are set. */
static struct fumi_shape gather(struct config_loader *l, const struct config_section *s,
                                struct fumi_buf *out)
{
    struct fumi_out o = {.buf = out};
    struct fumi_shape shape = s->shape;
    struct fumi_field *fields = fumi_alloc(l->a, shape.n * sizeof(*fields));
    fumi_put_open(&o, '{');
    for (size_t i = 0; i < shape.n; i++) {
        const char *name = config_variable(l->a, s, &s->shape.fields[i]);
        fields[i] = s->shape.fields[i];
        if (!name)
            continue;
        fields[i].name = name;
        fields[i].name_n = strlen(name);
        if (!variable(name))
            continue;
        fumi_put_key(&o, name);
        put_variable(l, &o, &fields[i], variable(name));
    }
    fumi_put_close(&o, '}');
    shape.fields = fields;
    return shape;
}

static int read_variables(struct config_loader *l, const struct config_section *s,
                          struct config *layer)
{
    struct fumi_buf buf = {0};
    struct fumi_shape shape = gather(l, s, &buf);
    struct fumi_str text = fumi_buf_keep(&buf, l->a);
    const struct fumi_val *v = fumi_parse(l->a, text, l->e);
    return v ? fumi_bind(l->a, &shape, v, (char *)layer + s->offset, l->e) : -1;
}

static int read_environment(struct config_loader *l)
{
    struct config *layer = fumi_alloc(l->a, sizeof(*layer));
    for (size_t i = 0; i < CONFIG_SECTIONS; i++) {
        if (l->sections[i].prefix && read_variables(l, &l->sections[i], layer))
            return -1;
    }
    if (is_bad_dim(layer->embedder.set.dim))
        return fumi_err_set(l->e, FUMI_INVALID_PARAMS,
                            "FUMI_EMBEDDER_DIM must be 0 or " VECTOR_DIM_RANGE);
    return apply_layer(l, layer, (struct fumi_str){0});
}

static int apply_flags(struct config_loader *l)
{
    struct config layer = {.store = {.path = l->flags->db},
                           .paths = {.data_dir = l->flags->data_dir}};
    if (l->flags->db.p && l->flags->store.p)
        return fumi_err_set(l->e, FUMI_INVALID_PARAMS,
                            "--db and --store name two stores: give one of them");
    if (expand_all(l, &layer, (struct fumi_str){0}))
        return -1;
    if (layer.paths.data_dir.n) {
        l->c->paths.data_dir = layer.paths.data_dir;
        l->c->store.path = (struct fumi_str){0};
    }
    if (layer.store.path.n)
        l->c->store = (struct config_store){.path = layer.store.path};
    if (l->flags->store.p)
        l->c->store = (struct config_store){.url = l->flags->store};
    l->c->safety.memory.frozen |= l->flags->freeze;
    l->c->safety.allow_http |= l->flags->allow_http;
    l->c->projects.per_worktree |= l->flags->per_worktree;
    if (l->flags->secrets)
        l->c->safety.memory.secrets = l->flags->secrets - 1;
    return 0;
}

/* An address is used unless the type is sqlite. */
static int settle_type(struct config_loader *l)
{
    struct config_store *s = &l->c->store;
    if (!s->type.p)
        s->type = s->url.p ? FUMI_STR("postgres") : FUMI_STR("sqlite");
    if (fumi_eq(s->type, FUMI_STR("sqlite"))) {
        s->url = (struct fumi_str){0};
        return 0;
    }
    if (!fumi_eq(s->type, FUMI_STR("postgres")))
        return fumi_err_set(l->e, FUMI_INVALID_PARAMS,
                            "store.type %.*s is not supported: use sqlite or postgres",
                            s->type.n > SHOWN ? SHOWN : (int)s->type.n, s->type.p);
    if (!s->url.p || !store_postgres_is(s->url))
        return fumi_err_set(l->e, FUMI_INVALID_PARAMS,
                            "store.url must be the address of a PostgreSQL database, such as "
                            "postgres://USER@HOST/DATABASE");
    s->path = (struct fumi_str){0};
    return 0;
}

static int settle_store(struct config_loader *l)
{
    struct config *c = l->c;
    if (settle_type(l))
        return -1;
    if (!c->paths.data_dir.p &&
        files_xdg(l->a, "XDG_DATA_HOME", ".local/share", &c->paths.data_dir, l->e))
        return -1;
    if (!c->store.path.p && !c->store.url.p)
        c->store.path = files_join(l->a, c->paths.data_dir, "memory.db");
    return 0;
}

/* The URL for the value of OLLAMA_HOST, the address on which a server of Ollama listens. Its scheme
 * and port are optional. 0.0.0.0 is replaced by 127.0.0.1. */
static struct fumi_str ollama_url(struct fumi_arena *a, const char *host)
{
    const char *scheme = strstr(host, "://"), *rest = scheme ? scheme + 3 : host;
    bool any = strncmp(rest, "0.0.0.0", 7) == 0;
    const char *colon = strrchr(rest, ':'), *bracket = strrchr(rest, ']');
    bool port = scheme || (colon && (!bracket || colon > bracket));
    return fumi_fmt(a, "%.*s%s%s%s", scheme ? (int)(rest - host) : 7, scheme ? host : "http://",
                    any ? "127.0.0.1" : "", any ? rest + 7 : rest, port ? "" : ":11434");
}

/* Whether requests go to OpenAI itself: OPENAI_API_KEY is sent to no other host. */
static bool is_openai(const struct embed_config *m)
{
    return fumi_eq(m->provider, FUMI_STR("openai")) &&
           (!m->base_url.n || fumi_starts(m->base_url, FUMI_STR("https://api.openai.com/")));
}

static int settle_embedder(struct config_loader *l)
{
    struct config *c = l->c;
    struct embed_config *now = &c->embedder.set, *previous = &c->previous.set;
    const char *host = variable("OLLAMA_HOST");
    c->openai_key = fumi_str(variable("OPENAI_API_KEY"));
    if (c->openai_key.n && is_openai(now) && !variable("FUMI_EMBEDDER_API_KEY"))
        now->api_key = c->openai_key;
    if (c->openai_key.n && is_openai(previous) && !previous->api_key.n)
        previous->api_key = c->openai_key;
    if (!host || !fumi_eq(now->provider, FUMI_STR("ollama")) || now->base_url.n)
        return 0;
    now->base_url = ollama_url(l->a, host);
    const char *why = provider_url_fault(now->base_url);
    return why ? fumi_err_set(l->e, FUMI_INVALID_PARAMS, "OLLAMA_HOST %s", why) : 0;
}

int config_load(struct config *c, struct fumi_arena *a, const struct config_overrides *o,
                struct fumi_err *e)
{
    struct config_loader l = {.a = a, .c = c, .flags = o, .e = e};
    *c = (struct config){0};
    config_sections(l.sections);
    if (put_defaults(&l) || locate(&l) || read_file(&l) || read_environment(&l) ||
        apply_flags(&l) || settle_store(&l) || settle_embedder(&l))
        return -1;
    return 0;
}

struct fumi_str config_store_name(const struct config *c, struct fumi_arena *a)
{
    return c->store.path.p ? c->store.path : store_postgres_shown(a, c->store.url);
}

struct embed_config config_embed(const struct config *c, const struct config_embedder *from)
{
    struct embed_config out = from->set;
    out.allow_http = c->safety.allow_http;
    out.allowed_hosts = c->embedder.set.allowed_hosts;
    return out;
}
