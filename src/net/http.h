/* HTTP as a host program sees it: filters around each request. */
#ifndef FUMI_NET_HTTP_H
#define FUMI_NET_HTTP_H

#include "rpc/rpc.h"

struct http_head;

/* One request, for the time of a hook. */
struct fumi_request {
    struct fumi_str method, path, query;
    struct fumi_peer *peer;
    const struct http_head *head; /* private; NULL in `after` */
};

/* The first value of a field, named in lower case; p is NULL when it is missing. */
struct fumi_str fumi_request_field(const struct fumi_request *r, const char *name);

/* Why a request is refused, in HTTP's own terms. */
struct fumi_refusal {
    int status;
    const char *reason;   /* the text of the answer; static */
    const char *field[2]; /* name and value of a further field of the answer; static or NULL */
};

struct fumi_filter {
    const char *name;
    /* Once per request or upgrade, before its body is read: 0, or -1 with *out set. */
    int (*before)(void *self, const struct fumi_request *r, struct fumi_refusal *out);
    /* Once for each request that came past `before`, with what was answered; on the thread of its
     * connection. Method and path are then those of the route; status 0: the peer left before. */
    void (*after)(void *self, const struct fumi_request *r, int status, size_t bytes);
    void *self;
};

#endif
