/* Tells of changes. While somebody wants to know, a thread looks at the store's change number,
 * which rises whoever writes: this process or another. When it rose, each resource that is wanted
 * is read again, and told when its text is not what it was.
 *
 * Nothing is lost in between: the number is taken at the moment in which somebody begins to want to
 * know. A resource whose text is seen for the first time when the number has risen meanwhile is
 * told as well, at once or, when it rose while the text was read, at the next look: that may be
 * once too often, but never once too few. */
#include "agent/agent_parts.h"

#include <pthread.h>
#include <time.h>

enum { LOOK_MS = 250 };

/* What a text was when it was looked at last. */
struct seen {
    struct seen *next;
    uint64_t hash;
    bool wanted; /* still */
    bool unsure; /* the text may be newer than the number up to which all is told */
    size_t n;
    char uri[];
};

struct watch {
    struct memory *memory;
    struct fumi_mcp *mcp;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the four below; held for moments only */
    pthread_cond_t wake;
    bool any, stop;
    bool fresh;     /* nobody wanted to know for a while: what was seen before is of no use */
    int64_t number; /* the change number up to which all is told */
    /* The thread's own. */
    struct seen *all;
    uint64_t list; /* hash of the names of all projects */
    bool listed;   /* it is known */
    bool unsure;   /* but may be newer than the number */
};

static uint64_t hash_of(uint64_t sum, struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        sum = (sum ^ (unsigned char)s.p[i]) * 0x100000001B3u;
    return (sum ^ s.n) * 0x9E3779B97F4A7C15u;
}

static void forget(struct watch *w, bool unwanted_only)
{
    for (struct seen **at = &w->all; *at;) {
        struct seen *s = *at;
        if (unwanted_only && s->wanted) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        fumi_resize(s, 0);
    }
    w->listed &= unwanted_only;
}

static struct seen *find(struct watch *w, struct fumi_str uri)
{
    for (struct seen *s = w->all; s; s = s->next)
        if (fumi_eq((struct fumi_str){s->uri, s->n}, uri))
            return s;
    return NULL;
}

static struct seen *add(struct watch *w, struct fumi_str uri)
{
    struct seen *s = fumi_resize(NULL, sizeof(*s) + uri.n);
    *s = (struct seen){.next = w->all, .n = uri.n};
    memcpy(s->uri, uri.p, uri.n);
    return w->all = s;
}

static int hash_text(struct watch *w, struct fumi_arena *a, struct fumi_str uri, uint64_t *out)
{
    struct resource_text is;
    struct fumi_err ignored;
    if (resource_text(w->memory, a, NULL, uri, &is, &ignored))
        return -1;
    *out = hash_of(is.text.p != NULL, is.text);
    return 0;
}

/* Whether the number has risen since this look began. */
static bool is_behind(struct watch *w, int64_t now)
{
    struct store *store = memory_store(w->memory);
    struct fumi_err ignored;
    int64_t number;
    return store_change_number(store, &number, &ignored) || number != now;
}

/* One look: what it saw of the number, and whether that is more than the last one saw. */
struct glance {
    int64_t now;
    bool rose;
};

static void look_at(struct watch *w, struct fumi_arena *a, struct fumi_str uri, struct glance g)
{
    struct seen *s = find(w, uri);
    uint64_t hash = 0;
    if (s)
        s->wanted = true;
    if ((s && !g.rose) || hash_text(w, a, uri, &hash))
        return;
    bool tell = g.rose && (!s || s->unsure || s->hash != hash);
    bool unsure = !g.rose && is_behind(w, g.now);
    if (!s)
        s = add(w, uri);
    s->hash = hash;
    s->unsure = unsure;
    s->wanted = true;
    if (tell)
        fumi_mcp_updated(w->mcp, uri);
}

