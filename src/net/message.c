/* Messages on their way to the server and back. Those that are not answered before fumi_handle
 * returns, and what other threads say, come home as tasks of the loop. */
#include "net/conn.h"

struct message {
    struct fumi_task task;
    struct conn *conn;
    size_t weight;
    struct fumi_buf answer; /* on its way home */
    int code;
    bool counted;     /* among those of the site */
    atomic_bool told; /* another thread has said something: what follows takes its way */
};

/* Something told by another thread, on its way home. No text: there was no room for it. */
struct word {
    struct fumi_task task;
    struct conn *conn;
    bool pins;     /* the connection; else an open message does */
    size_t weight; /* of all that it takes in memory */
    struct fumi_buf text;
};

static bool is_here(const struct conn *c)
{
    return pthread_equal(c->hub->thread, pthread_self());
}

static bool is_direct(struct message *m)
{
    return is_here(m->conn) && !atomic_load_explicit(&m->told, memory_order_relaxed);
}

static struct message *message_new(struct conn *c, size_t weight)
{
    struct fumi_task *spare = fumi_tasks_take(&c->hub->messages);
    struct message *m = spare ? FUMI_OWNER(spare, struct message, task)
                              : fumi_resize(NULL, sizeof(*m));
    *m = (struct message){.conn = c, .weight = weight};
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
        atomic_fetch_sub(&c->hub->site->open, 1);
    m->conn = NULL; /* it has ended */
    fumi_tasks_add(&c->hub->messages, &m->task);
}

/* A socket whose peer reads too slowly is closed rather than told only a part; stdin and stdout
 * have nobody who could connect again. */
static void overrun(struct conn *c)
{
    fumi_log(c->hub->site->log, FUMI_WARN, "conn.slow", {"peer", c->peer.address, 0},
             {"limit", {0}, c->hub->site->set.unsent});
    if (!c->ends)
        conn_close(c);
}

/* The message is no longer open when its answer is put: a protocol may go on at once. */
static void deliver(struct message *m, struct fumi_buf *answer, int code)
{
    struct conn *c = m->conn;
    message_done(m);
    if (!c->closed && conn_unsent(c) > (size_t)c->hub->site->set.unsent)
        overrun(c);
    if (!c->closed)
        c->proto->answer(c, answer, code);
    if (!c->closed && c->hub->current != c)
        conn_soon(c);
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
    loop_post(m->conn->hub->loop, &m->task);
}

static void on_word_home(struct fumi_task *task)
{
    struct word *w = FUMI_OWNER(task, struct word, task);
    struct conn *c = w->conn;
    size_t n = w->text.n;
    if (!c->closed && n == 0)
        overrun(c);
    if (!c->closed && n)
        c->proto->tell(c, &w->text);
    if (!c->closed && n)
        conn_soon(c);
    atomic_store(&c->backlog, c->closed ? 0 : conn_unsent(c));
    atomic_fetch_sub(&c->away, w->weight);
    fumi_buf_done(&w->text);
    if (w->pins)
        conn_unpin(c);
    fumi_resize(w, 0);
}

/* Whoever says something on another thread holds a message that comes home behind these words, so
 * the connection is still there. Here the answer does not take that way. */
static void send_home(struct conn *c, struct fumi_buf *text, bool here)
{
    struct word *w = fumi_resize(NULL, sizeof(*w));
    *w = (struct word){.task.run = on_word_home, .conn = c, .pins = here};
    if (here)
        c->pins++;
    if (text) {
        w->weight = sizeof(*w) + text->cap;
        atomic_fetch_add(&c->away, w->weight);
        fumi_buf_move(&w->text, text);
    }
    loop_post(c->hub->loop, &w->task);
}

static bool has_room(struct conn *c, size_t n, bool here)
{
    size_t queued = here ? conn_unsent(c) : atomic_load(&c->backlog);
    return queued + atomic_load(&c->away) + n <= (size_t)c->hub->site->set.unsent;
}

static void say(struct conn *c, struct fumi_buf *text, bool here)
{
    if (here && c->closed)
        return;
    if (!has_room(c, text->n, here)) {
        if (!atomic_exchange(&c->overrun, true))
            send_home(c, NULL, here);
        return;
    }
    if (!here) {
        send_home(c, text, false);
        return;
    }
    c->proto->tell(c, text);
    if (c->hub->current != c)
        conn_soon(c);
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

void conn_handle(struct conn *c, struct fumi_str message)
{
    struct site *site = c->hub->site;
    struct message *m = message_new(c, message.n);
    site->handle(site->handler, &c->peer, message,
                 (struct fumi_sink){c->mute ? NULL : on_tell, on_reply, m});
    if (!m->conn)
        return; /* a message without its connection has ended */
    m->counted = true;
    atomic_fetch_add(&site->open, 1);
}

void message_free(struct fumi_task *spare)
{
    fumi_resize(FUMI_OWNER(spare, struct message, task), 0);
}
