/* Private to sqlite*.c: imported notes, groups and globals. */
#ifndef FUMI_STORE_SQLITE_MERGE_H
#define FUMI_STORE_SQLITE_MERGE_H

#include "store/sqlite_journal.h"

enum { MERGE_IDS = 8 }; /* ids to try */

/* A row that is imported. The transaction sets `now` to what it stores, with its outcome. */
struct store_sqlite_merging {
    const struct merge_row *given;
    struct merge_row now;
    struct fumi_arena *arena;
    struct store_sqlite_change *change; /* of all rows of the call */
    bool first;                         /* the row is the first one of the call */
};
/* Sets `now` to what is given; the first row begins the change. */
void store_sqlite_merge_begin(struct store_sqlite_merging *m);
/* Jobs for a struct store_sqlite_merging, one for each kind. */
store_sqlite_fn store_sqlite_merge_note, store_sqlite_merge_group, store_sqlite_merge_global;

/* Returns 1 if a note, group or global has the id; 0 if not; -1 with *e set. */
int store_sqlite_id_taken(struct db *d, struct fumi_str id, struct fumi_err *e);
/* The id to try after `id`, which is in use. Depends only on the arguments, so that every import of
 * a row gives the same id. */
struct fumi_str store_sqlite_id_next(struct fumi_arena *a, struct fumi_str id,
                                     struct fumi_str project);
/* Sets *id to the first unused id, beginning with *id itself, and *out to MERGED_ADDED if that is
 * *id, otherwise to MERGED_RENAMED. */
int store_sqlite_id_free(struct db *d, struct fumi_arena *a, struct fumi_str project,
                         struct fumi_str *id, enum merged *out, struct fumi_err *e);
/* Sets *e: all ids that were tried are in use. Returns -1. */
int store_sqlite_id_none(struct fumi_str id, struct fumi_err *e);

#endif
