/* Private to the load generator: messages as they are sent, and checks of the answers. */
#ifndef FUMI_BENCH_LOAD_H
#define FUMI_BENCH_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mixed.h"

/* Prints the message, with the text of errno unless that is 0, and ends the program. */
_Noreturn void die(const char *what);

enum load_kind { LINES, HTTP, WS }; /* LINES: over two pipes, one message per line */

struct plan {
    enum load_kind kind;
    bool echo;        /* the server echoes messages, and does not answer notifications */
    char **command;   /* LINES: the command that starts the server */
    const char *host; /* for the Host header, such as "127.0.0.1:8765" */
    uint16_t port;
    size_t connections, in_flight;
    size_t batch; /* average calls per message; 1: no batches */
    double seconds;
    pid_t pid; /* of the server; 0: its processor time is not measured */
};

/* A message as it is sent. */
struct packet {
    const struct mixed_message *message;
    char *p;
    size_t n;
    size_t answer; /* size of its answer, known once the first one was checked; 0: unknown */
    bool answered; /* false: no answer is sent */
};

struct wire {
    const struct plan *plan;
    struct mixed mixed;
    struct packet *packets; /* one per message */
    char handshake[512];
    size_t handshake_size;
};
void wire_make(struct wire *w, const struct plan *p);
void wire_free(struct wire *w);

/* Both return the size of what arrived, or 0 if it is incomplete. They end the program if it is
 * not the expected answer: the first answer to a message is checked in full, later ones only by
 * length. */
size_t wire_handshake(const char *p, size_t n);
size_t wire_answer(const struct wire *w, struct packet *to, const char *p, size_t n);

#endif
