/* Private to json/: numbers that are quickly read. */
#ifndef FUMI_JSON_NUMBER_H
#define FUMI_JSON_NUMBER_H

#include "json/json.h"

/* Most numbers are a few digits and nothing else: their value; -1: it is not one of these. */
static inline int64_t number_digits(const char *p, const char *end)
{
    uint64_t value = (unsigned char)*p - (uint64_t)'0';
    if (FUMI_RARELY(value > 9 || end - p > 15))
        return -1;
    while (++p < end) {
        uint64_t digit = (unsigned char)*p - (uint64_t)'0';
        if (FUMI_RARELY(digit > 9))
            return -1;
        value = value * 10 + digit;
    }
    return (int64_t)value;
}

static inline bool number_short(const struct fumi_val *v, int64_t *out)
{
    bool negative = *v->p == '-';
    int64_t value = number_digits(v->p + negative, v->p + v->n);
    if (FUMI_RARELY(value < 0))
        return false;
    *out = negative ? -value : value;
    return true;
}

/* What is known to be a number, as a double. False: it is not one of these. */
static inline bool number_quick(const struct fumi_val *v, double *out)
{
    bool negative = *v->p == '-';
    int64_t whole = number_digits(v->p + negative, v->p + v->n);
    *out = negative ? -(double)whole : (double)whole; /* of zero too */
    return whole >= 0;
}

/* Any number as a double; false: it is too large for one. */
bool number_long(const struct fumi_val *v, double *out);

/* fumi_real, of what is known to be a number. */
static inline bool number_real(const struct fumi_val *v, double *out)
{
    return FUMI_MOSTLY(number_quick(v, out)) || number_long(v, out);
}

#endif
