/* The checks run in this order: Host (DNS rebinding), Origin and Sec-Fetch-Site (pages of other
 * sites), user and token (other programs that can reach the port). Only a refused request takes a
 * lock. The server keeps the SHA-256 digest of the token instead of the token, and compares digests
 * in constant time. */
#include "net/access.h"

#include "base/arena.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "net/access_user.h"
#include "net/discovery.h"
#include "net/listen.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HTTP_PORT = 80, QUOTED = 60, TICKS_PER_MS = 1000000 };

struct token_digest {
    unsigned char bytes[SHA256_DIGEST_LENGTH];
};

struct access {
    enum fumi_auth auth;
    bool has_token;
    struct token_digest digest;
    struct fumi_arena arena; /* owns the texts of the lists */
    struct fumi_strs hosts, origins;
    uint16_t *ports;
    size_t ports_n;
    struct access_guesses guesses;
};

/* host[:port], as in Host and after the scheme of an Origin. */
struct authority {
    struct fumi_str name;
    struct fumi_str port; /* p NULL: left out */
};

static struct authority split(struct fumi_str s)
{
    const char *end = s.p + s.n, *colon = memrchr(s.p, ':', s.n);
    if (!colon || memchr(colon, ']', (size_t)(end - colon)))
        return (struct authority){s, {0}};
    return (struct authority){{s.p, (size_t)(colon - s.p)}, {colon + 1, (size_t)(end - colon - 1)}};
}

/* Returns 0 unless the digits are a port from 1 to 65535 without leading zeros. */
static unsigned port_number(struct fumi_str digits)
{
    unsigned port = 0;
    if (digits.n == 0 || digits.n > 5 || *digits.p == '0')
        return 0;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9')
            return 0;
        port = port * 10 + (unsigned)(digits.p[i] - '0');
    }
    return port <= UINT16_MAX ? port : 0;
}

static bool has_port(const struct access *a, unsigned port)
{
    for (size_t i = 0; i < a->ports_n; i++)
        if (a->ports[i] == port)
            return true;
    return false;
}

static bool port_is_ours(const struct access *a, struct fumi_str port)
{
    return has_port(a, port.p ? port_number(port) : HTTP_PORT);
}

/* Whether the host is a loopback name and the port one that the server listens on. */
static bool is_own(const struct access *a, struct fumi_str authority)
{
    static const struct fumi_str names[] = {
        FUMI_STR("127.0.0.1"),
        FUMI_STR("localhost"),
        FUMI_STR("[::1]"),
    };
    struct authority at = split(authority);
    for (size_t i = 0; i < FUMI_COUNT(names); i++)
        if (http_same(at.name, names[i]))
            return port_is_ours(a, at.port);
    return false;
}

static bool is_listed_host(const struct access *a, struct fumi_str host)
{
    struct authority at = split(host);
    for (size_t i = 0; i < a->hosts.n; i++) {
        struct fumi_str entry = a->hosts.items[i];
        if (http_same(entry, host))
            return true;
        if (http_same(entry, at.name) && port_is_ours(a, at.port))
            return true;
    }
    return false;
}

static const char *host_fault(const struct access *a, const struct access_client *client,
                              struct fumi_str host)
{
    if (client->unix_socket || (!client->loopback && a->hosts.n == 0))
        return NULL;
    if (!host.p)
        return "Host is missing";
    return is_own(a, host) || is_listed_host(a, host) ? NULL : "this Host is not served here";
}

static bool is_listed_origin(const struct access *a, struct fumi_str origin)
{
    for (size_t i = 0; i < a->origins.n; i++)
        if (http_same(a->origins.items[i], origin))
            return true;
    return false;
}

static bool is_own_origin(const struct access *a, struct fumi_str origin)
{
    struct fumi_str scheme = FUMI_STR("http://");
    if (origin.n <= scheme.n || !http_same((struct fumi_str){origin.p, scheme.n}, scheme))
        return false;
    return is_own(a, (struct fumi_str){origin.p + scheme.n, origin.n - scheme.n});
}

