/* Transport with Content-Length headers, for Unix sockets and child processes. */
#include "net/frame.h"
#include "net/rpc_connection_parts.h"

static void queue(struct fumi_rpc_connection *c, uint64_t number, struct fumi_str message)
{
    (void)number;
    frame_put(&c->out, message);
}

static void answer(struct fumi_rpc_connection *c, struct fumi_str text)
{
    if (!rpc_connection_is_congested(c))
        frame_put(&c->out, text);
}

/* Consumes one message, or the available part of one that is too long. Returns the number of bytes
 * consumed; 0 if more are needed; -1 if the header is invalid, so that the next message cannot be
 * found. */
static ssize_t take(struct fumi_rpc_connection *c, struct fumi_str bytes, struct fumi_err *e)
{
    struct fumi_err why_rejected;
    size_t head, length;
    if (c->skip) {
        size_t some = c->skip < bytes.n ? c->skip : bytes.n;
        c->skip -= some;
        return (ssize_t)some;
    }
    int rc = frame_read(bytes, &head, &length, e);
    if (rc <= 0)
        return rc;
    if (length > c->options.limit) {
        rpc_connection_fail_too_long(c);
        c->skip = length;
        return (ssize_t)head;
    }
    if (bytes.n - head < length)
        return 0;
    if (rpc_connection_receive(c, (struct fumi_str){bytes.p + head, length}, 0, &why_rejected))
        c->rejected = why_rejected;
    return (ssize_t)(head + length);
}

static int parse(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    struct fumi_err why;
    size_t used = 0;
    ssize_t n = 0;
    while (used < c->in.n &&
           (n = take(c, (struct fumi_str){c->in.p + used, c->in.n - used}, &why)) > 0)
        used += (size_t)n;
    rpc_connection_consume(c, used);
    if (n >= 0)
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "the data from %s cannot be read: %s",
                        c->endpoint.url, why.text);
}

const struct rpc_connection_transport rpc_connection_framed = {
    .queue = queue,
    .answer = answer,
    .parse = parse,
    .eof = rpc_connection_stream_eof,
    .disconnected = rpc_connection_fail_all,
};
