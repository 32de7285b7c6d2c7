/* Texts are sent to the server in batches. A failed batch is attempted up to three times, if
 * another attempt may succeed and there is time. The breaker counts failed batches, not attempts.
 */
#include "embed/remote.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "embed/passages.h"
#include "embed/provider_url.h"
#include "model/codes.h"
#include "model/dim.h"

#include <assert.h>
#include <stdatomic.h>
#include <strings.h>
#include <time.h>

enum {
    WHOLE_MS = 30000, /* timeout of a batch, with all attempts */
    ATTEMPTS = 3,
    SHORTEST_MS = 10, /* of an attempt */
    POLL_MS = 20,     /* between two checks of `stop` */
    OVERLAP = 10,     /* passages overlap by 1/OVERLAP */
};

static const struct remote_times default_times = {{500, 1000}, 250, 30000};

static int64_t now(void)
{
    return fumi_ticks() / 1000000;
}

/* A batch in progress. */
struct remote_batch {
    const struct fumi_str *texts;
    size_t n; /* of texts; reduced to what the API takes per request */
    int64_t until;
    struct fumi_arena scratch;
    struct remote_vectors got;
    struct remote_fault fault;
};

static const struct fumi_str *cut_texts(const struct remote *r, struct remote_batch *b)
{
    struct fumi_str *cut = fumi_alloc(&b->scratch, b->n * sizeof(*cut));
    for (size_t i = 0; i < b->n; i++) {
        cut[i] = b->texts[i];
        if (cut[i].n > r->provider->passage)
            cut[i] = fumi_utf8_cut(cut[i], r->provider->passage);
        if (!cut[i].n) /* servers refuse empty texts */
            cut[i] = FUMI_STR(" ");
    }
    return cut;
}

static void write_request(const struct remote *r, struct remote_batch *b,
                          const struct remote_api *w, struct fumi_buf *body)
{
    struct fumi_out o = {.buf = body};
    struct remote_request q = {r->model, cut_texts(r, b), b->n, r->dim};
    fumi_put_open(&o, '{');
    w->write(&o, &q);
    fumi_put_close(&o, '}');
}

/* Puts the name of the provider before the message. */
static int add_name(const struct remote *r, struct fumi_err *e)
{
    struct fumi_err inner = *e;
    return fumi_err_set(e, inner.code, "%s: %s", r->provider->ops.name, inner.text);
}

/* Compares the length of vectors with the known one. If none is known yet, the first answer
 * determines it, unless the store does not support that length. */
static int check_dim(struct remote *r, struct remote_batch *b, struct fumi_err *e)
{
    struct fumi_str model = fumi_utf8_cut(r->model, 64);
    size_t known = 0, dim = b->got.dim;
    bool fits = vector_dim_fits((int64_t)dim);
    if (fits && (atomic_compare_exchange_strong(&r->base.dim, &known, dim) || known == dim))
        return 0;
    b->fault.mismatch = r->dim ? REMOTE_OTHER_DIM : REMOTE_MATCH;
    b->fault.remedy = fits ? fumi_fmt(&b->scratch, "set embedder.dim to %zu", dim)
                           : FUMI_STR("choose a model whose vectors have " VECTOR_DIM_RANGE
                                      " numbers");
    if (!fits)
        return fumi_err_set(e, ERR_PROVIDER, "%s: vectors of %.*s have %zu numbers: %.*s",
                            r->provider->ops.name, FUMI_ARG(model), dim, FUMI_ARG(b->fault.remedy));
    return fumi_err_set(e, ERR_PROVIDER,
                        "%s: vectors of %.*s have %zu numbers where %zu were expected: "
                        "set embedder.dim to %zu",
                        r->provider->ops.name, FUMI_ARG(model), dim, known, dim);
}

