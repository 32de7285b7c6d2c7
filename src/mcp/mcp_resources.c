/* resources/list, resources/read and resources/templates/list. */
#include "mcp/mcp_parts.h"

static struct fumi_json list_templates(struct fumi_mcp *m)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '[');
    for (size_t i = 0; m->o.resources && i < m->o.resources->templates_n; i++) {
        const struct fumi_template *t = &m->o.resources->templates[i];
        fumi_put_open(&o, '{');
        mcp_put_text(&o, "uriTemplate", t->uri);
        mcp_put_text(&o, "name", t->name);
        mcp_put_text(&o, "title", t->title);
        mcp_put_text(&o, "description", t->description);
        mcp_put_text(&o, "mimeType", t->type);
        fumi_put_close(&o, '}');
    }
    fumi_put_close(&o, ']');
    return (struct fumi_json){fumi_buf_keep(&b, &m->arena)};
}

void mcp_resources_prepare(struct fumi_mcp *m)
{
    m->template_list = list_templates(m);
}

enum fumi_ret mcp_templates_list(struct fumi_call *call, const void *params, void *result)
{
    const struct fumi_mcp *m = call->self;
    (void)params, (void)result;
    return mcp_answer_list(call, "resourceTemplates", &m->template_list, NULL);
}

static enum fumi_ret run_list(struct fumi_mcp_call *c, struct fumi_str cursor)
{
    if (c->mcp->o.resources->list(c, cursor.n ? cursor : (struct fumi_str){0}) == FUMI_OK)
        return FUMI_OK;
    if (!c->call->err.code)
        fumi_fail(c->call, FUMI_INVALID_PARAMS, "cursor must be a nextCursor as it was answered");
    return FUMI_FAIL;
}

enum fumi_ret mcp_resources_list(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    struct mcp_result r;
    struct fumi_mcp_call c;
    (void)params, (void)result;
    if (mcp_context_init(&x, call, MCP_LEGACY | MCP_MODERN) != FUMI_OK)
        return FUMI_FAIL;
    const struct fumi_val *cursor = fumi_get(x.params, "cursor");
    if (cursor && !fumi_is(cursor, FUMI_STRING))
        return fumi_fail(call, FUMI_INVALID_PARAMS, "cursor must be a string");
    mcp_result_begin(&r, &x, &c, "resources", NULL);
    if (run_list(&c, fumi_text(call->arena, cursor)) != FUMI_OK)
        return FUMI_FAIL;
    mcp_result_close_list(&r);
    if (r.next_cursor.p) {
        fumi_put_key(x.out, "nextCursor");
        fumi_put_str(x.out, r.next_cursor);
    }
    return mcp_end_result(&x, &mcp_personal);
}

static enum fumi_ret run_read(struct fumi_mcp_call *c, const void *row)
{
    return c->mcp->o.resources->read(c, *(const struct fumi_str *)row);
}

static enum fumi_ret answer_read(struct fumi_mcp_call *c, struct fumi_str uri)
{
    struct mcp_result *r = c->result;
    struct mcp_context *x = r->x;
    if (mcp_result_needs_input(r))
        return mcp_input_required(c);
    if (!r->listed) {
        fumi_fail(x->call, x->modern ? FUMI_INVALID_PARAMS : MCP_NO_RESOURCE, "Resource not found");
        x->call->err.data = mcp_error_data(x->call->arena, "uri", uri);
        return FUMI_FAIL;
    }
    mcp_result_close_list(r);
    return mcp_end_result(x, &mcp_personal);
}

enum fumi_ret mcp_resources_read(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    struct mcp_result r;
    struct fumi_mcp_call c;
    (void)params, (void)result;
    if (mcp_context_init(&x, call, MCP_LEGACY | MCP_MODERN) != FUMI_OK)
        return FUMI_FAIL;
    struct fumi_str uri = fumi_text(call->arena, fumi_get(x.params, "uri"));
    if (!uri.p)
        return fumi_fail(call, FUMI_INVALID_PARAMS, "uri is required: a string");
    mcp_result_begin(&r, &x, &c, "contents", NULL);
    enum fumi_ret ret = mcp_run_rounds(&r, &c, run_read, &uri, uri);
    return ret == FUMI_OK ? answer_read(&c, uri) : ret;
}
