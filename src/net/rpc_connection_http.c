/* Calls over HTTP: each message is a POST, whose answer is JSON or a stream of events. There is one
 * connection, kept open, and one exchange on it at a time; other messages wait for it. */
#include "net/http1_reply.h"
#include "net/rpc_connection_parts.h"

#include "base/utf8.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>

enum {
    LINGER = 100,     /* milliseconds for an event stream to end behind its answer */
    KEEP = 256 << 10, /* memory that an empty buffer keeps */
    EXCERPT = 80,     /* bytes of a refusal's text that are shown */
};

/* A message that waits for its turn or its answer. */
struct letter {
    struct letter *next;
    uint64_t number;
    bool again;  /* it was sent before, on a connection that had ended unseen */
    size_t head; /* bytes of further fields, ahead of the message in `text` */
    size_t n;    /* of the message */
    char text[];
};

enum answer_kind { ANSWER_JSON, ANSWER_EVENTS, ANSWER_OTHER };

struct rpc_connection_http_state {
    struct fumi_buf trace; /* fields of messages that are sent from now on */
    struct letter *waiting;
    struct letter *now; /* its answer is awaited; NULL: none is */
    bool kept;          /* the connection has served an answer before */
    bool any, head;     /* of the answer came: a byte, the head */
    int status;
    bool keep_alive;
    enum answer_kind kind;
    char type[64]; /* of the answer, for sentences; cut */
    struct http_reply reply;
    struct http_reply_body body;
    struct fumi_buf text; /* of the body, what is not used yet */
    size_t seen;          /* events: bytes of it without a line end */
    struct fumi_buf data; /* of the event that is being read */
    bool has_data;
    struct fumi_err odd; /* why something that came was no message; code 0: nothing such came */
    struct fumi_rpc_connection *side; /* for what must be said during an exchange */
};

