/* Private to json/: a text that is being parsed. */
#ifndef FUMI_JSON_PARSER_H
#define FUMI_JSON_PARSER_H

#include "json/like.h"
#include "json/scan.h"

enum { NO_PARENT = UINT32_MAX, ONE = 1 << FUMI_SPAN_SHIFT, FIRST_ROW = FUMI_ALIKE_MAX };

enum { WINDOW = 64 };

/* A window of the text whose bytes are already sorted into bits: finding the end of a string or
 * number in it takes no look at the text, so one token need not wait for the one before it. */
struct window {
    const char *base;
    struct scan_masks masks;
};

struct parser {
    struct fumi_arena *a;
    const char *start, *end;
    struct window w;
    struct fumi_val *row, *full; /* in the arena's tail until it is taken */
    uint32_t open;               /* the innermost open container */
    uint32_t closed;             /* the container that was closed last */
    uint64_t differ;             /* see fumi_parse_like */
    uint32_t misses;             /* of objects that were thought to be alike, in a row */
    uint32_t depth, deepest;
    bool brief; /* see fumi_parse_like */
    const char *fault, *at;
};

static inline bool parse_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *parse_skip(const char *p)
{
    while (__builtin_expect((unsigned char)*p <= ' ', 0) && parse_is_space(*p))
        p++;
    return p;
}

static inline const char *parse_digits(const char *p)
{
    while ((unsigned char)(*p - '0') <= 9)
        p++;
    return p;
}

/* The end of the number at p, or NULL. The byte behind the number stops every loop. */
static inline const char *parse_number(const char *p)
{
    const char *whole = p + (*p == '-'), *q = parse_digits(whole);
    if (q == whole || (*whole == '0' && q > whole + 1))
        return NULL;
    if (*q == '.') {
        const char *part = q + 1;
        if ((q = parse_digits(part)) == part)
            return NULL;
    }
    if ((*q | 0x20) == 'e') {
        const char *power = q + 1 + (q[1] == '+' || q[1] == '-');
        if ((q = parse_digits(power)) == power)
            return NULL;
    }
    return q;
}

/* parse.c: a string from behind its opening quote, or a literal; returns what follows it. NULL:
 * there is none, or it is wrong. */
const char *parse_string(struct parser *s, const char *p, struct fumi_val *to);
const char *parse_literal(struct parser *s, const char *p, struct fumi_val *to);

/* alike.c: the values of the object at p, if it is like the model; returns what follows it, or
 * NULL. There is room for as many values as the model has. */
const char *alike_whole(struct parser *s, const char *p, struct fumi_like *m, struct fumi_val *to);

/* Objects in an array are mostly alike: the same keys, the same structure, other numbers and
 * strings. Returns what follows the object at p and those behind it that are like it too; NULL: it
 * is not like the one before it, or the text ends with it. */
const char *alike_items(struct parser *s, const char *p, struct fumi_val **next);

#endif
