/* The engine of shell completion. A line is read from left to right, as flags_parse reads it, but
 * nothing is an error: what comes before the last word says what that word is. */
#include "app/complete.h"

#include "app/cli_notes.h"
#include "app/files.h"
#include "app/session.h"
#include "app/setup_agents.h"
#include "app/show.h"
#include "app/verbs.h"

#include <unistd.h>

enum { LIMIT = 50, ABOUT = 60, LOG_SILENT = 4 };

struct completion {
    struct fumi_arena *a;
    struct fumi_strs words; /* up to the last one */
    struct fumi_str last;   /* what is to be completed */
    struct fumi_str before; /* of `last`: "--mode=", which is printed too */
    const struct command *c;
    struct flag_set sets[COMMAND_SETS + 1];
    struct flag_table flags;
    struct fumi_strs given;      /* words that are no flags and no values of flags */
    struct common common;        /* --db and so on, as far as they are given */
    struct fumi_str project;     /* given by a flag; null: none */
    const struct fumi_field *of; /* the flag whose value is completed; NULL: none */
};

static void offer(const struct completion *x, struct fumi_str value, struct fumi_str about)
{
    struct fumi_str line = show_cut(show_line(x->a, about), ABOUT);
    if (fumi_starts(value, x->last) && !memchr(value.p, '\n', value.n))
        printf("%.*s%.*s\t%.*s\n", FUMI_ARG(x->before), FUMI_ARG(value), FUMI_ARG(line));
}

static void offer_all(const struct completion *x, const char *const *names)
{
    for (; *names; names++)
        offer(x, fumi_str(*names), FUMI_STR(""));
}

/* --- the store --- */

/* Calls a method of the store that the words name; `project`: in the project that they name. NULL
 * if there is no store. The result lives in the arena. */
static const struct fumi_val *ask(const struct completion *x, const char *method, const char *kind,
                                  bool project)
{
    struct session s = {.short_ids = true};
    struct fumi_err e = {0};
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    const struct fumi_val *result = NULL;
    struct place here = {0};
    int rc = session_config(&s, &x->common, false, &e) ||
             s.config.store.url.p || /* no network while somebody types */
             access(files_name(x->a, s.config.store.path), R_OK) ||
             session_begin(&s, "stdio", &e) ||
             (project && session_place(&s, x->a, x->project, &here, &e));
    fumi_put_open(&o, '{');
    notes_put(&o, "kind", fumi_str(kind));
    notes_put(&o, "projectId", here.project);
    if (memory_method(method)->flags & FUMI_READ_ONLY && strcmp(method, "memory.group_list") != 0 &&
        strcmp(method, "memory.list_globals") != 0) {
        fumi_put_key(&o, "limit");
        fumi_put_int(&o, LIMIT);
    }
    fumi_put_close(&o, '}');
    struct fumi_json json = {fumi_buf_keep(&params, x->a)};
    if (!rc && session_ask(&s, x->a, method, json, &result, &e))
        result = NULL;
    session_close(&s);
    return result;
}

static void offer_items(const struct completion *x, const struct fumi_val *items, const char *name,
                        const char *about, const char *other)
{
    for (const struct fumi_val *v = fumi_first(items); v; v = fumi_after(items, v)) {
        const struct fumi_val *is = fumi_get(v, name);
        struct fumi_str more = fumi_text(x->a, fumi_get(v, about));
        offer(x, fumi_is(is, FUMI_STRING) ? fumi_text(x->a, is) : fumi_raw(is),
              more.n ? more : fumi_text(x->a, fumi_get(v, other)));
    }
}

static void offer_names(const struct completion *x, const char *kind)
{
    bool project = strcmp(kind, "project") != 0;
    offer_items(x, fumi_get(ask(x, "memory.list_names", kind, project), "names"), "name", "", "");
}

static void projects(const struct completion *x)
{
    offer_names(x, "project");
}

static void groups(const struct completion *x)
{
    offer_names(x, "group");
}

