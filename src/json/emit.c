#include "json/bind.h"

#include <math.h>

/* fumi_emit, fumi_emit_compact and fumi_emit_params. */
enum emit_mode { WHOLE, COMPACT, PARAMS };

/* How a type is written. `empty` decides whether a member may be omitted (NULL: never); `null`: an
 * empty member would be written as null. */
struct type_writer {
    int (*write)(struct fumi_out *o, const struct fumi_field *f, const void *from,
                 enum emit_mode mode);
    bool (*empty)(const void *from);
    bool null;
};

static int emit(struct fumi_out *o, const struct fumi_shape *s, const void *from,
                enum emit_mode mode);

static int write_bool(struct fumi_out *o, const struct fumi_field *f, const void *from,
                      enum emit_mode mode)
{
    (void)f, (void)mode;
    fumi_put_bool(o, *(const bool *)from);
    return 0;
}

static int write_int(struct fumi_out *o, const struct fumi_field *f, const void *from,
                     enum emit_mode mode)
{
    (void)f, (void)mode;
    fumi_put_int(o, *(const int64_t *)from);
    return 0;
}

/* Rounds to three decimals. The result is never -0. */
static double rounded(double d)
{
    return fabs(d) < 1e12 ? round(d * 1000) / 1000 + 0.0 : d;
}

static int write_real(struct fumi_out *o, const struct fumi_field *f, const void *from,
                      enum emit_mode mode)
{
    (void)f;
    double d = *(const double *)from;
    if (mode == COMPACT)
        d = rounded(d);
    fumi_put_real(o, d);
    return isfinite(d) ? 0 : -1;
}

static int write_str(struct fumi_out *o, const struct fumi_field *f, const void *from,
                     enum emit_mode mode)
{
    (void)f, (void)mode;
    fumi_put_str(o, *(const struct fumi_str *)from);
    return 0;
}

static int write_strs(struct fumi_out *o, const struct fumi_field *f, const void *from,
                      enum emit_mode mode)
{
    (void)f, (void)mode;
    const struct fumi_strs *strs = from;
    fumi_put_open(o, '[');
    for (size_t i = 0; i < strs->n; i++)
        fumi_put_str(o, strs->items[i]);
    fumi_put_close(o, ']');
    return 0;
}

/* An index that is not a choice is written as null and is an error. */
static int write_choice(struct fumi_out *o, const struct fumi_field *f, const void *from,
                        enum emit_mode mode)
{
    (void)mode;
    int wanted = *(const int *)from, i = 0;
    while (i != wanted && f->choices[i])
        i++;
    fumi_put_str(o, fumi_str(f->choices[i]));
    return f->choices[i] ? 0 : -1;
}

static int write_any(struct fumi_out *o, const struct fumi_field *f, const void *from,
                     enum emit_mode mode)
{
    (void)f, (void)mode;
    fumi_put_val(o, *(const struct fumi_val *const *)from);
    return 0;
}

static int write_json(struct fumi_out *o, const struct fumi_field *f, const void *from,
                      enum emit_mode mode)
{
    (void)f, (void)mode;
    fumi_put_json(o, *(const struct fumi_json *)from);
    return 0;
}

static int write_time(struct fumi_out *o, const struct fumi_field *f, const void *from,
                      enum emit_mode mode)
{
    (void)f;
    enum { MINUTE = 16 }; /* bytes of "2026-11-15T21:48" */
    const struct fumi_time *time = from;
    char text[FUMI_TIME_SIZE];
    if (!time->set) {
        fumi_put_null(o);
        return 0;
    }
    fumi_time_write(time->ms, text);
    if (mode == COMPACT)
        text[MINUTE] = 'Z';
    fumi_put_str(o, (struct fumi_str){text, mode == COMPACT ? MINUTE + 1 : sizeof(text)});
    return 0;
}

static int write_object(struct fumi_out *o, const struct fumi_field *f, const void *from,
                        enum emit_mode mode)
{
    return emit(o, f->shape, from, mode);
}

static int write_list(struct fumi_out *o, const struct fumi_field *f, const void *from,
                      enum emit_mode mode)
{
    int rc = 0;
    const struct fumi_list *list = from;
    const char *row = list->items;
    fumi_put_open(o, '[');
    for (size_t i = 0; i < list->n; i++, row += f->shape->size)
        rc |= emit(o, f->shape, row, mode);
    fumi_put_close(o, ']');
    return rc;
}

static bool empty_bool(const void *from)
{
    return !*(const bool *)from;
}

static bool empty_int(const void *from)
{
    return *(const int64_t *)from == 0;
}

static bool empty_real(const void *from)
{
    return *(const double *)from == 0;
}

