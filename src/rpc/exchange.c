/* One message: parse it, run its calls in order, answer.
 *
 * They run here and now, up to one whose method may block: from there on the message is handed to
 * the executor. A pending call stops it; whoever finishes that call goes on with the rest. */
#include "rpc/exchange.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* An answer begins: bracket or comma of a batch. */
static void separate(struct fumi_exchange *x)
{
    if (x->batch)
        fumi_buf_put(&x->out, x->out.n ? ',' : '[');
}

static __attribute__((noinline)) void
answer_fault(struct fumi_exchange *x, const struct fumi_err *e, const struct fumi_val *id)
{
    unsigned how = (x->peer->bare ? ANSWER_BARE : 0) | (x->flags & FUMI_FRANK ? ANSWER_FRANK : 0);
    separate(x);
    answer_error(&x->out, e, id, how);
    x->code = e->code;
}

static __attribute__((noinline, cold)) void refuse(struct fumi_exchange *x, int code,
                                                   const char *sentence, const struct fumi_val *id)
{
    struct fumi_err e;
    fumi_err_set(&e, code, "%s", sentence);
    answer_fault(x, &e, id);
}

/* An exchange that was open may end on any thread, and whoever hears the reply may free the peer
 * and the server: so the reply is the last thing that happens, on nothing that belongs to them. */
static void finish_open(struct fumi_exchange *x)
{
    struct fumi_server *s = x->server;
    struct fumi_sink sink = x->sink;
    struct fumi_buf answer = {0};
    int code = x->batch ? 0 : x->code;
    fumi_buf_move(&answer, &x->out);
    peer_close(x);
    exchange_put(x, NULL);
    atomic_fetch_sub(&s->open, 1);
    sink.reply(sink.arg, &answer, code);
    fumi_buf_done(&answer);
}

static void finish(struct fumi_exchange *x)
{
    if (x->batch && x->out.n)
        fumi_buf_put(&x->out, ']');
    if (x->open) {
        finish_open(x);
        return;
    }
    struct fumi_spare *spare = x->peer->spare;
    x->sink.reply(x->sink.arg, &x->out, x->batch ? 0 : x->code);
    exchange_put(x, spare);
}

/* The processors in order, until one fails; `entered` counts those to be left again. A call that
 * has waited past its deadline is not run: see in_time. */
static enum fumi_ret enter(struct fumi_call *c)
{
    const struct fumi_server *s = c->exchange->server;
    int64_t now = fumi_ticks();
    c->began = c->exchange->came ? c->exchange->came : now;
    c->exchange->came = 0;
    for (c->entered = 0; c->entered < s->processors_n;) {
        const struct fumi_processor *p = &s->processors[c->entered++];
        if (p->before && p->before(p->self, c) != FUMI_OK)
            return FUMI_FAIL;
    }
    return c->deadline && now >= c->deadline ? FUMI_FAIL : FUMI_OK;
}

static void leave(struct fumi_call *c)
{
    const struct fumi_server *s = c->exchange->server;
    while (c->entered) {
        const struct fumi_processor *p = &s->processors[--c->entered];
        if (p->after)
            p->after(p->self, c);
    }
}

static __attribute__((cold)) void log_internal(const struct fumi_server *s, struct fumi_str where,
                                               const struct fumi_err *e)
{
    fumi_log(s->log, FUMI_ERROR, "rpc.internal", {"where", where, 0},
             {"why", fumi_str(e->text), 0});
}

/* The bytes of a struct, so that another can follow it. */
static size_t size_of(const struct fumi_shape *s)
{
    const size_t align = _Alignof(max_align_t);
    return s ? (s->size + align - 1) & ~(align - 1) : 0;
}

static size_t room_for(const struct fumi_method *m)
{
    return m ? size_of(m->params) + size_of(m->result) : 0;
}

/* The data of this error is the name itself, whatever it holds and however long it is. */
static __attribute__((cold)) enum fumi_ret fail_unknown(struct fumi_call *c, struct fumi_str name)
{
    size_t room, most = name.n * 6 + 2; /* every byte as \u00XX, and quotes */
    struct fumi_buf b = {.p = fumi_tail(c->arena, most, &room), .cap = most, .limit = most};
    fumi_put_str(&(struct fumi_out){.buf = &b}, name);
    fumi_take(c->arena, b.n);
    fumi_fail(c, FUMI_METHOD_NOT_FOUND, "%.*s", FUMI_ARG(name));
    c->err.data = fumi_buf_str(&b);
    return FUMI_FAIL;
}

