/* Private to net/: what all I/O threads of a service share. */
#ifndef FUMI_NET_SERVER_SHARED_H
#define FUMI_NET_SERVER_SHARED_H

#include "base/arena.h"
#include "net/access.h"
#include "net/http1.h"
#include "net/rate.h"
#include "net/serve.h"

#include <stdatomic.h>

struct io_thread;
struct route;

struct server_shared {
    struct fumi_server *server;
    fumi_handle_fn *handle;
    void *handler;
    struct fumi_settings set; /* with defaults filled in */
    const struct fumi_serve_options *options;
    const struct fumi_log *log;
    const struct fumi_filter *filters;
    size_t filters_n;
    struct route *routes;
    size_t routes_n;
    struct fumi_arena paths; /* of the routes, if they are mounted */
    const char *not_found;   /* what is said where there is no route */
    struct fumi_metrics *metrics;
    struct access *access;
    struct rate *rate; /* NULL: any */
    struct http_limits http;
    size_t message; /* bytes */
    size_t surplus; /* connections beyond the limit that are told so */
    struct io_thread **io_threads;
    size_t io_threads_n;
    atomic_size_t conns, open, other_users; /* of all I/O threads; other_users: accept.c */
    atomic_size_t bodies; /* bytes that requests have announced and that are not there yet */
};

#endif
