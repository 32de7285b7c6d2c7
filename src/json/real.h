/* Private to the library: numbers that are quickly written. */
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

/* Returns what follows it. */
static inline char *real_write(char *to, bool negative, uint64_t magnitude)
{
    if (negative)
        *to++ = '-';
    if (magnitude < 10) {
        *to = (char)('0' + magnitude);
        return to + 1;
    }
    if (magnitude < 100) {
        memcpy(to, real_pairs + magnitude * 2, 2);
        return to + 2;
    }
    to += real_digits(magnitude);
    real_before(to, magnitude);
    return to;
}

/* There must be room for it. */
static inline void real_write_whole(struct fumi_out *o, bool negative, uint64_t magnitude)
{
    struct fumi_buf *b = o->buf;
    char *to = b->p + b->n;
    if (o->comma)
        *to++ = ',';
    b->n = (size_t)(real_write(to, negative, magnitude) - b->p);
    o->comma = true;
}

static inline bool real_is_whole(double d)
{
    double x = fabs(d);
    return FUMI_MOSTLY(x < 0x1p53 && x == (double)(int64_t)x);
}

/* Most are whole; NULL: it is not. */
static inline char *real_write_quickly(char *to, double d)
{
    return real_is_whole(d) ? real_write(to, signbit(d), (uint64_t)(int64_t)fabs(d)) : NULL;
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

/* The same; false: it is not, or there is no room. */
static inline bool real_put_quickly(struct fumi_out *o, double d)
{
    return real_is_whole(d) && real_put_whole(o, signbit(d), (uint64_t)(int64_t)fabs(d));
}

void real_put_odd(struct fumi_out *o, double d); /* any other */

#endif
