/* What a caller sees of a link: opening and closing, calls and the matching of answers. URL and
 * options are read in rpc_connection_open.c; bytes travel in rpc_connection_stream.c,
 * rpc_connection_ws.c and rpc_connection_http.c. */
#include "net/rpc_connection_parts.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <assert.h>

enum { KEEP = 64 << 10 }; /* bytes of warm memory */

static struct fumi_rpc_connection *rpc_connection_new(const struct fumi_rpc_connection_options *o)
{
    struct fumi_rpc_connection *l = fumi_resize(NULL, sizeof(*l));
    *l = (struct fumi_rpc_connection){
        .way = &rpc_connection_lines, .client = fumi_client_new(), .fd = -1};
    if (o)
        l->o = *o;
    return l;
}

struct fumi_rpc_connection *fumi_rpc_connection_open(const char *url,
                                                     const struct fumi_rpc_connection_options *o,
                                                     struct fumi_err *e)
{
    struct fumi_rpc_connection *l = rpc_connection_new(o);
    if (rpc_connection_take_url(l, url, e) || rpc_connection_take_options(l, e) ||
        (l->at.tls && rpc_connection_tls_new(l, e)) ||
        rpc_connection_connect(l, rpc_connection_until(l->o.connect_time), e)) {
        fumi_rpc_connection_close(l);
        return NULL;
    }
    return l;
}

struct fumi_rpc_connection *fumi_rpc_connection_spawn(char *const argv[],
                                                      const struct fumi_rpc_connection_options *o,
                                                      struct fumi_err *e)
{
    struct fumi_rpc_connection *l = rpc_connection_new(o);
    if (rpc_connection_take_options(l, e) || rpc_connection_start(l, argv, e)) {
        fumi_rpc_connection_close(l);
        return NULL;
    }
    return l;
}

static struct rpc_connection_wait *wait_new(struct fumi_rpc_connection *l,
                                            enum rpc_connection_deed deed, const char *method)
{
    struct rpc_connection_wait *w = fumi_resize(NULL, sizeof(*w)), **end = &l->waits;
    *w = (struct rpc_connection_wait){.deed = deed};
    struct fumi_str name = fumi_utf8_cut(fumi_str(method), sizeof(w->method) - 1);
    memcpy(w->method, name.p, name.n);
    while (*end)
        end = &(*end)->next;
    *end = w;
    return w;
}

static void wait_free(struct fumi_rpc_connection *l, struct rpc_connection_wait *w)
{
    struct rpc_connection_wait **at = &l->waits;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    fumi_buf_done(&w->text);
    fumi_resize(w, 0);
}

void fumi_rpc_connection_close(struct fumi_rpc_connection *l)
{
    if (!l)
        return;
    assert(!l->inside && !l->reconnecting);
    if (l->fd >= 0 && l->way->part)
        l->way->part(l);
    rpc_connection_end_child(l);
    rpc_connection_hang_up(l);
    while (l->waits)
        wait_free(l, l->waits);
    rpc_connection_http_done(l);
    rpc_connection_ws_done(l);
    rpc_connection_tls_done(l);
    fumi_client_free(l->client);
    fumi_buf_done(&l->in);
    fumi_buf_done(&l->out);
    fumi_arena_done(&l->scratch);
    fumi_arena_done(&l->memory);
    fumi_resize(l, 0);
}

/* No answer is expected for it any more; what says so to the peer goes into `note`. */
static void forget(struct fumi_rpc_connection *l, const struct rpc_connection_wait *w,
                   struct fumi_buf *note)
{
    if (w->id)
        fumi_client_cancel(l->client, note, w->id);
}

static void fail(struct fumi_rpc_connection *l, struct rpc_connection_wait *w,
                 const struct fumi_err *why)
{
    struct fumi_buf unused = {0};
    forget(l, w, &unused);
    fumi_buf_done(&unused);
    w->state = RPC_CONNECTION_FAILED;
    w->err = *why;
    w->err.data = (struct fumi_str){0};
}

static bool is_sent(const struct rpc_connection_wait *w, uint64_t number)
{
    return w->state == RPC_CONNECTION_SENT && (!number || w->message == number);
}

void rpc_connection_fail(struct fumi_rpc_connection *l, uint64_t number, const struct fumi_err *why)
{
    for (struct rpc_connection_wait *w = l->waits; w; w = w->next)
        if (is_sent(w, number))
            fail(l, w, why);
}

