#include "test.h"

#include "net/listen.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* A directory for each test that needs one. */
struct fixture {
    char directory[64], path[96], address[128];
    struct address at;
    struct fumi_err e;
};

static bool fixture_open(struct fixture *s)
{
    *s = (struct fixture){.directory = "/tmp/fumi-listen-XXXXXX"};
    if (!mkdtemp(s->directory))
        return false;
    snprintf(s->path, sizeof(s->path), "%s/socket", s->directory);
    snprintf(s->address, sizeof(s->address), "unix:%s", s->path);
    return address_parse(&s->at, fumi_str(s->address), &s->e) == 0;
}

/* How many files there were. */
static int fixture_close(struct fixture *s)
{
    DIR *d = opendir(s->directory);
    int n = 0;
    for (struct dirent *entry; d && (entry = readdir(d));) {
        if (entry->d_name[0] == '.')
            continue;
        unlinkat(dirfd(d), entry->d_name, 0);
        n++;
    }
    if (d)
        closedir(d);
    rmdir(s->directory);
    return n;
}

static struct fumi_str put(const struct address *a, struct fumi_buf *out)
{
    fumi_buf_reset(out, 4096);
    address_put(a, out);
    return fumi_buf_str(out);
}

/* Runs a function in a child process, which may change its descriptors and environment. */
static bool in_child(void (*part)(void *arg), void *arg)
{
    int status = 1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        part(arg);
        fflush(NULL);
        _exit(test_failed);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static int connect_tcp(const struct address *a)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(a->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(a->port)};
    bool is_v6 = inet_pton(AF_INET, a->host, &v4.sin_addr) != 1;
    inet_pton(AF_INET6, a->host, &v6.sin6_addr);
    int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = is_v6 ? connect(fd, (struct sockaddr *)&v6, sizeof(v6))
                   : connect(fd, (struct sockaddr *)&v4, sizeof(v4));
    if (rc == 0)
        return fd;
    close(fd);
    return -1;
}

/* A path beginning with '@' is an abstract name. */
static socklen_t unix_name(struct sockaddr_un *out, const char *path)
{
    size_t n = strlen(path);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path, path, n);
    if (path[0] == '@')
        out->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

static int bound_unix(const char *path, int type)
{
    struct sockaddr_un name;
    socklen_t size = unix_name(&name, path);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&name, size) == 0)
        return fd;
    close(fd);
    return -1;
}

