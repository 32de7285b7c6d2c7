/* Prompts, resources and completion. */
#include "mcp/mcp_parts.h"

enum fumi_ret mcp_one_page(const struct mcp_context *x)
{
    const struct fumi_val *cursor = fumi_get(x->params, "cursor");
    if (!cursor || fumi_text_is(cursor, FUMI_STR("")))
        return FUMI_OK;
    return fumi_fail(x->call, FUMI_INVALID_PARAMS,
                     "cursor must be a nextCursor as it was answered");
}

static void put_arguments(struct fumi_out *o, const struct fumi_prompt *p)
{
    if (!p->arguments_n)
        return;
    fumi_put_key(o, "arguments");
    fumi_put_open(o, '[');
    for (size_t i = 0; i < p->arguments_n; i++) {
        fumi_put_open(o, '{');
        mcp_put(o, "name", p->arguments[i].name);
        mcp_put(o, "description", p->arguments[i].description);
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
        mcp_put(&o, "name", p->name);
        mcp_put(&o, "title", p->title);
        mcp_put(&o, "description", p->description);
        put_arguments(&o, p);
        fumi_put_close(&o, '}');
    }
    fumi_put_close(&o, ']');
    return (struct fumi_json){fumi_buf_keep(&b, &m->arena)};
}

static struct fumi_json list_templates(struct fumi_mcp *m)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '[');
    for (size_t i = 0; m->o.resources && i < m->o.resources->templates_n; i++) {
        const struct fumi_template *t = &m->o.resources->templates[i];
        fumi_put_open(&o, '{');
        mcp_put(&o, "uriTemplate", t->uri);
        mcp_put(&o, "name", t->name);
        mcp_put(&o, "title", t->title);
        mcp_put(&o, "description", t->description);
        mcp_put(&o, "mimeType", t->type);
        fumi_put_close(&o, '}');
    }
    fumi_put_close(&o, ']');
    return (struct fumi_json){fumi_buf_keep(&b, &m->arena)};
}

void mcp_offers_prepare(struct fumi_mcp *m)
{
    m->prompt_list = list_prompts(m);
    m->template_list = list_templates(m);
}

static enum fumi_ret answer_list(struct fumi_call *call, const char *name, size_t offset)
{
    struct mcp_context x;
    if (mcp_enter(&x, call, LEGACY | MODERN) != FUMI_OK || mcp_one_page(&x) != FUMI_OK)
        return FUMI_FAIL;
    fumi_put_key(mcp_open(&x), name);
    fumi_put_json(x.out, *(struct fumi_json *)((char *)x.mcp + offset));
    return mcp_close(&x, &mcp_public);
}

enum fumi_ret mcp_prompts_list(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    return answer_list(call, "prompts", offsetof(struct fumi_mcp, prompt_list));
}

enum fumi_ret mcp_templates_list(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    return answer_list(call, "resourceTemplates", offsetof(struct fumi_mcp, template_list));
}

/* --- Prompts. --- */

static const struct fumi_prompt *find_prompt(const struct fumi_mcp *m, const struct fumi_val *name)
{
    for (size_t i = 0; i < m->o.prompts_n; i++)
        if (fumi_text_is(name, fumi_str(m->o.prompts[i].name)))
            return &m->o.prompts[i];
    return NULL;
}

unsigned mcp_prompt_flags(const struct fumi_mcp *m, const struct fumi_val *params)
{
    const struct fumi_prompt *p = find_prompt(m, fumi_get(params, "name"));
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
    struct mcp_draft d;
    struct fumi_mcp_call c;
    draft_begin(&d, x, &c, "messages", "user");
    c.arguments = fumi_get(x->params, "arguments");
    if (mcp_rounds(&d, &c, run_prompt, p, fumi_str(p->name)) != FUMI_OK)
        return FUMI_FAIL;
    if (draft_asks(&d))
        return mcp_input_required(&c);
    draft_close(&d);
    mcp_put(x->out, "description", p->description);
    return mcp_close(x, &mcp_uncached);
}

enum fumi_ret mcp_prompts_get(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    (void)params, (void)result;
    if (mcp_enter(&x, call, LEGACY | MODERN) != FUMI_OK)
        return FUMI_FAIL;
    const struct fumi_val *name = fumi_get(x.params, "name");
    const struct fumi_prompt *p = find_prompt(x.mcp, name);
    struct fumi_str text = fumi_text(call->arena, name);
    if (!p)
        return fumi_fail(call, FUMI_INVALID_PARAMS, "Unknown prompt: %.*s",
                         (int)(text.n > 128 ? 128 : text.n), text.p ? text.p : "");
    if (check_arguments(call, p, fumi_get(x.params, "arguments")) != FUMI_OK)
        return FUMI_FAIL;
    return get_prompt(&x, p);
}

