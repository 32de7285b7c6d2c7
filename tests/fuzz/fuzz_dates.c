/* Reads dates from arbitrary bytes; the first eight are the time. Checks the promises of dates.h:
 * spans in order, within the query, of at least half a day, and begun by the end of the day. */
#include "fuzz.h"

#include "memory/dates.h"

#include <stdlib.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const int64_t day = 86400000;
    struct date_span spans[16];
    int64_t now = 0;
    size_t at = n < sizeof(now) ? 0 : sizeof(now);
    setenv("TZ", n % 2 ? "EST5EDT,M3.2.0/0,M11.1.0/1" : "JST-9", 1);
    tzset();
    memcpy(&now, data, at);
    if (n % 3) /* mostly a time at which dates are understood */
        now = 86400000 + (int64_t)((uint64_t)now % 253402000000000);
    struct fumi_str query = exact_copy(data + at, n - at);
    size_t found = dates_read(query, now, spans, FUMI_COUNT(spans));
    uint32_t end = 0;
    MUST(found <= FUMI_COUNT(spans));
    for (size_t i = 0; i < found; i++) {
        MUST(spans[i].begin >= end && spans[i].begin < spans[i].end && spans[i].end <= query.n);
        MUST(spans[i].until - spans[i].since >= day / 2 && spans[i].since < now + 2 * day);
        end = spans[i].end;
    }
    exact_free(query);
    return 0;
}
