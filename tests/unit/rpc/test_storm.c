/* Calls, batches, deadlines, cancellations, held peers and disconnections from several threads at
 * once. Every message is answered once, and everything is freed as soon as it is not needed: peers
 * are reference-counted, so that a sanitizer finds a use after the last reference. */
#include "net/pool.h"
#include "rpc/processors.h"
#include "rpc_fixture.h"
#include "test.h"

#include <stdatomic.h>
#include <time.h>

enum { DRIVERS = 4, FINISHERS = 2, ROUNDS = 60, MESSAGES = 12 };

static _Thread_local unsigned seed;
static atomic_uint seeds;

static unsigned chance(unsigned n)
{
    if (!seed)
        seed = 77 + 1001 * atomic_fetch_add(&seeds, 1);
    seed = seed * 1664525 + 1013904223;
    return (seed >> 10) % n;
}

/* Varies the timing of threads; nothing depends on it. */
static void pass_time(unsigned most_us)
{
    struct timespec t = {0, 1000L * (long)chance(most_us)};
    nanosleep(&t, NULL);
}

struct guest {
    struct fumi_peer peer;
    atomic_int refs;
};

static atomic_int said, answered;

/* Users of the peer and open jobs. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n;
} users = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void users_add(int n)
{
    pthread_mutex_lock(&users.lock);
    users.n += n;
    pthread_cond_broadcast(&users.changed);
    pthread_mutex_unlock(&users.lock);
}

static void users_wait(void)
{
    pthread_mutex_lock(&users.lock);
    while (users.n)
        await(&users.changed, &users.lock);
    pthread_mutex_unlock(&users.lock);
}

static void guest_leave(struct guest *g)
{
    if (atomic_fetch_sub(&g->refs, 1) > 1)
        return;
    fumi_peer_done(&g->peer);
    free(g);
    users_add(-1);
}

static void keep(struct fumi_peer *peer, bool keep)
{
    struct guest *g = FUMI_OWNER(peer, struct guest, peer);
    if (keep)
        atomic_fetch_add(&g->refs, 1);
    else
        guest_leave(g);
}

static struct guest *guest_new(void)
{
    struct guest *g = calloc(1, sizeof(*g));
    if (!g)
        abort();
    g->peer = (struct fumi_peer){.transport = "storm", .keep = keep};
    atomic_init(&g->refs, 1);
    users_add(1);
    return g;
}

struct note {
    struct guest *guest;
    int exempt;
};

static void on_reply(void *arg, struct fumi_buf *answer, int code)
{
    struct note *n = arg;
    struct guest *g = n->guest;
    (void)answer, (void)code;
    free(n);
    atomic_fetch_add(&answered, 1);
    guest_leave(g);
}

static void on_tell(void *arg, struct fumi_buf *message)
{
    ((struct note *)arg)->exempt += message->n > 0;
}

static void on_unordered(void *arg)
{
    ((struct note *)arg)->exempt++;
}

struct job {
    struct fumi_call *call;
    struct job *next;
    atomic_bool finished; /* the thread that sets it finishes the call */
    bool self;            /* the callback finishes the call */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct job *first;
    struct job *dead; /* jobs that their callback finished */
    bool over;
} jobs = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static void on_cancel(void *arg)
{
    struct job *j = arg;
    pass_time(300);
    if (j->self && !atomic_exchange(&j->finished, true)) {
        fumi_finish(j->call, FUMI_OK);
        users_add(-1);
    }
}

static void work(struct fumi_call *call)
{
    for (unsigned n = chance(4); n; n--) {
        pass_time(1000);
        if (chance(3) == 0)
            fumi_notify(call, "step", NULL, NULL);
        if (chance(3) == 0 && fumi_cancelled(call))
            return;
    }
}

static enum fumi_ret run_work(struct fumi_call *call, const void *params, void *result)
{
    work(call);
    *(struct whole *)result = *(const struct whole *)params;
    return chance(10) ? FUMI_OK : fumi_fail(call, 5, "five");
}

