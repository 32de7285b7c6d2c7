/* Messages as frames of a WebSocket: the handshake, frames, and the closing of the connection. */
#include "net/http1_reply.h"
#include "net/rpc_connection_parts.h"
#include "net/ws.h"

#include "base/clock.h"
#include "base/uuid.h"

enum { FAREWELL = 500 }; /* milliseconds for the peer to answer our close */

struct rpc_connection_ws_state {
    struct ws_reader reader;
    struct http_reply reply; /* to the handshake */
    char key[WS_KEY];
    bool open;  /* the handshake is done */
    bool parts; /* we have said that we close */
};

static void put_frame(struct fumi_rpc_connection *l, enum ws_kind kind, struct fumi_str payload)
{
    char mask[4];
    fumi_random(mask, sizeof(mask));
    ws_write_masked(&l->out, kind, payload, mask);
}

static void put_text(struct fumi_rpc_connection *l, uint64_t number, struct fumi_str message)
{
    (void)number;
    put_frame(l, WS_TEXT, message);
}

static void answer_text(struct fumi_rpc_connection *l, struct fumi_str answer)
{
    if (!rpc_connection_is_crowded(l))
        put_frame(l, WS_TEXT, answer);
}

static void put_close(struct fumi_rpc_connection *l, int code, struct fumi_str reason)
{
    char payload[WS_CONTROL];
    put_frame(l, WS_CLOSE, ws_closing(payload, code, reason));
}

/* The handshake runs as turns do; rpc_connection_ws_state.open tells when it is done. */
static int greet(struct fumi_rpc_connection *l, int64_t until, struct fumi_err *e)
{
    char key[WS_KEY + 1] = {0};
    if (!l->ws) {
        l->ws = fumi_resize(NULL, sizeof(*l->ws));
        l->ws->reader = (struct ws_reader){0};
    }
    ws_done(&l->ws->reader);
    l->ws->reader = (struct ws_reader){.limit = l->o.limit};
    l->ws->open = l->ws->parts = false;
    ws_key(l->ws->key);
    memcpy(key, l->ws->key, WS_KEY);
    rpc_connection_put_request(l, &l->out, "GET");
    rpc_connection_put_field(&l->out, "Upgrade", "", "websocket");
    rpc_connection_put_field(&l->out, "Connection", "", "Upgrade");
    rpc_connection_put_field(&l->out, "Sec-WebSocket-Version", "", "13");
    rpc_connection_put_field(&l->out, "Sec-WebSocket-Key", "", key);
    rpc_connection_put_field(&l->out, "Sec-WebSocket-Protocol", "", l->o.protocol);
    fumi_buf_add(&l->out, "\r\n", 2);
    while (l->fd >= 0 && !l->ws->open && rpc_connection_turn(l, until)) {}
    if (l->fd < 0)
        *e = l->lost;
    else if (!l->ws->open)
        fumi_err_set(e, FUMI_LIMIT, "%s does not answer the handshake: is it a WebSocket server?",
                     l->at.url);
    return l->ws->open && l->fd >= 0 ? 0 : -1;
}

/* What is wrong with the answer to the handshake; NULL: nothing. */
static const char *reply_fault(const struct fumi_rpc_connection *l)
{
    const struct http_reply *h = &l->ws->reply;
    char accept[WS_ACCEPT];
    struct fumi_str protocol = http_reply_field(h, "sec-websocket-protocol");
    ws_accept((struct fumi_str){l->ws->key, WS_KEY}, accept);
    if (!http_same(h->upgrade, FUMI_STR("websocket")))
        return "it upgrades to something else";
    if (http_reply_count(h, "sec-websocket-accept") != 1 ||
        !fumi_eq(http_reply_field(h, "sec-websocket-accept"), (struct fumi_str){accept, WS_ACCEPT}))
        return "Sec-WebSocket-Accept is wrong";
    if (http_reply_field(h, "sec-websocket-extensions").n)
        return "it uses an extension that was not offered";
    if (protocol.p && !(l->o.protocol && fumi_eq(protocol, fumi_str(l->o.protocol))))
        return "it chose a protocol that was not offered";
    return NULL;
}

