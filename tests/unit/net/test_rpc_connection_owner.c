/* A client sends its token neither to servers of other users, nor, if it was found on this machine,
 * to other machines. */
#include "net/rpc_connection.h"
#include "test.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, PATIENCE = 10000 };

#define TOKEN "0123456789abcdefghij"
#define ANSWER                                                                                     \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n"              \
    "{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":1}\n"

/* A listening socket, and what was received on its first connection. */
struct host {
    int fd;
    char dir[32], url[160];
    char received[2048];
};

static bool host_unix(struct host *h, const char *scheme)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    *h = (struct host){.dir = "/tmp/fumi-owner-XXXXXX"};
    if (!mkdtemp(h->dir) || chmod(h->dir, 0777))
        return false;
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/s", h->dir);
    snprintf(h->url, sizeof(h->url), "%s%s", scheme, at.sun_path);
    h->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return h->fd >= 0 && bind(h->fd, (struct sockaddr *)&at, sizeof(at)) == 0;
}

static bool host_tcp(struct host *h, const char *scheme, struct in_addr address)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = address};
    socklen_t n = sizeof(at);
    *h = (struct host){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (h->fd < 0 || bind(h->fd, (struct sockaddr *)&at, n) ||
        getsockname(h->fd, (struct sockaddr *)&at, &n))
        return false;
    snprintf(h->url, sizeof(h->url), "%s%s:%u", scheme, inet_ntoa(address), ntohs(at.sin_port));
    return true;
}

static void host_done(struct host *h)
{
    char path[64];
    close(h->fd);
    if (!h->dir[0])
        return;
    snprintf(path, sizeof(path), "%s/s", h->dir);
    unlink(path);
    rmdir(h->dir);
}

