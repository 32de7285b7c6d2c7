/* A database of an older schema version, with the tables as that version created them and the rows
 * of a store of today. */
#ifndef FUMI_OLD_VERSION_FIXTURE_H
#define FUMI_OLD_VERSION_FIXTURE_H

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

static const char version2_tables[] =
    "CREATE TABLE \"project_groups\"(project_group INTEGER PRIMARY KEY, project TEXT NOT NULL, "
    "group_key TEXT NOT NULL, notes INTEGER NOT NULL, UNIQUE(project, group_key)) STRICT;"
    "CREATE TABLE \"tag_sets\"(tag_set INTEGER PRIMARY KEY AUTOINCREMENT, "
    "project_group INTEGER NOT NULL, tags TEXT NOT NULL, notes INTEGER NOT NULL, "
    "UNIQUE(project_group, tags)) STRICT;"
    "CREATE TABLE \"tag_set_tags\"(tag TEXT NOT NULL, tag_set INTEGER NOT NULL, "
    "PRIMARY KEY(tag, tag_set)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE notes(seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "
    "tag_set INTEGER NOT NULL, created INTEGER NOT NULL, version INTEGER NOT NULL, "
    "checksum INTEGER NOT NULL, project TEXT NOT NULL, group_key TEXT NOT NULL, "
    "tags TEXT NOT NULL, title TEXT, source TEXT, metadata TEXT, text TEXT NOT NULL) STRICT;"
    "CREATE INDEX notes_tag_set ON notes(tag_set, created);"
    "CREATE INDEX notes_time ON notes(created, seq, tag_set);"
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
    "CREATE TABLE \"meta\"(name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT "
    "ROWID;"
    "CREATE VIRTUAL TABLE words USING fts5(title, text, tags, source, content='', tokenize='fumi');"
    "PRAGMA application_id=1182100841; PRAGMA user_version=2;";

static const char version3_tables[] =
    "CREATE TABLE \"project_groups\"(project_group INTEGER PRIMARY KEY, project TEXT NOT NULL, "
    "group_key TEXT NOT NULL, notes INTEGER NOT NULL, words INTEGER NOT NULL DEFAULT 0, "
    "UNIQUE(project, group_key)) STRICT;"
    "CREATE TABLE \"tag_sets\"(tag_set INTEGER PRIMARY KEY AUTOINCREMENT, "
    "project_group INTEGER NOT NULL, tags TEXT NOT NULL, notes INTEGER NOT NULL, "
    "UNIQUE(project_group, tags)) STRICT;"
    "CREATE TABLE \"tag_set_tags\"(tag TEXT NOT NULL, tag_set INTEGER NOT NULL, "
    "PRIMARY KEY(tag, tag_set)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE notes(seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "
    "tag_set INTEGER NOT NULL, created INTEGER NOT NULL, version INTEGER NOT NULL, "
    "checksum INTEGER NOT NULL, project TEXT NOT NULL, group_key TEXT NOT NULL, "
    "tags TEXT NOT NULL, title TEXT, source TEXT, metadata TEXT, text TEXT NOT NULL, "
    "chain INTEGER, session TEXT) STRICT;"
    "CREATE INDEX notes_tag_set ON notes(tag_set, created);"
    "CREATE INDEX notes_time ON notes(created, seq, tag_set);"
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
    "CREATE TABLE \"meta\"(name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT "
    "ROWID;"
    "CREATE VIRTUAL TABLE words USING fts5(title, text, tags, source, content='', "
    "tokenize='fumi3');"
    "CREATE INDEX notes_chain ON notes(chain, created, seq) WHERE chain IS NOT NULL;"
    "PRAGMA application_id=1182100841; PRAGMA user_version=3;";

/* The rows of the attached store, table by table: each %s is the name of a table. The keyword index
 * has the tokens of these versions, which have no ending. */
