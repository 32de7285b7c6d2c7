/* The text of a query that is embedded. */
#ifndef FUMI_MEMORY_QUERY_NAMES_H
#define FUMI_MEMORY_QUERY_NAMES_H

#include "store/store_types.h"

/* Returns the query without its common names: capitalised words that occur in more than a fifth of
 * the notes of the project. Such a word distinguishes few notes, but dominates the vector of the
 * query. Returns the whole query if the project has less than 50 notes, or if all remaining words
 * would be as common. `words` comes from store_match_keywords for this query. */
struct fumi_str query_without_names(struct fumi_arena *a, struct fumi_str query,
                                    const struct keyword_hits *words);

#endif
