/* Notifies clients of changes in the store. While at least one client is subscribed, a thread reads
 * the store's change number every 250 ms. The number changes with every write of any process. When
 * it has changed, the thread reads each subscribed resource again and sends a notification if the
 * hash of its text differs.
 *
 * No change is missed: the number is recorded when the first client subscribes. If the store
 * changes before or while the text of a resource is read for the first time, the resource is
 * reported too, at this check or at the next one. So a client may receive a notification
 * without a change, but never misses a change. */
#include "agent/agent_parts.h"

#include <assert.h>
#include <pthread.h>
#include <time.h>

enum { CHECK_MS = 250 };

/* A subscribed resource, as of the last check. */
struct watched_uri {
    struct watched_uri *next;
    uint64_t hash;
    bool wanted;      /* a client is still subscribed */
    bool maybe_newer; /* the text may be newer than change_watch.number */
    size_t n;
    char uri[];
};

struct change_watch {
    struct memory *memory;
    struct fumi_mcp *mcp;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the members up to number; never held during I/O */
    pthread_cond_t wake;
    bool any; /* at least one client is subscribed */
    bool stop;
    bool restart;   /* the first client subscribed: discard all hashes */
    int64_t number; /* all changes up to this number are reported */
    /* Used by the thread only. */
    struct watched_uri *all;
    uint64_t list_hash; /* hash of the names of all projects */
    bool list_known;    /* list_hash is set */
    bool maybe_newer;   /* the list may be newer than number */
};

static uint64_t hash_of(uint64_t sum, struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        sum = (sum ^ (unsigned char)s.p[i]) * 0x100000001B3u;
    return (sum ^ s.n) * 0x9E3779B97F4A7C15u;
}

static void drop_uris(struct change_watch *w, bool unwanted_only)
{
    for (struct watched_uri **at = &w->all; *at;) {
        struct watched_uri *s = *at;
        if (unwanted_only && s->wanted) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        fumi_resize(s, 0);
    }
    w->list_known &= unwanted_only;
}

static struct watched_uri *find_uri(struct change_watch *w, struct fumi_str uri)
{
    for (struct watched_uri *s = w->all; s; s = s->next)
        if (fumi_eq((struct fumi_str){s->uri, s->n}, uri))
            return s;
    return NULL;
}

static struct watched_uri *add_uri(struct change_watch *w, struct fumi_str uri)
{
    struct watched_uri *s = fumi_resize(NULL, sizeof(*s) + uri.n);
    *s = (struct watched_uri){.next = w->all, .n = uri.n};
    memcpy(s->uri, uri.p, uri.n);
    return w->all = s;
}

static int hash_text(struct change_watch *w, struct fumi_arena *a, struct fumi_str uri,
                     uint64_t *out)
{
    struct resource_text is;
    struct fumi_err ignored;
    if (resource_text(w->memory, a, NULL, uri, &is, &ignored))
        return -1;
    *out = hash_of(is.text.p != NULL, is.text);
    return 0;
}

/* Whether the store changed since this check began. */
static bool number_moved(struct change_watch *w, int64_t now)
{
    struct store *store = memory_store(w->memory);
    struct fumi_err ignored;
    int64_t number;
    return store_change_number(store, &number, &ignored) || number != now;
}

struct watch_check {
    int64_t number; /* the store's change number */
    bool changed;   /* it differs from that of the last check */
};

static void check_uri(struct change_watch *w, struct fumi_arena *a, struct fumi_str uri,
                      struct watch_check c)
{
    struct watched_uri *s = find_uri(w, uri);
    uint64_t hash = 0;
    if (s)
        s->wanted = true;
    if ((s && !c.changed) || hash_text(w, a, uri, &hash))
        return;
    bool notify = c.changed && (!s || s->maybe_newer || s->hash != hash);
    bool maybe_newer = !c.changed && number_moved(w, c.number);
    if (!s)
        s = add_uri(w, uri);
    s->hash = hash;
    s->maybe_newer = maybe_newer;
    s->wanted = true;
    if (notify)
        fumi_mcp_updated(w->mcp, uri);
}

