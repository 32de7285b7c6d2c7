/* One talk: lines come in through a block of memory, are handled where they lie, and their answers
 * gather in a queue that is written once per turn of the loop.
 *
 * A message borrows its bytes from the block until it is answered. Most are answered before
 * fumi_handle returns; for the others the block is counted, and the talk goes on in a fresh one as
 * soon as the old one is used up. All fields belong to the loop's thread but for what is marked;
 * answers from other threads come home as posted tasks. */
#include "net/stdio.h"

#include "base/arena.h"
#include "net/ends.h"
#include "net/loop.h"
#include "net/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum {
    LINE = 1 << 20,      /* default of fumi_stdio_options.line */
    THREADS = 4,         /* of .threads */
    DRAIN = 800,         /* of .drain */
    GRACE = 100,         /* milliseconds for cancelled calls to notice it */
    BLOCK = 64 << 10,    /* bytes of an ordinary block */
    ROOM = 16 << 10,     /* least room for a read */
    UNDER_WAY = 1 << 10, /* messages that are not answered yet; then nothing more is begun */
    ASKING = 4,          /* times both of these while a question is open: its answer must come in */
    PINNED = 4,          /* times the line limit, or a default one: memory that these may hold */
    QUEUED = 1 << 20,    /* bytes not written yet; then nothing more is begun */
    TOLD = 16 << 20,     /* bytes not written yet; then what belongs to no answer is dropped */
    QUEUE_KEEP = 1 << 18 /* memory that an empty queue keeps */
};

struct block {
    size_t users; /* the reader and the messages that lie in it */
    bool left;    /* by the reader, to its messages */
    size_t cap;
    char bytes[];
};

struct message {
    struct fumi_task task;
    struct talk *talk;
    struct block *block;
    struct fumi_buf answer; /* on its way home */
    atomic_bool told;       /* another thread has said something: what follows takes its way */
};

/* Something told by another thread, on its way home. */
struct word {
    struct fumi_task task;
    struct talk *talk;
    struct fumi_buf text;
};

struct talk {
    struct fumi_peer peer;
    struct fumi_spare memory;
    struct loop *loop;
    pthread_t thread;
    fumi_handle_fn *handle;
    void *handler;
    const struct fumi_log *log;
    int64_t drain;
    struct ends ends;
    struct watch in, out;

    struct block *block;
    size_t start, seen, end; /* in the block: next line; no newline before; bytes read */
    size_t limit;
    bool skipping; /* the rest of a line that was too long */
    bool ended;    /* nothing more is read */
    bool held;     /* nothing more is begun until others are answered or written */

    struct fumi_tasks spare; /* messages for use */
    size_t open;             /* messages under way */
    size_t pinned;           /* bytes of blocks that are left to them */
    struct fumi_buf queue;
    size_t sent; /* of the queue */
    struct fumi_task flush;
    bool flushing; /* `flush` is posted */
    bool blocked;  /* stdout takes nothing now */
    bool broken;   /* stdout takes nothing any more */
    bool parted;   /* fumi_peer_close was called */
    bool clogged;  /* fumi_peer_hold was called: its answers are not taken */
    bool signalled;
    struct timer deadline;
    struct fumi_err err;
    atomic_size_t backlog; /* any thread: bytes in the queue, as of the last turn */
    atomic_size_t away;    /* any thread: bytes in words on their way home */
    atomic_bool dropped;   /* any thread: a word was dropped and logged */
};

static bool is_here(const struct talk *t)
{
    return pthread_equal(t->thread, pthread_self());
}

static bool is_direct(const struct message *m)
{
    return is_here(m->talk) && !atomic_load_explicit(&m->told, memory_order_relaxed);
}

static struct block *block_new(size_t cap)
{
    struct block *b = fumi_resize(NULL, sizeof(*b) + cap);
    b->users = 1;
    b->left = false;
    b->cap = cap;
    return b;
}