static const struct {
    int status;
    const char *remedy;
} remedies[] = {
    {401, "give the token of the server"},
    {403, "the server does not let this client in"},
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

/* The first line of a text, if it is one. */
static struct fumi_str excerpt(struct fumi_str text)
{
    size_t n = 0;
    while (n < text.n && (unsigned char)text.p[n] >= ' ')
        n++;
    struct fumi_str line = fumi_utf8_cut((struct fumi_str){text.p, n}, EXCERPT);
    return fumi_utf8_valid(line) ? line : (struct fumi_str){"", 0};
}

int rpc_connection_refused(const struct fumi_rpc_connection *l, int status, struct fumi_str text,
                           struct fumi_err *e)
{
    bool passes = status == 408 || status == 429 || status == 503;
    struct fumi_str line = excerpt(text.p ? text : FUMI_STR(""));
    const char *remedy = remedy_of(status);
    return fumi_err_set(e, passes ? FUMI_LIMIT : FUMI_INVALID_REQUEST,
                        "%s refused: HTTP %d %s%s%.*s%s%s%s", l->at.url, status,
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

void rpc_connection_put_request(struct fumi_rpc_connection *l, struct fumi_buf *to,
                                const char *method)
{
    struct fumi_str parts[] = {fumi_str(method), FUMI_STR(" "), fumi_str(l->at.target),
                               FUMI_STR(" HTTP/1.1\r\n")};
    for (size_t i = 0; i < FUMI_COUNT(parts); i++)
        fumi_buf_add(to, parts[i].p, parts[i].n);
    rpc_connection_put_field(to, "Host", "", l->at.authority);
    rpc_connection_put_field(to, "Origin", "", l->o.origin);
    rpc_connection_put_field(to, "Authorization", "Bearer ", l->o.token);
    for (size_t i = 0; i < l->o.headers_n; i++)
        rpc_connection_put_field(to, l->o.headers[i].name, "", l->o.headers[i].value);
}

static struct rpc_connection_http_state *state(struct fumi_rpc_connection *l)
{
    if (!l->http) {
        l->http = fumi_resize(NULL, sizeof(*l->http));
        memset(l->http, 0, sizeof(*l->http));
    }
    return l->http;
}

static void put(struct fumi_rpc_connection *l, uint64_t number, struct fumi_str message)
{
    struct fumi_str trace = fumi_buf_str(&state(l)->trace);
    struct letter *letter = fumi_resize(NULL, sizeof(*letter) + trace.n + message.n);
    struct letter **end = &state(l)->waiting;
    *letter = (struct letter){.number = number, .head = trace.n, .n = message.n};
    if (trace.n)
        memcpy(letter->text, trace.p, trace.n);
    memcpy(letter->text + trace.n, message.p, message.n);
    while (*end)
        end = &(*end)->next;
    *end = letter;
}

int fumi_rpc_connection_trace(struct fumi_rpc_connection *l, const char *parent,
                              const char *tracestate, struct fumi_err *e)
{
    struct fumi_trace trace;
    char text[FUMI_STATE_MOST + 1];
    if (parent && (strlen(parent) != FUMI_TRACEPARENT - 1 ||
                   !fumi_trace_read(fumi_str(parent), fumi_str(tracestate), &trace)))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "\"%.80s\" is no traceparent", parent);
    if (parent && tracestate && *tracestate && !trace.state.p)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "\"%.80s\" is no tracestate", tracestate);
    if (l->way != &rpc_connection_http)
        return 0;
    fumi_buf_reset(&state(l)->trace, 0);
    rpc_connection_put_field(&state(l)->trace, "traceparent", "", parent);
    if (!parent || !trace.state.p)
        return 0;
    snprintf(text, sizeof(text), "%.*s", FUMI_ARG(trace.state));
    rpc_connection_put_field(&state(l)->trace, "tracestate", "", text);
    return 0;
}

/* The exchange is over, one way or another. */
static void clear(struct rpc_connection_http_state *x)
{
    fumi_resize(x->now, 0);
    x->now = NULL;
    x->any = x->head = x->has_data = false;
    x->seen = 0;
    x->odd.code = 0;
    fumi_buf_reset(&x->text, KEEP);
    fumi_buf_reset(&x->data, KEEP);
}

void rpc_connection_http_done(struct fumi_rpc_connection *l)
{
    struct rpc_connection_http_state *x = l->http;
    if (!x)
        return;
    clear(x);
    for (struct letter *letter; (letter = x->waiting);) {
        x->waiting = letter->next;
        fumi_resize(letter, 0);
    }
    fumi_buf_done(&x->text);
    fumi_buf_done(&x->data);
    fumi_buf_done(&x->trace);
    fumi_rpc_connection_close(x->side);
    fumi_resize(x, 0);
}

static void abandon(struct fumi_rpc_connection *l)
{
    rpc_connection_hang_up(l);
    clear(l->http);
}

/* The server learns that nobody waits from the end of the connection. */
void rpc_connection_http_forget(struct fumi_rpc_connection *l, uint64_t number)
{
    struct rpc_connection_http_state *x = state(l);
    struct letter **at = &x->waiting;
    if (rpc_connection_is_open(l, number))
        return;
    if (x->now && x->now->number == number)
        abandon(l);
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    struct letter *letter = *at;
    if (!letter)
        return;
    *at = letter->next;
    fumi_resize(letter, 0);
}

static void write_letter(struct fumi_rpc_connection *l, const struct letter *letter)
{
    char length[24];
    snprintf(length, sizeof(length), "%zu", letter->n);
    rpc_connection_put_request(l, &l->out, "POST");
    rpc_connection_put_field(&l->out, "Content-Type", "", "application/json");
    rpc_connection_put_field(&l->out, "Accept", "", "application/json, text/event-stream");
    rpc_connection_put_field(&l->out, "Content-Length", "", length);
    fumi_buf_add(&l->out, letter->text, letter->head);
    fumi_buf_add(&l->out, "\r\n", 2);
    fumi_buf_add(&l->out, letter->text + letter->head, letter->n);
}

/* An event stream whose calls are answered, but which has not ended. */
static bool lingers(const struct fumi_rpc_connection *l)
{
    const struct rpc_connection_http_state *x = l->http;
    return x->now && x->head && x->kind == ANSWER_EVENTS &&
           !rpc_connection_is_open(l, x->now->number);
}

static void end_lingering(struct fumi_rpc_connection *l, int64_t until)
{
    int64_t then = rpc_connection_sooner(until, LINGER);
    while (lingers(l) && rpc_connection_poll(l->fd, POLLIN, then))
        rpc_connection_read(l);
    if (lingers(l))
        abandon(l);
}

bool rpc_connection_http_next(struct fumi_rpc_connection *l, int64_t until)
{
    struct rpc_connection_http_state *x = state(l);
    struct fumi_err why;
    if (x->waiting && lingers(l))
        end_lingering(l, until);
    if (x->now || !x->waiting)
        return x->now;
    /* Whatever comes between two exchanges, the connection cannot be used any more. */
    if (l->fd >= 0 && rpc_connection_is_stale(l))
        rpc_connection_hang_up(l);
    x->now = x->waiting;
    x->waiting = x->now->next;
    x->kept = x->kept && l->fd >= 0;
    if (l->fd < 0 && rpc_connection_connect(l, until, &why)) {
        rpc_connection_fail(l, x->now->number, &why);
        clear(x);
        return x->waiting;
    }
    write_letter(l, x->now);
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
    struct fumi_str type = http_reply_field(&x->reply, "content-type");
    size_t n = 0;
    while (n < type.n && type.p[n] != ';' && type.p[n] != ' ' && type.p[n] != '\t')
        n++;
    x->kind = kind_of((struct fumi_str){type.p, n});
    snprintf(x->type, sizeof(x->type), "%.*s", (int)n, n ? type.p : "");
}

static int no_answer(const struct fumi_rpc_connection *l, const char *reason, int code,
                     struct fumi_err *e)
{
    return fumi_err_set(e, code, "the answer of %s cannot be read: %s", l->at.url, reason);
}

static struct http_limits limits_of(const struct fumi_rpc_connection *l, bool events)
{
    struct http_limits limits = HTTP_LIMITS;
    limits.body = events ? SIZE_MAX : l->o.limit;
    return limits;
}

static int fault(const struct fumi_rpc_connection *l, const struct http_fault *f,
                 struct fumi_err *e)
{
    return no_answer(l, f->reason, f->status == 413 ? FUMI_LIMIT : FUMI_INTERNAL_ERROR, e);
}

static int read_head(struct fumi_rpc_connection *l, struct fumi_err *e)
{
    struct rpc_connection_http_state *x = l->http;
    struct http_limits limits = limits_of(l, false);
    struct http_fault f;
    ssize_t n = http_read_reply(&x->reply, fumi_buf_str(&l->in), &limits, &f);
    if (n < 0)
        return fault(l, &f, e);
    if (n == 0)
        return 0;
    struct fumi_str coding = http_reply_field(&x->reply, "content-encoding");
    if (coding.n && !http_same(coding, FUMI_STR("identity")))
        return no_answer(l, "it has a Content-Encoding, which was not offered", FUMI_INTERNAL_ERROR,
                         e);
    if (x->reply.status == 101)
        return no_answer(l, "it changes the protocol", FUMI_INTERNAL_ERROR, e);
    take_type(x);
    x->status = x->reply.status;
    x->keep_alive = x->reply.keep_alive;
    http_reply_begin(&x->body, &x->reply);
    x->head = true;
    rpc_connection_eat(l, (size_t)n);
    return 0;
}

static void take_message(struct fumi_rpc_connection *l, struct fumi_str message)
{
    struct rpc_connection_http_state *x = l->http;
    struct fumi_err odd;
    if (rpc_connection_take(l, message, x->now->number, &odd))
        x->odd = odd;
}

/* A line of an event: only its data counts. An empty one ends it. */
static void take_line(struct fumi_rpc_connection *l, struct fumi_str line)
{
    struct rpc_connection_http_state *x = l->http;
    if (!line.n && x->has_data)
        take_message(l, fumi_buf_str(&x->data));
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

/* Bytes of the line at the beginning of s, its end included: CR, LF or both; 0: it is not complete.
 * The first `seen` bytes are known to be no line end. */
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

static int take_events(struct fumi_rpc_connection *l, struct fumi_err *e)
{
    struct rpc_connection_http_state *x = l->http;
    struct fumi_str rest = fumi_buf_str(&x->text), line;
    for (size_t n; (n = line_size(rest, x->seen, x->body.done, &line)); x->seen = 0) {
        take_line(l, line);
        rest.p += n;
        rest.n -= n;
    }
    x->seen = line.n;
    if (rest.n && rest.n < x->text.n)
        memmove(x->text.p, rest.p, rest.n);
    x->text.n = rest.n;
    if (rest.n > l->o.limit || x->data.n > l->o.limit)
        return no_answer(l, "an event is too large", FUMI_LIMIT, e);
    return 0;
}

/* What a call is told that the answer does not name. */
static void missing(const struct fumi_rpc_connection *l, struct fumi_err *e)
{
    const struct rpc_connection_http_state *x = l->http;
    if (x->odd.code)
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "the answer of %s is no message: %s", l->at.url,
                     x->odd.text);
    else if (x->kind == ANSWER_EVENTS)
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "the events of %s ended without an answer", l->at.url);
    else if (!x->text.n)
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s answered HTTP %d without a message", l->at.url,
                     x->status);
    else
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "the answer of %s names another call", l->at.url);
}

