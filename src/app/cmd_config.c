/* fumi config: the settings of the configuration file, by the names SECTION.KEY. The method
 * memory.set_config changes the embedder, because it tests the new one and keeps the old one until
 * all notes have new vectors. */
#include "app/cli_notes.h"
#include "app/show.h"
#include "app/verbs.h"
#include "base/closest_name.h"

#include <stdlib.h>

struct setting {
    struct fumi_str key, from, variable;
    struct fumi_json value;
};

static const struct fumi_field setting_fields[] = {
    FUMI_FIELD(struct setting, key, "key", "Name of the setting: SECTION.KEY."),
    FUMI_FIELD(struct setting, value, "value", "Value in use; **** instead of a secret.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct setting, from, "from",
               "Where the value comes from: default, file or environment."),
    FUMI_FIELD(struct setting, variable, "variable", "Environment variable that sets it.",
               .flags = FUMI_NULLABLE),
};
static const struct fumi_shape setting_shape = FUMI_SHAPE(struct setting, setting_fields);

struct settings {
    struct fumi_str file;
    struct fumi_list settings;
};

static const struct fumi_field settings_fields[] = {
    FUMI_FIELD(struct settings, file, "file", "The configuration file, which need not exist."),
    FUMI_FIELD(struct settings, settings, "settings", "The settings.", .shape = &setting_shape),
};
static const struct fumi_shape settings_shape = FUMI_SHAPE(struct settings, settings_fields);

struct saved {
    bool ok;
    struct fumi_str file, warning;
};

static const struct fumi_field saved_fields[] = {
    FUMI_FIELD(struct saved, ok, "ok", "Always true: failures are errors."),
    FUMI_FIELD(struct saved, file, "file", "The configuration file."),
    FUMI_FIELD(struct saved, warning, "warning", "Why the new embedder could not be tested.",
               .flags = FUMI_OMIT),
};
static const struct fumi_shape saved_shape = FUMI_SHAPE(struct saved, saved_fields);

/* A setting, and the session that has the configuration. */
struct chosen {
    struct session s;
    struct config_section section;
    const struct fumi_field *field;
};

static const struct fumi_val *as_value(struct fumi_arena *a, const struct fumi_shape *s,
                                       const void *from, struct fumi_err *e)
{
    struct fumi_buf b = {0};
    fumi_emit(&(struct fumi_out){.buf = &b}, s, from);
    return fumi_parse(a, fumi_buf_keep(&b, a), e);
}

static bool is_secret(const struct fumi_field *f)
{
    return strcmp(f->name, "apiKey") == 0 || strcmp(f->name, "token") == 0;
}

static struct setting describe(struct fumi_arena *a, const struct config *c,
                               const struct config_section *s, const struct fumi_field *f)
{
    struct fumi_err ignored;
    struct fumi_shape one = s->shape;
    uint64_t given;
    const char *variable = config_variable(a, s, f), *set = variable ? getenv(variable) : NULL;
    memcpy(&given, (const char *)c + s->offset + s->shape.given, sizeof(given));
    one.given = FUMI_NONE;
    one.fields = f;
    one.n = 1;
    const struct fumi_val *v = as_value(a, &one, (const char *)c + s->offset, &ignored);
    bool secret = is_secret(f) && fumi_text(a, fumi_get(v, f->name)).n;
    struct setting out = {.key = fumi_fmt(a, "%s.%s", s->name, f->name),
                          .from = FUMI_STR("default"),
                          .variable = variable ? fumi_str(variable) : (struct fumi_str){0}};
    if (given >> (f - s->shape.fields) & 1)
        out.from = set && set[0] ? FUMI_STR("environment") : FUMI_STR("file");
    out.value = secret ? (struct fumi_json){FUMI_STR("\"****\"")}
                       : fumi_compact(a, fumi_get(v, f->name));
    return out;
}

/* A text as it is, anything else as JSON; a secret is masked. */
static struct fumi_str shown_value(struct fumi_arena *a, const struct fumi_val *v)
{
    return fumi_is(v, FUMI_STRING) ? show_line(a, fumi_text(a, v))
                                   : show_escaped(a, fumi_compact(a, v).text);
}

