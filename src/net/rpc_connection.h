/* A client that is connected: over HTTP, WebSocket (each with TLS or without), a Unix socket or the
 * pipes of a child process.
 *
 * Straight blocking code for one thread at a time; it builds and matches with rpc/client.h. */
#ifndef FUMI_NET_RPC_CONNECTION_H
#define FUMI_NET_RPC_CONNECTION_H

#include "../net/framing.h"
#include "../rpc/client.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_rpc_connection;

struct fumi_rpc_connection_header {
    const char *name, *value;
};

struct fumi_rpc_connection_options {
    int64_t connect_time; /* milliseconds for connecting and for handshakes; 0: 5,000 */
    int64_t call_time;    /* for an answer, where a call gives no time of its own; 0: 60,000 */
    size_t limit;         /* bytes of one answer; 0: 16 MiB */
    const char *token;    /* sent as "Authorization: Bearer"; NULL: none. On this machine it is sent
                             only to sockets of the same user or of root */
    bool token_is_local;  /* it was found on this machine and not given for this URL: it is not sent
                             to other machines */
    const char *origin;   /* sent as Origin; NULL: none */
    const char *protocol; /* Sec-WebSocket-Protocol; NULL: none */
    int tries;            /* to connect again when a WebSocket or Unix link is lost, with growing
                             pauses; 0: 5; negative: none */
    /* What the peer says by itself: notifications of a push, and ahead of an answer. May be NULL.
     * It must not use the link: functions of the link fail inside it. */
    void (*notified)(void *arg, struct fumi_str message);
    void *arg;
    /* https and wss: a PEM file with the certificates of the authorities that are trusted, in place
     * of those of the system. NULL: those of the system. */
    const char *ca_file;
    /* Further fields of each HTTP request and of the WebSocket's handshake, in this order; copied.
     * Not those that the link sets itself (Host, Content-*, Accept, Connection, Upgrade,
     * Sec-WebSocket-* and their like; Authorization beside `token`, Origin beside `origin`): the
     * link is not opened then. Authorization and Cookie are sent to whom a token would be. Where
     * there is no HTTP, on lines, they are not sent. */
    const struct fumi_rpc_connection_header *headers;
    size_t headers_n;
    /* Its methods answer what the peer asks, while a function of the link runs:
     * fumi_rpc_connection_listen, or one that waits for an answer. Notifications go to it too,
     * beside `notified`. Its methods run on the thread that uses the link, unless it has an
     * executor, and must not use the link. They may answer later from any thread (FUMI_ASYNC); when
     * the connection is lost, or the link is closed, their calls are cancelled, and the server may
     * be freed once it is no longer busy. NULL: what the peer asks is refused with -32601. */
    struct fumi_server *server;
    /* A WebSocket or Unix link that was lost is connected again: to subscribe again, for instance.
     * Called by the function of the link that connects, ahead of its own message. It may make calls
     * on the link, but not close it. When it loses the connection too, its calls fail, that counts
     * as a try that failed, and it is called again for the next connection. With it,
     * fumi_rpc_connection_listen connects a lost link again as well. */
    void (*reconnected)(void *arg, struct fumi_rpc_connection *l);
    /* enum fumi_framing: how messages are separated over "unix:" and with a program that is
     * started. 0: one a line. HTTP and WebSocket have their own way. */
    int framing;
    void *reserved[8]; /* zero: room for later members */
};

/* "http://HOST:PORT/PATH", "ws://HOST:PORT/PATH", the same with TLS as "https:" and "wss:",
 * "unix:PATH" (one message a line, or as the option framing says), "http+unix:PATH",
 * "ws+unix:PATH". The PATH of a request is /rpc and /ws where none is given, the PORT 80, with TLS
 * 443. With TLS (1.2 or newer) the certificate of the server must be signed by a trusted authority,
 * be valid now and name HOST; nothing turns that off. Connects at once, one try. Returns NULL with
 * *e set if that fails. */
