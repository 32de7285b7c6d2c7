/* The table of routes, and the built-in pages /healthz and /metrics. */
#include "net/http_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static void run_health(struct conn *c, struct fumi_str body)
{
    (void)body;
    if (c->io->draining)
        http_page(c, 503, "application/json", FUMI_STR("{\"status\":\"ending\"}\n"));
    else
        http_page(c, 200, "application/json", FUMI_STR("{\"status\":\"ok\"}\n"));
}

static const struct {
    const char *name, *kind, *help;
    size_t offset; /* in struct io_thread */
} counters[] = {
    {"fumi_connections", "gauge", "Open connections.", offsetof(struct io_thread, conns_n)},
    {"fumi_connections_total", "counter", "Connections accepted.",
     offsetof(struct io_thread, accepted)},
    {"fumi_http_requests_total", "counter", "HTTP requests answered.",
     offsetof(struct io_thread, requests)},
    {"fumi_received_bytes_total", "counter", "Bytes received.",
     offsetof(struct io_thread, bytes_in)},
    {"fumi_sent_bytes_total", "counter", "Bytes sent.", offsetof(struct io_thread, bytes_out)},
};

static size_t sum(const struct server_shared *shared, size_t offset)
{
    size_t all = 0;
    for (size_t i = 0; i < shared->io_threads_n; i++)
        all += atomic_load_explicit((atomic_size_t *)((char *)shared->io_threads[i] + offset),
                                    memory_order_relaxed);
    return all;
}

static void put_counter(struct fumi_buf *out, const struct server_shared *shared, size_t i)
{
    char text[256];
    const char *name = counters[i].name;
    int n = snprintf(text, sizeof(text), "# HELP %s %s\n# TYPE %s %s\n%s %zu\n", name,
                     counters[i].help, name, counters[i].kind, name,
                     sum(shared, counters[i].offset));
    fumi_buf_add(out, text, (size_t)n);
}

static void run_metrics(struct conn *c, struct fumi_str body)
{
    const struct server_shared *shared = c->io->shared;
    struct fumi_buf text = {0};
    (void)body;
    if (!shared->metrics) {
        http_page(c, 404, "text/plain; charset=utf-8", FUMI_STR("metrics are off\n"));
        return;
    }
    fumi_metrics_put(shared->metrics, &text);
    for (size_t i = 0; i < FUMI_COUNT(counters); i++)
        put_counter(&text, shared, i);
    http_page(c, 200, "text/plain; version=0.0.4; charset=utf-8", fumi_buf_str(&text));
    fumi_buf_done(&text);
}

/* Agents in editors send their upgrade to "/". The empty path is the mount prefix itself. */
static const struct route own[] = {
    {"*", 0, "GET, HEAD, POST, OPTIONS", false, true, false, NULL, NULL},
    {"/rpc", FUMI_POST, "POST, OPTIONS", true, false, false, http_run_rpc, NULL},
    {"/ws", 0, "GET, OPTIONS", true, false, false, NULL, NULL},
    {"/healthz", FUMI_GET, "GET, HEAD, OPTIONS", false, true, false, run_health, NULL},
    {"/metrics", FUMI_GET, "GET, HEAD, OPTIONS", false, false, false, run_metrics, NULL},
    {"/", 0, "GET, OPTIONS", true, false, true, NULL, NULL},
    {"", 0, "GET, OPTIONS", true, false, true, NULL, NULL},
};

enum { MOUNT = 64 }; /* bytes */

int http_check_mount(const char *mount, struct fumi_err *e)
{
    size_t n = mount ? strlen(mount) : 0;
    bool plain = !mount || (n > 1 && n <= MOUNT && mount[0] == '/' && mount[n - 1] != '/');
    for (size_t i = 0; i < n && plain; i++)
        plain = mount[i] > ' ' && mount[i] <= '~' && !strchr("\"#%?\\", mount[i]);
    if (plain)
        return 0;
    return fumi_err_set(e, FUMI_INVALID_PARAMS,
                        "mount: must begin with / and not end with it, such as /api, and have at "
                        "most %d visible ASCII characters without \", #, %%, ? and \\",
                        MOUNT);
}

static struct route of_host(const struct fumi_route *r)
{
    return (struct route){r->path,
                          r->methods,
                          r->allow,
                          r->upgrades,
                          r->open,
                          false,
                          r->run ? http_run_host : http_run_rpc,
                          r->run ? r : NULL};
}

/* The target "*" of OPTIONS means the whole server, so it gets no prefix. */
static void mount_routes(struct server_shared *shared, const char *mount)
{
    for (size_t i = 0; i < shared->routes_n; i++)
        if (shared->routes[i].path[0] != '*')
            shared->routes[i].path =
                fumi_fmt(&shared->paths, "%s%s", mount, shared->routes[i].path).p;
    shared->not_found = fumi_fmt(&shared->paths, "not found; calls go to %s/rpc", mount).p;
}

/* Routes of the host program come first, so they override the built-in ones. */
void http_add_routes(struct server_shared *shared)
{
    const struct fumi_serve_options *o = shared->options;
    shared->routes_n = o->routes_n + FUMI_COUNT(own);
    shared->routes = fumi_resize(NULL, shared->routes_n * sizeof(*shared->routes));
    for (size_t i = 0; i < o->routes_n; i++)
        shared->routes[i] = of_host(&o->routes[i]);
    memcpy(shared->routes + o->routes_n, own, sizeof(own));
    shared->not_found = "not found; calls go to /rpc";
    if (o->mount)
        mount_routes(shared, o->mount);
}

const struct route *http_route(const struct server_shared *shared, struct fumi_str path)
{
    for (size_t i = 0; i < shared->routes_n; i++)
        if (fumi_eq(path, fumi_str(shared->routes[i].path)))
            return &shared->routes[i];
    return NULL;
}
