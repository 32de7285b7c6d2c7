/* Private to json/: numbers that are quickly read. */
#ifndef FUMI_JSON_NUMBER_H
#define FUMI_JSON_NUMBER_H

#include "json/json.h"

/* Most numbers are a few digits and nothing else. False: it is not one of these. */
static inline bool number_digits(const char *p, size_t n, uint64_t *out)
{
    uint64_t value = (unsigned char)*p - (uint64_t)'0';
    if (FUMI_RARELY(value > 9 || n > 15))
        return false;
    for (const char *end = p + n; ++p < end;) {
        uint64_t digit = (unsigned char)*p - (uint64_t)'0';
        if (FUMI_RARELY(digit > 9))
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

/* Any number as a double; false: it is too large for one. The first: of what is not a few digits.
 */
bool number_long(const struct fumi_val *v, double *out);

static inline bool number_real(const struct fumi_val *v, double *out)
{
    bool negative = *v->p == '-';
    uint64_t whole;
    if (FUMI_RARELY(!number_digits(v->p + negative, v->n - negative, &whole)))
        return number_long(v, out);
    *out = negative ? -(double)whole : (double)whole; /* of zero too */
    return true;
}

#endif
