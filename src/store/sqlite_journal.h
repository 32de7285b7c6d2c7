/* Private to sqlite*.c: the journal, which has a row for each note, group or global that a call
 * changes, and the values that the row had before as JSON (sqlite_journal.c). */
#ifndef FUMI_STORE_SQLITE_JOURNAL_H
#define FUMI_STORE_SQLITE_JOURNAL_H

#include "store/sqlite_parts.h"

/* The tables that were added after version 3, and the SQL that records their root pages. */
#define STORE_KEEP_ROOTS                                                                           \
    "INSERT OR REPLACE INTO meta SELECT 'root.' || name, CAST(rootpage AS TEXT) FROM "             \
    "sqlite_schema WHERE " STORE_ADDED_TABLE
#define STORE_ADDED_TABLE                                                                          \
    "name IN ('origins', 'journal', 'injections', 'uses', 'reviews', 'projects')"

/* The change of one call, while its transaction runs. */
struct store_sqlite_change {
    const struct author *by; /* NULL: unknown */
    struct fumi_arena *arena;
    int64_t at, origin; /* origin 0: not looked up yet */
    int64_t change;     /* number of its first row; 0: nothing was changed yet */
    int64_t undoes;     /* of the rows that are written; 0: none */
};

/* Returns an array with room for another item: `items`, which has n of them, or a larger copy in
 * the arena. *cap is 0 before the first call. */
void *store_sqlite_room(struct fumi_arena *a, void *items, size_t n, size_t *cap, size_t size);

/* The beginning of a change. A transaction may run twice, so the job itself calls this. */
struct store_sqlite_change store_sqlite_change_begin(const struct author *by, struct fumi_arena *a);
/* The number of an author; *origin is 0 before the first call and then keeps the number. */
int store_sqlite_origin(struct db *d, const struct author *by, int64_t *origin, struct fumi_err *e);
/* Reads the author from five columns: session, client, version, transport, user. */
struct author store_sqlite_author(sqlite3_stmt *q, int column, struct fumi_arena *a);

struct journal_row {
    enum change_op op;
    struct fumi_str project, id, before; /* before null: there was nothing */
};
int store_sqlite_journal(struct db *d, struct store_sqlite_change *c, const struct journal_row *r,
                         struct fumi_err *e);

/* The condition of the index on ids. It leaves out notes that were added, other than by an undo: an
 * add then writes one page less, and nothing but the history of a note needs such a row. */
#define JOURNAL_INDEXED "(op<>0 OR undoes IS NOT NULL)"

/* The columns of a row of the journal and its author, for store_sqlite_change_row: false if the row
 * does not match its checksum. The strings live in the arena. */
#define JOURNAL_COLUMNS                                                                            \
    "SELECT j.n, coalesce(j.change, j.n), j.at, j.op, coalesce(j.undoes, 0), j.project, j.id, "    \
    "j.before, "                                                                                   \
    "j.checksum, o.session, o.client, o.version, o.transport, o.user, j.origin FROM journal j "    \
    "LEFT JOIN origins o USING(origin) "
bool store_sqlite_change_row(sqlite3_stmt *q, struct fumi_arena *a, struct change *out);

/* What a row of the journal is about: the members of a struct, by number. */
struct journal_kind {
    const struct note_column *columns;
    size_t n;
};
extern const struct journal_kind journal_note, journal_group, journal_global;
/* The members of `set`, a bit for each column; chain 0: without. */
struct fumi_str store_sqlite_before(struct fumi_arena *a, const struct journal_kind *k,
                                    const void *row, unsigned set, int64_t chain);
/* Sets the members that the text names, and their bits in *set. *chain: unchanged if the text has
 * none. Returns -1 with *e set if the text is damaged. */
int store_sqlite_before_read(struct fumi_arena *a, const struct journal_kind *k,
                             struct fumi_str before, void *row, unsigned *set, int64_t *chain,
                             struct fumi_err *e);
/* Calls `bad` for each row that does not match its checksum, with its number or id
 * (sqlite_journal.c, sqlite_reviews.c). */
int store_sqlite_reviews_check(struct db *d, store_sqlite_bad_fn *bad, void *arg,
                               struct fumi_err *e);
int store_sqlite_journal_check(struct db *d, store_sqlite_bad_fn *bad, void *arg,
                               struct fumi_err *e);

#endif
