/* URLs are parsed by libcurl, so that the URL that is checked is the one that is requested later.
 */
#include "embed/provider_url.h"

#include "embed/curl.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { URL_MAX = 2048 };

/* Where a network address leads: to this machine, to the local link (refused), or to other
 * machines. */
enum host_scope { LOOPBACK, LINK_LOCAL, REMOTE };

static enum host_scope scope_of_v4(uint32_t address)
{
    if (address >> 24 == 127)
        return LOOPBACK;
    return address >> 16 == 0xA9FE ? LINK_LOCAL : REMOTE;
}

/* Mapped IPv6 addresses and those that a NAT64 gateway translates (RFC 6052) contain an IPv4
 * address in their last bytes. A loopback address behind a gateway is not this machine, so it is
 * refused. */
static enum host_scope scope_of_v6(const struct in6_addr *address)
{
    static const uint8_t prefix[12] = {0x00, 0x64, 0xFF, 0x9B};
    bool gateway = memcmp(address->s6_addr, prefix, sizeof(prefix)) == 0;
    uint32_t v4;
    if (gateway || IN6_IS_ADDR_V4MAPPED(address)) {
        memcpy(&v4, address->s6_addr + 12, sizeof(v4));
        enum host_scope scope = scope_of_v4(ntohl(v4));
        return gateway && scope == LOOPBACK ? LINK_LOCAL : scope;
    }
    if (IN6_IS_ADDR_LOOPBACK(address))
        return LOOPBACK;
    return IN6_IS_ADDR_LINKLOCAL(address) ? LINK_LOCAL : REMOTE;
}

bool provider_url_may_connect(const struct sockaddr *address, bool only_local)
{
    enum host_scope scope = LINK_LOCAL;
    if (address->sa_family == AF_INET)
        scope = scope_of_v4(ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr));
    else if (address->sa_family == AF_INET6)
        scope = scope_of_v6(&((const struct sockaddr_in6 *)address)->sin6_addr);
    return scope == LOOPBACK || (scope == REMOTE && !only_local);
}

/* Of a host as libcurl normalizes it: dotted IPv4 addresses, IPv6 in brackets. Changes it. */
static enum host_scope scope_of_name(char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    size_t n = strlen(host);
    static const char local[] = ".localhost";
    if (inet_pton(AF_INET, host, &v4) == 1)
        return scope_of_v4(ntohl(v4.s_addr));
    if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
        host[n - 1] = '\0';
        return inet_pton(AF_INET6, host + 1, &v6) == 1 ? scope_of_v6(&v6) : REMOTE;
    }
    if (strcasecmp(host, local + 1) == 0)
        return LOOPBACK;
    return n >= sizeof(local) && strcasecmp(host + n - (sizeof(local) - 1), local) == 0 ? LOOPBACK
                                                                                        : REMOTE;
}

static bool has(CURLU *u, CURLUPart part)
{
    char *text = NULL;
    bool found = curl_calls()->url_get(u, part, &text, 0) == CURLUE_OK;
    curl_calls()->free(text);
    return found;
}

static bool get(CURLU *u, CURLUPart part, unsigned flags, char *to, size_t size)
{
    char *text = NULL;
    bool fits = curl_calls()->url_get(u, part, &text, flags) == CURLUE_OK && strlen(text) < size;
    if (fits)
        memcpy(to, text, strlen(text) + 1);
    curl_calls()->free(text);
    return fits;
}

/* Fills *out from a parsed URL. Returns NULL if the URL is valid, otherwise an error text. */
static const char *inspect(CURLU *u, struct provider_url *out)
{
    char scheme[8], host[sizeof(out->host)];
    if (!get(u, CURLUPART_SCHEME, 0, scheme, sizeof(scheme)) ||
        !get(u, CURLUPART_HOST, 0, out->host, sizeof(out->host)) ||
        !get(u, CURLUPART_PORT, CURLU_DEFAULT_PORT, out->port, sizeof(out->port)))
        return "is not a URL";
    if (has(u, CURLUPART_USER) || has(u, CURLUPART_PASSWORD))
        return "must not contain a user or a password: set embedder.apiKey";
    memcpy(host, out->host, sizeof(host));
    enum host_scope scope = scope_of_name(host);
    out->plain = strcmp(scheme, "https") != 0;
    out->local = scope == LOOPBACK;
    return scope == LINK_LOCAL ? "must not be a link-local address" : NULL;
}

