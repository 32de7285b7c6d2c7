/* Changes of the embedder while serving. The new embedder is tested, saved in the configuration,
 * and then used. A provider that is unreachable is accepted with a warning; the background thread
 * retries. The second half follows changes that other processes make. */
#include "base/chars.h"
#include "memory/memory_parts.h"
#include "json/json.h"

#include <stdio.h>

enum { MODEL_SHOWN = 128 }; /* bytes */

static const struct fumi_str probe = FUMI_STR("Does this embedder answer?");

struct embed_config memory_embedder(struct memory *m, struct fumi_arena *a)
{
    struct space *sp = space_take(m, &m->now);
    struct embed_config c = space_copy_config(a, &sp->config);
    c.dim = (int64_t)atomic_load(&sp->embedder->dim);
    space_put(sp);
    return c;
}

/* Applies a change. The key is never kept for another provider or address: a caller who sets an
 * address must not receive the key. */
static struct embed_config changed(struct memory *m, const struct embed_config *old,
                                   const struct embed_config *change)
{
    struct embed_config c = *old;
    bool provider = change->provider.n && !fumi_eq(change->provider, old->provider);
    if (provider)
        c = (struct embed_config){.provider = change->provider, .allow_http = old->allow_http};
    if (provider || (change->model.n && !fumi_eq(change->model, old->model)))
        c.dim = 0, c.model = (struct fumi_str){0}, c.model_file = (struct fumi_str){0};
    if (change->model.n)
        c.model = change->model;
    else if (!c.model.n)
        c.model = embed_default_model(c.provider);
    if (change->base_url.p && !fumi_eq(change->base_url, c.base_url)) {
        c.base_url = change->base_url.n ? change->base_url : (struct fumi_str){0};
        c.api_key = (struct fumi_str){0};
    }
    if (change->api_key.p)
        c.api_key = change->api_key.n ? change->api_key : (struct fumi_str){0};
    if (!c.api_key.n && !c.base_url.n && fumi_eq(c.provider, FUMI_STR("openai")))
        c.api_key = m->o.openai_key;
    if (change->dim)
        c.dim = change->dim;
    return c;
}

/* Saves the new embedder, and the previous one if it answers searches for now. */
static int save(struct memory *m, struct space *sp, bool serves, struct fumi_err *e)
{
    struct embed_config now = sp->config;
    struct space *old = space_take(m, &m->serving);
    now.dim = (int64_t)atomic_load(&sp->embedder->dim);
    int rc = memory_save(m, &now, serves ? NULL : &old->config, e);
    space_put(old);
    return rc;
}

/* Whether searches can use the space at once: it already answers them, or no note lacks vectors. */
static int serves_at_once(struct memory *m, struct fumi_arena *a, struct space *sp, bool *out,
                          struct fumi_err *e)
{
    struct space *old = space_take(m, &m->serving);
    struct fumi_str name = space_name(sp, a);
    bool same = fumi_eq(name, space_name(old, a));
    int64_t have = 0, all = 0;
    space_put(old);
    if (!same && store_embedding_progress(m->store, name, &have, &all, e))
        return -1;
    *out = same || have == all;
    return 0;
}

/* Makes `sp` the current space. META_TARGET tells other processes to follow; META_SPACE is not set
 * while the dimension is unknown. */
static int switch_to(struct memory *m, struct fumi_arena *a, struct space *sp, struct fumi_err *e)
{
    struct store *store = m->store;
    struct fumi_str name = space_name(sp, a);
    bool serves;
    if (serves_at_once(m, a, sp, &serves, e) || save(m, sp, serves, e) ||
        store_set_meta(store, META_TARGET, name, e) ||
        (serves && atomic_load(&sp->embedder->dim) && store_set_meta(store, META_SPACE, name, e)))
        return -1;
    memory_use(m, sp, serves, NULL);
    return 0;
}

/* Whether the provider is unreachable or asks to retry later. An unreadable answer with status 2xx
 * does not count: it is probably from a wrong address. */
