/* WebSocket (RFC 6455) on a connection: each text message contains one message or batch, or its
 * answer. */
#include "net/http_parts.h"

static void put_frame(struct conn *c, enum ws_kind kind, struct fumi_str payload)
{
    struct fumi_buf *out = conn_out(c);
    ws_write(out, kind, payload);
}

/* Sends a close frame, which is our last frame, and ends the connection. */
static void close_with(struct conn *c, int code, struct fumi_str reason)
{
    struct websocket *w = &c->as.websocket;
    if (!w->closing)
        ws_write_close(conn_out(c), code, reason);
    w->closing = true;
    conn_end(c);
}

static void on_event(struct conn *c, enum ws_kind kind, const struct ws_event *event)
{
    switch (kind) {
    case WS_TEXT:
        conn_handle(c, event->payload, true);
        break;
    case WS_BINARY:
        close_with(c, WS_UNSUPPORTED, FUMI_STR("send JSON as text, not as binary"));
        break;
    case WS_PING:
        put_frame(c, WS_PONG, event->payload);
        break;
    case WS_PONG:
    case WS_MORE:
        break;
    case WS_CLOSE:
        fumi_peer_close(&c->peer);
        close_with(c, event->code, (struct fumi_str){0});
        break;
    case WS_FAULT:
        fumi_peer_close(&c->peer);
        close_with(c, event->code, event->payload);
        break;
    }
}

static size_t take(struct conn *c, char *p, size_t n, bool over)
{
    struct websocket *w = &c->as.websocket;
    struct ws_event event;
    char *at = p;
    enum ws_kind kind = WS_MORE;
    if (n) {
        w->ping_pending = false;
        conn_renew_wait(c);
    }
    while (conn_accepts_input(c) && !conn_held(c)) {
        kind = ws_read(&w->reader, &at, p + n, &event);
        if (kind == WS_MORE)
            break;
        on_event(c, kind, &event);
    }
    if (over && !conn_closed(c) && !w->closing && !c->held)
        conn_close(c);
    return (size_t)(at - p);
}

static void answer(struct conn *c, struct fumi_buf *text, int code)
{
    struct websocket *w = &c->as.websocket;
    (void)code;
    if (text->n && !w->closing)
        put_frame(c, WS_TEXT, fumi_buf_str(text));
}

static void notify(struct conn *c, struct fumi_buf *text)
{
    if (!c->as.websocket.closing)
        put_frame(c, WS_TEXT, fumi_buf_str(text));
}

static enum wait waits(struct conn *c)
{
    return c->as.websocket.ping_pending ? WAIT_PONG : WAIT_PING;
}

/* The first timeout sends a ping. If nothing arrives before the second, the connection ends. */
static void timed_out(struct conn *c, enum wait kind)
{
    (void)kind;
    if (c->as.websocket.ping_pending) {
        close_with(c, WS_GOING_AWAY, FUMI_STR("no answer to a ping"));
        return;
    }
    c->as.websocket.ping_pending = true;
    put_frame(c, WS_PING, FUMI_STR(""));
}

static void drain(struct conn *c)
{
    if (!c->open)
        close_with(c, WS_GOING_AWAY, FUMI_STR("the server is shutting down"));
}

static void done(struct conn *c)
{
    ws_done(&c->as.websocket.reader);
}

const struct proto websocket_proto = {
    "websocket",    true,           .take = take,           .answer = answer, .notify = notify,
    .drain = drain, .waits = waits, .timed_out = timed_out, .done = done};

static int refuse(struct fumi_refusal *out, int status, const char *reason)
{
    *out = (struct fumi_refusal){.status = status, .reason = reason};
    return -1;
}

/* Selects the first subprotocol that the client offers: the messages do not depend on it. One that
 * carries the token is never selected, because the response would repeat it. */
static struct fumi_str first_of(struct fumi_str list)
{
    size_t n = 0;
    while (n < list.n && list.p[n] != ',' && list.p[n] != ' ' && list.p[n] != '\t')
        n++;
    bool secret = fumi_starts((struct fumi_str){list.p, n}, FUMI_STR(ACCESS_SUBPROTOCOL));
    return (struct fumi_str){list.p, secret ? 0 : n};
}

static int check(const struct http_head *h, char accept[WS_ACCEPT], struct fumi_refusal *out)
{
    struct fumi_str version = http_field(h, "sec-websocket-version");
    if (!fumi_eq(h->method, FUMI_STR("GET")) || h->minor < 1 || http_has_body(h))
        return refuse(out, 400, "an upgrade must be an HTTP/1.1 GET request without a body");
    if (http_count(h, "sec-websocket-version") != 1 || !fumi_eq(version, FUMI_STR("13"))) {
        refuse(out, 426, "Sec-WebSocket-Version must be 13");
        out->field[0] = "Sec-WebSocket-Version";
        out->field[1] = "13";
        return -1;
    }
    if (http_count(h, "sec-websocket-key") != 1 ||
        ws_accept(http_field(h, "sec-websocket-key"), accept))
        return refuse(out, 400, "Sec-WebSocket-Key must be 16 bytes in base64");
    return 0;
}

int websocket_begin(struct conn *c, const struct http_head *h, struct fumi_str lines,
                    struct fumi_refusal *out)
{
    char accept[WS_ACCEPT];
    if (check(h, accept, out))
        return -1;
    struct fumi_str protocol = first_of(http_field(h, "sec-websocket-protocol"));
    struct http_field fields[] = {
        {FUMI_STR("Upgrade"), FUMI_STR("websocket")},
        {FUMI_STR("Sec-WebSocket-Accept"), {accept, sizeof(accept)}},
        {FUMI_STR("Sec-WebSocket-Protocol"), protocol},
    };
    struct http_response_head a = {.status = 101, .minor = 1, .keep_alive = true, .fields = fields};
    a.n = FUMI_COUNT(fields) - (protocol.n ? 0 : 1);
    a.lines = lines;
    http_put_response_head(conn_out(c), &a);
    conn_set_proto(c, &websocket_proto);
    c->as.websocket.reader = (struct ws_reader){.limit = c->limit, .server = true};
    return 0;
}
