#include "embed/local.h"

#include "base/clock.h"
#include "embed/gloss.h"
#include "embed/model.h"
#include "embed/passages.h"
#include "model/codes.h"
#include "json/json.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#define DEFAULT_MODEL "all-MiniLM-L6-v2"
#define INSTALL       "run \"fumi model install\""

enum {
    DEFAULT_DIM = 384,
    CHUNK_TEXTS = 32, /* limits of a chunk; deadline and stop are checked between chunks */
    CHUNK_TOKENS = 2048,
    PASSAGE_BYTES = 640, /* used without a model, when tokens cannot be counted */
    PASSAGE_OVERLAP = 120,
};

struct local {
    struct embedder base;
    const struct fumi_log *log;
    struct fumi_arena a;           /* owns file and name */
    struct fumi_str file;          /* null: see model_find */
    struct fumi_str name;          /* of the model that the file must contain */
    size_t dim;                    /* that the model must have; 0: any */
    pthread_mutex_t lock;          /* held while the file is opened */
    _Atomic(struct model *) model; /* NULL until it is open; then never changes */
    struct gloss *gloss;           /* NULL: none; never changes */
};

static struct local *self(struct embedder *em)
{
    return (struct local *)em;
}

/* The data of an error. */
static struct fumi_str describe(struct fumi_arena *a, const char *remedy, bool retryable)
{
    struct fumi_buf text = {0};
    struct fumi_out o = {.buf = &text};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "provider");
    fumi_put_str(&o, FUMI_STR("local"));
    if (remedy) {
        fumi_put_key(&o, "remedy");
        fumi_put_str(&o, fumi_str(remedy));
    }
    fumi_put_key(&o, "retryable");
    fumi_put_bool(&o, retryable);
    fumi_put_close(&o, '}');
    return fumi_buf_keep(&text, a);
}

static int check(const struct local *l, const struct model *m, struct fumi_err *e)
{
    struct fumi_str name = model_name(m);
    size_t dim = model_weights(m)->hidden;
    if (!fumi_eq(name, l->name))
        return fumi_err_set(e, ERR_PROVIDER,
                            "the model file contains %.*s, not %.*s: set embedder.model to the "
                            "former, or install the latter",
                            FUMI_ARG(name), FUMI_ARG(l->name));
    if (l->dim && l->dim != dim)
        return fumi_err_set(e, ERR_PROVIDER,
                            "the local model has %zu dimensions, not %zu: set embedder.dim to "
                            "that, or leave it out",
                            dim, l->dim);
    return 0;
}

static struct fumi_str model_path(const struct local *l, struct fumi_arena *a, struct fumi_err *e)
{
    return l->file.p ? l->file : model_find(a, e);
}

static struct model *try_open(const struct local *l, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    struct fumi_str path = model_path(l, &a, e);
    struct model *m = path.p ? model_open(path.p, e) : NULL;
    fumi_arena_done(&a);
    if (!m || !check(l, m, e))
        return m;
    model_close(m);
    return NULL;
}

/* Returns NULL with *e set if the file is missing or refused. The next call tries again. */
static struct model *get(struct local *l, struct fumi_err *e)
{
    struct model *m = atomic_load_explicit(&l->model, memory_order_acquire);
    if (m)
        return m;
    pthread_mutex_lock(&l->lock);
    m = atomic_load_explicit(&l->model, memory_order_relaxed);
    if (!m && (m = try_open(l, e))) {
        atomic_store(&l->base.dim, model_weights(m)->hidden);
        atomic_store_explicit(&l->model, m, memory_order_release);
        fumi_log(l->log, FUMI_DEBUG, "model-mapped", {"model", model_name(m), 0});
    }
    pthread_mutex_unlock(&l->lock);
    return m;
}

/* How many texts form the next chunk. */
static size_t chunk(const struct encoder_text *texts, size_t n)
{
    size_t tokens = 0, i = 0;
    while (i < n && i < CHUNK_TEXTS && (!i || tokens + texts[i].n <= CHUNK_TOKENS))
        tokens += texts[i++].n;
    return i;
}

