/* fumi serve: opens the memory, adds MCP and the processors to its server, and serves it. */
#include "agent/agent.h"
#include "app/browser.h"
#include "app/session.h"
#include "mcp/mcp_http.h"
#include "net/serve.h"
#include "page/page.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CACHE_WAIT_MS = 100 };

struct serve_flags {
    struct fumi_str transport, host, project;
    int64_t port;
    bool read_only, freeze, metrics, log_calls, open;
    int64_t message_limit, time_limit;
    int tools;
};

#define FIELD(member, wire, ...) FUMI_FIELD(struct serve_flags, member, wire, __VA_ARGS__)

static const struct fumi_field fields[] = {
    FIELD(transport, "transport",
          "stdio or http; defaultTransport of the configuration if not given."),
    FIELD(host, "host", "Address for http.", .min = 1, .max = 255, .def = "\"127.0.0.1\""),
    FIELD(port, "port", "Port for http; 0 = any free port.", .min = 0, .max = 65535, .def = "8765"),
    FIELD(tools, "tools",
          "MCP tools: all, core (the eight that most agents need), or admin (all and "
          "memory_set_config).",
          .choices = config_tool_sets, .def = "\"all\""),
    FIELD(read_only, "readOnly",
          "Reject every method that stores, changes or deletes data; MCP offers only tools that "
          "read."),
    FIELD(project, "project",
          "Project (a path or a name) to give access to; all others are hidden.", .min = 1,
          .max = PROJECT_MAX),
    FIELD(freeze, "freezeConfig", "Refuse memory.set_config."),
    FIELD(metrics, "metrics", "Count calls, and serve the counters at /metrics."),
    FIELD(log_calls, "logCalls", "Log each call."),
    FIELD(open, "open", "Open the page in the browser once the server listens."),
    FIELD(message_limit, "messageLimit", "Maximum size of a message in bytes.", .min = 1024,
          .max = 1 << 28, .def = "1048576"),
    FIELD(time_limit, "timeLimit", "Maximum duration of a call in milliseconds; 0 = unlimited.",
          .min = 0, .max = 86400000, .def = "60000"),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct serve_flags, fields);

static const struct flag_alias aliases[] = {
    {"t", "transport"},
    {"p", "port"},
    COMMAND_ALIASES,
};

/* This process holds keys and tokens: no core dumps, and no debugger may attach. */
static void hide_memory(void)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
}

/* glibc maps large blocks and unmaps them when they are freed, but raises the threshold for that
 * with each such block, up to 32 MiB. Then each worker would keep the memory of its largest answer.
 * Setting the threshold stops glibc from raising it. */
static void give_back_memory(void)
{
    enum { LARGE = 512 << 10 };
    mallopt(M_MMAP_THRESHOLD, LARGE);
}

static void listen_on(struct fumi_settings *set, struct fumi_arena *a, struct fumi_str address)
{
    struct fumi_str *all = fumi_alloc(a, (set->listen.n + 1) * sizeof(*all));
    if (set->listen.n)
        memcpy(all, set->listen.items, set->listen.n * sizeof(*all));
    all[set->listen.n] = address;
    set->listen = (struct fumi_strs){all, set->listen.n + 1};
}

static struct fumi_str tcp_address(struct fumi_arena *a, const struct serve_flags *f)
{
    bool bare = memchr(f->host.p, ':', f->host.n) && f->host.p[0] != '[';
    return fumi_fmt(a, "tcp:%s%.*s%s:%lld", bare ? "[" : "", FUMI_ARG(f->host), bare ? "]" : "",
                    (long long)f->port);
}

/* Chooses the addresses. Flags override the configuration. A list of addresses in the configuration
 * applies to http only: many agents start fumi on stdio at the same time, and only one of them
 * could listen on a port. */