static bool is_unreachable(struct fumi_arena *a, const struct fumi_err *e)
{
    struct fumi_err ignored;
    int64_t status = 0;
    const struct fumi_val *data = e->data.n ? fumi_parse(a, e->data, &ignored) : NULL;
    fumi_int(fumi_get(data, "status"), &status);
    return e->code == ERR_PROVIDER && fumi_is(fumi_get(data, "retryable"), FUMI_TRUE) &&
           status / 100 != 2;
}

/* Embeds a text as a test. If the provider is unreachable, *warning is set, and a dimension that is
 * not configured is unknown, even if the model is a known one. */
static int try_out(struct space *sp, struct fumi_arena *a, int64_t ms, struct fumi_str *warning,
                   struct fumi_err *e)
{
    float *x;
    if (!space_query(sp, a, probe, ms, &x, e))
        return 0;
    if (!is_unreachable(a, e))
        return -1;
    if (!sp->config.dim)
        atomic_store(&sp->embedder->dim, 0);
    *warning = fumi_fmt(a,
                        "saved, but the provider is unreachable; until it responds, notes stay "
                        "pending and are found by keyword only: %s",
                        e->text);
    *e = (struct fumi_err){0};
    return 0;
}

static void put_member(struct fumi_out *o, const char *name, struct fumi_str value)
{
    fumi_put_key(o, name);
    fumi_put_str(o, value);
}

/* Writes characters that a shell or a terminal might interpret as JSON escapes, so that the user
 * sees exactly what the command does. */
static void put_visible(struct fumi_buf *b, uint32_t c)
{
    char text[16];
    if (c != '\'' && c < 0x7F) {
        fumi_buf_put(b, (char)c);
        return;
    }
    if (c > 0xFFFF)
        snprintf(text, sizeof(text), "\\u%04x\\u%04x", 0xD7C0 + (c >> 10), 0xDC00 + (c & 0x3FF));
    else
        snprintf(text, sizeof(text), "\\u%04x", c);
    fumi_buf_add(b, text, strlen(text));
}

/* The params of memory.set_config in single quotes, for a shell, without the key. */
static struct fumi_str quoted_params(struct fumi_arena *a, const struct embed_config *c)
{
    struct fumi_buf json = {0}, text = {0};
    struct fumi_out o = {.buf = &json};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "embedder");
    fumi_put_open(&o, '{');
    put_member(&o, "provider", c->provider);
    if (c->model.n <= MODEL_SHOWN)
        put_member(&o, "model", c->model);
    put_member(&o, "baseUrl", c->base_url);
    fumi_put_close(&o, '}');
    fumi_put_close(&o, '}');
    fumi_buf_put(&text, '\'');
    for (size_t i = 0, n; i < json.n; i += n)
        put_visible(&text, fumi_char_at(json.p + i, json.p + json.n, &n));
    fumi_buf_put(&text, '\'');
    fumi_buf_done(&json);
    return fumi_buf_keep(&text, a);
}

/* Sets the error's data, with the command by which the user can set the address. */
static void put_remedy(struct memory *m, struct fumi_arena *a, const struct embed_config *c,
                       struct fumi_err *e)
{
    struct fumi_buf text = {0};
    struct fumi_out o = {.buf = &text};
    struct fumi_str remedy = fumi_fmt(
        a, "the user can run in a terminal: fumi call%.*s memory.set_config %.*s",
        FUMI_ARG(m->o.facts.flags), FUMI_ARG(quoted_params(a, c)));
    fumi_put_open(&o, '{');
    put_member(&o, "field", FUMI_STR("embedder.baseUrl"));
    put_member(&o, "remedy", remedy);
    fumi_put_close(&o, '}');
    e->data = fumi_buf_keep(&text, a);
}

/* Fails if a remote caller may not set this base URL, because all notes are sent to it. Allowed are
 * the present URL, those of the configuration, and what embed_check_host allows. */
static int check_host(struct memory *m, struct fumi_arena *a, const struct embed_config *old,
                      const struct embed_config *change, struct fumi_err *e)
{
    struct embed_config c = *change, now = m->o.embed, previous = m->o.previous;
    struct fumi_err ignored;
    if (m->o.reload && m->o.reload(m->o.arg, a, &now, &previous, &ignored))
        now = m->o.embed, previous = m->o.previous;
    const struct fumi_str known[] = {old->base_url, now.base_url, previous.base_url};
    for (size_t i = 0; i < FUMI_COUNT(known); i++) {
        if (fumi_eq(c.base_url, known[i]))
            return 0;
    }
    c.allowed_hosts = now.allowed_hosts;
    if (!embed_check_host(&c, e))
        return 0;
    put_remedy(m, a, &c, e);
    return -1;
}

