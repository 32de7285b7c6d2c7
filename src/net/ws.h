/* WebSocket (RFC 6455) as bytes: the key of the handshake, frames in, frames out. Holds no
 * descriptor and no clock; extensions are not spoken. */
#ifndef FUMI_NET_WS_H
#define FUMI_NET_WS_H

#include "base/buf.h"

enum {
    WS_KEY = 24,        /* bytes of Sec-WebSocket-Key */
    WS_ACCEPT = 28,     /* bytes of Sec-WebSocket-Accept */
    WS_CONTROL = 125,   /* most bytes a control frame carries */
    WS_HEAD = 14,       /* most bytes of a frame before its payload */
    WS_LIMIT = 1 << 20, /* default of ws_reader.limit */
};

enum ws_code {
    WS_NORMAL = 1000,
    WS_GOING_AWAY = 1001,
    WS_PROTOCOL_ERROR = 1002,
    WS_UNSUPPORTED = 1003,
    WS_NO_CODE = 1005, /* the close frame is empty; never on the wire */
    WS_BAD_TEXT = 1007,
    WS_POLICY = 1008,
    WS_TOO_LONG = 1009,
    WS_INTERNAL_ERROR = 1011,
};

/* What arrived or is sent; the numbers of the latter are the opcodes on the wire. */
enum ws_kind {
    WS_MORE = 0, /* all bytes are used and nothing is complete */
    WS_TEXT = 1,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10,
    WS_FAULT = 16, /* the peer broke a rule */
};

/* The answer to a key, not terminated. -1: it is not the base64 of 16 bytes, in 24 characters. */
int ws_accept(struct fumi_str key, char out[WS_ACCEPT]);
void ws_key(char out[WS_KEY]); /* a client's random key, not terminated */

struct ws_part;

/* One direction of a connection. Begins as {.server = ...}. Costs no memory beside itself while
 * nothing is under way; what it gathers grows with what has arrived, never past the limit. */
struct ws_reader {
    size_t limit;         /* bytes a message may have; 0: WS_LIMIT */
    bool server;          /* the peer is a client, so it must mask; else it must not */
    bool closed;          /* after WS_CLOSE and WS_FAULT: all that follows is ignored */
    struct ws_part *part; /* what is incomplete; NULL: nothing is */
};

/* `payload` lives until the next call with this reader, and where it lies in the caller's bytes as
 * long as those. */
struct ws_event {
    int code;                /* WS_CLOSE: the peer's, WS_NO_CODE if none; WS_FAULT: to close with */
    struct fumi_str payload; /* message, ping, pong; the reason of a close or fault, as UTF-8 */
};

/* Reads from *p on, which it moves behind what it used, until something is complete. Call it again
 * until it gives WS_MORE, even when no bytes are left: then memory of the last event is freed. The
 * bytes may be changed: payloads are unmasked where they lie. A message that lies there whole, in
 * one frame, is not copied. */
enum ws_kind ws_read(struct ws_reader *r, char **p, char *end, struct ws_event *out);

/* Right after WS_TEXT or WS_BINARY: true: the message's memory is handed over to the empty buffer
 * `to`; false: the message lies in the caller's bytes. */
bool ws_take(struct ws_reader *r, struct fumi_buf *to);

/* Between messages: no time limit of a message runs. */
static inline bool ws_idle(const struct ws_reader *r)
{
    return !r->part;
}

void ws_done(struct ws_reader *r);

/* The head of an unmasked frame, for whoever puts the payload behind it himself; returns its size,
 * 2 to 10. */
size_t ws_head(char out[WS_HEAD], enum ws_kind kind, size_t n);

/* Adds a whole frame or, past the buffer's limit, nothing. A server's frame goes unmasked, a
 * client's masked with four random bytes that are new for each. */
void ws_write(struct fumi_buf *b, enum ws_kind kind, struct fumi_str payload);
void ws_write_masked(struct fumi_buf *b, enum ws_kind kind, struct fumi_str payload,
                     const char mask[4]);

/* The payload of a close frame, in `out`: the reason (valid UTF-8) is cut to what fits. WS_NO_CODE
 * makes an empty one, so the code of a WS_CLOSE may be sent back as it is. */
struct fumi_str ws_closing(char out[WS_CONTROL], int code, struct fumi_str reason);
void ws_write_close(struct fumi_buf *b, int code, struct fumi_str reason);

#endif
