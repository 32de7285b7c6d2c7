/* What connections wait for, the list of those that have something to do, and spare buffers. */
#include "net/conn.h"

static struct wait_list *list_of(struct conn *c)
{
    return &c->hub->waits[c->wait];
}

void hub_leave(struct conn *c)
{
    if (c->wait == WAIT_NONE)
        return;
    *(c->earlier ? &c->earlier->later : &list_of(c)->first) = c->later;
    *(c->later ? &c->later->earlier : &list_of(c)->last) = c->earlier;
    c->wait = WAIT_NONE;
}

static void set_tick(struct hub *h, int64_t at)
{
    struct fumi_err ignored;
    h->ticks_at = at;
    loop_timer(h->loop, &h->tick, at > hub_now(h) ? at - hub_now(h) : 1, &ignored);
}

/* All that wait for the same wait equally long, so each list is in the order of time. */
void hub_wait(struct conn *c, enum wait kind)
{
    if (kind == c->wait)
        return;
    hub_leave(c);
    c->wait = kind;
    if (kind == WAIT_NONE)
        return;
    struct wait_list *l = list_of(c);
    c->due = hub_now(c->hub) + l->time + l->grace;
    c->later = NULL;
    c->earlier = l->last;
    *(l->last ? &l->last->later : &l->first) = c;
    l->last = c;
    if (c->due < c->hub->ticks_at)
        set_tick(c->hub, c->due);
}

/* A connection that hears from its peer within the grace keeps its place in the list. That the peer
 * says something does not mean that it takes what is sent. */
void hub_renew(struct conn *c)
{
    if (c->wait != WAIT_WRITE && c->due < hub_now(c->hub) + list_of(c)->time)
        hub_leave(c);
}

/* It waits anew once it was looked after. */
static void on_late(struct conn *c)
{
    enum wait kind = c->wait;
    conn_soon(c);
    hub_leave(c);
    if (kind == WAIT_WRITE)
        fumi_log(c->hub->site->log, FUMI_INFO, "conn.stuck", {"peer", c->peer.address, 0},
                 {"unsent", {0}, (int64_t)conn_unsent(c)});
    if (kind == WAIT_WRITE || c->state == CONN_SHUT)
        conn_close(c);
    else
        c->proto->late(c, kind);
}

static void on_tick(struct timer *t)
{
    struct hub *h = FUMI_OWNER(t, struct hub, tick);
    int64_t now = hub_now(h), next = INT64_MAX;
    h->ticks_at = INT64_MAX;
    for (int kind = WAIT_NONE + 1; kind < WAIT_KINDS; kind++) {
        struct wait_list *l = &h->waits[kind];
        while (l->first && l->first->due <= now)
            on_late(l->first);
        if (l->first && l->first->due < next)
            next = l->first->due;
    }
    if (next < INT64_MAX)
        set_tick(h, next);
}

void conn_soon(struct conn *c)
{
    struct hub *h = c->hub;
    if (c->next_listed || h->last_listed == c)
        return;
    c->pins++;
    *(h->last_listed ? &h->last_listed->next_listed : &h->first_listed) = c;
    h->last_listed = c;
}

/* All answers of a turn of the loop are sent at its end. Some of those that are looked after may
 * give others something to do: they follow. */
static void look_after_all(struct hub *h)
{
    for (struct conn *c; (c = h->first_listed);) {
        h->first_listed = c->next_listed;
        if (!h->first_listed)
            h->last_listed = NULL;
        c->next_listed = NULL;
        if (!conn_closed(c))
            conn_advance(c);
        conn_unpin(c);
    }
}

static void on_turn(void *hub)
{
    look_after_all(hub);
}

enum { SPARE_LARGEST = 256 << 10, SPARE_BYTES = 4 << 20 }; /* of one, and of all */

/* Stands in the memory of a buffer that is spare. */
struct spare {
    struct spare *next;
    size_t cap;
};

void hub_lend(struct hub *h, struct fumi_buf *b)
{
    struct spare *s = h->spares;
    if (b->p || !s)
        return;
    h->spares = s->next;
    h->spare_bytes -= s->cap;
    *b = (struct fumi_buf){.p = (char *)s, .cap = s->cap};
}

void hub_take_back(struct hub *h, struct fumi_buf *b)
{
    struct spare *s = (struct spare *)(void *)b->p;
    if (b->cap < sizeof(*s) || b->cap > SPARE_LARGEST || h->spare_bytes + b->cap > SPARE_BYTES) {
        fumi_buf_done(b);
        return;
    }
    *s = (struct spare){h->spares, b->cap};
    h->spares = s;
    h->spare_bytes += b->cap;
    *b = (struct fumi_buf){0};
}

static void free_spares(struct hub *h)
{
    for (struct spare *s; (s = h->spares);) {
        h->spares = s->next;
        fumi_resize(s, 0);
    }
}

int64_t hub_now(const struct hub *h)
{
    return loop_now(h->loop);
}

enum { GRACE = 64 }; /* part of a wait */

static void set_times(struct hub *h, const struct fumi_settings *s)
{
    h->waits[WAIT_HEAD].time = s->head_time;
    h->waits[WAIT_BODY].time = s->body_time < 10000 ? s->body_time : 10000;
    h->waits[WAIT_RATE].time = 1000;
    h->waits[WAIT_IDLE].time = s->idle_time;
    h->waits[WAIT_IDLE].grace = s->idle_time / GRACE;
    h->waits[WAIT_WRITE].time = s->write_time;
    h->waits[WAIT_PING].time = s->ping_time;
    h->waits[WAIT_PING].grace = s->ping_time / GRACE;
    h->waits[WAIT_PONG].time = s->ping_time;
    h->waits[WAIT_CLOSE].time = 1000;
    h->waits[WAIT_BEAT].time = 15000;
    h->waits[WAIT_PAUSE].time = 250;
    h->waits[WAIT_LINGER].time = 250;
}

struct hub *hub_new(struct site *site, struct fumi_err *e)
{
    struct loop *loop = loop_new(e);
    if (!loop)
        return NULL;
    struct hub *h = fumi_resize(NULL, sizeof(*h));
    memset(h, 0, sizeof(*h));
    h->site = site;
    h->loop = loop;
    h->thread = pthread_self();
    h->block = fumi_resize(NULL, HUB_BLOCK);
    h->head = fumi_resize(NULL, sizeof(*h->head));
    h->tick.on = on_tick;
    loop_before_wait(loop, on_turn, h);
    h->ticks_at = INT64_MAX;
    h->common_at = -1;
    set_times(h, &site->set);
    return h;
}

void hub_free(struct hub *h)
{
    loop_free(h->loop);
    for (struct fumi_task *spare; (spare = fumi_tasks_take(&h->messages));)
        message_free(spare);
    fumi_spare_done(&h->memory);
    free_spares(h);
    fumi_resize(h->block, 0);
    fumi_resize(h->head, 0);
    fumi_resize(h, 0);
}

/* Whatever is done to one connection may close any other. */
static void each(struct hub *h, void (*what)(struct conn *c))
{
    h->cursor = h->conns;
    for (struct conn *c; (c = h->cursor);) {
        h->cursor = c->after;
        what(c);
    }
}

void hub_drain(struct hub *h)
{
    h->draining = true;
    each(h, conn_drain);
}

void hub_part(struct hub *h)
{
    h->parted = true;
    each(h, conn_part);
}

void hub_close(struct hub *h)
{
    each(h, conn_close);
    look_after_all(h); /* the list held a pin of each that is in it */
}
