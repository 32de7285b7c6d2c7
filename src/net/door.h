/* Who may come in over HTTP and WebSocket: Host, Origin, user and token (reliability.md T1 to T4).
 */
#ifndef FUMI_NET_DOOR_H
#define FUMI_NET_DOOR_H

#include "net/http1.h"
#include "net/serve.h"

enum guest_who { GUEST_NEW, GUEST_OWN, GUEST_STRANGER };

/* One connection, as the door sees it. */
struct guest {
    int fd;
    bool unix_socket;
    bool loopback;      /* TCP from this machine */
    enum guest_who who; /* GUEST_NEW until it was asked for */
};
void guest_meet(struct guest *g, int fd); /* fills it from the socket; asks for no user yet */

/* Asks for the user. GUEST_NEW: that cannot be known (a peer on another machine), or not now. */
enum guest_who guest_ask(struct guest *g);

struct door; /* for all threads */

/* Copies what it needs. The token may be none: then nobody can show one. */
struct door *door_new(const struct fumi_settings *s, struct fumi_str token, struct fumi_err *e);
void door_free(struct door *d);
void door_port(struct door *d, uint16_t port); /* one of ours, before the first guest comes */

struct door_verdict {
    int status; /* 0: come in; 401 or 403 */
    const char *reason;
    bool pause;             /* 401: this client guesses: answer it later, in 250 ms */
    struct fumi_str origin; /* an allowed Origin, as it came, to be sent back; none: p is NULL */
};

/* A request, an upgrade or a preflight (OPTIONS with Origin and Access-Control-Request-Method,
 * which needs no token). */
struct door_verdict door_check(struct door *d, struct guest *g, const struct http_head *h);

/* Lines carry no token: whether one may speak without. */
bool door_knows(struct door *d, struct guest *g);

#endif