static int read_answer(struct remote *r, struct remote_batch *b, const struct remote_api *w,
                       const struct fetch_answer *answer, struct fumi_err *e)
{
    if (answer->status / 100 != 2)
        return remote_refused(r, &b->scratch, answer, &b->fault, e);
    b->fault = (struct remote_fault){.status = answer->status};
    if (remote_read(&b->scratch, w, answer->body, b->n, &b->got, e)) {
        b->fault.retryable = b->got.cut;
        return add_name(r, e);
    }
    return check_dim(r, b, e);
}

static int post(struct remote *r, struct remote_batch *b, const struct remote_api *w,
                struct fumi_err *e)
{
    struct fumi_buf body = {0};
    struct fetch_answer answer;
    b->n = b->n < w->most ? b->n : w->most;
    write_request(r, b, w, &body);
    struct fetch_request request = {
        .url = fumi_fmt(&b->scratch, "%.*s%s", FUMI_ARG(r->base_url), w->path).p,
        .api_key = r->key,
        .body = fumi_buf_str(&body),
        .ms = b->until - now(),
        .allow_http = r->allow_http,
        .pool = r->pool,
        .stop = &r->base.stop,
    };
    int rc = fetch_post(&b->scratch, &request, &answer, e);
    fumi_buf_done(&body);
    if (!rc)
        return read_answer(r, b, w, &answer, e);
    b->fault = (struct remote_fault){.retryable = answer.retryable};
    return add_name(r, e);
}

/* One attempt: with the API that worked last, and with the others if the server lacks that. */
static int try_once(struct remote *r, struct remote_batch *b, struct fumi_err *e)
{
    const struct remote_provider *p = r->provider;
    fumi_arena_reset(&b->scratch, 0);
    for (size_t i = 0; i < p->n_apis; i++) {
        size_t at = atomic_load(&r->api);
        if (!post(r, b, &p->apis[at], e))
            return 0;
        if (b->fault.mismatch == REMOTE_MATCH || b->fault.mismatch != p->apis[at].next_at)
            return -1;
        atomic_compare_exchange_strong(&r->api, &at, (at + 1) % p->n_apis);
    }
    return -1;
}

/* Returns false if the embedder is stopped. */
static bool pause_for(const struct remote *r, int64_t ms)
{
    const struct timespec interval = {0, POLL_MS * 1000000};
    for (; ms > 0 && !atomic_load(&r->base.stop); ms -= POLL_MS)
        nanosleep(&interval, NULL);
    return !atomic_load(&r->base.stop);
}

/* Returns false if there is no time for another attempt. libcurl may end an attempt slightly before
 * its timeout; what is left then is too short. */
static bool wait_for_next(const struct remote *r, const struct remote_batch *b, int done)
{
    assert(done >= 1 && done < ATTEMPTS);
    uint16_t random;
    fumi_random(&random, sizeof(random));
    int64_t wait = r->times.again[done - 1];
    if (wait < b->fault.retry_after)
        wait = b->fault.retry_after;
    wait += r->times.jitter * random / UINT16_MAX;
    if (wait + SHORTEST_MS >= b->until - now())
        return false;
    return pause_for(r, wait);
}

static int try_repeatedly(struct remote *r, struct remote_batch *b, int attempts,
                          struct fumi_err *e)
{
    for (int done = 1;; done++) {
        if (!try_once(r, b, e))
            return 0;
        if (!b->fault.retryable || done == attempts || !wait_for_next(r, b, done))
            return -1;
    }
}

static void log_change(const struct remote *r, const char *why)
{
    fumi_log(
        r->log, why ? FUMI_WARN : FUMI_INFO, why ? "embed.breaker_open" : "embed.breaker_closed",
        {"provider", fumi_str(r->provider->ops.name), 0}, {"why", fumi_str(why ? why : ""), 0});
}

