/* Heap allocations of a server in the steady state. The server is a child process that counts them
 * in memory which it shares with the test. */
#include "fumi.h"
#include "test.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PEERS = 8, ROUNDS = 500 };

static atomic_size_t *allocations; /* shared */

/* Takes the place of the library's own. */
void *fumi_resize(void *old, size_t size)
{
    if (!size) {
        free(old);
        return NULL;
    }
    if (allocations)
        atomic_fetch_add(allocations, 1);
    return realloc(old, size);
}

struct text {
    struct fumi_str value;
};
static const struct fumi_field text_fields[] = {
    FUMI_FIELD(struct text, value, "value", "A text.", .flags = FUMI_REQUIRED),
};
static const struct fumi_shape text = FUMI_SHAPE(struct text, text_fields);

static enum fumi_ret repeat(struct fumi_call *call, const void *params, void *result)
{
    (void)call;
    *(struct text *)result = *(const struct text *)params;
    return FUMI_OK;
}

static const struct fumi_method methods[] = {
    {"repeat", "Gives the text back.", &text, &text, repeat, FUMI_READ_ONLY},
};

static void say_ready(void *arg, struct fumi_str address)
{
    (void)address;
    dprintf(*(int *)arg, ".");
}

static int serve(const char *address, int said)
{
    struct fumi_err e;
    struct fumi_log log = {.level = FUMI_SILENT};
    struct fumi_server *s = fumi_server_new("test", "1.0");
    struct fumi_str listen = fumi_str(address);
    struct fumi_serve_options o = {.set = {.listen = {&listen, 1}}, .log = &log};
    o.listening = say_ready;
    o.arg = &said;
    fumi_server_add(s, NULL, methods, FUMI_COUNT(methods), NULL, &e);
    int rc = fumi_serve(s, &o, &e);
    fumi_server_free(s);
    return rc ? 1 : 0;
}

static pid_t start(const char *path)
{
    char address[160], dot;
    int pipes[2];
    snprintf(address, sizeof(address), "unix:%s", path);
    pid_t pid = pipe(pipes) ? -1 : fork();
    if (pid == 0) {
        alarm(120);
        exit(serve(address, pipes[1]));
    }
    if (pid < 0 || read(pipes[0], &dot, 1) != 1)
        abort();
    close(pipes[0]);
    close(pipes[1]);
    return pid;
}

static int reach(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = 20};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
        abort();
    return fd;
}

/* A call whose text has `n` bytes and ends in '$'; the answer then ends in `$"},"id":1}`. */
static void put_call(struct fumi_buf *to, int n)
{
    char call[4096];
    int all = snprintf(
        call, sizeof(call),
        "{\"jsonrpc\":\"2.0\",\"method\":\"repeat\",\"params\":{\"value\":\"%0*d$\"},"
        "\"id\":1}",
        n, 0);
    fumi_buf_add(to, call, (size_t)all);
}

static void put_line(struct fumi_buf *to, int n)
{
    put_call(to, n);
    fumi_buf_put(to, '\n');
}

static void put_post(struct fumi_buf *to, int n)
{
    struct fumi_buf call = {0};
    char head[256];
    put_call(&call, n);
    int all = snprintf(head, sizeof(head),
                       "POST /rpc HTTP/1.1\r\nHost: x\r\nX-Request-Id: %d\r\n"
                       "Content-Length: %zu\r\n\r\n",
                       n, call.n);
    fumi_buf_add(to, head, (size_t)all);
    fumi_buf_add(to, call.p, call.n);
    fumi_buf_done(&call);
}

static bool hears_answer(int fd)
{
    static const char end[] = "$\"},\"id\":1}";
    char got[8192];
    size_t n = 0;
    while (n < sizeof(got) && !memmem(got, n, end, sizeof(end) - 1)) {
        ssize_t more = read(fd, got + n, sizeof(got) - n);
        if (more <= 0)
            return false;
        n += (size_t)more;
    }
    return true;
}

/* All peers ask before the first of them reads its answer. */
static bool ask_all(const int *fds, int rounds, void (*put)(struct fumi_buf *to, int n))
{
    bool good = true;
    for (int round = 0; round < rounds && good; round++) {
        for (int i = 0; i < PEERS; i++) {
            struct fumi_buf b = {0};
            put(&b, 1 + (round * 7 + i * 3) % 1500);
            good &= write(fds[i], b.p, b.n) == (ssize_t)b.n;
            fumi_buf_done(&b);
        }
        for (int i = 0; i < PEERS; i++)
            good &= hears_answer(fds[i]);
    }
    return good;
}

static void check_steady(void (*put)(struct fumi_buf *to, int n))
{
    char dir[] = "/tmp/fumi-steady-XXXXXX", path[64];
    int fds[PEERS], status;
    CHECK(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/s", dir);
    allocations = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = start(path);
    atomic_size_t *counted = allocations;
    allocations = NULL; /* the test's own are not counted */
    for (int i = 0; i < PEERS; i++)
        fds[i] = reach(path);
    CHECK(ask_all(fds, ROUNDS, put));
    size_t before = atomic_load(counted);
    CHECK(ask_all(fds, ROUNDS, put));
    size_t more = atomic_load(counted) - before;
    for (int i = 0; i < PEERS; i++)
        close(fds[i]);
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
    CHECK_INT(status, 0);
    munmap(counted, 4096);
    unlink(path);
    CHECK_INT(rmdir(dir), 0);
    CHECK(before > 0);
    if (more > PEERS) /* more connections than ever before may have been ready in one turn */
        TEST_FAIL("%zu allocations in %d calls", more, PEERS * ROUNDS);
}

TEST(posts_of_varying_lengths_allocate_nothing)
{
    check_steady(put_post);
}

TEST(lines_of_varying_lengths_allocate_nothing)
{
    check_steady(put_line);
}
