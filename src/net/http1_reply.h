/* HTTP/1.1 as bytes, from the client's side: reading answers (RFC 9112). Touches no socket and
 * keeps no memory of its own. As strict as the reader of requests: an answer whose end could be
 * understood in two ways is a fault, after which the connection must be closed.
 *
 * What is found does not depend on the pieces in which the bytes arrive. A fault's status tells
 * apart what is malformed (400), too large (413, 431) and not spoken (501, 505). */
#ifndef FUMI_NET_HTTP1_REPLY_H
#define FUMI_NET_HTTP1_REPLY_H

#include "net/http1.h"

/* An answer without its body. All slices lie in the bytes that were read. */
struct http_reply {
    int status;             /* 101, or 200 to 599 */
    int minor;              /* HTTP/1.minor: 0 or 1 */
    struct fumi_str reason; /* may be empty */
    enum http_framing framing;
    bool to_end;             /* HTTP_NO_BODY: there is one, which ends with the connection */
    uint64_t length;         /* HTTP_LENGTH: at most limits.body */
    bool keep_alive;         /* the connection may be used again */
    struct fumi_str upgrade; /* of Upgrade when Connection names it too, else none */
    size_t n;
    struct http_field fields[HTTP_FIELDS];
};

/* Reads the head of an answer from all bytes that came so far: how many bytes it takes, those of
 * 1xx answers ahead of it included, which are skipped, but for 101; 0: more bytes are needed; -1
 * with *f set. limits.line is that of the status line, limits.head that of all heads together. *h
 * is undefined but after success. The request must have been neither HEAD nor CONNECT. */
ssize_t http_read_reply(struct http_reply *h, struct fumi_str bytes,
                        const struct http_limits *limits, struct http_fault *f);

/* The first value of a field, p is NULL when it is missing, and how many times it is there. */
struct fumi_str http_reply_field(const struct http_reply *h, const char *name);
size_t http_reply_count(const struct http_reply *h, const char *name);

/* A body that is being read. */
struct http_reply_body {
    enum http_framing framing;
    bool to_end, done;
    uint64_t left; /* HTTP_LENGTH: bytes still to come; to_end: bytes that came */
    struct http_chunks chunks;
};

void http_reply_begin(struct http_reply_body *b, const struct http_reply *h);

/* Appends what the next bytes hold of the body: how many bytes were taken, which are all unless the
 * body is done; -1 with *f set. */
ssize_t http_reply_read(struct http_reply_body *b, struct fumi_str bytes, struct fumi_buf *to,
                        const struct http_limits *limits, struct http_fault *f);

/* The connection has ended: -1 with *f set when the body is cut short by that. */
int http_reply_end(struct http_reply_body *b, struct http_fault *f);

#endif
