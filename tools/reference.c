/* Prints docs/REFERENCE.md, from the tables that the program itself uses: methods and their shapes,
 * error codes, limits, MCP tools, resources and prompts, and settings. Run by docs/update; not
 * installed. */
#include "agent/agent_parts.h"
#include "app/command.h"
#include "app/session.h"
#include "app/verbs.h"
#include "mcp/mcp_parts.h"
#include "model/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Prints a text as part of a table cell. */
static void put_cell(const char *text)
{
    for (; *text; text++) {
        if (strchr("|<>*[]\\", *text))
            putchar('\\');
        putchar(*text == '\n' ? ' ' : *text);
    }
}

static void put_head(const char *columns)
{
    printf("\n| %s |\n|", columns);
    for (const char *p = columns; p; p = strchr(p + 1, '|'))
        fputs(" --- |", stdout);
    putchar('\n');
}

static void put_choices(const struct fumi_field *f)
{
    for (size_t i = 0; f->choices[i]; i++)
        printf("%s`\"%s\"`", i ? ", " : "", f->choices[i]);
}

static void put_type(const struct fumi_field *f)
{
    static const char *const names[] = {
        [FUMI_T_BOOL] = "boolean",  [FUMI_T_INT] = "integer",
        [FUMI_T_REAL] = "number",   [FUMI_T_STR] = "string",
        [FUMI_T_ANY] = "any",       [FUMI_T_STRS] = "array of strings",
        [FUMI_T_JSON] = "any",      [FUMI_T_LIST] = "array of objects",
        [FUMI_T_OBJECT] = "object", [FUMI_T_TIME] = "string (RFC 3339 time)",
    };
    if (f->type == FUMI_T_CHOICE)
        put_choices(f);
    else
        fputs(f->flags & FUMI_OBJECT_ONLY ? "object" : names[f->type], stdout);
    if (f->flags & FUMI_NULLABLE)
        fputs(" or null", stdout);
}

static const char *unit_of(enum fumi_type type)
{
    switch (type) {
    case FUMI_T_STR:
        return " characters";
    case FUMI_T_STRS:
    case FUMI_T_LIST:
        return " items";
    case FUMI_T_BOOL:
    case FUMI_T_INT:
    case FUMI_T_REAL:
    case FUMI_T_CHOICE:
    case FUMI_T_ANY:
    case FUMI_T_JSON:
    case FUMI_T_OBJECT:
    case FUMI_T_TIME:
        break;
    }
    return "";
}

static void put_limits(const struct fumi_field *f)
{
    const char *unit = unit_of(f->type);
    if (f->min == f->max)
        return;
    if (unit[0] && !f->min)
        printf("at most %" PRId64 "%s", f->max, unit);
    else
        printf("%" PRId64 " to %" PRId64 "%s", f->min, f->max, unit);
}

static void put_default(const struct fumi_field *f)
{
    if (f->def)
        printf("`%s`", f->def);
}

static void put_help(const struct fumi_field *f)
{
    put_cell(f->help ? f->help : "");
}

typedef void put_field_fn(const char *path, const struct fumi_field *f);

static void put_param(const char *path, const struct fumi_field *f)
{
    printf("| `%s` | ", path);
    put_type(f);
    printf(" | %s | ", f->flags & FUMI_REQUIRED ? "yes" : "no");
    put_default(f);
    fputs(" | ", stdout);
    put_limits(f);
    fputs(" | ", stdout);
    put_help(f);
    fputs(" |\n", stdout);
}

static void put_member(const char *path, const struct fumi_field *f)
{
    printf("| `%s` | ", path);
    put_type(f);
    printf(" | %s | ", f->flags & FUMI_OMIT ? "no" : "yes");
    put_help(f);
    fputs(" |\n", stdout);
}

/* Calls `put` for each member, and for the members of nested shapes as "patch.title" or
 * "notes[].text". */
static void walk(struct fumi_arena *a, const struct fumi_shape *s, const char *prefix,
                 put_field_fn *put)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct fumi_field *f = &s->fields[i];
        const char *path = fumi_fmt(a, "%s%s", prefix, f->name ? f->name : "(value)").p;
        put(path, f);
        if (f->shape)
            walk(a, f->shape, fumi_fmt(a, "%s%s.", path, f->type == FUMI_T_LIST ? "[]" : "").p,
                 put);
    }
}

