/* The counters are sharded by CPU, so that threads rarely write to the same cache line, and are
 * added up when they are read. The error codes of a method are recorded once for all shards. */
#include "rpc/exchange.h"
#include "rpc/processors.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

enum {
    SHARDS = 8,
    CODES = 8,  /* error codes per method that have their own counter */
    OK = CODES, /* after the counters of the codes: calls without error */
    OTHER,      /* calls with further codes */
    TIME,       /* total duration in nanoseconds */
    COUNTERS,
    SECOND = 1000000000 /* in nanoseconds */
};

static const struct {
    int64_t most; /* nanoseconds */
    const char *seconds;
} bounds[] = {
    {100000, "0.0001"},  {250000, "0.00025"}, {500000, "0.0005"},  {1000000, "0.001"},
    {2500000, "0.0025"}, {5000000, "0.005"},  {10000000, "0.01"},  {25000000, "0.025"},
    {50000000, "0.05"},  {100000000, "0.1"},  {250000000, "0.25"}, {500000000, "0.5"},
    {1000000000, "1"},   {2500000000, "2.5"}, {5000000000, "5"},   {10000000000, "10"},
    {INT64_MAX, "+Inf"},
};

/* The counters of one method in one shard. */
struct method_counters {
    atomic_uint_fast64_t counters[COUNTERS];
};

struct shard {
    atomic_uint_fast64_t buckets[FUMI_COUNT(bounds)];
    struct method_counters rows[];
};

struct codes {
    atomic_int is[CODES]; /* 0: not used yet */
};

struct fumi_metrics {
    const struct fumi_server *server;
    size_t n; /* methods; the row after the last one counts unknown methods */
    struct codes *codes;
    struct shard *shards[SHARDS];
};

static void *zeroed(size_t size)
{
    return memset(fumi_resize(NULL, size), 0, size);
}

static struct shard *shard_new(size_t n)
{
    return zeroed(sizeof(struct shard) + (n + 1) * sizeof(struct method_counters));
}

struct fumi_metrics *fumi_metrics_new(const struct fumi_server *s)
{
    struct fumi_metrics *m = zeroed(sizeof(*m));
    m->server = s;
    m->n = s->n;
    m->codes = zeroed((s->n + 1) * sizeof(*m->codes));
    for (size_t i = 0; i < SHARDS; i++)
        m->shards[i] = shard_new(s->n);
    return m;
}

void fumi_metrics_free(struct fumi_metrics *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < SHARDS; i++)
        fumi_resize(m->shards[i], 0);
    fumi_resize(m->codes, 0);
    fumi_resize(m, 0);
}

/* The counter of an error code: the one that has this code, or the first unused one. */
static size_t counter_of(struct codes *codes, int code)
{
    for (size_t i = 0; i < CODES; i++) {
        int is = atomic_load_explicit(&codes->is[i], memory_order_relaxed);
        if (is == code ||
            (!is && (atomic_compare_exchange_strong(&codes->is[i], &is, code) || is == code)))
            return i;
    }
    return OTHER;
}

static size_t bucket_of(int64_t time)
{
    size_t i = 0;
    while (time > bounds[i].most)
        i++;
    return i;
}

