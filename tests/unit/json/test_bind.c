#include "every_type.h"
#include "test.h"

#include <math.h>

/* All types with a default each, which also applies to null. */
static const struct fumi_field default_fields[] = {
    FUMI_FIELD(struct every, flag, "flag", "", .flags = FUMI_NULLABLE, .def = "true"),
    FUMI_FIELD(struct every, count, "count", "", .flags = FUMI_NULLABLE, .def = "-42"),
    FUMI_FIELD(struct every, ratio, "ratio", "", .flags = FUMI_NULLABLE, .def = "0.5"),
    FUMI_FIELD(struct every, name, "name", "", .flags = FUMI_NULLABLE, .def = "\"anon\""),
    FUMI_FIELD(struct every, tags, "tags", "", .flags = FUMI_NULLABLE, .def = "[\"a\",\"b\\n\"]"),
    FUMI_FIELD(struct every, mode, "mode", "", .flags = FUMI_NULLABLE, .def = "\"words\"",
               .choices = modes),
    FUMI_FIELD(struct every, any, "any", "", .flags = FUMI_NULLABLE, .def = "[1,2]"),
    FUMI_FIELD(struct every, json, "json", "", .flags = FUMI_NULLABLE, .def = "{ \"k\" : 1 }"),
    FUMI_FIELD(struct every, at, "at", "", .flags = FUMI_NULLABLE, .def = "{\"x\":3}",
               .shape = &point_shape),
    FUMI_FIELD(struct every, rows, "rows", "", .flags = FUMI_NULLABLE, .def = "[{\"x\":4}]",
               .shape = &point_shape),
};
static const struct fumi_shape default_shape = FUMI_SHAPE(struct every, default_fields);

/* The state of one test. The arena is used by fumi_bind only, so it shows whether that allocated.
 */
struct bench {
    struct fumi_arena text, a;
    struct fumi_err e;
};

static int run(struct bench *b, const struct fumi_shape *s, const char *json, void *into)
{
    const struct fumi_val *v = NULL;
    b->e = (struct fumi_err){0};
    if (json && !(v = fumi_parse(&b->text, fumi_str(json), &b->e)))
        TEST_FAIL("the test's own text is not JSON: %s", json);
    return fumi_bind(&b->a, s, v, into, &b->e);
}

static void done(struct bench *b)
{
    fumi_arena_done(&b->text);
    fumi_arena_done(&b->a);
}

/* "{...}" or "[...]" with the values of a table. */
static const char *compose(struct bench *b, const char *const *values, bool named)
{
    struct fumi_str s = fumi_fmt(&b->text, named ? "{" : "[");
    for (size_t i = 0; i < EVERY; i++)
        s = fumi_fmt(&b->text, "%.*s%s%s%s%s%s", FUMI_ARG(s), i ? "," : "", named ? "\"" : "",
                     named ? every_name[i] : "", named ? "\":" : "", values[i]);
    return fumi_fmt(&b->text, "%.*s%s", FUMI_ARG(s), named ? "}" : "]").p;
}

static void check_scalars(const struct every *x)
{
    CHECK(x->flag);
    CHECK_INT(x->count, 7);
    CHECK(x->ratio == 1.25);
    CHECK_STR(x->name, "Ann");
    CHECK_INT(x->tags.n, 2);
    CHECK_STR(x->tags.items[0], "a");
    CHECK_STR(x->tags.items[1], "b");
    CHECK_INT(x->mode, 1);
}

static void check_nested(const struct every *x)
{
    const struct point *rows = x->rows.items;
    CHECK_STR(fumi_raw(x->any), "[1,{\"k\":null}]");
    CHECK_STR(x->json.text, "{\"k\":[1.50,\"v w\"]}");
    CHECK_INT(x->at.x, 1);
    CHECK_INT(x->at.y, -2);
    CHECK_STR(x->at.label, "here");
    CHECK_INT(x->rows.n, 2);
    CHECK_INT(rows[0].x, 5);
    CHECK_INT(rows[0].y, 0);
    CHECK_STR(rows[0].label, "here");
    CHECK_INT(rows[1].x, 6);
    CHECK_STR(rows[1].label, "six");
}

TEST(every_type_named_and_positional)
{
    const struct fumi_shape *shapes[] = {&plain_shape,   &required_shape,    &nullable_shape,
                                         &default_shape, &open_shape,        &patch_shape,
                                         &lenient_shape, &strict_patch_shape};
    for (size_t i = 0; i < 2 * FUMI_COUNT(shapes); i++) {
        struct bench b = {0};
        struct every x = {0};
        const struct fumi_shape *s = shapes[i / 2];
        if (run(&b, s, compose(&b, every_value, i % 2), &x)) {
            TEST_FAIL("shape %zu: %s", i / 2, b.e.text);
        } else {
            check_scalars(&x);
            check_nested(&x);
            CHECK_INT(b.e.code, 0);
            CHECK_INT(x.given, s->given == FUMI_NONE ? 0 : (1 << EVERY) - 1);
            CHECK_INT(x.ignored, 0);
        }
        done(&b);
    }
}

TEST(members_in_any_order)
{
    struct bench b = {0};
    struct every x = {0};
    CHECK_INT(run(&b, &plain_shape,
                  "{\"mode\":\"words\",\"count\":1,\"name\":\"n\",\"flag\":true,\"ratio\":2}", &x),
              0);
    CHECK(x.flag && x.count == 1 && x.ratio == 2 && x.mode == 2);
    CHECK_STR(x.name, "n");
    done(&b);
}

TEST(keys_with_escapes_are_compared_decoded)
{
    struct bench b = {0};
    struct every x = {0};
    CHECK_INT(run(&b, &plain_shape, "{\"n\\u0061me\":\"n\",\"\\u0063ount\":3}", &x), 0);
    CHECK_STR(x.name, "n");
    CHECK_INT(x.count, 3);
    CHECK_INT(run(&b, &plain_shape, "{\"name\":\"n\",\"n\\u0061me\":\"m\"}", &x), -1);
    CHECK_STR(fumi_str(b.e.text), "name is given twice");
    done(&b);
}

