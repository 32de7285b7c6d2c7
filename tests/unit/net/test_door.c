#include "net/door.h"

#include "net/door_user.h"

#include "test.h"

#include "door_cases.h"
#include "door_fixture.h"

#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/resource.h>

enum { NOBODY = 65534, SOMEBODY = 65533, OUR_PORT = 8765 };

static struct fumi_strs strs(struct fumi_str *items, size_t n)
{
    return (struct fumi_strs){items, n};
}

/* A door with the settings of a row; they are gone when it is used. */
static struct door *open_door(int set)
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
    struct door *d = door_new(&s, fumi_str(set & BARE ? NULL : token), &e);
    memset(texts, 'x', sizeof(texts));
    memset(items, 0, sizeof(items));
    memset(token, 'x', sizeof(token));
    if (!d)
        TEST_FAIL("door_new: %s", e.text);
    if (d && !(set & NO_PORTS))
        door_port(d, OUR_PORT);
    if (d && set & PORT_80)
        door_port(d, 80);
    return d;
}

/* The bytes of a request and what was read from them. */
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

static struct door_verdict ask_door(struct door *d, struct guest *g, const char *text)
{
    struct request r;
    if (!read_request(&r, text))
        return (struct door_verdict){.status = -1, .reason = ""};
    struct door_verdict v = door_check(d, g, &r.head);
    v.origin.p = NULL; /* the request ends here */
    return v;
}

/* The connections are real; that they are another user's or another machine's is not. */
static struct guest guest_of(int who, const struct line *tcp, const struct line *local)
{
    struct guest g;
    guest_meet(&g, who == UNIX_OWN || who == UNIX_OTHER ? local->server : tcp->server);
    if (who == REMOTE)
        g.loopback = false;
    g.who = who == OWN || who == UNIX_OWN ? GUEST_OWN : GUEST_STRANGER;
    return g;
}

static void check_case(const struct door_case *c, struct guest g)
{
    struct door *d = open_door(c->set);
    if (!d)
        return;
    struct door_verdict v = ask_door(d, &g, c->head);
    if (v.status != c->status || !v.reason != !c->reason ||
        (c->reason && strcmp(v.reason, c->reason) != 0) || v.pause)
        TEST_FAIL("row %td, %s:\n   got %d %s\n  want %d %s", c - door_cases, c->head, v.status,
                  v.reason ? v.reason : "-", c->status, c->reason ? c->reason : "-");
    door_free(d);
}

TEST(every_case_of_the_table_gets_its_verdict)
{
    struct line tcp, local;
    CHECK(line_open_v4(&tcp));
    CHECK(line_open_unix(&local));
    for (size_t i = 0; i < FUMI_COUNT(door_cases); i++)
        check_case(&door_cases[i], guest_of(door_cases[i].who, &tcp, &local));
    line_close(&tcp);
    line_close(&local);
}

/* Origins as they are given back: as they came, also with a 401, which a page wants to read. */
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
    struct guest g = {.fd = -1, .loopback = true, .who = GUEST_OWN};
    struct door *d = open_door(SAME | PAGES);
    CHECK(d);
    for (size_t i = 0; i < FUMI_COUNT(echoes); i++) {
        struct request r;
        CHECK(read_request(&r, echoes[i].head));
        struct door_verdict v = door_check(d, &g, &r.head);
        CHECK_INT(v.status, echoes[i].status);
        CHECK_STR(v.origin, echoes[i].origin);
    }
    door_free(d);
}

/* What door_new says to settings; NULL: nothing. */
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
    struct door *d = door_new(&s, fumi_str(r->token), &e);
    if (!d != !!r->says || (r->says && !strstr(e.text, r->says)))
        TEST_FAIL("row %td: got \"%s\", want \"%s\"", r - refusals, e.text, r->says ? r->says : "");
    if (r->token && *r->token && strstr(e.text, r->token))
        TEST_FAIL("row %td: the token is told: %s", r - refusals, e.text);
    door_free(d);
}

TEST(settings_that_let_too_many_in_are_refused)
{
    for (size_t i = 0; i < FUMI_COUNT(refusals); i++)
        check_refusal(&refusals[i]);
}

