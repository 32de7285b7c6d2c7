/* One message or batch per line, one answer per line (NDJSON), over stdin and stdout and over Unix
 * sockets. Also detects the protocol of such a connection from its first bytes. */
#include "net/conn.h"
#include "net/frame.h"

static void put_line(struct conn *c, const struct fumi_buf *text)
{
    if (!text->n)
        return;
    struct fumi_buf *out = conn_out(c);
    char *to = fumi_buf_reserve(out, text->n + 1);
    memcpy(to, text->p, text->n);
    to[text->n] = '\n';
    out->n += text->n + 1;
}

static void refuse_long(struct conn *c)
{
    struct fumi_err e;
    fumi_err_set(&e, FUMI_INVALID_REQUEST, "the line is longer than the limit of %zu bytes",
                 c->limit);
    conn_refuse(c, &e);
}

static bool is_blank(struct fumi_str line)
{
    size_t i = 0;
    while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t' || line.p[i] == '\r'))
        i++;
    return i == line.n;
}

static void on_line(struct conn *c, struct fumi_str line)
{
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    if (line.n > c->limit)
        refuse_long(c);
    else if (!is_blank(line))
        conn_handle(c, line, true);
}

/* Handles input without a newline. At the end of input it counts as a line. Otherwise it is kept,
 * unless it is too long. One byte above the limit is allowed, because it may be the CR of a line
 * that just fits. */
static size_t take_rest(struct conn *c, struct fumi_str rest, bool over)
{
    struct ndjson *l = &c->as.ndjson;
    bool too_long = rest.n > c->limit && rest.n - c->limit > 1;
    l->seen = rest.n;
    if (!over && !too_long && !l->skipping)
        return 0;
    l->seen = 0;
    if (!l->skipping && rest.n)
        on_line(c, rest);
    l->skipping = !over;
    return rest.n;
}

static size_t take(struct conn *c, char *p, size_t n, bool over)
{
    struct ndjson *l = &c->as.ndjson;
    size_t used = 0;
    while (n && !conn_held(c)) {
        const char *newline = memchr(p + used + l->seen, '\n', n - used - l->seen);
        if (!newline)
            return used + take_rest(c, (struct fumi_str){p + used, n - used}, over);
        struct fumi_str line = {p + used, (size_t)(newline - p) - used};
        used = (size_t)(newline - p) + 1;
        l->seen = 0;
        if (!l->skipping)
            on_line(c, line);
        l->skipping = false;
    }
    return used;
}

static void answer(struct conn *c, struct fumi_buf *text, int code)
{
    (void)code;
    put_line(c, text);
}

/* Reads no more input. Messages that were held back are still handled and answered. Without them,
 * the unconsumed input is an incomplete line, which is discarded. */
void ndjson_drain(struct conn *c)
{
    if (c->state != CONN_OPEN)
        return;
    c->state = CONN_EOF;
    if (!c->held)
        fumi_buf_done(&c->rest);
    fumi_peer_eof(&c->peer);
}

static void notify(struct conn *c, struct fumi_buf *text)
{
    put_line(c, text);
}

const struct proto ndjson_proto = {
    "lines", true, .take = take, .answer = answer, .notify = notify, .drain = ndjson_drain};

/* Chooses between lines and headers, by the setting or by the first bytes of the peer. Returns NULL
 * if more bytes are needed. */
static const struct proto *choose(const struct conn *c, struct fumi_str bytes, bool over)
{
    int framing = c->io->shared->set.framing;
    int heads = framing == FUMI_FRAMING_AUTO ? frame_detect(bytes) : 0;
    if (framing == FUMI_FRAMING_HEADERS || heads > 0)
        return &framed_proto;
    return framing == FUMI_FRAMING_LINES || heads < 0 || over ? &ndjson_proto : NULL;
}

/* These protocols carry no token, so only clients that need no token may use them. */
static size_t begin(struct conn *c, const struct proto *proto, size_t n)
{
    struct fumi_err e;
    conn_set_proto(c, proto); /* before the refusal, which must have the framing of the peer */
    if (access_without_token(c->io->shared->access, &c->client) && c->state != CONN_SURPLUS)
        return 0;
    fumi_err_set(&e, FUMI_INVALID_REQUEST,
                 c->state == CONN_SURPLUS
                     ? "too many connections; try again later"
                     : "a token is required: use HTTP with Authorization: Bearer");
    conn_refuse(c, &e);
    conn_end(c);
    return n;
}

/* An HTTP request begins with a capital letter, a message with a bracket or with Content-Length. */
static size_t sniff(struct conn *c, char *p, size_t n, bool over)
{
    if (n == 0)
        return 0;
    bool letter = p[0] >= 'A' && p[0] <= 'Z';
    const struct proto *proto = choose(c, (struct fumi_str){p, n}, over);
    if (!proto)
        return 0;
    if (!letter || (proto == &framed_proto && frame_detect((struct fumi_str){p, n}) > 0))
        return begin(c, proto, n);
    conn_set_proto(c, &http_proto);
    return 0;
}

static size_t sniff_stdio(struct conn *c, char *p, size_t n, bool over)
{
    const struct proto *proto = choose(c, (struct fumi_str){p, n}, over);
    const char *transport = c->peer.transport;
    if (proto)
        conn_set_proto(c, proto);
    c->peer.transport = transport;
    return 0;
}

const struct proto stdio_proto = {
    "stdio", true, .take = sniff_stdio, .answer = answer, .notify = notify, .drain = ndjson_drain};

/* The protocol is not known yet, so there is no message to answer. */
static void drain_new(struct conn *c)
{
    conn_end(c);
}

static enum wait waits_new(struct conn *c)
{
    (void)c;
    return WAIT_HEAD;
}

static void timed_out_new(struct conn *c, enum wait kind)
{
    (void)kind;
    conn_close(c);
}

const struct proto unix_proto = {"unix",
                                 true,
                                 .take = sniff,
                                 .answer = answer,
                                 .notify = notify,
                                 .waits = waits_new,
                                 .timed_out = timed_out_new,
                                 .drain = drain_new};