static int choose(struct invocation *i, struct session *s, struct fumi_settings *set,
                  enum config_kind *kind)
{
    const struct serve_flags *f = i->flags;
    bool listed = i->http.set.listen.n, named = f->transport.n;
    *kind = (enum config_kind)s->config.transport.kind;
    if (named && !fumi_eq(f->transport, FUMI_STR("stdio")) &&
        !fumi_eq(f->transport, FUMI_STR("http")))
        return command_misuse(i, "invalid transport: %.*s (must be stdio or http)",
                              FUMI_ARG(f->transport));
    if (named)
        *kind = fumi_eq(f->transport, FUMI_STR("http")) ? CONFIG_HTTP : CONFIG_STDIO;
    if (listed && !named)
        return STATUS_OK;
    if (getenv("LISTEN_FDS") && !named)
        return STATUS_OK; /* sockets that the service manager opened */
    if (*kind == CONFIG_HTTP && set->listen.n && !listed)
        return STATUS_OK;
    if (!listed)
        set->listen.n = 0;
    listen_on(set, i->a, *kind == CONFIG_HTTP ? tcp_address(i->a, f) : FUMI_STR("stdio"));
    return STATUS_OK;
}

static bool only_stdio(const struct fumi_settings *set)
{
    return set->listen.n == 1 && fumi_eq(set->listen.items[0], FUMI_STR("stdio"));
}

/* Tells a user who started fumi in a terminal that it reads requests from there. */
static void greet(const struct session *s, const struct fumi_settings *set)
{
    if (only_stdio(set) && isatty(0) && isatty(2) && !s->log.json)
        fputs(
            "serving JSON-RPC on standard input and output, one message per line; run 'fumi help' "
            "for other commands\n",
            stderr);
}

struct serve_context {
    const struct session *session;
    bool open; /* open the page at the next address */
    struct memory *memory;
    struct agent *agent;
    struct agent_home home; /* if stdio is served */
    bool stdio;
    struct fumi_time_limit limit;
    struct fumi_metrics *metrics;
    struct fumi_route *routes;
    size_t routes_n;
};

/* The page is opened at the first TCP address. */
static void open_page(struct serve_context *u, struct fumi_str address)
{
    const struct fumi_str tcp = FUMI_STR("tcp:");
    struct fumi_arena a = {0};
    if (!u->open || !fumi_starts(address, tcp))
        return;
    u->open = false;
    struct fumi_str url = fumi_fmt(&a, "http://%.*s/", (int)(address.n - tcp.n), address.p + tcp.n);
    if (!u->session->log.json)
        fprintf(stderr, "opening %.*s\n", FUMI_ARG(url));
    browser_open(url.p);
    fumi_arena_done(&a);
}

/* With a JSON log, the address is in the log (serve.listening). */
static void print_address(void *arg, struct fumi_str address)
{
    struct serve_context *u = arg;
    if (!u->session->log.json)
        fprintf(stderr, "listening on %.*s\n", FUMI_ARG(address));
    open_page(u, address);
}

/* Adds MCP and the processors to the server. */
static int set_up(struct session *s, const struct serve_flags *f, struct serve_context *u,
                  struct fumi_err *e)
{
    struct fumi_processor p;
    u->session = s;
    u->open = f->open;
    u->memory = s->memory;
    u->agent = agent_new(s->server, s->memory, (enum agent_set)f->tools, FUMI_VERSION,
                         u->stdio ? &u->home : NULL, e);
    if (!u->agent)
        return -1;
    if (u->stdio) {
        p = agent_home_processor(&u->home);
        if (fumi_server_use(s->server, &p, e))
            return -1;
    }
    u->limit.ms = f->time_limit;
    if (f->log_calls) {
        p = fumi_log_calls(&s->log);
        if (fumi_server_use(s->server, &p, e))
            return -1;
    }
    if (f->metrics) {
        u->metrics = fumi_metrics_new(s->server);
        p = fumi_count_calls(u->metrics);
        if (fumi_server_use(s->server, &p, e))
            return -1;
    }
    if (!f->time_limit)
        return 0;
    p = fumi_limit_time(&u->limit);
    return fumi_server_use(s->server, &p, e);
}

static int find_root(void *arg, struct fumi_arena *a, struct fumi_str path, struct fumi_str *out,
                     struct fumi_err *e)
{
    struct place p;
    if (session_place(arg, a, path, &p, e))
        return -1;
    *out = p.project;
    return 0;
}

