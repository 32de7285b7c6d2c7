/* The background thread. It embeds notes that lack vectors in the current space, lets that space
 * answer searches once it is complete, and erases the remains of deleted notes from the files.
 *
 * If several processes use one store, the one that holds the lease (META_WORKER) embeds. The lease
 * expires, and only saves work: storing the vectors of a note twice is harmless.
 *
 * Each step (`step`) embeds one batch of short notes and one slice of a long note. A pass goes over
 * all notes that lack vectors, in the order of their numbers. */
#include "base/clock.h"
#include "memory/memory_parts.h"
#include "json/json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    IDLE_MS = 2000,    /* between two checks for changes by other processes */
    ERASE_MS = 100,    /* between two steps of erasing */
    LEASE_MS = 15000,  /* duration of a lease */
    EMBED_MS = 120000, /* time limit of a batch; remote providers have their own limits */
    RETRY_MS = 1000,   /* first delay after a failure; doubled up to RETRY_MAX_MS */
    RETRY_MAX_MS = 8000,
    REFUSED_MAX = 3,  /* notes refused in a row until the thread waits */
    OWED_BATCH = 96,  /* notes, at most */
    OWED_TURNS = 8,   /* batches of owed notes for one of other notes */
    OWED_MS = 500,    /* time for owed notes when the memory is closed */
    OTHERS_MS = 5000, /* time for the notes that other processes owe */
};

/* The outcome of a step. LATER: owed notes are embedded in a moment. */
enum outcome { NOTHING, DONE_SOME, FAILED, LATER };

struct embed_pass {
    struct memory *m;
    struct fumi_arena *a;
    struct space *sp; /* a reference */
    int64_t after;    /* notes up to this number were tried; 0: a pass begins */
    int64_t seen;     /* the change number at which no note lacked vectors */
    int64_t renew;    /* when the lease must be renewed */
    bool single;      /* one note at a time */
    bool passed;      /* some notes were skipped */
    bool unerased;    /* the last attempt to erase failed */
    int refused;      /* notes refused in a row */
    int64_t later;    /* LATER: milliseconds until owed notes are embedded */
    int64_t lacking;  /* since when notes lack vectors (fumi_ticks); 0: they do not */
    int64_t prepared; /* when the vector cache was last brought up to date (fumi_ticks) */
    int turns;        /* batches of owed notes since the last batch of other notes */
    /* Long notes are embedded one at a time, in slices between the batches of short notes. */
    struct slices slices;
    struct upkeep upkeep;
    int64_t long_after;      /* long notes up to this number were refused */
    int64_t began, searched; /* change numbers at the start of this and of the last complete pass */
};

static bool stopping(struct memory *m)
{
    pthread_mutex_lock(&m->lock);
    bool stop = m->worker.stop;
    pthread_mutex_unlock(&m->lock);
    return stop;
}

/* Sleeps. Returns false if it was woken early, by new work or by worker_stop. */
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

/* Whether another process holds the lease. A lease is "UUID END": its holder and its end. */
static bool held_by_other(const struct worker *w, struct fumi_str lease)
{
    char text[32] = "";
    if (lease.n <= FUMI_UUID_SIZE + 1 || lease.n - FUMI_UUID_SIZE - 1 >= sizeof(text))
        return false;
    if (memcmp(lease.p, w->lease, FUMI_UUID_SIZE) == 0)
        return false;
    memcpy(text, lease.p + FUMI_UUID_SIZE + 1, lease.n - FUMI_UUID_SIZE - 1);
    int64_t end = strtoll(text, NULL, 10), now = fumi_now();
    return end > now && end <= now + 2 * LEASE_MS; /* ignore the lease of a wrong clock */
}

/* Takes or renews the lease. Returns false if another process holds it, or with *e set on failure.
 */
static bool take_lease(struct embed_pass *r, struct fumi_err *e)
{
    struct memory *m = r->m;
    struct fumi_str lease;
    if (fumi_now() < r->renew && r->renew < fumi_now() + LEASE_MS)
        return true;
    if (store_get_meta(m->store, r->a, META_WORKER, &lease, e) ||
        (lease.p && held_by_other(&m->worker, lease)))
        return false;
    lease = fumi_fmt(r->a, "%.*s %" PRId64, FUMI_UUID_SIZE, m->worker.lease, fumi_now() + LEASE_MS);
    if (store_set_meta(m->store, META_WORKER, lease, e))
        return false;
    r->renew = fumi_now() + LEASE_MS / 3;
    return true;
}

