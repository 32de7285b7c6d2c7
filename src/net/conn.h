/* Connections and the I/O thread that they live on: one I/O thread for each thread with a loop.
 *
 * A connection reads bytes and gives them to its protocol, which takes what is complete and puts
 * its answers into conn_out. A connection with something to do is on the I/O thread's list
 * (conn_schedule); before the loop sleeps, each of the list is sent its answers and watched anew.
 * Buffers come from the I/O thread and go back to it when they are empty, so an idle connection
 * holds none. Everything here belongs to the I/O thread's thread; answers from other threads come
 * home as posted tasks. */
#ifndef FUMI_NET_CONN_H
#define FUMI_NET_CONN_H

#include "base/arena.h"
#include "base/buf.h"
#include "net/access.h"
#include "net/loop.h"
#include "net/proto_state.h"
#include "net/server_shared.h"

#include <pthread.h>
#include <stdatomic.h>

struct stdio_fds;
struct io_thread;

enum { READ_BLOCK = 64 << 10 }; /* bytes of one read */

/* What a connection waits for; each has its time in the settings. */
enum wait {
    WAIT_NONE,
    WAIT_HEAD,      /* the rest of a request's head */
    WAIT_BODY,      /* of its body, at first */
    WAIT_RATE,      /* and then: is it fast enough? */
    WAIT_IDLE,      /* the next request */
    WAIT_WRITE,     /* the peer to take something */
    WAIT_PING,      /* any word of a WebSocket peer */
    WAIT_PONG,      /* its answer to a ping */
    WAIT_CLOSE,     /* the peer to close after us */
    WAIT_HEARTBEAT, /* to tell the reader of an event stream that we live */
    WAIT_PAUSE,     /* before one who guesses tokens is answered */
    WAIT_LINGER,    /* a last request, when the server ends */
    WAIT_KINDS
};

struct proto {
    const char *name;
    bool pushes; /* the peer can be told something outside of a call, and asked */
    /* Takes what is complete of these bytes, which it may change, unless conn_held: how many. The
     * rest comes again with more behind it; with `over` nothing more will come. */
    size_t (*take)(struct conn *c, char *p, size_t n, bool over);
    void (*answer)(struct conn *c, struct fumi_buf *text, int code);
    void (*notify)(struct conn *c, struct fumi_buf *text);
    void (*drain)(struct conn *c); /* the server ends: nothing new; may be called again */
    /* The others may be NULL. */
    void (*page)(struct conn *c, const struct fumi_page *page, struct fumi_buf *body);
    bool (*busy)(struct conn *c); /* a request is under way: nothing more may begin */
    bool (*eof_is_hangup)(
        struct conn *c);                /* whether the end of input means that the peer is gone */
    enum wait (*waits)(struct conn *c); /* for what, now that everything is sent */
    void (*timed_out)(struct conn *c, enum wait kind); /* it waited too long for this */
    void (*closed)(struct conn *c);                    /* the connection was closed */
    void (*done)(struct conn *c);                      /* frees what the protocol keeps */
};
extern const struct proto ndjson_proto, framed_proto, http_proto, websocket_proto;
extern const struct proto stdio_proto, unix_proto; /* one of these, as the first bytes say */

enum conn_state {
    CONN_SURPLUS, /* there are too many connections: the peer is only told so */
    CONN_OPEN,
    CONN_EOF,    /* nothing more is read; what was read is taken, what is open is answered */
    CONN_ENDING, /* nothing more is taken, and what is read is dropped; closes once all is sent */
    CONN_LAST,   /* the same, and nothing more is read */
    CONN_SHUT,   /* our side is shut down; waits for the peer to close */
    CONN_CLOSED,
};

struct conn {
    enum conn_state state;
    bool announced;            /* the host program heard of it, and not yet of its end */
    bool held;                 /* nothing more is begun for now: conn_held */
    enum fumi_hold calls_held; /* by answers: which blocking calls of the peer are started */
    atomic_bool overrun;  /* any thread: something told was dropped, since too much is unsent */
    struct watch in, out; /* a socket uses only `in` */
    struct io_thread *io;
    const struct proto *proto;
    const struct stdio_fds *stdio;   /* of stdin and stdout; NULL: a socket */
    struct fumi_buf rest;            /* read, not taken yet */
    struct fumi_buf queue;           /* not sent yet */
    size_t sent;                     /* of the queue */
    size_t want;                     /* bytes that the protocol waits for, as far as it knows */
    size_t open, weight;             /* messages under way, and their bytes */
    struct message *oldest, *newest; /* of these, those that are answered in order */
    size_t waiting;                  /* bytes of answers that wait for others */
    size_t limit;                    /* bytes of a message */
    atomic_size_t backlog;           /* any thread: bytes queued */
    atomic_size_t late_calls;        /* any thread: calls that were answered and still run */
    atomic_size_t in_transit;        /* any thread: bytes on their way home */
    unsigned pins;                   /* those that use it and will come back */
    enum wait wait;
    int64_t due;                        /* when that wait ends */
    struct conn *wait_prev, *wait_next; /* that wait for the same */
    struct conn *prev, *next;           /* of the I/O thread */
    struct conn *next_scheduled;
    struct fumi_peer peer;
    struct fumi_source *source; /* of the request, or of the upgrade; NULL: none */
    union {
        struct ndjson ndjson;
        struct framed framed;
        struct http http;
        struct websocket websocket;
    } as;
    struct access_client client;
    struct fumi_err *err;             /* where a fault is noted; NULL: nobody wants to know */
    void (*on_close)(struct conn *c); /* it was closed; may be NULL */
    void *on_close_arg;
    char address[64]; /* the peer's, as text */
    char user[12];    /* over a Unix socket: its number */
};

