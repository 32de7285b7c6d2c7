/* The settings of the configuration file: names, limits, defaults and help texts. */
#include "app/config.h"

#include "embed/provider_url.h"
#include "model/dim.h"
#include "model/note.h"

#include <assert.h>

const char *const config_kinds[] = {"stdio", "http", NULL};
const char *const config_secrets[] = {"mask", "refuse", "allow", NULL};
const char *const config_tool_sets[] = {"all", "core", "admin", NULL};

static const char *check_path(struct fumi_str s)
{
    return memchr(s.p, 0, s.n) ? "must be a path" : NULL;
}

static const char *check_url(struct fumi_str s)
{
    return s.n ? provider_url_fault(s) : NULL;
}

static const char *check_host(struct fumi_str s)
{
    bool bare = s.n && provider_url_is_text(s) && !memchr(s.p, '/', s.n) && !memchr(s.p, '@', s.n);
    return bare ? NULL : "must be HOST or HOST:PORT";
}

static const struct fumi_field transport_fields[] = {
    FUMI_FIELD(struct config_transport, kind, "defaultTransport",
               "Transport of fumi serve if no flag names one.", .choices = config_kinds,
               .def = "\"stdio\""),
};

#define EMBEDDER(member, wire, ...)                                                                \
    FUMI_FIELD(struct config_embedder, set.member, wire, __VA_ARGS__, .flags = FUMI_NULLABLE)

static const struct fumi_field embedder_fields[] = {
    EMBEDDER(provider, "provider",
             "local (in this process), openai (or a compatible server) or ollama.",
             .def = "\"local\""),
    EMBEDDER(model, "model", "Model; the provider's default model if not set."),
    EMBEDDER(dim, "dim", "Dimensions of a vector, " VECTOR_DIM_RANGE "; 0 = chosen by the model.",
             .def = "0"),
    EMBEDDER(base_url, "baseUrl", "Address of the provider; its default address if not set.",
             .check = check_url),
    EMBEDDER(api_key, "apiKey",
             "API key of the provider. A file that contains one must have mode 0600."),
    EMBEDDER(model_file, "modelFile", "File with the local model; the installed model if not set.",
             .check = check_path),
    EMBEDDER(
        allowed_hosts, "allowedHosts",
        "Host (HOST or HOST:PORT) that memory.set_config may use in baseUrl, in addition to the "
        "provider's own hosts and this machine.",
        .check = check_host),
};

#define STORE(member, wire, ...)                                                                   \
    FUMI_FIELD(struct config_store, member, wire, __VA_ARGS__, .flags = FUMI_NULLABLE)

static const struct fumi_field store_fields[] = {
    STORE(type, "type", "Kind of store: sqlite or postgres; that of url if not set."),
    STORE(path, "path", "File of the database; memory.db in the data directory if not set.",
          .check = check_path),
    STORE(url, "url", "Address of a store in PostgreSQL (postgres://...), as libpq reads it."),
};

static const struct fumi_field paths_fields[] = {
    FUMI_FIELD(struct config_paths, config_path, "configPath",
               "Ignored; fumi.conf(5) describes how the file is found.", .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct config_paths, data_dir, "dataDir",
               "Directory for the database, the token and the lock files.", .flags = FUMI_NULLABLE,
               .check = check_path),
};

static const struct fumi_field safety_fields[] = {
    FUMI_FIELD(struct config_safety, memory.frozen, "freezeConfig", "Refuse memory.set_config.",
               .def = "false"),
    FUMI_FIELD(struct config_safety, allow_http, "allowHttpEmbedder",
               "Allow plain http to embedding servers on other machines.", .def = "false"),
    FUMI_FIELD(
        struct config_safety, memory.secrets, "secrets",
        "Values that look like API keys or passwords: mask stores them masked (ghp_****) and "
        "warns, refuse rejects the write, allow stores them unchanged.",
        .choices = config_secrets, .def = "\"mask\""),
    FUMI_FIELD(struct config_safety, memory.review, "review",
               "Notes that agents add or change over MCP wait until a person accepts them. The "
               "global global.memory.review of a project (true or false) overrides this.",
               .def = "false"),
    FUMI_FIELD(struct config_safety, read_only, "readOnly",
               "fumi serve rejects every method that stores, changes or deletes data.",
               .def = "false"),
    FUMI_FIELD(struct config_safety, project, "project",
               "fumi serve gives access to this project only; to all projects if not set.",
               .flags = FUMI_NULLABLE, .min = 1, .max = PROJECT_MAX),
};

static const struct fumi_field projects_fields[] = {
    FUMI_FIELD(struct config_projects, per_worktree, "perWorktree",
               "Treat each worktree of a repository as a project of its own.", .def = "false"),
};

static const struct fumi_field history_fields[] = {
    FUMI_FIELD(struct config_history, days, "days",
               "How long changes, and what agents were given, are kept; 0: for ever.", .min = 0,
               .max = 100000, .def = "90"),
    FUMI_FIELD(struct config_history, bytes, "bytes",
               "How much of them is kept, in bytes; 0: no limit.", .min = 0, .max = INT64_MAX,
               .def = "67108864"),
};

