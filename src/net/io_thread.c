/* An I/O thread: timeouts, the list of scheduled connections, and buffers for reuse.
 *
 * All connections with the same kind of wait have the same timeout, so the list of each kind is
 * sorted by time when new connections are appended. One timer of the event loop, set to the
 * earliest timeout, serves all lists. */
#include "net/conn.h"

#include <assert.h>

static struct wait_list *list_of(struct conn *c)
{
    return &c->io->waits[c->wait];
}

void conn_clear_wait(struct conn *c)
{
    if (c->wait == WAIT_NONE)
        return;
    assert(list_of(c)->first && list_of(c)->last);
    *(c->wait_prev ? &c->wait_prev->wait_next : &list_of(c)->first) = c->wait_next;
    *(c->wait_next ? &c->wait_next->wait_prev : &list_of(c)->last) = c->wait_prev;
    c->wait = WAIT_NONE;
}

static void set_tick(struct io_thread *io, int64_t at)
{
    struct fumi_err ignored;
    io->ticks_at = at;
    loop_timer(io->loop, &io->tick, at > io_thread_now(io) ? at - io_thread_now(io) : 1, &ignored);
}

void conn_set_wait(struct conn *c, enum wait kind)
{
    if (kind == c->wait)
        return;
    conn_clear_wait(c);
    c->wait = kind;
    if (kind == WAIT_NONE)
        return;
    struct wait_list *l = list_of(c);
    assert(!conn_closed(c));
    c->due = io_thread_now(c->io) + l->time + l->grace;
    c->wait_next = NULL;
    c->wait_prev = l->last;
    *(l->last ? &l->last->wait_next : &l->first) = c;
    l->last = c;
    if (c->due < c->io->ticks_at)
        set_tick(c->io, c->due);
}

/* Within the grace period a connection keeps its position in the list, so that a busy connection is
 * seldom moved. Input does not show that the peer accepts output, so WAIT_WRITE continues. */
void conn_renew_wait(struct conn *c)
{
    if (c->wait != WAIT_WRITE && c->due < io_thread_now(c->io) + list_of(c)->time)
        conn_clear_wait(c);
}

/* The next conn_advance sets the next wait. */
static void time_out(struct conn *c)
{
    enum wait kind = c->wait;
    conn_schedule(c);
    conn_clear_wait(c);
    if (kind == WAIT_WRITE)
        fumi_log(c->io->shared->log, FUMI_INFO, "conn.stuck", {"peer", c->peer.address, 0},
                 {"unsent", {0}, (int64_t)conn_unsent(c)});
    if (kind == WAIT_WRITE || c->state == CONN_SHUT)
        conn_close(c);
    else
        c->proto->timed_out(c, kind);
}

static void on_tick(struct timer *t)
{
    struct io_thread *io = FUMI_OWNER(t, struct io_thread, tick);
    int64_t now = io_thread_now(io), next = INT64_MAX;
    io->ticks_at = INT64_MAX;
    for (int kind = WAIT_NONE + 1; kind < WAIT_KINDS; kind++) {
        struct wait_list *l = &io->waits[kind];
        while (l->first && l->first->due <= now)
            time_out(l->first);
        if (l->first && l->first->due < next)
            next = l->first->due;
    }
    if (next < INT64_MAX)
        set_tick(io, next);
}

void conn_schedule(struct conn *c)
{
    struct io_thread *io = c->io;
    assert(io_thread_is_current(io));
    if (c->next_scheduled || io->last_scheduled == c)
        return;
    c->pins++;
    *(io->last_scheduled ? &io->last_scheduled->next_scheduled : &io->first_scheduled) = c;
    io->last_scheduled = c;
}

/* Sends all answers of one iteration of the event loop. A connection may schedule others, which are
 * then handled in the same pass. */
static void advance_scheduled(struct io_thread *io)
{
    for (struct conn *c; (c = io->first_scheduled);) {
        io->first_scheduled = c->next_scheduled;
        if (!io->first_scheduled)
            io->last_scheduled = NULL;
        c->next_scheduled = NULL;
        assert(c->pins > 0); /* the pin of the list */
        if (!conn_closed(c))
            conn_advance(c);
        conn_unpin(c);
    }
}

static void before_sleep(void *io)
{
    advance_scheduled(io);
}

enum { SPARE_LARGEST = 256 << 10, SPARE_BYTES = 4 << 20 }; /* bytes of one buffer, of all */

