/* A server in a child process whose filter attaches a context to each request that has X-User.
 * Parent and child count contexts in shared memory. */
#ifndef PEERS_WHO_FIXTURE_H
#define PEERS_WHO_FIXTURE_H

#include "frames.h"
#include "fumi.h"
#include "net/pool.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>

struct counts {
    atomic_int made, freed;
    atomic_int wrong;  /* contexts that were seen when they should not have been */
    atomic_int twice;  /* second contexts that were refused */
    atomic_int parked; /* calls and routes that wait for `go` */
    atomic_int late;   /* calls of `slow` that ended with their context */
    sem_t go;
};

enum { ALIVE = 0x5eed, DEAD = 0xdead };

struct user {
    unsigned magic;
    struct counts *counts;
    char name[16];
};

static inline void user_done(void *context)
{
    struct user *u = context;
    atomic_fetch_add(u->magic == ALIVE ? &u->counts->freed : &u->counts->wrong, 1);
    u->magic = DEAD;
    free(u);
}

static inline struct fumi_str user_name(const void *context, struct counts *c)
{
    const struct user *u = context;
    if (u && u->magic != ALIVE)
        atomic_fetch_add(&c->wrong, 1);
    return fumi_str(u ? u->name : "nobody");
}

static inline int who_before(void *self, const struct fumi_http_request *r,
                             struct fumi_refusal *out)
{
    struct counts *c = self;
    struct fumi_str name = fumi_http_field(r, "x-user");
    if (fumi_http_context(r))
        atomic_fetch_add(&c->wrong, 1);
    if (name.p) {
        struct user *u = malloc(sizeof(*u));
        if (!u)
            abort();
        *u = (struct user){ALIVE, c, ""};
        snprintf(u->name, sizeof(u->name), "%.*s", FUMI_ARG(name));
        atomic_fetch_add(&c->made, 1);
        if (fumi_http_attach(r, u, user_done))
            abort();
    }
    if (fumi_http_field(r, "x-twice").p && fumi_http_attach(r, c, user_done) == -1)
        atomic_fetch_add(&c->twice, 1);
    *out = (struct fumi_refusal){.status = 403, .reason = "refused"};
    return fumi_http_field(r, "x-refuse").p ? -1 : 0;
}

static inline int later_before(void *self, const struct fumi_http_request *r,
                               struct fumi_refusal *out)
{
    struct fumi_str name = fumi_http_field(r, "x-user");
    if (!fumi_eq(user_name(fumi_http_context(r), self), name.p ? name : FUMI_STR("nobody")))
        atomic_fetch_add(&((struct counts *)self)->wrong, 1);
    *out = (struct fumi_refusal){.status = 403, .reason = "refused later"};
    return fumi_http_field(r, "x-later").p ? -1 : 0;
}

static inline void who_after(void *self, const struct fumi_http_request *r, int status,
                             size_t bytes)
{
    (void)status, (void)bytes;
    user_name(fumi_http_context(r), self); /* the context is still valid */
}

static inline enum fumi_ret who_admit(void *self, const struct fumi_arrival *a, struct fumi_err *e)
{
    (void)e;
    user_name(a->context, self);
    return FUMI_OK;
}

static inline enum fumi_ret who_enter(void *self, struct fumi_call *call)
{
    user_name(call->context, self);
    if (fumi_eq(call->name, FUMI_STR("slow")))
        call->deadline = call->began + 50 * INT64_C(1000000);
    return FUMI_OK;
}

static inline void who_leave(void *self, struct fumi_call *call)
{
    user_name(call->context, self);
}

struct fixture {
    struct counts *counts;
    struct pool *pool;
};

static inline void put_name(struct fumi_call *call)
{
    struct fixture *s = call->self;
    fumi_put_str(fumi_result(call), user_name(call->context, s->counts));
}

static inline enum fumi_ret run_whoami(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    put_name(call);
    return FUMI_OK;
}

static inline enum fumi_ret run_trace(struct fumi_call *call, const void *params, void *result)
{
    struct fumi_trace t;
    (void)params, (void)result;
    bool any = fumi_call_trace(call, &t);
    fumi_put_str(fumi_result(call), any ? fumi_fmt(call->arena, "%s %.*s", t.id,
                                                   FUMI_ARG(t.state.p ? t.state : FUMI_STR("-")))
                                        : FUMI_STR("none"));
    return FUMI_OK;
}

