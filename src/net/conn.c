/* A connection is freed when it is closed and nobody holds a pin (each message under way, the place
 * in the list of those to be looked after, and the work on it) and no word of another thread is on
 * its way. */
#include "net/conn.h"

#include "base/clock.h"
#include "net/ends.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    UNDER_WAY = 256,  /* messages that are not answered yet; then nothing more is begun */
    WEIGHT = 4,       /* times the message limit, or 1 MiB: bytes of these */
    ASKING = 4,       /* times both while a question is open: its answer must come in */
    QUEUED = 1 << 20, /* bytes not sent yet; then nothing more is begun */
    ROOM = 16 << 10,  /* least room for a read behind a rest */
};

struct fumi_buf *conn_out(struct conn *c)
{
    if (FUMI_MOSTLY(c->hub->current == c && c->sent == c->queue.n))
        return &c->hub->bag.text;
    return &c->queue;
}

/* Whether as many messages as may be are under way. */
static bool is_full(const struct conn *c, size_t weight)
{
    size_t most = WEIGHT * (c->limit > QUEUED ? c->limit : QUEUED);
    if (c->open * weight < UNDER_WAY && c->weight * weight < most)
        return false;
    return c->open * weight >= UNDER_WAY * ASKING || c->weight * weight >= most * ASKING ||
           !fumi_peer_asks(&c->peer);
}

/* When as many calls as may be are under way in all, those who have some wait for these. */
static bool is_crowded(const struct conn *c)
{
    const struct site *site = c->hub->site;
    return c->open &&
           atomic_load_explicit(&site->open, memory_order_relaxed) >= (size_t)site->set.queue &&
           !fumi_peer_asks(&c->peer);
}

/* Once held, it is let go at half the mark: to stop and start the reading has its price. */
bool conn_held(struct conn *c)
{
    size_t weight = c->held ? 2 : 1;
    bool waits = c->proto == &http_proto && c->as.http.phase >= RUNS;
    if (FUMI_MOSTLY(!waits && !c->held && !c->open && conn_unsent(c) < QUEUED))
        return false;
    c->held = waits || conn_unsent(c) * weight >= QUEUED || is_full(c, weight) || is_crowded(c);
    return c->held;
}

static __attribute__((cold)) void fail(struct conn *c, const char *what, int number)
{
    if (c->err && !c->err->code)
        fumi_err_set(c->err, FUMI_INTERNAL_ERROR, "%s: %s", what, strerror(number));
}

static void forget(struct conn *c)
{
    struct fumi_err ignored;
    hub_leave(c);
    loop_watch(c->hub->loop, &c->in, 0, &ignored);
    if (c->ends)
        loop_watch(c->hub->loop, &c->out, 0, &ignored);
    else
        close(c->in.fd);
    *(c->before ? &c->before->after : &c->hub->conns) = c->after;
    if (c->after)
        c->after->before = c->before;
}

void conn_part(struct conn *c)
{
    c->parted = true;
    fumi_peer_close(&c->peer);
    if (c->clogged)
        fumi_peer_hold(&c->peer, false); /* what was held back ends at once: it is cancelled */
    c->clogged = false;
}

/* The bytes of the connection that is worked on were sent, or nobody wants them. */
static void forget_bytes(struct hub *h)
{
    h->bag.text.n = h->begin;
    if (!h->begin)
        fumi_buf_reset(&h->bag.text, HUB_KEEP);
}

static void close_now(struct conn *c)
{
    c->closed = true;
    forget(c);
    conn_part(c);
    if (c->proto == &http_proto && c->as.http.rare.reply)
        message_left(c->as.http.rare.reply);
    if (c->hub->current == c)
        forget_bytes(c->hub);
    if (c->gone)
        c->gone(c);
}

/* What was answered is sent before. */
void conn_close(struct conn *c)
{
    if (c->closed)
        return;
    c->pins++;
    if (c->bagged)
        conn_send(c->hub);
    if (!c->closed)
        close_now(c);
    conn_unpin(c);
}

