/* Which servers get the token. Any user can listen on a port or a socket path of this machine;
 * without this check, a server that took the address first would receive the token of another
 * server. */
#include "net/access_user.h"
#include "net/rpc_connection_parts.h"

#include "base/clock.h"

#include <poll.h>
#include <unistd.h>

/* A connection that the server has not accepted yet belongs to no process: wait until it does. */
static bool find_owner(const struct fumi_rpc_connection *c, int64_t until, uid_t *uid)
{
    while (!access_peer_uid(c->fd, !c->endpoint.host, uid)) {
        if (fumi_ticks() >= until || rpc_connection_poll(c->fd, POLLIN, 0))
            return false; /* closed, or sent unrequested data */
        rpc_connection_pause(1);
    }
    return true;
}

static int check_user(const struct fumi_rpc_connection *c, int64_t until, struct fumi_err *e)
{
    uid_t uid;
    if (!find_owner(c, until, &uid))
        return fumi_err_set(
            e, FUMI_INVALID_REQUEST,
            "the token is not sent to %s: the system does not report which user runs it",
            c->endpoint.url);
    if (uid == geteuid() || uid == 0)
        return 0;
    return fumi_err_set(e, FUMI_INVALID_REQUEST,
                        "the token is not sent to %s: it runs as another user (%u)",
                        c->endpoint.url, (unsigned)uid);
}

int rpc_connection_check_owner(const struct fumi_rpc_connection *c, int64_t until,
                               struct fumi_err *e)
{
    struct access_endpoint peer;
    bool sends = c->secret && c->transport->target; /* only HTTP and WebSocket carry a token */
    if (!sends)
        return 0;
    /* With TLS the certificate identifies the server. The user of the socket may be that of a
     * proxy. */
    if (c->endpoint.tls && !c->options.token_is_local)
        return 0;
    if (!c->endpoint.host ||
        (access_endpoint_get(&peer, c->fd, true) && access_endpoint_is_loopback(&peer)))
        return check_user(c, until, e);
    if (!c->options.token_is_local)
        return 0;
    return fumi_err_set(e, FUMI_INVALID_REQUEST,
                        "the token is not sent to %s: it is not on this machine; give a token for "
                        "that server",
                        c->endpoint.url);
}
