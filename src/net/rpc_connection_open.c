/* Validates and copies the URL and the options of a connection. */
#include "net/http1.h"
#include "net/rpc_connection_parts.h"

#include "base/arena.h"

enum {
    CONNECT_TIME = 5000,
    CALL_TIME = 60000,
    LIMIT = 16 << 20,
    TRIES = 5,
};

static const struct scheme {
    struct fumi_str prefix;
    const struct rpc_connection_transport *transport;
    const char *port; /* default; NULL: a Unix socket */
    bool tls;
} schemes[] = {
    {{"http://", 7}, &rpc_connection_http, "80", false},
    {{"ws://", 5}, &rpc_connection_ws, "80", false},
    {{"https://", 8}, &rpc_connection_http, "443", true},
    {{"wss://", 6}, &rpc_connection_ws, "443", true},
    {{"unix:", 5}, &rpc_connection_ndjson, NULL, false},
    {{"http+unix:", 10}, &rpc_connection_http, NULL, false},
    {{"ws+unix:", 8}, &rpc_connection_ws, NULL, false},
};

static const struct scheme *scheme_of(struct fumi_str url)
{
    for (size_t i = 0; i < FUMI_COUNT(schemes); i++)
        if (fumi_starts(url, schemes[i].prefix))
            return &schemes[i];
    return NULL;
}

static const char *copy(struct fumi_rpc_connection *c, struct fumi_str s)
{
    char *to = fumi_alloc(&c->memory, s.n + 1);
    if (s.n)
        memcpy(to, s.p, s.n);
    return to;
}

static bool all_of(struct fumi_str s, const char *bytes)
{
    for (size_t i = 0; i < s.n; i++)
        if (!s.p[i] || !strchr(bytes, s.p[i]))
            return false;
    return s.n;
}

static bool is_port(struct fumi_str s)
{
    long port = 0;
    if (!all_of(s, "0123456789") || s.n > 5)
        return false;
    for (size_t i = 0; i < s.n; i++)
        port = port * 10 + (s.p[i] - '0');
    return port > 0 && port <= UINT16_MAX;
}

#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* HOST, HOST:PORT, [V6] or [V6]:PORT. */
static int set_authority(struct fumi_rpc_connection *c, struct fumi_str s, const char *default_port,
                         struct fumi_err *e)
{
    bool six = s.n && *s.p == '[';
    const char *close = six ? memchr(s.p, ']', s.n) : NULL, *end = s.p + s.n;
    const char *from = six && close ? close + 1 : s.p, *colon = NULL;
    if (from < end)
        colon = memchr(from, ':', (size_t)(end - from));
    struct fumi_str host = {s.p, (size_t)((colon ? colon : end) - s.p)},
                    port = fumi_str(default_port);
    if (colon)
        port = (struct fumi_str){colon + 1, (size_t)(end - colon - 1)};
    if (six && close)
        host = (struct fumi_str){s.p + 1, (size_t)(close - s.p - 1)};
    bool fine = all_of(host, six ? ALNUM ".:%" : ALNUM ".-_") && (!six || close);
    if (!fine || (six && from != (colon ? colon : end)))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "%s: the host must be a name or an address",
                            c->endpoint.url);
    if (!is_port(port))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "%s: the port must be 1 to 65535",
                            c->endpoint.url);
    c->endpoint.host = copy(c, host);
    c->endpoint.port = copy(c, port);
    c->endpoint.authority = copy(c, s);
    return 0;
}

static int set_tcp(struct fumi_rpc_connection *c, struct fumi_str rest, const char *port,
                   struct fumi_err *e)
{
    size_t n = 0;
    while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?' && rest.p[n] != '#')
        n++;
    if (set_authority(c, (struct fumi_str){rest.p, n}, port, e))
        return -1;
    struct fumi_str target = {rest.p + n, rest.n - n};
    for (size_t i = 0; i < target.n; i++)
        if (target.p[i] <= ' ' || target.p[i] > '~' || target.p[i] == '#' || *target.p != '/')
            return fumi_err_set(
                e, FUMI_INVALID_PARAMS,
                "%s: the path must begin with / and consist of visible ASCII characters "
                "without #",
                c->endpoint.url);
    c->endpoint.target = target.n ? copy(c, target) : c->transport->target;
    return 0;
}

