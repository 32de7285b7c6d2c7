/* Looks for points in time at every word of the question, and joins them to spans: "between A and
 * B", "since A". The points are read by dates_english.c and dates_japanese.c from the tokens of
 * dates_text.c; dates_calendar.c turns them into days. */
#include "memory/dates_parts.h"

const struct token *token_at(const struct reader *r, size_t i)
{
    static const struct keyword none = {"", KEY_NONE, 0, 0};
    static const struct token end = {.kind = TOKEN_END, .key = &none, .spaced = true};
    return i < r->n ? &r->tokens[i] : &end;
}

bool dates_year(const struct reader *r, int year)
{
    return year >= 1970 && year <= days_year(r->today) + 1;
}

struct days point_days(const struct reader *r, const struct point *p)
{
    return p->absolute ? days_of(p->date, r->today) : p->days;
}

static size_t read_point(const struct reader *r, size_t i, struct point *out)
{
    *out = (struct point){0};
    size_t next = dates_english(r, i, out);
    return next ? next : dates_japanese(r, i, out);
}

/* A date without a year beside one that has a year is the last one before that. */
static void share_year(const struct reader *r, struct point *a, struct point *b)
{
    if (!a->absolute || !b->absolute)
        return;
    if (a->date.year && !b->date.year) {
        b->date.year = a->date.year;
        if (point_days(r, b).from < point_days(r, a).from)
            b->date.year++;
    } else if (!a->date.year) {
        a->date.year = b->date.year ? b->date.year : days_year(point_days(r, b).from);
        if (point_days(r, a).from > point_days(r, b).from)
            a->date.year--;
    }
}

static struct days both(const struct reader *r, struct point a, struct point b)
{
    share_year(r, &a, &b);
    struct days from = point_days(r, &a), to = point_days(r, &b);
    if (from.from >= from.to || to.from >= to.to)
        return (struct days){0, 0};
    return (struct days){from.from, to.to};
}

static int key_at(const struct reader *r, size_t i)
{
    return token_at(r, i)->key->key;
}

/* The token after the word that may stand between the two ends of a span, or 0. */
static size_t read_joint(const struct reader *r, size_t i, int first)
{
    const struct token *k = token_at(r, i);
    if (first == KEY_BETWEEN)
        return k->key->key == KEY_AND ? i + 1 : 0;
    if (first == KEY_FROM)
        return k->key->key == KEY_TO || k->key->key == KEY_UNTIL ? i + 1 : 0;
    return 0;
}

/* "between A and B", "from A to B" */
static size_t read_between(const struct reader *r, size_t i, struct days *out)
{
    struct point a, b;
    int first = key_at(r, i);
    if (first != KEY_BETWEEN && first != KEY_FROM)
        return 0;
    size_t next = read_point(r, i + 1, &a);
    next = next ? read_joint(r, next, first) : 0;
    next = next ? read_point(r, next, &b) : 0;
    if (next)
        *out = both(r, a, b);
    return next;
}

/* "since A", "after A"; "before A" and "until A", which are no spans */
static size_t read_open(const struct reader *r, size_t i, struct days *out)
{
    struct point p;
    int first = key_at(r, i);
    if (first != KEY_SINCE && first != KEY_AFTER && first != KEY_BEFORE && first != KEY_UNTIL)
        return 0;
    size_t next = read_point(r, i + 1, &p);
    if (!next)
        return 0;
    struct days days = point_days(r, &p);
    *out = (struct days){0, 0};
    if (days.from < days.to && (first == KEY_SINCE || first == KEY_AFTER))
        *out = (struct days){first == KEY_SINCE ? days.from : days.to, r->today + 1};
    return next;
}

/* What follows a Japanese point. */
enum tail { TAIL_TO, TAIL_AND, TAIL_SINCE, TAIL_OPEN };
static const struct {
    const char *text;
    enum tail tail;
} tails[] = {
    {"から", TAIL_TO},     {"〜", TAIL_TO},     {"以降", TAIL_SINCE},  {"以来", TAIL_SINCE},
    {"以後", TAIL_SINCE},  {"以前", TAIL_OPEN}, {"より前", TAIL_OPEN}, {"よりも前", TAIL_OPEN},
    {"までに", TAIL_OPEN}, {"まで", TAIL_OPEN}, {"の前に", TAIL_OPEN}, {"と", TAIL_AND},
};

static size_t read_tail(const struct reader *r, size_t i, enum tail *out)
{
    for (size_t t = 0; t < FUMI_COUNT(tails); t++) {
        size_t next = dates_chars(r, i, tails[t].text);
        *out = tails[t].tail;
        if (next)
            return next;
    }
    *out = TAIL_TO;
    const struct token *k = token_at(r, i);
    return k->kind == TOKEN_MARK && (k->c == '~' || k->c == 0x301c) ? i + 1 : 0;
}

/* The second end: AからBまで, AとBの間 */
static size_t read_second(const struct reader *r, size_t i, enum tail tail, struct point *out)
{
    size_t next = dates_japanese(r, i, out), end;
    if (!next || tail == TAIL_AND)
        return next ? dates_chars(r, next, "の間") : 0;
    end = dates_chars(r, next, "まで");
    return end ? end : next;
}

static size_t read_one(const struct reader *r, size_t i, struct days *out)
{
    struct point a, b = {0};
    enum tail tail;
    size_t next = dates_english(r, i, &a), rest, second;
    if (next) {
        *out = point_days(r, &a);
        return next;
    }
    next = dates_japanese(r, i, &a);
    if (!next)
        return 0;
    *out = point_days(r, &a);
    rest = read_tail(r, next, &tail);
    if (!rest)
        return next;
    if (tail == TAIL_OPEN) {
        *out = (struct days){0, 0};
        return rest;
    }
    second = tail == TAIL_SINCE ? 0 : read_second(r, rest, tail, &b);
    if (second) {
        *out = both(r, a, b);
        return second;
    }
    if (tail == TAIL_AND)
        return next;
    if (out->from < out->to)
        out->to = r->today + 1;
    return rest;
}

static size_t read_span(const struct reader *r, size_t i, struct days *out)
{
    size_t next = read_between(r, i, out);
    next = next ? next : read_open(r, i, out);
    return next ? next : read_one(r, i, out);
}

static bool begun(const struct reader *r, struct days d)
{
    return d.from < d.to && d.from >= 0 && d.from <= r->today;
}

size_t dates_read(struct fumi_str query, int64_t now, struct date_span *out, size_t most)
{
    static const int64_t year_10000 = 253402300800000;
    struct reader r;
    size_t n = 0, next;
    if (now < 86400000 || now >= year_10000 - 86400000)
        return 0;
    r.n = dates_tokens(query, r.tokens, DATES_TOKENS);
    r.today = days_today(now);
    r.ended = 0;
    for (size_t i = 0; i < r.n && n < most; i = next ? next : i + 1) {
        struct days days;
        r.started = i;
        next = read_span(&r, i, &days);
        if (next)
            r.ended = next;
        if (next && begun(&r, days))
            out[n++] = (struct date_span){days_start(days.from), days_start(days.to),
                                          r.tokens[i].begin, r.tokens[next - 1].end};
    }
    return n;
}
