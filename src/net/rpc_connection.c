/* The public functions: opening and closing, calls, and matching answers to calls. The URL and the
 * options are read in rpc_connection_open.c; rpc_connection_stream.c moves the bytes; the
 * transports are in rpc_connection_stream.c (lines), _framed.c, _ws.c and _http.c. */
#include "net/rpc_connection_parts.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <assert.h>

enum { KEEP = 64 << 10 }; /* bytes of capacity that the scratch arena keeps */

static struct fumi_rpc_connection *new_connection(const struct fumi_rpc_connection_options *o)
{
    struct fumi_rpc_connection *c = fumi_resize(NULL, sizeof(*c));
    *c = (struct fumi_rpc_connection){
        .transport = &rpc_connection_ndjson, .client = fumi_client_new(), .fd = -1};
    if (o)
        c->options = *o;
    return c;
}

struct fumi_rpc_connection *fumi_rpc_connection_open(const char *url,
                                                     const struct fumi_rpc_connection_options *o,
                                                     struct fumi_err *e)
{
    struct fumi_rpc_connection *c = new_connection(o);
    if (rpc_connection_set_url(c, url, e) || rpc_connection_set_options(c, e) ||
        (c->endpoint.tls && rpc_connection_tls_new(c, e)) ||
        rpc_connection_connect(c, rpc_connection_deadline(c->options.connect_time), e)) {
        fumi_rpc_connection_close(c);
        return NULL;
    }
    return c;
}

struct fumi_rpc_connection *fumi_rpc_connection_spawn(char *const argv[],
                                                      const struct fumi_rpc_connection_options *o,
                                                      struct fumi_err *e)
{
    struct fumi_rpc_connection *c = new_connection(o);
    if (rpc_connection_set_options(c, e) || rpc_connection_start_child(c, argv, e)) {
        fumi_rpc_connection_close(c);
        return NULL;
    }
    return c;
}

static struct rpc_connection_operation *
operation_new(struct fumi_rpc_connection *c, enum rpc_connection_kind kind, const char *method)
{
    struct rpc_connection_operation *op = fumi_resize(NULL, sizeof(*op)), **end = &c->operations;
    *op = (struct rpc_connection_operation){.kind = kind};
    struct fumi_str name = fumi_utf8_cut(fumi_str(method), sizeof(op->method) - 1);
    memcpy(op->method, name.p, name.n);
    while (*end)
        end = &(*end)->next;
    *end = op;
    return op;
}

static void operation_free(struct fumi_rpc_connection *c, struct rpc_connection_operation *op)
{
    struct rpc_connection_operation **at = &c->operations;
    while (*at && *at != op)
        at = &(*at)->next;
    assert(*at);
    *at = op->next;
    fumi_buf_done(&op->text);
    fumi_resize(op, 0);
}

void fumi_rpc_connection_close(struct fumi_rpc_connection *c)
{
    if (!c)
        return;
    assert(!c->callback_depth && !c->reconnecting);
    if (c->fd >= 0 && c->transport->shutdown)
        c->transport->shutdown(c);
    rpc_connection_end_child(c);
    rpc_connection_close_socket(c);
    while (c->operations)
        operation_free(c, c->operations);
    rpc_connection_http_done(c);
    rpc_connection_ws_done(c);
    rpc_connection_tls_done(c);
    fumi_client_free(c->client);
    fumi_buf_done(&c->in);
    fumi_buf_done(&c->out);
    fumi_arena_done(&c->scratch);
    fumi_arena_done(&c->memory);
    fumi_resize(c, 0);
}

/* The client expects no answer any more. Appends the notification that cancels the call to `note`.
 */
static void cancel(struct fumi_rpc_connection *c, const struct rpc_connection_operation *op,
                   struct fumi_buf *note)
{
    if (op->id)
        fumi_client_cancel(c->client, note, op->id);
}

