/* Private to net/: limits the rate of requests per client, with one token bucket for each client.
 */
#ifndef FUMI_NET_RATE_H
#define FUMI_NET_RATE_H

#include "base/str.h"

struct rate; /* may be used by any thread */

/* Allows `each` requests per second and client, with bursts of twice as many. */
struct rate *rate_new(int64_t each);
void rate_free(struct rate *r); /* NULL: does nothing */

/* Counts a request of the client and returns whether it is allowed. `now` is in milliseconds of a
 * monotonic clock. The table has a fixed size: a new client replaces the least recently used one of
 * a few. */
bool rate_take(struct rate *r, struct fumi_str client, int64_t now);

#endif