static void look_at_list(struct watch *w, struct fumi_arena *a, struct glance g)
{
    struct store *store = memory_store(w->memory);
    const struct naming what = {.kind = NAME_PROJECT, .limit = SIZE_MAX >> 1};
    struct names all;
    struct fumi_err ignored;
    uint64_t hash = 1;
    if ((w->listed && !g.rose) || store_list_names(store, a, &what, &all, &ignored))
        return;
    for (size_t i = 0; i < all.n; i++)
        hash = hash_of(hash, all.items[i].text);
    bool tell = g.rose && (!w->listed || w->unsure || hash != w->list);
    w->unsure = !g.rose && is_behind(w, g.now);
    w->listed = true;
    w->list = hash;
    if (tell)
        fumi_mcp_changed(w->mcp, FUMI_MCP_RESOURCES);
}

/* One look. The number is read first: what changes while we read is seen at the next. */
static void look(struct watch *w, struct fumi_arena *a)
{
    struct store *store = memory_store(w->memory);
    struct fumi_err ignored;
    struct glance g;
    if (store_change_number(store, &g.now, &ignored))
        return;
    pthread_mutex_lock(&w->lock);
    g.rose = g.now != w->number;
    w->number = g.now;
    pthread_mutex_unlock(&w->lock);
    struct fumi_strs wanted = fumi_mcp_wanted(w->mcp, a);
    for (struct seen *s = w->all; s; s = s->next)
        s->wanted = false;
    for (size_t i = 0; i < wanted.n; i++)
        look_at(w, a, wanted.items[i], g);
    forget(w, true);
    look_at_list(w, a, g);
}

static struct timespec soon(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += LOOK_MS * 1000000L;
    if (t.tv_nsec >= 1000000000L)
        t.tv_sec++, t.tv_nsec -= 1000000000L;
    return t;
}

/* Waits for the next look: a while, or for somebody to want to know. False: it is to end. */
static bool next(struct watch *w, bool *fresh)
{
    const struct timespec until = soon();
    bool late = false;
    pthread_mutex_lock(&w->lock);
    while (!w->stop && !w->fresh && !(w->any && late))
        if (w->any)
            late = pthread_cond_timedwait(&w->wake, &w->lock, &until) != 0;
        else
            pthread_cond_wait(&w->wake, &w->lock);
    *fresh = w->fresh;
    w->fresh = false;
    bool stop = w->stop;
    pthread_mutex_unlock(&w->lock);
    return !stop;
}

static void *work(void *arg)
{
    struct watch *w = arg;
    struct fumi_arena a = {0};
    bool fresh;
    while (next(w, &fresh)) {
        if (fresh)
            forget(w, false);
        look(w, &a);
        fumi_arena_reset(&a, 1 << 16);
    }
    forget(w, false);
    fumi_arena_done(&a);
    return NULL;
}

struct watch *watch_new(struct memory *m)
{
    struct watch *w = fumi_resize(NULL, sizeof(*w));
    *w = (struct watch){.memory = m};
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    return w;
}

int watch_start(struct watch *w, struct fumi_mcp *mcp, struct fumi_err *e)
{
    w->mcp = mcp;
    if (pthread_create(&w->thread, NULL, work, w))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "no thread could be started to see changes");
    w->started = true;
    return 0;
}

static bool is_wanted(struct watch *w)
{
    pthread_mutex_lock(&w->lock);
    bool any = w->any;
    pthread_mutex_unlock(&w->lock);
    return any;
}

/* A number that cannot be read is none that comes again: then all is told at the first look. */
void watch_wanted(struct watch *w, bool any)
{
    struct store *store = memory_store(w->memory);
    struct fumi_err ignored;
    int64_t now = -1;
    if (any && !is_wanted(w))
        store_change_number(store, &now, &ignored);
    pthread_mutex_lock(&w->lock);
    if (any && !w->any) {
        w->fresh = true;
        w->number = now;
    }
    w->any = any;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

void watch_stop(struct watch *w)
{
    if (!w->started)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    w->started = false;
}

void watch_free(struct watch *w)
{
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    fumi_resize(w, 0);
}
