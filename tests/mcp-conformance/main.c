/* mcp-conformance: a server for the official conformance suite of MCP.
 *
 *   mcp-conformance --listen tcp:127.0.0.1:8765      MCP is at /mcp
 *
 * With --stdio, or without --listen, it serves standard input and output. --help lists the flags.
 */
#include "fixtures.h"
#include "serving.h"

struct own {
    bool help, stdio;
    int log;
};

static const struct fumi_field own_fields[] = {
    FUMI_FIELD(struct own, help, "help", "Show this help."),
    FUMI_FIELD(struct own, stdio, "stdio", "Serve standard input and output."),
    FUMI_FIELD(struct own, log, "log", "Lowest level of events that are logged.",
               .choices = serving_levels, .def = "\"silent\""),
};
static const struct fumi_shape own_shape = FUMI_SHAPE(struct own, own_fields);

static struct fumi_mcp *fixtures(struct fumi_server *server, struct fumi_err *e)
{
    struct fumi_mcp_options o = {
        .name = "mcp-conformance",
        .title = "Fixtures of the conformance suite",
        .version = "1.0",
        .instructions = "Every tool here tests one thing of the protocol.",
        .tools = fixture_tools,
        .tools_n = fixture_tools_n,
        .prompts = fixture_prompts,
        .prompts_n = fixture_prompts_n,
        .resources = &fixture_resources,
        .changes = 1 << FUMI_MCP_TOOLS | 1 << FUMI_MCP_PROMPTS | 1 << FUMI_MCP_RESOURCES,
        .complete = fixture_complete,
    };
    return fumi_mcp_new(server, &o, e);
}

/* Returns 1 if a call was abandoned: it may still use the server, so nothing can be freed. */
static int serve(struct fumi_server *server, void *flags, struct fumi_serve_options *o,
                 struct fumi_err *e)
{
    (void)flags;
    struct fumi_mcp *mcp = fixtures(server, e);
    if (!mcp)
        return -1;
    struct fumi_route route = fumi_mcp_route(mcp);
    o->routes = &route;
    o->routes_n = 1;
    o->ending = fumi_mcp_end;
    o->ending_arg = mcp;
    int rc = fumi_serve(server, o, e);
    if (rc != FUMI_SERVED_ABANDONED)
        fumi_mcp_free(mcp);
    return rc;
}

int main(int argc, char **argv)
{
    struct own own = {0};
    (void)argc;
    return serving_main(&(struct serving){"mcp-conformance", &own_shape, &own, &own.help,
                                          &own.stdio, &own.log, serve},
                        argv);
}
