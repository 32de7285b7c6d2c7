/* The hooks that are called when connections open and close. */
#include "host_fixture.h"
#include "test.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { MANY = 64 };

/* One connection, as the hooks see it. */
struct seen {
    pthread_t thread;
    char transport[16];
    int calls; /* of `mark` */
    bool began, ended;
    bool wrong; /* ended twice, or on another thread, or while a call ran */
    atomic_int running;
    struct fumi_peer *peer; /* connections that can be pushed to; guarded by the lock */
};

struct hooks {
    struct host host; /* first, because it is the `arg` of the hooks of host_fixture.h */
    struct seen seen[MANY];
    atomic_size_t n;
    atomic_size_t ended;
    pthread_mutex_t lock;
    int gate[2]; /* `wait` reads from it */
};

static void connected(void *arg, struct fumi_peer *peer)
{
    struct hooks *k = arg;
    struct seen *s = &k->seen[atomic_fetch_add(&k->n, 1)];
    s->thread = pthread_self();
    s->began = true;
    snprintf(s->transport, sizeof(s->transport), "%s", peer->transport);
    peer->context = s;
}

static void disconnected(void *arg, struct fumi_peer *peer)
{
    struct hooks *k = arg;
    struct seen *s = peer->context;
    s->wrong |= s->ended || !pthread_equal(s->thread, pthread_self()) || atomic_load(&s->running);
    pthread_mutex_lock(&k->lock);
    s->ended = true;
    s->peer = NULL;
    pthread_mutex_unlock(&k->lock);
    atomic_fetch_add(&k->ended, 1);
}

static enum fumi_ret mark(struct fumi_call *call, const void *params, void *result)
{
    struct hooks *k = call->self;
    struct seen *s = call->peer->context;
    (void)params, (void)result;
    s->calls++;
    pthread_mutex_lock(&k->lock);
    s->peer = call->peer;
    pthread_mutex_unlock(&k->lock);
    return FUMI_OK;
}

static enum fumi_ret wait_at_gate(struct fumi_call *call, const void *params, void *result)
{
    struct hooks *k = call->self;
    struct seen *s = call->peer->context;
    char byte;
    (void)params, (void)result;
    atomic_store(&s->running, 1);
    dprintf(k->host.reports[1], "waits\n");
    ssize_t n = read(k->gate[0], &byte, 1);
    atomic_store(&s->running, 0);
    return n == 1 ? FUMI_OK : fumi_fail(call, FUMI_INTERNAL_ERROR, "no gate");
}

static const struct fumi_method methods[] = {
    {"mark", "Counts.", NULL, NULL, mark, 0},
    {"wait", "Waits on a worker.", NULL, NULL, wait_at_gate, FUMI_BLOCKING},
};

static struct hooks *hooks_open(void)
{
    struct hooks *k = fumi_resize(NULL, sizeof(*k));
    memset(k, 0, sizeof(*k));
    host_open(&k->host);
    pthread_mutex_init(&k->lock, NULL);
    k->host.options.connected = connected;
    k->host.options.disconnected = disconnected;
    if (pipe(k->gate) ||
        fumi_server_add(k->host.server, NULL, methods, FUMI_COUNT(methods), k, &k->host.err))
        abort();
    return k;
}

/* Whether every connection was closed correctly, and their number is right. */
static bool hooks_close(struct hooks *k, size_t n)
{
    bool right = atomic_load(&k->n) == n && atomic_load(&k->ended) == n;
    for (size_t i = 0; i < atomic_load(&k->n); i++)
        right &= k->seen[i].began && k->seen[i].ended && !k->seen[i].wrong;
    close(k->gate[0]);
    close(k->gate[1]);
    pthread_mutex_destroy(&k->lock);
    host_close(&k->host);
    fumi_resize(k, 0);
    return right;
}

static bool call(struct fumi_rpc_connection *l, const char *method)
{
    struct fumi_arena a = {0};
    struct fumi_answer answer = {0};
    struct fumi_err e;
    bool ok = l &&
              fumi_rpc_connection_call(l, &a, method, (struct fumi_json){{0}}, 0, &answer, &e) ==
                  0 &&
              answer.ok;
    fumi_arena_done(&a);
    return ok;
}

static void until(const atomic_size_t *count, size_t n)
{
    for (int i = 0; i < 20000 && atomic_load(count) < n; i++)
        poll(NULL, 0, 1);
}

TEST(each_connection_begins_and_ends_once)
{
    static const struct {
        const char *scheme, *transport;
    } rows[] = {{"", "unix"}, {"http+", "unix"}, {"ws+", "unix"}};
    struct hooks *k = hooks_open();
    host_start(&k->host);
    bool works = true, named = true, counted = true;
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        char url[100];
        snprintf(url, sizeof(url), "%s%s", rows[i].scheme, k->host.path);
        struct fumi_rpc_connection *l = host_link(&k->host, url);
        works &= call(l, "mark") && call(l, "mark");
        fumi_rpc_connection_close(l);
        until(&k->ended, i + 1);
        named &= !strcmp(k->seen[i].transport, rows[i].transport);
        counted &= k->seen[i].calls == 2;
    }
    fumi_stop(k->host.server);
    host_join(&k->host);
    bool right = hooks_close(k, FUMI_COUNT(rows));
    CHECK(works);
    CHECK(named && counted);
    CHECK(right);
}