static int connect_unix(const char *path)
{
    struct sockaddr_un name;
    socklen_t size = unix_name(&name, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&name, size) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool is_quiet(int fd)
{
    return (fcntl(fd, F_GETFL) & O_NONBLOCK) && (fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static int accept_one(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    return poll(&p, 1, 10000) == 1 ? accept(fd, NULL, NULL) : -1;
}

TEST(addresses_are_read_and_written)
{
    static const struct {
        const char *text, *written; /* NULL: as it was read */
        enum address_kind kind;
        const char *host;
        unsigned port;
        bool local;
    } rows[] = {
        {"stdio", NULL, ADDRESS_STDIO, "", 0, true},
        {"tcp:127.0.0.1:8765", NULL, ADDRESS_TCP, "127.0.0.1", 8765, true},
        {"tcp:localhost:0", "tcp:127.0.0.1:0", ADDRESS_TCP, "127.0.0.1", 0, true},
        {"tcp:127.255.0.9:65535", NULL, ADDRESS_TCP, "127.255.0.9", 65535, true},
        {"tcp:0.0.0.0:1", NULL, ADDRESS_TCP, "0.0.0.0", 1, false},
        {"tcp:128.0.0.1:1", NULL, ADDRESS_TCP, "128.0.0.1", 1, false},
        {"tcp:192.168.1.1:00080", "tcp:192.168.1.1:80", ADDRESS_TCP, "192.168.1.1", 80, false},
        {"tcp:[::1]:80", NULL, ADDRESS_TCP, "::1", 80, true},
        {"tcp:[0:0:0::0001]:80", "tcp:[::1]:80", ADDRESS_TCP, "::1", 80, true},
        {"tcp:[::]:80", NULL, ADDRESS_TCP, "::", 80, false},
        {"tcp:[FE80::2]:80", "tcp:[fe80::2]:80", ADDRESS_TCP, "fe80::2", 80, false},
        {"tcp:[::ffff:127.0.0.1]:8", NULL, ADDRESS_TCP, "::ffff:127.0.0.1", 8, true},
        {"tcp:[::ffff:10.0.0.1]:8", NULL, ADDRESS_TCP, "::ffff:10.0.0.1", 8, false},
        {"unix:/run/x", NULL, ADDRESS_UNIX, "", 0, true},
        {"unix:a b:c", NULL, ADDRESS_UNIX, "", 0, true},
    };
    struct fumi_buf out = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct address a;
        struct fumi_err e = {0};
        const char *written = rows[i].written ? rows[i].written : rows[i].text;
        if (address_parse(&a, fumi_str(rows[i].text), &e))
            TEST_FAIL("%s: %s", rows[i].text, e.text);
        else if (a.kind != rows[i].kind || a.port != rows[i].port || strcmp(a.host, rows[i].host))
            TEST_FAIL("%s: kind %d, host %s, port %u", rows[i].text, a.kind, a.host, a.port);
        else if (!fumi_eq(put(&a, &out), fumi_str(written)))
            TEST_FAIL("%s: %.*s", rows[i].text, FUMI_ARG(fumi_buf_str(&out)));
        else if (address_is_local(&a) != rows[i].local)
            TEST_FAIL("%s: is taken for %s", rows[i].text, rows[i].local ? "remote" : "local");
    }
    fumi_buf_done(&out);
}

TEST(paths_fit_exactly_or_not)
{
    char text[128] = "unix:";
    struct address a;
    struct fumi_err e = {0};
    memset(text + 5, 'p', 107);
    CHECK_INT(address_parse(&a, (struct fumi_str){text, 5 + 107}, &e), 0);
    CHECK_INT(strlen(a.path), 107);
    text[5 + 107] = 'p';
    CHECK_INT(address_parse(&a, (struct fumi_str){text, 5 + 108}, &e), -1);
    CHECK(strstr(e.text, "107 bytes"));
    CHECK_INT(address_parse(&a, FUMI_STR("unix:a\0b"), &e), -1);
    CHECK_INT(address_parse(&a, FUMI_STR("tcp:127.0.0.1\0:80"), &e), -1);
    CHECK_INT(address_parse(&a, (struct fumi_str){0}, &e), -1);
}

TEST(malformed_addresses_are_refused)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"", "is not stdio"},
        {"stdi", "is not stdio"},
        {"stdio:", "is not stdio"},
        {"udp:127.0.0.1:80", "is not stdio"},
        {"TCP:127.0.0.1:80", "is not stdio"},
        {"127.0.0.1:80", "is not stdio"},
        {"tcp:", "needs a host and a port"},
        {"tcp:8765", "needs a host and a port"},
        {"tcp:127.0.0.1", "needs a host and a port"},
        {"tcp::80", "as host"},
        {"tcp:*:80", "as host"},
        {"tcp:example.org:80", "as host"},
        {"tcp:127.1:80", "as host"},
        {"tcp:256.0.0.1:80", "as host"},
        {"tcp: 127.0.0.1:80", "as host"},
        {"tcp:::1:80", "as host"},
        {"tcp:[::1:80", "as host"},
        {"tcp:[]:80", "as host"},
        {"tcp:[127.0.0.1]:80", "as host"},
        {"tcp:[localhost]:80", "as host"},
        {"tcp:[fe80::1%lo]:80", "as host"},
        {"tcp:[::1]", "as host"},
        {"tcp:127.0.0.1:", "port from 0 to 65535"},
        {"tcp:127.0.0.1:65536", "port from 0 to 65535"},
        {"tcp:127.0.0.1:4294967376", "port from 0 to 65535"},
        {"tcp:127.0.0.1:-1", "port from 0 to 65535"},
        {"tcp:127.0.0.1:+80", "port from 0 to 65535"},
        {"tcp:127.0.0.1:80x", "port from 0 to 65535"},
        {"tcp:127.0.0.1: 80", "port from 0 to 65535"},
        {"unix:", "needs a path"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct address a;
        struct fumi_err e = {0};
        if (address_parse(&a, fumi_str(rows[i].text), &e) != -1 || !strstr(e.text, rows[i].part) ||
            !strstr(e.text, rows[i].text))
            TEST_FAIL("%s: %s", rows[i].text, e.text);
    }
}

