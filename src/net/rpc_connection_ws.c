/* WebSocket transport: handshake, frames and closing. */
#include "net/http1_response.h"
#include "net/rpc_connection_parts.h"
#include "net/ws.h"

#include "base/clock.h"
#include "base/uuid.h"

enum { CLOSE_TIMEOUT = 500 }; /* ms for the peer to answer our close frame */

struct rpc_connection_ws_state {
    struct ws_reader reader;
    struct http_response reply; /* response to the handshake */
    char key[WS_KEY];
    bool open;    /* handshake complete */
    bool closing; /* we have sent a close frame */
};

static void put_frame(struct fumi_rpc_connection *c, enum ws_kind kind, struct fumi_str payload)
{
    char mask[4];
    fumi_random(mask, sizeof(mask));
    ws_write_masked(&c->out, kind, payload, mask);
}

static void queue_text(struct fumi_rpc_connection *c, uint64_t number, struct fumi_str message)
{
    (void)number;
    put_frame(c, WS_TEXT, message);
}

static void answer_text(struct fumi_rpc_connection *c, struct fumi_str answer)
{
    if (!rpc_connection_is_congested(c))
        put_frame(c, WS_TEXT, answer);
}

static void put_close(struct fumi_rpc_connection *c, int code, struct fumi_str reason)
{
    char payload[WS_CONTROL];
    put_frame(c, WS_CLOSE, ws_close_payload(payload, code, reason));
}

/* Sends the request; parse_frames reads the response and sets `open`. */
static int handshake(struct fumi_rpc_connection *c, int64_t until, struct fumi_err *e)
{
    char key[WS_KEY + 1] = {0};
    if (!c->ws) {
        c->ws = fumi_resize(NULL, sizeof(*c->ws));
        c->ws->reader = (struct ws_reader){0};
    }
    ws_done(&c->ws->reader);
    c->ws->reader = (struct ws_reader){.limit = c->options.limit};
    c->ws->open = c->ws->closing = false;
    ws_key(c->ws->key);
    memcpy(key, c->ws->key, WS_KEY);
    rpc_connection_put_request(c, &c->out, "GET");
    rpc_connection_put_field(&c->out, "Upgrade", "", "websocket");
    rpc_connection_put_field(&c->out, "Connection", "", "Upgrade");
    rpc_connection_put_field(&c->out, "Sec-WebSocket-Version", "", "13");
    rpc_connection_put_field(&c->out, "Sec-WebSocket-Key", "", key);
    rpc_connection_put_field(&c->out, "Sec-WebSocket-Protocol", "", c->options.protocol);
    fumi_buf_add(&c->out, "\r\n", 2);
    while (c->fd >= 0 && !c->ws->open && rpc_connection_step(c, until)) {}
    if (c->fd < 0)
        *e = c->lost_reason;
    else if (!c->ws->open)
        fumi_err_set(e, FUMI_LIMIT, "%s does not answer the handshake: is it a WebSocket server?",
                     c->endpoint.url);
    return c->ws->open && c->fd >= 0 ? 0 : -1;
}

/* Returns what is wrong with the handshake response, or NULL. */
static const char *reply_fault(const struct fumi_rpc_connection *c)
{
    const struct http_response *h = &c->ws->reply;
    char accept[WS_ACCEPT];
    struct fumi_str protocol = http_response_field(h, "sec-websocket-protocol");
    ws_accept((struct fumi_str){c->ws->key, WS_KEY}, accept);
    if (!http_same(h->upgrade, FUMI_STR("websocket")))
        return "it upgrades to another protocol";
    if (http_response_count(h, "sec-websocket-accept") != 1 ||
        !fumi_eq(http_response_field(h, "sec-websocket-accept"),
                 (struct fumi_str){accept, WS_ACCEPT}))
        return "Sec-WebSocket-Accept is wrong";
    if (http_response_field(h, "sec-websocket-extensions").n)
        return "it uses an extension that was not offered";
    if (protocol.p && !(c->options.protocol && fumi_eq(protocol, fumi_str(c->options.protocol))))
        return "it chose a protocol that was not offered";
    return NULL;
}

