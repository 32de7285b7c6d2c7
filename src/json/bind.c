/* Binding reads the members of an object once, in the order of the message. The field after the one
 * that matched last is compared first, so a peer that sends members in the order of the table costs
 * one comparison per member. The path of a field is a list on the stack (struct bind_path), which
 * becomes text only for an error. */
#include "json/bind.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "base/uuid.h"

#include <assert.h>

typedef int read_fn(const struct bind_reader *r, const struct fumi_field *f,
                    const struct fumi_val *v, void *to);
static read_fn *const readers[];

static int bind(const struct bind_reader *r, const struct fumi_shape *s, const struct fumi_val *v,
                char *into);

static bool is_time(struct fumi_str s)
{
    int64_t ms;
    return fumi_time_read(s, &ms);
}

static const struct {
    const char *name;
    bool (*fits)(struct fumi_str s);
    const char *what;
} formats[] = {
    {"date-time", is_time,
     "has an invalid time format (expected ISO8601 UTC): use one such as 2026-01-31T09:30:00Z"},
    {"uuid", fumi_is_uuid, "must be a UUID"},
};

static size_t find_format(const char *name)
{
    size_t i = 0;
    while (i < FUMI_COUNT(formats) && strcmp(name, formats[i].name) != 0)
        i++;
    return i;
}

bool bind_knows_format(const char *format)
{
    return find_format(format) < FUMI_COUNT(formats);
}

static const char *format_fault(const char *format, struct fumi_str s)
{
    size_t i = format ? find_format(format) : FUMI_COUNT(formats);
    return i == FUMI_COUNT(formats) || formats[i].fits(s) ? NULL : formats[i].what;
}

/* Checks format and check function for a string field, or for an item of a list of strings. */
static int check_text(const struct bind_reader *r, const struct fumi_field *f, size_t row,
                      struct fumi_str s)
{
    const char *what = format_fault(f->format, s);
    if (!what && f->check)
        what = f->check(s);
    return what ? bind_fault(r, f, row, "%s", what) : 0;
}

static bool count_fits(const struct fumi_field *f, size_t n)
{
    return f->min == f->max || ((int64_t)n >= f->min && (int64_t)n <= f->max);
}

/* A character has one to four bytes: characters are only counted if the number of bytes does not
 * decide. */
static bool length_fits(const struct fumi_field *f, struct fumi_str s)
{
    if (f->min == f->max || ((int64_t)s.n <= f->max && (int64_t)((s.n + 3) / 4) >= f->min))
        return true;
    return count_fits(f, fumi_utf8_count(s));
}

static int read_bool(const struct bind_reader *r, const struct fumi_field *f,
                     const struct fumi_val *v, void *to)
{
    if (!fumi_is_bool(v))
        return bind_wrong_type(r, f, v);
    *(bool *)to = fumi_is(v, FUMI_TRUE);
    return 0;
}

static int wrong_int(const struct bind_reader *r, const struct fumi_field *f,
                     const struct fumi_val *v)
{
    double d;
    if (!fumi_is(v, FUMI_NUMBER) || (fumi_real(v, &d) && d > -0x1p63 && d < 0x1p63))
        return bind_wrong_type(r, f, v);
    return bind_fault(r, f, BIND_NO_ROW, "must be an integer of at most 64 bits");
}

/* Stores the number before the limits are checked: after an error the struct is unspecified. A
 * value of the wrong type, which a lenient field ignores, is not stored. */
static int read_int(const struct bind_reader *r, const struct fumi_field *f,
                    const struct fumi_val *v, void *to)
{
    int64_t *i = to;
    if (!fumi_int(v, i))
        return wrong_int(r, f, v);
    if (f->min != f->max && (*i < f->min || *i > f->max))
        return bind_wrong_value(r, f);
    return 0;
}

