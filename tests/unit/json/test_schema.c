#include "every_type.h"
#include "test.h"

static struct fumi_str write_schema(struct fumi_arena *a, const struct fumi_shape *s,
                                    const struct fumi_field *f)
{
    struct fumi_buf buf = {0};
    struct fumi_out o = {.buf = &buf};
    if (f)
        fumi_schema_field(&o, f);
    else
        fumi_schema(&o, s);
    struct fumi_str copy = fumi_dup(a, fumi_buf_str(&buf));
    fumi_buf_done(&buf);
    return copy;
}

/* One field and its schema, which must be JSON as well. */
struct row {
    struct fumi_field f;
    const char *want;
};

static void check_rows(const struct row *rows, size_t n)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    for (size_t i = 0; i < n; i++) {
        struct fumi_str got = write_schema(&a, NULL, &rows[i].f);
        if (!fumi_eq(got, fumi_str(rows[i].want)) || !fumi_parse(&a, got, &e))
            TEST_FAIL("%s:\n   got %.*s\n  want %s", rows[i].f.name, FUMI_ARG(got), rows[i].want);
    }
    fumi_arena_done(&a);
}

typedef void schema_fn(struct fumi_out *o, const struct fumi_shape *s);

static void check_as(schema_fn *run, const struct fumi_shape *s, const char *want)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    struct fumi_buf buf = {0};
    struct fumi_out o = {.buf = &buf};
    run(&o, s);
    struct fumi_str got = fumi_buf_str(&buf);
    if (!fumi_eq(got, fumi_str(want)) || !fumi_parse(&a, got, &e))
        TEST_FAIL("\n   got %.*s\n  want %s", FUMI_ARG(got), want);
    fumi_buf_done(&buf);
    fumi_arena_done(&a);
}

static void check_shape(const struct fumi_shape *s, const char *want)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    struct fumi_str got = write_schema(&a, s, NULL);
    if (!fumi_eq(got, fumi_str(want)) || !fumi_parse(&a, got, &e))
        TEST_FAIL("\n   got %.*s\n  want %s", FUMI_ARG(got), want);
    fumi_arena_done(&a);
}

#define F(...) FUMI_FIELD(struct every, __VA_ARGS__)
#define POINT                                                                                      \
    "\"properties\":{\"x\":{\"type\":\"integer\",\"description\":\"Across.\"},"                    \
    "\"y\":{\"type\":\"integer\",\"description\":\"Up.\",\"minimum\":-9,\"maximum\":9},"           \
    "\"label\":{\"type\":\"string\",\"description\":\"Its name.\",\"default\":\"here\"}},"         \
    "\"required\":[\"x\"],\"additionalProperties\":false"

TEST(every_type)
{
    static const struct row rows[] = {
        {F(flag, "f", "Yes."), "{\"type\":\"boolean\",\"description\":\"Yes.\"}"},
        {F(count, "f", "How many."), "{\"type\":\"integer\",\"description\":\"How many.\"}"},
        {F(ratio, "f", "Much."), "{\"type\":\"number\",\"description\":\"Much.\"}"},
        {F(name, "f", "Who."), "{\"type\":\"string\",\"description\":\"Who.\"}"},
        {F(tags, "f", "T."),
         "{\"type\":\"array\",\"description\":\"T.\",\"items\":{\"type\":\"string\"}}"},
        {F(mode, "f", "M.", .choices = modes), "{\"type\":\"string\",\"description\":\"M.\","
                                               "\"enum\":[\"hybrid\",\"meaning\",\"words\"]}"},
        {F(any, "f", "Any."), "{\"description\":\"Any.\"}"},
        {F(json, "f", "Any."), "{\"description\":\"Any.\"}"},
        {F(at, "f", "P.", .shape = &point_shape),
         "{\"type\":\"object\",\"description\":\"P.\"," POINT "}"},
        {F(rows, "f", "R.", .shape = &point_shape),
         "{\"type\":\"array\",\"description\":\"R.\",\"items\":{\"type\":\"object\"," POINT "}}"},
    };
    check_rows(rows, FUMI_COUNT(rows));
}

