/* PATH.lock is held from checking the existing socket file until the new socket listens. So if two
 * servers find the same stale file, the second one checks it only after the first one listens, and
 * finds it in use. Only the holder of the lock removes the lock file, and a process that gets the
 * lock verifies that the file still has its name. Hence no two processes hold a lock of the same
 * name, and no lock file is left behind. */
#include "net/listen.h"

#include "base/utf8.h"
#include "net/file_lock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    BACKLOG = 4096,    /* the system reduces it to its own limit */
    FIRST_PASSED = 3,  /* first descriptor passed by a service manager */
    PORT_DIGITS = 5,   /* digits of the largest port */
    NOTIFY_SECONDS = 1 /* timeout for sending to the service manager */
};

union socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un un;
};

_Static_assert(sizeof(((struct address *)0)->path) == sizeof(((struct sockaddr_un *)0)->sun_path),
               "a path that fits an address fits a socket");

static int malformed(struct fumi_str text, const char *what, struct fumi_err *e)
{
    struct fumi_str shown = fumi_utf8_cut(text, 60);
    return fumi_err_set(e, FUMI_INVALID_PARAMS, "the address \"%.*s\" %s", FUMI_ARG(shown), what);
}

static bool parse_port(struct fumi_str s, uint16_t *out)
{
    uint32_t port = 0;
    for (size_t i = 0; i < s.n && i <= PORT_DIGITS; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        port = port * 10 + (uint32_t)(s.p[i] - '0');
    }
    *out = (uint16_t)port;
    return s.n && s.n <= PORT_DIGITS && port <= UINT16_MAX;
}

/* Stores the host in canonical form, so that each address has one text. */
static bool parse_host(struct address *a, struct fumi_str s, int family)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    if (family == AF_INET && fumi_eq(s, FUMI_STR("localhost")))
        s = FUMI_STR("127.0.0.1");
    if (!s.n || s.n >= sizeof(a->host) || memchr(s.p, 0, s.n))
        return false;
    memcpy(a->host, s.p, s.n);
    a->host[s.n] = '\0';
    return inet_pton(family, a->host, bytes) == 1 &&
           inet_ntop(family, bytes, a->host, sizeof(a->host));
}

static int parse_tcp(struct address *a, struct fumi_str text, struct fumi_str rest,
                     struct fumi_err *e)
{
    const char *colon = rest.n ? memrchr(rest.p, ':', rest.n) : NULL;
    if (!colon)
        return malformed(text, "needs a host and a port, such as tcp:127.0.0.1:8765", e);
    struct fumi_str host = {rest.p, (size_t)(colon - rest.p)};
    struct fumi_str port = {colon + 1, rest.n - host.n - 1};
    bool v6 = host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    if (v6)
        host = (struct fumi_str){host.p + 1, host.n - 2};
    if (!parse_host(a, host, v6 ? AF_INET6 : AF_INET))
        return malformed(
            text, "needs an IPv4 address, an IPv6 address in brackets or localhost as host", e);
    if (!parse_port(port, &a->port))
        return malformed(text, "needs a port from 0 to 65535; 0 lets the system choose", e);
    a->kind = ADDRESS_TCP;
    return 0;
}

static int parse_unix(struct address *a, struct fumi_str text, struct fumi_str path,
                      struct fumi_err *e)
{
    if (!path.n || memchr(path.p, 0, path.n))
        return malformed(text, "needs a path, such as unix:/run/user/1000/fumi.sock", e);
    if (path.n >= sizeof(a->path))
        return malformed(text, "has a path of more than 107 bytes, the limit of a socket", e);
    memcpy(a->path, path.p, path.n);
    a->path[path.n] = '\0';
    a->kind = ADDRESS_UNIX;
    return 0;
}

static const struct {
    struct fumi_str prefix;
    int (*parse)(struct address *a, struct fumi_str text, struct fumi_str rest, struct fumi_err *e);
} schemes[] = {
    {FUMI_STR("tcp:"), parse_tcp},
    {FUMI_STR("unix:"), parse_unix},
};

int address_parse(struct address *a, struct fumi_str text, struct fumi_err *e)
{
    *a = (struct address){.kind = ADDRESS_STDIO};
    if (fumi_eq(text, FUMI_STR("stdio")))
        return 0;
    for (size_t i = 0; i < FUMI_COUNT(schemes); i++) {
        size_t n = schemes[i].prefix.n;
        if (fumi_starts(text, schemes[i].prefix))
            return schemes[i].parse(a, text, (struct fumi_str){text.p + n, text.n - n}, e);
    }
    return malformed(text, "is not stdio, tcp:HOST:PORT, tcp:[V6]:PORT or unix:PATH", e);
}

