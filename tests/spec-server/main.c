/* spec-server: serves the methods of the talks on all transports of the library.
 *
 *   spec-server --listen tcp:127.0.0.1:8765 --listen unix:/tmp/spec.socket
 *
 * Without --listen it serves standard input and output. --help lists the flags. */
#include "methods.h"
#include "serving.h"

struct own {
    bool help, stdio, metrics, log_calls;
    int64_t line_limit, time_limit;
    int log;
};

static const struct fumi_field own_fields[] = {
    FUMI_FIELD(struct own, help, "help", "Show this help."),
    FUMI_FIELD(struct own, stdio, "stdio", "Serve standard input and output."),
    FUMI_FIELD(struct own, metrics, "metrics", "Count calls, and show it at /metrics."),
    FUMI_FIELD(struct own, log_calls, "logCalls", "Log each call."),
    FUMI_FIELD(struct own, line_limit, "lineLimit", "Bytes that a message may have.", .min = 1,
               .max = 1 << 28, .def = "1048576"),
    FUMI_FIELD(struct own, time_limit, "timeLimit", "Milliseconds that a call may take; 0: any.",
               .min = 0, .max = 86400000, .def = "0"),
    FUMI_FIELD(struct own, log, "log", "Lowest level of events that are logged.",
               .choices = serving_levels, .def = "\"silent\""),
};
static const struct fumi_shape own_shape = FUMI_SHAPE(struct own, own_fields);

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

static int serve(struct fumi_server *server, void *flags, struct fumi_serve_options *o,
                 struct fumi_err *e)
{
    const struct own *own = flags;
    struct spec *spec = spec_open(server, e);
    if (!spec)
        return -1;
    fumi_server_limits(server, (struct fumi_limits){.message = (size_t)own->line_limit});
    int rc = use(server, own, o->log, &o->metrics, e);
    if (!rc)
        rc = fumi_serve(server, o, e);
    if (rc == FUMI_SERVED_ABANDONED)
        return rc;
    fumi_metrics_free(o->metrics);
    spec_close(spec);
    return rc;
}

int main(int argc, char **argv)
{
    struct own own = {0};
    (void)argc;
    return serving_main(
        &(struct serving){"spec-server", &own_shape, &own, &own.help, &own.stdio, &own.log, serve},
        argv);
}
