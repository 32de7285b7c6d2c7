/* Private to rpc_connection*.c: the connection, its pending operations, and the interface of a
 * transport.
 *
 * All bytes pass through two buffers. rpc_connection_step sends the bytes of `out`, appends
 * received bytes to `in`, and lets the transport split them into messages; rpc_connection_receive
 * matches each message with the pending operations. A function that waits calls rpc_connection_step
 * until the state of its operation has changed.
 */
#ifndef FUMI_NET_RPC_CONNECTION_PARTS_H
#define FUMI_NET_RPC_CONNECTION_PARTS_H

#include "net/rpc_connection.h"

#include <sys/types.h>

enum rpc_connection_kind {
    RPC_CONNECTION_CALL,
    RPC_CONNECTION_NOTIFY, /* complete when it is sent; over HTTP when the response has arrived */
    RPC_CONNECTION_TEXT,   /* fumi_rpc_connection_text */
};

enum rpc_connection_state {
    RPC_CONNECTION_BEGUN,
    RPC_CONNECTION_QUEUED, /* part of a message that waits for a connection */
    RPC_CONNECTION_SENT,
    RPC_CONNECTION_ANSWERED,
    RPC_CONNECTION_FAILED
};

/* A call, a notification or a text, and its outcome. */
struct rpc_connection_operation {
    struct rpc_connection_operation *next;
    enum rpc_connection_kind kind;
    enum rpc_connection_state state;
    int64_t id;           /* of a call, else 0 */
    uint64_t message;     /* number of the message that carries it */
    struct fumi_buf text; /* BEGUN: the request; ANSWERED: result, error data, or text */
    bool ok;              /* ANSWERED: with a result */
    struct fumi_err err;  /* the error of the answer, or why there is no answer */
    char method[64];      /* for error texts; truncated */
};

/* How messages are framed and exchanged. A message number of 0 means "any message". */
struct rpc_connection_transport {
    const char *target; /* default request path; NULL: the transport has none */
    bool exchanges;     /* each message has its own response: HTTP */
    /* Runs after connecting; NULL: no handshake. */
    int (*handshake)(struct fumi_rpc_connection *c, int64_t until, struct fumi_err *e);
    /* Queues a message for sending. */
    void (*queue)(struct fumi_rpc_connection *c, uint64_t number, struct fumi_str message);
    /* Sends an answer to a request from the peer. */
    void (*answer)(struct fumi_rpc_connection *c, struct fumi_str answer);
    /* Consumes complete messages from c->in. Returns -1 if the connection must be closed. */
    int (*parse)(struct fumi_rpc_connection *c, struct fumi_err *e);
    /* The peer has closed the connection. Sets *e to the reason that pending operations fail with.
     */
    void (*eof)(struct fumi_rpc_connection *c, struct fumi_err *e);
    /* The socket is closed: fails the operations that depended on it. */
    void (*disconnected)(struct fumi_rpc_connection *c, const struct fumi_err *why);
    /* Runs before we close the connection; NULL: nothing to do. */
    void (*shutdown)(struct fumi_rpc_connection *c);
};
extern const struct rpc_connection_transport rpc_connection_ndjson, rpc_connection_framed,
    rpc_connection_ws, rpc_connection_http;

struct rpc_connection_endpoint {
    const char *url;         /* as given, or the program; for error texts */
    const char *host, *port; /* TCP; host is NULL for Unix sockets and programs */
    const char *path;        /* Unix socket */
    const char *target;      /* request path */
    const char *authority;   /* Host header */
    bool tls;
};

struct rpc_connection_ws_state;
struct rpc_connection_tls;
struct rpc_connection_answers;
struct rpc_connection_http_state;

struct fumi_rpc_connection {
    const struct rpc_connection_transport *transport;
    struct fumi_arena memory; /* owns the strings of `endpoint` and `options` */
    struct rpc_connection_endpoint endpoint;
    struct fumi_rpc_connection_options options; /* with defaults filled in */
    bool secret; /* requests carry a token, Authorization or Cookie */
    struct fumi_client *client;
    struct rpc_connection_operation *operations; /* oldest first */
    uint64_t messages;                           /* message numbers assigned so far */
    uint64_t peer_messages; /* notifications and served requests received from the peer */
    struct fumi_arena scratch;
    struct fumi_err rejected; /* why the last received data was no valid message; code 0: none */

