/* The calendar calculations use years that begin in March, so that the leap day is the last day of
 * a year, and count from the year -400, so that no intermediate value is negative. */
#include "base/clock.h"

#include <time.h>

enum {
    EARLIER = 400,                  /* years from the year -400 to the year 0 */
    DAYS_TO_1970 = 719468 + 146097, /* from 1 March of the year -400 to 1 January 1970 */
    DAY_SECONDS = 24 * 60 * 60,
};

static const int64_t FIRST_MS = -62167219200000; /* 0000-01-01T00:00:00.000Z */
static const int64_t LAST_MS = 253402300799999;  /* 9999-12-31T23:59:59.999Z */

/* Days before each month, March first. */
static const int before_month[12] = {0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337};

struct moment {
    int year, month, day, hour, minute, second, ms;
    int offset; /* from UTC, in minutes; positive east of Greenwich */
};

static int64_t read_clock(clockid_t id, int64_t per_second)
{
    struct timespec t = {0};
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * per_second + (int64_t)t.tv_nsec / (1000000000 / per_second);
}

int64_t fumi_now(void)
{
    return read_clock(CLOCK_REALTIME, 1000);
}

int64_t fumi_ticks(void)
{
    return read_clock(CLOCK_MONOTONIC, 1000000000);
}

static int64_t days_before_year(int64_t year)
{
    return year * 365 + year / 4 - year / 100 + year / 400;
}

static int64_t days_of(const struct moment *m)
{
    int64_t year = m->year + EARLIER - (m->month < 3);
    return days_before_year(year) + before_month[(m->month + 9) % 12] + m->day - 1 - DAYS_TO_1970;
}

static void set_date(struct moment *m, int64_t days)
{
    days += DAYS_TO_1970;
    int64_t year = days * 400 / 146097; /* exact, or one off near the first of March */
    year += days >= days_before_year(year + 1);
    year -= days < days_before_year(year);
    int rest = (int)(days - days_before_year(year)), month = 11;
    while (before_month[month] > rest)
        month--;
    m->day = rest - before_month[month] + 1;
    m->month = month < 10 ? month + 3 : month - 9;
    m->year = (int)(year - EARLIER + (m->month < 3));
}

static struct moment moment_of(int64_t ms)
{
    int64_t seconds = ms / 1000 - (ms % 1000 < 0);
    int64_t days = seconds / DAY_SECONDS - (seconds % DAY_SECONDS < 0);
    int rest = (int)(seconds - days * DAY_SECONDS);
    struct moment m = {.ms = (int)(ms - seconds * 1000)};
    set_date(&m, days);
    m.hour = rest / 3600;
    m.minute = rest / 60 % 60;
    m.second = rest % 60;
    return m;
}

static int64_t ms_of(const struct moment *m)
{
    int64_t minutes = m->hour * 60 + m->minute - m->offset;
    return (days_of(m) * DAY_SECONDS + minutes * 60 + m->second) * 1000 + m->ms;
}

static void put(char *out, int digits, int number)
{
    for (; digits; number /= 10)
        out[--digits] = (char)('0' + number % 10);
}

void fumi_time_write(int64_t ms, char out[FUMI_TIME_SIZE])
{
    struct moment m = moment_of(ms);
    memcpy(out, "0000-00-00T00:00:00.000Z", FUMI_TIME_SIZE);
    put(out, 4, m.year);
    put(out + 5, 2, m.month);
    put(out + 8, 2, m.day);
    put(out + 11, 2, m.hour);
    put(out + 14, 2, m.minute);
    put(out + 17, 2, m.second);
    put(out + 20, 3, m.ms);
}

/* Each take_ function consumes its part from the front of s. Returns false if the part is missing.
 */
static bool take_number(struct fumi_str *s, size_t digits, int *out)
{
    if (s->n < digits)
        return false;
    *out = 0;
    for (; digits; digits--, s->p++, s->n--) {
        if (*s->p < '0' || *s->p > '9')
            return false;
        *out = *out * 10 + (*s->p - '0');
    }
    return true;
}

static bool take_either(struct fumi_str *s, char this, char that)
{
    if (!s->n || (*s->p != this && *s->p != that))
        return false;
    s->p++;
    s->n--;
    return true;
}

static bool take(struct fumi_str *s, char c)
{
    return take_either(s, c, c);
}

/* At least one digit is required; digits after the third are ignored. */
static bool take_fraction(struct fumi_str *s, int *ms)
{
    size_t digits = 0;
    for (int digit; s->n && take_number(s, 1, &digit); digits++)
        if (digits < 3)
            *ms += digit * (int[]){100, 10, 1}[digits];
    return digits > 0;
}

static bool take_zone(struct fumi_str *s, int *offset)
{
    if (take_either(s, 'Z', 'z'))
        return true;
    bool behind = s->n && *s->p == '-';
    int hours, minutes;
    if (!take_either(s, '+', '-') || !take_number(s, 2, &hours) || !take(s, ':') ||
        !take_number(s, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *offset = (behind ? -1 : 1) * (hours * 60 + minutes);
    return true;
}

/* Seconds may be missing, as in the results of tools. */
static bool take_seconds(struct fumi_str *s, struct moment *m)
{
    if (!take(s, ':'))
        return true;
    return take_number(s, 2, &m->second) && (!take(s, '.') || take_fraction(s, &m->ms));
}

static bool take_date(struct fumi_str *s, struct moment *m)
{
    return take_number(s, 4, &m->year) && take(s, '-') && take_number(s, 2, &m->month) &&
           take(s, '-') && take_number(s, 2, &m->day);
}

static bool take_moment(struct fumi_str *s, struct moment *m)
{
    return take_date(s, m) && take_either(s, 'T', 't') && take_number(s, 2, &m->hour) &&
           take(s, ':') && take_number(s, 2, &m->minute) && take_seconds(s, m) &&
           take_zone(s, &m->offset) && !s->n;
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (leap && month == 2);
}

static bool in_calendar(const struct moment *m)
{
    return m->month >= 1 && m->month <= 12 && m->day >= 1 && m->day <= days_in(m->year, m->month) &&
           m->hour <= 23 && m->minute <= 59 && m->second <= 60;
}

bool fumi_time_read(struct fumi_str s, int64_t *ms)
{
    struct moment m = {0};
    if (!take_moment(&s, &m) || !in_calendar(&m))
        return false;
    int64_t t = ms_of(&m);
    if (t < FIRST_MS || t > LAST_MS)
        return false;
    *ms = t;
    return true;
}

bool fumi_day_read(struct fumi_str s, bool end, int64_t *ms)
{
    struct moment m = {0};
    if (!take_date(&s, &m) || s.n || !in_calendar(&m))
        return false;
    int64_t after = ms_of(&m) + (end ? (int64_t)DAY_SECONDS * 1000 : 0);
    *ms = after > LAST_MS ? LAST_MS : after;
    return true;
}
