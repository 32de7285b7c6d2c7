/* The open calls of a peer, the order in which they run, cancellation, and requests to the peer.
 * One lock per peer protects all of it; calls that are answered at once never take this lock.
 *
 * Order: exchanges on the executor run as if the messages of the peer were handled one after the
 * other. Exchanges that only read may overlap. An exchange that writes waits for all earlier ones,
 * and all later ones wait for it, even those whose methods do not block. */
#include "rpc/exchange.h"

#include "base/clock.h"
#include "base/uuid.h"

#include <assert.h>
#include <pthread.h>
#include <time.h>

struct outgoing_request {
    int64_t id;
    struct fumi_call *call; /* its thread waits, so other threads may use its arena with the lock */
    enum { OPEN, ANSWERED, REFUSED, GONE } state;
    struct fumi_json answer;
    struct outgoing_request *next;
};

/* An on_cancel callback that is running; on the stack of the thread that runs it. */
struct running_hook {
    struct fumi_run *run;
    pthread_t thread;
    struct running_hook *next;
};

struct fumi_peer_state {
    pthread_mutex_t lock;
    pthread_cond_t changed;                /* an outgoing request has ended; a hook has run */
    struct fumi_exchange *oldest, *newest; /* open exchanges */
    atomic_size_t writers;                 /* open exchanges that are gated and write */
    struct fumi_run *hooks;                /* runs with on_cancel */
    struct running_hook *running_hooks;
    struct outgoing_request *outgoing;
    int64_t last_id;
    bool ended; /* the peer sends no more messages */
    bool gone;  /* disconnected */
    enum fumi_hold hold;
    uint64_t number, streak; /* 0: not drawn yet */
    int64_t last_in_streak;
};

static struct fumi_peer_state *state_of(struct fumi_peer *peer)
{
    if (peer->state)
        return peer->state;
    struct fumi_peer_state *ps = fumi_resize(NULL, sizeof(*ps));
    memset(ps, 0, sizeof(*ps));
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&ps->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&ps->lock, NULL);
    peer->state = ps;
    return ps;
}

void fumi_peer_share(struct fumi_peer *peer)
{
    state_of(peer);
}

static uint64_t draw(void)
{
    uint64_t n = 0;
    while (!n)
        fumi_random(&n, sizeof(n));
    return n;
}

uint64_t fumi_peer_number(struct fumi_peer *peer)
{
    struct fumi_peer_state *ps = state_of(peer);
    pthread_mutex_lock(&ps->lock);
    ps->number = ps->number ? ps->number : draw();
    uint64_t number = ps->number;
    pthread_mutex_unlock(&ps->lock);
    return number;
}

uint64_t fumi_peer_streak(struct fumi_peer *peer, int64_t now, int64_t gap)
{
    struct fumi_peer_state *ps = state_of(peer);
    pthread_mutex_lock(&ps->lock);
    if (!ps->streak || now - ps->last_in_streak > gap)
        ps->streak = draw();
    ps->last_in_streak = now;
    uint64_t streak = ps->streak;
    pthread_mutex_unlock(&ps->lock);
    return streak;
}

void fumi_peer_done(struct fumi_peer *peer)
{
    if (peer->ops && peer->ops->done)
        peer->ops->done(peer);
    if (!peer->state)
        return;
    pthread_cond_destroy(&peer->state->changed);
    pthread_mutex_destroy(&peer->state->lock);
    fumi_resize(peer->state, 0);
    peer->state = NULL;
}

/* Whether backpressure prevents an exchange from starting. first: it is the oldest gated one. */
static bool is_held(const struct fumi_peer_state *ps, bool first)
{
    return ps->hold == FUMI_HOLD_ALL || (ps->hold == FUMI_HOLD_LATER && !first);
}

/* Returns the exchanges that may start now, in order. They are submitted without the lock. */
static struct fumi_tasks startable(struct fumi_peer_state *ps)
{
    struct fumi_tasks ready = {0};
    bool any = false, writer = false;
    for (struct fumi_exchange *x = ps->oldest; x && !is_held(ps, !any); x = x->newer) {
        if (!x->gated)
            continue;
        if (!x->started && (x->writes ? !any : !writer)) {
            x->started = true;
            fumi_tasks_add(&ready, &x->run->task);
        }
        any = true;
        writer |= x->writes;
    }
    return ready;
}

static void submit(struct fumi_tasks ready)
{
    for (struct fumi_task *t; (t = fumi_tasks_take(&ready));) {
        const struct fumi_server *s = FUMI_OWNER(t, struct fumi_run, task)->server;
        s->submit(s->submit_arg, t);
    }
}

