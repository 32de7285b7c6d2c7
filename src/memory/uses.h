/* Which notes agents use, and what they were given. */
#ifndef FUMI_MEMORY_USES_H
#define FUMI_MEMORY_USES_H

#include "memory/memory.h"

/* Counts a use of each of these notes. Only in a server: the background thread writes the counts,
 * at most once a minute, so that commands do not count and a search never writes. */
void memory_count_uses(struct memory *m, const int64_t *seqs, size_t n);

/* Records what a hook, a prompt or a resource gave to an agent: the notes i->ids, whose numbers are
 * `seqs`. They count as used. A failure is logged, because the agent has received the notes. In a
 * read-only memory both functions do nothing. */
void memory_add_injection(struct memory *m, const struct injection *i, const int64_t *seqs,
                          size_t n);

#endif
