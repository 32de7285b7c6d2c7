/* Private to json/: shared by bind.c, default.c, fault.c, emit.c, schema.c and check.c. */
#ifndef FUMI_JSON_BIND_H
#define FUMI_JSON_BIND_H

#include "json/shape.h"

enum { BIND_FIELDS_MAX = 64 }; /* per shape: a uint64_t has a bit for each */

/* Whether the shape is that of a bare value: its only field has no name. */
static inline bool bind_is_bare(const struct fumi_shape *s)
{
    return s->n && !s->fields[0].name;
}

/* The path of the member that is being read: a list on the stack, innermost first. */
struct bind_path {
    const struct bind_path *up;
    const struct fumi_field *field;
    size_t row; /* index of the list item; BIND_NO_ROW: the member itself */
};
#define BIND_NO_ROW SIZE_MAX

struct bind_reader {
    struct fumi_arena *a;
    struct fumi_err *e;
    const struct bind_path *up; /* of the struct that is being filled; NULL: the root */
    bool result;                /* the rules of fumi_bind_result apply */
    bool tool;                  /* the defaults of tools apply */
};

bool bind_knows_format(const char *format);

/* fault.c: these functions set *r->e and return BIND_FAULT or BIND_WRONG_TYPE. A wrong type is
 * separate because FUMI_LENIENT fields ignore it. */
enum { BIND_FAULT = -1, BIND_WRONG_TYPE = -2 };
int bind_fault(const struct bind_reader *r, const struct fumi_field *f, size_t row, const char *fmt,
               ...) __attribute__((format(printf, 4, 5), cold));
__attribute__((cold)) int bind_wrong_type(const struct bind_reader *r, const struct fumi_field *f,
                                          const struct fumi_val *v);
__attribute__((cold)) int bind_wrong_value(const struct bind_reader *r, const struct fumi_field *f);
__attribute__((cold)) int bind_wrong_count(const struct bind_reader *r, const struct fumi_field *f,
                                           const char *thing);
__attribute__((cold)) int bind_unknown(const struct bind_reader *r, const struct fumi_shape *s,
                                       struct fumi_str name);
__attribute__((cold)) int bind_takes_none(struct fumi_err *e);
const char *bind_not_null(const struct fumi_val *v); /* ", not null" if v is null, otherwise "" */

/* Reads one value by the rules of its field. Returns 0, or BIND_FAULT or BIND_WRONG_TYPE with *r->e
 * set. */
int bind_value(const struct bind_reader *r, const struct fumi_field *f, const struct fumi_val *v,
               void *to);

/* Stores the default of a field, or the defaults of the members of a nested struct. */
int bind_default(const struct bind_reader *r, const struct fumi_field *f, char *to);

/* Stores the value of a field that is absent, or null where null is allowed. The struct is zeroed,
 * so most types need nothing. */
static inline int bind_absent(const struct bind_reader *r, const struct fumi_field *f, char *to)
{
    bool def = f->def || (r->tool && f->tool_def);
    return def || f->type == FUMI_T_OBJECT ? bind_default(r, f, to) : 0;
}

#endif
