/* Shapes: one table per struct drives binding, checking, defaults, writing and JSON Schema.
 *
 * The C type of a member determines how it is read and written, so a table always agrees with its
 * struct. Tables are static const: all functions here may be called from any thread. */
#ifndef FUMI_JSON_SHAPE_H
#define FUMI_JSON_SHAPE_H

#include "../base/clock.h"
#include "../json/json.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fumi_type {
    FUMI_T_BOOL,   /* bool                                                       */
    FUMI_T_INT,    /* int64_t                                                    */
    FUMI_T_REAL,   /* double                                                     */
    FUMI_T_STR,    /* struct fumi_str                                            */
    FUMI_T_STRS,   /* struct fumi_strs                                           */
    FUMI_T_CHOICE, /* int: index into .choices                                   */
    FUMI_T_ANY,    /* const struct fumi_val *: any value, as parsed              */
    FUMI_T_JSON,   /* struct fumi_json: any value, as compact text               */
    FUMI_T_OBJECT, /* a nested struct, described by .shape                       */
    FUMI_T_LIST,   /* struct fumi_list: an array of structs, described by .shape */
    FUMI_T_TIME,   /* struct fumi_time: a string with an RFC 3339 time           */
};

enum {
    FUMI_REQUIRED = 1,
    FUMI_NULLABLE = 2,
    FUMI_OMIT = 4,         /* writing: omitted if empty */
    FUMI_OBJECT_ONLY = 8,  /* FUMI_T_ANY, FUMI_T_JSON: must be an object */
    FUMI_LENIENT = 16,     /* patches: a value of the wrong type is ignored: see `ignored` */
    FUMI_EMPTY = 32,       /* a required string may be empty */
    FUMI_DETAIL = 64,      /* omitted from tool results and from the input schema of tools */
    FUMI_SPARSE = 128,     /* omitted from tool results if empty: 0, false, no items, no members */
    FUMI_NULL_KEEPS = 256, /* patches: null is treated as absent */
    FUMI_DAY_END = 512,    /* FUMI_T_TIME: where a date is accepted, it means the end of that day */
    FUMI_FLAT = 1024,      /* a patch: tools also take its members beside it, but not those with
                              FUMI_NESTED */
    FUMI_NESTED = 2048,
};

struct fumi_list {
    void *items;
    size_t n;
};

struct fumi_shape;

struct fumi_field {
    const char *name; /* in JSON; NULL: the JSON of the struct is this value alone (FUMI_VALUE) */
    size_t name_n;
    const char *help; /* one sentence, the description in schemas; NULL: none */
    size_t offset;
    enum fumi_type type;
    unsigned flags;
    int64_t min, max;           /* of the value, its characters or items; equal: no limits */
    const char *def;            /* the default, as JSON; NULL: none */
    const char *tool_def;       /* the default in tools; NULL: def; set only together with def or
                                   FUMI_REQUIRED, which tools then do not require */
    const char *format;         /* "date-time" or "uuid"; NULL: any */
    const char *const *choices; /* terminated by NULL */
    const struct fumi_shape *shape;
    /* For strings: returns NULL if the string is valid, otherwise what is wrong: "must ..." */
    const char *(*check)(struct fumi_str);
};

/* A patch is a shape that distinguishes an absent member from null. */
struct fumi_shape {
    const struct fumi_field *fields;
    size_t n, size; /* fields, at most 64; bytes of the struct */
    /* Of a patch: the offset of a uint64_t in which bit i is set if field i was present. */
    size_t given; /* FUMI_NONE: not a patch */
    /* Of a patch with FUMI_LENIENT fields: the same for fields whose value was ignored. */
    size_t ignored; /* FUMI_NONE: there are none */
    bool open;      /* unknown members and surplus positional values are ignored, not errors */
};
#define FUMI_NONE ((size_t)-1)