TEST(strings_are_slices_unless_they_have_escapes)
{
    struct bench b = {0};
    struct every x = {0};
    CHECK_INT(run(&b, &plain_shape, "{\"name\":\"plain\",\"count\":5,\"ratio\":0.5}", &x), 0);
    CHECK(!b.a.chunks);
    CHECK_INT(run(&b, &default_shape,
                  "{\"tags\":[],\"mode\":\"words\",\"any\":0,\"json\":0,"
                  "\"flag\":false,\"ratio\":1,\"at\":{\"x\":0},\"rows\":[]}",
                  &x),
              0);
    CHECK(b.a.chunks); /* the compact text of json */
    CHECK_INT(run(&b, &plain_shape, "{\"name\":\"a\\u0000\\n\\u00e9\"}", &x), 0);
    CHECK(fumi_eq(x.name, FUMI_STR("a\0\n\xC3\xA9")));
    done(&b);
}

TEST(every_type_wrong)
{
    static const char *const wanted[EVERY] = {
        [FLAG] = "flag must be true or false",
        [COUNT] = "count must be an integer",
        [RATIO] = "ratio must be a number",
        [NAME] = "name must be a string",
        [TAGS] = "tags must be an array of strings",
        [MODE] = "mode must be one of hybrid, meaning, words",
        [AT] = "at must be an object",
        [ROWS] = "rows must be an array of objects",
    };
    static const char *const wrong[EVERY] = {"0", "\"1\"", "\"1\"", "1",  "\"a\"",
                                             "1", NULL,    NULL,    "[]", "{}"};
    for (size_t i = 0; i < EVERY; i++) {
        struct bench b = {0};
        for (int null = 0; null < 2 && wrong[i]; null++) {
            struct every x = {0};
            const char *json =
                fumi_fmt(&b.text, "{\"%s\":%s}", every_name[i], null ? "null" : wrong[i]).p;
            const char *want = fumi_fmt(&b.text, "%s%s", wanted[i], null ? ", not null" : "").p;
            if (run(&b, &plain_shape, json, &x) != -1 || b.e.code != FUMI_INVALID_PARAMS ||
                strcmp(b.e.text, want) != 0)
                TEST_FAIL("%s:\n   got %s\n  want %s", json, b.e.text, want);
        }
        done(&b);
    }
}

TEST(every_type_required)
{
    for (size_t i = 0; i < EVERY; i++) {
        struct bench b = {0};
        struct fumi_shape s = required_shape;
        s.fields += i;
        s.n -= i;
        const char *want = fumi_fmt(&b.text, "%s is required", every_name[i]).p;
        const char *const absent[] = {NULL, "{}", "[]"};
        for (size_t k = 0; k < FUMI_COUNT(absent); k++) {
            struct every x = {0};
            if (run(&b, &s, absent[k], &x) != -1 || strcmp(b.e.text, want) != 0)
                TEST_FAIL("%s: got %s, want %s", absent[k], b.e.text, want);
        }
        done(&b);
    }
}

TEST(required_behind_what_was_given)
{
    struct bench b = {0};
    struct every x = {0};
    CHECK_INT(run(&b, &required_shape, "[true,1]", &x), -1);
    CHECK_STR(fumi_str(b.e.text), "ratio is required");
    CHECK_INT(run(&b, &required_shape, "{\"count\":1}", &x), -1);
    CHECK_STR(fumi_str(b.e.text), "flag is required");
    done(&b);
}

static void check_defaults(const struct every *x)
{
    const struct point *rows = x->rows.items;
    CHECK(x->flag);
    CHECK_INT(x->count, -42);
    CHECK(x->ratio == 0.5);
    CHECK_STR(x->name, "anon");
    CHECK_INT(x->tags.n, 2);
    CHECK_STR(x->tags.items[1], "b\n");
    CHECK_INT(x->mode, 2);
    CHECK_STR(fumi_raw(x->any), "[1,2]");
    CHECK_STR(x->json.text, "{\"k\":1}");
    CHECK_INT(x->at.x, 3);
    CHECK_STR(x->at.label, "here");
    CHECK_INT(x->rows.n, 1);
    CHECK_INT(rows[0].x, 4);
}

TEST(every_default_for_absent_and_null)
{
    static const char *const nulls[EVERY] = {"null", "null", "null", "null", "null",
                                             "null", "null", "null", "null", "null"};
    struct bench b = {0};
    const char *texts[] = {
        NULL, "{}", "[]", "[null,null]", compose(&b, nulls, true), compose(&b, nulls, false)};
    for (size_t i = 0; i < FUMI_COUNT(texts); i++) {
        struct every x = {0};
        CHECK_INT(run(&b, &default_shape, texts[i], &x), 0);
        check_defaults(&x);
    }
    done(&b);
}

TEST(plain_and_odd_defaults)
{
    static const struct {
        const char *def;
        int64_t want;
    } rows[] = {{"0", 0},
                {"-7", -7},
                {"123456789012345678", 123456789012345678},
                {"-9223372036854775808", INT64_MIN},
                {"5e1", 50},
                {" 6 ", 6}};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct bench b = {0};
        struct every x = {0};
        struct fumi_field f = FUMI_FIELD(struct every, count, "count", "", .def = rows[i].def);
        struct fumi_shape s = {&f, 1, sizeof(x), FUMI_NONE, FUMI_NONE, false};
        if (run(&b, &s, NULL, &x) || x.count != rows[i].want)
            TEST_FAIL("%s: got %" PRId64, rows[i].def, x.count);
        done(&b);
    }
}

TEST(odd_text_defaults)
{
    static const struct {
        const char *def, *want;
    } rows[] = {{"\"\"", ""}, {"\"a\\tb\"", "a\tb"}, {" \"x\" ", "x"}, {"null", NULL}};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct bench b = {0};
        struct every x = {0};
        struct fumi_field f = FUMI_FIELD(struct every, name, "name", "", .flags = FUMI_NULLABLE,
                                         .def = rows[i].def);
        struct fumi_shape s = {&f, 1, sizeof(x), FUMI_NONE, FUMI_NONE, false};
        CHECK_INT(run(&b, &s, "{\"name\":null}", &x), 0);
        CHECK_STR(x.name, rows[i].want);
        done(&b);
    }
}

/* fumi_shape_check refuses such tables; binding with one must not crash nevertheless. */
TEST(broken_defaults_are_internal_errors)
{
    struct bench b = {0};
    struct every x = {0};
    struct fumi_field f = FUMI_FIELD(struct every, count, "count", "", .def = "five");
    struct fumi_shape s = {&f, 1, sizeof(x), FUMI_NONE, FUMI_NONE, false};
    CHECK_INT(run(&b, &s, NULL, &x), -1);
    CHECK_INT(b.e.code, FUMI_INTERNAL_ERROR);
    CHECK_STR(fumi_str(b.e.text), "the default of count is not JSON");
    f.def = "-";
    CHECK_INT(run(&b, &s, NULL, &x), -1);
    f.def = "[1]";
    CHECK_INT(run(&b, &s, NULL, &x), -1);
    static const struct fumi_field inner[] = {FUMI_FIELD(struct point, x, "x", "", .def = "one")};
    static const struct fumi_shape inner_shape = FUMI_SHAPE(struct point, inner);
    f = (struct fumi_field)FUMI_FIELD(struct every, at, "at", "", .shape = &inner_shape);
    CHECK_INT(run(&b, &s, NULL, &x), -1);
    CHECK_STR(fumi_str(b.e.text), "the default of x is not JSON");
    done(&b);
}

