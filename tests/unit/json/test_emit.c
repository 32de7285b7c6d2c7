#include "every_type.h"
#include "test.h"

#include <math.h>

struct page {
    struct fumi_buf buf;
    struct fumi_out out;
};

typedef int emit_fn(struct fumi_out *o, const struct fumi_shape *s, const void *from);

static int emit_as(emit_fn *run, struct page *p, const struct fumi_shape *s, const void *from)
{
    *p = (struct page){0};
    p->out.buf = &p->buf;
    return run(&p->out, s, from);
}

static int emit(struct page *p, const struct fumi_shape *s, const void *from)
{
    return emit_as(fumi_emit, p, s, from);
}

#define CHECK_EMIT(shape, from, rc, want)  CHECK_EMITS(fumi_emit, shape, from, rc, want)
#define CHECK_BRIEF(shape, from, rc, want) CHECK_EMITS(fumi_emit_compact, shape, from, rc, want)
#define CHECK_EMITS(run, shape, from, rc, want)                                                    \
    do {                                                                                           \
        struct page p_;                                                                            \
        int rc_ = emit_as(run, &p_, shape, from);                                                  \
        char text_[1024];                                                                          \
        snprintf(text_, sizeof(text_), "%.*s", FUMI_ARG(fumi_buf_str(&p_.buf)));                   \
        fumi_buf_done(&p_.buf);                                                                    \
        CHECK_STR(fumi_str(text_), want);                                                          \
        CHECK_INT(rc_, rc);                                                                        \
    } while (0)

/* A struct in which no member is empty. `a` holds what it points to. */
static struct every full(struct fumi_arena *a)
{
    static struct fumi_str tags[] = {{"a", 1}, {"\"b\"", 3}, {NULL, 0}};
    static const struct point points[] = {{1, 2, {"p", 1}}, {-3, 0, {NULL, 0}}};
    struct fumi_err e;
    void *rows = memcpy(fumi_alloc(a, sizeof(points)), points, sizeof(points));
    return (struct every){
        .flag = true,
        .count = INT64_MIN,
        .ratio = 0.1,
        .name = FUMI_STR("A\n\xE6\x97\xA5"),
        .tags = {tags, FUMI_COUNT(tags)},
        .mode = 2,
        .any = fumi_parse(a, FUMI_STR("[ 1 , { \"k\" : 1.50 } ]"), &e),
        .json = {FUMI_STR("{\"raw\":1e2}")},
        .at = {7, 8, {"", 0}},
        .rows = {rows, FUMI_COUNT(points)},
    };
}

static const char full_text[] =
    "{\"flag\":true,\"count\":-9223372036854775808,\"ratio\":0.1,\"name\":\"A\\n\xE6\x97\xA5\","
    "\"tags\":[\"a\",\"\\\"b\\\"\",null],\"mode\":\"words\",\"any\":[1,{\"k\":1.50}],"
    "\"json\":{\"raw\":1e2},\"at\":{\"x\":7,\"y\":8,\"label\":\"\"},"
    "\"rows\":[{\"x\":1,\"y\":2,\"label\":\"p\"},{\"x\":-3,\"y\":0,\"label\":null}]}";

static const char empty_text[] =
    "{\"flag\":false,\"count\":0,\"ratio\":0,\"name\":null,\"tags\":[],\"mode\":\"hybrid\","
    "\"any\":null,\"json\":null,\"at\":{\"x\":0,\"y\":0,\"label\":null},\"rows\":[]}";

static const struct fumi_field omit_fields[] = EVERY_FIELDS(.flags = FUMI_OMIT);
static const struct fumi_shape omit_shape = FUMI_SHAPE(struct every, omit_fields);

TEST(every_type)
{
    struct fumi_arena a = {0};
    struct every x = full(&a);
    CHECK_EMIT(&plain_shape, &x, 0, full_text);
    CHECK_EMIT(&required_shape, &x, 0, full_text);
    CHECK_EMIT(&omit_shape, &x, 0, full_text);
    fumi_arena_done(&a);
}

