/* Messages with a head that tells their length (frame.h): over stdin and stdout and over Unix
 * sockets. */
#include "net/conn.h"
#include "net/frame.h"

/* After a head that cannot be read nobody knows where the next message begins: nothing more is
 * read, and the connection closes once the calls before that head are answered. */
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

/* The input ends inside of a head or a message. */
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

/* How many bytes of a message were taken: all or, while it is skipped, those that are there. */
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

/* As ndjson_drain; what is cut then was cut by us. */
static void drain(struct conn *c)
{
    c->as.framed.draining = true;
    ndjson_drain(c);
}

const struct proto framed_proto = {"framed",         true,          .take = take,
                                   .answer = answer, .notify = put, .drain = drain};