/* No filter sees lines on a socket: they are for the same user alone. */
TEST(lines_need_the_same_user_where_filters_decide)
{
    struct door *d = open_door(FILTER);
    struct guest own = {.unix_socket = true, .who = GUEST_OWN};
    struct guest other = {.unix_socket = true, .who = GUEST_STRANGER};
    CHECK(d);
    CHECK(door_knows(d, &own));
    CHECK(!door_knows(d, &other));
    door_free(d);
}

/* Each way to come over TCP from this machine. */
static const struct {
    const char *at, *from, *to;
} ways[] = {
    {"127.0.0.1", "127.0.0.1", "127.0.0.1"},
    {"127.0.0.1", "127.0.0.9", "127.0.0.1"},
    {"0.0.0.0", "127.0.0.1", "127.0.0.1"},
    {"::1", "::1", "::1"},
    {"::", "::1", "::1"},
    {"::", "127.0.0.1", "127.0.0.1"},                             /* a mapped server */
    {"::ffff:127.0.0.1", "127.0.0.1", "127.0.0.1"},               /* so too */
    {"127.0.0.1", "::ffff:127.0.0.1", "::ffff:127.0.0.1"},        /* a mapped client */
    {"::ffff:127.0.0.1", "::ffff:127.0.0.1", "::ffff:127.0.0.1"}, /* both */
};

TEST(a_guest_of_the_loopback_is_of_the_same_user)
{
    if (!line_has_owners())
        return;
    struct door *d = open_door(SAME);
    CHECK(d);
    for (size_t i = 0; i < FUMI_COUNT(ways); i++) {
        struct line l;
        struct guest g;
        if (!line_open(&l, ways[i].at, ways[i].from, ways[i].to)) {
            printf("skipped: no way from %s to %s\n", ways[i].from, ways[i].at);
            continue;
        }
        guest_meet(&g, l.server);
        if (g.unix_socket || !g.loopback || g.who != GUEST_NEW)
            TEST_FAIL("way %zu: not met as a guest of the loopback", i);
        if (!door_knows(d, &g) || g.who != GUEST_OWN)
            TEST_FAIL("way %zu: not known", i);
        line_close(&l);
    }
    door_free(d);
}

TEST(a_guest_at_a_unix_socket_is_of_the_same_user)
{
    struct door *d = open_door(SAME);
    struct guest g;
    struct line l;
    int pair[2];
    CHECK(line_open_unix(&l));
    guest_meet(&g, l.server);
    CHECK(g.unix_socket && !g.loopback && g.who == GUEST_NEW);
    CHECK(door_knows(d, &g) && g.who == GUEST_OWN);
    line_close(&l);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    guest_meet(&g, pair[0]);
    CHECK(g.unix_socket && door_knows(d, &g));
    close(pair[0]);
    close(pair[1]);
    door_free(d);
}

TEST(what_is_no_connection_is_a_stranger)
{
    struct door *d = open_door(SAME), *open = open_door(NONE);
    int lonely = socket(AF_INET, SOCK_STREAM, 0), local = socket(AF_UNIX, SOCK_STREAM, 0), ends[2];
    CHECK(pipe(ends) == 0);
    const int fds[] = {-1, ends[0], lonely, local};
    for (size_t i = 0; i < FUMI_COUNT(fds); i++) {
        struct guest g;
        guest_meet(&g, fds[i]);
        CHECK_INT(g.unix_socket, fds[i] == local);
        CHECK(!g.loopback && !door_knows(d, &g) && g.who != GUEST_OWN);
        CHECK_INT(door_knows(open, &g), fds[i] == local);
    }
    close(lonely);
    close(local);
    close(ends[0]);
    close(ends[1]);
    door_free(d);
    door_free(open);
}

/* Else a stranger would send, hang up, and be taken for root. */
TEST(a_guest_that_hung_up_is_a_stranger)
{
    struct door *d = open_door(SAME);
    struct line l;
    struct guest g;
    char byte;
    CHECK(line_open_v4(&l));
    guest_meet(&g, l.server);
    CHECK(write(l.client, "x", 1) == 1);
    close(l.client);
    l.client = -1;
    CHECK(read(l.server, &byte, 1) == 1 && read(l.server, &byte, 1) == 0);
    CHECK(!door_knows(d, &g) && g.who != GUEST_OWN);
    line_close(&l);
    door_free(d);
}

