/* Relevance: how likely it is that a note answers a query, from 0 to 1. In contrast to the score,
 * it does not depend on the other notes, so that it is comparable between queries. */
#ifndef FUMI_MEMORY_RELEVANCE_H
#define FUMI_MEMORY_RELEVANCE_H

#include "memory/memory.h"

/* The relevance of a note that contains the share `share` of the words of the query (see struct
 * keyword_hits). c NULL: the cosine is unknown or means nothing, and the words alone decide. */
double relevance_of(const struct embed_calibration *c, double cosine, double share);

/* The confidence in an answer whose best note has this relevance. */
enum confidence relevance_confidence(double best);

#endif
