#include "embed/embed.h"

#include "base/closest_name.h"
#include "base/utf8.h"
#include "embed/local.h"
#include "embed/provider_url.h"
#include "embed/remote.h"
#include "model/dim.h"

static const struct provider {
    const char *name;
    const char *model;    /* the default */
    const char *hosts[3]; /* of the provider itself */
    struct embedder *(*open)(const struct embed_config *, const struct fumi_log *,
                             struct fumi_err *);
} providers[] = {
    {"local", "all-MiniLM-L6-v2", {NULL}, local_open},
    {"openai",
     "text-embedding-3-small",
     {"api.openai.com:443", "eu.api.openai.com:443", "us.api.openai.com:443"},
     openai_open},
    {"ollama", "nomic-embed-text", {NULL}, ollama_open}, /* runs on the user's own machines */
};

static const struct provider *find(struct fumi_str name)
{
    for (size_t i = 0; i < FUMI_COUNT(providers); i++) {
        if (fumi_eq(name, fumi_str(providers[i].name)))
            return &providers[i];
    }
    return NULL;
}

/* Sets the error for an unknown provider, with the nearest known name. */
static int unknown(struct fumi_str name, struct fumi_err *e)
{
    const char *nearest = NULL;
    struct closest_name near = closest_name_start(name);
    for (size_t i = 0; i < FUMI_COUNT(providers); i++) {
        if (closest_name_improves(&near, fumi_str(providers[i].name)))
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
    const char *why = c->base_url.n ? provider_url_fault(c->base_url) : NULL;
    return why ? fumi_err_set(e, FUMI_INVALID_PARAMS, "embedder.baseUrl %s", why) : 0;
}

struct embedder *embed_open(const struct embed_config *c, const struct fumi_log *log,
                            struct fumi_err *e)
{
    const struct provider *p = find(c->provider);
    int rc = p ? check(c, e) : unknown(c->provider, e);
    return rc ? NULL : p->open(c, log, e);
}

static bool is_own(const struct provider *p, const struct provider_url *at)
{
    for (size_t i = 0; i < FUMI_COUNT(p->hosts) && p->hosts[i]; i++) {
        struct fumi_str host = fumi_str(p->hosts[i]);
        if (provider_url_is_among(at, (struct fumi_strs){&host, 1}))
            return true;
    }
    return false;
}

static bool is_ascii(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] >= 0x80)
            return false;
    }
    return true;
}

int embed_check_host(const struct embed_config *c, struct fumi_err *e)
{
    const struct provider *p = find(c->provider);
    struct provider_url at;
    if (!c->base_url.n)
        return 0;
    if (!p)
        return unknown(c->provider, e);
    if (provider_url_read(c->base_url, true, &at, e))
        return -1;
    if (!is_ascii(c->base_url))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "embedder.baseUrl must be ASCII");
    if (at.local || is_own(p, &at) || provider_url_is_among(&at, c->allowed_hosts))
        return 0;
    struct fumi_str host = fumi_utf8_cut(fumi_str(at.host), 64);
    return fumi_err_set(e, FUMI_INVALID_PARAMS,
                        "embedder.baseUrl: the host %.*s is not in embedder.allowedHosts; to use "
                        "it, the user runs \"fumi call memory.set_config\" in a terminal",
                        FUMI_ARG(host));
}

const struct embed_calibration *embed_known_calibration(struct fumi_str model)
{
    static const struct {
        struct fumi_str model;
        struct embed_calibration calibration;
    } known[] = {
        {FUMI_STR("all-MiniLM-L6-v2"), {-6.2, 15, 5, 0}},
    };
    for (size_t i = 0; i < FUMI_COUNT(known); i++)
        if (fumi_eq(model, known[i].model))
            return &known[i].calibration;
    return NULL;
}

struct fumi_str embed_default_model(struct fumi_str provider)
{
    const struct provider *p = find(provider);
    return p ? fumi_str(p->model) : (struct fumi_str){0};
}
