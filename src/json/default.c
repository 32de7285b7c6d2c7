/* Defaults. fumi_shape_check has validated them, so integers and simple strings, which are nearly
 * all defaults, are stored without the parser and without the rules of the field. */
#include "json/bind.h"

static bool plain_int(const char *def, int64_t *out)
{
    int64_t i = 0;
    const char *digits = def + (*def == '-'), *p = digits;
    for (; *p >= '0' && *p <= '9' && p < digits + 18; p++)
        i = i * 10 + (*p - '0');
    if (*p || p == digits)
        return false;
    *out = *def == '-' ? -i : i;
    return true;
}

static bool plain_text(struct fumi_str def, struct fumi_str *out)
{
    if (def.n < 2 || def.p[0] != '"' || def.p[def.n - 1] != '"' || memchr(def.p, '\\', def.n))
        return false;
    *out = (struct fumi_str){def.p + 1, def.n - 2};
    return true;
}

static int parse_default(const struct bind_reader *r, const struct fumi_field *f, const char *def,
                         void *to)
{
    const struct fumi_val *v = fumi_parse(r->a, fumi_str(def), r->e);
    if (!v)
        return fumi_err_set(r->e, FUMI_INTERNAL_ERROR, "the default of %s is not JSON",
                            f->name ? f->name : "params");
    return !fumi_is(v, FUMI_NULL) && bind_value(r, f, v, to) ? -1 : 0;
}

static int put_default(const struct bind_reader *r, const struct fumi_field *f, void *to)
{
    const char *def = r->tool && f->tool_def ? f->tool_def : f->def;
    if (f->type == FUMI_T_INT && plain_int(def, to))
        return 0;
    if (f->type == FUMI_T_STR && plain_text(fumi_str(def), to))
        return 0;
    return parse_default(r, f, def, to);
}

/* A nested struct that is absent gets the defaults of its members. */
static int put_members(const struct bind_reader *r, const struct fumi_shape *s, char *into)
{
    for (size_t i = 0; i < s->n && s->given == FUMI_NONE; i++) {
        if (bind_absent(r, &s->fields[i], into + s->fields[i].offset))
            return -1;
    }
    return 0;
}

int bind_default(const struct bind_reader *r, const struct fumi_field *f, char *to)
{
    return f->def || f->tool_def ? put_default(r, f, to) : put_members(r, f->shape, to);
}
