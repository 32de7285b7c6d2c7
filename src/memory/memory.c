/* Opening and closing, and the choice of the spaces. While a new space is being filled, the
 * previous one answers searches. Its name is stored in META_SPACE, so that a restart continues from
 * there. */
#include "memory/memory_parts.h"
#include "model/dim.h"

#include <stdlib.h>

enum { PATIENCE_MS = 100 };

/* Whether the space is another one than the one of this name. */
static bool is_other(const struct space *sp, const struct embed_config *name)
{
    bool glossed = sp->embedder->variant[0];
    return !space_same_model(&sp->config, name) || glossed == name->no_gloss ||
           (size_t)name->dim != atomic_load(&sp->embedder->dim);
}

/* Opens the space whose vectors are complete, if it is not the current one. Returns NULL if that
 * fails. */
static struct space *open_previous(struct memory *m, const struct embed_config *complete)
{
    struct embed_config c = *complete;
    const struct embed_config *now = &m->now->config;
    struct fumi_err ignored;
    if (space_same_model(&m->o.previous, complete))
        c = m->o.previous;
    else if (space_same_model(now, complete))
        c = *now;
    else if (fumi_eq(now->provider, c.provider))
        c.base_url = now->base_url, c.api_key = now->api_key;
    c.dim = complete->dim;
    c.no_gloss = complete->no_gloss;
    struct space *sp = space_new(&c, m->o.log, &ignored);
    if (!sp || !is_other(sp, complete))
        return sp;
    space_put(sp); /* its dictionary is no longer installed */
    return NULL;
}

/* Writes only if the value differs, so that opening a memory needs no write transaction. */
static int set_meta(struct memory *m, struct fumi_arena *a, const char *key, struct fumi_str value,
                    struct fumi_err *e)
{
    struct fumi_str is;
    if (store_get_meta(m->store, a, key, &is, e))
        return -1;
    if (is.p && fumi_eq(is, value))
        return 0;
    return store_set_meta(m->store, key, value, e);
}

int memory_save(struct memory *m, const struct embed_config *now,
                const struct embed_config *previous, struct fumi_err *e)
{
    const struct embed_config none = {.provider = {0}};
    if (!m->o.save)
        return 0;
    pthread_mutex_lock(&m->saving);
    int rc = m->o.save(m->o.arg, now, previous ? previous : &none, e);
    pthread_mutex_unlock(&m->saving);
    return rc;
}

int memory_settle(struct memory *m, struct fumi_arena *a, struct space *sp, struct fumi_err *e)
{
    pthread_mutex_lock(&m->lock);
    bool needed = !m->settled && m->now == sp && m->serving == sp &&
                  atomic_load(&sp->embedder->dim);
    pthread_mutex_unlock(&m->lock);
    if (!needed)
        return 0;
    struct fumi_str name = space_name(sp, a);
    if (set_meta(m, a, META_TARGET, name, e) || set_meta(m, a, META_SPACE, name, e))
        return -1;
    pthread_mutex_lock(&m->lock);
    m->settled = true;
    pthread_mutex_unlock(&m->lock);
    return 0;
}

/* Reads the name of a space from the store; the provider is null if there is none. Earlier versions
 * stored any dimension that a provider returned. A name with an invalid dimension is ignored: the
 * next answer of the provider gives the dimension again. */
static int known_space(struct memory *m, struct fumi_arena *a, const char *key,
                       struct embed_config *out, struct fumi_err *e)
{
    struct fumi_str name;
    *out = (struct embed_config){.provider = {0}};
    if (store_get_meta(m->store, a, key, &name, e))
        return -1;
    if (name.p && !space_split(name, out)) {
        *out = (struct embed_config){.provider = {0}};
        fumi_log(m->o.log, FUMI_WARN, "embedding space ignored", {"space", name, 0},
                 {"remedy",
                  FUMI_STR("choose a model whose vectors have " VECTOR_DIM_RANGE " numbers"), 0});
    }
    return 0;
}

/* Opens the current space, with the dimension that the store has recorded for it. */
static int open_now(struct memory *m, struct fumi_arena *a, const struct embed_config *complete,
                    struct fumi_err *e)
{
    struct embed_config wanted = m->o.embed, target;
    if (!wanted.model.n)
        wanted.model = embed_default_model(wanted.provider);
    if (known_space(m, a, META_TARGET, &target, e))
        return -1;
    if (!wanted.dim && space_same_model(&wanted, &target))
        wanted.dim = target.dim;
    if (!wanted.dim && space_same_model(&wanted, complete))
        wanted.dim = complete->dim;
    m->now = space_new(&wanted, m->o.log, e);
    return m->now ? 0 : -1;
}

