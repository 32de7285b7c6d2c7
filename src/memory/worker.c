/* The background: embeds what lacks vectors in the space in use, lets that space answer once it is
 * complete, and erases what removed notes left in the files. Several processes on one store take
 * turns by a lease, a fact with an end; it only saves work, since a note that gets its vectors
 * twice has them once. */
#include "base/clock.h"
#include "memory/memory_parts.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    IDLE_MS = 2000,    /* between two looks at what other processes did */
    ERASE_MS = 100,    /* between two steps of erasing */
    LEASE_MS = 15000,  /* how long others keep away from us */
    EMBED_MS = 120000, /* for one batch; remote providers have limits of their own */
    RETRY_MS = 1000,   /* after a failure, doubled up to the next */
    RETRY_MAX_MS = 8000,
    REFUSED_MAX = 3, /* notes in a row */
};

/* One look: what was found and what came of it. */
enum outcome { NOTHING, DONE_SOME, FAILED };

struct round {
    struct memory *m;
    struct fumi_arena *a;
    struct space *sp; /* counted */
    int64_t after;    /* notes up to this number were tried; 0: none */
    int64_t seen;     /* the change number at which nothing was lacking */
    int64_t renew;    /* when the lease must be taken again */
    bool single;      /* one note at a time */
    bool passed;      /* some were passed over */
    bool unerased;    /* erasing failed the last time */
    int refused;      /* how many in a row */
    /* Long notes. One at a time is embedded in slices, between the batches of the others. */
    struct slices slices;
    int64_t long_after;      /* long notes up to this number were refused */
    int64_t began, searched; /* change numbers: of this pass, and of the last one that ended */
};

static bool stopping(struct memory *m)
{
    pthread_mutex_lock(&m->lock);
    bool stop = m->worker.stop;
    pthread_mutex_unlock(&m->lock);
    return stop;
}

/* False: it was ended early, because there is new work or the worker has to stop. */
static bool pause_for(struct memory *m, int64_t ms)
{
    bool whole = false;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000)
        until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&m->lock);
    while (!m->worker.stop && !m->worker.woken && !whole)
        whole = pthread_cond_timedwait(&m->wake, &m->lock, &until) != 0;
    m->worker.woken = false;
    pthread_mutex_unlock(&m->lock);
    return whole;
}

/* "UUID END": whose turn it is, and until when. */
static bool held_by_other(const struct worker *w, struct fumi_str lease)
{
    char text[32] = "";
    if (lease.n <= FUMI_UUID_SIZE + 1 || lease.n - FUMI_UUID_SIZE - 1 >= sizeof(text))
        return false;
    if (memcmp(lease.p, w->lease, FUMI_UUID_SIZE) == 0)
        return false;
    memcpy(text, lease.p + FUMI_UUID_SIZE + 1, lease.n - FUMI_UUID_SIZE - 1);
    int64_t end = strtoll(text, NULL, 10), now = fumi_now();
    return end > now && end <= now + 2 * LEASE_MS; /* a clock that was wrong must not stop us */
}

static bool take_lease(struct round *r, struct fumi_err *e)
{
    struct memory *m = r->m;
    struct fumi_str lease;
    if (fumi_now() < r->renew && r->renew < fumi_now() + LEASE_MS)
        return true;
    if (store_get_meta(m->store, r->a, FACT_WORKER, &lease, e) ||
        (lease.p && held_by_other(&m->worker, lease)))
        return false;
    lease = fumi_fmt(r->a, "%.*s %" PRId64, FUMI_UUID_SIZE, m->worker.lease, fumi_now() + LEASE_MS);
    if (store_set_meta(m->store, FACT_WORKER, lease, e))
        return false;
    r->renew = fumi_now() + LEASE_MS / 3;
    return true;
}

/* Remembers how it went, for those who ask for progress. */
static void tell(struct memory *m, bool running, size_t done, const struct fumi_err *e)
{
    struct worker *w = &m->worker;
    int64_t now = fumi_ticks();
    pthread_mutex_lock(&m->lock);
    if (!w->running || !w->since)
        w->since = now, w->from = 0;
    w->from += (int64_t)done;
    if (now - w->since > 200000000)
        w->per_second = (double)w->from * 1e9 / (double)(now - w->since);
    w->running = running;
    w->error = e ? *e : (struct fumi_err){0};
    w->error.data = (struct fumi_str){0}; /* it lived in an arena */
    if (!running)
        w->since = 0;
    pthread_mutex_unlock(&m->lock);
}