void peer_open(struct fumi_exchange *x, bool gated)
{
    struct fumi_peer_state *ps = state_of(x->peer);
    assert(!x->open);
    x->open = true;
    x->gated = gated;
    x->started = false;
    x->newer = NULL;
    if (gated)
        run_task(x->run);
    pthread_mutex_lock(&ps->lock);
    x->older = ps->newest;
    *(ps->newest ? &ps->newest->newer : &ps->oldest) = x;
    ps->newest = x;
    atomic_fetch_add(&x->server->open, 1);
    atomic_fetch_add(&ps->writers, gated && x->writes);
    if (gated && x->run->call.deadline)
        deadline_set(x->run);
    struct fumi_tasks ready = startable(ps);
    pthread_mutex_unlock(&ps->lock);
    submit(ready);
}

/* With the lock held: later exchanges no longer wait for x. */
static void ungate(struct fumi_peer_state *ps, struct fumi_exchange *x)
{
    if (x->gated && x->writes)
        atomic_fetch_sub(&ps->writers, 1);
    x->gated = false;
}

void peer_close(struct fumi_exchange *x)
{
    struct fumi_peer_state *ps = x->peer->state;
    assert(x->open);
    pthread_mutex_lock(&ps->lock);
    *(x->older ? &x->older->newer : &ps->oldest) = x->newer;
    *(x->newer ? &x->newer->older : &ps->newest) = x->older;
    ungate(ps, x);
    struct fumi_tasks ready = startable(ps);
    pthread_mutex_unlock(&ps->lock);
    x->open = false;
    submit(ready);
}

/* If the deadline has claimed the call, the exchange has moved on to its next call and must stay
 * gated. */
void peer_ungate(struct fumi_run *r)
{
    struct fumi_exchange *x = r->exchange;
    struct fumi_peer_state *ps = x->peer->state;
    pthread_mutex_lock(&ps->lock);
    if (atomic_load(&r->claim) != BY_DEADLINE)
        ungate(ps, x);
    struct fumi_tasks ready = startable(ps);
    pthread_mutex_unlock(&ps->lock);
    submit(ready);
}

/* The exchange keeps its position in the list, so it waits for no later ones. */
void peer_resume(struct fumi_exchange *x)
{
    struct fumi_peer_state *ps = x->peer->state;
    struct fumi_tasks ready = {0};
    struct fumi_task *task = run_task(x->run);
    pthread_mutex_lock(&ps->lock);
    x->started = !x->gated;
    if (x->gated)
        ready = startable(ps);
    else
        fumi_tasks_add(&ready, task);
    pthread_mutex_unlock(&ps->lock);
    submit(ready);
}

bool peer_has_writers(const struct fumi_peer *peer)
{
    return peer->state && atomic_load(&peer->state->writers);
}

static bool is_first_gated(const struct fumi_exchange *x)
{
    const struct fumi_exchange *older = x->older;
    while (older && !older->gated)
        older = older->older;
    return !older;
}

bool peer_postpone(struct fumi_run *r)
{
    struct fumi_exchange *x = r->exchange;
    struct fumi_peer_state *ps = x->peer->state;
    pthread_mutex_lock(&ps->lock);
    bool held = ps->hold && x->gated && is_held(ps, is_first_gated(x)) &&
                atomic_load(&r->claim) == UNCLAIMED;
    if (held)
        x->started = false;
    pthread_mutex_unlock(&ps->lock);
    return held;
}

bool peer_dequeue(struct fumi_run *r)
{
    struct fumi_exchange *x = r->exchange;
    struct fumi_peer_state *ps = x->peer->state;
    pthread_mutex_lock(&ps->lock);
    bool idle = !x->started;
    x->started = true;
    pthread_mutex_unlock(&ps->lock);
    return idle;
}

void fumi_peer_hold(struct fumi_peer *peer, enum fumi_hold hold)
{
    struct fumi_peer_state *ps = state_of(peer);
    pthread_mutex_lock(&ps->lock);
    ps->hold = hold;
    struct fumi_tasks ready = startable(ps);
    pthread_mutex_unlock(&ps->lock);
    submit(ready);
}

int64_t fumi_time_left(const struct fumi_call *c)
{
    if (!c->deadline)
        return INT64_MAX;
    int64_t left = c->deadline - fumi_ticks();
    return left > 0 ? (left + 999999) / 1000000 : 0;
}

