/* Detects the revision of each request, registers the methods, and implements those for the
 * connection: handshake, discovery, ping, log level, cancellation. */
#include "mcp/mcp_parts.h"

#include "base/uuid.h"

const char *const mcp_versions[MCP_VERSIONS] = {"2024-10-07", "2024-11-05", "2025-03-26",
                                                "2025-06-18", "2025-11-25"};

static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                     "error", "critical", "alert",  "emergency"};

static const struct fumi_field any_fields[] = {
    FUMI_VALUE(struct mcp_any, value, "Params, as specified by MCP.", .flags = FUMI_NULLABLE),
};
const struct fumi_shape mcp_any_shape = FUMI_SHAPE(struct mcp_any, any_fields);

static const struct fumi_field text_fields[] = {
    FUMI_VALUE(struct mcp_text, json, "Params, as specified by MCP."),
};
const struct fumi_shape mcp_text_shape = FUMI_SHAPE(struct mcp_text, text_fields);

const struct mcp_cache mcp_uncached = {-1, false}, mcp_public = {300000, false},
                       mcp_own = {300000, true}, mcp_personal = {0, true};

int mcp_version_of(struct fumi_str text)
{
    for (int i = 0; i < MCP_VERSIONS; i++)
        if (fumi_eq(text, fumi_str(mcp_versions[i])))
            return i;
    return -1;
}

bool mcp_is_modern(struct fumi_str version)
{
    struct fumi_str first = FUMI_STR(MCP_MODERN_VERSION);
    size_t n = version.n < first.n ? version.n : first.n;
    int order = version.p ? memcmp(version.p, first.p, n) : -1;
    return order > 0 || (order == 0 && version.n >= first.n);
}

static int level_of(const struct fumi_val *v)
{
    for (size_t i = 0; i < FUMI_COUNT(levels); i++)
        if (fumi_text_is(v, fumi_str(levels[i])))
            return (int)i;
    return -1;
}

struct fumi_str mcp_error_data(struct fumi_arena *a, const char *key, struct fumi_str value)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, key);
    fumi_put_str(&o, value);
    fumi_put_close(&o, '}');
    return fumi_buf_keep(&b, a);
}

void mcp_put_text(struct fumi_out *o, const char *name, const char *text)
{
    if (!text)
        return;
    fumi_put_key(o, name);
    fumi_put_str(o, fumi_str(text));
}

static int meta_fault(struct fumi_err *e, const char *key, const char *must)
{
    return fumi_err_set(e, FUMI_INVALID_PARAMS, "_meta[\"" MCP_META "%s\"] must be %s", key, must);
}

static bool is_info(const struct fumi_val *v)
{
    return fumi_is(fumi_get(v, "name"), FUMI_STRING) &&
           fumi_is(fumi_get(v, "version"), FUMI_STRING);
}

int mcp_meta_read(struct fumi_arena *a, const struct fumi_val *params, struct mcp_meta *out,
                  struct fumi_err *e)
{
    const struct fumi_val *meta = fumi_get(params, "_meta");
    const struct fumi_val *version = fumi_get(meta, MCP_META "protocolVersion");
    const struct fumi_val *info = fumi_get(meta, MCP_META "clientInfo");
    const struct fumi_val *level = fumi_get(meta, MCP_META "logLevel");
    *out = (struct mcp_meta){.present = version, .level = FUMI_MCP_EMERGENCY + 1};
    if (!version)
        return 0;
    if (!fumi_is(version, FUMI_STRING))
        return meta_fault(e, "protocolVersion", "a string");
    out->version = fumi_text(a, version);
    out->capabilities = fumi_get(meta, MCP_META "clientCapabilities");
    if (!fumi_is(out->capabilities, FUMI_OBJECT))
        return meta_fault(e, "clientCapabilities", "an object");
    if (info && !is_info(info))
        return meta_fault(e, "clientInfo", "an object with name and version");
    out->info = info;
    if (level && (out->level = level_of(level)) < 0)
        return meta_fault(e, "logLevel", "one of the eight levels, such as \"info\"");
    return 0;
}

int mcp_version_check(struct fumi_arena *a, struct fumi_str version, struct fumi_err *e)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    if (fumi_eq(version, FUMI_STR(MCP_MODERN_VERSION)))
        return 0;
    fumi_err_set(e, MCP_UNSUPPORTED_VERSION, "Unsupported protocol version: %.*s",
                 (int)(version.n > 64 ? 64 : version.n), version.p);
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "supported");
    fumi_put_open(&o, '[');
    fumi_put_str(&o, FUMI_STR(MCP_MODERN_VERSION));
    fumi_put_close(&o, ']');
    fumi_put_key(&o, "requested");
    fumi_put_str(&o, version);
    fumi_put_close(&o, '}');
    e->data = fumi_buf_keep(&b, a);
    return -1;
}

