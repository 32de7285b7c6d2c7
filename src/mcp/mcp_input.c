/* Rounds: how a handler gets input from its client.
 *
 * A modern client receives the input requests in a result of type input_required and repeats its
 * request with inputResponses and requestState; each of its requests is one round. A legacy client
 * is sent the requests while its own request is still open, and the rounds follow each other here.
 */
#include "mcp/mcp_parts.h"

enum { ROUNDS_MAX = 16 }; /* of a legacy request */

/* The text that a kept state is bound to: user, method, name and arguments. */
static struct fumi_str bound_to(const struct fumi_mcp_call *c)
{
    struct fumi_call *call = c->call;
    struct fumi_str arguments = fumi_compact(call->arena, c->arguments).text;
    return fumi_fmt(call->arena, "%.*s\n%.*s\n%.*s\n%.*s", FUMI_ARG(call->peer->user),
                    FUMI_ARG(call->name), FUMI_ARG(c->result->name), FUMI_ARG(arguments));
}

/* Reads the responses and the state that a modern client added to its repeated request. */
static enum fumi_ret take_responses(struct mcp_result *r, struct fumi_mcp_call *c)
{
    const struct fumi_val *params = r->x->params, *state = fumi_get(params, "requestState");
    struct fumi_arena *a = c->call->arena;
    if (!r->x->modern)
        return FUMI_OK;
    c->responses = fumi_get(params, "inputResponses");
    if (c->responses && !fumi_is(c->responses, FUMI_OBJECT))
        return fumi_mcp_refuse(c, FUMI_INVALID_PARAMS, "inputResponses must be an object");
    if (state && !mcp_state_read(c->mcp, a, bound_to(c), fumi_text(a, state), &c->state))
        return fumi_mcp_refuse(c, FUMI_INVALID_PARAMS,
                               "requestState was changed or has expired: start again without "
                               "it");
    return FUMI_OK;
}

static const char *capability_of(const char *method)
{
    static const struct {
        const char *method, *capability;
    } rows[] = {{"sampling/createMessage", "sampling"},
                {"elicitation/create", "elicitation"},
                {"roots/list", "roots"}};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        if (!strcmp(method, rows[i].method))
            return rows[i].capability;
    return method;
}

/* Sends all input requests to a legacy client. Collects the responses as a modern client would send
 * them. */
static enum fumi_ret request_inputs(struct mcp_result *r, struct fumi_mcp_call *c)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    enum fumi_ret ret = FUMI_OK;
    fumi_put_open(&o, '{');
    for (size_t i = 0; i < r->inputs_n && ret == FUMI_OK; i++) {
        struct fumi_json answer = {{0}};
        const char *capability = capability_of(r->inputs[i].method);
        if (!fumi_mcp_can(c, capability))
            ret = fumi_fail(c->call, FUMI_LIMIT, "The client does not support %s", capability);
        else
            ret = fumi_request(c->call, r->inputs[i].method, r->inputs[i].params, &answer);
        fumi_put_key(&o, r->inputs[i].key);
        fumi_put_json(&o, answer);
    }
    fumi_put_close(&o, '}');
    if (ret == FUMI_OK)
        c->responses = fumi_parse(c->call->arena, fumi_buf_keep(&b, c->call->arena), &c->call->err);
    fumi_buf_done(&b);
    return ret;
}

static void begin_round(struct mcp_result *r, struct fumi_mcp_call *c)
{
    mcp_result_restart(r);
    r->inputs_n = 0;
    c->state = r->keep;
    r->keep = (struct fumi_str){0};
    c->structured = (struct fumi_json){{0}};
}

enum fumi_ret mcp_run_rounds(struct mcp_result *r, struct fumi_mcp_call *c, mcp_handler *run,
                             const void *row, struct fumi_str name)
{
    r->name = name;
    mcp_identify(r->x);
    if (take_responses(r, c) != FUMI_OK)
        return FUMI_FAIL;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        enum fumi_ret ret = run(c, row);
        if (ret != FUMI_OK || !mcp_result_needs_input(r) || r->x->modern)
            return ret;
        if (request_inputs(r, c) != FUMI_OK)
            return FUMI_FAIL;
        begin_round(r, c);
    }
    return fumi_fail(c->call, FUMI_LIMIT, "The handler requested input %d times and did not finish",
                     ROUNDS_MAX);
}

static void put_input_requests(const struct mcp_result *r, struct fumi_out *o)
{
    fumi_put_key(o, "inputRequests");
    fumi_put_open(o, '{');
    for (size_t i = 0; i < r->inputs_n; i++) {
        fumi_put_key(o, r->inputs[i].key);
        fumi_put_open(o, '{');
        mcp_put_text(o, "method", r->inputs[i].method);
        fumi_put_key(o, "params");
        fumi_put_json(o, r->inputs[i].params);
        fumi_put_close(o, '}');
    }
    fumi_put_close(o, '}');
}

/* Requests only input for which the client declared the capability. */
enum fumi_ret mcp_input_required(struct fumi_mcp_call *c)
{
    const struct mcp_result *r = c->result;
    for (size_t i = 0; i < r->inputs_n; i++)
        if (fumi_mcp_require(c, capability_of(r->inputs[i].method)) != FUMI_OK)
            return FUMI_FAIL;
    struct fumi_out *o = r->x->out = fumi_result(c->call);
    fumi_put_open(o, '{');
    mcp_put_text(o, "resultType", "input_required");
    if (r->inputs_n)
        put_input_requests(r, o);
    if (r->keep.p) {
        fumi_put_key(o, "requestState");
        fumi_put_str(o, mcp_state_sign(c->mcp, c->call->arena, bound_to(c), r->keep));
    }
    return mcp_end_result(r->x, &mcp_uncached);
}
