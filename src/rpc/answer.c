#include "rpc/exchange.h"

/* For the reserved codes the message is the standard's own phrase, and the sentence is the data. */
static const char *phrase_of(int code)
{
    static const struct {
        int code;
        const char *phrase;
    } reserved[] = {
        {FUMI_PARSE_ERROR, "Parse error"},           {FUMI_INVALID_REQUEST, "Invalid Request"},
        {FUMI_METHOD_NOT_FOUND, "Method not found"}, {FUMI_INVALID_PARAMS, "Invalid params"},
        {FUMI_INTERNAL_ERROR, "Internal error"},
    };
    for (size_t i = 0; i < FUMI_COUNT(reserved); i++) {
        if (reserved[i].code == code)
            return reserved[i].phrase;
    }
    return NULL;
}

/* What broke inside is not for the peer: -32603 says so and nothing else. */
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

static inline struct fumi_str id_text(const struct fumi_val *id)
{
    return FUMI_MOSTLY(id) ? fumi_raw(id) : FUMI_STR("null");
}

static const char head[] = "{\"jsonrpc\":\"2.0\",\"result\":";
enum { HEAD = sizeof(head) - 1, END = 7 }; /* bytes of the end: without those of the id */

static inline char *write_begin(char *to, char before)
{
    if (FUMI_MOSTLY(before))
        *to++ = before;
    memcpy(to, head, HEAD);
    return to + HEAD;
}

static inline __attribute__((always_inline)) char *write_end(char *to, struct fumi_str id)
{
    memcpy(to, ",\"id\":", 6);
    fumi_copy(to + 6, id.p, id.n);
    to[6 + id.n] = '}';
    return to + END + id.n;
}

static inline void put_end(struct fumi_buf *b, struct fumi_str id)
{
    char *to = fumi_buf_reserve(b, END + id.n);
    if (FUMI_MOSTLY(to))
        b->n = (size_t)(write_end(to, id) - b->p);
}

void answer_error(struct fumi_buf *b, const struct fumi_err *e, const struct fumi_val *id,
                  unsigned how)
{
    bool frank = how & ANSWER_FRANK && e->code != FUMI_INTERNAL_ERROR;
    const char *phrase = frank ? NULL : phrase_of(e->code);
    struct fumi_out o = {.buf = b};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "jsonrpc");
    fumi_put_str(&o, FUMI_STR("2.0"));
    fumi_put_key(&o, "error");
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "code");
    fumi_put_int(&o, e->code);
    fumi_put_key(&o, "message");
    fumi_put_str(&o, fumi_str(phrase ? phrase : e->text));
    put_data(&o, e, phrase != NULL);
    fumi_put_close(&o, '}');
    if ((id && !fumi_is(id, FUMI_NULL)) || !(how & ANSWER_BARE))
        put_end(b, id_text(id));
    else
        fumi_put_close(&o, '}');
}

static __attribute__((cold)) int too_large(struct fumi_err *e, size_t limit)
{
    return fumi_err_set(e, FUMI_LIMIT, "The answer is larger than %zu bytes; ask for less", limit);
}

int answer_value(struct fumi_out *o, const struct fumi_call *c, bool brief, size_t limit,
                 struct fumi_err *e)
{
    struct fumi_buf *b = o->buf;
    b->limit = limit;
    int rc = brief ? fumi_emit_brief(o, c->method->result, c->result)
                   : fumi_emit(o, c->method->result, c->result);
    b->limit = 0;
    bool fits = !b->full && b->n <= limit;
    b->full = false; /* whatever becomes of this one, others follow */
    if (FUMI_RARELY(rc))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "the result cannot be said in JSON");
    return FUMI_MOSTLY(fits) ? 0 : too_large(e, limit);
}

/* Most results are short, and most buffers have room. */
static inline bool answer_short(struct fumi_buf *b, char before, const struct fumi_call *c,
                                size_t limit, struct fumi_str id)
{
    size_t most = 1 + HEAD + FUMI_SHORT + END + id.n;
    if (FUMI_RARELY(b->cap - b->n < most || limit < b->n + most || b->full))
        return false;
    char *to = fumi_emit_short(write_begin(b->p + b->n, before), c->method->result, c->result);
    if (to)
        b->n = (size_t)(write_end(to, id) - b->p);
    return to;
}

static __attribute__((noinline)) int answer_long(struct fumi_out *o, char before,
                                                 const struct fumi_call *c, size_t limit,
                                                 struct fumi_err *e)
{
    struct fumi_buf *b = o->buf;
    if (fumi_buf_reserve(b, 1 + HEAD))
        b->n = (size_t)(write_begin(b->p + b->n, before) - b->p);
    o->comma = false;
    if (FUMI_RARELY(answer_value(o, c, false, limit, e)))
        return -1;
    put_end(b, id_text(c->id));
    return FUMI_MOSTLY(b->n <= limit) ? 0 : too_large(e, limit);
}

int answer_result(struct fumi_out *o, char before, const struct fumi_call *c, size_t limit,
                  struct fumi_err *e)
{
    if (FUMI_MOSTLY(answer_short(o->buf, before, c, limit, id_text(c->id))))
        return 0;
    return answer_long(o, before, c, limit, e);
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

void fumi_put_refusal(struct fumi_buf *out, const struct fumi_err *e, bool bare)
{
    answer_error(out, e, NULL, bare ? ANSWER_BARE : 0);
}

void fumi_put_error(struct fumi_buf *out, const struct fumi_err *e, const struct fumi_val *id)
{
    answer_error(out, e, id, ANSWER_BARE | ANSWER_FRANK);
}