static bool empty_str(const void *from)
{
    return !((const struct fumi_str *)from)->p;
}

static bool empty_strs(const void *from)
{
    return ((const struct fumi_strs *)from)->n == 0;
}

static bool empty_any(const void *from)
{
    return !*(const struct fumi_val *const *)from;
}

static bool empty_json(const void *from)
{
    return !((const struct fumi_json *)from)->text.p;
}

static bool empty_time(const void *from)
{
    return !((const struct fumi_time *)from)->set;
}

static bool empty_list(const void *from)
{
    return ((const struct fumi_list *)from)->n == 0;
}

static const struct type_writer type_writers[] = {
    [FUMI_T_BOOL] = {write_bool, empty_bool, false},
    [FUMI_T_INT] = {write_int, empty_int, false},
    [FUMI_T_REAL] = {write_real, empty_real, false},
    [FUMI_T_STR] = {write_str, empty_str, true},
    [FUMI_T_STRS] = {write_strs, empty_strs, false},
    [FUMI_T_CHOICE] = {write_choice, NULL, false},
    [FUMI_T_ANY] = {write_any, empty_any, true},
    [FUMI_T_JSON] = {write_json, empty_json, true},
    [FUMI_T_OBJECT] = {write_object, NULL, false},
    [FUMI_T_LIST] = {write_list, empty_list, false},
    [FUMI_T_TIME] = {write_time, empty_time, true},
};

/* Whether the member is omitted if it is empty. */
static bool may_omit(const struct fumi_field *f, enum emit_mode mode)
{
    bool list = f->type == FUMI_T_STRS || f->type == FUMI_T_LIST;
    if (mode == WHOLE)
        return f->flags & FUMI_OMIT;
    if (mode == PARAMS)
        return type_writers[f->type].null || f->flags & FUMI_OMIT;
    return type_writers[f->type].null || f->flags & (FUMI_OMIT | FUMI_SPARSE) ||
           (list && f->flags & FUMI_NULLABLE);
}

static bool is_written(const struct fumi_shape *s, size_t i, const char *from, enum emit_mode mode);

static bool has_members(const struct fumi_shape *s, const char *from, enum emit_mode mode)
{
    for (size_t i = 0; i < s->n; i++)
        if (is_written(s, i, from, mode))
            return true;
    return false;
}

/* In a patch exactly the given members are written, because an empty value clears the member. */
static bool is_written(const struct fumi_shape *s, size_t i, const char *from, enum emit_mode mode)
{
    const struct fumi_field *f = &s->fields[i];
    if (s->given != FUMI_NONE)
        return *(const uint64_t *)(const void *)(from + s->given) >> i & 1;
    if (mode == COMPACT && f->flags & FUMI_DETAIL)
        return false;
    if (mode == COMPACT && f->type == FUMI_T_OBJECT && f->flags & FUMI_SPARSE)
        return has_members(f->shape, from + f->offset, mode);
    if (!type_writers[f->type].empty || !may_omit(f, mode))
        return true;
    return !type_writers[f->type].empty(from + f->offset);
}

static int emit_members(struct fumi_out *o, const struct fumi_shape *s, const char *from,
                        enum emit_mode mode)
{
    int rc = 0;
    fumi_put_open(o, '{');
    for (size_t i = 0; i < s->n; i++) {
        const struct fumi_field *f = &s->fields[i];
        if (!is_written(s, i, from, mode))
            continue;
        fumi_put_key_str(o, (struct fumi_str){f->name, f->name_n});
        rc |= type_writers[f->type].write(o, f, from + f->offset, mode);
    }
    fumi_put_close(o, '}');
    return rc;
}

static int emit(struct fumi_out *o, const struct fumi_shape *s, const void *from,
                enum emit_mode mode)
{
    if (!bind_is_bare(s))
        return emit_members(o, s, from, mode);
    const struct fumi_field *f = &s->fields[0];
    return type_writers[f->type].write(o, f, (const char *)from + f->offset, mode);
}

int fumi_emit(struct fumi_out *o, const struct fumi_shape *s, const void *from)
{
    if (s)
        return emit(o, s, from, WHOLE);
    fumi_put_null(o);
    return 0;
}

int fumi_emit_params(struct fumi_out *o, const struct fumi_shape *s, const void *from)
{
    return emit(o, s, from, PARAMS);
}

int fumi_emit_compact(struct fumi_out *o, const struct fumi_shape *s, const void *from)
{
    if (s && !bind_is_bare(s))
        return emit(o, s, from, COMPACT);
    int rc = 0;
    fumi_put_open(o, '{');
    if (s) {
        fumi_put_key(o, "value");
        rc = emit(o, s, from, COMPACT);
    }
    fumi_put_close(o, '}');
    return rc;
}