bool fumi_cancelled(const struct fumi_call *c)
{
    return run_cancelled(c->run) || !fumi_time_left(c);
}

/* Strings with different escapes may be the same id. */
static bool same_id(const struct fumi_val *a, const struct fumi_val *b)
{
    struct fumi_arena scratch = {0};
    if (!a || fumi_eq(fumi_raw(a), fumi_raw(b)))
        return a;
    bool same = fumi_is(b, FUMI_STRING) && fumi_text_is(a, fumi_text(&scratch, b));
    fumi_arena_done(&scratch);
    return same;
}

/* Marks the calls of x with that id (NULL: all) that have not ended. Returns whether there was one.
 */
static bool mark_cancelled(struct fumi_exchange *x, const struct fumi_val *id,
                           enum request_state as)
{
    bool found = false;
    for (size_t i = 0; i < x->n; i++) {
        struct request *q = &x->requests[i];
        unsigned char waiting = WAITING, last = LAST;
        if (!q->method || (id && !same_id(q->id, id)))
            continue;
        found |= atomic_compare_exchange_strong(&q->state, &waiting, as) ||
                 (as == CANCELLED && atomic_compare_exchange_strong(&q->state, &last, as));
    }
    return found;
}

/* Removes the hook of the run from the list. Returns false if it is not in the list. */
static bool take_hook(struct fumi_peer_state *ps, const struct fumi_run *r)
{
    for (struct fumi_run **at = &ps->hooks; *at; at = &(*at)->next_hook) {
        if (*at == r) {
            *at = r->next_hook;
            return true;
        }
    }
    return false;
}

bool fumi_on_cancel(struct fumi_call *c, void (*on)(void *arg), void *arg)
{
    struct fumi_run *r = c->run;
    struct fumi_peer_state *ps = r->exchange->peer->state;
    pthread_mutex_lock(&ps->lock);
    bool waits = atomic_load(&r->request->state) == WAITING;
    if (waits) {
        take_hook(ps, r);
        r->on_cancel = on;
        r->on_cancel_arg = arg;
        r->next_hook = ps->hooks;
        r->hooked = true;
        ps->hooks = r;
    }
    pthread_mutex_unlock(&ps->lock);
    return waits;
}

/* Calls on_cancel. The lock is held before and after but not during the call, because on_cancel may
 * finish the call and free the run. */
static void call_hook(struct fumi_peer_state *ps, struct fumi_run *r)
{
    struct running_hook here = {r, pthread_self(), ps->running_hooks};
    void (*on)(void *arg) = r->on_cancel;
    void *arg = r->on_cancel_arg;
    ps->running_hooks = &here;
    pthread_mutex_unlock(&ps->lock);
    on(arg);
    pthread_mutex_lock(&ps->lock);
    struct running_hook **at = &ps->running_hooks;
    while (*at != &here)
        at = &(*at)->next;
    *at = here.next;
    pthread_cond_broadcast(&ps->changed);
}

static void call_hooks(struct fumi_peer_state *ps)
{
    pthread_mutex_lock(&ps->lock);
    for (struct fumi_run *r = ps->hooks; r;) {
        if (!run_cancelled(r)) {
            r = r->next_hook;
            continue;
        }
        take_hook(ps, r);
        call_hook(ps, r);
        r = ps->hooks; /* the list may have changed */
    }
    pthread_mutex_unlock(&ps->lock);
}

void peer_cancel_late(struct fumi_run *r)
{
    struct fumi_peer_state *ps = r->exchange->peer->state;
    pthread_mutex_lock(&ps->lock);
    if (take_hook(ps, r))
        call_hook(ps, r);
    pthread_mutex_unlock(&ps->lock);
}

static bool is_running_elsewhere(const struct fumi_peer_state *ps, const struct fumi_run *r)
{
    for (const struct running_hook *f = ps->running_hooks; f; f = f->next)
        if (f->run == r && !pthread_equal(f->thread, pthread_self()))
            return true;
    return false;
}

void peer_unhook(struct fumi_run *r)
{
    struct fumi_peer_state *ps = r->exchange->peer->state;
    pthread_mutex_lock(&ps->lock);
    take_hook(ps, r);
    while (is_running_elsewhere(ps, r))
        pthread_cond_wait(&ps->changed, &ps->lock);
    pthread_mutex_unlock(&ps->lock);
}

