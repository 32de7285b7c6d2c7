/* Keyword search in SQLite: the tokenizer for FTS5, and the search in its index.
 *
 * The index is contentless; its rowid is the seq of the note:
 *   CREATE VIRTUAL TABLE words USING fts5(title, text, tags, source, content='', tokenize='fumi')
 */
#ifndef FUMI_STORE_SQLITE_WORDS_H
#define FUMI_STORE_SQLITE_WORDS_H

#include "store/scan.h"
#include "store/store.h"

#include <sqlite3.h>

/* The SQL that creates the index. */
extern const char store_sqlite_words_schema[];
/* Registers the tokenizer with a connection, which must happen before the connection uses the
 * index. Returns 0, or -1 with *e set. */
int store_sqlite_words_register(sqlite3 *db, struct fumi_err *e);

/* Finds the best notes by BM25 among those that pass the filter (columns notes.tag_set and
 * notes.created, with an index on both). The query is any text: only its first 64 words count, and
 * a text without words finds nothing. Among equal scores the newest note comes first. Runs in the
 * transaction of the caller, if there is one. Returns 0, or -1 with *e set. */
int store_sqlite_words_match(sqlite3 *db, struct fumi_arena *a, const struct scan_filter *f,
                             struct fumi_str query, size_t limit, struct hits *out,
                             struct fumi_err *e);

#endif