TEST(every_type_nullable)
{
    static const struct row rows[] = {
        {F(flag, "f", NULL, .flags = FUMI_NULLABLE), "{\"type\":[\"boolean\",\"null\"]}"},
        {F(count, "f", NULL, .flags = FUMI_NULLABLE), "{\"type\":[\"integer\",\"null\"]}"},
        {F(ratio, "f", NULL, .flags = FUMI_NULLABLE), "{\"type\":[\"number\",\"null\"]}"},
        {F(name, "f", NULL, .flags = FUMI_NULLABLE), "{\"type\":[\"string\",\"null\"]}"},
        {F(tags, "f", NULL, .flags = FUMI_NULLABLE),
         "{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"string\"}}"},
        {F(mode, "f", NULL, .flags = FUMI_NULLABLE, .choices = modes),
         "{\"type\":[\"string\",\"null\"],\"enum\":[\"hybrid\",\"meaning\",\"words\",null]}"},
        {F(any, "f", NULL, .flags = FUMI_NULLABLE), "{}"},
        {F(json, "f", NULL, .flags = FUMI_NULLABLE), "{}"},
        {F(at, "f", NULL, .flags = FUMI_NULLABLE, .shape = &point_shape),
         "{\"type\":[\"object\",\"null\"]," POINT "}"},
        {F(rows, "f", NULL, .flags = FUMI_NULLABLE, .shape = &point_shape),
         "{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"object\"," POINT "}}"},
    };
    check_rows(rows, FUMI_COUNT(rows));
}

TEST(object_only)
{
    static const struct row rows[] = {
        {F(any, "f", NULL, .flags = FUMI_OBJECT_ONLY), "{\"type\":\"object\"}"},
        {F(json, "f", NULL, .flags = FUMI_OBJECT_ONLY | FUMI_NULLABLE),
         "{\"type\":[\"object\",\"null\"]}"},
    };
    check_rows(rows, FUMI_COUNT(rows));
}

TEST(limits_of_numbers)
{
    static const struct row rows[] = {
        {F(count, "f", "K.", .min = 1, .max = 100, .def = "5"),
         "{\"type\":\"integer\",\"description\":\"K.\",\"minimum\":1,\"maximum\":100,"
         "\"default\":5}"},
        {F(count, "f", NULL, .min = 1, .max = INT64_MAX), "{\"type\":\"integer\",\"minimum\":1}"},
        {F(count, "f", NULL, .min = INT64_MIN, .max = -1), "{\"type\":\"integer\",\"maximum\":-1}"},
        {F(count, "f", NULL, .min = INT64_MIN, .max = INT64_MAX), "{\"type\":\"integer\"}"},
        {F(count, "f", NULL, .max = 9), "{\"type\":\"integer\",\"minimum\":0,\"maximum\":9}"},
        {F(count, "f", NULL, .flags = FUMI_REQUIRED), "{\"type\":\"integer\"}"},
        {F(ratio, "f", NULL, .min = -1, .max = 1),
         "{\"type\":\"number\",\"minimum\":-1,\"maximum\":1}"},
    };
    check_rows(rows, FUMI_COUNT(rows));
}

TEST(limits_of_lengths)
{
    static const struct row rows[] = {
        {F(name, "f", NULL, .min = 2, .max = 9),
         "{\"type\":\"string\",\"minLength\":2,\"maxLength\":9}"},
        {F(name, "f", NULL, .max = 9), "{\"type\":\"string\",\"maxLength\":9}"},
        {F(name, "f", NULL, .min = -5, .max = 9), "{\"type\":\"string\",\"maxLength\":9}"},
        {F(name, "f", NULL, .min = 2, .max = INT64_MAX), "{\"type\":\"string\",\"minLength\":2}"},
        {F(name, "f", NULL, .flags = FUMI_REQUIRED), "{\"type\":\"string\",\"minLength\":1}"},
        {F(name, "f", NULL, .flags = FUMI_REQUIRED, .max = 9),
         "{\"type\":\"string\",\"minLength\":1,\"maxLength\":9}"},
        {F(name, "f", NULL, .flags = FUMI_REQUIRED, .min = 3, .max = 9),
         "{\"type\":\"string\",\"minLength\":3,\"maxLength\":9}"},
        {F(tags, "f", NULL, .min = 1, .max = 64),
         "{\"type\":\"array\",\"minItems\":1,\"maxItems\":64,\"items\":{\"type\":\"string\"}}"},
        {F(tags, "f", NULL, .flags = FUMI_REQUIRED, .max = 64),
         "{\"type\":\"array\",\"maxItems\":64,\"items\":{\"type\":\"string\"}}"},
        {F(rows, "f", NULL, .min = 1, .max = INT64_MAX, .shape = &point_shape),
         "{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":\"object\"," POINT "}}"},
    };
    check_rows(rows, FUMI_COUNT(rows));
}

