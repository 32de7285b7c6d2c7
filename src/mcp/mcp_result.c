/* The result of a handler, written directly into the response while the handler runs. */
#include "mcp/mcp_parts.h"

/* Returns the output for the next item of the list. Opens the list if it is not open. */
static struct fumi_out *item(struct mcp_result *r)
{
    struct fumi_out *o = r->x->out;
    if (!r->listed) {
        fumi_put_key(o, r->list);
        fumi_put_open(o, '[');
    }
    r->listed = true;
    return o;
}

void mcp_result_close_list(struct mcp_result *r)
{
    fumi_put_close(item(r), ']');
}

static struct fumi_out *block_open(struct fumi_mcp_call *c, const char *type)
{
    struct mcp_result *r = c->result;
    struct fumi_out *o = item(r);
    fumi_put_open(o, '{');
    if (r->role) {
        mcp_put_text(o, "role", r->role);
        fumi_put_key(o, "content");
        fumi_put_open(o, '{');
    }
    mcp_put_text(o, "type", type);
    return o;
}

static void block_close(struct fumi_mcp_call *c)
{
    fumi_put_close(c->result->x->out, '}');
    if (c->result->role)
        fumi_put_close(c->result->x->out, '}');
}

static void put(struct fumi_out *o, const char *name, struct fumi_str value)
{
    fumi_put_key(o, name);
    fumi_put_str(o, value);
}

void fumi_mcp_text(struct fumi_mcp_call *c, struct fumi_str text)
{
    put(block_open(c, "text"), "text", text);
    block_close(c);
}

void mcp_result_add_copy(struct fumi_mcp_call *c, size_t at, size_t n)
{
    struct fumi_out *o = block_open(c, "text");
    fumi_put_key(o, "text");
    fumi_put_again(o, at, n);
    block_close(c);
}

static void put_media(struct fumi_mcp_call *c, const char *kind, const char *type,
                      struct fumi_str base64)
{
    struct fumi_out *o = block_open(c, kind);
    put(o, "data", base64);
    mcp_put_text(o, "mimeType", type);
    block_close(c);
}

void fumi_mcp_image(struct fumi_mcp_call *c, const char *type, struct fumi_str base64)
{
    put_media(c, "image", type, base64);
}

void fumi_mcp_audio(struct fumi_mcp_call *c, const char *type, struct fumi_str base64)
{
    put_media(c, "audio", type, base64);
}

static void put_contents(struct fumi_out *o, struct fumi_str uri, const char *type,
                         const char *kind, struct fumi_str value)
{
    fumi_put_open(o, '{');
    put(o, "uri", uri);
    mcp_put_text(o, "mimeType", type);
    put(o, kind, value);
    fumi_put_close(o, '}');
}

void fumi_mcp_embed(struct fumi_mcp_call *c, struct fumi_str uri, const char *type,
                    struct fumi_str text)
{
    struct fumi_out *o = block_open(c, "resource");
    fumi_put_key(o, "resource");
    put_contents(o, uri, type, "text", text);
    block_close(c);
}

void fumi_mcp_link(struct fumi_mcp_call *c, struct fumi_str uri, struct fumi_str name)
{
    struct fumi_out *o = block_open(c, "resource_link");
    put(o, "uri", uri);
    put(o, "name", name);
    block_close(c);
}

void fumi_mcp_role(struct fumi_mcp_call *c, const char *role)
{
    c->result->role = role;
}

void fumi_mcp_contents(struct fumi_mcp_call *c, struct fumi_str uri, const char *type,
                       struct fumi_str text)
{
    put_contents(item(c->result), uri, type, "text", text);
}

void fumi_mcp_blob(struct fumi_mcp_call *c, struct fumi_str uri, const char *type,
                   struct fumi_str base64)
{
    put_contents(item(c->result), uri, type, "blob", base64);
}

void fumi_mcp_resource(struct fumi_mcp_call *c, const struct fumi_resource *r)
{
    const struct {
        const char *name;
        struct fumi_str value;
    } rows[] = {{"uri", r->uri},
                {"name", r->name},
                {"title", r->title},
                {"description", r->description},
                {"mimeType", r->type}};
    struct fumi_out *o = item(c->result);
    fumi_put_open(o, '{');
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        if (rows[i].value.p)
            put(o, rows[i].name, rows[i].value);
    fumi_put_close(o, '}');
}

