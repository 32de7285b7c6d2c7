/* Messages with Content-Length headers (frame.h), over stdin and stdout and over Unix sockets. */
#include "net/conn.h"
#include "net/frame.h"

/* After an invalid header the beginning of the next message is unknown. So no more input is read,
 * and the connection closes after the calls before that header are answered. */
static size_t give_up(struct conn *c, const struct fumi_err *e, size_t n)
{
    conn_refuse(c, e);
    if (!c->open) {
        conn_end(c);
        return n;
    }
    c->state = CONN_EOF;
    conn_schedule(c);
    fumi_peer_eof(&c->peer);
    return n;
}

static void refuse_long(struct conn *c)
{
    struct fumi_err e;
    fumi_err_set(&e, FUMI_INVALID_REQUEST,
                 "Content-Length is %zu, which is more than the limit of %zu bytes",
                 c->as.framed.length, c->limit);
    conn_refuse(c, &e);
}

/* At the end of input, an incomplete header or message is an error, unless it is discarded. */
static size_t end_input(struct conn *c, size_t n)
{
    struct framed *f = &c->as.framed;
    struct fumi_err e;
    if (f->skipping || f->draining || (!n && !f->in_body))
        return n;
    if (f->in_body)
        fumi_err_set(&e, FUMI_PARSE_ERROR, "the input ended after %zu of %zu bytes of a message", n,
                     f->length);
    else
        fumi_err_set(&e, FUMI_INVALID_REQUEST, "the input ended inside a header");
    conn_refuse(c, &e);
    f->in_body = false;
    return n;
}

/* Consumes a complete message, or the available part of a message that is skipped. Returns the
 * number of bytes consumed; 0 if more are needed. */
static size_t take_body(struct conn *c, const char *p, size_t n)
{
    struct framed *f = &c->as.framed;
    if (f->skipping) {
        size_t some = n < f->length ? n : f->length;
        f->length -= some;
        f->in_body = f->skipping = f->length > 0;
        return some;
    }
    if (n < f->length) {
        c->want = f->length;
        return 0;
    }
    c->want = 0;
    f->in_body = false;
    conn_handle(c, (struct fumi_str){p, f->length}, true);
    return f->length;
}

static size_t take(struct conn *c, char *p, size_t n, bool over)
{
    struct framed *f = &c->as.framed;
    size_t used = 0, head;
    while (used < n && !conn_held(c)) {
        struct fumi_err e;
        if (f->in_body) {
            size_t some = take_body(c, p + used, n - used);
            used += some;
            if (f->in_body && !some)
                break;
            continue;
        }
        int rc = frame_read((struct fumi_str){p + used, n - used}, &head, &f->length, &e);
        if (rc < 0)
            return give_up(c, &e, n);
        if (rc == 0)
            break;
        used += head;
        f->in_body = true;
        f->skipping = f->length > c->limit;
        if (f->skipping)
            refuse_long(c);
        else if (!f->length)
            take_body(c, p + used, 0);
    }
    if (over && !conn_held(c))
        used += end_input(c, n - used);
    return used;
}

static void put(struct conn *c, struct fumi_buf *text)
{
    if (text->n)
        frame_put(conn_out(c), fumi_buf_str(text));
}

static void answer(struct conn *c, struct fumi_buf *text, int code)
{
    (void)code;
    put(c, text);
}

/* The rest of an incomplete message is not read, so end_input must not report it as an error. */
static void drain(struct conn *c)
{
    c->as.framed.draining = true;
    ndjson_drain(c);
}

const struct proto framed_proto = {"framed",         true,          .take = take,
                                   .answer = answer, .notify = put, .drain = drain};
