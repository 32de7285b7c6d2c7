/* MCP on one connection. For any input, each message gets exactly one reply (possibly empty), all
 * output is valid JSON-RPC 2.0 without additional members, and nothing is leaked when the peer
 * closes.
 *
 * The input consists of messages separated by the byte 0x1e. Between them, lists and resources
 * change. */
#include "fuzz.h"
#include "mcp/mcp.h"

enum { PARTS = 16 };

struct fixture {
    struct fumi_server *server;
    struct fumi_mcp *mcp;
    struct fumi_peer peer;
    struct fumi_tasks tasks;
    size_t sent, answered;
};

static void check_message(struct fumi_str text)
{
    static const char *const names[] = {"jsonrpc", "id", "method", "params", "result", "error"};
    struct fumi_arena a = {0};
    struct fumi_err e;
    const struct fumi_val *v = fumi_parse_deep(&a, text, FUMI_DEPTH_MAX, &e);
    MUST(v && !memchr(text.p, '\n', text.n));
    const struct fumi_val *one = fumi_is(v, FUMI_ARRAY) ? fumi_first(v) : v;
    for (; one; one = fumi_is(v, FUMI_ARRAY) ? fumi_after(v, one) : NULL) {
        size_t known = 0;
        for (size_t i = 0; i < FUMI_COUNT(names); i++)
            known += fumi_get(one, names[i]) != NULL;
        MUST(fumi_is(one, FUMI_OBJECT) && fumi_size(one) == known);
        MUST(fumi_text_is(fumi_get(one, "jsonrpc"), FUMI_STR("2.0")));
        MUST(fumi_is(fumi_get(one, "method"), FUMI_STRING) || fumi_get(one, "result") ||
             fumi_is(fumi_get(one, "error"), FUMI_OBJECT));
    }
    fumi_arena_done(&a);
}

static void take_notification(void *arg, struct fumi_buf *message)
{
    (void)arg;
    check_message(fumi_buf_str(message));
}

static void take_push(struct fumi_peer *peer, struct fumi_buf *message)
{
    (void)peer;
    check_message(fumi_buf_str(message));
}

static void take_reply(void *arg, struct fumi_buf *answer, int code)
{
    struct fixture *s = arg;
    (void)code;
    s->answered++;
    if (answer->n)
        check_message(fumi_buf_str(answer));
}

static void submit(void *arg, struct fumi_task *task)
{
    fumi_tasks_add(&((struct fixture *)arg)->tasks, task);
}

static void drain(struct fixture *s)
{
    for (struct fumi_task *t; (t = fumi_tasks_take(&s->tasks));)
        t->run(t);
}

static enum fumi_ret echo(struct fumi_mcp_call *c)
{
    fumi_progress(c->call, 1, 2, FUMI_STR("half"));
    fumi_mcp_log(c, FUMI_MCP_INFO, FUMI_STR("echo"));
    c->structured = fumi_compact(c->call->arena, c->arguments);
    fumi_mcp_text(c, c->structured.text);
    return c->arguments ? FUMI_OK : fumi_fail(c->call, -32003, "nothing to say");
}

static enum fumi_ret needs_input(struct fumi_mcp_call *c)
{
    if (fumi_get(c->responses, "k"))
        return fumi_mcp_failed(c, c->state.p ? c->state : FUMI_STR("none"));
    fumi_mcp_request_input(c, "k", "roots/list", (struct fumi_json){FUMI_STR("{}")});
    fumi_mcp_keep_state(c, FUMI_STR("state"));
    return FUMI_OK;
}

static const struct fumi_tool tools[] = {
    {.name = "echo", .description = "E.", .input = "{\"type\":\"object\"}", .run = echo},
    {.name = "slow", .description = "S.", .run = echo, .flags = FUMI_BLOCKING},
    {.name = "asks", .description = "A.", .run = needs_input, .flags = FUMI_BLOCKING},
};

