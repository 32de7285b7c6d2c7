/* Points in time in English. A word or number that also means something else ("may", 1984) needs a
 * neighbour that makes a date of it: a preposition, a day, a year, or a capital letter. */
#include "memory/dates_parts.h"

static int key_at(const struct reader *r, size_t i)
{
    return token_at(r, i)->key->key;
}

static int value_at(const struct reader *r, size_t i)
{
    return token_at(r, i)->key->value;
}

static bool mark_at(const struct reader *r, size_t i, char mark)
{
    const struct token *k = token_at(r, i);
    return k->kind == TOKEN_MARK && k->c == (unsigned char)mark;
}

/* Whether "and" or "to" before token i joins dates: after a date, or in "between A and B". */
static bool joins(const struct reader *r, size_t i)
{
    bool joined = r->ended && r->ended == i - 1;
    for (size_t back = 2; !joined && back <= 6 && back <= i; back++)
        joined = key_at(r, i - back) == KEY_BETWEEN || key_at(r, i - back) == KEY_FROM;
    return joined;
}

/* The flags LEADS_* of what precedes token i. */
static int leads(const struct reader *r, size_t i)
{
    if (i > 0 && key_at(r, i - 1) == KEY_THE)
        i--;
    if (i == 0)
        return 0;
    int key = key_at(r, i - 1);
    if (key == KEY_AND || key == KEY_TO)
        return joins(r, i) ? LEADS_ALL : 0;
    return token_at(r, i - 1)->key->flags & LEADS_ALL;
}

static bool plain_number(const struct reader *r, size_t i)
{
    const struct token *k = token_at(r, i);
    return k->kind == TOKEN_NUMBER && k->open && k->close;
}

static size_t read_day_number(const struct reader *r, size_t i, int *day)
{
    const struct token *k = token_at(r, i);
    *day = k->number;
    return plain_number(r, i) && k->digits <= 2 && k->number >= 1 && k->number <= 31 ? i + 1 : 0;
}

static size_t read_year_number(const struct reader *r, size_t i, int *year)
{
    const struct token *k = token_at(r, i);
    *year = k->number;
    return plain_number(r, i) && k->digits == 4 && !k->ordinal && dates_year(r, *year) ? i + 1 : 0;
}

/* The year of a month: ", 2023", "of 2023", "last year". */
static size_t read_year_of(const struct reader *r, size_t i, int *year)
{
    if (mark_at(r, i, ',') || key_at(r, i) == KEY_OF || key_at(r, i) == KEY_IN)
        i++;
    if (key_at(r, i + 1) == KEY_UNIT && value_at(r, i + 1) == UNIT_YEAR) {
        int key = key_at(r, i), now = days_year(r->today);
        *year = key == KEY_LAST ? now - 1 : key == KEY_NEXT ? now + 1 : now;
        return key == KEY_LAST || key == KEY_NEXT || key == KEY_THIS ? i + 2 : 0;
    }
    return read_year_number(r, i, year);
}

static size_t read_count(const struct reader *r, size_t i, int *n)
{
    if (key_at(r, i) == KEY_COUNT && value_at(r, i) == 1 && key_at(r, i + 1) == KEY_COUPLE)
        i++;
    *n = value_at(r, i);
    if (key_at(r, i) == KEY_COUPLE)
        return key_at(r, i + 1) == KEY_OF ? i + 2 : i + 1;
    if (key_at(r, i) == KEY_COUNT)
        return i + 1;
    *n = token_at(r, i)->number;
    return plain_number(r, i) && !token_at(r, i)->ordinal && *n <= 9999 ? i + 1 : 0;
}

/* The next part of 2023-05-08 or 2023/05/08: a mark and two digits, not spaced. */
static bool next_part(const struct reader *r, size_t i, char mark, int most)
{
    const struct token *k = token_at(r, i + 1);
    return mark_at(r, i, mark) && !token_at(r, i)->spaced && k->kind == TOKEN_NUMBER &&
           !k->spaced && k->digits == 2 && !k->ordinal && k->number >= 1 && k->number <= most;
}

static size_t read_iso(const struct reader *r, size_t i, struct date *out)
{
    const struct token *k = token_at(r, i);
    char mark = mark_at(r, i + 1, '/') ? '/' : '-';
    if (k->kind != TOKEN_NUMBER || k->digits != 4 || !k->open || !dates_year(r, k->number))
        return 0;
    if (!next_part(r, i + 1, mark, 12))
        return 0;
    *out = (struct date){.year = k->number, .month = token_at(r, i + 2)->number};
    bool has_day = next_part(r, i + 3, mark, 31);
    size_t last = has_day ? i + 4 : i + 2;
    const struct token *after = token_at(r, last + 1);
    bool time = has_day && after->kind == TOKEN_WORD && !after->spaced; /* T12:00 */
    out->day = has_day ? token_at(r, last)->number : 0;
    return (time || token_at(r, last)->close) && (has_day || mark == '-') ? last + 1 : 0;
}