static void tags(const struct completion *x)
{
    offer_names(x, "tag");
}

static void notes(const struct completion *x)
{
    offer_items(x, fumi_get(ask(x, "memory.list_recent", NULL, true), "items"), "id", "title",
                "text");
}

static void globals(const struct completion *x)
{
    offer_items(x, fumi_get(ask(x, "memory.list_globals", NULL, true), "globals"), "key", "value",
                "");
}

static void changes(const struct completion *x)
{
    offer_items(x, fumi_get(ask(x, "memory.history", NULL, true), "items"), "change", "op", "");
}

/* --- the program --- */

static void command_names(const struct completion *x)
{
    for (size_t i = 0; i < COMMANDS; i++)
        offer(x, fumi_str(commands[i]->name), fumi_str(commands[i]->help));
}

static void methods(const struct completion *x)
{
    struct fumi_err e;
    struct fumi_str name;
    struct fumi_server *s = session_registry(&e);
    for (size_t i = 0; s && i < fumi_server_size(s); i++) {
        const struct fumi_method *m = fumi_server_at(s, i, &name);
        offer(x, name, fumi_str(m->help));
    }
    if (s)
        fumi_server_free(s);
}

static void agents(const struct completion *x)
{
    for (size_t i = 0; i < SETUP_AGENTS; i++)
        offer(x, fumi_str(setup_agents[i].name), fumi_str(setup_agents[i].title));
}

static void shells(const struct completion *x)
{
    static const char *const names[] = {"bash", "zsh", "fish", NULL};
    offer_all(x, names);
}

static void hooks(const struct completion *x)
{
    static const char *const names[] = {"session-start", "prompt", "pre-compact", "session-end",
                                        NULL};
    offer_all(x, names);
}

static void review_words(const struct completion *x)
{
    static const char *const names[] = {"accept", "reject", NULL};
    if (!x->given.n)
        offer_all(x, names);
    else
        offer_items(x, fumi_get(ask(x, "memory.review", NULL, false), "items"), "id", "op", "");
}

static void model_words(const struct completion *x)
{
    offer(x, FUMI_STR("install"), FUMI_STR("Installs a model."));
}

static void test_words(const struct completion *x)
{
    if (!x->given.n)
        offer(x, FUMI_STR("add"), FUMI_STR("Pins a question."));
    else if (x->given.n > 1)
        notes(x);
}

static void keys(const struct completion *x)
{
    struct config_section sections[CONFIG_SECTIONS];
    config_sections(sections);
    for (size_t i = 0; i < CONFIG_SECTIONS; i++)
        for (size_t k = 0; k < sections[i].shape.n; k++)
            offer(x, fumi_fmt(x->a, "%s.%s", sections[i].name, sections[i].shape.fields[k].name),
                  fumi_str(sections[i].shape.fields[k].help));
}

static void offer_values(const struct completion *x, const struct fumi_field *f)
{
    static const char *const booleans[] = {"true", "false", NULL};
    if (f->type == FUMI_T_CHOICE)
        offer_all(x, f->choices);
    else if (f->type == FUMI_T_BOOL)
        offer_all(x, booleans);
}

/* fumi config set KEY ... */
static void setting_values(const struct completion *x)
{
    struct config_section sections[CONFIG_SECTIONS];
    config_sections(sections);
    for (size_t i = 0; i < CONFIG_SECTIONS; i++)
        for (size_t k = 0; k < sections[i].shape.n; k++) {
            const struct fumi_field *f = &sections[i].shape.fields[k];
            if (fumi_eq(x->given.items[1], fumi_fmt(x->a, "%s.%s", sections[i].name, f->name)))
                offer_values(x, f);
        }
}

/* --- what fits --- */

/* What a word of a command is, by its position; the last row of a command is also for all later
 * words if `all` is set. */