static void block_put(struct talk *t, struct block *b)
{
    if (--b->users)
        return;
    t->pinned -= b->left ? b->cap : 0;
    fumi_resize(b, 0);
}

static struct message *message_new(struct talk *t)
{
    struct fumi_task *spare = fumi_tasks_take(&t->spare);
    struct message *m = spare ? FUMI_OWNER(spare, struct message, task)
                              : fumi_resize(NULL, sizeof(*m));
    *m = (struct message){.talk = t, .block = t->block};
    m->block->users++;
    t->open++;
    return m;
}

static void message_done(struct message *m)
{
    struct talk *t = m->talk;
    block_put(t, m->block);
    fumi_tasks_add(&t->spare, &m->task);
    t->open--;
}

static void put(struct talk *t, const struct fumi_buf *text)
{
    if (!text->n || t->broken)
        return;
    char *to = fumi_buf_reserve(&t->queue, text->n + 1);
    memcpy(to, text->p, text->n);
    to[text->n] = '\n';
    t->queue.n += text->n + 1;
}

/* What came home in one burst leaves in one write: the first of it posts this behind the others. */
static void flush_soon(struct talk *t)
{
    if (t->flushing)
        return;
    t->flushing = true;
    loop_post(t->loop, &t->flush);
}

static void on_answer_home(struct fumi_task *task)
{
    struct message *m = FUMI_OWNER(task, struct message, task);
    put(m->talk, &m->answer);
    fumi_buf_done(&m->answer);
    flush_soon(m->talk);
    message_done(m);
}

static void on_reply(void *arg, struct fumi_buf *answer, int code)
{
    struct message *m = arg;
    (void)code;
    if (is_direct(m)) {
        put(m->talk, answer);
        message_done(m);
        return;
    }
    fumi_buf_move(&m->answer, answer);
    m->task.run = on_answer_home;
    loop_post(m->talk->loop, &m->task);
}

static void on_word_home(struct fumi_task *task)
{
    struct word *w = FUMI_OWNER(task, struct word, task);
    struct talk *t = w->talk;
    size_t n = w->text.n;
    put(t, &w->text);
    atomic_store(&t->backlog, t->queue.n - t->sent);
    atomic_fetch_sub(&t->away, n);
    fumi_buf_done(&w->text);
    fumi_resize(w, 0);
    flush_soon(t);
}

/* A peer that does not read must not make us grow, whatever a method tells it. */
static bool has_room(struct talk *t, size_t n)
{
    size_t queued = is_here(t) ? t->queue.n - t->sent : atomic_load(&t->backlog);
    if (queued + atomic_load(&t->away) + n <= TOLD)
        return true;
    if (!atomic_exchange(&t->dropped, true))
        fumi_log(t->log, FUMI_WARN, "stdio.dropped", {"limit", {0}, TOLD});
    return false;
}

static void send_home(struct talk *t, struct fumi_buf *text)
{
    struct word *w = fumi_resize(NULL, sizeof(*w));
    *w = (struct word){.task.run = on_word_home, .talk = t};
    atomic_fetch_add(&t->away, text->n);
    fumi_buf_move(&w->text, text);
    loop_post(t->loop, &w->task);
}

static void say(struct talk *t, struct fumi_buf *text, bool here)
{
    if (!has_room(t, text->n))
        return;
    if (here)
        put(t, text);
    else
        send_home(t, text);
}

static void on_tell(void *arg, struct fumi_buf *text)
{
    struct message *m = arg;
    bool here = is_direct(m);
    if (!here)
        atomic_store_explicit(&m->told, true, memory_order_relaxed);
    say(m->talk, text, here);
}

static void on_push(struct fumi_peer *peer, struct fumi_buf *text)
{
    struct talk *t = FUMI_OWNER(peer, struct talk, peer);
    say(t, text, is_here(t));
}

static void part(struct talk *t)
{
    if (t->parted)
        return;
    t->parted = true;
    fumi_peer_close(&t->peer);
    fumi_peer_hold(&t->peer, false); /* what was held back ends at once: it is cancelled */
}