/* 127.0.0.1 and a port that the system chooses. */
static const struct address anywhere = {.kind = ADDRESS_TCP, .host = "127.0.0.1"};

TEST(tcp_port_is_chosen_and_reported)
{
    struct listener l;
    struct fumi_err e = {0};
    CHECK_INT(listener_open(&l, &anywhere, false, &e), 0);
    CHECK(l.at.port != 0 && !l.inherited && is_quiet(l.fd));
    CHECK_STR(fumi_str(l.at.host), "127.0.0.1");
    int guest = connect_tcp(&l.at), host = accept_one(l.fd);
    CHECK(guest >= 0 && host >= 0);
    close(host);
    close(guest);
    listener_close(&l);
    CHECK_INT(l.fd, -1);
    listener_close(&l);
}

/* A connection in TIME-WAIT must not block the port. */
TEST(tcp_port_is_free_again_at_once)
{
    struct listener l;
    struct fumi_err e = {0};
    CHECK_INT(listener_open(&l, &anywhere, false, &e), 0);
    struct address same = l.at;
    int guest = connect_tcp(&same), host = accept_one(l.fd);
    close(host);
    listener_close(&l);
    CHECK_INT(listener_open(&l, &same, false, &e), 0);
    CHECK_INT(l.at.port, same.port);
    close(guest);
    listener_close(&l);
}

TEST(tcp_port_in_use_is_an_error)
{
    struct listener first, second;
    struct fumi_err e = {0};
    CHECK_INT(listener_open(&first, &anywhere, false, &e), 0);
    CHECK_INT(listener_open(&second, &first.at, false, &e), -1);
    CHECK(strstr(e.text, "another program listens there; stop it or choose another port"));
    CHECK(strstr(e.text, "tcp:127.0.0.1:"));
    CHECK_INT(second.fd, -1);
    listener_close(&second);
    listener_close(&first);
}

static int accept_all(int fd)
{
    int n = 0, guest;
    while ((guest = accept(fd, NULL, NULL)) >= 0) {
        close(guest);
        n++;
    }
    return n;
}

/* Connections are spread over the sockets that share a port; for another server the port is in use.
 */
TEST(tcp_port_is_shared_only_on_request)
{
    enum { GUESTS = 100 };
    struct listener first, second, third, other;
    struct fumi_err e = {0};
    int guests[GUESTS], n = 0;
    CHECK_INT(listener_open(&first, &anywhere, false, &e), 0);
    CHECK_INT(listener_open(&second, &first.at, true, &e), 0);
    CHECK_INT(listener_open(&third, &first.at, true, &e), 0);
    CHECK_INT(third.at.port, first.at.port);
    CHECK_INT(listener_open(&other, &first.at, false, &e), -1);
    while (n < GUESTS && (guests[n] = connect_tcp(&first.at)) >= 0)
        n++;
    int a = accept_all(first.fd), b = accept_all(second.fd), c = accept_all(third.fd);
    while (n > 0)
        close(guests[--n]);
    CHECK_INT(a + b + c, GUESTS);
    CHECK(a && b && c);
    listener_close(&first);
    listener_close(&second);
    listener_close(&third);
}