/* Records the outcome for memory_progress. */
static void record_progress(struct memory *m, bool running, size_t done, const struct fumi_err *e)
{
    struct worker *w = &m->worker;
    int64_t now = fumi_ticks();
    pthread_mutex_lock(&m->lock);
    if (!w->running || !w->since)
        w->since = now, w->from = 0;
    w->from += (int64_t)done;
    if (now - w->since > 200000000)
        w->per_second = (double)w->from * 1e9 / (double)(now - w->since);
    if (done)
        w->failing.code = 0;
    w->running = running;
    w->error = e ? *e : (struct fumi_err){0};
    w->error.data = (struct fumi_str){0}; /* it lives in an arena that is reset */
    if (!running)
        w->since = 0;
    pthread_mutex_unlock(&m->lock);
}

/* Whether the error is marked as not retryable. */
static bool is_permanent(struct fumi_arena *a, const struct fumi_err *e)
{
    struct fumi_err ignored;
    const struct fumi_val *data = e->data.n ? fumi_parse(a, e->data, &ignored) : NULL;
    return fumi_is(fumi_get(data, "retryable"), FUMI_FALSE);
}

/* Handles a failed batch. One note that the provider refuses must not block the others: after a
 * permanent failure, notes are tried one by one, and refused ones are skipped. If several in a row
 * are refused, the provider is probably at fault, and the thread waits before it goes on. */
static enum outcome refused(struct embed_pass *r, const struct unembeddeds *pending,
                            struct fumi_err *e)
{
    if (e->code != ERR_PROVIDER || !is_permanent(r->a, e))
        return FAILED;
    if (!r->single) {
        r->single = true;
        return DONE_SOME;
    }
    fumi_log(r->m->o.log, FUMI_WARN, "a note could not be embedded",
             {"note", {0}, pending->items[0].seq}, {"why", fumi_str(e->text), 0});
    r->after = pending->items[0].seq;
    r->passed = true;
    return ++r->refused % REFUSED_MAX ? DONE_SOME : FAILED;
}

/* Ends a pass. A pass that embedded notes without skipping any is followed by another one, which
 * finds notes that were added in the meantime. */
static enum outcome end_pass(struct embed_pass *r)
{
    bool again = r->after != 0 && !r->passed;
    r->after = r->long_after = 0;
    r->searched = r->began;
    r->single = r->passed = false;
    if (!again)
        r->lacking = fumi_ticks();
    return again ? DONE_SOME : NOTHING;
}

/* Records why the notes that this process has just stored have no vectors; NULL: they have. */
static void set_failing(struct memory *m, const struct fumi_err *e)
{
    pthread_mutex_lock(&m->lock);
    m->worker.failing = e ? *e : (struct fumi_err){0};
    m->worker.failing.data = (struct fumi_str){0};
    pthread_mutex_unlock(&m->lock);
}

/* Lets the next step begin a pass over all notes, instead of waiting for other processes. */
static void begin_pass(struct memory *m)
{
    pthread_mutex_lock(&m->lock);
    m->worker.whole = true;
    pthread_mutex_unlock(&m->lock);
}

static bool in_pass(const struct embed_pass *r)
{
    return r->after || r->slices.seq;
}

/* Embeds the next notes that this process has stored. This needs no lease: no other process is
 * likely to embed them. If that fails, they are left to the pass over all notes without vectors. */
static enum outcome embed_owed(struct embed_pass *r, struct fumi_err *e)
{
    struct memory *m = r->m;
    int64_t seqs[OWED_BATCH];
    r->later = 0;
    size_t most = r->sp->embedder->batch;
    size_t n = owed_first(m, seqs, most < OWED_BATCH ? most : OWED_BATCH,
                          in_pass(r) ? NULL : &r->later);
    if (!n)
        return r->later ? LATER : NOTHING;
    int rc = notes_embed(m, r->sp, r->a, seqs, n, EMBED_MS, e);
    if (rc) {
        set_failing(m, e);
        begin_pass(m);
    } else
        record_progress(m, true, n, NULL);
    owed_drop(m, rc ? SIZE_MAX : n);
    return rc ? FAILED : DONE_SOME;
}

static int list_pending(struct embed_pass *r, int64_t after, size_t n, struct unembeddeds *out,
                        struct fumi_err *e)
{
    struct store *store = r->m->store;
    return store_list_unembedded(store, r->a, space_name(r->sp, r->a), after, n, out, e);
}