static const char *parse(struct fumi_str url, struct provider_url *out)
{
    char text[URL_MAX + 1];
    assert(url.n <= URL_MAX);
    memcpy(text, url.p, url.n);
    text[url.n] = '\0';
    CURLU *u = curl_calls()->url();
    bool good = u && !curl_calls()->url_set(u, CURLUPART_URL, text, 0);
    const char *why = good ? inspect(u, out) : "is not a URL";
    curl_calls()->url_cleanup(u);
    return why;
}

static bool contains(struct fumi_str s, const char *any)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] && strchr(any, s.p[i]))
            return true;
    }
    return false;
}

bool provider_url_is_text(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7F)
            return false;
    }
    return true;
}

static bool begins(struct fumi_str url, struct fumi_str scheme)
{
    return url.n > scheme.n && strncasecmp(url.p, scheme.p, scheme.n) == 0;
}

/* The part between "://" and the path: user, host and port. */
static struct fumi_str authority(struct fumi_str url)
{
    const char *from = (const char *)memchr(url.p, ':', url.n) + 3, *end = url.p + url.n;
    const char *path = memchr(from, '/', (size_t)(end - from));
    return (struct fumi_str){from, (size_t)((path ? path : end) - from)};
}

/* Returns NULL if the URL is valid, as far as it can be checked without libcurl; otherwise an error
 * text. */
static const char *text_fault(struct fumi_str url)
{
    if (url.n > URL_MAX)
        return "must have at most 2048 bytes";
    if (!provider_url_is_text(url))
        return "must not contain blanks or control characters";
    if (!begins(url, FUMI_STR("http://")) && !begins(url, FUMI_STR("https://")))
        return "must begin with http:// or https://";
    if (contains(url, "?#"))
        return "must not contain '?' or '#'";
    if (contains(url, "\\\"'`<>{}|^"))
        return "must not contain quotes, backslashes, braces or any of <>|^";
    if (contains(authority(url), "@"))
        return "must not contain a user or a password: set embedder.apiKey";
    return NULL;
}

const char *provider_url_fault(struct fumi_str url)
{
    struct provider_url ignored;
    const char *why = text_fault(url);
    return why || !curl_calls() ? why : parse(url, &ignored);
}

int provider_url_read(struct fumi_str url, bool allow_http, struct provider_url *out,
                      struct fumi_err *e)
{
    const char *why = text_fault(url);
    if (!why)
        why = curl_calls()
                  ? parse(url, out)
                  : "cannot be used: a remote provider needs libcurl.so.4, install libcurl4";
    if (!why && out->plain && !out->local && !allow_http)
        why = "must be https: plain http is for this machine only (--allow-http-embedder allows "
              "it)";
    return why ? fumi_err_set(e, FUMI_INVALID_PARAMS, "embedder.baseUrl %s", why) : 0;
}

static bool is_same(struct fumi_str a, const char *b)
{
    return a.n == strlen(b) && strncasecmp(a.p, b, a.n) == 0;
}

bool provider_url_is_among(const struct provider_url *a, struct fumi_strs hosts)
{
    for (size_t i = 0; i < hosts.n; i++) {
        struct fumi_str host = hosts.items[i];
        const char *colon = memrchr(host.p, ':', host.n), *end = host.p + host.n;
        if (is_same(host, a->host))
            return true;
        if (colon && is_same((struct fumi_str){host.p, (size_t)(colon - host.p)}, a->host) &&
            is_same((struct fumi_str){colon + 1, (size_t)(end - colon - 1)}, a->port))
            return true;
    }
    return false;
}
