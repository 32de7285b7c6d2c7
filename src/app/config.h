/* The configuration: the file over the defaults, the environment over the file, flags over both.
 *
 * Each section of the file has a shape; its members are also read from the environment, as "FUMI_"
 * and the name in capitals (FUMI_EMBEDDER_BASE_URL). */
#ifndef FUMI_APP_CONFIG_H
#define FUMI_APP_CONFIG_H

#include "embed/embed.h"
#include "net/serve.h"

/* In each section `given` has a bit for each member that the file or the environment set. */
struct config_transport {
    uint64_t given;
    int kind; /* enum config_kind */
};

enum config_kind { CONFIG_STDIO, CONFIG_HTTP };

struct config_embedder {
    uint64_t given;
    struct fumi_str provider, model, base_url, api_key, model_file;
    int64_t dim;
    struct fumi_strs allowed_hosts;
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
    bool freeze, allow_http;
    int secrets;             /* enum secrets_mode */
    bool read_only;          /* these two are of fumi serve alone */
    struct fumi_str project; /* as it was given; null: all */
};

struct config_http {
    struct fumi_settings set; /* first: fumi_settings_shape describes it */
    uint64_t given;
};

/* What flags say. Null, false and 0: nothing. */
struct config_wish {
    struct fumi_str config, data_dir, db;
    bool freeze, allow_http;
    int secrets; /* 1 and the enum secrets_mode */
};

struct config {
    struct config_transport transport;
    struct config_embedder embedder;
    struct config_embedder previous; /* provider null: no change of model is under way */
    struct config_store store;       /* its path is absolute */
    struct config_paths paths;       /* both absolute; the file is where changes are written */
    struct config_safety safety;
    struct config_http http;
    struct fumi_str openai_key;  /* OPENAI_API_KEY; never written down */
    struct fumi_str source;      /* the file that was read; null: there was none */
    struct fumi_str source_text; /* what it holds */
    bool foreign;                /* that is the reference program's file, taken in part */
    struct fumi_strs warnings;   /* sentences about what was ignored */
};

/* Everything lives in the arena. -1: *e names the file, the line and the key, or the variable. */
int config_load(struct config *c, struct fumi_arena *a, const struct config_wish *w,
                struct fumi_err *e);

/* As memory_options has it. */
struct embed_config config_embed(const struct config *c, const struct config_embedder *from);

/* Writes a change of the embedder into the file: only what differs from what would be loaded now,
 * so that nothing from the environment gets there; all else in the file is kept. previous->provider
 * null: forgets it. */
int config_save(const struct config_wish *w, const struct embed_config *now,
                const struct embed_config *previous, struct fumi_err *e);

/* One section of the file, for those who read or describe it. */
struct config_section {
    const char *name, *help;
    const char *prefix; /* of its variables, behind "FUMI_"; NULL: it is not set from there */
    size_t offset;      /* in struct config */
    struct fumi_shape shape;
    bool foreign; /* taken from the reference program's file too */
};
enum { CONFIG_SECTIONS = 7 };
void config_sections(struct config_section out[CONFIG_SECTIONS]);

/* "FUMI_EMBEDDER_BASE_URL", in the arena; NULL: this member is not read from the environment. */
const char *config_variable(struct fumi_arena *a, const struct config_section *s,
                            const struct fumi_field *f);

/* The names of enum secrets_mode, and NULL. */
extern const char *const config_secrets[];

/* fumi_settings_shape for a struct config_http, whose `given` says what was set. */
struct fumi_shape config_http_shape(void);
/* Copies what is given in `from` over `to`, both of that shape. */
void config_overlay(const struct fumi_shape *s, void *to, const void *from);

#endif