void conn_end(struct conn *c)
{
    c->ending = true;
    if (c->hub->current != c)
        conn_soon(c);
}

static void conn_free(struct conn *c)
{
    struct hub *h = c->hub;
    c->proto->done(c);
    fumi_peer_done(&c->peer);
    fumi_buf_done(&c->rest);
    fumi_buf_done(&c->queue);
    fumi_resize(c, 0);
    atomic_fetch_sub(&h->site->conns, 1);
    atomic_fetch_sub(&h->conns_n, 1);
    if (h->empty && atomic_load(&h->conns_n) == 0)
        h->empty(h);
}

void conn_settle(struct conn *c)
{
    if (FUMI_RARELY(c->closed) && c->pins == 0 && atomic_load(&c->away) == 0)
        conn_free(c);
}

void conn_unpin(struct conn *c)
{
    c->pins--;
    conn_settle(c);
}

static ssize_t send_some(struct conn *c, const char *p, size_t n)
{
    ssize_t did;
    do
        did = FUMI_RARELY(c->ends) ? ends_write(c->ends, p, n) : send(c->in.fd, p, n, MSG_NOSIGNAL);
    while (FUMI_RARELY(did < 0) && errno == EINTR);
    if (FUMI_MOSTLY(did >= 0)) {
        count_add(&c->hub->bytes_out, (size_t)did);
        return did;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        c->blocked = true;
        return 0;
    }
    fail(c, "stdout", errno);
    conn_close(c);
    return -1;
}

static size_t send_all(struct conn *c, const char *p, size_t n)
{
    size_t sent = 0;
    while (sent < n && !c->blocked) {
        ssize_t did = send_some(c, p + sent, n - sent);
        if (did < 0)
            return n;
        sent += (size_t)did;
    }
    return sent;
}

/* What is left moves to the front once a third is sent, so the queue never holds much more than
 * what waits, and a byte is moved twice on average. */
static void compact(struct conn *c)
{
    size_t left = c->queue.n - c->sent;
    if (left > 2 * c->sent)
        return;
    if (left == 0)
        fumi_buf_done(&c->queue);
    else
        memmove(c->queue.p, c->queue.p + c->sent, left);
    c->queue.n = left;
    c->sent = 0;
}

static void flush_queue(struct conn *c)
{
    size_t did = send_all(c, c->queue.p + c->sent, c->queue.n - c->sent);
    if (c->closed)
        return;
    c->sent += did;
    c->fresh |= did > 0;
    compact(c);
}

/* What is left of bytes that are older than the queue. */
static void queue_first(struct conn *c, const char *p, size_t n)
{
    if (!n || !fumi_buf_reserve(&c->queue, n))
        return;
    memmove(c->queue.p + n, c->queue.p, c->queue.n);
    memcpy(c->queue.p, p, n);
    c->queue.n += n;
}

static void flush(struct conn *c)
{
    struct hub *h = c->hub;
    struct fumi_buf *out = &h->bag.text;
    if (FUMI_RARELY(c->queue.n))
        flush_queue(c);
    if (c->closed || out->n == h->begin)
        return;
    size_t did = send_all(c, out->p + h->begin, out->n - h->begin);
    if (c->closed)
        return;
    fumi_buf_add(&c->queue, out->p + h->begin + did, out->n - h->begin - did);
    forget_bytes(h);
}

static void settle(struct conn *c);

/* Sends the bytes of the next slip. */
static void send_slip(struct hub *h)
{
    struct bag *b = &h->bag;
    struct conn *c = b->slips[b->next].c;
    const char *p = b->text.p + b->sent;
    size_t n = b->slips[b->next++].end - b->sent;
    b->sent += n;
    c->bagged = false;
    size_t did = FUMI_RARELY(c->closed) ? n : send_all(c, p, n);
    if (FUMI_RARELY(did < n)) {
        queue_first(c, p + did, n - did);
        settle(c);
    }
    conn_unpin(c);
}

