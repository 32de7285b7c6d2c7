/* Listening sockets on the I/O threads: each new connection belongs to the I/O thread that accepted
 * it. */
#ifndef FUMI_NET_ACCEPT_H
#define FUMI_NET_ACCEPT_H

#include "net/conn.h"
#include "net/listen.h"

struct acceptor {
    struct watch watch;
    struct timer again; /* after the system had no descriptor left */
    struct listener listener;
    struct io_thread *io;
    struct acceptor *next;
};

struct acceptor *acceptor_new(struct io_thread *io, const struct listener *l);

/* On the I/O thread's thread. The last call takes those who wait at the door before it closes. */
int acceptor_start(struct acceptor *a, struct fumi_err *e);
void acceptor_stop(struct acceptor *a);
void acceptor_free(struct acceptor *a);

#endif