/* The header fields that matter for access. */
struct request_fields {
    struct fumi_str origin, token, preflight;
    struct fumi_str encoded; /* the token, if it came as a subprotocol */
    const char *origin_fault, *token_fault;
    bool relayed;   /* the request came through a relay, on behalf of an unknown client */
    bool foreign;   /* sent by a page of another site, or of another port of the same site */
    bool navigates; /* the user follows a link */
};

static void take_origin(struct request_fields *f, struct fumi_str value)
{
    if (f->origin.p)
        f->origin_fault = "more than one Origin";
    f->origin = value;
}

static void take_preflight(struct request_fields *f, struct fumi_str value)
{
    f->preflight = value;
}

static void take_relay(struct request_fields *f, struct fumi_str value)
{
    (void)value;
    f->relayed = true;
}

static void take_site(struct request_fields *f, struct fumi_str value)
{
    f->foreign |= http_same(value, FUMI_STR("cross-site")) ||
                  http_same(value, FUMI_STR("same-site"));
}

static void take_mode(struct request_fields *f, struct fumi_str value)
{
    f->navigates = http_same(value, FUMI_STR("navigate"));
}

/* Whether all characters are allowed in a token. */
static bool is_visible(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '!' || s.p[i] > '~')
            return false;
    return s.n > 0;
}