static int send_batch(struct remote *r, struct remote_batch *b, struct fumi_err *e)
{
    char *last = fumi_alloc(&b->scratch, sizeof(r->breaker.why));
    int64_t wait = 0;
    enum breaker_permit permit = breaker_enter(&r->breaker, &wait, last);
    if (permit == BREAKER_WAIT) {
        b->fault = (struct remote_fault){
            .retryable = true, .retry_after = wait, .detail = fumi_str(last)};
        return fumi_err_set(e, ERR_PROVIDER, "%s keeps failing; next request in %d s: %s",
                            r->provider->ops.name, (int)((wait + 999) / 1000), last);
    }
    int rc = try_repeatedly(r, b, permit == BREAKER_ONCE ? 1 : ATTEMPTS, e);
    const char *why = rc && b->fault.retryable ? e->text : NULL;
    if (breaker_leave(&r->breaker, why))
        log_change(r, why);
    return rc;
}

/* Embeds a batch and copies its vectors to *out, which is allocated for all texts once the length
 * is known. *at is the number of texts done. */
static int next_batch(struct remote *r, struct fumi_arena *a, struct remote_batch *b, size_t all,
                      size_t *at, float **out, struct fumi_err *e)
{
    if (send_batch(r, b, e))
        return remote_set_data(r, a, &b->fault, e);
    size_t dim = b->got.dim;
    if (!*out)
        *out = fumi_alloc(a, all * dim * sizeof(**out));
    memcpy(*out + *at * dim, b->got.x, b->n * dim * sizeof(**out));
    *at += b->n;
    return 0;
}

int remote_ready(struct embedder *base, struct fumi_arena *a, struct fumi_err *e)
{
    const struct remote *r = (struct remote *)base;
    if (!r->lacks_key)
        return 0;
    fumi_err_set(e, ERR_NO_API_KEY, "api key is required");
    e->data = fumi_fmt(a, "{\"provider\":\"%s\",\"remedy\":\"%s\"}", r->provider->ops.name,
                       r->provider->key_remedy);
    return -1;
}

static int check_time(const struct remote *r, struct fumi_arena *a, int64_t ms, struct fumi_err *e)
{
    struct remote_fault late = {.retryable = true};
    if (ms > 0)
        return 0;
    fumi_err_set(e, ERR_PROVIDER, "%s: no time was left for the request", r->provider->ops.name);
    return remote_set_data(r, a, &late, e);
}

int remote_embed(struct embedder *base, struct fumi_arena *a, const struct fumi_str *texts,
                 size_t n, int64_t ms, float **out, struct fumi_err *e)
{
    enum { DAY = 86400000 };
    struct remote *r = (struct remote *)base;
    int64_t end = now() + (ms < DAY ? ms : DAY);
    *out = NULL;
    if (remote_ready(base, a, e) || check_time(r, a, ms, e))
        return -1;
    for (size_t at = 0; at < n;) {
        int64_t latest = now() + WHOLE_MS;
        size_t left = n - at;
        struct remote_batch b = {.texts = texts + at,
                                 .n = left < base->batch ? left : base->batch,
                                 .until = end < latest ? end : latest};
        int rc = next_batch(r, a, &b, n, &at, out, e);
        fumi_arena_done(&b.scratch);
        if (rc)
            return -1;
    }
    return 0;
}

/* Most servers do not know whether a text is a query. */
int remote_embed_query(struct embedder *base, struct fumi_arena *a, struct fumi_str query,
                       int64_t ms, float **out, struct fumi_err *e)
{
    return remote_embed(base, a, &query, 1, ms, out, e);
}

struct text_ranges remote_split(struct embedder *base, struct fumi_arena *a, struct fumi_str text)
{
    size_t most = ((struct remote *)base)->provider->passage;
    return passages_by_bytes(a, text, most, most / OVERLAP);
}

static struct fumi_str own(struct fumi_str s)
{
    char *p = fumi_resize(NULL, s.n + 1);
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return (struct fumi_str){p, s.n};
}

static void disown(struct fumi_str s)
{
    explicit_bzero((char *)s.p, s.n);
    fumi_resize((char *)s.p, 0);
}