static int open_spaces(struct memory *m, struct fumi_arena *a, struct fumi_err *e)
{
    struct embed_config complete;
    if (known_space(m, a, META_SPACE, &complete, e) || open_now(m, a, &complete, e))
        return -1;
    bool other = complete.provider.p && is_other(m->now, &complete);
    m->serving = other ? open_previous(m, &complete) : NULL;
    if (!m->serving) {
        m->serving = m->now;
        atomic_fetch_add(&m->now->refs, 1);
    }
    m->settled = complete.provider.p && !other;
    struct fumi_err ignored; /* only other processes need the name */
    if (other && !m->o.scope.read_only)
        set_meta(m, a, META_TARGET, space_name(m->now, a), &ignored);
    return 0;
}

static struct memory *new_memory(const struct memory_options *o)
{
    struct memory *m = fumi_resize(NULL, sizeof(*m));
    *m = (struct memory){.store = o->store, .o = *o};
    if (!m->o.patience)
        m->o.patience = PATIENCE_MS;
    pthread_mutex_init(&m->lock, NULL);
    pthread_mutex_init(&m->change, NULL);
    pthread_mutex_init(&m->saving, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&m->wake, &attr);
    pthread_cond_init(&m->paid, &attr);
    pthread_condattr_destroy(&attr);
    fumi_uuid(m->worker.lease);
    m->worker.whole = true;
    watch_init(&m->watch);
    m->opened = fumi_now();
    return m;
}

static int open_view(struct memory *m, struct fumi_err *e)
{
    struct scope *s = &m->o.scope;
    m->view = m->store;
    if (s->project.p && project_writable(&m->arena, s->project, &s->project, e))
        return -1;
    s->project = fumi_dup(&m->arena, s->project);
    if (s->project.p || s->read_only)
        m->view = scoped_new(m->store, s);
    return 0;
}

struct memory *memory_open(const struct memory_options *o, struct fumi_err *e)
{
    struct memory *m = new_memory(o);
    struct fumi_arena a = {0};
    int rc = open_view(m, e) || open_spaces(m, &a, e);
    fumi_arena_done(&a);
    if (!rc)
        return m;
    memory_close(m);
    return NULL;
}

void memory_close(struct memory *m)
{
    if (!m)
        return;
    worker_stop(m);
    watch_done(&m->watch);
    space_put(m->serving);
    space_put(m->now);
    if (m->view && m->view != m->store)
        store_close(m->view);
    store_close(m->store);
    fumi_resize(m->uses.items, 0);
    fumi_arena_done(&m->arena);
    fumi_resize(m->owed.items, 0);
    pthread_cond_destroy(&m->paid);
    pthread_cond_destroy(&m->wake);
    pthread_mutex_destroy(&m->saving);
    pthread_mutex_destroy(&m->change);
    pthread_mutex_destroy(&m->lock);
    fumi_resize(m, 0);
}

int memory_start(struct memory *m, struct fumi_err *e)
{
    return worker_start(m, e);
}

struct fumi_str memory_space(struct memory *m, struct fumi_arena *a)
{
    struct space *sp = space_take(m, &m->now);
    struct fumi_str name = space_name(sp, a);
    space_put(sp);
    return name;
}

struct store *memory_store(struct memory *m)
{
    return m->view;
}

struct fumi_arena *memory_arena(struct memory *m)
{
    return &m->arena;
}

const struct scope *memory_scope(const struct memory *m)
{
    return &m->o.scope;
}

enum secrets_mode memory_secrets(const struct memory *m)
{
    return (enum secrets_mode)m->o.set.secrets;
}

const struct memory_settings *memory_settings_of(const struct memory *m)
{
    return &m->o.set;
}

const struct author *memory_author(const struct memory *m)
{
    return &m->o.by;
}

bool memory_shows_short_ids(const struct memory *m)
{
    return m->o.short_ids;
}

const struct memory_facts *memory_facts_of(const struct memory *m)
{
    return &m->o.facts;
}

void memory_use(struct memory *m, struct space *sp, bool serves, struct space *before)
{
    struct space *old[2] = {NULL, NULL};
    if (serves) {
        before = sp;
        atomic_fetch_add(&sp->refs, 1);
    }
    pthread_mutex_lock(&m->lock);
    old[0] = m->now;
    m->now = sp;
    if (before) {
        old[1] = m->serving;
        m->serving = before;
    }
    m->settled = atomic_load(&sp->embedder->dim) != 0;
    m->worker.woken = m->worker.whole = true;
    m->worker.error.code = m->worker.failing.code = 0;
    pthread_cond_broadcast(&m->wake);
    pthread_mutex_unlock(&m->lock);
    space_put(old[0]);
    space_put(old[1]);
}

void memory_wake(struct memory *m)
{
    pthread_mutex_lock(&m->lock);
    m->worker.woken = m->worker.whole = true;
    pthread_cond_broadcast(&m->wake);
    pthread_mutex_unlock(&m->lock);
}
