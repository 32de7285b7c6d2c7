/* Private to net/: connections, and the I/O threads that serve them. An I/O thread is a thread with
 * an event loop; a connection stays on the I/O thread that accepted it.
 *
 * A connection passes the bytes that it reads to its protocol, which consumes complete messages and
 * writes the replies to conn_out. A connection with work to do is on the I/O thread's list of
 * scheduled connections (conn_schedule). Before the event loop sleeps, the I/O thread sends the
 * output of each scheduled connection and sets the events that it waits for. Buffers come from the
 * I/O thread and return to it when they are empty, so an idle connection holds none.
 *
 * Unless a comment says "any thread", a function may only be called on the I/O thread of its
 * connection, and a member may only be used there. Replies from other threads are posted to the
 * event loop as tasks. */
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

/* What a connection waits for. Each kind has one timeout: set_times in io_thread.c. */
enum wait {
    WAIT_NONE,
    WAIT_HEAD,      /* the rest of a request's head */
    WAIT_BODY,      /* the body, until its rate is checked for the first time */
    WAIT_RATE,      /* the body: the next check of its rate */
    WAIT_IDLE,      /* the next request */
    WAIT_WRITE,     /* the peer to accept bytes */
    WAIT_PING,      /* any frame from a WebSocket peer; a ping is sent on timeout */
    WAIT_PONG,      /* the reply to a ping */
    WAIT_CLOSE,     /* the peer to close after we have shut down our side */
    WAIT_HEARTBEAT, /* the next comment in an event stream */
    WAIT_PAUSE,     /* the delayed 401 for a client that guesses tokens */
    WAIT_LINGER,    /* a last request, while the server shuts down */
    WAIT_KINDS
};

/* The response of a route, without its body. policy, cache: as fumi_reply_policy sets them. */
struct page {
    struct fumi_page head;
    const char *policy, *cache;
};

struct proto {
    const char *name;
    bool pushes; /* notifications and requests can be sent to the peer outside of a call */
    /* Consumes the complete messages at the start of the bytes, unless conn_held, and returns how
     * many bytes it consumed. It may modify the bytes. The rest is passed again with more bytes
     * appended. `over`: the input has ended, no more bytes will come. */
    size_t (*take)(struct conn *c, char *p, size_t n, bool over);
    void (*answer)(struct conn *c, struct fumi_buf *text, int code);
    void (*notify)(struct conn *c, struct fumi_buf *text);
    void (*drain)(struct conn *c); /* the server shuts down; may be called more than once */
    /* The rest may be NULL. */
    void (*page)(struct conn *c, const struct page *page, struct fumi_buf *body);
    bool (*busy)(struct conn *c);          /* a request is under way: start no other */
    bool (*eof_is_hangup)(struct conn *c); /* at the end of input: close, cancel the calls */
    enum wait (*waits)(struct conn *c);    /* what it waits for once all output is sent */
    void (*timed_out)(struct conn *c, enum wait kind);
    void (*closed)(struct conn *c); /* the connection was closed */
    void (*done)(struct conn *c);   /* frees the protocol's state */
};
extern const struct proto ndjson_proto, framed_proto, http_proto, websocket_proto;
extern const struct proto stdio_proto, unix_proto; /* detect the protocol by the first bytes */

/* In the order in which a connection passes through them, except that CONN_SURPLUS and CONN_OPEN
 * are alternatives. */
enum conn_state {
    CONN_SURPLUS, /* beyond the limit of connections: the first request is refused */
    CONN_OPEN,
    CONN_EOF,    /* reads no more; messages that were read are still handled and answered */
    CONN_ENDING, /* handles no more messages, discards input; closes once all output is sent */
    CONN_LAST,   /* as CONN_ENDING, and reads no more */
    CONN_SHUT,   /* our side is shut down; waits for the peer to close */
    CONN_CLOSED,
};