static void take_token(struct request_fields *f, struct fumi_str value)
{
    if (!is_visible(value))
        f->token_fault = "malformed token";
    else if (f->token.p && !fumi_eq(f->token, value))
        f->token_fault = "two different tokens";
    f->token = value;
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Whether the byte continues the name of a scheme. */
static bool is_scheme_char(char byte)
{
    return is_letter(byte) || is_digit(byte) || byte == '-' || byte == '_';
}

/* Fields with another scheme are ignored. Only blanks and the token may follow "Bearer". */
static void take_authorization(struct request_fields *f, struct fumi_str value)
{
    struct fumi_str scheme = FUMI_STR("bearer");
    const char *p = value.p + scheme.n, *end = value.p + value.n;
    if (value.n < scheme.n || !http_same((struct fumi_str){value.p, scheme.n}, scheme))
        return;
    if (p < end && is_scheme_char(*p))
        return;
    if (p < end && *p != ' ')
        end = p;
    while (p < end && *p == ' ')
        p++;
    take_token(f, (struct fumi_str){p, (size_t)(end - p)});
}

/* Pages cannot set Authorization in an upgrade, so their token is one of the subprotocols that they
 * offer, in base64url, because not every character is allowed in a subprotocol. */
static void take_protocols(struct request_fields *f, struct fumi_str value)
{
    const struct fumi_str prefix = FUMI_STR(ACCESS_SUBPROTOCOL);
    const char *p = value.p, *end = value.p + value.n;
    while (p < end) {
        size_t n = 0;
        while (p + n < end && !memchr(", \t", p[n], 3))
            n++;
        if (fumi_starts((struct fumi_str){p, n}, prefix))
            f->encoded = (struct fumi_str){p + prefix.n, n - prefix.n};
        p += n + (p + n < end);
    }
}

static const struct {
    struct fumi_str name;
    void (*take)(struct request_fields *f, struct fumi_str value);
} wanted[] = {
    {FUMI_STR("via"), take_relay},
    {FUMI_STR("origin"), take_origin},
    {FUMI_STR("forwarded"), take_relay},
    {FUMI_STR("authorization"), take_authorization},
    {FUMI_STR("sec-fetch-site"), take_site},
    {FUMI_STR("sec-fetch-mode"), take_mode},
    {FUMI_STR("sec-websocket-protocol"), take_protocols},
    {FUMI_STR("access-control-request-method"), take_preflight},
    {FUMI_STR("x-claude-code-ide-authorization"), take_token},
};

/* X-Forwarded-For, X-Forwarded-Host, X-Forwarded-Proto and others. */
static bool is_forwarding(struct fumi_str name)
{
    struct fumi_str prefix = FUMI_STR("x-forwarded-");
    return name.n > prefix.n && http_same((struct fumi_str){name.p, prefix.n}, prefix);
}

static struct request_fields read_fields(const struct http_head *h)
{
    struct request_fields c = {0};
    for (size_t i = 0; i < h->n; i++) {
        const struct http_field *f = &h->fields[i];
        for (size_t k = 0; k < FUMI_COUNT(wanted); k++)
            if (f->name.n == wanted[k].name.n && http_same(f->name, wanted[k].name))
                wanted[k].take(&c, f->value);
        c.relayed |= is_forwarding(f->name);
    }
    return c;
}

static const char *origin_fault(const struct access *a, const struct request_fields *f)
{
    if (!f->origin.p || f->origin_fault)
        return f->origin_fault;
    return is_own_origin(a, f->origin) || is_listed_origin(a, f->origin)
               ? NULL
               : "this Origin is not allowed";
}

/* Browsers send no Origin with most GET requests, but always Sec-Fetch-Site, which describes the
 * origin of the page. A link to / is allowed, because a GET of / has no effect. */
static const char *site_fault(const struct access *a, const struct http_head *h,
                              const struct request_fields *f)
{
    if (!f->foreign || (f->origin.p && is_listed_origin(a, f->origin)))
        return NULL;
    if (f->navigates && fumi_eq(h->method, FUMI_STR("GET")) && fumi_eq(h->path, FUMI_STR("/")))
        return NULL;
    return "request from a page of another site (Sec-Fetch-Site)";
}

static bool is_preflight(const struct http_head *h, const struct request_fields *f)
{
    return f->origin.p && f->preflight.p && fumi_eq(h->method, FUMI_STR("OPTIONS"));
}

static bool digest_of(struct token_digest *d, struct fumi_str token)
{
    return SHA256((const unsigned char *)token.p, token.n, d->bytes);
}

static bool is_right(const struct access *a, struct fumi_str token)
{
    struct token_digest shown;
    return a->has_token && digest_of(&shown, token) &&
           CRYPTO_memcmp(&shown, &a->digest, sizeof(shown)) == 0;
}

enum access_user access_client_identify(struct access_client *client)
{
    uid_t uid;
    if (client->user == ACCESS_USER_UNKNOWN &&
        access_peer_uid(client->fd, client->unix_socket, &uid))
        client->user = uid == geteuid() || uid == 0 ? ACCESS_USER_SAME : ACCESS_USER_OTHER;
    return client->user;
}

/* With auth none only clients of this machine are allowed. access_new checks the addresses of the
 * settings, but not inherited sockets. */
bool access_without_token(struct access *a, struct access_client *client)
{
    switch (a->auth) {
    case FUMI_AUTH_SAME_USER:
    case FUMI_AUTH_FILTER: /* filters see only HTTP requests */
        return access_client_identify(client) == ACCESS_USER_SAME;
    case FUMI_AUTH_TOKEN:
        return false;
    case FUMI_AUTH_NONE:
        return client->unix_socket || client->loopback;
    }
    return false;
}

/* With auth none and no configured token, tokens are ignored. */
static bool sends_token(const struct access *a, const struct request_fields *f)
{
    return f->token.p && (a->has_token || a->auth != FUMI_AUTH_NONE);
}

/* Returns why the user of the connection does not identify the client, or NULL. A relay that runs
 * as the same user may forward requests of any client. A relay that adds no header field is
 * recognized by the hosts setting: only behind a relay does the server have other names than
 * loopback names. */
static const char *relay_fault(const struct access *a, const struct request_fields *f)
{
    if (a->auth != FUMI_AUTH_SAME_USER)
        return NULL;
    if (f->relayed)
        return "a token is needed: the request came through a relay";
    return a->hosts.n ? "a token is needed: the server has additional hosts" : NULL;
}

static const char *token_fault(struct access *a, struct access_client *client,
                               const struct request_fields *f, bool *guess)
{
    if (a->auth == FUMI_AUTH_FILTER)
        return NULL;
    if (f->token_fault)
        return f->token_fault;
    if (!sends_token(a, f)) {
        const char *fault = relay_fault(a, f);
        return fault || access_without_token(a, client) ? fault : "a token is needed";
    }
    *guess = !is_right(a, f->token);
    return *guess ? "the token is wrong" : NULL;
}

static bool must_pause(struct access *a, const struct access_client *client, bool guess)
{
    struct access_guess_key who = access_guess_key_of(client->fd, client->unix_socket);
    int64_t now = fumi_ticks() / TICKS_PER_MS;
    bool many = access_guesses_exceeded(&a->guesses, &who, now);
    if (guess)
        access_guesses_add(&a->guesses, &who, now);
    return many;
}

static struct access_verdict refuse(int status, const char *reason)
{
    return (struct access_verdict){.status = status, .reason = reason};
}

struct access_verdict access_check(struct access *a, struct access_client *client,
                                   const struct http_head *h)
{
    bool guess = false;
    const char *fault = host_fault(a, client, h->host);
    if (fault)
        return refuse(403, fault);
    char token[DISCOVERY_TOKEN_MAX];
    struct request_fields f = read_fields(h);
    if (f.encoded.p)
        take_token(&f,
                   (struct fumi_str){token, fumi_base64url_get(token, sizeof(token), f.encoded)});
    fault = origin_fault(a, &f);
    if (!fault)
        fault = site_fault(a, h, &f);
    if (fault)
        return refuse(403, fault);
    struct access_verdict v = {.origin = f.origin};
    fault = is_preflight(h, &f) ? NULL : token_fault(a, client, &f, &guess);
    if (fault) {
        v.status = 401;
        v.reason = fault;
        v.pause = must_pause(a, client, guess);
    }
    return v;
}

/* A descriptor that is neither a Unix socket nor TCP from the loopback interface always needs a
 * token, so failures need no handling. */
void access_client_init(struct access_client *client, int fd)
{
    struct sockaddr_storage name = {0};
    socklen_t size = sizeof(name);
    struct access_endpoint end;
    *client = (struct access_client){.fd = fd};
    client->unix_socket = getsockname(fd, (struct sockaddr *)&name, &size) == 0 &&
                          name.ss_family == AF_UNIX;
    client->loopback = (access_endpoint_get(&end, fd, false) &&
                        access_endpoint_is_loopback(&end)) ||
                       (access_endpoint_get(&end, fd, true) && access_endpoint_is_loopback(&end));
}

static int check_token(struct fumi_str token, struct fumi_err *e)
{
    if (!token.p || (token.n >= DISCOVERY_TOKEN_MIN && is_visible(token)))
        return 0;
    return fumi_err_set(e, FUMI_INVALID_PARAMS,
                        "token: at least %d characters are needed, all of them visible ASCII",
                        DISCOVERY_TOKEN_MIN);
}

static bool is_name(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_letter(s.p[i]) && !is_digit(s.p[i]) && !memchr("-._~", s.p[i], 4))
            return false;
    return s.n > 0;
}

