/* HTTP/1.1 on a connection: requests are read, admitted or refused, and answered one after the
 * other. The body of a refused request is still read if it is short, so that the connection can be
 * reused. */
#include "net/http_parts.h"

enum { SKIPPED = 64 << 10 }; /* longest body in bytes that is read after a refusal */

/* Whether the parameters of a type in Accept exclude it: "q=0", "q=0.00". */
static bool has_zero_weight(struct fumi_str rest)
{
    const char *at = memmem(rest.p, rest.n, "q=0", 3), *end = rest.p + rest.n;
    if (!at)
        return false;
    for (at += 3; at < end && (*at == '.' || *at == '0'); at++) {}
    return at == end || memchr("; \t", *at, 3);
}

/* Whether an item of Accept names the type, with a weight other than 0. */
static bool names(struct fumi_str item, struct fumi_str type)
{
    if (item.n < type.n || !http_same((struct fumi_str){item.p, type.n}, type))
        return false;
    struct fumi_str rest = {item.p + type.n, item.n - type.n};
    return (!rest.n || memchr("; \t", rest.p[0], 3)) && !has_zero_weight(rest);
}

static bool list_names(struct fumi_str list, struct fumi_str type)
{
    while (list.n) {
        const char *comma = memchr(list.p, ',', list.n);
        size_t n = comma ? (size_t)(comma - list.p) : list.n;
        if (names((struct fumi_str){list.p, n}, type))
            return true;
        n += n < list.n;
        while (n < list.n && (list.p[n] == ' ' || list.p[n] == '\t'))
            n++;
        list = (struct fumi_str){list.p + n, list.n - n};
    }
    return false;
}

static bool accepts(const struct http_field *fields, size_t n, struct fumi_str type)
{
    for (size_t i = 0; i < n; i++)
        if (http_same(fields[i].name, FUMI_STR("accept")) && list_names(fields[i].value, type))
            return true;
    return false;
}

/* Wildcards do not request an event stream. */
static bool wants_events(const struct http_head *h)
{
    return accepts(h->fields, h->n, FUMI_STR("text/event-stream"));
}

static bool accepts_any(const struct fumi_http_request *r, const char *type, const char *range)
{
    return !fumi_http_field(r, "accept").n || accepts(r->fields, r->fields_n, fumi_str(type)) ||
           accepts(r->fields, r->fields_n, fumi_str(range)) ||
           accepts(r->fields, r->fields_n, FUMI_STR("*/*"));
}

bool fumi_accepts_events(const struct fumi_http_request *r)
{
    return accepts_any(r, "text/event-stream", "text/*");
}

bool fumi_accepts_json(const struct fumi_http_request *r)
{
    return accepts_any(r, "application/json", "application/*");
}

static void run(struct conn *c, struct fumi_str body)
{
    struct http *t = &c->as.http;
    if (!t->why.status) {
        t->phase = RUNS;
        t->run(c, body);
        return;
    }
    t->phase = t->pause ? PAUSES : RUNS;
    if (!t->pause)
        http_refuse(c, &t->why);
}

static void begin(struct conn *c, const struct http_head *h)
{
    struct http *t = &c->as.http;
    t->minor = (unsigned char)h->minor;
    t->keep_alive = h->keep_alive && c->state != CONN_SURPLUS;
    t->only_head = fumi_eq(h->method, FUMI_STR("HEAD"));
    t->wants_events = wants_events(h);
    t->browser = http_count(h, "origin") > 0;
    t->length = h->framing == HTTP_LENGTH ? h->length : 0;
}

/* A refusal is sent after the body was read. If the body is not read, the refusal is sent at once
 * and the connection ends. */
static void refuse_early(struct conn *c, bool reads_body)
{
    struct http *t = &c->as.http;
    if (reads_body)
        return;
    t->keep_alive = false;
    run(c, (struct fumi_str){0});
}

/* `available`: bytes that were received after the head. */
static void on_head(struct conn *c, const struct http_head *h, size_t available)
{
    struct http *t = &c->as.http;
    begin(c, h);
    http_admit(c, h);
    if (c->proto != &http_proto)
        return;
    if (t->why.status && http_has_token(h->upgrade, "websocket"))
        t->keep_alive = false; /* the client may send frames without waiting for the answer */
    if (!http_has_body(h)) {
        run(c, FUMI_STR(""));
        return;
    }
    t->phase = h->framing == HTTP_CHUNKED ? READS_CHUNKS : READS_BODY;
    t->began = io_thread_now(c->io);
    t->body.limit = c->io->shared->http.body;
    c->want = t->length;
    if (!t->why.status)
        http_reserve(c, available);
    if (t->why.status)
        refuse_early(c, h->framing != HTTP_CHUNKED && t->length <= SKIPPED && !h->expects_continue);
    else if (h->expects_continue && !t->more)
        http_continue(conn_out(c));
}

static __attribute__((cold)) void fault(struct conn *c, const struct http_fault *f)
{
    struct http *t = &c->as.http;
    t->keep_alive = false;
    t->minor = 1;
    if (!t->method.p)
        t->method = FUMI_STR("other");
    t->why = (struct fumi_refusal){.status = f->status, .reason = f->reason};
    http_refuse(c, &t->why);
}

/* The take_ functions consume one part of a request. They return the number of bytes consumed; 0 if
 * more bytes are needed. */
static size_t take_head(struct conn *c, struct fumi_str bytes)
{
    struct http_fault f;
    struct http_head *h = c->io->head;
    ssize_t n = http_read_head(h, bytes, &c->as.http.seen, &c->io->shared->http, &f);
    if (n < 0) {
        fault(c, &f);
        return bytes.n;
    }
    if (n == 0)
        return 0;
    c->as.http.more = (size_t)n < bytes.n;
    on_head(c, h, bytes.n - (size_t)n);
    return (size_t)n;
}

