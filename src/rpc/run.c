/* One call: hooks, params, method, answer.
 *
 * A call may be ended by its method, by fumi_finish, or by its deadline. The first of them that
 * claims the call (enum run_claim) writes the answer. While a method runs, its thread must use only
 * the run, because after the deadline another thread owns the exchange. */
#include "rpc/exchange.h"

#include "base/clock.h"

#include <assert.h>
#include <inttypes.h>

struct fumi_run *run_new(struct fumi_exchange *x)
{
    struct fumi_run *r = fumi_resize(NULL, sizeof(*r));
    memset(r, 0, sizeof(*r));
    r->exchange = x;
    r->server = x->server;
    r->call.run = r;
    r->call.arena = &r->arena;
    pthread_mutex_init(&r->notify_lock, NULL);
    return r;
}

void run_free(struct fumi_run *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->notify_lock);
    fumi_arena_done(&r->arena);
    fumi_buf_done(&r->out);
    fumi_resize(r, 0);
}

/* Releases a reference of a run that the deadline has claimed. The last reference frees the run and
 * what it keeps alive. */
static void release(struct fumi_run *r)
{
    struct fumi_exchange *x = r->exchange;
    struct fumi_server *s = r->server;
    struct fumi_peer *peer = x->peer;
    assert(atomic_load(&r->claim) == BY_DEADLINE && atomic_load(&r->refs) > 0);
    if (atomic_fetch_sub(&r->refs, 1) > 1)
        return;
    __typeof__(r->keep) keep = r->keep;
    struct fumi_source *source = r->source;
    run_free(r);
    fumi_source_release(source);
    exchange_unref(x);
    atomic_fetch_sub(&s->open, 1);
    if (keep)
        keep(peer, false);
}

/* Calls the `before` hooks in order until one fails. `entered` counts the processors whose `after`
 * is due. */
static enum fumi_ret enter(struct fumi_run *r)
{
    const struct fumi_server *s = r->server;
    struct fumi_call *c = &r->call;
    c->began = fumi_ticks();
    for (c->entered = 0; c->entered < s->processors_n;) {
        const struct fumi_processor *p = &s->processors[c->entered++];
        if (p->before && p->before(p->self, c) != FUMI_OK)
            return FUMI_FAIL;
    }
    return FUMI_OK;
}

static void leave(const struct fumi_server *s, struct fumi_call *c)
{
    while (c->entered) {
        const struct fumi_processor *p = &s->processors[--c->entered];
        if (p->after)
            p->after(p->self, c);
    }
}

static void prepare(struct fumi_run *r, struct fumi_exchange *x, struct request *q)
{
    struct fumi_call *c = &r->call;
    size_t limit = r->server->limits.answer, used = x->out.n + x->batch;
    if (x->index)
        fumi_arena_reset(&r->arena, KEEP);
    r->request = q;
    r->answer_limit = limit > used ? limit - used : 0;
    r->open = x->open;
    r->hooked = false;
    atomic_store_explicit(&r->claim, UNCLAIMED, memory_order_relaxed);
    atomic_store_explicit(&r->state, RUNNING, memory_order_relaxed);
    c->name = q->entry ? q->entry->name : fumi_text(&r->arena, q->method);
    c->method = q->entry ? q->entry->method : NULL;
    c->self = q->entry ? q->entry->self : NULL;
    c->peer = x->peer;
    c->context = exchange_context(x);
    c->params = q->params;
    c->id = q->id;
    c->err.code = 0;
    c->err.text[0] = '\0';
    c->err.data = (struct fumi_str){0};
    c->deadline = 0;
    c->conversation = c->client = c->client_version = (struct fumi_str){0};
    c->progress = NULL;
    c->result = NULL;
    c->out = NULL;
    c->wrote = false;
    c->entered = 0;
}

struct fumi_run *run_enter(struct fumi_exchange *x, struct request *q)
{
    struct fumi_run *r = x->run;
    assert(r->exchange == x && q == &x->requests[x->index]);
    prepare(r, x, q);
    r->admitted = r->server->hooks ? enter(r) : FUMI_OK;
    if (x->open && r->call.deadline)
        deadline_set(r);
    return r;
}

