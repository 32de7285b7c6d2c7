/* fumi projects: lists projects, and renames, merges or deletes one. The names are taken as they
 * are: a path inside of a repository names the project of that path, as older versions stored it.
 */
#include "app/cli_notes.h"
#include "app/show.h"
#include "app/verbs.h"

#include <inttypes.h>

static const struct flag_alias aliases[] = {{"f", "format"}, COMMAND_ALIASES};

static int64_t number(const struct fumi_val *result, const char *member)
{
    int64_t n = 0;
    fumi_int(fumi_get(result, member), &n);
    return n;
}

static void print_list(struct invocation *i, const struct fumi_val *result)
{
    struct fumi_arena *a = i->a;
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

static void print_moved(struct invocation *i, const struct fumi_val *result)
{
    struct fumi_arena *a = i->a;
    int64_t n = number(result, "notes");
    printf("%" PRId64 " %s moved to %.*s; to undo this, run fumi undo %" PRId64 "\n", n,
           n == 1 ? "note was" : "notes were",
           FUMI_ARG(show_line(a, fumi_text(a, fumi_get(result, "projectId")))),
           number(result, "change"));
}

static void print_deleted(struct invocation *i, const struct fumi_val *result)
{
    static const char *const names[] = {"notes", "groups", "globals"};
    (void)i;
    fputs("deleted:", stdout);
    for (size_t k = 0; k < FUMI_COUNT(names); k++) {
        int64_t n = number(result, names[k]);
        printf("%s %" PRId64 " %.*s", k ? "," : "", n, (int)strlen(names[k]) - (n == 1), names[k]);
    }
    printf("; to undo this, run fumi undo %" PRId64 "\n", number(result, "change"));
}

static const struct verb verbs[] = {
    {"list", "", "memory.project_list", {NULL}, .print = print_list},
    {"rename",
     "NAME NEW",
     "memory.project_rename",
     {"projectId", "to"},
     2,
     2,
     .print = print_moved},
    {"merge",
     "NAME INTO",
     "memory.project_merge",
     {"projectId", "into"},
     2,
     2,
     .print = print_moved},
    {"delete", "NAME", "memory.project_delete", {"projectId"}, 1, 1, .print = print_deleted},
    {0},
};

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
    .verbs = verbs,
    .run = verb_run,
};
