/* HTTP as a host program sees it: filters around each request, and routes of its own. */
#ifndef FUMI_NET_HTTP_H
#define FUMI_NET_HTTP_H

#include "../rpc/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

struct http_field;

/* One request, for the time of a hook. */
struct fumi_http_request {
    struct fumi_str method, path, query;
    struct fumi_peer *peer;
    const struct http_field *fields; /* private; NULL in `after` */
    size_t fields_n;
    struct fumi_source **source; /* private: see fumi_http_attach */
};

/* The first value of a field, named in lower case; p is NULL when it is missing. */
struct fumi_str fumi_http_field(const struct fumi_http_request *r, const char *name);

/* Attaches a context to the request, from the `before` of a filter: who asks. Its calls have it as
 * call->context; later filters and routes ask for it with fumi_http_context. `done`, which may be
 * NULL, is called with it exactly once, from any thread: when the request is answered or refused,
 * or its client has left, and all of its calls have ended, also those that are pending or have
 * missed their deadline. The context of an upgrade belongs to the WebSocket: its messages have it,
 * and it lives as long as the connection. `done` must not wait, nor use the server. A request has
 * one context: returns -1, and takes nothing, if it has one already; else 0. */
int fumi_http_attach(const struct fumi_http_request *r, void *context, void (*done)(void *context));

/* What was attached to the request; NULL: nothing. In filters, also `after`, and in routes, where
 * it lives until fumi_reply_end is called. */
void *fumi_http_context(const struct fumi_http_request *r);

/* Context and trace of the request, for a route that hands messages to a server itself:
 * fumi_sink.source. They live until fumi_reply_end is called. NULL: there is neither. */
struct fumi_source *fumi_http_source(const struct fumi_http_request *r);

/* Why a request is refused, in HTTP's own terms. */
struct fumi_refusal {
    int status;
    const char *reason;   /* the text of the answer; static */
    const char *field[2]; /* name and value of a further field of the answer; static or NULL */
};

struct fumi_filter {
    const char *name;
    /* Once per request or upgrade, before its body is read: 0, or -1 with *out set. */
    int (*before)(void *self, const struct fumi_http_request *r, struct fumi_refusal *out);
    /* Once for each request that came past `before`, with what was answered; on the thread of its
     * connection. Method and path are then those of the route; status 0: the peer left before. */
    void (*after)(void *self, const struct fumi_http_request *r, int status, size_t bytes);
    void *self;
};

/* A request of a route that waits for its answer. */
struct fumi_reply;

/* An answer, but for its body. */
struct fumi_page {
    int status;
    const char *type;  /* of the body; static */
    const char *field; /* the name of a further field; static; NULL: none */
    char value[64];    /* and its value */
};

enum { FUMI_GET = 1, FUMI_POST = 2, FUMI_DELETE = 4 }; /* FUMI_GET stands for HEAD too */

struct fumi_route {
    const char *path;
    unsigned methods;
    const char *allow; /* the same as text: "GET, POST, OPTIONS" */
    bool upgrades;     /* speaks WebSocket to those who ask for it */
    bool open;         /* needs no token */
    /* On the thread of the connection, once the body is there; all but `reply` is borrowed until it
     * returns. fumi_reply_end must be called once, then or later. NULL: the body is a call, as at
     * /rpc. */
    void (*run)(void *self, const struct fumi_http_request *r, struct fumi_str body,
                struct fumi_reply *reply);
    void *self;
};

/* Both may be called from any thread; an empty event only opens the stream and must be sent within
 * `run`. After an event the answer is an event stream; a body that is not empty becomes its last
 * event. Both functions may take over the bytes of the buffer. */
void fumi_reply_event(struct fumi_reply *r, struct fumi_buf *text);
void fumi_reply_end(struct fumi_reply *r, const struct fumi_page *page, struct fumi_buf *body);

/* Call it only within `run`. The end of the client's input then counts as a hang-up: the connection
 * is closed and its calls are cancelled. `over` (may be NULL) is called once on the thread of the
 * connection, with left = true if the client left before the answer was delivered; fumi_reply_end
 * must be called in both cases. */
void fumi_reply_watch(struct fumi_reply *r, void (*over)(void *arg, bool left), void *arg);

/* Whether Accept names event streams, and whether it allows JSON; without it, both. */
bool fumi_accepts_events(const struct fumi_http_request *r);
bool fumi_accepts_json(const struct fumi_http_request *r);

#ifdef __cplusplus
}
#endif

#endif
