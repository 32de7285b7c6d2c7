/* Private to http*.c: sessions of legacy clients. */
#ifndef FUMI_MCP_MCP_HTTP_PARTS_H
#define FUMI_MCP_MCP_HTTP_PARTS_H

#include "base/base64.h"
#include "base/utf8.h"
#include "mcp/mcp_http.h"
#include "mcp/mcp_parts.h"

struct mcp_http_session;

struct mcp_http *mcp_http_new(struct fumi_mcp *m);
bool mcp_http_ended(struct mcp_http *h);

/* Each of these two gives a reference, to be given back with mcp_http_session_unref. new: for a
 * client like this peer; NULL: there are too many. find: NULL: there is none of that name for this
 * user.
 */
struct mcp_http_session *mcp_http_session_new(struct mcp_http *h, const struct fumi_peer *like);
struct mcp_http_session *mcp_http_session_find(struct mcp_http *h, struct fumi_str name,
                                               const struct fumi_peer *by);
void mcp_http_session_unref(struct mcp_http_session *s);

struct fumi_peer *mcp_http_session_peer(struct mcp_http_session *s);
int mcp_http_session_version(struct mcp_http_session *s);
void mcp_http_session_name(const struct mcp_http_session *s,
                           struct fumi_page *page);      /* into its field */
void mcp_http_session_close(struct mcp_http_session *s); /* nobody finds it any more */

/* GET and DELETE. */
void mcp_http_session_stream(struct fumi_mcp *m, const struct fumi_http_request *r,
                             struct fumi_reply *reply);
void mcp_http_session_delete(struct fumi_mcp *m, const struct fumi_http_request *r,
                             struct fumi_reply *reply);

/* http.c: an answer of ours; e NULL: nothing to say. */
void mcp_http_reply(struct fumi_reply *reply, int status, const struct fumi_err *e,
                    const struct fumi_val *id);
struct mcp_http_session *mcp_http_session_for(struct fumi_mcp *m, const struct fumi_http_request *r,
                                              struct fumi_reply *reply, const struct fumi_val *id);

#endif