/* Memory for the params and the result of one call after the other: what the one before left is
 * of no use to anybody, unless it was lost. */
static char *frame_of(struct fumi_exchange *x, size_t size)
{
    if (FUMI_RARELY(size > x->frame_size || !x->frame_size || x->lost)) {
        x->frame_size = size ? size : 1;
        return x->frame = fumi_alloc(&x->arena, size);
    }
    for (size_t i = 0; i < size; i += _Alignof(max_align_t))
        memset(x->frame + i, 0, _Alignof(max_align_t));
    return x->frame;
}

/* `both`: room for params and result, zeroed; see room_for. */
static enum fumi_ret run(struct fumi_call *c, char *both)
{
    if (FUMI_RARELY(!c->method))
        return fail_unknown(c, c->name);
    if (FUMI_MOSTLY(c->params) && FUMI_RARELY((c->params->bits & 7) < FUMI_ARRAY))
        return fumi_fail(c, FUMI_INVALID_PARAMS, "params must be an array or an object");
    const struct fumi_shape *in = c->method->params, *out = c->method->result;
    void *params = in ? both : NULL;
    if (FUMI_RARELY(fumi_bind(c->arena, in, c->params, params, &c->err)))
        return FUMI_FAIL;
    c->result = out ? both + size_of(in) : NULL;
    return c->method->run(c, params, c->result);
}

static int answer(struct fumi_exchange *x, struct fumi_call *c)
{
    size_t mark = x->out.n;
    char before = !x->batch ? '\0' : mark ? ',' : '[';
    int rc = answer_result(&x->out, before, c, x->server->limits.answer, &c->err);
    if (FUMI_RARELY(rc))
        x->out.n = mark;
    return rc;
}

static void explain(struct fumi_call *c, enum fumi_ret ret)
{
    if (FUMI_RARELY(ret != FUMI_OK) && !c->err.code)
        fumi_fail(c, FUMI_INTERNAL_ERROR, "the method failed without saying why");
}

/* Whatever came of it after its deadline, the answer says so; but what broke inside stays that. */
static enum fumi_ret in_time(struct fumi_call *c, enum fumi_ret ret)
{
    bool broken = ret != FUMI_OK && c->err.code == FUMI_INTERNAL_ERROR;
    c->ended = fumi_ticks();
    if (!c->deadline || c->ended < c->deadline || broken)
        return ret;
    fumi_fail(c, FUMI_LIMIT, "timeout");
    c->err.data = fumi_fmt(c->arena, "\"the call did not end in %" PRId64 " ms\"",
                           (c->deadline - c->began) / 1000000);
    return FUMI_FAIL;
}

static __attribute__((noinline)) void tell_fault(struct fumi_call *c, bool silent)
{
    struct fumi_exchange *x = c->exchange;
    if (c->err.code == FUMI_INTERNAL_ERROR)
        log_internal(x->server, c->name, &c->err);
    if (!silent)
        answer_fault(x, &c->err, c->id);
}

/* The call has an outcome: tell the processors, and the peer. A result that cannot be written is
 * an error too, so it is written before the processors hear of it. */
static void conclude(struct fumi_call *c, enum fumi_ret ret)
{
    struct fumi_exchange *x = c->exchange;
    bool silent = FUMI_RARELY(peer_settle(x) || !c->id);
    if (x->server->hooks)
        ret = in_time(c, ret);
    explain(c, ret);
    if (FUMI_MOSTLY(ret == FUMI_OK && !silent) && FUMI_RARELY(answer(x, c)))
        ret = FUMI_FAIL;
    c->ret = ret == FUMI_OK ? FUMI_OK : FUMI_FAIL;
    leave(c);
    if (FUMI_RARELY(c->ret == FUMI_FAIL))
        tell_fault(c, silent);
}

/* A method's name; it is a string. */
static struct fumi_str name_of(struct fumi_arena *a, const struct fumi_val *v)
{
    return v->bits & FUMI_ESCAPED ? fumi_text(a, v) : (struct fumi_str){v->p, v->n};
}

