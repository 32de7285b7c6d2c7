/* Shutdown of a service. It begins on the first I/O thread, after a signal, fumi_stop or the end of
 * stdin, and is posted to the other I/O threads as a task. Each I/O thread then closes its
 * listening sockets, lets its connections end, cancels the calls that are still open at the
 * deadline, and stops its event loop. */
#include "net/serve_parts.h"

enum {
    GRACE = 100,    /* milliseconds for cancelled calls to end */
    WRITERS = 10000 /* milliseconds more for calls that may have changed data */
};
enum { METHODS_SHOWN = 512 }; /* bytes of method names in the log */

static void notify_ending(struct fumi_service *s, bool now)
{
    if (s->options.ending)
        s->options.ending(s->options.ending_arg, now);
}

static void stop_listening(struct thread_slot *slot)
{
    for (struct acceptor *a = slot->acceptors; a; a = a->next)
        acceptor_stop(a);
}

static size_t open_calls(const struct thread_slot *slot, bool writing, struct fumi_buf *names)
{
    size_t n = 0;
    for (struct conn *c = slot->io->conns; c; c = c->next)
        n += fumi_peer_calls(&c->peer, writing, names);
    return n;
}

/* Cancels the open calls at the deadline. Calls that may have changed data are still answered; the
 * service waits for them for WRITERS milliseconds more, unless set.drain was given. */
static void cancel_calls(struct thread_slot *slot)
{
    struct fumi_buf names = {.limit = METHODS_SHOWN};
    size_t n = open_calls(slot, false, &names);
    if (n)
        fumi_log(slot->io->shared->log, FUMI_WARN, "serve.cancelled", {"calls", {0}, (int64_t)n},
                 {"methods", fumi_buf_str(&names), 0});
    fumi_buf_done(&names);
    slot->cancelled = true;
    slot->until = io_thread_now(slot->io) + (slot->service->shared.set.drain > 0 ? 0 : WRITERS);
    notify_ending(slot->service, true);
    io_thread_cancel(slot->io);
}

static void on_deadline(struct timer *t)
{
    struct thread_slot *slot = FUMI_OWNER(t, struct thread_slot, deadline);
    struct fumi_err ignored;
    if (!slot->cancelled ||
        (io_thread_now(slot->io) < slot->until && open_calls(slot, true, NULL))) {
        if (!slot->cancelled)
            cancel_calls(slot);
        loop_timer(slot->io->loop, &slot->deadline, GRACE, &ignored);
        return;
    }
    slot->methods.limit = METHODS_SHOWN;
    open_calls(slot, false, &slot->methods);
    io_thread_close_all(slot->io);
    loop_stop(slot->io->loop);
}

static void on_empty(struct io_thread *io)
{
    if (io->draining)
        loop_stop(io->loop);
}

static void on_drain(struct fumi_task *task)
{
    struct thread_slot *slot = FUMI_OWNER(task, struct thread_slot, drain);
    struct fumi_err ignored;
    stop_listening(slot);
    loop_timer(slot->io->loop, &slot->deadline, slot->service->drain, &ignored);
    io_thread_drain(slot->io);
    if (atomic_load(&slot->io->conns_n) == 0)
        loop_stop(slot->io->loop);
}

void service_end(struct fumi_service *s, enum fumi_served why)
{
    if (s->draining)
        return;
    s->draining = true;
    s->why = why;
    if (!s->options.no_manager)
        notify_manager("STOPPING=1");
    notify_ending(s, false);
    for (size_t i = 0; i < s->slots_n; i++)
        if (s->slots[i].running)
            loop_post(s->slots[i].io->loop, &s->slots[i].drain);
}

static void on_start(struct fumi_task *task)
{
    struct thread_slot *slot = FUMI_OWNER(task, struct thread_slot, start);
    for (struct acceptor *a = slot->acceptors; a; a = a->next) {
        struct fumi_err e;
        if (acceptor_start(a, &e))
            fumi_log(slot->io->shared->log, FUMI_ERROR, "serve.listen",
                     {"why", fumi_str(e.text), 0});
    }
}

int service_make_slots(struct fumi_service *s, struct fumi_err *e)
{
    size_t n = (size_t)s->shared.set.threads;
    s->slots = fumi_resize(NULL, n * sizeof(*s->slots));
    s->shared.io_threads = fumi_resize(NULL, n * sizeof(*s->shared.io_threads));
    for (; s->slots_n < n; s->slots_n++, s->shared.io_threads_n++) {
        struct thread_slot *slot = &s->slots[s->slots_n];
        *slot = (struct thread_slot){.service = s};
        if (!(slot->io = io_thread_new(&s->shared, e)))
            return -1;
        s->shared.io_threads[s->shared.io_threads_n] = slot->io;
        slot->io->on_empty = on_empty;
        slot->start.run = on_start;
        slot->drain.run = on_drain;
        slot->deadline.on = on_deadline;
    }
    return 0;
}

/* A running call keeps its connection, except for a call of an HTTP session that missed its
 * deadline. So the server is checked too. */
bool service_abandons(const struct fumi_service *s)
{
    if (s->shared.server && fumi_server_busy(s->shared.server))
        return true;
    for (size_t i = 0; i < s->slots_n; i++)
        if (atomic_load(&s->slots[i].io->conns_n))
            return true;
    return false;
}

/* Waiting for a call that does not end would delay the exit of the process. Everything that such a
 * call may use is leaked: the worker threads, the I/O threads and their connections. */
enum fumi_served service_abandon(struct fumi_service *s)
{
    struct fumi_buf names = {0};
    for (size_t i = 0; i < s->slots_n; i++) {
        if (names.n && s->slots[i].methods.n)
            fumi_buf_put(&names, ' ');
        fumi_buf_add(&names, s->slots[i].methods.p, s->slots[i].methods.n);
    }
    fumi_log(s->shared.log, FUMI_WARN, "serve.abandoned",
             {"calls", {0}, (int64_t)atomic_load(&s->shared.open)},
             {"methods", fumi_buf_str(&names), 0});
    fumi_buf_done(&names);
    loop_signals(s->slots[0].io->loop, NULL, NULL, NULL);
    if (s->has_stdio)
        stdio_fds_restore(&s->stdio, false);
    return s->err.code ? FUMI_SERVED_ERROR : FUMI_SERVED_ABANDONED;
}