TEST(a_guest_that_was_reset_is_a_stranger)
{
    struct door *d = open_door(SAME);
    struct linger at_once = {1, 0};
    struct line l;
    struct guest g;
    char byte;
    CHECK(line_open_v4(&l));
    guest_meet(&g, l.server);
    CHECK(setsockopt(l.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0);
    close(l.client);
    l.client = -1;
    CHECK(read(l.server, &byte, 1) == -1);
    CHECK(!door_knows(d, &g));
    line_close(&l);
    door_free(d);
}

/* The kernel then answers with whoever listens at its port now, which is us. */
TEST(a_listener_in_the_place_of_a_guest_is_not_the_guest)
{
    struct line l;
    struct guest g;
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
    struct door *d = open_door(SAME);
    guest_meet(&g, l.server);
    CHECK(g.loopback && !door_knows(d, &g));
    line_close(&l);
    door_free(d);
}

TEST(a_guest_that_only_ended_its_request_is_known)
{
    if (!line_has_owners())
        return;
    struct door *d = open_door(SAME);
    struct line l;
    struct guest g;
    char byte;
    CHECK(line_open_v4(&l));
    guest_meet(&g, l.server);
    CHECK(shutdown(l.client, SHUT_WR) == 0 && read(l.server, &byte, 1) == 0);
    CHECK(door_knows(d, &g));
    line_close(&l);
    door_free(d);
}

TEST(the_user_is_asked_for_once)
{
    if (!line_has_owners())
        return;
    struct door *d = open_door(SAME);
    struct line l;
    struct guest g;
    CHECK(line_open_v4(&l));
    guest_meet(&g, l.server);
    CHECK_INT(ask_door(d, &g, POST LOCAL "Authorization: Bearer " RIGHT "\r\n").status, 0);
    CHECK_INT(g.who, GUEST_NEW); /* a token answers the question */
    CHECK_INT(ask_door(d, &g, POST LOCAL).status, 0);
    CHECK_INT(g.who, GUEST_OWN);
    line_close(&l);
    CHECK_INT(ask_door(d, &g, POST LOCAL).status, 0);
    door_free(d);
}

/* Without a descriptor there is nobody to ask. */
TEST(a_user_that_cannot_be_asked_for_is_a_stranger)
{
    struct door *d = open_door(SAME);
    struct rlimit before, none;
    struct line l;
    struct guest g;
    CHECK(line_open_v4(&l));
    guest_meet(&g, l.server);
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = before;
    none.rlim_cur = 0;
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    bool known = door_knows(d, &g);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(!known && g.who != GUEST_OWN);
    line_close(&l);
    door_free(d);
}

struct visit {
    int listener;
    uint16_t port;
    int gate[2]; /* held open by the child until the parent closed its end */
};

/* Comes as a child and stays until we have looked at it. */
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
    struct door *d = open_door(SAME);
    struct guest g;
    guest_meet(&g, *(int *)arg);
    int known = d && door_knows(d, &g);
    door_free(d);
    return known;
}

static bool are_root(void)
{
    if (geteuid() != 0)
        printf("skipped: only root can become somebody else\n");
    return geteuid() == 0;
}

/* The visitor is a child of its own process, as line_as_user waits for its end. */
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

/* One end of a pair that another user made, passed to us over a socket. */
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

static bool pauses(struct door *d, struct guest *g, const char *fields)
{
    char text[512];
    snprintf(text, sizeof(text), POST LOCAL "%s", fields);
    return ask_door(d, g, text).pause;
}

#define GUESS "Authorization: Bearer " WRONG "\r\n"

