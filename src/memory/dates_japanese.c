/* Points in time in Japanese. Characters are compared one by one, because there are no spaces. */
#include "memory/dates_parts.h"

#include "base/chars.h"

static bool is_char(const struct reader *r, size_t i, const char *c)
{
    const struct token *k = token_at(r, i);
    size_t n;
    return k->kind == TOKEN_CHAR && k->c == fumi_char_at(c, c + strlen(c), &n);
}

/* Whether token i is one of the characters. */
static bool is_one_of(const struct reader *r, size_t i, const char *chars)
{
    const struct token *k = token_at(r, i);
    const char *end = chars + strlen(chars);
    size_t n;
    if (k->kind != TOKEN_CHAR)
        return false;
    for (const char *p = chars; p < end; p += n)
        if (fumi_char_at(p, end, &n) == k->c)
            return true;
    return false;
}

size_t dates_chars(const struct reader *r, size_t i, const char *text)
{
    const char *end = text + strlen(text);
    for (size_t n; text < end; text += n, i++) {
        const struct token *k = token_at(r, i);
        if (k->kind != TOKEN_CHAR || k->c != fumi_char_at(text, end, &n))
            return 0;
    }
    return i;
}

static size_t skip_chars(const struct reader *r, size_t i, const char *text)
{
    size_t next = dates_chars(r, i, text);
    return next ? next : i;
}

/* The value of a numeral, or -1; 十 is 10. */
static int numeral(const struct token *k)
{
    static const uint32_t numerals[] = {0x3007, 0x4e00, 0x4e8c, 0x4e09, 0x56db, 0x4e94,
                                        0x516d, 0x4e03, 0x516b, 0x4e5d, 0x5341};
    for (int i = 0; k->kind == TOKEN_CHAR && i <= 10; i++)
        if (numerals[i] == k->c)
            return i;
    return -1;
}

/* 二十三 is 23, 二〇二三 is 2023. */
static size_t read_numerals(const struct reader *r, size_t i, int *out)
{
    int sum = 0, digit = 0, v;
    size_t first = i;
    for (; (v = numeral(token_at(r, i))) >= 0 && i - first < 5; i++) {
        if (v == 10)
            sum = 10 * (i > first ? sum * 10 + digit : 1), digit = 0;
        else if (i > first && numeral(token_at(r, i - 1)) != 10)
            digit = digit * 10 + v;
        else
            digit = v;
    }
    *out = sum + digit;
    return i > first ? i : 0;
}

/* A number that is not the end of a longer one. */
static size_t read_count(const struct reader *r, size_t i, int *out)
{
    const struct token *k = token_at(r, i);
    if (k->kind == TOKEN_NUMBER) {
        *out = k->number;
        return k->open && k->close && !k->ordinal && k->digits <= 4 ? i + 1 : 0;
    }
    if (i > 0 && (numeral(token_at(r, i - 1)) >= 0 || token_at(r, i - 1)->kind == TOKEN_NUMBER))
        return 0;
    return read_numerals(r, i, out);
}

/* A number and the character after it, unless one of `not` follows that. */
static size_t read_unit(const struct reader *r, size_t i, const char *unit, const char * not,
                        int *n)
{
    size_t next = read_count(r, i, n);
    return next && is_char(r, next, unit) && !is_one_of(r, next + 1, not ) ? next + 1 : 0;
}

static size_t read_month(const struct reader *r, size_t i, struct date *out)
{
    size_t next = read_unit(r, i, "月", "間", &out->month);
    return next && out->month >= 1 && out->month <= 12 ? next : 0;
}

static size_t read_day(const struct reader *r, size_t i, struct date *out)
{
    size_t next = read_unit(r, i, "日", "間前後目以", &out->day);
    return next && out->day >= 1 && out->day <= 31 ? next : 0;
}

static const struct {
    const char *text;
    int month;
} seasons[] = {{"春", 3}, {"夏", 6}, {"秋", 9}, {"冬", 12}};

/* The rest of a date whose year is known: month and day, or a season, or nothing. */
static size_t read_in_year(const struct reader *r, size_t i, struct date *out)
{
    size_t at = skip_chars(r, i, "の"), next;
    struct date d = *out;
    for (size_t s = 0; s < FUMI_COUNT(seasons); s++) {
        next = dates_chars(r, at, seasons[s].text);
        if (next) {
            out->season = seasons[s].month;
            return next;
        }
    }
    next = read_month(r, at, &d);
    if (!next)
        return i;
    out->month = d.month;
    at = read_day(r, skip_chars(r, next, "の"), &d);
    out->day = at ? d.day : 0;
    return at ? at : next;
}