/* Behind what is in the bag there may be bytes of the connection that is worked on. */
void conn_send(struct hub *h)
{
    struct bag *b = &h->bag;
    if (!b->slips_n)
        return;
    while (b->next < b->slips_n)
        send_slip(h);
    size_t left = b->text.n - b->sent;
    if (left)
        memmove(b->text.p, b->text.p + b->sent, left);
    else
        fumi_buf_reset(&b->text, HUB_KEEP);
    b->text.n = left;
    b->slips_n = b->next = b->sent = h->begin = 0;
}

/* What the protocol did not take is kept for later. The bytes are the rest itself, or the hub's. */
static void keep(struct conn *c, const char *p, size_t n)
{
    if (FUMI_MOSTLY(n == 0)) {
        if (FUMI_RARELY(c->rest.p))
            fumi_buf_done(&c->rest);
        return;
    }
    if (c->rest.p && p >= c->rest.p && p <= c->rest.p + c->rest.n)
        memmove(c->rest.p, p, n);
    else
        fumi_buf_add(&c->rest, p, n);
    c->rest.n = n;
}

/* A protocol takes all that it can; after a change of protocol the new one goes on. */
static void feed(struct conn *c, char *p, size_t n)
{
    const struct proto *proto;
    size_t used = 0;
    if (FUMI_RARELY(!n))
        p = c->hub->block; /* no bytes, but a place */
    do {
        proto = c->proto;
        used += proto->take(c, p + used, n - used, c->over);
    } while (FUMI_RARELY(c->proto != proto) && !c->closed && !c->ending);
    if (FUMI_RARELY(c->closed))
        return;
    keep(c, p + used, c->ending ? 0 : n - used);
}

static ssize_t receive(struct conn *c, char *to, size_t n)
{
    ssize_t got;
    do
        got = FUMI_RARELY(c->ends) ? ends_read(c->ends, to, n) : recv(c->in.fd, to, n, 0);
    while (FUMI_RARELY(got < 0) && errno == EINTR);
    if (FUMI_MOSTLY(got > 0))
        count_add(&c->hub->bytes_in, (size_t)got);
    return got;
}

/* The end of input, or a fault. A descriptor that cannot be read at all has nothing for us: nohup
 * gives such a one. */
static void end_input(struct conn *c, int number)
{
    if (number == EAGAIN || number == EWOULDBLOCK)
        return;
    c->over = true;
    if (number && number != EBADF)
        fail(c, "stdin", number);
    if (c->shut || (number && (!c->ends || number == ECONNRESET))) {
        conn_close(c);
        return;
    }
    if (c->proto == &http_proto && c->as.http.rare.watched) {
        conn_close(c);
        return;
    }
    fumi_peer_eof(&c->peer);
    if (!c->ending)
        feed(c, c->rest.p, c->rest.n);
}

/* One read a turn, so that the others get theirs. Without a rest, the bytes are taken where the hub
 * reads them; behind one, there is room for what the protocol waits for. */
static void read_in(struct conn *c)
{
    char *to = c->hub->block;
    size_t room = HUB_BLOCK;
    if (FUMI_RARELY(c->rest.n) && !c->ending) {
        to = fumi_buf_reserve(&c->rest, c->want > c->rest.n + ROOM ? c->want - c->rest.n : ROOM);
        room = c->rest.cap - c->rest.n;
    }
    ssize_t got = receive(c, to, room);
    c->dry = got < (ssize_t)room;
    if (FUMI_RARELY(got <= 0)) {
        end_input(c, got < 0 ? errno : 0);
        return;
    }
    if (FUMI_RARELY(c->ending))
        return;
    if (FUMI_RARELY(to != c->hub->block)) {
        c->rest.n += (size_t)got;
        to = c->rest.p;
        got = (ssize_t)c->rest.n;
    }
    if (FUMI_RARELY(got > BAG_MESSAGE))
        conn_send(c->hub); /* this may take a while */
    feed(c, to, (size_t)got);
}

