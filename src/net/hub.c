/* What connections wait for, and the list of those that are to be looked after. */
#include "net/http_parts.h"

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

/* All that wait for the same wait equally long, so each list is in the order of time. One that
 * begins anew within the grace stays where it is: busy ones need not touch their neighbours. */
void hub_wait(struct conn *c, enum wait kind)
{
    if (FUMI_MOSTLY(kind == c->wait)) {
        if (!c->fresh)
            return;
        c->fresh = false;
        if (FUMI_MOSTLY(c->due >= hub_now(c->hub) + list_of(c)->time))
            return;
    }
    hub_leave(c);
    c->fresh = false;
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

static void on_late(struct conn *c)
{
    enum wait kind = c->wait;
    c->pins++;
    switch (kind) {
    case WAIT_WRITE:
        fumi_log(c->hub->site->log, FUMI_INFO, "conn.stuck", {"peer", c->peer.address, 0},
                 {"unsent", {0}, (int64_t)conn_unsent(c)});
        conn_close(c);
        break;
    case WAIT_CLOSE:
        conn_close(c);
        break;
    case WAIT_LINGER:
        if (c->shut) {
            conn_close(c);
            break;
        }
        __attribute__((fallthrough));
    default:
        c->proto->late(c);
        c->fresh = true;
    }
    if (!c->closed)
        conn_work(c);
    conn_unpin(c);
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

/* What came home in one burst leaves in one write: the first of it posts this behind the others. */
static void on_sweep(struct fumi_task *task)
{
    struct hub *h = FUMI_OWNER(task, struct hub, sweep);
    struct conn *c = h->listed;
    h->listed = NULL;
    h->sweeping = false;
    while (c) {
        struct conn *next = c->next_listed;
        c->listed = false;
        if (!c->closed)
            conn_work(c);
        conn_unpin(c);
        c = next;
    }
}

void conn_soon(struct conn *c)
{
    struct hub *h = c->hub;
    if (c->listed)
        return;
    c->listed = true;
    c->pins++;
    c->next_listed = h->listed;
    h->listed = c;
    if (h->sweeping)
        return;
    h->sweeping = true;
    loop_post(h->loop, &h->sweep);
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

static void on_turn(void *hub)
{
    conn_send(hub);
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
    h->sweep.run = on_sweep;
    h->tick.on = on_tick;
    loop_turn(loop, on_turn, h);
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
    fumi_buf_done(&h->bag.text);
    fumi_resize(h->block, 0);
    fumi_resize(h->head, 0);
    fumi_resize(h, 0);
}

static void each(struct hub *h, void (*what)(struct conn *c))
{
    for (struct conn *c = h->conns, *next; c; c = next) {
        next = c->after;
        what(c);
    }
}

void hub_drain(struct hub *h)
{
    h->draining = true;
    conn_send(h); /* it may end any of them, so not while they are gone through */
    each(h, conn_drain);
}

void hub_part(struct hub *h)
{
    each(h, conn_part);
}

void hub_close(struct hub *h)
{
    conn_send(h);
    each(h, conn_close);
}