struct fumi_shape config_http_shape(void)
{
    struct fumi_shape s = fumi_settings_shape;
    s.size = sizeof(struct config_http);
    s.given = offsetof(struct config_http, given);
    return s;
}

#define SECTION(T, table)                                                                          \
    {                                                                                              \
        (table), FUMI_COUNT(table), sizeof(T), offsetof(T, given), FUMI_NONE, true                 \
    }

static_assert(offsetof(struct config_embedder, set) == 0,
              "config_embedder_shape fits embed_config");
const struct fumi_shape config_embedder_shape = SECTION(struct config_embedder, embedder_fields);

const size_t config_path_offsets[CONFIG_PATHS] = {
    offsetof(struct config, store.path),
    offsetof(struct config, paths.data_dir),
    offsetof(struct config, embedder.set.model_file),
    offsetof(struct config, previous.set.model_file),
    offsetof(struct config, http.set.token_file),
    offsetof(struct config, http.set.directory),
};

static const struct config_section sections[CONFIG_SECTIONS] = {
    {"transportDefaults", "How clients reach fumi serve.", "", offsetof(struct config, transport),
     SECTION(struct config_transport, transport_fields), true},
    {"embedder", "How texts are turned into vectors.", "EMBEDDER_",
     offsetof(struct config, embedder), SECTION(struct config_embedder, embedder_fields), true},
    {"previousEmbedder",
     "Written by fumi after a change of the model: the embedder that answers searches until all "
     "notes have new vectors.",
     NULL, offsetof(struct config, previous), SECTION(struct config_embedder, embedder_fields),
     false},
    {"store", "Where notes are stored.", "STORE_", offsetof(struct config, store),
     SECTION(struct config_store, store_fields), false},
    {"paths", "Files and directories.", "", offsetof(struct config, paths),
     SECTION(struct config_paths, paths_fields), false},
    {"safety", "Restrictions.", "", offsetof(struct config, safety),
     SECTION(struct config_safety, safety_fields), false},
    {"projects", "Which directories are one project.", "PROJECTS_",
     offsetof(struct config, projects), SECTION(struct config_projects, projects_fields), false},
    {"history", "The history of changes, for fumi history and fumi undo.", "HISTORY_",
     offsetof(struct config, history), SECTION(struct config_history, history_fields), false},
    {"http",
     "Settings of the server; each is also a flag of fumi serve.",
     "HTTP_",
     offsetof(struct config, http),
     {.open = true},
     false},
};

void config_sections(struct config_section out[CONFIG_SECTIONS])
{
    memcpy(out, sections, sizeof(sections));
    out[CONFIG_SECTIONS - 1].shape = config_http_shape();
    out[CONFIG_SECTIONS - 1].shape.open = true;
}

const char *config_variable(struct fumi_arena *a, const struct config_section *s,
                            const struct fumi_field *f)
{
    if (!s->prefix || strcmp(f->name, "configPath") == 0)
        return NULL;
    struct fumi_str start = fumi_fmt(a, "FUMI_%s", s->prefix);
    size_t n = start.n;
    char *name = fumi_alloc(a, n + 2 * f->name_n + 1);
    memcpy(name, start.p, n);
    for (const char *p = f->name; *p; p++) {
        bool capital = *p >= 'A' && *p <= 'Z';
        if (capital)
            name[n++] = '_';
        name[n++] = (char)(capital || *p < 'a' ? *p : *p - ('a' - 'A'));
    }
    return name;
}

static size_t size_of(enum fumi_type type)
{
    switch (type) {
    case FUMI_T_BOOL:
        return sizeof(bool);
    case FUMI_T_INT:
        return sizeof(int64_t);
    case FUMI_T_REAL:
        return sizeof(double);
    case FUMI_T_STR:
        return sizeof(struct fumi_str);
    case FUMI_T_STRS:
        return sizeof(struct fumi_strs);
    case FUMI_T_CHOICE:
        return sizeof(int);
    case FUMI_T_ANY:
        return sizeof(const struct fumi_val *);
    case FUMI_T_JSON:
        return sizeof(struct fumi_json);
    case FUMI_T_LIST:
        return sizeof(struct fumi_list);
    case FUMI_T_TIME:
        return sizeof(struct fumi_time);
    case FUMI_T_OBJECT:
        break; /* sections have no nested objects */
    }
    return 0;
}

/* Null and the empty string set nothing, as in files of local-mcp-memory. */
static bool is_null(const struct fumi_field *f, const char *from)
{
    return f->type == FUMI_T_STR && !((const struct fumi_str *)(const void *)from)->n;
}

void config_overlay(const struct fumi_shape *s, void *to, const void *from)
{
    uint64_t given, *all = (uint64_t *)(void *)((char *)to + s->given);
    memcpy(&given, (const char *)from + s->given, sizeof(given));
    for (size_t i = 0; i < s->n; i++) {
        const struct fumi_field *f = &s->fields[i];
        if (!(given >> i & 1) || is_null(f, (const char *)from + f->offset))
            continue;
        memcpy((char *)to + f->offset, (const char *)from + f->offset, size_of(f->type));
        *all |= UINT64_C(1) << i;
    }
}
