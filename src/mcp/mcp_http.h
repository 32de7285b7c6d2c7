/* MCP over HTTP ("Streamable HTTP"): one route for all revisions. */
#ifndef FUMI_MCP_MCP_HTTP_H
#define FUMI_MCP_MCP_HTTP_H

#include "../mcp/mcp.h"
#include "../net/http.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The route "/mcp", for fumi_serve_options.routes; once for each fumi_mcp. */
struct fumi_route fumi_mcp_route(struct fumi_mcp *m);

#ifdef __cplusplus
}
#endif

#endif
