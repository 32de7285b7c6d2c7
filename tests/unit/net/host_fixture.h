/* A server that runs in a thread of the test, and clients of it. */
#ifndef FUMI_HOST_FIXTURE_H
#define FUMI_HOST_FIXTURE_H

#include "fumi.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct host {
    struct fumi_server *server;
    struct fumi_serve_options options;
    struct fumi_log log;
    struct fumi_str listen[4];
    char dir[32], path[64]; /* of a Unix socket, with its scheme */
    int reports[2];         /* a pipe: a line for each address, "ending" */
    char address[256];      /* the last one */
    struct fumi_call *held;
    atomic_bool cancelled;
    pthread_t thread;
    enum fumi_served result;
    struct fumi_err err;
};

struct host_number {
    int64_t value;
};
static const struct fumi_field host_number_fields[] = {
    FUMI_FIELD(struct host_number, value, "value", "A number.", .flags = FUMI_REQUIRED),
};
static const struct fumi_shape host_number = FUMI_SHAPE(struct host_number, host_number_fields);

static inline enum fumi_ret host_twice(struct fumi_call *call, const void *params, void *result)
{
    (void)call;
    ((struct host_number *)result)->value = 2 * ((const struct host_number *)params)->value;
    return FUMI_OK;
}

static inline void host_on_cancel(void *arg)
{
    struct host *h = arg;
    atomic_store(&h->cancelled, true);
    fumi_finish(h->held, FUMI_OK);
}

/* Stays pending until host_release, or until it is cancelled. */
static inline enum fumi_ret host_hold(struct fumi_call *call, const void *params, void *result)
{
    struct host *h = call->self;
    (void)params, (void)result;
    h->held = call;
    if (!fumi_on_cancel(call, host_on_cancel, h))
        return fumi_fail(call, FUMI_LIMIT, "cancelled");
    if (write(h->reports[1], "held\n", 5) != 5)
        abort();
    return FUMI_PENDING;
}

static const struct fumi_method host_methods[] = {
    {"twice", "Doubles.", &host_number, &host_number, host_twice, FUMI_READ_ONLY},
    {"work", "Doubles on a worker.", &host_number, &host_number, host_twice,
     FUMI_READ_ONLY | FUMI_BLOCKING},
    {"hold", "Pends.", NULL, NULL, host_hold, FUMI_ASYNC},
};

static inline void host_listening(void *arg, struct fumi_str address)
{
    struct host *h = arg;
    dprintf(h->reports[1], "%.*s\n", FUMI_ARG(address));
}

static inline void host_ending(void *arg, bool now)
{
    struct host *h = arg;
    if (!now)
        dprintf(h->reports[1], "ending\n");
}

/* The next line of the pipe. */
static inline struct fumi_str host_hear(struct host *h)
{
    size_t n = 0;
    while (n + 1 < sizeof(h->address) && read(h->reports[0], h->address + n, 1) == 1 &&
           h->address[n] != '\n')
        n++;
    h->address[n] = '\0';
    return (struct fumi_str){h->address, n};
}

static inline void host_listen(struct host *h, struct fumi_str address)
{
    h->listen[h->options.set.listen.n++] = address;
}

/* Serves a Unix socket in a new directory, unless the options say otherwise. */
static inline void host_open(struct host *h)
{
    char dir[sizeof(h->dir)] = "/tmp/fumi-host-XXXXXX";
    *h = (struct host){.log = {.level = FUMI_SILENT}};
    h->server = fumi_server_new("host", "1.0");
    if (!mkdtemp(dir) || pipe(h->reports) ||
        fumi_server_add(h->server, NULL, host_methods, FUMI_COUNT(host_methods), h, &h->err))
        abort();
    memcpy(h->dir, dir, sizeof(dir));
    snprintf(h->path, sizeof(h->path), "unix:%s/s", dir);
    h->options = (struct fumi_serve_options){.set.listen.items = h->listen,
                                             .log = &h->log,
                                             .ending = host_ending,
                                             .ending_arg = h,
                                             .listening = host_listening,
                                             .arg = h};
    host_listen(h, fumi_str(h->path));
}

static inline void host_close(struct host *h)
{
    fumi_server_free(h->server);
    close(h->reports[0]);
    close(h->reports[1]);
    rmdir(h->dir);
}

static inline enum fumi_served host_serve(struct host *h)
{
    return h->result = fumi_serve(h->server, &h->options, &h->err);
}

static inline void *host_run(void *host)
{
    host_serve(host);
    return NULL;
}

/* Serves in a thread; returns once the first address is open. */
static inline void host_start(struct host *h)
{
    if (pthread_create(&h->thread, NULL, host_run, h))
        abort();
    host_hear(h);
}

static inline enum fumi_served host_join(struct host *h)
{
    pthread_join(h->thread, NULL);
    return h->result;
}

static inline struct fumi_rpc_connection *host_link(const struct host *h, const char *url)
{
    struct fumi_err e;
    struct fumi_rpc_connection *l = fumi_rpc_connection_open(url ? url : h->path, NULL, &e);
    if (!l)
        fprintf(stderr, "%s\n", e.text);
    return l;
}

/* Whether a call of this method returns 42 for 21. */
static inline bool host_doubles(struct fumi_rpc_connection *l, const char *method)
{
    struct fumi_arena a = {0};
    struct fumi_answer answer = {0};
    struct fumi_err e;
    struct fumi_json params = {FUMI_STR("[21]")};
    bool ok = l && fumi_rpc_connection_call(l, &a, method, params, 0, &answer, &e) == 0 &&
              answer.ok && fumi_eq(answer.result.text, FUMI_STR("{\"value\":42}"));
    fumi_arena_done(&a);
    return ok;
}

static inline bool host_answers(const struct host *h, const char *url, const char *method)
{
    struct fumi_rpc_connection *l = host_link(h, url);
    bool ok = host_doubles(l, method);
    if (l)
        fumi_rpc_connection_close(l);
    return ok;
}

/* Entries of /proc/self/fd or /proc/self/task. */
static inline int host_count(const char *path)
{
    int n = 0;
    DIR *dir = opendir(path);
    while (dir && readdir(dir))
        n++;
    closedir(dir);
    return n;
}

#endif
