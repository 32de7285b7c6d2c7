#include "net/access.h"

#include "net/access_user.h"

#include "test.h"

#include "access_cases.h"
#include "access_fixture.h"

#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/resource.h>

enum { NOBODY = 65534, SOMEBODY = 65533, OUR_PORT = 8765 };

static struct fumi_strs strs(struct fumi_str *items, size_t n)
{
    return (struct fumi_strs){items, n};
}

/* Access rules with the settings of a row. The settings are freed before the rules are used. */
static struct access *new_access(int set)
{
    static const char *const names[] = {"memo.example", "Box.lan:8765", "[fd00::1]", ORIGINS};
    char texts[FUMI_COUNT(names)][32], token[] = RIGHT;
    struct fumi_str items[FUMI_COUNT(names)];
    struct fumi_settings s = {.auth = set & AUTH};
    struct fumi_err e = {0};
    for (size_t i = 0; i < FUMI_COUNT(names); i++) {
        snprintf(texts[i], sizeof(texts[i]), "%s", names[i]);
        items[i] = fumi_str(texts[i]);
    }
    if (set & LISTS)
        s.hosts = strs(items, 3);
    if (set & (LISTS | PAGES))
        s.origins = strs(items + 3, FUMI_COUNT(names) - 3);
    struct access *a = access_new(&s, fumi_str(set & BARE ? NULL : token), &e);
    memset(texts, 'x', sizeof(texts));
    memset(items, 0, sizeof(items));
    memset(token, 'x', sizeof(token));
    if (!a)
        TEST_FAIL("access_new: %s", e.text);
    if (a && !(set & NO_PORTS))
        access_add_port(a, OUR_PORT);
    if (a && set & PORT_80)
        access_add_port(a, 80);
    return a;
}

/* A request as bytes, and the parsed request. */
struct request {
    char bytes[2048];
    struct http_head head;
};

static bool read_request(struct request *r, const char *text)
{
    struct http_fault f = {0};
    struct http_limits limits = HTTP_LIMITS;
    size_t seen = 0;
    int n = snprintf(r->bytes, sizeof(r->bytes), "%s\r\n", text);
    ssize_t took = http_read_head(&r->head, (struct fumi_str){r->bytes, (size_t)n}, &seen, &limits,
                                  &f);
    if (took != n)
        TEST_FAIL("%s: not read: %s", text, f.reason ? f.reason : "more is needed");
    return took == n;
}

static struct access_verdict check_request(struct access *a, struct access_client *g,
                                           const char *text)
{
    struct request r;
    if (!read_request(&r, text))
        return (struct access_verdict){.status = -1, .reason = ""};
    struct access_verdict v = access_check(a, g, &r.head);
    v.origin.p = NULL; /* the request ends here */
    return v;
}

/* The connections are real; other users and other machines are simulated. */
static struct access_client client_of(int who, const struct line *tcp, const struct line *local)
{
    struct access_client g;
    access_client_init(&g, who == UNIX_OWN || who == UNIX_OTHER ? local->server : tcp->server);
    if (who == REMOTE)
        g.loopback = false;
    g.user = who == OWN || who == UNIX_OWN ? ACCESS_USER_SAME : ACCESS_USER_OTHER;
    return g;
}

static void check_case(const struct access_case *c, struct access_client g)
{
    struct access *a = new_access(c->set);
    if (!a)
        return;
    struct access_verdict v = check_request(a, &g, c->head);
    if (v.status != c->status || !v.reason != !c->reason ||
        (c->reason && strcmp(v.reason, c->reason) != 0) || v.pause)
        TEST_FAIL("row %td, %s:\n   got %d %s\n  want %d %s", c - access_cases, c->head, v.status,
                  v.reason ? v.reason : "-", c->status, c->reason ? c->reason : "-");
    access_free(a);
}

