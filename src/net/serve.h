/* Serves a server on several addresses at once: standard input and output, TCP, Unix sockets. TCP
 * connections use HTTP/1.1 or WebSocket. Unix sockets also accept one message per line (NDJSON), or
 * messages with Content-Length headers. */
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

/* Which clients are allowed. The user of a local client is known from its socket. */
enum fumi_auth {
    FUMI_AUTH_SAME_USER, /* the server's user and root need no token, except through a relay */
    FUMI_AUTH_TOKEN,     /* every client needs a token */
    FUMI_AUTH_NONE,      /* no token; only if all addresses are local */
    /* The filters of the program decide about HTTP requests; the built-in check ignores tokens. At
     * least one filter must have `before`. Filters do not see messages without HTTP on a Unix
     * socket: those are accepted from the server's user and root only. Can only be set by a
     * program: fumi_settings_shape does not offer it. */
    FUMI_AUTH_FILTER,
};

/* Settings that a program may read from flags or a file: fumi_settings_shape has their names,
 * limits and defaults. In every member, 0, an empty value and false stand for the default. */
struct fumi_settings {
    struct fumi_strs listen; /* "stdio", "tcp:127.0.0.1:8765", "tcp:[::1]:0", "unix:PATH" */
    int framing;             /* enum fumi_framing: of stdio, and of Unix sockets without HTTP */
    int64_t threads;         /* number of I/O threads */
    int64_t workers;         /* maximum number of threads for blocking methods */
    /* Milliseconds for open calls at shutdown. 0: 5,000, with stdio 800, and 10,000 more for calls
     * that have begun and are not FUMI_READ_ONLY. */
    int64_t drain;
    int auth;              /* enum fumi_auth */
    struct fumi_str token; /* empty: the token of `directory`, created if missing */
    /* A file with the token, instead of `token`; other users must not be able to read it. */
    struct fumi_str token_file;
    struct fumi_str directory; /* for the token and the lock files, mode 0700; empty: none */
    struct fumi_strs origins;  /* allowed Origins of web pages, such as "https://example.org" */
    struct fumi_strs hosts;    /* allowed values of Host besides loopback names; if there are
                                * any, HTTP requests of the same user need a token too */
    bool allow_remote;         /* allows addresses that other machines can reach */
    int64_t connections;       /* maximum number of connections; HTTP 503 beyond it */
    int64_t queue;             /* limit of open calls in all; HTTP 503 beyond it */
    int64_t rate;        /* HTTP requests per second per client; burst twice that; 0: unlimited */
    int64_t head_time;   /* milliseconds to receive the head of a request */
    int64_t body_time;   /* to receive its body, and at least 1 KiB/s after 10 s */
    int64_t idle_time;   /* idle timeout of an HTTP connection */
    int64_t write_time;  /* until a peer that accepts no bytes is closed */
    int64_t ping_time;   /* between WebSocket pings, and to wait for a pong */
    int64_t unsent;      /* limit of unsent bytes of a peer; closed beyond it */
    bool access_log;     /* logs each HTTP request */
    int64_t reserved[8]; /* must be zero; for later members */
};
extern const struct fumi_shape fumi_settings_shape;

