/* The routes, and the pages that are not calls. */
#include "net/http_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static void run_health(struct conn *c, struct fumi_str body)
{
    (void)body;
    if (c->hub->draining)
        http_page(c, 503, "application/json", FUMI_STR("{\"status\":\"ending\"}\n"));
    else
        http_page(c, 200, "application/json", FUMI_STR("{\"status\":\"ok\"}\n"));
}

static const struct {
    const char *name, *kind, *help;
    size_t offset; /* in struct hub */
} counters[] = {
    {"fumi_connections", "gauge", "Connections that are open.", offsetof(struct hub, conns_n)},
    {"fumi_connections_total", "counter", "Connections that were accepted.",
     offsetof(struct hub, accepted)},
    {"fumi_http_requests_total", "counter", "HTTP requests that were answered.",
     offsetof(struct hub, requests)},
    {"fumi_received_bytes_total", "counter", "Bytes that came in.", offsetof(struct hub, bytes_in)},
    {"fumi_sent_bytes_total", "counter", "Bytes that went out.", offsetof(struct hub, bytes_out)},
};

static size_t sum(const struct site *site, size_t offset)
{
    size_t all = 0;
    for (size_t i = 0; i < site->hubs_n; i++)
        all += atomic_load_explicit((atomic_size_t *)((char *)site->hubs[i] + offset),
                                    memory_order_relaxed);
    return all;
}

static void put_counter(struct fumi_buf *out, const struct site *site, size_t i)
{
    char text[256];
    const char *name = counters[i].name;
    int n = snprintf(text, sizeof(text), "# HELP %s %s\n# TYPE %s %s\n%s %zu\n", name,
                     counters[i].help, name, counters[i].kind, name, sum(site, counters[i].offset));
    fumi_buf_add(out, text, (size_t)n);
}

static void run_metrics(struct conn *c, struct fumi_str body)
{
    const struct site *site = c->hub->site;
    struct fumi_buf text = {0};
    (void)body;
    if (!site->metrics) {
        http_page(c, 404, "text/plain; charset=utf-8", FUMI_STR("metrics are off\n"));
        return;
    }
    fumi_metrics_put(site->metrics, &text);
    for (size_t i = 0; i < FUMI_COUNT(counters); i++)
        put_counter(&text, site, i);
    http_page(c, 200, "text/plain; version=0.0.4; charset=utf-8", fumi_buf_str(&text));
    fumi_buf_done(&text);
}

/* Editors' agents ask for an upgrade at "/". */
static const struct route own[] = {
    {"*", 0, "GET, HEAD, POST, OPTIONS", false, true, NULL, NULL},
    {"/rpc", FUMI_POST, "POST, OPTIONS", true, false, http_run_rpc, NULL},
    {"/ws", 0, "GET, OPTIONS", true, false, NULL, NULL},
    {"/healthz", FUMI_GET, "GET, HEAD, OPTIONS", false, true, run_health, NULL},
    {"/metrics", FUMI_GET, "GET, HEAD, OPTIONS", false, false, run_metrics, NULL},
    {"/", 0, "GET, OPTIONS", true, false, NULL, NULL},
};

/* Those of the host program come first, so that it may replace ours. */
void http_add_routes(struct site *site, const struct fumi_route *more, size_t n)
{
    site->routes_n = n + FUMI_COUNT(own);
    site->routes = fumi_resize(NULL, site->routes_n * sizeof(*site->routes));
    for (size_t i = 0; i < n; i++)
        site->routes[i] = (struct route){more[i].path,     more[i].methods, more[i].allow,
                                         more[i].upgrades, more[i].open,    http_run_host,
                                         &more[i]};
    memcpy(site->routes + n, own, sizeof(own));
}

const struct route *http_route(const struct site *site, struct fumi_str path)
{
    for (size_t i = 0; i < site->routes_n; i++)
        if (fumi_eq(path, fumi_str(site->routes[i].path)))
            return &site->routes[i];
    return NULL;
}
