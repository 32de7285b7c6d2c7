/* Private to sqlite*.c. One thread at a time uses a connection (struct db): a reader belongs to the
 * thread that took it from the free list, the writer to the thread that leads the write queue
 * (sqlite_write.c). A function that takes a struct db runs inside the transaction of that
 * connection, which store_sqlite_read or store_sqlite_write begins and ends, unless its comment
 * says otherwise. Functions that return int return 0, or -1 with *e set, unless stated. */
#ifndef FUMI_STORE_SQLITE_PARTS_H
#define FUMI_STORE_SQLITE_PARTS_H

#include "store/scan.h"
#include "store/sqlite.h"
#include "store/sqlite_words.h"
#include "store/sqlite_write.h"
#include "store/store_ops.h"

#include <pthread.h>
#include <sqlite3.h>

enum {
    STORE_SCHEMA = 4,               /* version of the tables: PRAGMA user_version */
    STORE_FORMAT = 1,               /* schemaVersion of memory.stats: version of the content */
    STORE_APPLICATION = 0x46756D69, /* "Fumi" */
    STORE_STATEMENTS = 256,         /* slots of the statement cache; a power of two */
    STORE_FILTERS = 32,             /* filters whose tag sets are cached */
    STORE_DAMAGED = 64,             /* damaged vectors that are reported at once */
    CHANGED_ELSE = -1,              /* store_sqlite_note_changed: not a note */
    /* The columns of notes in schema version 1; columns of later versions follow in the table. */
    FIRST_COLUMNS = NOTE_ID | NOTE_PROJECT | NOTE_GROUP | NOTE_TAGS | NOTE_TITLE | NOTE_SOURCE |
                    NOTE_METADATA | NOTE_TEXT | NOTE_CREATED,
};

struct db {
    sqlite3 *h;
    struct store_sqlite *store;
    struct db *next;            /* in the free list of readers */
    bool bad;                   /* an error made it unusable: it is closed instead of reused */
    int64_t waiting;            /* start of the current wait for a lock */
    int64_t patience;           /* nanoseconds to wait for a lock; 0: the default (sqlite_busy.c) */
    uint64_t random;            /* state of the generator that varies the waits */
    struct words_ending ending; /* of the tokens that the tokenizer emits */
    int64_t origin;             /* sqlite_journal.c: of the last author; 0: none is known */
    struct fumi_str origin_key; /* owned */
    struct {
        const char *sql;
        sqlite3_stmt *q; /* owned; NULL: the slot is free */
    } cache[STORE_STATEMENTS];
};

/* The tag sets that pass a filter (its time range is not part of it), as a bit set that is complete
 * for tag set numbers up to `upto`. */
struct cached_filter {
    char *key; /* NULL: the entry is free */
    size_t key_n;
    uint64_t *bits;
    size_t words; /* of bits */
    int64_t upto;
    uint64_t used; /* larger: used more recently */
};

struct store_sqlite {
    struct store base;
    char *path, *side;     /* the database and the vector cache */
    char *uri;             /* how to open a read-only database; NULL: it is writable */
    bool nosync, ours;     /* ours: the file was checked and is a store */
    bool lenient, replica; /* open a damaged file too; a copy of another store */
    bool bare;             /* create the file without the indexes that `complete` creates */
    bool corrupt;          /* atomic: damage was found */
    bool blocked;          /* atomic: a stopped process holds the lock */
    uint64_t stamp; /* sqlite_readonly.c: of a file that is read without locks; 0: locks are used */
    const struct fumi_log *log;
    struct store_sqlite_progress progress;
    pthread_mutex_t readers_lock;
    struct db *readers; /* idle connections */
    size_t readers_n;

    struct store_sqlite_queue writes;
    struct db *writer; /* owned by the leading thread while writes.leading; may be NULL */

    pthread_mutex_t filters_lock; /* guards `counts` too */
    struct cached_filter filters[STORE_FILTERS];
    uint64_t filters_used;
    struct cached_counts *counts; /* sqlite_counts.c; NULL: nothing is cached */

    pthread_rwlock_t scan_lock; /* write: open or close the scan; read: use it */
    struct scan *scan;          /* NULL: not open */
    struct scan_source source;
    int64_t scan_space;
    size_t scan_dim;
    int64_t patience; /* milliseconds that a search waits for the vector cache */
    pthread_mutex_t damaged_lock;
    int64_t damaged[STORE_DAMAGED]; /* vectors that the keeper of the cache found */
    size_t damaged_n;
    int64_t erase_next; /* atomic; sqlite_erase.c: earliest time of the next attempt */
    bool unerased;      /* atomic: this process deleted texts whose traces are not erased yet */
};

void store_sqlite_idle(struct store_sqlite *s); /* closes all connections that are not in use */
/* Any thread: calls `run` in one snapshot of the database. */
int store_sqlite_read(struct store *s, store_sqlite_fn *run, void *arg, struct fumi_err *e);

/* Connections (sqlite_db.c), outside of a transaction. connect: if not `writes`, statements that
 * write fail; NULL: *e is set. The caller closes the connection; d may then be NULL. */
