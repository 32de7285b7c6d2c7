/* A service restores the state of its process: signals, descriptors, limits. */
#include "host_fixture.h"
#include "net/loop.h"
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static atomic_int caught;

static void on_term(int number)
{
    (void)number;
    atomic_fetch_add(&caught, 1);
}

static void on_other(int number)
{
    (void)number;
}

/* libuv creates the pipe of its signal handler with the first loop. Creating it on this thread
 * avoids a false report of TSan, which cannot see that another thread created it before the handler
 * runs. */
static void warm_up(void)
{
    struct fumi_err e;
    loop_free(loop_new(&e));
}

static struct sigaction use(void (*handler)(int))
{
    struct sigaction before, mine = {.sa_handler = handler};
    warm_up();
    sigaction(SIGTERM, &mine, &before);
    atomic_store(&caught, 0);
    return before;
}

static void (*handler(void))(int)
{
    struct sigaction now;
    sigaction(SIGTERM, NULL, &now);
    return now.sa_handler;
}

TEST(a_signal_ends_all_servers_and_the_handler_is_restored)
{
    struct sigaction before = use(on_term);
    struct host h[2];
    int result[2];
    for (int i = 0; i < 2; i++) {
        host_open(&h[i]);
        host_start(&h[i]);
    }
    kill(getpid(), SIGTERM);
    for (int i = 0; i < 2; i++) {
        result[i] = host_join(&h[i]);
        host_close(&h[i]);
    }
    bool restored = handler() == on_term;
    sigaction(SIGTERM, &before, NULL);
    CHECK_INT(result[0], FUMI_SERVED_SIGNAL);
    CHECK_INT(result[1], FUMI_SERVED_SIGNAL);
    CHECK_INT(atomic_load(&caught), 0);
    CHECK(restored);
}

/* The service that was started first ends first. */
TEST(a_server_that_ends_leaves_the_signals_of_others)
{
    struct sigaction before = use(on_term);
    struct host a, b;
    host_open(&a);
    host_open(&b);
    host_start(&a);
    host_start(&b);
    fumi_stop(a.server);
    host_join(&a);
    kill(getpid(), SIGTERM);
    int result = host_join(&b);
    bool restored = handler() == on_term;
    sigaction(SIGTERM, &before, NULL);
    host_close(&a);
    host_close(&b);
    CHECK_INT(result, FUMI_SERVED_SIGNAL);
    CHECK_INT(atomic_load(&caught), 0);
    CHECK(restored);
}

TEST(a_handler_set_while_serving_stays)
{
    struct sigaction before = use(on_term);
    struct host h;
    host_open(&h);
    host_start(&h);
    use(on_other);
    fumi_stop(h.server);
    host_join(&h);
    bool stays = handler() == on_other;
    sigaction(SIGTERM, &before, NULL);
    host_close(&h);
    CHECK(stays);
}

TEST(without_signals_they_are_the_host_programs)
{
    struct sigaction before = use(on_term);
    struct host h;
    host_open(&h);
    h.options.no_signals = true;
    host_start(&h);
    bool same = handler() == on_term;
    raise(SIGTERM);
    bool lives = host_answers(&h, NULL, "work");
    fumi_stop(h.server);
    int result = host_join(&h);
    sigaction(SIGTERM, &before, NULL);
    host_close(&h);
    CHECK(same && lives);
    CHECK_INT(atomic_load(&caught), 1);
    CHECK_INT(result, FUMI_SERVED_STOP);
}

/* Serves `in` and `out` in a thread. */
struct pair {
    struct fumi_server *server;
    struct fumi_stdio_options options;
    struct fumi_log log;
    pthread_t thread;
    int to, from; /* our ends */
    enum fumi_served result;
    struct fumi_err err;
};

static void *run_pair(void *arg)
{
    struct pair *p = arg;
    p->result = fumi_serve_stdio(p->server, &p->options, &p->err);
    return NULL;
}

static void pair_start(struct pair *p, int in, int out)
{
    p->log = (struct fumi_log){.level = FUMI_SILENT};
    p->options = (struct fumi_stdio_options){
        .log = &p->log, .in = in, .out = out, .no_signals = true};
    p->server = fumi_server_new("pair", "1.0");
    if (fumi_server_add(p->server, NULL, host_methods, 2, NULL, &p->err) ||
        pthread_create(&p->thread, NULL, run_pair, p))
        abort();
}

static int pair_end(struct pair *p)
{
    pthread_join(p->thread, NULL);
    fumi_server_free(p->server);
    return p->result;
}

