/* A connection is freed when it is closed and nothing refers to it: no pins, and no tasks of other
 * threads in transit. Each message under way holds a pin, and so does the list of scheduled
 * connections. Every callback schedules its connection first, so the connection stays valid until
 * the callback returns, even if it is closed. */
#include "net/conn.h"

#include "net/stdio_fds.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    UNDER_WAY = 256,  /* limit of messages that are not answered yet */
    WEIGHT = 4,       /* limit of their bytes: times the message limit, or times 1 MiB */
    REQUESTING = 4,   /* times both limits while the peer owes us an answer, which must be read */
    QUEUED = 1 << 20, /* limit of unsent bytes */
    READ_MIN = 16 << 10, /* minimum space for a read after unconsumed input */
};

struct fumi_buf *conn_out(struct conn *c)
{
    conn_schedule(c);
    io_thread_get_buf(c->io, &c->queue);
    return &c->queue;
}

static size_t under_way(const struct conn *c)
{
    return c->open + atomic_load_explicit(&c->late_calls, memory_order_relaxed);
}

/* Whether the limit of messages under way, or of their bytes, is reached. */
static bool is_full(const struct conn *c, size_t weight)
{
    size_t most = WEIGHT * (c->limit > QUEUED ? c->limit : QUEUED), open = under_way(c);
    if (open * weight < UNDER_WAY && c->weight * weight < most)
        return false;
    return open * weight >= UNDER_WAY * REQUESTING || c->weight * weight >= most * REQUESTING ||
           !fumi_peer_waits(&c->peer);
}

/* Whether the limit of calls of the whole service is reached. A connection without a call under way
 * may always start one. */
static bool is_crowded(const struct conn *c)
{
    const struct server_shared *shared = c->io->shared;
    return under_way(c) &&
           atomic_load_explicit(&shared->open, memory_order_relaxed) >= (size_t)shared->set.queue &&
           !fumi_peer_waits(&c->peer);
}

/* A held connection is released at half of each limit, because switching reading off and on has a
 * cost. */
bool conn_held(struct conn *c)
{
    size_t weight = c->held ? 2 : 1;
    bool busy = c->proto->busy && c->proto->busy(c);
    size_t unsent = conn_unsent(c) + c->waiting;
    c->held = busy || unsent * weight >= QUEUED || is_full(c, weight) || is_crowded(c);
    return c->held;
}

static __attribute__((cold)) void fail(struct conn *c, const char *what, int number)
{
    if (c->err && !c->err->code)
        fumi_err_set(c->err, FUMI_INTERNAL_ERROR, "%s: %s", what, strerror(number));
}

/* Removes it from the event loop and from the list of the I/O thread. */
static void detach(struct conn *c)
{
    struct fumi_err ignored;
    struct io_thread *io = c->io;
    assert(c->prev ? c->prev->next == c : io->conns == c);
    conn_clear_wait(c);
    loop_watch(io->loop, &c->in, 0, &ignored);
    if (c->stdio)
        loop_watch(io->loop, &c->out, 0, &ignored);
    else
        close(c->in.fd);
    *(c->prev ? &c->prev->next : &io->conns) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    if (io->cursor == c)
        io->cursor = c->next;
}

void conn_cancel_calls(struct conn *c)
{
    (conn_closed(c) ? fumi_peer_close : fumi_peer_end)(&c->peer);
    if (c->calls_held) /* calls that were held back are cancelled, so they end at once */
        fumi_peer_hold(&c->peer, FUMI_HOLD_NONE);
    c->calls_held = FUMI_HOLD_NONE;
}

static void close_now(struct conn *c)
{
    assert(!conn_closed(c) && io_thread_is_current(c->io));
    c->state = CONN_CLOSED;
    detach(c);
    conn_cancel_calls(c);
    if (c->proto->closed)
        c->proto->closed(c);
    io_thread_put_buf(c->io, &c->queue);
    c->sent = 0;
    if (c->on_close)
        c->on_close(c);
}

void conn_end(struct conn *c)
{
    if (conn_accepts_input(c))
        c->state = c->state == CONN_EOF ? CONN_LAST : CONN_ENDING;
    conn_schedule(c);
}

static void protocol_done(struct conn *c)
{
    if (c->proto->done)
        c->proto->done(c);
}