/* Stored in the memory of an unused buffer. */
struct spare {
    struct spare *next;
    size_t cap;
};

void io_thread_get_buf(struct io_thread *io, struct fumi_buf *b)
{
    struct spare *s = io->spares;
    if (b->p || !s)
        return;
    io->spares = s->next;
    assert(io->spare_bytes >= s->cap);
    io->spare_bytes -= s->cap;
    *b = (struct fumi_buf){.p = (char *)s, .cap = s->cap};
}

void io_thread_put_buf(struct io_thread *io, struct fumi_buf *b)
{
    struct spare *s = (struct spare *)(void *)b->p;
    if (b->cap < sizeof(*s) || b->cap > SPARE_LARGEST || io->spare_bytes + b->cap > SPARE_BYTES) {
        fumi_buf_done(b);
        return;
    }
    *s = (struct spare){io->spares, b->cap};
    io->spares = s;
    io->spare_bytes += b->cap;
    *b = (struct fumi_buf){0};
}

static void free_spares(struct io_thread *io)
{
    for (struct spare *s; (s = io->spares);) {
        io->spares = s->next;
        fumi_resize(s, 0);
    }
}

/* Between two steps of a service in another event loop, its thread counts as any other thread. */
bool io_thread_is_current(const struct io_thread *io)
{
    return pthread_equal(io->thread, pthread_self()) && !io->outside_loop;
}

int64_t io_thread_now(const struct io_thread *io)
{
    return loop_now(io->loop);
}

enum { GRACE = 64 }; /* the grace period is 1/64 of the timeout */

static void set_times(struct io_thread *io, const struct fumi_settings *s)
{
    io->waits[WAIT_HEAD].time = s->head_time;
    io->waits[WAIT_BODY].time = s->body_time < 10000 ? s->body_time : 10000;
    io->waits[WAIT_RATE].time = 1000;
    io->waits[WAIT_IDLE].time = s->idle_time;
    io->waits[WAIT_IDLE].grace = s->idle_time / GRACE;
    io->waits[WAIT_WRITE].time = s->write_time;
    io->waits[WAIT_PING].time = s->ping_time;
    io->waits[WAIT_PING].grace = s->ping_time / GRACE;
    io->waits[WAIT_PONG].time = s->ping_time;
    io->waits[WAIT_CLOSE].time = 1000;
    io->waits[WAIT_HEARTBEAT].time = 15000;
    io->waits[WAIT_PAUSE].time = 250;
    io->waits[WAIT_LINGER].time = 250;
}

struct io_thread *io_thread_new(struct server_shared *shared, struct fumi_err *e)
{
    struct loop *loop = loop_new(e);
    if (!loop)
        return NULL;
    struct io_thread *io = fumi_resize(NULL, sizeof(*io));
    memset(io, 0, sizeof(*io));
    io->shared = shared;
    io->loop = loop;
    io->thread = pthread_self();
    io->block = fumi_resize(NULL, READ_BLOCK);
    io->head = fumi_resize(NULL, sizeof(*io->head));
    io->tick.on = on_tick;
    loop_before_wait(loop, before_sleep, io);
    io->ticks_at = INT64_MAX;
    io->common_at = -1;
    set_times(io, &shared->set);
    return io;
}

void io_thread_free(struct io_thread *io)
{
    assert(!io->conns && !io->first_scheduled);
    loop_free(io->loop);
    for (struct fumi_task *spare; (spare = fumi_tasks_take(&io->messages));)
        message_free(spare);
    fumi_spare_done(&io->memory);
    free_spares(io);
    fumi_resize(io->block, 0);
    fumi_resize(io->head, 0);
    fumi_resize(io, 0);
}

/* `what` may close any connection, so the cursor is part of the I/O thread: closing moves it. */
static void each(struct io_thread *io, void (*what)(struct conn *c))
{
    io->cursor = io->conns;
    for (struct conn *c; (c = io->cursor);) {
        io->cursor = c->next;
        what(c);
    }
}

void io_thread_drain(struct io_thread *io)
{
    io->draining = true;
    each(io, conn_drain);
}

void io_thread_cancel(struct io_thread *io)
{
    io->cancelled = true;
    each(io, conn_cancel_calls);
}

void io_thread_close_all(struct io_thread *io)
{
    each(io, conn_close);
    advance_scheduled(io); /* releases the pins of the list */
}
