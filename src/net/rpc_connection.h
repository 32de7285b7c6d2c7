/* A JSON-RPC client connection over HTTP or WebSocket (with or without TLS), a Unix socket, or the
 * standard input and output of a child process.
 *
 * All functions block. A connection may be used by one thread at a time; different connections are
 * independent of each other. */
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

/* Zero-initialize; a zero member selects its default. Strings and headers are copied. */
struct fumi_rpc_connection_options {
    int64_t connect_time; /* timeout in ms for connecting, including handshakes; 0: 5,000 */
    int64_t call_time;    /* default timeout of a call in ms; 0: 60,000 */
    size_t limit;         /* largest answer in bytes; 0: 16 MiB */
    const char *token;   /* sent as "Authorization: Bearer"; NULL: none. To a server on this machine
                            it is sent only if the server runs as the same user or as root */
    bool token_is_local; /* the token was found on this machine, not given for this URL: never send
                            it to another machine */
    const char *origin;  /* Origin header; NULL: none */
    const char *protocol; /* Sec-WebSocket-Protocol header; NULL: none */
    int tries;            /* attempts to reconnect a lost WebSocket or Unix socket, with growing
                             delays; 0: 5; negative: never reconnect */
    /* Called for each notification from the peer, also while a call waits for its answer. NULL:
     * notifications are ignored. Must not use the connection: functions called on it fail. */
    void (*notified)(void *arg, struct fumi_str message);
    void *arg; /* passed to the callbacks */
    /* https and wss: PEM file with the trusted certificate authorities. NULL: those of the system.
     */
    const char *ca_file;
    /* Additional headers for HTTP requests and the WebSocket handshake, sent in this order; ignored
     * without HTTP. Headers that the connection sets itself are refused: Host, Accept, Connection,
     * Upgrade, Content-*, Sec-WebSocket-* and similar, Authorization together with `token`, Origin
     * together with `origin`. Authorization and Cookie are subject to the same check of the
     * server's user as `token`. */
    const struct fumi_rpc_connection_header *headers;
    size_t headers_n;
    /* Answers requests from the peer and receives its notifications (in addition to `notified`),
     * while any function of the connection waits. Its methods run on the thread that uses the
     * connection, unless the server has an executor, and must not use the connection. They may
     * answer later from any thread (FUMI_ASYNC). When the connection is lost or closed, their calls
     * are cancelled; the server may be freed once it is no longer busy. NULL: requests from the
     * peer are refused with -32601. */
    struct fumi_server *server;
    /* Called after a lost WebSocket or Unix socket was reconnected, before the pending message is
     * sent: for example to subscribe again. It may make calls on `c`, but must not close it. If the
     * connection is lost again during the callback, its calls fail, the attempt counts as failed,
     * and the callback is called again after the next attempt. If set,
     * fumi_rpc_connection_listen reconnects too. */
    void (*reconnected)(void *arg, struct fumi_rpc_connection *c);
    /* enum fumi_framing: message framing for "unix:" and child processes. 0: one message per line.
     */
    int framing;
    void *reserved[8]; /* must be zero */
};

/* Opens a connection, with one attempt to connect. URLs: "http://HOST:PORT/PATH",
 * "ws://HOST:PORT/PATH", "https:" and "wss:" for TLS, "unix:PATH" (see the option framing),
 * "http+unix:PATH", "ws+unix:PATH". The default request path is /rpc for HTTP and /ws for
 * WebSocket, the default port 80, with TLS 443. TLS 1.2 or newer is required, and the certificate
 * must be valid, be signed by a trusted authority and name HOST; verification cannot be disabled.
 * The result is owned by the caller. Returns NULL with *e set on failure. `o` may be NULL. */
struct fumi_rpc_connection *fumi_rpc_connection_open(const char *url,
                                                     const struct fumi_rpc_connection_options *o,
                                                     struct fumi_err *e);
/* Starts a program, found by PATH, and connects to its standard input and output. A program that
 * exits is not restarted. */
