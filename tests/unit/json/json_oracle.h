/* The reference for the parser tests: RFC 8259 implemented once more, one byte at a time, without
 * any code of the parser. It only accepts or refuses a text, and speed does not matter. */
#ifndef FUMI_JSON_ORACLE_H
#define FUMI_JSON_ORACLE_H

#include "base/str.h"

struct oracle {
    const unsigned char *p, *end;
    size_t left; /* brackets that may still be opened */
};

static inline bool oracle_one(struct oracle *o, const char *set)
{
    if (o->p == o->end || !*o->p || !strchr(set, *o->p))
        return false;
    o->p++;
    return true;
}

static inline void oracle_space(struct oracle *o)
{
    while (oracle_one(o, " \t\r\n"))
        continue;
}

static inline bool oracle_digits(struct oracle *o)
{
    bool any = false;
    while (oracle_one(o, "0123456789"))
        any = true;
    return any;
}

static inline bool oracle_number(struct oracle *o)
{
    oracle_one(o, "-");
    if (!oracle_one(o, "0") && !oracle_digits(o))
        return false;
    if (oracle_one(o, ".") && !oracle_digits(o))
        return false;
    if (!oracle_one(o, "eE"))
        return true;
    oracle_one(o, "+-");
    return oracle_digits(o);
}

static inline bool oracle_unit(struct oracle *o, unsigned *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        unsigned c = o->p < o->end ? *o->p : 0;
        if (!oracle_one(o, "0123456789abcdefABCDEF"))
            return false;
        *unit = *unit * 16 + (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return true;
}

/* Reads what follows a backslash. */
static inline bool oracle_escape(struct oracle *o)
{
    unsigned high, low;
    if (oracle_one(o, "\"\\/bfnrt"))
        return true;
    if (!oracle_one(o, "u") || !oracle_unit(o, &high))
        return false;
    if (high < 0xd800 || high > 0xdfff)
        return true;
    if (high > 0xdbff || !oracle_one(o, "\\") || !oracle_one(o, "u") || !oracle_unit(o, &low))
        return false;
    return low >= 0xdc00 && low <= 0xdfff;
}

/* Decodes the character first; then its length must be the shortest one. */
static inline bool oracle_wide(struct oracle *o)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned c = *o->p;
    size_t n = c >= 0xf8 || c < 0xc0 ? 0 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (!n || (size_t)(o->end - o->p) < n)
        return false;
    uint32_t code = c & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((o->p[i] & 0xc0) != 0x80)
            return false;
        code = code << 6 | (o->p[i] & 0x3fu);
    }
    o->p += n;
    return code >= least[n] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

static inline bool oracle_char(struct oracle *o)
{
    if (*o->p >= 0x80)
        return oracle_wide(o);
    if (*o->p < 0x20)
        return false;
    return *o->p++ != '\\' || oracle_escape(o);
}

static inline bool oracle_string(struct oracle *o)
{
    if (!oracle_one(o, "\""))
        return false;
    while (o->p < o->end) {
        if (oracle_one(o, "\""))
            return true;
        if (!oracle_char(o))
            return false;
    }
    return false;
}

static inline bool oracle_word(struct oracle *o, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(o->end - o->p) < n || memcmp(o->p, word, n) != 0)
        return false;
    o->p += n;
    return true;
}

static inline bool oracle_value(struct oracle *o);

/* One item, or one member with its key. */
static inline bool oracle_entry(struct oracle *o, bool object)
{
    if (!object)
        return oracle_value(o);
    oracle_space(o);
    if (!oracle_string(o))
        return false;
    oracle_space(o);
    return oracle_one(o, ":") && oracle_value(o);
}

/* Reads what follows the opening bracket. */
static inline bool oracle_inside(struct oracle *o, const char *closer)
{
    if (!o->left)
        return false;
    o->left--;
    oracle_space(o);
    if (!oracle_one(o, closer)) {
        do {
            if (!oracle_entry(o, *closer == '}'))
                return false;
        } while (oracle_one(o, ","));
        if (!oracle_one(o, closer))
            return false;
    }
    o->left++;
    return true;
}

/* A value and the white space around it. */
static inline bool oracle_value(struct oracle *o)
{
    oracle_space(o);
    bool ok = oracle_one(o, "[")              ? oracle_inside(o, "]")
              : oracle_one(o, "{")            ? oracle_inside(o, "}")
              : o->p < o->end && *o->p == '"' ? oracle_string(o)
                                              : oracle_word(o, "null") || oracle_word(o, "true") ||
                                                    oracle_word(o, "false") || oracle_number(o);
    oracle_space(o);
    return ok;
}

/* Whether a text is JSON that is nested at most `depth` deep. */
static inline bool oracle_accepts(struct fumi_str text, size_t depth)
{
    const unsigned char *p = (const unsigned char *)text.p;
    struct oracle o = {p, p + text.n, depth};
    return oracle_value(&o) && o.p == o.end;
}

#endif
