/* Arithmetic on days of the calendar. Only days_today and days_start know the time zone. */
#include "memory/dates_parts.h"

#include <pthread.h>
#include <time.h>

static int floor_div(int a, int b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Years begin in March here, so that the leap day is the last day of a year. */
int days_number(int year, int month, int day)
{
    int months = year * 12 + month - 3;
    int y = floor_div(months, 12), m = months - y * 12;
    int era = floor_div(y, 400), in_era = y - era * 400;
    int in_year = (153 * m + 2) / 5 + day - 1;
    return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

int days_year(int day)
{
    int year = 1970 + floor_div(day, 366);
    while (days_number(year + 1, 1, 1) <= day)
        year++;
    return year;
}

int days_month(int day)
{
    int year = days_year(day), month = 1;
    while (month < 12 && days_number(year, month + 1, 1) <= day)
        month++;
    return month;
}

int days_weekday(int day)
{
    int since_monday = day + 3; /* 1970-01-01 was a Thursday */
    return since_monday - floor_div(since_monday, 7) * 7;
}

/* The time zone is read once: a later change of TZ, which frees memory of libc, is not expected. */
int days_today(int64_t now)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    time_t seconds = (time_t)(now / 1000);
    struct tm tm;
    pthread_once(&once, tzset);
    if (!localtime_r(&seconds, &tm))
        return (int)(seconds / 86400);
    return days_number(tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

static int local_day(time_t seconds)
{
    return days_today((int64_t)seconds * 1000);
}

/* Where the clocks change at midnight, mktime may return 23:00 of the day before for a midnight
 * that does not exist, and the second of two midnights. */
int64_t days_start(int day)
{
    struct tm tm = {.tm_year = 70, .tm_mday = 1 + day, .tm_isdst = -1};
    time_t seconds = mktime(&tm);
    if (local_day(seconds) < day)
        seconds += 3600;
    else if (local_day(seconds - 3600) == day)
        seconds -= 3600;
    return (int64_t)seconds * 1000;
}

struct days days_unit(enum unit unit, int day, int n)
{
    int year = days_year(day), month = days_month(day);
    int monday = day - days_weekday(day);
    switch (unit) {
    case UNIT_HOUR:
        return (struct days){day - n / 24, day - n / 24 + 1};
    case UNIT_DAY:
        return (struct days){day - n, day - n + 1};
    case UNIT_WEEK:
        return (struct days){monday - 7 * n, monday - 7 * n + 7};
    case UNIT_WEEKEND:
        return (struct days){monday - 7 * n + 5, monday - 7 * n + 7};
    case UNIT_MONTH:
        return (struct days){days_number(year, month - n, 1), days_number(year, month - n + 1, 1)};
    case UNIT_YEAR:
        return (struct days){days_number(year - n, 1, 1), days_number(year - n + 1, 1, 1)};
    }
    return (struct days){0, 0};
}

static int months_back(int day, int n)
{
    int year = days_year(day), month = days_month(day);
    int in_month = day - days_number(year, month, 1);
    int first = days_number(year, month - n, 1);
    int last = days_number(year, month - n + 1, 1) - 1;
    return first + in_month < last ? first + in_month : last;
}

int days_back(enum unit unit, int day, int n)
{
    switch (unit) {
    case UNIT_HOUR:
        return day - (n + 23) / 24;
    case UNIT_DAY:
        return day - n;
    case UNIT_WEEK:
    case UNIT_WEEKEND:
        return day - 7 * n;
    case UNIT_MONTH:
        return months_back(day, n);
    case UNIT_YEAR:
        return months_back(day, 12 * n);
    }
    return day;
}

struct days days_recent(enum unit unit, int day, int n)
{
    if (unit == UNIT_WEEKEND)
        return days_unit(unit, day, n);
    return (struct days){days_back(unit, day, n) + (unit != UNIT_HOUR), day + 1};
}

static struct days in_year(struct date d)
{
    if (d.season)
        return (struct days){days_number(d.year, d.season, 1),
                             days_number(d.year, d.season + 3, 1)};
    if (!d.month)
        return days_unit(UNIT_YEAR, days_number(d.year, 1, 1), 0);
    struct days month = {days_number(d.year, d.month, 1), days_number(d.year, d.month + 1, 1)};
    if (!d.day)
        return month;
    int day = month.from + d.day - 1;
    return day < month.to ? (struct days){day, day + 1} : (struct days){0, 0};
}

struct days days_of(struct date date, int today)
{
    if (date.year)
        return in_year(date);
    date.year = days_year(today);
    for (int i = 0; i <= 8; i++, date.year--) { /* 29 February may be 8 years ago */
        struct days days = in_year(date);
        if (days.from < days.to && days.from <= today)
            return days;
    }
    return (struct days){0, 0};
}