/* Writes the address, terminated. */
static struct fumi_str text_of(const struct address *a, char out[128])
{
    int n = 0;
    switch (a->kind) {
    case ADDRESS_STDIO:
        n = snprintf(out, 128, "stdio");
        break;
    case ADDRESS_TCP:
        n = snprintf(out, 128, strchr(a->host, ':') ? "tcp:[%s]:%u" : "tcp:%s:%u", a->host,
                     (unsigned)a->port);
        break;
    case ADDRESS_UNIX:
        n = snprintf(out, 128, "unix:%s", a->path);
        break;
    }
    return (struct fumi_str){out, (size_t)n};
}

void address_put(const struct address *a, struct fumi_buf *out)
{
    char text[128];
    struct fumi_str s = text_of(a, text);
    fumi_buf_add(out, s.p, s.n);
}

static socklen_t tcp_name(const struct address *a, union socket_address *out)
{
    *out = (union socket_address){0};
    if (inet_pton(AF_INET, a->host, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons(a->port);
        return sizeof(out->v4);
    }
    out->v6.sin6_family = AF_INET6;
    out->v6.sin6_port = htons(a->port);
    inet_pton(AF_INET6, a->host, &out->v6.sin6_addr);
    return sizeof(out->v6);
}

bool address_is_local(const struct address *a)
{
    union socket_address n;
    if (a->kind != ADDRESS_TCP)
        return true;
    tcp_name(a, &n);
    if (n.any.sa_family == AF_INET)
        return ntohl(n.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    const struct in6_addr *v6 = &n.v6.sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) ||
           (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == IN_LOOPBACKNET);
}

static int refuse(const struct address *a, const char *what, struct fumi_err *e)
{
    char text[128];
    text_of(a, text);
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: %s", text, what);
}

/* Adds a remedy to common errors. */
static int failed(const struct address *a, int number, struct fumi_err *e)
{
    static const struct {
        int number;
        enum address_kind kind;
        const char *what;
    } known[] = {
        {EADDRINUSE, ADDRESS_TCP, "another program listens there; stop it or choose another port"},
        {EADDRNOTAVAIL, ADDRESS_TCP, "this machine has no such address; choose another"},
        {EAFNOSUPPORT, ADDRESS_TCP, "this machine has no such kind of address; choose another"},
        {EACCES, ADDRESS_TCP, "not permitted; choose a port above 1023"},
        {ENOENT, ADDRESS_UNIX, "its directory does not exist; create it first"},
        {EACCES, ADDRESS_UNIX, "not permitted; choose a directory of your own"},
    };
    for (size_t i = 0; i < FUMI_COUNT(known); i++) {
        if (known[i].number == number && known[i].kind == a->kind)
            return refuse(a, known[i].what, e);
    }
    return refuse(a, strerror(number), e);
}

static int switch_on(int fd, int level, int option)
{
    return setsockopt(fd, level, option, &(int){1}, sizeof(int));
}

/* Gets the address of a socket. Returns false if its kind is not supported. */
static bool get_address(int fd, struct address *out)
{
    union socket_address n = {0};
    socklen_t size = sizeof(n);
    *out = (struct address){.kind = ADDRESS_TCP};
    if (getsockname(fd, &n.any, &size))
        return false;
    if (n.any.sa_family == AF_INET) {
        out->port = ntohs(n.v4.sin_port);
        return inet_ntop(AF_INET, &n.v4.sin_addr, out->host, sizeof(out->host));
    }
    if (n.any.sa_family == AF_INET6) {
        out->port = ntohs(n.v6.sin6_port);
        return inet_ntop(AF_INET6, &n.v6.sin6_addr, out->host, sizeof(out->host));
    }
    size_t path = size > offsetof(struct sockaddr_un, sun_path)
                      ? size - offsetof(struct sockaddr_un, sun_path)
                      : 0;
    out->kind = ADDRESS_UNIX;
    memcpy(out->path, n.un.sun_path, path < sizeof(out->path) ? path : sizeof(out->path) - 1);
    if (path && !out->path[0])
        out->path[0] = '@'; /* abstract name, without a file */
    return n.any.sa_family == AF_UNIX;
}

/* SO_REUSEPORT is set on the first socket only once it listens: two sockets that set it before
 * could both listen. */
static int open_port(int fd, const struct address *a, bool shared)
{
    union socket_address n;
    socklen_t size = tcp_name(a, &n);
    if (switch_on(fd, SOL_SOCKET, SO_REUSEADDR))
        return -1;
    /* Otherwise [::] would include the IPv4 port and conflict with 0.0.0.0. */
    if (n.any.sa_family == AF_INET6 && switch_on(fd, IPPROTO_IPV6, IPV6_V6ONLY))
        return -1;
    if (shared && switch_on(fd, SOL_SOCKET, SO_REUSEPORT))
        return -1;
    if (bind(fd, &n.any, size) || listen(fd, BACKLOG))
        return -1;
    return switch_on(fd, SOL_SOCKET, SO_REUSEPORT);
}

static int open_tcp(struct listener *l, const struct address *a, bool shared, struct fumi_err *e)
{
    int family = strchr(a->host, ':') ? AF_INET6 : AF_INET;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return failed(a, errno, e);
    if (open_port(fd, a, shared) || !get_address(fd, &l->at)) {
        int number = errno;
        close(fd);
        return failed(a, number, e);
    }
    l->fd = fd;
    return 0;
}

static socklen_t unix_name(const char *path, union socket_address *out)
{
    size_t n = strlen(path);
    *out = (union socket_address){.un.sun_family = AF_UNIX};
    memcpy(out->un.sun_path, path, n);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 1);
}