static bool real_fits(const struct fumi_field *f, double d)
{
    if (f->min == f->max)
        return true;
    return (f->min == INT64_MIN || d >= (double)f->min) &&
           (f->max == INT64_MAX || d <= (double)f->max);
}

static int read_real(const struct bind_reader *r, const struct fumi_field *f,
                     const struct fumi_val *v, void *to)
{
    double *d = to;
    if (!fumi_is(v, FUMI_NUMBER))
        return bind_wrong_type(r, f, v);
    if (!fumi_real(v, d))
        return bind_fault(r, f, BIND_NO_ROW, "is too large for a number");
    return real_fits(f, *d) ? 0 : bind_wrong_value(r, f);
}

static int read_str(const struct bind_reader *r, const struct fumi_field *f,
                    const struct fumi_val *v, void *to)
{
    if (!fumi_is(v, FUMI_STRING))
        return bind_wrong_type(r, f, v);
    struct fumi_str s = fumi_text(r->a, v);
    if (s.n == 0 && (f->flags & (FUMI_REQUIRED | FUMI_EMPTY)) == FUMI_REQUIRED && !r->result)
        return bind_fault(r, f, BIND_NO_ROW, "is required");
    if (!length_fits(f, s))
        return bind_wrong_count(r, f, "character");
    if ((f->format || f->check) && check_text(r, f, BIND_NO_ROW, s))
        return BIND_FAULT;
    *(struct fumi_str *)to = s;
    return 0;
}

static int check_strs(const struct bind_reader *r, const struct fumi_field *f,
                      const struct fumi_val *v, size_t *n)
{
    if (!fumi_is(v, FUMI_ARRAY))
        return bind_wrong_type(r, f, v);
    *n = 0;
    for (const struct fumi_val *i = fumi_first(v); i; i = fumi_after(v, i), ++*n) {
        if (!fumi_is(i, FUMI_STRING)) {
            bind_fault(r, f, *n, "must be a string%s", bind_not_null(i));
            return BIND_WRONG_TYPE;
        }
    }
    return count_fits(f, *n) ? 0 : bind_wrong_count(r, f, "item");
}

static int read_strs(const struct bind_reader *r, const struct fumi_field *f,
                     const struct fumi_val *v, void *to)
{
    struct fumi_strs out = {0};
    int rc = check_strs(r, f, v, &out.n);
    if (rc || out.n == 0)
        return rc;
    out.items = fumi_alloc(r->a, out.n * sizeof(*out.items));
    for (size_t i = 0; i < out.n; i++) {
        out.items[i] = fumi_text(r->a, v + 1 + i);
        if (check_text(r, f, i, out.items[i]))
            return BIND_FAULT;
    }
    *(struct fumi_strs *)to = out;
    return 0;
}

static int wrong_choice(const struct bind_reader *r, const struct fumi_field *f,
                        const struct fumi_val *v)
{
    int rc = bind_wrong_type(r, f, v);
    return fumi_is(v, FUMI_STRING) ? BIND_FAULT : rc;
}

static int read_choice(const struct bind_reader *r, const struct fumi_field *f,
                       const struct fumi_val *v, void *to)
{
    for (int i = 0; f->choices[i]; i++) {
        if (fumi_text_is(v, fumi_str(f->choices[i]))) {
            *(int *)to = i;
            return 0;
        }
    }
    return wrong_choice(r, f, v);
}

static int read_any(const struct bind_reader *r, const struct fumi_field *f,
                    const struct fumi_val *v, void *to)
{
    if ((f->flags & FUMI_OBJECT_ONLY) && !fumi_is(v, FUMI_OBJECT))
        return bind_wrong_type(r, f, v);
    *(const struct fumi_val **)to = v;
    return 0;
}

static int read_json(const struct bind_reader *r, const struct fumi_field *f,
                     const struct fumi_val *v, void *to)
{
    if ((f->flags & FUMI_OBJECT_ONLY) && !fumi_is(v, FUMI_OBJECT))
        return bind_wrong_type(r, f, v);
    *(struct fumi_json *)to = fumi_compact(r->a, v);
    return 0;
}

