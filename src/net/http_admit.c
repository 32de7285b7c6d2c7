/* Decides from the head of a request whether the request is admitted. The checks run in this order:
 * limit of connections, access control, rate limit, filters of the host program, path, method,
 * Content-Type, limit of open calls. */
#include "net/http_parts.h"

struct fumi_str fumi_http_field(const struct fumi_http_request *r, const char *name)
{
    struct fumi_str is = fumi_str(name);
    for (size_t i = 0; i < r->fields_n; i++)
        if (http_same(r->fields[i].name, is))
            return r->fields[i].value;
    return (struct fumi_str){0};
}

int fumi_http_attach(const struct fumi_http_request *r, void *context, void (*done)(void *context))
{
    return r->source ? fumi_source_attach(r->source, context, done) : -1;
}

struct fumi_source *fumi_http_source(const struct fumi_http_request *r)
{
    return r->source ? *r->source : NULL;
}

void *fumi_http_context(const struct fumi_http_request *r)
{
    return fumi_source_context(fumi_http_source(r));
}

static __attribute__((cold)) int deny(struct conn *c, int status, const char *reason)
{
    c->as.http.why = (struct fumi_refusal){.status = status, .reason = reason};
    return -1;
}

static __attribute__((cold)) int deny_with(struct conn *c, int status, const char *reason,
                                           const char *name, const char *value)
{
    struct fumi_refusal r = {.status = status, .reason = reason, .field = {name, value}};
    c->as.http.why = r;
    return -1;
}

/* Whether the request needs no token. An upgrade always needs one: its messages are calls. */
static bool is_open(const struct http_head *h, const struct route *route)
{
    return route && route->open && !(route->upgrades && http_has_token(h->upgrade, "websocket"));
}

static int check_access(struct conn *c, const struct http_head *h, const struct route *route)
{
    struct http *t = &c->as.http;
    struct access_verdict v = access_check(c->io->shared->access, &c->client, h);
    if (v.origin.p)
        fumi_buf_add(&t->origin, v.origin.p, v.origin.n);
    if (v.status == 0 || (v.status == 401 && is_open(h, route)))
        return 0;
    if (v.status != 401)
        return deny(c, v.status, v.reason);
    t->pause = v.pause;
    return deny_with(c, v.status, v.reason, "WWW-Authenticate", "Bearer realm=\"fumi\"");
}

static struct fumi_str client_of(const struct conn *c)
{
    struct fumi_str a = c->peer.address;
    while (a.n && a.p[a.n - 1] != ':')
        a.n--;
    return a;
}

static int check_rate(struct conn *c)
{
    struct rate *rate = c->io->shared->rate;
    if (!rate || rate_take(rate, client_of(c), io_thread_now(c->io)))
        return 0;
    return deny_with(c, 429, "too many requests; reduce the rate", "Retry-After", "1");
}

static int check_queue(struct conn *c)
{
    const struct server_shared *shared = c->io->shared;
    if (atomic_load_explicit(&shared->open, memory_order_relaxed) < (size_t)shared->set.queue)
        return 0;
    return deny_with(c, 503, "too many open calls; try again later", "Retry-After", "1");
}

static int pass_filters(struct conn *c, const struct http_head *h)
{
    struct http *t = &c->as.http;
    const struct server_shared *shared = c->io->shared;
    struct fumi_http_request r = {h->method, h->path, h->query,  &c->peer,
                                  h->fields, h->n,    &c->source};
    for (size_t i = 0; i < shared->filters_n; i++) {
        const struct fumi_filter *f = &shared->filters[i];
        struct fumi_refusal why = {0}; /* ignored if the filter accepts */
        if (f->before && f->before(f->self, &r, &why)) {
            if (why.status < 400 || why.status > 599)
                why = (struct fumi_refusal){
                    .status = 500, .reason = "a filter refused the request without a valid status"};
            t->why = why;
            return -1;
        }
        t->filtered = i + 1;
    }
    return 0;
}

/* tracestate may be split into several fields, which are joined with commas (RFC 9110, 5.3). The
 * limit of the head also limits the joined text. */
static struct fumi_str trace_state(const struct http_head *h, struct fumi_buf *joined)
{
    size_t n = http_count(h, "tracestate");
    if (n < 2)
        return http_field(h, "tracestate");
    for (size_t i = 0; i < h->n; i++) {
        if (!http_same(h->fields[i].name, FUMI_STR("tracestate")))
            continue;
        if (joined->n)
            fumi_buf_put(joined, ',');
        fumi_buf_add(joined, h->fields[i].value.p, h->fields[i].value.n);
    }
    return fumi_buf_str(joined);
}

/* A request with several traceparent fields has no valid trace, so it counts as having none. */
static void set_trace(struct conn *c, const struct http_head *h)
{
    struct fumi_str parent = http_field(h, "traceparent");
    struct fumi_buf joined = {0};
    struct fumi_trace trace;
    if (!parent.p || http_count(h, "traceparent") > 1)
        return;
    if (fumi_trace_read(parent, trace_state(h, &joined), &trace))
        fumi_source_set_trace(&c->source, &trace);
    fumi_buf_done(&joined);
}

/* Whether the Content-Type is JSON. A missing one counts as JSON. */
static bool is_json(struct fumi_str type)
{
    static const char *const known[] = {"application/json", "application/json-rpc",
                                        "application/jsonrequest"};
    size_t n = 0;
    if (!type.p)
        return true;
    while (n < type.n && type.p[n] != ';' && type.p[n] != ' ' && type.p[n] != '\t')
        n++;
    for (size_t i = 0; i < FUMI_COUNT(known); i++)
        if (http_same((struct fumi_str){type.p, n}, fumi_str(known[i])))
            return true;
    return false;
}

