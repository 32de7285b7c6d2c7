/* HTTP transport: each message is a POST request, answered with JSON or with an event stream. One
 * kept-alive connection carries one exchange at a time; further messages wait in a queue. */
#include "net/http1_response.h"
#include "net/rpc_connection_parts.h"

#include "base/utf8.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>

enum {
    LINGER = 100,     /* ms for an event stream to end after its last answer */
    KEEP = 256 << 10, /* bytes of capacity that an empty buffer keeps */
    EXCERPT = 80,     /* bytes of an error response that are quoted */
};

/* A message that waits to be sent or for its response. */
struct post {
    struct post *next;
    uint64_t number;
    bool again;  /* it is sent a second time, see disconnected() */
    size_t head; /* bytes of additional headers, before the message in `text` */
    size_t n;    /* bytes of the message */
    char text[];
};

enum answer_kind { ANSWER_JSON, ANSWER_EVENTS, ANSWER_OTHER };

struct rpc_connection_http_state {
    struct fumi_buf trace; /* trace headers of the messages queued from now on */
    struct post *queue;    /* oldest first */
    struct post *current;  /* the exchange in progress; NULL: none */
    bool reused;           /* the connection has served an exchange before */
    bool any, head;        /* received of the response: any byte, the whole head */
    int status;
    bool keep_alive;
    enum answer_kind kind;
    char type[64]; /* Content-Type, for error texts; truncated */
    struct http_response reply;
    struct http_response_body body;
    struct fumi_buf text; /* unprocessed part of the body */
    size_t seen;          /* events: bytes of `text` known to have no line end */
    struct fumi_buf data; /* events: data of the current event */
    bool has_data;
    struct fumi_err rejected;         /* why received data was no valid message; code 0: none */
    struct fumi_rpc_connection *side; /* for answers to the peer during an exchange */
};

static const struct {
    int status;
    const char *remedy;
} remedies[] = {
    {401, "give the token of the server"},
    {403, "the server does not allow this client"},
    {404, "is the path right?"},
    {405, "is the path right?"},
    {408, "try again"},
    {413, "send less at once"},
    {426, "use a ws: URL"},
    {429, "send less often"},
    {503, "try again later"},
};

static const char *remedy_of(int status)
{
    for (size_t i = 0; i < FUMI_COUNT(remedies); i++)
        if (remedies[i].status == status)
            return remedies[i].remedy;
    return status >= 300 && status < 400 ? "redirects are not followed" : NULL;
}

/* The first line of a text, truncated; empty if it is not valid UTF-8. */
static struct fumi_str excerpt(struct fumi_str text)
{
    size_t n = 0;
    while (n < text.n && (unsigned char)text.p[n] >= ' ')
        n++;
    struct fumi_str line = fumi_utf8_cut((struct fumi_str){text.p, n}, EXCERPT);
    return fumi_utf8_valid(line) ? line : (struct fumi_str){"", 0};
}

int rpc_connection_http_refused(const struct fumi_rpc_connection *c, int status,
                                struct fumi_str text, struct fumi_err *e)
{
    bool passes = status == 408 || status == 429 || status == 503;
    struct fumi_str line = excerpt(text.p ? text : FUMI_STR(""));
    const char *remedy = remedy_of(status);
    return fumi_err_set(e, passes ? FUMI_LIMIT : FUMI_INVALID_REQUEST,
                        "%s refused: HTTP %d %s%s%.*s%s%s%s", c->endpoint.url, status,
                        http_reason(status), line.n ? " (" : "", FUMI_ARG(line), line.n ? ")" : "",
                        remedy ? "; " : "", remedy ? remedy : "");
}

void rpc_connection_put_field(struct fumi_buf *to, const char *name, const char *prefix,
                              const char *value)
{
    struct fumi_str parts[] = {fumi_str(name), FUMI_STR(": "), fumi_str(prefix), fumi_str(value),
                               FUMI_STR("\r\n")};
    for (size_t i = 0; value && i < FUMI_COUNT(parts); i++)
        fumi_buf_add(to, parts[i].p, parts[i].n);
}

