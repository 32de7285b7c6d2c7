/* fumi add */
#include "app/cli_notes.h"
#include "app/session.h"
#include "model/note.h"

#include <unistd.h>

static const struct flag_alias aliases[] = {
    {"p", "project"}, {"g", "group"}, {"t", "title"}, {"f", "format"}, COMMAND_ALIASES,
};

/* The text consists of the words. If there are none, or only a dash, it is read from standard
 * input.
 */
static int find_text(struct invocation *i, struct fumi_str *text)
{
    struct fumi_err e = {0};
    bool dash = i->words.n == 1 && fumi_eq(i->words.items[0], FUMI_STR("-"));
    if (i->words.n && !dash) {
        *text = command_joined(i->a, i->words);
        return STATUS_OK;
    }
    if (!dash && isatty(0))
        return command_misuse(i, "text is required: give words, or a text on standard input");
    if (command_input(i->a, NOTE_TEXT_MAX + 1, text, &e))
        return command_report(&e);
    while (text->n && text->p[text->n - 1] == '\n')
        text->n--;
    return STATUS_OK;
}

static int put_params(struct invocation *i, struct fumi_out *o, struct fumi_str text,
                      struct fumi_err *e)
{
    const struct fumi_val *given = fumi_parse(i->a, i->params.text, e);
    if (!given)
        return -1;
    fumi_put_open(o, '{');
    notes_put_given(i->a, o, given);
    if (!fumi_text(i->a, fumi_get(given, "groupId")).n)
        notes_put(o, "groupId", FUMI_STR("global"));
    notes_put(o, "text", text);
    fumi_put_close(o, '}');
    return 0;
}

static int add(struct invocation *i)
{
    struct fumi_buf params = {0};
    struct fumi_str text = {0};
    struct fumi_err e = {0};
    const struct fumi_val *result = NULL;
    int status = find_text(i, &text);
    if (status)
        return status;
    if (put_params(i, &(struct fumi_out){.buf = &params}, text, &e)) {
        fumi_buf_done(&params);
        return command_report(&e);
    }
    if ((status = session_once(i, command_add.method, &params, &result)))
        return status;
    notes_warn(i->a, result);
    if (fumi_is(fumi_get(result, "duplicate"), FUMI_TRUE))
        fputs("note: a note that says the same exists\n", stderr);
    if (i->json)
        notes_print_result(result);
    else
        printf("%.*s\n", FUMI_ARG(fumi_text(i->a, fumi_get(result, "id"))));
    return STATUS_OK;
}

const struct command command_add = {
    .name = "add",
    .usage = "[WORD...]",
    .help = "Stores a note and prints its id.",
    .more = "The words are the text of the note. Without words, or with a dash, the text "
            "is read from standard input. The default project is the repository "
            "that contains the working directory, or else the working directory. The default group "
            "is global. Separate tags by commas.",
    .method = "memory.add_note",
    .word_param = "text",
    .aliases = aliases,
    .output = OUTPUT_FORMAT,
    .words = ANY_WORDS,
    .writes = true,
    .run = add,
};
