/* The parts of the load generator: what goes over the wire, and what is counted. */
#ifndef FUMI_BENCH_LOAD_H
#define FUMI_BENCH_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mixed.h"

/* Ends the program with a sentence; errno is added unless it is 0. */
_Noreturn void die(const char *what);

enum kind { LINES, HTTP, WS }; /* LINES: over two pipes, one message a line */

struct plan {
    enum kind kind;
    bool echo;        /* the server sends back what it got, and no answer to a notification */
    char **command;   /* LINES: the server, which is started */
    const char *host; /* "127.0.0.1:8765", for the head */
    uint16_t port;
    size_t connections, in_flight;
    size_t batch; /* calls in a message, more or less; 1: no batch */
    double seconds;
    pid_t pid; /* the server's; 0: it is not looked at */
};

/* A message as it goes over the wire. */
struct packet {
    const struct message *message;
    char *p;
    size_t n;
    size_t answer; /* bytes of its answer, once one was read with care; 0: not yet */
    bool answered; /* false: nothing comes back */
};

struct wire {
    const struct plan *plan;
    struct mixed mixed;
    struct packet *packets; /* as many as messages */
    char handshake[512];
    size_t handshake_size;
};
void wire_make(struct wire *w, const struct plan *p);
void wire_free(struct wire *w);

/* The size of what arrived; 0: it has not all arrived. Both end the program unless it is the right
 * answer: the first answer to a message is read with care, of the others the length is compared. */
size_t wire_welcome(const char *p, size_t n);
size_t wire_answer(const struct wire *w, struct packet *to, const char *p, size_t n);

#endif
