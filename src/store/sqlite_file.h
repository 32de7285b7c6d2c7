/* Private to sqlite*.c: the files of a store, by name (sqlite_file.c, sqlite_sweep.c). Any thread.
 * Functions that return int return 0, or -1 with *e set, unless stated. */
#ifndef FUMI_STORE_SQLITE_FILE_H
#define FUMI_STORE_SQLITE_FILE_H

#include "base/err.h"

/* File names, which the caller frees with fumi_resize: the path with an ending; with a kind and a
 * random number; with ".damaged-" and the time. */
char *store_sqlite_path(const char *path, const char *ending);
char *store_sqlite_path_new(const char *path, const char *kind);
char *store_sqlite_path_kept(const char *path);
/* "file:PATH?mode=ro" with special characters escaped; `alone`: SQLite takes no locks, and the file
 * must not change. The caller frees it. */
char *store_sqlite_uri(const char *path, bool alone);

/* make: creates the file and its directories unless they exist. fresh: creates a file with an
 * exclusive lock (flock) and returns its descriptor, or -1 with errno set. sweep: deletes the
 * temporary files of dead processes in the directory of `beside`. sync_dir: syncs the directory of
 * `path`. exists: true also for a symbolic link to a missing file. */
int store_sqlite_file_make(const char *path, struct fumi_err *e);
int store_sqlite_file_fresh(const char *path);
void store_sqlite_file_sweep(const char *beside);
int store_sqlite_file_sync(const char *path, struct fumi_err *e);
int store_sqlite_file_sync_dir(const char *path, struct fumi_err *e);
bool store_sqlite_file_exists(const char *path);
/* Renames a file durably. An existing file `to` is ERR_CONFLICT, unless `replace`. */
int store_sqlite_file_name(const char *from, const char *to, bool replace, struct fumi_err *e);
/* like: gives the file the owner and permissions of `model`. swap: renames `path` to `keep`, and
 * `with` to `path`. */
int store_sqlite_file_like(const char *path, const char *model, struct fumi_err *e);
int store_sqlite_file_swap(const char *path, const char *with, const char *keep,
                           struct fumi_err *e);
void store_sqlite_file_remove(const char *path); /* a database with its journal, -wal and -shm */

#endif
