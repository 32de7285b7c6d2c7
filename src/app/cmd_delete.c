/* fumi delete */
#include "app/cli_notes.h"
#include "app/session.h"

static int delete_note(struct invocation *i)
{
    const struct fumi_val *result = NULL;
    int status = session_by_id(i, command_delete.method, &result);
    if (!status && i->json)
        notes_print_result(result);
    return status;
}

const struct command command_delete = {
    .name = "delete",
    .usage = "ID",
    .help = "Deletes a note or a global.",
    .more = "'fumi undo' puts it back; 'fumi forget' erases a note for good.",
    .method = "memory.delete",
    .word_param = "id",
    .output = OUTPUT_JSON,
    .words = 1,
    .run = delete_note,
};