/* Removes long notes from the list. If no long note is being embedded, the first of them is next.
 */
static void set_long_aside(struct embed_pass *r, struct unembeddeds *pending)
{
    size_t n = 0;
    for (size_t i = 0; i < pending->n; i++) {
        struct unembedded *one = &pending->items[i];
        if (one->text.n <= LONG_BYTES)
            pending->items[n++] = *one;
        else if (!r->slices.seq && one->seq > r->long_after)
            r->slices.seq = one->seq, r->slices.version = one->version;
    }
    pending->n = n;
}

/* Embeds and stores the next batch of short notes. */
static enum outcome embed_short(struct embed_pass *r, struct fumi_err *e)
{
    struct store *store = r->m->store;
    struct unembeddeds pending;
    if (list_pending(r, r->after, r->single ? 1 : r->sp->embedder->batch, &pending, e))
        return FAILED;
    if (!pending.n)
        return end_pass(r);
    int64_t last = pending.items[pending.n - 1].seq;
    set_long_aside(r, &pending);
    struct fumi_str *texts = fumi_alloc(r->a, pending.n * sizeof(*texts));
    struct vectors *v = fumi_alloc(r->a, pending.n * sizeof(*v));
    for (size_t i = 0; i < pending.n; i++)
        texts[i] = pending.items[i].text;
    if (pending.n && space_embed(r->sp, r->a, texts, pending.n, EMBED_MS, v, e))
        return refused(r, &pending, e);
    if (pending.n && store_add_vectors(store, pending.items, v, pending.n, e))
        return FAILED;
    r->refused = pending.n ? 0 : r->refused;
    r->after = last;
    record_progress(r->m, true, pending.n, NULL);
    return DONE_SOME;
}