/* A refusal may be a JSON-RPC error nevertheless. */
static void finish_refused(struct fumi_rpc_connection *l, uint64_t number)
{
    struct rpc_connection_http_state *x = l->http;
    struct fumi_str text = fumi_buf_str(&x->text);
    struct fumi_err why;
    if (x->kind == ANSWER_JSON && text.n && !rpc_connection_text_of(l, number))
        take_message(l, text);
    rpc_connection_refused(l, x->status, text, &why);
    rpc_connection_fail(l, number, &why);
}

static void finish_fine(struct fumi_rpc_connection *l, uint64_t number)
{
    struct rpc_connection_http_state *x = l->http;
    struct fumi_err why;
    if (x->kind == ANSWER_OTHER && x->text.n) {
        fumi_err_set(&why, FUMI_INTERNAL_ERROR,
                     "the answer of %s is %s, not application/json: is the path right?", l->at.url,
                     x->type);
        rpc_connection_fail(l, number, &why);
        return;
    }
    if (x->kind == ANSWER_JSON && x->text.n)
        take_message(l, fumi_buf_str(&x->text));
    missing(l, &why);
    rpc_connection_finish(l, number, &why);
}

static void finish(struct fumi_rpc_connection *l)
{
    struct rpc_connection_http_state *x = l->http;
    if (x->status < 200 || x->status > 299)
        finish_refused(l, x->now->number);
    else
        finish_fine(l, x->now->number);
    x->kept = x->keep_alive && !l->in.n && !rpc_connection_unsent(l) && !l->deaf;
    clear(x);
    if (!x->kept)
        rpc_connection_hang_up(l);
}