/* The token after the month at i and its full stop: "Sept." */
static size_t behind_month(const struct reader *r, size_t i)
{
    bool stop = token_at(r, i)->key->flags & ALSO_SHORT && mark_at(r, i + 1, '.');
    return stop ? i + 2 : i + 1;
}

/* "8 May 2023", "8th of May" */
static size_t read_day_month(const struct reader *r, size_t i, struct date *out)
{
    struct date d = {0};
    size_t at = read_day_number(r, i, &d.day);
    bool sure = at && (token_at(r, i)->ordinal || (leads(r, i) & LEADS_DAY));
    if (at && key_at(r, at) == KEY_OF)
        at++;
    if (!at || key_at(r, at) != KEY_MONTH)
        return 0;
    const struct token *month = token_at(r, at);
    d.month = month->key->value;
    size_t next = read_year_of(r, behind_month(r, at), &d.year);
    at++;
    d.year = next ? d.year : 0;
    sure = sure || next || month->capital || !(month->key->flags & (ALSO_VERB | ALSO_SHORT));
    *out = d;
    return !sure ? 0 : next ? next : at;
}

/* "May 8, 2023", "May 8th" */
static size_t read_month_day(const struct reader *r, size_t i, struct date *out)
{
    const struct token *month = token_at(r, i);
    struct date d = {.month = month->key->value};
    size_t at = behind_month(r, i);
    if (month->key->key != KEY_MONTH)
        return 0;
    bool sure = month->capital || (leads(r, i) & LEADS_DAY) || token_at(r, at)->ordinal ||
                !(month->key->flags & (ALSO_VERB | ALSO_SHORT));
    at = read_day_number(r, at, &d.day);
    if (!at)
        return 0;
    size_t next = read_year_of(r, at, &d.year);
    d.year = next ? d.year : 0;
    *out = d;
    return next ? next : sure ? at : 0;
}

/* "May 2023", "Sept. 2023", "September of last year"; a month alone if nothing else is meant */
static size_t read_month(const struct reader *r, size_t i, struct date *out)
{
    const struct token *k = token_at(r, i);
    struct date d = {.month = k->key->value};
    if (k->key->key != KEY_MONTH)
        return 0;
    size_t next = read_year_of(r, behind_month(r, i), &d.year);
    bool lead = leads(r, i) & LEADS_MONTH;
    bool sure = !(k->key->flags & (ALSO_VERB | ALSO_NAME | ALSO_SHORT)) ||
                (lead && (k->capital || !(k->key->flags & ALSO_SHORT)));
    d.year = next ? d.year : 0;
    *out = d;
    return next ? next : sure ? i + 1 : 0;
}

/* "summer 2022", "the winter of last year"; "in the summer", but not "in Spring" */
static size_t read_season(const struct reader *r, size_t i, struct date *out)
{
    struct date d = {.season = value_at(r, i)};
    if (key_at(r, i) != KEY_SEASON)
        return 0;
    size_t next = read_year_of(r, i + 1, &d.year);
    bool sure = i > 0 && key_at(r, i - 1) == KEY_THE && (leads(r, i) & LEADS_MONTH);
    d.year = next ? d.year : 0;
    *out = d;
    return next ? next : sure ? i + 1 : 0;
}

static size_t read_date(const struct reader *r, size_t i, struct date *out)
{
    static size_t (*const readers[])(const struct reader *, size_t, struct date *) = {
        read_iso, read_day_month, read_month_day, read_month, read_season,
    };
    for (size_t k = 0; k < FUMI_COUNT(readers); k++) {
        size_t next = readers[k](r, i, out);
        if (next)
            return next;
    }
    *out = (struct date){0};
    return leads(r, i) & LEADS_YEAR ? read_year_number(r, i, &out->year) : 0;
}

static size_t read_absolute(const struct reader *r, size_t i, struct point *out)
{
    *out = (struct point){.absolute = true};
    if (key_at(r, i) == KEY_THE)
        i++;
    return read_date(r, i, &out->date);
}

/* In what follows, `from` is the day that a relative date is relative to. */