bool fumi_cancel(struct fumi_peer *peer, const struct fumi_val *id)
{
    struct fumi_peer_state *ps = peer->state;
    bool found = false;
    if (!ps || !id)
        return false;
    pthread_mutex_lock(&ps->lock);
    for (struct fumi_exchange *x = ps->oldest; x; x = x->newer)
        found |= mark_cancelled(x, id, CANCELLED);
    pthread_cond_broadcast(&ps->changed);
    pthread_mutex_unlock(&ps->lock);
    if (found)
        call_hooks(ps);
    return found;
}

static void end_requests(struct fumi_peer_state *ps)
{
    ps->ended = true;
    for (struct outgoing_request *q = ps->outgoing; q; q = q->next) {
        if (q->state == OPEN)
            q->state = GONE;
    }
    pthread_cond_broadcast(&ps->changed);
}

bool fumi_peer_attach(struct fumi_peer *peer, void *session, const struct fumi_session_ops *ops)
{
    struct fumi_peer_state *ps = state_of(peer);
    pthread_mutex_lock(&ps->lock);
    bool fits = !ps->gone && !peer->ops;
    if (fits) {
        peer->ops = ops;
        __atomic_store_n(&peer->session, session, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&ps->lock);
    return fits;
}

void fumi_peer_eof(struct fumi_peer *peer)
{
    struct fumi_peer_state *ps = state_of(peer);
    pthread_mutex_lock(&ps->lock);
    end_requests(ps);
    const struct fumi_session_ops *ops = peer->ops;
    pthread_mutex_unlock(&ps->lock);
    if (ops && ops->eof)
        ops->eof(peer);
}

/* Whether calls of the message may be changing something. */
static bool is_writing(const struct fumi_exchange *x)
{
    return x->gated && x->started && x->writes;
}

static void cancel_all(struct fumi_peer *peer, enum request_state writers)
{
    struct fumi_peer_state *ps = state_of(peer);
    pthread_mutex_lock(&ps->lock);
    end_requests(ps);
    ps->gone = true;
    for (struct fumi_exchange *x = ps->oldest; x; x = x->newer)
        mark_cancelled(x, NULL, is_writing(x) ? writers : CANCELLED);
    const struct fumi_session_ops *ops = peer->ops;
    pthread_mutex_unlock(&ps->lock);
    call_hooks(ps);
    if (ops && ops->gone)
        ops->gone(peer);
}

void fumi_peer_close(struct fumi_peer *peer)
{
    cancel_all(peer, CANCELLED);
}

void fumi_peer_end(struct fumi_peer *peer)
{
    cancel_all(peer, LAST);
}

/* Counts the calls of x that have not ended, and appends their names. */
static size_t count_calls(const struct fumi_exchange *x, struct fumi_buf *names)
{
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        const struct request *q = &x->requests[i];
        if (!q->method || atomic_load(&q->state) == ENDED)
            continue;
        if (names && names->n)
            fumi_buf_put(names, ' ');
        if (names)
            fumi_buf_add(names, q->method->p, q->method->n);
        n++;
    }
    return n;
}

size_t fumi_peer_calls(struct fumi_peer *peer, bool writing, struct fumi_buf *names)
{
    struct fumi_peer_state *ps = peer->state;
    size_t n = 0;
    if (!ps)
        return 0;
    pthread_mutex_lock(&ps->lock);
    for (struct fumi_exchange *x = ps->oldest; x; x = x->newer)
        n += writing && !is_writing(x) ? 0 : count_calls(x, names);
    pthread_mutex_unlock(&ps->lock);
    return n;
}

bool fumi_peer_waits(const struct fumi_peer *peer)
{
    struct fumi_peer_state *ps = peer->state;
    if (!ps)
        return false;
    pthread_mutex_lock(&ps->lock);
    bool open = ps->outgoing && !ps->ended;
    pthread_mutex_unlock(&ps->lock);
    return open;
}

/* An error response of the peer becomes the error of the call. */
static enum fumi_ret read_response(struct fumi_call *c, const struct envelope *e)
{
    struct fumi_err why, theirs;
    if (e->fault)
        return fumi_fail(c, FUMI_LIMIT, "The peer sent an invalid response: %s", e->fault);
    if (!e->error)
        return FUMI_OK;
    if (envelope_error(c->arena, e->error, &theirs, &why))
        return fumi_fail(c, FUMI_LIMIT, "The peer sent an invalid response: %s", why.text);
    c->err = theirs;
    return FUMI_FAIL;
}

