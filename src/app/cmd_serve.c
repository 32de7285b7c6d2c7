/* fumi serve: build, wire, run, stop. */
#include "agent/agent.h"
#include "app/session.h"
#include "mcp/http.h"
#include "net/serve.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

struct serve_flags {
    struct fumi_str transport, host, project;
    int64_t port;
    bool read_only, freeze, metrics, log_calls;
    int64_t message_limit, time_limit;
    int tools;
};

#define FIELD(member, wire, ...) FUMI_FIELD(struct serve_flags, member, wire, __VA_ARGS__)

static const struct fumi_field fields[] = {
    FIELD(transport, "transport",
          "stdio or http; without it as the configuration says, or else stdio."),
    FIELD(host, "host", "Address for http.", .min = 1, .max = 255, .def = "\"127.0.0.1\""),
    FIELD(port, "port", "Port for http; 0 for any that is free.", .min = 0, .max = 65535,
          .def = "8765"),
    FIELD(tools, "tools",
          "What agents get over MCP: all tools, the eight that most need, or for admin also "
          "memory_set_config.",
          .choices = config_tool_sets, .def = "\"all\""),
    FIELD(read_only, "readOnly",
          "Refuse whatever stores, changes or removes anything; agents see only tools that read."),
    FIELD(project, "project",
          "Serve only this project (a path or a name): nothing of another is shown or changed.",
          .min = 1, .max = PROJECT_MAX),
    FIELD(freeze, "freezeConfig", "Refuse memory.set_config."),
    FIELD(metrics, "metrics", "Count calls, and show it at /metrics."),
    FIELD(log_calls, "logCalls", "Log each call."),
    FIELD(message_limit, "messageLimit", "Bytes that a message may have.", .min = 1024,
          .max = 1 << 28, .def = "1048576"),
    FIELD(time_limit, "timeLimit", "Milliseconds that a call may take; 0 for any.", .min = 0,
          .max = 86400000, .def = "60000"),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct serve_flags, fields);

static const struct flag_alias aliases[] = {
    {"t", "transport"},
    {"p", "port"},
    COMMAND_ALIASES,
};

/* Keys and tokens are in our memory: it must not end up in a file, nor be read by a debugger. */
static void hide_memory(void)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
}

/* The C library takes large blocks from the system and gives them back when they are freed, but
 * raises the size from which on it does so with each of them, up to 32 MiB. Then what a large
 * answer took stays with the process, for each worker. A size that is set is not raised. */
static void give_back_memory(void)
{
    enum { LARGE = 512 << 10 };
    mallopt(M_MMAP_THRESHOLD, LARGE);
}

/* A program that reads the log as JSON learns it from there. */
static void say(void *arg, struct fumi_str address)
{
    const struct session *s = arg;
    if (!s->log.json)
        fprintf(stderr, "listening on %.*s\n", FUMI_ARG(address));
}

/* --- Where to listen. --- */

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

/* What a flag names comes before what the configuration has. A list of addresses in the
 * configuration is for http only: a program on stdio is started by many agents at once, which would
 * take the port from each other. */
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

/* Who starts it by hand sees that it waits, and for what. */
static void greet(const struct session *s, const struct fumi_settings *set)
{
    if (only_stdio(set) && isatty(0) && isatty(2) && !s->log.json)
        fputs("serving JSON-RPC on standard input and output, one message a line; fumi help says "
              "what else there is\n",
              stderr);
}

/* --- Running. --- */

struct use {
    struct agent *agent;
    struct fumi_time_limit limit;
    struct fumi_metrics *metrics;
};

static int use(struct session *s, const struct serve_flags *f, struct use *u, struct fumi_err *e)
{
    struct fumi_processor p;
    u->agent = agent_new(s->server, s->memory, (enum agent_set)f->tools, FUMI_VERSION, e);
    if (!u->agent)
        return -1;
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

static int run(struct session *s, const struct serve_flags *f, const struct fumi_settings *set,
               struct use *u, struct fumi_err *e)
{
    if (use(s, f, u, e) || memory_start(s->memory, e))
        return -1;
    fumi_server_limits(s->server, (struct fumi_limits){.message = (size_t)f->message_limit});
    const struct fumi_route route = fumi_mcp_route(agent_mcp(u->agent));
    const struct fumi_serve_options o = {
        .set = *set,
        .routes = &route,
        .routes_n = 1,
        .ending = fumi_mcp_end,
        .ending_arg = agent_mcp(u->agent),
        .log = &s->log,
        .metrics = u->metrics,
        .listening = say,
        .arg = s,
    };
    return fumi_serve(s->server, &o, e);
}

/* After calls that were abandoned nothing is freed: they may still use it. */
static int finish(struct session *s, struct use *u, int rc, const struct fumi_err *e)
{
    if (rc == FUMI_SERVED_ABANDONED)
        _exit(STATUS_OK);
    int status = rc < 0 ? command_report(e) : STATUS_OK;
    agent_free(u->agent);
    session_close(s);
    fumi_metrics_free(u->metrics);
    return status == STATUS_OK || status == STATUS_NEWER ? status : STATUS_FAILED;
}

static int serve(struct invocation *i)
{
    const struct serve_flags *f = i->flags;
    struct session s = {0};
    struct use u = {0};
    struct fumi_err e = {0};
    struct fumi_shape http = config_http_shape();
    enum config_kind kind;
    hide_memory();
    give_back_memory();
    signal(SIGPIPE, SIG_IGN); /* whoever reads the log may be gone */
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
    s.scope = (struct scope){.project = f->project.p ? f->project : safety->project,
                             .read_only = f->read_only || safety->read_only};
    greet(&s, set);
    int rc = session_begin(&s, config_kinds[kind], &e);
    return finish(&s, &u, rc ? -1 : run(&s, f, set, &u, &e), &e);
}

const struct command command_serve = {
    .name = "serve",
    .usage = "",
    .help = "Serves the memory until it is told to end, or standard input ends.",
    .more =
        "On stdio one message a line comes in and one answer a line goes out. On http messages "
        "are posted to /rpc, and /ws speaks WebSocket; agents find MCP on stdio, at /mcp and at "
        "/ws. --listen names any number of addresses "
        "instead of --host and --port. It starts without a key and without a model; calls "
        "that need one say so.",
    .shape = &shape,
    .aliases = aliases,
    .serves = true,
    .writes = true,
    .run = serve,
};
