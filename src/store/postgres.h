/* A store in PostgreSQL, which any number of servers may share (docs/teams.md).
 *
 * PostgreSQL has the truth. Each server has a complete copy of it in an SQLite file, its replica,
 * on which all reads run with the code of the SQLite engine. */
#ifndef FUMI_STORE_POSTGRES_H
#define FUMI_STORE_POSTGRES_H

#include "base/log.h"
#include "store/store.h"

struct store_postgres_options {
    const char *url;            /* postgres://..., as libpq reads it; copied */
    const char *dir;            /* directory for the replica, which exists */
    int64_t patience;           /* as in struct store_sqlite_options */
    const struct fumi_log *log; /* borrowed until store_close; may be NULL */
};

/* Whether the text is the address of a PostgreSQL store. */
bool store_postgres_is(struct fumi_str url);
/* Whether the address contains a password. */
bool store_postgres_secret(struct fumi_str url);
/* The address without its password, to be shown; null if it is null. */
struct fumi_str store_postgres_shown(struct fumi_arena *a, struct fumi_str url);

/* Connects, creates the tables if there are none, and brings the replica up to date. A server that
 * has no replica yet copies everything. Returns NULL with *e set. The caller closes the result with
 * store_close. */
struct store *store_postgres_open(const struct store_postgres_options *o, struct fumi_err *e);

#endif
