/* Changing the embedder while serving: tried first, written down, then exchanged. A provider that
 * cannot be reached at that moment is taken all the same; the background asks it again. */
#include "base/chars.h"
#include "memory/memory_parts.h"
#include "json/json.h"

#include <stdio.h>

enum { MODEL_SHOWN = 128 }; /* bytes */

static const struct fumi_str probe = FUMI_STR("Does this embedder answer?");

struct embed_config memory_embedder(struct memory *m, struct fumi_arena *a)
{
    struct space *sp = space_take(m, &m->now);
    struct embed_config c = sp->config;
    c.provider = fumi_dup(a, c.provider);
    c.model = fumi_dup(a, c.model);
    c.base_url = fumi_dup(a, c.base_url);
    c.api_key = fumi_dup(a, c.api_key);
    c.model_file = fumi_dup(a, c.model_file);
    c.dim = (int64_t)atomic_load(&sp->embedder->dim);
    space_put(sp);
    return c;
}

/* What comes of a change. A key is never carried to another provider or address: whoever may set an
 * address must not get the key with it. */
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

/* Writes the new one down, and the one that answers until the new vectors are there. */
static int save(struct memory *m, struct space *sp, bool serves, struct fumi_err *e)
{
    struct embed_config now = sp->config;
    struct space *old = space_take(m, &m->serving);
    now.dim = (int64_t)atomic_load(&sp->embedder->dim);
    int rc = memory_save(m, &now, serves ? NULL : &old->config, e);
    space_put(old);
    return rc;
}

/* Whether searches may use it at once: it is the space that answers already, or there is nothing to
 * embed. */
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

/* The name of a space whose dimension is not known yet tells other processes what to follow, but
 * says of no space that it is complete. */
static int exchange(struct memory *m, struct fumi_arena *a, struct space *sp, struct fumi_err *e)
{
    struct store *store = m->store;
    struct fumi_str name = space_name(sp, a);
    bool serves;
    if (serves_at_once(m, a, sp, &serves, e) || save(m, sp, serves, e) ||
        store_set_meta(store, FACT_TARGET, name, e) ||
        (serves && atomic_load(&sp->embedder->dim) && store_set_meta(store, FACT_SPACE, name, e)))
        return -1;
    memory_use(m, sp, serves, NULL);
    return 0;
}

/* Whether no answer came from the provider, or one that says to come back later. An answer of 200
 * that cannot be read rather comes from a wrong address. */
static bool is_out_of_reach(struct fumi_arena *a, const struct fumi_err *e)
{
    struct fumi_err ignored;
    int64_t status = 0;
    const struct fumi_val *data = e->data.n ? fumi_parse(a, e->data, &ignored) : NULL;
    fumi_int(fumi_get(data, "status"), &status);
    return e->code == ERR_PROVIDER && fumi_is(fumi_get(data, "retryable"), FUMI_TRUE) &&
           status / 100 != 2;
}

/* Asks the provider for the first time. That it is out of reach is a warning; then a dimension
 * that nobody configured counts as unknown, even of a model that is known to us. */
static int try_out(struct space *sp, struct fumi_arena *a, int64_t ms, struct fumi_str *warning,
                   struct fumi_err *e)
{
    float *x;
    if (!space_query(sp, a, probe, ms, &x, e))
        return 0;
    if (!is_out_of_reach(a, e))
        return -1;
    if (!sp->config.dim)
        atomic_store(&sp->embedder->dim, 0);
    *warning = fumi_fmt(a,
                        "stored, but the provider cannot be asked now; until it answers, notes "
                        "stay pending and are found by words: %s",
                        e->text);
    *e = (struct fumi_err){0};
    return 0;
}

static void put_member(struct fumi_out *o, const char *name, struct fumi_str value)
{
    fumi_put_key(o, name);
    fumi_put_str(o, value);
}

/* Characters that a shell or a terminal might not take as they are become escapes of JSON: the user
 * sees what the command does. */
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

/* The params of memory.set_config in single quotes, for a shell. The key is left out. */
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

/* The error's data, with the command that sets the address all the same. */
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

/* Whoever is not at the terminal may not send all notes to any address: only to one that is in use,
 * stands in the configuration, or is harmless (embed_check_host). */
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
        !exchange(m, a, sp, e))
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
                            "embedder cannot be changed: it is that of all projects, and the "
                            "server was started with --project");
    pthread_mutex_lock(&m->change);
    int rc = set(m, a, change, ms, anywhere, warning, e);
    pthread_mutex_unlock(&m->change);
    return rc;
}

/* The space whose vectors are complete, when it is another than the target and can be told from
 * what the other process wrote down. */
static struct space *before(struct memory *m, struct fumi_arena *a, struct fumi_str complete,
                            const struct embed_config *previous)
{
    struct fumi_err ignored;
    struct space *sp = previous->provider.p ? space_new(previous, m->o.log, &ignored) : NULL;
    if (!sp || fumi_eq(space_name(sp, a), complete))
        return sp;
    space_put(sp);
    return NULL;
}

static bool follow(struct memory *m, struct fumi_arena *a, struct fumi_str target,
                   struct fumi_err *e)
{
    struct embed_config now, wanted, previous = {.provider = {0}};
    struct fumi_str complete;
    struct space *sp;
    if (m->o.reload(m->o.arg, a, &now, &previous, e) ||
        store_get_meta(m->store, a, FACT_SPACE, &complete, e) || !space_split(target, &wanted))
        return false;
    if (!now.dim && space_same_model(&now, &wanted))
        now.dim = wanted.dim; /* another process has learned it */
    if (!(sp = space_new(&now, m->o.log, e)))
        return false;
    if (!fumi_eq(space_name(sp, a), target)) {
        space_put(sp); /* its configuration is another file than ours */
        return false;
    }
    bool serves = complete.p && fumi_eq(complete, target);
    memory_use(m, sp, serves, serves || !complete.p ? NULL : before(m, a, complete, &previous));
    return true;
}

/* Whether the target is another space than ours. One of unknown dimension is ours, if the model is
 * the same: then we have learned the dimension, and the store will know it soon. */
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
    bool changed = !store_get_meta(m->store, a, FACT_TARGET, &target, e) && target.p &&
                   is_other(target, memory_space(m, a)) && follow(m, a, target, e);
    pthread_mutex_unlock(&m->change);
    return changed;
}