TEST(every_type_empty)
{
    struct every x = {0};
    CHECK_EMIT(&plain_shape, &x, 0, empty_text);
    CHECK_EMIT(&nullable_shape, &x, 0, empty_text);
    CHECK_EMIT(&open_shape, &x, 0, empty_text);
    CHECK_EMIT(&omit_shape, &x, 0, "{\"mode\":\"hybrid\",\"at\":{\"x\":0,\"y\":0,\"label\":null}}");
}

TEST(params_have_no_nulls)
{
    static const struct every nothing;
    CHECK_EMITS(fumi_emit_params, &plain_shape, &nothing, 0,
                "{\"flag\":false,\"count\":0,\"ratio\":0,\"tags\":[],\"mode\":\"hybrid\","
                "\"at\":{\"x\":0,\"y\":0},\"rows\":[]}");
    struct every patch = {.given = 1 << NAME | 1 << FLAG};
    CHECK_EMITS(fumi_emit_params, &patch_shape, &patch, 0, "{\"flag\":false,\"name\":null}");
}

TEST(empty_strings_are_not_omitted)
{
    struct every x = {.name = FUMI_STR(""), .json = {FUMI_STR("null")}, .ratio = -0.5};
    CHECK_EMIT(&omit_shape, &x, 0,
               "{\"ratio\":-0.5,\"name\":\"\",\"mode\":\"hybrid\",\"json\":null,"
               "\"at\":{\"x\":0,\"y\":0,\"label\":null}}");
}

TEST(patches_write_what_is_given)
{
    struct every x = {.given = 1 << NAME | 1 << COUNT | 1 << TAGS, .ratio = 5};
    CHECK_EMIT(&patch_shape, &x, 0, "{\"count\":0,\"name\":null,\"tags\":[]}");
    x.given = 0;
    CHECK_EMIT(&patch_shape, &x, 0, "{}");
}

TEST(bare_values_of_every_type)
{
    static const struct fumi_field bare[EVERY] = {
        FUMI_VALUE(struct every, flag, ""),
        FUMI_VALUE(struct every, count, ""),
        FUMI_VALUE(struct every, ratio, ""),
        FUMI_VALUE(struct every, name, ""),
        FUMI_VALUE(struct every, tags, ""),
        FUMI_VALUE(struct every, mode, "", .choices = modes),
        FUMI_VALUE(struct every, any, ""),
        FUMI_VALUE(struct every, json, ""),
        FUMI_VALUE(struct every, at, "", .shape = &point_shape),
        FUMI_VALUE(struct every, rows, "", .flags = FUMI_OMIT, .shape = &point_shape),
    };
    static const char *const want[EVERY] = {
        "true",
        "-9223372036854775808",
        "0.1",
        "\"A\\n\xE6\x97\xA5\"",
        "[\"a\",\"\\\"b\\\"\",null]",
        "\"words\"",
        "[1,{\"k\":1.50}]",
        "{\"raw\":1e2}",
        "{\"x\":7,\"y\":8,\"label\":\"\"}",
        "[{\"x\":1,\"y\":2,\"label\":\"p\"},{\"x\":-3,\"y\":0,\"label\":null}]",
    };
    struct fumi_arena a = {0};
    struct every x = full(&a), zero = {0};
    for (size_t i = 0; i < EVERY; i++) {
        struct fumi_shape s = {&bare[i], 1, sizeof(x), FUMI_NONE, FUMI_NONE, false};
        CHECK_EMIT(&s, &x, 0, want[i]);
    }
    struct fumi_shape rows = {&bare[ROWS], 1, sizeof(x), FUMI_NONE, FUMI_NONE, false};
    CHECK_EMIT(&rows, &zero, 0, "[]");
    fumi_arena_done(&a);
}

struct number {
    double d;
};
static const struct fumi_field number_fields[] = {FUMI_VALUE(struct number, d, "A number.")};
static const struct fumi_shape number_shape = FUMI_SHAPE(struct number, number_fields);