TEST(tcp_address_of_another_machine_is_a_fault)
{
    struct listener l;
    struct fumi_err e = {0};
    struct address a = {.kind = ADDRESS_TCP, .host = "192.0.2.1"}; /* for documentation only */
    CHECK_INT(listener_open(&l, &a, false, &e), -1);
    CHECK_STR(fumi_str(e.text),
              "tcp:192.0.2.1:0: this machine has no such address; choose another");
}

TEST(stdio_is_not_a_listen_address)
{
    struct listener l;
    struct fumi_err e = {0};
    CHECK_INT(listener_open(&l, &(struct address){.kind = ADDRESS_STDIO}, false, &e), -1);
    CHECK_INT(l.fd, -1);
}

TEST(ipv6)
{
    struct listener six, four;
    struct fumi_err e = {0};
    struct address a = {.kind = ADDRESS_TCP, .host = "::1"};
    if (listener_open(&six, &a, false, &e)) {
        printf("skipped: IPv6: %s\n", e.text);
        return;
    }
    struct fumi_buf out = {0};
    char want[32];
    snprintf(want, sizeof(want), "tcp:[::1]:%u", six.at.port);
    CHECK_STR(put(&six.at, &out), want);
    fumi_buf_done(&out);
    CHECK(is_quiet(six.fd));
    int guest = connect_tcp(&six.at), host = accept_one(six.fd);
    CHECK(guest >= 0 && host >= 0);
    close(host);
    close(guest);
    listener_close(&six);

    /* Both wildcard addresses: neither takes the port of the other. */
    a = (struct address){.kind = ADDRESS_TCP, .host = "::"};
    CHECK_INT(listener_open(&six, &a, false, &e), 0);
    int only = 0;
    socklen_t size = sizeof(only);
    CHECK_INT(getsockopt(six.fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &size), 0);
    CHECK_INT(only, 1);
    a = anywhere;
    a.port = six.at.port;
    if (listener_open(&four, &a, false, &e) == 0)
        listener_close(&four);
    else
        printf("skipped: port %u is taken on IPv4\n", a.port);
    listener_close(&six);
}

TEST(unix_socket_is_for_its_owner_alone)
{
    struct fixture s;
    struct listener l;
    struct stat st;
    CHECK(fixture_open(&s));
    mode_t before = umask(0);
    int rc = listener_open(&l, &s.at, false, &s.e);
    umask(before);
    CHECK_INT(rc, 0);
    CHECK_INT(lstat(s.path, &st), 0);
    CHECK_INT(st.st_mode & 07777, 0600);
    CHECK(is_quiet(l.fd));
    CHECK_STR(fumi_str(l.at.path), s.path);
    int guest = connect_unix(s.path), host = accept_one(l.fd);
    CHECK(guest >= 0 && host >= 0);
    close(host);
    close(guest);
    listener_close(&l);
    CHECK_INT(fixture_close(&s), 0); /* neither the socket nor a lock file is left */
}

TEST(unix_socket_in_use_is_an_error)
{
    struct fixture s;
    struct listener first, second;
    CHECK(fixture_open(&s));
    CHECK_INT(listener_open(&first, &s.at, false, &s.e), 0);
    CHECK_INT(listener_open(&second, &s.at, false, &s.e), -1);
    CHECK(strstr(s.e.text, "another program listens there"));
    int guest = connect_unix(s.path);
    CHECK(guest >= 0);
    close(guest);
    listener_close(&first);
    CHECK_INT(fixture_close(&s), 0);
}

