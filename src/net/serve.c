/* Runs a service: opens the addresses (serve_open.c), runs the I/O threads, and shuts down
 * (serve_end.c). */
#include "net/serve.h"

#include "net/serve_parts.h"
#include "net/stdio.h"
#include "rpc/stop.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static void on_stdio_closed(struct conn *c)
{
    service_end(c->on_close_arg, FUMI_SERVED_END);
}

static void join_stdio(struct fumi_service *s)
{
    /* With framing "headers", messages that are pushed before the first input have headers too. */
    struct conn *c = conn_new_stdio(s->slots[0].io, &s->stdio,
                                    s->shared.set.framing == FUMI_FRAMING_HEADERS ? &framed_proto
                                                                                  : &stdio_proto);
    c->peer.transport = "stdio";
    c->err = &s->err;
    c->on_close = on_stdio_closed;
    c->on_close_arg = s;
    conn_announce(c);
    conn_schedule(c);
}

static void on_parent(struct watch *w, unsigned events)
{
    struct fumi_service *s = FUMI_OWNER(w, struct fumi_service, parent);
    struct fumi_err ignored;
    (void)events;
    loop_watch(s->slots[0].io->loop, w, 0, &ignored);
    fumi_log(s->shared.log, FUMI_INFO, "serve.orphaned", {"parent", fumi_str("ended"), 0});
    service_end(s, FUMI_SERVED_END);
}

/* When the parent process ends, the service ends, even if another process holds the other end of
 * stdin open. The parent is not watched if its pid is 1 or less, or if pidfd_open fails. */
static void watch_parent(struct fumi_service *s)
{
    struct fumi_err ignored;
    pid_t parent = getppid();
    if (parent <= 1)
        return;
    s->parent.fd = (int)syscall(SYS_pidfd_open, parent, 0);
    s->parent.ready = on_parent;
    if (s->parent.fd >= 0 && getppid() == parent)
        loop_watch(s->slots[0].io->loop, &s->parent, LOOP_READ, &ignored);
}

static void forget_parent(struct fumi_service *s)
{
    struct fumi_err ignored;
    if (!s->parent.ready || s->parent.fd < 0)
        return;
    loop_watch(s->slots[0].io->loop, &s->parent, 0, &ignored);
    close(s->parent.fd);
}

static void *run_slot(void *arg)
{
    struct thread_slot *slot = arg;
    slot->io->thread = pthread_self();
    pthread_setname_np(pthread_self(), "fumi-io");
    loop_run(slot->io->loop);
    return NULL;
}

/* The new threads block all signals: the first I/O thread handles them. */
static int start_threads(struct fumi_service *s, struct fumi_err *e)
{
    sigset_t all, before;
    int rc = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t i = 1; i < s->slots_n && !rc; i++) {
        struct thread_slot *slot = &s->slots[i];
        rc = pthread_create(&slot->thread, NULL, run_slot, slot);
        slot->running = rc == 0;
        if (slot->running)
            loop_post(slot->io->loop, &slot->start);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? fumi_err_set(e, FUMI_INTERNAL_ERROR, "thread: %s", strerror(rc)) : 0;
}

/* Starts the I/O threads and the connection over stdio, and reports that the service is ready. */
static void begin(struct fumi_service *s)
{
    s->began = s->slots[0].running = true;
    loop_post(s->slots[0].io->loop, &s->slots[0].start);
    if (start_threads(s, &s->err))
        service_end(s, FUMI_SERVED_ERROR);
    if (s->has_stdio && !s->stdio.own)
        watch_parent(s);
    if (s->has_stdio)
        join_stdio(s);
    if (!s->options.no_manager)
        notify_manager("READY=1");
}

/* Frees the service, except for what abandoned calls may still use. */
static enum fumi_served finish(struct fumi_service *s, struct fumi_err *e)
{
    forget_parent(s);
    for (size_t i = 1; i < s->slots_n; i++)
        if (s->slots[i].running)
            pthread_join(s->slots[i].thread, NULL);
    service_withdraw(s);
    if (s->err.code)
        *e = s->err;
    if (s->began && service_abandons(s))
        return service_abandon(s);
    enum fumi_served why = s->err.code ? FUMI_SERVED_ERROR : s->why;
    if (s->has_stdio)
        stdio_fds_restore(&s->stdio, true);
    service_free(s);
    return why;
}

