/* Private to sqlite*.c: changes of notes, groups and globals together with their rows in the
 * journal. All functions run in a write transaction. */
#ifndef FUMI_STORE_SQLITE_CHANGES_H
#define FUMI_STORE_SQLITE_CHANGES_H

#include "store/sqlite_journal.h"

/* Notes without the journal (sqlite_notes.c). */
bool store_sqlite_note_expired(const struct note *n);
/* For error texts: the beginning of an id, which may be of any length. */
struct fumi_str store_sqlite_id_shown(struct fumi_str id);
int store_sqlite_note_damaged(struct fumi_str id, struct fumi_err *e); /* sets *e; returns -1 */
/* As find, but -1 if there is none or if it has expired. */
int store_sqlite_note_find(struct db *d, struct fumi_arena *a, struct fumi_str id,
                           struct stored *out, struct fumi_err *e);
/* put: inserts a note with an unused id and sets n->seq. rewrite: replaces the members of `set`.
 * drop: deletes a note. None of them writes to the journal: see sqlite_changes.h. */
struct note_rewrite {
    const struct stored *old;
    const struct note *now;
    unsigned set;
    const struct vectors *vectors;
};
int store_sqlite_note_put(struct db *d, struct fumi_arena *a, struct note *n,
                          const struct vectors *v, struct fumi_err *e);
int store_sqlite_note_rewrite(struct db *d, struct fumi_arena *a, const struct note_rewrite *w,
                              struct fumi_err *e);
int store_sqlite_note_drop(struct db *d, struct fumi_arena *a, const struct stored *n,
                           struct fumi_err *e);

/* Removes a note from the keyword index; it must be as it was when it was added. */
int store_sqlite_note_words_drop(struct db *d, struct fumi_arena *a, const struct note *n,
                                 struct fumi_err *e);
/* Deletes the oldest change numbers. A vector cache that is older is rebuilt. */
int store_sqlite_changes_prune(struct db *d, struct fumi_err *e);

/* Records that a backup was written, for store_forget (sqlite_forget.c). Not in a transaction. */
void store_sqlite_backup_made(struct store_sqlite *s, const char *path);

/* Notes with the journal (sqlite_changes.c).
 * add: an unused id. change: the members of `set` that differ get the values of `to`.
 * remove: op is CHANGE_DELETE or CHANGE_EXPIRE; what the note had superseded gets its successor.
 * release: only the latter, for a note that is removed without a row in the journal.
 * settle: if the note is current and has a key, the current note of its project with that key that
 * was created last stays current, and supersedes the others; if `last`, it is this note.
 * is_successor: 1 if `id` is the note `of`, its successor, the successor of that, and so on; 0 if
 * not; -1 with *e set. */
int store_sqlite_change_add(struct db *d, struct store_sqlite_change *c, struct note *n,
                            const struct vectors *v, struct fumi_err *e);
int store_sqlite_change_note(struct db *d, struct store_sqlite_change *c, const struct stored *old,
                             const struct note *to, unsigned set, const struct vectors *v,
                             struct fumi_err *e);
int store_sqlite_change_remove(struct db *d, struct store_sqlite_change *c,
                               const struct stored *old, enum change_op op, struct fumi_err *e);
int store_sqlite_change_release(struct db *d, struct store_sqlite_change *c,
                                const struct note *removed, struct fumi_err *e);
int store_sqlite_change_settle(struct db *d, struct store_sqlite_change *c, struct fumi_str id,
                               bool last, struct fumi_err *e);
int store_sqlite_is_successor(struct db *d, struct fumi_arena *a, struct fumi_str of,
                              struct fumi_str id, struct fumi_err *e);

/* Groups (sqlite_groups.c) and globals (sqlite_globals.c) with the journal. find: by id; 1, 0 if
 * there is none, -1 with *e set; *valid: it matches its checksum. write: adds the row, or replaces
 * the one with its id. drop: deletes it. `old` NULL: a new row. */
int store_sqlite_group_find(struct db *d, struct fumi_arena *a, struct fumi_str id,
                            struct group *out, bool *valid, struct fumi_err *e);
int store_sqlite_group_write(struct db *d, struct store_sqlite_change *c, const struct group *old,
                             const struct group *now, struct fumi_err *e);
int store_sqlite_group_drop(struct db *d, struct store_sqlite_change *c, const struct group *old,
                            bool valid, struct fumi_err *e);
int store_sqlite_global_find(struct db *d, struct fumi_arena *a, struct fumi_str id,
                             struct global *out, bool *valid, struct fumi_err *e);
int store_sqlite_global_write(struct db *d, struct store_sqlite_change *c, const struct global *old,
                              const struct global *now, struct fumi_err *e);
int store_sqlite_global_drop(struct db *d, struct store_sqlite_change *c, const struct global *old,
                             bool valid, struct fumi_err *e);

#endif
