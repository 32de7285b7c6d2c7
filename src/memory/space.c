/* Embedding spaces: an embedder and the name under which its vectors are stored. */
#include "base/clock.h"
#include "embed/gloss.h"
#include "memory/memory_parts.h"
#include "model/dim.h"

#include <assert.h>

struct embed_config space_copy_config(struct fumi_arena *a, const struct embed_config *c)
{
    struct embed_config out = *c;
    out.provider = fumi_dup(a, c->provider);
    out.model = fumi_dup(a, c->model.n ? c->model : embed_default_model(c->provider));
    out.base_url = fumi_dup(a, c->base_url);
    out.api_key = fumi_dup(a, c->api_key);
    out.model_file = fumi_dup(a, c->model_file);
    out.allowed_hosts = (struct fumi_strs){0}; /* read from the configuration, which may change */
    return out;
}

struct space *space_new(const struct embed_config *c, const struct fumi_log *log,
                        struct fumi_err *e)
{
    struct space *sp = fumi_resize(NULL, sizeof(*sp));
    *sp = (struct space){.refs = 1};
    sp->config = space_copy_config(&sp->arena, c);
    sp->embedder = embed_open(&sp->config, log, e);
    if (sp->embedder)
        return sp;
    space_put(sp);
    return NULL;
}

struct space *space_take(struct memory *m, struct space *const *which)
{
    pthread_mutex_lock(&m->lock);
    struct space *sp = *which;
    atomic_fetch_add(&sp->refs, 1);
    pthread_mutex_unlock(&m->lock);
    return sp;
}

void space_put(struct space *sp)
{
    if (!sp)
        return;
    int refs = atomic_fetch_sub(&sp->refs, 1);
    assert(refs > 0);
    if (refs != 1)
        return;
    if (sp->embedder)
        sp->embedder->ops->free(sp->embedder);
    if (sp->config.api_key.n)
        explicit_bzero((char *)(uintptr_t)sp->config.api_key.p, sp->config.api_key.n);
    fumi_arena_done(&sp->arena);
    fumi_resize(sp, 0);
}

struct fumi_str space_name(const struct space *sp, struct fumi_arena *a)
{
    const struct embed_config *c = &sp->config;
    return fumi_fmt(a, "%.*s:%.*s%s:%zu", FUMI_ARG(c->provider), FUMI_ARG(c->model),
                    sp->embedder->variant, atomic_load(&sp->embedder->dim));
}

/* Removes the variant from the name of a local model. */
static void split_variant(struct embed_config *c)
{
    const struct fumi_str variant = FUMI_STR(GLOSS_VARIANT);
    size_t n = c->model.n > variant.n ? c->model.n - variant.n : 0;
    c->no_gloss = !n || !fumi_eq(c->provider, FUMI_STR("local")) ||
                  memcmp(c->model.p + n, variant.p, variant.n) != 0;
    c->model.n = c->no_gloss ? c->model.n : n;
}

/* Split at the first and the last colon, because the model may contain colons. */
bool space_split(struct fumi_str name, struct embed_config *out)
{
    const char *first = memchr(name.p, ':', name.n);
    const char *last = memrchr(name.p, ':', name.n);
    if (!first || first == last)
        return false;
    out->provider = (struct fumi_str){name.p, (size_t)(first - name.p)};
    out->model = (struct fumi_str){first + 1, (size_t)(last - first - 1)};
    split_variant(out);
    out->dim = 0;
    for (const char *p = last + 1; p < name.p + name.n; p++) {
        if (*p < '0' || *p > '9' || out->dim > VECTOR_DIM_MAX)
            return false;
        out->dim = out->dim * 10 + (*p - '0');
    }
    return !out->dim || vector_dim_fits(out->dim);
}

bool space_same_model(const struct embed_config *a, const struct embed_config *b)
{
    return fumi_eq(a->provider, b->provider) && fumi_eq(a->model, b->model);
}

/* The passages of all texts in one array, so that the embedder gets them in one call. */
struct pieces {
    struct fumi_str *texts;
    struct text_ranges *spans; /* of each text */
    size_t n;
};

static struct pieces cut(struct space *sp, struct fumi_arena *a, const struct fumi_str *texts,
                         size_t n)
{
    struct pieces p = {.spans = fumi_alloc(a, n * sizeof(*p.spans))};
    for (size_t i = 0; i < n; i++) {
        p.spans[i] = sp->embedder->ops->split(sp->embedder, a, texts[i]);
        p.n += p.spans[i].n;
    }
    p.texts = fumi_alloc(a, p.n * sizeof(*p.texts));
    struct fumi_str *to = p.texts;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < p.spans[i].n; k++) {
            struct text_range s = p.spans[i].items[k];
            *to++ = (struct fumi_str){texts[i].p + s.begin, s.end - s.begin};
        }
    return p;
}

int space_embed(struct space *sp, struct fumi_arena *a, const struct fumi_str *texts, size_t n,
                int64_t ms, struct vectors *out, struct fumi_err *e)
{
    struct pieces p = cut(sp, a, texts, n);
    float *x;
    if (sp->embedder->ops->embed(sp->embedder, a, p.texts, p.n, ms, &x, e))
        return -1;
    size_t dim = atomic_load(&sp->embedder->dim);
    struct fumi_str name = space_name(sp, a);
    for (size_t i = 0; i < n; i++) {
        struct text_ranges s = p.spans[i];
        out[i] = (struct vectors){name, dim, fumi_alloc(a, s.n * sizeof(struct passage)), s.n};
        for (size_t k = 0; k < s.n; k++, x += dim)
            out[i].items[k] = (struct passage){s.items[k].begin, s.items[k].end, x};
    }
    return 0;
}

int space_ready(struct space *sp, struct fumi_arena *a, struct fumi_err *why, struct fumi_err *e)
{
    *why = (struct fumi_err){0};
    if (!sp->embedder->ops->ready(sp->embedder, a, why) || why->code == ERR_PROVIDER)
        return 0;
    *e = *why;
    return -1;
}

int space_query(struct space *sp, struct fumi_arena *a, struct fumi_str text, int64_t ms,
                float **out, struct fumi_err *e)
{
    return sp->embedder->ops->embed_query(sp->embedder, a, text, ms, out, e);
}