TEST(every_null_without_default_is_empty)
{
    struct bench b = {0};
    struct every x = {0};
    CHECK_INT(run(&b, &nullable_shape, "[null,null,null,null,null,null,null,null,null,null]", &x),
              0);
    CHECK(!x.flag && x.count == 0 && x.ratio == 0 && !x.name.p && x.tags.n == 0 && x.mode == 0);
    CHECK(!x.any && !x.json.text.p && x.rows.n == 0 && x.at.x == 0);
    CHECK_STR(x.at.label, "here"); /* a nested struct that is absent has its defaults */
    CHECK_INT(x.given, 0);
    done(&b);
}

TEST(null_is_a_value_of_any_and_json)
{
    struct bench b = {0};
    struct every x = {0};
    CHECK_INT(run(&b, &plain_shape, "{\"any\":null,\"json\":null}", &x), 0);
    CHECK(fumi_is(x.any, FUMI_NULL));
    CHECK_STR(x.json.text, "null");
    done(&b);
}

TEST(absent_objects_have_their_defaults)
{
    struct bench b = {0};
    struct every x = {0};
    CHECK_INT(run(&b, &plain_shape, NULL, &x), 0);
    CHECK_STR(x.at.label, "here");
    CHECK(!x.any && !x.json.text.p && !x.name.p);
    done(&b);
}

static const char *even(struct fumi_str s)
{
    return s.n % 2 ? "must have an even number of bytes" : NULL;
}

/* One field each: the values that it accepts, and the errors for others. */
struct rule {
    const char *json; /* the value */
    const char *want; /* NULL: accepted */
};

static void check_rules(struct fumi_field f, const struct rule *rules, size_t n)
{
    struct fumi_shape s = {&f, 1, sizeof(struct every), FUMI_NONE, FUMI_NONE, false};
    for (size_t i = 0; i < 2 * n; i++) {
        struct bench b = {0};
        struct every x = {0};
        const struct rule *r = &rules[i / 2];
        const char *json = i % 2 ? fumi_fmt(&b.text, "[%s]", r->json).p
                                 : fumi_fmt(&b.text, "{\"%s\":%s}", f.name, r->json).p;
        int rc = run(&b, &s, json, &x);
        if (rc != (r->want ? -1 : 0) || strcmp(b.e.text, r->want ? r->want : "") != 0 ||
            b.e.code != (r->want ? FUMI_INVALID_PARAMS : 0))
            TEST_FAIL("%s:\n   got %s\n  want %s", json, b.e.text, r->want);
        done(&b);
    }
}
#define CHECK_RULES(rules, ...)                                                                    \
    check_rules((struct fumi_field)FUMI_FIELD(struct every, __VA_ARGS__), rules, FUMI_COUNT(rules))

TEST(rules_of_integers)
{
    static const struct rule both[] = {
        {"1", NULL},
        {"100", NULL},
        {"1e2", NULL},
        {"5.0", NULL},
        {"0", "topK must be 1 to 100"},
        {"101", "topK must be 1 to 100"},
        {"-9223372036854775808", "topK must be 1 to 100"},
        {"1.5", "topK must be an integer"},
        {"1e-1", "topK must be an integer"},
        {"true", "topK must be an integer"},
        {"null", "topK must be an integer, not null"},
        {"9223372036854775808", "topK must be an integer of at most 64 bits"},
        {"-9223372036854775809", "topK must be an integer of at most 64 bits"},
        {"1e999", "topK must be an integer of at most 64 bits"},
    };
    static const struct rule low[] = {
        {"1", NULL}, {"9223372036854775807", NULL}, {"0", "topK must be at least 1"}};
    static const struct rule high[] = {
        {"-9223372036854775808", NULL}, {"-1", NULL}, {"0", "topK must be at most -1"}};
    static const struct rule any[] = {
        {"-9223372036854775808", NULL}, {"9223372036854775807", NULL}, {"0", NULL}};
    CHECK_RULES(both, count, "topK", "", .min = 1, .max = 100);
    CHECK_RULES(low, count, "topK", "", .min = 1, .max = INT64_MAX);
    CHECK_RULES(high, count, "topK", "", .min = INT64_MIN, .max = -1);
    CHECK_RULES(any, count, "topK", "", .min = INT64_MIN, .max = INT64_MAX);
    CHECK_RULES(any, count, "topK", "");
}

TEST(rules_of_reals)
{
    static const struct rule both[] = {
        {"0", NULL},
        {"1", NULL},
        {"0.999", NULL},
        {"-0.001", "ratio must be 0 to 1"},
        {"1.001", "ratio must be 0 to 1"},
        {"1e999", "ratio is too large for a number"},
        {"-1e999", "ratio is too large for a number"},
        {"\"1\"", "ratio must be a number"},
        {"null", "ratio must be a number, not null"},
    };
    static const struct rule low[] = {
        {"0", NULL}, {"1e300", NULL}, {"-1", "ratio must be at least 0"}};
    static const struct rule high[] = {{"-1e300", NULL}, {"0.5", "ratio must be at most 0"}};
    CHECK_RULES(both, ratio, "ratio", "", .min = 0, .max = 1);
    CHECK_RULES(low, ratio, "ratio", "", .min = 0, .max = INT64_MAX);
    CHECK_RULES(high, ratio, "ratio", "", .min = INT64_MIN, .max = 0);
}