#ifdef __cplusplus
} /* extern "C" */
#include "../json/shape_cxx.h"
extern "C" {
#else
#define FUMI_TYPE_OF(T, member)                                                                    \
    _Generic(((T *)0)->member,                                                                     \
        bool: FUMI_T_BOOL,                                                                         \
        int64_t: FUMI_T_INT,                                                                       \
        double: FUMI_T_REAL,                                                                       \
        struct fumi_str: FUMI_T_STR,                                                               \
        struct fumi_strs: FUMI_T_STRS,                                                             \
        int: FUMI_T_CHOICE,                                                                        \
        const struct fumi_val *: FUMI_T_ANY,                                                       \
        struct fumi_json: FUMI_T_JSON,                                                             \
        struct fumi_list: FUMI_T_LIST,                                                             \
        struct fumi_time: FUMI_T_TIME,                                                             \
        default: FUMI_T_OBJECT)

/* FUMI_FIELD(struct point, x, "x", "The x coordinate.", .flags = FUMI_REQUIRED, .max = 9) */
#define FUMI_FIELD(T, member, wire, ...)                                                           \
    {                                                                                              \
        .name = (wire), .name_n = sizeof(wire) - 1, .offset = offsetof(T, member),                 \
        .type = FUMI_TYPE_OF(T, member), .help = __VA_ARGS__                                       \
    }

/* The only field of a shape whose JSON is the value of this member instead of an object: for a
 * method whose result is a bare number, or that takes its params as one value. */
#define FUMI_VALUE(T, member, ...)                                                                 \
    {                                                                                              \
        .name = NULL, .offset = offsetof(T, member), .type = FUMI_TYPE_OF(T, member),              \
        .help = __VA_ARGS__                                                                        \
    }

/* `.member = value` in a form that is also valid in C++ before C++20:
 * FUMI_FIELD(struct point, x, "x", "The x coordinate.", FUMI_SET(flags, FUMI_REQUIRED)) */
#define FUMI_SET(member, value) .member = (value)
#endif

#define FUMI_SHAPE(T, table)                                                                       \
    {                                                                                              \
        (table), FUMI_COUNT(table), sizeof(T), FUMI_NONE, FUMI_NONE, false                         \
    }
#define FUMI_OPEN_SHAPE(T, table)                                                                  \
    {                                                                                              \
        (table), FUMI_COUNT(table), sizeof(T), FUMI_NONE, FUMI_NONE, true                          \
    }
#define FUMI_PATCH_SHAPE(T, table)                                                                 \
    {                                                                                              \
        (table), FUMI_COUNT(table), sizeof(T), offsetof(T, given), FUMI_NONE, false                \
    }
#define FUMI_LENIENT_PATCH_SHAPE(T, table)                                                         \
    {                                                                                              \
        (table), FUMI_COUNT(table), sizeof(T), offsetof(T, given), offsetof(T, ignored), false     \
    }

/* Reads the params v into the struct `into`, which must be zeroed. v is an object, an array of
 * positional params, or NULL for absent params, which is the same as {}. Strings in the struct are
 * slices of the message or of the arena. Returns -1 at the first error, with FUMI_INVALID_PARAMS
 * and a sentence that begins with the path of the field ("patch.title") in *e; `into` is
 * unspecified then. s == NULL: the method takes no params, and any are an error. */
int fumi_bind(struct fumi_arena *a, const struct fumi_shape *s, const struct fumi_val *v,
              void *into, struct fumi_err *e);

/* The same for the arguments of a tool: defaults are those of tools (tool_def), and a time may be a
 * date, which means the begin of that day in UTC (FUMI_DAY_END: its end). */
int fumi_bind_input(struct fumi_arena *a, const struct fumi_shape *s, const struct fumi_val *v,
                    void *into, struct fumi_err *e);

/* The same for the result of a call, in a client. v is an object or the bare value of FUMI_VALUE,
 * never positional. Null is treated as absent where a member is not required, because fumi_emit
 * writes a missing string as null; a required string may be empty. An unknown member is an error
 * unless the shape is open. s == NULL: every result is accepted and none is stored. */
int fumi_bind_result(struct fumi_arena *a, const struct fumi_shape *s, const struct fumi_val *v,
                     void *into, struct fumi_err *e);

/* Writes the struct. Returns -1 if a value cannot be expressed in JSON (a number that is not
 * finite, an index that is not a choice); null is written in its place. s == NULL: writes null. */
int fumi_emit(struct fumi_out *o, const struct fumi_shape *s, const void *from);

/* The same for the params of a call, in a client: omits strings and values whose pointer is NULL.
 * Numbers and booleans are always written, except for FUMI_OMIT and in patches. s must not be NULL.
 */
int fumi_emit_params(struct fumi_out *o, const struct fumi_shape *s, const void *from);

/* The same for the result of a tool, with as few tokens as possible. Always writes an object: a
 * bare value becomes its member "value", and s == NULL gives {}. Omits nulls, empty lists that are
 * FUMI_NULLABLE, FUMI_DETAIL members, and empty FUMI_SPARSE members, among them structs without a
 * member to write; rounds numbers to three decimals, and times down to the minute. */
int fumi_emit_compact(struct fumi_out *o, const struct fumi_shape *s, const void *from);

/* The input schema of a tool: fumi_schema without null where it only means absent, without limits
 * (the error of a call that exceeds one states it), and without FUMI_DETAIL members, which are
 * accepted nevertheless. */
void fumi_schema_input(struct fumi_out *o, const struct fumi_shape *s);

/* The output schema of a tool, for what fumi_emit_compact writes: only the names and types of the
 * members, without those of nested objects and list items. Nothing is required, so that an error
 * object in place of the result is valid too. */
void fumi_schema_compact(struct fumi_out *o, const struct fumi_shape *s);

/* JSON Schema 2020-12 of a shape, or of one field of it, without "$schema". */
void fumi_schema(struct fumi_out *o, const struct fumi_shape *s);
void fumi_schema_field(struct fumi_out *o, const struct fumi_field *f);

/* Check a table. Return -1, with FUMI_INTERNAL_ERROR and a sentence in *e, if it has an error: a
 * duplicate name, a default that is not JSON or violates the rules of its field, a nested field
 * without a shape, a choice without choices, an unknown format, more than 64 fields, or shapes
 * nested deeper than 8. fumi_shape_check is for shapes that are read. It also refuses a required
 * field after an optional one and, outside patches, an optional choice or a nullable bool, int,
 * real or choice without a default. fumi_shape_check_result is for shapes that are only written.
 * `where` names the table in the sentence. s == NULL: valid. */
int fumi_shape_check(const struct fumi_shape *s, const char *where, struct fumi_err *e);
int fumi_shape_check_result(const struct fumi_shape *s, const char *where, struct fumi_err *e);

#ifdef __cplusplus
}
#endif

#endif
