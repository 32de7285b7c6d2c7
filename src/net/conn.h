/* Connections and the hub that they live on: one hub for each thread with a loop.
 *
 * A connection reads bytes and gives them to its protocol, which takes what is complete; what the
 * protocol puts into conn_out leaves in one write. While a hub works on a connection it uses the
 * hub's memory for both directions, so an idle connection holds no buffers. Everything here belongs
 * to the hub's thread; answers from other threads come home as posted tasks. */
#ifndef FUMI_NET_CONN_H
#define FUMI_NET_CONN_H

#include "base/arena.h"
#include "base/buf.h"
#include "net/door.h"
#include "net/keeps.h"
#include "net/loop.h"
#include "net/rate.h"
#include "net/serve.h"

#include <pthread.h>
#include <stdatomic.h>

struct ends;
struct hub;

enum { HUB_BLOCK = 64 << 10, HUB_KEEP = 256 << 10 }; /* bytes of one read; kept for answers */
enum {
    BAG_SLIPS = 256,       /* of a bag, */
    BAG_BYTES = 192 << 10, /* in it, */
    BAG_TIME = 500000,     /* nanoseconds: then it is emptied, */
    BAG_MESSAGE = 16 << 10 /* and before so many bytes are worked on */
};

/* Answers of one turn, those of one connection behind those of another: they are sent at its end.
 * To handle first and to send then is quicker than to change between the two, and wakes a peer of
 * several connections once. */
struct bag {
    struct fumi_buf text;
    int64_t began; /* fumi_ticks() of the first slip */
    struct {
        struct conn *c;
        size_t end; /* of its bytes */
    } slips[BAG_SLIPS];
    size_t slips_n, next; /* next to be sent */
    size_t sent;          /* bytes */
};

/* What a connection waits for; each has its time in the settings. */
enum wait {
    WAIT_NONE,
    WAIT_HEAD,   /* the rest of a request's head */
    WAIT_BODY,   /* of its body, at first */
    WAIT_RATE,   /* and then: is it fast enough? */
    WAIT_IDLE,   /* the next request */
    WAIT_WRITE,  /* the peer to take something */
    WAIT_PING,   /* any word of a WebSocket peer */
    WAIT_PONG,   /* its answer to a ping */
    WAIT_CLOSE,  /* the peer to close after us */
    WAIT_BEAT,   /* to tell the reader of an event stream that we live */
    WAIT_PAUSE,  /* before one who guesses tokens is answered */
    WAIT_LINGER, /* a last request, when the server ends */
    WAIT_KINDS
};

struct proto {
    const char *name;
    /* Takes what is complete of these bytes, which it may change, unless conn_held: how many. The
     * rest comes again with more behind it; with `over` nothing more will come. */
    size_t (*take)(struct conn *c, char *p, size_t n, bool over);
    void (*answer)(struct conn *c, struct fumi_buf *text, int code);
    void (*tell)(struct conn *c, struct fumi_buf *text);
    enum wait (*waits)(struct conn *c); /* for what, now that nothing is left to be sent */
    void (*late)(struct conn *c);       /* it waited too long: c->wait */
    void (*drain)(struct conn *c);      /* the server ends: nothing new; may be called again */
    void (*done)(struct conn *c);       /* frees what it keeps */
};
extern const struct proto lines_proto, http_proto, websocket_proto;
extern const struct proto unix_proto; /* lines or HTTP, as the first byte says */

/* What every message uses stands together at the front: with many connections, each cache line of
 * one is fetched anew for each of its messages. */
struct conn {
    struct watch in;
    struct hub *hub;
    const struct proto *proto;
    const struct ends *ends; /* of stdin and stdout; NULL: a socket */
    int64_t due;
    struct fumi_buf rest;  /* read, not taken yet */
    struct fumi_buf queue; /* not sent yet */
    size_t sent;           /* of the queue */
    size_t want;           /* bytes that the protocol waits for, as far as it knows */
    size_t open, weight;   /* messages under way, and their bytes */
    size_t limit;          /* bytes of a message */
    atomic_size_t backlog; /* any thread: bytes queued */
    unsigned pins;         /* those that use it and will come back */
    enum wait wait;
    bool over;   /* nothing more is read */
    bool dry;    /* the last read left nothing in the socket */
    bool ending; /* nothing more is taken; it is closed once everything is sent */
    bool shut;   /* our side is closed */
    bool closed;
    bool parted; /* its open calls were cancelled */
    bool held, clogged;
    bool blocked; /* the system takes nothing now */
    bool bagged;  /* an answer is in the bag */
    bool fresh;   /* the wait begins anew, though it is for the same */
    bool listed;  /* among those to be looked after */
    bool mute;    /* it is told nothing ahead of an answer */
    bool surplus; /* there are too many: it is only told so */
    bool greeted; /* a request was answered */
    struct fumi_peer peer;
    union {
        struct lines lines;
        struct http http;
        struct websocket websocket;
    } as;
    struct watch out; /* of a socket only `in` is used */
    struct guest guest;
    struct conn *earlier, *later; /* that wait for the same */
    struct conn *before, *after;  /* of the hub */
    struct conn *next_listed;
    atomic_size_t away;           /* any thread: bytes on their way home */
    atomic_bool overrun;          /* any thread: a word was dropped for want of room */
    struct fumi_err *err;         /* where a fault is noted; NULL: nobody wants to know */
    void (*gone)(struct conn *c); /* it was closed; may be NULL */
    void *gone_arg;
    char address[64]; /* the peer's, as text */
    char user[12];    /* over a Unix socket: its number */
};

