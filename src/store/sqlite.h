/* A store in one SQLite file, which any number of processes may share. */
#ifndef FUMI_STORE_SQLITE_H
#define FUMI_STORE_SQLITE_H

#include "base/log.h"
#include "store/store.h"

struct store_sqlite_options {
    const char *path; /* its directory is made when it is missing, mode 0700 */
    bool nosync;      /* tests and benchmarks only: the last notes may be lost by a power cut */
    bool lenient;     /* for doctor: a small file that is damaged is opened too */
    bool salvage; /* for doctor: one whose table of tables is damaged gets a new one, and is kept */
    const struct fumi_log *log; /* borrowed; may be NULL */
};

/* Opens, creates or migrates. NULL with *e set, and nothing touched, when the file is no database
 * of ours, damaged, of a newer version, or cannot be written. */
struct store *store_sqlite_open(const struct store_sqlite_options *o, struct fumi_err *e);

#endif
