/* subtract: the smallest useful program on libfumi. It answers over stdio, one message a line:
 *
 *   $ echo '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}' | subtract
 *   {"jsonrpc":"2.0","result":19,"id":1}
 */
#include "fumi.h"

#include <math.h>
#include <stdio.h>

struct pair {
    double minuend, subtrahend;
};

/* The order of the rows is the order of positional params; their names are the named ones. */
static const struct fumi_field pair_fields[] = {
    FUMI_FIELD(struct pair, minuend, "minuend", "What to subtract from.", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct pair, subtrahend, "subtrahend", "What to subtract.", .flags = FUMI_REQUIRED),
};
static const struct fumi_shape pair = FUMI_OPEN_SHAPE(struct pair, pair_fields);

struct difference {
    double value;
};

static const struct fumi_field difference_field[] = {
    FUMI_VALUE(struct difference, value, "The minuend less the subtrahend."),
};
static const struct fumi_shape difference = FUMI_SHAPE(struct difference, difference_field);

static enum fumi_ret subtract(struct fumi_call *call, const void *params, void *result)
{
    const struct pair *in = params;
    struct difference *out = result;

    out->value = in->minuend - in->subtrahend;
    if (!isfinite(out->value))
        return fumi_fail(call, FUMI_INVALID_PARAMS,
                         "the difference is too large; use smaller numbers");
    return FUMI_OK;
}

static const struct fumi_method methods[] = {
    {"subtract", "Subtracts a number from another.", &pair, &difference, subtract, FUMI_READ_ONLY},
};

int main(void)
{
    struct fumi_server *server = fumi_server_new("subtract", "1.0");
    struct fumi_err err = {0};

    int failed = fumi_server_add(server, NULL, methods, FUMI_COUNT(methods), NULL, &err) ||
                 fumi_serve_stdio(server, NULL, &err) < 0;
    if (failed)
        fprintf(stderr, "subtract: %s\n", err.text);
    fumi_server_free(server);
    return failed;
}
