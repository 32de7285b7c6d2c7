/* Compares the parser with jansson, the strictest of the packaged parsers. These differences are
 * intended and not compared:
 *   - jansson refuses integers beyond 64 bits and reals beyond a double
 *     (json_error_numeric_overflow); here the text of every number is kept
 *   - jansson refuses a NUL in a key even if \u0000 is allowed (json_error_null_byte_in_key)
 *   - jansson allows 2048 levels of nesting; here FUMI_DEPTH_MAX is the maximum
 *   - jansson ignores a raw NUL after a number; here a raw NUL is never accepted
 *   - jansson keeps the last of several members with the same name; here all are kept. */
#include "test.h"

#include "json_cases.h"
#include "json_fixture.h"
#include "json_oracle.h"
#include "json/json.h"

#include <jansson.h>

static bool same_value(struct fumi_arena *a, const struct fumi_val *v, json_t *j);

static bool same_number(const struct fumi_val *v, json_t *j)
{
    if (json_is_integer(j)) {
        int64_t i;
        return fumi_int(v, &i) && i == json_integer_value(j);
    }
    double d, want = json_real_value(j);
    return json_is_real(j) && fumi_real(v, &d) && memcmp(&d, &want, sizeof(d)) == 0;
}

static bool same_array(struct fumi_arena *a, const struct fumi_val *v, json_t *j)
{
    size_t n = 0;
    if (!json_is_array(j) || fumi_size(v) != json_array_size(j))
        return false;
    for (const struct fumi_val *i = fumi_first(v); i; i = fumi_after(v, i))
        if (!same_value(a, i, json_array_get(j, n++)))
            return false;
    return true;
}

/* Each member of jansson is the last of its name; each name of ours must be among them. */
static bool same_object(struct fumi_arena *a, const struct fumi_val *v, json_t *j)
{
    const char *name;
    json_t *value;
    json_object_foreach(j, name, value)
    {
        const struct fumi_val *last = NULL;
        for (const struct fumi_val *k = fumi_first(v); k; k = fumi_after(v, k))
            if (fumi_text_is(k, fumi_str(name)))
                last = fumi_of(k);
        if (!last || !same_value(a, last, value))
            return false;
    }
    for (const struct fumi_val *k = fumi_first(v); k; k = fumi_after(v, k)) {
        struct fumi_str text = fumi_text(a, k);
        if (!json_object_get(j, fumi_fmt(a, "%.*s", FUMI_ARG(text)).p))
            return false;
    }
    return json_is_object(j);
}

static bool same_value(struct fumi_arena *a, const struct fumi_val *v, json_t *j)
{
    switch ((enum fumi_kind)(v->bits & 7)) {
    case FUMI_NULL:
        return json_is_null(j);
    case FUMI_FALSE:
        return json_is_false(j);
    case FUMI_TRUE:
        return json_is_true(j);
    case FUMI_NUMBER:
        return same_number(v, j);
    case FUMI_STRING:
        return json_is_string(j) &&
               fumi_eq(fumi_text(a, v),
                       (struct fumi_str){json_string_value(j), json_string_length(j)});
    case FUMI_ARRAY:
        return same_array(a, v, j);
    case FUMI_OBJECT:
        return same_object(a, v, j);
    }
    return false;
}

/* Whether jansson refuses the text for one of these reasons. */
static bool excused(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);
    return code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
           code == json_error_stack_overflow;
}

/* Returns 1 if both parsers judged the text, 0 if only ours did. */
static int compare(struct fumi_arena *a, struct fumi_str text, size_t offset)
{
    struct fumi_err e = {0};
    json_error_t error;
    fumi_arena_reset(a, 1 << 16);
    struct block b = block_of(text, offset % 32);
    const struct fumi_val *v = fumi_parse_deep(a, b.text, FUMI_DEPTH_MAX, &e);
    bool nul = memchr(text.p, 0, text.n);
    json_t *j = nul ? NULL : json_loadb(text.p, text.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    bool judged = !nul && (j || !excused(&error));
    if (judged ? !v != !j || (v && !same_value(a, v, j)) : nul && v) {
        TEST_FAIL("fumi: %s, jansson: %s:", v ? "accepted" : e.text, j ? "accepted" : error.text);
        show(text);
    }
    json_decref(j);
    block_done(&b);
    return judged;
}

TEST(rows)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(valid_texts); i++)
        compare(&a, valid_texts[i], i);
    for (size_t i = 0; i < FUMI_COUNT(invalid_texts); i++)
        compare(&a, invalid_texts[i], i);
    fumi_arena_done(&a);
}

/* Random documents, then changed. */
TEST(documents_by_chance)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    struct dice d = {9};
    size_t judged = 0;
    for (size_t i = 0; i < 100000 && !test_failed; i++) {
        fumi_buf_reset(&b, 1 << 16);
        grow_value(&(struct grower){&d, &b, i & 1}, i % 6);
        judged += (size_t)compare(&a, fumi_buf_str(&b), i);
        mutate(&d, &b);
        judged += (size_t)compare(&a, fumi_buf_str(&b), i);
    }
    CHECK(judged > 100000);
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

/* Joined and changed rows of the table, which cover what the generator does not write. */
TEST(rows_by_chance)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    struct dice d = {10};
    size_t judged = 0;
    for (size_t i = 0; i < 100000 && !test_failed; i++) {
        fumi_buf_reset(&b, 1 << 16);
        fumi_buf_put(&b, '[');
        for (size_t n = 1 + below(&d, 4); n; n--) {
            struct fumi_str text = valid_texts[below(&d, FUMI_COUNT(valid_texts))];
            fumi_buf_add(&b, text.p, text.n);
            fumi_buf_put(&b, n > 1 ? ',' : ']');
        }
        mutate(&d, &b);
        judged += (size_t)compare(&a, fumi_buf_str(&b), i);
    }
    CHECK(judged > 50000);
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

/* The reference of the other tests is tested here too. */
TEST(the_oracle)
{
    struct fumi_buf b = {0};
    struct dice d = {11};
    for (size_t i = 0; i < 50000 && !test_failed; i++) {
        json_error_t error;
        fumi_buf_reset(&b, 1 << 16);
        grow_value(&(struct grower){&d, &b, i & 1}, i % 6);
        mutate(&d, &b);
        if (memchr(fumi_buf_str(&b).p, 0, b.n))
            continue;
        json_t *j = json_loadb(fumi_buf_str(&b).p, b.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
        if ((j || !excused(&error)) && oracle_accepts(fumi_buf_str(&b), 2048) != !!j) {
            TEST_FAIL("the oracle and jansson differ:");
            show(fumi_buf_str(&b));
        }
        json_decref(j);
    }
    fumi_buf_done(&b);
}
