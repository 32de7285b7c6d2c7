/* The end of a service: it begins on the first I/O thread, by a signal or the end of stdin, and
 * reaches the others as a task. Each I/O thread then closes its listeners, lets its connections
 * end, cancels what is still open when the time is over, and stops its loop. */
#include "net/serve_parts.h"

enum {
    GRACE = 100,    /* milliseconds for open calls to notice that they are cancelled */
    WRITERS = 10000 /* more for those that may have changed something */
};
enum { METHODS_SHOWN = 512 }; /* bytes of their names in the log */

static void tell_ending(struct fumi_service *s, bool now)
{
    if (s->options.ending)
        s->options.ending(s->options.ending_arg, now);
}

static void stop_listening(struct post *p)
{
    for (struct acceptor *a = p->acceptors; a; a = a->next)
        acceptor_stop(a);
}

static size_t open_calls(const struct post *p, bool writing, struct fumi_buf *names)
{
    size_t n = 0;
    for (struct conn *c = p->io->conns; c; c = c->after)
        n += fumi_peer_calls(&c->peer, writing, names);
    return n;
}

/* The time of open calls is over. They are cancelled; those that may have changed something are
 * still answered. */
static void part(struct post *p)
{
    struct fumi_buf names = {.limit = METHODS_SHOWN};
    size_t n = open_calls(p, false, &names);
    if (n)
        fumi_log(p->io->shared->log, FUMI_WARN, "serve.cancelled", {"calls", {0}, (int64_t)n},
                 {"methods", fumi_buf_str(&names), 0});
    fumi_buf_done(&names);
    p->parted = true;
    p->until = io_thread_now(p->io) + (p->service->shared.set.drain > 0 ? 0 : WRITERS);
    tell_ending(p->service, true);
    io_thread_cancel(p->io);
}

static void on_deadline(struct timer *t)
{
    struct post *p = FUMI_OWNER(t, struct post, deadline);
    struct fumi_err ignored;
    if (!p->parted || (io_thread_now(p->io) < p->until && open_calls(p, true, NULL))) {
        if (!p->parted)
            part(p);
        loop_timer(p->io->loop, &p->deadline, GRACE, &ignored);
        return;
    }
    p->methods.limit = METHODS_SHOWN;
    open_calls(p, false, &p->methods);
    io_thread_close_all(p->io);
    loop_stop(p->io->loop);
}

static void on_empty(struct io_thread *io)
{
    if (io->draining)
        loop_stop(io->loop);
}

static void on_drain(struct fumi_task *task)
{
    struct post *p = FUMI_OWNER(task, struct post, drain);
    struct fumi_err ignored;
    stop_listening(p);
    loop_timer(p->io->loop, &p->deadline, p->service->drain, &ignored);
    io_thread_drain(p->io);
    if (atomic_load(&p->io->conns_n) == 0)
        loop_stop(p->io->loop);
}

void service_end(struct fumi_service *s, enum fumi_served why)
{
    if (s->draining)
        return;
    s->draining = true;
    s->why = why;
    if (!s->options.no_manager)
        notify_manager("STOPPING=1");
    tell_ending(s, false);
    for (size_t i = 0; i < s->posts_n; i++)
        if (s->posts[i].running)
            loop_post(s->posts[i].io->loop, &s->posts[i].drain);
}

static void on_start(struct fumi_task *task)
{
    struct post *p = FUMI_OWNER(task, struct post, start);
    for (struct acceptor *a = p->acceptors; a; a = a->next) {
        struct fumi_err e;
        if (acceptor_start(a, &e))
            fumi_log(p->io->shared->log, FUMI_ERROR, "serve.listen", {"why", fumi_str(e.text), 0});
    }
}

int service_posts(struct fumi_service *s, struct fumi_err *e)
{
    size_t n = (size_t)s->shared.set.threads;
    s->posts = fumi_resize(NULL, n * sizeof(*s->posts));
    s->shared.io_threads = fumi_resize(NULL, n * sizeof(*s->shared.io_threads));
    for (; s->posts_n < n; s->posts_n++, s->shared.io_threads_n++) {
        struct post *p = &s->posts[s->posts_n];
        *p = (struct post){.service = s};
        if (!(p->io = io_thread_new(&s->shared, e)))
            return -1;
        s->shared.io_threads[s->shared.io_threads_n] = p->io;
        p->io->empty = on_empty;
        p->start.run = on_start;
        p->drain.run = on_drain;
        p->deadline.on = on_deadline;
    }
    return 0;
}

/* Most calls keep their connection. One of a session over HTTP that missed its deadline does not:
 * its worker cannot be waited for all the same. */
bool service_abandons(const struct fumi_service *s)
{
    if (s->shared.server && fumi_server_busy(s->shared.server))
        return true;
    for (size_t i = 0; i < s->posts_n; i++)
        if (atomic_load(&s->posts[i].io->conns_n))
            return true;
    return false;
}

/* To wait for a call that does not end would keep the process alive after its time. All that the
 * call may still touch stays: the workers, the I/O threads and their connections are left to the
 * end of the process. */
enum fumi_served service_abandon(struct fumi_service *s)
{
    struct fumi_buf names = {0};
    for (size_t i = 0; i < s->posts_n; i++) {
        if (names.n && s->posts[i].methods.n)
            fumi_buf_put(&names, ' ');
        fumi_buf_add(&names, s->posts[i].methods.p, s->posts[i].methods.n);
    }
    fumi_log(s->shared.log, FUMI_WARN, "serve.abandoned",
             {"calls", {0}, (int64_t)atomic_load(&s->shared.open)},
             {"methods", fumi_buf_str(&names), 0});
    fumi_buf_done(&names);
    loop_signals(s->posts[0].io->loop, NULL, NULL, NULL);
    if (s->has_stdio)
        ends_give_back(&s->ends, false);
    return s->err.code ? FUMI_SERVED_ERROR : FUMI_SERVED_ABANDONED;
}