int rpc_connection_set_url(struct fumi_rpc_connection *c, const char *url, struct fumi_err *e)
{
    struct fumi_str s = fumi_str(url);
    const struct scheme *scheme = scheme_of(s);
    if (!scheme)
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "%s: a URL must begin with https://, http://, wss://, ws://, unix:, "
                            "http+unix: or ws+unix:",
                            url);
    struct fumi_str rest = {s.p + scheme->prefix.n, s.n - scheme->prefix.n};
    c->endpoint.url = copy(c, s);
    c->transport = scheme->transport;
    c->endpoint.tls = scheme->tls;
    if (scheme->port)
        return set_tcp(c, rest, scheme->port, e);
    c->endpoint.path = copy(c, rest);
    c->endpoint.target = c->transport->target;
    c->endpoint.authority = "localhost";
    return rest.n ? 0 : fumi_err_set(e, FUMI_INVALID_PARAMS, "%s: the path is missing", url);
}

/* Header values must not contain line ends, which would inject other headers. */
static int copy_value(struct fumi_rpc_connection *c, const char **value, const char *what,
                      struct fumi_err *e)
{
    struct http_field field = {FUMI_STR("x"), fumi_str(*value)};
    if (!*value)
        return 0;
    if (!http_field_is_valid(&field))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the %s must not contain control characters",
                            what);
    *value = copy(c, field.value);
    return 0;
}

static bool is_visible(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return s.n;
}

/* Headers that describe framing, routing and accepted formats are set by the connection itself. */
static const struct fumi_str reserved[] = {
    {"host", 4},
    {"connection", 10},
    {"upgrade", 7},
    {"keep-alive", 10},
    {"proxy-connection", 16},
    {"transfer-encoding", 17},
    {"te", 2},
    {"trailer", 7},
    {"expect", 6},
    {"accept", 6},
    {"accept-encoding", 15},
    {"content-length", 14},
    {"content-type", 12},
    {"content-encoding", 16},
};
static const struct fumi_str reserved_prefix = {"sec-websocket-", 14};

static bool is_reserved(const struct fumi_rpc_connection *c, struct fumi_str name)
{
    for (size_t i = 0; i < FUMI_COUNT(reserved); i++)
        if (http_same(name, reserved[i]))
            return true;
    if (name.n >= reserved_prefix.n &&
        http_same((struct fumi_str){name.p, reserved_prefix.n}, reserved_prefix))
        return true;
    return (c->options.token && http_same(name, FUMI_STR("authorization"))) ||
           (c->options.origin && http_same(name, FUMI_STR("origin")));
}

static bool is_secret(struct fumi_str name)
{
    return http_same(name, FUMI_STR("authorization")) || http_same(name, FUMI_STR("cookie")) ||
           http_same(name, FUMI_STR("proxy-authorization"));
}

static int copy_header(struct fumi_rpc_connection *c, struct fumi_rpc_connection_header *h,
                       struct fumi_err *e)
{
    struct http_field field = {fumi_str(h->name), fumi_str(h->value)}, name = {field.name, {"", 0}};
    if (!h->name || !http_field_is_valid(&name))
        return fumi_err_set(
            e, FUMI_INVALID_PARAMS,
            "a header name must consist of letters, digits and characters such as -");
    if (!h->value || !http_field_is_valid(&field))
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "the header %s must not contain control characters", h->name);
    if (is_reserved(c, field.name))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the header %s is set by the connection itself",
                            h->name);
    c->secret |= is_secret(field.name);
    *h = (struct fumi_rpc_connection_header){copy(c, field.name), copy(c, field.value)};
    return 0;
}

static int copy_headers(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    size_t n = c->options.headers_n * sizeof(*c->options.headers);
    struct fumi_rpc_connection_header *copy = n ? fumi_alloc(&c->memory, n) : NULL;
    for (size_t i = 0; i < c->options.headers_n; i++) {
        copy[i] = c->options.headers[i];
        if (copy_header(c, &copy[i], e))
            return -1;
    }
    c->options.headers = copy;
    return 0;
}

int rpc_connection_set_options(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    struct fumi_rpc_connection_options *o = &c->options;
    o->connect_time = o->connect_time > 0 ? o->connect_time : CONNECT_TIME;
    o->call_time = o->call_time > 0 ? o->call_time : CALL_TIME;
    o->limit = o->limit ? o->limit : LIMIT;
    o->tries = o->tries ? o->tries : TRIES;
    if (o->framing == FUMI_FRAMING_HEADERS && c->transport == &rpc_connection_ndjson)
        c->transport = &rpc_connection_framed;
    if (copy_value(c, &o->token, "token", e) || copy_value(c, &o->origin, "origin", e))
        return -1;
    if (o->token && !is_visible(fumi_str(o->token)))
        return fumi_err_set(
            e, FUMI_INVALID_PARAMS,
            "the token must consist of visible ASCII characters, without blanks and "
            "without \"Bearer\"");
    c->secret = o->token;
    if (copy_headers(c, e))
        return -1;
    if (o->ca_file)
        o->ca_file = copy(c, fumi_str(o->ca_file));
    return copy_value(c, &o->protocol, "protocol", e);
}
