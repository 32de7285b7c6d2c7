/* The life of a service: open the addresses, run a hub on each thread, drain, end.
 *
 * The end begins on the first hub, by a signal or the end of stdin, and reaches the others as a
 * task. Each hub then closes its listeners, lets its connections end, cancels what is still open
 * when the time is over, and stops its loop. */
#include "net/serve.h"

#include "net/accept.h"
#include "net/discovery.h"
#include "net/ends.h"
#include "net/http_parts.h"
#include "net/pool.h"
#include "net/stdio.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    DRAIN = 5000, /* milliseconds for open calls at the end */
    DRAIN_STDIO = 800,
    GRACE = 100,    /* and to notice that they are cancelled */
    WRITERS = 10000 /* more for those that may have changed something */
};
enum { METHODS_SHOWN = 512 }; /* bytes of their names in the log */
enum { INHERITED = 16, SURPLUS = 64, OWN_DESCRIPTORS = 32 };

/* A hub and what belongs to it. */
struct post {
    struct hub *hub;
    struct service *service;
    struct acceptor *acceptors;
    struct fumi_task start, drain;
    struct timer deadline;
    bool parted;
    int64_t until;           /* hub_now() up to which calls that change something are waited for */
    struct fumi_buf methods; /* of calls that are abandoned */
    pthread_t thread;
    bool running; /* its thread does */
};

struct service {
    struct site site;
    const struct fumi_serve_options *options;
    struct post *posts;
    size_t posts_n;
    struct pool *pool;
    struct ends ends;
    struct watch parent; /* of one that serves stdio */
    bool has_stdio;
    bool draining;
    int64_t drain;
    struct fumi_err err; /* why it could not go on */
    struct lock_file *locks;
    size_t locks_n;
    char *token; /* terminated; empty: there is none */
};

static const struct {
    size_t offset;
    int64_t value;
} defaults[] = {
    {offsetof(struct fumi_settings, threads), 1},
    {offsetof(struct fumi_settings, workers), 16},
    {offsetof(struct fumi_settings, connections), 1024},
    {offsetof(struct fumi_settings, queue), 1024},
    {offsetof(struct fumi_settings, head_time), 10000},
    {offsetof(struct fumi_settings, body_time), 30000},
    {offsetof(struct fumi_settings, idle_time), 75000},
    {offsetof(struct fumi_settings, write_time), 30000},
    {offsetof(struct fumi_settings, ping_time), 30000},
    {offsetof(struct fumi_settings, unsent), 16 << 20},
};

static void fill_defaults(struct fumi_settings *s)
{
    for (size_t i = 0; i < FUMI_COUNT(defaults); i++) {
        int64_t *value = (int64_t *)((char *)s + defaults[i].offset);
        if (*value <= 0)
            *value = defaults[i].value;
    }
}

static rlim_t descriptors(rlim_t need)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r))
        return need;
    if (r.rlim_cur < need) {
        r.rlim_cur = r.rlim_max < need ? r.rlim_max : need;
        setrlimit(RLIMIT_NOFILE, &r);
    }
    return getrlimit(RLIMIT_NOFILE, &r) ? need : r.rlim_cur;
}

/* As many descriptors as the connections need, or as many connections as there are descriptors:
 * with some beyond them that are told so, and what we need ourselves. */
static void fit_descriptors(struct site *site)
{
    rlim_t own = OWN_DESCRIPTORS + 8 * (rlim_t)site->set.threads;
    rlim_t need = (rlim_t)site->set.connections + SURPLUS + own, have = descriptors(need);
    site->surplus = SURPLUS;
    if (have >= need)
        return;
    rlim_t left = have > own + 8 ? have - own : 8;
    site->surplus = left / 8;
    site->set.connections = (int64_t)(left - left / 8);
    fumi_log(site->log, FUMI_WARN, "serve.descriptors", {"connections", {0}, site->set.connections},
             {"remedy", fumi_str("raise the limit of open files: ulimit -n"), 0});
}

/* --- The end. --- */

static void tell_ending(struct service *s, bool now)
{
    if (s->options->ending)
        s->options->ending(s->options->ending_arg, now);
}

static void stop_listening(struct post *p)
{
    for (struct acceptor *a = p->acceptors; a; a = a->next)
        acceptor_stop(a);
}