/* The data of this error is the complete name, of any length and with any characters. */
static __attribute__((cold)) enum fumi_ret fail_unknown(struct fumi_call *c, struct fumi_str name)
{
    size_t size, most = name.n * 6 + 2; /* each byte as \u00XX, and the quotes */
    struct fumi_buf b = {.p = fumi_tail(c->arena, most, &size), .cap = most, .limit = most};
    fumi_put_str(&(struct fumi_out){.buf = &b}, name);
    fumi_take(c->arena, b.n);
    fumi_fail(c, FUMI_METHOD_NOT_FOUND, "%.*s", FUMI_ARG(name));
    c->err.data = fumi_buf_str(&b);
    return FUMI_FAIL;
}

static enum fumi_ret call_method(struct fumi_call *c, const struct method_entry *e)
{
    const struct fumi_method *m = e->method;
    char *frame = fumi_alloc(c->arena, e->frame);
    void *params = m->params ? frame : NULL;
    if (c->params && (c->params->bits & 7) < FUMI_ARRAY)
        return fumi_fail(c, FUMI_INVALID_PARAMS, "params must be an array or an object");
    if ((c->compact ? fumi_bind_input : fumi_bind)(c->arena, m->params, c->params, params, &c->err))
        return FUMI_FAIL;
    c->result = m->result ? frame + e->result : NULL;
    return m->run(c, params, c->result);
}

static void ensure_error(struct fumi_call *c, enum fumi_ret ret)
{
    if (ret != FUMI_OK && !c->err.code)
        fumi_fail(c, FUMI_INTERNAL_ERROR, "the method failed without setting an error");
}

/* The error of a call that missed its deadline. */
static __attribute__((cold)) enum fumi_ret fail_late(struct fumi_call *c, const struct request *q,
                                                     bool begun)
{
    static const char unknown[] = "; its outcome is unknown, check it before you try again";
    bool reads = q->flags & FUMI_READ_ONLY;
    const char *outcome = !begun ? " and was not run" : reads ? "" : unknown;
    fumi_fail(c, FUMI_LIMIT, "timeout");
    c->err.data = fumi_fmt(c->arena, "\"the call did not %s in %" PRId64 " ms%s\"",
                           begun ? "end" : "begin", (c->deadline - c->began) / 1000000, outcome);
    return FUMI_FAIL;
}

/* Turns the outcome of a call that ends after its deadline into a timeout, except for an internal
 * error. */
static enum fumi_ret check_deadline(struct fumi_run *r, enum fumi_ret ret)
{
    struct fumi_call *c = &r->call;
    bool broken = ret != FUMI_OK && c->err.code == FUMI_INTERNAL_ERROR;
    c->ended = fumi_ticks();
    if (!c->deadline || c->ended < c->deadline || broken)
        return ret;
    return fail_late(c, r->request, r->begun);
}

/* The method has written its result into the buffer of the run. A single answer is swapped with the
 * buffer of the exchange, so that both keep their memory for reuse. */
static int answer_written(struct fumi_exchange *x, struct fumi_call *c)
{
    struct fumi_buf *from = &c->run->out, was = x->out;
    if (!c->run->writer.comma)
        return fumi_err_set(&c->err, FUMI_INTERNAL_ERROR, "the method wrote no result");
    if (answer_end(from, c, &c->err))
        return -1;
    if (x->batch) {
        fumi_buf_add(&x->out, from->p, from->n);
        return 0;
    }
    x->out = *from;
    x->out.limit = 0;
    *from = was;
    return 0;
}

static int answer(struct fumi_exchange *x, struct fumi_call *c)
{
    size_t mark = x->out.n;
    exchange_separate(x);
    int rc = c->wrote ? answer_written(x, c) : answer_result(&x->out, c, &c->err);
    if (rc)
        x->out.n = mark;
    return rc;
}

static void report_fault(struct fumi_run *r, const struct fumi_call *c, bool silent)
{
    if (c->err.code == FUMI_INTERNAL_ERROR)
        log_internal(r->server, c->name, &c->err);
    if (!silent)
        exchange_fault(r->exchange, &c->err, c->id, r->request->flags);
}

/* The call has an outcome: calls the `after` hooks and writes the answer. The result is written
 * first, because a result that cannot be written is an error that the hooks must see. */