static void check_list(struct change_watch *w, struct fumi_arena *a, struct watch_check c)
{
    struct store *store = memory_store(w->memory);
    const struct naming what = {.kind = NAME_PROJECT, .limit = SIZE_MAX >> 1};
    struct names all;
    struct fumi_err ignored;
    uint64_t hash = 1;
    if ((w->list_known && !c.changed) || store_list_names(store, a, &what, &all, &ignored))
        return;
    for (size_t i = 0; i < all.n; i++)
        hash = hash_of(hash, all.items[i].text);
    bool notify = c.changed && (!w->list_known || w->maybe_newer || hash != w->list_hash);
    w->maybe_newer = !c.changed && number_moved(w, c.number);
    w->list_known = true;
    w->list_hash = hash;
    if (notify)
        fumi_mcp_changed(w->mcp, FUMI_MCP_RESOURCES);
}

/* The number is read first, so a change during the check is found by the next one. */
static void check_all(struct change_watch *w, struct fumi_arena *a)
{
    struct store *store = memory_store(w->memory);
    struct fumi_err ignored;
    struct watch_check c;
    if (store_change_number(store, &c.number, &ignored))
        return;
    pthread_mutex_lock(&w->lock);
    c.changed = c.number != w->number;
    w->number = c.number;
    pthread_mutex_unlock(&w->lock);
    struct fumi_strs wanted = fumi_mcp_subscribed(w->mcp, a);
    for (struct watched_uri *s = w->all; s; s = s->next)
        s->wanted = false;
    for (size_t i = 0; i < wanted.n; i++)
        check_uri(w, a, wanted.items[i], c);
    drop_uris(w, true);
    check_list(w, a, c);
}

static struct timespec next_check_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += CHECK_MS * 1000000L;
    if (t.tv_nsec >= 1000000000L)
        t.tv_sec++, t.tv_nsec -= 1000000000L;
    return t;
}

/* Waits for the next check: CHECK_MS, or until the first client subscribes. Returns false if the
 * thread must end. */
static bool next(struct change_watch *w, bool *restart)
{
    const struct timespec until = next_check_time();
    bool late = false;
    pthread_mutex_lock(&w->lock);
    while (!w->stop && !w->restart && !(w->any && late))
        if (w->any)
            late = pthread_cond_timedwait(&w->wake, &w->lock, &until) != 0;
        else
            pthread_cond_wait(&w->wake, &w->lock);
    *restart = w->restart;
    w->restart = false;
    bool stop = w->stop;
    pthread_mutex_unlock(&w->lock);
    return !stop;
}

static void *work(void *arg)
{
    struct change_watch *w = arg;
    struct fumi_arena a = {0};
    bool restart;
    while (next(w, &restart)) {
        if (restart)
            drop_uris(w, false);
        check_all(w, &a);
        fumi_arena_reset(&a, 1 << 16);
    }
    drop_uris(w, false);
    fumi_arena_done(&a);
    return NULL;
}

struct change_watch *change_watch_new(struct memory *m)
{
    struct change_watch *w = fumi_resize(NULL, sizeof(*w));
    *w = (struct change_watch){.memory = m};
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    return w;
}

int change_watch_start(struct change_watch *w, struct fumi_mcp *mcp, struct fumi_err *e)
{
    assert(!w->started);
    w->mcp = mcp;
    if (pthread_create(&w->thread, NULL, work, w))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "cannot start the thread that watches for changes");
    w->started = true;
    return 0;
}

static bool is_enabled(struct change_watch *w)
{
    pthread_mutex_lock(&w->lock);
    bool any = w->any;
    pthread_mutex_unlock(&w->lock);
    return any;
}

/* If the number cannot be read, -1 is used. It differs from every number, so the first check
 * reports everything. */
void change_watch_enable(struct change_watch *w, bool any)
{
    struct store *store = memory_store(w->memory);
    struct fumi_err ignored;
    int64_t now = -1;
    if (any && !is_enabled(w))
        store_change_number(store, &now, &ignored);
    pthread_mutex_lock(&w->lock);
    if (any && !w->any) {
        w->restart = true;
        w->number = now;
    }
    w->any = any;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

void change_watch_stop(struct change_watch *w)
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

void change_watch_free(struct change_watch *w)
{
    assert(!w->started && !w->all);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    fumi_resize(w, 0);
}