struct fumi_serve_options {
    struct fumi_settings set;
    const struct fumi_log *log;
    fumi_handle_fn *handle; /* NULL: fumi_handle with the server */
    void *handler;
    const struct fumi_filter *filters; /* of HTTP requests, after the built-in access checks */
    size_t filters_n;
    const struct fumi_route *routes; /* besides, or instead of, /rpc, /ws, /healthz and /metrics */
    size_t routes_n;
    /* Called when the shutdown begins: answer calls that wait for an event which may not happen.
     * `now`: the deadline of open calls has passed, and they are being cancelled. May be called
     * more than once, on any I/O thread; may be NULL. */
    void (*ending)(void *arg, bool now);
    void *ending_arg;
    struct fumi_metrics *metrics; /* served at /metrics; NULL: /metrics is 404 */
    /* Called for each address once it is open, with the port in use; may be NULL. */
    void (*listening)(void *arg, struct fumi_str address);
    void *arg; /* of `listening`, `connected` and `disconnected` */
    /* Descriptors for the address "stdio". They stay the caller's, and are restored when serving
     * ends; both may be the same socket. Both 0: stdin and stdout; descriptor 1 of the process then
     * leads to stderr while the service runs, so that a stray printf cannot corrupt the output. To
     * leave descriptor 1 alone, set .in = 0 and .out = 1. */
    int in, out;
    bool no_signals; /* install no handlers for SIGINT and SIGTERM */
    /* Ignores the service manager: takes no sockets of LISTEN_FDS, sends nothing to NOTIFY_SOCKET.
     * Set this for all but one of several servers in a process. */
    bool no_manager;
    /* A connection was accepted: called on its I/O thread, before its first message. stdio is one
     * connection; all HTTP requests on one connection have one peer, also after an upgrade. May set
     * peer->context. Called even if the requests are refused later, but not for connections beyond
     * set.connections. May be NULL. */
    void (*connected)(void *arg, struct fumi_peer *peer);
    /* Called once for each `connected`, on the same thread, when the connection is closed and its
     * last call has ended: nothing uses peer->context any more. From the first call of the peer
     * until this returns, other threads may push to the peer. Not called if calls of the connection
     * were abandoned. May be NULL. */
    void (*disconnected)(void *arg, struct fumi_peer *peer);
    /* Prefix of all paths, also of `routes`, such as "/api": calls then go to /api/rpc; /api, /api/
     * and /api/ws accept WebSocket upgrades. Begins with a slash and does not end with one. NULL:
     * no prefix. */
    const char *mount;
    void *reserved[8]; /* must be zero; for later members */
};

/* Why serving ended. */
enum fumi_served {
    FUMI_SERVED_ERROR = -1, /* it could not start or not continue; *e is set */
    FUMI_SERVED_END = 0,    /* end of input on stdio, or the parent process has ended */
    /* Whatever the reason was, calls did not end in time and still run: do not free anything that
     * they may use, such as the server, and end the process. */
    FUMI_SERVED_ABANDONED = 1,
    FUMI_SERVED_STOP = 2,   /* fumi_stop */
    FUMI_SERVED_SIGNAL = 3, /* SIGINT or SIGTERM */
};

/* Serves in the calling thread until fumi_stop, SIGINT, SIGTERM or, with "stdio" among the
 * addresses, the end of input. Then it accepts no new messages, and returns once all open calls are
 * answered or their time is over. It installs handlers for both signals, unless
 * options->no_signals, and restores the previous ones. Blocking methods run on threads of the
 * service, whatever executor was set before. A server can be served by one fumi_serve at a time,
 * and again after that has returned (a fumi_mcp only once). Several servers can be served at the
 * same time, each in its own thread. */
enum fumi_served fumi_serve(struct fumi_server *s, const struct fumi_serve_options *options,
                            struct fumi_err *e);

/* Serving inside another event loop, instead of fumi_serve: with one I/O thread, on all transports.
 * All functions of one service must be called from the same thread, and never from a method or a
 * hook. Blocking methods run on threads of the service. */
struct fumi_service;

/* Opens the addresses. Returns NULL with *e set on failure, if options->set.threads is more than 1,
 * or if the server is already being served. Everything that `options` points to must stay valid
 * until the service is closed. */
struct fumi_service *fumi_service_open(struct fumi_server *s,
                                       const struct fumi_serve_options *options,
                                       struct fumi_err *e);

/* A descriptor that is readable when fumi_service_step has work to do, timers included: wait for
 * EPOLLIN (level-triggered), or use poll or select. The service owns it. */
int fumi_service_fd(const struct fumi_service *service);

/* Does all work that does not block: accepts, reads, runs methods that do not block, answers.
 * Returns false when the service has ended, for one of the reasons for which fumi_serve returns:
 * then call fumi_service_close. */
bool fumi_service_step(struct fumi_service *service);

/* Frees the service and returns why it ended, as fumi_serve does. A service that has not ended is
 * stopped first: this waits for its open calls as long as set.drain allows. e may be NULL. After
 * FUMI_SERVED_ABANDONED the service is not freed. */
enum fumi_served fumi_service_close(struct fumi_service *service, struct fumi_err *e);

/* Stops serving as a signal does: fumi_serve returns FUMI_SERVED_STOP. If the server is not being
 * served, the next fumi_serve opens nothing and returns FUMI_SERVED_STOP at once. When fumi_serve
 * or fumi_service_close returns, for whatever reason, earlier calls have no further effect. May be
 * called from any thread while the server exists, and from signal handlers. */
void fumi_stop(struct fumi_server *s);

#ifdef __cplusplus
}
#endif

#endif