static bool all_finite(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* Returns false if it stopped early, at the deadline or for a shutdown. */
static bool run(const struct embedder *em, const struct encoder_weights *w,
                const struct encoder_text *texts, size_t n, int64_t deadline, float *out)
{
    for (size_t done = 0, some; done < n; done += some) {
        if (done && (fumi_ticks() > deadline || atomic_load(&em->stop)))
            return false;
        some = chunk(texts + done, n - done);
        encoder_run(w, texts + done, some, out + done * w->hidden);
    }
    return true;
}

/* Adds the data to the error, and sets its message if `what` is not NULL. Without a remedy the
 * error is retryable. */
static int fault(struct fumi_arena *a, struct fumi_err *e, const char *remedy, const char *what)
{
    if (what)
        fumi_err_set(e, ERR_PROVIDER, "%s%s%s", what, remedy ? ": " : "", remedy ? remedy : "");
    e->data = describe(a, remedy, !remedy);
    return -1;
}

/* The most tokens that are embedded of a text and its prefix. */
static size_t most_tokens(const struct model *m)
{
    size_t most = model_max_tokens(m);
    return most < LOCAL_TOKENS ? most : LOCAL_TOKENS;
}

/* The prefix and the text are tokenized together, as in the training of the model. */
static struct fumi_str prefixed(struct fumi_arena *a, struct fumi_str prefix, struct fumi_str text)
{
    if (!prefix.n)
        return text;
    char *p = fumi_alloc(a, prefix.n + text.n);
    memcpy(p, prefix.p, prefix.n);
    if (text.n)
        memcpy(p + prefix.n, text.p, text.n);
    return (struct fumi_str){p, prefix.n + text.n};
}

struct batch {
    const struct fumi_str *texts;
    size_t n;
    bool queries;
};

static struct encoder_text *tokenize(const struct local *l, const struct model *m,
                                     struct fumi_arena *a, const struct batch *b)
{
    struct fumi_str prefix = b->queries ? model_query_prefix(m) : model_passage_prefix(m);
    struct encoder_text *t = fumi_alloc(a, b->n * sizeof(*t));
    for (size_t i = 0; i < b->n; i++) {
        struct fumi_str text = prefixed(a, prefix, gloss_text(l->gloss, a, b->texts[i]).text);
        t[i].tokens = model_tokens(m, a, text, most_tokens(m), &t[i].n);
    }
    return t;
}

static int embed_batch(struct embedder *em, struct fumi_arena *a, const struct batch *b, int64_t ms,
                       float **out, struct fumi_err *e)
{
    int64_t start = fumi_ticks(), most = (INT64_MAX - start) / 1000000;
    int64_t deadline = start + (ms < most ? ms : most) * 1000000;
    const struct model *m = get(self(em), e);
    if (!m)
        return fault(a, e, INSTALL, NULL);
    const struct encoder_weights *w = model_weights(m);
    const struct encoder_text *tokens = tokenize(self(em), m, a, b);
    *out = fumi_alloc(a, b->n * w->hidden * sizeof(**out));
    if (!run(em, w, tokens, b->n, deadline, *out))
        return fault(a, e, NULL,
                     "the local model did not finish in time: send fewer texts at once");
    if (!all_finite(*out, b->n * w->hidden))
        return fault(a, e, INSTALL, "the model file is damaged");
    return 0;
}

static int embed(struct embedder *em, struct fumi_arena *a, const struct fumi_str *texts, size_t n,
                 int64_t ms, float **out, struct fumi_err *e)
{
    return embed_batch(em, a, &(struct batch){texts, n, false}, ms, out, e);
}

static int embed_query(struct embedder *em, struct fumi_arena *a, struct fumi_str query, int64_t ms,
                       float **out, struct fumi_err *e)
{
    return embed_batch(em, a, &(struct batch){&query, 1, true}, ms, out, e);
}

static int ready(struct embedder *em, struct fumi_arena *a, struct fumi_err *e)
{
    return get(self(em), e) ? 0 : fault(a, e, INSTALL, NULL);
}

/* The tokens that are left for a passage besides [CLS], [SEP] and the prefix. */
static size_t passage_tokens(const struct model *m, struct fumi_arena *a)
{
    size_t used = 0, most = most_tokens(m);
    struct fumi_str prefix = model_passage_prefix(m);
    if (prefix.n)
        model_tokens_at(m, a, prefix, &used);
    return used + 2 < most ? most - used - 2 : 0;
}

static struct text_ranges split(struct embedder *em, struct fumi_arena *a, struct fumi_str text)
{
    struct fumi_err ignored;
    const struct model *m = get(self(em), &ignored);
    if (!m)
        return passages_by_bytes(a, text, PASSAGE_BYTES, PASSAGE_OVERLAP);
    size_t n;
    struct glossed glossed = gloss_text(self(em)->gloss, a, text);
    struct model_token *tokens = model_tokens_at(m, a, glossed.text, &n);
    gloss_map_back(&glossed, tokens, n);
    return passages_by_tokens(a, text, tokens, n, passage_tokens(m, a), LOCAL_OVERLAP);
}

static bool supports(struct embedder *em, struct fumi_str text)
{
    const struct local *l = self(em);
    const struct model *m = atomic_load(&l->model);
    return (m && !model_english_only(m)) || gloss_is_japanese(l->gloss, text);
}

static void release(struct embedder *em)
{
    struct local *l = self(em);
    gloss_close(l->gloss);
    model_close(atomic_load(&l->model));
    pthread_mutex_destroy(&l->lock);
    fumi_arena_done(&l->a);
    fumi_resize(l, 0);
}

static const struct embedder_ops ops = {
    .name = "local",
    .embed = embed,
    .embed_query = embed_query,
    .ready = ready,
    .split = split,
    .supports = supports,
    .free = release,
};

/* Opens the dictionary of an English model. A model that is installed later has none until the
 * program is restarted, because the name of the space must not change. */
static void open_gloss(struct local *l)
{
    struct fumi_err e;
    struct fumi_arena a = {0};
    struct fumi_str path = gloss_find(&a, model_path(l, &a, &e).p);
    if (path.p && !(l->gloss = gloss_open(path.p, &e)))
        fumi_log(l->log, FUMI_WARN, "Japanese is embedded without glosses",
                 {"why", fumi_str(e.text), 0});
    if (l->gloss)
        l->base.variant = GLOSS_VARIANT;
    fumi_arena_done(&a);
}

struct embedder *local_open(const struct embed_config *c, const struct fumi_log *log,
                            struct fumi_err *e)
{
    (void)e;
    struct fumi_err ignored;
    struct local *l = fumi_resize(NULL, sizeof(*l));
    *l = (struct local){.base = {.ops = &ops, .batch = CHUNK_TEXTS, .variant = ""}};
    l->log = log;
    l->name = c->model.n ? fumi_dup(&l->a, c->model) : FUMI_STR(DEFAULT_MODEL);
    l->dim = c->dim > 0 ? (size_t)c->dim : 0;
    if (c->model_file.n)
        l->file = fumi_fmt(&l->a, "%.*s", FUMI_ARG(c->model_file));
    pthread_mutex_init(&l->lock, NULL);
    bool is_default = fumi_eq(l->name, FUMI_STR(DEFAULT_MODEL));
    atomic_init(&l->base.dim, is_default && !l->dim ? DEFAULT_DIM : l->dim);
    const struct model *m = get(l, &ignored);
    l->base.calibration = m ? model_calibration(m) : NULL;
    if (!l->base.calibration) /* no file yet, or one of format version 1 */
        l->base.calibration = embed_known_calibration(l->name);
    if (m && model_english_only(m) && !c->no_gloss)
        open_gloss(l);
    return &l->base;
}
