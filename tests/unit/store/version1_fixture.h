/* A database of schema version 1, with the tables as that version created them and the rows of a
 * store of today. */
#ifndef FUMI_VERSION1_FIXTURE_H
#define FUMI_VERSION1_FIXTURE_H

#include "base/err.h"
#include "store/sqlite_words.h"

#include <sqlite3.h>
#include <stdio.h>

static const char version1_tables[] =
    "CREATE TABLE rooms(room INTEGER PRIMARY KEY, project TEXT NOT NULL, grp TEXT NOT NULL, "
    "notes INTEGER NOT NULL, UNIQUE(project, grp)) STRICT;"
    "CREATE TABLE places(place INTEGER PRIMARY KEY AUTOINCREMENT, room INTEGER NOT NULL, "
    "tags TEXT NOT NULL, notes INTEGER NOT NULL, UNIQUE(room, tags)) STRICT;"
    "CREATE TABLE place_tags(tag TEXT NOT NULL, place INTEGER NOT NULL, PRIMARY KEY(tag, place)) "
    "STRICT, WITHOUT ROWID;"
    "CREATE TABLE notes(seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "
    "place INTEGER NOT NULL, created INTEGER NOT NULL, version INTEGER NOT NULL, "
    "checksum INTEGER NOT NULL, project TEXT NOT NULL, grp TEXT NOT NULL, tags TEXT NOT NULL, "
    "title TEXT, source TEXT, metadata TEXT, text TEXT NOT NULL) STRICT;"
    "CREATE INDEX notes_place ON notes(place, created);"
    "CREATE INDEX notes_time ON notes(created, seq, place);"
    "CREATE TABLE spaces(space INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, "
    "dim INTEGER NOT NULL, notes INTEGER NOT NULL) STRICT;"
    "CREATE TABLE vectors(vector INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL, "
    "note INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, x BLOB NOT NULL) STRICT;"
    "CREATE INDEX vectors_note ON vectors(note, space);"
    "CREATE TABLE changes(n INTEGER PRIMARY KEY, note INTEGER NOT NULL) STRICT;"
    "CREATE TABLE groups(id TEXT NOT NULL PRIMARY KEY, project TEXT NOT NULL, key TEXT NOT NULL, "
    "title TEXT NOT NULL, description TEXT, created INTEGER NOT NULL, updated INTEGER NOT NULL, "
    "checksum INTEGER NOT NULL, UNIQUE(project, key)) STRICT;"
    "CREATE TABLE globals(id TEXT NOT NULL PRIMARY KEY, project TEXT NOT NULL, key TEXT NOT NULL, "
    "value TEXT NOT NULL, updated INTEGER NOT NULL, checksum INTEGER NOT NULL, "
    "UNIQUE(project, key)) STRICT;"
    "CREATE TABLE facts(name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT "
    "ROWID;"
    "CREATE VIRTUAL TABLE words USING fts5(title, text, tags, source, content='', tokenize='fumi');"
    "PRAGMA application_id=1182100841; PRAGMA user_version=1;";

/* The rows of the attached store, table by table. */
static const char version1_rows[] =
    "INSERT INTO rooms SELECT * FROM today.project_groups;"
    "INSERT INTO places SELECT * FROM today.tag_sets;"
    "INSERT INTO place_tags SELECT * FROM today.tag_set_tags;"
    "INSERT INTO notes SELECT * FROM today.notes;"
    "INSERT INTO spaces SELECT * FROM today.spaces;"
    "INSERT INTO vectors SELECT * FROM today.vectors;"
    "INSERT INTO changes SELECT * FROM today.changes;"
    "INSERT INTO groups SELECT * FROM today.groups;"
    "INSERT INTO globals SELECT * FROM today.globals;"
    "INSERT INTO facts SELECT * FROM today.meta;"
    "DELETE FROM words_data; INSERT INTO words_data SELECT * FROM today.words_data;"
    "DELETE FROM words_idx; INSERT INTO words_idx SELECT * FROM today.words_idx;"
    "DELETE FROM words_docsize; INSERT INTO words_docsize SELECT * FROM today.words_docsize;"
    "DELETE FROM sqlite_sequence; INSERT INTO sqlite_sequence SELECT iif(name='tag_sets', "
    "'places', name), seq FROM today.sqlite_sequence;";

static inline int version1_exec(sqlite3 *h, const char *sql)
{
    char *why = NULL;
    int rc = sqlite3_exec(h, sql, NULL, NULL, &why);
    if (rc)
        fprintf(stderr, "version 1: %s\n", why);
    sqlite3_free(why);
    return rc ? -1 : 0;
}

/* Creates the file `to` with the content of the store at `from`, which no process has open. */
static inline int version1_make(const char *from, const char *to)
{
    sqlite3 *h = NULL;
    struct fumi_err ignored;
    char attach[512];
    snprintf(attach, sizeof(attach), "ATTACH '%s' AS today; BEGIN", from);
    int rc = sqlite3_open(to, &h) || store_sqlite_words_register(h, &ignored) ||
             version1_exec(h, version1_tables) ||
             version1_exec(h, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF") ||
             version1_exec(h, attach) || version1_exec(h, version1_rows) ||
             version1_exec(h, "COMMIT; DETACH today");
    sqlite3_close(h);
    return rc ? -1 : 0;
}

#endif
