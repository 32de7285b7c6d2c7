/* prompts/list and prompts/get. */
#include "mcp/mcp_parts.h"

static void put_arguments(struct fumi_out *o, const struct fumi_prompt *p)
{
    if (!p->arguments_n)
        return;
    fumi_put_key(o, "arguments");
    fumi_put_open(o, '[');
    for (size_t i = 0; i < p->arguments_n; i++) {
        fumi_put_open(o, '{');
        mcp_put_text(o, "name", p->arguments[i].name);
        mcp_put_text(o, "description", p->arguments[i].description);
        fumi_put_key(o, "required");
        fumi_put_bool(o, p->arguments[i].required);
        fumi_put_close(o, '}');
    }
    fumi_put_close(o, ']');
}

static struct fumi_json list_prompts(struct fumi_mcp *m)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '[');
    for (size_t i = 0; i < m->o.prompts_n; i++) {
        const struct fumi_prompt *p = &m->o.prompts[i];
        if (m->o.read_only && !(p->flags & FUMI_READ_ONLY))
            continue;
        fumi_put_open(&o, '{');
        mcp_put_text(&o, "name", p->name);
        mcp_put_text(&o, "title", p->title);
        mcp_put_text(&o, "description", p->description);
        put_arguments(&o, p);
        fumi_put_close(&o, '}');
    }
    fumi_put_close(&o, ']');
    return (struct fumi_json){fumi_buf_keep(&b, &m->arena)};
}

void mcp_prompts_prepare(struct fumi_mcp *m)
{
    m->prompt_list = list_prompts(m);
}

enum fumi_ret mcp_prompts_list(struct fumi_call *call, const void *params, void *result)
{
    const struct fumi_mcp *m = call->self;
    (void)params, (void)result;
    return mcp_answer_list(call, "prompts", &m->prompt_list, NULL);
}

const struct fumi_prompt *mcp_prompt_find(const struct fumi_mcp *m, const struct fumi_val *name)
{
    for (size_t i = 0; i < m->o.prompts_n; i++)
        if (fumi_text_is(name, fumi_str(m->o.prompts[i].name)))
            return &m->o.prompts[i];
    return NULL;
}

unsigned mcp_prompt_flags(const struct fumi_mcp *m, const struct fumi_val *params)
{
    const struct fumi_prompt *p = mcp_prompt_find(m, fumi_get(params, "name"));
    return p ? p->flags & FUMI_BLOCKING : 0;
}

static enum fumi_ret check_arguments(struct fumi_call *call, const struct fumi_prompt *p,
                                     const struct fumi_val *arguments)
{
    if (arguments && !fumi_is(arguments, FUMI_OBJECT))
        return fumi_fail(call, FUMI_INVALID_PARAMS, "arguments must be an object of strings");
    for (size_t i = 0; i < p->arguments_n; i++) {
        const struct fumi_val *v = fumi_get(arguments, p->arguments[i].name);
        if (!v && p->arguments[i].required)
            return fumi_fail(call, FUMI_INVALID_PARAMS, "arguments.%s is required",
                             p->arguments[i].name);
        if (v && !fumi_is(v, FUMI_STRING))
            return fumi_fail(call, FUMI_INVALID_PARAMS, "arguments.%s must be a string",
                             p->arguments[i].name);
    }
    return FUMI_OK;
}

static enum fumi_ret run_prompt(struct fumi_mcp_call *c, const void *row)
{
    return ((const struct fumi_prompt *)row)->run(c);
}

static enum fumi_ret get_prompt(struct mcp_context *x, const struct fumi_prompt *p)
{
    struct mcp_result r;
    struct fumi_mcp_call c;
    mcp_result_begin(&r, x, &c, "messages", "user");
    c.arguments = fumi_get(x->params, "arguments");
    if (mcp_run_rounds(&r, &c, run_prompt, p, fumi_str(p->name)) != FUMI_OK)
        return FUMI_FAIL;
    if (mcp_result_needs_input(&r))
        return mcp_input_required(&c);
    mcp_result_close_list(&r);
    mcp_put_text(x->out, "description", p->description);
    return mcp_end_result(x, &mcp_uncached);
}

enum fumi_ret mcp_prompts_get(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    (void)params, (void)result;
    if (mcp_context_init(&x, call, MCP_LEGACY | MCP_MODERN) != FUMI_OK)
        return FUMI_FAIL;
    const struct fumi_val *name = fumi_get(x.params, "name");
    const struct fumi_prompt *p = mcp_prompt_find(x.mcp, name);
    struct fumi_str text = fumi_text(call->arena, name);
    if (!p)
        return fumi_fail(call, FUMI_INVALID_PARAMS, "Unknown prompt: %.*s",
                         (int)(text.n > 128 ? 128 : text.n), text.p ? text.p : "");
    if (check_arguments(call, p, fumi_get(x.params, "arguments")) != FUMI_OK)
        return FUMI_FAIL;
    return get_prompt(&x, p);
}
