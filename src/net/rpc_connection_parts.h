/* Private to link*.c: a link, what waits for an answer, and what the ways to talk have in common.
 *
 * All bytes go through two buffers. rpc_connection_turn moves them: it writes what stands in `out`,
 * appends what arrives to `in`, and has the link's way cut that into messages, which
 * rpc_connection_take matches with what waits. Everything that waits does so by calling
 * rpc_connection_turn until its own state has changed.
 */
#ifndef FUMI_NET_RPC_CONNECTION_PARTS_H
#define FUMI_NET_RPC_CONNECTION_PARTS_H

#include "net/rpc_connection.h"

#include <sys/types.h>

enum rpc_connection_deed {
    RPC_CONNECTION_CALL,
    RPC_CONNECTION_NOTE, /* a notification: done when it is sent, over HTTP when that was answered
                          */
    RPC_CONNECTION_TEXT, /* of fumi_rpc_connection_text */
};

enum rpc_connection_state {
    RPC_CONNECTION_BEGUN,
    RPC_CONNECTION_POSTED, /* its message is made; whether there is a connection is being looked at
                            */
    RPC_CONNECTION_SENT,
    RPC_CONNECTION_ANSWERED,
    RPC_CONNECTION_FAILED
};

/* Something that is sent, and what came of it. */
struct rpc_connection_wait {
    struct rpc_connection_wait *next;
    enum rpc_connection_deed deed;
    enum rpc_connection_state state;
    int64_t id;           /* of a call, else 0 */
    uint64_t message;     /* the number of the message that it went out with */
    struct fumi_buf text; /* begun: its request; answered: result, data of an error, or text */
    bool ok;              /* answered: with a result */
    struct fumi_err err;  /* of the answer, or why there is none */
    char method[64];      /* for sentences; cut */
};

/* A way to talk. */
struct rpc_connection_way {
    const char *target; /* of requests when the URL has none; NULL: it has none ever */
    bool exchanges;     /* each message has an answer of its own: HTTP */
    /* After connecting, NULL: nothing is to be said. */
    int (*greet)(struct fumi_rpc_connection *l, int64_t until, struct fumi_err *e);
    /* Puts a message where it will be sent from. */
    void (*put)(struct fumi_rpc_connection *l, uint64_t number, struct fumi_str message);
    /* Sends an answer to something that the peer has asked. */
    void (*answer)(struct fumi_rpc_connection *l, struct fumi_str answer);
    /* Takes what it can from l->in; -1: the connection cannot be used any more. */
    int (*feed)(struct fumi_rpc_connection *l, struct fumi_err *e);
    /* The peer sends no more: says why that is wrong in *e, if it is. */
    void (*end)(struct fumi_rpc_connection *l, struct fumi_err *e);
    /* The connection is closed: what waits for it fails. */
    void (*dropped)(struct fumi_rpc_connection *l, const struct fumi_err *why);
    /* A connection is about to be closed by us, politely. NULL: nothing is to be said. */
    void (*part)(struct fumi_rpc_connection *l);
};
extern const struct rpc_connection_way rpc_connection_lines, rpc_connection_framed,
    rpc_connection_ws, rpc_connection_http;

struct rpc_connection_place {
    const char *url;         /* as it was given, or the program; for sentences */
    const char *host, *port; /* TCP; host is NULL: a Unix socket or a program */
    const char *path;        /* Unix socket */
    const char *target;      /* of requests */
    const char *authority;   /* Host */
    bool tls;
};

struct rpc_connection_ws_state;
struct rpc_connection_tls;
struct rpc_connection_answers;
struct rpc_connection_http_state;

struct fumi_rpc_connection {
    const struct rpc_connection_way *way;
    struct fumi_arena memory; /* the strings of `at` and `o` */
    struct rpc_connection_place at;
    struct fumi_rpc_connection_options o; /* without zeros that stand for defaults */
    bool secret;                          /* requests carry a token or the like */
    struct fumi_client *client;
    struct rpc_connection_wait *waits; /* in the order of their beginning */
    uint64_t messages;                 /* numbers given so far */
    uint64_t said;                     /* what the peer said by itself, counted */
    struct fumi_arena scratch;
    struct fumi_err odd; /* why what came last was no message; code 0: nothing such came */

