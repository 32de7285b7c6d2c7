/* fumi undo */
#include "app/cli_notes.h"
#include "app/session.h"
#include "app/show.h"

#include <inttypes.h>

static const struct flag_alias aliases[] = {{"p", "project"}, {"f", "format"}, COMMAND_ALIASES};

static void print_undone(struct fumi_arena *a, const struct fumi_val *result, bool dry)
{
    const struct fumi_val *undone = fumi_get(result, "undone");
    int64_t change = 0;
    fumi_int(fumi_get(result, "change"), &change);
    for (const struct fumi_val *v = fumi_first(undone); v; v = fumi_after(undone, v))
        printf("%-12.*s %.*s\n", FUMI_ARG(fumi_text(a, fumi_get(v, "op"))),
               FUMI_ARG(show_line(a, fumi_text(a, fumi_get(v, "id")))));
    size_t n = fumi_size(undone);
    if (dry)
        printf("%zu would be put back.\n", n);
    else if (change)
        printf("%zu put back. To undo that: fumi undo %" PRId64 "\n", n, change);
    else
        puts("Nothing was put back.");
}

static bool print_conflicts(struct fumi_arena *a, const struct fumi_val *conflicts)
{
    for (const struct fumi_val *v = fumi_first(conflicts); v; v = fumi_after(conflicts, v)) {
        struct fumi_str id = show_line(a, fumi_text(a, fumi_get(v, "id")));
        int64_t later = 0;
        fumi_int(fumi_get(v, "change"), &later);
        if (later)
            fprintf(stderr, "%.*s was not put back: change %" PRId64 " has changed it since\n",
                    FUMI_ARG(id), later);
        else
            fprintf(
                stderr,
                "%.*s was not put back: it is missing, exists again, or is in another project\n",
                FUMI_ARG(id));
    }
    return fumi_first(conflicts);
}

static int undo(struct invocation *i)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    struct fumi_err e = {0};
    const struct fumi_val *result = NULL, *given = fumi_parse(i->a, i->params.text, &e);
    if (!given)
        return command_report(&e);
    fumi_put_open(&o, '{');
    notes_put_given(i->a, &o, given);
    if (i->words.n) {
        const struct fumi_shape *s = memory_method(command_undo.method)->params;
        fumi_put_key(&o, "change");
        flags_put_value(i->a, &o, &s->fields[0], i->words.items[0]);
    }
    if (fumi_get(given, "since") && !fumi_get(given, "projectId"))
        notes_put(&o, "projectId", FUMI_STR("."));
    fumi_put_close(&o, '}');
    i->short_ids = !i->json;
    int status = session_once(i, command_undo.method, &params, &result);
    if (status)
        return status;
    if (i->json)
        notes_print_result(result);
    else
        print_undone(i->a, result, fumi_is(fumi_get(given, "dryRun"), FUMI_TRUE));
    bool conflicts = print_conflicts(i->a, fumi_get(result, "conflicts"));
    return conflicts && !fumi_first(fumi_get(result, "undone")) ? STATUS_FAILED : STATUS_OK;
}

const struct command command_undo = {
    .name = "undo",
    .usage = "[CHANGE]",
    .help = "Puts back a change, a session, or everything since a time.",
    .more = "CHANGE is a number that 'fumi history' prints. --session and --since put back several "
            "changes at once; --since those of one project, by default that of the working "
            "directory. What a later change has altered too stays as it is and is reported. "
            "The undo is a change itself and can be undone.",
    .method = "memory.undo",
    .word_param = "change",
    .aliases = aliases,
    .output = OUTPUT_FORMAT,
    .words = 1,
    .run = undo,
};
