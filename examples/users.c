/* users: each user has a bearer token, which identifies the user in every call: calls are logged
 * with the name of the user, and limited per user.
 *
 *   users [ADDRESS] &
 *   curl -H 'Authorization: Bearer token-of-alice' -H 'Content-Type: application/json' \
 *       -d '{"jsonrpc":"2.0","method":"whoami","id":1}' 127.0.0.1:8765/rpc */
#include <fumi/fumi.h>

#include <stdio.h>

enum { CALLS = 5 }; /* per user and minute */
#define MINUTE (60 * INT64_C(1000000000))

struct user {
    const char *token, *name;
    int64_t began; /* start of the current minute; no lock, because all calls run on one thread */
    int calls;
};
static struct user users[] = {{"token-of-alice", "alice", 0, 0}, {"token-of-bob", "bob", 0, 0}};

/* Finds the user of the token and attaches it to the request as context. A context that is
 * allocated per request needs a destructor instead of NULL. */
static int authenticate(void *self, const struct fumi_http_request *r, struct fumi_refusal *out)
{
    struct fumi_str shown = fumi_http_field(r, "authorization"), scheme = FUMI_STR("Bearer ");
    (void)self;
    for (size_t i = 0; fumi_starts(shown, scheme) && i < FUMI_COUNT(users); i++) {
        struct fumi_str token = {shown.p + scheme.n, shown.n - scheme.n};
        if (fumi_eq(token,
                    fumi_str(users[i].token))) /* a real server compares digests in constant time */
            return fumi_http_attach(r, &users[i], NULL);
    }
    *out = (struct fumi_refusal){.status = 401,
                                 .reason = "a token is required",
                                 .field = {"WWW-Authenticate", "Bearer realm=\"users\""}};
    return -1;
}

/* Called for each call, including each call of a batch. */
static enum fumi_ret limit(void *self, struct fumi_call *call)
{
    struct user *user = call->context;
    (void)self;
    if (!user)
        return fumi_fail(call, -32001, "a connection without HTTP has no user: use HTTP");
    if (!user->began || call->began - user->began >= MINUTE)
        user->began = call->began, user->calls = 0;
    if (user->calls++ < CALLS)
        return FUMI_OK;
    return fumi_fail(call, -32029, "%s may make %d calls a minute", user->name, CALLS);
}

static void write_log(void *self, struct fumi_call *call)
{
    const struct user *user = call->context;
    fumi_log(self, FUMI_INFO, "call", {"user", fumi_str(user ? user->name : ""), 0},
             {"method", call->name, 0}, {"code", {0}, call->ret == FUMI_OK ? 0 : call->err.code});
}

static enum fumi_ret whoami(struct fumi_call *call, const void *params, void *result)
{
    const struct user *user = call->context;
    (void)params, (void)result;
    fumi_put_str(fumi_result(call), fumi_str(user->name));
    return FUMI_OK;
}
static const struct fumi_method methods[] = {
    {"whoami", "Returns the name of the caller.", NULL, NULL, whoami, FUMI_READ_ONLY},
};

static void listening(void *arg, struct fumi_str address)
{
    (void)arg;
    fprintf(stderr, "users: listening on %.*s\n", FUMI_ARG(address));
}

int main(int argc, char **argv)
{
    static const struct fumi_log log = {.level = FUMI_INFO};
    static const struct fumi_filter filter = {.name = "bearer", .before = authenticate};
    const struct fumi_processor processor = {"user", NULL, limit, write_log, (void *)&log};
    struct fumi_str address = fumi_str(argc > 1 ? argv[1] : "tcp:127.0.0.1:8765");
    struct fumi_serve_options o = {.set = {.listen = {&address, 1}, .auth = FUMI_AUTH_FILTER}};
    o.filters = &filter, o.filters_n = 1, o.log = &log, o.listening = listening;
    struct fumi_err e;
    struct fumi_server *server = fumi_server_new("users", "1.0");
    int rc = fumi_server_add(server, NULL, methods, FUMI_COUNT(methods), NULL, &e);
    if (!rc)
        rc = fumi_server_use(server, &processor, &e);
    if (!rc)
        rc = fumi_serve(server, &o, &e);
    if (rc < 0)
        fprintf(stderr, "users: %s\n", e.text);
    fumi_server_free(server);
    return rc < 0;
}