/* As refused(), for a long note. */
static enum outcome slice_refused(struct embed_pass *r, struct fumi_err *e)
{
    if (e->code != ERR_PROVIDER || !is_permanent(r->a, e))
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

/* Embeds more passages of the long note. The note is read again each time: if it was changed or
 * deleted, its passages are discarded. */
static enum outcome embed_slice(struct embed_pass *r, struct fumi_err *e)
{
    struct store *store = r->m->store;
    struct slices *s = &r->slices;
    struct unembeddeds pending;
    if (list_pending(r, s->seq - 1, 1, &pending, e))
        return FAILED;
    if (!pending.n || pending.items[0].seq != s->seq || pending.items[0].version != s->version) {
        slices_done(s);
        return DONE_SOME;
    }
    size_t before = s->v.n;
    int done = slices_next(s, r->sp, r->a, pending.items[0].text, EMBED_MS, e);
    if (done < 0)
        return slice_refused(r, e);
    count_passages(r->m, s->v.n - before);
    if (done && store_add_vectors(store, pending.items, &s->v, 1, e))
        return FAILED;
    if (done)
        slices_done(s);
    r->refused = 0;
    record_progress(r->m, true, (size_t)done, NULL);
    return DONE_SOME;
}

/* Embeds a batch of short notes, then a slice of the long one. The store is not searched for short
 * notes if it has not changed since the last complete pass. */
static enum outcome embed_some(struct embed_pass *r, int64_t change, struct fumi_err *e)
{
    enum outcome o = NOTHING;
    if (r->after == 0)
        r->began = change;
    if (r->after || !r->slices.seq || change != r->searched)
        o = embed_short(r, e);
    return o == FAILED || !r->slices.seq ? o : embed_slice(r, e);
}

/* Removes the previous embedder from the configuration: it is no longer needed. */
static int forget_previous(struct memory *m, const struct embed_config *now, struct fumi_err *e)
{
    if (!m->o.previous.provider.p)
        return 0;
    m->o.previous.provider = (struct fumi_str){0};
    return memory_save(m, now, NULL, e);
}

/* Gives up the lease, so that other processes need not wait until it expires. */
static void release_lease(struct embed_pass *r)
{
    struct fumi_err ignored;
    struct fumi_str lease;
    struct store *store = r->m->store;
    if (r->renew && !store_get_meta(store, r->a, META_WORKER, &lease, &ignored) && lease.p &&
        fumi_starts(lease, (struct fumi_str){r->m->worker.lease, FUMI_UUID_SIZE}))
        store_set_meta(store, META_WORKER, FUMI_STR(""), &ignored);
}

/* Lets the space answer searches, if it is still the current one. */
static void start_serving(struct memory *m, struct space *sp)
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

/* The step of a read-only memory: uses the current space once another process has completed it. */
static enum outcome step_read_only(struct embed_pass *r, struct fumi_err *e)
{
    struct store *store = r->m->store;
    struct fumi_str complete;
    if (store_get_meta(store, r->a, META_SPACE, &complete, e))
        return FAILED;
    if (complete.p && fumi_eq(complete, space_name(r->sp, r->a)))
        start_serving(r->m, r->sp);
    return NOTHING;
}

/* All notes have vectors: the space answers searches from now on. The vectors of the previous space
 * are kept, for a change back and for processes that have not switched yet; older ones are deleted.
 */
static int complete_space(struct embed_pass *r, struct fumi_err *e)
{
    struct memory *m = r->m;
    struct space *sp = r->sp;
    struct fumi_arena *a = r->a;
    struct embed_config now = sp->config;
    struct space *old = space_take(m, &m->serving);
    struct fumi_str name = space_name(sp, a), other = space_name(old, a);
    now.dim = (int64_t)atomic_load(&sp->embedder->dim);
    bool same = old == sp, renamed = space_same_model(&old->config, &now) &&
                                     (size_t)now.dim == atomic_load(&old->embedder->dim);
    space_put(old);
    if (same)
        return memory_settle(m, a, sp, e) || forget_previous(m, &now, e) ? -1 : 0;
    if (store_set_meta(m->store, META_TARGET, name, e) ||
        store_set_meta(m->store, META_SPACE, name, e) ||
        (renamed ? forget_previous(m, &now, e) : memory_save(m, &now, NULL, e)) ||
        store_delete_spaces(m->store, name, other, e))
        return -1;
    start_serving(m, sp);
    fumi_log(m->o.log, FUMI_INFO, "space complete", {"space", name, 0});
    return 0;
}

/* Holds the lock of changes, so that a newer change of the embedder is not overwritten. */
static int complete(struct embed_pass *r, struct fumi_err *e)
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

/* Lets the store build the vector cache in the background, before a search needs it; not after each
 * add, because every process would read each new vector at once. */
static void prepare_searches(struct embed_pass *r)
{
    struct memory *m = r->m;
    if (r->prepared && fumi_ticks() - r->prepared < (int64_t)IDLE_MS * 1000000)
        return;
    r->prepared = fumi_ticks();
    struct space *sp = space_take(m, &m->serving);
    struct fumi_err ignored;
    size_t dim = atomic_load(&sp->embedder->dim);
    if (dim)
        store_prepare_nearest(m->store, space_name(sp, r->a), dim, &ignored);
    space_put(sp);
}

/* Whether a pass over all notes begins, because it was asked for or notes have lacked vectors for
 * OTHERS_MS. Before that they are probably owed by a process that embeds them soon; the pass reads
 * all notes, which takes a second if there are a million. */
static bool is_due(struct embed_pass *r)
{
    pthread_mutex_lock(&r->m->lock);
    bool due = r->m->worker.whole;
    r->m->worker.whole = false;
    pthread_mutex_unlock(&r->m->lock);
    int64_t now = fumi_ticks();
    if (!r->lacking)
        r->lacking = now;
    return due || now - r->lacking >= (int64_t)OTHERS_MS * 1000000;
}

/* A step of the pass over all notes without vectors. */
static enum outcome step_pass(struct embed_pass *r, struct fumi_err *e)
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
        r->lacking = 0;
        set_failing(r->m, NULL);
        return complete(r, e) ? FAILED : NOTHING;
    }
    if (!in_pass(r) && !is_due(r))
        return NOTHING;
    if (!take_lease(r, e))
        return e->code ? FAILED : NOTHING;
    enum outcome o = embed_some(r, change, e);
    if (o == FAILED)
        begin_pass(r->m);
    return o;
}

/* Owed notes first. While there are more of them, the other notes have one turn in OWED_TURNS. */
static enum outcome step(struct embed_pass *r, struct fumi_err *e)
{
    enum outcome owed = embed_owed(r, e);
    if (owed == LATER || owed == FAILED || (owed == DONE_SOME && ++r->turns < OWED_TURNS))
        return owed;
    r->turns = 0;
    enum outcome other = step_pass(r, e);
    return other == NOTHING ? owed : other;
}

/* Takes ownership of the reference. In another space all notes have to be checked again. */
static void use_space(struct embed_pass *r, struct space *sp)
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

