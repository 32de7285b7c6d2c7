/* To whom a token may be sent. A port or a path of this machine may belong to anybody: who started
 * a server there first would otherwise be told the token of the one that was meant. */
#include "net/access_user.h"
#include "net/rpc_connection_parts.h"

#include "base/clock.h"

#include <poll.h>
#include <unistd.h>

/* A connection that its server has not accepted yet belongs to no process: that is waited for. */
static bool find_owner(const struct fumi_rpc_connection *l, int64_t until, uid_t *uid)
{
    while (!access_peer_uid(l->fd, !l->at.host, uid)) {
        if (fumi_ticks() >= until || rpc_connection_poll(l->fd, POLLIN, 0))
            return false; /* it ended, or speaks out of turn */
        rpc_connection_pause(1);
    }
    return true;
}

static int check_user(const struct fumi_rpc_connection *l, int64_t until, struct fumi_err *e)
{
    uid_t uid;
    if (!find_owner(l, until, &uid))
        return fumi_err_set(e, FUMI_INVALID_REQUEST,
                            "the token is not sent to %s: the system does not say whose it is",
                            l->at.url);
    if (uid == geteuid() || uid == 0)
        return 0;
    return fumi_err_set(e, FUMI_INVALID_REQUEST,
                        "the token is not sent to %s: it belongs to another user (%u)", l->at.url,
                        (unsigned)uid);
}

int rpc_connection_check_owner(const struct fumi_rpc_connection *l, int64_t until,
                               struct fumi_err *e)
{
    struct access_endpoint peer;
    bool sends = l->secret && l->way->target; /* lines carry none */
    if (!sends)
        return 0;
    /* With TLS the certificate says who the server is, which is more than the user of its socket:
     * that of a proxy may be another. */
    if (l->at.tls && !l->o.token_is_local)
        return 0;
    if (!l->at.host ||
        (access_endpoint_get(&peer, l->fd, true) && access_endpoint_is_loopback(&peer)))
        return check_user(l, until, e);
    if (!l->o.token_is_local)
        return 0;
    return fumi_err_set(e, FUMI_INVALID_REQUEST,
                        "the token is not sent to %s: it is not on this machine; name a token for "
                        "that server",
                        l->at.url);
}
