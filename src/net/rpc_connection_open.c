/* The URL and the options of a link: checked, and copied so that the caller may free them. */
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
    const struct rpc_connection_way *way;
    const char *port; /* where the URL has none; NULL: a Unix socket */
    bool tls;
} schemes[] = {
    {{"http://", 7}, &rpc_connection_http, "80", false},
    {{"ws://", 5}, &rpc_connection_ws, "80", false},
    {{"https://", 8}, &rpc_connection_http, "443", true},
    {{"wss://", 6}, &rpc_connection_ws, "443", true},
    {{"unix:", 5}, &rpc_connection_lines, NULL, false},
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

static const char *terminated(struct fumi_rpc_connection *l, struct fumi_str s)
{
    char *to = fumi_alloc(&l->memory, s.n + 1);
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
static int take_authority(struct fumi_rpc_connection *l, struct fumi_str s, const char *usual,
                          struct fumi_err *e)
{
    bool six = s.n && *s.p == '[';
    const char *close = six ? memchr(s.p, ']', s.n) : NULL, *end = s.p + s.n;
    const char *from = six && close ? close + 1 : s.p, *colon = NULL;
    if (from < end)
        colon = memchr(from, ':', (size_t)(end - from));
    struct fumi_str host = {s.p, (size_t)((colon ? colon : end) - s.p)}, port = fumi_str(usual);
    if (colon)
        port = (struct fumi_str){colon + 1, (size_t)(end - colon - 1)};
    if (six && close)
        host = (struct fumi_str){s.p + 1, (size_t)(close - s.p - 1)};
    bool fine = all_of(host, six ? ALNUM ".:%" : ALNUM ".-_") && (!six || close);
    if (!fine || (six && from != (colon ? colon : end)))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "%s: the host must be a name or an address",
                            l->at.url);
    if (!is_port(port))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "%s: the port must be 1 to 65535", l->at.url);
    l->at.host = terminated(l, host);
    l->at.port = terminated(l, port);
    l->at.authority = terminated(l, s);
    return 0;
}

static int take_tcp(struct fumi_rpc_connection *l, struct fumi_str rest, const char *port,
                    struct fumi_err *e)
{
    size_t n = 0;
    while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?' && rest.p[n] != '#')
        n++;
    if (take_authority(l, (struct fumi_str){rest.p, n}, port, e))
        return -1;
    struct fumi_str target = {rest.p + n, rest.n - n};
    for (size_t i = 0; i < target.n; i++)
        if (target.p[i] <= ' ' || target.p[i] > '~' || target.p[i] == '#' || *target.p != '/')
            return fumi_err_set(e, FUMI_INVALID_PARAMS,
                                "%s: the path must begin with / and be of visible ASCII characters "
                                "without #",
                                l->at.url);
    l->at.target = target.n ? terminated(l, target) : l->way->target;
    return 0;
}

int rpc_connection_take_url(struct fumi_rpc_connection *l, const char *url, struct fumi_err *e)
{
    struct fumi_str s = fumi_str(url);
    const struct scheme *scheme = scheme_of(s);
    if (!scheme)
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "%s: a URL must begin with https://, http://, wss://, ws://, unix:, "
                            "http+unix: or ws+unix:",
                            url);
    struct fumi_str rest = {s.p + scheme->prefix.n, s.n - scheme->prefix.n};
    l->at.url = terminated(l, s);
    l->way = scheme->way;
    l->at.tls = scheme->tls;
    if (scheme->port)
        return take_tcp(l, rest, scheme->port, e);
    l->at.path = terminated(l, rest);
    l->at.target = l->way->target;
    l->at.authority = "localhost";
    return rest.n ? 0 : fumi_err_set(e, FUMI_INVALID_PARAMS, "%s: the path is missing", url);
}

/* A value of a field, which must not smuggle in others. */
static int take_value(struct fumi_rpc_connection *l, const char **value, const char *what,
                      struct fumi_err *e)
{
    struct http_field field = {FUMI_STR("x"), fumi_str(*value)};
    if (!*value)
        return 0;
    if (!http_fits(&field))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the %s must not have control characters",
                            what);
    *value = terminated(l, field.value);
    return 0;
}

static bool is_visible(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return s.n;
}

/* Fields that say how a message is framed, where it goes and what it may be answered with are the
 * link's own. */
static const struct fumi_str own_fields[] = {
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
static const struct fumi_str own_prefix = {"sec-websocket-", 14};

static bool is_own(const struct fumi_rpc_connection *l, struct fumi_str name)
{
    for (size_t i = 0; i < FUMI_COUNT(own_fields); i++)
        if (http_same(name, own_fields[i]))
            return true;
    if (name.n >= own_prefix.n && http_same((struct fumi_str){name.p, own_prefix.n}, own_prefix))
        return true;
    return (l->o.token && http_same(name, FUMI_STR("authorization"))) ||
           (l->o.origin && http_same(name, FUMI_STR("origin")));
}

static bool is_secret(struct fumi_str name)
{
    return http_same(name, FUMI_STR("authorization")) || http_same(name, FUMI_STR("cookie")) ||
           http_same(name, FUMI_STR("proxy-authorization"));
}

static int take_header(struct fumi_rpc_connection *l, struct fumi_rpc_connection_header *h,
                       struct fumi_err *e)
{
    struct http_field field = {fumi_str(h->name), fumi_str(h->value)}, name = {field.name, {"", 0}};
    if (!h->name || !http_fits(&name))
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "the name of a header must be of letters, digits and - and the like");
    if (!h->value || !http_fits(&field))
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "the header %s must not have control characters", h->name);
    if (is_own(l, field.name))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the header %s is set by the link itself",
                            h->name);
    l->secret |= is_secret(field.name);
    *h = (struct fumi_rpc_connection_header){terminated(l, field.name), terminated(l, field.value)};
    return 0;
}

static int take_headers(struct fumi_rpc_connection *l, struct fumi_err *e)
{
    size_t n = l->o.headers_n * sizeof(*l->o.headers);
    struct fumi_rpc_connection_header *copy = n ? fumi_alloc(&l->memory, n) : NULL;
    for (size_t i = 0; i < l->o.headers_n; i++) {
        copy[i] = l->o.headers[i];
        if (take_header(l, &copy[i], e))
            return -1;
    }
    l->o.headers = copy;
    return 0;
}

int rpc_connection_take_options(struct fumi_rpc_connection *l, struct fumi_err *e)
{
    struct fumi_rpc_connection_options *o = &l->o;
    o->connect_time = o->connect_time > 0 ? o->connect_time : CONNECT_TIME;
    o->call_time = o->call_time > 0 ? o->call_time : CALL_TIME;
    o->limit = o->limit ? o->limit : LIMIT;
    o->tries = o->tries ? o->tries : TRIES;
    if (o->framing == FUMI_FRAMING_HEADERS && l->way == &rpc_connection_lines)
        l->way = &rpc_connection_framed;
    if (take_value(l, &o->token, "token", e) || take_value(l, &o->origin, "origin", e))
        return -1;
    if (o->token && !is_visible(fumi_str(o->token)))
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "the token must be of visible ASCII characters, without blanks and "
                            "without \"Bearer\"");
    l->secret = o->token;
    if (take_headers(l, e))
        return -1;
    if (o->ca_file)
        o->ca_file = terminated(l, fumi_str(o->ca_file));
    return take_value(l, &o->protocol, "protocol", e);
}