TEST(the_sixth_wrong_token_waits)
{
    struct door *d = open_door(TOKEN);
    struct line l, other, local;
    struct guest g, g2, u;
    CHECK(line_open_v4(&l) && line_open(&other, "127.0.0.1", "127.0.0.9", "127.0.0.1"));
    CHECK(line_open_unix(&local));
    guest_meet(&g, l.server);
    guest_meet(&g2, other.server);
    guest_meet(&u, local.server);
    for (int i = 0; i < 20; i++)
        CHECK(!pauses(d, &g, "") && !pauses(d, &g, "Authorization: Bearer\r\n"));
    for (int i = 0; i < GUESSES; i++)
        CHECK(!pauses(d, &g, GUESS));
    CHECK(pauses(d, &g, GUESS));
    CHECK(pauses(d, &g, "")); /* every 401 of that client */
    CHECK(!pauses(d, &g, "Authorization: Bearer " RIGHT "\r\n"));
    CHECK(!pauses(d, &g, "Origin: null\r\n"));
    CHECK(!pauses(d, &g2, GUESS) && !pauses(d, &u, GUESS));
    for (int i = 1; i < GUESSES; i++)
        CHECK(!pauses(d, &u, GUESS));
    CHECK(pauses(d, &u, "") && !pauses(d, &g2, ""));
    line_close(&l);
    CHECK(line_open_v4(&l)); /* another connection of the same client */
    guest_meet(&g, l.server);
    CHECK(pauses(d, &g, GUESS));
    line_close(&l);
    line_close(&other);
    line_close(&local);
    door_free(d);
}

static struct door_client client_number(int number)
{
    struct door_client c = {.kind = 't'};
    memcpy(c.key, &number, sizeof(number));
    return c;
}

TEST(old_guesses_are_forgotten)
{
    struct door_guesses g = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct door_client c = client_number(1);
    for (int i = 0; i < GUESSES; i++)
        door_guesses_add(&g, &c, i * 1000);
    CHECK(door_guesses_many(&g, &c, 5000));
    CHECK(door_guesses_many(&g, &c, GUESS_TIME - 1));
    CHECK(!door_guesses_many(&g, &c, GUESS_TIME)); /* the first was a minute ago */
    door_guesses_add(&g, &c, GUESS_TIME);
    CHECK(door_guesses_many(&g, &c, GUESS_TIME + 999));
    CHECK(!door_guesses_many(&g, &c, GUESS_TIME + 1000));
}

TEST(the_guesser_of_long_ago_makes_room)
{
    struct door_guesses g = {.lock = PTHREAD_MUTEX_INITIALIZER};
    for (int client = 0; client <= GUESSERS; client++) {
        struct door_client c = client_number(client);
        for (int i = 0; i < GUESSES; i++)
            door_guesses_add(&g, &c, client);
        CHECK(door_guesses_many(&g, &c, client));
    }
    for (int client = 0; client <= GUESSERS; client++) {
        struct door_client c = client_number(client);
        CHECK_INT(door_guesses_many(&g, &c, GUESSERS), client != 0);
    }
}

enum { THREADS = 4, ROUNDS = 500 };

struct crowd {
    struct door *door;
    int fd;
    int wrong; /* verdicts */
};

/* A connection belongs to one thread, the door to all. */
static void *come_often(void *arg)
{
    struct crowd *c = arg;
    struct request good, bad, mute;
    struct guest g;
    if (!read_request(&good, POST LOCAL "Authorization: Bearer " RIGHT "\r\n") ||
        !read_request(&bad, POST LOCAL GUESS) || !read_request(&mute, POST LOCAL)) {
        c->wrong = ROUNDS;
        return NULL;
    }
    for (int i = 0; i < ROUNDS; i++) {
        guest_meet(&g, c->fd);
        c->wrong += door_check(c->door, &g, &good.head).status != 0;
        c->wrong += door_check(c->door, &g, &mute.head).status != 0;
        c->wrong += door_check(c->door, &g, &bad.head).status != 401;
    }
    return NULL;
}

TEST(many_threads_use_one_door)
{
    if (!line_has_owners())
        return;
    struct crowd crowd[THREADS];
    struct line lines[THREADS];
    pthread_t threads[THREADS];
    struct door *d = open_door(SAME);
    for (int i = 0; i < THREADS; i++) {
        CHECK(line_open_v4(&lines[i]));
        crowd[i] = (struct crowd){d, lines[i].server, 0};
        CHECK(pthread_create(&threads[i], NULL, come_often, &crowd[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        CHECK_INT(crowd[i].wrong, 0);
        line_close(&lines[i]);
    }
    door_free(d);
}
