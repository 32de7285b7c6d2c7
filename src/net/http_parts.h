/* Private to http*.c and routes.c: the parts of a request's way. */
#ifndef FUMI_NET_HTTP_PARTS_H
#define FUMI_NET_HTTP_PARTS_H

#include "net/conn.h"

struct route {
    const char *path;
    unsigned methods;  /* FUMI_GET ... */
    const char *allow; /* the same as text, with OPTIONS */
    bool upgrades;     /* speaks WebSocket to those who ask for it */
    bool open;         /* needs no token */
    bool upgrade_only; /* the path alone, for an upgrade: others find nothing there */
    void (*run)(struct conn *c, struct fumi_str body);
    const struct fumi_route *host; /* that of the host program; NULL: one of ours */
};

/* The fields of a head, which outlive the bytes that were read. */
struct http_kept {
    struct fumi_str query;
    size_t n;
    struct http_field fields[];
};

int http_check_mount(const char *mount, struct fumi_err *e);
void http_add_routes(struct server_shared *shared); /* ours, and those of the options */
const struct route *http_route(const struct server_shared *shared,
                               struct fumi_str path); /* NULL: none */

/* http_admit.c: 0; or -1 with the refusal set. After an upgrade the connection speaks something
 * else.
 */
int http_admit(struct conn *c, const struct http_head *h);

/* Counts a long body among those that are on their way, of which only so much may be; `there`:
 * bytes of it that have come. */
int http_reserve(struct conn *c, size_t available);
void http_unreserve(struct conn *c);

void http_clear(struct http *t); /* frees what the request holds: {0} */

/* http_reply.c. Those that answer end the request. */
struct fumi_str http_common(struct io_thread *io); /* fields that every answer has */
void http_report(struct conn *c, const struct http *t, int status, size_t bytes);
void http_refuse(struct conn *c, const struct fumi_refusal *r);
void http_options(struct conn *c, struct fumi_str body);
void http_put_event(struct conn *c,
                    struct fumi_buf *text); /* an empty text only opens the stream */
void http_heartbeat(struct conn *c);
void http_answer_call(struct conn *c, struct fumi_buf *text, int code);

/* Answers the request with a whole page. */
void http_page(struct conn *c, int status, const char *type, struct fumi_str body);

/* Gives the body to the server, whose answer becomes the page. */
void http_run_rpc(struct conn *c, struct fumi_str body);
void http_run_host(struct conn *c, struct fumi_str body); /* or to a route of the host program */
void http_answer_page(struct conn *c, const struct fumi_page *page, struct fumi_buf *body);

/* Answers the upgrade and makes the connection speak WebSocket: 0, or -1 with *out set. `lines` are
 * further fields of the answer. */
int websocket_begin(struct conn *c, const struct http_head *h, struct fumi_str lines,
                    struct fumi_refusal *out);

#endif
