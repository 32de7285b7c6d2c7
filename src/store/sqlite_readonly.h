/* Private to sqlite*.c: a database that cannot be written, because it is on a read-only file system
 * or belongs to another user. No file is created beside it, it is not migrated, and the vector
 * cache is kept in memory. */
#ifndef FUMI_STORE_SQLITE_READONLY_H
#define FUMI_STORE_SQLITE_READONLY_H

#include "store/sqlite_parts.h"

/* Finds out how to open the file: sets s->uri if it can only be read. Fails if it cannot be read
 * either. Called before the first connection is opened. */
int store_sqlite_readonly_look(struct store_sqlite *s, struct fumi_err *e);
/* Fails if the file is read without locks and another process has changed it. Any thread. */
int store_sqlite_readonly_check(const struct store_sqlite *s, struct fumi_err *e);
/* Sets *e for a call that writes. Returns -1. */
int store_sqlite_readonly_fault(const struct store_sqlite *s, struct fumi_err *e);

#endif