static int read_time(const struct bind_reader *r, const struct fumi_field *f,
                     const struct fumi_val *v, void *to)
{
    struct fumi_time time = {.set = true};
    if (!fumi_is(v, FUMI_STRING))
        return bind_wrong_type(r, f, v);
    struct fumi_str s = fumi_text(r->a, v);
    if (!fumi_time_read(s, &time.ms) &&
        !(r->tool && fumi_day_read(s, f->flags & FUMI_DAY_END, &time.ms)))
        return bind_fault(r, f, BIND_NO_ROW, "%s", format_fault("date-time", FUMI_STR("")));
    *(struct fumi_time *)to = time;
    return 0;
}

static int read_object(const struct bind_reader *r, const struct fumi_field *f,
                       const struct fumi_val *v, void *to)
{
    if (!fumi_is(v, FUMI_OBJECT))
        return bind_wrong_type(r, f, v);
    struct bind_path here = {r->up, f, BIND_NO_ROW};
    return bind(&(struct bind_reader){r->a, r->e, &here, r->result, r->tool}, f->shape, v, to);
}

static int read_row(const struct bind_reader *r, const struct fumi_field *f, size_t row,
                    const struct fumi_val *v, char *to)
{
    struct bind_path here = {r->up, f, row};
    if (!bind_is_bare(f->shape) && !fumi_is(v, FUMI_OBJECT))
        return bind_fault(r, f, row, "must be an object%s", bind_not_null(v));
    return bind(&(struct bind_reader){r->a, r->e, &here, r->result, r->tool}, f->shape, v, to);
}

/* The structs can take far more memory than their text, so a list in params should have a max. */
static int read_list(const struct bind_reader *r, const struct fumi_field *f,
                     const struct fumi_val *v, void *to)
{
    if (!fumi_is(v, FUMI_ARRAY))
        return bind_wrong_type(r, f, v);
    struct fumi_list out = {NULL, fumi_size(v)};
    if (!count_fits(f, out.n))
        return bind_wrong_count(r, f, "item");
    if (out.n == 0)
        return 0;
    char *row = out.items = fumi_alloc(r->a, out.n * f->shape->size);
    const struct fumi_val *item = fumi_first(v);
    for (size_t i = 0; i < out.n; i++, item = fumi_next(item), row += f->shape->size) {
        if (read_row(r, f, i, item, row))
            return BIND_FAULT;
    }
    *(struct fumi_list *)to = out;
    return 0;
}

static read_fn *const readers[] = {
    [FUMI_T_BOOL] = read_bool, [FUMI_T_INT] = read_int,   [FUMI_T_REAL] = read_real,
    [FUMI_T_STR] = read_str,   [FUMI_T_STRS] = read_strs, [FUMI_T_CHOICE] = read_choice,
    [FUMI_T_ANY] = read_any,   [FUMI_T_JSON] = read_json, [FUMI_T_OBJECT] = read_object,
    [FUMI_T_LIST] = read_list, [FUMI_T_TIME] = read_time,
};

int bind_value(const struct bind_reader *r, const struct fumi_field *f, const struct fumi_val *v,
               void *to)
{
    return readers[f->type](r, f, v, to);
}

static void set_bit(char *into, size_t offset, size_t i)
{
    *(uint64_t *)(void *)(into + offset) |= UINT64_C(1) << i;
}

static int ignore(const struct bind_reader *r, const struct fumi_shape *s, size_t i, char *into)
{
    *r->e = (struct fumi_err){0};
    set_bit(into, s->ignored, i);
    return 0;
}

