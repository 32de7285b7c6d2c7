/* Private to net/: access control for HTTP and WebSocket by Host, Origin, user and token, and for
 * the other protocols by user. docs/security.md describes the threats. */
#ifndef FUMI_NET_ACCESS_H
#define FUMI_NET_ACCESS_H

#include "net/http1.h"
#include "net/serve.h"

/* Which user the other end of a connection belongs to. */
enum access_user {
    ACCESS_USER_UNKNOWN,
    ACCESS_USER_SAME, /* the user of this process, or root */
    ACCESS_USER_OTHER,
};

/* The state of access control for one connection. May be used by one thread at a time. */
struct access_client {
    int fd; /* borrowed */
    bool unix_socket;
    bool loopback;         /* TCP from this machine */
    enum access_user user; /* ACCESS_USER_UNKNOWN until access_client_identify has found it */
};

/* Fills *client from the socket, without looking up the user. */
void access_client_init(struct access_client *client, int fd);

/* Looks up the user, unless it is already known. Returns ACCESS_USER_UNKNOWN if the peer is on
 * another machine, or if the lookup failed; a later call tries again. */
enum access_user access_client_identify(struct access_client *client);

/* Begins the subprotocol that carries a token, followed by the token as base64url. */
#define ACCESS_SUBPROTOCOL "base64url.bearer."

struct access; /* its functions may be called from any thread, except as noted */

/* Copies the settings that it needs. token.p NULL: no token is configured, so no token of a client
 * is accepted. Returns NULL with *e set if the settings are invalid or insecure. */
struct access *access_new(const struct fumi_settings *s, struct fumi_str token, struct fumi_err *e);
void access_free(struct access *a); /* NULL: does nothing */

/* Adds a port that the server listens on; only before the first request is checked. */
void access_add_port(struct access *a, uint16_t port);

struct access_verdict {
    int status;         /* 0: allowed; otherwise 401 or 403 */
    const char *reason; /* static; NULL if allowed */
    bool pause;         /* 401: the client guesses tokens; send the reply after 250 ms */
    struct fumi_str
        origin; /* an allowed Origin to be echoed, borrowed from the head; p NULL: none */
};

/* Checks a request or an upgrade. A preflight (OPTIONS with Origin and
 * Access-Control-Request-Method) needs no token. */
struct access_verdict access_check(struct access *a, struct access_client *client,
                                   const struct http_head *h);

/* Whether the client needs no token. Protocols other than HTTP carry none. */
bool access_without_token(struct access *a, struct access_client *client);

#endif
