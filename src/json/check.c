/* Checks a table when the program starts. The rules for single fields are predicates in two tables;
 * the rest of the file checks shapes as a whole and their defaults. */
#include "json/bind.h"

#include <stdio.h>

enum { DEPTH_MAX = 8 };

#define BIT(type) (1u << (type))
#define NUMBERS   (BIT(FUMI_T_INT) | BIT(FUMI_T_REAL))
#define COUNTED   (BIT(FUMI_T_STR) | BIT(FUMI_T_STRS) | BIT(FUMI_T_LIST))
#define TEXTS     (BIT(FUMI_T_STR) | BIT(FUMI_T_STRS))
#define ANYTHING  (BIT(FUMI_T_ANY) | BIT(FUMI_T_JSON))
#define NESTED    (BIT(FUMI_T_OBJECT) | BIT(FUMI_T_LIST))
/* The types that cannot represent null. */
#define WITHOUT_EMPTY (NUMBERS | BIT(FUMI_T_BOOL) | BIT(FUMI_T_CHOICE))

static bool is_of(const struct fumi_field *f, unsigned types)
{
    return BIT(f->type) & types;
}

static size_t size_of(const struct fumi_field *f)
{
    static const size_t sizes[] = {
        [FUMI_T_BOOL] = sizeof(bool),
        [FUMI_T_INT] = sizeof(int64_t),
        [FUMI_T_REAL] = sizeof(double),
        [FUMI_T_STR] = sizeof(struct fumi_str),
        [FUMI_T_STRS] = sizeof(struct fumi_strs),
        [FUMI_T_CHOICE] = sizeof(int),
        [FUMI_T_ANY] = sizeof(const struct fumi_val *),
        [FUMI_T_JSON] = sizeof(struct fumi_json),
        [FUMI_T_OBJECT] = 0,
        [FUMI_T_LIST] = sizeof(struct fumi_list),
        [FUMI_T_TIME] = sizeof(struct fumi_time),
    };
    return f->type == FUMI_T_OBJECT && f->shape ? f->shape->size : sizes[f->type];
}

static bool unnamed_among_others(const struct fumi_shape *s, const struct fumi_field *f)
{
    return !f->name && s->n != 1;
}

static bool name_empty(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    return f->name && !f->name[0];
}

static bool name_miscounted(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    return f->name && f->name_n != strlen(f->name);
}

static bool type_unknown(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    return (unsigned)f->type > FUMI_T_TIME;
}

static bool shape_missing(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    return is_of(f, NESTED) && !f->shape;
}

static bool shape_bare(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    return f->type == FUMI_T_OBJECT && bind_is_bare(f->shape);
}

static bool outside(const struct fumi_shape *s, const struct fumi_field *f)
{
    return f->offset > s->size || size_of(f) > s->size - f->offset;
}

static bool default_required(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    return f->def && (f->flags & FUMI_REQUIRED);
}

static bool limits_crossed(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    return f->min > f->max;
}

static bool limits_useless(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    return f->min != f->max && !is_of(f, NUMBERS | COUNTED);
}

static bool limits_negative(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    return is_of(f, COUNTED) && (f->min < 0 || f->max < 0);
}

static bool choices_missing(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    return f->type == FUMI_T_CHOICE && (!f->choices || !f->choices[0]);
}

static bool choices_repeated(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    for (size_t i = 0; f->choices && f->choices[i]; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(f->choices[i], f->choices[j]) == 0)
                return true;
        }
    }
    return false;
}

static bool choices_useless(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    return f->choices && f->type != FUMI_T_CHOICE;
}

static bool format_unknown(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    return f->format && !bind_knows_format(f->format);
}

static bool text_rules_useless(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    return (f->format || f->check) && !is_of(f, TEXTS);
}

static bool object_only_useless(const struct fumi_shape *s, const struct fumi_field *f)
{
    (void)s;
    return (f->flags & FUMI_OBJECT_ONLY) && !is_of(f, ANYTHING);
}

