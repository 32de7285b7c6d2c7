/* Answers requests from the peer with the server of the options. A method may answer at once, or
 * later from any thread. So answers go into a list, an eventfd wakes the thread that uses the
 * connection, and that thread sends them. The list lives as long as the connection and until the
 * last method has ended. */
#include "net/rpc_connection_parts.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct pending_answer {
    struct pending_answer *next;
    struct fumi_buf text;
};

struct rpc_connection_answers {
    struct fumi_peer peer; /* the peer, as the server sees it */
    int wake;              /* eventfd, readable when the list is not empty */
    pthread_mutex_t lock;  /* protects the members below */
    struct pending_answer *first, **last;
    size_t open; /* messages without an answer, and calls that run on after a deadline */
    bool gone;   /* the connection is closed */
};

static struct rpc_connection_answers *owner(struct fumi_peer *peer)
{
    return FUMI_OWNER(peer, struct rpc_connection_answers, peer);
}

static void free_answers(struct pending_answer *m)
{
    for (struct pending_answer *next; m; m = next) {
        next = m->next;
        fumi_buf_done(&m->text);
        fumi_resize(m, 0);
    }
}

/* Called with the lock held. */
static void put(struct rpc_connection_answers *s, struct fumi_buf *text)
{
    const uint64_t one = 1;
    struct pending_answer *m = fumi_resize(NULL, sizeof(*m));
    *m = (struct pending_answer){0};
    fumi_buf_move(&m->text, text);
    *s->last = m;
    s->last = &m->next;
    while (write(s->wake, &one, sizeof(one)) < 0 && errno == EINTR) {}
}

/* Releases the lock. Frees `s` if the connection is closed and no call needs it any more. */
static void unlock_or_free(struct rpc_connection_answers *s)
{
    assert(s->open < SIZE_MAX / 2); /* not released more often than taken */
    bool last = s->gone && !s->open;
    pthread_mutex_unlock(&s->lock);
    if (!last)
        return;
    fumi_peer_done(&s->peer);
    free_answers(s->first);
    pthread_mutex_destroy(&s->lock);
    close(s->wake);
    fumi_resize(s, 0);
}

static void post(struct rpc_connection_answers *s, struct fumi_buf *text, bool last)
{
    pthread_mutex_lock(&s->lock);
    if (text->n && !s->gone)
        put(s, text);
    s->open -= last;
    unlock_or_free(s);
}

static void on_reply(void *arg, struct fumi_buf *answer, int code)
{
    (void)code;
    post(arg, answer, true);
}

static void on_notify(void *arg, struct fumi_buf *message)
{
    post(arg, message, false);
}

static void push(struct fumi_peer *peer, struct fumi_buf *message)
{
    post(owner(peer), message, false);
}

static void keep(struct fumi_peer *peer, bool keeps)
{
    struct rpc_connection_answers *s = owner(peer);
    pthread_mutex_lock(&s->lock);
    s->open += keeps ? 1 : -1;
    unlock_or_free(s);
}

static struct rpc_connection_answers *begin(void)
{
    int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake < 0)
        return NULL;
    struct rpc_connection_answers *s = fumi_resize(NULL, sizeof(*s));
    *s = (struct rpc_connection_answers){.wake = wake};
    s->last = &s->first;
    /* The server sends no requests to the peer: their ids could equal ids of our own calls. */
    s->peer = (struct fumi_peer){
        .transport = "link", .no_requests = true, .push = push, .keep = keep};
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void rpc_connection_answer(struct fumi_rpc_connection *c, struct fumi_str message)
{
    struct rpc_connection_answers *s = c->answers = c->answers ? c->answers : begin();
    if (!s || rpc_connection_is_congested(c))
        return;
    pthread_mutex_lock(&s->lock);
    s->open++;
    pthread_mutex_unlock(&s->lock);
    c->callback_depth++;
    fumi_handle(c->options.server, &s->peer, message,
                (struct fumi_sink){.notify = on_notify, .reply = on_reply, .arg = s});
    c->callback_depth--;
    rpc_connection_answer_flush(c);
}

int rpc_connection_answer_fd(const struct fumi_rpc_connection *c)
{
    return c->answers ? c->answers->wake : -1;
}

void rpc_connection_answer_flush(struct fumi_rpc_connection *c)
{
    struct rpc_connection_answers *s = c->answers;
    uint64_t count;
    while (read(s->wake, &count, sizeof(count)) < 0 && errno == EINTR) {}
    pthread_mutex_lock(&s->lock);
    struct pending_answer *all = s->first;
    s->first = NULL;
    s->last = &s->first;
    pthread_mutex_unlock(&s->lock);
    for (const struct pending_answer *m = all; m; m = m->next)
        c->transport->answer(c, fumi_buf_str(&m->text));
    free_answers(all);
}

void rpc_connection_answer_close(struct fumi_rpc_connection *c)
{
    struct rpc_connection_answers *s = c->answers;
    if (!s)
        return;
    c->answers = NULL;
    fumi_peer_close(&s->peer);
    pthread_mutex_lock(&s->lock);
    s->gone = true;
    unlock_or_free(s);
}
