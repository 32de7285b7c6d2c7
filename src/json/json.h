/* JSON (RFC 8259): reading text into values, reading from values, writing text.
 *
 * A parsed document is one flat row of 16-byte values in an arena, in the order of the text: a
 * container is followed by what it holds (an object by key, value, key, value ...). Nothing is
 * copied (but a document that is no container may be, into the arena): values point into the text,
 * which must stay as it is while they are used. A document never changes after it was parsed, so
 * any thread may read it. */
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
    const char *p; /* where it stands in the text; of a string, behind the opening quote */
    uint32_t n;    /* bytes in the text; of a string, between the quotes */
    uint32_t bits; /* kind, a mark (see below), and how many values it spans */
};

/* FUMI_ESCAPED: the string has escapes. */
enum { FUMI_ESCAPED = 8, FUMI_SPAN_SHIFT = 4 };

/* JSON carried as text, e.g. stored metadata. No text stands for null. */
struct fumi_json {
    struct fumi_str text;
};

/* A text of FUMI_JSON_MAX bytes or more is refused; so is nesting deeper than `depth` (at most
 * FUMI_DEPTH_MAX, and FUMI_DEPTH in fumi_parse). NULL: not JSON, with FUMI_PARSE_ERROR and a
 * sentence that names the byte in *e. */
enum { FUMI_DEPTH = 64, FUMI_DEPTH_MAX = 1024, FUMI_JSON_MAX = 1 << 28 };
const struct fumi_val *fumi_parse(struct fumi_arena *a, struct fumi_str text, struct fumi_err *e);
const struct fumi_val *fumi_parse_deep(struct fumi_arena *a, struct fumi_str text, size_t depth,
                                       struct fumi_err *e);

/* Reading is forgiving: every function here but the steps of walking takes NULL, and a value of the
 * wrong kind, and answers no, NULL or 0, so that a chain of look-ups needs one test at its end. */
static inline bool fumi_is(const struct fumi_val *v, enum fumi_kind kind)
{
    return v && (v->bits & 7) == kind;
}

static inline bool fumi_is_bool(const struct fumi_val *v)
{
    return fumi_is(v, FUMI_TRUE) || fumi_is(v, FUMI_FALSE);
}

/* Walking: for (i = fumi_first(v); i; i = fumi_after(v, i)). In an object the steps are keys, and
 * the value of a key is fumi_of(key). */
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

size_t fumi_size(const struct fumi_val *v); /* items or members; walks them */

/* The value of the first member of that name. */
const struct fumi_val *fumi_get(const struct fumi_val *object, const char *name);

/* Whether a string or key, decoded, is exactly `s`; the first when it is known to have escapes. */
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

/* A string, decoded: a slice of the text itself unless it has escapes; else made in the arena.
 * No string for anything else. */
struct fumi_str fumi_text(struct fumi_arena *a, const struct fumi_val *v);

/* Numbers. fumi_int: a number whose value is a whole one that fits, however it is written (5, 5.0,
 * 5e0). fumi_real: the nearest double; false when it is too large for one. */
bool fumi_int(const struct fumi_val *v, int64_t *out);
bool fumi_real(const struct fumi_val *v, double *out);

/* As it was written, quotes and all. */
struct fumi_str fumi_raw(const struct fumi_val *v);

/* Writing. What is written is valid JSON whatever the values hold: a string that is not UTF-8
 * gets U+FFFD for each wrong byte, a number that is not finite becomes null. Brackets and keys
 * are the caller's; an assertion guards them in fumi_put_close. */
struct fumi_out {
    struct fumi_buf *buf;
    bool comma; /* the next value needs one before it */
};
void fumi_put_open(struct fumi_out *o, char bracket);  /* '{' or '[' */
void fumi_put_close(struct fumi_out *o, char bracket); /* '}' or ']' */
void fumi_put_key(struct fumi_out *o, const char *name);
void fumi_put_key_str(struct fumi_out *o, struct fumi_str name);
void fumi_put_str(struct fumi_out *o, struct fumi_str s); /* no string: null */
void fumi_put_again(struct fumi_out *o, size_t at,
                    size_t n); /* so many bytes of buf, as a string */
void fumi_put_int(struct fumi_out *o, int64_t i);
void fumi_put_real(struct fumi_out *o, double d); /* the shortest text that reads back as d */
void fumi_put_bool(struct fumi_out *o, bool b);
void fumi_put_null(struct fumi_out *o);
void fumi_put_val(struct fumi_out *o, const struct fumi_val *v); /* compact; NULL: null */
void fumi_put_json(struct fumi_out *o, struct fumi_json j);      /* in one line; no text: null */

/* The value as compact text in the arena; numbers and strings as they were written. */
struct fumi_json fumi_compact(struct fumi_arena *a, const struct fumi_val *v);

#ifdef __cplusplus
}
#endif

#endif
