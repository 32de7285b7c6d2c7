/* Private to sqlite*.c: the vector cache. Any thread may call these functions, outside of a
 * transaction. */
#ifndef FUMI_STORE_SQLITE_INDEX_H
#define FUMI_STORE_SQLITE_INDEX_H

#include "store/sqlite_parts.h"

void store_sqlite_index_init(struct store_sqlite *s);
void store_sqlite_index_close(struct store_sqlite *s);
/* Opens s->scan for this space. On success the caller may use s->scan and must call
 * store_sqlite_index_done afterwards. */
int store_sqlite_index_use(struct store_sqlite *s, struct fumi_str name, size_t dim, int64_t space,
                           struct fumi_err *e);
void store_sqlite_index_done(struct store_sqlite *s);

/* The size of the vector cache, 0 if there is none, and whether this process builds it. */
void store_sqlite_index_stats(struct store_sqlite *s, int64_t *bytes, bool *building);
/* Removes deleted rows from the file of the vector cache, if it exists, whether or not this process
 * has it open. *done is false if this takes more than `ms` milliseconds: it then goes on in the
 * background. */
int store_sqlite_index_catch_up(struct store_sqlite *s, int64_t ms, bool *done, struct fumi_err *e);

#endif
