/* The URL of a provider, and the network addresses that it may connect to. Any thread may call
 * these functions. */
#ifndef FUMI_EMBED_PROVIDER_URL_H
#define FUMI_EMBED_PROVIDER_URL_H

#include "base/err.h"

struct sockaddr;

struct provider_url {
    bool plain;     /* http, not https */
    bool local;     /* the host is localhost or a loopback address */
    char host[256]; /* decoded; IPv4 addresses in dotted form, IPv6 in brackets */
    char port[8];   /* the scheme's default if the URL has none */
};

/* Parses a URL. Returns -1 with FUMI_INVALID_PARAMS and a message about embedder.baseUrl if
 * provider_url_fault refuses it, if libcurl is not installed, or if it is plain http to another
 * machine and allow_http is false. */
int provider_url_read(struct fumi_str url, bool allow_http, struct provider_url *out,
                      struct fumi_err *e);

/* Returns NULL if the URL is valid for any provider, otherwise an error text: not http or https, a
 * user part, '?' or '#', characters that are not allowed in a URL, a link-local address. Without
 * libcurl only the characters are checked. */
const char *provider_url_fault(struct fumi_str url);

/* Whether s has no blanks and no control characters. */
bool provider_url_is_text(struct fumi_str s);

/* Whether one of `hosts`, "HOST" (any port) or "HOST:PORT", matches the URL. */
bool provider_url_is_among(const struct provider_url *u, struct fumi_strs hosts);

/* Whether a connection to this address is allowed: never to link-local addresses, and only to this
 * machine if only_local is set. */
bool provider_url_may_connect(const struct sockaddr *address, bool only_local);

#endif
