/* Opens a service: settings, token, addresses, I/O threads and worker threads. */
#include "net/serve_parts.h"

#include "net/http_parts.h"
#include "net/process.h"
#include "rpc/stop.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>

enum { DRAIN = 5000, DRAIN_STDIO = 800 }; /* milliseconds for open calls at shutdown */
enum { INHERITED = 16, SURPLUS = 64, OWN_DESCRIPTORS = 32 };

/* Replaces numbers that are 0 or negative with the defaults of fumi_settings_shape. */
static void fill_defaults(struct fumi_settings *s)
{
    struct fumi_settings usual = {0};
    struct fumi_arena a = {0};
    struct fumi_err e;
    int rc = fumi_bind(&a, &fumi_settings_shape, NULL, &usual, &e);
    assert(rc == 0); /* the shape's own defaults are valid */
    (void)rc;
    for (size_t i = 0; i < fumi_settings_shape.n; i++) {
        const struct fumi_field *f = &fumi_settings_shape.fields[i];
        if (f->type != FUMI_T_INT)
            continue;
        int64_t *value = (int64_t *)((char *)s + f->offset);
        if (*value <= 0)
            *value = *(int64_t *)((char *)&usual + f->offset);
    }
    fumi_arena_done(&a);
}

/* Raises the limit of descriptors to the number that the service needs: for the connections, for
 * surplus connections, whose first request is refused, and for the service itself. If the limit
 * cannot be raised so far, reduces the number of connections. */
static void fit_descriptors(struct fumi_service *s)
{
    struct server_shared *shared = &s->shared;
    rlim_t own = OWN_DESCRIPTORS + 8 * (rlim_t)shared->set.threads;
    rlim_t need = (rlim_t)shared->set.connections + SURPLUS + own, have = process_descriptors(need);
    s->descriptors = need;
    shared->surplus = SURPLUS;
    if (have >= need)
        return;
    rlim_t left = have > own + 8 ? have - own : 8;
    shared->surplus = left / 8;
    shared->set.connections = (int64_t)(left - left / 8);
    fumi_log(shared->log, FUMI_WARN, "serve.descriptors",
             {"connections", {0}, shared->set.connections},
             {"remedy", fumi_str("raise the limit of open files: ulimit -n"), 0});
}

static void add_acceptor(struct thread_slot *slot, const struct listener *l)
{
    struct acceptor *a = acceptor_new(slot->io, l);
    a->next = slot->acceptors;
    slot->acceptors = a;
}

static int announce(struct fumi_service *s, const struct listener *l, struct fumi_err *e)
{
    struct fumi_str dir = s->shared.set.directory;
    char url[192], path[4096];
    if (l->at.kind != ADDRESS_TCP || !dir.p)
        return 0;
    bool v6 = strchr(l->at.host, ':');
    int n = snprintf(url, sizeof(url), "ws://%s%s%s:%u%s/ws", v6 ? "[" : "", l->at.host,
                     v6 ? "]" : "", l->at.port, s->options.mount ? s->options.mount : "");
    snprintf(path, sizeof(path), "%.*s", FUMI_ARG(dir));
    s->locks = fumi_resize(s->locks, (s->locks_n + 1) * sizeof(*s->locks));
    if (discovery_announce(&s->locks[s->locks_n], path, (struct fumi_str){url, (size_t)n},
                           l->at.port, s->token,
                           s->shared.server ? fumi_server_version(s->shared.server) : "", e))
        return -1;
    s->locks_n++;
    return 0;
}

static int on_open(struct fumi_service *s, const struct listener *l, struct fumi_err *e)
{
    struct fumi_buf text = {0};
    if (l->at.kind == ADDRESS_TCP)
        access_add_port(s->shared.access, l->at.port);
    address_put(&l->at, &text);
    fumi_log(s->shared.log, FUMI_INFO, "serve.listening", {"address", fumi_buf_str(&text), 0});
    if (s->options.listening)
        s->options.listening(s->options.arg, fumi_buf_str(&text));
    fumi_buf_done(&text);
    return announce(s, l, e);
}

/* Opens one TCP socket per I/O thread, all on the same port; a Unix socket only on the first. */
static int open_address(struct fumi_service *s, struct address a, struct fumi_err *e)
{
    size_t n = a.kind == ADDRESS_TCP ? s->slots_n : 1;
    struct listener first = {0};
    for (size_t i = 0; i < n; i++) {
        struct listener l;
        if (listener_open(&l, &a, i > 0, e))
            return -1;
        add_acceptor(&s->slots[i], &l);
        a.port = l.at.port;
        first = l;
    }
    return on_open(s, &first, e);
}