void rpc_connection_put_request(struct fumi_rpc_connection *c, struct fumi_buf *to,
                                const char *method)
{
    struct fumi_str parts[] = {fumi_str(method), FUMI_STR(" "), fumi_str(c->endpoint.target),
                               FUMI_STR(" HTTP/1.1\r\n")};
    for (size_t i = 0; i < FUMI_COUNT(parts); i++)
        fumi_buf_add(to, parts[i].p, parts[i].n);
    rpc_connection_put_field(to, "Host", "", c->endpoint.authority);
    rpc_connection_put_field(to, "Origin", "", c->options.origin);
    rpc_connection_put_field(to, "Authorization", "Bearer ", c->options.token);
    for (size_t i = 0; i < c->options.headers_n; i++)
        rpc_connection_put_field(to, c->options.headers[i].name, "", c->options.headers[i].value);
}

static struct rpc_connection_http_state *state(struct fumi_rpc_connection *c)
{
    if (!c->http) {
        c->http = fumi_resize(NULL, sizeof(*c->http));
        memset(c->http, 0, sizeof(*c->http));
    }
    return c->http;
}

static void queue(struct fumi_rpc_connection *c, uint64_t number, struct fumi_str message)
{
    struct fumi_str trace = fumi_buf_str(&state(c)->trace);
    struct post *post = fumi_resize(NULL, sizeof(*post) + trace.n + message.n);
    struct post **end = &state(c)->queue;
    *post = (struct post){.number = number, .head = trace.n, .n = message.n};
    if (trace.n)
        memcpy(post->text, trace.p, trace.n);
    memcpy(post->text + trace.n, message.p, message.n);
    while (*end)
        end = &(*end)->next;
    *end = post;
}

int fumi_rpc_connection_trace(struct fumi_rpc_connection *c, const char *parent,
                              const char *tracestate, struct fumi_err *e)
{
    struct fumi_trace trace;
    char text[FUMI_STATE_MOST + 1];
    if (parent && (strlen(parent) != FUMI_TRACEPARENT - 1 ||
                   !fumi_trace_read(fumi_str(parent), fumi_str(tracestate), &trace)))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "\"%.80s\" is not a valid traceparent", parent);
    if (parent && tracestate && *tracestate && !trace.state.p)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "\"%.80s\" is not a valid tracestate",
                            tracestate);
    if (c->transport != &rpc_connection_http)
        return 0;
    fumi_buf_reset(&state(c)->trace, 0);
    rpc_connection_put_field(&state(c)->trace, "traceparent", "", parent);
    if (!parent || !trace.state.p)
        return 0;
    snprintf(text, sizeof(text), "%.*s", FUMI_ARG(trace.state));
    rpc_connection_put_field(&state(c)->trace, "tracestate", "", text);
    return 0;
}

/* Ends the current exchange, successful or not. */
static void clear(struct rpc_connection_http_state *x)
{
    fumi_resize(x->current, 0);
    x->current = NULL;
    x->any = x->head = x->has_data = false;
    x->seen = 0;
    x->rejected.code = 0;
    fumi_buf_reset(&x->text, KEEP);
    fumi_buf_reset(&x->data, KEEP);
}

void rpc_connection_http_done(struct fumi_rpc_connection *c)
{
    struct rpc_connection_http_state *x = c->http;
    if (!x)
        return;
    clear(x);
    for (struct post *post; (post = x->queue);) {
        x->queue = post->next;
        fumi_resize(post, 0);
    }
    fumi_buf_done(&x->text);
    fumi_buf_done(&x->data);
    fumi_buf_done(&x->trace);
    fumi_rpc_connection_close(x->side);
    fumi_resize(x, 0);
}

static void abandon(struct fumi_rpc_connection *c)
{
    rpc_connection_close_socket(c);
    clear(c->http);
}

/* HTTP/1.1 cannot cancel a request other than by closing the connection. */
void rpc_connection_http_cancel(struct fumi_rpc_connection *c, uint64_t number)
{
    struct rpc_connection_http_state *x = state(c);
    struct post **at = &x->queue;
    if (rpc_connection_is_pending(c, number))
        return;
    if (x->current && x->current->number == number)
        abandon(c);
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    struct post *post = *at;
    if (!post)
        return;
    *at = post->next;
    fumi_resize(post, 0);
}

