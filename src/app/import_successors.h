/* The successors of imported notes. A line that names the successor of its note comes before that
 * of the successor, so successors are set at the end of the input. */
#ifndef FUMI_APP_IMPORT_SUCCESSORS_H
#define FUMI_APP_IMPORT_SUCCESSORS_H

#include "app/import_line.h"
#include "store/store.h"

struct import_successors {
    struct fumi_arena a;
    struct renamed *renamed;
    size_t renamed_n;
    struct succession *successions;
    size_t successions_n;
};

/* Remembers the ids of a note, in its line and as stored, and the successor that the line names. */
void import_keep_successor(struct import_successors *s, struct import_line line,
                           const struct note *given, const struct note *stored);
/* Reports successors that were not found. Returns -1 with *e set, and *line set to the line of the
 * note, if the store fails. */
int import_set_successors(struct import_successors *s, struct store *store, const struct author *by,
                          struct import_line *line, struct fumi_err *e);
void import_successors_done(struct import_successors *s);

#endif
