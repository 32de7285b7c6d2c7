#include "every_type.h"
#include "test.h"

static const char *even(struct fumi_str s)
{
    return s.n % 2 ? "must have an even number of bytes" : NULL;
}

static void check_shape(const struct fumi_shape *s, const char *want)
{
    struct fumi_err e = {0};
    int rc = fumi_shape_check(s, "table", &e);
    if (rc != (want ? -1 : 0) || strcmp(e.text, want ? want : "") != 0 ||
        e.code != (want ? FUMI_INTERNAL_ERROR : 0))
        TEST_FAIL("\n   got %d %s\n  want %s", rc, e.text, want);
}

TEST(good_tables)
{
    check_shape(NULL, NULL);
    check_shape(&point_shape, NULL);
    check_shape(&required_shape, NULL);
    check_shape(&patch_shape, NULL);
    check_shape(&strict_patch_shape, NULL);
    check_shape(&lenient_shape, NULL);
}

/* One field and the error for it. */
struct row {
    struct fumi_field f;
    const char *want; /* NULL: valid */
};

static void check_rows(const struct row *rows, size_t n, size_t given, size_t ignored)
{
    for (size_t i = 0; i < n; i++) {
        struct fumi_shape s = {&rows[i].f, 1, sizeof(struct every), given, ignored, false};
        check_shape(&s, rows[i].want);
    }
}
#define CHECK_ROWS(rows) check_rows(rows, FUMI_COUNT(rows), FUMI_NONE, FUMI_NONE)
#define CHECK_PATCH_ROWS(rows)                                                                     \
    check_rows(rows, FUMI_COUNT(rows), offsetof(struct every, given), FUMI_NONE)

#define F(...) FUMI_FIELD(struct every, __VA_ARGS__)
#define V(...) FUMI_VALUE(struct every, __VA_ARGS__)

TEST(every_type_with_a_good_default)
{
    static const struct row rows[] = {
        {F(flag, "f", "", .flags = FUMI_NULLABLE, .def = "true"), NULL},
        {F(count, "f", "", .flags = FUMI_NULLABLE, .min = 1, .max = 9, .def = "5"), NULL},
        {F(ratio, "f", "", .flags = FUMI_NULLABLE, .max = 1, .def = "0.5"), NULL},
        {F(name, "f", "", .def = "\"2026-01-31T09:30:00Z\"", .format = "date-time"), NULL},
        {F(name, "f", "", .def = "\"ab\"", .check = even), NULL},
        {F(name, "f", "", .flags = FUMI_NULLABLE, .def = "null"), NULL},
        {F(tags, "f", "", .def = "[\"a\"]", .max = 1), NULL},
        {F(mode, "f", "", .def = "\"words\"", .choices = modes), NULL},
        {F(any, "f", "", .def = "[]"), NULL},
        {F(json, "f", "", .flags = FUMI_OBJECT_ONLY, .def = "{}"), NULL},
        {F(at, "f", "", .def = "{\"x\":1}", .shape = &point_shape), NULL},
        {F(rows, "f", "", .def = "[{\"x\":1}]", .shape = &point_shape), NULL},
        {V(count, "", .def = "5"), NULL},
        {V(at, "", .def = "{\"x\":1}", .shape = &point_shape), NULL},
        {V(rows, "", .shape = &point_shape), NULL},
    };
    CHECK_ROWS(rows);
}

#define REFUSED "table: the default of f is invalid: "