/* A server whose backlog is full refuses connections, but is alive. */
TEST(unix_socket_with_full_backlog_is_an_error)
{
    enum { MANY = 16 };
    struct fixture s;
    struct listener l;
    struct sockaddr_un name;
    int guests[MANY], n = 0;
    CHECK(fixture_open(&s));
    int busy = bound_unix(s.path, SOCK_STREAM);
    CHECK_INT(listen(busy, 0), 0);
    socklen_t size = unix_name(&name, s.path);
    for (bool full = false; n < MANY && !full; n++) {
        guests[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        full = connect(guests[n], (struct sockaddr *)&name, size) && errno == EAGAIN;
    }
    CHECK(n < MANY);
    CHECK_INT(listener_open(&l, &s.at, false, &s.e), -1);
    CHECK(strstr(s.e.text, "another program listens there"));
    while (n > 0)
        close(guests[--n]);
    close(busy);
    CHECK_INT(fixture_close(&s), 1);
}

TEST(stale_unix_socket_is_replaced)
{
    struct fixture s;
    struct listener l;
    CHECK(fixture_open(&s));
    close(bound_unix(s.path, SOCK_STREAM));
    CHECK_INT(connect_unix(s.path), -1);
    CHECK_INT(listener_open(&l, &s.at, false, &s.e), 0);
    int guest = connect_unix(s.path);
    CHECK(guest >= 0);
    close(guest);
    listener_close(&l);
    CHECK_INT(fixture_close(&s), 0);
}

TEST(stale_lock_file_is_reused)
{
    struct fixture s;
    struct listener l;
    char lock[128];
    CHECK(fixture_open(&s));
    snprintf(lock, sizeof(lock), "%s.lock", s.path);
    close(open(lock, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    CHECK_INT(listener_open(&l, &s.at, false, &s.e), 0);
    listener_close(&l);
    CHECK_INT(fixture_close(&s), 0);
}

static void make_file(const char *path)
{
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static void make_fifo(const char *path)
{
    if (mkfifo(path, 0600))
        abort();
}

static void make_link(const char *path)
{
    if (symlink("nowhere", path))
        abort();
}

static void make_datagram(const char *path)
{
    fcntl(bound_unix(path, SOCK_DGRAM), F_DUPFD_CLOEXEC,
          200); /* the child exits without closing it */
}

/* Other files and sockets are left unchanged. */
struct other {
    void (*make)(const char *path);
    const char *part;
};

static void refuse_other(void *arg)
{
    const struct other *o = arg;
    struct fixture s;
    struct listener l;
    struct stat before, after;
    CHECK(fixture_open(&s));
    o->make(s.path);
    CHECK_INT(lstat(s.path, &before), 0);
    CHECK_INT(listener_open(&l, &s.at, false, &s.e), -1);
    CHECK(strstr(s.e.text, o->part));
    CHECK_INT(lstat(s.path, &after), 0);
    CHECK(before.st_ino == after.st_ino && before.st_mode == after.st_mode);
    CHECK_INT(fixture_close(&s), 1);
}

TEST(unix_path_of_other_files_is_an_error)
{
    static struct other rows[] = {
        {make_file, "is not a socket"},
        {make_fifo, "is not a socket"},
        {make_link, "is not a socket"},
        {make_datagram, "not a stream socket"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        if (!in_child(refuse_other, &rows[i]))
            TEST_FAIL("row %zu", i);
}

TEST(unix_path_without_directory_is_a_fault)
{
    struct fixture s;
    struct listener l;
    struct address a = {.kind = ADDRESS_UNIX};
    CHECK(fixture_open(&s));
    snprintf(a.path, sizeof(a.path), "%s/none/socket", s.directory);
    CHECK_INT(listener_open(&l, &a, false, &s.e), -1);
    CHECK(strstr(s.e.text, "its directory does not exist"));
    CHECK_INT(fixture_close(&s), 0);
}

TEST(unix_file_of_a_successor_stays)
{
    struct fixture s;
    struct listener old, new;
    CHECK(fixture_open(&s));
    CHECK_INT(listener_open(&old, &s.at, false, &s.e), 0);
    CHECK_INT(unlink(s.path), 0);
    CHECK_INT(listener_open(&new, &s.at, false, &s.e), 0);
    listener_close(&old);
    int guest = connect_unix(s.path);
    CHECK(guest >= 0);
    close(guest);
    listener_close(&new);
    CHECK_INT(fixture_close(&s), 0);
}

enum { RIVALS = 6, ROUNDS = 15 };

/* Servers that start at the same time: each waits until `go` is closed, reports in a byte whether
 * it listens, and stays until `stop` is closed. */
struct race {
    int go[2], reports[2], stop[2];
    struct fixture *fixture;
};

static void await_end(int fd)
{
    char byte;
    while (read(fd, &byte, 1) < 0 && errno == EINTR) {}
}

static _Noreturn void rival(struct race *r)
{
    struct listener l;
    struct fumi_err e;
    close(r->go[1]);
    close(r->stop[1]);
    await_end(r->go[0]);
    char byte = listener_open(&l, &r->fixture->at, false, &e) == 0 ? 'y' : 'n';
    if (byte == 'n' && !strstr(e.text, "another program listens there"))
        byte = '?';
    ssize_t did = write(r->reports[1], &byte, 1);
    await_end(r->stop[0]);
    listener_close(&l);
    _exit(did != 1);
}

static bool race_open(struct race *r, struct fixture *s)
{
    r->fixture = s;
    return !pipe2(r->go, O_CLOEXEC) && !pipe2(r->reports, O_CLOEXEC) && !pipe2(r->stop, O_CLOEXEC);
}

/* Their reports, in the order of arrival. */
static void run_race(struct race *r, char reports[RIVALS + 1])
{
    pid_t pids[RIVALS];
    size_t n = 0;
    fflush(NULL);
    for (size_t i = 0; i < RIVALS; i++)
        if ((pids[i] = fork()) == 0)
            rival(r);
    close(r->go[1]);
    close(r->reports[1]);
    for (ssize_t got = 1; n < RIVALS && got > 0; n += got > 0 ? (size_t)got : 0)
        got = read(r->reports[0], reports + n, RIVALS - n);
    reports[n] = '\0';
    close(r->stop[1]);
    for (size_t i = 0; i < RIVALS; i++)
        waitpid(pids[i], NULL, 0);
    close(r->go[0]);
    close(r->reports[0]);
    close(r->stop[0]);
}

TEST(of_concurrent_starts_one_succeeds)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct fixture s;
        struct race r;
        char reports[RIVALS + 1];
        CHECK(fixture_open(&s));
        if (round % 3) /* otherwise there is nothing yet */
            close(bound_unix(s.path, SOCK_STREAM));
        CHECK(race_open(&r, &s));
        run_race(&r, reports);
        size_t yes = 0, no = 0;
        for (size_t i = 0; reports[i]; i++) {
            yes += reports[i] == 'y';
            no += reports[i] == 'n';
        }
        if (yes != 1 || no != RIVALS - 1)
            TEST_FAIL("round %d: %s", round, reports);
        CHECK_INT(fixture_close(&s), 0);
    }
}

/* Whether a byte arrives in time; also used to check that none does. */
static bool comes(int fd, int ms)
{
    return poll(&(struct pollfd){fd, POLLIN, 0}, 1, ms) == 1;
}

static int hold(const char *lock)
{
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (flock(fd, LOCK_EX))
        abort();
    return fd;
}

/* The holder removes the lock file that a server waits for, and another process locks a new file of
 * that name before the server gets the lock: the server must wait for that lock too. */
static void take_turns(const struct fixture *s, pid_t pid, int reports)
{
    char lock[128], byte = 0;
    snprintf(lock, sizeof(lock), "%s.lock", s->path);
    int first = hold(lock);
    CHECK_INT(kill(pid, SIGCONT), 0);
    CHECK(!comes(reports, 200));
    CHECK_INT(unlink(lock), 0);
    int second = hold(lock);
    close(first);
    CHECK(!comes(reports, 200));
    close(second);
    CHECK_INT(read(reports, &byte, 1), 1);
    CHECK_INT(byte, 'y');
}

TEST(unix_lock_is_waited_for)
{
    struct fixture s;
    struct race r;
    int status;
    CHECK(fixture_open(&s));
    CHECK(race_open(&r, &s));
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGSTOP);
        rival(&r);
    }
    close(r.go[1]);
    CHECK_INT(waitpid(pid, &status, WUNTRACED), pid);
    take_turns(&s, pid, r.reports[0]);
    close(r.stop[1]);
    waitpid(pid, NULL, 0);
    close(r.go[0]);
    close(r.reports[0]);
    close(r.reports[1]);
    close(r.stop[0]);
    CHECK_INT(fixture_close(&s), 0);
}

/* Passes descriptors and variables as a service manager does. */
static void pass_on(const int *fds, int n, long pid)
{
    int kept[4];
    char text[24];
    for (int i = 0; i < n; i++)
        kept[i] = fcntl(fds[i], F_DUPFD, 100);
    for (int i = 0; i < n; i++)
        dup2(kept[i], 3 + i);
    snprintf(text, sizeof(text), "%ld", pid);
    setenv("LISTEN_PID", text, 1);
    snprintf(text, sizeof(text), "%d", n);
    setenv("LISTEN_FDS", text, 1);
    setenv("LISTEN_FDNAMES", "a:b", 1);
}

static bool has_variables(void)
{
    return getenv("LISTEN_PID") || getenv("LISTEN_FDS") || getenv("LISTEN_FDNAMES");
}

static void inherit_three(void *arg)
{
    struct fixture *s = arg;
    struct listener tcp, got[4];
    struct fumi_buf out = {0};
    struct fumi_err e = {0};
    char abstract[40];
    snprintf(abstract, sizeof(abstract), "@fumi-test-%ld", (long)getpid());
    CHECK_INT(listener_open(&tcp, &anywhere, false, &e), 0);
    int file = bound_unix(s->path, SOCK_STREAM), nameless = bound_unix(abstract, SOCK_STREAM);
    CHECK(listen(file, 5) == 0 && listen(nameless, 5) == 0);
    pass_on((int[]){tcp.fd, file, nameless}, 3, getpid());
    CHECK_INT(listener_inherit(got, 4, &e), 3);
    CHECK(!has_variables());
    for (int i = 0; i < 3; i++)
        CHECK(got[i].fd == 3 + i && got[i].inherited && is_quiet(got[i].fd));
    CHECK_INT(got[0].at.kind, ADDRESS_TCP);
    CHECK_INT(got[0].at.port, tcp.at.port);
    CHECK_STR(fumi_str(got[0].at.host), "127.0.0.1");
    CHECK_STR(put(&got[1].at, &out), s->address);
    CHECK_STR(fumi_str(got[2].at.path), abstract);
    fumi_buf_done(&out);
    for (int i = 0; i < 3; i++)
        listener_close(&got[i]);
    CHECK(access(s->path, F_OK) == 0); /* the file belongs to the service manager */
    CHECK_INT(listener_inherit(got, 4, &e), 0);
}

TEST(inherited_sockets_are_taken)
{
    struct fixture s;
    CHECK(fixture_open(&s));
    CHECK(in_child(inherit_three, &s));
    CHECK_INT(fixture_close(&s), 1);
}

static void inherit_none(void *arg)
{
    static const struct {
        const char *pid, *fds;
    } rows[] = {
        {"1", "1"},           {"", "1"},    {"x", "1"},  {"-1", "1"}, {"99999999999999999999", "1"},
        {NULL, "1"},          {"me", NULL}, {"me", ""},  {"me", "0"}, {"me", "-1"},
        {"me", "4294967297"}, {"me", "1x"}, {"me", "x"},
    };
    struct listener got;
    struct fumi_err e = {0};
    char me[24];
    (void)arg;
    snprintf(me, sizeof(me), "%ld", (long)getpid());
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        const char *pid = rows[i].pid;
        if (pid)
            setenv("LISTEN_PID", strcmp(pid, "me") == 0 ? me : pid, 1);
        if (rows[i].fds)
            setenv("LISTEN_FDS", rows[i].fds, 1);
        if (listener_inherit(&got, 1, &e) != 0 || has_variables())
            TEST_FAIL("pid %s, descriptors %s", pid, rows[i].fds);
    }
}

TEST(sockets_for_others_are_left)
{
    CHECK(in_child(inherit_none, NULL));
}

static int listening(void)
{
    struct listener l;
    struct fumi_err e;
    return listener_open(&l, &anywhere, false, &e) ? -1 : l.fd;
}

static int file(void)
{
    return open("/dev/null", O_RDWR | O_CLOEXEC);
}

static int not_listening(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int datagram(void)
{
    return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int closed(void)
{
    return -1;
}

static void inherit_wrong(void *arg)
{
    int (*make)(void) = *(int (**)(void))arg;
    struct listener got[2];
    struct fumi_err e = {0};
    int good = listening(), wrong = make();
    pass_on((int[]){good, wrong}, 2, getpid());
    if (wrong < 0)
        close(4);
    CHECK_INT(listener_inherit(got, 2, &e), -1);
    CHECK(strstr(e.text, "descriptor 4 of LISTEN_FDS is not a listening stream socket"));
    CHECK(!has_variables());
}

static void inherit_too_many(void *arg)
{
    struct listener got;
    struct fumi_err e = {0};
    (void)arg;
    pass_on((int[]){listening(), listening()}, 2, getpid());
    CHECK_INT(listener_inherit(&got, 1, &e), -1);
    CHECK(strstr(e.text, "2 sockets were passed, at most 1"));
    CHECK(fcntl(3, F_GETFD) & fcntl(4, F_GETFD) & FD_CLOEXEC);
    CHECK(!has_variables());
}

TEST(invalid_inherited_sockets_are_refused)
{
    static int (*kinds[])(void) = {file, not_listening, datagram, closed};
    for (size_t i = 0; i < FUMI_COUNT(kinds); i++)
        if (!in_child(inherit_wrong, &kinds[i]))
            TEST_FAIL("kind %zu", i);
    CHECK(in_child(inherit_too_many, NULL));
}

static void check_notified(const char *path)
{
    char got[32];
    int manager = bound_unix(path, SOCK_DGRAM);
    CHECK(manager >= 0);
    setenv("NOTIFY_SOCKET", path, 1);
    notify_manager("READY=1");
    notify_manager("STOPPING=1");
    CHECK_INT(recv(manager, got, sizeof(got), MSG_DONTWAIT), 7);
    CHECK(memcmp(got, "READY=1", 7) == 0);
    CHECK_INT(recv(manager, got, sizeof(got), MSG_DONTWAIT), 10);
    close(manager);
    unsetenv("NOTIFY_SOCKET");
}

TEST(service_manager_is_notified)
{
    struct fixture s;
    char abstract[40];
    CHECK(fixture_open(&s));
    snprintf(abstract, sizeof(abstract), "@fumi-notify-%ld", (long)getpid());
    check_notified(s.path);
    check_notified(abstract);
    CHECK_INT(fixture_close(&s), 1);
}

TEST(missing_service_manager_is_ignored)
{
    char longer[200];
    memset(longer, '/', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    const char *const paths[] = {"", "@", "/", "relative", "/nowhere/at/all", longer};
    notify_manager("READY=1");
    for (size_t i = 0; i < FUMI_COUNT(paths); i++) {
        setenv("NOTIFY_SOCKET", paths[i], 1);
        notify_manager("READY=1");
    }
    unsetenv("NOTIFY_SOCKET");
}
