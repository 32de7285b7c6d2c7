/* HTTP/1.1 as bytes: reading requests, writing answers (RFC 9110, RFC 9112). Touches no socket and
 * keeps no memory of its own.
 *
 * The reader is strict, because two readers that understand the same bytes differently are how
 * requests are smuggled: whatever is ambiguous is a fault. After a fault the connection must be
 * answered with its status and closed; where the next request begins is then unknown.
 *
 * What is found does not depend on the pieces in which the bytes arrive. */
#ifndef FUMI_NET_HTTP1_H
#define FUMI_NET_HTTP1_H

#include "base/buf.h"

#include <sys/types.h>

enum { HTTP_FIELDS = 100 };

struct http_limits {
    size_t line;   /* bytes of the request line; beyond it 414 */
    size_t head;   /* bytes up to and with the empty line, and of trailers; beyond it 431 */
    size_t fields; /* at most HTTP_FIELDS; beyond it 431 */
    size_t body;   /* beyond it 413, from the announced size alone */
};
#define HTTP_LIMITS ((struct http_limits){8 << 10, 16 << 10, HTTP_FIELDS, 1 << 20})

struct http_fault {
    int status;         /* what to answer, before closing */
    const char *reason; /* a few words for the body of that answer and the log */
};

enum http_framing {
    HTTP_NO_BODY, /* nothing said of a body: a request has none */
    HTTP_LENGTH,  /* as many bytes as `length` says, which may be 0 */
    HTTP_CHUNKED,
};

struct http_field {
    struct fumi_str name, value; /* the value without white space around it; may be empty */
};

/* A request without its body. It is large and need not be cleared: keep one per thread, as a
 * hardened build clears it each time when it stands in a function. All slices lie in the bytes that
 * were read, but for a path that was left out of an absolute target, which is "/". */
struct http_head {
    struct fumi_str method; /* a token, in any case */
    struct fumi_str path; /* as it came, with its escapes; begins with '/', or is "*" for OPTIONS */
    struct fumi_str query; /* behind the '?'; none: p is NULL */
    struct fumi_str host;  /* of Host, which is one with that of an absolute target; none in 1.0 */
    struct fumi_str upgrade; /* of Upgrade when Connection names it too, else none */
    int minor;               /* HTTP/1.minor: 0 or 1 */
    enum http_framing framing;
    uint64_t length;       /* HTTP_LENGTH: at most limits.body */
    bool keep_alive;       /* the connection may be used again */
    bool expects_continue; /* the body comes only after "100 Continue" */
    size_t n;
    struct http_field fields[HTTP_FIELDS];
};

/* Reads the head of a request from all bytes that came so far, from the first byte behind the
 * request before it: how many bytes it takes; 0: more bytes are needed; -1 with *f set.
 * *seen is 0 when a request begins and belongs to the reader until it ends; it saves looking twice
 * at what came before. The bytes may lie elsewhere each time. *h is undefined but after success. */
ssize_t http_read_head(struct http_head *h, struct fumi_str bytes, size_t *seen,
                       const struct http_limits *limits, struct http_fault *f);

static inline bool http_has_body(const struct http_head *h)
{
    return h->framing == HTTP_CHUNKED || h->length > 0;
}

/* The first value of a field, p is NULL when it is missing, and how many times it is there. Names
 * are given in lower case, of letters, digits and '-'. */
struct fumi_str http_field(const struct http_head *h, const char *name);
size_t http_count(const struct http_head *h, const char *name);

/* Whether a list as in Connection or Upgrade holds that token, given in lower case. */
bool http_has_token(struct fumi_str list, const char *token);

/* The same text but for the case of ASCII letters. */
bool http_same(struct fumi_str a, struct fumi_str b);

/* A chunked body that is being read; {0} at its beginning. */
struct http_chunks {
    int state;
    bool done;
    int digits;    /* of this chunk's size */
    uint64_t left; /* bytes of this chunk that are still to come */
    uint64_t body; /* bytes of all chunks that were announced */
    size_t extra;  /* bytes of extensions and trailers */
    size_t fields; /* trailers */
};

/* Appends what the next bytes hold of the body: how many bytes were taken, which are all unless
 * the body is done; -1 with *f set. Extensions and trailers are checked and dropped. */
ssize_t http_read_chunks(struct http_chunks *c, struct fumi_str bytes, struct fumi_buf *body,
                         const struct http_limits *limits, struct http_fault *f);

struct http_answer {
    int status;
    int minor; /* of the request */
    enum http_framing framing;
    uint64_t length;
    bool keep_alive;
    const struct http_field *fields; /* others than Connection and those that frame the body */
    size_t n;
    struct fumi_str lines; /* further fields, ready-made, each with its CRLF */
};

/* Appends an answer up to and with its empty line. An answer of unknown length that is not chunked
 * (HTTP/1.0 has no chunks) ends with its connection: HTTP_NO_BODY and not keep_alive. With status
 * 101, Connection names the upgrade. Each field must be one that http_fits. Nothing is added when
 * the buffer has no room for it, which is full then. */
void http_answer_head(struct fumi_buf *to, const struct http_answer *a);
void http_continue(struct fumi_buf *to);

/* Appends one chunk; none for an empty text, which would end the body. */
void http_chunk(struct fumi_buf *to, struct fumi_str text);
void http_chunk_end(struct fumi_buf *to);

/* Whether it is a field: a token, and a value without line ends and other control characters. */
bool http_fits(const struct http_field *field);

const char *http_reason(int status); /* "" when it has none */

#endif