void fumi_mcp_next_cursor(struct fumi_mcp_call *c, struct fumi_str cursor)
{
    c->result->next_cursor = fumi_dup(c->call->arena, cursor);
}

void fumi_mcp_add_completion(struct fumi_mcp_call *c, struct fumi_str value)
{
    if (c->result->completions_n++ < MCP_COMPLETIONS_MAX)
        fumi_put_str(item(c->result), value);
}

enum fumi_ret fumi_mcp_failed(struct fumi_mcp_call *c, struct fumi_str text)
{
    c->result->failed = true;
    fumi_mcp_text(c, text);
    return FUMI_OK;
}

enum fumi_ret fumi_mcp_refuse(struct fumi_mcp_call *c, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fumi_err_args(&c->call->err, code, fmt, args);
    va_end(args);
    c->result->refused = true;
    return FUMI_FAIL;
}

bool fumi_mcp_can(const struct fumi_mcp_call *c, const char *capability)
{
    return fumi_is(fumi_get(c->capabilities, capability), FUMI_OBJECT);
}

enum fumi_ret fumi_mcp_require(struct fumi_mcp_call *c, const char *capability)
{
    if (fumi_mcp_can(c, capability))
        return FUMI_OK;
    if (!c->result->x->modern)
        return fumi_fail(c->call, FUMI_LIMIT, "The client does not support %s", capability);
    fumi_mcp_refuse(c, MCP_MISSING_CAPABILITY, "The client must declare the capability %s",
                    capability);
    c->call->err.data = fumi_fmt(c->call->arena, "{\"requiredCapabilities\":{\"%s\":{}}}",
                                 capability);
    return FUMI_FAIL;
}

void fumi_mcp_request_input(struct fumi_mcp_call *c, const char *key, const char *method,
                            struct fumi_json params)
{
    struct mcp_result *r = c->result;
    if (r->inputs_n < MCP_INPUTS_MAX)
        r->inputs[r->inputs_n++] = (struct mcp_input_request){
            key, method, {fumi_dup(c->call->arena, params.text)}};
}

void fumi_mcp_keep_state(struct fumi_mcp_call *c, struct fumi_str state)
{
    c->result->keep = fumi_dup(c->call->arena, state.p ? state : FUMI_STR(""));
}

static void on_progress(struct fumi_call *call, double done, double total, struct fumi_str message)
{
    struct mcp_context *x = call->progress_arg;
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    if (done <= x->last_progress)
        return;
    x->last_progress = done;
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "progressToken");
    fumi_put_val(&o, fumi_get(x->meta, "progressToken"));
    fumi_put_key(&o, "progress");
    fumi_put_real(&o, done);
    if (total > 0) {
        fumi_put_key(&o, "total");
        fumi_put_real(&o, total);
    }
    if (message.n)
        put(&o, "message", message);
    fumi_put_close(&o, '}');
    fumi_notify(x->call, "notifications/progress", &mcp_text_shape,
                &(struct mcp_text){{fumi_buf_str(&b)}});
    fumi_buf_done(&b);
}

void mcp_result_begin(struct mcp_result *r, struct mcp_context *x, struct fumi_mcp_call *c,
                      const char *list, const char *role)
{
    const struct fumi_val *token = fumi_get(x->meta, "progressToken");
    *r = (struct mcp_result){.x = x, .list = list, .role = role};
    mcp_begin_result(x);
    *c = (struct fumi_mcp_call){.call = x->call,
                                .mcp = x->mcp,
                                .self = x->mcp->o.self,
                                .capabilities = x->capabilities,
                                .result = r};
    if (!fumi_is(token, FUMI_STRING) && !fumi_is(token, FUMI_NUMBER))
        return;
    x->call->progress = on_progress;
    x->call->progress_arg = x;
}

void mcp_result_restart(struct mcp_result *r)
{
    mcp_begin_result(r->x);
    r->listed = r->failed = false;
}