static void watch_anew(struct conn *c, struct watch *w, unsigned events)
{
    struct fumi_err e;
    if (!loop_watch(c->hub->loop, w, events, &e))
        return;
    if (c->err && !c->err->code)
        *c->err = e;
    fumi_log(c->hub->site->log, FUMI_ERROR, "conn.watch", {"why", fumi_str(e.text), 0});
    conn_close(c);
}

static void watch(struct conn *c, struct watch *w, unsigned events)
{
    if (FUMI_RARELY(w->events != events))
        watch_anew(c, w, events);
}

static void watch_both(struct conn *c)
{
    bool full = FUMI_RARELY(c->held) && (c->rest.n >= HUB_BLOCK || c->queue.n - c->sent >= QUEUED);
    unsigned in = FUMI_RARELY(c->over || full) ? 0 : LOOP_READ;
    unsigned out = FUMI_RARELY(c->queue.n) ? LOOP_WRITE : 0;
    if (FUMI_MOSTLY(!c->ends)) {
        watch(c, &c->in, in | out);
        return;
    }
    watch(c, &c->in, in);
    if (!c->closed)
        watch(c, &c->out, out);
}

/* Everything is sent, nothing is open: our side closes. Bytes that the peer sent meanwhile would
 * make the system reset the connection and the answer with it, so they are read until it closes
 * too, for a while. */
static void shut(struct conn *c)
{
    if (c->shut)
        return;
    c->shut = true;
    if (c->over || c->ends || shutdown(c->in.fd, SHUT_WR))
        conn_close(c);
}

static void hold_answers(struct conn *c, bool clogged)
{
    if (FUMI_MOSTLY(c->parted || clogged == c->clogged))
        return;
    c->clogged = clogged;
    fumi_peer_hold(&c->peer, clogged);
}

/* A server that ends does not wait long for peers to close too. */
static enum wait closing(const struct conn *c)
{
    return c->hub->draining ? WAIT_LINGER : WAIT_CLOSE;
}

static void settle(struct conn *c)
{
    size_t left = c->queue.n - c->sent;
    atomic_store_explicit(&c->backlog, left, memory_order_relaxed);
    hold_answers(c, left >= QUEUED);
    if (FUMI_RARELY(c->over) && !c->open && !c->rest.n)
        c->ending = true;
    if (FUMI_RARELY(c->ending) && !left)
        shut(c);
    if (FUMI_MOSTLY(!c->closed))
        watch_both(c);
    if (FUMI_MOSTLY(!c->closed && !left && !c->shut))
        hub_wait(c, c->proto->waits(c));
    else if (!c->closed)
        hub_wait(c, left ? WAIT_WRITE : closing(c));
}

/* The server ends. What lies in the socket was sent before that was known: it is read, one read a
 * turn as ever, and answered before the protocol ends the connection. */
static void wind_up(struct conn *c)
{
    if (!c->dry && !c->over && !c->ends && !c->held)
        read_in(c);
    if (!c->closed && !c->ending && !c->held && (c->dry || c->over))
        c->proto->drain(c);
    if (!c->closed)
        flush(c);
}

/* A protocol that stopped because too much was queued goes on when that was sent. */
static void advance(struct conn *c)
{
    flush(c);
    while (FUMI_RARELY(c->held) && !c->closed && !c->ending && !conn_held(c)) {
        feed(c, c->rest.p, c->rest.n);
        flush(c);
    }
    if (FUMI_RARELY(c->hub->draining) && !c->closed && !c->ending)
        wind_up(c);
    if (FUMI_MOSTLY(!c->closed))
        settle(c);
}

/* False: it was closed by now, and may be gone. */
static bool begin_work(struct conn *c)
{
    struct hub *h = c->hub;
    c->pins++;
    if (FUMI_RARELY(c->bagged))
        conn_send(h);
    if (FUMI_RARELY(c->closed)) {
        conn_unpin(c);
        return false;
    }
    h->current = c;
    h->begin = h->bag.text.n;
    return true;
}

