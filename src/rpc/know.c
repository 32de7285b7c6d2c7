/* What an element of a message says, and which method it asks for. */
#include "rpc/exchange.h"

static unsigned flags_for(const struct entry *e, const struct fumi_val *params)
{
    const struct fumi_method *m = e->method;
    if (FUMI_MOSTLY(!(m->flags & FUMI_VARIES)))
        return m->flags;
    return m->flags | ((struct fumi_varying *)e->self)->flags_for(e->self, m, params);
}

/* Where a member begins: see known. */
static size_t place_of(const struct fumi_val *v, const struct fumi_val *member)
{
    return member ? (size_t)(fumi_next(v) - member) : 0;
}

/* The bit of a member in `differ`. */
static uint64_t bit_of(const struct fumi_val *v, const struct fumi_val *member)
{
    return member && member - v < 64 ? UINT64_C(1) << (member - v) : 0;
}

/* Whether an element still asks for that method, and in the right form, though what says so is
 * another text than before. */
static __attribute__((noinline)) bool still_says(const struct fumi_val *v, struct fumi_str name)
{
    struct envelope e;
    envelope_read(v, &e);
    return !e.fault && !e.response &&
           fumi_eq((struct fumi_str){e.method->p, e.method->n}, name); /* it has no escapes */
}

const struct fumi_val *exchange_whole(struct fumi_exchange *x, const struct fumi_val *v)
{
    return fumi_whole(&x->arena, x->model, v);
}

/* The element is like one that is known: so it says the same, unless it says so of another method,
 * or with an id or version that is none. */
static bool know_alike(struct fumi_exchange *x, const struct fumi_val *v, const struct known *like)
{
    const struct entry *entry = like->entry;
    bool other = x->differ & like->fixed;
    if (FUMI_RARELY(!entry))
        return false;
    if (FUMI_RARELY(other) && !still_says(exchange_whole(x, v), entry->name))
        return false;
    x->known = *like;
    x->known.v = v;
    x->flags = flags_for(entry, member_of(x, fumi_next(v), fumi_span(v), like->params));
    return true;
}

/* Values, for a copy of the text that they point into. */
static void move(struct fumi_val *to, const struct fumi_val *v, size_t n, const char *text,
                 const char *copy)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (struct fumi_val){copy + (v[i].p - text), v[i].n, v[i].bits};
}

/* How many values the element has when it is whole. */
static size_t whole_span(struct fumi_exchange *x, const struct fumi_val *v)
{
    if (!fumi_is_alike(v))
        x->model = v;
    return fumi_span(x->model);
}

void exchange_keep(struct fumi_exchange *x)
{
    const struct fumi_val *doc = x->document;
    const char *text = fumi_dup(&x->arena, fumi_raw(doc)).p;
    size_t n = x->batch, i = 0;
    for (const struct fumi_val *v = exchange_first(x); v != x->end; v = fumi_next(v))
        n += whole_span(x, v);
    struct fumi_val *row = fumi_alloc(&x->arena, n * sizeof(*row)), *to = row;
    if (x->batch)
        *to++ = (struct fumi_val){text, doc->n, FUMI_ARRAY | (uint32_t)n << FUMI_SPAN_SHIFT};
    for (const struct fumi_val *v = exchange_first(x); v != x->end; v = fumi_next(v), i++) {
        size_t span = whole_span(x, v);
        move(to, exchange_whole(x, v), span, doc->p, text);
        if (i == x->index)
            x->at = to;
        to += span;
    }
    x->document = row;
    x->end = to;
}

/* Takes a copy of what is known, text and all. */
static void learn(struct fumi_exchange *x)
{
    struct pattern *p = &x->pattern;
    const struct fumi_val *v = x->known.v;
    size_t n = fumi_span(v);
    if (!x->known.entry || n > FUMI_COUNT(p->row) || v->n > sizeof(p->text))
        return;
    memcpy(p->text, v->p, v->n);
    move(p->row, v, n, v->p, p->text);
    p->known = x->known;
    fumi_like_set(&p->like, p->row);
    p->depth = x->server->limits.depth;
}

static __attribute__((noinline)) void know_anew(struct fumi_exchange *x, const struct fumi_val *v)
{
    struct envelope e;
    struct known *k = &x->known;
    envelope_read(v, &e);
    *k = (struct known){.v = v, .params = place_of(v, e.params), .id = place_of(v, e.id)};
    k->call = !e.response && !e.fault;
    if (k->call)
        k->entry = server_find(x->server, fumi_text(&x->arena, e.method));
    k->fixed = bit_of(v, e.version) | bit_of(v, e.method);
    if (fumi_is(e.id, FUMI_NULL)) /* true and false are like it */
        k->fixed |= bit_of(v, e.id);
    x->flags = k->entry ? flags_for(k->entry, e.params) : 0;
    if (!x->batch)
        learn(x);
}

void exchange_know(struct fumi_exchange *x, const struct fumi_val *v)
{
    const struct known *like = x->batch ? &x->known : &x->pattern.known;
    if (FUMI_RARELY(!fumi_is_alike(v)))
        know_anew(x, x->model = v);
    else if (FUMI_RARELY(!know_alike(x, v, like)))
        know_anew(x, exchange_whole(x, v));
}
