/* The operations of the SQLite engine, each with the type and contract of its function in store.h.
 */
#ifndef FUMI_STORE_SQLITE_OPS_H
#define FUMI_STORE_SQLITE_OPS_H

#include "store/sqlite_parts.h"

#define STORE_OP(name) __typeof__(store_##name) store_sqlite_##name
STORE_OP(add_note);
STORE_OP(get_note);
STORE_OP(update_note);
STORE_OP(delete);
STORE_OP(list_recent);
STORE_OP(list_by_seq);
STORE_OP(load_notes);
STORE_OP(load_heads);
STORE_OP(list_names);
STORE_OP(nearest);
STORE_OP(score_vectors);
STORE_OP(match_keywords);
STORE_OP(count_notes);
STORE_OP(add_group);
STORE_OP(get_group);
STORE_OP(update_group);
STORE_OP(delete_group);
STORE_OP(list_groups);
STORE_OP(set_global);
STORE_OP(get_global);
STORE_OP(list_globals);
STORE_OP(list_unembedded);
STORE_OP(add_vectors);
STORE_OP(embedding_progress);
STORE_OP(delete_spaces);
STORE_OP(get_meta);
STORE_OP(set_meta);
STORE_OP(change_number);
STORE_OP(stats);
STORE_OP(backup);
STORE_OP(check);
STORE_OP(erase_step);
STORE_OP(merge_note);
STORE_OP(merge_group);
STORE_OP(merge_global);
STORE_OP(project_stats);
#undef STORE_OP

#endif