/* Records in a patch which members were given, and which were ignored. */
static int note_given(const struct bind_reader *r, const struct fumi_shape *s, size_t i, int rc,
                      char *into)
{
    bool lenient = (s->fields[i].flags & FUMI_LENIENT) && s->ignored != FUMI_NONE;
    uint64_t given = *(uint64_t *)(void *)(into + s->given);
    if (!rc && given >> i & 1) /* in the patch and beside it */
        return bind_fault(r, &s->fields[i], BIND_NO_ROW, "is given twice");
    if (rc == BIND_WRONG_TYPE && lenient)
        return ignore(r, s, i, into);
    if (!rc)
        set_bit(into, s->given, i);
    return rc;
}

static int bind_member(const struct bind_reader *r, const struct fumi_shape *s, size_t i,
                       const struct fumi_val *v, char *into)
{
    const struct fumi_field *f = &s->fields[i];
    if ((f->flags & FUMI_NULL_KEEPS) && s->given != FUMI_NONE && fumi_is(v, FUMI_NULL))
        return 0;
    bool may_be_null = f->flags & FUMI_NULLABLE || (r->tool && f->tool_def) ||
                       (r->result && !(f->flags & FUMI_REQUIRED));
    bool empty = may_be_null && fumi_is(v, FUMI_NULL);
    int rc = empty ? bind_absent(r, f, into + f->offset) : bind_value(r, f, v, into + f->offset);
    return s->given == FUMI_NONE ? rc : note_given(r, s, i, rc, into);
}

static uint64_t all_of(size_t n)
{
    return n ? UINT64_MAX >> (BIND_FIELDS_MAX - n) : 0;
}

/* Handles the fields that were not given: an error, a default, or nothing in a patch. */
static int bind_rest(const struct bind_reader *r, const struct fumi_shape *s, uint64_t seen,
                     char *into)
{
    for (uint64_t left = all_of(s->n) & ~seen; left; left &= left - 1) {
        const struct fumi_field *f = &s->fields[__builtin_ctzll(left)];
        if (f->flags & FUMI_REQUIRED && !(r->tool && f->tool_def))
            return bind_fault(r, f, BIND_NO_ROW, "is required");
        if (s->given == FUMI_NONE && bind_absent(r, f, into + f->offset))
            return BIND_FAULT;
    }
    return 0;
}

static bool is_named(const struct fumi_field *f, const struct fumi_val *key)
{
    if (key->bits & FUMI_ESCAPED)
        return fumi_text_is(key, (struct fumi_str){f->name, f->name_n});
    return f->name_n == key->n && fumi_same(f->name, key->p, key->n);
}

/* Returns the index of the field, or s->n if there is none. */
static size_t find(const struct fumi_shape *s, const struct fumi_val *key, size_t expected)
{
    for (size_t i = expected; i < s->n; i++) {
        if (is_named(&s->fields[i], key))
            return i;
    }
    for (size_t i = 0; i < expected; i++) {
        if (is_named(&s->fields[i], key))
            return i;
    }
    return s->n;
}

/* Reads a member that belongs into a FUMI_FLAT patch. Sets *rc; returns false if it does not. */
static bool bind_flat(const struct bind_reader *r, const struct fumi_shape *s,
                      const struct fumi_val *key, char *into, int *rc)
{
    for (size_t i = 0; i < s->n && r->tool; i++) {
        const struct fumi_field *f = &s->fields[i];
        size_t k = f->flags & FUMI_FLAT ? find(f->shape, key, 0) : 0;
        if (!(f->flags & FUMI_FLAT) || k == f->shape->n || f->shape->fields[k].flags & FUMI_NESTED)
            continue;
        *rc = bind_member(r, f->shape, k, fumi_of(key), into + f->offset);
        return true;
    }
    return false;
}

/* Members that begin with an underscore, such as _meta, are always accepted. */
static int skip_unknown(const struct bind_reader *r, const struct fumi_shape *s,
                        const struct fumi_val *key)
{
    if (s->open)
        return 0;
    struct fumi_str name = fumi_text(r->a, key);
    if (fumi_starts(name, FUMI_STR("_")))
        return 0;
    return bind_unknown(r, s, name);
}

