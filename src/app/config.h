/* The configuration. Flags override the environment, the environment overrides the file, and the
 * file overrides the defaults.
 *
 * Each section of the file has a shape (config_shape.c), which is the only place for the names, the
 * limits and the defaults of its settings. Settings are also read from the environment, as "FUMI_"
 * and the name in capitals (FUMI_EMBEDDER_BASE_URL). */
#ifndef FUMI_APP_CONFIG_H
#define FUMI_APP_CONFIG_H

#include "memory/memory.h"
#include "net/serve.h"

/* In each section `given` has a bit for each setting that the file or the environment sets. */
struct config_transport {
    uint64_t given;
    int kind; /* enum config_kind */
};

enum config_kind { CONFIG_STDIO, CONFIG_HTTP };

struct config_embedder {
    struct embed_config set; /* allow_http is set by config_embed */
    uint64_t given;
};

struct config_store {
    uint64_t given;
    struct fumi_str type, path, url;
};

struct config_paths {
    uint64_t given;
    struct fumi_str config_path, data_dir;
};

struct config_safety {
    uint64_t given;
    struct memory_settings memory;
    bool allow_http;
    bool read_only;          /* fumi serve only */
    struct fumi_str project; /* fumi serve only; not canonical; null: all projects */
};

struct config_projects {
    uint64_t given;
    bool per_worktree;
};

struct config_history {
    uint64_t given;
    int64_t days, bytes;
};

struct config_http {
    struct fumi_settings set; /* first, because fumi_settings_shape describes it */
    uint64_t given;
};

/* The values of flags that override settings. Null, false and 0 override nothing. */
struct config_overrides {
    struct fumi_str config, data_dir, db, store;
    bool freeze, allow_http, per_worktree;
    int secrets; /* 1 + enum secrets_mode */
};

struct config {
    struct config_transport transport;
    struct config_embedder embedder;
    struct config_embedder previous; /* provider null: no change of the model is in progress */
    struct config_store store;       /* an absolute path, or an address; the other one is null */
    struct config_paths paths;       /* both absolute; config_save writes config_path */
    struct config_safety safety;
    struct config_projects projects;
    struct config_history history;
    struct config_http http;
    struct fumi_str openai_key;  /* OPENAI_API_KEY; never saved */
    struct fumi_str source;      /* the file that was read; null: there is none */
    struct fumi_str source_text; /* its contents */
    bool foreign;                /* source is the file of local-mcp-memory, used in part */
    struct fumi_strs warnings;   /* sentences about settings that were ignored */
};

/* Loads the configuration; all strings live in the arena. Returns -1 on failure: *e names the file,
 * the line and the setting, or the variable. */
int config_load(struct config *c, struct fumi_arena *a, const struct config_overrides *o,
                struct fumi_err *e);

/* The path or the address of the store, the latter without a password. */
struct fumi_str config_store_name(const struct config *c, struct fumi_arena *a);

/* The embedder for struct memory_options; `from` is &c->embedder or &c->previous. Borrows the
 * strings of `c`. */
struct embed_config config_embed(const struct config *c, const struct config_embedder *from);

/* Saves a change of the embedder in the configuration file. Only values that differ from the loaded
 * configuration are written, so that no value of the environment gets into the file; everything
 * else in the file is kept. If previous->provider is null, the section previousEmbedder is removed.
 * Processes that save at the same time take turns. */
int config_save(const struct config_overrides *o, const struct embed_config *now,
                const struct embed_config *previous, struct fumi_err *e);

struct config_section;
/* Sets one setting of the file, or removes it if the value is NULL; everything else is kept. The
 * file is only replaced if it can be loaded afterwards. */
int config_put(const struct config_overrides *o, const struct config_section *s,
               const struct fumi_field *f, const struct fumi_val *value, struct fumi_err *e);

/* One section of the file. */
struct config_section {
    const char *name, *help;
    const char *prefix; /* of its variables, after "FUMI_"; NULL: not read from the environment */
    size_t offset;      /* in struct config */
    struct fumi_shape shape;
    bool foreign; /* also used if the file is that of local-mcp-memory */
};
enum { CONFIG_SECTIONS = 9 };
void config_sections(struct config_section out[CONFIG_SECTIONS]);

/* The section "embedder". `set` is the first member of struct config_embedder, so the shape also
 * describes a struct embed_config that is only read. */
extern const struct fumi_shape config_embedder_shape;

/* Settings that are paths, as offsets in struct config. */
enum { CONFIG_PATHS = 6 };
extern const size_t config_path_offsets[CONFIG_PATHS];

/* "FUMI_EMBEDDER_BASE_URL", in the arena. Returns NULL if the setting is not read from the
 * environment. */
const char *config_variable(struct fumi_arena *a, const struct config_section *s,
                            const struct fumi_field *f);

/* Names of enum config_kind, enum secrets_mode and enum agent_set; NULL at the end. */
extern const char *const config_kinds[], *const config_secrets[], *const config_tool_sets[];

/* fumi_settings_shape for a struct config_http, as a patch: `given` records which settings are set.
 */
struct fumi_shape config_http_shape(void);
/* Copies the settings that `from` gives over those of `to`; both are structs of that shape. */
void config_overlay(const struct fumi_shape *s, void *to, const void *from);

#endif
