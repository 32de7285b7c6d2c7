/* Private to net/: the state that all I/O threads of a service share. Members are constant while
 * the service runs, except those that are atomic or have a lock of their own. */
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
    struct fumi_server *server; /* NULL: only `handle` is used */
    fumi_handle_fn *handle;
    void *handler;
    struct fumi_settings set; /* with defaults filled in */
    const struct fumi_serve_options *options;
    const struct fumi_log *log;
    const struct fumi_filter *filters;
    size_t filters_n;
    struct route *routes;
    size_t routes_n;
    struct fumi_arena paths;      /* owns the paths of the routes, if they are mounted */
    const char *not_found;        /* body of a 404 */
    struct fumi_metrics *metrics; /* NULL: none */
    struct access *access;
    struct rate *rate; /* NULL: unlimited */
    struct http_limits http;
    size_t message; /* maximum bytes of a message */
    size_t surplus; /* connections beyond the limit, whose first request is refused */
    struct io_thread **io_threads;
    size_t io_threads_n;
    atomic_size_t conns, open; /* connections; calls under way */
    atomic_size_t other_users; /* connections of other users: accept.c */
    atomic_size_t bodies;      /* bytes reserved for long request bodies: http_reserve */
};

#endif
