#include "rpc/envelope.h"

static const struct {
    struct fumi_str name;
    const char *twice;
} members[] = {
    [VERSION] = {{"jsonrpc", 7}, "jsonrpc is given twice"},
    [METHOD] = {{"method", 6}, "method is given twice"},
    [PARAMS] = {{"params", 6}, "params is given twice"},
    [ID] = {{"id", 2}, "id is given twice"},
    [RESULT] = {{"result", 6}, "result is given twice"},
    [ERROR] = {{"error", 5}, "error is given twice"},
};

static enum member find_escaped(const struct fumi_val *key)
{
    unsigned m = 0;
    while (m < UNKNOWN && !fumi_text_is(key, members[m].name))
        m++;
    return m;
}

/* Comparing a fixed number of bytes takes one or two instructions, so the length is tested first.
 */
static inline enum member find(const struct fumi_val *key)
{
    const char *p = key->p;
    if (key->bits & FUMI_ESCAPED)
        return find_escaped(key);
    if (key->n == 6)
        return fumi_same(p, "method", 6)   ? METHOD
               : fumi_same(p, "params", 6) ? PARAMS
               : fumi_same(p, "result", 6) ? RESULT
                                           : UNKNOWN;
    if (key->n == 2 && fumi_same(p, "id", 2))
        return ID;
    if (key->n == 7 && fumi_same(p, "jsonrpc", 7))
        return VERSION;
    return key->n == 5 && fumi_same(p, "error", 5) ? ERROR : UNKNOWN;
}

/* A repeated member is a fault. A repeated id takes precedence, because the answer cannot name it.
 */
static void repeat(struct envelope *out, enum member m)
{
    if (out->fault != members[ID].twice)
        out->fault = members[m].twice;
}

static void collect(const struct fumi_val *v, struct envelope *out)
{
    const struct fumi_val *end = fumi_next(v);
    for (const struct fumi_val *k = v + 1; k < end; k = fumi_next(fumi_of(k))) {
        enum member m = find(k);
        if (m == UNKNOWN)
            continue;
        if (out->members[m])
            repeat(out, m);
        out->members[m] = fumi_of(k);
    }
}

/* The fault of an object without any member of JSON-RPC is the empty string, so that its error has
 * no data, as in the examples of the JSON-RPC specification. */
static const char *fault_of(const struct envelope *e)
{
    if (!e->version && !e->method && !e->params && !e->id && !e->response)
        return "";
    if (!envelope_is_version(e->version) && !fumi_text_is(e->version, FUMI_STR("2.0")))
        return "jsonrpc must be 2.0";
    if (e->response)
        return e->result && e->error ? "result and error exclude each other" : NULL;
    if (!e->method)
        return "method is required";
    if (!fumi_is(e->method, FUMI_STRING))
        return "method must be a string";
    return e->method->n ? NULL : "method is required";
}

void envelope_read(const struct fumi_val *v, struct envelope *out)
{
    *out = (struct envelope){0};
    if (!fumi_is(v, FUMI_OBJECT)) {
        out->fault = "a request must be an object";
        return;
    }
    collect(v, out);
    out->response = !out->method && (out->result || out->error);
    if (out->id && !envelope_is_id(out->id))
        out->fault = "id must be a string, a number or null";
    if (out->fault && (!envelope_is_id(out->id) || out->fault == members[ID].twice))
        out->id = NULL;
    if (!out->fault)
        out->fault = fault_of(out);
}

/* Returns the byte after the string that begins at p; NULL: the string is not closed. */
static const char *skip_string(const char *p, const char *end)
{
    for (p++; p < end; p++) {
        if (*p == '\\')
            p++;
        else if (*p == '"')
            return p + 1;
    }
    return NULL;
}

static const char *skip_blank(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    return p;
}

/* Returns the text of a string without escapes, or of an integer, at p. p is NULL for anything
 * else.
 */
static struct fumi_str plain_id(const char *p, const char *end)
{
    const char *stop = p;
    if (p < end && *p == '"')
        stop = skip_string(p, end);
    else
        while (stop < end && ((*stop >= '0' && *stop <= '9') || (stop == p && *stop == '-')))
            stop++;
    if (!stop || stop == p || memchr(p, '\\', (size_t)(stop - p)) || (*p == '-' && stop == p + 1))
        return (struct fumi_str){0};
    return (struct fumi_str){p, (size_t)(stop - p)};
}

struct fumi_str envelope_find_id(struct fumi_str message)
{
    const char *p = message.p, *end = p + message.n;
    struct fumi_str id = {0};
    size_t found = 0;
    int depth = 0;
    while (p && p < end) {
        const char *after = *p == '"' ? skip_string(p, end) : p + 1;
        const char *colon = after && *p == '"' ? skip_blank(after, end) : NULL;
        depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
        if (depth == 1 && colon && colon < end && *colon == ':' &&
            fumi_eq((struct fumi_str){p, (size_t)(after - p)}, FUMI_STR("\"id\""))) {
            id = plain_id(skip_blank(colon + 1, end), end);
            found++;
        }
        p = after;
    }
    return found == 1 ? id : (struct fumi_str){0};
}

int envelope_error(struct fumi_arena *a, const struct fumi_val *error, struct fumi_err *out,
                   struct fumi_err *e)
{
    int64_t code;
    struct fumi_str message = fumi_text(a, fumi_get(error, "message"));
    if (!fumi_int(fumi_get(error, "code"), &code) || code < INT32_MIN || code > INT32_MAX)
        return fumi_err_set(e, FUMI_INVALID_REQUEST, "error.code must be an integer of 32 bits");
    if (!message.p)
        return fumi_err_set(e, FUMI_INVALID_REQUEST, "error.message must be a string");
    fumi_err_set(out, (int)code, "%.*s", FUMI_ARG(message));
    if (fumi_get(error, "data"))
        out->data = fumi_compact(a, fumi_get(error, "data")).text;
    return 0;
}