TEST(rows_of_bare_values)
{
    static const struct fumi_field fields[] = {
        FUMI_FIELD(struct every, rows, "n", "", .shape = &number_shape),
        FUMI_FIELD(struct every, flag, "last", "")};
    static const struct fumi_shape s = FUMI_SHAPE(struct every, fields);
    struct number numbers[] = {{1}, {2.5}, {-0.0}};
    struct every x = {.rows = {numbers, FUMI_COUNT(numbers)}};
    CHECK_EMIT(&s, &x, 0, "{\"n\":[1,2.5,-0],\"last\":false}");
}

TEST(numbers_that_are_not_finite)
{
    static const struct fumi_field fields[] = {
        FUMI_FIELD(struct every, rows, "n", "", .shape = &number_shape),
        FUMI_FIELD(struct every, ratio, "ratio", ""), FUMI_FIELD(struct every, flag, "last", "")};
    static const struct fumi_shape s = FUMI_SHAPE(struct every, fields);
    struct number numbers[] = {{1}, {(double)NAN}, {3}};
    struct every x = {.ratio = 1};
    x.rows = (struct fumi_list){numbers, FUMI_COUNT(numbers)};
    CHECK_EMIT(&number_shape, &numbers[1], -1, "null");
    CHECK_EMIT(&s, &x, -1, "{\"n\":[1,null,3],\"ratio\":1,\"last\":false}");
    numbers[1].d = 2;
    CHECK_EMIT(&s, &x, 0, "{\"n\":[1,2,3],\"ratio\":1,\"last\":false}");
    x.ratio = -(double)INFINITY;
    CHECK_EMIT(&s, &x, -1, "{\"n\":[1,2,3],\"ratio\":null,\"last\":false}");
}

TEST(nested_faults_are_told)
{
    static const struct fumi_field inner_fields[] = {FUMI_FIELD(struct number, d, "d", "")};
    static const struct fumi_shape inner = FUMI_SHAPE(struct number, inner_fields);
    struct outer {
        struct number in;
    } x = {{(double)INFINITY}};
    static const struct fumi_field fields[] = {
        FUMI_FIELD(struct outer, in, "in", "", .shape = &inner)};
    static const struct fumi_shape s = FUMI_SHAPE(struct outer, fields);
    CHECK_EMIT(&s, &x, -1, "{\"in\":{\"d\":null}}");
}

TEST(choices_that_do_not_exist)
{
    static const struct fumi_field fields[] = {
        FUMI_VALUE(struct every, mode, "", .choices = modes)};
    static const struct fumi_shape s = FUMI_SHAPE(struct every, fields);
    static const int wrong[] = {-1, 3, 4, INT32_MAX};
    for (size_t i = 0; i < FUMI_COUNT(wrong); i++) {
        struct every x = {.mode = wrong[i]};
        CHECK_EMIT(&s, &x, -1, "null");
    }
}

TEST(names_are_escaped)
{
    static const struct fumi_field fields[] = {FUMI_FIELD(struct every, count, "a\"b", "")};
    static const struct fumi_shape s = FUMI_SHAPE(struct every, fields);
    struct every x = {.count = 1};
    CHECK_EMIT(&s, &x, 0, "{\"a\\\"b\":1}");
}

TEST(no_shape_and_no_fields)
{
    static const struct fumi_shape none = {NULL, 0, 0, FUMI_NONE, FUMI_NONE, false};
    CHECK_EMIT(NULL, NULL, 0, "null");
    CHECK_EMIT(&none, "", 0, "{}");
}

/* What was written binds to the same struct again. */
TEST(round_trip)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct every x = full(&a), y = {0};
    x.tags.n = 2;
    ((struct point *)x.rows.items)[1].label = FUMI_STR("q");
    struct page first, second;
    CHECK_INT(emit(&first, &plain_shape, &x), 0);
    const struct fumi_val *v = fumi_parse(&a, fumi_buf_str(&first.buf), &e);
    CHECK(v);
    CHECK_INT(fumi_bind(&a, &plain_shape, v, &y, &e), 0);
    CHECK_INT(emit(&second, &plain_shape, &y), 0);
    CHECK(fumi_eq(fumi_buf_str(&first.buf), fumi_buf_str(&second.buf)));
    fumi_buf_done(&first.buf);
    fumi_buf_done(&second.buf);
    fumi_arena_done(&a);
}

