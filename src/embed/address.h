/* The address of a provider: its URL as libcurl reads it, and the network addresses that a name may
 * stand for. */
#ifndef FUMI_EMBED_ADDRESS_H
#define FUMI_EMBED_ADDRESS_H

#include "base/err.h"

struct sockaddr;

struct address {
    bool plain;     /* http */
    bool here;      /* the host's name is one of this machine */
    char host[256]; /* decoded; IPv4 in the usual form, IPv6 in brackets */
    char port[8];   /* that of the scheme when the URL has none */
};

/* -1, FUMI_INVALID_PARAMS with a sentence about embedder.baseUrl: address_fault has one, or plain
 * http to another machine without leave. */
int address_read(struct fumi_str url, bool allow_http, struct address *out, struct fumi_err *e);

/* What is wrong with a URL whoever uses it: not http or https, a user part, '?' or '#', characters
 * that a URL cannot hold, a link-local address. NULL: nothing. */
const char *address_fault(struct fumi_str url);

/* Whether there are no blanks and no control characters in it. */
bool address_is_text(struct fumi_str s);

/* Whether one of the items, "HOST" or "HOST:PORT", is the host; without a port any port is meant.
 */
bool address_is_among(const struct address *a, struct fumi_strs hosts);

/* Whether a connection to this address is allowed; only_here: to this machine alone. */
bool address_may_connect(const struct sockaddr *address, bool only_here);

#endif