static const struct {
    const char *command, *verb; /* verb: the first word; NULL: any */
    size_t at;
    bool all;
    void (*offer)(const struct completion *x);
} words[] = {
    {"help", NULL, 0, false, command_names},
    {"call", NULL, 0, false, methods},
    {"setup", NULL, 0, false, agents},
    {"completion", NULL, 0, false, shells},
    {"hook", NULL, 0, false, hooks},
    {"model", NULL, 0, false, model_words},
    {"test", NULL, 0, true, test_words},
    {"review", NULL, 0, true, review_words},
    {"get", NULL, 0, false, notes},
    {"update", NULL, 0, false, notes},
    {"delete", NULL, 0, false, notes},
    {"history", NULL, 0, false, notes},
    {"forget", NULL, 0, true, notes},
    {"undo", NULL, 0, false, changes},
    {"projects", "rename", 1, false, projects},
    {"projects", "merge", 1, true, projects},
    {"projects", "delete", 1, false, projects},
    {"groups", "get", 1, false, groups},
    {"groups", "update", 1, false, groups},
    {"groups", "delete", 1, false, groups},
    {"globals", "get", 1, false, globals},
    {"globals", "set", 1, false, globals},
    {"globals", "delete", 1, false, globals},
    {"config", "get", 1, false, keys},
    {"config", "set", 1, false, keys},
    {"config", "unset", 1, false, keys},
    {"config", "set", 2, false, setting_values},
};

static void offer_words(const struct completion *x)
{
    for (const struct verb *v = x->c->verbs; v && v->name && !x->given.n; v++)
        offer(x, fumi_str(v->name), fumi_str(v->usage));
    for (size_t i = 0; i < FUMI_COUNT(words); i++) {
        bool here = words[i].at == x->given.n || (words[i].all && words[i].at < x->given.n);
        if (!here || strcmp(words[i].command, x->c->name) != 0 ||
            (words[i].verb && !fumi_eq(x->given.items[0], fumi_str(words[i].verb))))
            continue;
        words[i].offer(x);
    }
}

static void offer_flags(const struct completion *x)
{
    char name[FLAG_NAME];
    for (size_t i = 0; i < x->flags.n; i++) {
        const struct fumi_shape *s = x->flags.sets[i].shape;
        for (size_t k = 0; k < s->n; k++)
            offer(x, flags_name(s->fields[k].name, name), fumi_str(s->fields[k].help));
    }
}

static void offer_value(const struct completion *x, const struct fumi_field *f)
{
    static const char *const formats[] = {"text", "json", NULL};
    static const struct {
        const char *kind;
        void (*offer)(const struct completion *x);
    } kinds[] = {{"PROJECT", projects}, {"GROUP", groups}};
    struct fumi_buf kind = {0};
    flags_put_kind(&kind, f);
    offer_values(x, f);
    if (strcmp(f->name, "tags") == 0 || strcmp(f->name, "anyTags") == 0)
        tags(x);
    else if (strcmp(f->name, "format") == 0 && f->type == FUMI_T_STR)
        offer_all(x, formats);
    for (size_t i = 0; i < FUMI_COUNT(kinds); i++)
        if (fumi_eq(fumi_buf_str(&kind), fumi_str(kinds[i].kind)))
            kinds[i].offer(x);
    fumi_buf_done(&kind);
}

/* The flag of a word such as "--mode" or "-k". Returns NULL if it is none. */
static const struct fumi_field *flag_of(const struct completion *x, struct fumi_str word)
{
    char name[FLAG_NAME];
    if (word.n < 2 || word.p[0] != '-')
        return NULL;
    size_t dashes = word.p[1] == '-' ? 2 : 1;
    word = (struct fumi_str){word.p + dashes, word.n - dashes};
    for (const struct flag_alias *k = x->flags.aliases; k && k->alias; k++)
        if (fumi_eq(word, fumi_str(k->alias)))
            word = fumi_str(k->name);
    for (size_t i = 0; i < x->flags.n; i++) {
        const struct fumi_shape *s = x->flags.sets[i].shape;
        for (size_t k = 0; k < s->n; k++) {
            struct fumi_str is = flags_name(s->fields[k].name, name);
            if (fumi_eq(word, (struct fumi_str){is.p + 2, is.n - 2}))
                return &s->fields[k];
        }
    }
    return NULL;
}

