/* Converts numbers, which the parser keeps as text, to C numbers: integers exactly or not at all,
 * doubles correctly rounded. */
#include "json/json.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

/* The fast path for up to 15 digits without sign, point or exponent. Returns false for any other
 * number. */
static inline bool digits_only(const char *p, size_t n, uint64_t *out)
{
    uint64_t value = (unsigned char)*p - (uint64_t)'0';
    if (value > 9 || n > 15)
        return false;
    for (const char *end = p + n; ++p < end;) {
        uint64_t digit = (unsigned char)*p - (uint64_t)'0';
        if (digit > 9)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

/* The value is ± mantissa * 10^power. cut: digits other than 0 did not fit into the mantissa. */
struct parsed_decimal {
    uint64_t mantissa;
    int64_t power;
    bool negative, cut;
};

enum { MANTISSA_DIGITS = 19 };

/* Exponents are clamped to this, which is out of range for any type and larger than the number of
 * digits of any text. */
static const int64_t POWER_LIMIT = INT64_C(1000000000000);

static int64_t read_power(const char *p, const char *end)
{
    bool negative = *p == '-';
    int64_t power = 0;
    p += negative || *p == '+';
    for (; p < end; p++) {
        power = power * 10 + (*p - '0');
        if (power > POWER_LIMIT)
            power = POWER_LIMIT;
    }
    return negative ? -power : power;
}

static struct parsed_decimal read_decimal(const struct fumi_val *v)
{
    const char *p = v->p, *end = v->p + v->n;
    struct parsed_decimal d = {.negative = *p == '-'};
    int digits = 0;
    bool point = false;
    for (p += d.negative; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        if (digits < MANTISSA_DIGITS) {
            d.mantissa = d.mantissa * 10 + (uint64_t)(*p - '0');
            digits += d.mantissa != 0;
            d.power -= point;
        } else {
            d.cut |= *p != '0';
            d.power += !point;
        }
    }
    if (p < end)
        d.power += read_power(p + 1, end);
    return d;
}

static bool fits(bool negative, uint64_t magnitude, int64_t *out)
{
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *out = (int64_t)(negative ? -magnitude : magnitude);
    return true;
}

bool fumi_int(const struct fumi_val *v, int64_t *out)
{
    uint64_t whole;
    if (!fumi_is(v, FUMI_NUMBER))
        return false;
    bool negative = *v->p == '-';
    if (digits_only(v->p + negative, v->n - negative, &whole))
        return fits(negative, whole, out);
    struct parsed_decimal d = read_decimal(v);
    for (; d.power < 0 && d.mantissa % 10 == 0 && d.mantissa; d.power++)
        d.mantissa /= 10;
    for (; d.power > 0 && d.mantissa; d.power--) {
        if (d.mantissa > UINT64_MAX / 10)
            return false;
        d.mantissa *= 10;
    }
    if (d.cut || (d.power < 0 && d.mantissa))
        return false;
    return fits(d.negative, d.mantissa, out);
}

/* The slow path: the C library rounds correctly. The byte after a number in a JSON text always ends
 * the number, so strtod needs no terminated copy. */
static double read_slowly(const char *p)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double d = strtod_l(p, NULL, c);
    freelocale(c);
    return d;
}

static bool read_long(const struct fumi_val *v, double *out)
{
    /* These powers of ten are exact doubles. If the mantissa is exact too, one multiplication or
     * division gives the nearest double. */
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int64_t exact = (int64_t)FUMI_COUNT(tens) - 1;
    struct parsed_decimal d = read_decimal(v);
    if (d.cut || d.mantissa > UINT64_C(1) << 53 || d.power > exact || d.power < -exact) {
        *out = read_slowly(v->p);
        return isfinite(*out);
    }
    double x = (double)d.mantissa;
    x = d.power < 0 ? x / tens[-d.power] : x * tens[d.power];
    *out = d.negative ? -x : x;
    return true;
}

bool fumi_real(const struct fumi_val *v, double *out)
{
    uint64_t whole;
    if (!fumi_is(v, FUMI_NUMBER))
        return false;
    bool negative = *v->p == '-';
    if (!digits_only(v->p + negative, v->n - negative, &whole))
        return read_long(v, out);
    *out = negative ? -(double)whole : (double)whole; /* -0 stays -0 */
    return true;
}
