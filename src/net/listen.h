/* Addresses to listen on, and listening sockets. */
#ifndef FUMI_NET_LISTEN_H
#define FUMI_NET_LISTEN_H

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

enum address_kind { ADDRESS_STDIO, ADDRESS_TCP, ADDRESS_UNIX };

struct address {
    enum address_kind kind;
    uint16_t port;
    char host[64];  /* TCP: IPv4 or IPv6 address without brackets; "localhost" becomes 127.0.0.1 */
    char path[108]; /* Unix: path of the socket file */
};

/* Parses "stdio", "tcp:HOST:PORT", "tcp:[V6]:PORT" or "unix:PATH". Returns -1 with *e set if the
 * text is none of them. */
int address_parse(struct address *a, struct fumi_str text, struct fumi_err *e);
void address_put(const struct address *a,
                 struct fumi_buf *out);         /* in the syntax of address_parse */
bool address_is_local(const struct address *a); /* only reachable from this machine */

struct listener {
    int fd;
    struct address at; /* includes the port chosen by the system */
    bool inherited;    /* passed by systemd */
    dev_t device;      /* identity of the socket file to remove */
    ino_t inode;
};

/* Opens a listening socket, non-blocking and close-on-exec. `shared`: join the sockets that already
 * listen on the same TCP port (SO_REUSEPORT). Open the first socket without it, so that a port in
 * use by another server is an error; give the others its `at`. A Unix socket has mode 0600 from the
 * start. A socket file left by a dead server is replaced; a socket in use and any other file are
 * errors. After an error listener_close is allowed, but not needed. */
int listener_open(struct listener *l, const struct address *a, bool shared, struct fumi_err *e);
void listener_close(struct listener *l); /* removes its socket file, unless it was replaced */

/* Takes over the sockets passed by systemd (LISTEN_PID, LISTEN_FDS) and unsets these variables.
 * Returns their number; -1 with *e set if there are more than `max`, or if one is not a listening
 * stream socket. */
int listener_inherit(struct listener *out, size_t max, struct fumi_err *e);

/* Sends a state such as "READY=1" to the service manager, if there is one (NOTIFY_SOCKET), as
 * sd_notify does. */
void notify_manager(const char *state);

#endif