static void put_method(struct fumi_arena *a, struct fumi_str name, const struct fumi_method *m)
{
    printf("\n### %.*s\n\n%s %s\n", FUMI_ARG(name), m->help,
           m->flags & FUMI_READ_ONLY ? "Read-only." : "Writes.");
    if (m->params) {
        put_head("Parameter | Type | Required | Default | Limits | Description");
        walk(a, m->params, "", put_param);
    } else {
        puts("\nNo parameters.");
    }
    if (m->result) {
        put_head("Result | Type | Always present | Description");
        walk(a, m->result, "", put_member);
    }
}

static void put_methods(struct fumi_arena *a, const struct fumi_server *s)
{
    puts("\n## Methods\n\n"
         "Parameters are passed by name, or by position in the order of the table. An unknown\n"
         "parameter is an error. `a.b` is a member of the object `a`; `a[].b` is a member of each\n"
         "item of the array `a`.");
    for (size_t i = 0; i < fumi_server_size(s); i++) {
        struct fumi_str name;
        const struct fumi_method *m = fumi_server_at(s, i, &name);
        put_method(a, name, m);
    }
}

static void put_code(int code, const char *message, const char *meaning)
{
    printf("| %d | ", code);
    put_cell(message ? message : "(describes the error)");
    fputs(" | ", stdout);
    put_cell(meaning);
    printf(" | %d |\n", command_status(code));
}

static void put_errors(void)
{
    puts("\n## Errors\n\n"
         "The exit status is that of `fumi` commands that end with the error. `data` has details,\n"
         "as a sentence or an object; -32603 has none.");
    put_head("Code | Message | Meaning | Exit status");
#define PUT(name, code, message, meaning) put_code(code, message, meaning);
    FUMI_CODES(PUT)
#undef PUT
#define PUT(name, code, meaning) put_code(code, NULL, meaning);
    MEMORY_CODES(PUT)
#undef PUT
    puts("\nErrors of MCP methods only:");
    put_head("Code | Meaning");
#define PUT(name, code, meaning) printf("| %d | %s |\n", code, meaning);
    MCP_CODES(PUT)
#undef PUT
}

static void put_all_limits(const struct fumi_server *s)
{
    const struct fumi_limits l = fumi_server_get_limits(s);
    const struct {
        const char *what, *unit;
        int64_t value;
    } rows[] = {
        {"One message", "bytes", (int64_t)l.message},
        {"Nesting of JSON", "levels", (int64_t)l.depth},
        {"One batch", "calls", (int64_t)l.batch},
        {"One answer", "bytes", (int64_t)l.answer},
        {"Time for the client to answer a request of the server", "milliseconds", l.request},
    };
    puts("\n## Limits\n\nDefaults for messages. [Settings](#settings) lists the limits for "
         "connections.");
    put_head("What | Limit");
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        printf("| %s | %" PRId64 " %s |\n", rows[i].what, rows[i].value, rows[i].unit);
    puts("\nLimits of stored data and of queries:");
    put_head("What | Limit");
#define PUT(name, value, unit, what) printf("| %s | %d %s |\n", what, name, unit);
    MEMORY_LIMITS(PUT)
#undef PUT
}

/* GitHub's anchor of a heading: only letters, digits, '_' and '-' are kept. */
static void put_link(const char *heading)
{
    printf("[`%s`](#", heading);
    for (const char *p = heading; *p; p++)
        if (*p != '.')
            putchar(*p);
    putchar(')');
}

static bool is_core(const char *name)
{
    size_t n;
    const struct fumi_tool *core = agent_tools(AGENT_CORE, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(core[i].name, name) == 0)
            return true;
    return false;
}

static void put_arguments(struct fumi_arena *a, const struct fumi_val *schema)
{
    const struct fumi_val *all = fumi_get(schema, "properties");
    const struct fumi_val *required = fumi_get(schema, "required");
    fputs(fumi_first(all) ? "\nArguments: " : "\nNo arguments.", stdout);
    for (const struct fumi_val *i = fumi_first(all); i; i = fumi_after(all, i)) {
        struct fumi_str name = fumi_text(a, i);
        bool must = false;
        for (const struct fumi_val *r = fumi_first(required); r; r = fumi_after(required, r))
            must |= fumi_text_is(r, name);
        printf("%s`%.*s`%s", i == fumi_first(all) ? "" : ", ", FUMI_ARG(name),
               must ? " (required)" : "");
    }
    puts(fumi_first(all) ? "." : "");
}

static void put_annotations(struct fumi_arena *a, const struct fumi_val *all)
{
    const char *before = "\nAnnotations: ";
    for (const struct fumi_val *i = fumi_first(all); i; i = fumi_after(all, i)) {
        if (!fumi_is(fumi_of(i), FUMI_TRUE))
            continue;
        printf("%s`%.*s`", before, FUMI_ARG(fumi_text(a, i)));
        before = ", ";
    }
    puts(*before == ',' ? "." : "\nAnnotations: none.");
}

