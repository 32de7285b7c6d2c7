/* Private to mcp_http*.c: sessions of legacy clients over HTTP. All functions may be called on any
 * thread. */
#ifndef FUMI_MCP_MCP_HTTP_PARTS_H
#define FUMI_MCP_MCP_HTTP_PARTS_H

#include "base/base64.h"
#include "base/utf8.h"
#include "mcp/mcp_http.h"
#include "mcp/mcp_parts.h"

struct mcp_http_session;

struct mcp_http *mcp_http_new(struct fumi_mcp *m);
bool mcp_http_ended(struct mcp_http *h);

/* Both return a reference, to be released with mcp_http_session_unref. _new creates a session for
 * the user of the peer; it returns NULL if there are too many sessions or the server is ending.
 * _find returns NULL if this user has no session of that name. */
struct mcp_http_session *mcp_http_session_new(struct mcp_http *h, const struct fumi_peer *like);
struct mcp_http_session *mcp_http_session_find(struct mcp_http *h, struct fumi_str name,
                                               const struct fumi_peer *by);
void mcp_http_session_unref(struct mcp_http_session *s);

struct fumi_peer *mcp_http_session_peer(struct mcp_http_session *s);
int mcp_http_session_version(struct mcp_http_session *s); /* index of mcp_versions; -1: none yet */
/* Sets the header field Mcp-Session-Id of the page. */
void mcp_http_session_name(const struct mcp_http_session *s, struct fumi_page *page);
/* Ends the session: cancels its calls, ends its stream, and _find no longer returns it. */
void mcp_http_session_close(struct mcp_http_session *s);

/* Serve GET (the event stream of a session) and DELETE. */
void mcp_http_session_stream(struct fumi_mcp *m, const struct fumi_http_request *r,
                             struct fumi_reply *reply);
void mcp_http_session_delete(struct fumi_mcp *m, const struct fumi_http_request *r,
                             struct fumi_reply *reply);

/* mcp_http.c: ends the reply with an error; e NULL: with an empty body. */
void mcp_http_reply(struct fumi_reply *reply, int status, const struct fumi_err *e,
                    const struct fumi_val *id);
/* The session named by the request, with a reference. Returns NULL after replying with an error. */
struct mcp_http_session *mcp_http_session_for(struct fumi_mcp *m, const struct fumi_http_request *r,
                                              struct fumi_reply *reply, const struct fumi_val *id);

#endif
