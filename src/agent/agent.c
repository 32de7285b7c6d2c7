/* The options that MCP gets for a memory. */
#include "agent/agent_parts.h"

static void watched(void *self, bool any)
{
    const struct agent *a = self;
    change_watch_enable(a->watch, any);
}

/* The instructions. If calls may lack a projectId, they say so. */
static void put_rest(struct agent *a, struct fumi_buf *b)
{
    const struct agent_home *h = a->home;
    const char *line = strstr(agent_instructions, AGENT_PROJECT_ADVICE), *next = strchr(line, '\n');
    if (!h || !h->announce || !h->project.p) {
        render_add(b, fumi_str(agent_instructions));
        return;
    }
    render_add(b, (struct fumi_str){agent_instructions, (size_t)(line - agent_instructions)});
    render_add(b, fumi_fmt(&a->arena,
                           AGENT_PROJECT_ADVICE "leave it out: it is then %.*s, the project of the "
                                                "working directory and all its worktrees.",
                           FUMI_ARG(h->project)));
    if (h->moved.p)
        render_add(b, fumi_fmt(&a->arena, " Tell the user: %.*s", FUMI_ARG(h->moved)));
    render_add(b, fumi_str(next));
}

/* The scope of the memory comes first, because clients truncate long instructions. */
static const char *instructions(struct agent *a)
{
    const struct scope *s = memory_scope(a->memory);
    struct fumi_buf b = {0};
    if (s->project.p)
        render_add(&b, fumi_fmt(&a->arena, "This server serves one project: projectId is %.*s.\n",
                                FUMI_ARG(s->project)));
    if (s->read_only)
        render_add(&b, FUMI_STR("This memory is read-only here: recall from it, and store "
                                "nothing.\n"));
    put_rest(a, &b);
    fumi_buf_put(&b, '\0');
    return fumi_buf_keep(&b, &a->arena).p;
}

static struct fumi_mcp_options options(struct agent *a, enum agent_set tools, const char *version)
{
    struct fumi_mcp_options o = {
        .name = "fumi",
        .title = "Fumi memory",
        .version = version,
        .description = "Long-term memory for agents: notes by project, found by meaning and word.",
        .instructions = instructions(a),
        .prompts = agent_prompts,
        .prompts_n = agent_prompts_n,
        .resources = &agent_resources,
        .read_only = memory_scope(a->memory)->read_only,
        .changes = 1 << FUMI_MCP_RESOURCES,
        .complete = agent_complete,
        .complete_flags = FUMI_BLOCKING | FUMI_READ_ONLY,
        .remedy = agent_remedy,
        .self = a,
        .watched = watched,
        .extensions = "{\"" FUMI_MCP_UI "\":{}}",
    };
    if (a->home) {
        o.supplied = AGENT_PROJECT_PARAM;
        o.supply = agent_supply;
    }
    o.tools = agent_tools(tools, &o.tools_n);
    return o;
}

struct agent *agent_new(struct fumi_server *s, struct memory *m, enum agent_set tools,
                        const char *version, const struct agent_home *home, struct fumi_err *e)
{
    struct agent *a = fumi_resize(NULL, sizeof(*a));
    *a = (struct agent){.memory = m, .watch = change_watch_new(m), .home = home};
    const struct fumi_mcp_options o = options(a, tools, version);
    a->mcp = fumi_mcp_new(s, &o, e);
    if (a->mcp && !change_watch_start(a->watch, a->mcp, e))
        return a;
    agent_free(a);
    return NULL;
}

struct fumi_mcp *agent_mcp(struct agent *a)
{
    return a->mcp;
}

void agent_free(struct agent *a)
{
    if (!a)
        return;
    change_watch_stop(a->watch);
    if (a->mcp)
        fumi_mcp_free(a->mcp);
    change_watch_free(a->watch);
    fumi_arena_done(&a->arena);
    fumi_resize(a, 0);
}