/* Accepts one connection, reads its request and answers it. */
static void *serve(void *arg)
{
    struct host *h = arg;
    struct pollfd p = {h->fd, POLLIN, 0};
    size_t n = 0;
    int fd = poll(&p, 1, PATIENCE) > 0 ? accept(h->fd, NULL, NULL) : -1;
    while (fd >= 0 && n < sizeof(h->received) - 1 && !memmem(h->received, n, "\r\n\r\n", 4)) {
        ssize_t got = read(fd, h->received + n, sizeof(h->received) - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    h->received[n] = '\0';
    if (n && write(fd, ANSWER, sizeof(ANSWER) - 1) < 0)
        h->received[0] = '\0';
    if (fd >= 0)
        close(fd);
    return NULL;
}

/* A server that runs as another user; it reports through the pipe what it received. */
static pid_t strange_child(struct host *h, int out)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    if (setgid(NOBODY) || setuid(NOBODY) || listen(h->fd, 4) || write(out, "+", 1) != 1)
        _exit(1);
    serve(h);
    ssize_t n = write(out, h->received, strlen(h->received) + 1);
    _exit(n > 0 ? 0 : 1);
}

/* What a server of another user receives from a client with a token, given as an option or as a
 * header; and the error that the client gets. */
static bool meets_stranger(struct host *h, bool header, struct fumi_err *e)
{
    static const struct fumi_rpc_connection_header own = {"authorization", "Token " TOKEN};
    struct fumi_rpc_connection_options o = {.tries = -1};
    if (header)
        o.headers = &own, o.headers_n = 1;
    else
        o.token = TOKEN;
    struct fumi_arena a = {0};
    struct fumi_answer answer;
    int ends[2], status = 0;
    char ready;
    if (pipe(ends))
        return false;
    pid_t pid = strange_child(h, ends[1]);
    close(ends[1]);
    bool begun = read(ends[0], &ready, 1) == 1;
    close(h->fd); /* only the child listens now */
    h->fd = -1;
    struct fumi_rpc_connection *l = begun ? fumi_rpc_connection_open(h->url, &o, e) : NULL;
    if (l)
        fumi_rpc_connection_call(l, &a, "m", (struct fumi_json){0}, 0, &answer, e);
    fumi_rpc_connection_close(l);
    fumi_arena_done(&a);
    ssize_t n = read(ends[0], h->received, sizeof(h->received) - 1);
    h->received[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    return waitpid(pid, &status, 0) == pid && begun && status == 0;
}

TEST(servers_of_other_users_get_no_token)
{
    static const char *const schemes[] = {"http+unix:", "ws+unix:", "http://", "ws://"};
    if (geteuid() != 0)
        return; /* only root can switch users */
    for (size_t i = 0; i < 2 * FUMI_COUNT(schemes); i++) {
        const char *scheme = schemes[i / 2];
        struct host h;
        struct fumi_err e = {0};
        CHECK(strstr(scheme, "unix")
                  ? host_unix(&h, scheme)
                  : host_tcp(&h, scheme, (struct in_addr){htonl(INADDR_LOOPBACK)}));
        CHECK(meets_stranger(&h, i % 2, &e));
        if (strstr(h.received, TOKEN))
            TEST_FAIL("%s received the token:\n%s", h.url, h.received);
        if (!strstr(e.text, "runs as another user") || !strstr(e.text, h.url))
            TEST_FAIL("%s: %s", h.url, e.text);
        host_done(&h);
    }
}

/* Calls with a token that was found here or given, and returns what the server received. */
static void call(struct host *h, bool found, struct fumi_err *e)
{
    struct fumi_rpc_connection_options o = {.token = TOKEN, .token_is_local = found, .tries = -1};
    struct fumi_arena a = {0};
    struct fumi_answer answer = {0};
    pthread_t thread;
    if (listen(h->fd, 4) || pthread_create(&thread, NULL, serve, h))
        abort();
    struct fumi_rpc_connection *l = fumi_rpc_connection_open(h->url, &o, e);
    if (l)
        fumi_rpc_connection_call(l, &a, "m", (struct fumi_json){0}, 0, &answer, e);
    fumi_rpc_connection_close(l);
    fumi_arena_done(&a);
    pthread_join(thread, NULL);
}

TEST(servers_of_the_same_user_get_the_token)
{
    struct host h;
    struct fumi_err e = {0};
    CHECK(host_unix(&h, "http+unix:"));
    call(&h, true, &e);
    CHECK_STR(fumi_str(e.text), "");
    CHECK(strstr(h.received, "Authorization: Bearer " TOKEN "\r\n"));
    host_done(&h);
    CHECK(host_tcp(&h, "http://", (struct in_addr){htonl(INADDR_LOOPBACK)}));
    call(&h, true, &e);
    CHECK_STR(fumi_str(e.text), "");
    CHECK(strstr(h.received, "Authorization: Bearer " TOKEN "\r\n"));
    host_done(&h);
}

/* A non-loopback address of this machine. */
static bool outer_address(struct in_addr *out)
{
    struct ifaddrs *all = NULL;
    bool found = false;
    if (getifaddrs(&all))
        return false;
    for (struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
            continue;
        *out = ((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr;
        found = ntohl(out->s_addr) >> 24 != 127;
    }
    freeifaddrs(all);
    return found;
}

TEST(a_token_found_on_this_machine_is_not_sent_to_others)
{
    struct host h;
    struct in_addr outer;
    struct fumi_err e = {0};
    if (!outer_address(&outer))
        return; /* this machine has only the loopback */
    CHECK(host_tcp(&h, "http://", outer));
    call(&h, true, &e);
    CHECK(strstr(e.text, "is not on this machine"));
    CHECK(!strstr(h.received, TOKEN));
    host_done(&h);
    e = (struct fumi_err){0};
    CHECK(host_tcp(&h, "http://", outer));
    call(&h, false, &e);
    CHECK_STR(fumi_str(e.text), "");
    CHECK(strstr(h.received, TOKEN)); /* the token was given for that host */
    host_done(&h);
}
