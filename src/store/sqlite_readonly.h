/* A database that cannot be written: on a read-only file system, or of another user. It is read as
 * it is: nothing is created beside it, nothing migrated, and the vectors' cache is kept in memory.
 */
#ifndef FUMI_STORE_SQLITE_READONLY_H
#define FUMI_STORE_SQLITE_READONLY_H

#include "store/sqlite_parts.h"

/* Finds out how the file can be opened: sets s->uri if only for reading. -1: not even that. */
int store_sqlite_readonly_look(struct store_sqlite *s, struct fumi_err *e);
/* -1: the file was changed since, and it is read without looking at locks or the log. */
int store_sqlite_readonly_check(const struct store_sqlite *s, struct fumi_err *e);
/* Sets the sentence for whoever wants to write. Returns -1. */
int store_sqlite_readonly_fault(const struct store_sqlite *s, struct fumi_err *e);

#endif