static void conclude(struct fumi_run *r, enum fumi_ret ret)
{
    struct fumi_call *c = &r->call;
    bool cancelled = r->open && atomic_exchange(&r->request->state, ENDED) == CANCELLED;
    bool silent = cancelled || !c->id;
    if (r->server->hooks)
        ret = check_deadline(r, ret);
    ensure_error(c, ret);
    if (ret == FUMI_OK && !silent && answer(r->exchange, c))
        ret = FUMI_FAIL;
    c->ret = ret == FUMI_OK ? FUMI_OK : FUMI_FAIL;
    leave(r->server, c);
    if (ret != FUMI_OK)
        report_fault(r, c, silent);
}

/* Claims the call for its method. Returns UNCLAIMED if that succeeds, otherwise the claim that the
 * call has. */
static int claim(struct fumi_run *r)
{
    int is = atomic_load_explicit(&r->claim, memory_order_relaxed);
    if (!r->open) { /* no other thread can claim it */
        atomic_store_explicit(&r->claim, BY_METHOD, memory_order_relaxed);
        return is;
    }
    is = UNCLAIMED;
    if (atomic_compare_exchange_strong(&r->claim, &is, BY_METHOD))
        deadline_clear(r);
    return is;
}

/* The name of a call that has ended may be freed, so the name in the method table is logged. */
static __attribute__((cold)) void log_twice(const struct fumi_run *r)
{
    static const struct fumi_err twice = {.text = "the call was finished twice"};
    const struct fumi_method *m = r->call.method;
    log_internal(r->server, fumi_str(m ? m->name : ""), &twice);
}

/* A method without FUMI_ASYNC has returned FUMI_PENDING: answers the call with an internal error. A
 * later fumi_finish must find a valid run, so the run is abandoned until the server is freed. */
static __attribute__((cold)) void disown(struct fumi_run *r)
{
    struct fumi_exchange *x = r->exchange;
    conclude(r,
             fumi_fail(&r->call, FUMI_INTERNAL_ERROR, "returned FUMI_PENDING without FUMI_ASYNC"));
    r->call.context = NULL; /* may be freed with the answer */
    atomic_fetch_add(&x->refs, 1);
    x->run = run_new(x);
    r->next_lost = atomic_load(&r->server->lost);
    while (!atomic_compare_exchange_weak(&r->server->lost, &r->next_lost, r)) {}
}

/* The transport need not wait for the answer of a pending call. The sink is gone if the deadline
 * has sent the answer. */
static void mark_unordered(struct fumi_run *r)
{
    struct fumi_sink sink = r->exchange->sink;
    pthread_mutex_lock(&r->notify_lock);
    if (sink.unordered && atomic_load(&r->claim) != BY_DEADLINE)
        sink.unordered(sink.arg);
    pthread_mutex_unlock(&r->notify_lock);
}

/* The method has returned FUMI_PENDING. Returns FUMI_PENDING if this thread no longer owns the
 * exchange. */
static enum fumi_ret pend(struct fumi_run *r)
{
    if (!(r->request->flags & FUMI_ASYNC) && claim(r) == UNCLAIMED) {
        disown(r);
        return FUMI_OK;
    }
    if (r->open && atomic_load(&r->claim) == UNCLAIMED) {
        peer_ungate(r);
        mark_unordered(r);
    }
    if (atomic_exchange(&r->state, PENDING) != FINISHED)
        return FUMI_PENDING;
    if (atomic_load(&r->claim) != BY_DEADLINE)
        return FUMI_OK;
    release(r);
    return FUMI_PENDING;
}

/* The method has returned. Returns FUMI_PENDING as pend does. */
static enum fumi_ret settle(struct fumi_run *r, enum fumi_ret ret)
{
    if (ret == FUMI_PENDING)
        return pend(r);
    if (r->hooked)
        peer_unhook(r);
    switch (claim(r)) {
    case UNCLAIMED:
        conclude(r, ret);
        return FUMI_OK;
    case BY_METHOD:
        log_twice(r);
        return FUMI_OK;
    }
    release(r);
    return FUMI_PENDING;
}