static void fail(struct fumi_rpc_connection *c, struct rpc_connection_operation *op,
                 const struct fumi_err *why)
{
    struct fumi_buf unused = {0};
    cancel(c, op, &unused);
    fumi_buf_done(&unused);
    op->state = RPC_CONNECTION_FAILED;
    op->err = *why;
    op->err.data = (struct fumi_str){0};
}

static bool is_sent(const struct rpc_connection_operation *op, uint64_t number)
{
    return op->state == RPC_CONNECTION_SENT && (!number || op->message == number);
}

void rpc_connection_fail(struct fumi_rpc_connection *c, uint64_t number, const struct fumi_err *why)
{
    for (struct rpc_connection_operation *op = c->operations; op; op = op->next)
        if (is_sent(op, number))
            fail(c, op, why);
}

void rpc_connection_finish(struct fumi_rpc_connection *c, uint64_t number,
                           const struct fumi_err *why)
{
    for (struct rpc_connection_operation *op = c->operations; op; op = op->next) {
        if (!is_sent(op, number))
            continue;
        if (op->kind == RPC_CONNECTION_CALL)
            fail(c, op, why);
        else
            op->state = RPC_CONNECTION_ANSWERED;
    }
}

bool rpc_connection_is_pending(const struct fumi_rpc_connection *c, uint64_t number)
{
    for (const struct rpc_connection_operation *op = c->operations; op; op = op->next)
        if (is_sent(op, number))
            return true;
    return false;
}

static void store_text(struct rpc_connection_operation *op, struct fumi_str text)
{
    op->state = RPC_CONNECTION_ANSWERED;
    op->text.n = 0;
    fumi_buf_add(&op->text, text.p, text.n);
}

static void store_answer(struct rpc_connection_operation *op, const struct fumi_answer *got)
{
    store_text(op, got->ok ? got->result.text : got->err.data);
    op->ok = got->ok;
    op->err = got->err;
}

struct rpc_connection_operation *rpc_connection_find_text(struct fumi_rpc_connection *c,
                                                          uint64_t number)
{
    for (struct rpc_connection_operation *op = c->operations; op; op = op->next)
        if (op->kind == RPC_CONNECTION_TEXT && is_sent(op, number))
            return op;
    return NULL;
}

/* The number of the only message with open calls; 0 if there are several or none. */
static uint64_t only_message(const struct fumi_rpc_connection *c)
{
    uint64_t only = 0;
    for (const struct rpc_connection_operation *op = c->operations; op; op = op->next) {
        if (op->state != RPC_CONNECTION_SENT || op->kind != RPC_CONNECTION_CALL)
            continue;
        if (only && only != op->message)
            return 0;
        only = op->message;
    }
    return only;
}

/* An error without an id, such as for a message that is too long, answers all calls of a message if
 * it can belong to no other message. Otherwise they would wait until their timeout. */
static bool take_anonymous(struct fumi_rpc_connection *c, const struct fumi_answer *got,
                           uint64_t number)
{
    if (!number)
        number = only_message(c);
    if (rpc_connection_find_text(c, number) || !number)
        return false;
    bool taken = false;
    for (struct rpc_connection_operation *op = c->operations; op; op = op->next) {
        if (!is_sent(op, number) || op->kind != RPC_CONNECTION_CALL)
            continue;
        struct fumi_err err = got->err;
        fail(c, op, &err);
        store_answer(op, got);
        taken = true;
    }
    return taken;
}

static void refuse_request(struct fumi_rpc_connection *c, const struct fumi_val *id)
{
    struct fumi_buf text = {0};
    struct fumi_out o = {.buf = &text};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "jsonrpc");
    fumi_put_str(&o, FUMI_STR("2.0"));
    fumi_put_key(&o, "error");
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "code");
    fumi_put_int(&o, FUMI_METHOD_NOT_FOUND);
    fumi_put_key(&o, "message");
    fumi_put_str(&o, FUMI_STR("this client answers no requests"));
    fumi_put_close(&o, '}');
    fumi_put_key(&o, "id");
    fumi_put_val(&o, id);
    fumi_put_close(&o, '}');
    c->transport->answer(c, fumi_buf_str(&text));
    fumi_buf_done(&text);
}

