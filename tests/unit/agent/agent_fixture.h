/* A memory with a SQLite store and a fake provider, and an MCP client connected to it. */
#ifndef FUMI_AGENT_FIXTURE_H
#define FUMI_AGENT_FIXTURE_H

#include "agent/agent.h"
#include "fake_provider.h"
#include "memory/methods.h"
#include "net/pool.h"
#include "rpc_fixture.h"
#include "store/sqlite.h"
#include "test.h"

#include <ftw.h>

struct fixture {
    struct fumi_arena a;
    char dir[64];
    struct scope scope;
    const struct agent_home *home;
    struct fake *fake;
    struct memory *m;
    struct fumi_server *server;
    struct pool *pool;
    struct agent *agent;
    struct caller caller;
    struct fumi_err e;
    int id;
};

static const struct fumi_log fixture_quiet = {.level = FUMI_SILENT};

static inline int fixture_drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static inline struct store *fixture_store(struct fixture *t)
{
    struct fumi_str path = fumi_fmt(&t->a, "%s/memory.db", t->dir);
    return store_sqlite_open(
        &(struct store_sqlite_options){.path = path.p, .nosync = true, .log = &fixture_quiet},
        &t->e);
}

/* Does not start the background thread. */
static inline bool fixture_memory(struct fixture *t)
{
    struct memory_options o = {
        .store = fixture_store(t),
        .embed = {.provider = FUMI_STR("openai"),
                  .model = FUMI_STR("m"),
                  .base_url = fumi_fmt(&t->a, "http://127.0.0.1:%d/v1", t->fake->port),
                  .api_key = FUMI_STR("sk-test-key")},
        .facts = {.transport = FUMI_STR("stdio"), .store_type = FUMI_STR("sqlite")},
        .log = &fixture_quiet,
        .scope = t->scope,
    };
    t->m = o.store ? memory_open(&o, &t->e) : NULL;
    return t->m != NULL;
}

static inline void fixture_push(struct fumi_peer *peer, struct fumi_buf *message)
{
    caller_receive(FUMI_OWNER(peer, struct caller, peer), message);
}

/* Sends a request. Returns the result or the error of its response; NULL if there is neither. */
static inline const struct fumi_val *fixture_ask(struct fixture *t, const char *method,
                                                 struct fumi_str params)
{
    struct fumi_str request = fumi_fmt(
        &t->a, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%.*s}", ++t->id, method,
        FUMI_ARG(params));
    struct fumi_str all = fumi_dup(&t->a, reply_to_str(&t->caller, request));
    struct fumi_str mark = fumi_fmt(&t->a, "\"id\":%d", t->id);
    while (all.n) { /* notifications may come first */
        const char *end = memchr(all.p, '\n', all.n);
        struct fumi_str line = {all.p, end ? (size_t)(end - all.p) : all.n};
        const struct fumi_val *v = fumi_parse(&t->a, line, &t->e), *result = fumi_get(v, "result");
        if (v && memmem(line.p, line.n, mark.p, mark.n) && !fumi_get(v, "method"))
            return result ? result : fumi_get(v, "error");
        size_t used = line.n + (end != NULL);
        all = (struct fumi_str){all.p + used, all.n - used};
    }
    return NULL;
}

#define ASK(t, method, ...) fixture_ask(t, method, fumi_fmt(&(t)->a, __VA_ARGS__))

/* Calls a tool. Returns its structuredContent; *failed is its isError. */
static inline const struct fumi_val *fixture_tool(struct fixture *t, const char *name,
                                                  struct fumi_str arguments, bool *failed)
{
    const struct fumi_val *v = ASK(t, "tools/call", "{\"name\":\"%s\",\"arguments\":%.*s}", name,
                                   FUMI_ARG(arguments));
    *failed = fumi_is(fumi_get(v, "isError"), FUMI_TRUE);
    return fumi_get(v, "structuredContent");
}

static inline struct fumi_str fixture_text(struct fixture *t, const struct fumi_val *v,
                                           const char *name)
{
    return fumi_text(&t->a, fumi_get(v, name));
}

static inline bool holds(struct fumi_str s, const char *part)
{
    return s.n && memmem(s.p, s.n, part, strlen(part));
}

/* Adds a note directly to the store. */
static inline bool fixture_note_in(struct fixture *t, struct store *s, const char *id,
                                   const char *project, const char *group, const char *tag)
{
    struct fumi_str tags[] = {fumi_str(tag)};
    struct note n = {.id = fumi_str(id),
                     .project = fumi_str(project),
                     .group = fumi_str(group),
                     .text = fumi_fmt(&t->a, "What %s says.", id),
                     .tags = {tags, tag != NULL},
                     .created = {1000 * ++t->id, true}};
    const struct vectors none = {.n = 0};
    return store_add_note(s, &t->a, &n,
                          &(struct note_change){.vectors = &none, .allow_duplicate = true},
                          &t->e) == 0;
}

static inline bool fixture_note(struct fixture *t, const char *id, const char *project,
                                const char *group, const char *tag)
{
    return fixture_note_in(t, memory_store(t->m), id, project, group, tag);
}

/* Creates the directory and the provider. */
static inline bool fixture_make(struct fixture *t)
{
    *t = (struct fixture){.dir = "/tmp/test-agent-XXXXXX"};
    t->fake = fake_start(0);
    return t->fake && mkdtemp(t->dir);
}

/* Opens the memory and connects the client. */
static inline bool fixture_serve(struct fixture *t, enum agent_set tools)
{
    if (!fixture_memory(t))
        return false;
    t->server = fumi_server_new("fumi", "1.2.3");
    fumi_server_log(t->server, &fixture_quiet);
    if (memory_methods(t->server, t->m, &t->e))
        return false;
    t->agent = agent_new(t->server, t->m, tools, "1.2.3", t->home, &t->e);
    t->pool = pool_new(2, NULL);
    if (!t->agent) {
        fprintf(stderr, "%s\n", t->e.text);
        return false;
    }
    fumi_server_executor(t->server, pool_submit, t->pool);
    caller_open(&t->caller, t->server);
    t->caller.peer.push = fixture_push;
    ASK(t, "initialize",
        "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
        "\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}");
    clear_received(&t->caller);
    send_text(&t->caller, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    wait_replies(&t->caller, 1);
    return true;
}

static inline bool fixture_begin(struct fixture *t, enum agent_set tools)
{
    return fixture_make(t) && fixture_serve(t, tools);
}

static inline void fixture_unserve(struct fixture *t)
{
    fumi_peer_close(&t->caller.peer);
    pool_free(t->pool);
    caller_done(&t->caller);
    agent_free(t->agent);
    fumi_server_free(t->server);
    memory_close(t->m);
}

static inline void fixture_end(struct fixture *t)
{
    fixture_unserve(t);
    fake_stop(t->fake);
    nftw(t->dir, fixture_drop, 8, FTW_DEPTH | FTW_PHYS);
    fumi_arena_done(&t->a);
}

#endif
