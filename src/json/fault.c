/* The sentences of binding errors: the path of the field, what the value must be, and which name
 * was probably meant. */
#include "base/closest_name.h"
#include "base/utf8.h"
#include "json/bind.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { NAME_SHOWN = 40, LIST_END = 190 };

/* The types in sentences: "must be ..." and "an array of ...". */
static const struct {
    const char *one, *many;
} called[] = {
    [FUMI_T_BOOL] = {"true or false", "booleans"},
    [FUMI_T_INT] = {"an integer", "integers"},
    [FUMI_T_REAL] = {"a number", "numbers"},
    [FUMI_T_STR] = {"a string", "strings"},
    [FUMI_T_STRS] = {"an array of strings", "arrays of strings"},
    [FUMI_T_CHOICE] = {"a string", "strings"},
    [FUMI_T_ANY] = {"an object", "values"},
    [FUMI_T_JSON] = {"an object", "values"},
    [FUMI_T_OBJECT] = {"an object", "objects"},
    [FUMI_T_LIST] = {"an array", "arrays"},
    [FUMI_T_TIME] = {"a string", "strings"},
};

/* A sentence. It may be longer than the text of struct fumi_err, which truncates it at a character
 * boundary. */
struct text {
    char p[512];
    size_t n;
};

__attribute__((format(printf, 2, 0))) static void add_args(struct text *t, const char *fmt,
                                                           va_list args)
{
    int n = vsnprintf(t->p + t->n, sizeof(t->p) - t->n, fmt, args);
    size_t left = sizeof(t->p) - 1 - t->n;
    t->n += n < 0 ? 0 : (size_t)n < left ? (size_t)n : left;
}

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_args(t, fmt, args);
    va_end(args);
}

static void add_path(struct text *t, const struct bind_reader *r, const struct bind_path *at)
{
    if (at->up)
        add_path(t, r, at->up);
    if (at->field->name)
        add(t, at->up ? ".%s" : "%s", at->field->name);
    else if (!at->up)
        add(t, r->result ? "result" : "params");
    if (at->row != BIND_NO_ROW)
        add(t, "[%zu]", at->row);
}

/* Adds a name to a list, or "..." if the sentence is full. Returns false if it is full. */
static bool add_name(struct text *t, bool first, const char *name)
{
    bool fits = t->n + strlen(name) < LIST_END;
    add(t, "%s%s", first ? "" : ", ", fits ? name : "...");
    return fits;
}

static void add_choices(struct text *t, const struct fumi_field *f)
{
    add(t, "one of ");
    for (size_t i = 0; f->choices[i] && add_name(t, i == 0, f->choices[i]); i++) {}
}

/* Adds what a value of the field must be. */
static void add_wanted(struct text *t, const struct fumi_field *f)
{
    if (f->type == FUMI_T_CHOICE)
        add_choices(t, f);
    else if (f->type == FUMI_T_LIST)
        add(t, "an array of %s",
            bind_is_bare(f->shape) ? called[f->shape->fields[0].type].many : "objects");
    else
        add(t, "%s", called[f->type].one);
}

static int refuse(struct fumi_err *e, const struct text *t)
{
    return fumi_err_set(e, FUMI_INVALID_PARAMS, "%s", t->p);
}

int bind_fault(const struct bind_reader *r, const struct fumi_field *f, size_t row, const char *fmt,
               ...)
{
    struct text t = {0};
    add_path(&t, r, &(struct bind_path){r->up, f, row});
    add(&t, " ");
    va_list args;
    va_start(args, fmt);
    add_args(&t, fmt, args);
    va_end(args);
    return refuse(r->e, &t);
}

const char *bind_not_null(const struct fumi_val *v)
{
    return fumi_is(v, FUMI_NULL) ? ", not null" : "";
}

int bind_wrong_type(const struct bind_reader *r, const struct fumi_field *f,
                    const struct fumi_val *v)
{
    struct text t = {0};
    add_path(&t, r, &(struct bind_path){r->up, f, BIND_NO_ROW});
    add(&t, " must be ");
    add_wanted(&t, f);
    add(&t, "%s", bind_not_null(v));
    refuse(r->e, &t);
    return BIND_WRONG_TYPE;
}

static void add_range(struct text *t, const struct fumi_field *f, bool low, bool high)
{
    if (low && high)
        add(t, "%" PRId64 " to %" PRId64, f->min, f->max);
    else if (low)
        add(t, "at least %" PRId64, f->min);
    else
        add(t, "at most %" PRId64, f->max);
}

int bind_wrong_value(const struct bind_reader *r, const struct fumi_field *f)
{
    struct text t = {0};
    add_range(&t, f, f->min != INT64_MIN, f->max != INT64_MAX);
    return bind_fault(r, f, BIND_NO_ROW, "must be %s", t.p);
}

int bind_wrong_count(const struct bind_reader *r, const struct fumi_field *f, const char *thing)
{
    bool low = f->min > 0, high = f->max != INT64_MAX;
    bool single = low != high && (low ? f->min : f->max) == 1;
    struct text t = {0};
    add_range(&t, f, low, high);
    return bind_fault(r, f, BIND_NO_ROW, "must have %s %s%s", t.p, thing, single ? "" : "s");
}

/* The field whose name is most similar to `name`; NULL: none is similar. */
static const struct fumi_field *closest_field(const struct fumi_shape *s, struct fumi_str name)
{
    const struct fumi_field *best = NULL;
    struct closest_name closest = closest_name_start(name);
    for (size_t i = 0; i < s->n; i++)
        if (closest_name_improves(&closest,
                                  (struct fumi_str){s->fields[i].name, s->fields[i].name_n}))
            best = &s->fields[i];
    return best;
}

/* Adds a name that the peer chose: truncated, and with ? for control characters. */
static void add_foreign(struct text *t, struct fumi_str name)
{
    struct fumi_str shown = fumi_utf8_cut(name, NAME_SHOWN);
    for (size_t i = 0; i < shown.n; i++) {
        unsigned char c = (unsigned char)shown.p[i];
        add(t, "%c", c < ' ' || c == 0x7F ? '?' : c);
    }
}

int bind_takes_none(struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INVALID_PARAMS, "this method takes no parameters");
}

int bind_unknown(const struct bind_reader *r, const struct fumi_shape *s, struct fumi_str name)
{
    if (!s->n && !r->up && !r->result)
        return bind_takes_none(r->e);
    struct text t = {0};
    const struct fumi_field *meant = closest_field(s, name);
    add(&t, r->result ? "unknown member " : "unknown parameter ");
    if (r->up)
        add_path(&t, r, r->up);
    add(&t, "%s", r->up ? "." : "");
    add_foreign(&t, name);
    if (meant)
        add(&t, "; did you mean %s?", meant->name);
    else if (s->n)
        add(&t, "; known are ");
    for (size_t i = 0; !meant && i < s->n && add_name(&t, i == 0, s->fields[i].name); i++) {}
    return refuse(r->e, &t);
}