TEST(rules_of_strings)
{
    static const struct rule required[] = {{"\"a\"", NULL},
                                           {"\"\"", "query is required"},
                                           {"null", "query must be a string, not null"}};
    static const struct rule both[] = {{"\"ab\"", NULL},
                                       {"\"abcd\"", NULL},
                                       {"\"\xE6\x97\xA5\xE6\x9C\xAC\"", NULL},
                                       {"\"\xF0\x9F\x98\x80\\n\xF0\x9F\x98\x80z\"", NULL},
                                       {"\"\xE6\x97\xA5\"", "title must have 2 to 4 characters"},
                                       {"\"\"", "title must have 2 to 4 characters"},
                                       {"\"abcde\"", "title must have 2 to 4 characters"}};
    static const struct rule least[] = {{"\"a\"", NULL},
                                        {"\"\"", "title must have at least 1 character"}};
    static const struct rule most[] = {{"\"\"", NULL},
                                       {"\"abc\"", "title must have at most 2 characters"}};
    CHECK_RULES(required, name, "query", "", .flags = FUMI_REQUIRED);
    CHECK_RULES(required, name, "query", "", .flags = FUMI_REQUIRED, .min = 1, .max = 9);
    CHECK_RULES(both, name, "title", "", .min = 2, .max = 4);
    CHECK_RULES(least, name, "title", "", .min = 1, .max = INT64_MAX);
    CHECK_RULES(most, name, "title", "", .max = 2);
}

TEST(rules_of_formats_and_checks)
{
    static const char time[] = "since has an invalid time format (expected ISO8601 UTC): use one "
                               "such as 2026-01-31T09:30:00Z";
    static const struct rule times[] = {{"\"2026-01-31T09:30:00Z\"", NULL},
                                        {"\"2026-01-31T09:30:00.5+02:00\"", NULL},
                                        {"null", NULL},
                                        {"\"\"", time},
                                        {"\"2026-01-31T09:30:00\"", time},
                                        {"\"yesterday\"", time}};
    static const struct rule ids[] = {{"\"0f8fad5b-d9cb-469f-a165-70867728950e\"", NULL},
                                      {"\"0f8fad5bd9cb469fa16570867728950e\"", "id must be a UUID"},
                                      {"\"x\"", "id must be a UUID"}};
    static const struct rule evens[] = {{"\"ab\"", NULL},
                                        {"\"abc\"", "groupId must have an even number of bytes"}};
    static const struct rule items[] = {
        {"[\"ab\",\"\"]", NULL}, {"[\"ab\",\"c\"]", "tags[1] must have an even number of bytes"}};
    CHECK_RULES(times, name, "since", "", .flags = FUMI_NULLABLE, .format = "date-time");
    CHECK_RULES(ids, name, "id", "", .format = "uuid");
    CHECK_RULES(evens, name, "groupId", "", .check = even);
    CHECK_RULES(items, tags, "tags", "", .check = even);
}

TEST(rules_of_string_arrays)
{
    static const struct rule most[] = {
        {"[]", NULL},
        {"[\"a\",\"b\"]", NULL},
        {"[\"a\",\"b\",\"c\"]", "tags must have at most 2 items"},
        {"[\"a\",\"b\",3]", "tags[2] must be a string"},
        {"[\"a\",[\"b\"],null]", "tags[1] must be a string"},
        {"[null]", "tags[0] must be a string, not null"},
        {"{}", "tags must be an array of strings"},
        {"null", "tags must be an array of strings, not null"},
    };
    static const struct rule one[] = {{"[\"a\"]", NULL},
                                      {"[\"a\",\"b\"]", "tags must have at most 1 item"}};
    static const struct rule both[] = {{"[]", "tags must have 1 to 2 items"}};
    static const struct rule least[] = {{"[]", "tags must have at least 1 item"}};
    CHECK_RULES(most, tags, "tags", "", .max = 2);
    CHECK_RULES(one, tags, "tags", "", .max = 1);
    CHECK_RULES(both, tags, "tags", "", .min = 1, .max = 2);
    CHECK_RULES(least, tags, "tags", "", .flags = FUMI_REQUIRED, .min = 1, .max = INT64_MAX);
}

TEST(rules_of_choices)
{
    static const struct rule rules[] = {
        {"\"hybrid\"", NULL},
        {"\"words\"", NULL},
        {"\"wor\\u0064s\"", NULL},
        {"\"Words\"", "mode must be one of hybrid, meaning, words"},
        {"\"\"", "mode must be one of hybrid, meaning, words"},
        {"1", "mode must be one of hybrid, meaning, words"},
        {"null", "mode must be one of hybrid, meaning, words, not null"},
    };
    CHECK_RULES(rules, mode, "mode", "", .flags = FUMI_REQUIRED, .choices = modes);
}

TEST(long_lists_of_choices_end_in_an_ellipsis)
{
    static const char *const many[] = {
        "the first of the long choices",   "the second of the long choices",
        "the third of the long choices",   "the fourth of the long choices",
        "the fifth of the long choices",   "the sixth of the long choices",
        "the seventh of the long choices", NULL};
    struct bench b = {0};
    struct every x = {0};
    struct fumi_field f = FUMI_FIELD(struct every, mode, "mode", "", .choices = many);
    struct fumi_shape s = {&f, 1, sizeof(x), FUMI_NONE, FUMI_NONE, false};
    CHECK_INT(run(&b, &s, "[1]", &x), -1);
    CHECK_STR(fumi_str(b.e.text),
              "mode must be one of the first of the long choices, the second of the long choices, "
              "the third of the long choices, the fourth of the long choices, "
              "the fifth of the long choices, ...");
    done(&b);
}

TEST(rules_of_any_json_and_objects)
{
    static const struct rule object[] = {{"{}", NULL},
                                         {"{\"a\":[1]}", NULL},
                                         {"[]", "metadata must be an object"},
                                         {"\"x\"", "metadata must be an object"},
                                         {"null", "metadata must be an object, not null"}};
    static const struct rule nested[] = {
        {"{\"x\":1}", NULL},
        {"{\"x\":1,\"_meta\":1}", NULL},
        {"{}", "patch.x is required"},
        {"[1]", "patch must be an object"},
        {"{\"x\":\"1\"}", "patch.x must be an integer"},
        {"{\"x\":1,\"y\":10}", "patch.y must be -9 to 9"},
        {"{\"x\":1,\"label\":null}", "patch.label must be a string, not null"},
        {"{\"x\":1,\"x\":2}", "patch.x is given twice"},
        {"{\"x\":1,\"labl\":\"\"}", "unknown parameter patch.labl; did you mean label?"},
        {"{\"x\":1,\"colour\":\"\"}", "unknown parameter patch.colour; known are x, y, label"},
    };
    static const struct fumi_shape none = {NULL, 0, 0, FUMI_NONE, FUMI_NONE, false};
    static const struct rule empty[] = {{"{}", NULL}, {"{\"x\":1}", "unknown parameter patch.x"}};
    CHECK_RULES(empty, at, "patch", "", .shape = &none);
    CHECK_RULES(object, any, "metadata", "", .flags = FUMI_OBJECT_ONLY);
    CHECK_RULES(object, json, "metadata", "", .flags = FUMI_OBJECT_ONLY);
    CHECK_RULES(nested, at, "patch", "", .shape = &point_shape);
}