enum fumi_ret run_request(struct fumi_run *r)
{
    struct fumi_call *c = &r->call;
    enum fumi_ret ret = r->admitted;
    if (r->open && run_cancelled(r))
        return settle(r, fumi_fail(c, FUMI_LIMIT, "cancelled before it began"));
    r->begun = ret != FUMI_OK || !c->deadline || fumi_ticks() < c->deadline;
    if (!r->begun)
        return settle(r, fail_late(c, r->request, false));
    if (ret == FUMI_OK)
        ret = r->request->entry ? call_method(c, r->request->entry) : fail_unknown(c, c->name);
    return settle(r, ret);
}

/* If the method has not returned yet, its thread continues with the exchange instead of this one.
 * So no thread waits for another, and a batch whose calls are finished at once does not recurse. */
void fumi_finish(struct fumi_call *c, enum fumi_ret ret)
{
    struct fumi_run *r = c->run;
    struct fumi_exchange *x = r->exchange;
    if (r->hooked)
        peer_unhook(r);
    int whose = claim(r);
    if (whose == BY_METHOD) {
        log_twice(r);
        return;
    }
    if (whose == UNCLAIMED)
        conclude(r, ret);
    if (atomic_exchange(&r->state, FINISHED) != PENDING)
        return;
    if (whose == BY_DEADLINE) {
        release(r);
        return;
    }
    x->index++;
    exchange_proceed(x);
}

static void on_task(struct fumi_task *task)
{
    struct fumi_run *r = FUMI_OWNER(task, struct fumi_run, task);
    struct fumi_exchange *x = r->exchange;
    int queued = QUEUED;
    if (peer_postpone(r))
        return;
    if (!atomic_compare_exchange_strong(&r->state, &queued, RUNNING)) {
        release(r); /* the deadline was first */
        return;
    }
    if (run_request(r) == FUMI_PENDING)
        return;
    x->index++;
    exchange_proceed(x);
}

struct fumi_task *run_task(struct fumi_run *r)
{
    atomic_store(&r->state, QUEUED);
    r->open = true;
    r->task.run = on_task;
    return &r->task;
}

/* Continues with the rest of the message without the late call. The deadline of the next call
 * counts from now, although the call may wait for a worker. */
static void continue_after(struct fumi_exchange *x)
{
    struct request *q = NULL;
    x->run = run_new(x);
    x->index++;
    if (x->server->submit)
        q = exchange_next(x);
    if (!q) {
        exchange_proceed(x);
        return;
    }
    run_enter(x, q);
    peer_resume(x);
}

/* Answers a call whose method may still run and write to the call: so the hooks get a copy. */
static void answer_late(struct fumi_run *r, bool begun)
{
    struct fumi_arena scratch = {0};
    const struct fumi_call *is = &r->call;
    struct fumi_call c = {.name = is->name,
                          .method = is->method,
                          .self = is->self,
                          .peer = is->peer,
                          .context = is->context,
                          .arena = &scratch,
                          .params = is->params,
                          .id = is->id,
                          .ret = FUMI_FAIL,
                          .began = is->began,
                          .ended = fumi_ticks(),
                          .deadline = is->deadline,
                          .run = r,
                          .entered = is->entered};
    bool cancelled = atomic_exchange(&r->request->state, ENDED) == CANCELLED;
    fail_late(&c, r->request, begun);
    leave(r->server, &c);
    report_fault(r, &c, cancelled || !c.id);
    fumi_arena_done(&scratch);
}

void run_late(struct fumi_run *r)
{
    struct fumi_exchange *x = r->exchange;
    int state = QUEUED;
    assert(atomic_load(&r->claim) == BY_DEADLINE);
    bool begun = !atomic_compare_exchange_strong(&r->state, &state, FINISHED);
    bool idle = !begun && peer_dequeue(r);
    atomic_fetch_add(&x->refs, 1);
    atomic_fetch_add(&r->server->open, 1);
    r->keep = x->peer->keep;
    if (r->keep)
        r->keep(x->peer, true);
    r->source = source_ref(x->sink.source);
    answer_late(r, begun);
    continue_after(x);
    peer_cancel_late(r);
    if (idle)
        release(r); /* the reference of the method, which will not run */
    release(r);
}

enum fumi_ret fumi_fail(struct fumi_call *c, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fumi_err_args(&c->err, code, fmt, args);
    va_end(args);
    return FUMI_FAIL;
}