static void write_post(struct fumi_rpc_connection *c, const struct post *post)
{
    char length[24];
    snprintf(length, sizeof(length), "%zu", post->n);
    rpc_connection_put_request(c, &c->out, "POST");
    rpc_connection_put_field(&c->out, "Content-Type", "", "application/json");
    rpc_connection_put_field(&c->out, "Accept", "", "application/json, text/event-stream");
    rpc_connection_put_field(&c->out, "Content-Length", "", length);
    fumi_buf_add(&c->out, post->text, post->head);
    fumi_buf_add(&c->out, "\r\n", 2);
    fumi_buf_add(&c->out, post->text + post->head, post->n);
}

/* All calls are answered, but the event stream has not ended. */
static bool lingers(const struct fumi_rpc_connection *c)
{
    const struct rpc_connection_http_state *x = c->http;
    return x->current && x->head && x->kind == ANSWER_EVENTS &&
           !rpc_connection_is_pending(c, x->current->number);
}

static void end_lingering(struct fumi_rpc_connection *c, int64_t until)
{
    int64_t then = rpc_connection_earlier(until, LINGER);
    while (lingers(c) && rpc_connection_poll(c->fd, POLLIN, then))
        rpc_connection_read(c);
    if (lingers(c))
        abandon(c);
}

bool rpc_connection_http_next(struct fumi_rpc_connection *c, int64_t until)
{
    struct rpc_connection_http_state *x = state(c);
    struct fumi_err why;
    if (x->queue && lingers(c))
        end_lingering(c, until);
    if (x->current || !x->queue)
        return x->current;
    /* A connection that is readable between two exchanges was closed or is out of sync. */
    if (c->fd >= 0 && rpc_connection_is_stale(c))
        rpc_connection_close_socket(c);
    x->current = x->queue;
    x->queue = x->current->next;
    x->reused = x->reused && c->fd >= 0;
    if (c->fd < 0 && rpc_connection_connect(c, until, &why)) {
        rpc_connection_fail(c, x->current->number, &why);
        clear(x);
        return x->queue;
    }
    write_post(c, x->current);
    return true;
}

static enum answer_kind kind_of(struct fumi_str type)
{
    static const struct {
        struct fumi_str type;
        enum answer_kind kind;
    } types[] = {
        {{"application/json", 16}, ANSWER_JSON},
        {{"application/json-rpc", 20}, ANSWER_JSON},
        {{"application/jsonrequest", 23}, ANSWER_JSON},
        {{"text/event-stream", 17}, ANSWER_EVENTS},
        {{"", 0}, ANSWER_JSON},
    };
    for (size_t i = 0; i < FUMI_COUNT(types); i++)
        if (http_same(type, types[i].type))
            return types[i].kind;
    return ANSWER_OTHER;
}

static void take_type(struct rpc_connection_http_state *x)
{
    struct fumi_str type = http_response_field(&x->reply, "content-type");
    size_t n = 0;
    while (n < type.n && type.p[n] != ';' && type.p[n] != ' ' && type.p[n] != '\t')
        n++;
    x->kind = kind_of((struct fumi_str){type.p, n});
    snprintf(x->type, sizeof(x->type), "%.*s", (int)n, n ? type.p : "");
}

static int no_answer(const struct fumi_rpc_connection *c, const char *reason, int code,
                     struct fumi_err *e)
{
    return fumi_err_set(e, code, "the answer of %s cannot be read: %s", c->endpoint.url, reason);
}

static struct http_limits limits_of(const struct fumi_rpc_connection *c, bool events)
{
    struct http_limits limits = HTTP_LIMITS;
    limits.body = events ? SIZE_MAX : c->options.limit;
    return limits;
}

static int fault(const struct fumi_rpc_connection *c, const struct http_fault *f,
                 struct fumi_err *e)
{
    return no_answer(c, f->reason, f->status == 413 ? FUMI_LIMIT : FUMI_INTERNAL_ERROR, e);
}