struct numbers {
    struct fumi_list items;
};
struct number {
    int64_t i;
};
static const struct fumi_field number_fields[] = {
    FUMI_VALUE(struct number, i, "A number.", .min = 0, .max = 9)};
static const struct fumi_shape number_shape = FUMI_SHAPE(struct number, number_fields);

TEST(rules_of_lists)
{
    static const struct rule rules[] = {
        {"[]", NULL},
        {"[{\"x\":1},{\"x\":2,\"y\":3}]", NULL},
        {"[{\"x\":1},{}]", "items[1].x is required"},
        {"[{\"x\":1},{\"x\":2},{\"x\":[],\"y\":0}]", "items[2].x must be an integer"},
        {"[7]", "items[0] must be an object"},
        {"[[1]]", "items[0] must be an object"},
        {"[{\"x\":1},null]", "items[1] must be an object, not null"},
        {"[{\"x\":1,\"z\":2}]", "unknown parameter items[0].z; known are x, y, label"},
        {"[1,2,3,4]", "items must have at most 3 items"},
        {"{}", "items must be an array of objects"},
    };
    static const struct rule bare[] = {
        {"[1,2,3]", NULL},
        {"[1,\"2\"]", "items[1] must be an integer"},
        {"[1,10]", "items[1] must be 0 to 9"},
        {"[null]", "items[0] must be an integer, not null"},
        {"1", "items must be an array of integers"},
    };
    CHECK_RULES(rules, rows, "items", "", .max = 3, .shape = &point_shape);
    CHECK_RULES(bare, rows, "items", "", .shape = &number_shape);
}

TEST(rows_of_bare_values)
{
    struct bench b = {0};
    struct numbers x = {0};
    static const struct fumi_field fields[] = {
        FUMI_FIELD(struct numbers, items, "items", "Numbers.", .shape = &number_shape)};
    static const struct fumi_shape s = FUMI_SHAPE(struct numbers, fields);
    CHECK_INT(run(&b, &s, "{\"items\":[4,5]}", &x), 0);
    CHECK_INT(x.items.n, 2);
    CHECK_INT(((struct number *)x.items.items)[1].i, 5);
    done(&b);
}

struct inner {
    struct fumi_list rows;
    struct point at;
};
struct outer {
    struct fumi_list groups;
    struct inner in;
};
static const struct fumi_field inner_fields[] = {
    FUMI_FIELD(struct inner, rows, "rows", "Points.", .shape = &point_shape),
    FUMI_FIELD(struct inner, at, "at", "Point.", .shape = &point_shape),
};
static const struct fumi_shape inner_shape = FUMI_SHAPE(struct inner, inner_fields);
static const struct fumi_field outer_fields[] = {
    FUMI_FIELD(struct outer, groups, "groups", "Groups.", .shape = &inner_shape),
    FUMI_FIELD(struct outer, in, "in", "One.", .shape = &inner_shape),
};
static const struct fumi_shape outer_shape = FUMI_SHAPE(struct outer, outer_fields);

TEST(paths_through_lists_and_objects)
{
    struct bench b = {0};
    struct outer x = {0};
    CHECK_INT(run(&b, &outer_shape, "{\"groups\":[{},{\"rows\":[{\"x\":1},{\"x\":true}]}]}", &x),
              -1);
    CHECK_STR(fumi_str(b.e.text), "groups[1].rows[1].x must be an integer");
    CHECK_INT(run(&b, &outer_shape, "[[],{\"at\":{\"x\":1,\"y\":77}}]", &x), -1);
    CHECK_STR(fumi_str(b.e.text), "in.at.y must be -9 to 9");
    CHECK_INT(run(&b, &outer_shape, "[[{\"at\":{\"x\":1}}],{\"rows\":[{\"x\":2}]}]", &x), 0);
    const struct inner *groups = x.groups.items;
    CHECK_INT(groups[0].at.x, 1);
    CHECK_INT(((struct point *)x.in.rows.items)[0].x, 2);
    CHECK_STR(x.in.at.label, "here");
    done(&b);
}

TEST(patches_tell_absent_from_null)
{
    for (size_t i = 0; i < EVERY; i++) {
        struct bench b = {0};
        for (int null = 0; null < 2; null++) {
            struct every x = {0};
            const char *json =
                fumi_fmt(&b.text, "{\"%s\":%s}", every_name[i], null ? "null" : every_value[i]).p;
            if (run(&b, &patch_shape, json, &x) || x.given != UINT64_C(1) << i)
                TEST_FAIL("%s: %s, given %" PRIx64, json, b.e.text, x.given);
        }
        done(&b);
    }
}

TEST(patches_may_keep_a_member_that_is_null)
{
    struct bench b = {0};
    struct every x = {0};
    static const struct fumi_field fields[] = {
        FUMI_FIELD(struct every, tags, "tags", "", .flags = FUMI_NULL_KEEPS),
        FUMI_FIELD(struct every, name, "name", "", .flags = FUMI_NULLABLE),
    };
    static const struct fumi_shape keeping = FUMI_PATCH_SHAPE(struct every, fields);
    CHECK_INT(run(&b, &keeping, "{\"tags\":null,\"name\":null}", &x), 0);
    CHECK_INT(x.given, 2);
    x.given = 0;
    CHECK_INT(run(&b, &keeping, "{\"tags\":[]}", &x), 0);
    CHECK_INT(x.given, 1);
    CHECK_INT(run(&b, &keeping, "{\"tags\":null,\"tags\":[]}", &x), -1);
    CHECK_INT(run(&b, &keeping, "{\"tags\":0}", &x), -1);
    done(&b);
}

TEST(patches_have_no_defaults_for_what_is_absent)
{
    struct bench b = {0};
    struct every x = {0};
    struct fumi_shape s = default_shape;
    s.given = offsetof(struct every, given);
    CHECK_INT(run(&b, &s, "{\"flag\":null}", &x), 0);
    CHECK(x.flag);
    CHECK_INT(x.given, 1 << FLAG);
    CHECK(x.count == 0 && !x.name.p && !x.at.label.p && !x.any);
    x = (struct every){0};
    CHECK_INT(run(&b, &s, NULL, &x), 0);
    CHECK(x.given == 0 && !x.flag);
    done(&b);
}

