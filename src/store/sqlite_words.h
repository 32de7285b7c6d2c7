/* Keyword search in SQLite: the tokenizer for FTS5, and the search in its index.
 *
 * The index is contentless; its rowid is the seq of the note:
 *   CREATE VIRTUAL TABLE words USING fts5(title, text, tags, source, content='', tokenize='fumi4')
 *
 * Each token of the index ends with a mark and a hash of the project of its note. A search in one
 * project therefore reads only entries of that project, and its statistics do not depend on other
 * projects. */
#ifndef FUMI_STORE_SQLITE_WORDS_H
#define FUMI_STORE_SQLITE_WORDS_H

#include "store/scan.h"
#include "store/store.h"

#include <sqlite3.h>

/* What the tokenizer appends to each token of a note. */
enum { WORDS_ENDING = 9 };
struct words_ending {
    size_t n; /* bytes of `text`; 0: nothing is appended, as in older schema versions */
    char text[WORDS_ENDING];
    bool sampled; /* the note has one more token, the ending alone */
};
/* A part of the notes, chosen by their ids, is sampled: the entries of the ending are a sample of
 * the notes of the project. */
struct words_ending store_sqlite_words_ending(struct fumi_str project, struct fumi_str id);

/* The SQL that creates the index. */
extern const char store_sqlite_words_schema[];
/* Registers the tokenizer (also as "fumi", its name in versions 1 and 2) and the SQL function
 * words_in(sz), which returns the number of words in the text of a note from its row in
 * words_docsize, with a connection. This must happen before the connection uses the index. The
 * tokenizer appends *ending, which must outlive the connection and must be set before an entry is
 * inserted or deleted. Returns 0, or -1 with *e set. */
int store_sqlite_words_register(sqlite3 *db, const struct words_ending *ending, struct fumi_err *e);

struct words_search {
    struct fumi_str project; /* null: all projects */
    int64_t notes, words;    /* of the project: number of notes, and words in their texts */
    const struct scan_filter *filter;
    bool narrow; /* the filter excludes notes of the project */
    const struct keyword_query *query;
};

/* Finds the best notes by BM25 among those that pass the filter (columns notes.tag_set and
 * notes.created, with an index on both). The query is any text: only its first 64 words count, and
 * a text without words finds nothing. Among equal scores the newest note comes first. Runs in the
 * transaction of the caller, if there is one. Returns 0, or -1 with *e set. */
int store_sqlite_words_match(sqlite3 *db, struct fumi_arena *a, const struct words_search *what,
                             struct keyword_hits *out, struct fumi_err *e);

#endif