struct job {
    struct fumi_task task;
    struct fixture *fixture;
    struct fumi_call *call;
    struct fumi_reply *reply; /* used instead of `call` for a route */
    const void *context;      /* of the request of `reply` */
};

static inline struct job *job_new(struct fixture *s, void (*run)(struct fumi_task *task))
{
    struct job *j = malloc(sizeof(*j));
    if (!j)
        abort();
    *j = (struct job){.task.run = run, .fixture = s};
    return j;
}

static inline void park(struct counts *c)
{
    atomic_fetch_add(&c->parked, 1);
    while (sem_wait(&c->go)) {}
}

/* The same, but returns when the call is cancelled. */
static inline void park_call(struct counts *c, const struct fumi_call *call)
{
    atomic_fetch_add(&c->parked, 1);
    while (sem_trywait(&c->go) && !fumi_cancelled(call))
        poll(NULL, 0, 1);
}

static inline void later_task(struct fumi_task *task)
{
    struct job *j = FUMI_OWNER(task, struct job, task);
    park_call(j->fixture->counts, j->call);
    put_name(j->call);
    fumi_finish(j->call, FUMI_OK);
    free(j);
}

static inline enum fumi_ret run_later(struct fumi_call *call, const void *params, void *result)
{
    struct fixture *s = call->self;
    struct job *j = job_new(s, later_task);
    (void)params, (void)result;
    j->call = call;
    pool_submit(s->pool, &j->task);
    return FUMI_PENDING;
}

/* Finished later by another thread. */
static inline void soon_task(struct fumi_task *task)
{
    struct job *j = FUMI_OWNER(task, struct job, task);
    put_name(j->call);
    fumi_finish(j->call, FUMI_OK);
    free(j);
}

static inline enum fumi_ret run_soon(struct fumi_call *call, const void *params, void *result)
{
    struct fixture *s = call->self;
    struct job *j = job_new(s, soon_task);
    (void)params, (void)result;
    j->call = call;
    pool_submit(s->pool, &j->task);
    return FUMI_PENDING;
}

/* Misses its deadline, and uses its context afterwards. */
static inline enum fumi_ret run_slow(struct fumi_call *call, const void *params, void *result)
{
    struct counts *c = ((struct fixture *)call->self)->counts;
    (void)params, (void)result;
    park(c);
    put_name(call);
    atomic_fetch_add(&c->late, call->context != NULL);
    return FUMI_OK;
}

static const struct fumi_method who_methods[] = {
    {"whoami", "Returns the name of the user.", NULL, NULL, run_whoami, FUMI_READ_ONLY},
    {"trace", "Returns the trace of the call.", NULL, NULL, run_trace, FUMI_READ_ONLY},
    {"later", "As whoami, after `go`.", NULL, NULL, run_later, FUMI_ASYNC},
    {"soon", "As whoami, on another thread.", NULL, NULL, run_soon, FUMI_ASYNC},
    {"slow", "As whoami, after its deadline.", NULL, NULL, run_slow,
     FUMI_BLOCKING | FUMI_READ_ONLY},
};

static inline void route_task(struct fumi_task *task)
{
    struct job *j = FUMI_OWNER(task, struct job, task);
    struct fumi_buf text = {0};
    park(j->fixture->counts);
    struct fumi_str name = user_name(j->context, j->fixture->counts);
    fumi_buf_add(&text, name.p, name.n);
    fumi_reply_end(j->reply, &(struct fumi_page){.status = 200, .type = "text/plain"}, &text);
    fumi_buf_done(&text);
    free(j);
}

static inline void run_route(void *self, const struct fumi_http_request *r, struct fumi_str body,
                             struct fumi_reply *reply)
{
    struct fixture *s = self;
    struct job *j = job_new(s, route_task);
    (void)body;
    j->reply = reply;
    j->context = fumi_http_context(r);
    pool_submit(s->pool, &j->task);
}

static inline enum fumi_ret tool_whoami(struct fumi_mcp_call *c)
{
    struct fumi_trace t;
    fumi_mcp_text(c, user_name(c->call->context, c->self));
    if (fumi_call_trace(c->call, &t))
        fumi_mcp_text(c, fumi_str(t.id));
    return FUMI_OK;
}

