#include "embed/embed.h"

#include "base/near.h"
#include "embed/local.h"
#include "embed/remote.h"
#include "model/dim.h"

static const struct provider {
    const char *name;
    const char *model; /* the usual one */
    struct embedder *(*open)(const struct embed_config *, const struct fumi_log *,
                             struct fumi_err *);
} providers[] = {
    {"local", "all-MiniLM-L6-v2", local_open},
    {"openai", "text-embedding-3-small", openai_open},
    {"ollama", "nomic-embed-text", ollama_open},
};

static const struct provider *find(struct fumi_str name)
{
    for (size_t i = 0; i < FUMI_COUNT(providers); i++) {
        if (fumi_eq(name, fumi_str(providers[i].name)))
            return &providers[i];
    }
    return NULL;
}

static int unknown(struct fumi_str name, struct fumi_err *e)
{
    const char *nearest = NULL;
    struct near near = near_to(name);
    for (size_t i = 0; i < FUMI_COUNT(providers); i++) {
        if (near_is(&near, fumi_str(providers[i].name)))
            nearest = providers[i].name;
    }
    return fumi_err_set(
        e, FUMI_INVALID_PARAMS, "embedder.provider must be local, openai or ollama%s%s%s",
        nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static int check(const struct embed_config *c, struct fumi_err *e)
{
    if (c->dim && !vector_dim_fits(c->dim))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "embedder.dim must be 0 or " VECTOR_DIM_RANGE);
    return 0;
}

struct embedder *embed_open(const struct embed_config *c, const struct fumi_log *log,
                            struct fumi_err *e)
{
    const struct provider *p = find(c->provider);
    int rc = p ? check(c, e) : unknown(c->provider, e);
    return rc ? NULL : p->open(c, log, e);
}

struct fumi_str embed_usual_model(struct fumi_str provider)
{
    const struct provider *p = find(provider);
    return p ? fumi_str(p->model) : (struct fumi_str){0};
}