struct db *store_sqlite_connect(struct store_sqlite *s, bool writes, struct fumi_err *e);
void store_sqlite_disconnect(struct db *d);
bool store_sqlite_moved(struct db *d); /* the file was deleted or replaced */
int store_sqlite_sync_mode(struct db *d, const char *mode, struct fumi_err *e);
/* Sets *e for an SQLite result code: what happened and what to do. Returns -1. */
int store_sqlite_fault(struct db *d, int code, struct fumi_err *e);

/* Returns the statement with its parameters bound; NULL: *e is set. The connection owns the
 * statement; the caller steps it and ends it. `sql` must be a literal, because its address is the
 * key of the statement cache. `types` has one letter per argument: 's' struct fumi_str (null:
 * NULL), 'b' the same as a blob, 'i' int64_t, 'f' const struct scan_filter *; as the last letter
 * 'n' for a const struct note * and its tags as JSON (struct fumi_str): all columns. Strings are
 * not copied: they must live until the statement is ended. */
sqlite3_stmt *store_sqlite_query(struct db *d, struct fumi_err *e, const char *sql,
                                 const char *types, ...);
/* Returns 1 for a row; 0 after the last row; -1 with *e set. Ends the statement unless it returns
 * 1. */
int store_sqlite_row(struct db *d, sqlite3_stmt *q, struct fumi_err *e);
void store_sqlite_end(sqlite3_stmt *q); /* resets it; q may be NULL */
/* Runs a statement to its end and ignores its rows. */
int store_sqlite_run(struct db *d, struct fumi_err *e, const char *sql, const char *types, ...);
/* Reads the first column of the first row. Returns 1; 0 if there is no row, with *out unchanged; -1
 * with *e set. */
int store_sqlite_number(struct db *d, struct fumi_err *e, int64_t *out, const char *sql,
                        const char *types, ...);

/* A text or blob column, NULL as a null string. text: valid until the statement is stepped or
 * ended. keep: copied into the arena. */
struct fumi_str store_sqlite_text(sqlite3_stmt *q, int column);
struct fumi_str store_sqlite_keep(sqlite3_stmt *q, int column, struct fumi_arena *a);

/* Schema (sqlite_schema.c). look, open and migrate run outside of a transaction. look: refuses a
 * file that cannot be a store, by its header. open: checks the tables, after creating or migrating
 * them. check: compares the tables. missing: sets *sql to a missing index; returns 1, 0 or -1.
 * complete: if there is one, also rebuilds the keyword index. migrate: only below version `to`. */
struct store_sqlite_steps {
    const struct store_sqlite_step {
        int from; /* migrates version `from` to the next one */
        const char *sql;
        store_sqlite_fn *then; /* called after the SQL; NULL: nothing */
    } * items;
    size_t n;
};
int store_sqlite_schema_look(struct db *d, struct fumi_err *e);
int store_sqlite_schema_open(struct db *d, struct fumi_err *e);
int store_sqlite_schema_check(struct db *d, struct fumi_err *e);
int store_sqlite_schema_missing(struct db *d, const char **sql, struct fumi_err *e);
int store_sqlite_schema_complete(struct db *d, void *arg, struct fumi_err *e);
int store_sqlite_schema_migrate(struct db *d, const struct store_sqlite_steps *steps, int64_t to,
                                struct fumi_err *e);
/* Writes a copy of the database to `to`. COPY_BACKUP: fails if the file exists or the database is
 * damaged. COPY_BEFORE_MIGRATION: replaces the file; a lenient store also copies damage. */
enum store_sqlite_copy_kind { COPY_BACKUP, COPY_BEFORE_MIGRATION };
int store_sqlite_copy(struct store_sqlite *s, const char *to, enum store_sqlite_copy_kind kind,
                      struct fumi_err *e);

/* Writes all readable rows of a damaged file into a new file, calls `finish` on the new file, and
 * replaces the damaged file, which is kept under another name. Fails if any other process has the
 * database open; no other thread may use the store. */
struct store_sqlite_salvaged {
    int64_t vectors, notes, lost; /* lost: notes, as far as the indexes show */
    int64_t others, damaged;      /* groups, globals and meta rows: saved; groups, globals: lost */
    char *kept;                   /* name of the damaged file; the caller frees it */
};
int store_sqlite_salvage(struct store_sqlite *s, store_sqlite_fn *finish, void *arg,
                         struct store_sqlite_salvaged *out, struct fumi_err *e);
/* Replaces a damaged schema table (sqlite_salvage_schema.c). s must have no connection open. */
int store_sqlite_salvage_schema(struct store_sqlite *s, struct fumi_err *e);

/* Checksums: begin with 0 and add all values in a fixed order. Any thread. */
uint64_t store_sqlite_sum_number(uint64_t sum, int64_t n);
uint64_t store_sqlite_sum_str(uint64_t sum, struct fumi_str s);

/* Tag sets (sqlite_tag_sets.c). add: counts one more note with this project, group and tags, and
 * sets *tag_set, a new number if the combination is new. remove: counts one note less. */
