/* One message: parse it, run its calls in order, answer.
 *
 * They run here and now, up to one whose method may block: from there on the message is handed to
 * the executor. A pending call stops it; whoever finishes that call goes on with the rest. */
#include "rpc/answer.h"

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

static inline char *blank(char *frame, size_t size)
{
    for (size_t i = 0; i < size; i += FRAME_STEP)
        memset(frame + i, 0, FRAME_STEP);
    return frame;
}

/* Memory for the params and the result of one call after the other: what the one before left is
 * of no use to anybody, unless it was lost. */
static inline char *frame_of(struct fumi_exchange *x, size_t size)
{
    if (FUMI_RARELY(size > x->frame_size || x->lost)) {
        x->frame_size = size;
        return x->frame = fumi_alloc(&x->arena, size);
    }
    return blank(x->frame, size);
}

static __attribute__((noinline)) int bind(struct fumi_call *c, const struct fumi_method *m,
                                          void *params)
{
    if (c->params && (c->params->bits & 7) < FUMI_ARRAY)
        return fumi_err_set(&c->err, FUMI_INVALID_PARAMS, "params must be an array or an object");
    return fumi_bind(c->arena, m->params, c->params, params, &c->err);
}

/* `frame`: room for params and result, zeroed; see entry. */
static inline enum fumi_ret run(struct fumi_call *c, const struct entry *e, char *frame)
{
    const struct fumi_method *m = e->method;
    void *params = m->params ? frame : NULL;
    bool bound = e->plain && c->params && fumi_bind_plain(m->params, c->params, params);
    if (FUMI_RARELY(!bound) && bind(c, m, params))
        return FUMI_FAIL;
    c->result = m->result ? frame + e->result : NULL;
    return m->run(c, params, c->result);
}

/* The result of a call, where entry says that it is a number. */
static inline double number_of(const struct fumi_call *c, const struct entry *e)
{
    double d;
    memcpy(&d, (const char *)c->result + e->number, sizeof(d));
    return d;
}

static __attribute__((noinline)) int answer_long(struct fumi_exchange *x, struct fumi_call *c,
                                                 char before)
{
    size_t mark = x->out.n;
    int rc = answer_result(&x->writer, before, c, x->server->limits.answer, &c->err);
    if (FUMI_RARELY(rc))
        x->out.n = mark;
    return rc;
}

