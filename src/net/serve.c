/* The life of a service: open the addresses (serve_open.c), run a hub on each thread, drain and end
 * (serve_end.c). */
#include "net/serve.h"

#include "net/serve_parts.h"
#include "net/stdio.h"
#include "rpc/stop.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static void on_stdio_gone(struct conn *c)
{
    service_end(c->gone_arg, FUMI_SERVED_END);
}

static void join_stdio(struct fumi_service *s)
{
    /* Heads that are demanded are also for what is pushed before the peer says anything. */
    struct conn *c = conn_over(s->posts[0].hub, &s->ends,
                               s->site.set.framing == FUMI_FRAMING_HEADERS ? &framed_proto
                                                                           : &stdio_proto);
    c->peer.transport = "stdio";
    c->err = &s->err;
    c->gone = on_stdio_gone;
    c->gone_arg = s;
    conn_meet(c);
    conn_soon(c);
}

static void on_parent(struct watch *w, unsigned events)
{
    struct fumi_service *s = FUMI_OWNER(w, struct fumi_service, parent);
    struct fumi_err ignored;
    (void)events;
    loop_watch(s->posts[0].hub->loop, w, 0, &ignored);
    fumi_log(s->site.log, FUMI_INFO, "serve.orphaned", {"parent", fumi_str("ended"), 0});
    service_end(s, FUMI_SERVED_END);
}

/* Who started us to serve its stdin is gone: then nobody is served, even if some other process
 * still holds the other end open. A parent that cannot be seen is not watched. */
static void watch_parent(struct fumi_service *s)
{
    struct fumi_err ignored;
    pid_t parent = getppid();
    if (parent <= 1)
        return;
    s->parent.fd = (int)syscall(SYS_pidfd_open, parent, 0);
    s->parent.ready = on_parent;
    if (s->parent.fd >= 0 && getppid() == parent)
        loop_watch(s->posts[0].hub->loop, &s->parent, LOOP_READ, &ignored);
}

static void forget_parent(struct fumi_service *s)
{
    struct fumi_err ignored;
    if (!s->parent.ready || s->parent.fd < 0)
        return;
    loop_watch(s->posts[0].hub->loop, &s->parent, 0, &ignored);
    close(s->parent.fd);
}

static void *run_post(void *arg)
{
    struct post *p = arg;
    p->hub->thread = pthread_self();
    pthread_setname_np(pthread_self(), "fumi-hub");
    loop_run(p->hub->loop);
    return NULL;
}

/* Signals belong to the first hub. */
static int start_threads(struct fumi_service *s, struct fumi_err *e)
{
    sigset_t all, before;
    int rc = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t i = 1; i < s->posts_n && !rc; i++) {
        struct post *p = &s->posts[i];
        rc = pthread_create(&p->thread, NULL, run_post, p);
        p->running = rc == 0;
        if (p->running)
            loop_post(p->hub->loop, &p->start);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? fumi_err_set(e, FUMI_INTERNAL_ERROR, "thread: %s", strerror(rc)) : 0;
}

/* All that happens before the first turn of the first loop. */
static void begin(struct fumi_service *s)
{
    s->began = s->posts[0].running = true;
    loop_post(s->posts[0].hub->loop, &s->posts[0].start);
    if (start_threads(s, &s->err))
        service_end(s, FUMI_SERVED_ERROR);
    if (s->has_stdio && !s->ends.own)
        watch_parent(s);
    if (s->has_stdio)
        join_stdio(s);
    if (!s->options.no_manager)
        notify_manager("READY=1");
}

/* Undoes all but what calls that were abandoned may still touch. */
static enum fumi_served finish(struct fumi_service *s, struct fumi_err *e)
{
    forget_parent(s);
    for (size_t i = 1; i < s->posts_n; i++)
        if (s->posts[i].running)
            pthread_join(s->posts[i].thread, NULL);
    service_withdraw(s);
    if (s->err.code)
        *e = s->err;
    if (s->began && service_abandons(s))
        return service_abandon(s);
    enum fumi_served why = s->err.code ? FUMI_SERVED_ERROR : s->why;
    if (s->has_stdio)
        ends_give_back(&s->ends, true);
    service_free(s);
    return why;
}

/* A reader of stdout, or of the log on stderr, that is gone must not end the process. The service's
 * other threads block all signals. */
static enum fumi_served serve(struct fumi_service *s, struct fumi_err *e)
{
    bool blocked = ends_block_pipe();
    int rc = service_claim(s, &s->err);
    if (rc > 0)
        s->why = FUMI_SERVED_STOP;
    if (rc == 0 && service_prepare(s, &s->err) == 0) {
        begin(s);
        loop_run(s->posts[0].hub->loop);
    }
    enum fumi_served why = finish(s, e);
    ends_unblock_pipe(blocked);
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
        s->site.message = o->line;
    return serve(s, e);
}

static int check_threads(const struct fumi_service *s, struct fumi_err *e)
{
    if (s->site.set.threads == 1)
        return 0;
    return fumi_err_set(e, FUMI_INVALID_PARAMS,
                        "threads: a service inside another event loop has one");
}

static int open_inside(struct fumi_service *s, struct fumi_err *e)
{
    if (check_threads(s, e) || service_claim(s, e) < 0 || service_prepare(s, e))
        return -1;
    s->fd = loop_fd(s->posts[0].hub->loop, e);
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
    s->posts[0].hub->outside = true;
    return s;
}

int fumi_service_fd(const struct fumi_service *s)
{
    return s->fd;
}

bool fumi_service_step(struct fumi_service *s)
{
    struct hub *hub = s->posts[0].hub;
    if (s->ended)
        return false;
    bool blocked = s->has_stdio && ends_block_pipe();
    hub->outside = false;
    s->ended = !loop_step(hub->loop);
    hub->outside = true;
    ends_unblock_pipe(blocked);
    return !s->ended;
}

enum fumi_served fumi_service_close(struct fumi_service *s, struct fumi_err *e)
{
    struct fumi_err ignored;
    struct hub *hub = s->posts[0].hub;
    bool blocked = ends_block_pipe();
    hub->outside = false;
    if (!s->ended) {
        service_end(s, FUMI_SERVED_STOP);
        loop_run(hub->loop);
    }
    enum fumi_served why = finish(s, e ? e : &ignored);
    ends_unblock_pipe(blocked);
    return why;
}