/* --- Resources. --- */

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
    struct mcp_draft d;
    struct fumi_mcp_call c;
    (void)params, (void)result;
    if (mcp_enter(&x, call, LEGACY | MODERN) != FUMI_OK)
        return FUMI_FAIL;
    const struct fumi_val *cursor = fumi_get(x.params, "cursor");
    if (cursor && !fumi_is(cursor, FUMI_STRING))
        return fumi_fail(call, FUMI_INVALID_PARAMS, "cursor must be a string");
    draft_begin(&d, &x, &c, "resources", NULL);
    if (run_list(&c, fumi_text(call->arena, cursor)) != FUMI_OK)
        return FUMI_FAIL;
    draft_close(&d);
    if (d.more.p) {
        fumi_put_key(x.out, "nextCursor");
        fumi_put_str(x.out, d.more);
    }
    return mcp_close(&x, &mcp_personal);
}

static enum fumi_ret run_read(struct fumi_mcp_call *c, const void *row)
{
    return c->mcp->o.resources->read(c, *(const struct fumi_str *)row);
}

static enum fumi_ret answer_read(struct fumi_mcp_call *c, struct fumi_str uri)
{
    struct mcp_draft *d = c->draft;
    struct mcp_context *x = d->x;
    if (draft_asks(d))
        return mcp_input_required(c);
    if (!d->listed) {
        fumi_fail(x->call, x->modern ? FUMI_INVALID_PARAMS : MCP_NO_RESOURCE, "Resource not found");
        x->call->err.data = mcp_data(x->call->arena, "uri", uri);
        return FUMI_FAIL;
    }
    draft_close(d);
    return mcp_close(x, &mcp_personal);
}

enum fumi_ret mcp_resources_read(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    struct mcp_draft d;
    struct fumi_mcp_call c;
    (void)params, (void)result;
    if (mcp_enter(&x, call, LEGACY | MODERN) != FUMI_OK)
        return FUMI_FAIL;
    struct fumi_str uri = fumi_text(call->arena, fumi_get(x.params, "uri"));
    if (!uri.p)
        return fumi_fail(call, FUMI_INVALID_PARAMS, "uri is required: a string");
    draft_begin(&d, &x, &c, "contents", NULL);
    enum fumi_ret ret = mcp_rounds(&d, &c, run_read, &uri, uri);
    return ret == FUMI_OK ? answer_read(&c, uri) : ret;
}

/* --- Completion. --- */

static bool is_template(const struct fumi_mcp *m, const struct fumi_val *uri)
{
    for (size_t i = 0; m->o.resources && i < m->o.resources->templates_n; i++)
        if (fumi_text_is(uri, fumi_str(m->o.resources->templates[i].uri)))
            return true;
    return false;
}

static enum fumi_ret read_question(struct mcp_context *x, struct fumi_mcp_question *q)
{
    struct fumi_arena *a = x->call->arena;
    const struct fumi_val *ref = fumi_get(x->params, "ref");
    const struct fumi_val *argument = fumi_get(x->params, "argument");
    const struct fumi_val *name = fumi_get(ref, "name"), *uri = fumi_get(ref, "uri");
    bool prompt = fumi_text_is(fumi_get(ref, "type"), FUMI_STR("ref/prompt"));
    bool known = prompt ? find_prompt(x->mcp, name) != NULL
                        : fumi_text_is(fumi_get(ref, "type"), FUMI_STR("ref/resource")) &&
                              is_template(x->mcp, uri);
    *q = (struct fumi_mcp_question){
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
    struct mcp_draft d;
    struct fumi_mcp_call c;
    struct fumi_mcp_question q;
    (void)params, (void)result;
    if (mcp_enter(&x, call, LEGACY | MODERN) != FUMI_OK || read_question(&x, &q) != FUMI_OK)
        return FUMI_FAIL;
    draft_begin(&d, &x, &c, "values", NULL);
    fumi_put_key(x.out, "completion");
    fumi_put_open(x.out, '{');
    if (x.mcp->o.complete && x.mcp->o.complete(&c, &q) != FUMI_OK)
        return FUMI_FAIL;
    draft_close(&d);
    fumi_put_key(x.out, "total");
    fumi_put_int(x.out, (int64_t)d.offers_n);
    fumi_put_key(x.out, "hasMore");
    fumi_put_bool(x.out, d.offers_n > OFFERS);
    fumi_put_close(x.out, '}');
    return mcp_close(&x, &mcp_uncached);
}
