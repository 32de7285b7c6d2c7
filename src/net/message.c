/* Messages on their way to the server and back. Those that are not answered before fumi_handle
 * returns, and what other threads say, come home as tasks of the loop. */
#include "net/conn.h"

struct message {
    struct fumi_task task;
    struct conn *conn;
    size_t weight;
    struct fumi_buf answer; /* on its way home */
    int code;
    bool routed;  /* a route of the host program answers, with this page */
    bool watched; /* the end of input means that the client left */
    struct fumi_page page;
    void (*over)(void *arg, bool left); /* whom to tell that it ended; NULL: nobody */
    void *over_arg;
    bool counted;       /* among those of the site */
    atomic_bool told;   /* another thread has said something: what follows takes its way */
    atomic_bool exempt; /* from the order of answers */
    bool ordered;       /* in the list of those that are answered in order */
    bool ready;         /* its answer waits there */
    struct message *next_in_order;
};

/* Something told by another thread, on its way home. No text: there was no room for it. */
struct word {
    struct fumi_task task;
    struct conn *conn;
    size_t weight; /* of all that it takes in memory; keeps the connection */
    struct fumi_buf text;
};

static bool is_here(const struct conn *c)
{
    return pthread_equal(c->io->thread, pthread_self()) && !c->io->outside_loop;
}

static bool is_direct(struct message *m)
{
    return is_here(m->conn) && !atomic_load_explicit(&m->told, memory_order_relaxed);
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
    m->over = NULL;
    atomic_store_explicit(&m->told, false, memory_order_relaxed);
    atomic_store_explicit(&m->exempt, false, memory_order_relaxed);
    c->open++;
    c->weight += weight;
    c->pins++;
    return m;
}

static void message_done(struct message *m)
{
    struct conn *c = m->conn;
    c->open--;
    c->weight -= m->weight;
    if (m->counted)
        atomic_fetch_sub(&c->io->shared->open, 1);
    m->conn = NULL; /* it has ended */
    fumi_tasks_add(&c->io->messages, &m->task);
}

/* A socket whose peer reads too slowly is closed rather than told only a part; stdin and stdout
 * have nobody who could connect again. */
static void overrun(struct conn *c)
{
    fumi_log(c->io->shared->log, FUMI_WARN, "conn.slow", {"peer", c->peer.address, 0},
             {"limit", {0}, c->io->shared->set.unsent});
    if (!c->stdio)
        conn_close(c);
}

static void tell_over(struct message *m, bool left)
{
    void (*over)(void *arg, bool left) = m->over;
    m->over = NULL;
    if (over)
        over(m->over_arg, left);
}

void message_client_left(struct message *m)
{
    tell_over(m, true);
}

bool message_watched(const struct message *m)
{
    return m->watched;
}

/* The message is no longer open when its answer is put: a protocol may go on at once. */
static void end_message(struct message *m)
{
    struct conn *c = m->conn;
    tell_over(m, false);
    message_done(m);
    if (!conn_closed(c) && conn_unsent(c) > (size_t)c->io->shared->set.unsent)
        overrun(c);
}

static void put_page(struct message *m, struct fumi_buf *body)
{
    struct conn *c = m->conn;
    struct fumi_page page = m->page;
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

/* --- Answers in the order of the requests. --- */

/* Scripts that read stdout rely on that order. A client of MCP matches answers by their ids, which
 * its handshake tells. */
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
    for (struct message *i = c->oldest; i != m; i = i->next_in_order)
        before = i;
    *(before ? &before->next_in_order : &c->oldest) = m->next_in_order;
    if (c->newest == m)
        c->newest = before;
    m->ordered = false;
}

/* The first that others wait for. */
static struct message *first_in_order(struct conn *c)
{
    while (c->oldest && atomic_load(&c->oldest->exempt))
        leave_order(c->oldest);
    return c->oldest;
}

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
            conn_schedule(c); /* many such answers hold back further calls */
        return;
    }
    c->pins++;
    leave_order(m);
    put_answer(m, answer, code);
    put_ready(c);
    conn_unpin(c);
}

static void on_answer_home(struct fumi_task *task)
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
    m->task.run = on_answer_home;
    loop_post(m->conn->io->loop, &m->task);
}

/* What another thread has changed of a connection is looked at on the connection's own. */
struct glance {
    struct fumi_task task;
    struct conn *conn;
};

