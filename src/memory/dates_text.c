/* Cuts a question into words, numbers, Japanese characters and marks, and finds the words that
 * dates consist of. */
#include "memory/dates_parts.h"

#include "base/chars.h"

static const struct keyword keywords[] = {
    {"january", KEY_MONTH, 1, 0},
    {"february", KEY_MONTH, 2, 0},
    {"march", KEY_MONTH, 3, ALSO_VERB},
    {"april", KEY_MONTH, 4, ALSO_NAME},
    {"may", KEY_MONTH, 5, ALSO_VERB},
    {"june", KEY_MONTH, 6, ALSO_NAME},
    {"july", KEY_MONTH, 7, 0},
    {"august", KEY_MONTH, 8, ALSO_NAME},
    {"september", KEY_MONTH, 9, 0},
    {"october", KEY_MONTH, 10, 0},
    {"november", KEY_MONTH, 11, 0},
    {"december", KEY_MONTH, 12, 0},
    {"jan", KEY_MONTH, 1, ALSO_SHORT},
    {"feb", KEY_MONTH, 2, ALSO_SHORT},
    {"mar", KEY_MONTH, 3, ALSO_SHORT},
    {"apr", KEY_MONTH, 4, ALSO_SHORT},
    {"jun", KEY_MONTH, 6, ALSO_SHORT},
    {"jul", KEY_MONTH, 7, ALSO_SHORT},
    {"aug", KEY_MONTH, 8, ALSO_SHORT},
    {"sep", KEY_MONTH, 9, ALSO_SHORT},
    {"sept", KEY_MONTH, 9, ALSO_SHORT},
    {"oct", KEY_MONTH, 10, ALSO_SHORT},
    {"nov", KEY_MONTH, 11, ALSO_SHORT},
    {"dec", KEY_MONTH, 12, ALSO_SHORT},
    {"monday", KEY_WEEKDAY, 0, 0},
    {"tuesday", KEY_WEEKDAY, 1, 0},
    {"wednesday", KEY_WEEKDAY, 2, 0},
    {"thursday", KEY_WEEKDAY, 3, 0},
    {"friday", KEY_WEEKDAY, 4, 0},
    {"saturday", KEY_WEEKDAY, 5, 0},
    {"sunday", KEY_WEEKDAY, 6, 0},
    {"spring", KEY_SEASON, 3, 0},
    {"summer", KEY_SEASON, 6, 0},
    {"autumn", KEY_SEASON, 9, 0},
    {"fall", KEY_SEASON, 9, 0},
    {"winter", KEY_SEASON, 12, 0},
    {"hour", KEY_UNIT, UNIT_HOUR, 0},
    {"hours", KEY_UNIT, UNIT_HOUR, 0},
    {"day", KEY_UNIT, UNIT_DAY, 0},
    {"days", KEY_UNIT, UNIT_DAY, 0},
    {"week", KEY_UNIT, UNIT_WEEK, 0},
    {"weeks", KEY_UNIT, UNIT_WEEK, 0},
    {"weekend", KEY_UNIT, UNIT_WEEKEND, 0},
    {"weekends", KEY_UNIT, UNIT_WEEKEND, 0},
    {"month", KEY_UNIT, UNIT_MONTH, 0},
    {"months", KEY_UNIT, UNIT_MONTH, 0},
    {"year", KEY_UNIT, UNIT_YEAR, LEADS_YEAR},
    {"years", KEY_UNIT, UNIT_YEAR, 0},
    {"today", KEY_DAY, 0, 0},
    {"tonight", KEY_DAY, 0, 0},
    {"yesterday", KEY_DAY, 1, 0},
    {"tomorrow", KEY_DAY, -1, 0},
    {"a", KEY_COUNT, 1, 0},
    {"an", KEY_COUNT, 1, 0},
    {"one", KEY_COUNT, 1, 0},
    {"two", KEY_COUNT, 2, 0},
    {"three", KEY_COUNT, 3, 0},
    {"four", KEY_COUNT, 4, 0},
    {"five", KEY_COUNT, 5, 0},
    {"six", KEY_COUNT, 6, 0},
    {"seven", KEY_COUNT, 7, 0},
    {"eight", KEY_COUNT, 8, 0},
    {"nine", KEY_COUNT, 9, 0},
    {"ten", KEY_COUNT, 10, 0},
    {"eleven", KEY_COUNT, 11, 0},
    {"twelve", KEY_COUNT, 12, 0},
    {"couple", KEY_COUPLE, 2, 0},
    {"last", KEY_LAST, 0, 0},
    {"past", KEY_PAST, 0, 0},
    {"this", KEY_THIS, 0, 0},
    {"next", KEY_NEXT, 0, 0},
    {"night", KEY_NIGHT, 0, 0},
    {"morning", KEY_MORNING, 0, 0},
    {"afternoon", KEY_MORNING, 0, 0},
    {"evening", KEY_MORNING, 0, 0},
    {"ago", KEY_AGO, 0, 0},
    {"since", KEY_SINCE, 0, LEADS_ALL},
    {"after", KEY_AFTER, 0, LEADS_ALL},
    {"before", KEY_BEFORE, 0, LEADS_ALL},
    {"until", KEY_UNTIL, 0, LEADS_ALL},
    {"till", KEY_UNTIL, 0, LEADS_ALL},
    {"between", KEY_BETWEEN, 0, LEADS_ALL},
    {"from", KEY_FROM, 0, LEADS_ALL},
    {"to", KEY_TO, 0, 0},
    {"through", KEY_TO, 0, 0},
    {"and", KEY_AND, 0, 0},
    {"or", KEY_AND, 0, 0},
    {"the", KEY_THE, 0, 0},
    {"of", KEY_OF, 0, LEADS_YEAR | LEADS_MONTH},
    {"on", KEY_ON, 0, LEADS_DAY},
    {"in", KEY_IN, 0, LEADS_YEAR | LEADS_MONTH},
    {"during", KEY_IN, 0, LEADS_YEAR | LEADS_MONTH},
    {"throughout", KEY_IN, 0, LEADS_YEAR | LEADS_MONTH},
    {"early", KEY_OTHER, 0, LEADS_YEAR | LEADS_MONTH},
    {"late", KEY_OTHER, 0, LEADS_YEAR | LEADS_MONTH},
    {"mid", KEY_OTHER, 0, LEADS_YEAR | LEADS_MONTH},
    {"by", KEY_OTHER, 0, LEADS_ALL},
    {"around", KEY_OTHER, 0, LEADS_ALL},
};