static enum fumi_ret say(struct fumi_mcp_call *c)
{
    fumi_mcp_image(c, "image/png", FUMI_STR("AA=="));
    return needs_input(c);
}

static const struct fumi_prompt_argument arguments[] = {{"a", "A.", true}, {"b", "B.", false}};
static const struct fumi_prompt prompts[] = {
    {"say", "Say", "S.", arguments, FUMI_COUNT(arguments), say, FUMI_BLOCKING},
};

static enum fumi_ret list(struct fumi_mcp_call *c, struct fumi_str cursor)
{
    const struct fumi_resource r = {.uri = FUMI_STR("x://1"), .name = FUMI_STR("one")};
    if (cursor.p && !fumi_eq(cursor, FUMI_STR("2")))
        return FUMI_FAIL;
    fumi_mcp_resource(c, &r);
    if (!cursor.p)
        fumi_mcp_next_cursor(c, FUMI_STR("2"));
    return FUMI_OK;
}

static enum fumi_ret read_one(struct fumi_mcp_call *c, struct fumi_str uri)
{
    if (fumi_starts(uri, FUMI_STR("x://")))
        fumi_mcp_contents(c, uri, "text/plain", uri);
    return FUMI_OK;
}

static const struct fumi_template templates[] = {{"x://{n}", "n", NULL, "N.", NULL}};
static const struct fumi_resources resources = {list, read_one, templates, 1, FUMI_BLOCKING};

static enum fumi_ret complete(struct fumi_mcp_call *c, const struct fumi_mcp_completion_request *q)
{
    for (size_t i = 0; i < 120; i++)
        fumi_mcp_add_completion(c, q->value);
    return FUMI_OK;
}

static void set_up(struct fixture *s)
{
    struct fumi_err e = {0};
    const struct fumi_mcp_options o = {.name = "fuzz",
                                       .version = "1",
                                       .tools = tools,
                                       .tools_n = FUMI_COUNT(tools),
                                       .prompts = prompts,
                                       .prompts_n = FUMI_COUNT(prompts),
                                       .resources = &resources,
                                       .changes = 7,
                                       .complete = complete};
    s->server = fumi_server_new("fuzz", "1");
    fumi_server_log(s->server, NULL);
    fumi_server_executor(s->server, submit, s);
    fumi_server_limits(s->server, (struct fumi_limits){.request = 1});
    s->mcp = fumi_mcp_new(s->server, &o, &e);
    MUST(s->mcp);
}

static struct fixture fixture;

static void tear_down(void)
{
    fumi_mcp_free(fixture.mcp);
    fumi_server_free(fixture.server);
}

static void handle(struct fixture *s, struct fumi_str message)
{
    s->sent++;
    fumi_handle(s->server, &s->peer, message,
                (struct fumi_sink){.notify = take_notification, .reply = take_reply, .arg = s});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fixture *s = &fixture;
    if (!s->server) {
        set_up(s);
        atexit(tear_down);
    }
    s->sent = s->answered = 0;
    s->peer = (struct fumi_peer){.transport = "fuzz", .push = n % 5 ? take_push : NULL};
    const uint8_t *end = data + n;
    for (size_t i = 0; i < PARTS && data <= end; i++) {
        const uint8_t *stop = data < end ? memchr(data, 0x1e, (size_t)(end - data)) : NULL;
        const uint8_t *last = stop ? stop : end;
        struct fumi_str part = exact_copy(data, (size_t)(last - data));
        handle(s, part);
        exact_free(part);
        if (i % 3 == 0)
            drain(s);
        fumi_mcp_changed(s->mcp, (enum fumi_mcp_list)(i % 3));
        fumi_mcp_updated(s->mcp, FUMI_STR("x://1"));
        data = last + 1;
    }
    if (n % 2)
        fumi_peer_eof(&s->peer);
    drain(s);
    fumi_peer_close(&s->peer);
    drain(s);
    MUST(s->sent == s->answered);
    fumi_peer_done(&s->peer);
    return 0;
}