struct fumi_rpc_connection *fumi_rpc_connection_open(const char *url,
                                                     const struct fumi_rpc_connection_options *o,
                                                     struct fumi_err *e);
/* The same over the standard input and output of a program that is started. */
struct fumi_rpc_connection *fumi_rpc_connection_spawn(char *const argv[],
                                                      const struct fumi_rpc_connection_options *o,
                                                      struct fumi_err *e);
void fumi_rpc_connection_close(struct fumi_rpc_connection *l); /* ends a child: closes its input,
                                              then waits, then SIGTERM, then SIGKILL */

/* One call and its answer: 0, also when the answer is an error (out->ok is false); -1 with *e set
 * when none came: lost, late, refused by HTTP (the status stands in the sentence). A call that is
 * late is cancelled. ms 0: as the options say. Results live in the arena. */
int fumi_rpc_connection_call(struct fumi_rpc_connection *l, struct fumi_arena *a,
                             const char *method, struct fumi_json params, int64_t ms,
                             struct fumi_answer *out, struct fumi_err *e);
/* The same with structs. Of the method, which may be a row of a server's table, the name and the
 * shapes are used. params is written by fumi_emit_params, NULL: none; the answer is read into
 * *result by fumi_bind_result, and strings of it live in the arena; NULL: it is not looked at.
 * Returns 0; 1 if the answer is an error, which is in *e, its data in the arena; -1 with *e set if
 * there is no answer, or a result that does not fit its shape: the sentence names the member. */
int fumi_rpc_connection_call_as(struct fumi_rpc_connection *l, struct fumi_arena *a,
                                const struct fumi_method *m, const void *params, void *result,
                                int64_t ms, struct fumi_err *e);
int fumi_rpc_connection_notify(struct fumi_rpc_connection *l, const char *method,
                               struct fumi_json params, struct fumi_err *e);

/* For several at once: begin each, send them as one batch or one by one, then wait for each answer
 * in any order. Over HTTP a request waits for the answer before it. */
int64_t fumi_rpc_connection_begin(struct fumi_rpc_connection *l, const char *method,
                                  struct fumi_json params, struct fumi_err *e); /* its id */
int fumi_rpc_connection_send(struct fumi_rpc_connection *l, bool batch, struct fumi_err *e);
int fumi_rpc_connection_await(struct fumi_rpc_connection *l, struct fumi_arena *a, int64_t id,
                              int64_t ms, struct fumi_answer *out, struct fumi_err *e);
int fumi_rpc_connection_cancel(struct fumi_rpc_connection *l, int64_t id, struct fumi_err *e);

/* Names the trace of the messages that are sent from now on: over HTTP as the fields traceparent
 * and tracestate, so give neither among the headers of the options; nowhere else, since a caller
 * can put both into params._meta there. fumi_trace_next makes a traceparent for a call inside a
 * call. parent NULL: none any more; tracestate NULL: none. Returns -1 with *e set, and changes
 * nothing, if one of both is invalid. From the thread that uses the link. */
int fumi_rpc_connection_trace(struct fumi_rpc_connection *l, const char *parent,
                              const char *tracestate, struct fumi_err *e);

/* Waits until the peer has said something by itself, or asked something that the server of the
 * options answers, or the time is over: whether it has. At once when nothing can come: a link that
 * is lost (but see `reconnected`), HTTP between calls. */
bool fumi_rpc_connection_listen(struct fumi_rpc_connection *l, int64_t ms);

/* The text of one message out, and of the answer back, for those who write both themselves: the
 * talk runner. An empty answer: there was none (over HTTP 204 or 202; elsewhere it is waited for
 * `ms` at most, 0: as the options say). On lines the message must be one. */
int fumi_rpc_connection_text(struct fumi_rpc_connection *l, struct fumi_arena *a,
                             struct fumi_str message, int64_t ms, struct fumi_str *answer,
                             struct fumi_err *e);

#ifdef __cplusplus
}
#endif

#endif
