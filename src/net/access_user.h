/* Private to access*.c and rpc_connection_owner.c: which user a peer belongs to, and which clients
 * guess tokens. */
#ifndef FUMI_NET_ACCESS_USER_H
#define FUMI_NET_ACCESS_USER_H

#include "base/str.h"

#include <netinet/in.h>
#include <pthread.h>

/* One end of a TCP connection. */
struct access_endpoint {
    struct in6_addr at; /* an IPv4 address as ::ffff:a.b.c.d */
    in_port_t port;     /* in network order */
};
/* Gets the endpoint of the peer, or of this side. Returns false if fd is not a TCP socket or is not
 * connected. */
bool access_endpoint_get(struct access_endpoint *out, int fd, bool peer);
bool access_endpoint_is_loopback(const struct access_endpoint *e);

/* Finds the user of the other end. Returns false if the user is unknown. For a Unix socket it is
 * the user who connected. For TCP the peer must be an open socket of this machine: the kernel
 * reports a closed socket as one of root. */
bool access_peer_uid(int fd, bool unix_socket, uid_t *uid);

/* Identifies a client in the count of wrong tokens: the user of a Unix socket, the address of a TCP
 * connection; all others share one key. */
struct access_guess_key {
    char kind;
    unsigned char key[16];
};
struct access_guess_key access_guess_key_of(int fd, bool unix_socket);

enum { GUESSES = 5, GUESS_TIME = 60000, GUESSERS = 64 };

struct access_guesser {
    struct access_guess_key who;
    uint64_t n;          /* wrong tokens in all; 0: an unused entry */
    int64_t at[GUESSES]; /* times of the last ones: number i is at i % GUESSES */
};

/* Initialize it as {.lock = PTHREAD_MUTEX_INITIALIZER}. Both functions may be called from any
 * thread; `now` is in milliseconds of a monotonic clock. */
struct access_guesses {
    pthread_mutex_t lock;
    struct access_guesser of[GUESSERS];
};

/* Whether the client sent GUESSES wrong tokens within the last GUESS_TIME milliseconds. */
bool access_guesses_exceeded(struct access_guesses *g, const struct access_guess_key *who,
                             int64_t now);

/* Counts a wrong token. If the table is full, the client whose last wrong token is oldest is
 * replaced. */
void access_guesses_add(struct access_guesses *g, const struct access_guess_key *who, int64_t now);

#endif