TEST(every_type_with_a_bad_default)
{
    static const struct row rows[] = {
        {F(flag, "f", "", .def = "1"), REFUSED "f must be true or false"},
        {F(count, "f", "", .min = 1, .max = 9, .def = "10"), REFUSED "f must be 1 to 9"},
        {F(count, "f", "", .min = 1, .max = 9, .def = "0"), REFUSED "f must be 1 to 9"},
        {F(ratio, "f", "", .max = 1, .def = "1.5"), REFUSED "f must be 0 to 1"},
        {F(name, "f", "", .max = 2, .def = "\"abc\""), REFUSED "f must have at most 2 characters"},
        {F(name, "f", "", .def = "null"), REFUSED "f must be a string, not null"},
        {F(name, "f", "", .def = "\"x\"", .format = "uuid"), REFUSED "f must be a UUID"},
        {F(name, "f", "", .def = "\"x\"", .check = even),
         REFUSED "f must have an even number of bytes"},
        {F(tags, "f", "", .def = "[1]"), REFUSED "f[0] must be a string"},
        {F(mode, "f", "", .def = "\"x\"", .choices = modes),
         REFUSED "f must be one of hybrid, meaning, words"},
        {F(any, "f", "", .flags = FUMI_OBJECT_ONLY, .def = "[]"), REFUSED "f must be an object"},
        {F(json, "f", "", .flags = FUMI_OBJECT_ONLY, .def = "[]"), REFUSED "f must be an object"},
        {F(at, "f", "", .def = "{}", .shape = &point_shape), REFUSED "f.x is required"},
        {F(rows, "f", "", .def = "[{\"x\":[]}]", .shape = &point_shape),
         REFUSED "f[0].x must be an integer"},
        {V(count, "", .def = "[]"),
         "table: the default of the bare value is invalid: params must be an integer"},
        {F(count, "f", "", .flags = FUMI_NULLABLE, .def = "null"),
         "table: the default of f cannot be null"},
        {F(flag, "f", "", .def = "null"), "table: the default of f cannot be null"},
        {F(count, "f", "", .flags = FUMI_REQUIRED, .def = "1"),
         "table: f is required and has a default"},
    };
    CHECK_ROWS(rows);
}

TEST(defaults_that_are_not_json)
{
    static const char *const texts[] = {"", "five", "'x'", "1,2", "1],[2", "\"", "[1"};
    for (size_t i = 0; i < FUMI_COUNT(texts); i++) {
        struct fumi_err e = {0};
        struct fumi_field f = F(any, "f", "", .def = texts[i]);
        struct fumi_shape s = {&f, 1, sizeof(struct every), FUMI_NONE, FUMI_NONE, false};
        static const char want[] = "table: the default of f is not JSON: ";
        if (fumi_shape_check(&s, "table", &e) != -1 || strncmp(e.text, want, strlen(want)) != 0 ||
            e.code != FUMI_INTERNAL_ERROR)
            TEST_FAIL("%s: %s", texts[i], e.text);
    }
}

TEST(null_needs_an_empty_value)
{
    static const char want[] =
        "table: f is nullable and needs a default, because its type has no empty value";
    static const struct row rows[] = {
        {F(flag, "f", "", .flags = FUMI_NULLABLE), want},
        {F(count, "f", "", .flags = FUMI_NULLABLE), want},
        {F(ratio, "f", "", .flags = FUMI_NULLABLE | FUMI_REQUIRED), want},
        {F(mode, "f", "", .flags = FUMI_NULLABLE, .choices = modes), want},
        {F(mode, "f", "", .choices = modes), "table: f is an optional choice and needs a default"},
        {F(mode, "f", "", .flags = FUMI_REQUIRED, .choices = modes), NULL},
        {F(flag, "f", ""), NULL},
        {F(count, "f", ""), NULL},
        {F(ratio, "f", ""), NULL},
        {F(name, "f", "", .flags = FUMI_NULLABLE), NULL},
        {F(tags, "f", "", .flags = FUMI_NULLABLE), NULL},
        {F(any, "f", "", .flags = FUMI_NULLABLE), NULL},
        {F(json, "f", "", .flags = FUMI_NULLABLE), NULL},
        {F(at, "f", "", .flags = FUMI_NULLABLE, .shape = &point_shape), NULL},
        {F(rows, "f", "", .flags = FUMI_NULLABLE, .shape = &point_shape), NULL},
    };
    static const struct row patch[] = {
        {F(flag, "f", "", .flags = FUMI_NULLABLE), NULL},
        {F(count, "f", "", .flags = FUMI_NULLABLE), NULL},
        {F(ratio, "f", "", .flags = FUMI_NULLABLE), NULL},
        {F(mode, "f", "", .flags = FUMI_NULLABLE, .choices = modes), NULL},
        {F(mode, "f", "", .choices = modes), NULL},
    };
    CHECK_ROWS(rows);
    CHECK_PATCH_ROWS(patch);
}