static int read_head(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    struct rpc_connection_http_state *x = c->http;
    struct http_limits limits = limits_of(c, false);
    struct http_fault f;
    ssize_t n = http_read_response(&x->reply, fumi_buf_str(&c->in), &limits, &f);
    if (n < 0)
        return fault(c, &f, e);
    if (n == 0)
        return 0;
    struct fumi_str coding = http_response_field(&x->reply, "content-encoding");
    if (coding.n && !http_same(coding, FUMI_STR("identity")))
        return no_answer(c, "it has a Content-Encoding, which was not offered", FUMI_INTERNAL_ERROR,
                         e);
    if (x->reply.status == 101)
        return no_answer(c, "it switches the protocol", FUMI_INTERNAL_ERROR, e);
    take_type(x);
    x->status = x->reply.status;
    x->keep_alive = x->reply.keep_alive;
    http_response_begin(&x->body, &x->reply);
    x->head = true;
    rpc_connection_consume(c, (size_t)n);
    return 0;
}

static void take_message(struct fumi_rpc_connection *c, struct fumi_str message)
{
    struct rpc_connection_http_state *x = c->http;
    struct fumi_err why;
    if (rpc_connection_receive(c, message, x->current->number, &why))
        x->rejected = why;
}

/* One line of an event stream. Only data fields matter; an empty line ends the event. */
static void take_line(struct fumi_rpc_connection *c, struct fumi_str line)
{
    struct rpc_connection_http_state *x = c->http;
    if (!line.n && x->has_data)
        take_message(c, fumi_buf_str(&x->data));
    if (!line.n) {
        x->has_data = false;
        fumi_buf_reset(&x->data, KEEP);
    }
    if (!fumi_starts(line, FUMI_STR("data")) || (line.n > 4 && line.p[4] != ':'))
        return;
    size_t skip = line.n < 5 ? line.n : line.n > 5 && line.p[5] == ' ' ? 6 : 5;
    if (x->has_data)
        fumi_buf_put(&x->data, '\n');
    fumi_buf_add(&x->data, line.p + skip, line.n - skip);
    x->has_data = true;
}

/* Returns the size of the first line of s, including its end (CR, LF or CR LF); 0 if the line is
 * not complete. The first `seen` bytes are known to contain no line end. */
static size_t line_size(struct fumi_str s, size_t seen, bool last, struct fumi_str *line)
{
    size_t i = seen;
    while (i < s.n && s.p[i] != '\n' && s.p[i] != '\r')
        i++;
    *line = (struct fumi_str){s.p, i};
    if (i == s.n)
        return 0;
    if (s.p[i] == '\r' && i + 1 == s.n)
        return last ? i + 1 : 0;
    return i + 1 + (s.p[i] == '\r' && s.p[i + 1] == '\n');
}

static int take_events(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    struct rpc_connection_http_state *x = c->http;
    struct fumi_str rest = fumi_buf_str(&x->text), line;
    for (size_t n; (n = line_size(rest, x->seen, x->body.done, &line)); x->seen = 0) {
        take_line(c, line);
        rest.p += n;
        rest.n -= n;
    }
    x->seen = line.n;
    if (rest.n && rest.n < x->text.n)
        memmove(x->text.p, rest.p, rest.n);
    x->text.n = rest.n;
    if (rest.n > c->options.limit || x->data.n > c->options.limit)
        return no_answer(c, "an event is too large", FUMI_LIMIT, e);
    return 0;
}

/* The error for calls that the response does not answer. */
static void missing(const struct fumi_rpc_connection *c, struct fumi_err *e)
{
    const struct rpc_connection_http_state *x = c->http;
    if (x->rejected.code)
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "the answer of %s is not a valid message: %s",
                     c->endpoint.url, x->rejected.text);
    else if (x->kind == ANSWER_EVENTS)
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "the events of %s ended without an answer",
                     c->endpoint.url);
    else if (!x->text.n)
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s answered HTTP %d without a message",
                     c->endpoint.url, x->status);
    else
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "the answer of %s names another call",
                     c->endpoint.url);
}

/* A response with an error status may still carry a JSON-RPC error. */
static void finish_refused(struct fumi_rpc_connection *c, uint64_t number)
{
    struct rpc_connection_http_state *x = c->http;
    struct fumi_str text = fumi_buf_str(&x->text);
    struct fumi_err why;
    if (x->kind == ANSWER_JSON && text.n && !rpc_connection_find_text(c, number))
        take_message(c, text);
    rpc_connection_http_refused(c, x->status, text, &why);
    rpc_connection_fail(c, number, &why);
}

