/* fumi call: calls any method, in this process or on a running server. */
#include "app/files.h"
#include "app/session.h"
#include "app/show.h"
#include "net/discovery.h"
#include "net/rpc_connection.h"

enum { PARAMS_MAX = NOTE_JSON_MAX };

struct call_flags {
    struct fumi_str url, token_file, ca_file;
    bool compact;
};

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct call_flags, url, "url",
               "Address of a running server: http://HOST:PORT, https://HOST:PORT, ws://HOST:PORT, "
               "wss://HOST:PORT or unix:PATH."),
    FUMI_FIELD(struct call_flags, token_file, "tokenFile",
               "File with the token for that server; for servers on this machine, the token in the "
               "data directory is used by default."),
    FUMI_FIELD(
        struct call_flags, ca_file, "caFile",
        "File with the CA certificates (PEM) to trust for https and wss, instead of the system's."),
    FUMI_FIELD(struct call_flags, compact, "compact", "Print the result in one line."),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct call_flags, fields);

/* Prints an error with its code and its data. */
static int report_fully(const struct fumi_err *e)
{
    struct fumi_arena a = {0};
    fprintf(stderr, "error: %.*s (%d)\n", FUMI_ARG(show_line(&a, fumi_str(e->text))), e->code);
    if (e->data.n)
        fprintf(stderr, "data: %.*s\n", FUMI_ARG(show_line(&a, e->data)));
    fumi_arena_done(&a);
    return command_status(e->code);
}

static int print(struct invocation *i, struct fumi_json result)
{
    const struct call_flags *f = i->flags;
    struct fumi_err e = {0};
    struct fumi_buf out = {0};
    const struct fumi_val *v = fumi_parse(i->a, result.text, &e);
    if (!v)
        return command_report(&e);
    if (f->compact)
        printf("%.*s\n", FUMI_ARG(show_escaped(i->a, fumi_compact(i->a, v).text)));
    else
        show_json(&out, v);
    command_print(&out);
    return STATUS_OK;
}

/* The params are flags, or one JSON text in the command line or on standard input. */
static int find_params(struct invocation *i, struct fumi_json *params)
{
    struct fumi_err e = {0};
    bool flags = i->params.text.n && !fumi_eq(i->params.text, FUMI_STR("{}"));
    *params = flags ? i->params : (struct fumi_json){{0}};
    if (i->words.n < 2)
        return STATUS_OK;
    if (flags)
        return command_misuse(i, "give the params as flags or as JSON, not both");
    params->text = i->words.items[1];
    if (fumi_eq(params->text, FUMI_STR("-")) && command_input(i->a, PARAMS_MAX, &params->text, &e))
        return command_report(&e);
    if (!fumi_parse(i->a, params->text, &e))
        return command_misuse(i, "params are not JSON: %s", e.text);
    return STATUS_OK;
}

static bool is_local_url(struct fumi_str url)
{
    static const char *const local[] = {
        "unix:",           "http+unix:",        "ws+unix:",        "http://127.0.0.1:",
        "ws://127.0.0.1:", "http://localhost:", "ws://localhost:", "http://[::1]:",
        "ws://[::1]:"};
    for (size_t i = 0; i < FUMI_COUNT(local); i++) {
        if (fumi_starts(url, fumi_str(local[i])))
            return true;
    }
    return false;
}

/* The token of the data directory is sent to this machine only. */
static int find_token(struct invocation *i, struct fumi_rpc_connection_options *o,
                      struct fumi_err *e)
{
    const struct call_flags *f = i->flags;
    struct session s = {0};
    char *text = fumi_alloc(i->a, DISCOVERY_TOKEN_MAX + 1);
    struct fumi_str path = f->token_file;
    int rc = 0;
    if (!path.p && is_local_url(f->url)) {
        rc = session_config(&s, &i->common, false, e);
        path = rc ? path : files_join(i->a, s.config.paths.data_dir, "token");
    }
    if (!rc && path.p)
        rc = discovery_token_file(files_name(i->a, path), text, e);
    session_close(&s);
    if (rc > 0 && f->token_file.p)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "--token-file: no such file");
    if (rc >= 0 && text[0])
        o->token = text;
    o->token_is_local = !f->token_file.p;
    return rc < 0 ? -1 : 0;
}

static int call_remote(struct invocation *i, const char *method, struct fumi_json params,
                       struct fumi_json *result, struct fumi_err *e)
{
    const struct call_flags *f = i->flags;
    struct fumi_rpc_connection_options o = {.tries = -1};
    struct fumi_answer answer = {0};
    struct fumi_str url = f->url;
    if (url.n && url.p[url.n - 1] == '/') /* browsers append it to a URL without a path */
        url.n--;
    if (f->ca_file.p)
        o.ca_file = files_name(i->a, f->ca_file);
    if (find_token(i, &o, e))
        return -1;
    struct fumi_rpc_connection *c = fumi_rpc_connection_open(files_name(i->a, url), &o, e);
    if (!c)
        return -1;
    int rc = fumi_rpc_connection_call(c, i->a, method, params, 0, &answer, e);
    fumi_rpc_connection_close(c);
    if (rc)
        return -1;
    *e = answer.err;
    *result = answer.result;
    return answer.ok ? 0 : -1;
}

static int call_local(struct invocation *i, const char *method, struct fumi_json params,
                      struct fumi_json *result, struct fumi_err *e)
{
    struct session s = {.existing = session_needs_store(method)};
    int rc = session_open(&s, &i->common, e) || session_add_home(&s, i->a, method, &params, e) ||
             session_call(&s, i->a, method, params, result, e);
    session_close(&s);
    if (!rc && strcmp(method, "memory.import") == 0)
        show_import_hint();
    return rc ? -1 : 0;
}

static int call(struct invocation *i)
{
    const struct call_flags *f = i->flags;
    struct fumi_json params, result = {{0}};
    struct fumi_err e = {0};
    if (!i->words.n)
        return command_misuse(i, "a method is required, such as memory.stats");
    int status = find_params(i, &params);
    if (status)
        return status;
    const char *method = files_name(i->a, i->words.items[0]);
    if ((f->url.p ? call_remote : call_local)(i, method, params, &result, &e))
        return report_fully(&e);
    return print(i, result);
}

const struct command command_call = {
    .name = "call",
    .usage = "METHOD [JSON|-]",
    .help = "Calls a method and prints its result as JSON.",
    .more = "Give the params as one JSON text (- reads it from standard input) or as "
            "flags: each parameter of the method is a flag, for example --top-k for topK. "
            "'fumi call METHOD --help' describes them. "
            "Without --url, the command opens the memory itself and needs no server.",
    .shape = &shape,
    .methods = true,
    .writes = true,
    .words = 2,
    .output = OUTPUT_LINES,
    .prints = "The result of the method, as without `--json`.",
    .run = call,
};
