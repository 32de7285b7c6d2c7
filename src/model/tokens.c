/* The rule of docs/memory.md. A text is divided into runs of one kind of characters; each kind has
 * its own number of tokens. Words need few tokens and random letters many, so a run of letters also
 * ends between two letters that rarely follow each other in words. */
#include "model/tokens.h"

#include "base/chars.h"

/* Bit b - 'a' of row a - 'a': "ab" is one of the 185 pairs that make up nine tenths of the pairs of
 * letters in English prose and in programs, where each word counts by the square root of its
 * frequency. */
static const uint32_t common_pairs[26] = {
    0x010EBD4E, 0x00104911, 0x001A4D95, 0x00144111, 0x00AEB83D, 0x00124931, 0x00020190,
    0x00084111, 0x022E787F, 0x00000000, 0x00000110, 0x011C4919, 0x0000C111, 0x000C615D,
    0x007EF82C, 0x000AC911, 0x00100000, 0x011E7119, 0x001CC195, 0x011E4191, 0x000EB914,
    0x00000111, 0x00004191, 0x00000000, 0x00000000, 0x00000010,
};

enum {
    PART = 4,           /* parts of a token, in which characters outside ASCII are counted */
    LETTERS = 5,        /* per token */
    CAPITALS = 3,       /* per token, in a run of capitals */
    DIGITS = 3,         /* per token */
    SPACES = 8,         /* of the same kind, per token */
    JSON_MARKS = 3,     /* per token: quotes, brackets, colons and commas */
    MARKS_PER_FOUR = 3, /* tokens per four other marks */
    CONTROL = 2,        /* tokens of a control character */
};

/* Characters outside ASCII, in parts of a token; the first row that has the character counts. */
static const struct {
    uint32_t first, last;
    unsigned parts;
} others[] = {
    {0x00A0, 0x024F, 6},    /* Latin */
    {0x0370, 0x03FF, 6},    /* Greek */
    {0x0400, 0x052F, 5},    /* Cyrillic */
    {0x0590, 0x05FF, 6},    /* Hebrew */
    {0x0600, 0x06FF, 5},    /* Arabic */
    {0x0080, 0x07FF, 8},    /* other characters of two bytes */
    {0x0E00, 0x0E7F, 7},    /* Thai */
    {0x0900, 0x0DFF, 8},    /* scripts of India */
    {0x2000, 0x206F, 8},    /* punctuation */
    {0x2500, 0x257F, 8},    /* box drawing */
    {0x3000, 0x303F, 8},    /* punctuation of East Asia */
    {0x3040, 0x30FF, 6},    /* Hiragana and Katakana */
    {0x4E00, 0x9FFF, 7},    /* Chinese characters */
    {0xAC00, 0xD7A3, 8},    /* Hangul */
    {0xFF00, 0xFFEF, 8},    /* wide forms */
    {0x0800, 0xFFFF, 12},   /* other characters of three bytes */
    {0x1F000, 0x1FAFF, 12}, /* emoji */
    {0x10000, 0x10FFFF, 16},
};

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_json_mark(char c)
{
    return c && strchr("\"{}[]:,", c);
}

static bool is_mark(char c)
{
    return c > ' ' && c < 0x7F && !is_lower(c) && !is_upper(c) && !is_digit(c) && !is_json_mark(c);
}

static bool is_common(char a, char b)
{
    return common_pairs[(a | 0x20) - 'a'] >> ((b | 0x20) - 'a') & 1;
}

static size_t per(size_t n, size_t each)
{
    return (n + each - 1) / each;
}

/* The number of characters at p of the kind `is`. */
static size_t run_of(const char *p, const char *end, bool (*is)(char))
{
    const char *from = p;
    while (p < end && is(*p))
        p++;
    return (size_t)(p - from);
}

/* The letters at p that form one word or a part of one: "Word", "word", or "WORD" without the last
 * capital if that begins a word. */
static size_t word_at(const char *p, const char *end)
{
    size_t capitals = run_of(p, end, is_upper), small = run_of(p + capitals, end, is_lower);
    if (capitals < 2)
        return capitals + small;
    return small ? capitals - 1 : capitals;
}

/* Counts the letters of a word, which is divided where a pair is rare. */
static size_t word_tokens(const char *p, size_t n)
{
    size_t each = n > 1 && is_upper(p[1]) ? CAPITALS : LETTERS, tokens = 0, from = 0;
    for (size_t i = 1; i <= n; i++) {
        if (i < n && is_common(p[i - 1], p[i]))
            continue;
        tokens += per(i - from, each);
        from = i;
    }
    return tokens;
}

/* The run of one white space character at p. A single blank before a letter or a mark is part of
 * the token that follows. */
static size_t space_tokens(const char *p, const char *end, size_t *n)
{
    *n = 1;
    while (p + *n < end && p[*n] == *p)
        ++*n;
    char next = p + *n < end ? p[*n] : '\0';
    if (*n == 1 && *p == ' ' && next > ' ' && next < 0x7F && !is_digit(next))
        return 0;
    return per(*n, SPACES);
}

/* The tokens of the run of ASCII characters at p; *n is its length. */
static size_t ascii_tokens(const char *p, const char *end, size_t *n)
{
    if ((*n = word_at(p, end)))
        return word_tokens(p, *n);
    if ((*n = run_of(p, end, is_digit)))
        return per(*n, DIGITS);
    if (is_space(*p))
        return space_tokens(p, end, n);
    if ((*n = run_of(p, end, is_json_mark)))
        return per(*n, JSON_MARKS);
    if ((*n = run_of(p, end, is_mark)))
        return per(*n * MARKS_PER_FOUR, 4);
    *n = 1;
    return CONTROL;
}

static size_t parts_of(uint32_t c)
{
    size_t i = 0;
    while (i + 1 < FUMI_COUNT(others) && (c < others[i].first || c > others[i].last))
        i++;
    return others[i].parts;
}

size_t tokens_of(struct fumi_str s)
{
    size_t tokens = 0, parts = 0, n;
    for (const char *p = s.p, *end = fumi_end(s); p < end; p += n) {
        if ((unsigned char)*p < 0x80)
            tokens += ascii_tokens(p, end, &n);
        else
            parts += parts_of(fumi_char_at(p, end, &n));
    }
    return tokens + per(parts, PART);
}
