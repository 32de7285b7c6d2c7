/* `fumi serve --project` and `--read-only` as processes: the table of calls of
 * unit/agent/test_scope.c over stdio and HTTP, plain and as MCP tools. */
#include "scope_fixture.h"
#include "wire.h"

static const struct scope of_project = {.project = {OWN, sizeof(OWN) - 1}};
static const struct scope of_reader = {.read_only = true};

/* The provider of the fixture, for the server too. */
static bool set_environment(struct fixture *t)
{
    return !setenv("FUMI_EMBEDDER_PROVIDER", "openai", 1) &&
           !setenv("FUMI_EMBEDDER_MODEL", "m", 1) &&
           !setenv("FUMI_EMBEDDER_API_KEY", "sk-test-key", 1) && !setenv("HOME", t->dir, 1) &&
           !setenv("FUMI_EMBEDDER_BASE_URL",
                   fumi_fmt(&t->a, "http://127.0.0.1:%d/v1", t->fake->port).p, 1);
}

static bool begin(struct fixture *t, struct scope s)
{
    if (!world_make(t) || !set_environment(t))
        return false;
    t->scope = s;
    return true;
}

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}},"

static struct fumi_str request_of(struct fixture *t, size_t i, bool tool, bool modern)
{
    const struct row *r = &rows[i];
    if (!tool)
        return fumi_fmt(&t->a,
                        "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"memory.%s\",\"params\":%s}",
                        i, r->method, r->params);
    return fumi_fmt(&t->a,
                    "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{%s"
                    "\"name\":\"memory_%s\",\"arguments\":%s}}",
                    i, modern ? META : "", r->method, r->params);
}

static void check_row(struct fixture *t, size_t i, struct fumi_str request, struct fumi_str answer)
{
    if (holds(answer, "Unknown tool: memory_")) /* a method that is not a tool */
        return;
    if (!row_holds(t, &rows[i], &t->scope, request, answer))
        TEST_FAIL("%s is not as its row says", rows[i].method);
}

static void check_store(struct fixture *t, struct fumi_str all, struct fumi_str foreign)
{
    CHECK(holds(foreign, "zqvalue") && fumi_eq(world_dump(t, true), foreign));
    CHECK_INT(fumi_eq(world_dump(t, false), all), t->scope.read_only);
}

static bool write_lines(struct fixture *t, const char *path, bool tools)
{
    FILE *f = fopen(path, "we");
    if (!f)
        return false;
    if (tools)
        fputs("{\"jsonrpc\":\"2.0\",\"id\":\"hello\",\"method\":\"initialize\",\"params\":{"
              "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
              "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n"
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
              f);
    for (size_t i = 0; i < ROWS; i++)
        fprintf(f, "%s\n", request_of(t, i, tools, false).p);
    return fclose(f) == 0;
}

/* by_flag: the scope is given as a flag, otherwise in the environment. */
static int serve_lines(struct fixture *t, const char *in, const char *out, bool by_flag)
{
    int status = -1;
    const char *flag = t->scope.read_only ? "--read-only" : "--project=" OWN;
    const char *variable = t->scope.read_only ? "FUMI_READ_ONLY" : "FUMI_PROJECT";
    live_env();
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen(in, "r", stdin) || !freopen(out, "w", stdout) ||
            (!by_flag && setenv(variable, t->scope.read_only ? "true" : OWN, 1)))
            _exit(126);
        execl(FUMI, FUMI, "serve", "--data-dir", t->dir, by_flag ? flag : NULL, (char *)NULL);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

/* The answer to a row, among all lines. */
static struct fumi_str line_of(struct fixture *t, struct fumi_str all, size_t i)
{
    int64_t id;
    while (all.n) {
        const char *stop = memchr(all.p, '\n', all.n);
        struct fumi_str line = {all.p, stop ? (size_t)(stop - all.p) : all.n};
        const struct fumi_val *v = fumi_parse(&t->a, line, &t->e);
        if (fumi_int(fumi_get(v, "id"), &id) && (size_t)id == i)
            return line;
        size_t used = line.n + (stop != NULL);
        all = (struct fumi_str){all.p + used, all.n - used};
    }
    return all;
}

static struct fumi_str read_all(struct fixture *t, const char *path)
{
    struct fumi_buf b = {0};
    FILE *f = fopen(path, "re");
    size_t n;
    while (f && (n = fread(fumi_buf_reserve(&b, 4096), 1, 4096, f)) > 0)
        b.n += n;
    if (f)
        fclose(f);
    return fumi_buf_keep(&b, &t->a);
}

static void over_stdio(struct scope s, bool tools, bool by_flag)
{
    struct fixture t;
    CHECK(begin(&t, s));
    struct fumi_str all = world_dump(&t, false), foreign = world_dump(&t, true);
    const char *in = fumi_fmt(&t.a, "%s/in", t.dir).p, *out = fumi_fmt(&t.a, "%s/out", t.dir).p;
    CHECK(write_lines(&t, in, tools));
    CHECK_INT(serve_lines(&t, in, out, by_flag), 0);
    struct fumi_str lines = read_all(&t, out);
    for (size_t i = 0; i < ROWS; i++)
        check_row(&t, i, request_of(&t, i, tools, false), line_of(&t, lines, i));
    check_store(&t, all, foreign);
    world_end(&t);
}

TEST(one_project_over_stdio)
{
    over_stdio(of_project, false, true);
    over_stdio(of_project, true, true);
    over_stdio(of_project, false, false);
}

TEST(read_only_over_stdio)
{
    over_stdio(of_reader, false, true);
    over_stdio(of_reader, true, true);
    over_stdio(of_reader, false, false);
}

static struct fumi_str post(struct wire *w, const struct live *s, struct fumi_str message,
                            const char *tool)
{
    char head[768];
    struct fumi_buf b = {0};
    int n = snprintf(head, sizeof(head),
                     "POST %s HTTP/1.1\r\nHost: localhost:%u\r\nContent-Type: application/json\r\n"
                     "Accept: application/json, text/event-stream\r\n"
                     "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                     "Mcp-Name: memory_%s\r\nContent-Length: %zu\r\n\r\n",
                     tool ? "/mcp" : "/rpc", s->port, tool ? tool : "", message.n);
    fumi_buf_add(&b, head, (size_t)n);
    fumi_buf_add(&b, message.p, message.n);
    bool sent = wire_put(w, fumi_buf_str(&b));
    fumi_buf_done(&b);
    return sent ? wire_reply(w, false).body : (struct fumi_str){0};
}

static void over_http(struct scope s, bool tools)
{
    struct fixture t;
    struct live server;
    struct wire w;
    CHECK(begin(&t, s));
    struct fumi_str all = world_dump(&t, false), foreign = world_dump(&t, true);
    struct fumi_str flags = fumi_fmt(&t.a, "--data-dir %s %s", t.dir,
                                     s.read_only ? "--read-only" : "--project " OWN);
    CHECK_INT(live_start_as(&server, FUMI, "serve", flags.p), 0);
    wire_tcp(&w, &server);
    for (size_t i = 0; i < ROWS; i++) {
        struct fumi_str request = request_of(&t, i, tools, true);
        check_row(&t, i, request, post(&w, &server, request, tools ? rows[i].method : NULL));
    }
    wire_close(&w);
    CHECK_INT(live_stop(&server), 0);
    check_store(&t, all, foreign);
    world_end(&t);
}

TEST(one_project_over_http)
{
    over_http(of_project, false);
    over_http(of_project, true);
}

TEST(read_only_over_http)
{
    over_http(of_reader, false);
    over_http(of_reader, true);
}
