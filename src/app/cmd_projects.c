/* fumi projects: lists projects, and renames, merges or deletes one. The names are taken as they
 * are: a path inside of a repository names the project of that path, as older versions stored it.
 */
#include "app/cli_notes.h"
#include "app/session.h"
#include "app/show.h"

#include <inttypes.h>

static const struct flag_alias aliases[] = {{"f", "format"}, COMMAND_ALIASES};

static int64_t number(const struct fumi_val *result, const char *member)
{
    int64_t n = 0;
    fumi_int(fumi_get(result, member), &n);
    return n;
}

static void print_list(struct fumi_arena *a, const struct fumi_val *result)
{
    const struct fumi_val *all = fumi_get(result, "projects");
    if (!fumi_first(all))
        puts("No projects.");
    for (const struct fumi_val *p = fumi_first(all); p; p = fumi_after(all, p)) {
        struct fumi_str remote = show_line(a, fumi_text(a, fumi_get(p, "remote")));
        printf("%8" PRId64 "  %.*s", number(p, "notes"),
               FUMI_ARG(show_line(a, fumi_text(a, fumi_get(p, "projectId")))));
        if (remote.n)
            printf("  %s(%.*s)%s", show_style(stdout, SHOW_DIM), FUMI_ARG(remote),
                   show_style(stdout, SHOW_PLAIN));
        putchar('\n');
    }
}

static void print_more(const struct fumi_val *result)
{
    if (fumi_is(fumi_get(result, "more"), FUMI_TRUE))
        fputs("the time limit was reached: run the command again for the rest\n", stderr);
}

static void print_moved(struct fumi_arena *a, const struct fumi_val *result)
{
    int64_t n = number(result, "notes");
    printf("%" PRId64 " %s moved to %.*s; to undo this, run fumi undo %" PRId64 "\n", n,
           n == 1 ? "note was" : "notes were",
           FUMI_ARG(show_line(a, fumi_text(a, fumi_get(result, "projectId")))),
           number(result, "change"));
    print_more(result);
}

static void print_deleted(struct fumi_arena *a, const struct fumi_val *result)
{
    struct fumi_buf name = {0};
    show_word(&name, fumi_text(a, fumi_get(result, "projectId")));
    printf("deleted: %" PRId64 " notes, %" PRId64 " groups, %" PRId64 " globals; to undo this, "
           "run fumi undo --project %.*s --since %.*s\n",
           number(result, "notes"), number(result, "groups"), number(result, "globals"),
           FUMI_ARG(fumi_buf_str(&name)), FUMI_ARG(fumi_text(a, fumi_get(result, "since"))));
    fumi_buf_done(&name);
    print_more(result);
}

static const struct verb {
    const char *name, *method;
    const char *params[2]; /* that the words after the name give; NULL: no more */
    void (*print)(struct fumi_arena *a, const struct fumi_val *result);
} verbs[] = {
    {"list", "memory.project_list", {NULL, NULL}, print_list},
    {"rename", "memory.project_rename", {"projectId", "to"}, print_moved},
    {"merge", "memory.project_merge", {"projectId", "into"}, print_moved},
    {"delete", "memory.project_delete", {"projectId", NULL}, print_deleted},
};

static const struct verb *find(struct fumi_str name)
{
    for (size_t i = 0; i < FUMI_COUNT(verbs); i++)
        if (fumi_eq(name, fumi_str(verbs[i].name)))
            return &verbs[i];
    return NULL;
}

/* Returns false if the words are not those that the verb takes. */
static bool put_words(struct invocation *i, const struct verb *v, struct fumi_buf *params)
{
    struct fumi_out o = {.buf = params};
    size_t n = 1;
    fumi_put_open(&o, '{');
    for (size_t k = 0; k < FUMI_COUNT(v->params) && v->params[k] && n < i->words.n; k++)
        notes_put(&o, v->params[k], i->words.items[n++]);
    fumi_put_close(&o, '}');
    size_t want = 1 + (v->params[0] != NULL) + (v->params[1] != NULL);
    return i->words.n == (i->words.n ? want : 0);
}

static int projects(struct invocation *i)
{
    struct fumi_str name = i->words.n ? i->words.items[0] : FUMI_STR("list");
    const struct verb *v = find(name);
    const struct fumi_val *result;
    struct fumi_buf params = {0};
    if (!v)
        return command_misuse(i, "unknown: projects %.*s; give list, rename, merge or delete",
                              FUMI_ARG(show_line(i->a, name)));
    if (!put_words(i, v, &params)) {
        fumi_buf_done(&params);
        return command_misuse(i, "give: projects %s%s%s", v->name, v->params[0] ? " NAME" : "",
                              v->params[1] ? " NAME" : "");
    }
    int status = session_once(i, v->method, &params, &result);
    if (status)
        return status;
    if (i->json)
        notes_print_result(result);
    else
        v->print(i->a, result);
    return STATUS_OK;
}

const struct command command_projects = {
    .name = "projects",
    .usage = "[list | rename NAME NEW | merge NAME INTO | delete NAME]",
    .help = "Lists projects, or renames, merges or deletes one.",
    .more = "merge moves the notes, groups and globals of the first project to the second one; "
            "where both have a group or a global with the same key, that of the second stays. "
            "Names and paths are taken as they are, even inside of a repository. 'fumi undo' puts "
            "back what rename, merge and delete did.",
    .aliases = aliases,
    .output = OUTPUT_FORMAT,
    .words = 3,
    .run = projects,
};