TEST(every_case_of_the_table_gets_its_verdict)
{
    struct line tcp, local;
    CHECK(line_open_v4(&tcp));
    CHECK(line_open_unix(&local));
    for (size_t i = 0; i < FUMI_COUNT(access_cases); i++)
        check_case(&access_cases[i], client_of(access_cases[i].who, &tcp, &local));
    line_close(&tcp);
    line_close(&local);
}

/* An allowed origin is sent back unchanged, also with a 401, so that the page can read the reply.
 */
static const struct {
    const char *head, *origin;
    int status;
} echoes[] = {
    {POST LOCAL, NULL, 0},
    {POST LOCAL "Origin: HTTPS://example.ORG\r\n", "HTTPS://example.ORG", 0},
    {POST LOCAL "Origin: http://localhost:8765\r\n", "http://localhost:8765", 0},
    {ALLOW LOCAL WANTS "Origin: https://Example.org\r\n", "https://Example.org", 0},
    {POST LOCAL "Origin: https://example.org\r\nAuthorization: Bearer " WRONG "\r\n",
     "https://example.org", 401},
    {POST LOCAL "Origin: https://evil.example\r\n", NULL, 403},
    {POST "Host: evil.example\r\nOrigin: https://example.org\r\n", NULL, 403},
};

TEST(an_allowed_origin_is_given_back)
{
    struct access_client g = {.fd = -1, .loopback = true, .user = ACCESS_USER_SAME};
    struct access *a = new_access(SAME | PAGES);
    CHECK(a);
    for (size_t i = 0; i < FUMI_COUNT(echoes); i++) {
        struct request r;
        CHECK(read_request(&r, echoes[i].head));
        struct access_verdict v = access_check(a, &g, &r.head);
        CHECK_INT(v.status, echoes[i].status);
        CHECK_STR(v.origin, echoes[i].origin);
    }
    access_free(a);
}

/* The error of access_new for these settings, or NULL. */
static const struct refusal {
    const char *listen, *token, *origin, *host;
    int auth;
    bool allow_remote;
    const char *says;
} refusals[] = {
    {.says = NULL},
    {.listen = "tcp:127.0.0.1:0", .says = NULL},
    {.listen = "tcp:[::1]:0", .auth = FUMI_AUTH_NONE, .says = NULL},
    {.listen = "unix:/tmp/s", .auth = FUMI_AUTH_NONE, .says = NULL},
    {.listen = "stdio", .auth = FUMI_AUTH_NONE, .says = NULL},
    {.listen = "tcp:0.0.0.0:0", .token = RIGHT, .allow_remote = true, .says = NULL},
    {.listen = "tcp:0.0.0.0:0", .token = RIGHT, .says = "--allow-remote"},
    {.listen = "tcp:[::]:0", .token = RIGHT, .says = "--allow-remote"},
    {.listen = "tcp:0.0.0.0:0", .allow_remote = true, .says = "a token is needed"},
    {.listen = "tcp:0.0.0.0:0",
     .token = RIGHT,
     .allow_remote = true,
     .auth = FUMI_AUTH_NONE,
     .says = "auth cannot be none"},
    {.listen = "tcp:192.0.2.1:80", .auth = FUMI_AUTH_NONE, .says = "--allow-remote"},
    {.listen = "tcp:192.0.2.1:80", .auth = FUMI_AUTH_FILTER, .says = "--allow-remote"},
    {.listen = "tcp:192.0.2.1:80", .allow_remote = true, .auth = FUMI_AUTH_FILTER, .says = NULL},
    {.listen = "pigeon:1", .says = "pigeon"},
    {.token = "", .says = "at least 16"},
    {.token = "0123456789abcde", .says = "at least 16"},
    {.token = "0123456789abcdef", .says = NULL},
    {.token = "0123456789 abcdef", .says = "visible ASCII"},
    {.token = "0123456789abcdef\n", .says = "visible ASCII"},
    {.token = "0123456789abcdef\x7F", .says = "visible ASCII"},
    {.token = "0123456789abcdef\xC3\xA9", .says = "visible ASCII"},
    {.origin = "https://example.org", .says = NULL},
    {.origin = "http://localhost:3000", .says = NULL},
    {.origin = "http://[::1]:3000", .says = NULL},
    {.origin = "moz-extension://12ab-34cd", .says = NULL},
    {.origin = "*", .says = "exact origins are needed"},
    {.origin = "", .says = "exact origins are needed"},
    {.origin = "null", .says = "exact origins are needed"},
    {.origin = "example.org", .says = "exact origins are needed"},
    {.origin = "//example.org", .says = "exact origins are needed"},
    {.origin = "://example.org", .says = "exact origins are needed"},
    {.origin = "https://", .says = "exact origins are needed"},
    {.origin = "https://*.example.org", .says = "exact origins are needed"},
    {.origin = "https://example.org/", .says = "exact origins are needed"},
    {.origin = "https://example.org/page", .says = "exact origins are needed"},
    {.origin = "https://me@example.org", .says = "exact origins are needed"},
    {.origin = "https://example.org?x", .says = "exact origins are needed"},
    {.origin = "https://example.org:", .says = "exact origins are needed"},
    {.origin = "https://example.org:0", .says = "exact origins are needed"},
    {.origin = "https://example.org:65536", .says = "exact origins are needed"},
    {.origin = "https://example.org:1:1", .says = "exact origins are needed"},
    {.origin = "https://[::1", .says = "exact origins are needed"},
    {.origin = "https://exam ple.org", .says = "exact origins are needed"},
    {.origin = "ht tp://example.org", .says = "exact origins are needed"},
    {.host = "memo.example", .says = NULL},
    {.host = "[fd00::1]:8765", .says = NULL},
    {.host = "*", .says = "exact names are needed"},
    {.host = "", .says = "exact names are needed"},
    {.host = "http://memo.example", .says = "exact names are needed"},
    {.host = "memo.example/", .says = "exact names are needed"},
};