/* Checks an inherited socket: access_new has checked only the addresses in the settings. */
static int check_inherited(const struct fumi_service *s, const struct address *a,
                           struct fumi_err *e)
{
    const struct fumi_settings *set = &s->shared.set;
    bool guarded = set->auth == FUMI_AUTH_FILTER || (set->auth != FUMI_AUTH_NONE && s->token[0]);
    if (address_is_local(a) || (set->allow_remote && guarded))
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                        "the inherited socket can be reached by other machines: that needs "
                        "allowRemote and a token");
}

static int open_inherited(struct fumi_service *s, struct fumi_err *e)
{
    struct listener l[INHERITED];
    int n = listener_inherit(l, INHERITED, e);
    for (int i = 0; i < n; i++)
        add_acceptor(&s->slots[0], &l[i]);
    for (int i = 0; i < n; i++)
        if (check_inherited(s, &l[i].at, e) || on_open(s, &l[i], e))
            return -1;
    return n;
}

static int open_all(struct fumi_service *s, struct fumi_err *e)
{
    const struct fumi_strs *listen = &s->shared.set.listen;
    int inherited = s->options.no_manager ? 0 : open_inherited(s, e);
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

/* Must run before any file is opened: if one of the descriptors 0 to 2 is closed, the next file
 * would become that descriptor. */
static int take_stdio(struct fumi_service *s, struct fumi_err *e)
{
    const struct fumi_strs *listen = &s->shared.set.listen;
    size_t times = 0;
    for (size_t i = 0; i < listen->n; i++)
        times += fumi_eq(listen->items[i], FUMI_STR("stdio"));
    s->drain = s->shared.set.drain > 0 ? s->shared.set.drain : times ? DRAIN_STDIO : DRAIN;
    if (times > 1)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "listen: stdio is given twice");
    s->has_stdio = times > 0;
    if (times)
        return stdio_fds_open(&s->stdio, s->options.in, s->options.out, e);
    process_fill();
    s->filled = true;
    return 0;
}

/* Stores the token of the settings, given as `token` or in `tokenFile`, if there is one. */
static int given_token(struct fumi_service *s, struct fumi_err *e)
{
    const struct fumi_settings *set = &s->shared.set;
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
    return rc <= 0 ? rc
                   : fumi_err_set(e, FUMI_INVALID_PARAMS, "tokenFile: %s does not exist", path);
}

