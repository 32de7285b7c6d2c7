#include "mcp/mcp_parts.h"

/* --- The list. --- */

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

static void put_schemas(struct fumi_out *o, const struct mcp_tool *t)
{
    static const char none[] = "{\"type\":\"object\",\"additionalProperties\":false}";
    if (!t->method || !t->method->params) {
        put_text(o, "inputSchema", t->row->input ? t->row->input : none);
    } else {
        fumi_put_key(o, "inputSchema");
        fumi_schema_input(o, t->method->params);
    }
    if (!t->method) {
        put_text(o, "outputSchema", t->row->output);
    } else if (t->method->result) {
        fumi_put_key(o, "outputSchema");
        fumi_schema_brief(o, t->method->result);
    }
}

static void put_tool(struct fumi_out *o, const struct mcp_tool *t)
{
    fumi_put_open(o, '{');
    mcp_put(o, "name", t->row->name);
    mcp_put(o, "title", t->row->title);
    mcp_put(o, "description", t->row->description);
    put_schemas(o, t);
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

static int check_json(struct fumi_arena *a, const struct fumi_tool *row, const char *json,
                      struct fumi_err *e)
{
    struct fumi_err why;
    if (!json || fumi_is(fumi_parse(a, fumi_str(json), &why), FUMI_OBJECT))
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: a schema or _meta is no JSON object",
                        row->name);
}

static int prepare(struct fumi_mcp *m, struct mcp_tool *t, struct fumi_err *e)
{
    const struct fumi_tool *row = t->row;
    if (check_json(&m->arena, row, row->input, e) || check_json(&m->arena, row, row->output, e) ||
        check_json(&m->arena, row, row->meta, e))
        return -1;
    if (row->method)
        return find_method(m, t, e);
    t->mirrors = row->input && strstr(row->input, "x-mcp-header");
    if (row->run)
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: has neither a method nor a function",
                        row->name);
}

/* The list is written once: it is the same bytes for everyone, as caches of prompts want it. */
int mcp_tools_prepare(struct fumi_mcp *m, struct fumi_err *e)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    m->tools = fumi_alloc(&m->arena, (m->o.tools_n + 1) * sizeof(*m->tools));
    fumi_put_open(&o, '[');
    for (size_t i = 0; i < m->o.tools_n; i++) {
        m->tools[i].row = &m->o.tools[i];
        if (prepare(m, &m->tools[i], e)) {
            fumi_buf_done(&b);
            return -1;
        }
        put_tool(&o, &m->tools[i]);
    }
    fumi_put_close(&o, ']');
    m->tool_list.text = fumi_buf_keep(&b, &m->arena);
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

/* --- Calls. --- */

/* The same as the server would say, for whoever reads the answer as a program. */
static struct fumi_json error_of(struct fumi_arena *a, const struct fumi_err *e,
                                 struct fumi_str remedy)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "code");
    fumi_put_int(&o, e->code);
    mcp_put(&o, "message", e->text);
    if (e->data.p) {
        fumi_put_key(&o, "data");
        fumi_put_json(&o, (struct fumi_json){e->data});
    }
    if (remedy.n) { /* some agents show their model nothing else */
        fumi_put_key(&o, "nextStep");
        fumi_put_str(&o, remedy);
    }
    fumi_put_close(&o, '}');
    return (struct fumi_json){fumi_buf_keep(&b, a)};
}

/* What is in the data beyond the sentence, such as the nearest name, helps to put it right. */
static struct fumi_str sentence_of(struct fumi_arena *a, const struct fumi_err *e,
                                   struct fumi_str remedy)
{
    return fumi_fmt(a, "Error: %s%s%.*s%s%.*s", e->text, e->data.p ? " " : "", FUMI_ARG(e->data),
                    remedy.n ? ". " : "", FUMI_ARG(remedy));
}

/* What the caller can put right is a result; what broke inside, and what was refused as a protocol
 * error, is not. */
static enum fumi_ret fail_tool(struct fumi_mcp_call *c)
{
    struct mcp_draft *d = c->draft;
    struct fumi_err *e = &c->call->err;
    if (d->refused || e->code == FUMI_INTERNAL_ERROR || !e->code || fumi_cancelled(c->call))
        return FUMI_FAIL;
    struct fumi_str remedy = {0};
    if (c->mcp->o.remedy)
        remedy = fumi_str(c->mcp->o.remedy(c->self, e));
    struct fumi_str sentence = sentence_of(c->call->arena, e, remedy);
    c->structured = error_of(c->call->arena, e, remedy);
    *e = (struct fumi_err){0};
    return fumi_mcp_failed(c, sentence);
}

