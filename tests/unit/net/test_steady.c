/* Heap allocations of a server in the steady state. The server is a child process that counts them
 * in shared memory. */
#include "child_server.h"
#include "test.h"

#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { PEERS = 8, ROUNDS = 500, IDLE = 300 };

struct heap {
    atomic_size_t allocations, bytes;
};
static struct heap *heap; /* shared; NULL: nothing is counted */

/* Replaces the library's own function. */
void *fumi_resize(void *old, size_t size)
{
    size_t before = malloc_usable_size(old);
    void *p = NULL;
    if (size)
        p = realloc(old, size);
    else
        free(old);
    if (heap) {
        atomic_fetch_add(&heap->allocations, size != 0);
        atomic_fetch_add(&heap->bytes, malloc_usable_size(p) - before);
    }
    return p;
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

typedef void put_fn(struct fumi_buf *to, int n);

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

static void put_large(struct fumi_buf *to, int n)
{
    put_post(to, 3000 + n % 100);
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

/* All clients send before the first one reads its answer. */
static bool ask_all(const int *fds, int peers, int rounds, put_fn *put)
{
    bool good = true;
    for (int round = 0; round < rounds && good; round++) {
        for (int i = 0; i < peers; i++) {
            struct fumi_buf b = {0};
            put(&b, 1 + (round * 7 + i * 3) % 1500);
            good &= write(fds[i], b.p, b.n) == (ssize_t)b.n;
            fumi_buf_done(&b);
        }
        for (int i = 0; i < peers; i++)
            good &= hears_answer(fds[i]);
    }
    return good;
}

struct fixture {
    pid_t pid;
    struct heap *heap;
    char dir[32], path[40];
};

static struct fixture fixture_open(void)
{
    struct fixture s = {.dir = "/tmp/fumi-steady-XXXXXX"};
    if (!mkdtemp(s.dir))
        abort();
    snprintf(s.path, sizeof(s.path), "%s/s", s.dir);
    heap = s.heap = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    s.pid = child_start(s.path, methods, FUMI_COUNT(methods));
    heap = NULL; /* the test's own allocations are not counted */
    return s;
}

static int fixture_close(struct fixture *s)
{
    int status;
    kill(s->pid, SIGTERM);
    waitpid(s->pid, &status, 0);
    munmap(s->heap, 4096);
    unlink(s->path);
    return rmdir(s->dir) ? -1 : status;
}

static void check_steady(put_fn *put)
{
    struct fixture s = fixture_open();
    int fds[PEERS];
    for (int i = 0; i < PEERS; i++)
        fds[i] = child_reach(s.path);
    bool good = ask_all(fds, PEERS, ROUNDS, put);
    size_t before = atomic_load(&s.heap->allocations);
    good &= ask_all(fds, PEERS, ROUNDS, put);
    size_t more = atomic_load(&s.heap->allocations) - before;
    for (int i = 0; i < PEERS; i++)
        close(fds[i]);
    CHECK_INT(fixture_close(&s), 0);
    CHECK(good && before > 0);
    if (more > PEERS) /* more connections than before may be ready in one loop iteration */
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

/* A buffer with its last answer would take more than 3,000 bytes. */
TEST(an_idle_connection_holds_no_buffers)
{
    struct fixture s = fixture_open();
    int fds[IDLE], first = child_reach(s.path);
    bool good = ask_all(&first, 1, 10, put_post);
    size_t before = atomic_load(&s.heap->bytes);
    for (int i = 0; i < IDLE; i++) {
        fds[i] = child_reach(s.path);
        good &= ask_all(&fds[i], 1, 2, put_large);
    }
    size_t each = (atomic_load(&s.heap->bytes) - before) / IDLE;
    for (int i = 0; i < IDLE; i++)
        close(fds[i]);
    close(first);
    CHECK_INT(fixture_close(&s), 0);
    CHECK(good);
    if (each > 2048)
        TEST_FAIL("%zu bytes for each connection", each);
}
