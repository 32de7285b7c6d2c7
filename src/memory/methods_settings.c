#include "memory/memory_parts.h"
#include "memory/methods_parts.h"
#include "model/dim.h"

#include <inttypes.h>
#include <poll.h>

enum {
    POLL_MS = 250,  /* between two polls of the progress */
    STUCK = 40,     /* polls without progress and without a running background thread until reembed
                       returns */
    FAILED = 8,     /* a poll that finds an error counts as so many */
    LEAVE_MS = 500, /* reserved for the response */
};

struct transport {
    struct fumi_str usual;
};

static const struct fumi_field transport_fields[] = {
    FUMI_FIELD(struct transport, usual, "defaultTransport", "stdio or http."),
};
static const struct fumi_shape transport_shape = FUMI_SHAPE(struct transport, transport_fields);

struct embedder_view {
    struct fumi_str provider, model, base_url;
    int64_t dim;
    bool key_set;
    struct fumi_str gloss;
};

static const struct fumi_field embedder_fields[] = {
    FUMI_FIELD(struct embedder_view, provider, "provider", "local, openai or ollama."),
    FUMI_FIELD(struct embedder_view, model, "model", "The model."),
    FUMI_FIELD(struct embedder_view, dim, "dim", "Dimensions of a vector; 0: not known yet."),
    FUMI_FIELD(struct embedder_view, base_url, "baseUrl", "Address of the provider.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct embedder_view, key_set, "apiKeySet",
               "Whether an API key is set. The key itself is never shown."),
    FUMI_FIELD(struct embedder_view, gloss, "gloss",
               "edict: the embedder translates Japanese words with the dictionary EDICT; null: "
               "texts are embedded as they are.",
               .flags = FUMI_NULLABLE),
};
static const struct fumi_shape embedder_shape = FUMI_SHAPE(struct embedder_view, embedder_fields);

struct store_view {
    struct fumi_str type, path, url;
};

static const struct fumi_field store_fields[] = {
    FUMI_FIELD(struct store_view, type, "type", "The kind of store."),
    FUMI_FIELD(struct store_view, path, "path", "File of the database.", .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct store_view, url, "url", "Address of a remote store.", .flags = FUMI_NULLABLE),
};
static const struct fumi_shape store_shape = FUMI_SHAPE(struct store_view, store_fields);

struct paths_view {
    struct fumi_str config, data;
};

static const struct fumi_field paths_fields[] = {
    FUMI_FIELD(struct paths_view, config, "configPath", "The configuration file.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct paths_view, data, "dataDir", "Directory of the data.",
               .flags = FUMI_NULLABLE),
};
static const struct fumi_shape paths_shape = FUMI_SHAPE(struct paths_view, paths_fields);

struct config_view {
    struct transport transport;
    struct embedder_view embedder;
    struct store_view store;
    struct paths_view paths;
};

static const struct fumi_field config_fields[] = {
    FUMI_FIELD(struct config_view, transport, "transportDefaults", "How clients reach the server.",
               .shape = &transport_shape),
    FUMI_FIELD(struct config_view, embedder, "embedder", "How texts are turned into vectors.",
               .shape = &embedder_shape),
    FUMI_FIELD(struct config_view, store, "store", "Where notes are stored.",
               .shape = &store_shape),
    FUMI_FIELD(struct config_view, paths, "paths", "Files and directories.", .shape = &paths_shape),
};
static const struct fumi_shape config_shape = FUMI_SHAPE(struct config_view, config_fields);

static enum fumi_ret get_config(struct fumi_call *call, const void *params, void *result)
{
    const struct memory_facts *f = memory_facts_of(call->self);
    struct embed_config c = memory_embedder(call->self, call->arena), space;
    bool glossed = space_split(memory_space(call->self, call->arena), &space) && !space.no_gloss;
    (void)params;
    *(struct config_view *)result = (struct config_view){
        .transport = {f->transport},
        .embedder = {c.provider, c.model, c.base_url, c.dim, c.api_key.n > 0,
                     glossed ? FUMI_STR("edict") : (struct fumi_str){0}},
        .store = {f->store_type, f->store_path, f->store_url},
        .paths = {f->config_path, f->data_dir},
    };
    return FUMI_OK;
}

struct embedder_change {
    struct fumi_str provider, model, base_url, api_key;
    int64_t dim;
};

