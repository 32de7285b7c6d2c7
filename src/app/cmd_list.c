/* fumi list */
#include "app/cli_notes.h"
#include "app/session.h"
#include "app/show.h"

static const struct flag_alias aliases[] = {
    {"p", "project"}, {"g", "group"}, {"n", "limit"}, {"f", "format"}, COMMAND_ALIASES,
};

static void print_item(struct fumi_arena *a, const struct fumi_val *note)
{
    struct fumi_str title = show_line(a, fumi_text(a, fumi_get(note, "title")));
    if (!title.n)
        title = FUMI_STR("(no title)");
    notes_print_facts(a, note);
    printf("  %s%.*s%s\n", show_style(stdout, SHOW_BOLD), FUMI_ARG(title),
           show_style(stdout, SHOW_PLAIN));
    notes_print_compact(a, note, NULL);
}

static void print_list(struct fumi_arena *a, const struct fumi_val *result)
{
    const struct fumi_val *items = fumi_get(result, "items");
    struct fumi_str next = fumi_text(a, fumi_get(result, "nextCursor"));
    if (!fumi_first(items))
        puts("No notes.");
    for (const struct fumi_val *note = fumi_first(items); note; note = fumi_after(items, note))
        print_item(a, note);
    if (next.n)
        fprintf(stderr, "there are more notes; to continue, use --cursor %.*s\n", FUMI_ARG(next));
}

static int list(struct invocation *i)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    struct fumi_err e = {0};
    const struct fumi_val *result = NULL, *given = fumi_parse(i->a, i->params.text, &e);
    if (!given)
        return command_report(&e);
    fumi_put_open(&o, '{');
    notes_put_given(i->a, &o, given);
    fumi_put_close(&o, '}');
    i->short_ids = !i->json;
    int status = session_once(i, command_list.method, &params, &result);
    if (status)
        return status;
    if (i->json)
        notes_print_result(result);
    else
        print_list(i->a, result);
    return STATUS_OK;
}

const struct command command_list = {
    .name = "list",
    .usage = "",
    .help = "Lists the newest notes of a project.",
    .more = "The default project is that of the working directory. Separate tags by "
            "commas.",
    .method = "memory.list_recent",
    .aliases = aliases,
    .output = OUTPUT_FORMAT,
    .run = list,
};
