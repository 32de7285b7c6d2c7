/* JSON (RFC 8259): parsing, reading values, writing text.
 *
 * A parsed document is one flat array of 16-byte values in an arena, in the order of the text: a
 * container is followed by its contents (an object by key, value, key, value ...). Values point
 * into the text, which must not be changed or freed while they are used. Only a document that is
 * not an array or object may be copied into the arena. A parsed document is immutable, so any
 * thread may read it. */
#ifndef FUMI_JSON_JSON_H
#define FUMI_JSON_JSON_H

#include "../base/arena.h"
#include "../base/buf.h"
#include "../base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fumi_kind {
    FUMI_NULL,
    FUMI_FALSE,
    FUMI_TRUE,
    FUMI_NUMBER,
    FUMI_STRING,
    FUMI_ARRAY,
    FUMI_OBJECT
};

struct fumi_val {
    const char *p; /* position in the text; of a string, after the opening quote */
    uint32_t n;    /* length in the text; of a string, without the quotes */
    uint32_t bits; /* the kind, FUMI_ESCAPED, and the span: see fumi_span */
};

/* FUMI_ESCAPED: the string has escapes. */
enum { FUMI_ESCAPED = 8, FUMI_SPAN_SHIFT = 4 };

/* A JSON value as text, such as stored metadata. text.p == NULL means null. */
struct fumi_json {
    struct fumi_str text;
};

/* Parses a text. Returns the root value; the values live in the arena and point into the text.
 * Returns NULL, with FUMI_PARSE_ERROR and a sentence that names the byte in *e, if the text is not
 * JSON, has FUMI_JSON_MAX bytes or more, or is nested deeper than `depth` (at most FUMI_DEPTH_MAX;
 * in fumi_parse FUMI_DEPTH). */
enum { FUMI_DEPTH = 64, FUMI_DEPTH_MAX = 1024, FUMI_JSON_MAX = 1 << 28 };
const struct fumi_val *fumi_parse(struct fumi_arena *a, struct fumi_str text, struct fumi_err *e);
const struct fumi_val *fumi_parse_deep(struct fumi_arena *a, struct fumi_str text, size_t depth,
                                       struct fumi_err *e);

/* All functions that read, except fumi_span, fumi_next, fumi_of and fumi_after, accept NULL and
 * values of another kind, and return false, NULL or 0 then. So a chain of lookups needs only one
 * test at its end. */
static inline bool fumi_is(const struct fumi_val *v, enum fumi_kind kind)
{
    return v && (v->bits & 7) == kind;
}

static inline bool fumi_is_bool(const struct fumi_val *v)
{
    return fumi_is(v, FUMI_TRUE) || fumi_is(v, FUMI_FALSE);
}

/* Iterating: for (i = fumi_first(v); i; i = fumi_after(v, i)). In an object i is a key, and its
 * value is fumi_of(i).
 *
 * The span of a value is the number of values that it consists of, itself included. */
static inline size_t fumi_span(const struct fumi_val *v)
{
    return v->bits >> FUMI_SPAN_SHIFT;
}

static inline const struct fumi_val *fumi_next(const struct fumi_val *v)
{
    return v + fumi_span(v);
}

static inline const struct fumi_val *fumi_of(const struct fumi_val *key)
{
    return key + 1;
}

static inline const struct fumi_val *fumi_first(const struct fumi_val *v)
{
    return v && (v->bits & 7) >= FUMI_ARRAY && fumi_next(v) != v + 1 ? v + 1 : NULL;
}

static inline const struct fumi_val *fumi_after(const struct fumi_val *v, const struct fumi_val *i)
{
    const struct fumi_val *next = fumi_is(v, FUMI_OBJECT) ? fumi_next(fumi_of(i)) : fumi_next(i);
    return next == fumi_next(v) ? NULL : next;
}

/* The number of items or members. Takes time proportional to it. */
size_t fumi_size(const struct fumi_val *v);

/* The value of the first member of that name; NULL: there is none. */
const struct fumi_val *fumi_get(const struct fumi_val *object, const char *name);

/* Whether a string or key, decoded, equals s. fumi_text_is_escaped is for strings that are known to
 * have escapes. */
bool fumi_text_is_escaped(const struct fumi_val *v, struct fumi_str s);
static inline bool fumi_text_is(const struct fumi_val *v, struct fumi_str s)
{
    if (!fumi_is(v, FUMI_STRING))
        return false;
    if (v->bits & FUMI_ESCAPED)
        return fumi_text_is_escaped(v, s);
    struct fumi_str is = {v->p, v->n};
    return fumi_eq(is, s);
}

/* Decodes a string. Returns a slice of the parsed text if the string has no escapes, otherwise a
 * text in the arena. p is NULL if v is not a string. */
struct fumi_str fumi_text(struct fumi_arena *a, const struct fumi_val *v);

/* Read a number. fumi_int returns false unless the value is an integer of 64 bits, in any notation
 * (5, 5.0, 5e0). fumi_real gives the nearest double, and returns false if the number is too large
 * for one. After false, *out is unspecified. */
bool fumi_int(const struct fumi_val *v, int64_t *out);
bool fumi_real(const struct fumi_val *v, double *out);

/* The source text of the value, with the quotes of a string. p is NULL if v is NULL. */
struct fumi_str fumi_raw(const struct fumi_val *v);

/* Writing. Commas are inserted automatically; the caller must balance the brackets and write a key
 * before each member. Strings and numbers are always written as valid JSON: an invalid byte of
 * UTF-8 becomes U+FFFD, and a number that is not finite becomes null. Errors show only in the
 * buffer: test buf->full at the end if it has a limit. */
struct fumi_out {
    struct fumi_buf *buf;
    bool comma; /* the next value needs a comma before it */
};
void fumi_put_open(struct fumi_out *o, char bracket);  /* '{' or '[' */
void fumi_put_close(struct fumi_out *o, char bracket); /* '}' or ']' */
void fumi_put_key(struct fumi_out *o, const char *name);
void fumi_put_key_str(struct fumi_out *o, struct fumi_str name);
void fumi_put_str(struct fumi_out *o, struct fumi_str s); /* p == NULL: null */
/* Writes the n bytes at offset `at` of the buffer itself as a string. */
void fumi_put_again(struct fumi_out *o, size_t at, size_t n);
void fumi_put_int(struct fumi_out *o, int64_t i);
void fumi_put_real(struct fumi_out *o, double d); /* the shortest text that reads back as d */
void fumi_put_bool(struct fumi_out *o, bool b);
void fumi_put_null(struct fumi_out *o);
void fumi_put_val(struct fumi_out *o, const struct fumi_val *v); /* compact; NULL: null */
/* Copies the text, which must be valid JSON; line breaks become blanks. No text: null. */
void fumi_put_json(struct fumi_out *o, struct fumi_json j);

/* Returns the value as text without white space, in the arena. Numbers and strings keep their
 * notation. v == NULL: null. */
struct fumi_json fumi_compact(struct fumi_arena *a, const struct fumi_val *v);

#ifdef __cplusplus
}
#endif

#endif