static void check_refusal(const struct refusal *r)
{
    struct fumi_str listen = fumi_str(r->listen), origin = fumi_str(r->origin);
    struct fumi_str host = fumi_str(r->host);
    struct fumi_settings s = {.auth = r->auth, .allow_remote = r->allow_remote};
    struct fumi_err e = {0};
    s.listen = strs(&listen, listen.p != NULL);
    s.origins = strs(&origin, origin.p != NULL);
    s.hosts = strs(&host, host.p != NULL);
    struct access *a = access_new(&s, fumi_str(r->token), &e);
    if (!a != !!r->says || (r->says && !strstr(e.text, r->says)))
        TEST_FAIL("row %td: got \"%s\", want \"%s\"", r - refusals, e.text, r->says ? r->says : "");
    if (r->token && *r->token && strstr(e.text, r->token))
        TEST_FAIL("row %td: the error contains the token: %s", r - refusals, e.text);
    access_free(a);
}

TEST(settings_that_let_too_many_in_are_refused)
{
    for (size_t i = 0; i < FUMI_COUNT(refusals); i++)
        check_refusal(&refusals[i]);
}

/* Filters do not see NDJSON on a socket: it is allowed for the same user only. */
TEST(lines_need_the_same_user_where_filters_decide)
{
    struct access *a = new_access(FILTER);
    struct access_client own = {.unix_socket = true, .user = ACCESS_USER_SAME};
    struct access_client other = {.unix_socket = true, .user = ACCESS_USER_OTHER};
    CHECK(a);
    CHECK(access_without_token(a, &own));
    CHECK(!access_without_token(a, &other));
    access_free(a);
}