static bool lenient_without_ignored(const struct fumi_shape *s, const struct fumi_field *f)
{
    return (f->flags & FUMI_LENIENT) && s->ignored == FUMI_NONE;
}

static bool nullable_without_default(const struct fumi_shape *s, const struct fumi_field *f)
{
    return s->given == FUMI_NONE && (f->flags & FUMI_NULLABLE) && is_of(f, WITHOUT_EMPTY) &&
           !f->def;
}

static bool choice_without_default(const struct fumi_shape *s, const struct fumi_field *f)
{
    return s->given == FUMI_NONE && f->type == FUMI_T_CHOICE && !f->def &&
           !(f->flags & FUMI_REQUIRED);
}

struct field_rule {
    bool (*broken)(const struct fumi_shape *s, const struct fumi_field *f);
    const char *what;
};

/* The order matters: a rule may rely on the rules before it. */
static const struct field_rule rules[] = {
    {unnamed_among_others, "has no name and is not the only row"},
    {name_empty, "has an empty name"},
    {name_miscounted, "has a name_n that is not the length of its name"},
    {type_unknown, "has a type that does not exist"},
    {shape_missing, "needs a shape"},
    {shape_bare, "has the shape of a bare value: use the type of the value instead"},
    {outside, "lies outside its struct"},
    {limits_crossed, "has a min above its max"},
    {limits_negative, "has a length below 0"},
    {limits_useless, "has a min or max, which its type does not support"},
    {choices_missing, "needs choices"},
    {choices_repeated, "has a choice twice"},
    {choices_useless, "has choices and is not an int"},
    {format_unknown, "has an unknown format"},
    {text_rules_useless, "has a format or a check and is not a string"},
    {object_only_useless, "is FUMI_OBJECT_ONLY, which its type does not support"},
};

/* These do not apply to a shape that is only written. */
static const struct field_rule read_rules[] = {
    {default_required, "is required and has a default"},
    {lenient_without_ignored, "is FUMI_LENIENT in a shape without `ignored`"},
    {nullable_without_default,
     "is nullable and needs a default, because its type has no empty value"},
    {choice_without_default, "is an optional choice and needs a default"},
};

static const char *name_of(const struct fumi_field *f)
{
    return f->name ? f->name : "the bare value";
}

struct shape_check {
    const char *where; /* names the shape in the error */
    bool read;         /* fumi_bind reads values into it; false: it is only written */
    struct fumi_err *e;
};

static int check_rules(const struct shape_check *c, const struct field_rule *rule, size_t n,
                       const struct fumi_shape *s, const struct fumi_field *f)
{
    for (size_t i = 0; i < n; i++) {
        if (rule[i].broken(s, f))
            return fumi_err_set(c->e, FUMI_INTERNAL_ERROR, "%s: %s %s", c->where, name_of(f),
                                rule[i].what);
    }
    return 0;
}

static int check_field(const struct shape_check *c, const struct fumi_shape *s,
                       const struct fumi_field *f)
{
    if (check_rules(c, rules, FUMI_COUNT(rules), s, f))
        return -1;
    return c->read ? check_rules(c, read_rules, FUMI_COUNT(read_rules), s, f) : 0;
}

/* Binds a default as the only parameter of a temporary shape. */
static int try_default(struct fumi_arena *a, const struct fumi_field *f, const char *def,
                       struct fumi_err *e)
{
    struct fumi_field row = *f;
    row.def = row.tool_def = NULL;
    row.offset = 0;
    struct fumi_shape alone = {&row, 1, size_of(f), FUMI_NONE, FUMI_NONE, false};
    struct fumi_str params = f->name ? fumi_fmt(a, "[%s]", def) : fumi_str(def);
    return fumi_bind(a, &alone, fumi_parse(a, params, e), fumi_alloc(a, alone.size), e);
}

