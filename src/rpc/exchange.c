/* One message: parses it, reads its requests once, runs them in order, and replies.
 *
 * Requests run in the thread of fumi_handle up to the first one whose method may block; the rest of
 * the message is submitted to the executor. If a call is pending, the thread that finishes it
 * continues with the rest. */
#include "rpc/exchange.h"

#include "base/clock.h"

#include <assert.h>

void exchange_separate(struct fumi_exchange *x)
{
    if (x->batch)
        fumi_buf_put(&x->out, x->out.n ? ',' : '[');
}

void exchange_fault(struct fumi_exchange *x, const struct fumi_err *e, const struct fumi_val *id,
                    unsigned flags)
{
    unsigned how = (fumi_peer_lost_id(x->peer) == FUMI_ID_NONE ? ANSWER_NO_ID : 0) |
                   (flags & FUMI_PLAIN_ERRORS ? ANSWER_PLAIN : 0) |
                   (flags & FUMI_DETAILED_ERRORS ? ANSWER_DETAILED : 0);
    exchange_separate(x);
    answer_error(&x->out, e, id, how);
    x->code = e->code;
}

static __attribute__((cold)) void refuse(struct fumi_exchange *x, const char *sentence,
                                         const struct fumi_val *id)
{
    struct fumi_err e;
    fumi_err_set(&e, FUMI_INVALID_REQUEST, "%s", sentence);
    exchange_fault(x, &e, id, 0);
}

__attribute__((cold)) void log_internal(const struct fumi_server *s, struct fumi_str where,
                                        const struct fumi_err *e)
{
    fumi_log(s->log, FUMI_ERROR, "rpc.internal", {"where", where, 0},
             {"why", fumi_str(e->text), 0});
}

static unsigned flags_for(const struct method_entry *e, const struct fumi_val *params)
{
    const struct fumi_method *m = e->method;
    if (!(m->flags & FUMI_DYNAMIC_FLAGS))
        return m->flags;
    return m->flags | ((struct fumi_dynamic_flags *)e->self)->flags_for(e->self, m, params);
}

/* A response to a request of the server is passed on at once, even inside a batch: the requests of
 * the batch may have to wait for the call that waits for this response. */
static void read_request(struct fumi_exchange *x, const struct fumi_val *v, struct request *q)
{
    struct envelope e;
    envelope_read(v, &e);
    q->id = e.id;
    if (e.response) {
        peer_response(x->peer, &e);
        atomic_init(&q->state, ENDED);
        return;
    }
    q->fault = e.fault;
    if (e.fault)
        return;
    q->method = e.method;
    q->params = fumi_is(e.params, FUMI_NULL) ? NULL : e.params;
    q->entry = server_find(x->server, fumi_text(&x->arena, e.method));
    q->flags = q->entry ? flags_for(q->entry, e.params) : 0;
}

static void read_requests(struct fumi_exchange *x)
{
    const struct fumi_val *v = x->document + x->batch, *end = fumi_next(x->document);
    x->only = (struct request){0};
    x->requests = x->batch ? fumi_alloc(&x->arena, x->n * sizeof(*x->requests)) : &x->only;
    for (struct request *q = x->requests; v != end; v = fumi_next(v), q++)
        read_request(x, v, q);
}

/* Whether the document can contain requests. If not, the error answer is written. */
static bool is_message(struct fumi_exchange *x)
{
    size_t most = x->server->limits.batch;
    struct fumi_err e;
    x->n = 1;
    if (fumi_is(x->document, FUMI_OBJECT))
        return true;
    if (!fumi_is(x->document, FUMI_ARRAY)) {
        refuse(x, "a message must be an object or an array", NULL);
        return false;
    }
    x->n = fumi_size(x->document);
    if (x->n > 0 && x->n <= most) {
        x->batch = true;
        return true;
    }
    if (x->n)
        fumi_err_set(&e, FUMI_INVALID_REQUEST, "batch size exceeds maximum of %zu", most);
    else
        fumi_err_set(&e, FUMI_INVALID_REQUEST, "batch is empty");
    exchange_fault(x, &e, NULL, 0);
    return false;
}

/* Returns the first processor that refuses the message, with its error in *e; NULL: none does. */
static const struct fumi_processor *refusing(const struct fumi_exchange *x, struct fumi_err *e)
{
    const struct fumi_server *s = x->server;
    const struct fumi_arrival a = {x->peer, exchange_context(x), fumi_source_trace(x->sink.source)};
    for (size_t i = 0; i < s->processors_n; i++) {
        const struct fumi_processor *p = &s->processors[i];
        if (p->admit && p->admit(p->self, &a, e) != FUMI_OK)
            return p;
    }
    return NULL;
}

/* Whether the processors admit the message. If not, the error answer is written: one for a whole
 * batch. A response to a request of the server is always admitted. */
static bool is_admitted(struct fumi_exchange *x)
{
    const struct request *q = x->batch ? NULL : x->requests;
    bool response = q && !q->method && !q->fault;
    struct fumi_err e = {0};
    if (!x->server->admits || response)
        return true;
    const struct fumi_processor *p = refusing(x, &e);
    if (!p)
        return true;
    if (!e.code)
        fumi_err_set(&e, FUMI_INTERNAL_ERROR, "%s refused the message without setting an error",
                     p->name);
    if (e.code == FUMI_INTERNAL_ERROR)
        log_internal(x->server, fumi_str(p->name), &e);
    bool batch = x->batch;
    x->batch = false; /* one error, without brackets */
    if (batch || q->id || q->fault)
        exchange_fault(x, &e, q ? q->id : NULL, 0);
    return false;
}

