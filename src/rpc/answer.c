#include "rpc/exchange.h"

#include <stdio.h>

/* The message of a reserved code is the phrase of the JSON-RPC specification; the sentence of the
 * error becomes its data. */
static const char *phrase_of(int code)
{
    static const struct {
        int code;
        const char *phrase;
    } codes[] = {
#define PHRASE(name, number, phrase, ...) {number, phrase},
        FUMI_CODES(PHRASE)
#undef PHRASE
    };
    for (size_t i = 0; i < FUMI_COUNT(codes); i++) {
        if (codes[i].code == code)
            return codes[i].phrase;
    }
    return NULL;
}

/* The cause of an internal error is logged and not sent to the peer. */
static void put_data(struct fumi_out *o, const struct fumi_err *e, bool sentence)
{
    if (e->code == FUMI_INTERNAL_ERROR)
        return;
    if (e->data.p) {
        fumi_put_key(o, "data");
        fumi_put_json(o, (struct fumi_json){e->data});
    } else if (sentence && e->text[0]) {
        fumi_put_key(o, "data");
        fumi_put_str(o, fumi_str(e->text));
    }
}

static void put_end(struct fumi_buf *b, const struct fumi_val *id)
{
    struct fumi_str text = id ? fumi_raw(id) : FUMI_STR("null");
    char *to = fumi_buf_reserve(b, text.n + 7);
    if (!to)
        return;
    memcpy(to, ",\"id\":", 6);
    memcpy(to + 6, text.p, text.n);
    to[6 + text.n] = '}';
    b->n += text.n + 7;
}

static void put_message(struct fumi_out *o, const struct fumi_err *e, const char *phrase,
                        unsigned how)
{
    char detailed[sizeof("Invalid params: ") + sizeof(e->text)];
    const char *message = phrase ? phrase : e->text;
    if (phrase && how & ANSWER_DETAILED && e->code == FUMI_INVALID_PARAMS && e->text[0]) {
        snprintf(detailed, sizeof(detailed), "Invalid params: %s", e->text);
        message = detailed;
    }
    fumi_put_key(o, "message");
    fumi_put_str(o, fumi_str(message));
}

void answer_error(struct fumi_buf *b, const struct fumi_err *e, const struct fumi_val *id,
                  unsigned how)
{
    bool plain = how & ANSWER_PLAIN && e->code != FUMI_INTERNAL_ERROR;
    const char *phrase = plain ? NULL : phrase_of(e->code);
    struct fumi_out o = {.buf = b};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "jsonrpc");
    fumi_put_str(&o, FUMI_STR("2.0"));
    fumi_put_key(&o, "error");
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "code");
    fumi_put_int(&o, e->code);
    put_message(&o, e, phrase, how);
    put_data(&o, e, phrase != NULL);
    fumi_put_close(&o, '}');
    if ((id && !fumi_is(id, FUMI_NULL)) || !(how & ANSWER_NO_ID))
        put_end(b, id);
    else
        fumi_put_close(&o, '}');
}

__attribute__((cold)) int fumi_too_large(const struct fumi_call *c, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_LIMIT, "The answer is larger than %zu bytes; ask for less",
                        c->run->server->limits.answer);
}

void answer_begin(struct fumi_buf *b)
{
    const struct fumi_str head = FUMI_STR("{\"jsonrpc\":\"2.0\",\"result\":");
    fumi_buf_add(b, head.p, head.n);
}

int answer_value(struct fumi_out *o, const struct fumi_call *c, bool compact, struct fumi_err *e)
{
    int rc = compact ? fumi_emit_compact(o, c->method->result, c->result)
                     : fumi_emit(o, c->method->result, c->result);
    if (rc)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "the result cannot be expressed in JSON");
    return o->buf->full ? fumi_too_large(c, e) : 0;
}

/* A reused buffer may have more capacity than its limit, and fumi_buf_reserve compares with the
 * capacity only: so the limit is tested here. */
int answer_end(struct fumi_buf *b, const struct fumi_call *c, struct fumi_err *e)
{
    put_end(b, c->id);
    return b->full || b->n > b->limit ? fumi_too_large(c, e) : 0;
}

int answer_result(struct fumi_buf *b, const struct fumi_call *c, struct fumi_err *e)
{
    b->limit = c->run->server->limits.answer;
    answer_begin(b);
    int rc = answer_value(&(struct fumi_out){.buf = b}, c, false, e) ? -1 : answer_end(b, c, e);
    b->limit = 0;
    b->full = false; /* other answers may follow, even if this one failed */
    return rc;
}

struct fumi_out request_open(struct fumi_buf *b, const char *method)
{
    struct fumi_out o = {.buf = b};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "jsonrpc");
    fumi_put_str(&o, FUMI_STR("2.0"));
    fumi_put_key(&o, "method");
    fumi_put_str(&o, fumi_str(method));
    return o;
}

void request_close(struct fumi_out *o, struct fumi_json params, int64_t id)
{
    if (params.text.p) {
        fumi_put_key(o, "params");
        fumi_put_json(o, params);
    }
    if (id) {
        fumi_put_key(o, "id");
        fumi_put_int(o, id);
    }
    fumi_put_close(o, '}');
}

void request_notify(struct fumi_buf *b, const char *method, const struct fumi_shape *s,
                    const void *params)
{
    struct fumi_out o = request_open(b, method);
    if (s) {
        fumi_put_key(&o, "params");
        fumi_emit(&o, s, params);
    }
    fumi_put_close(&o, '}');
}

enum fumi_lost_id fumi_peer_lost_id(const struct fumi_peer *peer)
{
    return (enum fumi_lost_id)__atomic_load_n(&peer->lost_id, __ATOMIC_RELAXED);
}

void fumi_peer_set_lost_id(struct fumi_peer *peer, enum fumi_lost_id id)
{
    __atomic_store_n(&peer->lost_id, (int)id, __ATOMIC_RELAXED);
}

static unsigned id_flag(enum fumi_lost_id lost)
{
    return lost == FUMI_ID_NONE ? ANSWER_NO_ID : 0;
}

void fumi_put_refusal(struct fumi_buf *out, const struct fumi_err *e, enum fumi_lost_id lost)
{
    answer_error(out, e, NULL, id_flag(lost));
}

void fumi_put_error(struct fumi_buf *out, const struct fumi_err *e, const struct fumi_val *id,
                    enum fumi_lost_id lost)
{
    answer_error(out, e, id, id_flag(lost) | ANSWER_PLAIN);
}
