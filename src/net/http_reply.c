/* Writes responses: pages, refusals and event streams. */
#include "net/http_parts.h"

#include "base/clock.h"

#include <time.h>

#define FRAME_OPTIONS "DENY"
#define REFERRER      "no-referrer"
#define POLICY        "default-src 'none'; frame-ancestors 'none'"
#define RESOURCES     "same-origin"
#define CACHE         "no-store"

/* Header fields that only browsers evaluate. Browsers send Origin with every POST. The response to
 * a call without Origin omits these fields, because they would be most of its bytes. */
static const char for_browsers[] = "X-Frame-Options: " FRAME_OPTIONS "\r\n"
                                   "Referrer-Policy: " REFERRER "\r\n"
                                   "Content-Security-Policy: " POLICY "\r\n"
                                   "Cross-Origin-Resource-Policy: " RESOURCES "\r\n"
                                   "Cache-Control: " CACHE "\r\n";

static const char json_begin[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";

/* Builds the header lines of every response and the head of the usual response, once per second
 * because they contain Date. */
static void renew(struct io_thread *io, int64_t second)
{
    struct tm t;
    time_t now = (time_t)(fumi_now() / 1000);
    char *p = io->common;
    gmtime_r(&now, &t);
    io->common_at = second;
    p += strftime(p, 64, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &t);
    p = stpcpy(p, "X-Content-Type-Options: nosniff\r\n");
    io->brief_n = (size_t)(p - io->common);
    p = stpcpy(p, for_browsers);
    io->common_n = (size_t)(p - io->common);
    p = stpcpy(io->head_text, json_begin);
    p = mempcpy(p, io->common, io->brief_n);
    p = stpcpy(p, "Content-Length: ");
    io->head_n = (size_t)(p - io->head_text);
}

static void renew_if_due(struct io_thread *io)
{
    int64_t second = io_thread_now(io) / 1000;
    if (second != io->common_at)
        renew(io, second);
}

struct fumi_str http_common(struct io_thread *io)
{
    renew_if_due(io);
    return (struct fumi_str){io->common, io->common_n};
}

void http_report(struct conn *c, const struct http *t, int status, size_t bytes)
{
    const struct server_shared *shared = c->io->shared;
    count_add(&c->io->requests, 1);
    if (!t->filtered && !shared->set.access_log)
        return;
    struct fumi_http_request r = {.method = t->method, .peer = &c->peer, .source = &c->source};
    r.path = t->route ? fumi_str(t->route->path) : FUMI_STR("");
    for (size_t i = t->filtered; i-- > 0;)
        if (shared->filters[i].after)
            shared->filters[i].after(shared->filters[i].self, &r, status, bytes);
    if (shared->set.access_log)
        fumi_log(shared->log, FUMI_INFO, "http.request", {"method", r.method, 0},
                 {"path", r.path, 0}, {"status", {0}, status}, {"bytes", {0}, (int64_t)bytes},
                 {"peer", c->peer.address, 0});
}

void http_clear(struct http *t)
{
    fumi_buf_done(&t->origin);
    fumi_buf_done(&t->body);
    fumi_resize(t->kept, 0);
    *t = (struct http){0};
}

/* Ends a request whose response was written. The next request may follow on the connection. */
static void finish(struct conn *c, int status, size_t bytes)
{
    struct http *t = &c->as.http;
    bool keep_alive = t->keep_alive;
    http_report(c, t, status, bytes);
    http_unreserve(c);
    http_clear(t);
    fumi_source_release(c->source);
    c->source = NULL;
    c->want = 0;
    fumi_peer_set_lost_id(&c->peer, FUMI_ID_NULL); /* a route may have set it */
    t->reused = true;
    conn_renew_wait(c);
    if (!keep_alive)
        conn_end(c);
}

enum { FIELDS = 12 };

struct fields {
    struct http_field row[FIELDS];
    size_t n;
    bool own; /* the rows include those for browsers, with other values */
};

static void add(struct fields *f, const char *name, struct fumi_str value)
{
    f->row[f->n++] = (struct http_field){fumi_str(name), value};
}

static void add_origin(struct fields *f, const struct http *t)
{
    if (!t->origin.n)
        return;
    add(f, "Access-Control-Allow-Origin", fumi_buf_str(&t->origin));
    add(f, "Vary", FUMI_STR("Origin"));
    add(f, "Access-Control-Expose-Headers", FUMI_STR("Mcp-Session-Id"));
}

/* Whether the response omits the fields for browsers: a successful call without Origin. */
static bool is_compact(const struct http *t, int status)
{
    return t->run == http_run_rpc && !t->browser && (status == 200 || status == 204) &&
           t->phase != STREAMS;
}

static void put_head(struct conn *c, int status, struct fields *f, enum http_framing framing,
                     size_t length)
{
    struct http *t = &c->as.http;
    struct http_response_head a = {.status = status,
                                   .minor = t->minor,
                                   .framing = framing,
                                   .length = length,
                                   .keep_alive = t->keep_alive,
                                   .fields = f->row};
    add_origin(f, t);
    a.n = f->n;
    a.lines = http_common(c->io);
    if (f->own || is_compact(t, status))
        a.lines.n = c->io->brief_n;
    http_put_response_head(conn_out(c), &a);
}

/* While the server shuts down, the connection ends after the last request: the one after which no
 * further bytes were received. */
static void end_after_last(struct conn *c)
{
    if (c->io->draining && !c->as.http.more && !c->rest.n && conn_input_empty(c))
        c->as.http.keep_alive = false;
}

/* The usual response to a call: its head was built in advance, except for Content-Length. */
static void put_usual(struct conn *c, struct fumi_str body)
{
    struct io_thread *io = c->io;
    struct fumi_buf *out = conn_out(c);
    size_t digits = 1;
    renew_if_due(io);
    for (size_t n = body.n; n >= 10; n /= 10)
        digits++;
    size_t all = io->head_n + digits + 4 + body.n;
    char *p = fumi_buf_reserve(out, all) + io->head_n + digits;
    memcpy(p - io->head_n - digits, io->head_text, io->head_n);
    for (size_t i = 1, n = body.n; i <= digits; i++, n /= 10)
        p[-(ptrdiff_t)i] = (char)('0' + n % 10);
    memcpy(p, "\r\n\r\n", 4);
    memcpy(p + 4, body.p, body.n);
    out->n += all;
    finish(c, 200, body.n);
}

void http_page(struct conn *c, int status, const char *type, struct fumi_str body)
{
    struct http *t = &c->as.http;
    struct fields f = {0};
    end_after_last(c);
    if (body.n)
        add(&f, "Content-Type", fumi_str(type));
    put_head(c, status, &f, status == 204 ? HTTP_NO_BODY : HTTP_LENGTH, body.n);
    if (!t->only_head)
        fumi_buf_add(conn_out(c), body.p, body.n);
    finish(c, status, body.n);
}

/* The body is plain text, except with status 413: then it is a JSON-RPC error. */
void http_refuse(struct conn *c, const struct fumi_refusal *r)
{
    struct fields f = {0};
    struct fumi_buf text = {0};
    struct fumi_err e;
    if (r->field[0])
        add(&f, r->field[0], fumi_str(r->field[1]));
    end_after_last(c);
    if (r->status == 413) {
        fumi_err_set(&e, FUMI_INVALID_REQUEST, "the message is longer than the limit of %zu bytes",
                     c->io->shared->message);
        fumi_put_refusal(&text, &e, fumi_peer_lost_id(&c->peer));
    } else {
        struct fumi_str reason = fumi_str(r->reason ? r->reason : "");
        fumi_buf_add(&text, reason.p, reason.n);
        fumi_buf_put(&text, '\n');
    }
    add(&f, "Content-Type",
        fumi_str(r->status == 413 ? "application/json" : "text/plain; charset=utf-8"));
    put_head(c, r->status, &f, HTTP_LENGTH, text.n);
    if (!c->as.http.only_head)
        fumi_buf_add(conn_out(c), text.p, text.n);
    finish(c, r->status, text.n);
    fumi_buf_done(&text);
}

/* The response to a preflight lists the allowed methods and headers, to any other OPTIONS request
 * the methods only. */
void http_options(struct conn *c, struct fumi_str body)
{
    struct http *t = &c->as.http;
    struct fields f = {0};
    (void)body;
    end_after_last(c);
    add(&f, "Allow", fumi_str(t->route->allow));
    if (t->preflight) {
        add(&f, "Access-Control-Allow-Methods", fumi_str(t->route->allow));
        add(&f, "Access-Control-Allow-Headers",
            FUMI_STR("Content-Type, Authorization, X-Claude-Code-Ide-Authorization, Accept, "
                     "Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, "
                     "Last-Event-ID"));
        add(&f, "Access-Control-Max-Age", FUMI_STR("600"));
    }
    put_head(c, t->preflight ? 204 : 200, &f, t->preflight ? HTTP_NO_BODY : HTTP_LENGTH, 0);
    finish(c, t->preflight ? 204 : 200, 0);
}

static void put_event(struct conn *c, struct fumi_str text)
{
    struct fumi_buf event = {0};
    fumi_buf_add(&event, "data: ", 6);
    fumi_buf_add(&event, text.p, text.n);
    fumi_buf_add(&event, "\n\n", 2);
    if (c->as.http.minor)
        http_chunk(conn_out(c), fumi_buf_str(&event));
    else
        fumi_buf_add(conn_out(c), event.p, event.n);
    c->as.http.length += event.n;
    fumi_buf_done(&event);
}

/* Sends a comment, which clients ignore, so that the stream is not idle. */
void http_heartbeat(struct conn *c)
{
    if (c->as.http.minor)
        http_chunk(conn_out(c), FUMI_STR(":\n\n"));
    else
        fumi_buf_add(conn_out(c), ":\n\n", 3);
}

void http_put_event(struct conn *c, struct fumi_buf *text)
{
    struct http *t = &c->as.http;
    struct fields f = {0};
    if (t->phase == RUNS) {
        t->phase = STREAMS;
        t->length = 0;
        t->keep_alive &= t->minor > 0;
        add(&f, "Content-Type", FUMI_STR("text/event-stream"));
        add(&f, "X-Accel-Buffering", FUMI_STR("no"));
        put_head(c, 200, &f, t->minor ? HTTP_CHUNKED : HTTP_NO_BODY, 0);
    }
    if (text->n)
        put_event(c, fumi_buf_str(text));
    else
        http_heartbeat(c);
}

static void end_stream(struct conn *c, struct fumi_buf *text)
{
    struct http *t = &c->as.http;
    if (text->n)
        put_event(c, fumi_buf_str(text));
    if (t->minor)
        http_chunk_end(conn_out(c));
    finish(c, 200, t->length);
}

/* Adds the fields for browsers with the values of the page. */
static void add_policy(struct fields *f, const struct page *page)
{
    f->own = page->policy || page->cache;
    if (!f->own)
        return;
    add(f, "X-Frame-Options", FUMI_STR(FRAME_OPTIONS));
    add(f, "Referrer-Policy", FUMI_STR(REFERRER));
    add(f, "Content-Security-Policy", fumi_str(page->policy ? page->policy : POLICY));
    add(f, "Cross-Origin-Resource-Policy", FUMI_STR(RESOURCES));
    add(f, "Cache-Control", fumi_str(page->cache ? page->cache : CACHE));
}

void http_answer_page(struct conn *c, const struct page *page, struct fumi_buf *body)
{
    const struct fumi_page *head = &page->head;
    bool bare = head->status == 204 || head->status == 304;
    struct fields f = {0};
    if (c->as.http.phase == STREAMS) {
        end_stream(c, body);
        return;
    }
    end_after_last(c);
    if (body->n)
        add(&f, "Content-Type", fumi_str(head->type));
    if (head->field)
        add(&f, head->field, fumi_str(head->value));
    add_policy(&f, page);
    put_head(c, head->status, &f, bare ? HTTP_NO_BODY : HTTP_LENGTH, body->n);
    if (!c->as.http.only_head)
        fumi_buf_add(conn_out(c), body->p, body->n);
    finish(c, head->status, body->n);
}

static bool is_usual(const struct conn *c)
{
    const struct http *t = &c->as.http;
    return t->minor && t->keep_alive && !t->browser && !c->io->draining;
}

void http_answer_call(struct conn *c, struct fumi_buf *text, int code)
{
    static const struct fumi_refusal ended = {
        .status = 503,
        .reason = "the server shut down before the call was answered",
        .field = {"Retry-After", "1"}};
    (void)code;
    if (c->as.http.phase != STREAMS && text->n && is_usual(c))
        put_usual(c, fumi_buf_str(text));
    else if (c->as.http.phase == STREAMS)
        end_stream(c, text);
    else if (!text->n && c->io->cancelled)
        http_refuse(c, &ended);
    else
        http_page(c, text->n ? 200 : 204, "application/json", fumi_buf_str(text));
}