/* Whether trying again is of no use, as the provider says. */
static bool is_lasting(struct fumi_arena *a, const struct fumi_err *e)
{
    struct fumi_err ignored;
    const struct fumi_val *data = e->data.n ? fumi_parse(a, e->data, &ignored) : NULL;
    return fumi_is(fumi_get(data, "retryable"), FUMI_FALSE);
}

/* One note that the provider refuses must not keep all others from their vectors: after a lasting
 * failure they are tried one by one, and passed over one by one. When several in a row are refused
 * it is the provider that is not well: the next ones wait. */
static enum outcome refused(struct round *r, const struct unembeddeds *lack, struct fumi_err *e)
{
    if (e->code != ERR_PROVIDER || !is_lasting(r->a, e))
        return FAILED;
    if (!r->single) {
        r->single = true;
        return DONE_SOME;
    }
    fumi_log(r->m->o.log, FUMI_WARN, "a note could not be embedded",
             {"note", {0}, lack->items[0].seq}, {"why", fumi_str(e->text), 0});
    r->after = lack->items[0].seq;
    r->passed = true;
    return ++r->refused % REFUSED_MAX ? DONE_SOME : FAILED;
}

static enum outcome at_end(struct round *r)
{
    bool again = r->after != 0 && !r->passed;
    r->after = r->long_after = 0;
    r->searched = r->began;
    r->single = r->passed = false;
    return again ? DONE_SOME : NOTHING;
}

static int lacking(struct round *r, int64_t after, size_t n, struct unembeddeds *out,
                   struct fumi_err *e)
{
    struct store *store = r->m->store;
    return store_list_unembedded(store, r->a, space_name(r->sp, r->a), after, n, out, e);
}

/* Takes the long notes out of the list. The first becomes the one that is embedded in slices, if
 * there is none. */
static void set_long_aside(struct round *r, struct unembeddeds *lack)
{
    size_t n = 0;
    for (size_t i = 0; i < lack->n; i++) {
        struct unembedded *one = &lack->items[i];
        if (one->text.n <= LONG_BYTES)
            lack->items[n++] = *one;
        else if (!r->slices.seq && one->seq > r->long_after)
            r->slices.seq = one->seq, r->slices.version = one->version;
    }
    lack->n = n;
}

/* The next notes in line that are not long, embedded and stored. */
static enum outcome embed_short(struct round *r, struct fumi_err *e)
{
    struct store *store = r->m->store;
    struct unembeddeds lack;
    if (lacking(r, r->after, r->single ? 1 : r->sp->embedder->batch, &lack, e))
        return FAILED;
    if (!lack.n)
        return at_end(r);
    int64_t last = lack.items[lack.n - 1].seq;
    set_long_aside(r, &lack);
    struct fumi_str *texts = fumi_alloc(r->a, lack.n * sizeof(*texts));
    struct vectors *v = fumi_alloc(r->a, lack.n * sizeof(*v));
    for (size_t i = 0; i < lack.n; i++)
        texts[i] = lack.items[i].text;
    if (lack.n && space_embed(r->sp, r->a, texts, lack.n, EMBED_MS, v, e))
        return refused(r, &lack, e);
    if (lack.n && store_add_vectors(store, lack.items, v, lack.n, e))
        return FAILED;
    r->refused = lack.n ? 0 : r->refused;
    r->after = last;
    tell(r->m, true, lack.n, NULL);
    return DONE_SOME;
}

/* As refused() does it for the others. */
static enum outcome slice_refused(struct round *r, struct fumi_err *e)
{
    if (e->code != ERR_PROVIDER || !is_lasting(r->a, e))
        return FAILED;
    fumi_log(r->m->o.log, FUMI_WARN, "a note could not be embedded", {"note", {0}, r->slices.seq},
             {"why", fumi_str(e->text), 0});
    r->long_after = r->slices.seq;
    r->passed = true;
    r->searched = -1;
    slices_done(&r->slices);
    return ++r->refused % REFUSED_MAX ? DONE_SOME : FAILED;
}

static void count_passages(struct memory *m, size_t n)
{
    pthread_mutex_lock(&m->lock);
    m->worker.passages += (int64_t)n;
    pthread_mutex_unlock(&m->lock);
}

/* Some more passages of the long note. Its text is read again each time: if it was changed or
 * removed, its passages are of no use. */
static enum outcome embed_slice(struct round *r, struct fumi_err *e)
{
    struct store *store = r->m->store;
    struct slices *s = &r->slices;
    struct unembeddeds lack;
    if (lacking(r, s->seq - 1, 1, &lack, e))
        return FAILED;
    if (!lack.n || lack.items[0].seq != s->seq || lack.items[0].version != s->version) {
        slices_done(s);
        return DONE_SOME;
    }
    size_t before = s->v.n;
    int done = slices_next(s, r->sp, r->a, lack.items[0].text, EMBED_MS, e);
    if (done < 0)
        return slice_refused(r, e);
    count_passages(r->m, s->v.n - before);
    if (done && store_add_vectors(store, lack.items, &s->v, 1, e))
        return FAILED;
    if (done)
        slices_done(s);
    r->refused = 0;
    tell(r->m, true, (size_t)done, NULL);
    return DONE_SOME;
}

