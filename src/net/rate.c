/* Token buckets in a hash table of fixed size. The table is divided into shards with a lock each,
 * so threads seldom wait for each other. A bucket counts thousandths of a request: with times in
 * milliseconds, no calculation is rounded. */
#include "net/rate.h"

#include "base/arena.h"

#include <pthread.h>

enum {
    SHARDS = 256,
    BUCKETS = 8,       /* per shard */
    NAME = 48,         /* bytes of a client name; longer names with the same start share a bucket */
    PART = 1000,       /* of a request */
    FULL_AFTER = 2000, /* milliseconds in which an empty bucket fills up */
    MOST = 1000000000, /* requests per second: a limit against overflow */
};

struct rate_bucket {
    uint64_t used; /* rate_shard.uses at its last use: finer than milliseconds */
    int64_t seen;  /* time of `left`, in milliseconds */
    int64_t left;  /* thousandths of a request */
    size_t n;      /* bytes of the name; 0: unused */
    char name[NAME];
};

struct rate_shard {
    pthread_mutex_t lock;
    uint64_t uses;
    struct rate_bucket buckets[BUCKETS];
};

struct rate {
    int64_t each;
    struct rate_shard shards[SHARDS];
};

struct rate *rate_new(int64_t each)
{
    struct rate *r = fumi_resize(NULL, sizeof(*r));
    memset(r, 0, sizeof(*r));
    r->each = each < 1 ? 1 : each > MOST ? MOST : each;
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_init(&r->shards[i].lock, NULL);
    return r;
}

void rate_free(struct rate *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_destroy(&r->shards[i].lock);
    fumi_resize(r, 0);
}

/* FNV-1a. It need not resist deliberate collisions: a client that loses its bucket starts again
 * with a full one. */
static size_t shard_of(struct fumi_str name)
{
    uint32_t hash = 2166136261;
    for (size_t i = 0; i < name.n; i++)
        hash = (hash ^ (unsigned char)name.p[i]) * 16777619;
    return (hash ^ hash >> 16) % SHARDS;
}

static bool is_in(const struct rate_bucket *p, struct fumi_str name)
{
    return p->n == name.n && memcmp(p->name, name.p, name.n) == 0;
}

static struct rate_bucket *find(struct rate_shard *s, struct fumi_str name)
{
    struct rate_bucket *oldest = s->buckets;
    for (size_t i = 0; i < BUCKETS; i++) {
        if (is_in(&s->buckets[i], name))
            return &s->buckets[i];
        if (s->buckets[i].used < oldest->used)
            oldest = &s->buckets[i];
    }
    oldest->n = 0;
    return oldest;
}

static void start_full(const struct rate *r, struct rate_bucket *p, struct fumi_str name,
                       int64_t now)
{
    p->n = name.n;
    memcpy(p->name, name.p, name.n);
    p->left = FULL_AFTER * r->each;
    p->seen = now;
}

/* Threads may pass slightly different times: time never goes back. */
static void refill(const struct rate *r, struct rate_bucket *p, int64_t now)
{
    int64_t full = FULL_AFTER * r->each, passed = now - p->seen;
    if (passed <= 0)
        return;
    p->left = passed >= FULL_AFTER ? full : p->left + passed * r->each;
    if (p->left > full)
        p->left = full;
    p->seen = now;
}

static bool take(struct rate_bucket *p)
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
    struct rate_shard *s = &r->shards[shard_of(name)];
    pthread_mutex_lock(&s->lock);
    struct rate_bucket *p = find(s, name);
    p->used = ++s->uses;
    if (p->n)
        refill(r, p, now);
    else
        start_full(r, p, name, now);
    bool may = take(p);
    pthread_mutex_unlock(&s->lock);
    return may;
}