TEST(full_buffers_stay_full)
{
    struct fumi_arena a = {0};
    struct every x = full(&a);
    for (size_t limit = 1; limit < sizeof(full_text) - 1; limit++) {
        struct fumi_buf buf = {.limit = limit};
        struct fumi_out o = {.buf = &buf};
        CHECK_INT(fumi_emit(&o, &plain_shape, &x), 0);
        CHECK(buf.full && buf.n <= limit);
        fumi_buf_done(&buf);
    }
    fumi_arena_done(&a);
}

TEST(brief_leaves_out_what_is_null)
{
    struct fumi_arena a = {0};
    struct every x = full(&a), zero = {0};
    CHECK_BRIEF(&plain_shape, &zero, 0,
                "{\"flag\":false,\"count\":0,\"ratio\":0,\"tags\":[],\"mode\":\"hybrid\","
                "\"at\":{\"x\":0,\"y\":0},\"rows\":[]}");
    CHECK_BRIEF(&nullable_shape, &zero, 0,
                "{\"flag\":false,\"count\":0,\"ratio\":0,\"mode\":\"hybrid\","
                "\"at\":{\"x\":0,\"y\":0}}");
    CHECK_BRIEF(&omit_shape, &zero, 0, "{\"mode\":\"hybrid\",\"at\":{\"x\":0,\"y\":0}}");
    CHECK_BRIEF(&plain_shape, &x, 0,
                "{\"flag\":true,\"count\":-9223372036854775808,\"ratio\":0.1,"
                "\"name\":\"A\\n\xE6\x97\xA5\",\"tags\":[\"a\",\"\\\"b\\\"\",null],"
                "\"mode\":\"words\",\"any\":[1,{\"k\":1.50}],\"json\":{\"raw\":1e2},"
                "\"at\":{\"x\":7,\"y\":8,\"label\":\"\"},"
                "\"rows\":[{\"x\":1,\"y\":2,\"label\":\"p\"},{\"x\":-3,\"y\":0}]}");
    fumi_arena_done(&a);
}

TEST(brief_leaves_out_details_and_what_is_sparse_and_empty)
{
    static const struct fumi_field sparse[] = EVERY_FIELDS(.flags = FUMI_SPARSE);
    static const struct fumi_shape sparse_shape = FUMI_SHAPE(struct every, sparse);
    static const struct fumi_field detail[] = EVERY_FIELDS(.flags = FUMI_DETAIL);
    static const struct fumi_shape detail_shape = FUMI_SHAPE(struct every, detail);
    struct fumi_arena a = {0};
    struct every x = full(&a), zero = {0};
    CHECK_BRIEF(&sparse_shape, &zero, 0, "{\"mode\":\"hybrid\",\"at\":{\"x\":0,\"y\":0}}");
    CHECK_EMIT(&sparse_shape, &zero, 0, empty_text);
    CHECK_BRIEF(&detail_shape, &x, 0, "{}");
    CHECK_EMIT(&detail_shape, &x, 0, full_text);
    zero.given = 1 << NAME | 1 << COUNT;
    CHECK_BRIEF(&patch_shape, &zero, 0, "{\"count\":0,\"name\":null}");
    fumi_arena_done(&a);
}

TEST(brief_rounds_and_is_always_an_object)
{
    static const struct {
        double d;
        const char *want;
    } rows[] = {
        {0.123456, "{\"value\":0.123}"}, {0.9996, "{\"value\":1}"},
        {-0.0001, "{\"value\":0}"},      {-1.2344, "{\"value\":-1.234}"},
        {1e300, "{\"value\":1e300}"},    {12345678.9, "{\"value\":12345678.9}"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK_BRIEF(&number_shape, &rows[i].d, 0, rows[i].want);
    double bad = (double)NAN;
    CHECK_BRIEF(&number_shape, &bad, -1, "{\"value\":null}");
    CHECK_BRIEF(NULL, NULL, 0, "{}");
}
