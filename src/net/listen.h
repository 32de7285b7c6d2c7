/* Addresses to listen on, and the sockets that do. */
#ifndef FUMI_NET_LISTEN_H
#define FUMI_NET_LISTEN_H

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

enum address_kind { ADDRESS_STDIO, ADDRESS_TCP, ADDRESS_UNIX };

struct address {
    enum address_kind kind;
    uint16_t port;
    char host[64];  /* TCP: an IPv4 or IPv6 address, without brackets; "localhost" is 127.0.0.1 */
    char path[108]; /* Unix: of the socket file */
};

/* "stdio", "tcp:HOST:PORT", "tcp:[V6]:PORT", "unix:PATH". */
int address_parse(struct address *a, struct fumi_str text, struct fumi_err *e);
void address_put(const struct address *a, struct fumi_buf *out); /* as address_parse reads it */
bool address_is_local(const struct address *a); /* only this machine can reach it */

struct listener {
    int fd;
    struct address at; /* with the port that the system chose */
    bool inherited;
    dev_t device; /* of a socket file that is ours to remove */
    ino_t inode;
};

/* Binds and listens, without waiting and closed on exec. `shared`: joins those that listen on the
 * same TCP port already (SO_REUSEPORT). The first is opened without, so that it is a fault when
 * another server has the port; give the others its `at`. A Unix socket has mode 0600 from its first
 * moment; a file that a dead server left there is replaced, one that somebody listens on is a
 * fault, as is a file that is no socket. *l needs no listener_close after a fault, but allows it.
 */
int listener_open(struct listener *l, const struct address *a, bool shared, struct fumi_err *e);
void listener_close(struct listener *l); /* removes a socket file if it is still the same one */

/* Sockets that systemd passed on (LISTEN_PID, LISTEN_FDS): how many were taken; -1 with *e set when
 * there are more than `max`, or when one is no listening stream socket. The variables are removed.
 */
int listener_inherit(struct listener *out, size_t max, struct fumi_err *e);

/* sd_notify: tells the service manager, if there is one (NOTIFY_SOCKET), "READY=1" and the like. */
void notify_manager(const char *state);

#endif