void rpc_connection_finish(struct fumi_rpc_connection *l, uint64_t number,
                           const struct fumi_err *why)
{
    for (struct rpc_connection_wait *w = l->waits; w; w = w->next) {
        if (!is_sent(w, number))
            continue;
        if (w->deed == RPC_CONNECTION_CALL)
            fail(l, w, why);
        else
            w->state = RPC_CONNECTION_ANSWERED;
    }
}

bool rpc_connection_is_open(const struct fumi_rpc_connection *l, uint64_t number)
{
    for (const struct rpc_connection_wait *w = l->waits; w; w = w->next)
        if (is_sent(w, number))
            return true;
    return false;
}

static void keep_text(struct rpc_connection_wait *w, struct fumi_str text)
{
    w->state = RPC_CONNECTION_ANSWERED;
    w->text.n = 0;
    fumi_buf_add(&w->text, text.p, text.n);
}

static void keep_answer(struct rpc_connection_wait *w, const struct fumi_answer *got)
{
    keep_text(w, got->ok ? got->result.text : got->err.data);
    w->ok = got->ok;
    w->err = got->err;
}

struct rpc_connection_wait *rpc_connection_text_of(struct fumi_rpc_connection *l, uint64_t number)
{
    for (struct rpc_connection_wait *w = l->waits; w; w = w->next)
        if (w->deed == RPC_CONNECTION_TEXT && is_sent(w, number))
            return w;
    return NULL;
}

/* The message that all open calls went out with; 0: there are several, or none. */
static uint64_t only_message(const struct fumi_rpc_connection *l)
{
    uint64_t only = 0;
    for (const struct rpc_connection_wait *w = l->waits; w; w = w->next) {
        if (w->state != RPC_CONNECTION_SENT || w->deed != RPC_CONNECTION_CALL)
            continue;
        if (only && only != w->message)
            return 0;
        only = w->message;
    }
    return only;
}

/* An error that names no request, such as for a message that is too long, is the answer to all
 * calls of a message when it can be no other; or they would wait in vain. */
static bool take_nameless(struct fumi_rpc_connection *l, const struct fumi_answer *got,
                          uint64_t number)
{
    if (!number)
        number = only_message(l);
    if (rpc_connection_text_of(l, number) || !number)
        return false;
    bool taken = false;
    for (struct rpc_connection_wait *w = l->waits; w; w = w->next) {
        if (!is_sent(w, number) || w->deed != RPC_CONNECTION_CALL)
            continue;
        struct fumi_err err = got->err;
        fail(l, w, &err);
        keep_answer(w, got);
        taken = true;
    }
    return taken;
}

static void refuse(struct fumi_rpc_connection *l, const struct fumi_val *id)
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
    fumi_put_str(&o, FUMI_STR("this client answers no questions"));
    fumi_put_close(&o, '}');
    fumi_put_key(&o, "id");
    fumi_put_val(&o, id);
    fumi_put_close(&o, '}');
    l->way->answer(l, fumi_buf_str(&text));
    fumi_buf_done(&text);
}

/* Something that the peer says by itself. */
static void hear(struct fumi_rpc_connection *l, const struct fumi_val *v)
{
    const struct fumi_val *id = fumi_get(v, "id");
    if (id && !l->o.server) {
        refuse(l, id);
        return;
    }
    l->said++;
    if (id || !l->o.notified)
        return;
    l->inside++;
    l->o.notified(l->o.arg, fumi_raw(v));
    l->inside--;
}

/* A call that is still open although this names it: the answer was none. */
static void spoil(struct fumi_rpc_connection *l, const struct fumi_val *v,
                  const struct fumi_err *why)
{
    int64_t id;
    struct fumi_err err;
    if (!fumi_int(fumi_get(v, "id"), &id))
        return;
    for (struct rpc_connection_wait *w = l->waits; w; w = w->next) {
        if (w->deed != RPC_CONNECTION_CALL || w->id != id || w->state != RPC_CONNECTION_SENT)
            continue;
        fumi_err_set(&err, FUMI_INTERNAL_ERROR, "the answer to %s is malformed: %s", w->method,
                     why->text);
        fail(l, w, &err);
    }
}

/* A message that holds more than answers that are awaited. Where it holds none at all (`asks`), the
 * server of the options gets it whole, so that a batch is answered by a batch. */
