/* For the tests of shapes: a struct with a member of every type, and tables for it. */
#ifndef FUMI_TEST_EVERY_H
#define FUMI_TEST_EVERY_H

#include "json/shape.h"

struct point {
    int64_t x, y;
    struct fumi_str label;
};

struct every {
    uint64_t given, ignored;
    bool flag;
    int64_t count;
    double ratio;
    struct fumi_str name;
    struct fumi_strs tags;
    int mode;
    const struct fumi_val *any;
    struct fumi_json json;
    struct point at;
    struct fumi_list rows;
};
enum { FLAG, COUNT, RATIO, NAME, TAGS, MODE, ANY, JSON, AT, ROWS, EVERY };

static const char *const modes[] = {"hybrid", "meaning", "words", NULL};

static const struct fumi_field point_fields[] = {
    FUMI_FIELD(struct point, x, "x", "Across.", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct point, y, "y", "Up.", .min = -9, .max = 9),
    FUMI_FIELD(struct point, label, "label", "Its name.", .def = "\"here\""),
};
static const struct fumi_shape point_shape = FUMI_SHAPE(struct point, point_fields);

#define EVERY_FIELDS(...)                                                                          \
    {                                                                                              \
        [FLAG] = FUMI_FIELD(struct every, flag, "flag", "A bool.", __VA_ARGS__),                   \
        [COUNT] = FUMI_FIELD(struct every, count, "count", "An int.", __VA_ARGS__),                \
        [RATIO] = FUMI_FIELD(struct every, ratio, "ratio", "A real.", __VA_ARGS__),                \
        [NAME] = FUMI_FIELD(struct every, name, "name", "A str.", __VA_ARGS__),                    \
        [TAGS] = FUMI_FIELD(struct every, tags, "tags", "Some strs.", __VA_ARGS__),                \
        [MODE] = FUMI_FIELD(struct every, mode, "mode", "A choice.", __VA_ARGS__,                  \
                            .choices = modes),                                                     \
        [ANY] = FUMI_FIELD(struct every, any, "any", "Any.", __VA_ARGS__),                         \
        [JSON] = FUMI_FIELD(struct every, json, "json", "Json.", __VA_ARGS__),                     \
        [AT] = FUMI_FIELD(struct every, at, "at", "A point.", __VA_ARGS__, .shape = &point_shape), \
        [ROWS] = FUMI_FIELD(struct every, rows, "rows", "Points.", __VA_ARGS__,                    \
                            .shape = &point_shape),                                                \
    }

/* The same members with each of the flags, and as patches. */
static const struct fumi_field plain_fields[] = EVERY_FIELDS(.flags = 0);
static const struct fumi_field required_fields[] = EVERY_FIELDS(.flags = FUMI_REQUIRED);
static const struct fumi_field nullable_fields[] = EVERY_FIELDS(.flags = FUMI_NULLABLE);
static const struct fumi_field lenient_fields[] = EVERY_FIELDS(.flags = FUMI_LENIENT);
static const struct fumi_shape plain_shape = FUMI_SHAPE(struct every, plain_fields);
static const struct fumi_shape open_shape = FUMI_OPEN_SHAPE(struct every, plain_fields);
static const struct fumi_shape required_shape = FUMI_SHAPE(struct every, required_fields);
static const struct fumi_shape nullable_shape = FUMI_SHAPE(struct every, nullable_fields);
static const struct fumi_shape patch_shape = FUMI_PATCH_SHAPE(struct every, nullable_fields);
static const struct fumi_shape strict_patch_shape = FUMI_PATCH_SHAPE(struct every, plain_fields);
static const struct fumi_shape lenient_shape = FUMI_LENIENT_PATCH_SHAPE(struct every,
                                                                        lenient_fields);

/* A value of each type, as JSON. */
static const char *const every_value[EVERY] = {
    [FLAG] = "true",
    [COUNT] = "7",
    [RATIO] = "1.25",
    [NAME] = "\"Ann\"",
    [TAGS] = "[\"a\",\"b\"]",
    [MODE] = "\"meaning\"",
    [ANY] = "[1,{\"k\":null}]",
    [JSON] = "{ \"k\" : [ 1.50 , \"v w\" ] }",
    [AT] = "{\"x\":1,\"y\":-2}",
    [ROWS] = "[{\"x\":5},{\"x\":6,\"label\":\"six\"}]",
};
static const char *const every_name[EVERY] = {"flag", "count", "ratio", "name", "tags",
                                              "mode", "any",   "json",  "at",   "rows"};

#endif