static bool pair_answers(const struct pair *p)
{
    static const char call[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"work\",\"params\":[21],\"id\":1}\n";
    static const char want[] = "{\"jsonrpc\":\"2.0\",\"result\":{\"value\":42},\"id\":1}\n";
    char got[sizeof(want)] = "";
    size_t n = 0;
    ssize_t more;
    if (write(p->to, call, sizeof(call) - 1) != sizeof(call) - 1)
        return false;
    struct pollfd readable = {p->from, POLLIN, 0};
    while (n < sizeof(want) - 1 && poll(&readable, 1, 20000) > 0 &&
           (more = read(p->from, got + n, sizeof(want) - 1 - n)) > 0)
        n += (size_t)more;
    return !strcmp(got, want);
}

static ino_t inode_of(int fd)
{
    struct stat st = {0};
    fstat(fd, &st);
    return st.st_ino;
}

TEST(two_servers_on_pipes_of_their_own_leave_stdout_alone)
{
    struct pair p[2] = {0};
    int in[2][2], out[2][2], flags[2][2], result[2], after[2][2];
    bool works = true, alone = true;
    ino_t is = inode_of(STDOUT_FILENO);
    for (int i = 0; i < 2; i++) {
        CHECK(pipe(in[i]) == 0 && pipe(out[i]) == 0);
        flags[i][0] = fcntl(in[i][0], F_GETFL);
        flags[i][1] = fcntl(out[i][1], F_GETFL);
        p[i].to = in[i][1];
        p[i].from = out[i][0];
        pair_start(&p[i], in[i][0], out[i][1]);
    }
    for (int i = 0; i < 2; i++) {
        works &= pair_answers(&p[i]);
        alone &= inode_of(STDOUT_FILENO) == is;
    }
    for (int i = 0; i < 2; i++) {
        close(in[i][1]);
        result[i] = pair_end(&p[i]);
        after[i][0] = fcntl(in[i][0], F_GETFL);
        after[i][1] = fcntl(out[i][1], F_GETFL);
        close(in[i][0]);
        close(out[i][0]);
        close(out[i][1]);
    }
    CHECK(works);
    CHECK(alone);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(result[i], FUMI_SERVED_END);
        CHECK_INT(after[i][0], flags[i][0]);
        CHECK_INT(after[i][1], flags[i][1]);
    }
}

/* The master of a terminal cannot be reopened: that would create another terminal. */
TEST(both_sides_of_a_terminal_can_be_served)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    int side[] = {master, open(ptsname(master), O_RDWR | O_NOCTTY)};
    struct termios raw;
    CHECK(tcgetattr(side[1], &raw) == 0);
    cfmakeraw(&raw);
    CHECK(tcsetattr(side[1], TCSANOW, &raw) == 0);
    for (int i = 0; i < 2; i++) {
        int flags = fcntl(side[i], F_GETFL);
        struct pair p = {.to = side[!i], .from = side[!i]};
        pair_start(&p, side[i], side[i]);
        bool works = pair_answers(&p);
        fumi_stop(p.server);
        int result = pair_end(&p);
        CHECK(works);
        CHECK_INT(result, FUMI_SERVED_STOP);
        CHECK_INT(fcntl(side[i], F_GETFL), flags);
    }
    close(side[0]);
    close(side[1]);
}

