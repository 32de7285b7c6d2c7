#include "json/bind.h"

/* What a schema contains. */
struct schema_style {
    bool help; /* descriptions, defaults, formats, choices, required members, list items, and the
                  members of nested objects */
    bool null; /* null, where it is allowed */
    bool all;  /* FUMI_DETAIL members, limits, and additionalProperties */
};

static const struct schema_style whole = {true, true, true};
static const struct schema_style input = {true, false, false};
static const struct schema_style compact = {false, false, false};

/* The schema of a type: its name (NULL: any type), the keywords of min and max (NULL: none), and a
 * function that writes its other keywords (NULL: none). */
struct type_schema {
    const char *name;
    const char *least, *most;
    void (*more)(struct fumi_out *o, const struct fumi_field *f, const struct schema_style *style);
};

static void put_field(struct fumi_out *o, const struct fumi_field *f,
                      const struct schema_style *style);
static void put_shape(struct fumi_out *o, const struct fumi_shape *s,
                      const struct schema_style *style);

static void put_text(struct fumi_out *o, const char *key, const char *text)
{
    fumi_put_key(o, key);
    fumi_put_str(o, fumi_str(text));
}

static void put_format(struct fumi_out *o, const struct fumi_field *f,
                       const struct schema_style *style)
{
    if (f->format && style->help)
        put_text(o, "format", f->format);
}

/* Tools accept dates too, which do not have this format. */
static void put_date_time(struct fumi_out *o, const struct fumi_field *f,
                          const struct schema_style *style)
{
    (void)f;
    if (style->help && style->all)
        put_text(o, "format", "date-time");
}

static void put_strings(struct fumi_out *o, const struct fumi_field *f,
                        const struct schema_style *style)
{
    if (!style->help)
        return;
    fumi_put_key(o, "items");
    fumi_put_open(o, '{');
    put_text(o, "type", "string");
    put_format(o, f, style);
    fumi_put_close(o, '}');
}

static void put_choices(struct fumi_out *o, const struct fumi_field *f,
                        const struct schema_style *style)
{
    if (!style->help)
        return;
    fumi_put_key(o, "enum");
    fumi_put_open(o, '[');
    for (size_t i = 0; f->choices[i]; i++)
        fumi_put_str(o, fumi_str(f->choices[i]));
    if (f->flags & FUMI_NULLABLE && style->null)
        fumi_put_null(o);
    fumi_put_close(o, ']');
}

static void put_required(struct fumi_out *o, const struct fumi_shape *s,
                         const struct schema_style *style)
{
    bool any = false;
    for (size_t i = 0; i < s->n; i++) {
        if (!(s->fields[i].flags & FUMI_REQUIRED) || (s->fields[i].tool_def && !style->all))
            continue;
        if (!any) {
            fumi_put_key(o, "required");
            fumi_put_open(o, '[');
        }
        fumi_put_str(o, (struct fumi_str){s->fields[i].name, s->fields[i].name_n});
        any = true;
    }
    if (any)
        fumi_put_close(o, ']');
}

/* In a patch null differs from absent, so the schema of a tool must allow it. */
static void put_members(struct fumi_out *o, const struct fumi_shape *s,
                        const struct schema_style *style)
{
    struct schema_style inner = *style;
    inner.null |= style->help && s->given != FUMI_NONE;
    fumi_put_key(o, "properties");
    fumi_put_open(o, '{');
    for (size_t i = 0; i < s->n; i++) {
        if (s->fields[i].flags & FUMI_DETAIL && !style->all)
            continue;
        fumi_put_key_str(o, (struct fumi_str){s->fields[i].name, s->fields[i].name_n});
        put_field(o, &s->fields[i], &inner);
    }
    fumi_put_close(o, '}');
    if (style->help)
        put_required(o, s, style);
    if (!style->all)
        return;
    fumi_put_key(o, "additionalProperties");
    fumi_put_bool(o, s->open);
}

static void put_nested(struct fumi_out *o, const struct fumi_field *f,
                       const struct schema_style *style)
{
    if (style->help)
        put_members(o, f->shape, style);
}

static void put_rows(struct fumi_out *o, const struct fumi_field *f,
                     const struct schema_style *style)
{
    if (!style->help)
        return;
    fumi_put_key(o, "items");
    put_shape(o, f->shape, style);
}

