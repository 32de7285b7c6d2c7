/* Private to sqlite*.c: how many notes a project has. */
#ifndef FUMI_STORE_SQLITE_COUNTS_H
#define FUMI_STORE_SQLITE_COUNTS_H

#include "store/sqlite_parts.h"

struct project_counts {
    int64_t notes, words; /* words: of the texts of these notes */
};

/* Sums up the groups of the project (null: of all projects), or takes the sums from the cache if
 * the change number is the same. For read transactions. Returns 0, or -1 with *e set. */
int store_sqlite_count_project(struct db *d, struct fumi_str project, struct project_counts *out,
                               struct fumi_err *e);
void store_sqlite_counts_done(struct store_sqlite *s); /* needs filters_lock, or no other thread */

#endif