static const char old_version_rows[] =
    "INSERT INTO %s SELECT project_group, project, group_key, notes FROM today.project_groups;"
    "INSERT INTO %s SELECT * FROM today.tag_sets;"
    "INSERT INTO %s SELECT * FROM today.tag_set_tags;"
    "INSERT INTO notes SELECT seq, id, tag_set, created, version, checksum, project, group_key, "
    "tags, title, source, metadata, text FROM today.notes;"
    "INSERT INTO spaces SELECT * FROM today.spaces;"
    "INSERT INTO vectors SELECT * FROM today.vectors;"
    "INSERT INTO changes SELECT * FROM today.changes;"
    "INSERT INTO groups SELECT * FROM today.groups;"
    "INSERT INTO globals SELECT * FROM today.globals;"
    "INSERT INTO %s SELECT * FROM today.meta WHERE name NOT LIKE 'root.%%';"
    "INSERT INTO words(rowid, title, text, tags, source) SELECT seq, title, text, tags, source "
    "FROM today.notes;"
    "DELETE FROM sqlite_sequence; INSERT INTO sqlite_sequence SELECT iif(name='tag_sets', '%s', "
    "name), seq FROM today.sqlite_sequence WHERE name NOT IN ('journal', 'injections');";

/* The keyword index of version 3 is that of today. */
static const char version3_rows[] =
    "INSERT INTO project_groups SELECT * FROM today.project_groups;"
    "INSERT INTO tag_sets SELECT * FROM today.tag_sets;"
    "INSERT INTO tag_set_tags SELECT * FROM today.tag_set_tags;"
    "INSERT INTO notes SELECT seq, id, tag_set, created, version, checksum, project, group_key, "
    "tags, title, source, metadata, text, chain, session FROM today.notes;"
    "INSERT INTO spaces SELECT * FROM today.spaces;"
    "INSERT INTO vectors SELECT * FROM today.vectors;"
    "INSERT INTO changes SELECT * FROM today.changes;"
    "INSERT INTO groups SELECT * FROM today.groups;"
    "INSERT INTO globals SELECT * FROM today.globals;"
    "INSERT INTO meta SELECT * FROM today.meta WHERE name NOT LIKE 'root.%';"
    "DELETE FROM words_data; INSERT INTO words_data SELECT * FROM today.words_data;"
    "DELETE FROM words_idx; INSERT INTO words_idx SELECT * FROM today.words_idx;"
    "INSERT INTO words_docsize SELECT * FROM today.words_docsize;"
    "DELETE FROM sqlite_sequence; INSERT INTO sqlite_sequence SELECT * FROM today.sqlite_sequence "
    "WHERE name NOT IN ('journal', 'injections');";

static const struct old_version {
    const char *tables, *groups, *tag_sets, *tags, *meta;
} old_versions[] = {
    [1] = {version1_tables, "rooms", "places", "place_tags", "facts"},
    [2] = {version2_tables, "project_groups", "tag_sets", "tag_set_tags", "meta"},
    [3] = {version3_tables, "project_groups", "tag_sets", "tag_set_tags", "meta"},
};
enum { OLD_VERSIONS = 4 }; /* they begin at 1 */

static inline int old_version_exec(sqlite3 *h, const char *sql)
{
    char *why = NULL;
    int rc = sqlite3_exec(h, sql, NULL, NULL, &why);
    if (rc)
        fprintf(stderr, "old version: %s\n", why);
    sqlite3_free(why);
    return rc ? -1 : 0;
}

/* Creates the file `to` with the content of the store at `from`, which no process has open. */
static inline int old_version_make(int version, const char *from, const char *to)
{
    static const struct words_ending none;
    const struct old_version *v = &old_versions[version];
    sqlite3 *h = NULL;
    struct fumi_err ignored;
    char attach[512], rows[4000];
    snprintf(attach, sizeof(attach), "ATTACH '%s' AS today; BEGIN", from);
    snprintf(rows, sizeof(rows), old_version_rows, v->groups, v->tag_sets, v->tags, v->meta,
             v->tag_sets);
    if (version == 3)
        snprintf(rows, sizeof(rows), "%s", version3_rows);
    int rc = sqlite3_open(to, &h) || store_sqlite_words_register(h, &none, &ignored) ||
             old_version_exec(h, v->tables) ||
             old_version_exec(h, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF") ||
             old_version_exec(h, attach) || old_version_exec(h, rows) ||
             old_version_exec(h, "COMMIT; DETACH today");
    sqlite3_close(h);
    return rc ? -1 : 0;
}

#endif
