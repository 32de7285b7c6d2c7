/* Private to http*.c, routes.c, websocket.c and serve_open.c: routes, and the steps of handling a
 * request. All functions that take a connection run on its I/O thread. */
#ifndef FUMI_NET_HTTP_PARTS_H
#define FUMI_NET_HTTP_PARTS_H

#include "net/conn.h"

struct route {
    const char *path;
    unsigned methods;  /* FUMI_GET ... */
    const char *allow; /* value of the Allow header */
    bool upgrades;     /* accepts WebSocket upgrades */
    bool open;         /* needs no token */
    bool upgrade_only; /* other requests get 404 */
    void (*run)(struct conn *c, struct fumi_str body);
    const struct fumi_route *host; /* set if the host program has a `run` for it; borrowed */
};

/* A copy of the query and the fields of a head, for use after the body was read. */
struct http_kept {
    struct fumi_str query;
    size_t n;
    struct http_field fields[];
};

int http_check_mount(const char *mount, struct fumi_err *e);
void http_add_routes(struct server_shared *shared); /* built in, and of the options */
const struct route *http_route(const struct server_shared *shared,
                               struct fumi_str path); /* NULL: none */

/* http_admit.c. Returns 0 if the request is admitted; -1 with c->as.http.why set. An accepted
 * upgrade has changed the protocol of the connection. */
int http_admit(struct conn *c, const struct http_head *h);

/* Counts the bytes of a long body before it is received. Returns -1 with c->as.http.why set if the
 * bodies that are being received together exceed a limit. `available`: bytes that were received
 * after the head. http_unreserve ends the count. */
int http_reserve(struct conn *c, size_t available);
void http_unreserve(struct conn *c);

void http_clear(struct http *t); /* frees the state of the request and sets it to {0} */

/* http_reply.c. http_refuse, http_options, http_page and the two http_answer functions send the
 * response and end the request. */
struct fumi_str http_common(struct io_thread *io); /* header lines of every response */
/* Reports a finished request to the filters that accepted it, and to the access log. Status 0: the
 * peer disconnected before the response. */
void http_report(struct conn *c, const struct http *t, int status, size_t bytes);
void http_refuse(struct conn *c, const struct fumi_refusal *r);
void http_options(struct conn *c, struct fumi_str body);
void http_put_event(struct conn *c,
                    struct fumi_buf *text); /* an empty text only opens the stream */
void http_heartbeat(struct conn *c);
void http_answer_call(struct conn *c, struct fumi_buf *text, int code);

/* Sends a complete response. */
void http_page(struct conn *c, int status, const char *type, struct fumi_str body);

/* Pass the body to the server, or to a route of the host program. The answer goes to
 * http_answer_call or http_answer_page. */
void http_run_rpc(struct conn *c, struct fumi_str body);
void http_run_host(struct conn *c, struct fumi_str body);
void http_answer_page(struct conn *c, const struct page *page, struct fumi_buf *body);

/* Answers the upgrade and changes the protocol of the connection to WebSocket. Returns -1 with *out
 * set if the request is not a valid upgrade. `lines`: additional header lines of the response. */
int websocket_begin(struct conn *c, const struct http_head *h, struct fumi_str lines,
                    struct fumi_refusal *out);

#endif
