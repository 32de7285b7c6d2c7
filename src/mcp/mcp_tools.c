/* tools/list and tools/call. */
#include "mcp/mcp_parts.h"

static bool reads_only(const struct mcp_tool *t)
{
    return (t->method ? t->method->flags : t->row->flags) & FUMI_READ_ONLY &&
           !(t->row->flags & FUMI_MCP_WRITES);
}

static void put_annotations(struct fumi_out *o, const struct mcp_tool *t)
{
    const struct {
        const char *name;
        bool value;
    } rows[] = {
        {"readOnlyHint", reads_only(t)},
        {"destructiveHint", t->row->flags & FUMI_MCP_DESTRUCTIVE},
        {"idempotentHint", reads_only(t) || t->row->flags & FUMI_MCP_IDEMPOTENT},
        {"openWorldHint", t->row->flags & FUMI_MCP_OPEN_WORLD},
    };
    fumi_put_key(o, "annotations");
    fumi_put_open(o, '{');
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        fumi_put_key(o, rows[i].name);
        fumi_put_bool(o, rows[i].value);
    }
    fumi_put_close(o, '}');
}

static void put_text(struct fumi_out *o, const char *name, const char *json)
{
    if (!json)
        return;
    fumi_put_key(o, name);
    fumi_put_json(o, (struct fumi_json){fumi_str(json)});
}

/* The field that fumi_mcp_options.supplied names, if the method requires it; NULL: none. */
static const struct fumi_field *supplied_of(const struct fumi_mcp *m, const struct mcp_tool *t)
{
    const struct fumi_shape *s = m->o.supplied && t->method ? t->method->params : NULL;
    for (size_t i = 0; s && i < s->n; i++)
        if (s->fields[i].name && !strcmp(s->fields[i].name, m->o.supplied))
            return s->fields[i].flags & FUMI_REQUIRED ? &s->fields[i] : NULL;
    return NULL;
}

static void put_input(struct fumi_mcp *m, struct fumi_out *o, const struct mcp_tool *t)
{
    const struct fumi_field *supplied = supplied_of(m, t);
    struct fumi_shape s = *t->method->params;
    if (supplied) {
        struct fumi_field *fields = fumi_alloc(&m->arena, s.n * sizeof(*fields));
        memcpy(fields, s.fields, s.n * sizeof(*fields));
        fields[supplied - s.fields].flags &= ~(unsigned)FUMI_REQUIRED;
        s.fields = fields;
    }
    fumi_put_key(o, "inputSchema");
    fumi_schema_input(o, &s);
}

static void put_schemas(struct fumi_mcp *m, struct fumi_out *o, const struct mcp_tool *t)
{
    static const char none[] = "{\"type\":\"object\",\"additionalProperties\":false}";
    if (!t->method || !t->method->params) {
        put_text(o, "inputSchema", t->row->input ? t->row->input : none);
    } else {
        put_input(m, o, t);
    }
    if (!t->method) {
        put_text(o, "outputSchema", t->row->output);
    } else if (t->method->result) {
        fumi_put_key(o, "outputSchema");
        fumi_schema_compact(o, t->method->result);
    }
}

static void put_tool(struct fumi_mcp *m, struct fumi_out *o, const struct mcp_tool *t)
{
    fumi_put_open(o, '{');
    mcp_put_text(o, "name", t->row->name);
    mcp_put_text(o, "title", t->row->title);
    mcp_put_text(o, "description", t->row->description);
    put_schemas(m, o, t);
    put_annotations(o, t);
    put_text(o, "_meta", t->row->meta);
    fumi_put_close(o, '}');
}

static int find_method(struct fumi_mcp *m, struct mcp_tool *t, struct fumi_err *e)
{
    for (size_t i = 0; i < fumi_server_size(m->server); i++) {
        const struct fumi_method *method = fumi_server_at(m->server, i, &t->method_name);
        if (!fumi_eq(t->method_name, fumi_str(t->row->method)))
            continue;
        t->method = method;
        return 0;
    }
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: there is no method %s", t->row->name,
                        t->row->method);
}

/* Parses a text of a row. Returns -1 and sets *e if it is not a JSON object. */
static int read_object(struct fumi_mcp *m, const struct fumi_tool *row, const char *json,
                       const struct fumi_val **object, struct fumi_err *e)
{
    struct fumi_err why;
    *object = json ? fumi_parse(&m->arena, fumi_str(json), &why) : NULL;
    if (!json || fumi_is(*object, FUMI_OBJECT))
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: a schema or _meta is not a JSON object",
                        row->name);
}

