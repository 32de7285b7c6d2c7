/* What a handler answers, while it is made; and the rounds in which it asks the client. */
#include "mcp/mcp_parts.h"

enum { ROUNDS = 16 }; /* after which a legacy client is not asked any more */

/* Where the next item of the list is written. */
static struct fumi_out *item(struct mcp_draft *d)
{
    struct fumi_out *o = d->x->out;
    if (!d->listed) {
        fumi_put_key(o, d->list);
        fumi_put_open(o, '[');
    }
    d->listed = true;
    return o;
}

void draft_close(struct mcp_draft *d)
{
    fumi_put_close(item(d), ']');
}

static struct fumi_out *block_open(struct fumi_mcp_call *c, const char *type)
{
    struct mcp_draft *d = c->draft;
    struct fumi_out *o = item(d);
    fumi_put_open(o, '{');
    if (d->role) {
        mcp_put(o, "role", d->role);
        fumi_put_key(o, "content");
        fumi_put_open(o, '{');
    }
    mcp_put(o, "type", type);
    return o;
}

static void block_close(struct fumi_mcp_call *c)
{
    fumi_put_close(c->draft->x->out, '}');
    if (c->draft->role)
        fumi_put_close(c->draft->x->out, '}');
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

void draft_repeat(struct fumi_mcp_call *c, size_t at, size_t n)
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
    mcp_put(o, "mimeType", type);
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
    mcp_put(o, "mimeType", type);
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
    c->draft->role = role;
}

void fumi_mcp_contents(struct fumi_mcp_call *c, struct fumi_str uri, const char *type,
                       struct fumi_str text)
{
    put_contents(item(c->draft), uri, type, "text", text);
}

void fumi_mcp_blob(struct fumi_mcp_call *c, struct fumi_str uri, const char *type,
                   struct fumi_str base64)
{
    put_contents(item(c->draft), uri, type, "blob", base64);
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
    struct fumi_out *o = item(c->draft);
    fumi_put_open(o, '{');
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        if (rows[i].value.p)
            put(o, rows[i].name, rows[i].value);
    fumi_put_close(o, '}');
}

void fumi_mcp_more(struct fumi_mcp_call *c, struct fumi_str cursor)
{
    c->draft->more = fumi_dup(c->call->arena, cursor);
}

void fumi_mcp_offer(struct fumi_mcp_call *c, struct fumi_str value)
{
    if (c->draft->offers_n++ < OFFERS)
        fumi_put_str(item(c->draft), value);
}

enum fumi_ret fumi_mcp_failed(struct fumi_mcp_call *c, struct fumi_str text)
{
    c->draft->failed = true;
    fumi_mcp_text(c, text);
    return FUMI_OK;
}

enum fumi_ret fumi_mcp_refuse(struct fumi_mcp_call *c, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fumi_err_args(&c->call->err, code, fmt, args);
    va_end(args);
    c->draft->refused = true;
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
    if (!c->draft->x->modern)
        return fumi_fail(c->call, FUMI_LIMIT, "The client does not support %s", capability);
    fumi_mcp_refuse(c, MCP_MISSING_CAPABILITY, "The client must declare the capability %s",
                    capability);
    c->call->err.data = fumi_fmt(c->call->arena, "{\"requiredCapabilities\":{\"%s\":{}}}",
                                 capability);
    return FUMI_FAIL;
}

void fumi_mcp_need(struct fumi_mcp_call *c, const char *key, const char *method,
                   struct fumi_json params)
{
    struct mcp_draft *d = c->draft;
    if (d->needs_n < NEEDS)
        d->needs[d->needs_n++] = (struct mcp_need){
            key, method, {fumi_dup(c->call->arena, params.text)}};
}

void fumi_mcp_keep(struct fumi_mcp_call *c, struct fumi_str state)
{
    c->draft->keep = fumi_dup(c->call->arena, state.p ? state : FUMI_STR(""));
}

/* --- Progress. --- */