/* All address combinations of a TCP connection from this machine. */
static const struct {
    const char *at, *from, *to;
} ways[] = {
    {"127.0.0.1", "127.0.0.1", "127.0.0.1"},
    {"127.0.0.1", "127.0.0.9", "127.0.0.1"},
    {"0.0.0.0", "127.0.0.1", "127.0.0.1"},
    {"::1", "::1", "::1"},
    {"::", "::1", "::1"},
    {"::", "127.0.0.1", "127.0.0.1"},                             /* a mapped server address */
    {"::ffff:127.0.0.1", "127.0.0.1", "127.0.0.1"},               /* likewise */
    {"127.0.0.1", "::ffff:127.0.0.1", "::ffff:127.0.0.1"},        /* a mapped client address */
    {"::ffff:127.0.0.1", "::ffff:127.0.0.1", "::ffff:127.0.0.1"}, /* both mapped */
};

TEST(a_client_of_the_loopback_is_of_the_same_user)
{
    if (!line_has_owners())
        return;
    struct access *a = new_access(SAME);
    CHECK(a);
    for (size_t i = 0; i < FUMI_COUNT(ways); i++) {
        struct line l;
        struct access_client g;
        if (!line_open(&l, ways[i].at, ways[i].from, ways[i].to)) {
            printf("skipped: no way from %s to %s\n", ways[i].from, ways[i].at);
            continue;
        }
        access_client_init(&g, l.server);
        if (g.unix_socket || !g.loopback || g.user != ACCESS_USER_UNKNOWN)
            TEST_FAIL("way %zu: not seen as a client of the loopback", i);
        if (!access_without_token(a, &g) || g.user != ACCESS_USER_SAME)
            TEST_FAIL("way %zu: not known", i);
        line_close(&l);
    }
    access_free(a);
}

TEST(a_client_at_a_unix_socket_is_of_the_same_user)
{
    struct access *a = new_access(SAME);
    struct access_client g;
    struct line l;
    int pair[2];
    CHECK(line_open_unix(&l));
    access_client_init(&g, l.server);
    CHECK(g.unix_socket && !g.loopback && g.user == ACCESS_USER_UNKNOWN);
    CHECK(access_without_token(a, &g) && g.user == ACCESS_USER_SAME);
    line_close(&l);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    access_client_init(&g, pair[0]);
    CHECK(g.unix_socket && access_without_token(a, &g));
    close(pair[0]);
    close(pair[1]);
    access_free(a);
}

TEST(a_descriptor_without_a_connection_is_a_stranger)
{
    struct access *a = new_access(SAME), *open = new_access(NONE);
    int lonely = socket(AF_INET, SOCK_STREAM, 0), local = socket(AF_UNIX, SOCK_STREAM, 0), ends[2];
    CHECK(pipe(ends) == 0);
    const int fds[] = {-1, ends[0], lonely, local};
    for (size_t i = 0; i < FUMI_COUNT(fds); i++) {
        struct access_client g;
        access_client_init(&g, fds[i]);
        CHECK_INT(g.unix_socket, fds[i] == local);
        CHECK(!g.loopback && !access_without_token(a, &g) && g.user != ACCESS_USER_SAME);
        CHECK_INT(access_without_token(open, &g), fds[i] == local);
    }
    close(lonely);
    close(local);
    close(ends[0]);
    close(ends[1]);
    access_free(a);
    access_free(open);
}

/* Otherwise a client of another user could send a request, close, and be taken for root. */
TEST(a_client_that_hung_up_is_a_stranger)
{
    struct access *a = new_access(SAME);
    struct line l;
    struct access_client g;
    char byte;
    CHECK(line_open_v4(&l));
    access_client_init(&g, l.server);
    CHECK(write(l.client, "x", 1) == 1);
    close(l.client);
    l.client = -1;
    CHECK(read(l.server, &byte, 1) == 1 && read(l.server, &byte, 1) == 0);
    CHECK(!access_without_token(a, &g) && g.user != ACCESS_USER_SAME);
    line_close(&l);
    access_free(a);
}

