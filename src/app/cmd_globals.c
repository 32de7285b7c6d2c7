/* fumi globals: the settings of a project. A global is named by its key. */
#include "app/cli_notes.h"
#include "app/show.h"
#include "app/verbs.h"
#include "model/note.h"

struct globals_flags {
    struct fumi_str project;
};

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct globals_flags, project, "project",
               "Project; that of the working directory if not given."),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct globals_flags, fields);
static const struct flag_alias aliases[] = {{"p", "project"}, COMMAND_ALIASES};

static int put_project(struct invocation *i, struct session *s, struct fumi_out *o,
                       struct fumi_err *e)
{
    const struct globals_flags *f = i->flags;
    struct fumi_str project;
    if (session_project(s, i->a, f->project, &project, e))
        return -1;
    notes_put(o, "projectId", project);
    return 0;
}

/* The value is JSON, or else a string. */
static int put_value(struct invocation *i, struct session *s, struct fumi_out *o,
                     struct fumi_err *e)
{
    struct fumi_str text = i->words.items[1];
    struct fumi_err ignored;
    if (fumi_eq(text, FUMI_STR("-")) && command_input(i->a, VALUE_MAX + 1, &text, e))
        return -1;
    const struct fumi_val *v = fumi_parse(i->a, text, &ignored);
    fumi_put_key(o, "value");
    if (v)
        fumi_put_val(o, v);
    else
        fumi_put_str(o, text);
    return put_project(i, s, o, e);
}

/* Asks for the global that the first word names. */
static int find(struct invocation *i, struct session *s, const struct fumi_val **found,
                struct fumi_err *e)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    fumi_put_open(&o, '{');
    notes_put(&o, "key", i->words.items[0]);
    int rc = put_project(i, s, &o, e);
    fumi_put_close(&o, '}');
    struct fumi_json json = {fumi_buf_keep(&params, i->a)};
    if (rc || session_ask(s, i->a, "memory.get_global", json, found, e))
        return -1;
    if (!fumi_is(fumi_get(*found, "found"), FUMI_TRUE))
        return fumi_err_set(e, ERR_NOT_FOUND, "the global %.*s is not set: fumi globals lists them",
                            FUMI_ARG(i->words.items[0]));
    return 0;
}

static int put_key(struct invocation *i, struct session *s, struct fumi_out *o, struct fumi_err *e)
{
    const struct fumi_val *found;
    notes_put(o, "key", i->words.items[0]);
    return find(i, s, &found, e) || put_project(i, s, o, e) ? -1 : 0;
}

static int put_id(struct invocation *i, struct session *s, struct fumi_out *o, struct fumi_err *e)
{
    const struct fumi_val *found;
    if (find(i, s, &found, e))
        return -1;
    notes_put(o, "id", fumi_text(i->a, fumi_get(found, "id")));
    return 0;
}

/* A string as it is, anything else as JSON. */
static struct fumi_str value_text(struct fumi_arena *a, const struct fumi_val *v)
{
    return fumi_is(v, FUMI_STRING) ? fumi_text(a, v) : show_escaped(a, fumi_compact(a, v).text);
}

static void print_all(struct invocation *i, const struct fumi_val *result)
{
    const struct fumi_val *all = fumi_get(result, "globals");
    if (!fumi_first(all))
        puts("No globals.");
    for (const struct fumi_val *g = fumi_first(all); g; g = fumi_after(all, g))
        printf("%s%.*s%s = %.*s\n", show_style(stdout, SHOW_BOLD),
               FUMI_ARG(show_line(i->a, fumi_text(i->a, fumi_get(g, "key")))),
               show_style(stdout, SHOW_PLAIN),
               FUMI_ARG(show_line(i->a, value_text(i->a, fumi_get(g, "value")))));
}

static void print_value(struct invocation *i, const struct fumi_val *result)
{
    printf("%.*s\n", FUMI_ARG(show_lines(i->a, value_text(i->a, fumi_get(result, "value")))));
}

static const struct verb verbs[] = {
    {"list",
     "[PREFIX]",
     "memory.list_globals",
     {"prefix"},
     0,
     1,
     .put = put_project,
     .print = print_all},
    {"get", "KEY", "memory.get_global", {NULL}, 1, 1, .put = put_key, .print = print_value},
    {"set", "KEY VALUE|-", "memory.upsert_global", {"key"}, 2, 2, .put = put_value},
    {"delete", "KEY", "memory.delete", {NULL}, 1, 1, .put = put_id},
    {0},
};

const struct command command_globals = {
    .name = "globals",
    .usage = "[list [PREFIX] | get KEY | set KEY VALUE|- | delete KEY]",
    .help = "Lists the globals of a project, or prints, sets or deletes one.",
    .more = "A global is a setting of a project, such as global.project.conventions. The value is "
            "JSON; what is no JSON is a string. - reads it from standard input. 'fumi undo' puts "
            "a global back.",
    .shape = &shape,
    .aliases = aliases,
    .output = OUTPUT_JSON,
    .words = 1 + VERB_WORDS,
    .verbs = verbs,
    .run = verb_run,
};
