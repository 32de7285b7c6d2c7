/* The HTTP interface for host programs: filters that see each request, and additional routes. */
#ifndef FUMI_NET_HTTP_H
#define FUMI_NET_HTTP_H

#include "../rpc/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

struct http_field;

/* A request; valid until the hook or route that gets it returns. */
struct fumi_http_request {
    struct fumi_str method, path, query;
    struct fumi_peer *peer;
    const struct http_field *fields; /* private; NULL in `after` */
    size_t fields_n;
    struct fumi_source **source; /* private: see fumi_http_attach */
};

/* Returns the first value of the header field `name` (in lower case); p is NULL if the field is
 * missing. */
struct fumi_str fumi_http_field(const struct fumi_http_request *r, const char *name);

/* Attaches a context, such as the identity of the client, to the request. Call it from the `before`
 * hook of a filter. Calls of the request have the context as call->context; later filters and
 * routes get it with fumi_http_context. `done` (may be NULL) is called exactly once with the
 * context, on any thread, after the request was answered or refused or its client has disconnected,
 * and after all its calls have ended, including pending calls and calls that missed their deadline.
 * `done` must not block and must not use the server. The context of an upgrade request belongs to
 * the WebSocket connection: all its messages have the context, which lives as long as the
 * connection. Returns 0, or -1 without taking the context if the request already has one. */
int fumi_http_attach(const struct fumi_http_request *r, void *context, void (*done)(void *context));

/* Returns the context attached to the request; NULL: none. May be called in filters, including
 * `after`, and in routes. In a route the context is valid until fumi_reply_end is called. */
void *fumi_http_context(const struct fumi_http_request *r);

/* Returns the context and the trace of the request, for a route that passes messages to a server
 * itself (fumi_sink.source). Both are valid until fumi_reply_end is called. Returns NULL if the
 * request has neither. */
struct fumi_source *fumi_http_source(const struct fumi_http_request *r);

/* The HTTP response to a refused request. */
struct fumi_refusal {
    int status;           /* 400 to 599 */
    const char *reason;   /* the body, as plain text; static; NULL: empty; ignored with 413 */
    const char *field[2]; /* name and value of an additional header field; static or NULL */
};

struct fumi_filter {
    const char *name;
    /* Called once per request or upgrade, before the body is read; may be NULL. Returns 0 to accept
     * the request; -1 with *out set to refuse it. */
    int (*before)(void *self, const struct fumi_http_request *r, struct fumi_refusal *out);
    /* Called once for each request that `before` accepted, on the thread of the connection, with
     * the status of the response and the bytes of its body; may be NULL. r->path is the path of the
     * route (empty: none); r->method is "other" if the server does not know the method. Status 0:
     * the peer disconnected before the response. */
    void (*after)(void *self, const struct fumi_http_request *r, int status, size_t bytes);
    void *self;
};

/* A request to a route, until its response is complete. */
struct fumi_reply;

/* A response without its body. */
struct fumi_page {
    int status;
    const char *type;  /* of the body; static */
    const char *field; /* name of an additional header field; static; NULL: none */
    char value[64];    /* value of that field */
};

enum { FUMI_GET = 1, FUMI_POST = 2, FUMI_DELETE = 4 }; /* FUMI_GET includes HEAD */

struct fumi_route {
    const char *path;
    unsigned methods;  /* FUMI_GET, FUMI_POST, FUMI_DELETE */
    const char *allow; /* value of the Allow header: "GET, POST, OPTIONS" */
    bool upgrades;     /* accepts WebSocket upgrades */
    bool open;         /* needs no token, except for upgrades */
    /* Called on the thread of the connection after the body was received. All arguments except
     * `reply` are borrowed until it returns. fumi_reply_end must be called once, during `run` or
     * later. NULL: the body is a JSON-RPC message, as at /rpc. */
    void (*run)(void *self, const struct fumi_http_request *r, struct fumi_str body,
                struct fumi_reply *reply);
    void *self;
};

/* Both functions may be called from any thread, and may take over the memory of the buffer.
 * fumi_reply_event makes the response an event stream and sends an event; an empty event only opens
 * the stream, and must be sent during `run`. fumi_reply_end ends the response. It ends an event
 * stream with the body as the last event, if the body is not empty; `page` is then ignored. */
void fumi_reply_event(struct fumi_reply *r, struct fumi_buf *text);
void fumi_reply_end(struct fumi_reply *r, const struct fumi_page *page, struct fumi_buf *body);

/* Replaces two header fields of the response that fumi_reply_end sends, for a page that a browser
 * shows: Content-Security-Policy, which allows nothing, and Cache-Control, which is no-store. The
 * values are static; NULL keeps the field. */
void fumi_reply_policy(struct fumi_reply *r, const char *policy, const char *cache);

/* Call it only during `run`. The end of the client's input then counts as a hang-up: the connection
 * is closed and its calls are cancelled. `over` (may be NULL) is called once on the thread of the
 * connection, with left = true if the client disconnected before the response was delivered;
 * fumi_reply_end must be called in both cases. */
void fumi_reply_watch(struct fumi_reply *r, void (*over)(void *arg, bool left), void *arg);

/* Whether the Accept header allows event streams, and whether it allows JSON. A missing or empty
 * Accept allows both. */
bool fumi_accepts_events(const struct fumi_http_request *r);
bool fumi_accepts_json(const struct fumi_http_request *r);

#ifdef __cplusplus
}
#endif

#endif
