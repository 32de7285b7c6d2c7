/* Members of type struct fumi_time in every use of a shape. */
#include "json_fixture.h"
#include "test.h"
#include "json/shape.h"

struct event {
    struct fumi_time at, until;
    uint64_t given, ignored;
};

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct event, at, "at", "Begin.", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct event, until, "until", "End.", .flags = FUMI_NULLABLE),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct event, fields);

static const struct fumi_field default_fields[] = {
    FUMI_FIELD(struct event, at, "at", "Begin.", .def = "\"2026-01-01T00:00:00Z\""),
};
static const struct fumi_shape default_shape = FUMI_SHAPE(struct event, default_fields);

static const struct fumi_field patch_fields[] = {
    FUMI_FIELD(struct event, until, "until", "End.", .flags = FUMI_NULLABLE | FUMI_LENIENT),
};
static const struct fumi_shape patch_shape = FUMI_LENIENT_PATCH_SHAPE(struct event, patch_fields);

static int bind(struct fumi_arena *a, const struct fumi_shape *s, const char *json,
                struct event *out, struct fumi_err *e)
{
    *out = (struct event){0};
    *e = (struct fumi_err){0};
    return fumi_bind(a, s, fumi_parse(a, fumi_str(json), e), out, e);
}

static void check_written(const struct event *from,
                          int (*emit)(struct fumi_out *, const struct fumi_shape *, const void *),
                          const char *want)
{
    struct fumi_buf buf = {0};
    CHECK_INT(emit(&(struct fumi_out){.buf = &buf}, &shape, from), 0);
    CHECK_STR(fumi_buf_str(&buf), want);
    fumi_buf_done(&buf);
}

TEST(a_time_is_read_in_any_zone)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    struct event v;
    CHECK_INT(bind(&a, &shape, "{\"at\":\"1970-01-01T01:00:00.5+01:00\"}", &v, &e), 0);
    CHECK(v.at.set && !v.until.set);
    CHECK_INT(v.at.ms, 500);
    CHECK_INT(bind(&a, &shape, "[\"1970-01-01T00:00:00Z\",null]", &v, &e), 0);
    CHECK(v.at.set && v.at.ms == 0 && !v.until.set);
    fumi_arena_done(&a);
}

TEST(invalid_times_are_refused)
{
    static const struct {
        const char *json, *text;
    } rows[] = {
        {"{}", "at is required"},
        {"{\"at\":null}", "at must be a string, not null"},
        {"{\"at\":5}", "at must be a string"},
        {"{\"at\":\"\"}", "at has an invalid time format (expected ISO8601 UTC): use one such as "
                          "2026-01-31T09:30:00Z"},
        {"{\"at\":\"2026-01-31\"}", "at has an invalid time format (expected ISO8601 UTC): use one "
                                    "such as 2026-01-31T09:30:00Z"},
    };
    struct fumi_arena a = {0};
    struct fumi_err e;
    struct event v;
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        CHECK_INT(bind(&a, &shape, rows[i].json, &v, &e), -1);
        CHECK_STR(fumi_str(e.text), rows[i].text);
    }
    fumi_arena_done(&a);
}

/* Only in tools. */
TEST(a_date_is_a_day_of_utc)
{
    static const struct fumi_field days[] = {
        FUMI_FIELD(struct event, at, "at", "Begin."),
        FUMI_FIELD(struct event, until, "until", "End.", .flags = FUMI_DAY_END),
    };
    static const struct fumi_shape s = FUMI_SHAPE(struct event, days);
    static const char *const wrong[] = {"2026-02-30", "2026-1-31", "2026-01-31 ", "2026-01", "1"};
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct event v = {0};
    CHECK_INT(fumi_bind_input(
                  &a, &s, fumi_parse(&a, FUMI_STR("[\"1970-01-02\",\"1970-01-02\"]"), &e), &v, &e),
              0);
    CHECK_INT(v.at.ms, 86400000);
    CHECK_INT(v.until.ms, 2 * 86400000);
    CHECK_INT(
        fumi_bind_input(&a, &s, fumi_parse(&a, FUMI_STR("{\"until\":\"9999-12-31\"}"), &e), &v, &e),
        0);
    CHECK_INT(v.until.ms, 253402300799999);
    for (size_t i = 0; i < FUMI_COUNT(wrong); i++) {
        struct fumi_str json = fumi_fmt(&a, "[\"%s\"]", wrong[i]);
        CHECK_INT(fumi_bind_input(&a, &s, fumi_parse(&a, json, &e), &v, &e), -1);
    }
    CHECK_INT(bind(&a, &s, "[\"1970-01-02\"]", &v, &e), -1);
    fumi_arena_done(&a);
}

TEST(a_default_is_a_time)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct event v;
    CHECK_INT(fumi_shape_check(&default_shape, "default", &e), 0);
    CHECK_INT(bind(&a, &default_shape, "{}", &v, &e), 0);
    CHECK(v.at.set);
    CHECK_INT(v.at.ms, 1767225600000);
    fumi_arena_done(&a);
}

TEST(a_patch_tells_absent_null_and_wrong_apart)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    struct event v;
    CHECK_INT(bind(&a, &patch_shape, "{}", &v, &e), 0);
    CHECK(!v.given && !v.ignored);
    CHECK_INT(bind(&a, &patch_shape, "{\"until\":null}", &v, &e), 0);
    CHECK(v.given == 1 && !v.until.set);
    CHECK_INT(bind(&a, &patch_shape, "{\"until\":7}", &v, &e), 0);
    CHECK(!v.given && v.ignored == 1);
    CHECK_INT(bind(&a, &patch_shape, "{\"until\":\"soon\"}", &v, &e), -1);
    fumi_arena_done(&a);
}

TEST(a_time_is_written_in_utc_and_none_as_null)
{
    const struct event v = {.at = {1, true}};
    check_written(&v, fumi_emit, "{\"at\":\"1970-01-01T00:00:00.001Z\",\"until\":null}");
    check_written(&v, fumi_emit_compact, "{\"at\":\"1970-01-01T00:00Z\"}");
    check_written(&v, fumi_emit_params, "{\"at\":\"1970-01-01T00:00:00.001Z\"}");
}

TEST(the_schema_is_a_string_with_a_format)
{
    struct fumi_buf buf = {0};
    fumi_schema_field(&(struct fumi_out){.buf = &buf}, &fields[1]);
    CHECK_STR(fumi_buf_str(&buf),
              "{\"type\":[\"string\",\"null\"],\"description\":\"End.\",\"format\":\"date-time\"}");
    fumi_buf_done(&buf);
}
