/* Between the files of the SQLite store that merge what an import brings. */
#ifndef FUMI_STORE_SQLITE_MERGE_H
#define FUMI_STORE_SQLITE_MERGE_H

#include "store/sqlite_parts.h"

enum { MERGE_IDS = 8 }; /* ids that are tried at most */

/* Whether a note, group or global has the id. 1: yes; 0: no; -1: *e is set. */
int store_sqlite_id_taken(struct db *d, struct fumi_str id, struct fumi_err *e);
/* The id to try after one that is taken: a function of the id and the project alone. */
struct fumi_str store_sqlite_id_next(struct fumi_arena *a, struct fumi_str id,
                                     struct fumi_str project);
/* Sets *id to the first one that nothing has, beginning with *id itself, and *out to ADDED or
 * RENAMED accordingly. */
int store_sqlite_id_free(struct db *d, struct fumi_arena *a, struct fumi_str project,
                         struct fumi_str *id, enum merged *out, struct fumi_err *e);
int store_sqlite_id_none(struct fumi_str id, struct fumi_err *e); /* sets *e: all were taken */

#endif
