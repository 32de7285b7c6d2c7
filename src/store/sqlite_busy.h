/* Private to sqlite*.c: waiting for locks of other processes. */
#ifndef FUMI_STORE_SQLITE_BUSY_H
#define FUMI_STORE_SQLITE_BUSY_H

#include "store/sqlite_parts.h"

/* The busy handler of a connection: `db` is its struct db, `count` the number of earlier calls for
 * the same lock. Sleeps and returns 1, or returns 0 to give up. */
int store_sqlite_busy_wait(void *db, int count);
/* Sets *e: which process holds the lock, and what to do. `code` is the result code of SQLite.
 * Returns -1. */
int store_sqlite_busy_fault(struct db *d, int code, struct fumi_err *e);

#endif