static enum fumi_ret run_defer(struct fumi_call *call, const void *params, void *result)
{
    *(struct whole *)result = *(const struct whole *)params;
    struct job *j = calloc(1, sizeof(*j));
    j->call = call;
    j->self = chance(3) == 0;
    if (chance(4) == 0) {
        free(j);
        fumi_finish(call, FUMI_OK);
        return FUMI_PENDING;
    }
    if (chance(3) == 0)
        pass_time(2000);
    users_add(1);
    if ((j->self || chance(2)) && !fumi_on_cancel(call, on_cancel, j)) {
        users_add(-1);
        free(j);
        return fumi_fail(call, 6, "six");
    }
    pthread_mutex_lock(&jobs.lock);
    j->next = jobs.first;
    jobs.first = j;
    pthread_cond_signal(&jobs.more);
    pthread_mutex_unlock(&jobs.lock);
    return FUMI_PENDING;
}

static struct job *job_take(void)
{
    pthread_mutex_lock(&jobs.lock);
    while (!jobs.first && !jobs.over)
        pthread_cond_wait(&jobs.more, &jobs.lock);
    struct job *j = jobs.first;
    if (j)
        jobs.first = j->next;
    pthread_mutex_unlock(&jobs.lock);
    return j;
}

static void *finish_all(void *arg)
{
    (void)arg;
    for (struct job *j; (j = job_take());) {
        bool self = j->self;
        pass_time(3000);
        if (!atomic_exchange(&j->finished, true)) {
            if (chance(3) == 0)
                fumi_notify(j->call, "late", NULL, NULL);
            fumi_finish(j->call, FUMI_OK);
            users_add(-1);
            if (!self) {
                free(j); /* no callback runs any more */
                continue;
            }
        }
        pthread_mutex_lock(&jobs.lock);
        j->next = jobs.dead;
        jobs.dead = j;
        pthread_mutex_unlock(&jobs.lock);
    }
    return NULL;
}

static enum fumi_ret run_request(struct fumi_call *call, const void *params, void *result)
{
    struct fumi_json got;
    (void)params, (void)result;
    if (chance(2))
        pass_time(3000);
    return fumi_request(call, "what", (struct fumi_json){{0}}, &got);
}

enum { READS = FUMI_BLOCKING | FUMI_READ_ONLY };

static const struct fumi_method rows[] = {
    {"echo", "", &whole_shape, &whole_shape, run_echo, FUMI_READ_ONLY},
    {"set", "", &whole_shape, &whole_shape, run_echo, 0},
    {"ping", "", &whole_shape, &whole_shape, run_echo, FUMI_READ_ONLY | FUMI_UNORDERED},
    {"read", "", &whole_shape, &whole_shape, run_work, READS},
    {"write", "", &whole_shape, &whole_shape, run_work, FUMI_BLOCKING},
    {"defer", "", &whole_shape, &whole_shape, run_defer, FUMI_ASYNC},
    {"write_defer", "", &whole_shape, &whole_shape, run_defer, FUMI_ASYNC | FUMI_BLOCKING},
    {"request", "", &whole_shape, &whole_shape, run_request, READS},
};

static enum fumi_ret set_deadline(void *self, struct fumi_call *c)
{
    (void)self;
    if (chance(4))
        c->deadline = c->began + 1000 * (int64_t)(1 + chance(4000));
    return FUMI_OK;
}

static struct fumi_server *server;

