/* fumi get */
#include "app/cli_notes.h"
#include "app/session.h"

struct get_flags {
    int format;
};

static const char *const formats[] = {"text", "json", NULL};
static const struct fumi_field fields[] = {
    FUMI_FIELD(struct get_flags, format, "format", "Output format.", .choices = formats,
               .def = "\"text\""),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct get_flags, fields);

static const struct flag_alias aliases[] = {{"f", "format"}, COMMAND_ALIASES};

static int get(struct invocation *i)
{
    const struct get_flags *f = i->flags;
    const struct fumi_val *note = NULL;
    int status = session_by_id(i, command_get.method, &note);
    if (status)
        return status;
    if (f->format)
        notes_print_result(note);
    else
        notes_print(i->a, note);
    return STATUS_OK;
}

const struct command command_get = {
    .name = "get",
    .usage = "ID",
    .help = "Prints one note.",
    .shape = &shape,
    .method = "memory.get",
    .word_param = "id",
    .aliases = aliases,
    .words = 1,
    .run = get,
};