TEST(formats_and_defaults)
{
    static const struct row rows[] = {
        {F(name, "f", NULL, .flags = FUMI_NULLABLE, .format = "date-time"),
         "{\"type\":[\"string\",\"null\"],\"format\":\"date-time\"}"},
        {F(name, "f", NULL, .flags = FUMI_REQUIRED, .format = "uuid"),
         "{\"type\":\"string\",\"minLength\":1,\"format\":\"uuid\"}"},
        {F(tags, "f", NULL, .format = "uuid"),
         "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"format\":\"uuid\"}}"},
        {F(mode, "f", NULL, .choices = modes, .def = "\"words\""),
         "{\"type\":\"string\",\"enum\":[\"hybrid\",\"meaning\",\"words\"],\"default\":\"words\"}"},
        {F(flag, "f", "Say \"yes\".", .def = "false"),
         "{\"type\":\"boolean\",\"description\":\"Say \\\"yes\\\".\",\"default\":false}"},
        {F(tags, "f", NULL, .def = "[\"a\"]"),
         "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"default\":[\"a\"]}"},
        {F(any, "f", NULL, .def = "{}"), "{\"default\":{}}"},
    };
    check_rows(rows, FUMI_COUNT(rows));
}

TEST(whole_shapes)
{
    static const struct fumi_field fields[] = {
        F(name, "query", "What.", .flags = FUMI_REQUIRED),
        F(count, "topK", "Most.", .flags = FUMI_REQUIRED | FUMI_NULLABLE),
        F(flag, "a\"b", NULL),
    };
    struct fumi_shape s = FUMI_SHAPE(struct every, fields);
    check_shape(&s, "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\","
                    "\"description\":\"What.\",\"minLength\":1},\"topK\":{\"type\":[\"integer\","
                    "\"null\"],\"description\":\"Most.\"},\"a\\\"b\":{\"type\":\"boolean\"}},"
                    "\"required\":[\"query\",\"topK\"],\"additionalProperties\":false}");
    s.fields = &fields[2];
    s.n = 1;
    s.open = true;
    check_shape(&s, "{\"type\":\"object\",\"properties\":{\"a\\\"b\":{\"type\":\"boolean\"}},"
                    "\"additionalProperties\":true}");
}

TEST(patches_are_objects_as_well)
{
    static const struct fumi_field fields[] = {F(name, "title", "T.", .flags = FUMI_NULLABLE)};
    static const struct fumi_shape s = FUMI_PATCH_SHAPE(struct every, fields);
    check_shape(&s, "{\"type\":\"object\",\"properties\":{\"title\":{\"type\":[\"string\","
                    "\"null\"],\"description\":\"T.\"}},\"additionalProperties\":false}");
}

TEST(bare_values_and_lists_of_them)
{
    static const struct fumi_field number[] = {FUMI_VALUE(struct every, ratio, "It.", .max = 1)};
    static const struct fumi_shape number_shape = FUMI_SHAPE(struct every, number);
    static const struct fumi_field list[] = {
        FUMI_VALUE(struct every, rows, NULL, .shape = &number_shape)};
    static const struct fumi_shape list_shape = FUMI_SHAPE(struct every, list);
    static const struct fumi_field any[] = {FUMI_VALUE(struct every, any, NULL)};
    static const struct fumi_shape any_shape = FUMI_SHAPE(struct every, any);
    static const struct fumi_field object[] = {
        FUMI_VALUE(struct every, at, "P.", .shape = &point_shape)};
    static const struct fumi_shape object_shape = FUMI_SHAPE(struct every, object);
    check_shape(&number_shape,
                "{\"type\":\"number\",\"description\":\"It.\",\"minimum\":0,\"maximum\":1}");
    check_shape(&list_shape, "{\"type\":\"array\",\"items\":{\"type\":\"number\","
                             "\"description\":\"It.\",\"minimum\":0,\"maximum\":1}}");
    check_shape(&any_shape, "{}");
    check_shape(&object_shape, "{\"type\":\"object\",\"description\":\"P.\"," POINT "}");
}

