/* Places stand in shelves that each have a lock, so that threads seldom meet. A bucket counts in
 * thousandths of a message: with times in milliseconds nothing is ever rounded. */
#include "net/rate.h"

#include "base/arena.h"

#include <pthread.h>

enum {
    SHELVES = 256,
    PLACES = 8,        /* of a shelf: "a few" */
    NAME = 48,         /* bytes of a client; longer ones that begin alike share a bucket */
    PART = 1000,       /* of a message */
    FULL_AFTER = 2000, /* milliseconds, whatever was taken before */
    MOST = 1000000000, /* messages a second, which nobody reaches */
};

struct place {
    uint64_t used; /* its shelf's count of uses then: a millisecond sees many */
    int64_t seen;  /* when `left` was counted */
    int64_t left;  /* thousandths */
    size_t n;      /* bytes of the name; 0: a free place */
    char name[NAME];
};

struct shelf {
    pthread_mutex_t lock;
    uint64_t uses;
    struct place places[PLACES];
};

struct rate {
    int64_t each;
    struct shelf shelves[SHELVES];
};

struct rate *rate_new(int64_t each)
{
    struct rate *r = fumi_resize(NULL, sizeof(*r));
    memset(r, 0, sizeof(*r));
    r->each = each < 1 ? 1 : each > MOST ? MOST : each;
    for (size_t i = 0; i < SHELVES; i++)
        pthread_mutex_init(&r->shelves[i].lock, NULL);
    return r;
}

void rate_free(struct rate *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < SHELVES; i++)
        pthread_mutex_destroy(&r->shelves[i].lock);
    fumi_resize(r, 0);
}

/* FNV-1a. It need not withstand malice: whoever drives a client from its place gives it a full
 * bucket. */
static size_t shelf_of(struct fumi_str name)
{
    uint32_t hash = 2166136261;
    for (size_t i = 0; i < name.n; i++)
        hash = (hash ^ (unsigned char)name.p[i]) * 16777619;
    return (hash ^ hash >> 16) % SHELVES;
}

static bool is_in(const struct place *p, struct fumi_str name)
{
    return p->n == name.n && memcmp(p->name, name.p, name.n) == 0;
}

static struct place *find(struct shelf *s, struct fumi_str name)
{
    struct place *oldest = s->places;
    for (size_t i = 0; i < PLACES; i++) {
        if (is_in(&s->places[i], name))
            return &s->places[i];
        if (s->places[i].used < oldest->used)
            oldest = &s->places[i];
    }
    oldest->n = 0;
    return oldest;
}

static void settle(const struct rate *r, struct place *p, struct fumi_str name, int64_t now)
{
    p->n = name.n;
    memcpy(p->name, name.p, name.n);
    p->left = FULL_AFTER * r->each;
    p->seen = now;
}

/* Threads may bring slightly different times: the later one counts. */
static void refill(const struct rate *r, struct place *p, int64_t now)
{
    int64_t full = FULL_AFTER * r->each, passed = now - p->seen;
    if (passed <= 0)
        return;
    p->left = passed >= FULL_AFTER ? full : p->left + passed * r->each;
    if (p->left > full)
        p->left = full;
    p->seen = now;
}

static bool take(struct place *p)
{
    if (p->left < PART)
        return false;
    p->left -= PART;
    return true;
}

bool rate_take(struct rate *r, struct fumi_str client, int64_t now)
{
    struct fumi_str name = client.n ? client : FUMI_STR("?");
    name.n = name.n < NAME ? name.n : NAME;
    struct shelf *s = &r->shelves[shelf_of(name)];
    pthread_mutex_lock(&s->lock);
    struct place *p = find(s, name);
    p->used = ++s->uses;
    if (p->n)
        refill(r, p, now);
    else
        settle(r, p, name, now);
    bool may = take(p);
    pthread_mutex_unlock(&s->lock);
    return may;
}
