/* Private to rpc/ and net/: passes the request of fumi_stop to the service of a server. */
#ifndef FUMI_RPC_STOP_H
#define FUMI_RPC_STOP_H

#include "base/err.h"

#include <stdatomic.h>

struct fumi_server;

/* Part of a server; initially {0}. `requested` is the state; the descriptor only wakes the event
 * loop. */
struct stop {
    atomic_bool requested; /* a stop was requested, and no service has ended since */
    atomic_bool served;    /* a service of the server exists */
    /* An eventfd plus one; 0: not created yet. It stays open until the server is freed, because
     * fumi_stop may write to it at any time. */
    atomic_int wake;
};
struct stop *server_stop(struct fumi_server *s);

/* A service starts. Returns -1 with *e set if the server has one already. */
int stop_begin(struct stop *s, struct fumi_err *e);
/* Returns the descriptor, which is readable after stop_request, or -1 with *e set. The server owns
 * it. */
int stop_descriptor(struct stop *s, struct fumi_err *e);
/* The service has ended: clears the request. */
void stop_end(struct stop *s);
/* Whether a stop was requested. Makes the descriptor unreadable again. */
bool stop_look(struct stop *s);
/* Requests a stop. From any thread at any time; async-signal-safe; preserves errno. */
void stop_request(struct stop *s);
/* Closes the descriptor: the server is freed. */
void stop_done(struct stop *s);

#endif