static void put_tools(struct fumi_arena *a, const struct fumi_mcp *m)
{
    struct fumi_err e;
    const struct fumi_val *list = fumi_parse(a, m->app_tool_list.text, &e), *v = fumi_first(list);
    size_t all;
    agent_tools(AGENT_ALL, &all);
    puts("\n### Tools\n\n"
         "A tool calls a method and takes the parameters of the method as arguments. `fumi serve\n"
         "--tools` chooses which tools are offered: `core`, `all` (the default; includes core) or\n"
         "`admin` (includes all). Tools marked `app` are for the app alone, with each of these.\n"
         "Only annotations that are true are listed.");
    for (size_t i = 0; i < m->o.tools_n; i++, v = fumi_after(list, v)) {
        const struct fumi_tool *t = &m->o.tools[i];
        assert(fumi_text_is(fumi_get(v, "name"), fumi_str(t->name)));
        printf("\n#### %s\n\n%s (%s): ", t->name, t->title,
               t->flags & FUMI_MCP_APP_ONLY ? "app"
               : i >= all                   ? "admin"
               : is_core(t->name)           ? "core"
                                            : "all");
        put_cell(t->description);
        fputs(" Calls ", stdout);
        put_link(t->method);
        puts(".");
        put_arguments(a, fumi_get(v, "inputSchema"));
        put_annotations(a, fumi_get(v, "annotations"));
    }
}

static void put_resource(const struct fumi_resource *r)
{
    printf("| `%.*s` | %.*s | %.*s | %.*s |\n", FUMI_ARG(r->uri), FUMI_ARG(r->title),
           FUMI_ARG(r->type), FUMI_ARG(r->description));
}

static void put_resources(void)
{
    puts("\n### Resources and resource templates");
    put_head("URI | Title | Type | Description");
    put_resource(&agent_projects);
    put_resource(&agent_app_page);
    for (size_t i = 0; i < agent_resources.templates_n; i++) {
        const struct fumi_template *t = &agent_resources.templates[i];
        printf("| `%s` | %s | %s | %s |\n", t->uri, t->title, t->type, t->description);
    }
}

static void put_prompts(void)
{
    puts("\n### Prompts");
    for (size_t i = 0; i < agent_prompts_n; i++) {
        const struct fumi_prompt *p = &agent_prompts[i];
        printf("\n#### %s\n\n%s: %s\n", p->name, p->title, p->description);
        put_head("Argument | Required | Description");
        for (size_t k = 0; k < p->arguments_n; k++) {
            const struct fumi_prompt_argument *g = &p->arguments[k];
            printf("| `%s` | %s | ", g->name, g->required ? "yes" : "no");
            put_cell(g->description);
            fputs(" |\n", stdout);
        }
    }
}

static int put_mcp(struct fumi_arena *a, struct fumi_server *s, struct fumi_err *e)
{
    struct fumi_mcp_options o = {.name = "fumi", .version = FUMI_VERSION};
    o.tools = agent_tools(AGENT_ADMIN, &o.tools_n);
    struct fumi_mcp *m = fumi_mcp_new(s, &o, e);
    if (!m)
        return -1;
    puts("\n## MCP");
    put_tools(a, m);
    put_resources();
    put_prompts();
    fumi_mcp_free(m);
    return 0;
}

/* Whether fumi serve has a flag for a setting of that name. */
static bool is_flag(const struct flag_table *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < t->sets[i].shape->n; k++)
            if (strcmp(t->sets[i].shape->fields[k].name, name) == 0)
                return true;
    return false;
}

static void put_flag(const char *name)
{
    char text[FLAG_NAME];
    printf("`%.*s`", FUMI_ARG(flags_name(name, text)));
}

static void put_setting(struct fumi_arena *a, const struct config_section *s,
                        const struct fumi_field *f, const struct flag_table *flags)
{
    const char *variable = config_variable(a, s, f);
    printf("| `%s` | ", f->name);
    put_type(f);
    fputs(" | ", stdout);
    put_default(f);
    fputs(" | ", stdout);
    put_limits(f);
    fputs(" | ", stdout);
    if (is_flag(flags, f->name))
        put_flag(f->name);
    fputs(" | ", stdout);
    if (variable)
        printf("`%s`", variable);
    fputs(" | ", stdout);
    put_help(f);
    fputs(" |\n", stdout);
}