static void look_closer(struct fumi_rpc_connection *l, struct fumi_str message, bool asks,
                        const struct fumi_err *why)
{
    struct fumi_err ignored;
    const struct fumi_val *doc = fumi_parse(&l->scratch, message, &ignored);
    bool batch = fumi_is(doc, FUMI_ARRAY);
    const struct fumi_val *at = batch ? fumi_first(doc) : doc;
    for (; at; at = batch ? fumi_after(doc, at) : NULL) {
        if (!fumi_get(at, "method")) {
            spoil(l, at, why);
            continue;
        }
        hear(l, at);
        if (l->o.server && !asks)
            rpc_connection_answer(l, fumi_raw(at));
    }
    if (l->o.server && asks)
        rpc_connection_answer(l, message);
}

int rpc_connection_take(struct fumi_rpc_connection *l, struct fumi_str message, uint64_t number,
                        struct fumi_err *e)
{
    struct fumi_answers got;
    size_t matched = 0;
    int rc = fumi_client_take(l->client, &l->scratch, message, &got, e);
    for (size_t i = 0; i < got.n; i++) {
        if (got.items[i].user)
            keep_answer(got.items[i].user, &got.items[i]);
        matched += got.items[i].user || take_nameless(l, &got.items[i], number);
    }
    if (rc || got.requests)
        look_closer(l, message, !rc && !got.n, e);
    struct rpc_connection_wait *text = rpc_connection_text_of(l, number);
    if (text && !matched && (got.n || rc || !got.requests))
        keep_text(text, message);
    fumi_arena_reset(&l->scratch, KEEP);
    return rc;
}

/* Goes on waiting: something has happened, and the time is not over, which a peer that says much
 * cannot put off. */
static bool goes_on(struct fumi_rpc_connection *l, int64_t until)
{
    return rpc_connection_turn(l, until) && fumi_ticks() < until;
}

static int64_t until_of(const struct fumi_rpc_connection *l, int64_t ms)
{
    return rpc_connection_until(ms > 0 ? ms : l->o.call_time);
}

/* The peer is connected and reads nothing. */
static void drop_stuck(struct fumi_rpc_connection *l)
{
    struct fumi_err why;
    fumi_err_set(&why, FUMI_LIMIT, "%s takes nothing that is sent to it: it may hang", l->at.url);
    rpc_connection_drop(l, &why);
}

/* What waits for that message is on its way. */
static void set_out(struct fumi_rpc_connection *l, uint64_t number)
{
    for (struct rpc_connection_wait *w = l->waits; w; w = w->next)
        if (w->state == RPC_CONNECTION_POSTED && w->message == number)
            w->state = RPC_CONNECTION_SENT;
}

/* Sends one message; what came of it stands in what waits for it. */
static void post(struct fumi_rpc_connection *l, uint64_t number, struct fumi_str message,
                 int64_t until)
{
    struct fumi_err why = {0};
    int rc = l->way->exchanges ? 0 : rpc_connection_ready(l, until, &why);
    set_out(l, number);
    if (rc) {
        rpc_connection_fail(l, number, &why);
        return;
    }
    l->odd.code = 0;
    l->way->put(l, number, message);
    if (l->way->exchanges)
        rpc_connection_http_next(l, until);
    while (rpc_connection_unsent(l) && goes_on(l, until)) {}
    if (rpc_connection_unsent(l))
        drop_stuck(l);
}

/* As a message of its own. */
static void post_one(struct fumi_rpc_connection *l, struct rpc_connection_wait *w, int64_t until)
{
    struct fumi_buf text = {0};
    fumi_buf_move(&text, &w->text);
    w->message = ++l->messages;
    w->state = RPC_CONNECTION_POSTED;
    post(l, w->message, fumi_buf_str(&text), until);
    fumi_buf_done(&text);
}

static int bad_params(const char *method, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INVALID_PARAMS, "params of %s must be an array or an object",
                        method);
}

/* Messages are being read while callbacks run: the link cannot be used. */
static int check_usable(const struct fumi_rpc_connection *l, struct fumi_err *e)
{
    return l->inside ? fumi_err_set(e, FUMI_INVALID_REQUEST,
                                    "a callback or a method of a link must not use the link")
                     : 0;
}

int64_t fumi_rpc_connection_begin(struct fumi_rpc_connection *l, const char *method,
                                  struct fumi_json params, struct fumi_err *e)
{
    if (check_usable(l, e))
        return -1;
    struct rpc_connection_wait *w = wait_new(l, RPC_CONNECTION_CALL, method);
    w->id = fumi_client_request(l->client, &w->text, method, params, w);
    if (w->id > 0)
        return w->id;
    wait_free(l, w);
    return bad_params(method, e);
}