static void end_input(struct talk *t)
{
    t->ended = true;
    fumi_peer_eof(&t->peer);
}

/* Lines that were read and not begun stay without answer. */
static void drop_lines(struct talk *t)
{
    t->start = t->seen = t->end;
}

static void fail(struct talk *t, const char *what, int number)
{
    if (!t->err.code)
        fumi_err_set(&t->err, FUMI_INTERNAL_ERROR, "%s: %s", what, strerror(number));
}

/* Nobody hears the answers any more. Open calls get the time of a drain to notice that. */
static void break_off(struct talk *t)
{
    struct fumi_err ignored;
    t->broken = true;
    t->ended = true;
    drop_lines(t);
    fumi_buf_done(&t->queue);
    t->sent = 0;
    part(t);
    loop_timer(t->loop, &t->deadline, t->drain, &ignored);
}

static void watch(struct talk *t, struct watch *end, unsigned events)
{
    struct fumi_err e;
    if (!loop_watch(t->loop, end, events, &e))
        return;
    if (!t->err.code)
        t->err = e;
    break_off(t);
}

/* What is left moves to the front once a third is sent, so the queue never holds much more than
 * what waits, and a byte is moved twice on average. */
static void compact(struct talk *t)
{
    size_t left = t->queue.n - t->sent;
    if (left > 2 * t->sent)
        return;
    if (left == 0)
        fumi_buf_reset(&t->queue, QUEUE_KEEP);
    else
        memmove(t->queue.p, t->queue.p + t->sent, left);
    t->queue.n = left;
    t->sent = 0;
}

static void write_out(struct talk *t)
{
    while (t->sent < t->queue.n && !t->blocked) {
        ssize_t did = ends_write(&t->ends, t->queue.p + t->sent, t->queue.n - t->sent);
        if (did >= 0) {
            t->sent += (size_t)did;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            t->blocked = true;
        } else if (errno != EINTR) {
            fail(t, "stdout", errno);
            break_off(t);
        }
    }
    compact(t);
}

static void refuse(struct talk *t)
{
    struct fumi_err e;
    fumi_err_set(&e, FUMI_INVALID_REQUEST, "the line is longer than the limit of %zu bytes",
                 t->limit);
    fumi_put_refusal(&t->queue, &e);
    fumi_buf_put(&t->queue, '\n');
}

static bool is_blank(struct fumi_str line)
{
    size_t i = 0;
    while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t' || line.p[i] == '\r'))
        i++;
    return i == line.n;
}

static void handle(struct talk *t, struct fumi_str line)
{
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    if (line.n > t->limit) {
        refuse(t);
        return;
    }
    if (is_blank(line))
        return;
    struct fumi_sink sink = {on_tell, on_reply, message_new(t)};
    t->handle(t->handler, &t->peer, line, sink);
}

/* There is no newline in the rest. At the end of input it is a line all the same; otherwise it is
 * kept, unless it is too long already: one byte more may be the CR of a line that just fits. */
static bool take_rest(struct talk *t, struct fumi_str *line)
{
    *line = (struct fumi_str){t->block->bytes + t->start, t->end - t->start};
    bool too_long = line->n > t->limit && line->n - t->limit > 1;
    t->seen = t->end;
    if (!line->n || !(t->ended || too_long || t->skipping))
        return false;
    t->start = t->end;
    if (t->skipping)
        return false;
    t->skipping = too_long;
    return true;
}

static bool take_line(struct talk *t, struct fumi_str *line)
{
    const char *bytes = t->block->bytes, *newline;
    while ((newline = memchr(bytes + t->seen, '\n', t->end - t->seen))) {
        *line = (struct fumi_str){bytes + t->start, (size_t)(newline - bytes) - t->start};
        t->start = t->seen = (size_t)(newline - bytes) + 1;
        if (!t->skipping)
            return true;
        t->skipping = false;
    }
    return take_rest(t, line);
}

