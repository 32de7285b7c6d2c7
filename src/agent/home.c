/* The project of calls over stdio: of those that lack a projectId, and of those whose projectId is
 * a path in the repository of the working directory. */
#include "agent/agent_parts.h"

/* Whether the working directory of this process is that of the client, which started it. */
static bool is_near(const struct fumi_peer *peer)
{
    return strcmp(peer->transport, "stdio") == 0;
}

/* The object with this projectId; the object may be NULL. Returns NULL and sets *e if the result is
 * too deep or too large. */
static const struct fumi_val *with_project(struct fumi_arena *a, const struct fumi_val *object,
                                           struct fumi_str project, struct fumi_err *e)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, AGENT_PROJECT_PARAM);
    fumi_put_str(&o, project);
    for (const struct fumi_val *key = fumi_first(object); key; key = fumi_after(object, key)) {
        if (fumi_text_is(key, FUMI_STR(AGENT_PROJECT_PARAM)))
            continue;
        fumi_put_key_str(&o, fumi_text(a, key));
        fumi_put_val(&o, fumi_of(key));
    }
    fumi_put_close(&o, '}');
    return fumi_parse(a, fumi_buf_keep(&b, a), e);
}

/* Methods that are no tools, such as memory.project_delete, must be told which project is meant. */
static bool requires_project(const struct fumi_method *m)
{
    const struct fumi_shape *s = m && m->flags & FUMI_TOOL ? m->params : NULL;
    for (size_t i = 0; s && i < s->n && s->fields[i].flags & FUMI_REQUIRED; i++)
        if (fumi_eq(fumi_str(s->fields[i].name), FUMI_STR(AGENT_PROJECT_PARAM)))
            return true;
    return false;
}

/* Whether the projectId is a path of the repository of the working directory, for example of
 * another worktree, that is not the name of its project. Failures are reported by the method. */
static bool is_alias(const struct agent_home *h, struct fumi_arena *a, const struct fumi_val *given)
{
    struct fumi_str text = fumi_is(given, FUMI_STRING) ? fumi_text(a, given) : (struct fumi_str){0};
    struct fumi_str project = {0};
    struct fumi_err ignored;
    if (!h->find || !h->project.p || !text.n || !memchr("/~.", text.p[0], 3) ||
        fumi_eq(text, h->project))
        return false;
    return !h->find(h->arg, a, text, &project, &ignored) && fumi_eq(project, h->project);
}

/* Positional params are left as they are: which of them is missing cannot be told. */
static enum fumi_ret before(void *self, struct fumi_call *c)
{
    const struct agent_home *h = self;
    bool named = !c->params || fumi_is(c->params, FUMI_OBJECT);
    if (!h->project.p || !is_near(c->peer) || !named || !requires_project(c->method))
        return FUMI_OK;
    const struct fumi_val *given = fumi_get(c->params, AGENT_PROJECT_PARAM);
    if (given && !is_alias(h, c->arena, given))
        return FUMI_OK;
    const struct fumi_val *params = with_project(c->arena, c->params, h->project, &c->err);
    if (!params)
        return FUMI_FAIL;
    c->params = params;
    return FUMI_OK;
}

struct fumi_processor agent_home_processor(const struct agent_home *h)
{
    return (struct fumi_processor){
        .name = "project of the working directory", .before = before, .self = (void *)h};
}

/* The path of a file URI; null: it is none, or of another machine. */
static struct fumi_str path_of(struct fumi_arena *a, struct fumi_str uri)
{
    static const struct fumi_str starts[] = {{"file:///", 8}, {"file://localhost/", 17}};
    struct fumi_str path = {0};
    for (size_t i = 0; i < FUMI_COUNT(starts); i++) {
        size_t skip = starts[i].n - 1;
        if (fumi_starts(uri, starts[i]) &&
            uri_decode(a, (struct fumi_str){uri.p + skip, uri.n - skip}, &path))
            return path;
    }
    return (struct fumi_str){0};
}

/* The project of the first root with a path that the client has listed; null: there is none. */
static int project_of_roots(const struct agent_home *h, struct fumi_mcp_call *c,
                            struct fumi_str *out)
{
    struct fumi_arena *a = c->call->arena;
    const struct fumi_val *roots = fumi_get(fumi_get(c->responses, "roots"), "roots");
    *out = (struct fumi_str){0};
    for (const struct fumi_val *r = fumi_first(roots); r; r = fumi_after(roots, r)) {
        struct fumi_str path = path_of(a, fumi_text(a, fumi_get(r, "uri")));
        if (path.p)
            return h->find(h->arg, a, path, out, &c->call->err);
    }
    return 0;
}

static enum fumi_ret use_project(struct fumi_mcp_call *c, struct fumi_str project)
{
    c->arguments = with_project(c->call->arena, c->arguments, project, &c->call->err);
    return c->arguments ? FUMI_OK : FUMI_FAIL;
}

enum fumi_ret agent_supply(struct fumi_mcp_call *c)
{
    const struct agent_home *h = ((const struct agent *)c->self)->home;
    const struct fumi_val *given = fumi_get(c->arguments, AGENT_PROJECT_PARAM);
    struct fumi_str project = {0};
    if (!is_near(c->call->peer))
        return FUMI_OK;
    if (given)
        return is_alias(h, c->call->arena, given) ? use_project(c, h->project) : FUMI_OK;
    if (h->find && !c->responses && fumi_mcp_can(c, "roots")) {
        fumi_mcp_request_input(c, "roots", "roots/list", (struct fumi_json){FUMI_STR("{}")});
        return FUMI_OK;
    }
    if (h->find && project_of_roots(h, c, &project))
        return FUMI_FAIL;
    if (!project.p)
        project = h->project;
    return project.p ? use_project(c, project) : FUMI_OK;
}
