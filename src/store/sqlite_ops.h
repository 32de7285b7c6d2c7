/* The operations of the SQLite engine, each with the type and contract of its function in store.h.
 */
#ifndef FUMI_STORE_SQLITE_OPS_H
#define FUMI_STORE_SQLITE_OPS_H

#include "store/sqlite_parts.h"
#include "store/store_ops.h"

#define STORE_OP(name) __typeof__(store_##name) store_sqlite_##name;
STORE_OPS(STORE_OP)
#undef STORE_OP

/* sqlite_backup.c: tells what is done. Returns false if the work must stop. */
bool store_sqlite_tell(const struct store_sqlite *s, int64_t done, int64_t total);

#endif