struct wait_list {
    struct conn *first, *last;
    int64_t time, grace; /* it may take as much longer */
};

/* What all hubs of a server share and only read. */
struct site {
    struct fumi_server *server;
    fumi_handle_fn *handle;
    void *handler;
    struct fumi_settings set; /* with defaults filled in */
    const struct fumi_log *log;
    const struct fumi_filter *filters;
    size_t filters_n;
    struct route *routes;
    size_t routes_n;
    struct fumi_metrics *metrics;
    struct door *door;
    struct rate *rate; /* NULL: any */
    struct http_limits http;
    size_t message; /* bytes */
    size_t surplus; /* connections beyond the limit that are told so */
    struct hub **hubs;
    size_t hubs_n;
    atomic_size_t conns, open; /* of all hubs */
    atomic_size_t bodies;      /* bytes that requests have announced and that are not there yet */
};

struct hub {
    struct site *site;
    struct loop *loop;
    pthread_t thread;
    struct fumi_spare memory;
    struct bag bag;
    struct conn *current; /* the one that is worked on; NULL: none */
    size_t begin;         /* where its bytes begin in the bag */
    char *block;          /* what is read */
    struct http_head *head;
    struct fumi_tasks messages; /* spare ones */
    struct conn *conns;
    struct conn *listed; /* to be looked after */
    struct fumi_task sweep;
    bool sweeping;
    struct wait_list waits[WAIT_KINDS];
    struct timer tick;
    int64_t ticks_at; /* INT64_MAX: not set */
    bool draining;
    void (*empty)(struct hub *h); /* the last connection is gone */
    int64_t common_at;            /* second of `common` */
    size_t common_n, head_n;
    size_t brief_n;      /* of `common`: what does not only speak to browsers */
    char common[512];    /* fields that every answer has */
    char head_text[256]; /* of the usual answer, up to its length */
    atomic_size_t accepted, conns_n, bytes_in, bytes_out, requests;
};

/* Counters are written by one thread and read by any. */
static inline void count_add(atomic_size_t *counter, size_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

struct hub *hub_new(struct site *site, struct fumi_err *e);
void hub_free(struct hub *h);  /* without connections */
void hub_drain(struct hub *h); /* its connections end as soon as what is open is answered */
void hub_part(struct hub *h);  /* what is open is cancelled */
void hub_close(struct hub *h); /* all of them, now */

/* A new connection, which owns the descriptor; conn_work begins its work. */
struct conn *conn_new(struct hub *h, int fd, const struct proto *proto);
/* The same over stdin and stdout, which stay the caller's. */
struct conn *conn_over(struct hub *h, const struct ends *ends, const struct proto *proto);

struct fumi_buf *conn_out(struct conn *c);
static inline size_t conn_unsent(const struct conn *c)
{
    const struct hub *h = c->hub;
    return c->queue.n - c->sent + (FUMI_MOSTLY(h->current == c) ? h->bag.text.n - h->begin : 0);
}

/* Gives one message to the server; its answer comes to proto->answer, perhaps at once. */
void conn_handle(struct conn *c, struct fumi_str message);
/* The same with a request for a route of the host program. */
void conn_route(struct conn *c, const struct fumi_route *r, const struct fumi_request *request,
                struct fumi_str body);

/* Whether nothing more may be begun now. */
bool conn_held(struct conn *c);

void conn_work(struct conn *c);  /* all that can be done now */
void conn_soon(struct conn *c);  /* the same, when the hub has time */
void conn_end(struct conn *c);   /* sends what is queued, then closes */
void conn_close(struct conn *c); /* at once */
void conn_become(struct conn *c, const struct proto *proto);

void conn_send(struct hub *h); /* empties the bag */

void conn_unpin(struct conn *c);
void conn_settle(struct conn *c); /* frees it if it is closed and nobody needs it */

/* For hubs: what is open is cancelled; what lies in the socket is taken and it ends. */
void conn_part(struct conn *c);
void conn_drain(struct conn *c);

/* message.c: sends what belongs to no call; frees a spare message. */
void conn_push(struct fumi_peer *peer, struct fumi_buf *text);
void message_free(struct fumi_task *spare);
void message_left(struct message *m); /* its client did, before it was answered */

int64_t hub_now(const struct hub *h); /* milliseconds, as of this turn of the loop */
void hub_wait(struct conn *c, enum wait kind);
void hub_leave(struct conn *c); /* it waits for nothing */

/* Answers the upgrade and makes the connection speak WebSocket: 0, or -1 with *out set. `lines` are
 * further fields of the answer. */
int websocket_begin(struct conn *c, const struct http_head *h, struct fumi_str lines,
                    struct fumi_refusal *out);

#endif
