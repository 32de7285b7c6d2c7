/* HTTP/1.1 on byte buffers: reading requests, writing responses (RFC 9110, RFC 9112). Uses no
 * socket and allocates no memory of its own.
 *
 * The reader is strict, because requests can be smuggled wherever two readers interpret the same
 * bytes differently: everything ambiguous is a fault. After a fault, answer with its status and
 * close the connection, because the beginning of the next request is unknown.
 *
 * The result does not depend on the pieces in which the bytes arrive. */
#ifndef FUMI_NET_HTTP1_H
#define FUMI_NET_HTTP1_H

#include "base/buf.h"

#include <sys/types.h>

enum { HTTP_FIELDS = 100 };

struct http_limits {
    size_t line;   /* bytes of the request line; more: 414 */
    size_t head;   /* bytes of the head including the empty line, and of trailers; more: 431 */
    size_t fields; /* at most HTTP_FIELDS; more: 431 */
    size_t body;   /* bytes of the body; more, even if only announced: 413 */
};
#define HTTP_LIMITS ((struct http_limits){8 << 10, 16 << 10, HTTP_FIELDS, 1 << 20})

struct http_fault {
    int status;         /* status to answer with before closing */
    const char *reason; /* short text for the response body and the log */
};

enum http_framing {
    HTTP_NO_BODY, /* no length given: a request has no body */
    HTTP_LENGTH,  /* `length` bytes, possibly 0 */
    HTTP_CHUNKED,
};

struct http_field {
    struct fumi_str name, value; /* the value without surrounding white space; may be empty */
};

/* The head of a request. It is large and need not be cleared: keep one per thread, because a
 * hardened build clears local variables on every call. All slices point into the bytes that were
 * read, except for the path "/" of an absolute target without a path. */
struct http_head {
    struct fumi_str method;  /* a token, as sent */
    struct fumi_str path;    /* still percent-encoded; begins with '/', or is "*" for OPTIONS */
    struct fumi_str query;   /* after the '?'; p is NULL if there is none */
    struct fumi_str host;    /* Host; equals that of an absolute target */
    struct fumi_str upgrade; /* Upgrade, if Connection names it too, else empty */
    int minor;               /* HTTP/1.minor: 0 or 1 */
    enum http_framing framing;
    uint64_t length;       /* HTTP_LENGTH: at most limits.body */
    bool keep_alive;       /* the connection may be reused */
    bool expects_continue; /* the client waits for "100 Continue" before it sends the body */
    size_t n;
    struct http_field fields[HTTP_FIELDS];
};

/* Reads the head of a request from all bytes received so far, beginning after the previous request.
 * Returns the size of the head; 0 if more bytes are needed; -1 with *f set. Set *seen to 0 when a
 * request begins and leave it unchanged until the request ends: it avoids scanning bytes twice. The
 * bytes may move between calls. *h is valid only after success. */
ssize_t http_read_head(struct http_head *h, struct fumi_str bytes, size_t *seen,
                       const struct http_limits *limits, struct http_fault *f);

static inline bool http_has_body(const struct http_head *h)
{
    return h->framing == HTTP_CHUNKED || h->length > 0;
}

/* The first value of a field (p is NULL if it is missing), and how often the field occurs. Names
 * are given in lower case and consist of letters, digits and '-'. */
struct fumi_str http_field(const struct http_head *h, const char *name);
size_t http_count(const struct http_head *h, const char *name);

/* Whether a comma-separated list, as in Connection, contains that token, given in lower case. */
bool http_has_token(struct fumi_str list, const char *token);

/* Compares two texts, ignoring the case of ASCII letters. */
bool http_same(struct fumi_str a, struct fumi_str b);

/* State of reading a chunked body; initialize with {0}. */
struct http_chunks {
    int state;
    bool done;
    int digits;    /* digits of the chunk size read so far */
    uint64_t left; /* bytes left in this chunk */
    uint64_t body; /* bytes of all chunks announced so far */
    size_t extra;  /* bytes of extensions and trailers */
    size_t fields; /* trailers */
};

/* Appends the part of the body in the next bytes. Returns the number of bytes consumed, which are
 * all unless the body is done; -1 with *f set. Extensions and trailers are validated and discarded.
 */
ssize_t http_read_chunks(struct http_chunks *c, struct fumi_str bytes, struct fumi_buf *body,
                         const struct http_limits *limits, struct http_fault *f);

struct http_response_head {
    int status;
    int minor; /* HTTP version of the request */
    enum http_framing framing;
    uint64_t length;
    bool keep_alive;
    const struct http_field *fields; /* without Connection, Content-Length and Transfer-Encoding */
    size_t n;
    struct fumi_str lines; /* additional header lines, each with CRLF */
};

/* Appends the head of a response including the empty line. A response of unknown length that is not
 * chunked (HTTP/1.0 has no chunks) ends with the connection: use HTTP_NO_BODY without keep_alive.
 * With status 101, Connection names the upgrade. Each field must be valid (http_field_is_valid). If
 * the head does not fit the limit of the buffer, nothing is appended and the buffer is marked full.
 */
void http_put_response_head(struct fumi_buf *to, const struct http_response_head *a);
void http_continue(struct fumi_buf *to);

/* Appends a chunk; nothing for an empty text, because an empty chunk ends the body. */
void http_chunk(struct fumi_buf *to, struct fumi_str text);
void http_chunk_end(struct fumi_buf *to);

/* Whether the name is a token and the value contains no line ends or other control characters. */
bool http_field_is_valid(const struct http_field *field);

const char *http_reason(int status); /* standard reason phrase, or "" */

#endif
