/* The parser, the readers and the writer: every value of an accepted text can be read, and the
 * compact text of a document parses to the same document. */
#include "fuzz.h"

#include "base/utf8.h"
#include "json/json.h"

#include <math.h>

static void use_string(struct fumi_arena *a, const struct fumi_val *v)
{
    struct fumi_str text = fumi_text(a, v);
    MUST(text.p && text.n <= v->n);
    MUST(fumi_utf8_valid(text));
    MUST(fumi_text_is(v, text));
    MUST((v->bits & FUMI_ESCAPED) || text.p == v->p);
    struct fumi_buf b = {0};
    struct fumi_err e;
    fumi_put_str(&(struct fumi_out){.buf = &b}, text);
    const struct fumi_val *again = fumi_parse(a, fumi_buf_str(&b), &e);
    MUST(again && fumi_text_is(again, text));
    fumi_buf_done(&b);
}

static void use_number(struct fumi_arena *a, const struct fumi_val *v)
{
    int64_t i = 0;
    double d = 0, same = 0;
    bool whole = fumi_int(v, &i), real = fumi_real(v, &d);
    MUST(real ? isfinite(d) : !whole);
    MUST(!whole || d == (double)i);
    double want = strtod(fumi_fmt(a, "%.*s", FUMI_ARG(fumi_raw(v))).p, NULL);
    MUST(real == (bool)isfinite(want) && (!real || memcmp(&d, &want, sizeof(d)) == 0));
    if (!real)
        return;
    struct fumi_buf b = {0};
    struct fumi_err e;
    fumi_put_real(&(struct fumi_out){.buf = &b}, d);
    MUST(fumi_real(fumi_parse(a, fumi_buf_str(&b), &e), &same));
    MUST(memcmp(&d, &same, sizeof(d)) == 0);
    fumi_buf_done(&b);
}

static size_t use(struct fumi_arena *a, const struct fumi_val *v, struct fumi_str inside);

/* Reads the values inside a container; each must lie between its brackets. Returns their number. */
static size_t use_inside(struct fumi_arena *a, const struct fumi_val *v)
{
    struct fumi_str raw = fumi_raw(v), inside = {raw.p + 1, raw.n - 2};
    size_t values = 0, n = 0;
    for (const struct fumi_val *i = fumi_first(v); i; i = fumi_after(v, i), n++) {
        values += use(a, i, inside);
        if (!fumi_is(v, FUMI_OBJECT))
            continue;
        MUST(fumi_is(i, FUMI_STRING));
        values += use(a, fumi_of(i), inside);
    }
    MUST(fumi_size(v) == n);
    return values;
}

static size_t use(struct fumi_arena *a, const struct fumi_val *v, struct fumi_str inside)
{
    struct fumi_str raw = fumi_raw(v);
    size_t values = 1;
    MUST(raw.n && raw.p >= inside.p && raw.p + raw.n <= inside.p + inside.n);
    switch ((enum fumi_kind)(v->bits & 7)) {
    case FUMI_NULL:
    case FUMI_FALSE:
    case FUMI_TRUE:
        MUST(raw.n == (fumi_is(v, FUMI_FALSE) ? 5 : 4));
        break;
    case FUMI_NUMBER:
        use_number(a, v);
        break;
    case FUMI_STRING:
        use_string(a, v);
        break;
    case FUMI_ARRAY:
    case FUMI_OBJECT:
        values += use_inside(a, v);
        break;
    }
    MUST(fumi_next(v) == v + values);
    return values;
}

/* Compares the values of two documents that differ in white space only. */
static void compare(const struct fumi_val *x, const struct fumi_val *y)
{
    const struct fumi_val *end = fumi_next(x);
    MUST(fumi_next(y) - y == end - x);
    for (; x < end; x++, y++) {
        MUST(x->bits == y->bits);
        MUST((x->bits & 7) >= FUMI_ARRAY || fumi_eq(fumi_raw(x), fumi_raw(y)));
    }
}

static void rewrite(struct fumi_arena *a, const struct fumi_val *v)
{
    struct fumi_err e = {0};
    struct fumi_json json = fumi_compact(a, v);
    struct fumi_str text = exact_copy(json.text.p, json.text.n);
    const struct fumi_val *again = fumi_parse_deep(a, text, FUMI_DEPTH_MAX, &e);
    MUST(again);
    compare(v, again);
    MUST(fumi_eq(fumi_compact(a, again).text, text));
    exact_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct fumi_str text = exact_copy(data, n);
    const struct fumi_val *v = fumi_parse_deep(&a, text, n % 3 ? FUMI_DEPTH : FUMI_DEPTH_MAX, &e);
    MUST(v ? !e.code : e.code == FUMI_PARSE_ERROR && strstr(e.text, "byte "));
    if (v) {
        use(&a, v, (v->bits & 7) < FUMI_ARRAY ? fumi_raw(v) : text);
        rewrite(&a, v);
    }
    exact_free(text);
    fumi_arena_done(&a);
    return 0;
}