static int check_post(struct conn *c, const struct http_head *h)
{
    if (h->framing == HTTP_NO_BODY)
        return deny(c, 411, "Content-Length is required");
    if (http_count(h, "content-type") > 1 || !is_json(http_field(h, "content-type")))
        return deny(c, 415, "Content-Type must be application/json");
    return check_queue(c);
}

static const struct {
    const char *name;
    unsigned bit;
} methods[] = {{"GET", FUMI_GET},
               {"POST", FUMI_POST},
               {"HEAD", FUMI_GET},
               {"OPTIONS", 0},
               {"DELETE", FUMI_DELETE}};

static unsigned method_of(struct conn *c, const struct http_head *h)
{
    c->as.http.method = FUMI_STR("other");
    for (size_t i = 0; i < FUMI_COUNT(methods); i++) {
        if (!fumi_eq(h->method, fumi_str(methods[i].name)))
            continue;
        c->as.http.method = fumi_str(methods[i].name);
        return methods[i].bit;
    }
    return 0;
}

static bool is_preflight(const struct http_head *h)
{
    return http_field(h, "origin").p && http_field(h, "access-control-request-method").p;
}

static int upgrade(struct conn *c, const struct http_head *h)
{
    struct fumi_str lines = http_common(c->io);
    if (!http_has_token(h->upgrade, "websocket"))
        return deny_with(c, 426, "this path accepts WebSocket upgrades only", "Upgrade",
                         "websocket");
    if (c->io->draining)
        return deny_with(c, 503, "the server is shutting down", "Retry-After", "1");
    struct http was = c->as.http;
    c->as.http.filtered = 0; /* otherwise http_proto.done would report status 0 */
    if (websocket_begin(c, h, lines, &c->as.http.why)) {
        c->as.http.filtered = was.filtered;
        return -1;
    }
    http_report(c, &was, 101, 0);
    return 0;
}

static struct fumi_str keep_text(char **to, struct fumi_str s)
{
    struct fumi_str kept = {s.p ? *to : NULL, s.n};
    *to = mempcpy(*to, s.p ? s.p : "", s.n);
    return kept;
}

static void keep(struct conn *c, const struct http_head *h)
{
    size_t n = sizeof(struct http_kept) + h->n * sizeof(struct http_field), text = h->query.n;
    for (size_t i = 0; i < h->n; i++)
        text += h->fields[i].name.n + h->fields[i].value.n;
    struct http_kept *k = fumi_resize(c->as.http.kept, n + text);
    char *to = (char *)k + n;
    k->query = keep_text(&to, h->query);
    k->n = h->n;
    for (size_t i = 0; i < h->n; i++) {
        k->fields[i].name = keep_text(&to, h->fields[i].name);
        k->fields[i].value = keep_text(&to, h->fields[i].value);
    }
    c->as.http.kept = k;
}

static int pass_route(struct conn *c, const struct http_head *h, unsigned method)
{
    struct http *t = &c->as.http;
    bool socket = http_has_token(h->upgrade, "websocket");
    if (!t->route || (t->route->upgrade_only && !socket))
        return deny(c, 404, c->io->shared->not_found);
    t->run = t->route->run;
    if (fumi_eq(h->method, FUMI_STR("OPTIONS"))) {
        t->preflight = is_preflight(h);
        t->run = http_options;
        return 0;
    }
    /* An upgrade to another protocol is ignored if the route also accepts plain requests (RFC 9110,
     * 7.8): some clients offer HTTP/2 with every first request. */
    if (t->route->upgrades && (socket || !t->route->methods))
        return upgrade(c, h);
    if (!(method & t->route->methods))
        return deny_with(c, 405, "Method not allowed", "Allow", t->route->allow);
    if (t->route->host)
        keep(c, h);
    return method == FUMI_POST ? check_post(c, h) : 0;
}

int http_admit(struct conn *c, const struct http_head *h)
{
    struct http *t = &c->as.http;
    const struct route *route = http_route(c->io->shared, h->path);
    unsigned method = method_of(c, h);
    t->route = route;
    if (c->state == CONN_SURPLUS)
        return deny_with(c, 503, "too many connections; try again later", "Retry-After", "1");
    if (check_access(c, h, route))
        return -1;
    if (check_rate(c))
        return -1;
    if (pass_filters(c, h))
        return -1;
    set_trace(c, h);
    return pass_route(c, h, method);
}

enum {
    BODIES = 64 << 20, /* limit of the bytes of all counted bodies, plus one body */
    SMALL = 64 << 10,  /* shorter bodies are not counted */
};

/* A body that has already arrived needs no further memory, so it is not counted either. */
int http_reserve(struct conn *c, size_t available)
{
    struct http *t = &c->as.http;
    struct server_shared *shared = c->io->shared;
    size_t n = t->phase == READS_CHUNKS ? shared->http.body : t->length;
    if (n <= SMALL || (t->phase == READS_BODY && n <= available))
        return 0;
    if (atomic_fetch_add(&shared->bodies, n) + n > BODIES + shared->http.body) {
        atomic_fetch_sub(&shared->bodies, n);
        return deny_with(c, 503, "too many large requests at once; try again later", "Retry-After",
                         "1");
    }
    t->reserved = n;
    return 0;
}

void http_unreserve(struct conn *c)
{
    if (c->as.http.reserved)
        atomic_fetch_sub(&c->io->shared->bodies, c->as.http.reserved);
    c->as.http.reserved = 0;
}