static int shake(struct fumi_rpc_connection *l, struct fumi_err *e)
{
    struct http_limits limits = HTTP_LIMITS;
    struct http_fault f;
    struct http_reply *h = &l->ws->reply;
    ssize_t n = http_read_reply(h, fumi_buf_str(&l->in), &limits, &f);
    if (n == 0)
        return 0;
    if (n < 0)
        return fumi_err_set(e, FUMI_INVALID_REQUEST, "%s does not answer with HTTP: %s", l->at.url,
                            f.reason);
    if (h->status != 101)
        return rpc_connection_refused(l, h->status, (struct fumi_str){0}, e);
    const char *fault = reply_fault(l);
    if (fault)
        return fumi_err_set(e, FUMI_INVALID_REQUEST, "the handshake of %s is wrong: %s", l->at.url,
                            fault);
    rpc_connection_eat(l, (size_t)n);
    l->ws->open = true;
    return 0;
}

/* The peer is told why, if it still takes it at once. */
static int leave(struct fumi_rpc_connection *l, int code, struct fumi_str reason,
                 struct fumi_err *e)
{
    put_close(l, code, reason);
    rpc_connection_write(l);
    return fumi_err_set(e, code == WS_TOO_LONG ? FUMI_LIMIT : FUMI_INTERNAL_ERROR,
                        "what %s sent broke the protocol (%d): %.*s", l->at.url, code,
                        FUMI_ARG(reason));
}

static int closed(struct fumi_rpc_connection *l, const struct ws_event *event, struct fumi_err *e)
{
    if (!l->ws->parts)
        put_close(l, event->code, (struct fumi_str){0});
    rpc_connection_write(l);
    return fumi_err_set(
        e, FUMI_INTERNAL_ERROR,
        "%s has closed the connection (%d%s%.*s); calls that were open may have run", l->at.url,
        event->code, event->payload.n ? ": " : "", FUMI_ARG(event->payload));
}

static int take_event(struct fumi_rpc_connection *l, enum ws_kind kind,
                      const struct ws_event *event, struct fumi_err *e)
{
    struct fumi_err odd;
    switch (kind) {
    case WS_TEXT:
        if (rpc_connection_take(l, event->payload, 0, &odd))
            l->odd = odd;
        return 0;
    case WS_BINARY:
        return leave(l, WS_UNSUPPORTED, FUMI_STR("messages must be text"), e);
    case WS_CLOSE:
        return closed(l, event, e);
    case WS_PING:
        if (!rpc_connection_is_crowded(l))
            put_frame(l, WS_PONG, event->payload);
        return 0;
    case WS_PONG:
    case WS_MORE:
        return 0;
    case WS_FAULT:
        return leave(l, event->code, event->payload, e);
    }
    return 0;
}

static int feed_frames(struct fumi_rpc_connection *l, struct fumi_err *e)
{
    struct ws_event event;
    enum ws_kind kind;
    if (!l->ws->open && shake(l, e))
        return -1;
    if (!l->ws->open || !l->in.n)
        return 0;
    char *p = l->in.p, *end = l->in.p + l->in.n;
    while ((kind = ws_read(&l->ws->reader, &p, end, &event)) != WS_MORE)
        if (take_event(l, kind, &event, e))
            return -1;
    rpc_connection_eat(l, l->in.n);
    return 0;
}

static void ws_end(struct fumi_rpc_connection *l, struct fumi_err *e)
{
    if (l->ws->open)
        rpc_connection_stream_end(l, e);
    else
        fumi_err_set(e, FUMI_INTERNAL_ERROR,
                     "%s closed the connection during the handshake: is it a WebSocket server?",
                     l->at.url);
}

static void part(struct fumi_rpc_connection *l)
{
    int64_t until = rpc_connection_until(FAREWELL);
    if (!l->ws || !l->ws->open)
        return;
    l->ws->parts = true;
    put_close(l, WS_NORMAL, (struct fumi_str){0});
    while (l->fd >= 0 && rpc_connection_turn(l, until) && fumi_ticks() < until) {}
}

void rpc_connection_ws_done(struct fumi_rpc_connection *l)
{
    if (!l->ws)
        return;
    ws_done(&l->ws->reader);
    fumi_resize(l->ws, 0);
}

const struct rpc_connection_way rpc_connection_ws = {
    .target = "/ws",
    .greet = greet,
    .put = put_text,
    .answer = answer_text,
    .feed = feed_frames,
    .end = ws_end,
    .dropped = rpc_connection_fail_all,
    .part = part,
};