/* Loads what the session of a legacy request negotiated. A request without a handshake is served,
 * too, because some old clients send none. */
static void load_session(struct mcp_context *x)
{
    struct mcp_session *s = __atomic_load_n((struct mcp_session **)&x->call->peer->session,
                                            __ATOMIC_ACQUIRE);
    x->version = -1;
    x->level = FUMI_MCP_WARNING;
    if (!s)
        return;
    pthread_mutex_lock(&x->mcp->lock);
    x->version = s->version;
    x->level = s->level;
    x->capabilities = s->capabilities;
    x->client = s->client;
    x->client_version = s->client_version;
    pthread_mutex_unlock(&x->mcp->lock);
}

static enum fumi_ret refuse_batch(const struct mcp_context *x)
{
    if (!fumi_in_batch(x->call) ||
        (!x->modern && (x->version < 0 || x->version == MCP_VERSION_WITH_BATCHES)))
        return FUMI_OK;
    return fumi_fail(x->call, FUMI_INVALID_REQUEST,
                     "MCP %s has no batches: send each request by itself",
                     x->modern ? MCP_MODERN_VERSION : mcp_versions[x->version]);
}

static enum fumi_ret method_not_found(struct fumi_call *call)
{
    return fumi_fail(call, FUMI_METHOD_NOT_FOUND, "Method not found: %.*s", FUMI_ARG(call->name));
}

/* initialize is a legacy request even if its _meta is malformed or names a legacy version. */
static int read_meta(struct fumi_call *call, struct mcp_meta *meta)
{
    bool handshake = fumi_eq(call->name, FUMI_STR("initialize"));
    int rc = mcp_meta_read(call->arena, call->params, meta, &call->err);
    if (handshake && (rc || !mcp_is_modern(meta->version))) {
        *meta = (struct mcp_meta){0};
        call->err = (struct fumi_err){0};
        return 0;
    }
    if (!rc && meta->present)
        rc = mcp_version_check(call->arena, meta->version, &call->err);
    return rc;
}

enum fumi_ret mcp_context_init(struct mcp_context *x, struct fumi_call *call, unsigned eras)
{
    struct mcp_meta meta;
    *x = (struct mcp_context){
        .mcp = call->self, .call = call, .params = call->params, .last_progress = -1};
    if (fumi_is(call->id, FUMI_NULL))
        return fumi_fail(call, FUMI_INVALID_REQUEST, "id must be a string or an integer");
    if (call->params && !fumi_is(call->params, FUMI_OBJECT))
        return fumi_fail(call, FUMI_INVALID_PARAMS, "params must be an object");
    x->meta = fumi_get(call->params, "_meta");
    if (read_meta(call, &meta))
        return FUMI_FAIL;
    x->modern = meta.present;
    x->capabilities = meta.capabilities;
    x->client = fumi_text(call->arena, fumi_get(meta.info, "name"));
    x->client_version = fumi_text(call->arena, fumi_get(meta.info, "version"));
    x->level = meta.level;
    if (!meta.present)
        load_session(x);
    if (refuse_batch(x) != FUMI_OK)
        return FUMI_FAIL;
    return eras & (x->modern ? MCP_MODERN : MCP_LEGACY) ? FUMI_OK : method_not_found(call);
}

struct fumi_out *mcp_begin_result(struct mcp_context *x)
{
    x->out = fumi_result(x->call);
    fumi_put_open(x->out, '{');
    if (x->modern)
        mcp_put_text(x->out, "resultType", "complete");
    return x->out;
}

static void put_cache(struct fumi_out *o, const struct mcp_cache *cache)
{
    if (cache->ms < 0)
        return;
    fumi_put_key(o, "ttlMs");
    fumi_put_int(o, cache->ms);
    mcp_put_text(o, "cacheScope", cache->personal ? "private" : "public");
}

enum fumi_ret mcp_end_result(struct mcp_context *x, const struct mcp_cache *cache)
{
    struct fumi_out *o = x->out;
    if (x->modern) {
        put_cache(o, cache);
        fumi_put_key(o, "_meta");
        fumi_put_open(o, '{');
        fumi_put_key(o, MCP_META "serverInfo");
        fumi_put_json(o, x->brief_info ? *x->brief_info : x->mcp->brief_info);
        fumi_put_close(o, '}');
    }
    fumi_put_close(o, '}');
    return FUMI_OK;
}

