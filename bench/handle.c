/* A whole call of `subtract`: parse, bind, dispatch, answer, without any transport. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "rpc/rpc.h"

struct operands {
    double minuend, subtrahend;
};
static const struct fumi_field operand_fields[] = {
    FUMI_FIELD(struct operands, minuend, "minuend", "What is reduced.", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct operands, subtrahend, "subtrahend", "By how much.", .flags = FUMI_REQUIRED),
};
static const struct fumi_shape operands = FUMI_OPEN_SHAPE(struct operands, operand_fields);

struct difference {
    double value;
};
static const struct fumi_field difference_fields[] = {
    FUMI_VALUE(struct difference, value, "minuend - subtrahend."),
};
static const struct fumi_shape difference = FUMI_SHAPE(struct difference, difference_fields);

static enum fumi_ret subtract(struct fumi_call *call, const void *params, void *result)
{
    const struct operands *in = params;
    struct difference *out = result;
    (void)call;
    out->value = in->minuend - in->subtrahend;
    return FUMI_OK;
}

static const struct fumi_method methods[] = {
    {"subtract", "Subtracts.", &operands, &difference, subtract, FUMI_READ_ONLY},
};

struct handle {
    struct fumi_server *server;
    struct fumi_peer peer;
    struct fumi_str message;
    bool count;     /* the results in the answer */
    size_t results; /* that were counted */
    int code;
};

static size_t count(struct fumi_str in, struct fumi_str what)
{
    size_t n = 0;
    const char *end = in.p + in.n, *p = in.p;
    while ((p = memmem(p, (size_t)(end - p), what.p, what.n))) {
        p += what.n;
        n++;
    }
    return n;
}

static void reply(void *arg, struct fumi_buf *answer, int code)
{
    struct handle *h = arg;
    h->code = code;
    if (h->count)
        h->results = count(fumi_buf_str(answer), FUMI_STR("\"result\":"));
}

struct handle *handle_open(const struct input *in)
{
    static const struct fumi_limits wide = {.message = 1 << 26, .batch = 20000, .answer = 1 << 26};
    struct handle *h = calloc(1, sizeof(*h));
    struct fumi_err e = {0};
    if (!h)
        abort();
    h->server = fumi_server_new("bench", "1");
    h->peer.transport = "bench";
    h->message = (struct fumi_str){in->text, in->n};
    fumi_server_limits(h->server, wide);
    if (fumi_server_add(h->server, NULL, methods, FUMI_COUNT(methods), NULL, &e)) {
        fprintf(stderr, "bench: %s\n", e.text);
        exit(1);
    }
    return h;
}

int handle_run(struct handle *h)
{
    struct fumi_sink sink = {.reply = reply, .arg = h};
    h->code = -1;
    fumi_handle(h->server, &h->peer, h->message, sink);
    return h->code ? -1 : 0;
}

int handle_check(struct handle *h, size_t calls)
{
    h->count = true;
    int rc = handle_run(h);
    h->count = false;
    return rc || h->results != calls ? -1 : 0;
}

void handle_close(struct handle *h)
{
    fumi_peer_close(&h->peer);
    fumi_peer_done(&h->peer);
    fumi_server_free(h->server);
    free(h);
}