static int read_handshake(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    struct http_limits limits = HTTP_LIMITS;
    struct http_fault f;
    struct http_response *h = &c->ws->reply;
    ssize_t n = http_read_response(h, fumi_buf_str(&c->in), &limits, &f);
    if (n == 0)
        return 0;
    if (n < 0)
        return fumi_err_set(e, FUMI_INVALID_REQUEST, "%s does not answer with HTTP: %s",
                            c->endpoint.url, f.reason);
    if (h->status != 101)
        return rpc_connection_http_refused(c, h->status, (struct fumi_str){0}, e);
    const char *fault = reply_fault(c);
    if (fault)
        return fumi_err_set(e, FUMI_INVALID_REQUEST, "the handshake of %s is wrong: %s",
                            c->endpoint.url, fault);
    rpc_connection_consume(c, (size_t)n);
    c->ws->open = true;
    return 0;
}

/* Sends a close frame with the reason, if the socket accepts it without waiting. */
static int protocol_error(struct fumi_rpc_connection *c, int code, struct fumi_str reason,
                          struct fumi_err *e)
{
    put_close(c, code, reason);
    rpc_connection_write(c);
    return fumi_err_set(e, code == WS_TOO_LONG ? FUMI_LIMIT : FUMI_INTERNAL_ERROR,
                        "%s violated the protocol (%d): %.*s", c->endpoint.url, code,
                        FUMI_ARG(reason));
}

static int peer_closed(struct fumi_rpc_connection *c, const struct ws_event *event,
                       struct fumi_err *e)
{
    if (!c->ws->closing)
        put_close(c, event->code, (struct fumi_str){0});
    rpc_connection_write(c);
    return fumi_err_set(
        e, FUMI_INTERNAL_ERROR,
        "%s has closed the connection (%d%s%.*s); calls that were open may have run",
        c->endpoint.url, event->code, event->payload.n ? ": " : "", FUMI_ARG(event->payload));
}

static int take_event(struct fumi_rpc_connection *c, enum ws_kind kind,
                      const struct ws_event *event, struct fumi_err *e)
{
    struct fumi_err why;
    switch (kind) {
    case WS_TEXT:
        if (rpc_connection_receive(c, event->payload, 0, &why))
            c->rejected = why;
        return 0;
    case WS_BINARY:
        return protocol_error(c, WS_UNSUPPORTED, FUMI_STR("messages must be text"), e);
    case WS_CLOSE:
        return peer_closed(c, event, e);
    case WS_PING:
        if (!rpc_connection_is_congested(c))
            put_frame(c, WS_PONG, event->payload);
        return 0;
    case WS_PONG:
    case WS_MORE:
        return 0;
    case WS_FAULT:
        return protocol_error(c, event->code, event->payload, e);
    }
    return 0;
}

static int parse_frames(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    struct ws_event event;
    enum ws_kind kind;
    if (!c->ws->open && read_handshake(c, e))
        return -1;
    if (!c->ws->open || !c->in.n)
        return 0;
    char *p = c->in.p, *end = c->in.p + c->in.n;
    while ((kind = ws_read(&c->ws->reader, &p, end, &event)) != WS_MORE)
        if (take_event(c, kind, &event, e))
            return -1;
    rpc_connection_consume(c, c->in.n);
    return 0;
}

static void ws_eof(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    if (c->ws->open)
        rpc_connection_stream_eof(c, e);
    else
        fumi_err_set(e, FUMI_INTERNAL_ERROR,
                     "%s closed the connection during the handshake: is it a WebSocket server?",
                     c->endpoint.url);
}

static void shutdown_ws(struct fumi_rpc_connection *c)
{
    int64_t until = rpc_connection_deadline(CLOSE_TIMEOUT);
    if (!c->ws || !c->ws->open)
        return;
    c->ws->closing = true;
    put_close(c, WS_NORMAL, (struct fumi_str){0});
    while (c->fd >= 0 && rpc_connection_step(c, until) && fumi_ticks() < until) {}
}

void rpc_connection_ws_done(struct fumi_rpc_connection *c)
{
    if (!c->ws)
        return;
    ws_done(&c->ws->reader);
    fumi_resize(c->ws, 0);
}

const struct rpc_connection_transport rpc_connection_ws = {
    .target = "/ws",
    .handshake = handshake,
    .queue = queue_text,
    .answer = answer_text,
    .parse = parse_frames,
    .eof = ws_eof,
    .disconnected = rpc_connection_fail_all,
    .shutdown = shutdown_ws,
};