enum fumi_ret mcp_empty_result(struct mcp_context *x)
{
    mcp_begin_result(x);
    return mcp_end_result(x, &mcp_uncached);
}

/* These lists have one page, so there is no valid cursor. */
static enum fumi_ret reject_cursor(const struct mcp_context *x)
{
    const struct fumi_val *cursor = fumi_get(x->params, "cursor");
    if (!cursor || fumi_text_is(cursor, FUMI_STR("")))
        return FUMI_OK;
    return fumi_fail(x->call, FUMI_INVALID_PARAMS,
                     "cursor must be a nextCursor as it was answered");
}

bool mcp_shows_apps(const struct fumi_val *capabilities)
{
    const struct fumi_val *ui = fumi_get(fumi_get(capabilities, "extensions"), FUMI_MCP_UI);
    const struct fumi_val *types = fumi_get(ui, "mimeTypes"), *v;
    if (!fumi_is(types, FUMI_ARRAY))
        return false;
    for (v = fumi_first(types); v; v = fumi_after(types, v))
        if (fumi_text_is(v, FUMI_STR(FUMI_MCP_APP_TYPE)))
            return true;
    return false;
}

enum fumi_ret mcp_answer_list(struct fumi_call *call, const char *name,
                              const struct fumi_json *list, const struct fumi_json *app_list)
{
    struct mcp_context x;
    bool varies = app_list && app_list->text.p;
    if (mcp_context_init(&x, call, MCP_LEGACY | MCP_MODERN) != FUMI_OK ||
        reject_cursor(&x) != FUMI_OK)
        return FUMI_FAIL;
    fumi_put_key(mcp_begin_result(&x), name);
    fumi_put_json(x.out, varies && mcp_shows_apps(x.capabilities) ? *app_list : *list);
    return mcp_end_result(&x, varies ? &mcp_own : &mcp_public);
}

static void put_capabilities(const struct fumi_mcp *m, struct fumi_out *o)
{
    fumi_put_key(o, "capabilities");
    fumi_put_json(o, m->capabilities);
    if (m->o.instructions)
        mcp_put_text(o, "instructions", m->o.instructions);
}

/* Agrees on the requested version if it is supported, otherwise on the newest legacy one. */
static enum fumi_ret initialize(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    (void)params, (void)result;
    if (mcp_context_init(&x, call, MCP_LEGACY) != FUMI_OK)
        return FUMI_FAIL;
    if (fumi_in_batch(call))
        return fumi_fail(call, FUMI_INVALID_REQUEST, "initialize cannot be part of a batch");
    if (x.version >= 0)
        return fumi_fail(call, FUMI_INVALID_REQUEST, "this connection is initialized already");
    int version = mcp_version_of(fumi_text(call->arena, fumi_get(x.params, "protocolVersion")));
    version = version < 0 ? MCP_VERSIONS - 1 : version;
    struct mcp_session *s = mcp_session_of(x.mcp, call);
    if (s)
        mcp_session_negotiated(s, x.params, version);
    struct fumi_out *o = mcp_begin_result(&x);
    mcp_put_text(o, "protocolVersion", mcp_versions[version]);
    put_capabilities(x.mcp, o);
    fumi_put_key(o, "serverInfo");
    fumi_put_json(o, x.mcp->info);
    return mcp_end_result(&x, &mcp_uncached);
}

static enum fumi_ret initialized(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    (void)params, (void)result;
    if (mcp_context_init(&x, call, MCP_LEGACY) != FUMI_OK)
        return FUMI_FAIL;
    struct mcp_session *s = mcp_session_of(x.mcp, call);
    if (s) {
        pthread_mutex_lock(&x.mcp->lock);
        s->ready = s->version >= 0;
        mcp_update_watched(x.mcp);
        pthread_mutex_unlock(&x.mcp->lock);
    }
    return mcp_empty_result(&x);
}

static enum fumi_ret discover(struct fumi_call *call, const void *params, void *result)
{
    static const struct mcp_cache hour = {3600000, false};
    struct mcp_context x;
    (void)params, (void)result;
    if (mcp_context_init(&x, call, MCP_MODERN) != FUMI_OK)
        return FUMI_FAIL;
    mcp_mark_modern(x.mcp, call->peer);
    struct fumi_out *o = mcp_begin_result(&x);
    fumi_put_key(o, "supportedVersions");
    fumi_put_open(o, '[');
    fumi_put_str(o, FUMI_STR(MCP_MODERN_VERSION));
    fumi_put_close(o, ']');
    put_capabilities(x.mcp, o);
    x.brief_info = &x.mcp->info;
    return mcp_end_result(&x, &hour);
}