static size_t open_calls(const struct post *p, bool writing, struct fumi_buf *names)
{
    size_t n = 0;
    for (struct conn *c = p->hub->conns; c; c = c->after)
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
        fumi_log(p->hub->site->log, FUMI_WARN, "serve.cancelled", {"calls", {0}, (int64_t)n},
                 {"methods", fumi_buf_str(&names), 0});
    fumi_buf_done(&names);
    p->parted = true;
    p->until = hub_now(p->hub) + (p->service->site.set.drain > 0 ? 0 : WRITERS);
    tell_ending(p->service, true);
    hub_part(p->hub);
}

static void on_deadline(struct timer *t)
{
    struct post *p = FUMI_OWNER(t, struct post, deadline);
    struct fumi_err ignored;
    if (!p->parted || (hub_now(p->hub) < p->until && open_calls(p, true, NULL))) {
        if (!p->parted)
            part(p);
        loop_timer(p->hub->loop, &p->deadline, GRACE, &ignored);
        return;
    }
    p->methods.limit = METHODS_SHOWN;
    open_calls(p, false, &p->methods);
    hub_close(p->hub);
    loop_stop(p->hub->loop);
}

static void on_empty(struct hub *h)
{
    if (h->draining)
        loop_stop(h->loop);
}

static void on_drain(struct fumi_task *task)
{
    struct post *p = FUMI_OWNER(task, struct post, drain);
    struct fumi_err ignored;
    stop_listening(p);
    loop_timer(p->hub->loop, &p->deadline, p->service->drain, &ignored);
    hub_drain(p->hub);
    if (atomic_load(&p->hub->conns_n) == 0)
        loop_stop(p->hub->loop);
}

static void end(struct service *s)
{
    if (s->draining)
        return;
    s->draining = true;
    notify_manager("STOPPING=1");
    tell_ending(s, false);
    for (size_t i = 0; i < s->posts_n; i++)
        if (s->posts[i].running)
            loop_post(s->posts[i].hub->loop, &s->posts[i].drain);
}

static void on_signal(void *arg, int number)
{
    struct service *s = arg;
    if (!s->draining)
        fumi_log(s->site.log, FUMI_INFO, "serve.signal", {"signal", {0}, number},
                 {"open", {0}, (int64_t)atomic_load(&s->site.open)});
    end(s);
}

static void on_stdio_gone(struct conn *c)
{
    end(c->gone_arg);
}

/* --- The beginning. --- */

static void on_start(struct fumi_task *task)
{
    struct post *p = FUMI_OWNER(task, struct post, start);
    for (struct acceptor *a = p->acceptors; a; a = a->next) {
        struct fumi_err e;
        if (acceptor_start(a, &e))
            fumi_log(p->hub->site->log, FUMI_ERROR, "serve.listen", {"why", fumi_str(e.text), 0});
    }
}

static int add_posts(struct service *s, struct fumi_err *e)
{
    size_t n = (size_t)s->site.set.threads;
    s->posts = fumi_resize(NULL, n * sizeof(*s->posts));
    s->site.hubs = fumi_resize(NULL, n * sizeof(*s->site.hubs));
    for (; s->posts_n < n; s->posts_n++, s->site.hubs_n++) {
        struct post *p = &s->posts[s->posts_n];
        *p = (struct post){.service = s};
        if (!(p->hub = hub_new(&s->site, e)))
            return -1;
        s->site.hubs[s->site.hubs_n] = p->hub;
        p->hub->empty = on_empty;
        p->start.run = on_start;
        p->drain.run = on_drain;
        p->deadline.on = on_deadline;
    }
    return 0;
}

static void add_acceptor(struct post *p, const struct listener *l)
{
    struct acceptor *a = acceptor_new(p->hub, l);
    a->next = p->acceptors;
    p->acceptors = a;
}

static int announce(struct service *s, const struct listener *l, struct fumi_err *e)
{
    struct fumi_str dir = s->site.set.directory;
    char url[128], path[4096];
    if (l->at.kind != ADDRESS_TCP || !dir.p)
        return 0;
    bool v6 = strchr(l->at.host, ':');
    int n = snprintf(url, sizeof(url), "ws://%s%s%s:%u/ws", v6 ? "[" : "", l->at.host,
                     v6 ? "]" : "", l->at.port);
    snprintf(path, sizeof(path), "%.*s", FUMI_ARG(dir));
    s->locks = fumi_resize(s->locks, (s->locks_n + 1) * sizeof(*s->locks));
    if (discovery_announce(&s->locks[s->locks_n], path, (struct fumi_str){url, (size_t)n},
                           l->at.port, s->token,
                           s->site.server ? fumi_server_version(s->site.server) : "", e))
        return -1;
    s->locks_n++;
    return 0;
}