static void on_glance(struct fumi_task *task)
{
    struct glance *g = FUMI_OWNER(task, struct glance, task);
    struct conn *c = g->conn;
    fumi_resize(g, 0);
    put_ready(c);
    if (!conn_closed(c))
        conn_schedule(c); /* more may be begun */
    atomic_fetch_sub(&c->in_transit, 1);
    conn_free_if_unused(c);
}

/* The connection has one more in `away`. */
static void look_soon(struct conn *c)
{
    struct glance *g = fumi_resize(NULL, sizeof(*g));
    *g = (struct glance){.task.run = on_glance, .conn = c};
    loop_post(c->io->loop, &g->task);
}

/* A call that was answered but still runs counts as under way, or such calls would have no limit.
 */
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
        look_soon(c);
    }
}

static void on_unordered(void *arg)
{
    struct message *m = arg;
    struct conn *c = m->conn;
    if (!c->stdio) /* only there answers have an order */
        return;
    atomic_fetch_add(&c->in_transit, 1);
    atomic_store(&m->exempt, true);
    look_soon(c);
}

static void on_word_home(struct fumi_task *task)
{
    struct word *w = FUMI_OWNER(task, struct word, task);
    struct conn *c = w->conn;
    size_t n = w->text.n;
    if (!conn_closed(c) && n == 0)
        overrun(c);
    if (!conn_closed(c) && n)
        c->proto->notify(c, &w->text);
    atomic_store(&c->backlog, conn_closed(c) ? 0 : conn_unsent(c));
    atomic_fetch_sub(&c->in_transit, w->weight);
    fumi_buf_done(&w->text);
    fumi_resize(w, 0);
    conn_free_if_unused(c);
}

/* Whoever says something on another thread knows that the connection is there: a message of it is
 * open, or it was not told that the peer is gone. From here on the word itself keeps it. */
static void send_home(struct conn *c, struct fumi_buf *text)
{
    struct word *w = fumi_resize(NULL, sizeof(*w));
    *w = (struct word){.task.run = on_word_home, .conn = c};
    w->weight = sizeof(*w) + (text ? text->cap : 0);
    atomic_fetch_add(&c->in_transit, w->weight);
    if (text)
        fumi_buf_move(&w->text, text);
    loop_post(c->io->loop, &w->task);
}

static bool has_room(struct conn *c, size_t n, bool here)
{
    size_t queued = here ? conn_unsent(c) : atomic_load(&c->backlog);
    return queued + atomic_load(&c->in_transit) + n <= (size_t)c->io->shared->set.unsent;
}

static void say(struct conn *c, struct fumi_buf *text, bool here)
{
    if (here && conn_closed(c))
        return;
    if (!has_room(c, text->n, here)) {
        if (!atomic_exchange(&c->overrun, true))
            send_home(c, NULL);
        return;
    }
    if (!here) {
        send_home(c, text);
        return;
    }
    c->proto->notify(c, text);
}

static void on_tell(void *arg, struct fumi_buf *text)
{
    struct message *m = arg;
    bool here = is_direct(m);
    if (!here)
        atomic_store_explicit(&m->told, true, memory_order_relaxed);
    say(m->conn, text, here);
}

void conn_push(struct fumi_peer *peer, struct fumi_buf *text)
{
    struct conn *c = FUMI_OWNER(peer, struct conn, peer);
    say(c, text, is_here(c));
}

/* A message without its connection has ended. */
static void count_open(struct message *m)
{
    if (!m->conn)
        return;
    m->counted = true;
    atomic_fetch_add(&m->conn->io->shared->open, 1);
}

void conn_handle(struct conn *c, struct fumi_str message, bool tells)
{
    struct server_shared *shared = c->io->shared;
    struct message *m = message_new(c, message.n);
    put_in_order(m);
    shared->handle(shared->handler, &c->peer, message,
                   (struct fumi_sink){.notify = tells ? on_tell : NULL,
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
    *reply = m;
    r->run(r->self, request, body, (struct fumi_reply *)m);
    count_open(m);
}

void fumi_reply_event(struct fumi_reply *r, struct fumi_buf *text)
{
    on_tell((struct message *)r, text);
}

void fumi_reply_end(struct fumi_reply *r, const struct fumi_page *page, struct fumi_buf *body)
{
    struct message *m = (struct message *)r;
    m->page = *page;
    on_reply(m, body, 0);
}

void fumi_reply_watch(struct fumi_reply *r, void (*over)(void *arg, bool left), void *arg)
{
    struct message *m = (struct message *)r;
    m->over = over;
    m->over_arg = arg;
    m->watched = true;
}

void message_free(struct fumi_task *spare)
{
    fumi_resize(FUMI_OWNER(spare, struct message, task), 0);
}