static int feed(struct fumi_rpc_connection *l, struct fumi_err *e)
{
    struct rpc_connection_http_state *x = state(l);
    assert(x->now);
    x->any = true;
    if (!x->head && read_head(l, e))
        return -1;
    if (!x->head)
        return 0;
    struct http_limits limits = limits_of(l, x->kind == ANSWER_EVENTS);
    struct http_fault f;
    ssize_t n = http_reply_read(&x->body, fumi_buf_str(&l->in), &x->text, &limits, &f);
    if (n < 0)
        return fault(l, &f, e);
    rpc_connection_eat(l, (size_t)n);
    if (x->kind == ANSWER_EVENTS && take_events(l, e))
        return -1;
    if (x->body.done)
        finish(l);
    return 0;
}

static void end(struct fumi_rpc_connection *l, struct fumi_err *e)
{
    struct rpc_connection_http_state *x = state(l);
    struct http_fault f = {0};
    fumi_err_set(e, FUMI_INTERNAL_ERROR,
                 "%s has closed the connection before it answered; what was sent may have run",
                 l->at.url);
    if (!x->now || !x->head)
        return;
    if (http_reply_end(&x->body, &f)) {
        fault(l, &f, e);
        return;
    }
    if (x->kind != ANSWER_EVENTS || take_events(l, e) == 0)
        finish(l);
}

/* A server may end a kept connection in the very moment in which it is used again. A message that
 * could not be sent whole has not run, and is sent once more on a new one; any other may have. */
static void dropped(struct fumi_rpc_connection *l, const struct fumi_err *why)
{
    struct rpc_connection_http_state *x = state(l);
    if (!x->now)
        return;
    if (x->any || !x->kept || !l->deaf || x->now->again) {
        rpc_connection_fail(l, x->now->number, why);
        clear(x);
        return;
    }
    struct letter *letter = x->now;
    x->now = NULL;
    clear(x);
    letter->again = true;
    letter->next = x->waiting;
    x->waiting = letter;
}

/* The exchange that is under way ends only after the question is answered, so that goes another
 * way.
 */
static void answer_aside(struct fumi_rpc_connection *l, struct fumi_str answer)
{
    struct rpc_connection_http_state *x = state(l);
    struct fumi_rpc_connection_options o = l->o;
    struct fumi_err ignored;
    struct fumi_arena a = {0};
    struct fumi_str unused;
    o.notified = NULL;
    o.server = NULL;
    if (!x->side)
        x->side = fumi_rpc_connection_open(l->at.url, &o, &ignored);
    if (x->side)
        fumi_rpc_connection_text(x->side, &a, answer, o.connect_time, &unused, &ignored);
    fumi_arena_done(&a);
}

const struct rpc_connection_way rpc_connection_http = {
    .target = "/rpc",
    .exchanges = true,
    .put = put,
    .answer = answer_aside,
    .feed = feed,
    .end = end,
    .dropped = dropped,
};