static void conn_free(struct conn *c)
{
    struct io_thread *io = c->io;
    assert(conn_closed(c) && !c->pins && !c->open && !c->oldest);
    protocol_done(c);
    fumi_source_release(c->source);
    fumi_peer_done(&c->peer);
    io_thread_put_buf(io, &c->rest);
    io_thread_put_buf(io, &c->queue);
    fumi_resize(c, 0);
    atomic_fetch_sub(&io->shared->conns, 1);
    atomic_fetch_sub(&io->conns_n, 1);
    if (io->on_empty && atomic_load(&io->conns_n) == 0)
        io->on_empty(io);
}

void conn_announce(struct conn *c)
{
    const struct fumi_serve_options *o = c->io->shared->options;
    c->announced = o->disconnected;
    if (o->connected)
        o->connected(o->arg, &c->peer);
}

/* options.disconnected is called once no call runs. Until it returns, threads of the host program
 * may push to the peer. Pushed messages in transit delay freeing the connection but not the call of
 * the hook: otherwise a thread that pushes without pause would keep the connection forever. */
void conn_free_if_unused(struct conn *c)
{
    const struct fumi_serve_options *o = c->io->shared->options;
    if (!conn_closed(c) || c->pins)
        return;
    if (c->announced && atomic_load(&c->late_calls) == 0) {
        c->announced = false;
        o->disconnected(o->arg, &c->peer);
    }
    if (!c->announced && atomic_load(&c->in_transit) == 0)
        conn_free(c);
}

void conn_unpin(struct conn *c)
{
    assert(c->pins > 0);
    c->pins--;
    conn_free_if_unused(c);
}

static ssize_t send_some(struct conn *c)
{
    const char *p = c->queue.p + c->sent;
    size_t n = conn_unsent(c);
    ssize_t did;
    do
        did = c->stdio ? stdio_fds_write(c->stdio, p, n) : send(c->in.fd, p, n, MSG_NOSIGNAL);
    while (did < 0 && errno == EINTR);
    return did;
}

/* Unsent bytes move to the front once a third of the queue is sent, so the queue is never much
 * larger than the unsent bytes, and a byte is moved twice on average. */
static void compact(struct conn *c)
{
    size_t left = conn_unsent(c);
    if (left > 2 * c->sent)
        return;
    if (left == 0)
        io_thread_put_buf(c->io, &c->queue);
    else
        memmove(c->queue.p, c->queue.p + c->sent, left);
    c->queue.n = left;
    c->sent = 0;
}

/* Sends as much as the kernel accepts without blocking. */
static void write_out(struct conn *c)
{
    ssize_t did = 0;
    size_t before = c->sent;
    while (conn_unsent(c) && (did = send_some(c)) > 0)
        c->sent += (size_t)did;
    count_add(&c->io->bytes_out, c->sent - before);
    if (did < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
        fail(c, "stdout", errno);
        close_now(c);
        return;
    }
    if (c->sent > before && c->wait == WAIT_WRITE)
        conn_clear_wait(c); /* the peer accepted bytes: its timeout starts again */
    compact(c);
}

/* While the event loop waits for LOOP_WRITE, the kernel accepts no bytes. */
static void flush(struct conn *c)
{
    const struct watch *w = c->stdio ? &c->out : &c->in;
    if (conn_unsent(c) && !(w->events & LOOP_WRITE))
        write_out(c);
}

void conn_close(struct conn *c)
{
    if (conn_closed(c))
        return;
    c->pins++; /* write_out may close it */
    flush(c);
    if (!conn_closed(c))
        close_now(c);
    conn_unpin(c);
}

/* Stores input that the protocol did not consume. The bytes are part of c->rest, or of the I/O
 * thread's block. */
static void keep(struct conn *c, const char *p, size_t n)
{
    if (n == 0) {
        io_thread_put_buf(c->io, &c->rest);
        return;
    }
    if (c->rest.p && p >= c->rest.p && p <= c->rest.p + c->rest.n) {
        memmove(c->rest.p, p, n);
    } else {
        io_thread_get_buf(c->io, &c->rest);
        fumi_buf_add(&c->rest, p, n);
    }
    c->rest.n = n;
}