static int list(struct invocation *i, const struct fumi_val **result, struct fumi_err *e)
{
    struct session s = {0};
    struct config_section sections[CONFIG_SECTIONS];
    struct setting *rows = fumi_alloc(i->a, 256 * sizeof(*rows));
    struct settings all = {.settings = {rows, 0}};
    int rc = session_config(&s, &i->common, false, e);
    config_sections(sections);
    for (size_t k = 0; !rc && k < CONFIG_SECTIONS; k++) {
        const struct config_section *at = &sections[k];
        for (size_t n = 0; n < at->shape.n && strcmp(at->name, "previousEmbedder") != 0; n++)
            if (all.settings.n < 256)
                rows[all.settings.n++] = describe(i->a, &s.config, at, &at->shape.fields[n]);
    }
    all.file = s.config.paths.config_path;
    if (!rc)
        *result = as_value(i->a, &settings_shape, &all, e);
    session_close(&s);
    return rc || !*result ? -1 : 0;
}

/* Finds the setting that the first word names. */
static int choose(struct invocation *i, struct chosen *c, struct fumi_err *e)
{
    struct config_section sections[CONFIG_SECTIONS];
    struct fumi_str name = i->words.items[0], best = {0};
    struct closest_name near = closest_name_start(name);
    config_sections(sections);
    for (size_t k = 0; k < CONFIG_SECTIONS; k++) {
        for (size_t n = 0; n < sections[k].shape.n; n++) {
            const struct fumi_field *f = &sections[k].shape.fields[n];
            struct fumi_str is = fumi_fmt(i->a, "%s.%s", sections[k].name, f->name);
            if (fumi_eq(name, is)) {
                c->section = sections[k];
                c->field = f;
                return session_config(&c->s, &i->common, false, e);
            }
            if (closest_name_improves(&near, is))
                best = is;
        }
    }
    return fumi_err_set(e, ERR_NOT_FOUND, "there is no setting %.*s%s%.*s%s; fumi config lists all",
                        name.n > 60 ? 60 : (int)name.n, name.p, best.p ? " (did you mean " : "",
                        FUMI_ARG(best), best.p ? "?)" : "");
}

static int get(struct invocation *i, const struct fumi_val **result, struct fumi_err *e)
{
    struct chosen c = {0};
    int rc = choose(i, &c, e);
    if (!rc) {
        struct setting set = describe(i->a, &c.s.config, &c.section, c.field);
        *result = as_value(i->a, &setting_shape, &set, e);
        rc = *result ? 0 : -1;
    }
    session_close(&c.s);
    return rc;
}

/* The value of the second word as JSON: a list is separated by commas. */
static const struct fumi_val *read_value(struct invocation *i, const struct fumi_field *f,
                                         struct fumi_err *e)
{
    struct fumi_str text = i->words.items[1];
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    if (fumi_eq(text, FUMI_STR("-")) && command_input(i->a, VALUE_MAX, &text, e))
        return NULL;
    while (text.n && text.p[text.n - 1] == '\n')
        text.n--;
    if (f->type == FUMI_T_STRS)
        notes_put_list(&o, text);
    else
        flags_put_value(i->a, &o, f, text);
    return fumi_parse(i->a, fumi_buf_keep(&b, i->a), e);
}

/* The settings that memory.set_config changes. */
static bool is_embedder(const struct chosen *c)
{
    static const char *const members[] = {"provider", "model", "baseUrl", "apiKey", "dim"};
    for (size_t k = 0; strcmp(c->section.name, "embedder") == 0 && k < FUMI_COUNT(members); k++)
        if (strcmp(c->field->name, members[k]) == 0)
            return true;
    return false;
}

