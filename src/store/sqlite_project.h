/* What one project has in the SQLite store. */
#ifndef FUMI_STORE_SQLITE_PROJECT_H
#define FUMI_STORE_SQLITE_PROJECT_H

#include "store/sqlite_parts.h"

STORE_OP(project_stats);

#endif
