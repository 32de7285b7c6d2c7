/* Private to dates*.c: the words of a question, and days of the calendar. */
#ifndef FUMI_MEMORY_DATES_PARTS_H
#define FUMI_MEMORY_DATES_PARTS_H

#include "memory/dates.h"

enum unit { UNIT_HOUR, UNIT_DAY, UNIT_WEEK, UNIT_WEEKEND, UNIT_MONTH, UNIT_YEAR };

/* Days are numbered from 1970-01-01, which is 0. */
struct days {
    int from, to; /* to is exclusive; no days if from >= to */
};

/* What a question says of a date. 0 means that a member is not given. */
struct date {
    int year, month, day;
    int season; /* its first month: 3, 6, 9 or 12 */
};

int days_today(int64_t now); /* the local day of a time in the years 1970 to 9999 */
int64_t days_start(int day); /* the first moment of a local day, milliseconds UTC */
int days_number(int year, int month, int day); /* proleptic Gregorian; any month and day */
int days_year(int day);
int days_month(int day);
int days_weekday(int day); /* 0 is Monday */

/* The unit that contains `day`, n units earlier. */
struct days days_unit(enum unit unit, int day, int n);
/* The day n units before `day`; the last of the month if that month is shorter. */
int days_back(enum unit unit, int day, int n);
/* n units up to `day`, which is the last of them. */
struct days days_recent(enum unit unit, int day, int n);
/* The days of a date; without a year the last that have begun. None if there is no such date. */
struct days days_of(struct date date, int today);

enum key {
    KEY_NONE,
    KEY_MONTH,   /* value: 1 to 12 */
    KEY_WEEKDAY, /* value: 0 (Monday) to 6 */
    KEY_SEASON,  /* value: its first month */
    KEY_UNIT,    /* value: enum unit */
    KEY_DAY,     /* today, yesterday, tomorrow; value: days ago */
    KEY_COUNT,   /* a, two ...; value: the number */
    KEY_COUPLE,
    KEY_LAST,
    KEY_PAST,
    KEY_THIS,
    KEY_NEXT,
    KEY_NIGHT,
    KEY_MORNING,
    KEY_AGO,
    KEY_SINCE,
    KEY_AFTER,
    KEY_BEFORE,
    KEY_UNTIL,
    KEY_BETWEEN,
    KEY_FROM,
    KEY_TO,
    KEY_AND,
    KEY_THE,
    KEY_OF,
    KEY_ON,
    KEY_IN,
    KEY_OTHER, /* a preposition that only gives confidence */
};

/* Flags of prepositions: what they make of the word after them. */
enum { LEADS_YEAR = 1, LEADS_MONTH = 2, LEADS_DAY = 4, LEADS_ALL = 7 };
/* Flags of months: what else the word can be. */
enum { ALSO_VERB = 8, ALSO_NAME = 16, ALSO_SHORT = 32 };

struct keyword {
    char text[12];
    uint8_t key; /* enum key */
    int8_t value;
    uint8_t flags;
};

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_NUMBER, TOKEN_CHAR, TOKEN_MARK };

struct token {
    uint32_t begin, end; /* bytes of the query */
    uint32_t c;          /* TOKEN_CHAR (Japanese), TOKEN_MARK: the character */
    int number;          /* TOKEN_NUMBER */
    uint8_t kind;
    uint8_t digits;
    bool spaced;      /* white space precedes it */
    bool capital;     /* TOKEN_WORD: begins with a capital letter */
    bool ordinal;     /* TOKEN_NUMBER: 1st, 2nd ... */
    bool open, close; /* TOKEN_NUMBER: not joined to the left and to the right, as in 1.5 or 3-4 */
    const struct keyword *key;
};

enum { DATES_TOKENS = 512, DATES_BYTES = 4096 };

/* Writes the tokens of the first DATES_BYTES bytes, at most `most`, and returns their number. */
size_t dates_tokens(struct fumi_str query, struct token *out, size_t most);

struct reader {
    struct token tokens[DATES_TOKENS];
    size_t n;
    int today;
    size_t started; /* token at which the current span begins */
    size_t ended;   /* token after the last span, for "in April and May"; 0 if there is none */
};

/* Something that a question says about time. */
struct point {
    bool absolute;    /* date says it, and may lack a year; otherwise days does */
    struct date date; /* of an absolute point */
    struct days days; /* none for the future, which no note is of */
};

/* Token i; at the end of the question one of the kind TOKEN_END. */
const struct token *token_at(const struct reader *r, size_t i);
struct days point_days(const struct reader *r, const struct point *p);
bool dates_year(const struct reader *r, int year); /* whether it can be the year of a note */

/* Reads a point in time at token i, and returns the token after it, or 0 if there is none. */
size_t dates_english(const struct reader *r, size_t i, struct point *out);
size_t dates_japanese(const struct reader *r, size_t i, struct point *out);
/* Whether the characters at token i are `text`; returns the token after them, or 0. */
size_t dates_chars(const struct reader *r, size_t i, const char *text);

#endif