/* Whether its answers can wait for the end of the turn: nothing depends on whether they are sent.
 */
static bool may_wait(const struct conn *c)
{
    const struct hub *h = c->hub;
    return h->bag.text.n > h->begin && !c->queue.n && !c->held && !c->over && !c->ending &&
           !h->draining && !c->ends;
}

/* The pin of the work on it becomes that of the bag. */
static void put_off(struct conn *c)
{
    struct bag *b = &c->hub->bag;
    int64_t now = fumi_ticks();
    if (!b->slips_n)
        b->began = now;
    c->bagged = true;
    b->slips[b->slips_n].c = c;
    b->slips[b->slips_n++].end = b->text.n;
    if (b->slips_n == BAG_SLIPS || b->text.n >= BAG_BYTES || now - b->began >= BAG_TIME)
        conn_send(c->hub);
}

static void end_work(struct conn *c)
{
    bool later = FUMI_MOSTLY(!c->closed && may_wait(c));
    if (later)
        settle(c);
    else if (!c->closed)
        advance(c);
    c->hub->current = NULL;
    if (FUMI_MOSTLY(later && !c->closed))
        put_off(c);
    else
        conn_unpin(c);
}

void conn_work(struct conn *c)
{
    if (!begin_work(c))
        return;
    if (!c->ending && (c->rest.n || c->over))
        feed(c, c->rest.p, c->rest.n);
    end_work(c);
}

static void on_in(struct watch *w, unsigned events)
{
    struct conn *c = FUMI_OWNER(w, struct conn, in);
    if (FUMI_RARELY(events & LOOP_WRITE))
        c->blocked = false;
    if (!begin_work(c))
        return;
    if (FUMI_MOSTLY(events & LOOP_READ))
        read_in(c);
    end_work(c);
}

static void on_out(struct watch *w, unsigned events)
{
    struct conn *c = FUMI_OWNER(w, struct conn, out);
    (void)events;
    c->blocked = false;
    if (begin_work(c))
        end_work(c);
}

void conn_become(struct conn *c, const struct proto *proto)
{
    c->proto->done(c);
    memset(&c->as, 0, sizeof(c->as));
    c->proto = proto;
    c->peer.transport = proto->name;
    c->peer.push = proto == &http_proto ? NULL : conn_push;
    c->peer.unasked = proto == &http_proto;
    c->mute = false;
    c->want = 0;
}

static struct conn *conn_make(struct hub *h, const struct proto *proto)
{
    struct conn *c = fumi_resize(NULL, sizeof(*c));
    memset(c, 0, sizeof(*c));
    c->hub = h;
    c->proto = proto;
    c->in.ready = on_in;
    c->out.ready = on_out;
    c->limit = h->site->message;
    c->peer.spare = &h->memory;
    c->after = h->conns;
    if (c->after)
        c->after->before = c;
    h->conns = c;
    atomic_fetch_add(&h->site->conns, 1);
    atomic_fetch_add(&h->conns_n, 1);
    conn_become(c, proto);
    return c;
}

struct conn *conn_new(struct hub *h, int fd, const struct proto *proto)
{
    struct conn *c = conn_make(h, proto);
    c->in.fd = fd;
    count_add(&h->accepted, 1);
    guest_meet(&c->guest, fd);
    return c;
}

struct conn *conn_over(struct hub *h, const struct ends *ends, const struct proto *proto)
{
    struct conn *c = conn_make(h, proto);
    c->ends = ends;
    c->in.fd = ends->in.fd;
    c->out.fd = ends->out.fd;
    return c;
}

void conn_drain(struct conn *c)
{
    if (!begin_work(c))
        return;
    c->dry = false;
    if (c->ends)
        c->proto->drain(c);
    end_work(c);
}
