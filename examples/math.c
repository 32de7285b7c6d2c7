/* math: methods in a name space, with a bearer token and a log of calls, over HTTP and WebSocket on
 * one port.
 *
 *   MATH_TOKEN=0123456789abcdef math [ADDRESS] &
 *   curl -H 'Authorization: Bearer 0123456789abcdef' -H 'Content-Type: application/json' \
 *       -d '{"jsonrpc":"2.0","method":"math.add","params":[2,3],"id":1}' 127.0.0.1:8765/rpc */
#include <fumi/fumi.h>

#include <stdio.h>
#include <stdlib.h>

struct pair {
    double a, b;
};

static const struct fumi_field pair_fields[] = {
    FUMI_FIELD(struct pair, a, "a", "First number.", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct pair, b, "b", "Second number.", .flags = FUMI_REQUIRED),
};
static const struct fumi_shape pair = FUMI_SHAPE(struct pair, pair_fields);

struct number {
    double value;
};

static const struct fumi_field number_field[] = {
    FUMI_VALUE(struct number, value, "The result."),
};
static const struct fumi_shape number = FUMI_SHAPE(struct number, number_field);

static enum fumi_ret add(struct fumi_call *call, const void *params, void *result)
{
    const struct pair *in = params;
    (void)call;
    ((struct number *)result)->value = in->a + in->b;
    return FUMI_OK;
}

static enum fumi_ret multiply(struct fumi_call *call, const void *params, void *result)
{
    const struct pair *in = params;
    (void)call;
    ((struct number *)result)->value = in->a * in->b;
    return FUMI_OK;
}

static enum fumi_ret divide(struct fumi_call *call, const void *params, void *result)
{
    const struct pair *in = params;
    if (in->b == 0)
        return fumi_fail(call, FUMI_INVALID_PARAMS, "b must not be 0");
    ((struct number *)result)->value = in->a / in->b;
    return FUMI_OK;
}

static const struct fumi_method methods[] = {
    {"add", "Adds two numbers.", &pair, &number, add, FUMI_READ_ONLY},
    {"multiply", "Multiplies two numbers.", &pair, &number, multiply, FUMI_READ_ONLY},
    {"divide", "Divides a by b.", &pair, &number, divide, FUMI_READ_ONLY},
    /* The same methods with capitalized names, as some JSON-RPC libraries have them. They are
     * hidden, so that rpc.discover lists each method once. */
    {"Add", NULL, &pair, &number, add, FUMI_READ_ONLY | FUMI_HIDDEN},
    {"Multiply", NULL, &pair, &number, multiply, FUMI_READ_ONLY | FUMI_HIDDEN},
    {"Divide", NULL, &pair, &number, divide, FUMI_READ_ONLY | FUMI_HIDDEN},
};

static void listening(void *arg, struct fumi_str address)
{
    (void)arg;
    fprintf(stderr, "math: listening on %.*s\n", FUMI_ARG(address));
}

static int serve(struct fumi_server *server, char *address, const char *token, struct fumi_err *e)
{
    static const struct fumi_log log = {.level = FUMI_INFO};
    struct fumi_processor logging = fumi_log_calls(&log);
    struct fumi_str listen[] = {fumi_str(address)};
    struct fumi_serve_options options = {
        .set = {.listen = {listen, 1}, .auth = FUMI_AUTH_TOKEN, .token = fumi_str(token)},
        .log = &log,
        .listening = listening,
    };
    if (fumi_server_add(server, "math", methods, FUMI_COUNT(methods), NULL, e) ||
        fumi_server_use(server, &logging, e))
        return -1;
    return fumi_serve(server, &options, e);
}

int main(int argc, char **argv)
{
    static char standard[] = "tcp:127.0.0.1:8765";
    struct fumi_err e;
    const char *token = getenv("MATH_TOKEN");
    if (!token) {
        fprintf(stderr, "math: set MATH_TOKEN, the bearer token of the clients\n");
        return 2;
    }
    struct fumi_server *server = fumi_server_new("math", "1.0");
    int rc = serve(server, argc > 1 ? argv[1] : standard, token, &e);
    if (rc < 0)
        fprintf(stderr, "math: %s\n", e.text);
    fumi_server_free(server);
    return rc < 0;
}
