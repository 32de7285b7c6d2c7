/* Private to serve*.c: a service, and the parts of its life. */
#ifndef FUMI_NET_SERVE_PARTS_H
#define FUMI_NET_SERVE_PARTS_H

#include "net/accept.h"
#include "net/discovery.h"
#include "net/pool.h"
#include "net/stdio_fds.h"

/* A I/O thread and what belongs to it. */
struct thread_slot {
    struct io_thread *io;
    struct fumi_service *service;
    struct acceptor *acceptors;
    struct fumi_task start, drain;
    struct timer deadline;
    bool cancelled;
    int64_t until; /* io_thread_now() up to which calls that change something are waited for */
    struct fumi_buf methods; /* of calls that are abandoned */
    pthread_t thread;
    bool running; /* its thread does */
};

struct fumi_service {
    struct server_shared shared;
    struct fumi_serve_options options;
    struct thread_slot *slots;
    size_t slots_n;
    struct pool *pool;
    struct stdio_fds stdio;
    struct watch parent; /* of one that serves stdio */
    struct watch stop;   /* readable after fumi_stop */
    bool claimed;        /* the server is ours to serve */
    size_t descriptors;  /* that it needs of the process's limit; 0: unknown */
    bool filled;         /* process_fill was called */
    bool has_stdio;      /* it has taken stdin and stdout */
    int fd;              /* of fumi_service_fd */
    bool ended;          /* its first loop was stopped */
    bool began;          /* calls may have come in */
    bool draining;
    enum fumi_served why; /* it ends */
    int64_t drain;
    struct fumi_err err; /* why it could not go on */
    struct lock_file *locks;
    size_t locks_n;
    char *token; /* terminated; empty: there is none */
};

/* serve_open.c */
struct fumi_service *service_new(struct fumi_server *server, const struct fumi_serve_options *o);
/* The server is ours to serve: 0. 1: it is to stop at once. -1 with *e set: another serves it. */
int service_claim(struct fumi_service *s, struct fumi_err *e);
int service_prepare(struct fumi_service *s, struct fumi_err *e); /* all but the first turn */
void service_free(struct fumi_service *s);
void service_withdraw(struct fumi_service *s); /* removes its lock files */

/* serve_end.c. service_make_slots makes the I/O threads; service_end begins the end, on the first
 * I/O thread's thread.
 */
int service_make_slots(struct fumi_service *s, struct fumi_err *e);
void service_end(struct fumi_service *s, enum fumi_served why);
bool service_abandons(const struct fumi_service *s);
enum fumi_served service_abandon(struct fumi_service *s);

#endif
