/* subtract: the smallest useful program with libfumi. It serves stdio, one message per line:
 *
 *   $ echo '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}' | subtract
 *   {"jsonrpc":"2.0","result":19,"id":1}
 */
#include <fumi/fumi.h>

#include <math.h>
#include <stdio.h>

/* The numbers as parsed JSON, because a double cannot hold every integer of 64 bits. */
struct pair {
    const struct fumi_val *minuend, *subtrahend;
};

/* The fields are in the order of positional params. None is FUMI_REQUIRED, because subtract checks
 * its params itself. */
static const struct fumi_field pair_fields[] = {
    FUMI_FIELD(struct pair, minuend, "minuend", "The number to subtract from.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct pair, subtrahend, "subtrahend", "The number to subtract.",
               .flags = FUMI_NULLABLE),
};
static const struct fumi_shape pair = FUMI_OPEN_SHAPE(struct pair, pair_fields);

struct difference {
    struct fumi_json value;
};

static const struct fumi_field difference_field[] = {
    FUMI_VALUE(struct difference, value, "The minuend minus the subtrahend, a number."),
};
static const struct fumi_shape difference = FUMI_SHAPE(struct difference, difference_field);

/* Writes the difference of two integers. Returns false if one of the three does not fit into 64
 * bits. */
static bool subtract_integers(struct fumi_out *out, const struct pair *in)
{
    int64_t a, b, value;
    if (!fumi_int(in->minuend, &a) || !fumi_int(in->subtrahend, &b) ||
        __builtin_sub_overflow(a, b, &value))
        return false;
    fumi_put_int(out, value);
    return true;
}

static bool subtract_reals(struct fumi_out *out, const struct pair *in)
{
    double a, b;
    if (!fumi_real(in->minuend, &a) || !fumi_real(in->subtrahend, &b) || !isfinite(a - b))
        return false;
    fumi_put_real(out, a - b);
    return true;
}

static enum fumi_ret subtract(struct fumi_call *call, const void *params, void *result)
{
    enum { DIGITS = 64 };
    const struct pair *in = params;
    struct fumi_buf digits = {fumi_alloc(call->arena, DIGITS), 0, DIGITS, DIGITS, false};
    struct fumi_out out = {.buf = &digits};

    if (!fumi_is(in->minuend, FUMI_NUMBER) || !fumi_is(in->subtrahend, FUMI_NUMBER))
        return fumi_fail(call, FUMI_INVALID_PARAMS,
                         "expected two numeric parameters: [minuend, subtrahend]");
    if (!subtract_integers(&out, in) && !subtract_reals(&out, in))
        return fumi_fail(call, FUMI_INVALID_PARAMS, "the numbers are too large; use smaller ones");
    ((struct difference *)result)->value.text = fumi_buf_str(&digits);
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
