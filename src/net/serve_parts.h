/* Private to serve*.c: a service, from opening to shutdown. */
#ifndef FUMI_NET_SERVE_PARTS_H
#define FUMI_NET_SERVE_PARTS_H

#include "net/accept.h"
#include "net/discovery.h"
#include "net/pool.h"
#include "net/stdio_fds.h"

/* One I/O thread of a service with its listeners. Slot 0 runs on the thread that serves; it also
 * has the signals, stdio and the Unix sockets. */
struct thread_slot {
    struct io_thread *io; /* owned */
    struct fumi_service *service;
    struct acceptor *acceptors; /* owned */
    struct fumi_task start, drain;
    struct timer deadline;   /* of the shutdown */
    bool cancelled;          /* the deadline has passed, and the open calls were cancelled */
    int64_t until;           /* deadline of calls that may have changed data, as io_thread_now */
    struct fumi_buf methods; /* names of the calls that are abandoned */
    pthread_t thread;
    bool running; /* the thread was started; slot 0: serving has begun */
};

struct fumi_service {
    struct server_shared shared;
    struct fumi_serve_options options;
    struct thread_slot *slots;
    size_t slots_n;
    struct pool *pool; /* NULL: no method may block */
    struct stdio_fds stdio;
    struct watch parent;  /* pidfd of the parent process, if stdin and stdout are served */
    struct watch stop;    /* readable after fumi_stop */
    bool claimed;         /* no other service may serve the server */
    size_t descriptors;   /* counted by process_descriptors; 0: none */
    bool filled;          /* process_fill was called */
    bool has_stdio;       /* stdio_fds_open was called */
    int fd;               /* of fumi_service_fd */
    bool ended;           /* the event loop of slot 0 has stopped */
    bool began;           /* calls may have arrived */
    bool draining;        /* service_end was called */
    enum fumi_served why; /* the reason for the shutdown */
    int64_t drain;        /* milliseconds for open calls at shutdown */
    struct fumi_err err;  /* the error that ended the service; code 0: none */
    struct lock_file *locks;
    size_t locks_n;
    char *token; /* terminated; empty: none */
};

/* serve_open.c. The service copies *o, but not the data that *o points to. */
struct fumi_service *service_new(struct fumi_server *server, const struct fumi_serve_options *o);
/* Reserves the server for this service. Returns 0; 1 if fumi_stop was already called; -1 with *e
 * set if another service serves it. */
int service_claim(struct fumi_service *s, struct fumi_err *e);
/* Everything up to the first iteration of the event loop. */
int service_prepare(struct fumi_service *s, struct fumi_err *e);
void service_free(struct fumi_service *s);
void service_withdraw(struct fumi_service *s); /* removes its lock files */

/* serve_end.c */
int service_make_slots(struct fumi_service *s, struct fumi_err *e);
/* Starts the shutdown, on the thread of slot 0. Only the first call has an effect. */
void service_end(struct fumi_service *s, enum fumi_served why);
/* After the event loops have stopped: whether calls still run. */
bool service_abandons(const struct fumi_service *s);
/* Releases what calls that still run cannot use, and leaks the rest. Returns the result of
 * fumi_serve. */
enum fumi_served service_abandon(struct fumi_service *s);

#endif
