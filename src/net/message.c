/* Passes messages to the server, and answers and notifications to the protocol: at once if they are
 * made on the I/O thread, otherwise as a task that is posted to the event loop. After a
 * notification of a message was posted, its later notifications and its answer are posted too, to
 * keep the order. On stdio, answers are sent in the order of the requests. */
#include "net/conn.h"

#include <assert.h>

struct message {
    struct fumi_task task;
    struct conn *conn;
    size_t weight;
    struct fumi_buf answer; /* posted, or waiting for an earlier answer */
    int code;
    bool routed;  /* a route of the host program answers it, with `page` */
    bool watched; /* fumi_reply_watch: the end of input means that the client left */
    struct page page;
    void (*on_end)(void *arg, bool left); /* of fumi_reply_watch; NULL: none, or already called */
    void *on_end_arg;
    bool counted;       /* in server_shared.open */
    atomic_bool posted; /* a notification was posted from another thread */
    atomic_bool exempt; /* from the order of answers */
    bool ordered;       /* in the connection's list of messages that are answered in order */
    bool ready;         /* in that list; its answer waits for earlier ones */
    struct message *next_in_order;
};

/* A notification posted by another thread. Empty text: a notification was dropped, because too much
 * output is unsent. */
struct posted_text {
    struct fumi_task task;
    struct conn *conn;
    size_t weight; /* size of its memory, counted in conn.in_transit */
    struct fumi_buf text;
};

static bool is_direct(struct message *m)
{
    return io_thread_is_current(m->conn->io) &&
           !atomic_load_explicit(&m->posted, memory_order_relaxed);
}

static struct message *message_new(struct conn *c, size_t weight)
{
    struct fumi_task *spare = fumi_tasks_take(&c->io->messages);
    struct message *m = spare ? FUMI_OWNER(spare, struct message, task)
                              : fumi_resize(NULL, sizeof(*m));
    m->conn = c;
    m->weight = weight;
    m->answer = (struct fumi_buf){0};
    m->routed = m->watched = m->counted = m->ordered = m->ready = false;
    m->on_end = NULL;
    atomic_store_explicit(&m->posted, false, memory_order_relaxed);
    atomic_store_explicit(&m->exempt, false, memory_order_relaxed);
    c->open++;
    c->weight += weight;
    c->pins++;
    return m;
}

static void message_done(struct message *m)
{
    struct conn *c = m->conn;
    assert(c->open > 0 && c->weight >= m->weight && !m->ordered);
    c->open--;
    c->weight -= m->weight;
    if (m->counted)
        atomic_fetch_sub(&c->io->shared->open, 1);
    m->conn = NULL; /* for count_open: the message has ended */
    fumi_tasks_add(&c->io->messages, &m->task);
}

/* The peer reads too slowly, and a notification was dropped. A socket is closed, so that the peer
 * connects again instead of missing messages. stdin and stdout stay open, because they
 * cannot be reopened. */
static void overrun(struct conn *c)
{
    fumi_log(c->io->shared->log, FUMI_WARN, "conn.slow", {"peer", c->peer.address, 0},
             {"limit", {0}, c->io->shared->set.unsent});
    if (!c->stdio)
        conn_close(c);
}

static void end_watch(struct message *m, bool left)
{
    void (*on_end)(void *arg, bool left) = m->on_end;
    m->on_end = NULL;
    if (on_end)
        on_end(m->on_end_arg, left);
}

void message_client_left(struct message *m)
{
    end_watch(m, true);
}

bool message_watched(const struct message *m)
{
    return m->watched;
}

/* Called before the answer is written: the protocol may then start the next message at once. */
static void end_message(struct message *m)
{
    struct conn *c = m->conn;
    end_watch(m, false);
    message_done(m);
    if (!conn_closed(c) && conn_unsent(c) > (size_t)c->io->shared->set.unsent)
        overrun(c);
}

static void put_page(struct message *m, struct fumi_buf *body)
{
    struct conn *c = m->conn;
    struct page page = m->page;
    end_message(m);
    if (!conn_closed(c))
        c->proto->page(c, &page, body);
}

static void put_answer(struct message *m, struct fumi_buf *answer, int code)
{
    struct conn *c = m->conn;
    if (m->routed) {
        put_page(m, answer);
    } else {
        end_message(m);
        if (!conn_closed(c))
            c->proto->answer(c, answer, code);
    }
    if (!conn_closed(c))
        conn_schedule(c);
    conn_unpin(c);
}

/* Scripts that read stdout rely on the order of the answers. Clients of MCP, recognized by their
 * handshake, match answers by id. */
