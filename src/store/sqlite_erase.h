/* Private to sqlite*.c: erases the traces of deleted and replaced texts from the store's files.
 *
 * SQLite's secure_delete overwrites deleted rows with zeros. Traces remain in four locations: old
 * entries of the keyword index, until its segments are merged; the unused space of pages whose rows
 * were moved; old page images in the write-ahead log, until the log is truncated; rows of the
 * vector cache. A transaction that deletes a text sets a mark, the row "erase" of the meta table.
 * The mark stays until all traces are erased, so that any process can continue after a crash. */
#ifndef FUMI_STORE_SQLITE_ERASE_H
#define FUMI_STORE_SQLITE_ERASE_H

#include "store/sqlite_parts.h"

/* Sets the mark in the transaction that deletes or replaces a text. words: the text also has to be
 * erased from the keyword index. */
int store_sqlite_erase_mark(struct db *d, bool words, struct fumi_err *e);
/* Called after that transaction: erases with bounded work, at most once a second. A failure is
 * logged, and the mark stays. */
void store_sqlite_erase_soon(struct store_sqlite *s);
/* Called before the store is closed: the same with more work, if this process set the mark since it
 * last erased everything. */
void store_sqlite_erase_last(struct store_sqlite *s);
/* Erases everything, marked or not. *done is false if another process still reads the log. */
int store_sqlite_erase_all(struct store_sqlite *s, bool *done, struct fumi_err *e);
/* Erases the traces in a copy of the database that no other process has open. Returns a result code
 * of SQLite. */
int store_sqlite_erase_copy(sqlite3 *copy);
/* From now on the connection fills the unused space of pages with zeros when it writes them. */
void store_sqlite_erase_unused(sqlite3 *h);

#endif
