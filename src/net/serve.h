/* Serves a server on several addresses at once: standard input and output, TCP, Unix sockets. On
 * TCP HTTP/1.1 and WebSocket are spoken, on Unix sockets these and one message a line (NDJSON). */
#ifndef FUMI_NET_SERVE_H
#define FUMI_NET_SERVE_H

#include "../json/shape.h"
#include "../net/framing.h"
#include "../net/http.h"
#include "../rpc/processors.h"
#include "../rpc/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Who may come in. A peer of the same user, or of root, is known by its socket. */
enum fumi_auth {
    FUMI_AUTH_SAME_USER, /* those need no token, unless a relay asks for them; all others do */
    FUMI_AUTH_TOKEN,     /* everyone needs one */
    FUMI_AUTH_NONE,      /* nobody does; refused unless all addresses are local */
    /* The filters of the program decide, with tokens or whatever else they ask for; over HTTP no
     * token is asked for or looked at. At least one filter must have `before`. Lines on a Unix
     * socket pass no filter: they are for the same user and root. A program sets this, not its
     * user: fumi_settings_shape does not offer it. */
    FUMI_AUTH_FILTER,
};

/* What can be set from outside, by flags or a file: fumi_settings_shape says the names, the limits
 * and the defaults. 0, none and false stand for the default in every member. */
struct fumi_settings {
    struct fumi_strs listen; /* "stdio", "tcp:127.0.0.1:8765", "tcp:[::1]:0", "unix:PATH" */
    int framing;             /* enum fumi_framing: of stdio and of Unix sockets without HTTP */
    int64_t threads;         /* that accept and serve connections */
    int64_t workers;         /* that run blocking methods */
    /* Milliseconds that open calls get at the end. 0: 5,000, with stdio 800, and 10,000 more for
     * those that have begun and are not FUMI_READ_ONLY. */
    int64_t drain;
    int auth;              /* enum fumi_auth */
    struct fumi_str token; /* none: that of the directory, which is made when there is none */
    /* File that holds it instead, and which nobody else may read. */
    struct fumi_str token_file;
    struct fumi_str directory; /* for the token and the lock files, mode 0700; none: neither */
    struct fumi_strs origins;  /* of web pages that may call, such as "https://example.org" */
    struct fumi_strs hosts;    /* names in Host beside those of the loopback; with any, HTTP
                                * requests of the same user need a token too */
    bool allow_remote;         /* addresses that others than this machine can reach */
    int64_t connections;       /* at once; beyond them 503 */
    int64_t queue;             /* calls under way in all; beyond them 503 */
    int64_t rate;              /* HTTP requests a second and client, twice that at once; 0: any */
    int64_t head_time;         /* milliseconds until a request's head must be there */
    int64_t body_time;         /* and its body, and at least 1 KiB/s after 10 s */
    int64_t idle_time;         /* that a connection is kept without a request */
    int64_t write_time;        /* that a peer may take nothing of what is sent */
    int64_t ping_time;         /* between pings over WebSocket, and to wait for pongs */
    int64_t unsent;            /* bytes that wait for a slow reader; beyond them it is closed */
    bool access_log;           /* a line for each HTTP request */
    int64_t reserved[8];       /* zero: room for later members */
};
extern const struct fumi_shape fumi_settings_shape;

