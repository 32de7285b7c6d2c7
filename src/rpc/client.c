#include "rpc/client.h"

#include "rpc/answer.h"
#include "rpc/envelope.h"

#include <assert.h>

struct waiting {
    int64_t id;
    void *user;
};

struct fumi_client {
    struct waiting *open; /* sorted by id */
    size_t n, cap;
    int64_t last;      /* id */
    bool batch, begun; /* inside a batch; the batch has a member */
};

struct fumi_client *fumi_client_new(void)
{
    struct fumi_client *c = fumi_resize(NULL, sizeof(*c));
    memset(c, 0, sizeof(*c));
    return c;
}

void fumi_client_free(struct fumi_client *c)
{
    if (!c)
        return;
    fumi_resize(c->open, 0);
    fumi_resize(c, 0);
}

static void remember(struct fumi_client *c, int64_t id, void *user)
{
    assert(!c->n || c->open[c->n - 1].id < id);
    if (c->n == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 16;
        c->open = fumi_resize(c->open, c->cap * sizeof(*c->open));
    }
    c->open[c->n++] = (struct waiting){id, user};
}

/* Linear search: answers mostly arrive in the order of the requests. */
static bool forget(struct fumi_client *c, int64_t id, void **user)
{
    for (size_t i = 0; i < c->n && c->open[i].id <= id; i++) {
        if (c->open[i].id != id)
            continue;
        *user = c->open[i].user;
        c->n--;
        memmove(&c->open[i], &c->open[i + 1], (c->n - i) * sizeof(*c->open));
        return true;
    }
    return false;
}

static bool structured(struct fumi_json params)
{
    struct fumi_str s = params.text;
    return !s.p || (s.n && (s.p[0] == '[' || s.p[0] == '{'));
}

static void put_request(struct fumi_client *c, struct fumi_buf *out, int64_t id, const char *method,
                        struct fumi_json params)
{
    if (c->batch && c->begun)
        fumi_buf_put(out, ',');
    c->begun = true;
    struct fumi_out o = request_open(out, method);
    request_close(&o, params, id);
}

int64_t fumi_client_request(struct fumi_client *c, struct fumi_buf *out, const char *method,
                            struct fumi_json params, void *user)
{
    if (!structured(params))
        return -1;
    put_request(c, out, ++c->last, method, params);
    remember(c, c->last, user);
    return c->last;
}

int fumi_client_notify(struct fumi_client *c, struct fumi_buf *out, const char *method,
                       struct fumi_json params)
{
    if (!structured(params))
        return -1;
    put_request(c, out, 0, method, params);
    return 0;
}

void fumi_client_batch_open(struct fumi_client *c, struct fumi_buf *out)
{
    assert(!c->batch);
    fumi_buf_put(out, '[');
    c->batch = true;
    c->begun = false;
}

void fumi_client_batch_close(struct fumi_client *c, struct fumi_buf *out)
{
    assert(c->batch);
    fumi_buf_put(out, ']');
    c->batch = false;
}

void fumi_client_cancel(struct fumi_client *c, struct fumi_buf *out, int64_t id)
{
    void *user;
    struct fumi_arena a = {0};
    if (!forget(c, id, &user))
        return;
    struct fumi_json params = {fumi_fmt(&a, "{\"id\":%lld}", (long long)id)};
    fumi_client_notify(c, out, "rpc.cancel", params);
    fumi_arena_done(&a);
}

size_t fumi_client_open(const struct fumi_client *c)
{
    return c->n;
}

/* Reads one answer into *out. An error with the id null names no request. */
static int take_answer(struct fumi_client *c, struct fumi_arena *a, const struct envelope *v,
                       struct fumi_answer *out, struct fumi_err *e)
{
    *out = (struct fumi_answer){.ok = !v->error};
    bool null_id = v->error && fumi_is(v->id, FUMI_NULL);
    bool known = fumi_int(v->id, &out->id) && forget(c, out->id, &out->user);
    if (v->fault)
        return fumi_err_set(e, FUMI_INVALID_REQUEST, "%s",
                            v->fault[0] ? v->fault : "jsonrpc must be 2.0");
    if (v->error && envelope_error(a, v->error, &out->err, e))
        return -1;
    if (!known && !null_id)
        return fumi_err_set(e, FUMI_INVALID_REQUEST, "id is not that of an open request");
    if (v->result)
        out->result = fumi_compact(a, v->result);
    return 0;
}

int fumi_client_take(struct fumi_client *c, struct fumi_arena *a, struct fumi_str message,
                     struct fumi_answers *out, struct fumi_err *e)
{
    *out = (struct fumi_answers){0};
    const struct fumi_val *doc = fumi_parse(a, message, e);
    if (!doc)
        return -1;
    bool batch = fumi_is(doc, FUMI_ARRAY);
    if (batch && !fumi_first(doc))
        return fumi_err_set(e, FUMI_INVALID_REQUEST, "batch is empty");
    const struct fumi_val *at = batch ? fumi_first(doc) : doc;
    int rc = 0;
    out->items = fumi_alloc(a, (batch ? fumi_size(doc) : 1) * sizeof(*out->items));
    for (; at; at = batch ? fumi_after(doc, at) : NULL) {
        struct envelope v;
        envelope_read(at, &v);
        if (v.method)
            out->requests++;
        else if (take_answer(c, a, &v, &out->items[out->n], e))
            rc = -1;
        else
            out->n++;
    }
    return rc;
}
