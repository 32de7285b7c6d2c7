/* mcp-conformance: a server for the official conformance suite of MCP.
 *
 *   mcp-conformance --listen tcp:127.0.0.1:8765      MCP is at /mcp
 *
 * With --stdio, or without --listen, it serves standard input and output. --help lists the flags.
 */
#include "app/flags.h"
#include "fixtures.h"
#include "fumi.h"
#include "mcp/http.h"

#include <stdio.h>
#include <stdlib.h>

struct own {
    bool help, stdio;
    int log;
};

static const char *const levels[] = {"debug", "info", "warn", "error", "silent", NULL};

static const struct fumi_field own_fields[] = {
    FUMI_FIELD(struct own, help, "help", "Show this."),
    FUMI_FIELD(struct own, stdio, "stdio", "Serve standard input and output."),
    FUMI_FIELD(struct own, log, "log", "From which level on events are logged.", .choices = levels,
               .def = "\"silent\""),
};
static const struct fumi_shape own_shape = FUMI_SHAPE(struct own, own_fields);

static void say(void *arg, struct fumi_str address)
{
    (void)arg;
    fprintf(stderr, "listening on %.*s\n", FUMI_ARG(address));
}

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

/* 1: a call was abandoned and may still use everything. */
static int serve(struct fumi_server *server, struct fumi_serve_options *o, struct fumi_err *e)
{
    struct fumi_mcp *mcp = fixtures(server, e);
    if (!mcp)
        return -1;
    struct fumi_route route = fumi_mcp_route(mcp);
    o->routes = &route;
    o->routes_n = 1;
    o->ending = fumi_mcp_end;
    o->ending_arg = mcp;
    int rc = fumi_serve(server, o, e);
    if (rc <= 0)
        fumi_mcp_free(mcp);
    return rc;
}

static int run(const struct own *own, struct fumi_serve_options *o)
{
    struct fumi_err e = {0};
    struct fumi_log log = {.level = (enum fumi_level)own->log, .fd = 2};
    struct fumi_str standard[] = {FUMI_STR("stdio")};
    struct fumi_server *server = fumi_server_new("mcp-conformance", "1.0");
    if (own->stdio || !o->set.listen.n)
        o->set.listen = (struct fumi_strs){standard, 1};
    o->log = &log;
    o->listening = say;
    fumi_server_log(server, &log);
    int rc = serve(server, o, &e);
    if (rc > 0)
        return 0;
    if (rc)
        fprintf(stderr, "mcp-conformance: %s\n", e.text);
    fumi_server_free(server);
    return rc ? 1 : 0;
}

static int help(const struct flag_set *sets, size_t n)
{
    struct fumi_buf text = {0};
    flags_help(sets, n, &text);
    fprintf(stdout, "usage: mcp-conformance [FLAG]...\n%.*s", FUMI_ARG(fumi_buf_str(&text)));
    fumi_buf_done(&text);
    return 0;
}

int main(int argc, char **argv)
{
    struct fumi_arena arena = {0};
    struct fumi_err e = {0};
    struct fumi_strs words = {0};
    struct own own = {0};
    struct fumi_serve_options options = {0};
    struct flag_set sets[] = {{&own_shape, &own}, {&fumi_settings_shape, &options.set}};
    int rc = 2;
    (void)argc;
    if (flags_read(&arena, sets, FUMI_COUNT(sets), argv, &words, &e) == 0 && !words.n)
        rc = own.help ? help(sets, FUMI_COUNT(sets)) : run(&own, &options);
    else
        fprintf(stderr, "mcp-conformance: %s\n", e.code ? e.text : "flags begin with two dashes");
    fumi_arena_done(&arena);
    return rc;
}