static inline void who_listening(void *arg, struct fumi_str address)
{
    dprintf(*(int *)arg, "%.*s\n", FUMI_ARG(address));
}

static inline int who_serve(struct fumi_settings set, struct counts *c, int said)
{
    static const struct fumi_log quiet = {.level = FUMI_SILENT};
    struct fumi_err e = {0};
    struct fumi_server *s = fumi_server_new("who", "1.0");
    struct fixture fixture = {c, pool_new(4, NULL)};
    struct fumi_filter filters[] = {{"who", who_before, who_after, c},
                                    {"later", later_before, who_after, c}};
    struct fumi_processor p = {"who", who_admit, who_enter, who_leave, c};
    const struct fumi_tool tool = {.name = "whoami", .description = "Who?", .run = tool_whoami};
    struct fumi_mcp_options mo = {
        .name = "who", .version = "1.0", .tools = &tool, .tools_n = 1, .self = c};
    struct fumi_mcp *mcp = fumi_mcp_new(s, &mo, &e);
    struct fumi_route routes[] = {
        fumi_mcp_route(mcp),
        {"/mine", FUMI_GET, "GET, HEAD, OPTIONS", .run = run_route, .self = &fixture}};
    struct fumi_serve_options o = {.set = set, .log = &quiet, .filters = filters, .filters_n = 2};
    o.routes = routes, o.routes_n = 2, o.ending = fumi_mcp_end, o.ending_arg = mcp;
    o.listening = who_listening, o.arg = &said;
    fumi_server_log(s, &quiet);
    fumi_server_add(s, NULL, who_methods, FUMI_COUNT(who_methods), &fixture, &e);
    fumi_server_use(s, &p, &e);
    int rc = fumi_serve(s, &o, &e);
    if (rc < 0)
        dprintf(said, "error: %s\n", e.text);
    pool_free(fixture.pool);
    fumi_mcp_free(mcp);
    fumi_server_free(s);
    return rc == FUMI_SERVED_SIGNAL ? 0 : 1;
}

struct who {
    struct live live; /* pid, port and path alone */
    struct counts *counts;
};

/* Starts the server and waits until it listens. The server exits after two minutes at the latest.
 */
static inline void who_start_as(struct who *w, struct fumi_settings set)
{
    char line[128];
    int ends[2];
    *w = (struct who){.live.dir = "/tmp/fumi-who-XXXXXX"};
    w->counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sem_init(&w->counts->go, 1, 0) || !mkdtemp(w->live.dir) || pipe(ends))
        abort();
    snprintf(w->live.path, sizeof(w->live.path), "%s/s", w->live.dir);
    snprintf(line, sizeof(line), "unix:%s", w->live.path);
    struct fumi_str listen[] = {FUMI_STR("tcp:127.0.0.1:0"), fumi_str(line)};
    set.listen = (struct fumi_strs){listen, 2};
    w->live.pid = fork();
    if (w->live.pid == 0) {
        close(ends[0]);
        alarm(120);
        exit(who_serve(set, w->counts, ends[1]));
    }
    close(ends[1]);
    FILE *f = fdopen(ends[0], "r");
    if (!f || fscanf(f, "tcp:127.0.0.1:%u\nunix:%100s", &w->live.port, line) != 2) {
        fprintf(stderr, "the server does not start\n");
        abort();
    }
    fclose(f);
}

static inline void who_start(struct who *w)
{
    who_start_as(w, (struct fumi_settings){.threads = 2, .workers = 2});
}

/* Stops the child and returns its status. Each context must have been freed once, and none used
 * after that. */
static inline int who_stop(struct who *w)
{
    int status = -1;
    kill(w->live.pid, SIGTERM);
    waitpid(w->live.pid, &status, 0);
    rmdir(w->live.dir);
    if (w->counts->made != w->counts->freed || w->counts->wrong) {
        fprintf(stderr, "made %d, freed %d, wrong %d\n", w->counts->made, w->counts->freed,
                w->counts->wrong);
        status = -1;
    }
    munmap(w->counts, 4096);
    return status;
}

/* Waits until a counter of the child has that value. */
static inline bool reaches(atomic_int *counter, int n)
{
    for (int i = 0; i < LIVE_PATIENCE * 1000 && atomic_load(counter) < n; i++)
        poll(NULL, 0, 1);
    return atomic_load(counter) == n;
}

#endif