struct conn {
    enum conn_state state;
    bool announced;            /* options.connected was called, options.disconnected not yet */
    bool held;                 /* no further message is started for now: conn_held */
    enum fumi_hold calls_held; /* which blocking calls are held because of unsent answers */
    atomic_bool overrun;       /* any thread: a notification was dropped, too much is unsent */
    struct watch in, out;      /* a socket uses only `in` */
    struct io_thread *io;
    const struct proto *proto;
    const struct stdio_fds *stdio;   /* stdin and stdout; NULL: a socket */
    struct fumi_buf rest;            /* input that the protocol has not consumed yet */
    struct fumi_buf queue;           /* output; the first `sent` bytes are sent */
    size_t sent;                     /* bytes of the queue */
    size_t want;                     /* length of the message being received; 0: unknown */
    size_t open, weight;             /* messages under way, and their bytes */
    struct message *oldest, *newest; /* messages that must be answered in order */
    size_t waiting;                  /* bytes of answers that wait for an earlier one */
    size_t limit;                    /* bytes of a message */
    atomic_size_t backlog;           /* any thread: bytes of unsent output */
    atomic_size_t late_calls;        /* any thread: calls that were answered and still run */
    atomic_size_t in_transit; /* any thread: bytes of posted texts, + 1 per recheck or late call */
    unsigned pins;            /* references on its thread; 0: may be freed */
    enum wait wait;
    int64_t due;                        /* when the wait times out, as io_thread_now */
    struct conn *wait_prev, *wait_next; /* connections with the same wait */
    struct conn *prev, *next;           /* connections of the I/O thread */
    struct conn *next_scheduled;
    struct fumi_peer peer;
    struct fumi_source *source; /* of the HTTP request or upgrade, owned; NULL: none */
    union {
        struct ndjson ndjson;
        struct framed framed;
        struct http http;
        struct websocket websocket;
    } as;
    struct access_client client;
    struct fumi_err *err;             /* receives the first I/O error; may be NULL */
    void (*on_close)(struct conn *c); /* called after closing; may be NULL */
    void *on_close_arg;
    char address[64]; /* the peer's, as text */
    char user[12];    /* Unix sockets: the peer's uid as text */
};

struct wait_list {
    struct conn *first, *last;
    int64_t time, grace; /* timeout; a connection may time out up to `grace` ms later */
};

struct io_thread {
    struct server_shared *shared;
    struct loop *loop;
    pthread_t thread;
    struct fumi_spare memory;
    char *block; /* input buffer of READ_BLOCK bytes */
    struct http_head *head;
    struct fumi_tasks messages; /* unused messages, for reuse */
    struct conn *conns;
    struct conn *cursor; /* next connection of an iteration over all */
    struct conn *first_scheduled, *last_scheduled;
    struct spare *spares; /* unused buffers */
    size_t spare_bytes;   /* total size of the unused buffers */
    struct fumi_task evict;
    struct wait_list waits[WAIT_KINDS];
    struct timer tick;
    int64_t ticks_at;  /* INT64_MAX: not set */
    bool outside_loop; /* its thread runs code of the host program: see fumi_service_step */
    bool draining;
    bool cancelled;                         /* io_thread_cancel was called */
    void (*on_empty)(struct io_thread *io); /* the last connection was freed */
    int64_t common_at;                      /* second in which `common` was made */
    size_t common_n, head_n;
    size_t brief_n;      /* length of the fields in `common` that are not only for browsers */
    char common[512];    /* fields of every HTTP response */
    char head_text[256]; /* head of the usual response, up to the value of Content-Length */
    atomic_size_t accepted, conns_n, bytes_in, bytes_out, requests;
    atomic_size_t other_users, evict_n; /* accept.c: connections of other users; to be closed */
};

