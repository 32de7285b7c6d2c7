/* fumi open: opens the page of the server of this store. A server that runs already is found by the
 * lock files in the data directory; it is asked which store it serves, because --db may name
 * another one. If there is none, this process becomes `fumi serve`. */
#include "app/browser.h"
#include "app/files.h"
#include "app/session.h"
#include "net/rpc_connection.h"
#include "json/json.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { LOCK_MAX = 65536, ASK_MS = 2000, ARGUMENTS = 16 };

struct open_flags {
    int64_t port;
    bool print;
};

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct open_flags, port, "port",
               "Port of the server that is started if none runs; 0 = any free port.", .min = 0,
               .max = 65535, .def = "8765"),
    FUMI_FIELD(struct open_flags, print, "print", "Print the address and open no browser."),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct open_flags, fields);

static const struct flag_alias aliases[] = {
    {"p", "port"},
    COMMAND_ALIASES,
};

/* A server that a lock file announces. */
struct announced {
    struct fumi_str url, token; /* ws://HOST:PORT/ws */
};

static bool read_lock(struct fumi_arena *a, struct fumi_str path, struct announced *out)
{
    struct file_text file;
    struct fumi_err ignored;
    int64_t pid = 0;
    if (files_read(a, path, LOCK_MAX, &file, &ignored) || !file.text.p)
        return false;
    const struct fumi_val *v = fumi_parse(a, file.text, &ignored);
    if (!v || !fumi_int(fumi_get(v, "pid"), &pid) || pid < 1)
        return false;
    out->url = fumi_text(a, fumi_get(v, "url"));
    out->token = fumi_text(a, fumi_get(v, "authToken"));
    bool gone = kill((pid_t)pid, 0) && errno == ESRCH;
    return !gone && fumi_starts(out->url, FUMI_STR("ws://"));
}

/* Whether the server answers, and serves the database of this path. */
static bool serves(struct fumi_arena *a, const struct announced *s, struct fumi_str db)
{
    struct fumi_rpc_connection_options o = {
        .connect_time = ASK_MS, .call_time = ASK_MS, .tries = -1, .token_is_local = true};
    struct fumi_answer answer = {0};
    struct fumi_err ignored;
    if (s->token.n)
        o.token = files_name(a, s->token);
    struct fumi_rpc_connection *c = fumi_rpc_connection_open(files_name(a, s->url), &o, &ignored);
    if (!c)
        return false;
    int rc = fumi_rpc_connection_call(c, a, "memory.get_config", (struct fumi_json){{0}}, 0,
                                      &answer, &ignored);
    fumi_rpc_connection_close(c);
    if (rc || !answer.ok)
        return false;
    const struct fumi_val *v = fumi_parse(a, answer.result.text, &ignored);
    const struct fumi_val *store = v ? fumi_get(v, "store") : NULL;
    return store && (fumi_eq(fumi_text(a, fumi_get(store, "path")), db) ||
                     fumi_eq(fumi_text(a, fumi_get(store, "url")), db));
}

/* http://HOST:PORT/ of ws://HOST:PORT/ws */
static struct fumi_str page_of(struct fumi_arena *a, struct fumi_str url)
{
    const size_t scheme = sizeof("ws") - 1, path = sizeof("ws") - 1;
    return fumi_fmt(a, "http%.*s", (int)(url.n - scheme - path), url.p + scheme);
}

static bool is_lock(const char *name)
{
    size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".lock") == 0;
}

/* Returns the address of the page; null if no server of this store runs. */
static struct fumi_str find_server(struct fumi_arena *a, const struct config *c)
{
    struct fumi_str dir = files_join(a, c->paths.data_dir, "lock"), found = {0};
    DIR *d = opendir(files_name(a, dir));
    struct announced s;
    for (struct dirent *entry; d && !found.p && (entry = readdir(d));)
        if (is_lock(entry->d_name) && read_lock(a, files_join(a, dir, entry->d_name), &s) &&
            serves(a, &s, config_store_name(c, a)))
            found = page_of(a, s.url);
    if (d)
        closedir(d);
    return found;
}

static int show_page(const struct open_flags *f, const char *url)
{
    puts(url);
    fflush(stdout);
    if (!f->print)
        browser_open(url);
    return STATUS_OK;
}

/* Becomes a server, which opens the browser once it listens. */
static int become_server(struct invocation *i)
{
    const struct open_flags *f = i->flags;
    const struct common *c = &i->common;
    const struct {
        const char *name;
        struct fumi_str value;
    } given[] = {{"--config", c->config},
                 {"--data-dir", c->data_dir},
                 {"--db", c->db},
                 {"--store", c->store}};
    const char *to[ARGUMENTS] = {"fumi", "serve", "--transport", "http", "--port"};
    size_t n = 5;
    to[n++] = fumi_fmt(i->a, "%d", (int)f->port).p;
    if (!f->print)
        to[n++] = "--open";
    if (c->allow_http)
        to[n++] = "--allow-http";
    for (size_t k = 0; k < FUMI_COUNT(given); k++) {
        if (!given[k].value.p)
            continue;
        to[n++] = given[k].name;
        to[n++] = files_name(i->a, given[k].value);
    }
    execv("/proc/self/exe", (char *const *)(void *)to);
    return command_fail(STATUS_FAILED, "cannot start fumi serve; start it yourself: fumi serve "
                                       "--transport http --open");
}

static int open_page(struct invocation *i)
{
    struct session s = {0};
    struct fumi_err e = {0};
    signal(SIGPIPE, SIG_IGN);
    int status = session_config(&s, &i->common, false, &e) ? command_report(&e) : STATUS_OK;
    struct fumi_str url = {0};
    if (!status)
        url = find_server(i->a, &s.config);
    session_close(&s);
    if (status)
        return status;
    return url.p ? show_page(i->flags, files_name(i->a, url)) : become_server(i);
}

const struct command command_open = {
    .name = "open",
    .usage = "",
    .help = "Opens the page, which shows what agents remember, in the browser.",
    .more = "If a server of this store runs on this machine, its page is opened, and its address "
            "is printed. Otherwise the command starts a server, as fumi serve --transport http "
            "--open does, which runs until it is interrupted.",
    .shape = &shape,
    .aliases = aliases,
    .run = open_page,
};