static int on_open(struct service *s, const struct listener *l, struct fumi_err *e)
{
    struct fumi_buf text = {0};
    if (l->at.kind == ADDRESS_TCP)
        door_port(s->site.door, l->at.port);
    address_put(&l->at, &text);
    fumi_log(s->site.log, FUMI_INFO, "serve.listening", {"address", fumi_buf_str(&text), 0});
    if (s->options->listening)
        s->options->listening(s->options->arg, fumi_buf_str(&text));
    fumi_buf_done(&text);
    return announce(s, l, e);
}

/* One socket for each thread on TCP, which share the port; a Unix socket is the first thread's. */
static int open_address(struct service *s, struct address a, struct fumi_err *e)
{
    size_t n = a.kind == ADDRESS_TCP ? s->posts_n : 1;
    struct listener first = {0};
    for (size_t i = 0; i < n; i++) {
        struct listener l;
        if (listener_open(&l, &a, i > 0, e))
            return -1;
        add_acceptor(&s->posts[i], &l);
        a.port = l.at.port;
        first = l;
    }
    return on_open(s, &first, e);
}

/* The door saw only the addresses of the settings. */
static int check_inherited(const struct service *s, const struct address *a, struct fumi_err *e)
{
    const struct fumi_settings *set = &s->site.set;
    bool guarded = set->auth == FUMI_AUTH_FILTER || (set->auth != FUMI_AUTH_NONE && s->token[0]);
    if (address_is_local(a) || (set->allow_remote && guarded))
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                        "the inherited socket can be reached by other machines: that needs "
                        "allowRemote and a token");
}

static int open_inherited(struct service *s, struct fumi_err *e)
{
    struct listener l[INHERITED];
    int n = listener_inherit(l, INHERITED, e);
    for (int i = 0; i < n; i++)
        add_acceptor(&s->posts[0], &l[i]);
    for (int i = 0; i < n; i++)
        if (check_inherited(s, &l[i].at, e) || on_open(s, &l[i], e))
            return -1;
    return n;
}

static int open_all(struct service *s, struct fumi_err *e)
{
    const struct fumi_strs *listen = &s->site.set.listen;
    int inherited = open_inherited(s, e);
    if (inherited < 0)
        return -1;
    if (!inherited && !listen->n)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "listen: no address is given, such as tcp:127.0.0.1:8765");
    for (size_t i = 0; i < listen->n; i++) {
        struct address a;
        if (address_parse(&a, listen->items[i], e))
            return -1;
        if (a.kind != ADDRESS_STDIO && open_address(s, a, e))
            return -1;
    }
    return 0;
}

/* First of all: as long as descriptors 0 to 2 may be closed, whatever is opened could become one of
 * them. */
static int take_stdio(struct service *s, struct fumi_err *e)
{
    const struct fumi_strs *listen = &s->site.set.listen;
    size_t times = 0;
    for (size_t i = 0; i < listen->n; i++)
        times += fumi_eq(listen->items[i], FUMI_STR("stdio"));
    s->has_stdio = times > 0;
    s->drain = s->site.set.drain > 0 ? s->site.set.drain : times ? DRAIN_STDIO : DRAIN;
    if (times > 1)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "listen: stdio is given twice");
    if (times)
        return ends_take(&s->ends, e);
    ends_fill();
    return 0;
}

/* The token that the settings give or name the file of. */
static int given_token(struct service *s, struct fumi_err *e)
{
    const struct fumi_settings *set = &s->site.set;
    char path[4096];
    if (set->token.p && set->token_file.p)
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "token and tokenFile are both given: leave one of them out");
    if (set->token.p)
        snprintf(s->token, set->token.n + 1, "%.*s", FUMI_ARG(set->token));
    if (!set->token_file.p)
        return 0;
    snprintf(path, sizeof(path), "%.*s", FUMI_ARG(set->token_file));
    int rc = discovery_token_file(path, s->token, e);
    return rc <= 0 ? rc : fumi_err_set(e, FUMI_INVALID_PARAMS, "tokenFile: %s is not there", path);
}

