/* spec-server: the methods of the talks on all transports of the library.
 *
 *   spec-server --listen tcp:127.0.0.1:8765 --listen unix:/tmp/spec.socket
 *
 * Without --listen it serves standard input and output. --help lists the flags. */
#include "app/flags.h"
#include "fumi.h"
#include "methods.h"

#include <stdio.h>
#include <stdlib.h>

struct own {
    bool help, stdio, metrics, log_calls;
    int64_t line_limit, time_limit;
    int log;
};

static const char *const levels[] = {"debug", "info", "warn", "error", "silent", NULL};

static const struct fumi_field own_fields[] = {
    FUMI_FIELD(struct own, help, "help", "Show this."),
    FUMI_FIELD(struct own, stdio, "stdio", "Serve standard input and output."),
    FUMI_FIELD(struct own, metrics, "metrics", "Count calls, and show it at /metrics."),
    FUMI_FIELD(struct own, log_calls, "logCalls", "Log each call."),
    FUMI_FIELD(struct own, line_limit, "lineLimit", "Bytes that a message may have.", .min = 1,
               .max = 1 << 28, .def = "1048576"),
    FUMI_FIELD(struct own, time_limit, "timeLimit", "Milliseconds that a call may take; 0: any.",
               .min = 0, .max = 86400000, .def = "0"),
    FUMI_FIELD(struct own, log, "log", "From which level on events are logged.", .choices = levels,
               .def = "\"silent\""),
};
static const struct fumi_shape own_shape = FUMI_SHAPE(struct own, own_fields);

static void say(void *arg, struct fumi_str address)
{
    (void)arg;
    fprintf(stderr, "listening on %.*s\n", FUMI_ARG(address));
}

static int use(struct fumi_server *server, const struct own *own, const struct fumi_log *log,
               struct fumi_metrics **metrics, struct fumi_err *e)
{
    static struct fumi_time_limit limit;
    struct fumi_processor p;
    limit.ms = own->time_limit;
    if (own->log_calls) {
        p = fumi_log_calls(log);
        if (fumi_server_use(server, &p, e))
            return -1;
    }
    if (own->metrics) {
        *metrics = fumi_metrics_new(server);
        p = fumi_count_calls(*metrics);
        if (fumi_server_use(server, &p, e))
            return -1;
    }
    if (!own->time_limit)
        return 0;
    p = fumi_limit_time(&limit);
    return fumi_server_use(server, &p, e);
}

static int serve(struct fumi_server *server, const struct own *own, struct fumi_serve_options *o,
                 struct fumi_err *e)
{
    struct spec *spec = spec_open(server, e);
    if (!spec)
        return -1;
    int rc = use(server, own, o->log, &o->metrics, e);
    if (!rc)
        rc = fumi_serve(server, o, e);
    if (rc > 0)
        return rc;
    fumi_metrics_free(o->metrics);
    spec_close(spec);
    return rc;
}

static int run(const struct own *own, struct fumi_serve_options *o)
{
    struct fumi_err e = {0};
    struct fumi_log log = {.level = (enum fumi_level)own->log, .fd = 2};
    struct fumi_str standard[] = {FUMI_STR("stdio")};
    struct fumi_server *server = fumi_server_new("spec-server", "1.0");
    if (own->stdio || (!o->set.listen.n && !getenv("LISTEN_FDS")))
        o->set.listen = (struct fumi_strs){standard, 1};
    o->log = &log;
    o->listening = say;
    fumi_server_log(server, &log);
    fumi_server_limits(server, (struct fumi_limits){.message = (size_t)own->line_limit});
    int rc = serve(server, own, o, &e);
    if (rc > 0)
        return 0; /* a call that was abandoned may still use the server */
    if (rc)
        fprintf(stderr, "spec-server: %s\n", e.text);
    fumi_server_free(server);
    return rc ? 1 : 0;
}

static int help(const struct flag_set *sets, size_t n)
{
    struct fumi_buf text = {0};
    flags_help(sets, n, &text);
    fprintf(stdout, "usage: spec-server [FLAG]...\n%.*s", FUMI_ARG(fumi_buf_str(&text)));
    fumi_buf_done(&text);
    return 0;
}

int main(int argc, char **argv)
{
    struct fumi_arena arena = {0};
    struct fumi_err e = {0};
    struct fumi_strs words = {0};
    struct own own = {0};
    struct fumi_serve_options options = {0};
    struct flag_set sets[] = {{&own_shape, &own}, {&fumi_settings_shape, &options.set}};
    int rc = 2;
    (void)argc;
    if (flags_read(&arena, sets, FUMI_COUNT(sets), argv, &words, &e) == 0 && !words.n)
        rc = own.help ? help(sets, FUMI_COUNT(sets)) : run(&own, &options);
    else
        fprintf(stderr, "spec-server: %s\n", e.code ? e.text : "flags begin with two dashes");
    fumi_arena_done(&arena);
    return rc;
}