void peer_response(struct fumi_peer *peer, const struct envelope *e)
{
    struct fumi_peer_state *ps = peer->state;
    int64_t id;
    if (!ps || !fumi_int(e->id, &id))
        return;
    pthread_mutex_lock(&ps->lock);
    for (struct outgoing_request *q = ps->outgoing; q; q = q->next) {
        if (q->id != id || q->state != OPEN)
            continue;
        q->state = read_response(q->call, e) == FUMI_OK ? ANSWERED : REFUSED;
        if (q->state == ANSWERED)
            q->answer = fumi_compact(q->call->arena, e->result);
    }
    pthread_cond_broadcast(&ps->changed);
    pthread_mutex_unlock(&ps->lock);
}

static struct timespec time_after(int64_t ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

static void send_request(struct fumi_run *r, int64_t id, const char *method,
                         struct fumi_json params)
{
    struct fumi_buf b = {0};
    struct fumi_out o = request_open(&b, method);
    request_close(&o, params, id);
    run_notify(r, &b);
    fumi_buf_done(&b);
}

/* Waits until the request has ended, the call is cancelled, or the time is over. Removes the
 * request from the list. */
static void wait_for_response(struct fumi_peer_state *ps, struct outgoing_request *q)
{
    const struct fumi_run *r = q->call->run;
    int64_t most = r->server->limits.request, left = fumi_time_left(q->call);
    struct timespec end = time_after(left < most ? left : most);
    int rc = 0;
    pthread_mutex_lock(&ps->lock);
    while (q->state == OPEN && !run_cancelled(r) && rc == 0)
        rc = pthread_cond_timedwait(&ps->changed, &ps->lock, &end);
    for (struct outgoing_request **at = &ps->outgoing; *at; at = &(*at)->next) {
        if (*at == q) {
            *at = q->next;
            break;
        }
    }
    pthread_mutex_unlock(&ps->lock);
}

/* Adds the request to the list and gives it an id. Returns FUMI_FAIL if the call cannot send
 * requests, or the peer sends nothing more. Another thread may own the exchange after the deadline,
 * so `gated` is read with the lock. */
static enum fumi_ret add_request(struct fumi_exchange *x, struct outgoing_request *q,
                                 const char *method)
{
    struct fumi_peer_state *ps = x->peer->state;
    pthread_mutex_lock(&ps->lock);
    bool gated = x->gated, possible = gated && !ps->ended;
    if (possible) {
        q->id = ++ps->last_id;
        q->next = ps->outgoing;
        ps->outgoing = q;
    }
    pthread_mutex_unlock(&ps->lock);
    if (!gated)
        return fumi_fail(q->call, FUMI_INTERNAL_ERROR,
                         "only a blocking method on the executor can send requests");
    return possible ? FUMI_OK
                    : fumi_fail(q->call, FUMI_LIMIT,
                                "The peer sends no more messages and cannot answer %s", method);
}

enum fumi_ret fumi_request(struct fumi_call *c, const char *method, struct fumi_json params,
                           struct fumi_json *answer)
{
    struct fumi_exchange *x = c->run->exchange;
    struct outgoing_request q = {.call = c};
    if (x->peer->no_requests)
        return fumi_fail(c, FUMI_LIMIT, "Over %s, the peer cannot answer the request %s",
                         x->peer->transport, method);
    if (!x->sink.notify)
        return fumi_fail(c, FUMI_LIMIT, "The peer can receive only the answer, not the request %s",
                         method);
    if (!c->run->open)
        return fumi_fail(c, FUMI_INTERNAL_ERROR,
                         "only a blocking method on the executor can send requests");
    if (!fumi_time_left(c))
        return fumi_fail(c, FUMI_LIMIT, "There is no time left to send the request %s", method);
    if (add_request(x, &q, method) != FUMI_OK)
        return FUMI_FAIL;
    send_request(c->run, q.id, method, params);
    wait_for_response(x->peer->state, &q);
    switch (q.state) {
    case ANSWERED:
        *answer = q.answer;
        return FUMI_OK;
    case REFUSED:
        return FUMI_FAIL;
    case GONE:
        return fumi_fail(c, FUMI_LIMIT, "The peer sends no more messages and cannot answer %s",
                         method);
    case OPEN:
        break;
    }
    return fumi_fail(c, FUMI_LIMIT, "The peer did not answer %s in time", method);
}

bool fumi_push(struct fumi_peer *peer, const char *method, const struct fumi_shape *s,
               const void *params)
{
    struct fumi_buf message = {0};
    if (!peer->push)
        return false;
    request_notify(&message, method, s, params);
    peer->push(peer, &message);
    fumi_buf_done(&message);
    return true;
}