TEST(a_client_that_was_reset_is_a_stranger)
{
    struct access *a = new_access(SAME);
    struct linger at_once = {1, 0};
    struct line l;
    struct access_client g;
    char byte;
    CHECK(line_open_v4(&l));
    access_client_init(&g, l.server);
    CHECK(setsockopt(l.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0);
    close(l.client);
    l.client = -1;
    CHECK(read(l.server, &byte, 1) == -1);
    CHECK(!access_without_token(a, &g));
    line_close(&l);
    access_free(a);
}

/* The kernel then reports the socket that now listens on the port, which is ours. */
TEST(a_listener_in_the_place_of_a_client_is_not_the_client)
{
    struct line l;
    struct access_client g;
    int on = 1;
    CHECK(line_open(&l, "127.0.0.1", "127.0.0.9", "127.0.0.1"));
    if (setsockopt(l.client, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) != 0) {
        printf("skipped: a connection cannot be made to vanish here\n");
        line_close(&l);
        return;
    }
    union line_name n;
    socklen_t size = line_name(&n, "127.0.0.9", line_port(l.client));
    close(l.client);
    l.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(l.client, &n.any, size) == 0 && listen(l.client, 1) == 0);
    struct access *a = new_access(SAME);
    access_client_init(&g, l.server);
    CHECK(g.loopback && !access_without_token(a, &g));
    line_close(&l);
    access_free(a);
}

TEST(a_client_that_only_ended_its_request_is_known)
{
    if (!line_has_owners())
        return;
    struct access *a = new_access(SAME);
    struct line l;
    struct access_client g;
    char byte;
    CHECK(line_open_v4(&l));
    access_client_init(&g, l.server);
    CHECK(shutdown(l.client, SHUT_WR) == 0 && read(l.server, &byte, 1) == 0);
    CHECK(access_without_token(a, &g));
    line_close(&l);
    access_free(a);
}

TEST(the_user_is_asked_for_once)
{
    if (!line_has_owners())
        return;
    struct access *a = new_access(SAME);
    struct line l;
    struct access_client g;
    CHECK(line_open_v4(&l));
    access_client_init(&g, l.server);
    CHECK_INT(check_request(a, &g, POST LOCAL "Authorization: Bearer " RIGHT "\r\n").status, 0);
    CHECK_INT(g.user, ACCESS_USER_UNKNOWN); /* a valid token makes the check unnecessary */
    CHECK_INT(check_request(a, &g, POST LOCAL).status, 0);
    CHECK_INT(g.user, ACCESS_USER_SAME);
    line_close(&l);
    CHECK_INT(check_request(a, &g, POST LOCAL).status, 0);
    access_free(a);
}

/* Without a descriptor the user cannot be determined. */
TEST(a_user_that_cannot_be_asked_for_is_a_stranger)
{
    struct access *a = new_access(SAME);
    struct rlimit before, none;
    struct line l;
    struct access_client g;
    CHECK(line_open_v4(&l));
    access_client_init(&g, l.server);
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = before;
    none.rlim_cur = 0;
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    bool known = access_without_token(a, &g);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(!known && g.user != ACCESS_USER_SAME);
    line_close(&l);
    access_free(a);
}

struct visit {
    int listener;
    uint16_t port;
    int gate[2]; /* kept open by the child until the parent has closed its end */
};

/* Connects in a child process and stays until it has been checked. */
static int visit(void *arg)
{
    struct visit *v = arg;
    char byte;
    int fd = line_connect("127.0.0.1", "127.0.0.1", v->port);
    close(v->gate[1]);
    return fd >= 0 && read(v->gate[0], &byte, 1) == 0 ? 0 : 1;
}

static int is_known_here(void *arg)
{
    struct access *a = new_access(SAME);
    struct access_client g;
    access_client_init(&g, *(int *)arg);
    int known = a && access_without_token(a, &g);
    access_free(a);
    return known;
}

static bool are_root(void)
{
    if (geteuid() != 0)
        printf("skipped: only root can become somebody else\n");
    return geteuid() == 0;
}

/* The client is a grandchild, because line_as_user waits for its own child. */
static pid_t send_visitor(struct visit *v, uid_t uid)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(setuid(uid) == 0 ? visit(v) : 100);
    return child;
}