struct wait_list {
    struct conn *first, *last;
    int64_t time, grace; /* it may take as much longer */
};

struct io_thread {
    struct server_shared *shared;
    struct loop *loop;
    pthread_t thread;
    struct fumi_spare memory;
    char *block; /* what is read */
    struct http_head *head;
    struct fumi_tasks messages; /* spare ones */
    struct conn *conns;
    struct conn *cursor;                           /* the next one of a walk through all of them */
    struct conn *first_scheduled, *last_scheduled; /* with something to do before the loop sleeps */
    struct spare *spares;                          /* empty buffers */
    size_t spare_bytes;                            /* of memory that they take */
    struct fumi_task evict;
    struct wait_list waits[WAIT_KINDS];
    struct timer tick;
    int64_t ticks_at;  /* INT64_MAX: not set */
    bool outside_loop; /* its thread is, of the loop: what it says comes home as from any other */
    bool draining;
    bool cancelled;                         /* its open calls were cancelled */
    void (*on_empty)(struct io_thread *io); /* the last connection is gone */
    int64_t common_at;                      /* second of `common` */
    size_t common_n, head_n;
    size_t brief_n;      /* of `common`: what does not only speak to browsers */
    char common[512];    /* fields that every answer has */
    char head_text[256]; /* of the usual answer, up to its length */
    atomic_size_t accepted, conns_n, bytes_in, bytes_out, requests;
    atomic_size_t other_users, evict_n; /* accept.c: of its connections; of these, to be closed */
};

/* Counters are written by one thread and read by any. */
static inline void count_add(atomic_size_t *counter, size_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

struct io_thread *io_thread_new(struct server_shared *shared, struct fumi_err *e);
void io_thread_free(struct io_thread *io); /* without connections */
void io_thread_drain(
    struct io_thread *io); /* its connections end as soon as what is open is answered */
void io_thread_cancel(struct io_thread *io);    /* what is open is cancelled */
void io_thread_close_all(struct io_thread *io); /* all of them, now */

/* A new connection, which owns the descriptor; conn_schedule begins its work. */
struct conn *conn_new(struct io_thread *io, int fd, const struct proto *proto);
/* The same over stdin and stdout, which stay the caller's. */
struct conn *conn_new_stdio(struct io_thread *io, const struct stdio_fds *stdio,
                            const struct proto *proto);

struct fumi_buf *conn_out(struct conn *c); /* where its answers go; they are sent soon */
static inline size_t conn_unsent(const struct conn *c)
{
    return c->queue.n - c->sent;
}
static inline bool conn_accepts_input(const struct conn *c) /* whether messages of it are begun */
{
    return c->state < CONN_ENDING;
}
static inline bool conn_closed(const struct conn *c)
{
    return c->state == CONN_CLOSED;
}

/* Gives one message to the server; its answer comes to proto->answer, perhaps at once. `tells`:
 * what a call says before its answer goes to proto->notify; otherwise nobody wants it. */
void conn_handle(struct conn *c, struct fumi_str message, bool tells);
/* Gives a request to a route of the host program; its answer comes to proto->page. *reply is what
 * the route has to answer, set before it runs. */
void conn_route(struct conn *c, const struct fumi_route *r, const struct fumi_http_request *request,
                struct fumi_str body, struct message **reply);

bool conn_held(struct conn *c); /* whether nothing more may be begun now */

void conn_announce(struct conn *c); /* tells the host program of it: its peer is named */
void conn_schedule(struct conn *c); /* it has something to do before the loop sleeps */
void conn_end(struct conn *c);      /* sends what is queued, then closes */
void conn_close(struct conn *c);    /* at once; what the system takes now is still sent */
void conn_set_proto(struct conn *c, const struct proto *proto);
bool conn_input_empty(const struct conn *c); /* whether its socket has nothing to be read now */

void conn_unpin(struct conn *c);
void conn_free_if_unused(struct conn *c); /* frees it if it is closed and nobody needs it */

/* For I/O threads: all that can be done now; what is open is cancelled; the server ends. */
void conn_advance(struct conn *c);
void conn_cancel_calls(struct conn *c);
void conn_drain(struct conn *c);

/* Answers, in the place of a message, with an error that names no request. */
void conn_refuse(struct conn *c, const struct fumi_err *e);

/* message.c: sends what belongs to no call; frees a spare message. */
void conn_push(struct fumi_peer *peer, struct fumi_buf *text);
void conn_keep_late(struct fumi_peer *peer, bool keep); /* fumi_peer.keep */
void message_free(struct fumi_task *spare);
void message_client_left(struct message *m);   /* its client did, before it was answered */
bool message_watched(const struct message *m); /* whether the route wants to know that */

int64_t io_thread_now(const struct io_thread *io); /* milliseconds, as of this turn of the loop */
void conn_set_wait(struct conn *c, enum wait kind);
void conn_renew_wait(struct conn *c); /* it heard from its peer: its wait begins anew */
void conn_clear_wait(struct conn *c); /* it waits for nothing */

/* Gives a buffer without memory that of a spare one, if there is one. */
void io_thread_get_buf(struct io_thread *io, struct fumi_buf *b);
/* Makes the memory of a buffer spare, or frees it; the buffer is empty afterwards. */
void io_thread_put_buf(struct io_thread *io, struct fumi_buf *b);

#endif