static struct fumi_out *rewind_to(struct fumi_out *o, size_t n, bool comma)
{
    o->buf->n = n;
    o->buf->full = false;
    o->comma = comma;
    return o;
}

struct fumi_out *fumi_result(struct fumi_call *c)
{
    struct fumi_run *r = c->run;
    c->wrote = true;
    if (c->out)
        return rewind_to(c->out, c->from, c->comma);
    size_t keep = r->answer_limit < KEEP ? r->answer_limit : KEEP; /* capacity within the limit */
    fumi_buf_reset(&r->out, keep);
    r->out.limit = r->answer_limit ? r->answer_limit : 1;
    r->writer = (struct fumi_out){.buf = &r->out};
    answer_begin(&r->out);
    return &r->writer;
}

enum fumi_ret fumi_invoke(struct fumi_call *c, struct fumi_str name, const struct fumi_val *args,
                          bool compact, struct fumi_out *out, const void **result)
{
    const struct method_entry *e = server_find(c->run->server, name);
    if (!e)
        return fail_unknown(c, name);
    if (e->method->flags & FUMI_ASYNC)
        return fumi_fail(c, FUMI_INTERNAL_ERROR, "%s is FUMI_ASYNC and cannot be invoked",
                         e->name.p);
    struct fumi_call inner = *c;
    inner.name = name;
    inner.method = e->method;
    inner.self = e->self;
    inner.params = fumi_is(args, FUMI_NULL) ? NULL : args;
    inner.compact = compact;
    inner.out = out;
    inner.from = out->buf->n;
    inner.comma = out->comma;
    inner.wrote = false;
    enum fumi_ret ret = call_method(&inner, e);
    if (ret == FUMI_PENDING)
        ret = fumi_fail(&inner, FUMI_INTERNAL_ERROR, "returned FUMI_PENDING without FUMI_ASYNC");
    ensure_error(&inner, ret);
    if (ret == FUMI_OK && !inner.wrote && answer_value(out, &inner, compact, &inner.err))
        ret = FUMI_FAIL;
    if (ret != FUMI_OK)
        rewind_to(out, inner.from, inner.comma);
    if (result)
        *result = inner.result;
    c->err = inner.err;
    return ret;
}

size_t fumi_room(const struct fumi_call *c)
{
    return c->run->answer_limit;
}

/* Uses the params of the request, even in a method that fumi_invoke runs. */
bool fumi_call_trace(const struct fumi_call *c, struct fumi_trace *out)
{
    const struct fumi_exchange *x = c->run->exchange;
    const struct fumi_val *meta = fumi_get(c->run->request->params, "_meta");
    const struct fumi_val *parent = fumi_get(meta, "traceparent");
    const struct fumi_val *state = fumi_get(meta, "tracestate");
    if (fumi_trace_read(fumi_text(c->arena, parent), fumi_text(c->arena, state), out))
        return true;
    const struct fumi_trace *trace = fumi_source_trace(x->sink.source);
    if (trace)
        *out = *trace;
    return trace;
}

void fumi_progress(struct fumi_call *c, double done, double total, struct fumi_str message)
{
    if (c->progress && !run_cancelled(c->run))
        c->progress(c, done, total, message);
}

bool fumi_wants_progress(const struct fumi_call *c)
{
    return c->progress;
}

bool fumi_in_batch(const struct fumi_call *c)
{
    return c->run->exchange->batch;
}

bool fumi_can_notify(const struct fumi_call *c)
{
    return c->run->exchange->sink.notify;
}

/* The sink must not be used after the reply, which the timer thread may send. */
void run_notify(struct fumi_run *r, struct fumi_buf *message)
{
    struct fumi_sink sink = r->exchange->sink;
    pthread_mutex_lock(&r->notify_lock);
    if (sink.notify && !run_cancelled(r) && atomic_load(&r->claim) == UNCLAIMED)
        sink.notify(sink.arg, message);
    pthread_mutex_unlock(&r->notify_lock);
}

void fumi_notify(struct fumi_call *c, const char *method, const struct fumi_shape *s,
                 const void *params)
{
    struct fumi_buf message = {0};
    if (!fumi_can_notify(c) || run_cancelled(c->run))
        return;
    request_notify(&message, method, s, params);
    run_notify(c->run, &message);
    fumi_buf_done(&message);
}
