/* fumi get */
#include "app/cli_notes.h"
#include "app/session.h"

static const struct flag_alias aliases[] = {{"f", "format"}, COMMAND_ALIASES};

static int get(struct invocation *i)
{
    const struct fumi_val *note = NULL;
    int status = session_by_id(i, command_get.method, &note);
    if (status)
        return status;
    if (i->json)
        notes_print_result(note);
    else
        notes_print(i->a, note);
    return STATUS_OK;
}

const struct command command_get = {
    .name = "get",
    .usage = "ID",
    .help = "Prints one note.",
    .method = "memory.get",
    .word_param = "id",
    .aliases = aliases,
    .output = OUTPUT_FORMAT,
    .words = 1,
    .run = get,
};
