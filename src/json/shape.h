/* Shapes: one table per struct drives binding, checking, defaults, writing and JSON Schema.
 *
 * The member's C type decides how it is read and written, so table and struct cannot disagree. */
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
    FUMI_T_OBJECT, /* a nested struct with a .shape of its own                   */
    FUMI_T_LIST,   /* struct fumi_list: rows, each of .shape                     */
    FUMI_T_TIME,   /* struct fumi_time: a string with an RFC 3339 time           */
};

enum {
    FUMI_REQUIRED = 1,
    FUMI_NULLABLE = 2,
    FUMI_OMIT = 4,        /* writing: dropped when empty */
    FUMI_OBJECT_ONLY = 8, /* FUMI_T_ANY, FUMI_T_JSON: must be an object */
    FUMI_LENIENT = 16, /* patches: a value of the wrong type is ignored, its bit in `ignored` set */
    FUMI_EMPTY = 32,   /* a required string may be empty */
    FUMI_DETAIL = 64,  /* left out of tool answers, and of what tools say that they take */
    FUMI_SPARSE = 128, /* left out of tool answers when it is empty: 0, false, no items */
    FUMI_NULL_KEEPS = 256, /* patches: null changes nothing, as if the member were absent */
};

struct fumi_list {
    void *items;
    size_t n;
};

struct fumi_shape;

struct fumi_field {
    const char *name; /* on the wire; NULL: the struct is this value itself (FUMI_VALUE) */
    size_t name_n;
    const char *help; /* one sentence for schemas */
    size_t offset;
    enum fumi_type type;
    unsigned flags;
    int64_t min, max;           /* value, characters or items; equal: any */
    const char *def;            /* default, written as JSON */
    const char *format;         /* "date-time" or "uuid" */
    const char *const *choices; /* NULL at the end */
    const struct fumi_shape *shape;
    const char *(*check)(struct fumi_str); /* strings: NULL, or what is wrong: "must ..." */
};

struct fumi_shape {
    const struct fumi_field *fields;
    size_t n, size;
    size_t given;   /* patches: offset of a uint64_t, bit per field; else FUMI_NONE */
    size_t ignored; /* patches with FUMI_LENIENT fields: the same for those; else FUMI_NONE */
    bool open;      /* unknown members and further positional elements are skipped, not refused */
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

/* FUMI_FIELD(struct point, x, "x", "Where it lies.", .flags = FUMI_REQUIRED, .max = 9) */
#define FUMI_FIELD(T, member, wire, ...)                                                           \
    {                                                                                              \
        .name = (wire), .name_n = sizeof(wire) - 1, .offset = offsetof(T, member),                 \
        .type = FUMI_TYPE_OF(T, member), .help = __VA_ARGS__                                       \
    }

/* The only row of a shape whose JSON is not an object but the value of this member: a method that
 * answers with a bare number, or takes its params whole. */
#define FUMI_VALUE(T, member, ...)                                                                 \
    {                                                                                              \
        .name = NULL, .offset = offsetof(T, member), .type = FUMI_TYPE_OF(T, member),              \
        .help = __VA_ARGS__                                                                        \
    }

/* `.member = value` in a form that C++ before C++20 understands too:
 * FUMI_FIELD(struct point, x, "x", "Where it lies.", FUMI_SET(flags, FUMI_REQUIRED)) */
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

/* Reads v (an object, an array, or NULL for absent, which is as {}) into the zeroed struct `into`.
 * Strings are slices of the message or of the arena. -1: FUMI_INVALID_PARAMS in *e, with a
 * sentence that begins with the wire name of the field, path and all ("patch.title"). The first
 * fault ends it. s == NULL: takes no params, and refuses any. */
int fumi_bind(struct fumi_arena *a, const struct fumi_shape *s, const struct fumi_val *v,
              void *into, struct fumi_err *e);

/* The same for the result of a call, in the client: an object, or the bare value of FUMI_VALUE, but
 * no list of positions. Where a member is not required, null is as if it were absent, because that
 * is how fumi_emit writes a string that there is not; a required string may be empty. A member that
 * the shape does not know is a fault, unless the shape is open. s == NULL: anything fits. */
int fumi_bind_result(struct fumi_arena *a, const struct fumi_shape *s, const struct fumi_val *v,
                     void *into, struct fumi_err *e);

/* Writes the struct. -1 when JSON cannot say it (a number that is not finite, a choice that does
 * not exist): the text has null in its place. s == NULL: writes null. */
int fumi_emit(struct fumi_out *o, const struct fumi_shape *s, const void *from);

/* The same for the params of a call, in the client: strings and values that there are not are left
 * out. Numbers and booleans are always written, but for FUMI_OMIT and in patches. */
int fumi_emit_params(struct fumi_out *o, const struct fumi_shape *s, const void *from);

/* The same for an agent, whose every token counts: always an object (a bare value becomes its
 * member "value", no shape makes it empty), without nulls, without empty lists where the list is
 * optional, without what is FUMI_DETAIL or FUMI_SPARSE and empty, numbers with three decimals. */
int fumi_emit_compact(struct fumi_out *o, const struct fumi_shape *s, const void *from);

/* What a tool takes: as fumi_schema, but without null where that only means absent, without limits,
 * which the answer tells whoever passes them, and without what is FUMI_DETAIL, which is still
 * taken. What fumi_emit_compact answers: the names and types of its members and of those of its
 * rows, and no more, so that an error that stands in its place agrees with it, too. */
void fumi_schema_input(struct fumi_out *o, const struct fumi_shape *s);
void fumi_schema_compact(struct fumi_out *o, const struct fumi_shape *s);

/* JSON Schema 2020-12 of a shape (as a whole) and of one field of it. No "$schema" member. */
void fumi_schema(struct fumi_out *o, const struct fumi_shape *s);
void fumi_schema_field(struct fumi_out *o, const struct fumi_field *f);

/* -1 and a sentence in *e (FUMI_INTERNAL_ERROR) when a table is wrong: a name twice, a default that
 * is not JSON or breaks its own limits, a nested field without a shape, a choice without choices,
 * an unknown format, a patch with more than 64 fields, shapes nested deeper than 8. The first
 * function checks a shape that is read and also refuses a required field after an optional one, and
 * outside patches an optional choice, or a nullable bool, int, real or choice, without a default;
 * a shape that is only written (the result of a method) need not follow these rules. `where` names
 * the table in the sentence. */
int fumi_shape_check(const struct fumi_shape *s, const char *where, struct fumi_err *e);
int fumi_shape_check_result(const struct fumi_shape *s, const char *where, struct fumi_err *e);

#ifdef __cplusplus
}
#endif

#endif