/* For counters that one thread writes and any thread reads. */
static inline void count_add(atomic_size_t *counter, size_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* Returns NULL with *e set if there is no event loop. */
struct io_thread *io_thread_new(struct server_shared *shared, struct fumi_err *e);
void io_thread_free(struct io_thread *io);             /* must have no connections */
void io_thread_drain(struct io_thread *io);            /* ends each connection after its calls */
void io_thread_cancel(struct io_thread *io);           /* cancels all open calls */
void io_thread_close_all(struct io_thread *io);        /* closes all connections at once */
bool io_thread_is_current(const struct io_thread *io); /* any thread: called in its event loop */
int64_t io_thread_now(const struct io_thread *io);     /* milliseconds, at this loop iteration */

/* If the buffer has no memory, gives it the memory of an unused buffer, if there is one. */
void io_thread_get_buf(struct io_thread *io, struct fumi_buf *b);
/* Keeps the memory of a buffer for reuse, or frees it; the buffer is empty afterwards. */
void io_thread_put_buf(struct io_thread *io, struct fumi_buf *b);

/* A new connection, which owns the descriptor. Call conn_schedule to start it. */
struct conn *conn_new(struct io_thread *io, int fd, const struct proto *proto);
/* The same over stdin and stdout. `stdio` stays the caller's and must outlive the connection. */
struct conn *conn_new_stdio(struct io_thread *io, const struct stdio_fds *stdio,
                            const struct proto *proto);

struct fumi_buf *conn_out(struct conn *c); /* the output buffer; schedules the connection */
static inline size_t conn_unsent(const struct conn *c)
{
    return c->queue.n - c->sent;
}
static inline bool conn_accepts_input(const struct conn *c)
{
    return c->state < CONN_ENDING;
}
static inline bool conn_closed(const struct conn *c)
{
    return c->state == CONN_CLOSED;
}

/* Passes one message to the server. The answer goes to proto->answer, perhaps before this returns.
 * `notifies`: notifications of the calls go to proto->notify; otherwise they are dropped. */
void conn_handle(struct conn *c, struct fumi_str message, bool notifies);
/* Passes a request to a route of the host program. The answer goes to proto->page. *reply is set
 * before the route runs, and is valid until that answer. */
void conn_route(struct conn *c, const struct fumi_route *r, const struct fumi_http_request *request,
                struct fumi_str body, struct message **reply);
/* Answers a message that was not handled with an error without an id. */
void conn_refuse(struct conn *c, const struct fumi_err *e);
bool conn_held(struct conn *c); /* whether no further message may be started now: backpressure */

void conn_announce(struct conn *c); /* calls options.connected; the peer must have its address */
void conn_schedule(struct conn *c); /* conn_advance is called before the event loop sleeps */
void conn_advance(struct conn *c);  /* sends, handles held input, sets events and timeout */
void conn_drain(struct conn *c);    /* the server shuts down */
void conn_cancel_calls(struct conn *c);
void conn_end(struct conn *c);   /* closes once the output is sent */
void conn_close(struct conn *c); /* at once, after one attempt to send the output */
void conn_set_proto(struct conn *c, const struct proto *proto);
bool conn_input_empty(const struct conn *c); /* no bytes can be read from its socket now */
void conn_unpin(struct conn *c);             /* may free it */
void conn_free_if_unused(struct conn *c);    /* if it is closed and nothing refers to it */

void conn_set_wait(struct conn *c, enum wait kind);
void conn_renew_wait(struct conn *c); /* the peer was active: its timeout starts again */
void conn_clear_wait(struct conn *c);

/* message.c */
void conn_push(struct fumi_peer *peer, struct fumi_buf *text); /* any thread: fumi_peer.push */
void conn_keep_late(struct fumi_peer *peer, bool keep);        /* any thread: fumi_peer.keep */
void message_free(struct fumi_task *unused);   /* an element of io_thread.messages */
void message_client_left(struct message *m);   /* before the message was answered */
bool message_watched(const struct message *m); /* fumi_reply_watch was called */

#endif
