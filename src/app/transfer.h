/* Lines of JSON that carry notes, groups and globals from one store to another. */
#ifndef FUMI_APP_TRANSFER_H
#define FUMI_APP_TRANSFER_H

#include "model/note.h"
#include "json/json.h"

enum transfer_kind { TRANSFER_NOTE, TRANSFER_GROUP, TRANSFER_GLOBAL };

/* What one line holds. */
struct transfer {
    enum transfer_kind kind;
    struct note note;
    struct group group;
    struct global global;
    struct fumi_str cleaned; /* names of the members that were made one line; empty: none */
};

/* One line, without a line break. */
void transfer_write(struct fumi_buf *out, const struct transfer *t);

/* The same rules as for the methods: -1 with *e naming the member. Only the rule that project,
 * title, tags and source are one line is not enforced, because older versions exported others:
 * these are made one line (note_line). What has no id gets a new one, a
 * group or global without a time the present; the store sets that of a note. The project is made
 * canonical. */
int transfer_read(struct fumi_arena *a, struct fumi_str line, struct transfer *out,
                  struct fumi_err *e);

#endif