static void add(atomic_uint_fast64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static size_t row_of(const struct fumi_metrics *m, const struct method_entry *e)
{
    size_t i = e ? (size_t)(e - m->server->entries) : m->n;
    return i < m->n ? i : m->n;
}

static void count(void *self, struct fumi_call *c)
{
    struct fumi_metrics *m = self;
    size_t i = row_of(m, c->run->request->entry);
    struct shard *shard = m->shards[(unsigned)sched_getcpu() % SHARDS];
    atomic_uint_fast64_t *counters = shard->rows[i].counters;
    int64_t time = c->ended - c->began;
    add(&counters[c->ret == FUMI_OK ? OK : counter_of(&m->codes[i], c->err.code)], 1);
    add(&counters[TIME], (uint64_t)time);
    add(&shard->buckets[bucket_of(time)], 1);
}

struct fumi_processor fumi_count_calls(struct fumi_metrics *m)
{
    return (struct fumi_processor){.name = "metrics", .after = count, .self = m};
}

static void put(struct fumi_buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct fumi_buf *out, const char *fmt, ...)
{
    char line[256]; /* a name has at most 128 bytes */
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    fumi_buf_add(out, line, (size_t)n);
}

/* Names need no escapes: the registry refuses quotes and backslashes. */
static const char *name_of(const struct fumi_metrics *m, size_t i)
{
    return i < m->n ? m->server->entries[i].name.p : "";
}

static uint64_t value(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Returns the sum of all shards; the caller frees it. */
static struct shard *total(const struct fumi_metrics *m)
{
    struct shard *sum = shard_new(m->n);
    for (size_t s = 0; s < SHARDS; s++) {
        const struct shard *from = m->shards[s];
        for (size_t i = 0; i < FUMI_COUNT(bounds); i++)
            add(&sum->buckets[i], value(&from->buckets[i]));
        for (size_t i = 0; i <= m->n; i++) {
            for (size_t k = 0; k < COUNTERS; k++)
                add(&sum->rows[i].counters[k], value(&from->rows[i].counters[k]));
        }
    }
    return sum;
}

static void put_calls(const struct fumi_metrics *m, size_t i, const struct method_counters *row,
                      struct fumi_buf *out)
{
    const char *name = name_of(m, i);
    if (i < m->n || value(&row->counters[OK]))
        put(out, "fumi_calls_total{method=\"%s\",code=\"0\"} %" PRIu64 "\n", name,
            value(&row->counters[OK]));
    for (size_t k = 0; k < CODES; k++) {
        int code = atomic_load_explicit(&m->codes[i].is[k], memory_order_relaxed);
        if (code)
            put(out, "fumi_calls_total{method=\"%s\",code=\"%d\"} %" PRIu64 "\n", name, code,
                value(&row->counters[k]));
    }
    if (value(&row->counters[OTHER]))
        put(out, "fumi_calls_total{method=\"%s\",code=\"other\"} %" PRIu64 "\n", name,
            value(&row->counters[OTHER]));
}

static void put_time(const struct fumi_metrics *m, size_t i, const struct method_counters *row,
                     struct fumi_buf *out)
{
    uint64_t time = value(&row->counters[TIME]), n = 0;
    for (size_t k = 0; k < TIME; k++)
        n += value(&row->counters[k]);
    if (!n)
        return;
    put(out, "fumi_method_seconds_sum{method=\"%s\"} %" PRIu64 ".%09" PRIu64 "\n", name_of(m, i),
        time / SECOND, time % SECOND);
    put(out, "fumi_method_seconds_count{method=\"%s\"} %" PRIu64 "\n", name_of(m, i), n);
}

static void put_histogram(const struct fumi_metrics *m, const struct shard *sum,
                          struct fumi_buf *out)
{
    uint64_t time = 0, n = 0;
    for (size_t i = 0; i <= m->n; i++)
        time += value(&sum->rows[i].counters[TIME]);
    for (size_t i = 0; i < FUMI_COUNT(bounds); i++) {
        n += value(&sum->buckets[i]);
        put(out, "fumi_call_seconds_bucket{le=\"%s\"} %" PRIu64 "\n", bounds[i].seconds, n);
    }
    put(out, "fumi_call_seconds_sum %" PRIu64 ".%09" PRIu64 "\n", time / SECOND, time % SECOND);
    put(out, "fumi_call_seconds_count %" PRIu64 "\n", n);
}

void fumi_metrics_put(struct fumi_metrics *m, struct fumi_buf *out)
{
    struct shard *sum = total(m);
    put(out, "# HELP fumi_calls_total Calls that ended, by method and error code.\n"
             "# TYPE fumi_calls_total counter\n");
    for (size_t i = 0; i <= m->n; i++)
        put_calls(m, i, &sum->rows[i], out);
    put(out, "# HELP fumi_call_seconds How long calls took.\n"
             "# TYPE fumi_call_seconds histogram\n");
    put_histogram(m, sum, out);
    put(out, "# HELP fumi_method_seconds How long calls took, by method.\n"
             "# TYPE fumi_method_seconds summary\n");
    for (size_t i = 0; i <= m->n; i++)
        put_time(m, i, &sum->rows[i], out);
    fumi_resize(sum, 0);
}
