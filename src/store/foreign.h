/* Databases of other programs: reads their tables without changing them. Not thread-safe. */
#ifndef FUMI_STORE_FOREIGN_H
#define FUMI_STORE_FOREIGN_H

#include "base/arena.h"
#include "base/err.h"

struct foreign;

enum { FOREIGN_COLUMNS = 16 };

/* Whether a file begins like an SQLite database. */
bool foreign_is_database(struct fumi_str start);
/* Opens an SQLite database for reading. If no files of SQLite lie beside it, no program has it
 * open, and nothing is created beside it. Otherwise the latest changes are read from its log.
 * Returns NULL with *e set on failure. */
struct foreign *foreign_open(struct fumi_str path, struct fumi_err *e);
void foreign_close(struct foreign *f); /* NULL is allowed */
/* Whether a table has a column. */
bool foreign_has(struct foreign *f, const char *table, const char *column);
/* Calls `each` with the columns of each row as texts, which are valid during the call; null: NULL.
 * Stops if `each` returns -1 with *e set. */
int foreign_rows(struct foreign *f, const char *sql,
                 int (*each)(void *arg, const struct fumi_str *columns, struct fumi_err *e),
                 void *arg, struct fumi_err *e);

#endif