TEST(another_user_is_a_stranger)
{
    struct visit v = {0};
    int status = -1;
    if (!are_root() || !line_has_owners())
        return;
    v.listener = line_listen("127.0.0.1");
    v.port = line_port(v.listener);
    CHECK(pipe(v.gate) == 0);
    pid_t child = send_visitor(&v, NOBODY);
    int fd = accept(v.listener, NULL, NULL);
    CHECK(child > 0 && fd >= 0);
    int to_root = is_known_here(&fd);
    int to_nobody = line_as_user(NOBODY, is_known_here, &fd);
    int to_somebody = line_as_user(SOMEBODY, is_known_here, &fd);
    close(v.gate[1]);
    close(v.gate[0]);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_INT(to_root, 0);
    CHECK_INT(to_nobody, 1);
    CHECK_INT(to_somebody, 0);
    close(fd);
    close(v.listener);
}

TEST(root_is_known_to_every_user)
{
    struct line tcp, local;
    if (!are_root() || !line_has_owners())
        return;
    CHECK(line_open_v4(&tcp) && line_open_unix(&local));
    CHECK_INT(line_as_user(NOBODY, is_known_here, &tcp.server), 1);
    CHECK_INT(line_as_user(NOBODY, is_known_here, &local.server), 1);
    line_close(&tcp);
    line_close(&local);
}

static int pair_as_nobody(void *arg)
{
    int pair[2];
    (void)arg;
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && is_known_here(&pair[0]) ? 1 : 0;
}

/* One end of a socket pair that another user created, passed over a socket. */
static int pass_pair(void *arg)
{
    int pair[2];
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec one = {(char[]){'x'}, 1};
    struct msghdr m = {.msg_iov = &one,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control.room)};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 1;
    memcpy(CMSG_DATA(&control.head), &pair[0], sizeof(int));
    return sendmsg(*(int *)arg, &m, 0) == 1 ? 0 : 1;
}

static int passed_fd(int from)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte;
    struct iovec one = {&byte, 1};
    struct msghdr m = {.msg_iov = &one,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control.room)};
    int fd = -1;
    if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&m))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
    return fd;
}

TEST(another_user_at_a_unix_socket_is_a_stranger)
{
    int pair[2];
    if (!are_root())
        return;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK_INT(line_as_user(NOBODY, pair_as_nobody, NULL), 1);
    CHECK_INT(line_as_user(NOBODY, pass_pair, &pair[1]), 0);
    int fd = passed_fd(pair[0]);
    CHECK(fd >= 0);
    CHECK_INT(is_known_here(&fd), 0);
    CHECK_INT(line_as_user(NOBODY, is_known_here, &fd), 1);
    close(fd);
    close(pair[0]);
    close(pair[1]);
}

static bool pauses(struct access *a, struct access_client *g, const char *fields)
{
    char text[512];
    snprintf(text, sizeof(text), POST LOCAL "%s", fields);
    return check_request(a, g, text).pause;
}

#define GUESS "Authorization: Bearer " WRONG "\r\n"

TEST(the_sixth_wrong_token_waits)
{
    struct access *a = new_access(TOKEN);
    struct line l, other, local;
    struct access_client g, g2, u;
    CHECK(line_open_v4(&l) && line_open(&other, "127.0.0.1", "127.0.0.9", "127.0.0.1"));
    CHECK(line_open_unix(&local));
    access_client_init(&g, l.server);
    access_client_init(&g2, other.server);
    access_client_init(&u, local.server);
    for (int i = 0; i < 20; i++)
        CHECK(!pauses(a, &g, "") && !pauses(a, &g, "Authorization: Bearer\r\n"));
    for (int i = 0; i < GUESSES; i++)
        CHECK(!pauses(a, &g, GUESS));
    CHECK(pauses(a, &g, GUESS));
    CHECK(pauses(a, &g, "")); /* all further tokens of that client get 401 */
    CHECK(!pauses(a, &g, "Authorization: Bearer " RIGHT "\r\n"));
    CHECK(!pauses(a, &g, "Origin: null\r\n"));
    CHECK(!pauses(a, &g2, GUESS) && !pauses(a, &u, GUESS));
    for (int i = 1; i < GUESSES; i++)
        CHECK(!pauses(a, &u, GUESS));
    CHECK(pauses(a, &u, "") && !pauses(a, &g2, ""));
    line_close(&l);
    CHECK(line_open_v4(&l)); /* another connection of the same client */
    access_client_init(&g, l.server);
    CHECK(pauses(a, &g, GUESS));
    line_close(&l);
    line_close(&other);
    line_close(&local);
    access_free(a);
}

