/* spec-server: the methods of the talks on the transports of the library.
 *
 *   spec-server [--stdio] [--line-limit BYTES] [--log LEVEL] */
#include "fumi.h"
#include "methods.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct settings {
    struct fumi_stdio_options stdio;
    struct fumi_log log;
};

/* Each takes the flag's value, NULL for flags that have none, and says no to a wrong one. */
static bool set_stdio(struct settings *s, const char *value)
{
    (void)s, (void)value;
    return true;
}

static bool set_line_limit(struct settings *s, const char *value)
{
    char *end;
    errno = 0;
    unsigned long long bytes = strtoull(value, &end, 10);
    s->stdio.line = (size_t)bytes;
    return *value >= '0' && *value <= '9' && !*end && !errno && bytes > 0;
}

static bool set_log(struct settings *s, const char *value)
{
    return fumi_level_of(fumi_str(value), &s->log.level);
}

static const struct flag {
    const char *name;
    const char *value; /* what it is called in messages; NULL: the flag has none */
    bool (*set)(struct settings *s, const char *value);
} flags[] = {
    {"--stdio", NULL, set_stdio},
    {"--line-limit", "a number of bytes", set_line_limit},
    {"--log", "debug, info, warn, error or silent", set_log},
};

static const struct flag *find(const char *name)
{
    for (size_t i = 0; i < FUMI_COUNT(flags); i++)
        if (strcmp(flags[i].name, name) == 0)
            return &flags[i];
    return NULL;
}

static int read_flags(struct settings *s, char **word)
{
    for (; *word; word++) {
        const struct flag *f = find(*word);
        if (!f) {
            fprintf(stderr, "spec-server: unknown flag %s\n", *word);
            return -1;
        }
        const char *value = f->value ? *++word : NULL;
        if ((f->value && !value) || !f->set(s, value)) {
            fprintf(stderr, "spec-server: %s needs %s\n", f->name, f->value);
            return -1;
        }
    }
    return 0;
}

static int serve(struct fumi_server *server, const struct settings *settings, struct fumi_err *e)
{
    struct spec *spec = spec_open(server, e);
    if (!spec)
        return -1;
    int rc = fumi_serve_stdio(server, &settings->stdio, e);
    if (rc <= 0)
        spec_close(spec);
    return rc;
}

int main(int argc, char **argv)
{
    struct settings settings = {.log = {.level = FUMI_SILENT}};
    struct fumi_err err = {0};
    (void)argc;
    if (read_flags(&settings, argv + 1))
        return 2;

    struct fumi_server *server = fumi_server_new("spec-server", "1.0");
    settings.stdio.log = &settings.log;
    fumi_server_log(server, &settings.log);
    fumi_server_limits(server, (struct fumi_limits){.message = settings.stdio.line});
    int rc = serve(server, &settings, &err);
    if (rc > 0)
        return 0; /* a call that was abandoned may still use the server */
    if (rc)
        fprintf(stderr, "spec-server: %s\n", err.text);
    fumi_server_free(server);
    return rc ? 1 : 0;
}
