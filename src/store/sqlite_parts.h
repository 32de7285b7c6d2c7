/* Between the files of the SQLite store. A connection (struct db) is used by one thread at a time:
 * readers come from a free list, the writer belongs to whoever leads the write queue. Functions
 * on a connection run inside its transaction, which store_sqlite_read and store_sqlite_write open
 * and end. */
#ifndef FUMI_STORE_SQLITE_PARTS_H
#define FUMI_STORE_SQLITE_PARTS_H

#include "store/scan.h"
#include "store/sqlite.h"
#include "store/store_ops.h"

#include <pthread.h>
#include <sqlite3.h>

enum {
    STORE_SCHEMA = 2,               /* version of the tables: PRAGMA user_version */
    STORE_FORMAT = 1,               /* version of what they hold: schemaVersion of memory.stats */
    STORE_APPLICATION = 0x46756D69, /* "Fumi" */
    STORE_STATEMENTS = 128,         /* slots of a connection's cache; a power of two */
    STORE_FILTERS = 32,             /* filters whose places are remembered */
    CHANGED_ELSE = -1,
    /* The columns of notes in the first version; later ones stand behind them in the table. */
    FIRST_COLUMNS = NOTE_ID | NOTE_PROJECT | NOTE_GROUP | NOTE_TAGS | NOTE_TITLE | NOTE_SOURCE |
                    NOTE_METADATA | NOTE_TEXT | NOTE_CREATED,
};

struct db {
    sqlite3 *h;
    struct store_sqlite *store;
    struct db *next;
    bool bad;                  /* something broke: it is closed, not used again */
    int64_t waiting, patience; /* for a lock: since when; how long, 0: as usual */
    uint64_t random;           /* how long it sleeps then */
    struct {
        const char *sql;
        sqlite3_stmt *q;
    } cache[STORE_STATEMENTS];
};

/* The places that pass a filter without its span of time, up to a place number. */
struct cached_filter {
    char *key;
    size_t key_n;
    uint64_t *bits;
    size_t words;
    int64_t upto;
    uint64_t used;
};

struct store_sqlite_write;
struct store_sqlite {
    struct store base;
    char *path, *side, *uri; /* the database, the vectors' cache; how to open it if read-only */
    bool nosync;
    bool ours, lenient;    /* the file was looked at; a damaged one is opened too */
    uint64_t stamp;        /* sqlite_readonly.c: of the file that is read alone; 0: none is */
    bool corrupt, blocked; /* by any thread: the file is damaged, a stopped process locks it */
    const struct fumi_log *log;

    pthread_mutex_t readers_lock;
    struct db *readers;
    size_t readers_n;

    pthread_mutex_t write_lock; /* the queue and `leading`; the writer is the leader's */
    struct store_sqlite_write *first, *last;
    bool leading;
    struct db *writer;

    pthread_mutex_t filters_lock;
    struct cached_filter filters[STORE_FILTERS];
    uint64_t filters_used;

    pthread_rwlock_t scan_lock; /* written to open, refresh or close it, read to search in it */
    struct scan *scan;
    struct scan_source source;
    int64_t scan_space;
    size_t scan_dim;
    int64_t erase_next; /* sqlite_erase.c: when a caller may erase again */
    bool unerased;      /* this process removed texts whose traces are left */
};

void store_sqlite_idle(struct store_sqlite *s); /* closes the connections that nobody uses */
/* What is done in a transaction. It may run twice: the first time was undone then. */
typedef int store_sqlite_fn(struct db *d, void *arg, struct fumi_err *e);

/* Runs it in one snapshot of the database. */
int store_sqlite_read(struct store *s, store_sqlite_fn *run, void *arg, struct fumi_err *e);
/* Runs it in a write transaction that other threads may share, until that is on disk, or undone. */
int store_sqlite_write(struct store *s, store_sqlite_fn *run, void *arg, struct fumi_err *e);

/* Connections (sqlite_db.c). `writes`: it may. */
struct db *store_sqlite_connect(struct store_sqlite *s, bool writes, struct fumi_err *e);
void store_sqlite_disconnect(struct db *d);
bool store_sqlite_moved(struct db *d); /* its file was removed or replaced */
int store_sqlite_sync_mode(struct db *d, const char *mode, struct fumi_err *e);
/* Sets the sentence for a code of SQLite's, which says what to do. Returns -1. */
int store_sqlite_fault(struct db *d, int code, struct fumi_err *e);