/* SIGPIPE is blocked, so that the process survives when the reader of stdout or stderr exits. The
 * other threads of the service block all signals. */
static enum fumi_served serve(struct fumi_service *s, struct fumi_err *e)
{
    bool blocked = stdio_fds_block_sigpipe();
    int rc = service_claim(s, &s->err);
    if (rc > 0)
        s->why = FUMI_SERVED_STOP;
    if (rc == 0 && service_prepare(s, &s->err) == 0) {
        begin(s);
        loop_run(s->slots[0].io->loop);
    }
    enum fumi_served why = finish(s, e);
    stdio_fds_unblock_sigpipe(blocked);
    return why;
}

void fumi_stop(struct fumi_server *s)
{
    stop_request(server_stop(s));
}

enum fumi_served fumi_serve(struct fumi_server *server, const struct fumi_serve_options *options,
                            struct fumi_err *e)
{
    return serve(service_new(server, options), e);
}

enum fumi_served fumi_serve_stdio(struct fumi_server *server,
                                  const struct fumi_stdio_options *options, struct fumi_err *e)
{
    static const struct fumi_stdio_options none;
    const struct fumi_stdio_options *o = options ? options : &none;
    struct fumi_str listen[] = {FUMI_STR("stdio")};
    struct fumi_serve_options all = {.set = {.listen = {listen, 1},
                                             .framing = o->framing,
                                             .workers = o->threads,
                                             .drain = o->drain},
                                     .log = o->log,
                                     .handle = o->handle,
                                     .handler = o->handler,
                                     .in = o->in,
                                     .out = o->out,
                                     .no_signals = o->no_signals};
    struct fumi_service *s = service_new(server, &all);
    if (o->line)
        s->shared.message = o->line;
    return serve(s, e);
}

static int check_threads(const struct fumi_service *s, struct fumi_err *e)
{
    if (s->shared.set.threads == 1)
        return 0;
    return fumi_err_set(e, FUMI_INVALID_PARAMS,
                        "threads: a service inside another event loop must have 1 thread");
}

static int open_inside(struct fumi_service *s, struct fumi_err *e)
{
    if (check_threads(s, e) || service_claim(s, e) < 0 || service_prepare(s, e))
        return -1;
    s->fd = loop_fd(s->slots[0].io->loop, e);
    return s->fd < 0 ? -1 : 0;
}

struct fumi_service *fumi_service_open(struct fumi_server *server,
                                       const struct fumi_serve_options *options, struct fumi_err *e)
{
    struct fumi_service *s = service_new(server, options);
    if (open_inside(s, &s->err)) {
        finish(s, e);
        return NULL;
    }
    begin(s);
    s->slots[0].io->outside_loop = true;
    return s;
}

int fumi_service_fd(const struct fumi_service *s)
{
    return s->fd;
}

bool fumi_service_step(struct fumi_service *s)
{
    struct io_thread *io = s->slots[0].io;
    if (s->ended)
        return false;
    bool blocked = s->has_stdio && stdio_fds_block_sigpipe();
    io->outside_loop = false;
    s->ended = !loop_step(io->loop);
    io->outside_loop = true;
    stdio_fds_unblock_sigpipe(blocked);
    return !s->ended;
}

enum fumi_served fumi_service_close(struct fumi_service *s, struct fumi_err *e)
{
    struct fumi_err ignored;
    struct io_thread *io = s->slots[0].io;
    bool blocked = stdio_fds_block_sigpipe();
    io->outside_loop = false;
    if (!s->ended) {
        service_end(s, FUMI_SERVED_STOP);
        loop_run(io->loop);
    }
    enum fumi_served why = finish(s, e ? e : &ignored);
    stdio_fds_unblock_sigpipe(blocked);
    return why;
}
