/* completion/complete. */
#include "mcp/mcp_parts.h"

static bool is_template(const struct fumi_mcp *m, const struct fumi_val *uri)
{
    for (size_t i = 0; m->o.resources && i < m->o.resources->templates_n; i++)
        if (fumi_text_is(uri, fumi_str(m->o.resources->templates[i].uri)))
            return true;
    return false;
}

static enum fumi_ret read_request(struct mcp_context *x, struct fumi_mcp_completion_request *q)
{
    struct fumi_arena *a = x->call->arena;
    const struct fumi_val *ref = fumi_get(x->params, "ref");
    const struct fumi_val *argument = fumi_get(x->params, "argument");
    const struct fumi_val *name = fumi_get(ref, "name"), *uri = fumi_get(ref, "uri");
    bool prompt = fumi_text_is(fumi_get(ref, "type"), FUMI_STR("ref/prompt"));
    bool known = prompt ? mcp_prompt_find(x->mcp, name) != NULL
                        : fumi_text_is(fumi_get(ref, "type"), FUMI_STR("ref/resource")) &&
                              is_template(x->mcp, uri);
    *q = (struct fumi_mcp_completion_request){
        .prompt = prompt ? fumi_text(a, name) : (struct fumi_str){0},
        .uri = prompt ? (struct fumi_str){0} : fumi_text(a, uri),
        .argument = fumi_text(a, fumi_get(argument, "name")),
        .value = fumi_text(a, fumi_get(argument, "value")),
        .context = fumi_get(fumi_get(x->params, "context"), "arguments"),
    };
    if (!known)
        return fumi_fail(x->call, FUMI_INVALID_PARAMS,
                         "ref names no prompt and no resource template of this server");
    if (!q->argument.p || !q->value.p)
        return fumi_fail(x->call, FUMI_INVALID_PARAMS,
                         "argument must be an object with the strings name and value");
    return FUMI_OK;
}

enum fumi_ret mcp_complete(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    struct mcp_result r;
    struct fumi_mcp_call c;
    struct fumi_mcp_completion_request q;
    (void)params, (void)result;
    if (mcp_context_init(&x, call, MCP_LEGACY | MCP_MODERN) != FUMI_OK ||
        read_request(&x, &q) != FUMI_OK)
        return FUMI_FAIL;
    mcp_result_begin(&r, &x, &c, "values", NULL);
    fumi_put_key(x.out, "completion");
    fumi_put_open(x.out, '{');
    if (x.mcp->o.complete && x.mcp->o.complete(&c, &q) != FUMI_OK)
        return FUMI_FAIL;
    mcp_result_close_list(&r);
    fumi_put_key(x.out, "total");
    fumi_put_int(x.out, (int64_t)r.completions_n);
    fumi_put_key(x.out, "hasMore");
    fumi_put_bool(x.out, r.completions_n > MCP_COMPLETIONS_MAX);
    fumi_put_close(x.out, '}');
    return mcp_end_result(&x, &mcp_uncached);
}
