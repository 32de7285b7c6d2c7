/* WebSocket (RFC 6455) on byte buffers: the handshake key, reading and writing frames. Uses no
 * socket and no clock. Extensions are not supported. No function here is tied to a thread; a reader
 * may be used by one thread at a time. */
#ifndef FUMI_NET_WS_H
#define FUMI_NET_WS_H

#include "base/buf.h"

enum {
    WS_KEY = 24,        /* bytes of Sec-WebSocket-Key */
    WS_ACCEPT = 28,     /* bytes of Sec-WebSocket-Accept */
    WS_CONTROL = 125,   /* largest payload of a control frame */
    WS_HEADER_MAX = 14, /* largest frame header */
    WS_LIMIT = 1 << 20, /* default of ws_reader.limit */
};

enum ws_code {
    WS_NORMAL = 1000,
    WS_GOING_AWAY = 1001,
    WS_PROTOCOL_ERROR = 1002,
    WS_UNSUPPORTED = 1003,
    WS_NO_CODE = 1005, /* the close frame has no code; never sent */
    WS_BAD_TEXT = 1007,
    WS_POLICY = 1008,
    WS_TOO_LONG = 1009,
    WS_INTERNAL_ERROR = 1011,
};

/* Kinds of events and of frames. The value of a frame is its opcode. */
enum ws_kind {
    WS_MORE = 0, /* all bytes are consumed; nothing is complete */
    WS_TEXT = 1,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10,
    WS_FAULT = 16, /* the peer violated the protocol */
};

/* Computes Sec-WebSocket-Accept, not terminated. Returns -1 if the key is not 24 characters of
 * base64 for 16 bytes. */
int ws_accept(struct fumi_str key, char out[WS_ACCEPT]);
void ws_key(char out[WS_KEY]); /* generates a random client key, not terminated */

struct ws_partial;

/* The receiving side of a connection. Initialize with {.server = ...}; release with ws_done.
 * Allocates memory only while a frame or message is incomplete; the memory grows with the bytes
 * received and stays below the limit. */
struct ws_reader {
    size_t limit; /* largest message in bytes; 0: WS_LIMIT */
    bool server;  /* we are the server: the peer must mask its frames, otherwise it must not */
    bool closed;  /* set after WS_CLOSE and WS_FAULT: everything that follows is ignored */
    struct ws_partial *partial; /* incomplete frame or message; NULL: none */
};

/* `payload` is valid until the next call with this reader, and no longer than the caller's bytes.
 */
struct ws_event {
    int code; /* WS_CLOSE: code of the peer or WS_NO_CODE; WS_FAULT: code to close with */
    struct fumi_str payload; /* of the message or control frame; or the reason, valid UTF-8 */
};

/* Reads from *p up to `end` until an event is complete, and advances *p past the bytes consumed.
 * Call it until it returns WS_MORE, even when no bytes are left: that frees the memory of the last
 * event. The bytes may be modified: payloads are unmasked in place. A message that is
 * complete in one frame and in the bytes passed is not copied. */
enum ws_kind ws_read(struct ws_reader *r, char **p, char *end, struct ws_event *out);

void ws_done(struct ws_reader *r);

/* Appends a frame; nothing if it does not fit the limit of the buffer. Servers write unmasked
 * frames, clients masked ones with four new random bytes per frame. */
void ws_write(struct fumi_buf *b, enum ws_kind kind, struct fumi_str payload);
void ws_write_masked(struct fumi_buf *b, enum ws_kind kind, struct fumi_str payload,
                     const char mask[4]);

/* Writes the payload of a close frame to `out`; the reason (valid UTF-8) is truncated to fit. The
 * payload for WS_NO_CODE is empty, so the code of a received WS_CLOSE can be sent back as it is. */
struct fumi_str ws_close_payload(char out[WS_CONTROL], int code, struct fumi_str reason);
void ws_write_close(struct fumi_buf *b, int code, struct fumi_str reason);

#endif