bool remote_supports(struct embedder *base, struct fumi_str text)
{
    (void)text;
    return !((struct remote *)base)->english_only;
}

void remote_free(struct embedder *base)
{
    struct remote *r = (struct remote *)base;
    fetch_pool_free(r->pool);
    breaker_done(&r->breaker);
    disown(r->key);
    disown(r->model);
    disown(r->base_url);
    fumi_resize(r, 0);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Removes white space around a key that was read from a file. */
static struct fumi_str trim(struct fumi_str s)
{
    while (s.n && is_blank(s.p[s.n - 1]))
        s.n--;
    while (s.n && is_blank(*s.p)) {
        s.p++;
        s.n--;
    }
    return s;
}

static struct fumi_str or_default(struct fumi_str s, const char *other)
{
    return s.n ? s : fumi_str(other);
}

static int check_key(struct fumi_str key, struct fumi_err *e)
{
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] <= ' ' || key.p[i] > '~')
            return fumi_err_set(e, FUMI_INVALID_PARAMS,
                                "embedder.apiKey must contain only visible ASCII characters");
    }
    return 0;
}

static int check(const struct embed_config *c, struct fumi_str url, struct fumi_err *e)
{
    struct provider_url ignored;
    return provider_url_read(url, c->allow_http, &ignored, e) || check_key(trim(c->api_key), e) ? -1
                                                                                                : 0;
}

static bool needs_key(const struct remote_provider *p, struct fumi_str url)
{
    const char *host = memchr(url.p, ':', url.n);
    if (!p->key_host || !host)
        return false;
    size_t n = strlen(p->key_host);
    host += 3; /* "://": the URL has been checked */
    size_t left = url.n - (size_t)(host - url.p);
    return left >= n && strncasecmp(host, p->key_host, n) == 0 &&
           (left == n || strchr("/:", host[n]));
}

/* Applies the known properties of a model; its tag ("all-minilm:33m") is ignored. */
static void apply_known(struct remote *r)
{
    const struct remote_provider *p = r->provider;
    const char *tag = memchr(r->model.p, ':', r->model.n);
    struct fumi_str name = {r->model.p, tag ? (size_t)(tag - r->model.p) : r->model.n};
    for (size_t i = 0; i < p->n_models; i++) {
        if (!fumi_eq(name, fumi_str(p->models[i].name)))
            continue;
        r->english_only = p->models[i].english_only;
        r->base.dim = r->dim ? r->dim : p->models[i].dim;
    }
}

void remote_write_texts(struct fumi_out *o, const struct remote_request *q)
{
    fumi_put_key(o, "model");
    fumi_put_str(o, q->model);
    fumi_put_key(o, "input");
    fumi_put_open(o, '[');
    for (size_t i = 0; i < q->n; i++)
        fumi_put_str(o, q->texts[i]);
    fumi_put_close(o, ']');
}

struct remote *remote_open(const struct remote_provider *p, const struct embed_config *c,
                           const struct fumi_log *log, struct fumi_err *e)
{
    struct fumi_str url = or_default(c->base_url, p->base_url), key = trim(c->api_key);
    while (url.n && url.p[url.n - 1] == '/')
        url.n--;
    if (check(c, url, e))
        return NULL;
    struct remote *r = fumi_resize(NULL, sizeof(*r));
    *r = (struct remote){
        .base = {.ops = &p->ops, .batch = p->batch, .variant = "", .dim = (size_t)c->dim},
        .provider = p,
        .log = log,
        .pool = fetch_pool_new(),
        .model = own(or_default(c->model, p->model)),
        .base_url = own(url),
        .key = own(key),
        .dim = (size_t)c->dim,
        .allow_http = c->allow_http,
        .lacks_key = !key.n && needs_key(p, url),
        .times = default_times,
    };
    apply_known(r);
    breaker_init(&r->breaker, default_times.rest);
    return r;
}