TEST(rows_that_are_wrong)
{
    static const char *const twice[] = {"a", "b", "a", NULL};
    static const char *const none[] = {NULL};
    static const struct fumi_field bare[] = {V(count, "")};
    static const struct fumi_shape bare_shape = FUMI_SHAPE(struct every, bare);
    static const struct row rows[] = {
        {{.name = "", .type = FUMI_T_INT}, "table:  has an empty name"},
        {{.name = "f", .name_n = 2}, "table: f has a name_n that is not the length of its name"},
        {{.name = "f", .name_n = 0}, "table: f has a name_n that is not the length of its name"},
        {{.name = "f", .name_n = 1, .type = (enum fumi_type)(FUMI_T_TIME + 1)},
         "table: f has a type that does not exist"},
        {F(at, "f", ""), "table: f needs a shape"},
        {F(rows, "f", ""), "table: f needs a shape"},
        {F(at, "f", "", .shape = &bare_shape),
         "table: f has the shape of a bare value: use the type of the value instead"},
        {F(rows, "f", "", .shape = &bare_shape), NULL},
        {{.name = "f", .name_n = 1, .offset = sizeof(struct every) - 1, .type = FUMI_T_INT},
         "table: f lies outside its struct"},
        {{.name = "f", .name_n = 1, .offset = SIZE_MAX, .type = FUMI_T_INT},
         "table: f lies outside its struct"},
        {{.name = "f", .name_n = 1, .offset = sizeof(struct every) - 8, .type = FUMI_T_INT}, NULL},
        {{.name = "f",
          .name_n = 1,
          .offset = sizeof(struct every) - 8,
          .type = FUMI_T_OBJECT,
          .shape = &point_shape},
         "table: f lies outside its struct"},
        {F(count, "f", "", .min = 2, .max = 1), "table: f has a min above its max"},
        {F(name, "f", "", .min = -9, .max = -1), "table: f has a length below 0"},
        {F(flag, "f", "", .max = 1), "table: f has a min or max, which its type does not support"},
        {F(json, "f", "", .max = 1), "table: f has a min or max, which its type does not support"},
        {F(mode, "f", ""), "table: f needs choices"},
        {F(mode, "f", "", .choices = none), "table: f needs choices"},
        {F(mode, "f", "", .choices = twice), "table: f has a choice twice"},
        {F(name, "f", "", .choices = modes), "table: f has choices and is not an int"},
        {F(name, "f", "", .format = "date"), "table: f has an unknown format"},
        {F(name, "f", "", .format = "date-time"), NULL},
        {F(tags, "f", "", .format = "uuid"), NULL},
        {F(count, "f", "", .format = "uuid"),
         "table: f has a format or a check and is not a string"},
        {F(count, "f", "", .check = even), "table: f has a format or a check and is not a string"},
        {F(at, "f", "", .flags = FUMI_OBJECT_ONLY, .shape = &point_shape),
         "table: f is FUMI_OBJECT_ONLY, which its type does not support"},
        {F(any, "f", "", .flags = FUMI_OBJECT_ONLY), NULL},
        {F(name, "f", "", .flags = FUMI_LENIENT),
         "table: f is FUMI_LENIENT in a shape without `ignored`"},
    };
    CHECK_ROWS(rows);
}