struct fumi_serve_options {
    struct fumi_settings set;
    const struct fumi_log *log;
    fumi_handle_fn *handle; /* NULL: fumi_handle with the server */
    void *handler;
    const struct fumi_filter *filters; /* of HTTP requests, after the built-in ones */
    size_t filters_n;
    const struct fumi_route *routes; /* beside, or instead of, /rpc, /ws, /healthz and /metrics */
    size_t routes_n;
    /* It ends: what waits for something that may never come is to be answered. `now`: the time is
     * over. Perhaps more than once. */
    void (*ending)(void *arg, bool now);
    void *ending_arg;
    struct fumi_metrics *metrics; /* served at /metrics; NULL: there is no such page */
    void (*listening)(void *arg, struct fumi_str address); /* one address is open, port and all */
    void *arg; /* of `listening`, `connected` and `disconnected` */
    /* What is read and written as "stdio" instead of stdin and stdout. They stay the caller's, and
     * are as they were when serving ends; both may be the same socket. Both 0: stdin and stdout,
     * and while it serves, descriptor 1 of the process leads to stderr, so that a stray printf
     * cannot spoil an answer. To leave descriptor 1 alone, set .in = 0 and .out = 1. */
    int in, out;
    bool no_signals; /* SIGINT and SIGTERM stay the host program's */
    /* The service manager is the host program's: no socket of LISTEN_FDS is taken, and nothing is
     * sent to NOTIFY_SOCKET. At most one of several servers should do without this. */
    bool no_manager;
    /* A connection begins: before its first message, on the thread that serves it. stdio is one
     * connection; HTTP requests on one connection are of one peer, also after an upgrade. May set
     * peer->context. Not called for connections beyond set.connections, which are only told so;
     * called for those whose requests are then refused. NULL: nobody wants to know. */
    void (*connected)(void *arg, struct fumi_peer *peer);
    /* Once for each `connected`, on the same thread: the connection is closed, by either side, and
     * its last call has ended, so that nothing uses peer->context any more. From the peer's first
     * call until this returns, other threads may push to it. Not called if calls of it were
     * abandoned.
     */
    void (*disconnected)(void *arg, struct fumi_peer *peer);
    /* What all paths begin with, such as "/api": calls then go to /api/rpc, and /api, /api/ and
     * /api/ws speak WebSocket. The paths of `routes` are mounted there too. It begins with a slash
     * and does not end with one; NULL: nothing. */
    const char *mount;
    void *reserved[8]; /* zero: room for later members */
};

/* Why serving ended. */
enum fumi_served {
    FUMI_SERVED_ERROR = -1, /* it could not begin, or not go on; *e says why */
    FUMI_SERVED_END = 0,    /* the end of input on stdio, or of the parent process */
    /* Whatever ended it, calls did not end in time. They still run: free nothing that they may use,
     * such as the server, and end the process. */
    FUMI_SERVED_ABANDONED = 1,
    FUMI_SERVED_STOP = 2,   /* fumi_stop */
    FUMI_SERVED_SIGNAL = 3, /* SIGINT or SIGTERM */
};

/* Serves in the calling thread until fumi_stop, SIGINT or SIGTERM, or, with "stdio" among the
 * addresses, the end of input. Then nothing new is accepted, and what is open is finished and
 * answered before this returns. The handlers of both signals, which it installs unless
 * options->no_signals, are then again those of before. Blocking methods run on threads of its own,
 * instead of any executor set before. A server can be served by one fumi_serve at a time, and again
 * after that has returned (but a fumi_mcp only once). Several servers can be served at once, each
 * in a thread of its own.
 */
enum fumi_served fumi_serve(struct fumi_server *s, const struct fumi_serve_options *options,
                            struct fumi_err *e);

/* Serving inside another event loop, instead of fumi_serve: with one thread, on all transports.
 * All calls for a service come from one thread, but none of them from a method or a hook.
 * Blocking methods run on threads of the service. */
struct fumi_service;

/* Opens the addresses. Returns NULL with *e set if that fails, if options->set.threads is more than
 * 1, or if the server is being served already. What `options` points to is used until the service
 * is closed. */
struct fumi_service *fumi_service_open(struct fumi_server *s,
                                       const struct fumi_serve_options *options,
                                       struct fumi_err *e);

/* A descriptor that is readable when fumi_service_step has something to do, timers included: wait
 * for EPOLLIN (level-triggered), or with poll or select. It stays the service's. */
int fumi_service_fd(const struct fumi_service *service);

/* Does what can be done without waiting: accepts, reads, runs methods that do not block, answers.
 * Returns false when the service has ended, for one of the reasons for which fumi_serve returns:
 * then close it. */
bool fumi_service_step(struct fumi_service *service);

/* Frees the service and returns why it ended, as fumi_serve does. If it has not ended, it is
 * stopped, and this waits until its open calls have ended, as long as set.drain allows. e may be
 * NULL. After FUMI_SERVED_ABANDONED the service is not freed. */
enum fumi_served fumi_service_close(struct fumi_service *service, struct fumi_err *e);

/* Ends the serving of this server as a signal does: fumi_serve returns FUMI_SERVED_STOP. If the
 * server is not being served, the next fumi_serve opens nothing and returns so at once. When
 * fumi_serve or fumi_service_close returns, for whatever reason, all earlier stops are used up.
 * From any thread that knows that the server is not freed meanwhile; async-signal-safe. */
void fumi_stop(struct fumi_server *s);

#ifdef __cplusplus
}
#endif

#endif
