/* HTTP/1.1 on byte buffers, client side: reading responses (RFC 9112). Uses no socket and allocates
 * no memory of its own. As strict as the reader of requests: a response whose end is ambiguous is a
 * fault, after which the connection must be closed.
 *
 * The result does not depend on the pieces in which the bytes arrive. The status of a fault
 * distinguishes malformed (400), too large (413, 431) and unsupported (501, 505) responses. */
#ifndef FUMI_NET_HTTP1_RESPONSE_H
#define FUMI_NET_HTTP1_RESPONSE_H

#include "net/http1.h"

/* The head of a response. All slices point into the bytes that were read. */
struct http_response {
    int status;             /* 101, or 200 to 599 */
    int minor;              /* HTTP/1.minor: 0 or 1 */
    struct fumi_str reason; /* may be empty */
    enum http_framing framing;
    bool to_end;             /* HTTP_NO_BODY: the body ends with the connection */
    uint64_t length;         /* HTTP_LENGTH: at most limits.body */
    bool keep_alive;         /* the connection may be reused */
    struct fumi_str upgrade; /* Upgrade, if Connection names it too, else empty */
    size_t n;
    struct http_field fields[HTTP_FIELDS];
};

/* Reads the head of a response from all bytes received so far. Returns its size, including 1xx
 * responses before it, which are skipped (except 101); 0 if more bytes are needed; -1 with *f set.
 * limits.line applies to the status line, limits.head to all heads together. *h is valid only after
 * success. The request must not have been HEAD or CONNECT. */
ssize_t http_read_response(struct http_response *h, struct fumi_str bytes,
                           const struct http_limits *limits, struct http_fault *f);

/* The first value of a field (p is NULL if it is missing), and how often the field occurs. */
struct fumi_str http_response_field(const struct http_response *h, const char *name);
size_t http_response_count(const struct http_response *h, const char *name);

/* State of reading a body; see http_response_begin. */
struct http_response_body {
    enum http_framing framing;
    bool to_end, done;
    uint64_t left; /* HTTP_LENGTH: bytes left; to_end: bytes received */
    struct http_chunks chunks;
};

void http_response_begin(struct http_response_body *b, const struct http_response *h);

/* Appends the part of the body in the next bytes. Returns the number of bytes consumed, which are
 * all unless the body is done; -1 with *f set. */
ssize_t http_response_read(struct http_response_body *b, struct fumi_str bytes, struct fumi_buf *to,
                           const struct http_limits *limits, struct http_fault *f);

/* Call at end of file. Returns -1 with *f set if the body is incomplete. */
int http_response_end(struct http_response_body *b, struct http_fault *f);

#endif
