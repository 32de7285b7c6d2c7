#include "agent/agent_parts.h"

static void watched(void *self, bool any)
{
    const struct agent *a = self;
    watch_wanted(a->watch, any);
}

static struct fumi_mcp_options options(struct agent *a, bool core, const char *version)
{
    struct fumi_mcp_options o = {
        .name = "fumi",
        .title = "Fumi memory",
        .version = version,
        .description = "Long-term memory for agents: notes by project, found by meaning and word.",
        .instructions = agent_instructions,
        .prompts = agent_prompts,
        .prompts_n = agent_prompts_n,
        .resources = &agent_resources,
        .changes = 1 << FUMI_MCP_RESOURCES,
        .complete = agent_complete,
        .complete_flags = FUMI_BLOCKING | FUMI_READ_ONLY,
        .remedy = agent_remedy,
        .self = a,
        .watched = watched,
    };
    o.tools = agent_tools(core, &o.tools_n);
    return o;
}

struct agent *agent_new(struct fumi_server *s, struct memory *m, bool core, const char *version,
                        struct fumi_err *e)
{
    struct agent *a = fumi_resize(NULL, sizeof(*a));
    *a = (struct agent){.memory = m, .watch = watch_new(m)};
    const struct fumi_mcp_options o = options(a, core, version);
    a->mcp = fumi_mcp_new(s, &o, e);
    if (a->mcp && !watch_start(a->watch, a->mcp, e))
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
    watch_stop(a->watch);
    if (a->mcp)
        fumi_mcp_free(a->mcp);
    watch_free(a->watch);
    fumi_resize(a, 0);
}