static void post_batch(struct fumi_rpc_connection *l, int64_t until)
{
    struct fumi_buf text = {0};
    uint64_t number = ++l->messages;
    for (struct rpc_connection_wait *w = l->waits; w; w = w->next) {
        if (w->state != RPC_CONNECTION_BEGUN)
            continue;
        fumi_buf_put(&text, text.n ? ',' : '[');
        fumi_buf_add(&text, w->text.p, w->text.n);
        w->message = number;
        w->state = RPC_CONNECTION_POSTED;
    }
    fumi_buf_put(&text, ']');
    if (text.n > 1)
        post(l, number, fumi_buf_str(&text), until);
    fumi_buf_done(&text);
}

/* One by one. When there is nobody to send to, the rest need not find that out again. */
static void post_each(struct fumi_rpc_connection *l, int64_t until)
{
    const struct fumi_err *why = NULL;
    for (struct rpc_connection_wait *w = l->waits; w; w = w->next) {
        if (w->state != RPC_CONNECTION_BEGUN)
            continue;
        if (!why)
            post_one(l, w, until);
        else {
            w->message = ++l->messages;
            fail(l, w, why);
        }
        if (w->state == RPC_CONNECTION_FAILED && l->fd < 0)
            why = &w->err;
    }
}

int fumi_rpc_connection_send(struct fumi_rpc_connection *l, bool batch, struct fumi_err *e)
{
    int64_t until = until_of(l, 0);
    uint64_t before = l->messages;
    if (check_usable(l, e))
        return -1;
    if (batch)
        post_batch(l, until);
    else
        post_each(l, until);
    for (struct rpc_connection_wait *w = l->waits; w; w = w->next) {
        if (w->state != RPC_CONNECTION_FAILED || w->message <= before)
            continue;
        *e = w->err;
        return -1;
    }
    return 0;
}

static struct rpc_connection_wait *find(struct fumi_rpc_connection *l, int64_t id,
                                        struct fumi_err *e)
{
    for (struct rpc_connection_wait *w = l->waits; w; w = w->next)
        if (w->id == id && w->deed == RPC_CONNECTION_CALL && w->state != RPC_CONNECTION_POSTED)
            return w;
    fumi_err_set(e, FUMI_INVALID_PARAMS, "no call with the id %lld is open", (long long)id);
    return NULL;
}

/* Nobody waits any more: tells the peer, where something can be told, and frees it. */
static void give_up(struct fumi_rpc_connection *l, struct rpc_connection_wait *w)
{
    struct fumi_buf note = {0};
    uint64_t number = w->state == RPC_CONNECTION_SENT ? w->message : 0;
    forget(l, w, &note);
    wait_free(l, w);
    if (number && l->way->exchanges)
        rpc_connection_http_forget(l, number);
    else if (number && note.n && l->fd >= 0) {
        l->way->put(l, 0, fumi_buf_str(&note));
        rpc_connection_turn(l, 0);
    }
    fumi_buf_done(&note);
}

static int late(struct fumi_rpc_connection *l, struct rpc_connection_wait *w, int64_t ms,
                struct fumi_err *e)
{
    long long time = ms > 0 ? ms : l->o.call_time;
    struct fumi_err odd = l->odd;
    fumi_err_set(e, FUMI_LIMIT, "no answer to %s from %s in %lld ms%s%s", w->method, l->at.url,
                 time, odd.code ? "; what came last was not taken: " : "",
                 odd.code ? odd.text : "");
    bool stuck = rpc_connection_unsent(l);
    give_up(l, w);
    if (stuck && rpc_connection_unsent(l))
        drop_stuck(l);
    return -1;
}

/* It is answered or has failed; frees it. */
static int hand_over(struct fumi_rpc_connection *l, struct rpc_connection_wait *w,
                     struct fumi_arena *a, struct fumi_answer *out, struct fumi_err *e)
{
    bool failed = w->state == RPC_CONNECTION_FAILED;
    *out = (struct fumi_answer){.id = w->id, .ok = w->ok};
    if (failed)
        *e = w->err;
    else if (w->ok)
        out->result.text = fumi_dup(a, fumi_buf_str(&w->text));
    else {
        out->err = w->err;
        out->err.data = w->text.n ? fumi_dup(a, fumi_buf_str(&w->text)) : (struct fumi_str){0};
    }
    wait_free(l, w);
    return failed ? -1 : 0;
}