static const struct keyword no_keyword = {"", KEY_NONE, 0, 0};

struct text {
    const char *p, *start, *end;
};

static bool japanese(uint32_t c)
{
    return (c >= 0x3005 && c <= 0x3007) || (c >= 0x3041 && c <= 0x30fe) ||
           (c >= 0x3400 && c <= 0x9fff);
}

/* Full-width digits, letters and marks as those of ASCII. */
static uint32_t plain_form(uint32_t c)
{
    return c >= 0xff01 && c <= 0xff5e ? c - 0xff01 + '!' : c;
}

/* The character at t->p, or 0 at the end. */
static uint32_t peek(const struct text *t, size_t *n)
{
    *n = 0;
    return t->p < t->end ? plain_form(fumi_char_at(t->p, t->end, n)) : 0;
}

static bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

/* Whether c can be part of a word. Beyond ASCII that need not be exact: no keyword has such
 * letters, so that it only matters that they do not end a word. */
static bool is_letter(uint32_t c)
{
    if (c < 0x80)
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return (c >= 0xc0 && c < 0x2000 && c != 0xd7 && c != 0xf7) || (c >= 0xac00 && c <= 0xd7a3);
}

static bool is_space(uint32_t c)
{
    return c <= ' ' || c == 0xa0 || c == 0x3000;
}

static const struct keyword *find_keyword(const char *word)
{
    for (size_t i = 0; *word && i < FUMI_COUNT(keywords); i++)
        if (!strcmp(keywords[i].text, word))
            return &keywords[i];
    return &no_keyword;
}

/* Reads letters and digits. `word` receives them in lower case; it is empty if they are too many
 * or not ASCII. */