static int set(struct memory *m, struct fumi_arena *a, const struct embed_config *change,
               int64_t ms, bool anywhere, struct fumi_str *warning, struct fumi_err *e)
{
    struct embed_config old = memory_embedder(m, a), c = changed(m, &old, change);
    struct space *sp = space_new(&c, m->o.log, e);
    if (!sp)
        return -1;
    if ((anywhere || !check_host(m, a, &old, &c, e)) && !try_out(sp, a, ms, warning, e) &&
        !switch_to(m, a, sp, e))
        return 0;
    space_put(sp);
    return -1;
}

int memory_set_embedder(struct memory *m, struct fumi_arena *a, const struct embed_config *change,
                        int64_t ms, bool anywhere, struct fumi_str *warning, struct fumi_err *e)
{
    *warning = (struct fumi_str){0};
    if (m->o.set.frozen)
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "embedder cannot be changed: the server was started with "
                            "--freeze-config");
    if (scope_writes(&m->o.scope, e))
        return -1;
    if (m->o.scope.project.p)
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "embedder cannot be changed: all projects share it, and the server "
                            "was started with --project");
    pthread_mutex_lock(&m->change);
    int rc = set(m, a, change, ms, anywhere, warning, e);
    pthread_mutex_unlock(&m->change);
    return rc;
}

/* Opens the space whose vectors are complete. Returns NULL if it is not the previous embedder of
 * the configuration. */
static struct space *open_complete(struct memory *m, struct fumi_arena *a, struct fumi_str complete,
                                   const struct embed_config *previous)
{
    struct fumi_err ignored;
    struct embed_config c = *previous, named;
    c.no_gloss = space_split(complete, &named) && named.no_gloss;
    struct space *sp = c.provider.p ? space_new(&c, m->o.log, &ignored) : NULL;
    if (!sp || fumi_eq(space_name(sp, a), complete))
        return sp;
    space_put(sp);
    return NULL;
}

/* Switches to the space `target` of another process. */
static bool follow(struct memory *m, struct fumi_arena *a, struct fumi_str target,
                   struct fumi_err *e)
{
    struct embed_config now, wanted, previous = {.provider = {0}};
    struct fumi_str complete;
    struct space *sp;
    if (m->o.reload(m->o.arg, a, &now, &previous, e) ||
        store_get_meta(m->store, a, META_SPACE, &complete, e) || !space_split(target, &wanted))
        return false;
    if (!now.dim && space_same_model(&now, &wanted))
        now.dim = wanted.dim; /* another process has determined it */
    if (!(sp = space_new(&now, m->o.log, e)))
        return false;
    if (!fumi_eq(space_name(sp, a), target)) {
        space_put(sp); /* the other process has another configuration file */
        return false;
    }
    bool serves = complete.p && fumi_eq(complete, target);
    memory_use(m, sp, serves,
               serves || !complete.p ? NULL : open_complete(m, a, complete, &previous));
    return true;
}

/* Whether the target is another space than ours. A target with an unknown dimension is ours if the
 * model is the same: this process knows the dimension and will write it to the store. */
static bool is_other(struct fumi_str target, struct fumi_str ours)
{
    struct embed_config t, o;
    if (fumi_eq(target, ours))
        return false;
    return !space_split(target, &t) || !space_split(ours, &o) || t.dim || !space_same_model(&t, &o);
}

bool memory_follow(struct memory *m, struct fumi_arena *a, struct fumi_err *e)
{
    struct fumi_str target;
    if (!m->o.reload || pthread_mutex_trylock(&m->change))
        return false;
    bool changed = !store_get_meta(m->store, a, META_TARGET, &target, e) && target.p &&
                   is_other(target, memory_space(m, a)) && follow(m, a, target, e);
    pthread_mutex_unlock(&m->change);
    return changed;
}
