/* Calls with structs instead of JSON. */
#include "net/rpc_connection_parts.h"

/* An invalid method table is reported before anything is sent. */
static int check(const struct fumi_method *m, struct fumi_err *e)
{
    if (m->params && fumi_shape_check_result(m->params, m->name, e))
        return -1;
    return m->result && fumi_shape_check_result(m->result, m->name, e) ? -1 : 0;
}

static int put_params(struct fumi_buf *text, const struct fumi_method *m, const void *params,
                      struct fumi_err *e)
{
    struct fumi_out o = {.buf = text};
    if (m->params && params && fumi_emit_params(&o, m->params, params))
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "params of %s cannot be written as JSON: a number is not finite, or a "
                            "choice does not exist",
                            m->name);
    return 0;
}

static int misfit(const struct fumi_method *m, struct fumi_err *e)
{
    struct fumi_err why = *e;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "the result of %s is not as expected: %s", m->name,
                        why.text);
}

int fumi_rpc_connection_call_as(struct fumi_rpc_connection *c, struct fumi_arena *a,
                                const struct fumi_method *m, const void *params, void *result,
                                int64_t ms, struct fumi_err *e)
{
    struct fumi_buf text = {0};
    struct fumi_answer answer;
    int rc = check(m, e) || put_params(&text, m, params, e);
    if (!rc)
        rc = fumi_rpc_connection_call(c, a, m->name, (struct fumi_json){{text.p, text.n}}, ms,
                                      &answer, e);
    fumi_buf_done(&text);
    if (rc)
        return -1;
    if (!answer.ok) {
        *e = answer.err;
        return 1;
    }
    if (!m->result || !result)
        return 0;
    memset(result, 0, m->result->size);
    const struct fumi_val *v = fumi_parse(a, answer.result.text, e);
    return v && fumi_bind_result(a, m->result, v, result, e) == 0 ? 0 : misfit(m, e);
}