/* Statements. `sql` is a literal: its address is its key in the connection's cache. `types` has a
 * letter for each further argument: 's' struct fumi_str (null: NULL), 'b' the same as a blob, 'i'
 * int64_t, 'f' const struct scan_filter *; as the last letter 'n' (all columns) or 'u' (those that
 * an update sets) const struct note * and struct fumi_str, its tags as JSON. What is bound must
 * live until the statement has ended. NULL: *e is set. */
sqlite3_stmt *store_sqlite_query(struct db *d, struct fumi_err *e, const char *sql,
                                 const char *types, ...);
/* 1: a row; 0: no more; -1: *e is set. It has ended unless there was a row. */
int store_sqlite_row(struct db *d, sqlite3_stmt *q, struct fumi_err *e);
void store_sqlite_end(sqlite3_stmt *q);
/* The whole statement; its rows do not matter. */
int store_sqlite_run(struct db *d, struct fumi_err *e, const char *sql, const char *types, ...);
/* The first column of the first row. 1: there is one; 0: none, *out stays; -1: *e is set. */
int store_sqlite_number(struct db *d, struct fumi_err *e, int64_t *out, const char *sql,
                        const char *types, ...);

struct fumi_str store_sqlite_text(sqlite3_stmt *q, int column); /* or blob, until the next step */
struct fumi_str store_sqlite_keep(sqlite3_stmt *q, int column, struct fumi_arena *a);
/* Files (sqlite_file.c). */
int store_sqlite_file_make(const char *path,
                           struct fumi_err *e);   /* with its directories; may exist */
int store_sqlite_file_fresh(const char *path);    /* a new one, locked: its descriptor, or -1 */
void store_sqlite_file_sweep(const char *beside); /* removes what dead processes left */
int store_sqlite_file_sync(const char *path, struct fumi_err *e);
int store_sqlite_file_sync_dir(const char *path, struct fumi_err *e); /* the one that holds it */
bool store_sqlite_file_exists(const char *path);
/* From one name to another, for good. Unless `replace`, a file of that name is ERR_CONFLICT. */
int store_sqlite_file_name(const char *from, const char *to, bool replace, struct fumi_err *e);
/* like: gives it the owner and rights of another. swap: puts another in its place, and keeps it. */
int store_sqlite_file_like(const char *path, const char *model, struct fumi_err *e);
int store_sqlite_file_swap(const char *path, const char *with, const char *keep,
                           struct fumi_err *e);
void store_sqlite_file_remove(const char *path); /* a database with what stands beside it */
int store_sqlite_salvage_schema(struct store_sqlite *s,
                                struct fumi_err *e); /* sqlite_mend.c; s has nothing open */
/* Names, to be freed: with an ending, with a kind and a random number, with the time. */
char *store_sqlite_path(const char *path, const char *ending);
char *store_sqlite_path_new(const char *path, const char *kind);
char *store_sqlite_path_kept(const char *path);
/* Schema (sqlite_schema.c). */
struct store_sqlite_steps {
    const struct store_sqlite_step {
        int from; /* brings version `from` to the next */
        const char *sql;
    } * items;
    size_t n;
};
int store_sqlite_schema_look(struct db *d, struct fumi_err *e); /* refuses what cannot be ours */
int store_sqlite_schema_open(struct db *d, struct fumi_err *e); /* checks, creates or migrates */
int store_sqlite_schema_check(struct db *d, struct fumi_err *e);
int store_sqlite_schema_migrate(struct db *d, const struct store_sqlite_steps *steps, int64_t to,
                                struct fumi_err *e);
/* Writes a copy of the database to `to`. COPY_BACKUP: fails if the file exists or the database is
 * damaged. COPY_BEFORE_MIGRATION: replaces the file; damage is copied too if the store is lenient.
 */
enum store_sqlite_copy_kind { COPY_BACKUP, COPY_BEFORE_MIGRATION };
int store_sqlite_copy(struct store_sqlite *s, const char *to, enum store_sqlite_copy_kind kind,
                      struct fumi_err *e);

/* Writes what can be read of a damaged file into a new one, which takes its place after `finish`;
 * the damaged one is kept. Nobody else may use the database meanwhile. */
struct store_sqlite_salvaged {
    int64_t vectors, notes, lost; /* lost: notes, as far as the indexes know */
    int64_t others, spoilt;       /* groups, globals and facts: saved, and there but damaged */
    char *kept;                   /* the name of the damaged file, to be freed */
};
int store_sqlite_salvage(struct store_sqlite *s, store_sqlite_fn *finish, void *arg,
                         struct store_sqlite_salvaged *out, struct fumi_err *e);