TEST(one_socket_is_both_ends)
{
    struct pair p = {0};
    int fds[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    p.to = p.from = fds[0];
    pair_start(&p, fds[1], fds[1]);
    bool works = pair_answers(&p);
    fumi_stop(p.server);
    int result = pair_end(&p);
    bool open = fcntl(fds[1], F_GETFD) >= 0;
    close(fds[0]);
    close(fds[1]);
    CHECK(works && open);
    CHECK_INT(result, FUMI_SERVED_STOP);
}

/* A named FIFO whose writers closed it before it is served. */
TEST(a_fifo_without_writers_is_read_to_its_end)
{
    static const char call[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"twice\",\"params\":[4],\"id\":1}\n";
    static const char want[] = "{\"jsonrpc\":\"2.0\",\"result\":{\"value\":8},\"id\":1}\n";
    char dir[] = "/tmp/fumi-fifo-XXXXXX", path[sizeof(dir) + 2], got[sizeof(want)] = "";
    struct pair p = {0};
    int out[2];
    CHECK(mkdtemp(dir) && pipe(out) == 0);
    snprintf(path, sizeof(path), "%s/f", dir);
    CHECK(mkfifo(path, 0600) == 0);
    for (int messages = 1; messages >= 0; messages--) {
        int writer = open(path, O_RDWR | O_CLOEXEC);
        int in = open(path, O_RDONLY | O_CLOEXEC);
        CHECK(!messages || write(writer, call, sizeof(call) - 1) == sizeof(call) - 1);
        close(writer);
        pair_start(&p, in, out[1]);
        CHECK_INT(pair_end(&p), FUMI_SERVED_END);
        close(in);
    }
    CHECK_INT(read(out[0], got, sizeof(want) - 1), sizeof(want) - 1);
    CHECK_STR(fumi_str(got), want);
    close(out[0]);
    close(out[1]);
    unlink(path);
    rmdir(dir);
}

/* With the default action of SIGPIPE, which would kill this program. */
TEST(a_reader_that_is_gone_is_an_error)
{
    static const char call[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"twice\",\"params\":[1],\"id\":1}\n";
    struct sigaction before, standard = {.sa_handler = SIG_DFL};
    struct pair p = {0};
    int in[2], out[2];
    sigaction(SIGPIPE, &standard, &before);
    CHECK(pipe(in) == 0 && pipe(out) == 0);
    close(out[0]);
    pair_start(&p, in[0], out[1]);
    CHECK(write(in[1], call, sizeof(call) - 1) > 0);
    int result = pair_end(&p);
    sigaction(SIGPIPE, &before, NULL);
    close(in[0]);
    close(in[1]);
    close(out[1]);
    CHECK_INT(result, FUMI_SERVED_ERROR);
    CHECK_STR(fumi_str(p.err.text), "stdout: Broken pipe");
}

TEST(descriptors_that_cannot_be_used_are_refused)
{
    static const struct {
        int in, out;
        const char *why;
    } rows[] = {
        {7000, 7001, "descriptors 7000 and 7001: Bad file descriptor"},
        {7000, 0, "out: the descriptor to write to is not given"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct pair p = {0};
        pair_start(&p, rows[i].in, rows[i].out);
        CHECK_INT(pair_end(&p), FUMI_SERVED_ERROR);
        CHECK_STR(fumi_str(p.err.text), rows[i].why);
    }
}

/* In a child process whose standard descriptors are pipes. The exit status has a bit for each
 * successful check. */
static int serve_twice(int in, int out)
{
    struct pair first = {0}, second = {0};
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    pair_start(&first, 0, 0);
    while (inode_of(STDOUT_FILENO) != inode_of(STDERR_FILENO)) /* it is in use */
        poll(NULL, 0, 1);
    pair_start(&second, 0, 0);
    int right = pair_end(&second) == FUMI_SERVED_ERROR;
    right |= !strncmp(second.err.text, "stdio: another server has it", 28) << 1;
    fumi_stop(first.server);
    right |= (pair_end(&first) == FUMI_SERVED_STOP) << 2;
    right |= (inode_of(STDOUT_FILENO) == inode_of(out)) << 3;
    return right;
}

TEST(stdin_and_stdout_are_for_one_server)
{
    int in[2], out[2], status;
    CHECK(pipe(in) == 0 && pipe(out) == 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(serve_twice(in[0], out[1]));
    waitpid(pid, &status, 0);
    for (int i = 0; i < 2; i++) {
        close(in[i]);
        close(out[i]);
    }
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 15);
}

/* Exits with 0 if stdout is unchanged. */
static int listen_twice(int out)
{
    struct fumi_str listen[] = {FUMI_STR("stdio"), FUMI_STR("stdio")};
    struct fumi_serve_options o = {.set.listen = {listen, 2}};
    struct fumi_server *s = fumi_server_new("twice", "1.0");
    struct fumi_err e;
    dup2(out, STDOUT_FILENO);
    int rc = fumi_serve(s, &o, &e);
    fumi_server_free(s);
    return rc != FUMI_SERVED_ERROR || inode_of(STDOUT_FILENO) != inode_of(out);
}

TEST(stdio_given_twice_leaves_stdout_alone)
{
    int out[2], status;
    CHECK(pipe(out) == 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(listen_twice(out[1]));
    waitpid(pid, &status, 0);
    close(out[0]);
    close(out[1]);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static rlim_t files(rlim_t set)
{
    struct rlimit r;
    getrlimit(RLIMIT_NOFILE, &r);
    rlim_t was = r.rlim_cur;
    r.rlim_cur = set;
    if (set)
        setrlimit(RLIMIT_NOFILE, &r);
    return was;
}

TEST(the_limit_of_descriptors_is_raised_by_all_and_restored_by_the_last)
{
    enum { LOW = 256 };
    struct host h[2];
    rlim_t was = files(LOW), raised[3];
    for (int i = 0; i < 2; i++) {
        host_open(&h[i]);
        host_start(&h[i]);
        raised[i] = files(0);
    }
    for (int i = 0; i < 2; i++) {
        fumi_stop(h[i].server);
        host_join(&h[i]);
        raised[2] = i ? raised[2] : files(0);
        host_close(&h[i]);
    }
    rlim_t after = files(was);
    CHECK(raised[0] > LOW);
    CHECK(raised[1] > raised[0]);
    CHECK(raised[2] == raised[1]);
    CHECK_INT(after, LOW);
}

TEST(no_manager_ignores_systemd)
{
    struct host h;
    char path[64], pid[16], got[64];
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    host_open(&h);
    snprintf(path, sizeof(path), "%s/manager", h.dir);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    CHECK(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
    setenv("NOTIFY_SOCKET", path, 1);
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "1", 1);
    h.options.no_manager = true;
    host_start(&h);
    fumi_stop(h.server);
    int result = host_join(&h);
    bool kept = getenv("LISTEN_PID") && getenv("LISTEN_FDS");
    ssize_t n = recv(fd, got, sizeof(got), MSG_DONTWAIT);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    close(fd);
    unlink(path);
    host_close(&h);
    CHECK_INT(result, FUMI_SERVED_STOP);
    CHECK(kept);
    CHECK_INT(n, -1);
}