/* Whether as many messages as may be are under way. */
static bool is_full(const struct talk *t, size_t weight)
{
    size_t most = PINNED * (t->limit > LINE ? t->limit : LINE);
    size_t times = t->open * weight / UNDER_WAY, pinned = t->pinned * weight / most;
    if (!times && !pinned)
        return false;
    return times >= ASKING || pinned >= ASKING || !fumi_peer_asks(&t->peer);
}

/* Once held, it is let go at half the mark: to stop and start the reading has its price. */
static bool is_held(struct talk *t)
{
    size_t weight = t->held ? 2 : 1;
    t->held = is_full(t, weight) || (t->queue.n - t->sent) * weight >= QUEUED;
    return t->held;
}

static bool has_lines(const struct talk *t)
{
    return t->seen < t->end || (t->ended && t->start < t->end);
}

static void settle(struct talk *t)
{
    size_t left = t->queue.n - t->sent;
    atomic_store_explicit(&t->backlog, left, memory_order_relaxed);
    if (t->clogged != (left >= QUEUED)) {
        t->clogged = left >= QUEUED;
        fumi_peer_hold(&t->peer, t->clogged);
    }
    watch(t, &t->out, left ? LOOP_WRITE : 0);
    watch(t, &t->in, t->ended || t->held ? 0 : LOOP_READ);
    if (t->ended && !has_lines(t) && !t->open && t->sent == t->queue.n)
        loop_stop(t->loop);
}

/* All that can be done now, after whatever happened. */
static void advance(struct talk *t)
{
    struct fumi_str line;
    do {
        while (!is_held(t) && take_line(t, &line))
            handle(t, line);
        write_out(t);
    } while (!is_held(t) && has_lines(t));
    settle(t);
}

static void on_flush(struct fumi_task *task)
{
    struct talk *t = FUMI_OWNER(task, struct talk, flush);
    t->flushing = false;
    advance(t);
}

static void on_output(struct watch *w, unsigned events)
{
    struct talk *t = FUMI_OWNER(w, struct talk, out);
    (void)events;
    t->blocked = false;
    advance(t);
}

/* Room for a read behind the rest of the last one. The usual block is used again and again; a
 * larger one is for one long line, and one that messages still lie in is left to them. */
static void make_room(struct talk *t)
{
    struct block *b = t->block;
    size_t rest = t->end - t->start, cap = BLOCK;
    bool mine = b->users == 1;
    if (b->cap - t->end >= ROOM && (rest || !mine))
        return;
    while (cap < rest + ROOM)
        cap *= 2;
    if (!mine || cap != b->cap)
        t->block = block_new(cap);
    memmove(t->block->bytes, b->bytes + t->start, rest);
    if (t->block != b) {
        b->left = true;
        t->pinned += b->cap;
        block_put(t, b);
    }
    t->seen -= t->start;
    t->start = 0;
    t->end = rest;
}

/* One read a turn, so that signals and answers get theirs. A descriptor that cannot be read at all
 * has nothing for us: nohup gives such a one. */
static void read_in(struct talk *t)
{
    make_room(t);
    ssize_t got = ends_read(&t->ends, t->block->bytes + t->end, t->block->cap - t->end);
    if (got > 0)
        t->end += (size_t)got;
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)))
        return;
    int number = got < 0 ? errno : 0;
    if (number && number != EBADF)
        fail(t, "stdin", number);
    end_input(t);
    if (number == ECONNRESET)
        break_off(t);
}

static void on_input(struct watch *w, unsigned events)
{
    struct talk *t = FUMI_OWNER(w, struct talk, in);
    (void)events;
    read_in(t);
    advance(t);
}

static void on_signal(void *arg, int number)
{
    struct talk *t = arg;
    struct fumi_err ignored;
    if (t->signalled)
        return;
    t->signalled = true;
    fumi_log(t->log, FUMI_INFO, "stdio.signal", {"signal", {0}, number},
             {"open", {0}, (int64_t)t->open});
    end_input(t);
    drop_lines(t);
    loop_timer(t->loop, &t->deadline, t->drain, &ignored);
    advance(t);
}