    int fd;    /* -1: not connected */
    pid_t pid; /* of a child that was not waited for, else 0 */
    struct fumi_buf in, out;
    size_t sent;                    /* of out */
    bool deaf;                      /* the peer takes nothing any more */
    bool hung_up;                   /* the peer ended the connection, not we */
    struct fumi_err lost;           /* why there is no connection */
    struct rpc_connection_tls *tls; /* NULL: no TLS */
    struct rpc_connection_answers
        *answers;      /* NULL: the peer has asked nothing yet on this connection */
    int inside;        /* callbacks that run and must not use the link */
    bool reconnecting; /* `reconnected` runs */

    size_t seen;   /* lines: bytes of `in` without a line end */
    bool skipping; /* lines: the rest of one that is too long */
    size_t skip;   /* framed: bytes to come of a message that is too long */
    struct rpc_connection_ws_state *ws;
    struct rpc_connection_http_state *http;
};

/* Deadlines are of fumi_ticks. */
int64_t rpc_connection_until(int64_t ms);
int64_t rpc_connection_sooner(int64_t until, int64_t ms); /* that, or in so many milliseconds */
/* As revents; 0: the time is over, or `other`, a second descriptor, can be read, which *woken says;
 * negative: there is none. */
int rpc_connection_poll(int fd, short events, int64_t until);
int rpc_connection_poll_two(int fd, short events, int other, bool *woken, int64_t until);
void rpc_connection_pause(int64_t ms);

/* rpc_connection_open.c: check and copy the URL and the options. */
int rpc_connection_take_url(struct fumi_rpc_connection *l, const char *url, struct fumi_err *e);
int rpc_connection_take_options(struct fumi_rpc_connection *l, struct fumi_err *e);

/* rpc_connection_stream.c. rpc_connection_connect makes one try. rpc_connection_ready connects a
 * stream that was lost, with the tries and pauses of the options. */
int rpc_connection_connect(struct fumi_rpc_connection *l, int64_t until, struct fumi_err *e);
int rpc_connection_ready(struct fumi_rpc_connection *l, int64_t until, struct fumi_err *e);
int rpc_connection_start(struct fumi_rpc_connection *l, char *const argv[], struct fumi_err *e);
void rpc_connection_end_child(struct fumi_rpc_connection *l);

/* Between two exchanges: whether the peer has ended the connection, or speaks out of turn. */
bool rpc_connection_is_stale(struct fumi_rpc_connection *l);

/* False: the time was over before anything happened. */
bool rpc_connection_turn(struct fumi_rpc_connection *l, int64_t until);
void rpc_connection_read(struct fumi_rpc_connection *l);  /* what has arrived */
void rpc_connection_write(struct fumi_rpc_connection *l); /* as much of `out` as the socket takes */
void rpc_connection_drop(struct fumi_rpc_connection *l, const struct fumi_err *why);
void rpc_connection_hang_up(
    struct fumi_rpc_connection *l); /* closes the connection, without telling anyone */
void rpc_connection_eat(struct fumi_rpc_connection *l, size_t n); /* the first bytes of `in` */

/* Ways where messages are independent of each other: .end, .dropped, and whether the peer has left
 * so much unread that further answers are dropped instead of filling our memory. */
void rpc_connection_stream_end(struct fumi_rpc_connection *l, struct fumi_err *e);
void rpc_connection_fail_all(struct fumi_rpc_connection *l, const struct fumi_err *why);
bool rpc_connection_is_crowded(const struct fumi_rpc_connection *l);
void rpc_connection_too_long(
    struct fumi_rpc_connection *l); /* an answer is: the calls that are open fail */

static inline bool rpc_connection_unsent(const struct fumi_rpc_connection *l)
{
    return l->fd >= 0 && l->sent < l->out.n;
}