static struct access_guess_key client_number(int number)
{
    struct access_guess_key c = {.kind = 't'};
    memcpy(c.key, &number, sizeof(number));
    return c;
}

TEST(old_guesses_are_forgotten)
{
    struct access_guesses g = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct access_guess_key c = client_number(1);
    for (int i = 0; i < GUESSES; i++)
        access_guesses_add(&g, &c, i * 1000);
    CHECK(access_guesses_exceeded(&g, &c, 5000));
    CHECK(access_guesses_exceeded(&g, &c, GUESS_TIME - 1));
    CHECK(!access_guesses_exceeded(&g, &c, GUESS_TIME)); /* the first failure was a minute ago */
    access_guesses_add(&g, &c, GUESS_TIME);
    CHECK(access_guesses_exceeded(&g, &c, GUESS_TIME + 999));
    CHECK(!access_guesses_exceeded(&g, &c, GUESS_TIME + 1000));
}

TEST(the_guesser_of_long_ago_makes_room)
{
    struct access_guesses g = {.lock = PTHREAD_MUTEX_INITIALIZER};
    for (int client = 0; client <= GUESSERS; client++) {
        struct access_guess_key c = client_number(client);
        for (int i = 0; i < GUESSES; i++)
            access_guesses_add(&g, &c, client);
        CHECK(access_guesses_exceeded(&g, &c, client));
    }
    for (int client = 0; client <= GUESSERS; client++) {
        struct access_guess_key c = client_number(client);
        CHECK_INT(access_guesses_exceeded(&g, &c, GUESSERS), client != 0);
    }
}

enum { THREADS = 4, ROUNDS = 500 };

struct crowd {
    struct access *access;
    int fd;
    int wrong; /* verdicts */
};

/* A connection belongs to one thread; all threads share the access rules. */
static void *come_often(void *arg)
{
    struct crowd *c = arg;
    struct request good, bad, mute;
    struct access_client g;
    if (!read_request(&good, POST LOCAL "Authorization: Bearer " RIGHT "\r\n") ||
        !read_request(&bad, POST LOCAL GUESS) || !read_request(&mute, POST LOCAL)) {
        c->wrong = ROUNDS;
        return NULL;
    }
    for (int i = 0; i < ROUNDS; i++) {
        access_client_init(&g, c->fd);
        c->wrong += access_check(c->access, &g, &good.head).status != 0;
        c->wrong += access_check(c->access, &g, &mute.head).status != 0;
        c->wrong += access_check(c->access, &g, &bad.head).status != 401;
    }
    return NULL;
}

TEST(many_threads_use_one_access)
{
    if (!line_has_owners())
        return;
    struct crowd crowd[THREADS];
    struct line lines[THREADS];
    pthread_t threads[THREADS];
    struct access *a = new_access(SAME);
    for (int i = 0; i < THREADS; i++) {
        CHECK(line_open_v4(&lines[i]));
        crowd[i] = (struct crowd){a, lines[i].server, 0};
        CHECK(pthread_create(&threads[i], NULL, come_often, &crowd[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        CHECK_INT(crowd[i].wrong, 0);
        line_close(&lines[i]);
    }
    access_free(a);
}
