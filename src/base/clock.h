/* Time: milliseconds since 1970 (UTC) in memory, RFC 3339 in text. Thread-safe. */
#ifndef FUMI_BASE_CLOCK_H
#define FUMI_BASE_CLOCK_H

#include "../base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FUMI_TIME_SIZE = 24 }; /* bytes of "2026-11-15T21:48:58.123Z", not terminated */

/* A time as a member of a struct that a shape describes. {0} is no time: null in JSON. */
struct fumi_time {
    int64_t ms;
    bool set;
};

int64_t fumi_now(void);   /* wall clock, milliseconds */
int64_t fumi_ticks(void); /* monotonic clock, nanoseconds since an arbitrary moment */

/* Writes exactly FUMI_TIME_SIZE bytes. ms must be in the years 0000 to 9999, as every result of
 * fumi_time_read is. */
void fumi_time_write(int64_t ms, char out[FUMI_TIME_SIZE]);

/* Reads an RFC 3339 date-time, zone included; the seconds may be missing. An offset is converted to
 * UTC, a fraction is truncated to milliseconds, and a leap second is read as the second after it.
 * Returns false, and leaves *ms unchanged, if s is not such a time. */
bool fumi_time_read(struct fumi_str s, int64_t *ms);

/* Reads a date, such as 2026-01-31: the begin of this day in UTC, or its end, which is the begin of
 * the next day. Returns false, and leaves *ms unchanged, if s is not a date. */
bool fumi_day_read(struct fumi_str s, bool end, int64_t *ms);

#ifdef __cplusplus
}
#endif

#endif
