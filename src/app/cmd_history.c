/* fumi history */
#include "app/cli_notes.h"
#include "app/session.h"
#include "app/show.h"

#include <inttypes.h>

static const struct flag_alias aliases[] = {
    {"p", "project"}, {"n", "limit"}, {"f", "format"}, COMMAND_ALIASES};

/* The names of the members, or with `whole` a line for each with its value before. */
static void print_before(struct fumi_arena *a, const struct fumi_val *before, bool whole)
{
    for (const struct fumi_val *k = fumi_first(before); k; k = fumi_after(before, k)) {
        const struct fumi_val *v = fumi_of(k);
        struct fumi_str name = show_line(a, fumi_text(a, k)), text = fumi_text(a, v);
        if (!fumi_is(v, FUMI_STRING))
            text = fumi_compact(a, v).text;
        if (whole)
            printf("\n    %.*s was: %.*s", FUMI_ARG(name), FUMI_ARG(show_line(a, text)));
        else
            printf("%s%.*s", k == fumi_first(before) ? "  " : ", ", FUMI_ARG(name));
    }
}

static void print_item(struct fumi_arena *a, const struct fumi_val *item, bool whole)
{
    int64_t change = 0, undoes = 0;
    fumi_int(fumi_get(item, "change"), &change);
    fumi_int(fumi_get(item, "undoes"), &undoes);
    printf("%s%6" PRId64 "%s  %.*s  %-8.*s  %.*s", show_style(stdout, SHOW_BOLD), change,
           show_style(stdout, SHOW_PLAIN), FUMI_ARG(notes_minute(a, fumi_get(item, "at"))),
           FUMI_ARG(fumi_text(a, fumi_get(item, "op"))),
           FUMI_ARG(show_line(a, fumi_text(a, fumi_get(item, "id")))));
    notes_print_author(a, fumi_get(item, "by"));
    if (undoes)
        printf("  undoes %" PRId64, undoes);
    print_before(a, fumi_get(item, "before"), whole);
    putchar('\n');
}

static void print_all(struct fumi_arena *a, const struct fumi_val *result, bool whole)
{
    const struct fumi_val *items = fumi_get(result, "items");
    struct fumi_str next = fumi_text(a, fumi_get(result, "nextCursor"));
    if (!fumi_first(items))
        puts("No changes.");
    for (const struct fumi_val *v = fumi_first(items); v; v = fumi_after(items, v))
        print_item(a, v, whole);
    if (next.n)
        fprintf(stderr, "there are more changes; to continue, use --cursor %.*s\n", FUMI_ARG(next));
}

static int history(struct invocation *i)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    struct fumi_err e = {0};
    const struct fumi_val *result = NULL, *given = fumi_parse(i->a, i->params.text, &e);
    if (!given)
        return command_report(&e);
    fumi_put_open(&o, '{');
    notes_put_given(i->a, &o, given);
    if (i->words.n)
        notes_put(&o, "id", i->words.items[0]);
    else if (!fumi_get(given, "session") && !fumi_get(given, "projectId"))
        notes_put(&o, "projectId", FUMI_STR("."));
    fumi_put_close(&o, '}');
    i->short_ids = !i->json;
    int status = session_once(i, command_history.method, &params, &result);
    if (status)
        return status;
    if (i->json)
        notes_print_result(result);
    else
        print_all(i->a, result, i->words.n);
    return STATUS_OK;
}

const struct command command_history = {
    .name = "history",
    .usage = "[ID]",
    .help = "Lists what was changed, when and by whom.",
    .more = "Newest first: the number of the change, its time, what was done, the id of the note, "
            "group or global, the client, and the members that changed. With an ID, their values "
            "before are printed too. Without an ID and --session, the default project is that of "
            "the working directory. What a client says of its name is marked with a question "
            "mark. history.days and history.bytes of the configuration limit how much is kept.",
    .method = "memory.history",
    .word_param = "id",
    .aliases = aliases,
    .output = OUTPUT_FORMAT,
    .words = 1,
    .run = history,
};