/* A request or a notification from the peer. */
static void deliver(struct fumi_rpc_connection *c, const struct fumi_val *v)
{
    const struct fumi_val *id = fumi_get(v, "id");
    if (id && !c->options.server) {
        refuse_request(c, id);
        return;
    }
    c->peer_messages++;
    if (id || !c->options.notified)
        return;
    c->callback_depth++;
    c->options.notified(c->options.arg, fumi_raw(v));
    c->callback_depth--;
}

/* The peer sent an invalid answer with the id of an open call: that call fails. */
static void fail_malformed(struct fumi_rpc_connection *c, const struct fumi_val *v,
                           const struct fumi_err *why)
{
    int64_t id;
    struct fumi_err err;
    if (!fumi_int(fumi_get(v, "id"), &id))
        return;
    for (struct rpc_connection_operation *op = c->operations; op; op = op->next) {
        if (op->kind != RPC_CONNECTION_CALL || op->id != id || op->state != RPC_CONNECTION_SENT)
            continue;
        fumi_err_set(&err, FUMI_INTERNAL_ERROR, "the answer to %s is malformed: %s", op->method,
                     why->text);
        fail(c, op, &err);
    }
}

/* Handles the elements of a message that are not answers to open calls. If there are no answers at
 * all (`requests_only`), the server of the options gets the whole message, so that it answers a
 * batch with a batch. */
static void handle_rest(struct fumi_rpc_connection *c, struct fumi_str message, bool requests_only,
                        const struct fumi_err *why)
{
    struct fumi_err ignored;
    const struct fumi_val *doc = fumi_parse(&c->scratch, message, &ignored);
    bool batch = fumi_is(doc, FUMI_ARRAY);
    const struct fumi_val *at = batch ? fumi_first(doc) : doc;
    for (; at; at = batch ? fumi_after(doc, at) : NULL) {
        if (!fumi_get(at, "method")) {
            fail_malformed(c, at, why);
            continue;
        }
        deliver(c, at);
        if (c->options.server && !requests_only)
            rpc_connection_answer(c, fumi_raw(at));
    }
    if (c->options.server && requests_only)
        rpc_connection_answer(c, message);
}

int rpc_connection_receive(struct fumi_rpc_connection *c, struct fumi_str message, uint64_t number,
                           struct fumi_err *e)
{
    struct fumi_answers got;
    size_t matched = 0;
    int rc = fumi_client_take(c->client, &c->scratch, message, &got, e);
    for (size_t i = 0; i < got.n; i++) {
        if (got.items[i].user)
            store_answer(got.items[i].user, &got.items[i]);
        matched += got.items[i].user || take_anonymous(c, &got.items[i], number);
    }
    if (rc || got.requests)
        handle_rest(c, message, !rc && !got.n, e);
    struct rpc_connection_operation *text = rpc_connection_find_text(c, number);
    if (text && !matched && (got.n || rc || !got.requests))
        store_text(text, message);
    fumi_arena_reset(&c->scratch, KEEP);
    return rc;
}

/* Returns whether to continue waiting. The deadline holds even if the peer keeps sending. */
static bool keep_waiting(struct fumi_rpc_connection *c, int64_t until)
{
    return rpc_connection_step(c, until) && fumi_ticks() < until;
}

static int64_t deadline_of(const struct fumi_rpc_connection *c, int64_t ms)
{
    return rpc_connection_deadline(ms > 0 ? ms : c->options.call_time);
}

/* The peer is connected, but does not read. */
static void disconnect_stuck(struct fumi_rpc_connection *c)
{
    struct fumi_err why;
    fumi_err_set(&why, FUMI_LIMIT, "%s does not read the data that is sent to it: it may hang",
                 c->endpoint.url);
    rpc_connection_disconnect(c, &why);
}

