/* Who may come in over HTTP and WebSocket: Host, Origin, user and token (reliability.md T1 to T4).
 */
#ifndef FUMI_NET_ACCESS_H
#define FUMI_NET_ACCESS_H

#include "net/http1.h"
#include "net/serve.h"

enum access_user { ACCESS_USER_UNKNOWN, ACCESS_USER_SAME, ACCESS_USER_OTHER };

/* One connection, as the door sees it. */
struct access_client {
    int fd;
    bool unix_socket;
    bool loopback;        /* TCP from this machine */
    enum access_user who; /* ACCESS_USER_UNKNOWN until it was asked for */
};
void access_client_init(struct access_client *client,
                        int fd); /* fills it from the socket; asks for no user yet */

/* Asks for the user. ACCESS_USER_UNKNOWN: that cannot be known (a peer on another machine), or not
 * now. */
enum access_user access_client_identify(struct access_client *client);

struct access; /* for all threads */

/* Copies what it needs. The token may be none: then nobody can show one. */
struct access *access_new(const struct fumi_settings *s, struct fumi_str token, struct fumi_err *e);
void access_free(struct access *a);
void access_add_port(struct access *a,
                     uint16_t port); /* one of ours, before the first guest comes */

struct access_verdict {
    int status; /* 0: come in; 401 or 403 */
    const char *reason;
    bool pause;             /* 401: this client guesses: answer it later, in 250 ms */
    struct fumi_str origin; /* an allowed Origin, as it came, to be sent back; none: p is NULL */
};

/* A request, an upgrade or a preflight (OPTIONS with Origin and Access-Control-Request-Method,
 * which needs no token). */
struct access_verdict access_check(struct access *a, struct access_client *client,
                                   const struct http_head *h);

/* Lines carry no token: whether one may speak without. */
bool access_without_token(struct access *a, struct access_client *client);

#endif