/* Tries to connect to the socket file. Returns 0 or an errno. */
static int probe(const char *path)
{
    union socket_address n;
    socklen_t size = unix_name(path, &n);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int number = fd >= 0 && connect(fd, &n.any, size) == 0 ? 0 : errno;
    if (fd >= 0)
        close(fd);
    return number;
}

/* Removes a socket file left by a dead server. */
static int remove_stale(const struct address *a, struct fumi_err *e)
{
    struct stat st;
    if (lstat(a->path, &st))
        return errno == ENOENT ? 0 : failed(a, errno, e);
    if (!S_ISSOCK(st.st_mode))
        return refuse(a, "the file exists and is not a socket; remove it or choose another path",
                      e);
    int number = probe(a->path);
    if (number == 0 || number == EAGAIN) /* EAGAIN: its backlog is full */
        return refuse(a, "another program listens there; stop it or choose another path", e);
    if (number == EPROTOTYPE)
        return refuse(a, "the socket there is not a stream socket; choose another path", e);
    if (number != ECONNREFUSED && number != ENOENT)
        return failed(a, number, e);
    return unlink(a->path) && errno != ENOENT ? failed(a, errno, e) : 0;
}

/* bind(2) creates the file with the mode of the socket, so other users can never connect. */
static int open_file(struct listener *l, int fd, const struct address *a, struct fumi_err *e)
{
    union socket_address n;
    struct stat st;
    socklen_t size = unix_name(a->path, &n);
    if (fchmod(fd, S_IRUSR | S_IWUSR) || bind(fd, &n.any, size))
        return failed(a, errno, e);
    if (listen(fd, BACKLOG) || lstat(a->path, &st)) {
        int number = errno;
        unlink(a->path);
        return failed(a, number, e);
    }
    *l = (struct listener){.fd = fd, .at = *a, .device = st.st_dev, .inode = st.st_ino};
    return 0;
}

static int open_locked(struct listener *l, const struct address *a, struct fumi_err *e)
{
    if (remove_stale(a, e))
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return failed(a, errno, e);
    int rc = open_file(l, fd, a, e);
    if (rc)
        close(fd);
    return rc;
}