static const struct {
    const char *name;
    int before_first;
} eras[] = {{"令和", 2018}, {"平成", 1988}, {"昭和", 1925}};

/* 2023年, 令和5年, not 2023年度 (it begins in April), 1990年代 or 2023年間. */
static size_t read_year(const struct reader *r, size_t i, int *year)
{
    static const char not [] = "度代間目";
    size_t next;
    for (size_t e = 0; e < FUMI_COUNT(eras); e++) {
        size_t at = dates_chars(r, i, eras[e].name);
        *year = 1;
        next = at ? dates_chars(r, at, "元年") : 0;
        next = next || !at ? next : read_unit(r, at, "年", not, year);
        *year += eras[e].before_first;
        if (next)
            return dates_year(r, *year) ? next : 0;
    }
    next = read_unit(r, i, "年", not, year);
    bool ago = next && is_char(r, next, "前") && !is_char(r, next + 1, "半");
    return next && !ago && dates_year(r, *year) ? next : 0;
}

static size_t read_date(const struct reader *r, size_t i, struct point *out)
{
    struct date d = {0};
    size_t next = read_year(r, i, &d.year);
    if (next) {
        next = read_in_year(r, next, &d);
    } else if (read_month(r, i, &d)) {
        d = (struct date){0};
        next = read_in_year(r, i, &d);
    }
    *out = (struct point){.absolute = true, .date = d};
    return next;
}

/* Words for the past and the future; `not` are characters that make a longer word of them. */
static const struct {
    const char *text;
    enum unit unit;
    int ago; /* below 0: the future */
    const char * not ;
} words[] = {
    {"今日", UNIT_DAY, 0, "本"},     {"本日", UNIT_DAY, 0, ""},
    {"昨日", UNIT_DAY, 1, ""},       {"一昨日", UNIT_DAY, 2, ""},
    {"おととい", UNIT_DAY, 2, ""},   {"昨夜", UNIT_DAY, 1, ""},
    {"昨晩", UNIT_DAY, 1, ""},       {"今朝", UNIT_DAY, 0, ""},
    {"今夜", UNIT_DAY, 0, ""},       {"明日", UNIT_DAY, -1, ""},
    {"明後日", UNIT_DAY, -1, ""},    {"先週末", UNIT_WEEKEND, 1, ""},
    {"今週末", UNIT_WEEKEND, 0, ""}, {"先々週", UNIT_WEEK, 2, ""},
    {"先週", UNIT_WEEK, 1, ""},      {"今週", UNIT_WEEK, 0, ""},
    {"来週", UNIT_WEEK, -1, ""},     {"先々月", UNIT_MONTH, 2, ""},
    {"先月", UNIT_MONTH, 1, ""},     {"今月", UNIT_MONTH, 0, ""},
    {"来月", UNIT_MONTH, -1, ""},    {"一昨年", UNIT_YEAR, 2, "度"},
    {"おととし", UNIT_YEAR, 2, ""},  {"去年", UNIT_YEAR, 1, "度"},
    {"昨年", UNIT_YEAR, 1, "度"},    {"今年", UNIT_YEAR, 0, "度"},
    {"来年", UNIT_YEAR, -1, "度"},   {"毎週", UNIT_WEEK, -1, ""},
};

static size_t read_weekday(const struct reader *r, size_t i, int *out)
{
    static const char *const names[] = {"月曜", "火曜", "水曜", "木曜", "金曜", "土曜", "日曜"};
    for (size_t d = 0; d < FUMI_COUNT(names); d++) {
        size_t next = dates_chars(r, i, names[d]);
        *out = (int)d;
        if (next)
            return skip_chars(r, next, "日");
    }
    return 0;
}