/* Checksums: begin with 0, put all in. */
uint64_t store_sqlite_sum_number(uint64_t sum, int64_t n);
uint64_t store_sqlite_sum_str(uint64_t sum, struct fumi_str s);

/* Places (sqlite_places.c). enter: that of a new note, made if need be. leave: a note goes. */
struct tag_set_key {
    struct fumi_str project, group, tags_json;
    struct fumi_strs tags;
};
struct fumi_str store_sqlite_tags_json(struct fumi_arena *a, struct fumi_strs tags);
int store_sqlite_tags_read(struct fumi_arena *a, struct fumi_str json, struct fumi_strs *out,
                           struct fumi_err *e);
int store_sqlite_tag_set_add(struct db *d, const struct tag_set_key *p, int64_t *tag_set,
                             struct fumi_err *e);
int store_sqlite_tag_set_remove(struct db *d, int64_t tag_set, struct fumi_err *e);
/* The places that pass, in the arena. f NULL: all. */
int store_sqlite_filter(struct db *d, struct fumi_arena *a, const struct filter *f,
                        struct scan_filter *out, struct fumi_err *e);
void store_sqlite_filters_done(struct store_sqlite *s);

/* Notes (sqlite_notes.c): what a stored one is beside a struct note. */
struct stored {
    struct note note;
    int64_t tag_set, version;
    bool damaged;
};
/* 1: there; 0: not; -1: *e is set. by_id when id.p, else by seq. */
int store_sqlite_find(struct db *d, struct fumi_arena *a, struct fumi_str id, int64_t seq,
                      struct stored *out, struct fumi_err *e);
/* Shows a note to `to`; *shown += 1 if it is there and sound. 1: go on; 0: end; -1: *e is set. */
int store_sqlite_note_load(struct db *d, const struct loading *to, int64_t seq, struct notes *out,
                           size_t *shown, struct fumi_err *e);
void store_sqlite_log_damage(struct store_sqlite *s, const char *what, struct fumi_str id);
/* Raises the change number because of this note; 0: of all; CHANGED_ELSE: of what is no note. */
int store_sqlite_note_changed(struct db *d, int64_t seq, struct fumi_err *e);
int store_sqlite_note_words(struct db *d, struct fumi_arena *a, const struct note *n,
                            struct fumi_err *e);
/* Sets the tags, and whether it is damaged, by its checksum. */
void store_sqlite_note_judge(struct stored *s, struct fumi_arena *a, struct fumi_str tags,
                             int64_t sum);
/* A note of another file, as it is, without its vectors. No note may have its id or number. */
int store_sqlite_note_save(struct db *d, struct fumi_arena *a, const struct stored *s,
                           struct fumi_err *e);

/* Vectors (sqlite_vectors.c). space: its number, made when `make`, 0 when there is none. */
int store_sqlite_space(struct db *d, struct fumi_str name, size_t dim, bool make, int64_t *space,
                       struct fumi_err *e);
int store_sqlite_vectors_put(struct db *d, int64_t seq, const struct vectors *v,
                             struct fumi_err *e);
int store_sqlite_vectors_drop(struct db *d, int64_t seq, struct fumi_err *e);
int store_sqlite_vectors_drop_in(struct db *d, int64_t seq, int64_t space, struct fumi_err *e);
/* Copies a vector to where floats may stand. False: it is damaged. */
bool store_sqlite_vector_read(struct fumi_str blob, size_t dim, float *to);
/* Logs a damaged vector and lets its note be embedded again. */
void store_sqlite_vector_damaged(struct store_sqlite *s, int64_t vector);
/* The vectors' cache (sqlite_index.c). */
void store_sqlite_index_init(struct store_sqlite *s);
void store_sqlite_index_close(struct store_sqlite *s);
/* The scan of this space may be used until store_sqlite_index_done. */
int store_sqlite_index_use(struct store_sqlite *s, struct fumi_str name, size_t dim, int64_t space,
                           struct fumi_err *e);
void store_sqlite_index_done(struct store_sqlite *s);
/* Tells the ids of groups and globals that do not agree with their checksum. */
typedef void store_sqlite_bad_fn(void *arg, const char *what, struct fumi_str id);
int store_sqlite_groups_check(struct db *d, store_sqlite_bad_fn *bad, void *arg,
                              struct fumi_err *e);
int store_sqlite_globals_check(struct db *d, store_sqlite_bad_fn *bad, void *arg,
                               struct fumi_err *e);

#endif
