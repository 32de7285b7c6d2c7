/* Private to net/: listening sockets of the I/O threads. The I/O thread that accepts a connection
 * serves it. */
#ifndef FUMI_NET_ACCEPT_H
#define FUMI_NET_ACCEPT_H

#include "net/conn.h"
#include "net/listen.h"

struct acceptor {
    struct watch watch;
    struct timer again; /* retries after the process had no free descriptor */
    struct listener listener;
    struct io_thread *io;
    struct acceptor *next;
};

/* Takes ownership of the listener. */
struct acceptor *acceptor_new(struct io_thread *io, const struct listener *l);
void acceptor_free(struct acceptor *a); /* after its event loop has ended */

/* On the I/O thread. acceptor_stop accepts the connections in the backlog, then closes the socket.
 */
int acceptor_start(struct acceptor *a, struct fumi_err *e);
void acceptor_stop(struct acceptor *a);

#endif