static const struct type_schema type_schemas[] = {
    [FUMI_T_BOOL] = {"boolean", NULL, NULL, NULL},
    [FUMI_T_INT] = {"integer", "minimum", "maximum", NULL},
    [FUMI_T_REAL] = {"number", "minimum", "maximum", NULL},
    [FUMI_T_STR] = {"string", "minLength", "maxLength", put_format},
    [FUMI_T_STRS] = {"array", "minItems", "maxItems", put_strings},
    [FUMI_T_CHOICE] = {"string", NULL, NULL, put_choices},
    [FUMI_T_ANY] = {NULL, NULL, NULL, NULL},
    [FUMI_T_JSON] = {NULL, NULL, NULL, NULL},
    [FUMI_T_OBJECT] = {"object", NULL, NULL, put_nested},
    [FUMI_T_LIST] = {"array", "minItems", "maxItems", put_rows},
    [FUMI_T_TIME] = {"string", NULL, NULL, put_date_time},
};

static void put_type(struct fumi_out *o, const struct fumi_field *f,
                     const struct schema_style *style)
{
    const char *name = f->flags & FUMI_OBJECT_ONLY ? "object" : type_schemas[f->type].name;
    if (!name)
        return;
    if (!(f->flags & FUMI_NULLABLE) || !style->null) {
        put_text(o, "type", name);
        return;
    }
    fumi_put_key(o, "type");
    fumi_put_open(o, '[');
    fumi_put_str(o, fumi_str(name));
    fumi_put_str(o, FUMI_STR("null"));
    fumi_put_close(o, ']');
}

static void put_bound(struct fumi_out *o, const char *key, int64_t bound)
{
    fumi_put_key(o, key);
    fumi_put_int(o, bound);
}

/* The minimum; INT64_MIN: none. An empty string does not satisfy FUMI_REQUIRED, so the minimum
 * length of a required string is 1. */
static int64_t least_of(const struct fumi_field *f)
{
    bool value = f->type == FUMI_T_INT || f->type == FUMI_T_REAL;
    if (value)
        return f->min == f->max ? INT64_MIN : f->min;
    int64_t floor = f->type == FUMI_T_STR &&
                    (f->flags & (FUMI_REQUIRED | FUMI_EMPTY)) == FUMI_REQUIRED;
    int64_t min = f->min == f->max || f->min < floor ? floor : f->min;
    return min ? min : INT64_MIN;
}

static void put_bounds(struct fumi_out *o, const struct fumi_field *f,
                       const struct schema_style *style)
{
    const struct type_schema *t = &type_schemas[f->type];
    if (!t->least || !style->all)
        return;
    if (least_of(f) != INT64_MIN)
        put_bound(o, t->least, least_of(f));
    if (f->min != f->max && f->max != INT64_MAX)
        put_bound(o, t->most, f->max);
}

static void put_field(struct fumi_out *o, const struct fumi_field *f,
                      const struct schema_style *style)
{
    fumi_put_open(o, '{');
    put_type(o, f, style);
    if (f->help && style->help)
        put_text(o, "description", f->help);
    put_bounds(o, f, style);
    if (type_schemas[f->type].more)
        type_schemas[f->type].more(o, f, style);
    const char *def = f->tool_def && !style->all ? f->tool_def : f->def;
    if (def && style->help) {
        fumi_put_key(o, "default");
        fumi_put_json(o, (struct fumi_json){fumi_str(def)});
    }
    fumi_put_close(o, '}');
}

static void put_shape(struct fumi_out *o, const struct fumi_shape *s,
                      const struct schema_style *style)
{
    if (bind_is_bare(s)) {
        put_field(o, &s->fields[0], style);
        return;
    }
    fumi_put_open(o, '{');
    put_text(o, "type", "object");
    put_members(o, s, style);
    fumi_put_close(o, '}');
}

void fumi_schema_field(struct fumi_out *o, const struct fumi_field *f)
{
    put_field(o, f, &whole);
}

void fumi_schema(struct fumi_out *o, const struct fumi_shape *s)
{
    if (s) {
        put_shape(o, s, &whole);
        return;
    }
    fumi_put_open(o, '{');
    put_text(o, "type", "null");
    fumi_put_close(o, '}');
}

void fumi_schema_input(struct fumi_out *o, const struct fumi_shape *s)
{
    if (s && !bind_is_bare(s)) {
        put_shape(o, s, &input);
        return;
    }
    fumi_put_open(o, '{');
    put_text(o, "type", "object");
    if (!s) {
        fumi_put_key(o, "additionalProperties");
        fumi_put_bool(o, false);
    }
    fumi_put_close(o, '}');
}

void fumi_schema_compact(struct fumi_out *o, const struct fumi_shape *s)
{
    if (s && !bind_is_bare(s)) {
        put_shape(o, s, &compact);
        return;
    }
    fumi_put_open(o, '{');
    put_text(o, "type", "object");
    if (s) {
        fumi_put_key(o, "properties");
        fumi_put_open(o, '{');
        fumi_put_key(o, "value");
        put_field(o, &s->fields[0], &compact);
        fumi_put_close(o, '}');
    }
    fumi_put_close(o, '}');
}