static void mark_sent(struct fumi_rpc_connection *c, uint64_t number)
{
    for (struct rpc_connection_operation *op = c->operations; op; op = op->next)
        if (op->state == RPC_CONNECTION_QUEUED && op->message == number)
            op->state = RPC_CONNECTION_SENT;
}

/* Sends one message. The outcome is stored in its operations. */
static void transmit(struct fumi_rpc_connection *c, uint64_t number, struct fumi_str message,
                     int64_t until)
{
    struct fumi_err why = {0};
    int rc = c->transport->exchanges ? 0 : rpc_connection_ensure(c, until, &why);
    mark_sent(c, number);
    if (rc) {
        rpc_connection_fail(c, number, &why);
        return;
    }
    c->rejected.code = 0;
    c->transport->queue(c, number, message);
    if (c->transport->exchanges)
        rpc_connection_http_next(c, until);
    while (rpc_connection_has_unsent(c) && keep_waiting(c, until)) {}
    if (rpc_connection_has_unsent(c))
        disconnect_stuck(c);
}

/* As a separate message. */
static void transmit_one(struct fumi_rpc_connection *c, struct rpc_connection_operation *op,
                         int64_t until)
{
    struct fumi_buf text = {0};
    fumi_buf_move(&text, &op->text);
    op->message = ++c->messages;
    op->state = RPC_CONNECTION_QUEUED;
    transmit(c, op->message, fumi_buf_str(&text), until);
    fumi_buf_done(&text);
}

static int bad_params(const char *method, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INVALID_PARAMS, "params of %s must be an array or an object",
                        method);
}

/* Callbacks run while messages are parsed, when the connection cannot be used. */
static int check_usable(const struct fumi_rpc_connection *c, struct fumi_err *e)
{
    return c->callback_depth
               ? fumi_err_set(e, FUMI_INVALID_REQUEST,
                              "a callback or a method of a connection must not use that connection")
               : 0;
}

int64_t fumi_rpc_connection_begin(struct fumi_rpc_connection *c, const char *method,
                                  struct fumi_json params, struct fumi_err *e)
{
    if (check_usable(c, e))
        return -1;
    struct rpc_connection_operation *op = operation_new(c, RPC_CONNECTION_CALL, method);
    op->id = fumi_client_request(c->client, &op->text, method, params, op);
    if (op->id > 0)
        return op->id;
    operation_free(c, op);
    return bad_params(method, e);
}

static void transmit_batch(struct fumi_rpc_connection *c, int64_t until)
{
    struct fumi_buf text = {0};
    uint64_t number = ++c->messages;
    for (struct rpc_connection_operation *op = c->operations; op; op = op->next) {
        if (op->state != RPC_CONNECTION_BEGUN)
            continue;
        fumi_buf_put(&text, text.n ? ',' : '[');
        fumi_buf_add(&text, op->text.p, op->text.n);
        op->message = number;
        op->state = RPC_CONNECTION_QUEUED;
    }
    fumi_buf_put(&text, ']');
    if (text.n > 1)
        transmit(c, number, fumi_buf_str(&text), until);
    fumi_buf_done(&text);
}

/* As separate messages. If connecting fails, the remaining operations fail with the same error. */
static void transmit_each(struct fumi_rpc_connection *c, int64_t until)
{
    const struct fumi_err *why = NULL;
    for (struct rpc_connection_operation *op = c->operations; op; op = op->next) {
        if (op->state != RPC_CONNECTION_BEGUN)
            continue;
        if (!why)
            transmit_one(c, op, until);
        else {
            op->message = ++c->messages;
            fail(c, op, why);
        }
        if (op->state == RPC_CONNECTION_FAILED && c->fd < 0)
            why = &op->err;
    }
}

int fumi_rpc_connection_send(struct fumi_rpc_connection *c, bool batch, struct fumi_err *e)
{
    int64_t until = deadline_of(c, 0);
    uint64_t before = c->messages;
    if (check_usable(c, e))
        return -1;
    if (batch)
        transmit_batch(c, until);
    else
        transmit_each(c, until);
    for (struct rpc_connection_operation *op = c->operations; op; op = op->next) {
        if (op->state != RPC_CONNECTION_FAILED || op->message <= before)
            continue;
        *e = op->err;
        return -1;
    }
    return 0;
}

