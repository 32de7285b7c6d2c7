/* A store in one SQLite file, which any number of processes may share. */
#ifndef FUMI_STORE_SQLITE_H
#define FUMI_STORE_SQLITE_H

#include "base/log.h"
#include "store/store.h"

/* Tells backup and check to stop if `run` returns false. {0}: nothing is told. */
struct store_sqlite_progress {
    bool (*run)(void *arg, int64_t done, int64_t total);
    void *arg;
};

struct store_sqlite_options {
    const char *path; /* copied; a missing directory is created with mode 0700 */
    bool nosync;      /* tests and benchmarks only: a power cut may lose the last writes */
    bool lenient;     /* for doctor: open a small file even if it is damaged */
    bool salvage;     /* for doctor: if the schema table is damaged, replace it; keep a copy */
    bool bare;        /* for salvage: create a store whose schema table all stores could have */
    bool replica;     /* of a store in PostgreSQL: a power cut may lose the last writes */
    bool *damaged;    /* set if the store does not open because the file is damaged; may be NULL */
    int64_t patience; /* milliseconds that a search waits for the vector cache; 0: 2,000 */
    const struct fumi_log *log;            /* borrowed until store_close; may be NULL */
    struct store_sqlite_progress progress; /* of backup and check */
};

/* Opens, creates or migrates a store. A database that cannot be written is opened for reading.
 * Returns NULL with *e set, and leaves the file unchanged, if the file is not a store, is damaged
 * or was written by a newer version. The caller closes the result with store_close. */
struct store *store_sqlite_open(const struct store_sqlite_options *o, struct fumi_err *e);

#endif