TEST(no_shape_and_no_fields)
{
    static const struct fumi_shape none = {NULL, 0, 0, FUMI_NONE, FUMI_NONE, false};
    check_shape(NULL, "{\"type\":\"null\"}");
    check_shape(&none, "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}");
}

static const struct fumi_field tool_fields[] = {
    F(name, "id", "Its id.", .flags = FUMI_REQUIRED),
    F(count, "topK", "Most.", .flags = FUMI_NULLABLE, .min = 1, .max = 9, .def = "5"),
    F(tags, "tags", "Tags.", .flags = FUMI_NULLABLE, .max = 64),
    F(mode, "mode", "How.", .flags = FUMI_NULLABLE, .choices = modes, .def = "\"words\""),
    F(flag, "explain", "Why.", .flags = FUMI_DETAIL),
    F(json, "any", "Any."),
    F(rows, "rows", "R.", .flags = FUMI_OMIT, .shape = &point_shape),
};
static const struct fumi_shape tool_shape = FUMI_SHAPE(struct every, tool_fields);

#define TOOL_POINT                                                                                 \
    "\"properties\":{\"x\":{\"type\":\"integer\",\"description\":\"Across.\"},"                    \
    "\"y\":{\"type\":\"integer\",\"description\":\"Up.\"},\"label\":{\"type\":\"string\","         \
    "\"description\":\"Its name.\",\"default\":\"here\"}},\"required\":[\"x\"]"

TEST(input_schema_of_a_tool)
{
    static const struct fumi_field fields[] = {
        F(name, "title", "T.", .flags = FUMI_NULLABLE, .max = 9),
        F(tags, "tags", "All.", .max = 64),
    };
    static const struct fumi_shape patch = FUMI_PATCH_SHAPE(struct every, fields);
    check_as(fumi_schema_input, &tool_shape,
             "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\","
             "\"description\":\"Its id.\"},\"topK\":{\"type\":\"integer\",\"description\":"
             "\"Most.\",\"default\":5},\"tags\":{\"type\":"
             "\"array\",\"description\":\"Tags.\",\"items\":{\"type\":\"string\"}},\"mode\":{"
             "\"type\":\"string\",\"description\":\"How.\",\"enum\":[\"hybrid\",\"meaning\","
             "\"words\"],\"default\":\"words\"},\"any\":{\"description\":\"Any.\"},\"rows\":{"
             "\"type\":\"array\",\"description\":\"R.\",\"items\":{\"type\":\"object\"," TOOL_POINT
             "}}},\"required\":[\"id\"]}");
    check_as(fumi_schema_input, &patch,
             "{\"type\":\"object\",\"properties\":{\"title\":{\"type\":[\"string\",\"null\"],"
             "\"description\":\"T.\"},\"tags\":{\"type\":\"array\",\"description\":\"All.\","
             "\"items\":{\"type\":\"string\"}}}}");
    check_as(fumi_schema_input, NULL, "{\"type\":\"object\",\"additionalProperties\":false}");
}

TEST(output_schema_of_a_tool)
{
    static const struct fumi_field number[] = {FUMI_VALUE(struct every, ratio, "It.", .max = 1)};
    static const struct fumi_shape number_shape = FUMI_SHAPE(struct every, number);
    check_as(fumi_schema_compact, &tool_shape,
             "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"topK\":{"
             "\"type\":\"integer\"},\"tags\":{\"type\":\"array\"},"
             "\"mode\":{\"type\":\"string\"},\"any\":{},\"rows\":{\"type\":\"array\"}}}");
    static const struct fumi_field inner[] = {F(at, "at", "P.", .shape = &point_shape)};
    static const struct fumi_shape inner_shape = FUMI_SHAPE(struct every, inner);
    check_as(fumi_schema_compact, &inner_shape,
             "{\"type\":\"object\",\"properties\":{\"at\":{\"type\":\"object\"}}}");
    check_as(fumi_schema_compact, &number_shape,
             "{\"type\":\"object\",\"properties\":{\"value\":{\"type\":\"number\"}}}");
    check_as(fumi_schema_compact, NULL, "{\"type\":\"object\"}");
}
