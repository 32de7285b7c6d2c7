/* MCP over HTTP ("Streamable HTTP"): one route for all protocol revisions. */
#ifndef FUMI_MCP_MCP_HTTP_H
#define FUMI_MCP_MCP_HTTP_H

#include "../mcp/mcp.h"
#include "../net/http.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the route "/mcp" for fumi_serve_options.routes. Call it before serving; the route borrows
 * m, which must outlive the service. */
struct fumi_route fumi_mcp_route(struct fumi_mcp *m);

#ifdef __cplusplus
}
#endif

#endif