static size_t take_body(struct conn *c, struct fumi_str bytes)
{
    size_t n = c->as.http.length;
    if (bytes.n < n)
        return 0;
    c->as.http.more = bytes.n > n;
    run(c, (struct fumi_str){bytes.p, n});
    return n;
}

static size_t take_chunks(struct conn *c, struct fumi_str bytes)
{
    struct http *t = &c->as.http;
    struct http_fault f = {0};
    ssize_t n = http_read_chunks(&t->chunks, bytes, &t->body, &c->io->shared->http, &f);
    if (n < 0) {
        fault(c, &f);
        return bytes.n;
    }
    if (!t->chunks.done)
        return bytes.n;
    t->more = (size_t)n < bytes.n;
    struct fumi_buf body = {0};
    fumi_buf_move(&body, &t->body);
    run(c, fumi_buf_str(&body));
    fumi_buf_done(&body);
    return (size_t)n;
}

static size_t take_part(struct conn *c, struct fumi_str bytes)
{
    switch (c->as.http.phase) {
    case READS_HEAD:
        return take_head(c, bytes);
    case READS_BODY:
        return take_body(c, bytes);
    case READS_CHUNKS:
        return take_chunks(c, bytes);
    case RUNS:
    case STREAMS:
    case PAUSES:
        break;
    }
    return 0;
}

static size_t take(struct conn *c, char *p, size_t n, bool over)
{
    size_t used = 0, took;
    while (used < n && c->proto == &http_proto && conn_accepts_input(c) && !conn_held(c)) {
        took = take_part(c, (struct fumi_str){p + used, n - used});
        if (!took)
            break;
        used += took;
    }
    return over && !c->held ? n : used; /* an incomplete request is discarded */
}

void http_run_rpc(struct conn *c, struct fumi_str body)
{
    conn_handle(c, body, c->as.http.wants_events);
}

void http_run_host(struct conn *c, struct fumi_str body)
{
    struct http *t = &c->as.http;
    struct fumi_http_request r = {.method = t->method,
                                  .path = fumi_str(t->route->path),
                                  .query = t->kept->query,
                                  .peer = &c->peer,
                                  .fields = t->kept->fields,
                                  .fields_n = t->kept->n,
                                  .source = &c->source};
    conn_route(c, t->route->host, &r, body, &t->reply);
}

static enum wait waits(struct conn *c)
{
    switch (c->as.http.phase) {
    case READS_HEAD:
        if (c->rest.n)
            return WAIT_HEAD;
        return c->io->draining ? WAIT_LINGER : c->as.http.reused ? WAIT_IDLE : WAIT_HEAD;
    case READS_BODY:
    case READS_CHUNKS:
        return c->as.http.measured ? WAIT_RATE : WAIT_BODY;
    case RUNS:
        break;
    case STREAMS:
        return WAIT_HEARTBEAT;
    case PAUSES:
        return WAIT_PAUSE;
    }
    return WAIT_NONE;
}

/* The body must be complete within set.body_time. From the tenth second on, 1 KiB must have arrived
 * for each second after the ninth. */
static bool is_too_slow(struct conn *c)
{
    const struct http *t = &c->as.http;
    int64_t took = io_thread_now(c->io) - t->began;
    size_t got = t->phase == READS_CHUNKS ? t->body.n + t->chunks.extra : c->rest.n;
    return took >= c->io->shared->set.body_time || (int64_t)got < (took - 9000) * 1024 / 1000;
}

static void timed_out(struct conn *c, enum wait kind)
{
    struct http *t = &c->as.http;
    static const struct http_fault slow = {408, "the request was not received in time"};
    switch (kind) {
    case WAIT_HEAD:
        if (c->rest.n)
            fault(c, &slow);
        else
            conn_end(c);
        break;
    case WAIT_BODY:
    case WAIT_RATE:
        if (is_too_slow(c))
            fault(c, &slow);
        else
            t->measured = true;
        break;
    case WAIT_PAUSE:
        http_refuse(c, &t->why);
        break;
    case WAIT_HEARTBEAT:
        http_heartbeat(c);
        break;
    default:
        conn_end(c);
    }
}

static void drain(struct conn *c)
{
    (void)c; /* an idle connection ends when WAIT_LINGER times out */
}

static void done(struct conn *c)
{
    struct http *t = &c->as.http;
    http_unreserve(c);
    if (t->filtered) /* the peer disconnected before the response */
        http_report(c, t, 0, 0);
    http_clear(t);
}

static bool busy(struct conn *c)
{
    return c->as.http.phase >= RUNS;
}

/* End of input while a call runs counts as a hang-up: the call is cancelled. A client that shuts
 * down its side and still waits for the response is rare and cannot be distinguished. For a route
 * of the host program, end of input is a hang-up only after fumi_reply_watch. */
static bool eof_is_hangup(struct conn *c)
{
    const struct message *reply = c->as.http.reply;
    return busy(c) && (!reply || message_watched(reply));
}

static void closed(struct conn *c)
{
    if (c->as.http.reply)
        message_client_left(c->as.http.reply);
}

const struct proto http_proto = {"http",
                                 false,
                                 .take = take,
                                 .answer = http_answer_call,
                                 .notify = http_put_event,
                                 .drain = drain,
                                 .page = http_answer_page,
                                 .busy = busy,
                                 .eof_is_hangup = eof_is_hangup,
                                 .waits = waits,
                                 .timed_out = timed_out,
                                 .closed = closed,
                                 .done = done};
