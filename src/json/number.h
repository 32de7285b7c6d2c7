/* Private to json/: numbers that are quickly read. */
#ifndef FUMI_JSON_NUMBER_H
#define FUMI_JSON_NUMBER_H

#include "json/json.h"

/* Most numbers are a few digits and nothing else: their value; -1: it is not one of these. */
static inline int64_t number_digits(const char *p, size_t n)
{
    uint64_t value = (unsigned char)*p - (uint64_t)'0';
    if (FUMI_RARELY(value > 9 || n > 15))
        return -1;
    for (const char *end = p + n; ++p < end;) {
        uint64_t digit = (unsigned char)*p - (uint64_t)'0';
        if (FUMI_RARELY(digit > 9))
            return -1;
        value = value * 10 + digit;
    }
    return (int64_t)value;
}

int64_t number_minus(const struct fumi_val *v); /* the same behind a minus */

/* What is known to be a number. False: it is not one of these, and for number_short, nothing is
 * written. */
static inline bool number_short(const struct fumi_val *v, int64_t *out)
{
    int64_t value = number_digits(v->p, v->n);
    if (FUMI_MOSTLY(value >= 0)) {
        *out = value;
        return true;
    }
    value = number_minus(v);
    if (FUMI_MOSTLY(value >= 0))
        *out = -value;
    return value >= 0;
}

static inline bool number_quick(const struct fumi_val *v, double *out)
{
    int64_t value = number_digits(v->p, v->n);
    if (FUMI_MOSTLY(value >= 0)) {
        *out = (double)value;
        return true;
    }
    value = number_minus(v);
    *out = -(double)value; /* of zero too */
    return value >= 0;
}

/* Any number as a double; false: it is too large for one. */
bool number_long(const struct fumi_val *v, double *out);

/* fumi_real, of what is known to be a number. */
static inline bool number_real(const struct fumi_val *v, double *out)
{
    return FUMI_MOSTLY(number_quick(v, out)) || number_long(v, out);
}

#endif