struct tag_set_key {
    struct fumi_str project, group, tags_json;
    struct fumi_strs tags;
    bool superseded; /* the tag set has the reserved tag as its first one */
};
/* The tag of the tag sets of superseded notes. No note can have it, because tags have no control
 * characters; it is not among the tags of the notes. SUPERSEDED_TAGS is the SQL expression for the
 * tags of the tag set of note n. */
#define SUPERSEDED_TAG  "\1superseded"
#define SUPERSEDED_JSON "[\"\\u0001superseded\""
#define SUPERSEDED_TAGS                                                                            \
    "iif(n.superseded_by IS NULL, n.tags, '" SUPERSEDED_JSON                                       \
    "' || iif(n.tags='[]', ']', ',' || substr(n.tags, 2)))"
struct fumi_str store_sqlite_tags_json(struct fumi_arena *a, struct fumi_strs tags);
int store_sqlite_tags_read(struct fumi_arena *a, struct fumi_str json, struct fumi_strs *out,
                           struct fumi_err *e);
int store_sqlite_tag_set_add(struct db *d, const struct tag_set_key *p, int64_t *tag_set,
                             struct fumi_err *e);
int store_sqlite_tag_set_remove(struct db *d, int64_t tag_set, struct fumi_err *e);
/* Sets *out to the tag sets and times that pass; its bits live in the arena. f NULL: all pass. */
int store_sqlite_filter(struct db *d, struct fumi_arena *a, const struct filter *f,
                        struct scan_filter *out, struct fumi_err *e);
void store_sqlite_filters_done(struct store_sqlite *s); /* needs filters_lock, or no other thread */

/* Notes (sqlite_notes.c): a row of the table. */
struct stored {
    struct note note;
    int64_t tag_set, version; /* version: of the text */
    bool damaged;             /* the row does not match its checksum */
};
/* Finds a note by id, or by seq if the id is null. Returns 1; 0 if there is none; -1, *e set. */
int store_sqlite_find(struct db *d, struct fumi_arena *a, struct fumi_str id, int64_t seq,
                      struct stored *out, struct fumi_err *e);
/* Passes a note to `to`, and adds 1 to *shown if the note exists and is not damaged. `out` must
 * have space for it. Returns 1; 0 if `to` ends the list; -1 with *e set. */
int store_sqlite_note_load(struct db *d, const struct loading *to, int64_t seq, struct notes *out,
                           size_t *shown, struct fumi_err *e);
void store_sqlite_log_damage(struct store_sqlite *s, const char *what, struct fumi_str id);
/* Raises the change number because this note changed; 0: all notes; CHANGED_ELSE: not a note. */
int store_sqlite_note_changed(struct db *d, int64_t seq, struct fumi_err *e);
/* words: adds a note to the keyword index. rebuild: builds it from the notes without damage. */
int store_sqlite_note_words(struct db *d, struct fumi_arena *a, const struct note *n,
                            struct fumi_err *e);
int store_sqlite_words_rebuild(struct db *d, void *arg, struct fumi_err *e);
/* Sets the tags, and `damaged` by comparing the note with the checksum `sum`. */
void store_sqlite_note_verify(struct stored *s, struct fumi_arena *a, struct fumi_str tags,
                              int64_t sum);
/* Inserts a note of another file with its keywords, but without vectors. Its id and seq must be
 * unused. */
int store_sqlite_note_save(struct db *d, struct fumi_arena *a, const struct stored *s,
                           struct fumi_err *e);

/* Vectors (sqlite_vectors.c). space: sets *space to the number of the space; if there is none,
 * creates it if `make`, otherwise sets *space to 0. put: v may be NULL or empty. drop: in all
 * spaces. */
int store_sqlite_space(struct db *d, struct fumi_str name, size_t dim, bool make, int64_t *space,
                       struct fumi_err *e);
int store_sqlite_vectors_put(struct db *d, int64_t seq, const struct vectors *v,
                             struct fumi_err *e);
int store_sqlite_vectors_drop(struct db *d, int64_t seq, struct fumi_err *e);
int store_sqlite_vectors_drop_in(struct db *d, int64_t seq, int64_t space, struct fumi_err *e);
/* Decodes a stored vector into `to`. Returns false if it is damaged. */
bool store_sqlite_vector_read(struct fumi_str blob, size_t dim, float *to);
/* Logs a damaged vector and deletes the vectors of its note, which is then embedded again. Opens a
 * write transaction, so it must not be called inside of one. */
void store_sqlite_vector_damaged(struct store_sqlite *s, int64_t vector);
/* Calls `bad` with the kind and id of each group or global that does not match its checksum. */
typedef void store_sqlite_bad_fn(void *arg, const char *what, struct fumi_str id);
int store_sqlite_groups_check(struct db *d, store_sqlite_bad_fn *bad, void *arg,
                              struct fumi_err *e);
int store_sqlite_globals_check(struct db *d, store_sqlite_bad_fn *bad, void *arg,
                               struct fumi_err *e);

#endif
