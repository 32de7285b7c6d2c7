/* Private to net/: the state of each protocol on a connection; {0} when the protocol starts. */
#ifndef FUMI_NET_PROTO_STATE_H
#define FUMI_NET_PROTO_STATE_H

#include "net/http.h"
#include "net/http1.h"
#include "net/ws.h"

struct conn;
struct http_kept;
struct message;
struct route;

/* An incomplete line. */
struct ndjson {
    size_t seen;   /* bytes of conn.rest that were searched for a newline */
    bool skipping; /* discards the rest of a line that is too long */
};

void ndjson_drain(struct conn *c); /* proto->drain of ndjson_proto, used by framed.c too */

/* An incomplete message with a Content-Length header. */
struct framed {
    size_t length; /* bytes of the message; while it is skipped, bytes left */
    bool in_body;  /* the header was read */
    bool skipping; /* the message is too long and is discarded */
    bool draining; /* the server shuts down: an incomplete message is no error */
};

/* An HTTP request that is being read or answered; all members but `reused` are 0 between two
 * requests. */
struct http {
    enum { READS_HEAD, READS_BODY, READS_CHUNKS, RUNS, STREAMS, PAUSES } phase;
    unsigned char minor; /* HTTP/1.minor */
    bool keep_alive, only_head, wants_events, preflight;
    bool browser;              /* the head has an Origin */
    bool pause;                /* delay the refusal */
    bool measured;             /* the rate of the body was checked and was sufficient */
    bool more;                 /* bytes of a further request follow */
    bool reused;               /* an earlier request of the connection was answered */
    size_t seen;               /* see http_read_head */
    size_t length;             /* of the body; of an event stream: bytes sent */
    const struct route *route; /* NULL: no route has the path */
    void (*run)(struct conn *c, struct fumi_str body);
    int64_t began;          /* when the body began, as io_thread_now */
    struct fumi_str method; /* static */
    size_t filtered;        /* number of filters that accepted the request */
    size_t reserved;        /* bytes counted in server_shared.bodies */
    struct http_chunks chunks;
    struct fumi_buf body;   /* decoded from chunks */
    struct http_kept *kept; /* fields of the head for a route of the host program, owned; or NULL */
    struct message *reply;  /* pending answer of such a route, borrowed; or NULL */
    struct fumi_buf origin; /* allowed Origin to be echoed; empty: none */
    struct fumi_refusal why; /* sent once the body was read, or after a pause; status 0: none */
};

struct websocket {
    struct ws_reader reader;
    bool ping_pending; /* a ping was sent and nothing was received since */
    bool closing;      /* our close frame is in the output */
};

#endif
