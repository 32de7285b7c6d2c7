/* Dates in a query: notes that were created then score more. */
#ifndef FUMI_MEMORY_SPANS_H
#define FUMI_MEMORY_SPANS_H

#include "memory/dates.h"
#include "memory/memory.h"

/* How well a time fits the spans: 1 inside of one, less before and after it, 0 from a distance of
 * its length on. */
double spans_fit(const struct date_span *spans, size_t n, int64_t created);

/* Raises the scores of the results that were created in or near one of the spans. Scores may then
 * exceed 1; the results are not sorted any more. Deleted notes are left as they are. */
int spans_raise(struct store *s, struct fumi_arena *a, const struct date_span *spans, size_t n,
                struct results *all, struct fumi_err *e);

#endif
