/* Waiting for other processes, and what is said when one does not go on. */
#ifndef FUMI_STORE_SQLITE_BUSY_H
#define FUMI_STORE_SQLITE_BUSY_H

#include "store/sqlite_parts.h"

/* SQLite's busy handler for a connection. */
int store_sqlite_busy_wait(void *db, int count);
/* Sets the sentence: who holds the database, and what to do. Returns -1. */
int store_sqlite_busy_fault(struct db *d, int code, struct fumi_err *e);

#endif