static bool is_same(const char *path, dev_t device, ino_t inode)
{
    struct stat st;
    return lstat(path, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

enum { LOCK_PATH = sizeof(((struct address *)0)->path) + sizeof(".lock") };

/* Takes the lock and returns its descriptor; -1 with *e set. A lock file of another user is
 * refused, because that user could block us. */
static int lock(const struct address *a, const char *path, struct fumi_err *e)
{
    struct stat st;
    int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    for (;;) {
        int fd = open(path, flags, S_IRUSR | S_IWUSR);
        if (fd < 0)
            return failed(a, errno, e);
        bool mine = fstat(fd, &st) == 0 && st.st_uid == geteuid();
        bool held = mine && file_lock_take(fd);
        if (held && is_same(path, st.st_dev, st.st_ino))
            return fd;
        close(fd);
        if (!mine)
            return refuse(a, "its lock file belongs to another user; choose another path", e);
        if (!held)
            return refuse(a, "another server has been starting there for too long", e);
    }
}

static int open_unix(struct listener *l, const struct address *a, struct fumi_err *e)
{
    char path[LOCK_PATH];
    snprintf(path, sizeof(path), "%s.lock", a->path);
    int fd = lock(a, path, e);
    if (fd < 0)
        return -1;
    int rc = open_locked(l, a, e);
    unlink(path);
    close(fd);
    return rc;
}

int listener_open(struct listener *l, const struct address *a, bool shared, struct fumi_err *e)
{
    *l = (struct listener){.fd = -1};
    switch (a->kind) {
    case ADDRESS_STDIO:
        break;
    case ADDRESS_TCP:
        return open_tcp(l, a, shared, e);
    case ADDRESS_UNIX:
        return open_unix(l, a, e);
    }
    return refuse(a, "this is not an address to listen on", e);
}

/* The file is removed first: while we listen, no other server replaces it, and its inode cannot be
 * reused. */
void listener_close(struct listener *l)
{
    if (l->fd < 0)
        return;
    bool own = l->at.kind == ADDRESS_UNIX && !l->inherited;
    if (own && is_same(l->at.path, l->device, l->inode))
        unlink(l->at.path);
    close(l->fd);
    l->fd = -1;
}

static bool is_option(int fd, int option, int wanted)
{
    int value = 0;
    socklen_t size = sizeof(value);
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == wanted;
}

static int inherit(struct listener *l, int fd, struct fumi_err *e)
{
    *l = (struct listener){.fd = fd, .inherited = true};
    if (!is_option(fd, SO_TYPE, SOCK_STREAM) || !is_option(fd, SO_ACCEPTCONN, 1) ||
        !get_address(fd, &l->at))
        return fumi_err_set(
            e, FUMI_INTERNAL_ERROR,
            "descriptor %d of LISTEN_FDS is not a listening stream socket; the socket "
            "unit needs ListenStream= and Accept=no",
            fd);
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK))
        return failed(&l->at, errno, e);
    return 0;
}

/* The value of an environment variable, if it is a number of at most nine digits, else 0. */
static int number_of(const char *variable)
{
    const char *text = getenv(variable);
    size_t n = text ? strlen(text) : 0;
    int number = 0;
    if (n > 9 || (n && strspn(text, "0123456789") != n))
        return 0;
    for (size_t i = 0; i < n; i++)
        number = number * 10 + (text[i] - '0');
    return number;
}

int listener_inherit(struct listener *out, size_t max, struct fumi_err *e)
{
    static const char *const passed[] = {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"};
    int n = number_of("LISTEN_PID") == getpid() ? number_of("LISTEN_FDS") : 0;
    for (size_t i = 0; i < FUMI_COUNT(passed);
         i++) /* unsets only what is set: other threads may read the environment */
        if (getenv(passed[i]))
            unsetenv(passed[i]);
    for (int i = 0; i < n && fcntl(FIRST_PASSED + i, F_SETFD, FD_CLOEXEC) == 0; i++) {}
    if (n > 0 && (size_t)n > max)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "LISTEN_FDS: %d sockets were passed, at most %zu are supported", n,
                            max);
    for (int i = 0; i < n; i++) {
        if (inherit(&out[i], FIRST_PASSED + i, e))
            return -1;
    }
    return n;
}

/* Address of the service manager, where '@' stands for the zero byte of an abstract name. Returns 0
 * if there is no manager. */
static socklen_t manager(union socket_address *out)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t n = path ? strlen(path) : 0;
    *out = (union socket_address){.un.sun_family = AF_UNIX};
    if (n < 2 || n >= sizeof(out->un.sun_path) || (path[0] != '/' && path[0] != '@'))
        return 0;
    memcpy(out->un.sun_path, path, n);
    if (path[0] == '@')
        out->un.sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

void notify_manager(const char *state)
{
    union socket_address n;
    struct timeval most = {NOTIFY_SECONDS, 0};
    socklen_t size = manager(&n);
    int fd = size ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
    ssize_t sent;
    do
        sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL, &n.any, size);
    while (sent < 0 && errno == EINTR);
    close(fd);
}