/* What may follow a unit: 先週の金曜日, 先月の5日, 去年の9月3日. */
static size_t read_within(const struct reader *r, size_t i, enum unit unit, struct point *p)
{
    size_t at = skip_chars(r, i, "の"), next = 0;
    struct date d = {.year = days_year(p->days.from), .month = days_month(p->days.from)};
    int weekday;
    if (unit == UNIT_WEEK && (next = read_weekday(r, at, &weekday)))
        p->days = (struct days){p->days.from + weekday, p->days.from + weekday + 1};
    if (unit == UNIT_MONTH && (next = read_day(r, at, &d)))
        *p = (struct point){.absolute = true, .date = d};
    if (unit == UNIT_YEAR) {
        *p = (struct point){.absolute = true, .date = {.year = d.year}};
        next = read_in_year(r, i, &p->date);
    }
    return next ? next : i;
}

static size_t read_relative(const struct reader *r, size_t i, struct point *out)
{
    for (size_t w = 0; w < FUMI_COUNT(words); w++) {
        size_t next = dates_chars(r, i, words[w].text);
        bool inside = i > 0 && is_char(r, i, "本") && is_char(r, i - 1, "日"); /* 日本日付 */
        if (!next || inside || is_one_of(r, next, words[w].not ))
            continue;
        *out = (struct point){.days = days_unit(words[w].unit, r->today, words[w].ago)};
        next = read_within(r, next, words[w].unit, out);
        if (words[w].ago < 0)
            *out = (struct point){0};
        return next;
    }
    return 0;
}

static const struct {
    const char *text;
    enum unit unit;
} units[] = {
    {"時間", UNIT_HOUR},  {"日間", UNIT_DAY},   {"日", UNIT_DAY},     {"週間", UNIT_WEEK},
    {"か月", UNIT_MONTH}, {"ヶ月", UNIT_MONTH}, {"カ月", UNIT_MONTH}, {"ヵ月", UNIT_MONTH},
    {"ケ月", UNIT_MONTH}, {"箇月", UNIT_MONTH}, {"年間", UNIT_YEAR},  {"年", UNIT_YEAR},
};

/* 3日, 二週間, as a length of time. */
static size_t read_length(const struct reader *r, size_t i, enum unit *unit, int *n)
{
    size_t at = read_count(r, i, n);
    for (size_t u = 0; at && u < FUMI_COUNT(units); u++) {
        size_t next = dates_chars(r, at, units[u].text);
        *unit = units[u].unit;
        if (next)
            return *unit == UNIT_MONTH ? skip_chars(r, next, "間") : next;
    }
    return 0;
}

/* 3日前, 2年前の9月; not 2023年前半, the first half of a year */
static size_t read_ago(const struct reader *r, size_t i, struct point *out)
{
    enum unit unit;
    int n;
    size_t next = read_length(r, i, &unit, &n);
    next = next ? dates_chars(r, next, "前") : 0;
    if (!next || is_char(r, next, "半"))
        return 0;
    *out = (struct point){.days = days_unit(unit, r->today, n)};
    return unit == UNIT_YEAR ? read_within(r, next, unit, out) : next;
}

/* 過去3日間, この1週間: up to today. */
static size_t read_recent(const struct reader *r, size_t i, struct point *out)
{
    static const char *const before[] = {"過去", "この", "ここ", "直近"};
    enum unit unit;
    int n;
    for (size_t b = 0; b < FUMI_COUNT(before); b++) {
        size_t at = dates_chars(r, i, before[b]);
        size_t next = at ? read_length(r, skip_chars(r, at, "の"), &unit, &n) : 0;
        if (!next || dates_chars(r, next, "前"))
            continue;
        *out = (struct point){.days = days_recent(unit, r->today, n)};
        return next;
    }
    return 0;
}

static size_t read_bare_weekday(const struct reader *r, size_t i, struct point *out)
{
    int weekday;
    size_t next = read_weekday(r, i, &weekday);
    int day = r->today - (days_weekday(r->today) - weekday + 7) % 7;
    *out = (struct point){.days = {day, day + 1}};
    return next && !dates_chars(r, next, "ごと") && !dates_chars(r, next, "毎") ? next : 0;
}

size_t dates_japanese(const struct reader *r, size_t i, struct point *out)
{
    static size_t (*const readers[])(const struct reader *, size_t, struct point *) = {
        read_relative, read_ago, read_recent, read_date, read_bare_weekday,
    };
    enum token_kind kind = (enum token_kind)token_at(r, i)->kind;
    if (kind != TOKEN_CHAR && kind != TOKEN_NUMBER)
        return 0;
    for (size_t k = 0; k < FUMI_COUNT(readers); k++) {
        size_t next = readers[k](r, i, out);
        if (next)
            return next;
    }
    return 0;
}
