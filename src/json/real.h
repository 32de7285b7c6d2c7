/* Private to json/: numbers that are quickly written. */
#ifndef FUMI_JSON_REAL_H
#define FUMI_JSON_REAL_H

#include "json/json.h"

#include <math.h>

enum { REAL_WHOLE = 24 }; /* bytes of a whole number, with comma and sign, and more */

extern const char real_pairs[]; /* 00 to 99 */

/* Writes i so that it ends at `end`; returns its first digit. */
static inline char *real_before(char *end, uint64_t i)
{
    for (; i >= 100; i /= 100) {
        end -= 2;
        memcpy(end, real_pairs + i % 100 * 2, 2);
    }
    if (i >= 10) {
        end -= 2;
        memcpy(end, real_pairs + i * 2, 2);
    } else {
        *--end = (char)('0' + i);
    }
    return end;
}

static inline unsigned real_digits(uint64_t i)
{
    unsigned n = 1;
    for (; i >= 100; i /= 100)
        n += 2;
    return n + (i >= 10);
}

/* There must be room for it. */
static inline void real_write_whole(struct fumi_out *o, bool negative, uint64_t magnitude)
{
    struct fumi_buf *b = o->buf;
    char *to = b->p + b->n;
    if (o->comma)
        *to++ = ',';
    if (negative)
        *to++ = '-';
    to += real_digits(magnitude);
    real_before(to, magnitude);
    b->n = (size_t)(to - b->p);
    o->comma = true;
}

/* False: there may be no room for it. */
static inline bool real_put_whole(struct fumi_out *o, bool negative, uint64_t magnitude)
{
    struct fumi_buf *b = o->buf;
    if (FUMI_RARELY(b->cap - b->n < REAL_WHOLE || b->full))
        return false;
    real_write_whole(o, negative, magnitude);
    return true;
}

/* Most are whole; false: it is not, or there is no room. */
static inline bool real_put_quickly(struct fumi_out *o, double d)
{
    double x = fabs(d);
    return FUMI_MOSTLY(x < 0x1p53 && x == (double)(int64_t)x) &&
           real_put_whole(o, signbit(d), (uint64_t)(int64_t)x);
}

void real_put_odd(struct fumi_out *o, double d); /* any other */

#endif
