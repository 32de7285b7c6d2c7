/* Erasing what removed and replaced texts leave in the files of the store.
 *
 * SQLite's secure_delete overwrites deleted rows with zeros. Traces remain in four places: old
 * entries of the word index, until its segments are merged; the unused space of pages whose rows
 * were moved; old page images in the write-ahead log, until the log is truncated; rows of the
 * vector cache. A transaction that removes a text stores a fact ("erase") until all of that is
 * done, so that any process can go on with it after a crash. */
#ifndef FUMI_STORE_SQLITE_ERASE_H
#define FUMI_STORE_SQLITE_ERASE_H

#include "store/sqlite_parts.h"

/* In the transaction that removes or replaces a text: it has to be erased. words: also from the
 * word index. */
int store_sqlite_erase_mark(struct db *d, bool words, struct fumi_err *e);
/* After that transaction: erases, with bounded work, at most once a second. A failure is no fault:
 * the fact stays. */
void store_sqlite_erase_soon(struct store_sqlite *s);
/* Before the store is closed: the same with more work, if this process has marked anything since.
 */
void store_sqlite_erase_last(struct store_sqlite *s);
/* All of it. *done: not while another process reads the log. */
int store_sqlite_erase_all(struct store_sqlite *s, bool *done, struct fumi_err *e);
/* In a copy that nobody else has open. A code of SQLite's. */
int store_sqlite_erase_copy(sqlite3 *copy);
/* From now on the connection writes pages to its file with zeros in their unused space. */
void store_sqlite_erase_unused(sqlite3 *h);

/* What it needs of others. sqlite_write.c: runs it in its turn on the writer's connection, alone
 * and outside of a transaction. sqlite_index.c: brings the cache's file up to date, if there is
 * one, open or not. */
int store_sqlite_write_alone(struct store *s, store_sqlite_fn *run, void *arg, struct fumi_err *e);
int store_sqlite_index_catch_up(struct store_sqlite *s, struct fumi_err *e);

#endif