static inline int answer(struct fumi_exchange *x, struct fumi_call *c)
{
    const struct entry *e = x->known.entry;
    char before = !x->batch ? '\0' : x->out.n ? ',' : '[';
    if (FUMI_MOSTLY(e->number != FUMI_NONE) &&
        FUMI_MOSTLY(answer_short(&x->out, answer_room(&x->out, x->server->limits.answer), before,
                                 number_of(c, e), c->id, NULL)))
        return 0;
    return answer_long(x, c, before);
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
static inline void conclude(struct fumi_exchange *x, struct fumi_call *c, enum fumi_ret ret)
{
    bool silent = FUMI_RARELY(peer_settle(x) || !c->id);
    if (x->server->hooks)
        ret = in_time(c, ret);
    explain(c, ret);
    if (FUMI_MOSTLY(ret == FUMI_OK && !silent) && FUMI_RARELY(answer(x, c)))
        ret = FUMI_FAIL;
    c->ret = ret == FUMI_OK ? FUMI_OK : FUMI_FAIL;
    if (x->server->hooks)
        leave(c);
    if (FUMI_RARELY(ret != FUMI_OK))
        tell_fault(c, silent);
}

static __attribute__((noinline)) struct fumi_str unknown_name(struct fumi_exchange *x)
{
    struct envelope e;
    envelope_read(x->known.v, &e);
    return fumi_text(&x->arena, e.method);
}

/* Sets up what is of one call alone, of an element that is known; returns what follows that. */
static inline const struct fumi_val *renew(struct fumi_exchange *x, struct fumi_call *c,
                                           const struct fumi_val *v)
{
    size_t span = fumi_span(v);
    const struct fumi_val *end = v + span, *params = member_of(x, end, span, x->known.params);
    c->params = fumi_is(params, FUMI_NULL) ? NULL : params;
    c->id = member_of(x, end, span, x->known.id);
    memset(&c->err, 0, offsetof(struct fumi_err, text) + 4); /* only the beginning of the text */
    c->err.data = (struct fumi_str){0};
    c->deadline = 0;
    c->progress = NULL;
    return end;
}

/* Sets the exchange's call up for the request that was read; there is one at a time. */
static inline struct fumi_call *prepare(struct fumi_exchange *x)
{
    struct fumi_call *c = &x->call;
    const struct entry *entry = x->known.entry;
    c->name = FUMI_MOSTLY(entry) ? entry->name : unknown_name(x);
    c->method = FUMI_MOSTLY(entry) ? entry->method : NULL;
    c->self = FUMI_MOSTLY(entry) ? entry->self : NULL;
    atomic_store_explicit(&x->turn, RUNNING, memory_order_relaxed);
    atomic_store_explicit(&x->claimed, false, memory_order_relaxed);
    c->result = NULL;
    c->entered = 0;
    renew(x, c, x->known.v);
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
    struct envelope e;
    envelope_read(x->known.v, &e);
    if (e.response)
        peer_answered(x->peer, &e);
    else
        refuse(x, FUMI_INVALID_REQUEST, e.fault, e.id);
}

/* The method has returned FUMI_PENDING. */
static __attribute__((noinline)) enum fumi_ret pend(struct fumi_exchange *x, struct fumi_call *c,
                                                    unsigned flags)
{
    enum fumi_ret ret = flags & FUMI_DEFERS ? FUMI_PENDING : disown(c);
    if (ret == FUMI_PENDING)
        return atomic_exchange(&x->turn, PARKED) == FINISHED ? FUMI_OK : FUMI_PENDING;
    conclude(x, c, ret);
    return FUMI_OK;
}

/* The method has returned. */
static inline enum fumi_ret settle(struct fumi_exchange *x, struct fumi_call *c, enum fumi_ret ret,
                                   unsigned flags)
{
    if (FUMI_RARELY(ret == FUMI_PENDING))
        return pend(x, c, flags);
    if (FUMI_RARELY(atomic_load_explicit(&x->claimed, memory_order_relaxed)))
        log_twice(c);
    else
        conclude(x, c, ret);
    return FUMI_OK;
}

/* Runs the element that is known. */
static enum fumi_ret run_element(struct fumi_exchange *x)
{
    if (FUMI_RARELY(!x->known.call)) {
        take_other(x);
        return FUMI_OK;
    }
    struct fumi_call *c = prepare(x);
    const struct entry *e = x->known.entry;
    unsigned flags = x->flags;
    enum fumi_ret ret = x->server->hooks ? enter(c) : FUMI_OK;
    if (FUMI_MOSTLY(ret == FUMI_OK))
        ret = FUMI_MOSTLY(e) ? run(c, e, frame_of(x, e->frame)) : fail_unknown(c, c->name);
    return settle(x, c, ret, flags);
}

/* Whether those that are like the element that is known need no more than to be run and answered:
 * nothing differs that would make them ask for something else, and nobody wants to hear of them. */
static bool is_plain(const struct fumi_exchange *x)
{
    const struct known *k = &x->known;
    const unsigned odd = FUMI_VARIES | FUMI_DEFERS | FUMI_BLOCKING;
    return x->at != x->end && fumi_is_alike(x->at) && k->entry && k->id &&
           !(x->differ & k->fixed) && !(k->entry->method->flags & odd) && x->out.n && !x->open &&
           !x->server->hooks && !atomic_load_explicit(&x->claimed, memory_order_relaxed);
}

/* Runs the elements from x->at on that are like the one that has just run, as long as all goes
 * well. */
static __attribute__((noinline)) enum fumi_ret run_alike(struct fumi_exchange *x)
{
    struct fumi_call *c = &x->call;
    const struct entry *e = x->known.entry;
    char *frame = frame_of(x, e->frame);
    size_t room = answer_room(&x->out, x->server->limits.answer);
    const char *end = x->document->p + x->document->n;
    const struct fumi_val *v = x->at;
    for (bool well = true; well && v != x->end && fumi_is_alike(v); x->index++) {
        v = x->at = renew(x, c, v);
        enum fumi_ret ret = run(c, e, blank(frame, e->frame));
        well = ret == FUMI_OK && !atomic_load_explicit(&x->claimed, memory_order_relaxed);
        if (FUMI_MOSTLY(well && e->number != FUMI_NONE) &&
            FUMI_MOSTLY(answer_short(&x->out, room, ',', number_of(c, e), c->id, end)))
            continue;
        /* An answer that cannot be written is tried again, in vain. */
        well = well && !answer_long(x, c, ',');
        if (FUMI_RARELY(!well) && settle(x, c, ret, 0) == FUMI_PENDING)
            return FUMI_PENDING;
        room = answer_room(&x->out, x->server->limits.answer);
    }
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
    conclude(x, c, ret);
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
    for (const struct fumi_val *v = x->at; v != x->end; v = fumi_next(v)) {
        exchange_know(x, v);
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
    for (const struct fumi_val *v = x->at; v != x->end; v = fumi_next(v)) {
        struct envelope e;
        envelope_read(v, &e);
        if (e.response)
            peer_answered(x->peer, &e);
    }
}

/* What was read last is not what comes before the next. */
static void forget(struct fumi_exchange *x)
{
    x->known = (struct known){0};
    x->model = x->at;
}

/* An element blocks or defers: what is left of the message may outlive fumi_handle. Whether it goes
 * to the executor. */
static bool open_rest(struct fumi_exchange *x)
{
    struct fumi_server *s = x->server;
    exchange_keep(x); /* the text is its sender's once fumi_handle returns */
    forget(x);
    unsigned flags = flags_of(x);
    bool gated = s->submit && flags & FUMI_BLOCKING;
    x->task.run = proceed_later;
    x->came = gated && s->hooks ? fumi_ticks() : 0;
    if (gated && x->batch)
        take_answers(x);
    forget(x);
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
    while (x->at != x->end) {
        exchange_know(x, x->at);
        if (FUMI_RARELY(must_open(x)) && !x->open) {
            if (open_rest(x))
                return; /* the exchange is no longer ours */
            exchange_know(x, x->at);
        }
        x->at = fumi_next(x->at);
        if (!peer_cancelled(x) && run_element(x) == FUMI_PENDING)
            return;
        x->index++;
        if (is_plain(x) && run_alike(x) == FUMI_PENDING)
            return;
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
    struct envelope v;
    envelope_read(exchange_whole(x, x->document), &v);
    const struct fumi_processor *p = v.response ? NULL : refusing(x, &e);
    if (!p)
        return 0;
    if (!e.code)
        fumi_err_set(&e, FUMI_INTERNAL_ERROR, "%s refused without saying why", p->name);
    if (e.code == FUMI_INTERNAL_ERROR)
        log_internal(x->server, fumi_str(p->name), &e);
    if (v.id || v.fault)
        answer_fault(x, &e, v.id);
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
    struct fumi_like *like = x->pattern.depth == limits->depth ? &x->pattern.like : NULL;
    x->document = fumi_parse_like(&x->arena, message, limits->depth, like, &x->differ, e);
    x->model = x->pattern.row;
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
    x->frame_size = 0;
    if (read_message(x, message) || !acceptable(x) || admit(x)) {
        finish(x);
        return;
    }
    x->batch = fumi_is(x->document, FUMI_ARRAY);
    x->end = fumi_next(x->document);
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
    enum fumi_ret ret = run(&inner, e, fumi_alloc(c->arena, e->frame));
    if (ret == FUMI_PENDING)
        ret = fumi_fail(&inner, FUMI_INTERNAL_ERROR, "returned FUMI_PENDING without FUMI_DEFERS");
    explain(&inner, ret);
    struct fumi_buf text = {0};
    if (ret == FUMI_OK && answer_value(&(struct fumi_out){.buf = &text}, &inner, brief,
                                       c->exchange->server->limits.answer, &inner.err))
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