/* The id of a message that is not JSON. JSON-RPC requires null, but an MCP client would wait
 * forever for an answer with the id of its request, which may be invalid only because of a lone
 * surrogate. */
static const struct fumi_val *recover_id(struct fumi_exchange *x, struct fumi_str message)
{
    struct fumi_err ignored;
    struct fumi_str id = {0};
    if (fumi_peer_lost_id(x->peer) != FUMI_ID_NULL)
        id = envelope_find_id(message);
    return id.p ? fumi_parse(&x->arena, fumi_dup(&x->arena, id), &ignored) : NULL;
}

/* An open exchange may end on any thread, and the receiver of the reply may free the peer and the
 * server. So the reply comes last and uses nothing that belongs to them. */
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

/* The text of the message is borrowed until fumi_handle returns: copies it, and makes the values
 * point into the copy. */
static void keep_text(struct fumi_exchange *x)
{
    struct fumi_val *row = (struct fumi_val *)x->document, *end = row + fumi_span(row);
    const char *text = row->p, *copy = fumi_dup(&x->arena, fumi_raw(row)).p;
    for (struct fumi_val *v = row; v != end; v++) {
        assert(v->p >= text && v->p + v->n <= text + row->n);
        v->p = copy + (v->p - text);
    }
}

static bool must_open(const struct fumi_exchange *x, const struct request *q)
{
    if (q->flags & FUMI_ASYNC || (q->flags & FUMI_BLOCKING && x->server->submit))
        return true;
    return !(q->flags & FUMI_UNORDERED) && x->server->submit && peer_has_writers(x->peer);
}

/* A request blocks, may be pending, or must wait for writers, so the rest of the message may
 * outlive fumi_handle. Returns true if the rest was submitted to the executor. */
static bool open_rest(struct fumi_exchange *x, struct request *first)
{
    unsigned flags = 0;
    assert(!x->open && x->index < x->n);
    x->writes = false;
    for (size_t i = 0; i < x->index; i++)
        atomic_store(&x->requests[i].state, ENDED);
    for (size_t i = x->index; i < x->n; i++) {
        flags |= x->requests[i].flags;
        x->writes |= x->requests[i].entry && !(x->requests[i].flags & FUMI_READ_ONLY);
    }
    bool gated = x->server->submit && (flags & FUMI_BLOCKING || !(first->flags & FUMI_ASYNC));
    keep_text(x);
    if (gated)
        run_enter(x, first);
    peer_open(x, gated);
    return gated;
}

struct request *exchange_next(struct fumi_exchange *x)
{
    for (; x->index < x->n; x->index++) {
        struct request *q = &x->requests[x->index];
        if (q->fault)
            refuse(x, q->fault, q->id);
        else if (q->method && !(x->open && atomic_load(&q->state) == CANCELLED))
            return q;
    }
    return NULL;
}

void exchange_proceed(struct fumi_exchange *x)
{
    for (struct request *q; (q = exchange_next(x)); x->index++) {
        if (!x->open && must_open(x, q) && open_rest(x, q))
            return; /* the exchange belongs to the executor now */
        if (run_request(run_enter(x, q)) == FUMI_PENDING)
            return;
    }
    finish(x);
}

static struct fumi_str without_bom(struct fumi_str message)
{
    const struct fumi_str bom = FUMI_STR("\xEF\xBB\xBF");
    if (fumi_starts(message, bom))
        message = (struct fumi_str){message.p + bom.n, message.n - bom.n};
    return message;
}

struct fumi_exchange *fumi_message_read(struct fumi_server *s, struct fumi_spare *spare,
                                        struct fumi_str message, const struct fumi_val **document,
                                        struct fumi_err *e)
{
    struct fumi_exchange *x = exchange_take(s, spare);
    if (!atomic_load_explicit(&s->frozen, memory_order_relaxed))
        atomic_store(&s->frozen, true);
    x->batch = false;
    x->code = 0;
    x->index = x->n = 0;
    x->document = NULL;
    if (message.n > s->limits.message)
        fumi_err_set(e, FUMI_INVALID_REQUEST, "the message is longer than the limit of %zu bytes",
                     s->limits.message);
    else
        x->document = fumi_parse_deep(&x->arena, without_bom(message), s->limits.depth, e);
    *document = x->document;
    return x;
}

void fumi_message_handle(struct fumi_exchange *x, struct fumi_peer *peer, struct fumi_sink sink)
{
    assert(x->document && !x->open);
    x->peer = peer;
    x->sink = sink;
    if (!is_message(x)) {
        finish(x);
        return;
    }
    read_requests(x);
    if (!x->batch && x->requests->flags & FUMI_UNORDERED && sink.unordered)
        sink.unordered(sink.arg);
    if (is_admitted(x))
        exchange_proceed(x);
    else
        finish(x);
}

void fumi_message_drop(struct fumi_exchange *x, struct fumi_spare *spare)
{
    exchange_put(x, spare);
}

void fumi_handle(void *self, struct fumi_peer *peer, struct fumi_str message, struct fumi_sink sink)
{
    struct fumi_err e;
    const struct fumi_val *document;
    struct fumi_exchange *x = fumi_message_read(self, peer->spare, message, &document, &e);
    if (document) {
        fumi_message_handle(x, peer, sink);
        return;
    }
    x->peer = peer;
    x->sink = sink;
    exchange_fault(x, &e, e.code == FUMI_PARSE_ERROR ? recover_id(x, message) : NULL, 0);
    finish(x);
}
