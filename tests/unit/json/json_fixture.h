/* Shared by the JSON tests: reproducible random numbers, texts in blocks of exact size, comparison
 * of documents, and random documents. */
#ifndef FUMI_JSON_FIXTURE_H
#define FUMI_JSON_FIXTURE_H

#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>

/* A fixed seed gives the same sequence on every machine. */
struct dice {
    uint64_t state;
};

static inline uint64_t roll(struct dice *d)
{
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = (d->state ^ (d->state >> 29)) * 0x9e3779b97f4a7c15u;
    return x ^ (x >> 32);
}

static inline size_t below(struct dice *d, size_t n)
{
    return (size_t)(roll(d) >> 11) % n;
}

/* Prints at most 300 bytes of a text with every byte visible. */
static inline void show(struct fumi_str s)
{
    for (size_t i = 0; i < s.n && i < 300; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c < 0x20 || c >= 0x7f)
            fprintf(stderr, "<%02x>", c);
        else
            fputc(c, stderr);
    }
    fprintf(stderr, "%s (%zu bytes)\n", s.n > 300 ? "..." : "", s.n);
}

/* A copy that begins `offset` bytes after a multiple of 32 and ends where its heap block ends, so
 * that a sanitizer finds a read past its end. */
struct block {
    char *base;
    struct fumi_str text;
};

static inline struct block block_of(struct fumi_str s, size_t offset)
{
    void *base = NULL;
    if (posix_memalign(&base, 32, offset + s.n))
        abort();
    char *p = (char *)base + offset;
    if (s.n)
        memcpy(p, s.p, s.n);
    return (struct block){base, {p, s.n}};
}

static inline void block_done(struct block *b)
{
    free(b->base);
}

/* Whether two documents are the same: kinds, order, keys, and the texts of numbers and strings. */
static inline bool same_tree(const struct fumi_val *x, const struct fumi_val *y)
{
    if (!x || !y)
        return x == y;
    enum fumi_kind kind = x->bits & 7;
    if (!fumi_is(y, kind))
        return false;
    if (kind < FUMI_ARRAY)
        return fumi_eq(fumi_raw(x), fumi_raw(y)) && !((x->bits ^ y->bits) & FUMI_ESCAPED);
    const struct fumi_val *i = fumi_first(x), *j = fumi_first(y);
    for (; i && j; i = fumi_after(x, i), j = fumi_after(y, j)) {
        if (!same_tree(i, j))
            return false;
        if (kind == FUMI_OBJECT && !same_tree(fumi_of(i), fumi_of(j)))
            return false;
    }
    return !i && !j;
}

/* Random documents. loose: with white space of every kind between tokens. */
struct grower {
    struct dice *dice;
    struct fumi_buf *out;
    bool loose;
};

static inline void grow_text(struct grower *g, const char *s)
{
    fumi_buf_add(g->out, s, strlen(s));
}

static inline void grow_space(struct grower *g)
{
    for (size_t n = g->loose ? below(g->dice, 4) : 0; n && below(g->dice, 8); n--)
        fumi_buf_put(g->out, " \t\r\n"[below(g->dice, 4)]);
}

static inline void grow_string(struct grower *g)
{
    static const char *const pieces[] = {"a",
                                         "bc",
                                         "def ",
                                         "\\n",
                                         "\\\"",
                                         "\\\\",
                                         "\\/",
                                         "\\u0000",
                                         "\\u00e9",
                                         "\\uABcd",
                                         "\\ud83d\\ude00",
                                         "\xc3\xa9",
                                         "\xe6\x97\xa5",
                                         "\xf0\x9f\x98\x80",
                                         "\x7f",
                                         "a rather long run of plain text"};
    fumi_buf_put(g->out, '"');
    for (size_t n = below(g->dice, 2 + below(g->dice, 12)); n; n--)
        grow_text(g, pieces[below(g->dice, FUMI_COUNT(pieces))]);
    fumi_buf_put(g->out, '"');
}

static inline void grow_digits(struct grower *g, size_t most)
{
    for (size_t n = 1 + below(g->dice, most); n; n--)
        fumi_buf_put(g->out, (char)('0' + below(g->dice, 10)));
}

static inline void grow_number(struct grower *g)
{
    if (!below(g->dice, 3))
        fumi_buf_put(g->out, '-');
    if (!below(g->dice, 4)) {
        fumi_buf_put(g->out, '0');
    } else {
        fumi_buf_put(g->out, (char)('1' + below(g->dice, 9)));
        grow_digits(g, 1 + below(g->dice, 24));
    }
    if (!below(g->dice, 3)) {
        fumi_buf_put(g->out, '.');
        grow_digits(g, 20);
    }
    if (!below(g->dice, 4)) {
        static const char *const marks[] = {"e", "E", "e+", "E-", "e-"};
        grow_text(g, marks[below(g->dice, FUMI_COUNT(marks))]);
        grow_digits(g, 2);
    }
}

static inline void grow_value(struct grower *g, size_t depth);

static inline void grow_container(struct grower *g, size_t depth, bool object)
{
    fumi_buf_put(g->out, object ? '{' : '[');
    size_t n = below(g->dice, 6);
    for (size_t i = 0; i < n; i++) {
        if (i)
            fumi_buf_put(g->out, ',');
        if (object) {
            grow_space(g);
            grow_string(g);
            grow_space(g);
            fumi_buf_put(g->out, ':');
        }
        grow_value(g, depth - 1);
    }
    if (!n)
        grow_space(g);
    fumi_buf_put(g->out, object ? '}' : ']');
}

static inline void grow_value(struct grower *g, size_t depth)
{
    static const char *const words[] = {"null", "true", "false"};
    size_t choice = below(g->dice, depth ? 8 : 4);
    grow_space(g);
    if (choice == 0)
        grow_text(g, words[below(g->dice, FUMI_COUNT(words))]);
    else if (choice == 1)
        grow_number(g);
    else if (choice < 4)
        grow_string(g);
    else
        grow_container(g, depth, choice < 6);
    grow_space(g);
}

/* Copies a text with a filler on both sides of each token of one character. */
static inline void spread(struct fumi_buf *b, struct fumi_str text, const char *filler)
{
    bool string = false;
    fumi_buf_reset(b, 1 << 16);
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool token = !string && c && strchr("[]{},:", c);
        if (token)
            fumi_buf_add(b, filler, strlen(filler));
        fumi_buf_put(b, c);
        if (token)
            fumi_buf_add(b, filler, strlen(filler));
        if (string && c == '\\' && i + 1 < text.n)
            fumi_buf_put(b, text.p[++i]);
        else if (c == '"')
            string = !string;
    }
}

/* Changes a few bytes of a document, or moves a part of it. */
static inline void mutate(struct dice *d, struct fumi_buf *b)
{
    static const char likely[] = "[]{},:\"\\ \n\t0123456789.eE+-truefalsn/ud\x01\x1f\x7f\x80\xbf"
                                 "\xc3\xe2\xed\xf0\xf4\xff";
    fumi_buf_reserve(b, 256); /* the source of a copy must not move */
    for (size_t n = 1 + below(d, 3); n && b->n; n--) {
        size_t at = below(d, b->n), far = below(d, b->n - at + 1);
        size_t choice = below(d, 4);
        if (choice == 0) {
            memmove(b->p + at, b->p + at + far, b->n - at - far);
            b->n -= far;
        } else if (choice == 1 && b->n < 4096) {
            fumi_buf_add(b, b->p + at, far < 40 ? far : 40);
        } else {
            b->p[at] = choice == 2 ? likely[below(d, sizeof(likely))] : (char)roll(d);
        }
    }
}

#endif