static void put_in_order(struct message *m)
{
    struct conn *c = m->conn;
    if (!c->stdio || fumi_peer_lost_id(&c->peer) != FUMI_ID_NULL)
        return;
    m->ordered = true;
    m->next_in_order = NULL;
    *(c->newest ? &c->newest->next_in_order : &c->oldest) = m;
    c->newest = m;
}

static void leave_order(struct message *m)
{
    struct conn *c = m->conn;
    struct message *before = NULL;
    assert(m->ordered && c->oldest);
    for (struct message *i = c->oldest; i != m; i = i->next_in_order)
        before = i;
    *(before ? &before->next_in_order : &c->oldest) = m->next_in_order;
    if (c->newest == m)
        c->newest = before;
    m->ordered = false;
}

/* The message that later ones wait for; NULL: none. */
static struct message *first_in_order(struct conn *c)
{
    while (c->oldest && atomic_load(&c->oldest->exempt))
        leave_order(c->oldest);
    return c->oldest;
}

/* Sends the answers that no longer wait for an earlier one. */
static void put_ready(struct conn *c)
{
    for (struct message *m; (m = first_in_order(c)) && m->ready;) {
        struct fumi_buf answer = {0};
        fumi_buf_move(&answer, &m->answer);
        c->waiting -= answer.n;
        leave_order(m);
        put_answer(m, &answer, m->code);
        fumi_buf_done(&answer);
    }
}

static void deliver(struct message *m, struct fumi_buf *answer, int code)
{
    struct conn *c = m->conn;
    if (m->ordered && atomic_load(&m->exempt))
        leave_order(m);
    if (!m->ordered) {
        put_answer(m, answer, code);
        return;
    }
    if (m != first_in_order(c)) {
        c->waiting += answer->n;
        fumi_buf_move(&m->answer, answer);
        m->code = code;
        m->ready = true;
        if (!conn_closed(c))
            conn_schedule(c); /* waiting answers may hold further calls: hold_calls */
        return;
    }
    c->pins++;
    leave_order(m);
    put_answer(m, answer, code);
    put_ready(c);
    conn_unpin(c);
}

static void on_posted_answer(struct fumi_task *task)
{
    struct message *m = FUMI_OWNER(task, struct message, task);
    struct fumi_buf answer = {0};
    fumi_buf_move(&answer, &m->answer);
    deliver(m, &answer, m->code);
    fumi_buf_done(&answer);
}

static void on_reply(void *arg, struct fumi_buf *answer, int code)
{
    struct message *m = arg;
    if (is_direct(m)) {
        deliver(m, answer, code);
        return;
    }
    fumi_buf_move(&m->answer, answer);
    m->code = code;
    m->task.run = on_posted_answer;
    loop_post(m->conn->io->loop, &m->task);
}

/* A task that makes the I/O thread check a connection that another thread has changed. */
struct recheck {
    struct fumi_task task;
    struct conn *conn;
};

static void on_recheck(struct fumi_task *task)
{
    struct recheck *r = FUMI_OWNER(task, struct recheck, task);
    struct conn *c = r->conn;
    fumi_resize(r, 0);
    put_ready(c);
    if (!conn_closed(c))
        conn_schedule(c); /* further messages may be started */
    atomic_fetch_sub(&c->in_transit, 1);
    conn_free_if_unused(c);
}

/* The caller has added 1 to in_transit, so that the connection stays valid. */
static void post_recheck(struct conn *c)
{
    struct recheck *r = fumi_resize(NULL, sizeof(*r));
    *r = (struct recheck){.task.run = on_recheck, .conn = c};
    loop_post(c->io->loop, &r->task);
}

/* A call that was answered at its deadline but still runs counts as under way. Otherwise the number
 * of such calls would be unlimited. */
void conn_keep_late(struct fumi_peer *peer, bool keep)
{
    struct conn *c = FUMI_OWNER(peer, struct conn, peer);
    if (keep) {
        atomic_fetch_add(&c->in_transit, 1);
        atomic_fetch_add(&c->late_calls, 1);
        atomic_fetch_add(&c->io->shared->open, 1);
    } else {
        atomic_fetch_sub(&c->late_calls, 1);
        atomic_fetch_sub(&c->io->shared->open, 1);
        post_recheck(c);
    }
}

static void on_unordered(void *arg)
{
    struct message *m = arg;
    struct conn *c = m->conn;
    if (!c->stdio) /* answers have an order on stdio only */
        return;
    atomic_fetch_add(&c->in_transit, 1);
    atomic_store(&m->exempt, true);
    post_recheck(c);
}