static int bind_named(const struct bind_reader *r, const struct fumi_shape *s,
                      const struct fumi_val *v, char *into)
{
    uint64_t seen = 0;
    size_t expected = 0;
    const struct fumi_val *end = fumi_next(v);
    for (const struct fumi_val *key = v + 1; key != end; key = fumi_next(fumi_of(key))) {
        size_t i = find(s, key, expected);
        if (i == s->n) {
            int rc = 0;
            if (bind_flat(r, s, key, into, &rc) ? rc : skip_unknown(r, s, key))
                return BIND_FAULT;
            continue;
        }
        if (seen >> i & 1)
            return bind_fault(r, &s->fields[i], BIND_NO_ROW, "is given twice");
        if (bind_member(r, s, i, fumi_of(key), into))
            return BIND_FAULT;
        seen |= UINT64_C(1) << i;
        expected = i + 1;
    }
    return bind_rest(r, s, seen, into);
}

static int too_many(const struct bind_reader *r, const struct fumi_shape *s,
                    const struct fumi_val *v)
{
    if (!s->n)
        return bind_takes_none(r->e);
    return fumi_err_set(r->e, FUMI_INVALID_PARAMS, "at most %zu parameter%s taken, %zu were given",
                        s->n, s->n == 1 ? " is" : "s are", fumi_size(v));
}

static int bind_positional(const struct bind_reader *r, const struct fumi_shape *s,
                           const struct fumi_val *v, char *into)
{
    size_t i = 0;
    const struct fumi_val *item = v + 1, *end = fumi_next(v);
    for (; item != end && i < s->n; item = fumi_next(item), i++) {
        if (bind_member(r, s, i, item, into))
            return BIND_FAULT;
    }
    if (item != end && !s->open)
        return too_many(r, s, v);
    return bind_rest(r, s, all_of(i), into);
}

static int bind(const struct bind_reader *r, const struct fumi_shape *s, const struct fumi_val *v,
                char *into)
{
    assert(s->n <= BIND_FIELDS_MAX);
    if (!v)
        return bind_rest(r, s, 0, into);
    if (bind_is_bare(s))
        return bind_member(r, s, 0, v, into);
    return fumi_is(v, FUMI_OBJECT) ? bind_named(r, s, v, into) : bind_positional(r, s, v, into);
}

static int bind_params(const struct bind_reader *r, const struct fumi_shape *s,
                       const struct fumi_val *v, void *into)
{
    static const struct fumi_shape none = {.given = FUMI_NONE, .ignored = FUMI_NONE};
    if (!s)
        s = &none;
    if (v && (v->bits & 7) < FUMI_ARRAY && !bind_is_bare(s))
        return s->n
                   ? fumi_err_set(r->e, FUMI_INVALID_PARAMS, "params must be an array or an object")
                   : bind_takes_none(r->e);
    return bind(r, s, v, into) ? -1 : 0;
}

int fumi_bind(struct fumi_arena *a, const struct fumi_shape *s, const struct fumi_val *v,
              void *into, struct fumi_err *e)
{
    return bind_params(&(struct bind_reader){.a = a, .e = e}, s, v, into);
}

int fumi_bind_input(struct fumi_arena *a, const struct fumi_shape *s, const struct fumi_val *v,
                    void *into, struct fumi_err *e)
{
    return bind_params(&(struct bind_reader){.a = a, .e = e, .tool = true}, s, v, into);
}

int fumi_bind_result(struct fumi_arena *a, const struct fumi_shape *s, const struct fumi_val *v,
                     void *into, struct fumi_err *e)
{
    struct bind_reader r = {.a = a, .e = e, .result = true};
    if (!s)
        return 0;
    if (!bind_is_bare(s) && !fumi_is(v, FUMI_OBJECT))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "result must be an object%s", bind_not_null(v));
    return bind(&r, s, v, into) ? -1 : 0;
}
