/* fumi delete */
#include "app/session.h"

static int delete_note(struct invocation *i)
{
    const struct fumi_val *ignored;
    return session_by_id(i, command_delete.method, &ignored);
}

const struct command command_delete = {
    .name = "delete",
    .usage = "ID",
    .help = "Deletes a note or a global.",
    .more = "'fumi undo' puts it back; 'fumi forget' erases a note for good.",
    .method = "memory.delete",
    .word_param = "id",
    .words = 1,
    .run = delete_note,
};
