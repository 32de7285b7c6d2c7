/* Answers to what the peer asks, from the server of the options.
 *
 * A method may answer at once, or later from any thread; so answers are put into a list, and the
 * thread that uses the link sends them, woken by a descriptor that it polls beside the connection.
 * What the list needs lives as long as the connection, and then until the last method has ended. */
#include "net/rpc_connection_parts.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct message {
    struct message *next;
    struct fumi_buf text;
};

struct rpc_connection_answers {
    struct fumi_peer peer; /* the other end, for the server */
    int wake;              /* an eventfd: the list has something */
    pthread_mutex_t lock;  /* of what follows */
    struct message *first, **last;
    size_t open; /* messages without their reply, and late calls that still run */
    bool gone;   /* the connection is */
};

static struct rpc_connection_answers *owner(struct fumi_peer *peer)
{
    return FUMI_OWNER(peer, struct rpc_connection_answers, peer);
}

static void drop_messages(struct message *m)
{
    for (struct message *next; m; m = next) {
        next = m->next;
        fumi_buf_done(&m->text);
        fumi_resize(m, 0);
    }
}

/* Under the lock. */
static void put(struct rpc_connection_answers *s, struct fumi_buf *text)
{
    const uint64_t one = 1;
    struct message *m = fumi_resize(NULL, sizeof(*m));
    *m = (struct message){0};
    fumi_buf_move(&m->text, text);
    *s->last = m;
    s->last = &m->next;
    while (write(s->wake, &one, sizeof(one)) < 0 && errno == EINTR) {}
}

/* Leaves the lock; frees everything when nobody needs it any more. */
static void leave(struct rpc_connection_answers *s)
{
    bool last = s->gone && !s->open;
    pthread_mutex_unlock(&s->lock);
    if (!last)
        return;
    fumi_peer_done(&s->peer);
    drop_messages(s->first);
    pthread_mutex_destroy(&s->lock);
    close(s->wake);
    fumi_resize(s, 0);
}

static void say(struct rpc_connection_answers *s, struct fumi_buf *text, bool last)
{
    pthread_mutex_lock(&s->lock);
    if (text->n && !s->gone)
        put(s, text);
    s->open -= last;
    leave(s);
}

static void on_reply(void *arg, struct fumi_buf *answer, int code)
{
    (void)code;
    say(arg, answer, true);
}

static void on_notify(void *arg, struct fumi_buf *message)
{
    say(arg, message, false);
}

static void push(struct fumi_peer *peer, struct fumi_buf *message)
{
    say(owner(peer), message, false);
}

static void keep(struct fumi_peer *peer, bool keeps)
{
    struct rpc_connection_answers *s = owner(peer);
    pthread_mutex_lock(&s->lock);
    s->open += keeps ? 1 : -1;
    leave(s);
}

static struct rpc_connection_answers *begin(void)
{
    int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake < 0)
        return NULL;
    struct rpc_connection_answers *s = fumi_resize(NULL, sizeof(*s));
    *s = (struct rpc_connection_answers){.wake = wake};
    s->last = &s->first;
    /* Questions to the peer have the link itself: answers to others would have ids of its calls. */
    s->peer = (struct fumi_peer){
        .transport = "link", .no_requests = true, .push = push, .keep = keep};
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void rpc_connection_answer(struct fumi_rpc_connection *l, struct fumi_str message)
{
    struct rpc_connection_answers *s = l->answers = l->answers ? l->answers : begin();
    if (!s || rpc_connection_is_crowded(l))
        return;
    pthread_mutex_lock(&s->lock);
    s->open++;
    pthread_mutex_unlock(&s->lock);
    l->inside++;
    fumi_handle(l->o.server, &s->peer, message,
                (struct fumi_sink){.notify = on_notify, .reply = on_reply, .arg = s});
    l->inside--;
    rpc_connection_answer_send(l);
}

int rpc_connection_answer_fd(const struct fumi_rpc_connection *l)
{
    return l->answers ? l->answers->wake : -1;
}

void rpc_connection_answer_send(struct fumi_rpc_connection *l)
{
    struct rpc_connection_answers *s = l->answers;
    uint64_t count;
    while (read(s->wake, &count, sizeof(count)) < 0 && errno == EINTR) {}
    pthread_mutex_lock(&s->lock);
    struct message *all = s->first;
    s->first = NULL;
    s->last = &s->first;
    pthread_mutex_unlock(&s->lock);
    for (const struct message *m = all; m; m = m->next)
        l->way->answer(l, fumi_buf_str(&m->text));
    drop_messages(all);
}

void rpc_connection_answer_end(struct fumi_rpc_connection *l)
{
    struct rpc_connection_answers *s = l->answers;
    if (!s)
        return;
    l->answers = NULL;
    fumi_peer_close(&s->peer);
    pthread_mutex_lock(&s->lock);
    s->gone = true;
    leave(s);
}
