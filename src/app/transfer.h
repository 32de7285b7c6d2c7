/* Lines of JSON that carry notes, groups and globals from one store to another. */
#ifndef FUMI_APP_TRANSFER_H
#define FUMI_APP_TRANSFER_H

#include "model/note.h"
#include "json/json.h"

enum transfer_kind { TRANSFER_NOTE, TRANSFER_GROUP, TRANSFER_GLOBAL };

/* The object of one line. */
struct transfer {
    enum transfer_kind kind;
    struct note note;
    struct group group;
    struct global global;
    struct fumi_str cleaned; /* names of the members that transfer_read cleaned; empty: none */
};

/* Appends one line, without a line break. */
void transfer_write(struct fumi_buf *out, const struct transfer *t);

/* Parses one line and checks it by the rules of the methods. Older versions exported projects,
 * titles, tags and sources that are not one line of visible text: these are cleaned (note_line)
 * instead of rejected. A missing id is generated; a missing time of a group or global is set to the
 * present, and that of a note is left to the store. The project is made canonical. Returns -1 and
 * sets *e, which names the member, if the line is invalid. */
int transfer_read(struct fumi_arena *a, struct fumi_str line, struct transfer *out,
                  struct fumi_err *e);

#endif
