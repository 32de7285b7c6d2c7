#include "app/git_files.h"

#include "base/utf8.h"

#include <strings.h>

enum { URL_MAX = 2048 };

static const struct {
    const char *name, *port;
} schemes[] = {{"https", "443"}, {"http", "80"},    {"ssh", "22"},
               {"git", "9418"},  {"git+ssh", "22"}, {"ssh+git", "22"}};

static struct fumi_str from(struct fumi_str s, size_t at)
{
    return (struct fumi_str){s.p + at, s.n - at};
}

/* The index of a character; s.n if there is none. */
static size_t find(struct fumi_str s, char c)
{
    const char *at = memchr(s.p, c, s.n);
    return at ? (size_t)(at - s.p) : s.n;
}

static struct fumi_str trim_path(struct fumi_str path)
{
    static const struct fumi_str suffix = {".git", 4};
    while (path.n && path.p[0] == '/')
        path = from(path, 1);
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    if (path.n > suffix.n && fumi_eq(from(path, path.n - suffix.n), suffix))
        path.n -= suffix.n;
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    return path;
}

/* Joins the parts; the host is written in lower case. Returns null if a part is empty. */
static struct fumi_str join(struct fumi_arena *a, struct fumi_str host, struct fumi_str path)
{
    path = trim_path(path);
    if (!host.n || !path.n)
        return (struct fumi_str){0};
    struct fumi_str out = fumi_fmt(a, "%.*s/%.*s", FUMI_ARG(host), FUMI_ARG(path));
    char *p = (char *)out.p;
    for (size_t i = 0; i < host.n; i++)
        p[i] = (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] + ('a' - 'A') : p[i]);
    return out;
}

static struct fumi_str without_user(struct fumi_str host)
{
    const char *at = memrchr(host.p, '@', host.n);
    return at ? from(host, (size_t)(at + 1 - host.p)) : host;
}

/* Removes ":PORT" from the end of a host if it is the default port, or empty. */
static struct fumi_str without_port(struct fumi_str host, const char *port)
{
    const char *colon = memrchr(host.p, ':', host.n);
    const char *bracket = memrchr(host.p, ']', host.n);
    if (!colon || (bracket && bracket > colon))
        return host;
    size_t at = (size_t)(colon - host.p);
    struct fumi_str given = from(host, at + 1);
    if (!given.n || (port && fumi_eq(given, fumi_str(port))))
        host.n = at;
    return host;
}

static struct fumi_str local(struct fumi_arena *a, struct fumi_str path)
{
    path = trim_path(path);
    return path.n ? fumi_fmt(a, "/%.*s", FUMI_ARG(path)) : (struct fumi_str){0};
}

/* scheme://[user[:password]@]host[:port]/path */
static struct fumi_str with_scheme(struct fumi_arena *a, struct fumi_str scheme,
                                   struct fumi_str rest)
{
    size_t slash = find(rest, '/');
    const char *port = NULL;
    if (scheme.n == 4 && strncasecmp(scheme.p, "file", 4) == 0)
        return local(a, from(rest, slash));
    for (size_t i = 0; i < FUMI_COUNT(schemes); i++)
        if (scheme.n == strlen(schemes[i].name) &&
            strncasecmp(scheme.p, schemes[i].name, scheme.n) == 0)
            port = schemes[i].port;
    struct fumi_str host = {rest.p, slash};
    return join(a, without_port(without_user(host), port), from(rest, slash));
}

/* [user@]host:path, where host may be [IPv6]. Anything else without a scheme is a path. */
static struct fumi_str without_scheme(struct fumi_arena *a, struct fumi_str url)
{
    size_t slash = find(url, '/'), close = find(url, ']');
    size_t begin = close < slash ? close : 0, colon = begin + find(from(url, begin), ':');
    if (url.n && url.p[0] == '/')
        return local(a, url);
    if (colon >= slash || colon + 1 >= url.n || url.p[colon + 1] == ':')
        return (struct fumi_str){0};
    struct fumi_str host = {url.p, colon};
    return join(a, without_user(host), from(url, colon + 1));
}

static bool is_text(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7F)
            return false;
    return s.n && s.n <= URL_MAX && fumi_utf8_valid(s);
}

struct fumi_str git_url(struct fumi_arena *a, struct fumi_str url)
{
    if (!is_text(url))
        return (struct fumi_str){0};
    size_t colon = find(url, ':');
    if (fumi_starts(from(url, colon), FUMI_STR("://")))
        return with_scheme(a, (struct fumi_str){url.p, colon}, from(url, colon + 3));
    return without_scheme(a, url);
}