static enum fumi_ret ping(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    (void)params, (void)result;
    return mcp_context_init(&x, call, MCP_LEGACY) == FUMI_OK ? mcp_empty_result(&x) : FUMI_FAIL;
}

static enum fumi_ret set_level(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    (void)params, (void)result;
    if (mcp_context_init(&x, call, MCP_LEGACY) != FUMI_OK)
        return FUMI_FAIL;
    int level = level_of(fumi_get(x.params, "level"));
    if (level < 0)
        return fumi_fail(call, FUMI_INVALID_PARAMS,
                         "level must be debug, info, notice, warning, error, critical, alert or "
                         "emergency");
    struct mcp_session *s = mcp_session_of(x.mcp, call);
    if (s) {
        pthread_mutex_lock(&x.mcp->lock);
        s->level = level;
        pthread_mutex_unlock(&x.mcp->lock);
    }
    return mcp_empty_result(&x);
}

static enum fumi_ret cancelled(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    (void)params, (void)result;
    if (mcp_context_init(&x, call, MCP_LEGACY | MCP_MODERN) != FUMI_OK)
        return FUMI_FAIL;
    fumi_cancel(call->peer, fumi_get(x.params, "requestId"));
    return mcp_empty_result(&x);
}

static enum fumi_ret ignore(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    (void)params, (void)result;
    return mcp_context_init(&x, call, MCP_LEGACY | MCP_MODERN) == FUMI_OK ? mcp_empty_result(&x)
                                                                          : FUMI_FAIL;
}

/* Methods that change the session of their peer are not READS: after a writer they run on workers,
 * one at a time. */
enum { BASE = FUMI_HIDDEN | FUMI_PLAIN_ERRORS, READS = BASE | FUMI_READ_ONLY };
#define METHOD(name, run, flags)                                                                   \
    {                                                                                              \
        name, NULL, &mcp_any_shape, NULL, run, flags                                               \
    }

static const struct fumi_method connection[] = {
    METHOD("initialize", initialize, BASE),
    METHOD("notifications/initialized", initialized, BASE),
    METHOD("notifications/cancelled", cancelled, READS | FUMI_UNORDERED),
    METHOD("notifications/progress", ignore, READS),
    METHOD("notifications/roots/list_changed", ignore, READS),
    METHOD("server/discover", discover, READS),
    METHOD("subscriptions/listen", mcp_listen, READS | FUMI_ASYNC | FUMI_SUBSCRIPTION),
    METHOD("ping", ping, READS | FUMI_UNORDERED),
    METHOD("logging/setLevel", set_level, BASE),
};
static const struct fumi_method tools[] = {
    METHOD("tools/list", mcp_tools_list, READS),
    METHOD("tools/call", mcp_tools_call, BASE | FUMI_DYNAMIC_FLAGS),
};
static const struct fumi_method prompts[] = {
    METHOD("prompts/list", mcp_prompts_list, READS),
    METHOD("prompts/get", mcp_prompts_get, READS | FUMI_DYNAMIC_FLAGS),
};
static const struct fumi_method resources[] = {
    METHOD("resources/list", mcp_resources_list, READS | FUMI_DYNAMIC_FLAGS),
    METHOD("resources/read", mcp_resources_read, READS | FUMI_DYNAMIC_FLAGS),
    METHOD("resources/templates/list", mcp_templates_list, READS),
    METHOD("resources/subscribe", mcp_subscribe, BASE),
    METHOD("resources/unsubscribe", mcp_unsubscribe, BASE),
};
static const struct fumi_method completion[] = {
    METHOD("completion/complete", mcp_complete, READS | FUMI_DYNAMIC_FLAGS),
};

/* The flags of a call depend on the tool or prompt that it names. */
static unsigned flags_for(void *self, const struct fumi_method *method,
                          const struct fumi_val *params)
{
    const struct fumi_mcp *m = self;
    if (method->run == mcp_tools_call)
        return mcp_tool_flags(m, params);
    if (method->run == mcp_prompts_get)
        return mcp_prompt_flags(m, params);
    return (method->run == mcp_complete ? m->o.complete_flags : m->o.resources->flags) &
           FUMI_BLOCKING;
}

static struct fumi_json info_of(struct fumi_mcp *m, bool full)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    mcp_put_text(&o, "name", m->o.name);
    mcp_put_text(&o, "version", m->o.version);
    if (full) {
        mcp_put_text(&o, "title", m->o.title);
        mcp_put_text(&o, "description", m->o.description);
        mcp_put_text(&o, "websiteUrl", m->o.website);
    }
    fumi_put_close(&o, '}');
    return (struct fumi_json){fumi_buf_keep(&b, &m->arena)};
}

