/* fumi backup */
#include "app/cli_notes.h"
#include "app/files.h"
#include "app/interrupt.h"
#include "app/session.h"

struct backup_result {
    struct fumi_str file;
};

static const struct fumi_field backup_fields[] = {
    FUMI_FIELD(struct backup_result, file, "file", "The copy."),
};
static const struct fumi_shape backup_shape = FUMI_SHAPE(struct backup_result, backup_fields);

static int backup(struct invocation *i)
{
    struct progress bar;
    struct session s = {.progress = &bar};
    struct fumi_err e = {0};
    struct fumi_str to, none = {0};
    if (!i->words.n)
        return command_misuse(i, "the name of the backup file is required");
    interrupt_catch();
    progress_begin(&bar, "backup", "pages", 0, 0);
    int rc = files_expand(i->a, i->words.items[0], none, &to, &e) ||
             session_old_store(&s, &i->common, &e) || store_backup(s.store, to, &e);
    progress_end(&bar);
    session_close(&s);
    if (rc && interrupted())
        return interrupt_status("no backup was written");
    if (rc)
        return command_report(&e);
    if (i->json)
        notes_print_struct(i->a, &backup_shape, &(struct backup_result){to});
    else
        printf("%.*s\n", FUMI_ARG(to));
    return STATUS_OK;
}

const struct command command_backup = {
    .name = "backup",
    .usage = "FILE",
    .help = "Writes a consistent copy of the database, also while it is in use.",
    .more = "FILE appears only once the copy is complete; an existing file is not "
            "overwritten. To restore a backup, stop all programs that use the memory, "
            "replace memory.db by the backup, and remove memory.db-wal, memory.db-shm and "
            "memory.db.vec.",
    .words = 1,
    .output = OUTPUT_JSON,
    .result = &backup_shape,
    .run = backup,
};