static size_t put_call(char *to, size_t room, unsigned id)
{
    const char *method = rows[chance(FUMI_COUNT(rows))].name;
    if (chance(12) == 0)
        return (size_t)snprintf(to, room, "7");
    if (chance(8) == 0)
        return (size_t)snprintf(to, room, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":[1]}",
                                method);
    return (size_t)snprintf(to, room,
                            "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":[\"some text\",%u],"
                            "\"id\":%u}",
                            method, id, id);
}

static void send_one(struct guest *g)
{
    char text[4096];
    size_t n = 0;
    if (chance(2)) {
        n = put_call(text, sizeof(text), chance(8));
    } else {
        text[n++] = '[';
        for (unsigned i = 1 + chance(6); i; i--) {
            n += put_call(text + n, sizeof(text) - n, chance(8));
            text[n++] = i > 1 ? ',' : ']';
        }
    }
    struct note *note = malloc(sizeof(*note));
    char *message = malloc(n);
    *note = (struct note){g, 0};
    memcpy(message, text, n);
    atomic_fetch_add(&g->refs, 1);
    atomic_fetch_add(&said, 1);
    fumi_handle(server, &g->peer, (struct fumi_str){message, n},
                (struct fumi_sink){
                    .notify = on_tell, .reply = on_reply, .arg = note, .unordered = on_unordered});
    memset(message, '#', n);
    free(message);
}

static void cancel_one(struct guest *g)
{
    char text[2] = {(char)('0' + chance(8)), 0};
    fumi_cancel(&g->peer, &(struct fumi_val){text, 1, FUMI_NUMBER | 1 << FUMI_SPAN_SHIFT});
}

static void bother(struct guest *g, bool own)
{
    enum fumi_hold held = FUMI_HOLD_NONE;
    for (unsigned i = 0; i < MESSAGES; i++) {
        send_one(g);
        if (chance(4) == 0)
            cancel_one(g);
        if (own && chance(5) == 0)
            fumi_peer_hold(&g->peer, held = (enum fumi_hold)chance(3));
        if (chance(4) == 0)
            pass_time(2000);
    }
    if (own && held && chance(2))
        pass_time(5000);
    if (own && chance(3) == 0)
        fumi_peer_eof(&g->peer);
    if (own && chance(3) == 0)
        fumi_peer_end(&g->peer);
    if (own && chance(2))
        pass_time(3000);
    if (own)
        fumi_peer_close(&g->peer);
    if (own && held)
        fumi_peer_hold(&g->peer, FUMI_HOLD_NONE);
}

static struct guest *shared;

static void *drive(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct guest *g = guest_new();
        bother(g, true);
        guest_leave(g);
        bother(shared, false);
    }
    return NULL;
}

static struct pool *open_server(const struct fumi_log *log)
{
    struct fumi_err e;
    struct fumi_processor p = {.name = "chance", .before = set_deadline};
    struct pool *pool = pool_new(3, NULL);
    server = server_of(rows, FUMI_COUNT(rows), NULL);
    fumi_server_log(server, log);
    fumi_server_limits(server, (struct fumi_limits){.request = 3});
    if (fumi_server_use(server, &p, &e))
        abort();
    fumi_server_executor(server, pool_submit, pool);
    return pool;
}

static void end_jobs(void)
{
    pthread_mutex_lock(&jobs.lock);
    jobs.over = true;
    pthread_cond_broadcast(&jobs.more);
    pthread_mutex_unlock(&jobs.lock);
}

static void free_jobs(void)
{
    for (struct job *j; (j = jobs.dead);) {
        jobs.dead = j->next;
        free(j);
    }
}

TEST(everything_at_once)
{
    struct fumi_log silent = {.level = FUMI_SILENT};
    pthread_t drivers[DRIVERS], finishers[FINISHERS];
    struct pool *pool = open_server(&silent);
    shared = guest_new();
    fumi_peer_share(&shared->peer);
    for (int i = 0; i < FINISHERS; i++)
        pthread_create(&finishers[i], NULL, finish_all, NULL);
    for (int i = 0; i < DRIVERS; i++)
        pthread_create(&drivers[i], NULL, drive, NULL);
    for (int i = 0; i < DRIVERS; i++)
        pthread_join(drivers[i], NULL);
    fumi_peer_close(&shared->peer);
    guest_leave(shared);
    users_wait();
    end_jobs();
    for (int i = 0; i < FINISHERS; i++)
        pthread_join(finishers[i], NULL);
    pool_free(pool);
    bool busy = fumi_server_busy(server);
    fumi_server_free(server);
    free_jobs();
    CHECK_INT(atomic_load(&answered), atomic_load(&said));
    CHECK(!busy);
}