static unsigned flags_for(const struct entry *e, const struct fumi_val *params)
{
    const struct fumi_method *m = e->method;
    if (FUMI_MOSTLY(!(m->flags & FUMI_VARIES)))
        return m->flags;
    return m->flags | ((struct fumi_varying *)e->self)->flags_for(e->self, m, params);
}

/* The value in the element `to` that `v` is in `from`. In bytes: nothing needs to be divided. */
static inline const struct fumi_val *same_in(const struct fumi_val *to, const struct fumi_val *from,
                                             const struct fumi_val *v)
{
    if (!v)
        return NULL;
    return (const void *)((const char *)to + ((const char *)v - (const char *)from));
}

/* The element is like one that is known: so it says the same, unless it says so of another method,
 * or with an id or version that is none. */
static inline bool know_alike(struct fumi_exchange *x, const struct fumi_val *v,
                              const struct known *like)
{
    struct envelope *e = &x->known.says;
    const struct entry *entry = like->entry;
    if (!entry)
        return false;
    const struct fumi_val *method = same_in(v, like->v, like->says.method),
                          *id = same_in(v, like->v, like->says.id),
                          *version = same_in(v, like->v, like->says.version);
    if (FUMI_RARELY(!envelope_is_version(version)))
        return false;
    if (FUMI_MOSTLY(id) && FUMI_RARELY(!envelope_is_id(id)))
        return false;
    if (FUMI_RARELY(method->n != entry->name.n) ||
        FUMI_RARELY(!fumi_same(method->p, entry->name.p, method->n)))
        return false; /* the name of a method has no escapes */
    e->version = version;
    e->method = method;
    e->id = id;
    e->params = same_in(v, like->v, like->says.params);
    e->fault = NULL;
    e->response = false;
    x->known.v = v;
    x->known.entry = entry;
    x->flags = flags_for(entry, e->params);
    return true;
}

/* Values of a document, for a copy of the text that begins with `v`; in place where to is v. */
static void move_to_text(struct fumi_val *to, const struct fumi_val *v, const char *copy)
{
    const char *text = v->p;
    for (size_t i = 0, n = v->bits >> FUMI_SPAN_SHIFT; i < n; i++)
        to[i] = (struct fumi_val){copy + (v[i].p - text), v[i].n, v[i].bits};
}

/* Takes a copy of what is known, text and all. */
static void learn(struct fumi_exchange *x)
{
    struct pattern *p = &x->pattern;
    const struct fumi_val *v = x->known.v;
    size_t n = v->bits >> FUMI_SPAN_SHIFT;
    if (!x->known.entry || n > FUMI_COUNT(p->row) || v->n > sizeof(p->text))
        return;
    memcpy(p->text, v->p, v->n);
    move_to_text(p->row, v, p->text);
    p->known = x->known;
    for (size_t m = 0; m < UNKNOWN; m++)
        p->known.says.members[m] = same_in(p->row, v, x->known.says.members[m]);
    p->known.v = p->row;
    p->depth = x->server->limits.depth;
}

static __attribute__((noinline)) void know_anew(struct fumi_exchange *x, const struct fumi_val *v)
{
    struct envelope *e = &x->known.says;
    envelope_read(v, e);
    x->known.v = v;
    x->known.entry = e->response || e->fault
                         ? NULL
                         : server_find(x->server, name_of(&x->arena, e->method));
    x->flags = x->known.entry ? flags_for(x->known.entry, e->params) : 0;
    if (v == x->document)
        learn(x);
}

/* Finds out what an element says and which method it asks for. A message of one call is read once,
 * whoever asks first. */
static inline void know(struct fumi_exchange *x, const struct fumi_val *v)
{
    const struct known *like = x->batch ? &x->known : &x->pattern.known;
    if (FUMI_RARELY(x->known.v == v))
        return;
    bool alike = fumi_is_alike(v) && (!x->batch || (x->known.v && fumi_next(x->known.v) == v));
    if (FUMI_RARELY(!alike || !know_alike(x, v, like)))
        know_anew(x, v);
}