static struct days one_day(int day)
{
    return (struct days){day, day + 1};
}

static struct days weekday_before(int day, int weekday)
{
    return one_day(day - 1 - (days_weekday(day - 1) - weekday + 7) % 7);
}

/* "last May", "this summer": a month or season whose year the word before it decides. */
static size_t read_named(const struct reader *r, size_t i, int from, struct days *out)
{
    int which = key_at(r, i), key = key_at(r, i + 1), value = value_at(r, i + 1);
    const struct token *k = token_at(r, i + 1);
    struct date d = {.year = days_year(from)};
    if (key != KEY_MONTH && key != KEY_SEASON)
        return 0;
    if (k->key->flags & (ALSO_VERB | ALSO_SHORT) && !k->capital && which == KEY_THIS)
        return 0; /* "this may fail" */
    *(key == KEY_MONTH ? &d.month : &d.season) = value;
    *out = days_of(d, from);
    if (which == KEY_LAST && out->to > days_unit(UNIT_MONTH, from, 0).from)
        d.year--;
    *out = days_of(d, from);
    return i + 2;
}

/* "last week", "past month", "this year" */
static size_t read_this_unit(const struct reader *r, size_t i, int from, struct days *out)
{
    int which = key_at(r, i), unit = value_at(r, i + 1);
    bool recent = which == KEY_PAST || (i > 0 && key_at(r, i - 1) == KEY_THE);
    if (key_at(r, i + 1) != KEY_UNIT || (unit <= UNIT_DAY && (which == KEY_THIS || !recent)))
        return 0;
    if (which == KEY_THIS)
        *out = days_unit((enum unit)unit, from, 0);
    else if (recent)
        *out = days_recent((enum unit)unit, from, 1);
    else
        *out = days_unit((enum unit)unit, from, 1);
    return i + 2;
}

/* "last week on Tuesday" */
static size_t read_weekday_in(const struct reader *r, size_t i, struct days *week)
{
    if (week->to - week->from != 7)
        return i;
    size_t at = key_at(r, i) == KEY_ON ? i + 1 : i;
    if (key_at(r, at) != KEY_WEEKDAY)
        return i;
    *week = one_day(week->from + value_at(r, at));
    return at + 1;
}

/* "last ...", "past ...", "this ...", "next ..." */
static size_t read_last(const struct reader *r, size_t i, int from, struct days *out)
{
    int which = key_at(r, i), key = key_at(r, i + 1), n;
    if (which != KEY_LAST && which != KEY_PAST && which != KEY_THIS && which != KEY_NEXT)
        return 0;
    size_t next = read_count(r, i + 1, &n);
    if (next && key_at(r, next) == KEY_UNIT && which != KEY_THIS) {
        *out = days_recent((enum unit)value_at(r, next), from, n);
        next++;
    } else if (key == KEY_WEEKDAY) {
        int monday = from - days_weekday(from);
        *out = which == KEY_THIS ? one_day(monday + value_at(r, i + 1))
                                 : weekday_before(from, value_at(r, i + 1));
        next = i + 2;
    } else if ((which == KEY_LAST && key == KEY_NIGHT) ||
               (which == KEY_THIS && key == KEY_MORNING)) {
        *out = one_day(which == KEY_LAST ? from - 1 : from);
        next = i + 2;
    } else {
        next = read_named(r, i, from, out);
        next = next ? next : read_this_unit(r, i, from, out);
        next = next && key == KEY_UNIT ? read_weekday_in(r, next, out) : next;
    }
    if (which == KEY_NEXT && next)
        *out = (struct days){0, 0};
    return next;
}

static size_t read_point(const struct reader *r, size_t i, struct days *out);

/* "two weeks ago", "two weeks before 8 May", "the week before yesterday" */
static size_t read_distance(const struct reader *r, size_t i, struct days *out)
{
    int n = 0;
    struct days d;
    size_t at = read_count(r, i, &n), next;
    size_t unit_at = at ? at : i;
    enum unit unit = (enum unit)value_at(r, unit_at);
    if (key_at(r, unit_at) != KEY_UNIT)
        return 0;
    int key = key_at(r, unit_at + 1);
    if (key == KEY_AGO && at) {
        *out = days_unit(unit, r->today, n);
        return unit_at + 2;
    }
    if (key == KEY_BEFORE && !at && key_at(r, unit_at + 2) == KEY_LAST &&
        key_at(r, unit_at + 3) != KEY_UNIT) { /* the week before last */
        *out = days_unit(unit, r->today, 2);
        return unit_at + 3;
    }
    next = key == KEY_BEFORE || key == KEY_AFTER ? read_point(r, unit_at + 2, &d) : 0;
    if (!next)
        return 0;
    *out = (struct days){0, 0};
    if (d.from >= d.to)
        return next;
    int back = key == KEY_BEFORE ? 1 : -1, edge = back > 0 ? d.from : d.to;
    if (at || unit == UNIT_WEEKEND)
        *out = days_unit(unit, back > 0 ? d.from : d.to - 1, at ? back * n : back);
    else if (back > 0)
        *out = (struct days){days_back(unit, edge, 1), edge};
    else
        *out = (struct days){edge, days_back(unit, edge, -1)};
    return next;
}