/* rpc_connection_tls.c. rpc_connection_tls_new reads the trusted authorities, once.
 * rpc_connection_tls_open makes the handshake on the socket that stands; what it made is ended by
 * rpc_connection_tls_close ahead of the socket, and rpc_connection_tls_done frees all.
 * rpc_connection_tls_read and _write are as recv and send that do not wait; with EPROTO in errno,
 * rpc_connection_tls_fault says what is wrong. An end that the peer did not tell of by close_notify
 * is such a fault. rpc_connection_tls_is_idle: what has arrived holds nothing for us, such as
 * session tickets. */
int rpc_connection_tls_new(struct fumi_rpc_connection *l, struct fumi_err *e);
int rpc_connection_tls_open(struct fumi_rpc_connection *l, int64_t until, struct fumi_err *e);
ssize_t rpc_connection_tls_read(struct fumi_rpc_connection *l, void *to, size_t n);
ssize_t rpc_connection_tls_write(struct fumi_rpc_connection *l, const void *from, size_t n);
bool rpc_connection_tls_is_idle(struct fumi_rpc_connection *l);
bool rpc_connection_tls_wants_write(const struct fumi_rpc_connection *l); /* to go on reading */
const char *rpc_connection_tls_fault(const struct fumi_rpc_connection *l);
void rpc_connection_tls_close(struct fumi_rpc_connection *l);
void rpc_connection_tls_done(struct fumi_rpc_connection *l);

/* rpc_connection_answer.c: has the server of the options handle a message of the peer; sends the
 * answers that are there, which can be when rpc_connection_answer_fd (negative: none are to come)
 * can be read; lets them go with their connection. */
void rpc_connection_answer(struct fumi_rpc_connection *l, struct fumi_str message);
int rpc_connection_answer_fd(const struct fumi_rpc_connection *l);
void rpc_connection_answer_send(struct fumi_rpc_connection *l);
void rpc_connection_answer_end(struct fumi_rpc_connection *l);

/* rpc_connection_owner.c: 0 if the token may be sent over the connection that stands, or there is
 * none. */
int rpc_connection_check_owner(const struct fumi_rpc_connection *l, int64_t until,
                               struct fumi_err *e);

/* rpc_connection_http.c: begins with the next message that waits, if none is under way. False: none
 * is. */
bool rpc_connection_http_next(struct fumi_rpc_connection *l, int64_t until);
void rpc_connection_http_forget(struct fumi_rpc_connection *l,
                                uint64_t number); /* nobody waits for it any more */
void rpc_connection_http_done(struct fumi_rpc_connection *l);
void rpc_connection_ws_done(struct fumi_rpc_connection *l);

/* The head of a request up to its own fields: Host, Origin, Authorization; and one field, which is
 * left out when its value is NULL. */
void rpc_connection_put_request(struct fumi_rpc_connection *l, struct fumi_buf *to,
                                const char *method);
void rpc_connection_put_field(struct fumi_buf *to, const char *name, const char *prefix,
                              const char *value);

/* Says that HTTP refused, and the remedy. `text`: of the answer. Returns -1. */
int rpc_connection_refused(const struct fumi_rpc_connection *l, int status, struct fumi_str text,
                           struct fumi_err *e);

/* link.c: one message that arrived, as the answer to that message, 0: to any. -1 with *e set: it is
 * no message, or an answer in it is none. */
int rpc_connection_take(struct fumi_rpc_connection *l, struct fumi_str message, uint64_t number,
                        struct fumi_err *e);

/* What is still open of that message, 0: of all that were sent, fails. */
void rpc_connection_fail(struct fumi_rpc_connection *l, uint64_t number,
                         const struct fumi_err *why);

/* The answer to that message has ended: calls that it does not name fail. */
void rpc_connection_finish(struct fumi_rpc_connection *l, uint64_t number,
                           const struct fumi_err *why);

/* Whether something of that message is still open. */
bool rpc_connection_is_open(const struct fumi_rpc_connection *l, uint64_t number);

/* What waits for the text of the answer to that message, 0: to any. */
struct rpc_connection_wait *rpc_connection_text_of(struct fumi_rpc_connection *l, uint64_t number);

#endif