static struct rpc_connection_operation *find_call(struct fumi_rpc_connection *c, int64_t id,
                                                  struct fumi_err *e)
{
    for (struct rpc_connection_operation *op = c->operations; op; op = op->next)
        if (op->id == id && op->kind == RPC_CONNECTION_CALL && op->state != RPC_CONNECTION_QUEUED)
            return op;
    fumi_err_set(e, FUMI_INVALID_PARAMS, "no call with the id %lld is open", (long long)id);
    return NULL;
}

/* Ends an operation without an answer: cancels the call, if possible, and frees the operation. */
static void abandon(struct fumi_rpc_connection *c, struct rpc_connection_operation *op)
{
    struct fumi_buf note = {0};
    uint64_t number = op->state == RPC_CONNECTION_SENT ? op->message : 0;
    cancel(c, op, &note);
    operation_free(c, op);
    if (number && c->transport->exchanges)
        rpc_connection_http_cancel(c, number);
    else if (number && note.n && c->fd >= 0) {
        c->transport->queue(c, 0, fumi_buf_str(&note));
        rpc_connection_step(c, 0);
    }
    fumi_buf_done(&note);
}

static int time_out(struct fumi_rpc_connection *c, struct rpc_connection_operation *op, int64_t ms,
                    struct fumi_err *e)
{
    long long time = ms > 0 ? ms : c->options.call_time;
    struct fumi_err odd = c->rejected;
    fumi_err_set(e, FUMI_LIMIT, "no answer to %s from %s in %lld ms%s%s", op->method,
                 c->endpoint.url, time, odd.code ? "; the last message was not valid: " : "",
                 odd.code ? odd.text : "");
    bool stuck = rpc_connection_has_unsent(c);
    abandon(c, op);
    if (stuck && rpc_connection_has_unsent(c))
        disconnect_stuck(c);
    return -1;
}

/* Copies the outcome of an answered or failed operation to the caller and frees the operation. */
static int take_outcome(struct fumi_rpc_connection *c, struct rpc_connection_operation *op,
                        struct fumi_arena *a, struct fumi_answer *out, struct fumi_err *e)
{
    bool failed = op->state == RPC_CONNECTION_FAILED;
    *out = (struct fumi_answer){.id = op->id, .ok = op->ok};
    if (failed)
        *e = op->err;
    else if (op->ok)
        out->result.text = fumi_dup(a, fumi_buf_str(&op->text));
    else {
        out->err = op->err;
        out->err.data = op->text.n ? fumi_dup(a, fumi_buf_str(&op->text)) : (struct fumi_str){0};
    }
    operation_free(c, op);
    return failed ? -1 : 0;
}

int fumi_rpc_connection_await(struct fumi_rpc_connection *c, struct fumi_arena *a, int64_t id,
                              int64_t ms, struct fumi_answer *out, struct fumi_err *e)
{
    int64_t until = deadline_of(c, ms);
    struct rpc_connection_operation *op = check_usable(c, e) ? NULL : find_call(c, id, e);
    if (!op)
        return -1;
    if (op->state == RPC_CONNECTION_BEGUN)
        return fumi_err_set(
            e, FUMI_INVALID_PARAMS,
            "%s was not sent: fumi_rpc_connection_send comes before fumi_rpc_connection_await",
            op->method);
    while (op->state == RPC_CONNECTION_SENT && keep_waiting(c, until)) {}
    return op->state == RPC_CONNECTION_SENT ? time_out(c, op, ms, e)
                                            : take_outcome(c, op, a, out, e);
}

