/* Messages behind a head with Content-Length, over Unix sockets and with child processes. */
#include "net/frame.h"
#include "net/rpc_connection_parts.h"

static void put(struct fumi_rpc_connection *l, uint64_t number, struct fumi_str message)
{
    (void)number;
    frame_put(&l->out, message);
}

static void answer(struct fumi_rpc_connection *l, struct fumi_str text)
{
    if (!rpc_connection_is_crowded(l))
        frame_put(&l->out, text);
}

/* Takes one message, or what is there of one that is too long. Returns how many bytes that were;
 * 0: more are needed; -1: where the next message begins is not known. */
static ssize_t take(struct fumi_rpc_connection *l, struct fumi_str bytes, struct fumi_err *e)
{
    struct fumi_err odd;
    size_t head, length;
    if (l->skip) {
        size_t some = l->skip < bytes.n ? l->skip : bytes.n;
        l->skip -= some;
        return (ssize_t)some;
    }
    int rc = frame_read(bytes, &head, &length, e);
    if (rc <= 0)
        return rc;
    if (length > l->o.limit) {
        rpc_connection_too_long(l);
        l->skip = length;
        return (ssize_t)head;
    }
    if (bytes.n - head < length)
        return 0;
    if (rpc_connection_take(l, (struct fumi_str){bytes.p + head, length}, 0, &odd))
        l->odd = odd;
    return (ssize_t)(head + length);
}

static int feed(struct fumi_rpc_connection *l, struct fumi_err *e)
{
    struct fumi_err why;
    size_t used = 0;
    ssize_t n = 0;
    while (used < l->in.n &&
           (n = take(l, (struct fumi_str){l->in.p + used, l->in.n - used}, &why)) > 0)
        used += (size_t)n;
    rpc_connection_eat(l, used);
    if (n >= 0)
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "what %s sends cannot be read: %s", l->at.url,
                        why.text);
}

const struct rpc_connection_way rpc_connection_framed = {
    .put = put,
    .answer = answer,
    .feed = feed,
    .end = rpc_connection_stream_end,
    .dropped = rpc_connection_fail_all,
};