/* A result that carries a warning is told to the client's log as well. */
static void log_warning(struct fumi_mcp_call *c)
{
    struct fumi_str text = c->structured.text;
    struct fumi_err ignored;
    if (!memmem(text.p, text.n, "\"warning\"", 9))
        return;
    const struct fumi_val *v = fumi_parse(c->call->arena, text, &ignored);
    const struct fumi_val *warning = fumi_get(v, "warning");
    if (!warning)
        warning = fumi_get(fumi_get(v, "meta"), "warning");
    if (fumi_is(warning, FUMI_STRING))
        fumi_mcp_log(c, FUMI_MCP_WARNING, fumi_text(c->call->arena, warning));
}

static enum fumi_ret run_tool(struct fumi_mcp_call *c, const void *row)
{
    const struct mcp_tool *t = row;
    if (!t->method)
        return t->row->run(c);
    if (fumi_invoke(c->call, t->method_name, c->arguments, true, &c->structured) != FUMI_OK)
        return FUMI_FAIL;
    log_warning(c);
    fumi_mcp_text(c, c->structured.text);
    return FUMI_OK;
}

static enum fumi_ret answer(struct mcp_draft *d, const struct fumi_mcp_call *c, void *result)
{
    struct fumi_buf b = {0};
    struct fumi_out o = mcp_open(d->x, &b);
    draft_put(d, &o, "content");
    if (c->structured.text.p) {
        fumi_put_key(&o, "structuredContent");
        fumi_put_json(&o, c->structured);
    }
    if (d->failed) {
        fumi_put_key(&o, "isError");
        fumi_put_bool(&o, true);
    }
    return mcp_close(d->x, &o, &mcp_uncached, result);
}

static enum fumi_ret call_tool(struct mcp_context *x, const struct mcp_tool *t, void *result)
{
    struct mcp_draft d;
    struct fumi_mcp_call c;
    struct fumi_str name = fumi_str(t->row->name);
    draft_begin(&d, x, &c, NULL);
    c.arguments = fumi_get(x->params, "arguments");
    enum fumi_ret ret = mcp_rounds(&d, &c, run_tool, t, name);
    bool asks = ret == FUMI_OK && (d.needs_n || d.keep.p);
    if (ret != FUMI_OK)
        ret = fail_tool(&c);
    if (asks)
        ret = mcp_input_required(&d, result);
    else if (ret == FUMI_OK)
        ret = answer(&d, &c, result);
    draft_done(&d);
    return ret;
}

enum fumi_ret mcp_tools_call(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    (void)params;
    if (mcp_enter(&x, call, LEGACY | MODERN) != FUMI_OK)
        return FUMI_FAIL;
    const struct fumi_val *name = fumi_get(x.params, "name");
    const struct fumi_val *arguments = fumi_get(x.params, "arguments");
    if (!fumi_is(name, FUMI_STRING))
        return fumi_fail(call, FUMI_INVALID_PARAMS, "name is required: the name of a tool");
    if (arguments && !fumi_is(arguments, FUMI_OBJECT))
        return fumi_fail(call, FUMI_INVALID_PARAMS, "arguments must be an object");
    const struct mcp_tool *t = mcp_tool_find(x.mcp, name);
    struct fumi_str text = fumi_text(call->arena, name);
    if (!t)
        return fumi_fail(call, FUMI_INVALID_PARAMS, "Unknown tool: %.*s",
                         (int)(text.n > 128 ? 128 : text.n), text.p);
    return call_tool(&x, t, result);
}

enum fumi_ret mcp_tools_list(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    struct fumi_buf b = {0};
    (void)params;
    if (mcp_enter(&x, call, LEGACY | MODERN) != FUMI_OK || mcp_one_page(&x) != FUMI_OK)
        return FUMI_FAIL;
    struct fumi_out o = mcp_open(&x, &b);
    fumi_put_key(&o, "tools");
    fumi_put_json(&o, x.mcp->tool_list);
    return mcp_close(&x, &o, &mcp_public, result);
}