/* That token, or else the one of the directory. */
static int find_token(struct service *s, struct fumi_err *e)
{
    const struct fumi_settings *set = &s->site.set;
    char path[4096];
    s->token = fumi_resize(NULL, set->token.n + TOKEN_MOST + 1);
    s->token[0] = '\0';
    if (given_token(s, e))
        return -1;
    if (!set->directory.p)
        return 0;
    snprintf(path, sizeof(path), "%.*s", FUMI_ARG(set->directory));
    if (discovery_directory(path, e))
        return -1;
    return s->token[0] ? 0 : discovery_token(path, s->token, e);
}

static bool may_block(const struct fumi_server *s)
{
    struct fumi_str name;
    for (size_t i = 0; s && i < fumi_server_size(s); i++) {
        const struct fumi_method *m = fumi_server_at(s, i, &name);
        if (m->flags & (FUMI_BLOCKING | FUMI_DYNAMIC_FLAGS))
            return true;
    }
    return false;
}

static void make_pool(struct service *s)
{
    if (!may_block(s->site.server))
        return;
    s->pool = pool_new((int)s->site.set.workers, s->site.log);
    fumi_server_executor(s->site.server, pool_submit, s->pool);
}

static void join_stdio(struct service *s)
{
    /* Heads that are demanded are also for what is pushed before the peer says anything. */
    struct conn *c = conn_over(s->posts[0].hub, &s->ends,
                               s->site.set.framing == FUMI_FRAMING_HEADERS ? &framed_proto
                                                                           : &stdio_proto);
    c->peer.transport = "stdio";
    c->err = &s->err;
    c->gone = on_stdio_gone;
    c->gone_arg = s;
    conn_soon(c);
}

static void on_parent(struct watch *w, unsigned events)
{
    struct service *s = FUMI_OWNER(w, struct service, parent);
    struct fumi_err ignored;
    (void)events;
    loop_watch(s->posts[0].hub->loop, w, 0, &ignored);
    fumi_log(s->site.log, FUMI_INFO, "serve.orphaned", {"parent", fumi_str("ended"), 0});
    end(s);
}

/* Who started us to serve its stdin is gone: then nobody is served, even if some other process
 * still holds the other end open. A parent that cannot be seen is not watched. */
static void watch_parent(struct service *s)
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

static void forget_parent(struct service *s)
{
    struct fumi_err ignored;
    if (!s->parent.ready || s->parent.fd < 0)
        return;
    loop_watch(s->posts[0].hub->loop, &s->parent, 0, &ignored);
    close(s->parent.fd);
}

/* --- In between. --- */

static void *run_post(void *arg)
{
    struct post *p = arg;
    p->hub->thread = pthread_self();
    pthread_setname_np(pthread_self(), "fumi-hub");
    loop_run(p->hub->loop);
    return NULL;
}

/* Signals belong to the first hub. */
static int start_threads(struct service *s, struct fumi_err *e)
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

static void run(struct service *s, struct fumi_err *e)
{
    s->posts[0].running = true;
    loop_post(s->posts[0].hub->loop, &s->posts[0].start);
    if (start_threads(s, e)) {
        s->err = *e;
        end(s);
    }
    if (s->has_stdio) {
        watch_parent(s);
        join_stdio(s);
    }
    notify_manager("READY=1");
    loop_run(s->posts[0].hub->loop);
    forget_parent(s);
    for (size_t i = 1; i < s->posts_n; i++)
        if (s->posts[i].running)
            pthread_join(s->posts[i].thread, NULL);
}

/* Most calls keep their connection. One of a session over HTTP that missed its deadline does not:
 * its worker cannot be waited for all the same. */
static bool is_abandoned(const struct service *s)
{
    if (s->site.server && fumi_server_busy(s->site.server))
        return true;
    for (size_t i = 0; i < s->posts_n; i++)
        if (atomic_load(&s->posts[i].hub->conns_n))
            return true;
    return false;
}

static void free_post(struct post *p)
{
    fumi_buf_done(&p->methods);
    for (struct acceptor *a = p->acceptors, *next; a; a = next) {
        next = a->next;
        acceptor_free(a);
    }
    hub_free(p->hub);
}

static void withdraw(struct service *s)
{
    for (size_t i = 0; i < s->locks_n; i++)
        discovery_withdraw(&s->locks[i]);
    s->locks_n = 0;
}

