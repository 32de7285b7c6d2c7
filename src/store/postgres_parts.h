/* Private to postgres*.c. Functions that return int return 0, or -1 with *e set, unless stated. */
#ifndef FUMI_STORE_POSTGRES_PARTS_H
#define FUMI_STORE_POSTGRES_PARTS_H

#include "base/arena.h"
#include "base/task.h"
#include "store/libpq.h"
#include "store/postgres.h"
#include "store/sqlite_ops.h"
#include "store/sqlite_parts.h"

enum {
    PG_TABLES = 16,
    PG_COLUMNS = 20,
    PG_SCHEMA = STORE_SCHEMA, /* fumi.store.schema: version of the tables in PostgreSQL */
    PG_KEPT = 100000, /* changes for which deletions are kept; a replica that is further behind
                         copies everything */
};

/* A connection to PostgreSQL (postgres_link.c). One thread at a time uses it. */
struct pg {
    const struct libpq *q;
    PGconn *c;   /* NULL: not connected */
    bool bad;    /* after any error: it has to be closed, which ends its transaction */
    bool lost;   /* bad because PostgreSQL did not answer */
    size_t sent; /* commands of the pipeline whose results were not read */
    uint8_t prepared[PG_TABLES]; /* bits: statements that this connection has prepared */
};

/* connect: does nothing if it is connected and sound. disconnect: never fails.
 * exec: runs SQL; *out, if it is not NULL, is the result with rows, which the caller frees with
 * PQclear. result: the next result of what was sent, NULL at the end of the results of a command;
 * e->code is then 0. check: frees a result; -1 if it is an error. */
int pg_connect(struct pg *p, const char *url, struct fumi_err *e);
void pg_disconnect(struct pg *p);
int pg_exec(struct pg *p, const char *sql, PGresult **out, struct fumi_err *e);
int pg_result(struct pg *p, PGresult **out, struct fumi_err *e);
int pg_check(struct pg *p, PGresult *r, struct fumi_err *e);
/* Sets *e to why a call of libpq failed; the connection is bad. Returns -1. */
int pg_fault(struct pg *p, struct fumi_err *e);
/* Reads a number or a text of the first row. */
int64_t pg_number(struct pg *p, const PGresult *r, int column);

/* A parameter, or a column of a row: a number, a text or a blob. */
struct pg_value {
    char type; /* 'i', 's' or 'b' */
    bool null;
    int64_t n;
    struct fumi_str s;
};

/* The pipeline: pipeline, send..., sync, end. send does not wait, except that the results of many
 * commands are read together. sync: PostgreSQL does not wait for more. end: waits for the results
 * that are left. After an error the connection is bad. */
int pg_pipeline(struct pg *p, struct fumi_err *e);
int pg_send(struct pg *p, const char *sql, const struct pg_value *values, size_t n,
            struct fumi_err *e);
int pg_pipeline_sync(struct pg *p, struct fumi_err *e);
int pg_pipeline_end(struct pg *p, struct fumi_err *e);
/* Reads a column of the first row of a result in binary format. The text lives in the result, or
 * in the arena if it had to be decoded. */
struct pg_value pg_column(struct pg *p, struct fumi_arena *a, const PGresult *r, int column,
                          char type);

/* A table that is kept in PostgreSQL, under the same name and with the same columns (and `change`,
 * the number of the last change of the row). Described by SQLite (postgres_tables.c). */
struct pg_table {
    const char *name;
    size_t index, n;
    struct pg_column {
        char name[24];
        char type; /* 'i', 's' or 'b' */
        bool key;
    } columns[PG_COLUMNS];
    /* PostgreSQL: */
    const char *create, *insert, *remove, *select;
    /* SQLite, with the columns of the key, or all columns, as parameters: */
    const char *get, *put, *drop;
};

enum pg_statement { PG_INSERT, PG_REMOVE };

/* tables: reads the columns. The texts live in the arena. is_local: the row of the meta table
 * belongs to the replica alone. */
int pg_tables_read(struct db *d, struct fumi_arena *a, struct pg_table tables[PG_TABLES],
                   struct fumi_err *e);
bool pg_is_local(struct fumi_str meta_name);
/* Sends a prepared statement in the pipeline. */
int pg_send_to(struct pg *p, const struct pg_table *t, enum pg_statement what,
               const struct pg_value *values, size_t n, struct fumi_err *e);
/* The schema. look: sets *epoch, which lives in the arena; null: there is no store. epoch: a new
 * one. create: unless there is one. check: refuses the tables of another version. */
int pg_schema_look(struct pg *p, struct fumi_arena *a, struct fumi_str *epoch, struct fumi_err *e);
struct fumi_str pg_schema_epoch(struct fumi_arena *a);
int pg_schema_create(struct pg *p, const struct pg_table tables[PG_TABLES], struct fumi_str epoch,
                     struct fumi_err *e);
int pg_schema_check(int64_t schema, struct fumi_err *e);

/* A state of the store: the number of the last change, and its random token, so that the changes of
 * a restored database are not mistaken for others. change -1: the replica is empty. */
struct pg_position {
    int64_t change, token;
};

/* What PostgreSQL says in a transaction. */
struct pg_state {
    struct pg_position at;
    int64_t schema;
    struct fumi_str epoch, sequences; /* owned by the result */
    PGresult *row;
};

/* The truth behind a replica. All but the follower belongs to the thread that leads the write queue
 * of the replica (sqlite_write.c). */
struct truth {
    struct store_sqlite_truth base;
    struct store_sqlite *replica;
    struct store_ops ops;
    const struct fumi_log *log;
    struct fumi_arena arena; /* of the tables and the epoch */
    struct pg_table tables[PG_TABLES];
    struct fumi_str epoch;
    char *url;
    struct pg link;
    bool open;                       /* the link is in a transaction */
    bool distrusted;                 /* the replica has to be copied again */
    struct pg_position at;           /* of PostgreSQL, in the transaction */
    struct sqlite3_session *session; /* records the transaction; NULL: there is none */
    int64_t retry;                   /* no connection is tried before (fumi_ticks) */
    struct fumi_err why;             /* why the last one failed */
    int64_t generation; /* atomic; of the replica that the caches in memory were made from */

    pthread_t follower;
    bool following;
    int stop; /* eventfd */
};

/* position: of the replica, in its transaction; the generation changes when all rows are replaced.
 * pull: in a transaction of the replica and one of PostgreSQL, copies what has changed, or all.
 * push: sends what the session recorded, but not COMMIT; *any: there was something. */
int pg_position_read(struct db *d, struct pg_position *at, int64_t *generation, struct fumi_err *e);
int pg_position_write(struct db *d, struct pg_position at, int64_t generation, struct fumi_err *e);
int pg_pull(struct truth *t, struct db *d, const struct pg_state *to, struct fumi_err *e);
int pg_push(struct truth *t, struct db *d, const struct pg_position *now, bool *any,
            struct fumi_err *e);

/* sync: brings the replica up to date, without locking out other servers. Any thread. */
int pg_sync(struct truth *t, struct fumi_err *e);

/* The thread that does so when other servers have written (postgres_follow.c). */
int pg_follow(struct truth *t, struct fumi_err *e);
void pg_follow_end(struct truth *t);

#endif
