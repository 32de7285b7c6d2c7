/* Private to json/: numbers that are quickly read. */
#ifndef FUMI_JSON_NUMBER_H
#define FUMI_JSON_NUMBER_H

#include "json/json.h"

/* Most numbers are a few digits and nothing else. False: it is not one of these. */
static inline bool number_short(const struct fumi_val *v, int64_t *out)
{
    const char *p = v->p, *end = p + v->n;
    bool negative = *p == '-';
    int64_t value = 0;
    if (v->n > 15)
        return false;
    for (p += negative; p < end; p++) {
        unsigned digit = (unsigned char)*p - '0';
        if (digit > 9)
            return false;
        value = value * 10 + digit;
    }
    *out = negative ? -value : value;
    return true;
}

/* Any other number as a double; false: it is too large for one. */
bool number_long(const struct fumi_val *v, double *out);

/* fumi_real, of what is known to be a number. */
static inline bool number_real(const struct fumi_val *v, double *out)
{
    int64_t whole;
    if (!number_short(v, &whole) || !whole) /* zero may have a minus */
        return number_long(v, out);
    *out = (double)whole;
    return true;
}

#endif