static const struct fumi_field change_fields[] = {
    FUMI_FIELD(struct embedder_change, provider, "provider", "local, openai or ollama.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct embedder_change, model, "model",
               "Model; the provider's default model if not set.", .flags = FUMI_NULLABLE),
    FUMI_FIELD(
        struct embedder_change, base_url, "baseUrl",
        "Address of the provider. The API key is not sent to a new address. Clients may only "
        "name the provider's own hosts, this machine, hosts in embedder.allowedHosts and "
        "the address in the configuration file.",
        .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct embedder_change, api_key, "apiKey",
               "API key. It is stored in the configuration file and never shown.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct embedder_change, dim, "dim",
               "Dimensions of a vector, " VECTOR_DIM_RANGE
               ", if the model supports several; 0 = chosen by the model.",
               .flags = FUMI_NULLABLE, .min = 0, .max = VECTOR_DIM_MAX, .def = "0"),
};
static const struct fumi_shape change_shape = FUMI_SHAPE(struct embedder_change, change_fields);

struct set_params {
    struct embedder_change embedder;
};

static const struct fumi_field set_fields[] = {
    FUMI_FIELD(struct set_params, embedder, "embedder",
               "Settings to change. The new embedder is tested first; then all notes are embedded "
               "again in the background, while searches continue.",
               .flags = FUMI_NULLABLE, .shape = &change_shape),
};
static const struct fumi_shape set_shape = FUMI_SHAPE(struct set_params, set_fields);

struct set_result {
    bool ok;
    struct fumi_str name_space, warning;
};

static const struct fumi_field set_result_fields[] = {
    FUMI_FIELD(struct set_result, ok, "ok", "Always true: failures are errors."),
    FUMI_FIELD(struct set_result, name_space, "effectiveNamespace",
               "Embedding space in use: provider, model and dimensions. The dimensions are 0 until "
               "the provider has answered once."),
    FUMI_FIELD(struct set_result, warning, "warning", "Why the provider could not be tested.",
               .flags = FUMI_OMIT),
};
static const struct fumi_shape set_result_shape = FUMI_SHAPE(struct set_result, set_result_fields);

static enum fumi_ret set_config(struct fumi_call *call, const void *params, void *result)
{
    const struct embedder_change *p = &((const struct set_params *)params)->embedder;
    struct embed_config c = {.provider = p->provider,
                             .model = p->model,
                             .base_url = p->base_url,
                             .api_key = p->api_key,
                             .dim = p->dim};
    struct fumi_str warning = {0};
    const char *from = call->peer->transport;
    bool terminal = from && strcmp(from, "cli") == 0;
    bool any = c.provider.n || c.model.n || c.base_url.p || c.api_key.p || c.dim;
    if (any && memory_set_embedder(call->self, call->arena, &c, time_for_embedding(call), terminal,
                                   &warning, &call->err))
        return FUMI_FAIL;
    *(struct set_result *)result = (struct set_result){true, memory_space(call->self, call->arena),
                                                       warning};
    return FUMI_OK;
}

struct progress_view {
    bool running;
    int64_t done, total, pending, seconds_left;
    double per_second;
    struct fumi_str serving, error;
};

static const struct fumi_field progress_fields[] = {
    FUMI_FIELD(struct progress_view, running, "running", "Whether vectors are being computed."),
    FUMI_FIELD(struct progress_view, done, "done", "Notes that have vectors in the space in use."),
    FUMI_FIELD(struct progress_view, total, "total", "Number of notes."),
    FUMI_FIELD(struct progress_view, pending, "pending", "Notes without vectors."),
    FUMI_FIELD(struct progress_view, per_second, "perSecond", "Notes per second; 0: not known."),
    FUMI_FIELD(struct progress_view, seconds_left, "secondsLeft",
               "Estimated seconds until all notes have vectors; -1: not known."),
    FUMI_FIELD(
        struct progress_view, serving, "serving",
        "Embedding space that answers searches: the previous one until the new one is complete."),
    FUMI_FIELD(struct progress_view, error, "error", "Why embedding is paused, if it is.",
               .flags = FUMI_NULLABLE),
};
static const struct fumi_shape progress_shape = FUMI_SHAPE(struct progress_view, progress_fields);

static int progress_of(struct fumi_call *call, struct fumi_arena *a, struct progress_view *out)
{
    struct embedding_progress p;
    if (memory_progress(call->self, a, &p, &call->err))
        return -1;
    *out = (struct progress_view){p.running,      p.done,       p.total,   p.total - p.done,
                                  p.seconds_left, p.per_second, p.serving, p.error};
    return 0;
}