/* A rough check is enough: the literal is only compared. */
static bool is_literal(struct fumi_str s)
{
    if (s.n < 4 || s.p[0] != '[' || s.p[s.n - 1] != ']')
        return false;
    for (size_t i = 1; i < s.n - 1; i++)
        if (!is_digit(s.p[i]) && !memchr("abcdefABCDEF:.", s.p[i], 14))
            return false;
    return true;
}

static bool is_authority(struct fumi_str s)
{
    if (s.n == 0)
        return false;
    struct authority a = split(s);
    return (is_name(a.name) || is_literal(a.name)) && (!a.port.p || port_number(a.port));
}

/* scheme://host[:port] */
static bool is_origin(struct fumi_str s)
{
    const char *mark = s.n ? memmem(s.p, s.n, "://", 3) : NULL;
    if (!mark || !is_letter(*s.p))
        return false;
    for (const char *p = s.p; p < mark; p++)
        if (!is_letter(*p) && !is_digit(*p) && !memchr("+-.", *p, 3))
            return false;
    return is_authority((struct fumi_str){mark + 3, (size_t)(s.p + s.n - mark - 3)});
}

static int check_origins(const struct fumi_strs *list, struct fumi_err *e)
{
    for (size_t i = 0; i < list->n; i++)
        if (!is_origin(list->items[i]))
            return fumi_err_set(e, FUMI_INVALID_PARAMS,
                                "origins: \"%.*s\" is not an origin; exact origins are needed, as "
                                "scheme://host or scheme://host:port, without path or wildcard",
                                FUMI_ARG(fumi_utf8_cut(list->items[i], QUOTED)));
    return 0;
}