static void put_capability(struct fumi_out *o, const char *name, bool subscribe, bool changes)
{
    fumi_put_key(o, name);
    fumi_put_open(o, '{');
    if (subscribe) {
        fumi_put_key(o, "subscribe");
        fumi_put_bool(o, true);
    }
    if (changes) {
        fumi_put_key(o, "listChanged");
        fumi_put_bool(o, true);
    }
    fumi_put_close(o, '}');
}

static struct fumi_json capabilities_of(struct fumi_mcp *m)
{
    const struct {
        bool present;
        const char *name;
        bool subscribe;
        unsigned list; /* 1 << enum fumi_mcp_list; 0: none */
    } rows[] = {
        {m->o.tools_n, "tools", false, 1 << FUMI_MCP_TOOLS},
        {m->o.resources, "resources", true, 1 << FUMI_MCP_RESOURCES},
        {m->o.prompts_n, "prompts", false, 1 << FUMI_MCP_PROMPTS},
        {m->o.prompts_n || m->o.resources, "completions", false, 0},
        {true, "logging", false, 0},
    };
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        if (rows[i].present)
            put_capability(&o, rows[i].name, rows[i].subscribe, m->o.changes & rows[i].list);
    if (m->o.extensions) {
        fumi_put_key(&o, "extensions");
        fumi_put_json(&o, (struct fumi_json){fumi_str(m->o.extensions)});
    }
    fumi_put_close(&o, '}');
    return (struct fumi_json){fumi_buf_keep(&b, &m->arena)};
}

/* Methods of a capability that is not declared are not registered. */
static int add_methods(struct fumi_mcp *m, struct fumi_err *e)
{
    const struct {
        bool present;
        const struct fumi_method *methods;
        size_t n;
    } sets[] = {
        {true, connection, FUMI_COUNT(connection)},
        {m->o.tools_n, tools, FUMI_COUNT(tools)},
        {m->o.prompts_n, prompts, FUMI_COUNT(prompts)},
        {m->o.resources, resources, FUMI_COUNT(resources)},
        {m->o.prompts_n || m->o.resources, completion, FUMI_COUNT(completion)},
    };
    for (size_t i = 0; i < FUMI_COUNT(sets); i++)
        if (sets[i].present && fumi_server_add(m->server, NULL, sets[i].methods, sets[i].n, m, e))
            return -1;
    return 0;
}

struct fumi_mcp *fumi_mcp_new(struct fumi_server *s, const struct fumi_mcp_options *o,
                              struct fumi_err *e)
{
    struct fumi_mcp *m = fumi_resize(NULL, sizeof(*m));
    memset(m, 0, sizeof(*m));
    m->varying.flags_for = flags_for;
    m->server = s;
    m->o = *o;
    pthread_mutex_init(&m->lock, NULL);
    fumi_random(m->key, sizeof(m->key));
    m->info = info_of(m, true);
    m->brief_info = info_of(m, false);
    m->capabilities = capabilities_of(m);
    mcp_prompts_prepare(m);
    mcp_resources_prepare(m);
    if (mcp_tools_prepare(m, e) || add_methods(m, e)) {
        fumi_mcp_free(m);
        return NULL;
    }
    return m;
}

void fumi_mcp_free(struct fumi_mcp *m)
{
    if (!m)
        return;
    if (m->http)
        mcp_http_free(m->http);
    assert(!m->subscriptions);
    pthread_mutex_destroy(&m->lock);
    explicit_bzero(m->key, sizeof(m->key));
    fumi_arena_done(&m->arena);
    fumi_resize(m, 0);
}

void fumi_mcp_end(void *mcp, bool now)
{
    struct fumi_mcp *m = mcp;
    pthread_mutex_lock(&m->lock);
    m->ended = true;
    mcp_update_watched(m);
    pthread_mutex_unlock(&m->lock);
    mcp_end_subscriptions(m, NULL);
    if (m->http)
        mcp_http_end(m->http, now);
}

void fumi_mcp_log(struct fumi_mcp_call *c, enum fumi_mcp_level level, struct fumi_str text)
{
    struct mcp_context *x = c->result->x;
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    if ((int)level < x->level)
        return;
    fumi_put_open(&o, '{');
    mcp_put_text(&o, "level", levels[level]);
    mcp_put_text(&o, "logger", c->mcp->o.name);
    fumi_put_key(&o, "data");
    fumi_put_str(&o, text);
    fumi_put_close(&o, '}');
    fumi_notify(x->call, "notifications/message", &mcp_text_shape,
                &(struct mcp_text){{fumi_buf_str(&b)}});
    fumi_buf_done(&b);
}