/* Performs one step of erasing. Returns true if more is left. The store decides each time, because
 * other processes may have deleted notes or may still read the log. */
static bool erase(struct embed_pass *r)
{
    struct store *store = r->m->store;
    struct fumi_err e = {0};
    bool more = false;
    if (r->m->o.scope.read_only)
        return false;
    bool failed = store_erase_step(store, &more, &e) != 0;
    if (failed && !r->unerased)
        fumi_log(r->m->o.log, FUMI_WARN, "erasing deleted notes failed",
                 {"why", fumi_str(e.text), 0}, {"retry in ms", {0}, IDLE_MS});
    r->unerased = failed;
    return more && !failed;
}

/* Waits, erasing during the wait. Erasing also runs between batches, so that neither a failing
 * provider nor a long queue delays it. */
static void wait_and_erase(struct embed_pass *r, int64_t ms)
{
    for (; erase(r) && ms > ERASE_MS; ms -= ERASE_MS)
        if (!pause_for(r->m, ERASE_MS))
            return;
    if (ms > 0)
        pause_for(r->m, ms);
}

static int64_t pause_after(const struct embed_pass *r, enum outcome o, int64_t retry)
{
    if (o == DONE_SOME)
        return 0;
    return o == LATER ? r->later : o == FAILED ? retry : IDLE_MS;
}

static void *work(void *arg)
{
    struct memory *m = arg;
    struct fumi_arena a = {0};
    struct embed_pass r = {.m = m, .a = &a, .seen = -1};
    int64_t retry = RETRY_MS;
    while (!stopping(m)) {
        struct fumi_err e = {0};
        memory_follow(m, &a, &e);
        e.code = 0;
        use_space(&r, space_take(m, &m->now));
        enum outcome o = m->o.scope.read_only ? step_read_only(&r, &e) : step(&r, &e);
        bool again = strcmp(e.text, m->worker.error.text) == 0; /* already logged as a warning */
        if (o == FAILED && !stopping(m))
            fumi_log(m->o.log, again ? FUMI_DEBUG : FUMI_WARN, "embedding in the background failed",
                     {"why", fumi_str(e.text), 0}, {"retry in ms", {0}, retry});
        if (o == NOTHING && !m->o.scope.read_only)
            prepare_searches(&r);
        if (o == NOTHING || o == FAILED)
            record_progress(m, o == FAILED, 0, o == FAILED ? &e : NULL);
        fumi_arena_reset(&a, 1 << 20);
        upkeep(m, &r.upkeep);
        wait_and_erase(&r, pause_after(&r, o, retry));
        retry = o != FAILED ? RETRY_MS : retry * 2 < RETRY_MAX_MS ? retry * 2 : RETRY_MAX_MS;
    }
    release_lease(&r);
    upkeep_end(m);
    slices_done(&r.slices);
    space_put(r.sp);
    fumi_arena_done(&a);
    return NULL;
}

int worker_start(struct memory *m, struct fumi_err *e)
{
    if (m->worker.started)
        return 0;
    assert(m->now && m->serving); /* memory_open has set both */
    if (pthread_create(&m->worker.thread, NULL, work, m))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "cannot start the background thread");
    m->worker.started = true;
    return 0;
}

void worker_stop(struct memory *m)
{
    if (!m->worker.started)
        return;
    owed_wait_all(m, OWED_MS);
    pthread_mutex_lock(&m->lock);
    m->worker.stop = true;
    atomic_store(&m->now->embedder->stop, true); /* the worker may be waiting for a provider */
    pthread_cond_broadcast(&m->wake);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->worker.thread, NULL);
    m->worker.started = false;
}

/* The text may quote a note of another project. */
struct fumi_str worker_reason(const struct memory *m, struct fumi_arena *a,
                              const struct fumi_err *e)
{
    return m->o.scope.project.p ? FUMI_STR("embedding failed; see the log of the server")
                                : fumi_dup(a, fumi_str(e->text));
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
    const struct worker *w = &m->worker;
    const struct fumi_err error = w->error.code || out->done == out->total ? w->error : w->failing;
    out->running = w->started && !m->o.scope.read_only && out->done < out->total;
    out->passages = w->passages;
    out->per_second = w->running ? w->per_second : 0;
    pthread_mutex_unlock(&m->lock);
    out->code = error.code;
    if (error.code)
        out->error = worker_reason(m, a, &error);
    if (out->per_second > 0)
        out->seconds_left = (int64_t)((double)(out->total - out->done) / out->per_second);
    return 0;
}