static void finish_fine(struct fumi_rpc_connection *c, uint64_t number)
{
    struct rpc_connection_http_state *x = c->http;
    struct fumi_err why;
    if (x->kind == ANSWER_OTHER && x->text.n) {
        fumi_err_set(&why, FUMI_INTERNAL_ERROR,
                     "the answer of %s is %s, not application/json: is the path right?",
                     c->endpoint.url, x->type);
        rpc_connection_fail(c, number, &why);
        return;
    }
    if (x->kind == ANSWER_JSON && x->text.n)
        take_message(c, fumi_buf_str(&x->text));
    missing(c, &why);
    rpc_connection_finish(c, number, &why);
}

static void finish(struct fumi_rpc_connection *c)
{
    struct rpc_connection_http_state *x = c->http;
    if (x->status < 200 || x->status > 299)
        finish_refused(c, x->current->number);
    else
        finish_fine(c, x->current->number);
    x->reused = x->keep_alive && !c->in.n && !rpc_connection_has_unsent(c) && !c->write_failed;
    clear(x);
    if (!x->reused)
        rpc_connection_close_socket(c);
}

static int parse(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    struct rpc_connection_http_state *x = state(c);
    assert(x->current);
    x->any = true;
    if (!x->head && read_head(c, e))
        return -1;
    if (!x->head)
        return 0;
    struct http_limits limits = limits_of(c, x->kind == ANSWER_EVENTS);
    struct http_fault f;
    ssize_t n = http_response_read(&x->body, fumi_buf_str(&c->in), &x->text, &limits, &f);
    if (n < 0)
        return fault(c, &f, e);
    rpc_connection_consume(c, (size_t)n);
    if (x->kind == ANSWER_EVENTS && take_events(c, e))
        return -1;
    if (x->body.done)
        finish(c);
    return 0;
}

static void eof(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    struct rpc_connection_http_state *x = state(c);
    struct http_fault f = {0};
    fumi_err_set(
        e, FUMI_INTERNAL_ERROR,
        "%s has closed the connection before it answered; the message may have been processed",
        c->endpoint.url);
    if (!x->current || !x->head)
        return;
    if (http_response_end(&x->body, &f)) {
        fault(c, &f, e);
        return;
    }
    if (x->kind != ANSWER_EVENTS || take_events(c, e) == 0)
        finish(c);
}

/* A server may close a kept-alive connection just when it is reused. A message that could not be
 * sent completely was not executed, so it is sent once more on a new connection. Any other message
 * may have been executed, so it fails. */
static void disconnected(struct fumi_rpc_connection *c, const struct fumi_err *why)
{
    struct rpc_connection_http_state *x = state(c);
    if (!x->current)
        return;
    if (x->any || !x->reused || !c->write_failed || x->current->again) {
        rpc_connection_fail(c, x->current->number, why);
        clear(x);
        return;
    }
    struct post *post = x->current;
    x->current = NULL;
    clear(x);
    post->again = true;
    post->next = x->queue;
    x->queue = post;
}

/* The current exchange ends only after the peer's request is answered, so the answer is sent over a
 * second connection. */
static void answer_aside(struct fumi_rpc_connection *c, struct fumi_str answer)
{
    struct rpc_connection_http_state *x = state(c);
    struct fumi_rpc_connection_options o = c->options;
    struct fumi_err ignored;
    struct fumi_arena a = {0};
    struct fumi_str unused;
    o.notified = NULL;
    o.server = NULL;
    if (!x->side)
        x->side = fumi_rpc_connection_open(c->endpoint.url, &o, &ignored);
    if (x->side)
        fumi_rpc_connection_text(x->side, &a, answer, o.connect_time, &unused, &ignored);
    fumi_arena_done(&a);
}

const struct rpc_connection_transport rpc_connection_http = {
    .target = "/rpc",
    .exchanges = true,
    .queue = queue,
    .answer = answer_aside,
    .parse = parse,
    .eof = eof,
    .disconnected = disconnected,
};