/* If the protocol changes, the new one continues with the unconsumed bytes. */
static void feed(struct conn *c, char *p, size_t n)
{
    const struct proto *proto;
    size_t used = 0;
    if (!n)
        p = c->io->block; /* protocols expect a pointer even without bytes */
    do {
        proto = c->proto;
        used += proto->take(c, p + used, n - used, c->state == CONN_EOF);
    } while (c->proto != proto && conn_accepts_input(c));
    if (!conn_closed(c))
        keep(c, p + used, conn_accepts_input(c) ? n - used : 0);
}

static ssize_t receive(struct conn *c, char *to, size_t n)
{
    ssize_t got;
    do
        got = c->stdio ? stdio_fds_read(c->stdio, to, n) : recv(c->in.fd, to, n, 0);
    while (got < 0 && errno == EINTR);
    if (got > 0)
        count_add(&c->io->bytes_in, (size_t)got);
    return got;
}

bool conn_input_empty(const struct conn *c)
{
    char byte;
    return c->stdio || recv(c->in.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

/* At the end of input (number 0) or after a read error. EBADF counts as the end of input: nohup
 * opens stdin for writing only. */
static void end_input(struct conn *c, int number)
{
    bool takes = conn_accepts_input(c), broken = number && (!c->stdio || number == ECONNRESET);
    if (number == EAGAIN || number == EWOULDBLOCK)
        return;
    if (number && number != EBADF)
        fail(c, "stdin", number);
    if (broken || c->state == CONN_SHUT ||
        (c->proto->eof_is_hangup && c->proto->eof_is_hangup(c))) {
        conn_close(c);
        return;
    }
    c->state = takes ? CONN_EOF : CONN_LAST;
    fumi_peer_eof(&c->peer);
    if (takes)
        feed(c, c->rest.p, c->rest.n);
}

/* Reads once per iteration of the event loop, so that other connections get their turn. Without
 * unconsumed input, the bytes are read into the I/O thread's block and consumed there. Otherwise
 * they are appended to that input, with space for the whole message that the protocol waits for. */
static void read_in(struct conn *c)
{
    char *to = c->io->block;
    size_t space = READ_BLOCK;
    if (c->rest.n) {
        to = fumi_buf_reserve(&c->rest,
                              c->want > c->rest.n + READ_MIN ? c->want - c->rest.n : READ_MIN);
        space = c->rest.cap - c->rest.n;
    }
    ssize_t got = receive(c, to, space);
    if (got <= 0) {
        end_input(c, got < 0 ? errno : 0);
        return;
    }
    if (!conn_accepts_input(c))
        return;
    if (to != c->io->block) {
        c->rest.n += (size_t)got;
        to = c->rest.p;
        got = (ssize_t)c->rest.n;
    }
    feed(c, to, (size_t)got);
}

static void watch(struct conn *c, struct watch *w, unsigned events)
{
    struct fumi_err e;
    if (conn_closed(c) || w->events == events || !loop_watch(c->io->loop, w, events, &e))
        return;
    if (c->err && !c->err->code)
        *c->err = e;
    fumi_log(c->io->shared->log, FUMI_ERROR, "conn.watch", {"why", fumi_str(e.text), 0});
    conn_close(c);
}

static void watch_both(struct conn *c)
{
    bool full = c->held && (c->rest.n >= READ_BLOCK || conn_unsent(c) >= QUEUED);
    bool over = c->state == CONN_EOF || c->state == CONN_LAST;
    unsigned in = over || full ? 0 : LOOP_READ;
    unsigned out = conn_unsent(c) ? LOOP_WRITE : 0;
    if (!c->stdio) {
        watch(c, &c->in, in | out);
        return;
    }
    watch(c, &c->in, in);
    watch(c, &c->out, out);
}

/* Closes after all output is sent. If unread input were left, the kernel would reset the connection
 * and the peer could lose the answer. So only our side is shut down, and input is read until the
 * peer closes too, or WAIT_CLOSE times out. */
static void shut(struct conn *c)
{
    if (c->state == CONN_LAST || c->stdio || shutdown(c->in.fd, SHUT_WR))
        conn_close(c);
    else
        c->state = CONN_SHUT;
}

/* While answers wait for an earlier one, the earlier call must be able to run. */
static void hold_calls(struct conn *c)
{
    enum fumi_hold hold = conn_unsent(c) >= QUEUED ? FUMI_HOLD_ALL
                          : c->waiting >= QUEUED   ? FUMI_HOLD_LATER
                                                   : FUMI_HOLD_NONE;
    if (c->io->cancelled || hold == c->calls_held)
        return;
    c->calls_held = hold;
    fumi_peer_hold(&c->peer, hold);
}

/* While the server shuts down, it waits for a shorter time for peers to close. */
static enum wait waits(struct conn *c)
{
    if (conn_unsent(c))
        return WAIT_WRITE;
    if (c->state == CONN_SHUT)
        return c->io->draining ? WAIT_LINGER : WAIT_CLOSE;
    return c->proto->waits ? c->proto->waits(c) : WAIT_NONE;
}

/* Chooses the next state, events and timeout after everything possible was sent. */
static void update_state(struct conn *c)
{
    size_t left = conn_unsent(c);
    atomic_store_explicit(&c->backlog, left, memory_order_relaxed);
    hold_calls(c);
    if (c->state == CONN_EOF && !c->open && !c->rest.n)
        c->state = CONN_LAST;
    if ((c->state == CONN_ENDING || c->state == CONN_LAST) && !left)
        shut(c);
    if (!conn_closed(c))
        watch_both(c);
    if (!conn_closed(c))
        conn_set_wait(c, waits(c));
}

/* Held input is handled once enough output was sent. While the server shuts down, bytes that are
 * already in the socket are still read and answered before the protocol drains. */
void conn_advance(struct conn *c)
{
    flush(c);
    while (c->held && conn_accepts_input(c) && !conn_held(c)) {
        feed(c, c->rest.p, c->rest.n);
        if (!conn_closed(c))
            flush(c);
    }
    if (c->io->draining && conn_accepts_input(c) && !c->held && conn_input_empty(c))
        c->proto->drain(c);
    if (!conn_closed(c))
        update_state(c);
}

static void on_in(struct watch *w, unsigned events)
{
    struct conn *c = FUMI_OWNER(w, struct conn, in);
    conn_schedule(c);
    if (events & LOOP_WRITE)
        write_out(c);
    if (events & LOOP_READ && !conn_closed(c))
        read_in(c);
}

static void on_out(struct watch *w, unsigned events)
{
    struct conn *c = FUMI_OWNER(w, struct conn, out);
    (void)events;
    conn_schedule(c);
    write_out(c);
}

void conn_set_proto(struct conn *c, const struct proto *proto)
{
    assert(!conn_closed(c));
    protocol_done(c);
    memset(&c->as, 0, sizeof(c->as));
    c->proto = proto;
    c->peer.transport = proto->name;
    c->peer.push = proto->pushes ? conn_push : NULL;
    c->peer.no_requests = !proto->pushes;
    c->want = 0;
}

static struct conn *conn_make(struct io_thread *io, const struct proto *proto)
{
    struct conn *c = fumi_resize(NULL, sizeof(*c));
    memset(c, 0, sizeof(*c));
    c->state = CONN_OPEN;
    c->io = io;
    c->peer.keep = conn_keep_late;
    c->proto = proto;
    c->in.ready = on_in;
    c->out.ready = on_out;
    c->limit = io->shared->message;
    c->peer.spare = &io->memory;
    c->next = io->conns;
    if (c->next)
        c->next->prev = c;
    io->conns = c;
    atomic_fetch_add(&io->shared->conns, 1);
    atomic_fetch_add(&io->conns_n, 1);
    conn_set_proto(c, proto);
    return c;
}

struct conn *conn_new(struct io_thread *io, int fd, const struct proto *proto)
{
    struct conn *c = conn_make(io, proto);
    c->in.fd = fd;
    count_add(&io->accepted, 1);
    access_client_init(&c->client, fd);
    return c;
}

struct conn *conn_new_stdio(struct io_thread *io, const struct stdio_fds *stdio,
                            const struct proto *proto)
{
    struct conn *c = conn_make(io, proto);
    c->stdio = stdio;
    c->in.fd = stdio->in.fd;
    c->out.fd = stdio->out.fd;
    return c;
}

void conn_drain(struct conn *c)
{
    conn_schedule(c);
    if (c->stdio)
        c->proto->drain(c);
}