/* Stores the token of the settings, or else that of the directory. */
static int find_token(struct fumi_service *s, struct fumi_err *e)
{
    const struct fumi_settings *set = &s->shared.set;
    char path[4096];
    s->token = fumi_resize(NULL, set->token.n + DISCOVERY_TOKEN_MAX + 1);
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

static void make_pool(struct fumi_service *s)
{
    if (!may_block(s->shared.server))
        return;
    s->pool = pool_new((int)s->shared.set.workers, s->shared.log);
    fumi_server_executor(s->shared.server, pool_submit, s->pool);
}

static void free_slot(struct thread_slot *slot)
{
    fumi_buf_done(&slot->methods);
    for (struct acceptor *a = slot->acceptors, *next; a; a = next) {
        next = a->next;
        acceptor_free(a);
    }
    io_thread_free(slot->io);
}

void service_withdraw(struct fumi_service *s)
{
    for (size_t i = 0; i < s->locks_n; i++)
        discovery_withdraw(&s->locks[i]);
    s->locks_n = 0;
}

void service_free(struct fumi_service *s)
{
    if (s->pool) {
        pool_free(s->pool);
        fumi_server_executor(s->shared.server, NULL, NULL);
    }
    for (size_t i = 0; i < s->slots_n; i++)
        free_slot(&s->slots[i]);
    fumi_resize(s->slots, 0);
    fumi_resize(s->shared.io_threads, 0);
    fumi_resize(s->shared.routes, 0);
    fumi_arena_done(&s->shared.paths);
    fumi_resize(s->locks, 0);
    if (s->token)
        explicit_bzero(s->token, strlen(s->token));
    fumi_resize(s->token, 0);
    if (s->shared.access)
        access_free(s->shared.access);
    if (s->shared.rate)
        rate_free(s->shared.rate);
    if (s->descriptors)
        process_descriptors_done(s->descriptors);
    if (s->filled)
        process_unfill();
    if (s->claimed)
        stop_end(server_stop(s->shared.server));
    fumi_resize(s, 0);
}

struct fumi_service *service_new(struct fumi_server *server, const struct fumi_serve_options *o)
{
    struct fumi_service *s = fumi_resize(NULL, sizeof(*s));
    memset(s, 0, sizeof(*s));
    s->options = *o;
    s->shared.options = &s->options;
    s->shared.server = server;
    s->shared.handle = o->handle ? o->handle : fumi_handle;
    s->shared.handler = o->handle ? o->handler : server;
    s->shared.set = o->set;
    s->shared.log = o->log;
    s->shared.filters = o->filters;
    s->shared.filters_n = o->filters_n;
    s->shared.metrics = o->metrics;
    http_add_routes(&s->shared);
    s->shared.message = server ? fumi_server_get_limits(server).message : 1 << 20;
    fill_defaults(&s->shared.set);
    s->shared.http = HTTP_LIMITS;
    s->shared.http.body = s->shared.message;
    if (s->shared.set.rate > 0)
        s->shared.rate = rate_new(s->shared.set.rate);
    return s;
}

static void on_signal(void *arg, int number)
{
    struct fumi_service *s = arg;
    if (!s->draining)
        fumi_log(s->shared.log, FUMI_INFO, "serve.signal", {"signal", {0}, number},
                 {"open", {0}, (int64_t)atomic_load(&s->shared.open)});
    service_end(s, FUMI_SERVED_SIGNAL);
}

static void on_stop(struct watch *w, unsigned events)
{
    struct fumi_service *s = FUMI_OWNER(w, struct fumi_service, stop);
    (void)events;
    if (!stop_look(server_stop(s->shared.server)))
        return;
    if (!s->draining)
        fumi_log(s->shared.log, FUMI_INFO, "serve.stop",
                 {"open", {0}, (int64_t)atomic_load(&s->shared.open)});
    service_end(s, FUMI_SERVED_STOP);
}

static int watch_signals(struct fumi_service *s, struct fumi_err *e)
{
    if (s->options.no_signals)
        return 0;
    return loop_signals(s->slots[0].io->loop, on_signal, s, e);
}

static int watch_stop(struct fumi_service *s, struct fumi_err *e)
{
    if (!s->shared.server)
        return 0;
    struct stop *stop = server_stop(s->shared.server);
    s->stop = (struct watch){.fd = stop_descriptor(stop, e), .ready = on_stop};
    if (s->stop.fd < 0 || loop_watch(s->slots[0].io->loop, &s->stop, LOOP_READ, e))
        return -1;
    if (atomic_load(&stop->requested))
        stop_request(stop); /* fumi_stop was called before the descriptor existed */
    return 0;
}

int service_claim(struct fumi_service *s, struct fumi_err *e)
{
    if (!s->shared.server)
        return 0;
    if (stop_begin(server_stop(s->shared.server), e))
        return -1;
    s->claimed = true;
    return stop_look(server_stop(s->shared.server)) ? 1 : 0;
}

static int check_filters(const struct server_shared *shared, struct fumi_err *e)
{
    if (shared->set.auth != FUMI_AUTH_FILTER)
        return 0;
    for (size_t i = 0; i < shared->filters_n; i++)
        if (shared->filters[i].before)
            return 0;
    return fumi_err_set(e, FUMI_INVALID_PARAMS,
                        "auth: FUMI_AUTH_FILTER needs a filter with `before`");
}

int service_prepare(struct fumi_service *s, struct fumi_err *e)
{
    if (check_filters(&s->shared, e) || http_check_mount(s->options.mount, e) || take_stdio(s, e))
        return -1;
    if (!s->has_stdio || s->shared.set.listen.n > 1)
        fit_descriptors(s);
    if (find_token(s, e))
        return -1;
    struct fumi_str token = {s->token[0] ? s->token : NULL, strlen(s->token)};
    if (!(s->shared.access = access_new(&s->shared.set, token, e)))
        return -1;
    /* Before open_all: a program that is notified of an open address may send a signal at once. */
    if (service_make_slots(s, e) || watch_stop(s, e) || watch_signals(s, e))
        return -1;
    make_pool(s);
    return open_all(s, e);
}