int fumi_rpc_connection_await(struct fumi_rpc_connection *l, struct fumi_arena *a, int64_t id,
                              int64_t ms, struct fumi_answer *out, struct fumi_err *e)
{
    int64_t until = until_of(l, ms);
    struct rpc_connection_wait *w = check_usable(l, e) ? NULL : find(l, id, e);
    if (!w)
        return -1;
    if (w->state == RPC_CONNECTION_BEGUN)
        return fumi_err_set(
            e, FUMI_INVALID_PARAMS,
            "%s was not sent: fumi_rpc_connection_send comes before fumi_rpc_connection_await",
            w->method);
    while (w->state == RPC_CONNECTION_SENT && goes_on(l, until)) {}
    return w->state == RPC_CONNECTION_SENT ? late(l, w, ms, e) : hand_over(l, w, a, out, e);
}

int fumi_rpc_connection_call(struct fumi_rpc_connection *l, struct fumi_arena *a,
                             const char *method, struct fumi_json params, int64_t ms,
                             struct fumi_answer *out, struct fumi_err *e)
{
    int64_t until = until_of(l, ms), id = fumi_rpc_connection_begin(l, method, params, e);
    struct rpc_connection_wait *w = id > 0 ? find(l, id, e) : NULL;
    if (!w)
        return -1;
    post_one(l, w, until);
    while (w->state == RPC_CONNECTION_SENT && goes_on(l, until)) {}
    return w->state == RPC_CONNECTION_SENT ? late(l, w, ms, e) : hand_over(l, w, a, out, e);
}

int fumi_rpc_connection_cancel(struct fumi_rpc_connection *l, int64_t id, struct fumi_err *e)
{
    struct rpc_connection_wait *w = check_usable(l, e) ? NULL : find(l, id, e);
    if (!w)
        return -1;
    give_up(l, w);
    return 0;
}

/* On a stream nothing tells that a notification was taken, only that it was not. */
int fumi_rpc_connection_notify(struct fumi_rpc_connection *l, const char *method,
                               struct fumi_json params, struct fumi_err *e)
{
    struct fumi_answer unused;
    int64_t until = until_of(l, 0);
    if (check_usable(l, e))
        return -1;
    struct rpc_connection_wait *w = wait_new(l, RPC_CONNECTION_NOTE, method);
    if (fumi_client_notify(l->client, &w->text, method, params)) {
        wait_free(l, w);
        return bad_params(method, e);
    }
    post_one(l, w, until);
    while (w->state == RPC_CONNECTION_SENT && (l->way->exchanges || l->deaf) && goes_on(l, until)) {
    }
    if (w->state == RPC_CONNECTION_SENT && (l->way->exchanges || l->deaf))
        return late(l, w, 0, e);
    return hand_over(l, w, &l->scratch, &unused, e);
}

/* A lost link is connected again for those who want to know of it: else nothing would come. */
static bool listen_again(struct fumi_rpc_connection *l, int64_t until)
{
    struct fumi_err ignored;
    return l->o.reconnected && !l->way->exchanges && rpc_connection_ready(l, until, &ignored) == 0;
}

bool fumi_rpc_connection_listen(struct fumi_rpc_connection *l, int64_t ms)
{
    uint64_t before = l->said;
    int64_t until = rpc_connection_until(ms);
    while (!l->inside && l->said == before) {
        if (l->fd < 0 && !listen_again(l, until))
            break;
        if (l->way->exchanges && !rpc_connection_http_next(l, until))
            break;
        if (!goes_on(l, until))
            break;
    }
    return l->said != before;
}

int fumi_rpc_connection_text(struct fumi_rpc_connection *l, struct fumi_arena *a,
                             struct fumi_str message, int64_t ms, struct fumi_str *answer,
                             struct fumi_err *e)
{
    int64_t until = until_of(l, ms);
    struct fumi_answer got;
    if (check_usable(l, e))
        return -1;
    if (l->way == &rpc_connection_lines && message.n && memchr(message.p, '\n', message.n))
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "a message must be one line on %s: leave the line ends out", l->at.url);
    struct rpc_connection_wait *w = wait_new(l, RPC_CONNECTION_TEXT, "the message");
    fumi_buf_add(&w->text, message.p, message.n);
    post_one(l, w, until);
    while (w->state == RPC_CONNECTION_SENT && goes_on(l, until)) {}
    *answer = FUMI_STR("");
    if (w->state == RPC_CONNECTION_SENT && l->way->exchanges)
        return late(l, w, ms, e);
    if (w->state == RPC_CONNECTION_ANSWERED)
        *answer = fumi_dup(a, fumi_buf_str(&w->text));
    if (w->state == RPC_CONNECTION_SENT)
        w->state = RPC_CONNECTION_ANSWERED;
    w->text.n = 0;
    return hand_over(l, w, a, &got, e);
}
