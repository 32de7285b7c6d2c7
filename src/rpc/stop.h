/* Private to rpc/ and net/: how fumi_stop reaches the service of a server. */
#ifndef FUMI_RPC_STOP_H
#define FUMI_RPC_STOP_H

#include "base/err.h"

#include <stdatomic.h>

struct fumi_server;

/* Part of a server; {0} at first. `requested` decides, the descriptor only wakes. */
struct stop {
    atomic_bool requested; /* to stop, and no service has ended since */
    atomic_bool served;    /* a service of the server exists */
    /* An eventfd, plus one; 0: not made yet. It stays open until the server is freed, because
     * fumi_stop may write to it at any time. */
    atomic_int wake;
};
struct stop *server_stop(struct fumi_server *s);

/* A service begins; -1 with *e set: the server has one already. */
int stop_begin(struct stop *s, struct fumi_err *e);
/* A descriptor that is readable after stop_request; -1 with *e set. */
int stop_descriptor(struct stop *s, struct fumi_err *e);
void stop_end(struct stop *s); /* it has ended: what was requested so far is used up */
/* Whether stop_request was called. Makes the descriptor unreadable again. */
bool stop_look(struct stop *s);
void stop_request(struct stop *s); /* any thread, any time; async-signal-safe */
void stop_done(struct stop *s);    /* the server is freed */

#endif