TEST(rows_against_each_other)
{
    static const struct fumi_field twice[] = {F(count, "a", ""), F(flag, "b", ""),
                                              F(name, "a", "")};
    static const struct fumi_field late[] = {F(count, "a", "", .flags = FUMI_REQUIRED),
                                             F(flag, "b", ""),
                                             F(name, "c", "", .flags = FUMI_REQUIRED)};
    static const struct fumi_field beside[] = {F(count, "a", ""), V(name, "")};
    static const struct fumi_field ahead[] = {V(name, ""), F(count, "a", "")};
    static const struct {
        const struct fumi_shape s;
        const char *want;
    } rows[] = {
        {FUMI_SHAPE(struct every, twice), "table: a is declared twice"},
        {FUMI_PATCH_SHAPE(struct every, twice), "table: a is declared twice"},
        {FUMI_SHAPE(struct every, late), "table: c is required and follows the optional b"},
        {FUMI_SHAPE(struct every, beside),
         "table: the bare value has no name and is not the only row"},
        {FUMI_SHAPE(struct every, ahead),
         "table: the bare value has no name and is not the only row"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        check_shape(&rows[i].s, rows[i].want);
}

/* The rules for reading: a shape of results may violate them. */
TEST(a_shape_that_is_only_written)
{
    static const char *const choices[] = {"red", "green", NULL};
    static const struct fumi_field fields[] = {
        F(flag, "a", ""), F(name, "b", "", .flags = FUMI_REQUIRED),
        F(count, "c", "", .flags = FUMI_NULLABLE), F(mode, "d", "", .choices = choices)};
    static const struct fumi_field twice[] = {F(count, "a", ""), F(flag, "a", "")};
    const struct fumi_shape s = FUMI_SHAPE(struct every, fields);
    const struct fumi_shape bad = FUMI_SHAPE(struct every, twice);
    struct fumi_err e = {0};
    CHECK_INT(fumi_shape_check_result(&s, "table", &e), 0);
    CHECK_INT(fumi_shape_check_result(NULL, "table", &e), 0);
    CHECK_INT(fumi_shape_check_result(&bad, "table", &e), -1);
    CHECK_STR(fumi_str(e.text), "table: a is declared twice");
    CHECK_INT(fumi_shape_check(&s, "table", &e), -1);
}

enum { TOO_MANY = 65 };

TEST(more_fields_than_bits)
{
    static char names[TOO_MANY][4];
    struct fumi_field fields[TOO_MANY];
    for (size_t i = 0; i < TOO_MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "f%zu", i);
        fields[i] = (struct fumi_field){
            .name = names[i], .name_n = strlen(names[i]), .type = FUMI_T_BOOL};
    }
    struct fumi_shape s = {fields, TOO_MANY, sizeof(struct every), FUMI_NONE, FUMI_NONE, false};
    check_shape(&s, "table: 65 fields are more than 64");
    s.n--;
    check_shape(&s, NULL);
}

TEST(bits_of_patches)
{
    static const char want[] = "table: given and ignored must be members of type uint64_t";
    struct fumi_shape s = strict_patch_shape;
    s.given = sizeof(struct every);
    check_shape(&s, want);
    s.given = 4;
    check_shape(&s, want);
    s.given = FUMI_NONE;
    s.ignored = 0;
    check_shape(&s, want);
    s.given = 0;
    s.ignored = sizeof(struct every) - 4;
    check_shape(&s, want);
    s.ignored = 8;
    check_shape(&s, NULL);
}

enum { DEEP = 9 };

/* A chain of `depth` shapes, each a member of the one before it. */
static void check_chain(size_t depth, enum fumi_type type, const char *want)
{
    struct fumi_shape shapes[DEEP];
    struct fumi_field fields[DEEP];
    for (size_t i = 0; i < depth; i++) {
        bool last = i + 1 == depth;
        fields[i] = (struct fumi_field){.name = "in",
                                        .name_n = 2,
                                        .type = last ? FUMI_T_BOOL : type,
                                        .shape = last ? NULL : &shapes[i + 1]};
        shapes[i] = (struct fumi_shape){&fields[i], 1, 64, FUMI_NONE, FUMI_NONE, false};
    }
    check_shape(&shapes[0], want);
}

TEST(nesting)
{
    static const char want[] = "table.in.in.in.in.in.in.in.in: shapes are nested deeper than 8";
    static const char rows[] = "table.rows.rows.rows.rows.rows.rows.rows.rows: shapes are nested "
                               "deeper than 8";
    check_chain(8, FUMI_T_OBJECT, NULL);
    check_chain(8, FUMI_T_LIST, NULL);
    check_chain(9, FUMI_T_OBJECT, want);
    check_chain(9, FUMI_T_LIST, want);
    struct fumi_shape self = {NULL, 1, sizeof(struct every), FUMI_NONE, FUMI_NONE, false};
    struct fumi_field f = F(rows, "rows", "", .shape = &self);
    self.fields = &f;
    check_shape(&self, rows);
}

TEST(faults_of_nested_tables)
{
    static const struct fumi_field inner[] = {F(mode, "mode", "")};
    static const struct fumi_shape inner_shape = FUMI_SHAPE(struct every, inner);
    static const struct fumi_field outer[] = {F(rows, "rows", "", .shape = &inner_shape)};
    static const struct fumi_shape outer_shape = FUMI_SHAPE(struct every, outer);
    check_shape(&outer_shape, "table.rows: mode needs choices");
}
