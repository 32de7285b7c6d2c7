/* Private to net/: what each protocol keeps on a connection. */
#ifndef FUMI_NET_PROTO_STATE_H
#define FUMI_NET_PROTO_STATE_H

#include "net/http.h"
#include "net/http1.h"
#include "net/ws.h"

struct conn;
struct http_kept;
struct message;
struct route;

/* A line that is being gathered. */
struct ndjson {
    size_t seen;   /* bytes of the rest that hold no newline */
    bool skipping; /* the rest of a line that was too long */
};

void ndjson_drain(struct conn *c); /* proto->drain of lines */

/* A message with a head that is being gathered. */
struct framed {
    size_t length; /* of the message; while it is skipped, of its rest */
    bool in_body;  /* its head was read */
    bool skipping; /* it is too long */
    bool draining; /* the server ends: half a message is none */
};

/* A request that is being read or answered; {0} but for `greeted` before it begins. */
struct http {
    enum { READS_HEAD, READS_BODY, READS_CHUNKS, RUNS, STREAMS, PAUSES } phase;
    unsigned char minor;
    bool keep_alive, only_head, wants_events, preflight;
    bool browser;  /* its head has an Origin */
    bool pause;    /* before the refusal is sent */
    bool measured; /* its body came fast enough so far */
    bool more;     /* bytes lie behind it */
    bool greeted;  /* a request before it was answered */
    size_t seen;   /* of http_read_head */
    size_t length;
    const struct route *route; /* NULL: none is at its path */
    void (*run)(struct conn *c, struct fumi_str body);
    int64_t began;          /* when its body did, in milliseconds */
    struct fumi_str method; /* static */
    size_t filtered;        /* filters that let it in */
    size_t reserved;        /* of the site's bodies */
    struct http_chunks chunks;
    struct fumi_buf body;    /* gathered from chunks */
    struct http_kept *kept;  /* its fields, for a route of the host program; else NULL */
    struct message *reply;   /* what such a route has still to answer; else NULL */
    struct fumi_buf origin;  /* allowed, to be sent back; empty: none */
    struct fumi_refusal why; /* to be sent once its body was read, or after a pause */
};

struct websocket {
    struct ws_reader reader;
    bool asked;   /* a ping is not answered yet */
    bool closing; /* our close frame is queued */
};

#endif