static int check_default_in(struct fumi_arena *a, const struct fumi_field *f, const char *def,
                            const char *where, struct fumi_err *e)
{
    struct fumi_err inner = {0};
    const struct fumi_val *v = fumi_parse(a, fumi_str(def), &inner);
    if (!v)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: the default of %s is not JSON: %s", where,
                            name_of(f), inner.text);
    if (fumi_is(v, FUMI_NULL) && is_of(f, WITHOUT_EMPTY))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: the default of %s cannot be null", where,
                            name_of(f));
    if (try_default(a, f, def, &inner))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: the default of %s is invalid: %s", where,
                            name_of(f), inner.text);
    return 0;
}

static int check_default(const struct fumi_field *f, const char *where, struct fumi_err *e)
{
    if (!f->def && f->tool_def && !(f->flags & FUMI_REQUIRED))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: %s has a default only in tools", where,
                            name_of(f));
    if (!f->def && !f->tool_def)
        return 0;
    struct fumi_arena a = {0};
    int rc = (f->def && check_default_in(&a, f, f->def, where, e)) ||
                     (f->tool_def && check_default_in(&a, f, f->tool_def, where, e))
                 ? -1
                 : 0;
    fumi_arena_done(&a);
    return rc;
}

/* Checks the field against the fields before it. */
static int check_order(const struct shape_check *c, const struct fumi_shape *s, size_t i)
{
    const struct fumi_field *f = &s->fields[i];
    for (size_t k = 0; k < i; k++) {
        const struct fumi_field *other = &s->fields[k];
        if (strcmp(other->name, f->name) == 0)
            return fumi_err_set(c->e, FUMI_INTERNAL_ERROR, "%s: %s is declared twice", c->where,
                                f->name);
        if (c->read && (f->flags & FUMI_REQUIRED) && !(other->flags & FUMI_REQUIRED))
            return fumi_err_set(c->e, FUMI_INTERNAL_ERROR,
                                "%s: %s is required and follows the optional %s", c->where, f->name,
                                other->name);
    }
    return 0;
}

static bool has_bits(const struct fumi_shape *s, size_t offset)
{
    return offset % _Alignof(uint64_t) == 0 && offset <= s->size &&
           s->size - offset >= sizeof(uint64_t);
}

static int check_frame(const struct fumi_shape *s, const char *where, size_t depth,
                       struct fumi_err *e)
{
    if (depth > DEPTH_MAX)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: shapes are nested deeper than %d", where,
                            DEPTH_MAX);
    if (s->n > BIND_FIELDS_MAX)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: %zu fields are more than %d", where, s->n,
                            BIND_FIELDS_MAX);
    if ((s->given != FUMI_NONE && !has_bits(s, s->given)) ||
        (s->ignored != FUMI_NONE && (s->given == FUMI_NONE || !has_bits(s, s->ignored))))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "%s: given and ignored must be members of type uint64_t", where);
    return 0;
}

static int check_shape(const struct shape_check *c, const struct fumi_shape *s, size_t depth);

/* A nested shape is named by its path, such as "math.add result.rows". */
static int check_nested(const struct shape_check *c, const struct fumi_field *f, size_t depth)
{
    char path[160];
    snprintf(path, sizeof(path), "%s.%s", c->where, f->name ? f->name : "value");
    const struct shape_check inner = {path, c->read, c->e};
    return check_shape(&inner, f->shape, depth + 1);
}

static int check_shape(const struct shape_check *c, const struct fumi_shape *s, size_t depth)
{
    if (check_frame(s, c->where, depth, c->e))
        return -1;
    for (size_t i = 0; i < s->n; i++) {
        const struct fumi_field *f = &s->fields[i];
        if (check_field(c, s, f) || check_order(c, s, i))
            return -1;
        if (is_of(f, NESTED) && check_nested(c, f, depth))
            return -1;
        if (check_default(f, c->where, c->e))
            return -1;
    }
    return 0;
}

int fumi_shape_check(const struct fumi_shape *s, const char *where, struct fumi_err *e)
{
    const struct shape_check c = {where, true, e};
    return s ? check_shape(&c, s, 1) : 0;
}

int fumi_shape_check_result(const struct fumi_shape *s, const char *where, struct fumi_err *e)
{
    const struct shape_check c = {where, false, e};
    return s ? check_shape(&c, s, 1) : 0;
}
