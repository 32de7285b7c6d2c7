/* The methods of fuzz_rpc.c: shapes with all types and flags, and all ways in which a call can end.
 */
#ifndef FUMI_FUZZ_RPC_METHODS_H
#define FUMI_FUZZ_RPC_METHODS_H

#include "fuzz.h"
#include "rpc/rpc.h"

#include <math.h>

/* Pending calls and queued tasks, which the fuzz target continues. */
struct waiting {
    struct fumi_call *calls[16];
    size_t calls_n;
    struct fumi_tasks tasks;
};

struct point {
    int64_t x, y;
    struct fumi_str label;
};
static const struct fumi_field point_fields[] = {
    FUMI_FIELD(struct point, x, "x", "Across.", .flags = FUMI_REQUIRED, .min = -100, .max = 100),
    FUMI_FIELD(struct point, y, "y", "Up.", .def = "7"),
    FUMI_FIELD(struct point, label, "label", "Its name.", .flags = FUMI_NULLABLE, .max = 5),
};
static const struct fumi_shape point_shape = FUMI_SHAPE(struct point, point_fields);

static inline const char *no_x(struct fumi_str s)
{
    return s.n && memchr(s.p, 'x', s.n) ? "must not have an x" : NULL;
}

struct all {
    uint64_t given, ignored;
    struct fumi_str text, id, when;
    struct fumi_strs tags;
    int64_t count;
    double ratio;
    bool flag;
    int mode;
    const struct fumi_val *any;
    struct fumi_json json, object;
    struct point at;
    struct fumi_list rows;
};
static const char *const modes[] = {"one", "two", "three", NULL};

static const struct fumi_field all_fields[] = {
    FUMI_FIELD(struct all, text, "text", "A text.", .flags = FUMI_REQUIRED, .min = 1, .max = 9,
               .check = no_x),
    FUMI_FIELD(struct all, count, "count", "A number.", .min = -5, .max = 5, .def = "3"),
    FUMI_FIELD(struct all, ratio, "ratio", "A real.", .min = 0, .max = 1),
    FUMI_FIELD(struct all, flag, "flag", "A bool."),
    FUMI_FIELD(struct all, tags, "tags", "Texts.", .max = 3),
    FUMI_FIELD(struct all, mode, "mode", "A choice.", .choices = modes, .def = "\"two\""),
    FUMI_FIELD(struct all, any, "any", "Anything."),
    FUMI_FIELD(struct all, json, "json", "Anything as text.", .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct all, object, "object", "An object.", .flags = FUMI_OBJECT_ONLY),
    FUMI_FIELD(struct all, at, "at", "A point.", .shape = &point_shape),
    FUMI_FIELD(struct all, rows, "rows", "Points.", .shape = &point_shape, .max = 4),
    FUMI_FIELD(struct all, id, "uuid", "An id.", .flags = FUMI_NULLABLE, .format = "uuid"),
    FUMI_FIELD(struct all, when, "when", "A time.", .flags = FUMI_NULLABLE, .format = "date-time"),
};
static const struct fumi_field patch_fields[] = {
    FUMI_FIELD(struct all, text, "text", "A text.", .flags = FUMI_NULLABLE | FUMI_LENIENT),
    FUMI_FIELD(struct all, count, "count", "A number.", .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct all, tags, "tags", "Texts.", .flags = FUMI_NULLABLE | FUMI_LENIENT),
    FUMI_FIELD(struct all, json, "json", "Anything.", .flags = FUMI_NULLABLE | FUMI_LENIENT),
    FUMI_FIELD(struct all, mode, "mode", "A choice.", .flags = FUMI_LENIENT, .choices = modes),
};
static const struct fumi_shape all_shape = FUMI_SHAPE(struct all, all_fields);
static const struct fumi_shape open_shape = FUMI_OPEN_SHAPE(struct all, all_fields);
static const struct fumi_shape patch_shape = FUMI_LENIENT_PATCH_SHAPE(struct all, patch_fields);

static inline enum fumi_ret run_all(struct fumi_call *c, const void *params, void *result)
{
    (void)c;
    memcpy(result, params, sizeof(struct all));
    return FUMI_OK;
}

struct value {
    const struct fumi_val *v;
};
static const struct fumi_field value_fields[] = {FUMI_VALUE(struct value, v, "Anything.")};
static const struct fumi_shape value_shape = FUMI_SHAPE(struct value, value_fields);

static inline enum fumi_ret run_echo(struct fumi_call *c, const void *params, void *result)
{
    (void)c;
    memcpy(result, params, sizeof(struct value));
    return FUMI_OK;
}

struct pair {
    double minuend, subtrahend;
};
static const struct fumi_field pair_fields[] = {
    FUMI_FIELD(struct pair, minuend, "minuend", "From it.", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct pair, subtrahend, "subtrahend", "This.", .flags = FUMI_REQUIRED),
};
static const struct fumi_shape pair_shape = FUMI_OPEN_SHAPE(struct pair, pair_fields);