/* Sets the exchange's call up for the request that was read; there is one at a time. */
static struct fumi_call *prepare(struct fumi_exchange *x)
{
    struct fumi_call *c = &x->call;
    const struct envelope *e = &x->known.says;
    const struct entry *entry = x->known.entry;
    c->name = name_of(&x->arena, e->method);
    c->method = entry ? entry->method : NULL;
    c->self = entry ? entry->self : NULL;
    c->params = fumi_is(e->params, FUMI_NULL) ? NULL : e->params;
    c->id = e->id;
    c->err.code = 0;
    c->err.text[0] = '\0';
    c->err.data = (struct fumi_str){0};
    c->deadline = 0;
    atomic_store_explicit(&x->turn, RUNNING, memory_order_relaxed);
    atomic_store_explicit(&x->claimed, false, memory_order_relaxed);
    c->result = NULL;
    c->progress = NULL;
    c->entered = 0;
    return c;
}

/* Of a call that has ended only the method's own name is sure to be there still. */
static __attribute__((cold)) void log_twice(const struct fumi_call *c)
{
    static const struct fumi_err twice = {.text = "the call has been finished before"};
    log_internal(c->exchange->server, fumi_str(c->method ? c->method->name : ""), &twice);
}

/* A pending call of a method that may not pend: it is answered here, unless it has been already.
 * Who finishes it later finds an exchange that nobody uses any more. */
static __attribute__((cold)) enum fumi_ret disown(struct fumi_call *c)
{
    struct fumi_exchange *x = c->exchange;
    if (atomic_exchange(&x->claimed, true))
        return FUMI_PENDING;
    x->lost = true;
    return fumi_fail(c, FUMI_INTERNAL_ERROR, "returned FUMI_PENDING without FUMI_DEFERS");
}

/* An element that is no request: an answer to a question of ours, or a fault. */
static __attribute__((noinline)) void take_other(struct fumi_exchange *x)
{
    const struct envelope *e = &x->known.says;
    if (e->response)
        peer_answered(x->peer, e);
    else
        refuse(x, FUMI_INVALID_REQUEST, e->fault, e->id);
}

/* Runs the element that is known. */
static enum fumi_ret run_element(struct fumi_exchange *x)
{
    if (FUMI_RARELY(x->known.says.response || x->known.says.fault)) {
        take_other(x);
        return FUMI_OK;
    }
    struct fumi_call *c = prepare(x);
    unsigned flags = x->flags;
    enum fumi_ret ret = x->server->hooks ? enter(c) : FUMI_OK;
    if (FUMI_MOSTLY(ret == FUMI_OK))
        ret = run(c, frame_of(x, room_for(c->method)));
    if (FUMI_RARELY(ret == FUMI_PENDING)) {
        if (!(flags & FUMI_DEFERS))
            ret = disown(c);
        if (ret == FUMI_PENDING)
            return atomic_exchange(&x->turn, PARKED) == FINISHED ? FUMI_OK : FUMI_PENDING;
    }
    if (FUMI_RARELY(atomic_load_explicit(&x->claimed, memory_order_relaxed) && !x->lost))
        log_twice(c);
    else
        conclude(c, ret);
    return FUMI_OK;
}

static void proceed(struct fumi_exchange *x);

static void proceed_later(struct fumi_task *task)
{
    struct fumi_exchange *x = FUMI_OWNER(task, struct fumi_exchange, task);
    if (!peer_postpone(x))
        proceed(x);
}

/* When the handler has not yet returned, whoever runs it goes on: so a batch of calls that are
 * finished at once does not pile up on the stack, and nobody waits for anybody. */
void fumi_finish(struct fumi_call *c, enum fumi_ret ret)
{
    struct fumi_exchange *x = c->exchange;
    if (atomic_exchange(&x->claimed, true)) {
        log_twice(c);
        return;
    }
    conclude(c, ret);
    if (atomic_exchange(&x->turn, FINISHED) != PARKED)
        return;
    x->index++;
    proceed(x);
}

/* The flags of all methods that the message asks for, together; writes: not all are read-only. */
static unsigned flags_of(struct fumi_exchange *x)
{
    unsigned flags = 0;
    x->writes = false;
    for (const struct fumi_val *v = x->at; v; v = exchange_after(x, v)) {
        know(x, v);
        if (!x->known.entry)
            continue;
        flags |= x->flags;
        x->writes |= !(x->flags & FUMI_READ_ONLY);
    }
    return flags;
}

/* Answers to questions of ours in a batch are taken at once: the call that waits for them may be
 * what the requests beside them wait for. To take one a second time does nothing. */