static int check_hosts(const struct fumi_strs *list, struct fumi_err *e)
{
    for (size_t i = 0; i < list->n; i++)
        if (!is_authority(list->items[i]))
            return fumi_err_set(e, FUMI_INVALID_PARAMS,
                                "hosts: \"%.*s\" is not a host; exact names are needed, as name or "
                                "name:port, without scheme, path or wildcard",
                                FUMI_ARG(fumi_utf8_cut(list->items[i], QUOTED)));
    return 0;
}

/* Checks an address that other machines can reach. */
static int check_remote(const struct fumi_settings *s, bool has_token, struct fumi_str text,
                        struct fumi_err *e)
{
    const char *fault = NULL;
    if (!s->allow_remote)
        fault = "other machines can reach it; set allowRemote (--allow-remote) to allow that";
    else if (s->auth == FUMI_AUTH_NONE)
        fault = "other machines can reach it, so auth cannot be none";
    else if (!has_token && s->auth != FUMI_AUTH_FILTER)
        fault = "other machines can reach it, so a token is needed; set token or directory";
    if (!fault)
        return 0;
    return fumi_err_set(e, FUMI_INVALID_PARAMS, "listen: %.*s: %s",
                        FUMI_ARG(fumi_utf8_cut(text, QUOTED)), fault);
}

static int check_listen(const struct fumi_settings *s, bool has_token, struct fumi_err *e)
{
    for (size_t i = 0; i < s->listen.n; i++) {
        struct address a;
        if (address_parse(&a, s->listen.items[i], e) != 0)
            return -1;
        if (!address_is_local(&a) && check_remote(s, has_token, s->listen.items[i], e) != 0)
            return -1;
    }
    return 0;
}

static struct fumi_strs copy(struct fumi_arena *a, const struct fumi_strs *list)
{
    struct fumi_strs to = {fumi_alloc(a, list->n * sizeof(*to.items)), list->n};
    for (size_t i = 0; i < list->n; i++)
        to.items[i] = fumi_dup(a, list->items[i]);
    return to;
}

static int set_token(struct access *a, struct fumi_str token, struct fumi_err *e)
{
    a->has_token = token.p != NULL;
    if (!token.p || digest_of(&a->digest, token))
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "token: the system's libcrypto has no SHA-256");
}

struct access *access_new(const struct fumi_settings *s, struct fumi_str token, struct fumi_err *e)
{
    if (check_token(token, e) || check_origins(&s->origins, e) || check_hosts(&s->hosts, e) ||
        check_listen(s, token.p, e))
        return NULL;
    struct access *a = fumi_resize(NULL, sizeof(*a));
    *a = (struct access){.auth = (enum fumi_auth)s->auth,
                         .guesses = {.lock = PTHREAD_MUTEX_INITIALIZER}};
    a->hosts = copy(&a->arena, &s->hosts);
    a->origins = copy(&a->arena, &s->origins);
    if (set_token(a, token, e) == 0)
        return a;
    access_free(a);
    return NULL;
}

void access_free(struct access *a)
{
    if (!a)
        return;
    pthread_mutex_destroy(&a->guesses.lock);
    fumi_arena_done(&a->arena);
    fumi_resize(a->ports, 0);
    fumi_resize(a, 0);
}

void access_add_port(struct access *a, uint16_t port)
{
    if (port == 0 || has_port(a, port))
        return;
    a->ports = fumi_resize(a->ports, (a->ports_n + 1) * sizeof(*a->ports));
    a->ports[a->ports_n++] = port;
}