static void on_progress(struct fumi_call *call, double done, double total, struct fumi_str message)
{
    struct mcp_context *x = call->progress_arg;
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    if (done <= x->told)
        return;
    x->told = done;
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

void draft_begin(struct mcp_draft *d, struct mcp_context *x, struct fumi_mcp_call *c,
                 const char *list, const char *role)
{
    const struct fumi_val *token = fumi_get(x->meta, "progressToken");
    *d = (struct mcp_draft){.x = x, .list = list, .role = role};
    mcp_open(x);
    *c = (struct fumi_mcp_call){.call = x->call,
                                .mcp = x->mcp,
                                .self = x->mcp->o.self,
                                .capabilities = x->capabilities,
                                .draft = d};
    if (!fumi_is(token, FUMI_STRING) && !fumi_is(token, FUMI_NUMBER))
        return;
    x->call->progress = on_progress;
    x->call->progress_arg = x;
}

/* --- Rounds. --- */

/* What a text to keep is bound to: all that was asked. */
static struct fumi_str bound_to(const struct fumi_mcp_call *c)
{
    struct fumi_call *call = c->call;
    struct fumi_str arguments = fumi_compact(call->arena, c->arguments).text;
    return fumi_fmt(call->arena, "%.*s\n%.*s\n%.*s\n%.*s", FUMI_ARG(call->peer->user),
                    FUMI_ARG(call->name), FUMI_ARG(c->draft->name), FUMI_ARG(arguments));
}

/* What the client repeats its request with. */
static enum fumi_ret take_responses(struct mcp_draft *d, struct fumi_mcp_call *c)
{
    const struct fumi_val *params = d->x->params, *state = fumi_get(params, "requestState");
    struct fumi_arena *a = c->call->arena;
    if (!d->x->modern)
        return FUMI_OK;
    c->responses = fumi_get(params, "inputResponses");
    if (c->responses && !fumi_is(c->responses, FUMI_OBJECT))
        return fumi_mcp_refuse(c, FUMI_INVALID_PARAMS, "inputResponses must be an object");
    if (state && !state_read(c->mcp, a, bound_to(c), fumi_text(a, state), &c->state))
        return fumi_mcp_refuse(c, FUMI_INVALID_PARAMS,
                               "requestState is not what was sent, or too old: begin again "
                               "without it");
    return FUMI_OK;
}

static const char *capability_of(const char *method)
{
    static const struct {
        const char *method, *capability;
    } rows[] = {{"sampling/createMessage", "sampling"},
                {"elicitation/create", "elicitation"},
                {"roots/list", "roots"}};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        if (!strcmp(method, rows[i].method))
            return rows[i].capability;
    return method;
}

/* Asks a legacy client all that is needed; the answers become what a modern one would send. */
static enum fumi_ret ask_all(struct mcp_draft *d, struct fumi_mcp_call *c)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    enum fumi_ret ret = FUMI_OK;
    fumi_put_open(&o, '{');
    for (size_t i = 0; i < d->needs_n && ret == FUMI_OK; i++) {
        struct fumi_json answer = {{0}};
        const char *capability = capability_of(d->needs[i].method);
        if (!fumi_mcp_can(c, capability))
            ret = fumi_fail(c->call, FUMI_LIMIT, "The client does not support %s", capability);
        else
            ret = fumi_request(c->call, d->needs[i].method, d->needs[i].params, &answer);
        fumi_put_key(&o, d->needs[i].key);
        fumi_put_json(&o, answer);
    }
    fumi_put_close(&o, '}');
    if (ret == FUMI_OK)
        c->responses = fumi_parse(c->call->arena, fumi_buf_keep(&b, c->call->arena), &c->call->err);
    fumi_buf_done(&b);
    return ret;
}

void draft_again(struct mcp_draft *d)
{
    mcp_open(d->x);
    d->listed = d->failed = false;
}

static void begin_round(struct mcp_draft *d, struct fumi_mcp_call *c)
{
    draft_again(d);
    d->needs_n = 0;
    c->state = d->keep;
    d->keep = (struct fumi_str){0};
    c->structured = (struct fumi_json){{0}};
}

enum fumi_ret mcp_rounds(struct mcp_draft *d, struct fumi_mcp_call *c, mcp_handler *run,
                         const void *row, struct fumi_str name)
{
    d->name = name;
    if (take_responses(d, c) != FUMI_OK)
        return FUMI_FAIL;
    for (int round = 0; round < ROUNDS; round++) {
        enum fumi_ret ret = run(c, row);
        if (ret != FUMI_OK || !draft_asks(d) || d->x->modern)
            return ret;
        if (ask_all(d, c) != FUMI_OK)
            return FUMI_FAIL;
        begin_round(d, c);
    }
    return fumi_fail(c->call, FUMI_LIMIT, "It asked the client %d times and has not ended", ROUNDS);
}

static void put_needs(const struct mcp_draft *d, struct fumi_out *o)
{
    fumi_put_key(o, "inputRequests");
    fumi_put_open(o, '{');
    for (size_t i = 0; i < d->needs_n; i++) {
        fumi_put_key(o, d->needs[i].key);
        fumi_put_open(o, '{');
        mcp_put(o, "method", d->needs[i].method);
        fumi_put_key(o, "params");
        fumi_put_json(o, d->needs[i].params);
        fumi_put_close(o, '}');
    }
    fumi_put_close(o, '}');
}

/* A modern client is only asked for what it declared. */
enum fumi_ret mcp_input_required(struct fumi_mcp_call *c)
{
    const struct mcp_draft *d = c->draft;
    for (size_t i = 0; i < d->needs_n; i++)
        if (fumi_mcp_require(c, capability_of(d->needs[i].method)) != FUMI_OK)
            return FUMI_FAIL;
    struct fumi_out *o = d->x->out = fumi_result(c->call);
    fumi_put_open(o, '{');
    mcp_put(o, "resultType", "input_required");
    if (d->needs_n)
        put_needs(d, o);
    if (d->keep.p)
        put(o, "requestState", state_sign(c->mcp, c->call->arena, bound_to(c), d->keep));
    return mcp_close(d->x, &mcp_uncached);
}