/* For calls over stdio that name no project. */
static void find_home(struct session *s, const struct fumi_settings *set, struct serve_context *u)
{
    for (size_t i = 0; i < set->listen.n; i++)
        u->stdio |= fumi_eq(set->listen.items[i], FUMI_STR("stdio"));
    u->home = (struct agent_home){.announce = only_stdio(set), .find = find_root, .arg = s};
    if (memory_scope(s->memory)->project.p) {
        u->home.project = memory_scope(s->memory)->project;
        u->home.find = NULL;
    } else if (u->stdio) {
        u->home.project = session_home(s, &u->home.moved);
    }
}

/* The routes of MCP and of the page. */
static void set_routes(struct serve_context *u)
{
    u->routes = page_routes(&u->routes_n);
    u->routes = fumi_resize(u->routes, (u->routes_n + 1) * sizeof(*u->routes));
    u->routes[u->routes_n++] = fumi_mcp_route(agent_mcp(u->agent));
}

/* Ends the calls that wait for events. */
static void end_waiting(void *arg, bool now)
{
    struct serve_context *u = arg;
    fumi_mcp_end(agent_mcp(u->agent), now);
    memory_end_watches(u->memory);
}

static int run(struct session *s, const struct serve_flags *f, const struct fumi_settings *set,
               struct serve_context *u, struct fumi_err *e)
{
    find_home(s, set, u);
    if (set_up(s, f, u, e) || memory_start(s->memory, e))
        return -1;
    fumi_server_limits(s->server, (struct fumi_limits){.message = (size_t)f->message_limit});
    set_routes(u);
    const struct fumi_serve_options o = {
        .set = *set,
        .routes = u->routes,
        .routes_n = u->routes_n,
        .ending = end_waiting,
        .ending_arg = u,
        .log = &s->log,
        .metrics = u->metrics,
        .listening = print_address,
        .arg = u,
    };
    return fumi_serve(s->server, &o, e);
}

/* If calls were abandoned, nothing is freed: they may still use it. */
static int finish(struct session *s, struct serve_context *u, int rc, const struct fumi_err *e)
{
    if (rc == FUMI_SERVED_ABANDONED)
        _exit(STATUS_OK);
    int status = rc < 0 ? command_report(e) : STATUS_OK;
    agent_free(u->agent);
    session_close(s);
    fumi_metrics_free(u->metrics);
    fumi_resize(u->routes, 0);
    return status == STATUS_OK || status == STATUS_NEWER ? status : STATUS_FAILED;
}

static int serve(struct invocation *i)
{
    const struct serve_flags *f = i->flags;
    struct session s = {.patience = CACHE_WAIT_MS};
    struct serve_context u = {0};
    struct fumi_err e = {0};
    struct fumi_shape http = config_http_shape();
    enum config_kind kind;
    hide_memory();
    give_back_memory();
    signal(SIGPIPE, SIG_IGN); /* the reader of the log may have exited */
    if (session_config(&s, &i->common, f->freeze, &e))
        return finish(&s, &u, -1, &e);
    config_overlay(&http, &s.config.http, &i->http);
    struct fumi_settings *set = &s.config.http.set;
    int status = choose(i, &s, set, &kind);
    if (status) {
        session_close(&s);
        return status;
    }
    if (!set->directory.p && !only_stdio(set))
        set->directory = s.config.paths.data_dir;
    const struct config_safety *safety = &s.config.safety;
    struct place scope = {0};
    struct fumi_str project = f->project.p ? f->project : safety->project;
    int rc = project.p ? session_place(&s, &s.arena, project, &scope, &e) : 0;
    s.scope = (struct scope){.project = scope.project,
                             .read_only = f->read_only || safety->read_only};
    greet(&s, set);
    rc = rc || session_begin(&s, config_kinds[kind], &e);
    if (!rc)
        session_tell_place(&s, &scope);
    return finish(&s, &u, rc ? -1 : run(&s, f, set, &u, &e), &e);
}

const struct command command_serve = {
    .name = "serve",
    .usage = "",
    .help = "Serves the memory over stdio or HTTP.",
    .more = "On stdio, each request and each response is one line; fumi exits at the end "
            "of standard input. On http, the page is at /, and clients post requests to "
            "/rpc or connect with WebSocket to /ws. MCP is available on stdio, at /mcp and at /ws. "
            "--listen "
            "replaces --host and --port. The server starts without an API key or a model; "
            "calls that need one fail with an error.",
    .shape = &shape,
    .aliases = aliases,
    .serves = true,
    .writes = true,
    .run = serve,
};
