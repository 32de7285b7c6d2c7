/* A WebSocket client on a raw connection. */
#ifndef PEERS_FRAMES_H
#define PEERS_FRAMES_H

#include "wire.h"

/* The key and its accept value are those of RFC 6455, 1.3. */
#define WIRE_KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static inline struct reply wire_upgrade(struct wire *w, const struct live *s, const char *more)
{
    char head[512];
    int n = snprintf(head, sizeof(head),
                     "GET /ws HTTP/1.1\r\nHost: localhost:%u\r\nUpgrade: websocket\r\n"
                     "Connection: Upgrade\r\n" WIRE_KEY "Sec-WebSocket-Version: 13\r\n%s\r\n",
                     s->port, more);
    wire_put(w, (struct fumi_str){head, (size_t)n});
    struct reply r = wire_reply(w, false);
    if (r.status == 101 &&
        !fumi_eq(reply_field(&r, "Sec-WebSocket-Accept"), FUMI_STR("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")))
        r.status = 0;
    return r;
}

enum { FIN = 0x80, CONTINUED = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };

/* A masked frame, as clients send them, with any first byte. */
static inline void frame_put(struct fumi_buf *to, int first, struct fumi_str payload)
{
    static const char mask[4] = {0x12, 0x34, 0x56, 0x78};
    fumi_buf_put(to, (char)first);
    int more = payload.n < 126 ? 0 : payload.n < 65536 ? 2 : 8;
    fumi_buf_put(to, (char)(0x80 | (more ? more == 2 ? 126 : 127 : (int)payload.n)));
    for (int i = more - 1; i >= 0; i--)
        fumi_buf_put(to, (char)(payload.n >> 8 * i));
    fumi_buf_add(to, mask, sizeof(mask));
    for (size_t i = 0; i < payload.n; i++)
        fumi_buf_put(to, (char)(payload.p[i] ^ mask[i % 4]));
}

static inline bool wire_frame(struct wire *w, int first, struct fumi_str payload)
{
    struct fumi_buf frame = {0};
    frame_put(&frame, first, payload);
    bool sent = wire_put(w, fumi_buf_str(&frame));
    fumi_buf_done(&frame);
    return sent;
}

struct frame {
    int first; /* -1: no frame; a server does not fragment, so FIN is always set */
    struct fumi_str payload;
    int code; /* of a close frame; 1005: it has none */
};

/* Reads one frame of the server, which must not be masked. */
static inline struct frame wire_read_frame(struct wire *w)
{
    struct frame f = {.first = -1};
    if (!wire_need(w, 2))
        return f;
    const unsigned char *p = (const unsigned char *)wire_unread(w).p;
    size_t more = p[1] == 126 ? 2 : p[1] == 127 ? 8 : 0, n = more ? 0 : p[1];
    if (p[1] > 127 || !wire_need(w, 2 + more))
        return f;
    p = (const unsigned char *)wire_unread(w).p;
    for (size_t i = 0; i < more; i++)
        n = n << 8 | p[2 + i];
    if (!wire_need(w, 2 + more + n))
        return f;
    f.payload = (struct fumi_str){wire_unread(w).p + 2 + more, n};
    f.first = (unsigned char)wire_unread(w).p[0];
    f.code = n < 2 ? 1005 : (unsigned char)f.payload.p[0] << 8 | (unsigned char)f.payload.p[1];
    w->at += 2 + more + n;
    return f;
}

#endif
