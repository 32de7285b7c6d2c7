/* Words in SQLite: our tokenizer for FTS5, and the search with it.
 *
 * The index is contentless, its rowid the note's seq:
 *   CREATE VIRTUAL TABLE words USING fts5(title, text, tags, source, content='', tokenize='fumi')
 */
#ifndef FUMI_STORE_SQLITE_WORDS_H
#define FUMI_STORE_SQLITE_WORDS_H

#include "store/scan.h"
#include "store/store.h"

#include <sqlite3.h>

/* The SQL that makes the index, and what each connection needs before it touches it. */
extern const char store_sqlite_words_schema[];
int store_sqlite_words_register(sqlite3 *db, struct fumi_err *e);

/* The best by words among the notes that pass the filter (columns notes.place, notes.created; a
 * place number is a bit in it), which wants an index on notes(place, created). Takes any text; what
 * has no word in it finds nothing; of a very long one only the first 64 words are looked for. Of
 * notes that are equally good the newest come first. Inside the caller's transaction, if any. */
int store_sqlite_words_match(sqlite3 *db, struct fumi_arena *a, const struct scan_filter *f,
                             struct fumi_str query, size_t limit, struct hits *out,
                             struct fumi_err *e);

#endif