/* "the week of 8 May", "the last week of August", "first two weeks of May": of a longer time than a
 * day, that time itself. */
static size_t read_part(const struct reader *r, size_t i, struct days *out)
{
    struct point p;
    int n;
    size_t at = i, next;
    if (key_at(r, at) == KEY_LAST)
        at++;
    next = read_count(r, at, &n);
    at = next ? next : at;
    if (key_at(r, at) != KEY_UNIT || key_at(r, at + 1) != KEY_OF)
        return 0;
    next = read_absolute(r, at + 2, &p);
    if (!next)
        return 0;
    *out = days_of(p.date, r->today);
    if (p.date.day && out->from < out->to)
        *out = days_unit((enum unit)value_at(r, at), out->from, 0);
    return next;
}

/* "Monday, 8 May 2023", "Friday last week", "the Sunday before 8 May", "on Monday" */
static size_t read_weekday(const struct reader *r, size_t i, struct point *out)
{
    struct days d;
    int key = key_at(r, i + 1), weekday = value_at(r, i);
    size_t at = i + 1, next;
    if (key_at(r, i) != KEY_WEEKDAY)
        return 0;
    if (mark_at(r, at, ',') || key == KEY_OF)
        at++;
    next = read_absolute(r, at, out);
    if (next && out->date.day)
        return next;
    *out = (struct point){0};
    if (key_at(r, at + 1) == KEY_UNIT && value_at(r, at + 1) == UNIT_WEEK &&
        (next = read_last(r, at, r->today, &d))) {
        if (d.from < d.to)
            out->days = one_day(days_unit(UNIT_WEEK, d.from, 0).from + weekday);
        return next;
    }
    next = key == KEY_BEFORE ? read_point(r, i + 2, &d) : 0;
    if (next && d.from < d.to)
        out->days = weekday_before(d.from, weekday);
    if (next)
        return next;
    out->days = weekday_before(r->today + 1, weekday);
    return leads(r, i) & LEADS_DAY ? i + 1 : 0;
}

/* "last Friday", "last Friday before 8 May"; of "last Friday on 8 May" only the date is sure. */
static size_t read_last_before(const struct reader *r, size_t i, struct days *out)
{
    struct days d;
    struct point p;
    size_t next = read_last(r, i, r->today, out), after = 0;
    if (!next)
        return 0;
    if (key_at(r, next) == KEY_BEFORE)
        after = read_point(r, next + 1, &d);
    if (after && d.from < d.to)
        read_last(r, i, d.from, out);
    else if (key_at(r, next) == KEY_ON && (after = read_absolute(r, next + 1, &p)))
        *out = days_of(p.date, r->today);
    return after ? after : next;
}

size_t dates_english(const struct reader *r, size_t i, struct point *out)
{
    static size_t (*const readers[])(const struct reader *, size_t, struct days *) = {
        read_part,
        read_distance,
        read_last_before,
    };
    size_t next, start = i;
    *out = (struct point){0};
    if (key_at(r, i) == KEY_THE)
        i++;
    if (key_at(r, i) == KEY_DAY) {
        out->days = one_day(r->today - value_at(r, i));
        return i + 1;
    }
    for (size_t k = 0; k < FUMI_COUNT(readers); k++)
        if ((next = readers[k](r, i, &out->days)))
            return next;
    next = read_weekday(r, i, out);
    return next ? next : read_absolute(r, start, out);
}

/* Within a longer point, which the limit keeps from being read to the end of the question again
 * and again: "the week before the week before ...". */
static size_t read_point(const struct reader *r, size_t i, struct days *out)
{
    enum { LONGEST = 24 };
    struct point p;
    size_t next = i < r->n && i - r->started < LONGEST ? dates_english(r, i, &p) : 0;
    *out = next ? point_days(r, &p) : (struct days){0, 0};
    return next;
}