/* Calls that are still open are cancelled, and get a little time to notice. */
static void on_deadline(struct timer *timer)
{
    struct talk *t = FUMI_OWNER(timer, struct talk, deadline);
    struct fumi_err ignored;
    if (!t->open || t->parted) {
        loop_stop(t->loop);
        return;
    }
    part(t);
    loop_timer(t->loop, &t->deadline, GRACE, &ignored);
    advance(t);
}

static struct talk *talk_new(struct fumi_server *s, const struct fumi_stdio_options *o)
{
    struct talk *t = fumi_resize(NULL, sizeof(*t));
    *t = (struct talk){
        .peer = {.transport = "stdio", .push = on_push},
        .thread = pthread_self(),
        .handle = o->handle ? o->handle : fumi_handle,
        .handler = o->handle ? o->handler : s,
        .log = o->log,
        .drain = o->drain > 0 ? o->drain : DRAIN,
        .limit = o->line ? o->line
                 : s     ? fumi_server_get_limits(s).message
                         : LINE,
        .in.ready = on_input,
        .out.ready = on_output,
        .block = block_new(BLOCK),
        .flush.run = on_flush,
        .deadline.on = on_deadline,
    };
    t->peer.spare = &t->memory;
    return t;
}

static void talk_free(struct talk *t)
{
    for (struct fumi_task *spare; (spare = fumi_tasks_take(&t->spare));)
        fumi_resize(FUMI_OWNER(spare, struct message, task), 0);
    fumi_spare_done(&t->memory);
    block_put(t, t->block);
    fumi_buf_done(&t->queue);
    fumi_resize(t, 0);
}

static bool may_block(const struct fumi_server *s)
{
    struct fumi_str name;
    for (size_t i = 0; s && i < fumi_server_size(s); i++)
        if (fumi_server_at(s, i, &name)->flags & FUMI_BLOCKING)
            return true;
    return false;
}

static int converse(struct talk *t, struct fumi_err *e)
{
    if (loop_signals(t->loop, on_signal, t, e))
        return -1;
    settle(t);
    loop_run(t->loop);
    if (t->err.code)
        *e = t->err;
    return t->err.code ? -1 : 0;
}

/* To wait for a call that does not end would keep the process alive after its time. All that the
 * call may still touch stays: the workers, the loop and the talk are left to the end of the
 * process. */
static void abandon(struct talk *t)
{
    fumi_log(t->log, FUMI_WARN, "stdio.abandoned", {"calls", {0}, (int64_t)t->open});
    loop_signals(t->loop, NULL, NULL, NULL);
}

static int serve(struct talk *t, struct fumi_server *s, int threads, struct fumi_err *e)
{
    struct pool *pool = NULL;
    if (!(t->loop = loop_new(e)))
        return -1;
    if (may_block(s) && !(pool = pool_new(threads > 0 ? threads : THREADS, e))) {
        loop_free(t->loop);
        return -1;
    }
    if (pool)
        fumi_server_executor(s, pool_submit, pool);
    int rc = converse(t, e);
    if (t->open) {
        abandon(t);
        return rc ? rc : 1;
    }
    part(t);
    if (pool) {
        pool_free(pool);
        fumi_server_executor(s, NULL, NULL);
    }
    loop_free(t->loop);
    fumi_peer_done(&t->peer);
    return rc;
}

int fumi_serve_stdio(struct fumi_server *s, const struct fumi_stdio_options *options,
                     struct fumi_err *e)
{
    static const struct fumi_stdio_options defaults;
    const struct fumi_stdio_options *o = options ? options : &defaults;
    struct talk *t = talk_new(s, o);
    int rc = ends_take(&t->ends, e);
    t->in.fd = t->ends.in.fd;
    t->out.fd = t->ends.out.fd;
    if (!rc)
        rc = serve(t, s, o->threads, e);
    ends_give_back(&t->ends, !t->open);
    if (!t->open)
        talk_free(t);
    return rc;
}