static void report(struct fumi_call *call, struct fumi_arena *a, const struct progress_view *p)
{
    fumi_progress(call, (double)p->done, (double)p->total,
                  fumi_fmt(a, "%" PRId64 " of %" PRId64 " notes have vectors", p->done, p->total));
}

/* Whether all notes have vectors, and searches use these vectors. */
static bool is_complete(struct fumi_call *call, struct fumi_arena *a, const struct progress_view *p)
{
    return !p->running && fumi_eq(p->serving, memory_space(call->self, a));
}

/* Waits until all notes have vectors, the call is cancelled, its time is nearly over, or there is
 * no progress. */
static int wait_for_all(struct fumi_call *call, struct fumi_arena *a)
{
    struct progress_view p;
    int64_t before = -1;
    for (int stuck = 0; stuck < STUCK; poll(NULL, 0, POLL_MS)) {
        fumi_arena_reset(a, 4096);
        if (progress_of(call, a, &p))
            return -1;
        if (p.done > before)
            report(call, a, &p);
        if (is_complete(call, a, &p) || fumi_cancelled(call) ||
            fumi_time_left(call) < POLL_MS + LEAVE_MS)
            return 0;
        stuck = p.done > before ? 0 : stuck + (p.error.p ? FAILED : !p.running);
        before = p.done;
    }
    return 0;
}

/* Returns at once, or, if the client requested progress, after wait_for_all. */
static enum fumi_ret reembed(struct fumi_call *call, const void *params, void *result)
{
    struct fumi_arena a = {0};
    (void)params;
    if (scope_writes(memory_scope(call->self), &call->err))
        return FUMI_FAIL;
    memory_wake(call->self);
    int rc = fumi_wants_progress(call) ? wait_for_all(call, &a) : 0;
    fumi_arena_done(&a);
    return rc || progress_of(call, call->arena, result) ? FUMI_FAIL : FUMI_OK;
}

struct stats_view {
    struct fumi_str name_space;
    int64_t notes, projects, groups, globals, vectors, bytes, schema;
    struct progress_view embedding;
};

static const struct fumi_field stats_fields[] = {
    FUMI_FIELD(struct stats_view, name_space, "namespace",
               "Embedding space in use: provider, model and dimensions.", .flags = FUMI_DETAIL),
    FUMI_FIELD(struct stats_view, notes, "notes", "Number of notes."),
    FUMI_FIELD(struct stats_view, projects, "projects", "Projects that have notes."),
    FUMI_FIELD(struct stats_view, groups, "groups", "Groups that were created."),
    FUMI_FIELD(struct stats_view, globals, "globals", "Number of globals."),
    FUMI_FIELD(struct stats_view, vectors, "vectors", "Vectors of all spaces; one per passage."),
    FUMI_FIELD(struct stats_view, bytes, "bytes", "Size of the store."),
    FUMI_FIELD(struct stats_view, schema, "schemaVersion", "Version of the store's format."),
    FUMI_FIELD(struct stats_view, embedding, "embedding", "Progress of embedding.",
               .shape = &progress_shape),
};
static const struct fumi_shape stats_shape = FUMI_SHAPE(struct stats_view, stats_fields);

static enum fumi_ret stats(struct fumi_call *call, const void *params, void *result)
{
    struct store *store = memory_store(call->self);
    struct stats_view *out = result;
    struct store_stats s;
    (void)params;
    if (store_stats(store, &s, &call->err) || progress_of(call, call->arena, &out->embedding))
        return FUMI_FAIL;
    out->name_space = memory_space(call->self, call->arena);
    out->notes = s.notes, out->projects = s.projects, out->groups = s.groups;
    out->globals = s.globals, out->vectors = s.vectors, out->bytes = s.bytes;
    out->schema = s.schema;
    return FUMI_OK;
}

const struct fumi_method setting_methods[] = {
    {"get_config", "Shows the configuration, without API keys.", NULL, &config_shape, get_config,
     QUICK},
    {"set_config", "Changes the embedder of a running server.", &set_shape, &set_result_shape,
     set_config, WRITE},
    {"stats", "Returns the numbers of notes, groups and globals, and the progress of embedding.",
     NULL, &stats_shape, stats, READ},
    {"reembed", "Starts embedding notes that lack vectors, and reports the progress.", NULL,
     &progress_shape, reembed, READ},
};
const size_t setting_methods_n = FUMI_COUNT(setting_methods);