static int set_embedder(struct invocation *i, const struct chosen *c, const struct fumi_val *value,
                        struct fumi_str *warning, struct fumi_err *e)
{
    struct session s = {0};
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    const struct fumi_val *result = NULL;
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "embedder");
    fumi_put_open(&o, '{');
    fumi_put_key(&o, c->field->name);
    fumi_put_val(&o, value);
    fumi_put_close(&o, '}');
    fumi_put_close(&o, '}');
    struct fumi_json json = {fumi_buf_keep(&params, i->a)};
    int rc = session_open(&s, &i->common, e) ||
             session_ask(&s, i->a, "memory.set_config", json, &result, e);
    session_close(&s);
    *warning = fumi_text(i->a, fumi_get(result, "warning"));
    return rc ? -1 : 0;
}

static int put(struct invocation *i, bool unset, const struct fumi_val **result, struct fumi_err *e)
{
    struct chosen c = {0};
    const struct fumi_val *value = NULL;
    struct saved saved = {.ok = true};
    int rc = choose(i, &c, e);
    if (!rc && !unset)
        rc = (value = read_value(i, c.field, e)) ? 0 : -1;
    if (!rc)
        rc = value && is_embedder(&c) ? set_embedder(i, &c, value, &saved.warning, e)
                                      : config_put(&c.s.overrides, &c.section, c.field, value, e);
    saved.file = fumi_dup(i->a, c.s.config.paths.config_path);
    if (!rc)
        *result = as_value(i->a, &saved_shape, &saved, e);
    session_close(&c.s);
    return rc || !*result ? -1 : 0;
}

static int set(struct invocation *i, const struct fumi_val **result, struct fumi_err *e)
{
    return put(i, false, result, e);
}

static int unset(struct invocation *i, const struct fumi_val **result, struct fumi_err *e)
{
    return put(i, true, result, e);
}

static void print_all(struct invocation *i, const struct fumi_val *result)
{
    const struct fumi_val *all = fumi_get(result, "settings");
    printf("%s%.*s%s\n", show_style(stdout, SHOW_DIM),
           FUMI_ARG(show_line(i->a, fumi_text(i->a, fumi_get(result, "file")))),
           show_style(stdout, SHOW_PLAIN));
    for (const struct fumi_val *v = fumi_first(all); v; v = fumi_after(all, v)) {
        struct fumi_str from = fumi_text(i->a, fumi_get(v, "from"));
        bool usual = fumi_eq(from, FUMI_STR("default"));
        printf("%s%.*s = %.*s", show_style(stdout, usual ? SHOW_DIM : SHOW_BOLD),
               FUMI_ARG(fumi_text(i->a, fumi_get(v, "key"))),
               FUMI_ARG(shown_value(i->a, fumi_get(v, "value"))));
        if (!usual)
            printf(" (%.*s)", FUMI_ARG(from));
        printf("%s\n", show_style(stdout, SHOW_PLAIN));
    }
}

static void print_value(struct invocation *i, const struct fumi_val *result)
{
    printf("%.*s\n", FUMI_ARG(shown_value(i->a, fumi_get(result, "value"))));
}

static const struct verb verbs[] = {
    {"list", "", .run = list, .result = &settings_shape, .print = print_all},
    {"get", "KEY", .least = 1, .most = 1, .run = get, .result = &setting_shape,
     .print = print_value},
    {"set", "KEY VALUE|-", .least = 2, .most = 2, .run = set, .result = &saved_shape},
    {"unset", "KEY", .least = 1, .most = 1, .run = unset, .result = &saved_shape},
    {0},
};

const struct command command_config = {
    .name = "config",
    .usage = "[list | get KEY | set KEY VALUE|- | unset KEY]",
    .help = "Lists the settings, or prints, sets or removes one.",
    .more =
        "A KEY is SECTION.KEY of fumi.conf(5), such as embedder.model. list prints the values in "
        "use and where they come from; keys and tokens are masked. set and unset change the "
        "configuration file; a value that the file cannot have leaves it as it is. Separate "
        "the items of a list by commas. - reads the value from standard input, which keeps a "
        "key out of the list of processes. A new embedder is tested first, and a running "
        "server must be started again to see other settings.",
    .output = OUTPUT_JSON,
    .words = 1 + VERB_WORDS,
    .verbs = verbs,
    .run = verb_run,
};
