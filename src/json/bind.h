/* Private to json/: what those who read shapes share. */
#ifndef FUMI_JSON_BIND_H
#define FUMI_JSON_BIND_H

#include "json/shape.h"

enum { BIND_FIELDS_MAX = 64 }; /* of a shape: a bit in a uint64_t for each */

/* Whether the shape is that of a bare value: one row without a name. */
static inline bool bind_is_bare(const struct fumi_shape *s)
{
    return s->n && !s->fields[0].name;
}

/* A member that is being read, as a link to those around it. */
struct bind_place {
    const struct bind_place *up;
    const struct fumi_field *field;
    size_t row; /* which item of a list; BIND_NO_ROW: the member itself */
};
#define BIND_NO_ROW SIZE_MAX

struct bind_reader {
    struct fumi_arena *a;
    struct fumi_err *e;
    const struct bind_place *up; /* what the struct that is being filled belongs to */
    bool result;                 /* of a call, by the rules of fumi_bind_result */
};

bool bind_knows_format(const char *format);

/* fault.c: write the sentence and return one of these. WRONG_TYPE is told from other faults because
 * a lenient field forgives it. */
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
const char *bind_not_null(const struct fumi_val *v); /* ", not null" if that is what it is */

/* Reads one value by the rules of its field. Not 0: a fault, with its sentence in *r->e. */
int bind_value(const struct bind_reader *r, const struct fumi_field *f, const struct fumi_val *v,
               void *to);

/* Puts the default of a member, or those of the members of an object. */
int bind_default(const struct bind_reader *r, const struct fumi_field *f, char *to);

/* Puts what a member is that is absent, or null where that is allowed: mostly nothing. */
static inline int bind_absent(const struct bind_reader *r, const struct fumi_field *f, char *to)
{
    return f->def || f->type == FUMI_T_OBJECT ? bind_default(r, f, to) : 0;
}

#endif