static void keep_value(struct completion *x, const struct fumi_field *f, struct fumi_str value)
{
    const struct {
        const char *name;
        struct fumi_str *to;
    } kept[] = {{"project", &x->project},
                {"projectId", &x->project},
                {"db", &x->common.db},
                {"dataDir", &x->common.data_dir},
                {"config", &x->common.config}};
    for (size_t i = 0; i < FUMI_COUNT(kept); i++)
        if (strcmp(f->name, kept[i].name) == 0)
            *kept[i].to = value;
}

/* bash makes three words of "--mode=words". */
static bool is_equals(struct fumi_str word)
{
    return fumi_eq(word, FUMI_STR("="));
}

static void read_line(struct completion *x)
{
    for (size_t i = 0; i < x->words.n; i++) {
        struct fumi_str word = x->words.items[i];
        const char *equals = word.n ? memchr(word.p, '=', word.n) : NULL;
        size_t name = equals ? (size_t)(equals - word.p) : word.n;
        const struct fumi_field *f = flag_of(x, (struct fumi_str){word.p, name});
        if (f && equals) {
            keep_value(x, f, (struct fumi_str){equals + 1, word.n - name - 1});
            continue;
        }
        if (!f || f->type == FUMI_T_BOOL) {
            if (word.n && word.p[0] != '-')
                x->given.items[x->given.n++] = word;
            continue;
        }
        size_t value = i + 1 + (i + 1 < x->words.n && is_equals(x->words.items[i + 1]));
        if (value >= x->words.n)
            x->of = f;
        else
            keep_value(x, f, x->words.items[value]);
        i = value;
    }
}

/* Splits a last word such as "--mode=w" into the flag and the beginning of its value. */
static void split_last(struct completion *x)
{
    const char *equals = x->last.n && x->last.p[0] == '-' ? memchr(x->last.p, '=', x->last.n)
                                                          : NULL;
    if (is_equals(x->last))
        x->last.n = 0;
    if (!equals)
        return;
    size_t n = (size_t)(equals - x->last.p) + 1;
    x->of = flag_of(x, (struct fumi_str){x->last.p, n - 1});
    x->before = (struct fumi_str){x->last.p, n};
    x->last = (struct fumi_str){x->last.p + n, x->last.n - n};
}

/* The params of the method that `fumi call` names are flags. */
static void add_method(struct completion *x, struct fumi_server *registry)
{
    for (size_t i = 0; i < x->words.n; i++) {
        const struct fumi_method *m = session_method(registry, x->words.items[i]);
        if (!m || !m->params)
            continue;
        x->sets[x->flags.n++] = (struct flag_set){.shape = m->params};
        return;
    }
}

static void complete(struct completion *x)
{
    struct fumi_err e;
    struct fumi_server *registry = x->c->methods ? session_registry(&e) : NULL;
    x->flags = command_flags(x->a, x->c, x->sets);
    if (registry)
        add_method(x, registry);
    split_last(x);
    if (!x->of)
        read_line(x);
    if (x->of)
        offer_value(x, x->of);
    else if (x->last.n && x->last.p[0] == '-')
        offer_flags(x);
    else
        offer_words(x);
    if (registry)
        fumi_server_free(registry);
}

void complete_words(struct fumi_arena *a, struct fumi_strs given)
{
    struct completion x = {.a = a, .common = {.log = LOG_SILENT}};
    if (!given.n)
        return;
    x.last = given.items[given.n - 1];
    x.words = (struct fumi_strs){given.items + 1, given.n - 1 - (given.n > 1)};
    x.given.items = fumi_alloc(a, given.n * sizeof(*x.given.items));
    if (given.n == 1) {
        command_names(&x);
        return;
    }
    x.c = command_find(given.items[0]);
    if (x.c)
        complete(&x);
}