static void on_posted_text(struct fumi_task *task)
{
    struct posted_text *t = FUMI_OWNER(task, struct posted_text, task);
    struct conn *c = t->conn;
    size_t n = t->text.n;
    if (!conn_closed(c) && n == 0)
        overrun(c);
    if (!conn_closed(c) && n)
        c->proto->notify(c, &t->text);
    atomic_store(&c->backlog, conn_closed(c) ? 0 : conn_unsent(c));
    atomic_fetch_sub(&c->in_transit, t->weight);
    fumi_buf_done(&t->text);
    fumi_resize(t, 0);
    conn_free_if_unused(c);
}

/* The connection is valid here: a message of it is open, or options.disconnected has not returned
 * yet. The posted text then keeps it by in_transit. `text` NULL: a notification was dropped. */
static void post_text(struct conn *c, struct fumi_buf *text)
{
    struct posted_text *t = fumi_resize(NULL, sizeof(*t));
    *t = (struct posted_text){.task.run = on_posted_text, .conn = c};
    t->weight = sizeof(*t) + (text ? text->cap : 0);
    atomic_fetch_add(&c->in_transit, t->weight);
    if (text)
        fumi_buf_move(&t->text, text);
    loop_post(c->io->loop, &t->task);
}

static bool has_space(struct conn *c, size_t n, bool here)
{
    size_t queued = here ? conn_unsent(c) : atomic_load(&c->backlog);
    return queued + atomic_load(&c->in_transit) + n <= (size_t)c->io->shared->set.unsent;
}

static void notify(struct conn *c, struct fumi_buf *text, bool here)
{
    if (here && conn_closed(c))
        return;
    if (!has_space(c, text->n, here)) {
        if (!atomic_exchange(&c->overrun, true))
            post_text(c, NULL);
        return;
    }
    if (!here) {
        post_text(c, text);
        return;
    }
    c->proto->notify(c, text);
}

static void on_notify(void *arg, struct fumi_buf *text)
{
    struct message *m = arg;
    bool here = is_direct(m);
    if (!here)
        atomic_store_explicit(&m->posted, true, memory_order_relaxed);
    notify(m->conn, text, here);
}

void conn_push(struct fumi_peer *peer, struct fumi_buf *text)
{
    struct conn *c = FUMI_OWNER(peer, struct conn, peer);
    notify(c, text, io_thread_is_current(c->io));
}

/* A message that was answered at once is never counted, which saves atomic operations. */
static void count_open(struct message *m)
{
    if (!m->conn)
        return;
    m->counted = true;
    atomic_fetch_add(&m->conn->io->shared->open, 1);
}

void conn_handle(struct conn *c, struct fumi_str message, bool notifies)
{
    struct server_shared *shared = c->io->shared;
    struct message *m = message_new(c, message.n);
    put_in_order(m);
    shared->handle(shared->handler, &c->peer, message,
                   (struct fumi_sink){.notify = notifies ? on_notify : NULL,
                                      .reply = on_reply,
                                      .arg = m,
                                      .unordered = on_unordered,
                                      .source = c->source});
    count_open(m);
}

void conn_refuse(struct conn *c, const struct fumi_err *e)
{
    struct fumi_buf answer = {0};
    struct message *m = message_new(c, 0);
    fumi_put_refusal(&answer, e, fumi_peer_lost_id(&c->peer));
    put_in_order(m);
    deliver(m, &answer, e->code);
    fumi_buf_done(&answer);
}

void conn_route(struct conn *c, const struct fumi_route *r, const struct fumi_http_request *request,
                struct fumi_str body, struct message **reply)
{
    struct message *m = message_new(c, body.n);
    m->routed = true;
    m->page = (struct page){.policy = NULL};
    *reply = m;
    r->run(r->self, request, body, (struct fumi_reply *)m);
    count_open(m);
}

void fumi_reply_event(struct fumi_reply *r, struct fumi_buf *text)
{
    on_notify((struct message *)r, text);
}

void fumi_reply_end(struct fumi_reply *r, const struct fumi_page *page, struct fumi_buf *body)
{
    struct message *m = (struct message *)r;
    m->page.head = *page;
    on_reply(m, body, 0);
}

void fumi_reply_policy(struct fumi_reply *r, const char *policy, const char *cache)
{
    struct message *m = (struct message *)r;
    m->page.policy = policy;
    m->page.cache = cache;
}

void fumi_reply_watch(struct fumi_reply *r, void (*over)(void *arg, bool left), void *arg)
{
    struct message *m = (struct message *)r;
    m->on_end = over;
    m->on_end_arg = arg;
    m->watched = true;
}

void message_free(struct fumi_task *spare)
{
    fumi_resize(FUMI_OWNER(spare, struct message, task), 0);
}
