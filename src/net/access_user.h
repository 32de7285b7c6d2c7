/* Private to door*.c and rpc_connection_owner.c: who is at the other end of a socket, and who
 * guesses tokens.
 */
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
bool access_endpoint_get(struct access_endpoint *out, int fd,
                         bool peer); /* false: no TCP socket, or not connected */
bool access_endpoint_is_loopback(const struct access_endpoint *e);

/* Whose the other end is: whether that can be known. A Unix socket's peer is the one that
 * connected. The other end of TCP must be a socket of this machine that is still open, because the
 * kernel gives one that was closed to root. */
bool access_peer_uid(int fd, bool unix_socket, uid_t *uid);

/* A client as guesses are counted: a user at a Unix socket, an address at TCP, or all others. */
struct access_guess_key {
    char kind;
    unsigned char key[16];
};
struct access_guess_key access_guess_key_of(int fd, bool unix_socket);

enum { GUESSES = 5, GUESS_TIME = 60000, GUESSERS = 64 };

struct access_guesser {
    struct access_guess_key who;
    uint64_t n;          /* guesses in all; 0: a free place */
    int64_t at[GUESSES]; /* when the last ones were, guess i at i % GUESSES */
};

/* For all threads. `now` in milliseconds of a clock that never goes back. */
struct access_guesses {
    pthread_mutex_t lock;
    struct access_guesser of[GUESSERS];
};

/* Whether it guessed GUESSES times within the last GUESS_TIME. */
bool access_guesses_exceeded(struct access_guesses *g, const struct access_guess_key *who,
                             int64_t now);

/* One more. It takes the place of the client that guessed least recently when all are taken. */
void access_guesses_add(struct access_guesses *g, const struct access_guess_key *who, int64_t now);

#endif