static void put_settings(struct fumi_arena *a)
{
    struct flag_set sets[COMMAND_SETS];
    const struct flag_table flags = command_flags(a, &command_serve, sets);
    struct config_section sections[CONFIG_SECTIONS];
    config_sections(sections);
    puts("\n## Settings\n\n"
         "Each section is an object of the configuration file. A flag of `fumi serve` overrides\n"
         "the environment, and the environment overrides the file.");
    for (size_t i = 0; i < CONFIG_SECTIONS; i++) {
        const struct config_section *s = &sections[i];
        printf("\n### Section %s\n\n%s\n", s->name, s->help);
        put_head("Setting | Type | Default | Limits | Flag | Variable | Description");
        for (size_t k = 0; k < s->shape.n; k++)
            put_setting(a, s, &s->shape.fields[k], &flags);
    }
}

static bool is_setting(const char *name)
{
    struct config_section sections[CONFIG_SECTIONS];
    config_sections(sections);
    for (size_t i = 0; i < CONFIG_SECTIONS; i++)
        for (size_t k = 0; k < sections[i].shape.n; k++)
            if (strcmp(sections[i].shape.fields[k].name, name) == 0)
                return true;
    return false;
}

static void put_serve_flags(void)
{
    const struct fumi_shape *s = command_serve.shape;
    puts("\n### Flags of fumi serve without a setting");
    put_head("Flag | Type | Default | Limits | Description");
    for (size_t i = 0; i < s->n; i++) {
        const struct fumi_field *f = &s->fields[i];
        if (is_setting(f->name))
            continue;
        fputs("| ", stdout);
        put_flag(f->name);
        fputs(" | ", stdout);
        put_type(f);
        fputs(" | ", stdout);
        put_default(f);
        fputs(" | ", stdout);
        put_limits(f);
        fputs(" | ", stdout);
        put_help(f);
        fputs(" |\n", stdout);
    }
}

/* What --json of a verb prints. */
static void put_verb(const struct command *c, const struct verb *v)
{
    printf("- `fumi %s %s%s%s`: ", c->name, v->name, v->usage[0] ? " " : "", v->usage);
    if (v->method) {
        fputs("the result of ", stdout);
        put_link(v->method);
        puts(".");
        return;
    }
    for (size_t i = 0; i < v->result->n; i++)
        printf("%s`%s`", i ? ", " : "", v->result->fields[i].name);
    puts(".");
}

static void put_command(struct fumi_arena *a, const struct command *c)
{
    printf("\n### fumi %s\n\n%s\n", c->name, c->help);
    if (c->prints)
        printf("\n%s\n", c->prints);
    else if (!c->verbs && !c->result) {
        fputs("\nThe result of ", stdout);
        put_link(c->method);
        puts(".");
    }
    if (c->verbs)
        putchar('\n');
    for (const struct verb *v = c->verbs; v && v->name; v++)
        put_verb(c, v);
    for (const struct verb *v = c->verbs; v && v->name; v++) {
        if (!v->result || (v->name != c->verbs->name && v->result == v[-1].result))
            continue;
        put_head("Member | Type | Always present | Description");
        walk(a, v->result, "", put_member);
    }
    if (c->result) {
        put_head("Member | Type | Always present | Description");
        walk(a, c->result, "", put_member);
    }
}

/* The commands that have --json, and what it prints. */
static void put_commands(struct fumi_arena *a)
{
    puts("\n## Commands\n\n"
         "What `--json` prints, on standard output and in UTF-8; `fumi help` describes the rest\n"
         "of a command. Errors and warnings are texts on standard error, and the exit status is\n"
         "the same as without `--json`. `--format json`, which older commands also take, prints\n"
         "the same.");
    for (size_t i = 0; i < COMMANDS; i++)
        if (command_printing(commands[i]))
            put_command(a, commands[i]);
}

int main(void)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct fumi_server *s = session_registry(&e);
    puts(
        "<!-- Generated by docs/update from the tables of the program; do not edit. -->\n\n"
        "# Reference\n\n"
        "The methods, errors and limits of the memory server, what it offers over MCP, what "
        "commands\n"
        "print as JSON, and the settings of `fumi`. Generated by `make reference`; do not edit.\n\n"
        "[Methods](#methods) · [Errors](#errors) · [Limits](#limits) · [MCP](#mcp) ·\n"
        "[Commands](#commands) · [Settings](#settings)");
    if (s) {
        put_methods(&a, s);
        put_errors();
        put_all_limits(s);
    }
    if (!s || put_mcp(&a, s, &e)) {
        fprintf(stderr, "error: %s\n", e.text);
        return EXIT_FAILURE;
    }
    put_commands(&a);
    put_settings(&a);
    put_serve_flags();
    fumi_server_free(s);
    fumi_arena_done(&a);
    return EXIT_SUCCESS;
}
