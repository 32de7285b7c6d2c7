/* Private to rpc/: the members of a request, notification or response. */
#ifndef FUMI_RPC_ENVELOPE_H
#define FUMI_RPC_ENVELOPE_H

#include "json/json.h"

/* The members that JSON-RPC defines. */
enum member { VERSION, METHOD, PARAMS, ID, RESULT, ERROR, UNKNOWN };

/* A request, notification or response. Members that are absent are NULL. */
struct envelope {
    union {
        struct {
            const struct fumi_val *version, *method, *params, *id, *result, *error;
        };
        const struct fumi_val *members[UNKNOWN]; /* the same, by enum member */
    };
    const char *fault; /* why it is invalid; NULL: it is valid */
    bool response;
};
void envelope_read(const struct fumi_val *v, struct envelope *out);

static inline bool envelope_is_id(const struct fumi_val *v)
{
    const unsigned kinds = 1u << FUMI_STRING | 1u << FUMI_NUMBER | 1u << FUMI_NULL;
    return v && kinds >> (v->bits & 7) & 1;
}

static inline bool envelope_is_version(const struct fumi_val *v)
{
    return fumi_is(v, FUMI_STRING) && v->n == 3 && memcmp(v->p, "2.0\"", 4) == 0;
}

/* Finds the id of a request that is not valid JSON: returns the text of the string or number that
 * follows "id" in the outermost object. p is NULL if there is none, or more than one. */
struct fumi_str envelope_find_id(struct fumi_str message);

/* Reads the error object of a response into *out; out->data lives in the arena. Returns -1 with *e
 * set if it is not a valid error object. */
int envelope_error(struct fumi_arena *a, const struct fumi_val *error, struct fumi_err *out,
                   struct fumi_err *e);

#endif