/* A batch of notes, then a slice of the long one. If nothing changed since no others were found,
 * they are not looked for. */
static enum outcome embed_some(struct round *r, int64_t change, struct fumi_err *e)
{
    enum outcome o = NOTHING;
    if (r->after == 0)
        r->began = change;
    if (r->after || !r->slices.seq || change != r->searched)
        o = embed_short(r, e);
    return o == FAILED || !r->slices.seq ? o : embed_slice(r, e);
}

/* A space before the one that answers is needed no more. */
static int forget_previous(struct memory *m, const struct embed_config *now, struct fumi_err *e)
{
    if (!m->o.previous.provider.p)
        return 0;
    m->o.previous.provider = (struct fumi_str){0};
    return memory_save(m, now, NULL, e);
}

/* Others need not wait for our lease to end. */
static void end_lease(struct round *r)
{
    struct fumi_err ignored;
    struct fumi_str lease;
    struct store *store = r->m->store;
    if (r->renew && !store_get_meta(store, r->a, FACT_WORKER, &lease, &ignored) && lease.p &&
        fumi_starts(lease, (struct fumi_str){r->m->worker.lease, FUMI_UUID_SIZE}))
        store_set_meta(store, FACT_WORKER, FUMI_STR(""), &ignored);
}

/* From now on this space answers, if it is still the one in use. */
static void let_answer(struct memory *m, struct space *sp)
{
    struct space *old = NULL;
    pthread_mutex_lock(&m->lock);
    if (m->now == sp) {
        old = m->serving;
        m->serving = sp;
        m->settled = true;
        atomic_fetch_add(&sp->refs, 1);
    }
    pthread_mutex_unlock(&m->lock);
    space_put(old);
}

/* All that a read-only memory does in the background: another process says that the space in use is
 * complete. */
static enum outcome look_only(struct round *r, struct fumi_err *e)
{
    struct store *store = r->m->store;
    struct fumi_str complete;
    if (store_get_meta(store, r->a, FACT_SPACE, &complete, e))
        return FAILED;
    if (complete.p && fumi_eq(complete, space_name(r->sp, r->a)))
        let_answer(r->m, r->sp);
    return NOTHING;
}

/* Everything has its vectors: from now on this space answers. The one before it is kept, so that a
 * way back, and processes that have not noticed yet, find it; older ones go. */
static int complete_space(struct round *r, struct fumi_err *e)
{
    struct memory *m = r->m;
    struct space *sp = r->sp;
    struct fumi_arena *a = r->a;
    struct embed_config now = sp->config;
    struct space *old = space_take(m, &m->serving);
    struct fumi_str name = space_name(sp, a), other = space_name(old, a);
    bool same = old == sp;
    space_put(old);
    now.dim = (int64_t)atomic_load(&sp->embedder->dim);
    if (same)
        return memory_settle(m, a, sp, e) || forget_previous(m, &now, e) ? -1 : 0;
    if (store_set_meta(m->store, FACT_TARGET, name, e) ||
        store_set_meta(m->store, FACT_SPACE, name, e) || memory_save(m, &now, NULL, e) ||
        store_delete_spaces(m->store, name, other, e))
        return -1;
    let_answer(m, sp);
    fumi_log(m->o.log, FUMI_INFO, "space complete", {"space", name, 0});
    return 0;
}

/* A change of the embedder must not be overwritten by the one before it. */
static int complete(struct round *r, struct fumi_err *e)
{
    struct memory *m = r->m;
    pthread_mutex_lock(&m->change);
    pthread_mutex_lock(&m->lock);
    bool current = m->now == r->sp;
    pthread_mutex_unlock(&m->lock);
    int rc = current ? complete_space(r, e) : 0;
    pthread_mutex_unlock(&m->change);
    return rc;
}

static enum outcome look(struct round *r, struct fumi_err *e)
{
    struct store *store = r->m->store;
    int64_t change, have, all;
    if (store_change_number(store, &change, e))
        return FAILED;
    if (change == r->seen && r->after == 0)
        return NOTHING;
    if (r->after == 0 && store_embedding_progress(store, space_name(r->sp, r->a), &have, &all, e))
        return FAILED;
    if (r->after == 0 && have == all) {
        r->seen = change;
        return complete(r, e) ? FAILED : NOTHING;
    }
    if (!take_lease(r, e))
        return e->code ? FAILED : NOTHING;
    return embed_some(r, change, e);
}