static int raw(const struct hooks *k)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", k->host.path + strlen("unix:"));
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)))
        abort();
    return fd;
}

TEST(a_silent_peer_is_opened_and_closed)
{
    struct hooks *k = hooks_open();
    host_start(&k->host);
    close(raw(k));
    until(&k->ended, 1);
    fumi_stop(k->host.server);
    host_join(&k->host);
    CHECK(hooks_close(k, 1));
}

/* Reads until the server closes. */
static bool receives(int fd, const char *text)
{
    char got[4096];
    size_t n = 0;
    ssize_t more;
    while (n + 1 < sizeof(got) && (more = read(fd, got + n, sizeof(got) - 1 - n)) > 0)
        n += (size_t)more;
    got[n] = '\0';
    return strstr(got, text);
}

TEST(refused_requests_are_connections_and_surplus_ones_are_not)
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    struct hooks *k = hooks_open();
    k->host.options.set.auth = FUMI_AUTH_TOKEN;
    k->host.options.set.token = FUMI_STR("0123456789abcdef");
    k->host.options.set.connections = 1;
    host_start(&k->host);
    int first = raw(k);
    until(&k->n, 1);
    int second = raw(k);
    bool busy = write(second, request, sizeof(request) - 1) > 0 && receives(second, " 503 ");
    bool refused = write(first, request, sizeof(request) - 1) > 0 && receives(first, " 401 ");
    close(first);
    close(second);
    until(&k->ended, 1);
    fumi_stop(k->host.server);
    host_join(&k->host);
    bool right = hooks_close(k, 1);
    CHECK(busy);
    CHECK(refused);
    CHECK(right);
}

/* `disconnected` would notice that the call still runs. */
TEST(a_connection_ends_after_its_last_call)
{
    static const char wait[] = "{\"jsonrpc\":\"2.0\",\"method\":\"wait\",\"id\":1}\n";
    struct hooks *k = hooks_open();
    host_start(&k->host);
    int fd = raw(k);
    CHECK(write(fd, wait, sizeof(wait) - 1) > 0);
    host_hear(&k->host);
    close(fd);
    int other = raw(
        k); /* once this one is connected, the server has noticed that the first one was closed */
    until(&k->n, 2);
    close(other);
    until(&k->ended, 1);
    size_t early = atomic_load(&k->ended);
    CHECK(write(k->gate[1], "x", 1) == 1);
    until(&k->ended, 2);
    fumi_stop(k->host.server);
    host_join(&k->host);
    bool right = hooks_close(k, 2);
    CHECK_INT(early, 1);
    CHECK(right);
}

TEST(a_stop_ends_all_connections)
{
    struct hooks *k = hooks_open();
    int fds[8];
    k->host.options.set.threads = 2;
    host_start(&k->host);
    for (size_t i = 0; i < FUMI_COUNT(fds); i++)
        fds[i] = raw(k);
    until(&k->n, FUMI_COUNT(fds));
    fumi_stop(k->host.server);
    host_join(&k->host);
    bool right = hooks_close(k, FUMI_COUNT(fds));
    for (size_t i = 0; i < FUMI_COUNT(fds); i++)
        close(fds[i]);
    CHECK(right);
}

TEST(stdio_is_one_connection)
{
    struct hooks *k = hooks_open();
    int fds[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    k->host.listen[0] = FUMI_STR("stdio");
    k->host.options.in = k->host.options.out = fds[1];
    shutdown(fds[0], SHUT_WR);
    int result = host_serve(&k->host);
    bool named = !strcmp(k->seen[0].transport, "stdio");
    bool right = hooks_close(k, 1);
    close(fds[0]);
    close(fds[1]);
    CHECK_INT(result, FUMI_SERVED_END);
    CHECK(named && right);
}

static atomic_bool over;

static void *push_to_all(void *arg)
{
    struct hooks *k = arg;
    while (!atomic_load(&over)) {
        pthread_mutex_lock(&k->lock);
        for (size_t i = 0; i < atomic_load(&k->n); i++)
            if (k->seen[i].peer)
                fumi_push(k->seen[i].peer, "hello", NULL, NULL);
        pthread_mutex_unlock(&k->lock);
    }
    return NULL;
}

/* A sanitizer reports a connection that is freed too early. */
TEST(other_threads_may_push_until_a_connection_has_ended)
{
    struct hooks *k = hooks_open();
    pthread_t thread;
    bool works = true;
    host_start(&k->host);
    atomic_store(&over, false);
    pthread_create(&thread, NULL, push_to_all, k);
    for (int i = 0; i < MANY; i++) {
        struct fumi_rpc_connection *l = host_link(&k->host, NULL);
        works &= call(l, "mark");
        fumi_rpc_connection_close(l);
    }
    until(&k->ended, MANY);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    fumi_stop(k->host.server);
    host_join(&k->host);
    bool right = hooks_close(k, MANY);
    CHECK(works);
    CHECK(right);
}