TEST(patches_refuse_null_where_it_is_not_allowed)
{
    struct bench b = {0};
    struct every x = {0};
    CHECK_INT(run(&b, &strict_patch_shape, "{\"name\":null}", &x), -1);
    CHECK_STR(fumi_str(b.e.text), "name must be a string, not null");
    CHECK_INT(run(&b, &strict_patch_shape, "{\"count\":\"x\"}", &x), -1);
    CHECK_STR(fumi_str(b.e.text), "count must be an integer");
    CHECK_INT(x.given, 0);
    done(&b);
}

struct update {
    struct fumi_str id;
    struct every patch;
};
static const struct fumi_field update_fields[] = {
    FUMI_FIELD(struct update, id, "id", "Which.", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct update, patch, "patch", "What.", .shape = &lenient_shape),
};
static const struct fumi_shape update_shape = FUMI_SHAPE(struct update, update_fields);

TEST(nested_patches)
{
    struct bench b = {0};
    struct update x = {0};
    CHECK_INT(
        run(&b, &update_shape, "{\"id\":\"i\",\"patch\":{\"name\":\"n\",\"count\":true}}", &x), 0);
    CHECK_INT(x.patch.given, 1 << NAME);
    CHECK_INT(x.patch.ignored, 1 << COUNT);
    CHECK_STR(x.patch.name, "n");
    x = (struct update){0};
    CHECK_INT(run(&b, &update_shape, "[\"i\"]", &x), 0);
    CHECK(x.patch.given == 0 && !x.patch.at.label.p);
    CHECK_INT(run(&b, &update_shape, "[\"i\",5]", &x), -1);
    CHECK_STR(fumi_str(b.e.text), "patch must be an object");
    done(&b);
}

TEST(lenient_patches_ignore_every_wrong_type)
{
    static const char *const wrong[EVERY] = {"1", "1.5",  "[]",   "{}",   "[\"a\",1]",
                                             "0", "null", "null", "\"\"", "\"\""};
    for (size_t i = 0; i < EVERY; i++) {
        struct bench b = {0};
        struct every x = {0}, zero = {0};
        bool anything = i == ANY || i == JSON;
        const char *json = fumi_fmt(&b.text, "{\"%s\":%s}", every_name[i], wrong[i]).p;
        int rc = run(&b, &lenient_shape, json, &x);
        uint64_t bit = UINT64_C(1) << i;
        if (rc || x.given != (anything ? bit : 0) || x.ignored != (anything ? 0 : bit) || b.e.code)
            TEST_FAIL("%s: %d %s", json, rc, b.e.text);
        zero.ignored = bit;
        if (!anything && memcmp(&x, &zero, sizeof(x)) != 0)
            TEST_FAIL("%s left something behind", json);
        done(&b);
    }
}

TEST(lenient_patches_still_refuse_other_faults)
{
    static const struct fumi_field fields[] = {
        FUMI_FIELD(struct every, count, "count", "", .flags = FUMI_LENIENT, .max = 5),
        FUMI_FIELD(struct every, json, "json", "", .flags = FUMI_LENIENT | FUMI_OBJECT_ONLY),
        FUMI_FIELD(struct every, mode, "mode", "", .flags = FUMI_LENIENT, .choices = modes),
        FUMI_FIELD(struct every, at, "at", "", .flags = FUMI_LENIENT, .shape = &point_shape),
        FUMI_FIELD(struct every, any, "any", "", .flags = FUMI_OBJECT_ONLY),
    };
    static const struct fumi_shape s = FUMI_LENIENT_PATCH_SHAPE(struct every, fields);
    static const struct rule rules[] = {
        {"{\"count\":6}", "count must be 0 to 5"},
        {"{\"mode\":\"x\"}", "mode must be one of hybrid, meaning, words"},
        {"{\"at\":{\"x\":\"1\"}}", "at.x must be an integer"},
        {"{\"any\":1}", "any must be an object"},
        {"{\"json\":1,\"count\":null,\"mode\":1,\"at\":1}", NULL},
    };
    for (size_t i = 0; i < FUMI_COUNT(rules); i++) {
        struct bench b = {0};
        struct every x = {0};
        run(&b, &s, rules[i].json, &x);
        CHECK_STR(fumi_str(b.e.text), rules[i].want ? rules[i].want : "");
        CHECK_INT(x.ignored, rules[i].want ? 0 : 15);
        done(&b);
    }
}

TEST(open_shapes_skip_what_they_do_not_know)
{
    struct bench b = {0};
    struct every x = {0};
    CHECK_INT(run(&b, &open_shape, "{\"z\":[{\"count\":9}],\"count\":1,\"z\":2,\"Count\":3}", &x),
              0);
    CHECK_INT(x.count, 1);
    CHECK_INT(run(&b, &open_shape, "{\"count\":1,\"count\":2}", &x), -1);
    CHECK_STR(fumi_str(b.e.text), "count is given twice");
    x = (struct every){0};
    struct fumi_shape two = open_shape;
    two.n = 2;
    CHECK_INT(run(&b, &two, "[true,8,{\"a\":[1,2]},\"more\"]", &x), 0);
    CHECK(x.flag && x.count == 8);
    done(&b);
}

TEST(names_with_underscores_are_left_alone)
{
    struct bench b = {0};
    struct every x = {0};
    CHECK_INT(run(&b, &plain_shape, "{\"_meta\":{\"a\":1},\"count\":2,\"\\u005fx\":0}", &x), 0);
    CHECK_INT(x.count, 2);
    static const struct fumi_field fields[] = {FUMI_FIELD(struct every, any, "_meta", "Own.")};
    static const struct fumi_shape s = FUMI_SHAPE(struct every, fields);
    CHECK_INT(run(&b, &s, "{\"_meta\":5}", &x), 0);
    CHECK_STR(fumi_raw(x.any), "5");
    done(&b);
}

static const struct fumi_field search_fields[] = {FUMI_FIELD(struct every, name, "projectId", ""),
                                                  FUMI_FIELD(struct every, count, "topK", ""),
                                                  FUMI_FIELD(struct every, flag, "a", "")};
static const struct fumi_shape search_shape = FUMI_SHAPE(struct every, search_fields);

