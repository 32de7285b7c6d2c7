/* fumi groups: the groups of a project. A group is named by its key or by its id. */
#include "app/cli_notes.h"
#include "app/show.h"
#include "app/verbs.h"

#include <inttypes.h>

struct groups_flags {
    uint64_t given;
    struct fumi_str project, title, description;
};

#define FIELD(member, wire, ...) FUMI_FIELD(struct groups_flags, member, wire, __VA_ARGS__)
static const struct fumi_field fields[] = {
    FIELD(project, "project", "Project; that of the working directory if not given."),
    FIELD(title, "title", "update: a new title."),
    FIELD(description, "description", "add, update: what the group is for."),
};
static const struct fumi_shape shape = FUMI_PATCH_SHAPE(struct groups_flags, fields);
static const struct flag_alias aliases[] = {{"p", "project"}, {"t", "title"}, COMMAND_ALIASES};

static int put_project(struct invocation *i, struct session *s, struct fumi_out *o,
                       struct fumi_err *e)
{
    const struct groups_flags *f = i->flags;
    struct fumi_str project;
    if (session_project(s, i->a, f->project, &project, e))
        return -1;
    notes_put(o, "projectId", project);
    return 0;
}

static int put_new(struct invocation *i, struct session *s, struct fumi_out *o, struct fumi_err *e)
{
    const struct groups_flags *f = i->flags;
    notes_put(o, "description", f->description);
    return put_project(i, s, o, e);
}

static int list(struct invocation *i, struct session *s, const struct fumi_val **groups,
                struct fumi_err *e)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    const struct fumi_val *result;
    fumi_put_open(&o, '{');
    int rc = put_project(i, s, &o, e);
    fumi_put_close(&o, '}');
    struct fumi_json json = {fumi_buf_keep(&params, i->a)};
    if (rc || session_ask(s, i->a, "memory.group_list", json, &result, e))
        return -1;
    *groups = fumi_get(result, "groups");
    return 0;
}

/* Writes the id of the group that the first word names. What is no key may be an id. */
static int put_id(struct invocation *i, struct session *s, struct fumi_out *o, struct fumi_err *e)
{
    const struct fumi_val *groups;
    struct fumi_str name = i->words.items[0], id = name;
    if (list(i, s, &groups, e))
        return -1;
    for (const struct fumi_val *g = fumi_first(groups); g; g = fumi_after(groups, g)) {
        if (!fumi_text_is(fumi_get(g, "groupKey"), name))
            continue;
        id = fumi_text(i->a, fumi_get(g, "id"));
        if (!id.n)
            return fumi_err_set(e, ERR_NOT_FOUND,
                                "only notes name the group %.*s: create it with fumi groups add",
                                FUMI_ARG(name));
    }
    notes_put(o, "id", id);
    return 0;
}

static int put_patch(struct invocation *i, struct session *s, struct fumi_out *o,
                     struct fumi_err *e)
{
    const struct groups_flags *f = i->flags;
    if (!f->title.p && !f->description.p)
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "nothing to change: give --title or --description");
    fumi_put_key(o, "patch");
    fumi_put_open(o, '{');
    notes_put(o, "title", f->title);
    notes_put(o, "description", f->description);
    fumi_put_close(o, '}');
    return put_id(i, s, o, e);
}

static void print_group(struct fumi_arena *a, const struct fumi_val *g)
{
    int64_t notes = 0;
    struct fumi_str id = show_line(a, fumi_text(a, fumi_get(g, "id")));
    struct fumi_str title = show_line(a, fumi_text(a, fumi_get(g, "title")));
    struct fumi_str about = show_line(a, fumi_text(a, fumi_get(g, "description")));
    fumi_int(fumi_get(g, "noteCount"), &notes);
    printf("%8" PRId64 "  %s%.*s%s", notes, show_style(stdout, SHOW_BOLD),
           FUMI_ARG(show_line(a, fumi_text(a, fumi_get(g, "groupKey")))),
           show_style(stdout, SHOW_PLAIN));
    if (title.n)
        printf("  %.*s", FUMI_ARG(title));
    if (id.n)
        printf("  %s%.*s%s", show_style(stdout, SHOW_DIM), FUMI_ARG(id),
               show_style(stdout, SHOW_PLAIN));
    putchar('\n');
    if (about.n)
        printf("          %.*s\n", FUMI_ARG(about));
}

static void print_groups(struct invocation *i, const struct fumi_val *result)
{
    const struct fumi_val *groups = fumi_get(result, "groups");
    if (!fumi_first(groups))
        puts("No groups.");
    for (const struct fumi_val *g = fumi_first(groups); g; g = fumi_after(groups, g))
        print_group(i->a, g);
}

static void print_one(struct invocation *i, const struct fumi_val *result)
{
    print_group(i->a, result);
}

static void print_id(struct invocation *i, const struct fumi_val *result)
{
    printf("%.*s\n", FUMI_ARG(fumi_text(i->a, fumi_get(result, "id"))));
}

static const struct verb verbs[] = {
    {"list", "", "memory.group_list", .put = put_project, .print = print_groups},
    {"get", "KEY|ID", "memory.group_get", .least = 1, .most = 1, .put = put_id, .print = print_one},
    {"add",
     "KEY TITLE",
     "memory.group_create",
     {"groupKey", "title"},
     2,
     2,
     put_new,
     .print = print_id},
    {"update", "KEY|ID", "memory.group_update", .least = 1, .most = 1, .put = put_patch},
    {"delete", "KEY|ID", "memory.group_delete", .least = 1, .most = 1, .put = put_id},
    {0},
};

const struct command command_groups = {
    .name = "groups",
    .usage = "[list | get KEY|ID | add KEY TITLE | update KEY|ID | delete KEY|ID]",
    .help = "Lists the groups of a project, or adds, changes or deletes one.",
    .more = "A group has a key, which notes name, a title, and a description. The list begins with "
            "the number of its notes. Deleting a group leaves its notes; 'fumi undo' puts the "
            "group back.",
    .shape = &shape,
    .aliases = aliases,
    .output = OUTPUT_JSON,
    .words = 1 + VERB_WORDS,
    .verbs = verbs,
    .run = verb_run,
};