    int fd;    /* -1: not connected */
    pid_t pid; /* child process that was not waited for yet, else 0 */
    struct fumi_buf in, out;
    size_t sent;                            /* bytes of `out` */
    bool write_failed;                      /* sending failed; the peer may still be read */
    struct fumi_err lost_reason;            /* why there is no connection */
    struct rpc_connection_tls *tls;         /* NULL: no TLS */
    struct rpc_connection_answers *answers; /* NULL: no request from the peer on this connection */
    int callback_depth;                     /* running callbacks that must not use the connection */
    bool reconnecting;                      /* `reconnected` is running */

    size_t scanned; /* lines: bytes of `in` known to have no line feed */
    bool skipping;  /* lines: discarding the rest of a line that is too long */
    size_t skip;    /* framed: bytes left to discard of a message that is too long */
    struct rpc_connection_ws_state *ws;
    struct rpc_connection_http_state *http;
};

/* Deadlines are values of fumi_ticks. */
int64_t rpc_connection_deadline(int64_t ms);               /* ms from now */
int64_t rpc_connection_earlier(int64_t until, int64_t ms); /* `until`, or ms from now if earlier */
/* Returns the revents of fd; 0 after the deadline, or when `other` is readable, which sets *woken.
 * A negative descriptor is ignored. */
int rpc_connection_poll(int fd, short events, int64_t until);
int rpc_connection_poll_two(int fd, short events, int other, bool *woken, int64_t until);
void rpc_connection_pause(int64_t ms);

/* rpc_connection_open.c: validate and copy the URL and the options. */
int rpc_connection_set_url(struct fumi_rpc_connection *c, const char *url, struct fumi_err *e);
int rpc_connection_set_options(struct fumi_rpc_connection *c, struct fumi_err *e);

/* rpc_connection_stream.c. rpc_connection_connect makes one attempt. rpc_connection_ensure
 * reconnects a lost stream, with the attempts of the options, and returns 0 if it is connected. */
int rpc_connection_connect(struct fumi_rpc_connection *c, int64_t until, struct fumi_err *e);
int rpc_connection_ensure(struct fumi_rpc_connection *c, int64_t until, struct fumi_err *e);
int rpc_connection_start_child(struct fumi_rpc_connection *c, char *const argv[],
                               struct fumi_err *e);
void rpc_connection_end_child(struct fumi_rpc_connection *c);

/* Between two exchanges: whether the peer has closed the connection or sent unrequested data. */
bool rpc_connection_is_stale(struct fumi_rpc_connection *c);

/* Waits for I/O once and handles it. Returns false if the deadline passed before. */
bool rpc_connection_step(struct fumi_rpc_connection *c, int64_t until);
void rpc_connection_read(struct fumi_rpc_connection *c);  /* the available input */
void rpc_connection_write(struct fumi_rpc_connection *c); /* as much of `out` as possible */
void rpc_connection_consume(struct fumi_rpc_connection *c, size_t n); /* first n bytes of `in` */
/* Closes the socket and fails the operations that depended on it. */
void rpc_connection_disconnect(struct fumi_rpc_connection *c, const struct fumi_err *why);
void rpc_connection_close_socket(struct fumi_rpc_connection *c); /* fails no operation */

/* For stream transports, whose messages are independent of each other: .eof and .disconnected;
 * whether the peer has left so many bytes unread that further answers to it are discarded; and
 * failing all open calls because an answer exceeds the limit. */
void rpc_connection_stream_eof(struct fumi_rpc_connection *c, struct fumi_err *e);
void rpc_connection_fail_all(struct fumi_rpc_connection *c, const struct fumi_err *why);
bool rpc_connection_is_congested(const struct fumi_rpc_connection *c);
void rpc_connection_fail_too_long(struct fumi_rpc_connection *c);

static inline bool rpc_connection_has_unsent(const struct fumi_rpc_connection *c)
{
    return c->fd >= 0 && c->sent < c->out.n;
}