TEST(unknown_names)
{
    static const struct rule rows[] = {
        {"topk", "unknown parameter topk; did you mean topK?"},
        {"TOPK", "unknown parameter TOPK; did you mean topK?"},
        {"top_k", "unknown parameter top_k; did you mean topK?"},
        {"tpoK", "unknown parameter tpoK; did you mean topK?"},
        {"project", "unknown parameter project; did you mean projectId?"},
        {"project_ident", "unknown parameter project_ident; did you mean projectId?"},
        {"A", "unknown parameter A; did you mean a?"},
        {"b", "unknown parameter b; known are projectId, topK, a"},
        {"", "unknown parameter ; known are projectId, topK, a"},
        {"foo", "unknown parameter foo; known are projectId, topK, a"},
        {"\\u0000\\n\x7F\\u001b", "unknown parameter ????; known are projectId, topK, a"},
        {"0123456789012345678901234567890123456789012345678901234567890123456789",
         "unknown parameter 0123456789012345678901234567890123456789; known are projectId, topK, "
         "a"},
        {"012345678901234567890123456789012345678\xE6\x97\xA5",
         "unknown parameter 012345678901234567890123456789012345678; known are projectId, topK, a"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct bench b = {0};
        struct every x = {0};
        const char *json = fumi_fmt(&b.text, "{\"%s\":[1,{}]}", rows[i].json).p;
        if (run(&b, &search_shape, json, &x) != -1 || strcmp(b.e.text, rows[i].want) != 0)
            TEST_FAIL("%s:\n   got %s\n  want %s", json, b.e.text, rows[i].want);
        done(&b);
    }
}

TEST(long_names_are_known_and_not_guessed)
{
    static const struct fumi_field fields[] = {
        FUMI_FIELD(struct every, count,
                   "a0123456789b0123456789c0123456789d0123456789e0123456789f0123456789", "")};
    static const struct fumi_shape s = FUMI_SHAPE(struct every, fields);
    struct bench b = {0};
    struct every x = {0};
    CHECK_INT(run(&b, &s, "{\"a0123456789\":1}", &x), -1);
    CHECK_STR(fumi_str(b.e.text),
              "unknown parameter a0123456789; known are "
              "a0123456789b0123456789c0123456789d0123456789e0123456789f0123456789");
    done(&b);
}

TEST(params_of_the_wrong_form)
{
    static const struct rule rows[] = {
        {"[\"p\",1,true,0,0]", "at most 3 parameters are taken, 5 were given"},
        {"5", "params must be an array or an object"},
        {"null", "params must be an array or an object"},
        {"\"x\"", "params must be an array or an object"},
        {"{\"topK\":1,\"a\":true,\"topK\":1}", "topK is given twice"},
        {"[null]", "projectId must be a string, not null"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct bench b = {0};
        struct every x = {0};
        CHECK_INT(run(&b, &search_shape, rows[i].json, &x), -1);
        CHECK_STR(fumi_str(b.e.text), rows[i].want);
        done(&b);
    }
    struct bench b = {0};
    struct every x = {0};
    struct fumi_shape one = search_shape;
    one.n = 1;
    CHECK_INT(run(&b, &one, "[\"p\",[1,2]]", &x), -1);
    CHECK_STR(fumi_str(b.e.text), "at most 1 parameter is taken, 2 were given");
    done(&b);
}

TEST(no_shape_takes_no_params)
{
    static const struct rule rows[] = {
        {NULL, NULL}, {"{}", NULL}, {"[]", NULL}, {"{\"_meta\":{}}", NULL},
        {"[1]", ""},  {"null", ""}, {"7", ""},    {"{\"a\":1}", ""},
    };
    static const struct fumi_shape empty = {NULL, 0, 0, FUMI_NONE, FUMI_NONE, false};
    for (size_t i = 0; i < 2 * FUMI_COUNT(rows); i++) {
        struct bench b = {0};
        const struct rule *r = &rows[i / 2];
        CHECK_INT(run(&b, i % 2 ? &empty : NULL, r->json, NULL), r->want ? -1 : 0);
        CHECK_STR(fumi_str(b.e.text), r->want ? "this method takes no parameters" : "");
        done(&b);
    }
}

#define BARE(m, ...) FUMI_VALUE(struct every, m, __VA_ARGS__)

static int bind_bare(struct bench *b, struct fumi_field f, const char *json, struct every *x)
{
    struct fumi_shape s = {&f, 1, sizeof(*x), FUMI_NONE, FUMI_NONE, false};
    *x = (struct every){0};
    return run(b, &s, json, x);
}

TEST(bare_values_of_every_type)
{
    static const struct fumi_field bare[EVERY] = {BARE(flag, ""),
                                                  BARE(count, ""),
                                                  BARE(ratio, ""),
                                                  BARE(name, ""),
                                                  BARE(tags, ""),
                                                  BARE(mode, "", .choices = modes),
                                                  BARE(any, ""),
                                                  BARE(json, ""),
                                                  BARE(at, "", .shape = &point_shape),
                                                  BARE(rows, "", .shape = &point_shape)};
    struct bench b = {0};
    struct every x = {0}, one;
    for (size_t i = 0; i < EVERY; i++) {
        struct fumi_shape s = {&bare[i], 1, sizeof(x), FUMI_NONE, FUMI_NONE, false};
        CHECK_INT(run(&b, &s, every_value[i], &x), 0);
        CHECK_INT(bind_bare(&b, bare[i], NULL, &one), 0);
        CHECK(!one.any && !one.json.text.p && one.count == 0);
    }
    check_scalars(&x);
    check_nested(&x);
    done(&b);
}

TEST(faults_of_bare_values_begin_with_params)
{
    static const struct {
        struct fumi_field f;
        const char *json, *want;
    } rows[] = {
        {BARE(count, ""), "[5]", "params must be an integer"},
        {BARE(count, "", .flags = FUMI_REQUIRED), NULL, "params is required"},
        {BARE(any, "", .flags = FUMI_OBJECT_ONLY), "[]", "params must be an object"},
        {BARE(tags, ""), "[\"a\",1]", "params[1] must be a string"},
        {BARE(rows, "", .shape = &point_shape), "[{\"x\":1},{}]", "params[1].x is required"},
        {BARE(at, "", .shape = &point_shape), "{}", "params.x is required"},
        {BARE(at, "", .shape = &point_shape), "[]", "params must be an object"},
        {BARE(at, "", .shape = &point_shape), "{\"z\":1}",
         "unknown parameter params.z; known are x, y, label"},
        {BARE(count, "", .def = "z"), NULL, "the default of params is not JSON"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct bench b = {0};
        struct every x;
        CHECK_INT(bind_bare(&b, rows[i].f, rows[i].json, &x), -1);
        CHECK_STR(fumi_str(b.e.text), rows[i].want);
        done(&b);
    }
}

TEST(bare_values_have_defaults_and_nulls)
{
    struct bench b = {0};
    struct every x;
    CHECK_INT(bind_bare(&b, (struct fumi_field)BARE(count, "", .def = "9"), NULL, &x), 0);
    CHECK_INT(x.count, 9);
    CHECK_INT(bind_bare(&b, (struct fumi_field)BARE(any, ""), "null", &x), 0);
    CHECK(fumi_is(x.any, FUMI_NULL));
    CHECK_INT(bind_bare(&b, (struct fumi_field)BARE(any, "", .flags = FUMI_NULLABLE), "null", &x),
              0);
    CHECK(!x.any);
    done(&b);
}

TEST(lists_of_every_bare_type_are_named)
{
    static const struct {
        struct fumi_field f;
        const char *want;
    } rows[] = {
        {BARE(flag, ""), "params must be an array of booleans"},
        {BARE(ratio, ""), "params must be an array of numbers"},
        {BARE(name, ""), "params must be an array of strings"},
        {BARE(tags, ""), "params must be an array of arrays of strings"},
        {BARE(mode, "", .choices = modes), "params must be an array of strings"},
        {BARE(json, ""), "params must be an array of values"},
        {BARE(rows, "", .shape = &point_shape), "params must be an array of arrays"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct bench b = {0};
        struct every x;
        struct fumi_shape row = {&rows[i].f, 1, sizeof(x), FUMI_NONE, FUMI_NONE, false};
        CHECK_INT(bind_bare(&b, (struct fumi_field)BARE(rows, "", .shape = &row), "1", &x), -1);
        CHECK_STR(fumi_str(b.e.text), rows[i].want);
        done(&b);
    }
}

enum { MOST = 64 };

TEST(sixty_four_fields)
{
    static char names[MOST][4];
    struct fumi_field fields[MOST];
    struct {
        uint64_t given;
        int64_t n[MOST];
    } x = {0};
    for (size_t i = 0; i < MOST; i++) {
        snprintf(names[i], sizeof(names[i]), "f%zu", i);
        fields[i] = (struct fumi_field){
            .name = names[i], .name_n = strlen(names[i]), .offset = 8 + 8 * i, .type = FUMI_T_INT};
    }
    struct bench b = {0};
    struct fumi_shape s = {fields, MOST, sizeof(x), 0, FUMI_NONE, false};
    CHECK_INT(run(&b, &s, "{\"f63\":1,\"f0\":2,\"f62\":3}", &x), 0);
    CHECK(x.given == (UINT64_C(1) << 63 | UINT64_C(1) << 62 | 1));
    CHECK(x.n[63] == 1 && x.n[0] == 2 && x.n[62] == 3);
    CHECK_INT(run(&b, &s, "{\"f63\":1,\"f63\":2}", &x), -1);
    CHECK_STR(fumi_str(b.e.text), "f63 is given twice");
    CHECK_INT(run(&b, &s, "{\"zzzz\":1}", &x), -1);
    CHECK(strstr(b.e.text, "known are f0, f1, f2") && strstr(b.e.text, ", ..."));
    CHECK(strlen(b.e.text) < sizeof(b.e.text) - 1);
    done(&b);
}

struct found {
    struct fumi_str id, title;
    int64_t count;
    struct point at;
    struct fumi_list rows;
};
static const struct fumi_field found_fields[] = {
    FUMI_FIELD(struct found, id, "id", "", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct found, title, "title", ""),
    FUMI_FIELD(struct found, count, "count", "", .def = "7"),
    FUMI_FIELD(struct found, at, "at", "", .shape = &point_shape),
    FUMI_FIELD(struct found, rows, "rows", "", .shape = &point_shape),
};
static const struct fumi_shape found_shape = FUMI_SHAPE(struct found, found_fields);
static const struct fumi_shape open_found_shape = FUMI_OPEN_SHAPE(struct found, found_fields);
static const struct fumi_field bare_fields[] = {FUMI_VALUE(struct found, count, "")};
static const struct fumi_shape bare_found_shape = FUMI_SHAPE(struct found, bare_fields);

static int run_result(struct bench *b, const struct fumi_shape *s, const char *json, void *into)
{
    b->e = (struct fumi_err){0};
    return fumi_bind_result(&b->a, s, fumi_parse(&b->text, fumi_str(json), &b->e), into, &b->e);
}

TEST(a_result_may_hold_what_params_may_not)
{
    struct bench b = {0};
    struct found x = {0};
    CHECK_INT(run_result(&b, &found_shape,
                         "{\"id\":\"\",\"title\":null,\"count\":null,\"at\":null,\"rows\":null}",
                         &x),
              0);
    CHECK_INT(x.id.n, 0);
    CHECK(x.id.p && !x.title.p);
    CHECK_INT(x.count, 7);
    CHECK_INT(run_result(&b, &bare_found_shape, "12", &x), 0);
    CHECK_INT(x.count, 12);
    CHECK_INT(run_result(&b, &open_found_shape, "{\"id\":\"a\",\"newer\":1}", &x), 0);
    CHECK_INT(run_result(&b, NULL, "[1,2]", NULL), 0);
    done(&b);
}

TEST(a_result_that_does_not_fit_is_told_by_its_member)
{
    static const struct {
        const struct fumi_shape *shape;
        const char *json, *want;
    } rows[] = {
        {&found_shape, "null", "result must be an object, not null"},
        {&found_shape, "5", "result must be an object"},
        {&found_shape, "[\"a\"]", "result must be an object"},
        {&found_shape, "{}", "id is required"},
        {&found_shape, "{\"id\":null}", "id must be a string, not null"},
        {&found_shape, "{\"id\":5}", "id must be a string"},
        {&found_shape, "{\"id\":\"a\",\"count\":1.5}", "count must be an integer"},
        {&found_shape, "{\"id\":\"a\",\"at\":{\"x\":1,\"y\":10}}", "at.y must be -9 to 9"},
        {&found_shape, "{\"id\":\"a\",\"rows\":[{\"x\":1},{}]}", "rows[1].x is required"},
        {&found_shape, "{\"id\":\"a\",\"titel\":\"\"}",
         "unknown member titel; did you mean title?"},
        {&bare_found_shape, "\"x\"", "result must be an integer"},
        {&bare_found_shape, "{}", "result must be an integer"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct bench b = {0};
        struct found x = {0};
        if (run_result(&b, rows[i].shape, rows[i].json, &x) != -1 ||
            strcmp(b.e.text, rows[i].want) != 0)
            TEST_FAIL("%s: %s", rows[i].json, b.e.text);
        done(&b);
    }
}