static int prepare(struct fumi_mcp *m, struct mcp_tool *t, struct fumi_err *e)
{
    const struct fumi_tool *row = t->row;
    const struct fumi_val *input, *other;
    if (read_object(m, row, row->input, &input, e) || read_object(m, row, row->output, &other, e) ||
        read_object(m, row, row->meta, &other, e))
        return -1;
    if (row->method)
        return find_method(m, t, e);
    t->mirrors = row->input && strstr(row->input, "x-mcp-header") ? input : NULL;
    if (row->run)
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: has neither a method nor a function",
                        row->name);
}

static bool is_for_apps(const struct mcp_tool *t)
{
    return t->row->flags & FUMI_MCP_APP_ONLY;
}

static struct fumi_json write_list(struct fumi_mcp *m, bool for_apps)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '[');
    for (size_t i = 0; i < m->o.tools_n; i++) {
        const struct mcp_tool *t = &m->tools[i];
        if ((for_apps || !is_for_apps(t)) && (!m->o.read_only || reads_only(t)))
            put_tool(m, &o, t);
    }
    fumi_put_close(&o, ']');
    return (struct fumi_json){fumi_buf_keep(&b, &m->arena)};
}

/* The lists are written once, so that all clients get the same bytes, which prompt caches need. */
int mcp_tools_prepare(struct fumi_mcp *m, struct fumi_err *e)
{
    bool for_apps = false;
    m->tools = fumi_alloc(&m->arena, (m->o.tools_n + 1) * sizeof(*m->tools));
    for (size_t i = 0; i < m->o.tools_n; i++) {
        m->tools[i].row = &m->o.tools[i];
        if (prepare(m, &m->tools[i], e))
            return -1;
        for_apps = for_apps || is_for_apps(&m->tools[i]);
    }
    m->tool_list = write_list(m, false);
    if (for_apps)
        m->app_tool_list = write_list(m, true);
    return 0;
}

const struct mcp_tool *mcp_tool_find(const struct fumi_mcp *m, const struct fumi_val *name)
{
    for (size_t i = 0; i < m->o.tools_n; i++)
        if (fumi_text_is(name, fumi_str(m->tools[i].row->name)))
            return &m->tools[i];
    return NULL;
}

unsigned mcp_tool_flags(const struct fumi_mcp *m, const struct fumi_val *params)
{
    const struct mcp_tool *t = mcp_tool_find(m, fumi_get(params, "name"));
    if (!t)
        return FUMI_READ_ONLY;
    return (t->method ? t->method->flags : t->row->flags) & (FUMI_BLOCKING | FUMI_READ_ONLY);
}

/* The error as a JSON-RPC error would show it, for programs that read the result. */
static void put_error(struct fumi_out *o, const struct fumi_err *e, struct fumi_str remedy)
{
    fumi_put_key(o, "structuredContent");
    fumi_put_open(o, '{');
    fumi_put_key(o, "code");
    fumi_put_int(o, e->code);
    mcp_put_text(o, "message", e->text);
    if (e->data.p) {
        fumi_put_key(o, "data");
        fumi_put_json(o, (struct fumi_json){e->data});
    }
    if (remedy.n) { /* some agents show their model only structuredContent */
        fumi_put_key(o, "nextStep");
        fumi_put_str(o, remedy);
    }
    fumi_put_close(o, '}');
}

/* The data is included because it may help to correct the call, such as the closest name. */
static struct fumi_str error_text(struct fumi_arena *a, const struct fumi_err *e,
                                  struct fumi_str remedy)
{
    return fumi_fmt(a, "Error: %s%s%.*s%s%.*s", e->text, e->data.p ? " " : "", FUMI_ARG(e->data),
                    remedy.n ? ". " : "", FUMI_ARG(remedy));
}

static enum fumi_ret close_result(struct mcp_result *r)
{
    if (r->failed) {
        fumi_put_key(r->x->out, "isError");
        fumi_put_bool(r->x->out, true);
    }
    return mcp_end_result(r->x, &mcp_uncached);
}

/* An error that the model can correct becomes a result with isError. Internal errors and refusals
 * (fumi_mcp_refuse) stay JSON-RPC errors. */