int fumi_rpc_connection_call(struct fumi_rpc_connection *c, struct fumi_arena *a,
                             const char *method, struct fumi_json params, int64_t ms,
                             struct fumi_answer *out, struct fumi_err *e)
{
    int64_t until = deadline_of(c, ms), id = fumi_rpc_connection_begin(c, method, params, e);
    struct rpc_connection_operation *op = id > 0 ? find_call(c, id, e) : NULL;
    if (!op)
        return -1;
    transmit_one(c, op, until);
    while (op->state == RPC_CONNECTION_SENT && keep_waiting(c, until)) {}
    return op->state == RPC_CONNECTION_SENT ? time_out(c, op, ms, e)
                                            : take_outcome(c, op, a, out, e);
}

int fumi_rpc_connection_cancel(struct fumi_rpc_connection *c, int64_t id, struct fumi_err *e)
{
    struct rpc_connection_operation *op = check_usable(c, e) ? NULL : find_call(c, id, e);
    if (!op)
        return -1;
    abandon(c, op);
    return 0;
}

/* On a stream nothing confirms a notification; only a failed write shows that it was not sent. */
int fumi_rpc_connection_notify(struct fumi_rpc_connection *c, const char *method,
                               struct fumi_json params, struct fumi_err *e)
{
    struct fumi_answer unused;
    int64_t until = deadline_of(c, 0);
    if (check_usable(c, e))
        return -1;
    struct rpc_connection_operation *op = operation_new(c, RPC_CONNECTION_NOTIFY, method);
    if (fumi_client_notify(c->client, &op->text, method, params)) {
        operation_free(c, op);
        return bad_params(method, e);
    }
    transmit_one(c, op, until);
    while (op->state == RPC_CONNECTION_SENT && (c->transport->exchanges || c->write_failed) &&
           keep_waiting(c, until)) {}
    if (op->state == RPC_CONNECTION_SENT && (c->transport->exchanges || c->write_failed))
        return time_out(c, op, 0, e);
    return take_outcome(c, op, &c->scratch, &unused, e);
}

/* Only callers with a `reconnected` callback can subscribe again, so only they are reconnected. */
static bool reconnect_for_listen(struct fumi_rpc_connection *c, int64_t until)
{
    struct fumi_err ignored;
    return c->options.reconnected && !c->transport->exchanges &&
           rpc_connection_ensure(c, until, &ignored) == 0;
}

bool fumi_rpc_connection_listen(struct fumi_rpc_connection *c, int64_t ms)
{
    uint64_t before = c->peer_messages;
    int64_t until = rpc_connection_deadline(ms);
    while (!c->callback_depth && c->peer_messages == before) {
        if (c->fd < 0 && !reconnect_for_listen(c, until))
            break;
        if (c->transport->exchanges && !rpc_connection_http_next(c, until))
            break;
        if (!keep_waiting(c, until))
            break;
    }
    return c->peer_messages != before;
}

int fumi_rpc_connection_text(struct fumi_rpc_connection *c, struct fumi_arena *a,
                             struct fumi_str message, int64_t ms, struct fumi_str *answer,
                             struct fumi_err *e)
{
    int64_t until = deadline_of(c, ms);
    struct fumi_answer got;
    if (check_usable(c, e))
        return -1;
    if (c->transport == &rpc_connection_ndjson && message.n && memchr(message.p, '\n', message.n))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "a message to %s must not contain line feeds",
                            c->endpoint.url);
    struct rpc_connection_operation *op = operation_new(c, RPC_CONNECTION_TEXT, "the message");
    fumi_buf_add(&op->text, message.p, message.n);
    transmit_one(c, op, until);
    while (op->state == RPC_CONNECTION_SENT && keep_waiting(c, until)) {}
    *answer = FUMI_STR("");
    if (op->state == RPC_CONNECTION_SENT && c->transport->exchanges)
        return time_out(c, op, ms, e);
    if (op->state == RPC_CONNECTION_ANSWERED)
        *answer = fumi_dup(a, fumi_buf_str(&op->text));
    if (op->state == RPC_CONNECTION_SENT)
        op->state = RPC_CONNECTION_ANSWERED;
    op->text.n = 0;
    return take_outcome(c, op, a, &got, e);
}
