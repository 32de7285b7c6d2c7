/* How often a client may come: a bucket of tokens for each, in a table of fixed size. */
#ifndef FUMI_NET_RATE_H
#define FUMI_NET_RATE_H

#include "base/str.h"

struct rate;

/* `each` a second, twice as many at once; for all threads. */
struct rate *rate_new(int64_t each);
void rate_free(struct rate *r);

/* Whether it may come now; `now` in milliseconds of a clock that never goes back. A client that is
 * not in the table takes the place of the one that was seen least recently among a few. */
bool rate_take(struct rate *r, struct fumi_str client, int64_t now);

#endif
