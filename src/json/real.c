/* Writes numbers: integers, and doubles in the shortest form that reads back as the same value. */
#include "json/json.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WHOLE_DIGITS = 20, REAL_SIZE = 40 };

static const char pairs[] = "0001020304050607080910111213141516171819"
                            "2021222324252627282930313233343536373839"
                            "4041424344454647484950515253545556575859"
                            "6061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";

/* Writes i so that its last digit is before `end`. Returns its first digit. */
static char *write_before(char *end, uint64_t i)
{
    for (; i >= 100; i /= 100) {
        end -= 2;
        memcpy(end, pairs + i % 100 * 2, 2);
    }
    if (i >= 10) {
        end -= 2;
        memcpy(end, pairs + i * 2, 2);
    } else {
        *--end = (char)('0' + i);
    }
    return end;
}

static unsigned count_digits(uint64_t i)
{
    unsigned n = 1;
    for (; i >= 100; i /= 100)
        n += 2;
    return n + (i >= 10);
}

static void put_text(struct fumi_out *o, const char *text, size_t n)
{
    fumi_put_json(o, (struct fumi_json){{text, n}});
}

static void put_whole(struct fumi_out *o, bool negative, uint64_t magnitude)
{
    size_t n = count_digits(magnitude) + negative + o->comma;
    char *to = fumi_buf_reserve(o->buf, n);
    if (!to)
        return;
    if (o->comma)
        *to++ = ',';
    if (negative)
        *to = '-';
    o->buf->n += n;
    write_before(o->buf->p + o->buf->n, magnitude);
    o->comma = true;
}

void fumi_put_int(struct fumi_out *o, int64_t i)
{
    put_whole(o, i < 0, i < 0 ? -(uint64_t)i : (uint64_t)i);
}

/* Tries one digit after the point, then two, and so on. scaled / ten divides two exact doubles, so
 * if the quotient is x, the decimal text reads back as x too. Returns false if x has too many
 * digits for this method. */
static bool put_fraction(struct fumi_out *o, bool negative, double x)
{
    char text[REAL_SIZE], *end = text + sizeof(text);
    double ten = 10;
    for (int places = 1; places <= 16; places++, ten *= 10) {
        double scaled = floor(x * ten + 0.5);
        if (scaled >= 0x1p53)
            return false;
        if (scaled / ten != x)
            continue;
        char *p = write_before(end, (uint64_t)scaled);
        while (end - p <= places)
            *--p = '0';
        memmove(p - 1, p, (size_t)(end - p) - (size_t)places);
        *(end - places - 1) = '.';
        *(--p - 1) = '-';
        p -= negative;
        put_text(o, p, (size_t)(end - p));
        return true;
    }
    return false;
}

/* The value is digits * 10^power. */
struct decimal {
    uint64_t digits;
    int power;
};

/* The text has no decimal point, so the result does not depend on the locale. */
static bool reads_as(struct decimal d, double x)
{
    char text[REAL_SIZE];
    snprintf(text, sizeof(text), "%" PRIu64 "e%d", d.digits, d.power);
    return strtod(text, NULL) == x;
}

/* x rounded to n digits. */
static struct decimal rounded(double x, int n)
{
    char text[REAL_SIZE], *p = text;
    struct decimal d = {0};
    snprintf(text, sizeof(text), "%.*e", n - 1, x);
    for (; *p != 'e'; p++) {
        if (*p >= '0' && *p <= '9')
            d.digits = d.digits * 10 + (uint64_t)(*p - '0');
    }
    d.power = (int)strtol(p + 1, NULL, 10) - (n - 1);
    return d;
}

/* Finds a decimal of n digits that reads back as x. Next to a power of two, where the gaps between
 * doubles differ, the nearest decimal may read back as another double while its neighbour reads
 * back as x. Returns false if there is none. */
static bool in_digits(double x, int n, struct decimal *out)
{
    static const int beside[] = {0, 1, -1};
    struct decimal nearest = rounded(x, n);
    for (size_t i = 0; i < FUMI_COUNT(beside); i++) {
        *out = (struct decimal){nearest.digits + (uint64_t)beside[i], nearest.power};
        if (reads_as(*out, x))
            return true;
    }
    return false;
}

/* The decimal with the fewest digits that reads back as x. 17 digits always suffice. Fewer than 15
 * need be tried only for subnormal numbers: otherwise trailing zeros are removed instead. */
static struct decimal shortest(double x)
{
    struct decimal d;
    int n = x < DBL_MIN ? 1 : DBL_DIG;
    while (!in_digits(x, n, &d) && n < DBL_DECIMAL_DIG)
        n++;
    for (; d.digits % 10 == 0; d.power++)
        d.digits /= 10;
    return d;
}

static int write_plain(char text[REAL_SIZE], const char *digits, int n, int point)
{
    static const char zeros[] = "00000000";
    if (point >= n)
        return snprintf(text, REAL_SIZE, "%s%.*s", digits, point - n, zeros);
    if (point > 0)
        return snprintf(text, REAL_SIZE, "%.*s.%s", point, digits, digits + point);
    return snprintf(text, REAL_SIZE, "0.%.*s%s", -point, zeros, digits);
}

static int write_power(char text[REAL_SIZE], const char *digits, int n, int point)
{
    return snprintf(text, REAL_SIZE, "%c%s%se%d", *digits, n > 1 ? "." : "", digits + 1, point - 1);
}

/* Writes the shorter of plain and exponential notation. If the point is far from the digits, only
 * the latter is considered. */
static void put_decimal(struct fumi_out *o, bool negative, struct decimal d)
{
    char plain[REAL_SIZE + 1] = "-", power[REAL_SIZE + 1] = "-", digits[WHOLE_DIGITS + 1];
    char *end = digits + sizeof(digits) - 1;
    *end = '\0';
    char *first = write_before(end, d.digits);
    int n = (int)(end - first), point = n + d.power; /* digits before the point */
    int short_n = write_power(power + 1, first, n, point), plain_n = short_n + 1;
    if (point > -8 && point < n + 8)
        plain_n = write_plain(plain + 1, first, n, point);
    const char *text = plain_n <= short_n ? plain : power;
    put_text(o, text + !negative, (size_t)(plain_n <= short_n ? plain_n : short_n) + negative);
}

void fumi_put_real(struct fumi_out *o, double d)
{
    bool negative = signbit(d);
    double x = fabs(d);
    if (!isfinite(d))
        fumi_put_null(o);
    else if (x < 0x1p53 && x == (double)(int64_t)x)
        put_whole(o, negative, (uint64_t)x);
    else if (x < 1e-4 || x >= 0x1p53 || !put_fraction(o, negative, x))
        put_decimal(o, negative, shortest(x));
}