struct fumi_rpc_connection *fumi_rpc_connection_spawn(char *const argv[],
                                                      const struct fumi_rpc_connection_options *o,
                                                      struct fumi_err *e);
/* Closes and frees the connection. A child process gets end of file, after a grace period SIGTERM,
 * then SIGKILL. NULL is allowed. */
void fumi_rpc_connection_close(struct fumi_rpc_connection *c);

/* Calls a method and waits for the answer. Returns 0 if there is one, even if it is an error
 * (out->ok is false); -1 with *e set if there is none: the connection was lost, the call timed out
 * and was cancelled, or HTTP refused the request (*e names the status). ms is the timeout; 0:
 * call_time of the options. Results live in the arena. */
int fumi_rpc_connection_call(struct fumi_rpc_connection *c, struct fumi_arena *a,
                             const char *method, struct fumi_json params, int64_t ms,
                             struct fumi_answer *out, struct fumi_err *e);
/* The same with C structs. Only the name and the shapes of `m` are used, so it may be a row of a
 * server's method table. params is written by fumi_emit_params (NULL: none). The result is read
 * into *result by fumi_bind_result (NULL: ignored); its strings live in the arena. Returns 0; 1 if
 * the answer is an error, which is in *e with its data in the arena; -1 with *e set if there is no
 * answer or if the result does not match its shape (*e names the member). */
int fumi_rpc_connection_call_as(struct fumi_rpc_connection *c, struct fumi_arena *a,
                                const struct fumi_method *m, const void *params, void *result,
                                int64_t ms, struct fumi_err *e);
/* Sends a notification. Returns 0 once it is sent (over HTTP: once it is accepted), else -1. */
int fumi_rpc_connection_notify(struct fumi_rpc_connection *c, const char *method,
                               struct fumi_json params, struct fumi_err *e);

/* Several calls at once: begin each call, send all of them as one batch or as separate messages,
 * then await the answers in any order. Over HTTP each message waits for the answer to the previous
 * one. Begin returns the id of the call, or -1 with *e set. Await is like fumi_rpc_connection_call
 * and ends the call; a call that is not awaited must be cancelled, or is freed by close. */
int64_t fumi_rpc_connection_begin(struct fumi_rpc_connection *c, const char *method,
                                  struct fumi_json params, struct fumi_err *e);
int fumi_rpc_connection_send(struct fumi_rpc_connection *c, bool batch, struct fumi_err *e);
int fumi_rpc_connection_await(struct fumi_rpc_connection *c, struct fumi_arena *a, int64_t id,
                              int64_t ms, struct fumi_answer *out, struct fumi_err *e);
int fumi_rpc_connection_cancel(struct fumi_rpc_connection *c, int64_t id, struct fumi_err *e);

/* Sets the trace context of messages sent from now on. Over HTTP it is sent as the headers
 * traceparent and tracestate, which must not be among the headers of the options. Other transports
 * do not send it: put it into params._meta instead. fumi_trace_next makes a traceparent for a
 * nested call. parent NULL: clears the trace context; tracestate NULL: none. Returns -1 with *e
 * set, and changes nothing, if either is invalid. */
int fumi_rpc_connection_trace(struct fumi_rpc_connection *c, const char *parent,
                              const char *tracestate, struct fumi_err *e);

/* Waits up to ms for a notification from the peer, or for a request that the server of the options
 * answers. Returns whether one arrived. Returns false at once if none can arrive: on a lost
 * connection (unless `reconnected` is set), and over HTTP between calls. */
bool fumi_rpc_connection_listen(struct fumi_rpc_connection *c, int64_t ms);

/* Sends a message as it is and returns the text of the answer, which lives in the arena: for
 * programs that write and read JSON-RPC themselves. An empty answer means that there was none: over
 * HTTP status 202 or 204, otherwise none within ms (0: call_time of the options). With one message
 * per line, the message must not contain line feeds. */
int fumi_rpc_connection_text(struct fumi_rpc_connection *c, struct fumi_arena *a,
                             struct fumi_str message, int64_t ms, struct fumi_str *answer,
                             struct fumi_err *e);

#ifdef __cplusplus
}
#endif

#endif