/* Another space is in use: everything has to be looked at again. */
static void turn_to(struct round *r, struct space *sp)
{
    if (sp != r->sp) {
        r->after = r->long_after = 0;
        r->seen = r->searched = -1;
        r->single = false;
        slices_done(&r->slices);
    }
    space_put(r->sp);
    r->sp = sp;
}

/* One step; true: more is left. Other processes may have removed notes, and may read the log, so
 * the store is asked each time. */
static bool erase(struct round *r)
{
    struct store *store = r->m->store;
    struct fumi_err e = {0};
    bool more = false;
    if (r->m->o.scope.read_only)
        return false;
    bool failed = store_erase_step(store, &more, &e) != 0;
    if (failed && !r->unerased)
        fumi_log(r->m->o.log, FUMI_WARN, "erasing removed notes failed",
                 {"why", fumi_str(e.text), 0}, {"again in ms", {0}, IDLE_MS});
    r->unerased = failed;
    return more && !failed;
}

/* Erasing goes on while embedding waits, and between its batches: a provider that fails, or a long
 * queue, must not delay it. */
static void rest(struct round *r, int64_t ms)
{
    for (; erase(r) && ms > ERASE_MS; ms -= ERASE_MS)
        if (!pause_for(r->m, ERASE_MS))
            return;
    if (ms > 0)
        pause_for(r->m, ms);
}

static void *work(void *arg)
{
    struct memory *m = arg;
    struct fumi_arena a = {0};
    struct round r = {.m = m, .a = &a, .seen = -1};
    int64_t retry = RETRY_MS;
    while (!stopping(m)) {
        struct fumi_err e = {0};
        memory_follow(m, &a, &e);
        e.code = 0;
        turn_to(&r, space_take(m, &m->now));
        enum outcome o = m->o.scope.read_only ? look_only(&r, &e) : look(&r, &e);
        bool again = strcmp(e.text, m->worker.error.text) == 0; /* it was told already */
        if (o == FAILED && !stopping(m))
            fumi_log(m->o.log, again ? FUMI_DEBUG : FUMI_WARN, "embedding later failed",
                     {"why", fumi_str(e.text), 0}, {"again in ms", {0}, retry});
        if (o != DONE_SOME)
            tell(m, o == FAILED, 0, o == FAILED ? &e : NULL);
        fumi_arena_reset(&a, 1 << 20);
        rest(&r, o == DONE_SOME ? 0 : o == FAILED ? retry : IDLE_MS);
        retry = o != FAILED ? RETRY_MS : retry * 2 < RETRY_MAX_MS ? retry * 2 : RETRY_MAX_MS;
    }
    end_lease(&r);
    slices_done(&r.slices);
    space_put(r.sp);
    fumi_arena_done(&a);
    return NULL;
}

int worker_start(struct memory *m, struct fumi_err *e)
{
    if (m->worker.started)
        return 0;
    if (pthread_create(&m->worker.thread, NULL, work, m))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "no thread could be started for embedding");
    m->worker.started = true;
    return 0;
}

void worker_stop(struct memory *m)
{
    if (!m->worker.started)
        return;
    pthread_mutex_lock(&m->lock);
    m->worker.stop = true;
    atomic_store(&m->now->embedder->stop, true); /* it may wait for a provider */
    pthread_cond_broadcast(&m->wake);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->worker.thread, NULL);
    m->worker.started = false;
}

int memory_progress(struct memory *m, struct fumi_arena *a, struct embedding_progress *out,
                    struct fumi_err *e)
{
    struct space *serving = space_take(m, &m->serving);
    *out = (struct embedding_progress){.serving = space_name(serving, a), .seconds_left = -1};
    space_put(serving);
    if (store_embedding_progress(m->view, memory_space(m, a), &out->done, &out->total, e))
        return -1;
    pthread_mutex_lock(&m->lock);
    out->code = m->worker.error.code;
    out->running = m->worker.started && !m->o.scope.read_only && out->done < out->total;
    out->passages = m->worker.passages;
    out->per_second = m->worker.running ? m->worker.per_second : 0;
    if (m->worker.error.code && m->o.scope.project.p) /* it may quote a note of another project */
        out->error = FUMI_STR("embedding failed; the log of the server says why");
    else if (m->worker.error.code)
        out->error = fumi_dup(a, fumi_str(m->worker.error.text));
    pthread_mutex_unlock(&m->lock);
    if (out->per_second > 0)
        out->seconds_left = (int64_t)((double)(out->total - out->done) / out->per_second);
    return 0;
}