struct difference {
    double d;
};
static const struct fumi_field difference_fields[] = {
    FUMI_VALUE(struct difference, d, "What is left."),
};
static const struct fumi_shape difference_shape = FUMI_SHAPE(struct difference, difference_fields);

/* The result of large numbers may not be finite. */
static inline enum fumi_ret run_subtract(struct fumi_call *c, const void *params, void *result)
{
    const struct pair *p = params;
    (void)c;
    ((struct difference *)result)->d = p->minuend - p->subtrahend;
    return FUMI_OK;
}

struct failure {
    int64_t code;
    struct fumi_str text;
    struct fumi_json data;
};
static const struct fumi_field failure_fields[] = {
    FUMI_FIELD(struct failure, code, "code", "Its code.", .min = -40000, .max = 40000),
    FUMI_FIELD(struct failure, text, "text", "What went wrong."),
    FUMI_FIELD(struct failure, data, "data", "More."),
};
static const struct fumi_shape failure_shape = FUMI_SHAPE(struct failure, failure_fields);

/* With the code 0 the method fails without setting an error. */
static inline enum fumi_ret run_fail(struct fumi_call *c, const void *params, void *result)
{
    const struct failure *f = params;
    (void)result;
    if (!f->code)
        return FUMI_FAIL;
    fumi_fail(c, (int)f->code, "%.*s", FUMI_ARG(f->text));
    c->err.data = f->data.text;
    return FUMI_FAIL;
}

/* Finishes the call before it returns, as a fast thread would. */
static inline enum fumi_ret run_at_once(struct fumi_call *c, const void *params, void *result)
{
    run_echo(c, params, result);
    fumi_finish(c, FUMI_OK);
    return FUMI_PENDING;
}

static inline enum fumi_ret run_later(struct fumi_call *c, const void *params, void *result)
{
    struct waiting *w = c->self;
    run_echo(c, params, result);
    MUST(w->calls_n < FUMI_COUNT(w->calls));
    w->calls[w->calls_n++] = c;
    return FUMI_PENDING;
}

static inline enum fumi_ret run_notify(struct fumi_call *c, const void *params, void *result)
{
    fumi_notify(c, "told", &value_shape, params);
    fumi_notify(c, "told.nothing", NULL, NULL);
    return run_echo(c, params, result);
}

struct inner {
    struct fumi_str name;
    const struct fumi_val *params;
};
static const struct fumi_field inner_fields[] = {
    FUMI_FIELD(struct inner, name, "name", "Which method.", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct inner, params, "params", "Its params."),
};
static const struct fumi_shape inner_shape = FUMI_SHAPE(struct inner, inner_fields);

/* Does not invoke itself, which would never end. */
static inline enum fumi_ret run_invoke(struct fumi_call *c, const void *params, void *result)
{
    const struct inner *p = params;
    (void)result;
    if (fumi_eq(p->name, FUMI_STR("invoke")))
        return FUMI_FAIL;
    struct fumi_out *o = fumi_result(c);
    fumi_put_open(o, '{');
    fumi_put_key(o, "answer");
    if (fumi_invoke(c, p->name, p->params, false, o, NULL) != FUMI_OK)
        return FUMI_FAIL;
    fumi_put_close(o, '}');
    return FUMI_OK;
}

static inline enum fumi_ret run_nothing(struct fumi_call *c, const void *params, void *result)
{
    MUST(!params && !result && c->method);
    return FUMI_OK;
}

static const struct fumi_method methods[] = {
    {"all", "Every kind of member.", &all_shape, &all_shape, run_all, 0},
    {"open", "The same, and more.", &open_shape, &all_shape, run_all, 0},
    {"patch", "A patch.", &patch_shape, &patch_shape, run_all, 0},
    {"echo", "Its params.", &value_shape, &value_shape, run_echo, FUMI_READ_ONLY},
    {"subtract", "A difference.", &pair_shape, &difference_shape, run_subtract, 0},
    {"fail", "An error.", &failure_shape, NULL, run_fail, 0},
    {"once", "Pending, and finished.", &value_shape, &value_shape, run_at_once, FUMI_ASYNC},
    {"later", "Pending.", &value_shape, &value_shape, run_later, FUMI_ASYNC},
    {"block", "On the executor.", &value_shape, &value_shape, run_echo, FUMI_BLOCKING},
    {"look", "The same.", &value_shape, &value_shape, run_echo, FUMI_BLOCKING | FUMI_READ_ONLY},
    {"wait", "Both.", &value_shape, &value_shape, run_later, FUMI_BLOCKING | FUMI_ASYNC},
    {"tell", "Two notifications.", &value_shape, &value_shape, run_notify, 0},
    {"invoke", "Another method.", &inner_shape, NULL, run_invoke, 0},
    {"nothing", "Takes and gives nothing.", NULL, NULL, run_nothing, FUMI_HIDDEN},
};

#endif