/* rpc_connection_tls.c. _new loads the trusted authorities, once per fumi_rpc_connection. _open
 * performs the handshake on the connected socket; _close ends that session and must run before the
 * socket is closed; _done frees everything. _read and _write behave like non-blocking recv and
 * send; after errno EPROTO, _fault describes the error. End of file without close_notify is such an
 * error. _is_idle: the bytes that have arrived hold no application data, only session tickets and
 * the like. _wants_write: reading can continue once the socket is writable. */
int rpc_connection_tls_new(struct fumi_rpc_connection *c, struct fumi_err *e);
int rpc_connection_tls_open(struct fumi_rpc_connection *c, int64_t until, struct fumi_err *e);
ssize_t rpc_connection_tls_read(struct fumi_rpc_connection *c, void *to, size_t n);
ssize_t rpc_connection_tls_write(struct fumi_rpc_connection *c, const void *from, size_t n);
bool rpc_connection_tls_is_idle(struct fumi_rpc_connection *c);
bool rpc_connection_tls_wants_write(const struct fumi_rpc_connection *c);
const char *rpc_connection_tls_fault(const struct fumi_rpc_connection *c);
void rpc_connection_tls_close(struct fumi_rpc_connection *c);
void rpc_connection_tls_done(struct fumi_rpc_connection *c);

/* rpc_connection_answer.c: the server of the options handles a message from the peer. Its answers
 * are collected; _fd is readable when there are some (-1: none are possible), and _flush sends
 * them. _close cancels the running calls when the connection ends. */
void rpc_connection_answer(struct fumi_rpc_connection *c, struct fumi_str message);
int rpc_connection_answer_fd(const struct fumi_rpc_connection *c);
void rpc_connection_answer_flush(struct fumi_rpc_connection *c);
void rpc_connection_answer_close(struct fumi_rpc_connection *c);

/* rpc_connection_owner.c: returns 0 if there is no token, or if it may be sent to the connected
 * server. */
int rpc_connection_check_owner(const struct fumi_rpc_connection *c, int64_t until,
                               struct fumi_err *e);

/* rpc_connection_http.c: starts the next queued message, unless an exchange is in progress. Returns
 * false if there is none. */
bool rpc_connection_http_next(struct fumi_rpc_connection *c, int64_t until);
/* Abandons the exchange with that message, unless operations of it are still pending. */
void rpc_connection_http_cancel(struct fumi_rpc_connection *c, uint64_t number);
void rpc_connection_http_done(struct fumi_rpc_connection *c);
void rpc_connection_ws_done(struct fumi_rpc_connection *c);

/* Append the request line with the headers that all requests share, and one header field, which is
 * omitted if its value is NULL. */
void rpc_connection_put_request(struct fumi_rpc_connection *c, struct fumi_buf *to,
                                const char *method);
void rpc_connection_put_field(struct fumi_buf *to, const char *name, const char *prefix,
                              const char *value);

/* Sets *e from an HTTP error status and the text of its response. Returns -1. */
int rpc_connection_http_refused(const struct fumi_rpc_connection *c, int status,
                                struct fumi_str text, struct fumi_err *e);

/* rpc_connection.c: handles a message received as the answer to our message `number` (0: to any).
 * Returns -1 with *e set if it is not a valid message, or contains an invalid answer. */
int rpc_connection_receive(struct fumi_rpc_connection *c, struct fumi_str message, uint64_t number,
                           struct fumi_err *e);

/* Fails all operations of that message (0: of all messages) that are still pending. */
void rpc_connection_fail(struct fumi_rpc_connection *c, uint64_t number,
                         const struct fumi_err *why);

/* The response to that message is complete: its calls that were not answered fail. */
void rpc_connection_finish(struct fumi_rpc_connection *c, uint64_t number,
                           const struct fumi_err *why);

/* Whether an operation of that message is still pending. */
bool rpc_connection_is_pending(const struct fumi_rpc_connection *c, uint64_t number);

/* The pending fumi_rpc_connection_text of that message (0: of any); NULL if there is none. */
struct rpc_connection_operation *rpc_connection_find_text(struct fumi_rpc_connection *c,
                                                          uint64_t number);

#endif