static void take_answers(struct fumi_exchange *x)
{
    for (const struct fumi_val *v = x->at; v; v = exchange_after(x, v)) {
        struct envelope e;
        envelope_read(v, &e);
        if (e.response)
            peer_answered(x->peer, &e);
    }
}

/* The text of the message is its sender's once fumi_handle returns: an exchange that may outlive
 * that takes a copy along. All values point into the text of the outermost one, and nobody looks at
 * them meanwhile. */
static void keep_text(struct fumi_exchange *x)
{
    struct fumi_val *row = (struct fumi_val *)x->document;
    move_to_text(row, row, fumi_dup(&x->arena, fumi_raw(row)).p);
}

/* An element blocks or defers: what is left of the message may outlive fumi_handle. Whether it goes
 * to the executor. */
static bool open_rest(struct fumi_exchange *x)
{
    struct fumi_server *s = x->server;
    unsigned flags = flags_of(x);
    bool gated = s->submit && flags & FUMI_BLOCKING;
    x->task.run = proceed_later;
    x->came = gated && s->hooks ? fumi_ticks() : 0;
    keep_text(x);
    if (gated && x->batch)
        take_answers(x);
    peer_open(x, gated);
    return gated;
}

static bool must_open(const struct fumi_exchange *x)
{
    if (FUMI_MOSTLY(!(x->flags & (FUMI_DEFERS | FUMI_BLOCKING))))
        return false;
    return x->flags & FUMI_DEFERS || x->server->submit;
}

/* Runs what is left, until a call is pending or the answer is complete. */
static void proceed(struct fumi_exchange *x)
{
    while (x->at) {
        const struct fumi_val *v = x->at;
        know(x, v);
        if (FUMI_RARELY(must_open(x)) && !x->open) {
            if (open_rest(x))
                return; /* the exchange is no longer ours */
            know(x, v);
        }
        x->at = exchange_after(x, v);
        if (!peer_cancelled(x) && run_element(x) == FUMI_PENDING)
            return;
        x->index++;
    }
    finish(x);
}

/* The first processor that refuses the message, with its reason; NULL: none does. */
static const struct fumi_processor *refusing(const struct fumi_exchange *x, struct fumi_err *e)
{
    const struct fumi_server *s = x->server;
    for (size_t i = 0; i < s->processors_n; i++) {
        const struct fumi_processor *p = &s->processors[i];
        if (p->admit && p->admit(p->self, x->peer, e) != FUMI_OK)
            return p;
    }
    return NULL;
}

/* Answers to questions of ours are always let in: a call waits for them. */
static int admit(struct fumi_exchange *x)
{
    if (!x->server->admits)
        return 0;
    struct fumi_err e = {0};
    const struct envelope *v = &x->known.says;
    know(x, x->document);
    const struct fumi_processor *p = v->response ? NULL : refusing(x, &e);
    if (!p)
        return 0;
    if (!e.code)
        fumi_err_set(&e, FUMI_INTERNAL_ERROR, "%s refused without saying why", p->name);
    if (e.code == FUMI_INTERNAL_ERROR)
        log_internal(x->server, fumi_str(p->name), &e);
    if (v->id || v->fault)
        answer_fault(x, &e, v->id);
    return -1;
}

/* Whether there is anything to run; if not, the refusal is written. */
static bool acceptable(struct fumi_exchange *x)
{
    const struct fumi_val *doc = x->document;
    size_t most = x->server->limits.batch;
    if (fumi_is(doc, FUMI_OBJECT))
        return true;
    if (!fumi_is(doc, FUMI_ARRAY)) {
        refuse(x, FUMI_INVALID_REQUEST, "a message must be an object or an array", NULL);
        return false;
    }
    size_t n = fumi_size(doc);
    if (n > 0 && n <= most)
        return true;
    struct fumi_err e;
    if (n)
        fumi_err_set(&e, FUMI_INVALID_REQUEST, "batch size exceeds maximum of %zu", most);
    else
        fumi_err_set(&e, FUMI_INVALID_REQUEST, "batch is empty");
    answer_fault(x, &e, NULL);
    return false;
}

/* JSON-RPC wants null here. But a client of MCP would wait for an answer that names its request,
 * which it may have spoiled with no more than half an emoji. */
static const struct fumi_val *salvage(struct fumi_exchange *x, struct fumi_str message)
{
    struct fumi_err ignored;
    struct fumi_str id = x->peer->bare ? envelope_salvage(message) : (struct fumi_str){0};
    return id.p ? fumi_parse(&x->arena, fumi_dup(&x->arena, id), &ignored) : NULL;
}