static void service_free(struct service *s)
{
    if (s->pool) {
        pool_free(s->pool);
        fumi_server_executor(s->site.server, NULL, NULL);
    }
    for (size_t i = 0; i < s->posts_n; i++)
        free_post(&s->posts[i]);
    fumi_resize(s->posts, 0);
    fumi_resize(s->site.hubs, 0);
    fumi_resize(s->site.routes, 0);
    fumi_resize(s->locks, 0);
    if (s->token)
        explicit_bzero(s->token, strlen(s->token));
    fumi_resize(s->token, 0);
    if (s->site.door)
        door_free(s->site.door);
    if (s->site.rate)
        rate_free(s->site.rate);
    fumi_resize(s, 0);
}

static struct service *service_new(struct fumi_server *server, const struct fumi_serve_options *o)
{
    struct service *s = fumi_resize(NULL, sizeof(*s));
    memset(s, 0, sizeof(*s));
    s->options = o;
    s->site.server = server;
    s->site.handle = o->handle ? o->handle : fumi_handle;
    s->site.handler = o->handle ? o->handler : server;
    s->site.set = o->set;
    s->site.log = o->log;
    s->site.filters = o->filters;
    s->site.filters_n = o->filters_n;
    s->site.metrics = o->metrics;
    http_add_routes(&s->site, o->routes, o->routes_n);
    s->site.message = server ? fumi_server_get_limits(server).message : 1 << 20;
    fill_defaults(&s->site.set);
    s->site.http = HTTP_LIMITS;
    s->site.http.body = s->site.message;
    if (s->site.set.rate > 0)
        s->site.rate = rate_new(s->site.set.rate);
    return s;
}

static int check_filters(const struct site *site, struct fumi_err *e)
{
    if (site->set.auth != FUMI_AUTH_FILTER)
        return 0;
    for (size_t i = 0; i < site->filters_n; i++)
        if (site->filters[i].before)
            return 0;
    return fumi_err_set(e, FUMI_INVALID_PARAMS,
                        "auth: FUMI_AUTH_FILTER needs a filter with `before`");
}

static int prepare(struct service *s, struct fumi_err *e)
{
    if (check_filters(&s->site, e))
        return -1;
    if (take_stdio(s, e))
        return -1;
    if (!s->has_stdio || s->site.set.listen.n > 1)
        fit_descriptors(&s->site);
    if (find_token(s, e))
        return -1;
    struct fumi_str token = {s->token[0] ? s->token : NULL, strlen(s->token)};
    if (!(s->site.door = door_new(&s->site.set, token, e)))
        return -1;
    /* Whoever hears that an address is open may send a signal at once. */
    if (add_posts(s, e) || loop_signals(s->posts[0].hub->loop, on_signal, s, e))
        return -1;
    make_pool(s);
    return open_all(s, e);
}

/* To wait for a call that does not end would keep the process alive after its time. All that the
 * call may still touch stays: the workers, the hubs and their connections are left to the end of
 * the process. */
static int abandon(struct service *s)
{
    struct fumi_buf names = {0};
    for (size_t i = 0; i < s->posts_n; i++) {
        if (names.n && s->posts[i].methods.n)
            fumi_buf_put(&names, ' ');
        fumi_buf_add(&names, s->posts[i].methods.p, s->posts[i].methods.n);
    }
    fumi_log(s->site.log, FUMI_WARN, "serve.abandoned",
             {"calls", {0}, (int64_t)atomic_load(&s->site.open)},
             {"methods", fumi_buf_str(&names), 0});
    fumi_buf_done(&names);
    loop_signals(s->posts[0].hub->loop, NULL, NULL, NULL);
    if (s->has_stdio)
        ends_give_back(&s->ends, false);
    return s->err.code ? -1 : 1;
}

static int serve(struct service *s, struct fumi_err *e)
{
    int rc = prepare(s, e);
    if (!rc) {
        run(s, e);
        withdraw(s);
        if (s->err.code)
            *e = s->err;
        if (is_abandoned(s))
            return abandon(s);
        rc = s->err.code ? -1 : 0;
    }
    withdraw(s);
    if (s->has_stdio)
        ends_give_back(&s->ends, true);
    service_free(s);
    return rc;
}

int fumi_serve(struct fumi_server *server, const struct fumi_serve_options *options,
               struct fumi_err *e)
{
    return serve(service_new(server, options), e);
}

int fumi_serve_stdio(struct fumi_server *server, const struct fumi_stdio_options *options,
                     struct fumi_err *e)
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
                                     .handler = o->handler};
    struct service *s = service_new(server, &all);
    if (o->line)
        s->site.message = o->line;
    return serve(s, e);
}