static enum fumi_ret fail_tool(struct fumi_mcp_call *c, const struct fumi_tool *row)
{
    struct mcp_result *r = c->result;
    struct fumi_err *e = &c->call->err;
    if (r->refused || e->code == FUMI_INTERNAL_ERROR || !e->code || fumi_cancelled(c->call))
        return FUMI_FAIL;
    struct fumi_str remedy = {0};
    if (c->mcp->o.remedy)
        remedy = fumi_str(c->mcp->o.remedy(c->self, e));
    if (row->example && e->code == FUMI_INVALID_PARAMS)
        remedy = fumi_fmt(c->call->arena, "%.*s%sExample: %s %s", FUMI_ARG(remedy),
                          remedy.n ? ". " : "", row->name, row->example);
    fumi_mcp_failed(c, error_text(c->call->arena, e, remedy));
    mcp_result_close_list(r);
    put_error(r->x->out, e, remedy);
    *e = (struct fumi_err){0};
    return close_result(r);
}

/* The member "warning" of a result or of its "meta"; NULL if its shape has none. */
static const struct fumi_str *warning_of(const struct fumi_shape *s, const char *result)
{
    for (size_t i = 0; s && i < s->n; i++) {
        const struct fumi_field *f = &s->fields[i];
        const char *at = result + f->offset;
        if (f->type == FUMI_T_STR && f->name && !strcmp(f->name, "warning"))
            return (const void *)at;
        if (f->type == FUMI_T_OBJECT && f->name && !strcmp(f->name, "meta"))
            return warning_of(f->shape, at);
    }
    return NULL;
}

/* Writes the result of the method as structuredContent and repeats it in a text block. */
static enum fumi_ret run_method(struct fumi_mcp_call *c, const struct mcp_tool *t)
{
    struct fumi_out *o = c->result->x->out;
    const void *result;
    fumi_put_key(o, "structuredContent");
    size_t at = o->buf->n;
    if (fumi_invoke(c->call, t->method_name, c->arguments, true, o, &result) != FUMI_OK) {
        mcp_result_restart(c->result);
        return FUMI_FAIL;
    }
    mcp_result_add_copy(c, at, o->buf->n - at);
    const struct fumi_str *warning = warning_of(t->method->result, result);
    if (warning && warning->p) /* also sent to the client's log */
        fumi_mcp_log(c, FUMI_MCP_WARNING, *warning);
    return FUMI_OK;
}

static enum fumi_ret run_tool(struct fumi_mcp_call *c, const void *row)
{
    const struct mcp_tool *t = row;
    bool supplied = supplied_of(c->mcp, t);
    if (supplied && c->mcp->o.supply(c) != FUMI_OK)
        return FUMI_FAIL;
    if (supplied && mcp_result_needs_input(c->result))
        return FUMI_OK;
    return t->method ? run_method(c, t) : t->row->run(c);
}

static enum fumi_ret call_tool(struct mcp_context *x, const struct mcp_tool *t)
{
    struct mcp_result r;
    struct fumi_mcp_call c;
    mcp_result_begin(&r, x, &c, "content", NULL);
    c.arguments = fumi_get(x->params, "arguments");
    if (mcp_run_rounds(&r, &c, run_tool, t, fumi_str(t->row->name)) != FUMI_OK)
        return fail_tool(&c, t->row);
    if (mcp_result_needs_input(&r))
        return mcp_input_required(&c);
    mcp_result_close_list(&r);
    if (c.structured.text.p) {
        fumi_put_key(x->out, "structuredContent");
        fumi_put_json(x->out, c.structured);
    }
    return close_result(&r);
}

enum fumi_ret mcp_tools_call(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    (void)params, (void)result;
    if (mcp_context_init(&x, call, MCP_LEGACY | MCP_MODERN) != FUMI_OK)
        return FUMI_FAIL;
    const struct fumi_val *name = fumi_get(x.params, "name");
    const struct fumi_val *arguments = fumi_get(x.params, "arguments");
    if (!fumi_is(name, FUMI_STRING))
        return fumi_fail(call, FUMI_INVALID_PARAMS, "name is required: the name of a tool");
    if (arguments && !fumi_is(arguments, FUMI_OBJECT))
        return fumi_fail(call, FUMI_INVALID_PARAMS, "arguments must be an object");
    const struct mcp_tool *t = mcp_tool_find(x.mcp, name);
    struct fumi_str text = fumi_text(call->arena, name);
    if (!t || (is_for_apps(t) && !mcp_shows_apps(x.capabilities)))
        return fumi_fail(call, FUMI_INVALID_PARAMS, "Unknown tool: %.*s",
                         (int)(text.n > 128 ? 128 : text.n), text.p);
    return call_tool(&x, t);
}

enum fumi_ret mcp_tools_list(struct fumi_call *call, const void *params, void *result)
{
    const struct fumi_mcp *m = call->self;
    (void)params, (void)result;
    return mcp_answer_list(call, "tools", &m->tool_list, &m->app_tool_list);
}