static int read_message(struct fumi_exchange *x, struct fumi_str message)
{
    const struct fumi_limits *limits = &x->server->limits;
    struct fumi_err *e = &x->call.err;
    if (message.n > limits->message) {
        fumi_err_set(e, FUMI_INVALID_REQUEST, "the message is longer than the limit of %zu bytes",
                     limits->message);
        answer_fault(x, e, NULL);
        return -1;
    }
    if (fumi_starts(message, FUMI_STR("\xEF\xBB\xBF")))
        message = (struct fumi_str){message.p + 3, message.n - 3};
    const struct fumi_val *like = x->pattern.depth == limits->depth ? x->pattern.known.v : NULL;
    x->document = fumi_parse_like(&x->arena, message, limits->depth, like, e);
    if (x->document)
        return 0;
    answer_fault(x, e, salvage(x, message));
    return -1;
}

void fumi_handle(void *self, struct fumi_peer *peer, struct fumi_str message, struct fumi_sink sink)
{
    struct fumi_server *s = self;
    struct fumi_exchange *x = exchange_take(s, peer->spare);
    if (!atomic_load_explicit(&s->frozen, memory_order_relaxed))
        atomic_store(&s->frozen, true);
    x->peer = x->call.peer = peer;
    x->call.arena = &x->arena;
    x->call.exchange = x;
    x->sink = sink;
    x->batch = false;
    x->code = 0;
    x->index = 0;
    x->flags = 0;
    x->known.v = NULL;
    x->frame_size = 0;
    if (read_message(x, message) || !acceptable(x) || admit(x)) {
        finish(x);
        return;
    }
    x->batch = fumi_is(x->document, FUMI_ARRAY);
    x->at = exchange_first(x);
    proceed(x);
}

enum fumi_ret fumi_fail(struct fumi_call *c, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fumi_err_args(&c->err, code, fmt, args);
    va_end(args);
    return FUMI_FAIL;
}

enum fumi_ret fumi_invoke(struct fumi_call *c, struct fumi_str name, const struct fumi_val *args,
                          bool brief, struct fumi_json *result)
{
    const struct entry *e = server_find(c->exchange->server, name);
    if (!e)
        return fail_unknown(c, name);
    if (e->method->flags & FUMI_DEFERS)
        return fumi_fail(c, FUMI_INTERNAL_ERROR, "%s defers and cannot be invoked", e->name.p);
    struct fumi_call inner = *c;
    inner.name = name;
    inner.method = e->method;
    inner.self = e->self;
    inner.params = fumi_is(args, FUMI_NULL) ? NULL : args;
    enum fumi_ret ret = run(&inner, fumi_alloc(c->arena, room_for(e->method)));
    if (ret == FUMI_PENDING)
        ret = fumi_fail(&inner, FUMI_INTERNAL_ERROR, "returned FUMI_PENDING without FUMI_DEFERS");
    explain(&inner, ret);
    struct fumi_buf text = {0};
    if (ret == FUMI_OK &&
        answer_value(&text, &inner, brief, c->exchange->server->limits.answer, &inner.err))
        ret = FUMI_FAIL;
    c->err = inner.err;
    if (ret == FUMI_OK)
        result->text = fumi_buf_keep(&text, c->arena);
    fumi_buf_done(&text);
    return ret;
}

void fumi_progress(struct fumi_call *c, double done, double total, struct fumi_str message)
{
    if (c->progress && !peer_cancelled(c->exchange))
        c->progress(c, done, total, message);
}

bool fumi_wants_progress(const struct fumi_call *c)
{
    return c->progress;
}

bool fumi_in_batch(const struct fumi_call *c)
{
    return c->exchange->batch;
}

bool fumi_can_tell(const struct fumi_call *c)
{
    return c->exchange->sink.tell;
}

void fumi_tell(struct fumi_call *c, const char *method, const struct fumi_shape *s,
               const void *params)
{
    struct fumi_sink sink = c->exchange->sink;
    struct fumi_buf message = {0};
    if (!sink.tell || peer_cancelled(c->exchange))
        return;
    request_notify(&message, method, s, params);
    sink.tell(sink.arg, &message);
    fumi_buf_done(&message);
}