static void read_letters(struct text *t, char word[12])
{
    size_t n, used = 0;
    bool fits = true;
    for (uint32_t c = peek(t, &n); is_letter(c) || is_digit(c); t->p += n, c = peek(t, &n)) {
        fits = fits && c < 0x80 && used < 11;
        if (fits)
            word[used++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    word[fits ? used : 0] = 0;
}

static void read_word(struct text *t, struct token *k)
{
    char word[12];
    size_t n;
    uint32_t first = peek(t, &n);
    k->kind = TOKEN_WORD;
    k->capital = first >= 'A' && first <= 'Z';
    read_letters(t, word);
    k->key = find_keyword(word);
}

static bool ordinal_end(const char *word)
{
    return !strcmp(word, "st") || !strcmp(word, "nd") || !strcmp(word, "rd") || !strcmp(word, "th");
}

/* Whether t->p is the T of 2023-05-08T12:00. */
static bool time_follows(const struct text *t)
{
    struct text rest = *t;
    size_t n;
    uint32_t c = peek(&rest, &n);
    rest.p += n;
    return (c == 'T' || c == 't') && is_digit(peek(&rest, &n));
}

static void read_number(struct text *t, struct token *k)
{
    size_t n;
    k->kind = TOKEN_NUMBER;
    for (uint32_t c = peek(t, &n); is_digit(c); t->p += n, c = peek(t, &n)) {
        k->number = k->number < 100000 ? k->number * 10 + (int)(c - '0') : k->number;
        k->digits = (uint8_t)(k->digits < 100 ? k->digits + 1 : 100);
    }
    if (!is_letter(peek(t, &n)) || time_follows(t))
        return;
    char rest[12];
    read_letters(t, rest);
    k->ordinal = ordinal_end(rest);
    if (!k->ordinal)
        k->kind = TOKEN_WORD;
}

static bool read_token(struct text *t, struct token *k)
{
    size_t n;
    uint32_t c = peek(t, &n);
    *k = (struct token){.key = &no_keyword};
    for (; n && is_space(c); c = peek(t, &n)) {
        t->p += n;
        k->spaced = true;
    }
    if (!n)
        return false;
    k->begin = (uint32_t)(t->p - t->start);
    if (is_digit(c)) {
        read_number(t, k);
    } else if (is_letter(c)) {
        read_word(t, k);
    } else {
        k->kind = japanese(c) ? TOKEN_CHAR : TOKEN_MARK;
        k->c = c;
        t->p += n;
    }
    k->end = (uint32_t)(t->p - t->start);
    return true;
}

static bool is_mark(const struct token *k, const char *marks)
{
    return k->kind == TOKEN_MARK && k->c < 0x80 && strchr(marks, (int)k->c);
}

/* Whether marks join a number to its neighbours, as in 2.0.2023, 5/8, $3, 50%, 1,000. k points to
 * the number among n tokens of which it is number i. */
static void find_joints(struct token *k, size_t i, size_t n)
{
    const struct token *before = k - 1, *after = k + 1;
    k->open = k->close = true;
    if (i > 0 && !k->spaced) {
        bool thousands = is_mark(before, ",") && k->digits == 3 && !before->spaced && i > 1 &&
                         k[-2].kind == TOKEN_NUMBER;
        k->open = !is_mark(before, ".-/:_#$@\\=+*^&<>") && !thousands;
    }
    if (i + 1 < n && !after->spaced) {
        bool more = i + 2 < n && !k[2].spaced;
        bool thousands = is_mark(after, ",") && more && k[2].kind == TOKEN_NUMBER &&
                         k[2].digits == 3;
        k->close = !(is_mark(after, ".-/:") && more) && !is_mark(after, "_%=+*^\\@") &&
                   after->kind != TOKEN_WORD && !thousands;
    }
}

size_t dates_tokens(struct fumi_str query, struct token *out, size_t most)
{
    size_t n = 0, bytes = query.n < DATES_BYTES ? query.n : DATES_BYTES;
    struct text t = {query.p, query.p, query.p + bytes};
    while (bytes && n < most && read_token(&t, &out[n])) {
        /* The hyphen of mid-August; the date after it is not spaced. */
        bool hyphen = n > 0 && is_mark(&out[n], "-") && !strcmp(out[n - 1].key->text, "mid");
        n += !hyphen;
    }
    for (size_t i = 0; i < n; i++)
        if (out[i].kind == TOKEN_NUMBER)
            find_joints(&out[i], i, n);
    return n;
}
